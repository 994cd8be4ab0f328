//! Counting and timing what passes a layer boundary.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::error::Result;
use crate::excess::Excess;
use crate::logged::LOG;
use crate::source::{Part, Source, pass_on};

/// Kinds of operations, by the names that reports give them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Opening a file.
    Open,
    /// Being sent on to another place: a request, and an answer that has nothing of what was asked for.
    Redirect,
    /// Asking for its size or state.
    Stat,
    /// One range.
    Read,
    /// Several ranges in one request.
    ReadVector,
    /// Fetched before it was asked for.
    Prefetch,
    /// Answered from a cache of the layer.
    CacheHit,
    /// Copied to a local disk.
    StageIn,
    /// Writing: one range.
    Write,
    /// Waiting until what was written is safe.
    Sync,
    /// Giving a file its name.
    Publish,
    /// Closing.
    Close,
}

impl Operation {
    /// All of them, in the order of reports.
    pub const ALL: [Operation; 12] = [
        Operation::Open,
        Operation::Redirect,
        Operation::Stat,
        Operation::Read,
        Operation::ReadVector,
        Operation::Prefetch,
        Operation::CacheHit,
        Operation::StageIn,
        Operation::Write,
        Operation::Sync,
        Operation::Publish,
        Operation::Close,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Open => "open",
            Operation::Redirect => "redirect",
            Operation::Stat => "stat",
            Operation::Read => "read",
            Operation::ReadVector => "readv",
            Operation::Prefetch => "prefetch",
            Operation::CacheHit => "cache-hit",
            Operation::StageIn => "stage-in",
            Operation::Write => "write",
            Operation::Sync => "sync",
            Operation::Publish => "publish",
            Operation::Close => "close",
        }
    }
}

/// Sums over the operations of one kind. Times are sums over threads, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many were begun.
    pub n_attempted: u64,
    /// How many of them succeeded.
    pub n_successful: u64,
    /// Bytes that they brought or wrote, failed ones too where it was kept.
    pub bytes: u64,
    /// Time of all of them, failed ones too.
    pub total_ns: u64,
    /// Time of the fastest successful one; 0 if there was none.
    pub min_ns: u64,
    /// Time of the slowest successful one.
    pub max_ns: u64,
}

#[derive(Debug)]
struct Counter {
    n_attempted: AtomicU64,
    n_successful: AtomicU64,
    bytes: AtomicU64,
    total_ns: AtomicU64,
    min_ns: AtomicU64,
    max_ns: AtomicU64,
}

/// The operations at one layer boundary; many threads add to it.
#[derive(Debug)]
pub struct Ledger {
    layer: &'static str,
    started: Instant,
    counters: [Counter; Operation::ALL.len()],
    /// `None` if no trace was asked for.
    events: Option<Mutex<Vec<ReadEvent>>>,
    /// `None` if nobody says what is needed.
    excess: Option<Mutex<Excess>>,
    /// The file, as messages show it, of which each operation is logged; `None` if none is.
    logged: Option<String>,
}

/// One operation in a trace. Times in ns since the ledger was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadEvent {
    /// What it was.
    pub operation: Operation,
    /// Number of the request: the ranges of one vector read share it.
    pub request: u64,
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub n_bytes: u64,
    /// When it was asked for.
    pub start_ns: u64,
    /// When it was there.
    pub end_ns: u64,
}

impl Ledger {
    /// An empty one for the boundary above `layer`; with `trace`, operations are kept one by one.
    pub fn new(layer: &'static str, trace: bool) -> Self {
        Ledger {
            layer,
            started: Instant::now(),
            counters: std::array::from_fn(|_| Counter {
                n_attempted: AtomicU64::new(0),
                n_successful: AtomicU64::new(0),
                bytes: AtomicU64::new(0),
                total_ns: AtomicU64::new(0),
                min_ns: AtomicU64::new(u64::MAX),
                max_ns: AtomicU64::new(0),
            }),
            events: trace.then(Mutex::default),
            excess: None,
            logged: None,
        }
    }

    /// As [`Ledger::new`], and weighs what comes against what is needed.
    pub fn weighing(layer: &'static str, trace: bool) -> Self {
        Ledger { excess: Some(Mutex::default()), ..Self::new(layer, trace) }
    }

    /// The same, of the requests for a file, of which each is logged: `url` is shown.
    #[must_use]
    pub(crate) fn logging(self, url: &str) -> Self {
        Ledger { logged: Some(url.to_owned()), ..self }
    }

