//! Values of any nesting, entry by entry.

use super::kernels;
use super::objects::{MEMBER_WISE, Reader, check_objects};
use super::t_object::read_entry;
use super::values::{Values, list_end};
use crate::column::{Class, CountedHead, Framing, Name, Node, Number};
use crate::cursor::{BYTE_COUNT_MASK, Cursor};
use crate::error::{Error, Result};
use crate::streamer::Primitive;

/// Set in `TObject::fBits` when two bytes of process identifier follow.
pub(super) const IS_REFERENCED: u32 = 1 << 4;

/// Appends the value of one entry.
///
/// `entry`: exactly its bytes; `origin`: how far they are from the start of the key of their basket.
///
/// # Errors
/// Corrupt if the bytes are fewer or more than the value takes; unsupported for what [`Node::Unreadable`] says.
pub(crate) fn decode_streamed<'a>(
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
    match cursor.remaining() {
        0 => Ok(()),
        n_bytes => Err(Error::corrupt(cursor.position(), format!("{n_bytes} bytes more than the value takes"))),
    }
}

/// Appends the arrays of one entry, of so many items for each object.
///
/// # Errors
/// Corrupt if the bytes are fewer or more than the arrays take.
#[expect(clippy::too_many_arguments, reason = "what the arrays are, how many, and where they go")]
pub(crate) fn decode_arrays<'a>(
    reader: &mut Reader<'a>,
    item: &Node,
    factor: u32,
    head: CountedHead,
    counts: &[i64],
    entry: &'a [u8],
    origin: usize,
    out: &mut Values,
) -> Result<()> {
    read_entry(reader, entry, origin, out, |reader, out| {
        let mut cursor = Cursor::new(entry);
        let Values::List(ends, arrays) = out else { return Err(misfit(&cursor)) };
        let Values::List(item_ends, items) = &mut **arrays else { return Err(misfit(&cursor)) };
        reader.arrays(&mut cursor, item, factor, head, counts, item_ends, items)?;
        ends.push(list_end(item_ends.len())?);
        match cursor.remaining() {
            0 => Ok(()),
            n_bytes => Err(Error::corrupt(cursor.position(), format!("{n_bytes} bytes more than the arrays take"))),
        }
    })
}

/// Appends the members of the objects of one entry, of which there are so many: one member of all after the other.
///
/// # Errors
/// Corrupt if the bytes are fewer or more than the members take, or if nothing tells how many objects there are.
pub(crate) fn decode_members<'a>(
    reader: &mut Reader<'a>,
    class: &Class,
    n_objects: Option<i64>,
    entry: &'a [u8],
    origin: usize,
    out: &mut Values,
) -> Result<()> {
    read_entry(reader, entry, origin, out, |reader, out| decode_members_with(reader, class, n_objects, entry, out))
}

/// The same with a reader of the caller's.
pub(super) fn decode_members_with<'a>(
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
    match cursor.remaining() {
        0 => Ok(()),
        n_bytes => Err(Error::corrupt(cursor.position(), format!("{n_bytes} bytes more than the members take"))),
    }
}

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

fn push_empty(out: &mut Values) -> Result<()> {
    match out {
        Values::List(ends, items) => ends.push(list_end(items.len())?),
        Values::Text(ends, bytes) => ends.push(list_end(bytes.len())?),
        _ => return Err(Error::corrupt(0, "an entry without bytes")),
    }
    Ok(())
}

pub(super) fn misfit(cursor: &Cursor<'_>) -> Error {
    Error::corrupt(cursor.position(), "a value that does not fit its column")
}

