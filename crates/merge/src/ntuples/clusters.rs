//! The clusters of the output while inputs come: what their page lists will say, in some bytes for each column.
//!
//! The page lists of 1,000 inputs of 10,000 columns take 400 MB in the file. They are written once all columns are known, and
//! until then each page is kept as the differences to the one before: a handful of bytes.

use std::sync::Arc;

use arrowroot_format::rntuple::Page;

use super::union::{Mapping, NodeId};

/// A cluster of the output.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) n_entries: u64,
    mapping: Arc<Mapping>,
    /// For each slot of the input that is not left out its pages.
    bytes: Box<[u8]>,
}

/// The part of a column that a cluster has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Listed {
    /// The representation in the output.
    pub(super) representation: u16,
    /// How the pages were compressed.
    pub(super) compression: u32,
    /// Zeros before the elements of the pages.
    pub(super) n_gap: u64,
}

/// Writes what a cluster has: for each slot of the input that is not left out, in their order, one call of
/// [`add`](ClusterBuilder::add).
#[derive(Debug, Default)]
pub(super) struct ClusterBuilder {
    bytes: Vec<u8>,
    before: Before,
}

/// The values before, to which differences are.
#[derive(Debug, Default)]
struct Before {
    compression: u64,
    n_elements: u64,
    /// Where the next page begins if there is nothing between.
    end: u64,
}

impl ClusterBuilder {
    /// `pages`: where they are in the output.
    pub(super) fn add(&mut self, listed: Listed, pages: impl ExactSizeIterator<Item = Page>) {
        let Listed { representation, compression, n_gap } = listed;
        self.number(u64::from(representation) << 1 | u64::from(n_gap > 0));
        if n_gap > 0 {
            self.number(n_gap);
        }
        let compression = u64::from(compression);
        self.difference(compression, self.before.compression);
        self.before.compression = compression;
        self.number(pages.len() as u64);
        for page in pages {
            let n_elements = u64::from(page.n_elements);
            self.difference(n_elements, self.before.n_elements);
            self.number(page.stored_bytes << 1 | u64::from(page.has_checksum));
            self.difference(page.offset, self.before.end);
            self.before.n_elements = n_elements;
            self.before.end = page_end(&page);
        }
    }

    /// Ends the cluster.
    pub(super) fn end(&mut self, n_entries: u64, mapping: Arc<Mapping>) -> Cluster {
        self.before = Before::default();
        // A copy: it has no room to spare.
        let bytes = Box::from(self.bytes.as_slice());
        self.bytes.clear();
        Cluster { n_entries, mapping, bytes }
    }

    /// Seven bits in a byte; the highest says that more follow.
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push((number & 0x7F) as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push((number & 0x7F) as u8);
    }

    fn difference(&mut self, now: u64, before: u64) {
        let difference = now.wrapping_sub(before).cast_signed();
        self.number((difference << 1 ^ difference >> 63).cast_unsigned());
    }
}

impl Cluster {
    /// Gives for each column that the input had: field, number of the column, what the cluster has, and its pages.
    pub(super) fn each(&self, mut take: impl FnMut(NodeId, u16, Listed, &[Page])) {
        let mut reader = Reader { bytes: &self.bytes, before: Before::default() };
        let mut pages = Vec::new();
        for (node, index) in self.mapping.targets() {
            let listed = reader.next(&mut pages);
            take(node, index, listed, &pages);
        }
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    before: Before,
}

impl Reader<'_> {
    fn next(&mut self, pages: &mut Vec<Page>) -> Listed {
        let head = self.number();
        let n_gap = if head & 1 != 0 { self.number() } else { 0 };
        self.before.compression = self.difference(self.before.compression);
        let n_pages = self.number();
        pages.clear();
        for _ in 0..n_pages {
            let n_elements = self.difference(self.before.n_elements);
            let size = self.number();
            let offset = self.difference(self.before.end);
            let page = Page {
                offset,
                stored_bytes: size >> 1,
                n_elements: u32::try_from(n_elements).unwrap_or(u32::MAX),
                has_checksum: size & 1 != 0,
                is_elsewhere: false,
            };
            self.before.n_elements = n_elements;
            self.before.end = page_end(&page);
            pages.push(page);
        }
        Listed {
            representation: u16::try_from(head >> 1).unwrap_or(u16::MAX),
            compression: u32::try_from(self.before.compression).unwrap_or(u32::MAX),
            n_gap,
        }
    }

    fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        while let Some((&byte, rest)) = self.bytes.split_first() {
            self.bytes = rest;
            number |= u64::from(byte & 0x7F) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        number
    }

    fn difference(&mut self, before: u64) -> u64 {
        let number = self.number();
        before.wrapping_add(number >> 1 ^ (number & 1).wrapping_neg())
    }
}

fn page_end(page: &Page) -> u64 {
    page.offset.wrapping_add(super::pages::bytes_of(page))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(offset: u64, stored_bytes: u64, n_elements: u32, has_checksum: bool) -> Page {
        Page { offset, stored_bytes, n_elements, has_checksum, is_elsewhere: false }
    }

    #[test]
    fn pages_come_back_and_neighbours_take_few_bytes() {
        let mapping = Arc::new(Mapping::of_targets(&[(3, 0), (1, 1), (7, 0), (8, 0)]));
        let neighbours = [page(1000, 150, 1000, true), page(1158, 150, 1000, true)];
        let given = [
            (Listed { representation: 0, compression: 505, n_gap: 0 }, neighbours.to_vec()),
            (
                Listed { representation: 2, compression: 0, n_gap: 1 << 40 },
                vec![page(1 << 50, u32::MAX.into(), u32::MAX, false)],
            ),
            (Listed { representation: u16::MAX, compression: u32::MAX, n_gap: 0 }, vec![]),
            (Listed::default(), vec![page(0, 0, 0, true)]),
        ];
        let mut builder = ClusterBuilder::default();
        given.iter().for_each(|(listed, pages)| builder.add(*listed, pages.iter().copied()));
        let cluster = builder.end(5, Arc::clone(&mapping));
        let mut found = Vec::new();
        cluster.each(|node, index, listed, pages| found.push(((node, index), (listed, pages.to_vec()))));
        assert_eq!(found.iter().map(|(target, _)| *target).collect::<Vec<_>>(), [(3, 0), (1, 1), (7, 0), (8, 0)]);
        assert_eq!(found.into_iter().map(|(_, given)| given).collect::<Vec<_>>(), given);

        let many = (0..1000_u32).map(|number| page(u64::from(number) * 158, 150, 1000, true));
        builder.add(Listed::default(), many);
        let n_bytes = builder.end(5, mapping).bytes.len();
        assert!(n_bytes < 5000, "{n_bytes} bytes for 1000 pages");
    }
}
