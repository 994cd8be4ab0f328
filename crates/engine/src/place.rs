//! Setting places aside for baskets: what one thread at a time does, so that all others can decode.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use arrowroot_format as format;
use arrowroot_storage::{Ledger, Source};
use format::Place;
use format::column::{Counter, EntryForm, Header};
use format::tree::{BasketHead, BasketLocation, EmbeddedBasket};

use crate::batch::{Builder, Target};
use crate::counts::{ItemCounts, read_counts, read_item_counts};
use crate::error::{Error, Result};
use crate::fetch::{Fetched, Held, HeldBytes, WindowBytes, fetch};
use crate::file::format_error;
use crate::keep::Keeping;
use crate::logical::{LogicalId, LogicalReads};
use crate::ntuple::{self, PageTask};
use crate::plan::{BatchEntries, Plan, PlannedBasket, PlannedColumn, PlannedWindow};
use crate::stats::Counters;
use crate::task::{Basket, BasketTask, Offsets, Payload, PayloadBytes, Wanted, fixed_bytes, in_basket, in_stored};
use crate::text::TextForm;
use crate::tree::Tree;
use crate::work::{Building, Task, Workers};

/// What the placing thread needs and everybody shares.
pub(crate) struct Context {
    /// `None` for an RNTuple, which the plan knows.
    pub(crate) tree: Option<Tree>,
    pub(crate) plan: Plan,
    pub(crate) source: Arc<dyn Source>,
    /// What the store was asked for.
    pub(crate) physical: Arc<Ledger>,
    pub(crate) counters: Counters,
    pub(crate) held: Arc<Held>,
    pub(crate) text: TextForm,
    /// `None` if no trace was asked for.
    pub(crate) logical: Option<LogicalReads>,
}

impl Context {
    pub(crate) fn tree(&self) -> Result<&Tree> {
        self.tree.as_ref().ok_or_else(|| Error::Internal { what: "baskets without a tree".to_owned() })
    }

    /// Counts bytes of the file that are needed.
    pub(crate) fn count_payload(&self, offset: u64, n_bytes: u64) {
        self.counters.payload_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        self.physical.need(offset, n_bytes);
    }

    /// Where the uncompressed payload of a basket begins, for errors.
    pub(crate) fn payload_place(&self, column: &PlannedColumn, location: &BasketLocation, head: &BasketHead) -> Place {
        match (&self.tree, column.branch()) {
            (Some(tree), Some(branch)) => tree.payload_place(branch, location, head),
            _ => head.payload_place(location.offset),
        }
    }
}

/// So many uncompressed bytes of a window wait to be decoded at most, and one basket more.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// A basket that the next batch needs too.
struct Kept {
    head: BasketHead,
    payload: Payload,
    offsets: Offsets,
}

/// A basket on the way to its place.
struct OpenedBasket<'c> {
    context: &'c Context,
    column: &'c PlannedColumn,
    location: &'c BasketLocation,
    head: BasketHead,
    payload: Payload,
    offsets: Offsets,
}

/// The state of placing, which one thread has at a time.
pub(crate) struct Placer {
    batch: usize,
    window: usize,
    /// Windows placed so far, of all batches.
    n_windows: usize,
    builder: Option<Building>,
    kept: HashMap<(u32, u32), Kept>,
    /// Pages that the next batch needs too.
    kept_pages: HashMap<(u32, u32), Payload>,
    /// Numbers of items by entry, of branches that count for others whose baskets have no offsets.
    counts: HashMap<Counter, (Range<u64>, Arc<Vec<u32>>)>,
    worker: Workers,
}

/// A window that is being placed.
struct Placing<'p> {
    context: &'p Context,
    builder: &'p mut Builder,
    tasks: Vec<Task>,
    /// Uncompressed bytes of those that the next batch does not need.
    waiting_bytes: usize,
    emit: &'p mut dyn FnMut(Vec<Task>),
    drain: &'p mut dyn FnMut(&AtomicUsize) -> Result<()>,
}

/// What placing a window led to.
pub(crate) enum Placed {
    /// More of the batch is to come.
    Window,
    /// All baskets of the batch are placed.
    Batch(Building),
    /// There is nothing left.
    End,
}

impl Placer {
    pub(crate) fn new() -> Self {
        Placer {
            batch: 0,
            window: 0,
            n_windows: 0,
            builder: None,
            kept: HashMap::new(),
            kept_pages: HashMap::new(),
            counts: HashMap::new(),
            worker: Workers::default(),
        }
    }