impl<'a> Reader<'a> {
    /// Reads one value.
    pub(super) fn read(&mut self, cursor: &mut Cursor<'a>, node: &Node, out: &mut Values) -> Result<()> {
        match (node, out) {
            (Node::Number(number), Values::Primitive(_, bytes)) => {
                push_number(cursor, *number, bytes)?;
            }
            (Node::Bits, Values::Primitive(_, bytes)) => {
                let bits = cursor.u32()?;
                if bits & IS_REFERENCED != 0 {
                    cursor.u16()?;
                }
                bytes.extend_from_slice(&bits.to_ne_bytes());
            }
            (Node::Text, Values::Text(ends, bytes)) => {
                bytes.extend_from_slice(cursor.string_bytes()?);
                ends.push(list_end(bytes.len())?);
            }
            (Node::TextOrNothing, Values::Text(ends, bytes)) => {
                if cursor.remaining() > 0 {
                    bytes.extend_from_slice(cursor.string_bytes()?);
                }
                ends.push(list_end(bytes.len())?);
            }
            (Node::LongText, Values::Text(ends, bytes)) => {
                let n_bytes = cursor.count(1)?;
                let text = cursor.take(n_bytes)?;
                bytes.extend_from_slice(text.strip_suffix(&[0]).unwrap_or(text));
                ends.push(list_end(bytes.len())?);
            }
            (Node::List(item), Values::List(ends, items)) => {
                let n_items = self.count(cursor, item)?;
                self.read_items(cursor, item, n_items, items)?;
                ends.push(list_end(items.len())?);
            }
            (Node::Fixed(item, n_items), Values::FixedList(items, _)) => {
                check_fixed(cursor, item, *n_items)?;
                self.read_items(cursor, item, *n_items as usize, items)?;
            }
            (Node::ToEnd(item), Values::List(ends, items)) => {
                let n_items = cursor.remaining() / item.min_bytes().max(1);
                if matches!(**item, Node::Number(_)) {
                    self.read_items(cursor, item, n_items, items)?;
                } else if let Some((number, ends, numbers)) = lists_of_numbers(item, items) {
                    read_lists(cursor, number, None, ends, numbers)?;
                }
                while cursor.remaining() > 0 {
                    let before = cursor.position();
                    self.read(cursor, item, items)?;
                    if cursor.position() == before {
                        return Err(Error::corrupt(before, "an item of no bytes"));
                    }
                }
                ends.push(list_end(items.len())?);
            }
            (Node::Map(map), Values::Map(ends, keys, values)) => {
                let n_pairs = cursor.count(map.pair_bytes())?;
                for _ in 0..n_pairs {
                    self.read(cursor, &map.key, keys)?;
                    self.read(cursor, &map.value, values)?;
                }
                ends.push(list_end(keys.len())?);
            }
            (Node::Struct(members), Values::Struct(n_values, columns)) => {
                self.read_struct(cursor, members, columns)?;
                *n_values += 1;
            }
            (Node::Object(class), Values::Struct(n_values, columns)) => {
                self.object(cursor, class, columns)?;
                *n_values += 1;
            }
            (Node::Link, Values::Links(links)) => links.push(self.link(cursor)?),
            (Node::Opaque(why), Values::Links(links)) => links.push(self.opaque(cursor, why)?),
            (Node::Clones, Values::Struct(n_values, columns)) => {
                self.clones(cursor, columns)?;
                *n_values += 1;
            }
            (Node::Any(any), Values::Optional(is_there, values)) => self.any(cursor, any, is_there, values)?,
            (Node::NamedAny(any), Values::Optional(is_there, values)) => {
                self.named_any(cursor, any, values)?;
                is_there.push(1);
            }
            (Node::ClonesOf(clones), Values::List(ends, items)) => self.clones_of(cursor, clones, ends, items)?,
            (Node::Converted(conversion), out) => self.converted(cursor, conversion, 1, out)?,
            (Node::Pointer(pointer), Values::Optional(is_there, values)) => {
                is_there.push(u8::from(self.pointer(cursor, pointer, values)?));
            }
            (node, Values::Optional(is_there, values)) => {
                self.read(cursor, node, values)?;
                is_there.push(1);
            }
            (Node::Sole(class), out) => out.as_member(class, |columns| self.object(cursor, class, columns))?,
            (Node::Named(named), out) => self.named(cursor, named, out)?,
            (Node::Framed(node), out) => self.framed(cursor, node, 1, out)?,
            (Node::Unreadable(why), _) => {
                return Err(Error::unsupported(
                    cursor.position(),
                    format!("{why} cannot be read yet, but its bytes can be had raw"),
                ));
            }
            (Node::Raw, Values::Bytes(ends, bytes)) => {
                bytes.extend_from_slice(cursor.take(cursor.remaining())?);
                ends.push(list_end(bytes.len())?);
            }
            _ => return Err(misfit(cursor)),
        }
        Ok(())
    }

