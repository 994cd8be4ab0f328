//! What many threads want, and one of them makes.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A value that is made when somebody wants it and it is not there, or of no more use.
///
/// Who comes while it is being made waits for as long as they have time, and shares what comes of it. So does who waits
/// for one that cannot be made: of ten who want something of a silent server each waits as long as one, not as long as ten.
pub(crate) struct Shared<T, E> {
    state: Mutex<SharedState<T, E>>,
    made: Condvar,
}

struct SharedState<T, E> {
    value: Option<T>,
    is_being_made: bool,
    /// Times that it was made, or could not be.
    n_made: u64,
    /// Why it could not be the last time, unless that was for want of time, which others may have more of.
    failure: Option<E>,
}

impl<T, E> Default for Shared<T, E> {
    fn default() -> Self {
        let state = SharedState { value: None, is_being_made: false, n_made: 0, failure: None };
        Shared { state: Mutex::new(state), made: Condvar::new() }
    }
}

impl<T: Clone, E: Clone> Shared<T, E> {
    /// One that is there.
    pub(crate) fn of(value: T) -> Self {
        let shared = Shared::default();
        shared.locked().value = Some(value);
        shared
    }

    /// What is there now, whether it is of use or not; nothing while it is being made.
    pub(crate) fn current(&self) -> Option<T> {
        self.locked().value.clone()
    }

    /// What is there and `is_usable`, or what comes of `make`, which gets what was there. A failure `is_for_want_of_time` if
    /// others may have the time. `None` if another thread still
    /// makes it at the moment `until`.
    pub(crate) fn get(
        &self,
        until: Instant,
        is_usable: impl Fn(&T) -> bool,
        is_for_want_of_time: impl Fn(&E) -> bool,
        make: impl FnOnce(Option<T>) -> Result<T, E>,
    ) -> Option<Result<T, E>> {
        let mut state = self.locked();
        let mut awaited = None;
        loop {
            if let Some(value) = state.value.as_ref().filter(|value| is_usable(value)) {
                return Some(Ok(value.clone()));
            }
            if awaited.is_some_and(|n_made| n_made != state.n_made)
                && let Some(failure) = &state.failure
            {
                return Some(Err(failure.clone()));
            }
            if !state.is_being_made {
                break;
            }
            awaited.get_or_insert(state.n_made);
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return None;
            }
            state = self.made.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_being_made = true;
        let before = state.value.take();
        drop(state);
        let making = Making(self);
        let result = make(before);
        let mut state = self.locked();
        match &result {
            Ok(value) => (state.value, state.failure) = (Some(value.clone()), None),
            Err(failure) => {
                let is_for_all = Instant::now() < until && !is_for_want_of_time(failure);
                state.failure = is_for_all.then(|| failure.clone());
            }
        }
        drop(state);
        drop(making);
        Some(result)
    }
}

impl<T, E> Shared<T, E> {
    fn locked(&self) -> MutexGuard<'_, SharedState<T, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets those who wait go on, also after a panic.
struct Making<'s, T, E>(&'s Shared<T, E>);

impl<T, E> Drop for Making<'_, T, E> {
    fn drop(&mut self) {
        let mut state = self.0.locked();
        state.is_being_made = false;
        state.n_made += 1;
        self.0.made.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(60);
    const MAKING: Duration = Duration::from_secs(1);

    /// What eight threads get that want it at the same time, how often it was made, and how long that took.
    fn wanted(patience: Duration, made: Result<u8, u8>) -> (Vec<Option<Result<u8, u8>>>, usize, Duration) {
        let (shared, n_made) = (Shared::default(), AtomicUsize::new(0));
        let start = Instant::now();
        let want = || {
            shared.get(
                Instant::now() + patience,
                |_| true,
                |_| false,
                |_| {
                    n_made.fetch_add(1, SeqCst);
                    std::thread::sleep(MAKING);
                    made
                },
            )
        };
        let got = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(want)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        (got, n_made.into_inner(), start.elapsed())
    }

    #[test]
    fn who_waits_has_what_comes_of_it() {
        for made in [Ok(1), Err(2)] {
            let (got, n_made, elapsed) = wanted(LONG, made);
            assert_eq!((got, n_made), (vec![Some(made); 8], 1));
            assert!(elapsed < 7 * MAKING, "{elapsed:?}");
        }
    }

    #[test]
    fn nobody_waits_longer_than_they_have_time() {
        let (got, n_made, elapsed) = wanted(MAKING / 3, Err(2));
        assert_eq!((got.iter().flatten().count(), n_made), (1, 1));
        assert!(elapsed < 7 * MAKING, "{elapsed:?}");
    }

    #[test]
    fn what_is_of_no_use_is_made_anew_and_so_is_what_failed_before() {
        let shared: Shared<u8, u8> = Shared::of(1);
        let get = |least: u8, made| shared.get(Instant::now() + LONG, |value| *value >= least, |_| false, |_| made);
        assert_eq!(get(1, Err(0)), Some(Ok(1)));
        assert_eq!(get(2, Err(0)), Some(Err(0)));
        assert_eq!(shared.current(), None);
        assert_eq!(get(2, Ok(2)), Some(Ok(2)));
        assert_eq!(shared.current(), Some(2));
    }

    #[test]
    fn for_want_of_time_only_its_own_maker_fails() {
        // Its time is over, or it says that it is too short for what is wanted.
        for (patience, is_told) in [(MAKING / 3, false), (LONG, true)] {
            let shared: Shared<u8, u8> = Shared::default();
            let (begun, waits) = std::sync::mpsc::channel();
            std::thread::scope(|scope| {
                let maker = scope.spawn(|| {
                    shared.get(
                        Instant::now() + patience,
                        |_| true,
                        |_| is_told,
                        |_| {
                            begun.send(()).unwrap();
                            std::thread::sleep(MAKING);
                            Err(1)
                        },
                    )
                });
                waits.recv().unwrap();
                assert_eq!(shared.get(Instant::now() + LONG, |_| true, |_| false, |_| Ok(2)), Some(Ok(2)));
                assert_eq!(maker.join().unwrap(), Some(Err(1)));
            });
        }
    }
}
