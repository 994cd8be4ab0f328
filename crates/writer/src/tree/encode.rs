//! Baskets from the values of a cluster: what the compressing threads do.

use std::cell::RefCell;
use std::ops::Range;

use arrowroot_arrow::Stored;
use arrowroot_arrow::stored::{BranchForm, Content, Step};
use arrowroot_format::codec::{CompressionSetting, Compressor};
use arrowroot_format::tree::{BasketHead, append_entry_offsets, append_entry_sizes, append_list_starts};

use super::cut::Parts;
use super::layout::{Branch, EntrySize, MAX_OBJECT_BYTES};
use super::packed::append_packed;
use super::streamed::Streamed;
use super::values::{self, index};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::table::SharedCounter;

/// A basket to be made.
#[derive(Debug)]
pub(super) struct Job {
    /// Number of the branch.
    pub(super) branch: usize,
    /// Which entries of the cluster.
    pub(super) entries: Range<usize>,
    /// Bytes of all its entries with their offsets, about.
    pub(super) n_bytes: usize,
    /// Entries of clusters before.
    pub(super) carried: Option<Carried>,
    /// True if it is not full, but the cluster, or the table, ends.
    pub(super) is_flushed: bool,
    /// How it is compressed.
    pub(super) setting: CompressionSetting,
}

/// The entries of a basket that is not full yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Carried {
    /// The bytes of its entries.
    pub(super) bytes: Vec<u8>,
    /// Where each begins, from the begin of the record; empty if all have the same size.
    pub(super) starts: Vec<u32>,
    /// Number of its entries.
    pub(super) n_entries: usize,
    /// The largest count of a counter, or length of a text.
    pub(super) largest: u64,
}

/// A basket that was made.
#[derive(Debug)]
pub struct Basket {
    /// Number of the branch.
    pub(super) branch: usize,
    /// Where its record is in the bytes of the task.
    pub(super) bytes: Range<usize>,
    /// Its head, but for what follows from its place.
    pub(super) head: BasketHead,
    /// The largest count of a counter, or length of a text.
    pub(super) largest: u64,
    /// Which entry of the cluster it ends before, and whether it was not full then.
    pub(super) closed: (usize, bool),
    /// How it was compressed.
    pub(super) setting: CompressionSetting,
    /// True if its record has a key of its own, of which only the place is written anew.
    pub(super) is_packed: bool,
}

/// Memory of a thread that is used again.
#[derive(Default)]
struct Scratch {
    /// The entries of a basket, and their offsets.
    payload: Vec<u8>,
    starts: Vec<u32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Where the values of a cluster are, and what is made of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encoding<'a> {
    pub(super) branches: &'a [Branch],
    pub(super) cluster: &'a Cluster,
    pub(super) parts: &'a Parts,
}