    /// Name of the layer below the boundary.
    pub fn layer(&self) -> &'static str {
        self.layer
    }

    /// Does something and enters what it cost. `ranges` are what it reads or writes: offsets and lengths in bytes.
    ///
    /// # Errors
    /// Those of the work.
    pub fn enter<T, E>(
        &self,
        operation: Operation,
        ranges: impl Iterator<Item = (u64, u64)> + Clone,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let start = Instant::now();
        let result = work();
        self.enter_since(start, operation, ranges, result)
    }

    /// Enters what was done since `start`: for an operation of which only its end tells the kind.
    ///
    /// # Errors
    /// That of the result.
    pub fn enter_since<T, E>(
        &self,
        start: Instant,
        operation: Operation,
        ranges: impl Iterator<Item = (u64, u64)> + Clone,
        result: Result<T, E>,
    ) -> Result<T, E> {
        self.enter_between(start..Instant::now(), operation, ranges, result)
    }

    /// Enters what was done in a time that is over.
    ///
    /// # Errors
    /// That of the result.
    pub(crate) fn enter_between<T, E>(
        &self,
        time: Range<Instant>,
        operation: Operation,
        ranges: impl Iterator<Item = (u64, u64)> + Clone,
        result: Result<T, E>,
    ) -> Result<T, E> {
        let Range { start, end } = time;
        let counter = &self.counters[operation as usize];
        let request = counter.n_attempted.fetch_add(1, Relaxed);
        let elapsed_ns = nanoseconds(end.duration_since(start));
        counter.total_ns.fetch_add(elapsed_ns, Relaxed);
        if let Some(url) = &self.logged
            && log::log_enabled!(target: LOG, log::Level::Debug)
        {
            let (what, failed) =
                (described(operation, ranges.clone()), if result.is_ok() { "" } else { " failed after" });
            log::debug!(target: LOG, "{url}: {what}{failed} {:.1?}", end.duration_since(start));
        }
        if result.is_ok() {
            counter.n_successful.fetch_add(1, Relaxed);
            counter.bytes.fetch_add(ranges.clone().map(|(_, n_bytes)| n_bytes).sum(), Relaxed);
            counter.min_ns.fetch_min(elapsed_ns, Relaxed);
            counter.max_ns.fetch_max(elapsed_ns, Relaxed);
            if let Some(excess) = &self.excess {
                let mut excess = excess.lock().unwrap_or_else(PoisonError::into_inner);
                ranges.clone().for_each(|(offset, n_bytes)| excess.come(offset..offset.saturating_add(n_bytes)));
            }
            if let Some(events) = &self.events {
                let start_ns = nanoseconds(start.duration_since(self.started));
                let end_ns = nanoseconds(end.duration_since(self.started));
                events.lock().unwrap_or_else(PoisonError::into_inner).extend(
                    ranges.map(|(offset, n_bytes)| ReadEvent { operation, request, offset, n_bytes, start_ns, end_ns }),
                );
            }
        }
        result
    }

    /// Enters bytes that were kept of an operation that failed.
    pub(crate) fn salvage(&self, operation: Operation, n_bytes: u64) {
        self.counters[operation as usize].bytes.fetch_add(n_bytes, Relaxed);
    }

    /// The sums of one kind so far.
    pub fn totals(&self, operation: Operation) -> Totals {
        let counter = &self.counters[operation as usize];
        let n_successful = counter.n_successful.load(Relaxed);
        Totals {
            n_attempted: counter.n_attempted.load(Relaxed),
            n_successful,
            bytes: counter.bytes.load(Relaxed),
            total_ns: counter.total_ns.load(Relaxed),
            min_ns: if n_successful == 0 { 0 } else { counter.min_ns.load(Relaxed) },
            max_ns: counter.max_ns.load(Relaxed),
        }
    }

    /// Read requests of any kind so far: number, bytes and time in ns.
    pub fn read_totals(&self) -> ReadTotals {
        let kinds = [Operation::Read, Operation::ReadVector, Operation::Prefetch, Operation::StageIn];
        kinds.into_iter().map(|kind| self.totals(kind)).fold(ReadTotals::default(), |sum, totals| ReadTotals {
            n_reads: sum.n_reads + totals.n_successful,
            n_failed: sum.n_failed + (totals.n_attempted - totals.n_successful.min(totals.n_attempted)),
            bytes: sum.bytes + totals.bytes,
            wall_ns: sum.wall_ns + totals.total_ns,
        })
    }

    /// Says that these bytes were needed, whoever answered for them; nothing to a ledger that does not weigh.
    pub fn need(&self, offset: u64, n_bytes: u64) {
        if let Some(excess) = &self.excess {
            let mut excess = excess.lock().unwrap_or_else(PoisonError::into_inner);
            excess.need(offset..offset.saturating_add(n_bytes));
        }
    }

    /// Bytes that came besides those that were needed, or again, so far; `None` if it does not weigh.
    pub fn excess_bytes(&self) -> Option<u64> {
        let excess = self.excess.as_ref()?;
        Some(excess.lock().unwrap_or_else(PoisonError::into_inner).n_bytes())
    }

    /// The operations so far, in the order in which they ended; empty if no trace was asked for.
    pub fn events(&self) -> Vec<ReadEvent> {
        let events = self.events.as_ref();
        events.map(|events| events.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap_or_default()
    }

    /// When times of events count from.
    pub fn started(&self) -> Instant {
        self.started
    }
}

