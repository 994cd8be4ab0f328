//! Texts, and lists and maps of texts and numbers in each other: entries of a basket without a look at what else there may be.
//!
//! What is unusual ends it, and all entries are read one by one.

use super::streamed::{has_frame, lists_of_numbers, push_number, read_lists};
use super::values::{Values, list_end};
use crate::column::{Framing, Layout, Node};
use crate::cursor::Cursor;
use crate::error::Result;

/// Bytes before the number of items of a collection: byte count and version.
const FRAME_BYTES: usize = 6;
/// Bit of the first byte of a version: keys and values are stored one after the other.
const MEMBER_WISE: u8 = 0x40;

/// Whether [`decode_containers`] may read entries.
pub(crate) fn may_be_containers(layout: &Layout) -> bool {
    match layout {
        Layout::Streamed { framed: Framing::Bare, node: Node::TextOrNothing }
        | Layout::Streamed { framed: Framing::Bare | Framing::IfItFits, node: Node::Text } => true,
        Layout::Streamed { framed: Framing::Framed, node } => is_container(node),
        _ => false,
    }
}

fn is_container(node: &Node) -> bool {
    match node {
        Node::List(item) => is_of_containers(item),
        Node::Map(map) => is_of_containers(&map.key) && is_of_containers(&map.value),
        _ => false,
    }
}

fn is_of_containers(node: &Node) -> bool {
    matches!(node, Node::Number(_) | Node::Text) || is_container(node)
}

/// Appends the values of entries, if nothing about them is unusual; else nothing, and returns `false`.
///
/// `bounds`: where each begins in `data`, and where the last one ends.
pub(crate) fn decode_containers(layout: &Layout, data: &[u8], bounds: &[usize], out: &mut Values) -> bool {
    let Layout::Streamed { framed, node } = layout else { return false };
    let n_before = out.len();
    let is_read = bounds.windows(2).all(|entry| read_entry(*framed, node, data, entry[0], entry[1], out).is_ok());
    if !is_read {
        out.truncate(n_before);
    }
    is_read
}

/// That an entry is not what is read here.
struct Unusual;

impl From<crate::error::Error> for Unusual {
    fn from(_: crate::error::Error) -> Self {
        Unusual
    }
}

fn read_entry(
    framing: Framing,
    node: &Node,
    data: &[u8],
    start: usize,
    stop: usize,
    out: &mut Values,
) -> Result<(), Unusual> {
    let entry = data.get(start..stop).ok_or(Unusual)?;
    let mut cursor = match (framing, node) {
        (Framing::Framed, _) => {
            if !has_frame(entry) || entry.get(4).is_none_or(|high| high & MEMBER_WISE != 0) {
                return Err(Unusual);
            }
            // Kernels may look at what follows the entry.
            Cursor::at(data, start + FRAME_BYTES)
        }
        (Framing::IfItFits, _) if has_frame(entry) => return Err(Unusual),
        _ => Cursor::at(data, start),
    };
    match (node, &mut *out) {
        (Node::TextOrNothing, Values::Text(ends, bytes)) if entry.is_empty() => ends.push(list_end(bytes.len())?),
        (Node::TextOrNothing, out) => read(&mut cursor, &Node::Text, out)?,
        (node, out) => read(&mut cursor, node, out)?,
    }
    if cursor.position() == stop { Ok(()) } else { Err(Unusual) }
}

fn read(cursor: &mut Cursor<'_>, node: &Node, out: &mut Values) -> Result<(), Unusual> {
    match (node, out) {
        (Node::Number(number), Values::Primitive(_, bytes)) => push_number(cursor, *number, bytes)?,
        (Node::Text, Values::Text(ends, bytes)) => {
            bytes.extend_from_slice(cursor.string_bytes()?);
            ends.push(list_end(bytes.len())?);
        }
        (Node::List(item), Values::List(ends, items)) => {
            let n_items = cursor.count(item.min_bytes().max(1))?;
            if let (Node::Number(number), Values::Primitive(_, bytes)) = (&**item, &mut **items) {
                number.append(cursor.take(n_items * number.stored_bytes())?, bytes);
            } else if let Some((number, ends, numbers)) = lists_of_numbers(item, items) {
                read_lists(cursor, number, Some(n_items), ends, numbers)?;
            } else {
                for _ in 0..n_items {
                    read(cursor, item, items)?;
                }
            }
            ends.push(list_end(items.len())?);
        }
        (Node::Map(map), Values::Map(ends, keys, values)) => {
            for _ in 0..cursor.count(map.pair_bytes())? {
                read(cursor, &map.key, keys)?;
                read(cursor, &map.value, values)?;
            }
            ends.push(list_end(keys.len())?);
        }
        _ => return Err(Unusual),
    }
    Ok(())
}
