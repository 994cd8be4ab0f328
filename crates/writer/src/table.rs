//! Tables being written, of any format.

use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::Schema;
use arrowroot_arrow::stored::{RecordedSchema, SharedOffsets, data_type, plan_branches, store_beside};
use arrowroot_format::codec::CompressionSetting;
use arrowroot_format::column::DataType;

use crate::error::{Error, Result};
use crate::file::{DirectoryId, FileWriter};
use crate::ntuple::{NtupleColumn, NtupleFormat, NtupleSettings};
use crate::pipeline::{Pipeline, TablePipeline, Written};
use crate::precision::with_mantissas;
use crate::settings::{ColumnCodec, ColumnLayout, Format, PAGE_BYTES, Precision, TableSettings, TreeNotes};
use crate::tree::{IndexValues, TreeColumn, TreeFormat, TreeSettings, check_layout, class_name};

/// Batches of more entries than this
const MAX_ENTRIES: usize = 1024;
/// are converted in slices of about so many bytes: what they share no memory with is not made for all of them at once.
const SLICE_BYTES: usize = 16 << 20;

/// A table being written. It is in the file once it is [closed](TableWriter::close).
pub struct TableWriter {
    file: Arc<FileWriter>,
    name: String,
    columns: Vec<(String, DataType)>,
    /// For each column, the bits of mantissa that its numbers have at most.
    mantissas: Vec<Option<u8>>,
    n_entries: u64,
    pipeline: Box<dyn Pipeline>,
    index: Option<Arc<IndexValues>>,
    is_closed: bool,
}

impl fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableWriter")
            .field("name", &self.name)
            .field("n_entries", &self.n_entries)
            .finish_non_exhaustive()
    }
}

/// A column as both formats take it.
struct Column {
    name: String,
    title: String,
    data_type: DataType,
    counter: Option<String>,
    layout: ColumnLayout,
    compression: ColumnCodec,
}

