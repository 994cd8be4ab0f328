//! Setting places aside for baskets: what one thread at a time does, so that all others can decode.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use arrowroot_file::{Error, Result, format_error};
use arrowroot_format as format;
use format::column::{Counter, EntryForm, Header};
use format::tree::{BasketHead, EmbeddedBasket};

use super::Tree;
use super::basket::{Basket, BasketWork, Offsets, Selection, in_basket, in_stored, unpack_record};
use super::builder::{BasketTarget, Builder};
use super::counts::{ItemCounts, read_counts, read_item_counts};
use super::head::{is_plain, parse_head, payload_offset, range_of, same_payload};
use super::pass::TreePass;
use super::plan::{ReadBranch, fixed_bytes};
use crate::memory::{HeldBytes, WindowBytes};
use crate::scan::{
    BatchEntries, Keeping, LogicalId, Payload, PayloadBytes, Piece, Placing, PlannedPiece, ScanView, Window,
};

/// So many uncompressed bytes of a window wait to be decoded at most, and one basket more.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// A basket that the next batch needs too.
struct KeptBasket {
    head: BasketHead,
    payload: Payload,
    offsets: Offsets,
}

/// A basket on the way to its place.
struct OpenedBasket<'c> {
    view: &'c ScanView,
    tree: &'c Tree,
    column: &'c ReadBranch,
    location: &'c Piece,
    head: BasketHead,
    payload: Payload,
    offsets: Offsets,
}

/// What the placing thread keeps from window to window.
#[derive(Default)]
pub(crate) struct KeptBaskets {
    /// Baskets that the next batch needs too.
    baskets: HashMap<(u32, u32), KeptBasket>,
    /// Uncompressed bytes of these.
    n_bytes: u64,
    /// Numbers of items by entry, of branches that count for others whose baskets have no offsets; of one batch.
    counts: HashMap<Counter, (Range<u64>, Arc<Vec<u32>>)>,
}

impl KeptBaskets {
    /// Forgets what only one batch needs.
    pub(crate) fn begin_batch(&mut self) {
        self.counts.clear();
    }
}

/// Sets places aside for the baskets of a window.
pub(crate) struct Placer<'a, 'p> {
    pub(crate) pass: &'a TreePass,
    pub(crate) kept: &'a mut KeptBaskets,
    pub(crate) placing: &'a mut Placing<'p, TreePass>,
    /// Uncompressed bytes of baskets that wait to be decoded and that the next batch does not need.
    pub(crate) waiting_bytes: usize,
}

