//! What the threads of a scan share, and what each of them does next: fetch a window, place it, decode, make a batch.

mod placer;
mod steps;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, RecordBatch};
use arrowroot_file::{Error, PooledScratch, Result, format_error};

use super::fetch::Fetcher;
use super::pass::{Building, Pass, Task};
use super::serial::{Guard, Guarded};
use super::stats::add_ns;
use super::view::ScanView;
use crate::clock::thread_cpu_time;
use placer::{Placed, Placer};
use steps::Step;

/// How long to wait before looking whether the caller wants to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// How long a thread rests that finds the processors taken, unless it is called before.
const REST: Duration = Duration::from_millis(100);

/// A caller that is away so long, or a read that takes so long and the processor for less than half of it, has others work
/// meanwhile.
pub(super) const LONG: Duration = Duration::from_millis(1);

/// After a read that waited, so many more are expected to: the system reads ahead, so not all reads of a slow disk wait.
const N_EXPECTED: usize = 8;

/// The caller's thread works so long before others help it, where there is little to read, and between more and more of them:
/// to start one and to wait for its end costs a good part of that. A small file is read by then.
pub(super) const ALONE: Duration = Duration::from_micros(300);

/// What is the same for all kinds of tables.
pub(crate) struct Common {
    pub(crate) view: ScanView,
    /// For windows and batches.
    pub(crate) moving_budget_bytes: u64,
    /// `None`: the thread that places windows reads them.
    pub(crate) fetcher: Option<Fetcher>,
    /// Windows that may be in use at a time, and how many if reads wait.
    pub(crate) max_windows: [usize; 2],
    /// Batches that may be begun and not delivered.
    pub(crate) max_batches: usize,
    /// Threads that may work at a time: more than there are processors take each other's caches. Where reads wait, those that
    /// read are not counted.
    pub(crate) max_working: usize,
    /// The most that have.
    pub(crate) peak_working: AtomicUsize,
    /// The caller was away for long with its last batch.
    pub(crate) caller_is_slow: AtomicBool,
    /// So many more reads of decoding threads are expected to wait for a disk.
    pub(crate) n_waits_expected: AtomicUsize,
}

/// A scan as the threads run it, whatever kind of table it is of.
pub(crate) trait Running: Send + Sync {
    fn common(&self) -> &Common;

    fn common_mut(&mut self) -> &mut Common;

    /// Ends the scan.
    fn stop(&self);

    /// The loop of a fetching thread.
    fn fetch(&self);

    /// The loop of a helping thread.
    fn help(&self);

    /// Works until a batch is there, or until there is work for others and this thread has worked for a while.
    ///
    /// `worked`: how long it has since others began, to which what it does is added; `None`: it asks for no more.
    fn work_for(
        &self,
        number: usize,
        scratch: &mut PooledScratch,
        worked: &mut Option<Duration>,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Worked>;
}

/// The outcome of the work of the caller's thread.
pub(crate) enum Worked {
    Batch(RecordBatch),
    /// It is to have help.
    NeedsHelp,
    /// There are no more batches.
    End,
}

impl Common {
    /// True if reads of decoding threads wait for a disk.
    fn reads_wait(&self) -> bool {
        self.n_waits_expected.load(Ordering::Relaxed) > 0
    }

    /// Makes a read in a decoding thread, and sees whether it waits.
    fn reading<T>(&self, read: impl FnOnce() -> T) -> T {
        let (start, cpu_start) = (Instant::now(), thread_cpu_time());
        let result = read();
        let (wall, cpu) = (start.elapsed(), thread_cpu_time().saturating_sub(cpu_start));
        let is_wait = wall > LONG && wall > 2 * cpu;
        let count_down = |n_expected: usize| if is_wait { Some(N_EXPECTED) } else { n_expected.checked_sub(1) };
        // An error says that none was expected.
        let _ = self.n_waits_expected.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count_down);
        result
    }

    fn max_windows(&self) -> usize {
        self.max_windows[usize::from(self.reads_wait())]
    }

    /// How many threads may begin, of all that were asked for.
    pub(crate) fn n_useful(&self, n_threads: usize) -> usize {
        let n_away = usize::from(self.caller_is_slow.load(Ordering::Relaxed));
        if self.reads_wait() { n_threads } else { n_threads.min(self.max_working + n_away) }
    }
}

/// What the threads of a scan have in common.
pub(crate) struct Run<P: Pass> {
    common: Common,
    pass: P,
    state: Guarded<ScanState<P>>,
}

