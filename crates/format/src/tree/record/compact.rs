//! The record of a tree in few bytes: the numbers by which it differs from others of its schema.

use std::sync::Arc;

use super::{TreeRecord, UserInfo};
use crate::tree::baskets::PlacedBasket;
use crate::tree::branch::{Branch, N_NUMBERS};
use crate::tree::ids::LeafId;
use crate::tree::schema::TreeSchema;

/// The part that many trees have in common, which is kept once.
#[derive(Clone, Copy)]
pub struct Known<'k> {
    /// Their schema.
    pub schema: &'k TreeSchema,
    /// Additions of users to one of them.
    pub user_info: &'k [UserInfo],
}

/// The record of a tree, kept for later beside its schema: some 15 bytes for each branch with its baskets.
pub struct CompactRecord {
    /// The record without its branches and leaves, and what users added if that is known.
    rest: TreeRecord,
    numbers: Box<[u8]>,
    n_baskets: usize,
    /// True if the list of all leaves has them in their order, and was left out.
    is_in_order: bool,
    has_known_info: bool,
}

impl CompactRecord {
    /// That of a record of a schema. `None` if it cannot be had: values are in the object data that it was read from, as those of
    /// baskets or of an index, or something is wrong with the baskets, which reading tells.
    pub fn of(record: &TreeRecord, known: Known<'_>, object_data: &[u8]) -> Option<CompactRecord> {
        let Known { schema, user_info } = known;
        let is_alike = record.branches.len() == schema.branches.len() && record.leaves.len() == schema.leaves.len();
        if !is_alike || record.index.is_some() || record.references.is_some() || record.tail.has_old_index() {
            return None;
        }
        let mut numbers = Numbers(Vec::with_capacity(record.branches.len() * 16));
        let (mut before, mut offset, mut n_baskets) = ([0_i64; N_NUMBERS], 0_u64, 0);
        for branch in &record.branches {
            let placed = branch.placed_baskets(object_data)?;
            let here = branch.numbers();
            let changed = (0..N_NUMBERS).filter(|&index| here[index] != before[index]);
            numbers.add(changed.clone().fold(0, |mask, index| mask | 1 << index));
            changed.for_each(|index| numbers.add(here[index].wrapping_sub(before[index])));
            before = here;
            numbers.add(placed.first_entry.cast_signed());
            let mut n_entries = 0;
            n_baskets += placed.baskets.len();
            for basket in placed.baskets.iter() {
                numbers.add(basket.offset.wrapping_sub(offset).cast_signed());
                numbers.add(basket.stored_bytes.into());
                numbers.add(i64::from(basket.n_entries) - n_entries);
                offset = basket.offset.wrapping_add(basket.stored_bytes.into());
                n_entries = basket.n_entries.into();
            }
        }
        for (leaf, known) in record.leaves.iter().zip(&schema.leaves) {
            let differs = leaf.n_values != known.n_values || leaf.limits != known.limits;
            numbers.add(differs.into());
            if differs {
                numbers.add(leaf.n_values.into());
                leaf.limits.iter().for_each(|limit| numbers.add(limit.cast_signed()));
            }
        }
        let is_in_order = record.listed_leaves.iter().copied().eq(leaves_in_order(schema));
        let mut rest = record.without_branches();
        let has_known_info = rest.user_info == user_info;
        if has_known_info {
            rest.user_info = Vec::new();
        }
        if !is_in_order {
            rest.listed_leaves.clone_from(&record.listed_leaves);
        }
        Some(CompactRecord { rest, numbers: numbers.0.into(), n_baskets, is_in_order, has_known_info })
    }

    /// About the bytes that it takes.
    pub fn n_bytes(&self) -> usize {
        size_of::<CompactRecord>() + self.numbers.len() + self.rest.rest_bytes()
    }

    /// The record, which knows its baskets without the object data. `known`: that by which it was made.
    pub fn record(&self, known: Known<'_>) -> TreeRecord {
        let Known { schema, user_info } = known;
        let mut numbers = Added(&self.numbers);
        let mut record = self.rest.clone();
        record.branches.reserve(schema.branches.len());
        let mut first_entries = Vec::with_capacity(schema.branches.len());
        let mut baskets = Vec::with_capacity(self.n_baskets);
        let (mut before, mut offset) = ([0_i64; N_NUMBERS], 0_u64);
        for description in &schema.branches {
            let mask = numbers.next();
            for (_, number) in before.iter_mut().enumerate().filter(|(index, _)| mask & 1 << index != 0) {
                *number = number.wrapping_add(numbers.next());
            }
            let branch = Branch::of_numbers(Arc::clone(description), &before);
            let n_baskets = branch.n_baskets();
            record.branches.push(branch);
            first_entries.push(numbers.next().cast_unsigned());
            let mut n_entries = 0_u32;
            for _ in 0..n_baskets {
                let basket_offset = numbers.next().cast_unsigned().wrapping_add(offset);
                let stored_bytes = u32::try_from(numbers.next()).unwrap_or_default();
                n_entries = n_entries.wrapping_add_signed(i32::try_from(numbers.next()).unwrap_or_default());
                offset = basket_offset.wrapping_add(stored_bytes.into());
                baskets.push(PlacedBasket { offset: basket_offset, stored_bytes, n_entries });
            }
        }
        let (baskets, mut first) = (baskets.into(), 0);
        for (branch, first_entry) in record.branches.iter_mut().zip(first_entries) {
            first = branch.place(first_entry, &baskets, first);
        }
        record.leaves.clone_from(&schema.leaves);
        for leaf in &mut record.leaves {
            if numbers.next() != 0 {
                leaf.n_values = i32::try_from(numbers.next()).unwrap_or_default();
                leaf.limits = [numbers.next().cast_unsigned(), numbers.next().cast_unsigned()];
            }
        }
        record.top_branches.clone_from(&schema.top_branches);
        record.branches_of_leaves = Arc::clone(&schema.branches_of_leaves);
        if self.has_known_info {
            record.user_info = user_info.to_vec();
        }
        if self.is_in_order {
            record.listed_leaves = leaves_in_order(schema).collect();
        }
        record
    }
}

