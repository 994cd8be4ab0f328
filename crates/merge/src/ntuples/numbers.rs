//! The few pages that are not copied: whole numbers that are other ones in the output, or that are encoded in another way.
//!
//! The entries that an attribute set is of are other ones in the output. The ends of texts, whose fields have two columns, are
//! encoded as in the input before: uproot 5.7 takes the first column of another representation for any of its columns.

use arrowroot::File;
use arrowroot_file::{PooledScratch, Scratch, format_error, read_range, unpack};
use arrowroot_format as format;
use arrowroot_writer::FileWriter;
use arrowroot_writer::ntuple::CopiedNtuple;
use format::codec::Compressor;
use format::rntuple::{ColumnType, Encoding, Page, Schema, SlotPages, Slots, check_page, checksum, encode, kernels};
use format::streamer::Primitive;

use super::pages::{bytes_of, n_bytes};
use crate::error::{Error, Result};

/// The field with the first entry that an entry of an attribute set is of. Source: `kMetaFieldNames` of `RNTupleAttrUtils.hxx`
/// (ROOT 6.40).
const START: &str = "_rangeStart";

/// True for the slot of the first entries of an attribute set.
pub(super) fn is_start(schema: &Schema, slots: &Slots, slot: usize) -> bool {
    let field = slots.slots.get(slot).and_then(|slot| schema.field_of(slot.field));
    field.is_some_and(|field| field.parent().is_none() && field.name() == START)
}

/// How whole numbers are stored: bytes of one, whether these are split, and whether they are differences.
fn layout(column_type: ColumnType) -> Option<(usize, bool, bool)> {
    match column_type.encoding? {
        Encoding::Plain(Primitive::UInt64) => Some((8, false, false)),
        Encoding::Split(Primitive::UInt64) => Some((8, true, false)),
        Encoding::Index { width, is_delta } => Some((width, is_delta, is_delta)),
        _ => None,
    }
}

/// True if pages of a column can be written as pages of another type.
pub(super) fn can_encode(from: ColumnType, to: ColumnType) -> bool {
    let is_index = |column_type: ColumnType| matches!(column_type.encoding, Some(Encoding::Index { .. }));
    is_index(from) && is_index(to)
}

/// Writes pages of whole numbers anew: as `to`, and with `add` added to each.
///
/// # Errors
/// If they are damaged, or not stored as whole numbers.
pub(super) fn write(
    (input, path): (&File, &str),
    pages: &SlotPages<'_>,
    (to, add): (ColumnType, u64),
    (out, file): (&mut CopiedNtuple, &FileWriter),
) -> Result<Vec<Page>> {
    let (from, mut compressor) = (pages.column.column_type, Compressor::new());
    let mut written = Vec::with_capacity(pages.pages.len());
    for page in pages.pages {
        let fault = |error: format::Error| -> Error {
            format_error(input.source().as_ref(), path, error.at(page.offset)).into()
        };
        let (Some(from_layout), Some(to_layout)) = (layout(from), layout(to)) else {
            let what = format!("whole numbers in a column of type {}", from.name());
            return Err(fault(format::Error::unsupported(0, what)));
        };
        page.check_place().map_err(fault)?;
        let stored = read_range(input.source().as_ref(), page.offset, bytes_of(page))?;
        if page.has_checksum {
            check_page(&stored).map_err(fault)?;
        }
        let stored = stored.get(..usize::try_from(page.stored_bytes).unwrap_or(usize::MAX)).unwrap_or(&stored);
        let mut values = decoded(stored, from_layout, page.n_elements as usize, n_bytes(from, page)).map_err(fault)?;
        values.iter_mut().for_each(|value| *value = value.wrapping_add(add));
        let plain = encoded(&mut values, to_layout).map_err(fault)?;
        let mut bytes = Vec::new();
        let setting = file.settings().compression;
        compressor.compress(setting, &plain, &mut bytes).map_err(arrowroot_writer::Error::from)?;
        let stored_bytes = bytes.len() as u64;
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        let offset = out.append(file, &[&bytes], plain.len())?;
        written.push(Page { offset, stored_bytes, has_checksum: true, ..*page });
    }
    Ok(written)
}

fn decoded(
    stored: &[u8],
    (width, is_split, is_delta): (usize, bool, bool),
    n: usize,
    n_bytes: usize,
) -> format::Result<Vec<u64>> {
    let mut scratch = PooledScratch::default();
    let Scratch { decompressor, unpacked, .. } = scratch.get();
    let plain = unpack(decompressor, stored, n_bytes, unpacked)?;
    let (mut words, mut values) = (vec![0; n_bytes], Vec::new());
    match is_split {
        false => kernels::copy_plain(plain, &(0..n), width, &mut words),
        true => kernels::unsplit(plain, n, &(0..n), width, &mut words),
    }
    kernels::index_values(&words, width, is_delta, &mut values);
    Ok(values)
}

fn encoded(values: &mut [u64], (width, is_split, is_delta): (usize, bool, bool)) -> format::Result<Vec<u8>> {
    let n = values.len();
    if is_delta {
        (1..n).rev().for_each(|index| values[index] = values[index].wrapping_sub(values[index - 1]));
    }
    let mut words = Vec::with_capacity(n * width);
    for &value in &*values {
        if width == 4 {
            let value = u32::try_from(value);
            let value = value.map_err(|_| format::Error::unsupported(0, "the end of a list of over 4 G in 32 bits"))?;
            words.extend_from_slice(&value.to_ne_bytes());
        } else {
            words.extend_from_slice(&value.to_ne_bytes());
        }
    }
    let mut out = vec![0; words.len()];
    match is_split {
        false => kernels::copy_plain(&words, &(0..n), width, &mut out),
        true => encode::split(&words, width, &mut out, n, 0),
    }
    Ok(out)
}
