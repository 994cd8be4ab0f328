//! Reading a file that is open.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::address::Address;
use super::answer::{Answer, Kind, Version};
use super::client::{Client, Question};
use super::multipart::{Multipart, Receiver as _};
use super::origin::{Fault, Origin, step_below};
use super::range::{ContentRange, range_header};
use super::slots::Slots;
use super::thread_pool::Scope;
use crate::account::{Ledger, Operation};
use crate::error::{Error, Result};
use crate::options::Network;
use crate::requests::Protocol;
use crate::requests::http::{Limits, requests};
use crate::retry::Attempt;
use crate::source::{AccessProfile, Part, Source, check_range};

/// A file on a server that answers ranges.
pub(super) struct HttpStore {
    pub address: Arc<Address>,
    pub client: Mutex<Arc<Client>>,
    pub network: Network,
    pub version: Version,
    pub size_bytes: u64,
    pub is_multi_range: bool,
    pub ledger: Arc<Ledger>,
}

/// What the requests of one round left.
#[derive(Default)]
struct Round<'b> {
    missing: Vec<Part<'b>>,
    error: Option<Error>,
    /// So many ranges were too many, and fewer may do.
    n_refused: Option<usize>,
    /// What came for several was wrong: their number is not what matters.
    is_wrong: bool,
    /// Where that may have been chance: whom to tell if fewer do.
    suspect: Option<Arc<Origin>>,
    /// Where an error may be of any range, or of their number only: whom to tell if one does.
    doubted: Option<Arc<Origin>>,
}

/// Why a request for several ranges is to be made again with fewer.
enum Refusal {
    /// The server does not answer so many.
    Certain,
    /// What it answers is not what was asked for.
    Wrong,
    /// It failed in a way that fewer ranges may avoid.
    Suspected,
    /// An error of the server's, or of what is before it, that has nothing to do with their number, as a rule.
    Doubtful,
}

/// What went wrong with a request.
struct Failed {
    error: Error,
    refusal: Option<Refusal>,
    /// Who answered, if anybody did.
    origin: Option<Arc<Origin>>,
}

impl Failed {
    /// Fewer ranges may do.
    fn of(error: Error, refusal: Refusal) -> Failed {
        Failed { error, refusal: Some(refusal), origin: None }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed { error, refusal: None, origin: None }
    }
}

/// The requests of one round.
struct Work<'w, 'b> {
    store: &'w HttpStore,
    client: &'w Client,
    origin: Arc<Origin>,
    n_parallel: usize,
    /// Threads that were added for it.
    n_workers: AtomicUsize,
    queue: Mutex<std::vec::IntoIter<Vec<Part<'b>>>>,
    round: Mutex<Round<'b>>,
    until: Instant,
}

