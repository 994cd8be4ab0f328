//! Values of any shape, in columns.

use std::ops::Range;
use std::sync::Arc;

use crate::column::{Class, DataType, Name};
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::streamer::Primitive;

/// The values of a column as flat buffers, shaped like [`DataType`]. Numbers have the byte order of the machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Numbers of `Primitive::n_bytes` each; bools as bytes of 0 or 1.
    Primitive(Primitive, Vec<u8>),
    /// Ends of the texts in the bytes, and the bytes.
    Text(Vec<i32>, Vec<u8>),
    /// Ends of the lists among the items, and the items.
    List(Vec<i32>, Box<Values>),
    /// Items of fixed lists, and how many there are in each.
    FixedList(Box<Values>, u32),
    /// Ends of the maps among the keys, keys and values.
    Map(Vec<i32>, Box<Values>, Box<Values>),
    /// Number of structs, and the members.
    Struct(usize, Vec<(Name, Values)>),
    /// For each value 1 if it is there, and those that are.
    Optional(Vec<u8>, Box<Values>),
    /// So many times nothing.
    Nothing(usize),
    /// Numbers of objects in a graph; 0 for none.
    Links(Vec<u32>),
    /// Ends of the values in the bytes, and the bytes.
    Bytes(Vec<i32>, Vec<u8>),
}

impl Values {
    /// No values of this type.
    pub fn empty(data_type: &DataType) -> Values {
        match data_type {
            DataType::Primitive(primitive) => Values::Primitive(*primitive, Vec::new()),
            DataType::Text => Values::Text(Vec::new(), Vec::new()),
            DataType::List(item) => Values::List(Vec::new(), Box::new(Values::empty(item))),
            DataType::FixedList(item, n_items) => Values::FixedList(Box::new(Values::empty(item)), *n_items),
            DataType::Map(key, value) => {
                Values::Map(Vec::new(), Box::new(Values::empty(key)), Box::new(Values::empty(value)))
            }
            DataType::Struct(members) => Values::Struct(
                0,
                members.iter().map(|(name, member)| (Arc::clone(name), Values::empty(member))).collect(),
            ),
            DataType::Optional(value) => Values::Optional(Vec::new(), Box::new(Values::empty(value))),
            // No streamer writes variants.
            DataType::Nothing | DataType::Variant(_) => Values::Nothing(0),
            DataType::Link => Values::Links(Vec::new()),
            DataType::Bytes => Values::Bytes(Vec::new(), Vec::new()),
        }
    }

