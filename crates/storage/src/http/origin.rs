//! What is known of a server, for all files of the process that come from it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connections::{Connections, Kind};
use crate::requests::http::{PARALLEL_WITH_RANGES, STEPS, connections_for};

/// Ranges that are tried where many were refused by a server that never answered some.
const FEW: usize = 5;
/// Transfers of less, in bytes or in time, are over before they can be timed.
const LEAST_TIMED_BYTES: u64 = 64 << 10;
const LEAST_TIMED: Duration = Duration::from_micros(100);
/// Requests under way at a time of all files of a server that answers several ranges: one each opens some files at once.
const PARALLEL_FILES: usize = 24;
/// Until something was measured.
const GUESSED_LATENCY: Duration = Duration::from_millis(20);
const GUESSED_BYTES_PER_SECOND: f64 = 100e6;

/// A server: scheme, host and port.
#[derive(Debug)]
pub(super) struct Origin {
    max_connections: usize,
    state: Mutex<OriginState>,
    freed: Condvar,
    /// Held by the one request for several ranges that shows whether they are answered.
    trial_of_several: Mutex<()>,
}

#[derive(Debug)]
struct OriginState {
    /// Ranges that it answers at once, as far as is known.
    range_limit: usize,
    /// It takes no range that counts from the end, as XRootD's HTTP does not.
    ignores_suffix: bool,
    /// It answered several ranges, so that what it refuses later is their number.
    answers_several: bool,
    /// So many ranges as it answers now were not tried yet.
    is_limit_new: bool,
    /// Refusals of several ranges before it ever answered some.
    n_refused: u32,
    /// Answers to several ranges in a row that were wrong or broke off, and when that was last noticed.
    n_wrong: u32,
    last_wrong: Option<Instant>,
    /// Requests for several ranges in a row that got no answer, and when that was last noticed.
    n_unanswered: u32,
    last_unanswered: Option<Instant>,
    n_open: usize,
    /// Threads that make requests besides those that want the bytes.
    n_workers: usize,
    connections: Connections,
    /// Bodies that are coming, since when, and the bytes that came since then.
    n_transfers: usize,
    transfer_start: Option<Instant>,
    transferred_bytes: u64,
    /// Recent bytes and the time in which they came.
    measured_bytes: f64,
    measured_seconds: f64,
    not_before: Option<Instant>,
}

/// The right to one connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    origin: Arc<Origin>,
    is_answered: bool,
}

impl Permit {
    /// The head of an answer came.
    pub(super) fn answered(mut self) -> Permit {
        self.is_answered = true;
        self
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.origin.state();
        state.n_open -= 1;
        if self.is_answered {
            state.connections.ended();
        }
        drop(state);
        // One: where hundreds wait, waking all for one connection costs more than the request.
        self.origin.freed.notify_one();
    }
}

/// A thread that makes requests for others, until it is dropped.
#[derive(Debug)]
pub(super) struct Worker(Arc<Origin>);

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.state().n_workers -= 1;
    }
}

/// What was not as it should be with an answer to several ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not what was asked for.
    Wrong,
    /// It ended too early, or never began.
    Broken,
    /// An error that may be of the number of ranges.
    TooMany(usize),
}

/// Why there is no connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Busy {
    /// All are in use.
    NoConnection,
    /// The server asked to be left alone for so long, which is beyond the deadline.
    Paused(Duration),
}

/// A body that is coming.
#[derive(Debug)]
pub(super) struct Transfer(Arc<Origin>);

