//! The keys of all directories of a file, level by level: two vector reads for each level, however many directories.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use arrowroot_format as format;
use arrowroot_storage::{Part, Source};
use format::container::{
    Directory, Key, is_directory_class, is_object, looks_like_directory, may_be_directory, parse_key_list,
};

use crate::error::Result;
use crate::fetch::read_parts;
use crate::file::{Entry, format_error};

/// Directories inside directories; offsets that run in circles end here.
const MAX_DEPTH: usize = 100;
/// Every key has a copy of its directory's path.
const MAX_PATH_BYTES: usize = 4096;
/// Bytes of a key with three empty texts. Lists do not overlap, so a file has room for so many keys and no more.
const SMALLEST_KEY_BYTES: u64 = 29;

/// A directory whose keys are to be listed.
struct Pending {
    directory: Directory,
    /// Empty, or with a slash after each name.
    path: String,
    /// The key that names it, as place in [`Listing::nodes`]; `None` for the root directory.
    parent: Option<usize>,
}

struct Node {
    entry: Entry,
    /// Places of the keys inside, if it is a directory.
    inside: Vec<usize>,
}

struct Listing<'s> {
    source: &'s dyn Source,
    nodes: Vec<Node>,
    top: Vec<usize>,
    seen: HashSet<u64>,
    /// Bytes of key lists so far.
    list_bytes: u64,
    n_without_list: usize,
}

/// What the key lists of a file have.
pub(crate) struct Listed {
    pub(crate) entries: Vec<Entry>,
    /// Directories that have no list: a file that was closed has none such.
    pub(crate) n_without_list: usize,
}

impl Listed {
    /// Where the records of its keys are: what tells whether a key is in it.
    pub(crate) fn places(&self) -> HashSet<u64> {
        self.entries.iter().map(|entry| entry.key.seek_key).collect()
    }
}

/// Lists a directory and all in it, depth first, in the order of the file.
pub(crate) fn list_directories(source: &dyn Source, root: &Directory) -> Result<Listed> {
    let mut listing =
        Listing { source, nodes: Vec::new(), top: Vec::new(), seen: HashSet::new(), list_bytes: 0, n_without_list: 0 };
    let mut level = vec![Pending { directory: root.clone(), path: String::new(), parent: None }];
    for depth in 0..=MAX_DEPTH {
        if level.is_empty() {
            let n_without_list = listing.n_without_list;
            return Ok(Listed { entries: listing.in_order(), n_without_list });
        }
        level = listing.list_level(level, depth)?;
    }
    let error = format::Error::corrupt(0, format!("directories more than {MAX_DEPTH} deep"));
    Err(format_error(source, "root directory", error))
}

