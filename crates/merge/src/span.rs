//! A cluster that can be copied packed.

use std::ops::Range;

/// Pieces have so many bytes on average, or their cluster is better written anew, with its neighbours.
const MIN_PIECE_BYTES: u64 = 4_000;
/// A cluster of more bytes, as it is stored, is written anew: all of it is in memory at once.
const MAX_HELD_BYTES: u64 = 128 << 20;
/// The same of bytes before compression: the key of a record has no room for more.
const MAX_MEMORY_BYTES: u64 = 1 << 30;

/// A cluster that can be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedSpan {
    /// Its entries.
    pub entries: Range<u64>,
    /// Bytes of its pieces that would be copied.
    pub stored_bytes: u64,
    /// Its page list in an RNTuple, and its number in that.
    pub(crate) place: (usize, usize),
}

impl PackedSpan {
    /// A cluster whose pieces take so many bytes, if these are neither too few nor too many. `held_bytes`: where those that share
    /// bytes have copies of their own; `memory_bytes`: before compression, as far as that is known.
    pub(crate) fn of(
        entries: Range<u64>,
        n_pieces: u64,
        [stored_bytes, held_bytes, memory_bytes]: [u64; 3],
    ) -> Option<PackedSpan> {
        let is_large_enough = n_pieces > 0 && stored_bytes >= n_pieces.saturating_mul(MIN_PIECE_BYTES);
        let is_bounded = held_bytes <= MAX_HELD_BYTES && memory_bytes <= MAX_MEMORY_BYTES;
        (is_large_enough && is_bounded).then_some(PackedSpan { entries, stored_bytes, place: (0, 0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_of_small_pieces_or_too_many_bytes_cannot_be_copied() {
        let is_copied = |n_pieces, bytes| PackedSpan::of(0..1, n_pieces, bytes).is_some();
        assert!(is_copied(10, [40_000, 40_000, 0]) && !is_copied(10, [39_999, 39_999, 0]) && !is_copied(0, [0; 3]));
        assert!(is_copied(1, [40_000, MAX_HELD_BYTES, MAX_MEMORY_BYTES]));
        assert!(
            !is_copied(1, [40_000, MAX_HELD_BYTES + 1, 0]) && !is_copied(1, [40_000, 40_000, MAX_MEMORY_BYTES + 1])
        );
        assert!(!is_copied(u64::MAX, [u64::MAX, u64::MAX, 0]));
    }
}
