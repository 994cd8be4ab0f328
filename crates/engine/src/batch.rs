//! A batch while it is filled: the memory of its columns, and who writes which part.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, RecordBatch, UInt64Array, make_array};
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take;
use arrowroot_format::column::{Counter, EntryForm, Header};
use arrowroot_format::decode::kernels::pack_bools;
use arrowroot_format::streamer::Primitive;
use arrowroot_format::tree::BasketLocation;

use crate::assemble;
use crate::cut::Density;
use crate::error::{Error, Result};
use crate::memory::{Arena, Column, Slot};
use crate::parts::Parts;
use crate::plan::{BatchEntries, PlannedColumn};
use crate::text::{Fault, TextForm};

/// How much more than estimated is set aside for lists: growing means a copy.
const SLACK: f64 = 1.05;
/// Memory is set aside for no more uncompressed bytes to a byte in the file: the metadata of a file may be wrong.
const MAX_ASSUMED_RATIO: f64 = 64.0;

/// What a column of a batch is collected in.
enum Sink {
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

/// Bits at the edges of a basket whose bytes another basket shares: bit offset and the bools, set when all are done.
pub(crate) type Edges = Mutex<Vec<(usize, Vec<u8>)>>;

/// Where the values of one basket go.
pub(crate) enum Target {
    /// Numbers.
    Fixed(Slot),
    /// Bools as bits: those of whole bytes, and the edges.
    Bits { start_bit: usize, whole: Slot, edges: Arc<Edges> },
    /// Lists: ends, if they are not those of another column, and items of which the first has number `base`.
    Lists { ends: Option<Slot>, values: Slot, base: u32 },
    /// Anything else.
    Collected { part: usize, parts: Arc<Parts> },
}

/// A batch that is being filled.
pub(crate) struct Builder {
    pub(crate) number: usize,
    entries: BatchEntries,
    schema: SchemaRef,
    sinks: Vec<Sink>,
    arena: Arena,
    text: TextForm,
    /// Baskets that are not done.
    pub(crate) open: Arc<AtomicUsize>,
    /// Bytes set aside so far.
    pub(crate) held_bytes: usize,
}

impl Builder {
    pub(crate) fn new(
        number: usize,
        columns: &[PlannedColumn],
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
        let mut sinks = Vec::with_capacity(columns.len());
        for (column, (leader, _)) in columns.iter().zip(sized) {
            sinks.push(sink(&mut arena, column, entries, n_entries, leader)?);
        }
        Ok(Builder {
            number,
            entries: entries.clone(),
            schema: schema.clone(),
            sinks,
            arena,
            text,
            open: Arc::new(AtomicUsize::new(0)),
            held_bytes: 0,
        })
    }

    /// The entries of the batch.
    pub(crate) fn entries(&self) -> &BatchEntries {
        &self.entries
    }

    /// Whether the items of the column's lists can be placed before they are decoded.
    pub(crate) fn places_items(&self, column: usize) -> bool {
        matches!(self.sinks[column], Sink::Lists { .. })
    }

    /// Whether the ends of the column's lists are those of another column.
    pub(crate) fn shares_ends(&self, column: usize) -> bool {
        matches!(self.sinks[column], Sink::Lists { ends: Ends::Of { .. }, .. })
    }

