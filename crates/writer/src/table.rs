//! Tables being written, of any format.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use arrowroot_arrow::stored::{RecordedSchema, StoreError, data_type};
use arrowroot_format::codec::CompressionSetting;
use arrowroot_format::rntuple::ANCHOR_CLASS;

use crate::column::Column;
use crate::contexts::{ContextSettings, Contexts, MAX_BUFFERS};
use crate::error::{Error, Result};
use crate::file::{DirectoryId, FileWriter};
use crate::ntuple::{AttributeSets, NtupleColumn, NtupleFormat, NtupleSettings, attribute_schema};
use crate::packed::{PackedCluster, StoredAs};
use crate::pipeline::{Pipeline, TablePipeline, Written};
use crate::queue::Manner;
use crate::settings::{
    ColumnCodec, Flush, Format, PAGE_BYTES, Precision, TREE_CLUSTER_BYTES, TableSettings, TreeNotes,
};
use crate::table_format::TableFormat;
use crate::tree::{
    IndexValues, MAX_RECORD_BYTES, TREE_CLASS, TreeColumn, TreeFormat, TreeSettings, check_layout, planned_branches,
};

mod columns;

pub(crate) use columns::{SharedCounter, Slice, StoredColumn, TableColumns};

/// A table being written. It is in the file once it is [closed](TableWriter::close).
pub struct TableWriter {
    file: Arc<FileWriter>,
    columns: Arc<TableColumns>,
    n_entries: u64,
    /// `None` for a format of one's own, which takes no columns later.
    growing: Option<Growing>,
    pipeline: Arc<Mutex<Box<dyn Pipeline>>>,
    /// Once it is filled through these, it is through nothing else.
    contexts: Option<Contexts>,
    /// The attribute sets of an RNTuple.
    attributes: Option<AttributeSets>,
    is_closed: bool,
}

impl fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableWriter")
            .field("name", &self.columns.table)
            .field("n_entries", &self.n_entries())
            .finish_non_exhaustive()
    }
}

/// The facts of a table that columns are added to later.
struct Growing {
    format: Format,
    columns: Vec<Column>,
    recorded: RecordedSchema,
    records_schema: bool,
    /// The codec of columns of which nobody says one.
    compression: CompressionSetting,
}

