//! The ordered queue in front of the appender.
//!
//! Who produces takes a [`Ticket`] for each cluster, and submits the tasks that make it. Tasks are done in any order by any
//! thread; what they made is placed in the order of the tickets, and within one in that of its tasks, as soon as all before is
//! placed, by the thread that did the task that was waited for. So the file does not depend on how many threads there are.
//!
//! The bytes in flight are bounded: what producers collect, what waits to be compressed, and what waits to be written. A
//! producer that would exceed the bound does tasks itself until there is room, so nothing waits for threads that are not there.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use arrowroot_format::codec::Compressor;

use crate::error::{Error, Result};
use crate::pool::Pool;

/// Makes a part of what a ticket is for. Returns how many bytes of it wait to be placed.
pub type Task = Box<dyn FnOnce(&mut Compressor) -> Result<u64> + Send>;
/// Writes what the next so many tasks of a ticket made, and is told whether they are the last. A ticket without tasks has one
/// call, for none.
pub type Place = Box<dyn FnMut(usize, bool) -> Result<()> + Send>;

/// The settings of a queue.
#[derive(Debug, Clone, Copy)]
pub struct QueueSettings {
    /// Threads that do tasks, the producer's own among them: 1 means no others.
    pub n_threads: usize,
    /// Most bytes in flight. One ticket alone may exceed it.
    pub buffer_bytes: u64,
}

/// The counters of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueReport {
    /// Tickets whose turn has come.
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
    state: Mutex<State>,
    changed: Condvar,
    /// Of producers that do tasks.
    compressors: Mutex<Vec<Compressor>>,
}

#[derive(Default)]
struct State {
    /// Tickets that are not placed as a whole, in their order; the number of the first one is `first`.
    entries: VecDeque<Entry>,
    first: u64,
    tasks: VecDeque<(TaskId, Task)>,
    is_placing: bool,
    is_ended: bool,
    error: Option<Error>,
    report: QueueReport,
}

/// The number of a ticket, and of one of its tasks.
#[derive(Debug, Clone, Copy)]
struct TaskId {
    ticket: u64,
    task: usize,
}

/// The state of a ticket that was not placed as a whole yet.
#[derive(Default)]
struct Entry {
    is_submitted: bool,
    n_tasks_left: usize,
    place: Option<Place>,
    /// Its share of the bytes in flight.
    n_bytes: u64,
    /// For each task what it made, once it is done.
    made: Vec<Option<u64>>,
    /// The results of so many of its tasks are placed.
    n_placed: usize,
    /// Bytes that its tasks made and that are not placed.
    made_bytes: u64,
}

/// Results that can be placed now: those of so many tasks of the first ticket.
struct Ready {
    place: Option<Place>,
    n_tasks: usize,
    is_last: bool,
}

/// Somebody who has things written in an order.
pub struct Producer {
    shared: Arc<Shared>,
    held_bytes: u64,
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("held_bytes", &self.held_bytes).finish_non_exhaustive()
    }
}

/// A place in the order. Dropped without being submitted, it is passed over.
#[must_use = "others wait for it"]
pub struct Ticket {
    shared: Arc<Shared>,
    number: u64,
    is_submitted: bool,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Queue {
    /// An empty queue. Its threads are started by the first ticket that is submitted.
    pub fn new(settings: QueueSettings) -> Self {
        let shared = Shared {
            settings,
            pool: Pool::new(settings.n_threads.saturating_sub(1)),
            state: Mutex::default(),
            changed: Condvar::new(),
            compressors: Mutex::default(),
        };
        Queue { shared: Arc::new(shared) }
    }

    /// One more who produces.
    pub fn producer(&self) -> Producer {
        Producer { shared: Arc::clone(&self.shared), held_bytes: 0 }
    }

    /// Waits until all tickets that were given out are placed, and does tasks meanwhile.
    ///
    /// # Errors
    /// The error that stopped the queue.
    pub fn wait(&self) -> Result<()> {
        self.shared.wait_until(|state| state.is_empty())
    }

    /// Stops it for good, from any thread: no more tasks are done and nothing more is placed, and whoever produces or waits is
    /// told this error, or one that came before.
    pub fn stop(&self, error: Error) {
        self.shared.fail(self.shared.lock(), error);
    }

    /// Ends it: what is not done yet is left undone, and its threads are waited for.
    pub fn end(&self) {
        if self.is_own_process() {
            let mut state = self.shared.lock();
            state.is_ended = true;
            let tasks = std::mem::take(&mut state.tasks);
            drop(state);
            drop(tasks);
            self.shared.changed.notify_all();
            self.shared.pool.join();
        }
    }

    /// True if this is the process that made it, and not a child: only there it has its threads.
    pub fn is_own_process(&self) -> bool {
        self.shared.pool.is_own_process()
    }

    /// What it has seen so far.
    pub fn report(&self) -> QueueReport {
        self.shared.lock().report
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.end();
    }
}

impl Producer {
    /// Counts bytes that it collects for its next ticket among those in flight, and waits until there is room for them.
    ///
    /// # Errors
    /// The error that stopped the queue.
    pub fn hold(&mut self, n_bytes: u64) -> Result<()> {
        let mut state = self.shared.lock();
        state.add(n_bytes);
        self.held_bytes += n_bytes;
        drop(state);
        self.shared.wait_for_room(0)
    }

