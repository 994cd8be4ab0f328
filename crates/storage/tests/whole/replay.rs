//! The simulation asks what the layers ask, and its clock is right.

use std::ops::Range;
use std::time::Duration;

use crate::scratch::{FAR, Scratch, far_away};
use arrowroot_storage::http::Limits;
use arrowroot_storage::simulate::{Disk, Line, LogicalRead, Outcome, Trace, replay};
use arrowroot_storage::testing::content;
use arrowroot_storage::{
    Ledgers, Opened, Operation, Options, Part, Planner, Protocol, ReadEvent, Stack, Strategy, VectorLimits, Wanted,
    clusters_of,
};
use proptest::prelude::*;

const MEMORY_BUDGET_BYTES: u64 = 256_000_000;
/// As many requests at a time as of [`FAR`].
const PLAIN: Protocol = Protocol::Plain { max_parallel: 8 };
const LINE: Line = Line {
    latency: FAR.latency,
    bytes_per_second: FAR.bytes_per_second,
    n_streams: 8,
    interval: Duration::ZERO,
    protocol: PLAIN,
    disk: None,
};
const SLOW: Line = Line {
    latency: Duration::from_millis(5),
    bytes_per_second: 12e6,
    n_streams: 1,
    interval: Duration::ZERO,
    protocol: PLAIN,
    disk: None,
};

/// A scan of some branches, in clusters: each basket of a branch in each cluster, and something else between.
fn trace(n_clusters: u64, n_branches: u32, basket_bytes: u64, gap_bytes: u64, think_ns: u64) -> Trace {
    let mut reads = Vec::new();
    let mut offset = 100;
    for cluster in 0..n_clusters {
        for branch in 0..n_branches {
            reads.push(LogicalRead { offset, n_bytes: basket_bytes, first_entry: cluster * 50, branch, think_ns });
            offset += basket_bytes + gap_bytes;
        }
    }
    Trace { reads, file_bytes: offset + 1000, n_open_requests: 0, kept: Vec::new() }
}

/// A server that answers so many ranges at once.
fn http(n_ranges: usize) -> Protocol {
    Protocol::Http(Limits { n_ranges, n_parallel: 8 })
}

const FEW: VectorLimits = VectorLimits { max_range_bytes: 10_000, max_ranges: 7, max_bytes: 30_000 };

fn options(set: &[(&str, &str)]) -> Options {
    let mut options = Options::default();
    for (name, text) in set {
        options.set(name, text, "test").unwrap();
    }
    options
}

/// What an engine asks the real layers for, and what these ask the store for.
fn really_asked(trace: &Trace, options: &Options, content: &[u8]) -> Vec<Vec<Range<u64>>> {
    let bytes_of = |range: &Range<u64>| {
        content[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()].to_vec()
    };
    let preloaded = trace.kept.iter().map(|range| (range.start, bytes_of(range))).collect();
    let stack =
        Stack::new(Opened { source: far_away(content), preloaded, ledgers: Ledgers::default() }, options).unwrap();
    let scan = stack.scan(true);
    let wanted = trace.wanted();
    scan.announce(&wanted, MEMORY_BUDGET_BYTES);
    let mut planner = Planner::new(scan.style.within(MEMORY_BUDGET_BYTES), &clusters_of(&wanted));
    for window in planner.plan(&wanted) {
        let mut buffers: Vec<(u64, Vec<u8>)> = window
            .spans
            .iter()
            .map(|span| (span.range.start, vec![0; usize::try_from(span.range.end - span.range.start).unwrap()]))
            .collect();
        let mut parts: Vec<Part<'_>> =
            buffers.iter_mut().map(|(offset, buffer)| Part { offset: *offset, buffer }).collect();
        match parts.as_mut_slice() {
            parts if parts.len() > 1 && scan.style.limits.is_some() => scan.source.read_vector(parts).unwrap(),
            parts => parts.iter_mut().for_each(|part| scan.source.read_at(part.offset, part.buffer).unwrap()),
        }
        for (offset, buffer) in &buffers {
            let offset = usize::try_from(*offset).unwrap();
            assert_eq!(buffer.as_slice(), &content[offset..offset + buffer.len()]);
        }
    }
    assert_eq!(scan.ledgers.first().unwrap().layer(), "store");
    assert_eq!(scan.ledgers.last().unwrap().layer(), "engine");
    trace.reads.iter().for_each(|read| scan.physical.need(read.offset, read.n_bytes));
    let said = replay(trace, options, &LINE).unwrap().overhead_bytes;
    scan.physical.excess_bytes().into_iter().for_each(|asked| assert_eq!(asked, said));
    requests_of(&scan.physical.events())
}

