//! The read plan of an RNTuple: slots, their pages, and which of these a batch needs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{Field, Schema as ArrowSchema};
use arrowroot_file::{Result, format_error};
use arrowroot_format as format;
use arrowroot_storage::{ReadStyle, Source};
use format::Place;
use format::rntuple::{Encoding, MAX_UNWITNESSED, Page, Shape, SlotId, Witness, unwitnessed};
use format::streamer::Primitive;

use super::clusters::Cluster;
use super::look_up::{LookUp, PageId};
use super::page::{Checksum, bytes_to_read};
use super::runs::{BatchRuns, Finder, PlannedDomain, entry_runs};
use super::{Ntuple, types};
use crate::scan::{
    BatchEntries, BatchSize, Density, Draft, Entries, KeptSizes, MAX_RATIO, Order, Piece, PieceBound, Plan,
    PlannedColumn, PlannedPiece, Request, cut_list, cut_range,
};
use crate::table::Table;

/// What a plan of an RNTuple has besides windows and spans.
pub(crate) struct NtuplePlan {
    pub(crate) ntuple: Ntuple,
    /// What is delivered.
    pub(crate) shapes: Vec<Shape>,
    /// In the order of [`Plan::columns`].
    pub(crate) slots: Vec<PlannedSlot>,
    by_slot: HashMap<SlotKey, usize>,
    /// In the order of [`Plan::batches`].
    pub(crate) runs: Vec<BatchRuns>,
    /// Pages that were looked into for the plan, and that no batch reads again.
    pub(crate) looked_into: Vec<PageId>,
}

/// A slot, and the number that comes out of it; `None` for one that says where items are.
type SlotKey = (SlotId, Option<Primitive>);

/// A column that is read.
#[derive(Debug)]
pub(crate) struct PlannedSlot {
    pub(crate) slot: SlotId,
    pub(crate) kind: SlotKind,
    /// Place of its domain in the plan.
    pub(crate) domain: usize,
    /// Elements for each item of the domain.
    pub(crate) factor: u64,
    /// The pages of all clusters, in the order of their elements.
    pub(crate) pages: Vec<PlannedPage>,
    /// Where those of each cluster begin, and their end.
    pub(crate) cluster_pages: Vec<usize>,
    /// Zeros before the first page of each cluster.
    pub(crate) gaps: Vec<u64>,
}

/// What a slot is in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// Numbers.
    Numbers(Primitive),
    /// Bools.
    Bits,
    /// Ends of lists, and the domain of their items.
    Ends { items: usize },
    /// Tags of variants, and the domains of their alternatives.
    Switches { alternatives: Vec<usize> },
}

/// A page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedPage {
    pub(crate) page: Page,
    /// Its first element, counted in the cluster.
    pub(crate) first: u64,
    pub(crate) encoding: Encoding,
    /// Uncompressed.
    pub(crate) n_bytes: usize,
    pub(crate) checksum: Checksum,
}

impl PlannedPage {
    pub(crate) fn elements(&self) -> Range<u64> {
        self.first..self.first + u64::from(self.page.n_elements)
    }

    /// Whether nothing vouches for its bytes: it is not compressed, and no checksum is compared.
    pub(crate) fn is_unverified(&self) -> bool {
        self.n_bytes as u64 <= self.page.stored_bytes && self.checksum != Checksum::Compared
    }

    /// Where the elements begin once uncompressed, for errors.
    pub(crate) fn elements_place(&self) -> Place {
        if self.n_bytes as u64 > self.page.stored_bytes {
            Place::Payload { offset: 0, of: "page", at: self.page.offset }
        } else {
            Place::File(self.page.offset)
        }
    }
}

impl NtuplePlan {
    /// The place of a slot of numbers, or of ends; `None` for those of optional values that are all there.
    pub(crate) fn place_of(&self, slot: SlotId, primitive: Option<Primitive>) -> Option<usize> {
        self.by_slot.get(&(slot, primitive)).copied()
    }
}

