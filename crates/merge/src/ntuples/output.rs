//! What the output says of an RNTuple once all inputs have come: header, page lists, footer; and zeros for columns that an input
//! lacked.

use std::ops::Range;

use arrowroot_format as format;
use arrowroot_writer::FileWriter;
use arrowroot_writer::ntuple::{CopiedNtuple, GROUP_BYTES, listed_bytes};
use format::rntuple::{
    Anchor, AttributeSet, ClusterGroup, ClusterSummary, MAX_UNWITNESSED, Page, PageList, Witness, unwitnessed,
};

use super::clusters::{Cluster, Listed};
use super::joined::Joined;
use super::union::United;
use super::zeros::Zeros;
use crate::error::Result;

/// The number that ROOT gives a suppressed column. Source: `kSuppressedColumnMarker` of `RNTupleSerialize.hxx` (ROOT 6.40).
const SUPPRESSED: u64 = 1 << 63;

/// Writes all but the anchor.
///
/// # Errors
/// If a column is missing of which nobody knows how many elements it would have; errors of writing.
pub(super) fn write(joined: Joined, file: &FileWriter, name: &str, sets: Vec<AttributeSet>) -> Result<Anchor> {
    let Joined { union, clusters, out, .. } = joined;
    let mut out = out.unwrap_or_else(|| CopiedNtuple::new(file));
    let mut united = union.unite(name).map_err(arrowroot_writer::Error::from)?;
    let header = out.write_header(file, &mut united.schema)?;
    let mut lists = Lists::new(&united, file, &mut out);
    for cluster in &clusters {
        lists.add(cluster)?;
    }
    let groups = lists.end()?;
    Ok(out.write_footer(file, &united.schema, header, groups, sets)?)
}

/// The page lists.
struct Lists<'o> {
    united: &'o United,
    file: &'o FileWriter,
    out: &'o mut CopiedNtuple,
    zeros: Zeros,
    /// For each column its slot, and the number of its representation.
    columns: Vec<(usize, u16)>,
    n_entries: u64,
    /// Elements of each slot so far.
    n_elements: Vec<u64>,
    /// Pages of the cluster, and those of each slot.
    pages: Vec<Page>,
    found: Vec<Option<(Listed, Range<usize>)>>,
    list: PageList,
    n_bytes: usize,
    groups: Vec<ClusterGroup>,
}

impl<'o> Lists<'o> {
    fn new(united: &'o United, file: &'o FileWriter, out: &'o mut CopiedNtuple) -> Self {
        let mut columns = vec![(0, 0); united.schema.columns.len()];
        for (number, slot) in united.slots.slots.iter().enumerate() {
            for (representation, column) in (0..).zip(united.slots.columns_of(slot)) {
                columns[column.0 as usize] = (number, representation);
            }
        }
        let n_slots = united.slots.slots.len();
        Lists {
            united,
            file,
            out,
            zeros: Zeros::new(file.settings().compression),
            columns,
            n_entries: 0,
            n_elements: vec![0; n_slots],
            pages: Vec::new(),
            found: vec![None; n_slots],
            list: PageList::default(),
            n_bytes: 0,
            groups: Vec::new(),
        }
    }

    fn add(&mut self, cluster: &Cluster) -> Result<()> {
        let (united, pages, found) = (self.united, &mut self.pages, &mut self.found);
        pages.clear();
        found.fill(None);
        cluster.each(|node, index, listed, of_column| {
            let start = pages.len();
            pages.extend_from_slice(of_column);
            found[united.slot(node, index)] = Some((listed, start..pages.len()));
        });
        let n_new = self.complete(cluster.n_entries)?;
        let (first_entry, n_entries) = (self.n_entries, cluster.n_entries);
        self.list.add_cluster(ClusterSummary { first_entry, n_entries });
        for &(slot, representation) in &self.columns {
            match &self.found[slot] {
                Some((listed, range)) if listed.representation == representation => {
                    let pages = self.pages[range.clone()].iter().copied();
                    self.list.add_column(self.n_elements[slot], listed.compression, pages);
                }
                _ => self.list.add_suppressed_column(SUPPRESSED),
            }
        }
        for (sum, n_new) in self.n_elements.iter_mut().zip(n_new) {
            *sum = sum.saturating_add(n_new);
        }
        self.n_entries += n_entries;
        self.n_bytes += listed_bytes(self.columns.len(), self.pages.len());
        if self.n_bytes >= GROUP_BYTES { self.end_group() } else { Ok(()) }
    }

