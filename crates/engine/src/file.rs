//! An open file: its directories, keys and class descriptions.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use arrowroot_format as format;
use arrowroot_storage::{
    Fitness, Ledger, Ledgers, LocalFile, Opened, Options, Part, Preloaded, ReadTotals, Source, Stack,
};
use format::codec::Decompressor;
use format::container::{Directory, FileHeader, HEADER_BYTES, Key, KeyList, RootRecord};
use format::rntuple::{ANCHOR_CLASS, OLD_ANCHOR_CLASS};
use format::streamer::StreamerInfos;

use crate::error::{Error, Result, lasting};
use crate::keys::Keys;
use crate::listing::{Fault, Listing};
use crate::memory::Block;
use crate::ntuple::Ntuple;
use crate::scratch::Lent;
use crate::tree::Tree;

/// Read at once when a file is opened: header, root directory and, in small files, everything.
const HEAD_BYTES: u64 = 4096;
/// Most bytes of one timed read: what a store delivers in a second, not more.
const MAX_TIMED_BYTES: u64 = 64 << 20;

/// What a replica is good for, by its beginning, its size, and what is there of its metadata without a request: it may be a
/// login page, cut short, or have blocks that were never written.
fn fitness(opened: &Opened, head: &[u8]) -> Fitness {
    match FileHeader::parse(&head[..head.len().min(HEADER_BYTES)]) {
        Err(_) => Fitness::Useless,
        Ok(header) if header.end > opened.source.size_bytes() || has_gap(opened, &header, head) => Fitness::Partial,
        Ok(_) => Fitness::Whole,
    }
}

/// Whether metadata are not where header and root directory say that they are.
fn has_gap(opened: &Opened, header: &FileHeader, head: &[u8]) -> bool {
    let ledger = Arc::new(Ledger::new("fitness", false));
    let source = Preloaded::new(Arc::clone(&opened.source), opened.preloaded.clone(), ledger);
    let is_near = !source.access_profile().is_remote;
    let record = |offset: u64, n_bytes: u64| {
        let is_free = is_near || source.holds(offset, n_bytes);
        is_free.then(|| read_range(&source, offset, n_bytes).map_err(|error| error.is_of_format()))
    };
    let starts_with_zeros = |offset: u64, n_bytes: u32| {
        let word = if n_bytes > 0 && offset > header.begin { record(offset, 4) } else { None };
        word.is_some_and(|word| word.is_ok_and(|word| word == [0; 4]))
    };
    if starts_with_zeros(header.seek_info, header.n_bytes_info)
        || starts_with_zeros(header.seek_free, header.n_bytes_free)
    {
        return true;
    }
    let Ok(root) = File::root_record(&source, head, header) else { return true };
    if !root.has_keys() {
        return false;
    }
    match record(root.seek_keys, root.n_bytes_keys.into()) {
        None | Some(Err(false)) => false,
        Some(Err(true)) => true,
        Some(Ok(list)) => KeyList::parse(&list, root.seek_keys).is_err(),
    }
}

/// An open ROOT file. Cheap to clone.
#[derive(Clone)]
pub struct File {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    stack: Stack,
    header: FileHeader,
    /// What is known of the key lists, as long as not all keys are.
    pub(crate) listing: Mutex<Listing>,
    pub(crate) keys: OnceLock<Keys>,
    pub(crate) root_directory: Option<Directory>,
    /// Why there is none, if its record cannot be read.
    pub(crate) root_fault: Option<Fault>,
    infos: OnceLock<StreamerInfos>,
    /// The record of the class descriptions, if it came with the key list.
    pub(crate) info_record: OnceLock<Vec<u8>>,
    /// With what ROOT's own classes look like, where the file does not say.
    all_infos: OnceLock<StreamerInfos>,
}

/// A key and where it is.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Path of its directory: empty, or with a slash after each name.
    pub directory: String,
    /// Number of directories that it is in, below the root directory.
    pub depth: usize,
    /// The key.
    pub key: Key,
    /// Whether it is a directory itself.
    pub is_directory: bool,
}

impl Entry {
    /// Path from the root of the file.
    pub fn path(&self) -> String {
        format!("{}{}", self.directory, self.key.name)
    }
}

impl File {
    /// Opens a file, from the first of its replicas that can be opened and has what its header says, if there is one; the
    /// others stand in when it fails.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be read, [`Error::Format`] if it is no ROOT file.
    pub fn open<U: AsRef<str>>(urls: &[U], options: &Options) -> Result<File> {
        let urls: Vec<String> = urls.iter().map(|url| url.as_ref().to_owned()).collect();
        Self::from_stack(Stack::open(&urls, options, &fitness)?)
    }

