//! Values of any nesting, entry by entry.

use super::values::{Values, list_end};
use crate::column::{Framing, Node};
use crate::cursor::{BYTE_COUNT_MASK, Cursor};
use crate::error::{Error, Result};
use crate::streamer::Primitive;

/// Bit 14 of a collection's version: keys and values, or members, are stored one after the other.
const MEMBER_WISE: u16 = 0x4000;
/// Set in `TObject::fBits` when two bytes of process identifier follow.
const IS_REFERENCED: u32 = 1 << 4;

/// Appends the value of one entry.
///
/// `entry`: exactly its bytes.
///
/// # Errors
/// Corrupt if the bytes are fewer or more than the value takes.
pub fn decode_streamed(framing: Framing, node: &Node, entry: &[u8], out: &mut Values) -> Result<()> {
    let mut cursor = Cursor::new(entry);
    let mut member_wise = false;
    let may_be_absent = matches!(node, Node::ToEnd(_) | Node::List(_) | Node::TextOrNothing);
    let is_framed = match framing {
        Framing::Bare => false,
        // An empty collection of some writers, and all bitsets before ROOT 6.08/06, leave no bytes at all.
        Framing::Framed => !(entry.is_empty() && may_be_absent),
        Framing::IfItFits => has_frame(entry),
    };
    if is_framed {
        let frame = cursor.version()?;
        member_wise = frame.version & MEMBER_WISE != 0;
        if frame.end.is_some_and(|end| end != entry.len()) {
            return Err(Error::corrupt(0, format!("a byte count other than the {} bytes of the entry", entry.len())));
        }
    } else if entry.is_empty() && framing != Framing::Bare && may_be_absent {
        return push_empty(out);
    }
    if member_wise {
        let Node::Map(key, value) = node else {
            return Err(Error::unsupported(0, "a member-wise collection"));
        };
        read_member_wise_map(&mut cursor, key, value, out)?;
    } else {
        read(&mut cursor, node, out)?;
    }
    match cursor.remaining() {
        0 => Ok(()),
        n_bytes => Err(Error::corrupt(cursor.position(), format!("{n_bytes} bytes more than the value takes"))),
    }
}

fn has_frame(entry: &[u8]) -> bool {
    entry.first_chunk::<4>().is_some_and(|word| {
        let word = u32::from_be_bytes(*word);
        word & BYTE_COUNT_MASK != 0 && (word & !BYTE_COUNT_MASK) as usize == entry.len() - 4
    })
}

fn push_empty(out: &mut Values) -> Result<()> {
    match out {
        Values::List(ends, items) => ends.push(list_end(items.len())?),
        Values::Text(ends, bytes) => ends.push(list_end(bytes.len())?),
        _ => return Err(Error::corrupt(0, "an entry without bytes")),
    }
    Ok(())
}

fn read(cursor: &mut Cursor<'_>, node: &Node, out: &mut Values) -> Result<()> {
    match (node, out) {
        (Node::Number(number), Values::Primitive(_, bytes)) => {
            if number.is_packed() {
                return number.unpack(cursor, bytes);
            }
            push_numbers(cursor.take(number.stored_bytes())?, number.primitive, bytes);
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
            let n_items = cursor.count(item.min_bytes().max(1))?;
            read_items(cursor, item, n_items, items)?;
            ends.push(list_end(items.len())?);
        }
        (Node::Fixed(item, n_items), Values::FixedList(items, _)) => {
            check_fixed(cursor, item, *n_items)?;
            read_items(cursor, item, *n_items as usize, items)?;
        }
        (Node::ToEnd(item), Values::List(ends, items)) => {
            let n_items = cursor.remaining() / item.min_bytes().max(1);
            if item.is_plain_number() {
                read_items(cursor, item, n_items, items)?;
            }
            while cursor.remaining() > 0 {
                let before = cursor.position();
                read(cursor, item, items)?;
                if cursor.position() == before {
                    return Err(Error::corrupt(before, "an item of no bytes"));
                }
            }
            ends.push(list_end(items.len())?);
        }
        (Node::Map(key, value), Values::Map(ends, keys, values)) => {
            let n_pairs = cursor.count(pair_bytes(key, value))?;
            for _ in 0..n_pairs {
                read(cursor, key, keys)?;
                read(cursor, value, values)?;
            }
            ends.push(list_end(keys.len())?);
        }
        (Node::Struct(members), Values::Struct(n_values, columns)) => {
            read_struct(cursor, members, columns)?;
            *n_values += 1;
        }
        _ => return Err(Error::corrupt(cursor.position(), "a value that does not fit its column")),
    }
    Ok(())
}

