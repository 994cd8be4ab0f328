//! From the buffers of slots to the Arrow arrays of fields.

use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType as ArrowType, Fields, UnionMode};
use arrowroot_arrow::arrays::{ends_of, lists_of, numbers, texts, values as collected};
use arrowroot_arrow::optionals::optionals;
use arrowroot_arrow::text::list_of;
use arrowroot_arrow::{Fault, TextForm};
use arrowroot_format as format;
use arrowroot_format::column::EntryForm;
use arrowroot_format::decode::{Reader, Values};
use arrowroot_format::rntuple::{Shape, SlotId};
use arrowroot_format::streamer::Primitive;

use super::builder::Filled;
use super::plan::{NtuplePlan, SlotKind};
use super::runs::BatchRuns;
use super::types::{arrow_type, item_field, pair_fields, union_fields};
use crate::memory::filled_buffer;
use crate::misfit::Neighbours;

/// Makes the arrays of a batch.
pub(super) struct Assembly<'a> {
    pub(super) pages: &'a NtuplePlan,
    /// What the slots of the plan have become.
    pub(super) filled: &'a [Filled],
    pub(super) runs: &'a BatchRuns,
    pub(super) text: TextForm,
}

fn missing() -> ArrowError {
    ArrowError::InvalidArgumentError("a column that was not planned".to_owned())
}

impl Assembly<'_> {
    fn values(&self, slot: SlotId, primitive: Primitive) -> Result<Buffer, ArrowError> {
        match self.pages.place_of(slot, Some(primitive)).and_then(|index| self.filled.get(index)) {
            Some(Filled::Values(buffer)) => Ok(buffer.clone()),
            _ => Err(missing()),
        }
    }

    /// Offsets of lists, and the number of their items.
    fn ends(&self, slot: SlotId) -> Result<(Buffer, usize), ArrowError> {
        let index = self.pages.place_of(slot, None).ok_or_else(missing)?;
        match (&self.filled[index], &self.pages.slots[index].kind) {
            (Filled::Ends(buffer), SlotKind::Ends { items }) => Ok((buffer.clone(), self.n_items(*items)?)),
            _ => Err(missing()),
        }
    }

    fn n_items(&self, domain: usize) -> Result<usize, ArrowError> {
        usize::try_from(self.runs.n_items(domain)).map_err(|_| missing())
    }

    /// The array of `n` values.
    pub(super) fn array(&self, shape: &Shape, n: usize) -> Result<ArrayData, Fault> {
        let data_type = || arrow_type(shape, self.text);
        Ok(match shape {
            Shape::Number { slot, primitive } => numbers(*primitive, &[], n, self.values(*slot, *primitive)?)?,
            Shape::Text { ends, bytes } => {
                let (ends, _) = self.ends(*ends)?;
                let bytes = self.values(*bytes, Primitive::UInt8)?;
                texts(n, ends, bytes, self.text)?
            }
            Shape::List { ends, item } => {
                let (ends, n_items) = self.ends(*ends)?;
                let items = self.items(item, n_items, &ends)?;
                lists_of(n, ends, item_field(item, self.text), items)?
            }
            Shape::Map { ends, key, value } => {
                let (ends, n_items) = self.ends(*ends)?;
                let pair = Fields::from(pair_fields(key, value, self.text).to_vec());
                let pairs = ArrayData::builder(ArrowType::Struct(pair))
                    .len(n_items)
                    .add_child_data(self.items(key, n_items, &ends)?)
                    .add_child_data(self.items(value, n_items, &ends)?)
                    .build()?;
                ArrayData::builder(data_type()).len(n).add_buffer(ends).add_child_data(pairs).build()?
            }
            Shape::Optional { ends, item } if self.pages.place_of(*ends, None).is_none() => self.array(item, n)?,
            Shape::Optional { ends, item } => {
                let (ends, n_items) = self.ends(*ends)?;
                let items = self.items(item, n_items, &ends)?;
                optionals(items, ends.typed_data(), &filled_buffer)?
            }
            Shape::FixedList { item, n_items } => {
                let in_each = (*n_items).max(1) as usize;
                let items = self.array(item, n.saturating_mul(*n_items as usize));
                let items = items.map_err(|fault| fault.in_list(|item| item / in_each))?;
                ArrayData::builder(data_type()).len(n).add_child_data(items).build()?
            }
            Shape::Struct { members } => {
                let columns = members.iter().map(|(_, member)| self.array(member, n)).collect::<Result<Vec<_>, _>>()?;
                ArrayData::builder(data_type()).len(n).child_data(columns).build()?
            }
            Shape::Variant { switch, alternatives } => self.variants(*switch, alternatives, n)?,
            Shape::Streamed { ends, bytes, form } => {
                let (ends, _) = self.ends(*ends)?;
                let bytes = self.values(*bytes, Primitive::UInt8)?;
                objects(ends.typed_data(), &bytes, form, self.text)?
            }
            Shape::Cardinality { ends, primitive } => {
                let (ends, _) = self.ends(*ends)?;
                let sizes = ends.typed_data::<i32>().windows(2).map(|pair| (pair[1] - pair[0]).unsigned_abs());
                let buffer = match primitive {
                    Primitive::UInt64 => Buffer::from_vec(sizes.map(u64::from).collect::<Vec<_>>()),
                    _ => Buffer::from_vec(sizes.collect::<Vec<_>>()),
                };
                numbers(*primitive, &[], n, buffer)?
            }
        })
    }

    /// The array of what is in lists with these offsets.
    fn items(&self, item: &Shape, n_items: usize, offsets: &Buffer) -> Result<ArrayData, Fault> {
        self.array(item, n_items).map_err(|fault| fault.in_list(|item| list_of(ends_of(offsets), item)))
    }

    fn variants(&self, switch: SlotId, alternatives: &[Shape], n: usize) -> Result<ArrayData, Fault> {
        let index = self.pages.place_of(switch, None).ok_or_else(missing)?;
        let (Filled::Switches(types, offsets), SlotKind::Switches { alternatives: domains }) =
            (&self.filled[index], &self.pages.slots[index].kind)
        else {
            return Err(missing().into());
        };
        check_order(types, offsets.typed_data()).map_err(Fault::Format)?;
        // All that hold nothing point to the one null.
        let mut children = vec![ArrayData::new_null(&ArrowType::Null, 1)];
        for ((tag, alternative), &domain) in (1_u8..).zip(alternatives).zip(domains) {
            let holder = |item: usize| {
                let pointers = types.iter().zip(offsets.typed_data::<i32>());
                let mut holds = pointers.map(|(&of, &offset)| of == tag && usize::try_from(offset) == Ok(item));
                holds.position(|it_does| it_does).unwrap_or(0)
            };
            let child = self.array(alternative, self.n_items(domain)?);
            children.push(child.map_err(|fault| fault.in_list(holder))?);
        }
        let fields = union_fields(alternatives, self.text);
        Ok(ArrayData::builder(ArrowType::Union(fields, UnionMode::Dense))
            .len(n)
            .add_buffer(types.clone())
            .add_buffer(offsets.clone())
            .child_data(children)
            .align_buffers(true) // an empty buffer may lie anywhere
            .build()?)
    }
}

