//! Places to fill a table from, for any number of threads at the same time.
//!
//! [`policy`] says which buffer a producer fills, [`arrivals`] which entries are next where their order is promised; both are
//! plain state. [`fill`] takes entries by them, and [`stalls`] has what each context did when.

mod arrivals;
pub(crate) mod behind;
mod fill;
pub mod policy;
mod settings;
pub mod stalls;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use arrow_array::RecordBatch;

use crate::cutter::{Border, Cutter};
use crate::error::{Error, Result};
use crate::file::FileWriter;
use crate::pipeline::Pipeline;
use crate::queue::{Alarm, Manner, Patience, Producer, Waker};
use crate::table::{Slice, TableColumns};

use arrivals::{Arrivals, Offer};
use behind::{But, Home, OpenContext, OpenContexts};
pub use fill::{Fill, Step, Work};
use policy::Buffers;
pub use settings::{ContextSettings, MAX_BUFFERS, Order};
use stalls::{Doing, Record};

/// The answer to whoever fills a context that is closed.
pub const CLOSED: &str = "the context is closed, nothing can be filled; what was filled before is kept if the file is";
/// The share of a file's buffers that entries may take which wait for those before them.
const SHARE_KEPT: u64 = 4;

/// Makes contexts of one table.
#[derive(Clone)]
pub struct Contexts {
    filling: Arc<Filling>,
}

/// A place from which a table is filled, by one producer at a time; any thread may be it.
pub struct FillContext {
    inner: Arc<Inner>,
}

struct Inner {
    filling: Arc<Filling>,
    /// Its number in the file.
    number: u64,
    record: Arc<Record>,
    waker: Waker,
}

/// The state that the contexts of a table share.
pub(crate) struct Filling {
    file: Arc<FileWriter>,
    columns: Arc<TableColumns>,
    pipeline: Arc<Mutex<Box<dyn Pipeline>>>,
    settings: ContextSettings,
    state: Mutex<FillingState>,
    /// Contexts that there are, with fills that are not at their end.
    open: Mutex<OpenContexts>,
    /// How many were ever made.
    n_contexts: AtomicUsize,
    n_entries: AtomicU64,
}

/// Never locked by who holds the lock of the queue's state for long, and never held by who asks the queue for anything: where
/// both are held, the queue's was first.
enum FillingState {
    Free(Free),
    Ordered(Ordered),
}

/// Entries go to any buffer.
struct Free {
    buffers: Buffers,
    /// For each buffer what is in it; `None`: nothing, or it is lent.
    collected: Vec<Option<Collected>>,
    /// The alarms of those who wait for a buffer, by their numbers in line.
    alarms: HashMap<u64, Alarm>,
}

/// Entries go to the cluster that is next, in the order of their numbers.
struct Ordered {
    arrivals: Arrivals<Vec<Slice>>,
}

/// The entries of a batch that can be filled.
pub struct Checked {
    values: VecDeque<Slice>,
    n_entries: u64,
    first_entry: Option<u64>,
}

/// The entries in a buffer.
struct Collected {
    cutter: Cutter,
    border: Border,
    producer: Producer,
}

/// A buffer whose entries are being compressed: it is empty again when the last task that has this is done.
struct InUse {
    filling: Weak<Filling>,
    waker: Waker,
    number: usize,
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.waker.wake_after(|| {
            let Some(filling) = self.filling.upgrade() else { return false };
            let mut state = filling.lock();
            match &mut *state {
                FillingState::Free(free) => free.buffers.renew(self.number),
                FillingState::Ordered(_) => false,
            }
        });
    }
}

