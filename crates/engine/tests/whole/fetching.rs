//! Scans of a store that is far away: windows are fetched ahead, in order, within bounds, and nobody waits without end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrowroot::storage::{AccessProfile, Error, Ledgers, MemorySource, Opened, Options, Part, Result, Source};
use arrowroot::{Entries, File, Order, Request, Scan, Table, Tree};

static EVENTS: &[u8] = include_bytes!("../../../../tests/fixtures/events.root");

/// A store that takes its time, notes what it is asked for, and can be told to fail or to stall.
struct FarAway {
    inner: MemorySource,
    profile: AccessProfile,
    delay: Duration,
    asked: Mutex<Vec<Vec<u64>>>,
    n_inside: AtomicUsize,
    most_inside: AtomicUsize,
    fails_from: AtomicUsize,
    stalls: AtomicBool,
}

impl FarAway {
    fn new(delay: Duration) -> Arc<Self> {
        Self::of(EVENTS, delay)
    }

    fn of(content: &'static [u8], delay: Duration) -> Arc<Self> {
        let profile = AccessProfile {
            is_remote: true,
            latency: Duration::from_millis(5),
            bytes_per_second: 1e7,
            max_parallel: 8,
            max_ranges: 1024,
        };
        Self::like(profile, content, delay)
    }

    fn like(profile: AccessProfile, content: &'static [u8], delay: Duration) -> Arc<Self> {
        Arc::new(FarAway {
            inner: MemorySource::new("far://events.root", content),
            profile,
            delay,
            asked: Mutex::default(),
            n_inside: AtomicUsize::new(0),
            most_inside: AtomicUsize::new(0),
            fails_from: AtomicUsize::new(usize::MAX),
            stalls: AtomicBool::new(false),
        })
    }

    fn read(&self, offsets: Vec<u64>, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let inside = self.n_inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_inside.fetch_max(inside, Ordering::SeqCst);
        let number = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(offsets);
            asked.len() - 1
        };
        std::thread::sleep(self.delay);
        while self.stalls.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.n_inside.fetch_sub(1, Ordering::SeqCst);
        if number >= self.fails_from.load(Ordering::SeqCst) {
            return Err(Error::Connection {
                url: self.url().to_owned(),
                doing: "reading".to_owned(),
                what: "the line was cut".to_owned(),
            });
        }
        work()
    }
}

impl Source for FarAway {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn size_bytes(&self) -> u64 {
        self.inner.size_bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read(vec![offset], || self.inner.read_at(offset, buffer))
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        self.read(parts.iter().map(|part| part.offset).collect(), || self.inner.read_vector(parts))
    }

    fn access_profile(&self) -> AccessProfile {
        self.profile
    }
}

fn tree(source: Arc<dyn Source>, options: &[(&str, &str)]) -> Tree {
    let mut set = Options::default();
    for (name, text) in options {
        set.set(name, text, "test").unwrap();
    }
    Tree::open(
        &File::from_opened(Opened { source, preloaded: Vec::new(), ledgers: Ledgers::default() }, &set).unwrap(),
        "events",
    )
    .unwrap()
}

fn request(tree: &Tree, n_threads: usize) -> Request {
    Request {
        columns: tree.readable().unwrap().into_iter().map(|id| (id.into(), tree.branch_path(id).to_owned())).collect(),
        entries: Entries::Range(0..tree.n_entries()),
        order: Order::Cluster,
        batch_bytes: Some(2000),
        batch_entries: None,
        memory_budget_bytes: 256_000_000,
        n_threads,
        trace: true,
        text: arrowroot::TextForm::Utf8,
        verify_checksums: true,
        raw: false,
    }
}

fn batches(scan: &mut Scan) -> arrowroot::Result<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch(&mut || false)? {
        batches.push(batch);
    }
    Ok(batches)
}

#[test]
fn the_result_does_not_depend_on_how_far_ahead_windows_are_fetched() {
    let local = tree(Arc::new(MemorySource::new("events.root", EVENTS)), &[]);
    let expected = batches(&mut local.scan(&request(&local, 1)).unwrap()).unwrap();
    assert!(expected.len() > 2);
    for ahead in ["0", "1", "3", "100"] {
        for n_threads in [1, 2, 3] {
            let far = tree(FarAway::new(Duration::ZERO), &[("prefetch", ahead), ("cache_size", "1k")]);
            let found = batches(&mut far.scan(&request(&far, n_threads)).unwrap()).unwrap();
            assert_eq!(found, expected, "{ahead} ahead, {n_threads} threads");
        }
    }
}

#[test]
fn class_descriptions_come_with_a_key_list_that_is_far_away() {
    let source = FarAway::new(Duration::ZERO);
    let opened = Opened { source: Arc::clone(&source) as _, preloaded: Vec::new(), ledgers: Ledgers::default() };
    let file = File::from_opened(opened, &Options::default()).unwrap();
    let asked = || source.asked.lock().unwrap().clone();
    let n_before = asked().len();
    file.keys().unwrap();
    let of_keys = asked().split_off(n_before);
    assert!(of_keys.iter().any(|offsets| offsets.contains(&file.header().seek_info)), "{of_keys:?}");
    let n_before = asked().len();
    file.streamer_infos().unwrap();
    assert_eq!(asked().len(), n_before, "one round trip, not two");
}

