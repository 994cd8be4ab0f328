//! An RNTuple whose pages come from others, compressed and encoded as they are.
//!
//! Its pages are appended while they come; header, page lists and footer follow once all are there, so that the header has the
//! fields and columns of all of them.

use arrowroot_format as format;
use format::codec::CompressionSetting;
use format::container::Datime;
use format::rntuple::{ANCHOR_CLASS, Anchor, AttributeSet, Blob, ClusterGroup, PageList, Schema};

use super::metadata::{link, write_blob, write_footer, write_list};
use super::record::PagesRecord;
use super::{WRITER, attributes};
use crate::error::Result;
use crate::file::{DirectoryId, FileWriter, ROOT_DIRECTORY};

/// An RNTuple of copied pages.
#[derive(Debug)]
pub struct CopiedNtuple {
    datime: Datime,
    seek_root: u64,
    compression: CompressionSetting,
    record: PagesRecord,
}

impl CopiedNtuple {
    /// Begins one; nothing is written. Its metadata are compressed as the objects of the file.
    pub fn new(file: &FileWriter) -> CopiedNtuple {
        CopiedNtuple {
            datime: file.datime(),
            seek_root: file.seek_of(ROOT_DIRECTORY),
            compression: file.settings().compression,
            record: PagesRecord::default(),
        }
    }

    /// A schema without fields, as this writer says it.
    pub fn schema(name: &str, description: &str) -> Schema {
        Schema::new(name, description, WRITER)
    }

    /// Appends pages that lie one behind the other, with the checksums behind them. `n_bytes`: before they were compressed.
    /// Returns where they begin.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn append(&mut self, file: &FileWriter, pages: &[&[u8]], n_bytes: usize) -> Result<u64> {
        file.with_appender(|appender| self.record.append(pages, n_bytes, appender, self.datime, self.seek_root))
    }

    /// Ends a record of pages, if one is open: another object may be written behind it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end_record(&mut self, file: &FileWriter) -> Result<()> {
        file.with_appender(|appender| self.record.end(appender, self.datime, self.seek_root))
    }

    /// Writes the header: all fields and columns of the schema.
    ///
    /// # Errors
    /// If the format has no room for it, or it cannot be written.
    pub fn write_header(&self, file: &FileWriter, schema: &mut Schema) -> Result<Blob> {
        let envelope = schema.begin()?;
        write_blob(file, self.seek_root, self.compression, &envelope)
    }

    /// Writes a page list, and returns the group of its clusters.
    ///
    /// # Errors
    /// As [`CopiedNtuple::write_header`].
    pub fn write_list(&self, file: &FileWriter, schema: &Schema, list: &PageList) -> Result<ClusterGroup> {
        let first_entry = list.clusters.first().map_or(0, |cluster| cluster.first_entry);
        write_list(file, self.seek_root, self.compression, schema, first_entry, list)
    }

    /// Writes the footer, and returns the anchor.
    ///
    /// # Errors
    /// As [`CopiedNtuple::write_header`].
    pub fn write_footer(
        &self,
        file: &FileWriter,
        schema: &Schema,
        header: Blob,
        groups: Vec<ClusterGroup>,
        sets: Vec<AttributeSet>,
    ) -> Result<Anchor> {
        write_footer(file, self.seek_root, self.compression, schema, header, groups, sets)
    }

    /// Writes the anchor as an object of a directory.
    ///
    /// # Errors
    /// If the name cannot be one, or it cannot be written.
    pub fn list(file: &FileWriter, directory: DirectoryId, name: &str, anchor: &Anchor) -> Result<()> {
        file.need_class(ANCHOR_CLASS)?;
        let object = anchor.write()?;
        file.write_object(directory, ANCHOR_CLASS, name, "", CompressionSetting::NONE, |output| {
            output.raw(&object);
            Ok(())
        })?;
        Ok(())
    }

    /// Writes the anchor as that of an attribute set of another RNTuple. `version`: of the schema of attribute sets.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn link(&self, file: &FileWriter, name: &str, version: [u16; 2], anchor: &Anchor) -> Result<AttributeSet> {
        let blob = write_blob(file, self.seek_root, CompressionSetting::NONE, &anchor.write()?)?;
        Ok(AttributeSet { name: name.to_owned(), version, anchor: link(blob) })
    }

    /// Writes the attribute set with the Arrow schema of all entries.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_arrow_schema(&self, file: &FileWriter, schema: &str, n_entries: u64) -> Result<AttributeSet> {
        attributes::write_arrow(file, &[(attributes::ARROW_SCHEMA, schema)], n_entries, self.compression)
    }

    /// Writes an attribute set of texts. `ranges`: of each of its entries, the first entry that it is of and how many;
    /// `members`: names, and the text of each entry.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_texts(
        &self,
        file: &FileWriter,
        name: &str,
        ranges: &[[u64; 2]],
        members: &[(&str, Vec<&str>)],
    ) -> Result<AttributeSet> {
        attributes::write(file, name, ranges, members, self.compression)
    }
}