/// Plans a request. The pages with the ends of lists at cuts inside clusters are read from `source`.
pub(crate) fn plan(
    ntuple: &Ntuple,
    request: &Request,
    style: &ReadStyle,
    source: &dyn Source,
) -> Result<(Plan, NtuplePlan)> {
    let n_entries = ntuple.n_entries();
    let span = request.entries.span(n_entries, "an RNTuple")?;
    let members = &request.columns;
    let mut shapes = Vec::with_capacity(members.len());
    let mut fields: Vec<Field> = Vec::with_capacity(members.len());
    let clusters = ntuple.clusters_of(&span)?;
    let mut collecting = Collecting::new(ntuple, &clusters);
    for (id, name) in members {
        let shape = ntuple.shape(*id)?;
        fields.push(types::arrow_field(name, &shape, request.text));
        collecting.shape(&shape, 0, 1)?;
        shapes.push(shape);
    }
    let Collecting { mut slots, by_slot, domains, .. } = collecting;
    let mut zeros = Zeros { n_elements: 0, witnesses: vec![None; clusters.len()] };
    let mut columns = Vec::with_capacity(slots.len());
    for slot in &mut slots {
        columns.push(Arc::new(add_pages(ntuple, source, &clusters, slot, &mut zeros, request.verify_checksums)?));
    }
    let size = BatchSize::of(request, || density(&slots, &clusters, n_entries));
    let boundaries = || -> Vec<u64> {
        clusters
            .iter()
            .map(|cluster| cluster.first_entry)
            .chain(clusters.last().map(|last| last.first_entry + last.n_entries))
            .collect()
    };
    let batches = match &request.entries {
        Entries::Range(range) => cut_range(range, size.as_ref(), boundaries)?,
        Entries::List(list) => cut_list(list, size.as_ref()),
    };
    let mut runs: Vec<BatchRuns> = batches
        .iter()
        .map(|entries| {
            let mut all = vec![Vec::new(); domains.len()];
            all[0] = entry_runs(entries, &clusters);
            BatchRuns { domains: all, ends: HashMap::new() }
        })
        .collect();
    let look_up = LookUp { ntuple, source, slots: &slots };
    let share = if request.batch_bytes.is_some() { 4 } else { 1 };
    let max_kept_bytes = request.moving_budget_bytes() / share;
    let finder = Finder { ntuple, clusters: &clusters, slots: &slots, domains: &domains, look_up, max_kept_bytes };
    let are_lists: Vec<bool> = batches.iter().map(|entries| matches!(entries, BatchEntries::List { .. })).collect();
    let looked_into = finder.fill(&mut runs, &are_lists)?;
    let mut bound = PieceBound::of(&columns);
    let mut needed = Vec::with_capacity(batches.len());
    for (index, entries) in batches.iter().enumerate() {
        let goes_on = match (request.order, batches.get(index + 1)) {
            (Order::Entry, Some(following)) => entries.is_before(following),
            _ => matches!(entries, BatchEntries::Range(_)),
        };
        let next = runs.get(index + 1).filter(|_| goes_on);
        let mut pages = pages_of_batch(ntuple, &slots, &runs[index], next)?;
        match request.order {
            Order::Cluster => pages.sort_by_key(|page| {
                let location = &columns[page.column as usize].pieces[page.piece as usize];
                (slots_cluster(&slots, page), location.offset, page.column)
            }),
            Order::Entry => {
                let needed_at = entries_of_need(&slots, &clusters, &runs[index])?;
                pages.sort_by_key(|page| (needed_at.get(&page.key()).copied().unwrap_or(0), page.column));
            }
        }
        bound.add(pages.len())?;
        needed.push(pages);
    }
    let draft =
        Draft { columns, schema: ArrowSchema::new(fields).into(), batches, pieces: needed, clusters: boundaries() };
    let mut plan = draft.plan(request, style, source.access_profile().is_remote, |page| kept_sizes(&slots, page));
    plan.n_looked_into = looked_into.len() as u64;
    Ok((plan, NtuplePlan { ntuple: ntuple.clone(), shapes, slots, by_slot, runs, looked_into }))
}

