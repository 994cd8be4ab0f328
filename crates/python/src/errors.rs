//! Errors of the engine as Python exceptions, each with a builtin among its bases where one fits.

use std::any::Any;

use arrowroot::Error;
use arrowroot::{format, storage};
use pyo3::exceptions::{
    PyException, PyFileNotFoundError, PyKeyError, PyMemoryError, PyNotImplementedError, PyOSError, PyPermissionError,
    PyUnicodeError, PyValueError,
};
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

static BASE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static CORRUPT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static UNSUPPORTED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static STORAGE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static NO_SUCH_FILE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static DENIED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static NOT_FOUND: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static INVALID: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static TOO_LONG: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static INVALID_TEXT: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Adds the exceptions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let make = |name: &str, doc: &str, bases: Bound<'_, PyTuple>| {
        let members = PyDict::new(py);
        if name == "ArrowrootError" {
            // Without any, it can become the base of another exception.
            members.set_item("__slots__", PyTuple::empty(py))?;
        }
        members.set_item("__doc__", doc)?;
        members.set_item("__module__", "arrowroot")?;
        let exception = py.get_type::<PyType>().call1((name, bases, members))?.cast_into::<PyType>()?;
        module.add(name, &exception)?;
        PyResult::Ok(exception.unbind())
    };
    let base =
        make("ArrowrootError", "Base of all errors of arrowroot.", PyTuple::new(py, [py.get_type::<PyException>()])?)?;
    let derive = |cell: &PyOnceLock<Py<PyType>>, name: &str, doc: &str, bases: &[Bound<'_, PyType>]| {
        let exception = make(name, doc, PyTuple::new(py, bases)?)?;
        let _ = cell.set(py, exception.clone_ref(py));
        PyResult::Ok(exception)
    };
    let add = |cell: &PyOnceLock<Py<PyType>>, name: &str, doc: &str, builtin: Bound<'_, PyType>| {
        derive(cell, name, doc, &[base.bind(py).clone(), builtin])
    };
    add(&CORRUPT, "CorruptFileError", "The bytes contradict the format.", py.get_type::<PyValueError>())?;
    add(
        &UNSUPPORTED,
        "UnsupportedError",
        "The bytes may be right, but are not readable yet.",
        py.get_type::<PyNotImplementedError>(),
    )?;
    let storage = add(&STORAGE, "StorageError", "Bytes could not be fetched.", py.get_type::<PyOSError>())?;
    derive(
        &NO_SUCH_FILE,
        "NoSuchFileError",
        "There is no such file.",
        &[storage.bind(py).clone(), py.get_type::<PyFileNotFoundError>()],
    )?;
    derive(
        &DENIED,
        "AccessDeniedError",
        "The file is there for others, or for other credentials.",
        &[storage.bind(py).clone(), py.get_type::<PyPermissionError>()],
    )?;
    add(&NOT_FOUND, "NotFoundError", "There is no such file object, tree or column.", py.get_type::<PyKeyError>())?;
    let invalid = add(&INVALID, "InvalidRequestError", "The request makes no sense.", py.get_type::<PyValueError>())?;
    derive(
        &TOO_LONG,
        "BatchTooLongError",
        "A batch has more items in a list, or bytes in a text, than 32 bits number.",
        &[invalid.bind(py).clone()],
    )?;
    add(&INVALID_TEXT, "InvalidTextError", "Text in the file is not UTF-8.", py.get_type::<PyUnicodeError>())?;
    // A panic becomes an exception of PyO3's, wherever it comes to Python: that one is ours.
    let internal = py.get_type::<PanicException>();
    internal.setattr("__bases__", (&base,))?;
    internal.setattr("__name__", "InternalError")?;
    internal.setattr("__qualname__", "InternalError")?;
    internal.setattr("__module__", "arrowroot")?;
    internal.setattr("__doc__", "A fault of arrowroot itself: please report it.")?;
    module.add("InternalError", internal)?;
    let _ = BASE.set(py, base);
    Ok(())
}

/// The exception of a panic.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    PanicException::new_err((text.unwrap_or_else(|| "a panic".to_owned()),))
}

/// The exception of what begins while the interpreter ends.
pub(crate) fn ending() -> PyErr {
    Python::attach(|py| raised(py, &BASE, "the interpreter is ending".to_owned()))
}

/// The exception of an error.
pub(crate) fn to_python(error: Error) -> PyErr {
    let message = error.to_string();
    Python::attach(|py| {
        let exception = match &error {
            Error::Cancelled => {
                // A signal that stopped the scan has its own exception.
                if let Err(signal) = py.check_signals() {
                    return signal;
                }
                &BASE
            }
            Error::OutOfMemory { .. } => return PyMemoryError::new_err(message),
            Error::Storage(error) => exception_of_storage(error),
            Error::Format { source: format::Error::Unsupported(_), .. } => &UNSUPPORTED,
            Error::BatchTooLong | Error::Format { source: format::Error::BatchTooLong(_), .. } => &TOO_LONG,
            Error::Format { .. } => &CORRUPT,
            Error::NotFound { .. } => &NOT_FOUND,
            Error::InvalidRequest { .. } => &INVALID,
            Error::InvalidText { .. } => &INVALID_TEXT,
            _ => &BASE,
        };
        let raised = raised(py, exception, message);
        if let Error::Format { object, .. } = &error {
            // Who reads many columns can read the others. An exception without the name is one all the same.
            let _ = raised.value(py).setattr("object", object);
        }
        raised
    })
}

/// The exception of what makes no sense.
pub(crate) fn invalid(message: String) -> PyErr {
    Python::attach(|py| raised(py, &INVALID, message))
}

/// The exception of what cannot be done yet.
pub(crate) fn unsupported(message: String) -> PyErr {
    Python::attach(|py| raised(py, &UNSUPPORTED, message))
}

/// The exception of an error of writing.
pub(crate) fn writing_to_python(error: arrowroot_writer::Error) -> PyErr {
    use arrowroot_writer::{Error, StoreError};
    let message = error.to_string();
    Python::attach(|py| {
        let exception = match &error {
            Error::Panicked { .. } => return panicked(&message),
            Error::Storage(error) => exception_of_storage(error),
            Error::Format(_) | Error::Store(StoreError::NoLayout { .. }) => &UNSUPPORTED,
            Error::Store(_) | Error::Value { .. } | Error::InvalidRequest { .. } | Error::Closed { .. } => &INVALID,
            _ => &BASE,
        };
        raised(py, exception, message)
    })
}

fn raised(py: Python<'_>, exception: &PyOnceLock<Py<PyType>>, message: String) -> PyErr {
    match exception.get(py) {
        Some(exception) => PyErr::from_type(exception.bind(py).clone(), message),
        None => PyException::new_err(message),
    }
}

fn exception_of_storage(error: &storage::Error) -> &'static PyOnceLock<Py<PyType>> {
    let kind = match error.most_telling() {
        storage::Error::Io { source, .. } => Some(source.kind()),
        storage::Error::NotFound { .. } => Some(std::io::ErrorKind::NotFound),
        storage::Error::Denied { .. } => Some(std::io::ErrorKind::PermissionDenied),
        storage::Error::Option { .. } => return &INVALID,
        storage::Error::Unsupported { .. } => return &UNSUPPORTED,
        _ => None,
    };
    match kind {
        Some(std::io::ErrorKind::NotFound) => &NO_SUCH_FILE,
        Some(std::io::ErrorKind::PermissionDenied) => &DENIED,
        _ => &STORAGE,
    }
}
