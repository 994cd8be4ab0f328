//! The read plan: which pieces, in which reads, for which batches. Plain data, made before the first read.
//!
//! A *piece* is what is compressed by itself: a piece of a tree, or a page of an RNTuple.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use arrowroot_file::{Error, Result};
use arrowroot_format::tree::BasketLocation;
use arrowroot_storage::{Planner, ReadStyle, Span, Wanted};

use super::keep::{Keeper, Keeping, KeptSizes};
use super::request::Request;

/// No codec of ROOT packs more than so many bytes into one: Zstandard comes to 32,000 with blocks of 16 MiB of zeros.
pub(crate) const MAX_RATIO: u64 = 1 << 16;

/// A read plan.
#[derive(Debug)]
pub struct Plan {
    /// What is read: the branches, or the columns of the fields, that the request needs.
    pub columns: Vec<Arc<PlannedColumn>>,
    /// The batches, in the order of delivery.
    pub batches: Vec<PlannedBatch>,
    /// Number of entries that will be delivered.
    pub n_entries: u64,
    /// How it is read.
    pub style: ReadStyle,
    /// How many times a piece is decompressed again: those that several batches need and that the memory budget has no room
    /// for.
    pub n_repeated: u64,
    /// A memory budget with which none is; 0 if this one does.
    pub enough_budget_bytes: u64,
    /// What is kept uncompressed between batches may take so much.
    pub(crate) kept_budget_bytes: u64,
    max_gap_bytes: u64,
    schema: SchemaRef,
    /// Pieces that were decompressed to make the plan, and are not again.
    pub(crate) n_looked_into: u64,
}

/// A column of a plan.
#[derive(Debug)]
pub struct PlannedColumn {
    /// Path of the branch in the tree, or of the field in the RNTuple.
    pub path: String,
    /// All its pieces, in the order of their entries.
    pub pieces: Vec<Piece>,
    /// Uncompressed bytes for each byte in the file, on average.
    pub ratio: f64,
}

/// Where a piece is, and the entries that it has values of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Bytes in the file; those of a piece include its key, those of a page its checksum.
    pub stored_bytes: u32,
    /// First entry.
    pub first_entry: u64,
    /// Entry after the last.
    pub entry_end: u64,
    /// Place among the pieces that are in the table's own record; `None` if it is read from the file.
    pub embedded: Option<usize>,
}

impl From<BasketLocation> for Piece {
    fn from(piece: BasketLocation) -> Piece {
        let BasketLocation { offset, stored_bytes, first_entry, entry_end, embedded } = piece;
        Piece { offset, stored_bytes, first_entry, entry_end, embedded }
    }
}

/// One batch: its entries, and the windows in which their pieces are read.
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

/// Pieces that are fetched together.
#[derive(Debug)]
pub struct PlannedWindow {
    /// The first entry that needs any of them.
    pub first_entry: u64,
    /// The pieces, in the order of need.
    pub pieces: Vec<PlannedPiece>,
    /// The reads. Members are places in `pieces`.
    pub spans: Vec<Span>,
}

/// A piece in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedPiece {
    /// Place of its column in the plan.
    pub column: u32,
    /// Place among the pieces of the column.
    pub piece: u32,
    /// As what it comes from the batch before this one; if as nothing, it is fetched.
    pub carried: Keeping,
    /// As what it is kept for the next batch.
    pub kept: Keeping,
}

impl PlannedPiece {
    /// A piece that is fetched, and kept if the next batch needs it too and there is room.
    pub(crate) fn new(column: usize, piece: usize, is_needed_again: bool) -> Self {
        PlannedPiece {
            column: u32::try_from(column).unwrap_or(u32::MAX),
            piece: u32::try_from(piece).unwrap_or(u32::MAX),
            carried: Keeping::Nothing,
            kept: if is_needed_again { Keeping::Unpacked } else { Keeping::Nothing },
        }
    }

    /// What tells it apart from others.
    pub(crate) fn key(&self) -> (u32, u32) {
        (self.column, self.piece)
    }