/// Finds the slots and domains that shapes need.
struct Collecting<'n> {
    ntuple: &'n Ntuple,
    clusters: &'n [Cluster],
    slots: Vec<PlannedSlot>,
    by_slot: HashMap<SlotKey, usize>,
    domains: Vec<PlannedDomain>,
    /// Places of those, by number in the schema.
    by_domain: HashMap<usize, usize>,
}

impl<'n> Collecting<'n> {
    fn new(ntuple: &'n Ntuple, clusters: &'n [Cluster]) -> Self {
        Collecting {
            ntuple,
            clusters,
            slots: Vec::new(),
            by_slot: HashMap::new(),
            domains: vec![PlannedDomain { domain: 0, by: None, each: None, depth: 0 }],
            by_domain: HashMap::from([(0, 0)]),
        }
    }

    /// Adds a slot of which each item of `domain` has `factor` elements.
    fn slot(&mut self, id: SlotId, kind: SlotKind, domain: usize, factor: u64) -> Result<usize> {
        let primitive = match &kind {
            SlotKind::Numbers(primitive) => Some(*primitive),
            SlotKind::Bits => Some(Primitive::Bool),
            SlotKind::Ends { .. } | SlotKind::Switches { .. } => None,
        };
        self.check(id, domain, factor)?;
        if let Some(&index) = self.by_slot.get(&(id, primitive)) {
            return Ok(index);
        }
        let index = self.slots.len();
        let (pages, cluster_pages, gaps) = (Vec::new(), Vec::new(), Vec::new());
        self.slots.push(PlannedSlot { slot: id, kind, domain, factor, pages, cluster_pages, gaps });
        self.by_slot.insert((id, primitive), index);
        Ok(index)
    }

    /// That each item of a domain has `factor` elements of a slot.
    fn check(&self, id: SlotId, domain: usize, factor: u64) -> Result<()> {
        let slot = self.ntuple.slots().slot(id);
        if slot.domain != self.domains[domain].domain || slot.factor != factor {
            let what = format!("a field shows {}, which is in other lists", self.ntuple.slot_path(id));
            return Err(self.ntuple.corrupt(what));
        }
        Ok(())
    }

    fn domain(&mut self, by: SlotId, tag: Option<u32>, around: usize) -> Result<usize> {
        let number = self.ntuple.slots().domain_of(by, tag);
        let number = number.ok_or_else(|| self.ntuple.corrupt("lists without items".to_owned()))?;
        if let Some(&place) = self.by_domain.get(&number) {
            return Ok(place);
        }
        let depth = self.domains[around].depth + 1;
        self.by_domain.insert(number, self.domains.len());
        self.domains.push(PlannedDomain { domain: number, by: None, each: None, depth });
        Ok(self.domains.len() - 1)
    }

    fn ends(&mut self, ends: SlotId, domain: usize, factor: u64) -> Result<usize> {
        let items = self.domain(ends, None, domain)?;
        let slot = self.slot(ends, SlotKind::Ends { items }, domain, factor)?;
        self.domains[items].by = Some((slot, None));
        Ok(items)
    }

