//! One basket: from its bytes to its places in the batch. Any thread may do it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use arrowroot_format as format;
use format::column::{EntryForm, Header};
use format::decode::{Reader, Values, Writes, kernels};
use format::streamer::Primitive;
use format::tree::{BasketHead, BasketLocation};

use crate::batch::Target;
use crate::counts::ItemCounts;
use crate::error::Result;
use crate::fetch::{Held, HeldBytes, WindowBytes};
use crate::file::unpack;
use crate::keep::Keeping;
use crate::logical::LogicalId;
use crate::misfit::Entries;
use crate::place::Context;
use crate::plan::PlannedColumn;
use crate::scratch::{Lent, Scratch};
use crate::stats::{Counters, add_ns};

/// Where the payload of a basket is.
#[derive(Clone)]
pub(crate) enum Payload {
    /// In a window, as it is in the file.
    Stored(Arc<WindowBytes>, Range<usize>),
    /// The same, kept from the batch before.
    Kept(Arc<HeldBytes>),
    /// Uncompressed.
    Ready(Arc<HeldBytes>),
}

/// The bytes of a payload.
pub(crate) enum PayloadBytes<'p> {
    /// As they are in the file.
    Stored(&'p [u8]),
    /// Uncompressed.
    Ready(&'p [u8]),
}

impl Payload {
    pub(crate) fn bytes(&self) -> PayloadBytes<'_> {
        match self {
            Payload::Stored(window, range) => PayloadBytes::Stored(window.bytes.get(range.clone()).unwrap_or_default()),
            Payload::Kept(bytes) => PayloadBytes::Stored(bytes),
            Payload::Ready(bytes) => PayloadBytes::Ready(bytes),
        }
    }

    /// What the next batch gets of it; `None`: nothing.
    pub(crate) fn kept(&self, keeping: Keeping, held: &Arc<Held>) -> Result<Option<Payload>> {
        Ok(match (keeping, self, self.bytes()) {
            (Keeping::Unpacked, Payload::Ready(_), _) | (Keeping::Stored, Payload::Kept(_), _) => Some(self.clone()),
            (Keeping::Stored, Payload::Stored(..), PayloadBytes::Stored(stored)) => {
                Some(Payload::Kept(HeldBytes::copied(stored, held)?))
            }
            _ => None,
        })
    }
}

/// Which entries of a basket are wanted, counted from its first one.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    /// All between these.
    Range(Range<usize>),
    /// These, in order.
    List(Vec<u32>),
}

impl Wanted {
    pub(crate) fn len(&self) -> usize {
        match self {
            Wanted::Range(range) => range.len(),
            Wanted::List(list) => list.len(),
        }
    }
}

/// Where the entries of a basket begin: words as the file stores them, counted from the start of the record.
#[derive(Debug, Clone)]
pub(crate) enum Offsets {
    /// Behind the entry data, if entries differ in size.
    InPayload,
    /// Not in the file: they follow from a counter, or from the size of an entry.
    Given(Vec<u8>),
}

/// One basket to decode.
pub(crate) struct BasketTask {
    pub(crate) column: usize,
    pub(crate) head: BasketHead,
    pub(crate) payload: Payload,
    pub(crate) offsets: Offsets,
    /// Where each object has an array: their numbers of items.
    pub(crate) item_counts: Option<Arc<ItemCounts>>,
    pub(crate) wanted: Wanted,
    pub(crate) target: Target,
    /// Number of the batch, and its baskets that are not done.
    pub(crate) batch: usize,
    pub(crate) open: Arc<AtomicUsize>,
    /// Place of the basket in its column.
    pub(crate) basket: u32,
    pub(crate) logical: Option<LogicalId>,
}

/// What a thread keeps from basket to basket.
#[derive(Default)]
pub(crate) struct Worker {
    scratch: Lent,
}

impl Worker {
    /// Decodes a basket. Returns whether it was the last open one of its batch.
    pub(crate) fn run(&mut self, task: BasketTask, column: &PlannedColumn, context: &Context) -> format::Result<bool> {
        let open = Arc::clone(&task.open);
        let logical = context.logical.as_ref().zip(task.logical).map(|read| (read, Instant::now()));
        let location = column.baskets.get(task.basket as usize);
        let location = location.ok_or_else(|| format::Error::corrupt(0, "a basket that is not in its column"))?;
        self.decode(task, column, location, context).map_err(|error| in_basket(location, error))?;
        if let Some(((reads, id), start)) = logical {
            reads.add_decode(id, start.elapsed());
        }
        Ok(open.fetch_sub(1, Ordering::AcqRel) == 1)
    }

