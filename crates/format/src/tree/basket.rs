//! Baskets: the records that hold the values of a branch for a range of entries.
//!
//! Source: `TBasket::Streamer`, `TBasket::WriteBuffer` (ROOT 6.40). A basket has no streamer information; its own
//! fields are the last bytes of its key.

use std::ops::Range;

use crate::cursor::Cursor;
use crate::error::{Error, Place, Result};

/// Keys of this version and above hold 8-byte file offsets.
const BIG_KEY: u16 = 1000;
/// `TBasket::EIOBits::kGenerateOffsetMap`, the only feature bit there is.
const GENERATE_OFFSET_MAP: u8 = 1;
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
    /// Bytes of entry data at the start of the payload (`fLast - fKeylen`); entry offsets may follow.
    pub data_bytes: u32,
    /// `fNevBuf`: number of entries.
    pub n_entries: u32,
    /// `fNevBufSize`: bytes of an entry if all are of equal size.
    pub entry_bytes: u32,
    /// The stored entry offsets are sizes (`kGenerateOffsetMap`).
    pub offsets_are_sizes: bool,
    /// The entry offsets are not stored: they follow from the counter of the leaf (flag 80).
    pub offsets_generated: bool,
}

/// A basket inside the record of its tree: it was not yet full when the tree was written.
#[derive(Debug, Clone)]
pub struct EmbeddedBasket {
    /// Its place among the baskets of the branch.
    pub index: usize,
    /// As of a basket of its own; `payload_bytes` are the entry data alone.
    pub head: BasketHead,
    /// Where the entry data lie in the object data of the tree.
    pub data: Range<usize>,
    /// Entry offsets in bytes from the start of the data, if entries differ in size.
    pub entry_offsets: Option<Vec<u32>>,
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
        let stored_bytes = cursor.i32()?;
        let key_version = cursor.u16()?;
        let payload_bytes = cursor.i32()?;
        cursor.u32()?; // fDatime
        let key_bytes = u32::from(cursor.u16()?);
        cursor.u16()?; // fCycle
        cursor.skip(if key_version > BIG_KEY { 16 } else { 8 })?; // fSeekKey, fSeekPdir
        for _ in 0..3 {
            cursor.string_bytes()?; // class, name, title
        }
        cursor.u16()?; // version of TBasket
        cursor.i32()?; // fBufferSize
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
            stored_bytes: unsigned(stored_bytes, "fNbytes")?,
            key_bytes,
            payload_bytes: unsigned(payload_bytes, "fObjlen")?,
            data_bytes,
            n_entries: unsigned(n_entries, "fNevBuf")?,
            entry_bytes: unsigned(entry_bytes, "fNevBufSize")?,
            offsets_are_sizes,
            offsets_generated: flag >= OFFSETS_GENERATED,
        };
        Ok((head, flag))
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
    /// Reads a basket, after its class tag.
    pub(super) fn read(cursor: &mut Cursor<'_>, index: usize) -> Result<Embedded> {
        let start = cursor.position();
        let (mut head, mut flag) = BasketHead::read(cursor)?;
        if flag >= OFFSETS_GENERATED {
            flag -= OFFSETS_GENERATED;
        }
        let mut entry_offsets = None;
        if !head.offsets_generated && flag != 0 && flag % 10 != 2 {
            if head.n_entries > 0 {
                let mask = if (21..40).contains(&flag) { OFFSET_MASK } else { u32::MAX };
                let n_offsets = cursor.count(4)?;
                if n_offsets < head.n_entries as usize {
                    return Err(Error::corrupt(start, format!("{n_offsets} offsets of {} entries", head.n_entries)));
                }
                let mut offsets = Vec::with_capacity(n_offsets);
                for _ in 0..n_offsets {
                    let offset = cursor.u32()? & mask;
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
        head.payload_bytes = head.data_bytes;
        Ok(Embedded::Here(EmbeddedBasket { index, head, data, entry_offsets }))
    }
}
