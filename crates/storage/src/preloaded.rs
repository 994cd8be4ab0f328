//! Bytes that came with the opening of a file.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::account::{Ledger, Operation};
use crate::error::Result;
use crate::source::{Part, Source, check_range, pass_on};

/// A layer that answers from bytes that it was given, and asks below only for the rest.
pub struct Preloaded {
    inner: Arc<dyn Source>,
    /// Offset in the file and content, by offset, without overlap.
    pieces: Arc<[(u64, Vec<u8>)]>,
    ledger: Arc<Ledger>,
}

impl Preloaded {
    /// Puts `pieces` (offset in the file, content; in any order) before `inner`. What they answer is entered in `ledger` as
    /// cache hits.
    pub fn new(inner: Arc<dyn Source>, mut pieces: Vec<(u64, Vec<u8>)>, ledger: Arc<Ledger>) -> Self {
        pieces.retain(|(_, bytes)| !bytes.is_empty());
        pieces.sort_by_key(|(offset, _)| *offset);
        let mut end = 0;
        for (offset, bytes) in &mut pieces {
            let overlap = usize::try_from(end.max(*offset) - *offset).unwrap_or(usize::MAX).min(bytes.len());
            bytes.drain(..overlap);
            *offset += overlap as u64;
            end = end.max(*offset + bytes.len() as u64);
        }
        pieces.retain(|(_, bytes)| !bytes.is_empty());
        Preloaded { inner, pieces: pieces.into(), ledger }
    }

    /// The same bytes before another source of the same file, with a ledger of its own.
    pub fn around(&self, inner: Arc<dyn Source>, ledger: Arc<Ledger>) -> Self {
        Preloaded { inner, pieces: Arc::clone(&self.pieces), ledger }
    }

    /// What came with the opening: half-open offsets in bytes, sorted, without overlap.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.pieces.iter().map(|(start, bytes)| *start..start + bytes.len() as u64)
    }

    /// Whether it holds all of these bytes.
    pub fn holds(&self, offset: u64, n_bytes: u64) -> bool {
        let end = offset.saturating_add(n_bytes);
        let mut reached = offset;
        for (start, bytes) in self.pieces.iter() {
            if *start <= reached {
                reached = reached.max(start + bytes.len() as u64);
            }
        }
        reached >= end
    }

    /// Copies what it holds, and notes its offset and length in `found`; hands each run of other bytes, with its place in
    /// `buffer`, to `missing`.
    fn fill<'b>(
        &self,
        mut offset: u64,
        mut buffer: &'b mut [u8],
        found: &mut Vec<(u64, u64)>,
        missing: &mut Vec<Part<'b>>,
    ) {
        while !buffer.is_empty() {
            let after = self.pieces.partition_point(|(start, bytes)| start + bytes.len() as u64 <= offset);
            let next = self.pieces.get(after);
            let n_unknown = next.map_or(u64::MAX, |(start, _)| start.saturating_sub(offset));
            let n_unknown = usize::try_from(n_unknown).unwrap_or(usize::MAX).min(buffer.len());
            let (unknown, rest) = buffer.split_at_mut(n_unknown);
            if !unknown.is_empty() {
                missing.push(Part { offset, buffer: unknown });
                offset += n_unknown as u64;
            }
            buffer = rest;
            if let Some((start, bytes)) = next.filter(|_| !buffer.is_empty()) {
                let from = usize::try_from(offset - start).unwrap_or(usize::MAX);
                let n_bytes = buffer.len().min(bytes.len() - from);
                let (here, rest) = buffer.split_at_mut(n_bytes);
                here.copy_from_slice(&bytes[from..from + n_bytes]);
                found.push((offset, n_bytes as u64));
                offset += n_bytes as u64;
                buffer = rest;
            }
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl Source for Preloaded {
    pass_on!(inner);

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read_vector(&mut [Part { offset, buffer }])
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        for part in &*parts {
            check_range(self, part.offset, part.buffer.len())?;
        }
        let start = Instant::now();
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for part in parts {
            self.fill(part.offset, part.buffer, &mut found, &mut missing);
        }
        if !found.is_empty() {
            self.ledger.enter_since(start, Operation::CacheHit, found.into_iter(), Ok(()))?;
        }
        match missing.as_mut_slice() {
            [] => Ok(()),
            [part] => self.inner.read_at(part.offset, part.buffer),
            parts => self.inner.read_vector(parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Accounted, Ledger, MemorySource, Operation};
    use proptest::prelude::*;

    fn content() -> Vec<u8> {
        (0..100).collect()
    }

    fn preloaded(pieces: &[(usize, usize)]) -> (Preloaded, Arc<Ledger>) {
        let ledger = Arc::new(Ledger::new("memory", true));
        let store = Accounted::new(Arc::new(MemorySource::new("m", content())), Arc::clone(&ledger));
        let pieces = pieces.iter().map(|&(start, end)| (start as u64, content()[start..end].to_vec())).collect();
        (Preloaded::new(Arc::new(store), pieces, Arc::new(Ledger::new("opening", false))), ledger)
    }

    #[test]
    fn only_what_is_not_known_is_asked_for() {
        let (source, ledger) = preloaded(&[(80, 100), (0, 10)]);
        let mut buffer = [0; 10];
        source.read_at(85, &mut buffer).unwrap();
        assert_eq!(buffer.as_slice(), &content()[85..95]);
        assert_eq!(ledger.totals(Operation::Read).n_attempted, 0);
        let hits = || source.ledger.totals(Operation::CacheHit);
        assert_eq!((hits().n_successful, hits().bytes), (1, 10));
        let mut all = [0; 100];
        source.read_at(0, &mut all).unwrap();
        assert_eq!(all.as_slice(), content());
        assert_eq!(ledger.events().iter().map(|e| (e.offset, e.n_bytes)).collect::<Vec<_>>(), [(10, 70)]);
        assert_eq!((hits().n_successful, hits().bytes), (2, 10 + 30));
        source.read_at(20, &mut buffer).unwrap();
        assert_eq!(hits().n_attempted, 2);
    }

    #[test]
    fn what_is_known_is_held() {
        let (source, _) = preloaded(&[(80, 100), (0, 10), (10, 20)]);
        for (range, is_held) in
            [(0..20, true), (5..15, true), (80..100, true), (0..21, false), (15..85, false), (50..60, false)]
        {
            assert_eq!(source.holds(range.start, range.end - range.start), is_held, "{range:?}");
        }
        assert!(!source.holds(95, u64::MAX));
    }

    #[test]
    fn a_range_after_the_end_is_an_error() {
        let (source, _) = preloaded(&[(90, 100)]);
        source.read_at(95, &mut [0; 10]).unwrap_err();
    }

    proptest! {
        #[test]
        fn content_is_the_same_whatever_is_known(
            pieces in prop::collection::vec((0_usize..100, 0_usize..40), 0..6),
            reads in prop::collection::vec((0_usize..100, 0_usize..60), 1..5),
        ) {
            let pieces: Vec<_> = pieces.iter().map(|&(start, n)| (start, (start + n).min(100))).collect();
            let (source, _) = preloaded(&pieces);
            let mut buffers: Vec<_> = reads.iter().map(|&(start, n)| (start, vec![0_u8; n.min(100 - start)])).collect();
            let mut parts: Vec<_> = buffers.iter_mut().map(|(start, buffer)| Part { offset: *start as u64, buffer }).collect();
            source.read_vector(&mut parts).unwrap();
            for (start, buffer) in buffers {
                prop_assert_eq!(&content()[start..start + buffer.len()], buffer.as_slice());
            }
        }
    }
}