    fn decode(
        &mut self,
        task: BasketTask,
        column: &PlannedColumn,
        location: &BasketLocation,
        context: &Context,
    ) -> format::Result<()> {
        let BasketTask { head, payload, offsets, item_counts, wanted, target, .. } = task;
        let counters = &context.counters;
        let start = Instant::now();
        let payload_bytes = head.payload_bytes as usize;
        let payload = match payload.bytes() {
            PayloadBytes::Ready(bytes) => bytes,
            PayloadBytes::Stored(stored) => {
                counters.n_baskets.fetch_add(1, Ordering::Relaxed);
                counters.stored_bytes.fetch_add(u64::from(head.stored_bytes), Ordering::Relaxed);
                let memory_bytes = u64::from(head.key_bytes) + u64::from(head.payload_bytes);
                counters.memory_bytes.fetch_add(memory_bytes, Ordering::Relaxed);
                counters.unzip_bytes.fetch_add(u64::from(head.payload_bytes), Ordering::Relaxed);
                match stored.get(..payload_bytes) {
                    Some(plain) => plain,
                    None => {
                        let Scratch { decompressor, unpacked, .. } = self.scratch.get();
                        unpack(decompressor, stored, payload_bytes, unpacked)
                            .map_err(|error| in_stored(location, &head, error))?
                    }
                }
            }
        };
        let unpacked = Instant::now();
        add_ns(&counters.decompress_ns, unpacked.duration_since(start));
        let form = column.form().ok_or_else(|| format::Error::unsupported(0, "a group of branches"))?;
        let basket = Basket { head: &head, payload, offsets: &offsets, item_counts: item_counts.as_deref(), form };
        let decoded = basket.decode(&wanted, target);
        decoded.map_err(|error| error.placed(context.payload_place(column, location, &head)))?;
        add_ns(&counters.decode_ns, unpacked.elapsed());
        Ok(())
    }

    /// Decompresses the payload of a record that is in memory.
    pub(crate) fn unpack_record(
        &mut self,
        head: &BasketHead,
        stored: &[u8],
        counters: &Counters,
    ) -> format::Result<&[u8]> {
        let start = Instant::now();
        let Scratch { decompressor, unpacked, .. } = self.scratch.get();
        let payload = unpack(decompressor, stored, head.payload_bytes as usize, unpacked)?;
        counters.n_baskets.fetch_add(1, Ordering::Relaxed);
        counters.stored_bytes.fetch_add(u64::from(head.stored_bytes), Ordering::Relaxed);
        let memory_bytes = u64::from(head.key_bytes) + u64::from(head.payload_bytes);
        counters.memory_bytes.fetch_add(memory_bytes, Ordering::Relaxed);
        counters.unzip_bytes.fetch_add(u64::from(head.payload_bytes), Ordering::Relaxed);
        add_ns(&counters.decompress_ns, start.elapsed());
        Ok(payload)
    }
}

/// An error in a basket, with its name.
pub(crate) fn in_basket(location: &BasketLocation, error: format::Error) -> format::Error {
    error.within(format!("basket of entries from {}", location.first_entry))
}

/// An error in the payload of a basket as it is in the file.
pub(crate) fn in_stored(location: &BasketLocation, head: &BasketHead, error: format::Error) -> format::Error {
    error.at(location.offset.saturating_add(head.key_bytes.into()))
}

/// Where lists go: ends, items, and the number of the first item.
struct ListPlace<'p> {
    ends: &'p mut [u8],
    values: &'p mut [u8],
    writes: Writes,
    base: u32,
}

/// An uncompressed basket and how to read it.
pub(crate) struct Basket<'a> {
    pub(crate) head: &'a BasketHead,
    pub(crate) payload: &'a [u8],
    pub(crate) offsets: &'a Offsets,
    pub(crate) item_counts: Option<&'a ItemCounts>,
    pub(crate) form: &'a EntryForm,
}

