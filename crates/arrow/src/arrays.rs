//! Arrow arrays of buffers, and of values that were collected.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, UInt32Array, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType as ArrowType, Field, Fields};
use arrowroot_format::column::DataType;
use arrowroot_format::decode::{Values, kernels::pack_bools};
use arrowroot_format::streamer::Primitive;

use crate::gaps::with_gaps;
use crate::text::{Fault, TextForm, first_invalid, list_of, replaced};
use crate::types::{ITEM, arrow_type, item_field, map_type, primitive_type};

/// Numbers, or bools as bits, inside fixed lists of `dims`.
///
/// # Errors
/// If the buffer does not hold so many.
pub fn numbers(primitive: Primitive, dims: &[u32], n_values: usize, buffer: Buffer) -> Result<ArrayData, ArrowError> {
    let mut n_items = dims.iter().fold(n_values, |product, &dim| product.saturating_mul(dim as usize));
    let mut data =
        ArrayData::builder(primitive_type(primitive)).len(n_items).add_buffer(buffer).align_buffers(true).build()?;
    for &dim in dims.iter().rev() {
        n_items = if dim == 0 { n_values } else { n_items / dim as usize };
        let size = i32::try_from(dim).map_err(|_| too_large())?;
        let list = ArrowType::FixedSizeList(item_field(data.data_type().clone()), size);
        data = ArrayData::builder(list).len(n_items).add_child_data(data).build()?;
    }
    Ok(data)
}

fn too_large() -> ArrowError {
    ArrowError::InvalidArgumentError("an array of more than 2147483647 items".to_owned())
}

/// Lists with these ends (after a leading 0) among the items.
///
/// `offsets`: as [`kernels::list_ends`](arrowroot_format::decode::kernels::list_ends) made them and found them right, so
/// they never run backwards; the last one is compared with the items here. A second look at all of them would cost as
/// much as making them.
///
/// # Errors
/// If there are not `n_lists` of them, or the last does not end with the items.
pub fn lists(n_lists: usize, offsets: Buffer, items: ArrayData) -> Result<ArrayData, ArrowError> {
    let field = item_field(items.data_type().clone());
    lists_of(n_lists, offsets, field, items)
}

/// The same, with a field of the caller's for the items.
///
/// # Errors
/// As [`lists`].
pub fn lists_of(n_lists: usize, offsets: Buffer, field: Arc<Field>, items: ArrayData) -> Result<ArrayData, ArrowError> {
    let ends = offsets.typed_data::<i32>();
    let last = ends.get(n_lists).and_then(|&end| usize::try_from(end).ok());
    if ends.len() != n_lists + 1 || ends[0] != 0 || last != Some(items.len()) {
        return Err(ArrowError::InvalidArgumentError(format!(
            "{} list offsets, the last one {last:?}, for {n_lists} lists of {} items",
            ends.len(),
            items.len()
        )));
    }
    let builder = ArrayData::builder(ArrowType::List(field)).len(n_lists).add_buffer(offsets).add_child_data(items);
    #[expect(unsafe_code, reason = "validating offsets again costs as much as making them")]
    // SAFETY: there is one offset more than lists, the first is 0, none is smaller than the one before, and the last
    // one is the number of items, which are valid themselves.
    Ok(unsafe { builder.build_unchecked() })
}

/// The ends with the start of the first before them: moved where they are, as fresh memory costs more.
fn offsets(mut ends: Vec<i32>) -> Buffer {
    ends.insert(0, 0);
    Buffer::from_vec(ends)
}

/// Texts with these offsets among the bytes, in the form that is asked for.
///
/// # Errors
/// [`Fault::Text`] for the first text that is not UTF-8.
pub fn texts(n_texts: usize, offsets: Buffer, bytes: Buffer, text: TextForm) -> Result<ArrayData, Fault> {
    let fixed = if text == TextForm::Replaced { replaced(ends_of(&offsets), &bytes) } else { None };
    let (offsets, bytes) = match fixed {
        Some((ends, bytes)) => (self::offsets(ends), Buffer::from_vec(bytes)),
        None => (offsets, bytes),
    };
    ArrayData::builder(arrow_type(&DataType::Text, text))
        .len(n_texts)
        .add_buffer(offsets.clone())
        .add_buffer(bytes.clone())
        .build()
        .map_err(|error| first_invalid(ends_of(&offsets), &bytes).unwrap_or(Fault::Arrow(error)))
}

