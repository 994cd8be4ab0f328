//! Files, keys, trees and branches.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;

use arrowroot::storage::{Ledger, Ledgers, Opened, Operation};
use arrowroot::{Entries, Entry, File, Ntuple, Request, TextForm, Tree, lasting};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList};

use crate::branch::PyBranch;
use crate::errors::to_python;
use crate::interface::schema_capsule;
use crate::ntuple::PyNtuple;
use crate::object::Maker;
use crate::options::{OptionText, options_of};
use crate::patience::patiently;
use crate::python_source::PythonSource;
use crate::scan::PyScan;

pub(crate) const DEFAULT_MEMORY_BUDGET_BYTES: u64 = 512_000_000;

#[pyclass(name = "Key", module = "arrowroot._native", frozen, get_all)]
pub(crate) struct PyKey {
    path: String,
    name: String,
    title: String,
    class_name: String,
    directory: String,
    depth: usize,
    cycle: u16,
    offset: u64,
    stored_bytes: u32,
    object_bytes: u32,
    is_directory: bool,
    is_tree: bool,
}

impl PyKey {
    fn new(file: &File, entry: &Entry) -> arrowroot::Result<Self> {
        let key = &entry.key;
        Ok(PyKey {
            path: entry.path(),
            name: key.name.clone(),
            title: key.title.clone(),
            class_name: key.class_name.clone(),
            directory: entry.directory.clone(),
            depth: entry.depth,
            cycle: key.cycle,
            offset: key.seek_key,
            stored_bytes: key.n_bytes,
            object_bytes: key.object_bytes,
            is_directory: entry.is_directory,
            is_tree: File::is_ntuple_class(&key.class_name) || file.is_tree_class(&key.class_name)?,
        })
    }
}

#[pyclass(name = "File", module = "arrowroot._native", frozen)]
pub(crate) struct PyFile {
    file: File,
}

impl PyFile {
    fn is_remote(&self) -> bool {
        is_remote(&self.file)
    }
}

/// Larger objects of a local file are read where a signal can end the waiting for them.
const MAX_AT_ONCE_BYTES: u32 = 1 << 20;

pub(crate) fn is_remote(file: &File) -> bool {
    file.stack().base().access_profile().is_remote
}

/// Opens a file that a Python object reads.
#[pyfunction]
pub(crate) fn open_reader(py: Python<'_>, reader: Bound<'_, PyAny>, options: Vec<OptionText>) -> PyResult<PyFile> {
    let set = options_of(&options)?;
    let opened =
        Opened { source: Arc::new(PythonSource::new(&reader)?), preloaded: Vec::new(), ledgers: Ledgers::default() };
    let opened = patiently(py, true, move || File::from_opened(opened, &set))?;
    opened.map(|file| PyFile { file }).map_err(to_python)
}

/// Opens a file that the URLs are replicas of. An `OsString` takes text as `os.fsdecode` makes it: what stands for a byte
/// that is not UTF-8 becomes that byte again.
#[pyfunction]
pub(crate) fn open_file(py: Python<'_>, urls: Vec<OsString>, options: Vec<OptionText>) -> PyResult<PyFile> {
    let options = options_of(&options)?;
    let may_wait = urls.iter().any(|url| url.to_string_lossy().contains("://"));
    let opened = patiently(py, may_wait, move || {
        let texts: Option<Vec<&str>> = urls.iter().map(|url| url.to_str()).collect();
        match (texts, urls.as_slice()) {
            (Some(texts), _) => File::open(&texts, &options),
            (None, [path]) => File::open_path(path, &options),
            (None, _) => {
                Err(arrowroot::Error::InvalidRequest { what: "the names of replicas must be UTF-8".to_owned() })
            }
        }
    })?;
    opened.map(|file| PyFile { file }).map_err(to_python)
}

/// The form in which text is delivered.
pub(crate) fn text_form(strings: &str) -> PyResult<TextForm> {
    match strings {
        "utf8" => Ok(TextForm::Utf8),
        "replace" => Ok(TextForm::Replaced),
        "binary" => Ok(TextForm::Binary),
        _ => Err(to_python(arrowroot::Error::InvalidRequest { what: format!("strings={strings:?}") })),
    }
}

/// What passed some layer boundaries: a dictionary for each kind of operation that there was.
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

#[pymethods]
impl PyFile {
    #[getter]
    fn url(&self) -> &str {
        self.file.url()
    }

    #[getter]
    fn size_bytes(&self) -> u64 {
        self.file.size_bytes()
    }

