//! Keys: the header of each record.

use std::ops::{Deref, Range};

use crate::container::Datime;
use crate::cursor::Cursor;
use crate::error::{Error, Place, Result, Within};
use crate::output::{Output, string_bytes};

/// Bytes that hold the fixed fields of any key.
pub const KEY_HEAD_BYTES: usize = 34;
/// Bytes of the fixed fields with 32-bit offsets.
const SMALL_HEAD_BYTES: usize = 26;

/// Files, and offsets in them, are large if they are beyond this. Source: `TFile::kStartBigFile` (ROOT 6.40).
pub const START_OF_LARGE: u64 = 2_000_000_000;

/// Class version of keys, and what it is raised by if offsets have 64 bits. Source: `TKey` (ROOT 6.40).
const KEY_VERSION: u16 = 4;
const LARGE: u16 = 1000;
/// The upper 16 bits of a large key's directory offset hold an index of process identifiers.
const SEEK_DIR_BITS: u32 = 48;
const SEEK_DIR_MASK: u64 = (1 << SEEK_DIR_BITS) - 1;

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
    /// True if the object is not to be purged: the cycle is stored with a minus sign then.
    pub is_kept: bool,
    /// Offset of the record in the file.
    pub seek_key: u64,
    /// Offset of the record of the directory that holds it; 0 for the root directory itself.
    pub seek_dir: u64,
    /// Added to the indices of process identifiers in the object (fPidOffset); keys with 32-bit offsets have none.
    pub pid_offset: u16,
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
        let cycle = cursor.i16()?;
        let (is_kept, cycle) = (cycle < 0, cycle.unsigned_abs());
        let (seek_key, seek_dir, pid_offset) = if version > LARGE {
            let (seek_key, word) = (cursor.u64()?, cursor.u64()?);
            let [high, low, ..] = word.to_be_bytes();
            (seek_key, word & SEEK_DIR_MASK, u16::from_be_bytes([high, low]))
        } else {
            (u64::from(cursor.u32()?), u64::from(cursor.u32()?), 0)
        };
        if object_bytes > i32::MAX.unsigned_abs() || key_bytes > i16::MAX.unsigned_abs() {
            return Err(Error::corrupt(
                start,
                format!("a key cannot be of {key_bytes} bytes for an object of {object_bytes}"),
            ));
        }
        Ok(KeyHead {
            n_bytes,
            version,
            object_bytes,
            datime,
            key_bytes,
            cycle,
            is_kept,
            seek_key,
            seek_dir,
            pid_offset,
        })
    }

    /// Writes the fixed fields of a key; the texts follow.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if an offset does not fit into the layout that the version says.
    pub fn write(&self, output: &mut Output) -> Result<()> {
        output.u32(self.n_bytes);
        output.u16(self.version);
        output.u32(self.object_bytes);
        output.u32(self.datime.0);
        output.u16(self.key_bytes);
        output.i16(self.signed_cycle());
        if self.is_large() {
            let has_room = self.seek_dir <= SEEK_DIR_MASK;
            output.u64(self.seek_key);
            output.u64(u64::from(self.pid_offset) << SEEK_DIR_BITS | self.seek_dir & SEEK_DIR_MASK);
            has_room
        } else {
            let narrow = |offset| u32::try_from(offset).ok();
            let (seek_key, seek_dir) = (narrow(self.seek_key), narrow(self.seek_dir));
            output.u32(seek_key.unwrap_or_default());
            output.u32(seek_dir.unwrap_or_default());
            seek_key.is_some() && seek_dir.is_some() && self.pid_offset == 0
        }
        .then_some(())
        .ok_or_else(|| Error::unsupported(0, format!("no room for the offsets of a key of version {}", self.version)))
    }

    /// Says in the key at the start of a record where the record is now; all else of it stays.
    ///
    /// `seek_dir`: of its directory. `cycle`: as it is stored. `add_to_pid`: is added to `fPidOffset`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if its offsets have 32 bits and no room for that; as [`KeyHead::parse`].
    pub fn move_record(record: &mut [u8], seek_key: u64, seek_dir: u64, cycle: i16, add_to_pid: u16) -> Result<()> {
        let head = KeyHead::parse(&mut Cursor::new(record))?;
        let pid_offset = head.pid_offset.checked_add(add_to_pid);
        let pid_offset = pid_offset.ok_or_else(|| Error::unsupported(0, "more than 65535 process identifiers"))?;
        let moved = KeyHead { seek_key, seek_dir, pid_offset, cycle: cycle.unsigned_abs(), is_kept: cycle < 0, ..head };
        let mut output = Output::new(0);
        moved.write(&mut output)?;
        let bytes = output.into_bytes();
        // It was read from there.
        record[..bytes.len()].copy_from_slice(&bytes);
        Ok(())
    }

    /// The cycle as it is stored.
    pub(crate) fn signed_cycle(&self) -> i16 {
        let cycle = self.cycle.cast_signed();
        if self.is_kept { cycle.wrapping_neg() } else { cycle }
    }

    /// True if its offsets have 64 bits.
    pub fn is_large(&self) -> bool {
        self.version > LARGE
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

    /// Writes the key, from its fixed fields to its texts.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if an offset does not fit into the layout that the version says.
    pub fn write(&self, output: &mut Output) -> Result<()> {
        self.head.write(output)?;
        [&self.class_name, &self.name, &self.title].into_iter().try_for_each(|text| output.string(text.as_bytes()))
    }

    /// The error for texts that are too long for a key.
    pub(crate) fn too_long(class_name: &str, name: &str, title: &str) -> Error {
        let n_bytes = texts_bytes([class_name, name, title]);
        let start: String = name.chars().take(40).collect();
        let what =
            format!("class, name and title of {start:?} take {n_bytes} bytes: a key has at most 32767, all told");
        Error::unsupported(0, what)
    }

    /// A key of a record that is to be written: its length is that of its fields and texts, its cycle 1; all else is not known
    /// yet. `is_large`: whether offsets have 64 bits, which ROOT decides by the end of the file when it makes the key
    /// ([`START_OF_LARGE`]), and always for baskets.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the texts are too long for a key.
    ///
    /// # Source
    /// `TKey::Build`, `TKey::Sizeof` (ROOT 6.40).
    pub fn new(is_large: bool, class_name: &str, name: &str, title: &str) -> Result<Self> {
        let n_bytes = texts_bytes([class_name, name, title]) + if is_large { KEY_HEAD_BYTES } else { SMALL_HEAD_BYTES };
        let key_bytes = u16::try_from(n_bytes).ok().filter(|n_bytes| *n_bytes <= i16::MAX.unsigned_abs());
        let key_bytes = key_bytes.ok_or_else(|| Key::too_long(class_name, name, title))?;
        let head = KeyHead {
            n_bytes: u32::from(key_bytes),
            version: if is_large { KEY_VERSION + LARGE } else { KEY_VERSION },
            object_bytes: 0,
            datime: Datime(0),
            key_bytes,
            cycle: 1,
            is_kept: false,
            seek_key: 0,
            seek_dir: 0,
            pid_offset: 0,
        };
        let [class_name, name, title] = [class_name, name, title].map(str::to_owned);
        Ok(Key { head, class_name, name, title, header_bytes_parsed: n_bytes })
    }

    /// Says how large the object is, and what is stored of it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if that is too large for a record.
    pub fn set_payload(&mut self, object_bytes: usize, stored_bytes: usize) -> Result<()> {
        let n_bytes = u32::try_from(stored_bytes + usize::from(self.head.key_bytes)).ok();
        match (u32::try_from(object_bytes), n_bytes) {
            (Ok(object_bytes), Some(n_bytes)) if object_bytes.max(n_bytes) <= i32::MAX.unsigned_abs() => {
                (self.head.object_bytes, self.head.n_bytes) = (object_bytes, n_bytes);
                Ok(())
            }
            _ => Err(Error::unsupported(0, format!("{object_bytes} bytes in one record: at most 2 GiB"))
                .within(format!("record of {:?}", self.name))),
        }
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
}

/// Bytes of the texts of a key, with their lengths.
fn texts_bytes(texts: [&str; 3]) -> usize {
    texts.map(|text| string_bytes(text.len())).into_iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_moved_where_its_key_has_room() {
        for is_large in [true, false] {
            let mut key = Key::new(is_large, "TBasket", "b", "t").unwrap();
            key.set_payload(3, 3).unwrap();
            let mut output = Output::new(0);
            key.write(&mut output).unwrap();
            let mut record = output.into_bytes();
            record.extend(b"abc");
            KeyHead::move_record(&mut record, 1000, 100, -7, 0).unwrap();
            let moved = Key::parse(&mut Cursor::new(&record)).unwrap();
            assert_eq!((moved.seek_key, moved.seek_dir, moved.signed_cycle()), (1000, 100, -7));
            assert_eq!((moved.n_bytes, &*moved.name, &record[record.len() - 3..]), (key.n_bytes, "b", &b"abc"[..]));
            assert_eq!(KeyHead::move_record(&mut record, 1 << 33, 100, 1, 0).is_ok(), is_large);
            assert_eq!(KeyHead::move_record(&mut record, 1000, 100, 1, 3).is_ok(), is_large);
        }
    }
}