impl TableWriter {
    /// Begins a table in a directory. Fields of the schema that are nullable store their validity.
    ///
    /// # Errors
    /// [`Error::Store`] or [`Error::InvalidRequest`] if the format does not hold a column, with its name, for settings that make
    /// no sense, and for a name and title that cannot be listed in the directory; [`Error::Store`] for a layout that is not written; what stopped the file.
    pub fn create(
        file: &Arc<FileWriter>,
        directory: DirectoryId,
        name: &str,
        title: &str,
        schema: &Schema,
        format: Format,
        settings: TableSettings,
    ) -> Result<TableWriter> {
        let columns = columns_of(schema, &settings, file.settings().compression)?;
        let recorded = RecordedSchema {
            schema: settings.schema.as_deref().unwrap_or(schema).clone(),
            stored: schema.clone(),
            splits: columns.iter().map(|column| column.layout.split).collect(),
        };
        let known = columns.clone();
        let mut stored: Vec<StoredColumn> = columns.iter().map(stored_column).collect();
        let (name, title, n_columns) = (name.to_owned(), title.to_owned(), columns.len());
        let compression = file.settings().compression;
        let notes = &settings.notes;
        if format == Format::Ntuple && *notes != TreeNotes::default() {
            let what = "an RNTuple records no aliases, index, friends or user info: a tree does".to_owned();
            return Err(Error::InvalidRequest { what });
        }
        if format == Format::Tree && !settings.projections.is_empty() {
            let what = "a tree has no projected fields: it has aliases, and an RNTuple has these".to_owned();
            return Err(Error::InvalidRequest { what });
        }
        let index = notes.index.as_ref();
        let index = index.map(|(major, minor)| IndexValues::new(schema, major, minor.as_deref()).map(Arc::new));
        let index = index.transpose()?;
        let key = match format {
            Format::Tree => [TREE_CLASS, &name, &title],
            Format::Ntuple => [ANCHOR_CLASS, &name, ""],
        };
        file.check_key(directory, key)?;
        // What a format writes at once comes after what was queued before.
        file.queue().wait()?;
        let mut shared = Vec::new();
        let mut attributes = None;
        let pipeline: Box<dyn Pipeline> = match format {
            Format::Tree => {
                let columns: Vec<TreeColumn> = columns.into_iter().map(TreeColumn::from).collect();
                columns.iter().try_for_each(|column| check_layout(&column.name, &column.layout))?;
                let branches = planned_branches(&columns, &name)?;
                shared = SharedCounter::of_branches(&branches);
                let tree_settings = TreeSettings {
                    directory,
                    name: name.clone(),
                    title,
                    compression,
                    flush: settings.flush,
                    baskets: settings.baskets,
                    autosave_bytes: settings.autosave_bytes,
                    generates_offsets: settings.generates_offsets,
                    arrow_schema: if settings.records_schema { recorded.for_tree(&branches)? } else { None },
                    notes: settings.notes.clone(),
                    index: index.clone(),
                    max_record_bytes: MAX_RECORD_BYTES,
                };
                let format = TreeFormat::new(file, &columns, tree_settings)?;
                stored.iter_mut().zip(format.checks()).for_each(|(column, check)| column.check = check);
                Box::new(TablePipeline::new(file, format, n_columns, &settings))
            }
            Format::Ntuple => {
                let sets = attributes.insert(AttributeSets::default());
                let has_types = columns.iter().any(|column| !column.layout.types.is_empty());
                let ntuple_settings = NtupleSettings {
                    directory,
                    name: name.clone(),
                    title,
                    compression,
                    page_bytes: settings.page_bytes.unwrap_or(PAGE_BYTES) as usize,
                    projections: settings.projections.clone(),
                    arrow_schema: if settings.records_schema { recorded.for_ntuple(has_types)? } else { None },
                    attributes: sets.clone(),
                    set_of: None,
                };
                let columns: Vec<NtupleColumn> = columns.into_iter().map(NtupleColumn::from).collect();
                let format = NtupleFormat::new(file, &columns, ntuple_settings)?;
                stored.iter_mut().zip(format.checks()).for_each(|(column, check)| column.check = check);
                Box::new(TablePipeline::new(file, format, n_columns, &settings))
            }
        };
        file.promise(directory, &name)?;
        let columns = TableColumns { table: name, columns: stored, index, shared };
        let records_schema = settings.records_schema;
        let growing = Growing { format, columns: known, recorded, records_schema, compression };
        let mut writer = TableWriter::of_pipeline(file, columns, pipeline, Some(growing));
        writer.attributes = attributes;
        Ok(writer)
    }

    /// Begins an attribute set, whose entries say values of such fields of ranges of this RNTuple's entries. It is to be filled
    /// with [these columns](TableWriter::attribute_schema), and closed before this one is.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for a tree, which has none, and for a name that is taken; as [`TableWriter::create`].
    pub fn attribute_set(&self, name: &str, values: &Schema) -> Result<TableWriter> {
        let sets = self.attributes.as_ref().ok_or_else(|| {
            let what = "a tree has no attribute sets: it has user info, and an RNTuple has these".to_owned();
            Error::InvalidRequest { what }
        })?;
        let settings = TableSettings { flush: Flush::Bytes(TREE_CLUSTER_BYTES), ..TableSettings::default() };
        let (file, compression) = (&self.file, self.file.settings().compression);
        let columns = columns_of(&attribute_schema(values), &settings, compression)?;
        let stored: Vec<_> = columns.iter().map(stored_column).collect();
        sets.begin(name)?;
        file.queue().wait()?;
        let columns: Vec<NtupleColumn> = columns.into_iter().map(NtupleColumn::from).collect();
        let format = NtupleFormat::new(file, &columns, NtupleSettings::of_set(name, compression, sets.clone()))?;
        let pipeline = Box::new(TablePipeline::new(file, format, columns.len(), &settings));
        let columns = TableColumns { table: name.to_owned(), columns: stored, index: None, shared: Vec::new() };
        Ok(TableWriter::of_pipeline(file, columns, pipeline, None))
    }

    /// The columns of an attribute set: first entry and number of entries of a range, and a record of the values.
    pub fn attribute_schema(values: &Schema) -> Schema {
        attribute_schema(values)
    }

    /// Begins a table of a format of one's own.
    ///
    /// # Errors
    /// [`Error::Store`] for a column that no layout holds; what stopped the file.
    pub fn with_format<F: TableFormat>(
        file: &Arc<FileWriter>,
        name: &str,
        schema: &Schema,
        format: F,
        settings: &TableSettings,
    ) -> Result<TableWriter> {
        let columns = columns_of(schema, settings, file.settings().compression)?;
        let stored: Vec<_> = columns.iter().map(stored_column).collect();
        file.queue().wait()?;
        let pipeline = Box::new(TablePipeline::new(file, format, stored.len(), settings));
        let columns = TableColumns { table: name.to_owned(), columns: stored, index: None, shared: Vec::new() };
        Ok(TableWriter::of_pipeline(file, columns, pipeline, None))
    }

