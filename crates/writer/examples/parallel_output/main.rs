//! A framework's output: streams that work on events and hand them to one file. What do they lose by waiting for it?
//!
//! `parallel_output virtual POLICY N_STREAMS N_BUFFERS N_EVENTS SEED` runs the policy alone in virtual time;
//! `parallel_output sleep POLICY N_STREAMS N_BUFFERS N_EVENTS SEED SCALE STALLS` on threads whose work and compression are sleeps,
//! SCALE times as long; `parallel_output real POLICY N_STREAMS N_BUFFERS N_EVENTS SEED SHAPE LAYOUT CODEC FLUSH N_THREADS HELPS
//! WORK_MS BUFFER_MB STALLS OUT` with real events, work and compression; `parallel_output scale N_PRODUCERS N_COLUMNS
//! N_MB CODEC N_THREADS BUFFER_MB SINK` with values that are there before, as fast as they are taken. Each prints one JSON object;
//! STALLS is a file that `arrowroot stalls` draws, or `-`; SINK is `nowhere`, `memory` that is touched before, or a file.
//!
//! The measured time of an event is that of CMS in 2017: 1.36 s, and a buffer of 425 events is compressed for 5 s. Work is drawn
//! from a normal distribution of a tenth of its mean.

use std::error::Error;
use std::fmt::Write as _;

use arrowroot_format::codec::CompressionSetting;
use arrowroot_writer::{ContextReport, ContextSettings, Doing, FileSettings, FileWriter, Order, Policy};

mod clocks;
mod columns;
mod fills;
#[path = "../memory_sink/mod.rs"]
mod memory_sink;
mod real;
mod scale;
mod sleeping;
mod virtual_time;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const EVENT_NS: u64 = 1_360_000_000;
const COMPRESS_NS: u64 = 5_000_000_000;
const BUFFER_EVENTS: u64 = 425;
const STALL_NS: u64 = 100_000_000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["virtual", policy, n_streams, n_buffers, n_events, seed] => {
            let case = Case::of(policy, n_streams, n_buffers, n_events, seed)?;
            println!("{}", virtual_time::Virtual::new(case).run());
            Ok(())
        }
        ["sleep", policy, n_streams, n_buffers, n_events, seed, scale, stalls] => {
            sleeping::sleep(Case::of(policy, n_streams, n_buffers, n_events, seed)?, scale.parse()?, stalls)
        }
        ["real", policy, n_streams, n_buffers, n_events, seed, rest @ ..] => {
            real::run(Case::of(policy, n_streams, n_buffers, n_events, seed)?, rest)
        }
        ["scale", rest @ ..] => scale::run(rest),
        ["fills", rest @ ..] => fills::run(rest),
        _ => Err("parallel_output virtual|sleep|real|scale|fills ...".into()),
    }
}

#[derive(Debug, Clone, Copy)]
struct Case {
    policy: Policy,
    n_streams: usize,
    n_buffers: usize,
    n_events: u64,
    seed: u64,
}

impl Case {
    fn of(policy: &str, n_streams: &str, n_buffers: &str, n_events: &str, seed: &str) -> Result<Case> {
        let policy = match policy {
            "fullest" => Policy::Fullest,
            "fifo" => Policy::Fifo,
            "single" => Policy::Single,
            other => return Err(format!("no policy {other:?}").into()),
        };
        let (n_streams, n_buffers) = (n_streams.parse()?, n_buffers.parse()?);
        Ok(Case { policy, n_streams, n_buffers, n_events: n_events.parse()?, seed: seed.parse()? })
    }

    fn settings(&self, helps: bool) -> ContextSettings {
        ContextSettings { policy: self.policy, n_buffers: self.n_buffers, order: Order::Free, helps }
    }

    fn random(&self, stream: usize) -> Random {
        Random(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (stream as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95))
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Work of about so many ns: the sum of twelve uniform numbers is normal enough.
    fn work_ns(&mut self, mean_ns: u64) -> u64 {
        let sum: u64 = (0..12).map(|_| self.next() >> 44).sum();
        // Sums of 12 numbers below 2^20: their mean is six of these, their standard deviation one.
        let tenth = i128::from(mean_ns) / 10;
        let more = (i128::from(sum) - (6 << 20)) * tenth / (1 << 20);
        u64::try_from((i128::from(mean_ns) + more).max(0)).unwrap_or(mean_ns)
    }
}

fn file_settings(n_threads: usize, codec: i32, buffer_bytes: usize) -> FileSettings {
    let (name, compression) = ("events.root".to_owned(), CompressionSetting(codec));
    FileSettings { name, compression, is_reproducible: true, n_threads, buffer_bytes }
}

fn on_threads(
    n_threads: usize,
    work: &(impl Fn(usize) -> arrowroot_writer::Result<()> + Sync),
) -> arrowroot_writer::Result<()> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|number| scope.spawn(move || work(number))).collect();
        let ended = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(arrowroot_writer::Error::Panicked { what: "a stream".to_owned() }))
        });
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

