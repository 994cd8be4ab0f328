//! The first entries of a branch whose objects are of classes that its metadata do not name.

use std::cell::Cell;

use arrowroot_file::{Answers, PooledScratch, Result, format_error, read_range, unpack};
use arrowroot_format as format;
use format::Within;
use format::column::{Column, resolve};
use format::tree::{BasketHead, BranchId};

use super::Tree;
use crate::sample::{MAX_UNPACKED_BYTES, Sample, resolve_by_sample};
use crate::scan::Piece;
use crate::table::Table;

/// The contents of a branch, and all that told them.
pub(crate) struct Compiled {
    pub(crate) column: format::Result<Column>,
    pub(crate) needs: Needs,
}

/// Sources that tell what a branch holds; each has all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Needs {
    /// The schema of the tree.
    Schema,
    /// The class descriptions of the file.
    Infos,
    /// Entries or baskets, or descriptions that cannot be read.
    Data,
}

/// Compiles what a branch holds, with a sample of its first basket that has entries.
///
/// # Errors
/// Those of reads; what the format says against it is a result.
pub(crate) fn compile_branch(tree: &Tree, id: BranchId) -> Result<Compiled> {
    let answers = Answers::default();
    let needs = Cell::new(Needs::Schema);
    let need = |more: Needs| needs.set(needs.get().max(more));
    let infos = || {
        let infos = answers.give(tree.file().streamer_infos()).within(|| "streamer info");
        need(if infos.is_ok() { Needs::Infos } else { Needs::Data });
        infos
    };
    let read = || {
        need(Needs::Data);
        answers.give(first_entries(tree, id))
    };
    let column = resolve_by_sample(&|seen| resolve(tree.schema(), id, &infos, seen), &read);
    Ok(Compiled { column: answers.settle(column)?, needs: needs.get() })
}

/// The entries of a basket; `starts`: where they begin in the payload.
fn of_basket(head: &BasketHead, payload: Vec<u8>, starts: &[usize]) -> Sample {
    let ends = starts.iter().copied().skip(1).chain([head.data_bytes as usize]);
    let mut sample = Sample::of(payload);
    for (start, end) in starts.iter().copied().zip(ends) {
        if sample.payload.get(start..end).is_none() {
            continue;
        }
        if !sample.has_room_for(end - start) {
            break;
        }
        sample.push(start..end, start + head.key_bytes as usize);
    }
    sample
}

/// Reads the first basket that has entries.
fn first_entries(tree: &Tree, id: BranchId) -> Result<Sample> {
    let baskets = tree.baskets(id)?;
    let Some(location) = baskets.iter().find(|basket| basket.entry_end > basket.first_entry) else {
        return Ok(Sample::default());
    };
    let in_branch = |error: format::Error| format_error(tree.file().source().as_ref(), tree.branch_path(id), error);
    if let Some(index) = location.embedded {
        let Some(embedded) = tree.branch(id).embedded.get(index) else {
            return Err(in_branch(format::Error::corrupt(0, "a basket that is not in the tree's record")));
        };
        let payload = tree.object_data().get(embedded.data.clone()).unwrap_or_default().to_vec();
        let starts = match &embedded.entry_offsets {
            Some(offsets) => offsets.iter().map(|&offset| offset as usize).collect(),
            None => equal_starts(&embedded.head),
        };
        return Ok(of_basket(&embedded.head, payload, &starts));
    }
    let in_record = |error: format::Error| in_branch(error.at(location.offset));
    let Some((head, payload)) = read_basket(tree, location, &in_record)? else { return Ok(Sample::default()) };
    let in_payload = |error: format::Error| in_branch(error.placed(head.payload_place(location.offset)));
    let stored = head.stored_offsets(&payload).map_err(in_payload)?;
    let starts = match stored {
        None => equal_starts(&head),
        Some(words) => {
            let words = words.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word));
            let first = head.key_bytes;
            let mut sum = first;
            let offsets = words.map(|word| {
                sum = sum.saturating_add(if head.offsets_are_sizes { word } else { 0 });
                if head.offsets_are_sizes { sum } else { word }
            });
            offsets.map(|offset| offset.saturating_sub(first) as usize).collect()
        }
    };
    Ok(of_basket(&head, payload, &starts))
}

/// Head and payload of a basket; `None` of one that is too large.
fn read_basket(
    tree: &Tree,
    location: &Piece,
    in_record: &dyn Fn(format::Error) -> crate::Error,
) -> Result<Option<(BasketHead, Vec<u8>)>> {
    let record = read_range(tree.file().source().as_ref(), location.offset, u64::from(location.stored_bytes))?;
    let head = BasketHead::parse(&record).map_err(in_record)?;
    let stored = record.get(head.key_bytes as usize..).unwrap_or_default();
    let n_bytes = head.payload_bytes as usize;
    if n_bytes > MAX_UNPACKED_BYTES {
        return Ok(None);
    }
    let mut payload = Vec::new();
    match stored.get(..n_bytes) {
        Some(plain) => payload.extend_from_slice(plain),
        None => {
            unpack(&mut PooledScratch::default().get().decompressor, stored, n_bytes, &mut payload)
                .map_err(|error| in_record(error.inside(head.key_bytes as usize)))?;
        }
    }
    Ok(Some((head, payload)))
}

/// Entries of one size.
fn equal_starts(head: &BasketHead) -> Vec<usize> {
    let entry_bytes = head.data_bytes.checked_div(head.n_entries).unwrap_or(0) as usize;
    (0..head.n_entries.min(head.data_bytes.max(1)) as usize).map(|entry| entry * entry_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::MAX_SAMPLE_BYTES;

    fn head(n_entries: usize, data_bytes: usize) -> BasketHead {
        let (n_entries, data_bytes) = (u32::try_from(n_entries).unwrap(), u32::try_from(data_bytes).unwrap());
        let new = BasketHead::new("branch", "tree").unwrap();
        BasketHead { payload_bytes: data_bytes, data_bytes, n_entries, ..new }
    }

    /// First and end of the entries that are looked at.
    fn sampled(starts: &[usize], n_bytes: usize) -> Vec<(usize, usize)> {
        let sample = of_basket(&head(starts.len(), n_bytes), vec![0; n_bytes], starts);
        sample.entries.into_iter().map(|(entry, _)| (entry.start, entry.end)).collect()
    }

    #[test]
    fn entries_are_looked_at_up_to_a_bound_and_one_at_least() {
        assert_eq!(sampled(&[0, 10, 20], 30), [(0, 10), (10, 20), (20, 30)]);
        assert_eq!(sampled(&[0, MAX_SAMPLE_BYTES - 1], MAX_SAMPLE_BYTES + 1), [(0, MAX_SAMPLE_BYTES - 1)]);
        assert_eq!(sampled(&[0, MAX_SAMPLE_BYTES + 1], MAX_SAMPLE_BYTES + 2), [(0, MAX_SAMPLE_BYTES + 1)]);
    }

    #[test]
    fn entries_that_overlap_are_looked_at_up_to_the_same_bound() {
        let starts: Vec<usize> = (0..1000).map(|index| if index % 2 == 0 { 0 } else { 1 << 20 }).collect();
        assert_eq!(sampled(&starts, 2 << 20).iter().map(|(start, end)| end - start).sum::<usize>(), MAX_SAMPLE_BYTES);
    }
}
