//! A scan: one pass over columns and entries, as those who asked for it see it.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowroot_storage::{Ledger, ReadEvent, ScanSource};

use crate::error::{Error, Result};
use crate::fetch::{Fetcher, Held};
use crate::logical::{LogicalRead, LogicalReads};
use crate::nested::{self, Nesting};
use crate::ntuple::{self, MemberId, Ntuple};
use crate::place::Context;
use crate::plan::{Plan, Request};
use crate::stats::{Counters, Stats, add_ns, thread_cpu_time};
use crate::threads::{Shared, State};
use crate::tree::Tree;
use crate::work::Workers;

/// More threads than any machine has cores are asked for by mistake.
const MAX_THREADS: usize = 1024;

/// One pass over some columns and entries of a tree.
pub struct Scan {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
    worker: Workers,
    next: usize,
    n_threads: usize,
    is_told: bool,
    n_fetching: usize,
    /// Threads do not survive a fork.
    process: u32,
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
        let is_remote = reading.source.access_profile().is_remote;
        let plan = Plan::new(tree, &request, &reading.style, is_remote)?;
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
        let is_remote = reading.source.access_profile().is_remote;
        let n_ahead = plan.style.n_ahead;
        // The caller's thread never waits for a network: it has signals to look after.
        let fetcher = (is_remote || n_ahead > 0).then(|| Fetcher::new(&plan, n_ahead));
        let context = Context {
            tree,
            plan,
            source: Arc::clone(&reading.source),
            physical: Arc::clone(&reading.physical),
            counters: Counters::default(),
            held: Arc::new(Held::default()),
            text: request.text,
            logical: request.trace.then(|| LogicalReads::new(reading.logical.started())),
        };
        if let Some(pages) = &context.plan.pages {
            pages.count_looked_into(&context);
        }
        // The consumer holds one batch, and batches differ in size.
        let max_batches = request.batch_bytes.map_or(1, |batch_bytes| {
            let fitting = request.moving_budget_bytes() / (batch_bytes.max(1) * 3 / 2).max(1);
            usize::try_from(fitting.saturating_sub(1)).unwrap_or(usize::MAX).clamp(1, 2 * n_threads)
        });
        let shared = Shared {
            context,
            nesting,
            reading,
            moving_budget_bytes: request.moving_budget_bytes(),
            fetcher,
            state: Mutex::new(State::new()),
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
            is_told: false,
            n_fetching: 0,
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
    /// The first error of any thread; [`Error::NoThread`] as long as the system starts none; [`Error::Cancelled`] if
    /// `interrupted` said so or the scan was cancelled.
    pub fn next_batch(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<Option<RecordBatch>> {
        if self.process != std::process::id() {
            return Err(Error::InvalidRequest {
                what: "a scan cannot be continued in a forked process: begin a new one there".to_owned(),
            });
        }
        let start = Instant::now();
        let cpu_start = thread_cpu_time();
        self.begin_fetching()?;
        self.begin_helping()?;
        let result = self.shared.work_for(self.next, &mut self.worker, interrupted);
        let counters = &self.shared.context.counters;
        add_ns(&counters.wall_ns, start.elapsed());
        add_ns(&counters.cpu_ns, thread_cpu_time().saturating_sub(cpu_start));
        let Ok(Some(batch)) = result else { return result };
        self.next += 1;
        match &self.shared.nesting {
            Some(nesting) => nesting.apply(&batch, self.shared.reading.source.url()).map(Some),
            None => Ok(Some(batch)),
        }
    }

    /// Begins to fetch windows of a far-away store before the first batch is asked for; near by it does nothing.
    ///
    /// # Errors
    /// [`Error::NoThread`] if the system starts no more; the next call tries again.
    pub fn begin_fetching(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.is_told, true) && self.shared.reading.wants_announcement() {
            self.shared.reading.announce(&self.plan().wanted(), self.shared.moving_budget_bytes);
        }
        let n_threads = self.shared.fetcher.as_ref().map_or(0, Fetcher::n_threads);
        while self.n_fetching < n_threads {
            let shared = Arc::clone(&self.shared);
            // Nobody waits for its end: it may be in a read that takes until its timeout.
            start_thread(format!("arrowroot-fetch-{}", self.n_fetching), move || shared.fetch())?;
            self.n_fetching += 1;
        }
        Ok(())
    }

    fn begin_helping(&mut self) -> Result<()> {
        while self.helpers.len() + 1 < self.n_threads {
            let shared = Arc::clone(&self.shared);
            let name = format!("arrowroot-{}", self.helpers.len() + 1);
            self.helpers.push(start_thread(name, move || shared.help())?);
        }
        Ok(())
    }

    /// What other threads may know of the scan and do to it while it runs.
    pub fn handle(&self) -> ScanHandle {
        ScanHandle { shared: Arc::clone(&self.shared), n_threads: self.n_threads }
    }
}

fn start_thread(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name).spawn(work).map_err(|source| Error::NoThread { source })
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
        self.shared.reading.source.access_profile().is_remote
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
        let counted = context.counters.snapshot();
        let difference_bytes = reads.bytes.saturating_sub(counted.payload_bytes);
        Stats {
            read_calls: reads.n_reads,
            read_bytes: reads.bytes,
            read_ns: reads.wall_ns,
            overhead_bytes: self.physical().excess_bytes().unwrap_or(difference_bytes),
            decoder_read_ns: if self.shared.fetcher.is_none() { reads.wall_ns } else { 0 },
            n_threads: self.n_threads as u64,
            peak_buffer_bytes: context.held.peak_bytes(),
            ..counted
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
