//! Where clusters end.
//!
//! A border follows from the values before it alone: not from how they came in batches, and not from what a thread did when.
//! Where it is to follow from how well values compress, it follows from how well those of a cluster compressed that lies a
//! fixed number of clusters before.

use std::ops::Range;

use arrowroot_arrow::Stored;
use arrowroot_arrow::stored::{concat, defaults};
use arrowroot_format::column::DataType;

use crate::cluster::Cluster;
use crate::settings::Flush;

/// A border follows from the compression of so many clusters before: as many may be compressed at the same time.
const N_BEHIND: u64 = 4;
/// Until that is known, values are taken to compress to a half, as ROOT does. Source: `RNTupleFillContext` (ROOT 6.40).
const FIRST_SHRINKAGE: u64 = 2;
/// Regular clusters leave so much of what they may take, as later entries may be larger: an eighth.
const SLACK: u64 = 8;
/// Where nobody asked for clusters, entries go on in portions of so much.
const PORTION_BYTES: u64 = 16_000_000;
/// Values of no bytes end a cluster, too: readers count the entries of a piece by 32 bits.
const MAX_ENTRIES: u64 = 1 << 30;
/// Parts are put together if they have less than this, or
const SMALL_BYTES: u64 = 64 << 10;
/// less than so much for each column,
const SMALL_COLUMN_BYTES: u64 = 1 << 10;
/// when so many of them are about equal; of wide tables fewer,
const N_SMALL: usize = 128;
const MIN_SMALL: usize = 8;
/// so that they are at most so many parts of columns.
const N_SMALL_PARTS: usize = 1 << 16;
/// The bytes of memory around the values of a column's part: what names them, and what they were allocated with.
pub(crate) const PART_BYTES: u64 = 128;

/// A cluster ends after the first entry with which it has so many entries, or so many bytes before compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Border {
    pub(crate) n_bytes: u64,
    pub(crate) n_entries: u64,
}

/// The facts about a cluster that was compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compressed {
    /// Before, as [`Stored::stored_bytes`] has it.
    pub(crate) n_bytes: u64,
    /// After.
    pub(crate) encoded_bytes: u64,
}

/// Says where each cluster ends.
#[derive(Debug)]
pub(crate) struct Borders {
    flush: Flush,
    max_bytes: u64,
    /// True if clusters should all have one number of entries.
    is_regular: bool,
    /// That number, once it is known.
    n_entries: Option<u64>,
}

impl Borders {
    pub(crate) fn new(flush: Flush, max_bytes: u64, is_regular: bool) -> Self {
        Borders { flush, max_bytes: max_bytes.max(1), is_regular, n_entries: None }
    }

    /// True if borders depend on how clusters compress.
    pub(crate) fn is_adaptive(&self) -> bool {
        // Values do not become more than they were, but for a little.
        matches!(self.flush, Flush::Bytes(target) if target < self.max_bytes)
    }

    /// Which cluster's compression the border of a cluster depends on.
    pub(crate) fn depends_on(&self, cluster: u64) -> Option<u64> {
        let before = if self.is_adaptive() { cluster.checked_sub(N_BEHIND) } else { None };
        before.filter(|&before| before == 0 || !self.is_regular)
    }

    /// Where the next cluster ends: asked once for each. `before`: what the one compressed to that it [depends on](Borders::depends_on).
    ///
    /// Clusters of a number of bytes that need not be regular have the bytes that would become as many if they compressed as
    /// that one did. If they should be regular, the first one has as many entries as would come out right at a half, the others
    /// as many as it has, and later ones as many as make the first one right, if that is another eighth.
    pub(crate) fn border(&mut self, before: Option<Compressed>) -> Border {
        let n_bytes = |n_bytes| Border { n_bytes, n_entries: MAX_ENTRIES };
        let target = match self.flush {
            Flush::Entries(n_entries) => return Border { n_bytes: u64::MAX, n_entries: n_entries.max(1) },
            Flush::Never => return n_bytes(PORTION_BYTES.min(self.max_bytes)),
            Flush::Bytes(target) => target.max(1),
        };
        let shrunk = |of: u64| {
            before.map_or(of.saturating_mul(FIRST_SHRINKAGE), |before| {
                scaled(of, before.n_bytes, before.encoded_bytes.min(before.n_bytes))
            })
        };
        if !self.is_regular {
            return n_bytes(shrunk(target).min(self.max_bytes));
        }
        let first_bytes = shrunk(target).min(self.max_bytes - self.max_bytes / SLACK).max(1);
        match (self.n_entries, before) {
            (None, _) => n_bytes(first_bytes),
            (Some(n_entries), None) => Border { n_bytes: self.max_bytes, n_entries },
            (Some(n_entries), Some(before)) => {
                let n_right = scaled(n_entries, first_bytes, before.n_bytes).max(1);
                let n_entries = if n_right.abs_diff(n_entries) > n_entries / SLACK { n_right } else { n_entries };
                self.n_entries = Some(n_entries);
                Border { n_bytes: self.max_bytes, n_entries }
            }
        }
    }

    /// Notes how many entries a cluster got.
    pub(crate) fn ended(&mut self, n_entries: u64) {
        if self.is_regular {
            self.n_entries.get_or_insert(n_entries);
        }
    }
}