    /// Gives each slot the elements that a cluster has of it: those of pages, and zeros. Returns their numbers.
    fn complete(&mut self, n_entries: u64) -> Result<Vec<u64>> {
        let united = self.united;
        let slots = &united.slots;
        let mut items: Vec<Option<u64>> = vec![None; slots.domains.len()];
        items[0] = Some(n_entries);
        let mut n_elements = vec![0; slots.slots.len()];
        let mut has_pages = vec![false; slots.slots.len()];
        for (number, slot) in slots.slots.iter().enumerate() {
            let Some((listed, range)) = &self.found[number] else { continue };
            has_pages[number] = !range.is_empty();
            let stored: u64 = self.pages[range.clone()].iter().map(|page| u64::from(page.n_elements)).sum();
            n_elements[number] = listed.n_gap.saturating_add(stored);
            if slot.domain > 0 && slot.factor > 0 {
                items[slot.domain].get_or_insert(n_elements[number] / slot.factor);
            }
        }
        let mut witness = None;
        for (number, slot) in slots.slots.iter().enumerate() {
            let is_there = self.found[number].is_some();
            let n_zeros = match &self.found[number] {
                Some((listed, _)) => listed.n_gap,
                None => {
                    let by = slots.domains[slot.domain].by;
                    // Lists that are all empty have no items.
                    let is_empty = by.is_some_and(|by| !has_pages[by.0 as usize]);
                    let items = items[slot.domain].or(is_empty.then_some(0));
                    let items = items.ok_or_else(|| self.uncounted(number))?;
                    items.saturating_mul(slot.factor)
                }
            };
            if n_zeros == 0 && is_there {
                continue;
            }
            if n_zeros > MAX_UNWITNESSED {
                let witness = *witness.get_or_insert_with(|| self.witness());
                if n_zeros > witness.n_missing(slot.factor) {
                    return Err(arrowroot_writer::Error::from(unwitnessed(n_zeros)).into());
                }
            }
            let (mut listed, range) = self.found[number].take().unwrap_or_default();
            let start = self.pages.len();
            let column = slots.columns_of(slot).get(usize::from(listed.representation));
            let column = column.and_then(|&column| united.schema.column_of(column));
            if let Some(column) = column {
                self.zeros.add(column, n_zeros, &mut self.pages, self.out, self.file)?;
            }
            if range.is_empty() {
                listed.compression = self.zeros.compression();
            }
            self.pages.extend_from_within(range);
            n_elements[number] = n_elements[number].max(n_zeros);
            self.found[number] = Some((listed, start..self.pages.len()));
        }
        Ok(n_elements)
    }

    /// The column of the cluster that has the most elements for which it has the bytes.
    fn witness(&self) -> Witness {
        let witnesses = self.found.iter().flatten().map(|(_, range)| Witness::of(&self.pages[range.clone()]));
        witnesses.max_by_key(|witness| witness.n_missing(1)).unwrap_or_default()
    }

    fn uncounted(&self, slot: usize) -> arrowroot_writer::Error {
        let field = self.united.schema.at(self.united.slots.slots[slot].field);
        let what = format!(
            "field {}: an input lacks it, and has no other field of these items that says how many there are",
            field.name()
        );
        arrowroot_writer::Error::InvalidRequest { what }
    }

    fn end_group(&mut self) -> Result<()> {
        let list = std::mem::take(&mut self.list);
        if !list.clusters.is_empty() {
            self.out.end_record(self.file)?;
            self.groups.push(self.out.write_list(self.file, &self.united.schema, &list)?);
        }
        self.n_bytes = 0;
        Ok(())
    }

    fn end(mut self) -> Result<Vec<ClusterGroup>> {
        self.end_group()?;
        self.out.end_record(self.file)?;
        Ok(self.groups)
    }
}
