//! Copying the baskets of an input.

use ahash::HashMap;
use arrowroot::File;
use arrowroot::format::codec::{CompressionSetting, Compressor, Decompressor, check_packed};
use arrowroot::format::container::KeyHead;
use arrowroot::format::tree::{
    BasketHead, BasketLocation, Branch, BranchId, EmbeddedBasket, TreeRecord, append_entry_offsets, append_entry_sizes,
};
use arrowroot::storage::Part;
use arrowroot_file::{format_error, read_parts};

use super::baskets::{JoinedBranch, cycle_of};
use super::place::TreePlace;
use super::rebasket::{self, HeldBasket};
use super::schema::Mapping;
use crate::error::{Error, Result};
use crate::frames::{Lowest, Rows, Shift};
use crate::window::window_bytes;

/// So many bytes of small baskets of an input wait to be put together.
const MAX_HELD_BYTES: usize = 64 << 20;
/// So many bytes between baskets are read and dropped.
const MAX_GAP_BYTES: u64 = 16 << 10;

/// A basket to copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    /// Where it is in the input.
    pub(crate) offset: u64,
    pub(crate) stored_bytes: u32,
    n_entries: u32,
    /// Index of the branch of the output.
    pub(crate) branch: usize,
    /// Its number among the baskets of the input's branch.
    pub(crate) number: usize,
}

impl Job {
    pub(crate) fn new(basket: &BasketLocation, branch: usize, number: usize) -> Job {
        // A basket has at most 2^31 - 1 entries.
        let n_entries = u32::try_from(basket.entry_end - basket.first_entry).unwrap_or(u32::MAX);
        Job { offset: basket.offset, stored_bytes: basket.stored_bytes, n_entries, branch, number }
    }

    /// Parses the head of its record, which must be what the tree says of it, and checks what can be without unpacking it.
    pub(crate) fn head(&self, record: &[u8]) -> arrowroot::format::Result<BasketHead> {
        let head = BasketHead::parse(record).map_err(|error| error.at(self.offset))?;
        if (head.stored_bytes, head.n_entries) == (self.stored_bytes, self.n_entries) {
            let payload = record.get(head.key_bytes as usize..).unwrap_or_default();
            let checked = check_packed(payload, head.payload_bytes as usize);
            return checked.map(|()| head).map_err(|error| error.placed(head.payload_place(self.offset)));
        }
        let what = format!(
            "a basket of {} bytes and {} entries, where the tree says {} and {}",
            head.stored_bytes, head.n_entries, self.stored_bytes, self.n_entries
        );
        Err(arrowroot::format::Error::corrupt(0, what).at(self.offset))
    }
}

/// Two baskets that have bytes of the file in common. `jobs`: in the order of the file.
pub(crate) fn overlap(jobs: &[Job]) -> Option<&[Job]> {
    jobs.windows(2).find(|pair| pair[0].offset.saturating_add(pair[0].stored_bytes.into()) > pair[1].offset)
}

/// The baskets of an input that go to the output.
#[derive(Debug, Default)]
pub(crate) struct Copying {
    /// The baskets that are records, in the order of the file.
    jobs: Vec<Job>,
    /// Branch of the input and of the output, index among the baskets in the record, number.
    embedded: Vec<(BranchId, usize, usize, usize)>,
    /// Branches of the output: how many baskets they get, and entries if they have no baskets.
    counts: Vec<(usize, usize, i64)>,
    /// Branches of the output whose values are numbers of rows.
    shifts: HashMap<usize, Shift>,
}

