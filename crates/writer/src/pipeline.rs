//! The way of a table's values to the file: clusters are cut, encoded and compressed, and placed in order.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arrowroot_arrow::Stored;
use arrowroot_arrow::stored::default_bytes;

use crate::check::Check;
use crate::cluster::Cluster;
use crate::column::Column;
use crate::cutter::{Border, Borders, Compressed, Cutter};
use crate::error::Result;
use crate::file::FileWriter;
use crate::packed::{PackedCluster, StoredAs};
use crate::queue::{Manner, Place, Producer, Task, Ticket};
use crate::settings::{Flush, MAX_CLUSTER_BYTES, TableSettings};
use crate::table_format::{EncodeTask, Encoded, Extension, TableFormat};

/// Clusters that are collected side by side have so much at least, whatever the buffers.
const MIN_SHARE_BYTES: usize = 1_000_000;

/// Entries that were collected become a cluster before a packed one if they have so many bytes for each column, before
/// compression: pieces of about 4 kB.
const SMALL_COLUMN_BYTES: u64 = 8_000;

/// A table of any format that takes values.
pub(crate) trait Pipeline: Send {
    /// Takes the values of entries, for each column. It waits in this manner.
    fn append(&mut self, columns: Vec<Stored>, n_entries: usize, manner: &mut Manner<'_>) -> Result<()>;

    /// That the metadata have room for more entries.
    fn check_room(&self) -> Result<()>;

    /// Takes the values of entries that were collected elsewhere.
    fn append_cluster(&mut self, cluster: Cluster) -> Result<()>;

    /// How its metadata will describe it, if it takes packed clusters.
    fn stored_as(&self) -> Result<Option<StoredAs>>;

    /// True if a packed cluster may come next: nothing is collected, or so much that it is worth pieces of its own.
    fn is_at_end(&self) -> bool;

    /// Takes a packed cluster behind what was collected.
    fn append_packed(&mut self, packed: PackedCluster) -> Result<()>;

    /// Takes more columns behind those that it has, whose values are their defaults up to now: `columns` are all. Waits until
    /// all clusters are placed.
    fn extend(&mut self, columns: &[Column], arrow_schema: Option<String>) -> Result<Vec<Option<Check>>>;

    /// From now on clusters are collected elsewhere, so many at a time, and come in any order.
    fn be_free(&mut self, n_buffers: usize);

    /// What collects a cluster elsewhere, and where that ends: `widening` times as far as it would, if that is ours to say.
    fn next_border(&mut self, widening: u64) -> Border;

    /// An empty cutter.
    fn cutter(&self) -> Cutter;

    /// Gives a cluster that was collected elsewhere its place in the table. `held` is let go of when it is compressed.
    fn cut(&mut self, cutter: Cutter, producer: Producer, held: TaskGuard) -> Result<Submission>;

    /// Notes that the order of the entries is by chance.
    fn be_reshuffled(&mut self);

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
    /// Bytes of its values before encoding and compression: numbers, bools and texts, and 4 for each text and list. Those of packed
    /// clusters are as they are encoded.
    pub memory_bytes: u64,
    /// The clusters among them that came packed.
    pub n_packed_clusters: u64,
    /// The part of `stored_bytes` that is theirs.
    pub packed_bytes: u64,
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
    /// Clusters that were collected here: borders depend on these alone.
    n_collected: u64,
    /// The clusters that borders may still depend on.
    recent: VecDeque<Recent>,
    written: Written,
    stored_bytes: Arc<AtomicU64>,
    packed_bytes: Arc<AtomicU64>,
    settings: TableSettings,
    /// Where clusters come in any order: what one of them compressed to.
    latest: Option<Latest>,
    is_fitted: bool,
}

/// Something that lives as long as a task of a cluster that it belongs to.
pub(crate) type TaskGuard = Arc<dyn Any + Send + Sync>;

/// A cluster that has its place, and is to be compressed.
#[must_use = "others wait for it"]
pub(crate) struct Submission {
    ticket: Ticket,
    tasks: Vec<Task>,
    place: Place,
}

impl Submission {
    /// Has it compressed: by this thread, where there are no others.
    pub(crate) fn submit(self) -> Result<()> {
        self.ticket.submit(self.tasks, self.place)
    }
}

/// The ratio of compression, learned from clusters that come in any order.
type Latest = Arc<Mutex<Option<Compressed>>>;

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
            n_collected: 0,
            recent: VecDeque::new(),
            written: Written::default(),
            stored_bytes: Arc::default(),
            packed_bytes: Arc::default(),
            settings: settings.clone(),
            latest: None,
            is_fitted: false,
        }
    }

    /// Where the cluster ends that is being collected: the same for all its batches.
    fn border(&mut self, manner: &mut Manner<'_>) -> Result<Border> {
        if let Some(border) = self.border {
            return Ok(border);
        }
        if self.latest.is_some() {
            let border = self.next_border(1);
            return Ok(*self.border.insert(border));
        }
        let before = self.compressed(manner)?;
        Ok(*self.border.insert(self.borders.border(before)))
    }

    /// What the cluster compressed to that the border of the next one depends on.
    fn compressed(&mut self, manner: &mut Manner<'_>) -> Result<Option<Compressed>> {
        let Some(number) = self.borders.depends_on(self.n_collected) else { return Ok(None) };
        while self.recent.front().is_some_and(|recent| recent.cluster < number) {
            self.recent.pop_front();
        }
        let Some(recent) = self.recent.front() else { return Ok(None) };
        self.producer.wait_for_as(recent.ticket, manner)?;
        Ok(Some(Compressed { n_bytes: recent.n_bytes, encoded_bytes: recent.encoded_bytes.load(Relaxed) }))
    }

    fn end_cluster(&mut self, manner: &mut Manner<'_>) -> Result<()> {
        let n_bytes = self.cutter.n_bytes();
        let cluster = self.cutter.end();
        self.border = None;
        let ticket = self.producer.ticket_as(manner)?;
        self.submission(cluster, n_bytes, ticket, None)?.submit()
    }

    /// Gives a cluster the next place.
    fn submission(
        &mut self,
        cluster: Cluster,
        n_bytes: u64,
        ticket: Ticket,
        held: Option<TaskGuard>,
    ) -> Result<Submission> {
        self.borders.ended(cluster.n_entries as u64);
        let number = self.n_collected;
        self.n_collected += 1;
        let cluster = Cluster { first_entry: self.written.n_entries, ..cluster };
        self.written.n_clusters += 1;
        self.written.n_entries += cluster.n_entries as u64;
        self.written.memory_bytes += n_bytes;
        let encoded_bytes = Arc::new(AtomicU64::new(0));
        let placed = Cluster { columns: Vec::new(), ..cluster };
        if self.borders.is_adaptive() && self.latest.is_none() {
            let recent =
                Recent { cluster: number, ticket: ticket.number(), n_bytes, encoded_bytes: Arc::clone(&encoded_bytes) };
            self.recent.push_back(recent);
        }
        let tasks = lock(&self.format).tasks(Arc::new(Cluster { columns: cluster.columns, ..placed }))?;
        let (tasks, place) = self.job(placed, tasks, (n_bytes, encoded_bytes), held);
        Ok(Submission { ticket, tasks, place })
    }

    /// Tasks and placing as the queue has them, which knows of no format.
    fn job(
        &self,
        cluster: Cluster,
        tasks: Vec<EncodeTask<F::Pieces>>,
        (n_cluster_bytes, encoded_bytes): (u64, Arc<AtomicU64>),
        held: Option<TaskGuard>,
    ) -> (Vec<Task>, Place) {
        let slots: Vec<Slot<F::Pieces>> = tasks.iter().map(|_| Arc::default()).collect();
        let task = |(task, slot): (EncodeTask<F::Pieces>, &Slot<F::Pieces>)| {
            let (slot, held) = (Arc::clone(slot), held.clone());
            let task: Task = Box::new(move |compressor| {
                let _held = held;
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
        let latest = self.latest.clone();
        let mut waiting = slots.into_iter();
        let place: Place = Box::new(move |n_tasks, is_last| {
            let encoded: Vec<_> = waiting.by_ref().take(n_tasks).filter_map(|slot| lock(&slot).take()).collect();
            let Some(file) = file.upgrade() else { return Ok(()) };
            file.place(|appender| {
                let start = appender.position();
                lock(&format).place(&cluster, encoded, is_last, appender)?;
                let n_bytes = appender.position() - start;
                encoded_bytes.fetch_add(n_bytes, Relaxed);
                stored_bytes.fetch_add(n_bytes, Relaxed);
                if let Some(latest) = latest.as_ref().filter(|_| is_last) {
                    let encoded_bytes = encoded_bytes.load(Relaxed);
                    *lock(latest) = Some(Compressed { n_bytes: n_cluster_bytes, encoded_bytes });
                }
                Ok(())
            })?;
            let saving = if is_last { lock(&format).saving()? } else { None };
            saving.map_or(Ok(()), |save| save(&file))
        });
        (tasks, place)
    }
}

impl<F: TableFormat> Pipeline for TablePipeline<F> {
    fn append(&mut self, mut columns: Vec<Stored>, n_entries: usize, manner: &mut Manner<'_>) -> Result<()> {
        let mut start = 0;
        while start < n_entries {
            let border = self.border(manner)?;
            let (n_taken, is_end) = self.cutter.take(&mut columns, start..n_entries, border);
            self.producer.hold_as(self.cutter.held_bytes(), manner)?;
            start += n_taken;
            if is_end {
                self.end_cluster(manner)?;
            }
        }
        Ok(())
    }

    fn check_room(&self) -> Result<()> {
        lock(&self.format).check_room()
    }

    fn append_cluster(&mut self, cluster: Cluster) -> Result<()> {
        let n_parts = cluster.columns.first().map_or(0, Vec::len);
        let mut columns: Vec<_> = cluster.columns.into_iter().map(Vec::into_iter).collect();
        for _ in 0..n_parts {
            let part: Vec<Stored> = columns.iter_mut().filter_map(Iterator::next).collect();
            let n_entries = part.first().map_or(0, Stored::len);
            self.append(part, n_entries, &mut Manner::helping())?;
        }
        Ok(())
    }

    fn stored_as(&self) -> Result<Option<StoredAs>> {
        lock(&self.format).stored_as()
    }

    fn is_at_end(&self) -> bool {
        let least = SMALL_COLUMN_BYTES * self.cutter.n_columns() as u64;
        self.cutter.n_entries() == 0 || self.cutter.n_bytes() >= least
    }

    fn append_packed(&mut self, packed: PackedCluster) -> Result<()> {
        let manner = &mut Manner::helping();
        if self.cutter.n_entries() > 0 {
            self.end_cluster(manner)?;
        }
        let PackedCluster { n_entries, memory_bytes, .. } = packed;
        self.producer.hold_as(packed.bytes.capacity() as u64, manner)?;
        let ticket = self.producer.ticket_as(manner)?;
        let cluster = Cluster { first_entry: self.written.n_entries, n_entries, columns: Vec::new() };
        self.written.n_clusters += 1;
        self.written.n_entries += n_entries as u64;
        self.written.memory_bytes += memory_bytes;
        self.written.n_packed_clusters += 1;
        let encoded = lock(&self.format).packed(packed)?;
        let task: EncodeTask<F::Pieces> = Box::new(|_| Ok(encoded));
        let (tasks, place) = self.job(cluster, vec![task], (memory_bytes, Arc::clone(&self.packed_bytes)), None);
        ticket.submit(tasks, place)
    }

    fn extend(&mut self, columns: &[Column], arrow_schema: Option<String>) -> Result<Vec<Option<Check>>> {
        let n_known = self.cutter.n_columns();
        let types = || columns[n_known..].iter().map(Column::data_type);
        let entry_bytes = types().map(default_bytes).fold(0, u64::saturating_add);
        // The cluster that is being collected goes on with default values, if it has room for them.
        let most = self.border.map_or(0, |border| border.n_bytes.min(MAX_CLUSTER_BYTES));
        let n_bytes = entry_bytes.saturating_mul(self.cutter.n_entries() as u64);
        // Those of lists that have a length by their C++ type alone are no values of their own type.
        let has_lengths = columns[n_known..].iter().any(Column::has_lengths_by_type);
        let is_end = lock(&self.format).ends_cluster(&columns[n_known..])? || has_lengths;
        if is_end && self.cutter.n_entries() > 0 || n_bytes > most.saturating_sub(self.cutter.n_bytes()) {
            self.end_cluster(&mut Manner::helping())?;
        }
        self.file.queue().wait()?;
        let extension = Extension { columns, n_known, first_entry: self.written.n_entries, arrow_schema };
        let n_bytes = lock(&self.format).extend(&self.file, extension)?;
        self.stored_bytes.fetch_add(n_bytes, Relaxed);
        self.cutter.extend(types());
        Ok(lock(&self.format).checks())
    }

    fn be_free(&mut self, n_buffers: usize) {
        let buffer_bytes = self.file.settings().buffer_bytes;
        let most = self.settings.most_of_cluster(buffer_bytes);
        // What is collected in all of them, and what becomes of it, is there at once.
        let share = (buffer_bytes / (2 * n_buffers)).max(MIN_SHARE_BYTES) as u64;
        let max_bytes = if self.settings.max_cluster_bytes.is_some() { most } else { most.min(share) };
        self.borders = Borders::new(self.settings.flush, max_bytes, F::HAS_REGULAR_CLUSTERS);
        self.latest = Some(Latest::default());
    }

    fn next_border(&mut self, widening: u64) -> Border {
        let latest = self.latest.as_ref().and_then(|latest| *lock(latest));
        // Regular clusters are fitted once.
        let is_asked = self.borders.is_adaptive() && !(F::HAS_REGULAR_CLUSTERS && self.is_fitted);
        let before = latest.filter(|_| is_asked);
        self.is_fitted |= before.is_some();
        let border = self.borders.border(before);
        let is_ours = matches!(self.settings.flush, Flush::Bytes(_)) && self.settings.max_cluster_bytes.is_none();
        if widening <= 1 || !is_ours || self.file.settings().is_reproducible {
            return border;
        }
        let most = (self.file.settings().buffer_bytes / 2) as u64;
        Border {
            n_bytes: border.n_bytes.saturating_mul(widening).min(most.max(border.n_bytes)),
            n_entries: border.n_entries.saturating_mul(widening),
        }
    }

    fn cutter(&self) -> Cutter {
        Cutter::new(self.cutter.n_columns())
    }

    fn cut(&mut self, mut cutter: Cutter, mut producer: Producer, held: TaskGuard) -> Result<Submission> {
        let n_bytes = cutter.n_bytes();
        let ticket = producer.next_ticket();
        self.submission(cutter.end(), n_bytes, ticket, Some(held))
    }

    fn be_reshuffled(&mut self) {
        lock(&self.format).be_reshuffled();
    }

    fn close(&mut self) -> Result<Written> {
        if self.cutter.n_entries() > 0 {
            self.end_cluster(&mut Manner::helping())?;
        }
        let rest = lock(&self.format).rest()?;
        if !rest.is_empty() {
            let cluster = Cluster { first_entry: self.written.n_entries, n_entries: 0, columns: Vec::new() };
            let ticket = self.producer.ticket()?;
            let (tasks, place) = self.job(cluster, rest, (0, Arc::default()), None);
            ticket.submit(tasks, place)?;
        }
        self.file.queue().wait()?;
        lock(&self.format).finish(&self.file)?;
        self.written.stored_bytes = self.stored_bytes.load(Relaxed);
        self.written.packed_bytes = self.packed_bytes.load(Relaxed);
        Ok(self.written)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic stops the queue, and what it left is not used again.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
