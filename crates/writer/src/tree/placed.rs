//! The facts about baskets that have their place in the file.

use std::ops::Range;

use arrowroot_format::codec::CompressionSetting;
use arrowroot_format::tree::{BasketHead, PlacedBasket};

use super::encode::Basket;

/// Offsets that a branch has room for at first. Source: `TBranch::Init` (ROOT 6.40).
pub(super) const FIRST_CAPACITY: u32 = 1000;
/// Only so many baskets teach the branch how much room to have. Source: `TBasket::Update`.
const TEACHING_BASKETS: usize = 10;

/// The baskets of a branch.
#[derive(Debug, Default)]
pub(super) struct PlacedBranch {
    /// In the order of their entries.
    pub(super) baskets: Vec<PlacedBasket>,
    /// Number of its entries.
    pub(super) n_entries: u64,
    /// `fTotBytes`.
    pub(super) memory_bytes: u64,
    /// The largest count of a counter, or length of a text.
    pub(super) largest: u64,
    /// Bytes of the largest basket, key included, uncompressed.
    pub(super) largest_basket_bytes: u64,
    /// `fEntryOffsetLen`: room for offsets in the next basket; 0 if none are stored.
    pub(super) offset_capacity: u32,
    /// `fNevBufSize` of the next basket: the same, until it is full.
    capacity: u32,
    /// `fBufferSize` of the next basket.
    buffer_bytes: u32,
    /// How the last basket was compressed.
    pub(super) compression: Option<CompressionSetting>,
}

impl PlacedBranch {
    /// None yet.
    pub(super) fn new(has_offsets: bool, basket_bytes: u32) -> Self {
        let offset_capacity = if has_offsets { FIRST_CAPACITY } else { 0 };
        let mut placed = PlacedBranch { offset_capacity, capacity: offset_capacity, ..PlacedBranch::default() };
        placed.forget_buffer(basket_bytes);
        placed
    }

    /// A branch like this one before its first basket.
    pub(super) fn begun(&self) -> Self {
        PlacedBranch::new(self.offset_capacity > 0, 0)
    }

    /// The buffer of the next basket is not larger than it was asked for, whatever the last one had.
    pub(super) fn forget_buffer(&mut self, basket_bytes: u32) {
        self.buffer_bytes = basket_bytes;
    }

    /// Takes the next basket. Returns its head.
    pub(super) fn place(&mut self, basket: &Basket, offset: u64) -> BasketHead {
        let head = basket.head;
        let entry_bytes = if self.offset_capacity == 0 { head.entry_bytes } else { self.grow_capacity(head.n_entries) };
        self.buffer_bytes = self.buffer_bytes.max(head.key_bytes + head.data_bytes);
        let memory_bytes = u64::from(head.key_bytes) + u64::from(head.payload_bytes);
        self.largest_basket_bytes = self.largest_basket_bytes.max(memory_bytes);
        self.memory_bytes += memory_bytes;
        self.largest = self.largest.max(basket.largest);
        self.compression = Some(basket.setting);
        self.n_entries += u64::from(head.n_entries);
        let [.., high, low] = self.baskets.len().to_be_bytes();
        self.baskets.push(PlacedBasket { offset, stored_bytes: head.stored_bytes, n_entries: head.n_entries });
        BasketHead {
            seek_key: offset,
            // ROOT too has the lower 16 bits of the number there.
            cycle: i16::from_be_bytes([high, low]),
            buffer_bytes: i32::try_from(self.buffer_bytes).unwrap_or(i32::MAX),
            entry_bytes,
            ..head
        }
    }

    /// The room for offsets in a basket that gets so many entries; the next one's is noted.
    ///
    /// Source: `TBasket::Update`, `TBranch::WriteBasketImpl`, `TBasket::WriteReset` (ROOT 6.40).
    fn grow_capacity(&mut self, n_entries: u32) -> u32 {
        while n_entries >= self.capacity {
            self.capacity = self.capacity.saturating_mul(2).max(10);
            if self.baskets.len() < TEACHING_BASKETS {
                self.offset_capacity = self.capacity;
            }
        }
        let used = self.capacity;
        if self.offset_capacity > 10 && 4 * u64::from(n_entries) < u64::from(self.offset_capacity) {
            self.offset_capacity = if n_entries < 3 { 10 } else { 4 * n_entries };
        } else if n_entries > self.offset_capacity {
            self.offset_capacity = n_entries.saturating_mul(2);
        }
        self.capacity = self.offset_capacity;
        used
    }
}

/// The clusters of a tree as its record says it: sizes, and where they change.
#[derive(Debug, Default)]
pub(super) struct ClusterSizes {
    /// `fClusterRangeEnd`, `fClusterSize`: the last entry of each range but the last, and the entries of its clusters.
    pub(super) ranges: Vec<(u64, u64)>,
    /// Entries of the clusters of the last range.
    pub(super) size: u64,
    /// Entries of the last cluster.
    last: u64,
    /// Entries of all.
    pub(super) n_entries: u64,
}

impl ClusterSizes {
    /// Adds a cluster. A range ends with a smaller one, or before a larger one.
    pub(super) fn add(&mut self, n_entries: u64) {
        if n_entries == 0 {
            return;
        }
        if self.size == 0 {
            self.size = n_entries;
        } else if self.last < self.size || n_entries > self.size {
            self.ranges.push((self.n_entries - 1, self.size));
            self.size = n_entries;
        }
        self.last = n_entries;
        self.n_entries += n_entries;
    }

    /// The entries of each cluster.
    pub(super) fn clusters(&self) -> impl Iterator<Item = Range<u64>> {
        let last = (self.n_entries.saturating_sub(1), self.size);
        let mut start = 0;
        self.ranges.iter().copied().chain(std::iter::once(last)).flat_map(move |(last, size)| {
            let first = start;
            start = (last + 1).min(self.n_entries);
            let (end, size) = (start, size.max(1));
            (0..(end - first).div_ceil(size)).map(move |index| {
                let start = first + index * size;
                start..(start + size).min(end)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn regular_clusters_need_one_number() {
        let mut sizes = ClusterSizes::default();
        for n_entries in [100, 100, 100, 7] {
            sizes.add(n_entries);
        }
        assert_eq!((sizes.ranges.as_slice(), sizes.size), (&[][..], 100));
    }

    proptest! {
        #[test]
        fn readers_find_each_cluster(clusters in proptest::collection::vec(0_u64..4, 1..20)) {
            let mut sizes = ClusterSizes::default();
            let (mut expected, mut start) = (Vec::new(), 0);
            for n_entries in clusters {
                sizes.add(n_entries);
                if n_entries > 0 {
                    expected.push(start..start + n_entries);
                }
                start += n_entries;
            }
            prop_assert_eq!(sizes.clusters().collect::<Vec<_>>(), expected);
        }
    }
}