/// The batches on their way.
struct ScanState<P: Pass> {
    tasks: VecDeque<Task<P::Work>>,
    /// Columns of batches that are decoded: these come before tasks.
    columns: VecDeque<(Arc<Making<P>>, usize)>,
    /// `None` while a thread is placing.
    placer: Option<Box<Placer<P>>>,
    /// Batches all of whose pieces are placed.
    closing: Vec<Building<P::Fill>>,
    ready: BTreeMap<usize, Ready>,
    n_begun: usize,
    n_made: usize,
    n_delivered: usize,
    /// Threads that place, decode or make columns now.
    n_working: usize,
    is_all_placed: bool,
    is_stopped: bool,
    /// The first batch that cannot be made, and why: all before it are delivered.
    failed: Option<(usize, Error)>,
}

/// A batch whose pieces are decoded, while its columns are made.
struct Making<P: Pass> {
    number: usize,
    held_bytes: usize,
    of: MadeOf<P>,
    /// The columns that take time.
    made: Mutex<HashMap<usize, ArrayRef>>,
    /// How many of them are not made.
    n_open: AtomicUsize,
}

/// The source of the columns of a batch.
enum MadeOf<P: Pass> {
    /// Decoded pieces.
    Pieces(P::Sealed),
    /// A batch that was made of these, and the bytes of its values: a composition is delivered.
    Batch(RecordBatch, u64),
}

/// A batch that can be delivered.
struct Ready {
    batch: RecordBatch,
    values_bytes: u64,
    held_bytes: usize,
}

/// Tells the others if a helping thread dies: they would wait for it without end.
struct PanicGuard<'s, P: Pass>(&'s Run<P>);

impl<P: Pass> Drop for PanicGuard<'_, P> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(0, Error::Internal { what: "a decoding thread panicked".to_owned() });
        }
    }
}

impl<P: Pass> Run<P> {
    pub(crate) fn new(common: Common, pass: P) -> Self {
        let state = ScanState {
            tasks: VecDeque::new(),
            columns: VecDeque::new(),
            placer: Some(Box::new(Placer::new())),
            closing: Vec::new(),
            ready: BTreeMap::new(),
            n_begun: 0,
            n_made: 0,
            n_delivered: 0,
            n_working: 0,
            is_all_placed: false,
            is_stopped: false,
            failed: None,
        };
        Run { common, pass, state: Guarded::new(state) }
    }

