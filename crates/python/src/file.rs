//! Files and keys.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;

use arrowroot::storage::{Ledgers, Opened, Source, open_again};
use arrowroot::{File, FileKey, KeyedObject, find_inside, open_table};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::ending::without_lock;
use crate::errors::to_python;
use crate::ledgers::ledgers_as_dicts;
use crate::options::{OptionText, options_of};
use crate::patience::{patiently, reading, take_mended, takes_long, warn_of_mended};
use crate::protocol::PyProtocol;
use crate::python_source::PythonSource;
use crate::table::PyTable;
use crate::unread::{KnownClasses, object_of};

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
    fn new(file: &File, entry: &FileKey) -> arrowroot::Result<Self> {
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
            is_tree: is_table(file, entry)?,
        })
    }
}

#[pyclass(name = "File", module = "arrowroot._native", frozen)]
pub(crate) struct PyFile {
    file: File,
    classes: KnownClasses,
}

impl PyFile {
    fn new(file: File) -> PyFile {
        PyFile { file, classes: KnownClasses::default() }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Whether what the file says of itself may take long to be read.
    fn takes_long(&self) -> bool {
        takes_long(&self.file)
    }

    fn is_large(&self, py: Python<'_>, path: &str) -> PyResult<bool> {
        without_lock(py, || {
            self.file
                .found(path)
                .is_ok_and(|entry| entry.is_none_or(|entry| entry.key.object_bytes > MAX_AT_ONCE_BYTES))
        })
    }
}

/// Larger objects of a local file are read where a signal can end the waiting for them.
const MAX_AT_ONCE_BYTES: u32 = 1 << 20;

/// Opens a file that a Python object reads.
#[pyfunction]
pub(crate) fn open_reader(py: Python<'_>, reader: Bound<'_, PyAny>, options: Vec<OptionText>) -> PyResult<PyFile> {
    let set = options_of(&options)?;
    let source: Arc<dyn Source> = Arc::new(PythonSource::new(&reader)?);
    let opened = patiently(py, true, move || {
        let open = || {
            let source = Arc::clone(&source);
            Ok(Opened { source, preloaded: Vec::new(), ledgers: Ledgers::default() })
        };
        File::from_opened(open_again(source.url(), &set.network, open)?, &set)
    })?;
    opened.map(PyFile::new).map_err(to_python)
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
    opened.map(PyFile::new).map_err(to_python)
}

#[pymethods]
impl PyFile {
    #[getter]
    fn url(&self) -> &str {
        self.file.url()
    }

