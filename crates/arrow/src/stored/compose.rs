//! From the branches of a tree to the columns that they hold parts of: the opposite of [`plan_branches`].
//!
//! [`plan_branches`]: super::plan_branches

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, FixedSizeListArray, ListArray, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType as ArrowType, Field, Fields};
use arrow_select::nullif::nullif;
use arrowroot_format::column::DataType;

use super::error::{Result, StoreError};
use crate::types::ITEM;

/// The values of a column, of the arrays of its branches as they are read, in the order of
/// [`plan_branches`](super::plan_branches) without counters and groups. A branch of objects is read as structs, and one of maps
/// as maps.
///
/// Its type is that of [`arrow_type`](crate::arrow_type), but that bytes and maps are lists, of `UInt8` and of structs, and
/// that of nothing there are bools; [`restore`](super::restore) takes it. Shares the memory of the arrays.
///
/// # Errors
/// [`StoreError::Malformed`] if the lists of two branches have other lengths, or a branch has another type.
pub fn compose(column: &str, data_type: &DataType, branches: &[ArrayRef]) -> Result<ArrayRef> {
    let composing = Composing { column };
    if !branches.iter().any(|branch| has_structs(branch.data_type())) {
        return composing.array(data_type, branches);
    }
    let mut members = Vec::with_capacity(branches.len());
    branches.iter().try_for_each(|branch| composing.members(branch, &mut members))?;
    composing.array(data_type, &members)
}

fn has_structs(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::List(item) => has_structs(item.data_type()),
        ArrowType::Struct(_) | ArrowType::Map(..) => true,
        _ => false,
    }
}

/// How many branches the values of a type have, counters aside, where members, keys and values have branches of their own.
pub fn n_branches(data_type: &DataType) -> usize {
    match data_type {
        DataType::List(item) | DataType::FixedList(item, _) => n_branches(item),
        DataType::Map(key, value) => n_branches(key) + n_branches(value),
        DataType::Struct(members) => members.iter().map(|(_, member)| n_branches(member)).sum(),
        DataType::Optional(value) if **value == DataType::Nothing => 1,
        DataType::Optional(value) => 1 + n_branches(value),
        _ => 1,
    }
}

struct Composing<'c> {
    column: &'c str,
}

