//! The values of a branch: from the memory of a column to the bytes of entries.
//!
//! Source: `TLeaf*::FillBasket`, `TLeafC::FillBasket`, `TCollectionProxyInfo`'s streamers (ROOT 6.40).

use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use arrowroot_arrow::Stored;
use arrowroot_arrow::stored::{Content, Step};
use arrowroot_format::decode::kernels;

use super::layout::Branch;

/// Set in byte counts. Source: `kByteCountMask`.
pub(super) const BYTE_COUNT_MASK: u32 = 0x4000_0000;
/// Byte count and class version.
pub(super) const VECTOR_HEAD_BYTES: usize = 6;
/// Bytes of the number of items of a vector.
pub(super) const COUNT_BYTES: usize = 4;
/// Texts from this length on have four more bytes of it. Source: `TBufferFile::WriteFastArrayString`.
const LONG_TEXT_BYTES: usize = 255;

/// Values at the end of a path, for consecutive entries.
#[derive(Debug, Clone)]
pub(super) struct Located<'a> {
    /// Where they are.
    pub(super) values: &'a Stored,
    /// Which of them.
    pub(super) range: Range<usize>,
    /// Of the only list on the way: where its items begin for each entry, and where those of the last end.
    pub(super) offsets: Option<&'a [i64]>,
}

/// Follows a path with one list at most.
pub(super) fn locate<'a>(part: &'a Stored, entries: Range<usize>, path: &[Step]) -> Located<'a> {
    let mut located = Located { values: part, range: entries, offsets: None };
    for step in path {
        match (located.values, step) {
            (Stored::Optional { values, .. }, Step::Present) => located.values = values,
            (Stored::Struct { members, .. }, Step::Member(index)) => located.values = &members[*index],
            (Stored::Fixed { n_items, items, .. }, Step::Items) => {
                located.range = located.range.start * n_items..located.range.end * n_items;
                located.values = items;
            }
            (Stored::List { items, .. }, Step::Items) => {
                let offsets = offsets_of(located.values, &located.range);
                located.range = items_of(offsets);
                located.offsets = Some(offsets);
                located.values = items;
            }
            // A type that the plan was not made for. Nothing is there then, and the basket is found to be too short.
            _ => located.range = 0..0,
        }
    }
    located
}

/// Where the lists or texts in `range` begin, and where the last of them ends.
pub(super) fn offsets_of<'a>(values: &'a Stored, range: &Range<usize>) -> &'a [i64] {
    match values {
        Stored::List { offsets, .. } | Stored::Text { offsets, .. } if !range.is_empty() => {
            &offsets[range.start..range.end + 1]
        }
        _ => &[],
    }
}

/// All items of lists that begin at these offsets.
pub(super) fn items_of(offsets: &[i64]) -> Range<usize> {
    match offsets {
        [first, .., last] => index(*first)..index(*last),
        _ => 0..0,
    }
}

/// True if entries of a part have values of a branch, and not only lists and texts that are empty.
pub(super) fn has_values(branch: &Branch, part: &Stored, entries: Range<usize>) -> bool {
    let located = locate(part, entries, &branch.planned.path);
    // Counts and flags are values themselves.
    let is_of_lists = matches!(branch.planned.content, Content::Counter | Content::Validity);
    if is_of_lists { !located.range.is_empty() } else { has_some(located.values, located.range) }
}

/// True if there are numbers, or characters of texts, at any depth.
fn has_some(values: &Stored, range: Range<usize>) -> bool {
    let inside = || items_of(offsets_of(values, &range));
    match values {
        _ if range.is_empty() => false,
        Stored::Numbers { .. } | Stored::Bits(_) => true,
        Stored::Text { .. } => !inside().is_empty(),
        Stored::List { items, .. } => has_some(items, inside()),
        Stored::Fixed { n_items, items, .. } => has_some(items, range.start * n_items..range.end * n_items),
        Stored::Struct { members, .. } => members.iter().any(|member| has_some(member, range.clone())),
        Stored::Variant { alternatives, .. } => alternatives.iter().any(|of| has_some(of, range.clone())),
        Stored::Optional { values, .. } => has_some(values, range),
    }
}

