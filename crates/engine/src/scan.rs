//! A scan: threads that fetch windows, decode baskets and deliver batches in order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowroot_storage::{Ledger, ReadEvent, ScanSource};

use crate::error::{Error, Result};
use crate::fetch::{Fetcher, Held};
use crate::file::format_error;
use crate::logical::{LogicalRead, LogicalReads};
use crate::memory::Scanning;
use crate::nested::{self, Nesting};
use crate::ntuple::{self, MemberId, Ntuple};
use crate::place::{Context, Placed, Placer};
use crate::plan::{Plan, Request};
use crate::stats::{Counters, Stats, add_ns, thread_cpu_time};
use crate::tree::Tree;
use crate::work::{Building, Task, Workers};

/// How long to wait before looking whether the caller wants to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// More threads than any machine has cores are asked for by mistake.
const MAX_THREADS: usize = 1024;

/// One pass over some columns and entries of a tree.
pub struct Scan {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
    worker: Workers,
    next: usize,
    n_threads: usize,
    started: bool,
    is_fetching: bool,
    /// Threads do not survive a fork.
    process: u32,
}

struct Shared {
    context: Context,
    /// How what is read is delivered; `None`: as it is.
    nesting: Option<Nesting>,
    /// What the scan reads through.
    reading: ScanSource,
    memory_budget_bytes: u64,
    /// `None`: the thread that places windows reads them.
    fetcher: Option<Fetcher>,
    state: Mutex<State>,
    changed: Condvar,
    /// Windows that may be in use at a time.
    max_windows: usize,
    /// Batches that may be begun and not delivered.
    max_batches: usize,
}

#[derive(Default)]
struct State {
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

struct Ready {
    batch: RecordBatch,
    values_bytes: u64,
    held_bytes: usize,
}

impl Scan {
    /// Plans a scan of a tree. Nothing is read before the first batch is asked for.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn new(tree: &Tree, request: &Request) -> Result<Scan> {
        let reading = tree.file().stack().scan(request.trace);
        let (request, nesting) = match nested::unnested(tree, request)? {
            Some((request, nesting)) => (request, Some(nesting)),
            None => (request.clone(), None),
        };
        let plan = Plan::new(tree, &request, &reading.style)?;
        Ok(Self::begin(Some(tree.clone()), plan, nesting, reading, &request))
    }

    /// Plans a scan of an RNTuple. `members` take the place of the request's columns. Where batches begin or end inside
    /// clusters, the pages with the ends of lists there are read; nothing else before the first batch is asked for.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for entries that are not there; [`Error::Format`] for fields that cannot be read.
    pub fn of_ntuple(ntuple: &Ntuple, members: &[(MemberId, String)], request: &Request) -> Result<Scan> {
        let reading = ntuple.file().stack().scan(request.trace);
        let plan = ntuple::plan(ntuple, members, request, &reading.style, reading.source.as_ref())?;
        Ok(Self::begin(None, plan, None, reading, request))
    }

    fn begin(tree: Option<Tree>, plan: Plan, nesting: Option<Nesting>, reading: ScanSource, request: &Request) -> Scan {
        let n_threads = match request.n_threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            n_threads => n_threads.min(MAX_THREADS),
        };
        // A basket is the smallest piece of work.
        let n_threads = n_threads.min(usize::try_from(plan.n_baskets()).unwrap_or(usize::MAX)).max(1);
        let is_remote = reading.source.nature().is_remote();
        let n_ahead = plan.style.n_ahead;
        // The caller's thread never waits for a network: it has signals to look after.
        let fetcher = (is_remote || n_ahead > 0).then(|| Fetcher::new(&plan, n_ahead));
        let context = Context {
            tree,
            plan,
            source: Arc::clone(&reading.source),
            counters: Counters::default(),
            held: Arc::new(Held::default()),
            _scanning: Scanning::new(),
            text: request.text,
            logical: request.trace.then(|| LogicalReads::new(reading.logical.started())),
        };
        if let Some(pages) = &context.plan.pages {
            pages.count_looked_into(&context);
        }
        // The consumer holds one batch, and batches differ in size.
        let max_batches = request.batch_bytes.map_or(1, |batch_bytes| {
            let fitting = request.memory_budget_bytes / (batch_bytes.max(1) * 3 / 2).max(1);
            usize::try_from(fitting.saturating_sub(1)).unwrap_or(usize::MAX).clamp(1, 2 * n_threads)
        });
        let state = State { placer: Some(Placer::new()), ..State::default() };
        let shared = Shared {
            context,
            nesting,
            reading,
            memory_budget_bytes: request.memory_budget_bytes,
            fetcher,
            state: Mutex::new(state),
            changed: Condvar::new(),
            max_windows: if n_threads == 1 { 1 } else { 2 },
            max_batches,
        };
        Scan {
            shared: Arc::new(shared),
            helpers: Vec::new(),
            worker: Workers::default(),
            next: 0,
            n_threads,
            started: false,
            is_fetching: false,
            process: std::process::id(),
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.shared.context.plan
    }

    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        self.shared.schema()
    }

    /// The next batch; `None` after the last. The calling thread decodes too.
    ///
    /// `interrupted` is asked about every 20 ms whether to stop.
    ///
    /// # Errors
    /// The first error of any thread; [`Error::Cancelled`] if `interrupted` said so or the scan was cancelled.
    pub fn next_batch(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<Option<RecordBatch>> {
        if self.process != std::process::id() {
            return Err(Error::InvalidRequest {
                what: "a scan cannot be continued in a forked process: begin a new one there".to_owned(),
            });
        }
        let start = Instant::now();
        let cpu_start = thread_cpu_time();
        self.begin_fetching()?;
        if !std::mem::replace(&mut self.started, true) {
            for number in 1..self.n_threads {
                let shared = Arc::clone(&self.shared);
                let helper = std::thread::Builder::new()
                    .name(format!("arrowroot-{number}"))
                    .spawn(move || shared.help())
                    .map_err(|source| Error::OutOfMemory { n_bytes: 0, source })?;
                self.helpers.push(helper);
            }
        }
        let result = self.shared.work_for(self.next, &mut self.worker, interrupted);
        let counters = &self.shared.context.counters;
        add_ns(&counters.wall_ns, start.elapsed());
        add_ns(&counters.cpu_ns, thread_cpu_time().saturating_sub(cpu_start));
        let Some(batch) = result? else { return Ok(None) };
        self.next += 1;
        match &self.shared.nesting {
            Some(nesting) => nesting.apply(&batch, self.shared.reading.source.url()).map(Some),
            None => Ok(Some(batch)),
        }
    }

    /// Begins to fetch windows of a far-away store before the first batch is asked for; near by it does nothing.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the system gives no more threads.
    pub fn begin_fetching(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_fetching, true) {
            return Ok(());
        }
        let (reading, plan) = (&self.shared.reading, self.plan());
        if reading.wants_to_be_told() {
            reading.tell(&plan.wanted(), self.shared.memory_budget_bytes);
        }
        for number in 0..self.shared.fetcher.as_ref().map_or(0, Fetcher::n_threads) {
            let shared = Arc::clone(&self.shared);
            // Nobody waits for its end: it may be in a read that takes until its timeout.
            std::thread::Builder::new()
                .name(format!("arrowroot-fetch-{number}"))
                .spawn(move || shared.fetch())
                .map_err(|source| Error::OutOfMemory { n_bytes: 0, source })?;
        }
        Ok(())
    }

    /// What other threads may know of the scan and do to it while it runs.
    pub fn handle(&self) -> ScanHandle {
        ScanHandle { shared: Arc::clone(&self.shared), n_threads: self.n_threads }
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // The threads are the parent's, and so may be a lock that one of them holds.
            self.helpers.drain(..).for_each(std::mem::forget);
            return;
        }
        self.shared.stop();
        for helper in self.helpers.drain(..) {
            // A helper that panicked has told so through its guard.
            let _ = helper.join();
        }
    }
}

