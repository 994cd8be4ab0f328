//! The baskets of a branch: which entries they hold, and where they are.

use std::ops::{Deref, Range};
use std::sync::Arc;

use ahash::HashMap;

use super::basket::{Embedded, EmbeddedBasket};
use super::branch::Branch;
use super::objects::{Objects, Slot, read_array_head};
use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};
use crate::output::Output;

/// `TBasket::fNevBuf` has 32 bits and a sign.
const MAX_BASKET_ENTRIES: u64 = i32::MAX as u64;
/// The arrays of a branch have at least so many items. Source: `TBranch::Streamer` (ROOT 6.40).
const MIN_ITEMS: usize = 10;

/// Where the arrays of a branch lie in the object data of its tree: they are decoded when asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BasketTable {
    /// Number of baskets in the file.
    n_baskets: usize,
    /// `fWriteBasket`: the same, but in old files.
    n_written: usize,
    /// Number of pointers in `fBaskets`, and `fBits` of that array.
    pub(super) n_pointers: usize,
    pub(super) pointers_bits: u32,
    /// `fMaxBaskets`: items of each array.
    n_items: usize,
    bytes: Range<usize>,
    entries: (Range<usize>, bool),
    seeks: (Range<usize>, bool),
    /// The baskets, if they were placed here and are in no record: the arrays are made when they are written.
    placed: Option<PlacedBaskets>,
}

/// A basket in a file: no more than the record of its tree needs, as a wide tree has many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedBasket {
    /// Offset of its record in the file, in bytes.
    pub offset: u64,
    /// Size of its record in bytes, key included.
    pub stored_bytes: u32,
    /// Number of its entries.
    pub n_entries: u32,
}

/// Baskets one behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlacedBaskets {
    pub(super) first_entry: u64,
    pub(super) baskets: Baskets,
}

/// Baskets of one branch.
#[derive(Debug, Clone)]
pub(super) enum Baskets {
    Own(Vec<PlacedBasket>),
    /// Some of those of all branches of a tree: one piece of memory for many.
    Shared(Arc<[PlacedBasket]>, Range<usize>),
}

impl Deref for Baskets {
    type Target = [PlacedBasket];

    fn deref(&self) -> &[PlacedBasket] {
        match self {
            Baskets::Own(baskets) => baskets,
            Baskets::Shared(all, range) => all.get(range.clone()).unwrap_or_default(),
        }
    }
}

impl PartialEq for Baskets {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Baskets {}

/// Where one basket is and which entries it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BasketLocation {
    /// Offset of the record in the file, in bytes; unused if embedded.
    pub offset: u64,
    /// Size of the record in bytes, key included; 0 if embedded.
    pub stored_bytes: u32,
    /// First entry.
    pub first_entry: u64,
    /// One past the last entry.
    pub entry_end: u64,
    /// The place in [`Branch::embedded`] if the basket is not a record of its own.
    pub embedded: Option<usize>,
}

impl Branch {
    /// Number of baskets, embedded ones included.
    pub fn n_baskets(&self) -> usize {
        self.baskets.n_baskets + usize::from(self.embedded.iter().any(|basket| basket.index == self.baskets.n_baskets))
    }

