//! Directories made again from the records of a file that has no key list.

use std::collections::HashMap;

use crate::container::{Datime, FileHeader, FoundRecord, Key, is_directory_class};

/// Directories may not be nested deeper than this; offsets that refer to each other end here.
const MAX_DEPTH: usize = 100;
/// Longer paths are not those of a file that someone made: every key has a copy of its path.
const MAX_PATH_BYTES: usize = 1024;

/// A key that was found without a key list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredKey {
    /// Path of the directory that holds it: empty for the root directory, else with a slash after each name.
    pub directory_path: String,
    /// Number of directories that it is in, below the root directory.
    pub depth: usize,
    /// The key.
    pub key: Key,
    /// Whether it is a directory itself.
    pub is_directory: bool,
}

/// What was found in a file without a key list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Keys in the order of their directories' paths, names, and cycles, the highest first.
    pub keys: Vec<RecoveredKey>,
    /// Key of the streamer information, if it was written: the last one.
    pub streamer_info: Option<Key>,
}

/// Sorts the records of a [`RecordWalk`](crate::container::RecordWalk) into directories.
///
/// Baskets, the blobs of RNTuples, key lists and free segments are left out: they are reached in other ways. Keys of a
/// directory that was not found, or that is nested in itself, are put into the root directory. Of keys with the same name
/// and cycle the last written one is kept. `known`: directories that are not among the records.
pub fn recovered_directory<'k>(
    header: &FileHeader,
    known: impl IntoIterator<Item = &'k Key>,
    records: impl IntoIterator<Item = FoundRecord>,
) -> Recovered {
    let mut recovered = Recovered::default();
    // Offset of each directory's record: its parent's offset and its name.
    let mut directories: HashMap<u64, (u64, String)> =
        known.into_iter().map(|key| (key.seek_key, (key.seek_dir, key.name.clone()))).collect();
    let mut found = Vec::new();
    let mut file = None;
    for FoundRecord { key, directory, .. } in records {
        if key.seek_key == header.begin {
            file = Some(key);
            continue;
        }
        match (key.class_name.as_str(), key.name.as_str()) {
            ("TBasket" | "RBlob", _) => continue,
            (_, "StreamerInfo") => {
                if recovered.streamer_info.as_ref().is_none_or(|last| last.datime <= key.datime) {
                    recovered.streamer_info = Some(key);
                }
                continue;
            }
            _ if directory.is_none() && is_bookkeeping(&key, file.as_ref()) => continue,
            _ => {}
        }
        if directory.is_some() {
            directories.insert(key.seek_key, (key.seek_dir, key.name.clone()));
        }
        found.push((key, directory.is_some()));
    }
    recovered.keys = found
        .into_iter()
        .map(|(key, is_directory)| {
            let (directory_path, depth) = path(&directories, key.seek_dir);
            RecoveredKey { directory_path, depth, key, is_directory }
        })
        .collect();
    recovered.keys.sort_by(|a, b| {
        (&a.directory_path, &a.key.name, b.key.cycle, b.key.datime, b.key.seek_key).cmp(&(
            &b.directory_path,
            &b.key.name,
            a.key.cycle,
            a.key.datime,
            a.key.seek_key,
        ))
    });
    recovered.keys.dedup_by(|next, kept| {
        next.directory_path == kept.directory_path && next.key.name == kept.key.name && next.key.cycle == kept.key.cycle
    });
    recovered
}

/// Leaves out the remains of older records in a file that was not damaged, but not closed.
///
/// A writer gives the end of the file free, too, and writes there anew: what follows its last record is of before. What is
/// not older than the record of the same name before the break, or has none, is kept.
pub fn without_remains(records: Vec<FoundRecord>) -> Vec<FoundRecord> {
    let mut latest: HashMap<(u64, String), Datime> = HashMap::new();
    for FoundRecord { key, .. } in records.iter().filter(|record| !record.is_behind_break) {
        let datime = latest.entry((key.seek_dir, key.name.clone())).or_default();
        *datime = key.datime.max(*datime);
    }
    let is_remains = |FoundRecord { key, is_behind_break, .. }: &FoundRecord| {
        *is_behind_break && latest.get(&(key.seek_dir, key.name.clone())).is_some_and(|datime| key.datime <= *datime)
    };
    records.into_iter().filter(|record| !is_remains(record)).collect()
}

/// Whether a record that is no directory is a key list or the free segments: these have the class, name and title of
/// their directory. The class of the file may be another one in each record.
fn is_bookkeeping(key: &Key, file: Option<&Key>) -> bool {
    is_directory_class(&key.class_name)
        || file
            .is_some_and(|file| key.class_name == file.class_name || (key.name == file.name && key.title == file.title))
}

/// Path of a directory, and how deep it is.
fn path(directories: &HashMap<u64, (u64, String)>, seek_dir: u64) -> (String, usize) {
    let (mut names, mut n_bytes) = (Vec::new(), 0);
    let mut offset = seek_dir;
    while let Some((parent, name)) = directories.get(&offset) {
        names.push(name.as_str());
        n_bytes += name.len() + 1;
        offset = *parent;
        if names.len() > MAX_DEPTH || n_bytes > MAX_PATH_BYTES {
            return (String::new(), 0);
        }
    }
    (names.iter().rev().flat_map(|name| [name, "/"]).collect(), names.len())
}