impl Contexts {
    pub(crate) fn new(
        file: &Arc<FileWriter>,
        columns: &Arc<TableColumns>,
        pipeline: &Arc<Mutex<Box<dyn Pipeline>>>,
        settings: ContextSettings,
    ) -> Self {
        let state = if settings.order == Order::Free {
            let buffers = Buffers::new(settings.policy, settings.n_buffers);
            let n_buffers = buffers.n_fills().len();
            lock(pipeline).be_free(n_buffers);
            let collected = (0..n_buffers).map(|_| None).collect();
            FillingState::Free(Free { buffers, collected, alarms: HashMap::new() })
        } else {
            let kept_bytes = file.settings().buffer_bytes as u64 / SHARE_KEPT;
            FillingState::Ordered(Ordered { arrivals: Arrivals::new(kept_bytes) })
        };
        Contexts {
            filling: Arc::new(Filling {
                file: Arc::clone(file),
                columns: Arc::clone(columns),
                pipeline: Arc::clone(pipeline),
                settings,
                state: Mutex::new(state),
                open: Mutex::default(),
                n_contexts: AtomicUsize::new(0),
                n_entries: AtomicU64::new(0),
            }),
        }
    }

    /// One more context; `None` names it after the table, with a number.
    ///
    /// Where entries are numbered, a thread may wait for what only its own other contexts can bring. It does not wait forever if
    /// it made all of them itself; contexts that go from thread to thread are better one for each thread.
    pub fn context(&self, name: Option<String>) -> FillContext {
        self.context_of(Home::Thread(thread::current().id()), name)
    }

    /// As [`Contexts::context`], for a context that any thread may fill.
    pub fn shared_context(&self, name: Option<String>) -> FillContext {
        self.context_of(Home::Any, name)
    }

    fn context_of(&self, home: Home, name: Option<String>) -> FillContext {
        let filling = Arc::clone(&self.filling);
        let number = filling.file.behind().number();
        lock(&filling.open).insert(number, OpenContext::of(home));
        let n_contexts = filling.n_contexts.fetch_add(1, Relaxed) + 1;
        if filling.settings.is_by_chance(n_contexts) {
            // From now on, as the table may be saved before it ends.
            lock(&filling.pipeline).be_reshuffled();
        }
        let record = filling.file.stalls().record(&filling.columns.table, name);
        let waker = filling.file.queue().waker();
        FillContext { inner: Arc::new(Inner { filling, number, record, waker }) }
    }

    /// The settings of all of them.
    pub fn settings(&self) -> ContextSettings {
        self.filling.settings
    }

    /// Entries that were taken so far.
    pub fn n_entries(&self) -> u64 {
        self.filling.n_entries.load(Relaxed)
    }

    /// How often each buffer was filled from, if entries go to several.
    pub fn n_fills(&self) -> Vec<u64> {
        match &*self.filling.lock() {
            FillingState::Free(free) => free.buffers.n_fills().to_vec(),
            FillingState::Ordered(_) => Vec::new(),
        }
    }

    /// Ends the filling: what is still in buffers goes to the table.
    pub(crate) fn end(&self) -> Result<()> {
        let filling = &self.filling;
        // The error that stopped the file is told, and not what is missing because of it.
        filling.file.queue().check()?;
        let n_open = lock(&filling.open).values().filter(|context| !context.is_ended).count();
        if n_open > 0 {
            let what = format!(
                "table {:?} is closed while {n_open} of its contexts are still open, whose entries would be missing: close them \
                 first",
                filling.columns.table
            );
            return Err(Error::InvalidRequest { what });
        }
        filling.wait_for_fills()?;
        filling.take_kept(usize::MAX, &mut Manner::helping())?;
        let (collected, missing) = match &mut *filling.lock() {
            FillingState::Free(free) => (free.collected.iter_mut().filter_map(Option::take).collect::<Vec<_>>(), None),
            FillingState::Ordered(ordered) => {
                let (next, kept) = ordered.arrivals.missing();
                (Vec::new(), kept.map(|kept| (next, kept)))
            }
        };
        if let Some((next, kept)) = missing {
            let what = format!(
                "table {:?}: entries {next} to {} were never filled, those from {kept} on were: number all entries, from 0 on",
                filling.columns.table,
                kept.saturating_sub(1)
            );
            return Err(Error::InvalidRequest { what });
        }
        for Collected { mut cutter, producer, .. } in collected {
            drop(producer);
            lock(&filling.pipeline).append_cluster(cutter.end())?;
        }
        Ok(())
    }
}