impl Transfer {
    /// `n_bytes` more came.
    pub(super) fn came(&self, n_bytes: usize) {
        let mut state = self.0.state();
        match state.transfer_start {
            // It came with the head, in no time that could be measured.
            None => state.transfer_start = Some(Instant::now()),
            Some(_) => state.transferred_bytes += n_bytes as u64,
        }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.n_transfers -= 1;
        if state.n_transfers > 0 {
            return;
        }
        let bytes = std::mem::take(&mut state.transferred_bytes);
        let taken = state.transfer_start.take().map_or(Duration::ZERO, |start| start.elapsed());
        if bytes >= LEAST_TIMED_BYTES && taken >= LEAST_TIMED {
            #[expect(clippy::cast_precision_loss, reason = "a measure")]
            let bytes = bytes as f64;
            // What is long ago counts less.
            state.measured_bytes = 0.7 * state.measured_bytes + bytes;
            state.measured_seconds = 0.7 * state.measured_seconds + taken.as_secs_f64();
        }
    }
}

impl Origin {
    /// `max_connections`: 0 for as many as are good. `is_multi_range`: whether several ranges may be tried.
    pub(super) fn new(max_connections: usize, is_multi_range: bool) -> Origin {
        Origin {
            max_connections,
            state: Mutex::new(OriginState {
                range_limit: if is_multi_range { STEPS[0] } else { 1 },
                ignores_suffix: false,
                answers_several: false,
                is_limit_new: false,
                n_refused: 0,
                n_wrong: 0,
                last_wrong: None,
                n_unanswered: 0,
                last_unanswered: None,
                n_open: 0,
                n_workers: 0,
                connections: Connections::new(if is_multi_range { Kind::Any } else { Kind::Many }),
                n_transfers: 0,
                transfer_start: None,
                transferred_bytes: 0,
                measured_bytes: 0.0,
                measured_seconds: 0.0,
                not_before: None,
            }),
            freed: Condvar::new(),
            trial_of_several: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, OriginState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a connection to be free, and for as long as the server asked to be left alone.
    ///
    /// # Errors
    /// If that takes beyond `until`.
    pub(super) fn enter(self: &Arc<Self>, until: Instant) -> Result<Permit, Busy> {
        let mut state = self.state();
        loop {
            let now = Instant::now();
            if now >= until {
                // It may have been woken for a connection that another one can use.
                self.freed.notify_one();
                return Err(Busy::NoConnection);
            }
            let pause = state.not_before.and_then(|instant| instant.checked_duration_since(now));
            let wait = match pause.filter(|pause| !pause.is_zero()) {
                Some(pause) if now + pause >= until => {
                    self.freed.notify_one();
                    return Err(Busy::Paused(pause));
                }
                Some(pause) => pause,
                None if state.n_open < self.allowed(&state) => {
                    state.n_open += 1;
                    return Ok(Permit { origin: Arc::clone(self), is_answered: false });
                }
                None => until - now,
            };
            state = self.freed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Connections that would be good where the server takes them.
    fn most_connections(state: &OriginState) -> usize {
        if state.range_limit > 1 {
            return PARALLEL_WITH_RANGES;
        }
        connections_for(state.connections.latency().unwrap_or(GUESSED_LATENCY))
    }

    /// Requests that may be under way now. What somebody has set is that.
    fn allowed(&self, state: &OriginState) -> usize {
        match self.max_connections {
            0 => state.connections.allowed(Self::most_connections(state).max(PARALLEL_FILES)),
            number => number,
        }
    }

    fn good_for(&self, state: &OriginState) -> usize {
        match self.max_connections {
            0 => state.connections.good_for(Self::most_connections(state)),
            number => number,
        }
    }

    /// Lets a thread more make requests for who wants the bytes, if all reads together have not two for each connection.
    pub(super) fn add_worker(self: &Arc<Self>) -> Option<Worker> {
        let mut state = self.state();
        // Twice as many: those of a read that waits behind another one are there when that one's end.
        if state.n_workers + 1 >= 2 * self.allowed(&state) {
            return None;
        }
        state.n_workers += 1;
        Some(Worker(Arc::clone(self)))
    }

    /// Requests that it is asked at the same time, as far as is known.
    pub(super) fn max_parallel(&self) -> usize {
        self.good_for(&self.state())
    }

    /// Ranges that one request may ask for.
    pub(super) fn range_limit(&self) -> usize {
        self.state().range_limit
    }

    /// Ranges of one request that reading is planned with: one, as long as what came for several was nothing but wrong.
    pub(super) fn planned_ranges(&self) -> usize {
        let state = self.state();
        if state.n_wrong > 0 && !state.answers_several { 1 } else { state.range_limit }
    }

    /// It did not answer a range that counts from the end.
    pub(super) fn refuse_suffix(&self) {
        self.state().ignores_suffix = true;
    }

    /// Whether it may be asked for a range that counts from the end.
    pub(super) fn takes_suffix(&self) -> bool {
        !self.state().ignores_suffix
    }

    /// It did not answer `n_ranges` at once. One that never answered several gets one more chance, with few.
    pub(super) fn refuse(&self, n_ranges: usize) {
        let mut state = self.state();
        if !state.answers_several {
            state.n_refused += 1 + state.n_wrong;
        }
        let fewer = match state.n_refused {
            0 => step_below(n_ranges),
            1 => step_below(n_ranges).min(FEW),
            _ => 1,
        };
        Self::limit(&mut state, fewer);
        drop(state);
        // More connections may be opened now.
        self.freed.notify_all();
    }

    /// It takes no more than one range at a time, whatever their number.
    pub(super) fn refuse_several(&self) {
        Self::limit(&mut self.state(), 1);
        self.freed.notify_all();
    }

    fn limit(state: &mut OriginState, n_ranges: usize) {
        state.is_limit_new |= n_ranges < state.range_limit;
        state.range_limit = state.range_limit.min(n_ranges);
        state.n_wrong = 0;
        if state.range_limit == 1 {
            state.connections.set_kind(Kind::Any);
        }
    }

    /// Several ranges, asked for at `asked_at`, were not answered as they should be. Once may be chance, and so may what was asked
    /// before that was noticed: one outage breaks many answers. Wrong twice in a row is not, nor is any fault three times.
    pub(super) fn note_fault(&self, asked_at: Instant, fault: Fault) {
        let mut state = self.state();
        if state.last_wrong.is_some_and(|last| asked_at <= last) {
            return;
        }
        state.last_wrong = Some(Instant::now());
        state.n_wrong += 1;
        let n_allowed = if fault == Fault::Wrong || !state.answers_several { 2 } else { 3 };
        let (is_chance, answers_several) = (state.n_wrong < n_allowed, state.answers_several);
        drop(state);
        match fault {
            _ if is_chance => {}
            Fault::TooMany(n_ranges) if answers_several => self.refuse(n_ranges),
            _ => self.refuse_several(),
        }
    }

    /// It answered several ranges rightly.
    pub(super) fn approve(&self) {
        let mut state = self.state();
        (state.n_wrong, state.n_unanswered, state.n_refused) = (0, 0, 0);
        state.is_limit_new = false;
        if !std::mem::replace(&mut state.answers_several, true) && state.range_limit > 1 {
            state.connections.set_kind(Kind::Many);
            self.freed.notify_all();
        }
    }

    /// Whether it ever did.
    pub(super) fn answers_several(&self) -> bool {
        self.state().answers_several
    }

    /// Whether several ranges are asked for to see what comes: it never answered some, or not so many, or wrongly the last time.
    fn is_on_trial(&self) -> bool {
        let state = self.state();
        state.range_limit > 1 && (!state.answers_several || state.is_limit_new || state.n_wrong > 0)
    }

    /// Waits while another request shows whether several ranges are answered. Until what is returned is dropped, others wait.
    pub(super) fn try_several(&self) -> Option<MutexGuard<'_, ()>> {
        if !self.is_on_trial() {
            return None;
        }
        let one = self.trial_of_several.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_on_trial().then_some(one)
    }

    /// A request for several ranges, made at `asked_at`, brought nothing but an error of the moment, a reset or silence. That
    /// is an outage, as a rule; but there are things on the way to servers that let no such request pass.
    pub(super) fn leave_unanswered(&self, asked_at: Instant) {
        let mut state = self.state();
        if state.last_unanswered.is_none_or(|last| asked_at > last) {
            state.last_unanswered = Some(Instant::now());
            state.n_unanswered += 1;
        }
    }

    /// Whether to ask for one range at a time next, as several got no answer twice in a row.
    pub(super) fn is_doubted(&self) -> bool {
        self.state().n_unanswered >= 2
    }

    /// One range at a time, asked for at `asked_at`, was answered, or not, where several had got no answer.
    pub(super) fn try_single(&self, is_answered: bool, asked_at: Instant) {
        // If several get no answer the next time, too, one is tried at once.
        self.state().n_unanswered = u32::from(is_answered);
        if is_answered {
            self.note_fault(asked_at, Fault::Broken);
        }
    }

    /// It wants to be left alone for so long.
    pub(super) fn pause(&self, pause: Duration) {
        let until = Instant::now() + pause;
        let mut state = self.state();
        state.not_before = Some(state.not_before.map_or(until, |instant| instant.max(until)));
    }

    /// A request took so long from asking to the head of its answer, without connecting.
    pub(super) fn answered_after(&self, latency: Duration) {
        let mut state = self.state();
        let is_full = state.n_open >= self.allowed(&state);
        let most = Self::most_connections(&state);
        let before = self.allowed(&state);
        state.connections.answered(latency, is_full, most);
        if self.allowed(&state) > before {
            self.freed.notify_one();
        }
    }

    /// See [`Connections::n_signs`].
    pub(super) fn n_signs(&self) -> u64 {
        self.state().connections.n_signs()
    }

    /// See [`Connections::patience`].
    pub(super) fn patience(&self, n_given_up: u32) -> Option<Duration> {
        self.state().connections.patience(n_given_up)
    }

    /// Whether others than who asks have a connection.
    pub(super) fn is_busy(&self) -> bool {
        self.state().n_open > 1
    }

    /// Whether a connection on which nothing came yet is not worth waiting for: see [`Connections::is_hopeless`].
    pub(super) fn is_hopeless(&self, waited: Duration, n_signs: u64, n_given_up: u32) -> bool {
        self.state().connections.is_hopeless(waited, n_signs, n_given_up)
    }

    /// A connection did not come about while others worked. Whoever wanted it still has its permit.
    pub(super) fn give_up(&self) {
        let mut state = self.state();
        let n_others = state.n_open.saturating_sub(1);
        state.connections.given_up(n_others);
    }

    /// Something came on a new connection.
    pub(super) fn proven(&self) {
        self.state().connections.proven();
        self.freed.notify_one();
    }

    /// A connection was closed on which something had come.
    pub(super) fn closed(&self) {
        self.state().connections.closed();
    }

    /// A body begins to come.
    pub(super) fn transfer(self: &Arc<Self>) -> Transfer {
        let mut state = self.state();
        state.n_transfers += 1;
        Transfer(Arc::clone(self))
    }

    /// Latency, and bytes for each second.
    pub(super) fn measured(&self) -> (Duration, f64) {
        let state = self.state();
        let rate = state.measured_bytes / state.measured_seconds;
        (
            state.connections.latency().unwrap_or(GUESSED_LATENCY),
            if rate.is_finite() { rate } else { GUESSED_BYTES_PER_SECOND },
        )
    }
}

/// The next smaller number of ranges to try.
pub(super) fn step_below(n_ranges: usize) -> usize {
    STEPS.into_iter().find(|step| *step < n_ranges).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_ranges_are_tried_step_by_step() {
        let origin = Origin::new(0, true);
        origin.approve();
        let mut limits = vec![origin.range_limit()];
        while origin.range_limit() > 1 {
            origin.refuse(origin.range_limit());
            limits.push(origin.range_limit());
        }
        assert_eq!(limits, STEPS);
        let origin = Origin::new(0, true);
        origin.refuse(2);
        assert_eq!((origin.range_limit(), origin.max_parallel()), (1, 4));
    }

    #[test]
    fn a_server_that_never_answered_several_ranges_is_asked_for_some_twice() {
        let origin = Origin::new(0, true);
        origin.refuse(200);
        assert_eq!(origin.range_limit(), 5);
        origin.refuse(5);
        assert_eq!(origin.range_limit(), 1);
    }

    #[test]
    fn two_wrong_answers_or_three_that_broke_off_are_no_chance() {
        for (fault, n_faults, left) in [(Fault::Wrong, 2, 1), (Fault::Broken, 3, 1), (Fault::TooMany(200), 3, 50)] {
            let origin = Origin::new(0, true);
            origin.approve();
            let long_ago = Instant::now();
            for _ in 0..n_faults {
                assert_eq!(origin.range_limit(), STEPS[0]);
                origin.note_fault(Instant::now(), fault);
                origin.note_fault(long_ago, fault);
            }
            assert_eq!(origin.range_limit(), left);
        }
    }

    #[test]
    fn single_ranges_take_more_connections_the_longer_an_answer_takes() {
        let parallel_at = |milliseconds| {
            let origin = Origin::new(0, false);
            origin.answered_after(Duration::from_millis(milliseconds));
            origin.max_parallel()
        };
        assert_eq!([0, 1, 5, 10, 20, 50].map(parallel_at), [16, 16, 50, 50, 100, 128]);
        let origin = Origin::new(0, true);
        origin.approve();
        origin.answered_after(Duration::from_millis(150));
        assert_eq!(origin.max_parallel(), PARALLEL_WITH_RANGES, "one request takes many ranges");
    }

    #[test]
    fn who_waits_is_woken_where_more_connections_may_be_opened() {
        let origin = Arc::new(Origin::new(0, false));
        let until = Instant::now() + Duration::from_secs(60);
        let n_allowed = origin.allowed(&origin.state());
        let permits: Vec<Permit> = (0..n_allowed).map(|_| origin.enter(until).unwrap()).collect();
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..10).map(|_| scope.spawn(|| origin.enter(until).map(std::mem::forget))).collect();
            std::thread::sleep(Duration::from_millis(20));
            (0..10).for_each(|_| origin.proven());
            waiting.into_iter().for_each(|waiter| waiter.join().unwrap().unwrap());
        });
        assert!(Instant::now() < until);
        drop(permits);
    }

