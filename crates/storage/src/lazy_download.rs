//! Segments are copied to a local disk when they are first touched: CMS's lazy-download.
//!
//! Where no directory was named, the copy is a file without a name in the system's directory for temporary files, which is
//! gone when the process ends, however it ends. Where one was named, processes that read the same content share the copy:
//! a file with a name, which the last one to use it removes. It is a sparse file with, after the content, a checksum for
//! each segment; a segment counts only if its checksum is right, so that a process that is killed leaves nothing that
//! another would believe; the copy that it leaves is used by the next one that reads the file, or removed after an hour by
//! one that reads another. One segment is copied at a time, by one of the processes; the others wait for it, as long as a read
//! may take.
//!
//! A disk that is full is an error that names the directory: a job that silently reads everything remotely is what its
//! user wanted to avoid.

#![expect(clippy::disallowed_types, reason = "the copy is a local file")]

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use twox_hash::XxHash64;

use crate::account::{Ledger, Operation};
use crate::error::{Error, Result};
use crate::secret::redacted;
use crate::segments::Segmented;
use crate::source::{Nature, Part, Source, check_range};

/// Bytes of a checksum in the table after the content.
const CHECKSUM_BYTES: u64 = 8;
/// End of the name of the lock beside a copy.
const LOCK: &str = ".lock";
/// A copy that nobody uses and that nobody wrote to for so long was left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Begin and end of the names of copies.
const NAME: (&str, &str) = ("arrowroot-", ".download");
/// A file that is removed under our feet so many times is no accident.
const MAX_TRIES: usize = 100;
/// Who waits for another process looks again after this, at first sooner.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// What of a file was copied, for all scans of it.
pub struct Download {
    directory: PathBuf,
    /// Name of the copy that processes share; `None`: it has none.
    name: Option<String>,
    segments: Segmented,
    /// For how long to wait for another process.
    patience: Duration,
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Default)]
struct Progress {
    copy: Option<Arc<Copy>>,
    /// Segments that are there; a bit each.
    present: Vec<u64>,
    /// The process that copies a segment: in one that was forked meanwhile nobody does.
    copying: Option<u32>,
}

/// The copy on the local disk.
struct Copy {
    content: File,
    shared: Option<Shared>,
}

/// What belongs to a copy that has a name.
struct Shared {
    path: PathBuf,
    lock_path: PathBuf,
    /// Locked by the process that copies a segment.
    lock: File,
}

impl Download {
    /// Nothing is copied yet, and no file is made. `directory`: `None` for the system's directory for temporary files.
    /// `patience`: for how long to wait for another process that copies.
    pub fn new(source: &dyn Source, directory: Option<&Path>, segment_bytes: u64, patience: Duration) -> Self {
        // Without a version nobody knows whether another process copied the same content.
        let name = directory.and_then(|_| source.version()).map(|version| {
            let size_bytes = source.size_bytes();
            let identity = format!("{}\n{size_bytes}\n{version}\n{segment_bytes}", redacted(source.url()));
            format!("{}{:016x}{}", NAME.0, XxHash64::oneshot(0, identity.as_bytes()), NAME.1)
        });
        Download {
            directory: directory.map_or_else(std::env::temp_dir, Path::to_owned),
            name,
            segments: Segmented { file_bytes: source.size_bytes(), piece_bytes: segment_bytes.max(1) },
            patience,
            progress: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed<'e>(&'e self, doing: &'e str) -> impl FnOnce(std::io::Error) -> Error + 'e {
        move |source| Error::LocalDisk {
            path: self.directory.display().to_string(),
            doing: format!("lazy-download {doing} (another directory: download_dir)"),
            source: Arc::new(source),
        }
    }

    /// Sees to it that a segment is there. Returns whether it was before.
    fn ensure(&self, segment: u64, source: &dyn Source, ledger: &Ledger) -> Result<bool> {
        let mut progress = self.lock();
        loop {
            if progress.has(segment) {
                return Ok(true);
            }
            if progress.copying != Some(std::process::id()) {
                break;
            }
            progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        progress.copying = Some(std::process::id());
        drop(progress);
        let _copying = Copying(self);
        let copy = self.copy()?;
        let was_there = self.bring(&copy, segment, source, ledger)?;
        self.lock().add(segment);
        Ok(was_there)
    }

    /// The copy; made when it is first needed.
    fn copy(&self) -> Result<Arc<Copy>> {
        if let Some(copy) = &self.lock().copy {
            return Ok(Arc::clone(copy));
        }
        let copy = match &self.name {
            Some(name) => self.open_shared(name)?,
            None => Copy { content: self.make_unnamed()?, shared: None },
        };
        let table_bytes = if copy.shared.is_some() { self.segments.n_pieces() * CHECKSUM_BYTES } else { 0 };
        let n_bytes = self.table_start().saturating_add(table_bytes);
        let length = copy.content.metadata().map_err(self.failed("cannot look at its file"))?.len();
        if length < n_bytes {
            copy.content.set_len(n_bytes).map_err(self.failed("cannot make its file as large as the remote one"))?;
        }
        let copy = Arc::new(copy);
        self.lock().copy = Some(Arc::clone(&copy));
        Ok(copy)
    }

    fn make_directory(&self) -> Result<()> {
        std::fs::create_dir_all(&self.directory).map_err(self.failed("cannot make the directory"))
    }

    fn make_unnamed(&self) -> Result<File> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        self.make_directory()?;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = self.directory.join(format!("{}{}-{number}{}", NAME.0, std::process::id(), NAME.1));
            match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => {
                    std::fs::remove_file(&path).map_err(self.failed("cannot take the name from its file"))?;
                    return Ok(file);
                }
                // Left by a process of the same number that was killed in between.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.failed("cannot make a file")(error)),
            }
        }
    }

