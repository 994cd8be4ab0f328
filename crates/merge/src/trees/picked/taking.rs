//! Taking entries out of the baskets of a tree.

use std::ops::Range;

use ahash::HashMap;
use arrowroot::File;
use arrowroot::format::codec::Decompressor;
use arrowroot::format::tree::BasketLocation;
use arrowroot_file::{format_error, unpack};

use super::super::copy::{Job, next_window, read_window};
use super::entries::{Entries, has_pointers};
use super::source::InputTree;
use crate::error::{Error, Result};
use crate::merging::Worker;
use crate::objects::worker::in_parallel;
use crate::window::window_bytes;

/// The entries of a tree of an input that are taken.
pub(crate) struct Taking<'a> {
    pub(crate) input: &'a File,
    /// Path of the tree.
    pub(crate) path: &'a str,
    pub(crate) source: &'a InputTree,
    /// The bytes that its record is in.
    pub(crate) object_data: &'a [u8],
    /// In order, and apart from each other.
    pub(crate) entries: &'a [Range<u64>],
}

/// Memory of a tree of an input.
#[derive(Default)]
pub(crate) struct Memory {
    /// For stored baskets; its content means nothing.
    buffer: Vec<u8>,
    /// Baskets of branches that have entries of the next cluster, too: by their first entries.
    held: HashMap<usize, (u64, Entries)>,
}

/// A basket of which entries are taken.
struct Asked {
    branch: usize,
    basket: BasketLocation,
    /// These, counted from its first one.
    wanted: Vec<Range<usize>>,
    /// True if it has entries of the next cluster, too.
    goes_on: bool,
    has_pointers: bool,
}

