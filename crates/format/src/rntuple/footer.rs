//! The footer: extensions of the schema, and where the page lists are.

use crate::error::{Error, Result, Within};

use super::envelope::{EnvelopeLink, Kind, link, locator, open, outside, write_link, write_locator};
use super::reader::Reader;
use super::schema::Schema;
use super::writer::Writer;

/// Clusters whose pages one page list describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterGroup {
    /// Its first entry.
    pub first_entry: u64,
    /// Number of entries.
    pub n_entries: u64,
    /// Number of clusters.
    pub n_clusters: u32,
    /// The page list.
    pub page_list: EnvelopeLink,
}

/// An RNTuple of metadata that belongs to this one (1.0.1 and later).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeSet {
    /// Name.
    pub name: String,
    /// Version of the schema: major, minor.
    pub version: [u16; 2],
    /// Its anchor.
    pub anchor: EnvelopeLink,
}

/// What the footer says besides the schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Footer {
    /// The cluster groups, in the order of the file.
    pub groups: Vec<ClusterGroup>,
    /// Attribute sets.
    pub attributes: Vec<AttributeSet>,
    /// The list of attribute sets is there, be it empty: from 1.0.1.0 on.
    pub has_attribute_list: bool,
}

/// The fewest bytes of the frames of a cluster group and an attribute set: locators of a type that is not known have 4 bytes
/// or more, and names none.
const GROUP_BYTES: usize = 40;
const ATTRIBUTES_BYTES: usize = 24;

impl Footer {
    /// Reads the footer envelope, and adds what it says to the schema.
    ///
    /// # Errors
    /// As [`Schema::parse`]; corrupt if the footer belongs to another header.
    pub fn parse(footer: &[u8], schema: &mut Schema) -> Result<Footer> {
        let (mut reader, _) = open(footer, Kind::Footer).within(|| "footer")?;
        Self::parse_payload(&mut reader, schema).within(|| "footer")
    }

    fn parse_payload(reader: &mut Reader<'_>, schema: &mut Schema) -> Result<Footer> {
        schema.add_features(reader)?;
        check_header(reader, schema)?;
        let mut extension = reader.record()?;
        if extension.remaining() > 0 {
            schema.has_extension = true;
            schema.extend(&mut extension).within(|| "schema extension")?;
        }
        Self::parse_lists(reader)
    }

    /// The bytes of a footer envelope that [`Footer::parse`] adds to the schema. `None` if they cannot be told.
    pub fn schema_bytes(footer: &[u8]) -> Option<&[u8]> {
        let (mut reader, _) = open(footer, Kind::Footer).ok()?;
        let first = reader.offset();
        let mut schema = Schema::default();
        schema.add_features(&mut reader).ok()?;
        reader.u64().ok()?;
        reader.record().ok()?;
        footer.get(first..reader.offset())
    }

    /// Reads a footer envelope with the [`schema_bytes`](Footer::schema_bytes) of one that belongs to the same header.
    ///
    /// # Errors
    /// Corrupt or unsupported lists of clusters and attributes.
    pub fn parse_of_known(footer: &[u8], schema_bytes: &[u8]) -> Result<Footer> {
        let (mut reader, _) = open(footer, Kind::Footer).within(|| "footer")?;
        reader.take(schema_bytes.len()).and_then(|_| Self::parse_lists(&mut reader)).within(|| "footer")
    }

    fn parse_lists(reader: &mut Reader<'_>) -> Result<Footer> {
        let (mut list, n_groups) = reader.list(GROUP_BYTES)?;
        let mut groups = Vec::with_capacity(n_groups);
        for number in 0..n_groups {
            groups.push(group(&mut list.record()?).within(|| format!("cluster group {number} of {n_groups}"))?);
        }
        let mut attributes = Vec::new();
        let has_attribute_list = reader.remaining() > 0;
        if has_attribute_list {
            let (mut list, n_sets) = reader.list(ATTRIBUTES_BYTES)?;
            for number in 0..n_sets {
                let set = attribute_set(&mut list.record()?);
                attributes.push(set.within(|| format!("attribute set {number} of {n_sets}"))?);
            }
        }
        Ok(Footer { groups, attributes, has_attribute_list })
    }

    /// Writes the footer envelope, with what was added to the schema after its header.
    ///
    /// # Errors
    /// Unsupported for links out of the file and what the format has no room for.
    ///
    /// # Source
    /// `RNTupleSerializer::SerializeFooter` (ROOT 6.40).
    pub fn write(&self, schema: &Schema) -> Result<Vec<u8>> {
        let mut writer = Writer::new();
        writer.u64(schema.features);
        writer.u64(schema.header_checksum);
        let extension = writer.begin_record();
        schema.write_extension(&mut writer)?;
        writer.end(extension);
        let list = writer.begin_list(self.groups.len())?;
        for group in &self.groups {
            let record = writer.begin_record();
            writer.u64(group.first_entry);
            writer.u64(group.n_entries);
            writer.u32(group.n_clusters);
            write_link(&mut writer, &group.page_list)?;
            writer.end(record);
        }
        writer.end(list);
        if self.has_attribute_list || !self.attributes.is_empty() {
            let list = writer.begin_list(self.attributes.len())?;
            self.attributes.iter().try_for_each(|set| write_attribute_set(&mut writer, set))?;
            writer.end(list);
        }
        writer.envelope(Kind::Footer).map(|(envelope, _)| envelope)
    }

    /// Number of entries of all cluster groups.
    pub fn n_entries(&self) -> u64 {
        self.groups.iter().map(|group| group.first_entry.saturating_add(group.n_entries)).max().unwrap_or(0)
    }
}

/// Footer and page lists repeat the checksum of their header.
pub(super) fn check_header(reader: &mut Reader<'_>, schema: &Schema) -> Result<()> {
    let start = reader.offset();
    let checksum = reader.u64()?;
    if checksum == schema.header_checksum {
        return Ok(());
    }
    let what = format!("it belongs to a header with checksum {checksum:016x}, not {:016x}", schema.header_checksum);
    Err(Error::corrupt(start, what))
}

fn group(reader: &mut Reader<'_>) -> Result<ClusterGroup> {
    let start = reader.offset();
    let (first_entry, n_entries) = (reader.u64()?, reader.u64()?);
    if first_entry.checked_add(n_entries).is_none_or(|end| end > i64::MAX as u64) {
        return Err(Error::corrupt(start, format!("{n_entries} entries from {first_entry} on")));
    }
    Ok(ClusterGroup { first_entry, n_entries, n_clusters: reader.u32()?, page_list: link(reader)? })
}

/// Source: `RNTupleSerializer::SerializeAttributeSet` (ROOT 6.40).
fn write_attribute_set(writer: &mut Writer, set: &AttributeSet) -> Result<()> {
    let record = writer.begin_record();
    set.version.iter().for_each(|&part| writer.u16(part));
    let n_bytes = u32::try_from(set.anchor.uncompressed_bytes);
    writer.u32(n_bytes.map_err(|_| Error::unsupported(0, "an anchor of 4 GiB or more"))?);
    write_locator(writer, set.anchor.locator.ok_or_else(outside)?);
    writer.counted(set.name.as_bytes())?;
    writer.end(record);
    Ok(())
}

fn attribute_set(reader: &mut Reader<'_>) -> Result<AttributeSet> {
    let version = [reader.u16()?, reader.u16()?];
    let uncompressed_bytes = u64::from(reader.u32()?);
    let anchor = EnvelopeLink { uncompressed_bytes, locator: locator(reader)? };
    Ok(AttributeSet { name: reader.name()?.to_owned(), version, anchor })
}
