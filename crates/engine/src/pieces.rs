//! Where the pieces of a table lie in its file, and how far apart those are that one entry needs.

use std::collections::BTreeMap;

use crate::scan::Piece;

/// The pieces of a branch, or of a column of an RNTuple's field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnPieces {
    /// Path of the branch or field.
    pub path: String,
    /// In the order of their entries.
    pub pieces: Vec<Piece>,
}

/// The part of the file that each of some consecutive entries needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntrySpan {
    /// Number of entries.
    pub n_entries: u64,
    /// Bytes from the first to the last that are needed, whatever lies between.
    pub span_bytes: u64,
    /// Bytes of the pieces that are needed.
    pub stored_bytes: u64,
    /// Number of these pieces.
    pub n_pieces: u64,
}

/// A change of the pieces under way at an entry.
#[derive(Default)]
struct UnderWay {
    begins: BTreeMap<u64, u64>,
    ends: BTreeMap<u64, u64>,
    stored_bytes: u64,
    n_pieces: u64,
}

impl UnderWay {
    fn add(&mut self, piece: &Piece) {
        let stored_bytes = u64::from(piece.stored_bytes);
        *self.begins.entry(piece.offset).or_default() += 1;
        *self.ends.entry(piece.offset.saturating_add(stored_bytes)).or_default() += 1;
        self.stored_bytes += stored_bytes;
        self.n_pieces += 1;
    }

    fn remove(&mut self, piece: &Piece) {
        let stored_bytes = u64::from(piece.stored_bytes);
        take_one(&mut self.begins, piece.offset);
        take_one(&mut self.ends, piece.offset.saturating_add(stored_bytes));
        self.stored_bytes -= stored_bytes;
        self.n_pieces -= 1;
    }

    fn span(&self, n_entries: u64) -> EntrySpan {
        let ends = (self.begins.first_key_value(), self.ends.last_key_value());
        let span_bytes = if let (Some((begin, _)), Some((end, _))) = ends { end - begin } else { 0 };
        EntrySpan { n_entries, span_bytes, stored_bytes: self.stored_bytes, n_pieces: self.n_pieces }
    }
}

fn take_one(counts: &mut BTreeMap<u64, u64>, key: u64) {
    if let Some(count) = counts.get_mut(&key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&key);
        }
    }
}

/// The spans of the entries from 0 to `n_entries` over some pieces; entries in a row that need the same share one.
///
/// Pieces in the record of the table are not counted: opening it has read them.
pub fn entry_spans(pieces: impl IntoIterator<Item = Piece>, n_entries: u64) -> Vec<EntrySpan> {
    let there = |piece: &Piece| piece.embedded.is_none() && piece.first_entry < piece.entry_end.min(n_entries);
    let mut pieces: Vec<Piece> = pieces.into_iter().filter(there).collect();
    pieces.sort_unstable_by_key(|piece| piece.first_entry);
    let mut ending: Vec<u32> = (0..u32::try_from(pieces.len()).unwrap_or(u32::MAX)).collect();
    ending.sort_unstable_by_key(|&index| pieces[index as usize].entry_end);
    let mut under_way = UnderWay::default();
    let mut spans: Vec<EntrySpan> = Vec::new();
    let (mut next_begin, mut next_end, mut entry) = (0, 0, 0);
    while entry < n_entries {
        while let Some(piece) = pieces.get(next_begin).filter(|piece| piece.first_entry <= entry) {
            under_way.add(piece);
            next_begin += 1;
        }
        let ended = |index: &u32| pieces[*index as usize].entry_end <= entry;
        while let Some(&index) = ending.get(next_end).filter(|index| ended(index)) {
            under_way.remove(&pieces[index as usize]);
            next_end += 1;
        }
        let begin = pieces.get(next_begin).map(|piece| piece.first_entry);
        let end = ending.get(next_end).map(|&index| pieces[index as usize].entry_end);
        let next = [begin, end].into_iter().flatten().fold(n_entries, u64::min);
        let span = under_way.span(next - entry);
        match spans.last_mut() {
            Some(last) if (EntrySpan { n_entries: span.n_entries, ..*last }) == span => {
                last.n_entries += span.n_entries
            }
            _ => spans.push(span),
        }
        entry = next;
    }
    spans
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn piece(offset: u64, stored_bytes: u32, first_entry: u64, entry_end: u64) -> Piece {
        Piece { offset, stored_bytes, first_entry, entry_end, embedded: None }
    }

    #[test]
    fn a_span_reaches_from_the_first_to_the_last_piece_of_an_entry() {
        let embedded = Piece { embedded: Some(0), ..piece(0, 0, 0, 100) };
        let pieces = [piece(100, 50, 0, 10), piece(150, 30, 0, 5), piece(900, 20, 5, 10), embedded];
        let span = |n_entries, span_bytes, stored_bytes| EntrySpan { n_entries, span_bytes, stored_bytes, n_pieces: 2 };
        let nothing = EntrySpan { n_entries: 2, span_bytes: 0, stored_bytes: 0, n_pieces: 0 };
        assert_eq!(entry_spans(pieces, 12), [span(5, 80, 80), span(5, 820, 70), nothing]);
        assert_eq!(entry_spans(pieces, 0), []);
    }

    proptest! {
        #[test]
        fn spans_are_what_each_entry_says_by_itself(
            pieces in proptest::collection::vec((0_u64..1000, 0_u32..100, 0_u64..40, 0_u64..20), 0..40),
            n_entries in 0_u64..60,
        ) {
            let pieces: Vec<_> = pieces.into_iter().map(|(at, n, first, len)| piece(at, n, first, first + len)).collect();
            let spans = entry_spans(pieces.iter().copied(), n_entries);
            let each: Vec<EntrySpan> = spans
                .iter()
                .flat_map(|span| (0..span.n_entries).map(|_| EntrySpan { n_entries: 1, ..*span }))
                .collect();
            prop_assert_eq!(each.len() as u64, n_entries);
            for (entry, span) in (0..).zip(each) {
                let needed = || pieces.iter().filter(|piece| (piece.first_entry..piece.entry_end).contains(&entry));
                let begin = needed().map(|piece| piece.offset).min().unwrap_or(0);
                let end = needed().map(|piece| piece.offset + u64::from(piece.stored_bytes)).max().unwrap_or(0);
                let stored_bytes = needed().map(|piece| u64::from(piece.stored_bytes)).sum();
                let n_pieces = needed().count() as u64;
                prop_assert_eq!(span, EntrySpan { n_entries: 1, span_bytes: end - begin, stored_bytes, n_pieces });
            }
        }
    }
}