    fn shape(&mut self, shape: &Shape, domain: usize, factor: u64) -> Result<()> {
        match shape {
            Shape::Number { slot, primitive: Primitive::Bool } => {
                self.slot(*slot, SlotKind::Bits, domain, factor).map(drop)
            }
            Shape::Number { slot, primitive } => {
                self.slot(*slot, SlotKind::Numbers(*primitive), domain, factor).map(drop)
            }
            Shape::Text { ends, bytes } | Shape::Streamed { ends, bytes, .. } => {
                let items = self.ends(*ends, domain, factor)?;
                self.slot(*bytes, SlotKind::Numbers(Primitive::UInt8), items, 1).map(drop)
            }
            Shape::Optional { ends, item } if self.ntuple.are_all_there(*ends, self.clusters) => {
                // Nobody needs to read that each has one.
                self.check(*ends, domain, factor)?;
                let items = self.domain(*ends, None, domain)?;
                self.domains[items].each = Some((domain, factor));
                self.shape(item, items, 1)
            }
            Shape::List { ends, item } | Shape::Optional { ends, item } => {
                let items = self.ends(*ends, domain, factor)?;
                self.shape(item, items, 1)
            }
            Shape::Map { ends, key, value } => {
                let items = self.ends(*ends, domain, factor)?;
                self.shape(key, items, 1)?;
                self.shape(value, items, 1)
            }
            Shape::FixedList { item, n_items } => self.shape(item, domain, factor.saturating_mul(u64::from(*n_items))),
            Shape::Struct { members } => members.iter().try_for_each(|(_, member)| self.shape(member, domain, factor)),
            Shape::Variant { switch, alternatives } => {
                let mut domains = Vec::with_capacity(alternatives.len());
                for (tag, _) in (1..).zip(alternatives) {
                    domains.push(self.domain(*switch, Some(tag), domain)?);
                }
                let kind = SlotKind::Switches { alternatives: domains.clone() };
                let slot = self.slot(*switch, kind, domain, factor)?;
                for ((tag, alternative), items) in (1..).zip(alternatives).zip(domains) {
                    self.domains[items].by = Some((slot, Some(tag)));
                    self.shape(alternative, items, 1)?;
                }
                Ok(())
            }
            Shape::Cardinality { ends, .. } => self.ends(*ends, domain, factor).map(drop),
        }
    }
}

/// Zeros of columns that were added later, over all slots and clusters of a plan.
struct Zeros {
    /// Those that nothing vouches for, or that were not many when they were added.
    n_elements: u64,
    /// For each cluster what vouches for more, once that is known.
    witnesses: Vec<Option<Witness>>,
}

impl Zeros {
    /// Adds those of a slot in a cluster; an error if all together are what no page vouches for.
    fn add(
        &mut self,
        ntuple: &Ntuple,
        (index, cluster): (usize, &Cluster),
        (n_gap, factor): (u64, u64),
    ) -> format::Result<()> {
        let n_elements = self.n_elements.saturating_add(n_gap);
        if n_elements <= MAX_UNWITNESSED {
            self.n_elements = n_elements;
            return Ok(());
        }
        let witness = *self.witnesses[index].get_or_insert_with(|| ntuple.witness(cluster));
        if n_gap <= witness.n_missing(factor) { Ok(()) } else { Err(unwitnessed(n_elements)) }
    }
}