impl FillContext {
    /// Takes the entries of a batch, which has the columns of the table in their order. Waits for a buffer, or until there is
    /// room in memory, and compresses meanwhile if the settings say so. The memory of the batch is used until it is compressed.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] or [`Error::Store`] for other columns, and for a null where none is stored: nothing is taken
    /// then. Any other error stopped the file, also one of other entries that shows only now.
    pub fn fill(&self, batch: &RecordBatch) -> Result<()> {
        self.begin(batch, None)?.complete()
    }

    /// As [`FillContext::fill`], for entries whose number in the table is known: that of the first one, where
    /// [`Order::Numbered`] was asked for.
    ///
    /// # Errors
    /// Also [`Error::InvalidRequest`] if an entry of such a number was taken before.
    pub fn fill_at(&self, first_entry: u64, batch: &RecordBatch) -> Result<()> {
        self.begin(batch, Some(first_entry))?.complete()
    }

    /// Begins to fill, for those who want to do it step by step. Nothing is taken yet.
    ///
    /// # Errors
    /// As [`FillContext::fill`].
    pub fn begin(&self, batch: &RecordBatch, first_entry: Option<u64>) -> Result<Fill> {
        self.begin_with(self.checked(batch, first_entry)?)
    }

    /// Checks the entries of a batch, which any thread may do. Nothing is taken yet.
    ///
    /// # Errors
    /// As [`FillContext::fill`].
    pub fn checked(&self, batch: &RecordBatch, first_entry: Option<u64>) -> Result<Checked> {
        self.inner.filling.file.queue().check()?;
        self.inner.record.mark(Doing::Running);
        self.check(batch, first_entry)
    }

    /// The same for a batch that is made now, which counts as writing, and not as work of the producer.
    ///
    /// # Errors
    /// As [`FillContext::checked`]; those of making it.
    pub fn checked_as_made(
        &self,
        make: impl FnOnce() -> Result<RecordBatch>,
        first_entry: Option<u64>,
    ) -> Result<Checked> {
        self.inner.filling.file.queue().check()?;
        self.inner.record.mark(Doing::Running);
        self.check(&make()?, first_entry)
    }

    fn check(&self, batch: &RecordBatch, first_entry: Option<u64>) -> Result<Checked> {
        let filling = &self.inner.filling;
        let goes_on = || filling.file.queue().check();
        let is_numbered = filling.settings.order == Order::Numbered;
        if is_numbered != first_entry.is_some() {
            let what = if is_numbered {
                "entries in the order of their numbers: say the number of the first one"
            } else {
                "the number of an entry has a meaning only where entries are ordered by their numbers"
            };
            return Err(Error::InvalidRequest { what: format!("table {:?}: {what}", filling.columns.table) });
        }
        let values = filling.columns.store_all(batch, first_entry.unwrap_or_default(), goes_on)?;
        Ok(Checked { values, n_entries: batch.num_rows() as u64, first_entry })
    }

    /// As [`FillContext::begin`], of what it has [checked](FillContext::checked).
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if the context is closed.
    pub fn begin_with(&self, checked: Checked) -> Result<Fill> {
        let filling = &self.inner.filling;
        let thread = thread::current().id();
        let mut open = lock(&filling.open);
        let Some(context) = open.get_mut(&self.inner.number).filter(|context| !context.is_ended) else {
            let table = &filling.columns.table;
            let what = format!("table {table:?}: {CLOSED}");
            return Err(Error::InvalidRequest { what });
        };
        context.begin(thread);
        drop(open);
        Ok(Fill::new(Arc::clone(&self.inner), thread, checked))
    }

    /// Says that nothing more is filled, as dropping it does. But fills that other threads have begun go on, and whoever closes the
    /// table waits for them.
    pub fn end(&self) {
        let inner = &self.inner;
        inner.waker.wake_after(|| inner.filling.note(inner.number, |context| context.is_ended = true));
    }