/// Appends big-endian numbers, all of one type, in the byte order of the machine.
fn push_numbers(stored: &[u8], primitive: Primitive, out: &mut Vec<u8>) {
    if primitive == Primitive::Bool {
        // What was never assigned may have any bits set.
        out.extend(stored.iter().map(|&byte| u8::from(byte != 0)));
        return;
    }
    let start = out.len();
    out.resize(start + stored.len(), 0);
    super::kernels::copy_swapped(stored, &mut out[start..], primitive.stored_bytes());
}

/// The fewest bytes of a pair, for counts: never 0.
fn pair_bytes(key: &Node, value: &Node) -> usize {
    key.min_bytes().saturating_add(value.min_bytes()).max(1)
}

/// Checks that a fixed array may fit: its dimensions come from the file, and items of no bytes would never end.
fn check_fixed(cursor: &Cursor<'_>, item: &Node, n_items: u32) -> Result<()> {
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

fn read_items(cursor: &mut Cursor<'_>, item: &Node, n_items: usize, out: &mut Values) -> Result<()> {
    if let (Node::Number(number), Values::Primitive(_, bytes), true) = (item, &mut *out, item.is_plain_number()) {
        let n_bytes = n_items.saturating_mul(number.stored_bytes());
        push_numbers(cursor.take(n_bytes)?, number.primitive, bytes);
        return Ok(());
    }
    for _ in 0..n_items {
        read(cursor, item, out)?;
    }
    Ok(())
}

fn read_struct(cursor: &mut Cursor<'_>, members: &[(String, Node)], columns: &mut [(String, Values)]) -> Result<()> {
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
                read(cursor, node, column)?;
                continue;
            }
        };
        let Values::List(ends, items) = column else {
            return Err(Error::corrupt(position, "a value that does not fit its column"));
        };
        read_items(cursor, item, n_items, items)?;
        ends.push(list_end(items.len())?);
    }
    Ok(())
}

/// Items of an array that another member counts.
fn counted_items(cursor: &Cursor<'_>, item: &Node, count: Option<i64>, factor: u32) -> Result<usize> {
    count
        .and_then(|count| usize::try_from(count).ok())
        .and_then(|count| count.checked_mul(factor as usize))
        .filter(|n_items| {
            let item_bytes = item.min_bytes().max(1);
            n_items.checked_mul(item_bytes).is_some_and(|n_bytes| n_bytes <= cursor.remaining())
        })
        .ok_or_else(|| Error::corrupt(cursor.position(), format!("{count:?} items for an array")))
}

/// Items of each array that a leaf of another branch counts: what is left of the entry, divided among them.
fn items_that_fit(cursor: &Cursor<'_>, members: &[(String, Node)]) -> Result<usize> {
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
    Some(match primitive {
        Primitive::Int8 => i64::from(bytes.last()?.cast_signed()),
        Primitive::UInt8 | Primitive::Bool => i64::from(*bytes.last()?),
        Primitive::Int16 => i64::from(i16::from_ne_bytes(*bytes.last_chunk()?)),
        Primitive::UInt16 => i64::from(u16::from_ne_bytes(*bytes.last_chunk()?)),
        Primitive::Int32 => i64::from(i32::from_ne_bytes(*bytes.last_chunk()?)),
        Primitive::UInt32 => i64::from(u32::from_ne_bytes(*bytes.last_chunk()?)),
        Primitive::Int64 => i64::from_ne_bytes(*bytes.last_chunk()?),
        Primitive::UInt64 => i64::try_from(u64::from_ne_bytes(*bytes.last_chunk()?)).ok()?,
        _ => return None,
    })
}

