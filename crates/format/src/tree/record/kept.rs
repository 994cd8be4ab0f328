//! The record of some of the branches of a tree.

use std::sync::Arc;

use super::{TreeRecord, branches_of_leaves};
use crate::tree::branch::Branch;
use crate::tree::ids::{BranchId, LeafId};

impl TreeRecord {
    /// Keeps some of the branches, with those that they are in and those that count for them. Returns the new ids of all, by the
    /// old ones.
    pub fn keep(&mut self, wanted: &[BranchId]) -> Vec<Option<BranchId>> {
        let (branches, leaves) = self.needed(wanted);
        let (branches, leaves) = (numbered(&branches, BranchId), numbered(&leaves, LeafId));
        let branch_of = |id: BranchId| branches.get(id.0 as usize).copied().flatten();
        let leaf_of = |id: LeafId| leaves.get(id.0 as usize).copied().flatten();
        let mut old = (0..).map(BranchId);
        self.branches.retain(|_| old.next().and_then(branch_of).is_some());
        let mut old = (0..).map(LeafId);
        self.leaves.retain(|_| old.next().and_then(leaf_of).is_some());
        self.branches.iter_mut().for_each(|branch| renumber(branch, branch_of, leaf_of));
        for leaf in &mut self.leaves {
            leaf.counter = leaf.counter.and_then(leaf_of);
        }
        self.top_branches = self.top_branches.iter().copied().filter_map(branch_of).collect();
        self.listed_leaves = self.listed_leaves.iter().copied().filter_map(leaf_of).collect();
        self.branches_of_leaves = Arc::new(branches_of_leaves(&self.branches, self.leaves.len()));
        let table = self.references.as_mut().and_then(|references| references.table.as_mut());
        for parent in table.and_then(|table| table.parents.as_mut()).into_iter().flatten() {
            *parent = parent.and_then(branch_of);
        }
        branches
    }

    /// The branches and leaves that some branches need, themselves among them.
    fn needed(&self, wanted: &[BranchId]) -> (Vec<bool>, Vec<bool>) {
        let (mut branches, mut leaves) = (vec![false; self.branches.len()], vec![false; self.leaves.len()]);
        let mut waiting = wanted.to_vec();
        while let Some(id) = waiting.pop() {
            match branches.get_mut(id.0 as usize) {
                Some(is_needed) if !*is_needed => *is_needed = true,
                _ => continue,
            }
            let branch = self.branch(id);
            let of_element = branch.element.iter().flat_map(|element| [element.counter, element.second_counter]);
            let counters = of_element.flatten().chain(branch.clones.as_ref().and_then(|clones| clones.counter));
            waiting.extend(branch.parent.into_iter().chain(counters));
            for &leaf in &branch.leaves {
                let mut next = Some(leaf);
                // Hostile leaves count each other without end.
                while let Some(leaf) = next.filter(|leaf| !leaves[leaf.0 as usize]) {
                    leaves[leaf.0 as usize] = true;
                    waiting.extend(self.branch_of_leaf(leaf));
                    next = self.leaf(leaf).counter;
                }
            }
        }
        (branches, leaves)
    }
}

/// New ids of those that are kept, one after another.
fn numbered<I: Copy>(is_kept: &[bool], id: impl Fn(u32) -> I) -> Vec<Option<I>> {
    let mut next = 0;
    let number = |is_kept: &bool| {
        is_kept.then(|| {
            next += 1;
            id(next - 1)
        })
    };
    is_kept.iter().map(number).collect()
}

fn renumber(
    branch: &mut Branch,
    branch_of: impl Fn(BranchId) -> Option<BranchId>,
    leaf_of: impl Fn(LeafId) -> Option<LeafId>,
) {
    branch.parent = branch.parent.and_then(&branch_of);
    branch.branches = branch.branches.iter().copied().filter_map(&branch_of).collect();
    branch.leaves = branch.leaves.iter().copied().filter_map(leaf_of).collect();
    if let Some(element) = &mut branch.element {
        element.counter = element.counter.and_then(&branch_of);
        element.second_counter = element.second_counter.and_then(&branch_of);
    }
    if let Some(clones) = &mut branch.clones {
        clones.counter = clones.counter.and_then(branch_of);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streamer::Primitive;
    use crate::tree::{ElementPart, Leaf};

    /// A number, a list and what counts it, and a split collection whose branch counts its members.
    fn record() -> TreeRecord {
        let mut record = TreeRecord::new("t", "");
        let number = |name: &str| Leaf::number(name, Primitive::Int32, &[]).unwrap();
        let x = record.add_branch(None, Branch::new("x", "x/I")).unwrap();
        record.add_leaf(x, number("x"), None).unwrap();
        let n = record.add_branch(None, Branch::new("n", "n/I")).unwrap();
        let counter = record.add_leaf(n, number("n"), None).unwrap();
        let list = record.add_branch(None, Branch::new("list", "list[n]/I")).unwrap();
        record.add_leaf(list, number("list"), Some(counter)).unwrap();
        let element = |node_type| ElementPart { node_type, ..ElementPart::default() };
        let outer = record.add_branch(None, Branch::of_class("jets", "jets_", element(4))).unwrap();
        let size = record.add_leaf(outer, Leaf::element("jets_", "jets_", -1, 6), None).unwrap();
        for name in ["jets.pt", "jets.eta"] {
            let part = ElementPart { counter: Some(outer), ..element(41) };
            let inner = record.add_branch(Some(outer), Branch::of_class(name, name, part)).unwrap();
            record.add_leaf(inner, Leaf::element(name, name, 0, 5), Some(size)).unwrap();
        }
        record
    }

    fn kept(wanted: &[u32]) -> (TreeRecord, Vec<Option<u32>>) {
        let mut record = record();
        let ids = record.keep(&wanted.iter().copied().map(BranchId).collect::<Vec<_>>());
        (record, ids.into_iter().map(|id| id.map(|id| id.0)).collect())
    }

    #[test]
    fn branches_are_kept_with_those_around_and_those_that_count_for_them() {
        let (list, ids) = kept(&[2]);
        assert_eq!(list.branches.iter().map(|branch| branch.name.as_str()).collect::<Vec<_>>(), ["n", "list"]);
        assert_eq!(ids, [None, Some(0), Some(1), None, None, None]);
        let leaf = list.leaf(list.branch(BranchId(1)).leaves[0]);
        assert_eq!(leaf.counter.and_then(|counter| list.branch_of_leaf(counter)), Some(BranchId(0)));
        let (member, ids) = kept(&[5]);
        assert_eq!(ids, [None, None, None, Some(0), None, Some(1)]);
        assert_eq!((member.top_branches.as_slice(), member.leaves.len()), (&[BranchId(0)][..], 2));
        let eta = member.branch(BranchId(1));
        assert_eq!((eta.name.as_str(), eta.parent), ("jets.eta", Some(BranchId(0))));
        assert_eq!(eta.element.as_ref().unwrap().counter, Some(BranchId(0)));
        assert_eq!(member.branch(BranchId(0)).branches, [BranchId(1)]);
    }

    #[test]
    fn all_branches_are_the_same_record_and_none_an_empty_one() {
        assert_eq!(kept(&[0, 2, 4, 5]).0, record());
        let (none, ids) = kept(&[9]);
        assert!(none.branches.is_empty() && none.leaves.is_empty() && none.top_branches.is_empty());
        assert!(none.listed_leaves.is_empty() && ids.iter().all(Option::is_none));
    }
}
