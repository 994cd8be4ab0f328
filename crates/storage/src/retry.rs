//! Trying again.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::account::{Ledger, Ledgers, Operation};
use crate::error::{Error, Result};
use crate::logged::LOG;
use crate::options::Network;
use crate::requests::Protocol;
use crate::secret::redacted;
use crate::source::{AccessProfile, Opened, Part, Source, pass_on};

/// The first pause is at most this, each next one at most twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A store whose failed reads say what they brought.
pub trait Attempt: Source {
    /// Fills parts, once, until a moment. Returns the parts, or pieces of them, that are not filled.
    ///
    /// # Errors
    /// As [`Source::read_vector`].
    fn attempt<'b>(&self, parts: Vec<Part<'b>>, until: Instant) -> (Vec<Part<'b>>, Result<()>);
}

/// A store whose failed reads bring nothing, and which minds its timeouts itself.
pub struct AllOrNothing(pub Arc<dyn Source>);

#[deny(clippy::missing_trait_methods)]
impl Source for AllOrNothing {
    fn url(&self) -> &str {
        self.0.url()
    }

    fn size_bytes(&self) -> u64 {
        self.0.size_bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.0.read_at(offset, buffer)
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        self.0.read_vector(parts)
    }

    fn access_profile(&self) -> AccessProfile {
        self.0.access_profile()
    }

    fn protocol(&self) -> Protocol {
        self.0.protocol()
    }

    fn version(&self) -> Option<String> {
        self.0.version()
    }
}

impl Attempt for AllOrNothing {
    fn attempt<'b>(&self, mut parts: Vec<Part<'b>>, _until: Instant) -> (Vec<Part<'b>>, Result<()>) {
        let result = match parts.as_mut_slice() {
            [part] => self.0.read_at(part.offset, part.buffer),
            parts => self.0.read_vector(parts),
        };
        (if result.is_ok() { Vec::new() } else { parts }, result)
    }
}

/// Opens with tries, and tries the reads again of what was opened: for stores that do not say what their failed reads brought.
///
/// # Errors
/// Those of `open`, or [`Error::Deadline`] with the last one.
pub fn open_again(url: &str, network: &Network, mut open: impl FnMut() -> Result<Opened>) -> Result<Opened> {
    open_attempts(url, network, |_| {
        let Opened { source, preloaded, ledgers } = open()?;
        Ok((AllOrNothing(source), preloaded, ledgers))
    })
}

/// What opens a store: the store, the bytes that came with it, and its ledgers.
pub(crate) type OpenedStore<S> = (S, Vec<(u64, Vec<u8>)>, Ledgers);

/// Opens with tries, and tries again what is missing of the reads of what was opened. `open` gets the moment until which it
/// may take.
///
/// # Errors
/// Those of `open`, or [`Error::Deadline`] with the last one.
pub(crate) fn open_attempts<S: Attempt + 'static>(
    url: &str,
    network: &Network,
    open: impl FnMut(Instant) -> Result<OpenedStore<S>>,
) -> Result<Opened> {
    let policy = Policy::of(network);
    let attempts = Arc::new(Ledger::new("attempt", false));
    let (store, preloaded, inner) = policy.open(&redacted(url), &attempts, open)?;
    let source = Arc::new(Retry::new(store, policy, Arc::clone(&attempts)));
    Ok(Opened { source, preloaded, ledgers: std::iter::once(attempts).chain(inner.all()).collect() })
}

/// How often and how long to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Tries after the first that bring nothing.
    pub retries: u32,
    /// All tries together.
    pub deadline: Duration,
}

impl Policy {
    /// That of the options.
    pub fn of(network: &Network) -> Policy {
        Policy { retries: network.retries, deadline: network.deadline }
    }

    /// Tries until it succeeds, fails for good, or there was enough of it. `work` gets the moment until which it may take,
    /// and returns with its error whether it brought something: then the try is not counted.
    fn run<T>(&self, url: &str, mut work: impl FnMut(Instant) -> Result<T, (Error, bool)>) -> Result<T> {
        let start = Instant::now();
        let until = start + self.deadline;
        let mut n_tries = 0;
        let mut n_in_vain = 0;
        let mut before = None;
        loop {
            n_tries += 1;
            let (error, brought_something) = match work(until) {
                Ok(done) => return Ok(done),
                Err((error, _)) if !error.is_transient() => return Err(error),
                Err(failed) => failed,
            };
            n_in_vain = if brought_something { 0 } else { n_in_vain + 1 };
            let pause = pause(n_in_vain);
            if n_in_vain > self.retries && Instant::now() < until {
                return Err(error);
            }
            if Instant::now() + pause >= until {
                // A try that the deadline ended tells less than the one before.
                let telling = if Instant::now() < until { error } else { before.unwrap_or(error) };
                let (url, elapsed) = (url.to_owned(), start.elapsed());
                return Err(Error::Deadline { url, elapsed, n_tries, last: Box::new(telling) });
            }
            log::warn!(target: LOG, "{error}; try {} follows in {pause:.1?}", n_tries + 1);
            before = Some(error);
            std::thread::sleep(pause);
        }
    }

