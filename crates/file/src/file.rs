//! An open file: its directories, keys and class descriptions.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use arrowroot_format as format;
use arrowroot_storage::{LOG, Ledgers, LocalFile, Opened, Options, Part, ReadTotals, Source, Stack};
use format::codec::Decompressor;
use format::container::{Directory, FileHeader, Key};
use format::rntuple::{ANCHOR_CLASS, OLD_ANCHOR_CLASS};
use format::streamer::StreamerInfos;

use crate::access::{check_metadata, check_metadata_bytes, check_size, format_error, read_range, root_record, unpack};
use crate::elsewhere::Twins;
use crate::error::{Error, Result, permanent};
use crate::fitness::fitness;
use crate::keys::Keys;
use crate::listing::{Fault, Listing};
use crate::scratch::PooledScratch;

/// Read at once when a file is opened: header, root directory and, in small files, everything.
const HEAD_BYTES: u64 = 4096;
/// Most bytes of one timed read: what a store delivers in a second, not more.
const MAX_TIMED_BYTES: u64 = 64 << 20;
/// So many bytes of a file count as one of its metadata as they are stored.
const FILE_BYTES_FOR_ONE: u64 = 3;
/// Key lists and descriptions of classes of more bytes, as they are stored, take more than some 50 ms.
const LONG_KEY_LIST_BYTES: u64 = 1 << 20;
const LONG_INFO_BYTES: u32 = 256 << 10;

/// An open ROOT file. Cheap to clone.
#[derive(Clone)]
pub struct File {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    stack: Stack,
    pub(crate) header: FileHeader,
    /// What is known of the key lists, as long as not all keys are.
    pub(crate) listing: Mutex<Listing>,
    pub(crate) keys: OnceLock<Keys>,
    /// True if there are records behind the end that the header states.
    pub(crate) has_more: OnceLock<bool>,
    pub(crate) root_directory: Option<Directory>,
    title: String,
    /// Why there is none, if its record cannot be read.
    pub(crate) root_fault: Option<Fault>,
    pub(crate) infos: OnceLock<Arc<StreamerInfos>>,
    /// The record of the class descriptions, if it came with the key list.
    pub(crate) info_record: OnceLock<Vec<u8>>,
    /// With what ROOT's own classes look like, where the file does not say.
    pub(crate) all_infos: OnceLock<StreamerInfos>,
    /// For what turns out to be damaged here.
    pub(crate) twins: Twins,
}

impl File {
    /// Opens a file, from the first of its replicas that can be opened and has what its header says, if there is one; the
    /// others stand in when it fails.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be read, [`Error::Format`] if it is no ROOT file.
    pub fn open<U: AsRef<str>>(urls: &[U], options: &Options) -> Result<File> {
        let urls: Vec<String> = urls.iter().map(|url| url.as_ref().to_owned()).collect();
        logged(|| Self::from_stack(Stack::open(&urls, options, &fitness)?))
    }

