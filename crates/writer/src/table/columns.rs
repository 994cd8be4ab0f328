//! The columns of a table, and batches as they store them.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrowroot_arrow::Stored;
use arrowroot_arrow::stored::{SharedOffsets, StoreError, store_beside};
use arrowroot_format::column::DataType;

use crate::error::{Error, Result};
use crate::precision::with_mantissas;
use crate::tree::IndexValues;

/// Batches of more entries than this
const MAX_ENTRIES: usize = 1024;
/// are converted in slices of about so many bytes: what they share no memory with is not made for all of them at once.
const SLICE_BYTES: usize = 16 << 20;

/// Values of entries in the order of the columns, and how many entries they are.
pub(crate) type Slice = (Vec<Stored>, usize);

/// A column, as values are stored in it.
#[derive(Debug)]
pub(crate) struct StoredColumn {
    pub(crate) name: String,
    pub(crate) data_type: DataType,
    /// Its numbers have at most so many bits of mantissa; `None`: all that they have.
    pub(crate) mantissa_bits: Option<u8>,
}

/// The columns of a table.
#[derive(Debug)]
pub(crate) struct TableColumns {
    pub(crate) table: String,
    pub(crate) columns: Vec<StoredColumn>,
    /// Its index, which does not hold every value.
    pub(crate) index: Option<Arc<IndexValues>>,
}

impl TableColumns {
    /// The slices of a batch that are converted at once.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for other columns than the table has, and for a value that its index does not hold.
    pub(crate) fn slices(&self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        self.check(batch)?;
        self.index.as_ref().map_or(Ok(()), |index| index.check(batch))?;
        let (n_entries, slice_entries) = (batch.num_rows(), slice_entries(batch));
        if 0 < n_entries && n_entries <= slice_entries {
            return Ok(vec![batch.clone()]);
        }
        let slice = |start: usize| batch.slice(start, slice_entries.min(n_entries - start));
        Ok((0..n_entries).step_by(slice_entries).map(slice).collect())
    }

    /// Converts a slice; errors count its entries from `first_entry` on.
    pub(crate) fn store(&self, slice: &RecordBatch, first_entry: u64) -> Result<Vec<Stored>, StoreError> {
        let mut offsets = SharedOffsets::of_columns(self.columns.len());
        let columns = self.columns.iter().zip(slice.columns());
        columns
            .map(|(StoredColumn { name, data_type, mantissa_bits }, array)| {
                let stored = store_beside(&mut offsets, name, array, data_type)
                    .map_err(|error| error.with_entry(|entry| entry + first_entry))?;
                Ok(match mantissa_bits {
                    Some(n_bits) => with_mantissas(stored, 0..array.len(), *n_bits),
                    None => stored,
                })
            })
            .collect()
    }

    /// Converts a batch as a whole.
    ///
    /// # Errors
    /// As [`TableColumns::slices`], and those of values that cannot be stored. Nothing is taken then.
    pub(crate) fn store_all(&self, batch: &RecordBatch, first_entry: u64) -> Result<VecDeque<Slice>> {
        let mut first_entry = first_entry;
        let slices = self.slices(batch)?;
        let stored = slices.iter().map(|slice| {
            let stored = self.store(slice, first_entry)?;
            first_entry += slice.num_rows() as u64;
            Ok((stored, slice.num_rows()))
        });
        stored.collect()
    }

    fn check(&self, batch: &RecordBatch) -> Result<()> {
        let found = || batch.schema_ref().fields().iter().map(|field| field.name().as_str());
        if found().eq(self.columns.iter().map(|column| column.name.as_str())) {
            return Ok(());
        }
        let found: Vec<&str> = found().collect();
        let expected: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let what = format!("table {:?} has columns {expected:?}, and a batch has {found:?}", self.table);
        Err(Error::InvalidRequest { what })
    }
}

/// How many entries of a batch to convert at once.
fn slice_entries(batch: &RecordBatch) -> usize {
    let n_entries = batch.num_rows();
    if n_entries <= MAX_ENTRIES {
        return n_entries.max(1);
    }
    let bytes = |array: &Arc<dyn Array>| array.to_data().get_slice_memory_size().unwrap_or_default();
    let n_bytes: usize = batch.columns().iter().map(bytes).sum();
    (n_entries / n_bytes.div_ceil(SLICE_BYTES).max(1)).max(MAX_ENTRIES)
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array};

    use super::*;

    #[test]
    fn large_batches_are_taken_in_slices() {
        let numbers = |n_entries| -> RecordBatch {
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..n_entries));
            RecordBatch::try_from_iter([("x", numbers)]).unwrap()
        };
        assert_eq!((slice_entries(&numbers(10)), slice_entries(&numbers(0))), (10, 1));
        let many = numbers(8_000_000);
        assert!((1_900_000..=2_100_000).contains(&slice_entries(&many)));
        // Only what is in a slice counts.
        assert!(slice_entries(&many.slice(5, 100_000)) >= 100_000);
    }
}
