//! The part of a slot that a cluster has: the representation that it chose, its pages, and zeros where a column came up later.

use crate::error::{Error, Result};

use super::page_list::{Page, PageList};
use super::schema::{NtupleColumn, Schema};
use super::slots::{Slot, Slots};

/// Zeros of a column in a cluster that no page vouches for: entries before the first field was added. More is what a wrong
/// number looks like.
pub const MAX_UNWITNESSED: u64 = 1 << 22;
/// So many zeros a stored byte of another column vouches for.
const MAX_MISSING_FOR_BYTE: u64 = 1 << 20;

/// The pages of a slot in a cluster.
#[derive(Debug, Clone, Copy)]
pub struct SlotPages<'p> {
    /// The column that the cluster has.
    pub column: &'p NtupleColumn,
    /// Its pages, in the order of their elements.
    pub pages: &'p [Page],
    /// How they were compressed; `None` if the cluster says nothing of the column.
    pub compression: Option<u32>,
    /// Zeros before the elements of the pages.
    pub n_gap: u64,
    /// Elements, those zeros included.
    pub n_elements: u64,
}

/// The pages of a column, which vouch for those of others: a cluster is as large as it says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Witness {
    /// Elements that are there.
    pub n_elements: u64,
    /// Bytes that they take.
    pub stored_bytes: u64,
}

impl Witness {
    /// That of some pages.
    pub fn of(pages: &[Page]) -> Witness {
        pages.iter().fold(Witness::default(), |sum, page| Witness {
            n_elements: sum.n_elements.saturating_add(page.n_elements.into()),
            stored_bytes: sum.stored_bytes.saturating_add(page.stored_bytes),
        })
    }

    /// How many elements may be missing of a column that has so many for each entry.
    pub fn n_missing(self, factor: u64) -> u64 {
        let of_elements = self.n_elements.saturating_mul(16).saturating_mul(factor);
        of_elements.min(self.stored_bytes.saturating_mul(MAX_MISSING_FOR_BYTE))
    }
}

/// The error for more zeros than what is stored vouches for.
pub fn unwitnessed(n_elements: u64) -> Error {
    let what = format!("{n_elements} zeros of a column that was added later, where all that is stored is much smaller");
    Error::unsupported(0, what)
}

impl PageList {
    /// The pages of a slot in a cluster, by the number of the cluster in this list.
    ///
    /// # Errors
    /// Corrupt if all representations are suppressed, or elements are missing; unsupported for more zeros than are stood up for.
    pub fn slot_pages<'p>(
        &'p self,
        cluster: usize,
        schema: &'p Schema,
        slots: &Slots,
        slot: &Slot,
    ) -> Result<SlotPages<'p>> {
        let columns = self.columns.get(cluster).map_or(&[][..], |columns| columns);
        let n_entries = self.clusters.get(cluster).map_or(0, |cluster| cluster.n_entries);
        let mut absent = None;
        let mut found = None;
        for &id in slots.columns_of(slot) {
            let Some(column) = schema.column_of(id) else { continue };
            match columns.get(id.0 as usize) {
                Some(listed) if !listed.is_suppressed => {
                    found = Some((column, Some(listed)));
                    break;
                }
                Some(_) => {}
                None if column.deferred.is_none_or(|deferred| !deferred.is_suppressed) => {
                    absent.get_or_insert((column, None));
                }
                None => {}
            }
        }
        let (column, listed) =
            found.or(absent).ok_or_else(|| Error::corrupt(0, "a field all of whose representations are suppressed"))?;
        let pages = listed.map_or(&[][..], |listed| self.pages(listed));
        let n_stored: u64 = pages.iter().map(|page| u64::from(page.n_elements)).sum();
        let mut n_elements = n_stored;
        if slot.domain == 0 {
            let expected = n_entries.checked_mul(slot.factor);
            let expected = expected
                .ok_or_else(|| Error::corrupt(0, format!("2^64 elements or more, {} for each entry", slot.factor)))?;
            let may_be_missing = column.deferred.is_some() || listed.is_none();
            if n_stored > expected || (n_stored < expected && !may_be_missing) {
                return Err(Error::corrupt(0, format!("{n_stored} elements, where {expected} are expected")));
            }
            n_elements = expected;
        }
        let n_gap = n_elements - n_stored;
        if n_gap > MAX_UNWITNESSED && n_gap > self.witness(cluster).n_missing(slot.factor) {
            return Err(unwitnessed(n_gap));
        }
        Ok(SlotPages { column, pages, compression: listed.map(|listed| listed.compression), n_gap, n_elements })
    }

    /// The column of a cluster that has the most elements for which it has the bytes.
    pub fn witness(&self, cluster: usize) -> Witness {
        let columns = self.columns.get(cluster).map_or(&[][..], |columns| columns);
        let witnesses = columns.iter().map(|column| Witness::of(self.pages(column)));
        witnesses.max_by_key(|witness| witness.n_missing(1)).unwrap_or_default()
    }
}