impl<'b> Work<'_, 'b> {
    /// Makes requests until none is left, and adds threads for those that wait.
    fn run<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        while let Some((parts, n_waiting)) = self.next() {
            self.add_workers(scope, n_waiting);
            if let Some(parts) = self.unless_failed(parts) {
                let one = if n_ranges(&parts) > 1 { self.origin.try_several() } else { None };
                // Who waited for the trial of another knows what came of it.
                if let Some(parts) = self.unless_failed(parts).and_then(|parts| self.unless_refused(parts)) {
                    self.store.fetch(self.client, parts, self.until, &self.round);
                }
                drop(one);
            }
        }
    }

    /// Adds a thread for each request that waits, as far as the server may be asked at the same time: at first all at once,
    /// then those that other reads had.
    fn add_workers<'s>(&'s self, scope: &'s Scope<'s, '_>, n_waiting: usize) {
        while self.n_workers.load(Relaxed) < n_waiting.min(self.n_parallel)
            && let Some(worker) = self.origin.add_worker()
        {
            self.n_workers.fetch_add(1, Relaxed);
            let run = move || {
                self.run(scope);
                drop(worker);
            };
            // Where no thread can be had, the others do the work.
            scope.spawn(run);
        }
    }

    /// Returns the parts, unless another request has failed: then there is no use in asking for them now.
    fn unless_failed(&self, parts: Vec<Part<'b>>) -> Option<Vec<Part<'b>>> {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        if round.error.is_none() {
            return Some(parts);
        }
        round.missing.extend(parts);
        None
    }

    /// Returns the parts, unless the server was found not to answer so many at once, or leaves several without an answer: they
    /// are asked for in the next round.
    fn unless_refused(&self, parts: Vec<Part<'b>>) -> Option<Vec<Part<'b>>> {
        let n_ranges = n_ranges(&parts);
        let is_doubted = self.origin.is_doubted();
        if n_ranges == 1 || (n_ranges <= self.origin.range_limit() && !is_doubted) {
            return Some(parts);
        }
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        round.n_refused = Some(round.n_refused.map_or(n_ranges, |number| number.min(n_ranges)));
        // One at a time is what may be answered then.
        round.is_wrong |= is_doubted;
        round.missing.extend(parts);
        None
    }

    /// The next request, and how many wait behind it.
    fn next(&self) -> Option<(Vec<Part<'b>>, usize)> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = queue.next()?;
        Some((parts, queue.len()))
    }
}

impl HttpStore {
    /// The client, made anew in a forked process or for a renewed certificate.
    fn client(&self) -> Arc<Client> {
        let current = || self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let client = Arc::clone(&current());
        match client.successor(&self.network) {
            Some(successor) => {
                *current() = Arc::clone(&successor);
                successor
            }
            None => client,
        }
    }

    fn origin(&self, client: &Client) -> Arc<Origin> {
        let url = self.address.redirected().unwrap_or_else(|| self.address.original());
        client.origin(&url, self.is_multi_range)
    }

    /// Makes requests, some at the same time.
    fn round<'b>(&self, client: &Client, requests: Vec<Vec<Part<'b>>>, n_parallel: usize, until: Instant) -> Round<'b> {
        let (queue, round) = (Mutex::new(requests.into_iter()), Mutex::default());
        let (origin, n_workers) = (self.origin(client), AtomicUsize::new(0));
        let work = Work { store: self, client, origin, n_parallel, n_workers, queue, round, until };
        client.pool().scope(|scope| work.run(scope));
        work.round.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one request and enters in `round` what it left.
    fn fetch<'b>(&self, client: &Client, parts: Vec<Part<'b>>, until: Instant, round: &Mutex<Round<'b>>) {
        let mut slots = Slots::new(parts, self.size_bytes);
        let ranges = slots.ranges();
        let operation = if ranges.len() == 1 { Operation::Read } else { Operation::ReadVector };
        let asked = ranges.iter().map(|range| (range.start, range.end - range.start));
        let n_asked: u64 = asked.clone().map(|(_, n_bytes)| n_bytes).sum();
        let asked_at = Instant::now();
        let result =
            self.ledger.enter(operation, asked, || self.receive(client, operation, &ranges, &mut slots, until));
        let missing = slots.into_missing();
        let n_missing: u64 = missing.iter().map(|part| part.buffer.len() as u64).sum();
        if result.is_err() {
            self.ledger.salvage(operation, n_asked.saturating_sub(n_missing));
        }
        let mut round = round.lock().unwrap_or_else(PoisonError::into_inner);
        round.missing.extend(missing);
        match result {
            Ok(()) => {}
            Err(Failed { refusal: Some(refusal), origin, .. }) => {
                let n_ranges = round.n_refused.map_or(ranges.len(), |number| number.min(ranges.len()));
                round.n_refused = Some(n_ranges);
                match refusal {
                    Refusal::Certain => origin.into_iter().for_each(|origin| origin.refuse(ranges.len())),
                    Refusal::Wrong => round.is_wrong = true,
                    Refusal::Suspected => match origin {
                        // It never answered some: their number is not what matters, and nobody else need try it.
                        Some(origin) if !origin.answers_several() => {
                            origin.note_fault(asked_at, Fault::TooMany(ranges.len()));
                            round.is_wrong = true;
                        }
                        origin => round.suspect = origin,
                    },
                    Refusal::Doubtful => round.doubted = origin,
                }
            }
            Err(Failed { error, .. }) => {
                if ranges.len() > 1 && n_missing == n_asked && error.is_transient() {
                    self.origin(client).leave_unanswered(asked_at);
                }
                // What will not go away by trying again says more.
                if round.error.as_ref().is_none_or(Error::is_transient) {
                    round.error = Some(error);
                }
            }
        }
    }

    /// Asks for ranges and takes what comes. Of a wrong answer nothing is kept; of one that broke off, what came.
    fn receive(
        &self,
        client: &Client,
        operation: Operation,
        ranges: &[Range<u64>],
        slots: &mut Slots<'_>,
        until: Instant,
    ) -> Result<(), Failed> {
        let question = Question {
            address: &self.address,
            range: &range_header(ranges),
            operation,
            doing: &doing(ranges),
            version: Some(&self.version),
            is_multi_range: self.is_multi_range,
            ledger: &self.ledger,
            head_until: until,
            until,
        };
        let answer = client.ask(question)?;
        let origin = Arc::clone(&answer.origin);
        self.take(answer, ranges, slots).map_err(|failed| Failed { origin: Some(origin), ..failed })
    }

    fn take(&self, mut answer: Answer, ranges: &[Range<u64>], slots: &mut Slots<'_>) -> Result<(), Failed> {
        if let Some(what) = self.version.difference(&answer.version()).filter(|_| matches!(answer.status, 200 | 206)) {
            return Err(self.changed(what).into());
        }
        let is_several = ranges.len() > 1;
        let is_whole = matches!(ranges, [range] if range.start == 0 && range.end == self.size_bytes);
        let kind = match answer.kind() {
            Err(error) if is_several => {
                answer.origin.note_fault(answer.asked_at, Fault::Wrong);
                return Err(Failed::of(error, Refusal::Wrong));
            }
            kind => kind?,
        };
        match kind {
            Kind::Single(content) if content.total_bytes.is_some_and(|total| total != self.size_bytes) => {
                Err(self.resized(content.total_bytes.unwrap_or_default()).into())
            }
            Kind::Single(content) if is_several => take_one_of_several(&mut answer, &content, ranges, slots),
            Kind::Single(content) => Ok(take_range(&mut answer, &content, &ranges[0], slots)?),
            Kind::Multi(parts) => take_parts(&mut answer, parts, ranges, slots),
            Kind::Whole(length) if length == Some(self.size_bytes) && is_whole => {
                Ok(self.take_file(&mut answer, ranges, slots)?)
            }
            Kind::Unsatisfiable(Some(total)) if total != self.size_bytes => Err(self.resized(total).into()),
            Kind::Whole(_) | Kind::Unsatisfiable(_) | Kind::Status(400 | 405 | 413 | 414 | 431 | 501) if is_several => {
                Err(Failed::of(self.refused(answer), Refusal::Certain))
            }
            // XRootD says so when there are too many ranges, but it may be a fault of the moment.
            Kind::Status(500) if is_several => Err(Failed::of(self.refused(answer), Refusal::Suspected)),
            Kind::Status(status) if is_several && may_be_of_several(status) => {
                Err(Failed::of(self.refused(answer), Refusal::Doubtful))
            }
            Kind::Whole(_) | Kind::Unsatisfiable(_) | Kind::Status(_) => Err(answer.into_error().into()),
        }
    }

    /// Takes an answer that is the whole file, where that was asked for.
    fn take_file(&self, answer: &mut Answer, ranges: &[Range<u64>], slots: &mut Slots<'_>) -> Result<()> {
        let mut offset = 0;
        let wrong = |what: crate::http::Wrong| self.wrong(ranges, what.0);
        let taken = answer.receive_whole(self.size_bytes, |bytes| {
            slots.bytes(offset, bytes).map_err(wrong)?;
            offset += bytes.len() as u64;
            Ok(())
        });
        trusting(taken.map(drop), slots)
    }

    fn refused(&self, answer: Answer) -> Error {
        let error = answer.wrong(format!("status {} to several ranges", answer.status));
        answer.discard();
        error
    }

    fn resized(&self, n_bytes: u64) -> Error {
        self.changed(format!("it has {n_bytes} bytes and had {}", self.size_bytes))
    }

    fn changed(&self, what: String) -> Error {
        Error::Changed { url: self.address.name().to_owned(), what }
    }

    fn wrong(&self, ranges: &[Range<u64>], what: String) -> Error {
        Error::WrongAnswer { url: self.address.name().to_owned(), doing: doing(ranges), what }
    }
}

