//! A file that can be read before it is closed: what was saved of open tables, and what is free again.
//!
//! A table is saved by a record as it would have in the end, behind its pieces. Behind that stand the records that a closed file
//! ends with, and header and directories say so: whoever finds the file then, because its writer was killed, reads all tables as far
//! as they were saved. What is appended next lies behind the end of that file, which no reader looks at. Records that are
//! outdated are gaps of the final file.
//!
//! Source: `TTree::AutoSave` (ROOT 6.40).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use arrowroot_format as format;
use format::Output;
use format::codec::CompressionSetting;
use format::container::{FreeSegment, Key};

use super::DirectoryId;
use super::classes::NeededClasses;
use crate::appender::Appender;
use crate::error::Result;

/// A table that is not complete, as its record has it now.
pub(crate) struct Saving {
    /// The directory that lists it.
    pub(crate) directory: DirectoryId,
    /// Its class, its name, its title.
    pub(crate) texts: [String; 3],
    /// How the record is compressed.
    pub(crate) compression: CompressionSetting,
    /// Writes the record.
    pub(crate) write: WriteRecord,
    /// The classes in it.
    pub(crate) needed: NeededClasses,
}

/// Writes a record.
type WriteRecord = Box<dyn FnOnce(&mut Output) -> format::Result<()>>;

impl fmt::Debug for Saving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Saving").field("texts", &self.texts).finish_non_exhaustive()
    }
}

/// The records of tables that are open, and bytes of records that nothing names any more.
#[derive(Default)]
pub(super) struct Saved {
    tables: BTreeMap<(DirectoryId, String), SavedTable>,
    /// The records that a closed file ends with, behind the latest of the tables.
    ending: Option<Range<u64>>,
    /// In any order, disjoint.
    free: Vec<Range<u64>>,
    /// How many of `free` have the mark of a gap.
    n_marked: usize,
}

pub(super) struct SavedTable {
    pub(super) directory: DirectoryId,
    pub(super) key: Key,
    pub(super) needed: NeededClasses,
}

impl fmt::Debug for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Saved").field("n_tables", &self.tables.len()).field("free", &self.free).finish_non_exhaustive()
    }
}

impl Saved {
    /// The tables that are saved.
    pub(super) fn tables(&self) -> impl Iterator<Item = &SavedTable> {
        self.tables.values()
    }

    /// Takes the record of a table in place of an older one. What the file ended with before is free.
    pub(super) fn insert(&mut self, table: SavedTable) {
        self.remove(table.directory, &table.key.name);
        self.tables.insert((table.directory, table.key.name.clone()), table);
        self.free.extend(self.ending.take());
    }

    /// The file ends with what stands there.
    pub(super) fn set_ending(&mut self, ending: Range<u64>) {
        self.ending = Some(ending);
    }

    /// A table is complete, or given up: its record is free.
    pub(super) fn remove(&mut self, directory: DirectoryId, name: &str) {
        let table = self.tables.remove(&(directory, name.to_owned()));
        self.free.extend(table.map(|SavedTable { key, .. }| {
            let start = key.head.seek_key;
            start..start + u64::from(key.head.n_bytes)
        }));
    }

    /// The file is complete: nothing of it is needed.
    pub(super) fn clear(&mut self) {
        let names: Vec<(DirectoryId, String)> = self.tables.keys().cloned().collect();
        names.iter().for_each(|(directory, name)| self.remove(*directory, name));
        self.free.extend(self.ending.take());
    }

    /// The free ranges, in order; neighbours are one.
    pub(super) fn segments(&self) -> Vec<FreeSegment> {
        let mut free = self.free.clone();
        free.sort_by_key(|range| range.start);
        let mut segments: Vec<FreeSegment> = Vec::with_capacity(free.len());
        for range in free {
            match segments.last_mut() {
                Some(before) if before.last + 1 == range.start => before.last = range.end - 1,
                _ => segments.push(FreeSegment { first: range.start, last: range.end - 1 }),
            }
        }
        segments
    }

    /// Marks what has become free as gaps, which begin with their length, negative. No header of the file may name it any more.
    pub(super) fn mark(&mut self, appender: &mut Appender) -> Result<()> {
        let is_new = |segment: &FreeSegment| {
            self.free[self.n_marked..].iter().any(|range| (segment.first..=segment.last).contains(&range.start))
        };
        // Gaps that are as they were cost a write each, on any storage.
        for FreeSegment { first, last } in self.segments().into_iter().filter(is_new) {
            let n_bytes = i32::try_from(last + 1 - first).unwrap_or(i32::MAX);
            appender.write_at(first, &(-n_bytes).to_be_bytes())?;
        }
        self.n_marked = self.free.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrowroot_storage::{MemoryFile, MemorySink};

    use super::*;

    #[test]
    fn what_is_free_is_in_order_and_neighbours_are_one_gap() {
        let saved = Saved { free: vec![50..60, 10..20, 30..40, 20..30], ..Saved::default() };
        let found: Vec<_> = saved.segments().iter().map(|segment| (segment.first, segment.last)).collect();
        assert_eq!(found, [(10, 39), (50, 59)]);
    }

    #[test]
    fn a_gap_is_marked_once_and_again_when_it_grows() {
        let place = MemoryFile::default();
        let mut appender = Appender::new(Arc::new(MemorySink::create("m", &place)));
        appender.append(&[&[0; 100]]).unwrap();
        let mut saved = Saved { free: vec![10..20, 40..50], ..Saved::default() };
        saved.mark(&mut appender).unwrap();
        // These bytes show that it is not written again.
        appender.write_at(40, &[7; 10]).unwrap();
        saved.free.extend([20..30, 60..70]);
        saved.mark(&mut appender).unwrap();
        saved.mark(&mut appender).unwrap();
        appender.publish().unwrap();
        let bytes = place.bytes().unwrap();
        let marks: Vec<i32> =
            [10, 20, 40, 60].map(|at| i32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())).into();
        assert_eq!(marks, [-20, 0, 0x0707_0707, -10]);
    }
}