#[test]
fn so_many_windows_are_under_way_and_no_more() {
    for (ahead, most) in [("1", 1), ("4", 4)] {
        let source = FarAway::new(Duration::from_millis(3));
        let tree = tree(Arc::clone(&source) as _, &[("prefetch", ahead), ("cache_size", "1k")]);
        let mut scan = tree.scan(&request(&tree, 1)).unwrap();
        source.most_inside.store(0, Ordering::SeqCst);
        batches(&mut scan).unwrap();
        assert_eq!(source.most_inside.load(Ordering::SeqCst), most);
    }
}

#[test]
fn a_window_is_one_vector_read() {
    let source = FarAway::new(Duration::ZERO);
    let tree = tree(Arc::clone(&source) as _, &[("prefetch", "0"), ("max_gap", "0")]);
    let mut scan = tree.scan(&request(&tree, 1)).unwrap();
    source.asked.lock().unwrap().clear();
    batches(&mut scan).unwrap();
    let asked = source.asked.lock().unwrap().clone();
    let planned: Vec<Vec<u64>> =
        scan.plan().windows().map(|window| window.spans.iter().map(|span| span.range.start).collect()).collect();
    let planned: Vec<_> = planned.into_iter().filter(|window: &Vec<u64>| !window.is_empty()).collect();
    assert_eq!(asked, planned);
}

#[test]
fn a_read_that_fails_ends_the_scan_with_its_error() {
    for fails_from in [0, 1, 5] {
        let source = FarAway::new(Duration::ZERO);
        let tree = tree(Arc::clone(&source) as _, &[("prefetch", "2"), ("cache_size", "1k")]);
        let mut scan = tree.scan(&request(&tree, 2)).unwrap();
        let before = source.asked.lock().unwrap().len();
        source.fails_from.store(before + fails_from, Ordering::SeqCst);
        let error = batches(&mut scan).unwrap_err().to_string();
        assert!(error.contains("the line was cut"), "{error}");
    }
}

#[test]
fn who_is_interrupted_does_not_wait_for_a_read_that_stalls() {
    let source = FarAway::new(Duration::ZERO);
    let tree = tree(Arc::clone(&source) as _, &[("prefetch", "2")]);
    let mut scan = tree.scan(&request(&tree, 2)).unwrap();
    source.stalls.store(true, Ordering::SeqCst);
    let start = Instant::now();
    let error = scan.next_batch(&mut || start.elapsed() > Duration::from_millis(50)).unwrap_err();
    assert!(matches!(error, arrowroot::Error::Cancelled), "{error}");
    drop(scan);
    let is_stalled = source.stalls.swap(false, Ordering::SeqCst);
    assert!(is_stalled, "the scan came back while its reads were under way");
}

#[test]
fn baskets_that_are_read_one_by_one_are_not_read_on_when_the_scan_was_stopped() {
    let source = FarAway::new(Duration::ZERO);
    let tree = tree(Arc::clone(&source) as _, &[("strategy", "direct")]);
    let mut scan = tree.scan(&Request { batch_bytes: None, ..request(&tree, 2) }).unwrap();
    assert!(scan.plan().windows().any(|window| window.spans.len() > 10), "many reads of a window");
    let n_before = source.asked.lock().unwrap().len();
    source.stalls.store(true, Ordering::SeqCst);
    scan.next_batch(&mut || source.asked.lock().unwrap().len() > n_before).unwrap_err();
    drop(scan);
    source.stalls.store(false, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(source.asked.lock().unwrap().len(), n_before + 1, "the one under way");
}

/// A local file may be slow, too: a disk that seeks, a network file system. Its baskets are read by the threads that decode.
#[test]
fn an_interrupt_comes_between_two_reads_of_a_slow_disk() {
    for (n_threads, strategy) in [(1, "direct"), (2, "direct"), (1, "auto"), (2, "auto")] {
        let source = FarAway::like(AccessProfile::LOCAL, EVENTS, Duration::from_millis(10));
        let tree = tree(Arc::clone(&source) as _, &[("strategy", strategy), ("max_gap", "0"), ("max_span", "1")]);
        let mut scan = tree.scan(&Request { batch_bytes: None, ..request(&tree, n_threads) }).unwrap();
        let n_before = source.asked.lock().unwrap().len();
        let n_reads = || source.asked.lock().unwrap().len() - n_before;
        let error = scan.next_batch(&mut || n_reads() > 0).unwrap_err();
        assert!(matches!(error, arrowroot::Error::Cancelled), "{error}");
        drop(scan);
        // It is asked every 20 ms.
        assert!(n_reads() < 15, "{} reads, {n_threads} threads, {strategy}", n_reads());
    }
}

/// One thread that reads and fifteen that wait for it was most of the time of sixteen.
#[test]
fn the_threads_that_decode_read_windows_of_a_local_file_side_by_side() {
    for (n_threads, most) in [(1, 1..=1), (2, 1..=2), (8, 3..=5)] {
        let source = FarAway::like(AccessProfile::LOCAL, EVENTS, Duration::from_millis(20));
        let tree = tree(Arc::clone(&source) as _, &[("cache_size", "1k")]);
        let mut scan = tree.scan(&request(&tree, n_threads)).unwrap();
        let n_before = source.asked.lock().unwrap().len();
        source.most_inside.store(0, Ordering::SeqCst);
        let found = batches(&mut scan).unwrap();
        assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>() as u64, tree.n_entries());
        assert_eq!(scan.handle().stats().read_calls, (source.asked.lock().unwrap().len() - n_before) as u64);
        let found = source.most_inside.load(Ordering::SeqCst);
        assert!(most.contains(&found), "{found} at a time, {n_threads} threads");
        assert!(scan.handle().stats().n_threads <= arrowroot::storage::n_cores() as u64);
    }
}