impl<'a> Basket<'a> {
    fn data(&self) -> format::Result<&'a [u8]> {
        self.payload
            .get(..self.head.data_bytes as usize)
            .ok_or_else(|| format::Error::truncated(0, "entry data longer than the payload"))
    }

    /// Where entries begin: one big-endian word for each.
    fn offset_words(&self) -> format::Result<&'a [[u8; 4]]> {
        let words = match self.offsets {
            Offsets::Given(words) => words.as_slice(),
            Offsets::InPayload => self.head.stored_offsets(self.payload)?.unwrap_or_default(),
        };
        Ok(words.as_chunks::<4>().0)
    }

    /// Bytes of the data before entry `entry`; of all data for the one after the last.
    fn entry_start(&self, words: &[[u8; 4]], entry: usize) -> format::Result<usize> {
        if entry == self.head.n_entries as usize {
            return Ok(self.head.data_bytes as usize);
        }
        let word = words.get(entry).ok_or_else(|| {
            format::Error::corrupt(0, format!("no offset of entry {entry} of {}", self.head.n_entries))
        })?;
        let offset = u32::from_be_bytes(*word);
        offset
            .checked_sub(self.head.key_bytes)
            .filter(|&start| start <= self.head.data_bytes)
            .map(|start| start as usize)
            .ok_or_else(|| {
                let what = format!("entry {entry} starts at {offset}, outside of the data");
                format::Error::corrupt(self.word_position(entry), what)
            })
    }

    /// Where the offset of an entry is in the payload, if it is there.
    fn word_position(&self, entry: usize) -> usize {
        match self.offsets {
            Offsets::Given(_) => 0,
            Offsets::InPayload => self.head.data_bytes as usize + 4 + 4 * entry, // behind the data and their number
        }
    }

    /// Number of items in the lists of some entries.
    pub(crate) fn n_items(&self, header: Header, item_bytes: usize, range: &Range<usize>) -> format::Result<usize> {
        let words = self.offset_words()?;
        let n_bytes = self.entry_start(words, range.end)?.checked_sub(self.entry_start(words, range.start)?);
        n_bytes
            .and_then(|n_bytes| n_bytes.checked_sub(range.len() * header.n_bytes()))
            .map(|n_bytes| n_bytes / item_bytes)
            .ok_or_else(|| format::Error::corrupt(0, "entries shorter than their headers"))
    }

    fn decode(&self, wanted: &Wanted, target: Target) -> format::Result<()> {
        match (target, self.form) {
            (Target::Fixed(mut slot), EntryForm::Fixed { number, dims }) => {
                let entry_bytes = fixed_bytes(dims, number.stored_bytes());
                if number.is_packed() {
                    self.fixed_entries(&(0..0), entry_bytes)?; // before memory is taken for them
                    let mut unpacked = Vec::with_capacity(slot.len());
                    match wanted {
                        Wanted::Range(range) => {
                            number.append(self.fixed_entries(range, entry_bytes)?, &mut unpacked);
                        }
                        Wanted::List(_) => self.each_entry(wanted, entry_bytes, |entry| {
                            number.append(entry, &mut unpacked);
                            Ok(())
                        })?,
                    }
                    return kernels::copy_numbers(&unpacked, Primitive::UInt8, &mut slot, Writes::Cached);
                }
                match wanted {
                    Wanted::Range(range) => {
                        let stored = self.fixed_entries(range, entry_bytes)?;
                        let writes = slot.writes();
                        kernels::copy_numbers(stored, number.primitive, &mut slot, writes)
                    }
                    Wanted::List(_) => {
                        let mut places = slot.chunks_exact_mut(entry_bytes.max(1));
                        self.each_entry(wanted, entry_bytes, |entry| match places.next() {
                            Some(place) => kernels::copy_numbers(entry, number.primitive, place, Writes::Cached),
                            None => Err(format::Error::corrupt(0, "more entries than places")),
                        })
                    }
                }
            }
            (Target::Bits { start_bit, mut whole, edges }, EntryForm::Fixed { dims, .. }) => {
                let entry_bytes = fixed_bytes(dims, 1);
                match wanted {
                    Wanted::Range(range) => {
                        let bools = self.fixed_entries(range, entry_bytes)?;
                        Target::write_bits(start_bit, &mut whole, &edges, bools);
                    }
                    Wanted::List(_) => {
                        self.fixed_entries(&(0..0), entry_bytes)?; // before memory is taken for them
                        let mut bools = Vec::with_capacity(wanted.len() * entry_bytes);
                        self.each_entry(wanted, entry_bytes, |entry| {
                            bools.extend_from_slice(entry);
                            Ok(())
                        })?;
                        Target::write_bits(start_bit, &mut whole, &edges, &bools);
                    }
                }
                Ok(())
            }
            (Target::Lists { ends, mut values, base }, EntryForm::Jagged { header, number, dims }) => {
                let Wanted::Range(range) = wanted else {
                    return Err(format::Error::corrupt(0, "lists of single entries have no known place"));
                };
                match ends {
                    Some(mut ends) => {
                        let writes = values.writes();
                        let place = ListPlace { ends: &mut ends, values: &mut values, writes, base };
                        self.lists(range, *header, number.primitive, dims, place)
                    }
                    None => {
                        let (start, stop) = self.data_range(range)?;
                        let data = self.data()?.get(start..stop).unwrap_or_default();
                        let writes = values.writes();
                        kernels::copy_numbers(data, number.primitive, &mut values, writes)
                    }
                }
            }
            (Target::Collected { part, parts }, form) => {
                parts.collect(part, || form.data_type(), |values| self.collect(wanted, form, values))
            }
            _ => Err(format::Error::corrupt(0, "a basket whose values fit nowhere")),
        }
    }

    /// The bytes of entries of equal size.
    fn fixed_entries(&self, range: &Range<usize>, entry_bytes: usize) -> format::Result<&'a [u8]> {
        let data = self.data()?;
        let expected = (self.head.n_entries as usize).checked_mul(entry_bytes);
        if expected != Some(data.len()) {
            return Err(format::Error::corrupt(
                0,
                format!("{} bytes for {} entries of {entry_bytes}", data.len(), self.head.n_entries),
            ));
        }
        Ok(&data[range.start * entry_bytes..range.end * entry_bytes])
    }

    fn each_entry(
        &self,
        wanted: &Wanted,
        entry_bytes: usize,
        mut take: impl FnMut(&[u8]) -> format::Result<()>,
    ) -> format::Result<()> {
        let all = self.fixed_entries(&(0..self.head.n_entries as usize), entry_bytes)?;
        let mut one = |entry: usize| {
            let start = entry * entry_bytes;
            take(all.get(start..start + entry_bytes).unwrap_or_default()).map_err(|error| error.inside(start))
        };
        match wanted {
            Wanted::Range(range) => range.clone().try_for_each(&mut one),
            Wanted::List(list) => list.iter().try_for_each(|&entry| one(entry as usize)),
        }
    }

    /// Where the data of some entries are; entry offsets are not looked at for all of them.
    fn data_range(&self, range: &Range<usize>) -> format::Result<(usize, usize)> {
        if *range == (0..self.head.n_entries as usize) {
            return Ok((0, self.head.data_bytes as usize));
        }
        let words = self.offset_words()?;
        Ok((self.entry_start(words, range.start)?, self.entry_start(words, range.end)?))
    }

    fn lists(
        &self,
        range: &Range<usize>,
        header: Header,
        primitive: Primitive,
        dims: &[u32],
        place: ListPlace<'_>,
    ) -> format::Result<()> {
        let words = self.offset_words()?;
        let item_bytes = fixed_bytes(dims, primitive.stored_bytes()).max(1);
        let (start, stop) = (self.entry_start(words, range.start)?, self.entry_start(words, range.end)?);
        let data = self.data()?.get(start..stop).unwrap_or_default();
        let words = words.get(range.clone()).unwrap_or_default();
        if words.len() != range.len() {
            return Err(format::Error::corrupt(0, format!("{} offsets for {} entries", words.len(), range.len())));
        }
        let narrow = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let record_end = self.head.key_bytes.saturating_add(narrow(stop));
        let header_bytes = narrow(header.n_bytes());
        let stored_words = words.as_flattened();
        let ListPlace { ends, values, writes, base } = place;
        if kernels::list_ends(stored_words, record_end, header_bytes, narrow(item_bytes), base, ends) {
            match header {
                Header::Nothing => return kernels::copy_numbers(data, primitive, values, writes),
                Header::Vector if dims.is_empty() && kernels::copy_vectors(data, ends, base, values, item_bytes) => {
                    if primitive == Primitive::Bool {
                        values.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        // Whatever is unusual about these entries, the plain way knows, or says what is wrong with them.
        self.lists_one_by_one(range, ListPlace { ends, values, writes, base })
    }

    fn lists_one_by_one(&self, range: &Range<usize>, place: ListPlace<'_>) -> format::Result<()> {
        let ListPlace { ends, values, base, .. } = place;
        let mut collected = Values::empty(&self.form.data_type());
        self.collect(&Wanted::Range(range.clone()), self.form, &mut collected)?;
        let Values::List(list_ends, items) = collected else {
            return Err(format::Error::corrupt(0, "lists expected"));
        };
        let bytes = items.into_number_bytes().unwrap_or_default();
        if bytes.len() != values.len() || list_ends.len() * 4 != ends.len() {
            return Err(format::Error::corrupt(
                0,
                format!("lists of {} bytes, where the entries have room for {}", bytes.len(), values.len()),
            ));
        }
        values.copy_from_slice(&bytes);
        for (place, end) in ends.as_chunks_mut::<4>().0.iter_mut().zip(list_ends) {
            *place = base.wrapping_add(end.cast_unsigned()).to_ne_bytes();
        }
        Ok(())
    }

    fn collect(&self, wanted: &Wanted, form: &EntryForm, values: &mut Values) -> format::Result<()> {
        let words = self.offset_words()?;
        let data = self.data()?;
        if let Wanted::Range(range) = wanted
            && form.has_fast_way()
        {
            let bounds = (range.start..=range.end).map(|entry| self.entry_start(words, entry));
            // What is wrong with a bound is said when its entry is read.
            if let Ok(bounds) = bounds.collect::<format::Result<Vec<usize>>>()
                && form.decode_entries(data, &bounds, values)?
            {
                return Ok(());
            }
        }
        let mut reader = Reader::default();
        let mut one = |entry: usize| -> format::Result<()> {
            let (start, stop) = (self.entry_start(words, entry)?, self.entry_start(words, entry + 1)?);
            let bytes =
                data.get(start..stop).ok_or_else(|| format::Error::corrupt(start, "entries that run backwards"))?;
            let origin = self.head.key_bytes as usize + start;
            let decoded = match self.item_counts {
                None => form.decode_entry(&mut reader, bytes, origin, values),
                Some(counts) => {
                    let missing = || format::Error::corrupt(start, "no counts of the items of its arrays");
                    let counts = counts.of_entry(entry).ok_or_else(missing)?;
                    form.decode_counted(&mut reader, bytes, counts, origin, values)
                }
            };
            decoded.map_err(|error| self.judged(error, data, words, entry, start))
        };
        match wanted {
            Wanted::Range(range) => range.clone().try_for_each(&mut one),
            Wanted::List(list) => list.iter().try_for_each(|&entry| one(entry as usize)),
        }
    }

    /// What is wrong with an entry that begins at `start` and could not be read.
    #[cold]
    fn judged(
        &self,
        error: format::Error,
        data: &[u8],
        words: &[[u8; 4]],
        entry: usize,
        start: usize,
    ) -> format::Error {
        let range = |entry| Some(self.entry_start(words, entry).ok()?..self.entry_start(words, entry + 1).ok()?);
        let n_entries = self.head.n_entries as usize;
        let origin = |start: usize| self.head.key_bytes as usize + start;
        let counts = |entry| self.item_counts.and_then(|counts| counts.of_entry(entry));
        let hint = " (raw=True gives the bytes)";
        let entries = Entries { data, n_entries, range: &range, origin: &origin, counts: &counts, hint };
        let error = entries.judge(error, self.form, entry);
        error.within(format!("entry {entry} of the basket")).inside(start)
    }
}

/// Bytes of an entry of numbers.
pub(crate) fn fixed_bytes(dims: &[u32], number_bytes: usize) -> usize {
    dims.iter().fold(number_bytes, |product, &dim| product.saturating_mul(dim as usize))
}

#[cfg(test)]
mod tests {
    use super::fixed_bytes;

    #[test]
    fn sizes_beyond_the_address_space_stay_at_its_end() {
        assert_eq!(fixed_bytes(&[2, 3], 4), 24);
        assert_eq!(fixed_bytes(&[u32::MAX, u32::MAX, u32::MAX], 8), usize::MAX);
    }
}