    /// Opens a local file, whose name need not be text as a URL is.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_path(path: impl AsRef<Path>, options: &Options) -> Result<File> {
        logged(|| {
            let source = Arc::new(LocalFile::open(path)?);
            let opened = Opened { source, preloaded: Vec::new(), ledgers: Ledgers::default() };
            Self::from_stack(Stack::new(opened, options)?)
        })
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
        logged(|| Self::from_stack(Stack::new(opened, options)?))
    }

    pub(crate) fn from_stack(stack: Stack) -> Result<File> {
        let source = Arc::clone(stack.base());
        let mut head = vec![0; usize::try_from(source.size_bytes().min(HEAD_BYTES)).unwrap_or(0)];
        source.read_at(0, &mut head)?;
        let in_file = |error: format::Error| format_error(source.as_ref(), "file header", error.at(0));
        let header = FileHeader::parse(&head).map_err(in_file)?;
        // A file that was not closed has no key list, one that is cut short has lost it: both can be walked.
        let is_whole = header.end <= source.size_bytes();
        let (root_directory, title, root_fault) = match permanent(root_record(source.as_ref(), &head, &header))? {
            Ok(root) => (Some(root.directory).filter(|root| root.has_keys() && is_whole), root.title, None),
            Err(error) => (None, String::new(), Some(("root directory".to_owned(), error))),
        };
        let inner = Inner {
            stack,
            header,
            listing: Mutex::default(),
            keys: OnceLock::new(),
            has_more: OnceLock::new(),
            root_directory,
            title,
            root_fault,
            infos: OnceLock::new(),
            info_record: OnceLock::new(),
            all_infos: OnceLock::new(),
            twins: Twins::default(),
        };
        Ok(File { inner: Arc::new(inner) })
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

    /// The title of the file, mostly empty.
    pub fn title(&self) -> &str {
        &self.inner.title
    }

    /// Bytes between the end of the file and where its header says that it ends: not 0 if it was cut short.
    pub fn missing_bytes(&self) -> u64 {
        self.header().end.saturating_sub(self.size_bytes())
    }

    /// Whether listing its keys or the first use of its classes may take a while, by what is stored of both: some 10 MB/s.
    pub fn has_long_metadata(&self) -> bool {
        let key_bytes = self.inner.root_directory.as_ref().map_or(self.size_bytes(), |root| root.n_bytes_keys.into());
        key_bytes > LONG_KEY_LIST_BYTES || self.header().n_bytes_info > LONG_INFO_BYTES
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

    /// What it is read through.
    pub fn source(&self) -> &Arc<dyn Source> {
        self.inner.stack.base()
    }

    /// The store and its layers.
    pub fn stack(&self) -> &Stack {
        &self.inner.stack
    }

    /// Whether the objects of a class are RNTuples, readable or not.
    pub fn is_ntuple_class(class: &str) -> bool {
        matches!(class, ANCHOR_CLASS | OLD_ANCHOR_CLASS)
    }

    /// True if the objects of a class are trees; the descriptions of the file tell it of a class of a user.
    ///
    /// # Errors
    /// [`Error::Storage`] if the descriptions of the classes cannot be read now.
    pub fn is_tree_class(&self, class: &str) -> Result<bool> {
        Ok(match class {
            "TTree" | "TNtuple" | "TNtupleD" => true,
            "TDirectory" | "TDirectoryFile" => false,
            class if StreamerInfos::is_of_root(class) => false,
            class => permanent(self.streamer_infos())?.is_ok_and(|infos| infos.is_tree(class)),
        })
    }

    /// The uncompressed object of a key.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::Format`].
    pub fn read_object(&self, key: &Key) -> Result<Vec<u8>> {
        self.unpack_object(key, &self.read_stored(key)?)
    }

    /// The same of what is read before anybody asks for a part of it: few bytes must not take any memory.
    ///
    /// # Errors
    /// As [`File::read_object`], and [`Error::Format`] for metadata that compress too well.
    pub fn read_metadata(&self, key: &Key) -> Result<Vec<u8>> {
        let stored = self.read_stored(key)?;
        check_metadata(&stored, key.object_bytes as usize).map_err(|error| self.in_stored(key, error))?;
        self.unpack_object(key, &stored)
    }

    /// The same in memory of the caller's: `make` gives so many bytes, of any content.
    ///
    /// # Errors
    /// As [`File::read_metadata`], and those of `make`.
    pub fn read_metadata_into<B>(&self, key: &Key, make: impl FnOnce(usize) -> Result<B>) -> Result<B>
    where
        B: std::ops::DerefMut<Target = [u8]>,
    {
        let stored = self.read_stored(key)?;
        let n_bytes = key.object_bytes as usize;
        let checked = check_metadata_bytes(self.metadata_weight(stored.len() as u64), n_bytes as u64);
        let unpacked = checked.and_then(|()| check_size(&stored, n_bytes)).and_then(|()| {
            let mut record = make(n_bytes).map_err(|error| format::Error::unsupported(0, error.to_string()))?;
            PooledScratch::default().get().decompressor.decompress(&stored, &mut record)?;
            Ok(record)
        });
        unpacked.map_err(|error| self.in_stored(key, error))
    }

    /// Stored bytes by which the size of a tree's metadata is judged: names that are long and alike compress to nearly nothing,
    /// and then what else the file holds of so many columns vouches for them.
    fn metadata_weight(&self, stored_bytes: u64) -> u64 {
        stored_bytes.max(self.size_bytes() / FILE_BYTES_FOR_ONE)
    }

    /// An error in what follows a key, as it is in the file.
    pub(crate) fn in_stored(&self, key: &Key, error: format::Error) -> Error {
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

    pub(crate) fn unpack_object(&self, key: &Key, stored: &[u8]) -> Result<Vec<u8>> {
        self.unpack_by(&mut PooledScratch::default().get().decompressor, key, stored)
    }

    /// The object of a key, of what is stored behind it, by the caller's decompressor.
    ///
    /// # Errors
    /// [`Error::Format`] if that is not the object, or damaged.
    pub fn unpack_by(&self, decompressor: &mut Decompressor, key: &Key, stored: &[u8]) -> Result<Vec<u8>> {
        let mut object = Vec::new();
        unpack(decompressor, stored, key.object_bytes as usize, &mut object)
            .map_err(|error| self.in_stored(key, error))?;
        Ok(object)
    }
}

/// Opens a file, and logs how long that took.
fn logged(open: impl FnOnce() -> Result<File>) -> Result<File> {
    let start = Instant::now();
    let file = open()?;
    log::info!(target: LOG, "{}: opened in {:.1?}, {} bytes", file.url(), start.elapsed(), file.size_bytes());
    Ok(file)
}

#[cfg(test)]
mod tests;
