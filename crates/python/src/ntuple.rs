//! RNTuples, with the face of trees.

use arrowroot::format::codec::CompressionSetting;
use arrowroot::format::rntuple::{ANCHOR_CLASS, FieldId, Role, Schema};
use arrowroot::{Entries, MemberId, Ntuple, Request, Sizes, lasting};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::branch::{Description, PyBranch, Stored};
use crate::errors::to_python;
use crate::file::{DEFAULT_MEMORY_BUDGET_BYTES, EntriesArgument, chosen_entries, is_remote, text_form};
use crate::interface::{schema_capsule, type_name};
use crate::patience::patiently;
use crate::scan::PyScan;

#[pyclass(name = "Ntuple", module = "arrowroot._native", frozen)]
pub(crate) struct PyNtuple {
    ntuple: Ntuple,
}

impl PyNtuple {
    pub(crate) fn new(ntuple: Ntuple) -> Self {
        PyNtuple { ntuple }
    }

    fn totals(&self, py: Python<'_>) -> PyResult<Sizes> {
        let ntuple = self.ntuple.clone();
        let totals = patiently(py, is_remote(ntuple.file()), move || {
            Ok(ntuple.column_sizes()?.iter().fold(Sizes::default(), |sum, size| added(sum, *size)))
        })?;
        totals.map_err(to_python)
    }
}

fn added(sum: Sizes, more: Sizes) -> Sizes {
    Sizes {
        n_pages: sum.n_pages + more.n_pages,
        stored_bytes: sum.stored_bytes.saturating_add(more.stored_bytes),
        memory_bytes: sum.memory_bytes.saturating_add(more.memory_bytes),
        compression: sum.compression.or(more.compression),
    }
}

/// What the pages of a field and of all its parts take. Projected fields take nothing: their data are another field's.
fn field_sizes(schema: &Schema, sizes: &[Sizes], id: FieldId) -> Sizes {
    let Some(field) = schema.field_of(id).filter(|field| field.source().is_none()) else { return Sizes::default() };
    let own = field.columns().iter().filter_map(|column| sizes.get(column.0 as usize));
    let own = own.fold(Sizes::default(), |sum, size| added(sum, *size));
    field.children().iter().fold(own, |sum, &child| added(sum, field_sizes(schema, sizes, child)))
}

/// The column types of a field and of the parts that are no members of their own, each once; those of other
/// representations too.
fn encodings(schema: &Schema, id: FieldId, found: &mut Vec<String>) {
    let Some(field) = schema.field_of(id) else { return };
    for column in field.columns().iter().filter_map(|&column| schema.column_of(column)) {
        let name = column.column_type.name();
        if !found.contains(&name) {
            found.push(name);
        }
    }
    if field.role() != Role::Record {
        field.children().iter().for_each(|&child| encodings(schema, child, found));
    }
}

pub(crate) fn describe(ntuple: &Ntuple, id: MemberId) -> arrowroot::Result<Description> {
    let member = ntuple.member(id);
    let field = ntuple.field(id);
    let arrow = lasting(ntuple.arrow_field(id, member.name(), arrowroot::TextForm::Utf8))?;
    let mut encoding = Vec::new();
    encodings(ntuple.schema(), member.field(), &mut encoding);
    Ok(Description {
        title: field.description().to_owned(),
        type_name: field.type_name().to_owned(),
        arrow_type: arrow.as_ref().ok().map(|field| type_name(field.data_type())),
        unsupported: arrow.err().map(|error| error.fault().what.clone()),
        is_group: false,
        encoding: encoding.join(", "),
    })
}

/// What the pages of a field and its parts take; reads the page lists.
pub(crate) fn stored(ntuple: &Ntuple, id: MemberId) -> arrowroot::Result<Stored> {
    let sizes = field_sizes(ntuple.schema(), ntuple.column_sizes()?, ntuple.member(id).field());
    let signed = |n_bytes: u64| i64::try_from(n_bytes).unwrap_or(i64::MAX);
    let compression = sizes.compression.and_then(|setting| i32::try_from(setting).ok());
    Ok(Stored {
        n_baskets: usize::try_from(sizes.n_pages).unwrap_or(usize::MAX),
        stored_bytes: signed(sizes.stored_bytes),
        memory_bytes: signed(sizes.memory_bytes),
        compression: compression.map_or_else(String::new, |setting| CompressionSetting(setting).to_string()),
    })
}

#[pymethods]
impl PyNtuple {
    #[getter]
    fn path(&self) -> &str {
        self.ntuple.path()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.ntuple.schema().name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.ntuple.schema().description
    }

