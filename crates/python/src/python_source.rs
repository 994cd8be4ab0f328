//! Files that Python reads: any file system of fsspec, and XRootD's own client.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arrowroot::storage::{AccessProfile, Error, Part, Result, Source};
use pyo3::exceptions::{PyFileNotFoundError, PyPermissionError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyCFunction};

/// A source whose reads are calls of a Python object: `read_ranges(ranges)` with a list of (offset, length) returns a
/// list of bytes.
pub(crate) struct PythonSource {
    url: String,
    size_bytes: u64,
    /// The remedy if access is denied.
    hint: String,
    reader: Py<PyAny>,
}

/// Reads that go on, each in a thread of its own.
static N_READS: AtomicUsize = AtomicUsize::new(0);
/// True once the interpreter is about to end: no other read begins.
static IS_ENDING: AtomicBool = AtomicBool::new(false);
/// The end of the interpreter waits for reads so long.
const MAX_WAIT_AT_END: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(2);

/// A read that goes on. The interpreter ends a thread that comes back from a call while it ends itself, and the process with
/// it, as Rust's frames cannot be left so.
struct OngoingRead;

impl OngoingRead {
    /// `None` if the interpreter is about to end.
    fn begin() -> Option<Self> {
        N_READS.fetch_add(1, Ordering::SeqCst);
        let read = OngoingRead;
        (!IS_ENDING.load(Ordering::SeqCst)).then_some(read)
    }
}

impl Drop for OngoingRead {
    fn drop(&mut self) {
        N_READS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Has the interpreter, before it ends, wait for the reads that go on.
fn wait_at_end(py: Python<'_>) -> PyResult<()> {
    static REGISTERED: PyOnceLock<()> = PyOnceLock::new();
    REGISTERED.get_or_try_init(py, || {
        let process = std::process::id();
        let wait = PyCFunction::new_closure(py, None, None, move |arguments, _| {
            // A forked child has none of the threads.
            if std::process::id() == process {
                arguments.py().detach(end_reads);
            }
        })?;
        py.import("atexit")?.call_method1("register", (wait,)).map(|_| ())
    })?;
    Ok(())
}

fn end_reads() {
    IS_ENDING.store(true, Ordering::SeqCst);
    let started = Instant::now();
    while N_READS.load(Ordering::SeqCst) > 0 && started.elapsed() < MAX_WAIT_AT_END {
        std::thread::sleep(PAUSE);
    }
}

impl PythonSource {
    /// Takes url, size and hint from the attributes of `reader`.
    pub(crate) fn new(reader: &Bound<'_, PyAny>) -> PyResult<Self> {
        wait_at_end(reader.py())?;
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
        let asked = OngoingRead::begin().and_then(|_read| {
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
