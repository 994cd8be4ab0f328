//! A column of others, as the only one of a batch: pyarrow checks what is in a batch before it makes arrays of it.

#![expect(unsafe_code, reason = "capsules hold what C has")]

use std::ffi::{CStr, c_int, c_void};
use std::sync::{Mutex, PoisonError};
use std::{io, ptr};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::{invalid, unsupported};
use crate::interface::{ARRAY, SCHEMA, array_of, schema_out_of, stream_out_of};

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
    let array = batch_of(array_of(&of_array)?);
    Ok((with_column(py, schema_out_of(&of_schema)?)?, PyCapsule::new_with_value(py, array, ARRAY)?))
}

/// The batches of an object with `__arrow_c_stream__`, each a schema and an array; nothing in them is looked at.
#[pyclass(name = "Stream", module = "arrowroot._native")]
pub(crate) struct PyStream {
    /// Never locked: it is there for the type alone, which is used by one thread at a time.
    stream: Mutex<FFI_ArrowArrayStream>,
    is_column: bool,
}

#[pymethods]
impl PyStream {
    /// `is_column`: the stream is of one column, which is the only one of each batch.
    #[new]
    #[pyo3(signature = (of, *, is_column))]
    fn new(of: &Bound<'_, PyAny>, is_column: bool) -> PyResult<Self> {
        let capsule = of.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        Ok(PyStream { stream: Mutex::new(stream_out_of(&capsule)?), is_column })
    }

    fn __arrow_c_schema__<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let mut schema = FFI_ArrowSchema::empty();
        let stream = self.stream.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the stream is the one that it was read from.
        let status = stream.get_schema().map_or(MISSING, |get| unsafe { get(stream, &raw mut schema) });
        self.check(status)?;
        if self.is_column { with_column(py, schema) } else { PyCapsule::new_with_value(py, schema, SCHEMA) }
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)>> {
        let mut array = FFI_ArrowArray::empty();
        let stream = self.stream.get_mut().unwrap_or_else(PoisonError::into_inner);
        // It may need the interpreter, in another thread too.
        let status = py.detach(|| {
            // SAFETY: the stream is the one that it was read from.
            stream.get_next().map_or(MISSING, |get| unsafe { get(stream, &raw mut array) })
        });
        self.check(status)?;
        if array.is_released() {
            return Ok(None);
        }
        let schema = self.__arrow_c_schema__(py)?;
        let array = if self.is_column { batch_of(array) } else { array };
        Ok(Some((schema, PyCapsule::new_with_value(py, array, ARRAY)?)))
    }
}

/// What a stream answers that lacks a function.
const MISSING: c_int = -1;

impl PyStream {
    /// The error of the stream, by the status of its last answer: a number of the system.
    fn check(&mut self, status: c_int) -> PyResult<()> {
        if status == 0 {
            return Ok(());
        }
        let stream = self.stream.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the stream is the one that it was read from.
        let what = stream.get_last_error().map(|get| unsafe { get(stream) }).filter(|text| !text.is_null());
        // SAFETY: it is a text that ends with a zero, until the stream is asked again.
        let what = what.map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
        let what = what.unwrap_or_else(|| "a stream that does not say what went wrong".to_owned());
        Err(match io::Error::from_raw_os_error(status).kind() {
            _ if status == MISSING => invalid(what),
            io::ErrorKind::InvalidInput => invalid(what),
            io::ErrorKind::Unsupported => unsupported(what),
            _ => PyOSError::new_err((status, what)),
        })
    }
}

/// The schema of batches that have one column.
fn with_column(py: Python<'_>, schema: FFI_ArrowSchema) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_new("+s", vec![schema], None);
    PyCapsule::new_with_value(py, schema.map_err(|error| invalid(error.to_string()))?, SCHEMA)
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