/// The same texts with offsets of 64 bits.
pub(crate) fn large_texts(texts: &StringArray) -> LargeStringArray {
    let (offsets, bytes, nulls) = texts.clone().into_parts();
    #[expect(unsafe_code, reason = "to find valid texts valid again costs more than all else")]
    // SAFETY: offsets and bytes are those of valid texts; the width of the offsets changes nothing of that.
    unsafe {
        LargeStringArray::new_unchecked(wide(&offsets), bytes, nulls)
    }
}

/// Offsets of 64 bits.
pub(crate) fn wide(offsets: &OffsetBuffer<i32>) -> OffsetBuffer<i64> {
    OffsetBuffer::new(offsets.iter().map(|&offset| i64::from(offset)).collect())
}

/// The ends of lists or texts, from their offsets.
pub fn ends_of(offsets: &Buffer) -> &[i32] {
    offsets.typed_data::<i32>().get(1..).unwrap_or_default()
}

/// An array of collected values.
///
/// # Errors
/// [`Fault::Text`] for text that is not UTF-8; [`Fault::Arrow`] for more than Arrow holds.
pub fn values(values: Values, text: TextForm) -> Result<ArrayRef, Fault> {
    Ok(make_array(data_of(values, text)?))
}

fn data_of(collected: Values, text: TextForm) -> Result<ArrayData, Fault> {
    Ok(match collected {
        Values::Primitive(Primitive::Bool, bytes) => {
            let mut bits = vec![0; bytes.len().div_ceil(8)];
            pack_bools(&bytes, &mut bits);
            numbers(Primitive::Bool, &[], bytes.len(), Buffer::from_vec(bits))?
        }
        Values::Primitive(primitive, bytes) => {
            let n_values = bytes.len() / primitive.stored_bytes();
            numbers(primitive, &[], n_values, Buffer::from_vec(bytes))?
        }
        Values::Text(ends, bytes) => texts(ends.len(), offsets(ends), Buffer::from_vec(bytes), text)?,
        Values::List(ends, items) => {
            let items = child(ITEM, *items, text).map_err(|fault| fault.in_list(|item| list_of(&ends, item)));
            let (field, items) = items?;
            lists_of(ends.len(), offsets(ends), field, items)?
        }
        Values::FixedList(items, n_items) => {
            let in_each = n_items.max(1) as usize;
            let n_lists = items.len() / in_each;
            let (field, items) = child(ITEM, *items, text).map_err(|fault| fault.in_list(|item| item / in_each))?;
            let size = i32::try_from(n_items).map_err(|_| too_large())?;
            ArrayData::builder(ArrowType::FixedSizeList(field, size)).len(n_lists).add_child_data(items).build()?
        }
        Values::Map(ends, keys, values) => {
            let inner = |name: &str, values| {
                child(name, values, text).map_err(|fault| fault.in_list(|item| list_of(&ends, item)))
            };
            let ((key_field, keys), (value_field, values)) = (inner("key", *keys)?, inner("value", *values)?);
            let n_maps = ends.len();
            let pair = ArrowType::Struct(Fields::from(vec![Arc::clone(&key_field), Arc::clone(&value_field)]));
            let pairs = ArrayData::builder(pair).len(keys.len()).add_child_data(keys).add_child_data(values).build()?;
            ArrayData::builder(map_type(key_field, value_field))
                .len(n_maps)
                .add_buffer(offsets(ends))
                .add_child_data(pairs)
                .build()?
        }
        Values::Struct(n_values, members) => {
            let mut fields = Vec::with_capacity(members.len());
            let mut columns = Vec::with_capacity(members.len());
            for (name, member) in members {
                let (field, data) = child(&name, member, text)?;
                fields.push(field);
                columns.push(data);
            }
            ArrayData::builder(ArrowType::Struct(Fields::from(fields))).len(n_values).child_data(columns).build()?
        }
        Values::Optional(is_there, values) => optional(&is_there, *values, text)?,
        Values::Nothing(n_values) => ArrayData::new_null(&ArrowType::Null, n_values),
        Values::Links(links) => UInt32Array::from(links).to_data(),
        Values::Bytes(ends, bytes) => ArrayData::builder(ArrowType::Binary)
            .len(ends.len())
            .add_buffer(offsets(ends))
            .add_buffer(Buffer::from_vec(bytes))
            .build()?,
    })
}

