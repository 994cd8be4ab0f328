//! The inputs so far as one tree.

use std::ops::Range;
use std::sync::Arc;

use ahash::{HashMap, HashMapExt, HashSet};
use arrowroot::File;
use arrowroot::format::Output as Bytes;
use arrowroot::format::codec::Compressor;
use arrowroot::format::tree::{Branch, BranchId, LeafId, TreeRecord, TreeSchema};
use arrowroot_writer::{DirectoryId, FileWriter};

use super::baskets::{JoinedBranch, Mark};
use super::clusters::Clusters;
use super::copy::{Copying, put_together};
use super::defaults::Default as Filled;
use super::notes::{self, Notes};
use super::place::TreePlace;
use super::rebasket::target_bytes;
use super::schema::Mapping;
use crate::error::Result;
use crate::frames::Lowest;
use crate::merging::Merged;

/// Bytes of a basket and of a branch in a record, about, without names.
const BASKET_BYTES: u64 = 24;
const BRANCH_BYTES: u64 = 250;
/// `TBranch::kDoNotUseBufferMap`: no entry has objects that are named by where they are. Set in a branch without entries.
const DO_NOT_USE_BUFFER_MAP: u32 = 1 << 22;
/// So many bytes of small baskets wait for those of inputs to come.
const MAX_HELD_BYTES: usize = 64 << 20;
/// Byte counts have 30 bits.
const MAX_RECORD_BYTES: u64 = 1 << 30;

/// A tree of an input that can be joined.
pub(crate) struct Staged {
    pub(crate) record: TreeRecord,
    pub(crate) object_data: Vec<u8>,
    pub(crate) mapping: Arc<Mapping>,
    pub(crate) copying: Copying,
}

/// The inputs so far as one tree.
pub(crate) struct Joined {
    /// The record of the first input, with the branches that others added.
    record: TreeRecord,
    /// The bytes that the first input's record was parsed from: what is kept of it is written from there.
    object_data: Vec<u8>,
    /// By the ids of the record's branches.
    pub(crate) branches: Vec<JoinedBranch>,
    clusters: Clusters,
    /// True if they are not those of the inputs.
    has_new_clusters: bool,
    notes: Notes,
    n_entries: u64,
    n_inputs: u64,
    /// The schema of the last input, and where its branches go.
    last_schema: (TreeSchema, Arc<Mapping>),
    /// True if small baskets are put together.
    rebaskets: bool,
    /// Memory for baskets; its content means nothing.
    buffer: Vec<u8>,
    /// The lowest number of a row.
    lowest: Lowest,
}

/// The state before an input.
pub(crate) struct Before {
    /// If branches are added to it.
    record: Option<TreeRecord>,
    branches: Vec<Mark>,
    clusters: Clusters,
    notes: notes::Mark,
    n_entries: u64,
    n_inputs: u64,
}

impl Joined {
    /// A tree with the branches of the first input, and nothing in them.
    pub(crate) fn begin(staged: &Staged, rebaskets: bool) -> Joined {
        let begun = |branch| JoinedBranch::new(target_bytes(&staged.record, branch).filter(|_| rebaskets));
        let branches = staged.record.branches.iter().map(begun).collect();
        Joined {
            record: staged.record.clone(),
            object_data: staged.object_data.clone(),
            branches,
            clusters: Clusters::default(),
            has_new_clusters: false,
            notes: Notes::default(),
            n_entries: 0,
            n_inputs: 0,
            last_schema: (TreeSchema::of(&staged.record), Arc::clone(&staged.mapping)),
            rebaskets,
            buffer: Vec::new(),
            lowest: Lowest::default(),
        }
    }

    /// Puts together small baskets of inputs that are in for good. `is_last`: no more will come.
    pub(crate) fn put_together(&mut self, place: &TreePlace<'_>, is_last: bool) -> Result<()> {
        if !self.rebaskets {
            return Ok(());
        }
        let is_last =
            is_last || self.branches.iter().map(JoinedBranch::held_memory_bytes).sum::<usize>() > MAX_HELD_BYTES;
        let mut compressor = Compressor::new();
        for (branch, of_record) in self.branches.iter_mut().zip(&self.record.branches) {
            put_together(branch, of_record, (0, is_last), place, &mut compressor)?;
        }
        Ok(())
    }