    fn open_shared(&self, name: &str) -> Result<Copy> {
        let path = self.directory.join(name);
        let lock_path = self.directory.join(format!("{name}{LOCK}"));
        let open = |path: &Path| shared_options().create(true).mode(0o600).open(path);
        self.make_directory()?;
        sweep(&self.directory, name);
        for _ in 0..MAX_TRIES {
            let content = open(&path).map_err(self.failed("cannot open the file that processes share"))?;
            content.lock_shared().map_err(self.failed("cannot lock the file that processes share"))?;
            // Its last user may have removed it before it was locked.
            let of = |metadata: &std::fs::Metadata| (metadata.dev(), metadata.ino());
            let opened = content.metadata().map_err(self.failed("cannot look at its file"))?;
            if std::fs::metadata(&path).is_ok_and(|named| of(&named) == of(&opened)) {
                let lock = open(&lock_path).map_err(self.failed("cannot open the lock that processes share"))?;
                return Ok(Copy { content, shared: Some(Shared { path, lock_path, lock }) });
            }
        }
        let error = std::io::Error::other("it is removed again and again");
        Err(self.failed("cannot keep the file that processes share")(error))
    }

    /// Where the table of checksums begins.
    fn table_start(&self) -> u64 {
        self.segments.file_bytes.div_ceil(CHECKSUM_BYTES).saturating_mul(CHECKSUM_BYTES)
    }

    /// Locks what processes share: who holds it may be stopped, or be reading from a server that does not answer.
    fn lock_in_time(&self, lock: &File) -> Result<()> {
        let until = Instant::now() + self.patience;
        let mut pause = Duration::from_millis(1);
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(pause);
                    pause = (2 * pause).min(LONGEST_PAUSE);
                }
                Err(TryLockError::WouldBlock) => {
                    let doing =
                        "waited in vain for another process that copies from the same file, for all of the deadline";
                    return Err(self.failed(doing)(std::io::Error::from(std::io::ErrorKind::TimedOut)));
                }
                Err(TryLockError::Error(error)) => {
                    return Err(self.failed("cannot lock what processes share")(error));
                }
            }
        }
    }

    /// Copies a segment unless another process has. Returns whether one had.
    fn bring(&self, copy: &Copy, segment: u64, source: &dyn Source, ledger: &Ledger) -> Result<bool> {
        let range = self.segments.range_of(segment);
        let n_bytes = range.end - range.start;
        let entry = self.table_start() + segment * CHECKSUM_BYTES;
        let _locked = match &copy.shared {
            Some(shared) => {
                self.lock_in_time(&shared.lock)?;
                Some(Unlock(&shared.lock))
            }
            None => None,
        };
        let mut buffer = Vec::new();
        let size = usize::try_from(n_bytes).unwrap_or(usize::MAX);
        buffer.try_reserve_exact(size).map_err(|_| {
            self.failed("has no memory for a segment")(std::io::Error::from(std::io::ErrorKind::OutOfMemory))
        })?;
        buffer.resize(size, 0);
        if copy.shared.is_some() {
            let mut checksum = [0; 8];
            copy.content.read_exact_at(&mut checksum, entry).map_err(self.failed("cannot read its table"))?;
            if checksum != [0; 8] {
                copy.content.read_exact_at(&mut buffer, range.start).map_err(self.failed("cannot read its file"))?;
                if checksum == checksum_of(&buffer) {
                    return Ok(true);
                }
            }
        }
        ledger.enter(Operation::StageIn, std::iter::once((range.start, n_bytes)), || {
            source.read_at(range.start, &mut buffer)?;
            copy.content.write_all_at(&buffer, range.start).map_err(self.failed("cannot write a segment"))?;
            if copy.shared.is_some() {
                copy.content
                    .write_all_at(&checksum_of(&buffer), entry)
                    .map_err(self.failed("cannot write its table"))?;
            }
            Ok(())
        })?;
        Ok(false)
    }

    fn read(&self, parts: &mut [Part<'_>]) -> Result<()> {
        let copy = self.copy()?;
        for part in parts {
            copy.content.read_exact_at(part.buffer, part.offset).map_err(self.failed("cannot read its file"))?;
        }
        Ok(())
    }
}

