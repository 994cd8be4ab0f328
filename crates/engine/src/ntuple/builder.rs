//! A batch of an RNTuple while it is filled. All places are known when it begins: from the runs of its plan.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array, make_array};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use arrow_select::take::take;
use arrowroot_arrow::{Fault, TextForm};
use arrowroot_file::{Error, Result};
use arrowroot_format::rntuple::Shape;

use super::assemble::Assembly;
use super::page::{ItemRun, Items, PageTarget, Stretch, Stretches};
use super::plan::{NtuplePlan, PlannedSlot, SlotKind};
use super::runs::BatchRuns;
use crate::memory::{Arena, Column, Edges, complete, lease_whole_bytes, lease_zeros, set_edges, shown, too_large};
use crate::scan::{BatchEntries, Plan};
use crate::table::Table;

/// The memory of a slot.
enum Filling {
    /// Bytes of an element beside.
    Numbers(Column, usize),
    Bits(Column, Arc<Edges>),
    Ends(Column),
    Switches(Column, Column),
}

/// What a slot has become.
pub(crate) enum Filled {
    /// Numbers, or bools as bits.
    Values(Buffer),
    /// Offsets of lists, with the 0 before the first.
    Ends(Buffer),
    /// Types and offsets of variants.
    Switches(Buffer, Buffer),
}

impl Filled {
    fn n_bytes(&self) -> u64 {
        let n_bytes = match self {
            Filled::Values(buffer) | Filled::Ends(buffer) => buffer.len(),
            Filled::Switches(types, offsets) => types.len() + offsets.len(),
        };
        n_bytes as u64
    }
}

/// The memory of a batch while it is filled.
pub(crate) struct Builder {
    fillings: Vec<Filling>,
    /// For each slot the places of its pages.
    places: Vec<Vec<PagePlace>>,
}

/// The place of a page in a batch, until it is taken.
struct PagePlace {
    /// Number of the page in its slot.
    page: usize,
    left: Option<(PageTarget, Stretches)>,
}

/// Bytes of the buffers of a slot with so many elements.
fn sizes(kind: &SlotKind, n_elements: usize) -> [usize; 2] {
    match kind {
        SlotKind::Numbers(primitive) => [n_elements.saturating_mul(primitive.stored_bytes()), 0],
        SlotKind::Bits => [n_elements.div_ceil(8), 0],
        SlotKind::Ends { .. } => [n_elements.saturating_add(1).saturating_mul(4), 0],
        SlotKind::Switches { .. } => [n_elements, n_elements.saturating_mul(4)],
    }
}

impl Builder {
    /// Returns the bytes that are set aside for it, too.
    pub(crate) fn new(number: usize, plan: &Plan, pages: &NtuplePlan) -> Result<(Builder, usize)> {
        let runs = &pages.runs[number];
        let n_elements: Vec<usize> = pages.slots.iter().map(|slot| n_elements(slot, runs)).collect::<Result<_>>()?;
        let all_sizes = pages.slots.iter().zip(&n_elements).map(|(slot, &n_elements)| sizes(&slot.kind, n_elements));
        let mut arena = Arena::new(all_sizes.clone().flatten());
        let mut fillings = Vec::with_capacity(pages.slots.len());
        let mut held_bytes = 0_usize;
        for (slot, [values, offsets]) in pages.slots.iter().zip(all_sizes) {
            held_bytes = held_bytes.saturating_add(values).saturating_add(offsets);
            let mut column = arena.column(values)?;
            fillings.push(match slot.kind {
                SlotKind::Numbers(primitive) => Filling::Numbers(column, primitive.stored_bytes()),
                SlotKind::Bits => Filling::Bits(column, Arc::default()),
                SlotKind::Ends { .. } => {
                    lease_zeros(&mut column, 4); // the end before the first list
                    Filling::Ends(column)
                }
                SlotKind::Switches { .. } => Filling::Switches(column, arena.column(offsets)?),
            });
        }
        let mut n_pages = vec![0; pages.slots.len()];
        for piece in plan.batches[number].windows.iter().flat_map(|window| &window.pieces) {
            n_pages[piece.column as usize] += 1;
        }
        let mut builder = Builder { fillings, places: n_pages.into_iter().map(Vec::with_capacity).collect() };
        for (index, slot) in pages.slots.iter().enumerate() {
            match runs.ends.get(&index) {
                Some(ends) => place_ends(&mut builder.fillings[index], ends)?,
                None => builder.lease(index, slot, runs)?,
            }
        }
        Ok((builder, held_bytes))
    }

