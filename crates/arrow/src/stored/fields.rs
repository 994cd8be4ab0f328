//! What the fields of an RNTuple hold of values that C++ has no name for: untyped collections stand in for them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, ListArray, StructArray, make_array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{Field, Fields};
use arrowroot_format::column::DataType;
use arrowroot_format::streamer::Primitive;

use super::compose::{is_nullable, item_field, same_size};
use super::error::{Result, StoreError};
use super::names::stored_name;
use crate::optionals::optionals;

/// True if C++ has a name for a type: it has none for untyped records, and for what holds them.
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

/// True if a field stands in an untyped collection, be it with others between: optionals are collections there.
///
/// Source: with `std::optional` there RDataFrame opens no column of a file (`RNTupleDS::AddField`, ROOT 6.40).
#[derive(Debug, Clone, Copy, Default)]
pub struct IsUntyped(bool);

impl IsUntyped {
    /// The same for what is inside a collection of a type.
    #[must_use]
    pub fn inside(self, collection: &DataType) -> IsUntyped {
        IsUntyped(self.0 || !has_type_name(collection))
    }

    /// True if an optional value is a collection.
    fn is_collection(self, value: &DataType) -> bool {
        self.0 || !has_type_name(value)
    }

    /// True if an optional value is a collection that may be read as the optional that it stands for. What is of the same
    /// length everywhere is not known as such where the lists of missing values are among the others.
    pub fn can_be_read_as_optional(self, value: &DataType) -> bool {
        let is_fixed = matches!(value, DataType::FixedList(of, _) if !has_type_name(of));
        *value != DataType::Nothing && self.is_collection(value) && !is_fixed
    }
}

/// How a field was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldForm {
    /// By its own type.
    Natural,
    /// With optionals where collections stand for them ([`IsUntyped::can_be_read_as_optional`]).
    Optionals,
}

/// The type that the field of a type comes back as without a record.
pub(super) fn type_of_field(data_type: &DataType) -> DataType {
    type_inside(data_type, IsUntyped::default())
}

fn type_inside(data_type: &DataType, around: IsUntyped) -> DataType {
    let inside = around.inside(data_type);
    let item = |item: &DataType| Box::new(type_inside(item, inside));
    match data_type {
        DataType::FixedList(of, _) if !has_type_name(of) => DataType::List(item(of)),
        DataType::FixedList(of, n_items) => DataType::FixedList(item(of), *n_items),
        DataType::List(of) => DataType::List(item(of)),
        DataType::Map(key, value) => {
            let pair = [("key".into(), *item(key)), ("value".into(), *item(value))];
            DataType::List(Box::new(DataType::Struct(pair.into())))
        }
        DataType::Struct(members) => DataType::Struct(
            members.iter().map(|(name, of)| (stored_name(name).as_str().into(), type_inside(of, around))).collect(),
        ),
        DataType::Optional(value) if **value == DataType::Nothing => DataType::Primitive(Primitive::Bool),
        DataType::Optional(value) if around.is_collection(value) => DataType::List(item(value)),
        DataType::Optional(value) => DataType::Optional(item(value)),
        DataType::Bytes => DataType::List(Box::new(DataType::Primitive(Primitive::UInt8))),
        other => other.clone(),
    }
}

/// The values of a column, of the array of its field as it is read: what [`compose`](super::compose()) is for trees.
///
/// # Errors
/// [`StoreError::Malformed`] if the field has another type, or a collection that stands for an optional has two items.
pub fn of_field(column: &str, data_type: &DataType, field: &ArrayRef, form: FieldForm) -> Result<ArrayRef> {
    of_field_inside(column, data_type, field, (form, IsUntyped::default()))
}

fn of_field_inside(
    column: &str,
    data_type: &DataType,
    field: &ArrayRef,
    (form, around): (FieldForm, IsUntyped),
) -> Result<ArrayRef> {
    let malformed = |what: &str| StoreError::malformed(column, what);
    let lists = || field.as_list_opt::<i32>().ok_or_else(|| malformed("a field that is no collection"));
    let wrong = StoreError::of_arrow(column);
    let inside = (form, around.inside(data_type));
    let is_made = |value: &DataType| form == FieldForm::Optionals && around.can_be_read_as_optional(value);
    Ok(match data_type {
        DataType::Optional(value) if **value == DataType::Nothing => Arc::clone(field),
        DataType::Optional(value) if around.is_collection(value) && !is_made(value) => {
            let lists = lists()?;
            let (first, last) = (lists.value_offsets()[0], lists.offsets().last());
            let items = lists.values().slice(first.as_usize(), (last - first).as_usize());
            let values = of_field_inside(column, value, &items, inside)?;
            let ends = lists.offsets().iter().map(|end| end - first).collect::<Vec<i32>>();
            make_array(optionals(values.to_data(), &ends).map_err(wrong)?)
        }
        DataType::Optional(value) => of_field_inside(column, value, field, inside)?,
        DataType::FixedList(item, n_items) => {
            let items = same_size(column, field, *n_items as usize)?;
            let items = of_field_inside(column, item, &items, inside)?;
            let size = i32::try_from(*n_items).map_err(|_| malformed("a list of 2^31 items"))?;
            let (nulls, len) = (field.nulls().cloned(), field.len());
            let list = FixedSizeListArray::try_new_with_length(item_field(item, &items), size, items, nulls, len);
            Arc::new(list.map_err(wrong)?)
        }
        DataType::List(item) => {
            let lists = lists()?;
            let items = of_field_inside(column, item, lists.values(), inside)?;
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            Arc::new(ListArray::try_new(item_field(item, &items), offsets, items, nulls).map_err(wrong)?)
        }
        DataType::Map(key, value) => {
            let pair = [("key".into(), (**key).clone()), ("value".into(), (**value).clone())];
            let pairs = DataType::List(Box::new(DataType::Struct(pair.into())));
            of_field_inside(column, &pairs, field, (form, around))?
        }
        DataType::Struct(members) => {
            let found = field.as_struct_opt().filter(|found| found.num_columns() == members.len());
            let found = found.ok_or_else(|| malformed("a field that has other members"))?;
            let members = members.iter().zip(found.columns());
            let columns = members.clone().map(|((_, of), member)| of_field_inside(column, of, member, (form, around)));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let fields: Fields = members
                .zip(&columns)
                .map(|(((name, of), _), member)| Field::new(&**name, member.data_type().clone(), is_nullable(of)))
                .collect();
            Arc::new(StructArray::try_new(fields, columns, found.nulls().cloned()).map_err(wrong)?)
        }
        _ => Arc::clone(field),
    })
}
