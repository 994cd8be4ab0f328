//! Looks into pages that tell where items of lists and variants are, when a plan is made.

use std::collections::HashMap;
use std::ops::Range;

use arrowroot_file::{Elsewhere, PooledScratch, Result, Scratch, format_error, read_parts};
use arrowroot_format as format;
use arrowroot_storage::{Part, Source, coalesce, limits_for};
use format::codec::Decompressor;
use format::rntuple::Encoding;

use super::Ntuple;
use super::page::{Switches, bytes_to_read, index_values, open_elsewhere, open_page, switches};
use super::plan::{PlannedPage, PlannedSlot, SlotKind};
use crate::table::Table;

/// Bytes of pages that are read at a time.
const LOOK_UP_BYTES: u64 = 16 << 20;

/// Elements of a slot that have to be looked up, counted in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Query {
    /// Place of the slot in the plan.
    pub(super) slot: usize,
    /// Place of the cluster in the plan.
    pub(super) cluster: u32,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// A page of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageId {
    /// Place of its slot.
    pub(crate) slot: usize,
    /// Place among the pages of the slot.
    pub(crate) page: usize,
}

/// What was looked up.
pub(super) struct LookedUp {
    /// Sorted, each once.
    wanted: Vec<Query>,
    /// For each where its values begin, and the end of the last.
    starts: Vec<usize>,
    /// Ends of lists.
    values: Vec<u64>,
    /// First item and number of items of each alternative of variants, by index in `wanted`.
    switches: HashMap<usize, Switches>,
}

impl LookedUp {
    /// The ends of lists that are wanted, none for what was not looked up.
    ///
    /// `next`: where to look first, 0 in the beginning: whoever asks in order pays no search.
    pub(super) fn values(&self, wanted: &Query, next: &mut usize) -> &[u64] {
        let is_here = |index: &usize| self.wanted.get(*index) == Some(wanted);
        let near = [*next, *next + 1].into_iter().find(is_here);
        let Some(index) = near.or_else(|| self.wanted.binary_search(wanted).ok()) else { return &[] };
        *next = index;
        &self.values[self.starts[index]..self.starts[index + 1]]
    }

    /// What variants that are wanted point to.
    pub(super) fn switches(&self, wanted: &Query) -> Option<&Switches> {
        self.switches.get(&self.wanted.binary_search(wanted).ok()?)
    }
}

/// Reads pages and looks into them.
pub(super) struct LookUp<'a> {
    pub(super) ntuple: &'a Ntuple,
    pub(super) source: &'a dyn Source,
    pub(super) slots: &'a [PlannedSlot],
}

/// A page that is looked into, and which of what is wanted it has a part of.
struct Needed<'n> {
    id: PageId,
    page: PlannedPage,
    touched: &'n [(PageKey, usize)],
}

/// Slot and page.
type PageKey = (usize, usize);