/// A scan as other threads see it: its counters, and a way to stop it.
#[derive(Clone)]
pub struct ScanHandle {
    shared: Arc<Shared>,
    n_threads: usize,
}

impl ScanHandle {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.shared.context.plan
    }

    /// Whether its reads may wait for a network.
    pub fn is_remote(&self) -> bool {
        self.shared.reading.source.nature().is_remote()
    }

    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        self.shared.schema()
    }

    /// Stops the scan: no batch follows. Does nothing after the end.
    pub fn cancel(&self) {
        self.shared.stop();
    }

    /// Counters so far.
    pub fn stats(&self) -> Stats {
        let context = &self.shared.context;
        let reads = self.physical().read_totals();
        Stats {
            read_calls: reads.n_reads,
            read_bytes: reads.bytes,
            read_ns: reads.wall_ns,
            decoder_read_ns: if self.shared.fetcher.is_none() { reads.wall_ns } else { 0 },
            n_threads: self.n_threads as u64,
            peak_buffer_bytes: context.held.peak_bytes(),
            ..context.counters.snapshot()
        }
    }

    fn physical(&self) -> &Ledger {
        &self.shared.reading.physical
    }

    /// What passed each layer boundary so far: the store's first, the engine's last.
    pub fn ledgers(&self) -> &[Arc<Ledger>] {
        &self.shared.reading.ledgers
    }

    /// The reads of the store so far, if the request asked for a trace. Times count from the making of the scan.
    pub fn physical_reads(&self) -> Vec<ReadEvent> {
        self.physical().events()
    }

    /// The baskets needed so far, in this order, if the request asked for a trace.
    pub fn logical_reads(&self) -> Vec<LogicalRead> {
        self.shared.context.logical.as_ref().map(LogicalReads::all).unwrap_or_default()
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
    fn schema(&self) -> &SchemaRef {
        self.nesting.as_ref().map_or_else(|| self.context.plan.schema(), Nesting::schema)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
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
    fn fetch(&self) {
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
    fn help(&self) {
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
                step => self.take_step(step, &mut worker),
            }
        }
        add_ns(&self.context.counters.cpu_ns, thread_cpu_time().saturating_sub(cpu_start));
    }

    /// Works until a batch is there.
    fn work_for(
        &self,
        number: usize,
        worker: &mut Workers,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<RecordBatch>> {
        let mut last_asked = Instant::now();
        loop {
            if last_asked.elapsed() > PATIENCE {
                last_asked = Instant::now();
                if interrupted() {
                    self.fail(Error::Cancelled);
                }
            }
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
                step => self.take_step(step, worker),
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

    fn take_step(&self, step: Step, worker: &mut Workers) {
        match step {
            Step::Decode(task) => self.decode(*task, worker),
            Step::Place(placer) => self.place(*placer, worker),
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

    fn place(&self, mut placer: Placer, worker: &mut Workers) {
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
        let placed = fetched.and_then(|fetched| placer.advance(&self.context, fetched, &mut emit, &mut drain));
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