    /// Identifier of the file, empty if it has none.
    #[getter]
    fn uuid(&self) -> String {
        let uuid = &self.file.header().uuid;
        if uuid.0 == [0; 16] { String::new() } else { uuid.to_string() }
    }

    #[getter]
    fn root_version(&self) -> String {
        self.file.header().root_version()
    }

    #[getter]
    fn compression(&self) -> String {
        self.file.header().compression.to_string()
    }

    #[getter]
    fn missing_bytes(&self) -> u64 {
        self.file.missing_bytes()
    }

    #[getter]
    fn was_recovered(&self) -> bool {
        self.file.was_recovered()
    }

    /// What was recovered and why, as far as that is known without reading a file that looks whole.
    fn recovery(&self, py: Python<'_>) -> PyResult<Option<String>> {
        if !self.file.is_recovery_due() {
            return Ok(self.file.recovery());
        }
        let file = self.file.clone();
        patiently(py, self.is_remote(), move || file.recovery())
    }

    /// What is wrong with its directories, if that was met.
    #[getter]
    fn damage(&self) -> Option<String> {
        self.file.damage()
    }

    #[pyo3(signature = (*, recursive = true, cycles = true))]
    fn keys(&self, py: Python<'_>, recursive: bool, cycles: bool) -> PyResult<Vec<PyKey>> {
        let file = self.file.clone();
        let keys = patiently(py, self.is_remote(), move || {
            let entries = file.keys()?;
            let mut highest: HashMap<(&str, &str), u16> = HashMap::new();
            for entry in entries {
                let cycle = highest.entry(name_of(entry)).or_default();
                *cycle = entry.key.cycle.max(*cycle);
            }
            let mut keys = Vec::with_capacity(entries.len());
            for entry in entries {
                if !recursive && !entry.directory.is_empty() {
                    continue;
                }
                if !cycles {
                    // Taken out by the first key that has the highest cycle: a name comes once.
                    if highest.get(&name_of(entry)) != Some(&entry.key.cycle) {
                        continue;
                    }
                    highest.remove(&name_of(entry));
                }
                keys.push(PyKey::new(&file, entry)?);
            }
            Ok(keys)
        })?;
        keys.map_err(to_python)
    }

    /// The tree or RNTuple of that path.
    fn tree<'py>(&self, py: Python<'py>, path: String) -> PyResult<Bound<'py, PyAny>> {
        let file = self.file.clone();
        let opened = patiently(py, self.is_remote(), move || {
            if File::is_ntuple_class(&file.find(&path)?.key.class_name) {
                return file.ntuple(&path).map(Table::Ntuple);
            }
            file.tree(&path).map(Table::Tree)
        })?;
        match opened.map_err(to_python)? {
            Table::Tree(tree) => Ok(Bound::new(py, PyTree { tree })?.into_any()),
            Table::Ntuple(ntuple) => Ok(Bound::new(py, PyNtuple::new(ntuple))?.into_any()),
        }
    }

    /// The key of that path; the highest cycle if none is named.
    fn key(&self, py: Python<'_>, path: String) -> PyResult<PyKey> {
        let file = self.file.clone();
        let key = patiently(py, self.is_remote(), move || PyKey::new(&file, &file.find(&path)?))?;
        key.map_err(to_python)
    }

    /// Whether there is a key of that path.
    fn contains(&self, py: Python<'_>, path: String) -> PyResult<bool> {
        let file = self.file.clone();
        let found = patiently(py, self.is_remote(), move || file.found(&path))?;
        found.map(|entry| entry.is_some()).map_err(to_python)
    }

    /// Keys for those who look for a name that is not there: not all, where there are many directories.
    fn known_keys(&self, py: Python<'_>) -> PyResult<Vec<PyKey>> {
        let file = self.file.clone();
        let keys = patiently(py, self.is_remote(), move || {
            file.known_keys()?.iter().map(|entry| PyKey::new(&file, entry)).collect::<arrowroot::Result<Vec<_>>>()
        })?;
        keys.map_err(to_python)
    }

    /// The object of a key, made by a factory of the Python layer.
    fn object<'py>(&self, py: Python<'py>, path: String, factory: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let file = self.file.clone();
        // The keys are known, or else this is what takes time.
        let is_large = || self.file.find(&path).is_ok_and(|entry| entry.key.object_bytes > MAX_AT_ONCE_BYTES);
        let may_wait = self.is_remote() || is_large();
        let read = patiently(py, may_wait, move || file.object(&path))?;
        Maker::new(py, factory, &read.map_err(to_python)?).make()
    }

    /// The uncompressed bytes of an object.
    fn raw<'py>(&self, py: Python<'py>, path: String) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.file.clone();
        let read = patiently(py, self.is_remote(), move || file.raw_object(&path))?;
        Ok(PyBytes::new(py, &read.map_err(to_python)?))
    }

    fn ledgers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let stack = self.file.stack();
        let mut ledgers = stack.store_ledgers();
        ledgers.push(Arc::clone(stack.ledger()));
        ledgers_as_dicts(py, &ledgers)
    }

    /// How the store wants to be asked, as far as it knows: latency in s, bytes per second, requests at a time, ranges of
    /// one request.
    fn nature(&self) -> (f64, f64, usize, usize) {
        let profile = self.file.stack().base().access_profile();
        (profile.latency.as_secs_f64(), profile.bytes_per_second, profile.max_parallel, profile.max_ranges)
    }

    /// What came with the opening: offsets and lengths in bytes.
    fn kept(&self) -> Vec<(u64, u64)> {
        self.file.stack().kept().into_iter().map(|range| (range.start, range.end - range.start)).collect()
    }

    /// Reads ranges as one vector read, drops the bytes, and says how long that took, in ns.
    fn time_reads(&self, py: Python<'_>, ranges: Vec<(u64, u64)>) -> PyResult<u64> {
        let file = self.file.clone();
        let taken = patiently(py, self.is_remote(), move || file.time_reads(&ranges))?;
        taken.map_err(to_python)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let totals = self.file.read_totals();
        let stats = PyDict::new(py);
        stats.set_item("read_calls", totals.n_reads)?;
        stats.set_item("read_bytes", totals.bytes)?;
        stats.set_item("read_ns", totals.wall_ns)?;
        Ok(stats)
    }
}

