//! What the fields of an RNTuple hold of values that C++ has no name for: untyped collections stand in for them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, ListArray, StructArray, UInt32Array, make_array};
use arrow_schema::{DataType as ArrowType, Field, Fields};
use arrowroot_format::column::DataType;
use arrowroot_format::streamer::Primitive;

use super::compose::{is_nullable, item_field, same_size};
use super::error::{Result, StoreError};
use super::names::stored_name;
use crate::gaps::with_gaps;

/// Whether C++ has a name for a type: it has none for untyped records, and for what holds them.
///
/// Optionals and fixed lists of what has none are collections, of at most one item or of the same length everywhere.
pub fn has_type_name(data_type: &DataType) -> bool {
    match data_type {
        DataType::Primitive(_) | DataType::Text | DataType::Bytes => true,
        DataType::List(item) | DataType::FixedList(item, _) => has_type_name(item),
        DataType::Optional(value) => **value == DataType::Nothing || has_type_name(value),
        DataType::Struct(_) | DataType::Map(..) | DataType::Nothing | DataType::Link => false,
    }
}

/// The type that the field of a type comes back as without a record.
pub(super) fn type_of_field(data_type: &DataType) -> DataType {
    let boxed = |inner: &DataType| Box::new(type_of_field(inner));
    match data_type {
        DataType::FixedList(item, _) if !has_type_name(item) => DataType::List(boxed(item)),
        DataType::FixedList(item, n_items) => DataType::FixedList(boxed(item), *n_items),
        DataType::List(item) => DataType::List(boxed(item)),
        DataType::Map(key, value) => {
            let pair = [("key".into(), type_of_field(key)), ("value".into(), type_of_field(value))];
            DataType::List(Box::new(DataType::Struct(pair.into())))
        }
        DataType::Struct(members) => DataType::Struct(
            members.iter().map(|(name, of)| (stored_name(name).as_str().into(), type_of_field(of))).collect(),
        ),
        DataType::Optional(value) if **value == DataType::Nothing => DataType::Primitive(Primitive::Bool),
        DataType::Optional(value) if !has_type_name(value) => DataType::List(boxed(value)),
        DataType::Optional(value) => DataType::Optional(boxed(value)),
        DataType::Bytes => DataType::List(Box::new(DataType::Primitive(Primitive::UInt8))),
        other => other.clone(),
    }
}

/// The values of a column, of the array of its field as it is read: what [`compose`](super::compose()) is for trees.
///
/// # Errors
/// [`StoreError::Malformed`] if the field has another type, or a collection that stands for an optional has two items.
pub fn of_field(column: &str, data_type: &DataType, field: &ArrayRef) -> Result<ArrayRef> {
    let malformed = |what: &str| StoreError::malformed(column, what);
    let lists = || field.as_list_opt::<i32>().ok_or_else(|| malformed("a field that is no collection"));
    let wrong = StoreError::of_arrow(column);
    Ok(match data_type {
        DataType::Optional(value) if **value == DataType::Nothing => Arc::clone(field),
        DataType::Optional(value) if has_type_name(value) => of_field(column, value, field)?,
        DataType::Optional(value) => {
            let lists = lists()?;
            if lists.offsets().lengths().any(|length| length > 1) {
                return Err(malformed("two values in place of one or none"));
            }
            let values = of_field(column, value, lists.values())?;
            let offsets = lists.offsets();
            let places = offsets.windows(2).map(|pair| u32::try_from(pair[0]).ok().filter(|_| pair[0] < pair[1]));
            let places: UInt32Array = places.collect();
            if places.null_count() == 0 && values.len() == places.len() {
                return Ok(values);
            }
            make_array(with_gaps(values.to_data(), &places).map_err(wrong)?)
        }
        DataType::FixedList(item, n_items) => {
            let items = of_field(column, item, &same_size(column, field, *n_items as usize)?)?;
            let size = i32::try_from(*n_items).map_err(|_| malformed("a list of 2^31 items"))?;
            let (nulls, len) = (field.nulls().cloned(), field.len());
            let list = FixedSizeListArray::try_new_with_length(item_field(item, &items), size, items, nulls, len);
            Arc::new(list.map_err(wrong)?)
        }
        DataType::List(item) => {
            let lists = lists()?;
            let items = of_field(column, item, lists.values())?;
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            Arc::new(ListArray::try_new(item_field(item, &items), offsets, items, nulls).map_err(wrong)?)
        }
        DataType::Map(key, value) => {
            let pair = [("key".into(), (**key).clone()), ("value".into(), (**value).clone())];
            of_field(column, &DataType::List(Box::new(DataType::Struct(pair.into()))), field)?
        }
        DataType::Struct(members) => {
            let found = field.as_struct_opt().filter(|found| found.num_columns() == members.len());
            let found = found.ok_or_else(|| malformed("a field that has other members"))?;
            let columns = members.iter().zip(found.columns()).map(|((_, of), member)| of_field(column, of, member));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let fields = members.iter().zip(&columns).map(|((name, of), member): (_, &ArrayRef)| {
                Field::new(&**name, ArrowType::clone(member.data_type()), is_nullable(of))
            });
            let fields: Fields = fields.collect();
            Arc::new(StructArray::try_new(fields, columns, found.nulls().cloned()).map_err(wrong)?)
        }
        _ => Arc::clone(field),
    })
}
