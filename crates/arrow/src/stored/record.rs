//! The Arrow schema of a table, recorded in its file.
//!
//! A record is named `ARROW:schema` and is what Parquet files have under that key: the IPC message of the schema in base64.
//! Its metadata have one key more, which says which fields store validity. There is one only if reading would give another
//! schema without it.

use std::collections::{HashMap, HashSet};

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::root_as_message_with_opts;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Schema};
use arrowroot_format::column::DataType;
use arrowroot_format::streamer::Primitive;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flatbuffers::VerifierOptions;

use super::branches::{BranchForm, Content, PlannedBranch};
use super::data_type::data_type;
use super::error::{Result, StoreError};
use super::fields::type_of_field;
use super::names::{original_name, stored_name};
use super::validity::{validity_flags, with_validity_flags};
use crate::text::TextForm;
use crate::types::{ArrowTypes, arrow_type};

/// Name of the record. Source: `kArrowSchemaKey` in `parquet/arrow/schema.cc` (Arrow C++).
pub const SCHEMA_RECORD: &str = "ARROW:schema";

/// Key of the flags in the metadata of the schema: `1` for each field that stores validity, `0` for others.
const VALIDITY: &str = "arrowroot:validity";

/// Key of the split levels in the metadata of the schema: for each column a number, or `-` for one without objects, with spaces
/// between. It is there if one has them.
const SPLIT: &str = "arrowroot:split";
/// The highest split level. Source: `TTree::Branch`.
const MAX_SPLIT: u8 = 99;

/// What goes before an IPC message. Source: the Arrow format, "Encapsulated message format".
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Records that are longer are not read: a tree of 100,000 branches has some 20 MB.
const MAX_RECORD_BYTES: usize = 256 << 20;

/// A message may stand for so many bytes whatever it has, and for so many times what it has. Tables of equal fields share
/// what says where these are, so it is some times more in any schema.
const MIN_APPARENT_BYTES: usize = 1 << 20;
const MAX_REPEATS: usize = 16;

/// The content of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedSchema {
    /// The schema that was written.
    pub schema: Schema,
    /// The same, nullable where validity is stored.
    pub stored: Schema,
    /// For each column of a tree whose structs are objects its split level; empty: none has any.
    pub splits: Vec<Option<u8>>,
}

