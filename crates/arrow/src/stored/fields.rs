//! What the fields of an RNTuple hold of values that C++ has no name for: untyped collections stand in for them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, ListArray, MapArray, StructArray, UnionArray, make_array};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType as ArrowType, Field, FieldRef, Fields};
use arrowroot_format::column::DataType;
use arrowroot_format::streamer::Primitive;

use super::compose::{is_nullable, item_field, same_size};
use super::error::{Result, StoreError};
use super::names::stored_name;
use crate::optionals::{new_buffer, optionals};
use crate::types::variant_fields;

/// True if C++ has a name for a type: it has none for untyped records, and for what holds them.
///
/// Optionals and fixed lists of what has none are collections, of at most one item or of the same length everywhere.
pub fn has_type_name(data_type: &DataType) -> bool {
    match data_type {
        DataType::Primitive(_) | DataType::Text | DataType::Bytes => true,
        DataType::List(item) | DataType::FixedList(item, _) => has_type_name(item),
        DataType::Optional(value) => **value == DataType::Nothing || has_type_name(value),
        DataType::Map(key, value) => has_type_name(key) && has_type_name(value),
        DataType::Variant(of) => of.iter().all(has_type_name),
        DataType::Struct(_) | DataType::Nothing | DataType::Link => false,
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
        *value != DataType::Nothing && self.is_collection(value) && !has_fixed_collections(value)
    }
}

/// True if a type is a fixed list that is a collection, or a record with one.
fn has_fixed_collections(data_type: &DataType) -> bool {
    match data_type {
        DataType::FixedList(of, _) => !has_type_name(of),
        DataType::Struct(members) => members.iter().any(|(_, member)| has_fixed_collections(member)),
        _ => false,
    }
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
        DataType::Map(key, value) if has_type_name(data_type) => DataType::Map(item(key), item(value)),
        DataType::Variant(of) => DataType::Variant(of.iter().map(|of| type_inside(of, inside)).collect()),
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

/// The values of a column, of the array of its field as it is read: what [`compose`](super::compose()) is for trees. `is_nullable`: the
/// field has optional values.
///
/// A field may be of another type than the column would have by itself: what it is, its own type says.
///
/// # Errors
/// [`StoreError::Malformed`] if the field holds no such values, or a collection that stands for an optional has two items.
pub fn of_field(column: &str, data_type: &DataType, field: &ArrayRef, is_nullable: bool) -> Result<ArrayRef> {
    OfField { column }.array(data_type, field, is_nullable)
}

struct OfField<'c> {
    column: &'c str,
}

