//! Envelopes, and where they are.

use std::ops::Range;

use crate::error::{Error, Place, Result};

use super::reader::Reader;
use super::writer::Writer;

/// The shortest envelope: type and length, and the checksum.
pub const ENVELOPE_MIN_BYTES: u64 = 16;
const CHECKSUM_BYTES: usize = 8;
/// The locator type of sizes over 2 GiB.
const LARGE: i8 = 1;
/// Bytes of such a locator.
const LARGE_BYTES: u32 = 20;

/// The checksum of envelopes, anchors and pages.
pub fn checksum(bytes: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(bytes)
}

/// A byte range of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locator {
    /// From the start of the file.
    pub offset: u64,
    /// Bytes to read.
    pub n_bytes: u64,
}

/// Where an envelope is, and how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvelopeLink {
    /// Bytes when uncompressed.
    pub uncompressed_bytes: u64,
    /// Where it is; `None` if that is not in a file, but in a store that only later versions of the format know.
    pub locator: Option<Locator>,
}

impl EnvelopeLink {
    /// The payload to read. `max_key_bytes`: of the anchor.
    ///
    /// # Errors
    /// Unsupported if it is not in the file.
    pub fn blob(&self, max_key_bytes: u64) -> Result<Blob> {
        let Some(Locator { offset, n_bytes }) = self.locator else {
            return Err(outside());
        };
        let uncompressed_bytes = self.uncompressed_bytes;
        Ok(Blob { offset, stored_bytes: n_bytes, uncompressed_bytes, max_key_bytes })
    }
}

/// A payload in one key, or in several if it is longer than `max_key_bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blob {
    /// Of the first byte.
    pub offset: u64,
    /// Bytes in the file.
    pub stored_bytes: u64,
    /// Bytes when uncompressed.
    pub uncompressed_bytes: u64,
    /// The longest payload of a key; 0: no limit.
    pub max_key_bytes: u64,
}

impl Blob {
    /// The range at which the payload begins, and that of the offsets of its further parts, if it has any.
    ///
    /// # Errors
    /// Corrupt if not even the offsets fit into a key.
    ///
    /// # Source
    /// `RMiniFileReader::ReadBuffer` and `ComputeNumChunks` (ROOT 6.40): the last bytes of the first key are the offsets
    /// of the other keys.
    pub fn first_part(&self) -> Result<(Range<u64>, Range<u64>)> {
        let end = self.offset.saturating_add(self.stored_bytes);
        if self.max_key_bytes == 0 || self.stored_bytes <= self.max_key_bytes {
            return Ok((self.offset..end, end..end));
        }
        let mut n_parts = self.stored_bytes.div_ceil(self.max_key_bytes);
        let left = n_parts * self.max_key_bytes - self.stored_bytes;
        if (n_parts - 1).saturating_mul(8) > left {
            n_parts += 1;
        }
        let end = self.offset.saturating_add(self.max_key_bytes);
        let n_offset_bytes = (n_parts - 1).saturating_mul(8);
        if n_offset_bytes >= self.max_key_bytes {
            let what = format!("{n_parts} keys of {} bytes", self.max_key_bytes);
            return Err(Error::corrupt(0, what).at(self.offset));
        }
        Ok((self.offset..end - n_offset_bytes, end - n_offset_bytes..end))
    }

    /// Where the uncompressed envelope begins, for errors.
    pub fn envelope_place(&self) -> Place {
        let is_in_parts = self.max_key_bytes > 0 && self.stored_bytes > self.max_key_bytes;
        if is_in_parts || self.uncompressed_bytes > self.stored_bytes {
            Place::Payload { offset: 0, of: "envelope", at: self.offset }
        } else {
            Place::File(self.offset)
        }
    }