impl RecordedSchema {
    /// The text of the record.
    ///
    /// # Errors
    /// [`StoreError::NoLayout`] for a schema that the message cannot hold: of types nested in more than some 60 others.
    pub fn encode(&self) -> Result<String> {
        let flags = validity_flags(&self.stored).into_iter().map(|flag| if flag { '1' } else { '0' });
        let mut metadata: HashMap<String, String> =
            self.schema.metadata().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        metadata.insert(VALIDITY.to_owned(), flags.collect());
        if self.splits.iter().any(Option::is_some) {
            let levels: Vec<String> =
                self.splits.iter().map(|level| level.map_or("-".to_owned(), |level| level.to_string())).collect();
            metadata.insert(SPLIT.to_owned(), levels.join(" "));
        }
        let schema = Schema::new_with_metadata(self.schema.fields().clone(), metadata);
        let mut tracker = DictionaryTracker::new(false);
        let options = IpcWriteOptions::default();
        let message = IpcDataGenerator::default()
            .schema_to_bytes_with_dictionary_tracker(&schema, &mut tracker, &options)
            .ipc_message;
        let padding = message.len().next_multiple_of(8) - message.len();
        let length = i32::try_from(message.len() + padding);
        let length = length.map_err(|_| self.no_record("a schema of more than 2 GiB"))?;
        let mut bytes = Vec::with_capacity(8 + message.len() + padding);
        bytes.extend_from_slice(&CONTINUATION);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&message);
        bytes.resize(bytes.len() + padding, 0);
        let text = BASE64_STANDARD.encode(bytes);
        match Self::decode(&text) {
            Ok(read) if read.schema == self.schema => Ok(text),
            _ => Err(self.no_record("types that are nested so deeply")),
        }
    }

    fn no_record(&self, what: &str) -> StoreError {
        let deepest = self.schema.fields().iter().max_by_key(|field| levels(field.data_type()));
        StoreError::NoLayout {
            column: deepest.map_or_else(String::new, |field| field.name().clone()),
            what: what.to_owned(),
        }
    }

    /// The content of a record's text.
    ///
    /// # Errors
    /// What is wrong with it, as a text.
    pub fn decode(text: &str) -> std::result::Result<RecordedSchema, String> {
        if text.len() > MAX_RECORD_BYTES {
            return Err(format!("it has {} bytes", text.len()));
        }
        let bytes = BASE64_STANDARD.decode(text.trim_ascii()).map_err(|error| error.to_string())?;
        let recorded = schema_of_message(&bytes)?;
        let flags = recorded.metadata().iter().find(|(key, _)| key.as_str() == VALIDITY);
        let flags = flags.map(|(_, flags)| flags.bytes().map(|flag| flag == b'1').collect::<Vec<_>>());
        let metadata: HashMap<String, String> = recorded
            .metadata()
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), VALIDITY | SPLIT))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let schema = Schema::new_with_metadata(recorded.fields().clone(), metadata);
        let stored = flags.map_or_else(|| schema.clone(), |flags| with_validity_flags(&schema, &flags));
        let splits = match recorded.metadata().get(SPLIT) {
            Some(levels) => split_levels(levels, schema.fields().len())?,
            None => Vec::new(),
        };
        Ok(RecordedSchema { schema, stored, splits })
    }

    /// What an RNTuple of these columns would record if its names were those that its fields had before they were
    /// [stored](stored_name), at any depth; `None` if all are as they are stored.
    pub fn of_stored_names(read: &Schema) -> Option<RecordedSchema> {
        let fields: Vec<Field> = read.fields().iter().map(|field| with_original_names(field)).collect();
        let mut seen = HashSet::with_capacity(fields.len());
        if !fields.iter().all(|field| seen.insert(field.name().as_str())) {
            return None;
        }
        let schema = Schema::new(fields);
        let is_other = schema.fields() != read.fields();
        is_other.then(|| RecordedSchema { stored: schema.clone(), schema, splits: Vec::new() })
    }

    /// The record that a tree of these branches needs; `None` if it reads the same without one.
    ///
    /// # Errors
    /// As [`RecordedSchema::encode`].
    pub fn for_tree(&self, branches: &[PlannedBranch]) -> Result<Option<String>> {
        let is_natural = branches.iter().all(|branch| branch.element.is_none());
        if is_natural && natural_tree_schema(branches) == self.schema { Ok(None) } else { self.encode().map(Some) }
    }

    /// The record that an RNTuple of these columns needs; `None` if it reads the same without one. `has_types`: some of its fields
    /// have other types than their columns have by themselves.
    ///
    /// # Errors
    /// As [`RecordedSchema::encode`] and [`data_type`].
    pub fn for_ntuple(&self, has_types: bool) -> Result<Option<String>> {
        if !has_types && natural_ntuple_schema(&self.stored)? == self.schema {
            Ok(None)
        } else {
            self.encode().map(Some)
        }
    }
}

/// A field with its original name, and those of the members in it.
fn with_original_names(field: &Field) -> Field {
    let inner = |inner: &FieldRef| FieldRef::new(with_original_names(inner));
    let of = match field.data_type() {
        ArrowType::Struct(members) => ArrowType::Struct(members.iter().map(inner).collect()),
        ArrowType::List(item) => ArrowType::List(inner(item)),
        ArrowType::LargeList(item) => ArrowType::LargeList(inner(item)),
        ArrowType::FixedSizeList(item, n_items) => ArrowType::FixedSizeList(inner(item), *n_items),
        ArrowType::Map(entries, is_sorted) => ArrowType::Map(inner(entries), *is_sorted),
        ArrowType::Union(members, mode) => {
            ArrowType::Union(members.iter().map(|(id, member)| (id, inner(member))).collect(), *mode)
        }
        other => other.clone(),
    };
    field.clone().with_name(original_name(field.name())).with_data_type(of)
}