    /// Whether it is read from the file, unless it is in the table's record.
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

    /// Number in the table of the entry at a place among those that are read.
    pub(crate) fn number(&self, index: usize) -> u64 {
        match self {
            BatchEntries::Range(range) => range.start.saturating_add(index as u64),
            BatchEntries::List { sorted, .. } => sorted.get(index).copied().unwrap_or(0),
        }
    }

    /// Numbers in the table of some of the delivered entries, in order, by their indices among these.
    fn numbers(&self, indices: impl Iterator<Item = u64>) -> Vec<u64> {
        let at = |list: &[u64], index: u64| usize::try_from(index).ok().and_then(|index| list.get(index)).copied();
        match self {
            BatchEntries::Range(range) => indices.map(|index| range.start.saturating_add(index)).collect(),
            BatchEntries::List { sorted, order: None } => indices.filter_map(|index| at(sorted, index)).collect(),
            BatchEntries::List { sorted, order: Some(order) } => {
                let mut numbers: Vec<u64> =
                    indices.filter_map(|index| at(order, index)).filter_map(|index| at(sorted, index)).collect();
                numbers.sort_unstable();
                numbers
            }
        }
    }

    /// Whether any of them is in the piece.
    pub(crate) fn touches(&self, piece: &Piece) -> bool {
        match self {
            BatchEntries::Range(range) => piece.first_entry < range.end && range.start < piece.entry_end,
            BatchEntries::List { sorted, .. } => {
                let next = sorted.partition_point(|&entry| entry < piece.first_entry);
                sorted.get(next).is_some_and(|&entry| entry < piece.entry_end)
            }
        }
    }

    /// The first of them in a piece; if none is, what is behind its last entry or their own first.
    pub(crate) fn first_in(&self, piece: &Piece) -> u64 {
        match self {
            BatchEntries::Range(range) => piece.first_entry.max(range.start),
            BatchEntries::List { sorted, .. } => {
                let next = sorted.partition_point(|&entry| entry < piece.first_entry);
                sorted.get(next).copied().unwrap_or(piece.entry_end)
            }
        }
    }

    /// True if all that the next batch reads comes later.
    pub(crate) fn is_before(&self, next: &BatchEntries) -> bool {
        next.first() >= self.span().end
    }

    /// From the first entry to behind the last.
    pub(crate) fn span(&self) -> Range<u64> {
        match self {
            BatchEntries::Range(range) => range.clone(),
            BatchEntries::List { sorted, .. } => self.first()..sorted.last().map_or(0, |&last| last + 1),
        }
    }
}

impl Plan {
    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// All windows.
    pub fn windows(&self) -> impl Iterator<Item = &PlannedWindow> {
        self.batches.iter().flat_map(|batch| &batch.windows)
    }

    /// What lies between two pieces is read with them if it is not more than this, in bytes.
    pub fn max_gap_bytes(&self) -> u64 {
        self.max_gap_bytes
    }

    /// What will be read, in this order; for a layer that wants to be told.
    pub fn wanted(&self) -> Vec<Wanted> {
        let pieces = self.windows().flat_map(|window| &window.pieces);
        pieces.map(|piece| wanted(&self.columns, piece)).collect()
    }

    /// Number of pieces that are decompressed, each time that they are. Those that were when the plan was made, and are not
    /// again, are among them.
    pub fn n_pieces(&self) -> u64 {
        let in_windows: u64 = self.windows().map(PlannedWindow::n_decompressed).sum();
        in_windows + self.n_looked_into
    }

    /// Number of reads.
    pub fn n_reads(&self) -> u64 {
        self.windows().map(|window| window.spans.len() as u64).sum()
    }

    /// Bytes that are read.
    pub fn read_bytes(&self) -> u64 {
        self.windows().flat_map(|window| &window.spans).map(|span| span.range.end - span.range.start).sum()
    }

    /// Bytes of pieces among them.
    pub fn payload_bytes(&self) -> u64 {
        self.windows().map(|window| window.payload_bytes(&self.columns)).sum()
    }