/// What entries can be read of.
enum Table {
    Tree(Tree),
    Ntuple(Ntuple),
}

/// What the cycles of an object share: directory and name.
fn name_of(entry: &Entry) -> (&str, &str) {
    (&entry.directory, &entry.key.name)
}

#[pyclass(name = "Tree", module = "arrowroot._native", frozen)]
pub(crate) struct PyTree {
    tree: Tree,
}

#[pymethods]
impl PyTree {
    #[getter]
    fn path(&self) -> String {
        self.tree.entry().path()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.tree.record().name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.tree.record().title
    }

    #[getter]
    fn class_name(&self) -> &str {
        &self.tree.entry().key.class_name
    }

    #[getter]
    fn cycle(&self) -> u16 {
        self.tree.entry().key.cycle
    }

    #[getter]
    fn num_entries(&self) -> u64 {
        self.tree.n_entries()
    }

    #[getter]
    fn n_leaves(&self) -> usize {
        self.tree.record().leaves.len()
    }

    #[getter]
    fn stored_bytes(&self) -> i64 {
        self.tree.record().stored_bytes
    }

    #[getter]
    fn memory_bytes(&self) -> i64 {
        self.tree.record().memory_bytes
    }

    /// Whether several threads wrote the entries, in an order by chance.
    #[getter]
    fn entries_reshuffled(&self) -> bool {
        self.tree.record().entries_reshuffled
    }

    /// Names of expressions, and these.
    #[getter]
    fn aliases(&self) -> Vec<(String, String)> {
        self.tree.record().aliases.clone()
    }

    #[getter]
    fn friends(&self) -> Vec<(String, String, String)> {
        let friends = &self.tree.record().friends;
        friends
            .iter()
            .map(|friend| (friend.alias.clone(), friend.tree_name.clone(), friend.file_name.clone()))
            .collect()
    }

    /// The recorded index: class, and the expressions of its major and minor values if they are known.
    #[getter]
    fn recorded_index(&self) -> Option<(String, Option<(String, String)>)> {
        self.tree.record().index.clone().map(|index| (index.class_name, index.names))
    }

