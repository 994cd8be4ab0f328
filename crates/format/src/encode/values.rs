//! Values of members, and numbers as their types have them.

use crate::column::Number;
use crate::error::{Error, Result};
use crate::output::Output;
use crate::streamer::{Packing, Primitive};

/// The value of a member.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer, or a bool.
    Integer(i128),
    /// A number.
    Float(f64),
    /// Text, or bytes.
    Text(Vec<u8>),
    /// An array of numbers.
    Numbers(Numbers),
    /// An object of the list that is written, by its index: in this member, or behind a pointer.
    Object(usize),
    /// A pointer to nothing.
    Null,
    /// Items of a collection.
    Items(Vec<Value>),
    /// Keys and values of a map, or an item of several parts by name, such as an object and its option in a list.
    Pairs(Vec<(Value, Value)>),
}

/// Numbers in one array.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers {
    /// Bytes that each had where it comes from.
    item_bytes: usize,
    list: List,
}

#[derive(Debug, Clone, PartialEq)]
enum List {
    Floats(Vec<f64>),
    Integers(Vec<i64>),
    Unsigned(Vec<u64>),
}

impl Numbers {
    /// Floating-point numbers, of so many bytes each where they come from.
    pub fn floats(numbers: Vec<f64>, item_bytes: usize) -> Self {
        Numbers { item_bytes, list: List::Floats(numbers) }
    }

    /// Integers with a sign, of so many bytes each where they come from.
    pub fn integers(numbers: Vec<i64>, item_bytes: usize) -> Self {
        Numbers { item_bytes, list: List::Integers(numbers) }
    }

    /// Integers without a sign, of so many bytes each where they come from.
    pub fn unsigned(numbers: Vec<u64>, item_bytes: usize) -> Self {
        Numbers { item_bytes, list: List::Unsigned(numbers) }
    }

    /// How many.
    pub fn len(&self) -> usize {
        match &self.list {
            List::Floats(values) => values.len(),
            List::Integers(values) => values.len(),
            List::Unsigned(values) => values.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// ROOT's class of an array of numbers of their size; `None` if it has none.
    pub(super) fn array_class(&self) -> Option<&'static str> {
        Some(match (&self.list, self.item_bytes) {
            (List::Integers(_), 1) => "TArrayC",
            (List::Integers(_), 2) => "TArrayS",
            (List::Integers(_), 4) => "TArrayI",
            (List::Integers(_), 8) => "TArrayL64",
            (List::Floats(_), 4) => "TArrayF",
            (List::Floats(_), 8) => "TArrayD",
            _ => return None,
        })
    }

    pub(super) fn write(&self, number: Number, output: &mut Output) -> Result<()> {
        match &self.list {
            List::Floats(values) => values.iter().try_for_each(|value| write_float(*value, number, output)),
            List::Integers(values) => {
                values.iter().try_for_each(|value| write_integer((*value).into(), number, output))
            }
            List::Unsigned(values) => {
                values.iter().try_for_each(|value| write_integer((*value).into(), number, output))
            }
        }
    }
}

impl Value {
    /// Its description, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a number",
            Value::Text(_) => "text",
            Value::Numbers(_) => "an array of numbers",
            Value::Object(_) => "an object",
            Value::Null => "nothing",
            Value::Items(_) => "a list",
            Value::Pairs(_) => "a map",
        }
    }

    /// The part of that name, or what a map has for it.
    pub(super) fn part(&self, name: &str) -> Option<&Value> {
        let Value::Pairs(pairs) = self else { return None };
        let is_named = |key: &Value| matches!(key, Value::Text(text) if text == name.as_bytes());
        pairs.iter().find(|(key, _)| is_named(key)).map(|(_, value)| value)
    }

    pub(super) fn write_number(&self, number: Number, output: &mut Output) -> Result<()> {
        match self {
            Value::Integer(value) => write_integer(*value, number, output),
            Value::Float(value) => write_float(*value, number, output),
            other => Err(Error::unsupported(0, format!("{} where a number should be", other.kind()))),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a float is the nearest one")]
fn write_integer(value: i128, number: Number, output: &mut Output) -> Result<()> {
    let primitive = number.primitive;
    let no_room = |_| Error::unsupported(0, format!("{value} does not fit into {primitive:?}"));
    match primitive {
        Primitive::Bool => output.u8(u8::from(value != 0)),
        Primitive::Int8 => output.i8(value.try_into().map_err(no_room)?),
        Primitive::UInt8 => output.u8(value.try_into().map_err(no_room)?),
        Primitive::Int16 => output.i16(value.try_into().map_err(no_room)?),
        Primitive::UInt16 => output.u16(value.try_into().map_err(no_room)?),
        Primitive::Int32 => output.i32(value.try_into().map_err(no_room)?),
        Primitive::UInt32 => output.u32(value.try_into().map_err(no_room)?),
        Primitive::Int64 => output.i64(value.try_into().map_err(no_room)?),
        Primitive::UInt64 => output.u64(value.try_into().map_err(no_room)?),
        Primitive::Float32 => output.f32(value as f32),
        Primitive::Float64 => output.f64(value as f64),
        Primitive::Float16 | Primitive::Double32 => return write_float(value as f64, number, output),
    }
    Ok(())
}

/// Writes a number in the type of its member: rounded, as it is when it is assigned, but an integer must be one, and what has a
/// range in it.
#[expect(clippy::cast_possible_truncation, reason = "a float is the nearest one; integers are looked at")]
fn write_float(value: f64, number: Number, output: &mut Output) -> Result<()> {
    let is_float = number.is_packed() || number.primitive == Primitive::Float32;
    if is_float && value.is_finite() && (value as f32).is_infinite() {
        return Err(Error::unsupported(0, format!("{value} is too large for {:?}", number.primitive)));
    }
    match number.primitive {
        Primitive::Float32 => output.f32(value as f32),
        Primitive::Float64 => output.f64(value),
        Primitive::Float16 | Primitive::Double32 => match number.packing {
            Packing::Plain => output.f32(value as f32),
            packing => {
                let stored = packing.stored(value);
                let what = || Error::unsupported(0, format!("{value} is outside of the range of its member"));
                output.raw(stored.ok_or_else(what)?.as_ref());
            }
        },
        _ if value.trunc() == value && value.abs() < 1e30 => return write_integer(value as i128, number, output),
        other => return Err(Error::unsupported(0, format!("{value} is no {other:?}"))),
    }
    Ok(())
}
