//! The entries that an attribute set is of: they are other ones in the output.

use arrowroot::File;
use arrowroot_file::{PooledScratch, format_error, read_range, unpack};
use arrowroot_format as format;
use arrowroot_writer::FileWriter;
use arrowroot_writer::ntuple::CopiedNtuple;
use format::rntuple::{Encoding, Page, Schema, SlotPages, Slots, check_page, checksum, encode, kernels};
use format::streamer::Primitive;

use super::joined::n_bytes;
use super::pages::bytes_of;
use crate::error::{Error, Result};

/// The field with the first entry that an entry of an attribute set is of. Source: `kMetaFieldNames` of `RNTupleAttrUtils.hxx`
/// (ROOT 6.40).
const START: &str = "_rangeStart";
const WIDTH: usize = 8;

/// Whether a slot has the first entries.
pub(super) fn is_start(schema: &Schema, slots: &Slots, slot: usize) -> bool {
    let field = slots.slots.get(slot).and_then(|slot| schema.field_of(slot.field));
    field.is_some_and(|field| field.parent().is_none() && field.name() == START)
}

/// Writes the pages of the first entries with so many added.
///
/// # Errors
/// If they are damaged, or stored in a way in which ROOT stores none.
pub(super) fn moved(
    input: &File,
    path: &str,
    pages: &SlotPages<'_>,
    first_entry: u64,
    out: &mut CopiedNtuple,
    file: &FileWriter,
) -> Result<Vec<Page>> {
    let fault = |page: &Page, error: format::Error| -> Error {
        format_error(input.source().as_ref(), path, error.within(START.to_owned()).at(page.offset)).into()
    };
    let mut written = Vec::with_capacity(pages.pages.len());
    for page in pages.pages {
        let column_type = pages.column.column_type;
        let is_split = match column_type.encoding {
            Some(Encoding::Plain(Primitive::UInt64)) => false,
            Some(Encoding::Split(Primitive::UInt64)) => true,
            _ => {
                let what = format!("first entries in a column of type {}", column_type.name());
                return Err(fault(page, format::Error::unsupported(0, what)));
            }
        };
        page.check_place().map_err(|error| fault(page, error))?;
        let stored = read_range(input.source().as_ref(), page.offset, bytes_of(page))?;
        if page.has_checksum {
            check_page(&stored).map_err(|error| fault(page, error))?;
        }
        let stored = stored.get(..usize::try_from(page.stored_bytes).unwrap_or(usize::MAX)).unwrap_or(&stored);
        let (n, n_bytes) = (page.n_elements as usize, n_bytes(column_type, page));
        let mut scratch = PooledScratch::default();
        let scratch = scratch.get();
        let plain = unpack(&mut scratch.decompressor, stored, n_bytes, &mut scratch.unpacked);
        let plain = plain.map_err(|error| fault(page, error))?;
        let mut values = vec![0; n_bytes];
        match is_split {
            false => kernels::copy_plain(plain, &(0..n), WIDTH, &mut values),
            true => kernels::unsplit(plain, n, &(0..n), WIDTH, &mut values),
        }
        for value in values.as_chunks_mut::<WIDTH>().0 {
            *value = u64::from_ne_bytes(*value).wrapping_add(first_entry).to_ne_bytes();
        }
        let mut bytes = vec![0; n_bytes];
        match is_split {
            false => kernels::copy_plain(&values, &(0..n), WIDTH, &mut bytes),
            true => encode::split(&values, WIDTH, &mut bytes, n, 0),
        }
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        let offset = out.append(file, &[&bytes], n_bytes)?;
        written.push(Page { offset, stored_bytes: n_bytes as u64, has_checksum: true, ..*page });
    }
    Ok(written)
}
