//! The read plan: which baskets, in which reads, for which batches. Plain data, made before the first read.

use std::ops::Range;

use arrow_schema::{Field, Schema, SchemaRef};
use arrowroot_format::column::{Column, DataType, EntryForm};
use arrowroot_format::tree::{BasketLocation, BranchId};
use arrowroot_storage::{Planner, ReadStyle, Span, Wanted};

use crate::assemble::ArrowTypes;
use crate::batch::density;
use crate::cut::{BatchSize, cut_list, cut_range};
use crate::error::{Error, Result};
use crate::file::format_error;
use crate::keep::{Keeper, Keeping, KeptSizes};
use crate::ntuple::PagePlan;
use crate::task::fixed_bytes;
use crate::text::TextForm;
use crate::tree::Tree;

/// No codec of ROOT packs more than so many bytes into one: Zstandard comes to 32,000 with blocks of 16 MiB of zeros.
pub(crate) const MAX_RATIO: u64 = 1 << 16;

/// What to read.
#[derive(Debug, Clone)]
pub struct Request {
    /// Branches and the names of their columns; in this order in the result.
    pub columns: Vec<(BranchId, String)>,
    /// Which entries.
    pub entries: Entries,
    /// Size of a batch in memory in bytes, about; `None`: all in one.
    pub batch_bytes: Option<u64>,
    /// Bound for what a streamed scan holds, in bytes: windows, batches, and baskets or pages that several batches need.
    pub memory_budget_bytes: u64,
    /// Threads that decode, the caller's among them; 0: as many as there are cores.
    pub n_threads: usize,
    /// Whether to keep each read.
    pub trace: bool,
    /// The form of text.
    pub text: TextForm,
    /// Whether the checksums of an RNTuple's pages are compared with the pages.
    pub verify_checksums: bool,
    /// Each column as the bytes of its entries, not interpreted: for what cannot be read otherwise.
    pub raw: bool,
}

/// Which entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entries {
    /// Half-open range.
    Range(Range<u64>),
    /// In this order; any order, repeats allowed.
    List(Vec<u64>),
}

/// A read plan.
#[derive(Debug)]
pub struct Plan {
    /// The columns, in the order of the request.
    pub columns: Vec<PlannedColumn>,
    /// The batches, in the order of delivery.
    pub batches: Vec<PlannedBatch>,
    /// Number of entries that will be delivered.
    pub n_entries: u64,
    /// How it is read.
    pub style: ReadStyle,
    /// How many times a basket or page is decompressed again: those that several batches need and that the memory budget has
    /// no room for.
    pub n_repeated: u64,
    pub(crate) max_gap_bytes: u64,
    pub(crate) schema: SchemaRef,
    /// `None` for trees.
    pub(crate) pages: Option<PagePlan>,
}

/// A column of a plan.
#[derive(Debug)]
pub struct PlannedColumn {
    /// Path of the branch in the tree, or of the field in the RNTuple.
    pub path: String,
    /// What it is.
    pub content: Content,
    /// All its baskets or pages.
    pub baskets: Vec<BasketLocation>,
    /// Uncompressed bytes for each byte in the file, on average.
    pub ratio: f64,
}

/// What a column of a plan is.
#[derive(Debug)]
pub enum Content {
    /// A branch, and what it holds: stored in baskets.
    Branch(BranchId, Column),
    /// A column of an RNTuple: stored in pages.
    Pages,
}

impl Request {
    /// The part of the budget for baskets that several batches need: half of it, or less if two batches, the consumer's
    /// and the next, leave less.
    pub(crate) fn kept_budget_bytes(&self) -> u64 {
        let batch_bytes = self.batch_bytes.unwrap_or(0);
        let left = self.memory_budget_bytes.saturating_sub(batch_bytes.saturating_mul(5) / 2);
        left.clamp(self.memory_budget_bytes / 8, self.memory_budget_bytes / 2)
    }

    /// The part of the budget for windows and undelivered batches.
    pub(crate) fn moving_budget_bytes(&self) -> u64 {
        self.memory_budget_bytes - self.kept_budget_bytes()
    }
}

