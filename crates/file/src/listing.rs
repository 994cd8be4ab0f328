//! The keys of the directories of a file: of those that a path names, or of all, level by level with two vector reads for
//! each level, however many directories.

use std::collections::{BTreeMap, HashSet};

use arrowroot_format as format;
use arrowroot_storage::Source;
use format::container::{
    Directory, Key, KeyList, is_directory_class, is_object, looks_like_directory, may_be_directory,
};

use crate::access::{format_error, read_ranges};
use crate::error::Result;
use crate::key::FileKey;
use crate::paths::{Paths, around};

/// Bytes of a key with three empty texts. Lists do not overlap, so a file has room for so many keys and no more.
const SMALLEST_KEY_BYTES: u64 = 29;
/// Every key has a copy of its directory's path, and directories may be as deep as the file is long. All paths together
/// may have so many bytes, and so many more for each of the file.
const PATH_BYTES: u64 = 64 << 20;
const PATH_BYTES_PER_BYTE: u64 = 16;

/// A directory whose keys are to be listed.
struct Pending {
    directory: Directory,
    /// Empty, or with a slash after each name.
    path: String,
    depth: usize,
    /// The key that names it, as place in [`Listing::nodes`]; `None` for the root directory.
    parent: Option<usize>,
}

struct Node {
    entry: FileKey,
    state: KeyState,
    /// Places of the keys inside, if it is a directory.
    inside: Vec<usize>,
}

/// How far a key was looked into.
enum KeyState {
    /// Its class may be that of a directory: its payload tells.
    Unread,
    /// A directory whose list was not read.
    Unlisted(Box<Directory>),
    /// A directory that was listed or has no list, or another object.
    Done,
}

/// What is known so far of the keys of a file. What fails to be read changes nothing, and may be asked for again.
#[derive(Default)]
pub(crate) struct Listing {
    nodes: Vec<Node>,
    top: Vec<usize>,
    paths: Paths,
    /// Offsets of the lists.
    seen: HashSet<u64>,
    list_bytes: u64,
    path_bytes: u64,
    n_without_list: usize,
    fault: Option<Fault>,
    is_old: bool,
}

/// What is wrong with a directory or its key list, with its name.
pub(crate) type Fault = (String, format::Error);

/// What the key lists of a file have.
pub(crate) struct Listed {
    pub(crate) entries: Vec<FileKey>,
    /// Directories that have no list, or of which it cannot be read: a file that was closed has none such.
    pub(crate) n_without_list: usize,
    /// The first that cannot be read.
    pub(crate) fault: Option<Fault>,
    /// Whether the record of a list is marked as free: another was to take its place, and records that it names may have been
    /// written over.
    pub(crate) is_old: bool,
}

impl Listed {
    /// Where the records of its keys are: what tells whether a key is in it.
    pub(crate) fn places(&self) -> HashSet<u64> {
        self.entries.iter().map(|entry| entry.key.seek_key).collect()
    }
}

impl Listing {
    /// Whether the keys of the root directory are known: nothing else is found before.
    pub(crate) fn has_root(&self) -> bool {
        !self.seen.is_empty()
    }

    /// Lists the root directory.
    pub(crate) fn list_root(&mut self, source: &dyn Source, root: &Directory) -> Result<()> {
        self.list(source, vec![Pending { directory: root.clone(), path: String::new(), depth: 0, parent: None }])
    }

    /// Lists the directories that a path goes through, by any of the ways in which it can be cut at its slashes.
    pub(crate) fn list_around(&mut self, source: &dyn Source, path: &str) -> Result<()> {
        for outer in around(path) {
            // A directory is in one with a shorter path, which has been listed.
            let indices: Vec<usize> = self.paths.places(outer, self.entries()).collect();
            self.open(source, &indices)?;
        }
        Ok(())
    }

    /// Lists directories, outer ones first, until `n_directories` have been or all are.
    pub(crate) fn list_more(&mut self, source: &dyn Source, n_directories: usize) -> Result<()> {
        let mut first = 0;
        while first < self.nodes.len() {
            let is_open = |index: &usize| !matches!(self.nodes[*index].state, KeyState::Done);
            let n_left = n_directories.saturating_sub(self.seen.len());
            let indices: Vec<usize> = (first..self.nodes.len()).filter(is_open).take(n_left).collect();
            first = self.nodes.len();
            self.open(source, &indices)?;
        }
        Ok(())
    }

    /// The key of a path, if it is known: of `cycle`, or of the highest.
    pub(crate) fn find(&self, path: &str, cycle: Option<u16>) -> Option<usize> {
        self.paths.find(path, cycle, self.entries())
    }

    /// A key that was found; what it is, its payload may have to tell.
    pub(crate) fn entry(&mut self, source: &dyn Source, index: usize) -> Result<FileKey> {
        self.look_into(source, &[index])?;
        Ok(self.nodes[index].entry.clone())
    }

