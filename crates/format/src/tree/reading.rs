//! A record of a tree while it is read.

use std::ops::Range;
use std::sync::Arc;

use super::branch::{Branch, MAX_DEPTH};
use super::description::BranchDescription;
use super::ids::BranchId;
use super::leaf::Leaves;
use super::objects::Objects;
use super::schema::{Pattern, TreeSchema};
use crate::cursor::Cursor;

/// Collected while a record is read.
pub(super) struct Reading<'a> {
    pub(super) objects: Objects<'a>,
    /// `None` while a branch is being read.
    pub(super) branches: Vec<Option<Branch>>,
    /// True if a branch is in a list already: a second place would make walks over the tree endless.
    pub(super) is_listed: Vec<bool>,
    pub(super) leaves: Leaves<'a>,
    /// The branches that the record perhaps has: descriptions that are the same are taken from there.
    pub(super) known_branches: &'a [Arc<BranchDescription>],
    known_patterns: &'a [Option<Arc<Pattern>>],
    /// The other branches, and where they are.
    pub(super) read_anew: Vec<(BranchId, Range<usize>)>,
    /// Takes what is read of a branch that is known.
    pub(super) compared: BranchDescription,
    /// Stands in for the description of a branch that is being read.
    pub(super) undescribed: Arc<BranchDescription>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(key_bytes: usize, known: Option<&'a TreeSchema>) -> Self {
        Reading {
            objects: Objects::new(key_bytes),
            branches: Vec::new(),
            is_listed: Vec::new(),
            leaves: Leaves { read: Vec::new(), known: known.map_or(&[], |known| &known.leaves) },
            known_branches: known.map_or(&[], |known| &known.branches),
            known_patterns: known.map_or(&[], |known| &known.patterns),
            read_anew: Vec::new(),
            compared: BranchDescription::default(),
            undescribed: Arc::default(),
        }
    }

    /// Reads the next branch if it is a known one whose bytes tell so.
    pub(super) fn read_known(
        &mut self,
        cursor: &mut Cursor<'a>,
        parent: Option<BranchId>,
        depth: usize,
    ) -> Option<BranchId> {
        let next = self.branches.len();
        let pattern = self.known_patterns.get(next)?.as_ref()?;
        let description = self.known_branches.get(next).filter(|known| known.parent == parent)?;
        if depth > MAX_DEPTH {
            return None;
        }
        pattern.read(cursor, self, description)
    }

    /// The patterns of the branches of a record that was read: those of the known ones, and of others their own.
    pub(super) fn patterns(&self, branches: &[Branch], record: Cursor<'a>) -> Vec<Option<Arc<Pattern>>> {
        if !self.objects.has_all_notes() {
            return Vec::new();
        }
        let known = self.known_patterns.iter().cloned().chain(std::iter::repeat(None));
        let mut patterns: Vec<_> = known.take(branches.len()).collect();
        for place in &self.read_anew {
            let index = place.0.0 as usize;
            patterns[index] = Pattern::of(place, &branches[index], &self.objects, record).map(Arc::new);
        }
        patterns
    }

    /// Takes memory for so many branches more, with a leaf each.
    pub(super) fn reserve(&mut self, n_branches: usize) {
        self.branches.reserve(n_branches);
        self.is_listed.reserve(n_branches);
        self.leaves.read.reserve(n_branches);
    }
}