    fn of_pipeline(
        file: &Arc<FileWriter>,
        columns: TableColumns,
        pipeline: Box<dyn Pipeline>,
        growing: Option<Growing>,
    ) -> TableWriter {
        let columns = Arc::new(columns);
        let (file, pipeline) = (Arc::clone(file), Arc::new(Mutex::new(pipeline)));
        TableWriter {
            file,
            columns,
            n_entries: 0,
            growing,
            pipeline,
            contexts: None,
            attributes: None,
            is_closed: false,
        }
    }

    /// Takes the entries of a batch, which has the columns of the table in their order. Their memory is used until they are
    /// compressed. May wait until there is room in the buffers of the file, and compresses meanwhile.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for other columns, and for a tree whose record can list no more baskets, and [`Error::Value`] for
    /// lists that are longer or shorter than the counter that they share says: then nothing of this batch is taken.
    /// [`Error::Store`] for a null where none is stored: nothing is taken then if it has at most some thousand entries. Any
    /// other error stops the file, also one of an earlier batch that shows only now.
    pub fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.contexts.is_some() {
            let what =
                format!("table {:?} is filled through contexts, and through nothing else then", self.columns.table);
            return Err(Error::InvalidRequest { what });
        }
        lock(&self.pipeline).check_room()?;
        for (number, piece) in self.columns.pieces(batch, self.n_entries)?.enumerate() {
            let piece = piece.inspect_err(|error| self.stop_if_begun(number, error))?;
            let stored = self.columns.store(&piece, self.n_entries).map_err(Error::from);
            let stored = stored.inspect_err(|error| self.stop_if_begun(number, error))?;
            lock(&self.pipeline)
                .append(stored, piece.num_rows(), &mut Manner::helping())
                .inspect_err(|error| self.file.queue().stop(error.clone()))?;
            self.n_entries += piece.num_rows() as u64;
        }
        Ok(())
    }

    /// How the metadata of the table will describe it, if it takes packed clusters: branches, or fields and columns. `None` for an
    /// attribute set, a tree with an index or with baskets that are to be full, and a table that is filled through contexts.
    ///
    /// # Errors
    /// If the metadata have no room for it.
    pub fn stored_as(&self) -> Result<Option<StoredAs>> {
        if self.contexts.is_some() { Ok(None) } else { lock(&self.pipeline).stored_as() }
    }

    /// True if a packed cluster may come next. Else so few entries wait that they would make small pieces: what comes next is
    /// better appended to them.
    pub fn is_at_end(&self) -> bool {
        lock(&self.pipeline).is_at_end()
    }

    /// Takes a cluster whose pieces are packed already, behind the entries before, which end a cluster. May wait as
    /// [`append`](TableWriter::append) does. Nothing of its values is checked.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if the record of a tree can list no more baskets; any other error stops the file.
    pub fn append_packed(&mut self, packed: PackedCluster) -> Result<()> {
        let n_entries = packed.n_entries as u64;
        let mut pipeline = lock(&self.pipeline);
        pipeline.check_room()?;
        pipeline.append_packed(packed).inspect_err(|error| self.file.queue().stop(error.clone()))?;
        self.n_entries += n_entries;
        Ok(())
    }

    /// Adds columns behind those that the table has, which the batches of [`append`](TableWriter::append) have from now on. The
    /// entries before have their default values: 0, false, empty texts and lists; optionals are missing. In an RNTuple these
    /// are not stored; the branches of a tree are filled with them. May wait for all entries before to be written.
    ///
    /// `schema`, and layouts, compression and titles of the settings, are those of the new columns alone, and so is
    /// [`TableSettings::schema`]. Their lists share no counters.
    ///
    /// # Errors
    /// As [`TableWriter::create`] has it for columns, and [`Error::InvalidRequest`] if the table is filled through contexts:
    /// the table is as it was then. What stopped the file.
    pub fn extend(&mut self, schema: &Schema, settings: &TableSettings) -> Result<()> {
        let table = &self.columns.table;
        let growing = match (&mut self.growing, &self.contexts) {
            (Some(growing), None) => growing,
            (_, contexts) => {
                let why = if contexts.is_some() { "filled through contexts" } else { "of a format of its own" };
                let what = format!("table {table:?} is {why}: it has the columns that it began with");
                return Err(Error::InvalidRequest { what });
            }
        };
        let new = columns_of(schema, settings, growing.compression)?;
        for column in &new {
            column.check_default()?;
            if growing.columns.iter().any(|known| known.name == column.name) {
                return Err(StoreError::SameName { name: column.name.clone() }.into());
            }
        }
        let columns = [growing.columns.as_slice(), &new].concat();
        let recorded = RecordedSchema {
            schema: with_more(&growing.recorded.schema, settings.schema.as_deref().unwrap_or(schema), &new),
            stored: with_more(&growing.recorded.stored, schema, &new),
            splits: columns.iter().map(|column| column.layout.split).collect(),
        };
        let mut shared = Vec::new();
        let arrow_schema = match growing.format {
            Format::Tree => {
                let columns: Vec<TreeColumn> = columns.iter().cloned().map(TreeColumn::from).collect();
                let branches = planned_branches(&columns, table)?;
                shared = SharedCounter::of_branches(&branches);
                if growing.records_schema { recorded.for_tree(&branches)? } else { None }
            }
            Format::Ntuple if growing.records_schema => {
                recorded.for_ntuple(columns.iter().any(|column| !column.layout.types.is_empty()))?
            }
            Format::Ntuple => None,
        };
        let checks = lock(&self.pipeline).extend(&columns, arrow_schema)?;
        let mut stored: Vec<StoredColumn> = columns.iter().map(stored_column).collect();
        stored.iter_mut().zip(checks).for_each(|(column, check)| column.check = check);
        let index = self.columns.index.clone();
        self.columns = Arc::new(TableColumns { table: table.clone(), columns: stored, index, shared });
        (growing.columns, growing.recorded) = (columns, recorded);
        Ok(())
    }

    /// Checks the entries of a batch that others would come before: that lists which share a counter have as many items as it
    /// says. Nothing is taken.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for other columns; [`Error::Value`] for the first entry that differs, counted from
    /// `first_entry` on.
    pub fn check_counts(&self, batch: &RecordBatch, first_entry: u64) -> Result<()> {
        self.columns.check_counts(batch, first_entry)
    }

    /// Has the table filled by any number of threads, each through a context of its own, from its first entry on. Called again,
    /// it gives the same.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if it has entries, for other settings than the first time, and for more than
    /// [`MAX_BUFFERS`](crate::contexts::MAX_BUFFERS) buffers.
    pub fn contexts(&mut self, settings: ContextSettings) -> Result<Contexts> {
        let what = match &self.contexts {
            Some(contexts) if contexts.settings() == settings => return Ok(contexts.clone()),
            Some(_) => "its contexts have other settings".to_owned(),
            None if self.n_entries > 0 => "it has entries already: contexts fill it from the first one on".to_owned(),
            None if settings.n_buffers > MAX_BUFFERS => {
                format!("{} buffers: it has at most {MAX_BUFFERS}", settings.n_buffers)
            }
            None => {
                let contexts = Contexts::new(&self.file, &self.columns, &self.pipeline, settings);
                return Ok(self.contexts.insert(contexts).clone());
            }
        };
        Err(Error::InvalidRequest { what: format!("table {:?}: {what}", self.columns.table) })
    }

    /// Entries taken so far.
    pub fn n_entries(&self) -> u64 {
        self.contexts.as_ref().map_or(self.n_entries, Contexts::n_entries)
    }

    /// How often each buffer was filled from; nothing where entries go to one at a time.
    pub fn n_fills(&self) -> Vec<u64> {
        self.contexts.as_ref().map_or_else(Vec::new, Contexts::n_fills)
    }

    /// Writes what is left, and the metadata of the table. Its contexts must be gone.
    ///
    /// # Errors
    /// Errors of writing, also of earlier entries; [`Error::InvalidRequest`] for contexts that are still there, and for numbers of
    /// entries that nobody filled. They stop the file.
    pub fn close(mut self) -> Result<Written> {
        self.is_closed = true;
        let ended = self.contexts.as_ref().map_or(Ok(()), Contexts::end);
        ended.and_then(|()| lock(&self.pipeline).close()).inspect_err(|error| self.file.queue().stop(error.clone()))
    }

    /// A batch of which a part is written already cannot be taken back.
    fn stop_if_begun(&self, n_taken: usize, error: &Error) {
        if n_taken > 0 {
            self.file.queue().stop(error.clone());
        }
    }
}

