//! The baskets of a branch: which entries they hold, and where they are.

use std::ops::Range;

use super::basket::{Embedded, EmbeddedBasket};
use super::branch::Branch;
use super::objects::{Slot, read_array_head};
use super::record::Reading;
use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};

/// `TBasket::fNevBuf` has 32 bits and a sign.
const MAX_BASKET_ENTRIES: u64 = i32::MAX as u64;

/// Where the arrays of a branch lie in the object data of its tree: they are decoded when asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct BasketTable {
    /// `fWriteBasket`: number of baskets in the file.
    n_baskets: usize,
    bytes: Range<usize>,
    entries: (Range<usize>, bool),
    seeks: (Range<usize>, bool),
}

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
                Some(place) => first_entry.saturating_add(i64::from(self.embedded[place].head.n_entries)),
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

    fn wrong_table(&self, index: usize, what: String) -> Error {
        Error::corrupt(self.baskets.entries.0.start, format!("branch {}, basket {index}: {what}", self.name))
    }
}

impl BasketTable {
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
/// `last_is_elsewhere`: as the baskets before them say.
pub(super) fn read_basket_table(
    cursor: &mut Cursor<'_>,
    n_baskets: i32,
    max_baskets: i32,
    version: u16,
    last_is_elsewhere: bool,
) -> Result<BasketTable> {
    let is_wide = version >= 10;
    let position = cursor.position();
    let number = |what: &str, value: i32| {
        usize::try_from(value).map_err(|_| Error::corrupt(position, format!("{what} is {value}")))
    };
    let max_baskets = number("fMaxBaskets", max_baskets)?;
    let n_baskets = number("fWriteBasket", n_baskets)?;
    let table = if version == 5 {
        let entries = (counted_array(cursor)?, false);
        BasketTable { n_baskets, bytes: counted_array(cursor)?, entries, seeks: (counted_array(cursor)?, false) }
    } else {
        let (bytes, _) = basket_array(cursor, max_baskets, Some(false), version)?;
        let entries = basket_array(cursor, max_baskets, Some(is_wide), version)?;
        BasketTable {
            n_baskets,
            bytes,
            entries,
            seeks: basket_array(cursor, max_baskets, is_wide.then_some(true), version)?,
        }
    };
    if table.bytes.len() / 4 < n_baskets {
        return Err(Error::corrupt(position, format!("{n_baskets} baskets in arrays of {max_baskets}")));
    }
    Ok(if last_is_elsewhere { table.with_last(cursor.data()) } else { table })
}

/// Reads the baskets that have their data with them. Also says whether the last one, which is not counted as written, is there
/// without its data.
pub(super) fn read_embedded_baskets<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    n_baskets: i32,
) -> Result<(Vec<EmbeddedBasket>, bool)> {
    let (n_slots, array_end) = read_array_head(cursor)?;
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
        match reading.objects.slot(cursor)? {
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
    if let Some(end) = array_end {
        cursor.leave(end)?;
    }
    Ok((embedded, last_is_elsewhere))
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
