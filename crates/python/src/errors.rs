//! Errors of the engine as Python exceptions, each with a builtin among its bases where one fits.

use std::any::Any;

use arrowroot::Error;
use arrowroot::{format, storage};
use pyo3::PyErrArguments;
use pyo3::exceptions::{
    PyException, PyFileNotFoundError, PyKeyError, PyMemoryError, PyNotImplementedError, PyOSError, PyPermissionError,
    PyTypeError, PyUnicodeError, PyValueError,
};
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

mod docs;

static BASE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static CORRUPT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static UNSUPPORTED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static STORAGE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static NO_SUCH_FILE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static DENIED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static NOT_FOUND: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static INVALID: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static WRONG_TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static OUT_OF_MEMORY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
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
    let base = make("ArrowrootError", docs::ARROWROOT, PyTuple::new(py, [py.get_type::<PyException>()])?)?;
    let derive = |cell: &PyOnceLock<Py<PyType>>, name: &str, doc: &str, bases: &[Bound<'_, PyType>]| {
        let exception = make(name, doc, PyTuple::new(py, bases)?)?;
        let _ = cell.set(py, exception.clone_ref(py));
        PyResult::Ok(exception)
    };
    let add = |cell: &PyOnceLock<Py<PyType>>, name: &str, doc: &str, builtin: Bound<'_, PyType>| {
        derive(cell, name, doc, &[base.bind(py).clone(), builtin])
    };
    add(&CORRUPT, "CorruptFileError", docs::CORRUPT_FILE, py.get_type::<PyValueError>())?;
    add(&UNSUPPORTED, "UnsupportedError", docs::UNSUPPORTED, py.get_type::<PyNotImplementedError>())?;
    let storage = add(&STORAGE, "StorageError", docs::STORAGE, py.get_type::<PyOSError>())?;
    derive(
        &NO_SUCH_FILE,
        "NoSuchFileError",
        docs::NO_SUCH_FILE,
        &[storage.bind(py).clone(), py.get_type::<PyFileNotFoundError>()],
    )?;
    derive(
        &DENIED,
        "AccessDeniedError",
        docs::ACCESS_DENIED,
        &[storage.bind(py).clone(), py.get_type::<PyPermissionError>()],
    )?;
    add(&NOT_FOUND, "NotFoundError", docs::NOT_FOUND, py.get_type::<PyKeyError>())?;
    let invalid = add(&INVALID, "InvalidRequestError", docs::INVALID_REQUEST, py.get_type::<PyValueError>())?;
    derive(&TOO_LONG, "BatchTooLongError", docs::BATCH_TOO_LONG, &[invalid.bind(py).clone()])?;
    add(&WRONG_TYPE, "WrongTypeError", docs::WRONG_TYPE, py.get_type::<PyTypeError>())?;
    add(&OUT_OF_MEMORY, "OutOfMemoryError", docs::OUT_OF_MEMORY, py.get_type::<PyMemoryError>())?;
    add(&INVALID_TEXT, "InvalidTextError", docs::INVALID_TEXT, py.get_type::<PyUnicodeError>())?;
    // A panic becomes an exception of PyO3's, wherever it comes to Python: that one is ours.
    let internal = py.get_type::<PanicException>();
    internal.setattr("__bases__", (&base,))?;
    internal.setattr("__name__", "InternalError")?;
    internal.setattr("__qualname__", "InternalError")?;
    internal.setattr("__module__", "arrowroot")?;
    internal.setattr("__doc__", docs::INTERNAL)?;
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
            Error::OutOfMemory { .. } => &OUT_OF_MEMORY,
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

/// The exception of an object that this cannot be done with.
pub(crate) fn wrong_type(message: String) -> PyErr {
    Python::attach(|py| raised(py, &WRONG_TYPE, message))
}

/// The exception of a stream that failed, with a number of the system.
pub(crate) fn failed(status: i32, message: String) -> PyErr {
    Python::attach(|py| raised(py, &STORAGE, (status, message)))
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

/// The exception of an error of merging. That of an input has the attribute `is_of_input`.
pub(crate) fn merging_to_python(error: arrowroot_merge::Error) -> PyErr {
    let is_of_input = error.is_of_input();
    let raised = exception_of_merging(error);
    if is_of_input {
        // An exception without it stops the merging all the same.
        let _ = Python::attach(|py| raised.value(py).setattr("is_of_input", true));
    }
    raised
}

fn exception_of_merging(error: arrowroot_merge::Error) -> PyErr {
    use arrowroot_merge::Error;
    match error {
        Error::Spoilt(error) => exception_of_merging(*error),
        Error::Read(error) => to_python(error),
        Error::Write(error) => writing_to_python(error),
        Error::Mismatch { .. } => Python::attach(|py| mismatch(py, error.to_string()).unwrap_or_else(|error| error)),
        error => Python::attach(|py| {
            let exception = match &error {
                Error::NotWhole { .. } => &CORRUPT,
                Error::Unsupported { .. } => &UNSUPPORTED,
                _ => &INVALID,
            };
            raised(py, exception, error.to_string())
        }),
    }
}

/// The exception of files that do not fit together, which is made in Python.
fn mismatch(py: Python<'_>, message: String) -> PyResult<PyErr> {
    let exception = py.import("arrowroot._errors")?.getattr("SchemaMismatchError")?;
    Ok(PyErr::from_value(exception.call1((message,))?))
}

fn raised<A>(py: Python<'_>, exception: &PyOnceLock<Py<PyType>>, arguments: A) -> PyErr
where
    A: PyErrArguments + Send + Sync + 'static,
{
    match exception.get(py) {
        Some(exception) => PyErr::from_type(exception.bind(py).clone(), arguments),
        None => PyException::new_err(arguments),
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
