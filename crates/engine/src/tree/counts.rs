//! Values of branches that count what others hold: read beside these, by whole baskets.

use std::ops::Range;

use arrowroot_format as format;
use arrowroot_format::Place;
use arrowroot_format::column::{CountedHead, Counter, EntryForm, Framing, Node};
use arrowroot_format::decode::{Reader, Values};
use arrowroot_format::tree::{BasketHead, BranchId};

use arrowroot_file::{PooledScratch, Result, format_error, read_range};

use super::Tree;
use super::basket::unpack_record;
use super::head::range_of;
use super::plan::ReadBranch;
use crate::scan::{Piece, ScanView};

/// Numbers of items of arrays, one array for each object of a split collection.
#[derive(Debug)]
pub(crate) struct ItemCounts {
    /// Numbers of objects up to the end of each entry.
    ends: Vec<usize>,
    counts: Vec<i64>,
}

impl ItemCounts {
    /// For each entry one number: that of its objects.
    pub(crate) fn of_objects(counts: &[u32]) -> Self {
        ItemCounts {
            ends: (1..=counts.len()).collect(),
            counts: counts.iter().map(|&count| i64::from(count)).collect(),
        }
    }

    /// Those of an entry, counted from the first one; `None` if it has none.
    pub(crate) fn of_entry(&self, entry: usize) -> Option<&[i64]> {
        let start = entry.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.counts.get(start..*self.ends.get(entry)?)
    }

    /// Where the entries of a basket begin, as [`Offsets::Given`](super::basket::Offsets::Given) has it; `None` if the
    /// counts do not tell.
    pub(crate) fn offsets(&self, form: &EntryForm, head: &BasketHead) -> Option<Vec<u8>> {
        let EntryForm::Streamed { node: Node::ArrayOfEach { item, factor, head: CountedHead::Flag }, .. } = form else {
            return None;
        };
        let Node::Number(number) = &**item else { return None };
        let item_bytes = u64::from(*factor).checked_mul(number.stored_bytes() as u64)?;
        let mut offset = u64::from(head.key_bytes);
        let mut words = Vec::new();
        for entry in 0..head.n_entries as usize {
            words.extend_from_slice(&u32::try_from(offset).ok()?.to_be_bytes());
            for &count in self.of_entry(entry)? {
                let n_bytes = u64::try_from(count).ok()?.checked_mul(item_bytes)?.checked_add(1)?; // and the flag
                offset = offset.checked_add(n_bytes)?;
            }
        }
        Some(words)
    }
}

/// Where a number is in each entry of a basket.
struct CountPlace {
    offset: usize,
    n_bytes: usize,
    entry_bytes: usize,
}

impl CountPlace {
    /// `None` if the entries differ in size, or hold something else there.
    fn find(form: &EntryForm, leaf: usize) -> Option<Self> {
        match form {
            EntryForm::Fixed { number, dims } if dims.is_empty() && leaf == 0 => {
                let n_bytes = number.stored_bytes();
                Some(CountPlace { offset: 0, n_bytes, entry_bytes: n_bytes })
            }
            EntryForm::Streamed { framed: Framing::Bare, node: Node::Struct(leaves) } => {
                let Node::Number(number) = leaves.get(leaf)?.1 else { return None };
                let sizes: Option<Vec<usize>> = leaves.iter().map(|(_, node)| node.fixed_bytes()).collect();
                let sizes = sizes?;
                Some(CountPlace {
                    offset: sizes[..leaf].iter().sum(),
                    n_bytes: number.stored_bytes(),
                    entry_bytes: sizes.iter().sum(),
                })
            }
            _ => None,
        }
    }
}

/// Reads the values of a counter for at least the wanted entries; returns for which.
/// `of`: the branch with what is counted.
pub(crate) fn read_counts(
    view: &ScanView,
    tree: &Tree,
    of: &str,
    counter: Counter,
    wanted: &Range<u64>,
    scratch: &mut PooledScratch,
) -> Result<(Range<u64>, Vec<u32>)> {
    let column = ReadBranch::counter(tree, counter.branch)?;
    let in_branch = |error: format::Error| format_error(view.source(), &column.planned.path, error);
    let Some(at) = column.form().and_then(|form| CountPlace::find(form, counter.leaf)) else {
        let what = format!(
            "without entry offsets, counted by a leaf of branch {:?} that has no fixed place",
            column.planned.path
        );
        return Err(format_error(view.source(), of, format::Error::unsupported(0, what)));
    };
    let mut range = wanted.start..wanted.start;
    let mut counts = Vec::new();
    for location in touched(&column, wanted) {
        let (payload, _) = payload(view, tree, &column, location, scratch)?;
        if counts.is_empty() {
            range.start = location.first_entry;
        }
        // Counts are never negative: the low 4 bytes are the number.
        counts.extend(payload.chunks_exact(at.entry_bytes.max(1)).map(|entry| {
            let value = &entry[at.offset..at.offset + at.n_bytes];
            value.iter().fold(0_u32, |number, &byte| (number << 8) | u32::from(byte))
        }));
        range.end = location.entry_end;
    }
    if range.start > wanted.start || range.end < wanted.end || counts.len() as u64 != range.end - range.start {
        return Err(in_branch(format::Error::corrupt(0, format!("no counts for entries {wanted:?}"))));
    }
    Ok((range, counts))
}