    /// Opens with tries, each entered in `ledger`.
    ///
    /// # Errors
    /// The last one, or [`Error::Deadline`] with it.
    pub fn open<T>(&self, url: &str, ledger: &Ledger, mut work: impl FnMut(Instant) -> Result<T>) -> Result<T> {
        self.run(url, |until| {
            ledger.enter(Operation::Open, std::iter::empty(), || work(until)).map_err(|error| (error, false))
        })
    }
}

/// Exponential backoff with full jitter: anything from nothing to a bound that doubles, so that the clients of a server
/// that failed do not come back together.
fn pause(n_in_vain: u32) -> Duration {
    let bound = FIRST_PAUSE.saturating_mul(1 << n_in_vain.saturating_sub(1).min(10)).min(LONGEST_PAUSE);
    // Each state is keyed at random: chance without a crate for it.
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    #[expect(clippy::cast_precision_loss, reason = "53 bits of chance are enough")]
    bound.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64)
}

/// A layer that tries reads again, only what is missing of them, and only if that may help ([`Error::is_transient`]).
///
/// Between tries it waits, at first up to 0.1 s, then up to twice as long each time, up to 10 s. It gives up after so many
/// tries as the options allow that brought nothing, or when all tries of a read took longer than the deadline. Every
/// try is entered in a ledger.
pub struct Retry<S> {
    inner: S,
    policy: Policy,
    ledger: Arc<Ledger>,
}

impl<S: Attempt> Retry<S> {
    /// Tries the reads of `inner` again, and enters all tries in `ledger`.
    pub fn new(inner: S, policy: Policy, ledger: Arc<Ledger>) -> Self {
        Retry { inner, policy, ledger }
    }