    /// The further parts of the payload, from the bytes of their offsets.
    pub fn further_parts(&self, offsets: &[u8]) -> Vec<Range<u64>> {
        let first_bytes = self.max_key_bytes - offsets.len() as u64;
        let mut left = self.stored_bytes.saturating_sub(first_bytes);
        let mut parts = Vec::with_capacity(offsets.len() / 8);
        for offset in offsets.as_chunks::<8>().0 {
            let offset = u64::from_le_bytes(*offset);
            let n_bytes = left.min(self.max_key_bytes);
            parts.push(offset..offset.saturating_add(n_bytes));
            left -= n_bytes;
        }
        parts
    }
}

/// The kinds of envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Header = 1,
    Footer = 2,
    PageList = 3,
}

/// Checks the frame of an envelope. Returns a reader of its payload, and its checksum.
pub(super) fn open(envelope: &[u8], kind: Kind) -> Result<(Reader<'_>, u64)> {
    let mut reader = Reader::new(envelope);
    let head = reader.u64()?;
    let (found, n_bytes) = (head & 0xFFFF, head >> 16);
    if found != kind as u64 {
        return Err(Error::corrupt(0, format!("an envelope of type {found}, where a {kind:?} is expected")));
    }
    if n_bytes != envelope.len() as u64 || n_bytes < ENVELOPE_MIN_BYTES {
        return Err(Error::corrupt(0, format!("an envelope of {n_bytes} bytes in {}", envelope.len())));
    }
    let (covered, stored) = envelope.split_at(envelope.len() - CHECKSUM_BYTES);
    let stored = Reader::new(stored).u64()?;
    let computed = checksum(covered);
    if stored != computed {
        let what = format!("the checksum of the {kind:?} should be {stored:016x} and is {computed:016x}");
        return Err(Error::corrupt(covered.len(), what));
    }
    let mut reader = Reader::new(covered);
    reader.take(8)?;
    Ok((reader, stored))
}

/// Reads a locator; `None` if it is of a kind that is not known.
pub(super) fn locator(reader: &mut Reader<'_>) -> Result<Option<Locator>> {
    let start = reader.offset();
    let size = reader.i32()?;
    if let Ok(n_bytes) = u64::try_from(size) {
        return Ok(Some(Locator { offset: reader.u64()?, n_bytes }));
    }
    // Size of the locator itself, and its type in the top byte.
    let head = size.unsigned_abs();
    let n_bytes = (head & 0xFFFF) as usize;
    let kind = i8::try_from(head >> 24).unwrap_or(i8::MAX);
    let Some(payload_bytes) = n_bytes.checked_sub(4) else {
        return Err(Error::corrupt(start, format!("a locator of {n_bytes} bytes")));
    };
    let mut payload = Reader::new(reader.take(payload_bytes)?);
    if kind != LARGE {
        return Ok(None);
    }
    let n_bytes = payload.u64()?;
    Ok(Some(Locator { offset: payload.u64()?, n_bytes }))
}

/// Reads a link to an envelope.
pub(super) fn link(reader: &mut Reader<'_>) -> Result<EnvelopeLink> {
    Ok(EnvelopeLink { uncompressed_bytes: reader.u64()?, locator: locator(reader)? })
}

/// Writes a locator: that of large sizes only where the size needs it, as ROOT does.
pub(super) fn write_locator(writer: &mut Writer, locator: Locator) {
    match i32::try_from(locator.n_bytes) {
        Ok(size) => writer.i32(size),
        Err(_) => {
            let head = LARGE_BYTES | u32::from(LARGE.unsigned_abs()) << 24;
            writer.u32(head.wrapping_neg());
            writer.u64(locator.n_bytes);
        }
    }
    writer.u64(locator.offset);
}

/// Writes a link to an envelope; unsupported if it is not in the file.
pub(super) fn write_link(writer: &mut Writer, link: &EnvelopeLink) -> Result<()> {
    writer.u64(link.uncompressed_bytes);
    write_locator(writer, link.locator.ok_or_else(outside)?);
    Ok(())
}

/// What is said of a locator of a kind that is not known.
pub(super) fn outside() -> Error {
    Error::unsupported(0, "an envelope outside of a file (locator of an unknown type)")
}