    /// Lets them be filled as the only member of a class.
    pub(super) fn as_member<T>(&mut self, class: &Class, fill: impl FnOnce(&mut [(Name, Values)]) -> T) -> T {
        let name = class.members.first().map_or_else(|| Name::from(""), |(name, _)| Arc::clone(name));
        let mut columns = [(name, std::mem::replace(self, Values::Nothing(0)))];
        let result = fill(&mut columns);
        let [(_, values)] = columns;
        *self = values;
        result
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            // In memory all are powers of two, and dividing would take longer than reading a number.
            Values::Primitive(primitive, bytes) => bytes.len() >> primitive.stored_bytes().trailing_zeros(),
            Values::Text(ends, _) | Values::Bytes(ends, _) | Values::List(ends, _) | Values::Map(ends, ..) => {
                ends.len()
            }
            Values::FixedList(items, n_items) => items.len() / (*n_items).max(1) as usize,
            Values::Struct(n_values, _) | Values::Nothing(n_values) => *n_values,
            Values::Optional(is_there, _) => is_there.len(),
            Values::Links(links) => links.len(),
        }
    }

    /// Lets go of all values from this one on, those that were not read to their end among them.
    pub(super) fn truncate(&mut self, n_values: usize) {
        let end = |ends: &mut Vec<i32>| {
            ends.truncate(n_values);
            ends.last().map_or(0, |&end| usize::try_from(end).unwrap_or(0))
        };
        match self {
            Values::Primitive(primitive, bytes) => bytes.truncate(n_values * primitive.stored_bytes()),
            Values::Text(ends, bytes) | Values::Bytes(ends, bytes) => bytes.truncate(end(ends)),
            Values::List(ends, items) => items.truncate(end(ends)),
            Values::FixedList(items, n_items) => items.truncate(n_values * *n_items as usize),
            Values::Map(ends, keys, values) => {
                let end = end(ends);
                keys.truncate(end);
                values.truncate(end);
            }
            Values::Struct(n, members) => {
                *n = n_values.min(*n);
                members.iter_mut().for_each(|(_, member)| member.truncate(n_values));
            }
            Values::Optional(is_there, values) => {
                is_there.truncate(n_values);
                values.truncate(is_there.iter().filter(|&&flag| flag != 0).count());
            }
            Values::Nothing(n) => *n = n_values.min(*n),
            Values::Links(links) => links.truncate(n_values),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of numbers, fixed lists of them included; `None` for anything else.
    pub fn into_number_bytes(self) -> Option<Vec<u8>> {
        match self {
            Values::Primitive(_, bytes) => Some(bytes),
            Values::FixedList(items, _) => items.into_number_bytes(),
            _ => None,
        }
    }

    /// Integers as they are; `None` for anything else, and for what does not fit into 64 bits with a sign.
    pub fn integers(&self) -> Option<Vec<i64>> {
        last_integers(self, self.len())
    }

    /// Memory of the buffers in bytes.
    pub fn n_bytes(&self) -> usize {
        match self {
            Values::Primitive(_, bytes) => bytes.len(),
            Values::Text(ends, bytes) | Values::Bytes(ends, bytes) => ends.len() * 4 + bytes.len(),
            Values::List(ends, items) => ends.len() * 4 + items.n_bytes(),
            Values::FixedList(items, _) => items.n_bytes(),
            Values::Map(ends, keys, values) => ends.len() * 4 + keys.n_bytes() + values.n_bytes(),
            Values::Struct(_, members) => members.iter().map(|(_, member)| member.n_bytes()).sum(),
            Values::Optional(is_there, values) => is_there.len() + values.n_bytes(),
            Values::Nothing(_) => 0,
            Values::Links(links) => links.len() * 4,
        }
    }

    /// Sets memory aside for so many times the values that are there, as far as the system gives it.
    pub fn reserve(&mut self, times: f64) {
        self.each_buffer(&mut |buffer| match buffer {
            BufferMut::Bytes(bytes) => reserve(bytes, times),
            BufferMut::Ends(ends) => reserve(ends, times),
            BufferMut::Links(links) => reserve(links, times),
        });
    }

    /// Where so many times the values that are there will be written, one range of addresses for each buffer, as far as
    /// memory is set aside.
    pub fn upcoming(&mut self, times: f64, tell: &mut dyn FnMut(Range<*const u8>)) {
        self.each_buffer(&mut |buffer| match buffer {
            BufferMut::Bytes(bytes) => tell(upcoming(bytes, times)),
            BufferMut::Ends(ends) => tell(upcoming(ends, times)),
            BufferMut::Links(links) => tell(upcoming(links, times)),
        });
    }

    fn each_buffer(&mut self, visit: &mut dyn FnMut(BufferMut<'_>)) {
        match self {
            Values::Primitive(_, bytes) => visit(BufferMut::Bytes(bytes)),
            Values::Text(ends, bytes) | Values::Bytes(ends, bytes) => {
                visit(BufferMut::Ends(ends));
                visit(BufferMut::Bytes(bytes));
            }
            Values::List(ends, items) => {
                visit(BufferMut::Ends(ends));
                items.each_buffer(visit);
            }
            Values::FixedList(items, _) => items.each_buffer(visit),
            Values::Map(ends, keys, values) => {
                visit(BufferMut::Ends(ends));
                keys.each_buffer(visit);
                values.each_buffer(visit);
            }
            Values::Struct(_, members) => members.iter_mut().for_each(|(_, member)| member.each_buffer(visit)),
            Values::Optional(is_there, values) => {
                visit(BufferMut::Bytes(is_there));
                values.each_buffer(visit);
            }
            Values::Nothing(_) => {}
            Values::Links(links) => visit(BufferMut::Links(links)),
        }
    }

    /// Appends values of the same type.
    ///
    /// # Errors
    /// Unsupported if a list grows over 2^31 items: a smaller batch holds them.
    pub fn append(&mut self, other: Values) -> Result<()> {
        if self.is_empty() && !matches!(self, Values::FixedList(..) | Values::Struct(..)) {
            *self = other;
            return Ok(());
        }
        match (self, other) {
            (Values::Primitive(_, bytes), Values::Primitive(_, more)) => bytes.extend_from_slice(&more),
            (Values::Text(ends, bytes), Values::Text(more_ends, more))
            | (Values::Bytes(ends, bytes), Values::Bytes(more_ends, more)) => {
                append_ends(ends, &more_ends, bytes.len())?;
                bytes.extend_from_slice(&more);
            }
            (Values::List(ends, items), Values::List(more_ends, more)) => {
                append_ends(ends, &more_ends, items.len())?;
                items.append(*more)?;
            }
            (Values::FixedList(items, _), Values::FixedList(more, _)) => items.append(*more)?,
            (Values::Map(ends, keys, values), Values::Map(more_ends, more_keys, more_values)) => {
                append_ends(ends, &more_ends, keys.len())?;
                keys.append(*more_keys)?;
                values.append(*more_values)?;
            }
            (Values::Struct(n_values, members), Values::Struct(n_more, more)) => {
                *n_values += n_more;
                for ((_, member), (_, more)) in members.iter_mut().zip(more) {
                    member.append(more)?;
                }
            }
            (Values::Optional(is_there, values), Values::Optional(more_are_there, more)) => {
                is_there.extend_from_slice(&more_are_there);
                values.append(*more)?;
            }
            (Values::Nothing(n_values), Values::Nothing(n_more)) => *n_values += n_more,
            (Values::Links(links), Values::Links(more)) => links.extend_from_slice(&more),
            _ => return Err(Error::corrupt(0, "values of two types in one column")),
        }
        Ok(())
    }
}

/// One of the buffers of values.
enum BufferMut<'v> {
    Bytes(&'v mut Vec<u8>),
    Ends(&'v mut Vec<i32>),
    Links(&'v mut Vec<u32>),
}

fn reserve<T>(buffer: &mut Vec<T>, times: f64) {
    // Where there is no memory for the estimate there may be for the values.
    let _ = buffer.try_reserve_exact(scaled(buffer.len(), times));
}

fn upcoming<T>(buffer: &mut Vec<T>, times: f64) -> Range<*const u8> {
    let n_more = scaled(buffer.len(), times);
    let spare = buffer.spare_capacity_mut();
    let range = spare[..n_more.min(spare.len())].as_ptr_range();
    range.start.cast()..range.end.cast()
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
fn scaled(n_values: usize, times: f64) -> usize {
    (n_values as f64 * times) as usize
}

pub(super) fn append_ends(ends: &mut Vec<i32>, more: &[i32], base: usize) -> Result<()> {
    let base = i32::try_from(base).map_err(|_| Error::batch_too_long())?;
    ends.reserve(more.len());
    for &end in more {
        ends.push(end.checked_add(base).ok_or_else(Error::batch_too_long)?);
    }
    Ok(())
}

/// The end of a list whose items are `n_items` long by now.
pub(super) fn list_end(n_items: usize) -> Result<i32> {
    i32::try_from(n_items).map_err(|_| Error::batch_too_long())
}

/// Why a value is not read whose column has another type.
pub(super) fn misfit(cursor: &Cursor<'_>) -> Error {
    Error::corrupt(cursor.position(), "a value that does not fit its column")
}

/// The last value of a column of integers.
pub(super) fn last_integer(values: &Values) -> Option<i64> {
    let Values::Primitive(primitive, bytes) = values else { return None };
    integer_at(*primitive, bytes, (bytes.len() / primitive.stored_bytes()).checked_sub(1)?)
}

/// The last values of a column of integers; `None` if there are fewer, or other values.
pub(super) fn last_integers(values: &Values, n_values: usize) -> Option<Vec<i64>> {
    match values {
        Values::Primitive(primitive, bytes) => {
            let n_before = (bytes.len() / primitive.stored_bytes()).checked_sub(n_values)?;
            (0..n_values).map(|index| integer_at(*primitive, bytes, n_before + index)).collect()
        }
        Values::Optional(_, values) => last_integers(values, n_values),
        _ => None,
    }
}

/// An integer in a column of them.
pub(super) fn integer_at(primitive: Primitive, bytes: &[u8], index: usize) -> Option<i64> {
    let bytes = bytes.get(index.checked_mul(primitive.stored_bytes())?..)?;
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
