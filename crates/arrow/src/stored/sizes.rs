//! Bytes that the values of arrays take once each is written out, told before any is.
//!
//! Runs, dictionaries and views say a value once that stands in many entries: a file of some hundred bytes may say terabytes.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, OffsetSizeTrait};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use arrow_schema::DataType as ArrowType;

use super::data_type::alternatives;

/// An offset of a text or list.
const OFFSET_BYTES: u64 = 8;

/// The bytes of values once they are [stored](super::store()): what is missing counts as much as it has in memory.
#[derive(Debug)]
pub struct Sizes(Kind);

#[derive(Debug)]
enum Kind {
    /// As many for each value.
    Even(u64),
    /// Before each value, and before the end.
    Before(Vec<u64>),
    /// In a row.
    Runs(Vec<Run>),
    /// Lists among items.
    Lists32(ScalarBuffer<i32>, Box<Kind>),
    Lists64(ScalarBuffer<i64>, Box<Kind>),
    /// So many items of each.
    Fixed(usize, Box<Kind>),
    /// Members.
    Members(Vec<Kind>),
}

/// Values that are alike: where they end, the bytes before that, and those of each.
#[derive(Debug)]
struct Run {
    end: u64,
    bytes_before_end: u64,
    each: u64,
}

/// Returns whether values of a type may take more once they are stored than they do in an array.
#[must_use]
pub fn is_folded(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Dictionary(..)
        | ArrowType::RunEndEncoded(..)
        | ArrowType::Utf8View
        | ArrowType::BinaryView
        | ArrowType::ListView(_)
        | ArrowType::LargeListView(_)
        | ArrowType::Union(..) => true,
        ArrowType::List(item)
        | ArrowType::LargeList(item)
        | ArrowType::FixedSizeList(item, _)
        | ArrowType::Map(item, _) => is_folded(item.data_type()),
        ArrowType::Struct(fields) => fields.iter().any(|field| is_folded(field.data_type())),
        _ => false,
    }
}

impl Sizes {
    /// The sizes of an array. Takes 8 bytes of memory for each value of a dictionary, view or run, and none for others.
    #[must_use]
    pub fn of(array: &dyn Array) -> Self {
        Sizes(Kind::of(array))
    }

    /// The bytes of the values between two places; `u64::MAX` if they are more than that.
    #[must_use]
    pub fn between(&self, start: usize, end: usize) -> u64 {
        self.0.between(start, end)
    }
}