    /// Takes the next place in the order, for what it holds. Waits until there is room for what will become of that, which is
    /// taken to be as much again until it is known.
    ///
    /// # Errors
    /// The error that stopped the queue.
    pub fn ticket(&mut self) -> Result<Ticket> {
        self.shared.wait_for_room(self.held_bytes)?;
        let mut state = self.shared.lock();
        let number = state.first + state.entries.len() as u64;
        state.add(self.held_bytes);
        let n_bytes = self.held_bytes * 2;
        self.held_bytes = 0;
        state.entries.push_back(Entry { n_bytes, ..Entry::default() });
        Ok(Ticket { shared: Arc::clone(&self.shared), number, is_submitted: false })
    }

    /// Waits until a ticket is placed, and does tasks meanwhile.
    ///
    /// # Errors
    /// The error that stopped the queue.
    pub fn wait_for(&self, number: u64) -> Result<()> {
        self.shared.wait_until(|state| state.report.n_placed > number)
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        if self.held_bytes > 0 && self.shared.pool.is_own_process() {
            self.shared.lock().report.bytes -= self.held_bytes;
            self.shared.changed.notify_all();
        }
    }
}

impl Ticket {
    /// Its place in the order.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Hands over the tasks, and what to do once they are done and its turn has come. Where there are no threads, the tasks are
    /// done now.
    ///
    /// # Errors
    /// The error that stopped the queue.
    pub fn submit(mut self, tasks: Vec<Task>, place: Place) -> Result<()> {
        self.is_submitted = true;
        let shared = Arc::clone(&self.shared);
        shared.submit(self.number, tasks, Some(place));
        if shared.pool.is_empty() {
            return shared.wait_until(|state| state.tasks.is_empty());
        }
        shared.pool.start(|| {
            let shared = Arc::clone(&shared);
            move || shared.work()
        });
        Ok(())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_submitted && self.shared.pool.is_own_process() {
            self.shared.submit(self.number, Vec::new(), None);
        }
    }
}

impl State {
    fn is_empty(&self) -> bool {
        self.entries.is_empty() && !self.is_placing
    }

    fn add(&mut self, n_bytes: u64) {
        self.report.bytes += n_bytes;
        self.report.peak_bytes = self.report.peak_bytes.max(self.report.bytes);
    }

    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        self.entries.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// One of a ticket's tasks is done: the last one lets go of what they were made of.
    fn done(&mut self, id: TaskId, made_bytes: u64) {
        let Some(entry) = self.entry(id.ticket) else { return };
        if let Some(made) = entry.made.get_mut(id.task) {
            *made = Some(made_bytes);
        }
        entry.n_tasks_left = entry.n_tasks_left.saturating_sub(1);
        entry.made_bytes += made_bytes;
        self.settle(id.ticket);
    }

    /// Once all tasks of a ticket are done, its share is what they made and is not placed.
    fn settle(&mut self, number: u64) {
        let Some(entry) = self.entry(number).filter(|entry| entry.n_tasks_left == 0) else { return };
        let (before, now) = (entry.n_bytes, entry.made_bytes);
        entry.n_bytes = now;
        self.report.bytes -= before;
        self.add(now);
    }

    /// Takes the results that can be placed next. Its caller places them, and says so by [`State::placed`].
    fn next_ready(&mut self) -> Option<Ready> {
        if self.is_placing || self.error.is_some() {
            return None;
        }
        let entry = self.entries.front_mut().filter(|entry| entry.is_submitted)?;
        let n_tasks = entry.made[entry.n_placed..].iter().take_while(|made| made.is_some()).count();
        let is_last = entry.n_placed + n_tasks == entry.made.len();
        if n_tasks == 0 && !is_last {
            return None;
        }
        self.is_placing = true;
        Some(Ready { place: entry.place.take(), n_tasks, is_last })
    }

