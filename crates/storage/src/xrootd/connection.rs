//! A connection that many threads share: each sends its requests, and reads the answers to them itself.
//!
//! There is no thread that only reads. Whoever waits takes the incoming direction, reads the head of the next answer, and
//! hands the direction over to the thread that the answer is for; that one reads it straight to where it belongs. So
//! bytes are copied once, by the kernel, and borrowed memory never leaves the thread that lent it.
//!
//! Nobody who has answers to come ever waits for anything but answers: what may be outstanding fits into the buffers of
//! the kernel, so that a request can always be sent.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::failure::Failure;
use super::frame::{Answer, Incoming};
use super::login::Session;
use super::message::{self, ATTENTION_BYTES, Handle, Header, VectorLimits};
use super::meter::Meter;
use super::wire::{Inbound, Outbound, Plug, check_silence};
use crate::options::Network;
use crate::source::Nature;

/// Bytes of requests that may be outstanding on one connection.
const MAX_OUTSTANDING_BYTES: usize = 64 << 10;
/// Times that a server may ask to make a request again later, and the least time between.
const MAX_WAITS: u32 = 1000;
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
/// Who waits for others to get their answers looks so often whether they are still there.
const ROOM_TICK: Duration = Duration::from_millis(100);

/// A request and what is to become of its answer.
pub(crate) struct Request<'b> {
    bytes: Vec<u8>,
    pub(crate) answer: Answer<'b>,
    /// A failure is noted, and does not end the other requests.
    is_optional: bool,
    pub(crate) outcome: Result<(), Failure>,
    /// All of its answer is where it belongs.
    pub(crate) is_done: bool,
    n_waits: u32,
}

impl<'b> Request<'b> {
    /// One that has to succeed.
    pub(crate) fn new(bytes: Vec<u8>, answer: Answer<'b>) -> Request<'b> {
        Request { bytes, answer, is_optional: false, outcome: Ok(()), is_done: false, n_waits: 0 }
    }

    /// One whose answer is words.
    pub(crate) fn control(bytes: Vec<u8>) -> Request<'b> {
        Request::new(bytes, Answer::Control(Vec::new()))
    }

    /// One that may fail.
    pub(crate) fn optional(self) -> Request<'b> {
        Request { is_optional: true, ..self }
    }

    /// The words of its answer.
    pub(crate) fn words(&self) -> &[u8] {
        match &self.answer {
            Answer::Control(words) => words,
            _ => &[],
        }
    }
}

/// A thread that waits for answers.
#[derive(Default)]
struct Caller {
    /// It may go on: the direction is free, an answer is its own, or all is over.
    turn: Condvar,
}

struct Outstanding {
    /// `None`: nobody wants the answer any more.
    caller: Option<Arc<Caller>>,
    n_bytes: usize,
    /// Until then the server may be silent, as it said.
    quiet_until: Option<Instant>,
}

struct State {
    /// Here unless somebody reads.
    inbound: Option<Box<Inbound>>,
    /// Head of the answer that comes next, if it was read and its reader is still to come.
    header: Option<Header>,
    outstanding: HashMap<u16, Outstanding>,
    outstanding_bytes: usize,
    /// How many of them somebody waits for.
    n_wanted: usize,
    next_stream: u16,
    /// Callers that wait until a request may be sent.
    blocked: VecDeque<Arc<Caller>>,
    failure: Option<Failure>,
    /// When the last request was sent.
    last_request: Instant,
    /// Since when something is outstanding.
    busy_since: Instant,
    limits: Option<VectorLimits>,
    meter: Meter,
}

/// A session with a server.
pub(crate) struct Connection {
    state: Mutex<State>,
    outbound: Mutex<Outbound>,
    plug: Plug,
    timeout: Duration,
    is_encrypted: bool,
    /// Who made it: a fork must not share it.
    process: u32,
}

