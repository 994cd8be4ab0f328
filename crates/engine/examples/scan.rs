//! Reads columns of a table and prints what it cost: the engine alone, for profilers.
//!
//! `cargo run --release --example scan -- FILE TREE [COLUMN,...|all] [THREADS] [REPEATS] [BATCH_BYTES]`

use arrowroot::storage::Options;
use arrowroot::{Entries, File, Order, Request, open_table};

fn main() -> arrowroot::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let argument = |index: usize| arguments.get(index).map(String::as_str);
    let number = |index: usize| argument(index).and_then(|text| text.parse::<u64>().ok());
    let (Some(path), Some(name)) = (argument(1), argument(2)) else {
        eprintln!("usage: scan FILE TREE [COLUMN,...|all] [THREADS] [REPEATS] [BATCH_BYTES]");
        std::process::exit(2);
    };
    for _ in 0..number(5).unwrap_or(3) {
        let start = std::time::Instant::now();
        let table = open_table(&File::open(&[path], &Options::default())?, name)?.table;
        let columns = match argument(3) {
            None | Some("all") => table.readable()?,
            Some(names) => names.split(',').map(|name| table.find(name)).collect::<arrowroot::Result<Vec<_>>>()?,
        };
        let request = Request {
            columns: columns.into_iter().map(|id| (id, table.place(id).path.to_owned())).collect(),
            entries: Entries::Range(0..table.n_entries()),
            order: Order::Cluster,
            batch_bytes: number(6),
            batch_entries: None,
            memory_budget_bytes: 256_000_000,
            n_threads: usize::try_from(number(4).unwrap_or(1)).unwrap_or(1),
            trace: false,
            text: arrowroot::TextForm::Utf8,
            verify_checksums: true,
            raw: false,
        };
        let mut scan = table.scan(&request)?;
        let mut batches = Vec::new();
        while let Some(batch) = scan.next_batch(&mut || false)? {
            batches.push(batch);
        }
        let stats = scan.handle().stats();
        println!("{:.4} s {stats:?}", start.elapsed().as_secs_f64());
    }
    Ok(())
}