    /// Gives the file up, as nobody will say whether the entries of a fill were taken: one that was interrupted.
    pub fn give_up(&self) {
        self.inner.give_up();
    }

    /// Has all that wait look whether they were cancelled.
    pub fn wake(&self) {
        self.inner.waker.wake_everyone();
    }

    /// The producer begins to wait for data.
    pub fn begin_data(&self) {
        self.inner.record.mark(Doing::Running);
    }

    /// The producer has its data.
    pub fn end_data(&self) {
        self.inner.record.mark(Doing::WaitingForData);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.waker.wake_after(|| {
            self.record.mark(Doing::Running);
            lock(&self.filling.open).remove(&self.number);
            // Where all others wait, one of them goes on.
            true
        });
    }
}

impl Filling {
    fn lock(&self) -> MutexGuard<'_, FillingState> {
        // A panic in here would be ours, and the tests would show it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives slices to the table, and of those that are kept and follow at most so many offers. It waits in this manner.
    fn take_in_order(&self, slices: Vec<Slice>, n_entries: u64, n_more: usize, manner: &mut Manner<'_>) -> Result<()> {
        let (mut slices, mut n_entries) = (slices, n_entries);
        for n_done in 0..=n_more {
            for mut slice in slices {
                let stored = std::mem::take(slice.stored(&self.columns)?);
                lock(&self.pipeline).append(stored, slice.n_entries, manner)?;
            }
            let mut state = self.lock();
            let FillingState::Ordered(Ordered { arrivals }) = &mut *state else { return Ok(()) };
            arrivals.taken(n_entries);
            let following = if n_done < n_more { arrivals.follow() } else { None };
            let Some(following) = following else { break };
            drop(state);
            self.file.queue().let_go(following.n_bytes);
            (slices, n_entries) = (following.values, following.n_entries);
        }
        let is_awaited = match &mut *self.lock() {
            FillingState::Ordered(ordered) => ordered.arrivals.stop(),
            FillingState::Free(_) => false,
        };
        if is_awaited {
            self.file.queue().wake();
        }
        Ok(())
    }

    /// Gives what is kept and next to the table: at most so many offers.
    fn take_kept(&self, n_most: usize, manner: &mut Manner<'_>) -> Result<()> {
        let first = match &mut *self.lock() {
            FillingState::Ordered(ordered) => ordered.arrivals.follow(),
            FillingState::Free(_) => None,
        };
        let Some(first) = first else {
            if let FillingState::Ordered(ordered) = &mut *self.lock() {
                ordered.arrivals.stop();
            }
            return Ok(());
        };
        self.file.queue().let_go(first.n_bytes);
        self.take_in_order(first.values, first.n_entries, n_most, manner)
    }

    /// Notes something of an open context. Returns true if it was ended, and nothing of it is on its way any more.
    fn note(&self, number: u64, note: impl FnOnce(&mut OpenContext)) -> bool {
        let mut open = lock(&self.open);
        let Some(context) = open.get_mut(&number) else { return false };
        note(context);
        let is_over = context.is_ended && context.n_fills == 0;
        if is_over {
            open.remove(&number);
        }
        is_over
    }

    /// Waits until no context is open, and compresses meanwhile.
    fn wait_for_fills(&self) -> Result<()> {
        let never = AtomicBool::new(false);
        let patience = Patience { helps: true, is_cancelled: &never, note: None, line: None };
        self.file.queue().wait_for(patience, |_| (self.n_open() == 0).then_some(())).map(drop)
    }

    /// Contexts that are open, of which each may still fill.
    fn n_open(&self) -> usize {
        lock(&self.open).len()
    }

    /// The open contexts whose producers wait for nobody's entries.
    fn n_running(&self, but: Option<But>) -> usize {
        self.file.behind().n_running(&lock(&self.open), but)
    }

    /// Stops the file.
    fn stop(&self, error: &Error) {
        self.file.queue().stop(error.clone());
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic stopped the queue, and what it left is not used again.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
