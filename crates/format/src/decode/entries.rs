//! The entries of a branch, one by one or a basket at once.

use super::containers::{decode_containers, may_be_containers};
use super::equal_size::{decode_equal_size, may_be_equal_size};
use super::frame::has_frame;
use super::misfit::Trace;
use super::objects::{Reader, check_end, check_objects};
use super::t_object::read_entry;
use super::values::{Values, list_end, misfit};
use crate::column::{Class, EntryForm, Framing, Header, Node, Number, node_with_dims};
use crate::cursor::Cursor;
use crate::error::{Error, Result};

impl EntryForm {
    /// Appends the value of one entry of arrays that `counts` has the numbers of items of, one for each object; or of
    /// members stored one by one, of so many objects as its only item says.
    ///
    /// # Errors
    /// As [`EntryForm::decode_entry`], which reads any other form.
    pub fn decode_counted<'a>(
        &self,
        reader: &mut Reader<'a>,
        entry: &'a [u8],
        counts: &[i64],
        origin: usize,
        out: &mut Values,
    ) -> Result<()> {
        match self {
            EntryForm::Streamed { node: Node::ArrayOfEach { item, factor, head }, .. } => {
                read_entry(reader, entry, origin, out, |reader, out| {
                    let mut cursor = Cursor::new(entry);
                    let Values::List(ends, arrays) = out else { return Err(misfit(&cursor)) };
                    let Values::List(item_ends, items) = &mut **arrays else { return Err(misfit(&cursor)) };
                    reader.arrays(&mut cursor, item, *factor, *head, counts, item_ends, items)?;
                    ends.push(list_end(item_ends.len())?);
                    check_end(&cursor, "the arrays take")
                })
            }
            EntryForm::Streamed { node: Node::MembersOfEach(class), .. } => {
                let n_objects = counts.first().copied();
                read_entry(reader, entry, origin, out, |reader, out| {
                    decode_members(reader, class, n_objects, entry, out)
                })
            }
            _ => self.decode_entry(reader, entry, origin, out),
        }
    }

    /// Whether there is a fast way for all entries of a basket, see [`EntryForm::decode_entries`].
    pub fn has_fast_way(&self) -> bool {
        may_be_containers(self) || may_be_equal_size(self)
    }

    /// Appends the values of entries at once: of texts and containers of them and of numbers, and of objects that all take the
    /// same bytes. If anything about them is unusual nothing is appended, and the answer is `false`.
    ///
    /// `bounds`: where each begins in `data`, and where the last one ends.
    ///
    /// # Errors
    /// Unsupported if a list grows over 2^31 items: a smaller batch holds them.
    pub fn decode_entries(&self, data: &[u8], bounds: &[usize], out: &mut Values) -> Result<bool> {
        match may_be_containers(self) {
            true => Ok(decode_containers(self, data, bounds, out)),
            false => decode_equal_size(self, data, bounds, out),
        }
    }

    /// Appends the value of one entry: the plain way, right for every form.
    ///
    /// `reader`: that of the entry before, or a new one; `entry`: exactly its bytes; `origin`: how far they are from the start
    /// of the key of their basket, which is what references between objects count from.
    ///
    /// # Errors
    /// Corrupt if the bytes are fewer or more than the value takes.
    pub fn decode_entry<'a>(
        &self,
        reader: &mut Reader<'a>,
        entry: &'a [u8],
        origin: usize,
        out: &mut Values,
    ) -> Result<()> {
        let item = |number: &Number, dims: &[u32]| node_with_dims(Node::Number(*number), dims);
        match self {
            EntryForm::Fixed { number, dims } => {
                decode_streamed(reader, Framing::Bare, &item(number, dims), entry, origin, out)
            }
            EntryForm::Jagged { header: Header::Vector, number, dims } => {
                decode_streamed(reader, Framing::Framed, &Node::List(Box::new(item(number, dims))), entry, origin, out)
            }
            EntryForm::Jagged { header, number, dims } => {
                // Old writers leave the flag out where there are no items.
                let numbers = entry.get(header.n_bytes()..).unwrap_or_default();
                let node = Node::ToEnd(Box::new(item(number, dims)));
                decode_streamed(reader, Framing::Bare, &node, numbers, origin, out)
                    .map_err(|error| error.inside(header.n_bytes()))
            }
            EntryForm::Streamed { framed, node } => decode_streamed(reader, *framed, node, entry, origin, out),
        }
    }
}