/// An offset, which is never negative in an array that is valid.
pub(super) fn index(offset: i64) -> usize {
    usize::try_from(offset).unwrap_or_default()
}

/// The lengths of lists or texts that begin at these offsets.
pub(super) fn lengths(offsets: &[i64]) -> impl ExactSizeIterator<Item = usize> {
    offsets.windows(2).map(|pair| index(pair[1] - pair[0]))
}

/// Appends numbers or bools, big-endian, one byte for a bool.
pub(super) fn append_numbers(values: &Stored, range: Range<usize>, out: &mut Vec<u8>) {
    match values {
        Stored::Numbers { primitive, values } => {
            let width = primitive.stored_bytes();
            // Swapping is its own opposite.
            kernels::append_swapped(&values[range.start * width..range.end * width], out, width);
        }
        Stored::Bits(bits) => append_bits(&bits.slice(range.start, range.len()), out),
        _ => {}
    }
}

/// Appends whether optional values are there, one byte for each.
pub(super) fn append_validity(values: &Stored, range: Range<usize>, out: &mut Vec<u8>) {
    if let Stored::Optional { valid, .. } = values {
        append_bits(&valid.slice(range.start, range.len()), out);
    }
}

/// Appends a byte of 0 or 1 for each bit.
pub(super) fn append_bits(bits: &BooleanBuffer, out: &mut Vec<u8>) {
    let end = out.len() + bits.len();
    out.reserve(bits.len() + 64);
    for word in bits.bit_chunks().iter_padded() {
        if out.len() >= end {
            break;
        }
        out.extend_from_slice(word.to_le_bytes().map(spread).as_flattened());
    }
    out.truncate(end);
}

/// The bits of a byte as bytes, the lowest first.
#[inline]
fn spread(bits: u8) -> [u8; 8] {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const ONE_OF_EACH: u64 = 0x8040_2010_0804_0201;
    // Each byte is a power of two or 0: adding 127 carries the former into its top bit, and no further.
    let one_of_each = (u64::from(bits) * EACH) & ONE_OF_EACH;
    (((one_of_each + EACH * 0x7f) >> 7) & EACH).to_le_bytes()
}

/// Appends the numbers of items of lists, as `Int32`. The caller has seen that they have room in it.
pub(super) fn append_counts(offsets: &[i64], out: &mut Vec<u8>) {
    const BLOCK: usize = 1024;
    let mut block = [[0_u8; 4]; BLOCK];
    let n_lists = offsets.len().saturating_sub(1);
    for start in (0..n_lists).step_by(BLOCK) {
        let end = (start + BLOCK).min(n_lists);
        for (to, pair) in block.iter_mut().zip(offsets[start..=end].windows(2)) {
            *to = low_word(pair[1] - pair[0]);
        }
        out.extend_from_slice(block[..end - start].as_flattened());
    }
}

/// The lower four bytes, big-endian.
#[inline]
fn low_word(value: i64) -> [u8; 4] {
    let [_, _, _, _, word @ ..] = value.to_be_bytes();
    word
}

/// Bytes of a text with its length.
pub(super) fn text_bytes(length: usize) -> usize {
    length + if length < LONG_TEXT_BYTES { 1 } else { 5 }
}

/// Appends a text with its length, as it is in vectors, and as the entry of a leaf.
///
/// ROOT writes no byte at all for an empty text of a leaf. It reads a length of 0 too, and not all others read nothing: uproot
/// 5.7 takes the next text for it.
///
/// Source: `TBufferFile::WriteFastArrayString`, `TString::FillBuffer` (ROOT 6.40).
#[inline]
pub(super) fn append_text(text: &[u8], out: &mut Vec<u8>) {
    match u8::try_from(text.len()) {
        Ok(n_bytes) if text.len() < LONG_TEXT_BYTES => out.push(n_bytes),
        _ => {
            out.push(u8::MAX);
            append_count(text.len(), out);
        }
    }
    out.extend_from_slice(text);
}

/// Appends a number of items. What has more than four bytes of it is too large for a basket, which is seen elsewhere.
#[inline]
pub(super) fn append_count(n_items: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(n_items).unwrap_or(u32::MAX).to_be_bytes());
}

#[cfg(test)]
mod tests;
