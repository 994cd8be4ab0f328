//! A whole file, from its first byte to record batches: what any reader of a hostile file does.
#![no_main]

use std::sync::Arc;

use arrow_array::Array;
use arrowroot::storage::MemorySource;
use arrowroot::{ColumnId, Entries, File, Order, Request, Table, Tree};
use arrowroot_fuzz::MAX_BYTES;
use libfuzzer_sys::fuzz_target;

/// More of these make a run slow, not different.
const MAX_TREES: usize = 4;
const MAX_OBJECTS: usize = 20;
const MAX_COLUMNS: usize = 30;
const MAX_ENTRIES: u64 = 100_000;
const MAX_BASKETS: usize = 300;
const MAX_BATCHES: usize = 40;

fuzz_target!(|data: &[u8]| {
    if data.len() > MAX_BYTES {
        return;
    }
    let source = MemorySource::new("fuzz.root", data);
    let Ok(file) = File::from_source(Arc::new(source)) else { return };
    let Ok(keys) = file.keys() else { return };
    let trees = keys.iter().filter(|entry| file.is_tree_class(&entry.key.class_name).unwrap_or(false)).take(MAX_TREES);
    for entry in trees {
        if let Ok(tree) = Tree::open(&file, &format!("{};{}", entry.path(), entry.key.cycle)) {
            scans(&tree);
        }
    }
    for entry in keys.iter().filter(|entry| !entry.is_directory).take(MAX_TREES) {
        let Ok(object) = file.object(&format!("{};{}", entry.path(), entry.key.cycle)) else { continue };
        for &number in object.graph().objects.keys().take(MAX_OBJECTS) {
            let Some(path) = object.path_of_tree(number) else { continue };
            if let Ok(tree) = Tree::inside(&object, number) {
                assert_eq!(tree.path(), path);
                scans(&tree);
            }
        }
    }
});

fn scans(tree: &Tree) {
    let n_entries = tree.n_entries();
    let _ = (tree.arrow_schema(), tree.cluster_starts().len());
    let is_small = |baskets: Vec<_>| baskets.len() <= MAX_BASKETS;
    let readable = tree.readable().unwrap_or_default().into_iter();
    let columns = readable.filter(|&id| tree.baskets(id).is_ok_and(is_small)).take(MAX_COLUMNS);
    let columns: Vec<_> = columns.map(|id| (id.into(), tree.branch_path(id).to_owned())).collect();
    let some = match n_entries {
        0 => Vec::new(),
        n => vec![n - 1, 0, n / 2, n / 2],
    };
    // One by one, so that one wrong column does not hide the others, and all together.
    let together = std::iter::once(columns.clone());
    for columns in columns.into_iter().map(|column| vec![column]).chain(together) {
        for entries in [Entries::Range(0..n_entries), Entries::List(some.clone())] {
            for order in [Order::Cluster, Order::Entry] {
                scan(tree, columns.clone(), entries.clone(), order);
            }
        }
    }
}

fn scan(tree: &Tree, columns: Vec<(ColumnId, String)>, entries: Entries, order: Order) {
    let request = Request {
        columns,
        entries,
        order,
        batch_bytes: if tree.n_entries() > MAX_ENTRIES { None } else { Some(4_000) },
        batch_entries: None,
        memory_budget_bytes: 20_000, // little: some baskets are kept from batch to batch, and some are not
        n_threads: 1,
        trace: false,
        text: arrowroot::TextForm::Utf8,
        verify_checksums: true,
        raw: false,
    };
    let Ok(mut scan) = tree.scan(&request) else { return };
    if tree.n_entries() > MAX_ENTRIES {
        return;
    }
    for _ in 0..MAX_BATCHES {
        let Ok(Some(batch)) = scan.next_batch(&mut || false) else { return };
        for column in batch.columns() {
            // Some arrays are made without a second look at their offsets: here it is.
            column.to_data().validate_full().unwrap();
        }
    }
}
