//! Which entries of a table come from which input: a small tree beside a tree, an attribute set of an RNTuple.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use arrowroot::File;
use arrowroot::storage::redacted;
use arrowroot_format::rntuple::AttributeSet;
use arrowroot_writer::ntuple::CopiedNtuple;
use arrowroot_writer::{FileWriter, Format, TableSettings, TableWriter};

use crate::error::Result;
use crate::merging::{Names, Output};

/// The attribute set of the origins of an RNTuple.
pub(crate) const SET: &str = "inputs";

/// The path of the table of origins of a tree.
pub(crate) fn path(path: &str) -> String {
    format!("{path}_inputs")
}

/// The entries of a table that come from an input.
#[derive(Debug, Clone)]
pub struct Origin {
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

/// Writes the table of a tree's origins, if there are any.
///
/// # Errors
/// Errors of writing.
pub(crate) fn write_table(output: &Output, names: &Names, origins: &[Origin]) -> Result<()> {
    if origins.is_empty() {
        return Ok(());
    }
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
        .map_err(|error| crate::Error::InvalidRequest { what: format!("{}: {error}", names.path) })?;
    let directory = names.directory_in(output)?;
    let (name, title) = (path(&names.name), format!("inputs of {}", names.name));
    let settings = TableSettings::default();
    let mut table = TableWriter::create(&output.file, directory, &name, &title, &schema, Format::Tree, settings)?;
    table.append(&batch)?;
    table.close()?;
    Ok(())
}

/// Writes the attribute set of an RNTuple's origins, if there are any.
///
/// # Errors
/// Errors of writing.
pub(crate) fn write_set(file: &FileWriter, origins: &[Origin]) -> Result<Option<AttributeSet>> {
    if origins.is_empty() {
        return Ok(None);
    }
    let ranges: Vec<[u64; 2]> = origins.iter().map(|origin| [origin.first_entry, origin.n_entries]).collect();
    let text = |of: fn(&Origin) -> &str| origins.iter().map(of).collect();
    let members = [("input", text(|origin| &origin.url)), ("uuid", text(|origin| &origin.uuid))];
    Ok(Some(CopiedNtuple::new(file).write_texts(file, SET, &ranges, &members)?))
}
