//! The requests of one caller on their way: sent, answered in any order, put off or abandoned.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connection::{Caller, Connection, ConnectionState, Early, MAX_OUTSTANDING_BYTES, Outstanding};
use super::failure::Failure;
use super::frame::{Answer, Incoming};
use super::message::{self, ATTENTION_BYTES, Header};
use super::wire::Inbound;

/// Times that a server may ask to make a request again later, and the least time between.
const MAX_WAITS: u32 = 1000;
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
/// Who waits for others looks so often whether they are still there.
const TICK: Duration = Duration::from_millis(100);

/// A request and what is to become of its answer.
pub(crate) struct Request<'b> {
    bytes: Vec<u8>,
    pub(crate) answer: Answer<'b>,
    /// A failure is noted, and does not end the other requests.
    is_optional: bool,
    pub(crate) outcome: Result<(), Failure>,
    /// All of its answer is where it belongs.
    pub(crate) is_done: bool,
    /// When it was sent, and when all of its answer was there or it was refused.
    pub(crate) sent: Option<Instant>,
    pub(crate) ended: Option<Instant>,
    n_waits: u32,
    /// Of one range, what came in answers that ended early: it was not asked for again.
    n_kept: usize,
    /// Those answers: when the request was sent and when they were there, offset and length of what they brought.
    pub(crate) short_answers: Vec<(Range<Instant>, (u64, u64))>,
}

impl<'b> Request<'b> {
    /// One that has to succeed.
    pub(crate) fn new(bytes: Vec<u8>, answer: Answer<'b>) -> Request<'b> {
        Request {
            bytes,
            answer,
            is_optional: false,
            outcome: Ok(()),
            is_done: false,
            sent: None,
            ended: None,
            n_waits: 0,
            n_kept: 0,
            short_answers: Vec::new(),
        }
    }

    /// One whose answer is words.
    pub(crate) fn control(bytes: Vec<u8>) -> Request<'b> {
        Request::new(bytes, Answer::Control(Vec::new()))
    }

