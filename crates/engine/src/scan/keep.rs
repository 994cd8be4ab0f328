//! What becomes of pieces that several batches need, between these: decided when the plan is made, within a bound.

use super::plan::PlannedPiece;

/// As what a piece is kept from one batch to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Keeping {
    /// Not at all: it is read again.
    Nothing,
    /// As it is in the file: it is decompressed again.
    Stored,
    /// Uncompressed.
    Unpacked,
}

/// What a piece takes if it is kept.
pub(crate) struct KeptSizes {
    /// As it is in the file; `None`: it is in memory anyhow.
    pub(crate) stored_bytes: Option<u64>,
    /// Uncompressed.
    pub(crate) unpacked_bytes: u64,
}

/// Decides what is kept.
pub(crate) struct Keeper {
    /// What all that is kept at a time may take.
    pub(crate) max_bytes: u64,
    /// What does not fit uncompressed is kept as it is in the file: reading it again costs more than memory.
    pub(crate) keeps_stored: bool,
}

impl Keeper {
    /// Decides for the pieces of all batches, of which those that the next batch needs too are marked as kept.
    ///
    /// What is kept uncompressed stays so to its last batch. Of the rest all that fits is kept as it is stored, if that is
    /// kept at all, and then as much as fits uncompressed. Returns how many times a piece is decompressed again, and for how
    /// many bytes there must be room so that none is.
    pub(crate) fn decide(
        &self,
        batches: &mut [Vec<PlannedPiece>],
        sizes: impl Fn(&PlannedPiece) -> KeptSizes,
    ) -> (u64, u64) {
        let (mut n_repeated, mut most_bytes) = (0, 0);
        let mut before: Vec<((u32, u32), Keeping)> = Vec::new();
        for pieces in batches {
            let wanted = pieces.iter().filter(|piece| piece.kept != Keeping::Nothing);
            most_bytes = wanted.map(|piece| sizes(piece).unpacked_bytes).sum::<u64>().max(most_bytes);
            let mut left_bytes = self.max_bytes;
            let mut take = |n_bytes: u64| {
                let fits = n_bytes <= left_bytes;
                left_bytes -= if fits { n_bytes } else { 0 };
                fits
            };
            let mut undecided = Vec::new();
            for (index, piece) in pieces.iter_mut().enumerate() {
                let found = before.binary_search_by_key(&piece.key(), |(key, _)| *key);
                piece.carried = found.map_or(Keeping::Nothing, |found| before[found].1);
                match (piece.kept, piece.carried) {
                    (Keeping::Nothing, _) => {}
                    (_, Keeping::Unpacked) if take(sizes(piece).unpacked_bytes) => {}
                    _ => undecided.push(index),
                }
            }
            for &index in &undecided {
                let piece = &mut pieces[index];
                let stored_bytes = sizes(piece).stored_bytes.filter(|_| piece.carried != Keeping::Unpacked);
                let is_stored = self.keeps_stored && stored_bytes.is_some_and(&mut take);
                piece.kept = if is_stored { Keeping::Stored } else { Keeping::Nothing };
            }
            for index in undecided {
                let piece = &mut pieces[index];
                let KeptSizes { stored_bytes, unpacked_bytes } = sizes(piece);
                let taken = stored_bytes.filter(|_| piece.kept == Keeping::Stored).unwrap_or(0);
                if take(unpacked_bytes.saturating_sub(taken)) {
                    piece.kept = Keeping::Unpacked;
                } else {
                    n_repeated += 1;
                }
            }
            before.clear();
            before.extend(pieces.iter().map(|piece| (piece.key(), piece.kept)));
            before.retain(|(_, kept)| *kept != Keeping::Nothing);
            before.sort_unstable_by_key(|(key, _)| *key);
        }
        (n_repeated, most_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::Keeping::{Nothing, Stored, Unpacked};
    use super::*;

    /// Three columns of one piece each, 10 bytes stored and 100 uncompressed, that all batches need. Returns what each
    /// batch finds of them.
    fn carried(n_batches: usize, max_bytes: u64, keeps_stored: bool) -> Vec<Vec<Keeping>> {
        let batch = |is_last: bool| (0..3).map(|column| PlannedPiece::new(column, 0, !is_last)).collect();
        let mut batches: Vec<Vec<PlannedPiece>> = (1..=n_batches).map(|number| batch(number == n_batches)).collect();
        let sizes = |_: &PlannedPiece| KeptSizes { stored_bytes: Some(10), unpacked_bytes: 100 };
        let (n_repeated, most_bytes) = Keeper { max_bytes, keeps_stored }.decide(&mut batches, sizes);
        assert_eq!(most_bytes, 300);
        let again = batches.iter().skip(1).flatten().filter(|piece| piece.carried != Unpacked);
        assert_eq!(n_repeated, again.count() as u64);
        assert!(batches.last().unwrap().iter().all(|piece| piece.kept == Nothing));
        batches.iter().map(|pieces| pieces.iter().map(|piece| piece.carried).collect()).collect()
    }

    #[test]
    fn what_fits_is_kept_uncompressed() {
        assert_eq!(carried(3, 300, false), [[Nothing; 3], [Unpacked; 3], [Unpacked; 3]]);
    }

    #[test]
    fn near_by_what_does_not_fit_is_read_again() {
        let kept = [Unpacked, Unpacked, Nothing];
        assert_eq!(carried(3, 299, false), [[Nothing; 3], kept, kept]);
        assert_eq!(carried(2, 99, false), [[Nothing; 3], [Nothing; 3]]);
    }

    #[test]
    fn far_away_nothing_is_read_again_that_fits_as_it_is_stored() {
        let kept = [Unpacked, Stored, Stored];
        assert_eq!(carried(3, 120, true), [[Nothing; 3], kept, kept]);
        assert_eq!(carried(2, 30, true)[1], [Stored; 3]);
        assert_eq!(carried(2, 29, true)[1], [Stored, Stored, Nothing]);
    }

    #[test]
    fn what_was_kept_before_goes_before_what_comes() {
        let mut batches = vec![
            vec![PlannedPiece::new(1, 0, true)],
            vec![PlannedPiece::new(0, 0, true), PlannedPiece::new(1, 0, true)],
            vec![PlannedPiece::new(0, 0, false), PlannedPiece::new(1, 0, false)],
        ];
        let sizes = |_: &PlannedPiece| KeptSizes { stored_bytes: Some(10), unpacked_bytes: 100 };
        Keeper { max_bytes: 100, keeps_stored: false }.decide(&mut batches, sizes);
        assert_eq!(batches[2].iter().map(|piece| piece.carried).collect::<Vec<_>>(), [Nothing, Unpacked]);
    }
}