/// What is inside of another array, and its field.
fn child(name: &str, values: Values, text: TextForm) -> Result<(Arc<Field>, ArrayData), Fault> {
    let is_nullable = matches!(values, Values::Optional(..) | Values::Nothing(_));
    let data = data_of(values, text)?;
    Ok((Arc::new(Field::new(name, data.data_type().clone(), is_nullable)), data))
}

/// Values with nulls between them, which have no place among the values so far.
fn optional(is_there: &[u8], values: Values, text: TextForm) -> Result<ArrayData, Fault> {
    let n_present = values.len();
    let place_of = |value: usize| {
        let mut present = is_there.iter().enumerate().filter(|&(_, &is_there)| is_there != 0);
        present.nth(value).map_or(is_there.len(), |(place, _)| place)
    };
    let data = data_of(values, text).map_err(|fault| fault.in_list(place_of))?;
    if n_present == is_there.len() {
        return Ok(data);
    }
    if matches!(data.data_type(), ArrowType::Null) {
        return Ok(ArrayData::new_null(&ArrowType::Null, is_there.len()));
    }
    // A value that is not there has the place of the next one, which its null hides.
    let places = is_there.iter().scan(0_u32, |next, &is_there| {
        let place = *next;
        *next += u32::from(is_there != 0);
        Some(place)
    });
    let are_there = is_there.iter().map(|&is_there| is_there != 0).collect::<BooleanBuffer>();
    let places = UInt32Array::try_new(places.collect::<Vec<_>>().into(), Some(are_there.into()))?;
    Ok(with_gaps(data, &places)?)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn maps_whose_keys_may_be_null_are_lists_of_pairs() {
        let pointer = DataType::Optional(Box::new(DataType::Primitive(Primitive::Int32)));
        for (key, is_map) in [(DataType::Text, true), (DataType::Nothing, false), (pointer, false)] {
            let of = DataType::Map(Box::new(key), Box::new(DataType::Text));
            let array = values(Values::empty(&of), TextForm::Utf8).unwrap();
            assert_eq!(array.data_type(), &arrow_type(&of, TextForm::Utf8));
            assert_eq!(matches!(array.data_type(), ArrowType::Map(..)), is_map);
        }
    }

    proptest! {
        #[test]
        fn large_texts_are_those_that_were_there(texts in vec(proptest::option::of(".{0,6}"), 0..20), skipped in 0_usize..5) {
            let texts = StringArray::from(texts);
            let texts = texts.slice(skipped.min(texts.len()), texts.len() - skipped.min(texts.len()));
            prop_assert_eq!(large_texts(&texts), texts.iter().collect::<LargeStringArray>());
        }
    }

    #[test]
    fn nulls_take_bounded_memory() {
        let large = 1 << 27;
        let arrays = |n_items| Values::FixedList(Box::new(Values::Primitive(Primitive::Int32, Vec::new())), n_items);
        let nulls = |n_nulls, n_items| Values::Optional(vec![0; n_nulls], Box::new(arrays(n_items)));
        assert_eq!(values(nulls(3, 5), TextForm::Utf8).unwrap().null_count(), 3);
        let Err(Fault::Arrow(error)) = values(nulls(3, large), TextForm::Utf8) else { panic!("taken") };
        assert!(error.to_string().contains("3 nulls in place of 536870912 bytes each"), "{error}");
    }
}
