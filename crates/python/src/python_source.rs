//! Files that Python reads: any file system of fsspec, and XRootD's own client.

use std::time::Duration;

use arrowroot::storage::{AccessProfile, Error, Part, Result, Source};
use pyo3::exceptions::{PyFileNotFoundError, PyPermissionError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::ending::Ongoing;

/// A source whose reads are calls of a Python object: `read_ranges(ranges)` with a list of (offset, length) returns a
/// list of bytes.
pub(crate) struct PythonSource {
    url: String,
    size_bytes: u64,
    /// The remedy if access is denied.
    hint: String,
    reader: Py<PyAny>,
}

impl PythonSource {
    /// Takes url, size and hint from the attributes of `reader`.
    pub(crate) fn new(reader: &Bound<'_, PyAny>) -> PyResult<Self> {
        let url = reader.getattr("url")?.extract()?;
        let size_bytes = reader.getattr("size_bytes")?.extract()?;
        let hint = reader.getattr("hint")?.extract()?;
        Ok(PythonSource { url, size_bytes, hint, reader: reader.clone().unbind() })
    }

    fn ask(&self, py: Python<'_>, parts: &mut [Part<'_>]) -> PyResult<Option<String>> {
        let ranges: Vec<(u64, usize)> = parts.iter().map(|part| (part.offset, part.buffer.len())).collect();
        let answer = self.reader.bind(py).call_method1("read_ranges", (ranges,))?;
        let answers: Vec<Bound<'_, PyBytes>> = answer.extract()?;
        if answers.len() != parts.len() {
            return Ok(Some(format!("{} answers to {} ranges", answers.len(), parts.len())));
        }
        for (part, answer) in parts.iter_mut().zip(answers) {
            let bytes = answer.as_bytes();
            if bytes.len() != part.buffer.len() {
                let wanted = part.buffer.len();
                return Ok(Some(format!("{} bytes instead of {wanted} at {}", bytes.len(), part.offset)));
            }
            part.buffer.copy_from_slice(bytes);
        }
        Ok(None)
    }

    fn error(&self, py: Python<'_>, doing: String, error: &PyErr) -> Error {
        let url = self.url.clone();
        let answer = error.value(py).to_string();
        let answer = if answer.is_empty() { error.get_type(py).to_string() } else { answer };
        if error.is_instance_of::<PyFileNotFoundError>(py) {
            return Error::NotFound { url, answer };
        }
        if error.is_instance_of::<PyPermissionError>(py) {
            return Error::Denied { url, answer, hint: self.hint.clone() };
        }
        Error::Connection { url, doing, what: answer }
    }
}

impl Source for PythonSource {
    fn url(&self) -> &str {
        &self.url
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read_vector(&mut [Part { offset, buffer }])
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        let past_end = parts
            .iter()
            .find(|part| part.offset.checked_add(part.buffer.len() as u64).is_none_or(|end| end > self.size_bytes));
        if let Some(part) = past_end {
            let (offset, n_bytes) = (part.offset, part.buffer.len() as u64);
            return Err(Error::PastEnd { url: self.url.clone(), offset, n_bytes, size_bytes: self.size_bytes });
        }
        let n_bytes: usize = parts.iter().map(|part| part.buffer.len()).sum();
        let doing = format!("reading {n_bytes} bytes in {} ranges", parts.len());
        let asked = Ongoing::begin().and_then(|_read| {
            Python::try_attach(|py| self.ask(py, parts).map_err(|error| self.error(py, doing.clone(), &error)))
        });
        match asked {
            Some(Ok(None)) => Ok(()),
            Some(Ok(Some(what))) => Err(Error::WrongAnswer { url: self.url.clone(), doing, what }),
            Some(Err(error)) => Err(error),
            None => {
                let what = "the interpreter is ending".to_owned();
                Err(Error::Connection { url: self.url.clone(), doing, what })
            }
        }
    }

    fn access_profile(&self) -> AccessProfile {
        // Nothing is known of it: as a store some way off.
        AccessProfile {
            is_remote: true,
            latency: Duration::from_millis(10),
            bytes_per_second: 5e7,
            max_parallel: 4,
            max_ranges: 256,
        }
    }
}
