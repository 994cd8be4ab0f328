//! A batch while it is filled: the memory of its columns, and who writes which part.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array, make_array};
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take;
use arrowroot_arrow::{Fault, TextForm, arrays};
use arrowroot_file::{Error, Result};
use arrowroot_format::column::{EntryForm, Header};
use arrowroot_format::decode::kernels::pack_bools;
use arrowroot_format::streamer::Primitive;

use super::parts::Parts;
use super::plan::{ReadBranch, item_bytes, leader_of, product};
use crate::memory::{
    Arena, Column, Edges, Lease, complete, incomplete, lease_whole_bytes, lease_zeros, set_edges, shown, too_large,
    too_many_entries,
};
use crate::scan::BatchEntries;

/// How much more than estimated is set aside for lists: growing means a copy.
const SLACK: f64 = 1.05;
/// Memory is set aside for no more uncompressed bytes to a byte in the file: the metadata of a file may be wrong.
const MAX_ASSUMED_RATIO: f64 = 64.0;

/// What a column of a batch is collected in.
enum Filling {
    /// Numbers at places known from the entry alone.
    Fixed { values: Column, entry_bytes: usize },
    /// Bools at such places, as bits.
    Bits { values: Column, entry_bits: usize, n_bits: usize, edges: Arc<Edges> },
    /// Lists of numbers: ends at places known from the entry, items after those of the baskets before.
    Lists { ends: Ends, values: Column, item_bytes: usize, n_items: usize, is_bool: bool },
    /// Values of each basket apart, in the order of the baskets.
    Collected { parts: Arc<Parts>, n_parts: usize },
}

/// The ends of the lists of a column.
enum Ends {
    /// Its own, and the number of entries so far.
    Own(Column),
    /// Those of another column with the same counter. What the baskets hold is compared with them in the end: entries
    /// and items so far, after each basket.
    Of { leader: usize, baskets: Vec<(usize, usize)> },
}

/// Where the values of one basket go.
pub(crate) enum BasketTarget {
    /// Numbers.
    Fixed(Lease),
    /// Bools as bits: those of whole bytes, and the edges.
    Bits { start_bit: usize, whole: Lease, edges: Arc<Edges> },
    /// Lists: ends, if they are not those of another column, and items of which the first has number `base`.
    Lists { ends: Option<Lease>, values: Lease, base: u32 },
    /// Anything else.
    Collected { part: usize, parts: Arc<Parts> },
}

/// The memory of a batch while it is filled.
pub(crate) struct Builder {
    entries: BatchEntries,
    schema: SchemaRef,
    fillings: Vec<Filling>,
    arena: Arena,
    text: TextForm,
}

impl Builder {
    pub(crate) fn new(
        columns: &[ReadBranch],
        entries: &BatchEntries,
        schema: &SchemaRef,
        text: TextForm,
    ) -> Result<Builder> {
        let n_entries = match entries {
            BatchEntries::Range(range) => range.end - range.start,
            BatchEntries::List { sorted, .. } => sorted.len() as u64,
        };
        let n_entries = usize::try_from(n_entries).map_err(|_| too_large())?;
        let sized = sized(columns, entries, n_entries);
        let mut arena = Arena::new(sized.iter().flat_map(|(_, sizes)| *sizes));
        let mut fillings = Vec::with_capacity(columns.len());
        for (column, (leader, _)) in columns.iter().zip(sized) {
            fillings.push(filling(&mut arena, column, entries, n_entries, leader)?);
        }
        Ok(Builder { entries: entries.clone(), schema: schema.clone(), fillings, arena, text })
    }

    /// The entries of the batch.
    pub(crate) fn entries(&self) -> &BatchEntries {
        &self.entries
    }

    /// Whether the items of the column's lists can be placed before they are decoded.
    pub(crate) fn places_items(&self, column: usize) -> bool {
        matches!(self.fillings[column], Filling::Lists { .. })
    }

