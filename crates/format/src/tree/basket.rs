//! Baskets: the records that hold the values of a branch for a range of entries.
//!
//! Source: `TBasket::Streamer`, `TBasket::WriteBuffer` (ROOT 6.40). A basket has no streamer information; its own
//! fields are the last bytes of its key.

use std::ops::Range;

use crate::container::{Datime, Key, KeyHead};
use crate::cursor::Cursor;
use crate::decode::kernels::dispatched;
use crate::error::{Error, Place, Result};
use crate::output::Output;

/// Class of baskets, in their keys, and its version that is written (ROOT 6.40).
const CLASS: &str = "TBasket";
const VERSION: u16 = 3;
/// Bytes that a basket adds to its key; the feature bits are one more.
const OWN_BYTES: u16 = 19;
/// `TBasket::EIOBits::kGenerateOffsetMap`, the only feature bit there is.
pub const GENERATE_OFFSET_MAP: u8 = 1;
/// Added to the flag when the entry offsets are not stored at all.
const OFFSETS_GENERATED: u8 = 80;
/// The top byte of an entry offset may hold a displacement. Source: `kDisplacementMask`.
pub(crate) const OFFSET_MASK: u32 = 0x00FF_FFFF;

/// The head of a basket: what is known before its payload is decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BasketHead {
    /// `fNbytes`: size of the record in the file, in bytes, key included.
    pub stored_bytes: u32,
    /// `fKeylen`: where the payload starts in the record, and what entry offsets count from.
    pub key_bytes: u32,
    /// `fObjlen`: size of the uncompressed payload in bytes.
    pub payload_bytes: u32,
    /// Version of the key; more than 1000: its offsets have 64 bits.
    pub key_version: u16,
    /// When the key was made.
    pub datime: Datime,
    /// `fCycle`: in ROOT's files the number of the basket in its branch, as it was when the key was made.
    pub cycle: i16,
    /// `fSeekKey`: offset of the record in the file.
    pub seek_key: u64,
    /// `fSeekPdir`: offset of the record of the directory of the tree.
    pub seek_dir: u64,
    /// `fPidOffset`: added to the indices of process identifiers in the payload.
    pub pid_offset: u16,
    /// Version of `TBasket`.
    pub version: u16,
    /// `fBufferSize`: bytes of the writer's buffer.
    pub buffer_bytes: i32,
    /// Bytes of entry data at the start of the payload (`fLast - fKeylen`); entry offsets may follow.
    pub data_bytes: u32,
    /// `fNevBuf`: number of entries.
    pub n_entries: u32,
    /// `fNevBufSize`: bytes of an entry if all are of equal size, else the writer's room for entry offsets.
    pub entry_bytes: u32,
    /// The stored entry offsets are sizes (`kGenerateOffsetMap`).
    pub offsets_are_sizes: bool,
    /// The entry offsets are not stored: they follow from the counter of the leaf (flag 80).
    pub offsets_generated: bool,
}

/// A basket inside the record of its tree: it was not yet full when the tree was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedBasket {
    /// Its place among the baskets of the branch.
    pub index: usize,
    /// As of a basket of its own; `payload_bytes` are the entry data alone.
    pub head: BasketHead,
    /// Where the entry data lie in the object data of the tree.
    pub data: Range<usize>,
    /// Entry offsets in bytes from the start of the data, if entries differ in size.
    pub entry_offsets: Option<Vec<u32>>,
    /// `fObjlen` of its key.
    object_bytes: u32,
    /// What says that it is written otherwise than ROOT 6.40 does, if it is.
    oddity: Option<&'static str>,
}

/// A basket among the objects of a branch.
pub(super) enum Embedded {
    /// With its data, if it has any.
    Here(EmbeddedBasket),
    /// Without: they are in the file, where the tables of the branch say, as those of every other basket.
    Elsewhere,
}

impl BasketHead {
    /// Reads the head from the first bytes of the record.
    ///
    /// # Errors
    /// Truncated if the key is longer than `record`; corrupt if sizes contradict each other.
    #[inline]
    pub fn parse(record: &[u8]) -> Result<BasketHead> {
        let mut cursor = Cursor::new(record);
        let (head, flag) = Self::read(&mut cursor)?;
        if flag != 0 && flag != OFFSETS_GENERATED {
            return Err(Error::corrupt(cursor.position(), format!("a basket record with flag {flag}")));
        }
        if cursor.position() > head.key_bytes as usize {
            return Err(Error::corrupt(cursor.position(), "a basket head longer than its key"));
        }
        if head.data_bytes > head.payload_bytes {
            return Err(Error::corrupt(
                0,
                format!("{} bytes of entries in a payload of {}", head.data_bytes, head.payload_bytes),
            ));
        }
        Ok(head)
    }

