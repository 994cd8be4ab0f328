//! From arrays as they are read to arrays of the types that were written: the opposite of [`store`](super::store()).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Int32Type, Int64Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray, Float16Array,
    GenericBinaryArray, GenericListArray, GenericListViewArray, GenericStringArray, IntervalDayTimeArray,
    IntervalMonthDayNanoArray, IntervalYearMonthArray, LargeBinaryArray, MapArray, NullArray, OffsetSizeTrait,
    StringViewArray, StructArray, UInt64Array, UnionArray, make_array, new_empty_array, new_null_array,
};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, Buffer, IntervalDayTime, IntervalMonthDayNano, NullBuffer, OffsetBuffer,
    ScalarBuffer,
};
use arrow_data::ArrayData;
use arrow_schema::{DataType as ArrowType, Field, Fields, IntervalUnit, UnionFields, UnionMode};
use arrow_select::take::take;

use super::data_type::{alternatives, stored_primitive};
use super::encode::{dictionary, runs};
use super::error::{Result, StoreError};
use super::ranges::check_ranges;
use crate::arrays::{large_texts, wide};
use crate::text::TextForm;

/// The array of a field that [`store`](super::store()) made stored values of, of the array that is read of these.
///
/// `array`: as an RNTuple's field or [`compose`](super::compose()) gives it. Shares its memory but where a form is another:
/// offsets of 64 bits, views, dictionaries, runs, float16, intervals.
///
/// # Errors
/// [`StoreError::Malformed`] if that is no array of such values, or a batch has too many for a dictionary or for runs.
pub fn restore(column: &str, array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    Restoring { column }.field(array, field)
}

/// The type in which values of a type are delivered: texts as binary where they are asked for so.
pub fn delivered_type(data_type: &ArrowType, text: TextForm) -> ArrowType {
    if text != TextForm::Binary {
        return data_type.clone();
    }
    let of = |field: &Arc<Field>| {
        let data_type = delivered_type(field.data_type(), text);
        Arc::new(field.as_ref().clone().with_data_type(data_type))
    };
    match data_type {
        ArrowType::Utf8 => ArrowType::Binary,
        ArrowType::LargeUtf8 => ArrowType::LargeBinary,
        ArrowType::Utf8View => ArrowType::BinaryView,
        ArrowType::List(item) => ArrowType::List(of(item)),
        ArrowType::LargeList(item) => ArrowType::LargeList(of(item)),
        ArrowType::ListView(item) => ArrowType::ListView(of(item)),
        ArrowType::LargeListView(item) => ArrowType::LargeListView(of(item)),
        ArrowType::FixedSizeList(item, n_items) => ArrowType::FixedSizeList(of(item), *n_items),
        ArrowType::Struct(members) => ArrowType::Struct(members.iter().map(of).collect()),
        ArrowType::Map(entries, is_sorted) => ArrowType::Map(of(entries), *is_sorted),
        ArrowType::Union(members, mode) => {
            ArrowType::Union(members.iter().map(|(id, member)| (id, of(member))).collect(), *mode)
        }
        ArrowType::Dictionary(key, value) => ArrowType::Dictionary(key.clone(), Box::new(delivered_type(value, text))),
        ArrowType::RunEndEncoded(ends, values) => ArrowType::RunEndEncoded(Arc::clone(ends), of(values)),
        other => other.clone(),
    }
}

fn takes_bytes(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Struct(fields) => !fields.is_empty(),
        ArrowType::FixedSizeBinary(size) | ArrowType::FixedSizeList(_, size) => *size > 0,
        ArrowType::Dictionary(_, values) => takes_bytes(values),
        ArrowType::RunEndEncoded(_, values) => takes_bytes(values.data_type()),
        _ => true,
    }
}

/// True for values none of which is missing, though alternatives may be, which the constructors of arrays refuse.
fn is_required_union(field: &Field) -> bool {
    !field.is_nullable() && matches!(field.data_type(), ArrowType::Union(..))
}

type HalfFloat = <Float16Type as ArrowPrimitiveType>::Native;

struct Restoring<'c> {
    column: &'c str,
}

