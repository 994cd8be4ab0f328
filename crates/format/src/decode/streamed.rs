//! Values of any nesting, entry by entry.

use super::counts::{check_fixed, counted_items, items_that_fit};
use super::kernels;
use super::objects::Reader;
use super::t_object::IS_REFERENCED;
use super::values::{Values, last_integer, list_end, misfit};
use crate::column::{Name, Node, Number};
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::streamer::Primitive;
use crate::tree::is_gap;

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
                while cursor.data().get(cursor.position()..).is_some_and(|rest| !is_gap(rest)) {
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
        for (index, (_, node)) in members.iter().enumerate() {
            let (before, rest) = columns.split_at_mut(index);
            let Some((_, column)) = rest.first_mut() else { break };
            let position = cursor.position();
            let (item, n_items) = match node {
                Node::CountedBy { item, member, factor } => {
                    let count = before.get(*member).and_then(|(_, counter)| last_integer(counter));
                    (item, counted_items(cursor, item, count, *factor)?)
                }
                Node::ToFit(item) => match fitting {
                    Some(n_items) => (item, n_items),
                    None => (item, *fitting.insert(items_that_fit(cursor, &members[index..])?)),
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

impl Number {
    /// Appends numbers in the byte order of the machine. What is left of `stored` after whole numbers is left out.
    pub fn append(&self, stored: &[u8], out: &mut Vec<u8>) {
        match self.primitive {
            // What was never assigned may have any bits set.
            Primitive::Bool => out.extend(stored.iter().map(|&byte| u8::from(byte != 0))),
            Primitive::Float16 => self.packing.append_f32(stored, out),
            Primitive::Double32 => self.packing.append_f64(stored, out),
            plain => kernels::append_swapped(stored, out, plain.stored_bytes()),
        }
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

#[cfg(test)]
mod tests;
