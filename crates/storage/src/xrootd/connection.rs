//! A connection that many threads share: each sends its requests, and reads the answers to them itself.
//!
//! There is no thread that only reads. Whoever waits takes the incoming direction, reads the head of the next answer, and
//! hands the direction over to the thread that the answer is for; that one reads it straight to where it belongs. So
//! bytes are copied once, by the kernel, and borrowed memory never leaves the thread that lent it.
//!
//! Nobody who has answers to come ever waits for anything but answers: what may be outstanding fits into the buffers of
//! the kernel, so that a request can always be sent.
//!
//! A request is overdue when for the whole timeout nothing came for it, nor for any that was sent before it. So who waits in
//! the queue of a server that answers in order has time for as long as that goes on, and an answer that stays away while
//! later requests are answered is noticed. The time in which the answer to a later request comes does not count, as
//! nothing else can come then. An overdue request fails by itself: others on the connection have their own time, but
//! nobody asks anything of it any more.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::failure::Failure;
use super::flight::{Flight, Request};
use super::login::Session;
use super::message::{self, Handle, Header};
use super::meter::Meter;
use super::url::FileAddress;
use super::vectors::Vectors;
use super::wire::{Inbound, Outbound, Plug, given_back};
use crate::account::{Ledger, Operation};
use crate::descriptors::{Cost, Holder, Registration};
use crate::options::Network;
use crate::requests::xrootd::VectorLimits;
use crate::source::AccessProfile;

/// Bytes of requests that may be outstanding on one connection.
pub(super) const MAX_OUTSTANDING_BYTES: usize = 64 << 10;
/// Requests are numbered from here on, also those that go out with the login.
pub(super) const FIRST_STREAM: u16 = 1;
/// A thread that waits for answers.
#[derive(Default)]
pub(super) struct Caller {
    /// It may go on: the direction is free, an answer is its own, or all is over.
    pub(super) turn: Condvar,
}

/// Requests that are on their way before there is a connection.
pub(super) struct Early {
    pub(super) caller: Arc<Caller>,
    pub(super) streams: Vec<u16>,
}

pub(super) struct Outstanding {
    /// `None`: nobody wants the answer any more.
    pub(super) caller: Option<Arc<Caller>>,
    pub(super) n_bytes: usize,
    /// Requests of the connection that were sent before.
    number: u64,
    /// From when on it counts that nothing came; `None` if nobody ever waits for the answer.
    since: Option<Instant>,
}

pub(super) struct ConnectionState {
    /// Here unless somebody reads.
    pub(super) inbound: Option<Box<Inbound>>,
    /// Head of the answer that comes next, if it was read and its reader is still to come.
    pub(super) header: Option<Header>,
    pub(super) outstanding: HashMap<u16, Outstanding>,
    pub(super) outstanding_bytes: usize,
    /// How many of them somebody waits for.
    pub(super) n_wanted: usize,
    pub(super) next_stream: u16,
    n_requests: u64,
    /// Requests that went out with the login, until their caller comes for the answers.
    pub(super) early: Option<Early>,
    /// Callers that wait until a request may be sent.
    pub(super) blocked: VecDeque<Arc<Caller>>,
    /// Files that are to be closed, and where that is entered: never more than are open on the server.
    closes: VecDeque<(Handle, Arc<Ledger>)>,
    pub(super) failure: Option<Failure>,
    /// When the last request was sent.
    pub(super) last_request: Instant,
    /// When the line was last looked at: what came later may be there.
    looked: Instant,
    pub(super) limits: Option<VectorLimits>,
    pub(super) meter: Meter,
}

/// A session with a server.
pub(crate) struct Connection {
    state: Mutex<ConnectionState>,
    pub(super) outbound: Mutex<Outbound>,
    plug: Plug,
    pub(super) timeout: Duration,
    is_encrypted: bool,
    /// Those of its server.
    pub(super) vectors: Arc<Vectors>,
    /// Who made it: a fork must not share it.
    process: u32,
    was_used: AtomicBool,
    _entry: Registration,
}

impl Connection {
    /// Takes over a session that has begun.
    pub(crate) fn new(session: Session, target: &FileAddress, network: &Network) -> Arc<Connection> {
        let (inbound, outbound, plug) = session.line.into_parts();
        let mut state = ConnectionState {
            inbound: Some(Box::new(inbound)),
            header: None,
            outstanding: HashMap::new(),
            outstanding_bytes: 0,
            n_wanted: 0,
            next_stream: FIRST_STREAM,
            n_requests: 0,
            early: None,
            blocked: VecDeque::new(),
            closes: VecDeque::new(),
            failure: None,
            last_request: Instant::now(),
            looked: Instant::now(),
            limits: None,
            meter: Meter::new(session.round_trip),
        };
        state.expect_early(&session.early_bytes, session.started);
        Arc::new_cyclic(|own: &Weak<Connection>| Connection {
            state: Mutex::new(state),
            outbound: Mutex::new(outbound),
            plug,
            timeout: network.timeout,
            is_encrypted: session.is_encrypted,
            vectors: Vectors::of(target),
            process: std::process::id(),
            was_used: AtomicBool::new(true),
            _entry: Registration::of(Cost::Connection, Weak::clone(own) as Weak<dyn Holder>),
        })
    }

