//! The first entries of a column whose objects are of classes that its metadata do not name.

use std::ops::Range;
use std::sync::Arc;

use arrowroot_format as format;
use format::Within;
use format::column::{Column, Met, resolve};
use format::decode::meet;
use format::tree::{BasketHead, BasketLocation, BranchId};

use crate::error::{Answers, Result};
use crate::file::{format_error, read_range, unpack};
use crate::scratch::Lent;
use crate::tree::Tree;

/// Objects in objects are looked at so many levels deep.
const MAX_ROUNDS: usize = 8;
/// So many bytes of entries are looked at, and at least one entry.
const MAX_BYTES: usize = 4 << 20;
/// What takes more when it is unpacked is not looked at, be it the first: a few bytes in a file may become gigabytes.
pub(crate) const MAX_UNPACKED_BYTES: usize = 128 << 20;

/// Some entries, or objects.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) payload: Vec<u8>,
    /// Where each is in the payload, and how far its bytes are from where what it points to is counted from.
    pub(crate) entries: Vec<(Range<usize>, usize)>,
    /// Bytes of these. Where the file is wrong they overlap.
    n_bytes: usize,
}

impl Sample {
    /// Whether an entry of so many bytes is to be looked at too.
    pub(crate) fn has_room_for(&self, n_bytes: usize) -> bool {
        self.entries.is_empty() || self.n_bytes.saturating_add(n_bytes) <= MAX_BYTES
    }

    pub(crate) fn push(&mut self, entry: Range<usize>, origin: usize) {
        self.n_bytes = self.n_bytes.saturating_add(entry.len());
        self.entries.push((entry, origin));
    }
}

/// Compiles a column. Where it holds objects of any class, a sample is read to learn of which.
pub(crate) fn resolve_by_sample(
    compile: &dyn Fn(&Arc<Met>) -> format::Result<Column>,
    read: &dyn Fn() -> format::Result<Sample>,
) -> format::Result<Column> {
    let mut met = Arc::new(Met::new());
    let mut column = compile(&met)?;
    if !column.holds_objects() {
        return Ok(column);
    }
    let sample = read().within(|| "first entries")?;
    for _ in 0..MAX_ROUNDS {
        let Some(form) = column.form.as_ref() else { break };
        let mut more = Met::clone(&met);
        for (range, origin) in &sample.entries {
            meet(form, sample.payload.get(range.clone()).unwrap_or_default(), *origin, &mut more);
        }
        if more.len() == met.len() {
            break;
        }
        met = Arc::new(more);
        // Too many members of too many classes: what was compiled before reads the rest as bytes.
        let Ok(known) = compile(&met) else { return Ok(column) };
        column = known;
    }
    Arc::make_mut(&mut met).settle();
    compile(&met)
}

/// Compiles what a branch holds, with a sample of its first basket that has entries.
///
/// # Errors
/// Those of reads; what the format says against it is a result.
pub(crate) fn resolve_branch(tree: &Tree, id: BranchId) -> Result<format::Result<Column>> {
    let answers = Answers::default();
    let infos = || answers.give(tree.file().streamer_infos()).within(|| "streamer info");
    let read = || answers.give(first_entries(tree, id));
    let column = resolve_by_sample(&|met| resolve(tree.record(), id, &infos, met), &read);
    answers.settle(column)
}

/// The entries of a basket; `starts`: where they begin in the payload.
fn of_basket(head: &BasketHead, payload: Vec<u8>, starts: &[usize]) -> Sample {
    let ends = starts.iter().copied().skip(1).chain([head.data_bytes as usize]);
    let mut sample = Sample { payload, ..Sample::default() };
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
    let in_branch = |error: format::Error| format_error(tree.file().source().as_ref(), tree.path(id), error);
    if let Some(place) = location.embedded {
        let Some(embedded) = tree.branch(id).embedded.get(place) else {
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
    location: &BasketLocation,
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
            unpack(&mut Lent::default().get().decompressor, stored, n_bytes, &mut payload)
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

    fn head(n_entries: usize, data_bytes: usize) -> BasketHead {
        let (n_entries, data_bytes) = (u32::try_from(n_entries).unwrap(), u32::try_from(data_bytes).unwrap());
        BasketHead {
            stored_bytes: 0,
            key_bytes: 50,
            payload_bytes: data_bytes,
            data_bytes,
            n_entries,
            entry_bytes: 0,
            offsets_are_sizes: false,
            offsets_generated: false,
        }
    }

    /// First and end of the entries that are looked at.
    fn sampled(starts: &[usize], n_bytes: usize) -> Vec<(usize, usize)> {
        let sample = of_basket(&head(starts.len(), n_bytes), vec![0; n_bytes], starts);
        sample.entries.into_iter().map(|(entry, _)| (entry.start, entry.end)).collect()
    }

    #[test]
    fn entries_are_looked_at_up_to_a_bound_and_one_at_least() {
        assert_eq!(sampled(&[0, 10, 20], 30), [(0, 10), (10, 20), (20, 30)]);
        assert_eq!(sampled(&[0, MAX_BYTES - 1], MAX_BYTES + 1), [(0, MAX_BYTES - 1)]);
        assert_eq!(sampled(&[0, MAX_BYTES + 1], MAX_BYTES + 2), [(0, MAX_BYTES + 1)]);
    }

    #[test]
    fn entries_that_overlap_are_looked_at_up_to_the_same_bound() {
        let starts: Vec<usize> = (0..1000).map(|place| if place % 2 == 0 { 0 } else { 1 << 20 }).collect();
        assert_eq!(sampled(&starts, 2 << 20).iter().map(|(start, end)| end - start).sum::<usize>(), MAX_BYTES);
    }
}
