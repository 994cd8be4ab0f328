//! Arrays of others on their way to pyarrow, which goes by some of what they say before it checks anything.
//!
//! A column is the only one of a batch: pyarrow checks what is in a batch before it makes arrays of it.

#![expect(unsafe_code, reason = "capsules hold what C has")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};
use std::{io, ptr};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::{failed, invalid, unsupported};
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
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

/// `ArrowSchema`, likewise.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

const _: () = assert!(size_of::<Array>() == size_of::<FFI_ArrowArray>());
const _: () = assert!(size_of::<Schema>() == size_of::<FFI_ArrowSchema>());

/// More levels of arrays than pyarrow takes.
const MAX_LEVELS: usize = 100;

/// Memory that a batch of one column points to.
struct KeptColumn {
    column: FFI_ArrowArray,
    columns: [*mut FFI_ArrowArray; 1],
    buffers: [*const c_void; 1],
}

/// The array of an object with `__arrow_c_array__`: its schema, and itself. `is_column`: it is made the only column of a batch.
///
/// # Errors
/// `InvalidRequestError` for pointers that are missing. Nothing else in it is looked at.
#[pyfunction]
#[pyo3(signature = (of, *, is_column))]
pub(crate) fn as_batch<'py>(
    py: Python<'py>,
    of: &Bound<'py, PyAny>,
    is_column: bool,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let (schema, array): (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>) =
        of.call_method0("__arrow_c_array__")?.extract()?;
    capsules(py, schema_out_of(&schema)?, array_of(&array)?, is_column)
}

/// A batch on its way to pyarrow.
fn capsules(
    py: Python<'_>,
    schema: FFI_ArrowSchema,
    array: FFI_ArrowArray,
    is_column: bool,
) -> PyResult<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)> {
    // SAFETY: the layouts are the interface's, and both are whole, as nobody has released them yet.
    unsafe { check((&raw const schema).cast(), (&raw const array).cast(), 0) }.map_err(invalid)?;
    if is_column {
        return Ok((with_column(py, schema)?, PyCapsule::new_with_value(py, batch_of(array), ARRAY)?));
    }
    Ok((PyCapsule::new_with_value(py, schema, SCHEMA)?, PyCapsule::new_with_value(py, array, ARRAY)?))
}

/// That no pointer is missing which pyarrow follows unseen; the rest is for it to refuse.
///
/// # Safety
/// Pointers are null, or lead to what the interface says.
unsafe fn check(schema: *const Schema, array: *const Array, level: usize) -> Result<(), String> {
    // SAFETY: as the caller says.
    let (Some(schema), Some(array)) = (unsafe { (schema.as_ref(), array.as_ref()) }) else {
        return Err("an array inside is missing".to_owned());
    };
    if schema.release.is_none() || array.release.is_none() {
        return Ok(());
    }
    if schema.format.is_null() {
        return Err("its type is missing".to_owned());
    }
    if level > MAX_LEVELS {
        return Err(format!("arrays inside of arrays in more than {MAX_LEVELS} levels"));
    }
    if array.n_buffers > 0 && array.buffers.is_null() {
        return Err("its buffers are missing".to_owned());
    }
    // SAFETY: it is a text that ends with a zero.
    let format = unsafe { CStr::from_ptr(schema.format) }.to_bytes();
    // Validity and views come first, and the sizes of all others last.
    if let (b"vu" | b"vz", Ok(last @ 3..)) = (format, usize::try_from(array.n_buffers - 1)) {
        // SAFETY: there are so many buffers.
        if unsafe { *array.buffers.add(last) }.is_null() {
            return Err("the sizes of the buffers of its views are missing".to_owned());
        }
    }
    let n_children = usize::try_from(array.n_children).unwrap_or_default();
    if schema.n_children != array.n_children || n_children == 0 {
        // Different numbers are refused.
    } else if schema.children.is_null() || array.children.is_null() {
        return Err("the arrays inside are missing".to_owned());
    } else {
        for index in 0..n_children {
            // SAFETY: there are so many.
            unsafe {
                let child = *schema.children.add(index);
                check(child, *array.children.add(index), level + 1).map_err(|what| of_child(child, &what))?;
            }
        }
    }
    if schema.dictionary.is_null() || array.dictionary.is_null() {
        return Ok(());
    }
    // SAFETY: as the caller says.
    unsafe { check(schema.dictionary, array.dictionary, level + 1) }
}

/// The same of an array inside, with its name.
///
/// # Safety
/// As of [`check`].
unsafe fn of_child(child: *const Schema, what: &str) -> String {
    // SAFETY: as the caller says.
    let name = unsafe { child.as_ref() }.map(|child| child.name).filter(|name| !name.is_null());
    let Some(name) = name else { return what.to_owned() };
    // SAFETY: it is a text that ends with a zero.
    format!("{}: {what}", unsafe { CStr::from_ptr(name) }.to_string_lossy())
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
        let schema = self.schema()?;
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
        let schema = self.schema()?;
        capsules(py, schema, array, self.is_column).map(Some)
    }
}

/// Status of a stream that lacks a function.
const MISSING: c_int = -1;

impl PyStream {
    fn schema(&mut self) -> PyResult<FFI_ArrowSchema> {
        let mut schema = FFI_ArrowSchema::empty();
        let stream = self.stream.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the stream is the one that it was read from.
        let status = stream.get_schema().map_or(MISSING, |get| unsafe { get(stream, &raw mut schema) });
        self.check(status)?;
        Ok(schema)
    }

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
            _ => failed(status, what),
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
    let kept = Box::into_raw(Box::new(KeptColumn { column, columns: [ptr::null_mut()], buffers: [ptr::null()] }));
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
        drop(Box::from_raw((*batch).private_data.cast::<KeptColumn>()));
        (*batch).release = None;
    }
}