    /// Bytes of the pieces that some of the delivered entries need, and of those that all of them need, in the file. A piece
    /// that several batches need counts for each. Pages of equal entries are taken to share these evenly.
    ///
    /// `rows`: indices among the delivered entries, in order.
    pub fn needed_bytes(&self, mut rows: &[u64]) -> (u64, u64) {
        let spread: Vec<Vec<Range<u64>>> = self.columns.iter().map(|column| spread(&column.pieces)).collect();
        let (mut needed_bytes, mut all_bytes) = (0_u64, 0_u64);
        let mut first = 0_u64;
        for batch in &self.batches {
            let end = first.saturating_add(batch.entries.n_delivered());
            let (here, later) = rows.split_at(rows.partition_point(|&row| row < end));
            rows = later;
            let wanted = batch.entries.numbers(here.iter().map(|row| row.saturating_sub(first)));
            for piece in batch.windows.iter().flat_map(|window| &window.pieces) {
                let entries = &spread[piece.column as usize][piece.piece as usize];
                let stored_bytes = u64::from(self.location(piece).stored_bytes);
                let next = wanted.partition_point(|&entry| entry < entries.start);
                all_bytes = all_bytes.saturating_add(stored_bytes);
                if wanted.get(next).is_some_and(|&entry| entry < entries.end) {
                    needed_bytes = needed_bytes.saturating_add(stored_bytes);
                }
            }
            first = end;
        }
        (needed_bytes, all_bytes)
    }

    /// Place and size of a piece.
    pub(crate) fn location(&self, piece: &PlannedPiece) -> &Piece {
        location(&self.columns, piece)
    }
}

/// The entries of each piece. Which entries of a cluster have the items of a page is not known before lists are read, so that
/// all pages of a column are said to have all of them: each gets its share.
fn spread(pieces: &[Piece]) -> Vec<Range<u64>> {
    let alike = pieces.chunk_by(|one, next| (one.first_entry, one.entry_end) == (next.first_entry, next.entry_end));
    let shares = alike.flat_map(|pieces| {
        let (first, n_pieces) = (pieces[0].first_entry, pieces.len() as u64);
        let n_entries = pieces[0].entry_end.saturating_sub(first);
        let at = move |index: u64| {
            let before = u128::from(n_entries) * u128::from(index) / u128::from(n_pieces);
            first.saturating_add(u64::try_from(before).unwrap_or(u64::MAX))
        };
        (0..n_pieces).map(move |index| at(index)..at(index + 1).max(at(index).saturating_add(1)))
    });
    shares.collect()
}

fn location<'p>(columns: &'p [Arc<PlannedColumn>], piece: &PlannedPiece) -> &'p Piece {
    &columns[piece.column as usize].pieces[piece.piece as usize]
}

impl PlannedWindow {
    /// Number of pieces that are decompressed for it.
    pub fn n_decompressed(&self) -> u64 {
        self.pieces.iter().filter(|piece| piece.carried != Keeping::Unpacked).count() as u64
    }

    /// Bytes of pieces in the file. Bytes that several pieces share, as equal pages of an RNTuple do, are counted once.
    pub fn payload_bytes(&self, columns: &[Arc<PlannedColumn>]) -> u64 {
        let fetched = self.pieces.iter().filter(|piece| piece.is_fetched());
        let mut ranges: Vec<(u64, u64)> = fetched
            .map(|piece| location(columns, piece))
            .map(|piece| (piece.offset, piece.offset.saturating_add(piece.stored_bytes.into())))
            .collect();
        ranges.sort_unstable();
        let mut covered = 0;
        let new_bytes = ranges.iter().map(|&(start, end)| {
            let before = covered;
            covered = covered.max(end);
            end.saturating_sub(start.max(before))
        });
        new_bytes.sum()
    }
}

