//! A file on an XRootD server as a source.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::failure::{Failure, code};
use super::flight::Request;
use super::frame::Answer;
use super::message::{self, Stat};
use super::opening::{OpenFile, open_at, stat_of};
use super::plan;
use super::url::FileAddress;
use super::vectors::{Fallback, Vectors};
use crate::account::{Ledger, Operation};
use crate::error::{Error, Result};
use crate::logged::LOG;
use crate::options::Network;
use crate::requests::Protocol;
use crate::requests::xrootd::VectorLimits;
use crate::retry::{Attempt, open_attempts};
use crate::secret::{hidden_distinction, redacted};
use crate::shared::Shared;
use crate::source::{AccessProfile, HEAD_BYTES, Opened, Part, Source, Speculation, check_range};

/// Connections of one file, at most.
const MAX_LANES: usize = 16;
/// Of a file whose connections are all lost.
const UNMEASURED: AccessProfile = AccessProfile {
    is_remote: true,
    latency: Duration::from_millis(50),
    bytes_per_second: 1e8,
    max_parallel: 8,
    max_ranges: 1024,
};
/// Redirections of one read.
const MAX_READ_HOPS: usize = 4;

/// Opens a file of a `root://` or `roots://` URL, and tries again what may succeed later ([`crate::Retry`]).
///
/// After the connection this takes two round trips: login and opening, which brings size and time of the last change (and
/// the server's limits), and one vector read of what the speculation names. Where the server wants to know who is asking,
/// or encrypts, the opening is a round trip after the login. Each redirection adds the connection to another server and its
/// opening.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Denied`] and [`Error::Server`] as the server answers; [`Error::Connection`] if it cannot
/// be reached; [`Error::WrongAnswer`] if it does not speak the protocol; [`Error::Option`] if the URL is malformed;
/// [`Error::Deadline`] if all tries took too long.
pub fn open_xrootd(url: &str, network: &Network, speculation: Speculation) -> Result<Opened> {
    let ledger = Arc::new(Ledger::new("xrootd", false).logging(&redacted(url)));
    open_attempts(url, network, |until| {
        let (file, preloaded) = XrootdFile::open(url, network, speculation, &ledger, until)?;
        Ok((file, preloaded, std::iter::once(Arc::clone(&ledger)).collect()))
    })
}

/// As [`open_xrootd`], but nothing is tried again, neither the opening nor a read.
///
/// # Errors
/// As [`open_xrootd`], without [`Error::Deadline`].
pub fn open_xrootd_once(url: &str, network: &Network, speculation: Speculation) -> Result<Opened> {
    let ledger = Arc::new(Ledger::new("xrootd", false).logging(&redacted(url)));
    let (file, preloaded) = XrootdFile::open(url, network, speculation, &ledger, Instant::now() + network.deadline)?;
    Ok(Opened { source: Arc::new(file), preloaded, ledgers: std::iter::once(ledger).collect() })
}

struct XrootdFile {
    url: String,
    /// What tells the file from others that are shown by the same URL; empty if none are.
    distinction: String,
    size_bytes: u64,
    modified_s: i64,
    /// Its first bytes, as far as they came with the opening.
    head: Vec<u8>,
    origin: FileAddress,
    network: Network,
    lanes: Vec<Lane>,
    /// Requests: every connection opens the file for itself.
    ledger: Arc<Ledger>,
}

/// One of the connections that a file may be read through.
#[derive(Default)]
struct Lane {
    file: Shared<Arc<OpenFile>, Error>,
    /// Reads that go through it now.
    n_reads: AtomicUsize,
}

/// Bytes that came with the opening: offset in the file, content.
type OpeningBytes = Vec<(u64, Vec<u8>)>;

impl XrootdFile {
    /// Opens it, with the bytes that came with that.
    fn open(
        url: &str,
        network: &Network,
        speculation: Speculation,
        ledger: &Arc<Ledger>,
        until: Instant,
    ) -> Result<(XrootdFile, OpeningBytes)> {
        let origin = FileAddress::parse(url)?;
        let distinction = hidden_distinction(url).map_or_else(String::new, |hidden| format!(" {hidden:016x}"));
        let (url, ledger) = (redacted(url), Arc::clone(ledger));
        let (file, stat) = open_at(&origin, &url, network, 0, &ledger, until)?;
        let first = Lane { file: Shared::of(Arc::new(file)), n_reads: AtomicUsize::new(0) };
        let n_more = network.max_connections.clamp(1, MAX_LANES) - 1;
        let lanes = std::iter::once(first).chain((0..n_more).map(|_| Lane::default())).collect();
        let (size_bytes, modified_s) = (stat.size_bytes, stat.modified_s);
        let network = network.clone();
        let head = Vec::new();
        let mut file = XrootdFile { url, distinction, size_bytes, modified_s, head, origin, network, lanes, ledger };
        let preloaded = file.speculate(speculation, until)?;
        let first = preloaded.iter().find(|(offset, _)| *offset == 0).map_or(&[][..], |(_, bytes)| bytes);
        file.head = first[..first.len().min(HEAD_BYTES)].to_vec();
        Ok((file, preloaded))
    }

