//! The read plan of a tree: which baskets of which branches a batch needs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use arrowroot_arrow::ArrowTypes;
use arrowroot_file::{Error, Result, format_error};
use arrowroot_format::column::{Column, Counter, DataType, EntryForm, Header};
use arrowroot_format::streamer::Primitive;
use arrowroot_format::tree::BranchId;
use arrowroot_storage::ReadStyle;

use super::Tree;
use crate::scan::{
    BatchEntries, BatchSize, Density, Draft, Entries, KeptSizes, MAX_RATIO, Order, Piece, PieceBound, Plan,
    PlannedColumn, PlannedPiece, Request, cut_list, cut_range,
};
use crate::table::Table;

/// A branch that is read, and what it holds.
pub(crate) struct ReadBranch {
    pub(crate) id: BranchId,
    pub(crate) column: Column,
    pub(crate) planned: Arc<PlannedColumn>,
}

impl ReadBranch {
    /// A column of a tree.
    pub(crate) fn new(tree: &Tree, id: BranchId) -> Result<ReadBranch> {
        Self::of(tree, id, tree.readable_column(id)?.clone())
    }

    /// A branch that counts the items of others: it may be the group of these.
    pub(crate) fn counter(tree: &Tree, id: BranchId) -> Result<ReadBranch> {
        match Column::of_counts(tree.branch(id)) {
            Some(column) => Self::of(tree, id, column),
            None => Self::new(tree, id),
        }
    }

    fn of(tree: &Tree, id: BranchId, column: Column) -> Result<ReadBranch> {
        let metadata = tree.branch(id);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let ratio = (metadata.memory_bytes as f64 / metadata.stored_bytes.max(1) as f64).clamp(1.0, MAX_RATIO as f64);
        let planned = PlannedColumn { path: tree.branch_path(id).to_owned(), pieces: tree.baskets(id)?, ratio };
        Ok(ReadBranch { id, column, planned: Arc::new(planned) })
    }

    /// How its entries are laid out.
    pub(crate) fn form(&self) -> Option<&EntryForm> {
        self.column.form.as_ref()
    }

    fn piece(&self, planned: &PlannedPiece) -> &Piece {
        &self.planned.pieces[planned.piece as usize]
    }

    /// Bytes of a basket once it is uncompressed, about.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
    fn unpacked_bytes(&self, basket: &Piece) -> u64 {
        (f64::from(basket.stored_bytes) * self.planned.ratio) as u64
    }
}

/// Plans a request of columns with their names. Returns the plan, and the branches in its order. `nested`: the schema of the
/// batches, if it is not that of these columns; `is_remote`: reading again costs more than memory.
///
/// # Errors
/// [`Error::InvalidRequest`] for entries that are not there; [`Error::Format`] for columns that cannot be read.
pub(crate) fn plan(
    tree: &Tree,
    columns: &[(BranchId, String)],
    nested: Option<SchemaRef>,
    request: &Request,
    style: &ReadStyle,
    is_remote: bool,
) -> Result<(Plan, Vec<ReadBranch>, SchemaRef)> {
    let mut branches = Vec::with_capacity(columns.len());
    let mut fields: Vec<Field> = Vec::with_capacity(columns.len());
    let mut types = ArrowTypes::new(request.text);
    for (id, name) in columns {
        if request.raw {
            fields.push(types.arrow_field(name, &DataType::Bytes));
            branches.push(ReadBranch::of(tree, *id, Column::of_bytes(tree.type_name(*id)?))?);
            continue;
        }
        fields.push(tree.field_among(*id, name, &mut types)?);
        branches.push(ReadBranch::new(tree, *id)?);
    }
    let n_entries = tree.n_entries();
    request.entries.span(n_entries, "a tree")?;
    let size = BatchSize::of(request, || density(&branches, n_entries));
    let batches = match &request.entries {
        Entries::Range(range) => {
            // Before they are cut: how many a tree says it has may be wrong.
            branches.iter().try_for_each(|branch| check_cover(tree, branch, range))?;
            cut_range(range, size.as_ref(), || tree.cluster_starts().into_owned())?
        }
        Entries::List(list) => cut_list(list, size.as_ref()),
    };
    // First basket of each branch that the next batch may need.
    let mut next: Vec<usize> = vec![0; branches.len()];
    let columns: Vec<Arc<PlannedColumn>> = branches.iter().map(|branch| Arc::clone(&branch.planned)).collect();
    let mut bound = PieceBound::of(&columns);
    let mut pieces = Vec::with_capacity(batches.len());
    for (index, entries) in batches.iter().enumerate() {
        let baskets = baskets_of_batch(tree, &branches, request.order, entries, batches.get(index + 1), &mut next)?;
        bound.add(baskets.len())?;
        pieces.push(baskets);
    }
    let schema: SchemaRef = Schema::new(fields).into();
    let draft = Draft {
        columns,
        schema: nested.unwrap_or_else(|| Arc::clone(&schema)),
        batches,
        pieces,
        clusters: tree.cluster_starts().into_owned(),
    };
    let plan = draft.plan(request, style, is_remote, |basket| kept_sizes(&branches, basket));
    Ok((plan, branches, schema))
}

