//! Stored values as a reader has them.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, ListArray, MapArray, StringArray, StructArray, UInt32Array,
    make_array,
};
use arrow_buffer::{BooleanBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType as ArrowType, Field, Fields};
use arrow_select::nullif::nullif;
use arrow_select::take::take;
use arrowroot_format::column::DataType;

use super::super::fields::has_type_name;
use super::{BranchForm, Content, CppType, PlannedBranch, Step, Stored, Value, stored_name};
use crate::arrays::numbers;

/// As arrays of the type itself.
pub(super) fn as_read(stored: &Stored, data_type: &DataType) -> ArrayRef {
    match (stored, data_type) {
        (Stored::Optional { valid, values }, DataType::Optional(of)) => match **of {
            DataType::Nothing => bools(valid),
            _ => nullif(&as_read(values, of), &BooleanArray::new(!valid, None)).unwrap(),
        },
        (Stored::List { offsets, items }, DataType::List(item)) => {
            list(offsets, &as_read(items, item), is_optional(item))
        }
        (Stored::List { offsets, items }, DataType::Bytes) => list(offsets, &plain(items), false),
        (Stored::List { offsets, items }, DataType::Map(key, value)) => {
            let Stored::Struct { members, .. } = &**items else { panic!("a map without pairs") };
            let parts = members.iter().zip([("key", &**key), ("value", &**value)]);
            map(offsets, parts.map(|(member, (name, of))| (name, as_read(member, of), is_optional(of))).collect())
        }
        (Stored::Fixed { len, n_items, items }, DataType::FixedList(item, _)) => {
            fixed(*len, *n_items, as_read(items, item), is_optional(item))
        }
        (Stored::Struct { members, .. }, DataType::Struct(of)) => {
            let columns: Vec<ArrayRef> =
                members.iter().zip(of.iter()).map(|(member, (_, of))| as_read(member, of)).collect();
            let fields: Fields = of
                .iter()
                .zip(&columns)
                .map(|((name, of), column)| Field::new(&**name, column.data_type().clone(), is_optional(of)))
                .collect();
            Arc::new(StructArray::try_new(fields, columns, None).unwrap())
        }
        _ => plain(stored),
    }
}

/// The same, where a field of an RNTuple stands in for what it has no name for. `is_untyped`: whether it is in a collection
/// of such.
pub(super) fn as_field(stored: &Stored, data_type: &DataType, is_untyped: bool) -> ArrayRef {
    let inside = is_untyped || !has_type_name(data_type);
    let is_nullable = |of: &DataType, is_untyped: bool| is_optional(of) && !is_untyped && has_type_name(of);
    match (stored, data_type) {
        (Stored::Optional { valid, .. }, DataType::Optional(of)) if **of == DataType::Nothing => bools(valid),
        (Stored::Optional { valid, values }, DataType::Optional(of)) if inside => {
            let lengths = valid.iter().map(usize::from);
            let places: UInt32Array =
                valid.set_indices().map(|index| u32::try_from(index).unwrap()).collect::<Vec<_>>().into();
            let items = take(&as_field(values, of, inside), &places, None).unwrap();
            let field = Arc::new(Field::new("item", items.data_type().clone(), false));
            Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), items, None).unwrap())
        }
        (Stored::Fixed { len, n_items, items }, DataType::FixedList(item, _)) if !has_type_name(item) => {
            list(&equal_offsets(*len, *n_items), &as_field(items, item, inside), false)
        }
        (Stored::Fixed { len, n_items, items }, DataType::FixedList(item, _)) => {
            fixed(*len, *n_items, as_field(items, item, inside), is_nullable(item, inside))
        }
        (Stored::List { offsets, items }, DataType::List(item)) => {
            list(offsets, &as_field(items, item, inside), is_nullable(item, inside))
        }
        (Stored::List { offsets, items }, DataType::Map(key, value)) if has_type_name(data_type) => {
            let Stored::Struct { members, .. } = &**items else { panic!("a map without pairs") };
            let parts = members.iter().zip([("key", &**key), ("value", &**value)]);
            let part = |(member, (name, of)): (&Stored, (&'static str, &DataType))| {
                (name, as_field(member, of, inside), is_nullable(of, inside))
            };
            map(offsets, parts.map(part).collect())
        }
        (Stored::List { .. }, DataType::Map(key, value)) => {
            let pair = [("key".into(), (**key).clone()), ("value".into(), (**value).clone())];
            as_field(stored, &DataType::List(Box::new(DataType::Struct(pair.into()))), is_untyped)
        }
        (Stored::Struct { members, .. }, DataType::Struct(of)) => {
            let columns: Vec<ArrayRef> =
                members.iter().zip(of.iter()).map(|(member, (_, of))| as_field(member, of, is_untyped)).collect();
            let fields: Fields = of
                .iter()
                .zip(&columns)
                .map(|((name, of), column)| {
                    Field::new(stored_name(name), column.data_type().clone(), is_nullable(of, is_untyped))
                })
                .collect();
            Arc::new(StructArray::try_new(fields, columns, None).unwrap())
        }
        _ => as_read(stored, data_type),
    }
}

/// As a branch of a tree is read.
pub(super) fn as_branch(stored: &Stored, branch: &PlannedBranch) -> ArrayRef {
    match &branch.form {
        BranchForm::Streamed { value, .. } => as_value(stored, &value.steps, value),
        _ => as_plain_branch(stored, &branch.path, branch),
    }
}

