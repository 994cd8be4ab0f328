//! Clusters of a tree whose baskets go to another tree, between others.

use std::ops::Range;

use arrowroot::File;
use arrowroot::format::codec::CompressionSetting;
use arrowroot::format::tree::{BasketLocation, Branch, LeafKind, TreeRecord};
use arrowroot_file::format_error;
use arrowroot_writer::{PackedBasket, PackedCluster, PackedPieces};

use super::copy::{self, Job, index, next_window, read_window};
use super::schema::Mapping;
use crate::error::Result;
use crate::merging::Columns;
use crate::span::PackedSpan;
use crate::window::window_bytes;

/// Keys of higher versions have room for places beyond 2 GB.
const SMALL_KEY_VERSION: u16 = 1000;

/// The branches of a tree that is being written, as an input has them.
pub(crate) struct PackedTree {
    branches: Vec<PackedBranch>,
}

struct PackedBranch {
    baskets: Vec<BasketLocation>,
    largest: u64,
    setting: CompressionSetting,
}

impl PackedTree {
    /// The branches of a record in an input, if it has all of them and stores each in the same way.
    pub(crate) fn of(input: &TreeRecord, object_data: &[u8], output: &TreeRecord) -> Option<PackedTree> {
        let mapping = Mapping::between(input, output, Columns::First).ok()?;
        let mut branches: Vec<Option<PackedBranch>> = output.branches.iter().map(|_| None).collect();
        for (branch, to) in input.branches.iter().zip(&mapping.branches) {
            let Some(to) = *to else { continue };
            let known = &output.branches[to];
            // Readers take offsets for there or not by the branch.
            if !branch.file_name.is_empty() || (branch.n_entry_offsets > 0) != (known.n_entry_offsets > 0) {
                return None;
            }
            let counts =
                output.leaves.iter().any(|leaf| leaf.counter.is_some_and(|counter| known.leaves.contains(&counter)));
            branches[to] = Some(PackedBranch {
                baskets: branch.baskets(object_data).ok()?,
                largest: largest(input, branch, counts)?,
                setting: branch.compression,
            });
        }
        branches.into_iter().collect::<Option<_>>().map(|branches| PackedTree { branches })
    }

    /// The clusters all of whose baskets end where they do, and are records. `starts`: their first entries, and the end.
    pub(crate) fn spans(&self, starts: &[u64]) -> Vec<PackedSpan> {
        let cluster = |pair: &[u64]| {
            let jobs = self.jobs(pair[0]..pair[1])?;
            let stored_bytes = jobs.iter().map(|job| u64::from(job.stored_bytes)).sum();
            PackedSpan::of(pair[0]..pair[1], jobs.len() as u64, [stored_bytes, stored_bytes, 0])
        };
        starts.windows(2).filter_map(cluster).collect()
    }

    /// The baskets of a cluster in the order of the file, each numbered in that of branches and entries. `None` if some have
    /// entries of other clusters, too, are in the record of the tree, or have bytes in common.
    fn jobs(&self, entries: Range<u64>) -> Option<Vec<Job>> {
        let mut jobs = Vec::new();
        for (number, PackedBranch { baskets, .. }) in self.branches.iter().enumerate() {
            let first = baskets.partition_point(|basket| basket.first_entry < entries.start);
            let mut next = entries.start;
            for basket in &baskets[first..] {
                if next == entries.end {
                    break;
                }
                if basket.first_entry != next || basket.embedded.is_some() || basket.entry_end > entries.end {
                    return None;
                }
                next = basket.entry_end;
                jobs.push(Job::new(basket, number, jobs.len()));
            }
            if next != entries.end {
                return None;
            }
        }
        jobs.sort_unstable_by_key(|job| job.offset);
        copy::overlap(&jobs).is_none().then_some(jobs)
    }

    /// Reads a cluster; `None` if keys of its baskets are small ones.
    ///
    /// # Errors
    /// If a basket is not what the record says; errors of reading.
    pub(crate) fn read(&self, input: &File, path: &str, span: &PackedSpan) -> Result<Option<PackedCluster>> {
        let Some(jobs) = self.jobs(span.entries.clone()) else { return Ok(None) };
        let mut places: Vec<(usize, usize)> = vec![(0, 0); jobs.len()];
        jobs.iter().for_each(|job| places[job.number] = (0, job.stored_bytes as usize));
        let mut n_bytes = 0;
        for (start, len) in &mut places {
            *start = n_bytes;
            n_bytes += *len;
        }
        let (mut bytes, mut buffer) = (vec![0; n_bytes], Vec::new());
        let mut baskets: Vec<Option<PackedBasket>> = vec![None; jobs.len()];
        let mut rest = jobs.as_slice();
        while !rest.is_empty() {
            let (window, later) = next_window(rest, window_bytes(input));
            let starts = read_window(input, window, &mut buffer)?;
            for (job, start) in window.iter().zip(starts) {
                let record = &buffer[start..start + job.stored_bytes as usize];
                let head = job.head(record).map_err(|error| format_error(input.source().as_ref(), path, error))?;
                if head.key_version <= SMALL_KEY_VERSION {
                    return Ok(None);
                }
                let (start, len) = places[job.number];
                bytes[start..start + len].copy_from_slice(record);
                let PackedBranch { largest, setting, .. } = self.branches[job.branch];
                baskets[job.number] = Some(PackedBasket { branch: job.branch, head, largest, setting });
            }
            rest = later;
        }
        let baskets: Vec<PackedBasket> = baskets.into_iter().flatten().collect();
        let memory_bytes = baskets.iter().map(|basket| u64::from(basket.head.payload_bytes)).sum();
        let n_entries = index(span.entries.end - span.entries.start);
        Ok(Some(PackedCluster { n_entries, memory_bytes, bytes, pieces: PackedPieces::Baskets(baskets) }))
    }
}

/// The largest count of a branch that counts, or length of a text, as its tree says it; 0 of others. `None` of a counter that
/// says nothing.
fn largest(record: &TreeRecord, branch: &Branch, counts: bool) -> Option<u64> {
    let leaf = record.leaf(*branch.leaves.first()?);
    match leaf.kind {
        // With its final zero.
        LeafKind::Text => u64::try_from(leaf.n_values.max(1) - 1).ok(),
        _ if counts => leaf.maximum().filter(|&maximum| maximum > 0).and_then(|maximum| u64::try_from(maximum).ok()),
        _ => Some(0),
    }
}
