//! From Arrow arrays to stored values.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType, RunEndIndexType,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, UInt64Array, downcast_primitive_array};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, Buffer, MutableBuffer, NullBuffer, ScalarBuffer,
};
use arrow_schema::{ArrowError, DataType as ArrowType, IntervalUnit};
use arrow_select::take::take;
use arrowroot_format::column::DataType;
use arrowroot_format::streamer::Primitive;

use super::Stored;
use super::data_type::{alternatives, stored_primitive};
use super::error::{Result, StoreError};
use crate::incoming::check_texts;

/// The values of an array of a column, as a type that [`data_type`](super::data_type()) gave for its field.
///
/// Shares the array's memory where that has the form already: numbers, bools, bytes, large offsets. Other offsets are
/// widened, texts copied, views gathered, dictionaries and runs looked up, each in one pass. Only the entries of a sliced
/// array are there, and what is under a null is 0 or empty.
///
/// # Errors
/// [`StoreError::Null`] with the number of the value in the array, for a null where the type is not optional, and
/// [`StoreError::OtherType`] for an array of another type,
/// [`StoreError::NoText`] for a text that is not UTF-8.
pub fn store(column: &str, array: &dyn Array, data_type: &DataType) -> Result<Stored> {
    store_beside(&mut SharedOffsets::default(), column, array, data_type)
}

/// The same of one of several columns: lists that have their offsets in the same memory have them so in what is stored.
///
/// # Errors
/// As [`store`].
pub fn store_beside(
    offsets: &mut SharedOffsets,
    column: &str,
    array: &dyn Array,
    data_type: &DataType,
) -> Result<Stored> {
    Storing { column, members: String::new(), offsets }.values(array, data_type, None)
}

/// The offsets of lists of other columns.
#[derive(Debug, Default)]
pub struct SharedOffsets(HashMap<(*const u8, usize), Widened>);

#[derive(Debug)]
struct Widened {
    /// Kept, so that no other offsets come to be in its place.
    _of: Buffer,
    offsets: ScalarBuffer<i64>,
    first: usize,
}

impl SharedOffsets {
    /// None yet, of so many columns.
    pub fn of_columns(n_columns: usize) -> Self {
        SharedOffsets(HashMap::with_capacity(n_columns))
    }

    fn get<O: OffsetSizeTrait>(&self, of: &ScalarBuffer<O>) -> Option<(ScalarBuffer<i64>, usize)> {
        let found = self.0.get(&(of.inner().as_ptr(), of.inner().len()))?;
        // Offsets of another width may have as many bytes.
        (found.offsets.len() == of.len()).then(|| (found.offsets.clone(), found.first))
    }

    fn insert<O: OffsetSizeTrait>(&mut self, of: &ScalarBuffer<O>, offsets: &ScalarBuffer<i64>, first: usize) {
        let of = of.inner().clone();
        self.0.insert((of.as_ptr(), of.len()), Widened { offsets: offsets.clone(), first, _of: of });
    }
}

struct Storing<'o> {
    column: &'o str,
    /// The names of the members on the way, each behind a dot.
    members: String,
    offsets: &'o mut SharedOffsets,
}

/// The values that are there; `None`: all are.
type Present<'p> = Option<&'p NullBuffer>;

