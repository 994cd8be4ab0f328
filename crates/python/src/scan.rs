//! Scans and their batches.

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use arrowroot::{BatchEntries, Plan, PlannedWindow, Scan, ScanHandle};
use numpy::PyReadonlyArray1;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyCapsule, PyDict, PyList};

use crate::ending::{let_go, without_lock};
use crate::errors::to_python;
use crate::interface::{batch_capsules, schema_capsule, stream_capsule};
use crate::ledgers::ledgers_as_dicts;
use crate::logging;
use crate::patience::warn_of_mended;

#[pyclass(name = "Scan", module = "arrowroot._native", frozen)]
pub(crate) struct PyScan {
    handle: ScanHandle,
    pass: Arc<Mutex<Pass>>,
}

impl PyScan {
    pub(crate) fn new(scan: Scan) -> Self {
        PyScan { handle: scan.handle(), pass: Arc::new(Mutex::new(Pass { scan: Some(scan), n_batches: 0 })) }
    }
}

/// The one pass that all ways of reading draw from.
struct Pass {
    /// `None` once it is dropped.
    scan: Option<Scan>,
    n_batches: usize,
}

impl Pass {
    /// The next batch and its number.
    fn next_batch(&mut self, interrupted: &mut dyn FnMut() -> bool) -> arrowroot::Result<Option<(RecordBatch, usize)>> {
        let Some(scan) = &mut self.scan else { return Ok(None) };
        let batch = scan.next_batch(interrupted)?;
        let number = self.n_batches;
        self.n_batches += usize::from(batch.is_some());
        Ok(batch.map(|batch| (batch, number)))
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        // The interpreter's lock may be held here, and one of the scan's threads, whose end is waited for, may need it.
        let scan = self.scan.take();
        let_go(move || drop(scan));
    }
}

/// Whether Python wants to stop: a signal handler raised something. The consumer of a stream sees an error of its own
/// library; what was raised is raised again as soon as that library returns.
fn interrupted() -> bool {
    Python::attach(|py| match logging::deliver_or_stop(py) {
        Ok(()) => false,
        Err(error) => {
            raise_later(error);
            true
        }
    })
}

/// Has the main thread raise an exception when it next runs Python code. The interpreter must be attached.
#[expect(unsafe_code, reason = "there is no safe way to raise an exception later")]
fn raise_later(error: PyErr) {
    extern "C" fn raise(argument: *mut c_void) -> c_int {
        // SAFETY: `argument` is what was made below, and comes here once. The interpreter calls this attached.
        let error = unsafe { Box::from_raw(argument.cast::<PyErr>()) };
        Python::attach(|py| error.restore(py));
        -1
    }
    let argument = Box::into_raw(Box::new(error));
    // SAFETY: the interpreter is attached, and what is called takes this argument.
    if unsafe { ffi::Py_AddPendingCall(Some(raise), argument.cast()) } != 0 {
        // No room among what is to be called: at least the program is stopped.
        // SAFETY: nobody else has the argument, and the interpreter is attached.
        unsafe {
            drop(Box::from_raw(argument));
            ffi::PyErr_SetInterrupt();
        }
    }
}