    /// Whether the ends of the column's lists are those of another column.
    pub(crate) fn shares_ends(&self, column: usize) -> bool {
        matches!(self.fillings[column], Filling::Lists { ends: Ends::Of { .. }, .. })
    }

    /// Sets aside the place for a basket's `n_entries` entries that hold `n_items` items of lists.
    ///
    /// `None` if there is no room left and leases are still in use: finish these and ask again.
    pub(crate) fn place(&mut self, column: usize, n_entries: usize, n_items: usize) -> Result<Option<BasketTarget>> {
        let arena = &mut self.arena;
        match &mut self.fillings[column] {
            Filling::Fixed { values, entry_bytes } => {
                let n_bytes = n_entries.checked_mul(*entry_bytes).ok_or_else(too_large)?;
                values.lease(n_bytes).map(|lease| Some(BasketTarget::Fixed(lease))).ok_or_else(too_many_entries)
            }
            Filling::Bits { values, entry_bits, n_bits, edges } => {
                let start_bit = *n_bits;
                let end_bit = n_entries.checked_mul(*entry_bits).and_then(|more| start_bit.checked_add(more));
                *n_bits = end_bit.ok_or_else(too_large)?;
                let whole = lease_whole_bytes(values, start_bit, *n_bits)?;
                Ok(Some(BasketTarget::Bits { start_bit, whole, edges: Arc::clone(edges) }))
            }
            Filling::Lists { ends, values, item_bytes, n_items: before, .. } => {
                let n_bytes = n_items.checked_mul(*item_bytes).ok_or_else(too_large)?;
                if n_bytes > values.left() && !grow(arena, values, n_bytes)? {
                    return Ok(None);
                }
                let base = u32::try_from(*before).map_err(|_| Error::BatchTooLong)?;
                if *before + n_items > i32::MAX as usize {
                    return Err(Error::BatchTooLong);
                }
                let lease = values.lease(n_bytes).ok_or_else(too_large)?;
                *before += n_items;
                let ends = match ends {
                    Ends::Own(ends) => Some(ends.lease(n_entries * 4).ok_or_else(too_many_entries)?),
                    Ends::Of { baskets, .. } => {
                        let entries_before = baskets.last().map_or(0, |&(n_before, _)| n_before);
                        baskets.push((entries_before + n_entries, *before));
                        None
                    }
                };
                Ok(Some(BasketTarget::Lists { ends, values: lease, base }))
            }
            Filling::Collected { parts, n_parts } => {
                *n_parts += 1;
                Ok(Some(BasketTarget::Collected { part: *n_parts - 1, parts: Arc::clone(parts) }))
            }
        }
    }

    /// Ends the filling, when all baskets are done. `url` is for errors.
    pub(crate) fn seal(self, columns: &[ReadBranch], url: &str) -> Result<DecodedBatch> {
        let Builder { entries, schema, text, fillings, .. } = self;
        let n_entries = match &entries {
            BatchEntries::Range(_) => usize::try_from(entries.n_delivered()).map_err(|_| too_large())?,
            BatchEntries::List { sorted, .. } => sorted.len(),
        };
        let mut n_shared = 0;
        // A leader comes before those that share its ends.
        let mut all_ends: HashMap<usize, Buffer> = HashMap::new();
        let mut sealed = Vec::with_capacity(columns.len());
        for (index, (filling, column)) in fillings.into_iter().zip(columns).enumerate() {
            // A buffer that two columns share counts once.
            if matches!(filling, Filling::Lists { ends: Ends::Of { .. }, .. }) {
                n_shared += n_entries * 4 + 4;
            }
            let finishing = Finishing { column, index, entries: &entries, n_entries, text, url };
            sealed.push(finishing.seal(filling, &mut all_ends)?);
        }
        Ok(DecodedBatch { schema, entries, n_entries, text, n_shared, columns: sealed })
    }
}