impl PlannedColumn {
    /// The branch; `None` if it is none.
    pub(crate) fn branch(&self) -> Option<BranchId> {
        if let Content::Branch(branch, _) = self.content { Some(branch) } else { None }
    }

    /// What the branch holds.
    pub(crate) fn column(&self) -> Option<&Column> {
        if let Content::Branch(_, column) = &self.content { Some(column) } else { None }
    }

    /// Bytes of a basket once it is uncompressed, about.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
    pub(crate) fn unpacked_bytes(&self, basket: &BasketLocation) -> u64 {
        (f64::from(basket.stored_bytes) * self.ratio) as u64
    }

    /// How its entries are laid out.
    pub(crate) fn form(&self) -> Option<&EntryForm> {
        self.column()?.form.as_ref()
    }
}

/// One batch: its entries, and the windows in which their baskets are read.
#[derive(Debug)]
pub struct PlannedBatch {
    /// Which entries.
    pub entries: BatchEntries,
    /// In the order of reading.
    pub windows: Vec<PlannedWindow>,
}

/// The entries of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchEntries {
    /// Half-open range.
    Range(Range<u64>),
    /// Some entries: each once and in order, and how to arrange them in the end if they are wanted otherwise.
    List {
        /// Entries, sorted.
        sorted: Vec<u64>,
        /// For each entry of the result its place in `sorted`; `None` if that is the order.
        order: Option<Vec<u64>>,
    },
}

/// Baskets that are fetched together.
#[derive(Debug)]
pub struct PlannedWindow {
    /// First entry of any of them.
    pub first_entry: u64,
    /// The baskets, in the order of their entries.
    pub baskets: Vec<PlannedBasket>,
    /// The reads. Members are places in `baskets`.
    pub spans: Vec<Span>,
}

/// A basket in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedBasket {
    /// Place of its column in the plan.
    pub column: u32,
    /// Place among the baskets of the column.
    pub basket: u32,
    /// As what it comes from the batch before this one; if as nothing, it is fetched.
    pub carried: Keeping,
    /// As what it is kept for the next batch.
    pub kept: Keeping,
}

impl PlannedBasket {
    /// A basket that is fetched, and kept if the next batch needs it too and there is room.
    pub(crate) fn new(column: usize, basket: usize, is_needed_again: bool) -> Self {
        PlannedBasket {
            column: u32::try_from(column).unwrap_or(u32::MAX),
            basket: u32::try_from(basket).unwrap_or(u32::MAX),
            carried: Keeping::Nothing,
            kept: if is_needed_again { Keeping::Unpacked } else { Keeping::Nothing },
        }
    }

    /// What tells it apart from others.
    pub(crate) fn key(&self) -> (u32, u32) {
        (self.column, self.basket)
    }

    /// Whether it is read from the file, unless it is in the tree's record.
    pub fn is_fetched(&self) -> bool {
        self.carried == Keeping::Nothing
    }
}

impl BatchEntries {
    /// Number of entries that are delivered.
    pub fn n_delivered(&self) -> u64 {
        match self {
            BatchEntries::Range(range) => range.end - range.start,
            BatchEntries::List { order: Some(order), .. } => order.len() as u64,
            BatchEntries::List { sorted, order: None } => sorted.len() as u64,
        }
    }

    /// First entry, 0 if there is none.
    pub fn first(&self) -> u64 {
        match self {
            BatchEntries::Range(range) => range.start,
            BatchEntries::List { sorted, .. } => sorted.first().copied().unwrap_or(0),
        }
    }

    /// Number in the tree of the entry at a place among those that are read.
    pub(crate) fn number(&self, place: usize) -> u64 {
        match self {
            BatchEntries::Range(range) => range.start.saturating_add(place as u64),
            BatchEntries::List { sorted, .. } => sorted.get(place).copied().unwrap_or(0),
        }
    }

    /// Whether any of them is in the basket.
    fn touches(&self, basket: &BasketLocation) -> bool {
        match self {
            BatchEntries::Range(range) => basket.first_entry < range.end && range.start < basket.entry_end,
            BatchEntries::List { sorted, .. } => {
                let next = sorted.partition_point(|&entry| entry < basket.first_entry);
                sorted.get(next).is_some_and(|&entry| entry < basket.entry_end)
            }
        }
    }

