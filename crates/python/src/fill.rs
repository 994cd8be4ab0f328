//! Contexts: places from which threads fill a table.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::Schema;
use arrowroot_writer::contexts::CLOSED;
use arrowroot_writer::{Checked, ContextReport, ContextSettings, Doing, Fill, FillContext, Order, Policy, Step};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::ending::{let_go, without_lock};
use crate::errors::{invalid, writing_to_python};
use crate::incoming::{Given, Intake};
use crate::patience::patiently;

/// More entries are checked where a signal can end the waiting for that.
const MAX_ENTRIES_AT_ONCE: usize = 1 << 20;

#[pyclass(name = "FillContext", module = "arrowroot._native", frozen)]
pub(crate) struct PyFillContext {
    intake: Arc<Intake>,
    /// `None` once it is closed. Calls that a signal has ended may still be at it.
    context: Mutex<Option<Arc<FillContext>>>,
}

impl PyFillContext {
    pub(crate) fn new(schema: &Arc<Schema>, context: FillContext) -> Self {
        let context = Mutex::new(Some(Arc::new(context)));
        PyFillContext { intake: Intake::of(schema), context }
    }

    fn context(&self) -> PyResult<Arc<FillContext>> {
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner).clone();
        context.ok_or_else(|| invalid(CLOSED.to_owned()))
    }
}

impl Drop for PyFillContext {
    fn drop(&mut self) {
        // It may be the last that has the file, whose threads may need the interpreter's lock to let go of arrays.
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(context) = context {
            let_go(move || drop(context));
        }
    }
}

#[pymethods]
impl PyFillContext {
    /// Takes a batch. Returns false if there is no room for it and `waits` is false: nothing is taken then. `text_bytes`: as
    /// `Incoming.take` has it.
    #[pyo3(signature = (batch, text_bytes, first_entry, *, waits, takes_signals))]
    fn fill(
        &self,
        py: Python<'_>,
        batch: Bound<'_, PyAny>,
        text_bytes: Vec<u64>,
        first_entry: Option<u64>,
        waits: bool,
        takes_signals: bool,
    ) -> PyResult<bool> {
        let given = Given::of(&batch, text_bytes)?;
        let context = self.context()?;
        let takes_long = given.n_entries() > MAX_ENTRIES_AT_ONCE;
        let (intake, checking) = (Arc::clone(&self.intake), Arc::clone(&context));
        let checked = move || checking.checked_as_made(|| intake.take(given), first_entry);
        let begun = |checked: arrowroot_writer::Result<Checked>| {
            let mut fill = context.begin_with(checked?)?;
            let step = fill.advance()?;
            Ok((fill, step))
        };
        // The lock is let go of once, but for what a signal may end: who comes back to it waits for all that want it.
        if !takes_signals {
            let filled = without_lock(py, || begun(checked()).and_then(|(fill, step)| fill_now(fill, step, waits)))?;
            return filled.map_err(writing_to_python);
        }
        let begun = if takes_long {
            let checked = patiently(py, true, checked)?;
            without_lock(py, || begun(checked))?
        } else {
            without_lock(py, || begun(checked()))?
        };
        let (fill, step) = begun.map_err(writing_to_python)?;
        fill_patiently(py, &context, fill, step, waits)
    }

    /// The producer begins to wait for data, or has them.
    fn mark_data(&self, has_come: bool) -> PyResult<()> {
        let context = self.context()?;
        if has_come {
            context.end_data()
        } else {
            context.begin_data()
        }
        Ok(())
    }

    /// Ends it; a fill of another thread goes on.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(context) = &context {
            context.end();
        }
        without_lock(py, || drop(context))
    }
}

