//! Writing the record of a tree, and making one.

use std::sync::Arc;

use super::TreeRecord;
use crate::error::{Error, Result, Within};
use crate::output::{Output, Reference};
use crate::tree::branch::{self, Branch, write_io_features};
use crate::tree::ids::{BranchId, LeafId};
use crate::tree::leaf::{self, Leaf};
use crate::tree::objects::begin_array;

/// The state while a record is written.
struct Writing<'a> {
    record: &'a TreeRecord,
    object_data: &'a [u8],
    output: &'a mut Output,
    /// Where the branches and leaves are that were written.
    branches: Vec<Option<Reference>>,
    leaves: Vec<Option<Reference>>,
}

impl TreeRecord {
    /// Adds a branch, to the tree or inside another branch.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there are too many, or no such parent.
    pub fn add_branch(&mut self, parent: Option<BranchId>, mut branch: Branch) -> Result<BranchId> {
        let id = BranchId(u32::try_from(self.branches.len()).map_err(|_| Error::unsupported(0, "too many branches"))?);
        branch.parent = parent;
        let list = match parent {
            None => &mut self.top_branches,
            Some(parent) => {
                let found = self.branches.get_mut(parent.0 as usize);
                &mut found.ok_or_else(|| Error::unsupported(0, format!("no branch {}", parent.0)))?.branches
            }
        };
        list.push(id);
        self.branches.push(branch);
        Ok(id)
    }

    /// Adds a leaf to a branch. `counter`: of an array of varying length; it is marked as a counter and named in the title of
    /// a leaf of numbers. The branch of a counter must come before those that it counts for.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if there are too many, or no such branch or counter.
    pub fn add_leaf(&mut self, branch: BranchId, mut leaf: Leaf, counter: Option<LeafId>) -> Result<LeafId> {
        let id = LeafId(u32::try_from(self.leaves.len()).map_err(|_| Error::unsupported(0, "too many leaves"))?);
        if let Some(counter) = counter {
            let found = self.leaves.get_mut(counter.0 as usize);
            let found = found.ok_or_else(|| Error::unsupported(0, format!("no leaf {}", counter.0)))?;
            found.is_counter = true;
            if let (leaf::LeafKind::Number(_), Some(dims)) = (&leaf.kind, leaf.title.strip_prefix(&leaf.name)) {
                leaf.title = format!("{}[{}]{dims}", leaf.name, found.name);
            }
            leaf.counter = Some(counter);
        }
        let holder = self.branches.get_mut(branch.0 as usize);
        holder.ok_or_else(|| Error::unsupported(0, format!("no branch {}", branch.0)))?.leaves.push(id);
        self.leaves.push(leaf);
        Arc::make_mut(&mut self.branches_of_leaves).push(Some(branch));
        self.listed_leaves.push(id);
        Ok(id)
    }

    /// Sums `fTotBytes` and `fZipBytes` of the branches. Source: `TBranch::WriteBasketImpl` (ROOT 6.40).
    pub fn set_totals(&mut self) {
        let sum = |of: fn(&Branch) -> i64| self.branches.iter().map(of).fold(0, i64::saturating_add);
        (self.memory_bytes, self.stored_bytes) = (sum(|branch| branch.memory_bytes), sum(|branch| branch.stored_bytes));
    }

    /// Writes the object data of the tree's record, in the class versions that the record names.
    ///
    /// `object_data`: what the record was parsed from; empty if it was made here. `output` is of a record of the class that it
    /// was parsed as, or `TTree`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if its version is below 16 (ROOT 5.14), it has parts that were not kept, or it takes 1 GiB.
    pub fn write(&self, object_data: &[u8], output: &mut Output) -> Result<()> {
        let mut writing = Writing {
            branches: vec![None; self.branches.len()],
            leaves: vec![None; self.leaves.len()],
            record: self,
            object_data,
            output,
        };
        writing.tree().within(|| format!("tree {}", self.name))
    }

