//! The way of a table's values to the file: clusters are cut, encoded and compressed, and placed in order.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arrowroot_arrow::Stored;

use crate::cluster::Cluster;
use crate::cutter::{Border, Borders, Compressed, Cutter};
use crate::error::Result;
use crate::file::FileWriter;
use crate::queue::{Place, Producer, Task};
use crate::settings::TableSettings;
use crate::table_format::{EncodeTask, Encoded, TableFormat};

/// A table of any format that takes values.
pub(crate) trait Pipeline: Send {
    /// Takes the values of entries, for each column.
    fn append(&mut self, columns: &[Stored], n_entries: usize) -> Result<()>;

    /// Writes what is left, and the metadata.
    fn close(&mut self) -> Result<Written>;
}

/// The totals of a written table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Its entries.
    pub n_entries: u64,
    /// Its clusters; without flushes, portions of entries that were encoded together.
    pub n_clusters: u64,
    /// Bytes of its baskets or pages in the file.
    pub stored_bytes: u64,
    /// Bytes of its values before encoding and compression: numbers, bools and texts, and 4 for each text and list.
    pub memory_bytes: u64,
}

/// A table of one format.
pub(crate) struct TablePipeline<F: TableFormat> {
    file: Arc<FileWriter>,
    format: Arc<Mutex<F>>,
    producer: Producer,
    cutter: Cutter,
    borders: Borders,
    /// Where the cluster ends that is being collected, once that was asked.
    border: Option<Border>,
    /// The clusters that borders may still depend on.
    recent: VecDeque<Recent>,
    written: Written,
    stored_bytes: Arc<AtomicU64>,
}

/// The result of a task, until it is placed.
type Slot<P> = Arc<Mutex<Option<Encoded<P>>>>;

/// A cluster that was submitted.
struct Recent {
    cluster: u64,
    ticket: u64,
    n_bytes: u64,
    /// Known once it is placed.
    encoded_bytes: Arc<AtomicU64>,
}

impl<F: TableFormat> fmt::Debug for TablePipeline<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TablePipeline").field("written", &self.written).finish_non_exhaustive()
    }
}

impl<F: TableFormat> TablePipeline<F> {
    pub(crate) fn new(file: &Arc<FileWriter>, format: F, n_columns: usize, settings: &TableSettings) -> Self {
        let max_bytes = settings.most_of_cluster(file.settings().buffer_bytes);
        TablePipeline {
            producer: file.queue().producer(),
            file: Arc::clone(file),
            borders: Borders::new(settings.flush, max_bytes, F::HAS_REGULAR_CLUSTERS),
            border: None,
            format: Arc::new(Mutex::new(format)),
            cutter: Cutter::new(n_columns),
            recent: VecDeque::new(),
            written: Written::default(),
            stored_bytes: Arc::default(),
        }
    }

    /// Where the cluster ends that is being collected: the same for all its batches.
    fn border(&mut self) -> Result<Border> {
        if let Some(border) = self.border {
            return Ok(border);
        }
        let before = self.compressed()?;
        Ok(*self.border.insert(self.borders.border(before)))
    }

    /// What the cluster compressed to that the border of the next one depends on.
    fn compressed(&mut self) -> Result<Option<Compressed>> {
        let Some(number) = self.borders.depends_on(self.written.n_clusters) else { return Ok(None) };
        while self.recent.front().is_some_and(|recent| recent.cluster < number) {
            self.recent.pop_front();
        }
        let Some(recent) = self.recent.front() else { return Ok(None) };
        self.producer.wait_for(recent.ticket)?;
        Ok(Some(Compressed { n_bytes: recent.n_bytes, encoded_bytes: recent.encoded_bytes.load(Relaxed) }))
    }

