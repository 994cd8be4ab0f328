//! A TTree: columns become branches, clusters baskets, and its record comes last.
//!
//! [`layout`] says which branches there are ([`elements`] those of objects), [`cut`] where their baskets end, [`encode`] makes them, and [`placed`] knows where
//! they are.

mod containers;
mod cut;
mod elements;
mod encode;
mod index;
mod late;
mod layout;
mod packed;
mod placed;
mod record;
mod streamed;
mod values;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrowroot_format::Output;
use arrowroot_format::codec::{CompressionSetting, Compressor};
use arrowroot_format::container::KeyHead;
use arrowroot_format::tree::{BasketHead, BasketRule, append_entry_offsets};

use crate::appender::Appender;
use crate::buffers;
use crate::check::Check;
use crate::cluster::Cluster;
use crate::codec::SAMPLE_BYTES;
use crate::error::{Error, Result};
use crate::file::{DirectoryId, FileWriter};
use crate::packed::{PackedBasket, PackedCluster, PackedPieces, StoredAs, of_other_format};
use crate::settings::{Baskets, Flush, TreeNotes};
use crate::table_format::{EncodeTask, Encoded, Extension, Save, TableFormat};

pub use containers::check_types;
use cut::{Begun, Cutting, OFFSET_BYTES, Parts};
pub use encode::Basket;
use encode::{Carried, Encoding, Job};
pub use index::IndexValues;
pub use layout::TreeColumn;
use layout::{Branch, EntrySize};
pub(crate) use layout::{check_layout, planned_branches};
use placed::{ClusterSizes, PlacedBranch};
use record::CutBaskets;
pub use record::MAX_RECORD_BYTES;

/// Bytes of the offsets behind the entries of a basket: their number, one for each entry, and one for the end.
fn offsets_bytes(n_entries: usize) -> usize {
    4 * (n_entries + 2)
}

/// The class of a tree, in its key.
pub(crate) const TREE_CLASS: &str = "TTree";
/// A tree is saved when so many times the bytes of its record were written since.
const SAVED_TIMES: u64 = 50;
/// Tasks encode so much at least, where there is so much.
const TASK_BYTES: usize = 64 << 10;
/// Basket size where baskets are to be full and nobody says how large. Source: `TTree::Branch` (ROOT 6.40).
const DEFAULT_BASKET_BYTES: u32 = 32_000;

/// The settings of a tree.
#[derive(Debug, Clone)]
pub struct TreeSettings {
    /// The directory that lists it.
    pub directory: DirectoryId,
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// How its record is compressed.
    pub compression: CompressionSetting,
    /// Where clusters end.
    pub flush: Flush,
    /// Sizes of its baskets.
    pub baskets: Baskets,
    /// See [`TableSettings`](crate::settings::TableSettings::autosave_bytes).
    pub autosave_bytes: u64,
    /// See [`TableSettings`](crate::settings::TableSettings::generates_offsets).
    pub generates_offsets: bool,
    /// The Arrow schema, as `ARROW:schema` has it, if reading would give another one without.
    pub arrow_schema: Option<String>,
    /// The rest of its record.
    pub notes: TreeNotes,
    /// The values that its entries are found by, if `notes` asks for them.
    pub index: Option<Arc<IndexValues>>,
    /// Its record has less before compression, about.
    pub max_record_bytes: u64,
}

/// A tree being written.
#[derive(Debug)]
pub struct TreeFormat {
    settings: TreeSettings,
    branches: Arc<[Branch]>,
    /// The values that columns do not hold.
    checks: Vec<Option<Check>>,
    cutting: Cutting,
    /// `fBasketSize` of each branch from the first flush on, where ROOT's rule gives them: known once the first cluster is cut.
    optimized: OnceLock<Vec<u32>>,
    /// Without flushes: for each branch the entries of its basket that is not full yet.
    carried: Mutex<Vec<Carried>>,
    placed: Vec<PlacedBranch>,
    cut_baskets: CutBaskets,
    clusters: ClusterSizes,
    /// True if the order of the entries is by chance.
    is_reshuffled: bool,
    /// The head of the basket that is being placed.
    head: Output,
    /// Baskets that are written when their cluster is complete, as full ones are.
    waiting: Vec<Encoded<Vec<Basket>>>,
    /// Bytes of all baskets in the file, of those up to the last cluster, and of those of clusters that ended as they should.
    stored_bytes: u64,
    ended_bytes: u64,
    flushed_bytes: u64,
    /// Once so many bytes are in the file, the tree is saved.
    next_saved_bytes: u64,
}

