//! The Arrow C data interface: capsules that other libraries take.

use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, DataType, Fields, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

fn to_python(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let exported = FFI_ArrowSchema::try_from(schema).map_err(to_python)?;
    PyCapsule::new_with_value(py, exported, SCHEMA)
}

/// A record batch as a struct array: schema and array.
pub(crate) fn batch_capsules<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let schema = schema_capsule(py, batch.schema().as_ref())?;
    let array = FFI_ArrowArray::new(&StructArray::from(batch.clone()).to_data());
    Ok((schema, PyCapsule::new_with_value(py, array, ARRAY)?))
}

pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// An Arrow type in pyarrow's words, without what every list says: `list<float>`, `fixed_size_list<int32>[3]`.
pub(crate) fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Boolean => "bool".to_owned(),
        DataType::Float16 => "halffloat".to_owned(),
        DataType::Float32 => "float".to_owned(),
        DataType::Float64 => "double".to_owned(),
        DataType::Utf8 => "string".to_owned(),
        DataType::LargeUtf8 => "large_string".to_owned(),
        DataType::LargeBinary => "large_binary".to_owned(),
        DataType::List(item) => format!("list<{}>", type_name(item.data_type())),
        DataType::LargeList(item) => format!("large_list<{}>", type_name(item.data_type())),
        DataType::FixedSizeList(item, size) => format!("fixed_size_list<{}>[{size}]", type_name(item.data_type())),
        DataType::Struct(fields) => format!("struct<{}>", field_names(fields, true)),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => format!("map<{}>", field_names(fields, false)),
            other => type_name(other),
        },
        // Of the rest, numbers and binary, Arrow's name is the same but for the case.
        other => other.to_string().to_lowercase(),
    }
}

fn field_names(fields: &Fields, with_names: bool) -> String {
    let texts = fields.iter().map(|field| {
        let name = if with_names { format!("{}: ", field.name()) } else { String::new() };
        name + &type_name(field.data_type())
    });
    texts.collect::<Vec<_>>().join(", ")
}