/// Reads an entry once more, to learn of the classes in it.
///
/// `entry`: exactly its bytes; `counts`: as for [`EntryForm::decode_counted`], if it is read so; `origin`: how far the bytes are
/// from the start of the key of their basket.
pub fn trace(form: &EntryForm, entry: &[u8], counts: Option<&[i64]>, origin: usize) -> Trace {
    let EntryForm::Streamed { framed, node } = form else { return Trace::default() };
    let mut reader = Reader::new(entry.len(), origin);
    reader.trace = Some(Box::default());
    let mut values = Values::empty(&node.data_type());
    // What goes wrong is noted.
    let _ = match counts {
        Some(counts) => form.decode_counted(&mut reader, entry, counts, origin, &mut values),
        None => decode_with(&mut reader, *framed, node, entry, &mut values),
    };
    reader.trace.map_or_else(Trace::default, |trace| *trace)
}

/// Appends the value of one entry.
///
/// `entry`: exactly its bytes; `origin`: how far they are from the start of the key of their basket.
///
/// # Errors
/// Corrupt if the bytes are fewer or more than the value takes; unsupported for what [`Node::Unreadable`] says.
pub(super) fn decode_streamed<'a>(
    reader: &mut Reader<'a>,
    framing: Framing,
    node: &Node,
    entry: &'a [u8],
    origin: usize,
    out: &mut Values,
) -> Result<()> {
    read_entry(reader, entry, origin, out, |reader, out| decode_with(reader, framing, node, entry, out))
}

/// The same by a reader that notes something beside.
pub(super) fn decode_with<'a>(
    reader: &mut Reader<'a>,
    framing: Framing,
    node: &Node,
    entry: &'a [u8],
    out: &mut Values,
) -> Result<()> {
    let mut cursor = Cursor::new(entry);
    let may_be_absent = matches!(node, Node::ToEnd(_) | Node::List(_) | Node::TextOrNothing);
    let is_framed = match framing {
        Framing::Bare => false,
        // An empty collection of some writers, and all bitsets before ROOT 6.08/06, leave no bytes at all.
        Framing::Framed => !(entry.is_empty() && may_be_absent),
        Framing::IfItFits => has_frame(entry),
    };
    if is_framed {
        reader.framed(&mut cursor, node, 1, out)?;
    } else if entry.is_empty() && framing != Framing::Bare && may_be_absent {
        return push_empty(out);
    } else {
        reader.read(&mut cursor, node, out)?;
    }
    check_end(&cursor, "the value takes")
}

/// Appends the members of the objects of one entry, of which there are so many: one member of all after the other.
///
/// # Errors
/// Corrupt if the bytes are fewer or more than the members take, or if nothing tells how many objects there are.
pub(super) fn decode_members<'a>(
    reader: &mut Reader<'a>,
    class: &Class,
    n_objects: Option<i64>,
    entry: &'a [u8],
    out: &mut Values,
) -> Result<()> {
    let mut cursor = Cursor::new(entry);
    let (Values::List(ends, objects), [variant]) = (out, class.variants.as_slice()) else {
        return Err(misfit(&cursor));
    };
    let Values::Struct(n_values, columns) = &mut **objects else { return Err(misfit(&cursor)) };
    let n_objects = n_objects.and_then(|n_objects| usize::try_from(n_objects).ok());
    let n_objects = n_objects.ok_or_else(|| Error::corrupt(cursor.position(), "nothing tells how many objects"))?;
    check_objects(&cursor, class, variant, n_objects)?;
    reader.begin_class(class);
    reader.columns(&mut cursor, variant, n_objects, columns)?;
    *n_values += n_objects;
    ends.push(list_end(*n_values)?);
    check_end(&cursor, "the members take")
}

fn push_empty(out: &mut Values) -> Result<()> {
    match out {
        Values::List(ends, items) => ends.push(list_end(items.len())?),
        Values::Text(ends, bytes) => ends.push(list_end(bytes.len())?),
        _ => return Err(Error::corrupt(0, "an entry without bytes")),
    }
    Ok(())
}
