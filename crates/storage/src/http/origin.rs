//! What is known of a server, for all files of the process that come from it.

use std::ops::RangeInclusive;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Ranges in one request that are tried, most first. Apache answers up to 200; jsroot takes the same steps.
const STEPS: [usize; 5] = [200, 50, 20, 5, 1];
/// Connections to a server that answers several ranges at once.
const PARALLEL_WITH_RANGES: usize = 8;
/// Connections to one that does not, as S3 is used by everybody: more cost more on both sides than they bring.
const PARALLEL_WITHOUT: RangeInclusive<usize> = 16..=128;
/// Within those bounds there are so many that requests of this size keep the line full; many baskets are no larger.
const SMALL_REQUEST_BYTES: f64 = 12.0 * 1024.0;
/// Transfers of less are over before they can be timed.
const LEAST_TIMED_BYTES: u64 = 64 << 10;
/// Until something was measured.
const GUESSED_LATENCY: Duration = Duration::from_millis(20);
const GUESSED_BYTES_PER_SECOND: f64 = 100e6;

/// A server: scheme, host and port.
#[derive(Debug)]
pub(super) struct Origin {
    max_connections: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Ranges that it answers at once, as far as is known.
    range_limit: usize,
    /// It takes no range that counts from the end, as XRootD's HTTP does not.
    ignores_suffix: bool,
    /// Answers to several ranges in a row that were wrong.
    n_wrong: u32,
    n_open: usize,
    latency: Option<Duration>,
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
pub(super) struct Permit(Arc<Origin>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.state().n_open -= 1;
        // One: where hundreds wait, waking all for one connection costs more than the request.
        self.0.freed.notify_one();
    }
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
        let seconds = state.transfer_start.take().map_or(0.0, |start| start.elapsed().as_secs_f64());
        if bytes >= LEAST_TIMED_BYTES && seconds > 0.0 {
            #[expect(clippy::cast_precision_loss, reason = "a measure")]
            let bytes = bytes as f64;
            // What is long ago counts less.
            state.measured_bytes = 0.7 * state.measured_bytes + bytes;
            state.measured_seconds = 0.7 * state.measured_seconds + seconds;
        }
    }
}

impl Origin {
    /// `max_connections`: 0 for as many as are good. `is_multi_range`: whether several ranges may be tried.
    pub(super) fn new(max_connections: usize, is_multi_range: bool) -> Origin {
        Origin {
            max_connections,
            state: Mutex::new(State {
                range_limit: if is_multi_range { STEPS[0] } else { 1 },
                ignores_suffix: false,
                n_wrong: 0,
                n_open: 0,
                latency: None,
                n_transfers: 0,
                transfer_start: None,
                transferred_bytes: 0,
                measured_bytes: 0.0,
                measured_seconds: 0.0,
                not_before: None,
            }),
            freed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
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
                None if state.n_open < self.most_connections(&state) => {
                    state.n_open += 1;
                    return Ok(Permit(Arc::clone(self)));
                }
                None => until - now,
            };
            state = self.freed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn most_connections(&self, state: &State) -> usize {
        match self.max_connections {
            0 if state.range_limit > 1 => PARALLEL_WITH_RANGES,
            0 => {
                let (latency, bytes_per_second) = measured(state);
                connections_for(latency.as_secs_f64() * bytes_per_second)
            }
            number => number,
        }
    }

    /// Requests that it is asked at the same time.
    pub(super) fn max_parallel(&self) -> usize {
        self.most_connections(&self.state())
    }

    /// Ranges that one request may ask for.
    pub(super) fn range_limit(&self) -> usize {
        self.state().range_limit
    }

    /// It did not answer a range that counts from the end.
    pub(super) fn refuse_suffix(&self) {
        self.state().ignores_suffix = true;
    }

    /// Whether it may be asked for a range that counts from the end.
    pub(super) fn takes_suffix(&self) -> bool {
        !self.state().ignores_suffix
    }

    /// It did not answer `n_ranges` at once.
    pub(super) fn refuse(&self, n_ranges: usize) {
        let mut state = self.state();
        state.range_limit = state.range_limit.min(step_below(n_ranges));
        state.n_wrong = 0;
        // More connections may be opened now.
        self.freed.notify_all();
    }

    /// It answered several ranges wrongly, or broke off. Once may be chance; three times in a row are not.
    pub(super) fn strike(&self, n_ranges: usize) {
        let mut state = self.state();
        state.n_wrong += 1;
        let is_chance = state.n_wrong < 3;
        drop(state);
        if !is_chance {
            self.refuse(n_ranges);
        }
    }

    /// It answered several ranges rightly.
    pub(super) fn approve(&self) {
        self.state().n_wrong = 0;
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
        // The least is what the line needs; more is a server that was busy.
        state.latency = Some(state.latency.map_or(latency, |least| least.min(latency)));
    }

    /// A body begins to come.
    pub(super) fn transfer(self: &Arc<Self>) -> Transfer {
        let mut state = self.state();
        state.n_transfers += 1;
        Transfer(Arc::clone(self))
    }

    /// Latency, and bytes for each second.
    pub(super) fn measured(&self) -> (Duration, f64) {
        measured(&self.state())
    }
}

fn measured(state: &State) -> (Duration, f64) {
    let rate = state.measured_bytes / state.measured_seconds;
    (state.latency.unwrap_or(GUESSED_LATENCY), if rate.is_finite() { rate } else { GUESSED_BYTES_PER_SECOND })
}

/// Connections to a server that answers one range at a time, over a line that holds so many bytes.
fn connections_for(line_bytes: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; casts of floats saturate")]
    let n_connections = (line_bytes / SMALL_REQUEST_BYTES) as usize;
    n_connections.clamp(*PARALLEL_WITHOUT.start(), *PARALLEL_WITHOUT.end())
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
        let mut limits = vec![origin.range_limit()];
        while origin.range_limit() > 1 {
            origin.refuse(origin.range_limit());
            limits.push(origin.range_limit());
        }
        assert_eq!(limits, STEPS);
        let origin = Origin::new(0, true);
        origin.refuse(2);
        assert_eq!(origin.range_limit(), 1);
        assert!(PARALLEL_WITHOUT.contains(&origin.max_parallel()));
    }

    #[test]
    fn single_ranges_take_as_many_connections_as_fill_the_line() {
        let [short, medium, long] = [0.005 * 12e6, 0.005 * 100e6, 0.050 * 100e6].map(connections_for);
        assert_eq!((short, medium, long), (16, 40, 128));
        assert_eq!((connections_for(0.0), connections_for(f64::MAX)), (16, 128));
    }

    #[test]
    fn what_came_with_the_head_tells_no_rate() {
        let origin = Arc::new(Origin::new(0, false));
        let transfer = origin.transfer();
        transfer.came(1 << 20);
        drop(transfer);
        assert_eq!(origin.measured(), (GUESSED_LATENCY, GUESSED_BYTES_PER_SECOND));
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
