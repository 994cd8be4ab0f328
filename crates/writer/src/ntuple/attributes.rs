//! What is said of an RNTuple besides, in an attribute set: an RNTuple of its own that the footer links.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema};
use arrowroot_arrow::Stored;
use arrowroot_format as format;
use format::codec::{CompressionSetting, Compressor};
use format::column::DataType as StoredType;
use format::rntuple::AttributeSet;
use format::streamer::Primitive;

use super::metadata::{link, write_blob};
use super::{NtupleColumn, NtupleFormat, NtupleSettings};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::file::{FileWriter, ROOT_DIRECTORY};
use crate::settings::{ColumnCodec, ColumnLayout};
use crate::table_format::TableFormat;

/// Name of the set.
const SET: &str = "ARROW";
/// The name under which the Arrow schema is said, as in Parquet: its message in base64.
pub(super) const ARROW_SCHEMA: &str = "ARROW:schema";
/// Version of the schema of attribute sets: major, minor. Source: `kSchemaVersionMajor` of `RNTupleAttrUtils.hxx` (ROOT 6.40).
const VERSION: [u16; 2] = [1, 0];
/// What its entries have besides the range of entries that they are of, which here is all. Source: `kMetaFieldNames` of the
/// same; `RNTupleAttrSetWriter::Create`.
const RANGE: [&str; 2] = ["_rangeStart", "_rangeLen"];
const USER_DATA: &str = "_userData";
/// Its members: names and values.
const MEMBERS: [&str; 2] = ["key", "value"];

/// Names of attribute sets, and where they are once they are written.
type NamedSets = Vec<(String, Option<AttributeSet>)>;

/// The attribute sets of an RNTuple: those that are being written, too.
#[derive(Debug, Clone, Default)]
pub struct AttributeSets(Arc<Mutex<NamedSets>>);

impl AttributeSets {
    fn lock(&self) -> MutexGuard<'_, NamedSets> {
        // Each change is one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a set that begins.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for a name that is taken.
    pub(crate) fn begin(&self, name: &str) -> Result<()> {
        let mut sets = self.lock();
        if name.is_empty() || name == SET || sets.iter().any(|(taken, _)| taken == name) {
            let what = format!("attribute set {name:?}: there is one of that name, or it is ours");
            return Err(Error::InvalidRequest { what });
        }
        sets.push((name.to_owned(), None));
        Ok(())
    }

    /// Takes a set that is written.
    pub(super) fn end(&self, set: AttributeSet) {
        if let Some((_, place)) = self.lock().iter_mut().find(|(name, _)| *name == set.name) {
            *place = Some(set);
        }
    }

    /// All sets, in the order in which they began.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for one that is not whole.
    pub(super) fn written(&self) -> Result<Vec<AttributeSet>> {
        let open = |name: &String| Error::InvalidRequest { what: format!("attribute set {name:?} was not closed") };
        self.lock().iter().map(|(name, set)| set.clone().ok_or_else(|| open(name))).collect()
    }
}

/// The columns of an attribute set whose entries say such values of ranges of entries.
pub(crate) fn attribute_schema(values: &Schema) -> Schema {
    let values = DataType::Struct(values.fields().clone());
    let range = RANGE.map(|name| Field::new(name, DataType::UInt64, false));
    Schema::new(range.into_iter().chain([Field::new(USER_DATA, values, false)]).collect::<Vec<_>>())
}

/// Writes the set of what Arrow says of an RNTuple: an entry for each name and value, said of all `n_entries` of it.
///
/// # Errors
/// The file's errors.
pub(super) fn write_arrow(
    file: &FileWriter,
    attributes: &[(&str, &str)],
    n_entries: u64,
    compression: CompressionSetting,
) -> Result<AttributeSet> {
    let (keys, values) = attributes.iter().copied().unzip();
    let members = MEMBERS.into_iter().zip([keys, values]).collect::<Vec<_>>();
    write(file, SET, &vec![[0, n_entries]; attributes.len()], &members, compression)
}

/// Writes an attribute set of texts. `ranges`: of each of its entries, the first one that it is of and how many; `members`: names,
/// and the text of each entry.
///
/// ROOT opens it by `RNTupleReader::OpenAttributeSet`; who does not ask for it never sees it.
///
/// # Errors
/// The file's errors.
pub(super) fn write(
    file: &FileWriter,
    name: &str,
    ranges: &[[u64; 2]],
    members: &[(&str, Vec<&str>)],
    compression: CompressionSetting,
) -> Result<AttributeSet> {
    let types: Vec<_> = members.iter().map(|&(name, _)| (name.into(), StoredType::Text)).collect();
    let number = || StoredType::Primitive(Primitive::UInt64);
    let types = [number(), number(), StoredType::Struct(types.into())];
    let columns = RANGE.into_iter().chain([USER_DATA]).zip(types).map(|(name, data_type)| NtupleColumn {
        name: name.to_owned(),
        title: String::new(),
        data_type,
        layout: ColumnLayout::default(),
        compression: ColumnCodec::Set(compression),
    });
    let columns: Vec<NtupleColumn> = columns.collect();
    let len = ranges.len();
    let numbers = |index: usize| {
        let values = Buffer::from_vec(ranges.iter().map(|range| range[index]).collect());
        vec![Stored::Numbers { primitive: Primitive::UInt64, values }]
    };
    let members = members.iter().map(|(_, values)| texts(values.iter().copied())).collect();
    let values = vec![numbers(0), numbers(1), vec![Stored::Struct { len, members }]];
    let cluster = Arc::new(Cluster { first_entry: 0, n_entries: len, columns: values });

    let mut set =
        NtupleFormat::new(file, &columns, NtupleSettings::of_set(name, compression, AttributeSets::default()))?;
    let mut compressor = Compressor::new();
    let encoded: Vec<_> =
        set.tasks(Arc::clone(&cluster))?.into_iter().map(|task| task(&mut compressor)).collect::<Result<_>>()?;
    file.with_appender(|appender| set.place(&cluster, encoded, true, appender))?;
    set.end_as_set(file)
}

impl NtupleSettings {
    /// The settings of an attribute set.
    pub(crate) fn of_set(name: &str, compression: CompressionSetting, set_of: AttributeSets) -> Self {
        NtupleSettings {
            directory: ROOT_DIRECTORY,
            name: name.to_owned(),
            title: String::new(),
            compression,
            page_bytes: super::MAX_PAGE_BYTES,
            projections: Vec::new(),
            arrow_schema: None,
            attributes: AttributeSets::default(),
            set_of: Some(set_of),
        }
    }
}

impl NtupleFormat {
    /// Writes its metadata as those of an attribute set, which the footer of its RNTuple links.
    pub(super) fn end_as_set(&mut self, file: &FileWriter) -> Result<AttributeSet> {
        let anchor = self.write_metadata(file)?.write()?;
        let blob = write_blob(file, self.seek_root, CompressionSetting::NONE, &anchor)?;
        Ok(AttributeSet { name: self.settings.name.clone(), version: VERSION, anchor: link(blob) })
    }
}

fn texts<'t>(texts: impl Iterator<Item = &'t str>) -> Stored {
    let (mut offsets, mut bytes) = (vec![0], Vec::new());
    for text in texts {
        bytes.extend_from_slice(text.as_bytes());
        offsets.push(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
    }
    Stored::Text { offsets: ScalarBuffer::from(offsets), bytes: Buffer::from_vec(bytes) }
}
