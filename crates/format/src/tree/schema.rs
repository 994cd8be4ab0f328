//! What files that are alike have in common of a tree: its branches and leaves without the numbers of a file.
//!
//! The branches of a known schema in another record are compared by their bytes, and not read anew. All bytes of a branch decide what it is, but for gaps: its numbers of baskets, entries and bytes, the places of other
//! objects, and the ends of what its baskets are inside of.

use std::ops::Range;
use std::sync::Arc;

use super::baskets::{read_basket_table, read_embedded_baskets};
use super::branch::{Branch, NBaskets, read_numbers};
use super::description::BranchDescription;
use super::ids::{BranchId, LeafId};
use super::leaf::{Leaf, read_limits};
use super::objects::{Gap, Note, Object, Objects};
use super::reading::Reading;
use crate::cursor::{BYTE_COUNT_MASK, Cursor};

/// Bytes of a byte count, and of the tag of a class or an object.
const WORD_BYTES: usize = 4;

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

/// A branch as it stands in the record in which its schema was met. Places are counted from its begin, without its baskets.
#[derive(Debug)]
pub(super) struct Pattern {
    bytes: Box<[u8]>,
    gaps: Box<[Note]>,
    /// The classes that were named before, in the order of the gaps.
    classes: Box<[Box<[u8]>]>,
    /// Byte counts before the baskets whose objects end after them, and the bytes between that end and the branch's.
    frames: Box<[(usize, usize)]>,
    numbers_at: usize,
    first_leaf: usize,
    /// Where its leaves begin.
    leaves: Box<[usize]>,
}

impl Pattern {
    /// That of a branch that was read, and takes a range of the record; `None` if it has others inside.
    pub(super) fn of<'a>(
        (id, range): &(BranchId, Range<usize>),
        branch: &Branch,
        objects: &Objects<'a>,
        cursor: Cursor<'a>,
    ) -> Option<Pattern> {
        let notes = &objects.notes;
        let notes = &notes[notes.partition_point(|note| note.at < range.start)..];
        let notes = &notes[..notes.partition_point(|note| note.at < range.end)];
        let (first_leaf, leaves) = leaves_of(*id, range, branch, objects)?;
        let numbers_at = notes.iter().find(|note| matches!(note.gap, Gap::Numbers(_)))?.at - range.start;
        let baskets = notes.iter().find_map(|note| match note.gap {
            Gap::Baskets { end } => Some(note.at..end),
            _ => None,
        })?;
        let mut bytes = cursor.data().get(range.start..baskets.start)?.to_vec();
        bytes.extend_from_slice(cursor.data().get(baskets.end..range.end)?);
        let (mut gaps, mut classes, mut frames) = (Vec::new(), Vec::new(), Vec::new());
        for note in notes {
            let at = note.at - range.start - if note.at < baskets.end { 0 } else { baskets.len() };
            match note.gap {
                Gap::Frame { end } if end <= baskets.start || note.at > baskets.start => continue,
                Gap::Frame { end } => frames.push((at, range.end.checked_sub(end)?)),
                Gap::Class => classes.push(objects.class_at(note.at, cursor)?.into()),
                Gap::Other => return None,
                _ => {}
            }
            gaps.push(Note { at, gap: note.gap });
        }
        let (bytes, gaps, classes, frames) = (bytes.into(), gaps.into(), classes.into(), frames.into());
        Some(Pattern { bytes, gaps, classes, frames, numbers_at, first_leaf, leaves })
    }

    /// Reads such a branch where the cursor is, and passes over it. `None`, and nothing was read, if other bytes than those in
    /// gaps differ, or what is in a gap is wrong.
    pub(super) fn read<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        reading: &mut Reading<'a>,
        description: &Arc<BranchDescription>,
    ) -> Option<BranchId> {
        let id = BranchId(u32::try_from(reading.branches.len()).ok()?);
        let leaves = reading.leaves.known.get(self.first_leaf..self.first_leaf + self.leaves.len())?;
        if reading.leaves.read.len() != self.first_leaf {
            return None;
        }
        reading.leaves.read.extend_from_slice(leaves);
        let n_notes = reading.objects.notes.len();
        // Where it stays: a branch is some hundred bytes, and there are many.
        reading.branches.push(Some(Branch::of(Arc::clone(description))));
        let end = self.fill(*cursor, reading, description.version);
        reading.objects.notes.truncate(n_notes);
        let Some(end) = end else {
            reading.leaves.read.truncate(self.first_leaf);
            reading.branches.pop();
            return None;
        };
        reading.objects.remember_at(cursor.position(), Object::Branch(id));
        for (leaf, at) in (self.first_leaf..).zip(&self.leaves) {
            reading.objects.remember_at(cursor.position() + at, Object::Leaf(LeafId(u32::try_from(leaf).ok()?)));
        }
        reading.is_listed.push(false);
        cursor.seek(end);
        Some(id)
    }

    /// Reads the numbers of the last branch where the cursor is, and says where it ends. Its leaves, which are known, get their
    /// limits.
    fn fill<'a>(&self, cursor: Cursor<'a>, reading: &mut Reading<'a>, version: u16) -> Option<usize> {
        let (data, start) = (cursor.data(), cursor.position());
        let branch = reading.branches.last_mut()?.as_mut()?;
        let mut classes = self.classes.iter();
        // Where the pattern begins: further behind from the baskets on.
        let (mut begin, mut done) = (start, 0);
        for &Note { at, gap } in &self.gaps {
            if data.get(begin + done..begin + at)? != &self.bytes[done..at] {
                return None;
            }
            let mut here = Cursor::at(data, begin + at);
            match gap {
                Gap::Other => return None,
                Gap::Frame { .. } => here.skip(WORD_BYTES).ok()?,
                Gap::Class => {
                    let is_same = *reading.objects.class_at(begin + at, cursor)? == **classes.next()?;
                    is_same.then(|| here.skip(WORD_BYTES))?.ok()?;
                }
                Gap::Reference(target) => {
                    let position = here.u32().ok()? as usize;
                    (reading.objects.object(position) == Some(target)).then_some(())?;
                }
                Gap::Numbers(n_bytes) => here.skip(n_bytes).ok()?,
                Gap::Maximum => branch.maximum = here.i32().ok()?,
                Gap::Limits(leaf, n_bytes) => {
                    reading.leaves.read.get_mut(leaf.0 as usize)?.limits = read_limits(&mut here, n_bytes).ok()?;
                }
                Gap::Baskets { .. } => {
                    // What is no number of the branch was compared.
                    let compared = &mut reading.compared;
                    compared.version = version;
                    let mut numbers = Cursor::at(data, start + self.numbers_at);
                    let numbers = read_numbers(&mut numbers, compared, branch);
                    let NBaskets { written, items, .. } = numbers.ok()?;
                    let pointers = read_embedded_baskets(&mut here, &mut reading.objects, written).ok()?;
                    branch.baskets = read_basket_table(&mut here, written, items, version, &pointers).ok()?;
                    branch.embedded = pointers.embedded;
                    begin = here.position() - at;
                }
            }
            done = here.position() - begin;
        }
        let end = begin + self.bytes.len();
        let is_same = data.get(begin + done..end)? == &self.bytes[done..]
            && self.frames.iter().all(|&(at, n_after)| {
                let n_bytes =
                    Cursor::at(data, start + at).u32().ok().and_then(|word| word.checked_sub(BYTE_COUNT_MASK));
                let is_count = n_bytes.filter(|&n_bytes| n_bytes < BYTE_COUNT_MASK);
                is_count.is_some_and(|n_bytes| start + at + WORD_BYTES + n_bytes as usize + n_after == end)
            });
        is_same.then_some(end)
    }
}