impl TreeFormat {
    /// A tree of columns, with no entries yet.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`](crate::Error::InvalidRequest) if a column has no layout: names it.
    pub fn new(file: &FileWriter, columns: &[TreeColumn], settings: TreeSettings) -> Result<Self> {
        let branches = layout::branches_of(columns, &settings.name, file.datime(), settings.generates_offsets)?;
        elements::describe(file, &branches)?;
        let (cutting, buffer_bytes) = match (settings.baskets, settings.flush) {
            (Baskets::Optimized { .. }, Flush::Never) => {
                let what =
                    "ROOT gives baskets their sizes at the first flush: without flushes they are fixed".to_owned();
                return Err(Error::InvalidRequest { what });
            }
            (Baskets::Fixed(n_bytes) | Baskets::Optimized { first_bytes: n_bytes, .. }, _) => (Cutting::Full, n_bytes),
            (Baskets::Fitted, Flush::Never) => (Cutting::Full, DEFAULT_BASKET_BYTES),
            (Baskets::Fitted, _) => (Cutting::Fitted, 0),
        };
        let placed = branches.iter().map(|branch| PlacedBranch::new(branch.has_offsets, buffer_bytes));
        Ok(TreeFormat {
            placed: placed.collect(),
            cut_baskets: CutBaskets::default(),
            carried: Mutex::new(vec![Carried::default(); branches.len()]),
            branches: branches.into(),
            checks: columns.iter().map(containers::check_of).collect::<Result<_>>()?,
            cutting,
            optimized: OnceLock::new(),
            next_saved_bytes: settings.autosave_bytes,
            settings,
            clusters: ClusterSizes::default(),
            is_reshuffled: false,
            head: Output::default(),
            waiting: Vec::new(),
            stored_bytes: 0,
            ended_bytes: 0,
            flushed_bytes: 0,
        })
    }

    /// The baskets that end in a cluster, of the branches from a number on. What is not full at its end and not flushed is carried
    /// on.
    fn jobs(&self, encoding: &Encoding<'_>, first_branch: usize) -> Result<Vec<Job>> {
        let Encoding { cluster, parts, .. } = *encoding;
        let n_entries = parts.n_entries();
        let mut jobs = Vec::with_capacity(self.branches.len());
        let mut all_carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
        let with_baskets = |(_, branch): &(usize, &Branch)| branch.entry_size != EntrySize::Nothing;
        for (number, branch) in self.branches.iter().enumerate().skip(first_branch).filter(with_baskets) {
            let setting = branch.compression.setting();
            let flushed = |entries, n_bytes| {
                let carried = None;
                Job { branch: number, entries, n_bytes, carried, is_flushed: true, setting }
            };
            let Cutting::Full = self.cutting else {
                cut::fitted(branch, cluster, parts, &mut |entries, n_bytes| jobs.push(flushed(entries, n_bytes)));
                continue;
            };
            let carried = &mut all_carried[number];
            let begun = Begun { n_entries: carried.n_entries, n_bytes: carried.bytes.len() };
            let mut start = 0;
            let basket_bytes = self.basket_bytes(number, cluster.first_entry > 0);
            for end in cut::full(branch, cluster, parts, basket_bytes, begun) {
                let carried = std::mem::take(carried);
                let n_bytes = carried.bytes.len() + cut::payload_bytes(branch, cluster, parts, start..end);
                let carried = Some(carried);
                jobs.push(Job { branch: number, entries: start..end, n_bytes, carried, is_flushed: false, setting });
                start = end;
            }
            if self.settings.flush == Flush::Never {
                encoding.carry(number, start..n_entries, carried)?;
            } else if start < n_entries {
                let n_bytes = cut::payload_bytes(branch, cluster, parts, start..n_entries);
                jobs.push(flushed(start..n_entries, n_bytes));
            }
        }
        Ok(jobs)
    }

    /// `fBasketSize` of a branch, where baskets are to be full: before the first flush and behind it.
    fn basket_bytes(&self, branch: usize, is_flushed: bool) -> u32 {
        let optimized = self.optimized.get().filter(|_| is_flushed).and_then(|sizes| sizes.get(branch));
        optimized.copied().unwrap_or(match self.settings.baskets {
            Baskets::Fixed(n_bytes) | Baskets::Optimized { first_bytes: n_bytes, .. } => n_bytes,
            Baskets::Fitted => DEFAULT_BASKET_BYTES,
        })
    }

