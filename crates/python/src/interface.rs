//! The Arrow C data interface: capsules that other libraries take.

#![expect(unsafe_code, reason = "capsules hold what C has")]

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};
use arrowroot::MAX_TYPE_BYTES;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::invalid;

pub(crate) const SCHEMA: &CStr = c"arrow_schema";
pub(crate) const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

fn to_python(error: ArrowError) -> PyErr {
    invalid(error.to_string())
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

/// The schema of an object with `__arrow_c_schema__`.
pub(crate) fn schema_in(object: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let capsule = object.call_method0("__arrow_c_schema__")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name has an `ArrowSchema`, which lives as long as the capsule.
    let schema = unsafe { pointer.as_ref() };
    Schema::try_from(schema).map_err(to_python)
}

/// Takes schema and array out of an object with `__arrow_c_array__`. Nothing is looked at.
pub(crate) fn exported(object: &Bound<'_, PyAny>) -> PyResult<(FFI_ArrowSchema, FFI_ArrowArray)> {
    let capsules = object.call_method0(intern!(object.py(), "__arrow_c_array__"))?;
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = capsules.extract()?;
    Ok((schema_out_of(&schema)?, array_of(&array)?))
}

/// True if two schemas say the same names, types and nulls. Metadata are not looked at.
pub(crate) fn is_same(one: &FFI_ArrowSchema, other: &FFI_ArrowSchema) -> bool {
    let flags = |of: &FFI_ArrowSchema| (of.nullable(), of.map_keys_sorted(), of.dictionary_ordered());
    let mut others = other.children();
    one.format() == other.format()
        && one.name() == other.name()
        && flags(one) == flags(other)
        && one.children().all(|child| others.next().is_some_and(|other| is_same(child, other)))
        && others.next().is_none()
        && match (one.dictionary(), other.dictionary()) {
            (Some(one), Some(other)) => is_same(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
}

/// The schema that stands beside an array.
pub(crate) fn schema_of_array(capsule: &Bound<'_, PyCapsule>) -> PyResult<Schema> {
    let pointer = capsule.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    // SAFETY: as in `schema_in`.
    Schema::try_from(unsafe { pointer.as_ref() }).map_err(|error| invalid(error.to_string()))
}

/// Takes the schema out of its capsule.
pub(crate) fn schema_out_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowSchema> {
    let pointer = capsule.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    // SAFETY: as in `array_of`.
    Ok(unsafe { FFI_ArrowSchema::from_raw(pointer.as_ptr()) })
}

/// Takes the array out of its capsule.
pub(crate) fn array_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArray> {
    let pointer = capsule.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: a capsule of this name has an `ArrowArray`; taking it leaves a released one there, as the interface asks.
    Ok(unsafe { FFI_ArrowArray::from_raw(pointer.as_ptr()) })
}

/// True if the values of two schemas are stored alike, see [`is_stored_alike`].
pub(crate) fn are_stored_alike(one: &Schema, other: &Schema) -> bool {
    let pairs = || one.fields().iter().zip(other.fields());
    one.fields().len() == other.fields().len() && pairs().all(|(one, other)| is_stored_alike(one, other))
}

/// True if the values of two types are stored alike: they differ at most in how arrays have them, in what they say of missing values,
/// in metadata, and in how the items of lists are called.
fn is_stored_alike(one: &Field, other: &Field) -> bool {
    use DataType as T;
    let same_fields = |one: &Fields, other: &Fields, has_names: bool| {
        let is_same = |(one, other): (&Arc<Field>, &Arc<Field>)| {
            (!has_names || one.name() == other.name()) && is_stored_alike(one, other)
        };
        one.len() == other.len() && one.iter().zip(other).all(is_same)
    };
    match (unfolded(one.data_type()), unfolded(other.data_type())) {
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::Utf8 | T::LargeUtf8 | T::Utf8View)
        | (T::Binary | T::LargeBinary | T::BinaryView, T::Binary | T::LargeBinary | T::BinaryView) => true,
        (
            T::List(one) | T::LargeList(one) | T::ListView(one) | T::LargeListView(one),
            T::List(other) | T::LargeList(other) | T::ListView(other) | T::LargeListView(other),
        ) => is_stored_alike(one, other),
        (T::FixedSizeList(one, size), T::FixedSizeList(other, other_size)) => {
            size == other_size && is_stored_alike(one, other)
        }
        (T::Struct(one), T::Struct(other)) => same_fields(one, other, true),
        (T::Map(one, _), T::Map(other, _)) => match (one.data_type(), other.data_type()) {
            (T::Struct(one), T::Struct(other)) => same_fields(one, other, false),
            _ => false,
        },
        (T::Union(one, mode), T::Union(other, other_mode)) => {
            let mut pairs = one.iter().zip(other.iter());
            let are_same = mode == other_mode && one.len() == other.len();
            are_same && pairs.all(|((id, one), (other_id, other))| id == other_id && is_stored_alike(one, other))
        }
        (one, other) => one == other,
    }
}

/// The type of values that a dictionary or runs stand for.
fn unfolded(of: &DataType) -> &DataType {
    match of {
        DataType::Dictionary(_, values) => unfolded(values),
        DataType::RunEndEncoded(_, values) => unfolded(values.data_type()),
        other => other,
    }
}

/// Takes the stream out of its capsule.
pub(crate) fn stream_out_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: as in `array_of`.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) })
}

pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// An Arrow type in pyarrow's words, without what every list says: `list<float>`, `fixed_size_list<int32>[3]`. What is
/// longer than 4 KiB ends with an ellipsis.
pub(crate) fn type_name(data_type: &DataType) -> String {
    let mut text = String::new();
    write_type(data_type, &mut text);
    if text.len() > MAX_TYPE_BYTES {
        let end = (0..=MAX_TYPE_BYTES).rev().find(|&end| text.is_char_boundary(end));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
    text
}

fn write_type(data_type: &DataType, out: &mut String) {
    if out.len() > MAX_TYPE_BYTES {
        return;
    }
    let mut list = |head: &str, item: &DataType, tail: &str| {
        out.push_str(head);
        write_type(item, out);
        out.push_str(tail);
    };
    match data_type {
        DataType::Boolean => out.push_str("bool"),
        DataType::Float16 => out.push_str("halffloat"),
        DataType::Float32 => out.push_str("float"),
        DataType::Float64 => out.push_str("double"),
        DataType::Utf8 => out.push_str("string"),
        DataType::LargeUtf8 => out.push_str("large_string"),
        DataType::LargeBinary => out.push_str("large_binary"),
        DataType::List(item) => list("list<", item.data_type(), ">"),
        DataType::LargeList(item) => list("large_list<", item.data_type(), ">"),
        DataType::FixedSizeList(item, size) => list("fixed_size_list<", item.data_type(), &format!(">[{size}]")),
        DataType::Struct(fields) => write_fields("struct<", fields, true, out),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => write_fields("map<", fields, false, out),
            other => write_type(other, out),
        },
        // Of the rest, numbers and binary, Arrow's name is the same but for the case.
        other => out.push_str(&other.to_string().to_lowercase()),
    }
}

fn write_fields(head: &str, fields: &Fields, with_names: bool, out: &mut String) {
    out.push_str(head);
    for (index, field) in fields.iter().enumerate() {
        if out.len() > MAX_TYPE_BYTES {
            return;
        }
        out.push_str(if index > 0 { ", " } else { "" });
        if with_names {
            out.push_str(field.name());
            out.push_str(": ");
        }
        write_type(field.data_type(), out);
    }
    out.push('>');
}