impl Copying {
    /// Lists the baskets, or says why they cannot be copied.
    pub(crate) fn plan(record: &TreeRecord, object_data: &[u8], mapping: &Mapping) -> Result<Copying, String> {
        let mut copying = Copying::default();
        for ((id, branch), to) in (0..).map(BranchId).zip(&record.branches).zip(&mapping.branches) {
            let Some(to) = *to else { continue };
            let of_branch = |what: String| format!("branch {:?}: {what}", branch.name);
            if !branch.file_name.is_empty() {
                return Err(of_branch("its baskets are in another file, which is not merged".to_owned()));
            }
            let baskets = branch.baskets(object_data).map_err(|error| error.to_string())?;
            let mut entry_end = 0;
            for (number, basket) in baskets.iter().enumerate() {
                if basket.first_entry != entry_end {
                    return Err(of_branch(format!("no basket has its entries {entry_end} to {}", basket.first_entry)));
                }
                entry_end = basket.entry_end;
                match basket.embedded {
                    Some(index) => copying.embedded.push((id, to, index, number)),
                    None => copying.jobs.push(Job::new(basket, to, number)),
                }
            }
            // Some hold nothing but others inside, or objects without members.
            if !baskets.is_empty() && entry_end != record.n_entries {
                return Err(of_branch(format!("{entry_end} entries in a tree of {}", record.n_entries)));
            }
            copying.counts.push((to, baskets.len(), branch.n_entries));
        }
        copying.in_order()
    }

    /// The same as the file has them, or why that cannot be.
    pub(crate) fn in_order(mut self) -> Result<Copying, String> {
        self.sort();
        match overlap(&self.jobs) {
            Some(pair) => Err(format!("two baskets in the same place, {} and {}", pair[0].offset, pair[1].offset)),
            None => Ok(self),
        }
    }

    /// Adds baskets of a branch of the output, of which no others were added.
    pub(crate) fn add(&mut self, baskets: &[BasketLocation], branch: usize) {
        self.jobs.extend(baskets.iter().enumerate().map(|(number, basket)| Job::new(basket, branch, number)));
        self.counts.push((branch, baskets.len(), 0));
    }

    /// Sorts them as the file has them.
    pub(crate) fn sort(&mut self) {
        self.jobs.sort_unstable_by_key(|job| job.offset);
    }

    /// The number of baskets that are records, and their bytes as they are stored.
    pub(crate) fn sizes(&self) -> [u64; 2] {
        [self.jobs.len() as u64, self.jobs.iter().map(|job| u64::from(job.stored_bytes)).sum()]
    }

    /// Branches of the output that get baskets, or entries without baskets.
    pub(crate) fn with_and_without_baskets(&self) -> impl Iterator<Item = (usize, bool)> {
        self.counts.iter().map(|&(branch, n_baskets, _)| (branch, n_baskets > 0))
    }

    /// Gives rows in a branch of the output the numbers that they have there.
    pub(crate) fn shift(&mut self, branch: usize, rows: Rows) {
        self.shifts.insert(branch, Shift(rows));
    }

    /// Number of all baskets.
    pub(crate) fn n_baskets(&self) -> usize {
        self.jobs.len() + self.embedded.len()
    }