impl Kind {
    fn of(array: &dyn Array) -> Self {
        match array.data_type() {
            ArrowType::Boolean => Kind::Even(1),
            ArrowType::Utf8 => Kind::texts32(array.as_string::<i32>().offsets().inner()),
            ArrowType::LargeUtf8 => Kind::texts64(array.as_string::<i64>().offsets().inner()),
            ArrowType::Binary => Kind::texts32(array.as_binary::<i32>().offsets().inner()),
            ArrowType::LargeBinary => Kind::texts64(array.as_binary::<i64>().offsets().inner()),
            ArrowType::Utf8View => Kind::each(array.as_string_view().lengths().map(|n| OFFSET_BYTES + u64::from(n))),
            ArrowType::BinaryView => Kind::each(array.as_binary_view().lengths().map(|n| OFFSET_BYTES + u64::from(n))),
            ArrowType::List(_) => {
                let lists = array.as_list::<i32>();
                Kind::Lists32(lists.offsets().inner().clone(), Box::new(Kind::of(lists.values())))
            }
            ArrowType::Map(..) => {
                let maps = array.as_map();
                Kind::Lists32(maps.offsets().inner().clone(), Box::new(Kind::of(maps.entries())))
            }
            ArrowType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                Kind::Lists64(lists.offsets().inner().clone(), Box::new(Kind::of(lists.values())))
            }
            ArrowType::ListView(_) => Kind::views::<i32>(array),
            ArrowType::LargeListView(_) => Kind::views::<i64>(array),
            ArrowType::FixedSizeList(_, n_items) => {
                let items = Kind::of(array.as_fixed_size_list().values());
                Kind::Fixed(usize::try_from(*n_items).unwrap_or_default(), Box::new(items))
            }
            ArrowType::Struct(_) => Kind::Members(array.as_struct().columns().iter().map(|of| Kind::of(of)).collect()),
            ArrowType::Union(fields, _) => {
                let union = array.as_union();
                let members: Vec<(i8, Kind)> = fields.iter().map(|(id, _)| (id, Kind::of(union.child(id)))).collect();
                let ids = union.type_ids().iter().enumerate();
                let items = ids.map(|(index, id)| {
                    let place = union.value_offset(index);
                    members.iter().find(|(of, _)| of == id).map_or(0, |(_, kind)| kind.between(place, place + 1))
                });
                // Each has a tag, and an offset for every alternative.
                let each = OFFSET_BYTES.saturating_mul(alternatives(fields).count() as u64).saturating_add(1);
                Kind::each(items.map(|n_bytes| n_bytes.saturating_add(each)))
            }
            ArrowType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let (keys, values) = (dictionary.keys(), dictionary.values());
                if values.is_empty() {
                    return Kind::Even(OFFSET_BYTES);
                }
                let places = dictionary.normalized_keys().into_iter().enumerate();
                let places = places.map(|(index, key)| keys.is_valid(index).then_some(key));
                if keys.len() < values.len() {
                    // Most values are not asked for.
                    let of_value = |key| Kind::of(&values.slice(key, 1)).between(0, 1);
                    return Kind::each(places.map(|key| key.map_or(OFFSET_BYTES, of_value)));
                }
                match Kind::of(values) {
                    Kind::Even(n_bytes) => Kind::Even(n_bytes),
                    all => Kind::each(places.map(|key| key.map_or(OFFSET_BYTES, |key| all.between(key, key + 1)))),
                }
            }
            ArrowType::RunEndEncoded(ends, _) => match ends.data_type() {
                ArrowType::Int16 => Kind::runs::<Int16Type>(array),
                ArrowType::Int32 => Kind::runs::<Int32Type>(array),
                _ => Kind::runs::<Int64Type>(array),
            },
            ArrowType::FixedSizeBinary(width) => Kind::Even(u64::try_from(*width).unwrap_or_default()),
            other => Kind::Even(other.primitive_width().unwrap_or_default() as u64),
        }
    }

    fn texts32(offsets: &ScalarBuffer<i32>) -> Self {
        Kind::Lists32(offsets.clone(), Box::new(Kind::Even(1)))
    }

    fn texts64(offsets: &ScalarBuffer<i64>) -> Self {
        Kind::Lists64(offsets.clone(), Box::new(Kind::Even(1)))
    }

    fn each(sizes: impl Iterator<Item = u64>) -> Self {
        let mut before = vec![0];
        let mut sum = 0_u64;
        before.extend(sizes.map(|n_bytes| {
            sum = sum.saturating_add(n_bytes);
            sum
        }));
        Kind::Before(before)
    }

    fn views<O: OffsetSizeTrait>(array: &dyn Array) -> Self {
        let views = array.as_list_view::<O>();
        let items = Kind::of(views.values());
        let ranges = views.value_offsets().iter().zip(views.value_sizes());
        Kind::each(ranges.map(|(start, n_items)| {
            let start = start.as_usize();
            items.between(start, start + n_items.as_usize()).saturating_add(OFFSET_BYTES)
        }))
    }

    fn runs<E: RunEndIndexType>(array: &dyn Array) -> Self {
        let runs = array.as_run::<E>();
        let values = Kind::of(runs.values());
        let (start, len) = (runs.run_ends().offset(), runs.len());
        let (mut before, mut sum) = (0, 0_u64);
        let of_runs = runs.run_ends().values().iter().enumerate().map(|(run, end)| {
            // Ends count from before the slice on.
            let end = before.max(end.as_usize().saturating_sub(start).min(len) as u64);
            let each = values.between(run, run + 1);
            sum = sum.saturating_add(each.saturating_mul(end - before));
            before = end;
            Run { end, bytes_before_end: sum, each }
        });
        Kind::Runs(of_runs.collect())
    }

    fn between(&self, start: usize, end: usize) -> u64 {
        match self.before(end) {
            // Nobody has counted further.
            u64::MAX if start < end => u64::MAX,
            before_end => before_end.saturating_sub(self.before(start)),
        }
    }

    fn before(&self, index: usize) -> u64 {
        match self {
            Kind::Even(n_bytes) => n_bytes.saturating_mul(index as u64),
            Kind::Before(before) => before.get(index).or(before.last()).copied().unwrap_or_default(),
            Kind::Runs(runs) => {
                let index = index as u64;
                let run = runs.partition_point(|run| run.end <= index);
                let (start, before) =
                    run.checked_sub(1).map_or((0, 0), |last| (runs[last].end, runs[last].bytes_before_end));
                let each = runs.get(run).map_or(0, |run| run.each);
                before.saturating_add(each.saturating_mul(index - start))
            }
            Kind::Lists32(offsets, items) => Kind::of_lists(offsets, items, index),
            Kind::Lists64(offsets, items) => Kind::of_lists(offsets, items, index),
            Kind::Fixed(n_items, items) => items.before(n_items.saturating_mul(index)),
            Kind::Members(members) => members.iter().fold(0, |sum, member| sum.saturating_add(member.before(index))),
        }
    }

    fn of_lists<O: OffsetSizeTrait>(offsets: &ScalarBuffer<O>, items: &Kind, index: usize) -> u64 {
        let item = offsets.get(index).or(offsets.last()).map_or(0, |offset| offset.as_usize());
        items.before(item).saturating_add(OFFSET_BYTES.saturating_mul(index as u64))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;
    use arrow_array::{
        ArrayRef, DictionaryArray, FixedSizeListArray, Int8Array, Int16Array, Int32Array, Int64Array,
        LargeListViewArray, ListArray, ListViewArray, RunArray, StringArray, StringViewArray, StructArray,
    };
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;

    use super::*;
    use crate::stored::{data_type, store};

    /// Arrays of six values.
    fn arrays() -> Vec<ArrayRef> {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "", "some more than a view has", "ü", "b", "cc"]));
        let views = StringViewArray::from(vec!["a", "", "some more than a view has", "ü", "b", "cc"]);
        let keys = Int8Array::from(vec![2, 0, 2, 2, 5, 1]);
        let of_texts: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(keys, Arc::clone(&texts)));
        let runs: ArrayRef = Arc::new(RunArray::try_new(&Int16Array::from(vec![1, 2, 3, 5, 6, 9]), &of_texts).unwrap());
        let field = |of: &ArrayRef| Arc::new(Field::new("item", of.data_type().clone(), false));
        let (starts, sizes) = (vec![3, 0, 0, 1, 0, 5], vec![2, 6, 0, 3, 6, 1]);
        let (wide_starts, wide_sizes) = (starts.iter().copied().map(i64::from), sizes.iter().copied().map(i64::from));
        let list_views: ArrayRef = Arc::new(ListViewArray::new(
            field(&runs),
            starts.clone().into(),
            sizes.clone().into(),
            Arc::clone(&runs),
            None,
        ));
        let nested: ArrayRef = Arc::new(LargeListViewArray::new(
            field(&list_views),
            wide_starts.collect(),
            wide_sizes.collect(),
            Arc::clone(&list_views),
            None,
        ));
        let ends = OffsetBuffer::new(vec![1, 1, 3, 4, 4, 5, 6].into());
        let lists: ArrayRef = Arc::new(ListArray::new(field(&of_texts), ends, Arc::clone(&of_texts), None));
        let other = Arc::new(Field::new("other", runs.data_type().clone(), false));
        let structs = StructArray::from(vec![(other, runs.slice(0, 6)), (field(&lists), Arc::clone(&lists))]);
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..12));
        let fixed = FixedSizeListArray::new(field(&numbers), 2, Arc::clone(&numbers), None);
        let of_numbers = RunArray::try_new(&Int32Array::from(vec![4, 6]), &Int64Array::from(vec![1, 2])).unwrap();
        vec![
            texts,
            Arc::new(views),
            of_texts,
            runs.slice(3, 6),
            list_views,
            nested,
            lists,
            Arc::new(structs.slice(0, 6)),
            Arc::new(fixed),
            Arc::new(of_numbers),
        ]
    }

    #[test]
    fn sizes_are_those_of_what_is_stored() {
        for array in arrays() {
            let field = Field::new("x", array.data_type().clone(), false);
            let of = data_type(&field).unwrap();
            for (start, end) in (0..=6).flat_map(|start| (start..=6).map(move |end| (start, end))) {
                let part = array.slice(start, end - start);
                let stored = store("x", part.as_ref(), &of).unwrap().held_bytes(0..end - start);
                assert_eq!(
                    Sizes::of(array.as_ref()).between(start, end),
                    stored,
                    "{start}..{end} of {}",
                    array.data_type()
                );
                assert_eq!(Sizes::of(part.as_ref()).between(0, end - start), stored, "{start}..{end} as a slice");
            }
        }
    }

    #[test]
    fn sizes_of_terabytes_are_known_at_once() {
        let mut array: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1 << 12));
        for _ in 0..6 {
            let field = Arc::new(Field::new("item", array.data_type().clone(), false));
            let (starts, sizes) = (vec![0; 1 << 12], vec![1 << 12; 1 << 12]);
            array = Arc::new(ListViewArray::new(field, starts.into(), sizes.into(), array, None));
        }
        assert_eq!(Sizes::of(array.as_ref()).between(5, 6), u64::MAX);
    }
}