    #[inline]
    fn read(cursor: &mut Cursor<'_>) -> Result<(BasketHead, u8)> {
        let start = cursor.position();
        let key = KeyHead::parse(cursor)?;
        for _ in 0..3 {
            cursor.string_bytes()?; // class, name, title
        }
        let version = cursor.u16()?;
        let buffer_bytes = cursor.i32()?;
        let mut entry_bytes = cursor.i32()?;
        let mut offsets_are_sizes = false;
        if entry_bytes < 0 {
            // The sign says that a byte of feature bits follows.
            entry_bytes = entry_bytes.checked_neg().unwrap_or(0);
            let features = cursor.u8()?;
            if features != GENERATE_OFFSET_MAP {
                return Err(Error::unsupported(cursor.position(), format!("basket features {features:#04x}")));
            }
            offsets_are_sizes = true;
        }
        let n_entries = cursor.i32()?;
        let last = cursor.i32()?;
        let flag = cursor.u8()?;
        let unsigned = |value: i32, what: &str| {
            u32::try_from(value).map_err(|_| Error::corrupt(start, format!("a basket with {value} for {what}")))
        };
        let key_bytes = u32::from(key.key_bytes);
        let data_bytes = match unsigned(last, "fLast")?.checked_sub(key_bytes) {
            Some(data_bytes) => data_bytes,
            // Nothing was filled into it.
            None if n_entries == 0 => 0,
            None => {
                let what = format!("fLast {last} before the end of a key of {key_bytes}");
                return Err(Error::corrupt(start, what));
            }
        };
        let head = BasketHead {
            stored_bytes: key.n_bytes,
            key_bytes,
            payload_bytes: key.object_bytes,
            key_version: key.version,
            datime: key.datime,
            cycle: key.signed_cycle(),
            seek_key: key.seek_key,
            seek_dir: key.seek_dir,
            pid_offset: key.pid_offset,
            version,
            buffer_bytes,
            data_bytes,
            n_entries: unsigned(n_entries, "fNevBuf")?,
            entry_bytes: unsigned(entry_bytes, "fNevBufSize")?,
            offsets_are_sizes,
            offsets_generated: flag >= OFFSETS_GENERATED,
        };
        Ok((head, flag))
    }

    /// The head of a basket that is to be written: the length of its key is known, all else is 0. The cycle is the number of
    /// the basket in its branch, where that has 15 bits.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the names are too long for a key.
    pub fn new(branch: &str, tree: &str) -> Result<BasketHead> {
        let key = Key::new(true, CLASS, branch, tree)?;
        let key_bytes = u32::from(key.head.key_bytes) + u32::from(OWN_BYTES);
        // Those of a basket with generated offsets have one more.
        if key_bytes >= i16::MAX.unsigned_abs().into() {
            return Err(Key::too_long(CLASS, branch, tree));
        }
        Ok(BasketHead {
            stored_bytes: 0,
            key_bytes,
            payload_bytes: 0,
            key_version: key.head.version,
            datime: Datime(0),
            cycle: 0,
            seek_key: 0,
            seek_dir: 0,
            pid_offset: 0,
            version: VERSION,
            buffer_bytes: 0,
            data_bytes: 0,
            n_entries: 0,
            entry_bytes: 0,
            offsets_are_sizes: false,
            offsets_generated: false,
        })
    }

    /// The same with the feature byte of baskets that store sizes instead of offsets (`kGenerateOffsetMap`); `is_counted`: they
    /// store none, as those follow from a counter.
    #[must_use]
    pub fn with_generated_offsets(self, is_counted: bool) -> BasketHead {
        let key_bytes = self.key_bytes + u32::from(!self.offsets_are_sizes);
        BasketHead { key_bytes, offsets_are_sizes: true, offsets_generated: is_counted, ..self }
    }

