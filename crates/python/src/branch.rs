//! What the metadata says of one branch or field.

use std::sync::OnceLock;

use arrowroot::format::codec::CompressionSetting;
use arrowroot::format::column::Column;
use arrowroot::format::tree::{Branch, BranchId, ElementPart};
use arrowroot::{MemberId, Ntuple, TextForm, Tree, lasting};
use pyo3::prelude::*;

use crate::errors::to_python;
use crate::file::is_remote;
use crate::interface::type_name;
use crate::patience::patiently;

/// What is told of a branch or field, besides its names, its place and what it takes.
pub(crate) struct Description {
    pub(crate) title: String,
    pub(crate) type_name: String,
    pub(crate) arrow_type: Option<String>,
    pub(crate) unsupported: Option<String>,
    /// Whether it is no column, but others are inside of it.
    pub(crate) is_group: bool,
    /// Column types of a field; empty for a branch.
    pub(crate) encoding: String,
}

/// What the baskets of a branch take, or the pages of a field and all of its parts.
pub(crate) struct Stored {
    pub(crate) n_baskets: usize,
    pub(crate) stored_bytes: i64,
    pub(crate) memory_bytes: i64,
    pub(crate) compression: String,
}

/// A branch or field, described when something of it is asked for that takes more than a look at its record.
#[pyclass(name = "Branch", module = "arrowroot._native", frozen)]
pub(crate) struct PyBranch {
    source: Source,
    description: OnceLock<Box<Description>>,
    stored: OnceLock<Box<Stored>>,
}

/// Where to look.
enum Source {
    /// A branch, and how deep it is.
    Tree(Tree, BranchId, usize),
    /// A member of an RNTuple.
    Ntuple(Ntuple, MemberId),
}

impl PyBranch {
    fn new(source: Source) -> PyBranch {
        PyBranch { source, description: OnceLock::new(), stored: OnceLock::new() }
    }

    pub(crate) fn of_tree(tree: &Tree, id: BranchId, depth: usize) -> PyBranch {
        PyBranch::new(Source::Tree(tree.clone(), id, depth))
    }

    pub(crate) fn of_ntuple(ntuple: &Ntuple, id: MemberId) -> PyBranch {
        PyBranch::new(Source::Ntuple(ntuple.clone(), id))
    }

    fn description(&self, py: Python<'_>) -> PyResult<&Description> {
        if let Some(description) = self.description.get() {
            return Ok(description);
        }
        let description = match &self.source {
            Source::Tree(tree, id, _) => {
                let (tree, id) = (tree.clone(), *id);
                // The type may be said by the file's descriptions of classes, which were perhaps not read yet.
                patiently(py, is_remote(tree.file()), move || describe(&tree, id))?
            }
            Source::Ntuple(ntuple, id) => {
                let (ntuple, id) = (ntuple.clone(), *id);
                // The first objects of a field may tell its type.
                patiently(py, is_remote(ntuple.file()), move || crate::ntuple::describe(&ntuple, id))?
            }
        };
        let description = description.map_err(to_python)?;
        // Who else was asked has found the same.
        Ok(self.description.get_or_init(|| Box::new(description)))
    }

    /// Not part of the description: for a field, the page lists of all clusters tell it.
    fn stored(&self, py: Python<'_>) -> PyResult<&Stored> {
        if let Some(stored) = self.stored.get() {
            return Ok(stored);
        }
        let stored = match &self.source {
            Source::Tree(tree, id, _) => stored(tree, *id),
            Source::Ntuple(ntuple, id) => {
                let (ntuple, id) = (ntuple.clone(), *id);
                let is_slow = is_remote(ntuple.file()) && !ntuple.knows_sizes();
                patiently(py, is_slow, move || crate::ntuple::stored(&ntuple, id))?.map_err(to_python)?
            }
        };
        Ok(self.stored.get_or_init(|| Box::new(stored)))
    }
}

