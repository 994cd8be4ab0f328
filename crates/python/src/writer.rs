//! Files and tables being written.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use arrow_schema::Schema;
use arrowroot::format::codec::CompressionSetting;
use arrowroot::format::tree::{Friend, UserInfo};
use arrowroot::storage::{AccountedSink, Ledger, LocalSink};
use arrowroot_arrow::stored;
use arrowroot_writer::{
    Annotation, Baskets, ColumnCodec, ColumnLayout, Error, FileSettings, FileWriter, Flush, Format, Lists,
    NumberEncoding, Precision, ProjectedField, TableSettings, TableWriter, TreeNotes, ntuple, tree,
};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyMapping, PyString};

use crate::ending::{let_go, note_file, without_lock};
use crate::errors::{invalid, writing_to_python};
use crate::fill::{PyFillContext, reports_as_dicts, settings_of};
use crate::incoming::{Given, Intake};
use crate::interface::{schema_capsule, schema_in};
use crate::ledgers::ledgers_as_dicts;
use crate::members::objects_of;
use crate::patience::patiently;

/// Begins a file. An `OsString` takes text as `os.fsdecode` makes it.
#[pyfunction]
#[pyo3(signature = (path, *, compression, is_reproducible, n_threads, buffer_bytes))]
pub(crate) fn create_file(
    py: Python<'_>,
    path: OsString,
    compression: i32,
    is_reproducible: bool,
    n_threads: usize,
    buffer_bytes: u64,
) -> PyResult<PyFileWriter> {
    let name = match (is_reproducible, std::path::Path::new(&path).file_name()) {
        // The same in any directory.
        (true, Some(name)) => name.to_string_lossy().into_owned(),
        _ => path.to_string_lossy().into_owned(),
    };
    let settings = FileSettings {
        name,
        compression: CompressionSetting(compression),
        is_reproducible,
        n_threads,
        buffer_bytes: usize::try_from(buffer_bytes).unwrap_or(usize::MAX),
    };
    let begun = patiently(py, true, move || {
        let sink = LocalSink::create(&path)?;
        let part = sink.part().as_os_str().to_owned();
        let ledger = Arc::new(Ledger::new("store", false));
        let sink = AccountedSink::new(Arc::new(sink), Arc::clone(&ledger));
        FileWriter::create(Arc::new(sink), settings).map(|file| PyFileWriter { file, part, ledger })
    })?;
    let begun = begun.map_err(writing_to_python)?;
    note_file(py, &begun.file)?;
    Ok(begun)
}

/// For each column of a schema, whether its field in an RNTuple, or its branch in a tree, may be of types: paths of members of
/// structs, "" for the column, and C++ types.
#[pyfunction]
#[pyo3(signature = (schema, types, *, in_tree))]
pub(crate) fn may_have_types(
    schema: Bound<'_, PyAny>,
    types: Vec<Vec<(String, String)>>,
    in_tree: bool,
) -> PyResult<Vec<bool>> {
    let (schema, check) = (schema_in(&schema)?, if in_tree { tree::check_types } else { ntuple::check_types });
    Ok(schema.fields().iter().zip(types).map(|(field, types)| check(field, types).is_ok()).collect())
}

/// A schema that is nullable where C++ types of fields of an RNTuple, as those of [`may_have_types`], make default values missing ones.
#[pyfunction]
pub(crate) fn nullable_as_typed<'py>(
    schema: Bound<'py, PyAny>,
    types: Vec<Vec<(String, String)>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let found = schema_in(&schema)?;
    let fields: Vec<_> =
        found.fields().iter().zip(types).map(|(field, types)| ntuple::nullable_as_typed(field, &types)).collect();
    schema_capsule(schema.py(), &Schema::new_with_metadata(fields, found.metadata().clone()))
}