/// A plan of so many pieces is made whatever the table has, and beyond these of so many for each piece of the table: small
/// batches need large pieces again and again, and each time is an element of the plan.
const MAX_PIECES: usize = 1 << 20;
const MAX_BATCHES_OF_PIECE: usize = 64;

/// The pieces of a plan that is being made, and how many there may be.
pub(crate) struct PieceBound {
    left: usize,
}

impl PieceBound {
    pub(crate) fn of(columns: &[Arc<PlannedColumn>]) -> PieceBound {
        let n_pieces = columns.iter().fold(0_usize, |sum, column| sum.saturating_add(column.pieces.len()));
        PieceBound { left: n_pieces.saturating_mul(MAX_BATCHES_OF_PIECE).saturating_add(MAX_PIECES) }
    }

    /// Adds the pieces of a batch.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if they are too many.
    pub(crate) fn add(&mut self, n_pieces: usize) -> Result<()> {
        let left = self.left.checked_sub(n_pieces).ok_or_else(|| {
            let what =
                "batches that are so small that most of their data are needed many times: set a larger batch size";
            Error::InvalidRequest { what: what.to_owned() }
        });
        left.map(|left| self.left = left)
    }
}

/// What is read for which batch, before it is cut into windows.
pub(crate) struct Draft {
    pub(crate) columns: Vec<Arc<PlannedColumn>>,
    /// Schema of the batches.
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<BatchEntries>,
    /// For each batch the pieces that it needs, in the order of need.
    pub(crate) pieces: Vec<Vec<PlannedPiece>>,
    /// First entries of the clusters, and the end of the last.
    pub(crate) clusters: Vec<u64>,
}

impl Draft {
    /// Decides what is kept between batches, and cuts what each needs into windows.
    pub(crate) fn plan(
        self,
        request: &Request,
        style: &ReadStyle,
        is_remote: bool,
        sizes: impl Fn(&PlannedPiece) -> KeptSizes,
    ) -> Plan {
        let Draft { columns, schema, batches, mut pieces, clusters } = self;
        let kept_budget_bytes = request.kept_budget_bytes();
        let keeper = Keeper { max_bytes: kept_budget_bytes, keeps_stored: is_remote };
        let (n_repeated, most_bytes) = keeper.decide(&mut pieces, sizes);
        let enough_budget_bytes = if n_repeated > 0 { request.budget_to_keep(most_bytes) } else { 0 };
        let style = style.within(request.moving_budget_bytes());
        let mut planner = Planner::new(style, &clusters);
        let mut max_gap_bytes = 0;
        let planned = batches.into_iter().zip(pieces).map(|(entries, pieces)| {
            let wanted: Vec<Wanted> = pieces.iter().map(|piece| wanted(&columns, piece)).collect();
            let windows = planner.plan(&wanted).into_iter().map(|window| {
                max_gap_bytes = max_gap_bytes.max(window.max_gap_bytes);
                let mut spans = window.spans;
                for member in spans.iter_mut().flat_map(|span| &mut span.members) {
                    *member -= window.pieces.start;
                }
                let first_entry = entries.first_in(location(&columns, &pieces[window.pieces.start]));
                PlannedWindow { first_entry, pieces: pieces[window.pieces].to_vec(), spans }
            });
            PlannedBatch { windows: windows.collect(), entries }
        });
        let planned: Vec<PlannedBatch> = planned.collect();
        let n_entries = planned.iter().map(|batch| batch.entries.n_delivered()).sum();
        Plan {
            columns,
            batches: planned,
            n_entries,
            style,
            n_repeated,
            enough_budget_bytes,
            kept_budget_bytes,
            max_gap_bytes,
            schema,
            n_looked_into: 0,
        }
    }
}