    /// Writes the head: the key and what a basket adds to it. The payload follows.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the key is not as long as it says, or its offsets or sizes do not fit.
    ///
    /// # Source
    /// `TBasket::Streamer` with `fHeaderOnly` (ROOT 6.40).
    pub fn write(&self, branch: &str, tree: &str, output: &mut Output) -> Result<()> {
        let start = output.position();
        self.write_with(
            branch,
            tree,
            self.payload_bytes,
            if self.offsets_generated { OFFSETS_GENERATED } else { 0 },
            output,
        )?;
        let n_bytes = output.position() - start;
        if n_bytes != self.key_bytes as usize {
            let what = format!("a key of {n_bytes} bytes for a basket of {branch:?} that says {}", self.key_bytes);
            return Err(Error::unsupported(start, what));
        }
        Ok(())
    }

    /// Writes the head with that `fObjlen` and flag.
    fn write_with(&self, branch: &str, tree: &str, object_bytes: u32, flag: u8, output: &mut Output) -> Result<()> {
        let too_large = || Error::unsupported(0, format!("a basket of branch {branch:?} of 2 GiB or more"));
        let signed = |value: u32| i32::try_from(value).map_err(|_| too_large());
        let key = KeyHead {
            n_bytes: self.stored_bytes,
            version: self.key_version,
            object_bytes,
            datime: self.datime,
            key_bytes: u16::try_from(self.key_bytes).map_err(|_| too_large())?,
            cycle: self.cycle.unsigned_abs(),
            is_kept: self.cycle < 0,
            seek_key: self.seek_key,
            seek_dir: self.seek_dir,
            pid_offset: self.pid_offset,
        };
        key.write(output)?;
        for text in [CLASS, branch, tree] {
            output.string(text.as_bytes())?;
        }
        output.u16(self.version);
        output.i32(self.buffer_bytes);
        let entry_bytes = signed(self.entry_bytes)?;
        if self.offsets_are_sizes {
            if entry_bytes == 0 {
                return Err(Error::unsupported(
                    0,
                    format!("a basket of branch {branch:?} with fNevBufSize 0 and features"),
                ));
            }
            output.i32(-entry_bytes);
            output.u8(GENERATE_OFFSET_MAP);
        } else {
            output.i32(entry_bytes);
        }
        output.i32(signed(self.n_entries)?);
        output.i32(signed(self.key_bytes.checked_add(self.data_bytes).ok_or_else(too_large)?)?);
        output.u8(flag);
        Ok(())
    }

    /// Whether entry offsets follow the entry data in the payload.
    pub fn has_offsets(&self) -> bool {
        self.payload_bytes > self.data_bytes && self.n_entries > 0
    }

    /// Whether the payload in the file is compressed.
    pub fn is_compressed(&self) -> bool {
        self.payload_bytes > self.stored_bytes.saturating_sub(self.key_bytes)
    }

    /// Where the uncompressed payload begins, for errors. `offset`: of the record in the file.
    pub fn payload_place(&self, offset: u64) -> Place {
        Place::of_payload(self.is_compressed(), offset, self.key_bytes.into())
    }

    /// The stored entry offsets, as they are: `n_entries` big-endian words, counted from the start of the record.
    ///
    /// `payload`: the uncompressed payload. `None` if there are none.
    ///
    /// # Errors
    /// Corrupt if the array does not fit in the payload.
    pub fn stored_offsets<'a>(&self, payload: &'a [u8]) -> Result<Option<&'a [u8]>> {
        if !self.has_offsets() {
            return Ok(None);
        }
        let mut cursor = Cursor::at(payload, self.data_bytes as usize);
        let position = cursor.position();
        let n_stored = cursor.count(4)?;
        // One more than there are entries: the last is not an offset.
        if n_stored < self.n_entries as usize {
            return Err(Error::corrupt(position, format!("{n_stored} entry offsets for {} entries", self.n_entries)));
        }
        cursor.take(self.n_entries as usize * 4).map(Some)
    }
}

impl EmbeddedBasket {
    /// One without data, to test what is done with its numbers.
    #[cfg(test)]
    pub(super) fn new(index: usize, head: BasketHead) -> Self {
        EmbeddedBasket { index, head, data: 0..0, entry_offsets: None, object_bytes: 0, oddity: None }
    }

    /// True if it is written as ROOT 6.40 does it.
    pub fn is_usual(&self) -> bool {
        self.oddity.is_none()
    }