    /// Sets aside the place for a basket's `n_entries` entries that hold `n_items` items of lists.
    ///
    /// `None` if there is no room left and slots are still in use: finish these and ask again.
    pub(crate) fn place(&mut self, column: usize, n_entries: usize, n_items: usize) -> Result<Option<Target>> {
        self.open.fetch_add(1, Ordering::Relaxed);
        let target = self.try_place(column, n_entries, n_items);
        if !matches!(target, Ok(Some(_))) {
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
        target
    }

    fn try_place(&mut self, column: usize, n_entries: usize, n_items: usize) -> Result<Option<Target>> {
        let arena = &mut self.arena;
        match &mut self.sinks[column] {
            Sink::Fixed { values, entry_bytes } => {
                let n_bytes = n_entries.checked_mul(*entry_bytes).ok_or_else(too_large)?;
                values.lease(n_bytes).map(|slot| Some(Target::Fixed(slot))).ok_or_else(too_many_entries)
            }
            Sink::Bits { values, entry_bits, n_bits, edges } => {
                let start_bit = *n_bits;
                let end_bit = n_entries.checked_mul(*entry_bits).and_then(|more| start_bit.checked_add(more));
                *n_bits = end_bit.ok_or_else(too_large)?;
                let whole = lease_whole_bytes(values, start_bit, *n_bits)?;
                Ok(Some(Target::Bits { start_bit, whole, edges: Arc::clone(edges) }))
            }
            Sink::Lists { ends, values, item_bytes, n_items: before, .. } => {
                let n_bytes = n_items.checked_mul(*item_bytes).ok_or_else(too_large)?;
                if n_bytes > values.left() && !grow(arena, values, n_bytes)? {
                    return Ok(None);
                }
                let base = u32::try_from(*before).map_err(|_| Error::BatchTooLong)?;
                if *before + n_items > i32::MAX as usize {
                    return Err(Error::BatchTooLong);
                }
                let slot = values.lease(n_bytes).ok_or_else(too_large)?;
                *before += n_items;
                let ends = match ends {
                    Ends::Own(ends) => Some(ends.lease(n_entries * 4).ok_or_else(too_many_entries)?),
                    Ends::Of { baskets, .. } => {
                        let entries_before = baskets.last().map_or(0, |&(n_before, _)| n_before);
                        baskets.push((entries_before + n_entries, *before));
                        None
                    }
                };
                Ok(Some(Target::Lists { ends, values: slot, base }))
            }
            Sink::Collected { parts, n_parts } => {
                *n_parts += 1;
                Ok(Some(Target::Collected { part: *n_parts - 1, parts: Arc::clone(parts) }))
            }
        }
    }

    /// Makes the batch, when all baskets are done. Returns it and the bytes in its buffers.
    ///
    /// `url` is for errors.
    pub(crate) fn finish(self, columns: &[PlannedColumn], url: &str) -> Result<(RecordBatch, u64)> {
        let order = match &self.entries {
            BatchEntries::List { order: Some(order), .. } => Some(UInt64Array::from(order.clone())),
            _ => None,
        };
        let n_rows = usize::try_from(self.entries.n_delivered()).map_err(|_| too_large())?;
        let n_entries = match &self.entries {
            BatchEntries::Range(_) => n_rows,
            BatchEntries::List { sorted, .. } => sorted.len(),
        };
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
        let mut n_bytes = 0;
        // A leader comes before those that share its ends.
        let mut all_ends: HashMap<usize, Buffer> = HashMap::new();
        for (place, (sink, column)) in self.sinks.into_iter().zip(columns).enumerate() {
            // A buffer that two columns share counts once.
            let shared = if matches!(sink, Sink::Lists { ends: Ends::Of { .. }, .. }) { n_entries * 4 + 4 } else { 0 };
            let entries = &self.entries;
            let finishing = Finishing { column, place, entries, n_entries, text: self.text, url };
            let array = finishing.finish(sink, &mut all_ends)?;
            let array = match &order {
                Some(order) => take(&array, order, None).map_err(|_| Error::BatchTooLong)?,
                None => array,
            };
            n_bytes += array.get_buffer_memory_size().saturating_sub(shared) as u64;
            arrays.push(array);
        }
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(n_rows));
        RecordBatch::try_new_with_options(self.schema, arrays, &options)
            .map(|batch| (batch, n_bytes))
            .map_err(|error| Error::Internal { what: format!("{url}: a batch: {error}") })
    }
}

pub(crate) fn too_large() -> Error {
    Error::InvalidRequest { what: "a batch larger than the address space: set a smaller batch size".to_owned() }
}

fn too_many_entries() -> Error {
    Error::InvalidRequest { what: "baskets hold more entries than the branch says".to_owned() }
}

/// The start of a text, with what is no ASCII as `\x` and two digits.
pub(crate) fn shown(text: &[u8]) -> String {
    const MOST_BYTES: usize = 40;
    let start = text.get(..MOST_BYTES).unwrap_or(text).escape_ascii();
    if text.len() > MOST_BYTES { format!("{start}...") } else { start.to_string() }
}

/// Which column has the ends of the lists of this one, if not itself: both have the same counter.
fn leader_of(column: &PlannedColumn, place: usize, leaders: &mut HashMap<Counter, usize>) -> Option<usize> {
    let counter = match column.form() {
        Some(EntryForm::Jagged { header: Header::Nothing, number, .. }) if !number.is_packed() => {
            column.column()?.counter?
        }
        _ => return None,
    };
    let leader = *leaders.entry(counter).or_insert(place);
    (leader != place).then_some(leader)
}

fn product(dims: &[u32]) -> usize {
    dims.iter().fold(1_usize, |product, &dim| product.saturating_mul(dim as usize))
}

/// Bytes of the entries of a tree in memory, by where they are.
pub(crate) fn density(columns: &[PlannedColumn], n_entries: u64) -> Density {
    let mut leaders = HashMap::new();
    let mut each_bytes = 0.0;
    let mut in_baskets: Vec<(&PlannedColumn, Option<Header>)> = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        match column.form() {
            Some(EntryForm::Fixed { number, dims }) if number.primitive == Primitive::Bool => {
                each_bytes += product(dims) as f64 / 8.0;
            }
            Some(EntryForm::Fixed { number, dims }) => {
                each_bytes += product(dims).saturating_mul(number.in_memory().stored_bytes()) as f64;
            }
            Some(EntryForm::Jagged { header, number, .. }) if !number.is_packed() => {
                let has_ends = leader_of(column, place, &mut leaders).is_none();
                each_bytes += if has_ends { 4.0 } else { 0.0 };
                in_baskets.push((column, Some(*header)));
            }
            _ => in_baskets.push((column, None)),
        }
    }
    let mut density = Density::new(n_entries, each_bytes);
    for (column, header) in in_baskets {
        for basket in &column.baskets {
            let payload = f64::from(basket.stored_bytes) * column.ratio;
            let n_bytes = header.map_or(payload, |header| item_bytes(basket, payload, header));
            density.add(&(basket.first_entry..basket.entry_end), n_bytes);
        }
    }
    density
}