/// As a branch of maps is read, or of vectors of maps.
fn as_value(stored: &Stored, steps: &[Step], value: &Value) -> ArrayRef {
    match (steps, stored) {
        ([Step::Present, rest @ ..], Stored::Optional { values, .. }) => return as_value(values, rest, value),
        ([Step::Member(index), rest @ ..], Stored::Struct { members, .. }) => {
            return as_value(&members[*index], rest, value);
        }
        _ => assert_eq!(steps, []),
    }
    match (&value.held, stored) {
        (CppType::Vector { item, .. }, Stored::List { offsets, items }) => {
            list(offsets, &as_value(items, &item.steps, item), false)
        }
        (CppType::Vector { item, .. }, Stored::Fixed { len, n_items, items }) => {
            list(&equal_offsets(*len, *n_items), &as_value(items, &item.steps, item), false)
        }
        (CppType::Map(pair), Stored::List { offsets, items }) => {
            let parts = pair.members.iter().zip(["key", "value"]);
            map(
                offsets,
                parts.map(|(part, name)| (name, as_value(items, &part.value.steps, &part.value), false)).collect(),
            )
        }
        _ => plain(stored),
    }
}

fn as_plain_branch(stored: &Stored, path: &[Step], branch: &PlannedBranch) -> ArrayRef {
    match (path, stored) {
        ([], Stored::Optional { valid, .. }) if branch.content == Content::Validity => bools(valid),
        ([], _) => plain(stored),
        ([Step::Present, rest @ ..], Stored::Optional { values, .. }) => as_plain_branch(values, rest, branch),
        ([Step::Member(index), rest @ ..], Stored::Struct { members, .. }) => {
            as_plain_branch(&members[*index], rest, branch)
        }
        ([Step::Items, rest @ ..], Stored::List { offsets, items }) => {
            list(offsets, &as_plain_branch(items, rest, branch), false)
        }
        ([Step::Items, rest @ ..], Stored::Fixed { len, n_items, items }) => {
            let items = as_plain_branch(items, rest, branch);
            match branch.form {
                BranchForm::Vectors(_) => list(&equal_offsets(*len, *n_items), &items, false),
                _ => fixed(*len, *n_items, items, false),
            }
        }
        _ => panic!("a path that leads nowhere: {path:?}"),
    }
}

/// True if a type is, or has in it, one of some kind.
pub(super) fn holds(data_type: &ArrowType, is_one: &dyn Fn(&ArrowType) -> bool) -> bool {
    is_one(data_type)
        || match data_type {
            ArrowType::List(field)
            | ArrowType::LargeList(field)
            | ArrowType::ListView(field)
            | ArrowType::LargeListView(field)
            | ArrowType::FixedSizeList(field, _)
            | ArrowType::Map(field, _)
            | ArrowType::RunEndEncoded(_, field) => holds(field.data_type(), is_one),
            ArrowType::Struct(fields) => fields.iter().any(|field| holds(field.data_type(), is_one)),
            ArrowType::Dictionary(_, value) => holds(value, is_one),
            _ => false,
        }
}

/// Maps of keys and values, each with its name and whether it may be missing.
fn map(offsets: &ScalarBuffer<i64>, parts: Vec<(&str, ArrayRef, bool)>) -> ArrayRef {
    let fields: Fields = parts
        .iter()
        .map(|(name, part, is_nullable)| Field::new(*name, part.data_type().clone(), *is_nullable))
        .collect();
    let pairs = StructArray::try_new(fields, parts.into_iter().map(|(_, part, _)| part).collect(), None).unwrap();
    let entries = Arc::new(Field::new("entries", pairs.data_type().clone(), false));
    let (offsets, first) = small(offsets);
    let pairs = pairs.slice(first, usize::try_from(offsets.last()).unwrap());
    Arc::new(MapArray::try_new(entries, offsets, pairs, None, false).unwrap())
}

fn is_optional(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Optional(value) if **value != DataType::Nothing)
}

fn bools(bits: &BooleanBuffer) -> ArrayRef {
    Arc::new(BooleanArray::new(bits.clone(), None))
}

/// Numbers, bools and texts.
fn plain(stored: &Stored) -> ArrayRef {
    match stored {
        Stored::Numbers { primitive, values } => {
            make_array(numbers(*primitive, &[], stored.len(), values.clone()).unwrap())
        }
        Stored::Bits(bits) => bools(bits),
        Stored::Text { offsets, bytes } => {
            let (small, first) = small(offsets);
            Arc::new(StringArray::try_new(small, bytes.slice(first), None).unwrap())
        }
        other => panic!("{other:?} has no values of its own"),
    }
}

/// Offsets from 0 on, and the first item.
fn small(offsets: &ScalarBuffer<i64>) -> (OffsetBuffer<i32>, usize) {
    let first = offsets[0];
    let moved = offsets.iter().map(|offset| i32::try_from(offset - first).unwrap()).collect();
    (OffsetBuffer::new(moved), usize::try_from(first).unwrap())
}

fn list(offsets: &ScalarBuffer<i64>, items: &ArrayRef, is_nullable: bool) -> ArrayRef {
    let (offsets, first) = small(offsets);
    let items = items.slice(first, usize::try_from(offsets.last()).unwrap());
    let field = Arc::new(Field::new("item", items.data_type().clone(), is_nullable));
    Arc::new(ListArray::try_new(field, offsets, items, None).unwrap())
}

/// Offsets of lists of one length.
fn equal_offsets(len: usize, n_items: usize) -> ScalarBuffer<i64> {
    (0..=len).map(|index| i64::try_from(index * n_items).unwrap()).collect()
}

fn fixed(len: usize, n_items: usize, items: ArrayRef, is_nullable: bool) -> ArrayRef {
    let field = Arc::new(Field::new("item", items.data_type().clone(), is_nullable));
    let size = i32::try_from(n_items).unwrap();
    Arc::new(FixedSizeListArray::try_new_with_length(field, size, items, None, len).unwrap())
}