    fn read(&self, parts: Vec<Part<'_>>) -> Result<()> {
        let mut missing = Some(parts);
        self.policy.run(self.inner.url(), |until| {
            let parts = missing.take().unwrap_or_default();
            let ranges: Vec<_> = parts.iter().map(|part| (part.offset, part.buffer.len() as u64)).collect();
            let operation = if ranges.len() == 1 { Operation::Read } else { Operation::ReadVector };
            let n_before: u64 = ranges.iter().map(|(_, n_bytes)| n_bytes).sum();
            let mut n_after = n_before;
            let result = self.ledger.enter(operation, ranges.into_iter(), || {
                let (left, result) = self.inner.attempt(parts, until);
                n_after = left.iter().map(|part| part.buffer.len() as u64).sum();
                missing = Some(left);
                result
            });
            if result.is_err() {
                self.ledger.salvage(operation, n_before.saturating_sub(n_after));
            }
            result.map_err(|error| (error, n_after < n_before))
        })
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Attempt> Source for Retry<S> {
    pass_on!(inner);

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read(vec![Part { offset, buffer }])
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        self.read(parts.iter_mut().map(|part| Part { offset: part.offset, buffer: part.buffer }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySource;
    use std::sync::Mutex;

    /// Fails as it is told, having filled so many bytes of what is missing.
    struct Flaky {
        memory: MemorySource,
        failures: Mutex<Vec<(usize, Error)>>,
        asked: Mutex<Vec<Vec<(u64, usize)>>>,
    }

    impl Source for Flaky {
        fn url(&self) -> &str {
            self.memory.url()
        }
        fn size_bytes(&self) -> u64 {
            self.memory.size_bytes()
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
            self.memory.read_at(offset, buffer)
        }
        fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
            self.memory.read_vector(parts)
        }
        fn access_profile(&self) -> AccessProfile {
            AccessProfile::LOCAL
        }
    }

    impl Attempt for Flaky {
        fn attempt<'b>(&self, mut parts: Vec<Part<'b>>, _until: Instant) -> (Vec<Part<'b>>, Result<()>) {
            self.asked.lock().unwrap().push(parts.iter().map(|part| (part.offset, part.buffer.len())).collect());
            let Some((mut n_filled, error)) = self.failures.lock().unwrap().pop() else {
                self.memory.read_vector(&mut parts).unwrap();
                return (Vec::new(), Ok(()));
            };
            let mut left = Vec::new();
            for part in parts {
                let n_here = n_filled.min(part.buffer.len());
                n_filled -= n_here;
                let (filled, rest) = part.buffer.split_at_mut(n_here);
                self.memory.read_at(part.offset, filled).unwrap();
                if !rest.is_empty() {
                    left.push(Part { offset: part.offset + n_here as u64, buffer: rest });
                }
            }
            (left, Err(error))
        }
    }

    fn broken() -> Error {
        Error::Connection { url: "m".to_owned(), doing: "reading".to_owned(), what: "reset".to_owned() }
    }

    fn flaky(mut failures: Vec<(usize, Error)>, retries: u32, deadline: Duration) -> Retry<Flaky> {
        failures.reverse();
        let memory = MemorySource::new("m", (0..100).collect::<Vec<u8>>());
        let inner = Flaky { memory, failures: Mutex::new(failures), asked: Mutex::default() };
        Retry::new(inner, Policy { retries, deadline }, Arc::new(Ledger::new("attempt", false)))
    }

    #[test]
    fn only_what_is_missing_is_asked_for_again() {
        let retry = flaky(vec![(7, broken()), (0, broken())], 5, Duration::from_secs(60));
        let (mut a, mut b) = ([0; 5], [0; 5]);
        let mut parts = [Part { offset: 10, buffer: &mut a }, Part { offset: 50, buffer: &mut b }];
        retry.read_vector(&mut parts).unwrap();
        assert_eq!((a, b), ([10, 11, 12, 13, 14], [50, 51, 52, 53, 54]));
        let asked = retry.inner.asked.lock().unwrap().clone();
        assert_eq!(asked, [vec![(10, 5), (50, 5)], vec![(52, 3)], vec![(52, 3)]]);
        let (first, later) = (retry.ledger.totals(Operation::ReadVector), retry.ledger.totals(Operation::Read));
        assert_eq!((first.n_attempted, first.n_successful), (1, 0));
        assert_eq!((later.n_attempted, later.n_successful), (2, 1));
    }

    #[test]
    fn tries_in_vain_are_limited_and_those_with_success_are_not() {
        let failures = (0..4).map(|_| (0, broken())).collect();
        let retry = flaky(failures, 2, Duration::from_secs(60));
        assert!(matches!(retry.read_at(0, &mut [0; 50]), Err(Error::Connection { .. })));
        assert_eq!(retry.ledger.totals(Operation::Read).n_attempted, 3);
        let failures = (0..6).map(|_| (1, broken())).collect();
        let retry = flaky(failures, 1, Duration::from_secs(60));
        retry.read_at(0, &mut [0; 50]).unwrap();
        assert_eq!(retry.ledger.totals(Operation::Read).n_attempted, 7);
    }

    #[test]
    fn what_cannot_help_is_not_tried_again() {
        let changed = Error::Changed { url: "m".to_owned(), what: "it is longer".to_owned() };
        let retry = flaky(vec![(0, changed)], 5, Duration::from_secs(60));
        assert!(matches!(retry.read_at(0, &mut [0; 5]), Err(Error::Changed { .. })));
        assert_eq!(retry.ledger.totals(Operation::Read).n_attempted, 1);
    }

    #[test]
    fn the_deadline_says_what_failed_last() {
        let failures = (0..1000).map(|_| (0, broken())).collect();
        let retry = flaky(failures, 1000, Duration::from_millis(200));
        let start = Instant::now();
        let error = retry.read_at(0, &mut [0; 5]).unwrap_err();
        assert!(matches!(&error, Error::Deadline { n_tries: 1.., .. }), "{error}");
        assert!(error.to_string().starts_with("m: gave up after 0."), "{error}");
        assert!(error.to_string().ends_with(" tries: reading: reset"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_try_that_the_deadline_ended_does_not_hide_why_the_one_before_failed() {
        let policy = Policy { retries: 5, deadline: Duration::from_millis(300) };
        let mut failures = vec![broken()];
        let error = policy.run("m", |until| {
            let failure = failures.pop().unwrap_or_else(|| {
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
                Error::Connection { url: "m".to_owned(), doing: "reading".to_owned(), what: "nothing".to_owned() }
            });
            Err::<(), _>((failure, false))
        });
        let error = error.unwrap_err().to_string();
        assert!(error.ends_with("and 2 tries: reading: reset"), "{error}");
    }

    #[test]
    fn a_store_that_says_nothing_of_failed_reads_is_opened_and_asked_again() {
        let n_opened = std::cell::Cell::new(0);
        let open = || {
            n_opened.set(n_opened.get() + 1);
            let source = Arc::new(MemorySource::new("m", (0..100).collect::<Vec<u8>>()));
            let opened = || Opened { source, preloaded: Vec::new(), ledgers: Ledgers::default() };
            if n_opened.get() < 3 { Err(broken()) } else { Ok(opened()) }
        };
        let opened = open_again("m", &crate::Options::default().network, open).unwrap();
        opened.source.read_at(5, &mut [0; 5]).unwrap();
        let totals = opened.ledgers.all()[0].totals(Operation::Open);
        assert_eq!((totals.n_attempted, totals.n_successful), (3, 1));
        assert_eq!(opened.ledgers.all()[0].totals(Operation::Read).n_successful, 1);
    }

    #[test]
    fn pauses_grow_up_to_a_bound() {
        let bounds_ms = [(0, 100), (1, 100), (2, 200), (3, 400), (5, 1600), (7, 6400), (8, 10_000), (100, 10_000)];
        for (n_in_vain, bound_ms) in bounds_ms {
            // Chance leaves out a half of what may come once in 2^100 times.
            let pauses: Vec<Duration> = (0..100).map(|_| pause(n_in_vain)).collect();
            let (shortest, longest) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
            let bound = Duration::from_millis(bound_ms);
            assert!(*longest <= bound && *longest > bound / 2, "{n_in_vain}: {longest:?}");
            assert!(*shortest < bound / 2, "{n_in_vain}: {shortest:?}");
        }
    }
}