/// Why ROOT opens no RNTuple, and no attribute set, of a name; `None` if it does.
#[pyfunction]
pub(crate) fn name_fault(name: &Bound<'_, PyString>) -> Option<String> {
    ntuple::name_fault(&name.to_string_lossy())
}

/// The name that is stored for that of a column, in a tree or an RNTuple.
#[pyfunction]
#[pyo3(signature = (name, *, in_tree))]
pub(crate) fn stored_name(name: &Bound<'_, PyString>, in_tree: bool) -> String {
    let name = name.to_string_lossy();
    if in_tree { stored::branch_name(&name) } else { stored::stored_name(&name) }
}

#[pyclass(name = "FileWriter", module = "arrowroot._native", frozen)]
pub(crate) struct PyFileWriter {
    file: Arc<FileWriter>,
    part: OsString,
    /// The requests to the store.
    ledger: Arc<Ledger>,
}

impl PyFileWriter {
    pub(crate) fn writer(&self) -> Arc<FileWriter> {
        Arc::clone(&self.file)
    }
}

impl Drop for PyFileWriter {
    fn drop(&mut self) {
        // The last one waits for the threads that compress, and those may need the interpreter's lock to let go of arrays.
        if Arc::strong_count(&self.file) == 1 {
            let file = Arc::clone(&self.file);
            let_go(move || file.queue().end());
        }
    }
}

#[pymethods]
impl PyFileWriter {
    /// Gives the file a title, before anything else is in it.
    fn set_title(&self, py: Python<'_>, title: String) -> PyResult<()> {
        let file = Arc::clone(&self.file);
        patiently(py, true, move || file.set_title(&title))?.map_err(writing_to_python)
    }

    #[pyo3(signature = (path, title = None))]
    fn make_directory(&self, py: Python<'_>, path: String, title: Option<String>) -> PyResult<()> {
        let file = Arc::clone(&self.file);
        patiently(py, true, move || file.titled_directory(&path, title.as_deref()).map(|_| ()))?
            .map_err(writing_to_python)
    }

    #[expect(clippy::too_many_arguments, reason = "named by their caller")]
    #[pyo3(signature = (directory, name, title, schema, kind, *, recorded, layouts, compression, titles, counters, flush, max_cluster_bytes, baskets, autosave_bytes, generates_offsets, page_bytes, projections, notes))]
    fn table(
        &self,
        py: Python<'_>,
        directory: String,
        name: String,
        title: String,
        schema: Bound<'_, PyAny>,
        kind: &str,
        recorded: Option<Bound<'_, PyAny>>,
        layouts: Vec<ColumnSettings>,
        compression: Vec<Option<i32>>,
        titles: Vec<String>,
        counters: Vec<Option<String>>,
        flush: (String, u64),
        max_cluster_bytes: Option<u64>,
        baskets: (String, u32),
        autosave_bytes: u64,
        generates_offsets: bool,
        page_bytes: Option<u32>,
        projections: Vec<Projected>,
        notes: Notes,
    ) -> PyResult<PyTableWriter> {
        let schema = Arc::new(schema_in(&schema)?);
        let format = match kind {
            "ttree" => Format::Tree,
            "rntuple" => Format::Ntuple,
            other => return Err(invalid(format!("no format {other:?}"))),
        };
        let flush = match (flush.0.as_str(), flush.1) {
            ("bytes", bytes) => Flush::Bytes(bytes),
            ("entries", entries) => Flush::Entries(entries),
            _ => Flush::Never,
        };
        let baskets = match baskets {
            (kind, n_bytes) if kind == "fixed" => Baskets::Fixed(n_bytes),
            (kind, first_bytes) if kind == "optimized" => Baskets::Optimized { first_bytes },
            _ => Baskets::Fitted,
        };
        let settings = TableSettings {
            layouts: layouts.into_iter().map(ColumnSettings::into_layout).collect::<PyResult<_>>()?,
            compression: compression.into_iter().map(codec_of).collect(),
            titles,
            counters,
            records_schema: recorded.is_some(),
            schema: recorded.map(|recorded| schema_in(&recorded).map(Arc::new)).transpose()?,
            flush,
            max_cluster_bytes,
            baskets,
            autosave_bytes,
            generates_offsets,
            page_bytes,
            projections: projections
                .into_iter()
                .map(|(name, source, title, is_optional, type_name, is_type_kept)| ProjectedField {
                    name,
                    source,
                    title,
                    is_optional,
                    type_name,
                    is_type_kept,
                })
                .collect(),
            notes: notes.into_notes(),
        };
        let (file, columns) = (Arc::clone(&self.file), Arc::clone(&schema));
        let begun = patiently(py, true, move || {
            let directory = file.directory(&directory)?;
            TableWriter::create(&file, directory, &name, &title, &columns, format, settings)
        })?;
        let table = begun.map_err(writing_to_python)?;
        let table = Arc::new(Mutex::new(Some(table)));
        Ok(PyTableWriter { taken: Mutex::new(Taken::of(schema)), file: Arc::downgrade(&self.file), table })
    }