    /// All baskets in the order of their entries; empty ones are left out.
    ///
    /// `object_data`: of the tree, as it was parsed.
    ///
    /// # Errors
    /// Corrupt if entry numbers run backwards or a place in the file is impossible.
    pub fn baskets(&self, object_data: &[u8]) -> Result<Vec<BasketLocation>> {
        let table = &self.baskets;
        if let Some(placed) = &table.placed {
            return Ok(placed.locations().filter(|basket| basket.first_entry < basket.entry_end).collect());
        }
        let bytes = object_data.get(table.bytes.clone()).unwrap_or_default();
        let mut baskets: Vec<BasketLocation> = Vec::with_capacity(table.n_baskets + 1);
        for index in 0..=table.n_baskets {
            // They were read in this order.
            let embedded = self.embedded.binary_search_by_key(&index, |basket| basket.index).ok();
            let is_last = index == table.n_baskets;
            if is_last && embedded.is_none() {
                break;
            }
            let first_entry = wide_item(object_data, &table.entries, index).unwrap_or(0);
            let mut entry_end = match embedded {
                Some(number) => first_entry.saturating_add(i64::from(self.embedded[number].head.n_entries)),
                None => wide_item(object_data, &table.entries, index + 1).unwrap_or(0),
            };
            if embedded.is_none() && index + 1 == table.n_baskets && entry_end <= first_entry {
                // Old writers did not always write the terminator.
                entry_end = self.entry_end;
            }
            let (Ok(first_entry), Ok(entry_end)) = (u64::try_from(first_entry), u64::try_from(entry_end)) else {
                return Err(self.wrong_table(index, format!("entries {first_entry} to {entry_end}")));
            };
            if entry_end < first_entry || baskets.last().is_some_and(|last| last.entry_end > first_entry) {
                return Err(self.wrong_table(index, format!("entries {first_entry} to {entry_end} run backwards")));
            }
            if entry_end == first_entry {
                continue;
            }
            if entry_end - first_entry > MAX_BASKET_ENTRIES {
                return Err(self.wrong_table(index, format!("entries {first_entry} to {entry_end} are too many")));
            }
            let (offset, stored_bytes) = match embedded {
                Some(_) => (0, 0),
                None => {
                    let offset = wide_item(object_data, &table.seeks, index).unwrap_or(-1);
                    let stored = bytes.get(index * 4..).and_then(|rest| rest.first_chunk::<4>());
                    let stored = stored.map_or(-1, |chunk| i32::from_be_bytes(*chunk));
                    match (u64::try_from(offset), u32::try_from(stored)) {
                        (Ok(offset), Ok(stored)) if offset > 0 && stored > 0 => (offset, stored),
                        _ => return Err(self.wrong_table(index, format!("{stored} bytes at {offset}"))),
                    }
                }
            };
            baskets.push(BasketLocation { offset, stored_bytes, first_entry, entry_end, embedded });
        }
        Ok(baskets)
    }

    /// Says which baskets it has, one behind the other, with all its entries from the first on, and counts these and the
    /// stored bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if they are more, larger or further away than a record can say.
    pub fn set_baskets(&mut self, first_entry: u64, baskets: Vec<PlacedBasket>) -> Result<()> {
        let wrong = |what: String| Error::unsupported(0, format!("branch {:?} with {what}", self.name));
        let (mut n_entries, mut stored_bytes) = (0, 0);
        for (index, basket) in baskets.iter().enumerate() {
            let has_size =
                i32::try_from(basket.stored_bytes).is_ok() && u64::from(basket.n_entries) <= MAX_BASKET_ENTRIES;
            if !has_size || i64::try_from(basket.offset).is_err() {
                return Err(wrong(format!("{basket:?} as its basket {index}")));
            }
            n_entries += u64::from(basket.n_entries);
            stored_bytes += u64::from(basket.stored_bytes);
        }
        let signed = |value: u64| i64::try_from(value).map_err(|_| wrong(format!("{value} entries or bytes")));
        let (entry_end, stored_bytes) = (signed(first_entry.saturating_add(n_entries))?, signed(stored_bytes)?);
        let first = signed(first_entry)?;
        let table = BasketTable::of_placed(PlacedBaskets { first_entry, baskets: Baskets::Own(baskets) });
        self.baskets = table.ok_or_else(|| wrong("too many baskets".to_owned()))?;
        (self.first_entry, self.entry_end, self.n_entries) = (first, entry_end, entry_end - first);
        self.stored_bytes = stored_bytes;
        Ok(())
    }

    /// Its baskets, to be known without the object data. `None`: they are not one behind the other, are embedded, some are empty, or
    /// something is wrong with them.
    pub(super) fn placed_baskets(&self, object_data: &[u8]) -> Option<PlacedBaskets> {
        let locations = self.baskets(object_data).ok()?;
        if !self.embedded.is_empty()
            || locations.len() != self.n_baskets()
            || locations.len() >= self.baskets.n_items.max(1)
        {
            return None;
        }
        let first_entry = locations.first().map_or(0, |basket| basket.first_entry);
        let mut entry_end = first_entry;
        let mut baskets = Vec::with_capacity(locations.len());
        for BasketLocation { offset, stored_bytes, first_entry, entry_end: end, .. } in locations {
            if first_entry != entry_end {
                return None;
            }
            let n_entries = u32::try_from(end - first_entry).ok()?;
            baskets.push(PlacedBasket { offset, stored_bytes, n_entries });
            entry_end = end;
        }
        Some(PlacedBaskets { first_entry, baskets: Baskets::Own(baskets) })
    }

