//! A stretch of a file that is asked for, with a buffer for its bytes or without one.
//!
//! The planners of the stores are written for either, so that a simulation asks them what a store would do.

use std::ops::Range;

/// Bytes of a file that follow each other.
pub(crate) trait Extent: Sized {
    /// Offset in the file in bytes.
    fn offset(&self) -> u64;

    /// Length in bytes.
    fn n_bytes(&self) -> u64;

    /// The first `n_bytes`, which are not more than there are, and the rest.
    fn split(self, n_bytes: u64) -> (Self, Self);

    /// Half-open offsets in the file in bytes.
    fn range(&self) -> Range<u64> {
        self.offset()..self.offset().saturating_add(self.n_bytes())
    }
}

impl Extent for Range<u64> {
    fn offset(&self) -> u64 {
        self.start
    }

    fn n_bytes(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    fn split(self, n_bytes: u64) -> (Self, Self) {
        let middle = self.start + n_bytes;
        (self.start..middle, middle..self.end)
    }
}

/// Ranges in the order of their offsets, those that touch as one.
pub(crate) fn joined(ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let ranges = ranges.into_iter();
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.size_hint().1.unwrap_or(0));
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}
