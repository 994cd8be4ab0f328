//! Trees and RNTuples.

use std::collections::HashMap;
use std::sync::Arc;

use arrowroot::format::tree::BasketRule;
use arrowroot::{ColumnTypes, Compact, Entries, Opened, Order, Request, Sizes, Table, TextForm, open_attribute_set};
use arrowroot_merge::Pick;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::branch::PyBranch;
use crate::ending::without_lock;
use crate::errors::to_python;
use crate::interface::{schema_capsule, type_name};
use crate::patience::{patiently, take_mended, takes_long as file_takes_long, warn_of_mended};
use crate::pieces::pieces_to_python;
use crate::scan::PyScan;

const DEFAULT_MEMORY_BUDGET_BYTES: u64 = 512_000_000;
/// Branches or fields that are planned, or whose types are made, in some 50 ms.
const MAX_COLUMNS_AT_ONCE: usize = 10_000;

#[pyclass(name = "Table", module = "arrowroot._native", frozen)]
pub(crate) struct PyTable {
    table: Arc<dyn Table>,
}

/// A table of which little is in memory until it is wanted.
#[pyclass(name = "Compact", module = "arrowroot._native", frozen)]
pub(crate) struct PyCompact {
    compact: Box<dyn Compact>,
}

#[pymethods]
impl PyCompact {
    /// The table.
    fn table(&self, py: Python<'_>) -> PyResult<PyTable> {
        Ok(PyTable::new(without_lock(py, || self.compact.table())?))
    }

    /// About the bytes that it takes.
    #[getter]
    fn n_bytes(&self) -> usize {
        self.compact.n_bytes()
    }
}

impl PyTable {
    pub(crate) fn new(table: Arc<dyn Table>) -> Self {
        PyTable { table }
    }

    pub(crate) fn shared(&self) -> Arc<dyn Table> {
        Arc::clone(&self.table)
    }

    /// A table that was opened. Warns if it records a schema that cannot be used.
    pub(crate) fn of_opened(py: Python<'_>, opened: Opened) -> PyResult<Self> {
        if let Some(text) = opened.unread_record {
            py.import("arrowroot._errors")?.call_method1("warn_recorded_schema", (text,))?;
        }
        Ok(PyTable::new(opened.table))
    }

    /// Does what may read, where a signal can end the waiting for it.
    fn patiently<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Table) -> arrowroot::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let table = Arc::clone(&self.table);
        let done = patiently(py, takes_long(table.as_ref()), move || work(table.as_ref()))?;
        warn_of_mended(py, &take_mended(self.table.file()))?;
        done.map_err(to_python)
    }

    fn sizes(&self, py: Python<'_>) -> PyResult<Sizes> {
        match self.table.knows_sizes() {
            true => without_lock(py, || self.table.sizes())?.map_err(to_python),
            false => self.patiently(py, |table| table.sizes()),
        }
    }
}

/// Whether what a table says of its columns may take long to be read or made.
fn takes_long(table: &dyn Table) -> bool {
    file_takes_long(table.file()) || table.n_columns() > MAX_COLUMNS_AT_ONCE
}

#[pymethods]
impl PyTable {
    #[getter]
    fn path(&self) -> &str {
        self.table.path()
    }

    #[getter]
    fn name(&self) -> &str {
        self.table.name()
    }

    #[getter]
    fn title(&self) -> &str {
        self.table.title()
    }

    #[getter]
    fn class_name(&self) -> &str {
        self.table.class_name()
    }

    #[getter]
    fn cycle(&self) -> u16 {
        self.table.cycle()
    }

    #[getter]
    fn num_entries(&self) -> u64 {
        self.table.n_entries()
    }

