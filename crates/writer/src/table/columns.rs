//! The columns of a table, and batches as they store them.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType as ArrowType;
use arrowroot_arrow::Stored;
use arrowroot_arrow::stored::{BranchForm, PlannedBranch, SharedOffsets, StoreError, store_beside};
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
    /// Columns whose lists the counter of another column counts.
    pub(crate) shared: Vec<SharedCounter>,
}

/// A column whose lists have the lengths that another column says: its numbers, or those of its own lists.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SharedCounter {
    column: usize,
    other: usize,
    /// The branch that counts both.
    counter: String,
}

impl SharedCounter {
    /// Those of the branches of a tree.
    pub(crate) fn of_branches(branches: &[PlannedBranch]) -> Vec<SharedCounter> {
        let mut found: Vec<SharedCounter> = Vec::new();
        for branch in branches.iter().filter(|branch| branch.element.is_none()) {
            let BranchForm::Counted { counter, .. } = branch.form else { continue };
            let counter = &branches[counter];
            // Branches of a column stand together.
            let is_known = found.last().is_some_and(|last| last.column == branch.column);
            if counter.column != branch.column && !is_known {
                let (column, other, counter) = (branch.column, counter.column, counter.name.clone());
                found.push(SharedCounter { column, other, counter });
            }
        }
        found
    }

    /// The message for lists of another length than their counter says.
    pub(crate) fn refusal(column: &str, length: usize, counter: &str) -> String {
        format!(
            "{length} items, but {counter} says another number, which counts the lists of this and other columns: \
             counters={{{column:?}: \"own\"}} of a layout gives it a counter of its own"
        )
    }
}

impl TableColumns {
    /// The slices of a batch that are converted at once. Errors count its entries from `first_entry` on.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for other columns than the table has, and for a value that its index does not hold;
    /// [`Error::Value`] as [`TableColumns::check_counts`].
    pub(crate) fn slices(&self, batch: &RecordBatch, first_entry: u64) -> Result<Vec<RecordBatch>> {
        self.check_counts(batch, first_entry)?;
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
        let slices = self.slices(batch, first_entry)?;
        let stored = slices.iter().map(|slice| {
            let stored = self.store(slice, first_entry)?;
            first_entry += slice.num_rows() as u64;
            Ok((stored, slice.num_rows()))
        });
        stored.collect()
    }

    /// That the lists of columns that share a counter have as many items as it says, in all entries of a batch: before some
    /// of them are taken. Lists in other forms than Arrow's usual one are looked at later.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for other columns than the table has; [`Error::Value`] for the first entry that differs.
    pub(crate) fn check_counts(&self, batch: &RecordBatch, first_entry: u64) -> Result<()> {
        self.check(batch)?;
        for SharedCounter { column, other, counter } in &self.shared {
            let (Some(own), Some(counted)) = (Counts::of(batch.column(*column)), Counts::of(batch.column(*other)))
            else {
                continue;
            };
            if let Some(entry) = own.first_difference(&counted) {
                let column = self.columns[*column].name.clone();
                let what = SharedCounter::refusal(&column, own.get(entry), counter);
                return Err(Error::Value { column, entry: first_entry + entry as u64, what });
            }
        }
        Ok(())
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

/// The lengths of lists, or the numbers that say them.
enum Counts<'a> {
    Offsets32(&'a [i32]),
    Offsets64(&'a [i64]),
    Signed(&'a [i32]),
    Unsigned(&'a [u32]),
}

impl<'a> Counts<'a> {
    /// `None` for values in other forms, and where some are missing.
    fn of(array: &'a Arc<dyn Array>) -> Option<Counts<'a>> {
        if array.null_count() > 0 {
            return None;
        }
        Some(match array.data_type() {
            ArrowType::List(_) => Counts::Offsets32(array.as_list::<i32>().value_offsets()),
            ArrowType::LargeList(_) => Counts::Offsets64(array.as_list::<i64>().value_offsets()),
            ArrowType::Int32 => Counts::Signed(array.as_primitive::<Int32Type>().values()),
            ArrowType::UInt32 => Counts::Unsigned(array.as_primitive::<UInt32Type>().values()),
            _ => return None,
        })
    }

    fn len(&self) -> usize {
        match self {
            Counts::Offsets32(offsets) => offsets.len().saturating_sub(1),
            Counts::Offsets64(offsets) => offsets.len().saturating_sub(1),
            Counts::Signed(numbers) => numbers.len(),
            Counts::Unsigned(numbers) => numbers.len(),
        }
    }

    /// The number of an entry; of one that says no length, one that no list has.
    fn get(&self, entry: usize) -> usize {
        let count = match self {
            Counts::Offsets32(offsets) => i64::from(offsets[entry + 1]) - i64::from(offsets[entry]),
            Counts::Offsets64(offsets) => offsets[entry + 1].wrapping_sub(offsets[entry]),
            Counts::Signed(numbers) => i64::from(numbers[entry]),
            Counts::Unsigned(numbers) => i64::from(numbers[entry]),
        };
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    fn first_difference(&self, other: &Counts<'_>) -> Option<usize> {
        let is_same = match (self, other) {
            (Counts::Offsets32(own), Counts::Offsets32(other)) => std::ptr::eq(*own, *other) || own == other,
            (Counts::Offsets64(own), Counts::Offsets64(other)) => std::ptr::eq(*own, *other) || own == other,
            _ => false,
        };
        let mut entries = 0..self.len().min(other.len());
        if is_same { None } else { entries.find(|&entry| self.get(entry) != other.get(entry)) }
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
