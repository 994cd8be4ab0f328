//! What the metadata says of one branch or field.

use std::sync::OnceLock;

use arrowroot::format::codec::CompressionSetting;
use arrowroot::format::column::Column;
use arrowroot::format::tree::{Branch, BranchId};
use arrowroot::{TextForm, Tree};
use pyo3::prelude::*;

use crate::file::is_remote;
use crate::interface::type_name;
use crate::patience::patiently;

/// All that is told of a branch or field.
pub(crate) struct Description {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) type_name: String,
    pub(crate) arrow_type: Option<String>,
    pub(crate) unsupported: Option<String>,
    pub(crate) is_group: bool,
    /// Its values are inside those of a branch around it.
    pub(crate) is_part: bool,
    pub(crate) n_entries: i64,
    pub(crate) n_baskets: usize,
    pub(crate) stored_bytes: i64,
    pub(crate) memory_bytes: i64,
    pub(crate) compression: String,
    /// Column types of a field; empty for a branch.
    pub(crate) encoding: String,
    pub(crate) depth: usize,
}

/// A branch, described when something of it is asked for that takes more than a look at the record of its tree.
#[pyclass(name = "Branch", module = "arrowroot._native", frozen)]
pub(crate) struct PyBranch {
    /// Where to look; `None` if it was described when it was made.
    branch: Option<(Tree, BranchId, usize)>,
    description: OnceLock<Box<Description>>,
}

impl PyBranch {
    pub(crate) fn of_tree(tree: &Tree, id: BranchId, depth: usize) -> PyBranch {
        PyBranch { branch: Some((tree.clone(), id, depth)), description: OnceLock::new() }
    }

    fn description(&self, py: Python<'_>) -> PyResult<&Description> {
        if let (Some((tree, id, depth)), None) = (&self.branch, self.description.get()) {
            let (tree, id, depth) = (tree.clone(), *id, *depth);
            // The type may be said by the file's descriptions of classes, which were perhaps not read yet.
            let description = patiently(py, is_remote(tree.file()), move || describe(&tree, id, depth))?;
            let _ = self.description.set(Box::new(description)); // who else was asked has found the same
        }
        self.description
            .get()
            .map(Box::as_ref)
            .ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("a branch without a tree"))
    }
}

impl From<Description> for PyBranch {
    fn from(description: Description) -> Self {
        PyBranch { branch: None, description: OnceLock::from(Box::new(description)) }
    }
}

#[pymethods]
impl PyBranch {
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<&str> {
        match &self.branch {
            Some((tree, id, _)) => Ok(tree.path(*id)),
            None => Ok(&self.description(py)?.path),
        }
    }

    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<&str> {
        match &self.branch {
            Some((tree, id, _)) => Ok(&tree.branch(*id).name),
            None => Ok(&self.description(py)?.name),
        }
    }

    #[getter]
    fn is_group(&self, py: Python<'_>) -> PyResult<bool> {
        match &self.branch {
            Some((tree, id, _)) => Ok(!tree.branch(*id).branches.is_empty()),
            None => Ok(self.description(py)?.is_group),
        }
    }

    #[getter]
    fn depth(&self, py: Python<'_>) -> PyResult<usize> {
        match &self.branch {
            Some((_, _, depth)) => Ok(*depth),
            None => Ok(self.description(py)?.depth),
        }
    }

    #[getter]
    fn title(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.description(py)?.title)
    }

    #[getter]
    fn type_name(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.description(py)?.type_name)
    }

    #[getter]
    fn arrow_type(&self, py: Python<'_>) -> PyResult<Option<&str>> {
        Ok(self.description(py)?.arrow_type.as_deref())
    }

    #[getter]
    fn unsupported(&self, py: Python<'_>) -> PyResult<Option<&str>> {
        Ok(self.description(py)?.unsupported.as_deref())
    }

    #[getter]
    fn is_part(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.description(py)?.is_part)
    }

    #[getter]
    fn n_entries(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.description(py)?.n_entries)
    }

    #[getter]
    fn n_baskets(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.description(py)?.n_baskets)
    }

    #[getter]
    fn stored_bytes(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.description(py)?.stored_bytes)
    }

    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.description(py)?.memory_bytes)
    }

    #[getter]
    fn compression(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.description(py)?.compression)
    }

    #[getter]
    fn encoding(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.description(py)?.encoding)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let branch = self.description(py)?;
        let kind = if branch.is_group { format!("group {}", branch.type_name) } else { branch.type_name.clone() };
        let plural = |n: i64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        let n_baskets = i64::try_from(branch.n_baskets).unwrap_or(i64::MAX);
        Ok(format!(
            "<Branch {:?} {}: {}, {}>",
            branch.path,
            kind.trim_end(),
            plural(branch.n_entries, "entry", "entries"),
            plural(n_baskets, "basket", "baskets")
        ))
    }
}

/// The setting of a branch, or of its file where the branch says "none" and its baskets say otherwise.
fn compression(tree: &Tree, branch: &Branch) -> CompressionSetting {
    if branch.compression.0 <= 0 && branch.stored_bytes < branch.memory_bytes {
        return tree.file().header().compression;
    }
    branch.compression
}

fn describe(tree: &Tree, id: BranchId, depth: usize) -> Description {
    let branch = tree.branch(id);
    let column = tree.column(id);
    let data_type = column.as_ref().ok().and_then(|column| column.data_type());
    let element_class = || {
        // The title of a plain branch is its leaf list.
        branch.element.as_ref().map_or_else(|| branch.title.clone(), |element| element.class_name.clone())
    };
    Description {
        path: tree.path(id).to_owned(),
        name: branch.name.clone(),
        title: branch.title.clone(),
        type_name: column.as_ref().map_or_else(|_| element_class(), |column: &&Column| column.type_name.clone()),
        arrow_type: data_type.map(|data_type| type_name(&arrowroot::arrow_type(&data_type, TextForm::Utf8))),
        unsupported: column.err().map(|error| error.fault().what.clone()),
        is_group: !branch.branches.is_empty(),
        is_part: false,
        n_entries: branch.n_entries,
        n_baskets: branch.n_baskets(),
        stored_bytes: branch.stored_bytes,
        memory_bytes: branch.memory_bytes,
        compression: compression(tree, branch).to_string(),
        encoding: String::new(),
        depth,
    }
}