    fn write_numbers(&self, output: &mut Output) -> Result<()> {
        self.line.write(output)?;
        self.fill.write(output)?;
        self.marker.write(output)?;
        output.u64(self.n_entries);
        output.i64(self.memory_bytes);
        output.i64(self.stored_bytes);
        output.i64(self.saved_bytes);
        if self.version >= 18 {
            output.i64(self.flushed_bytes);
        }
        output.f64(self.weight);
        output.i32(self.timer_interval);
        output.i32(self.scan_field);
        output.i32(self.update);
        if self.version >= 17 {
            output.i32(self.n_entry_offsets);
        }
        if self.version >= 19 {
            output.count(self.cluster_ranges.len())?;
        }
        output.i64(self.max_entries);
        output.i64(self.max_entry_loop);
        output.i64(self.max_virtual_bytes);
        output.i64(self.auto_save);
        if self.version >= 18 {
            output.i64(self.auto_flush);
        }
        output.i64(self.estimate);
        if self.version >= 19 {
            let (ends, sizes): (Vec<i64>, Vec<i64>) = self.cluster_ranges.iter().copied().unzip();
            for values in [ends, sizes] {
                output.u8(u8::from(!values.is_empty()));
                values.iter().for_each(|&value| output.i64(value));
            }
        }
        if self.version >= 20 {
            write_io_features(self.io_features, output)?;
        }
        Ok(())
    }
}

