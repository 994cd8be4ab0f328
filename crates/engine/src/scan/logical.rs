//! What the format asks for, one piece at a time: the logical reads of a trace.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One piece that was needed. Times in ns; when counts from the making of the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogicalRead {
    /// Offset of its record in bytes.
    pub offset: u64,
    /// Length of the record in bytes.
    pub n_bytes: u64,
    /// First entry in it.
    pub first_entry: u64,
    /// Place of its column in the plan.
    pub column: usize,
    /// When a place was set aside for it.
    pub asked_ns: u64,
    /// Time of decompressing and decoding it.
    pub decode_ns: u64,
}

/// The logical reads of a scan, in the order in which pieces were needed.
#[derive(Debug)]
pub(crate) struct LogicalReads {
    started: Instant,
    reads: Mutex<Vec<LogicalRead>>,
}

/// Names a logical read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogicalId(usize);

impl LogicalReads {
    /// Times count from `started`.
    pub(crate) fn new(started: Instant) -> Self {
        LogicalReads { started, reads: Mutex::default() }
    }

    pub(crate) fn begin(&self, offset: u64, n_bytes: u64, first_entry: u64, column: usize) -> LogicalId {
        let asked_ns = nanoseconds(self.started.elapsed());
        let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        reads.push(LogicalRead { offset, n_bytes, first_entry, column, asked_ns, decode_ns: 0 });
        LogicalId(reads.len() - 1)
    }

    /// Adds work on the piece.
    pub(crate) fn add_decode(&self, id: LogicalId, time: Duration) {
        let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(read) = reads.get_mut(id.0) {
            read.decode_ns = read.decode_ns.saturating_add(nanoseconds(time));
        }
    }

    pub(crate) fn all(&self) -> Vec<LogicalRead> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
