//! Byte counts and versions before values.

use crate::cursor::BYTE_COUNT_MASK;

/// Bit 14 of a collection's version: keys and values, or members, are stored one after the other.
pub(super) const MEMBER_WISE: u16 = 0x4000;

/// Whether the first word is the byte count of exactly these bytes.
pub(super) fn has_frame(entry: &[u8]) -> bool {
    entry.first_chunk::<4>().is_some_and(|word| {
        let word = u32::from_be_bytes(*word);
        word & BYTE_COUNT_MASK != 0 && (word & !BYTE_COUNT_MASK) as usize == entry.len() - 4
    })
}

/// The same of a collection whose items are stored one after the other, and not their members.
pub(super) fn is_object_wise(entry: &[u8]) -> bool {
    has_frame(entry) && entry.get(4).is_some_and(|&high| u16::from_be_bytes([high, 0]) & MEMBER_WISE == 0)
}