    /// Takes its baskets, some of those of all branches, and says which is the first of the next one.
    pub(super) fn place(&mut self, first_entry: u64, all: &Arc<[PlacedBasket]>, first: usize) -> usize {
        let end = first + self.baskets.n_baskets;
        self.baskets.placed =
            Some(PlacedBaskets { first_entry, baskets: Baskets::Shared(Arc::clone(all), first..end) });
        end
    }

    /// Says in the record that it was parsed from where its baskets are. `moved`: their offsets by those that they had.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if an offset has no room there.
    pub fn move_baskets(&self, moved: &HashMap<u64, u64>, object_data: &mut [u8]) -> Result<()> {
        let (range, is_wide) = &self.baskets.seeks;
        let seeks = object_data.get_mut(range.clone()).unwrap_or_default();
        for seek in seeks.chunks_exact_mut(if *is_wide { 8 } else { 4 }) {
            let old = seek.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
            let Some(new) = moved.get(&old) else { continue };
            let bytes = new.to_be_bytes();
            let (high, low) = bytes.split_at(bytes.len() - seek.len());
            if high.iter().any(|&byte| byte != 0) {
                return Err(Error::unsupported(range.start, format!("branch {}: no room for offset {new}", self.name)));
            }
            seek.copy_from_slice(low);
        }
        Ok(())
    }

    /// Says that it was flushed though it has no baskets, as those that others are inside of: ROOT has room for one then.
    pub fn set_flushed_without_baskets(&mut self) {
        self.baskets.n_pointers = self.baskets.n_pointers.max(1);
    }

    fn wrong_table(&self, index: usize, what: String) -> Error {
        Error::corrupt(self.baskets.entries.0.start, format!("branch {}, basket {index}: {what}", self.name))
    }
}

impl BasketTable {
    /// The table of these baskets; `None` if they are too many.
    fn of_placed(placed: PlacedBaskets) -> Option<Self> {
        let n_baskets = placed.baskets.len();
        let n_items = (n_baskets + 1).max(MIN_ITEMS);
        i32::try_from(n_items).ok()?;
        Some(BasketTable {
            n_baskets,
            n_written: n_baskets,
            // ROOT writes one null more than there are baskets, but none if there was never one.
            n_pointers: if n_baskets == 0 { 0 } else { n_baskets + 1 },
            n_items,
            placed: Some(placed),
            ..BasketTable::default()
        })
    }

    /// Its numbers, but for where its arrays lie.
    pub(super) fn numbers(&self) -> [i64; 5] {
        let wide = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let BasketTable {
            n_baskets,
            n_written,
            n_pointers,
            pointers_bits,
            n_items,
            bytes: _,
            entries: _,
            seeks: _,
            placed: _,
        } = self;
        let [n_baskets, n_written, n_pointers, n_items] = [*n_baskets, *n_written, *n_pointers, *n_items].map(wide);
        [n_baskets, n_written, n_pointers, n_items, (*pointers_bits).into()]
    }

    /// The table of these numbers, without baskets.
    pub(super) fn of_numbers(numbers: [i64; 5]) -> Self {
        let [n_baskets, n_written, n_pointers, n_items, bits] =
            numbers.map(|number| usize::try_from(number).unwrap_or(0));
        let pointers_bits = u32::try_from(bits).unwrap_or_default();
        BasketTable { n_baskets, n_written, n_pointers, n_items, pointers_bits, ..BasketTable::default() }
    }

    /// `fWriteBasket` and `fMaxBaskets`.
    pub(super) fn counts(&self) -> Option<(i32, i32)> {
        Some((i32::try_from(self.n_written).ok()?, i32::try_from(self.n_items).ok()?))
    }

