//! The clusters of an RNTuple, from page lists that are read when they are first needed.

use std::ops::Range;
use std::sync::OnceLock;

use arrowroot_format as format;
use format::rntuple::{
    Blob, ClusterGroup, ColumnId, ColumnPages, ColumnType, Footer, PAGE_CHECKSUM_BYTES, Page, PageList, Schema, Slot,
    SlotId,
};

use arrowroot_file::{Error, File, Result, format_error};

use super::{Ntuple, PageSizes, read_blobs};
use crate::pieces::ColumnPieces;
use crate::scan::Piece;
use crate::table::Table;

/// Zeros of a column in a cluster that no page vouches for: entries before the first field was added. More is what a wrong
/// number looks like.
pub(super) const MAX_UNWITNESSED: u64 = 1 << 22;
/// So many zeros a stored byte of another column vouches for.
const MAX_MISSING_FOR_BYTE: u64 = 1 << 20;

/// The page lists of the cluster groups.
pub(super) struct Groups {
    groups: Vec<ClusterGroup>,
    lists: Vec<OnceLock<PageList>>,
    sizes: OnceLock<StoredSizes>,
}

/// The sizes of all pages.
pub(super) struct StoredSizes {
    /// By physical column, the pages that it shares with others included.
    pub(super) columns: Vec<PageSizes>,
    /// Of all columns; stored bytes that several pages share count once.
    pub(super) whole: PageSizes,
}

/// A cluster, and where its pages are described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cluster {
    group: usize,
    index: usize,
    pub(super) first_entry: u64,
    pub(super) n_entries: u64,
}

/// The pages of a slot in a cluster.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlotPages<'n> {
    /// The representation that the cluster has.
    pub(super) column_type: ColumnType,
    pub(super) pages: &'n [Page],
    /// Zeros before the elements of the pages.
    pub(super) n_gap: u64,
    /// Elements, those zeros included.
    pub(super) n_elements: u64,
}

impl Groups {
    /// Whether [`Ntuple::page_sizes`] has nothing to read.
    pub(super) fn knows_sizes(&self) -> bool {
        self.sizes.get().is_some()
    }

    pub(super) fn new(footer: &Footer) -> Groups {
        let lists = footer.groups.iter().map(|_| OnceLock::new()).collect();
        Groups { groups: footer.groups.clone(), lists, sizes: OnceLock::new() }
    }
}

impl Ntuple {
    /// Reads the page lists of some groups, those that are missing in one vector read.
    fn load(&self, wanted: &[usize]) -> Result<()> {
        let groups = self.groups();
        let missing: Vec<usize> = wanted.iter().copied().filter(|&group| groups.lists[group].get().is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let lists = self.file().or_elsewhere(self.path(), |file| self.read_lists(file, &missing))?;
        for (group, list) in missing.into_iter().zip(lists) {
            let _ = groups.lists[group].set(list); // another thread has read the same
        }
        Ok(())
    }

    /// Reads the page lists of some groups, from this replica of the file or another.
    fn read_lists(&self, file: &File, missing: &[usize]) -> Result<Vec<PageList>> {
        let (groups, path) = (self.groups(), self.path());
        let in_group = |error| format_error(file.source().as_ref(), path, error);
        let blobs: Vec<Blob> = missing
            .iter()
            .map(|&group| groups.groups[group].page_list.blob(self.inner.anchor.max_key_bytes()).map_err(in_group))
            .collect::<Result<_>>()?;
        let envelopes = read_blobs(file, path, &blobs)?;
        let parsed = blobs.iter().enumerate().map(|(number, blob)| {
            PageList::parse(envelopes.at(number), self.schema())
                .map_err(|error| in_group(error.placed(blob.envelope_place())))
        });
        parsed.collect()
    }

    /// The clusters that have any of the entries, in the order of these. Nothing is missing between them.
    ///
    /// # Errors
    /// Corrupt if an entry is in no cluster, or in two.
    pub(super) fn clusters_of(&self, entries: &Range<u64>) -> Result<Vec<Cluster>> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let groups = self.groups();
        let touched = |first: u64, n: u64| first < entries.end && first.saturating_add(n) > entries.start;
        let wanted: Vec<usize> = (0..groups.groups.len())
            .filter(|&number| touched(groups.groups[number].first_entry, groups.groups[number].n_entries))
            .collect();
        self.load(&wanted)?;
        let mut clusters = Vec::new();
        for group in wanted {
            let Some(list) = groups.lists[group].get() else { continue };
            for (index, cluster) in list.clusters.iter().enumerate() {
                if touched(cluster.first_entry, cluster.n_entries) {
                    let (first_entry, n_entries) = (cluster.first_entry, cluster.n_entries);
                    clusters.push(Cluster { group, index, first_entry, n_entries });
                }
            }
        }
        clusters.sort_by_key(|cluster| cluster.first_entry);
        let mut covered = clusters.first().map_or(0, |first| first.first_entry);
        let start = covered;
        for cluster in &clusters {
            if cluster.first_entry != covered {
                let what = format!("a cluster that begins at entry {}, where {covered} is next", cluster.first_entry);
                return Err(self.corrupt(what));
            }
            covered += cluster.n_entries;
        }
        if start > entries.start || covered < entries.end {
            let what =
                format!("clusters of entries {start} to {covered}, where {} to {} are", entries.start, entries.end);
            return Err(self.corrupt(what));
        }
        Ok(clusters)
    }

