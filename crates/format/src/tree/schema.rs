//! What files that are alike have in common of a tree: its branches and leaves without the numbers of a file.

use std::sync::Arc;

use super::description::BranchDescription;
use super::ids::{BranchId, LeafId};
use super::leaf::Leaf;
use super::pattern::Pattern;

/// All that decides what the branches of a tree hold and how it is read. It knows no entries and no baskets.
#[derive(Debug, Clone)]
pub struct TreeSchema {
    pub(super) branches: Vec<Arc<BranchDescription>>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) top_branches: Vec<BranchId>,
    pub(super) branches_of_leaves: Arc<Vec<Option<BranchId>>>,
    /// The branches as they stood in a record, if one was learned from.
    pub(super) patterns: Vec<Option<Arc<Pattern>>>,
}

impl TreeSchema {
    /// A branch.
    pub fn branch(&self, id: BranchId) -> &BranchDescription {
        &self.branches[id.0 as usize]
    }

    /// A leaf. Its limits are those of any file.
    pub fn leaf(&self, id: LeafId) -> &Leaf {
        &self.leaves[id.0 as usize]
    }

    /// The branch that holds a leaf.
    pub fn branch_of_leaf(&self, id: LeafId) -> Option<BranchId> {
        *self.branches_of_leaves.get(id.0 as usize)?
    }

    /// Number of branches.
    pub fn n_branches(&self) -> usize {
        self.branches.len()
    }
}