impl Storing<'_> {
    /// `around`: the values that are not under a null of something around them.
    fn values(&mut self, array: &dyn Array, data_type: &DataType, around: Present<'_>) -> Result<Stored> {
        if let Some(looked_up) = looked_up(array).map_err(|error| self.of_arrow(error))? {
            return self.values(&looked_up, data_type, around);
        }
        if let DataType::Variant(of) = data_type {
            return self.variant(array, of, around);
        }
        let nulls = array.logical_nulls();
        let present = NullBuffer::union(around, nulls.as_ref());
        if let DataType::Optional(of) = data_type {
            let valid = present.as_ref().map_or_else(|| BooleanBuffer::new_set(array.len()), |all| all.inner().clone());
            let values = match **of {
                DataType::Nothing => Stored::Struct { len: array.len(), members: Vec::new() },
                _ => self.present(array, of, present.as_ref())?,
            };
            return Ok(Stored::Optional { valid, values: Box::new(values) });
        }
        if let Some(entry) = first_null(nulls.as_ref(), around) {
            return Err(StoreError::Null { column: self.path(), entry: entry as u64 });
        }
        self.present(array, data_type, around)
    }

    /// The values that are there; 0 or empty for others.
    fn present(&mut self, array: &dyn Array, data_type: &DataType, present: Present<'_>) -> Result<Stored> {
        let present = present.filter(|present| present.null_count() > 0);
        let stored = match (data_type, array.data_type()) {
            (DataType::Primitive(Primitive::Float32), ArrowType::Float16) => {
                let values = array.as_primitive::<Float16Type>().values().iter();
                let wide: Vec<f32> = values.map(|value| value.to_f32()).collect();
                Some(masked(Primitive::Float32, Buffer::from_vec(wide), present))
            }
            (DataType::Primitive(Primitive::Bool), ArrowType::Boolean) => {
                let bits = array.as_boolean().values();
                Some(Stored::Bits(present.map_or_else(|| bits.clone(), |present| bits & present.inner())))
            }
            (DataType::Primitive(primitive), of) if stored_primitive(of) == Some(*primitive) => {
                Some(masked(*primitive, raw(array, primitive.stored_bytes()), present))
            }
            (DataType::FixedList(item, n_items), _) => self.fixed(array, item, *n_items as usize, present)?,
            (DataType::Text, _) => match texts(array, present) {
                Some((offsets, bytes)) => Some(self.checked_texts(offsets, &bytes)?),
                None => None,
            },
            (DataType::Bytes, _) => texts(array, present).map(|(offsets, values)| Stored::List {
                offsets,
                items: Box::new(Stored::Numbers { primitive: Primitive::UInt8, values }),
            }),
            (DataType::List(item), of) => match of {
                ArrowType::List(_) => Some(self.list::<i32>(array, item, present)?),
                ArrowType::LargeList(_) => Some(self.list::<i64>(array, item, present)?),
                ArrowType::ListView(_) => Some(self.list_view::<i32>(array, item, present)?),
                ArrowType::LargeListView(_) => Some(self.list_view::<i64>(array, item, present)?),
                _ => None,
            },
            (DataType::Map(key, value), ArrowType::Map(..)) => {
                let maps = array.as_map();
                let (offsets, items) = self.gathered(&Lists::of(maps.offsets()), maps.entries(), present)?;
                let pairs = items.as_ref().map_or(maps.entries(), |items| items.as_struct());
                let mut members = Vec::with_capacity(2);
                for (pair, of) in pairs.columns().iter().zip([key, value]) {
                    let name = pairs.column_names()[members.len()].to_owned();
                    let member = self.member(&name, pair, of, None);
                    members.push(member.map_err(|error| error.with_entry(|item| list_of(&offsets, item)))?);
                }
                let items = Box::new(Stored::Struct { len: pairs.len(), members });
                Some(Stored::List { offsets, items })
            }
            (DataType::Struct(members), ArrowType::Struct(fields)) if fields.len() == members.len() => {
                let columns = array.as_struct().columns().iter();
                let stored =
                    columns.zip(members.iter()).map(|(column, (name, of))| self.member(name, column, of, present));
                Some(Stored::Struct { len: array.len(), members: stored.collect::<Result<_>>()? })
            }
            (DataType::Struct(_), ArrowType::Interval(unit)) => Some(interval(array, *unit, present)),
            _ => None,
        };
        stored.ok_or_else(|| self.other_type(array, &format!("{data_type:?}")))
    }

    fn other_type(&self, array: &dyn Array, expected: &str) -> StoreError {
        let (column, expected) = (self.path(), expected.to_owned());
        StoreError::OtherType { column, expected, found: array.data_type().to_string() }
    }

    /// A copy of the bytes of texts, checked: others may have changed what was checked before.
    fn checked_texts(&self, offsets: ScalarBuffer<i64>, bytes: &Buffer) -> Result<Stored> {
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        let bytes = Buffer::from_slice_ref(&bytes[first.as_usize()..last.as_usize()]);
        let offsets = match first {
            0 => offsets,
            _ => offsets.iter().map(|offset| offset - first).collect::<Vec<_>>().into(),
        };
        match check_texts(&offsets, &bytes, None) {
            None => Ok(Stored::Text { offsets, bytes }),
            Some(entry) => Err(StoreError::NoText { column: self.path(), entry: entry as u64 }),
        }
    }

    fn member(&mut self, name: &str, array: &dyn Array, data_type: &DataType, around: Present<'_>) -> Result<Stored> {
        let n_bytes = self.members.len();
        self.members.push('.');
        self.members.push_str(name);
        let stored = self.values(array, data_type, around);
        self.members.truncate(n_bytes);
        stored
    }

    /// The name of the column, or of the member in it.
    fn path(&self) -> String {
        format!("{}{}", self.column, self.members)
    }

    fn of_arrow(&self, error: ArrowError) -> StoreError {
        StoreError::of_arrow(&self.path())(error)
    }

    fn fixed(
        &mut self,
        array: &dyn Array,
        item: &DataType,
        n_items: usize,
        present: Present<'_>,
    ) -> Result<Option<Stored>> {
        let around = present.map(|present| repeated(present, n_items));
        let items = match array.data_type() {
            ArrowType::FixedSizeList(_, n) if usize::try_from(*n) == Ok(n_items) => {
                let items = self.values(array.as_fixed_size_list().values(), item, around.as_ref());
                items.map_err(|error| error.with_entry(|place| place / n_items.max(1) as u64))?
            }
            ArrowType::FixedSizeBinary(n) if usize::try_from(*n) == Ok(n_items) => {
                masked(Primitive::UInt8, raw(array, n_items), around.as_ref())
            }
            ArrowType::Decimal128(..) if n_items == 16 => masked(Primitive::UInt8, raw(array, 16), around.as_ref()),
            ArrowType::Decimal256(..) if n_items == 32 => masked(Primitive::UInt8, raw(array, 32), around.as_ref()),
            _ => return Ok(None),
        };
        Ok(Some(Stored::Fixed { len: array.len(), n_items, items: Box::new(items) }))
    }

    /// A union: what is null, in whatever member, is none of its alternatives.
    fn variant(&mut self, array: &dyn Array, of: &[DataType], around: Present<'_>) -> Result<Stored> {
        let ArrowType::Union(fields, _) = array.data_type() else { return Err(self.other_type(array, "a union")) };
        let union = array.as_union();
        let ids = union.type_ids();
        let mut tags = vec![0_u8; ids.len()];
        let mut stored = Vec::with_capacity(of.len());
        for ((tag, (id, member)), of) in (1_u8..).zip(alternatives(fields)).zip(of) {
            let child = union.child(id);
            let nulls = child.logical_nulls();
            let (mut offsets, mut places) = (Vec::with_capacity(ids.len() + 1), Vec::new());
            offsets.push(0);
            for index in 0..ids.len() {
                let place = union.value_offset(index);
                let is_there = |nulls: Option<&NullBuffer>, index| nulls.is_none_or(|nulls| nulls.is_valid(index));
                if ids[index] == id && is_there(around, index) && is_there(nulls.as_ref(), place) {
                    tags[index] = tag;
                    places.push(place as u64);
                }
                offsets.push(count(places.len()));
            }
            let items = match places.first() {
                Some(&first) if places.iter().zip(first..).all(|(&place, next)| place == next) => {
                    child.slice(first.as_usize(), places.len())
                }
                _ => take(child, &UInt64Array::from(places), None).map_err(|error| self.of_arrow(error))?,
            };
            let items = self.member(member.name(), &items, of, None);
            let items = items.map_err(|error| error.with_entry(|item| list_of(&offsets, item)))?;
            stored.push(Stored::List { offsets: offsets.into(), items: Box::new(items) });
        }
        Ok(Stored::Variant { tags: tags.into(), alternatives: stored })
    }

    fn list<O: OffsetSizeTrait>(&mut self, array: &dyn Array, item: &DataType, present: Present<'_>) -> Result<Stored> {
        let lists = array.as_list::<O>();
        self.items(&Lists::of(lists.offsets()), lists.values(), item, present)
    }

    fn list_view<O: OffsetSizeTrait>(
        &mut self,
        array: &dyn Array,
        item: &DataType,
        present: Present<'_>,
    ) -> Result<Stored> {
        let views = array.as_list_view::<O>();
        self.items(&Lists::Views(views.value_offsets(), views.value_sizes()), views.values(), item, present)
    }

    fn items<O: OffsetSizeTrait>(
        &mut self,
        lists: &Lists<'_, O>,
        values: &dyn Array,
        item: &DataType,
        present: Present<'_>,
    ) -> Result<Stored> {
        let (offsets, items) = self.gathered(lists, values, present)?;
        let items = self.values(items.as_deref().unwrap_or(values), item, None);
        let items = Box::new(items.map_err(|error| error.with_entry(|item| list_of(&offsets, item)))?);
        Ok(Stored::List { offsets, items })
    }

    /// [`Lists::in_a_row`], which is the same for lists of other columns with the same offsets.
    fn in_a_row<O: OffsetSizeTrait>(
        &mut self,
        lists: &Lists<'_, O>,
        present: Present<'_>,
    ) -> Option<(ScalarBuffer<i64>, usize)> {
        let Lists::Row(stored) = lists else { return lists.in_a_row(present) };
        if let Some(known) = self.offsets.get(stored).filter(|_| !lists.has_hidden_items(present)) {
            return Some(known);
        }
        let (offsets, first) = lists.in_a_row(present)?;
        self.offsets.insert(stored, &offsets, first);
        Some((offsets, first))
    }

    /// Offsets from 0 on, and the items of the lists that are there and no others, in their order; `None`: all values.
    fn gathered<O: OffsetSizeTrait>(
        &mut self,
        lists: &Lists<'_, O>,
        values: &dyn Array,
        present: Present<'_>,
    ) -> Result<(ScalarBuffer<i64>, Option<ArrayRef>)> {
        if let Some((offsets, first)) = self.in_a_row(lists, present) {
            let n_items = offsets.last().map_or(0, |last| last.as_usize());
            let is_all = first == 0 && n_items == values.len();
            return Ok((offsets, (!is_all).then(|| values.slice(first, n_items))));
        }
        let mut offsets = Vec::with_capacity(lists.len() + 1);
        let mut places = Vec::new();
        offsets.push(0);
        for index in 0..lists.len() {
            let (start, n_items) = lists.range(index);
            if present.is_none_or(|present| present.is_valid(index)) {
                places.extend(start as u64..(start + n_items) as u64);
            }
            offsets.push(count(places.len()));
        }
        let items = take(values, &UInt64Array::from(places), None).map_err(|error| self.of_arrow(error))?;
        Ok((offsets.into(), Some(items)))
    }
}

