//! What is said of pages and clusters: page lists, footer and anchor, and the records of all of them.

use arrowroot_format as format;
use format::Output;
use format::codec::{CompressionSetting, Compressor};
use format::container::{Datime, Key};
use format::rntuple::{
    Anchor, AttributeSet, Blob, ClusterGroup, ClusterSummary, ColumnPages, EnvelopeLink, FIRST_VERSION, Footer,
    Locator, Page, PageList, Schema, WRITTEN_VERSION,
};

use super::pages::WrittenPage;
use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::file::FileWriter;

/// A page list of about so many bytes is the last of its cluster group, so who reads some entries need not read the list
/// of all. ROOT has one group for all clusters, unless it is told otherwise.
pub const GROUP_BYTES: usize = 1 << 20;
/// The class of the records of envelopes and pages. Source: `kBlobClassName` of `RMiniFile.cxx` (ROOT 6.40).
const BLOB_CLASS: &str = "RBlob";
/// Longest payload of such a record. Source: `RNTupleWriteOptions::fMaxKeySize` (ROOT 6.40).
pub(super) const MAX_KEY_BYTES: u64 = 1 << 30;
/// Bytes of a page, and of a column without pages, in a page list.
const PAGE_BYTES: usize = 16;
const COLUMN_BYTES: usize = 24;

/// About as many bytes as a page list takes for a cluster of so many columns and pages.
pub fn listed_bytes(n_columns: usize, n_pages: usize) -> usize {
    n_columns * COLUMN_BYTES + n_pages * PAGE_BYTES
}

/// The page lists of an RNTuple being written.
#[derive(Debug)]
pub(super) struct Lists {
    /// Of the cluster groups, with their first entries; the last one goes on.
    groups: Vec<(u64, PageList)>,
    /// About as many bytes as the last has.
    n_bytes: usize,
    n_entries: u64,
    /// The pages of each column of the last cluster, and how the last of them was compressed.
    pages: Vec<(Vec<Page>, CompressionSetting)>,
    /// Elements of each column so far.
    n_elements: Vec<u64>,
}

impl Lists {
    pub(super) fn new(n_columns: usize) -> Self {
        Lists {
            groups: Vec::new(),
            n_bytes: GROUP_BYTES,
            n_entries: 0,
            pages: vec![(Vec::new(), CompressionSetting::NONE); n_columns],
            n_elements: vec![0; n_columns],
        }
    }

    /// Takes more columns, which begin with these elements.
    pub(super) fn extend(&mut self, first_elements: Vec<u64>) {
        self.n_elements.extend(first_elements);
        self.pages.resize(self.n_elements.len(), (Vec::new(), CompressionSetting::NONE));
    }

    /// Number of clusters so far.
    pub(super) fn n_clusters(&self) -> usize {
        self.groups.iter().map(|(_, list)| list.clusters.len()).sum()
    }

    /// The number of elements of a column in each cluster.
    pub(super) fn n_elements_of(&self, column: usize) -> Vec<u64> {
        let of_cluster = |list: &PageList, columns: &[ColumnPages]| {
            let pages = columns.get(column).map_or(&[][..], |listed| list.pages(listed));
            pages.iter().map(|page| u64::from(page.n_elements)).sum()
        };
        let of_list = |list: &PageList| list.columns.iter().map(|of| of_cluster(list, of)).collect::<Vec<u64>>();
        self.groups.iter().flat_map(|(_, list)| of_list(list)).collect()
    }

    /// Lists columns in all clusters so far that came up behind them.
    ///
    /// `pages`: by cluster, of the columns from `first` on. `deferred`: first elements of deferred columns, which have no pages
    /// before. `settings`: how the pages of each are compressed.
    pub(super) fn fill(
        &mut self,
        first: usize,
        pages: Vec<Vec<Vec<Page>>>,
        deferred: &[Option<u64>],
        settings: &[CompressionSetting],
    ) {
        let mut pages = pages.into_iter();
        for (_, list) in &mut self.groups {
            for (cluster, new) in (0..list.clusters.len()).zip(&mut pages) {
                for column in list.columns[cluster].len()..first + new.len() {
                    let of_column = column.checked_sub(first).map_or(&[][..], |number| &new[number]);
                    // Those of an earlier extension had no elements up to here, or they are listed.
                    let so_far = if column < first { 0 } else { self.n_elements[column] };
                    let first_element = deferred[column].unwrap_or(so_far);
                    list.add_column_to(cluster, first_element, settings[column].0.unsigned_abs(), of_column);
                    self.n_elements[column] += of_column.iter().map(|page| u64::from(page.n_elements)).sum::<u64>();
                }
            }
        }
    }

    /// Number of entries so far.
    pub(super) fn n_entries(&self) -> u64 {
        self.n_entries
    }

    pub(super) fn begin_cluster(&mut self, first_entry: u64, n_entries: u64) {
        if self.n_bytes >= GROUP_BYTES {
            self.groups.push((first_entry, PageList::default()));
            self.n_bytes = 0;
        }
        self.n_entries = first_entry + n_entries;
        if let Some((_, list)) = self.groups.last_mut() {
            list.add_cluster(ClusterSummary { first_entry, n_entries });
        }
    }

