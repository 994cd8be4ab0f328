//! The directories of a file being written, and their keys.

use std::collections::{HashMap, HashSet};

use arrowroot_format as format;
use format::Output;
use format::container::{Datime, Directory, Key, RootRecord, Uuid};

use super::{FILE_CLASS, Record};
use crate::error::{Error, Result};

/// Class version of a directory. Source: `TDirectoryFile` (ROOT 6.40).
const VERSION: u16 = 5;
/// What the class of a directory is called in its key, whatever it is. Source: `TKey::Build`.
const CLASS: &str = "TDirectory";

/// Bytes of the fields of a directory.
const MAX_BYTES: u32 = 60;

/// A directory of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirectoryId(usize);

/// The directory that a file itself is.
pub const ROOT_DIRECTORY: DirectoryId = DirectoryId(0);

/// All directories, parents before what they hold.
#[derive(Debug, Clone)]
pub(super) struct Directories {
    root: RootRecord,
    directories: Vec<HeldDirectory>,
}

/// A directory and what it holds.
#[derive(Debug, Clone)]
struct HeldDirectory {
    key: Key,
    fields: Directory,
    children: Vec<DirectoryId>,
    /// The keys of each name, in the order in which the names came; the cycles of a name rise.
    names: Vec<Vec<Key>>,
    indices: HashMap<String, usize>,
    /// Directories in it by name.
    by_name: HashMap<String, DirectoryId>,
    /// Names of tables that are being filled, and are listed in the end.
    promised: HashSet<String>,
}

impl Directories {
    /// The root directory of a file of this name and title, whose record is at `begin`.
    pub(super) fn new([name, title]: [&str; 2], datime: Datime, uuid: Uuid, begin: u64) -> Result<Self> {
        let mut key = Key::new(false, FILE_CLASS, name, title)?;
        let mut texts = Output::new(0);
        texts.string(name.as_bytes())?;
        texts.string(title.as_bytes())?;
        let object_bytes = texts.position() + Directory::MAX_BYTES;
        key.set_payload(object_bytes, object_bytes)?;
        let n_bytes_name = key.n_bytes - MAX_BYTES;
        if !RootRecord::NAME_BYTES.contains(&n_bytes_name) {
            let most = RootRecord::NAME_BYTES.end();
            let what = format!("name and title of a file, twice each, in {n_bytes_name} bytes: it has room for {most}");
            return Err(format::Error::unsupported(0, what).into());
        }
        // It names no directory, unlike all other keys: ROOT makes it before it knows where the directory is.
        (key.head.seek_key, key.head.datime) = (begin, datime);
        let fields = Directory {
            version: VERSION,
            is_large: false,
            created: datime,
            modified: datime,
            n_bytes_keys: 0,
            n_bytes_name,
            seek_dir: begin,
            seek_parent: 0,
            seek_keys: 0,
            uuid: Some(uuid),
        };
        let [name, title] = [name, title].map(str::to_owned);
        let root = RootRecord { key: key.clone(), name, title, directory: fields.clone() };
        Ok(Directories { root, directories: vec![HeldDirectory::new(key, fields)] })
    }

    /// The record of the root directory.
    pub(super) fn root_record(&self) -> Result<Vec<u8>> {
        let mut output = Output::new(0);
        self.root.write(&mut output)?;
        Ok(output.into_bytes())
    }

    /// Bytes from the start of the root directory's record to its fields.
    pub(super) fn n_bytes_name(&self) -> u32 {
        self.root.directory.n_bytes_name
    }

    /// The identifier of the file.
    pub(super) fn uuid(&self) -> Uuid {
        self.root.directory.uuid.unwrap_or_default()
    }

    /// The directory of that name in another.
    pub(super) fn child(&self, parent: DirectoryId, name: &str) -> Option<DirectoryId> {
        self.directories[parent.0].by_name.get(name).copied()
    }

    /// Makes a directory of a name and a title. Returns the bytes of its record, whose fields are rewritten in the end.
    pub(super) fn add(
        &mut self,
        parent: DirectoryId,
        [name, title]: [&str; 2],
        record: Record,
        uuid: Uuid,
    ) -> Result<(DirectoryId, Vec<u8>)> {
        check_name(name)?;
        let held = &self.directories[parent.0];
        if held.indices.contains_key(name) || held.promised.contains(name) {
            return Err(Error::name(name, "is the name of an object there, and cannot be that of a directory"));
        }
        let is_large = record.seek_key > format::container::START_OF_LARGE;
        let mut key = Key::new(is_large, CLASS, name, title)?;
        key.set_payload(Directory::MAX_BYTES, Directory::MAX_BYTES)?;
        key.head.datime = record.datime;
        let seek_parent = self.seek_of(parent);
        let fields = Directory {
            n_bytes_name: key.key_bytes.into(),
            seek_dir: record.seek_key,
            seek_parent,
            uuid: Some(uuid),
            ..self.root.directory.clone()
        };
        let key = self.list(parent, key, record.seek_key)?;
        let mut output = Output::new(0);
        key.write(&mut output)?;
        fields.write_record(&mut output)?;
        let id = DirectoryId(self.directories.len());
        self.directories.push(HeldDirectory::new(key, fields));
        let parent = &mut self.directories[parent.0];
        parent.by_name.insert(name.to_owned(), id);
        parent.children.push(id);
        Ok((id, output.into_bytes()))
    }