    /// Copies them behind those that the branches have. `joined`: the record of the output; `buffer`: memory for baskets,
    /// whose content means nothing; `lowest`: number of a row so far.
    pub(crate) fn copy(
        &self,
        input: &File,
        place: &TreePlace<'_>,
        branches: &mut [JoinedBranch],
        (record, object_data): (&TreeRecord, &[u8]),
        joined: &TreeRecord,
        (buffer, lowest): (&mut Vec<u8>, &mut Lowest),
    ) -> Result<()> {
        let mut first_numbers: Vec<usize> = branches.iter().map(JoinedBranch::n_numbers).collect();
        for &(branch, n_baskets, n_entries) in &self.counts {
            first_numbers[branch] = branches[branch].reserve(n_baskets);
            if n_baskets == 0 {
                branches[branch].count(n_entries);
            }
        }
        let mut rest = self.jobs.as_slice();
        let window_bytes = window_bytes(input);
        let mut compressor = Compressor::new();
        let (mut decompressor, mut held_bytes) = (Decompressor::default(), 0);
        while !rest.is_empty() {
            let (window, later) = next_window(rest, window_bytes);
            let in_tree = |error: arrowroot::format::Error| format_error(input.source().as_ref(), place.tree, error);
            let starts = read_window(input, window, buffer)?;
            let mut copied = Vec::with_capacity(window.len());
            for (job, &start) in window.iter().zip(&starts) {
                let record = &buffer[start..start + job.stored_bytes as usize];
                let head = job.head(record).map_err(&in_tree)?;
                let (branch, number) = (&mut branches[job.branch], first_numbers[job.branch] + job.number);
                let is_held = branch.holds(head.stored_bytes, head.payload_bytes);
                let shift = self.shifts.get(&job.branch);
                let is_unpacked = is_held || shift.is_some();
                let held = is_unpacked.then(|| HeldBasket::of(number, &head, record, &mut decompressor)).transpose();
                let mut held = held.map_err(|error| in_tree(error.placed(head.payload_place(job.offset))))?.flatten();
                let of_record = &joined.branches[job.branch];
                if let Some(shift) = shift {
                    let other = || "a basket of another form".to_owned();
                    let shifted = held.as_mut().ok_or_else(other).and_then(|held| shift.apply(&mut held.data, lowest));
                    shifted.map_err(|what| wrong_row(input, place, of_record, &what))?;
                }
                match held {
                    Some(held) if !is_held => {
                        let made = rebasket::joined(&[held], (&of_record.name, place.tree), of_record.compression);
                        let made = made.map_err(arrowroot_writer::Error::from)?;
                        made.append(place, branch, number, &mut compressor)?;
                    }
                    Some(held) => {
                        held_bytes += held.data.len();
                        branch.hold(held);
                    }
                    None => copied.push((job, start, head)),
                }
            }
            let seek_dir = place.file.seek_of(place.directory);
            let begin = place.file.with_appender(|appender| {
                let begin = appender.position();
                let mut position = begin;
                for &(job, start, _) in &copied {
                    let record = &mut buffer[start..start + job.stored_bytes as usize];
                    let cycle = cycle_of(first_numbers[job.branch] + job.number);
                    KeyHead::move_record(record, position, seek_dir, cycle, place.add_to_pid)?;
                    position += u64::from(job.stored_bytes);
                }
                appender.append(&contiguous(buffer, &copied))
            })?;
            let mut position = begin;
            for (job, _, head) in copied {
                let memory_bytes = u64::from(head.key_bytes) + u64::from(head.payload_bytes);
                let number = first_numbers[job.branch] + job.number;
                branches[job.branch].place(number, position, [job.stored_bytes, job.n_entries], memory_bytes);
                position += u64::from(job.stored_bytes);
            }
            if held_bytes > MAX_HELD_BYTES {
                for ((branch, first), of_record) in branches.iter_mut().zip(&first_numbers).zip(&joined.branches) {
                    put_together(branch, of_record, (*first, true), place, &mut compressor)?;
                }
                held_bytes = 0;
            }
            rest = later;
        }
        for &(id, branch, index, number) in &self.embedded {
            let mut basket = MadeBasket::of_embedded(record, id, index, object_data, place)?;
            if let Some(shift) = self.shifts.get(&branch) {
                let n_bytes = record.branch(id).embedded[index].data.len().min(basket.payload.len());
                let shifted = shift.apply(&mut basket.payload[..n_bytes], lowest);
                shifted.map_err(|what| wrong_row(input, place, record.branch(id), &what))?;
            }
            basket.append(place, &mut branches[branch], first_numbers[branch] + number, &mut compressor)?;
        }
        Ok(())
    }
}

/// An error of a branch of numbers of rows.
fn wrong_row(input: &File, place: &TreePlace<'_>, branch: &Branch, what: &str) -> Error {
    let what = format!("branch {:?} has numbers of rows, and {what}", branch.name);
    Error::Mismatch { url: input.url().to_owned(), path: place.tree.to_owned(), what }
}

