//! Which elements of which clusters a batch has, in each domain.
//!
//! A domain is what is counted together: the entries, or the items of all lists of one collection. A run is a stretch of
//! items of one cluster. Runs of entries follow from the request; those of items from the ends of lists. Where a run is a
//! whole cluster, metadata tell how many items it has; for others the pages with the ends around it are read here.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use arrowroot_format as format;
use arrowroot_storage::{Part, Source, coalesce, limits_for};
use format::codec::Decompressor;
use format::rntuple::{Encoding, Page};

use super::Ntuple;
use super::clusters::{Cluster, SlotPages};
use super::page::{Checksum, Switches, index_values, open_page, switches};
use super::plan::{PlannedSlot, SlotKind};
use crate::error::{Error, Result};
use crate::fetch::read_parts;
use crate::file::format_error;
use crate::plan::BatchEntries;

/// Bytes of pages that are read at a time to find where lists begin.
const LOOK_UP_BYTES: u64 = 16 << 20;

/// Consecutive items of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// Place of the cluster in the plan.
    pub(crate) cluster: u32,
    /// First item, counted in the cluster.
    pub(crate) start: u64,
    /// Number of items.
    pub(crate) len: u64,
    /// Items of the batch before it.
    pub(crate) dest: u64,
}

/// The runs of a batch by domain; the same number in each, one follows from the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct BatchRuns {
    pub(crate) domains: Vec<Vec<Run>>,
}

impl BatchRuns {
    /// Number of items of a domain in the batch.
    pub(crate) fn n_items(&self, domain: usize) -> u64 {
        self.domains[domain].last().map_or(0, |run| run.dest + run.len)
    }
}

/// A domain that a plan needs.
#[derive(Debug, Clone)]
pub(crate) struct PlannedDomain {
    /// The same of the schema.
    pub(crate) domain: usize,
    /// Place of the slot that says where items begin, and its tag if it is that of a variant. `None`: entries.
    pub(crate) by: Option<(usize, Option<u32>)>,
    /// Lists around.
    pub(crate) depth: usize,
}

/// Runs of entries.
pub(super) fn entry_runs(entries: &BatchEntries, clusters: &[Cluster]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut dest = 0;
    let mut add = |range: Range<u64>| {
        let mut place = clusters.partition_point(|cluster| cluster.first_entry + cluster.n_entries <= range.start);
        let mut next = range.start;
        while next < range.end
            && let Some(cluster) = clusters.get(place)
        {
            let end = range.end.min(cluster.first_entry + cluster.n_entries);
            let len = end.saturating_sub(next);
            if len > 0 {
                let start = next - cluster.first_entry;
                runs.push(Run { cluster: u32::try_from(place).unwrap_or(u32::MAX), start, len, dest });
                dest += len;
                next = end;
            }
            place += 1;
        }
    };
    match entries {
        BatchEntries::Range(range) => add(range.clone()),
        BatchEntries::List { sorted, .. } => {
            sorted.chunk_by(|one, next| one + 1 == *next).for_each(|run| add(run[0]..run[run.len() - 1] + 1));
        }
    }
    runs
}

/// Finds runs of items.
pub(super) struct Finder<'a> {
    pub(super) ntuple: &'a Ntuple,
    pub(super) source: &'a dyn Source,
    pub(super) clusters: &'a [Cluster],
    pub(super) slots: &'a [PlannedSlot],
    pub(super) domains: &'a [PlannedDomain],
    /// Whether checksums of pages are compared.
    pub(super) verifies: bool,
}

/// An end of a list that has to be looked up: slot, cluster, element.
type Wanted = (usize, u32, u64);

/// What was looked up: ends, and for variants the first item and number of items of each alternative in a stretch.
#[derive(Default)]
struct Found {
    ends: HashMap<Wanted, u64>,
    switches: HashMap<(usize, u32, u64, u64), Switches>,
}