    pub(super) fn locked(&self) -> MutexGuard<'_, ConnectionState> {
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
    pub(crate) fn access_profile(&self) -> AccessProfile {
        let state = self.locked();
        let limits = self.vectors.within(state.limits.unwrap_or(VectorLimits::DEFAULT));
        state.meter.access_profile(Some(limits))
    }

    /// Whether it can take requests, as far as can be seen without sending one.
    pub(crate) fn is_alive(&self) -> bool {
        if self.process != std::process::id() {
            return false;
        }
        let state = self.locked();
        let is_idle = state.n_wanted == 0 && state.inbound.is_some();
        state.failure.is_none() && !state.is_in_arrears(self.timeout) && !(is_idle && self.plug.is_closed())
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
        self.complete(Flight::new(self, requests.len(), deadline), requests)
    }

    /// As [`Connection::run`], for the requests that went out with the login, in their order.
    pub(crate) fn run_early(&self, requests: &mut [Request<'_>], deadline: Instant) -> Result<(), Failure> {
        let early = self.locked().early.take();
        let flight = match early {
            Some(early) => Flight::sent(self, early, deadline),
            None => Flight::new(self, requests.len(), deadline),
        };
        self.complete(flight, requests)
    }

    fn complete(&self, mut flight: Flight<'_>, requests: &mut [Request<'_>]) -> Result<(), Failure> {
        self.was_used.store(true, Ordering::Relaxed);
        let result = flight.run(requests);
        if let Err(failure) = &result {
            flight.abandon();
            if failure.is_fatal() {
                self.end(failure);
            }
        }
        self.send_closes();
        result
    }

    /// Closes a file without waiting for the answer: now, or when a read is done if the connection is busy. What is sent is
    /// entered in the ledger; a file whose connection is gone is closed by that.
    pub(crate) fn close(&self, handle: Handle, ledger: &Arc<Ledger>) {
        if !self.is_alive() {
            return;
        }
        self.locked().closes.push_back((handle, Arc::clone(ledger)));
        self.send_closes();
    }

    /// Closes the files that are to be closed, as many as there is room for.
    fn send_closes(&self) {
        while self.locked().may_close() {
            // Who is sending comes here afterwards.
            let Ok(mut outbound) = self.outbound.try_lock() else { return };
            let Some((request, ledger)) = self.locked().next_close() else { continue };
            let sent = ledger.enter(Operation::Close, std::iter::empty(), || outbound.send(&request));
            if let Err(failure) = sent {
                self.end(&failure);
            }
        }
    }

    /// All who wait fail, and whoever comes.
    pub(crate) fn end(&self, failure: &Failure) {
        self.plug.pull();
        let mut state = self.locked();
        if state.failure.is_none() {
            state.failure = Some(match failure {
                Failure::Wrong(what) => Failure::Broken(format!("given up after a wrong answer: {what}")),
                other => other.clone(),
            });
        }
        for caller in state.outstanding.values().filter_map(|outstanding| outstanding.caller.as_ref()) {
            caller.turn.notify_all();
        }
        for caller in &state.blocked {
            caller.turn.notify_all();
        }
    }
}

impl Holder for Connection {
    fn was_used(&self) -> bool {
        self.was_used.swap(false, Ordering::Relaxed)
    }

    /// Ends it if nobody asks anything of it. Files that are open on it are opened again when they are read.
    fn give_back(&self) {
        let (Ok(mut outbound), Ok(mut state)) = (self.outbound.try_lock(), self.state.try_lock()) else { return };
        let is_idle = state.n_wanted == 0 && state.early.is_none() && state.blocked.is_empty();
        // One that failed may have lost it to whoever was reading.
        if is_idle && (state.inbound.is_some() || state.failure.is_some()) {
            state.failure.get_or_insert_with(given_back);
            state.inbound = None;
            outbound.close();
        }
    }
}

impl ConnectionState {
    /// Notes requests of these sizes that were sent in the first streams.
    fn expect_early(&mut self, sizes: &[usize], sent: Instant) {
        if sizes.is_empty() {
            return;
        }
        let caller = Arc::new(Caller::default());
        let streams = sizes.iter().map(|&n_bytes| self.enlist(Some(Arc::clone(&caller)), n_bytes)).collect();
        self.early = Some(Early { caller, streams });
        // Their answers come soon after that to the login: that is no latency.
        self.meter.begin(sent);
    }

