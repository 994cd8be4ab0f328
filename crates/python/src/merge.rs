//! Merging files.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use arrowroot_merge::{Columns, Error, Merger, Pick, Picked, Report, Rule, Rules, Settings};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::errors::{invalid, merging_to_python};
use crate::file::PyFile;
use crate::patience::patiently;
use crate::table::PyTable;
use crate::writer::PyFileWriter;

/// A tree, its path in the output, paths of its branches, and runs of its entries: the first of each and the one after its last.
type PyPick<'py> = (PyRef<'py, PyTable>, String, Vec<String>, PyReadonlyArray1<'py, u64>);

/// Merges files that are added one after another into one that is being written.
#[pyclass(name = "Merger", module = "arrowroot._native", frozen)]
pub(crate) struct PyMerger {
    /// `None` once it is finished.
    merger: Arc<Mutex<Option<Merger>>>,
}

#[pymethods]
impl PyMerger {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "named by their caller")]
    #[pyo3(signature = (file, *, columns = "strict", rules, rebasket = false, provenance = false, join = None, repack = false, stays = false))]
    fn new(
        file: &PyFileWriter,
        columns: &str,
        rules: Vec<(String, String)>,
        rebasket: bool,
        provenance: bool,
        join: Option<String>,
        repack: bool,
        stays: bool,
    ) -> PyResult<Self> {
        let columns = match columns {
            "strict" => Columns::Strict,
            "union" => Columns::Union,
            "first" => Columns::First,
            other => return Err(invalid(format!("columns: {other:?} is none of strict, union, first"))),
        };
        let rule = |(pattern, name): (String, String)| Ok((pattern, Rule::of_name(&name)?));
        let rules = rules.into_iter().map(rule).collect::<Result<_, Error>>().map_err(merging_to_python)?;
        let rules = Rules::new(rules);
        let settings = Settings { columns, rules, rebaskets: rebasket, provenance, join, repacks: repack, stays };
        let merger = Merger::new(file.writer(), settings);
        Ok(PyMerger { merger: Arc::new(Mutex::new(Some(merger))) })
    }

    /// Adds all of an input, or what has one of some paths; or nothing. Returns how many bytes the output has so far.
    #[pyo3(signature = (file, paths = None))]
    fn add(&self, py: Python<'_>, file: &PyFile, paths: Option<HashSet<String>>) -> PyResult<u64> {
        let file = file.file().clone();
        self.patiently(py, move |merger| {
            let merger = merger.as_mut().ok_or_else(finished)?;
            match paths {
                None => merger.add(&file)?,
                Some(paths) => merger.add_some(&file, &paths.into_iter().collect())?,
            }
            merger.written_bytes()
        })
    }

    /// Adds what has one of some paths, and entries of trees as their bytes are.
    fn add_picked(
        &self,
        py: Python<'_>,
        file: &PyFile,
        paths: HashSet<String>,
        picks: Vec<PyPick<'_>>,
        tried: Vec<PyPick<'_>>,
    ) -> PyResult<()> {
        let file = file.file().clone();
        let (picks, tried) = (picks_of(picks)?, picks_of(tried)?);
        self.patiently(py, move |merger| {
            let merger = merger.as_mut().ok_or_else(finished)?;
            merger.add_picked(&file, &paths.into_iter().collect(), &picks, &tried)
        })
    }

    /// The name of the rule for objects of a path, if one was given.
    fn rule_of(&self, py: Python<'_>, path: String) -> PyResult<Option<&'static str>> {
        self.patiently(py, move |merger| {
            let merger = merger.as_mut().ok_or_else(finished)?;
            Ok(merger.rule_of(&path).map(Rule::name))
        })
    }

    /// Writes what the output lacks, and says what became of all objects.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = self.patiently(py, |merger| merger.take().ok_or_else(finished)?.finish())?;
        report_as_dict(py, report)
    }
}

impl PyMerger {
    fn patiently<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Option<Merger>) -> arrowroot_merge::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let merger = Arc::clone(&self.merger);
        let done = patiently(py, true, move || work(&mut merger.lock().unwrap_or_else(PoisonError::into_inner)))?;
        done.map_err(merging_to_python)
    }
}

fn picks_of(picks: Vec<PyPick<'_>>) -> PyResult<Vec<Pick>> {
    let pick = |(table, path, branches, runs): PyPick<'_>| {
        let entries = runs.as_slice()?.as_chunks::<2>().0.iter().map(|[start, end]| *start..*end).collect();
        Ok(Pick { table: table.shared(), path, branches, entries })
    };
    picks.into_iter().map(pick).collect()
}

fn finished() -> Error {
    Error::InvalidRequest { what: "the merging is finished".to_owned() }
}

fn report_as_dict(py: Python<'_>, report: Report) -> PyResult<Bound<'_, PyDict>> {
    let objects = PyList::empty(py);
    let no_notes = PyTuple::empty(py);
    // There may be many, of few classes.
    for object in report.objects {
        let notes = if object.notes.is_empty() { no_notes.clone() } else { PyTuple::new(py, object.notes)? };
        objects.append((
            object.path,
            PyString::intern(py, &object.class_name),
            PyString::intern(py, object.rule),
            object.n_inputs,
            object.n_entries,
            object.n_pieces,
            object.n_small_pieces,
            object.n_if_rebasketed,
            notes,
        ))?;
    }
    let told = PyDict::new(py);
    told.set_item("n_inputs", report.n_inputs)?;
    told.set_item("objects", objects)?;
    let picked = PyList::empty(py);
    for Picked { merged, packed, made } in report.picked {
        picked.append((merged.path, merged.n_entries, packed, made, merged.notes))?;
    }
    told.set_item("picked", picked)?;
    told.set_item("unused_rules", report.unused_rules)?;
    Ok(told)
}
