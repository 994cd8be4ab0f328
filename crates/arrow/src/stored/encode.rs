//! Dictionaries and runs, made again of the values that they had.
//!
//! Values are compared by their bytes: numbers (so NaN are equal, and 0 and -0 are not), texts and binary. Values of other
//! types are all taken for different.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt64Array, make_array};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType as ArrowType, Field};
use arrow_select::take::take;

use super::error::{Result, StoreError};

/// The values as a dictionary of the type `to`, in the order in which they first occur.
pub(super) fn dictionary(column: &str, values: &ArrayRef, key: &ArrowType, to: &ArrowType) -> Result<ArrayRef> {
    let wrong = StoreError::of_arrow(column);
    let compared = Compared::of(values);
    let mut places = Vec::new();
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let mut keys = Vec::with_capacity(values.len());
    for index in 0..values.len() {
        keys.push(match values.is_valid(index) {
            false => 0,
            true => {
                let next = places.len();
                let number = compared.bytes(index).map_or(next, |bytes| *numbers.entry(bytes).or_insert(next));
                if number == next {
                    places.push(index as u64);
                }
                number
            }
        });
    }
    let distinct = take(values, &UInt64Array::from(places), None).map_err(&wrong)?;
    let too_many = || StoreError::TooMany {
        column: column.to_owned(),
        what: format!("{} different values in a batch, too many for a dictionary of {key}", distinct.len()),
    };
    let keys = integers(&keys, key).ok_or_else(too_many)?;
    let data = ArrayData::builder(to.clone()).len(values.len()).add_buffer(keys).add_child_data(distinct.to_data());
    Ok(make_array(data.nulls(values.nulls().cloned()).build().map_err(&wrong)?))
}

/// The values as runs of the type `to`.
pub(super) fn runs(column: &str, values: &ArrayRef, ends: &Field, to: &ArrowType) -> Result<ArrayRef> {
    let wrong = StoreError::of_arrow(column);
    let compared = Compared::of(values);
    let are_equal = |one: usize, other: usize| match (values.is_valid(one), values.is_valid(other)) {
        (true, true) => compared.bytes(one).is_some_and(|bytes| compared.bytes(other) == Some(bytes)),
        (one, other) => one == other,
    };
    let firsts: Vec<usize> = (0..values.len()).filter(|&index| index == 0 || !are_equal(index - 1, index)).collect();
    let run_ends: Vec<usize> =
        firsts.iter().skip(1).copied().chain((!firsts.is_empty()).then_some(values.len())).collect();
    let too_many = || StoreError::TooMany {
        column: column.to_owned(),
        what: format!("{} values in a batch, too many for runs of {}", values.len(), ends.data_type()),
    };
    let buffer = integers(&run_ends, ends.data_type()).ok_or_else(too_many)?;
    let ends = ArrayData::builder(ends.data_type().clone()).len(run_ends.len()).add_buffer(buffer);
    let ends = ends.build().map_err(&wrong)?;
    let firsts = UInt64Array::from(firsts.iter().map(|&index| index as u64).collect::<Vec<_>>());
    let of_runs = take(values, &firsts, None).map_err(&wrong)?;
    let data = ArrayData::builder(to.clone()).len(values.len()).child_data(vec![ends, of_runs.to_data()]);
    Ok(make_array(data.build().map_err(&wrong)?))
}

/// Integers of a type; `None` if one has no room there.
fn integers(values: &[usize], of: &ArrowType) -> Option<Buffer> {
    fn narrow<T: TryFrom<usize> + ArrowNativeType>(values: &[usize]) -> Option<Buffer> {
        let narrow = values.iter().map(|&value| T::try_from(value).ok()).collect::<Option<Vec<T>>>()?;
        Some(Buffer::from_vec(narrow))
    }
    match of {
        ArrowType::Int8 => narrow::<i8>(values),
        ArrowType::Int16 => narrow::<i16>(values),
        ArrowType::Int32 => narrow::<i32>(values),
        ArrowType::Int64 => narrow::<i64>(values),
        ArrowType::UInt8 => narrow::<u8>(values),
        ArrowType::UInt16 => narrow::<u16>(values),
        ArrowType::UInt32 => narrow::<u32>(values),
        ArrowType::UInt64 => narrow::<u64>(values),
        _ => None,
    }
}