/// A batch all of whose baskets are decoded.
pub(crate) struct DecodedBatch {
    schema: SchemaRef,
    entries: BatchEntries,
    n_entries: usize,
    text: TextForm,
    /// Bytes that columns share with others.
    n_shared: usize,
    columns: Vec<SealedColumn>,
}

/// A column of it.
enum SealedColumn {
    Array(ArrayRef),
    /// Values of each basket apart.
    Collected(Arc<Parts>),
}

impl DecodedBatch {
    pub(crate) fn slow_columns(&self) -> Vec<usize> {
        let is_ordered = matches!(self.entries, BatchEntries::List { order: Some(_), .. });
        let slow = self.columns.iter().map(|column| is_ordered || matches!(column, SealedColumn::Collected(_)));
        slow.enumerate().filter_map(|(index, is_slow)| is_slow.then_some(index)).collect()
    }

    /// The array of a column.
    pub(crate) fn column(&self, branches: &[ReadBranch], url: &str, index: usize) -> Result<ArrayRef> {
        let DecodedBatch { entries, n_entries, text, .. } = self;
        let (column, n_entries, text) = (&branches[index], *n_entries, *text);
        let array = match &self.columns[index] {
            SealedColumn::Array(array) => Arc::clone(array),
            SealedColumn::Collected(parts) => {
                Finishing { column, index, entries, n_entries, text, url }.collect(parts)?
            }
        };
        match entries {
            BatchEntries::List { order: Some(order), .. } => {
                take(&array, &UInt64Array::from(order.clone()), None).map_err(|_| Error::BatchTooLong)
            }
            _ => Ok(array),
        }
    }