/// What a basket takes if it is kept, as far as its branch tells.
fn kept_sizes(columns: &[ReadBranch], basket: &PlannedPiece) -> KeptSizes {
    let column = &columns[basket.column as usize];
    let location = column.piece(basket);
    let stored_bytes = location.embedded.is_none().then_some(u64::from(location.stored_bytes));
    KeptSizes { stored_bytes, unpacked_bytes: column.unpacked_bytes(location) }
}

/// The baskets that a batch needs, in the order of need.
fn baskets_of_batch(
    tree: &Tree,
    columns: &[ReadBranch],
    order: Order,
    entries: &BatchEntries,
    following: Option<&BatchEntries>,
    next: &mut [usize],
) -> Result<Vec<PlannedPiece>> {
    let span = entries.span();
    let mut baskets = Vec::new();
    for (number, column) in columns.iter().enumerate() {
        check_cover(tree, column, &span)?;
        let is_range = matches!(entries, BatchEntries::Range(_));
        let keeps = match order {
            Order::Cluster => is_range && following.is_some_and(|following| following.span().start >= span.start),
            // Reading entry by entry keeps the basket of the last entry in hand.
            Order::Entry => following.is_some_and(|following| entries.is_before(following)),
        };
        let mut index = if is_range { next[number] } else { 0 };
        index = index.max(column.planned.pieces.partition_point(|basket| basket.entry_end <= span.start));
        while let Some(basket) = column.planned.pieces.get(index).filter(|basket| basket.first_entry < span.end) {
            if entries.touches(basket) {
                check_claim(tree, column, basket)?;
                let needed_again = keeps && following.is_some_and(|following| following.touches(basket));
                if needed_again {
                    next[number] = index;
                }
                baskets.push(PlannedPiece::new(number, index, needed_again));
            }
            index += 1;
        }
    }
    let location = |basket: &PlannedPiece| columns[basket.column as usize].piece(basket);
    match order {
        Order::Cluster => baskets.sort_by_key(|basket| {
            let location = location(basket);
            (location.first_entry, location.offset, basket.column)
        }),
        Order::Entry => baskets.sort_by_key(|basket| (entries.first_in(location(basket)), basket.column)),
    }
    Ok(baskets)
}

/// The entries that a basket is said to hold must be possible: memory is set aside for them before it is read.
fn check_claim(tree: &Tree, column: &ReadBranch, basket: &Piece) -> Result<()> {
    let n_entries = basket.entry_end - basket.first_entry;
    let entry_bytes = match column.form() {
        Some(EntryForm::Fixed { number, dims }) => fixed_bytes(dims, number.stored_bytes()) as u64,
        _ => 1,
    };
    let most_bytes = match basket.embedded {
        Some(index) => {
            let embedded = tree.branch(column.id).embedded.get(index);
            let data = embedded.map_or(0, |embedded| embedded.data.len() as u64);
            if matches!(column.form(), Some(EntryForm::Fixed { .. })) { data } else { u64::MAX }
        }
        None => u64::from(basket.stored_bytes).saturating_mul(MAX_RATIO),
    };
    if n_entries.saturating_mul(entry_bytes) <= most_bytes {
        return Ok(());
    }
    let what = format!("{n_entries} entries of {entry_bytes} bytes in a basket of {} bytes", basket.stored_bytes);
    let error = arrowroot_format::Error::corrupt(0, what).placed(tree.basket_place(column.id, basket));
    Err(format_error(tree.file().source().as_ref(), &column.planned.path, error))
}