    /// Directories that were met without a list, or with one that cannot be read.
    pub(crate) fn n_without_list(&self) -> usize {
        self.n_without_list
    }

    fn entries<'l>(&'l self) -> impl Fn(usize) -> &'l FileKey + Copy {
        |index| &self.nodes[index].entry
    }

    /// Lists those of some keys that are directories and were not listed.
    fn open(&mut self, source: &dyn Source, indices: &[usize]) -> Result<()> {
        self.look_into(source, indices)?;
        let pending = indices.iter().filter_map(|&index| {
            let Node { entry, state: KeyState::Unlisted(directory), .. } = &self.nodes[index] else { return None };
            let path = format!("{}/", entry.path());
            Some(Pending { directory: directory.as_ref().clone(), path, depth: entry.depth + 1, parent: Some(index) })
        });
        let pending = pending.collect();
        self.list(source, pending)
    }

    /// Lists the keys of directories that have a list.
    fn list(&mut self, source: &dyn Source, mut level: Vec<Pending>) -> Result<()> {
        self.check(source, &level)?;
        for pending in level.extract_if(.., |pending| pending.end() > source.size_bytes()) {
            let what = format!("a key list up to byte {} of a file of {}", pending.end(), source.size_bytes());
            self.lose(&pending, format::Error::truncated(0, what));
        }
        let ranges = level.iter().map(|pending| pending.directory.seek_keys..pending.end());
        let records = read_ranges(source, &ranges.collect::<Vec<_>>())?;
        let mut lists = Vec::with_capacity(level.len());
        let (mut n_keys, mut path_bytes) = (self.nodes.len(), self.path_bytes);
        for (pending, record) in level.iter().zip(records) {
            let list = match KeyList::parse(&record, pending.directory.seek_keys) {
                Ok(list) => {
                    self.n_without_list += usize::from(list.may_lack_keys || list.is_freed);
                    self.is_old |= list.is_freed;
                    list.keys
                }
                Err(error) => {
                    self.lose(pending, error);
                    Vec::new()
                }
            };
            n_keys += list.len();
            path_bytes = path_bytes.saturating_add((pending.path.len() * list.len()) as u64);
            let size_bytes = source.size_bytes();
            let what = if n_keys as u64 > size_bytes / SMALLEST_KEY_BYTES {
                format!("{n_keys} keys, more than a file of this size holds")
            } else if path_bytes > PATH_BYTES.saturating_add(size_bytes.saturating_mul(PATH_BYTES_PER_BYTE)) {
                format!("paths of {path_bytes} bytes in a file of {size_bytes}")
            } else {
                lists.push(list);
                continue;
            };
            return Err(fault(source, pending, format::Error::corrupt(0, what)));
        }
        self.path_bytes = path_bytes;
        for (pending, list) in level.into_iter().zip(lists) {
            self.add(pending, list);
        }
        Ok(())
    }

    /// Notes that the list of a directory cannot be read.
    fn lose(&mut self, pending: &Pending, error: format::Error) {
        self.seen.insert(pending.directory.seek_keys);
        self.n_without_list += 1;
        self.fault.get_or_insert_with(|| (pending.name().to_owned(), error.at(pending.directory.seek_keys)));
        if let Some(parent) = pending.parent {
            self.nodes[parent].state = KeyState::Done;
        }
    }

    /// Adds the keys of one directory.
    fn add(&mut self, pending: Pending, list: Vec<Key>) {
        self.seen.insert(pending.directory.seek_keys);
        self.list_bytes += u64::from(pending.directory.n_bytes_keys);
        let indices: Vec<usize> = (self.nodes.len()..).take(list.len()).collect();
        for key in list {
            let state = if may_be_of_directory(&key) { KeyState::Unread } else { KeyState::Done };
            let entry = FileKey { directory: pending.path.clone(), depth: pending.depth, key, is_directory: false };
            self.nodes.push(Node { entry, state, inside: Vec::new() });
            self.paths.add(self.nodes.len() - 1, |index| &self.nodes[index].entry);
        }
        match pending.parent.map(|parent| &mut self.nodes[parent]) {
            Some(parent) => (parent.inside, parent.state) = (indices, KeyState::Done),
            None => self.top = indices,
        }
    }

    /// Reads which of some keys are directories. Frameworks have classes of their own for them.
    fn look_into(&mut self, source: &dyn Source, indices: &[usize]) -> Result<()> {
        let is_unread = |index: &usize| matches!(self.nodes[*index].state, KeyState::Unread);
        let unread: Vec<usize> = indices.iter().copied().filter(is_unread).collect();
        let ranges = unread.iter().map(|&index| {
            let key = &self.nodes[index].entry.key;
            let range = key.payload_range().map_err(|error| fault_of_key(source, key, error))?;
            // It is never compressed, and longer only if it is none.
            Ok(range.start..range.end.min(range.start.saturating_add(Directory::MAX_BYTES as u64)))
        });
        let payloads = read_ranges(source, &ranges.collect::<Result<Vec<_>>>()?)?;
        for (index, payload) in unread.into_iter().zip(payloads) {
            let node = &mut self.nodes[index];
            let key = &node.entry.key;
            node.entry.is_directory = if is_directory_class(&key.class_name) {
                !is_object(key, &payload)
            } else {
                looks_like_directory(key, &payload)
            };
            if !node.entry.is_directory {
                node.state = KeyState::Done;
                continue;
            }
            let directory = Directory::parse(&mut format::Cursor::new(&payload));
            let fault = match directory {
                Ok(directory) if directory.has_keys() => {
                    node.state = KeyState::Unlisted(Box::new(directory));
                    continue;
                }
                Ok(directory) => zeros_in(&directory).map(|error| (key.name.clone(), error.placed(key.object_place()))),
                Err(error) => Some((key.name.clone(), error.placed(key.object_place()))),
            };
            node.state = KeyState::Done;
            self.n_without_list += 1;
            self.fault = self.fault.take().or(fault);
        }
        Ok(())
    }

    fn check(&self, source: &dyn Source, level: &[Pending]) -> Result<()> {
        let mut list_bytes = self.list_bytes;
        let mut new = HashSet::new();
        for pending in level {
            let Directory { seek_keys, n_bytes_keys, .. } = pending.directory;
            list_bytes = list_bytes.saturating_add(u64::from(n_bytes_keys));
            let what = if self.seen.contains(&seek_keys) || !new.insert(seek_keys) {
                "a directory inside itself".to_owned()
            } else if list_bytes > source.size_bytes() {
                format!("key lists of {list_bytes} bytes in a file of {}", source.size_bytes())
            } else {
                continue;
            };
            return Err(fault(source, pending, format::Error::corrupt(0, what)));
        }
        Ok(())
    }

    /// All keys that are known, each directory's after its own.
    pub(crate) fn in_order(self) -> Listed {
        let mut nodes: Vec<Option<Node>> = self.nodes.into_iter().map(Some).collect();
        let mut entries = Vec::with_capacity(nodes.len());
        let mut stack: Vec<usize> = self.top.into_iter().rev().collect();
        while let Some(index) = stack.pop() {
            if let Some(node) = nodes.get_mut(index).and_then(Option::take) {
                stack.extend(node.inside.into_iter().rev());
                entries.push(node.entry);
            }
        }
        Listed { entries, n_without_list: self.n_without_list, fault: self.fault, is_old: self.is_old }
    }

    /// The keys that are known.
    pub(crate) fn known(&self) -> impl Iterator<Item = &FileKey> {
        self.nodes.iter().map(|node| &node.entry)
    }
}

