//! The ordered queue in front of the appender.
//!
//! Who produces takes a [`Ticket`] for each cluster, and submits the tasks that make it. Tasks are done in any order by any
//! thread; what they made is placed in the order of the tickets, and within one in that of its tasks, as soon as all before is
//! placed, by the thread that did the task that was waited for. So the file does not depend on how many threads there are.
//!
//! The bytes in flight are bounded: what producers collect, what waits to be compressed, and what waits to be written. A
//! producer that would exceed the bound does tasks itself until there is room, so nothing waits for threads that are not there.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arrowroot_format::codec::Compressor;
use arrowroot_storage::n_cores;

use crate::error::{Error, Result};
use crate::pool::Pool;

mod growth;
mod producer;
mod state;
mod waiting;

pub use producer::{Producer, Ticket};
pub use state::Room;
use state::TaskId;
pub(crate) use waiting::{Alarm, InLine, Manner, Patience, Pause, Waker};

/// More threads than any machine has cores are asked for by mistake.
const MAX_THREADS: usize = 1024;

/// Makes a part of what a ticket is for. Returns how many bytes of it wait to be placed.
pub type Task = Box<dyn FnOnce(&mut Compressor) -> Result<u64> + Send>;
/// Writes what the next so many tasks of a ticket made, and is told whether they are the last. A ticket without tasks has one
/// call, for none.
pub type Place = Box<dyn FnMut(usize, bool) -> Result<()> + Send>;

/// The settings of a queue.
#[derive(Debug, Clone, Copy)]
pub struct QueueSettings {
    /// Threads that do tasks, the producer's own among them: 1 means no others, 0 as many as there are cores.
    pub n_threads: usize,
    /// Most bytes in flight. One ticket alone may exceed it.
    pub buffer_bytes: u64,
}

/// The counters of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct QueueReport {
    /// Tickets that were placed; not those that were passed over.
    pub n_placed: u64,
    /// Bytes in flight now.
    pub bytes: u64,
    /// Most bytes in flight at one time.
    pub peak_bytes: u64,
    /// How often a producer had no room, or waited for an earlier ticket.
    pub n_waits: u64,
    /// How long all of that took, in ns. Producers did tasks meanwhile.
    pub wait_ns: u64,
    /// The longest of it, in ns.
    pub longest_wait_ns: u64,
    /// The part of `wait_ns` in which they did tasks, in ns.
    pub help_ns: u64,
    /// Tasks that were done.
    pub n_tasks: u64,
    /// Time in tasks, of all threads, in ns.
    pub task_ns: u64,
    /// How often it grew for longer than the [threshold](Queue::tell_of_growth_after).
    pub n_growths: u64,
    /// How long it grew those times, in ns.
    pub growth_ns: u64,
}

/// The queue of a file.
pub struct Queue {
    shared: Arc<Shared>,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("settings", &self.shared.settings).field("report", &self.report()).finish()
    }
}

struct Shared {
    settings: QueueSettings,
    pool: Pool,
    started: Instant,
    state: Mutex<TaskQueueState>,
    /// For the threads of the pool: there is a task.
    has_tasks: Condvar,
    /// How many of them sleep. As all counts here, it is changed with the lock alone.
    n_idle: AtomicUsize,
    /// For others who wait: something is not as it was.
    changed: Condvar,
    /// How many of them sleep.
    n_asleep: AtomicUsize,
    /// True once it has an error.
    has_failed: AtomicBool,
    /// As the state has it.
    n_growths: AtomicU64,
    /// The alarms of those who stand in a line behind others, and need not look whenever something changes.
    alarms: Mutex<Vec<Alarm>>,
    /// Of producers that do tasks.
    compressors: Mutex<Vec<Compressor>>,
    n_tasks: AtomicU64,
    task_ns: AtomicU64,
    /// How many of those who wait with patience do tasks, and how many may.
    n_helping: AtomicUsize,
    max_helping: usize,
}