/// The first leaf of a branch, and where its leaves begin; `None` if there is more in its range than the branch and these.
fn leaves_of(
    id: BranchId,
    range: &Range<usize>,
    branch: &Branch,
    objects: &Objects<'_>,
) -> Option<(usize, Box<[usize]>)> {
    let first = branch.leaves.first()?.0;
    let expected = (first..).map(|leaf| Object::Leaf(LeafId(leaf))).take(branch.leaves.len());
    let (places, found): (Vec<usize>, Vec<Object>) = objects.within(range).unzip();
    let is_all = found.iter().copied().eq(std::iter::once(Object::Branch(id)).chain(expected));
    let are_own = branch.leaves.iter().map(|leaf| leaf.0).eq((first..).take(branch.leaves.len()));
    let leaves = places.iter().skip(1).map(|at| at - range.start).collect();
    (is_all && are_own).then_some((first as usize, leaves))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;
    use crate::streamer::Primitive;
    use crate::tree::{PlacedBasket, TreeRecord};

    const KEY_BYTES: usize = 50;
    const N_BRANCHES: usize = 20;

    /// A tree of counters and lists of them, whose branches have so many baskets.
    fn tree(n_baskets: u64) -> TreeRecord {
        let mut tree = TreeRecord::new("t", "");
        for i in 0..N_BRANCHES / 2 {
            let counter = tree.add_branch(None, Branch::new(&format!("n{i}"), "")).unwrap();
            let of_counter = Leaf::number(&format!("n{i}"), Primitive::Int32, &[]).unwrap();
            let counting = tree.add_leaf(counter, of_counter, None).unwrap();
            let list = tree.add_branch(None, Branch::new(&format!("x{i}"), "")).unwrap();
            let leaf = Leaf::number(&format!("x{i}"), Primitive::Float32, &[]).unwrap();
            tree.add_leaf(list, leaf, Some(counting)).unwrap();
            tree.leaves[counting.0 as usize].set_maximum(n_baskets.cast_signed() + 3).unwrap();
        }
        for branch in &mut tree.branches {
            let basket = |i| PlacedBasket { offset: 1000 + i, stored_bytes: 60, n_entries: 5 };
            branch.set_baskets(0, (0..n_baskets).map(basket).collect()).unwrap();
        }
        tree.set_totals();
        tree
    }

    fn written(tree: &TreeRecord, key_bytes: usize) -> Vec<u8> {
        let mut output = Output::new(key_bytes);
        tree.write(&[], &mut output).unwrap();
        output.into_bytes()
    }

    fn schema(data: &[u8]) -> TreeSchema {
        let (_, learned) =
            TreeRecord::parse_learning(None, 0, data, "TTree", KEY_BYTES, &|| panic!("not needed")).unwrap();
        learned.unwrap()
    }

    /// The names of the branches of a record that are not told by their bytes.
    fn read_anew(known: &TreeSchema, data: &[u8], key_bytes: usize) -> Vec<String> {
        let mut reading = Reading::new(key_bytes, Some(known));
        let (record, _) =
            TreeRecord::parse_by(&mut reading, Some(known), 0, data, "TTree", &|| panic!("not needed")).unwrap();
        let plain = TreeRecord::parse(data, "TTree", key_bytes, &|| panic!("not needed")).unwrap();
        assert_eq!(record, plain);
        reading.read_anew.iter().map(|(id, _)| record.branch(*id).name.clone()).collect()
    }

    #[test]
    fn branches_of_other_files_are_told_by_their_bytes() {
        let known = schema(&written(&tree(3), KEY_BYTES));
        // These name the classes of branches and leaves.
        let first = ["n0", "x0"];
        assert_eq!(known.patterns.iter().filter(|pattern| pattern.is_none()).count(), first.len());
        for (n_baskets, key_bytes) in [(3, KEY_BYTES), (0, KEY_BYTES), (50, KEY_BYTES + 8)] {
            let other = written(&tree(n_baskets), key_bytes);
            assert_eq!(read_anew(&known, &other, key_bytes), first, "{n_baskets} baskets");
        }
    }

    #[test]
    fn a_branch_that_differs_is_read_and_those_behind_it_are_told_still() {
        let known = schema(&written(&tree(3), KEY_BYTES));
        let mut other = tree(4);
        other.branches[8].offset = 7;
        other.leaves[11].title = "x5[n5]/F".to_owned();
        let data = written(&other, KEY_BYTES);
        assert_eq!(read_anew(&known, &data, KEY_BYTES), ["n0", "x0", "n4", "x5"]);
        // What is learned of it has the patterns of both.
        let (_, learned) =
            TreeRecord::parse_learning(Some(&known), 0, &data, "TTree", KEY_BYTES, &|| panic!("not needed")).unwrap();
        assert_eq!(read_anew(&learned.unwrap(), &data, KEY_BYTES), ["n0", "x0"]);
    }

    #[test]
    fn a_counter_that_is_another_leaf_is_not_told_by_its_bytes() {
        let known = schema(&written(&tree(3), KEY_BYTES));
        let mut other = tree(3);
        other.leaves[9].counter = Some(LeafId(2));
        assert_eq!(read_anew(&known, &written(&other, KEY_BYTES), KEY_BYTES), ["n0", "x0", "x4"]);
    }

    #[test]
    fn a_byte_count_that_does_not_fit_is_not_passed_over() {
        let data = written(&tree(3), KEY_BYTES);
        let known = schema(&data);
        let mut reading = Reading::new(KEY_BYTES, None);
        TreeRecord::parse_by(&mut reading, None, 0, &data, "TTree", &|| panic!("not needed")).unwrap();
        let (_, range) = &reading.read_anew[5];
        for (at, expected) in [(range.start, "x2"), (range.start + 8, "x2")] {
            let mut damaged = data.clone();
            damaged[at + 3] -= 1;
            let mut reading = Reading::new(KEY_BYTES, Some(&known));
            let parsed =
                TreeRecord::parse_by(&mut reading, Some(&known), 0, &damaged, "TTree", &|| panic!("not needed"));
            let plain = TreeRecord::parse(&damaged, "TTree", KEY_BYTES, &|| panic!("not needed"));
            assert_eq!(parsed.unwrap_err().to_string(), plain.unwrap_err().to_string(), "{expected}");
        }
    }
}
