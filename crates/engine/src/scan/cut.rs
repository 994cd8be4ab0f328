//! Cutting entries into batches of about one size in memory.

use std::ops::Range;

use arrowroot_file::{Error, Result};

use super::plan::BatchEntries;
use super::request::Request;

/// A plan of more batches is that of a file with wrong numbers, and would take all memory.
const MAX_BATCHES: usize = 1 << 20;
/// Bins that the entries of a table are divided into.
const MAX_BINS: u64 = 4096;
/// A cluster that is larger than a batch by no more than this stays whole.
const TOLERANCE: f64 = 1.25;
/// Sums of sizes are off by less.
const ROUNDING_ENTRIES: f64 = 1e-3;

/// How large batches are to be.
pub(crate) enum BatchSize {
    /// About so many bytes.
    Bytes(u64, Density),
    /// So many entries, but for the last one.
    Entries(u64),
}

/// About how many bytes an entry takes in memory, by where it is: pieces tell where much is.
pub(crate) struct Density {
    n_entries: u64,
    /// Entries of a bin; the last may have fewer.
    bin_entries: u64,
    /// Bytes that some of the entries of each bin have.
    in_bin: Vec<f64>,
    /// Changes from bin to bin of the bytes that each of its entries has.
    steps: Vec<f64>,
    /// Bytes that each entry has.
    each: f64,
}

impl Density {
    /// Of `n_entries` that take `each_bytes` each, and what is added.
    pub(crate) fn new(n_entries: u64, each_bytes: f64) -> Density {
        let bin_entries = n_entries.div_ceil(MAX_BINS).max(1);
        let n_bins = usize::try_from(n_entries.div_ceil(bin_entries)).unwrap_or(0);
        Density { n_entries, bin_entries, in_bin: vec![0.0; n_bins], steps: vec![0.0; n_bins], each: each_bytes }
    }

    /// Adds bytes that some entries have together.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(crate) fn add(&mut self, entries: &Range<u64>, n_bytes: f64) {
        let (start, end) = (entries.start, entries.end.min(self.n_entries));
        if start >= end {
            return;
        }
        let of_entry = n_bytes / (entries.end - entries.start) as f64;
        let bin = |entry: u64| usize::try_from(entry / self.bin_entries).unwrap_or(usize::MAX);
        let (first, last) = (bin(start), bin(end - 1));
        if first == last {
            self.in_bin[first] += of_entry * (end - start) as f64;
            return;
        }
        self.in_bin[first] += of_entry * (self.bin_entries - start % self.bin_entries) as f64;
        self.in_bin[last] += of_entry * ((end - 1) % self.bin_entries + 1) as f64;
        self.steps[first + 1] += of_entry;
        self.steps[last] -= of_entry;
    }

    /// Bytes of an entry of each bin.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn rates(&self) -> Vec<f64> {
        let mut stepped = 0.0;
        let bins = self.in_bin.iter().zip(&self.steps).zip(0_u64..);
        bins.map(|((in_bin, step), bin)| {
            stepped += step;
            let n_entries = self.bin_entries.min(self.n_entries - bin * self.bin_entries);
            (self.each + stepped + in_bin / n_entries.max(1) as f64).max(1.0)
        })
        .collect()
    }
}

impl BatchSize {
    /// As a request has it; `None`: all in one. Entries without columns have no bytes.
    pub(crate) fn of(request: &Request, density: impl FnOnce() -> Density) -> Option<BatchSize> {
        if let Some(n_entries) = request.batch_entries {
            return Some(BatchSize::Entries(n_entries.max(1)));
        }
        let n_bytes = request.batch_bytes.filter(|_| !request.columns.is_empty())?;
        Some(BatchSize::Bytes(n_bytes, density()))
    }
}

/// Where the entries after `start` have come to `n_bytes`; one entry on at least.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
fn advance(density: &Density, rates: &[f64], start: u64, n_bytes: f64) -> u64 {
    let (mut at, mut left) = (start, n_bytes);
    loop {
        let bin = at / density.bin_entries;
        let rate = usize::try_from(bin).ok().and_then(|bin| rates.get(bin));
        let Some(rate) = rate.filter(|_| at < density.n_entries) else { return density.n_entries.max(start + 1) };
        let end = (bin + 1).saturating_mul(density.bin_entries).min(density.n_entries);
        let room = (end - at) as f64 * rate;
        if room >= left {
            return (at + (left / rate + ROUNDING_ENTRIES) as u64).max(start + 1);
        }
        left -= room;
        at = end;
    }
}