type TaskQueueState = state::QueueState<Task, Place, Error>;

impl Queue {
    /// How many threads do tasks, that of a producer among them.
    pub fn n_threads(&self) -> usize {
        self.shared.pool.n_threads() + 1
    }

    /// An empty queue. Its threads are started by the first ticket that is submitted.
    pub fn new(settings: QueueSettings) -> Self {
        let n_threads = match settings.n_threads {
            0 => n_cores(),
            n_threads => n_threads.min(MAX_THREADS),
        };
        let shared = Shared {
            settings,
            pool: Pool::new(n_threads - 1),
            started: Instant::now(),
            state: Mutex::default(),
            has_tasks: Condvar::new(),
            n_idle: AtomicUsize::new(0),
            changed: Condvar::new(),
            n_asleep: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            n_growths: AtomicU64::new(0),
            alarms: Mutex::default(),
            compressors: Mutex::default(),
            n_tasks: AtomicU64::new(0),
            task_ns: AtomicU64::new(0),
            n_helping: AtomicUsize::new(0),
            max_helping: n_cores(),
        };
        Queue { shared: Arc::new(shared) }
    }

    /// One more who produces.
    pub fn producer(&self) -> Producer {
        Producer::new(&self.shared)
    }

    /// Waits until all tickets that were given out up to now are placed, and does tasks meanwhile. Others may come all the time.
    ///
    /// # Errors
    /// The error that stopped the queue.
    pub fn wait(&self) -> Result<()> {
        self.shared.check_process()?;
        let n_given = self.shared.lock().n_given();
        self.shared.wait_for_first(n_given)
    }

    /// Takes the next place in the order for what has no tasks, and waits for its turn: what is placed of one ticket after the other
    /// has nothing of others in between. Nothing is placed until this is dropped, so its thread waits for nothing here meanwhile.
    ///
    /// # Errors
    /// The error that stopped the queue.
    pub(crate) fn turn(&self) -> Result<Ticket> {
        self.shared.check_process()?;
        let number = self.shared.lock().ticket(0);
        let turn = Ticket::new(&self.shared, number);
        self.shared.wait_for_first(number)?;
        Ok(turn)
    }

    /// Stops it for good, from any thread: no more tasks are done and nothing more is placed, and whoever produces or waits is
    /// told this error, or one that came before. In another process nothing is done: a thread that is not there may have the lock.
    pub fn stop(&self, error: Error) {
        if self.is_own_process() {
            self.shared.fail(self.shared.lock(), error);
        }
    }

    /// Ends it: what is not done yet is left undone, and its threads are waited for.
    pub fn end(&self) {
        if self.is_own_process() {
            let tasks = self.shared.lock().end();
            drop(tasks);
            self.shared.wake_everyone();
            self.shared.pool.join();
        }
    }

    /// True if this is the process that made it, and not a child: only there it has its threads.
    pub fn is_own_process(&self) -> bool {
        self.shared.pool.is_own_process()
    }

    /// What it has seen so far.
    pub fn report(&self) -> QueueReport {
        let state = self.shared.lock();
        let (n_growths, growth_ns) = (state.growth.n_times(), state.growth.total_ns());
        let (n_tasks, task_ns) = (self.shared.n_tasks.load(Relaxed), self.shared.task_ns.load(Relaxed));
        QueueReport { n_growths, growth_ns, n_tasks, task_ns, ..state.report }
    }

    /// Tasks that nobody has begun, and tickets that are not placed as a whole.
    pub fn n_waiting(&self) -> (usize, usize) {
        let state = self.shared.lock();
        (state.n_tasks(), state.n_tickets())
    }

    /// The report counts it as growth if for longer than this there always were tasks that nobody had begun, and ever more
    /// bytes in flight. Ten seconds if nothing is said.
    pub fn tell_of_growth_after(&self, threshold: Duration) {
        self.shared.lock().growth.tell_after(nanoseconds(threshold));
    }

