//! Equal pages of a cluster are stored once: columns of lists of the same lengths have the same ends, for example.
//!
//! Source: `RPagePersistentSink::CommitSealedPageV` (ROOT 6.40), which compares checksums and then bytes, too.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use arrowroot_format::rntuple::PAGE_CHECKSUM_BYTES;

use super::pages::WrittenPage;
use crate::table_format::Encoded;

/// Bytes of one task, without those of pages that are elsewhere.
#[derive(Debug)]
pub(super) struct PagesPart {
    pub(super) bytes: Vec<u8>,
    /// The bytes of its pages before they were compressed.
    pub(super) n_bytes: usize,
}

/// A page, and which bytes it is.
#[derive(Debug)]
pub(super) struct PlacedPage {
    pub(super) page: WrittenPage,
    /// Place of the part that has them.
    pub(super) part: usize,
    /// Where they begin there.
    pub(super) start: usize,
}

/// The pages of a cluster, of which no two are stored that are equal.
#[derive(Debug, Default)]
pub(super) struct Distinct {
    /// What is stored, without parts of no bytes.
    pub(super) parts: Vec<PagesPart>,
    /// All pages, in their order.
    pub(super) pages: Vec<PlacedPage>,
}

impl Distinct {
    pub(super) fn of(encoded: Vec<Encoded<Vec<WrittenPage>>>) -> Self {
        let mut distinct = Distinct::default();
        // The first page of each checksum.
        let mut seen: HashMap<u64, usize> = HashMap::new();
        for Encoded { bytes, pieces } in encoded {
            let part = distinct.parts.len();
            distinct.parts.push(PagesPart { bytes, n_bytes: 0 });
            let (mut read, mut kept) = (0, 0);
            for page in pieces {
                let stored = read..read + page.stored_bytes + PAGE_CHECKSUM_BYTES;
                read = stored.end;
                let place = distinct.pages.len();
                let first = match seen.entry(page.checksum) {
                    Entry::Occupied(first) => Some(&distinct.pages[*first.get()]),
                    Entry::Vacant(vacant) => {
                        vacant.insert(place);
                        None
                    }
                };
                let bytes = &distinct.parts[part].bytes[stored.clone()];
                let is_equal = |first: &&PlacedPage| {
                    distinct.parts[first.part].bytes[first.start..].get(..bytes.len()) == Some(bytes)
                };
                match first.filter(is_equal).map(|first| (first.part, first.start)) {
                    Some((part, start)) => distinct.pages.push(PlacedPage { page, part, start }),
                    None => {
                        let own = &mut distinct.parts[part];
                        if kept < stored.start {
                            own.bytes.copy_within(stored.clone(), kept);
                        }
                        own.n_bytes += page.n_bytes;
                        distinct.pages.push(PlacedPage { page, part, start: kept });
                        kept += stored.len();
                    }
                }
            }
            distinct.parts[part].bytes.truncate(kept);
            if kept == 0 {
                distinct.parts.pop();
            }
        }
        distinct
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_pages_are_stored_once_and_all_are_found(
            tasks in prop::collection::vec(prop::collection::vec(prop::collection::vec(0_u8..2, 0..3), 0..6), 0..6),
            bad_checksums in any::<bool>(),
        ) {
            let checksum = |page: &[u8]| if bad_checksums { 7 } else { page.iter().fold(page.len() as u64, |sum, byte| sum * 3 + u64::from(*byte)) };
            let stored = |page: &[u8]| [page, &checksum(page).to_le_bytes()].concat();
            let encoded = tasks.iter().map(|pages| Encoded {
                bytes: pages.iter().flat_map(|page| stored(page)).collect(),
                pieces: pages.iter().map(|page| WrittenPage {
                    column: 0,
                    n_elements: 1,
                    stored_bytes: page.len(),
                    n_bytes: 100,
                    checksum: checksum(page),
                }).collect(),
            });
            let distinct = Distinct::of(encoded.collect());
            let pages: Vec<&Vec<u8>> = tasks.iter().flatten().collect();
            prop_assert_eq!(distinct.pages.len(), pages.len());
            for (placed, page) in distinct.pages.iter().zip(&pages) {
                let expected = stored(page);
                prop_assert_eq!(&distinct.parts[placed.part].bytes[placed.start..][..expected.len()], &expected[..]);
            }
            let n_stored: usize = distinct.parts.iter().map(|part| part.bytes.len()).sum();
            let different: std::collections::HashSet<_> = pages.iter().map(|page| stored(page)).collect();
            if !bad_checksums {
                prop_assert_eq!(n_stored, different.iter().map(Vec::len).sum::<usize>());
            }
            prop_assert!(distinct.parts.iter().all(|part| !part.bytes.is_empty() && part.n_bytes % 100 == 0));
        }
    }
}
