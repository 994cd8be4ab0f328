//! What came that nobody needed.

use std::collections::BTreeMap;
use std::ops::Range;

/// Weighs what came against what was needed, byte by byte.
///
/// A byte that came once more than it was needed is excess. One that was needed and did not come, as somebody kept it
/// from before, is none, and makes up for no other. What comes first, the byte or the need, makes no difference.
/// What balances takes no memory.
#[derive(Debug, Default)]
pub(crate) struct Excess {
    /// From each offset to the next: how many times more it came than it was needed. 0 before the first.
    balances: BTreeMap<u64, i64>,
    n_bytes: u64,
}

impl Excess {
    /// These bytes came.
    pub(crate) fn come(&mut self, range: Range<u64>) {
        self.change(range, 1);
    }

    /// These bytes were needed.
    pub(crate) fn need(&mut self, range: Range<u64>) {
        self.change(range, -1);
    }

    /// Bytes that came more often than they were needed so far, as often as they did.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    fn change(&mut self, range: Range<u64>, step: i64) {
        if range.is_empty() {
            return;
        }
        for offset in [range.start, range.end] {
            let balance = self.balances.range(..=offset).next_back().map_or(0, |(_, balance)| *balance);
            self.balances.entry(offset).or_insert(balance);
        }
        let mut before = self.balances.range(..range.start).next_back().map_or(0, |(_, balance)| *balance);
        let pieces: Vec<(u64, i64)> =
            self.balances.range(range.clone()).map(|(start, balance)| (*start, *balance)).collect();
        for (index, &(start, balance)) in pieces.iter().enumerate() {
            let n_bytes = pieces.get(index + 1).map_or(range.end, |(next, _)| *next) - start;
            if step > 0 && balance >= 0 {
                self.n_bytes += n_bytes;
            } else if step < 0 && balance > 0 {
                self.n_bytes -= n_bytes;
            }
            self.set(start, balance + step, before);
            before = balance + step;
        }
        let after = self.balances.get(&range.end).copied().unwrap_or(0);
        self.set(range.end, after, before);
    }

    /// Notes a balance where it differs from the one before.
    fn set(&mut self, offset: u64, balance: i64, before: i64) {
        if balance == before {
            self.balances.remove(&offset);
        } else {
            self.balances.insert(offset, balance);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gaps_and_what_comes_again_are_excess_and_what_was_kept_is_none() {
        let mut excess = Excess::default();
        excess.come(0..100);
        excess.need(10..40);
        excess.need(60..90);
        assert_eq!(excess.n_bytes(), 40);
        excess.come(10..40);
        assert_eq!(excess.n_bytes(), 70);
        excess.need(500..900);
        assert_eq!(excess.n_bytes(), 70);
    }

    proptest! {
        #[test]
        fn it_is_what_counting_each_byte_gives(
            changes in prop::collection::vec((0_u64..60, 0_u64..30, any::<bool>()), 0..30),
        ) {
            let mut excess = Excess::default();
            let mut each = [0_i64; 100];
            for (start, n_bytes, comes) in changes {
                let range = start..start + n_bytes;
                for byte in &mut each[usize::try_from(start).unwrap()..usize::try_from(range.end).unwrap()] {
                    *byte += if comes { 1 } else { -1 };
                }
                if comes { excess.come(range) } else { excess.need(range) }
                let expected: i64 = each.iter().map(|balance| balance.max(&0)).sum();
                prop_assert_eq!(excess.n_bytes(), u64::try_from(expected).unwrap());
                let n_steps = each.windows(2).filter(|pair| pair[0] != pair[1]).count() + usize::from(each[0] != 0);
                prop_assert_eq!(excess.balances.len(), n_steps);
            }
        }
    }
}
