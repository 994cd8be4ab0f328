//! Which entries of a table come from which input: a small table beside it.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use arrowroot::File;
use arrowroot::storage::redacted;
use arrowroot_writer::{FileWriter, Format, TableSettings, TableWriter};

use crate::error::Result;

/// The path of the table of origins of a table.
pub(crate) fn path(path: &str) -> String {
    format!("{path}_inputs")
}

/// The entries of a table that come from an input.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    url: String,
    uuid: String,
    first_entry: u64,
    n_entries: u64,
}

impl Origin {
    pub(crate) fn of(input: &File, first_entry: u64, n_entries: u64) -> Origin {
        let uuid = input.header().uuid;
        let uuid = if uuid.0 == [0; 16] { String::new() } else { uuid.to_string() };
        Origin { url: redacted(input.url()), uuid, first_entry, n_entries }
    }

    /// One past its last entry.
    pub(crate) fn end(&self) -> u64 {
        self.first_entry + self.n_entries
    }
}

/// Writes the table of a table's origins.
///
/// # Errors
/// Errors of writing.
pub(crate) fn write(file: &Arc<FileWriter>, path: &str, format: Format, origins: &[Origin]) -> Result<()> {
    let text = |of: fn(&Origin) -> &str| Arc::new(StringArray::from_iter_values(origins.iter().map(of))) as ArrayRef;
    let number = |of: fn(&Origin) -> u64| Arc::new(UInt64Array::from_iter_values(origins.iter().map(of))) as ArrayRef;
    let columns = [
        ("input", DataType::Utf8, text(|origin| &origin.url)),
        ("uuid", DataType::Utf8, text(|origin| &origin.uuid)),
        ("first_entry", DataType::UInt64, number(|origin| origin.first_entry)),
        ("n_entries", DataType::UInt64, number(|origin| origin.n_entries)),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(name, data_type, _)| Field::new(*name, data_type.clone(), false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, _, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)
        .map_err(|error| crate::Error::InvalidRequest { what: format!("{path}: {error}") })?;
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (directory, name, title) = (file.directory(directory)?, self::path(name), format!("inputs of {name}"));
    let settings = TableSettings::default();
    let mut table = TableWriter::create(file, directory, &name, &title, &schema, format, settings)?;
    table.append(&batch)?;
    table.close()?;
    Ok(())
}
