//! The baskets of a branch of the output.

use arrowroot::format::tree::{Branch, PlacedBasket};

use super::rebasket::HeldBasket;

/// Baskets of fewer bytes, as they are stored, are small: reading them costs more requests than bytes.
const SMALL_BASKET_BYTES: u32 = 4096;
/// A list of baskets gets room for this share of them more.
const SHARE_OF_ROOM: usize = 8;

/// A branch of the output as far as it is joined.
#[derive(Debug, Default)]
pub(crate) struct JoinedBranch {
    /// In the order of their entries. One of no bytes is held, or was put together with those before it.
    baskets: Vec<PlacedBasket>,
    /// `fTotBytes`.
    memory_bytes: u64,
    /// The same of small baskets.
    small_bytes: u64,
    /// `fEntries` of those that have no baskets.
    n_counted: i64,
    /// Bytes up to which small baskets are put together, if they are.
    target_bytes: Option<usize>,
    /// Small baskets, before they are put together.
    held: Vec<HeldBasket>,
    /// Baskets that were put together with others.
    n_absorbed: usize,
}

/// How far a branch was joined.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    n_baskets: usize,
    memory_bytes: u64,
    small_bytes: u64,
    n_counted: i64,
    n_absorbed: usize,
}

impl JoinedBranch {
    /// A branch without baskets. `target_bytes`: up to which small ones are put together.
    pub(crate) fn new(target_bytes: Option<usize>) -> JoinedBranch {
        JoinedBranch { target_bytes, ..JoinedBranch::default() }
    }

    pub(crate) fn mark(&self) -> Mark {
        let JoinedBranch { memory_bytes, small_bytes, n_counted, n_absorbed, .. } = *self;
        Mark { n_baskets: self.baskets.len(), memory_bytes, small_bytes, n_counted, n_absorbed }
    }

    pub(crate) fn go_back(&mut self, mark: Mark) {
        self.baskets.truncate(mark.n_baskets);
        self.held.retain(|held| held.number < mark.n_baskets);
        (self.memory_bytes, self.small_bytes) = (mark.memory_bytes, mark.small_bytes);
        (self.n_counted, self.n_absorbed) = (mark.n_counted, mark.n_absorbed);
    }

    pub(crate) fn n_baskets(&self) -> usize {
        self.baskets.len() - self.n_absorbed
    }

    /// Numbers of baskets so far, those of absorbed ones, too.
    pub(crate) fn n_numbers(&self) -> usize {
        self.baskets.len()
    }

    /// True if a basket of so many bytes, as it is stored and unpacked, is held to be put together with others.
    pub(crate) fn holds(&self, stored_bytes: u32, payload_bytes: u32) -> bool {
        stored_bytes < SMALL_BASKET_BYTES && self.target_bytes.is_some_and(|most| payload_bytes as usize <= most)
    }

    /// Holds a small basket.
    pub(crate) fn hold(&mut self, held: HeldBasket) {
        self.held.push(held);
    }

    /// Bytes of what is held, in memory.
    pub(crate) fn held_memory_bytes(&self) -> usize {
        self.held.iter().map(|held| held.data.len()).sum()
    }