/// A count of things in memory.
fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The list that an item is in, by offsets from 0 on.
fn list_of(offsets: &[i64], item: u64) -> u64 {
    let ends = offsets.get(1..).unwrap_or_default();
    ends.partition_point(|&end| u64::try_from(end).is_ok_and(|end| end <= item)) as u64
}

/// The first null that is under no other.
fn first_null(nulls: Present<'_>, around: Present<'_>) -> Option<usize> {
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0)?;
    (0..nulls.len()).find(|&index| nulls.is_null(index) && around.is_none_or(|around| around.is_valid(index)))
}

/// The values of a dictionary or of runs, one by one; `None` for other arrays.
fn looked_up(array: &dyn Array) -> std::result::Result<Option<ArrayRef>, ArrowError> {
    Ok(Some(match array.data_type() {
        ArrowType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            take(dictionary.values(), dictionary.keys(), None)?
        }
        ArrowType::RunEndEncoded(ends, _) => match ends.data_type() {
            ArrowType::Int16 => unrolled::<Int16Type>(array)?,
            ArrowType::Int32 => unrolled::<Int32Type>(array)?,
            _ => unrolled::<Int64Type>(array)?,
        },
        _ => return Ok(None),
    }))
}

fn unrolled<E: RunEndIndexType>(array: &dyn Array) -> std::result::Result<ArrayRef, ArrowError> {
    let runs = array.as_run::<E>();
    let ends = runs.run_ends();
    let mut places = Vec::with_capacity(runs.len());
    // Ends count from before the slice on, and so do its offset and length.
    for (index, end) in ends.values().iter().enumerate() {
        let in_slice = end.as_usize().saturating_sub(ends.offset()).min(runs.len());
        places.resize(in_slice.max(places.len()), index as u64);
    }
    take(runs.values(), &UInt64Array::from(places), None)
}