    /// Reads a basket, after its class tag.
    pub(super) fn read(cursor: &mut Cursor<'_>, index: usize) -> Result<Embedded> {
        let start = cursor.position();
        let (mut head, mut flag) = BasketHead::read(cursor)?;
        if flag >= OFFSETS_GENERATED {
            flag -= OFFSETS_GENERATED;
        }
        let mut oddity = None;
        let mut entry_offsets = None;
        if !head.offsets_generated && flag != 0 && flag % 10 != 2 {
            if head.n_entries > 0 {
                let mask = if (21..40).contains(&flag) { OFFSET_MASK } else { u32::MAX };
                let n_offsets = cursor.count(4)?;
                if n_offsets < head.n_entries as usize {
                    return Err(Error::corrupt(start, format!("{n_offsets} offsets of {} entries", head.n_entries)));
                }
                if n_offsets > head.n_entries as usize {
                    oddity = Some("more entry offsets than entries");
                }
                let mut offsets = Vec::with_capacity(n_offsets);
                for _ in 0..n_offsets {
                    let offset = cursor.u32()? & mask;
                    if offset < head.key_bytes {
                        oddity = Some("entry offsets before its data");
                    }
                    offsets.push(offset.saturating_sub(head.key_bytes));
                }
                offsets.truncate(head.n_entries as usize);
                entry_offsets = Some(offsets);
            }
            if flag > 40 {
                let n_displacements = cursor.count(4)?;
                cursor.skip(n_displacements * 4)?;
            }
        }
        let mut data = cursor.position()..cursor.position();
        if flag == 1 || flag > 10 {
            cursor.skip(head.key_bytes as usize)?;
            data.start = cursor.position();
            cursor.skip(head.data_bytes as usize)?;
            data.end = cursor.position();
        } else if head.data_bytes > 0 && head.n_entries > 0 {
            return Ok(Embedded::Elsewhere);
        }
        let object_bytes = std::mem::replace(&mut head.payload_bytes, head.data_bytes);
        let mut basket = EmbeddedBasket { index, head, data, entry_offsets, object_bytes, oddity };
        if flag != basket.flag() % OFFSETS_GENERATED {
            basket.oddity = Some("displacements, or no data");
        }
        Ok(Embedded::Here(basket))
    }

    /// The flag of a basket with its data. Source: `TBasket::Streamer` (ROOT 6.40).
    fn flag(&self) -> u8 {
        let flag = if self.entry_offsets.is_some() { 11 } else { 12 };
        if self.head.offsets_generated { flag + OFFSETS_GENERATED } else { flag }
    }

    /// Writes it, after its class tag. `object_data`: of the tree it was read from.
    pub(super) fn write(&self, branch: &str, tree: &str, object_data: &[u8], output: &mut Output) -> Result<()> {
        if let Some(oddity) = self.oddity {
            let what = format!("a basket with {oddity} in the record of a tree is not written");
            return Err(Error::unsupported(output.position(), what));
        }
        self.head.write_with(branch, tree, self.object_bytes, self.flag(), output)?;
        if let Some(offsets) = &self.entry_offsets {
            output.count(offsets.len())?;
            offsets.iter().for_each(|offset| output.u32(offset.wrapping_add(self.head.key_bytes)));
        }
        // What is before the data in the buffer is the place of the key.
        let start = self.data.start.checked_sub(self.head.key_bytes as usize);
        let buffer = start.and_then(|start| object_data.get(start..self.data.end));
        output.raw(buffer.ok_or_else(|| Error::unsupported(self.data.start, "a basket without the record it was in"))?);
        Ok(())
    }
}

dispatched! {
    /// Appends where entries begin that are lists: `base`, and `item_bytes` for each item before.
    ///
    /// `offsets`: where the lists begin among their items; that of the first is where they are counted from. Of what does not fit
    /// the lower 32 bits are appended.
    pub fn append_list_starts(offsets: &[i64], item_bytes: u32, base: u32, starts: &mut Vec<u32>) {
        let first = offsets.first().copied().unwrap_or_default();
        let low_word = |n_items: i64| {
            let [a, b, c, d, ..] = n_items.to_le_bytes();
            u32::from_le_bytes([a, b, c, d])
        };
        let start = |offset: &i64| base.wrapping_add(low_word(offset.wrapping_sub(first)).wrapping_mul(item_bytes));
        starts.extend(offsets.iter().map(start));
    }
}

