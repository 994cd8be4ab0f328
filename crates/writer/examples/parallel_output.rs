//! A framework's output: streams that work on events and hand them to one file. What do they lose by waiting for it?
//!
//! `parallel_output virtual POLICY N_STREAMS N_BUFFERS N_EVENTS SEED` runs the policy alone in virtual time;
//! `parallel_output sleep POLICY N_STREAMS N_BUFFERS N_EVENTS SEED SCALE STALLS` on threads whose work and compression are sleeps,
//! SCALE times as long; `parallel_output real POLICY N_STREAMS N_BUFFERS N_EVENTS SEED SHAPE LAYOUT CODEC FLUSH N_THREADS HELPS
//! WORK_MS BUFFER_MB STALLS OUT` with real events, work and compression. Each prints one JSON object; STALLS is a file that
//! `arrowroot stalls` draws, or `-`.
//!
//! The measured time of an event is that of CMS in 2017: 1.36 s, and a buffer of 425 events is compressed for 5 s. Work is drawn
//! from a normal distribution of a tenth of its mean.

use std::collections::BinaryHeap;
use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float32Array, Int64Array, ListArray, RecordBatch};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use arrowroot_format::codec::{CompressionSetting, Compressor};
use arrowroot_storage::{LocalSink, MemoryFile, MemorySink, Sink};
use arrowroot_writer::contexts::policy::Buffers;
use arrowroot_writer::{
    Appender, Cluster, ContextReport, ContextSettings, Doing, EncodeTask, Encoded, FileSettings, FileWriter, Flush,
    Format, Order, Policy, ROOT_DIRECTORY, TableFormat, TableSettings, TableWriter,
};

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
            println!("{}", Virtual::new(case).run());
            Ok(())
        }
        ["sleep", policy, n_streams, n_buffers, n_events, seed, scale, stalls] => {
            sleep(Case::of(policy, n_streams, n_buffers, n_events, seed)?, scale.parse()?, stalls)
        }
        ["real", policy, n_streams, n_buffers, n_events, seed, rest @ ..] => {
            real(Case::of(policy, n_streams, n_buffers, n_events, seed)?, rest)
        }
        _ => Err("parallel_output virtual|sleep|real ...".into()),
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

/// Streams in virtual time: the next to do something first.
struct Virtual {
    case: Case,
    buffers: Buffers,
    n_filled: Vec<u64>,
    randoms: Vec<Random>,
    n_left: u64,
    /// When, which stream, and what it has done by then; the earliest first.
    due: BinaryHeap<std::cmp::Reverse<(u64, usize, Done)>>,
    /// The waiting threads: since when, and with which number in line.
    waiting: Vec<(usize, u64, u64)>,
    waits: Vec<u64>,
    last_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Done {
    Work,
    /// Compressed this buffer.
    Compress(usize),
}

impl Virtual {
    fn new(case: Case) -> Virtual {
        let buffers = Buffers::new(case.policy, case.n_buffers);
        Virtual {
            n_filled: vec![0; buffers.n_fills().len()],
            buffers,
            randoms: (0..case.n_streams).map(|stream| case.random(stream)).collect(),
            n_left: case.n_events,
            due: BinaryHeap::new(),
            waiting: Vec::new(),
            waits: Vec::new(),
            last_ns: 0,
            case,
        }
    }

    fn run(mut self) -> String {
        (0..self.case.n_streams).for_each(|stream| self.work(stream, 0));
        while let Some(std::cmp::Reverse((now_ns, stream, done))) = self.due.pop() {
            self.last_ns = now_ns;
            match done {
                Done::Work => match self.buffers.lend(None, true) {
                    Some(buffer) => self.fill(stream, buffer, now_ns),
                    None => {
                        let waiter = self.buffers.queue_up(false);
                        self.waiting.push((stream, now_ns, waiter));
                    }
                },
                Done::Compress(buffer) => {
                    self.buffers.renew(buffer);
                    self.work(stream, now_ns);
                    self.serve(now_ns);
                }
            }
        }
        let stalls: Vec<u64> = self.waits.iter().copied().filter(|&wait| wait >= STALL_NS).collect();
        let n_stalls = stalls.len();
        format!(
            "{{\"wall_ns\": {}, \"n_events\": {}, \"work_ns\": {EVENT_NS}, \"n_stalls\": {n_stalls}, \"stalls_ns\": {}, \
             \"stalled_ns\": {}, \"longest_ns\": {}, \"n_fills\": {:?}}}",
            self.last_ns,
            self.case.n_events,
            stalls.iter().sum::<u64>(),
            self.waits.iter().sum::<u64>(),
            self.waits.iter().max().copied().unwrap_or_default(),
            self.buffers.n_fills()
        )
    }

    fn work(&mut self, stream: usize, now_ns: u64) {
        if self.n_left > 0 {
            self.n_left -= 1;
            let end_ns = now_ns + self.randoms[stream].work_ns(EVENT_NS);
            self.due.push(std::cmp::Reverse((end_ns, stream, Done::Work)));
        }
    }