/// Values that can be compared by their bytes.
enum Compared<'v> {
    Fixed(Buffer, usize),
    Bits(&'v arrow_array::BooleanArray),
    Texts(&'v dyn Texts),
    Not,
}

/// Texts and binary of all kinds.
trait Texts {
    fn text(&self, index: usize) -> &[u8];
}

impl<T: arrow_array::types::ByteArrayType> Texts for arrow_array::GenericByteArray<T> {
    fn text(&self, index: usize) -> &[u8] {
        self.value(index).as_ref()
    }
}

impl<T: arrow_array::types::ByteViewType + ?Sized> Texts for arrow_array::GenericByteViewArray<T> {
    fn text(&self, index: usize) -> &[u8] {
        self.value(index).as_ref()
    }
}

impl<'v> Compared<'v> {
    fn of(values: &'v ArrayRef) -> Self {
        let width = match values.data_type() {
            ArrowType::FixedSizeBinary(n_bytes) => usize::try_from(*n_bytes).ok(),
            other => other.primitive_width(),
        };
        if let Some(width) = width {
            let data = values.to_data();
            let buffer = data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width);
            return Compared::Fixed(buffer, width);
        }
        match values.data_type() {
            ArrowType::Boolean => Compared::Bits(values.as_boolean()),
            ArrowType::Utf8 => Compared::Texts(values.as_string::<i32>()),
            ArrowType::LargeUtf8 => Compared::Texts(values.as_string::<i64>()),
            ArrowType::Binary => Compared::Texts(values.as_binary::<i32>()),
            ArrowType::LargeBinary => Compared::Texts(values.as_binary::<i64>()),
            ArrowType::Utf8View => Compared::Texts(values.as_string_view()),
            ArrowType::BinaryView => Compared::Texts(values.as_binary_view()),
            _ => Compared::Not,
        }
    }

    fn bytes(&self, index: usize) -> Option<&[u8]> {
        match self {
            Compared::Fixed(buffer, width) => buffer.get(index * width..(index + 1) * width),
            Compared::Bits(bits) => Some(if bits.value(index) { &[1] } else { &[0] }),
            Compared::Texts(texts) => Some(texts.text(index)),
            Compared::Not => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, StringArray};

    use super::*;

    #[test]
    fn more_values_than_keys_are_told() {
        let values: ArrayRef = Arc::new(StringArray::from_iter_values((0..200).map(|n| n.to_string())));
        let to = |key: &ArrowType| ArrowType::Dictionary(Box::new(key.clone()), Box::new(ArrowType::Utf8));
        let of = |key: ArrowType| dictionary("x", &values, &key, &to(&key));
        assert_eq!(of(ArrowType::UInt8).unwrap().as_any_dictionary().values().len(), 200);
        assert!(of(ArrowType::Int8).unwrap_err().to_string().contains("200 different values in a batch"));
    }

    #[test]
    fn numbers_are_compared_by_their_bytes() {
        let numbers = vec![Some(f64::NAN), Some(f64::NAN), None, None, Some(0.0), Some(-0.0), Some(f64::NAN)];
        let values: ArrayRef = Arc::new(Float64Array::from(numbers));
        let key = ArrowType::UInt16;
        let to = ArrowType::Dictionary(Box::new(key.clone()), Box::new(ArrowType::Float64));
        let found = dictionary("x", &values, &key, &to).unwrap();
        assert_eq!((found.as_any_dictionary().values().len(), found.null_count()), (3, 2));
        let ends = Field::new("run_ends", ArrowType::Int16, false);
        let of = Field::new("values", ArrowType::Float64, true);
        let to = ArrowType::RunEndEncoded(Arc::new(ends.clone()), Arc::new(of));
        let found = runs("x", &values, &ends, &to).unwrap();
        let found = found.as_run::<arrow_array::types::Int16Type>();
        assert_eq!(found.run_ends().values(), [2, 4, 5, 6, 7]);
        let none = runs("x", &values.slice(0, 0), &ends, &to).unwrap();
        assert_eq!(none.len(), 0);
    }
}