    fn span(&self) -> Range<u64> {
        match self {
            BatchEntries::Range(range) => range.clone(),
            BatchEntries::List { sorted, .. } => self.first()..sorted.last().map_or(0, |&last| last + 1),
        }
    }
}

impl Plan {
    /// Plans a request. `is_remote`: reading again costs more than memory.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for entries that are not there; [`Error::Format`] for columns that cannot be read.
    pub fn new(tree: &Tree, request: &Request, style: &ReadStyle, is_remote: bool) -> Result<Plan> {
        let mut columns = Vec::with_capacity(request.columns.len());
        let mut fields: Vec<Field> = Vec::with_capacity(request.columns.len());
        let mut types = ArrowTypes::new(request.text);
        for (branch, name) in &request.columns {
            if request.raw {
                fields.push(types.arrow_field(name, &DataType::Bytes));
                columns.push(planned(tree, *branch, Column::of_bytes(tree.type_name(*branch)?))?);
                continue;
            }
            fields.push(tree.field_among(*branch, name, &mut types)?);
            columns.push(planned_column(tree, *branch)?);
        }
        let n_entries = tree.n_entries();
        let density = || density(&columns, n_entries);
        let size =
            request.batch_bytes.filter(|_| !columns.is_empty()).map(|n_bytes| BatchSize::new(n_bytes, density()));
        let batches = match &request.entries {
            Entries::Range(range) if range.start > range.end || range.end > n_entries => {
                return Err(Error::InvalidRequest {
                    what: format!("entries {} to {} of a tree with {n_entries}", range.start, range.end),
                });
            }
            Entries::Range(range) => {
                // Before they are cut: how many a tree says it has may be wrong.
                columns.iter().try_for_each(|column| check_cover(tree, column, range))?;
                cut_range(range, size.as_ref(), || tree.clusters().into_owned())?
            }
            Entries::List(list) => {
                if let Some(&wrong) = list.iter().find(|&&entry| entry >= n_entries) {
                    return Err(Error::InvalidRequest { what: format!("entry {wrong} of a tree with {n_entries}") });
                }
                cut_list(list, size.as_ref())
            }
        };
        let style = style.within(request.moving_budget_bytes());
        // First basket of each column that the next batch may need.
        let mut next: Vec<usize> = vec![0; columns.len()];
        let mut baskets = Vec::with_capacity(batches.len());
        for (place, entries) in batches.iter().enumerate() {
            baskets.push(baskets_of_batch(tree, &columns, entries, batches.get(place + 1), &mut next)?);
        }
        let keeper = Keeper { max_bytes: request.kept_budget_bytes(), keeps_stored: is_remote };
        let n_repeated = keeper.decide(&mut baskets, |basket| kept_sizes(&columns, basket));
        let (planned, max_gap_bytes) = cut_windows(&columns, batches, baskets, style, &tree.clusters());
        let n_delivered = planned.iter().map(|batch| batch.entries.n_delivered()).sum();
        Ok(Plan {
            columns,
            batches: planned,
            n_entries: n_delivered,
            style,
            n_repeated,
            max_gap_bytes,
            schema: Schema::new(fields).into(),
            pages: None,
        })
    }

    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// All windows.
    pub fn windows(&self) -> impl Iterator<Item = &PlannedWindow> {
        self.batches.iter().flat_map(|batch| &batch.windows)
    }

    /// What lies between two baskets is read with them if it is not more than this, in bytes.
    pub fn max_gap_bytes(&self) -> u64 {
        self.max_gap_bytes
    }

    /// What will be read, in this order; for a layer that wants to be told.
    pub fn wanted(&self) -> Vec<Wanted> {
        let baskets = self.windows().flat_map(|window| &window.baskets);
        baskets.map(|basket| wanted(&self.columns, basket)).collect()
    }

    /// Number of baskets that are decompressed, each time that they are. Those that were when the plan was made, and are not
    /// again, are among them.
    pub fn n_baskets(&self) -> u64 {
        let in_windows: u64 = self.windows().map(PlannedWindow::n_decompressed).sum();
        in_windows + self.pages.as_ref().map_or(0, |pages| pages.looked_into.len() as u64)
    }