/// The split levels of so many columns.
fn split_levels(text: &str, n_columns: usize) -> std::result::Result<Vec<Option<u8>>, String> {
    let level = |text: &str| match text {
        "-" => Ok(None),
        number => {
            let level = number.parse().ok().filter(|level| *level <= MAX_SPLIT);
            level.map(Some).ok_or_else(|| format!("{number:?} is no split level"))
        }
    };
    let levels: Vec<Option<u8>> = text.split(' ').map(level).collect::<std::result::Result<_, _>>()?;
    if levels.len() != n_columns {
        return Err(format!("{} split levels for {n_columns} columns", levels.len()));
    }
    Ok(levels)
}

/// The schema in an IPC message.
///
/// Parts of a message may be in it several times, and so a small one may stand for a large schema: those are refused.
fn schema_of_message(bytes: &[u8]) -> std::result::Result<Schema, String> {
    // Older messages begin with their length.
    let bytes = bytes.strip_prefix(&CONTINUATION).unwrap_or(bytes);
    let (length, message) = bytes.split_first_chunk::<4>().ok_or("it is cut short")?;
    let length = usize::try_from(i32::from_le_bytes(*length)).map_err(|error| error.to_string())?;
    let message = message.get(..length).ok_or("it is cut short")?;
    let max_apparent_size = message.len().saturating_mul(MAX_REPEATS).saturating_add(MIN_APPARENT_BYTES);
    let options = VerifierOptions { max_apparent_size, ..VerifierOptions::default() };
    let message = root_as_message_with_opts(&options, message).map_err(|error| error.to_string())?;
    let schema = message.header_as_schema().ok_or("it is no message of a schema")?;
    try_fb_to_schema(schema).map_err(|error| error.to_string())
}

/// How many types are around the innermost one.
fn levels(data_type: &ArrowType) -> usize {
    match data_type {
        ArrowType::List(field)
        | ArrowType::LargeList(field)
        | ArrowType::ListView(field)
        | ArrowType::LargeListView(field)
        | ArrowType::FixedSizeList(field, _)
        | ArrowType::Map(field, _)
        | ArrowType::RunEndEncoded(_, field) => 1 + levels(field.data_type()),
        ArrowType::Struct(fields) => 1 + fields.iter().map(|field| levels(field.data_type())).max().unwrap_or(0),
        ArrowType::Union(fields, _) => 1 + fields.iter().map(|(_, field)| levels(field.data_type())).max().unwrap_or(0),
        ArrowType::Dictionary(_, value) => 1 + levels(value),
        _ => 0,
    }
}

/// The schema that reading a tree of these branches gives without a record.
pub(super) fn natural_tree_schema(branches: &[PlannedBranch]) -> Schema {
    let list = |item| DataType::List(Box::new(item));
    let fixed = |item, dims: &[u32]| {
        dims.iter().rev().fold(item, |item, &n_items| DataType::FixedList(Box::new(item), n_items))
    };
    let field = |branch: &PlannedBranch| {
        let value = match branch.content {
            Content::Counter => DataType::Primitive(Primitive::Int32),
            Content::Validity => DataType::Primitive(Primitive::Bool),
            Content::Values(primitive) => DataType::Primitive(primitive),
            Content::Text | Content::Objects => DataType::Text,
        };
        let of = match &branch.form {
            BranchForm::Fixed(dims) => fixed(value, dims),
            BranchForm::Counted { dims, .. } => list(fixed(value, dims)),
            BranchForm::Vectors(n_levels) => (0..*n_levels).fold(value, |item, _| list(item)),
            // Objects have a record in any case.
            BranchForm::Group | BranchForm::Streamed { .. } => value,
        };
        Field::new(&branch.name, arrow_type(&of, TextForm::Utf8), false)
    };
    Schema::new(branches.iter().map(field).collect::<Vec<_>>())
}

/// The schema that reading an RNTuple of these columns gives without a record.
///
/// # Errors
/// As [`data_type`].
pub(super) fn natural_ntuple_schema(stored: &Schema) -> Result<Schema> {
    let mut types = ArrowTypes::new(TextForm::Utf8);
    let field = |field: &std::sync::Arc<Field>| {
        let of = type_of_field(&data_type(field)?);
        Ok(types.arrow_field(&stored_name(field.name()), &of))
    };
    Ok(Schema::new(stored.fields().iter().map(field).collect::<Result<Vec<_>>>()?))
}

#[cfg(test)]
mod tests;