impl Taking<'_> {
    /// Checks that the entries are some of the tree.
    pub(crate) fn check(&self) -> Result<()> {
        let (n_entries, clusters) = (self.source.record.n_entries, &self.source.clusters);
        let mut end = 0;
        let is_ordered = self.entries.iter().all(|range| {
            let is_behind = end <= range.start && range.start < range.end;
            end = range.end;
            is_behind
        });
        let is_listed = clusters.first().is_none_or(|first| *first == 0)
            && clusters.last().is_none_or(|last| *last == n_entries)
            && (!clusters.is_empty() || n_entries == 0);
        if is_ordered && end <= n_entries && is_listed {
            return Ok(());
        }
        Err(Error::InvalidRequest {
            what: format!("{}: entries that are not those of a tree of {n_entries}", self.path),
        })
    }

    /// Reads and unpacks all that is to be taken, and drops it.
    pub(crate) fn try_all(&self, workers: &mut [Worker]) -> Result<()> {
        let mut memory = Memory::default();
        self.clusters()
            .try_for_each(|(cluster, wanted)| self.take(&cluster, &wanted, &mut memory, workers, |_, _| Ok(())))
    }

    /// The clusters of which entries are taken, with these.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = (Range<u64>, Vec<Range<u64>>)> {
        let mut rest = self.entries;
        self.source.clusters.windows(2).filter_map(move |pair| {
            let cluster = pair[0]..pair[1];
            rest = &rest[rest.partition_point(|range| range.end <= cluster.start)..];
            let within = rest.iter().take_while(|range| range.start < cluster.end);
            let wanted: Vec<_> =
                within.map(|range| range.start.max(cluster.start)..range.end.min(cluster.end)).collect();
            (!wanted.is_empty()).then_some((cluster, wanted))
        })
    }

    /// Takes entries of a cluster. `put` gets those of branches of the output, of each branch in their order.
    pub(crate) fn take(
        &self,
        cluster: &Range<u64>,
        wanted: &[Range<u64>],
        memory: &mut Memory,
        workers: &mut [Worker],
        mut put: impl FnMut(Vec<(usize, Entries)>, &mut [Worker]) -> Result<()>,
    ) -> Result<()> {
        let asked = self.asked(cluster, wanted);
        let mut taken: Vec<Option<Entries>> = Vec::with_capacity(asked.len());
        let mut jobs = Vec::new();
        for (number, one) in asked.iter().enumerate() {
            let found = self.at_hand(one, memory)?;
            if found.is_none() {
                jobs.push(Job::new(&one.basket, one.branch, number));
            }
            taken.push(found);
        }
        jobs.sort_unstable_by_key(|job| job.offset);
        let mut branches: Vec<Range<usize>> = Vec::new();
        for group in asked.chunk_by(|one, next| one.branch == next.branch) {
            let start = branches.last().map_or(0, |before| before.end);
            branches.push(start..start + group.len());
        }
        let mut next: Vec<usize> = branches.iter().map(|numbers| numbers.start).collect();
        let mut rest = jobs.as_slice();
        loop {
            let mut ready = Vec::new();
            for (next, numbers) in next.iter_mut().zip(&branches) {
                while *next < numbers.end
                    && let Some(entries) = taken[*next].take()
                {
                    ready.push((self.source.to[asked[*next].branch], entries));
                    *next += 1;
                }
            }
            put(ready, workers)?;
            if rest.is_empty() {
                return Ok(());
            }
            let (window, later) = next_window(rest, window_bytes(self.input));
            self.read(window, &asked, (memory, &mut taken), workers)?;
            rest = later;
        }
    }

    /// The baskets of which entries are taken, branch by branch.
    fn asked(&self, cluster: &Range<u64>, wanted: &[Range<u64>]) -> Vec<Asked> {
        let mut asked = Vec::new();
        let record = &self.source.record;
        for (branch, baskets) in self.source.with_baskets() {
            let has_pointers = has_pointers(record, &record.branches[branch]);
            let first = baskets.partition_point(|basket| basket.entry_end <= cluster.start);
            for basket in baskets[first..].iter().take_while(|basket| basket.first_entry < cluster.end) {
                let behind = &wanted[wanted.partition_point(|range| range.end <= basket.first_entry)..];
                // A basket has at most 2^31 - 1 entries.
                let index = |entry: u64| usize::try_from(entry - basket.first_entry).unwrap_or(usize::MAX);
                let within = behind.iter().take_while(|range| range.start < basket.entry_end);
                let within = within
                    .map(|range| index(range.start.max(basket.first_entry))..index(range.end.min(basket.entry_end)));
                let wanted: Vec<Range<usize>> = within.collect();
                if !wanted.is_empty() {
                    let goes_on = basket.entry_end > cluster.end;
                    asked.push(Asked { branch, basket: *basket, wanted, goes_on, has_pointers });
                }
            }
        }
        asked
    }

    /// Entries of a basket that need not be read: it was for the cluster before, or is in the record of the tree.
    fn at_hand(&self, asked: &Asked, memory: &Memory) -> Result<Option<Entries>> {
        let Asked { branch, basket, wanted, has_pointers, .. } = asked;
        if let Some(index) = basket.embedded {
            let branch = &self.source.record.branches[*branch];
            let entries = Entries::of_embedded(&branch.embedded[index], self.object_data, *has_pointers);
            return Ok(Some(entries.map_err(|error| self.located(error))?.taken(wanted, *has_pointers)));
        }
        let held = memory.held.get(branch).filter(|(first_entry, _)| *first_entry == basket.first_entry);
        Ok(held.map(|(_, entries)| entries.taken(wanted, *has_pointers)))
    }

    /// Reads baskets, and takes the entries out of them.
    fn read(
        &self,
        window: &[Job],
        asked: &[Asked],
        (memory, taken): (&mut Memory, &mut [Option<Entries>]),
        workers: &mut [Worker],
    ) -> Result<()> {
        let starts = read_window(self.input, window, &mut memory.buffer)?;
        let mut found: Vec<Option<Entries>> = vec![None; window.len()];
        let items = window.iter().zip(&starts).zip(&mut found).map(|((job, &start), slot)| {
            let record = &memory.buffer[start..start + job.stored_bytes as usize];
            (job, record, slot)
        });
        let n_bytes = window.iter().map(|job| u64::from(job.stored_bytes)).sum();
        in_parallel(workers, items.collect(), n_bytes, |worker, (job, record, slot)| {
            let asked = &asked[job.number];
            let entries = self.unpacked(job, record, asked.has_pointers, &mut worker.decompressor)?;
            *slot = Some(if asked.goes_on { entries } else { entries.taken(&asked.wanted, asked.has_pointers) });
            Ok(())
        })?;
        for (job, entries) in window.iter().zip(found) {
            let Asked { branch, basket, wanted, goes_on, has_pointers } = &asked[job.number];
            let Some(entries) = entries else { continue };
            if *goes_on {
                taken[job.number] = Some(entries.taken(wanted, *has_pointers));
                memory.held.insert(*branch, (basket.first_entry, entries));
            } else {
                taken[job.number] = Some(entries);
            }
        }
        Ok(())
    }

    /// The entries of a basket, as its record is stored.
    fn unpacked(
        &self,
        job: &Job,
        record: &[u8],
        has_pointers: bool,
        decompressor: &mut Decompressor,
    ) -> Result<Entries> {
        let head = job.head(record).map_err(|error| self.located(error))?;
        let in_basket = |error: arrowroot::format::Error| self.located(error.placed(head.payload_place(job.offset)));
        let mut payload = Vec::new();
        let stored = record.get(head.key_bytes as usize..).unwrap_or_default();
        unpack(decompressor, stored, head.payload_bytes as usize, &mut payload).map_err(in_basket)?;
        Entries::of(&head, payload, has_pointers).map_err(in_basket)
    }

    fn located(&self, error: arrowroot::format::Error) -> Error {
        format_error(self.input.source().as_ref(), self.path, error).into()
    }
}
