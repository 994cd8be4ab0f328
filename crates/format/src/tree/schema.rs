//! What files that are alike have in common of a tree: its branches and leaves without the numbers of a file.

use std::sync::Arc;

use super::branch::Branch;
use super::description::BranchDescription;
use super::ids::{BranchId, LeafId};
use super::leaf::{Leaf, LeafKind};
use super::record::TreeRecord;

/// All that decides what the branches of a tree hold and how it is read. It knows no entries and no baskets.
#[derive(Debug, Clone)]
pub struct TreeSchema {
    pub(super) branches: Vec<Arc<BranchDescription>>,
    pub(super) leaves: Vec<Leaf>,
    top_branches: Vec<BranchId>,
    pub(super) branches_of_leaves: Arc<Vec<Option<BranchId>>>,
}

impl TreeSchema {
    /// That of a record.
    pub fn of(record: &TreeRecord) -> TreeSchema {
        TreeSchema {
            branches: record.branches.iter().map(|branch| Arc::clone(&branch.description)).collect(),
            leaves: record.leaves.clone(),
            top_branches: record.top_branches.clone(),
            branches_of_leaves: Arc::clone(&record.branches_of_leaves),
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

/// True if two leaves hold the same. The number of values of a text is that of the longest one in a file.
fn is_same_leaf(known: &Leaf, leaf: &Leaf) -> bool {
    let is_same = Arc::ptr_eq(&known.description, &leaf.description) || known.description == leaf.description;
    is_same && (known.n_values == leaf.n_values || known.kind == LeafKind::Text)
}
