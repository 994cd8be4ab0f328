//! Texts, and lists and maps of texts and numbers in each other: entries of a basket without a look at what else there may be.
//!
//! What is unusual ends it, and all entries are read one by one.

use std::ops::Range;

use super::frame::{has_frame, is_object_wise};
use super::objects::Reader;
use super::values::Values;
use crate::column::{EntryForm, Framing, Node};
use crate::cursor::Cursor;

/// Bytes before the number of items of a collection: byte count and version.
const FRAME_BYTES: usize = 6;

/// Whether [`decode_containers`] may read entries.
pub(crate) fn may_be_containers(form: &EntryForm) -> bool {
    match form {
        EntryForm::Streamed { framed: Framing::Bare, node: Node::TextOrNothing }
        | EntryForm::Streamed { framed: Framing::Bare | Framing::IfItFits, node: Node::Text } => true,
        EntryForm::Streamed { framed: Framing::Framed, node } => is_container(node),
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
pub(crate) fn decode_containers(form: &EntryForm, data: &[u8], bounds: &[usize], out: &mut Values) -> bool {
    let EntryForm::Streamed { framed, node } = form else { return false };
    let n_before = out.len();
    let mut reader = Reader::new(data.len(), 0);
    let mut read = |entry: &[usize]| read_entry(&mut reader, *framed, node, data, entry[0]..entry[1], out);
    let is_read = bounds.windows(2).all(|entry| read(entry).is_some());
    if !is_read {
        out.truncate(n_before);
    }
    is_read
}

/// `None`: it is not what is read here.
fn read_entry<'a>(
    reader: &mut Reader<'a>,
    framing: Framing,
    node: &Node,
    data: &'a [u8],
    range: Range<usize>,
    out: &mut Values,
) -> Option<()> {
    let entry = data.get(range.clone())?;
    let is_usual = match framing {
        Framing::Framed => is_object_wise(entry),
        Framing::IfItFits => !has_frame(entry),
        Framing::Bare => true,
    };
    if !is_usual {
        return None;
    }
    let node = match node {
        Node::TextOrNothing if entry.is_empty() => return reader.read(&mut Cursor::new(entry), node, out).ok(),
        Node::TextOrNothing => &Node::Text,
        node => node,
    };
    let head_bytes = if framing == Framing::Framed { FRAME_BYTES } else { 0 };
    // Kernels may look at what follows the entry.
    let mut cursor = Cursor::at(data, range.start + head_bytes);
    reader.read(&mut cursor, node, out).ok()?;
    (cursor.position() == range.end).then_some(())
}

#[cfg(test)]
mod tests;