    /// Number of the window that is placed next, among those of all batches; `None` if the batch has no more.
    pub(crate) fn next_window(&self, plan: &Plan) -> Option<usize> {
        let batch = plan.batches.get(self.batch)?;
        (self.window < batch.windows.len()).then_some(self.n_windows)
    }

    /// Whether the next step begins a batch.
    pub(crate) fn begins_batch(&self) -> bool {
        self.builder.is_none()
    }

    /// Sets aside the places of the baskets in the next window, which is fetched here unless it has been. Tasks go to
    /// `emit`; `drain` comes back when all tasks of the batch that were emitted are done.
    pub(crate) fn advance(
        &mut self,
        context: &Context,
        fetched: Option<Fetched>,
        emit: &mut dyn FnMut(Vec<Task>),
        drain: &mut dyn FnMut(&AtomicUsize) -> Result<()>,
        is_stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Placed> {
        let Some(batch) = context.plan.batches.get(self.batch) else { return Ok(Placed::End) };
        let mut builder = match self.builder.take() {
            Some(builder) => builder,
            None => self.begin(context, &batch.entries)?,
        };
        if let Some(window) = batch.windows.get(self.window) {
            let fetched = match fetched {
                Some(fetched) => fetched,
                None => fetch(context, window, is_stopped)?,
            };
            match &mut builder {
                Building::Baskets(builder) => self.place_window(context, window, fetched, builder, emit, drain)?,
                Building::Pages(builder) => self.place_pages(context, window, &fetched, builder, emit)?,
            }
            self.window += 1;
            self.n_windows += 1;
        }
        if self.window < batch.windows.len() {
            self.builder = Some(builder);
            return Ok(Placed::Window);
        }
        self.batch += 1;
        self.window = 0;
        self.counts.clear();
        Ok(Placed::Batch(builder))
    }

    fn begin(&self, context: &Context, entries: &BatchEntries) -> Result<Building> {
        if let Some(pages) = &context.plan.pages {
            let builder = ntuple::Builder::new(self.batch, &context.plan, pages)?;
            context.held.add(builder.held_bytes);
            return Ok(Building::Pages(builder));
        }
        let plan = &context.plan;
        let builder = Builder::new(self.batch, &plan.columns, entries, plan.schema(), context.text)?;
        Ok(Building::Baskets(builder))
    }

    /// Gives each page of a window its place, which the batch has set aside.
    fn place_pages(
        &mut self,
        context: &Context,
        window: &PlannedWindow,
        fetched: &Fetched,
        builder: &mut ntuple::Builder,
        emit: &mut dyn FnMut(Vec<Task>),
    ) -> Result<()> {
        let mut tasks = Vec::with_capacity(window.baskets.len());
        for (page, range) in window.baskets.iter().zip(&fetched.ranges) {
            let (slot, number) = (page.column as usize, page.basket as usize);
            let planned = context.plan.pages.as_ref().and_then(|pages| pages.slots.get(slot)?.pages.get(number));
            let (Some(planned), Some((target, pieces))) = (planned, builder.place(page.column, page.basket)) else {
                return Err(Error::Internal { what: "a page that its batch does not know".to_owned() });
            };
            let location = context.plan.location(page);
            let mut logical = None;
            let payload = match self.kept_pages.remove(&page.key()).filter(|_| !page.is_fetched()) {
                Some(kept) => kept,
                None => {
                    let n_bytes = u64::from(location.stored_bytes);
                    context.count_payload(location.offset, n_bytes);
                    logical = context
                        .logical
                        .as_ref()
                        .map(|reads| reads.begin(location.offset, n_bytes, location.first_entry, slot));
                    Payload::Stored(Arc::clone(&fetched.bytes), range.clone())
                }
            };
            let payload = match payload.bytes() {
                PayloadBytes::Stored(stored) if page.kept == Keeping::Unpacked => {
                    let unpacked = self.worker.pages.unpack(stored, planned, &context.counters);
                    let in_page = |error: format::Error| {
                        let path = &context.plan.columns[slot].path;
                        format_error(context.source.as_ref(), path, error.at(location.offset))
                    };
                    Payload::Ready(HeldBytes::copied(unpacked.map_err(in_page)?, &context.held)?)
                }
                _ => payload,
            };
            if let Some(kept) = payload.kept(page.kept, &context.held)? {
                self.kept_pages.insert(page.key(), kept);
            }
            let (batch, open) = (builder.number, Arc::clone(&builder.open));
            tasks.push(Task::Page(PageTask { slot, page: number, payload, pieces, target, batch, open, logical }));
        }
        emit(tasks);
        Ok(())
    }

    fn place_window(
        &mut self,
        context: &Context,
        window: &PlannedWindow,
        fetched: Fetched,
        builder: &mut Builder,
        emit: &mut dyn FnMut(Vec<Task>),
        drain: &mut dyn FnMut(&AtomicUsize) -> Result<()>,
    ) -> Result<()> {
        let Fetched { bytes, ranges } = fetched;
        let tasks = Vec::with_capacity(window.baskets.len());
        let mut placing = Placing { context, builder, tasks, waiting_bytes: 0, emit, drain };
        for (basket, range) in window.baskets.iter().zip(ranges) {
            self.place_basket(&mut placing, basket, &bytes, range)?;
        }
        (placing.emit)(placing.tasks);
        Ok(())
    }

    fn place_basket(
        &mut self,
        placing: &mut Placing<'_>,
        basket: &PlannedBasket,
        window: &Arc<WindowBytes>,
        range: Range<usize>,
    ) -> Result<()> {
        let context = placing.context;
        let mut opened = self.open_basket(context, basket, window, range)?;
        let (column, location) = (opened.column, opened.location);
        let column_place = basket.column as usize;
        let form = column.form().ok_or_else(|| opened.wrong(format::Error::unsupported(0, "a group")))?;
        let logical = opened.begin_logical(column_place);
        let wanted = wanted_entries(placing.builder.entries(), location.first_entry, location.entry_end);
        let is_whole = matches!(&wanted, Wanted::Range(all) if all.len() == opened.head.n_entries as usize);
        let places_items = placing.builder.places_items(column_place);
        let is_kept = basket.kept == Keeping::Unpacked;
        let kept_as_stored = if is_kept { None } else { opened.payload.kept(basket.kept, &context.held)? };
        if is_kept || opened.head.offsets_are_sizes || (places_items && !is_whole) {
            let n_unpacked = self.unpack_now(&mut opened, logical)?;
            placing.waiting_bytes += if is_kept { 0 } else { n_unpacked };
        }
        let item_counts = match form.needs_counts() {
            true => Some(self.item_counts(context, column, location.first_entry..location.entry_end)?),
            false => None,
        };
        // Whole baskets of lists whose ends are those of another column need no offsets.
        let needs_offsets = match form {
            EntryForm::Fixed { .. } => false,
            _ => !is_whole || !placing.builder.shares_ends(column_place),
        };
        if needs_offsets {
            let known = item_counts.as_deref().and_then(|counts| counts.offsets(form, &opened.head));
            match known {
                Some(words) if !opened.head.has_offsets() => opened.offsets = Offsets::Given(words),
                _ => self.find_offsets(&mut opened)?,
            }
        }
        let n_items = if places_items { opened.n_items(form, &wanted, is_whole)? } else { 0 };
        let target = placing.lease(column_place, wanted.len(), n_items)?;
        let payload = if is_kept { opened.payload.kept(basket.kept, &context.held)? } else { kept_as_stored };
        if let Some(payload) = payload {
            let kept = Kept { head: opened.head, payload, offsets: opened.offsets.clone() };
            self.kept.insert(basket.key(), kept);
        }
        let OpenedBasket { head, payload, offsets, .. } = opened;
        placing.tasks.push(Task::Basket(BasketTask {
            column: column_place,
            head,
            payload,
            offsets,
            item_counts,
            wanted,
            target,
            batch: placing.builder.number,
            open: Arc::clone(&placing.builder.open),
            basket: basket.basket,
            logical,
        }));
        if placing.waiting_bytes > MAX_WAITING_BYTES { placing.decode_all() } else { Ok(()) }
    }

    /// Decompresses a payload that must be looked into, or that the next batch needs too. Returns how many bytes came out.
    fn unpack_now(&mut self, opened: &mut OpenedBasket<'_>, logical: Option<LogicalId>) -> Result<usize> {
        let PayloadBytes::Stored(stored) = opened.payload.bytes() else { return Ok(0) };
        let context = opened.context;
        let start = Instant::now();
        let unpacked = self.worker.baskets.unpack_record(&opened.head, stored, &context.counters);
        let unpacked = unpacked.map_err(|error| opened.wrong(in_stored(opened.location, &opened.head, error)))?;
        if let (Some(reads), Some(id)) = (&context.logical, logical) {
            reads.add_decode(id, start.elapsed());
        }
        let n_bytes = unpacked.len();
        opened.payload = Payload::Ready(HeldBytes::copied(unpacked, &context.held)?);
        Ok(n_bytes)
    }

    /// Opens a basket wherever it is: kept from the batch before, in the tree's record, or in the window.
    fn open_basket<'c>(
        &mut self,
        context: &'c Context,
        basket: &PlannedBasket,
        window: &Arc<WindowBytes>,
        range: Range<usize>,
    ) -> Result<OpenedBasket<'c>> {
        let column = &context.plan.columns[basket.column as usize];
        let location = context.plan.location(basket);
        let opened = |head, payload, offsets| OpenedBasket { context, column, location, head, payload, offsets };
        if !basket.is_fetched()
            && let Some(kept) = self.kept.remove(&basket.key())
        {
            return Ok(opened(kept.head, kept.payload, kept.offsets));
        }
        if let Some(place) = location.embedded {
            let tree = context.tree()?;
            let embedded = column.branch().and_then(|branch| tree.branch(branch).embedded.get(place));
            let embedded = embedded.ok_or_else(|| {
                let error = format::Error::corrupt(0, "a basket that is not in the tree's record");
                wrong_basket(context, column, location, error.placed(tree.entry().key.object_place()))
            })?;
            let (payload, offsets) = open_embedded(tree, embedded, context)?;
            return Ok(opened(embedded.head, payload, offsets));
        }
        let head = parse_head(window.bytes.get(range.clone()).unwrap_or_default(), location)
            .map_err(|error| wrong_basket(context, column, location, error.at(location.offset)))?;
        context.count_payload(location.offset, u64::from(location.stored_bytes));
        let payload = Payload::Stored(Arc::clone(window), range.start + head.key_bytes as usize..range.end);
        Ok(opened(head, payload, Offsets::InPayload))
    }

    /// Makes the offsets that are not in the payload as they are needed.
    fn find_offsets(&mut self, opened: &mut OpenedBasket<'_>) -> Result<()> {
        let OpenedBasket { context, column, location, head, ref payload, ref offsets } = *opened;
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
        let (Some(counter), Some(EntryForm::Jagged { header, number, dims })) =
            (column.column().and_then(|column| column.counter), column.form())
        else {
            let error = format::Error::corrupt(0, "a basket without entry offsets, and nothing that counts its items");
            return Err(opened.wrong(error));
        };
        let wanted = location.first_entry..location.first_entry + n_entries as u64;
        let counts = self.counts(context, &column.path, counter, wanted)?;
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
    fn item_counts(
        &mut self,
        context: &Context,
        column: &PlannedColumn,
        wanted: Range<u64>,
    ) -> Result<Arc<ItemCounts>> {
        let counters = column.column().map(|column| (column.item_counter, column.counter));
        let Some((Some(counter), _)) = counters else {
            let objects = counters.and_then(|(_, objects)| objects);
            let counts = objects.map(|objects| self.counts(context, &column.path, objects, wanted)).transpose()?;
            return Ok(Arc::new(ItemCounts::of_objects(&counts.unwrap_or_default())));
        };
        let objects = context.tree()?.readable_column(counter)?.counter;
        let objects = objects.map(|objects| self.counts(context, &column.path, objects, wanted.clone())).transpose()?;
        read_item_counts(context, counter, objects, &wanted, &mut self.worker.baskets).map(Arc::new)
    }

    /// Values of the counter of a branch for some entries; the whole batch is read at once.
    fn counts(&mut self, context: &Context, of: &str, counter: Counter, wanted: Range<u64>) -> Result<Vec<u32>> {
        let held =
            self.counts.get(&counter).filter(|(range, _)| range.start <= wanted.start && wanted.end <= range.end);
        let (range, counts) = match held {
            Some((range, counts)) => (range.clone(), Arc::clone(counts)),
            None => {
                let (range, counts) = read_counts(context, of, counter, &wanted, &mut self.worker.baskets)?;
                let counts = Arc::new(counts);
                self.counts.insert(counter, (range.clone(), Arc::clone(&counts)));
                (range, counts)
            }
        };
        let place = |entry: u64| usize::try_from(entry - range.start).unwrap_or(usize::MAX);
        Ok(counts.get(place(wanted.start)..place(wanted.end)).unwrap_or_default().to_vec())
    }
}