    pub(super) fn corrupt(&self, what: String) -> Error {
        let error = format::Error::corrupt(0, what);
        format_error(self.file().source().as_ref(), self.path(), error)
    }

    /// What a cluster says of a column, and the pages.
    fn pages_of(&self, cluster: &Cluster, column: ColumnId) -> Option<(&ColumnPages, &[Page])> {
        let list = self.groups().lists[cluster.group].get()?;
        let pages = list.columns.get(cluster.index)?.get(column.0 as usize)?;
        Some((pages, list.pages(pages)))
    }

    /// Name of a slot, for errors and plans.
    pub(super) fn slot_path(&self, id: SlotId) -> String {
        let slot = self.slots().slot(id);
        let schema = self.schema();
        let mut names = Vec::new();
        let mut next = Some(slot.field);
        while let Some(field) = next.and_then(|id| schema.field_of(id)) {
            names.push(field.name());
            next = field.parent();
        }
        names.reverse();
        names.join(".")
    }

    /// The pages of a slot in a cluster.
    ///
    /// # Errors
    /// Corrupt if all representations are suppressed, or elements are missing.
    pub(super) fn slot_pages(&self, cluster: &Cluster, id: SlotId) -> Result<SlotPages<'_>> {
        let slot = self.slots().slot(id);
        let fault = |error: format::Error| {
            let error = error.within(format!("cluster of entries from {}", cluster.first_entry));
            format_error(self.file().source().as_ref(), &self.slot_path(id), error)
        };
        let in_slot = |what: String| fault(format::Error::corrupt(0, what));
        let schema = self.schema();
        let columns = self.slots().columns_of(slot);
        let described = columns.iter().filter_map(|&column| Some((column, schema.column_of(column)?)));
        let mut absent = None;
        let mut found = None;
        for (column, description) in described {
            match self.pages_of(cluster, column) {
                Some((listed, pages)) if !listed.is_suppressed => {
                    found = Some((description, Some(pages)));
                    break;
                }
                Some(_) => {}
                None if description.deferred.is_none_or(|deferred| !deferred.is_suppressed) => {
                    absent.get_or_insert((description, None));
                }
                None => {}
            }
        }
        let (column, listed) = found
            .or(absent)
            .ok_or_else(|| in_slot("a field all of whose representations are suppressed".to_owned()))?;
        let pages = listed.unwrap_or_default();
        let n_stored: u64 = pages.iter().map(|page| u64::from(page.n_elements)).sum();
        let mut n_elements = n_stored;
        if slot.domain == 0 {
            let expected = cluster.n_entries.checked_mul(slot.factor);
            let expected =
                expected.ok_or_else(|| in_slot(format!("2^64 elements or more, {} for each entry", slot.factor)))?;
            let may_be_missing = column.deferred.is_some() || listed.is_none();
            if n_stored > expected || (n_stored < expected && !may_be_missing) {
                return Err(in_slot(format!("{n_stored} elements, where {expected} are expected")));
            }
            n_elements = expected;
        }
        let n_gap = n_elements - n_stored;
        if n_gap > MAX_UNWITNESSED && n_gap > self.witness(cluster).n_missing(slot.factor) {
            return Err(fault(unwitnessed(n_gap)));
        }
        Ok(SlotPages { column_type: column.column_type, pages, n_gap, n_elements })
    }

    /// The column of a cluster that has the most elements for which it has the bytes.
    pub(super) fn witness(&self, cluster: &Cluster) -> Witness {
        let Some(list) = self.groups().lists[cluster.group].get() else { return Witness::default() };
        let columns = list.columns.get(cluster.index).map_or(&[][..], |columns| columns);
        let witnesses = columns.iter().map(|column| {
            list.pages(column).iter().fold(Witness::default(), |sum, page| Witness {
                n_elements: sum.n_elements.saturating_add(page.n_elements.into()),
                stored_bytes: sum.stored_bytes.saturating_add(page.stored_bytes),
            })
        });
        witnesses.max_by_key(|witness| witness.n_missing(1)).unwrap_or_default()
    }

    /// A slot whose elements tell how many items a domain has.
    pub(super) fn witness_of(&self, domain: usize) -> Option<(SlotId, &Slot)> {
        let id = self.slots().witness_of(domain)?;
        Some((id, self.slots().slot(id)))
    }

    /// True if there are as many optional values as places for them, in each of some clusters. A value has one place.
    pub(super) fn are_all_there(&self, ends: SlotId, clusters: &[Cluster]) -> bool {
        let values = self.slots().domain_of(ends, None).and_then(|values| self.witness_of(values));
        let Some((witness, slot)) = values else { return false };
        clusters.iter().all(|cluster| {
            // What is wrong with them, those say who read them.
            let (places, values) = (self.slot_pages(cluster, ends), self.slot_pages(cluster, witness));
            let (Ok(places), Ok(values)) = (places, values) else { return false };
            places.n_gap == 0 && places.n_elements.checked_mul(slot.factor) == Some(values.n_elements)
        })
    }

    /// The sizes of the pages of all clusters. Reads all page lists that were not read yet.
    ///
    /// # Errors
    /// As the reading of page lists.
    pub(super) fn page_sizes(&self) -> Result<&StoredSizes> {
        let groups = self.groups();
        if let Some(sizes) = groups.sizes.get() {
            return Ok(sizes);
        }
        self.load(&(0..groups.groups.len()).collect::<Vec<_>>())?;
        Ok(groups.sizes.get_or_init(|| summed(groups.lists.iter().filter_map(OnceLock::get), self.schema())))
    }

    /// The pages of all columns: of a column that was stored in several representations all together, as each cluster has one.
    ///
    /// Which entries a page of items in lists has is in other pages: as if all lists of a cluster were equally long.
    ///
    /// # Errors
    /// As the reading of page lists, which it needs all.
    pub(super) fn column_pieces(&self) -> Result<Vec<ColumnPieces>> {
        let clusters = self.clusters_of(&(0..self.n_entries()))?;
        let slots = (0..).map(SlotId).zip(&self.slots().slots);
        let pieces = slots.map(|(id, _)| {
            let mut pieces = Vec::new();
            for cluster in &clusters {
                self.slot_pages(cluster, id)?.each_piece(cluster, |piece| pieces.push(piece));
            }
            Ok(ColumnPieces { path: self.slot_path(id), pieces })
        });
        pieces.collect()
    }
}