    /// Number of reads.
    pub fn n_reads(&self) -> u64 {
        self.windows().map(|window| window.spans.len() as u64).sum()
    }

    /// Bytes that are read.
    pub fn read_bytes(&self) -> u64 {
        self.windows().flat_map(|window| &window.spans).map(|span| span.range.end - span.range.start).sum()
    }

    /// Bytes of baskets among them.
    pub fn payload_bytes(&self) -> u64 {
        self.windows().map(|window| window.payload_bytes(&self.columns)).sum()
    }

    /// Place and size of a basket.
    pub(crate) fn location(&self, basket: &PlannedBasket) -> &BasketLocation {
        location(&self.columns, basket)
    }
}

fn location<'p>(columns: &'p [PlannedColumn], basket: &PlannedBasket) -> &'p BasketLocation {
    &columns[basket.column as usize].baskets[basket.basket as usize]
}

impl PlannedWindow {
    /// Number of baskets that are decompressed for it.
    pub fn n_decompressed(&self) -> u64 {
        self.baskets.iter().filter(|basket| basket.carried != Keeping::Unpacked).count() as u64
    }

    /// Bytes of baskets in the file.
    pub fn payload_bytes(&self, columns: &[PlannedColumn]) -> u64 {
        self.baskets
            .iter()
            .filter(|basket| basket.is_fetched())
            .map(|basket| u64::from(location(columns, basket).stored_bytes))
            .sum()
    }
}

pub(crate) fn planned_column(tree: &Tree, branch: BranchId) -> Result<PlannedColumn> {
    planned(tree, branch, tree.readable_column(branch)?.clone())
}

/// The same for a branch that counts the items of others: it may be the group of these.
pub(crate) fn planned_counter(tree: &Tree, branch: BranchId) -> Result<PlannedColumn> {
    match Column::of_counts(tree.branch(branch)) {
        Some(column) => planned(tree, branch, column),
        None => planned_column(tree, branch),
    }
}

fn planned(tree: &Tree, branch: BranchId, column: Column) -> Result<PlannedColumn> {
    let metadata = tree.branch(branch);
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let ratio = (metadata.memory_bytes as f64 / metadata.stored_bytes.max(1) as f64).clamp(1.0, MAX_RATIO as f64);
    Ok(PlannedColumn {
        path: tree.path(branch).to_owned(),
        content: Content::Branch(branch, column),
        baskets: tree.baskets(branch)?,
        ratio,
    })
}

/// What a basket takes if it is kept, as far as its branch tells.
fn kept_sizes(columns: &[PlannedColumn], basket: &PlannedBasket) -> KeptSizes {
    let location = location(columns, basket);
    let stored_bytes = location.embedded.is_none().then_some(u64::from(location.stored_bytes));
    KeptSizes { stored_bytes, unpacked_bytes: columns[basket.column as usize].unpacked_bytes(location) }
}

/// The baskets that a batch needs, by their first entry and place in the file.
fn baskets_of_batch(
    tree: &Tree,
    columns: &[PlannedColumn],
    entries: &BatchEntries,
    following: Option<&BatchEntries>,
    next: &mut [usize],
) -> Result<Vec<PlannedBasket>> {
    let span = entries.span();
    let mut baskets = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        check_cover(tree, column, &span)?;
        let is_forward = following.is_none_or(|following| following.span().start >= span.start);
        let mut index = if matches!(entries, BatchEntries::Range(_)) { next[place] } else { 0 };
        index = index.max(column.baskets.partition_point(|basket| basket.entry_end <= span.start));
        while let Some(basket) = column.baskets.get(index).filter(|basket| basket.first_entry < span.end) {
            if entries.touches(basket) {
                check_claim(tree, column, basket)?;
                let needed_again = is_forward
                    && matches!(entries, BatchEntries::Range(_))
                    && following.is_some_and(|following| following.touches(basket));
                if needed_again {
                    next[place] = index;
                }
                baskets.push(PlannedBasket::new(place, index, needed_again));
            }
            index += 1;
        }
    }
    baskets.sort_by_key(|basket| {
        let location = location(columns, basket);
        (location.first_entry, location.offset, basket.column)
    });
    Ok(baskets)
}

