//! The parts of a scan that one thread does at a time, and how long they take: they bound what more threads gain.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::stats::add_ns;
use crate::clock::thread_cpu_time;

/// State that threads share, of which one at a time has it.
pub(crate) struct Guarded<T> {
    state: Mutex<T>,
    changed: Condvar,
    /// Threads that wait for a change. It is changed with the lock alone: to wake nobody is a call of the system, too.
    n_waiting: AtomicUsize,
    called: Condvar,
    /// Threads that rest until they are called, which no change wakes; as above.
    n_resting: AtomicUsize,
}

/// The state, while a thread has it.
pub(crate) struct Guard<'g, T> {
    state: MutexGuard<'g, T>,
    held: HeldTime<'g>,
    of: &'g Guarded<T>,
}

/// Adds the time of its life to a counter.
struct HeldTime<'c> {
    since: Instant,
    total_ns: &'c AtomicU64,
}

impl Drop for HeldTime<'_> {
    fn drop(&mut self) {
        add_ns(self.total_ns, self.since.elapsed());
    }
}

impl<T> Guarded<T> {
    pub(crate) fn new(state: T) -> Self {
        Guarded {
            state: Mutex::new(state),
            changed: Condvar::new(),
            n_waiting: AtomicUsize::new(0),
            called: Condvar::new(),
            n_resting: AtomicUsize::new(0),
        }
    }

    /// Wakes one thread that rests, if any does. Whoever has the state lets go of it before.
    pub(crate) fn call_one(&self) {
        if self.n_resting.load(Relaxed) > 0 {
            self.called.notify_one();
        }
    }

    /// Wakes all threads that rest.
    pub(crate) fn call_all(&self) {
        if self.n_resting.load(Relaxed) > 0 {
            self.called.notify_all();
        }
    }

    /// The time that it is held is added to `held_ns`.
    pub(crate) fn lock<'g>(&'g self, held_ns: &'g AtomicU64) -> Guard<'g, T> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Guard { state, held: HeldTime { since: Instant::now(), total_ns: held_ns }, of: self }
    }
}

impl<T> Guard<'_, T> {
    /// Lets go of the state and waits until somebody tells of a change, but not longer than `patience`.
    pub(crate) fn wait(self, patience: Duration) {
        let of = self.of;
        self.sleep(&of.changed, &of.n_waiting, patience);
    }

    /// Lets go of the state and rests until somebody calls, but not longer than `patience`.
    pub(crate) fn rest(self, patience: Duration) {
        let of = self.of;
        self.sleep(&of.called, &of.n_resting, patience);
    }

    fn sleep(self, condition: &Condvar, n_asleep: &AtomicUsize, patience: Duration) {
        let Guard { state, held, .. } = self;
        drop(held);
        n_asleep.fetch_add(1, Relaxed);
        let state = condition.wait_timeout(state, patience);
        n_asleep.fetch_sub(1, Relaxed);
        drop(state);
    }

    /// Lets go of the state, and wakes all who wait for a change of it.
    pub(crate) fn tell(self) {
        let (of, is_anybody_waiting) = (self.of, self.of.n_waiting.load(Relaxed) > 0);
        drop(self);
        if is_anybody_waiting {
            of.changed.notify_all();
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.state
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.state
    }
}

/// CPU time of a thread in one kind of work.
pub(crate) struct WorkTime {
    begin: Duration,
    other: Duration,
}

impl WorkTime {
    pub(crate) fn begin() -> Self {
        WorkTime { begin: thread_cpu_time(), other: Duration::ZERO }
    }

    /// Does work of another kind.
    pub(crate) fn without<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begin = thread_cpu_time();
        let result = work();
        self.other += thread_cpu_time().saturating_sub(begin);
        result
    }

    pub(crate) fn end(self) -> Duration {
        thread_cpu_time().saturating_sub(self.begin + self.other)
    }
}
