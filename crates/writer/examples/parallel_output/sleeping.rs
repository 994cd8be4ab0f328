//! Threads whose work and compression are sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use arrowroot_format::codec::Compressor;
use arrowroot_storage::{MemoryFile, MemorySink};
use arrowroot_writer::{
    Appender, Cluster, EncodeTask, Encoded, FileWriter, Flush, TableFormat, TableSettings, TableWriter,
};

use crate::{
    BUFFER_EVENTS, COMPRESS_NS, Case, EVENT_NS, Result, STALL_NS, file_settings, on_threads, save_stalls, told,
};

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

/// Runs the streams.
pub(crate) fn sleep(case: Case, scale: f64, stalls: &str) -> Result<()> {
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