fn requests_of(events: &[ReadEvent]) -> Vec<Vec<Range<u64>>> {
    let same = |a: &ReadEvent, b: &ReadEvent| (a.operation, a.request) == (b.operation, b.request);
    let range = |event: &ReadEvent| event.offset..event.offset + event.n_bytes;
    events.chunk_by(same).map(|request| request.iter().map(range).collect()).collect()
}

#[test]
fn the_layers_ask_for_what_the_simulation_says() {
    let nothing_kept = trace(40, 5, 3000, 400, 1000);
    let file_bytes = nothing_kept.file_bytes;
    let content = content(usize::try_from(file_bytes).unwrap());
    // Both ends, as an opening brings them; within baskets, over several of them, in any order.
    let both_ends = Trace { kept: vec![file_bytes - 60_000..file_bytes, 0..5000], ..nothing_kept.clone() };
    let scattered = Trace { kept: vec![20_000..20_100, 100..3100, 50_000..90_000], ..nothing_kept.clone() };
    let everything = Trace { kept: vec![0..60_000, 60_000..file_bytes], ..nothing_kept.clone() };
    for trace in [nothing_kept, both_ends, scattered, everything] {
        check_all_strategies(&trace, &content);
    }
}

fn check_all_strategies(trace: &Trace, content: &[u8]) {
    for (strategy, name) in Strategy::ALL {
        for cache_size in ["2k", "10k", "50k", "1M"] {
            for blocks in [false, true] {
                let scratch = Scratch::new(name);
                let directory = scratch.path().to_str().unwrap();
                let mut set = vec![("strategy", name), ("cache_size", cache_size), ("learn_entries", "60")];
                if blocks {
                    set.push(("block_cache", directory));
                    // Windows that are fetched at the same time may both want the block between them.
                    set.push(("prefetch", if strategy == Strategy::StorageOnly { "1" } else { "0" }));
                }
                let options = options(&set);
                let mut said = replay(trace, &options, &LINE).unwrap().requests;
                let mut asked = really_asked(trace, &options, content);
                if strategy == Strategy::StorageOnly {
                    // Threads that fetch windows may overtake each other.
                    said.sort_by_key(|ranges| ranges[0].start);
                    asked.sort_by_key(|ranges| ranges[0].start);
                }
                assert_eq!(asked, said, "{name} {cache_size} blocks: {blocks} kept: {:?}", trace.kept);
            }
        }
    }
}

#[test]
fn a_block_cache_of_size_0_is_none() {
    let trace = trace(40, 5, 3000, 400, 1000);
    let content = content(usize::try_from(trace.file_bytes).unwrap());
    let scratch = Scratch::new("size-0");
    let blocks = ("block_cache", scratch.path().to_str().unwrap());
    let set = [("strategy", "direct"), blocks, ("block_cache_size", "0")];
    let said = replay(&trace, &options(&set), &LINE).unwrap();
    assert_eq!(said.requests, really_asked(&trace, &options(&set), &content));
    assert_eq!(said, replay(&trace, &options(&set[..1]), &LINE).unwrap());
    assert_ne!(said, replay(&trace, &options(&set[..2]), &LINE).unwrap());
}

/// 5 ms a read and 12 MB/s: the model of the CMS page.
#[test]
fn direct_reads_take_a_latency_each_and_their_bytes() {
    let trace = Trace { n_open_requests: 3, ..trace(100, 10, 12_000, 77, 2_000_000) };
    let outcome = replay(&trace, &options(&[("strategy", "direct")]), &SLOW).unwrap();
    let (n_reads, n_bytes) = (1000, 12_000_000_u64);
    assert_eq!((outcome.n_requests, outcome.n_ranges), (n_reads + 3, n_reads + 3));
    assert_eq!((outcome.read_bytes, outcome.payload_bytes), (n_bytes, n_bytes));
    // 1003 latencies, one second of bytes, two of thinking.
    assert!(outcome.wall_ns.abs_diff(1003 * 5_000_000 + 1_000_000_000 + 2_000_000_000) < 1000, "{}", outcome.wall_ns);
    assert_eq!(outcome.think_ns, 2_000_000_000);
    assert_eq!(outcome.wait_ns, outcome.wall_ns - outcome.think_ns);
    // As many as fit in 2 MiB are read before they are decoded.
    assert_eq!(outcome.peak_buffer_bytes, 174 * 12_000);
}