    /// Writes the three arrays, as they are if they are in a record.
    pub(super) fn write(&self, object_data: &[u8], output: &mut Output) -> Result<()> {
        if let Some(placed) = &self.placed {
            placed.write(self.n_items, output);
            return Ok(());
        }
        for (array, item_bytes) in [(&self.bytes, 4), (&self.entries.0, 8), (&self.seeks.0, 8)] {
            let is_right = |array: &&[u8]| array.is_empty() || array.len() == item_bytes * self.n_items;
            let array = object_data.get(array.clone()).filter(is_right);
            let array = array.ok_or_else(|| {
                Error::unsupported(
                    output.position(),
                    "baskets of a version, or of a record, that is not the one written",
                )
            })?;
            output.u8(u8::from(!array.is_empty()));
            output.raw(array);
        }
        Ok(())
    }

    /// Counts the last basket, which is not counted as written, if its size and place in the file are known.
    fn with_last(mut self, object_data: &[u8]) -> Self {
        let bytes = (self.bytes.clone(), false);
        let is_there = |array| wide_item(object_data, array, self.n_baskets).is_some_and(|item| item > 0);
        if is_there(&bytes) && is_there(&self.seeks) {
            self.n_baskets += 1;
        }
        self
    }
}

impl PlacedBaskets {
    fn locations(&self) -> impl Iterator<Item = BasketLocation> {
        let mut entry_end = self.first_entry;
        self.baskets.iter().map(move |&PlacedBasket { offset, stored_bytes, n_entries }| {
            let first_entry = entry_end;
            entry_end += u64::from(n_entries);
            BasketLocation { offset, stored_bytes, first_entry, entry_end, embedded: None }
        })
    }

    /// Writes the three arrays of so many items.
    fn write(&self, n_items: usize, output: &mut Output) {
        let n_unused = n_items.saturating_sub(self.baskets.len());
        output.u8(1);
        self.baskets.iter().for_each(|basket| output.u32(basket.stored_bytes));
        output.zeros(4 * n_unused);
        output.u8(1);
        let mut entry_end = self.first_entry;
        for basket in self.baskets.iter() {
            output.u64(entry_end);
            entry_end += u64::from(basket.n_entries);
        }
        output.u64(entry_end);
        output.zeros(8 * n_unused.saturating_sub(1));
        output.u8(1);
        self.baskets.iter().for_each(|basket| output.u64(basket.offset));
        output.zeros(8 * n_unused);
    }
}

/// Item `index` of an array of 4-byte or 8-byte integers.
fn wide_item(object_data: &[u8], array: &(Range<usize>, bool), index: usize) -> Option<i64> {
    let data = object_data.get(array.0.clone())?;
    if array.1 {
        data.get(index.checked_mul(8)?..)?.first_chunk::<8>().map(|chunk| i64::from_be_bytes(*chunk))
    } else {
        data.get(index.checked_mul(4)?..)?.first_chunk::<4>().map(|chunk| i64::from(i32::from_be_bytes(*chunk)))
    }
}

/// Reads the arrays of a `TBranch` of this version; `n_baskets` is `fWriteBasket`, `max_baskets` `fMaxBaskets`.
///
/// `baskets`: what stands before them.
pub(super) fn read_basket_table(
    cursor: &mut Cursor<'_>,
    n_baskets: i32,
    max_baskets: i32,
    version: u16,
    baskets: &BasketPointers,
) -> Result<BasketTable> {
    let is_wide = version >= 10;
    let position = cursor.position();
    let number = |what: &str, value: i32| {
        usize::try_from(value).map_err(|_| Error::corrupt(position, format!("{what} is {value}")))
    };
    let max_baskets = number("fMaxBaskets", max_baskets)?;
    let n_baskets = number("fWriteBasket", n_baskets)?;
    let mut table = BasketTable { n_baskets, n_written: n_baskets, n_items: max_baskets, ..BasketTable::default() };
    if version == 5 {
        table.entries = (counted_array(cursor)?, false);
        table.bytes = counted_array(cursor)?;
        table.seeks = (counted_array(cursor)?, false);
    } else {
        (table.bytes, _) = basket_array(cursor, max_baskets, Some(false), version)?;
        table.entries = basket_array(cursor, max_baskets, Some(is_wide), version)?;
        table.seeks = basket_array(cursor, max_baskets, is_wide.then_some(true), version)?;
    }
    (table.n_pointers, table.pointers_bits) = (baskets.n_pointers, baskets.bits);
    if table.bytes.len() / 4 < n_baskets {
        return Err(Error::corrupt(position, format!("{n_baskets} baskets in arrays of {max_baskets}")));
    }
    Ok(if baskets.last_is_elsewhere { table.with_last(cursor.data()) } else { table })
}