fn leaves_in_order(schema: &TreeSchema) -> impl Iterator<Item = LeafId> {
    (0..).map(LeafId).take(schema.leaves.len())
}

/// Numbers in as many groups of seven bits as each needs.
struct Numbers(Vec<u8>);

impl Numbers {
    fn add(&mut self, number: i64) {
        // Small ones of both signs are short.
        let mut left = ((number << 1) ^ (number >> 63)).cast_unsigned();
        while left > 0x7f {
            self.0.push(0x80 | (left & 0x7f).to_le_bytes()[0]);
            left >>= 7;
        }
        self.0.push(left.to_le_bytes()[0]);
    }
}

/// The same numbers again.
struct Added<'n>(&'n [u8]);

impl Added<'_> {
    /// The next one; 0 behind the last.
    fn next(&mut self) -> i64 {
        let (mut number, mut shift) = (0_u64, 0);
        while let [byte, rest @ ..] = self.0 {
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 || shift > 63 {
                break;
            }
        }
        (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streamer::Primitive;
    use crate::tree::Leaf;

    const EXTREMES: [i64; 9] = [0, 1, -1, 63, -64, 64, 1 << 40, i64::MIN, i64::MAX];

    #[test]
    fn numbers_come_back() {
        let mut numbers = Numbers(Vec::new());
        EXTREMES.iter().for_each(|&number| numbers.add(number));
        assert_eq!(numbers.0.len(), 5 + 2 + 6 + 10 + 10, "small ones take a byte");
        let mut added = Added(&numbers.0);
        assert_eq!(EXTREMES.map(|_| added.next()), EXTREMES);
        assert_eq!(added.next(), 0, "behind the last");
    }

    /// A tree of ten branches whose baskets have so many entries each.
    fn tree(n_entries: &[u32]) -> TreeRecord {
        let mut tree = TreeRecord::new("t", "");
        for i in 0..10_u64 {
            let id = tree.add_branch(None, Branch::new(&format!("x{i}"), "")).unwrap();
            let leaf = Leaf::number(&format!("x{i}"), Primitive::Int32, &[]).unwrap();
            let leaf = tree.add_leaf(id, leaf, None).unwrap();
            tree.leaves[leaf.0 as usize].limits = [i, u64::MAX - i];
            let baskets = (0..).zip(n_entries).map(|(number, &n_entries)| PlacedBasket {
                offset: (1 << 33) - 1000 * i + 77 * number,
                stored_bytes: 70 + n_entries,
                n_entries,
            });
            let branch = &mut tree.branches[id.0 as usize];
            // Where there are no baskets, none begins.
            let first_entry = if n_entries.is_empty() { 0 } else { 3 * i };
            branch.set_baskets(first_entry, baskets.collect()).unwrap();
            branch.maximum = i32::MIN;
        }
        tree.set_totals();
        tree
    }

    #[test]
    fn a_record_comes_back_beside_the_schema_of_another() {
        let mut first = tree(&[5, 5]);
        first.user_info.push(UserInfo::named("note", "of the first"));
        let schema = TreeSchema::of(&first);
        let known = Known { schema: &schema, user_info: &first.user_info };
        let mut others = [first.clone(), tree(&[]), tree(&[1, 70_000, u32::from(u16::MAX)])];
        others[2].listed_leaves.reverse();
        for record in others {
            let compact = CompactRecord::of(&record, known, &[]).unwrap();
            assert!(compact.n_bytes() < 2000, "{}", compact.n_bytes());
            let mut made = compact.record(known);
            // Shared by records of one schema: a record that was made by hand has none.
            made.branches_of_leaves = Arc::clone(&record.branches_of_leaves);
            assert_eq!(made, record);
        }
    }

    #[test]
    fn a_record_whose_object_data_are_wanted_is_not_compact() {
        let record = tree(&[5]);
        let schema = TreeSchema::of(&record);
        let known = Known { schema: &schema, user_info: &[] };
        let mut with_index = record.clone();
        with_index.index = Some(crate::tree::RecordedIndex::default());
        assert!(CompactRecord::of(&with_index, known, &[]).is_none());
        let mut with_more = record.clone();
        with_more.add_branch(None, Branch::new("more", "")).unwrap();
        assert!(CompactRecord::of(&with_more, known, &[]).is_none());
    }
}