impl Composing<'_> {
    fn array(&self, data_type: &DataType, branches: &[ArrayRef]) -> Result<ArrayRef> {
        Ok(match data_type {
            DataType::List(item) => {
                let (offsets, inside) = self.inside(branches)?;
                let items = self.array(item, &inside)?;
                Arc::new(ListArray::try_new(item_field(item, &items), offsets, items, None).map_err(self.wrong())?)
            }
            DataType::FixedList(item, n_items) => {
                let (n_items, n_lists) = (*n_items as usize, branches.first().map_or(0, |branch| branch.len()));
                let inside: Vec<ArrayRef> =
                    branches.iter().map(|branch| same_size(self.column, branch, n_items)).collect::<Result<_>>()?;
                let items = self.array(item, &inside)?;
                let size = i32::try_from(n_items).map_err(|_| self.malformed("a list of 2^31 items"))?;
                let list =
                    FixedSizeListArray::try_new_with_length(item_field(item, &items), size, items, None, n_lists);
                Arc::new(list.map_err(self.wrong())?)
            }
            DataType::Map(key, value) => {
                let (offsets, inside) = self.inside(branches)?;
                let pair = [("key".into(), (**key).clone()), ("value".into(), (**value).clone())];
                let pairs = self.array(&DataType::Struct(pair.into()), &inside)?;
                let field = Arc::new(Field::new(ITEM, pairs.data_type().clone(), false));
                Arc::new(ListArray::try_new(field, offsets, pairs, None).map_err(self.wrong())?)
            }
            DataType::Struct(members) => {
                let mut rest = branches;
                let mut fields = Vec::with_capacity(members.len());
                let mut columns = Vec::with_capacity(members.len());
                for (name, member) in members.iter() {
                    let (own, others) = rest.split_at_checked(n_branches(member)).ok_or_else(|| self.too_few())?;
                    let column = self.array(member, own)?;
                    fields.push(Field::new(&**name, column.data_type().clone(), is_nullable(member)));
                    columns.push(column);
                    rest = others;
                }
                Arc::new(StructArray::try_new(Fields::from(fields), columns, None).map_err(self.wrong())?)
            }
            DataType::Optional(value) => {
                let (valid, values) = branches.split_first().ok_or_else(|| self.too_few())?;
                if **value == DataType::Nothing {
                    return Ok(Arc::clone(valid));
                }
                let valid = valid.as_boolean_opt().ok_or_else(|| self.malformed("validity that is no bool"))?;
                let values = self.array(value, values)?;
                let missing = BooleanArray::new(!valid.values(), None);
                if missing.values().count_set_bits() == 0 {
                    return Ok(values);
                }
                nullif(&values, &missing).map_err(self.wrong())?
            }
            _ => Arc::clone(branches.first().ok_or_else(|| self.too_few())?),
        })
    }

    /// The lists of branches, which have the same lengths in all, and what is in them.
    fn inside(&self, branches: &[ArrayRef]) -> Result<(OffsetBuffer<i32>, Vec<ArrayRef>)> {
        let mut offsets: Option<OffsetBuffer<i32>> = None;
        let mut inside = Vec::with_capacity(branches.len());
        for branch in branches {
            let lists = branch.as_list_opt::<i32>().ok_or_else(|| self.malformed("a branch that has no lists"))?;
            let (own, items) = from_zero(lists);
            if let Some(first) = &offsets {
                if own.as_ref() != first.as_ref() {
                    let what =
                        "the lists of its branches have other lengths: the file was changed after it was written";
                    return Err(self.malformed(what));
                }
            } else {
                offsets = Some(own);
            }
            inside.push(items);
        }
        Ok((offsets.ok_or_else(|| self.too_few())?, inside))
    }

    /// The members of objects, and keys and values of maps, each with the lists around it, in their order: as they would be in
    /// branches of their own.
    fn members(&self, branch: &ArrayRef, members: &mut Vec<ArrayRef>) -> Result<()> {
        match branch.data_type() {
            ArrowType::Struct(_) => {
                branch.as_struct().columns().iter().try_for_each(|member| self.members(member, members))
            }
            ArrowType::Map(item, _) => {
                let maps = branch.as_map();
                let (item, entries) = (Arc::clone(item), Arc::new(maps.entries().clone()));
                let lists = ListArray::try_new(item, maps.offsets().clone(), entries, maps.nulls().cloned());
                self.members(&(Arc::new(lists.map_err(self.wrong())?) as ArrayRef), members)
            }
            ArrowType::List(item) if has_structs(item.data_type()) => {
                let (offsets, items) = from_zero(branch.as_list::<i32>());
                let mut inside = Vec::new();
                self.members(&items, &mut inside)?;
                for items in inside {
                    let item = Arc::new(Field::new(ITEM, items.data_type().clone(), false));
                    let list = ListArray::try_new(item, offsets.clone(), items, None).map_err(self.wrong())?;
                    members.push(Arc::new(list));
                }
                Ok(())
            }
            _ => {
                members.push(Arc::clone(branch));
                Ok(())
            }
        }
    }

    fn malformed(&self, what: &str) -> StoreError {
        StoreError::malformed(self.column, what)
    }

    fn too_few(&self) -> StoreError {
        self.malformed("fewer branches than its type has")
    }

    fn wrong(&self) -> impl Fn(arrow_schema::ArrowError) -> StoreError {
        StoreError::of_arrow(self.column)
    }
}

/// The items of lists of `n_items` each, whatever they are read as.
pub(super) fn same_size(column: &str, lists: &ArrayRef, n_items: usize) -> Result<ArrayRef> {
    let malformed = |what: String| StoreError::malformed(column, what);
    if let Some(lists) = lists.as_fixed_size_list_opt() {
        return match usize::try_from(lists.value_length()) == Ok(n_items) {
            true => Ok(Arc::clone(lists.values())),
            false => Err(malformed(format!("lists of {}, and not {n_items}, items", lists.value_length()))),
        };
    }
    let lists = lists.as_list_opt::<i32>().ok_or_else(|| malformed("values that are no lists".to_owned()))?;
    let (offsets, items) = from_zero(lists);
    match offsets.lengths().find(|&length| length != n_items) {
        Some(length) => Err(malformed(format!("a list of {length}, and not {n_items}, items"))),
        None => Ok(items),
    }
}

/// Lists whose items are all of the array's.
fn from_zero(lists: &ListArray) -> (OffsetBuffer<i32>, ArrayRef) {
    let offsets = lists.offsets();
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    let to_usize = |offset: i32| usize::try_from(offset).unwrap_or_default();
    let items = lists.values().slice(to_usize(first), to_usize(last - first));
    if first == 0 {
        return (offsets.clone(), items);
    }
    let moved: ScalarBuffer<i32> = offsets.iter().map(|offset| offset - first).collect();
    (OffsetBuffer::new(moved), items)
}

pub(super) fn is_nullable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Optional(value) => **value != DataType::Nothing,
        DataType::Variant(_) => true,
        _ => false,
    }
}

pub(super) fn item_field(item: &DataType, items: &ArrayRef) -> Arc<Field> {
    Arc::new(Field::new(ITEM, items.data_type().clone(), is_nullable(item)))
}
