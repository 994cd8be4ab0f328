//! What is logged goes to Python's `logging`: it is kept until a thread that has the interpreter's lock takes it there.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use arrowroot::storage::LOG;
use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// More than these are counted, and not kept, until they are taken.
const MAX_EVENTS: usize = 10_000;
/// `logging.DEBUG` and so on.
const DEBUG: u8 = 10;
const INFO: u8 = 20;
const WARNING: u8 = 30;

/// The level in Python, time in s, and the text.
type Event = (u8, f64, String);

#[derive(Default)]
struct Events {
    kept: Vec<Event>,
    n_lost: usize,
}

static EVENTS: Mutex<Events> = Mutex::new(Events { kept: Vec::new(), n_lost: 0 });
static ARE_WAITING: AtomicBool = AtomicBool::new(false);
static LOGGER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

struct Keeper;

impl Log for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Libraries log, too, and what they say may hold credentials.
        metadata.target() == LOG && metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let level = match record.level() {
            Level::Error | Level::Warn => WARNING,
            Level::Info => INFO,
            Level::Debug | Level::Trace => DEBUG,
        };
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let text = record.args().to_string();
        let mut events = EVENTS.lock().unwrap_or_else(PoisonError::into_inner);
        if events.kept.len() < MAX_EVENTS {
            events.kept.push((level, now_s, text));
        } else {
            events.n_lost += 1;
        }
        ARE_WAITING.store(true, Relaxed);
    }

    fn flush(&self) {}
}

/// Has everything kept that Python listens to.
pub(crate) fn register() {
    // It has been set if the module is imported anew.
    let _ = log::set_logger(&Keeper);
}

/// Asks Python what it listens to. Calls that may do I/O begin with this.
pub(crate) fn listen(py: Python<'_>) -> PyResult<()> {
    log::set_max_level(level(py)?);
    Ok(())
}

fn level(py: Python<'_>) -> PyResult<LevelFilter> {
    let logger = match LOGGER.get(py) {
        Some(logger) => logger,
        // Nobody listens who has not imported it.
        None if !py.import("sys")?.getattr("modules")?.contains("logging")? => return Ok(LevelFilter::Off),
        None => {
            LOGGER.get_or_try_init(py, || py.import("arrowroot._logging")?.getattr("STORAGE").map(Bound::unbind))?
        }
    };
    let listens_to = |level: u8| logger.bind(py).call_method1(intern!(py, "isEnabledFor"), (level,))?.is_truthy();
    Ok(if !listens_to(WARNING)? {
        LevelFilter::Off
    } else if !listens_to(INFO)? {
        LevelFilter::Warn
    } else if !listens_to(DEBUG)? {
        LevelFilter::Info
    } else {
        LevelFilter::Debug
    })
}

/// Takes what was kept to Python.
pub(crate) fn deliver(py: Python<'_>) -> PyResult<()> {
    if !ARE_WAITING.swap(false, Relaxed) {
        return Ok(());
    }
    let events = std::mem::take(&mut *EVENTS.lock().unwrap_or_else(PoisonError::into_inner));
    py.import("arrowroot._logging")?.call_method1("deliver", (events.kept, events.n_lost)).map(drop)
}

/// The same, and lets a signal handler raise what it wants to.
pub(crate) fn deliver_or_stop(py: Python<'_>) -> PyResult<()> {
    deliver(py)?;
    py.check_signals()
}