    /// The batch, of columns that are `made` and others that take no time. Returns it and the bytes in its buffers.
    pub(crate) fn join(
        &self,
        branches: &[ReadBranch],
        url: &str,
        mut made: HashMap<usize, ArrayRef>,
    ) -> Result<(RecordBatch, u64)> {
        let columns = 0..self.columns.len();
        let arrays = columns.map(|index| made.remove(&index).map_or_else(|| self.column(branches, url, index), Ok));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let n_bytes: usize = arrays.iter().map(|array| array.get_buffer_memory_size()).sum();
        let n_rows = usize::try_from(self.entries.n_delivered()).map_err(|_| too_large())?;
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(n_rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map(|batch| (batch, n_bytes.saturating_sub(self.n_shared) as u64))
            .map_err(|error| Error::Internal { what: format!("{url}: a batch: {error}") })
    }
}

/// For each column the one that has the ends of its lists, if not itself, and the sizes of its buffers without those.
fn sized(columns: &[ReadBranch], entries: &BatchEntries, n_entries: usize) -> Vec<(Option<usize>, [usize; 2])> {
    let mut leaders = HashMap::new();
    let sized = columns.iter().enumerate().map(|(index, column)| {
        let leader = leader_of(column, index, &mut leaders);
        let [ends_or_values, values] = sizes(column, entries, n_entries);
        (leader, [if leader.is_none() { ends_or_values } else { 0 }, values])
    });
    sized.collect()
}

/// Bytes of the buffers of a column, roughly: ends and values of lists, or values alone.
fn sizes(column: &ReadBranch, entries: &BatchEntries, n_entries: usize) -> [usize; 2] {
    match (column.form(), entries) {
        (Some(EntryForm::Fixed { number, dims }), _) => {
            let entry_bytes = product(dims).saturating_mul(number.in_memory().stored_bytes());
            let is_bool = number.primitive == Primitive::Bool;
            let n_bytes = n_entries.saturating_mul(entry_bytes);
            [if is_bool { n_bytes.div_ceil(8) } else { n_bytes }, 0]
        }
        (Some(EntryForm::Jagged { header, number, .. }), BatchEntries::Range(range)) if !number.is_packed() => {
            [n_entries.saturating_mul(4).saturating_add(4), estimated_bytes(column, range, *header)]
        }
        _ => [0, 0],
    }
}

fn filling(
    arena: &mut Arena,
    column: &ReadBranch,
    entries: &BatchEntries,
    n_entries: usize,
    leader: Option<usize>,
) -> Result<Filling> {
    let sized = |item_bytes: usize| n_entries.checked_mul(item_bytes).ok_or_else(too_large);
    Ok(match (column.form(), entries) {
        (Some(EntryForm::Fixed { number, dims }), _) if number.primitive == Primitive::Bool => {
            let entry_bits = product(dims);
            let n_bytes = sized(entry_bits)?.div_ceil(8);
            Filling::Bits { values: arena.column(n_bytes)?, entry_bits, n_bits: 0, edges: Arc::default() }
        }
        (Some(EntryForm::Fixed { number, dims }), _) => {
            let entry_bytes = product(dims).saturating_mul(number.in_memory().stored_bytes());
            Filling::Fixed { values: arena.column(sized(entry_bytes)?)?, entry_bytes }
        }
        (Some(EntryForm::Jagged { header, number, dims }), BatchEntries::Range(range)) if !number.is_packed() => {
            let item_bytes = product(dims).saturating_mul(number.stored_bytes()).max(1);
            let ends = match leader {
                Some(leader) => Ends::Of { leader, baskets: Vec::new() },
                None => {
                    let mut ends = arena.column(sized(4)?.checked_add(4).ok_or_else(too_large)?)?;
                    lease_zeros(&mut ends, 4); // the end before the first list
                    Ends::Own(ends)
                }
            };
            let values = arena.column(estimated_bytes(column, range, *header).next_multiple_of(64))?;
            Filling::Lists { ends, values, item_bytes, n_items: 0, is_bool: number.primitive == Primitive::Bool }
        }
        _ => Filling::Collected { parts: Arc::new(Parts::new(n_entries)), n_parts: 0 },
    })
}

/// Bytes that the items of a range may take: the baskets in it, times the usual compression of the branch.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
fn estimated_bytes(column: &ReadBranch, range: &std::ops::Range<u64>, header: Header) -> usize {
    let touched =
        column.planned.pieces.iter().filter(|basket| basket.first_entry < range.end && range.start < basket.entry_end);
    let bytes: f64 = touched
        .map(|basket| {
            let n_entries = (basket.entry_end - basket.first_entry) as f64;
            let shared = basket.entry_end.min(range.end) - basket.first_entry.max(range.start);
            let payload = f64::from(basket.stored_bytes) * column.planned.ratio.min(MAX_ASSUMED_RATIO);
            item_bytes(basket, payload, header) * (shared as f64 / n_entries.max(1.0))
        })
        .sum();
    (bytes * SLACK) as usize + 4096
}

/// Moves a column to a larger place; `false` if somebody still writes to it.
fn grow(arena: &mut Arena, column: &mut Column, n_more: usize) -> Result<bool> {
    let used = column.used();
    let Some(written) = column.written() else { return Ok(false) };
    let mut larger = arena.column((used + n_more).saturating_mul(3) / 2 + 4096)?;
    if let Some(mut lease) = larger.lease(used) {
        lease.copy_from_slice(written);
    }
    *column = larger;
    Ok(true)
}

/// Makes the array of one column.
struct Finishing<'a> {
    column: &'a ReadBranch,
    index: usize,
    entries: &'a BatchEntries,
    n_entries: usize,
    text: TextForm,
    url: &'a str,
}