    #[test]
    fn what_came_with_the_head_tells_no_rate() {
        let origin = Arc::new(Origin::new(0, false));
        let transfer = origin.transfer();
        transfer.came(1 << 20);
        drop(transfer);
        assert_eq!(origin.measured(), (GUESSED_LATENCY, GUESSED_BYTES_PER_SECOND));
        let transfer = origin.transfer();
        transfer.came(128 << 10);
        transfer.came(72 << 10);
        drop(transfer);
        assert!(origin.measured().1 <= f64::from(72 << 10) / LEAST_TIMED.as_secs_f64(), "{:?}", origin.measured());
        let origin = Arc::new(Origin::new(0, false));
        let transfer = origin.transfer();
        transfer.came(1 << 20);
        std::thread::sleep(Duration::from_millis(20));
        transfer.came(1 << 20);
        drop(transfer);
        assert!(origin.measured().1 <= f64::from(1 << 20) / 0.020, "{:?}", origin.measured());
    }

    #[test]
    fn connections_are_limited_and_waiting_ends() {
        let origin = Arc::new(Origin::new(1, true));
        let soon = || Instant::now() + Duration::from_millis(30);
        let permit = origin.enter(soon()).unwrap();
        assert_eq!(origin.enter(soon()).unwrap_err(), Busy::NoConnection);
        drop(permit);
        drop(origin.enter(soon()).unwrap());
        origin.pause(Duration::from_secs(60));
        let start = Instant::now();
        assert!(matches!(origin.enter(start + Duration::from_secs(10)), Err(Busy::Paused(_))));
        assert!(start.elapsed() < Duration::from_secs(5), "a pause beyond the deadline is not waited for");
    }
}