/// An operation in words: its bytes, the first offset, the number of ranges.
fn described(operation: Operation, ranges: impl Iterator<Item = (u64, u64)> + Clone) -> String {
    let (n_ranges, n_bytes) = (ranges.clone().count(), ranges.clone().map(|(_, n_bytes)| n_bytes).sum::<u64>());
    let Some(first) = ranges.map(|(offset, _)| offset).min() else { return operation.name().to_owned() };
    let several = if n_ranges > 1 { format!(" in {n_ranges} ranges") } else { String::new() };
    format!("{} {n_bytes} bytes from {first}{several}", operation.name())
}

/// The ledgers of a store. More come where it opens the file anew, at another replica.
#[derive(Debug, Clone, Default)]
pub struct Ledgers(Arc<Mutex<Vec<Arc<Ledger>>>>);

impl Ledgers {
    /// Those so far.
    pub fn all(&self) -> Vec<Arc<Ledger>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// True if one of them logs the requests.
    pub(crate) fn are_logging(&self) -> bool {
        self.all().iter().any(|ledger| ledger.logged.is_some())
    }

    /// Adds those that another has now.
    pub(crate) fn add(&self, other: &Ledgers) {
        let more = other.all();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(more);
    }
}

impl FromIterator<Arc<Ledger>> for Ledgers {
    fn from_iter<I: IntoIterator<Item = Arc<Ledger>>>(ledgers: I) -> Self {
        Ledgers(Arc::new(Mutex::new(ledgers.into_iter().collect())))
    }
}

/// Sums over reads. Times are sums over threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadTotals {
    /// Requests that succeeded.
    pub n_reads: u64,
    /// Requests that did not.
    pub n_failed: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// Time between asking and having, in ns.
    pub wall_ns: u64,
}

fn nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A layer that enters the reads below it in a ledger.
pub struct Accounted {
    inner: Arc<dyn Source>,
    ledger: Arc<Ledger>,
}

impl Accounted {
    /// Accounts for the reads of `inner`.
    pub fn new(inner: Arc<dyn Source>, ledger: Arc<Ledger>) -> Self {
        Accounted { inner, ledger }
    }

    /// The ledger.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }
}

#[deny(clippy::missing_trait_methods)]
impl Source for Accounted {
    pass_on!(inner);

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let range = std::iter::once((offset, buffer.len() as u64));
        self.ledger.enter(Operation::Read, range, || self.inner.read_at(offset, buffer))
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        let ranges: Vec<_> = parts.iter().map(|part| (part.offset, part.buffer.len() as u64)).collect();
        let operation = if ranges.len() == 1 { Operation::Read } else { Operation::ReadVector };
        self.ledger.enter(operation, ranges.into_iter(), || self.inner.read_vector(parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySource;

    fn accounted(trace: bool) -> Accounted {
        Accounted::new(Arc::new(MemorySource::new("m", vec![7_u8; 10])), Arc::new(Ledger::new("memory", trace)))
    }

    #[test]
    fn reads_and_failures_are_counted_apart() {
        let source = accounted(true);
        let mut buffer = [0_u8; 4];
        source.read_at(2, &mut buffer).unwrap();
        source.read_at(8, &mut buffer).unwrap_err();
        let totals = source.ledger().totals(Operation::Read);
        assert_eq!((totals.n_attempted, totals.n_successful, totals.bytes), (2, 1, 4));
        assert!(totals.min_ns <= totals.max_ns && totals.max_ns <= totals.total_ns);
        let events = source.ledger().events();
        assert_eq!(events.len(), 1);
        assert_eq!((events[0].offset, events[0].n_bytes), (2, 4));
        assert!(events[0].start_ns <= events[0].end_ns);
    }

    #[test]
    fn a_vector_read_is_one_operation_of_several_ranges() {
        let source = accounted(true);
        let (mut first, mut second) = ([0_u8; 2], [0_u8; 3]);
        let mut parts = [Part { offset: 1, buffer: &mut first }, Part { offset: 5, buffer: &mut second }];
        source.read_vector(&mut parts).unwrap();
        let totals = source.ledger().totals(Operation::ReadVector);
        assert_eq!((totals.n_attempted, totals.bytes), (1, 5));
        assert_eq!(source.ledger().totals(Operation::Read), Totals::default());
        let events = source.ledger().events();
        assert_eq!(events.iter().map(|event| (event.request, event.offset)).collect::<Vec<_>>(), [(0, 1), (0, 5)]);
        assert_eq!(source.ledger().read_totals().n_reads, 1);
    }
}
