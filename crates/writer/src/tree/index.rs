//! The index of a tree: by which values its entries are found.

use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_schema::Schema;
use arrowroot_arrow::Stored;
use arrowroot_arrow::stored::branch_name;
use arrowroot_format::streamer::Primitive;
use arrowroot_format::tree::RecordedIndex;

use crate::cluster::Cluster;
use crate::error::{Error, Result};

/// The expression that stands for a value which is not there. Source: `TTree::BuildIndex` (ROOT 6.40).
const NO_EXPRESSION: &str = "0";

/// The values of one or two columns, collected as clusters get their places: that is the order of the entries, whoever fills
/// them when.
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

    /// Checks the values of a batch before any of its entries is taken.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for a value that needs more than 63 bits.
    pub(crate) fn check(&self, batch: &RecordBatch) -> Result<()> {
        for (name, index) in std::iter::once(&self.major).chain(&self.minor) {
            let Some(values) = batch.column(*index).as_primitive_opt::<UInt64Type>() else { continue };
            if let Some(value) = values.values().iter().find(|&&value| i64::try_from(value).is_err()) {
                let what = format!("index: {value} in column {name:?} is more than an index holds, 2^63 - 1");
                return Err(Error::InvalidRequest { what });
            }
        }
        Ok(())
    }

    /// Takes the values of the entries of the next cluster.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if these are more than an index holds.
    pub(super) fn extend(&self, cluster: &Cluster) -> Result<()> {
        let values_of = |&(_, index): &(String, usize)| cluster.columns[index].iter().flat_map(integers).collect();
        let major: Vec<i64> = values_of(&self.major);
        let minor = self.minor.as_ref().map_or_else(|| vec![0; major.len()], values_of);
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        check_number(values.len() + major.len())?;
        values.extend(major.into_iter().zip(minor));
        Ok(())
    }

    /// The index as the record of the tree has it.
    pub(super) fn record(&self) -> Result<RecordedIndex> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        // They are expressions, of names of branches.
        let minor = self.minor.as_ref().map_or_else(|| NO_EXPRESSION.to_owned(), |(name, _)| branch_name(name));
        Ok(RecordedIndex::made(&branch_name(&self.major.0), &minor, &values)?)
    }
}

fn check_number(n_entries: usize) -> Result<()> {
    let most = RecordedIndex::MAX_ENTRIES;
    if n_entries <= most {
        return Ok(());
    }
    let what = format!("index: it holds {most} entries at most: write several files, or no index");
    Err(Error::InvalidRequest { what })
}

/// The integers of a part of a column; all fit, as they were [checked](IndexValues::check).
fn integers(part: &Stored) -> Vec<i64> {
    fn of<const N: usize>(values: &[u8], integer: impl Fn([u8; N]) -> i64) -> Vec<i64> {
        values.as_chunks().0.iter().map(|&bytes| integer(bytes)).collect()
    }
    let Stored::Numbers { primitive, values } = part else { return Vec::new() };
    match primitive {
        Primitive::Int8 => of(values, |bytes| i8::from_ne_bytes(bytes).into()),
        Primitive::Int16 => of(values, |bytes| i16::from_ne_bytes(bytes).into()),
        Primitive::Int32 => of(values, |bytes| i32::from_ne_bytes(bytes).into()),
        Primitive::UInt8 => of(values, |bytes| u8::from_ne_bytes(bytes).into()),
        Primitive::UInt16 => of(values, |bytes| u16::from_ne_bytes(bytes).into()),
        Primitive::UInt32 => of(values, |bytes| u32::from_ne_bytes(bytes).into()),
        Primitive::Int64 | Primitive::UInt64 => of(values, i64::from_ne_bytes),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int8Array, UInt16Array, UInt64Array};
    use arrow_schema::{DataType, Field};
    use arrowroot_arrow::stored::{data_type, store};

    use super::*;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn more_entries_than_a_record_holds_are_refused() {
        // fN, and three numbers for each entry.
        let n_bytes = |n_entries: usize| 8 * (1 + 3 * n_entries);
        let most = RecordedIndex::MAX_ENTRIES;
        assert!(n_bytes(most) <= (1 << 30) - (16 << 20) && n_bytes(most + 1) > (1 << 30) - (16 << 20));
        check_number(most).unwrap();
        let error = check_number(most + 1).unwrap_err().to_string();
        assert!(error.contains("44040191 entries") && error.contains("several files"), "{error}");
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
        let stored = |range: std::ops::Range<usize>| {
            let fields = first.schema();
            let columns = fields.fields().iter().zip(first.columns()).map(|(field, array)| {
                vec![store(field.name(), &array.slice(range.start, range.len()), &data_type(field).unwrap()).unwrap()]
            });
            Cluster { first_entry: 0, n_entries: range.len(), columns: columns.collect() }
        };
        let index = IndexValues::new(&schema, "a", Some("b")).unwrap();
        index.check(&first).unwrap();
        index.extend(&stored(1..2)).unwrap();
        index.extend(&stored(0..2)).unwrap();
        assert_eq!(*index.values.lock().unwrap(), [(3, 0), (-1, 65_535), (3, 0)]);
        let alone = IndexValues::new(&schema, "c", None).unwrap();
        let error = alone.check(&first).unwrap_err().to_string();
        assert!(error.contains("9223372036854775808") && error.contains("\"c\""), "{error}");
        alone.check(&first.slice(0, 1)).unwrap();
        alone.extend(&stored(0..1)).unwrap();
        assert_eq!(*alone.values.lock().unwrap(), [(7, 0)]);
        let names = alone.record().unwrap().names;
        assert_eq!(names, Some(("c".to_owned(), "0".to_owned())));
        let floats =
            Schema::new(vec![Field::new("f", DataType::Float64, false), Field::new("n", DataType::Int64, true)]);
        for (name, what) in [("f", "Float64"), ("n", "missing values"), ("x", "not there")] {
            let error = IndexValues::new(&floats, name, None).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