    fn end_cluster(&mut self) -> Result<()> {
        let n_bytes = self.cutter.n_bytes();
        let cluster = self.cutter.end();
        self.borders.ended(cluster.n_entries as u64);
        self.border = None;
        let number = self.written.n_clusters;
        self.written.n_clusters += 1;
        self.written.n_entries += cluster.n_entries as u64;
        self.written.memory_bytes += n_bytes;
        let encoded_bytes = Arc::new(AtomicU64::new(0));
        let placed = Cluster { columns: Vec::new(), ..cluster };
        let ticket = self.producer.ticket()?;
        if self.borders.is_adaptive() {
            let recent =
                Recent { cluster: number, ticket: ticket.number(), n_bytes, encoded_bytes: Arc::clone(&encoded_bytes) };
            self.recent.push_back(recent);
        }
        let tasks = lock(&self.format).tasks(Arc::new(Cluster { columns: cluster.columns, ..placed }))?;
        let (tasks, place) = self.job(placed, tasks, encoded_bytes);
        ticket.submit(tasks, place)
    }

    /// Tasks and placing as the queue has them, which knows of no format.
    fn job(
        &self,
        cluster: Cluster,
        tasks: Vec<EncodeTask<F::Pieces>>,
        encoded_bytes: Arc<AtomicU64>,
    ) -> (Vec<Task>, Place) {
        let slots: Vec<Slot<F::Pieces>> = tasks.iter().map(|_| Arc::default()).collect();
        let task = |(task, slot): (EncodeTask<F::Pieces>, &Slot<F::Pieces>)| {
            let slot = Arc::clone(slot);
            let task: Task = Box::new(move |compressor| {
                let encoded = task(compressor)?;
                let n_bytes = encoded.bytes.capacity() as u64;
                *lock(&slot) = Some(encoded);
                Ok(n_bytes)
            });
            task
        };
        let tasks = tasks.into_iter().zip(&slots).map(task).collect();
        // The file holds the queue that holds this.
        let file: Weak<FileWriter> = Arc::downgrade(&self.file);
        let (format, stored_bytes) = (Arc::clone(&self.format), Arc::clone(&self.stored_bytes));
        let mut waiting = slots.into_iter();
        let place: Place = Box::new(move |n_tasks, is_last| {
            let encoded: Vec<_> = waiting.by_ref().take(n_tasks).filter_map(|slot| lock(&slot).take()).collect();
            let Some(file) = file.upgrade() else { return Ok(()) };
            file.with_appender(|appender| {
                let start = appender.position();
                lock(&format).place(&cluster, encoded, is_last, appender)?;
                let n_bytes = appender.position() - start;
                encoded_bytes.fetch_add(n_bytes, Relaxed);
                stored_bytes.fetch_add(n_bytes, Relaxed);
                Ok(())
            })
        });
        (tasks, place)
    }
}

impl<F: TableFormat> Pipeline for TablePipeline<F> {
    fn append(&mut self, columns: &[Stored], n_entries: usize) -> Result<()> {
        let mut start = 0;
        while start < n_entries {
            let border = self.border()?;
            let held_bytes = self.cutter.held_bytes();
            let (n_taken, is_end) = self.cutter.take(columns, start..n_entries, border);
            self.producer.hold(self.cutter.held_bytes() - held_bytes)?;
            start += n_taken;
            if is_end {
                self.end_cluster()?;
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<Written> {
        if self.cutter.n_entries() > 0 {
            self.end_cluster()?;
        }
        let rest = lock(&self.format).rest()?;
        if !rest.is_empty() {
            let cluster = Cluster { first_entry: self.written.n_entries, n_entries: 0, columns: Vec::new() };
            let ticket = self.producer.ticket()?;
            let (tasks, place) = self.job(cluster, rest, Arc::default());
            ticket.submit(tasks, place)?;
        }
        self.file.queue().wait()?;
        lock(&self.format).finish(&self.file)?;
        self.written.stored_bytes = self.stored_bytes.load(Relaxed);
        Ok(self.written)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic stops the queue, and what it left is not used again.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