    /// Notes a request that is about to be sent, and gives it its stream.
    pub(super) fn enlist(&mut self, caller: Option<Arc<Caller>>, n_bytes: usize) -> u16 {
        while self.next_stream == 0 || self.outstanding.contains_key(&self.next_stream) {
            self.next_stream = self.next_stream.wrapping_add(1);
        }
        let stream = self.next_stream;
        self.next_stream = self.next_stream.wrapping_add(1);
        self.last_request = Instant::now();
        if caller.is_some() {
            if self.n_wanted == 0 {
                self.meter.begin(self.last_request);
            }
            self.n_wanted += 1;
        }
        self.outstanding_bytes += n_bytes;
        let (number, since) = (self.n_requests, caller.is_some().then_some(self.last_request));
        self.n_requests += 1;
        self.outstanding.insert(stream, Outstanding { caller, n_bytes, number, since });
        stream
    }

    /// The server is silent for so long, as it said, before it answers.
    pub(super) fn expect_silence(&mut self, stream: u16, time: Duration) {
        if let Some(since) = self.outstanding.get_mut(&stream).and_then(|outstanding| outstanding.since.as_mut()) {
            *since = Instant::now() + time;
        }
    }

    /// Bytes came from `began` until now: for this request, and those sent later have their time from now on. `None`: for
    /// one that is not known, which may have been the first.
    pub(super) fn came(&mut self, stream: Option<u16>, began: Instant) {
        let number = stream.and_then(|stream| Some(self.outstanding.get(&stream)?.number)).unwrap_or(0);
        let (now, taken) = (Instant::now(), began.elapsed());
        for outstanding in self.outstanding.values_mut() {
            let is_later = outstanding.number >= number;
            let Some(since) = &mut outstanding.since else { continue };
            *since = (*since).max(if is_later { now } else { now.min(*since + taken) });
        }
    }

    /// For how long it may still be looked for the answer to a request.
    pub(super) fn patience(&self, stream: u16, timeout: Duration) -> Duration {
        let since = self.outstanding.get(&stream).and_then(|outstanding| outstanding.since);
        since.map_or(timeout, |since| timeout.saturating_sub(self.looked.saturating_duration_since(since)))
    }

    /// Whether the server owes an answer for too long.
    pub(super) fn is_in_arrears(&self, timeout: Duration) -> bool {
        self.outstanding.keys().any(|&stream| self.patience(stream, timeout).is_zero())
    }

    /// The answer is complete.
    pub(super) fn delist(&mut self, stream: u16, n_received: u64, last_byte: Instant) {
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
    pub(super) fn has_room(&self, n_bytes: usize) -> bool {
        self.outstanding.is_empty() || self.outstanding_bytes + n_bytes <= MAX_OUTSTANDING_BYTES
    }

    /// Whether there are files to be closed, and room for that. Half of it stays free for reads: the answers to what closes
    /// are taken by who reads next, whenever that is.
    fn may_close(&self) -> bool {
        self.failure.is_none() && !self.closes.is_empty() && self.outstanding_bytes < MAX_OUTSTANDING_BYTES / 2
    }

    /// The request that closes the next file, and where to enter it.
    fn next_close(&mut self) -> Option<(Vec<u8>, Arc<Ledger>)> {
        let (handle, ledger) = if self.may_close() { self.closes.pop_front()? } else { return None };
        let mut request = message::close(handle);
        let stream = self.enlist(None, request.len());
        message::set_stream(&mut request, stream);
        Some((request, ledger))
    }

    /// Whether answers are on their way, and nobody wants any of them.
    pub(super) fn is_forsaken(&self) -> bool {
        !self.outstanding.is_empty() && self.n_wanted == 0
    }

    /// Whom the next answer is for, if its head is there.
    pub(super) fn due(&self) -> Option<&Arc<Caller>> {
        self.outstanding.get(&self.header?.stream)?.caller.as_ref()
    }

    pub(super) fn is_somebody_due(&self) -> bool {
        self.due().is_some()
    }

    /// Puts the incoming direction back, and wakes who may want it.
    pub(super) fn put_back(&mut self, inbound: Box<Inbound>) {
        self.meter.received(inbound.n_received(), inbound.last_byte());
        self.looked = Instant::now();
        self.inbound = Some(inbound);
        self.wake_next();
    }

    /// Wakes whose turn it is to read.
    pub(super) fn wake_next(&self) {
        let anyone = || self.outstanding.values().find_map(|outstanding| outstanding.caller.as_ref());
        if let Some(caller) = self.due().or_else(anyone) {
            caller.turn.notify_all();
        }
    }
}