/// The entries that a basket is said to hold must be possible: memory is set aside for them before it is read.
fn check_claim(tree: &Tree, column: &PlannedColumn, basket: &BasketLocation) -> Result<()> {
    let n_entries = basket.entry_end - basket.first_entry;
    let entry_bytes = match column.form() {
        Some(EntryForm::Fixed { number, dims }) => fixed_bytes(dims, number.stored_bytes()) as u64,
        _ => 1,
    };
    let most_bytes = match basket.embedded {
        Some(place) => {
            let embedded = column.branch().and_then(|branch| tree.branch(branch).embedded.get(place));
            let data = embedded.map_or(0, |embedded| embedded.data.len() as u64);
            if matches!(column.form(), Some(EntryForm::Fixed { .. })) { data } else { u64::MAX }
        }
        None => u64::from(basket.stored_bytes).saturating_mul(MAX_RATIO),
    };
    if n_entries.saturating_mul(entry_bytes) <= most_bytes {
        return Ok(());
    }
    let what = format!("{n_entries} entries of {entry_bytes} bytes in a basket of {} bytes", basket.stored_bytes);
    let mut error = arrowroot_format::Error::corrupt(0, what);
    if let Some(branch) = column.branch() {
        error = error.placed(tree.basket_place(branch, basket));
    }
    Err(format_error(tree.file().source().as_ref(), &column.path, error))
}

/// All entries must be in some basket: a branch may be shorter than its tree.
fn check_cover(tree: &Tree, column: &PlannedColumn, span: &Range<u64>) -> Result<()> {
    let mut covered = span.start;
    let first = column.baskets.partition_point(|basket| basket.entry_end <= span.start);
    for basket in &column.baskets[first..] {
        if covered >= span.end || basket.first_entry > covered {
            break;
        }
        covered = basket.entry_end;
    }
    let Some(branch) = column.branch().filter(|_| covered < span.end) else { return Ok(()) };
    let branch = tree.branch(branch);
    Err(Error::InvalidRequest {
        what: format!(
            "{}: branch {:?} has entries {} to {} of the tree's {}, and none for entry {covered}: \
             read it alone with that range, or leave it out",
            tree.file().url(),
            column.path,
            branch.first_entry,
            branch.entry_end,
            tree.n_entries()
        ),
    })
}

/// Cuts what batches need into windows. Returns the batches, and the largest gap in bytes that is read rather than skipped.
pub(crate) fn cut_windows(
    columns: &[PlannedColumn],
    batches: Vec<BatchEntries>,
    baskets: Vec<Vec<PlannedBasket>>,
    style: ReadStyle,
    clusters: &[u64],
) -> (Vec<PlannedBatch>, u64) {
    let mut planner = Planner::new(style, clusters);
    let mut planned = Vec::with_capacity(batches.len());
    let mut max_gap_bytes = 0;
    for (entries, baskets) in batches.into_iter().zip(baskets) {
        let wanted: Vec<Wanted> = baskets.iter().map(|basket| wanted(columns, basket)).collect();
        let windows = planner.plan(&wanted).into_iter().map(|window| {
            max_gap_bytes = max_gap_bytes.max(window.max_gap_bytes);
            let mut spans = window.spans;
            for member in spans.iter_mut().flat_map(|span| &mut span.members) {
                *member -= window.pieces.start;
            }
            let first_entry = wanted[window.pieces.start].first_entry;
            PlannedWindow { first_entry, baskets: baskets[window.pieces].to_vec(), spans }
        });
        planned.push(PlannedBatch { windows: windows.collect(), entries });
    }
    (planned, max_gap_bytes)
}

/// A basket as the planner of windows takes it.
fn wanted(columns: &[PlannedColumn], basket: &PlannedBasket) -> Wanted {
    let location = location(columns, basket);
    Wanted {
        range: location.offset..location.offset.saturating_add(u64::from(location.stored_bytes)),
        first_entry: location.first_entry,
        branch: basket.column,
        is_fetched: basket.is_fetched() && location.embedded.is_none(),
    }
}