#[test]
fn fetching_ahead_hides_the_shorter_of_line_and_decoder() {
    // 10 windows of 120 kB: 10 ms of line each.
    let seconds = |think_ms: u64, prefetch: &str| {
        let trace = trace(10, 1, 120_000, 0, think_ms * 1_000_000);
        let options = options(&[("cache_size", "120000"), ("prefetch", prefetch), ("max_gap", "0")]);
        let outcome = replay(&trace, &options, &Line { n_streams: 16, ..SLOW }).unwrap();
        assert_eq!(outcome.n_requests, 10);
        outcome.wall_ns as f64 / 1e9
    };
    // Nothing ahead: 15 ms for each window, and the work.
    assert!((seconds(10, "0") - 10.0 * 0.025).abs() < 1e-6);
    // All at once: they share the line, come together, and are decoded then.
    assert!((seconds(1, "10") - (0.005 + 0.1 + 0.01)).abs() < 1e-6, "{}", seconds(1, "10"));
    // The decoder is: it waits for the first window, which shares the line with those after it.
    assert!((seconds(100, "4") - (0.005 + 0.04 + 1.0)).abs() < 1e-6, "{}", seconds(100, "4"));
    // One ahead in one thread: windows come one after the other, each with its latency.
    assert!((seconds(1, "1") - (10.0 * 0.015 + 0.001)).abs() < 1e-6, "{}", seconds(1, "1"));
}

#[test]
fn a_tree_cache_makes_one_request_for_each_cluster_window_and_auto_fewer() {
    let trace = trace(100, 20, 10_000, 1000, 10_000);
    let n_requests = |set: &[(&str, &str)]| replay(&trace, &options(set), &LINE).unwrap().n_requests;
    assert_eq!(n_requests(&[("strategy", "direct")]), 2000);
    // Two clusters while it learns, then one for each cluster of 200 kB.
    let tree_cache = [("strategy", "treecache"), ("cache_size", "200000")];
    assert_eq!(n_requests(&tree_cache), 1 + 98 + 1);
    assert_eq!(n_requests(&[tree_cache[0], tree_cache[1], ("learn_entries", "0")]), 100);
    // 20 MB in windows of several MB, the first ones smaller.
    assert!(n_requests(&[]) <= 10, "{}", n_requests(&[]));
}

#[test]
fn a_window_of_readahead_reads_what_lies_between() {
    let trace = trace(100, 1, 1000, 9000, 0);
    let outcome =
        |size: &str| replay(&trace, &options(&[("strategy", "readahead"), ("cache_size", size)]), &SLOW).unwrap();
    // Smaller than the reads: they pass. As large: one each. Ten of them in a window; all in one.
    assert_eq!((outcome("999").n_requests, outcome("999").read_bytes), (100, 100_000));
    assert_eq!((outcome("1000").n_requests, outcome("1000").read_bytes), (100, 100_000));
    assert_eq!(outcome("100000").n_requests, 10);
    assert_eq!(outcome("10000000").n_requests, 1);
    assert_eq!(outcome("10000000").read_bytes, trace.file_bytes - 100);
    assert_eq!(outcome("100000").peak_buffer_bytes, 200_000, "the window, and what is decoded");
}

#[test]
fn lazy_download_reads_whole_segments_once() {
    let mut trace = trace(100, 1, 1000, 99_000, 0);
    trace.reads.extend(trace.reads.clone());
    let outcome = replay(&trace, &options(&[("strategy", "lazy-download"), ("cache_size", "1M")]), &SLOW).unwrap();
    assert_eq!((outcome.n_requests, outcome.read_bytes), (10, trace.file_bytes));
    assert!(outcome.payload_bytes == 200_000);
}

#[test]
fn a_store_of_few_ranges_gets_more_requests() {
    let trace = trace(1, 100, 1000, 1000, 0);
    let options = options(&[("max_gap", "0")]);
    let outcome = |n_ranges| replay(&trace, &options, &Line { protocol: http(n_ranges), ..LINE }).unwrap();
    assert_eq!((outcome(200).n_requests, outcome(200).n_ranges), (1, 100));
    assert_eq!((outcome(30).n_requests, outcome(30).n_ranges), (4, 100));
    assert_eq!((outcome(1).n_requests, outcome(1).n_ranges), (100, 100));
}