/// Offset, bytes, first entry and end, start and end in ns.
type PlannedRead = (u64, u64, u64, u64, u64, u64);
/// Operation, request, offset, bytes, start and end in ns.
type PhysicalRead = (&'static str, u64, u64, u64, u64, u64);
/// Offset, bytes, first entry, column, times of asking and decoding in ns.
type LogicalRead = (u64, u64, u64, String, u64, u64);

#[pymethods]
impl PyScan {
    #[getter]
    fn num_entries(&self) -> u64 {
        self.handle.plan().n_entries
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.handle.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    #[getter]
    fn n_batches(&self) -> usize {
        self.handle.plan().batches.len()
    }

    #[getter]
    fn read_bytes(&self) -> u64 {
        self.handle.plan().read_bytes()
    }

    #[getter]
    fn is_remote(&self) -> bool {
        self.handle.is_remote()
    }

    /// A memory budget with which nothing is decompressed again; 0 if this one does, but for less than a tenth.
    #[getter]
    fn enough_budget_bytes(&self) -> u64 {
        let plan = self.handle.plan();
        if plan.n_repeated.saturating_mul(10) < plan.n_pieces() { 0 } else { plan.enough_budget_bytes }
    }

    #[getter]
    fn max_ranges(&self) -> usize {
        self.handle.max_ranges()
    }

    #[getter]
    fn line_bytes(&self) -> u64 {
        self.handle.line_bytes()
    }

    fn needed_bytes(&self, py: Python<'_>, rows: PyReadonlyArray1<'_, i64>) -> PyResult<(u64, u64)> {
        let rows: Vec<u64> = rows.as_array().iter().filter_map(|&row| u64::try_from(row).ok()).collect();
        without_lock(py, || self.handle.plan().needed_bytes(&rows))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, self.handle.schema())
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows to ignore a requested schema.
        let _ = requested_schema;
        stream_capsule(py, Box::new(Stream { handle: self.handle.clone(), pass: Arc::clone(&self.pass) }))
    }

    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<PyBatch>> {
        logging::listen(py)?;
        // The error of a signal handler must reach the caller as it is.
        let mut raised = None;
        let result = without_lock(py, || {
            let mut pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner);
            let mut interrupted = || {
                Python::attach(|py| match logging::deliver_or_stop(py) {
                    Ok(()) => false,
                    Err(error) => {
                        raised = Some(error);
                        true
                    }
                })
            };
            pass.next_batch(&mut interrupted)
        })?;
        if let Some(error) = raised {
            return Err(error);
        }
        logging::deliver(py)?;
        warn_of_mended(py, &self.handle.take_mended())?;
        let first_entry =
            |number: usize| self.handle.plan().batches.get(number).map_or(0, |batch| batch.entries.first());
        result
            .map(|batch| batch.map(|(batch, number)| PyBatch { first_entry: first_entry(number), batch }))
            .map_err(to_python)
    }

    fn begin_fetching(&self, py: Python<'_>) -> PyResult<()> {
        logging::listen(py)?;
        let begun = without_lock(py, || {
            let mut pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner);
            pass.scan.as_mut().map_or(Ok(()), Scan::begin_fetching)
        })?;
        begun.map_err(to_python)
    }

    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        plan_as_dict(py, self.handle.plan())
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = PyDict::new(py);
        for (name, value) in self.handle.stats().named() {
            // The public name, from when there were only trees.
            stats.set_item(if name == "n_pieces" { "n_baskets" } else { name }, value)?;
        }
        Ok(stats)
    }

    fn trace(&self, py: Python<'_>) -> PyResult<Vec<PlannedRead>> {
        without_lock(py, || {
            let mut entries = entries_of_reads(self.handle.plan());
            let mut reads = self.handle.physical_reads();
            reads.sort_by_key(|read| read.start_ns);
            reads
                .into_iter()
                .map(|read| {
                    let planned = entries.get_mut(&read.offset).and_then(VecDeque::pop_front).unwrap_or_default();
                    (read.offset, read.n_bytes, planned.start, planned.end, read.start_ns, read.end_ns)
                })
                .collect()
        })
    }

    fn ledgers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        ledgers_as_dicts(py, self.handle.ledgers())
    }

    fn physical_reads(&self, py: Python<'_>) -> PyResult<Vec<PhysicalRead>> {
        without_lock(py, || {
            let reads = self.handle.physical_reads().into_iter();
            reads
                .map(|read| {
                    (read.operation.name(), read.request, read.offset, read.n_bytes, read.start_ns, read.end_ns)
                })
                .collect()
        })
    }

    fn logical_reads(&self, py: Python<'_>) -> PyResult<Vec<LogicalRead>> {
        without_lock(py, || {
            let columns = &self.handle.plan().columns;
            let path = |column: usize| columns.get(column).map_or_else(String::new, |column| column.path.clone());
            let reads = self.handle.logical_reads().into_iter();
            reads
                .map(|read| {
                    (read.offset, read.n_bytes, read.first_entry, path(read.column), read.asked_ns, read.decode_ns)
                })
                .collect()
        })
    }

    fn cancel(&self) {
        self.handle.cancel();
    }
}