    /// Writes an object from its members, some of which may lead back to it.
    #[expect(clippy::too_many_arguments, reason = "as it is called")]
    fn write_object(
        &self,
        py: Python<'_>,
        directory: String,
        class_name: String,
        name: String,
        title: String,
        members: Bound<'_, PyMapping>,
        itself: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let objects = objects_of(class_name, &members, itself.as_ref())?;
        let file = Arc::clone(&self.file);
        let written = patiently(py, true, move || {
            let directory = file.directory(&directory)?;
            file.write_members(directory, &name, &title, file.settings().compression, &objects).map(|_| ())
        })?;
        written.map_err(writing_to_python)
    }

    /// Writes all that the file lacks. Returns where it is until it is published.
    fn complete(&self, py: Python<'_>) -> PyResult<OsString> {
        let file = Arc::clone(&self.file);
        patiently(py, true, move || file.complete())?.map_err(writing_to_python)?;
        Ok(self.part.clone())
    }

    /// Publishes the file, completed.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let file = Arc::clone(&self.file);
        patiently(py, true, move || file.close().map(|_| ()))?.map_err(writing_to_python)
    }

    /// Gives it up; `why` is told to those who still fill it, or that it is closed.
    #[pyo3(signature = (why = None))]
    fn abort(&self, py: Python<'_>, why: Option<String>) -> PyResult<()> {
        without_lock(py, || {
            if let Some(what) = why {
                self.file.queue().stop(Error::InvalidRequest { what });
            }
            self.file.abort();
        })
    }

    /// Says what counts as a stall and as growth of the queue, and whether intervals are kept.
    #[pyo3(signature = (*, stall_ns, growth_ns, keeps_intervals))]
    fn watch(&self, stall_ns: u64, growth_ns: u64, keeps_intervals: bool) {
        self.file.stalls().set_threshold(Duration::from_nanos(stall_ns));
        self.file.queue().tell_of_growth_after(Duration::from_nanos(growth_ns));
        if keeps_intervals {
            self.file.stalls().keep_intervals();
        }
    }

    /// How often the queue has grown for longer than it should. It waits for no lock.
    fn n_growths(&self) -> u64 {
        self.file.queue().n_growths()
    }

    /// The doings of each context, with their times.
    fn contexts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let reports = without_lock(py, || self.file.stalls().reports())?;
        reports_as_dicts(py, reports)
    }

    /// The counters of the queue, by name.
    fn queue<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (report, now_ns) = without_lock(py, || (self.file.queue().report(), self.file.stalls().now_ns()))?;
        let (n_waiting_tasks, n_waiting_clusters) = without_lock(py, || self.file.queue().n_waiting())?;
        let told = PyDict::new(py);
        told.set_item("now_ns", now_ns)?;
        told.set_item("n_lost_intervals", self.file.stalls().n_lost())?;
        told.set_item("n_clusters", report.n_placed)?;
        told.set_item("n_waiting_clusters", n_waiting_clusters)?;
        told.set_item("n_waiting_tasks", n_waiting_tasks)?;
        told.set_item("bytes", report.bytes)?;
        told.set_item("peak_bytes", report.peak_bytes)?;
        told.set_item("n_waits", report.n_waits)?;
        told.set_item("wait_ns", report.wait_ns)?;
        told.set_item("longest_wait_ns", report.longest_wait_ns)?;
        told.set_item("help_ns", report.help_ns)?;
        told.set_item("n_tasks", report.n_tasks)?;
        told.set_item("task_ns", report.task_ns)?;
        told.set_item("n_growths", report.n_growths)?;
        told.set_item("growth_ns", report.growth_ns)?;
        Ok(told)
    }

    /// The requests to the store.
    fn ledgers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        ledgers_as_dicts(py, &[Arc::clone(&self.ledger)])
    }
}

