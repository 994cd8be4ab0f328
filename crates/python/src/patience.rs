//! Waiting for a network without keeping signals waiting.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use arrowroot::File;
use pyo3::prelude::*;

use crate::ending::{Ongoing, without_lock};
use crate::errors::{ending, panicked, to_python};
use crate::logging;

/// How long to wait before looking for a signal.
const PATIENCE: Duration = Duration::from_millis(20);

/// Parts of a file that were damaged in one replica and read from another since this was asked for the last time.
pub(crate) fn take_mended(file: &File) -> Vec<String> {
    file.stack().replicas().map_or_else(Vec::new, |replicas| replicas.take_mended())
}

pub(crate) fn is_remote(file: &File) -> bool {
    file.stack().base().access_profile().is_remote
}

/// True if what a file says of itself may take long to be read: because of the line, or of how much it is.
pub(crate) fn takes_long(file: &File) -> bool {
    is_remote(file) || file.has_long_metadata()
}

/// Does work on a file without the interpreter's lock, as [`patiently`], and warns of what was damaged on the way.
pub(crate) fn reading<T, W>(py: Python<'_>, file: &File, work: W) -> PyResult<T>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    let done = patiently(py, takes_long(file), work)?;
    warn_of_mended(py, &take_mended(file))?;
    Ok(done)
}

/// Warns of what was damaged in one replica and read from another.
pub(crate) fn warn_of_mended(py: Python<'_>, texts: &[String]) -> PyResult<()> {
    for text in texts {
        py.import("arrowroot._errors")?.call_method1("warn_damaged_replica", (text,))?;
    }
    Ok(())
}

/// Does work without the interpreter's lock. If it may wait for a network, or take long, it is done in a thread of its own, and the
/// exception of a signal handler, such as that of Ctrl-C, ends the waiting: the thread ends when its read does.
pub(crate) fn patiently<T, W>(py: Python<'_>, may_wait: bool, work: W) -> PyResult<T>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    logging::listen(py)?;
    if !may_wait {
        let done = without_lock(py, work)?;
        logging::deliver(py)?;
        return Ok(done);
    }
    let ongoing = Ongoing::begin().ok_or_else(ending)?;
    let (sender, receiver) = sync_channel(1);
    let answer = move || {
        // Nobody may be waiting any more, and what is let go of here may be others' memory.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
        drop(ongoing);
    };
    let started = std::thread::Builder::new().name("arrowroot-metadata".to_owned()).spawn(answer);
    started.map_err(|source| to_python(arrowroot::Error::NoThread { source }))?;
    // A receiver may move between threads, but not be shared by them.
    let receiver = std::sync::Mutex::new(receiver);
    loop {
        let received = without_lock(py, || {
            let receiver = receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            receiver.recv_timeout(PATIENCE)
        })?;
        logging::deliver(py)?;
        match received {
            Ok(result) => return result.map_err(|panic| panicked(panic.as_ref())),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Err(panicked(&"a thread ended")),
        }
    }
}
