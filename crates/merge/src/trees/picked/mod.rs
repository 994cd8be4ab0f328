//! Trees of which some entries and branches go to the output, as their bytes are: what the entries hold is not looked at, so that
//! objects of any class stay what they are.
//!
//! Clusters all of whose entries are wanted are copied packed. Of others the entries are taken out of unpacked baskets and put
//! together to new ones, those of all branches for the same entries.

mod entries;
mod source;
mod taking;

use std::ops::Range;
use std::sync::Arc;

use ahash::HashSet;
use arrowroot::format::codec::CompressionSetting;
use arrowroot::{File, Physical, Table};

use self::entries::Entries;
pub(crate) use self::source::InputTree;
pub(crate) use self::taking::Taking;
use super::copy::{CompressedBasket, Copying, MadeBasket};
use super::joined::{Joined, Staged};
use super::place::TreePlace;
use super::schema::Mapping;
use crate::error::Result;
use crate::merging::{Merged, Names, Output, Worker};
use crate::objects::worker::in_parallel;

/// Baskets have about as many bytes as the branch has room for, but so many at least, and at most.
const MIN_TARGET_BYTES: usize = 32_000;
const MAX_TARGET_BYTES: usize = 16 << 20;
/// A basket of more bytes is not put together.
const MAX_BASKET_BYTES: usize = 1 << 29;
/// A cluster ends where its entries have so many bytes.
const MAX_CLUSTER_BYTES: usize = 64 << 20;
/// Entries that wait are worth baskets of their own if they have so many bytes for each branch: fewer wait until others come.
const MIN_WAITING_BYTES: usize = 8_000;

/// Entries of a tree of an input that go to the output as their bytes are.
#[derive(Clone)]
pub struct Pick {
    /// The tree.
    pub table: Arc<dyn Table>,
    /// Its path in the output.
    pub path: String,
    /// Paths of the branches that are wanted; those that they are in, and those that count for them, come along.
    pub branches: Vec<String>,
    /// The entries, in order and apart from each other.
    pub entries: Vec<Range<u64>>,
}

impl Pick {
    /// Says why entries of a tree cannot be copied as their bytes are; empty if columns as they are read would become the same
    /// branches. `None`: they can be, and are worth it.
    ///
    /// # Errors
    /// If metadata of the tree cannot be read, or it has no such branch.
    pub fn fault(table: &dyn Table, branches: &[String]) -> arrowroot::Result<Option<String>> {
        let Physical::Tree { object_data, .. } = table.physical()? else { return Ok(Some(String::new())) };
        Ok(InputTree::of(table, branches)?.and_then(|tree| tree.check_writable(object_data)).err())
    }
}

/// How a tree was written whose entries were taken out of others.
#[derive(Debug, Clone, Default)]
pub struct Picked {
    /// The tree, as merging reports it.
    pub merged: Merged,
    /// Clusters that were copied packed, and bytes of their baskets.
    pub packed: [u64; 2],
    /// The same of those that were put together.
    pub made: [u64; 2],
}

/// A tree of the output.
pub(crate) struct PickedTree {
    names: Names,
    title: String,
    joined: Joined,
    /// Names of branches of the first input that it does not have.
    dropped: HashSet<String>,
    /// Of each branch the entries that wait for a basket.
    waiting: Vec<Entries>,
    /// Entries of the cluster that has not ended.
    n_waiting: u64,
    /// A cluster ends with so many entries.
    cluster_entries: u64,
    packed: [u64; 2],
    made: [u64; 2],
}

impl PickedTree {
    /// A tree with the branches of a source, and nothing in them.
    pub(crate) fn begin(names: Names, table: &dyn Table, source: &InputTree) -> Result<PickedTree> {
        let object_data = match table.physical()? {
            Physical::Tree { object_data, .. } => object_data.to_vec(),
            Physical::Ntuple { .. } => Vec::new(),
        };
        let mut record = source.record.clone();
        record.name.clone_from(&names.name);
        let waiting = record.branches.iter().map(|_| Entries::none()).collect();
        let mapping = Arc::new(Mapping::identity(&record));
        let staged = Staged { record, object_data, mapping, copying: Copying::default() };
        Ok(PickedTree {
            names,
            title: table.title().to_owned(),
            joined: Joined::begin(&staged, false),
            dropped: source.dropped.clone(),
            waiting,
            n_waiting: 0,
            cluster_entries: source.clusters.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(1),
            packed: [0; 2],
            made: [0; 2],
        })
    }