    /// The sizes of baskets as ROOT gives them at the first flush, if it is to: from the baskets of the first cluster.
    ///
    /// Source: `TTree::Fill` (ROOT 6.40), which calls `TTree::OptimizeBaskets` with the bytes of the tree.
    fn optimize(&self, encoding: &Encoding<'_>, jobs: &[Job]) -> Result<()> {
        let Baskets::Optimized { .. } = self.settings.baskets else { return Ok(()) };
        let Encoding { cluster, parts, .. } = *encoding;
        if cluster.first_entry > 0 {
            return Ok(());
        }
        let mut placed: Vec<PlacedBranch> = self.placed.iter().map(PlacedBranch::begun).collect();
        for job in jobs {
            let branch = &self.branches[job.branch];
            let data_bytes = cut::data_bytes(branch, cluster, parts, job.entries.clone());
            let n_entries = job.entries.len();
            let offset_bytes = if branch.stores_offsets { offsets_bytes(n_entries) } else { 0 };
            let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
            let head = BasketHead {
                data_bytes: number(data_bytes),
                payload_bytes: number(data_bytes + offset_bytes),
                n_entries: number(n_entries),
                ..branch.basket_head
            };
            let Job { branch, setting, .. } = *job;
            let basket = Basket { branch, bytes: 0..0, head, largest: 0, closed: (0, true), setting, is_packed: false };
            placed[job.branch].place(&basket, 0);
        }
        let record = self.record(&placed)?;
        let rule = BasketRule::of_first_flush(u64::try_from(record.memory_bytes).unwrap_or_default());
        let sizes = record.optimized_baskets(rule).branches;
        let sizes = sizes.iter().map(|branch| u32::try_from(branch.basket_bytes).unwrap_or(DEFAULT_BASKET_BYTES));
        self.optimized.get_or_init(|| sizes.collect());
        Ok(())
    }

    /// Finds the codecs that are found by trial, from the first entries of the first cluster that has values of the branch: where
    /// empty lists and texts begin says nothing of them.
    fn find_codecs(&self, encoding: &Encoding<'_>) -> Result<()> {
        let Encoding { cluster, parts, .. } = *encoding;
        let (mut compressor, n_entries) = (Compressor::new(), parts.n_entries());
        let has_values = |branch: &Branch| {
            let column = &cluster.columns[branch.planned.column];
            parts.within(0..n_entries).any(|(index, _, range)| values::has_values(branch, &column[index], range))
        };
        let is_open = |(_, branch): &(usize, &Branch)| {
            branch.entry_size != EntrySize::Nothing && branch.compression.is_open() && has_values(branch)
        };
        for (number, branch) in self.branches.iter().enumerate().filter(is_open) {
            let n_bytes = cut::payload_bytes(branch, cluster, parts, 0..n_entries).max(1);
            let n_tried = (n_entries * SAMPLE_BYTES).div_ceil(n_bytes).min(n_entries);
            let mut sample = Carried::default();
            encoding.carry(number, 0..n_tried, &mut sample)?;
            if branch.stores_offsets {
                append_entry_offsets(&mut sample.bytes, &sample.starts)?;
            }
            branch.compression.find(&sample.bytes, &mut compressor)?;
        }
        Ok(())
    }

