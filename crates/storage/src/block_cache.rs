//! Blocks of remote files on a local disk, kept between runs.
//!
//! Each block is a file of its own: `DIRECTORY/xx/KEY-BLOCK.block`, with what it is a block of and a checksum before its
//! bytes. It is written under another name and renamed, so that a process that is killed, or many that write at once,
//! leave whole blocks or none; there is no index that could be torn. Each reading verifies the checksum: a block that is
//! wrong, for whatever reason, is fetched again. What a block belongs to is URL (without credentials), size and version,
//! which tells files apart that such a URL does not; a file that changed has another key, and the blocks of the old one
//! leave as they are not used any more. Files whose store does not tell a version are not cached.
//! A block whose bytes were damaged before they came here has a right checksum: who finds out forgets it.
//!
//! A cache that cannot be written makes no read fail: it is entered in the ledger as a stage-in that did not succeed.

#![expect(clippy::disallowed_types, reason = "blocks are local files")]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use twox_hash::XxHash64;

use crate::account::{Ledger, Operation};
use crate::descriptors::opened;
use crate::error::{Error, Result};
use crate::evict::evict;
use crate::secret::redacted;
use crate::segments::Segmented;
use crate::source::{Part, Source, check_range, pass_on};

/// Size of a block: a basket of usual size is in one or two, and a cache of 10 GB has 80,000 files.
pub const BLOCK_BYTES: u64 = 128 << 10;
/// First bytes of a block's file, with the version of its layout.
const MAGIC: &[u8; 8] = b"arblock1";
/// Magic, checksum, number of the block, length of the identity.
const HEADER_BYTES: usize = 28;
/// A block's time of use is written down only if the last one is older: a write for each read would cost more than it.
const USE_GRAIN: Duration = Duration::from_secs(60);
/// The directory is counted when so much of its size was added: what several processes add meanwhile is over the bound.
const COUNT_SHARE: u64 = 64;

/// Bytes that this process wrote to a directory since it was counted; `None`: it never was.
type Added = Mutex<Option<u64>>;

/// Of all directories, by process and path: all files of a process that are kept in one count together.
static ADDED: Mutex<BTreeMap<(u32, PathBuf), Arc<Added>>> = Mutex::new(BTreeMap::new());

/// What counts for a directory. Where the process was forked while another thread looked, a file counts by itself.
fn added_to(directory: &Path) -> Arc<Added> {
    let Ok(mut known) = ADDED.try_lock() else { return Arc::default() };
    Arc::clone(known.entry((std::process::id(), directory.to_owned())).or_default())
}

/// Blocks that threads of a process fetch.
#[derive(Default)]
struct Claims {
    process: u32,
    blocks: HashSet<u64>,
}

/// The blocks of one file, for all scans of it.
pub struct Blocks {
    directory: PathBuf,
    max_bytes: u64,
    identity: Vec<u8>,
    key: u64,
    file: Segmented,
    claims: Mutex<Claims>,
    released: Condvar,
    added: Arc<Added>,
}

impl Blocks {
    /// The cache in a directory, which is made, for a source. `None` if its store does not tell a version.
    ///
    /// # Errors
    /// [`Error::LocalDisk`] if the directory cannot be made.
    pub fn new(source: &dyn Source, directory: &Path, max_bytes: u64) -> Result<Option<Self>> {
        let Some(version) = source.version() else { return Ok(None) };
        let identity = format!("{}\n{}\n{version}\n", redacted(source.url()), source.size_bytes()).into_bytes();
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(|source| Error::LocalDisk {
            path: directory.display().to_string(),
            doing: "cannot make the directory of the block cache (block_cache)".to_owned(),
            source: Arc::new(source),
        })?;
        Ok(Some(Blocks {
            directory: directory.to_owned(),
            max_bytes,
            key: XxHash64::oneshot(0, &identity),
            identity,
            file: Segmented { file_bytes: source.size_bytes(), piece_bytes: BLOCK_BYTES },
            claims: Mutex::default(),
            released: Condvar::new(),
            added: added_to(directory),
        }))
    }

    fn path(&self, block: u64) -> PathBuf {
        let name = format!("{:016x}-{block:x}.block", self.key);
        self.directory.join(&name[..2]).join(name)
    }

    fn failed(&self, doing: &str, source: std::io::Error) -> Error {
        let doing = format!("the block cache {doing}");
        Error::LocalDisk { path: self.directory.display().to_string(), doing, source: Arc::new(source) }
    }

