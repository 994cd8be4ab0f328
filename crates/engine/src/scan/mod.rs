//! A scan: one pass over columns and entries, as those who asked for it see it.

mod composition;
mod cut;
mod fetch;
mod keep;
mod logical;
mod pass;
mod payload;
mod plan;
mod request;
mod serial;
mod stats;
mod threads;
mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowroot_file::{Error, PooledScratch, Result, Unverified};
use arrowroot_storage::{Ledger, ReadEvent, ScanSource, n_cores};

use crate::clock::thread_cpu_time;
use crate::memory::HeldMemory;
use fetch::{FetchedBy, Fetcher};
use logical::LogicalReads;
use threads::{ALONE, Common, LONG, Run, Running, Worked};

pub(crate) use composition::{ColumnSource, Composition, Holds};
pub(crate) use cut::{BatchSize, Density, cut_list, cut_range};
pub use keep::Keeping;
pub(crate) use keep::KeptSizes;
pub(crate) use logical::LogicalId;
pub use logical::LogicalRead;
pub(crate) use pass::{Pass, Placing, Window};
pub(crate) use payload::{Payload, PayloadBytes};
pub use plan::{BatchEntries, Piece, Plan, PlannedBatch, PlannedColumn, PlannedPiece, PlannedWindow};
pub(crate) use plan::{Draft, MAX_RATIO, PieceBound};
pub use request::{ColumnId, Entries, Order, Request};
pub use stats::Stats;
pub(crate) use stats::{Counters, add_ns};
pub(crate) use view::ScanView;

/// More threads than any machine has cores are asked for by mistake.
const MAX_THREADS: usize = 1024;
/// So many bytes are worth a thread at once: to unzip them takes about as long.
const BYTES_OF_A_THREAD: u64 = 128 << 10;

/// One pass over some columns and entries of a table.
pub struct Scan {
    shared: Arc<dyn Running>,
    helpers: Vec<JoinHandle<()>>,
    scratch: PooledScratch,
    next: usize,
    n_threads: usize,
    /// Threads that begin at once, the caller's among them.
    n_at_once: usize,
    /// How long the caller's thread has worked since others began; `None`: no more will.
    worked: Option<Duration>,
    is_told: bool,
    n_fetching: usize,
    /// When the caller left with its last batch.
    left: Option<Instant>,
    /// Threads do not survive a fork.
    process: u32,
}

/// Windows of a local file that are in memory beside those that are decoded: half of the threads' number, and no more than a
/// quarter of the memory for all that moves.
fn n_windows(plan: &Plan, n_threads: usize, request: &Request) -> usize {
    let fitting = request.moving_budget_bytes() / 4 / plan.style.window_bytes.max(1);
    (n_threads / 2).min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1)
}

/// Threads of a scan, and how many of them work at a time. A piece is the smallest unit of work.
fn n_threads_for(n_asked: usize, n_pieces: u64, n_cores: usize) -> (usize, usize) {
    let n_threads = if n_asked == 0 { n_cores } else { n_asked.min(MAX_THREADS) };
    let n_threads = n_threads.min(usize::try_from(n_pieces).unwrap_or(usize::MAX)).max(1);
    (n_threads, n_threads.min(n_cores))
}

impl Scan {
    /// A scan of a kind of table. Nothing is read before the first batch is asked for.
    pub(crate) fn new<P: Pass>(pass: P, plan: Plan, reading: ScanSource, request: &Request) -> Scan {
        let (n_threads, max_working) = n_threads_for(request.n_threads, plan.n_pieces(), n_cores());
        let [n_near, n_far] = [max_working, n_threads].map(|n_threads| n_windows(&plan, n_threads, request));
        let by_size = usize::try_from(plan.read_bytes() / BYTES_OF_A_THREAD).unwrap_or(usize::MAX);
        let is_remote = reading.source.access_profile().is_remote;
        let n_ahead = plan.style.n_ahead;
        // The caller's thread never waits for a network: it has signals to look after.
        let fetcher = if is_remote || n_ahead > 0 {
            Some(Fetcher::new(&plan, FetchedBy::Own, n_ahead))
        } else {
            // Whoever asks for the order of entries wants the requests in it.
            let is_side_by_side = n_threads > 1 && request.order != Order::Entry;
            is_side_by_side.then(|| Fetcher::new(&plan, FetchedBy::Decoding { n_near }, n_far))
        };
        let max_windows =
            [(max_working, n_near), (n_threads, n_far)].map(|(n_threads, n)| if n_threads == 1 { 1 } else { n.max(2) });
        let view = ScanView {
            plan,
            counters: Counters::default(),
            held: Arc::new(HeldMemory::default()),
            text: request.text,
            logical: request.trace.then(|| LogicalReads::new(reading.logical.started())),
            unverified: Unverified::default(),
            composition: None,
            reading,
        };
        pass.begin_scan(&view);
        // The consumer holds one batch, and batches differ in size.
        let max_batches = request.batch_bytes.map_or(1, |batch_bytes| {
            let fitting = request.moving_budget_bytes() / (batch_bytes.max(1) * 3 / 2).max(1);
            usize::try_from(fitting.saturating_sub(1)).unwrap_or(usize::MAX).clamp(1, 2 * max_working)
        });
        let common = Common {
            view,
            moving_budget_bytes: request.moving_budget_bytes(),
            fetcher,
            max_windows,
            max_batches,
            max_working,
            peak_working: AtomicUsize::new(1),
            caller_is_slow: AtomicBool::new(false),
            n_waits_expected: AtomicUsize::new(0),
        };
        Scan {
            shared: Arc::new(Run::new(common, pass)),
            helpers: Vec::new(),
            scratch: PooledScratch::default(),
            next: 0,
            n_threads,
            n_at_once: max_working.min(by_size),
            worked: (n_threads > 1).then_some(Duration::ZERO),
            is_told: false,
            n_fetching: 0,
            left: None,
            process: std::process::id(),
        }
    }

