//! What the threads of a scan share, and what each of them does next: fetch a window, place it, decode, make a batch.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowroot_storage::ScanSource;

use crate::error::{Error, Result};
use crate::fetch::Fetcher;
use crate::file::format_error;
use crate::nested::Nesting;
use crate::place::{Context, Placed, Placer};
use crate::stats::{add_ns, thread_cpu_time};
use crate::work::{Building, Task, Workers};

/// How long to wait before looking whether the caller wants to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// What the threads of a scan have in common.
pub(crate) struct Shared {
    pub(crate) context: Context,
    /// How what is read is delivered; `None`: as it is.
    pub(crate) nesting: Option<Nesting>,
    /// What the scan reads through.
    pub(crate) reading: ScanSource,
    /// For windows and batches.
    pub(crate) moving_budget_bytes: u64,
    /// `None`: the thread that places windows reads them.
    pub(crate) fetcher: Option<Fetcher>,
    pub(crate) state: Mutex<State>,
    pub(crate) changed: Condvar,
    /// Windows that may be in use at a time.
    pub(crate) max_windows: usize,
    /// Batches that may be begun and not delivered.
    pub(crate) max_batches: usize,
}

/// The batches on their way.
#[derive(Default)]
pub(crate) struct State {
    tasks: VecDeque<Task>,
    /// `None` while a thread is placing.
    placer: Option<Placer>,
    /// Batches all of whose baskets are placed.
    closing: Vec<Building>,
    ready: BTreeMap<usize, Ready>,
    n_begun: usize,
    n_delivered: usize,
    is_all_placed: bool,
    is_stopped: bool,
    error: Option<Error>,
}

/// A batch that can be delivered.
struct Ready {
    batch: RecordBatch,
    values_bytes: u64,
    held_bytes: usize,
}

impl State {
    /// Before anything is placed.
    pub(crate) fn new() -> Self {
        State { placer: Some(Placer::new()), ..State::default() }
    }
}

/// Tells the others if a helping thread dies: they would wait for it without end.
struct PanicGuard<'s>(&'s Shared);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Error::Internal { what: "a decoding thread panicked".to_owned() });
        }
    }
}

/// What a thread can do next.
enum Step {
    Decode(Box<Task>),
    Place(Box<Placer>),
    Wait,
    Stop,
}

impl Shared {
    pub(crate) fn schema(&self) -> &SchemaRef {
        self.nesting.as_ref().map_or_else(|| self.context.plan.schema(), Nesting::schema)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        state.tasks.clear();
        drop(state);
        self.changed.notify_all();
        if let Some(fetcher) = &self.fetcher {
            fetcher.stop();
        }
    }

    fn fail(&self, error: Error) {
        self.lock().error.get_or_insert(error);
        self.stop();
    }

    /// The loop of a fetching thread.
    pub(crate) fn fetch(&self) {
        let _guard = PanicGuard(self);
        let tell = || {
            // Who waits has looked and let go of the lock: without it this could come in between.
            drop(self.lock());
            self.changed.notify_all();
        };
        if let Some(fetcher) = &self.fetcher {
            fetcher.run(&self.context, &tell);
        }
    }

    /// The loop of a helping thread.
    pub(crate) fn help(&self) {
        let _guard = PanicGuard(self);
        let mut worker = Workers::default();
        let cpu_start = thread_cpu_time();
        loop {
            let step = {
                let mut state = self.lock();
                let step = self.next_step(&mut state);
                if matches!(step, Step::Wait) {
                    if state.is_all_placed && state.tasks.is_empty() && state.closing.is_empty() {
                        break;
                    }
                    let start = Instant::now();
                    let state = self.changed.wait_timeout(state, PATIENCE);
                    drop(state);
                    add_ns(&self.context.counters.wait_ns, start.elapsed());
                    continue;
                }
                step
            };
            match step {
                Step::Stop => break,
                step => self.take_step(step, &mut worker, &mut || self.lock().is_stopped),
            }
        }
        add_ns(&self.context.counters.cpu_ns, thread_cpu_time().saturating_sub(cpu_start));
    }

