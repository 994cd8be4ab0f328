//! Page lists: the clusters of a cluster group, and where the pages of their columns are.

use std::ops::Range;

use crate::error::{Error, Result, Within};

use super::envelope::{Kind, Locator, locator, open, write_locator};
use super::footer::check_header;
use super::reader::Reader;
use super::schema::Schema;
use super::writer::Writer;

/// The entries of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterSummary {
    /// Its first entry.
    pub first_entry: u64,
    /// Number of entries.
    pub n_entries: u64,
}

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Where it is in the file.
    pub offset: u64,
    /// Bytes in the file, without the checksum.
    pub stored_bytes: u64,
    /// Number of elements.
    pub n_elements: u32,
    /// A checksum follows it.
    pub has_checksum: bool,
    /// It is not in the file, but in a store that only later versions of the format know.
    pub is_elsewhere: bool,
}

/// The pages of a column in a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnPages {
    /// Where they are among all pages of the list.
    range: Range<usize>,
    /// Another representation has the elements.
    pub is_suppressed: bool,
    /// Number of its first element in the column.
    pub first_element: u64,
    /// How the pages were compressed.
    pub compression: u32,
}

/// A page list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageList {
    /// The clusters.
    pub clusters: Vec<ClusterSummary>,
    /// The columns of each cluster. Those that came later are not there.
    pub columns: Vec<Vec<ColumnPages>>,
    /// The pages of all clusters and columns: one allocation, where wide schemas have thousands of columns.
    pages: Vec<Page>,
}

/// Bytes of a cluster summary, of a frame of pages, and of a page, at least.
const SUMMARY_BYTES: usize = 24;
const LIST_BYTES: usize = 12;
const PAGE_BYTES: usize = 8;
/// A column with a page.
const COLUMN_BYTES: usize = LIST_BYTES + 16 + 12;
/// The cluster has only some of the columns. Reserved: no version of the format writes it.
const SHARDED: u64 = 1 << 56;

impl Page {
    /// That the page can be read: it is in the file.
    ///
    /// # Errors
    /// Unsupported for locators of a type that is not known.
    pub fn check_place(&self) -> Result<()> {
        if self.is_elsewhere {
            Err(Error::unsupported(0, "a page outside of a file (locator of an unknown type)"))
        } else {
            Ok(())
        }
    }
}

impl PageList {
    /// Reads a page list envelope.
    ///
    /// # Errors
    /// Corrupt if the checksum differs or the list contradicts the schema; unsupported for sharded clusters.
    pub fn parse(envelope: &[u8], schema: &Schema) -> Result<PageList> {
        let (mut reader, _) = open(envelope, Kind::PageList).within(|| "page list")?;
        Self::parse_payload(&mut reader, schema).within(|| "page list")
    }

    fn parse_payload(reader: &mut Reader<'_>, schema: &Schema) -> Result<PageList> {
        check_header(reader, schema)?;
        let (mut list, n_clusters) = reader.list(SUMMARY_BYTES)?;
        let mut clusters = Vec::with_capacity(n_clusters);
        for number in 0..n_clusters {
            clusters.push(summary(&mut list.record()?).within(|| format!("cluster {number} of {n_clusters}"))?);
        }
        let start = reader.offset();
        let (mut list, n_lists) = reader.list(LIST_BYTES)?;
        if n_lists != n_clusters {
            return Err(Error::corrupt(start, format!("pages of {n_lists} clusters, of which there are {n_clusters}")));
        }
        // Most columns of a cluster have one page.
        let mut pages = Vec::with_capacity(list.remaining() / COLUMN_BYTES);
        let mut columns = Vec::with_capacity(n_lists);
        for number in 0..n_lists {
            let of_cluster = columns_of_cluster(&mut list, schema, &mut pages);
            columns.push(of_cluster.within(|| format!("cluster {number} of {n_clusters}"))?);
        }
        Ok(PageList { clusters, columns, pages })
    }

    /// Adds a cluster, behind those that are there; its columns follow, in their order, by [`PageList::add_column`].
    pub fn add_cluster(&mut self, summary: ClusterSummary) {
        self.clusters.push(summary);
        self.columns.push(Vec::new());
    }

    /// Adds the next column of the last cluster.
    ///
    /// `first_element`: number of its first element in the column. `compression`: the setting that its pages were
    /// compressed with.
    pub fn add_column(&mut self, first_element: u64, compression: u32, pages: impl IntoIterator<Item = Page>) {
        let start = self.pages.len();
        self.pages.extend(pages);
        let range = start..self.pages.len();
        self.push_column(ColumnPages { range, is_suppressed: false, first_element, compression });
    }

    /// The same for the next column of any cluster, by its number in the list.
    pub fn add_column_to(&mut self, cluster: usize, first_element: u64, compression: u32, pages: &[Page]) {
        let start = self.pages.len();
        self.pages.extend_from_slice(pages);
        let range = start..self.pages.len();
        self.columns[cluster].push(ColumnPages { range, is_suppressed: false, first_element, compression });
    }