impl Encoding<'_> {
    /// Makes baskets, one behind the other in `out`.
    pub(super) fn encode(&self, jobs: Vec<Job>, compressor: &mut Compressor, out: &mut Vec<u8>) -> Result<Vec<Basket>> {
        SCRATCH
            .with_borrow_mut(|scratch| jobs.into_iter().map(|job| self.basket(job, compressor, scratch, out)).collect())
    }

    fn basket(
        &self,
        job: Job,
        compressor: &mut Compressor,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Basket> {
        let branch = &self.branches[job.branch];
        let start = out.len();
        let key_bytes = branch.basket_head.key_bytes as usize;
        // The head is written when the basket has its place.
        out.resize(start + key_bytes, 0);
        let setting = job.setting;
        let is_plain = setting.algorithm()?.is_none();
        let Scratch { payload, starts } = scratch;
        payload.clear();
        starts.clear();
        // What is not compressed is made where it stays.
        let target = if is_plain { &mut *out } else { &mut *payload };
        let target_start = target.len();
        let mut entries = Entries { bytes: target, start: target_start, starts, largest: 0 };
        let n_carried = job.carried.map_or(0, |carried| entries.take(carried));
        self.append(branch, job.entries.clone(), &mut entries)?;
        let largest = entries.largest;
        let data_bytes = target.len() - target_start;
        let n_entries = n_carried + job.entries.len();
        let refused = |n_bytes: usize| {
            let what = format!("a basket of {n_entries} entries takes {n_bytes} bytes: it holds less than 1 GiB");
            self.refused(branch, job.entries.start, what)
        };
        if data_bytes >= MAX_OBJECT_BYTES {
            return Err(refused(data_bytes));
        }
        let mut entry_bytes = data_bytes / n_entries.max(1);
        if branch.has_offsets {
            entry_bytes = 0;
        }
        if branch.stores_offsets {
            let append = if branch.basket_head.offsets_are_sizes { append_entry_sizes } else { append_entry_offsets };
            append(target, starts)?;
        }
        let payload_bytes = target.len() - target_start;
        if !is_plain {
            compressor.compress(setting, payload, out)?;
        }
        let number = |value: usize| {
            let small = u32::try_from(value).ok();
            small.filter(|_| value < MAX_OBJECT_BYTES + key_bytes).ok_or_else(|| refused(payload_bytes))
        };
        let head = BasketHead {
            stored_bytes: number(out.len() - start)?,
            payload_bytes: number(payload_bytes)?,
            data_bytes: number(data_bytes)?,
            n_entries: number(n_entries)?,
            entry_bytes: number(entry_bytes)?,
            ..branch.basket_head
        };
        let closed = (job.entries.end, job.is_flushed);
        Ok(Basket { branch: job.branch, bytes: start..out.len(), head, largest, closed, setting, is_packed: false })
    }

    /// The entries that make no full basket yet, behind those that were carried before.
    pub(super) fn carry(&self, branch: usize, entries: Range<usize>, carried: &mut Carried) -> Result<()> {
        let mut appended =
            Entries { bytes: &mut carried.bytes, start: 0, starts: &mut carried.starts, largest: carried.largest };
        self.append(&self.branches[branch], entries.clone(), &mut appended)?;
        carried.largest = appended.largest;
        carried.n_entries += entries.len();
        Ok(())
    }

    /// Appends entries.
    fn append(&self, branch: &Branch, entries: Range<usize>, out: &mut Entries<'_>) -> Result<()> {
        let column = &self.cluster.columns[branch.planned.column];
        for (number, part_start, range) in self.parts.within(entries) {
            let part = &column[number];
            match branch.entry_size {
                EntrySize::Fixed(_) => self.append_fixed(branch, part, part_start, range, out)?,
                EntrySize::PerItem(item_bytes) => {
                    self.check_counts(branch, number, part_start, &range)?;
                    let item_bytes = u32::try_from(item_bytes).unwrap_or(u32::MAX);
                    let start_of_range = range.start;
                    let located = values::locate(part, range, &branch.planned.path);
                    let offsets = located.offsets.unwrap_or_default();
                    let base = out.record_position(branch);
                    let begins = &offsets[..offsets.len().saturating_sub(1)];
                    append_list_starts(begins, item_bytes, base, out.starts);
                    let refused = append_located(branch, located.values, located.range.clone(), out.bytes);
                    if let Some((item, value)) = refused {
                        let entry = offsets.partition_point(|offset| index(*offset) <= item).saturating_sub(1);
                        return Err(self.outside(branch, part_start + start_of_range + entry, value));
                    }
                }
                EntrySize::Text => self.append_texts(branch, part, part_start, range, out)?,
                EntrySize::Vectors | EntrySize::Streamed => {
                    let Entries { bytes, start, starts, .. } = out;
                    let begin = |at: usize| starts.push(record_position(branch, at - *start));
                    let appended = Streamed::of(branch, part).append(range, bytes, begin);
                    appended.map_err(|(entry, value)| self.outside(branch, part_start + entry, value))?;
                }
                EntrySize::Nothing => {}
            }
        }
        Ok(())
    }

    fn append_fixed(
        &self,
        branch: &Branch,
        part: &Stored,
        part_start: usize,
        range: Range<usize>,
        out: &mut Entries<'_>,
    ) -> Result<()> {
        if let EntrySize::Fixed(n_bytes) = branch.entry_size
            && branch.has_offsets
        {
            let (base, n_bytes) = (out.record_position(branch), u32::try_from(n_bytes).unwrap_or(u32::MAX));
            let begins = (0..range.len()).scan(base, |begin, _| {
                let own = *begin;
                *begin = begin.wrapping_add(n_bytes);
                Some(own)
            });
            out.starts.extend(begins);
        }
        let located = values::locate(part, range.clone(), &branch.planned.path);
        if branch.planned.content == Content::Counter {
            let offsets = values::offsets_of(located.values, &located.range);
            let largest = values::lengths(offsets).max().unwrap_or_default();
            if i32::try_from(largest).is_err() {
                let index = values::lengths(offsets).position(|length| length == largest).unwrap_or_default();
                let what = format!("{largest} items: the counter of a branch has 32 bits and counts to {}", i32::MAX);
                return Err(self.refused(branch, part_start + range.start + index, what));
            }
            out.largest = out.largest.max(largest as u64);
            values::append_counts(offsets, out.bytes);
            return Ok(());
        }
        if branch.is_counter {
            out.largest = out.largest.max(largest_number(located.values, located.range.clone()));
        }
        let first = located.range.start;
        let n_values = (located.range.len() / range.len().max(1)).max(1);
        match append_located(branch, located.values, located.range, out.bytes) {
            None => Ok(()),
            Some((item, value)) => {
                Err(self.outside(branch, part_start + range.start + (item - first) / n_values, value))
            }
        }
    }

    fn append_texts(
        &self,
        branch: &Branch,
        part: &Stored,
        part_start: usize,
        range: Range<usize>,
        out: &mut Entries<'_>,
    ) -> Result<()> {
        let located = values::locate(part, range.clone(), &branch.planned.path);
        let Stored::Text { bytes, .. } = located.values else { return Ok(()) };
        let offsets = values::offsets_of(located.values, &located.range);
        let all = offsets.first().zip(offsets.last()).map_or(0..0, |(first, last)| index(*first)..index(*last));
        if let Some(zero) = bytes[all.clone()].iter().position(|byte| *byte == 0) {
            let at = all.start + zero;
            let text = offsets.partition_point(|offset| index(*offset) <= at).saturating_sub(1);
            let what = "a text with a zero in it: a text of a tree ends there for ROOT. \
                        Store it as binary, or in a list (vector<string>), or in an RNTuple";
            return Err(self.refused(branch, part_start + range.start + text, what.to_owned()));
        }
        for pair in offsets.windows(2) {
            out.starts.push(out.record_position(branch));
            let text = &bytes[index(pair[0])..index(pair[1])];
            out.largest = out.largest.max(text.len() as u64);
            values::append_text(text, out.bytes);
        }
        Ok(())
    }

    /// That the lists of a branch have as many items as its counter says, if that counts others too.
    fn check_counts(&self, branch: &Branch, index: usize, part_start: usize, range: &Range<usize>) -> Result<()> {
        let BranchForm::Counted { counter, .. } = branch.planned.form else { return Ok(()) };
        if branch.planned.element.is_some() {
            return Ok(());
        }
        let counter = &self.branches[counter];
        let path = &branch.planned.path;
        let to_list = path.iter().position(|step| *step == Step::Items).map_or(&path[..], |index| &path[..index]);
        if counter.planned.column == branch.planned.column && counter.planned.path == to_list {
            return Ok(());
        }
        let offsets_at = |column: usize, path: &[Step]| {
            let located = values::locate(&self.cluster.columns[column][index], range.clone(), path);
            values::offsets_of(located.values, &located.range)
        };
        let own = offsets_at(branch.planned.column, to_list);
        let differs = if counter.planned.content == Content::Counter {
            let counted = offsets_at(counter.planned.column, &counter.planned.path);
            if std::ptr::eq(own, counted) {
                None
            } else {
                values::lengths(own).zip(values::lengths(counted)).position(|(own, counted)| own != counted)
            }
        } else {
            let numbers = &self.cluster.columns[counter.planned.column][index];
            let mut lengths = values::lengths(own).zip(range.clone());
            lengths.position(|(length, entry)| number_at(numbers, entry) != Some(length as u64))
        };
        match differs {
            None => Ok(()),
            Some(entry) => Err(self.refused(
                branch,
                part_start + range.start + entry,
                SharedCounter::refusal(
                    &branch.column_name,
                    values::lengths(own).nth(entry).unwrap_or_default(),
                    &counter.planned.name,
                ),
            )),
        }
    }

    /// A value that the packed type of a branch does not hold.
    fn outside(&self, branch: &Branch, entry: usize, value: f64) -> Error {
        let name = branch.packed.as_ref().map_or("", |packed| &packed.name);
        let missing = if value == 0.0 { " (as which a missing value is stored, too)" } else { "" };
        let what =
            format!("a value of {value:?}{missing}, which {name} does not hold: give it a range that has it, or none");
        self.refused(branch, entry, what)
    }

    fn refused(&self, branch: &Branch, entry: usize, what: String) -> Error {
        Error::Value { column: branch.column_name.clone(), entry: self.cluster.first_entry + entry as u64, what }
    }
}

