//! The stored types of the columns of an Arrow schema.
//!
//! | Arrow | stored |
//! |---|---|
//! | numbers, bools | the same; float16 as `Float32` |
//! | dates, times, timestamps, durations, decimals of 32 and 64 bits | the integer inside |
//! | intervals | a struct of integers: `months`; `days`, `milliseconds`; `months`, `days`, `nanoseconds` |
//! | strings of all kinds | `Text` |
//! | binary of all kinds | `Bytes`; of a fixed size, and decimals of 128 and 256 bits, a fixed list of `UInt8` (little-endian) |
//! | lists and list views of all kinds | `List` |
//! | lists of a fixed size | `FixedList` |
//! | structs, maps | `Struct`, `Map` |
//! | dictionaries, runs | their values |
//! | what takes no bytes: null, structs without members, lists and binary of size 0 | `Optional(Nothing)`: a bool, true if there is a value |
//! | unions | `Variant` of their members in order, those of type null left out: a null is none of them |
//!
//! A nullable field is `Optional` of that: its validity is stored.

use std::collections::HashSet;

use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, IntervalUnit, UnionFields};
use arrowroot_format::column::{DataType, Name};
use arrowroot_format::rntuple::MAX_ALTERNATIVES;
use arrowroot_format::streamer::Primitive;

use super::error::{Result, StoreError};

/// Members of an interval, as they are stored.
pub(super) fn interval_members(unit: IntervalUnit) -> &'static [(&'static str, Primitive)] {
    match unit {
        IntervalUnit::YearMonth => &[("months", Primitive::Int32)],
        IntervalUnit::DayTime => &[("days", Primitive::Int32), ("milliseconds", Primitive::Int32)],
        IntervalUnit::MonthDayNano => {
            &[("months", Primitive::Int32), ("days", Primitive::Int32), ("nanoseconds", Primitive::Int64)]
        }
    }
}

/// The stored type of an Arrow field. Fields that are nullable, inner ones too, store their validity.
///
/// # Errors
/// [`StoreError::NoLayout`] for unions of no members or too many, [`StoreError::SameName`] for two members of one name.
pub fn data_type(field: &Field) -> Result<DataType> {
    of_field(field, field.name())
}

/// A type that takes no bytes.
pub(super) fn nothing() -> DataType {
    DataType::Optional(Box::new(DataType::Nothing))
}

fn of_field(field: &Field, path: &str) -> Result<DataType> {
    let data_type = of_type(field.data_type(), path)?;
    let is_optional = field.is_nullable() && !matches!(data_type, DataType::Optional(_) | DataType::Variant(_));
    Ok(if is_optional { DataType::Optional(Box::new(data_type)) } else { data_type })
}

