//! Entries that know their number, written and read back.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use arrowroot::Table;

use crate::reading::batches;

pub(crate) fn schema() -> Schema {
    let item = Arc::new(Field::new("item", DataType::Int64, false));
    Schema::new(vec![Field::new("x", DataType::Int64, false), Field::new("v", DataType::List(item), false)])
}

/// Entries that know their number: x is it, v has it as often as its last digit says.
pub(crate) fn batch(entries: Range<i64>) -> RecordBatch {
    let lengths = entries.clone().map(|entry| usize::try_from(entry % 5).unwrap());
    let items: Int64Array =
        entries.clone().flat_map(|entry| std::iter::repeat_n(entry, usize::try_from(entry % 5).unwrap())).collect();
    let item = Arc::new(Field::new("item", DataType::Int64, false));
    let lists = ListArray::new(item, OffsetBuffer::from_lengths(lengths), Arc::new(items), None);
    let columns: Vec<ArrayRef> = vec![Arc::new(entries.map(Some).collect::<Int64Array>()), Arc::new(lists)];
    RecordBatch::try_new(Arc::new(schema()), columns).unwrap()
}

/// The numbers of the entries of a table, as reading gives them; their lists are what they should be.
pub(crate) fn numbers(table: &dyn Table) -> Vec<i64> {
    let columns = ["x", "v"].map(|name| (table.find(name).unwrap(), name.to_owned())).to_vec();
    let mut numbers = Vec::new();
    for read in batches(table, columns) {
        let xs = read.column_by_name("x").unwrap().as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec();
        let lists = read.column_by_name("v").unwrap().as_any().downcast_ref::<ListArray>().unwrap().clone();
        for (x, list) in xs.iter().zip(lists.iter()) {
            let list = list.unwrap();
            let values = list.as_any().downcast_ref::<Int64Array>().unwrap();
            assert!(values.len() == usize::try_from(x % 5).unwrap() && values.values().iter().all(|value| value == x));
        }
        numbers.extend(xs);
    }
    numbers
}