/// The streams of the line carry requests; how reads are cut is the store's own.
#[test]
fn what_is_large_is_cut_as_the_store_does_whatever_the_streams() {
    let mib = 1 << 20;
    let trace = trace(2, 1, 32 * mib, mib, 0);
    let n_requests = |strategy: &str, protocol, n_streams| {
        let options = options(&[("strategy", strategy), ("cache_size", "128M")]);
        replay(&trace, &options, &Line { protocol, n_streams, ..LINE }).unwrap().n_requests
    };
    let xrootd = Protocol::Xrootd(VectorLimits { max_range_bytes: 2 << 20, max_ranges: 1024, max_bytes: 32 << 20 });
    for n_streams in [1, 3, 64] {
        assert_eq!(n_requests("direct", PLAIN, n_streams), 2);
        // Each is shared among eight connections, or read in pieces of 8 MiB.
        assert_eq!(n_requests("direct", http(200), n_streams), 16);
        assert_eq!(n_requests("direct", xrootd, n_streams), 8);
        assert_eq!(n_requests("treecache", http(1), n_streams), n_requests("treecache", http(1), 1));
    }
}

#[test]
fn a_trace_of_more_requests_than_memory_has_room_for_is_an_error() {
    // Small to write down, and 256 pieces of XRootD in each of its reads.
    let read = LogicalRead { offset: 0, n_bytes: i32::MAX as u64, first_entry: 0, branch: 0, think_ns: 0 };
    let trace = Trace { reads: vec![read; 20_000], file_bytes: 1 << 31, ..Trace::default() };
    let xrootd = Line { protocol: Protocol::Xrootd(FEW), ..LINE };
    let error = replay(&trace, &options(&[("strategy", "direct")]), &xrootd).unwrap_err();
    assert!(error.to_string().contains("requests"), "{error}");
    // A file that is larger than any, read at once.
    let trace = Trace { reads: vec![read], file_bytes: 1 << 53, ..Trace::default() };
    let options = options(&[("strategy", "readahead"), ("cache_size", "1125899906842624")]);
    replay(&trace, &options, &xrootd).unwrap_err();
}

#[test]
fn traces_and_lines_that_make_no_sense_are_errors() {
    let good = trace(1, 1, 10, 0, 0);
    for file_bytes in [0, 105, u64::MAX] {
        replay(&Trace { file_bytes, ..good.clone() }, &options(&[]), &LINE).unwrap_err();
    }
    for bytes_per_second in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        replay(&good, &options(&[]), &Line { bytes_per_second, ..LINE }).unwrap_err();
    }
    replay(&good, &options(&[]), &Line { n_streams: 0, ..LINE }).unwrap_err();
    let empty = replay(&Trace::default(), &options(&[]), &LINE).unwrap();
    assert_eq!(empty, Outcome::default());
}

/// Time of the processor that this thread had.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap())
}

