//! Clocks of processors, and memory, over time.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use arrowroot_writer::FileWriter;
use rustix::time::{ClockId, clock_gettime};

/// Bytes of a page of the kernels that this runs on.
const PAGE_BYTES: u64 = 4096;

/// CPU time of this thread, in ns.
pub(crate) fn thread_ns() -> u64 {
    cpu_ns(ClockId::ThreadCPUTime)
}

/// CPU time of the process, all threads, in ns.
pub(crate) fn process_ns() -> u64 {
    cpu_ns(ClockId::ProcessCPUTime)
}

fn cpu_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Uses a core until so much of this thread's time has passed since `started_ns`.
pub(crate) fn spin_since(started_ns: u64, length_ns: u64) {
    while thread_ns() - started_ns < length_ns {
        std::hint::spin_loop();
    }
}

/// Samples the queue and the memory until it is over, as a list of JSON: ms since the beginning, clusters that wait, tasks that
/// nobody has begun, bytes in the buffers, and bytes of memory of the process.
pub(crate) fn sampled(file: &FileWriter, started: Instant, is_over: &AtomicBool) -> String {
    let mut samples = Vec::new();
    let mut pause = Duration::from_millis(20);
    while !is_over.load(Relaxed) {
        let (n_tasks, n_clusters) = file.queue().n_waiting();
        let (now_ms, n_bytes) = (started.elapsed().as_millis(), file.queue().report().bytes);
        samples.push(format!("[{now_ms}, {n_clusters}, {n_tasks}, {n_bytes}, {}]", rss_bytes()));
        std::thread::sleep(pause);
        if samples.len() % 500 == 0 {
            pause *= 2;
        }
    }
    format!("[{}]", samples.join(", "))
}

fn rss_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * PAGE_BYTES
}

/// The most memory that the process had.
pub(crate) fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kibibytes.unwrap_or_default() * 1024
}