/// The items of `fBaskets`.
pub(super) struct BasketPointers {
    /// Number of pointers, and `fBits` of the array.
    n_pointers: usize,
    bits: u32,
    /// The baskets that have their data with them.
    pub(super) embedded: Vec<EmbeddedBasket>,
    /// True if the last one, which is not counted as written, is there without its data.
    last_is_elsewhere: bool,
}

/// Reads the pointers to baskets, most of which are null.
pub(super) fn read_embedded_baskets<'a>(
    cursor: &mut Cursor<'a>,
    objects: &mut Objects<'a>,
    n_baskets: i32,
) -> Result<BasketPointers> {
    let head = read_array_head(cursor)?;
    let n_slots = head.n_objects;
    let mut embedded = Vec::new();
    let mut last_is_elsewhere = false;
    let mut index = 0;
    while index < n_slots {
        // Almost all are null, and a tree has one for each of its baskets.
        let rest = cursor.data().get(cursor.position()..).unwrap_or_default();
        let n_nulls = rest.as_chunks::<4>().0.iter();
        let n_nulls = n_nulls.take(n_slots - index).take_while(|slot| **slot == [0; 4]).count();
        cursor.skip(n_nulls * 4)?;
        index += n_nulls;
        if index == n_slots {
            break;
        }
        match objects.slot(cursor)? {
            Slot::Null | Slot::Seen(_) => {}
            Slot::New { class: "TBasket", end, .. } => {
                // A basket above fWriteBasket is a relic that ROOT does not look at either.
                let is_counted = i64::try_from(index).is_ok_and(|i| i <= i64::from(n_baskets));
                match EmbeddedBasket::read(cursor, index).within(|| format!("embedded basket {index}"))? {
                    Embedded::Here(basket) if is_counted && basket.head.n_entries > 0 => embedded.push(basket),
                    Embedded::Here(_) => {}
                    Embedded::Elsewhere => last_is_elsewhere |= i64::try_from(index) == Ok(i64::from(n_baskets)),
                }
                if let Some(end) = end {
                    cursor.leave(end)?;
                }
            }
            Slot::New { class, position, .. } => {
                return Err(Error::corrupt(position, format!("a basket was expected, this is a {class}")));
            }
        }
        index += 1;
    }
    if let Some(end) = head.end {
        cursor.leave(end)?;
    }
    Ok(BasketPointers { n_pointers: n_slots, bits: head.bits, embedded, last_is_elsewhere })
}

/// Passes over one of the three basket arrays; says where it is and whether its items have 8 bytes.
///
/// `wide`: `None` if the flag byte decides (fBasketSeek below version 10).
fn basket_array(
    cursor: &mut Cursor<'_>,
    n_items: usize,
    wide: Option<bool>,
    version: u16,
) -> Result<(Range<usize>, bool)> {
    let flag = cursor.u8()?;
    let wide = wide.unwrap_or(flag == 2);
    let start = cursor.position();
    if flag == 0 && version >= 10 {
        return Ok((start..start, wide));
    }
    let n_bytes = n_items.saturating_mul(if wide { 8 } else { 4 });
    cursor.skip(n_bytes)?;
    Ok((start..start + n_bytes, wide))
}

/// The same in the form that ROOT 2 had.
fn counted_array(cursor: &mut Cursor<'_>) -> Result<Range<usize>> {
    let n_bytes = 4 * cursor.count(4)?;
    let start = cursor.position();
    cursor.skip(n_bytes)?;
    Ok(start..start + n_bytes)
}

#[cfg(test)]
pub(super) mod tests;