    /// A block that is there and right.
    fn load(&self, block: u64, ledger: &Ledger) -> Option<Vec<u8>> {
        let file = match opened(|| File::open(self.path(block))) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            file => file,
        };
        let range = self.file.range_of(block);
        let asked = std::iter::once((range.start, range.end - range.start));
        let loaded: Result<Vec<u8>> = ledger.enter(Operation::CacheHit, asked, || {
            let mut file = file.map_err(|error| self.failed("cannot open a block", error))?;
            let bytes = self.read_block(&mut file, block, &range)?;
            let is_old = |time: SystemTime| time.elapsed().is_ok_and(|age| age > USE_GRAIN);
            if file.metadata().and_then(|metadata| metadata.modified()).is_ok_and(is_old) {
                // Where that is not allowed, blocks leave in the order in which they came.
                let _ = file.set_modified(SystemTime::now());
            }
            Ok(bytes)
        });
        // A wrong block is entered as such, fetched again, and overwritten.
        loaded.ok()
    }

    fn read_block(&self, file: &mut File, block: u64, range: &Range<u64>) -> Result<Vec<u8>> {
        let size = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let start = HEADER_BYTES + self.identity.len();
        let mut bytes = Vec::with_capacity(start + size + 1);
        // One byte more than a right block has.
        let read = file.take((start + size + 1) as u64).read_to_end(&mut bytes);
        read.map_err(|error| self.failed("cannot read a block", error))?;
        if bytes.len() != start + size || bytes[..start] != self.header(block, &bytes[start..]) {
            return Err(Error::WrongAnswer {
                url: self.path(block).display().to_string(),
                doing: format!("reading block {block} from the block cache"),
                what: "it is not what was written".to_owned(),
            });
        }
        bytes.drain(..start);
        Ok(bytes)
    }

    /// What stands before the bytes of a block.
    fn header(&self, block: u64, payload: &[u8]) -> Vec<u8> {
        let seed = XxHash64::oneshot(block, &self.identity);
        let mut header = Vec::with_capacity(HEADER_BYTES + self.identity.len());
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&XxHash64::oneshot(seed, payload).to_le_bytes());
        header.extend_from_slice(&block.to_le_bytes());
        header.extend_from_slice(&u32::try_from(self.identity.len()).unwrap_or(u32::MAX).to_le_bytes());
        header.extend_from_slice(&self.identity);
        header
    }

    /// Removes the blocks that a range touches, as their bytes are wrong: they are fetched again.
    pub fn forget(&self, range: &Range<u64>) {
        for block in self.file.touched(range) {
            // Most are not there. What cannot be removed cannot be written either, and is found wrong again.
            let _ = std::fs::remove_file(self.path(block));
        }
    }

    fn store(&self, block: u64, payload: &[u8], ledger: &Ledger) {
        let range = self.file.range_of(block);
        let stored = ledger.enter(Operation::StageIn, std::iter::once((range.start, range.end - range.start)), || {
            let mut content = self.header(block, payload);
            content.extend_from_slice(payload);
            self.make_room(content.len() as u64)?;
            self.write_block(block, &content)
        });
        // The reader has its bytes; the ledger says that the cache did not take them.
        drop(stored);
    }

    fn write_block(&self, block: u64, content: &[u8]) -> Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let path = self.path(block);
        let directory = path.parent().unwrap_or(&self.directory);
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(|error| self.failed("cannot make a directory", error))?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = directory.join(format!("tmp-{}-{number}.block", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let written = opened(|| options.open(&temporary))
            .and_then(|mut file| file.write_all(content))
            .and_then(|()| std::fs::rename(&temporary, &path));
        written.map_err(|error| {
            // It may not even be there.
            let _ = std::fs::remove_file(&temporary);
            self.failed("cannot write a block", error)
        })
    }

    /// Keeps the directory within its bound. Counts it at the process's first block, and again when much was added.
    fn make_room(&self, n_bytes: u64) -> Result<()> {
        let between_counts = self.max_bytes / COUNT_SHARE;
        if n_bytes > self.max_bytes {
            return Err(
                self.failed("is too small for a block", std::io::Error::from(std::io::ErrorKind::QuotaExceeded))
            );
        }
        let added = || self.added.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = {
            let mut added = added();
            let sum = added.unwrap_or(0).saturating_add(n_bytes);
            let is_due = added.is_none() || sum > between_counts;
            // Who comes meanwhile need not count, too.
            *added = Some(if is_due { n_bytes } else { sum });
            is_due
        };
        if is_due {
            let bound = (self.max_bytes - between_counts).max(n_bytes);
            evict(&self.directory, bound, n_bytes).map_err(|error| {
                *added() = None;
                self.failed("cannot be counted", error)
            })?;
        }
        Ok(())
    }

    fn claims(&self) -> MutexGuard<'_, Claims> {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if claims.process != process {
            // In a forked process the threads that claimed them are not there.
            *claims = Claims { process, blocks: HashSet::new() };
        }
        claims
    }

    /// Fetches blocks as one vector read, and keeps them.
    fn fetch(&self, blocks: &[u64], source: &dyn Source, ledger: &Ledger) -> Result<BTreeMap<u64, Vec<u8>>> {
        let runs = self.file.runs(blocks);
        let size = |run: &Range<u64>| usize::try_from(run.end - run.start).unwrap_or(usize::MAX);
        let mut buffers: Vec<Vec<u8>> = runs.iter().map(|run| vec![0; size(run)]).collect();
        let mut parts: Vec<Part<'_>> = runs
            .iter()
            .zip(&mut buffers)
            .map(|(run, buffer)| Part { offset: run.start, buffer: buffer.as_mut_slice() })
            .collect();
        match parts.as_mut_slice() {
            [part] => source.read_at(part.offset, part.buffer)?,
            parts => source.read_vector(parts)?,
        }
        let piece_bytes = usize::try_from(BLOCK_BYTES).unwrap_or(usize::MAX);
        let fetched = blocks.iter().copied().zip(buffers.iter().flat_map(|buffer| buffer.chunks(piece_bytes)));
        Ok(fetched
            .map(|(block, payload)| {
                self.store(block, payload, ledger);
                (block, payload.to_vec())
            })
            .collect())
    }
}