impl<'a> Placer<'a, '_> {
    pub(crate) fn place(&mut self, window: Window<'_>) -> Result<()> {
        let Window { planned, fetched } = window;
        for (basket, range) in planned.pieces.iter().zip(fetched.ranges) {
            self.place_basket(basket, &fetched.bytes, range)?;
        }
        Ok(())
    }

    fn place_basket(&mut self, basket: &PlannedPiece, window: &Arc<WindowBytes>, range: Range<usize>) -> Result<()> {
        let view = self.placing.view;
        let mut opened = self.open_basket(view, basket, window, range)?;
        let (column, location) = (opened.column, opened.location);
        let column_place = basket.column as usize;
        let form = column.form().ok_or_else(|| opened.wrong(format::Error::unsupported(0, "a group")))?;
        let logical = opened.begin_logical(column_place);
        let wanted = wanted_entries(self.builder().entries(), location.first_entry, location.entry_end);
        let is_whole = matches!(&wanted, Selection::Range(all) if all.len() == opened.head.n_entries as usize);
        let places_items = self.builder().places_items(column_place);
        let keeping = self.keeping(basket, &opened);
        let is_kept = keeping == Keeping::Unpacked;
        let kept_as_stored = if is_kept { None } else { opened.payload.kept(keeping, &view.held)? };
        if is_kept || opened.head.offsets_are_sizes || (places_items && !is_whole) {
            let n_unpacked = self.unpack_now(&mut opened, logical)?;
            self.waiting_bytes += if is_kept { 0 } else { n_unpacked };
        }
        let item_counts = match form.needs_counts() {
            true => Some(self.item_counts(view, column, location.first_entry..location.entry_end)?),
            false => None,
        };
        // Whole baskets of lists whose ends are those of another column need no offsets.
        let needs_offsets = match form {
            EntryForm::Fixed { .. } => false,
            _ => !is_whole || !self.builder().shares_ends(column_place),
        };
        if needs_offsets {
            let known = item_counts.as_deref().and_then(|counts| counts.offsets(form, &opened.head));
            match known {
                Some(words) if !opened.head.has_offsets() => opened.offsets = Offsets::Given(words),
                _ => self.find_offsets(&mut opened)?,
            }
        }
        let n_items = if places_items { opened.n_items(form, &wanted, is_whole)? } else { 0 };
        let target = self.lease(column_place, wanted.len(), n_items)?;
        let payload = if is_kept { opened.payload.kept(keeping, &view.held)? } else { kept_as_stored };
        if let Some(payload) = payload {
            self.kept.n_bytes += payload.unpacked_bytes();
            let kept = KeptBasket { head: opened.head, payload, offsets: opened.offsets.clone() };
            self.kept.baskets.insert(basket.key(), kept);
        }
        let OpenedBasket { head, payload, offsets, .. } = opened;
        let work = BasketWork { head, payload, offsets, item_counts, wanted, target, basket: basket.piece };
        self.placing.push(column_place, logical, work)?;
        if self.waiting_bytes > MAX_WAITING_BYTES { self.decode_all() } else { Ok(()) }
    }

    /// As what a basket is kept. The plan knows its size from what the tree says of the branch, which may be less than it is:
    /// what is far beyond the budget stays as it is stored.
    fn keeping(&self, basket: &PlannedPiece, opened: &OpenedBasket<'_>) -> Keeping {
        let n_bytes = self.kept.n_bytes.saturating_add(opened.head.payload_bytes.into());
        let is_beyond = n_bytes > opened.view.plan.kept_budget_bytes.saturating_mul(2);
        match (basket.kept, &opened.payload) {
            (Keeping::Unpacked, Payload::Stored(..) | Payload::Kept(_)) if is_beyond => Keeping::Stored,
            (keeping, _) => keeping,
        }
    }

    fn builder(&self) -> &Builder {
        &self.placing.batch.fill
    }

    /// Decodes what was placed.
    fn decode_all(&mut self) -> Result<()> {
        self.waiting_bytes = 0;
        self.placing.decode_all()
    }

    /// Sets aside the place of some entries. Where the batch has none left, what was placed is decoded first.
    fn lease(&mut self, column_place: usize, n_entries: usize, n_items: usize) -> Result<BasketTarget> {
        let target = loop {
            match self.placing.batch.fill.place(column_place, n_entries, n_items)? {
                Some(target) => break target,
                None => self.decode_all()?,
            }
        };
        self.placing.hold(target.n_bytes());
        Ok(target)
    }

    /// Decompresses a payload that must be looked into, or that the next batch needs too. Returns how many bytes came out.
    fn unpack_now(&mut self, opened: &mut OpenedBasket<'_>, logical: Option<LogicalId>) -> Result<usize> {
        let PayloadBytes::Stored(stored) = opened.payload.bytes() else { return Ok(0) };
        let view = opened.view;
        let start = Instant::now();
        let unpacked = unpack_record(self.placing.scratch, &opened.head, stored, &view.counters);
        let unpacked = match unpacked {
            Ok(unpacked) => {
                let again = match is_plain(&opened.head) {
                    true => view.unverified(payload_offset(opened.location, &opened.head), unpacked),
                    false => Ok(None),
                };
                let again = again.map_err(|error| opened.wrong(error))?;
                HeldBytes::copied(again.as_deref().unwrap_or(unpacked), &view.held)?
            }
            Err(error) => {
                let error = in_stored(opened.location, &opened.head, error);
                let (elsewhere, range) = (view.elsewhere(&opened.column.planned.path), range_of(opened.location));
                let scratch = &mut *self.placing.scratch;
                let again = elsewhere.reread(range, error, |record| {
                    let stored = same_payload(record, opened.location, &opened.head)?;
                    unpack_record(scratch, &opened.head, stored, &view.counters).map(<[u8]>::to_vec)
                });
                HeldBytes::copied(&again.map_err(|error| opened.wrong(error))?, &view.held)?
            }
        };
        if let (Some(reads), Some(id)) = (&view.logical, logical) {
            reads.add_decode(id, start.elapsed());
        }
        let n_bytes = unpacked.len();
        opened.payload = Payload::Ready(unpacked);
        Ok(n_bytes)
    }

    /// Opens a basket wherever it is: kept from the batch before, in the tree's record, or in the window.
    fn open_basket<'c>(
        &mut self,
        view: &'c ScanView,
        basket: &PlannedPiece,
        window: &Arc<WindowBytes>,
        range: Range<usize>,
    ) -> Result<OpenedBasket<'c>>
    where
        'a: 'c,
    {
        let (tree, column) = (&self.pass.tree, &self.pass.branches[basket.column as usize]);
        let location = &column.planned.pieces[basket.piece as usize];
        let opened = |head, payload, offsets| OpenedBasket { view, tree, column, location, head, payload, offsets };
        if !basket.is_fetched()
            && let Some(kept) = self.kept.baskets.remove(&basket.key())
        {
            self.kept.n_bytes -= kept.payload.unpacked_bytes();
            return Ok(opened(kept.head, kept.payload, kept.offsets));
        }
        if let Some(index) = location.embedded {
            let embedded = tree.branch(column.id).embedded.get(index);
            let embedded = embedded.ok_or_else(|| {
                let error = format::Error::corrupt(0, "a basket that is not in the tree's record");
                wrong_basket(view, column, location, error.placed(tree.key().key.object_place()))
            })?;
            let (payload, offsets) = open_embedded(tree, embedded, view)?;
            return Ok(opened(embedded.head, payload, offsets));
        }
        view.count_payload(location.offset, u64::from(location.stored_bytes));
        let head = match parse_head(window.bytes.get(range.clone()).unwrap_or_default(), location) {
            Ok(head) => head,
            Err(error) => {
                let elsewhere = view.elsewhere(&column.planned.path);
                let again = elsewhere.reread(range_of(location), error.at(location.offset), |record| {
                    let head = parse_head(record, location).map_err(|error| error.at(location.offset))?;
                    Ok((head, record.get(head.key_bytes as usize..).unwrap_or_default().to_vec()))
                });
                let (head, stored) = again.map_err(|error| wrong_basket(view, column, location, error))?;
                let payload = Payload::Kept(HeldBytes::copied(&stored, &view.held)?);
                return Ok(opened(head, payload, Offsets::InPayload));
            }
        };
        let payload = Payload::Stored(Arc::clone(window), range.start + head.key_bytes as usize..range.end);
        Ok(opened(head, payload, Offsets::InPayload))
    }

    /// Makes the offsets that are not in the payload as they are needed.
    fn find_offsets(&mut self, opened: &mut OpenedBasket<'_>) -> Result<()> {
        let OpenedBasket { view, tree, column, location, head, ref payload, ref offsets, .. } = *opened;
        if matches!(offsets, Offsets::Given(_)) {
            return Ok(());
        }
        if let (true, Payload::Ready(bytes)) = (head.offsets_are_sizes && head.has_offsets(), payload) {
            let stored = head.stored_offsets(bytes).map_err(|error| opened.wrong(error))?.unwrap_or_default();
            let sizes = stored.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word));
            opened.offsets = Offsets::Given(summed(head.key_bytes, sizes));
            return Ok(());
        }
        if head.has_offsets() {
            return Ok(());
        }
        let n_entries = head.n_entries as usize;
        let equal_size = head.data_bytes.checked_div(head.n_entries).unwrap_or(0);
        let is_equal = !head.offsets_generated && head.entry_bytes.checked_mul(head.n_entries) == Some(head.data_bytes);
        if is_equal || head.data_bytes == 0 {
            let sizes = std::iter::once(0).chain(std::iter::repeat_n(equal_size, n_entries.saturating_sub(1)));
            opened.offsets = Offsets::Given(summed(head.key_bytes, sizes.take(n_entries)));
            return Ok(());
        }
        // Entries that are read as bytes begin where those of the column do.
        let counted = tree.readable_column(column.id).unwrap_or(&column.column);
        let (Some(counter), Some(EntryForm::Jagged { header, number, dims })) = (counted.counter, &counted.form) else {
            let error = format::Error::corrupt(0, "a basket without entry offsets, and nothing that counts its items");
            return Err(opened.wrong(error));
        };
        let wanted = location.first_entry..location.first_entry + n_entries as u64;
        let counts = self.counts(view, &column.planned.path, counter, wanted)?;
        let item_bytes = fixed_bytes(dims, number.stored_bytes());
        let size = |count: &u32| {
            u32::try_from((*count as usize).saturating_mul(item_bytes).saturating_add(header.n_bytes()))
                .unwrap_or(u32::MAX)
        };
        let before_last = counts.get(..n_entries.saturating_sub(1)).unwrap_or_default();
        let sizes = std::iter::once(0).chain(before_last.iter().map(size));
        opened.offsets = Offsets::Given(summed(head.key_bytes, sizes));
        Ok(())
    }

    /// Numbers of items of the arrays of each object, or of the objects, for the entries of a basket.
    fn item_counts(&mut self, view: &ScanView, column: &ReadBranch, wanted: Range<u64>) -> Result<Arc<ItemCounts>> {
        let of = &column.planned.path;
        let Some(counter) = column.column.item_counter else {
            let objects = column.column.counter.map(|objects| self.counts(view, of, objects, wanted)).transpose()?;
            return Ok(Arc::new(ItemCounts::of_objects(&objects.unwrap_or_default())));
        };
        let tree = &self.pass.tree;
        let objects = tree.readable_column(counter)?.counter;
        let objects = objects.map(|objects| self.counts(view, of, objects, wanted.clone())).transpose()?;
        read_item_counts(view, tree, counter, objects, &wanted, self.placing.scratch).map(Arc::new)
    }

    /// Values of the counter of a branch for some entries; the whole batch is read at once.
    fn counts(&mut self, view: &ScanView, of: &str, counter: Counter, wanted: Range<u64>) -> Result<Vec<u32>> {
        let held = self.kept.counts.get(&counter);
        let held = held.filter(|(range, _)| range.start <= wanted.start && wanted.end <= range.end);
        let (range, counts) = match held {
            Some((range, counts)) => (range.clone(), Arc::clone(counts)),
            None => {
                let (range, counts) = read_counts(view, &self.pass.tree, of, counter, &wanted, self.placing.scratch)?;
                let counts = Arc::new(counts);
                self.kept.counts.insert(counter, (range.clone(), Arc::clone(&counts)));
                (range, counts)
            }
        };
        let at = |entry: u64| usize::try_from(entry - range.start).unwrap_or(usize::MAX);
        Ok(counts.get(at(wanted.start)..at(wanted.end)).unwrap_or_default().to_vec())
    }
}

