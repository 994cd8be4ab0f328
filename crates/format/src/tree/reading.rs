//! A record of a tree while it is read.

use std::sync::Arc;

use super::branch::Branch;
use super::description::BranchDescription;
use super::leaf::Leaf;
use super::objects::Objects;

/// Collected while a record is read.
pub(super) struct Reading<'a> {
    pub(super) objects: Objects<'a>,
    /// `None` while a branch is being read.
    pub(super) branches: Vec<Option<Branch>>,
    /// True if a branch is in a list already: a second place would make walks over the tree endless.
    pub(super) is_listed: Vec<bool>,
    pub(super) leaves: Vec<Leaf>,
    /// The branches and leaves that the record perhaps has: descriptions that are the same are taken from there.
    pub(super) known_branches: &'a [Arc<BranchDescription>],
    pub(super) known_leaves: &'a [Leaf],
    /// Stands in for the description of a branch that is being read.
    pub(super) undescribed: Arc<BranchDescription>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(
        key_bytes: usize,
        known_branches: &'a [Arc<BranchDescription>],
        known_leaves: &'a [Leaf],
    ) -> Self {
        Reading {
            objects: Objects::new(key_bytes),
            branches: Vec::new(),
            is_listed: Vec::new(),
            leaves: Vec::new(),
            known_branches,
            known_leaves,
            undescribed: Arc::default(),
        }
    }

    /// Takes memory for so many branches more, with a leaf each.
    pub(super) fn reserve(&mut self, n_branches: usize) {
        self.branches.reserve(n_branches);
        self.is_listed.reserve(n_branches);
        self.leaves.reserve(n_branches);
    }
}