    /// One that may fail.
    pub(crate) fn optional(self) -> Request<'b> {
        Request { is_optional: true, ..self }
    }

    /// Offsets and lengths in bytes of what it asks for now.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + Clone {
        let n_kept = self.n_kept as u64;
        self.answer.ranges().map(move |(offset, n_bytes)| (offset + n_kept, n_bytes - n_kept))
    }

    /// Makes it one for what is missing, if its answer ended early and brought something.
    fn go_on(&mut self) -> bool {
        let Some((n_so_far, (start, length))) = self.answer.n_so_far().zip(self.answer.ranges().next()) else {
            return false;
        };
        if n_so_far == self.n_kept {
            return false;
        }
        let now = Instant::now();
        let brought = (start + self.n_kept as u64, (n_so_far - self.n_kept) as u64);
        self.short_answers.push((self.sent.unwrap_or(now)..now, brought));
        self.n_kept = n_so_far;
        let missing = u32::try_from(length - n_so_far as u64).unwrap_or(u32::MAX);
        message::set_range(&mut self.bytes, start + n_so_far as u64, missing);
        true
    }

    /// The words of its answer.
    pub(crate) fn words(&self) -> &[u8] {
        match &self.answer {
            Answer::Control(words) => words,
            _ => &[],
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
pub(super) struct Flight<'c> {
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

impl<'c> Flight<'c> {
    /// So many requests that are still to be sent.
    pub(super) fn new(connection: &'c Connection, n_requests: usize, deadline: Instant) -> Self {
        Flight {
            connection,
            caller: Arc::default(),
            deadline,
            unsent: (0..n_requests).collect(),
            delayed: Vec::new(),
            streams: HashMap::new(),
        }
    }

    /// Requests that are on their way in these streams, in their order.
    pub(super) fn sent(connection: &'c Connection, early: Early, deadline: Instant) -> Self {
        Flight {
            connection,
            caller: early.caller,
            deadline,
            unsent: VecDeque::new(),
            delayed: Vec::new(),
            streams: early.streams.into_iter().zip(0..).collect(),
        }
    }

    pub(super) fn run(&mut self, requests: &mut [Request<'_>]) -> Result<(), Failure> {
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
                std::thread::sleep(when.saturating_duration_since(Instant::now()));
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
            while let Some(&index) = self.unsent.front() {
                let request = &mut requests[index];
                if !state.has_room(request.bytes.len()) {
                    break;
                }
                self.unsent.pop_front();
                let stream = state.enlist(Some(Arc::clone(&self.caller)), request.bytes.len());
                self.streams.insert(stream, index);
                message::set_stream(&mut request.bytes, stream);
                request.answer.reset(request.n_kept);
                request.sent = Some(Instant::now());
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
            let state = self.read_next(state)?;
            let timeout = self.connection.timeout;
            return if state.is_in_arrears(timeout) { Err(Failure::Unanswered(timeout)) } else { Ok(()) };
        }
        if state.has_room(MAX_OUTSTANDING_BYTES / 2) {
            return Ok(());
        }
        state.blocked.push_back(Arc::clone(&self.caller));
        let mut state = self.caller.turn.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner).0;
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
            if let Some((header, index)) = own
                && let Some(inbound) = state.inbound.take()
            {
                state.header = None;
                drop(state);
                return self.take(header, index, &mut requests[index], inbound);
            }
            let timeout = self.connection.timeout;
            let patience = self.streams.keys().map(|&stream| state.patience(stream, timeout)).min();
            if patience.is_some_and(|patience| patience.is_zero()) {
                return Err(Failure::Unanswered(timeout));
            }
            state = if state.inbound.is_some() && !state.is_somebody_due() {
                self.read_next(state)?
            } else {
                let wait = patience.unwrap_or(timeout).max(TICK).min(rest);
                self.caller.turn.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }

    /// Takes a part of the answer to an own request.
    fn take(
        &mut self,
        header: Header,
        index: usize,
        request: &mut Request<'_>,
        mut inbound: Box<Inbound>,
    ) -> Result<(), Failure> {
        inbound.set_deadline(self.deadline);
        let began = Instant::now();
        let progress = progress(header, request, &mut inbound, self.deadline)?;
        let mut state = self.connection.locked();
        state.came(Some(header.stream), began);
        match &progress {
            Progress::More => {}
            Progress::Quiet(time) => state.expect_silence(header.stream, *time),
            Progress::Later(_) | Progress::Done(_) => {
                state.delist(header.stream, inbound.n_received(), inbound.last_byte());
                self.streams.remove(&header.stream);
            }
        }
        state.put_back(inbound);
        drop(state);
        match progress {
            Progress::Later(time) => self.delayed.push((Instant::now() + time, index)),
            // A read may bring less than all: what is missing is asked for at once, beside the other requests.
            Progress::Done(Err(Failure::Short(_))) if request.go_on() => self.unsent.push_back(index),
            Progress::Done(Err(failure)) if request.is_optional => request.outcome = Err(failure),
            Progress::Done(outcome) => {
                request.is_done = outcome.is_ok();
                request.ended = Some(Instant::now());
                return outcome;
            }
            Progress::More | Progress::Quiet(_) => {}
        }
        Ok(())
    }

    /// Reads the head of the next answer and wakes whose it is; passes over what nobody wants. Returns after a tick in
    /// any case.
    fn read_next<'s>(
        &'s self,
        mut state: MutexGuard<'s, ConnectionState>,
    ) -> Result<MutexGuard<'s, ConnectionState>, Failure> {
        let Some(mut inbound) = state.inbound.take() else { return Ok(state) };
        let waiting = state.header.take();
        drop(state);
        inbound.set_deadline(self.deadline);
        let (began, n_received) = (Instant::now(), inbound.n_received());
        let header = match waiting {
            Some(header) => Some(header),
            None => inbound.header()?,
        };
        let header = match header {
            Some(header) if header.status == message::ATTENTION => {
                // Whoever it is for may have more time than who reads it.
                inbound.set_deadline(Instant::now() + self.connection.timeout);
                attention(header, &mut inbound)?
            }
            header => header,
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
                    state.came(Some(header.stream), began);
                    if !matches!(header.status, message::OK_SO_FAR | message::WAIT_RESPONSE) {
                        state.delist(header.stream, inbound.n_received(), inbound.last_byte());
                    }
                }
            }
        } else if inbound.n_received() > n_received {
            state.came(None, began);
        }
        state.put_back(inbound);
        Ok(state)
    }

    /// Nobody wants the answers any more.
    pub(super) fn abandon(&self) {
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
        return Ok(None);
    }
    let mut head = [0; ATTENTION_BYTES];
    inbound.fill(&mut head)?;
    Ok(message::parse_attention(head, header.n_bytes)?)
}

/// Takes what follows the head of an answer.
fn progress(
    header: Header,
    request: &mut Request<'_>,
    inbound: &mut Inbound,
    deadline: Instant,
) -> Result<Progress, Failure> {
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
            let pause = seconds(&words)?.max(SHORTEST_WAIT);
            if Instant::now() + pause < deadline {
                Progress::Later(pause)
            } else {
                Progress::Done(Err(Failure::Paused(pause)))
            }
        }
        message::WAIT => return Err(Failure::Wrong(format!("asked to wait {MAX_WAITS} times"))),
        message::WAIT_RESPONSE => Progress::Quiet(seconds(&words)?),
        status => return Err(Failure::Wrong(format!("an answer of status {status}"))),
    })
}