    /// Checks that an object may be given this name.
    pub(super) fn check(&self, directory: DirectoryId, name: &str) -> Result<()> {
        check_name(name)?;
        self.check_place(directory, name)
    }

    /// Checks that no directory has this name. Objects of other files keep names that nobody may give here.
    fn check_place(&self, directory: DirectoryId, name: &str) -> Result<()> {
        if self.directories[directory.0].by_name.contains_key(name) {
            return Err(Error::name(name, "is the name of a directory there, and cannot be that of an object"));
        }
        Ok(())
    }

    /// Keeps a name for an object that is listed later: no directory gets it.
    pub(super) fn promise(&mut self, directory: DirectoryId, name: &str) -> Result<()> {
        self.check(directory, name)?;
        self.directories[directory.0].promised.insert(name.to_owned());
        Ok(())
    }

    /// Gives a key its cycle and its place in a directory, and lists it.
    pub(super) fn list(&mut self, directory: DirectoryId, mut key: Key, seek_key: u64) -> Result<Key> {
        self.check_place(directory, &key.name)?;
        let held = &mut self.directories[directory.0];
        (key.head.seek_key, key.head.seek_dir) = (seek_key, held.fields.seek_dir);
        let cycles = held.cycles(&key.name);
        key.head.cycle = cycles.last().map_or(0, |last| last.cycle) + 1;
        if key.cycle > i16::MAX.unsigned_abs() {
            return Err(Error::name(&key.name, "has 32767 objects there already: no more cycles"));
        }
        cycles.push(key.clone());
        Ok(key)
    }

    /// Lists a key that has its cycle and its place.
    pub(super) fn list_again(&mut self, directory: DirectoryId, key: Key) {
        self.directories[directory.0].cycles(&key.name).push(key);
    }

    /// Offset of the record of a directory.
    pub(super) fn seek_of(&self, directory: DirectoryId) -> u64 {
        self.directories[directory.0].fields.seek_dir
    }

    /// The directories that have key lists, in the order of ROOT: a directory, then what it holds. ROOT writes no list for an
    /// empty directory, but for that of the file.
    pub(super) fn with_lists(&self) -> Vec<DirectoryId> {
        let (mut order, mut waiting) = (Vec::new(), vec![ROOT_DIRECTORY]);
        while let Some(directory) = waiting.pop() {
            order.push(directory);
            waiting.extend(self.directories[directory.0].children.iter().rev());
        }
        order.retain(|directory| *directory == ROOT_DIRECTORY || !self.directories[directory.0].names.is_empty());
        order
    }

    /// The keys of a directory in the order of its list: the highest cycle of a name first, as ROOT takes the first.
    pub(super) fn keys(&self, directory: DirectoryId) -> impl Iterator<Item = &Key> {
        self.directories[directory.0].names.iter().flat_map(|cycles| cycles.iter().rev())
    }

    /// The key of a directory's key list, but for place and size: it names the directory itself as its directory.
    pub(super) fn key_of_list(&self, directory: DirectoryId, is_large: bool) -> Result<Key> {
        let HeldDirectory { key, fields, .. } = &self.directories[directory.0];
        let mut own = Key::new(is_large, &key.class_name, &key.name, &key.title)?;
        (own.head.seek_dir, own.head.datime) = (fields.seek_dir, key.datime);
        Ok(own)
    }

    /// Says where the key list of a directory is.
    pub(super) fn set_list(&mut self, directory: DirectoryId, list: &Key) {
        let fields = &mut self.directories[directory.0].fields;
        (fields.seek_keys, fields.n_bytes_keys) = (list.seek_key, list.n_bytes);
    }

    /// The fields of all directories as they are in the end, and where they are; those of the root directory last.
    pub(super) fn fields(&self) -> Result<Vec<(u64, Vec<u8>)>> {
        let fields = |held: &HeldDirectory| {
            let mut output = Output::new(0);
            held.fields.write_record(&mut output)?;
            Ok((held.fields.seek_dir + u64::from(held.fields.n_bytes_name), output.into_bytes()))
        };
        self.directories.iter().rev().map(fields).collect()
    }
}

impl HeldDirectory {
    fn new(key: Key, fields: Directory) -> Self {
        let (children, names, promised) = (Vec::new(), Vec::new(), HashSet::new());
        HeldDirectory { key, fields, children, names, indices: HashMap::new(), by_name: HashMap::new(), promised }
    }

    /// The keys of a name.
    fn cycles(&mut self, name: &str) -> &mut Vec<Key> {
        let index = *self.indices.entry(name.to_owned()).or_insert(self.names.len());
        if index == self.names.len() {
            self.names.push(Vec::new());
        }
        &mut self.names[index]
    }
}

/// Checks that a key may have this name: readers take what stands before a slash for a directory, and a number behind a
/// semicolon for a cycle.
fn check_name(name: &str) -> Result<()> {
    match name {
        "" => Err(Error::name(name, "is empty, which no name can be")),
        _ if name.contains(['/', ';', '\0']) => {
            Err(Error::name(name, "has a slash, a semicolon or a zero, which no name can have"))
        }
        _ => Ok(()),
    }
}