#[test]
fn a_hundred_thousand_reads_take_milliseconds_of_the_processor() {
    let trace = trace(1000, 100, 3000, 500, 1000);
    for (_, name) in Strategy::ALL {
        let options = options(&[("strategy", name)]);
        let best = (0..3)
            .map(|_| {
                let start = processor_time();
                replay(&trace, &options, &LINE).unwrap();
                processor_time() - start
            })
            .min()
            .unwrap();
        println!("{name}: {best:?}");
        assert!(best < Duration::from_secs(1), "{name}: {best:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever the stack: no time is lost or won that the line does not explain, and it is the same each time.
    #[test]
    fn virtual_time_is_bounded_by_the_line(
        reads in prop::collection::vec((0_u64..1_000_000, 1_u64..20_000, 0_u32..5, 0_u64..3_000_000), 1..80),
        strategy in prop::sample::select(Strategy::ALL.to_vec()),
        cache_size in prop::sample::select(vec!["1k", "30k", "1M"]),
        n_streams in 1_usize..9,
        protocol in prop::sample::select(vec![http(1), http(7), PLAIN, Protocol::Xrootd(FEW)]),
    ) {
        let reads: Vec<_> = reads.iter().enumerate().map(|(index, &(offset, n_bytes, branch, think_ns))| {
            LogicalRead { offset, n_bytes, first_entry: index as u64 / 5 * 10, branch, think_ns }
        }).collect();
        let trace = Trace { reads, file_bytes: 1_020_000, n_open_requests: 2, kept: Vec::new() };
        let options = options(&[("strategy", strategy.1), ("cache_size", cache_size)]);
        let line = Line { n_streams, protocol, ..LINE };
        let outcome = replay(&trace, &options, &line).unwrap();
        prop_assert_eq!(&outcome, &replay(&trace, &options, &line).unwrap());
        let bytes_ns = outcome.read_bytes as f64 * 10.0;
        let requests_ns = outcome.n_requests as f64 * 50e6;
        let think_ns = outcome.think_ns as f64;
        let wall_ns = outcome.wall_ns as f64;
        // Everything in turn is the longest way; the shortest is everything at once on all streams.
        prop_assert!(wall_ns <= bytes_ns + requests_ns + think_ns + 1000.0);
        let shortest_ns = think_ns.max(bytes_ns).max(100e6 + (outcome.n_requests - 2) as f64 * 50e6 / n_streams as f64);
        prop_assert!(wall_ns + 1000.0 >= shortest_ns);
        let ranges: Vec<_> = outcome.requests.iter().flatten().cloned().collect();
        for read in &trace.reads {
            // What is needed was read: in pieces, where a layer cuts it.
            let mut missing = read.offset;
            while let Some(range) = ranges.iter().filter(|range| range.contains(&missing)).max_by_key(|range| range.end) {
                missing = range.end;
            }
            prop_assert!(missing >= read.offset + read.n_bytes);
        }
    }

    /// Whatever the stack, and whatever is read through it: the bytes are those of the file.
    #[test]
    fn content_is_right_under_every_stack(
        reads in prop::collection::vec(prop::collection::vec((0_usize..300_000, 0_usize..20_000), 1..5), 1..12),
        strategy in prop::sample::select(Strategy::ALL.to_vec()),
        cache_bytes in prop::sample::select(vec![1_u64, 3000, 9000, 1_000_000]),
        has_blocks in any::<bool>(),
        told in prop::collection::vec((0_u64..300_000, 0_u64..20_000), 0..8),
    ) {
        let content = content(320_000);
        let scratch = Scratch::new("property");
        let options = Options {
            strategy: strategy.0,
            cache_bytes: Some(cache_bytes),
            block_cache: has_blocks.then(|| scratch.path().to_owned()),
            ..Options::default()
        };
        let stack = Stack::new(Opened { source: far_away(&content), preloaded: Vec::new(), ledgers: Ledgers::default() }, &options).unwrap();
        let scan = stack.scan(false);
        let told: Vec<_> = told.iter().map(|&(start, n)| Wanted { range: start..start + n, first_entry: 0, branch: 0, is_fetched: true }).collect();
        scan.announce(&told, 1 << 20);
        for read in reads {
            let mut buffers: Vec<_> = read.iter().map(|&(start, n)| (start, vec![0_u8; n])).collect();
            let mut parts: Vec<_> = buffers.iter_mut().map(|(start, buffer)| Part { offset: *start as u64, buffer }).collect();
            scan.source.read_vector(&mut parts).unwrap();
            for (start, buffer) in buffers {
                prop_assert_eq!(&content[start..start + buffer.len()], buffer.as_slice());
            }
        }
    }
}

#[test]
fn ledgers_read_as_the_stack_does() {
    let trace = trace(10, 2, 3000, 400, 0);
    let content = content(usize::try_from(trace.file_bytes).unwrap());
    let scratch = Scratch::new("ledgers");
    let blocks = ("block_cache", scratch.path().to_str().unwrap());
    let layers = |set: &[(&str, &str)]| {
        let stack = Stack::new(
            Opened { source: far_away(&content), preloaded: Vec::new(), ledgers: Ledgers::default() },
            &options(set),
        )
        .unwrap();
        let scan = stack.scan(false);
        scan.announce(&trace.wanted(), MEMORY_BUDGET_BYTES);
        for read in &trace.reads {
            scan.source.read_at(read.offset, &mut vec![0; usize::try_from(read.n_bytes).unwrap()]).unwrap();
        }
        let describe = |operation: Operation, name: &str, ledger: &arrowroot_storage::Ledger| {
            let n = ledger.totals(operation).n_successful;
            if n == 0 { String::new() } else { format!(" {n} {name}") }
        };
        let line = |ledger: &std::sync::Arc<arrowroot_storage::Ledger>| {
            let text: String =
                Operation::ALL.iter().map(|&operation| describe(operation, operation.name(), ledger)).collect();
            format!("{}:{text}", ledger.layer())
        };
        scan.ledgers.iter().map(line).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(layers(&[("strategy", "direct")]), "store: 20 read; engine: 20 read");
    assert_eq!(
        layers(&[("strategy", "readahead"), ("cache_size", "1M")]),
        "store: 1 read; readahead: 20 read 19 cache-hit; engine: 20 read"
    );
    assert_eq!(
        layers(&[("strategy", "lazy-download")]),
        "store: 1 read; lazy-download: 20 read 19 cache-hit 1 stage-in; engine: 20 read"
    );
    assert_eq!(
        layers(&[("strategy", "storage-only")]),
        "store: 1 readv; prefetch: 20 read 1 prefetch 20 cache-hit; engine: 20 read"
    );
    // The file is one block. The second time nothing is asked of the store.
    assert_eq!(
        layers(&[("strategy", "direct"), blocks]),
        "store: 1 read; block-cache: 20 read 19 cache-hit 1 stage-in; engine: 20 read"
    );
    assert_eq!(
        layers(&[("strategy", "readahead"), ("cache_size", "1M"), blocks]),
        "store:; block-cache: 1 read 1 cache-hit; readahead: 20 read 19 cache-hit; engine: 20 read"
    );
}

/// A disk with seeks of 10 ms and 100 MB/s.
fn disk(read_ahead_bytes: u64) -> Line {
    Line {
        latency: Duration::from_millis(10),
        bytes_per_second: 100e6,
        n_streams: 1,
        protocol: Protocol::Plain { max_parallel: 1 },
        disk: Some(Disk { read_ahead_bytes, is_cached: false }),
        ..LINE
    }
}

#[test]
fn a_disk_seeks_only_where_the_offset_jumps() {
    let side_by_side = trace(100, 4, 8192, 0, 0);
    let far_apart = trace(100, 4, 8192, 1 << 20, 0);
    let direct = options(&[("strategy", "direct")]);
    let near = replay(&side_by_side, &direct, &disk(0)).unwrap();
    let far = replay(&far_apart, &direct, &disk(0)).unwrap();
    assert_eq!((near.n_requests, near.n_seeks), (400, 1));
    assert_eq!((far.n_requests, far.n_seeks), (400, 400));
    assert!(far.wall_ns > 50 * near.wall_ns);
    // The same requests: only their time differs from that of a network.
    assert_eq!(far.requests, replay(&far_apart, &direct, &LINE).unwrap().requests);
    assert_eq!(replay(&far_apart, &direct, &LINE).unwrap().device_bytes, 0);
}

#[test]
fn a_kernel_that_reads_ahead_hides_the_work_between_reads_that_follow_each_other() {
    let think_ns = 1_000_000;
    let trace = trace(100, 4, 8192, 0, think_ns);
    let direct = options(&[("strategy", "direct")]);
    let (without, with) =
        (replay(&trace, &direct, &disk(0)).unwrap(), replay(&trace, &direct, &disk(128 << 10)).unwrap());
    assert!(with.wait_ns < without.wait_ns / 2, "{} {}", with.wait_ns, without.wait_ns);
    assert!(with.device_bytes <= trace.file_bytes);
}

#[test]
fn a_file_that_was_read_once_costs_no_time() {
    let trace = trace(10, 4, 10_000, 1 << 20, 1000);
    let mut line = disk(128 << 10);
    line.disk = Some(Disk { read_ahead_bytes: 128 << 10, is_cached: true });
    for (strategy, name) in Strategy::ALL {
        let found = replay(&trace, &options(&[("strategy", name)]), &line).unwrap();
        assert_eq!((found.wait_ns, found.device_bytes), (0, 0), "{strategy:?}");
    }
}

#[test]
fn every_strategy_reads_from_a_disk_each_byte_once_at_most() {
    let trace = trace(50, 20, 5000, 3000, 1000);
    for (_, name) in Strategy::ALL {
        for read_ahead in [0, 128 << 10, 16 << 20] {
            let set = options(&[("strategy", name)]);
            let found = replay(&trace, &set, &disk(read_ahead)).unwrap();
            assert!(found.device_bytes <= trace.file_bytes, "{name} {read_ahead}");
            assert!(found.device_bytes >= found.payload_bytes, "{name} {read_ahead}");
            assert!(found.n_seeks >= 1 && found.wait_ns >= 10_000_000, "{name} {read_ahead}");
            assert_eq!(replay(&trace, &set, &disk(read_ahead)).unwrap(), found, "{name} {read_ahead}");
        }
    }
}
