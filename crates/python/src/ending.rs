//! The end of the interpreter, and what must not go on beyond it.
//!
//! The interpreter ends a thread that comes to it while it ends itself: the thread is unwound, through Rust's frames and C++'s
//! destructors, and the process is aborted. So what may come to it is counted, and the interpreter waits before it ends: calls
//! that have let go of its lock, reads through Python, and the threads of files, which let go of others' memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use arrowroot_writer::{Error, FileWriter};
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::errors::{ending, panicked};

/// What goes on and may come to the interpreter.
static N_ONGOING: AtomicUsize = AtomicUsize::new(0);
/// The process whose count that is: a child that was forked has none of the threads.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The thread that ends the interpreter, once it is about to: nothing else begins in others.
static LAST_THREAD: OnceLock<ThreadId> = OnceLock::new();
/// True once it has waited for long enough: who comes now comes too late.
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// The files that are being written. It is locked with the lock of the interpreter alone, so never while another thread forks.
static FILES: Mutex<Vec<Weak<FileWriter>>> = Mutex::new(Vec::new());
/// The end of the interpreter waits so long for what cannot be stopped.
const MAX_WAIT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(2);
/// A thread that comes too late waits for the end of the process; another one may wait for it, so not for ever.
const LATE: Duration = Duration::from_secs(20);

/// Something that goes on and may come to the interpreter.
pub(crate) struct Ongoing;

impl Ongoing {
    /// `None` if the interpreter is about to end, in all threads but the one that ends it.
    pub(crate) fn begin() -> Option<Self> {
        let process = std::process::id();
        if PROCESS.swap(process, SeqCst) != process {
            N_ONGOING.store(0, SeqCst);
        }
        N_ONGOING.fetch_add(1, SeqCst);
        let ongoing = Ongoing;
        let is_fine = LAST_THREAD.get().is_none_or(|last| *last == std::thread::current().id());
        is_fine.then_some(ongoing)
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        // A child may have begun to count anew.
        let _ = N_ONGOING.fetch_update(SeqCst, SeqCst, |n_ongoing| n_ongoing.checked_sub(1));
    }
}

/// Does work without the interpreter's lock.
///
/// # Errors
/// `ArrowrootError` if the interpreter is about to end, `InternalError` if the work panics.
pub(crate) fn without_lock<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let _ongoing = Ongoing::begin().ok_or_else(ending)?;
    let done = py.detach(|| {
        let done = catch_unwind(AssertUnwindSafe(work));
        come_back();
        done
    });
    done.map_err(|panic| panicked(panic.as_ref()))
}

/// Lets go of something without the interpreter's lock, which what it waits for may need.
pub(crate) fn let_go(work: impl FnOnce() + Send) {
    let mut work = Some(work);
    if let Some(_ongoing) = Ongoing::begin() {
        Python::try_attach(|py| {
            py.detach(|| {
                work.take().into_iter().for_each(|work| work());
                come_back();
            });
        });
    }
    // Else nobody needs the lock any more.
    work.into_iter().for_each(|work| work());
}

/// Called before a thread comes to the interpreter.
fn come_back() {
    if IS_OVER.load(SeqCst) && LAST_THREAD.get().is_some_and(|last| *last != std::thread::current().id()) {
        std::thread::sleep(LATE);
    }
}

/// Has the interpreter give the file up, if it is not whole, and wait for its threads before it ends.
///
/// # Errors
/// `ArrowrootError` if it is about to end: then nobody would.
pub(crate) fn note_file(_py: Python<'_>, file: &Arc<FileWriter>) -> PyResult<()> {
    if LAST_THREAD.get().is_some() {
        return Err(ending());
    }
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    files.retain(|file| file.strong_count() > 0);
    files.push(Arc::downgrade(file));
    Ok(())
}

/// Has the interpreter wait before it ends. What a user registers later is called before.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    let wait = PyCFunction::new_closure(py, None, None, |arguments, _| {
        let files = std::mem::take(&mut *FILES.lock().unwrap_or_else(PoisonError::into_inner));
        arguments.py().detach(|| end(&files));
    })?;
    py.import("atexit")?.call_method1("register", (wait,)).map(|_| ())
}

fn end(files: &[Weak<FileWriter>]) {
    let _ = LAST_THREAD.set(std::thread::current().id());
    for file in files.iter().filter_map(Weak::upgrade).filter(|file| file.queue().is_own_process()) {
        let what = "the interpreter ended before the file was closed".to_owned();
        file.queue().stop(Error::InvalidRequest { what });
        file.abort();
        file.queue().end();
    }
    let started = Instant::now();
    let is_own = || PROCESS.load(SeqCst) == std::process::id();
    while is_own() && N_ONGOING.load(SeqCst) > 0 && started.elapsed() < MAX_WAIT {
        std::thread::sleep(PAUSE);
    }
    IS_OVER.store(true, SeqCst);
}
