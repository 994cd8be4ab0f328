//! The first entries of a branch whose objects are of classes that its metadata do not name.

use std::sync::Arc;

use arrowroot_format as format;
use format::column::{Column, Met, resolve};
use format::decode::meet;
use format::tree::{BasketHead, BasketLocation, BranchId};

use crate::error::Result;
use crate::file::{format_error, read_range, unpack};
use crate::scratch::Lent;
use crate::tree::Tree;

/// Objects in objects are looked at so many levels deep.
const MAX_ROUNDS: usize = 8;
/// So many bytes of entries are looked at, and at least one entry.
const MAX_BYTES: usize = 4 << 20;

/// Entries of a basket.
struct Sample {
    head: BasketHead,
    payload: Vec<u8>,
    /// Where they begin in the payload.
    starts: Vec<usize>,
}

/// Compiles what a branch holds. Where it holds objects of any class, its first basket with entries is read to learn of which.
pub(crate) fn resolve_by_sample(tree: &Tree, id: BranchId) -> Result<Column, format::Error> {
    let infos = || tree.file().streamer_infos().map_err(|error| format::Error::unsupported(0, error.to_string()));
    let mut met = Arc::new(Met::new());
    let mut column = resolve(tree.record(), id, &infos, &met)?;
    if !column.holds_objects() {
        return Ok(column);
    }
    let unread = |error: crate::Error| {
        let what = format!("branch {:?}, whose first entries cannot be looked at: {error}", tree.branch(id).name);
        format::Error::unsupported(0, what)
    };
    let sample = first_entries(tree, id).map_err(unread)?;
    for _ in 0..MAX_ROUNDS {
        let Some((sample, layout)) = sample.as_ref().zip(column.layout.as_ref()) else { break };
        let mut more = Met::clone(&met);
        for (entry, origin) in sample.entries() {
            meet(layout, entry, origin, &mut more);
        }
        if more.len() == met.len() {
            break;
        }
        met = Arc::new(more);
        // Too many members of too many classes: what was compiled before reads the rest as bytes.
        let Ok(known) = resolve(tree.record(), id, &infos, &met) else { return Ok(column) };
        column = known;
    }
    Arc::make_mut(&mut met).settle();
    resolve(tree.record(), id, &infos, &met)
}

impl Sample {
    /// The bytes of entries, and how far they are from the start of the basket's key.
    fn entries(&self) -> impl Iterator<Item = (&[u8], usize)> {
        let end = self.head.data_bytes as usize;
        let ends = self.starts.iter().copied().skip(1).chain(std::iter::once(end));
        let all = self.starts.iter().copied().zip(ends);
        let wanted = all.take_while(|&(start, _)| start <= MAX_BYTES);
        wanted.filter_map(|(start, end)| {
            let entry = self.payload.get(start..end)?;
            Some((entry, start + self.head.key_bytes as usize))
        })
    }
}

/// Reads the first basket that has entries.
fn first_entries(tree: &Tree, id: BranchId) -> Result<Option<Sample>> {
    let baskets = tree.baskets(id)?;
    let Some(location) = baskets.iter().find(|basket| basket.entry_end > basket.first_entry) else { return Ok(None) };
    let in_branch = |error: format::Error| format_error(tree.file().source().as_ref(), tree.path(id), error);
    let in_basket = |error: format::Error| in_branch(error.at(location.offset));
    if let Some(place) = location.embedded {
        let Some(embedded) = tree.branch(id).embedded.get(place) else {
            return Err(in_branch(format::Error::corrupt(0, "a basket that is not in the tree's record")));
        };
        let payload = tree.object_data().get(embedded.data.clone()).unwrap_or_default().to_vec();
        let starts = match &embedded.entry_offsets {
            Some(offsets) => offsets.iter().map(|&offset| offset as usize).collect(),
            None => equal_starts(&embedded.head),
        };
        return Ok(Some(Sample { head: embedded.head, payload, starts }));
    }
    let (head, payload) = read_basket(tree, location, &in_basket)?;
    let stored = head.stored_offsets(&payload).map_err(in_basket)?;
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
    Ok(Some(Sample { head, payload, starts }))
}

fn read_basket(
    tree: &Tree,
    location: &BasketLocation,
    in_basket: &dyn Fn(format::Error) -> crate::Error,
) -> Result<(BasketHead, Vec<u8>)> {
    let record = read_range(tree.file().source().as_ref(), location.offset, u64::from(location.stored_bytes))?;
    let head = BasketHead::parse(&record).map_err(in_basket)?;
    let stored = record.get(head.key_bytes as usize..).unwrap_or_default();
    let n_bytes = head.payload_bytes as usize;
    let mut payload = Vec::new();
    match stored.get(..n_bytes) {
        Some(plain) => payload.extend_from_slice(plain),
        None => {
            unpack(&mut Lent::default().get().decompressor, stored, n_bytes, &mut payload).map_err(in_basket)?;
        }
    }
    Ok((head, payload))
}

/// Entries of one size.
fn equal_starts(head: &BasketHead) -> Vec<usize> {
    let entry_bytes = head.data_bytes.checked_div(head.n_entries).unwrap_or(0) as usize;
    (0..head.n_entries.min(head.data_bytes.max(1)) as usize).map(|entry| entry * entry_bytes).collect()
}