/// The values of an array of a fixed width.
fn raw(array: &dyn Array, width: usize) -> Buffer {
    downcast_primitive_array!(
        array => return array.values().inner().clone(),
        _ => {}
    );
    let data = array.to_data();
    data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width)
}

/// Numbers that are 0 where none is.
fn masked(primitive: Primitive, values: Buffer, present: Present<'_>) -> Stored {
    let width = primitive.stored_bytes();
    let values = match present {
        Some(present) => zeroed(values, width, present),
        None => values,
    };
    Stored::Numbers { primitive, values }
}

/// The values with zeros where none is: the same memory if there are zeros already.
fn zeroed(values: Buffer, width: usize, present: &NullBuffer) -> Buffer {
    let mut gaps = Vec::new();
    let mut end_before = 0;
    for (start, end) in present.inner().set_slices().chain([(present.len(), present.len())]) {
        if end_before < start {
            gaps.push(end_before * width..start * width);
        }
        end_before = end;
    }
    if gaps.iter().all(|gap| values[gap.clone()].iter().all(|&byte| byte == 0)) {
        return values;
    }
    let mut copy = MutableBuffer::from_len_zeroed(values.len());
    copy.as_slice_mut().copy_from_slice(&values);
    for gap in gaps {
        copy.as_slice_mut()[gap].fill(0);
    }
    copy.into()
}

