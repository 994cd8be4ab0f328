//! The ledgers of layers, as Python has them.

use std::sync::Arc;

use arrowroot::storage::{Ledger, Operation};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Ledgers of some layer boundaries: a dictionary for each kind of operation that there was.
pub(crate) fn ledgers_as_dicts<'py>(py: Python<'py>, ledgers: &[Arc<Ledger>]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for ledger in ledgers {
        for operation in Operation::ALL {
            let totals = ledger.totals(operation);
            if totals.n_attempted == 0 {
                continue;
            }
            let dict = PyDict::new(py);
            dict.set_item("layer", ledger.layer())?;
            dict.set_item("operation", operation.name())?;
            dict.set_item("n_attempted", totals.n_attempted)?;
            dict.set_item("n_successful", totals.n_successful)?;
            dict.set_item("bytes", totals.bytes)?;
            dict.set_item("total_ns", totals.total_ns)?;
            dict.set_item("min_ns", totals.min_ns)?;
            dict.set_item("max_ns", totals.max_ns)?;
            list.append(dict)?;
        }
    }
    Ok(list)
}
