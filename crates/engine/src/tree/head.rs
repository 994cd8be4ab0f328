//! The head of a basket in the file, and what its branch says of it.

use std::ops::Range;

use arrowroot_format as format;
use format::tree::BasketHead;

use crate::scan::Piece;

/// Where a basket is in the file.
pub(crate) fn range_of(location: &Piece) -> Range<u64> {
    location.offset..location.offset.saturating_add(location.stored_bytes.into())
}

/// The payload of a record that was read again, whose head must be the same.
pub(crate) fn same_payload<'r>(record: &'r [u8], location: &Piece, head: &BasketHead) -> format::Result<&'r [u8]> {
    if parse_head(record, location).map_err(|error| error.at(location.offset))? != *head {
        return Err(format::Error::corrupt(0, "a basket with another head").at(location.offset));
    }
    Ok(record.get(head.key_bytes as usize..).unwrap_or_default())
}

/// The head of a record, which must be what its branch says.
pub(crate) fn parse_head(record: &[u8], location: &Piece) -> format::Result<BasketHead> {
    let head = BasketHead::parse(record)?;
    let n_entries = location.entry_end - location.first_entry;
    if head.stored_bytes != location.stored_bytes || u64::from(head.n_entries) != n_entries {
        let what = format!(
            "the basket says {} bytes and {} entries, its branch {} and {n_entries}",
            head.stored_bytes, head.n_entries, location.stored_bytes
        );
        return Err(format::Error::corrupt(0, what));
    }
    if head.key_bytes as usize > record.len() {
        return Err(format::Error::corrupt(0, "a key longer than its record"));
    }
    Ok(head)
}

/// Where the payload of a basket begins in the file.
pub(crate) fn payload_offset(location: &Piece, head: &BasketHead) -> u64 {
    location.offset.saturating_add(head.key_bytes.into())
}

/// Whether a payload is in the file as it is, where nothing vouches for it.
pub(crate) fn is_plain(head: &BasketHead) -> bool {
    u64::from(head.key_bytes) + u64::from(head.payload_bytes) <= u64::from(head.stored_bytes)
}