impl OpenedBasket<'_> {
    /// An error in the basket; in its uncompressed payload if it has no other place.
    fn wrong(&self, error: format::Error) -> Error {
        let place = self.tree.payload_place(self.column.id, self.location, &self.head);
        wrong_basket(self.view, self.column, self.location, error.placed(place))
    }

    /// Notes that the basket is read, unless an earlier batch has done so; `None` if no trace was asked for.
    fn begin_logical(&self, column_place: usize) -> Option<LogicalId> {
        let is_read = matches!(self.payload, Payload::Stored(..));
        is_read.then(|| self.view.begin_logical(column_place, self.location)).flatten()
    }

    /// Number of items in the lists of the wanted entries. Of a part of the basket the payload must be uncompressed.
    fn n_items(&self, form: &EntryForm, wanted: &Selection, is_whole: bool) -> Result<usize> {
        let (EntryForm::Jagged { header, number, dims }, Selection::Range(range)) = (form, wanted) else {
            return Ok(0);
        };
        let item_bytes = fixed_bytes(dims, number.stored_bytes()).max(1);
        let n_items = if is_whole {
            whole_items(&self.head, *header, item_bytes)
        } else {
            let Payload::Ready(payload) = &self.payload else { return Err(Error::Cancelled) };
            let view = Basket { head: &self.head, payload, offsets: &self.offsets, item_counts: None, form };
            view.n_items(*header, item_bytes, range)
        };
        n_items.map_err(|error| self.wrong(error))
    }
}