impl Writing<'_> {
    fn tree(&mut self) -> Result<()> {
        let record = self.record;
        if !(16..=20).contains(&record.version) {
            return Err(Error::unsupported(0, format!("TTree of version {} is not written", record.version)));
        }
        let derived = record.tail.variables.map(|(version, n_variables)| (self.output.begin(version), n_variables));
        let frame = self.output.begin(record.version);
        self.output.named_base(record.bits, record.name.as_bytes(), record.title.as_bytes())?;
        record.write_numbers(self.output)?;
        self.branches(record.array_bits[0], &record.top_branches, 0)?;
        self.leaves(record.array_bits[1], &record.listed_leaves)?;
        record.write_tail(self.object_data, self.output)?;
        self.references()?;
        self.output.end(frame)?;
        if let Some((frame, n_variables)) = derived {
            self.output.i32(n_variables);
            self.output.end(frame)?;
        }
        Ok(())
    }

    /// Writes a list of branches and all that is in them.
    fn branches(&mut self, bits: u32, ids: &[BranchId], depth: usize) -> Result<()> {
        let array = begin_array(self.output, bits, ids.len())?;
        for &id in ids {
            self.branch_pointer(Some(id), depth)?;
        }
        self.output.end(array)
    }

    /// Writes a pointer to a branch: the branch itself if it was not written before.
    fn branch_pointer(&mut self, id: Option<BranchId>, depth: usize) -> Result<()> {
        let Some(id) = id else {
            self.output.null();
            return Ok(());
        };
        let index = id.0 as usize;
        let branch =
            self.record.branches.get(index).ok_or_else(|| Error::unsupported(0, format!("no branch {index}")))?;
        if let Some(reference) = self.branches[index] {
            self.output.reference(reference);
            return Ok(());
        }
        if depth > branch::MAX_DEPTH {
            return Err(Error::unsupported(0, "branches nested too deep"));
        }
        let (pointer, reference) = self.output.begin_object(&branch.class)?;
        self.branches[index] = Some(reference);
        self.branch(branch, depth).within(|| format!("branch {}", branch.name))?;
        self.output.end(pointer)
    }

    fn branch(&mut self, branch: &Branch, depth: usize) -> Result<()> {
        match (&*branch.class, &branch.element) {
            ("TBranch", None) => self.base(branch, depth),
            ("TBranchElement", Some(element)) => {
                let frame = self.output.begin(element.version);
                self.base(branch, depth)?;
                element.write_numbers(branch.maximum, self.output)?;
                self.branch_pointer(element.counter, depth + 1)?;
                self.branch_pointer(element.second_counter, depth + 1)?;
                self.output.end(frame)
            }
            ("TBranchClones", None) => {
                let clones = branch.clones.as_deref();
                let clones =
                    clones.ok_or_else(|| Error::unsupported(0, "a TBranchClones without its class and counter"))?;
                let frame = self.output.begin(clones.version);
                branch.write_clones_numbers(clones, self.output)?;
                self.branch_pointer(clones.counter, depth + 1)?;
                self.output.string(clones.class_name.as_bytes())?;
                self.branches(branch.array_bits[0], branch.listed_branches(clones), depth + 1)?;
                self.output.end(frame)
            }
            ("TBranchObject", None) => {
                let frame = self.output.begin(branch::OBJECT_VERSION);
                self.base(branch, depth)?;
                self.output.string(branch.object_class.as_deref().unwrap_or_default().as_bytes())?;
                self.output.end(frame)
            }
            _ => Err(Error::unsupported(0, format!("branches of class {} are not written", branch.class))),
        }
    }

    /// Writes the `TBranch` part.
    fn base(&mut self, branch: &Branch, depth: usize) -> Result<()> {
        let frame = self.output.begin(branch.version);
        branch.write_numbers(self.output)?;
        self.branches(branch.array_bits[0], &branch.branches, depth + 1)?;
        self.leaves(branch.array_bits[1], &branch.leaves)?;
        let array = begin_array(self.output, branch.baskets.pointers_bits, branch.baskets.n_pointers)?;
        let mut n_written = 0;
        for basket in &branch.embedded {
            let n_nulls = basket.index.checked_sub(n_written).filter(|_| basket.index < branch.baskets.n_pointers);
            let n_nulls =
                n_nulls.ok_or_else(|| Error::unsupported(0, format!("basket {} out of order", basket.index)))?;
            self.output.zeros(4 * n_nulls);
            let (pointer, _) = self.output.begin_object("TBasket")?;
            basket.write(&branch.name, &self.record.name, self.object_data, self.output)?;
            self.output.end(pointer)?;
            n_written = basket.index + 1;
        }
        self.output.zeros(4 * (branch.baskets.n_pointers - n_written));
        self.output.end(array)?;
        branch.baskets.write(self.object_data, self.output)?;
        self.output.string(branch.file_name.as_bytes())?;
        self.output.end(frame)
    }

    /// Writes the pointer `fBranchRef`.
    fn references(&mut self) -> Result<()> {
        let Some(references) = self.record.references.as_deref() else {
            self.output.null();
            return Ok(());
        };
        let (pointer, own) = self.output.begin_object("TBranchRef")?;
        let frame = self.output.begin(references.version);
        self.base(&references.branch, 0).within(|| "fBranchRef")?;
        let written = |id: BranchId| *self.branches.get(id.0 as usize)?;
        match &references.table {
            None => self.output.null(),
            Some(table) => table.write(own, written, self.output)?,
        }
        self.output.end(frame)?;
        self.output.end(pointer)
    }

    /// Writes a list of leaves.
    fn leaves(&mut self, bits: u32, ids: &[LeafId]) -> Result<()> {
        let array = begin_array(self.output, bits, ids.len())?;
        for &id in ids {
            self.leaf_pointer(Some(id), 0)?;
        }
        self.output.end(array)
    }

    /// Writes a pointer to a leaf: the leaf itself if it was not written before.
    fn leaf_pointer(&mut self, id: Option<LeafId>, depth: usize) -> Result<()> {
        let Some(id) = id else {
            self.output.null();
            return Ok(());
        };
        let index = id.0 as usize;
        let leaf = self.record.leaves.get(index).ok_or_else(|| Error::unsupported(0, format!("no leaf {index}")))?;
        if let Some(reference) = self.leaves[index] {
            self.output.reference(reference);
            return Ok(());
        }
        if depth > leaf::MAX_DEPTH {
            return Err(Error::unsupported(0, "leaves that count each other without end"));
        }
        let (pointer, reference) = self.output.begin_object(&leaf.class)?;
        self.leaves[index] = Some(reference);
        let frame = self.output.begin(leaf.version);
        let base = self.output.begin(leaf::VERSION);
        leaf.write_before_counter(self.output)?;
        self.leaf_pointer(leaf.counter, depth + 1)?;
        self.output.end(base)?;
        leaf.write_own(self.output)?;
        self.output.end(frame)?;
        self.output.end(pointer)
    }
}