/// Cuts a range into batches of a size, at clusters where these are not too large. `None`: into one.
///
/// `clusters`: their first entries, and the end of the last.
pub(crate) fn cut_range(
    range: &Range<u64>,
    size: Option<&BatchSize>,
    clusters: impl FnOnce() -> Vec<u64>,
) -> Result<Vec<BatchEntries>> {
    let too_many = || Error::InvalidRequest {
        what: format!("more than {MAX_BATCHES} batches for entries {range:?}: set a larger batch size"),
    };
    let (n_bytes, density) = match size {
        None => return Ok(vec![BatchEntries::Range(range.clone())]),
        Some(&BatchSize::Entries(n_entries)) => {
            if range.end.saturating_sub(range.start).div_ceil(n_entries) > MAX_BATCHES as u64 {
                return Err(too_many());
            }
            let starts = std::iter::successors(Some(range.start), |start| start.checked_add(n_entries));
            let starts = starts.take_while(|&start| start < range.end);
            return Ok(starts
                .map(|start| BatchEntries::Range(start..start.saturating_add(n_entries).min(range.end)))
                .collect());
        }
        Some(BatchSize::Bytes(n_bytes, density)) => (*n_bytes, density),
    };
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let n_bytes = n_bytes as f64;
    let (rates, clusters) = (density.rates(), clusters());
    let mut batches = Vec::new();
    let mut start = range.start;
    while start < range.end {
        if batches.len() >= MAX_BATCHES {
            return Err(too_many());
        }
        let limit = advance(density, &rates, start, n_bytes).min(range.end);
        let mut stop = limit;
        if limit < range.end {
            let after = clusters.partition_point(|&boundary| boundary <= limit);
            let before = after.checked_sub(1).map_or(0, |index| clusters[index]);
            match clusters.get(after) {
                _ if before > start => stop = before,
                // Pieces end where the cluster ends.
                Some(&boundary) if boundary <= advance(density, &rates, start, n_bytes * TOLERANCE) => {
                    stop = boundary.min(range.end);
                }
                _ => {}
            }
        }
        batches.push(BatchEntries::Range(start..stop));
        start = stop;
    }
    Ok(batches)
}

/// Cuts a list into batches of a size. `None`: into one.
pub(crate) fn cut_list(list: &[u64], size: Option<&BatchSize>) -> Vec<BatchEntries> {
    let (n_bytes, density) = match size.filter(|_| !list.is_empty()) {
        None => return vec![list_batch(list)],
        Some(&BatchSize::Entries(n_entries)) => {
            return list.chunks(usize::try_from(n_entries).unwrap_or(usize::MAX)).map(list_batch).collect();
        }
        Some(BatchSize::Bytes(n_bytes, density)) => (*n_bytes, density),
    };
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let n_bytes = n_bytes as f64;
    let rates = density.rates();
    let rate = |entry: u64| usize::try_from(entry / density.bin_entries).ok().and_then(|bin| rates.get(bin));
    let mut batches = Vec::new();
    let (mut start, mut sum) = (0, 0.0);
    for (index, &entry) in list.iter().enumerate() {
        let of_entry = rate(entry).copied().unwrap_or(1.0);
        if sum + of_entry > n_bytes + ROUNDING_ENTRIES * of_entry && index > start {
            batches.push(list_batch(&list[start..index]));
            (start, sum) = (index, 0.0);
        }
        sum += of_entry;
    }
    batches.push(list_batch(&list[start..]));
    batches
}

fn list_batch(list: &[u64]) -> BatchEntries {
    if list.windows(2).all(|pair| pair[0] < pair[1]) {
        return BatchEntries::List { sorted: list.to_vec(), order: None };
    }
    ranked(list).unwrap_or_else(|| sorted(list))
}

/// The batch of a list whose entries lie close together, by a bit for each entry between the ends: ten times faster
/// than sorting, which cannot be interrupted. `None`: the bits would need more memory than the list.
fn ranked(list: &[u64]) -> Option<BatchEntries> {
    let (first, last) = (list.iter().copied().min()?, list.iter().copied().max()?);
    let n_words = usize::try_from((last - first) / 64).ok().filter(|&n_words| n_words < list.len())? + 1;
    let place = |entry: u64| (((entry - first) / 64) as usize, (entry - first) % 64);
    let mut words = vec![0_u64; n_words];
    for &entry in list {
        let (word, bit) = place(entry);
        words[word] |= 1 << bit;
    }
    let mut sorted = Vec::with_capacity(list.len().min(n_words * 64));
    let mut before = Vec::with_capacity(n_words);
    for (&word, at) in words.iter().zip(0_u64..) {
        before.push(sorted.len() as u64);
        let mut left = word;
        while left != 0 {
            sorted.push(first + 64 * at + u64::from(left.trailing_zeros()));
            left &= left - 1;
        }
    }
    let order = list.iter().map(|&entry| {
        let (word, bit) = place(entry);
        before[word] + u64::from((words[word] & ((1 << bit) - 1)).count_ones())
    });
    Some(BatchEntries::List { order: Some(order.collect()), sorted })
}