    /// An event goes to a buffer, which takes no time.
    fn fill(&mut self, stream: usize, buffer: usize, now_ns: u64) {
        self.n_filled[buffer] += 1;
        if self.n_filled[buffer] < BUFFER_EVENTS {
            self.buffers.give_back(buffer, self.n_filled[buffer]);
            self.work(stream, now_ns);
            self.serve(now_ns);
        } else {
            self.n_filled[buffer] = 0;
            self.buffers.end(buffer);
            self.due.push(std::cmp::Reverse((now_ns + COMPRESS_NS, stream, Done::Compress(buffer))));
        }
    }

    /// Lends what is free to those who wait.
    fn serve(&mut self, now_ns: u64) {
        if let Some(&(stream, since_ns, waiter)) = self.waiting.first()
            && let Some(buffer) = self.buffers.lend(Some(waiter), true)
        {
            self.waiting.remove(0);
            self.waits.push(now_ns - since_ns);
            self.fill(stream, buffer, now_ns);
        }
    }
}

/// A format whose compression is a sleep.
struct Sleeping {
    scale: f64,
}

impl TableFormat for Sleeping {
    type Pieces = ();

    fn tasks(&self, cluster: Arc<Cluster>) -> arrowroot_writer::Result<Vec<EncodeTask<()>>> {
        let pause = Duration::from_nanos(COMPRESS_NS * cluster.n_entries as u64 / BUFFER_EVENTS).mul_f64(self.scale);
        let task = move |_: &mut Compressor| {
            std::thread::sleep(pause);
            Ok(Encoded { bytes: vec![0; 100], pieces: () })
        };
        Ok(vec![Box::new(task)])
    }

    fn place(
        &mut self,
        _cluster: &Cluster,
        encoded: Vec<Encoded<()>>,
        _is_last: bool,
        appender: &mut Appender,
    ) -> arrowroot_writer::Result<()> {
        encoded.iter().try_for_each(|piece| appender.append(&[&piece.bytes]).map(drop))
    }

    fn finish(&mut self, _file: &FileWriter) -> arrowroot_writer::Result<()> {
        Ok(())
    }
}

fn file_settings(n_threads: usize, codec: i32, buffer_bytes: usize) -> FileSettings {
    let (name, compression) = ("events.root".to_owned(), CompressionSetting(codec));
    FileSettings { name, compression, is_reproducible: true, n_threads, buffer_bytes }
}

fn sleep(case: Case, scale: f64, stalls: &str) -> Result<()> {
    let sink = MemorySink::create("events.root", &MemoryFile::default());
    // No threads but those of the streams: who fills a buffer compresses it, as in CMS's framework.
    let file = FileWriter::create(Arc::new(sink), file_settings(1, 0, 1 << 30))?;
    file.stalls().set_threshold(Duration::from_nanos(STALL_NS).mul_f64(scale));
    file.stalls().keep_intervals();
    let schema = Schema::new(vec![Field::new("x", DataType::Int64, false)]);
    let settings = TableSettings { flush: Flush::Entries(BUFFER_EVENTS), ..TableSettings::default() };
    let mut table = TableWriter::with_format(&file, "Events", &schema, Sleeping { scale }, &settings)?;
    let contexts = table.contexts(case.settings(false))?;
    let column: ArrayRef = Arc::new(Int64Array::from(vec![0]));
    let batch = RecordBatch::try_new(Arc::new(schema), vec![column])?;
    let n_left = AtomicU64::new(case.n_events);
    let started = Instant::now();
    let work = |stream: usize| -> arrowroot_writer::Result<()> {
        let (context, mut random) = (contexts.context(Some(format!("stream {stream}"))), case.random(stream));
        while n_left.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_ok() {
            std::thread::sleep(Duration::from_nanos(random.work_ns(EVENT_NS)).mul_f64(scale));
            context.fill(&batch)?;
        }
        Ok(())
    };
    on_threads(case.n_streams, &work)?;
    let wall_ns = started.elapsed().as_nanos();
    let n_fills = contexts.n_fills();
    drop(contexts);
    save_stalls(&file, stalls)?;
    let work_ns = Duration::from_nanos(EVENT_NS).mul_f64(scale).as_nanos();
    println!("{}", told(&file, wall_ns, case.n_events, work_ns, &n_fills, "[]"));
    Ok(())
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
        peak_rss_bytes(),
    )
}

fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kibibytes.unwrap_or_default() * 1024
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