    /// Copies the baskets of an input.
    pub(crate) fn copy(&mut self, input: &File, staged: &Staged, place: &TreePlace<'_>) -> Result<()> {
        let Staged { record, object_data, copying, .. } = staged;
        self.lowest.before = self.lowest.now;
        self.copy_baskets(input, (record, object_data), copying, place)
    }

    /// Copies baskets of a tree of an input.
    pub(crate) fn copy_baskets(
        &mut self,
        input: &File,
        tree: (&TreeRecord, &[u8]),
        copying: &Copying,
        place: &TreePlace<'_>,
    ) -> Result<()> {
        copying.copy(input, place, &mut self.branches, tree, &self.record, (&mut self.buffer, &mut self.lowest))
    }

    /// Bytes of small baskets that wait, as inputs store them.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.branches.iter().map(JoinedBranch::held_bytes).sum()
    }

    pub(crate) fn n_entries(&self) -> u64 {
        self.n_entries
    }

    pub(crate) fn record(&self) -> &TreeRecord {
        &self.record
    }

    /// The schema of the last input, and where its branches go.
    pub(crate) fn last_schema(&self) -> (&TreeSchema, &Arc<Mapping>) {
        (&self.last_schema.0, &self.last_schema.1)
    }

    /// Checks that an input can be joined, or says why not.
    pub(crate) fn check(&self, record: &TreeRecord, mapping: &Mapping, copying: &Copying) -> Result<(), String> {
        let n_baskets = self.branches.iter().map(JoinedBranch::n_baskets).sum::<usize>() + copying.n_baskets();
        let n_bytes = n_baskets as u64 * BASKET_BYTES + self.branches.len() as u64 * BRANCH_BYTES;
        if n_bytes >= MAX_RECORD_BYTES {
            return Err(format!("{n_baskets} baskets are more than a record can list (1 GiB): write several files"));
        }
        for (index, has_baskets) in copying.with_and_without_baskets() {
            let had_baskets = self.branches.get(index).map(|branch| branch.n_baskets() > 0);
            if record.n_entries > 0 && self.n_entries > 0 && had_baskets.is_some_and(|had| had != has_baskets) {
                let name = &self.record.branches[index].name;
                return Err(format!("branch {name:?} has values in some inputs, and none in others that have entries"));
            }
        }
        if record.n_entries > 0 {
            for &index in &mapping.missing {
                let is_missing = |counter: usize| mapping.missing.contains(&counter);
                check_default(&self.record, index, is_missing)?;
            }
        }
        if self.n_entries > 0 {
            for id in &mapping.added {
                let is_added = |counter: usize| mapping.added.iter().any(|id| id.0 as usize == counter);
                check_default(record, id.0 as usize, is_added)?;
            }
        }
        Ok(())
    }

    /// The state before an input, to go back to.
    pub(crate) fn before(&self, mapping: &Mapping) -> Before {
        Before {
            record: (!mapping.added.is_empty()).then(|| self.record.clone()),
            branches: self.branches.iter().map(JoinedBranch::mark).collect(),
            clusters: self.clusters.clone(),
            notes: self.notes.mark(),
            n_entries: self.n_entries,
            n_inputs: self.n_inputs,
        }
    }

    /// Forgets the last input. What it wrote stays in the file, and nothing names it.
    pub(crate) fn go_back(&mut self, before: Before) {
        if let Some(record) = before.record {
            self.record = record;
            self.last_schema = (TreeSchema::of(&self.record), Arc::new(Mapping::identity(&self.record)));
        }
        self.branches.truncate(before.branches.len());
        self.branches.iter_mut().zip(before.branches).for_each(|(branch, mark)| branch.go_back(mark));
        self.clusters = before.clusters;
        self.notes.go_back(before.notes);
        (self.n_entries, self.n_inputs) = (before.n_entries, before.n_inputs);
    }

    /// Adds the branches that an input has more, with defaults for the entries so far.
    pub(crate) fn grow(&mut self, staged: &Staged, place: &TreePlace<'_>) -> Result<()> {
        let mapping = &staged.mapping;
        let branch_of =
            |id: BranchId| mapping.branches[id.0 as usize].and_then(|index| u32::try_from(index).ok()).map(BranchId);
        let leaf_of =
            |id: LeafId| mapping.leaves[id.0 as usize].and_then(|index| u32::try_from(index).ok()).map(LeafId);
        let first = self.branches.len();
        for &id in &mapping.added {
            let of_input = staged.record.branch(id);
            let mut branch: Branch = of_input.clone();
            (branch.branches, branch.leaves) = (Vec::new(), Vec::new());
            branch.embedded.clear();
            let added = self
                .record
                .add_branch(of_input.parent.and_then(branch_of), branch)
                .map_err(arrowroot_writer::Error::from)?;
            for &leaf in &of_input.leaves {
                let leaf = staged.record.leaf(leaf).clone();
                self.record.add_leaf(added, leaf, None).map_err(arrowroot_writer::Error::from)?;
            }
            let target_bytes = target_bytes(&staged.record, of_input).filter(|_| self.rebaskets);
            self.branches.push(JoinedBranch::new(target_bytes));
        }
        // Counters may come behind what they count.
        for (index, &id) in (first..).zip(&mapping.added) {
            let of_input = staged.record.branch(id);
            if let Some(element) = &mut self.record.branches[index].element {
                element.counter = element.counter.and_then(branch_of);
                element.second_counter = element.second_counter.and_then(branch_of);
            }
            let leaves = self.record.branches[index].leaves.clone();
            for (leaf, of_input) in leaves.into_iter().zip(&of_input.leaves) {
                self.record.leaves[leaf.0 as usize].counter = staged.record.leaf(*of_input).counter.and_then(leaf_of);
            }
        }
        let added: Vec<usize> = (first..self.branches.len()).collect();
        self.fill(&added, self.n_entries, place)
    }

    /// Gives branches defaults for so many entries.
    pub(crate) fn fill(&mut self, branches: &[usize], n_entries: u64, place: &TreePlace<'_>) -> Result<()> {
        let mut compressor = Compressor::new();
        for &index in branches {
            let id = BranchId(u32::try_from(index).unwrap_or(u32::MAX));
            // That it has a default was checked.
            let default = Filled::of(&self.record, &self.record.branches[index]).unwrap_or(Filled::Nothing);
            let baskets = default.baskets(&self.record, id, n_entries).map_err(arrowroot_writer::Error::from)?;
            let branch = &mut self.branches[index];
            if default == Filled::Nothing {
                branch.count(i64::try_from(n_entries).unwrap_or(i64::MAX));
            }
            let first = branch.reserve(baskets.len());
            for (number, basket) in (first..).zip(baskets) {
                basket.append(place, branch, number, &mut compressor)?;
            }
        }
        Ok(())
    }

    /// Joins all but the baskets.
    pub(crate) fn join(&mut self, staged: Staged) {
        let Staged { record, object_data, mapping, .. } = staged;
        self.join_branches(&record, &mapping);
        self.clusters.join(&record);
        self.notes.join(&record, &object_data, self.n_entries, None);
        self.n_entries += record.n_entries;
        self.n_inputs += 1;
        let mapping = match mapping.added.is_empty() {
            true => mapping,
            // They are there now.
            false => Arc::new(Mapping { added: Vec::new(), ..Mapping::clone(&mapping) }),
        };
        self.last_schema = (TreeSchema::of(&record), mapping);
    }

    /// Joins all but baskets and clusters of a tree of which some entries were taken.
    pub(crate) fn join_taken(
        &mut self,
        record: &TreeRecord,
        object_data: &[u8],
        mapping: &Mapping,
        taken: &[Range<u64>],
    ) {
        self.join_branches(record, mapping);
        self.notes.join(record, object_data, self.n_entries, Some(taken));
        let n_taken = taken.iter().map(|range| range.end - range.start).sum::<u64>();
        self.n_entries += n_taken;
        self.n_inputs += 1;
        if n_taken < record.n_entries || self.n_inputs > 1 {
            self.notes.leave_friends_out();
        }
        self.has_new_clusters = true;
    }

    /// See [`Notes::leave_out_of`].
    pub(crate) fn leave_out_of(&mut self, dropped: &HashSet<String>) {
        self.notes.leave_out_of(dropped);
    }

    /// Appends a cluster of entries that were taken.
    pub(crate) fn end_cluster(&mut self, n_entries: u64) {
        self.clusters.push(n_entries);
    }

    /// Joins what records say of branches.
    fn join_branches(&mut self, record: &TreeRecord, mapping: &Mapping) {
        for (branch, to) in record.branches.iter().zip(&mapping.branches) {
            let Some(index) = *to else { continue };
            let known = &mut self.record.branches[index];
            known.maximum = known.maximum.max(branch.maximum);
            known.basket_bytes = known.basket_bytes.max(branch.basket_bytes);
            known.n_entry_offsets = known.n_entry_offsets.max(branch.n_entry_offsets);
            known.entry_end = known.entry_end.max(branch.entry_end);
            // Objects in one input's entries refer to each other, and readers forget them behind each entry.
            if branch.n_entries > 0 && known.bits & !branch.bits & DO_NOT_USE_BUFFER_MAP != 0 {
                known.bits &= !DO_NOT_USE_BUFFER_MAP;
            }
            if known.io_features != branch.io_features {
                known.io_features |= branch.io_features;
            }
        }
        for (leaf, to) in record.leaves.iter().zip(&mapping.leaves) {
            if let Some(index) = *to {
                self.record.leaves[index].include(leaf);
            }
        }
    }

    /// Writes the record.
    pub(crate) fn finish(
        self,
        file: &FileWriter,
        directory: DirectoryId,
        [class, name, title]: [&str; 3],
    ) -> Result<Merged> {
        let Joined {
            mut record, object_data, branches, clusters, notes, n_entries, n_inputs, has_new_clusters, ..
        } = self;
        let n_pieces = branches.iter().map(JoinedBranch::n_baskets).sum::<usize>() as u64;
        let n_if_rebasketed = branches.iter().zip(&record.branches).map(|(joined, branch)| {
            target_bytes(&record, branch)
                .map_or(joined.n_baskets() as u64, |target_bytes| joined.n_if_put_together(target_bytes))
        });
        let n_if_rebasketed = n_if_rebasketed.sum();
        let n_small_pieces = branches.iter().map(JoinedBranch::n_small).sum::<usize>() as u64;
        let written = (|| {
            for (branch, joined) in record.branches.iter_mut().zip(branches) {
                joined.record(branch)?;
            }
            record.n_entries = n_entries;
            record.set_totals();
            record.saved_bytes = record.stored_bytes;
            let notes = notes.record(&mut record)?;
            if let Some((auto_flush, ranges)) = clusters.recorded()
                && (n_inputs > 1 || has_new_clusters)
            {
                (record.auto_flush, record.cluster_ranges) = (auto_flush, ranges);
            }
            if has_new_clusters {
                record.flushed_bytes = record.stored_bytes;
            }
            Ok(notes)
        })();
        let notes = written.map_err(arrowroot_writer::Error::Format)?;
        let mut classes: HashMap<&str, ()> = HashMap::new();
        classes.insert(class, ());
        record.branches.iter().for_each(|branch| _ = classes.insert(&branch.class, ()));
        record.leaves.iter().for_each(|leaf| _ = classes.insert(&leaf.class, ()));
        file.need_known_classes(classes.into_keys().chain(["ROOT::TIOFeatures"]));
        let compression = file.settings().compression;
        // The record is gone before it is compressed: with many baskets it is large.
        file.write_object(directory, class, name, title, compression, move |output: &mut Bytes| {
            record.write(&object_data, output)
        })?;
        Ok(Merged {
            n_inputs,
            n_entries: Some(n_entries),
            n_pieces,
            n_small_pieces,
            n_if_rebasketed,
            notes,
            ..Merged::default()
        })
    }
}

/// Checks that a branch has a default, and that what counts its values is as empty.
fn check_default(record: &TreeRecord, index: usize, is_empty: impl Fn(usize) -> bool) -> Result<(), String> {
    let branch = &record.branches[index];
    Filled::of(record, branch)?;
    let counters = branch.leaves.iter().filter_map(|leaf| record.leaf(*leaf).counter);
    for counter in counters.filter_map(|leaf| record.branch_of_leaf(leaf)) {
        if !is_empty(counter.0 as usize) {
            let counter = &record.branch(counter).name;
            return Err(format!(
                "branch {:?} is missing where its counter {counter:?} is there: how many zeros it would have is not read",
                branch.name
            ));
        }
    }
    Ok(())
}