impl OpenedBasket<'_> {
    /// An error in the basket; in its uncompressed payload if it has no other place.
    fn wrong(&self, error: format::Error) -> Error {
        let place = self.context.payload_place(self.column, self.location, &self.head);
        wrong_basket(self.context, self.column, self.location, error.placed(place))
    }

    /// Notes that the basket is read, unless an earlier batch has done so; `None` if no trace was asked for.
    fn begin_logical(&self, column_place: usize) -> Option<LogicalId> {
        let (Payload::Stored(..), Some(reads)) = (&self.payload, &self.context.logical) else { return None };
        let BasketLocation { offset, stored_bytes, first_entry, .. } = *self.location;
        Some(reads.begin(offset, u64::from(stored_bytes), first_entry, column_place))
    }

    /// Number of items in the lists of the wanted entries. Of a part of the basket the payload must be uncompressed.
    fn n_items(&self, form: &EntryForm, wanted: &Wanted, is_whole: bool) -> Result<usize> {
        let (EntryForm::Jagged { header, number, dims }, Wanted::Range(range)) = (form, wanted) else { return Ok(0) };
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

impl Placing<'_> {
    /// Decodes what was placed.
    fn decode_all(&mut self) -> Result<()> {
        (self.emit)(std::mem::take(&mut self.tasks));
        self.waiting_bytes = 0;
        (self.drain)(&self.builder.open)
    }

    /// Sets aside the place of some entries. Where the batch has none left, what was placed is decoded first.
    fn lease(&mut self, column_place: usize, n_entries: usize, n_items: usize) -> Result<Target> {
        let target = loop {
            match self.builder.place(column_place, n_entries, n_items)? {
                Some(target) => break target,
                None => self.decode_all()?,
            }
        };
        self.context.held.add(target.n_bytes());
        self.builder.held_bytes += target.n_bytes();
        Ok(target)
    }
}