/// Threads that find no core rest, and all end with the scan: nobody waits until they look again.
#[test]
fn threads_beyond_the_cores_rest_and_end() {
    // That of this thread and those that it starts.
    let all = rustix::thread::sched_getaffinity(None).unwrap();
    let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|&core| all.is_set(core)).unwrap();
    let mut one = rustix::thread::CpuSet::new();
    one.set(first);
    rustix::thread::sched_setaffinity(None, &one).unwrap();
    let near = tree(Arc::new(MemorySource::new("events.root", EVENTS)), &[]);
    let expected = batches(&mut near.scan(&request(&near, 1)).unwrap()).unwrap();
    for (order, n_threads) in [(Order::Cluster, 16), (Order::Entry, 16), (Order::Cluster, 3)] {
        let source = FarAway::like(AccessProfile::LOCAL, EVENTS, Duration::from_millis(2));
        let tree = tree(Arc::clone(&source) as _, &[("cache_size", "1k")]);
        let ends = (0..5).map(|_| {
            let mut scan = tree.scan(&Request { order, ..request(&tree, n_threads) }).unwrap();
            let mut found = Vec::new();
            loop {
                let begin = Instant::now();
                match scan.next_batch(&mut || false).unwrap() {
                    Some(batch) => found.push(batch),
                    None => {
                        assert_eq!(found, expected, "{order:?}, {n_threads} threads");
                        assert_eq!(scan.handle().stats().n_threads, 1);
                        return begin.elapsed();
                    }
                }
            }
        });
        // Each would take 100 ms.
        let quickest = ends.min().unwrap();
        assert!(quickest < Duration::from_millis(50), "{quickest:?}, {order:?}, {n_threads} threads");
    }
}

#[test]
fn the_records_of_a_file_without_key_list_are_walked_in_few_reads() {
    let far = FarAway::of(&EVENTS[..EVENTS.len() - 1000], Duration::ZERO);
    let source: Arc<dyn Source> = far.clone();
    let file =
        File::from_opened(Opened { source, preloaded: Vec::new(), ledgers: Ledgers::default() }, &Options::default())
            .unwrap();
    assert!(file.was_recovered());
    assert!(!file.keys().unwrap().is_empty());
    let n_windows = EVENTS.len().div_ceil(64 << 10);
    let n_reads = far.asked.lock().unwrap().len();
    assert!(n_reads <= n_windows + 3, "{n_reads} reads for {n_windows} windows");
}

/// Set in a process in which no thread can be started: none gets so large a stack.
const NO_THREADS: (&str, &str) = ("RUST_MIN_STACK", "1000000000000000");

#[test]
fn threads_that_do_not_start_are_an_error_of_their_own_each_time() {
    if std::env::var(NO_THREADS.0).as_deref() != Ok(NO_THREADS.1) {
        let name = "fetching::threads_that_do_not_start_are_an_error_of_their_own_each_time";
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let done = again.args(["--exact", name, "--test-threads=1"]).env(NO_THREADS.0, NO_THREADS.1).output().unwrap();
        let told = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && told.contains("1 passed"), "{told}");
        return;
    }
    let far = tree(FarAway::new(Duration::ZERO), &[]);
    let mut scan = far.scan(&request(&far, 1)).unwrap();
    // More often than it wants threads: none that was not started counts as one that fetches.
    for _ in 0..100 {
        let error = scan.next_batch(&mut || true).unwrap_err();
        assert!(matches!(error, arrowroot::Error::NoThread { .. }), "{error}");
    }
    // Little that takes long is read by the thread that there is.
    let slow = tree(FarAway::like(AccessProfile::LOCAL, EVENTS, Duration::from_millis(1)), &[("cache_size", "1k")]);
    let mut scan = slow.scan(&request(&slow, 2)).unwrap();
    batches(&mut scan).unwrap();
    assert_eq!(scan.handle().stats().n_threads, 1);
    let near = tree(Arc::new(MemorySource::new("events.root", EVENTS)), &[]);
    assert!(near.scan(&request(&near, 1)).unwrap().next_batch(&mut || false).unwrap().is_some());
}
