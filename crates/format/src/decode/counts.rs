//! How many items an array has, where its class or another member says so: never more than the bytes that are left can hold.

use crate::column::{Name, Node};
use crate::cursor::Cursor;
use crate::error::{Error, Result};

/// Checks that a fixed array may fit: its dimensions come from the file, and items of no bytes would never end.
pub(super) fn check_fixed(cursor: &Cursor<'_>, item: &Node, n_items: u32) -> Result<()> {
    let item_bytes = item.min_bytes();
    if n_items > 0 && item_bytes == 0 {
        return Err(Error::unsupported(cursor.position(), format!("an array of {n_items} items of no bytes")));
    }
    let n_bytes = item_bytes.saturating_mul(n_items as usize);
    if n_bytes > cursor.remaining() {
        return Err(Error::truncated(
            cursor.position(),
            format!("an array of at least {n_bytes} bytes, {} left", cursor.remaining()),
        ));
    }
    Ok(())
}

/// Items of an array that another member counts.
pub(super) fn counted_items(cursor: &Cursor<'_>, item: &Node, count: Option<i64>, factor: u32) -> Result<usize> {
    count
        .and_then(|count| usize::try_from(count).ok())
        .and_then(|count| count.checked_mul(factor as usize))
        .filter(|n_items| {
            let item_bytes = item.min_bytes().max(1);
            n_items.checked_mul(item_bytes).is_some_and(|n_bytes| n_bytes <= cursor.remaining())
        })
        .ok_or_else(|| {
            let what = match count {
                Some(count) => format!("an array of {count} items in the {} bytes left", cursor.remaining()),
                None => "an array whose counter is missing".to_owned(),
            };
            Error::corrupt(cursor.position(), what)
        })
}

/// Items of each array that a leaf of another branch counts: what is left of the entry, divided among them.
pub(super) fn items_that_fit(cursor: &Cursor<'_>, members: &[(Name, Node)]) -> Result<usize> {
    let (mut fixed_bytes, mut bytes_of_one) = (0_usize, 0_usize);
    for (_, node) in members {
        match node {
            Node::ToFit(item) => bytes_of_one = bytes_of_one.saturating_add(item.min_bytes()),
            _ => fixed_bytes = fixed_bytes.saturating_add(node.min_bytes()),
        }
    }
    let n_bytes = cursor.remaining();
    n_bytes
        .checked_sub(fixed_bytes)
        .filter(|left| left.checked_rem(bytes_of_one) == Some(0))
        .map(|left| left / bytes_of_one)
        .ok_or_else(|| {
            let what = format!("{n_bytes} bytes for arrays of items of {bytes_of_one} bytes and {fixed_bytes} more");
            Error::corrupt(cursor.position(), what)
        })
}
