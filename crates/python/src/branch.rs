//! What the metadata says of one branch or field.

use std::sync::{Arc, OnceLock};

use arrowroot::{ColumnId, Description, MAX_TYPE_BYTES, Sizes, Table};
use pyo3::prelude::*;

use crate::ending::without_lock;
use crate::errors::to_python;
use crate::interface::type_name;
use crate::patience::{is_remote, patiently, reading};

/// What the metadata says of one branch or field.
///
/// It is looked up when something is asked for that takes more than a look at its record.
///
///     >>> branch = tree.branches[0]
///     >>> branch.path, branch.n_entries, branch.is_group
///     ('run', 100, False)
#[pyclass(name = "Branch", module = "arrowroot._native", frozen)]
pub(crate) struct PyBranch {
    table: Arc<dyn Table>,
    id: ColumnId,
    description: OnceLock<Box<Description>>,
    sizes: OnceLock<Box<Sizes>>,
}

impl PyBranch {
    pub(crate) fn new(table: &Arc<dyn Table>, id: ColumnId) -> PyBranch {
        PyBranch { table: Arc::clone(table), id, description: OnceLock::new(), sizes: OnceLock::new() }
    }

    /// The type may be said by the file's descriptions of classes, or by the first objects, which were perhaps not read yet.
    fn description(&self, py: Python<'_>) -> PyResult<&Description> {
        if let Some(description) = self.description.get() {
            return Ok(description);
        }
        let (table, id) = (Arc::clone(&self.table), self.id);
        let description = reading(py, self.table.file(), move || table.describe(id))?.map_err(to_python)?;
        // Whoever else was asked has found the same.
        Ok(self.description.get_or_init(|| Box::new(description)))
    }

    /// Not part of the description: for a field, the page lists of all clusters tell it.
    fn sizes(&self, py: Python<'_>) -> PyResult<&Sizes> {
        if let Some(sizes) = self.sizes.get() {
            return Ok(sizes);
        }
        let (table, id) = (Arc::clone(&self.table), self.id);
        let is_slow = is_remote(table.file()) && !table.knows_sizes();
        let sizes = patiently(py, is_slow, move || table.column_sizes(id))?.map_err(to_python)?;
        Ok(self.sizes.get_or_init(|| Box::new(sizes)))
    }
}

#[pymethods]
impl PyBranch {
    #[getter]
    fn path(&self) -> &str {
        self.table.place(self.id).path
    }

    #[getter]
    fn name(&self) -> &str {
        self.table.place(self.id).name
    }

    #[getter]
    fn is_group(&self, py: Python<'_>) -> PyResult<bool> {
        match self.table.place(self.id).is_group {
            Some(is_group) => Ok(is_group),
            None => Ok(self.description(py)?.is_group),
        }
    }

    #[getter]
    fn depth(&self) -> usize {
        self.table.place(self.id).depth
    }

    #[getter]
    fn title(&self) -> &str {
        self.table.place(self.id).title
    }

    #[getter]
    fn counter(&self) -> Option<&str> {
        self.table.place(self.id).counter
    }

    #[getter]
    fn type_name(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.description(py)?.type_name)
    }

    #[getter]
    fn asked_type(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.description(py)?.asked_type)
    }

    #[getter]
    fn arrow_type(&self, py: Python<'_>) -> PyResult<Option<String>> {
        // Not kept: it is long, and of many branches the same. What it needs is read for the description.
        if self.description(py)?.unsupported.is_some() {
            return Ok(None);
        }
        let arrow_type = without_lock(py, || self.table.arrow_type(self.id, MAX_TYPE_BYTES))?.map_err(to_python)?;
        Ok(arrow_type.as_ref().map(type_name))
    }

    #[getter]
    fn unsupported(&self, py: Python<'_>) -> PyResult<Option<&str>> {
        Ok(self.description(py)?.unsupported.as_deref())
    }

    #[getter]
    fn is_part(&self) -> bool {
        self.table.place(self.id).is_part
    }

    #[getter]
    fn n_entries(&self) -> i64 {
        self.table.place(self.id).n_entries
    }

    #[getter]
    fn n_baskets(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.sizes(py)?.n_pieces)
    }

    #[getter]
    fn stored_bytes(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.sizes(py)?.stored_bytes)
    }

    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.sizes(py)?.memory_bytes)
    }

    #[getter]
    fn compression(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.sizes(py)?.compression)
    }

    #[getter]
    fn encoding(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.description(py)?.encoding)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let type_name = &self.description(py)?.type_name;
        let kind = if self.is_group(py)? { format!("group {type_name}") } else { type_name.clone() };
        let plural = |n: i64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        let n_baskets = i64::try_from(self.sizes(py)?.n_pieces).unwrap_or(i64::MAX);
        Ok(format!(
            "<Branch {:?} {}: {}, {}>",
            self.path(),
            printable(kind.trim_end()),
            plural(self.n_entries(), "entry", "entries"),
            plural(n_baskets, "basket", "baskets")
        ))
    }
}

/// A text of a file without what would drive a terminal.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\'' | '"' | '\\' => shown.push(letter),
            letter => shown.extend(letter.escape_debug()),
        }
    }
    shown
}