    /// Sets aside the places of a slot's pages, front to back.
    fn lease(&mut self, index: usize, slot: &PlannedSlot, runs: &BatchRuns) -> Result<()> {
        // The page whose stretches are being collected, with the element of the batch at which they begin.
        let mut page: Option<(usize, usize, Stretches)> = None;
        let mut dest = 0_usize;
        let filling = &mut self.fillings[index];
        let places = &mut self.places[index];
        let mut finish = |filling: &mut Filling, page: Option<(usize, usize, Stretches)>| -> Result<()> {
            if let Some((page, start, stretches)) = page {
                let n_elements = stretches.iter().map(|stretch| stretch.elements.len()).sum();
                places.push(PagePlace { page, left: Some((target(filling, start, n_elements)?, stretches)) });
            }
            Ok(())
        };
        slot.each_stretch(runs, |cluster, elements, run| {
            let gap = slot.gaps[cluster].min(elements.end).saturating_sub(elements.start);
            if gap > 0 {
                finish(filling, page.take())?;
                let gap = usize::try_from(gap).map_err(|_| too_large())?;
                fill_gap(filling, dest, gap, items_of(slot, runs, run))?;
                dest += gap;
            }
            for number in slot.pages_with(cluster, &elements) {
                let all = slot.pages[number].elements();
                let local = |element: u64| usize::try_from(element - all.start).unwrap_or(usize::MAX);
                let shared = local(elements.start.max(all.start))..local(elements.end.min(all.end));
                let n_elements = shared.len();
                let stretch = Stretch { elements: shared, items: items_of(slot, runs, run) };
                match &mut page {
                    Some((current, _, stretches)) if *current == number => stretches.push(stretch),
                    _ => finish(filling, page.replace((number, dest, Stretches::One(stretch))))?,
                }
                dest += n_elements;
            }
            Ok(())
        })?;
        finish(filling, page)?;
        // They are in order already, but where lists of a damaged file lead back.
        places.sort_by_key(|index| index.page);
        Ok(())
    }

    /// The place of a page and the stretches of it that go there; `None` if it has been taken.
    pub(crate) fn place(&mut self, slot: usize, page: usize) -> Option<(PageTarget, Stretches)> {
        let indices = self.places.get_mut(slot)?;
        let found = indices.binary_search_by_key(&page, |index| index.page).ok()?;
        indices[found].left.take()
    }

    /// Ends the filling, when all pages are done.
    pub(crate) fn seal(self, number: usize, pages: &NtuplePlan) -> Result<Vec<Filled>> {
        let runs = &pages.runs[number];
        let slots = self.fillings.into_iter().zip(&pages.slots);
        slots.map(|(filling, slot)| fill(filling, pages, slot, runs)).collect()
    }
}

/// True if a column of this shape takes time for each of its values.
pub(crate) fn is_slow(shape: &Shape, pages: &NtuplePlan) -> bool {
    let is_slow = |shape: &Shape| is_slow(shape, pages);
    match shape {
        Shape::Number { .. } => false,
        Shape::List { item, .. } | Shape::FixedList { item, .. } => is_slow(item),
        Shape::Optional { ends, item } => pages.place_of(*ends, None).is_some() || is_slow(item),
        Shape::Struct { members } => members.iter().any(|(_, member)| is_slow(member)),
        Shape::Map { key, value, .. } => is_slow(key) || is_slow(value),
        Shape::Text { .. } | Shape::Variant { .. } | Shape::Streamed { .. } | Shape::Cardinality { .. } => true,
    }
}

/// A batch all of whose slots are filled.
pub(crate) struct FilledBatch<'a> {
    pub(crate) number: usize,
    pub(crate) plan: &'a Plan,
    pub(crate) pages: &'a NtuplePlan,
    pub(crate) filled: &'a [Filled],
    pub(crate) text: TextForm,
}