    /// Head and tail in one request.
    fn speculate(&self, speculation: Speculation, until: Instant) -> Result<OpeningBytes> {
        let head_end = speculation.head_bytes.min(self.size_bytes);
        let tail_start = self.size_bytes.saturating_sub(speculation.tail_bytes).max(head_end);
        let ranges = if tail_start == head_end {
            vec![(0, self.size_bytes)]
        } else {
            vec![(0, head_end), (tail_start, self.size_bytes)]
        };
        let ranges = ranges.into_iter().filter(|(start, end)| start < end);
        let buffer = |(start, end): (u64, u64)| (start, vec![0; usize::try_from(end - start).unwrap_or(0)]);
        let mut preloaded: Vec<_> = ranges.map(buffer).collect();
        let parts = preloaded.iter_mut().map(|(offset, buffer)| Part { offset: *offset, buffer }).collect();
        self.attempt(parts, until).1?;
        Ok(preloaded)
    }

    /// The lane for the next read: the first that is free, or the one with the fewest reads.
    fn lane(&self) -> (usize, &Lane) {
        let busy = |lane: &Lane| lane.n_reads.load(Ordering::Relaxed);
        let found = self.lanes.iter().enumerate().min_by_key(|(_, lane)| busy(lane));
        found.unwrap_or((0, &self.lanes[0]))
    }

    /// The open file of a lane; opened again if its connection broke, by one of those who wait for it.
    fn file(&self, number: usize, lane: &Lane, until: Instant) -> Result<Arc<OpenFile>> {
        let is_usable = |file: &Arc<OpenFile>| file.is_usable();
        let opened = lane.file.get(until, is_usable, Error::is_for_want_of_time, |lost| {
            // Where it was, or another lane is, if it is still there; otherwise from the beginning.
            let other = || self.lanes.iter().find_map(|lane| lane.file.current());
            let before = lost.or_else(other);
            let before = before.map_or((self.origin.clone(), self.modified_s), |it| (it.target.clone(), it.modified_s));
            let open = |target| open_at(target, &self.url, &self.network, number, &self.ledger, until);
            let again = match open(&before.0) {
                Err(_) if before.0 != self.origin => open(&self.origin),
                again => again,
            };
            self.checked(again?, (&before.0, before.1), until)
        });
        opened.unwrap_or_else(|| Err(Failure::Late.into_error(&self.url, &self.origin, "opening")))
    }

    /// Follows a redirection of a read, to port and place, unless another thread did.
    fn follow(
        &self,
        number: usize,
        lane: &Lane,
        from: &Arc<OpenFile>,
        (port, place): (i32, &str),
        until: Instant,
    ) -> Result<()> {
        let is_elsewhere = |file: &Arc<OpenFile>| !Arc::ptr_eq(file, from);
        let followed = lane.file.get(until, is_elsewhere, Error::is_for_want_of_time, |_| {
            let next = from.target.redirected(port, place);
            let next = next.map_err(|what| Failure::Wrong(what).into_error(&self.url, &from.target, "reading"))?;
            log::info!(target: LOG, "{}: reading is redirected to {}", self.url, next.shown_server());
            let opened = open_at(&next, &self.url, &self.network, number, &self.ledger, until)?;
            self.checked(opened, (&from.target, from.modified_s), until)
        });
        followed.unwrap_or_else(|| Err(Failure::Late.into_error(&self.url, &from.target, "opening"))).map(drop)
    }

    /// The file must be the one that was opened first. `before`: where it was last, and the time of its last change there. On
    /// another server the same content may have another time: what identifies it is in its first bytes.
    fn checked(
        &self,
        (file, stat): (OpenFile, Stat),
        (before, modified_s): (&FileAddress, i64),
        until: Instant,
    ) -> Result<Arc<OpenFile>> {
        let is_same_server = (&file.target.host, file.target.port) == (&before.host, before.port);
        self.check_stat(stat, if is_same_server { modified_s } else { stat.modified_s })?;
        if !is_same_server && !self.head.is_empty() {
            self.check_head(&file, until)?;
        }
        Ok(Arc::new(file))
    }