/// All entries must be in some basket: a branch may be shorter than its tree.
fn check_cover(tree: &Tree, column: &ReadBranch, span: &Range<u64>) -> Result<()> {
    let mut covered = span.start;
    let first = column.planned.pieces.partition_point(|basket| basket.entry_end <= span.start);
    for basket in &column.planned.pieces[first..] {
        if covered >= span.end || basket.first_entry > covered {
            break;
        }
        covered = basket.entry_end;
    }
    if covered >= span.end {
        return Ok(());
    }
    let branch = tree.branch(column.id);
    Err(Error::InvalidRequest {
        what: format!(
            "{}: branch {:?} has entries {} to {} of the tree's {}, and none for entry {covered}: \
             read it alone with that range, or leave it out",
            tree.file().url(),
            column.planned.path,
            branch.first_entry,
            branch.entry_end,
            tree.n_entries()
        ),
    })
}

/// Which column has the ends of the lists of this one, if not itself: both have the same counter.
pub(super) fn leader_of(column: &ReadBranch, index: usize, leaders: &mut HashMap<Counter, usize>) -> Option<usize> {
    let counter = match column.form() {
        Some(EntryForm::Jagged { header: Header::Nothing, number, .. }) if !number.is_packed() => {
            column.column.counter?
        }
        _ => return None,
    };
    let leader = *leaders.entry(counter).or_insert(index);
    (leader != index).then_some(leader)
}

pub(super) fn product(dims: &[u32]) -> usize {
    dims.iter().fold(1_usize, |product, &dim| product.saturating_mul(dim as usize))
}

/// Bytes of the entries of a tree in memory, by where they are.
fn density(columns: &[ReadBranch], n_entries: u64) -> Density {
    let mut leaders = HashMap::new();
    let mut each_bytes = 0.0;
    let mut in_baskets: Vec<(&ReadBranch, Option<Header>)> = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        match column.form() {
            Some(EntryForm::Fixed { number, dims }) if number.primitive == Primitive::Bool => {
                each_bytes += product(dims) as f64 / 8.0;
            }
            Some(EntryForm::Fixed { number, dims }) => {
                each_bytes += product(dims).saturating_mul(number.in_memory().stored_bytes()) as f64;
            }
            Some(EntryForm::Jagged { header, number, .. }) if !number.is_packed() => {
                let has_ends = leader_of(column, index, &mut leaders).is_none();
                each_bytes += if has_ends { 4.0 } else { 0.0 };
                in_baskets.push((column, Some(*header)));
            }
            _ => in_baskets.push((column, None)),
        }
    }
    let mut density = Density::new(n_entries, each_bytes);
    for (column, header) in in_baskets {
        for basket in &column.planned.pieces {
            let payload = f64::from(basket.stored_bytes) * column.planned.ratio;
            let n_bytes = header.map_or(payload, |header| item_bytes(basket, payload, header));
            density.add(&(basket.first_entry..basket.entry_end), n_bytes);
        }
    }
    density
}

/// Bytes of the items in a basket of lists whose payload has so many.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(super) fn item_bytes(basket: &Piece, payload_bytes: f64, header: Header) -> f64 {
    // Headers and, behind them, entry offsets are in the basket, but not in the column.
    let overhead = (basket.entry_end - basket.first_entry) as f64 * (header.n_bytes() as f64 + 4.0);
    (payload_bytes - overhead).max(payload_bytes / 16.0)
}

/// Bytes of an entry of numbers.
pub(crate) fn fixed_bytes(dims: &[u32], number_bytes: usize) -> usize {
    dims.iter().fold(number_bytes, |product, &dim| product.saturating_mul(dim as usize))
}

#[cfg(test)]
mod tests {
    use super::fixed_bytes;

    #[test]
    fn sizes_beyond_the_address_space_stay_at_its_end() {
        assert_eq!(fixed_bytes(&[2, 3], 4), 24);
        assert_eq!(fixed_bytes(&[u32::MAX, u32::MAX, u32::MAX], 8), usize::MAX);
    }
}
