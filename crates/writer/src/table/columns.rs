//! The columns of a table, and batches as they store them.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType as ArrowType;
use arrowroot_arrow::Stored;
use arrowroot_arrow::stored::{BranchForm, PlannedBranch, SharedOffsets, Sizes, StoreError, is_folded, store_beside};
use arrowroot_format::column::DataType;

use crate::check::Check;
use crate::cutter::{PART_BYTES, first_with};
use crate::error::{Error, Result};
use crate::precision::with_mantissas;
use crate::tree::IndexValues;

/// Entries of a batch from which one piece after the other is converted, unless it is a small one: what they share no memory with is
/// not made for all of them at once. A piece has so many entries
const MIN_ENTRIES: usize = 1024;
/// or about so many bytes,
const PIECE_BYTES: u64 = 16 << 20;
/// and values of no bytes are not in it without end.
const MAX_ENTRIES: usize = 4 << 20;
/// Runs, dictionaries and views become at most about so much at once, or one entry does.
const UNFOLDED_BYTES: u64 = 64 << 20;
/// An entry that becomes more is in memory so often until it is written.
const N_COPIES: u64 = 4;

/// Some entries in the order of the columns.
#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) n_entries: usize,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Stored(Vec<Stored>),
    /// They would take much more memory: they are converted when it is their turn. With the number of the first entry.
    Folded(RecordBatch, u64),
}

impl Slice {
    /// The memory that they take here.
    pub(crate) fn held_bytes(&self) -> u64 {
        match &self.values {
            Values::Stored(columns) => {
                columns.iter().map(|column| column.held_bytes(0..self.n_entries) + PART_BYTES).sum::<u64>()
            }
            Values::Folded(batch, _) => batch.num_columns() as u64 * PART_BYTES,
        }
    }

    /// The values of the columns.
    ///
    /// # Errors
    /// [`Error::Store`] if they are others than they were when they were [checked](TableColumns::store_all).
    pub(crate) fn stored(&mut self, of: &TableColumns) -> Result<&mut Vec<Stored>> {
        if let Values::Folded(batch, first_entry) = &self.values {
            self.values = Values::Stored(of.store(batch, *first_entry)?);
        }
        match &mut self.values {
            Values::Stored(columns) => Ok(columns),
            Values::Folded(..) => Err(Error::Closed { what: "a piece".to_owned() }),
        }
    }
}

/// A column, as values are stored in it.
#[derive(Debug)]
pub(crate) struct StoredColumn {
    pub(crate) name: String,
    /// The column whose values these are, to the left of the names of members: of a member that came up later, its record's.
    pub(crate) root: String,
    pub(crate) data_type: DataType,
    /// Its numbers have at most so many bits of mantissa; `None`: all that they have.
    pub(crate) mantissa_bits: Option<u8>,
    /// Refuses values that its field does not hold.
    pub(crate) check: Option<Check>,
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
    /// The pieces of a batch that are converted at once. Errors count its entries from `first_entry` on.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for other columns than the table has, and for a value that its index does not hold;
    /// [`Error::Value`] as [`TableColumns::check_counts`].
    pub(crate) fn pieces<'b>(&self, batch: &'b RecordBatch, first_entry: u64) -> Result<BatchPieces<'b>> {
        self.check_counts(batch, first_entry)?;
        self.index.as_ref().map_or(Ok(()), |index| index.check(batch))?;
        Ok(BatchPieces::of(batch, first_entry))
    }

    /// Converts a slice; errors count its entries from `first_entry` on.
    pub(crate) fn store(&self, slice: &RecordBatch, first_entry: u64) -> Result<Vec<Stored>, StoreError> {
        let mut offsets = SharedOffsets::of_columns(self.columns.len());
        let columns = self.columns.iter().zip(slice.columns());
        columns
            .map(|(StoredColumn { name, root, data_type, mantissa_bits, check }, array)| {
                let stored = store_beside(&mut offsets, root, array, data_type)
                    .map_err(|error| error.with_entry(|entry| entry + first_entry))?;
                if let Some(Err((entry, what))) = check.as_ref().map(|check| check.look_at(&stored)) {
                    let (column, entry) = (name.clone(), first_entry + entry as u64);
                    return Err(StoreError::NoSuchValue { column, entry, what });
                }
                Ok(match mantissa_bits {
                    Some(n_bits) => with_mantissas(stored, 0..array.len(), *n_bits),
                    None => stored,
                })
            })
            .collect()
    }

    /// Converts a batch as a whole, or checks that it can be where that takes much more memory than the batch has.
    /// `goes_on`: an error to end it with, asked for in between.
    ///
    /// # Errors
    /// As [`TableColumns::pieces`], and those of values that cannot be stored. Nothing is taken then.
    pub(crate) fn store_all(
        &self,
        batch: &RecordBatch,
        first_entry: u64,
        goes_on: impl Fn() -> Result<()>,
    ) -> Result<VecDeque<Slice>> {
        let pieces = self.pieces(batch, first_entry)?;
        let is_large = pieces.unfolded_bytes() > UNFOLDED_BYTES;
        let mut first_entry = first_entry;
        let slices = pieces.map(|piece| {
            goes_on()?;
            let piece = piece?;
            let (n_entries, first) = (piece.num_rows(), first_entry);
            let stored = self.store(&piece, first)?;
            first_entry += n_entries as u64;
            let values = if is_large { Values::Folded(piece, first) } else { Values::Stored(stored) };
            Ok(Slice { n_entries, values })
        });
        slices.collect()
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

/// A batch, piece by piece.
#[derive(Debug)]
pub(crate) struct BatchPieces<'b> {
    batch: &'b RecordBatch,
    /// The number of its first entry, for errors.
    first_entry: u64,
    start: usize,
    /// Of all columns; none for a batch that is one piece.
    all: Vec<Sizes>,
    /// Columns whose values are stored in more bytes than they have.
    folded: Vec<usize>,
}