    /// Reads values that are stored one after the other.
    pub(super) fn read_items(
        &mut self,
        cursor: &mut Cursor<'a>,
        item: &Node,
        n_items: usize,
        out: &mut Values,
    ) -> Result<()> {
        match (item, &mut *out) {
            (Node::Number(number), Values::Primitive(_, bytes)) => {
                number.append(cursor.take(n_items.saturating_mul(number.stored_bytes()))?, bytes);
                return Ok(());
            }
            (Node::Fixed(inner, n), Values::FixedList(items, _)) if matches!(**inner, Node::Number(_)) => {
                return self.read_items(cursor, inner, n_items.saturating_mul(*n as usize), items);
            }
            (Node::Number(_) | Node::Fixed(..), Values::Optional(is_there, values)) => {
                self.read_items(cursor, item, n_items, values)?;
                is_there.resize(is_there.len() + n_items, 1);
                return Ok(());
            }
            (Node::Converted(conversion), out) => return self.converted(cursor, conversion, n_items, out),
            _ => {}
        }
        if let Some((number, ends, numbers)) = lists_of_numbers(item, out) {
            return read_lists(cursor, number, Some(n_items), ends, numbers);
        }
        for _ in 0..n_items {
            self.read(cursor, item, out)?;
        }
        Ok(())
    }

    fn read_struct(
        &mut self,
        cursor: &mut Cursor<'a>,
        members: &[(Name, Node)],
        columns: &mut [(Name, Values)],
    ) -> Result<()> {
        let mut fitting = None;
        for (place, (_, node)) in members.iter().enumerate() {
            let (before, rest) = columns.split_at_mut(place);
            let Some((_, column)) = rest.first_mut() else { break };
            let position = cursor.position();
            let (item, n_items) = match node {
                Node::CountedBy { item, member, factor } => {
                    let count = before.get(*member).and_then(|(_, counter)| last_integer(counter));
                    (item, counted_items(cursor, item, count, *factor)?)
                }
                Node::ToFit(item) => match fitting {
                    Some(n_items) => (item, n_items),
                    None => (item, *fitting.insert(items_that_fit(cursor, &members[place..])?)),
                },
                _ => {
                    self.read(cursor, node, column)?;
                    continue;
                }
            };
            let Values::List(ends, items) = column else {
                return Err(Error::corrupt(position, "a value that does not fit its column"));
            };
            self.read_items(cursor, item, n_items, items)?;
            ends.push(list_end(items.len())?);
        }
        Ok(())
    }
}

/// The numbers of an item that is a list of such, and where they go.
fn lists_of_numbers<'v>(item: &Node, out: &'v mut Values) -> Option<(Number, &'v mut Vec<i32>, &'v mut Vec<u8>)> {
    let (Node::List(inner), Values::List(ends, items)) = (item, out) else { return None };
    match (&**inner, &mut **items) {
        (Node::Number(number), Values::Primitive(_, bytes)) => Some((*number, ends, bytes)),
        _ => None,
    }
}