/// The baskets that are read together, and those behind them. `jobs`: one at least, in the order of the file.
pub(crate) fn next_window(jobs: &[Job], window_bytes: u64) -> (&[Job], &[Job]) {
    let end = jobs[0].offset.saturating_add(window_bytes);
    let is_in = |job: &&Job| job.offset.saturating_add(job.stored_bytes.into()) <= end;
    jobs.split_at(jobs.iter().take_while(is_in).count().max(1))
}

/// Reads the baskets of a window. Returns where each begins in the buffer.
pub(crate) fn read_window(input: &File, window: &[Job], buffer: &mut Vec<u8>) -> Result<Vec<usize>> {
    let size_bytes = input.size_bytes();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    let mut starts = Vec::with_capacity(window.len());
    let mut n_bytes = 0;
    for job in window {
        let end = job.offset.saturating_add(job.stored_bytes.into());
        if end > size_bytes {
            let url = input.url().to_owned();
            let what = format!("a basket at {} ends behind the file, at {end} of {size_bytes} bytes", job.offset);
            return Err(Error::NotWhole { url, what });
        }
        match spans.last_mut() {
            Some(span) if job.offset - span.1 <= MAX_GAP_BYTES => {
                n_bytes += end - span.1;
                span.1 = end;
            }
            _ => {
                n_bytes += end - job.offset;
                spans.push((job.offset, end));
            }
        }
        starts.push(index(n_bytes - u64::from(job.stored_bytes)));
    }
    if buffer.len() < index(n_bytes) {
        buffer.resize(index(n_bytes), 0);
    }
    let mut parts = Vec::with_capacity(spans.len());
    let mut rest = buffer.as_mut_slice();
    for (start, end) in spans {
        let (part, later) = rest.split_at_mut(index(end - start));
        parts.push(Part { offset: start, buffer: part });
        rest = later;
    }
    read_parts(input.source().as_ref(), &mut parts)?;
    Ok(starts)
}

/// The bytes of baskets, those that stand one behind the other together.
fn contiguous<'b>(buffer: &'b [u8], copied: &[(&Job, usize, BasketHead)]) -> Vec<&'b [u8]> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for &(job, start, _) in copied {
        let end = start + job.stored_bytes as usize;
        match ranges.last_mut() {
            Some(range) if range.end == start => range.end = end,
            _ => ranges.push(start..end),
        }
    }
    ranges.into_iter().map(|range| &buffer[range]).collect()
}

/// Puts small baskets of a branch together, from a number on; whether no more will come.
pub(crate) fn put_together(
    branch: &mut JoinedBranch,
    of_record: &Branch,
    (first, is_last): (usize, bool),
    place: &TreePlace<'_>,
    compressor: &mut Compressor,
) -> Result<()> {
    for group in branch.take_groups(first, is_last) {
        let Some(held) = group.first() else { continue };
        let made = rebasket::joined(&group, (&of_record.name, place.tree), of_record.compression);
        made.map_err(arrowroot_writer::Error::from)?.append(place, branch, held.number, compressor)?;
    }
    Ok(())
}

/// A size of what was in memory, or is in a window.
pub(crate) fn index(n_bytes: u64) -> usize {
    usize::try_from(n_bytes).unwrap_or(usize::MAX)
}

/// A basket that is no record of an input.
pub(crate) struct MadeBasket {
    pub(crate) head: BasketHead,
    /// Name of its branch, and of the tree, in its key.
    pub(crate) branch: String,
    pub(crate) tree: String,
    pub(crate) compression: CompressionSetting,
    /// The values, and where entries begin.
    pub(crate) payload: Vec<u8>,
}