    /// How often it has grown for longer than the threshold. It waits for no lock.
    pub fn n_growths(&self) -> u64 {
        self.shared.n_growths.load(Relaxed)
    }

    /// The error that stopped it, if one did.
    ///
    /// # Errors
    /// That one, and [`Error::InvalidRequest`] in another process.
    pub fn check(&self) -> Result<()> {
        self.shared.check_process()?;
        if !self.shared.has_failed.load(Acquire) {
            return Ok(());
        }
        self.shared.lock().error.clone().map_or(Ok(()), Err)
    }

    /// The room in the buffers.
    pub(crate) fn room(&self) -> Room {
        self.shared.lock().room(0, self.shared.settings.buffer_bytes)
    }

    /// Waits until something is found, which is looked for whenever anything has changed; `found` is told the room in the
    /// buffers. `None` if the waiting was cancelled.
    ///
    /// # Errors
    /// The error that stopped the queue.
    pub(crate) fn wait_for<T>(
        &self,
        patience: Patience<'_>,
        mut found: impl FnMut(Room) -> Option<T>,
    ) -> Result<Option<T>> {
        let limit = self.shared.settings.buffer_bytes;
        self.shared.wait_until(patience, self.shared.max_helping, |state| found(state.room(0, limit)))
    }

    /// Counts bytes among those in flight.
    pub(crate) fn count(&self, n_bytes: u64) {
        self.shared.lock().add(n_bytes);
    }

    /// No longer counts bytes that were [counted](Queue::count).
    pub(crate) fn let_go(&self, n_bytes: u64) {
        self.shared.lock().report.bytes -= n_bytes;
        self.shared.tell_of_change();
    }

    /// Has those look again who wait, after something has changed that is not of the queue; of a line only the first.
    pub(crate) fn wake(&self) {
        self.shared.wake();
    }

    /// The same, and rings for one who has become the first of a line.
    pub(crate) fn ring(&self, alarm: &Alarm) {
        self.shared.wake();
        alarm.condition.notify_all();
    }