impl FilledBatch<'_> {
    /// The array of a column.
    pub(crate) fn column(&self, index: usize) -> Result<ArrayRef> {
        let url = self.pages.ntuple.file().url();
        let runs = &self.pages.runs[self.number];
        let entries = &self.plan.batches[self.number].entries;
        let field = self.plan.schema().field(index);
        let in_field = |error| of_arrow(url, field.name(), &error);
        let n_entries = usize::try_from(runs.n_items(0)).map_err(|_| too_large())?;
        let assembly = Assembly { pages: self.pages, filled: self.filled, runs, text: self.text };
        let array = assembly.array(&self.pages.shapes[index], n_entries).map_err(|fault| match fault {
            Fault::Arrow(error) => in_field(error),
            Fault::Format(source) => Error::Format { url: url.to_owned(), object: field.name().clone(), source },
            Fault::Text { index, text } => Error::InvalidText {
                url: url.to_owned(),
                object: field.name().clone(),
                entry: entries.number(index),
                text: shown(&text),
            },
        });
        let array = make_array(array?);
        match entries {
            BatchEntries::List { order: Some(order), .. } => {
                take(&array, &UInt64Array::from(order.clone()), None).map_err(in_field)
            }
            _ => Ok(array),
        }
    }

    /// The batch, of columns that are `made` and others that take no time. Returns it and the bytes in its buffers.
    pub(crate) fn join(&self, mut made: HashMap<usize, ArrayRef>) -> Result<(RecordBatch, u64)> {
        let columns = 0..self.pages.shapes.len();
        let arrays = columns.map(|index| made.remove(&index).map_or_else(|| self.column(index), Ok));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let n_rows = self.plan.batches[self.number].entries.n_delivered();
        let n_rows = usize::try_from(n_rows).map_err(|_| too_large())?;
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(n_rows));
        let schema: SchemaRef = self.plan.schema().clone();
        RecordBatch::try_new_with_options(schema, arrays, &options)
            .map(|batch| (batch, self.filled.iter().map(Filled::n_bytes).sum()))
            .map_err(|error| of_arrow(self.pages.ntuple.file().url(), "batch", &error))
    }
}

fn n_elements(slot: &PlannedSlot, runs: &BatchRuns) -> Result<usize> {
    let n_elements = runs.n_items(slot.domain).checked_mul(slot.factor);
    let n_elements = n_elements.and_then(|n| usize::try_from(n).ok()).ok_or_else(too_large)?;
    let is_offset = matches!(slot.kind, SlotKind::Ends { .. } | SlotKind::Switches { .. });
    // Arrow numbers the items of lists with 32 bits.
    if n_elements > i32::MAX as usize && (is_offset || slot.domain > 0) {
        return Err(Error::BatchTooLong);
    }
    Ok(n_elements)
}

/// What the elements of a run point to.
fn items_of(slot: &PlannedSlot, runs: &BatchRuns, run: usize) -> Items {
    let items = |domain: usize| {
        let run = &runs.domains[domain][run];
        ItemRun { start: run.start, len: run.len, dest: run.dest }
    };
    match &slot.kind {
        SlotKind::Numbers(_) | SlotKind::Bits => Items::None,
        SlotKind::Ends { items: domain } => Items::List(items(*domain)),
        SlotKind::Switches { alternatives } => {
            Items::Alternatives(alternatives.iter().map(|&domain| items(domain)).collect())
        }
    }
}

fn wrong_sizes() -> Error {
    Error::Internal { what: "places of pages that do not fit in their column".to_owned() }
}

/// Leases the place of `n_elements` elements, of which the first is number `start` of the batch.
fn target(filling: &mut Filling, start: usize, n_elements: usize) -> Result<PageTarget> {
    Ok(match filling {
        Filling::Numbers(values, width) => {
            PageTarget::Numbers(values.lease(*width * n_elements).ok_or_else(wrong_sizes)?)
        }
        Filling::Bits(values, edges) => {
            let whole = lease_whole_bytes(values, start, start + n_elements)?;
            PageTarget::Bits { start_bit: start, whole, edges: Arc::clone(edges) }
        }
        Filling::Ends(ends) => PageTarget::Ends(ends.lease(n_elements * 4).ok_or_else(wrong_sizes)?),
        Filling::Switches(types, offsets) => PageTarget::Switches {
            types: types.lease(n_elements).ok_or_else(wrong_sizes)?,
            offsets: offsets.lease(n_elements * 4).ok_or_else(wrong_sizes)?,
        },
    })
}