    #[getter]
    fn n_leaves(&self) -> usize {
        self.table.n_leaves()
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
    fn entries_reshuffled(&self) -> bool {
        self.table.recorded().entries_reshuffled
    }

    #[getter]
    fn aliases(&self) -> Vec<(String, String)> {
        self.table.recorded().aliases.to_vec()
    }

    #[getter]
    fn friends(&self) -> Vec<(&str, &str, &str)> {
        let friends = self.table.recorded().friends.iter();
        friends.map(|friend| (&*friend.alias, &*friend.tree_name, &*friend.file_name)).collect()
    }

    #[getter]
    fn recorded_index(&self) -> Option<(String, Option<(String, String)>)> {
        self.table.recorded().index.map(|index| (index.class_name.clone(), index.names.clone()))
    }

    #[getter]
    fn written_by(&self) -> Option<String> {
        self.table.written_by()
    }

    #[getter]
    fn projections(&self) -> Vec<(String, String)> {
        self.table.projections()
    }

    #[getter]
    fn attribute_sets(&self) -> Vec<&str> {
        self.table.attribute_sets()
    }

    fn attribute_set(&self, py: Python<'_>, name: String) -> PyResult<PyTable> {
        self.patiently(py, move |table| open_attribute_set(table, &name)).map(PyTable::new)
    }

    fn column_names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, without_lock(py, || self.table.column_names())?)
    }

    fn branches(&self, py: Python<'_>) -> PyResult<Vec<PyBranch>> {
        without_lock(py, || self.table.columns().into_iter().map(|id| PyBranch::new(&self.table, id)).collect())
    }

    /// For each path of a branch or field, with those inside of others, its C++ type as writing would be asked for it.
    fn asked_types(&self, py: Python<'_>) -> PyResult<HashMap<String, String>> {
        self.patiently(py, |table| Ok(table.asked_types()?.into_iter().collect()))
    }

    /// Why entries of some branches cannot be copied as their bytes are, empty if they would be the same written anew.
    fn pick_fault(&self, py: Python<'_>, branches: Vec<String>) -> PyResult<Option<String>> {
        self.patiently(py, move |table| Pick::fault(table, &branches))
    }

    fn branch(&self, py: Python<'_>, name: &str) -> PyResult<PyBranch> {
        let id = without_lock(py, || self.table.find(name))?.map_err(to_python)?;
        Ok(PyBranch::new(&self.table, id))
    }

    /// The Arrow types of the columns that can be read, and how many columns and groups, and pieces, there are.
    fn digest(&self, py: Python<'_>) -> PyResult<(PyTypes, usize, u64)> {
        self.patiently(py, |table| Ok((PyTypes { types: table.types()? }, table.n_columns(), table.sizes()?.n_pieces)))
    }

    /// The same in little memory; `None`: it cannot be had in less.
    fn compact(&self, py: Python<'_>) -> PyResult<Option<PyCompact>> {
        Ok(without_lock(py, || self.table.compact())?.map(|compact| PyCompact { compact }))
    }

    /// The parts that it shares with tables of its schema: the address of each, and about its bytes. Nothing is read.
    fn shared_parts(&self) -> Vec<(usize, usize)> {
        self.table.shared_parts()
    }

    fn has_path(&self, path: &str) -> bool {
        self.table.has_path(path)
    }

    fn canonical(&self, name: &str) -> Option<&str> {
        self.table.canonical(name)
    }

    /// The paths of columns, if each name is one column's and all can be read.
    fn columns_named(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Option<Vec<String>>> {
        self.patiently(py, move |table| {
            let path = |name: &String| {
                let Some(id) = table.found(name) else { return Ok(None) };
                Ok(table.is_readable(id)?.then(|| table.place(id).path.to_owned()))
            };
            names.iter().map(path).collect()
        })
    }

    fn short_columns(&self, py: Python<'_>) -> PyResult<Vec<(String, i64, i64)>> {
        let path = |id| self.table.place(id).path.to_owned();
        without_lock(py, || {
            self.table.short_columns().into_iter().map(|(id, first, end)| (path(id), first, end)).collect()
        })
    }

    fn clusters(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.patiently(py, |table| table.clusters())
    }

    #[getter]
    fn user_info(&self) -> Vec<(&str, &str, &str)> {
        let user_info = self.table.recorded().user_info.iter();
        user_info.map(|info| (&*info.class_name, &*info.name, &*info.title)).collect()
    }

    #[getter]
    fn auto_flush(&self) -> Option<i64> {
        self.table.recorded().auto_flush
    }

    fn pieces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        pieces_to_python(py, self.patiently(py, |table| table.pieces())?)
    }

    fn optimized_baskets<'py>(&self, py: Python<'py>, max_memory_bytes: u64) -> PyResult<Option<Bound<'py, PyDict>>> {
        let rule = BasketRule { max_memory_bytes, ..BasketRule::default() };
        let Some(sizes) = without_lock(py, || self.table.optimized_baskets(rule))? else { return Ok(None) };
        let told = PyDict::new(py);
        let branches = sizes.branches.iter();
        let branches = branches
            .map(|branch| (branch.path, branch.recorded_bytes, branch.optimized_bytes, branch.ends_compression));
        told.set_item("branches", branches.collect::<Vec<_>>())?;
        told.set_item("memory_bytes", sizes.memory_bytes)?;
        told.set_item("n_baskets", sizes.n_baskets)?;
        Ok(Some(told))
    }

    fn stored_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.patiently(py, |table| table.stored_schema())?)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.patiently(py, |table| table.arrow_schema())?)
    }

    #[pyo3(signature = (
        columns = None, *, entries = None, batch_bytes = None, batch_entries = None, memory_budget_bytes = DEFAULT_MEMORY_BUDGET_BYTES,
        n_threads = 0, trace = false, strings = "utf8", verify_checksums = true, raw = false,
        order = "cluster",
    ))]
    #[expect(clippy::too_many_arguments, reason = "these are keyword arguments")]
    fn scan(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        entries: Option<EntriesArgument<'_>>,
        batch_bytes: Option<u64>,
        batch_entries: Option<u64>,
        memory_budget_bytes: u64,
        n_threads: usize,
        trace: bool,
        strings: &str,
        verify_checksums: bool,
        raw: bool,
        order: &str,
    ) -> PyResult<PyScan> {
        let order = need_order(order)?;
        let entries = chosen_entries(entries, self.table.n_entries())?;
        let text = text_form(strings)?;
        let scan = self.patiently(py, move |table| {
            let columns = match columns {
                None => table.readable()?.into_iter().map(|id| (id, table.place(id).path.to_owned())).collect(),
                Some(names) => names
                    .into_iter()
                    .map(|name| table.find(&name).map(|id| (id, name)))
                    .collect::<arrowroot::Result<Vec<_>>>()?,
            };
            table.scan(&Request {
                columns,
                entries,
                order,
                batch_bytes,
                batch_entries,
                memory_budget_bytes,
                n_threads,
                trace,
                text,
                verify_checksums,
                raw,
            })
        })?;
        Ok(PyScan::new(scan))
    }
}

