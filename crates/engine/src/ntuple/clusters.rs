//! The clusters of an RNTuple, from page lists that are read when they are first needed.

use std::ops::Range;
use std::sync::OnceLock;

use arrowroot_format as format;
use format::rntuple::{
    Blob, ClusterGroup, Footer, PAGE_CHECKSUM_BYTES, PageList, Schema, Slot, SlotId, SlotPages, Witness,
};

use arrowroot_file::{Envelopes, Error, File, Result, format_error};

use super::{Ntuple, PageSizes};
use crate::pieces::ColumnPieces;
use crate::scan::Piece;
use crate::table::Table;

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
        let envelopes = Envelopes::read(file, path, &blobs)?;
        let parsed = blobs.iter().enumerate().map(|(number, blob)| {
            PageList::parse(envelopes.at(number), self.schema())
                .map_err(|error| in_group(error.placed(blob.envelope_place())))
        });
        parsed.collect()
    }

    /// The page lists of all cluster groups. Reads those that were not read yet.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(super) fn page_lists(&self) -> Result<Vec<&PageList>> {
        let groups = self.groups();
        self.load(&(0..groups.groups.len()).collect::<Vec<_>>())?;
        Ok(groups.lists.iter().filter_map(OnceLock::get).collect())
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
        let fault = |error: format::Error| {
            let error = error.within(format!("cluster of entries from {}", cluster.first_entry));
            format_error(self.file().source().as_ref(), &self.slot_path(id), error)
        };
        let list = self.groups().lists[cluster.group].get();
        let list = list.ok_or_else(|| fault(format::Error::corrupt(0, "a page list that was not read")))?;
        list.slot_pages(cluster.index, self.schema(), self.slots(), self.slots().slot(id)).map_err(fault)
    }

    /// The column of a cluster that has the most elements for which it has the bytes.
    pub(super) fn witness(&self, cluster: &Cluster) -> Witness {
        self.groups().lists[cluster.group].get().map_or_else(Witness::default, |list| list.witness(cluster.index))
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
        let lists = self.page_lists()?;
        Ok(groups.sizes.get_or_init(|| summed(lists.into_iter(), self.schema())))
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
                each_piece(&self.slot_pages(cluster, id)?, cluster, |piece| pieces.push(piece));
            }
            Ok(ColumnPieces { path: self.slot_path(id), pieces })
        });
        pieces.collect()
    }
}

/// Gives the pages of a slot that are in the file, with the entries of the cluster that they have, each at least a part of one.
fn each_piece(found: &SlotPages<'_>, cluster: &Cluster, mut add: impl FnMut(Piece)) {
    let at = |element: u64, rounds_up: bool| {
        let scaled = u128::from(element) * u128::from(cluster.n_entries);
        let n_elements = u128::from(found.n_elements.max(1));
        let entry = if rounds_up { scaled.div_ceil(n_elements) } else { scaled / n_elements };
        cluster.first_entry + u64::try_from(entry).unwrap_or(u64::MAX).min(cluster.n_entries)
    };
    let mut element = found.n_gap;
    for page in found.pages {
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