impl LookUp<'_> {
    /// Finds what is wanted. Returns it, and the pages that were read for it.
    pub(super) fn find(&self, mut wanted: Vec<Query>) -> Result<(LookedUp, Vec<PageId>)> {
        wanted.sort();
        wanted.dedup();
        let mut starts = Vec::with_capacity(wanted.len() + 1);
        let mut n_values = 0_u64;
        for wanted in &wanted {
            starts.push(usize::try_from(n_values).unwrap_or(usize::MAX));
            if !matches!(self.slots[wanted.slot].kind, SlotKind::Switches { .. }) {
                n_values += wanted.end - wanted.start;
            }
        }
        let n_values = usize::try_from(n_values).unwrap_or(usize::MAX);
        starts.push(n_values);
        let touched = self.touched(&wanted)?;
        // Zeros before a column that was added later: no lists.
        let mut found = LookedUp { wanted, starts, values: vec![0; n_values], switches: HashMap::new() };
        let mut needed: Vec<Needed<'_>> = touched
            .chunk_by(|one, next| one.0 == next.0)
            .map(|touched| {
                let (slot, page) = touched[0].0;
                Needed { id: PageId { slot, page }, page: self.slots[slot].pages[page], touched }
            })
            .collect();
        needed.sort_by_key(|needed| needed.page.page.offset);
        let mut scratch = PooledScratch::default();
        let mut rest = needed.as_slice();
        while !rest.is_empty() {
            let mut n_bytes = 0_u64;
            let n_pages = rest
                .iter()
                .take_while(|needed| {
                    let is_first = n_bytes == 0;
                    n_bytes = n_bytes.saturating_add(needed.page.page.stored_bytes).max(1);
                    is_first || n_bytes <= LOOK_UP_BYTES
                })
                .count();
            let (now, later) = rest.split_at(n_pages);
            rest = later;
            self.read(now, |needed, stored| self.take(needed, stored, scratch.get(), &mut found))?;
        }
        let pages = needed.iter().map(|needed| needed.id).collect();
        Ok((found, pages))
    }

    /// The pages that have some of what is wanted, each with its index there; in order.
    fn touched(&self, wanted: &[Query]) -> Result<Vec<(PageKey, usize)>> {
        let mut touched: Vec<(PageKey, usize)> = Vec::with_capacity(wanted.len());
        for (index, &Query { slot: number, cluster, start, end }) in wanted.iter().enumerate() {
            let slot = &self.slots[number];
            let n_elements = slot.n_elements(cluster as usize);
            if end > n_elements {
                let path = self.ntuple.slot_path(slot.slot);
                return Err(self.ntuple.corrupt(format!("{n_elements} elements of {path}, {end} are needed")));
            }
            let pages = slot.pages_with(cluster as usize, &(start..end));
            touched.extend(pages.map(|page| ((number, page), index)));
        }
        // Only stretches over several pages are out of order.
        touched.sort();
        Ok(touched)
    }

    /// Reads pages and gives each with its checksum to `take`.
    fn read(&self, pages: &[Needed<'_>], mut take: impl FnMut(&Needed<'_>, &[u8]) -> Result<()>) -> Result<()> {
        let size_bytes = self.source.size_bytes();
        let mut ranges = Vec::with_capacity(pages.len());
        for needed in pages {
            let page = &needed.page.page;
            let range = page.offset..page.offset.saturating_add(bytes_to_read(page));
            if range.end > size_bytes {
                let what = format!("a page of bytes {} to {} in a file of {size_bytes}", range.start, range.end);
                return Err(self.ntuple.corrupt(what));
            }
            ranges.push(range);
        }
        let limits = limits_for(self.source.access_profile(), &ranges);
        let spans = coalesce(&ranges, limits);
        let length = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut buffers: Vec<Vec<u8>> = spans.iter().map(|span| vec![0; length(&span.range)]).collect();
        let mut parts: Vec<Part<'_>> =
            spans.iter().zip(&mut buffers).map(|(span, buffer)| Part { offset: span.range.start, buffer }).collect();
        read_parts(self.source, &mut parts)?;
        for (span, buffer) in spans.iter().zip(&buffers) {
            for &member in &span.members {
                let start = usize::try_from(ranges[member].start - span.range.start).unwrap_or(usize::MAX);
                take(&pages[member], &buffer[start..start + length(&ranges[member])])?;
            }
        }
        Ok(())
    }

    fn take(&self, needed: &Needed<'_>, stored: &[u8], scratch: &mut Scratch, found: &mut LookedUp) -> Result<()> {
        let PlannedPage { page, encoding, n_bytes, checksum, .. } = needed.page;
        let slot = &self.slots[needed.id.slot];
        let in_slot = |error| format_error(self.source, &self.ntuple.slot_path(slot.slot), error);
        let in_page = |error: format::Error| in_slot(error.placed(needed.page.elements_place()));
        let missing = || in_page(format::Error::truncated(0, "a page without some of its elements"));
        let Scratch { decompressor, unpacked, words, values, .. } = scratch;
        let again;
        let plain = match open_page(stored, checksum, n_bytes, decompressor, unpacked) {
            Ok(plain) => plain,
            Err(error) => {
                let path = self.ntuple.slot_path(slot.slot);
                let afresh = self.ntuple.file().stack().afresh();
                let elsewhere = Elsewhere { unverified: None, afresh, path: &path };
                let (mut decompressor, mut unpacked) = (Decompressor::default(), Vec::new());
                let opened = open_elsewhere(&needed.page, &elsewhere, error, &mut decompressor, &mut unpacked);
                again = opened.map_err(in_slot)?;
                &again
            }
        };
        let all = needed.page.elements();
        let local = |element: u64| usize::try_from(element - all.start).unwrap_or(usize::MAX);
        let has_switches = matches!(slot.kind, SlotKind::Switches { .. });
        match encoding {
            _ if has_switches => {}
            Encoding::Index { width, is_delta } => {
                index_values(plain, page.n_elements as usize, width, is_delta, words, values);
            }
            _ => return Err(in_page(format::Error::corrupt(0, "lists without ends"))),
        }
        for &(_, index) in needed.touched {
            let wanted = found.wanted[index];
            let shared = wanted.start.max(all.start)..wanted.end.min(all.end);
            if has_switches {
                let part = switches(plain, &(local(shared.start)..local(shared.end))).map_err(in_page)?;
                found.switches.entry(index).or_default().add(&part);
                continue;
            }
            let part = values.get(local(shared.start)..local(shared.end)).ok_or_else(missing)?;
            let start = found.starts[index] + usize::try_from(shared.start - wanted.start).unwrap_or(usize::MAX);
            found.values[start..start + part.len()].copy_from_slice(part);
        }
        Ok(())
    }
}
