//! Keys: the header of each record.

use std::ops::{Deref, Range};

use crate::container::Datime;
use crate::cursor::Cursor;
use crate::error::{Error, Place, Result, Within};

/// Bytes that hold the fixed fields of any key.
pub const KEY_HEAD_BYTES: usize = 34;

/// The upper 16 bits of a large key's directory offset hold an index of process identifiers.
const SEEK_DIR_MASK: u64 = 0x0000_ffff_ffff_ffff;

/// The fixed fields of a key without its texts: all that the reading of a basket needs.
///
/// Source: `TKey::Streamer`, `TKey::FillBuffer` (ROOT 6.40).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHead {
    /// Size in bytes of the record, with its key (fNbytes); 0 in the key of a basket that was never written by itself.
    pub n_bytes: u32,
    /// Class version, more than 1000 if offsets have 64 bits.
    pub version: u16,
    /// Size in bytes of the object once uncompressed (fObjlen).
    pub object_bytes: u32,
    /// When the key was made.
    pub datime: Datime,
    /// Size in bytes of the key (fKeylen): the payload follows. More than what a [`Key`] holds if a class adds to it,
    /// as baskets do.
    pub key_bytes: u16,
    /// Cycle: which of the objects of that name in the directory, the last one being the highest.
    pub cycle: u16,
    /// Offset of the record in the file.
    pub seek_key: u64,
    /// Offset of the record of the directory that holds it; 0 for the root directory itself.
    pub seek_dir: u64,
}

/// A key: where a record is, how large, and what it holds. Its fixed fields are read as its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The fixed fields.
    pub head: KeyHead,
    /// Class of the object.
    pub class_name: String,
    /// Name of the object.
    pub name: String,
    /// Title of the object.
    pub title: String,
    /// Bytes this key took where it was parsed. Often `key_bytes`, but a class may add to it, and in key lists of
    /// before ROOT 5.34 it may be less.
    pub header_bytes_parsed: usize,
}

impl Deref for Key {
    type Target = KeyHead;

    fn deref(&self) -> &KeyHead {
        &self.head
    }
}

impl KeyHead {
    /// Reads the fixed fields of a key; the texts follow.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if this is a free segment, or no key; [`Error::Truncated`] at the end of the data.
    #[inline]
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let start = cursor.position();
        let n_bytes = cursor.i32()?;
        let n_bytes = u32::try_from(n_bytes).map_err(|_| {
            Error::corrupt(start, format!("a key expected, found a free segment of {} bytes", n_bytes.unsigned_abs()))
        })?;
        let version = cursor.u16()?;
        let object_bytes = cursor.u32()?;
        let datime = Datime(cursor.u32()?);
        let key_bytes = cursor.u16()?;
        // Negative for keys that are not to be purged.
        let cycle = cursor.i16()?.unsigned_abs();
        let (seek_key, seek_dir) = if version > 1000 {
            (cursor.u64()?, cursor.u64()? & SEEK_DIR_MASK)
        } else {
            (u64::from(cursor.u32()?), u64::from(cursor.u32()?))
        };
        if object_bytes > i32::MAX.unsigned_abs() || key_bytes > i16::MAX.unsigned_abs() {
            return Err(Error::corrupt(
                start,
                format!("a key cannot be of {key_bytes} bytes for an object of {object_bytes}"),
            ));
        }
        Ok(KeyHead { n_bytes, version, object_bytes, datime, key_bytes, cycle, seek_key, seek_dir })
    }

    /// Size in bytes of the payload as it is stored.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the record is shorter than its key.
    #[inline]
    pub fn payload_bytes(&self) -> Result<u32> {
        self.n_bytes.checked_sub(u32::from(self.key_bytes)).ok_or_else(|| {
            Error::corrupt(0, format!("a record of {} bytes cannot have a key of {}", self.n_bytes, self.key_bytes))
        })
    }

    /// Whether the payload is compressed: nothing says it but that it is shorter than its object.
    pub fn is_compressed(&self) -> bool {
        self.object_bytes > self.n_bytes.saturating_sub(u32::from(self.key_bytes))
    }

    /// Where the uncompressed object begins, for errors.
    pub fn object_place(&self) -> Place {
        Place::of_payload(self.is_compressed(), self.seek_key, self.key_bytes.into())
    }
}

impl Key {
    /// Reads a key, from the start of a record or from a key list. On return `cursor` is after its texts, which need
    /// not be where the payload starts.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if this is a free segment, or no key; [`Error::Truncated`] at the end of the data.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let start = cursor.position();
        let head = KeyHead::parse(cursor).within(|| "key")?;
        let mut text = || cursor.string().within(|| format!("key of the record at {}", head.seek_key));
        Ok(Key {
            head,
            class_name: text()?,
            name: text()?,
            title: text()?,
            header_bytes_parsed: cursor.position() - start,
        })
    }

    /// Size in bytes of the payload as it is stored.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the record is shorter than its key.
    pub fn payload_bytes(&self) -> Result<u32> {
        self.head.payload_bytes().within(|| format!("key of \"{};{}\"", self.name, self.cycle))
    }

    /// Where the payload is in the file.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the record is shorter than its key, or at no possible offset.
    pub fn payload_range(&self) -> Result<Range<u64>> {
        let start = self.seek_key.checked_add(u64::from(self.key_bytes));
        let range = start.zip(start.and_then(|start| start.checked_add(u64::from(self.payload_bytes().ok()?))));
        match range {
            Some((start, end)) => Ok(start..end),
            None => Err(Error::corrupt(
                0,
                format!("a record of {} bytes with a key of {} at {}", self.n_bytes, self.key_bytes, self.seek_key),
            )
            .within(format!("key of \"{};{}\"", self.name, self.cycle))),
        }
    }

    /// Where the whole record is in the file, its key first.
    ///
    /// # Errors
    /// As [`Key::payload_range`].
    pub fn record_range(&self) -> Result<Range<u64>> {
        Ok(self.seek_key..self.payload_range()?.end)
    }
}