/// Lists as they are read: offsets from 0 on, items, and which are there.
type Lists = (OffsetBuffer<i32>, ArrayRef, Option<NullBuffer>);

impl Restoring<'_> {
    fn field(&self, array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
        if !takes_bytes(field.data_type()) && !field.is_nullable() {
            // What says that they are there says the same of what is around them.
            let all: ArrayRef = Arc::new(BooleanArray::new(BooleanBuffer::new_set(array.len()), None));
            return self.array(&all, field.data_type());
        }
        self.array(array, field.data_type())
    }

    fn array(&self, array: &ArrayRef, to: &ArrowType) -> Result<ArrayRef> {
        if array.data_type() == to {
            return Ok(Arc::clone(array));
        }
        let nulls = array.nulls().cloned();
        Ok(match to {
            ArrowType::Dictionary(key, value) => {
                let values = self.array(array, value)?;
                dictionary(self.column, &values, key, to)?
            }
            ArrowType::RunEndEncoded(ends, values) => {
                let values = self.array(array, values.data_type())?;
                runs(self.column, &values, ends, to)?
            }
            ArrowType::Float16 => {
                let wide = array.as_primitive_opt::<Float32Type>().ok_or_else(|| self.other_type(array, to))?;
                let narrow = wide.values().iter().map(|&value| HalfFloat::from_f32(value));
                Arc::new(Float16Array::try_new(narrow.collect(), nulls).map_err(self.wrong())?)
            }
            _ if stored_primitive(to).is_some() => self.numbers(array, to)?,
            ArrowType::LargeUtf8 => {
                let texts = array.as_string_opt::<i32>().ok_or_else(|| self.other_type(array, to))?;
                Arc::new(large_texts(texts))
            }
            ArrowType::Utf8View => {
                let texts = array.as_string_opt::<i32>().ok_or_else(|| self.other_type(array, to))?;
                Arc::new(StringViewArray::from(texts))
            }
            ArrowType::Binary => Arc::new(self.binary(array, to)?),
            ArrowType::LargeBinary => {
                let (offsets, bytes, nulls) = self.binary(array, to)?.into_parts();
                Arc::new(LargeBinaryArray::try_new(wide(&offsets), bytes, nulls).map_err(self.wrong())?)
            }
            ArrowType::BinaryView => Arc::new(BinaryViewArray::from(&self.binary(array, to)?)),
            ArrowType::Null => Arc::new(NullArray::new(array.len())),
            ArrowType::Struct(fields) if fields.is_empty() => {
                Arc::new(StructArray::new_empty_fields(array.len(), self.are_there(array, to)?))
            }
            ArrowType::FixedSizeBinary(0) => {
                let nulls = self.are_there(array, to)?;
                let empty = FixedSizeBinaryArray::try_new_with_len(0, Buffer::default(), nulls, array.len());
                Arc::new(empty.map_err(self.wrong())?)
            }
            ArrowType::FixedSizeList(item, 0) => {
                let (none, nulls) = (new_empty_array(item.data_type()), self.are_there(array, to)?);
                let empty = FixedSizeListArray::try_new_with_length(Arc::clone(item), 0, none, nulls, array.len());
                Arc::new(empty.map_err(self.wrong())?)
            }
            ArrowType::FixedSizeBinary(n_bytes) => self.fixed_bytes(array, *n_bytes, to)?,
            ArrowType::Decimal128(..) => self.fixed_bytes(array, 16, to)?,
            ArrowType::Decimal256(..) => self.fixed_bytes(array, 32, to)?,
            ArrowType::Interval(unit) => self.intervals(array, *unit, to)?,
            ArrowType::FixedSizeList(item, n_items) => {
                let lists = array.as_fixed_size_list_opt().filter(|lists| lists.value_length() == *n_items);
                let lists = lists.ok_or_else(|| self.other_type(array, to))?;
                let items = self.field(lists.values(), item)?;
                if is_required_union(item) {
                    return self.of_data(to.clone(), array.len(), nulls, Vec::new(), &[items]);
                }
                let lists =
                    FixedSizeListArray::try_new_with_length(Arc::clone(item), *n_items, items, nulls, array.len());
                Arc::new(lists.map_err(self.wrong())?)
            }
            ArrowType::List(item) => {
                let (offsets, items, nulls) = self.lists(array, to)?;
                self.list::<i32>(offsets, &items, nulls, item)?
            }
            ArrowType::LargeList(item) => {
                let (offsets, items, nulls) = self.lists(array, to)?;
                self.list::<i64>(wide(&offsets), &items, nulls, item)?
            }
            ArrowType::ListView(item) => self.list_views::<i32>(array, item, to)?,
            ArrowType::LargeListView(item) => self.list_views::<i64>(array, item, to)?,
            ArrowType::Struct(fields) => {
                let members = array.as_struct_opt().filter(|members| members.num_columns() == fields.len());
                let members = members.ok_or_else(|| self.other_type(array, to))?;
                Arc::new(self.members(members, fields)?)
            }
            ArrowType::Map(entries, is_sorted) => {
                let (offsets, pairs, nulls) = self.lists(array, to)?;
                let fields = if let ArrowType::Struct(fields) = entries.data_type() { Some(fields) } else { None };
                let pairs = pairs.as_struct_opt().zip(fields).ok_or_else(|| self.other_type(array, to))?;
                let pairs = self.members(pairs.0, pairs.1)?;
                let maps = MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, *is_sorted);
                Arc::new(maps.map_err(self.wrong())?)
            }
            ArrowType::Union(fields, mode) => self.union(array, fields, *mode, to)?,
            _ => return Err(self.other_type(array, to)),
        })
    }

    /// A union of what is read as one whose type ids are tags. What holds no alternative is a null of the first member
    /// that has nulls.
    fn union(&self, array: &ArrayRef, fields: &UnionFields, mode: UnionMode, to: &ArrowType) -> Result<ArrayRef> {
        let variants = array.as_union_opt().filter(|of| of.is_dense());
        let variants = variants.ok_or_else(|| self.other_type(array, to))?;
        let wanted: Vec<i8> = alternatives(fields).map(|(id, _)| id).collect();
        if variants.fields().len() != wanted.len() + 1 {
            return Err(self.other_type(array, to));
        }
        let is_null = |field: &Field| *field.data_type() == ArrowType::Null;
        let of_nulls = fields.iter().find(|(_, field)| is_null(field));
        let of_nulls = of_nulls.or_else(|| fields.iter().find(|(_, field)| field.is_nullable()));
        let of_nulls = of_nulls.or_else(|| fields.iter().next()).map_or(0, |(id, _)| id);
        let id_of = |tag: i8| {
            let tag = usize::try_from(tag).ok().and_then(|tag| tag.checked_sub(1));
            tag.map_or(Some(of_nulls), |index| wanted.get(index).copied())
        };
        let ids = variants.type_ids().iter().map(|&tag| id_of(tag)).collect::<Option<Vec<i8>>>();
        let ids = ids.ok_or_else(|| self.malformed("a variant of another tag than it has alternatives"))?;
        let is_sparse = mode == UnionMode::Sparse;
        let mut offsets = vec![0_i32; ids.len()];
        let mut children = Vec::with_capacity(fields.len());
        for (id, field) in fields.iter() {
            let own = ids.iter().enumerate().filter(|(_, of)| is_sparse || **of == id).map(|(index, _)| index);
            let own: Vec<usize> = own.collect();
            if !is_sparse {
                own.iter().zip(0..).for_each(|(&index, place)| offsets[index] = place);
            }
            let Some(alternative) = wanted.iter().position(|of| *of == id) else {
                children.push(new_null_array(&ArrowType::Null, own.len()));
                continue;
            };
            let tag = i8::try_from(alternative + 1).map_err(|_| self.other_type(array, to))?;
            let place = |&index: &usize| {
                let is_there = variants.type_id(index) == tag;
                is_there.then(|| variants.value_offset(index) as u64)
            };
            let places: UInt64Array = own.iter().map(place).collect();
            let values = self.field(variants.child(tag), field)?;
            children.push(take(&values, &places, None).map_err(self.wrong())?);
        }
        let offsets = (!is_sparse).then(|| offsets.into());
        Ok(Arc::new(UnionArray::try_new(fields.clone(), ids.into(), offsets, children).map_err(self.wrong())?))
    }

    /// Numbers of the same width.
    fn numbers(&self, array: &ArrayRef, to: &ArrowType) -> Result<ArrayRef> {
        if stored_primitive(array.data_type()) != stored_primitive(to) {
            return Err(self.other_type(array, to));
        }
        let data = array.to_data().into_builder().data_type(to.clone()).build();
        self.in_range(make_array(data.map_err(self.wrong())?))
    }

    /// Bytes, which are read as such or as lists of numbers.
    fn binary(&self, array: &ArrayRef, to: &ArrowType) -> Result<GenericBinaryArray<i32>> {
        if let Some(binary) = array.as_binary_opt::<i32>() {
            return Ok(binary.clone());
        }
        if let Some(texts) = array.as_string_opt::<i32>() {
            return Ok(GenericBinaryArray::from(GenericStringArray::clone(texts)));
        }
        let (offsets, items, nulls) = self.lists(array, to)?;
        let bytes = items.as_primitive_opt::<UInt8Type>().ok_or_else(|| self.other_type(array, to))?;
        GenericBinaryArray::try_new(offsets, bytes.values().inner().clone(), nulls).map_err(self.wrong())
    }

    /// Values of so many bytes, which are read as fixed lists of numbers.
    fn fixed_bytes(&self, array: &ArrayRef, n_bytes: i32, to: &ArrowType) -> Result<ArrayRef> {
        let lists = array.as_fixed_size_list_opt().filter(|lists| lists.value_length() == n_bytes);
        let bytes = lists.and_then(|lists| lists.values().as_primitive_opt::<UInt8Type>());
        let bytes = bytes.ok_or_else(|| self.other_type(array, to))?.values().inner().clone();
        let data = arrow_data::ArrayData::builder(to.clone()).len(array.len()).add_buffer(bytes);
        let data = data.nulls(array.nulls().cloned()).align_buffers(true).build();
        self.in_range(make_array(data.map_err(self.wrong())?))
    }

    /// The same array, if its type takes all its values: damage may have left others.
    fn in_range(&self, array: ArrayRef) -> Result<ArrayRef> {
        check_ranges(self.column, &array)?;
        Ok(array)
    }

    /// Which values there are of a type without bytes.
    fn are_there(&self, array: &ArrayRef, to: &ArrowType) -> Result<Option<NullBuffer>> {
        let valid = array.as_boolean_opt().ok_or_else(|| self.other_type(array, to))?.values();
        Ok(Some(NullBuffer::new(valid.clone())).filter(|nulls| nulls.null_count() > 0))
    }

    fn intervals(&self, array: &ArrayRef, unit: IntervalUnit, to: &ArrowType) -> Result<ArrayRef> {
        let other = || self.other_type(array, to);
        let members = array.as_struct_opt().ok_or_else(other)?;
        let nulls = members.nulls().cloned();
        let member = |index: usize| members.columns().get(index).ok_or_else(other);
        let int32 = |index| Ok(member(index)?.as_primitive_opt::<Int32Type>().ok_or_else(other)?.values());
        Ok(match unit {
            IntervalUnit::YearMonth => {
                Arc::new(IntervalYearMonthArray::try_new(int32(0)?.clone(), nulls).map_err(self.wrong())?)
            }
            IntervalUnit::DayTime => {
                let pairs = int32(0)?.iter().zip(int32(1)?.iter());
                let values = pairs.map(|(&days, &milliseconds)| IntervalDayTime::new(days, milliseconds));
                Arc::new(IntervalDayTimeArray::try_new(values.collect(), nulls).map_err(self.wrong())?)
            }
            IntervalUnit::MonthDayNano => {
                let nanoseconds = member(2)?.as_primitive_opt::<Int64Type>().ok_or_else(other)?.values();
                let triples = int32(0)?.iter().zip(int32(1)?.iter()).zip(nanoseconds.iter());
                let values = triples
                    .map(|((&months, &days), &nanoseconds)| IntervalMonthDayNano::new(months, days, nanoseconds));
                Arc::new(IntervalMonthDayNanoArray::try_new(values.collect(), nulls).map_err(self.wrong())?)
            }
        })
    }

    fn lists(&self, array: &ArrayRef, to: &ArrowType) -> Result<Lists> {
        if let Some(lists) = array.as_list_opt::<i32>() {
            return Ok((lists.offsets().clone(), Arc::clone(lists.values()), lists.nulls().cloned()));
        }
        let maps = array.as_map_opt().ok_or_else(|| self.other_type(array, to))?;
        Ok((maps.offsets().clone(), Arc::new(maps.entries().clone()), maps.nulls().cloned()))
    }

    fn list<O: OffsetSizeTrait>(
        &self,
        offsets: OffsetBuffer<O>,
        items: &ArrayRef,
        nulls: Option<NullBuffer>,
        item: &Arc<Field>,
    ) -> Result<ArrayRef> {
        let items = self.field(items, item)?;
        if is_required_union(item) {
            let to = GenericListArray::<O>::DATA_TYPE_CONSTRUCTOR(Arc::clone(item));
            return self.of_data(to, offsets.len() - 1, nulls, vec![offsets.into_inner().into_inner()], &[items]);
        }
        Ok(Arc::new(GenericListArray::<O>::try_new(Arc::clone(item), offsets, items, nulls).map_err(self.wrong())?))
    }

    fn list_views<O: OffsetSizeTrait>(&self, array: &ArrayRef, item: &Arc<Field>, to: &ArrowType) -> Result<ArrayRef> {
        let (offsets, items, nulls) = self.lists(array, to)?;
        let items = self.field(&items, item)?;
        let of = |length: usize| O::usize_as(length);
        let sizes: ScalarBuffer<O> = offsets.lengths().map(of).collect();
        let starts: ScalarBuffer<O> = offsets.iter().take(sizes.len()).map(|start| of(start.as_usize())).collect();
        if is_required_union(item) {
            let (n_lists, ends) = (sizes.len(), vec![starts.into_inner(), sizes.into_inner()]);
            return self.of_data(to.clone(), n_lists, nulls, ends, &[items]);
        }
        let views = GenericListViewArray::<O>::try_new(Arc::clone(item), starts, sizes, items, nulls);
        Ok(Arc::new(views.map_err(self.wrong())?))
    }

    fn members(&self, members: &StructArray, fields: &Fields) -> Result<StructArray> {
        let columns = members.columns().iter().zip(fields).map(|(column, field)| self.field(column, field));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        if fields.iter().any(|field| is_required_union(field)) {
            let to = ArrowType::Struct(fields.clone());
            let structs = self.of_data(to, members.len(), members.nulls().cloned(), Vec::new(), &columns)?;
            return Ok(structs.as_struct().clone());
        }
        StructArray::try_new_with_length(fields.clone(), columns, members.nulls().cloned(), members.len())
            .map_err(self.wrong())
    }

    /// An array of its parts.
    fn of_data(
        &self,
        to: ArrowType,
        len: usize,
        nulls: Option<NullBuffer>,
        buffers: Vec<Buffer>,
        children: &[ArrayRef],
    ) -> Result<ArrayRef> {
        let data = ArrayData::builder(to).len(len).nulls(nulls).buffers(buffers);
        let data = data.child_data(children.iter().map(Array::to_data).collect()).build();
        Ok(make_array(data.map_err(self.wrong())?))
    }

    fn malformed(&self, what: &str) -> StoreError {
        StoreError::malformed(self.column, what)
    }

    fn other_type(&self, array: &ArrayRef, to: &ArrowType) -> StoreError {
        self.malformed(&format!("{} is read where {to} was written", array.data_type()))
    }

    fn wrong(&self) -> impl Fn(arrow_schema::ArrowError) -> StoreError {
        StoreError::of_arrow(self.column)
    }
}