    /// Finds the branches of a source in the output, to which it gives so many entries.
    pub(crate) fn map(&self, input: &File, source: &mut InputTree, n_taken: u64) -> Result<Mapping> {
        let mapping = source.map(self.joined.record()).and_then(|mapping| {
            self.check_values(source, n_taken)?;
            Ok(mapping)
        });
        mapping.map_err(|what| self.names.mismatch(input, what))
    }

    /// Puts entries behind those so far. `mapping`: as [`PickedTree::map`] gave it.
    pub(crate) fn add(
        &mut self,
        taking: &Taking<'_>,
        mapping: &Mapping,
        output: &Output,
        workers: &mut [Worker],
    ) -> Result<()> {
        let Taking { source, entries, .. } = taking;
        let n_taken: u64 = entries.iter().map(|range| range.end - range.start).sum();
        let (directory, tree) = (self.names.directory_in(output)?, self.names.name.clone());
        let place = TreePlace { file: &output.file, directory, add_to_pid: output.n_processes, tree: &tree };
        // Entries that are put together know the number of their process.
        let for_made = TreePlace { file: place.file, directory, add_to_pid: 0, tree: &tree };
        let mut buffer = Vec::new();
        for (cluster, wanted) in taking.clusters() {
            let is_whole = wanted == [cluster.clone()] && self.can_end_cluster();
            if let Some(copying) = is_whole.then(|| source.whole(&cluster)).flatten() {
                self.end_cluster(&for_made, workers)?;
                self.joined.copy_baskets(taking.input, (&source.record, taking.object_data), &copying, &place)?;
                self.joined.end_cluster(cluster.end - cluster.start);
                self.packed = [self.packed[0] + 1, self.packed[1] + copying.sizes()[1]];
                continue;
            }
            taking.take(&cluster, &mut buffer, workers, |taken, workers| {
                self.put(taken, output.n_processes, &for_made, workers)
            })?;
            self.n_waiting += wanted.iter().map(|range| range.end - range.start).sum::<u64>();
            let n_bytes: usize = self.waiting.iter().map(Entries::n_bytes).sum();
            if self.n_waiting >= self.cluster_entries && self.can_end_cluster() || n_bytes >= MAX_CLUSTER_BYTES {
                self.end_cluster(&for_made, workers)?;
            }
        }
        for to in source.without_baskets() {
            self.joined.branches[to].count(i64::try_from(n_taken).unwrap_or(i64::MAX));
        }
        self.joined.join_taken(&source.record, taking.object_data, mapping, entries);
        Ok(())
    }

    /// Refuses a branch that has values in some inputs, and none in others that have entries.
    fn check_values(&self, source: &InputTree, n_taken: u64) -> Result<(), String> {
        if n_taken == 0 || self.joined.n_entries() == 0 {
            return Ok(());
        }
        let has_values = |to: usize| self.joined.branches[to].n_baskets() > 0 || self.waiting[to].n_entries() > 0;
        let gained = source.with_baskets().map(|(index, _)| source.to[index]).find(|to| !has_values(*to));
        match gained.or_else(|| source.without_baskets().find(|to| has_values(*to))) {
            None => Ok(()),
            Some(to) => {
                let name = &self.joined.record().branches[to].name;
                Err(format!("branch {name:?} has values in some inputs, and none in others that have entries"))
            }
        }
    }