    #[classattr]
    fn class_name() -> &'static str {
        ANCHOR_CLASS
    }

    #[getter]
    fn cycle(&self) -> u16 {
        self.ntuple.cycle()
    }

    #[getter]
    fn num_entries(&self) -> u64 {
        self.ntuple.n_entries()
    }

    #[getter]
    fn n_leaves(&self) -> usize {
        self.ntuple.schema().columns.len()
    }

    #[getter]
    fn stored_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.totals(py).map(|totals| totals.stored_bytes)
    }

    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.totals(py).map(|totals| totals.memory_bytes)
    }

    /// An RNTuple does not record that its entries are in an order by chance.
    #[getter]
    fn entries_reshuffled(&self) -> bool {
        false
    }

    /// An RNTuple records no aliases.
    #[getter]
    fn aliases(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    #[getter]
    fn friends(&self) -> Vec<(String, String, String)> {
        Vec::new()
    }

    /// An RNTuple records no index.
    #[getter]
    fn recorded_index(&self) -> Option<(String, Option<(String, String)>)> {
        None
    }

    fn column_names(&self) -> Vec<&str> {
        self.ntuple.top_members().into_iter().map(|id| self.ntuple.member(id).path()).collect()
    }

    /// The path of the field of that name, in any of the spellings that name it; `None` if there is none.
    fn canonical(&self, name: &str) -> Option<&str> {
        self.ntuple.found(name).map(|id| self.ntuple.member(id).path())
    }

    /// The paths of columns, if each name is one's and all can be read.
    fn columns_named(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Option<Vec<String>>> {
        let ntuple = self.ntuple.clone();
        let paths = patiently(py, is_remote(ntuple.file()), move || {
            let path = |name: &String| {
                let Some(id) = ntuple.found(name) else { return Ok(None) };
                Ok(lasting(ntuple.shape(id))?.is_ok().then(|| ntuple.member(id).path().to_owned()))
            };
            names.iter().map(path).collect::<arrowroot::Result<Option<Vec<String>>>>()
        })?;
        paths.map_err(to_python)
    }

    fn branches(&self) -> Vec<PyBranch> {
        let n_members = u32::try_from(self.ntuple.members().len()).unwrap_or(u32::MAX);
        (0..n_members).map(|id| PyBranch::of_ntuple(&self.ntuple, MemberId(id))).collect()
    }

    fn branch(&self, name: &str) -> PyResult<PyBranch> {
        let id = self.ntuple.find(name).map_err(to_python)?;
        Ok(PyBranch::of_ntuple(&self.ntuple, id))
    }

    fn has_path(&self, path: &str) -> bool {
        self.ntuple.has_path(path)
    }

    /// Version of the format, and what wrote it.
    #[getter]
    fn written_by(&self) -> String {
        let version = self.ntuple.version().map(|part| part.to_string()).join(".");
        match self.ntuple.schema().writer.as_str() {
            "" => format!("format {version}"),
            writer => format!("format {version}, written by {writer}"),
        }
    }

    /// Names of the attribute sets.
    #[getter]
    fn attribute_sets(&self) -> Vec<String> {
        self.ntuple.footer().attributes.iter().map(|set| set.name.clone()).collect()
    }

    fn attribute_set(&self, py: Python<'_>, name: String) -> PyResult<PyNtuple> {
        let ntuple = self.ntuple.clone();
        let set = patiently(py, is_remote(ntuple.file()), move || ntuple.attribute_set(&name))?;
        set.map(PyNtuple::new).map_err(to_python)
    }

    fn short_columns(&self) -> Vec<(String, i64, i64)> {
        Vec::new()
    }

    fn clusters(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        let ntuple = self.ntuple.clone();
        patiently(py, is_remote(ntuple.file()), move || ntuple.clusters())?.map_err(to_python)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let ntuple = self.ntuple.clone();
        let schema = patiently(py, is_remote(ntuple.file()), move || ntuple.arrow_schema())?;
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
        if raw {
            let what = "raw: an RNTuple has pages, not entries of bytes".to_owned();
            return Err(to_python(arrowroot::Error::InvalidRequest { what }));
        }
        let entries: Entries = chosen_entries(entries, self.ntuple.n_entries())?;
        let text = text_form(strings)?;
        let ntuple = self.ntuple.clone();
        let scan = patiently(py, is_remote(ntuple.file()), move || {
            let members = match columns {
                None => {
                    let readable = ntuple.readable()?.into_iter();
                    readable.map(|id| (id, ntuple.member(id).path().to_owned())).collect()
                }
                Some(names) => names
                    .into_iter()
                    .map(|name| ntuple.find(&name).map(|id| (id, name)))
                    .collect::<arrowroot::Result<Vec<_>>>()?,
            };
            let columns = Vec::new();
            let request = Request {
                columns,
                entries,
                batch_bytes,
                memory_budget_bytes,
                n_threads,
                trace,
                text,
                verify_checksums,
                raw: false,
            };
            arrowroot::Scan::of_ntuple(&ntuple, &members, &request)
        })?;
        scan.map(PyScan::new).map_err(to_python)
    }
}