#[pymethods]
impl PyBranch {
    #[getter]
    fn path(&self) -> &str {
        match &self.source {
            Source::Tree(tree, id, _) => tree.path(*id),
            Source::Ntuple(ntuple, id) => ntuple.member(*id).path(),
        }
    }

    #[getter]
    fn name(&self) -> &str {
        match &self.source {
            Source::Tree(tree, id, _) => &tree.branch(*id).name,
            Source::Ntuple(ntuple, id) => ntuple.member(*id).name(),
        }
    }

    #[getter]
    fn is_group(&self, py: Python<'_>) -> PyResult<bool> {
        let Source::Tree(tree, id, _) = &self.source else { return Ok(false) };
        let branch = tree.branch(*id);
        // Of a class without members there are no branches inside.
        let may_be_bare = || branch.element.as_ref().is_some_and(ElementPart::is_split);
        Ok(!branch.branches.is_empty() || may_be_bare() && self.description(py)?.is_group)
    }

    #[getter]
    fn depth(&self) -> usize {
        match &self.source {
            Source::Tree(_, _, depth) => *depth,
            Source::Ntuple(ntuple, id) => ntuple.member(*id).depth(),
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
    fn is_part(&self) -> bool {
        matches!(&self.source, Source::Ntuple(ntuple, id) if ntuple.member(*id).depth() > 0)
    }

    #[getter]
    fn n_entries(&self) -> i64 {
        match &self.source {
            Source::Tree(tree, id, _) => tree.branch(*id).n_entries,
            Source::Ntuple(ntuple, _) => i64::try_from(ntuple.n_entries()).unwrap_or(i64::MAX),
        }
    }

    #[getter]
    fn n_baskets(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.stored(py)?.n_baskets)
    }

    #[getter]
    fn stored_bytes(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.stored(py)?.stored_bytes)
    }

    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> PyResult<i64> {
        Ok(self.stored(py)?.memory_bytes)
    }

    #[getter]
    fn compression(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.stored(py)?.compression)
    }

    #[getter]
    fn encoding(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(&self.description(py)?.encoding)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let branch = self.description(py)?;
        let kind = if self.is_group(py)? { format!("group {}", branch.type_name) } else { branch.type_name.clone() };
        let plural = |n: i64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        let n_baskets = i64::try_from(self.stored(py)?.n_baskets).unwrap_or(i64::MAX);
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

/// The setting of a branch, or of its file where the branch says "none" and its baskets say otherwise.
fn compression(tree: &Tree, branch: &Branch) -> CompressionSetting {
    if branch.compression.0 <= 0 && branch.stored_bytes < branch.memory_bytes {
        return tree.file().header().compression;
    }
    branch.compression
}

fn describe(tree: &Tree, id: BranchId) -> arrowroot::Result<Description> {
    let branch = tree.branch(id);
    let column = lasting(tree.column(id))?;
    let data_type = column.as_ref().ok().and_then(|column| column.data_type());
    let is_group = column.as_ref().is_ok_and(|column| column.form.is_none());
    let element_class = || {
        // The title of a plain branch is its leaf list.
        branch.element.as_ref().map_or_else(|| branch.title.clone(), |element| element.class_name.clone())
    };
    Ok(Description {
        title: branch.title.clone(),
        type_name: column.as_ref().map_or_else(|_| element_class(), |column: &&Column| column.type_name.clone()),
        arrow_type: data_type.map(|data_type| type_name(&arrowroot::arrow_type(&data_type, TextForm::Utf8))),
        unsupported: column.err().map(|error| error.fault().what.clone()),
        is_group,
        encoding: String::new(),
    })
}

fn stored(tree: &Tree, id: BranchId) -> Stored {
    let branch = tree.branch(id);
    Stored {
        n_baskets: branch.n_baskets(),
        stored_bytes: branch.stored_bytes,
        memory_bytes: branch.memory_bytes,
        compression: compression(tree, branch).to_string(),
    }
}
