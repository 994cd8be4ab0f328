//! Streams with real events, work and compression.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use arrowroot_storage::{LocalSink, Sink};
use arrowroot_writer::{Error, FileWriter, Flush, Format, ROOT_DIRECTORY, TableSettings, TableWriter};

use crate::clocks::{process_ns, sampled, spin_since, thread_ns};
use crate::columns::Columns;
use crate::{Case, Result, file_settings, on_threads, save_stalls, told};

/// Real events: a wide table, real work and compression.
pub(crate) fn run(case: Case, rest: &[&str]) -> Result<()> {
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
    let mean_ns = u64::try_from(std::time::Duration::from_nanos(1).mul_f64(work_ns).as_nanos())?;
    let n_left = AtomicU64::new(case.n_events);
    let is_over = AtomicBool::new(false);
    let (started, cpu_ns) = (Instant::now(), process_ns());
    let queue = std::thread::scope(|scope| -> Result<String> {
        let sampler = scope.spawn(|| sampled(&file, started, &is_over));
        let fill = |stream: usize| -> arrowroot_writer::Result<()> {
            let (context, mut random) = (contexts.context(Some(format!("stream {stream}"))), case.random(stream));
            while n_left.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_ok() {
                // The making of an event is a part of its work.
                let begun_ns = thread_ns();
                let event = columns
                    .events(1, &mut random)
                    .map_err(|error| Error::InvalidRequest { what: error.to_string() })?;
                spin_since(begun_ns, random.work_ns(mean_ns));
                context.fill(&event)?;
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
    let cpu_ns = process_ns() - cpu_ns;
    println!("{{\"filled_ns\": {filled_ns}, \"cpu_ns\": {cpu_ns}, {}", &text[1..]);
    Ok(())
}
