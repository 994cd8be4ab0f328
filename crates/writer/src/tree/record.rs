//! The record of a tree that was written.

use arrowroot_arrow::stored::{BranchForm, SCHEMA_RECORD};
use arrowroot_format::tree::{Branch as BranchRecord, ElementPart, LeafId, TreeRecord, UserInfo};

use super::layout::{self, Branch};
use super::placed::PlacedBranch;
use super::{Cutting, TreeFormat};
use crate::error::{Error, Result};
use crate::file::FileWriter;
use crate::settings::Flush;

/// Bytes of a branch in the record, without names, and of each of its baskets; for a message before the record is made.
const BRANCH_BYTES: u64 = 250;
const BASKET_BYTES: u64 = 24;
/// The record has less than this: byte counts have 30 bits.
const MAX_RECORD_BYTES: u64 = 1 << 30;
/// Version of the class of vectors in memory. Source: `TBranchElement::fClassVersion` (ROOT 6.40).
const VECTOR_CLASS_VERSION: i32 = 6;
/// How deep ROOT would split what it does not split. Source: `TTree::Branch`.
const SPLIT_LEVEL: i32 = 99;
/// Sizes of baskets are rounded up to this. Source: `TTree::OptimizeBaskets`.
const BASKET_SIZE_STEP: u64 = 512;

impl TreeFormat {
    /// Writes the record, and has the file describe the classes in it.
    pub(super) fn write_record(&self, file: &FileWriter) -> Result<()> {
        let settings = &self.settings;
        let n_baskets: u64 = self.placed.iter().map(|branch| branch.baskets.len() as u64).sum();
        let n_branches = self.branches.len();
        let about = n_baskets * BASKET_BYTES + n_branches as u64 * BRANCH_BYTES;
        if about >= MAX_RECORD_BYTES {
            return Err(Error::InvalidRequest {
                what: format!(
                    "tree {}: {n_baskets} baskets of {n_branches} branches are more than its record can list (1 GiB): \
                     make clusters and baskets larger, or write several files",
                    settings.name
                ),
            });
        }
        let record = self.record()?;
        self.describe_classes(file, &record)?;
        file.write_object(
            settings.directory,
            "TTree",
            &settings.name,
            &settings.title,
            settings.compression,
            |output| record.write(&[], output),
        )?;
        Ok(())
    }

    fn record(&self) -> Result<TreeRecord> {
        let settings = &self.settings;
        let mut record = TreeRecord::new(&settings.name, &settings.title);
        let mut leaves: Vec<LeafId> = Vec::with_capacity(self.branches.len());
        for (branch, placed) in self.branches.iter().zip(&self.placed) {
            let mut leaf = branch.leaf.clone();
            if branch.is_counter {
                leaf.set_maximum(signed(placed.largest)?)?;
            } else if branch.entry_size == layout::EntrySize::Text && placed.n_entries > 0 {
                leaf.set_longest_text(usize::try_from(placed.largest).unwrap_or(usize::MAX))?;
            }
            let id = record.add_branch(None, self.branch_record(branch, placed)?)?;
            let counter = match branch.planned.form {
                BranchForm::Counted { counter, .. } => Some(leaves[counter]),
                _ => None,
            };
            let leaf = record.add_leaf(id, leaf, counter)?;
            leaves.push(leaf);
            let leaf = record.leaf(leaf);
            let leaf_list = leaf.code().map_or_else(|| leaf.title.clone(), |code| format!("{}/{code}", leaf.title));
            let title = branch.title.clone().unwrap_or(leaf_list);
            record.branches[id.0 as usize].title = title;
        }
        record.set_totals();
        record.n_entries = self.placed.first().map_or(0, |branch| branch.n_entries);
        record.flushed_bytes = signed(self.flushed_bytes)?;
        (record.auto_flush, record.cluster_ranges) = self.clusters()?;
        record.user_info.extend(settings.arrow_schema.as_ref().map(|schema| UserInfo::named(SCHEMA_RECORD, schema)));
        Ok(record)
    }

    fn branch_record(&self, branch: &Branch, placed: &PlacedBranch) -> Result<BranchRecord> {
        let name = &branch.planned.name;
        let mut record = match &branch.vector_class {
            None => BranchRecord::new(name, name),
            Some(class_name) => {
                let element = ElementPart {
                    class_name: class_name.clone(),
                    checksum: layout::vector_checksum(class_name),
                    class_version: VECTOR_CLASS_VERSION,
                    ..ElementPart::default()
                };
                BranchRecord::of_class(name, name, element)
            }
        };
        if branch.vector_class.is_some() {
            record.split_level = SPLIT_LEVEL;
        }
        record.set_baskets(&placed.baskets)?;
        record.memory_bytes = signed(placed.memory_bytes)?;
        record.compression = branch.compression;
        record.n_entry_offsets = i32::try_from(placed.offset_capacity).unwrap_or(i32::MAX);
        // Whoever goes on with the tree makes baskets of this size.
        record.basket_bytes = match self.cutting {
            Cutting::Full { basket_bytes } => i32::try_from(basket_bytes).unwrap_or(i32::MAX),
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

    /// In the order in which ROOT writes their objects.
    fn describe_classes(&self, file: &FileWriter, record: &TreeRecord) -> Result<()> {
        file.need_class("TTree")?;
        file.need_class("ROOT::TIOFeatures")?;
        for branch in &record.branches {
            file.need_class(&branch.class)?;
            for leaf in &branch.leaves {
                file.need_class(&record.leaf(*leaf).class)?;
            }
        }
        if !record.user_info.is_empty() {
            file.need_class("TNamed")?;
        }
        // What the tree could have pointed to: aliases, friends, and references.
        file.need_class_of_null("TList");
        file.need_class_of_null("TBranchRef");
        Ok(())
    }
}

/// A number as the record has it.
fn signed(value: u64) -> Result<i64> {
    let what = || Error::InvalidRequest { what: format!("a tree of {value} entries or bytes is too large") };
    i64::try_from(value).map_err(|_| what())
}