    /// Opens a local file, whose name need not be text as a URL is.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_path(path: impl AsRef<Path>, options: &Options) -> Result<File> {
        let source = Arc::new(LocalFile::open(path)?);
        Self::from_opened(Opened { source, preloaded: Vec::new(), ledgers: Ledgers::default() }, options)
    }

    /// Opens a file that a source holds.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn from_source(source: Arc<dyn Source>) -> Result<File> {
        Self::from_opened(Opened { source, preloaded: Vec::new(), ledgers: Ledgers::default() }, &Options::default())
    }

    /// Opens a file that a store has opened.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn from_opened(opened: Opened, options: &Options) -> Result<File> {
        Self::from_stack(Stack::new(opened, options)?)
    }

    fn from_stack(stack: Stack) -> Result<File> {
        let source = Arc::clone(stack.base());
        let mut head = vec![0; usize::try_from(source.size_bytes().min(HEAD_BYTES)).unwrap_or(0)];
        source.read_at(0, &mut head)?;
        let in_file = |error: format::Error| format_error(source.as_ref(), "file header", error.at(0));
        let header = FileHeader::parse(&head[..head.len().min(HEADER_BYTES)]).map_err(in_file)?;
        // A file that was not closed has no key list, one that is cut short has lost it: both can be walked.
        let is_whole = header.end <= source.size_bytes();
        let (root_directory, root_fault) = match lasting(Self::root_record(source.as_ref(), &head, &header))? {
            Ok(root) => (Some(root).filter(|root| root.has_keys() && is_whole), None),
            Err(error) => (None, Some(("root directory".to_owned(), error))),
        };
        let inner = Inner {
            stack,
            header,
            listing: Mutex::default(),
            keys: OnceLock::new(),
            root_directory,
            root_fault,
            infos: OnceLock::new(),
            info_record: OnceLock::new(),
            all_infos: OnceLock::new(),
        };
        Ok(File { inner: Arc::new(inner) })
    }

    fn root_record(source: &dyn Source, head: &[u8], header: &FileHeader) -> Result<Directory> {
        let n_bytes = RootRecord::max_bytes(header) as u64;
        let begin = usize::try_from(header.begin).unwrap_or(usize::MAX);
        let record = match head.get(begin..) {
            Some(rest) if rest.len() as u64 >= n_bytes => rest.to_vec(),
            _ => {
                let left = source.size_bytes().saturating_sub(header.begin);
                read_range(source, header.begin, n_bytes.min(left))?
            }
        };
        RootRecord::parse(header, &record)
            .map(|root| root.directory)
            .map_err(|error| format_error(source, "root directory", error))
    }

    /// What was opened.
    pub fn url(&self) -> &str {
        self.source().url()
    }

    /// Size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.source().size_bytes()
    }

    /// The header.
    pub fn header(&self) -> &FileHeader {
        &self.inner.header
    }

    /// Bytes between the end of the file and where its header says that it ends: not 0 if it was cut short.
    pub fn missing_bytes(&self) -> u64 {
        self.header().end.saturating_sub(self.size_bytes())
    }

    /// Reads of the store since the opening, those of scans among them.
    pub fn read_totals(&self) -> ReadTotals {
        self.inner.stack.ledger().read_totals()
    }

    /// Reads ranges (offset, length in bytes) as one vector read of the store, drops the bytes, and returns the time
    /// that it took in ns: for measuring a store. What came with the opening, or is in a block cache, is asked for again.
    ///
    /// # Errors
    /// [`Error::Storage`] if it fails or a range does not lie in the file; [`Error::InvalidRequest`] for too much.
    pub fn time_reads(&self, ranges: &[(u64, u64)]) -> Result<u64> {
        let total: u64 = ranges.iter().fold(0, |sum, (_, n_bytes)| sum.saturating_add(*n_bytes));
        if total > MAX_TIMED_BYTES {
            return Err(Error::InvalidRequest { what: format!("{total} bytes at once, more than {MAX_TIMED_BYTES}") });
        }
        let sizes = ranges.iter().map(|(_, n_bytes)| usize::try_from(*n_bytes).unwrap_or(usize::MAX));
        // Not zeros: their pages would come while the clock runs.
        let mut buffers: Vec<Vec<u8>> = sizes.map(|n_bytes| vec![1; n_bytes]).collect();
        let mut parts: Vec<Part<'_>> = ranges
            .iter()
            .zip(&mut buffers)
            .map(|((offset, _), buffer)| Part { offset: *offset, buffer: buffer.as_mut_slice() })
            .collect();
        let start = std::time::Instant::now();
        self.inner.stack.store().read_vector(&mut parts)?;
        Ok(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    pub(crate) fn source(&self) -> &Arc<dyn Source> {
        self.inner.stack.base()
    }

    /// The store and its layers.
    pub fn stack(&self) -> &Stack {
        &self.inner.stack
    }

    /// Opens a tree.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such key; [`Error::Format`] if it is no tree or cannot be read.
    pub fn tree(&self, path: &str) -> Result<Tree> {
        let entry = self.find(path)?;
        let opened = Tree::open(self, &entry);
        let has_cycle = entry.path() != path;
        if has_cycle || !self.was_not_closed() {
            return opened;
        }
        match opened {
            Err(error) if !error.is_of_format() => Err(error),
            Ok(tree) if self.has_baskets(&tree)? => Ok(tree),
            opened => self.other_cycle(&entry, opened),
        }
    }

    /// Opens an RNTuple.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such key; [`Error::Format`] if it is no RNTuple or cannot be read.
    pub fn ntuple(&self, path: &str) -> Result<Ntuple> {
        Ntuple::open(self, &self.find(path)?)
    }

    /// Whether the objects of a class are RNTuples, readable or not.
    pub fn is_ntuple_class(class: &str) -> bool {
        matches!(class, ANCHOR_CLASS | OLD_ANCHOR_CLASS)
    }

    /// Whether the objects of a class are trees.
    ///
    /// # Errors
    /// [`Error::Storage`] if the descriptions of the classes cannot be read now.
    pub fn is_tree_class(&self, class: &str) -> Result<bool> {
        Ok(match class {
            "TTree" | "TNtuple" | "TNtupleD" => true,
            _ if class.is_empty() || class.starts_with("TH") => false,
            _ if class.contains("Tree") || class.contains("tuple") => {
                lasting(self.streamer_infos())?.is_ok_and(|infos| infos.is_derived_from(class, "TTree"))
            }
            _ => false,
        })
    }

    /// The uncompressed object of a key.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::Format`].
    pub fn read_object(&self, key: &Key) -> Result<Vec<u8>> {
        self.unpack_object(key, &self.read_stored(key)?)
    }

    /// The same in memory that is kept for the next: the record of a tree may have megabytes.
    pub(crate) fn read_record(&self, key: &Key) -> Result<Block> {
        let stored = self.read_stored(key)?;
        let n_bytes = key.object_bytes as usize;
        let unpacked = check_size(&stored, n_bytes).and_then(|()| {
            let mut record = Block::new(n_bytes).map_err(|error| format::Error::unsupported(0, error.to_string()))?;
            Lent::default().get().decompressor.decompress(&stored, &mut record)?;
            Ok(record)
        });
        unpacked.map_err(|error| self.in_stored(key, error))
    }

    /// An error in what follows a key, as it is in the file.
    fn in_stored(&self, key: &Key, error: format::Error) -> Error {
        let start = key.seek_key.saturating_add(key.key_bytes.into());
        format_error(self.source().as_ref(), &key.name, error.at(start))
    }

    fn read_stored(&self, key: &Key) -> Result<Vec<u8>> {
        let in_key = |error: format::Error| format_error(self.source().as_ref(), &key.name, error.at(key.seek_key));
        let range = key.payload_range().map_err(in_key)?;
        // What is behind an uncompressed object is not part of it.
        let n_bytes = (range.end - range.start).min(u64::from(key.object_bytes));
        read_range(self.source().as_ref(), range.start, n_bytes)
    }

    fn unpack_object(&self, key: &Key, stored: &[u8]) -> Result<Vec<u8>> {
        let mut object = Vec::new();
        unpack(&mut Lent::default().get().decompressor, stored, key.object_bytes as usize, &mut object)
            .map_err(|error| self.in_stored(key, error))?;
        Ok(object)
    }

    /// What the file says about its classes; parsed when first asked for.
    ///
    /// # Errors
    /// [`Error::Format`] if it cannot be read.
    pub fn streamer_infos(&self) -> Result<&StreamerInfos> {
        if let Some(infos) = self.inner.infos.get() {
            return Ok(infos);
        }
        let header = &self.inner.header;
        let infos = if header.has_streamer_info() && self.inner.root_directory.is_some() {
            match self.stated_infos() {
                Err(error) if self.was_not_closed() && error.is_of_format() => {
                    // The header may have been written before the descriptions were written anew, elsewhere.
                    let _ = lasting(self.recover(&[], None))?;
                    return self.inner.infos.get().ok_or(error);
                }
                infos => infos?,
            }
        } else {
            StreamerInfos::default()
        };
        Ok(self.inner.infos.get_or_init(|| infos))
    }

    /// What the record has that the header names.
    fn stated_infos(&self) -> Result<StreamerInfos> {
        let header = &self.inner.header;
        let n_bytes = u64::from(header.n_bytes_info);
        let mut record = match self.inner.info_record.get() {
            Some(record) => Cow::Borrowed(record),
            None => Cow::Owned(read_range(self.source().as_ref(), header.seek_info, n_bytes)?),
        };
        let is_freed = record.first().is_some_and(|byte| byte & 0x80 != 0);
        if is_freed && let Some(start) = record.to_mut().first_chunk_mut() {
            // The writer marks it before it writes the next. What it holds is there still.
            *start = header.n_bytes_info.to_be_bytes();
        }
        let mut cursor = format::Cursor::new(&record);
        let in_record =
            |error: format::Error| format_error(self.source().as_ref(), "streamer info", error.at(header.seek_info));
        let key = Key::parse(&mut cursor).map_err(in_record)?;
        if key.n_bytes == 0 || key.key_bytes == 0 {
            return Err(in_record(format::Error::corrupt(0, "zeros where the descriptions of classes should be")));
        }
        let stored = record.get(usize::from(key.key_bytes)..).unwrap_or_default();
        let stored = stored.get(..key.object_bytes as usize).unwrap_or(stored);
        self.parse_infos(&key, &self.unpack_object(&key, stored)?)
    }

    /// The same with ROOT's basic classes, where the file does not describe them: one that was not closed has lost its
    /// descriptions.
    ///
    /// # Errors
    /// As [`File::streamer_infos`].
    pub(crate) fn class_infos(&self) -> Result<&StreamerInfos> {
        if let Some(infos) = self.inner.all_infos.get() {
            return Ok(infos);
        }
        let infos = self.streamer_infos()?.clone().with_builtin();
        Ok(self.inner.all_infos.get_or_init(|| infos))
    }

    /// Takes the class descriptions from the record of a key that a walk found.
    pub(crate) fn take_infos(&self, key: &Key) -> Result<()> {
        let infos = self.read_object(key).and_then(|object| self.parse_infos(key, &object))?;
        let _ = self.inner.infos.set(infos); // another thread has found the same
        Ok(())
    }

    fn parse_infos(&self, key: &Key, object: &[u8]) -> Result<StreamerInfos> {
        StreamerInfos::parse(object, usize::from(key.key_bytes))
            .map(|infos| infos.written_by(self.inner.header.version))
            .map_err(|error| format_error(self.source().as_ref(), "streamer info", error.placed(key.object_place())))
    }
}

/// Names file and object in a format error.
pub(crate) fn format_error(source: &dyn Source, object: &str, error: format::Error) -> Error {
    Error::Format { url: source.url().to_owned(), object: object.to_owned(), source: error }
}

/// Reads a range; its size is checked against the file before memory is taken.
pub(crate) fn read_range(source: &dyn Source, offset: u64, n_bytes: u64) -> Result<Vec<u8>> {
    if offset.checked_add(n_bytes).is_none_or(|end| end > source.size_bytes()) {
        return Err(arrowroot_storage::Error::PastEnd {
            url: source.url().to_owned(),
            offset,
            n_bytes,
            size_bytes: source.size_bytes(),
        }
        .into());
    }
    let mut bytes = vec![0; usize::try_from(n_bytes).unwrap_or(usize::MAX)];
    source.read_at(offset, &mut bytes)?;
    Ok(bytes)
}

/// Whether the blocks of a payload hold so many bytes, before memory is taken: a wrong size in a key costs nothing.
fn check_size(stored: &[u8], object_bytes: usize) -> format::Result<()> {
    if object_bytes > stored.len() {
        format::codec::check_blocks(stored, object_bytes)?;
    }
    Ok(())
}

/// Decompresses a payload to `object_bytes` bytes at the start of `out`, which grows if it must.
pub(crate) fn unpack<'o>(
    decompressor: &mut Decompressor,
    stored: &[u8],
    object_bytes: usize,
    out: &'o mut Vec<u8>,
) -> format::Result<&'o [u8]> {
    let place = unpack_at(0, decompressor, stored, object_bytes, out)?;
    Ok(&out[place])
}

/// Decompresses a payload to `object_bytes` bytes from `start` on in `out`, which grows if it must. Returns their place.
pub(crate) fn unpack_at(
    start: usize,
    decompressor: &mut Decompressor,
    stored: &[u8],
    object_bytes: usize,
    out: &mut Vec<u8>,
) -> format::Result<Range<usize>> {
    check_size(stored, object_bytes)?;
    let end = start.saturating_add(object_bytes);
    if out.len() < end {
        let more = end - out.len();
        out.try_reserve_exact(more)
            .map_err(|_| format::Error::unsupported(0, format!("no memory for an object of {object_bytes} bytes")))?;
        out.resize(end, 0);
    }
    decompressor.decompress(stored, &mut out[start..end])?;
    Ok(start..end)
}

#[cfg(test)]
mod tests;