/// An error in a basket that has its place, with file and branch.
fn wrong_basket(view: &ScanView, column: &ReadBranch, location: &Piece, error: format::Error) -> Error {
    format_error(view.source(), &column.planned.path, in_basket(location, error))
}

/// The payload and the offsets of a basket in the tree's record.
fn open_embedded(tree: &Tree, embedded: &EmbeddedBasket, view: &ScanView) -> Result<(Payload, Offsets)> {
    let counters = &view.counters;
    let data = tree.object_data().get(embedded.data.clone()).unwrap_or_default();
    let offsets = match &embedded.entry_offsets {
        None => Offsets::InPayload,
        Some(offsets) => {
            Offsets::Given(offsets.iter().flat_map(|offset| (offset + embedded.head.key_bytes).to_be_bytes()).collect())
        }
    };
    counters.n_pieces.fetch_add(1, Ordering::Relaxed);
    counters.unzip_bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
    Ok((Payload::Ready(HeldBytes::copied(data, &view.held)?), offsets))
}

/// Stored words of offsets: sums of the sizes before each entry.
fn summed(key_bytes: u32, sizes: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut offset = key_bytes;
    let mut words = Vec::with_capacity(sizes.size_hint().0 * 4);
    for size in sizes {
        offset = offset.saturating_add(size);
        words.extend_from_slice(&offset.to_be_bytes());
    }
    words
}