/// Finds the pages of a slot.
fn add_pages(
    ntuple: &Ntuple,
    source: &dyn Source,
    clusters: &[Cluster],
    slot: &mut PlannedSlot,
    zeros: &mut Zeros,
    verifies: bool,
) -> Result<PlannedColumn> {
    let path = ntuple.slot_path(slot.slot);
    let in_slot = |error: format::Error| format_error(source, &path, error);
    let mut locations = Vec::new();
    let (mut stored_bytes, mut memory_bytes) = (0_u64, 0_u64);
    for (index, cluster) in clusters.iter().enumerate() {
        let found = ntuple.slot_pages(cluster, slot.slot)?;
        zeros.add(ntuple, (index, cluster), (found.n_gap, slot.factor)).map_err(in_slot)?;
        slot.cluster_pages.push(slot.pages.len());
        slot.gaps.push(found.n_gap);
        let entry_end = cluster.first_entry + cluster.n_entries;
        let mut first = found.n_gap;
        slot.pages.reserve(found.pages.len());
        locations.reserve(found.pages.len());
        for page in found.pages.iter().filter(|page| page.n_elements > 0) {
            let at = |error: format::Error| in_slot(error.at(page.offset));
            page.check_place().map_err(in_slot)?;
            let column_type = found.column.column_type;
            let encoding = column_type.encoding.ok_or_else(|| {
                at(format::Error::unsupported(0, format!("a page of {}, which is not known", column_type.name())))
            })?;
            let n_bytes = column_type
                .page_bytes(u64::from(page.n_elements))
                .ok_or_else(|| at(format::Error::unsupported(0, format!("a page of {} elements", page.n_elements))))?;
            // Memory is set aside for the elements before the page is read.
            if n_bytes as u64 > page.stored_bytes.saturating_mul(MAX_RATIO) {
                let what = format!("{} bytes for a page of {n_bytes}", page.stored_bytes);
                return Err(at(format::Error::corrupt(0, what)));
            }
            let n_read = bytes_to_read(page);
            let end = first + u64::from(page.n_elements);
            let entries = if slot.domain == 0 {
                let entry = |element: u64| cluster.first_entry + element / slot.factor.max(1);
                entry(first)..entry(end - 1) + 1
            } else {
                cluster.first_entry..entry_end
            };
            locations.push(Piece {
                offset: page.offset,
                stored_bytes: u32::try_from(n_read)
                    .map_err(|_| at(format::Error::unsupported(0, format!("a page of {n_read} bytes"))))?,
                first_entry: entries.start,
                entry_end: entries.end,
                embedded: None,
            });
            let checksum = Checksum::of(page, verifies);
            slot.pages.push(PlannedPage { page: *page, first, encoding, n_bytes, checksum });
            (stored_bytes, memory_bytes) = (stored_bytes + n_read, memory_bytes + n_bytes as u64);
            first = end;
        }
    }
    slot.cluster_pages.push(slot.pages.len());
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let ratio = memory_bytes as f64 / stored_bytes.max(1) as f64;
    Ok(PlannedColumn { path, pieces: locations, ratio })
}

/// Bytes of the entries in memory, cluster by cluster.
fn density(slots: &[PlannedSlot], clusters: &[Cluster], n_entries: u64) -> Density {
    let mut density = Density::new(n_entries, 0.0);
    for (index, cluster) in clusters.iter().enumerate() {
        let in_slot = |slot: &PlannedSlot| {
            let bits = match &slot.kind {
                SlotKind::Numbers(primitive) => primitive.stored_bytes() as u64 * 8,
                SlotKind::Bits => 1,
                SlotKind::Ends { .. } => 32,
                SlotKind::Switches { .. } => 40,
            };
            slot.n_elements(index).saturating_mul(bits) / 8
        };
        let n_bytes = slots.iter().fold(0_u64, |sum, slot| sum.saturating_add(in_slot(slot)));
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        density.add(&(cluster.first_entry..cluster.first_entry.saturating_add(cluster.n_entries)), n_bytes as f64);
    }
    density
}

/// What a page takes if it is kept.
fn kept_sizes(slots: &[PlannedSlot], page: &PlannedPiece) -> KeptSizes {
    let page = &slots[page.column as usize].pages[page.piece as usize];
    KeptSizes { stored_bytes: Some(bytes_to_read(&page.page)), unpacked_bytes: page.n_bytes as u64 }
}

impl PlannedSlot {
    /// Calls `take` with each stretch of elements that runs want: cluster, elements, place of the run.
    pub(crate) fn each_stretch(
        &self,
        runs: &BatchRuns,
        mut take: impl FnMut(usize, Range<u64>, usize) -> Result<()>,
    ) -> Result<()> {
        for (index, run) in runs.domains[self.domain].iter().enumerate().filter(|(_, run)| run.len > 0) {
            let end = (run.start + run.len).saturating_mul(self.factor);
            take(run.cluster as usize, run.start.saturating_mul(self.factor)..end, index)?;
        }
        Ok(())
    }