impl<'b> BatchPieces<'b> {
    fn of(batch: &'b RecordBatch, first_entry: u64) -> Self {
        let fields = batch.columns().iter().enumerate();
        let folded: Vec<usize> =
            fields.filter(|(_, column)| is_folded(column.data_type())).map(|(place, _)| place).collect();
        let is_one = batch.num_rows() <= MIN_ENTRIES && folded.is_empty();
        let all = if is_one { Vec::new() } else { batch.columns().iter().map(|column| Sizes::of(column)).collect() };
        BatchPieces { batch, first_entry, start: 0, all, folded }
    }

    /// Bytes that all columns become of which the values take more memory then.
    fn unfolded_bytes(&self) -> u64 {
        self.bytes(self.folded.iter().copied(), self.batch.num_rows())
    }

    /// Bytes that so many entries become, in some columns.
    fn bytes(&self, columns: impl Iterator<Item = usize>, n_entries: usize) -> u64 {
        let of_column =
            |column: usize| self.all.get(column).map_or(0, |sizes| sizes.between(self.start, self.start + n_entries));
        columns.map(of_column).fold(0, u64::saturating_add)
    }

    /// How many entries are the next piece.
    fn n_next(&self) -> usize {
        let n_most = (self.batch.num_rows() - self.start).min(MAX_ENTRIES);
        let all = |n| self.bytes(0..self.all.len(), n);
        let n_all = if all(n_most) > PIECE_BYTES { first_with(n_most, |n| all(n) > PIECE_BYTES) - 1 } else { n_most };
        let folded = |n| self.bytes(self.folded.iter().copied(), n);
        let n_folded = match n_most {
            _ if self.folded.is_empty() => n_most,
            _ if folded(n_most) > UNFOLDED_BYTES => first_with(n_most, |n| folded(n) > UNFOLDED_BYTES) - 1,
            n_most => n_most,
        };
        n_all.max(MIN_ENTRIES).min(n_folded.max(1)).min(n_most)
    }

    /// That there may be memory for what the next entry becomes.
    fn check_room(&self) -> Result<()> {
        let largest = self.folded.iter().max_by_key(|&&column| self.bytes(std::iter::once(column), 1));
        let Some(&column) = largest else { return Ok(()) };
        let n_bytes = self.bytes(self.folded.iter().copied(), 1);
        let needed = usize::try_from(n_bytes.saturating_mul(N_COPIES)).unwrap_or(usize::MAX);
        if n_bytes <= UNFOLDED_BYTES || Vec::<u8>::new().try_reserve_exact(needed).is_ok() {
            return Ok(());
        }
        Err(Error::Value {
            column: self.batch.schema_ref().field(column).name().clone(),
            entry: self.first_entry + self.start as u64,
            what: format!(
                "it becomes {n_bytes} bytes, as runs, dictionaries and views are written value by value, and there is no memory for \
                 that: make it several entries"
            ),
        })
    }
}