/// Number of items in a whole basket of lists.
fn whole_items(head: &BasketHead, header: Header, item_bytes: usize) -> format::Result<usize> {
    let headers = head.n_entries as usize * header.n_bytes();
    match (head.data_bytes as usize).checked_sub(headers) {
        Some(n_bytes) => Ok(n_bytes / item_bytes),
        // Some writers leave the header out where there are no items.
        None => Err(format::Error::unsupported(
            0,
            format!("{} bytes for {} entries with headers of {}", head.data_bytes, head.n_entries, header.n_bytes()),
        )),
    }
}

/// The entries of a basket that a batch wants.
fn wanted_entries(entries: &BatchEntries, first_entry: u64, entry_end: u64) -> Selection {
    let local = |entry: u64| usize::try_from(entry - first_entry).unwrap_or(usize::MAX);
    match entries {
        BatchEntries::Range(range) => {
            Selection::Range(local(range.start.max(first_entry))..local(range.end.min(entry_end)))
        }
        BatchEntries::List { sorted, .. } => {
            let start = sorted.partition_point(|&entry| entry < first_entry);
            let stop = sorted.partition_point(|&entry| entry < entry_end);
            let narrow = |&entry: &u64| u32::try_from(entry - first_entry).unwrap_or(u32::MAX);
            Selection::List(sorted[start..stop].iter().map(narrow).collect())
        }
    }
}
