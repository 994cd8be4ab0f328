//! The record of a tree that was written.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use arrowroot_arrow::stored::SCHEMA_RECORD;
use arrowroot_format::tree::{
    Branch as BranchRecord, BranchId, ElementPart, GENERATE_OFFSET_MAP, Leaf, LeafId, LeafKind, TreeRecord, UserInfo,
};

use super::layout::{self, Branch, EntrySize};
use super::placed::{FIRST_CAPACITY, PlacedBranch};
use super::{Cutting, TREE_CLASS, TreeFormat, elements};
use crate::error::{Error, Result};
use crate::file::{FileWriter, NeededClasses, Saving};
use crate::settings::Flush;

/// Bytes of a branch in the record, without names, and of each of its baskets; for a message before the record is made.
const BRANCH_BYTES: u64 = 250;
const BASKET_BYTES: u64 = 24;
/// The record of a tree has less than this: byte counts have 30 bits.
pub const MAX_RECORD_BYTES: u64 = 1 << 30;
/// Version of the class of vectors in memory. Source: `TBranchElement::fClassVersion` (ROOT 6.40).
const VECTOR_CLASS_VERSION: i32 = 6;
/// How deep ROOT would split what it does not split. Source: `TTree::Branch`.
const SPLIT_LEVEL: i32 = 99;
/// Sizes of baskets are rounded up to this. Source: `TTree::OptimizeBaskets`.
const BASKET_SIZE_STEP: u64 = 512;

/// The baskets of all clusters so far, placed or not.
#[derive(Debug, Default)]
pub(super) struct CutBaskets {
    n_baskets: AtomicU64,
    most_of_cluster: AtomicU64,
}

impl TreeFormat {
    /// Writes the record, and has the file describe the classes in it.
    pub(super) fn write_record(&self, file: &FileWriter) -> Result<()> {
        let settings = &self.settings;
        self.check_listed(self.n_baskets())?;
        let mut record = self.record(&self.placed)?;
        record.index = settings.index.as_ref().map(|index| index.record()).transpose()?;
        file.need_classes(&needed_classes(&record))?;
        file.write_object(
            settings.directory,
            TREE_CLASS,
            &settings.name,
            &settings.title,
            settings.compression,
            // It is gone before it is compressed: with many baskets it is large.
            move |output| record.write(&[], output),
        )?;
        Ok(())
    }

    fn n_baskets(&self) -> u64 {
        self.placed.iter().map(|branch| branch.baskets.len() as u64).sum()
    }

    /// Bytes of the record, about, before compression.
    pub(super) fn about_record_bytes(&self) -> u64 {
        self.bytes_with(self.n_baskets())
    }

    fn bytes_with(&self, n_baskets: u64) -> u64 {
        n_baskets.saturating_mul(BASKET_BYTES).saturating_add(self.branches.len() as u64 * BRANCH_BYTES)
    }

    /// Counts the baskets that a cluster was cut into, which the record is to list.
    pub(super) fn count(&self, n_new: usize) -> Result<()> {
        let n_new = n_new as u64;
        self.cut_baskets.most_of_cluster.fetch_max(n_new, Relaxed);
        self.check_listed(self.cut_baskets.n_baskets.fetch_add(n_new, Relaxed) + n_new)
    }

    /// That the record lists what was cut, and what of the entries so far is still to be cut: as much as two clusters, at most.
    pub(super) fn check_room(&self) -> Result<()> {
        let CutBaskets { n_baskets, most_of_cluster } = &self.cut_baskets;
        self.check_listed(n_baskets.load(Relaxed).saturating_add(2 * most_of_cluster.load(Relaxed)))
    }

    fn check_listed(&self, n_baskets: u64) -> Result<()> {
        let most = self.settings.max_record_bytes;
        if self.bytes_with(n_baskets) < most {
            return Ok(());
        }
        let (name, n_branches) = (&self.settings.name, self.branches.len());
        let what = format!(
            "tree {name}: {n_baskets} baskets of {n_branches} branches are more than its record can list ({} MiB): make \
             clusters and baskets larger, or write several files",
            most >> 20
        );
        Err(Error::InvalidRequest { what })
    }

