//! The times of those who fill a table: when they work, write, wait and help.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most intervals of a file that are kept one by one: some 24 MB. Later ones are only summed up.
const MAX_INTERVALS: usize = 1_000_000;
/// A wait of so long is a stall. Source: `stallThreshold` of CMSSW's `StallMonitor`.
const THRESHOLD_NS: u64 = 100_000_000;

/// The doing of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doing {
    /// Its producer works.
    Running,
    /// It takes entries, and sees to what becomes of a full buffer.
    Writing,
    /// It waits for a buffer, or for room in memory.
    Stalled,
    /// It compresses what others filled, as it would wait otherwise.
    Helping,
    /// Its producer waits for data.
    WaitingForData,
}

impl Doing {
    /// All of them, in the order of reports.
    pub const ALL: [Doing; 5] = [Doing::Running, Doing::Writing, Doing::Stalled, Doing::Helping, Doing::WaitingForData];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Doing::Running => "running",
            Doing::Writing => "writing",
            Doing::Stalled => "stalled",
            Doing::Helping => "helping",
            Doing::WaitingForData => "waiting for data",
        }
    }
}

/// A time in which a context did one thing, in ns since the file was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// What.
    pub doing: Doing,
    /// From when.
    pub start_ns: u64,
    /// Until when.
    pub end_ns: u64,
}

/// The sums of a context. Times in ns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextReport {
    /// Its name.
    pub name: String,
    /// The table that it fills.
    pub table: String,
    /// When it was begun, and when it was last heard of.
    pub start_ns: u64,
    /// See `start_ns`.
    pub end_ns: u64,
    /// Fills that took entries.
    pub n_fills: u64,
    /// Entries that were taken.
    pub n_entries: u64,
    /// Time in each kind of [`Doing`], in the order of [`Doing::ALL`].
    pub times_ns: [u64; Doing::ALL.len()],
    /// Fills that had to wait.
    pub n_waits: u64,
    /// The longest of these waits, without helping.
    pub longest_wait_ns: u64,
    /// Waits that were at least as long as the threshold, without helping.
    pub n_stalls: u64,
    /// How long all of those were.
    pub stalls_ns: u64,
    /// One by one, if they are kept.
    pub intervals: Vec<Interval>,
}

/// The contexts of a file.
#[derive(Debug)]
pub struct Stalls {
    started: Instant,
    threshold_ns: AtomicU64,
    keeps_intervals: AtomicBool,
    n_intervals: AtomicUsize,
    records: Mutex<Vec<Arc<Record>>>,
}

impl Default for Stalls {
    fn default() -> Self {
        Stalls {
            started: Instant::now(),
            threshold_ns: AtomicU64::new(THRESHOLD_NS),
            keeps_intervals: AtomicBool::new(false),
            n_intervals: AtomicUsize::new(0),
            records: Mutex::default(),
        }
    }
}

impl Stalls {
    /// Waits of so long are stalls; 0.1 s if nothing is said. Holds for waits that end later.
    pub fn set_threshold(&self, threshold: Duration) {
        self.threshold_ns.store(nanoseconds(threshold), Relaxed);
    }

    /// The time from which on a wait is a stall, in ns.
    pub fn threshold_ns(&self) -> u64 {
        self.threshold_ns.load(Relaxed)
    }

    /// Has it keep, from now on, what each context does when: the first million of intervals.
    pub fn keep_intervals(&self) {
        self.keeps_intervals.store(true, Relaxed);
    }

    /// Time since the file was begun, in ns.
    pub fn now_ns(&self) -> u64 {
        nanoseconds(self.started.elapsed())
    }

    /// The contexts in the order in which they began.
    pub fn reports(&self) -> Vec<ContextReport> {
        let records = lock(&self.records).clone();
        records.iter().map(|record| lock(&record.inner).report.clone()).collect()
    }

    /// Intervals that were not kept one by one, as there were too many.
    pub fn n_lost(&self) -> usize {
        self.n_intervals.load(Relaxed).saturating_sub(MAX_INTERVALS)
    }

