//! Where baskets end.

use std::ops::Range;

use arrowroot_arrow::Stored;

use super::layout::{Branch, EntrySize};
use super::streamed::Streamed;
use super::values;
use crate::cluster::Cluster;

/// Baskets are made about this large where nobody says otherwise: few and large enough for reading, and small enough for the
/// processor's cache when they are unpacked.
const FITTED_BYTES: usize = 512 << 10;
/// A basket of the entries that would fit on average may become so large, where lengths differ; then it is halved.
const MAX_FITTED_BYTES: usize = 4 * FITTED_BYTES;
/// Bytes of where an entry begins.
pub(super) const OFFSET_BYTES: usize = 4;

/// How baskets are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cutting {
    /// As few as have a good size, with about equal numbers of entries.
    Fitted,
    /// When so many bytes are full, as ROOT does, key included: [`Baskets::Fixed`](crate::settings::Baskets) or
    /// [`Baskets::Optimized`](crate::settings::Baskets).
    Full,
}

/// The parts of a cluster.
#[derive(Debug)]
pub(super) struct Parts {
    /// The first entry of each in the cluster, and the number of entries.
    starts: Vec<usize>,
}

impl Parts {
    pub(super) fn of(cluster: &Cluster) -> Parts {
        let parts = cluster.columns.first().map_or(&[][..], Vec::as_slice);
        let mut starts = Vec::with_capacity(parts.len() + 1);
        let mut start = 0;
        for part in parts {
            starts.push(start);
            start += part.len();
        }
        starts.push(start);
        Parts { starts }
    }

    /// One part of so many entries.
    pub(super) fn one(n_entries: usize) -> Parts {
        Parts { starts: vec![0, n_entries] }
    }

    /// Number of entries.
    pub(super) fn n_entries(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }

    /// The parts that have these entries: the number of each, where it begins, and which of its own entries they are.
    pub(super) fn within(&self, entries: Range<usize>) -> impl Iterator<Item = (usize, usize, Range<usize>)> {
        let first = self.starts.partition_point(|start| *start <= entries.start).saturating_sub(1);
        let pairs = self.starts[first..].windows(2).enumerate();
        pairs
            .map(move |(place, pair)| {
                let range = pair[0].max(entries.start)..pair[1].min(entries.end);
                (first + place, pair[0], range)
            })
            .take_while(move |(_, start, _)| *start < entries.end)
            .filter(|(.., range)| !range.is_empty())
            .map(|(place, start, range)| (place, start, range.start - start..range.end - start))
    }
}

/// Bytes of the entries of a branch, with their offsets.
pub(super) fn payload_bytes(branch: &Branch, cluster: &Cluster, parts: &Parts, entries: Range<usize>) -> usize {
    let offset_bytes = if branch.stores_offsets { entries.len() * OFFSET_BYTES } else { 0 };
    if let EntrySize::Fixed(n_bytes) = branch.entry_size {
        return entries.len() * n_bytes + offset_bytes;
    }
    let column = &cluster.columns[branch.planned.column];
    let of_parts = parts.within(entries).map(|(index, _, range)| part_bytes(branch, &column[index], range));
    of_parts.sum::<usize>() + offset_bytes
}

/// Bytes of the entries of a branch without their offsets, exactly as they are stored.
pub(super) fn data_bytes(branch: &Branch, cluster: &Cluster, parts: &Parts, entries: Range<usize>) -> usize {
    if let EntrySize::Fixed(n_bytes) = branch.entry_size {
        return entries.len() * n_bytes;
    }
    let column = &cluster.columns[branch.planned.column];
    let of_part = |(index, _, range): (usize, usize, Range<usize>)| match branch.entry_size {
        EntrySize::Text => {
            let part: &Stored = &column[index];
            let located = values::locate(part, range, &branch.planned.path);
            values::lengths(values::offsets_of(located.values, &located.range)).map(values::text_bytes).sum()
        }
        _ => part_bytes(branch, &column[index], range),
    };
    parts.within(entries).map(of_part).sum()
}

/// Bytes of entries of one part.
fn part_bytes(branch: &Branch, part: &Stored, entries: Range<usize>) -> usize {
    let n_entries = entries.len();
    let path = &branch.planned.path;
    match branch.entry_size {
        EntrySize::Fixed(n_bytes) => n_entries * n_bytes,
        EntrySize::PerItem(n_bytes) => {
            let located = values::locate(part, entries, path);
            let offsets = located.offsets.unwrap_or_default();
            offsets.last().zip(offsets.first()).map_or(0, |(last, first)| values::index(last - first) * n_bytes)
        }
        EntrySize::Text => {
            let located = values::locate(part, entries, path);
            let offsets = values::offsets_of(located.values, &located.range);
            offsets.last().zip(offsets.first()).map_or(0, |(last, first)| values::index(last - first) + n_entries)
        }
        EntrySize::Vectors | EntrySize::Streamed => Streamed::of(branch, part).n_bytes(entries),
        EntrySize::Nothing => 0,
    }
}

