//! The index of a tree: by which values its entries are found.

use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use arrowroot_format::tree::RecordedIndex;

use crate::error::{Error, Result};

/// The expression that stands for a value which is not there. Source: `TTree::BuildIndex` (ROOT 6.40).
const NO_EXPRESSION: &str = "0";

/// The values of one or two columns, collected while the entries are written.
#[derive(Debug)]
pub struct IndexValues {
    major: (String, usize),
    minor: Option<(String, usize)>,
    values: Mutex<Vec<(i64, i64)>>,
}

impl IndexValues {
    /// The values of these columns of a table, which must be integers without missing values.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] names the column that is not there, or is none of integers.
    pub(crate) fn new(schema: &Schema, major: &str, minor: Option<&str>) -> Result<IndexValues> {
        let column = |name: &str| {
            let wrong = |what: &str| Error::InvalidRequest { what: format!("index: column {name:?} {what}") };
            let (place, field) = schema.column_with_name(name).ok_or_else(|| wrong("is not there"))?;
            if !field.data_type().is_integer() {
                return Err(wrong(&format!("is of type {}: entries are found by integers", field.data_type())));
            }
            if field.is_nullable() {
                return Err(wrong("may have missing values, and entries without a value cannot be found"));
            }
            Ok((name.to_owned(), place))
        };
        Ok(IndexValues { major: column(major)?, minor: minor.map(column).transpose()?, values: Mutex::default() })
    }

    /// The values of the entries of a batch, which [`IndexValues::extend`] takes once the entries are taken.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for a value that needs more than 63 bits.
    pub(crate) fn of_batch(&self, batch: &RecordBatch) -> Result<Vec<(i64, i64)>> {
        let values_of = |(name, place): &(String, usize)| {
            integers(batch.column(*place)).map_err(|value| Error::InvalidRequest {
                what: format!("index: {value} in column {name:?} is more than an index holds, 2^63 - 1"),
            })
        };
        let major = values_of(&self.major)?;
        let minor = match &self.minor {
            Some(minor) => values_of(minor)?,
            None => vec![0; major.len()],
        };
        Ok(major.into_iter().zip(minor).collect())
    }

    /// Takes the values of more entries.
    pub(crate) fn extend(&self, values: Vec<(i64, i64)>) {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).extend(values);
    }

    /// The index as the record of the tree has it.
    pub(super) fn record(&self) -> Result<RecordedIndex> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let minor = self.minor.as_ref().map_or(NO_EXPRESSION, |(name, _)| name);
        Ok(RecordedIndex::made(&self.major.0, minor, &values)?)
    }
}

/// The integers of an array; one that is too large is the error.
fn integers(array: &dyn Array) -> std::result::Result<Vec<i64>, u64> {
    fn of<T: ArrowPrimitiveType>(array: &dyn Array) -> Vec<i64>
    where
        i64: From<T::Native>,
    {
        array.as_primitive_opt::<T>().map_or_else(Vec::new, |array| array.values().iter().map(|&n| n.into()).collect())
    }
    Ok(match array.data_type() {
        DataType::Int8 => of::<Int8Type>(array),
        DataType::Int16 => of::<Int16Type>(array),
        DataType::Int32 => of::<Int32Type>(array),
        DataType::Int64 => of::<Int64Type>(array),
        DataType::UInt8 => of::<UInt8Type>(array),
        DataType::UInt16 => of::<UInt16Type>(array),
        DataType::UInt32 => of::<UInt32Type>(array),
        DataType::UInt64 => {
            let values =
                array.as_primitive_opt::<UInt64Type>().map(|array| array.values().to_vec()).unwrap_or_default();
            values
                .into_iter()
                .map(|value| i64::try_from(value).map_err(|_| value))
                .collect::<std::result::Result<_, _>>()?
        }
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int8Array, Int64Array, UInt16Array, UInt64Array};
    use arrow_schema::Field;

    use super::*;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn values_of_any_integers_are_taken_and_others_refused() {
        let of_8: ArrayRef = Arc::new(Int8Array::from(vec![-1, 3]));
        let of_16: ArrayRef = Arc::new(UInt16Array::from(vec![65_535, 0]));
        let of_64: ArrayRef = Arc::new(UInt64Array::from(vec![7, 1 << 63]));
        let first = batch(vec![("a", of_8), ("b", of_16), ("c", of_64)]);
        let schema = first.schema();
        let schema =
            Schema::new(schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(false)).collect::<Vec<_>>());
        let index = IndexValues::new(&schema, "a", Some("b")).unwrap();
        assert_eq!(index.of_batch(&first).unwrap(), [(-1, 65_535), (3, 0)]);
        let alone = IndexValues::new(&schema, "c", None).unwrap();
        let error = alone.of_batch(&first).unwrap_err().to_string();
        assert!(error.contains("9223372036854775808") && error.contains("\"c\""), "{error}");
        alone.extend(alone.of_batch(&first.slice(0, 1)).unwrap());
        let names = alone.record().unwrap().names;
        assert_eq!(names, Some(("c".to_owned(), "0".to_owned())));
        let floats =
            Schema::new(vec![Field::new("f", DataType::Float64, false), Field::new("n", DataType::Int64, true)]);
        for (name, what) in [("f", "Float64"), ("n", "missing values"), ("x", "not there")] {
            let error = IndexValues::new(&floats, name, None).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        assert_eq!(integers(&Int64Array::from(vec![i64::MIN])), Ok(vec![i64::MIN]));
    }
}
