//! Values as fast as they are taken: what does the way to the file cost beside compression, and how much memory?

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrowroot_arrow::stored::data_type;
use arrowroot_format::codec::{CompressionSetting, Compressor};
use arrowroot_storage::{LocalSink, Sink};
use arrowroot_writer::tree::{MAX_RECORD_BYTES, TreeColumn, TreeFormat, TreeSettings};
use arrowroot_writer::{
    Appender, Baskets, Cluster, ColumnCodec, ColumnLayout, ContextSettings, EncodeTask, Encoded, FileWriter, Flush,
    ROOT_DIRECTORY, Save, Step, TableFormat, TableSettings, TableWriter, TreeNotes,
};

use crate::clocks::{process_ns, sampled, thread_ns};
use crate::columns::Columns;
use crate::memory_sink::Memory;
use crate::{Random, Result, file_settings, on_threads, told};

/// A fill has about so many bytes, and at least one event.
const FILL_BYTES: u64 = 4_000_000;
/// Batches that are filled in turns.
const N_BATCHES: u64 = 8;
/// Memory beyond the values that is touched: offsets and metadata.
const SPARE_BYTES: usize = 64 << 20;

/// Fills a tree from several threads, with batches that are there before.
pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let [n_producers, n_columns, n_mb, codec, n_threads, buffer_mb, sink] = *rest else {
        return Err("scale N_PRODUCERS N_COLUMNS N_MB CODEC N_THREADS BUFFER_MB SINK".into());
    };
    let columns = Columns::of(&format!("wide-{n_columns}"))?;
    let (n_producers, n_mb, codec) = (n_producers.parse()?, n_mb.parse::<u64>()?, codec.parse()?);
    let n_events = usize::try_from((FILL_BYTES / columns.event_bytes()).max(1))?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let batches: Vec<RecordBatch> =
        (0..N_BATCHES).map(|_| columns.events(n_events, &mut random)).collect::<Result<_>>()?;
    let n_fills = (n_mb * 1_000_000).div_ceil(n_events as u64 * columns.event_bytes());
    let sink: Arc<dyn Sink> = match sink {
        "nowhere" => Arc::new(Memory::default()),
        "memory" => Arc::new(Memory::touched(usize::try_from(n_mb * 1_100_000)? + SPARE_BYTES)),
        path => Arc::new(LocalSink::create(path)?),
    };
    let settings = file_settings(n_threads.parse()?, codec, buffer_mb.parse::<usize>()? * 1_000_000);
    let file = FileWriter::create(sink, settings)?;
    let clocks = Arc::new(Clocks::default());
    let mut table = table_of(&file, &columns, codec, &clocks)?;
    let contexts = table.contexts(ContextSettings::default())?;
    let (n_left, is_over) = (AtomicU64::new(n_fills), AtomicBool::new(false));
    let (started, process) = (Instant::now(), process_ns());
    let samples = std::thread::scope(|scope| -> Result<String> {
        let sampler = scope.spawn(|| clocks.during(|clocks| &clocks.sampling_ns, || sampled(&file, started, &is_over)));
        let fill = |producer: usize| -> arrowroot_writer::Result<()> {
            let context = contexts.context(Some(format!("producer {producer}")));
            while let Ok(number) = n_left.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)) {
                let batch = &batches[usize::try_from(number % N_BATCHES).unwrap_or_default()];
                let mut fill = clocks.during(|clocks| &clocks.conversion_ns, || context.begin(batch, None))?;
                loop {
                    match clocks.during(|clocks| &clocks.collecting_ns, || fill.advance())? {
                        Step::Done => break,
                        Step::Work(work) => work.complete()?,
                        Step::Full => drop(fill.wait(&AtomicBool::new(false))?),
                    }
                }
            }
            Ok(())
        };
        let filled = on_threads(n_producers, &fill);
        let close = || table.close().and_then(|written| file.close().map(|_| written));
        let written = filled.and_then(|()| clocks.during(|clocks| &clocks.closing_ns, close));
        is_over.store(true, Relaxed);
        let samples = sampler.join().map_err(|_| "the sampler failed")?;
        written?;
        Ok(samples)
    })?;
    let (wall_ns, process) = (started.elapsed().as_nanos(), process_ns() - process);
    let told = told(&file, wall_ns, n_fills * n_events as u64, 0, &[], &samples);
    println!(
        "{{\"n_bytes\": {}, \"cpu_ns\": {process}, \"conversion_ns\": {}, \"collecting_ns\": {}, \"tasks_ns\": {}, \
         \"placing_ns\": {}, \"closing_ns\": {}, \"sampling_ns\": {}, {}",
        n_fills * n_events as u64 * columns.event_bytes(),
        clocks.conversion_ns.load(Relaxed),
        clocks.collecting_ns.load(Relaxed),
        clocks.tasks_ns.load(Relaxed),
        clocks.placing_ns.load(Relaxed),
        clocks.closing_ns.load(Relaxed),
        clocks.sampling_ns.load(Relaxed) + clocks.own_ns(),
        &told[1..]
    );
    Ok(())
}

