//! What is said of an RNTuple besides, in an attribute set: an RNTuple of its own that the footer links.

use std::sync::Arc;

use arrow_buffer::{Buffer, ScalarBuffer};
use arrowroot_arrow::Stored;
use arrowroot_format as format;
use format::codec::{CompressionSetting, Compressor};
use format::column::DataType;
use format::rntuple::AttributeSet;
use format::streamer::Primitive;

use super::metadata::{link, write_blob};
use super::{NtupleColumn, NtupleFormat, NtupleSettings};
use crate::cluster::Cluster;
use crate::error::Result;
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

/// Writes the attribute set: an entry for each name and value, said of all `n_entries` of the RNTuple.
///
/// ROOT opens it by `RNTupleReader::OpenAttributeSet`; who does not ask for it never sees it.
///
/// # Errors
/// The file's errors.
pub(super) fn write(
    file: &FileWriter,
    attributes: &[(&str, &str)],
    n_entries: u64,
    compression: CompressionSetting,
) -> Result<AttributeSet> {
    let number = || DataType::Primitive(Primitive::UInt64);
    let column = |name: &str, data_type: DataType| NtupleColumn {
        name: name.to_owned(),
        title: String::new(),
        data_type,
        layout: ColumnLayout::default(),
        compression: ColumnCodec::Set(compression),
    };
    let members = MEMBERS.map(|name| (name.into(), DataType::Text));
    let columns = [
        column(RANGE[0], number()),
        column(RANGE[1], number()),
        column(USER_DATA, DataType::Struct(Arc::new(members))),
    ];
    let len = attributes.len();
    let numbers = |value: u64| {
        let values = Buffer::from_vec(vec![value; len]);
        vec![Stored::Numbers { primitive: Primitive::UInt64, values }]
    };
    let members =
        vec![texts(attributes.iter().map(|(key, _)| *key)), texts(attributes.iter().map(|(_, value)| *value))];
    let values = vec![numbers(0), numbers(n_entries), vec![Stored::Struct { len, members }]];
    let cluster = Arc::new(Cluster { first_entry: 0, n_entries: len, columns: values });

    let settings = NtupleSettings {
        directory: ROOT_DIRECTORY,
        name: SET.to_owned(),
        title: String::new(),
        compression,
        page_bytes: super::MAX_PAGE_BYTES,
        projections: Vec::new(),
        arrow_schema: None,
    };
    let mut set = NtupleFormat::new(file, &columns, settings)?;
    let mut compressor = Compressor::new();
    let encoded: Vec<_> =
        set.tasks(Arc::clone(&cluster))?.into_iter().map(|task| task(&mut compressor)).collect::<Result<_>>()?;
    file.with_appender(|appender| set.place(&cluster, encoded, true, appender))?;
    let anchor = set.write_metadata(file)?.write()?;
    let blob = write_blob(file, set.seek_root, CompressionSetting::NONE, &anchor)?;
    Ok(AttributeSet { name: SET.to_owned(), version: VERSION, anchor: link(blob) })
}

fn texts<'t>(texts: impl Iterator<Item = &'t str>) -> Stored {
    let (mut offsets, mut bytes) = (vec![0], Vec::new());
    for text in texts {
        bytes.extend_from_slice(text.as_bytes());
        offsets.push(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
    }
    Stored::Text { offsets: ScalarBuffer::from(offsets), bytes: Buffer::from_vec(bytes) }
}