impl Iterator for BatchPieces<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.start >= self.batch.num_rows() {
            return None;
        }
        if let Err(error) = self.check_room() {
            self.start = self.batch.num_rows();
            return Some(Err(error));
        }
        let n_entries = self.n_next();
        let piece = self.batch.slice(self.start, n_entries);
        self.start += n_entries;
        Some(Ok(piece))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array, LargeListViewArray, ListViewArray, RunArray, StructArray};
    use arrow_schema::Field;

    use super::*;

    fn lengths(columns: Vec<(&str, ArrayRef)>) -> Vec<usize> {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        BatchPieces::of(&batch, 0).map(|piece| piece.unwrap().num_rows()).collect()
    }

    #[test]
    fn large_batches_are_taken_in_pieces() {
        let numbers = |n_entries| -> ArrayRef { Arc::new(Int64Array::from_iter_values(0..n_entries)) };
        assert_eq!(lengths(vec![("x", numbers(10))]), [10]);
        assert_eq!(lengths(vec![("x", numbers(0))]), [0; 0]);
        let many = numbers(5_000_000);
        assert_eq!(lengths(vec![("x", Arc::clone(&many))]), [2 << 20, 2 << 20, 5_000_000 - (4 << 20)]);
        // Only what is in a slice counts.
        assert_eq!(lengths(vec![("x", many.slice(5, 2 << 20))]), [2 << 20]);
        let nothing: ArrayRef = Arc::new(StructArray::new_empty_fields((1 << 40) + 1, None));
        let batch = RecordBatch::try_from_iter([("x", nothing)]).unwrap();
        assert_eq!(BatchPieces::of(&batch, 0).next().unwrap().unwrap().num_rows(), MAX_ENTRIES);
    }

    #[test]
    fn what_is_said_once_for_many_entries_is_cut_by_what_it_becomes() {
        let runs = RunArray::try_new(&Int64Array::from(vec![3, (1 << 31) - 2]), &Int64Array::from(vec![1, 2])).unwrap();
        let batch = RecordBatch::try_from_iter([("x", Arc::new(runs) as ArrayRef)]).unwrap();
        let mut pieces = BatchPieces::of(&batch, 0);
        assert_eq!(pieces.unfolded_bytes(), ((1 << 31) - 2) * 8);
        assert_eq!(pieces.next().unwrap().unwrap().num_rows(), 2 << 20);
        // The first entry is long, and those behind it are short.
        let items: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1 << 20));
        let field = Arc::new(Field::new("item", ArrowType::Int64, false));
        let sizes = [&[1 << 20; 10][..], &[1; 2000]].concat();
        let views = |sizes: &[i32]| -> ArrayRef {
            let starts = vec![0; sizes.len()].into();
            Arc::new(ListViewArray::new(Arc::clone(&field), starts, sizes.to_vec().into(), Arc::clone(&items), None))
        };
        assert_eq!(lengths(vec![("x", views(&sizes))]), [7, 1024, 979]);
        // Numbers beside of them change nothing.
        assert_eq!(
            lengths(vec![("x", views(&sizes)), ("y", Arc::new(Int64Array::from(vec![1; 2010])))]),
            [7, 1024, 979]
        );
        assert_eq!(lengths(vec![("x", views(&[1 << 20; 9]))]), [7, 2]);
    }

    #[test]
    fn an_entry_for_which_there_is_no_memory_is_refused() {
        let field = |of: &ArrayRef| Arc::new(Field::new("item", of.data_type().clone(), false));
        let views = |of: ArrayRef, n_lists: usize| -> ArrayRef {
            let n_items = i64::try_from(of.len()).unwrap();
            let (starts, sizes) = (vec![0; n_lists].into(), vec![n_items; n_lists].into());
            Arc::new(LargeListViewArray::new(field(&of), starts, sizes, of, None))
        };
        let items: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1 << 16));
        let much = views(views(views(views(items, 1 << 16), 1 << 16), 1 << 16), 2);
        let batch = RecordBatch::try_from_iter([("y", views(Arc::new(Int64Array::from(vec![0])), 2)), ("x", much)]);
        let error = BatchPieces::of(&batch.unwrap(), 5).next().unwrap().unwrap_err();
        let Error::Value { column, entry, what } = error else { panic!("{error}") };
        assert!(column == "x" && entry == 5 && what.contains("becomes 18446744073709551615 bytes"), "{what}");
    }
}
