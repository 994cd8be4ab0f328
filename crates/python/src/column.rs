//! A column of others, as the only one of a batch: pyarrow checks what is in a batch before it makes arrays of it.

#![expect(unsafe_code, reason = "capsules hold what C has")]

use std::ffi::c_void;
use std::ptr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::invalid;
use crate::interface::{ARRAY, SCHEMA, array_of, schema_out_of};

/// `ArrowArray`, as the C interface lays it out.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut FFI_ArrowArray,
    dictionary: *mut FFI_ArrowArray,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

const _: () = assert!(size_of::<Array>() == size_of::<FFI_ArrowArray>());

/// What a batch of one column points to.
struct Kept {
    column: FFI_ArrowArray,
    columns: [*mut FFI_ArrowArray; 1],
    buffers: [*const c_void; 1],
}

/// A batch with an array, and nothing else: schema and array.
///
/// The array is that of an object with `__arrow_c_array__`; nothing in it is looked at.
#[pyfunction]
pub(crate) fn as_batch<'py>(
    py: Python<'py>,
    column: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let (of_schema, of_array): (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>) =
        column.call_method0("__arrow_c_array__")?.extract()?;
    let schema = FFI_ArrowSchema::try_new("+s", vec![schema_out_of(&of_schema)?], None);
    let schema = schema.map_err(|error| invalid(error.to_string()))?;
    let array = batch_of(array_of(&of_array)?);
    Ok((PyCapsule::new_with_value(py, schema, SCHEMA)?, PyCapsule::new_with_value(py, array, ARRAY)?))
}

fn batch_of(column: FFI_ArrowArray) -> FFI_ArrowArray {
    // Lengths of C may be negative: this one is as it came.
    let length = column.len().cast_signed() as i64;
    let kept = Box::into_raw(Box::new(Kept { column, columns: [ptr::null_mut()], buffers: [ptr::null()] }));
    // SAFETY: it is ours alone, and stays where it is until it is released.
    let (columns, buffers) = unsafe {
        (*kept).columns[0] = &raw mut (*kept).column;
        ((&raw mut (*kept).columns).cast(), (&raw mut (*kept).buffers).cast())
    };
    let mut batch = Array {
        length,
        null_count: 0,
        offset: 0,
        n_buffers: 1,
        n_children: 1,
        buffers,
        children: columns,
        dictionary: ptr::null_mut(),
        release: Some(release),
        private_data: kept.cast(),
    };
    // SAFETY: the layout is the interface's; what stays in `batch` is an empty array, which nobody releases.
    unsafe { FFI_ArrowArray::from_raw((&raw mut batch).cast()) }
}

unsafe extern "C" fn release(batch: *mut Array) {
    // SAFETY: the interface calls it once, with the array that `batch_of` made, wherever it was moved to.
    unsafe {
        drop(Box::from_raw((*batch).private_data.cast::<Kept>()));
        (*batch).release = None;
    }
}