fn table_of(file: &Arc<FileWriter>, columns: &Columns, codec: i32, clocks: &Arc<Clocks>) -> Result<TableWriter> {
    let column = |field: &Arc<arrow_schema::Field>| -> Result<TreeColumn> {
        Ok(TreeColumn {
            name: field.name().clone(),
            title: String::new(),
            data_type: data_type(field)?,
            counter: None,
            layout: ColumnLayout::default(),
            compression: ColumnCodec::Set(CompressionSetting(codec)),
        })
    };
    let tree_columns = columns.schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
    let settings = TableSettings::default();
    let tree_settings = TreeSettings {
        directory: ROOT_DIRECTORY,
        name: "T".to_owned(),
        title: String::new(),
        compression: CompressionSetting(codec),
        flush: settings.flush,
        baskets: Baskets::Fitted,
        autosave_bytes: settings.autosave_bytes,
        generates_offsets: settings.generates_offsets,
        arrow_schema: None,
        notes: TreeNotes::default(),
        index: None,
        max_record_bytes: MAX_RECORD_BYTES,
    };
    let format = TreeFormat::new(file, &tree_columns, tree_settings)?;
    let format = Clocked { format, clocks: Arc::clone(clocks) };
    debug_assert!(matches!(settings.flush, Flush::Bytes(_)));
    Ok(TableWriter::with_format(file, "T", &columns.schema, format, &settings)?)
}

thread_local! {
    /// Time of this thread in steps that are parts of the current one, in ns.
    static NESTED_NS: Cell<u64> = const { Cell::new(0) };
}

/// CPU time of each step without those within it, of all threads, in ns. What is left of the process is that of the queue, and of
/// threads that wake up.
#[derive(Default)]
struct Clocks {
    /// Batches become values as they are stored.
    conversion_ns: AtomicU64,
    /// A buffer is found, takes them, and is cut into tasks when it is full.
    collecting_ns: AtomicU64,
    /// They are encoded and compressed.
    tasks_ns: AtomicU64,
    /// They are written, and the tree is saved on its way.
    placing_ns: AtomicU64,
    /// The rest in buffers is cut into tasks, too, and the metadata are made.
    closing_ns: AtomicU64,
    /// Queue and memory are looked at, for the experiment.
    sampling_ns: AtomicU64,
    /// Steps that were measured.
    n_calls: AtomicU64,
}

impl Clocks {
    /// The time that reading them has taken beside what they have measured: of the two readings of each step about one.
    fn own_ns(&self) -> u64 {
        let (started_ns, n_tried) = (thread_ns(), 10_000);
        (0..n_tried).for_each(|_| {
            std::hint::black_box(thread_ns());
        });
        self.n_calls.load(Relaxed) * (thread_ns() - started_ns) / n_tried
    }

    fn during<T>(&self, clock: impl FnOnce(&Clocks) -> &AtomicU64, work: impl FnOnce() -> T) -> T {
        let before_ns = NESTED_NS.replace(0);
        let started_ns = thread_ns();
        let done = work();
        let elapsed_ns = thread_ns() - started_ns;
        let nested_ns = NESTED_NS.replace(before_ns + elapsed_ns);
        clock(self).fetch_add(elapsed_ns - nested_ns, Relaxed);
        self.n_calls.fetch_add(1, Relaxed);
        done
    }
}

/// A format whose steps have clocks.
struct Clocked<F> {
    format: F,
    clocks: Arc<Clocks>,
}

impl<F: TableFormat> Clocked<F> {
    fn timed(&self, tasks: Vec<EncodeTask<F::Pieces>>) -> Vec<EncodeTask<F::Pieces>> {
        let timed = |task: EncodeTask<F::Pieces>| -> EncodeTask<F::Pieces> {
            let clocks = Arc::clone(&self.clocks);
            Box::new(move |compressor: &mut Compressor| clocks.during(|clocks| &clocks.tasks_ns, || task(compressor)))
        };
        tasks.into_iter().map(timed).collect()
    }
}

impl<F: TableFormat> TableFormat for Clocked<F> {
    type Pieces = F::Pieces;

    const HAS_REGULAR_CLUSTERS: bool = F::HAS_REGULAR_CLUSTERS;

    fn tasks(&self, cluster: Arc<Cluster>) -> arrowroot_writer::Result<Vec<EncodeTask<F::Pieces>>> {
        Ok(self.timed(self.format.tasks(cluster)?))
    }

    fn rest(&self) -> arrowroot_writer::Result<Vec<EncodeTask<F::Pieces>>> {
        Ok(self.timed(self.format.rest()?))
    }

    fn place(
        &mut self,
        cluster: &Cluster,
        encoded: Vec<Encoded<F::Pieces>>,
        is_last: bool,
        appender: &mut Appender,
    ) -> arrowroot_writer::Result<()> {
        self.clocks.during(|clocks| &clocks.placing_ns, || self.format.place(cluster, encoded, is_last, appender))
    }

    fn be_reshuffled(&mut self) {
        self.format.be_reshuffled();
    }

    fn saving(&mut self) -> arrowroot_writer::Result<Option<Save>> {
        let saving = self.clocks.during(|clocks| &clocks.placing_ns, || self.format.saving())?;
        let clocks = Arc::clone(&self.clocks);
        Ok(saving.map(|save| -> Save {
            Box::new(move |file: &FileWriter| clocks.during(|clocks| &clocks.placing_ns, || save(file)))
        }))
    }

    fn finish(&mut self, file: &FileWriter) -> arrowroot_writer::Result<()> {
        self.clocks.during(|clocks| &clocks.placing_ns, || self.format.finish(file))
    }
}