impl TableWriter {
    /// Begins a table in a directory. Fields of the schema that are nullable store their validity.
    ///
    /// # Errors
    /// [`Error::Store`] or [`Error::InvalidRequest`] if the format does not hold a column, with its name, or for settings that
    /// make no sense; [`Error::Store`] for a layout that is not written; what stopped the file.
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
        let types = columns.iter().map(|column| (column.name.clone(), column.data_type.clone())).collect();
        let bits = |column: &Column| match column.layout.precision {
            Precision::Mantissa(n_bits) => Some(n_bits),
            _ => None,
        };
        let mantissas = columns.iter().map(bits).collect();
        let (name, title, n_columns) = (name.to_owned(), title.to_owned(), columns.len());
        let compression = file.settings().compression;
        let notes = &settings.notes;
        if format == Format::Ntuple && *notes != TreeNotes::default() {
            let what = "an RNTuple records no aliases, index, friends or user info: a tree does".to_owned();
            return Err(Error::InvalidRequest { what });
        }
        let index = notes.index.as_ref();
        let index = index.map(|(major, minor)| IndexValues::new(schema, major, minor.as_deref()).map(Arc::new));
        let index = index.transpose()?;
        // What a format writes at once comes after what was queued before.
        file.queue().wait()?;
        let pipeline: Box<dyn Pipeline> = match format {
            Format::Tree => {
                let columns: Vec<TreeColumn> = columns.into_iter().map(Column::into_tree).collect();
                columns.iter().try_for_each(|column| check_layout(&column.name, &column.layout))?;
                let classes: Vec<String> = columns.iter().map(|column| class_name(column, &name)).collect();
                let planned: Vec<_> =
                    columns.iter().zip(&classes).map(|(column, class)| column.as_planned(class)).collect();
                let branches = plan_branches(&planned)?;
                let tree_settings = TreeSettings {
                    directory,
                    name: name.clone(),
                    title,
                    compression,
                    flush: settings.flush,
                    baskets: settings.baskets,
                    autosave_bytes: settings.autosave_bytes,
                    arrow_schema: if settings.records_schema { recorded.for_tree(&branches)? } else { None },
                    notes: settings.notes.clone(),
                    index: index.clone(),
                };
                let format = TreeFormat::new(file, &columns, tree_settings)?;
                Box::new(TablePipeline::new(file, format, n_columns, &settings))
            }
            Format::Ntuple => {
                let ntuple_settings = NtupleSettings {
                    directory,
                    name: name.clone(),
                    title,
                    compression,
                    page_bytes: settings.page_bytes.unwrap_or(PAGE_BYTES) as usize,
                    arrow_schema: if settings.records_schema { recorded.for_ntuple()? } else { None },
                };
                let columns: Vec<NtupleColumn> = columns.into_iter().map(Column::into_ntuple).collect();
                let format = NtupleFormat::new(file, &columns, ntuple_settings)?;
                Box::new(TablePipeline::new(file, format, n_columns, &settings))
            }
        };
        Ok(TableWriter {
            file: Arc::clone(file),
            name,
            columns: types,
            mantissas,
            n_entries: 0,
            pipeline,
            index,
            is_closed: false,
        })
    }

    /// Takes the entries of a batch, which has the columns of the table in their order. Their memory is used until they are
    /// compressed. May wait until there is room in the buffers of the file, and compresses meanwhile.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] or [`Error::Store`] for other columns, and for a null where none is stored; then nothing of
    /// this batch is taken if it has at most some thousand entries. Any other error stops the file, also one of an earlier batch
    /// that shows only now.
    pub fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_columns(batch)?;
        let n_entries = batch.num_rows();
        let slice_entries = slice_entries(batch);
        let indexed = self.index.as_ref().map(|index| index.of_batch(batch)).transpose()?;
        let mut start = 0;
        while start < n_entries {
            let slice = batch.slice(start, slice_entries.min(n_entries - start));
            let mut offsets = SharedOffsets::default();
            let stored: Vec<_> = self
                .columns
                .iter()
                .zip(slice.columns())
                .zip(&self.mantissas)
                .map(|(((name, data_type), array), bits)| {
                    let first_entry = self.n_entries;
                    let stored = store_beside(&mut offsets, name, array, data_type)
                        .map_err(|error| error.with_entry(|entry| entry + first_entry))?;
                    Ok(match bits {
                        Some(n_bits) => with_mantissas(stored, 0..array.len(), *n_bits),
                        None => stored,
                    })
                })
                .collect::<Result<_, _>>()
                .inspect_err(|error| self.stop_if_begun(start, error))?;
            self.pipeline
                .append(&stored, slice.num_rows())
                .inspect_err(|error| self.file.queue().stop(error.clone()))?;
            self.n_entries += slice.num_rows() as u64;
            start += slice.num_rows();
        }
        if let (Some(index), Some(values)) = (&self.index, indexed) {
            index.extend(values);
        }
        Ok(())
    }

    /// Entries taken so far.
    pub fn n_entries(&self) -> u64 {
        self.n_entries
    }

    /// Writes what is left, and the metadata of the table.
    ///
    /// # Errors
    /// Those of writing, also of earlier entries: they stop the file.
    pub fn close(mut self) -> Result<Written> {
        self.is_closed = true;
        self.pipeline.close().inspect_err(|error| self.file.queue().stop(error.clone()))
    }

    fn check_columns(&self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema_ref();
        let found: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        if found.iter().eq(self.columns.iter().map(|(name, _)| name)) {
            return Ok(());
        }
        let expected: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let what = format!("table {:?} has columns {expected:?}, and a batch has {found:?}", self.name);
        Err(Error::InvalidRequest { what })
    }

    /// A batch of which a part is written already cannot be taken back.
    fn stop_if_begun(&self, n_taken: usize, error: &arrowroot_arrow::stored::StoreError) {
        if n_taken > 0 {
            self.file.queue().stop(error.clone().into());
        }
    }
}

impl Drop for TableWriter {
    fn drop(&mut self) {
        if !self.is_closed && self.file.queue().is_own_process() {
            let what = format!("table {:?} was not closed, and would be missing", self.name);
            self.file.queue().stop(Error::InvalidRequest { what });
        }
    }
}

impl Column {
    fn into_tree(self) -> TreeColumn {
        let Column { name, title, data_type, counter, layout, compression } = self;
        TreeColumn { name, title, data_type, counter, layout, compression }
    }

    fn into_ntuple(self) -> NtupleColumn {
        let Column { name, title, data_type, counter: _, layout, compression } = self;
        NtupleColumn { name, title, data_type, layout, compression }
    }
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

/// How many entries of a batch to convert at once.
fn slice_entries(batch: &RecordBatch) -> usize {
    let n_entries = batch.num_rows();
    if n_entries <= MAX_ENTRIES {
        return n_entries.max(1);
    }
    let bytes = |array: &Arc<dyn Array>| array.to_data().get_slice_memory_size().unwrap_or_default();
    let n_bytes: usize = batch.columns().iter().map(bytes).sum();
    (n_entries / n_bytes.div_ceil(SLICE_BYTES).max(1)).max(MAX_ENTRIES)
}

#[cfg(test)]
mod tests;