    fn lock(&self) -> Guard<'_, ScanState<P>> {
        self.state.lock(&self.common.view.counters.lock_ns)
    }

    /// Does tasks until `open` of them are no more.
    fn drain(
        &self,
        open: &AtomicUsize,
        scratch: &mut PooledScratch,
        is_stopped: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        while open.load(Ordering::Acquire) > 0 {
            if is_stopped() {
                return Err(Error::Cancelled);
            }
            let mut state = self.lock();
            match state.tasks.pop_front() {
                Some(task) => {
                    drop(state);
                    self.decode(task, scratch);
                }
                None => state.wait(Duration::from_millis(1)),
            }
        }
        Ok(())
    }

    /// A batch cannot be made, nor any after it; 0: none at all.
    fn fail(&self, batch: usize, error: Error) {
        let mut state = self.lock();
        if state.failed.as_ref().is_none_or(|(first, _)| batch < *first) {
            state.failed = Some((batch, error));
            state.tasks.retain(|task| task.batch < batch);
            state.columns.retain(|(making, _)| making.number < batch);
        }
        state.tell();
        // What comes before is placed.
        if let Some(fetcher) = &self.common.fetcher {
            fetcher.stop();
        }
    }

    fn deliver(&self, ready: Ready) -> RecordBatch {
        let counters = &self.common.view.counters;
        counters.n_batches.fetch_add(1, Ordering::Relaxed);
        counters.n_entries.fetch_add(ready.batch.num_rows() as u64, Ordering::Relaxed);
        counters.values_bytes.fetch_add(ready.values_bytes, Ordering::Relaxed);
        self.common.view.held.release(ready.held_bytes);
        ready.batch
    }

    /// `is_stopped` is asked where a step may take long.
    fn take_step(
        &self,
        (step, is_work): (Step<P>, bool),
        scratch: &mut PooledScratch,
        is_stopped: &mut dyn FnMut() -> bool,
    ) {
        if !is_work {
            // Its processor is free while the read waits.
            self.state.call_one();
        }
        match step {
            Step::Decode(task) => self.decode(task, scratch),
            Step::Column(making, column) => self.make(&making, column),
            Step::Fetch(number) => self.fetch_one(number, is_stopped),
            Step::Place(placer) => self.place(placer, is_stopped),
            Step::Rest | Step::Wait | Step::Stop => {}
        }
    }

    fn decode(&self, task: Task<P::Work>, scratch: &mut PooledScratch) {
        let view = &self.common.view;
        let Task { column, batch, open, logical, work } = task;
        let started = view.logical.as_ref().zip(logical).map(|read| (read, Instant::now()));
        if let Err(error) = self.pass.decode(view, column, work, scratch) {
            return self.fail(batch, format_error(view.source(), &view.plan.columns[column].path, error));
        }
        if let Some(((reads, id), start)) = started {
            reads.add_decode(id, start.elapsed());
        }
        if open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.close(batch);
        }
    }

    fn place(&self, mut placer: Box<Placer<P>>, is_stopped: &mut dyn FnMut() -> bool) {
        let fetched = match (&self.common.fetcher, placer.next_window(&self.common.view)) {
            (Some(fetcher), Some(number)) => fetcher.take(number),
            _ => Ok(None),
        };
        let placed = fetched.and_then(|fetched| placer.advance(self, fetched, is_stopped));
        let mut state = self.lock();
        let batch = placer.batch;
        state.placer = Some(placer);
        let mut closed = None;
        match placed {
            Ok(Placed::Window) => {}
            Ok(Placed::Batch(building)) => {
                closed = Some(building.number);
                state.closing.push(building);
            }
            Ok(Placed::End) => state.is_all_placed = true,
            Err(error) => {
                drop(state);
                return self.fail(batch, error);
            }
        }
        state.tell();
        if let Some(batch) = closed {
            self.close(batch);
        }
    }

    /// Makes a batch if all of it is placed and done.
    fn close(&self, number: usize) {
        let building = {
            let mut state = self.lock();
            let is_done =
                |building: &Building<_>| building.number == number && building.open.load(Ordering::Acquire) == 0;
            match state.closing.iter().position(is_done) {
                Some(index) => state.closing.swap_remove(index),
                None => return,
            }
        };
        let Building { held_bytes, fill, .. } = building;
        let (view, start) = (&self.common.view, Instant::now());
        let sealed = match self.pass.seal(view, number, fill) {
            Ok(sealed) => sealed,
            Err(error) => return self.fail(number, error),
        };
        add_ns(&view.counters.decode_ns, start.elapsed());
        let slow = self.pass.slow_columns(&sealed);
        self.begin_making(number, held_bytes, MadeOf::Pieces(sealed), slow);
    }

    /// Gives the columns of a batch that take time to all threads.
    fn begin_making(&self, number: usize, held_bytes: usize, of: MadeOf<P>, slow: Vec<usize>) {
        let (made, n_open) = (Mutex::default(), AtomicUsize::new(slow.len()));
        let making = Arc::new(Making { number, held_bytes, of, made, n_open });
        if slow.is_empty() {
            return self.join(&making);
        }
        let mut state = self.lock();
        state.columns.extend(slow.into_iter().map(|column| (Arc::clone(&making), column)));
        state.tell();
    }

    /// Makes a column of a batch, and with the last of them the batch.
    fn make(&self, making: &Making<P>, column: usize) {
        let (view, start) = (&self.common.view, Instant::now());
        let made = match (&making.of, &view.composition) {
            (MadeOf::Pieces(sealed), _) => self.pass.column(view, making.number, sealed, column),
            (MadeOf::Batch(batch, _), Some(composition)) => composition.column(batch, column),
            (MadeOf::Batch(batch, _), None) => Ok(Arc::clone(batch.column(column))),
        };
        match made {
            Ok(array) => making.made.lock().unwrap_or_else(PoisonError::into_inner).insert(column, array),
            Err(error) => return self.fail(making.number, error),
        };
        add_ns(&view.counters.decode_ns, start.elapsed());
        if making.n_open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.join(making);
        }
    }

    /// Makes a batch of its columns: to be delivered, or to compose another one of.
    fn join(&self, making: &Making<P>) {
        let Making { number, held_bytes, of, made, .. } = making;
        let (number, held_bytes) = (*number, *held_bytes);
        let made = std::mem::take(&mut *made.lock().unwrap_or_else(PoisonError::into_inner));
        let view = &self.common.view;
        let joined = match (of, &view.composition) {
            (MadeOf::Pieces(sealed), None) => self.pass.join(view, number, sealed, made),
            (MadeOf::Pieces(sealed), Some(composition)) => match self.pass.join(view, number, sealed, made) {
                Ok((batch, values_bytes)) => {
                    let of = MadeOf::Batch(batch, values_bytes);
                    return self.begin_making(number, held_bytes, of, composition.slow_columns());
                }
                Err(error) => Err(error),
            },
            (MadeOf::Batch(batch, values_bytes), Some(composition)) => {
                composition.join(batch, made).map(|batch| (batch, *values_bytes))
            }
            (MadeOf::Batch(batch, values_bytes), None) => Ok((batch.clone(), *values_bytes)),
        };
        match joined {
            Ok((batch, values_bytes)) => {
                let mut state = self.lock();
                state.n_made += 1;
                let is_last = state.n_made == view.plan.batches.len();
                state.ready.insert(number, Ready { batch, values_bytes, held_bytes });
                state.tell();
                if is_last {
                    self.state.call_all();
                }
            }
            Err(error) => self.fail(number, error),
        }
    }

    fn fetch_one(&self, number: usize, is_stopped: &mut dyn FnMut() -> bool) {
        if let Some(fetcher) = &self.common.fetcher {
            self.common.reading(|| fetcher.fetch(number, &self.common.view, is_stopped));
            self.tell();
        }
    }

    /// Wakes all threads: who waits has looked and let go of the lock, so this cannot come in between.
    fn tell(&self) {
        self.lock().tell();
    }

    /// True if placing is to end: the scan does, or the batch would be behind one that cannot be made.
    fn ends_placing(&self) -> bool {
        let state = self.lock();
        state.is_stopped || state.failed.is_some()
    }
}