/// A map whose pairs were written member-wise: the version of the pair, the count, all keys, all values.
fn read_member_wise_map(cursor: &mut Cursor<'_>, key: &Node, value: &Node, out: &mut Values) -> Result<()> {
    let Values::Map(ends, keys, values) = out else {
        return Err(Error::corrupt(0, "a value that does not fit its column"));
    };
    if cursor.u16()? == 0 {
        cursor.u32()?; // checksum of a pair without a version
    }
    let n_pairs = cursor.count(pair_bytes(key, value))?;
    if n_pairs > 0 || cursor.remaining() > 0 {
        read_column(cursor, key, n_pairs, keys)?;
        read_column(cursor, value, n_pairs, values)?;
    }
    ends.push(list_end(keys.len())?);
    Ok(())
}

/// A column of `n_items` values; collections and `std::string` share one frame for the whole column.
fn read_column(cursor: &mut Cursor<'_>, node: &Node, n_items: usize, out: &mut Values) -> Result<()> {
    if matches!(node, Node::List(_) | Node::Map(..)) || (matches!(node, Node::Text) && starts_framed(cursor)) {
        let frame = cursor.version()?;
        if frame.version & MEMBER_WISE != 0 {
            return Err(Error::unsupported(cursor.position(), "a member-wise collection in a map"));
        }
    }
    read_items(cursor, node, n_items, out)
}

/// Whether a byte count follows that fits in what is left (a `std::string` column has one, `TString` has none).
fn starts_framed(cursor: &Cursor<'_>) -> bool {
    let rest = &cursor.data()[cursor.position().min(cursor.data().len())..];
    rest.first_chunk::<4>().is_some_and(|word| {
        let word = u32::from_be_bytes(*word);
        word & BYTE_COUNT_MASK != 0 && (word & !BYTE_COUNT_MASK) as usize <= rest.len() - 4
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Number;

    #[test]
    fn the_size_of_an_entry_tells_how_many_items_another_branch_counted() {
        let number = |primitive| Node::Number(Number::plain(primitive));
        let node = Node::Struct(vec![
            ("x".to_owned(), Node::ToFit(Box::new(number(Primitive::UInt16)))),
            ("y".to_owned(), Node::ToFit(Box::new(Node::Fixed(Box::new(number(Primitive::UInt8)), 2)))),
            ("z".to_owned(), number(Primitive::UInt8)),
        ]);
        let mut values = Values::empty(&node.data_type());
        for entry in [[0, 1, 0, 2, 10, 11, 20, 21, 99].as_slice(), &[98]] {
            decode_streamed(Framing::Bare, &node, entry, &mut values).unwrap();
        }
        let Values::Struct(2, members) = &values else { panic!("not two structs") };
        let Values::List(ends, items) = &members[1].1 else { panic!("not lists") };
        assert_eq!(ends, &[2, 2]);
        assert_eq!((**items).clone().into_number_bytes().unwrap(), [10, 11, 20, 21]);
        assert_eq!(members[2].1.clone().into_number_bytes().unwrap(), [99, 98]);
        for entry in [[].as_slice(), &[0, 1, 10, 99], &[0; 10]] {
            assert!(decode_streamed(Framing::Bare, &node, entry, &mut Values::empty(&node.data_type())).is_err());
        }
    }

    #[test]
    fn arrays_and_counts_of_items_without_bytes_are_refused() {
        let byte = || Box::new(Node::Number(Number::plain(Primitive::Int8)));
        let nothing = || Box::new(Node::Fixed(byte(), 0));
        let entry = [0x7f, 0xff, 0xff, 0xff];
        for node in [
            Node::Fixed(nothing(), u32::MAX),
            Node::Fixed(byte(), u32::MAX),
            Node::List(nothing()),
            Node::Map(nothing(), nothing()),
        ] {
            let mut values = Values::empty(&node.data_type());
            assert!(decode_streamed(Framing::Bare, &node, &entry, &mut values).is_err(), "{node:?}");
        }
    }
}