/// A piece as the planner of windows takes it.
fn wanted(columns: &[Arc<PlannedColumn>], piece: &PlannedPiece) -> Wanted {
    let location = location(columns, piece);
    Wanted {
        range: location.offset..location.offset.saturating_add(u64::from(location.stored_bytes)),
        first_entry: location.first_entry,
        branch: piece.column,
        is_fetched: piece.is_fetched() && location.embedded.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_pieces_share_are_counted_once() {
        let at = |offset, stored_bytes| Piece { offset, stored_bytes, first_entry: 0, entry_end: 1, embedded: None };
        let pieces = vec![at(100, 10), at(0, 4), at(100, 10), at(105, 20), at(106, 2)];
        let columns = [Arc::new(PlannedColumn { path: "x".to_owned(), pieces, ratio: 1.0 })];
        let planned = (0..5).map(|piece| PlannedPiece::new(0, piece, false)).collect();
        let window = PlannedWindow { first_entry: 0, pieces: planned, spans: Vec::new() };
        assert_eq!(window.payload_bytes(&columns), 4 + 25);
    }

    #[test]
    fn needed_are_the_pieces_with_some_of_the_rows() {
        let piece = |stored_bytes, first_entry, entry_end| Piece {
            offset: 0,
            stored_bytes,
            first_entry,
            entry_end,
            embedded: None,
        };
        // Two pages of items of the same twenty entries: the first is of the first ten.
        let columns = [vec![piece(1, 0, 10), piece(2, 10, 20)], vec![piece(4, 0, 20), piece(8, 0, 20)]];
        let columns =
            columns.map(|pieces| Arc::new(PlannedColumn { path: "x".to_owned(), pieces, ratio: 1.0 })).to_vec();
        let batch = |entries, pieces: &[(usize, usize)]| {
            let pieces = pieces.iter().map(|&(column, piece)| PlannedPiece::new(column, piece, false)).collect();
            PlannedBatch { entries, windows: vec![PlannedWindow { first_entry: 0, pieces, spans: Vec::new() }] }
        };
        let all = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let plan = |batches| Plan {
            columns: columns.clone(),
            batches,
            n_entries: 20,
            style: ReadStyle {
                grouping: arrowroot_storage::Grouping::Windows,
                window_bytes: 1,
                limits: None,
                n_ahead: 0,
            },
            n_repeated: 0,
            enough_budget_bytes: 0,
            kept_budget_bytes: 0,
            max_gap_bytes: 0,
            schema: Arc::new(arrow_schema::Schema::empty()),
            n_looked_into: 0,
        };
        let whole = plan(vec![batch(BatchEntries::Range(0..20), &all)]);
        assert_eq!(whole.needed_bytes(&[]), (0, 15));
        assert_eq!(whole.needed_bytes(&[3, 9]), (1 + 4, 15));
        assert_eq!(whole.needed_bytes(&[10]), (2 + 8, 15));
        assert_eq!(whole.needed_bytes(&[0, 19]), (15, 15));
        // Rows count from the first entry that is delivered, over batches, and by the order that was asked for.
        let halves = [BatchEntries::Range(5..10), BatchEntries::Range(10..20)];
        let [first, second] = halves.map(|entries| match entries.first() {
            5 => batch(entries, &[(0, 0), (1, 0)]),
            _ => batch(entries, &[(0, 1), (1, 1)]),
        });
        assert_eq!(plan(vec![first, second]).needed_bytes(&[5]), (2 + 8, 15));
        let list = BatchEntries::List { sorted: vec![4, 12], order: Some(vec![1, 0]) };
        assert_eq!(plan(vec![batch(list, &all)]).needed_bytes(&[1]), (1 + 4, 15));
    }

    #[test]
    fn a_piece_is_planned_for_a_bounded_number_of_batches() {
        let piece = Piece { offset: 0, stored_bytes: 1, first_entry: 0, entry_end: 1, embedded: None };
        let column = PlannedColumn { path: "x".to_owned(), pieces: vec![piece; 10], ratio: 1.0 };
        let mut bound = PieceBound::of(&[Arc::new(column)]);
        bound.add(MAX_PIECES).unwrap();
        bound.add(10 * MAX_BATCHES_OF_PIECE).unwrap();
        assert!(bound.add(1).unwrap_err().to_string().contains("set a larger batch size"));
    }
}