/// For each column the one that has the ends of its lists, if not itself, and the sizes of its buffers without those.
fn sized(columns: &[PlannedColumn], entries: &BatchEntries, n_entries: usize) -> Vec<(Option<usize>, [usize; 2])> {
    let mut leaders = HashMap::new();
    let sized = columns.iter().enumerate().map(|(place, column)| {
        let leader = leader_of(column, place, &mut leaders);
        let [ends_or_values, values] = sizes(column, entries, n_entries);
        (leader, [if leader.is_none() { ends_or_values } else { 0 }, values])
    });
    sized.collect()
}

/// Bytes of the buffers of a column, roughly: ends and values of lists, or values alone.
fn sizes(column: &PlannedColumn, entries: &BatchEntries, n_entries: usize) -> [usize; 2] {
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

fn sink(
    arena: &mut Arena,
    column: &PlannedColumn,
    entries: &BatchEntries,
    n_entries: usize,
    leader: Option<usize>,
) -> Result<Sink> {
    let sized = |item_bytes: usize| n_entries.checked_mul(item_bytes).ok_or_else(too_large);
    Ok(match (column.form(), entries) {
        (Some(EntryForm::Fixed { number, dims }), _) if number.primitive == Primitive::Bool => {
            let entry_bits = product(dims);
            let n_bytes = sized(entry_bits)?.div_ceil(8);
            Sink::Bits { values: arena.column(n_bytes)?, entry_bits, n_bits: 0, edges: Arc::default() }
        }
        (Some(EntryForm::Fixed { number, dims }), _) => {
            let entry_bytes = product(dims).saturating_mul(number.in_memory().stored_bytes());
            Sink::Fixed { values: arena.column(sized(entry_bytes)?)?, entry_bytes }
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
            Sink::Lists { ends, values, item_bytes, n_items: 0, is_bool: number.primitive == Primitive::Bool }
        }
        _ => Sink::Collected { parts: Arc::new(Parts::new(n_entries)), n_parts: 0 },
    })
}

/// Bytes of the items in a basket of lists whose payload has so many.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn item_bytes(basket: &BasketLocation, payload_bytes: f64, header: Header) -> f64 {
    // Headers and, behind them, entry offsets are in the basket, but not in the column.
    let overhead = (basket.entry_end - basket.first_entry) as f64 * (header.n_bytes() as f64 + 4.0);
    (payload_bytes - overhead).max(payload_bytes / 16.0)
}