/// How a column is compressed, by ROOT's number; `None`: by trial.
fn codec_of(number: Option<i32>) -> ColumnCodec {
    number.map_or(ColumnCodec::Tried, |number| ColumnCodec::Set(CompressionSetting(number)))
}

/// The notes of a tree, as `arrowroot._writing.notes.Notes` has it.
#[derive(FromPyObject)]
struct Notes {
    aliases: Vec<(String, String)>,
    friends: Vec<(String, String, String)>,
    user_info: Vec<(String, String, String)>,
    index: Option<(String, Option<String>)>,
    entries_reshuffled: bool,
}

impl Notes {
    fn into_notes(self) -> TreeNotes {
        let friend = |(alias, tree, file): (String, String, String)| Friend::new(&alias, &tree, &file);
        let info = |(class, name, title): (String, String, String)| UserInfo::new(&class, &name, &title);
        TreeNotes {
            aliases: self.aliases,
            friends: self.friends.into_iter().map(friend).collect(),
            user_info: self.user_info.into_iter().map(info).collect(),
            index: self.index,
            is_reshuffled: self.entries_reshuffled,
        }
    }
}

/// The layout of a column, as `arrowroot._layout.layout.ColumnSettings` has it.
#[derive(FromPyObject)]
struct ColumnSettings {
    split: Option<u8>,
    memberwise: bool,
    lists: String,
    class_name: Option<String>,
    precision: Option<Reduced>,
    encoding: String,
    types: Vec<(String, String)>,
    record: Option<String>,
}

/// `arrowroot._layout.precision.Precision`.
#[derive(FromPyObject)]
struct Reduced {
    kind: String,
    bits: Option<u8>,
    range: Option<(f64, f64)>,
}

impl ColumnSettings {
    fn into_layout(self) -> PyResult<ColumnLayout> {
        Ok(ColumnLayout {
            split: self.split,
            is_member_wise: self.memberwise,
            lists: match self.lists.as_str() {
                "counted" => Lists::Counted,
                "vector" => Lists::Vectors,
                other => return Err(invalid(format!("no lists {other:?}"))),
            },
            class: self.class_name,
            precision: self.precision.map_or(Ok(Precision::Exact), Reduced::into_precision)?,
            encoding: match self.encoding.as_str() {
                "auto" => NumberEncoding::Automatic,
                "split" => NumberEncoding::Split,
                "plain" => NumberEncoding::Plain,
                other => return Err(invalid(format!("no encoding {other:?}"))),
            },
            types: self.types,
            record: self.record,
        })
    }
}