/// Ranges that parts are, sorted by offset: those that touch are one.
fn n_ranges(parts: &[Part<'_>]) -> usize {
    1 + parts.windows(2).filter(|pair| pair[0].offset + pair[0].buffer.len() as u64 != pair[1].offset).count()
}

/// Takes one range where several were asked for: from a server that merges ranges, or one that takes the first of them
/// for the only one.
fn take_one_of_several(
    answer: &mut Answer,
    content: &ContentRange,
    ranges: &[Range<u64>],
    slots: &mut Slots<'_>,
) -> Result<(), Failed> {
    let n_asked: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    let is_worth_reading = content.range.end - content.range.start <= 2 * n_asked;
    if is_worth_reading {
        trusting(answer.receive_single(content, slots), slots)?;
    }
    if slots.ranges().is_empty() { Ok(()) } else { Err(Failed::of(answer.wrong("it is one range"), Refusal::Certain)) }
}

/// Takes the one range that was asked for.
fn take_range(answer: &mut Answer, content: &ContentRange, asked: &Range<u64>, slots: &mut Slots<'_>) -> Result<()> {
    if content.range != *asked {
        let Range { start, end } = content.range;
        return Err(answer.wrong(format!("it is bytes {start} to {end}")));
    }
    trusting(answer.receive_single(content, slots), slots)
}

/// Takes an answer in parts, and tells the origin how it went.
fn take_parts(
    answer: &mut Answer,
    parts: Multipart,
    ranges: &[Range<u64>],
    slots: &mut Slots<'_>,
) -> Result<(), Failed> {
    let result = answer.receive_multi(parts, slots);
    let n_missing: u64 = slots.ranges().iter().map(|range| range.end - range.start).sum();
    let result = match result {
        Ok(()) if n_missing > 0 => Err(answer.wrong(format!("{n_missing} bytes are missing"))),
        result => result,
    };
    let Err(error) = trusting(result, slots) else {
        answer.origin.approve();
        return Ok(());
    };
    if ranges.len() > 1 {
        let is_wrong = matches!(error, Error::WrongAnswer { .. });
        answer.origin.note_fault(answer.asked_at, if is_wrong { Fault::Wrong } else { Fault::Broken });
    }
    // A broken connection is not the fault of the ranges, unless that happens again and again.
    let is_wrong = matches!(error, Error::WrongAnswer { .. }) && ranges.len() > 1;
    Err(Failed { error, refusal: is_wrong.then_some(Refusal::Wrong), origin: None })
}

/// Forgets what a wrong answer brought.
fn trusting(result: Result<()>, slots: &mut Slots<'_>) -> Result<()> {
    if let Err(Error::WrongAnswer { .. }) = result {
        slots.clear();
    }
    result
}

/// Whether a status may be the answer to several ranges where one would be answered: firewalls have their own (403, 406, 418).
/// Not those that ask for credentials, speak of a condition, or are of the moment.
pub(super) fn may_be_of_several(status: u16) -> bool {
    !matches!(status, 401 | 407 | 408 | 412 | 425 | 429 | 500 | 502..=504 | 507)
}

fn doing(ranges: &[Range<u64>]) -> String {
    match ranges {
        [range] => format!("reading bytes {} to {}", range.start, range.end),
        [first, .., last] => format!("reading {} ranges of bytes {} to {}", ranges.len(), first.start, last.end),
        [] => "reading nothing".to_owned(),
    }
}

impl Attempt for HttpStore {
    fn attempt<'b>(&self, mut parts: Vec<Part<'b>>, until: Instant) -> (Vec<Part<'b>>, Result<()>) {
        let past_end = parts.iter().find_map(|part| check_range(self, part.offset, part.buffer.len()).err());
        if let Some(error) = past_end {
            return (parts, Err(error));
        }
        let client = self.client();
        let origin = self.origin(&client);
        let is_trial = origin.is_doubted();
        let mut n_ranges = if is_trial { 1 } else { origin.range_limit() };
        let mut suspects: Vec<(Arc<Origin>, usize, Instant)> = Vec::new();
        loop {
            let asked_at = Instant::now();
            let n_parallel = origin.max_parallel();
            let planned = requests(parts, Limits { n_ranges, n_parallel });
            let round = self.round(&client, planned, n_parallel, until);
            parts = round.missing;
            if is_trial {
                origin.try_single(round.error.is_none(), asked_at);
            }
            if let Some(error) = round.error {
                return (parts, Err(error));
            }
            if parts.is_empty() {
                // Fewer ranges did where more had failed.
                for (origin, n_ranges, asked_at) in suspects {
                    origin.note_fault(asked_at, Fault::TooMany(n_ranges));
                }
                return (parts, Ok(()));
            }
            if let Some(doubted) = round.doubted {
                // The error of one range alone is what there is to say.
                let others = parts.split_off(1);
                let single = self.round(&client, vec![parts], 1, until);
                parts = single.missing;
                parts.extend(others);
                if let Some(error) = single.error {
                    return (parts, Err(error));
                }
                doubted.refuse(round.n_refused.unwrap_or(n_ranges));
            }
            // Each round that leaves something without an error asks for fewer ranges in the next: it ends.
            let n_refused = round.n_refused.unwrap_or(n_ranges);
            suspects.extend(round.suspect.map(|origin| (origin, n_refused, asked_at)));
            if n_ranges <= 1 {
                let missing: Vec<_> = parts.iter().map(|p| p.offset..p.offset + p.buffer.len() as u64).collect();
                return (parts, Err(self.wrong(&missing, "it is not what was asked for".to_owned())));
            }
            let fewer = step_below(n_refused.min(n_ranges)).min(self.origin(&client).range_limit());
            n_ranges = if round.is_wrong { 1 } else { fewer };
        }
    }
}

impl Source for HttpStore {
    fn url(&self) -> &str {
        self.address.name()
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.attempt(vec![Part { offset, buffer }], Instant::now() + self.network.deadline).1
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        let parts = parts.iter_mut().map(|part| Part { offset: part.offset, buffer: part.buffer }).collect();
        self.attempt(parts, Instant::now() + self.network.deadline).1
    }

    fn access_profile(&self) -> AccessProfile {
        let client = self.client();
        let origin = self.origin(&client);
        let (latency, bytes_per_second) = origin.measured();
        let (max_parallel, max_ranges) = (origin.max_parallel(), origin.planned_ranges());
        AccessProfile { is_remote: true, latency, bytes_per_second, max_parallel, max_ranges }
    }

    fn protocol(&self) -> Protocol {
        let origin = self.origin(&self.client());
        Protocol::Http(Limits { n_ranges: origin.range_limit(), n_parallel: origin.max_parallel() })
    }

    fn version(&self) -> Option<String> {
        self.version.text().map(|version| self.address.own_version(version))
    }
}