impl Drop for TableWriter {
    fn drop(&mut self) {
        if !self.is_closed && self.file.queue().is_own_process() {
            let what = format!("table {:?} was not closed, and would be missing", self.columns.table);
            self.file.queue().stop(Error::InvalidRequest { what });
        }
    }
}

/// A schema with the fields of another one behind its own; those of columns that are members of a struct are in it.
fn with_more(schema: &Schema, more: &Schema, columns: &[Column]) -> Schema {
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    for (field, column) in more.fields().iter().zip(columns) {
        let record = column.layout.record.as_deref();
        match fields.iter().position(|known| record == Some(known.name().as_str())) {
            Some(index) => fields[index] = Arc::new(with_members(&fields[index], field)),
            None => fields.push(Arc::clone(field)),
        }
    }
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// A field whose structs have those members, too, that those of another one have.
fn with_members(field: &Field, more: &Field) -> Field {
    let grown = match (field.data_type(), more.data_type()) {
        (DataType::Struct(members), DataType::Struct(more)) => {
            let mut members: Vec<FieldRef> = members.iter().cloned().collect();
            for member in more {
                match members.iter().position(|known| known.name() == member.name()) {
                    Some(index) => members[index] = Arc::new(with_members(&members[index], member)),
                    None => members.push(Arc::clone(member)),
                }
            }
            DataType::Struct(members.into())
        }
        // A map grows as a list of the members `value` of its pairs.
        (DataType::Map(entries, is_sorted), more) => {
            match (entries.data_type(), item_of(more).map(|item| item.data_type())) {
                (DataType::Struct(pair), Some(DataType::Struct(more))) if pair.len() == 2 && more.len() == 1 => {
                    let pair = vec![Arc::clone(&pair[0]), Arc::new(with_members(&pair[1], &more[0]))];
                    let entries = entries.as_ref().clone().with_data_type(DataType::Struct(pair.into()));
                    DataType::Map(Arc::new(entries), *is_sorted)
                }
                _ => return field.clone(),
            }
        }
        (lists, others) => match (item_of(lists), item_of(others)) {
            (Some(item), Some(other)) => with_item(lists, with_members(item, other)),
            _ => return field.clone(),
        },
    };
    field.clone().with_data_type(grown)
}

fn item_of(lists: &DataType) -> Option<&FieldRef> {
    match lists {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => Some(item),
        _ => None,
    }
}

fn with_item(lists: &DataType, item: Field) -> DataType {
    let item = Arc::new(item);
    match lists {
        DataType::LargeList(_) => DataType::LargeList(item),
        DataType::ListView(_) => DataType::ListView(item),
        DataType::LargeListView(_) => DataType::LargeListView(item),
        DataType::FixedSizeList(_, n_items) => DataType::FixedSizeList(item, *n_items),
        _ => DataType::List(item),
    }
}

/// How values are stored in a column, before its field says what it refuses.
fn stored_column(column: &Column) -> StoredColumn {
    let mantissa_bits = match column.layout.precision {
        Precision::Mantissa(n_bits) => Some(n_bits),
        _ => None,
    };
    let (name, data_type) = (column.name.clone(), column.data_type.clone());
    let root = column.layout.record.clone().unwrap_or_else(|| name.clone());
    StoredColumn { name, root, data_type, mantissa_bits, check: None }
}

fn columns_of(schema: &Schema, settings: &TableSettings, of_file: CompressionSetting) -> Result<Vec<Column>> {
    let n_columns = schema.fields().len();
    for (what, n) in [
        ("layouts", settings.layouts.len()),
        ("compression settings", settings.compression.len()),
        ("titles", settings.titles.len()),
        ("counters", settings.counters.len()),
    ] {
        if n != 0 && n != n_columns {
            return Err(Error::InvalidRequest { what: format!("{n} {what} for {n_columns} columns") });
        }
    }
    let column = |(number, field): (usize, &Arc<arrow_schema::Field>)| {
        Ok(Column {
            name: field.name().clone(),
            title: settings.titles.get(number).cloned().unwrap_or_default(),
            data_type: data_type(field)?,
            counter: settings.counters.get(number).cloned().flatten(),
            layout: settings.layouts.get(number).cloned().unwrap_or_default(),
            compression: settings.compression.get(number).copied().unwrap_or(ColumnCodec::Set(of_file)),
        })
    };
    schema.fields().iter().enumerate().map(column).collect()
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic stops the queue, and what it left is not used again.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
