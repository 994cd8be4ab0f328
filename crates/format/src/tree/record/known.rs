//! The schema of a record, and whether it is a known one.

use std::sync::Arc;

use super::TreeRecord;
use crate::tree::branch::Branch;
use crate::tree::description::BranchDescription;
use crate::tree::leaf::{Leaf, LeafKind};
use crate::tree::schema::{Pattern, TreeSchema};

impl TreeSchema {
    /// That of a record.
    pub fn of(record: &TreeRecord) -> TreeSchema {
        Self::with_patterns(record, Vec::new())
    }

    /// The same, with the branches as they stand in it.
    pub(super) fn with_patterns(record: &TreeRecord, patterns: Vec<Option<Arc<Pattern>>>) -> TreeSchema {
        TreeSchema {
            branches: record.branches.iter().map(|branch| Arc::clone(&branch.description)).collect(),
            leaves: record.leaves.clone(),
            top_branches: record.top_branches.clone(),
            branches_of_leaves: Arc::clone(&record.branches_of_leaves),
            patterns,
        }
    }

    /// True if a record has this schema: every description, each text of it, is compared.
    pub fn is_of(&self, record: &TreeRecord) -> bool {
        let is_branch = |(known, branch): (&Arc<BranchDescription>, &Branch)| {
            Arc::ptr_eq(known, &branch.description) || *known == branch.description
        };
        self.branches.len() == record.branches.len()
            && self.leaves.len() == record.leaves.len()
            && self.top_branches == record.top_branches
            && self.branches.iter().zip(&record.branches).all(is_branch)
            && self.leaves.iter().zip(&record.leaves).all(|(known, leaf)| is_same_leaf(known, leaf))
    }
}

/// True if two leaves hold the same. The number of values of a text is that of the longest one in a file.
fn is_same_leaf(known: &Leaf, leaf: &Leaf) -> bool {
    let is_same = Arc::ptr_eq(&known.description, &leaf.description) || known.description == leaf.description;
    is_same && (known.n_values == leaf.n_values || known.kind == LeafKind::Text)
}