impl OfField<'_> {
    fn array(&self, data_type: &DataType, field: &ArrayRef, has_optionals: bool) -> Result<ArrayRef> {
        Ok(match data_type {
            DataType::Optional(value) if **value == DataType::Nothing => Arc::clone(field),
            DataType::Optional(value) if has_optionals => self.array(value, field, false)?,
            DataType::Optional(value) => {
                let Lists { offsets, items, item, .. } = self.lists(field)?;
                let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
                let items = items.slice(first.as_usize(), (last - first).as_usize());
                let values = self.array(value, &items, item.is_nullable())?;
                let ends = offsets.iter().map(|end| end - first).collect::<Vec<i32>>();
                make_array(optionals(values.to_data(), &ends, &new_buffer).map_err(self.wrong())?)
            }
            DataType::FixedList(of, n_items) => {
                let item = self.item(field)?;
                let items = same_size(self.column, field, *n_items as usize)?;
                let items = self.array(of, &items, item.is_nullable())?;
                let size = i32::try_from(*n_items).map_err(|_| self.malformed("a list of 2^31 items"))?;
                let (nulls, len) = (field.nulls().cloned(), field.len());
                let list = FixedSizeListArray::try_new_with_length(item_field(of, &items), size, items, nulls, len);
                Arc::new(list.map_err(self.wrong())?)
            }
            DataType::List(of) => {
                let Lists { offsets, items, nulls, item } = self.lists(field)?;
                let items = self.array(of, &items, item.is_nullable())?;
                Arc::new(ListArray::try_new(item_field(of, &items), offsets, items, nulls).map_err(self.wrong())?)
            }
            DataType::Map(key, value) => {
                let pair =
                    DataType::Struct([("key".into(), (**key).clone()), ("value".into(), (**value).clone())].into());
                let Lists { offsets, items, nulls, .. } = self.lists(field)?;
                let pairs = self.array(&pair, &items, false)?.as_struct().clone();
                let entries = Arc::new(Field::new("entries", pairs.data_type().clone(), false));
                Arc::new(MapArray::try_new(entries, offsets, pairs, nulls, false).map_err(self.wrong())?)
            }
            DataType::Struct(members) => {
                let found = field.as_struct_opt().filter(|found| found.num_columns() == members.len());
                let found = found.ok_or_else(|| self.malformed("a field that has other members"))?;
                let parts = members.iter().zip(found.columns()).zip(found.fields());
                let columns = parts.map(|(((_, of), member), field)| self.array(of, member, field.is_nullable()));
                let columns = columns.collect::<Result<Vec<_>>>()?;
                let fields: Fields = members
                    .iter()
                    .zip(&columns)
                    .map(|((name, of), member)| Field::new(&**name, member.data_type().clone(), is_nullable(of)))
                    .collect();
                Arc::new(StructArray::try_new(fields, columns, found.nulls().cloned()).map_err(self.wrong())?)
            }
            DataType::Variant(of) => self.variant(of, field)?,
            _ => Arc::clone(field),
        })
    }

    fn variant(&self, of: &[DataType], field: &ArrayRef) -> Result<ArrayRef> {
        let union = field.as_union_opt().filter(|union| union.fields().len() == of.len() + 1);
        let union = union.ok_or_else(|| self.malformed("a field that is no variant of as many alternatives"))?;
        let children = union.fields().iter().skip(1).zip(of);
        let children = children.map(|((tag, field), of)| self.array(of, union.child(tag), field.is_nullable()));
        let children = children.collect::<Result<Vec<_>>>()?;
        let fields = of.iter().zip(&children).enumerate().map(|(number, (of, child))| {
            Arc::new(Field::new(number.to_string(), child.data_type().clone(), is_nullable(of)))
        });
        let fields = variant_fields(fields);
        let children = std::iter::once(Arc::clone(union.child(0))).chain(children).collect();
        let (ids, offsets) = (union.type_ids().clone(), union.offsets().cloned());
        Ok(Arc::new(UnionArray::try_new(fields, ids, offsets, children).map_err(self.wrong())?))
    }

    /// The field of the items of lists.
    fn item(&self, field: &ArrayRef) -> Result<FieldRef> {
        match field.data_type() {
            ArrowType::List(item) | ArrowType::FixedSizeList(item, _) | ArrowType::Map(item, _) => Ok(Arc::clone(item)),
            _ => Err(self.malformed("a field that is no collection")),
        }
    }

    fn lists(&self, field: &ArrayRef) -> Result<Lists> {
        let (item, nulls) = (self.item(field)?, field.nulls().cloned());
        if let Some(lists) = field.as_list_opt::<i32>() {
            return Ok(Lists { offsets: lists.offsets().clone(), items: Arc::clone(lists.values()), nulls, item });
        }
        if let Some(maps) = field.as_map_opt() {
            return Ok(Lists { offsets: maps.offsets().clone(), items: Arc::new(maps.entries().clone()), nulls, item });
        }
        let lists = field.as_fixed_size_list_opt().ok_or_else(|| self.malformed("a field that is no collection"))?;
        let n_items = usize::try_from(lists.value_length()).unwrap_or_default();
        if lists.values().len() > i32::MAX as usize {
            let what = "2^31 items of a batch".to_owned();
            return Err(StoreError::TooMany { column: self.column.to_owned(), what });
        }
        let offsets = OffsetBuffer::from_repeated_length(n_items, lists.len());
        Ok(Lists { offsets, items: Arc::clone(lists.values()), nulls, item })
    }

    fn malformed(&self, what: &str) -> StoreError {
        StoreError::malformed(self.column, what)
    }

    fn wrong(&self) -> impl Fn(ArrowError) -> StoreError {
        StoreError::of_arrow(self.column)
    }
}

/// Lists of any kind.
struct Lists {
    offsets: OffsetBuffer<i32>,
    items: ArrayRef,
    nulls: Option<NullBuffer>,
    /// The field of the items.
    item: FieldRef,
}
