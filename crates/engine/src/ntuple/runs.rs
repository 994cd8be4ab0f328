//! Which elements of which clusters a batch has, in each domain.
//!
//! A domain is what is counted together: the entries, or the items of all lists of one collection. A run is a stretch of
//! items of one cluster. Runs of entries follow from the request; those of items from the ends of lists. Where a run is a
//! whole cluster, metadata tell how many items it has; for others the pages with the ends around it are looked into.

use std::collections::HashMap;
use std::ops::Range;

use arrowroot_file::{Error, Result};

use super::Ntuple;
use super::clusters::Cluster;
use super::look_up::{LookUp, LookedUp, PageId, Query};
use super::plan::PlannedSlot;
use crate::scan::BatchEntries;

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
    /// Ends of all lists of the batch, counted in the batch, by place of their slot: those that were looked up for the
    /// runs, so that their pages are not read again.
    pub(crate) ends: HashMap<usize, Vec<i32>>,
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
    /// The domain around and the items for each of its own, if these follow without any slot: of optional values that are
    /// all there.
    pub(crate) each: Option<(usize, u64)>,
    /// Lists around.
    pub(crate) depth: usize,
}

/// Runs of entries.
pub(super) fn entry_runs(entries: &BatchEntries, clusters: &[Cluster]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut dest = 0;
    let mut add = |range: Range<u64>| {
        let mut index = clusters.partition_point(|cluster| cluster.first_entry + cluster.n_entries <= range.start);
        let mut next = range.start;
        while next < range.end
            && let Some(cluster) = clusters.get(index)
        {
            let end = range.end.min(cluster.first_entry + cluster.n_entries);
            let len = end.saturating_sub(next);
            if len > 0 {
                let start = next - cluster.first_entry;
                runs.push(Run { cluster: u32::try_from(index).unwrap_or(u32::MAX), start, len, dest });
                dest += len;
                next = end;
            }
            index += 1;
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
    pub(super) clusters: &'a [Cluster],
    pub(super) slots: &'a [PlannedSlot],
    pub(super) domains: &'a [PlannedDomain],
    pub(super) look_up: LookUp<'a>,
    /// Bytes that the ends of lists may take that are kept for the batches.
    pub(super) max_kept_bytes: u64,
}

/// What the runs of a domain follow from, in one batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// The ends of all its lists, which are kept.
    AllEnds,
    /// The ends around its runs.
    EndsAround,
    /// The tags of variants.
    Tags,
}

impl Finder<'_> {
    /// Fills in the domains below the entries, level by level; each level is looked up for all batches at once.
    ///
    /// `are_lists`: for each batch whether it is made of picked entries. Returns the pages that were looked into and that
    /// no batch will read again.
    pub(super) fn fill(&self, batches: &mut [BatchRuns], are_lists: &[bool]) -> Result<Vec<PageId>> {
        let deepest = self.domains.iter().map(|domain| domain.depth).max().unwrap_or(0);
        let mut left_bytes = self.max_kept_bytes;
        let mut pages = Vec::new();
        for depth in 1..=deepest {
            let level: Vec<usize> =
                (0..self.domains.len()).filter(|&index| self.domains[index].depth == depth).collect();
            let mut wanted = Vec::new();
            let mut all_evidence = Vec::with_capacity(level.len() * batches.len());
            for &index in &level {
                for (batch, is_list) in batches.iter().zip(are_lists) {
                    let evidence = self.evidence(index, batch, *is_list, &mut left_bytes)?;
                    all_evidence.push(evidence);
                    self.each_run(index, batch, |slot, run, elements| {
                        if !elements.is_empty() && self.n_items_of_whole(index, run, &elements)?.is_none() {
                            wanted.extend(around(evidence, slot, run.cluster, &elements).into_iter().flatten());
                        }
                        Ok(())
                    })?;
                }
            }
            let (found, looked_into) = self.look_up.find(wanted)?;
            let mut all_evidence = all_evidence.into_iter();
            let mut read_again = Vec::new();
            for &index in &level {
                let mut next = 0;
                for batch in batches.iter_mut() {
                    let evidence = all_evidence.next().unwrap_or(Evidence::EndsAround);
                    if let (None, Some((around, factor))) = (self.domains[index].by, self.domains[index].each) {
                        let around = batch.domains[around].iter().map(|run| self.multiplied(run, factor));
                        batch.domains[index] = around.collect::<Result<_>>()?;
                        continue;
                    }
                    let (runs, ends) = self.runs(index, batch, evidence, &found, &mut next)?;
                    if let (Evidence::AllEnds, Some((slot, _))) = (evidence, self.domains[index].by) {
                        batch.ends.insert(slot, ends);
                    } else if let (Some((slot, _)), false) = (self.domains[index].by, runs.is_empty()) {
                        read_again.push(slot);
                    }
                    batch.domains[index] = runs;
                }
            }
            pages.extend(looked_into.into_iter().filter(|page| !read_again.contains(&page.slot)));
        }
        Ok(pages)
    }

    /// What is looked up for a batch. Of picked entries the runs are so short that their ends are all ends.
    fn evidence(&self, index: usize, batch: &BatchRuns, is_list: bool, left_bytes: &mut u64) -> Result<Evidence> {
        let Some((slot, tag)) = self.domains[index].by else { return Ok(Evidence::EndsAround) };
        if tag.is_some() {
            return Ok(Evidence::Tags);
        }
        let n_elements = batch.n_items(self.slots[slot].domain).saturating_mul(self.slots[slot].factor);
        // In the batch, and as they are looked up.
        let n_bytes = n_elements.saturating_mul(4 + 8);
        if !is_list || n_bytes > *left_bytes {
            return Ok(Evidence::EndsAround);
        }
        let mut has_whole = false;
        self.each_run(index, batch, |_, run, elements| {
            has_whole |= !elements.is_empty() && self.n_items_of_whole(index, run, &elements)?.is_some();
            Ok(())
        })?;
        if has_whole {
            return Ok(Evidence::EndsAround);
        }
        *left_bytes -= n_bytes;
        Ok(Evidence::AllEnds)
    }

    /// Calls `take` for each run of the domain around, with the elements of the slot that it has.
    fn each_run(
        &self,
        index: usize,
        batch: &BatchRuns,
        mut take: impl FnMut(usize, &Run, Range<u64>) -> Result<()>,
    ) -> Result<()> {
        let Some((slot, _)) = self.domains[index].by else { return Ok(()) };
        let PlannedSlot { domain, factor, .. } = self.slots[slot];
        for run in &batch.domains[domain] {
            let end = (run.start + run.len).checked_mul(factor).ok_or_else(|| self.too_large(slot))?;
            take(slot, run, run.start * factor..end)?;
        }
        Ok(())
    }

    /// So many items for each of a run.
    fn multiplied(&self, run: &Run, factor: u64) -> Result<Run> {
        let times = |n: u64| n.checked_mul(factor);
        match (times(run.start), times(run.len), times(run.dest)) {
            (Some(start), Some(len), Some(dest)) => Ok(Run { cluster: run.cluster, start, len, dest }),
            _ => Err(self.ntuple.corrupt("2^64 optional values or more".to_owned())),
        }
    }

    fn too_large(&self, slot: usize) -> Error {
        self.ntuple.corrupt(format!("2^64 elements or more in {}", self.ntuple.slot_path(self.slots[slot].slot)))
    }

    /// The number of items of a run that is all of its cluster, if metadata tell it.
    fn n_items_of_whole(&self, index: usize, run: &Run, elements: &Range<u64>) -> Result<Option<u64>> {
        let Some((slot, _)) = self.domains[index].by else { return Ok(None) };
        if elements.start > 0 || elements.end != self.slots[slot].n_elements(run.cluster as usize) {
            return Ok(None);
        }
        let Some((id, witness)) = self.ntuple.witness_of(self.domains[index].domain) else { return Ok(None) };
        let n_elements = self.ntuple.slot_pages(&self.clusters[run.cluster as usize], id)?.n_elements;
        if n_elements % witness.factor != 0 {
            let what = format!("{n_elements} elements of {} for each item", witness.factor);
            return Err(self.ntuple.corrupt(what));
        }
        Ok(Some(n_elements / witness.factor))
    }

    /// The runs of a domain in a batch, and with [`Evidence::AllEnds`] the ends of all its lists. `next` is for [`LookedUp`].
    fn runs(
        &self,
        index: usize,
        batch: &BatchRuns,
        evidence: Evidence,
        found: &LookedUp,
        next: &mut usize,
    ) -> Result<(Vec<Run>, Vec<i32>)> {
        let (mut runs, mut ends) = (Vec::new(), Vec::new());
        let mut dest = 0_u64;
        let tag = self.domains[index].by.and_then(|(_, tag)| tag);
        self.each_run(index, batch, |slot, run, elements| {
            let path = || self.ntuple.slot_path(self.slots[slot].slot);
            let backwards = || self.ntuple.corrupt(format!("lists of {} that run backwards", path()));
            let mut values = |[before, within]: [Option<Query>; 2]| {
                let before = before.and_then(|wanted| found.values(&wanted, next).last().copied());
                (before, within.map_or(&[][..], |wanted| found.values(&wanted, next)))
            };
            let looked_up = around(evidence, slot, run.cluster, &elements);
            let items = match (self.n_items_of_whole(index, run, &elements)?, tag) {
                _ if elements.is_empty() => 0..0,
                (Some(n_items), _) => 0..n_items,
                (None, Some(tag)) => {
                    let stretch = looked_up[1].and_then(|wanted| found.switches(&wanted));
                    stretch.and_then(|stretch| stretch.items(tag)).unwrap_or(0..0)
                }
                (None, None) => {
                    let (before, within) = values(looked_up);
                    let start = before.unwrap_or(0);
                    if evidence == Evidence::AllEnds {
                        let mut last = start;
                        for &end in within {
                            let offset = end.checked_sub(start).and_then(|n_items| dest.checked_add(n_items));
                            let offset = offset.filter(|_| end >= last).ok_or_else(backwards)?;
                            ends.push(i32::try_from(offset).map_err(|_| Error::BatchTooLong)?);
                            last = end;
                        }
                    }
                    start..within.last().copied().unwrap_or(0)
                }
            };
            let len = items.end.checked_sub(items.start).filter(|len| dest.checked_add(*len).is_some());
            let len = len.ok_or_else(backwards)?;
            runs.push(Run { cluster: run.cluster, start: items.start, len, dest });
            dest += len;
            Ok(())
        })?;
        Ok((runs, ends))
    }
}

/// What has to be looked up for a run: the end before it, and what lies within it.
fn around(evidence: Evidence, slot: usize, cluster: u32, elements: &Range<u64>) -> [Option<Query>; 2] {
    let wanted = |start: u64, end: u64| (start < end).then_some(Query { slot, cluster, start, end });
    match evidence {
        Evidence::Tags => [None, wanted(elements.start, elements.end)],
        Evidence::AllEnds | Evidence::EndsAround => {
            let start = if evidence == Evidence::AllEnds { elements.start } else { elements.end.saturating_sub(1) };
            [wanted(elements.start.saturating_sub(1), elements.start), wanted(start, elements.end)]
        }
    }
}
