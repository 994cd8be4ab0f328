//! What is known of baskets that have their place in the file.

use super::basket::{Placed, Sizes};
use super::encode::Basket;

/// Offsets that a branch has room for at first. Source: `TBranch::Init` (ROOT 6.40).
const FIRST_CAPACITY: u32 = 1000;
/// Only so many baskets teach the branch how much room to have. Source: `TBasket::Update`.
const TEACHING_BASKETS: usize = 10;

/// The baskets of a branch.
#[derive(Debug, Default)]
pub(super) struct PlacedBranch {
    /// `fBasketSeek`.
    pub(super) offsets: Vec<u64>,
    /// `fBasketBytes`.
    pub(super) n_bytes: Vec<u32>,
    /// `fBasketEntry` without its end.
    pub(super) first_entries: Vec<u64>,
    /// Number of its entries.
    pub(super) n_entries: u64,
    /// `fTotBytes`.
    pub(super) memory_bytes: u64,
    /// `fZipBytes`.
    pub(super) stored_bytes: u64,
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
}

impl PlacedBranch {
    /// None yet.
    pub(super) fn new(has_offsets: bool, basket_bytes: u32) -> Self {
        let offset_capacity = if has_offsets { FIRST_CAPACITY } else { 0 };
        let mut placed = PlacedBranch { offset_capacity, capacity: offset_capacity, ..PlacedBranch::default() };
        placed.forget_buffer(basket_bytes);
        placed
    }

    /// The buffer of the next basket is not larger than it was asked for, whatever the last one had.
    pub(super) fn forget_buffer(&mut self, basket_bytes: u32) {
        self.buffer_bytes = basket_bytes;
    }

    /// Takes the next basket. Returns what its key says.
    pub(super) fn place(&mut self, basket: &Basket, offset: u64) -> Placed {
        let Sizes { key_bytes, object_bytes, n_bytes, last, n_entries } = basket.sizes;
        let number = self.offsets.len();
        let capacity = if self.offset_capacity == 0 { basket.first_entry_bytes } else { self.grow_capacity(n_entries) };
        self.buffer_bytes = self.buffer_bytes.max(last);
        let memory_bytes = key_bytes as u64 + u64::from(object_bytes);
        self.largest_basket_bytes = self.largest_basket_bytes.max(memory_bytes);
        self.offsets.push(offset);
        self.n_bytes.push(n_bytes);
        self.first_entries.push(self.n_entries);
        self.n_entries += u64::from(n_entries);
        self.memory_bytes += memory_bytes;
        self.stored_bytes += u64::from(n_bytes);
        self.largest = self.largest.max(basket.largest);
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        Placed { offset, number, buffer_bytes: self.buffer_bytes, capacity }
    }

    /// The room for offsets in a basket that gets so many entries; the next one's is noted.
    ///
    /// Source: `TBasket::Update`, `TBranch::WriteBasketImpl`, `TBasket::WriteReset` (ROOT 6.40).
    fn grow_capacity(&mut self, n_entries: u32) -> u32 {
        while n_entries >= self.capacity {
            self.capacity = self.capacity.saturating_mul(2).max(10);
            if self.offsets.len() < TEACHING_BASKETS {
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
    n_entries: u64,
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn borders(sizes: &ClusterSizes) -> Vec<u64> {
        let mut borders = Vec::new();
        let mut start = 0;
        let last = (sizes.n_entries.saturating_sub(1), sizes.size);
        for &(end, size) in sizes.ranges.iter().chain(std::iter::once(&last)) {
            while start <= end && start < sizes.n_entries {
                borders.push(start);
                start = (start + size).min(end + 1);
            }
        }
        borders
    }

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
            let (mut starts, mut start) = (Vec::new(), 0);
            for n_entries in clusters {
                sizes.add(n_entries);
                if n_entries > 0 {
                    starts.push(start);
                }
                start += n_entries;
            }
            prop_assert_eq!(borders(&sizes), starts);
        }
    }
}
