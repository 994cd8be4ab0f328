//! Clusters that are copied packed from a table to one that is being written.

use std::sync::{Arc, PoisonError};

use arrowroot::Table;
use arrowroot_merge::{Error, Packed};
use pyo3::prelude::*;

use crate::errors::merging_to_python;
use crate::patience::{patiently, take_mended, warn_of_mended};
use crate::table::PyTable;
use crate::writer::PyTableWriter;

#[pyclass(name = "Packed", module = "arrowroot._native", frozen)]
pub(crate) struct PyPacked {
    /// `None` if no cluster can be copied.
    packed: Option<Arc<Packed>>,
    table: Arc<dyn Table>,
    writer: Py<PyTableWriter>,
}

#[pymethods]
impl PyPacked {
    #[new]
    fn new(py: Python<'_>, table: &PyTable, writer: Py<PyTableWriter>) -> PyResult<Self> {
        let (table, being_written) = (table.shared(), writer.get().shared());
        let of_input = Arc::clone(&table);
        let found =
            patiently(py, true, move || match &*being_written.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(writer) => Packed::of(of_input, writer),
                None => Ok(None),
            })?;
        Ok(PyPacked { packed: found.map_err(merging_to_python)?.map(Arc::new), table, writer })
    }

    /// First entry, the one after the last, and bytes of each cluster that can be copied.
    fn spans(&self) -> Vec<(u64, u64, u64)> {
        let spans = self.packed.iter().flat_map(|packed| packed.spans());
        spans.map(|span| (span.entries.start, span.entries.end, span.stored_bytes)).collect()
    }

    /// Copies the cluster that begins with an entry; false if it has to be written anew.
    fn copy(&self, py: Python<'_>, first_entry: u64) -> PyResult<bool> {
        let writer = self.writer.get();
        let (packed, being_written) = (self.packed.clone(), writer.shared());
        let copied = patiently(py, true, move || {
            match (packed, &mut *being_written.lock().unwrap_or_else(PoisonError::into_inner)) {
                (Some(packed), Some(writer)) => packed.copy(first_entry, writer),
                _ => Err(Error::InvalidRequest { what: "the table is closed".to_owned() }),
            }
        });
        let copied = copied.inspect_err(|_| writer.give_up("a copy"))?;
        warn_of_mended(py, &take_mended(self.table.file()))?;
        copied.map_err(merging_to_python)
    }
}