    /// Notes that results which were ready are placed.
    fn placed(&mut self, Ready { place, n_tasks, is_last }: Ready) {
        self.is_placing = false;
        let number = self.first;
        if let Some(entry) = self.entries.front_mut() {
            let placed = entry.made.iter().skip(entry.n_placed).take(n_tasks);
            entry.made_bytes -= placed.copied().flatten().sum::<u64>();
            entry.n_placed += n_tasks;
            entry.place = place;
        }
        self.settle(number);
        if is_last {
            self.report.n_placed += 1;
            self.first += 1;
            self.entries.pop_front();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics while it has the lock but for want of memory.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(&self, number: u64, tasks: Vec<Task>, place: Option<Place>) {
        let mut state = self.lock();
        if state.error.is_some() {
            return;
        }
        let n_tasks = tasks.len();
        if let Some(entry) = state.entry(number) {
            let made = vec![None; n_tasks];
            *entry = Entry { is_submitted: true, n_tasks_left: n_tasks, place, made, ..std::mem::take(entry) };
        }
        state.settle(number);
        let id = |task: usize| TaskId { ticket: number, task };
        state.tasks.extend(tasks.into_iter().enumerate().map(|(place, task)| (id(place), task)));
        self.place_ready(state);
        self.changed.notify_all();
    }

    /// Does a task and what follows from it.
    fn run(&self, id: TaskId, task: Task, compressor: &mut Compressor) {
        let made = catch_unwind(AssertUnwindSafe(|| task(compressor))).unwrap_or_else(|panic| {
            // It may have been left in any state.
            *compressor = Compressor::new();
            Err(panicked(panic.as_ref()))
        });
        let mut state = self.lock();
        match made {
            Ok(made_bytes) => {
                state.done(id, made_bytes);
                self.place_ready(state);
            }
            Err(error) => self.fail(state, error),
        }
    }

    /// Places what is ready, in order. One thread does at a time; others leave theirs to it.
    fn place_ready<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        while let Some(mut ready) = state.next_ready() {
            drop(state);
            let place = || ready.place.as_mut().map_or(Ok(()), |place| place(ready.n_tasks, ready.is_last));
            let placed = catch_unwind(AssertUnwindSafe(place)).unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
            if ready.is_last || placed.is_err() {
                // Without the lock: it may be the last that has the file.
                ready.place = None;
            }
            state = self.lock();
            state.placed(ready);
            self.changed.notify_all();
            if let Err(error) = placed {
                return self.fail(state, error);
            }
        }
    }

    fn fail(&self, mut state: MutexGuard<'_, State>, error: Error) {
        state.error.get_or_insert(error);
        // Dropped without the lock: they hold a lot.
        let tasks = std::mem::take(&mut state.tasks);
        let places: Vec<_> = state.entries.iter_mut().map(|entry| entry.place.take()).collect();
        drop(state);
        self.changed.notify_all();
        drop((tasks, places));
    }

    /// A thread of the pool: does tasks until the queue ends.
    fn work(&self) {
        let mut compressor = Compressor::new();
        let mut state = self.lock();
        loop {
            if let Some((id, task)) = state.tasks.pop_front() {
                drop(state);
                self.run(id, task, &mut compressor);
                state = self.lock();
            } else if state.is_ended {
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn wait_for_room(&self, more_bytes: u64) -> Result<()> {
        let limit = self.settings.buffer_bytes;
        self.wait_until(|state| state.is_empty() || state.report.bytes.saturating_add(more_bytes) <= limit)
    }

    /// Does tasks, or waits if there are none, until something is so.
    fn wait_until(&self, is_so: impl Fn(&State) -> bool) -> Result<()> {
        if !self.pool.is_own_process() {
            return Err(Error::InvalidRequest {
                what: "only the process that created a file writes it, not a child that was forked from it".to_owned(),
            });
        }
        let mut state = self.lock();
        if let Some(error) = &state.error {
            return Err(error.clone());
        }
        if is_so(&state) {
            return Ok(());
        }
        let started = Instant::now();
        let mut compressor = None;
        while state.error.is_none() && !is_so(&state) {
            if let Some((id, task)) = state.tasks.pop_front() {
                drop(state);
                self.run(id, task, compressor.get_or_insert_with(|| self.compressor()));
                state = self.lock();
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
        let waited_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        state.report.n_waits += 1;
        state.report.wait_ns += waited_ns;
        state.report.longest_wait_ns = state.report.longest_wait_ns.max(waited_ns);
        let result = state.error.clone().map_or(Ok(()), Err);
        drop(state);
        self.compressors.lock().unwrap_or_else(PoisonError::into_inner).extend(compressor);
        result
    }

    fn compressor(&self) -> Compressor {
        self.compressors.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let what = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    Error::Panicked { what }
}

#[cfg(test)]
mod tests;
