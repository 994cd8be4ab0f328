//! Reading back what a test has written.

use arrow_array::RecordBatch;
use arrowroot::{ColumnId, Entries, Order, Request, Table, TextForm};

/// All entries of some columns, on one thread; one empty batch if there are none.
pub(crate) fn batches(table: &dyn Table, columns: Vec<(ColumnId, String)>) -> Vec<RecordBatch> {
    let request = Request {
        columns,
        entries: Entries::Range(0..table.n_entries()),
        batch_bytes: None,
        batch_entries: None,
        memory_budget_bytes: 1 << 20,
        n_threads: 1,
        trace: false,
        text: TextForm::Utf8,
        verify_checksums: true,
        raw: false,
        order: Order::Cluster,
    };
    let mut scan = table.scan(&request).unwrap();
    let mut found = Vec::new();
    while let Some(batch) = scan.next_batch(&mut || false).unwrap() {
        found.push(batch);
    }
    if found.is_empty() {
        found.push(RecordBatch::new_empty(scan.schema().clone()));
    }
    found
}