impl Pending {
    /// Behind its list.
    fn end(&self) -> u64 {
        self.directory.seek_keys.saturating_add(u64::from(self.directory.n_bytes_keys))
    }

    /// What it is called in errors.
    fn name(&self) -> &str {
        let path = self.path.trim_end_matches('/');
        if path.is_empty() { "root directory" } else { path.get(..100).unwrap_or(path) }
    }
}

fn fault(source: &dyn Source, pending: &Pending, error: format::Error) -> crate::Error {
    format_error(source, pending.name(), error.at(pending.directory.seek_keys))
}

fn fault_of_key(source: &dyn Source, key: &Key, error: format::Error) -> crate::Error {
    format_error(source, &key.name, error.at(key.seek_key))
}

/// The same keys, those of each directory behind the directory's own. What is in no directory among them comes last.
pub(crate) fn depth_first(entries: Vec<FileKey>) -> Vec<FileKey> {
    let mut inside: BTreeMap<String, Vec<FileKey>> = BTreeMap::new();
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

/// The damage of a directory that has no list, if it is damage: one that was never saved has none, and knows where it is itself.
fn zeros_in(directory: &Directory) -> Option<format::Error> {
    let Directory { n_bytes_keys, seek_keys, n_bytes_name, seek_dir, .. } = *directory;
    let is_unsaved = n_bytes_keys == 0 && seek_keys == 0 && n_bytes_name != 0 && seek_dir != 0;
    (!is_unsaved).then(|| format::Error::corrupt(0, "zeros where a directory says where it and its keys are"))
}

/// Whether the payload of a key is worth a read. Classes of objects that are as small as a directory are many; only these may
/// be of directories.
fn may_be_of_directory(key: &Key) -> bool {
    let class = key.class_name.as_str();
    let looks_like_one = class.is_empty() || class.contains("File") || class.contains("Dir");
    is_directory_class(class) || (looks_like_one && may_be_directory(key))
}

#[cfg(test)]
mod tests;