    /// Adds a column whose elements are in another representation. `first_element`: 1 to 2^63, which ROOT writes always.
    pub fn add_suppressed_column(&mut self, first_element: u64) {
        let range = self.pages.len()..self.pages.len();
        self.push_column(ColumnPages { range, is_suppressed: true, first_element, compression: 0 });
    }

    fn push_column(&mut self, column: ColumnPages) {
        if let Some(columns) = self.columns.last_mut() {
            columns.push(column);
        }
    }

    /// Writes the page list envelope.
    ///
    /// # Errors
    /// Unsupported for pages that are not in the file, and what the format has no room for.
    ///
    /// # Source
    /// `RNTupleSerializer::SerializePageList` (ROOT 6.40).
    pub fn write(&self, schema: &Schema) -> Result<Vec<u8>> {
        let mut writer = Writer::new();
        writer.u64(schema.header_checksum);
        let list = writer.begin_list(self.clusters.len())?;
        for cluster in &self.clusters {
            if cluster.n_entries >= SHARDED {
                return Err(Error::unsupported(0, format!("a cluster of {} entries", cluster.n_entries)));
            }
            let record = writer.begin_record();
            writer.u64(cluster.first_entry);
            writer.u64(cluster.n_entries);
            writer.end(record);
        }
        writer.end(list);
        let list = writer.begin_list(self.columns.len())?;
        for columns in &self.columns {
            let inner = writer.begin_list(columns.len())?;
            columns.iter().try_for_each(|column| self.write_column(&mut writer, column))?;
            writer.end(inner);
        }
        writer.end(list);
        writer.envelope(Kind::PageList).map(|(envelope, _)| envelope)
    }

    fn write_column(&self, writer: &mut Writer, column: &ColumnPages) -> Result<()> {
        let pages = self.pages(column);
        let list = writer.begin_list(pages.len())?;
        for page in pages {
            page.check_place()?;
            let n_elements = i32::try_from(page.n_elements);
            let n_elements = n_elements.map_err(|_| Error::unsupported(0, "a page of 2^31 elements or more"))?;
            writer.i32(if page.has_checksum { -n_elements } else { n_elements });
            write_locator(writer, Locator { offset: page.offset, n_bytes: page.stored_bytes });
        }
        let first = column.first_element;
        match (column.is_suppressed, i64::try_from(first)) {
            (true, _) if first > 0 && first <= 1 << 63 => writer.u64(first.wrapping_neg()),
            (false, Ok(first)) => {
                writer.i64(first);
                writer.u32(column.compression);
            }
            _ => return Err(Error::unsupported(0, format!("a column that begins with element {first}"))),
        }
        writer.end(list);
        Ok(())
    }

    /// The pages of a column of this list, in the order of their elements.
    pub fn pages(&self, column: &ColumnPages) -> &[Page] {
        &self.pages[column.range.clone()]
    }
}

fn summary(reader: &mut Reader<'_>) -> Result<ClusterSummary> {
    let start = reader.offset();
    let (first_entry, word) = (reader.u64()?, reader.u64()?);
    if word & SHARDED != 0 {
        return Err(Error::unsupported(start, "a sharded cluster"));
    }
    let n_entries = word & ((1 << 56) - 1);
    if first_entry.checked_add(n_entries).is_none_or(|end| end > i64::MAX as u64) {
        return Err(Error::corrupt(start, format!("{n_entries} entries from {first_entry} on")));
    }
    Ok(ClusterSummary { first_entry, n_entries })
}

fn columns_of_cluster(reader: &mut Reader<'_>, schema: &Schema, pages: &mut Vec<Page>) -> Result<Vec<ColumnPages>> {
    let start = reader.offset();
    let (mut list, n_columns) = reader.list(LIST_BYTES)?;
    if n_columns > schema.columns.len() {
        let what = format!("pages of {n_columns} columns, of which the schema has {}", schema.columns.len());
        return Err(Error::corrupt(start, what));
    }
    let mut columns = Vec::with_capacity(n_columns);
    for number in 0..n_columns {
        columns.push(pages_of_column(&mut list, pages).within(|| format!("column {number}"))?);
    }
    Ok(columns)
}

fn pages_of_column(reader: &mut Reader<'_>, pages: &mut Vec<Page>) -> Result<ColumnPages> {
    let (mut list, n_pages) = reader.list(PAGE_BYTES)?;
    let before = pages.len();
    pages.reserve(n_pages);
    for _ in 0..n_pages {
        let n_elements = list.i32()?;
        let place = locator(&mut list)?;
        pages.push(Page {
            offset: place.map_or(0, |place| place.offset),
            stored_bytes: place.map_or(0, |place| place.n_bytes),
            n_elements: n_elements.unsigned_abs(),
            has_checksum: n_elements < 0,
            is_elsewhere: place.is_none(),
        });
    }
    let start = list.offset();
    let first_element = list.i64()?;
    let is_suppressed = first_element < 0;
    if is_suppressed && n_pages > 0 {
        return Err(Error::corrupt(start, format!("{n_pages} pages of a suppressed column")));
    }
    let compression = if is_suppressed { 0 } else { list.u32()? };
    let first_element = first_element.unsigned_abs();
    Ok(ColumnPages { range: before..pages.len(), is_suppressed, first_element, compression })
}