    /// The same scan, which puts its batches together in another way. For a scan that nobody else knows of yet.
    pub(crate) fn composed(mut self, composition: Composition) -> Result<Scan> {
        let shared = Arc::get_mut(&mut self.shared);
        let shared = shared.ok_or_else(|| Error::Internal { what: "a scan that others have already".to_owned() })?;
        shared.common_mut().view.composition = Some(composition);
        Ok(self)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.shared.common().view.plan
    }

    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        self.shared.common().view.schema()
    }

    /// The next batch; `None` after the last. The calling thread decodes too; where there is little to read, others begin when
    /// it has done so for a while.
    ///
    /// `interrupted` is asked about every 20 ms whether to stop.
    ///
    /// # Errors
    /// That of the first batch that cannot be made, behind all before it; [`Error::NoThread`] as long as the system starts
    /// none for much that is to be read; [`Error::Cancelled`] if `interrupted` said so or the scan was cancelled.
    pub fn next_batch(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<Option<RecordBatch>> {
        if self.process != std::process::id() {
            return Err(Error::InvalidRequest {
                what: "a scan cannot be continued in a forked process: begin a new one there".to_owned(),
            });
        }
        let start = Instant::now();
        let cpu_start = thread_cpu_time();
        let is_slow = self.left.is_some_and(|left| start.duration_since(left) > LONG);
        self.shared.common().caller_is_slow.store(is_slow, Ordering::Relaxed);
        self.begin_fetching()?;
        self.begin_helping(self.n_at_once)?;
        let result = self.work(interrupted);
        if matches!(result, Ok(None)) {
            // Each tells its CPU time when it ends, which is now: there is nothing left to do.
            self.end_helping();
        }
        let counters = &self.shared.common().view.counters;
        add_ns(&counters.wall_ns, start.elapsed());
        add_ns(&counters.cpu_ns, thread_cpu_time().saturating_sub(cpu_start));
        self.next += usize::from(matches!(result, Ok(Some(_))));
        self.left = Some(Instant::now());
        result
    }

    /// Begins to fetch windows of a far-away store before the first batch is asked for; near by it does nothing.
    ///
    /// # Errors
    /// [`Error::NoThread`] if the system starts no more; the next call tries again.
    pub fn begin_fetching(&mut self) -> Result<()> {
        let common = self.shared.common();
        let reading = &common.view.reading;
        if !std::mem::replace(&mut self.is_told, true) && reading.wants_announcement() {
            reading.announce(&common.view.plan.wanted(), common.moving_budget_bytes);
        }
        let n_threads = common.fetcher.as_ref().map_or(0, Fetcher::n_threads);
        while self.n_fetching < n_threads {
            let shared = Arc::clone(&self.shared);
            // Nobody waits for its end: it may be in a read that takes until its timeout.
            start_thread(format!("arrowroot-fetch-{}", self.n_fetching), move || shared.fetch())?;
            self.n_fetching += 1;
        }
        Ok(())
    }

    fn work(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<Option<RecordBatch>> {
        loop {
            match self.shared.work_for(self.next, &mut self.scratch, &mut self.worked, interrupted)? {
                Worked::Batch(batch) => return Ok(Some(batch)),
                Worked::End => return Ok(None),
                Worked::NeedsHelp => self.get_help(),
            }
        }
    }

    /// Has so many threads decode, the caller's among them.
    fn begin_helping(&mut self, n_threads: usize) -> Result<()> {
        while self.helpers.len() + 1 < n_threads {
            let shared = Arc::clone(&self.shared);
            let name = format!("arrowroot-{}", self.helpers.len() + 1);
            self.helpers.push(start_thread(name, move || shared.help())?);
        }
        Ok(())
    }

    /// Has twice as many threads decode for each while that the caller's has worked: a pause that the system made looks like
    /// work, and few are needed after it.
    fn get_help(&mut self) {
        let n_whiles = self.worked.map_or(0, |worked| worked.as_nanos() / ALONE.as_nanos());
        let n_times = 1 << n_whiles.min(MAX_THREADS.ilog2().into());
        let n_useful = self.shared.common().n_useful(self.n_threads);
        let n_now = n_useful.min(n_times * (self.helpers.len() + 1));
        // The work goes on with those that there are.
        let has_begun = self.begin_helping(n_now).is_ok();
        self.worked = (has_begun && n_now < self.n_threads).then_some(Duration::ZERO);
    }

    fn end_helping(&mut self) {
        for helper in self.helpers.drain(..) {
            // A helper that panicked has told so through its guard.
            let _ = helper.join();
        }
    }

    /// What other threads may know of the scan and do to it while it runs.
    pub fn handle(&self) -> ScanHandle {
        ScanHandle { shared: Arc::clone(&self.shared) }
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
        if self.handle().is_remote() {
            // As for those that fetch, nobody waits: a helper that places may read, too.
            return self.helpers.clear();
        }
        self.end_helping();
    }
}

/// A scan as other threads see it: its counters, and a way to stop it.
#[derive(Clone)]
pub struct ScanHandle {
    shared: Arc<dyn Running>,
}

impl ScanHandle {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.shared.common().view.plan
    }

    /// Whether its reads may wait for a network.
    pub fn is_remote(&self) -> bool {
        self.view().reading.source.access_profile().is_remote
    }

    /// Ranges that its store takes in one request.
    pub fn max_ranges(&self) -> usize {
        self.view().reading.source.access_profile().max_ranges
    }

    /// Bytes that the line could carry while the scan makes its reads: see [`arrowroot_storage::line_bytes`].
    pub fn line_bytes(&self) -> u64 {
        let plan = self.plan();
        let profile = self.view().reading.source.access_profile();
        arrowroot_storage::line_bytes(profile, plan.n_reads(), plan.read_bytes())
    }

    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        self.view().schema()
    }

    /// Stops the scan: no batch follows. Does nothing after the end.
    pub fn cancel(&self) {
        self.shared.stop();
    }

    /// Counters so far.
    pub fn stats(&self) -> Stats {
        let view = self.view();
        let reads = self.physical().read_totals();
        let counted = view.counters.snapshot();
        let difference_bytes = reads.bytes.saturating_sub(counted.payload_bytes);
        Stats {
            read_calls: reads.n_reads,
            read_bytes: reads.bytes,
            read_ns: reads.wall_ns,
            overhead_bytes: self.physical().excess_bytes().unwrap_or(difference_bytes),
            decoder_read_ns: if self.shared.common().fetcher.as_ref().map_or(0, Fetcher::n_threads) == 0 {
                reads.wall_ns
            } else {
                0
            },
            n_threads: self.shared.common().peak_working.load(Ordering::Relaxed) as u64,
            peak_buffer_bytes: view.held.peak_bytes(),
            ..counted
        }
    }

    /// What was damaged in one replica and read from another since this was asked for the last time; of all that is read of
    /// the file.
    pub fn take_mended(&self) -> Vec<String> {
        self.view().reading.afresh.replicas().map_or_else(Vec::new, |replicas| replicas.take_mended())
    }

    fn view(&self) -> &ScanView {
        &self.shared.common().view
    }

    fn physical(&self) -> &Ledger {
        &self.view().reading.physical
    }

    /// What passed each layer boundary so far: the store's first, the engine's last.
    pub fn ledgers(&self) -> &[Arc<Ledger>] {
        &self.view().reading.ledgers
    }

    /// The reads of the store so far, if the request asked for a trace. Times count from the making of the scan.
    pub fn physical_reads(&self) -> Vec<ReadEvent> {
        self.physical().events()
    }

    /// The pieces needed so far, in this order, if the request asked for a trace.
    pub fn logical_reads(&self) -> Vec<LogicalRead> {
        self.view().logical.as_ref().map(LogicalReads::all).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::n_threads_for;

    #[test]
    fn no_thread_is_without_work_and_none_shares_a_core() {
        assert_eq!(n_threads_for(0, 100, 8), (8, 8));
        assert_eq!(n_threads_for(0, 3, 8), (3, 3));
        assert_eq!(n_threads_for(16, 100, 2), (16, 2));
        assert_eq!(n_threads_for(1 << 40, 4, 16), (4, 4));
        assert_eq!(n_threads_for(1 << 40, 1 << 40, 16), (1024, 16));
        assert_eq!(n_threads_for(2, 0, 1), (1, 1));
    }
}