    /// Groups small baskets, so that each task is worth a thread's while.
    fn grouped(&self, cluster: Arc<Cluster>, parts: Parts, jobs: Vec<Job>) -> Vec<EncodeTask<Vec<Basket>>> {
        let mut groups: Vec<(usize, Vec<Job>)> = Vec::new();
        for job in jobs {
            // Before the offsets is their number, and behind them an end.
            let head_bytes = self.branches[job.branch].basket_head.key_bytes as usize + 2 * OFFSET_BYTES;
            let n_bytes = job.n_bytes + head_bytes;
            match groups.last_mut() {
                Some((group_bytes, group)) if *group_bytes < TASK_BYTES => {
                    *group_bytes += n_bytes;
                    group.push(job);
                }
                _ => groups.push((n_bytes, vec![job])),
            }
        }
        let parts = Arc::new(parts);
        let are_written_soon = self.cutting == Cutting::Fitted;
        let task = |(n_bytes, jobs): (usize, Vec<Job>)| {
            let (branches, cluster, parts) = (Arc::clone(&self.branches), Arc::clone(&cluster), Arc::clone(&parts));
            let task: EncodeTask<Vec<Basket>> = Box::new(move |compressor| {
                let encoding = Encoding { branches: &branches, cluster: &cluster, parts: &parts };
                let mut bytes = buffers::take(n_bytes);
                let pieces = encoding.encode(jobs, compressor, &mut bytes)?;
                if !are_written_soon {
                    // They wait for others, and only what they hold is counted meanwhile.
                    bytes.shrink_to_fit();
                }
                Ok(Encoded { bytes, pieces })
            });
            task
        };
        groups.into_iter().map(task).collect()
    }

    /// All baskets of a cluster are there. Writes those that waited for it as ROOT does: when they are full, after which entry
    /// that ever is.
    fn end_cluster(&mut self, cluster: &Cluster, appender: &mut Appender) -> Result<()> {
        if let Cutting::Full = self.cutting {
            let waiting = std::mem::take(&mut self.waiting);
            let mut baskets: Vec<(&Basket, &[u8])> = waiting
                .iter()
                .flat_map(|Encoded { bytes, pieces }| {
                    pieces.iter().map(|basket| (basket, &bytes[basket.bytes.clone()]))
                })
                .collect();
            baskets.sort_by_key(|(basket, _)| (basket.closed, basket.branch));
            let mut bytes = Vec::with_capacity(baskets.iter().map(|(_, record)| record.len()).sum());
            for (basket, record) in baskets {
                let start = bytes.len();
                bytes.extend_from_slice(record);
                self.place_basket(basket, &mut bytes[start..], appender.position() + start as u64)?;
            }
            appender.append(&[&bytes])?;
            if self.clusters.size == 0 && self.settings.flush != Flush::Never {
                // ROOT gives basket sizes anew then (`TTree::OptimizeBaskets`, `TBasket::AdjustSize`).
                for number in 0..self.placed.len() {
                    let basket_bytes = self.basket_bytes(number, true);
                    self.placed[number].forget_buffer(basket_bytes);
                }
            }
        }
        self.clusters.add(cluster.n_entries as u64);
        match self.settings.flush {
            // It is known only now that the cluster before was not the last, which nobody asked to end.
            Flush::Bytes(_) => self.flushed_bytes = self.ended_bytes,
            Flush::Entries(n_entries) if n_entries == cluster.n_entries as u64 => {
                self.flushed_bytes = self.stored_bytes
            }
            Flush::Entries(_) | Flush::Never => {}
        }
        self.ended_bytes = self.stored_bytes;
        Ok(())
    }

    /// Gives a basket its place, and writes its head into its record.
    fn place_basket(&mut self, basket: &Basket, record: &mut [u8], offset: u64) -> Result<()> {
        let head = self.placed[basket.branch].place(basket, offset);
        self.stored_bytes += u64::from(head.stored_bytes);
        if basket.is_packed {
            let seek_dir = self.branches[basket.branch].basket_head.seek_dir;
            return Ok(KeyHead::move_record(record, offset, seek_dir, head.cycle, 0)?);
        }
        self.head.clear();
        head.write(&self.branches[basket.branch].planned.name, &self.settings.name, &mut self.head)?;
        record[..head.key_bytes as usize].copy_from_slice(self.head.bytes());
        Ok(())
    }
}

impl TableFormat for TreeFormat {
    type Pieces = Vec<Basket>;

    /// `TTree::fAutoFlush` says them in one number; others take a range each.
    const HAS_REGULAR_CLUSTERS: bool = true;

    fn tasks(&self, cluster: Arc<Cluster>) -> Result<Vec<EncodeTask<Self::Pieces>>> {
        if let Some(index) = &self.settings.index {
            index.extend(&cluster)?;
        }
        let parts = Parts::of(&cluster);
        let encoding = Encoding { branches: &self.branches, cluster: &cluster, parts: &parts };
        self.find_codecs(&encoding)?;
        let jobs = self.jobs(&encoding, 0)?;
        self.count(jobs.len())?;
        self.optimize(&encoding, &jobs)?;
        Ok(self.grouped(cluster, parts, jobs))
    }