/// The entries of the baskets of each planned read, by its offset; one that is read again comes again, in order.
fn entries_of_reads(plan: &Plan) -> HashMap<u64, VecDeque<Range<u64>>> {
    let mut entries: HashMap<u64, VecDeque<Range<u64>>> = HashMap::new();
    for window in plan.windows() {
        for span in &window.spans {
            let baskets = span
                .members
                .iter()
                .filter_map(|&member| window.pieces.get(member))
                .filter_map(|basket| plan.columns.get(basket.column as usize)?.pieces.get(basket.piece as usize));
            let together = baskets
                .map(|basket| basket.first_entry..basket.entry_end)
                .reduce(|all, basket| all.start.min(basket.start)..all.end.max(basket.end));
            entries.entry(span.range.start).or_default().push_back(together.unwrap_or_default());
        }
    }
    entries
}

fn plan_as_dict<'py>(py: Python<'py>, plan: &Plan) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let columns: Vec<&str> = plan.schema().fields().iter().map(|field| field.name().as_str()).collect();
    dict.set_item("columns", columns)?;
    dict.set_item("n_entries", plan.n_entries)?;
    dict.set_item("n_baskets", plan.n_pieces())?;
    dict.set_item("n_repeated", plan.n_repeated)?;
    dict.set_item("n_reads", plan.n_reads())?;
    dict.set_item("payload_bytes", plan.payload_bytes())?;
    dict.set_item("read_bytes", plan.read_bytes())?;
    dict.set_item("max_gap_bytes", plan.max_gap_bytes())?;
    let windows = PyList::empty(py);
    for batch in &plan.batches {
        for (index, window) in batch.windows.iter().enumerate() {
            let next = batch.windows.get(index + 1).map(|next| next.first_entry);
            windows.append(window_as_dict(py, window, &batch.entries, next)?)?;
        }
    }
    dict.set_item("windows", windows)?;
    Ok(dict)
}

fn window_as_dict<'py>(
    py: Python<'py>,
    window: &PlannedWindow,
    entries: &BatchEntries,
    next_first_entry: Option<u64>,
) -> PyResult<Bound<'py, PyDict>> {
    let first_entry = window.first_entry.max(entries.first());
    let n_entries = match entries {
        BatchEntries::Range(range) => next_first_entry.unwrap_or(range.end).min(range.end).saturating_sub(first_entry),
        BatchEntries::List { sorted, .. } => {
            let until = |end: u64| sorted.partition_point(|&entry| entry < end);
            (next_first_entry.map_or(sorted.len(), until)).saturating_sub(until(first_entry)) as u64
        }
    };
    let dict = PyDict::new(py);
    dict.set_item("first_entry", first_entry)?;
    dict.set_item("n_entries", n_entries)?;
    dict.set_item("n_baskets", window.n_decompressed())?;
    let ranges: Vec<(u64, u64)> =
        window.spans.iter().map(|span| (span.range.start, span.range.end - span.range.start)).collect();
    dict.set_item("ranges", ranges)?;
    Ok(dict)
}

#[pyclass(name = "Batch", module = "arrowroot._native", frozen)]
pub(crate) struct PyBatch {
    batch: RecordBatch,
    #[pyo3(get)]
    first_entry: u64,
}

#[pymethods]
impl PyBatch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        batch_capsules(py, &self.batch)
    }
}

/// The batches of a scan for the Arrow C stream interface.
struct Stream {
    handle: ScanHandle,
    pass: Arc<Mutex<Pass>>,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // A consumer may hold the interpreter's lock, which threads that read may need.
        let drawn = Python::try_attach(|py| {
            let listens = logging::listen(py);
            let batch = without_lock(py, || {
                let mut pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner);
                pass.next_batch(&mut interrupted)
            });
            let batch = batch.unwrap_or_else(|error| {
                error.write_unraisable(py, None);
                Err(arrowroot::Error::Cancelled)
            });
            if let Err(error) = listens.and_then(|()| logging::deliver(py)) {
                // As that of Ctrl-C is, while Python logs.
                raise_later(error);
            }
            if let Err(error) = warn_of_mended(py, &self.handle.take_mended()) {
                // A stream has errors of its own, which those of a warning are not.
                error.write_unraisable(py, None);
            }
            batch
        });
        let batch = drawn.unwrap_or(Err(arrowroot::Error::Cancelled));
        let batch = batch.map(|batch| batch.map(|(batch, _)| batch));
        batch.map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        self.handle.schema().clone()
    }
}