/// Gives `found` the entries of each fitted basket of a branch in a cluster, and their bytes.
pub(super) fn fitted(branch: &Branch, cluster: &Cluster, parts: &Parts, found: &mut impl FnMut(Range<usize>, usize)) {
    let n_entries = parts.n_entries();
    let n_bytes = payload_bytes(branch, cluster, parts, 0..n_entries);
    let n_baskets = n_bytes.div_ceil(FITTED_BYTES).clamp(1, n_entries.max(1));
    if n_baskets == 1 {
        // As most are of wide tables.
        return halved(branch, cluster, parts, (0..n_entries, n_bytes), found);
    }
    for index in 0..n_baskets {
        // Numbers of entries that differ by one at most.
        let entries = index * n_entries / n_baskets..(index + 1) * n_entries / n_baskets;
        let n_bytes = payload_bytes(branch, cluster, parts, entries.clone());
        halved(branch, cluster, parts, (entries, n_bytes), found);
    }
}

fn halved(
    branch: &Branch,
    cluster: &Cluster,
    parts: &Parts,
    (entries, n_bytes): (Range<usize>, usize),
    found: &mut impl FnMut(Range<usize>, usize),
) {
    if entries.len() > 1 && n_bytes > MAX_FITTED_BYTES {
        let middle = entries.start + entries.len() / 2;
        for half in [entries.start..middle, middle..entries.end] {
            let n_bytes = payload_bytes(branch, cluster, parts, half.clone());
            halved(branch, cluster, parts, (half, n_bytes), found);
        }
    } else if !entries.is_empty() {
        found(entries, n_bytes);
    }
}

/// The fill of a basket when a cluster begins.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Begun {
    pub(super) n_entries: usize,
    pub(super) n_bytes: usize,
}

/// After which entries of a cluster a basket is full.
///
/// Source: `TBranch::FillImpl` (ROOT 6.40): when there is no room left for an entry as large as the last one, and for the
/// offsets twice.
pub(super) fn full(branch: &Branch, cluster: &Cluster, parts: &Parts, basket_bytes: u32, begun: Begun) -> Vec<usize> {
    let (n_entries, basket_bytes) = (parts.n_entries(), basket_bytes as usize);
    let key_bytes = branch.basket_head.key_bytes as usize;
    if let EntrySize::Fixed(n_bytes) = branch.entry_size
        && !branch.has_offsets
    {
        let room = basket_bytes.saturating_sub(key_bytes + n_bytes);
        let each = room.div_ceil(n_bytes.max(1)).max(1);
        let first = each.saturating_sub(begun.n_entries).max(1);
        return (first..=n_entries).step_by(each).collect();
    }
    let mut ends = Vec::new();
    let Begun { n_entries: mut n_begun, n_bytes: mut n_begun_bytes } = begun;
    let mut count = |entry: usize, entry_bytes: usize| {
        n_begun += 1;
        n_begun_bytes += entry_bytes;
        if key_bytes + n_begun_bytes + 2 * OFFSET_BYTES * n_begun + entry_bytes >= basket_bytes {
            ends.push(entry + 1);
            (n_begun, n_begun_bytes) = (0, 0);
        }
    };
    let column = &cluster.columns[branch.planned.column];
    let path = &branch.planned.path;
    for (index, start, range) in parts.within(0..n_entries) {
        let part = &column[index];
        match branch.entry_size {
            EntrySize::Vectors | EntrySize::Streamed => {
                let streamed = Streamed::of(branch, part);
                range.for_each(|entry| count(start + entry, streamed.n_bytes(entry..entry + 1)));
            }
            EntrySize::PerItem(n_bytes) => {
                let offsets = values::locate(part, range.clone(), path).offsets.unwrap_or_default();
                let entries = (start + range.start..).zip(values::lengths(offsets));
                entries.for_each(|(entry, n_items)| count(entry, n_items * n_bytes));
            }
            EntrySize::Fixed(n_bytes) => range.for_each(|entry| count(start + entry, n_bytes)),
            EntrySize::Nothing => {}
            EntrySize::Text => {
                let located = values::locate(part, range.clone(), path);
                let offsets = values::offsets_of(located.values, &located.range);
                let entries = (start + range.start..).zip(values::lengths(offsets));
                entries.for_each(|(entry, length)| count(entry, values::text_bytes(length)));
            }
        }
    }
    ends
}
