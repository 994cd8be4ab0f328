//! What it costs to account for a read: CPU ns for each operation and layer boundary, and for each range of a vector read.
//!
//!     account_cost
//!
//! Reads of no bytes from memory, with and without an account, in turns; prints one JSON object of medians.

use std::sync::Arc;
use std::time::Instant;

use arrowroot_storage::{Accounted, Ledger, MemorySource, Part, Source};

const N_TURNS: usize = 21;
const N_READS: u32 = 100_000;
const N_RANGES: usize = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plain: Arc<dyn Source> = Arc::new(MemorySource::new("memory", vec![0_u8; 64]));
    let accounted: Arc<dyn Source> =
        Arc::new(Accounted::new(Arc::clone(&plain), Arc::new(Ledger::new("memory", false))));
    let (mut reads, mut vectors) = (Vec::new(), Vec::new());
    for _ in 0..N_TURNS {
        reads.push(ns_for_each_read(&accounted, 1)? - ns_for_each_read(&plain, 1)?);
        vectors.push(ns_for_each_read(&accounted, N_RANGES)? - ns_for_each_read(&plain, N_RANGES)?);
    }
    let (read_ns, vector_ns) = (median(reads), median(vectors));
    let range_ns = (vector_ns - read_ns) / (N_RANGES - 1) as f64;
    println!("{{\"operation_ns\": {read_ns:.1}, \"range_ns\": {range_ns:.1}}}");
    Ok(())
}

fn ns_for_each_read(source: &Arc<dyn Source>, n_ranges: usize) -> Result<f64, Box<dyn std::error::Error>> {
    let n_reads = N_READS / u32::try_from(n_ranges)?;
    let mut parts: Vec<_> = (0..n_ranges).map(|_| Part { offset: 0, buffer: &mut [] }).collect();
    let begin = Instant::now();
    for _ in 0..n_reads {
        source.read_vector(std::hint::black_box(&mut parts))?;
    }
    Ok(begin.elapsed().as_nanos() as f64 / f64::from(n_reads))
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