impl Reduced {
    fn into_precision(self) -> PyResult<Precision> {
        let Reduced { kind, bits, range } = self;
        Ok(match (kind.as_str(), bits, range) {
            ("Double32", bits, range) => Precision::Double32(Annotation { range, bits }),
            ("Float16", bits, range) => Precision::Float16(Annotation { range, bits }),
            ("mantissa", Some(bits), None) => Precision::Mantissa(bits),
            ("Real32Trunc", Some(bits), None) => Precision::Truncated(bits),
            ("Real32Quant", Some(bits), Some((min, max))) => Precision::Quantized { bits, min, max },
            (kind, ..) => return Err(invalid(format!("no precision {kind:?} of {bits:?} bits in {range:?}"))),
        })
    }
}

/// A `Projection` of `arrowroot._layout.projections`.
type Projected = (String, String, String, bool, String, bool);

#[pyclass(name = "TableWriter", module = "arrowroot._native", frozen)]
pub(crate) struct PyTableWriter {
    /// Other ones when columns are added.
    taken: Mutex<Taken>,
    file: Weak<FileWriter>,
    /// `None` once it is closed. Calls that a signal has ended may still be at it.
    table: Arc<Mutex<Option<TableWriter>>>,
}

/// The schema of batches, and the way in for them.
struct Taken {
    schema: Arc<Schema>,
    intake: Arc<Intake>,
}

impl Taken {
    fn of(schema: Arc<Schema>) -> Self {
        Taken { intake: Intake::of(&schema), schema }
    }
}

impl PyTableWriter {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn intake(&self) -> Arc<Intake> {
        Arc::clone(&self.taken().intake)
    }

    /// The table itself; `None` once it is closed.
    pub(crate) fn shared(&self) -> Arc<Mutex<Option<TableWriter>>> {
        Arc::clone(&self.table)
    }

    /// Stops the file, as a call was interrupted that goes on, and nobody will know how far.
    pub(crate) fn give_up(&self, call: &str) {
        if let Some(file) = self.file.upgrade() {
            let what = format!("{call} was interrupted, and given up half way");
            file.queue().stop(Error::InvalidRequest { what });
        }
    }
}

impl Drop for PyTableWriter {
    fn drop(&mut self) {
        // It may be the last that has the file: see there.
        if Arc::strong_count(&self.table) == 1 {
            let table = self.table.lock().unwrap_or_else(PoisonError::into_inner).take();
            let_go(move || drop(table));
        }
    }
}

#[pymethods]
impl PyTableWriter {
    /// `text_bytes`: as `Incoming.take` has it.
    fn append(&self, py: Python<'_>, batch: Bound<'_, PyAny>, text_bytes: Vec<u64>) -> PyResult<()> {
        let given = Given::of(&batch, text_bytes)?;
        let (table, intake) = (Arc::clone(&self.table), self.intake());
        let appended = patiently(py, true, move || {
            let batch = match intake.take(given) {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            };
            let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
            table.as_mut().map(|table| table.append(&batch))
        });
        let appended = appended.inspect_err(|_| self.give_up("an append"))?;
        appended.unwrap_or(Ok(())).map_err(writing_to_python)
    }

    /// Begins an attribute set, of a schema of its values; see `TableWriter::attribute_set`.
    fn attribute_set(&self, py: Python<'_>, name: String, values: Bound<'_, PyAny>) -> PyResult<PyTableWriter> {
        let values = schema_in(&values)?;
        let (table, schema) = (Arc::clone(&self.table), Arc::new(TableWriter::attribute_schema(&values)));
        let begun = patiently(py, true, move || {
            let table = table.lock().unwrap_or_else(PoisonError::into_inner);
            table.as_ref().map(|table| table.attribute_set(&name, &values))
        })?;
        let begun = begun.ok_or_else(|| invalid("the table is closed".to_owned()))?.map_err(writing_to_python)?;
        let (taken, table) = (Mutex::new(Taken::of(schema)), Arc::new(Mutex::new(Some(begun))));
        Ok(PyTableWriter { taken, file: Weak::clone(&self.file), table })
    }