    /// The pages of a cluster that have any of the elements.
    pub(crate) fn pages_with(&self, cluster: usize, elements: &Range<u64>) -> Range<usize> {
        let all = self.cluster_pages[cluster]..self.cluster_pages[cluster + 1];
        let pages = &self.pages[all.clone()];
        let first = pages.partition_point(|page| page.elements().end <= elements.start);
        let end = pages.partition_point(|page| page.first < elements.end);
        all.start + first..all.start + end.max(first)
    }

    /// Elements of a cluster, zeros before the first page included.
    pub(super) fn n_elements(&self, cluster: usize) -> u64 {
        let pages = &self.pages[self.cluster_pages[cluster]..self.cluster_pages[cluster + 1]];
        pages.last().map_or(self.gaps[cluster], |page| page.elements().end)
    }

    /// The places of the pages that a batch needs, each once and in order.
    fn needed(&self, ntuple: &Ntuple, runs: &BatchRuns) -> Result<Vec<usize>> {
        let mut needed: Vec<usize> = Vec::new();
        self.each_stretch(runs, |cluster, elements, _| {
            let n_elements = self.n_elements(cluster);
            if elements.end > n_elements {
                let path = ntuple.slot_path(self.slot);
                return Err(ntuple.corrupt(format!("{n_elements} elements of {path}, {} are needed", elements.end)));
            }
            let after = needed.last().map_or(0, |last| last + 1);
            let pages = self.pages_with(cluster, &elements);
            needed.extend(pages.start.max(after)..pages.end.max(after));
            Ok(())
        })?;
        Ok(needed)
    }
}

/// The pages that a batch needs, by column and element.
fn pages_of_batch(
    ntuple: &Ntuple,
    slots: &[PlannedSlot],
    runs: &BatchRuns,
    next: Option<&BatchRuns>,
) -> Result<Vec<PlannedPiece>> {
    let mut pages = Vec::new();
    for (index, slot) in slots.iter().enumerate().filter(|(index, _)| !runs.ends.contains_key(index)) {
        let needed = slot.needed(ntuple, runs)?;
        // Batches of ranges go forwards: only the last page can be needed again.
        let again = match next {
            Some(next) => slot.needed(ntuple, next)?.first().copied(),
            None => None,
        };
        for page in needed {
            pages.push(PlannedPiece::new(index, page, again == Some(page)));
        }
    }
    Ok(pages)
}

/// The first entry of a batch that needs each page. Items of lists are spread evenly over the entries of their run: a run of
/// one entry is exact, and which of many has an item would take the ends of all lists.
fn entries_of_need(slots: &[PlannedSlot], clusters: &[Cluster], runs: &BatchRuns) -> Result<HashMap<(u32, u32), u64>> {
    let mut needed_at = HashMap::new();
    for (column, slot) in slots.iter().enumerate() {
        slot.each_stretch(runs, |cluster, elements, index| {
            let entries = runs.domains[0][index];
            let first_entry = clusters[cluster].first_entry + entries.start;
            let n_elements = u128::from(elements.end - elements.start).max(1);
            for page in slot.pages_with(cluster, &elements) {
                let before = slot.pages[page].first.saturating_sub(elements.start);
                let n_entries = u128::from(before) * u128::from(entries.len) / n_elements;
                let entry = first_entry.saturating_add(u64::try_from(n_entries).unwrap_or(u64::MAX));
                needed_at.entry(PlannedPiece::new(column, page, false).key()).or_insert(entry);
            }
            Ok(())
        })?;
    }
    Ok(needed_at)
}

/// The cluster of a page: they are read one after the other.
fn slots_cluster(slots: &[PlannedSlot], page: &PlannedPiece) -> usize {
    slots[page.column as usize].cluster_pages.partition_point(|&start| start <= page.piece as usize)
}