    fn check_room(&self) -> Result<()> {
        TreeFormat::check_room(self)
    }

    fn rest(&self) -> Result<Vec<EncodeTask<Self::Pieces>>> {
        let carried = std::mem::take(&mut *self.carried.lock().unwrap_or_else(PoisonError::into_inner));
        let baskets = carried.into_iter().enumerate().filter(|(_, carried)| carried.n_entries > 0);
        let job = |(branch, carried): (usize, Carried)| {
            let (n_bytes, setting) = (carried.bytes.len(), self.branches[branch].compression.setting());
            Job { branch, entries: 0..0, n_bytes, carried: Some(carried), is_flushed: true, setting }
        };
        let jobs = baskets.map(job).collect();
        let cluster = Cluster { first_entry: 0, n_entries: 0, columns: vec![Vec::new(); self.branches.len()] };
        let parts = Parts::of(&cluster);
        Ok(self.grouped(Arc::new(cluster), parts, jobs))
    }

    /// Baskets that wait to be full, and an index, need the values of all entries; the bytes of objects say of which version of
    /// a class they are, which the file would have to describe.
    fn stored_as(&self) -> Result<Option<StoredAs>> {
        let has_objects = self.branches.iter().any(|branch| branch.planned.element.is_some());
        if self.cutting != Cutting::Fitted || self.settings.index.is_some() || has_objects {
            return Ok(None);
        }
        let without_baskets: Vec<PlacedBranch> = self.placed.iter().map(PlacedBranch::begun).collect();
        self.record(&without_baskets).map(|record| Some(StoredAs::Tree(record.into())))
    }

    fn packed(&self, PackedCluster { n_entries, bytes, pieces, .. }: PackedCluster) -> Result<Encoded<Self::Pieces>> {
        let PackedPieces::Baskets(baskets) = pieces else { return Err(of_other_format()) };
        self.count(baskets.len())?;
        let mut end = 0;
        let basket = |PackedBasket { branch, head, largest, setting }| {
            let start = end;
            end += head.stored_bytes as usize;
            Basket { branch, bytes: start..end, head, largest, closed: (n_entries, true), setting, is_packed: true }
        };
        Ok(Encoded { pieces: baskets.into_iter().map(basket).collect(), bytes })
    }

    fn place(
        &mut self,
        cluster: &Cluster,
        encoded: Vec<Encoded<Self::Pieces>>,
        is_last: bool,
        appender: &mut Appender,
    ) -> Result<()> {
        match self.cutting {
            Cutting::Fitted => {
                for Encoded { mut bytes, pieces } in encoded {
                    for basket in &pieces {
                        let start = appender.position() + basket.bytes.start as u64;
                        self.place_basket(basket, &mut bytes[basket.bytes.clone()], start)?;
                    }
                    appender.append(&[&bytes])?;
                    buffers::give_back(bytes);
                }
            }
            Cutting::Full => self.waiting.extend(encoded),
        }
        if is_last {
            self.end_cluster(cluster, appender)?;
        }
        Ok(())
    }

    fn checks(&self) -> Vec<Option<Check>> {
        self.checks.clone()
    }

    fn extend(&mut self, file: &FileWriter, extension: Extension<'_>) -> Result<u64> {
        self.add_branches(file, &extension)?;
        let filled = self.back_fill(file, &extension);
        filled.inspect_err(|error| file.queue().stop(error.clone()))
    }

    fn be_reshuffled(&mut self) {
        self.is_reshuffled = true;
    }

    fn saving(&mut self) -> Result<Option<Save>> {
        // Without flushes branches end at different entries.
        if self.settings.autosave_bytes == 0
            || self.settings.flush == Flush::Never
            || self.stored_bytes < self.next_saved_bytes
        {
            return Ok(None);
        }
        let record_bytes = self.about_record_bytes();
        let distance = self.settings.autosave_bytes.max(SAVED_TIMES * record_bytes);
        self.next_saved_bytes = self.stored_bytes + distance;
        if record_bytes >= self.settings.max_record_bytes {
            return Ok(None);
        }
        let saving = self.saving_of_record()?;
        Ok(Some(Box::new(move |file: &FileWriter| file.save(saving))))
    }

    fn finish(&mut self, file: &FileWriter) -> Result<()> {
        self.write_record(file)
    }
}

#[cfg(test)]
mod tests;