/// Appends the entry offsets of a basket to its entry data: their number, they, and one more that is 0.
///
/// `starts`: of all entries in bytes from the start of the record, so the first is the length of the key.
///
/// # Errors
/// [`Error::Unsupported`] if they are 2^31 - 1 or more.
///
/// # Source
/// `TBasket::WriteBuffer` (ROOT 6.40).
pub fn append_entry_offsets(payload: &mut Vec<u8>, starts: &[u32]) -> Result<()> {
    let n_offsets = u32::try_from(starts.len() + 1).ok().filter(|n| *n <= i32::MAX.unsigned_abs());
    let n_offsets = n_offsets.ok_or_else(|| Error::unsupported(0, "a basket of 2^31 - 1 entries"))?;
    payload.reserve(8 + 4 * starts.len());
    payload.extend(n_offsets.to_be_bytes());
    // A block at a time is vector code.
    let mut block = [[0; 4]; 256];
    for starts in starts.chunks(block.len()) {
        block.iter_mut().zip(starts).for_each(|(to, start)| *to = start.to_be_bytes());
        payload.extend_from_slice(block[..starts.len()].as_flattened());
    }
    payload.extend([0; 4]);
    Ok(())
}

/// Appends the sizes of the entries of a basket in place of their offsets, as baskets with features have them: their number, 0, the
/// bytes of each entry but the last, and what makes the offset behind them 0.
///
/// # Errors
/// As of [`append_entry_offsets`].
///
/// # Source
/// `TBasket::WriteBuffer` (ROOT 6.40).
pub fn append_entry_sizes(payload: &mut Vec<u8>, starts: &[u32]) -> Result<()> {
    let sizes = starts.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
    let words: Vec<u32> = starts.first().map(|_| 0).into_iter().chain(sizes).collect();
    append_entry_offsets(payload, &words)?;
    if let (Some(last), Some(end)) = (starts.last(), payload.last_chunk_mut::<4>()) {
        *end = 0_u32.wrapping_sub(*last).to_be_bytes();
    }
    Ok(())
}

/// These bytes stand between entries of a basket where others were.
const GAP: [u8; 16] = *b"\xa7 not an entry. ";
/// A gap has so many bytes at least.
const MIN_GAP_BYTES: usize = 4;

/// Appends a gap of so many bytes: entries before it end where it begins, which no offset says.
pub fn append_gap(data: &mut Vec<u8>, n_bytes: usize) {
    data.extend(GAP.iter().cycle().take(n_bytes));
}

/// True if bytes behind an entry are gaps.
pub(crate) fn is_gap(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let n_bytes = bytes.iter().zip(GAP.iter().cycle()).take_while(|(byte, of_gap)| byte == of_gap).count();
        if n_bytes < MIN_GAP_BYTES {
            return false;
        }
        bytes = &bytes[n_bytes..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gaps_one_behind_the_other_are_told_from_other_bytes() {
        let gaps = |sizes: &[usize]| {
            let mut data = Vec::new();
            sizes.iter().for_each(|&n_bytes| append_gap(&mut data, n_bytes));
            data
        };
        for sizes in [&[4][..], &[16], &[100], &[5, 4, 33, 16, 7]] {
            assert!(is_gap(&gaps(sizes)), "{sizes:?}");
        }
        let with = |mut data: Vec<u8>, byte| {
            data.push(byte);
            data
        };
        assert!(!is_gap(&gaps(&[3])) && !is_gap(&[0; 16]) && !is_gap(&with(gaps(&[20]), 0)) && is_gap(&[]));
    }

    proptest! {
        #[test]
        fn starts_of_lists_are_those_of_a_loop(
            begins in prop::collection::vec(-5_i64..1 << 33, 0..200), item_bytes in 1_u32..9, base in any::<u32>(),
        ) {
            let mut starts = vec![7];
            append_list_starts(&begins, item_bytes, base, &mut starts);
            let start = |begin: &i64| {
                let n_bytes = i128::from(begin - begins[0]) * i128::from(item_bytes) + i128::from(base);
                u32::try_from(n_bytes.rem_euclid(1 << 32)).unwrap()
            };
            let expected: Vec<u32> = std::iter::once(7).chain(begins.iter().map(start)).collect();
            prop_assert_eq!(starts, expected);
        }
    }
}