    /// The same as it was stored, without keys.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held.iter().map(|held| u64::from(held.stored_bytes)).sum()
    }

    /// Takes small baskets that are to be put together, from the number `first` on. `is_last`: no more will come.
    pub(crate) fn take_groups(&mut self, first: usize, is_last: bool) -> Vec<Vec<HeldBasket>> {
        let Some(target_bytes) = self.target_bytes else { return Vec::new() };
        self.held.sort_by_key(|held| held.number);
        let n_before = self.held.partition_point(|held| held.number < first);
        let (mut groups, mut n_bytes): (Vec<Vec<HeldBasket>>, usize) = (Vec::new(), 0);
        for held in self.held.split_off(n_before) {
            let n_more = held.data.len();
            match groups.last_mut() {
                Some(group) if n_bytes < target_bytes && group.last().is_some_and(|last| last.goes_before(&held)) => {
                    n_bytes += n_more;
                    group.push(held);
                }
                _ => {
                    n_bytes = n_more;
                    groups.push(vec![held]);
                }
            }
        }
        let is_open = |group: &Vec<HeldBasket>| group.last().is_some_and(|held| held.number + 1 == self.baskets.len());
        if !is_last && n_bytes < target_bytes && groups.last().is_some_and(is_open) {
            self.held.extend(groups.pop().unwrap_or_default());
        }
        self.n_absorbed += groups.iter().map(|group| group.len() - 1).sum::<usize>();
        groups
    }

    /// How many baskets there would be if small ones were put together up to so many bytes.
    pub(crate) fn n_if_put_together(&self, target_bytes: usize) -> u64 {
        let n_large = self.n_baskets().saturating_sub(self.n_small()) as u64;
        (n_large + self.small_bytes.div_ceil(target_bytes.max(1) as u64)).min(self.n_baskets() as u64)
    }

    /// Makes room for baskets that come in any order. Returns the number of the first.
    pub(crate) fn reserve(&mut self, n_baskets: usize) -> usize {
        let first = self.baskets.len();
        if self.baskets.capacity() < first + n_baskets {
            // A wide tree has many lists that grow: each is not to have room for twice what it holds.
            self.baskets.reserve_exact(n_baskets.max(first / SHARE_OF_ROOM));
        }
        self.baskets.resize(first + n_baskets, PlacedBasket { offset: 0, stored_bytes: 0, n_entries: 0 });
        first
    }

    /// Says where a basket is. `memory_bytes`: uncompressed, with its key.
    pub(crate) fn place(&mut self, number: usize, offset: u64, [stored_bytes, n_entries]: [u32; 2], memory_bytes: u64) {
        self.baskets[number] = PlacedBasket { offset, stored_bytes, n_entries };
        self.memory_bytes += memory_bytes;
        self.small_bytes += if stored_bytes < SMALL_BASKET_BYTES { memory_bytes } else { 0 };
    }

    /// Counts entries of a branch that has no baskets.
    pub(crate) fn count(&mut self, n_entries: i64) {
        self.n_counted = self.n_counted.saturating_add(n_entries);
    }

    /// Where its baskets are, by their numbers.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = u64> {
        self.baskets.iter().map(|basket| basket.offset)
    }

    pub(crate) fn n_small(&self) -> usize {
        self.baskets.iter().filter(|basket| (1..SMALL_BASKET_BYTES).contains(&basket.stored_bytes)).count()
    }

    /// Writes them into the branch of a record.
    pub(crate) fn record(self, branch: &mut Branch) -> arrowroot::format::Result<()> {
        branch.embedded.clear();
        let has_baskets = !self.baskets.is_empty();
        let mut baskets = self.baskets;
        baskets.retain(|basket| basket.stored_bytes > 0);
        let entry_end = branch.entry_end;
        branch.set_baskets(0, baskets)?;
        branch.memory_bytes = i64::try_from(self.memory_bytes).unwrap_or(i64::MAX);
        if !has_baskets {
            branch.n_entries = self.n_counted;
            // ROOT counts those with others inside here or not at all.
            branch.entry_end = if entry_end == 0 { 0 } else { self.n_counted };
        }
        Ok(())
    }
}

/// The cycle in the key of a basket of that number: its lower 16 bits, as ROOT has it.
pub(crate) fn cycle_of(number: usize) -> i16 {
    let [.., high, low] = number.to_be_bytes();
    i16::from_be_bytes([high, low])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_baskets_have_little_room_more_than_they_need() {
        let mut branch = JoinedBranch::new(None);
        for n_baskets in 1..=2000 {
            branch.reserve(1);
            assert!(branch.baskets.capacity() <= n_baskets + n_baskets / SHARE_OF_ROOM + 1);
        }
    }
}