    /// The tree as far as it is placed. An index comes with the last entries alone.
    pub(super) fn saving_of_record(&self) -> Result<Saving> {
        let settings = &self.settings;
        let record = self.record(&self.placed)?;
        Ok(Saving {
            directory: settings.directory,
            texts: [TREE_CLASS.to_owned(), settings.name.clone(), settings.title.clone()],
            compression: settings.compression,
            needed: needed_classes(&record),
            write: Box::new(move |output| record.write(&[], output)),
        })
    }

    /// The record of the tree with these baskets, without an index.
    pub(super) fn record(&self, placed: &[PlacedBranch]) -> Result<TreeRecord> {
        let settings = &self.settings;
        let mut record = TreeRecord::new(&settings.name, &settings.title);
        record.io_features = self.io_features();
        let mut ids: Vec<BranchId> = Vec::with_capacity(self.branches.len());
        let mut leaves: Vec<Option<LeafId>> = Vec::with_capacity(self.branches.len());
        for (number, (branch, placed)) in self.branches.iter().zip(placed).enumerate() {
            let counter = branch.planned.counter();
            let parent = branch.planned.parent.map(|parent| ids[parent]);
            let branch_record = self.branch_record(number, branch, placed, counter.map(|counter| ids[counter]))?;
            let id = record.add_branch(parent, branch_record)?;
            ids.push(id);
            let counter = counter.and_then(|counter| leaves[counter]);
            let leaf = branch.leaf.as_ref().map(|leaf| add_leaf(&mut record, id, branch, placed, leaf, counter));
            leaves.push(leaf.transpose()?);
        }
        if self.is_reshuffled || settings.notes.is_reshuffled {
            record.be_reshuffled();
        }
        record.set_totals();
        record.n_entries = self.clusters.n_entries;
        record.flushed_bytes = signed(self.flushed_bytes)?;
        record.auto_save = -signed(settings.autosave_bytes)?;
        (record.auto_flush, record.cluster_ranges) = self.clusters()?;
        let notes = &settings.notes;
        (record.aliases, record.friends) = (notes.aliases.clone(), notes.friends.clone());
        record.user_info.clone_from(&notes.user_info);
        record.user_info.extend(settings.arrow_schema.as_ref().map(|schema| UserInfo::named(SCHEMA_RECORD, schema)));
        Ok(record)
    }

    fn io_features(&self) -> u8 {
        if self.settings.generates_offsets { GENERATE_OFFSET_MAP } else { 0 }
    }

    fn branch_record(
        &self,
        number: usize,
        branch: &Branch,
        placed: &PlacedBranch,
        counter: Option<BranchId>,
    ) -> Result<BranchRecord> {
        let name = &branch.planned.name;
        let mut record = match (&branch.planned.element, &branch.vector_class) {
            (Some(element), _) => {
                let maximum = if elements::is_count(branch) { signed(placed.largest)? } else { 0 };
                let part = elements::part_of(element, counter);
                let mut record = BranchRecord::of_class(name, &element.title, part);
                record.maximum = i32::try_from(maximum).unwrap_or(i32::MAX);
                record.split_level = element.split_level;
                record.offset = i32::try_from(element.offset).unwrap_or(i32::MAX);
                record.bits = elements::bits_of(&branch.planned, element, record.bits);
                record
            }
            (None, None) => BranchRecord::new(name, name),
            (None, Some(class_name)) => {
                let element = ElementPart {
                    class_name: class_name.clone(),
                    checksum: layout::container_checksum(class_name),
                    class_version: VECTOR_CLASS_VERSION,
                    ..ElementPart::default()
                };
                BranchRecord::of_class(name, name, element)
            }
        };
        if branch.vector_class.is_some() {
            record.split_level = SPLIT_LEVEL;
        }
        record.io_features = if branch.is_element() { 0 } else { self.io_features() };
        record.set_baskets(0, placed.baskets.clone())?;
        record.memory_bytes = signed(placed.memory_bytes)?;
        record.compression = placed.compression.unwrap_or_else(|| branch.compression.before_trial());
        record.n_entry_offsets = i32::try_from(placed.offset_capacity).unwrap_or(i32::MAX);
        if branch.entry_size == EntrySize::Nothing {
            // ROOT counts them, and gives it room for offsets that it never has.
            record.n_entries = signed(self.clusters.n_entries)?;
            record.n_entry_offsets = i32::try_from(FIRST_CAPACITY).unwrap_or(i32::MAX);
            if self.flushed_bytes > 0 {
                record.set_flushed_without_baskets();
            }
        }
        // Whoever goes on with the tree makes baskets of this size.
        record.basket_bytes = match self.cutting {
            Cutting::Full => i32::try_from(self.basket_bytes(number, self.flushed_bytes > 0)).unwrap_or(i32::MAX),
            Cutting::Fitted if placed.baskets.is_empty() => record.basket_bytes,
            Cutting::Fitted => {
                let n_bytes = placed.largest_basket_bytes.next_multiple_of(BASKET_SIZE_STEP);
                i32::try_from(n_bytes).unwrap_or(i32::MAX)
            }
        };
        Ok(record)
    }