    fn check_head(&self, file: &OpenFile, until: Instant) -> Result<()> {
        let mut head = vec![0; self.head.len()];
        let mut requests = plan::requests(file.handle, file.limits(), vec![Part { offset: 0, buffer: &mut head }]);
        let result = file.connection.run(&mut requests, until);
        enter_reads(&file.ledger, &requests, matches!(result, Err(Failure::Redirected(..))));
        drop(requests);
        result.map_err(|failure| failure.into_error(&self.url, &file.target, "reading its first bytes"))?;
        if head == self.head {
            return Ok(());
        }
        let what = format!("it is another file of the same size on {}", file.target.shown_server());
        Err(Error::Changed { url: self.url.clone(), what })
    }

    fn check_stat(&self, stat: Stat, modified_s: i64) -> Result<()> {
        let changed = |what: String| Err(Error::Changed { url: self.url.clone(), what });
        if stat.size_bytes != self.size_bytes {
            return changed(format!("it had {} bytes and has {}", self.size_bytes, stat.size_bytes));
        }
        // Of who tells no time it is 0.
        if stat.modified_s != modified_s && stat.modified_s != 0 && modified_s != 0 {
            return changed(format!("it was last changed at {modified_s} s and now at {} s", stat.modified_s));
        }
        Ok(())
    }

    /// Fills parts through one lane. Returns what is not filled.
    fn read_through<'b>(
        &self,
        number: usize,
        lane: &Lane,
        mut parts: Vec<Part<'b>>,
        until: Instant,
    ) -> (Vec<Part<'b>>, Result<()>) {
        let doing = doing(&parts);
        let mut is_single = false;
        for _ in 0..MAX_READ_HOPS {
            let file = match self.file(number, lane, until) {
                Ok(file) => file,
                Err(error) => return (parts, Err(error)),
            };
            let limits = if is_single { VectorLimits::NONE } else { file.limits() };
            let mut requests = plan::requests(file.handle, limits, parts);
            // After the reads, and in the same flight: what they brought is of the state that is told then.
            let is_state_due = file.is_state_due();
            if is_state_due {
                requests.push(Request::control(message::stat(file.handle)).optional());
            }
            let start = Instant::now();
            let result = file.connection.run(&mut requests, until);
            enter_reads(&file.ledger, &requests, matches!(result, Err(Failure::Redirected(..))));
            let fallback = note_vectors(&file.connection.vectors, &requests, result.as_ref().err());
            let Err(failure) = result else {
                if is_single {
                    file.connection.vectors.note_fault();
                }
                let state = if is_state_due { requests.pop() } else { None };
                return (Vec::new(), state.map_or(Ok(()), |state| self.check_state(state, &file, start)));
            };
            // After a wrong answer nothing counts that is not complete.
            let none_counts = matches!(failure, Failure::Wrong(_));
            let missing = requests.into_iter().filter(|request| !request.is_done);
            let missing = missing.flat_map(|request| {
                let (operation, n_asked) =
                    (operation_of(&request.answer), request.ranges().map(|(_, n)| n).sum::<u64>());
                let unfilled = request.answer.unfilled(none_counts);
                let n_missing = unfilled.iter().map(|part| part.buffer.len() as u64).sum();
                if let Some(operation) = operation {
                    file.ledger.salvage(operation, n_asked.saturating_sub(n_missing));
                }
                unfilled
            });
            parts = missing.collect();
            let followed = match failure {
                Failure::Refused(..) if !is_single && fallback != Fallback::Nothing => {
                    is_single = fallback == Fallback::Single;
                    Ok(())
                }
                Failure::Redirected(port, place) => file
                    .ledger
                    .enter_since(start, Operation::Redirect, std::iter::empty(), Ok(()))
                    .and_then(|()| self.follow(number, lane, &file, (port, &place), until)),
                failure => Err(self.explained(failure, &file, &doing, until)),
            };
            if followed.is_err() {
                return (parts, followed);
            }
        }
        let wrong = Failure::Wrong(format!("{MAX_READ_HOPS} redirections of one read"));
        (parts, Err(wrong.into_error(&self.url, &self.origin, &doing)))
    }

    /// Looks at the state that came with a read: who writes to a file leaves another time there. A server that does not tell
    /// is believed.
    fn check_state(&self, state: Request<'_>, file: &OpenFile, start: Instant) -> Result<()> {
        let told = message::parse_stat(state.words()).map_err(Failure::Wrong);
        let told = state.outcome.and(told);
        let told = file.ledger.enter_since(start, Operation::Stat, std::iter::empty(), told);
        told.map_or(Ok(()), |stat| self.check_stat(stat, file.modified_s))
    }

    /// What a failed read means: perhaps that the file became another one.
    fn explained(&self, failure: Failure, file: &OpenFile, doing: &str, until: Instant) -> Error {
        if let Failure::Refused(code::FILE_NOT_OPEN, _) = failure {
            file.is_lost.store(true, Ordering::Relaxed);
        }
        let may_be_changed =
            matches!(failure, Failure::Short(_) | Failure::Refused(code::FS_ERROR | code::IO_ERROR, _));
        if may_be_changed
            && let Ok(stat) = stat_of(file, until)
            && let Err(changed) = self.check_stat(stat, file.modified_s)
        {
            return changed;
        }
        failure.into_error(&self.url, &file.target, doing)
    }

    fn read_once(&self, parts: Vec<Part<'_>>) -> Result<()> {
        self.attempt(parts, Instant::now() + self.network.deadline).1
    }
}