/// Goes on from a step until all entries are taken, or none if that would be to wait for and `waits` is false.
fn fill_now(mut fill: Fill, mut step: Step, waits: bool) -> arrowroot_writer::Result<bool> {
    loop {
        match step {
            Step::Done => return Ok(true),
            Step::Work(work) => work.complete()?,
            Step::Full if !waits && !fill.has_begun() => return Ok(false),
            Step::Full => {
                fill.wait(&AtomicBool::new(false))?;
            }
        }
        step = fill.advance()?;
    }
}

/// The same, in the thread that gets signals: what takes long is done by another one, and a signal ends the waiting for it.
fn fill_patiently(
    py: Python<'_>,
    context: &Arc<FillContext>,
    mut fill: Fill,
    mut step: Step,
    waits: bool,
) -> PyResult<bool> {
    loop {
        match step {
            Step::Done => return Ok(true),
            // Some of it is taken: if nobody waits for the rest, nobody knows whether it was, and the file is given up.
            Step::Work(work) => {
                let done = patiently(py, true, move || work.complete()).inspect_err(|_| context.give_up())?;
                done.map_err(writing_to_python)?;
            }
            Step::Full if fill.has_begun() => {
                let done = patiently(py, true, move || fill.complete()).inspect_err(|_| context.give_up())?;
                done.map_err(writing_to_python)?;
                return Ok(true);
            }
            Step::Full if !waits => return Ok(false),
            Step::Full => {
                let is_cancelled = Arc::new(AtomicBool::new(false));
                let flag = Arc::clone(&is_cancelled);
                let waited = patiently(py, true, move || fill.wait(&flag).map(|_| fill)).inspect_err(|_| {
                    is_cancelled.store(true, Relaxed);
                    context.wake();
                })?;
                fill = waited.map_err(writing_to_python)?;
            }
        }
        step = without_lock(py, || fill.advance())?.map_err(writing_to_python)?;
    }
}

/// How a table is filled, from the names that Python has for it.
pub(crate) fn settings_of(policy: &str, n_buffers: usize, order: &str, helps: bool) -> PyResult<ContextSettings> {
    let policy = match policy {
        "fullest" => Policy::Fullest,
        "fifo" => Policy::Fifo,
        "single" => Policy::Single,
        other => return Err(invalid(format!("no policy {other:?}"))),
    };
    let order = match order {
        "free" => Order::Free,
        "filled" => Order::Filled,
        "numbered" => Order::Numbered,
        other => return Err(invalid(format!("no order {other:?}"))),
    };
    Ok(ContextSettings { policy, n_buffers, order, helps })
}

/// The reports of contexts as dictionaries; `intervals` are three arrays: what, from when, until when.
pub(crate) fn reports_as_dicts<'py>(py: Python<'py>, reports: Vec<ContextReport>) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for report in reports {
        let dict = PyDict::new(py);
        dict.set_item("name", report.name)?;
        dict.set_item("table", report.table)?;
        dict.set_item("start_ns", report.start_ns)?;
        dict.set_item("end_ns", report.end_ns)?;
        dict.set_item("n_fills", report.n_fills)?;
        dict.set_item("n_entries", report.n_entries)?;
        let times = PyDict::new(py);
        for (doing, time_ns) in Doing::ALL.into_iter().zip(report.times_ns) {
            times.set_item(doing.name(), time_ns)?;
        }
        dict.set_item("times_ns", times)?;
        dict.set_item("n_waits", report.n_waits)?;
        dict.set_item("longest_wait_ns", report.longest_wait_ns)?;
        dict.set_item("n_stalls", report.n_stalls)?;
        dict.set_item("stalls_ns", report.stalls_ns)?;
        let column = |of: fn(&arrowroot_writer::Interval) -> u64| {
            PyArray1::from_vec(py, report.intervals.iter().map(of).collect::<Vec<u64>>())
        };
        let intervals = (
            column(|interval| interval.doing as u64),
            column(|interval| interval.start_ns),
            column(|interval| interval.end_ns),
        );
        dict.set_item("intervals", intervals)?;
        list.append(dict)?;
    }
    Ok(list)
}
