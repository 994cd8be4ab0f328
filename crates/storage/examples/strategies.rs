//! Prints what limits of merging, windows and numbers of windows ahead cost on lines of several kinds, from the simulation:
//! the figures of `docs/decisions/2026-11-22-strategies.md`.

use std::time::Duration;

use arrowroot_storage::http::Limits;
use arrowroot_storage::simulate::{Line, LogicalRead, Outcome, Trace, replay};
use arrowroot_storage::{Options, Protocol, Result};

/// A file of 200 branches in clusters; baskets of 1 to 60 kB, the same size for a branch in each cluster.
fn trace(n_clusters: u64, n_wanted: u32, percent_of_clusters: u64) -> Trace {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let branches: Vec<(u64, bool)> = (0..200_u32)
        .map(|branch| {
            let least_bytes = 1000 << (next() % 6);
            (least_bytes + next() % least_bytes, (branch * 37) % 200 < n_wanted)
        })
        .collect();
    let mut reads = Vec::new();
    let mut offset = 10_000;
    for cluster in 0..n_clusters {
        let is_read = next() % 100 < percent_of_clusters;
        for (branch, &(n_bytes, is_wanted)) in (0..).zip(&branches) {
            if is_wanted && is_read {
                // Decoding at 1 GB/s of compressed bytes: two threads of a fast codec.
                reads.push(LogicalRead { offset, n_bytes, first_entry: cluster * 1000, branch, think_ns: n_bytes });
            }
            offset += n_bytes;
        }
    }
    Trace { reads, file_bytes: offset + 10_000, n_open_requests: 2, kept: Vec::new() }
}

fn run(trace: &Trace, line: &Line, set: &[(&str, String)]) -> Result<Outcome> {
    let mut options = Options::default();
    for (name, text) in set {
        options.set(name, text, "example")?;
    }
    replay(trace, &options, line)
}

/// Bytes needed at full speed, and four round trips.
fn floor_seconds(trace: &Trace, line: &Line) -> f64 {
    let payload_bytes: u64 = trace.reads.iter().map(|read| read.n_bytes).sum();
    payload_bytes as f64 / line.bytes_per_second + 4.0 * line.latency.as_secs_f64()
}

fn show(what: &str, outcome: &Outcome, floor: f64) {
    let extra = 100.0 * (outcome.read_bytes as f64 / outcome.payload_bytes as f64 - 1.0);
    println!(
        "| {what} | {:.3} | {:.2} | {} | {} | {extra:.1} | {:.1} |",
        outcome.wall_ns as f64 / 1e9,
        outcome.wall_ns as f64 / 1e9 / floor,
        outcome.n_requests,
        outcome.n_ranges,
        outcome.peak_buffer_bytes as f64 / 1e6
    );
}

fn main() -> Result<()> {
    let cases = [
        ("10 of 200 columns", trace(100, 10, 100)),
        ("4 of 200 columns", trace(100, 4, 100)),
        ("100 of 200 columns", trace(20, 100, 100)),
        ("10 columns, 10 % of clusters", trace(1000, 10, 10)),
    ];
    for (latency_ms, bytes_per_second) in [(5, 12e6), (50, 12e6), (5, 1e8), (50, 1e8)] {
        for protocol in [Protocol::Plain { max_parallel: 8 }, Protocol::Http(Limits { n_ranges: 1, n_parallel: 8 })] {
            let max_ranges = protocol.max_ranges();
            let latency = Duration::from_millis(latency_ms);
            let line = Line { latency, bytes_per_second, n_streams: 8, interval: Duration::ZERO, protocol, disk: None };
            for (name, trace) in &cases {
                let floor = floor_seconds(trace, &line);
                println!("\n### {name}, {latency_ms} ms, {} MB/s, {max_ranges} ranges", bytes_per_second / 1e6);
                println!(
                    "| | wall s | of floor | requests | ranges | over-read % | buffers MB |\n|---|---|---|---|---|---|---|"
                );
                for gap in ["0", "512", "4k", "32k", "256k"] {
                    show(&format!("gap {gap}"), &run(trace, &line, &[("max_gap", gap.to_owned())])?, floor);
                }
                for (window, ahead) in [
                    ("1 MiB", "2"),
                    ("2 MiB", "1"),
                    ("2 MiB", "2"),
                    ("2 MiB", "4"),
                    ("2 MiB", "8"),
                    ("8 MiB", "2"),
                    ("16 MiB", "2"),
                ] {
                    let set = [("cache_size", window.to_owned()), ("prefetch", ahead.to_owned())];
                    show(&format!("window {window}, {ahead} ahead"), &run(trace, &line, &set)?, floor);
                }
                for strategy in
                    ["direct", "application-only", "storage-only", "lazy-download", "readahead", "treecache", "auto"]
                {
                    show(strategy, &run(trace, &line, &[("strategy", strategy.to_owned())])?, floor);
                }
            }
        }
    }
    Ok(())
}
