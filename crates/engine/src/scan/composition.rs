//! How the columns of a batch as it is read become those that were written.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrowroot_arrow::stored::{StoreError, compose, of_field, restore};
use arrowroot_file::{Error, Result};
use arrowroot_format as format;
use arrowroot_format::column::DataType;

/// The work on each batch of a scan.
#[derive(Debug)]
pub(crate) struct Composition {
    pub(crate) url: String,
    pub(crate) schema: SchemaRef,
    /// For each field of the schema.
    pub(crate) columns: Vec<ColumnSource>,
}

/// Where the values of columns are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// In branches, each with the lists around it.
    Branches,
    /// In one field.
    Fields,
}

/// The source of a column.
#[derive(Debug)]
pub(crate) enum ColumnSource {
    /// A column that is read, as it is.
    Read(usize),
    /// Parts of it, by their indices among the columns that are read.
    Parts { data_type: DataType, parts: Vec<usize>, holds: Holds },
}

impl Composition {
    /// Schema of the batches that are delivered.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns that take time to make, for [`Composition::column`].
    pub(crate) fn slow_columns(&self) -> Vec<usize> {
        let is_slow = |source: &ColumnSource| matches!(source, ColumnSource::Parts { .. });
        let slow = self.columns.iter().enumerate().filter(|(_, source)| is_slow(source));
        slow.map(|(index, _)| index).collect()
    }

    /// Makes a column of the batch that is delivered. Any thread may do it.
    ///
    /// # Errors
    /// [`Error::Format`] if the parts are not what was written; [`Error::InvalidRequest`] if a batch is too large for the
    /// dictionary or the runs of a column.
    pub(crate) fn column(&self, batch: &RecordBatch, index: usize) -> Result<ArrayRef> {
        let field = self.schema.field(index);
        match &self.columns[index] {
            ColumnSource::Read(index) => Ok(Arc::clone(batch.column(*index))),
            ColumnSource::Parts { data_type, parts: indices, holds } => {
                let name = field.name();
                let parts: Vec<ArrayRef> = indices.iter().map(|&index| Arc::clone(batch.column(index))).collect();
                let composed = match (holds, parts.as_slice()) {
                    (Holds::Fields, [array]) => {
                        let is_nullable =
                            indices.first().is_some_and(|&index| batch.schema_ref().field(index).is_nullable());
                        of_field(name, data_type, array, is_nullable)
                    }
                    _ => compose(name, data_type, &parts),
                };
                let restored = composed.and_then(|composed| restore(name, &composed, field));
                restored.map_err(|error| self.error(name, error))
            }
        }
    }

    /// The batch that is delivered. `made`: its slow columns.
    ///
    /// # Errors
    /// [`Error::Format`] if the columns are not of its schema.
    pub(crate) fn join(&self, batch: &RecordBatch, mut made: HashMap<usize, ArrayRef>) -> Result<RecordBatch> {
        let columns = 0..self.columns.len();
        let arrays = columns.map(|index| made.remove(&index).map_or_else(|| self.column(batch, index), Ok));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options).map_err(|error| {
            self.error("batch", StoreError::Malformed { column: String::new(), what: error.to_string() })
        })
    }

    fn error(&self, column: &str, error: StoreError) -> Error {
        match error {
            StoreError::TooMany { .. } => Error::InvalidRequest { what: format!("{}: {error}", self.url) },
            other => Error::Format {
                url: self.url.clone(),
                object: column.to_owned(),
                source: format::Error::corrupt(
                    0,
                    format!("not as the recorded Arrow schema says: {other}; raw=True gives its bytes"),
                ),
            },
        }
    }
}