    /// Works until a batch is there.
    pub(crate) fn work_for(
        &self,
        number: usize,
        worker: &mut Workers,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<RecordBatch>> {
        let mut last_asked = Instant::now();
        let mut ask = || {
            if last_asked.elapsed() > PATIENCE {
                last_asked = Instant::now();
                if interrupted() {
                    self.fail(Error::Cancelled);
                }
            }
        };
        loop {
            ask();
            let step = {
                let mut state = self.lock();
                if let Some(error) = state.error.take() {
                    return Err(error);
                }
                if let Some(ready) = state.ready.remove(&number) {
                    state.n_delivered += 1;
                    drop(state);
                    self.changed.notify_all();
                    return Ok(Some(self.deliver(ready)));
                }
                if number >= self.context.plan.batches.len() {
                    return Ok(None);
                }
                let step = self.next_step(&mut state);
                if matches!(step, Step::Wait) {
                    let start = Instant::now();
                    drop(self.changed.wait_timeout(state, PATIENCE));
                    add_ns(&self.context.counters.wait_ns, start.elapsed());
                    continue;
                }
                step
            };
            match step {
                Step::Stop => return Err(Error::Cancelled),
                step => self.take_step(step, worker, &mut || {
                    ask();
                    self.lock().is_stopped
                }),
            }
        }
    }

    fn deliver(&self, ready: Ready) -> RecordBatch {
        let counters = &self.context.counters;
        counters.n_batches.fetch_add(1, Ordering::Relaxed);
        counters.n_entries.fetch_add(ready.batch.num_rows() as u64, Ordering::Relaxed);
        counters.values_bytes.fetch_add(ready.values_bytes, Ordering::Relaxed);
        self.context.held.release(ready.held_bytes);
        ready.batch
    }

    fn next_step(&self, state: &mut State) -> Step {
        if state.is_stopped {
            return Step::Stop;
        }
        // Windows first: the next one is to be there when this one is done.
        let n_held = self.fetcher.as_ref().map_or(0, Fetcher::n_held);
        let n_open = self.context.held.windows.load(Ordering::Relaxed).saturating_sub(n_held);
        let has_room = n_open < self.max_windows;
        let may_begin = state.n_begun - state.n_delivered < self.max_batches;
        let is_due = has_room || state.tasks.is_empty();
        if is_due
            && !state.is_all_placed
            && state.placer.as_ref().is_some_and(|placer| may_begin || !placer.begins_batch())
            && (self.max_windows > 1 || state.tasks.is_empty())
            && state.placer.as_ref().is_some_and(|placer| self.is_fetched(placer))
            && let Some(placer) = state.placer.take()
        {
            if placer.begins_batch() {
                state.n_begun += 1;
            }
            return Step::Place(Box::new(placer));
        }
        match state.tasks.pop_front() {
            Some(task) => Step::Decode(Box::new(task)),
            None => Step::Wait,
        }
    }

    /// Whether the next window can be placed without waiting for it.
    fn is_fetched(&self, placer: &Placer) -> bool {
        match (&self.fetcher, placer.next_window(&self.context.plan)) {
            (Some(fetcher), Some(number)) => fetcher.want(number),
            _ => true,
        }
    }

    /// `is_stopped` is asked where a step may take long.
    fn take_step(&self, step: Step, worker: &mut Workers, is_stopped: &mut dyn FnMut() -> bool) {
        match step {
            Step::Decode(task) => self.decode(*task, worker),
            Step::Place(placer) => self.place(*placer, worker, is_stopped),
            Step::Wait | Step::Stop => {}
        }
    }

    fn decode(&self, task: Task, worker: &mut Workers) {
        let column = &self.context.plan.columns[task.column()];
        let batch = task.batch();
        match worker.run(task, &self.context) {
            Ok(true) => self.close(batch),
            Ok(false) => {}
            Err(error) => self.fail(format_error(self.context.source.as_ref(), &column.path, error)),
        }
    }

    fn place(&self, mut placer: Placer, worker: &mut Workers, is_stopped: &mut dyn FnMut() -> bool) {
        let mut emit = |tasks: Vec<Task>| {
            self.lock().tasks.extend(tasks);
            self.changed.notify_all();
        };
        let mut drain = |open: &AtomicUsize| self.drain(open, worker);
        let next = placer.next_window(&self.context.plan);
        let fetched = match (&self.fetcher, next) {
            (Some(fetcher), Some(number)) => fetcher.take(number),
            _ => Ok(None),
        };
        let placed =
            fetched.and_then(|fetched| placer.advance(&self.context, fetched, &mut emit, &mut drain, is_stopped));
        let mut state = self.lock();
        state.placer = Some(placer);
        let mut closed = None;
        match placed {
            Ok(Placed::Window) => {}
            Ok(Placed::Batch(builder)) => {
                closed = Some(builder.number());
                state.closing.push(builder);
            }
            Ok(Placed::End) => state.is_all_placed = true,
            Err(error) => {
                drop(state);
                return self.fail(error);
            }
        }
        drop(state);
        self.changed.notify_all();
        if let Some(batch) = closed {
            self.close(batch);
        }
    }

    /// Decodes until nobody writes to a batch any more.
    fn drain(&self, open: &AtomicUsize, worker: &mut Workers) -> Result<()> {
        while open.load(Ordering::Acquire) > 0 {
            let mut state = self.lock();
            if state.is_stopped {
                return Err(Error::Cancelled);
            }
            match state.tasks.pop_front() {
                Some(task) => {
                    drop(state);
                    self.decode(task, worker);
                }
                None => drop(self.changed.wait_timeout(state, Duration::from_millis(1))),
            }
        }
        Ok(())
    }

    /// Makes a batch if all of it is placed and done.
    fn close(&self, number: usize) {
        let builder = {
            let mut state = self.lock();
            let place = state
                .closing
                .iter()
                .position(|builder| builder.number() == number && builder.open().load(Ordering::Acquire) == 0);
            match place {
                Some(place) => state.closing.swap_remove(place),
                None => return,
            }
        };
        let held_bytes = builder.held_bytes();
        match builder.finish(&self.context) {
            Ok((batch, values_bytes)) => {
                self.lock().ready.insert(number, Ready { batch, values_bytes, held_bytes });
                self.changed.notify_all();
            }
            Err(error) => self.fail(error),
        }
    }
}