    /// Pages of a column come in the order of their elements.
    pub(super) fn add_page(&mut self, page: &WrittenPage, offset: u64) {
        for column in &*page.columns {
            let (pages, setting) = &mut self.pages[*column];
            *setting = page.setting;
            pages.push(Page {
                offset,
                stored_bytes: page.stored_bytes as u64,
                n_elements: page.n_elements,
                has_checksum: true,
                is_elsewhere: false,
            });
        }
    }

    /// `codecs`: those of the columns.
    pub(super) fn end_cluster<'c>(&mut self, codecs: impl Iterator<Item = &'c Codec>) {
        let Some((_, list)) = self.groups.last_mut() else { return };
        for (((pages, setting), n_elements), codec) in self.pages.iter_mut().zip(&mut self.n_elements).zip(codecs) {
            // What a later cluster has found by now depends on how far its thread is.
            let setting = if pages.is_empty() { codec.before_trial() } else { *setting };
            self.n_bytes += listed_bytes(1, pages.len());
            let n_new: u64 = pages.iter().map(|page| u64::from(page.n_elements)).sum();
            list.add_column(*n_elements, setting.0.unsigned_abs(), pages.drain(..));
            *n_elements += n_new;
        }
    }

    /// Writes page lists and footer, and returns the anchor.
    pub(super) fn write(
        &self,
        file: &FileWriter,
        seek_root: u64,
        setting: CompressionSetting,
        schema: &Schema,
        header: Blob,
        attributes: Vec<AttributeSet>,
    ) -> Result<Anchor> {
        let groups = self.groups.iter().map(|(first, list)| write_list(file, seek_root, setting, schema, *first, list));
        let groups = groups.collect::<Result<_>>()?;
        write_footer(file, seek_root, setting, schema, header, groups, attributes)
    }
}

/// Writes a page list, and returns the group of its clusters. `first_entry`: of the first of them.
pub(super) fn write_list(
    file: &FileWriter,
    seek_root: u64,
    setting: CompressionSetting,
    schema: &Schema,
    first_entry: u64,
    list: &PageList,
) -> Result<ClusterGroup> {
    let blob = write_blob(file, seek_root, setting, &list.write(schema)?)?;
    let n_clusters = u32::try_from(list.clusters.len());
    let n_clusters = n_clusters.map_err(|_| format::Error::unsupported(0, "2^32 clusters"))?;
    let n_entries = list.clusters.iter().map(|cluster| cluster.n_entries).sum();
    Ok(ClusterGroup { first_entry, n_entries, n_clusters, page_list: link(blob) })
}

/// Writes the footer, and returns the anchor.
pub(super) fn write_footer(
    file: &FileWriter,
    seek_root: u64,
    setting: CompressionSetting,
    schema: &Schema,
    header: Blob,
    groups: Vec<ClusterGroup>,
    attributes: Vec<AttributeSet>,
) -> Result<Anchor> {
    let has_attributes = !attributes.is_empty();
    let version = if has_attributes { WRITTEN_VERSION } else { FIRST_VERSION };
    let footer = Footer { groups, attributes, has_attribute_list: has_attributes };
    let footer = write_blob(file, seek_root, setting, &footer.write(schema)?)?;
    Ok(Anchor { version, header, footer })
}

/// The link to an envelope.
pub(super) fn link(blob: Blob) -> EnvelopeLink {
    let locator = Locator { offset: blob.offset, n_bytes: blob.stored_bytes };
    EnvelopeLink { uncompressed_bytes: blob.uncompressed_bytes, locator: Some(locator) }
}

/// The key of a record of pages or of an envelope: it has wide offsets wherever it is.
///
/// Source: `RKeyBlob` of `RMiniFile.cxx` (ROOT 6.40). `n_bytes` is for those that look at compression alone.
pub(super) fn blob_key(
    datime: Datime,
    seek_root: u64,
    offset: u64,
    n_bytes: usize,
    stored_bytes: usize,
) -> Result<Vec<u8>> {
    let mut key = Key::new(true, BLOB_CLASS, "", "")?;
    key.set_payload(n_bytes, stored_bytes)?;
    (key.head.datime, key.head.seek_key, key.head.seek_dir) = (datime, offset, seek_root);
    let mut output = Output::new(0);
    key.write(&mut output)?;
    Ok(output.into_bytes())
}

/// Compresses an envelope and appends it as a record of its own.
pub(super) fn write_blob(
    file: &FileWriter,
    seek_root: u64,
    setting: CompressionSetting,
    envelope: &[u8],
) -> Result<Blob> {
    let mut payload = Vec::new();
    Compressor::new().compress(setting, envelope, &mut payload)?;
    let stored_bytes = payload.len() as u64;
    if stored_bytes > MAX_KEY_BYTES {
        let what = format!("an RNTuple whose metadata take {stored_bytes} bytes: at most {MAX_KEY_BYTES} are written");
        return Err(Error::InvalidRequest { what });
    }
    file.with_appender(|appender| {
        let offset = appender.position();
        let key = blob_key(file.datime(), seek_root, offset, envelope.len(), payload.len())?;
        appender.append(&[&key, &payload])?;
        Ok(Blob {
            offset: offset + key.len() as u64,
            stored_bytes,
            uncompressed_bytes: envelope.len() as u64,
            max_key_bytes: MAX_KEY_BYTES,
        })
    })
}