impl Progress {
    fn has(&self, segment: u64) -> bool {
        let word = usize::try_from(segment / 64).unwrap_or(usize::MAX);
        self.present.get(word).is_some_and(|bits| bits >> (segment % 64) & 1 == 1)
    }

    fn add(&mut self, segment: u64) {
        let word = usize::try_from(segment / 64).unwrap_or(usize::MAX);
        if self.present.len() <= word {
            self.present.resize(word + 1, 0);
        }
        self.present[word] |= 1 << (segment % 64);
    }
}

/// For files whose names others know: a link may have been put in their place.
fn shared_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    options
}

/// Removes copies of other files that were abandoned. What cannot be looked at or removed stays: it is no concern of who
/// wants to read a file.
fn sweep(directory: &Path, own: &str) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.filter_map(std::result::Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_old = |time: SystemTime| time.elapsed().is_ok_and(|age| age > ABANDONED);
        if name != own
            && name.starts_with(NAME.0)
            && name.ends_with(NAME.1)
            && entry.metadata().and_then(|metadata| metadata.modified()).is_ok_and(is_old)
            && let Ok(content) = shared_options().open(entry.path())
        {
            remove_unused(&content, &entry.path(), &directory.join(format!("{name}{LOCK}")));
        }
    }
}

/// Removes a copy if nobody else uses it. What cannot be removed is used again.
fn remove_unused(content: &File, path: &Path, lock_path: &Path) {
    if content.try_lock().is_ok() {
        let _ = std::fs::remove_file(lock_path);
        let _ = std::fs::remove_file(path);
    }
}

/// Never 0, which says that there is no segment.
fn checksum_of(segment: &[u8]) -> [u8; 8] {
    XxHash64::oneshot(0, segment).max(1).to_le_bytes()
}

/// Lets the next one copy, also after an error.
struct Copying<'d>(&'d Download);

impl Drop for Copying<'_> {
    fn drop(&mut self) {
        self.0.lock().copying = None;
        self.0.changed.notify_all();
    }
}

struct Unlock<'f>(&'f File);

impl Drop for Unlock<'_> {
    fn drop(&mut self) {
        // It fails only for what is not locked.
        let _ = self.0.unlock();
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            remove_unused(&self.content, &shared.path, &shared.lock_path);
        }
    }
}

/// A layer that reads from the copy, and sees to it that what is read is there.
pub struct LazyDownload {
    inner: Arc<dyn Source>,
    download: Arc<Download>,
    ledger: Arc<Ledger>,
}

impl LazyDownload {
    /// Reads `inner` through `download`. Segments are entered in `ledger` as stage-ins, reads that need none as cache hits.
    pub fn new(inner: Arc<dyn Source>, download: Arc<Download>, ledger: Arc<Ledger>) -> Self {
        LazyDownload { inner, download, ledger }
    }
}

#[deny(clippy::missing_trait_methods)]
impl Source for LazyDownload {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn size_bytes(&self) -> u64 {
        self.inner.size_bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read_vector(&mut [Part { offset, buffer }])
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        for part in &*parts {
            check_range(self, part.offset, part.buffer.len())?;
        }
        if parts.iter().all(|part| part.buffer.is_empty()) {
            return Ok(());
        }
        let ranges: Vec<(u64, u64)> = parts.iter().map(|part| (part.offset, part.buffer.len() as u64)).collect();
        let mut is_hit = true;
        for &(offset, n_bytes) in &ranges {
            for segment in self.download.segments.touched(&(offset..offset + n_bytes)) {
                is_hit &= self.download.ensure(segment, self.inner.as_ref(), &self.ledger)?;
            }
        }
        if is_hit {
            self.ledger.enter(Operation::CacheHit, ranges.into_iter(), || self.download.read(parts))
        } else {
            self.download.read(parts)
        }
    }

    fn nature(&self) -> Nature {
        self.inner.nature()
    }

    fn version(&self) -> Option<String> {
        self.inner.version()
    }
}