impl Finishing<'_> {
    fn seal(&self, filling: Filling, all_ends: &mut HashMap<usize, Buffer>) -> Result<SealedColumn> {
        let (primitive, dims): (Primitive, &[u32]) = match self.column.form() {
            Some(EntryForm::Fixed { number, dims } | EntryForm::Jagged { number, dims, .. }) => {
                (number.in_memory(), dims)
            }
            _ => (Primitive::UInt8, &[]),
        };
        let numbers = |n_values: usize, buffer: Buffer| {
            arrays::numbers(primitive, dims, n_values, buffer).map_err(|error| self.of_arrow(error))
        };
        let array = match filling {
            Filling::Fixed { values, entry_bytes } => {
                if values.used() != self.n_entries * entry_bytes {
                    return Err(too_many_entries());
                }
                numbers(self.n_entries, complete(values)?).map(make_array)
            }
            Filling::Bits { mut values, edges, .. } => {
                let left = values.left();
                lease_zeros(&mut values, left);
                set_edges(values.written().ok_or_else(incomplete)?, &edges);
                numbers(self.n_entries, complete(values)?).map(make_array)
            }
            Filling::Lists { ends, values, n_items, is_bool, .. } => {
                let ends = self.list_ends(ends, all_ends)?;
                let mut buffer = complete(values)?;
                if is_bool {
                    let mut bits = vec![0; buffer.len().div_ceil(8)];
                    pack_bools(&buffer, &mut bits);
                    buffer = bits.into();
                }
                let lists = arrays::lists(self.n_entries, ends, numbers(n_items, buffer)?);
                lists.map(make_array).map_err(|error| self.of_arrow(error))
            }
            Filling::Collected { parts, .. } => return Ok(SealedColumn::Collected(parts)),
        };
        array.map(SealedColumn::Array)
    }

    fn of_arrow(&self, error: ArrowError) -> Error {
        self.corrupt(error.to_string())
    }

    fn corrupt(&self, what: String) -> Error {
        let source = arrowroot_format::Error::corrupt(0, what);
        Error::Format { url: self.url.to_owned(), object: self.column.planned.path.clone(), source }
    }

    /// The ends of the column's lists, its own or those of its leader.
    fn list_ends(&self, ends: Ends, all_ends: &mut HashMap<usize, Buffer>) -> Result<Buffer> {
        match ends {
            Ends::Own(ends) => {
                if ends.used() != self.n_entries * 4 + 4 {
                    return Err(too_many_entries());
                }
                let buffer = complete(ends)?;
                all_ends.insert(self.index, buffer.clone());
                Ok(buffer)
            }
            Ends::Of { leader, baskets } => {
                let buffer = all_ends.get(&leader).cloned().ok_or_else(incomplete)?;
                let ends = buffer.typed_data::<i32>();
                for &(n_entries, n_items) in &baskets {
                    let counted = ends.get(n_entries).map_or(-1, |&end| i64::from(end));
                    if usize::try_from(counted) != Ok(n_items) {
                        return Err(self.corrupt(format!(
                            "{n_items} items in the first {n_entries} entries, where the counter says {counted}"
                        )));
                    }
                }
                if baskets.last().map_or(0, |&(n_entries, _)| n_entries) != self.n_entries {
                    return Err(too_many_entries());
                }
                Ok(buffer)
            }
        }
    }

    fn collect(&self, parts: &Parts) -> Result<ArrayRef> {
        let data_type = self.column.column.data_type().ok_or_else(incomplete)?;
        let of_format =
            |source| Error::Format { url: self.url.to_owned(), object: self.column.planned.path.clone(), source };
        let all = parts.finish(&data_type).map_err(of_format)?;
        if all.len() != self.n_entries {
            return Err(too_many_entries());
        }
        arrays::values(all, self.text).map_err(|fault| match fault {
            Fault::Arrow(error) => self.of_arrow(error),
            Fault::Format(source) => of_format(source),
            Fault::Text { index, text } => Error::InvalidText {
                url: self.url.to_owned(),
                object: self.column.planned.path.clone(),
                entry: self.entries.number(index),
                text: shown(&text),
            },
        })
    }
}

impl BasketTarget {
    /// Bytes set aside; what is collected apart is not known before.
    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            BasketTarget::Fixed(lease) | BasketTarget::Bits { whole: lease, .. } => lease.len(),
            BasketTarget::Lists { ends, values, .. } => ends.as_ref().map_or(0, |ends| ends.len()) + values.len(),
            BasketTarget::Collected { .. } => 0,
        }
    }
}