fn sorted(list: &[u64]) -> BatchEntries {
    let mut placed: Vec<(u64, usize)> = list.iter().copied().zip(0..).collect();
    placed.sort_unstable();
    let mut sorted: Vec<u64> = Vec::with_capacity(list.len());
    let mut order = vec![0; list.len()];
    for (entry, index) in placed {
        if sorted.last() != Some(&entry) {
            sorted.push(entry);
        }
        order[index] = sorted.len() as u64 - 1;
    }
    BatchEntries::List { sorted, order: Some(order) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(density: Density, n_bytes: u64, clusters: &[u64]) -> Vec<u64> {
        let n_entries = density.n_entries;
        let size = BatchSize::Bytes(n_bytes, density);
        let batches = cut_range(&(0..n_entries), Some(&size), || clusters.to_vec()).unwrap();
        batches.iter().map(BatchEntries::n_delivered).collect()
    }

    #[test]
    fn entries_of_one_size_make_batches_of_as_many() {
        assert_eq!(cut(Density::new(1000, 10.0), 3000, &[]), [300, 300, 300, 100]);
        // Of several entries to a bin.
        let n_entries = 3 * MAX_BINS + 7;
        assert_eq!(cut(Density::new(n_entries, 8.0), 8 * 5000, &[]), [5000, 5000, n_entries - 10_000]);
    }

    #[test]
    fn where_entries_are_larger_batches_have_fewer() {
        let mut density = Density::new(1000, 0.0);
        density.add(&(0..990), 990.0);
        density.add(&(990..1000), 10_000.0);
        assert_eq!(cut(density, 2000, &[]), [991, 2, 2, 2, 2, 1]);
    }

    #[test]
    fn what_several_pieces_add_is_that_of_each_entry() {
        let n_entries = 5 * MAX_BINS;
        let mut density = Density::new(n_entries, 1.0);
        for start in (0..n_entries).step_by(700) {
            let end = (start + 700).min(n_entries);
            #[expect(clippy::cast_precision_loss, reason = "small")]
            density.add(&(start..end), 3.0 * (end - start) as f64);
        }
        for rate in density.rates() {
            assert!((rate - 4.0).abs() < 1e-9, "{rate}");
        }
    }

    #[test]
    fn a_cluster_that_is_a_little_larger_than_a_batch_stays_whole() {
        assert_eq!(cut(Density::new(300, 10.0), 1000, &[0, 120, 240, 300]), [120, 120, 60]);
        assert_eq!(cut(Density::new(300, 10.0), 1000, &[0, 130, 300]), [100, 30, 100, 70]);
    }

    #[test]
    fn an_entry_larger_than_a_batch_is_one() {
        assert_eq!(cut(Density::new(3, 1e6), 10, &[]), [1, 1, 1]);
        let size = BatchSize::Bytes(10, Density::new(3, 1e6));
        assert_eq!(cut_list(&[2, 0, 1], Some(&size)).len(), 3);
    }

    #[test]
    fn lists_are_cut_by_the_size_of_their_entries() {
        let mut density = Density::new(100, 1.0);
        density.add(&(90..100), 990.0);
        let size = BatchSize::Bytes(200, density);
        let list: Vec<u64> = (0..100).rev().collect();
        let n_entries = cut_list(&list, Some(&size)).iter().map(BatchEntries::n_delivered).collect::<Vec<_>>();
        assert_eq!(n_entries, [2, 2, 2, 2, 2, 90]);
    }

    proptest::proptest! {
        #[test]
        fn lists_are_ranked_as_they_are_sorted(
            first in 0..u64::MAX / 2,
            list in proptest::collection::vec(0..500_u64, 1..80),
        ) {
            let list: Vec<u64> = list.iter().map(|entry| first + entry).collect();
            proptest::prop_assert_eq!(ranked(&list).unwrap_or_else(|| sorted(&list)), sorted(&list));
        }
    }

    #[test]
    fn entries_far_apart_are_sorted_without_bits_for_those_between() {
        let list = [u64::MAX, 0, u64::MAX, 7];
        assert_eq!(ranked(&list), None);
        assert_eq!(
            list_batch(&list),
            BatchEntries::List { sorted: vec![0, 7, u64::MAX], order: Some(vec![2, 0, 2, 1]) }
        );
        assert_eq!(list_batch(&[63, 0, 64, 0]), sorted(&[63, 0, 64, 0]));
    }

    #[test]
    fn batches_of_so_many_entries_have_as_many_but_for_the_last() {
        let size = BatchSize::Entries(30);
        let delivered = |batches: Vec<BatchEntries>| batches.iter().map(BatchEntries::n_delivered).collect::<Vec<_>>();
        let range = |range: Range<u64>| cut_range(&range, Some(&size), || vec![0, 10, 100]);
        assert_eq!(delivered(range(5..100).unwrap()), [30, 30, 30, 5]);
        assert_eq!(range(5..100).unwrap()[1].span(), 35..65);
        assert_eq!(delivered(range(0..60).unwrap()), [30, 30]);
        assert!(range(7..7).unwrap().is_empty());
        assert!(range(0..u64::MAX).is_err());
        let list: Vec<u64> = (0..100).rev().collect();
        assert_eq!(delivered(cut_list(&list, Some(&size))), [30, 30, 30, 10]);
    }
}