impl MadeBasket {
    /// A basket from the record of a tree.
    fn of_embedded(
        record: &TreeRecord,
        id: BranchId,
        index: usize,
        object_data: &[u8],
        place: &TreePlace<'_>,
    ) -> Result<MadeBasket> {
        let branch = record.branch(id);
        let EmbeddedBasket { head, data, entry_offsets, .. } = &branch.embedded[index];
        let mut new = BasketHead::new(&branch.name, place.tree).map_err(arrowroot_writer::Error::from)?;
        if head.offsets_are_sizes {
            new = new.with_generated_offsets(head.offsets_generated);
        }
        let mut payload = object_data.get(data.clone()).unwrap_or_default().to_vec();
        if let (false, Some(offsets)) = (head.offsets_generated, entry_offsets) {
            let starts: Vec<u32> = offsets.iter().map(|offset| offset.wrapping_add(new.key_bytes)).collect();
            let append = if head.offsets_are_sizes { append_entry_sizes } else { append_entry_offsets };
            append(&mut payload, &starts).map_err(arrowroot_writer::Error::from)?;
        }
        let head = BasketHead {
            buffer_bytes: head.buffer_bytes,
            data_bytes: head.data_bytes,
            n_entries: head.n_entries,
            entry_bytes: head.entry_bytes,
            pid_offset: head.pid_offset,
            ..new
        };
        let (branch, tree, compression) = (branch.name.clone(), place.tree.to_owned(), branch.compression);
        Ok(MadeBasket { head, branch, tree, compression, payload })
    }

    /// Compresses it, and writes it as a basket of that number.
    pub(crate) fn append(
        self,
        place: &TreePlace<'_>,
        branch: &mut JoinedBranch,
        number: usize,
        compressor: &mut Compressor,
    ) -> Result<()> {
        self.compressed(place.file.settings().compression, compressor)?.append(place, branch, number)
    }

    /// Compresses it; `of_file`: how, where its branch does not say it.
    pub(crate) fn compressed(
        self,
        of_file: CompressionSetting,
        compressor: &mut Compressor,
    ) -> Result<CompressedBasket> {
        let mut stored = Vec::new();
        let size = |n_bytes: usize| {
            u32::try_from(n_bytes).map_err(|_| arrowroot::format::Error::unsupported(0, "a basket of 4 GiB"))
        };
        let compressed = compressor.compress(self.compression.or(of_file), &self.payload, &mut stored);
        let head = compressed.and_then(|_| {
            Ok(BasketHead {
                stored_bytes: size(stored.len())?.saturating_add(self.head.key_bytes),
                payload_bytes: size(self.payload.len())?,
                ..self.head
            })
        });
        let head = head.map_err(arrowroot_writer::Error::from)?;
        Ok(CompressedBasket { head, branch: self.branch, tree: self.tree, stored })
    }
}

/// The same when it is compressed.
pub(crate) struct CompressedBasket {
    head: BasketHead,
    /// Name of its branch, and of the tree.
    branch: String,
    tree: String,
    stored: Vec<u8>,
}

impl CompressedBasket {
    /// Its bytes in the file, with the key.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.head.stored_bytes.into()
    }

    /// Writes it as a basket of that number.
    pub(crate) fn append(self, place: &TreePlace<'_>, branch: &mut JoinedBranch, number: usize) -> Result<()> {
        let CompressedBasket { head, branch: name, tree, stored } = self;
        let head = BasketHead {
            datime: place.file.datime(),
            cycle: cycle_of(number),
            seek_dir: place.file.seek_of(place.directory),
            pid_offset: head.pid_offset.saturating_add(place.add_to_pid),
            ..head
        };
        let offset = place.file.with_appender(|appender| {
            let head = BasketHead { seek_key: appender.position(), ..head };
            let mut output = arrowroot::format::Output::new(0);
            head.write(&name, &tree, &mut output)?;
            appender.append(&[&output.into_bytes(), &stored])
        })?;
        let memory_bytes = u64::from(head.key_bytes) + u64::from(head.payload_bytes);
        branch.place(number, offset, [head.stored_bytes, head.n_entries], memory_bytes);
        Ok(())
    }
}