    fn column_names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let tree = &self.tree;
        let names: Vec<&str> = py.detach(|| {
            tree.walk()
                .into_iter()
                .filter(|(id, _)| tree.branch(*id).branches.is_empty())
                .map(|(id, _)| tree.path(id))
                .collect()
        });
        PyList::new(py, names)
    }

    fn branches(&self, py: Python<'_>) -> PyResult<Vec<PyBranch>> {
        let tree = self.tree.clone();
        patiently(py, is_remote(tree.file()), move || {
            tree.walk().into_iter().map(|(id, depth)| PyBranch::of_tree(&tree, id, depth)).collect()
        })
    }

    /// The paths of columns, if each name is one branch's and all can be read.
    fn columns_named(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Option<Vec<String>>> {
        let tree = self.tree.clone();
        let paths = patiently(py, is_remote(tree.file()), move || {
            let path = |name: &String| {
                let Some(id) = tree.found(name) else { return Ok(None) };
                let is_column = lasting(tree.column(id))?.is_ok_and(|column| column.form.is_some());
                Ok(is_column.then(|| tree.path(id).to_owned()))
            };
            names.iter().map(path).collect::<arrowroot::Result<Option<Vec<String>>>>()
        })?;
        paths.map_err(to_python)
    }

    fn branch(&self, py: Python<'_>, name: String) -> PyResult<PyBranch> {
        let tree = self.tree.clone();
        let branch = patiently(py, is_remote(tree.file()), move || {
            let id = tree.find(&name)?;
            let depth = std::iter::successors(Some(id), |&id| tree.branch(id).parent).count() - 1;
            Ok(PyBranch::of_tree(&tree, id, depth))
        })?;
        branch.map_err(to_python)
    }

    fn has_path(&self, path: &str) -> bool {
        self.tree.has_path(path)
    }

    fn short_columns(&self, py: Python<'_>) -> Vec<(String, i64, i64)> {
        let tree = &self.tree;
        py.detach(|| {
            let n_entries = i64::try_from(tree.n_entries()).unwrap_or(i64::MAX);
            tree.walk()
                .into_iter()
                .map(|(id, _)| (id, tree.branch(id)))
                .filter(|(_, branch)| branch.branches.is_empty())
                .filter(|(_, branch)| branch.first_entry > 0 || branch.entry_end < n_entries)
                .map(|(id, branch)| (tree.path(id).to_owned(), branch.first_entry, branch.entry_end))
                .collect()
        })
    }

    fn clusters(&self, py: Python<'_>) -> Vec<u64> {
        py.detach(|| self.tree.clusters().into_owned())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let tree = self.tree.clone();
        let schema = patiently(py, is_remote(tree.file()), move || tree.schema())?;
        schema_capsule(py, &schema.map_err(to_python)?)
    }

    #[pyo3(signature = (
        columns = None, *, entries = None, batch_bytes = None, memory_budget_bytes = DEFAULT_MEMORY_BUDGET_BYTES,
        n_threads = 0, trace = false, strings = "utf8", verify_checksums = true, raw = false,
    ))]
    #[expect(clippy::too_many_arguments, reason = "these are keyword arguments")]
    fn scan(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        entries: Option<EntriesArgument<'_>>,
        batch_bytes: Option<u64>,
        memory_budget_bytes: u64,
        n_threads: usize,
        trace: bool,
        strings: &str,
        verify_checksums: bool,
        raw: bool,
    ) -> PyResult<PyScan> {
        let entries = chosen_entries(entries, self.tree.n_entries())?;
        let text = text_form(strings)?;
        let tree = self.tree.clone();
        let scan = patiently(py, is_remote(tree.file()), move || {
            let columns = match columns {
                None => tree.readable()?.into_iter().map(|id| (id, tree.path(id).to_owned())).collect(),
                Some(names) => names
                    .into_iter()
                    .map(|name| tree.find(&name).map(|id| (id, name)))
                    .collect::<arrowroot::Result<Vec<_>>>()?,
            };
            let request = Request {
                columns,
                entries,
                batch_bytes,
                memory_budget_bytes,
                n_threads,
                trace,
                text,
                verify_checksums,
                raw,
            };
            arrowroot::Scan::new(&tree, &request)
        })?;
        scan.map(PyScan::new).map_err(to_python)
    }
}

/// The entries that an argument names, of `n_entries`.
pub(crate) fn chosen_entries(argument: Option<EntriesArgument<'_>>, n_entries: u64) -> PyResult<Entries> {
    Ok(match argument {
        None => Entries::Range(0..n_entries),
        Some(EntriesArgument::Range(start, stop)) => Entries::Range(start..stop),
        Some(EntriesArgument::List(list)) => {
            let negative = || arrowroot::Error::InvalidRequest { what: "a negative entry number".to_owned() };
            let list = list.as_array().iter().map(|&entry| u64::try_from(entry)).collect::<Result<Vec<_>, _>>();
            Entries::List(list.map_err(|_| to_python(negative()))?)
        }
    })
}

/// The entries of a scan. The range is tried first: to try the list imports NumPy.
#[derive(FromPyObject)]
pub(crate) enum EntriesArgument<'py> {
    Range(u64, u64),
    #[pyo3(transparent)]
    List(PyReadonlyArray1<'py, i64>),
}
