//! Equal pages of a cluster are stored once: columns of lists of the same lengths have the same ends, for example.
//!
//! Source: `RPagePersistentSink::CommitSealedPageV` (ROOT 6.40), which compares checksums and then bytes, too.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use arrowroot_format::rntuple::PAGE_CHECKSUM_BYTES;

use super::pages::WrittenPage;
use crate::buffers;
use crate::table_format::Encoded;

/// Bytes of one task, without those of pages that are elsewhere.
#[derive(Debug)]
pub(super) struct PagesPart {
    pub(super) bytes: Vec<u8>,
    /// The bytes of its pages before they were compressed.
    pub(super) n_bytes: usize,
    /// Where it is in the file.
    pub(super) offset: u64,
}

/// A page, and which bytes it is.
#[derive(Debug)]
pub(super) struct PlacedPage {
    pub(super) page: WrittenPage,
    /// Place of the part that has them.
    part: usize,
    /// Where they begin there.
    start: usize,
}

/// The pages of a cluster so far, of which no two are stored that are equal.
#[derive(Debug, Default)]
pub(super) struct Distinct {
    /// What is stored, without parts of no bytes.
    parts: Vec<PagesPart>,
    /// All pages, in their order.
    pages: Vec<PlacedPage>,
    /// The first page of each checksum.
    seen: HashMap<u64, usize>,
}

impl Distinct {
    /// Adds the pages of a task. Returns what of them is not stored yet, to be given its place, if there is any.
    pub(super) fn add(&mut self, Encoded { bytes, pieces }: Encoded<Vec<WrittenPage>>) -> Option<&mut PagesPart> {
        let part = self.parts.len();
        self.parts.push(PagesPart { bytes, n_bytes: 0, offset: 0 });
        let (mut read, mut kept) = (0, 0);
        for page in pieces {
            let stored = read..read + page.stored_bytes + PAGE_CHECKSUM_BYTES;
            read = stored.end;
            let index = self.pages.len();
            let first = match self.seen.entry(page.checksum) {
                Entry::Occupied(first) => Some(&self.pages[*first.get()]),
                Entry::Vacant(vacant) => {
                    vacant.insert(index);
                    None
                }
            };
            let bytes = &self.parts[part].bytes[stored.clone()];
            let is_equal =
                |first: &&PlacedPage| self.parts[first.part].bytes[first.start..].get(..bytes.len()) == Some(bytes);
            match first.filter(is_equal).map(|first| (first.part, first.start)) {
                Some((part, start)) => self.pages.push(PlacedPage { page, part, start }),
                None => {
                    let own = &mut self.parts[part];
                    if kept < stored.start {
                        own.bytes.copy_within(stored.clone(), kept);
                    }
                    own.n_bytes += page.n_bytes;
                    self.pages.push(PlacedPage { page, part, start: kept });
                    kept += stored.len();
                }
            }
        }
        self.parts[part].bytes.truncate(kept);
        if kept == 0 {
            self.parts.pop().into_iter().for_each(|part| buffers::give_back(part.bytes));
            return None;
        }
        self.parts.last_mut()
    }

    /// All pages, in their order, and where in the file each is.
    pub(super) fn pages(&self) -> impl Iterator<Item = (&WrittenPage, u64)> {
        self.pages.iter().map(|placed| (&placed.page, self.parts[placed.part].offset + placed.start as u64))
    }

    /// Begins the next cluster.
    pub(super) fn clear(&mut self) {
        self.parts.drain(..).for_each(|part| buffers::give_back(part.bytes));
        self.pages.clear();
        self.seen.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrowroot_format::codec::CompressionSetting;
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
                    columns: [0].into(),
                    n_elements: 1,
                    stored_bytes: page.len(),
                    n_bytes: 100,
                    checksum: checksum(page),
                    setting: CompressionSetting::NONE,
                }).collect(),
            });
            // The pages of the cluster before are forgotten.
            let mut distinct = Distinct::default();
            distinct.add(Encoded { bytes: stored(&[1]), pieces: vec![WrittenPage { columns: [0].into(), n_elements: 1, stored_bytes: 1, n_bytes: 100, checksum: checksum(&[1]), setting: CompressionSetting::NONE }] });
            distinct.clear();
            let mut file = Vec::new();
            for task in encoded {
                if let Some(part) = distinct.add(task) {
                    part.offset = file.len() as u64;
                    file.extend_from_slice(&part.bytes);
                }
            }
            let pages: Vec<&Vec<u8>> = tasks.iter().flatten().collect();
            prop_assert_eq!(distinct.pages().count(), pages.len());
            for ((_, offset), page) in distinct.pages().zip(&pages) {
                let expected = stored(page);
                prop_assert_eq!(&file[usize::try_from(offset).unwrap()..][..expected.len()], &expected[..]);
            }
            let n_stored = file.len();
            let different: std::collections::HashSet<_> = pages.iter().map(|page| stored(page)).collect();
            if !bad_checksums {
                prop_assert_eq!(n_stored, different.iter().map(Vec::len).sum::<usize>());
            }
            prop_assert!(distinct.parts.iter().all(|part| !part.bytes.is_empty() && part.n_bytes % 100 == 0));
        }
    }
}