/// Bytes that the items of a range may take: the baskets in it, times the usual compression of the branch.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
fn estimated_bytes(column: &PlannedColumn, range: &std::ops::Range<u64>, header: Header) -> usize {
    let touched =
        column.baskets.iter().filter(|basket| basket.first_entry < range.end && range.start < basket.entry_end);
    let bytes: f64 = touched
        .map(|basket| {
            let n_entries = (basket.entry_end - basket.first_entry) as f64;
            let shared = basket.entry_end.min(range.end) - basket.first_entry.max(range.start);
            let payload = f64::from(basket.stored_bytes) * column.ratio.min(MAX_ASSUMED_RATIO);
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
    if let Some(mut slot) = larger.lease(used) {
        slot.copy_from_slice(written);
    }
    *column = larger;
    Ok(true)
}

/// Takes bytes that no basket writes as a whole.
pub(crate) fn lease_zeros(column: &mut Column, n_bytes: usize) {
    if let Some(mut slot) = column.lease(n_bytes) {
        slot.fill(0);
    }
}

/// The bytes that hold only bits of `[start_bit, end_bit)`. A byte that two baskets share belongs to neither: its bits
/// are edges, set in the end.
pub(crate) fn lease_whole_bytes(values: &mut Column, start_bit: usize, end_bit: usize) -> Result<Slot> {
    let first_whole = start_bit.div_ceil(8);
    let n_whole = (end_bit / 8).saturating_sub(first_whole);
    lease_zeros(values, first_whole.saturating_sub(values.used()));
    values.lease(n_whole).ok_or_else(too_many_entries)
}

/// Makes the array of one column.
struct Finishing<'a> {
    column: &'a PlannedColumn,
    place: usize,
    entries: &'a BatchEntries,
    n_entries: usize,
    text: TextForm,
    url: &'a str,
}

impl Finishing<'_> {
    fn finish(&self, sink: Sink, all_ends: &mut HashMap<usize, Buffer>) -> Result<ArrayRef> {
        let (primitive, dims): (Primitive, &[u32]) = match self.column.form() {
            Some(EntryForm::Fixed { number, dims } | EntryForm::Jagged { number, dims, .. }) => {
                (number.in_memory(), dims)
            }
            _ => (Primitive::UInt8, &[]),
        };
        let numbers = |n_values: usize, buffer: Buffer| {
            assemble::numbers(primitive, dims, n_values, buffer).map_err(|error| self.of_arrow(error))
        };
        match sink {
            Sink::Fixed { values, entry_bytes } => {
                if values.used() != self.n_entries * entry_bytes {
                    return Err(too_many_entries());
                }
                numbers(self.n_entries, complete(values)?).map(make_array)
            }
            Sink::Bits { mut values, edges, .. } => {
                let left = values.left();
                lease_zeros(&mut values, left);
                set_edges(values.written().ok_or_else(incomplete)?, &edges);
                numbers(self.n_entries, complete(values)?).map(make_array)
            }
            Sink::Lists { ends, values, n_items, is_bool, .. } => {
                let ends = self.list_ends(ends, all_ends)?;
                let mut buffer = complete(values)?;
                if is_bool {
                    let mut bits = vec![0; buffer.len().div_ceil(8)];
                    pack_bools(&buffer, &mut bits);
                    buffer = bits.into();
                }
                let lists = assemble::lists(self.n_entries, ends, numbers(n_items, buffer)?);
                lists.map(make_array).map_err(|error| self.of_arrow(error))
            }
            Sink::Collected { parts, .. } => self.collect(&parts),
        }
    }

    fn of_arrow(&self, error: ArrowError) -> Error {
        self.corrupt(error.to_string())
    }

    fn corrupt(&self, what: String) -> Error {
        let source = arrowroot_format::Error::corrupt(0, what);
        Error::Format { url: self.url.to_owned(), object: self.column.path.clone(), source }
    }

    /// The ends of the column's lists, its own or those of its leader.
    fn list_ends(&self, ends: Ends, all_ends: &mut HashMap<usize, Buffer>) -> Result<Buffer> {
        match ends {
            Ends::Own(ends) => {
                if ends.used() != self.n_entries * 4 + 4 {
                    return Err(too_many_entries());
                }
                let buffer = complete(ends)?;
                all_ends.insert(self.place, buffer.clone());
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
        let data_type = self.column.column().and_then(|column| column.data_type()).ok_or_else(incomplete)?;
        let of_format = |source| Error::Format { url: self.url.to_owned(), object: self.column.path.clone(), source };
        let all = parts.finish(&data_type).map_err(of_format)?;
        if all.len() != self.n_entries {
            return Err(too_many_entries());
        }
        assemble::values(all, self.text).map_err(|fault| match fault {
            Fault::Arrow(error) => self.of_arrow(error),
            Fault::Format(source) => of_format(source),
            Fault::Text { place, text } => Error::InvalidText {
                url: self.url.to_owned(),
                object: self.column.path.clone(),
                entry: self.entries.number(place),
                text: shown(&text),
            },
        })
    }
}

fn incomplete() -> Error {
    Error::Internal { what: "a column was asked for before it was complete".to_owned() }
}

pub(crate) fn complete(column: Column) -> Result<Buffer> {
    column.into_buffer().ok_or_else(incomplete)
}

/// Sets the bits that no basket could write alone.
pub(crate) fn set_edges(bytes: &mut [u8], edges: &Edges) {
    for (start_bit, bools) in edges.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        for (place, &value) in bools.iter().enumerate() {
            let bit = start_bit + place;
            if value != 0
                && let Some(byte) = bytes.get_mut(bit / 8)
            {
                *byte |= 1 << (bit % 8);
            }
        }
    }
}

impl Target {
    /// Bytes set aside; what is collected apart is not known before.
    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Target::Fixed(slot) | Target::Bits { whole: slot, .. } => slot.len(),
            Target::Lists { ends, values, .. } => ends.as_ref().map_or(0, |ends| ends.len()) + values.len(),
            Target::Collected { .. } => 0,
        }
    }

    /// Writes bools as bits from the target's first bit on.
    pub(crate) fn write_bits(start_bit: usize, whole: &mut Slot, edges: &Edges, bools: &[u8]) {
        let lead = (start_bit.next_multiple_of(8) - start_bit).min(bools.len());
        let (before, rest) = bools.split_at(lead);
        let (inside, after) = rest.split_at((whole.len() * 8).min(rest.len()));
        pack_bools(inside, whole);
        let mut edges = edges.lock().unwrap_or_else(PoisonError::into_inner);
        if !before.is_empty() {
            edges.push((start_bit, before.to_vec()));
        }
        if !after.is_empty() {
            edges.push((start_bit + lead + inside.len(), after.to_vec()));
        }
    }
}