    /// Begins the record of a context, which begins to run.
    pub(crate) fn record(self: &Arc<Self>, table: &str, name: Option<String>) -> Arc<Record> {
        let now_ns = self.now_ns();
        let mut records = lock(&self.records);
        let name = name.unwrap_or_else(|| {
            let n_before = records.iter().filter(|record| record.table == table).count();
            format!("{table}#{n_before}")
        });
        let report = ContextReport {
            name,
            table: table.to_owned(),
            start_ns: now_ns,
            end_ns: now_ns,
            ..ContextReport::default()
        };
        let inner = Mutex::new(Inner { report, wait_ns: 0 });
        let record = Arc::new(Record { stalls: Arc::clone(self), table: table.to_owned(), inner });
        records.push(Arc::clone(&record));
        record
    }

    fn may_keep(&self) -> bool {
        self.keeps_intervals.load(Relaxed) && self.n_intervals.fetch_add(1, Relaxed) < MAX_INTERVALS
    }
}

/// The record of one context.
#[derive(Debug)]
pub(crate) struct Record {
    stalls: Arc<Stalls>,
    table: String,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    report: ContextReport,
    /// The wait that is going on, without helping.
    wait_ns: u64,
}

impl Record {
    /// Notes what the context did since the last time.
    pub(crate) fn mark(&self, doing: Doing) {
        let now_ns = self.stalls.now_ns();
        let mut inner = lock(&self.inner);
        let start_ns = inner.report.end_ns;
        let elapsed_ns = now_ns.saturating_sub(start_ns);
        inner.report.end_ns = now_ns.max(start_ns);
        inner.report.times_ns[doing as usize] += elapsed_ns;
        if doing == Doing::Stalled {
            inner.wait_ns += elapsed_ns;
        }
        if elapsed_ns == 0 {
            return;
        }
        match inner.report.intervals.last_mut() {
            Some(last) if last.doing == doing && last.end_ns == start_ns => last.end_ns = now_ns,
            _ if self.stalls.may_keep() => {
                inner.report.intervals.push(Interval { doing, start_ns, end_ns: now_ns });
            }
            _ => {}
        }
    }

    /// Notes that a wait is over.
    pub(crate) fn waited(&self) {
        let mut inner = lock(&self.inner);
        let wait_ns = std::mem::take(&mut inner.wait_ns);
        let report = &mut inner.report;
        report.n_waits += 1;
        report.longest_wait_ns = report.longest_wait_ns.max(wait_ns);
        if wait_ns >= self.stalls.threshold_ns() {
            report.n_stalls += 1;
            report.stalls_ns += wait_ns;
        }
    }

    /// Notes that a fill took so many entries.
    pub(crate) fn filled(&self, n_entries: u64) {
        let mut inner = lock(&self.inner);
        inner.report.n_fills += 1;
        inner.report.n_entries += n_entries;
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counters are whole after each step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_and_waits_count_from_the_threshold_on() {
        let stalls = Arc::new(Stalls::default());
        stalls.set_threshold(Duration::from_millis(5));
        stalls.keep_intervals();
        let record = stalls.record("Events", None);
        assert_eq!(stalls.record("Events", None).report_name(), "Events#1");
        let pause = |milliseconds| std::thread::sleep(Duration::from_millis(milliseconds));
        record.mark(Doing::Running);
        pause(6);
        record.mark(Doing::Stalled);
        pause(1);
        record.mark(Doing::Helping);
        record.waited();
        record.waited();
        record.filled(7);
        record.mark(Doing::Writing);
        let report = stalls.reports().swap_remove(0);
        assert_eq!((report.n_waits, report.n_stalls, report.n_fills, report.n_entries), (2, 1, 1, 7));
        assert!(report.stalls_ns >= 6_000_000 && report.longest_wait_ns == report.stalls_ns, "{report:?}");
        assert_eq!(report.times_ns.iter().sum::<u64>(), report.end_ns - report.start_ns);
        let ends: Vec<u64> = report.intervals.iter().map(|interval| interval.end_ns).collect();
        let starts: Vec<u64> = report.intervals.iter().map(|interval| interval.start_ns).collect();
        assert_eq!((starts[0], starts[1..].to_vec()), (report.start_ns, ends[..ends.len() - 1].to_vec()));
        assert_eq!(stalls.n_lost(), 0);
    }

    impl Record {
        fn report_name(&self) -> String {
            lock(&self.inner).report.name.clone()
        }
    }
}