impl<P: Pass> Running for Run<P> {
    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn stop(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        state.tasks.clear();
        state.columns.clear();
        state.tell();
        self.state.call_all();
        if let Some(fetcher) = &self.common.fetcher {
            fetcher.stop();
        }
    }

    fn fetch(&self) {
        let _guard = PanicGuard(self);
        if let Some(fetcher) = &self.common.fetcher {
            fetcher.run(&self.common.view, &|| self.tell());
        }
    }

    fn help(&self) {
        let _guard = PanicGuard(self);
        let mut scratch = PooledScratch::default();
        let cpu_start = thread_cpu_time();
        let mut has_worked = false;
        loop {
            let step = {
                let mut state = self.lock();
                state.n_working -= usize::from(std::mem::take(&mut has_worked));
                let (step, is_work) = self.next_step(&mut state);
                if matches!(step, Step::Rest | Step::Wait) {
                    if state.n_made == self.common.view.plan.batches.len() {
                        break;
                    }
                    if matches!(step, Step::Rest) {
                        // No lack of windows or room: it is not counted as waiting.
                        state.rest(REST);
                        continue;
                    }
                    let start = Instant::now();
                    state.wait(PATIENCE);
                    add_ns(&self.common.view.counters.wait_ns, start.elapsed());
                    continue;
                }
                has_worked = is_work;
                step
            };
            match step {
                Step::Stop => break,
                step => self.take_step((step, has_worked), &mut scratch, &mut || self.ends_placing()),
            }
        }
        add_ns(&self.common.view.counters.cpu_ns, thread_cpu_time().saturating_sub(cpu_start));
    }

    fn work_for(
        &self,
        number: usize,
        scratch: &mut PooledScratch,
        worked: &mut Option<Duration>,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Worked> {
        let mut last_asked = Instant::now();
        let mut ask = || {
            if last_asked.elapsed() > PATIENCE {
                last_asked = Instant::now();
                if interrupted() {
                    self.fail(0, Error::Cancelled);
                }
            }
        };
        let mut has_worked = false;
        loop {
            ask();
            let step = {
                let mut state = self.lock();
                state.n_working -= usize::from(std::mem::take(&mut has_worked));
                if let Some((_, error)) = state.failed.take_if(|(batch, _)| *batch <= number) {
                    drop(state);
                    self.stop();
                    return Err(error);
                }
                if let Some(ready) = state.ready.remove(&number) {
                    state.n_delivered += 1;
                    state.tell();
                    if self.common.caller_is_slow.load(Ordering::Relaxed) {
                        // Its processor is free while it is away.
                        self.state.call_one();
                    }
                    return Ok(Worked::Batch(self.deliver(ready)));
                }
                if number >= self.common.view.plan.batches.len() {
                    return Ok(Worked::End);
                }
                if worked.is_some_and(|worked| worked >= ALONE) && self.has_work_for_others(&state) {
                    return Ok(Worked::NeedsHelp);
                }
                let (step, is_work) = self.next_step(&mut state);
                if matches!(step, Step::Rest | Step::Wait) {
                    // Its batch wakes it.
                    let start = Instant::now();
                    state.wait(PATIENCE);
                    add_ns(&self.common.view.counters.wait_ns, start.elapsed());
                    continue;
                }
                has_worked = is_work;
                step
            };
            let begin = worked.is_some().then(Instant::now);
            match step {
                Step::Stop => return Err(Error::Cancelled),
                step => self.take_step((step, has_worked), scratch, &mut || {
                    ask();
                    self.ends_placing()
                }),
            }
            if let (Some(worked), Some(begin)) = (worked.as_mut(), begin) {
                *worked += begin.elapsed();
            }
        }
    }
}