/// Reads the numbers of items of the arrays of each object. `n_objects`: in each of the wanted entries.
pub(crate) fn read_item_counts(
    view: &ScanView,
    tree: &Tree,
    counter: BranchId,
    n_objects: Option<Vec<u32>>,
    wanted: &Range<u64>,
    scratch: &mut PooledScratch,
) -> Result<ItemCounts> {
    let column = ReadBranch::new(tree, counter)?;
    let in_branch = |error: format::Error| format_error(view.source(), &column.planned.path, error);
    let missing = |what: &str| in_branch(format::Error::corrupt(0, format!("{what} for entries {wanted:?}")));
    let Some(form @ EntryForm::Jagged { .. }) = column.form() else {
        return Err(in_branch(format::Error::unsupported(0, "a counter that is not a list of numbers")));
    };
    let n_objects = n_objects.ok_or_else(|| missing("nothing that counts objects"))?;
    let mut values = Values::empty(&form.data_type());
    let mut range = wanted.start..wanted.start;
    for location in touched(&column, wanted) {
        let (payload, place) = payload(view, tree, &column, location, scratch)?;
        // As if the basket were one entry: all its numbers, one after the other.
        form.decode_entry(&mut Reader::default(), &payload, 0, &mut values)
            .map_err(|error| in_branch(error.placed(place)))?;
        if range.is_empty() {
            range.start = location.first_entry;
        }
        range.end = location.entry_end;
    }
    let Values::List(_, items) = values else { return Err(missing("no counts")) };
    let all = items.integers().ok_or_else(|| missing("no whole counts"))?;
    // Objects of entries before the wanted ones are in the first basket, too.
    let before = match column.column.counter {
        Some(objects) if range.start < wanted.start => {
            let (known, counts) =
                read_counts(view, tree, &column.planned.path, objects, &(range.start..wanted.start), scratch)?;
            let skipped = usize::try_from(range.start.saturating_sub(known.start)).unwrap_or(usize::MAX);
            let n_entries = usize::try_from(wanted.start - range.start).unwrap_or(usize::MAX);
            counts.iter().skip(skipped).take(n_entries).map(|&count| count as usize).sum()
        }
        _ => 0_usize,
    };
    let mut end = 0_usize;
    let ends: Vec<usize> = n_objects
        .iter()
        .map(|&count| {
            end = end.saturating_add(count as usize);
            end
        })
        .collect();
    let counts = before.checked_add(end).and_then(|stop| all.get(before..stop));
    let counts = counts.filter(|_| range.end >= wanted.end).ok_or_else(|| missing("too few counts"))?;
    Ok(ItemCounts { ends, counts: counts.to_vec() })
}

/// Baskets that hold any of the entries.
fn touched<'c>(column: &'c ReadBranch, wanted: &Range<u64>) -> impl Iterator<Item = &'c Piece> + use<'c> {
    let wanted = wanted.clone();
    column.planned.pieces.iter().filter(move |at| at.entry_end > wanted.start && at.first_entry < wanted.end)
}

/// The entry data of a basket, and where they begin.
fn payload(
    view: &ScanView,
    tree: &Tree,
    column: &ReadBranch,
    location: &Piece,
    scratch: &mut PooledScratch,
) -> Result<(Vec<u8>, Place)> {
    let in_branch = |error: format::Error| format_error(view.source(), &column.planned.path, error);
    if let Some(index) = location.embedded {
        let embedded = tree.branch(column.id).embedded.get(index);
        let embedded = embedded.ok_or_else(|| in_branch(format::Error::corrupt(0, "a basket that is not there")))?;
        let data = tree.object_data().get(embedded.data.clone()).unwrap_or_default().to_vec();
        return Ok((data, tree.basket_place(column.id, location)));
    }
    let record = read_range(view.source(), location.offset, u64::from(location.stored_bytes))?;
    let mut open = |record: &[u8]| {
        let in_record = |error: format::Error| error.at(location.offset);
        let head = BasketHead::parse(record).map_err(in_record)?;
        let stored = record.get(head.key_bytes as usize..).unwrap_or_default();
        let unpacked = unpack_record(scratch, &head, stored, &view.counters);
        let payload = unpacked.map_err(|error| in_record(error.inside(head.key_bytes as usize)))?;
        let data = payload.get(..head.data_bytes as usize).unwrap_or(payload);
        Ok((data.to_vec(), head.payload_place(location.offset)))
    };
    let elsewhere = view.elsewhere(&column.planned.path);
    let opened = open(&record).or_else(|error| elsewhere.reread(range_of(location), error, open));
    opened.map_err(in_branch)
}