/// Entries that are being made.
struct Entries<'a> {
    bytes: &'a mut Vec<u8>,
    /// Where the first one begins in `bytes`.
    start: usize,
    starts: &'a mut Vec<u32>,
    largest: u64,
}

impl Entries<'_> {
    /// Takes the entries of clusters before; there are no others yet. Returns how many they are.
    fn take(&mut self, carried: Carried) -> usize {
        self.bytes.extend_from_slice(&carried.bytes);
        self.starts.extend_from_slice(&carried.starts);
        self.largest = carried.largest;
        carried.n_entries
    }

    /// Where the next entry begins, from the begin of the record.
    fn record_position(&self, branch: &Branch) -> u32 {
        record_position(branch, self.bytes.len() - self.start)
    }
}

/// Where an entry begins from the begin of the record, behind so many bytes of others. It is right below 4 GiB, and no more is
/// stored.
fn record_position(branch: &Branch, n_bytes: usize) -> u32 {
    branch.basket_head.key_bytes.wrapping_add(u32::try_from(n_bytes).unwrap_or(u32::MAX))
}

/// Returns the place and the value of the first number that its branch does not hold.
fn append_located(branch: &Branch, values: &Stored, range: Range<usize>, out: &mut Vec<u8>) -> Option<(usize, f64)> {
    match (branch.planned.content, &branch.packed) {
        (Content::Validity, _) => values::append_validity(values, range, out),
        (_, Some(packed)) => return append_packed(values, range, packed, out),
        _ => values::append_numbers(values, range, out),
    }
    None
}

/// A number of 32 bits that is not negative.
fn number_at(values: &Stored, index: usize) -> Option<u64> {
    let Stored::Numbers { primitive, values } = values else { return None };
    let word = values.as_slice().get(index * 4..)?.first_chunk::<4>().filter(|_| primitive.stored_bytes() == 4)?;
    u64::try_from(i32::from_ne_bytes(*word)).ok()
}

fn largest_number(values: &Stored, range: Range<usize>) -> u64 {
    range.filter_map(|index| number_at(values, index)).max().unwrap_or_default()
}