/// The run as one JSON object. `queue`: its length over time.
fn told(file: &FileWriter, wall_ns: u128, n_events: u64, work_ns: u128, n_fills: &[u64], queue: &str) -> String {
    let reports = file.stalls().reports();
    let sum = |of: fn(&ContextReport) -> u64| reports.iter().map(of).sum::<u64>();
    let time = |doing: Doing| reports.iter().map(|report| report.times_ns[doing as usize]).sum::<u64>();
    let report = file.queue().report();
    format!(
        "{{\"wall_ns\": {wall_ns}, \"n_events\": {n_events}, \"work_ns\": {work_ns}, \"n_stalls\": {}, \"stalls_ns\": {}, \
         \"stalled_ns\": {}, \"helping_ns\": {}, \"writing_ns\": {}, \"running_ns\": {}, \"longest_ns\": {}, \
         \"n_fills\": {n_fills:?}, \"peak_buffer_bytes\": {}, \"n_clusters\": {}, \"task_ns\": {}, \"n_growths\": {}, \
         \"peak_rss_bytes\": {}, \"queue\": {queue}}}",
        sum(|report| report.n_stalls),
        sum(|report| report.stalls_ns),
        time(Doing::Stalled),
        time(Doing::Helping),
        time(Doing::Writing),
        time(Doing::Running),
        reports.iter().map(|report| report.longest_wait_ns).max().unwrap_or_default(),
        report.peak_bytes,
        report.n_placed,
        report.task_ns,
        report.n_growths,
        clocks::peak_rss_bytes(),
    )
}

/// Writes what each stream did when, as `arrowroot stalls` reads it.
fn save_stalls(file: &FileWriter, path: &str) -> Result<()> {
    if path == "-" {
        return Ok(());
    }
    let reports = file.stalls().reports();
    let mut streams = Vec::new();
    let mut intervals = Vec::new();
    for (number, report) in reports.iter().enumerate() {
        let mut times = String::new();
        for (doing, time_ns) in Doing::ALL.into_iter().zip(report.times_ns) {
            let comma = if times.is_empty() { "" } else { ", " };
            write!(times, "{comma}\"{}\": {time_ns}", doing.name())?;
        }
        streams.push(format!(
            "{{\"name\": \"{}\", \"module\": \"{}\", \"start_ns\": {}, \"end_ns\": {}, \"times_ns\": {{{times}}}, \"n_fills\": {}, \
             \"n_entries\": {}, \"n_waits\": {}, \"longest_wait_ns\": {}, \"n_stalls\": {}, \"stalls_ns\": {}}}",
            report.name,
            report.table,
            report.start_ns,
            report.end_ns,
            report.n_fills,
            report.n_entries,
            report.n_waits,
            report.longest_wait_ns,
            report.n_stalls,
            report.stalls_ns
        ));
        intervals.extend(report.intervals.iter().map(|interval| {
            let (start, end) = (interval.start_ns / 1000, interval.end_ns / 1000);
            format!("[{number}, {}, {start}, {}]", interval.doing as usize, end - start)
        }));
    }
    let sum = |of: fn(&ContextReport) -> u64| reports.iter().map(of).sum::<u64>();
    let names: Vec<String> = Doing::ALL.iter().map(|doing| format!("\"{}\"", doing.name())).collect();
    let module = format!(
        "{{\"label\": \"Events\", \"n_stalls\": {}, \"total_ns\": {}, \"longest_ns\": {}, \"n_calls\": {}}}",
        sum(|report| report.n_stalls),
        sum(|report| report.stalls_ns),
        reports.iter().map(|report| report.longest_wait_ns).max().unwrap_or_default(),
        sum(|report| report.n_fills)
    );
    let text = format!(
        "{{\"form\": \"arrowroot.stalls/1\", \"threshold_ns\": {}, \"modules\": [{module}], \"streams\": [{}], \"states\": [{}], \
         \"n_lost_intervals\": {}, \"intervals_us\": [{}]}}\n",
        file.stalls().threshold_ns(),
        streams.join(", "),
        names.join(", "),
        file.stalls().n_lost(),
        intervals.join(", ")
    );
    Ok(std::fs::write(path, text)?)
}