impl Connection {
    /// Takes over a session that has begun.
    pub(crate) fn new(session: Session, network: &Network) -> Connection {
        let (inbound, outbound, plug) = session.line.into_parts();
        Connection {
            state: Mutex::new(State {
                inbound: Some(Box::new(inbound)),
                header: None,
                outstanding: HashMap::new(),
                outstanding_bytes: 0,
                n_wanted: 0,
                next_stream: 1,
                blocked: VecDeque::new(),
                failure: None,
                last_request: Instant::now(),
                busy_since: Instant::now(),
                limits: None,
                meter: Meter::new(session.round_trip),
            }),
            outbound: Mutex::new(outbound),
            plug,
            timeout: network.timeout,
            is_encrypted: session.is_encrypted,
            process: std::process::id(),
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether what is sent cannot be read by others.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// What vector reads may ask for, once the server has said.
    pub(crate) fn limits(&self) -> Option<VectorLimits> {
        self.locked().limits
    }

    /// The server has said.
    pub(crate) fn set_limits(&self, limits: VectorLimits) {
        self.locked().limits = Some(limits);
    }

    /// How it answered so far.
    pub(crate) fn nature(&self) -> Nature {
        let state = self.locked();
        state.meter.nature(state.limits)
    }

    /// Whether it can take requests, as far as can be seen without sending one.
    pub(crate) fn is_alive(&self) -> bool {
        if self.process != std::process::id() {
            return false;
        }
        let state = self.locked();
        let is_idle = state.n_wanted == 0 && state.inbound.is_some();
        state.failure.is_none() && !(is_idle && self.plug.is_closed())
    }

    /// For how long nobody asked for anything; `None` while somebody does.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        let state = self.locked();
        (state.n_wanted == 0).then(|| state.last_request.elapsed())
    }

    /// Makes requests, and returns when all answers are where they belong, or at the first failure that is not optional,
    /// or at the deadline.
    /// What was asked for besides is then passed over when it comes.
    pub(crate) fn run(&self, requests: &mut [Request<'_>], deadline: Instant) -> Result<(), Failure> {
        let caller = Arc::new(Caller::default());
        let mut flight = Flight {
            connection: self,
            deadline,
            unsent: (0..requests.len()).collect(),
            delayed: Vec::new(),
            streams: HashMap::new(),
            caller,
        };
        let result = flight.run(requests);
        if let Err(failure) = &result {
            flight.abandon();
            if failure.is_fatal() {
                self.end(failure);
            }
        }
        result
    }

    /// Closes a file without waiting for the answer.
    pub(crate) fn close(&self, handle: Handle) {
        if self.process != std::process::id() {
            return;
        }
        // If the connection is busy, the server closes the file when the connection ends.
        let Ok(mut outbound) = self.outbound.try_lock() else { return };
        let mut request = message::close(handle);
        {
            let mut state = self.locked();
            if state.failure.is_some() || !state.has_room(request.len()) {
                return;
            }
            let stream = state.enlist(None, request.len());
            message::set_stream(&mut request, stream);
        }
        if let Err(failure) = outbound.send(&request) {
            drop(outbound);
            self.end(&failure);
        }
    }

    /// All who wait fail, and whoever comes.
    pub(crate) fn end(&self, failure: &Failure) {
        self.plug.pull();
        let mut state = self.locked();
        if state.failure.is_none() {
            let what = match failure {
                Failure::Broken(what) => what.clone(),
                Failure::Wrong(what) => format!("given up after a wrong answer: {what}"),
                _ => "given up after another request failed".to_owned(),
            };
            state.failure = Some(Failure::Broken(what));
        }
        for caller in state.outstanding.values().filter_map(|outstanding| outstanding.caller.as_ref()) {
            caller.turn.notify_all();
        }
        for caller in &state.blocked {
            caller.turn.notify_all();
        }
    }
}

impl State {
    /// Notes a request that is about to be sent, and gives it its stream.
    fn enlist(&mut self, caller: Option<Arc<Caller>>, n_bytes: usize) -> u16 {
        while self.next_stream == 0 || self.outstanding.contains_key(&self.next_stream) {
            self.next_stream = self.next_stream.wrapping_add(1);
        }
        let stream = self.next_stream;
        self.next_stream = self.next_stream.wrapping_add(1);
        self.last_request = Instant::now();
        if caller.is_some() {
            if self.n_wanted == 0 {
                self.busy_since = self.last_request;
                self.meter.begin(self.last_request);
            }
            self.n_wanted += 1;
        }
        self.outstanding_bytes += n_bytes;
        self.outstanding.insert(stream, Outstanding { caller, n_bytes, quiet_until: None });
        stream
    }

    /// The answer is complete.
    fn delist(&mut self, stream: u16, n_received: u64, last_byte: Instant) {
        let Some(outstanding) = self.outstanding.remove(&stream) else { return };
        self.outstanding_bytes -= outstanding.n_bytes;
        if outstanding.caller.is_some() {
            self.n_wanted -= 1;
            if self.n_wanted == 0 {
                self.meter.received(n_received, last_byte);
                self.meter.end();
            }
        }
        if let Some(caller) = self.blocked.pop_front() {
            caller.turn.notify_all();
        }
    }

    /// Whether a request of so many bytes may be sent.
    fn has_room(&self, n_bytes: usize) -> bool {
        self.outstanding.is_empty() || self.outstanding_bytes + n_bytes <= MAX_OUTSTANDING_BYTES
    }

    /// Whether answers are on their way, and nobody wants any of them.
    fn is_forsaken(&self) -> bool {
        !self.outstanding.is_empty() && self.n_wanted == 0
    }

    /// Whom the next answer is for, if its head is there.
    fn due(&self) -> Option<&Arc<Caller>> {
        self.outstanding.get(&self.header?.stream)?.caller.as_ref()
    }

    fn is_somebody_due(&self) -> bool {
        self.due().is_some()
    }

    /// Puts the incoming direction back, and wakes who may want it.
    fn put_back(&mut self, inbound: Box<Inbound>) {
        self.meter.received(inbound.n_received(), inbound.last_byte());
        self.inbound = Some(inbound);
        self.wake_next();
    }

    /// Wakes whose turn it is to read.
    fn wake_next(&self) {
        let anyone = || self.outstanding.values().find_map(|outstanding| outstanding.caller.as_ref());
        if let Some(caller) = self.due().or_else(anyone) {
            caller.turn.notify_all();
        }
    }
}

/// What a part of an answer means for its request.
enum Progress {
    /// More is to come.
    More,
    /// The server is silent for so long, then answers.
    Quiet(Duration),
    /// Ask again after so long.
    Later(Duration),
    /// That was all.
    Done(Result<(), Failure>),
}

/// The requests of one caller.
struct Flight<'c> {
    connection: &'c Connection,
    caller: Arc<Caller>,
    deadline: Instant,
    /// Places of requests that are still to be sent.
    unsent: VecDeque<usize>,
    /// Places of requests to be made again, and when.
    delayed: Vec<(Instant, usize)>,
    /// Streams that are outstanding, and the places of their requests.
    streams: HashMap<u16, usize>,
}

impl Flight<'_> {
    fn run(&mut self, requests: &mut [Request<'_>]) -> Result<(), Failure> {
        loop {
            let now = Instant::now();
            if now >= self.deadline {
                return Err(Failure::Late);
            }
            let due = self.delayed.extract_if(.., |(when, _)| *when <= now).map(|(_, place)| place);
            self.unsent.extend(due);
            self.send(requests)?;
            if !self.streams.is_empty() {
                self.receive(requests)?;
            } else if !self.unsent.is_empty() {
                self.wait_for_room()?;
            } else if let Some(&(when, _)) = self.delayed.iter().min() {
                std::thread::sleep(when.min(self.deadline).saturating_duration_since(Instant::now()));
            } else {
                return Ok(());
            }
        }
    }

    /// Sends what may be sent now; all of it at once, so that it travels together.
    fn send(&mut self, requests: &mut [Request<'_>]) -> Result<(), Failure> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let mut outbound = self.connection.outbound.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        {
            let mut state = self.connection.locked();
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            while let Some(&place) = self.unsent.front() {
                let request = &mut requests[place];
                if !state.has_room(request.bytes.len()) {
                    break;
                }
                self.unsent.pop_front();
                let stream = state.enlist(Some(Arc::clone(&self.caller)), request.bytes.len());
                self.streams.insert(stream, place);
                message::set_stream(&mut request.bytes, stream);
                request.answer.reset();
                bytes.extend_from_slice(&request.bytes);
            }
        }
        if bytes.is_empty() { Ok(()) } else { outbound.send(&bytes) }
    }

    /// Waits until others have got answers. Nothing of this caller is outstanding.
    fn wait_for_room(&self) -> Result<(), Failure> {
        let mut state = self.connection.locked();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        if state.is_forsaken() && state.inbound.is_some() {
            // Answers that nobody wants: somebody has to take them.
            return self.read_next(state).map(drop);
        }
        if state.has_room(MAX_OUTSTANDING_BYTES / 2) {
            return Ok(());
        }
        state.blocked.push_back(Arc::clone(&self.caller));
        let mut state = self.caller.turn.wait_timeout(state, ROOM_TICK).unwrap_or_else(PoisonError::into_inner).0;
        state.blocked.retain(|caller| !Arc::ptr_eq(caller, &self.caller));
        Ok(())
    }

    /// Waits for one answer, or part of one, to any of this caller's requests.
    fn receive(&mut self, requests: &mut [Request<'_>]) -> Result<(), Failure> {
        let mut state = self.connection.locked();
        loop {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            let rest = self.deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Err(Failure::Late);
            }
            let own = state.header.and_then(|header| Some((header, *self.streams.get(&header.stream)?)));
            if let Some((header, place)) = own
                && let Some(inbound) = state.inbound.take()
            {
                state.header = None;
                drop(state);
                return self.take(header, place, &mut requests[place], inbound);
            }
            state = if state.inbound.is_some() && !state.is_somebody_due() {
                self.read_next(state)?
            } else {
                self.caller.turn.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }

    /// Takes a part of the answer to an own request.
    fn take(
        &mut self,
        header: Header,
        place: usize,
        request: &mut Request<'_>,
        mut inbound: Box<Inbound>,
    ) -> Result<(), Failure> {
        inbound.set_deadline(self.deadline);
        let progress = progress(header, request, &mut inbound)?;
        let mut state = self.connection.locked();
        match &progress {
            Progress::More => {}
            Progress::Quiet(time) => {
                if let Some(outstanding) = state.outstanding.get_mut(&header.stream) {
                    outstanding.quiet_until = Some(Instant::now() + *time);
                }
            }
            Progress::Later(_) | Progress::Done(_) => {
                state.delist(header.stream, inbound.n_received(), inbound.last_byte());
                self.streams.remove(&header.stream);
            }
        }
        state.put_back(inbound);
        drop(state);
        match progress {
            Progress::Later(time) => self.delayed.push((Instant::now() + time, place)),
            Progress::Done(Err(failure)) if request.is_optional => request.outcome = Err(failure),
            Progress::Done(outcome) => {
                request.is_done = outcome.is_ok();
                return outcome;
            }
            Progress::More | Progress::Quiet(_) => {}
        }
        Ok(())
    }

    /// Reads the head of the next answer and wakes whose it is; passes over what nobody wants. Returns after a tick in
    /// any case.
    fn read_next<'s>(&'s self, mut state: MutexGuard<'s, State>) -> Result<MutexGuard<'s, State>, Failure> {
        let Some(mut inbound) = state.inbound.take() else { return Ok(state) };
        let (waiting, busy_since) = (state.header.take(), state.busy_since);
        let is_quiet = state
            .outstanding
            .values()
            .any(|outstanding| outstanding.quiet_until.is_some_and(|until| until > Instant::now()));
        drop(state);
        inbound.set_deadline(self.deadline);
        let header = match waiting {
            Some(header) => Some(header),
            None => inbound.header()?,
        };
        let header = match header {
            Some(header) if header.status == message::ATTENTION => attention(header, &mut inbound)?,
            Some(header) => Some(header),
            None if is_quiet => None,
            None => {
                check_silence(inbound.last_byte().max(busy_since), self.connection.timeout)?;
                None
            }
        };
        let mut state = self.connection.locked();
        if let Some(header) = header {
            match state.outstanding.get(&header.stream) {
                None => {
                    return Err(Failure::Wrong(format!(
                        "an answer to a request that was not made ({})",
                        header.stream
                    )));
                }
                Some(Outstanding { caller: Some(_), .. }) => state.header = Some(header),
                Some(Outstanding { caller: None, .. }) => {
                    drop(state);
                    inbound.skip(header.n_bytes)?;
                    state = self.connection.locked();
                    if !matches!(header.status, message::OK_SO_FAR | message::WAIT_RESPONSE) {
                        state.delist(header.stream, inbound.n_received(), inbound.last_byte());
                    }
                }
            }
        }
        state.put_back(inbound);
        Ok(state)
    }

    /// Nobody wants the answers any more.
    fn abandon(&self) {
        let mut state = self.connection.locked();
        for stream in self.streams.keys() {
            if let Some(outstanding) = state.outstanding.get_mut(stream) {
                outstanding.caller = None;
                state.n_wanted -= 1;
            }
        }
        state.blocked.retain(|caller| !Arc::ptr_eq(caller, &self.caller));
        state.wake_next();
    }
}

/// The head of the answer that an asynchronous message carries; a message that carries none is passed over.
fn attention(header: Header, inbound: &mut Inbound) -> Result<Option<Header>, Failure> {
    if header.n_bytes < ATTENTION_BYTES {
        inbound.skip(header.n_bytes)?;
        return Ok(None);
    }
    let mut head = [0; ATTENTION_BYTES];
    inbound.fill(&mut head)?;
    let inner = message::parse_attention(head, header.n_bytes)?;
    if inner.is_none() {
        inbound.skip(header.n_bytes - ATTENTION_BYTES)?;
    }
    Ok(inner)
}

/// Takes what follows the head of an answer.
fn progress(header: Header, request: &mut Request<'_>, inbound: &mut Inbound) -> Result<Progress, Failure> {
    if matches!(header.status, message::OK | message::OK_SO_FAR) {
        request.answer.take(header.n_bytes, inbound)?;
        return Ok(match header.status {
            message::OK => Progress::Done(request.answer.check_complete()),
            _ => Progress::More,
        });
    }
    let mut words = Answer::Control(Vec::new());
    words.take(header.n_bytes, inbound)?;
    let Answer::Control(words) = words else { return Ok(Progress::More) };
    let seconds = |words: &[u8]| message::parse_seconds(words).map(|seconds| Duration::from_secs(seconds.into()));
    Ok(match header.status {
        message::ERROR => {
            let (number, text) = message::parse_error(&words);
            Progress::Done(Err(Failure::Refused(number, text)))
        }
        message::REDIRECT => {
            let (port, place) = message::parse_redirect(&words)?;
            Progress::Done(Err(Failure::Redirected(port, place)))
        }
        message::WAIT if request.n_waits < MAX_WAITS => {
            request.n_waits += 1;
            Progress::Later(seconds(&words)?.max(SHORTEST_WAIT))
        }
        message::WAIT => return Err(Failure::Wrong(format!("asked to wait {MAX_WAITS} times"))),
        message::WAIT_RESPONSE => Progress::Quiet(seconds(&words)?),
        status => return Err(Failure::Wrong(format!("an answer of status {status}"))),
    })
}