/// Reads lists of numbers, which are most of what events hold: so many, or until the bytes end.
fn read_lists(
    cursor: &mut Cursor<'_>,
    number: Number,
    n_lists: Option<usize>,
    ends: &mut Vec<i32>,
    items: &mut Vec<u8>,
) -> Result<()> {
    let mut n_left = n_lists.unwrap_or(usize::MAX);
    while n_left > 0 && (n_lists.is_some() || cursor.remaining() > 0) {
        let n_before = ends.len();
        if number.is_plain() {
            let data = cursor.data().get(cursor.position()..).unwrap_or_default();
            cursor.skip(kernels::append_lists(data, n_left, ends, items, number.stored_bytes()))?;
        }
        // One that the kernel leaves: a long one, or one of the last.
        if ends.len() - n_before < n_left && (n_lists.is_some() || cursor.remaining() > 0) {
            read_list(cursor, number, ends, items)?;
        }
        n_left -= ends.len() - n_before;
    }
    Ok(())
}

fn read_list(cursor: &mut Cursor<'_>, number: Number, ends: &mut Vec<i32>, items: &mut Vec<u8>) -> Result<()> {
    let width = number.stored_bytes();
    let n_items = cursor.count(width)?;
    number.append(cursor.take(n_items * width)?, items);
    // In memory all widths are powers of two.
    ends.push(list_end(items.len() >> number.in_memory().stored_bytes().trailing_zeros())?);
    Ok(())
}

/// Appends one number.
#[inline]
fn push_number(cursor: &mut Cursor<'_>, number: Number, out: &mut Vec<u8>) -> Result<()> {
    match number.stored_bytes() {
        4 if number.is_plain() => out.extend_from_slice(&cursor.u32()?.to_ne_bytes()),
        8 if number.is_plain() => out.extend_from_slice(&cursor.u64()?.to_ne_bytes()),
        2 if number.is_plain() => out.extend_from_slice(&cursor.u16()?.to_ne_bytes()),
        n_bytes => number.append(cursor.take(n_bytes)?, out),
    }
    Ok(())
}

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
fn items_that_fit(cursor: &Cursor<'_>, members: &[(Name, Node)]) -> Result<usize> {
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

/// The last value of a column of integers.
fn last_integer(values: &Values) -> Option<i64> {
    let Values::Primitive(primitive, bytes) = values else { return None };
    integer_at(*primitive, bytes, (bytes.len() / primitive.stored_bytes()).checked_sub(1)?)
}

/// The last values of a column of integers; `None` if there are fewer, or other values.
pub(super) fn last_integers(values: &Values, n_values: usize) -> Option<Vec<i64>> {
    match values {
        Values::Primitive(primitive, bytes) => {
            let n_before = (bytes.len() / primitive.stored_bytes()).checked_sub(n_values)?;
            (0..n_values).map(|place| integer_at(*primitive, bytes, n_before + place)).collect()
        }
        Values::Optional(_, values) => last_integers(values, n_values),
        _ => None,
    }
}

/// An integer in a column of them.
pub(super) fn integer_at(primitive: Primitive, bytes: &[u8], place: usize) -> Option<i64> {
    let bytes = bytes.get(place.checked_mul(primitive.stored_bytes())?..)?;
    Some(match primitive {
        Primitive::Int8 => i64::from(bytes.first()?.cast_signed()),
        Primitive::UInt8 | Primitive::Bool => i64::from(*bytes.first()?),
        Primitive::Int16 => i64::from(i16::from_ne_bytes(*bytes.first_chunk()?)),
        Primitive::UInt16 => i64::from(u16::from_ne_bytes(*bytes.first_chunk()?)),
        Primitive::Int32 => i64::from(i32::from_ne_bytes(*bytes.first_chunk()?)),
        Primitive::UInt32 => i64::from(u32::from_ne_bytes(*bytes.first_chunk()?)),
        Primitive::Int64 => i64::from_ne_bytes(*bytes.first_chunk()?),
        Primitive::UInt64 => i64::try_from(u64::from_ne_bytes(*bytes.first_chunk()?)).ok()?,
        _ => return None,
    })
}