/// Notes what came of the vector reads among requests that were made, and returns what to do if one was refused.
fn note_vectors(vectors: &Vectors, requests: &[Request<'_>], failure: Option<&Failure>) -> Fallback {
    let mut of_vectors = requests.iter().filter(|request| matches!(request.answer, Answer::Vector(_)));
    match failure {
        None if of_vectors.next().is_some() => vectors.note_success(),
        Some(Failure::Wrong(_) | Failure::Short(_)) if of_vectors.any(|request| !request.is_done) => {
            vectors.note_fault()
        }
        Some(Failure::Refused(number, _)) => {
            // One that was answered and is not done is the one that was refused.
            let mut refused = of_vectors.filter(|request| !request.is_done && request.ended.is_some());
            if let Some(request) = refused.next() {
                let n_bytes: u64 = request.ranges().map(|(_, n_bytes)| n_bytes).sum();
                let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
                return vectors.note_refusal(*number, request.ranges().count(), n_bytes);
            }
        }
        _ => {}
    }
    Fallback::Nothing
}

/// What a request is entered as that has such an answer; `None` if it is no read.
fn operation_of(answer: &Answer<'_>) -> Option<Operation> {
    match answer {
        Answer::Control(_) => None,
        Answer::Read(..) => Some(Operation::Read),
        Answer::Vector(_) => Some(Operation::ReadVector),
    }
}

/// Enters the reads among requests that were sent: each is one that the server gets. One that was sent on is entered as
/// that.
fn enter_reads(ledger: &Ledger, requests: &[Request<'_>], is_redirected: bool) {
    for request in requests {
        let Some(operation) = operation_of(&request.answer) else { continue };
        for (time, brought) in &request.short_answers {
            let _ = ledger.enter_between(time.clone(), operation, std::iter::once(*brought), Ok::<(), ()>(()));
        }
        let Some(sent) = request.sent.filter(|_| request.is_done || !is_redirected) else { continue };
        let ended = request.ended.unwrap_or_else(Instant::now);
        let done = if request.is_done { Ok(()) } else { Err(()) };
        // Why it failed is told by who asked for the bytes.
        let _ = ledger.enter_between(sent..ended, operation, request.ranges(), done);
    }
}

impl Attempt for XrootdFile {
    fn attempt<'b>(&self, mut parts: Vec<Part<'b>>, until: Instant) -> (Vec<Part<'b>>, Result<()>) {
        for part in &parts {
            if let Err(error) = check_range(self, part.offset, part.buffer.len()) {
                return (parts, Err(error));
            }
        }
        parts.retain(|part| !part.buffer.is_empty());
        if parts.is_empty() {
            return (parts, Ok(()));
        }
        let (number, lane) = self.lane();
        lane.n_reads.fetch_add(1, Ordering::Relaxed);
        let result = self.read_through(number, lane, parts, until);
        lane.n_reads.fetch_sub(1, Ordering::Relaxed);
        result
    }
}

fn doing(parts: &[Part<'_>]) -> String {
    match parts {
        [part] => format!("reading {} bytes at {}", part.buffer.len(), part.offset),
        parts => {
            let n_bytes: usize = parts.iter().map(|part| part.buffer.len()).sum();
            let first = parts.iter().map(|part| part.offset).min().unwrap_or(0);
            format!("reading {} ranges of {n_bytes} bytes from {first} on", parts.len())
        }
    }
}

impl Source for XrootdFile {
    fn url(&self) -> &str {
        &self.url
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read_once(vec![Part { offset, buffer }])
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        self.read_once(parts.iter_mut().map(|part| Part { offset: part.offset, buffer: part.buffer }).collect())
    }

    fn access_profile(&self) -> AccessProfile {
        let measured = self.lanes.iter().find_map(|lane| Some(lane.file.current()?.connection.access_profile()));
        measured.unwrap_or(UNMEASURED)
    }

    fn protocol(&self) -> Protocol {
        let limits = self.lanes.iter().find_map(|lane| Some(lane.file.current()?.limits()));
        Protocol::Xrootd(limits.unwrap_or(VectorLimits::DEFAULT))
    }

    fn version(&self) -> Option<String> {
        // Without a time nothing tells one content from another.
        (self.modified_s != 0).then(|| format!("{} s{}", self.modified_s, self.distinction))
    }
}