impl Listing<'_> {
    /// Lists the keys of some directories, all `depth` deep. Returns the directories among them.
    fn list_level(&mut self, mut level: Vec<Pending>, depth: usize) -> Result<Vec<Pending>> {
        let n_all = level.len();
        level.retain(|pending| pending.directory.has_keys());
        self.n_without_list += n_all - level.len();
        for pending in &level {
            self.check(pending)?;
        }
        let ranges = level.iter().map(|pending| {
            let start = pending.directory.seek_keys;
            start..start.saturating_add(u64::from(pending.directory.n_bytes_keys))
        });
        let records = read_ranges(self.source, &ranges.collect::<Vec<_>>())?;
        let first = self.nodes.len();
        for (pending, record) in level.iter().zip(records) {
            let list = parse_key_list(&record).map_err(|error| self.fault(pending, error))?;
            if (self.nodes.len() + list.len()) as u64 > self.source.size_bytes() / SMALLEST_KEY_BYTES {
                let what = format!("{} keys, more than a file of this size holds", self.nodes.len() + list.len());
                return Err(self.fault(pending, format::Error::corrupt(0, what)));
            }
            for key in list {
                let place = self.nodes.len();
                let entry = Entry { directory: pending.path.clone(), depth, key, is_directory: false };
                self.nodes.push(Node { entry, inside: Vec::new() });
                match pending.parent {
                    Some(parent) => self.nodes[parent].inside.push(place),
                    None => self.top.push(place),
                }
            }
        }
        self.directories_from(first)
    }

    /// The directories that keys name, from a place on. Frameworks have classes of their own for them.
    fn directories_from(&mut self, first: usize) -> Result<Vec<Pending>> {
        let mut candidates = Vec::new();
        let mut ranges = Vec::new();
        for (place, node) in self.nodes.iter().enumerate().skip(first) {
            let key = &node.entry.key;
            let is_known = is_directory_class(&key.class_name);
            if is_known || (may_be_directory(key) && looks_like_class_of_directory(&key.class_name)) {
                let range = key.payload_range().map_err(|error| self.fault_of_key(key, error))?;
                // It is never compressed, and longer only if it is none.
                let end = range.end.min(range.start.saturating_add(Directory::MAX_BYTES as u64));
                candidates.push((place, is_known));
                ranges.push(range.start..end);
            }
        }
        let payloads = read_ranges(self.source, &ranges)?;
        let mut directories = Vec::new();
        for ((place, is_known), payload) in candidates.into_iter().zip(payloads) {
            let entry = &self.nodes[place].entry;
            let is_directory =
                if is_known { !is_object(&entry.key, &payload) } else { looks_like_directory(&entry.key, &payload) };
            if !is_directory {
                continue;
            }
            let directory = Directory::parse(&mut format::Cursor::new(&payload))
                .map_err(|error| self.fault_of_key(&entry.key, error.placed(entry.key.object_place())))?;
            let path = format!("{}{}/", entry.directory, entry.key.name);
            self.nodes[place].entry.is_directory = true;
            directories.push(Pending { directory, path, parent: Some(place) });
        }
        Ok(directories)
    }

    fn check(&mut self, pending: &Pending) -> Result<()> {
        let directory = &pending.directory;
        self.list_bytes = self.list_bytes.saturating_add(u64::from(directory.n_bytes_keys));
        let what = if !self.seen.insert(directory.seek_keys) {
            "a directory inside itself".to_owned()
        } else if self.list_bytes > self.source.size_bytes() {
            format!("key lists of {} bytes in a file of {}", self.list_bytes, self.source.size_bytes())
        } else if pending.path.len() > MAX_PATH_BYTES {
            format!("a path of {} bytes", pending.path.len())
        } else {
            return Ok(());
        };
        Err(self.fault(pending, format::Error::corrupt(0, what)))
    }

    fn fault(&self, pending: &Pending, error: format::Error) -> crate::Error {
        let path = pending.path.trim_end_matches('/');
        let name = if path.is_empty() { "root directory" } else { path.get(..100).unwrap_or(path) };
        format_error(self.source, name, error.at(pending.directory.seek_keys))
    }

    fn fault_of_key(&self, key: &Key, error: format::Error) -> crate::Error {
        format_error(self.source, &key.name, error.at(key.seek_key))
    }

    /// All keys, each directory's after its own.
    fn in_order(self) -> Vec<Entry> {
        let mut entries: Vec<Option<Node>> = self.nodes.into_iter().map(Some).collect();
        let mut ordered = Vec::with_capacity(entries.len());
        let mut stack: Vec<usize> = self.top.into_iter().rev().collect();
        while let Some(place) = stack.pop() {
            if let Some(node) = entries.get_mut(place).and_then(Option::take) {
                stack.extend(node.inside.into_iter().rev());
                ordered.push(node.entry);
            }
        }
        ordered
    }
}

/// The same keys, those of each directory behind the directory's own. What is in no directory among them comes last.
pub(crate) fn depth_first(entries: Vec<Entry>) -> Vec<Entry> {
    let mut inside: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in entries.into_iter().rev() {
        inside.entry(entry.directory.clone()).or_default().push(entry);
    }
    let mut ordered = Vec::new();
    while let Some(first) = inside.keys().next().cloned() {
        let mut stack = inside.remove(&first).unwrap_or_default();
        while let Some(entry) = stack.pop() {
            let within = entry.is_directory.then(|| inside.remove(&format!("{}/", entry.path()))).flatten();
            stack.extend(within.unwrap_or_default());
            ordered.push(entry);
        }
    }
    ordered
}

/// Reads some ranges in one vector read; their sizes are checked against the file before memory is taken.
pub(crate) fn read_ranges(source: &dyn Source, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
    let size_bytes = source.size_bytes();
    if let Some(range) = ranges.iter().find(|range| range.end > size_bytes) {
        let (offset, n_bytes) = (range.start, range.end - range.start);
        let url = source.url().to_owned();
        return Err(arrowroot_storage::Error::PastEnd { url, offset, n_bytes, size_bytes }.into());
    }
    let size = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let mut buffers: Vec<Vec<u8>> = ranges.iter().map(|range| vec![0; size(range)]).collect();
    let parts = ranges.iter().zip(&mut buffers).map(|(range, buffer)| Part { offset: range.start, buffer });
    let mut parts: Vec<Part<'_>> = parts.collect();
    read_parts(source, &mut parts)?;
    drop(parts);
    Ok(buffers)
}

/// Classes of objects that are as small as a directory are many; only these are worth a read.
fn looks_like_class_of_directory(class: &str) -> bool {
    class.is_empty() || class.contains("File") || class.contains("Dir")
}

#[cfg(test)]
mod tests;