/// Real events: a wide table, real work and compression.
fn real(case: Case, rest: &[&str]) -> Result<()> {
    let [shape, layout, codec, flush, n_threads, helps, work_ms, buffer_mb, stalls, out] = *rest else {
        return Err("real ... SHAPE LAYOUT CODEC FLUSH N_THREADS HELPS WORK_MS BUFFER_MB STALLS OUT".into());
    };
    let layout = if layout == "rntuple" { Format::Ntuple } else { Format::Tree };
    let codec: i32 = codec.parse()?;
    let sink: Arc<dyn Sink> = Arc::new(LocalSink::create(out)?);
    let file =
        FileWriter::create(sink, file_settings(n_threads.parse()?, codec, buffer_mb.parse::<usize>()? * 1_000_000))?;
    file.stalls().keep_intervals();
    let columns = Columns::of(shape)?;
    let flush = match flush.strip_suffix("kB") {
        Some(kilobytes) => Flush::Bytes(kilobytes.parse::<u64>()? * 1000),
        None => Flush::Entries(flush.parse()?),
    };
    let settings = TableSettings { flush, ..TableSettings::default() };
    let mut table = TableWriter::create(&file, ROOT_DIRECTORY, "Events", "", &columns.schema, layout, settings)?;
    let contexts = table.contexts(case.settings(helps == "help"))?;
    let work_ns = (work_ms.parse::<f64>()? * 1e6).round();
    let work = Duration::from_nanos(1).mul_f64(work_ns);
    let mean_ns = u64::try_from(work.as_nanos())?;
    let n_left = AtomicU64::new(case.n_events);
    let is_over = AtomicBool::new(false);
    let started = Instant::now();
    let queue = std::thread::scope(|scope| -> Result<String> {
        let sampler = scope.spawn(|| {
            let mut samples = Vec::new();
            while !is_over.load(Relaxed) {
                let (n_tasks, n_clusters) = file.queue().n_waiting();
                let (now_ms, n_bytes) = (started.elapsed().as_millis(), file.queue().report().bytes);
                samples.push(format!("[{now_ms}, {n_clusters}, {n_tasks}, {n_bytes}]"));
                std::thread::sleep(Duration::from_millis(50));
            }
            format!("[{}]", samples.join(", "))
        });
        let fill = |stream: usize| -> arrowroot_writer::Result<()> {
            let (context, mut random) = (contexts.context(Some(format!("stream {stream}"))), case.random(stream));
            while n_left.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_ok() {
                let batch = columns.event(&mut random);
                spin(Duration::from_nanos(random.work_ns(mean_ns)));
                context.fill(&batch)?;
            }
            Ok(())
        };
        let filled = on_threads(case.n_streams, &fill);
        is_over.store(true, Relaxed);
        let queue = sampler.join().map_err(|_| "the sampler failed")?;
        filled?;
        Ok(queue)
    })?;
    let n_fills = contexts.n_fills();
    drop(contexts);
    let filled_ns = started.elapsed().as_nanos();
    table.close()?;
    file.close()?;
    save_stalls(&file, stalls)?;
    let text = told(&file, started.elapsed().as_nanos(), case.n_events, u128::from(mean_ns), &n_fills, &queue);
    println!("{{\"filled_ns\": {filled_ns}, {}", &text[1..]);
    Ok(())
}

/// Uses a core for so long.
fn spin(length: Duration) {
    let clock = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let started = clock();
    let cpu = |now: rustix::time::Timespec| {
        let seconds = now.tv_sec - started.tv_sec;
        i128::from(seconds) * 1_000_000_000 + i128::from(now.tv_nsec - started.tv_nsec)
    };
    let wanted = i128::try_from(length.as_nanos()).unwrap_or_default();
    while cpu(clock()) < wanted {
        std::hint::spin_loop();
    }
}

/// Events with lists of floats, of which each value has few bits, as measurements have.
struct Columns {
    schema: Arc<Schema>,
    n_numbers: usize,
    n_lists: usize,
    list_length: u64,
}

impl Columns {
    /// `miniaod`: some 20 kB in 400 columns; `aod`: some 200 kB in 1,600; `wide-N`: N columns.
    fn of(shape: &str) -> Result<Columns> {
        let (n_columns, list_length) = match shape {
            "miniaod" => (400, 15),
            "aod" => (1600, 40),
            other => (other.strip_prefix("wide-").ok_or("miniaod, aod or wide-N")?.parse()?, 15),
        };
        let n_numbers = n_columns / 5;
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let number = |n| Field::new(format!("n{n}"), DataType::Float32, false);
        let list = |n| Field::new(format!("v{n}"), DataType::List(Arc::clone(&item)), false);
        let fields: Vec<Field> = (0..n_numbers).map(number).chain((n_numbers..n_columns).map(list)).collect();
        let n_lists = n_columns - n_numbers;
        Ok(Columns { schema: Arc::new(Schema::new(fields)), n_numbers, n_lists, list_length })
    }

    fn event(&self, random: &mut Random) -> RecordBatch {
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let value = |random: &mut Random| {
            let bits = u16::try_from(random.next() >> 52).unwrap_or_default();
            f32::from(bits) * 0.125
        };
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.n_numbers + self.n_lists);
        for _ in 0..self.n_numbers {
            arrays.push(Arc::new(Float32Array::from(vec![value(random)])));
        }
        for _ in 0..self.n_lists {
            let length = usize::try_from(random.next() % (2 * self.list_length)).unwrap_or_default();
            let values: Float32Array = (0..length).map(|_| Some(value(random))).collect();
            let offsets = OffsetBuffer::from_lengths([length]);
            arrays.push(Arc::new(ListArray::new(Arc::clone(&item), offsets, Arc::new(values), None)));
        }
        RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .unwrap_or_else(|_| RecordBatch::new_empty(Arc::clone(&self.schema)))
    }
}