/// Arrow types of columns, by path. Tables of one schema share them.
#[pyclass(name = "Types", module = "arrowroot._native", frozen)]
pub(crate) struct PyTypes {
    types: Arc<ColumnTypes>,
}

#[pymethods]
impl PyTypes {
    fn is_same(&self, other: &PyTypes) -> bool {
        Arc::ptr_eq(&self.types, &other.types) || self.types == other.types
    }

    fn texts(&self) -> Vec<(&str, String)> {
        self.types.iter().map(|(path, data_type)| (&**path, type_name(data_type))).collect()
    }
}

/// Schemas of trees that were met, columns that were compiled, schemas that are kept, and bytes of their records.
#[pyfunction]
pub(crate) fn schema_counts() -> (u64, u64, usize, usize) {
    let counts = arrowroot::schema_counts();
    (counts.n_met, counts.n_compiled, counts.n_kept, counts.kept_bytes)
}

/// The form in which text is delivered.
fn text_form(strings: &str) -> PyResult<TextForm> {
    match strings {
        "utf8" => Ok(TextForm::Utf8),
        "replace" => Ok(TextForm::Replaced),
        "binary" => Ok(TextForm::Binary),
        _ => Err(to_python(arrowroot::Error::InvalidRequest { what: format!("strings={strings:?}") })),
    }
}

/// The order in which pieces are needed.
fn need_order(order: &str) -> PyResult<Order> {
    match order {
        "cluster" => Ok(Order::Cluster),
        "entry" => Ok(Order::Entry),
        _ => Err(to_python(arrowroot::Error::InvalidRequest { what: format!("order={order:?}") })),
    }
}

/// The entries that an argument names, of `n_entries`.
fn chosen_entries(argument: Option<EntriesArgument<'_>>, n_entries: u64) -> PyResult<Entries> {
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
enum EntriesArgument<'py> {
    Range(u64, u64),
    #[pyo3(transparent)]
    List(PyReadonlyArray1<'py, i64>),
}
