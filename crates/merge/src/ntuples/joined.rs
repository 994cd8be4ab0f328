//! An RNTuple of the output, or an attribute set of one, while inputs come.

use std::sync::Arc;

use arrowroot::File;
use arrowroot_file::format_error;
use arrowroot_format as format;
use arrowroot_writer::FileWriter;
use arrowroot_writer::ntuple::CopiedNtuple;
use format::rntuple::{Anchor, Page, SlotPages};

use super::clusters::{Cluster, ClusterBuilder, Listed};
use super::input::{Described, InputTable};
use super::numbers;
use super::pages::{Copier, Wanted, bytes_of, n_bytes};
use super::union::Union;
use crate::error::{Error, Result};
use crate::merging::Columns;

/// A page of fewer bytes is a small one.
const SMALL_BYTES: u64 = 4_000;

/// The sum of the inputs so far.
#[derive(Debug)]
pub(super) struct Joined {
    columns: Columns,
    /// It is an attribute set, whose entries say of which entries they are.
    is_attribute_set: bool,
    pub(super) union: Union,
    /// The fields of the input before.
    known: Option<Arc<Described>>,
    pub(super) counts: Counts,
    pub(super) clusters: Vec<Cluster>,
    builder: ClusterBuilder,
    /// Pages on their way.
    buffer: Vec<u8>,
    pub(super) out: Option<CopiedNtuple>,
    staged: Option<Staged>,
}

/// Numbers of what was joined.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) n_inputs: u64,
    pub(super) n_entries: u64,
    pub(super) n_pages: u64,
    pub(super) n_small_pages: u64,
}

/// The last input as it was read, and the sum before it.
#[derive(Debug)]
struct Staged {
    table: InputTable,
    counts: Counts,
    n_clusters: usize,
    /// The fields before, if there are others now.
    union: Option<Union>,
}

impl Joined {
    pub(super) fn new(columns: Columns, is_attribute_set: bool) -> Joined {
        Joined {
            columns,
            is_attribute_set,
            union: Union::default(),
            known: None,
            counts: Counts::default(),
            clusters: Vec::new(),
            builder: ClusterBuilder::default(),
            buffer: Vec::new(),
            out: None,
            staged: None,
        }
    }

    /// Reads what an input says, and checks that it can be joined. What came before stays.
    ///
    /// # Errors
    /// [`Error::Mismatch`], and errors of reading.
    pub(super) fn read(&mut self, input: &File, path: &str, anchor: Anchor) -> Result<&InputTable> {
        self.keep();
        let (columns, is_first) = (self.columns, self.counts.n_inputs == 0);
        let mut union = None;
        let table = InputTable::read(input, path, anchor, self.known.as_ref(), |schema, slots| {
            let mut changed = self.union.clone();
            let mapping = changed.add(schema, slots, columns, is_first);
            let mapping = mapping.map_err(|what| mismatch(input, path, what))?;
            union = Some(changed);
            Ok(mapping)
        })?;
        let union = union.map(|changed| std::mem::replace(&mut self.union, changed));
        self.known = Some(Arc::clone(&table.described));
        let (counts, n_clusters) = (self.counts, self.clusters.len());
        Ok(&self.staged.insert(Staged { table, counts, n_clusters, union }).table)
    }

    /// Copies what was read last. `first_entry`: what an attribute set adds to the entries that it is of.
    ///
    /// # Errors
    /// If pages are damaged; errors of reading and writing.
    pub(super) fn copy(&mut self, input: &File, file: &FileWriter, first_entry: u64) -> Result<()> {
        let Some(Staged { table, .. }) = &self.staged else { return Ok(()) };
        let InputTable { path, described, lists, clusters, n_entries, .. } = table;
        let out = self.out.get_or_insert_with(|| CopiedNtuple::new(file));
        // One may be open of an input that failed.
        out.end_record(file)?;
        let mut copier = Copier::new(input, path, &mut self.buffer);
        for &(list, number) in clusters {
            let summary = lists[list].clusters[number];
            // The type and the difference with which the pages of a slot are written anew.
            let anew = |slot: usize, pages: &SlotPages<'_>| {
                let is_moved = self.is_attribute_set
                    && first_entry > 0
                    && numbers::is_start(&described.schema, &described.slots, slot);
                let to = described.mapping.representation(slot, pages.column.representation).anew;
                let to = to.or(is_moved.then_some(pages.column.column_type));
                to.map(|to| (to, if is_moved { first_entry } else { 0 }))
            };
            let mut found: Vec<(usize, SlotPages<'_>)> = Vec::with_capacity(described.slots.slots.len());
            for (number_of_slot, slot) in described.slots.slots.iter().enumerate() {
                let Some((node, _)) = described.mapping.target(number_of_slot) else { continue };
                let pages = lists[list].slot_pages(number, &described.schema, &described.slots, slot);
                let pages = pages.map_err(|error| {
                    let error = error.within(format!("field {}", self.union.path(node)));
                    format_error(input.source().as_ref(), path, error)
                })?;
                found.push((number_of_slot, pages));
            }
            let copied = found.iter().filter(|(slot, pages)| anew(*slot, pages).is_none());
            let wanted = copied.flat_map(|(_, pages)| {
                let column_type = pages.column.column_type;
                pages.pages.iter().map(move |&page| Wanted { page, n_bytes: n_bytes(column_type, &page) })
            });
            copier.copy(wanted.collect(), out, file)?;
            for (slot, pages) in &found {
                let representation = described.mapping.representation(*slot, pages.column.representation).number;
                let mut compression = pages.compression.unwrap_or_default();
                let placed: Vec<Page> = match anew(*slot, pages) {
                    Some(anew) => {
                        compression = file.settings().compression.0.unsigned_abs();
                        numbers::write((input, path), pages, anew, (&mut *out, file))?
                    }
                    None => pages.pages.iter().map(|page| copier.placed(page)).collect(),
                };
                let listed = Listed { representation, compression, n_gap: pages.n_gap };
                self.counts.n_pages += placed.len() as u64;
                self.counts.n_small_pages += placed.iter().filter(|page| bytes_of(page) < SMALL_BYTES).count() as u64;
                self.builder.add(listed, placed.into_iter());
            }
            self.clusters.push(self.builder.end(summary.n_entries, Arc::clone(&described.mapping)));
            out.end_record(file)?;
        }
        self.counts.n_entries += n_entries;
        self.counts.n_inputs += 1;
        Ok(())
    }

    /// Forgets what was read last, and what was copied of it.
    pub(super) fn forget(&mut self) {
        let Some(Staged { counts, n_clusters, union, .. }) = self.staged.take() else { return };
        self.counts = counts;
        self.clusters.truncate(n_clusters);
        self.builder = ClusterBuilder::default();
        if let Some(union) = union {
            (self.union, self.known) = (union, None);
        }
    }

    /// The input that was read last stays from now on.
    pub(super) fn keep(&mut self) {
        self.staged = None;
    }
}

pub(super) fn mismatch(input: &File, path: &str, what: String) -> Error {
    Error::Mismatch { url: input.url().to_owned(), path: path.to_owned(), what }
}