fn of_type(arrow: &ArrowType, path: &str) -> Result<DataType> {
    if let Some(primitive) = stored_primitive(arrow) {
        return Ok(DataType::Primitive(primitive));
    }
    Ok(match arrow {
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => DataType::Text,
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView => DataType::Bytes,
        ArrowType::FixedSizeBinary(n_bytes) => fixed(DataType::Primitive(Primitive::UInt8), *n_bytes, path)?,
        ArrowType::Decimal128(..) => fixed(DataType::Primitive(Primitive::UInt8), 16, path)?,
        ArrowType::Decimal256(..) => fixed(DataType::Primitive(Primitive::UInt8), 32, path)?,
        ArrowType::Interval(unit) => {
            let members = interval_members(*unit).iter();
            let members = members.map(|&(name, primitive)| (Name::from(name), DataType::Primitive(primitive)));
            DataType::Struct(members.collect())
        }
        ArrowType::List(item)
        | ArrowType::LargeList(item)
        | ArrowType::ListView(item)
        | ArrowType::LargeListView(item) => DataType::List(Box::new(of_field(item, path)?)),
        ArrowType::FixedSizeList(item, n_items) => fixed(of_field(item, path)?, *n_items, path)?,
        ArrowType::Struct(members) => of_struct(members, path)?,
        ArrowType::Map(entries, _) => match entries.data_type() {
            ArrowType::Struct(pair) if pair.len() == 2 => {
                let key =
                    of_field(&pair[0].as_ref().clone().with_nullable(false), &format!("{path}.{}", pair[0].name()))?;
                let value = of_field(&pair[1], &format!("{path}.{}", pair[1].name()))?;
                DataType::Map(Box::new(key), Box::new(value))
            }
            other => return Err(no_layout(path, &format!("maps of {other}"))),
        },
        // The field of a dictionary or of runs says whether there are nulls: not that of the values inside.
        ArrowType::Dictionary(_, values) => of_type(values, path)?,
        ArrowType::RunEndEncoded(_, values) => of_type(values.data_type(), path)?,
        ArrowType::Null => nothing(),
        ArrowType::Union(fields, _) => {
            let members = alternatives(fields);
            let stored = members.map(|(_, member)| of_type(member.data_type(), &format!("{path}.{}", member.name())));
            let stored: Vec<DataType> = stored.collect::<Result<_>>()?;
            if !(1..=MAX_ALTERNATIVES).contains(&stored.len()) {
                let n = stored.len();
                return Err(no_layout(path, &format!("unions of {n} members with values: of 1 to {MAX_ALTERNATIVES}")));
            }
            DataType::Variant(stored.into())
        }
        other => return Err(no_layout(path, &format!("values of type {other}"))),
    })
}

/// The members of a union that are alternatives, with their type ids: what is null is none of them.
pub(super) fn alternatives(fields: &UnionFields) -> impl Iterator<Item = (i8, &FieldRef)> {
    fields.iter().filter(|(_, member)| *member.data_type() != ArrowType::Null)
}

fn no_layout(path: &str, what: &str) -> StoreError {
    StoreError::NoLayout { column: path.to_owned(), what: what.to_owned() }
}

fn fixed(item: DataType, n_items: i32, path: &str) -> Result<DataType> {
    match u32::try_from(n_items) {
        Ok(0) => Ok(nothing()),
        Ok(n_items) => Ok(DataType::FixedList(Box::new(item), n_items)),
        Err(_) => Err(no_layout(path, &format!("lists of {n_items} items each"))),
    }
}

fn of_struct(members: &Fields, path: &str) -> Result<DataType> {
    if members.is_empty() {
        return Ok(nothing());
    }
    let mut names = HashSet::with_capacity(members.len());
    let mut stored = Vec::with_capacity(members.len());
    for member in members {
        let path = format!("{path}.{}", member.name());
        if !names.insert(member.name()) {
            return Err(StoreError::SameName { name: path });
        }
        stored.push((Name::from(member.name().as_str()), of_field(member, &path)?));
    }
    Ok(DataType::Struct(stored.into()))
}

/// The number that a type is stored as, if it is one.
pub(super) fn stored_primitive(arrow: &ArrowType) -> Option<Primitive> {
    Some(match arrow {
        ArrowType::Boolean => Primitive::Bool,
        ArrowType::Int8 => Primitive::Int8,
        ArrowType::UInt8 => Primitive::UInt8,
        ArrowType::Int16 => Primitive::Int16,
        ArrowType::UInt16 => Primitive::UInt16,
        ArrowType::Int32 | ArrowType::Date32 | ArrowType::Time32(_) | ArrowType::Decimal32(..) => Primitive::Int32,
        ArrowType::UInt32 => Primitive::UInt32,
        ArrowType::Int64
        | ArrowType::Date64
        | ArrowType::Time64(_)
        | ArrowType::Timestamp(..)
        | ArrowType::Duration(_)
        | ArrowType::Decimal64(..) => Primitive::Int64,
        ArrowType::UInt64 => Primitive::UInt64,
        ArrowType::Float16 | ArrowType::Float32 => Primitive::Float32,
        ArrowType::Float64 => Primitive::Float64,
        _ => return None,
    })
}
