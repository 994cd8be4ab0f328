//! Nulls among values that are there.

use arrow_array::{Array, UInt32Array, make_array};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType as ArrowType};
use arrow_select::take::take;

/// Nulls may take so much memory: where they are objects of fixed arrays, few bytes in the file stand for many.
const MAX_NULL_BYTES: usize = 1 << 30;

/// Values at their places, with nulls where `places` are null.
///
/// # Errors
/// If the nulls would take too much memory.
pub fn with_gaps(values: ArrayData, places: &UInt32Array) -> Result<ArrayData, ArrowError> {
    check_nulls(places.null_count(), values.data_type())?;
    settled(take(&make_array(values), places, None)?.to_data(), true)
}

/// Without the nulls that a null gives to what is inside of it, where the type says that there are none.
///
/// Arrow allows them, but pyarrow hands them on: pandas would make doubles of the integers, Parquet refuses them.
fn settled(data: ArrayData, is_nullable: bool) -> Result<ArrayData, ArrowError> {
    if data.null_count() == 0 {
        return Ok(data);
    }
    let inside: Vec<bool> = match data.data_type() {
        ArrowType::Struct(fields) => fields.iter().map(|field| field.is_nullable()).collect(),
        ArrowType::List(field) | ArrowType::FixedSizeList(field, _) | ArrowType::Map(field, _) => {
            vec![field.is_nullable()]
        }
        _ => Vec::new(),
    };
    if is_nullable && inside.is_empty() {
        return Ok(data);
    }
    let nulls = data.nulls().filter(|_| is_nullable).cloned();
    let children = data.child_data().to_vec();
    let settled = children.into_iter().zip(inside).map(|(child, is_nullable)| settled(child, is_nullable));
    let settled = settled.collect::<Result<Vec<_>, _>>()?;
    data.into_builder().nulls(nulls).child_data(settled).build()
}

/// Whether so many nulls between values of a type take no more memory than they may.
pub(crate) fn check_nulls(n_nulls: usize, data_type: &ArrowType) -> Result<(), ArrowError> {
    let null_bytes = null_bytes(data_type);
    if n_nulls.saturating_mul(null_bytes) > MAX_NULL_BYTES {
        let what = format!("{n_nulls} nulls in place of {null_bytes} bytes each: set a smaller batch size");
        return Err(ArrowError::InvalidArgumentError(what));
    }
    Ok(())
}

/// Bytes that a null takes in an array.
fn null_bytes(data_type: &ArrowType) -> usize {
    match data_type {
        ArrowType::FixedSizeList(item, n_items) => {
            null_bytes(item.data_type()).saturating_mul(usize::try_from(*n_items).unwrap_or(0))
        }
        ArrowType::Struct(members) => {
            members.iter().fold(0, |sum, member| null_bytes(member.data_type()).saturating_add(sum))
        }
        ArrowType::Null => 0,
        ArrowType::Boolean => 1,
        // The type and the offset.
        ArrowType::Union(..) => 5,
        // What has no width has an offset.
        other => other.primitive_width().unwrap_or(4),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, FixedSizeListArray, Int64Array, StringArray, StructArray};
    use arrow_schema::{Field, Fields};

    use arrowroot_format::column::DataType;
    use arrowroot_format::streamer::Primitive;

    use super::*;
    use crate::text::TextForm;
    use crate::types::arrow_type;

    #[test]
    fn what_is_inside_of_a_null_has_no_nulls_of_its_own() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1 << 60, 2, 3]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
        let perhaps: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(5), Some(6)]));
        let field =
            |name: &str, array: &ArrayRef, is_nullable| Field::new(name, array.data_type().clone(), is_nullable);
        let pairs: ArrayRef = Arc::new(
            FixedSizeListArray::try_new(
                Arc::new(Field::new("item", ArrowType::Int64, false)),
                2,
                Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5, 6])),
                None,
            )
            .unwrap(),
        );
        let inner_fields = Fields::from(vec![field("numbers", &numbers, false), field("pairs", &pairs, false)]);
        let inner: ArrayRef =
            Arc::new(StructArray::try_new(inner_fields, vec![Arc::clone(&numbers), pairs], None).unwrap());
        let fields = Fields::from(vec![
            field("inner", &inner, false),
            field("texts", &texts, false),
            field("perhaps", &perhaps, true),
        ]);
        let objects = StructArray::try_new(fields, vec![inner, texts, perhaps], None).unwrap();
        let places = UInt32Array::from(vec![Some(0), None, Some(1), Some(2), None]);
        let data = with_gaps(objects.to_data(), &places).unwrap();
        data.validate_full().unwrap();
        let found = make_array(data);
        let found = found.as_struct();
        assert_eq!(found.nulls().unwrap().iter().collect::<Vec<_>>(), [true, false, true, true, false]);
        let texts = found.column(1).as_string::<i32>();
        assert_eq!(([0, 2, 3].map(|index| texts.value(index)), texts.null_count()), (["a", "b", "c"], 0));
        assert_eq!(found.column(2).null_count(), 3);
        let inner = found.column(0).as_struct();
        assert_eq!(inner.null_count(), 0);
        let numbers = inner.column(0).as_primitive::<Int64Type>();
        assert_eq!([0, 2, 3].map(|index| numbers.value(index)), [1 << 60, 2, 3]);
        let pairs = inner.column(1).as_fixed_size_list();
        let pairs_of = |index| pairs.value(index).as_primitive::<Int64Type>().values().to_vec();
        assert_eq!([0, 2, 3].map(pairs_of), [[1, 2], [3, 4], [5, 6]]);
        assert_eq!([numbers.null_count(), pairs.null_count(), pairs.values().null_count()], [0; 3]);
        let none = with_gaps(objects.slice(0, 0).to_data(), &UInt32Array::from(vec![None; 2])).unwrap();
        assert_eq!(make_array(none).as_struct().column(0).null_count(), 0);
    }

    #[test]
    fn a_null_takes_what_a_value_of_its_type_takes_at_least() {
        let bytes_of = |data_type| null_bytes(&arrow_type(&data_type, TextForm::Utf8));
        let number = |primitive| DataType::Primitive(primitive);
        let pair = vec![("a".into(), number(Primitive::Float16)), ("b".into(), number(Primitive::Bool))];
        let members = DataType::Struct(pair.into());
        assert_eq!(bytes_of(members.clone()), 5);
        assert_eq!(bytes_of(DataType::FixedList(Box::new(members.clone()), 7)), 35);
        assert_eq!(bytes_of(DataType::List(Box::new(members))), 4);
        assert_eq!(bytes_of(DataType::Text), 4);
        assert_eq!(bytes_of(DataType::Optional(Box::new(number(Primitive::Int64)))), 8);
        assert_eq!(bytes_of(DataType::Nothing), 0);
    }
}