    /// A handle that wakes all who wait, as long as there is the queue.
    pub(crate) fn waker(&self) -> Waker {
        Waker(Arc::downgrade(&self.shared))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, TaskQueueState> {
        // Nothing in here panics while it has the lock but for want of memory.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_process(&self) -> Result<()> {
        if self.pool.is_own_process() {
            return Ok(());
        }
        Err(Error::InvalidRequest {
            what: "only the process that created a file writes it, not a child that was forked from it".to_owned(),
        })
    }

    fn wake(&self) {
        // A thread that waits has looked before, or looks after this.
        drop(self.lock());
        self.tell_of_change();
    }

    /// Has those look again who wait for something else than tasks, after the lock was had.
    fn tell_of_change(&self) {
        if self.n_asleep.load(Relaxed) > 0 {
            self.changed.notify_all();
        }
    }

    /// Wakes threads of the pool for so many tasks that nobody has begun, and if there are too few, those who may help.
    fn tell_of_tasks(&self, n_tasks: usize) {
        let n_idle = self.n_idle.load(Relaxed);
        (0..n_tasks.min(n_idle)).for_each(|_| self.has_tasks.notify_one());
        if n_tasks > n_idle {
            self.tell_of_change();
            self.alarms().iter().filter(|alarm| alarm.helps).for_each(|alarm| alarm.condition.notify_all());
        }
    }

    /// Wakes all who wait, after the lock was had.
    fn wake_everyone(&self) {
        self.has_tasks.notify_all();
        self.changed.notify_all();
        self.alarms().iter().for_each(|alarm| alarm.condition.notify_all());
    }

    fn alarms(&self) -> MutexGuard<'_, Vec<Alarm>> {
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at how much waits.
    fn watch(&self, state: &mut TaskQueueState) {
        let (n_tasks, n_bytes) = (state.n_tasks(), state.report.bytes);
        state.growth.look(nanoseconds(self.started.elapsed()), n_tasks, n_bytes);
        self.n_growths.store(state.growth.n_times(), Relaxed);
    }

    fn submit(&self, number: u64, tasks: Vec<Task>, place: Option<Place>) {
        let mut state = self.lock();
        let refused = state.submit(number, tasks, place);
        self.watch(&mut state);
        if refused.is_some() {
            // Refused tasks are dropped without the lock.
            drop(state);
            return;
        }
        let n_tasks = state.n_tasks();
        self.place_ready(state);
        self.tell_of_tasks(n_tasks);
    }

    /// Takes a task that nobody has begun.
    fn take_task(&self, state: &mut TaskQueueState) -> Option<(TaskId, Task)> {
        let taken = state.take_task()?;
        self.watch(state);
        Some(taken)
    }

    /// Does a task and what follows from it.
    fn run(&self, id: TaskId, task: Task, compressor: &mut Compressor) {
        let started = Instant::now();
        let made = catch_unwind(AssertUnwindSafe(|| task(compressor))).unwrap_or_else(|panic| {
            // It may have been left in any state.
            *compressor = Compressor::new();
            Err(panicked(panic.as_ref()))
        });
        self.n_tasks.fetch_add(1, Relaxed);
        self.task_ns.fetch_add(nanoseconds(started.elapsed()), Relaxed);
        let mut state = self.lock();
        match made {
            Ok(made_bytes) => {
                let has_room_come = state.done(id, made_bytes);
                self.place_ready(state);
                if has_room_come {
                    self.tell_of_change();
                }
            }
            Err(error) => self.fail(state, error),
        }
    }

    /// Places what is ready, in order. One thread does at a time; others leave theirs to it.
    fn place_ready<'a>(&'a self, mut state: MutexGuard<'a, TaskQueueState>) {
        while let Some(mut ready) = state.next_ready() {
            drop(state);
            let place = || ready.place.as_mut().map_or(Ok(()), |place| place(ready.n_tasks, ready.is_last));
            let placed = catch_unwind(AssertUnwindSafe(place)).unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
            if ready.is_last || placed.is_err() {
                // Without the lock: it may be the last that has the file.
                ready.place = None;
            }
            state = self.lock();
            // Not for each piece: there may be many, and many who would look.
            if state.placed(ready) {
                self.tell_of_change();
            }
            if let Err(error) = placed {
                return self.fail(state, error);
            }
        }
    }

    fn fail(&self, mut state: MutexGuard<'_, TaskQueueState>, error: Error) {
        // Dropped without the lock: they hold a lot.
        let waiting = state.fail(error);
        self.has_failed.store(true, Release);
        drop(state);
        self.wake_everyone();
        drop(waiting);
    }

    /// A thread of the pool: does tasks until the queue ends.
    fn work(&self) {
        let mut compressor = Compressor::new();
        let mut state = self.lock();
        loop {
            if let Some((id, task)) = self.take_task(&mut state) {
                drop(state);
                self.run(id, task, &mut compressor);
                state = self.lock();
            } else if state.is_ended {
                return;
            } else {
                self.n_idle.fetch_add(1, Relaxed);
                state = self.has_tasks.wait(state).unwrap_or_else(PoisonError::into_inner);
                self.n_idle.fetch_sub(1, Relaxed);
            }
        }
    }

    fn wait_for_room(&self, more_bytes: u64, manner: &mut Manner<'_>) -> Result<()> {
        let limit = self.settings.buffer_bytes;
        self.wait_as(manner, |state| state.has_room(more_bytes, limit))
    }

    /// Waits in this manner until something is so.
    fn wait_as(&self, manner: &mut Manner<'_>, is_so: impl Fn(&TaskQueueState) -> bool) -> Result<()> {
        self.wait_until(manner.patience(), self.max_helping, |state| is_so(state).then_some(())).map(drop)
    }