impl Finder<'_> {
    /// Fills in the domains below the entries, level by level; each level is looked up for all batches at once.
    pub(super) fn fill(&self, batches: &mut [BatchRuns]) -> Result<()> {
        let deepest = self.domains.iter().map(|domain| domain.depth).max().unwrap_or(0);
        for depth in 1..=deepest {
            let level: Vec<usize> =
                (0..self.domains.len()).filter(|&place| self.domains[place].depth == depth).collect();
            let mut wanted = BTreeSet::new();
            let mut stretches = BTreeSet::new();
            for &place in &level {
                for batch in batches.iter() {
                    self.each_run(place, batch, |slot, run, elements| {
                        if elements.is_empty() || self.is_whole(place, run, &elements)?.is_some() {
                            return Ok(());
                        }
                        if self.domains[place].by.is_some_and(|(_, tag)| tag.is_some()) {
                            stretches.insert((slot, run.cluster, elements.start, elements.end));
                            return Ok(());
                        }
                        if elements.start > 0 {
                            wanted.insert((slot, run.cluster, elements.start - 1));
                        }
                        wanted.insert((slot, run.cluster, elements.end - 1));
                        Ok(())
                    })?;
                }
            }
            let found = self.look_up(&wanted, &stretches)?;
            for &place in &level {
                for batch in batches.iter_mut() {
                    let runs = self.runs(place, batch, &found)?;
                    batch.domains[place] = runs;
                }
            }
        }
        Ok(())
    }

    /// Calls `take` for each run of the domain around, with the elements of the slot that it has.
    fn each_run(
        &self,
        place: usize,
        batch: &BatchRuns,
        mut take: impl FnMut(usize, &Run, Range<u64>) -> Result<()>,
    ) -> Result<()> {
        let Some((slot, _)) = self.domains[place].by else { return Ok(()) };
        let PlannedSlot { domain, factor, .. } = self.slots[slot];
        for run in &batch.domains[domain] {
            let end = (run.start + run.len).checked_mul(factor).ok_or_else(|| self.too_large(slot))?;
            take(slot, run, run.start * factor..end)?;
        }
        Ok(())
    }

    fn too_large(&self, slot: usize) -> Error {
        self.ntuple.corrupt(format!("2^64 elements or more in {}", self.ntuple.slot_path(self.slots[slot].slot)))
    }

    /// The number of items of a run that is all of its cluster, if metadata tell it.
    fn is_whole(&self, place: usize, run: &Run, elements: &Range<u64>) -> Result<Option<u64>> {
        let Some((slot, _)) = self.domains[place].by else { return Ok(None) };
        let cluster = &self.clusters[run.cluster as usize];
        let all = self.ntuple.slot_pages(cluster, self.slots[slot].slot)?.n_elements;
        if elements.start > 0 || elements.end != all {
            return Ok(None);
        }
        let Some((id, witness)) = self.ntuple.witness_of(self.domains[place].domain) else { return Ok(None) };
        let n_elements = self.ntuple.slot_pages(cluster, id)?.n_elements;
        if n_elements % witness.factor != 0 {
            let what = format!("{n_elements} elements of {} for each item", witness.factor);
            return Err(self.ntuple.corrupt(what));
        }
        Ok(Some(n_elements / witness.factor))
    }

    fn runs(&self, place: usize, batch: &BatchRuns, found: &Found) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        let mut dest = 0_u64;
        let tag = self.domains[place].by.and_then(|(_, tag)| tag);
        self.each_run(place, batch, |slot, run, elements| {
            let items = match (self.is_whole(place, run, &elements)?, tag) {
                _ if elements.is_empty() => 0..0,
                (Some(n_items), _) => 0..n_items,
                (None, Some(tag)) => {
                    let stretch = found.switches.get(&(slot, run.cluster, elements.start, elements.end));
                    stretch.and_then(|stretch| stretch.items(tag)).unwrap_or(0..0)
                }
                (None, None) => {
                    let end = |element: u64| found.ends.get(&(slot, run.cluster, element)).copied().unwrap_or(0);
                    let start = elements.start.checked_sub(1).map_or(0, end);
                    start..end(elements.end - 1)
                }
            };
            let len = items.end.checked_sub(items.start).filter(|len| dest.checked_add(*len).is_some());
            let len = len.ok_or_else(|| {
                let path = self.ntuple.slot_path(self.slots[slot].slot);
                self.ntuple.corrupt(format!("lists of {path} that run backwards"))
            })?;
            runs.push(Run { cluster: run.cluster, start: items.start, len, dest });
            dest += len;
            Ok(())
        })?;
        Ok(runs)
    }

    /// Reads the pages that hold some ends and switches.
    fn look_up(&self, wanted: &BTreeSet<Wanted>, stretches: &BTreeSet<(usize, u32, u64, u64)>) -> Result<Found> {
        let mut found = Found::default();
        // Pages by place in the file, each with the elements that are wanted of it.
        let mut pages: Vec<Needed> = Vec::new();
        for &(slot, cluster, element) in wanted {
            let elements = element..element + 1;
            match pages.last_mut() {
                Some(last) if last.slot == slot && last.cluster == cluster && last.elements.contains(&element) => {
                    last.wanted.push(elements);
                }
                _ => self.add_pages(slot, cluster, elements, &mut pages)?,
            }
            // Zeros before a column that was added later: no lists.
            found.ends.insert((slot, cluster, element), 0);
        }
        for &(slot, cluster, start, end) in stretches {
            self.add_pages(slot, cluster, start..end, &mut pages)?;
        }
        let mut decompressor = Decompressor::new();
        let mut rest = pages.as_slice();
        while !rest.is_empty() {
            let mut n_bytes = 0_u64;
            let n_pages = rest
                .iter()
                .take_while(|needed| {
                    let is_first = n_bytes == 0;
                    n_bytes = n_bytes.saturating_add(needed.page.stored_bytes).max(1);
                    is_first || n_bytes <= LOOK_UP_BYTES
                })
                .count();
            let (now, later) = rest.split_at(n_pages);
            rest = later;
            for (needed, stored) in now.iter().zip(self.read(now)?) {
                self.take(needed, &stored, &mut decompressor, stretches, &mut found)?;
            }
        }
        Ok(found)
    }

    fn add_pages(&self, slot: usize, cluster: u32, elements: Range<u64>, pages: &mut Vec<Needed>) -> Result<()> {
        let SlotPages { column_type, pages: all, n_gap, n_elements } =
            self.ntuple.slot_pages(&self.clusters[cluster as usize], self.slots[slot].slot)?;
        if elements.end > n_elements {
            let path = self.ntuple.slot_path(self.slots[slot].slot);
            return Err(self.ntuple.corrupt(format!("{n_elements} elements of {path}, {} are needed", elements.end)));
        }
        let mut first = n_gap;
        for page in all {
            let end = first + u64::from(page.n_elements);
            let shared = first.max(elements.start)..end.min(elements.end);
            if !shared.is_empty()
                && let Some(encoding) = column_type.encoding
            {
                let at_slot = |error| format_error(self.source, &self.ntuple.slot_path(self.slots[slot].slot), error);
                page.check_place().map_err(at_slot)?;
                pages.push(Needed {
                    slot,
                    cluster,
                    page: *page,
                    page_bytes: column_type.page_bytes(u64::from(page.n_elements)).unwrap_or(usize::MAX),
                    encoding,
                    elements: first..end,
                    wanted: vec![shared],
                });
            }
            first = end;
        }
        Ok(())
    }

    /// The bytes of some pages, with their checksums.
    fn read(&self, pages: &[Needed]) -> Result<Vec<Vec<u8>>> {
        let size_bytes = self.source.size_bytes();
        let mut ranges = Vec::with_capacity(pages.len());
        for needed in pages {
            let range = needed.range();
            if range.end > size_bytes {
                let what = format!("a page of bytes {} to {} in a file of {size_bytes}", range.start, range.end);
                return Err(self.ntuple.corrupt(what));
            }
            ranges.push(range);
        }
        let limits = limits_for(self.source.nature(), &ranges);
        let spans = coalesce(&ranges, limits);
        let length = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut buffers: Vec<Vec<u8>> = spans.iter().map(|span| vec![0; length(&span.range)]).collect();
        let mut parts: Vec<Part<'_>> =
            spans.iter().zip(&mut buffers).map(|(span, buffer)| Part { offset: span.range.start, buffer }).collect();
        read_parts(self.source, &mut parts)?;
        let mut stored = vec![Vec::new(); pages.len()];
        for (span, buffer) in spans.iter().zip(&buffers) {
            for &member in &span.members {
                let start = usize::try_from(ranges[member].start - span.range.start).unwrap_or(usize::MAX);
                stored[member] = buffer[start..start + length(&ranges[member])].to_vec();
            }
        }
        Ok(stored)
    }

    fn take(
        &self,
        needed: &Needed,
        stored: &[u8],
        decompressor: &mut Decompressor,
        stretches: &BTreeSet<(usize, u32, u64, u64)>,
        found: &mut Found,
    ) -> Result<()> {
        let slot = &self.slots[needed.slot];
        let in_page = |error: format::Error| {
            format_error(self.source, &self.ntuple.slot_path(slot.slot), error.at(needed.page.offset))
        };
        let mut unpacked = Vec::new();
        let checksum = Checksum::of(&needed.page, self.verifies);
        let page = open_page(stored, checksum, needed.page_bytes, decompressor, &mut unpacked).map_err(in_page)?;
        let n_elements = needed.page.n_elements as usize;
        let local = |element: u64| usize::try_from(element - needed.elements.start).unwrap_or(usize::MAX);
        if matches!(slot.kind, SlotKind::Switches { .. }) {
            for wanted in &needed.wanted {
                let part = switches(page, &(local(wanted.start)..local(wanted.end))).map_err(in_page)?;
                let holding = stretches
                    .range((needed.slot, needed.cluster, 0, 0)..=(needed.slot, needed.cluster, u64::MAX, u64::MAX))
                    .filter(|(.., start, end)| *start <= wanted.start && wanted.end <= *end);
                for stretch in holding {
                    found.switches.entry(*stretch).or_default().add(&part);
                }
            }
            return Ok(());
        }
        let Encoding::Index { width, is_delta } = needed.encoding else {
            return Err(in_page(format::Error::corrupt(0, "lists without ends")));
        };
        let mut values = Vec::new();
        index_values(page, n_elements, width, is_delta, &mut Vec::new(), &mut values);
        for element in needed.wanted.iter().flat_map(Clone::clone) {
            let value = values.get(local(element)).copied();
            let value =
                value.ok_or_else(|| in_page(format::Error::truncated(0, "a page without some of its elements")))?;
            found.ends.insert((needed.slot, needed.cluster, element), value);
        }
        Ok(())
    }
}

/// A page that is looked into.
struct Needed {
    slot: usize,
    cluster: u32,
    page: Page,
    page_bytes: usize,
    encoding: Encoding,
    /// Those that it holds.
    elements: Range<u64>,
    wanted: Vec<Range<u64>>,
}

impl Needed {
    fn range(&self) -> Range<u64> {
        let n_bytes = super::page::bytes_to_read(&self.page);
        self.page.offset..self.page.offset.saturating_add(n_bytes)
    }
}