    /// Puts entries of branches behind those that wait, and writes baskets that are full.
    fn put(
        &mut self,
        taken: Vec<(usize, Entries)>,
        n_processes: u16,
        place: &TreePlace<'_>,
        workers: &mut [Worker],
    ) -> Result<()> {
        let mut full = Vec::new();
        for (branch, mut entries) in taken {
            entries.move_processes(n_processes);
            let waiting = &mut self.waiting[branch];
            let n_bytes = waiting.n_bytes() + entries.n_bytes();
            if !waiting.go_before(&entries) || n_bytes > MAX_BASKET_BYTES {
                full.push((branch, std::mem::replace(waiting, Entries::none())));
            }
            waiting.append(entries);
            let target_bytes = usize::try_from(self.joined.record().branches[branch].basket_bytes).unwrap_or(0);
            if waiting.stand_alone() || waiting.n_bytes() >= 2 * target_bytes.clamp(MIN_TARGET_BYTES, MAX_TARGET_BYTES)
            {
                full.push((branch, std::mem::replace(waiting, Entries::none())));
            }
        }
        self.write(full, place, workers)
    }

    /// True if the entries that wait are worth baskets, or there are none.
    fn can_end_cluster(&self) -> bool {
        let waiting: Vec<usize> = self.waiting.iter().map(Entries::n_bytes).filter(|n_bytes| *n_bytes > 0).collect();
        self.n_waiting == 0 || waiting.iter().sum::<usize>() >= MIN_WAITING_BYTES * waiting.len()
    }

    /// Writes all that waits.
    fn end_cluster(&mut self, place: &TreePlace<'_>, workers: &mut [Worker]) -> Result<()> {
        if self.n_waiting == 0 {
            return Ok(());
        }
        let waiting = self.waiting.iter_mut().enumerate().filter(|(_, waiting)| waiting.n_entries() > 0);
        let full = waiting.map(|(branch, waiting)| (branch, std::mem::replace(waiting, Entries::none()))).collect();
        self.write(full, place, workers)?;
        self.joined.end_cluster(std::mem::take(&mut self.n_waiting));
        self.made[0] += 1;
        Ok(())
    }

    /// Writes baskets, in their order.
    fn write(&mut self, full: Vec<(usize, Entries)>, place: &TreePlace<'_>, workers: &mut [Worker]) -> Result<()> {
        let n_bytes = full.iter().map(|(_, entries)| entries.n_bytes() as u64).sum();
        let made = full.into_iter().map(|(branch, entries)| {
            let basket = entries.basket(&self.joined.record().branches[branch], place.tree);
            Ok((branch, Packing::Made(basket.map_err(arrowroot_writer::Error::from)?)))
        });
        let mut baskets: Vec<(usize, Packing)> = made.collect::<Result<_>>()?;
        let of_file = place.file.settings().compression;
        in_parallel(workers, baskets.iter_mut().collect(), n_bytes, |worker, (_, packing)| {
            packing.run(of_file, worker)
        })?;
        for (branch, packing) in baskets {
            let Packing::Done(basket) = packing else { continue };
            self.made[1] += basket.stored_bytes();
            let branch = &mut self.joined.branches[branch];
            let number = branch.reserve(1);
            basket.append(place, branch, number)?;
        }
        Ok(())
    }

    /// Writes what waits, and the record.
    pub(crate) fn finish(mut self, output: &Output, workers: &mut [Worker]) -> Result<Picked> {
        let (directory, tree) = (self.names.directory_in(output)?, self.names.name.clone());
        self.end_cluster(&TreePlace { file: &output.file, directory, add_to_pid: 0, tree: &tree }, workers)?;
        let PickedTree { names, title, mut joined, dropped, packed, made, .. } = self;
        joined.leave_out_of(&dropped);
        let merged = joined.finish(&output.file, directory, [&names.class_name, &names.name, &title])?;
        Ok(Picked { merged: Merged { path: names.path, class_name: names.class_name, ..merged }, packed, made })
    }
}

/// A basket on its way.
enum Packing {
    Made(MadeBasket),
    Done(CompressedBasket),
    /// Compressing it failed.
    Failed,
}

impl Packing {
    fn run(&mut self, of_file: CompressionSetting, worker: &mut Worker) -> Result<()> {
        if let Packing::Made(basket) = std::mem::replace(self, Packing::Failed) {
            *self = Packing::Done(basket.compressed(of_file, &mut worker.compressor)?);
        }
        Ok(())
    }
}