    /// Adds columns behind those that it has, see `TableWriter::extend`: all of these are of the new ones alone.
    #[pyo3(signature = (schema, *, recorded, layouts, compression, titles))]
    fn extend(
        &self,
        py: Python<'_>,
        schema: &Bound<'_, PyAny>,
        recorded: &Bound<'_, PyAny>,
        layouts: Vec<ColumnSettings>,
        compression: Vec<Option<i32>>,
        titles: Vec<String>,
    ) -> PyResult<()> {
        let new = schema_in(schema)?;
        let fields: Vec<_> = self.taken().schema.fields().iter().chain(new.fields()).cloned().collect();
        let settings = TableSettings {
            layouts: layouts.into_iter().map(ColumnSettings::into_layout).collect::<PyResult<_>>()?,
            compression: compression.into_iter().map(codec_of).collect(),
            titles,
            schema: Some(Arc::new(schema_in(recorded)?)),
            ..TableSettings::default()
        };
        let table = Arc::clone(&self.table);
        let extended = patiently(py, true, move || {
            let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
            table.as_mut().map(|table| table.extend(&new, &settings))
        });
        let extended = extended.inspect_err(|_| self.give_up("adding columns"))?;
        extended.unwrap_or(Ok(())).map_err(writing_to_python)?;
        *self.taken() = Taken::of(Arc::new(Schema::new(fields)));
        Ok(())
    }

    /// Checks a batch that others would come before, see `TableWriter::check_counts`. Nothing is taken. `text_bytes`: as
    /// `Incoming.take` has it.
    fn check_counts(
        &self,
        py: Python<'_>,
        batch: &Bound<'_, PyAny>,
        text_bytes: Vec<u64>,
        first_entry: u64,
    ) -> PyResult<()> {
        let given = Given::of(batch, text_bytes)?;
        let checked = without_lock(py, || {
            let batch = self.intake().take(given)?;
            let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
            table.as_ref().map_or(Ok(()), |table| table.check_counts(&batch, first_entry))
        })?;
        checked.map_err(writing_to_python)
    }

    /// One more context to fill it from; the settings are the same for all. `is_shared`: other threads than this one may fill.
    #[expect(clippy::too_many_arguments, reason = "named by their caller")]
    #[pyo3(signature = (name, *, is_shared, policy, n_buffers, order, helps))]
    fn context(
        &self,
        py: Python<'_>,
        name: Option<String>,
        is_shared: bool,
        policy: &str,
        n_buffers: usize,
        order: &str,
        helps: bool,
    ) -> PyResult<PyFillContext> {
        let settings = settings_of(policy, n_buffers, order, helps)?;
        let contexts = without_lock(py, || {
            let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
            table.as_mut().map(|table| table.contexts(settings))
        })?;
        let contexts = contexts.ok_or_else(|| invalid("the table is closed".to_owned()))?.map_err(writing_to_python)?;
        let context = if is_shared { contexts.shared_context(name) } else { contexts.context(name) };
        Ok(PyFillContext::new(&self.taken().schema, context))
    }

    /// How often each buffer was filled from; nothing if entries go to one at a time.
    fn n_fills(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        without_lock(py, || {
            let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
            table.as_ref().map_or_else(Vec::new, TableWriter::n_fills)
        })
    }

    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = Arc::clone(&self.table);
        let closed = patiently(py, true, move || {
            let table = table.lock().unwrap_or_else(PoisonError::into_inner).take();
            table.map(TableWriter::close)
        })?;
        let told = PyDict::new(py);
        if let Some(closed) = closed {
            let written = closed.map_err(writing_to_python)?;
            told.set_item("n_entries", written.n_entries)?;
            told.set_item("n_clusters", written.n_clusters)?;
            told.set_item("stored_bytes", written.stored_bytes)?;
            told.set_item("memory_bytes", written.memory_bytes)?;
            told.set_item("n_packed_clusters", written.n_packed_clusters)?;
            told.set_item("packed_bytes", written.packed_bytes)?;
        }
        Ok(told)
    }
}
