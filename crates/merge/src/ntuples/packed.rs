//! Clusters of an RNTuple whose pages go to another RNTuple, between others.

use ahash::{HashMap, HashMapExt};
use arrowroot::{File, Table};
use arrowroot_format as format;
use arrowroot_writer::{PackedCluster, PackedPage, PackedPieces};
use format::codec::CompressionSetting;
use format::rntuple::{Footer, PAGE_CHECKSUM_BYTES, Page, PageList, Schema, Slots, checksum};

use super::input::in_order;
use super::pages::{Wanted, arranged, bytes_of, each_window, n_bytes};
use super::union::{Mapping, NodeId, Union};
use crate::error::Result;
use crate::merging::Columns;
use crate::span::PackedSpan;

/// The columns of an RNTuple that is being written, as an input has them.
pub(crate) struct PackedNtuple {
    /// By the slots of the input: the column of the output.
    columns: Vec<Option<usize>>,
    mapping: Mapping,
}

/// A page of a cluster, and the column of the output that gets it.
struct Listed {
    column: usize,
    page: Page,
    n_bytes: usize,
    setting: CompressionSetting,
}

/// The pages of an input.
pub(crate) struct Pages<'p> {
    pub(crate) table: &'p dyn Table,
    pub(crate) schema: &'p Schema,
    pub(crate) slots: &'p Slots,
    /// The page lists of all cluster groups.
    pub(crate) lists: &'p [&'p PageList],
}

impl PackedNtuple {
    /// The columns of a schema in an input, if it has all of them, and fields of the same types.
    pub(crate) fn of(schema: &Schema, input_slots: &Slots, output: &Schema) -> Option<PackedNtuple> {
        let slots = Slots::new(output).ok()?;
        let mut union = Union::default();
        let own = union.add(output, &slots, Columns::Strict, true).ok()?;
        let mapping = union.add(schema, input_slots, Columns::First, false).ok()?;
        let mut by_target: HashMap<(NodeId, u16), usize> = HashMap::with_capacity(slots.slots.len());
        for (number, slot) in slots.slots.iter().enumerate() {
            by_target.insert(own.target(number)?, slots.columns_of(slot).first()?.0 as usize);
        }
        let column = |slot| mapping.target(slot).and_then(|target| by_target.get(&target).copied());
        let columns: Vec<Option<usize>> = (0..input_slots.slots.len()).map(column).collect();
        let is_complete = columns.iter().flatten().count() == by_target.len();
        is_complete.then_some(PackedNtuple { columns, mapping })
    }

    /// The clusters whose pages can be copied. What is wrong with others is told by those who decode them.
    pub(crate) fn spans(&self, pages: &Pages<'_>, footer: &Footer) -> Vec<PackedSpan> {
        let mut spans = Vec::new();
        for place in in_order(pages.lists, footer).unwrap_or_default() {
            let Some(listed) = self.listed(pages, place) else { continue };
            let cluster = pages.lists[place.0].clusters[place.1];
            let entries = cluster.first_entry..cluster.first_entry.saturating_add(cluster.n_entries);
            let sum = |bytes: &mut dyn Iterator<Item = u64>| bytes.fold(0, u64::saturating_add);
            let held_bytes = sum(&mut listed.iter().map(|one| bytes_of(&one.page)));
            let memory_bytes = sum(&mut listed.iter().map(|one| one.n_bytes as u64));
            let mut stored: Vec<(u64, u64)> = listed.iter().map(|one| (one.page.offset, bytes_of(&one.page))).collect();
            stored.sort_unstable();
            stored.dedup();
            let stored_bytes = sum(&mut stored.iter().map(|&(_, n_bytes)| n_bytes));
            let span = PackedSpan::of(entries, stored.len() as u64, [stored_bytes, held_bytes, memory_bytes]);
            spans.extend(span.map(|span| PackedSpan { place, ..span }));
        }
        spans
    }

    /// The pages of a cluster, by the columns of the input. `None` if it stores some column in another way than the output, or
    /// does not have all of it.
    fn listed(&self, pages: &Pages<'_>, (list, cluster): (usize, usize)) -> Option<Vec<Listed>> {
        let Pages { schema, slots, lists, .. } = *pages;
        let mut listed = Vec::new();
        for (number, (slot, column)) in slots.slots.iter().zip(&self.columns).enumerate() {
            let Some(column) = *column else { continue };
            let found = lists[list].slot_pages(cluster, schema, slots, slot).ok()?;
            let as_stored = self.mapping.representation(number, found.column.representation);
            if as_stored.number > 0 || as_stored.anew.is_some() || found.n_gap > 0 {
                return None;
            }
            let setting = found.compression.and_then(|setting| i32::try_from(setting).ok()).unwrap_or_default();
            for page in found.pages {
                if page.is_elsewhere {
                    return None;
                }
                let n_bytes = n_bytes(found.column.column_type, page);
                listed.push(Listed { column, page: *page, n_bytes, setting: CompressionSetting(setting) });
            }
        }
        Some(listed)
    }

    /// Reads a cluster.
    ///
    /// # Errors
    /// If a page is damaged, not in the file, or overlaps another one; errors of reading.
    pub(crate) fn read(&self, input: &File, pages: &Pages<'_>, span: &PackedSpan) -> Result<Option<PackedCluster>> {
        let Some(listed) = self.listed(pages, span.place) else { return Ok(None) };
        let mut places = Vec::with_capacity(listed.len());
        let mut end = 0;
        // Pages of several columns are read once.
        let mut by_offset: HashMap<u64, Vec<usize>> = HashMap::with_capacity(listed.len());
        for (number, Listed { page, .. }) in listed.iter().enumerate() {
            places.push(end);
            end += stored_bytes(page) + PAGE_CHECKSUM_BYTES;
            by_offset.entry(page.offset).or_default().push(number);
        }
        let mut bytes = vec![0; end];
        let wanted = listed.iter().map(|listed| Wanted { page: listed.page, n_bytes: listed.n_bytes }).collect();
        let wanted = arranged(input, pages.table.path(), wanted)?;
        each_window(input, pages.table.path(), &wanted, &mut Vec::new(), |wanted, starts, buffer| {
            for (Wanted { page, .. }, &start) in wanted.iter().zip(starts) {
                for &number in by_offset.get(&page.offset).into_iter().flatten() {
                    let (at, n_bytes) = (places[number], stored_bytes(&listed[number].page));
                    bytes[at..at + n_bytes].copy_from_slice(&buffer[start..start + n_bytes]);
                }
            }
            Ok(())
        })?;
        let mut packed = Vec::with_capacity(listed.len());
        for (Listed { column, page, n_bytes, setting }, start) in listed.iter().zip(places) {
            let end = start + stored_bytes(page);
            // Where it was there, it was compared.
            let checksum = checksum(&bytes[start..end]);
            bytes[end..end + PAGE_CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
            packed.push(PackedPage {
                column: *column,
                n_elements: page.n_elements,
                stored_bytes: end - start,
                n_bytes: *n_bytes,
                checksum,
                setting: *setting,
            });
        }
        Ok(Some(PackedCluster {
            n_entries: usize::try_from(span.entries.end - span.entries.start).unwrap_or(usize::MAX),
            memory_bytes: packed.iter().map(|page| page.n_bytes as u64).sum(),
            bytes,
            pieces: PackedPieces::Pages(packed),
        }))
    }
}

/// Bytes of a page without its checksum; those of a cluster that is copied are bounded.
fn stored_bytes(page: &Page) -> usize {
    usize::try_from(page.stored_bytes).unwrap_or(usize::MAX)
}