/// Blocks that a thread fetches; others wait for them.
struct Claimed<'b> {
    blocks: &'b Blocks,
    claimed: Vec<u64>,
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        let mut claims = self.blocks.claims();
        for block in &self.claimed {
            claims.blocks.remove(block);
        }
        drop(claims);
        self.blocks.released.notify_all();
    }
}

/// A layer that reads from the blocks, and fetches those that are not there.
pub struct BlockCache {
    inner: Arc<dyn Source>,
    blocks: Arc<Blocks>,
    ledger: Arc<Ledger>,
    /// It believes no block that is there, and writes each anew.
    is_renewing: bool,
}

impl BlockCache {
    /// Reads `inner` through `blocks`. Blocks that are there are entered in `ledger` as cache hits, new ones as stage-ins.
    pub fn new(inner: Arc<dyn Source>, blocks: Arc<Blocks>, ledger: Arc<Ledger>) -> Self {
        BlockCache { inner, blocks, ledger, is_renewing: false }
    }

    /// Fetches all blocks that are read, and writes them in the place of those that are there, which are in doubt.
    pub fn renewing(inner: Arc<dyn Source>, blocks: Arc<Blocks>, ledger: Arc<Ledger>) -> Self {
        BlockCache { is_renewing: true, ..Self::new(inner, blocks, ledger) }
    }

    /// The bytes of all blocks that are touched.
    fn gather(&self, touched: BTreeSet<u64>) -> Result<BTreeMap<u64, Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut missing = touched;
        while !missing.is_empty() {
            missing.retain(|&block| {
                let loaded = if self.is_renewing { None } else { self.blocks.load(block, &self.ledger) };
                let is_missing = loaded.is_none();
                found.extend(loaded.map(|bytes| (block, bytes)));
                is_missing
            });
            let mut claims = self.blocks.claims();
            let claimed: Vec<u64> = missing.iter().copied().filter(|&block| claims.blocks.insert(block)).collect();
            if claimed.is_empty() {
                // Somebody else fetches them. If that fails they are missing again.
                if !missing.is_empty() {
                    drop(self.blocks.released.wait(claims).unwrap_or_else(PoisonError::into_inner));
                }
                continue;
            }
            drop(claims);
            let claimed = Claimed { blocks: &self.blocks, claimed };
            for (block, bytes) in self.blocks.fetch(&claimed.claimed, self.inner.as_ref(), &self.ledger)? {
                missing.remove(&block);
                found.insert(block, bytes);
            }
        }
        Ok(found)
    }
}

#[deny(clippy::missing_trait_methods)]
impl Source for BlockCache {
    pass_on!(inner);

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read_vector(&mut [Part { offset, buffer }])
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        let mut touched = BTreeSet::new();
        for part in &*parts {
            check_range(self, part.offset, part.buffer.len())?;
            touched.extend(self.blocks.file.touched(&(part.offset..part.offset + part.buffer.len() as u64)));
        }
        let found = self.gather(touched)?;
        for part in parts {
            let range = part.offset..part.offset + part.buffer.len() as u64;
            for block in self.blocks.file.touched(&range) {
                let held = self.blocks.file.range_of(block);
                let piece = held.start.max(range.start)..held.end.min(range.end);
                let within = |start: u64| usize::try_from(piece.start - start).unwrap_or(usize::MAX);
                let size = usize::try_from(piece.end - piece.start).unwrap_or(usize::MAX);
                let (into, from) = (within(range.start), within(held.start));
                let bytes = found.get(&block).and_then(|bytes| bytes.get(from..from + size)).unwrap_or_default();
                part.buffer[into..into + size].copy_from_slice(bytes);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySource;
    use crate::source::AccessProfile;
    use crate::testing::Disguised;

    #[test]
    fn what_a_thread_of_the_parent_fetches_is_not_waited_for_in_a_forked_process() {
        let directory = tempfile::tempdir().unwrap();
        let inner = MemorySource::new("far://away/f.root", vec![7; 10]);
        let source = Arc::new(Disguised { inner, profile: AccessProfile::LOCAL, version: Some("1".to_owned()) });
        let blocks = Arc::new(Blocks::new(source.as_ref(), directory.path(), 1 << 30).unwrap().unwrap());
        *blocks.claims() = Claims { process: std::process::id() + 1, blocks: HashSet::from([0]) };
        let cache = BlockCache::new(source, blocks, Arc::new(Ledger::new("block-cache", false)));
        let mut buffer = [0; 10];
        cache.read_at(0, &mut buffer).unwrap();
        assert_eq!(buffer, [7; 10]);
    }
}