/// `value * numerator / denominator`, as far as that can be.
fn scaled(value: u64, numerator: u64, denominator: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(numerator) / u128::from(denominator.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Collects the entries of a cluster.
#[derive(Debug)]
pub(crate) struct Cutter {
    first_entry: u64,
    n_entries: usize,
    n_bytes: u64,
    held_bytes: u64,
    /// For each column its parts, of the same entries for all.
    columns: Vec<Vec<Stored>>,
    /// The small parts at the end: how often each was put together of others, which does not rise, and its bytes.
    small: Vec<(u32, u64)>,
}

impl Cutter {
    pub(crate) fn new(n_columns: usize) -> Self {
        let columns = vec![Vec::new(); n_columns];
        Cutter { first_entry: 0, n_entries: 0, n_bytes: 0, held_bytes: 0, columns, small: Vec::new() }
    }

    /// Columns of the table.
    pub(crate) fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// Entries of the cluster so far.
    pub(crate) fn n_entries(&self) -> usize {
        self.n_entries
    }

    /// Bytes of the cluster so far, before compression.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Bytes of memory that it takes here: the values, and what is around their parts.
    pub(crate) fn held_bytes(&self) -> u64 {
        let n_parts: usize = self.columns.first().map_or(0, Vec::len);
        self.held_bytes + PART_BYTES * (n_parts * self.columns.len()) as u64
    }

    /// Takes entries of a batch, as many as there are in `range` up to the border, and says how many that are, and whether the
    /// cluster ends with them. If these are all of the batch, nothing is left of it.
    pub(crate) fn take(&mut self, batch: &mut [Stored], range: Range<usize>, border: Border) -> (usize, bool) {
        let (start, n_there) = (range.start, range.len());
        let bytes = |n: usize| batch.iter().map(|column| column.stored_bytes(start..start + n)).sum::<u64>();
        let n_most = usize::try_from(border.n_entries.saturating_sub(self.n_entries as u64)).unwrap_or(usize::MAX);
        let n_entries = n_there.min(n_most);
        let wanted_bytes = border.n_bytes.saturating_sub(self.n_bytes);
        let mut n_bytes = bytes(n_entries);
        let (n_entries, is_end) = if n_there > 0 && n_bytes >= wanted_bytes {
            let n_entries = first_with(n_entries, |n| bytes(n) >= wanted_bytes).max(1);
            n_bytes = bytes(n_entries);
            (n_entries, true)
        } else {
            (n_entries, n_entries == n_most)
        };
        if n_entries > 0 {
            self.n_entries += n_entries;
            self.n_bytes += n_bytes;
            let range = start..start + n_entries;
            self.held_bytes += batch.iter().map(|column| column.held_bytes(range.clone())).sum::<u64>();
            for (parts, column) in self.columns.iter_mut().zip(batch) {
                let is_all = range == (0..column.len());
                parts.push(if is_all { column.take() } else { column.slice(range.clone()) });
            }
            // The last parts of a cluster go on at once.
            if !is_end {
                self.put_together(n_bytes);
            }
        }
        (n_entries, is_end)
    }

    /// Takes more columns of these types, behind the others: the entries so far have their default values.
    pub(crate) fn extend<'t>(&mut self, types: impl Iterator<Item = &'t DataType>) {
        let lengths: Vec<usize> = self.columns.first().into_iter().flatten().map(Stored::len).collect();
        for data_type in types {
            let parts: Vec<Stored> = lengths.iter().map(|&len| defaults(data_type, len)).collect();
            self.n_bytes += parts.iter().map(|part| part.stored_bytes(0..part.len())).sum::<u64>();
            self.held_bytes += parts.iter().map(|part| part.held_bytes(0..part.len())).sum::<u64>();
            self.columns.push(parts);
        }
    }

    /// Ends the cluster.
    pub(crate) fn end(&mut self) -> Cluster {
        let next = Cutter::new(self.columns.len());
        let next = Cutter { first_entry: self.first_entry + self.n_entries as u64, ..next };
        let Cutter { first_entry, n_entries, columns, .. } = std::mem::replace(self, next);
        Cluster { first_entry, n_entries, columns }
    }

    /// Makes one part of many small ones at the end: entries that come one by one would take more memory for what is around
    /// them than for themselves. Only equals are put together, so that no value is copied often.
    fn put_together(&mut self, n_bytes: u64) {
        let small_bytes = SMALL_BYTES.max(SMALL_COLUMN_BYTES * self.columns.len() as u64);
        if n_bytes >= small_bytes {
            self.small.clear();
            return;
        }
        self.small.push((0, n_bytes));
        let n_together = (N_SMALL_PARTS / self.columns.len().max(1)).clamp(MIN_SMALL, N_SMALL);
        while let Some(&(level, _)) = self.small.last() {
            let n_before = self.small.len().saturating_sub(n_together);
            let equals = &self.small[n_before..];
            if equals.len() < n_together || equals.iter().any(|&(other, _)| other != level) {
                return;
            }
            let n_bytes = equals.iter().map(|(_, n_bytes)| n_bytes).sum();
            for parts in &mut self.columns {
                let small = parts.split_off(parts.len().saturating_sub(n_together));
                parts.extend(concat(&small.iter().collect::<Vec<_>>()));
            }
            self.small.truncate(n_before);
            if n_bytes >= small_bytes {
                self.small.clear();
                return;
            }
            self.small.push((level + 1, n_bytes));
        }
    }
}

/// The first of `1..=most` for which something is so that stays so, and is so for `most`.
pub(crate) fn first_with(most: usize, is_so: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_so(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests;
