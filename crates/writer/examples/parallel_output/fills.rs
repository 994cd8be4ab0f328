//! Small fills as fast as they are taken: how many a second, from how many threads?

use std::sync::Arc;
use std::time::Instant;

use arrowroot_storage::Sink;
use arrowroot_writer::{
    ContextSettings, FileWriter, Flush, Format, Order, Policy, ROOT_DIRECTORY, TableSettings, TableWriter,
};

use crate::clocks::process_ns;
use crate::columns::Columns;
use crate::memory_sink::Memory;
use crate::{Random, Result, file_settings, on_threads, told};

/// Memory for all buffers.
const BUFFER_BYTES: usize = 1_000_000_000;
/// Entries of a cluster.
const FLUSH_ENTRIES: u64 = 20_000;

/// Fills a table from several threads, again and again with the same batch, and as many threads of the file.
pub(crate) fn run(rest: &[&str]) -> Result<()> {
    let [layout, codec, n_threads, n_entries, n_fills] = *rest else {
        return Err("fills LAYOUT CODEC N_THREADS N_ENTRIES N_FILLS".into());
    };
    let (n_threads, n_fills): (usize, u64) = (n_threads.parse()?, n_fills.parse()?);
    let columns = Columns::of("flat")?;
    let batch = columns.events(n_entries.parse()?, &mut Random(0x9e37_79b9_7f4a_7c15))?;
    let sink: Arc<dyn Sink> = Arc::new(Memory::default());
    let file = FileWriter::create(sink, file_settings(n_threads, codec.parse()?, BUFFER_BYTES))?;
    let settings = TableSettings { flush: Flush::Entries(FLUSH_ENTRIES), ..TableSettings::default() };
    let layout = if layout == "rntuple" { Format::Ntuple } else { Format::Tree };
    let mut table = TableWriter::create(&file, ROOT_DIRECTORY, "Events", "", &columns.schema, layout, settings)?;
    let n_buffers = (n_threads + 2).max(4);
    let contexts =
        table.contexts(ContextSettings { policy: Policy::Fullest, n_buffers, order: Order::Free, helps: true })?;
    let (started, cpu_ns) = (Instant::now(), process_ns());
    let fill = |stream: usize| -> arrowroot_writer::Result<()> {
        let context = contexts.context(Some(format!("stream {stream}")));
        (0..n_fills).try_for_each(|_| context.fill(&batch))
    };
    on_threads(n_threads, &fill)?;
    let n_events = n_fills * n_threads as u64 * batch.num_rows() as u64;
    let n_buffer_fills = contexts.n_fills();
    drop(contexts);
    let memory_bytes = table.close()?.memory_bytes;
    file.close()?;
    let (wall_ns, cpu_ns) = (started.elapsed().as_nanos(), process_ns() - cpu_ns);
    let told = told(&file, wall_ns, n_events, 0, &n_buffer_fills, "[]");
    println!("{{\"memory_bytes\": {memory_bytes}, \"cpu_ns\": {cpu_ns}, {}", &told[1..]);
    Ok(())
}
