//! Taking entries out of the baskets of a tree.

use std::ops::Range;

use arrowroot::File;
use arrowroot::format::codec::Decompressor;
use arrowroot::format::tree::BasketLocation;
use arrowroot_file::{format_error, unpack};

use super::super::copy::{Job, next_window, read_window};
use super::entries::Entries;
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

/// A basket of which entries are taken.
struct Asked {
    branch: usize,
    basket: BasketLocation,
    /// These, counted from its first one.
    wanted: Vec<Range<usize>>,
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
        let mut buffer = Vec::new();
        self.clusters().try_for_each(|(cluster, _)| self.take(&cluster, &mut buffer, workers, |_, _| Ok(())))
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

    /// Takes the entries of a cluster, and of the next ones as far as baskets have some of both. `put` gets those of branches of
    /// the output, of each branch in their order. `buffer`: memory for baskets, whose content means nothing.
    pub(crate) fn take(
        &self,
        cluster: &Range<u64>,
        buffer: &mut Vec<u8>,
        workers: &mut [Worker],
        mut put: impl FnMut(Vec<(usize, Entries)>, &mut [Worker]) -> Result<()>,
    ) -> Result<()> {
        let asked = self.asked(cluster);
        let mut taken = asked.iter().map(|one| self.embedded(one)).collect::<Result<Vec<Option<Entries>>>>()?;
        let records = asked.iter().enumerate().filter(|(_, one)| one.basket.embedded.is_none());
        let mut jobs: Vec<Job> = records.map(|(number, one)| Job::new(&one.basket, one.branch, number)).collect();
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
            self.read(window, &asked, (buffer, &mut taken), workers)?;
            rest = later;
        }
    }

    /// The baskets whose first entry that is taken is in a cluster, branch by branch.
    fn asked(&self, cluster: &Range<u64>) -> Vec<Asked> {
        let mut asked = Vec::new();
        for (branch, baskets) in self.source.with_baskets() {
            let has_pointers = self.source.have_pointers[branch];
            let first = baskets.partition_point(|basket| basket.entry_end <= cluster.start);
            for basket in baskets[first..].iter().take_while(|basket| basket.first_entry < cluster.end) {
                let behind = &self.entries[self.entries.partition_point(|range| range.end <= basket.first_entry)..];
                let begin = behind.first().map_or(u64::MAX, |range| range.start.max(basket.first_entry));
                if !cluster.contains(&begin) {
                    continue;
                }
                // A basket has at most 2^31 - 1 entries.
                let number = |entry: u64| usize::try_from(entry - basket.first_entry).unwrap_or(usize::MAX);
                let within = behind
                    .iter()
                    .take_while(|range| range.start < basket.entry_end)
                    .map(|range| number(range.start.max(basket.first_entry))..number(range.end.min(basket.entry_end)));
                let wanted: Vec<Range<usize>> = within.collect();
                if !wanted.is_empty() {
                    asked.push(Asked { branch, basket: *basket, wanted, has_pointers });
                }
            }
        }
        asked
    }

    /// The entries of a basket that is in the record of the tree.
    fn embedded(&self, asked: &Asked) -> Result<Option<Entries>> {
        let Asked { branch, basket, wanted, has_pointers } = asked;
        let Some(index) = basket.embedded else { return Ok(None) };
        let embedded = &self.source.record.branches[*branch].embedded[index];
        if u64::from(embedded.head.n_entries) != basket.entry_end - basket.first_entry {
            let what = format!("a basket of {} entries, where the tree says others", embedded.head.n_entries);
            return Err(self.located(arrowroot::format::Error::corrupt(embedded.data.start, what)));
        }
        let entries = Entries::of_embedded(embedded, self.object_data, *has_pointers);
        Ok(Some(entries.map_err(|error| self.located(error))?.taken(wanted)))
    }

    /// Reads baskets, and takes the entries out of them.
    fn read(
        &self,
        window: &[Job],
        asked: &[Asked],
        (buffer, taken): (&mut Vec<u8>, &mut [Option<Entries>]),
        workers: &mut [Worker],
    ) -> Result<()> {
        let starts = read_window(self.input, window, buffer)?;
        let mut found: Vec<Option<Entries>> = vec![None; window.len()];
        let items = window.iter().zip(&starts).zip(&mut found).map(|((job, &start), slot)| {
            let record = &buffer[start..start + job.stored_bytes as usize];
            (job, record, slot)
        });
        let n_bytes = window.iter().map(|job| u64::from(job.stored_bytes)).sum();
        in_parallel(workers, items.collect(), n_bytes, |worker, (job, record, slot)| {
            let Asked { wanted, has_pointers, .. } = &asked[job.number];
            *slot = Some(self.unpacked(job, record, *has_pointers, &mut worker.decompressor)?.taken(wanted));
            Ok(())
        })?;
        for (job, entries) in window.iter().zip(found) {
            taken[job.number] = entries;
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