/// What variants of one alternative hold stands one after the other: Arrow demands it, and writers leave it so.
fn check_order(types: &[u8], offsets: &[i32]) -> Result<(), format::Error> {
    let mut last = [0; 1 << u8::BITS];
    for (number, (&tag, &offset)) in types.iter().zip(offsets).enumerate() {
        let last = &mut last[usize::from(tag)];
        if offset < *last {
            let what = format!("variant number {number} holds item {offset} of its alternative, after item {last}");
            return Err(format::Error::corrupt(0, what));
        }
        *last = offset;
    }
    Ok(())
}

/// Objects, from the bytes that streamers wrote.
fn objects(ends: &[i32], bytes: &[u8], form: &EntryForm, text: TextForm) -> Result<ArrayData, Fault> {
    let mut values = Values::empty(&form.data_type());
    let at = |number: usize| ends.get(number).and_then(|&end| usize::try_from(end).ok());
    let range = |number: usize| Some(at(number)?..at(number + 1)?);
    let n_entries = ends.len().saturating_sub(1);
    let mut reader = Reader::default();
    for number in 0..n_entries {
        let object = range(number).and_then(|range| bytes.get(range)).unwrap_or_default();
        form.decode_entry(&mut reader, object, 0, &mut values).map_err(|error| {
            // Of an RNTuple nobody gets bytes, and references count from the object.
            let objects =
                Neighbours { data: bytes, n_entries, range: &range, origin: &|_| 0, counts: &|_| None, hint: "" };
            Fault::Format(objects.judge(error, form, number))
        })?;
    }
    Ok(collected(values, text)?.to_data())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_variants_hold_stands_in_order() {
        check_order(&[1, 2, 0, 1, 0, 2], &[0, 5, 0, 1, 0, 6]).unwrap();
        let error = check_order(&[1, 2, 1, 2], &[0, 5, 1, 4]).unwrap_err().to_string();
        assert!(error.contains("variant number 3 holds item 4 of its alternative, after item 5"), "{error}");
    }
}