/// The levels around values, for each of their items.
fn repeated(present: &NullBuffer, n_items: usize) -> NullBuffer {
    let mut bits = BooleanBufferBuilder::new(present.len() * n_items);
    for is_present in present.iter() {
        bits.append_n(n_items, is_present);
    }
    NullBuffer::new(bits.finish())
}

/// The members of intervals.
fn interval(array: &dyn Array, unit: IntervalUnit, present: Present<'_>) -> Stored {
    let of = |primitive, values| masked(primitive, values, present);
    let members = match unit {
        IntervalUnit::YearMonth => vec![of(Primitive::Int32, raw(array, 4))],
        IntervalUnit::DayTime => {
            let values = array.as_primitive::<IntervalDayTimeType>().values();
            let days: Vec<i32> = values.iter().map(|value| value.days).collect();
            let milliseconds: Vec<i32> = values.iter().map(|value| value.milliseconds).collect();
            vec![of(Primitive::Int32, Buffer::from_vec(days)), of(Primitive::Int32, Buffer::from_vec(milliseconds))]
        }
        IntervalUnit::MonthDayNano => {
            let values = array.as_primitive::<IntervalMonthDayNanoType>().values();
            let months: Vec<i32> = values.iter().map(|value| value.months).collect();
            let days: Vec<i32> = values.iter().map(|value| value.days).collect();
            let nanoseconds: Vec<i64> = values.iter().map(|value| value.nanoseconds).collect();
            vec![
                of(Primitive::Int32, Buffer::from_vec(months)),
                of(Primitive::Int32, Buffer::from_vec(days)),
                of(Primitive::Int64, Buffer::from_vec(nanoseconds)),
            ]
        }
    };
    Stored::Struct { len: array.len(), members }
}

/// Where lists, or texts, are among their items.
enum Lists<'l, O: OffsetSizeTrait> {
    /// One after the other, by their offsets.
    Row(&'l ScalarBuffer<O>),
    /// Anywhere: offsets and sizes.
    Views(&'l [O], &'l [O]),
}

impl<'l, O: OffsetSizeTrait> Lists<'l, O> {
    fn of(offsets: &'l arrow_buffer::OffsetBuffer<O>) -> Self {
        Lists::Row(offsets.inner())
    }

    fn len(&self) -> usize {
        match self {
            Lists::Row(offsets) => offsets.len() - 1,
            Lists::Views(offsets, _) => offsets.len(),
        }
    }

    /// The first item and the number of items of a list.
    fn range(&self, index: usize) -> (usize, usize) {
        match self {
            Lists::Row(offsets) => {
                let start = offsets[index].as_usize();
                (start, offsets[index + 1].as_usize() - start)
            }
            Lists::Views(offsets, sizes) => (offsets[index].as_usize(), sizes[index].as_usize()),
        }
    }

    /// True if a list that is not there has items.
    fn has_hidden_items(&self, present: Present<'_>) -> bool {
        let is_hidden = |present: &NullBuffer, index| present.is_null(index) && self.range(index).1 > 0;
        present.is_some_and(|present| (0..self.len()).any(|index| is_hidden(present, index)))
    }

