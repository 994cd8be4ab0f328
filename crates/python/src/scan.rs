//! Scans and their batches.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use arrowroot::{BatchEntries, Plan, PlannedWindow, Scan, ScanHandle};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyCapsule, PyDict, PyList};

use crate::errors::to_python;
use crate::interface::{batch_capsules, schema_capsule, stream_capsule};

#[pyclass(name = "Scan", module = "arrowroot._native", frozen)]
pub(crate) struct PyScan {
    handle: ScanHandle,
    pass: Arc<Mutex<Pass>>,
}

/// The one pass that all ways of reading draw from.
struct Pass {
    scan: Scan,
    n_batches: usize,
}

impl PyScan {
    pub(crate) fn new(scan: Scan) -> Self {
        PyScan { handle: scan.handle(), pass: Arc::new(Mutex::new(Pass { scan, n_batches: 0 })) }
    }
}

/// Whether Python wants to stop: a signal handler raised something.
fn interrupted() -> bool {
    Python::attach(|py| py.check_signals().is_err())
}

#[pymethods]
impl PyScan {
    #[getter]
    fn num_entries(&self) -> u64 {
        self.handle.plan().n_entries
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.handle.plan().schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, self.handle.plan().schema())
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows to ignore a requested schema.
        let _ = requested_schema;
        let schema = self.handle.plan().schema().clone();
        stream_capsule(py, Box::new(Stream { schema, pass: Arc::clone(&self.pass) }))
    }

    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<PyBatch>> {
        // The error of a signal handler must reach the caller as it is.
        let mut raised = None;
        let result = py.detach(|| {
            let mut pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner);
            let mut interrupted = || {
                Python::attach(|py| match py.check_signals() {
                    Ok(()) => false,
                    Err(error) => {
                        raised = Some(error);
                        true
                    }
                })
            };
            let batch = pass.scan.next_batch(&mut interrupted)?;
            let number = pass.n_batches;
            pass.n_batches += usize::from(batch.is_some());
            Ok(batch.map(|batch| (batch, number)))
        });
        if let Some(error) = raised {
            return Err(error);
        }
        let first_entry =
            |number: usize| self.handle.plan().batches.get(number).map_or(0, |batch| batch.entries.first());
        result
            .map(|batch| batch.map(|(batch, number)| PyBatch { first_entry: first_entry(number), batch }))
            .map_err(to_python)
    }

    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        plan_as_dict(py, self.handle.plan())
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = PyDict::new(py);
        for (name, value) in self.handle.stats().named() {
            stats.set_item(name, value)?;
        }
        Ok(stats)
    }

    fn trace(&self, py: Python<'_>) -> Vec<(u64, u64, u64, u64, u64)> {
        py.detach(|| {
            let plan = self.handle.plan();
            let mut first_entries: Vec<(u64, u64)> = plan
                .windows()
                .flat_map(|window| window.spans.iter().map(|span| (span.range.start, window.first_entry)))
                .collect();
            first_entries.sort_unstable();
            let first_entry = |offset: u64| {
                let after = first_entries.partition_point(|&(start, _)| start <= offset);
                after.checked_sub(1).map_or(0, |place| first_entries[place].1)
            };
            self.handle
                .trace()
                .into_iter()
                .map(|read| (read.offset, read.n_bytes, first_entry(read.offset), read.start_ns, read.end_ns))
                .collect()
        })
    }

    fn cancel(&self) {
        self.handle.cancel();
    }
}

fn plan_as_dict<'py>(py: Python<'py>, plan: &Plan) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let columns: Vec<&str> = plan.schema().fields().iter().map(|field| field.name().as_str()).collect();
    dict.set_item("columns", columns)?;
    dict.set_item("n_entries", plan.n_entries)?;
    dict.set_item("n_baskets", plan.n_baskets())?;
    dict.set_item("n_reads", plan.n_reads())?;
    dict.set_item("payload_bytes", plan.payload_bytes())?;
    dict.set_item("read_bytes", plan.read_bytes())?;
    dict.set_item("max_gap_bytes", plan.max_gap_bytes())?;
    let windows = PyList::empty(py);
    for batch in &plan.batches {
        for (place, window) in batch.windows.iter().enumerate() {
            let next = batch.windows.get(place + 1).map(|next| next.first_entry);
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
    let end = match entries {
        BatchEntries::Range(range) => next_first_entry.unwrap_or(range.end).min(range.end),
        BatchEntries::List { sorted, .. } => next_first_entry.unwrap_or(sorted.last().map_or(0, |last| last + 1)),
    };
    let first_entry = window.first_entry.max(entries.first());
    let dict = PyDict::new(py);
    dict.set_item("first_entry", first_entry)?;
    dict.set_item("n_entries", end.saturating_sub(first_entry))?;
    dict.set_item("n_baskets", window.baskets.iter().filter(|basket| !basket.carried).count())?;
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
    schema: SchemaRef,
    pass: Arc<Mutex<Pass>>,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = pass.scan.next_batch(&mut interrupted);
        if matches!(batch, Ok(Some(_))) {
            pass.n_batches += 1;
        }
        batch.map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
