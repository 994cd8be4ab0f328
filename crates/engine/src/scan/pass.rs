//! What a scan asks of a kind of table; all else is the same for trees and RNTuples.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, RecordBatch};
use arrowroot_file::{PooledScratch, Result};
use arrowroot_format as format;

use super::fetch::Fetched;
use super::logical::LogicalId;
use super::plan::PlannedWindow;
use super::view::ScanView;

/// Tasks that wait at a time: one takes some 300 bytes, which for small pieces are many times their own.
const MAX_TASKS: usize = 1 << 12;

/// One pass over columns of a kind of table. A plan was made for it; batches come one after the other.
pub(crate) trait Pass: Send + Sync + Sized + 'static {
    /// What is to be done with a piece that has its place.
    type Work: Send;
    /// The memory of a batch while it is filled.
    type Fill: Send;
    /// What the thread that places windows keeps from one to the next.
    type Kept: Send + Default;
    /// A batch whose pieces are decoded.
    type Sealed: Send + Sync;

    /// Counts what was read and decompressed when the plan was made.
    fn begin_scan(&self, _view: &ScanView) {}

    /// Begins a batch. Returns its memory, and how many bytes that is so far.
    fn begin(&self, view: &ScanView, number: usize, kept: &mut Self::Kept) -> Result<(Self::Fill, usize)>;

    /// Gives each piece of a window its place in the batch, and emits what is to be done with it.
    fn place(&self, placing: &mut Placing<'_, Self>, kept: &mut Self::Kept, window: Window<'_>) -> Result<()>;

    /// Decodes a piece of a column to its place. Any thread may do it.
    fn decode(
        &self,
        view: &ScanView,
        column: usize,
        work: Self::Work,
        scratch: &mut PooledScratch,
    ) -> format::Result<()>;

    /// Ends the filling of a batch, when all its pieces are decoded: what takes no time for each value.
    fn seal(&self, view: &ScanView, number: usize, fill: Self::Fill) -> Result<Self::Sealed>;

    /// The columns that take time to make, for [`Pass::column`].
    fn slow_columns(&self, sealed: &Self::Sealed) -> Vec<usize>;

    /// Makes a column. Any thread may do it.
    fn column(&self, view: &ScanView, number: usize, sealed: &Self::Sealed, column: usize) -> Result<ArrayRef>;

    /// Makes the batch. `made`: the slow columns. Returns it and the bytes in its buffers.
    fn join(
        &self,
        view: &ScanView,
        number: usize,
        sealed: &Self::Sealed,
        made: HashMap<usize, ArrayRef>,
    ) -> Result<(RecordBatch, u64)>;
}

/// A window that is in memory.
pub(crate) struct Window<'w> {
    pub(crate) planned: &'w PlannedWindow,
    pub(crate) fetched: Fetched,
}

/// A batch while it is filled.
pub(crate) struct Building<F> {
    pub(crate) number: usize,
    /// Tasks that are not done.
    pub(crate) open: Arc<AtomicUsize>,
    /// Bytes set aside so far.
    pub(crate) held_bytes: usize,
    pub(crate) fill: F,
}

/// A piece to decode.
pub(crate) struct Task<W> {
    /// Place of its column in the plan.
    pub(crate) column: usize,
    /// Number of its batch, and the tasks of that which are not done.
    pub(crate) batch: usize,
    pub(crate) open: Arc<AtomicUsize>,
    /// Its logical read, if its time is counted.
    pub(crate) logical: Option<LogicalId>,
    pub(crate) work: W,
}

/// What the thread has that places a window.
pub(crate) struct Placing<'p, P: Pass> {
    pub(crate) view: &'p ScanView,
    pub(crate) batch: &'p mut Building<P::Fill>,
    pub(crate) scratch: &'p mut PooledScratch,
    pub(crate) threads: &'p mut dyn Threads<P::Work>,
    /// Tasks that were not handed to the threads yet.
    pub(crate) tasks: Vec<Task<P::Work>>,
}

/// The threads of a scan, as the placing one uses them.
pub(crate) trait Threads<W> {
    /// Hands tasks to all threads.
    fn emit(&mut self, tasks: Vec<Task<W>>);

    /// Comes back when `open` tasks are no more, and does some of them meanwhile.
    fn drain(&mut self, open: &AtomicUsize, scratch: &mut PooledScratch) -> Result<()>;
}

impl<P: Pass> Placing<'_, P> {
    /// Counts memory of the batch as held.
    pub(crate) fn hold(&mut self, n_bytes: usize) {
        self.view.held.add(n_bytes);
        self.batch.held_bytes += n_bytes;
    }

    /// Adds a task. Of a window of very many pieces the first are decoded before more are placed.
    pub(crate) fn push(&mut self, column: usize, logical: Option<LogicalId>, work: P::Work) -> Result<()> {
        self.batch.open.fetch_add(1, Ordering::Relaxed);
        let (batch, open) = (self.batch.number, Arc::clone(&self.batch.open));
        self.tasks.push(Task { column, batch, open, logical, work });
        if self.tasks.len() < MAX_TASKS { Ok(()) } else { self.decode_all() }
    }

    /// Hands the tasks to the threads.
    pub(crate) fn emit(&mut self) {
        self.threads.emit(std::mem::take(&mut self.tasks));
    }

    /// Waits until all tasks of the batch so far are done.
    pub(crate) fn decode_all(&mut self) -> Result<()> {
        self.emit();
        self.threads.drain(&self.batch.open, self.scratch)
    }
}