    /// The title of the file, mostly empty.
    #[getter]
    fn title(&self) -> &str {
        self.file.title()
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
    fn was_recovered(&self, py: Python<'_>) -> PyResult<bool> {
        let file = self.file.clone();
        reading(py, &self.file, move || file.was_recovered())
    }

    /// What was recovered and why, as far as that is known without reading a file that looks whole.
    fn recovery(&self, py: Python<'_>) -> PyResult<Option<String>> {
        if !self.file.is_recovery_due() {
            return Ok(self.file.recovery());
        }
        let file = self.file.clone();
        reading(py, &self.file, move || file.recovery())
    }

    /// What is wrong with its directories, if that was met.
    #[getter]
    fn damage(&self) -> Option<String> {
        self.file.damage()
    }

    /// The keys of a directory, whose path ends in a slash, or is empty for the root's.
    #[pyo3(signature = (directory = "", *, recursive = true, cycles = true))]
    fn keys(&self, py: Python<'_>, directory: &str, recursive: bool, cycles: bool) -> PyResult<Vec<PyKey>> {
        let directory = directory.to_owned();
        let file = self.file.clone();
        let keys = reading(py, &self.file, move || {
            let mut entries = match recursive {
                true => file.keys()?.iter().filter(|entry| entry.directory.starts_with(&directory)).collect(),
                false => file.keys_in(&directory)?,
            };
            if !cycles {
                keep_highest_cycles(&mut entries);
            }
            entries.into_iter().map(|entry| PyKey::new(&file, entry)).collect::<arrowroot::Result<Vec<_>>>()
        })?;
        keys.map_err(to_python)
    }

    /// The names of what is directly in a directory, whose path is as for `keys`, each once. One that has a ";" comes with its
    /// cycle behind another one.
    fn names(&self, py: Python<'_>, directory: String) -> PyResult<Vec<String>> {
        let file = self.file.clone();
        let names = reading(py, &self.file, move || {
            let mut entries = file.keys_in(&directory)?;
            keep_highest_cycles(&mut entries);
            let name = |entry: &FileKey| match &entry.key {
                key if key.name.contains(';') => format!("{};{}", key.name, key.cycle),
                key => key.name.clone(),
            };
            Ok(entries.into_iter().map(name).collect())
        })?;
        names.map_err(to_python)
    }

    /// The tree or RNTuple of that path, which may lead into the object of a key.
    fn table(&self, py: Python<'_>, path: String) -> PyResult<PyTable> {
        let file = self.file.clone();
        let may_wait = self.takes_long() || self.is_large(py, &path)?;
        let opened = patiently(py, may_wait, move || open_table(&file, &path))?;
        warn_of_mended(py, &take_mended(&self.file))?;
        PyTable::of_opened(py, opened.map_err(to_python)?)
    }

    /// The tree of a path that leads into the object of a key.
    fn tree_inside(&self, py: Python<'_>, path: String) -> PyResult<Option<PyTable>> {
        let file = self.file.clone();
        let opened = patiently(py, self.takes_long() || self.is_large(py, &path)?, move || find_inside(&file, &path))?;
        warn_of_mended(py, &take_mended(&self.file))?;
        opened.map_err(to_python)?.map(|opened| PyTable::of_opened(py, opened)).transpose()
    }

    /// The paths of the trees inside of the objects of some keys, by the paths of these.
    fn trees_inside(&self, py: Python<'_>, paths: Vec<String>) -> PyResult<Vec<String>> {
        let file = self.file.clone();
        let found = patiently(py, true, move || file.trees_inside(&paths))?;
        warn_of_mended(py, &take_mended(&self.file))?;
        found.map_err(to_python)
    }

    /// The key of that path; the highest cycle if none is named.
    fn key(&self, py: Python<'_>, path: String) -> PyResult<PyKey> {
        let file = self.file.clone();
        let key = reading(py, &self.file, move || PyKey::new(&file, &file.find(&path)?))?;
        key.map_err(to_python)
    }

    /// Whether there is a key of that path.
    fn contains(&self, py: Python<'_>, path: String) -> PyResult<bool> {
        let file = self.file.clone();
        let found = reading(py, &self.file, move || file.found(&path))?;
        found.map(|entry| entry.is_some()).map_err(to_python)
    }

    /// Keys for those who look for a name that is not there: not all, where there are many directories.
    fn known_keys(&self, py: Python<'_>) -> PyResult<Vec<PyKey>> {
        let file = self.file.clone();
        let keys = reading(py, &self.file, move || {
            file.known_keys()?.iter().map(|entry| PyKey::new(&file, entry)).collect::<arrowroot::Result<Vec<_>>>()
        })?;
        keys.map_err(to_python)
    }

    /// The object of a path, made by a factory of the Python layer; its key if it is a directory or a tree, and `None` if there
    /// is none.
    fn object<'py>(
        &self,
        py: Python<'py>,
        path: String,
        factory: Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let file = self.file.clone();
        let mut may_wait = self.takes_long();
        let mut found = None;
        if !may_wait {
            let entry = without_lock(py, || self.file.found(&path))?;
            may_wait = matches!(&entry, Ok(Some(entry)) if entry.key.object_bytes > MAX_AT_ONCE_BYTES);
            found = Some(entry);
        }
        let read = patiently(py, may_wait, move || {
            let Some(entry) = found.unwrap_or_else(|| file.found(&path))? else { return Ok(None) };
            if entry.is_directory || is_table(&file, &entry)? {
                return PyKey::new(&file, &entry).map(|key| Some(KeyOrObject::Key(key)));
            }
            file.object_at(&path, entry).map(|object| Some(KeyOrObject::Object(object)))
        })?;
        warn_of_mended(py, &take_mended(&self.file))?;
        match read.map_err(to_python)? {
            Some(KeyOrObject::Object(object)) => object_of(py, factory, object, &self.classes).map(Some),
            Some(KeyOrObject::Key(key)) => Bound::new(py, key).map(|key| Some(key.into_any())),
            None => Ok(None),
        }
    }

    /// The uncompressed bytes of an object.
    fn raw<'py>(&self, py: Python<'py>, path: String) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.file.clone();
        let may_wait = self.takes_long() || self.is_large(py, &path)?;
        let read = patiently(py, may_wait, move || file.raw_object(&path))?;
        warn_of_mended(py, &take_mended(&self.file))?;
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

    /// What the store makes of a vector read, as far as it knows.
    fn protocol(&self) -> PyProtocol {
        PyProtocol(self.file.stack().store().protocol())
    }

    /// What came with the opening: offsets and lengths in bytes.
    fn kept(&self) -> Vec<(u64, u64)> {
        self.file.stack().kept().into_iter().map(|range| (range.start, range.end - range.start)).collect()
    }

    /// Reads ranges as one vector read, drops the bytes, and says how long that took, in ns.
    fn time_reads(&self, py: Python<'_>, ranges: Vec<(u64, u64)>) -> PyResult<u64> {
        let file = self.file.clone();
        let taken = reading(py, &self.file, move || file.time_reads(&ranges))?;
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

/// An object that was read, or the key of a directory or a tree: a path leads to either.
enum KeyOrObject {
    Key(PyKey),
    Object(KeyedObject),
}

/// A TTree or an RNTuple.
fn is_table(file: &File, entry: &FileKey) -> arrowroot::Result<bool> {
    let class = &entry.key.class_name;
    Ok(File::is_ntuple_class(class) || file.is_tree_class(class)?)
}

/// Leaves each object once: the first of its keys that has the highest cycle.
fn keep_highest_cycles(entries: &mut Vec<&FileKey>) {
    let mut highest: HashMap<(&str, &str), u16> = HashMap::new();
    for &entry in entries.iter() {
        let cycle = highest.entry(name_of(entry)).or_default();
        *cycle = entry.key.cycle.max(*cycle);
    }
    entries.retain(|entry| {
        let is_first = highest.get(&name_of(entry)) == Some(&entry.key.cycle);
        if is_first {
            highest.remove(&name_of(entry));
        }
        is_first
    });
}

/// What the cycles of an object share: directory and name.
fn name_of(entry: &FileKey) -> (&str, &str) {
    (&entry.directory, &entry.key.name)
}