    /// Offsets from 0 on, and the first item, of lists that stand in a row with no other items between.
    fn in_a_row(&self, present: Present<'_>) -> Option<(ScalarBuffer<i64>, usize)> {
        if self.has_hidden_items(present) {
            return None;
        }
        match self {
            Lists::Row(offsets) => {
                let first = offsets[0].as_usize();
                if first == 0 {
                    return Some((wide(offsets), first));
                }
                let moved: Vec<i64> = offsets.iter().map(|offset| count(offset.as_usize() - first)).collect();
                Some((moved.into(), first))
            }
            Lists::Views(offsets, sizes) => {
                let is_there = |index: &usize| sizes[*index].as_usize() > 0;
                let first = (0..offsets.len()).find(is_there).map_or(0, |index| offsets[index].as_usize());
                let mut ends = Vec::with_capacity(offsets.len() + 1);
                let mut end = first;
                ends.push(0);
                for index in 0..offsets.len() {
                    if is_there(&index) && offsets[index].as_usize() != end {
                        return None;
                    }
                    end += sizes[index].as_usize();
                    ends.push(count(end - first));
                }
                Some((ends.into(), first))
            }
        }
    }
}

/// Offsets of 64 bits.
fn wide<O: OffsetSizeTrait>(offsets: &ScalarBuffer<O>) -> ScalarBuffer<i64> {
    if O::IS_LARGE {
        return ScalarBuffer::new(offsets.inner().clone(), 0, offsets.len());
    }
    offsets.iter().map(|offset| count(offset.as_usize())).collect::<Vec<_>>().into()
}

/// Offsets and bytes of texts or binary values; `None` for other arrays.
fn texts(array: &dyn Array, present: Present<'_>) -> Option<(ScalarBuffer<i64>, Buffer)> {
    Some(match array.data_type() {
        ArrowType::Utf8 => {
            let texts = array.as_string::<i32>();
            shared_texts(&Lists::of(texts.offsets()), texts.values(), present)
        }
        ArrowType::LargeUtf8 => {
            let texts = array.as_string::<i64>();
            shared_texts(&Lists::of(texts.offsets()), texts.values(), present)
        }
        ArrowType::Binary => {
            let texts = array.as_binary::<i32>();
            shared_texts(&Lists::of(texts.offsets()), texts.values(), present)
        }
        ArrowType::LargeBinary => {
            let texts = array.as_binary::<i64>();
            shared_texts(&Lists::of(texts.offsets()), texts.values(), present)
        }
        ArrowType::Utf8View => {
            let views = array.as_string_view().clone();
            // As bytes: whether they are texts is found of the copy.
            let bytes = views.to_binary_view();
            copied_texts(bytes.len(), |index| bytes.value(index), present)
        }
        ArrowType::BinaryView => {
            let views = array.as_binary_view();
            copied_texts(views.len(), |index| views.value(index), present)
        }
        _ => return None,
    })
}

fn shared_texts<O: OffsetSizeTrait>(
    texts: &Lists<'_, O>,
    bytes: &Buffer,
    present: Present<'_>,
) -> (ScalarBuffer<i64>, Buffer) {
    match texts {
        Lists::Row(offsets) if !texts.has_hidden_items(present) => (wide(offsets), bytes.clone()),
        _ => copied_texts(
            texts.len(),
            |index| {
                let (start, n_bytes) = texts.range(index);
                &bytes[start..start + n_bytes]
            },
            present,
        ),
    }
}

fn copied_texts<'t>(
    n_texts: usize,
    text: impl Fn(usize) -> &'t [u8],
    present: Present<'_>,
) -> (ScalarBuffer<i64>, Buffer) {
    let is_present = |index| present.is_none_or(|present| present.is_valid(index));
    let n_bytes = (0..n_texts).filter(|&index| is_present(index)).map(|index| text(index).len()).sum();
    let mut bytes = Vec::with_capacity(n_bytes);
    let mut offsets = Vec::with_capacity(n_texts + 1);
    offsets.push(0);
    for index in 0..n_texts {
        if is_present(index) {
            bytes.extend_from_slice(text(index));
        }
        offsets.push(count(bytes.len()));
    }
    (offsets.into(), Buffer::from_vec(bytes))
}
