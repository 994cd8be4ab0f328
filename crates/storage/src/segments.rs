//! The arithmetic of pieces of equal size: segments of a download, blocks of a cache. No I/O.

use std::ops::Range;

/// A file cut into pieces of equal size, of which the last may be shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmented {
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Size of a piece in bytes, at least 1.
    pub piece_bytes: u64,
}

impl Segmented {
    /// Number of pieces.
    pub fn n_pieces(&self) -> u64 {
        self.file_bytes.div_ceil(self.piece_bytes.max(1))
    }

    /// The bytes of a piece.
    pub fn range_of(&self, piece: u64) -> Range<u64> {
        let start = piece.saturating_mul(self.piece_bytes).min(self.file_bytes);
        start..start.saturating_add(self.piece_bytes).min(self.file_bytes)
    }

    /// The pieces that a range touches.
    pub fn touched(&self, range: &Range<u64>) -> Range<u64> {
        if range.is_empty() {
            return 0..0;
        }
        let piece_bytes = self.piece_bytes.max(1);
        range.start / piece_bytes..range.end.div_ceil(piece_bytes)
    }

    /// Bytes of some pieces, neighbours together. `pieces`: sorted, each once.
    pub fn runs(&self, pieces: &[u64]) -> Vec<Range<u64>> {
        let neighbours = pieces.chunk_by(|before, after| before + 1 == *after);
        neighbours.map(|run| self.range_of(run[0]).start..self.range_of(run[run.len() - 1]).end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_piece_ends_with_the_file() {
        let file = Segmented { file_bytes: 250, piece_bytes: 100 };
        assert_eq!(file.n_pieces(), 3);
        assert_eq!(file.range_of(2), 200..250);
        assert_eq!(file.touched(&(99..201)), 0..3);
        assert_eq!(file.touched(&(100..200)), 1..2);
        assert_eq!(file.touched(&(100..100)), 0..0);
        assert_eq!(file.runs(&[0, 1]), std::slice::from_ref(&(0..200)));
        assert_eq!(file.runs(&[0, 2]), [0..100, 200..250]);
        assert!(file.runs(&[]).is_empty());
    }
}