/// An error in a basket that has its place, with file and branch.
fn wrong_basket(context: &Context, column: &PlannedColumn, location: &BasketLocation, error: format::Error) -> Error {
    format_error(context.source.as_ref(), &column.path, in_basket(location, error))
}

/// The payload and the offsets of a basket in the tree's record.
fn open_embedded(tree: &Tree, embedded: &EmbeddedBasket, context: &Context) -> Result<(Payload, Offsets)> {
    let counters = &context.counters;
    let data = tree.object_data().get(embedded.data.clone()).unwrap_or_default();
    let offsets = match &embedded.entry_offsets {
        None => Offsets::InPayload,
        Some(offsets) => {
            Offsets::Given(offsets.iter().flat_map(|offset| (offset + embedded.head.key_bytes).to_be_bytes()).collect())
        }
    };
    counters.n_baskets.fetch_add(1, Ordering::Relaxed);
    counters.unzip_bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
    Ok((Payload::Ready(HeldBytes::copied(data, &context.held)?), offsets))
}

/// The head of a record, which must be what its branch says.
fn parse_head(record: &[u8], location: &BasketLocation) -> format::Result<BasketHead> {
    let head = BasketHead::parse(record)?;
    let n_entries = location.entry_end - location.first_entry;
    if head.stored_bytes != location.stored_bytes || u64::from(head.n_entries) != n_entries {
        let what = format!(
            "the basket says {} bytes and {} entries, its branch {} and {n_entries}",
            head.stored_bytes, head.n_entries, location.stored_bytes
        );
        return Err(format::Error::corrupt(0, what));
    }
    if head.key_bytes as usize > record.len() {
        return Err(format::Error::corrupt(0, "a key longer than its record"));
    }
    Ok(head)
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
fn wanted_entries(entries: &BatchEntries, first_entry: u64, entry_end: u64) -> Wanted {
    let local = |entry: u64| usize::try_from(entry - first_entry).unwrap_or(usize::MAX);
    match entries {
        BatchEntries::Range(range) => {
            Wanted::Range(local(range.start.max(first_entry))..local(range.end.min(entry_end)))
        }
        BatchEntries::List { sorted, .. } => {
            let start = sorted.partition_point(|&entry| entry < first_entry);
            let stop = sorted.partition_point(|&entry| entry < entry_end);
            let narrow = |&entry: &u64| u32::try_from(entry - first_entry).unwrap_or(u32::MAX);
            Wanted::List(sorted[start..stop].iter().map(narrow).collect())
        }
    }
}