    /// `fAutoFlush`, and the ranges of clusters before the last one.
    fn clusters(&self) -> Result<(i64, Vec<(i64, i64)>)> {
        let ranges = self.clusters.ranges.iter().map(|&(end, size)| Ok((signed(end)?, signed(size)?)));
        let ranges = ranges.collect::<Result<Vec<_>>>()?;
        let auto_flush = match self.settings.flush {
            Flush::Never => return Ok((0, Vec::new())),
            Flush::Entries(n_entries) => signed(n_entries)?,
            // None has ended for its size: what was wanted stands there.
            Flush::Bytes(n_bytes) if self.flushed_bytes == 0 => -signed(n_bytes)?,
            Flush::Bytes(_) => signed(self.clusters.size)?,
        };
        Ok((auto_flush, ranges))
    }
}

/// The classes in a record, in the order in which ROOT writes their objects.
fn needed_classes(record: &TreeRecord) -> NeededClasses {
    let mut needed = NeededClasses::default();
    needed.add(TREE_CLASS);
    needed.add("ROOT::TIOFeatures");
    for branch in &record.branches {
        needed.add(&branch.class);
        branch.leaves.iter().for_each(|leaf| needed.add(&record.leaf(*leaf).class));
    }
    if !record.aliases.is_empty() {
        needed.add("TNamed");
    }
    if record.index.is_some() {
        needed.add("TVirtualIndex");
    }
    if !record.friends.is_empty() {
        needed.add("TFriendElement");
    }
    record.user_info.iter().for_each(|info| needed.add(&info.class_name));
    // The tree could have pointed to these: aliases, friends, what users add, and references.
    if record.aliases.is_empty() || record.friends.is_empty() || record.user_info.is_empty() {
        needed.add_of_null("TList");
    }
    needed.add_of_null("TBranchRef");
    needed
}

/// Adds the leaf of a branch, and titles both.
fn add_leaf(
    record: &mut TreeRecord,
    id: BranchId,
    branch: &Branch,
    placed: &PlacedBranch,
    leaf: &Leaf,
    counter: Option<LeafId>,
) -> Result<LeafId> {
    let mut leaf = leaf.clone();
    if let Some(element) = &branch.planned.element {
        let title = branch.title.as_ref().unwrap_or(&element.title).clone();
        let leaf = record.add_leaf(id, leaf, None)?;
        record.leaves[leaf.0 as usize].counter = counter;
        if let Some(counter) = counter.map(|counter| &mut record.leaves[counter.0 as usize]) {
            // ROOT marks those of collections that are members.
            counter.is_counter = matches!(counter.kind, LeafKind::Element { id: 0.., .. });
        }
        record.branches[id.0 as usize].title = title;
        return Ok(leaf);
    }
    if branch.is_counter {
        leaf.set_maximum(signed(placed.largest)?)?;
    } else if branch.entry_size == EntrySize::Text && placed.n_entries > 0 {
        leaf.set_longest_text(usize::try_from(placed.largest).unwrap_or(usize::MAX))?;
    }
    let leaf = record.add_leaf(id, leaf, counter)?;
    let added = record.leaf(leaf);
    // With an annotation, the code is in the title of the leaf.
    let code = added.code().filter(|_| !added.title.contains('/'));
    let leaf_list = code.map_or_else(|| added.title.clone(), |code| format!("{}/{code}", added.title));
    let title = branch.title.clone().unwrap_or(leaf_list);
    record.branches[id.0 as usize].title = title;
    Ok(leaf)
}

/// A number as the record has it.
fn signed(value: u64) -> Result<i64> {
    let what = || Error::InvalidRequest { what: format!("a tree of {value} entries or bytes is too large") };
    i64::try_from(value).map_err(|_| what())
}
