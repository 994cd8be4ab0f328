//! New connections are on trial until something comes on them: where others work, one that does not come about is given up, and
//! what it was for is asked for on one of the others.
//!
//! The HTTP library connects within a request, in the thread that makes it: what a connection needs to know of its server goes
//! through that thread.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{fmt, io};

use super::origin::Origin;

/// Between looks whether others work.
pub(super) const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

thread_local! {
    /// Of the request that this thread makes.
    static CURRENT: RefCell<Option<Trial>> = const { RefCell::new(None) };
}

/// What a request tells the connection that is made for it, and that tells the request.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    origin: Arc<Origin>,
    /// Connections that this request was given up on before; `None`: it waits as long as it may.
    n_given_up: Option<u32>,
    begun_at: Instant,
    /// Of the origin at that moment.
    n_signs: u64,
    /// Nothing was connected.
    has_failed: Arc<AtomicBool>,
}

/// It did not come about.
#[derive(Debug)]
struct GivenUp;

impl fmt::Display for GivenUp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a new connection was not answered while others were")
    }
}

impl std::error::Error for GivenUp {}

impl Trial {
    /// Makes the request `ask`. Returns what it does, and whether it failed as no connection came about, which others may do
    /// without.
    pub(super) fn of<T>(
        origin: &Arc<Origin>,
        n_given_up: Option<u32>,
        ask: impl FnOnce() -> Result<T, ureq::Error>,
    ) -> (Result<T, ureq::Error>, bool) {
        let (begun_at, n_signs) = (Instant::now(), origin.n_signs());
        let (origin, has_failed) = (Arc::clone(origin), Arc::new(AtomicBool::new(false)));
        let trial = Trial { origin, n_given_up, begun_at, n_signs, has_failed: Arc::clone(&has_failed) };
        CURRENT.set(Some(trial.clone()));
        let result = ask();
        CURRENT.set(None);
        let is_given_up = match &result {
            Err(ureq::Error::Io(error)) => {
                error.get_ref().is_some_and(|inner| inner.is::<GivenUp>())
                    || (has_failed.load(Relaxed) && n_given_up.is_some() && trial.origin.is_busy())
            }
            _ => false,
        };
        (result, is_given_up)
    }

    /// That of the request that this thread makes.
    pub(super) fn current() -> Option<Trial> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Connects with `connect`, which takes the time that it has, and again while nobody else works.
    pub(super) fn connect<T>(
        &self,
        rest: impl Fn() -> Duration,
        connect: impl Fn(Duration) -> io::Result<T>,
    ) -> io::Result<T> {
        let Some(mut patience) = self.patience() else { return self.noted(connect(rest())) };
        loop {
            let left = rest();
            match connect(left.min(patience)) {
                Err(error) if error.kind() == io::ErrorKind::TimedOut && patience < left => self.check()?,
                connected => return self.noted(connected),
            }
            patience *= 2;
        }
    }

    fn noted<T>(&self, connected: io::Result<T>) -> io::Result<T> {
        self.has_failed.store(connected.is_err(), Relaxed);
        connected
    }

    /// How long it takes until others count. `None`: they don't.
    fn patience(&self) -> Option<Duration> {
        self.n_given_up.and_then(|n_given_up| self.origin.patience(n_given_up))
    }

    /// # Errors
    /// If there is no use in waiting for this connection any longer.
    pub(super) fn check(&self) -> io::Result<()> {
        let is_over = self
            .n_given_up
            .is_some_and(|n_given_up| self.origin.is_hopeless(self.begun_at.elapsed(), self.n_signs, n_given_up));
        if is_over { Err(io::Error::other(GivenUp)) } else { Ok(()) }
    }
}

/// A connection that was made, as its server's books have it.
#[derive(Debug)]
pub(super) struct Entered {
    /// Nothing came yet.
    trial: Option<Trial>,
    origin: Option<Arc<Origin>>,
}

impl Entered {
    pub(super) fn new(trial: Option<Trial>) -> Entered {
        Entered { trial, origin: None }
    }

    /// That it is on.
    pub(super) fn trial(&self) -> Option<&Trial> {
        self.trial.as_ref()
    }

    /// Something came.
    pub(super) fn came(&mut self) {
        if let Some(trial) = self.trial.take() {
            trial.origin.proven();
            self.origin = Some(trial.origin);
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(origin) = &self.origin {
            origin.closed();
        }
    }
}