impl SlotPages<'_> {
    /// Gives the pages that are in the file, with the entries of the cluster that they have, each at least a part of one.
    fn each_piece(&self, cluster: &Cluster, mut add: impl FnMut(Piece)) {
        let at = |element: u64, rounds_up: bool| {
            let scaled = u128::from(element) * u128::from(cluster.n_entries);
            let n_elements = u128::from(self.n_elements.max(1));
            let entry = if rounds_up { scaled.div_ceil(n_elements) } else { scaled / n_elements };
            cluster.first_entry + u64::try_from(entry).unwrap_or(u64::MAX).min(cluster.n_entries)
        };
        let mut element = self.n_gap;
        for page in self.pages {
            let end = element + u64::from(page.n_elements);
            let checksum_bytes = if page.has_checksum { PAGE_CHECKSUM_BYTES as u64 } else { 0 };
            let stored_bytes = u32::try_from(page.stored_bytes.saturating_add(checksum_bytes)).unwrap_or(u32::MAX);
            let (first_entry, entry_end) = (at(element, false), at(end, true));
            if !page.is_elsewhere {
                add(Piece { offset: page.offset, stored_bytes, first_entry, entry_end, embedded: None });
            }
            element = end;
        }
    }
}

/// The pages of a column, which vouch for those of others: a cluster is as large as it says.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Witness {
    n_elements: u64,
    stored_bytes: u64,
}

impl Witness {
    /// How many elements may be missing of a column that has so many for each entry.
    pub(super) fn n_missing(self, factor: u64) -> u64 {
        let of_elements = self.n_elements.saturating_mul(16).saturating_mul(factor);
        of_elements.min(self.stored_bytes.saturating_mul(MAX_MISSING_FOR_BYTE))
    }
}

/// The error for more zeros than what is stored vouches for.
pub(super) fn unwitnessed(n_elements: u64) -> format::Error {
    let what = format!("{n_elements} zeros of a column that was added later, where all that is stored is much smaller");
    format::Error::unsupported(0, what)
}

fn summed<'l>(lists: impl Iterator<Item = &'l PageList>, schema: &Schema) -> StoredSizes {
    let mut sizes = vec![PageSizes::default(); schema.columns.len()];
    let mut ranges = Vec::new();
    for (list, columns) in lists.flat_map(|list| list.columns.iter().map(move |columns| (list, columns))) {
        for ((size, listed), column) in sizes.iter_mut().zip(columns).zip(&schema.columns) {
            if !listed.is_suppressed {
                size.compression.get_or_insert(listed.compression);
            }
            for page in list.pages(listed) {
                let checksum_bytes = if page.has_checksum { PAGE_CHECKSUM_BYTES as u64 } else { 0 };
                let stored_bytes = page.stored_bytes.saturating_add(checksum_bytes);
                size.n_pages += 1;
                size.stored_bytes = size.stored_bytes.saturating_add(stored_bytes);
                let n_bytes = column.column_type.page_bytes(u64::from(page.n_elements)).unwrap_or(usize::MAX);
                size.memory_bytes = size.memory_bytes.saturating_add(n_bytes as u64);
                ranges.push((page.offset, stored_bytes));
            }
        }
    }
    ranges.sort_unstable();
    ranges.dedup();
    let mut whole = sizes.iter().fold(PageSizes::default(), |sum, size| sum.added(*size));
    whole.stored_bytes = ranges.iter().fold(0, |sum: u64, &(_, n_bytes)| sum.saturating_add(n_bytes));
    StoredSizes { columns: sizes, whole }
}
