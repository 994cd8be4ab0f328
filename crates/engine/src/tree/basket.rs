//! One basket: from its bytes to its places in the batch. Any thread may do it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use arrowroot_file::{PooledScratch, Scratch, unpack, unpack_at};
use arrowroot_format as format;
use format::column::{EntryForm, Header};
use format::decode::{Reader, Values, Writes, kernels};
use format::streamer::Primitive;
use format::tree::BasketHead;

use super::Tree;
use super::builder::BasketTarget;
use super::counts::ItemCounts;
use super::head::{payload_offset, range_of, same_payload};
use super::plan::{ReadBranch, fixed_bytes};
use crate::memory::write_bits;
use crate::misfit::Neighbours;
use crate::scan::{Counters, Payload, PayloadBytes, Piece, ScanView, add_ns};

/// Which entries of a basket are wanted, counted from its first one.
#[derive(Debug, Clone)]
pub(crate) enum Selection {
    /// All between these.
    Range(Range<usize>),
    /// These, in order.
    List(Vec<u32>),
}

impl Selection {
    pub(crate) fn len(&self) -> usize {
        match self {
            Selection::Range(range) => range.len(),
            Selection::List(list) => list.len(),
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
pub(crate) struct BasketWork {
    pub(crate) head: BasketHead,
    pub(crate) payload: Payload,
    pub(crate) offsets: Offsets,
    /// Where each object has an array: their numbers of items.
    pub(crate) item_counts: Option<Arc<ItemCounts>>,
    pub(crate) wanted: Selection,
    pub(crate) target: BasketTarget,
    /// Place of the basket in its column.
    pub(crate) basket: u32,
}

impl BasketWork {
    /// Decodes the basket to its place.
    pub(crate) fn run(
        self,
        tree: &Tree,
        column: &ReadBranch,
        view: &ScanView,
        scratch: &mut PooledScratch,
    ) -> format::Result<()> {
        let location = column.planned.pieces.get(self.basket as usize);
        let location = location.ok_or_else(|| format::Error::corrupt(0, "a basket that is not in its column"))?;
        self.decode(tree, column, location, view, scratch).map_err(|error| in_basket(location, error))
    }

    fn decode(
        self,
        tree: &Tree,
        column: &ReadBranch,
        location: &Piece,
        view: &ScanView,
        scratch: &mut PooledScratch,
    ) -> format::Result<()> {
        let BasketWork { head, payload, offsets, item_counts, wanted, mut target, .. } = self;
        let counters = &view.counters;
        let payload_bytes = head.payload_bytes as usize;
        let elsewhere = view.elsewhere(&column.planned.path);
        let start = Instant::now();
        let again;
        let payload = match payload.bytes() {
            PayloadBytes::Ready(bytes) => bytes,
            PayloadBytes::Stored(stored) => {
                count(&head, counters);
                match stored.get(..payload_bytes) {
                    Some(plain) => {
                        again = view.unverified(payload_offset(location, &head), plain)?;
                        again.as_deref().unwrap_or(plain)
                    }
                    None => {
                        let Scratch { decompressor, unpacked, .. } = scratch.get();
                        let index = match unpack_at(0, decompressor, stored, payload_bytes, unpacked) {
                            Ok(index) => index,
                            Err(error) => {
                                let error = in_stored(location, &head, error);
                                elsewhere.reread(range_of(location), error, |record| {
                                    let stored = same_payload(record, location, &head)?;
                                    unpack_at(0, decompressor, stored, payload_bytes, unpacked)
                                        .map_err(|error| in_stored(location, &head, error))
                                })?
                            }
                        };
                        &unpacked[index]
                    }
                }
            }
        };
        let unpacked = Instant::now();
        add_ns(&counters.decompress_ns, unpacked.duration_since(start));
        let form = column.form().ok_or_else(|| format::Error::unsupported(0, "a group of branches"))?;
        let basket = Basket { head: &head, payload, offsets: &offsets, item_counts: item_counts.as_deref(), form };
        if let Err(error) = basket.decode(&wanted, &mut target) {
            let index = tree.payload_place(column.id, location, &head);
            let error = error.placed(index);
            // What values were collected before is not to be told from what came of this basket.
            let is_final = !error.is_doubtful() || location.embedded.is_some();
            if is_final || matches!(target, BasketTarget::Collected { .. }) {
                return Err(error);
            }
            let Scratch { decompressor, unpacked, .. } = scratch.get();
            elsewhere.reread(range_of(location), error, |record| {
                let stored = same_payload(record, location, &head)?;
                let payload = match stored.get(..payload_bytes) {
                    Some(plain) => plain,
                    None => unpack(decompressor, stored, payload_bytes, unpacked)?,
                };
                let item_counts = item_counts.as_deref();
                let again = Basket { head: &head, payload, offsets: &offsets, item_counts, form };
                again.decode(&wanted, &mut target).map_err(|error| error.placed(index))
            })?;
        }
        add_ns(&counters.decode_ns, unpacked.elapsed());
        Ok(())
    }
}

/// Decompresses the payload of a record that is in memory.
pub(crate) fn unpack_record<'s>(
    scratch: &'s mut PooledScratch,
    head: &BasketHead,
    stored: &[u8],
    counters: &Counters,
) -> format::Result<&'s [u8]> {
    let start = Instant::now();
    let Scratch { decompressor, unpacked, .. } = scratch.get();
    let payload = unpack(decompressor, stored, head.payload_bytes as usize, unpacked)?;
    count(head, counters);
    add_ns(&counters.decompress_ns, start.elapsed());
    Ok(payload)
}

fn count(head: &BasketHead, counters: &Counters) {
    counters.n_pieces.fetch_add(1, Ordering::Relaxed);
    counters.stored_bytes.fetch_add(u64::from(head.stored_bytes), Ordering::Relaxed);
    counters.memory_bytes.fetch_add(u64::from(head.key_bytes) + u64::from(head.payload_bytes), Ordering::Relaxed);
    counters.unzip_bytes.fetch_add(u64::from(head.payload_bytes), Ordering::Relaxed);
}

/// An error in a basket, with its name.
pub(crate) fn in_basket(location: &Piece, error: format::Error) -> format::Error {
    error.within(format!("basket of entries from {}", location.first_entry))
}

/// An error in the payload of a basket as it is in the file.
pub(crate) fn in_stored(location: &Piece, head: &BasketHead, error: format::Error) -> format::Error {
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

    fn decode(&self, wanted: &Selection, target: &mut BasketTarget) -> format::Result<()> {
        match (target, self.form) {
            (BasketTarget::Fixed(lease), EntryForm::Fixed { number, dims }) => {
                let entry_bytes = fixed_bytes(dims, number.stored_bytes());
                if number.is_packed() {
                    self.fixed_entries(&(0..0), entry_bytes)?; // before memory is taken for them
                    let mut unpacked = Vec::with_capacity(lease.len());
                    match wanted {
                        Selection::Range(range) => {
                            number.append(self.fixed_entries(range, entry_bytes)?, &mut unpacked);
                        }
                        Selection::List(_) => self.each_entry(wanted, entry_bytes, |entry| {
                            number.append(entry, &mut unpacked);
                            Ok(())
                        })?,
                    }
                    return kernels::copy_numbers(&unpacked, Primitive::UInt8, lease, Writes::Cached);
                }
                match wanted {
                    Selection::Range(range) => {
                        let stored = self.fixed_entries(range, entry_bytes)?;
                        let writes = lease.writes();
                        kernels::copy_numbers(stored, number.primitive, lease, writes)
                    }
                    Selection::List(_) => {
                        let mut places = lease.chunks_exact_mut(entry_bytes.max(1));
                        self.each_entry(wanted, entry_bytes, |entry| match places.next() {
                            Some(place) => kernels::copy_numbers(entry, number.primitive, place, Writes::Cached),
                            None => Err(format::Error::corrupt(0, "more entries than places")),
                        })
                    }
                }
            }
            (BasketTarget::Bits { start_bit, whole, edges }, EntryForm::Fixed { dims, .. }) => {
                let start_bit = *start_bit;
                let entry_bytes = fixed_bytes(dims, 1);
                match wanted {
                    Selection::Range(range) => {
                        let bools = self.fixed_entries(range, entry_bytes)?;
                        write_bits(start_bit, whole, edges, bools);
                    }
                    Selection::List(_) => {
                        self.fixed_entries(&(0..0), entry_bytes)?; // before memory is taken for them
                        let mut bools = Vec::with_capacity(wanted.len() * entry_bytes);
                        self.each_entry(wanted, entry_bytes, |entry| {
                            bools.extend_from_slice(entry);
                            Ok(())
                        })?;
                        write_bits(start_bit, whole, edges, &bools);
                    }
                }
                Ok(())
            }
            (BasketTarget::Lists { ends, values, base }, EntryForm::Jagged { header, number, dims }) => {
                let Selection::Range(range) = wanted else {
                    return Err(format::Error::corrupt(0, "lists of single entries have no known place"));
                };
                match ends {
                    Some(ends) => {
                        let writes = values.writes();
                        let place = ListPlace { ends, values, writes, base: *base };
                        self.lists(range, *header, number.primitive, dims, place)
                    }
                    None => {
                        let (start, stop) = self.data_range(range)?;
                        let data = self.data()?.get(start..stop).unwrap_or_default();
                        let writes = values.writes();
                        kernels::copy_numbers(data, number.primitive, values, writes)
                    }
                }
            }
            (BasketTarget::Collected { part, parts }, form) => {
                parts.collect(*part, || form.data_type(), |values| self.collect(wanted, form, values))
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
        wanted: &Selection,
        entry_bytes: usize,
        mut take: impl FnMut(&[u8]) -> format::Result<()>,
    ) -> format::Result<()> {
        let all = self.fixed_entries(&(0..self.head.n_entries as usize), entry_bytes)?;
        let mut one = |entry: usize| {
            let start = entry * entry_bytes;
            take(all.get(start..start + entry_bytes).unwrap_or_default()).map_err(|error| error.inside(start))
        };
        match wanted {
            Selection::Range(range) => range.clone().try_for_each(&mut one),
            Selection::List(list) => list.iter().try_for_each(|&entry| one(entry as usize)),
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
        self.collect(&Selection::Range(range.clone()), self.form, &mut collected)?;
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

    fn collect(&self, wanted: &Selection, form: &EntryForm, values: &mut Values) -> format::Result<()> {
        let words = self.offset_words()?;
        let data = self.data()?;
        if let Selection::Range(range) = wanted
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
            decoded.map_err(|error| self.diagnosed(error, data, words, entry, start))
        };
        match wanted {
            Selection::Range(range) => range.clone().try_for_each(&mut one),
            Selection::List(list) => list.iter().try_for_each(|&entry| one(entry as usize)),
        }
    }

    /// What is wrong with an entry that begins at `start` and could not be read.
    #[cold]
    fn diagnosed(
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
        let entries = Neighbours { data, n_entries, range: &range, origin: &origin, counts: &counts, hint };
        let error = entries.judge(error, self.form, entry);
        error.within(format!("entry {entry} of the basket")).inside(start)
    }
}
