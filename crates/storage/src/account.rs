//! Counting and timing what passes a layer boundary.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::source::{Result, Source};

/// A layer that counts and times the reads below it.
pub struct Accounted {
    inner: Arc<dyn Source>,
    started: Instant,
    n_reads: AtomicU64,
    n_failed: AtomicU64,
    bytes: AtomicU64,
    wall_ns: AtomicU64,
    /// `None` if no trace was asked for.
    events: Option<Mutex<Vec<ReadEvent>>>,
}

/// Sums over all reads so far. Times are sums over threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadTotals {
    /// Reads that succeeded.
    pub n_reads: u64,
    /// Reads that did not.
    pub n_failed: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// Time between asking and having, in ns.
    pub wall_ns: u64,
}

/// One read in a trace. Times in ns since the layer was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadEvent {
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub n_bytes: u64,
    /// When it was asked for.
    pub start_ns: u64,
    /// When it was there.
    pub end_ns: u64,
}

impl Accounted {
    /// Counts the reads of `inner`; with `trace`, keeps each of them.
    pub fn new(inner: Arc<dyn Source>, trace: bool) -> Self {
        Accounted {
            inner,
            started: Instant::now(),
            n_reads: AtomicU64::new(0),
            n_failed: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            wall_ns: AtomicU64::new(0),
            events: trace.then(|| Mutex::new(Vec::new())),
        }
    }

    /// The sums so far.
    pub fn totals(&self) -> ReadTotals {
        ReadTotals {
            n_reads: self.n_reads.load(Relaxed),
            n_failed: self.n_failed.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            wall_ns: self.wall_ns.load(Relaxed),
        }
    }

    /// The reads so far, in the order in which they ended; empty if no trace was asked for.
    pub fn trace(&self) -> Vec<ReadEvent> {
        self.events
            .as_ref()
            .map(|events| events.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .unwrap_or_default()
    }

    fn since_start_ns(&self, at: Instant) -> u64 {
        nanoseconds(at.duration_since(self.started))
    }
}

fn nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[deny(clippy::missing_trait_methods)]
impl Source for Accounted {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn size_bytes(&self) -> u64 {
        self.inner.size_bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let start = Instant::now();
        let result = self.inner.read_at(offset, buffer);
        let end = Instant::now();
        self.wall_ns.fetch_add(nanoseconds(end.duration_since(start)), Relaxed);
        if result.is_err() {
            self.n_failed.fetch_add(1, Relaxed);
            return result;
        }
        let n_bytes = buffer.len() as u64;
        self.n_reads.fetch_add(1, Relaxed);
        self.bytes.fetch_add(n_bytes, Relaxed);
        if let Some(events) = &self.events {
            let event =
                ReadEvent { offset, n_bytes, start_ns: self.since_start_ns(start), end_ns: self.since_start_ns(end) };
            events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySource;

    #[test]
    fn reads_and_failures_are_counted_apart() {
        let source = Accounted::new(Arc::new(MemorySource::new("m", vec![7_u8; 10])), true);
        let mut buffer = [0_u8; 4];
        source.read_at(2, &mut buffer).unwrap();
        source.read_at(8, &mut buffer).unwrap_err();
        let totals = source.totals();
        assert_eq!((totals.n_reads, totals.n_failed, totals.bytes), (1, 1, 4));
        let trace = source.trace();
        assert_eq!(trace.len(), 1);
        assert_eq!((trace[0].offset, trace[0].n_bytes), (2, 4));
        assert!(trace[0].start_ns <= trace[0].end_ns);
    }
}