    /// Waits until the turn of so many tickets is over, from the first one on.
    fn wait_for_first(&self, n_tickets: u64) -> Result<()> {
        self.help_until(|state| state.n_done() >= n_tickets)
    }

    /// Does tasks, or sleeps if there are none, until something is so.
    fn help_until(&self, is_so: impl Fn(&TaskQueueState) -> bool) -> Result<()> {
        let mut manner = Manner::helping();
        self.wait_until(manner.patience(), usize::MAX, |state| is_so(state).then_some(())).map(drop)
    }

    /// Waits until something is found. `None` if that was cancelled before. Tasks are done unless `max_helping` others do so.
    fn wait_until<T>(
        &self,
        patience: Patience<'_>,
        max_helping: usize,
        mut found: impl FnMut(&TaskQueueState) -> Option<T>,
    ) -> Result<Option<T>> {
        self.check_process()?;
        let Patience { helps, is_cancelled, mut note, line } = patience;
        let mut note = |pause| {
            if let Some(note) = &mut note {
                note(pause);
            }
        };
        let mut state = self.lock();
        if let Some(error) = &state.error {
            return Err(error.clone());
        }
        if let Some(found) = found(&state) {
            return Ok(Some(found));
        }
        note(Pause::Begun);
        let started = Instant::now();
        let mut helped = Duration::ZERO;
        let mut compressor = None;
        let mut result = None;
        self.alarms().extend(line.as_ref().map(|line| line.alarm.clone()));
        while state.error.is_none() && !is_cancelled.load(Relaxed) {
            result = found(&state);
            if result.is_some() {
                break;
            }
            // Changed with the lock alone.
            let may_help = helps && self.n_helping.load(Relaxed) < max_helping;
            let task = if may_help { self.take_task(&mut state) } else { None };
            let begun = Instant::now();
            if let Some((id, task)) = task {
                self.n_helping.fetch_add(1, Relaxed);
                drop(state);
                self.run(id, task, compressor.get_or_insert_with(|| self.compressor()));
                helped += begun.elapsed();
                note(Pause::Helped);
                state = self.lock();
                self.n_helping.fetch_sub(1, Relaxed);
            } else {
                // Others may help meanwhile.
                self.compressors().extend(compressor.take());
                state = match &line {
                    Some(line) if !(line.is_first)() => line.alarm.condition.wait(state),
                    _ => {
                        self.n_asleep.fetch_add(1, Relaxed);
                        let woken = self.changed.wait(state);
                        self.n_asleep.fetch_sub(1, Relaxed);
                        woken
                    }
                }
                .unwrap_or_else(PoisonError::into_inner);
                note(Pause::Slept);
            }
        }
        let waited_ns = nanoseconds(started.elapsed());
        state.report.n_waits += 1;
        state.report.wait_ns += waited_ns;
        state.report.longest_wait_ns = state.report.longest_wait_ns.max(waited_ns);
        state.report.help_ns += nanoseconds(helped);
        let error = if result.is_none() { state.error.clone() } else { None };
        let leaves_tasks = !helped.is_zero() && !state.has_no_tasks();
        drop(state);
        if let Some(line) = line {
            self.alarms().retain(|alarm| !Arc::ptr_eq(&alarm.condition, &line.alarm.condition));
        }
        if leaves_tasks {
            // Another one may help now.
            self.tell_of_change();
            self.alarms().iter().find(|alarm| alarm.helps).inspect(|alarm| alarm.condition.notify_all());
        }
        self.compressors().extend(compressor);
        error.map_or(Ok(result), Err)
    }

    fn compressor(&self) -> Compressor {
        self.compressors().pop().unwrap_or_default()
    }

    fn compressors(&self) -> MutexGuard<'_, Vec<Compressor>> {
        self.compressors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let what = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    Error::Panicked { what }
}

#[cfg(test)]
mod tests;