/// Puts ends in their places that were all looked up for the plan.
fn place_ends(filling: &mut Filling, ends: &[i32]) -> Result<()> {
    let PageTarget::Ends(mut slot) = target(filling, 0, ends.len())? else { return Err(wrong_sizes()) };
    for (place, end) in slot.as_chunks_mut::<4>().0.iter_mut().zip(ends) {
        *place = end.to_ne_bytes();
    }
    Ok(())
}

/// Fills the places of elements from before a column was added: zeros, no items, no alternative.
fn fill_gap(filling: &mut Filling, start: usize, n_elements: usize, items: Items) -> Result<()> {
    match target(filling, start, n_elements)? {
        PageTarget::Numbers(mut slot) => slot.fill(0),
        PageTarget::Bits { mut whole, .. } => whole.fill(0),
        PageTarget::Ends(mut slot) => {
            let dest = if let Items::List(items) = items { items.dest } else { 0 };
            let end = i32::try_from(dest).map_err(|_| Error::BatchTooLong)?.to_ne_bytes();
            slot.as_chunks_mut::<4>().0.fill(end);
        }
        PageTarget::Switches { mut types, mut offsets } => {
            types.fill(0);
            offsets.fill(0);
        }
    }
    Ok(())
}

fn fill(filling: Filling, pages: &NtuplePlan, slot: &PlannedSlot, runs: &BatchRuns) -> Result<Filled> {
    Ok(match filling {
        Filling::Numbers(values, _) => Filled::Values(complete_whole(values)?),
        Filling::Bits(mut values, edges) => {
            let left = values.left();
            lease_zeros(&mut values, left);
            set_edges(values.written().ok_or_else(wrong_sizes)?, &edges);
            Filled::Values(complete(values)?)
        }
        Filling::Ends(ends) => {
            let buffer = complete_whole(ends)?;
            check_ends(buffer.typed_data::<i32>(), pages, slot, runs)?;
            Filled::Ends(buffer)
        }
        Filling::Switches(types, offsets) => Filled::Switches(complete_whole(types)?, complete_whole(offsets)?),
    })
}

/// The buffer of a column all of whose places were set aside.
fn complete_whole(column: Column) -> Result<Buffer> {
    if column.left() > 0 { Err(wrong_sizes()) } else { complete(column) }
}

/// Compares ends where pages meet, and those at the ends of runs with the items there are. Inside a page they have been
/// compared with each other.
fn check_ends(ends: &[i32], pages: &NtuplePlan, slot: &PlannedSlot, runs: &BatchRuns) -> Result<()> {
    let wrong = |what: String| pages.ntuple.corrupt(format!("{}: {what}", pages.ntuple.slot_path(slot.slot)));
    let at = |element: usize| ends.get(element).copied().unwrap_or(0);
    let meets = |element: usize| -> Result<()> {
        if at(element) > at(element + 1) {
            return Err(wrong(format!(
                "ends of lists that run backwards, from {} to {}",
                at(element),
                at(element + 1)
            )));
        }
        Ok(())
    };
    let mut dest = 0_usize;
    slot.each_stretch(runs, |cluster, elements, run| {
        let length = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        meets(dest)?;
        for page in slot.pages_with(cluster, &elements) {
            let start = slot.pages[page].first.max(elements.start);
            meets(dest + length(&(elements.start..start)))?;
        }
        dest += length(&elements);
        let SlotKind::Ends { items } = slot.kind else { return Ok(()) };
        let items = runs.domains[items][run];
        if u64::from(at(dest).unsigned_abs()) != items.dest + items.len {
            return Err(wrong(format!("lists end at item {}, of {}", at(dest), items.dest + items.len)));
        }
        Ok(())
    })
}

fn of_arrow(url: &str, object: &str, error: &arrow_schema::ArrowError) -> Error {
    let source = arrowroot_format::Error::corrupt(0, error.to_string());
    Error::Format { url: url.to_owned(), object: object.to_owned(), source }
}
