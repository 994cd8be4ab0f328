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

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use twox_hash::XxHash64;

use crate::account::{Ledger, Operation};
use crate::copies::{ABANDONED, Nameless, Room, own_file};
use crate::descriptors::{HeldDescriptor, held, opened};
use crate::error::{Error, Result};
use crate::lent_file::{LentFile, Whereabouts};
use crate::secret::redacted;
use crate::segments::Segmented;
use crate::source::{Part, Source, check_range, pass_on};

/// Bytes of a checksum in the table after the content.
const CHECKSUM_BYTES: u64 = 8;
/// End of the name of the lock beside a copy.
const LOCK: &str = ".lock";
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
    /// Most bytes of all copies of the process; `None`: half of what is free.
    max_bytes: Option<u64>,
    /// For how long to wait for another process.
    patience: Duration,
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Default)]
struct Progress {
    copy: Option<Arc<Copy>>,
    /// Segments that are there: of a file that says that it is large, few.
    present: HashSet<u64>,
    /// The process that copies a segment: in one that was forked meanwhile nobody does.
    copying: Option<u32>,
}

/// The copy on the local disk.
struct Copy {
    content: Content,
    room: Mutex<Room>,
    /// The process that opened it: in one that was forked it is the same open file, with the same lock.
    process: u32,
}

/// The file of a copy.
enum Content {
    /// It is this process's own.
    Own(Arc<LentFile<Nameless>>),
    /// Processes share it.
    Shared(Arc<LentFile<Shared>>),
}

/// A copy that has a name.
struct Shared {
    path: PathBuf,
    /// Locked by the process that copies a segment.
    lock_path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl Whereabouts for Shared {
    /// Its last user may remove it meanwhile: then it is copied again.
    fn leave(&self, _content: &File) -> bool {
        true
    }

    fn find(&self) -> Result<File> {
        let failed = |source| Error::LocalDisk {
            path: self.path.display().to_string(),
            doing: "lazy-download cannot open its file again, after it was closed as descriptors were scarce"
                .to_owned(),
            source: Arc::new(source),
        };
        let is_lost = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        let lost = || Error::Changed { url: self.path.display().to_string(), what: "it was removed".to_owned() };
        let content = own_file().open(&self.path);
        let content = content.map_err(|error| if is_lost(&error) { lost() } else { failed(error) })?;
        content.lock_shared().map_err(failed)?;
        if identity_of(&content.metadata().map_err(failed)?) != self.identity || !self.is_there() {
            return Err(lost());
        }
        Ok(content)
    }
}

impl Shared {
    /// Whether its name still names it.
    fn is_there(&self) -> bool {
        is_named(&self.path, self.identity)
    }
}

fn identity_of(metadata: &std::fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Whether a path names the file of that identity.
fn is_named(path: &Path, identity: (u64, u64)) -> bool {
    std::fs::metadata(path).is_ok_and(|named| identity_of(&named) == identity)
}

impl Copy {
    fn with<T>(&self, work: impl FnMut(&File) -> Result<T>) -> Result<T> {
        match &self.content {
            Content::Own(file) => file.with(work),
            Content::Shared(file) => file.with(work),
        }
    }

    /// The lock that processes share, if there are any.
    fn lock_path(&self) -> Option<&Path> {
        match &self.content {
            Content::Own(_) => None,
            Content::Shared(file) => Some(&file.whereabouts().lock_path),
        }
    }
}

impl Download {
    /// Nothing is copied yet, and no file is made. `directory`: `None` for the system's directory for temporary files.
    /// `max_bytes`: of all copies of this process on that disk; `None` for half of what is free there.
    /// `patience`: for how long to wait for another process that copies.
    pub fn new(
        source: &dyn Source,
        directory: Option<&Path>,
        segment_bytes: u64,
        max_bytes: Option<u64>,
        patience: Duration,
    ) -> Self {
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
            max_bytes,
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

    /// Sees to it that a segment is there. Returns the copy that has it, and whether it had it before.
    fn ensure(&self, segment: u64, source: &dyn Source, ledger: &Ledger) -> Result<(Arc<Copy>, bool)> {
        let mut progress = self.lock();
        loop {
            if let Some(copy) = progress.copy.as_ref().filter(|_| progress.present.contains(&segment)) {
                return Ok((Arc::clone(copy), true));
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
        let mut progress = self.lock();
        // It may have been forgotten meanwhile: another copy has other segments.
        if progress.copy.as_ref().is_some_and(|current| Arc::ptr_eq(current, &copy)) {
            progress.present.insert(segment);
        }
        drop(progress);
        Ok((copy, was_there))
    }

    /// The copy; made when it is first needed.
    fn copy(&self) -> Result<Arc<Copy>> {
        if let Some(copy) = &self.lock().copy {
            return Ok(Arc::clone(copy));
        }
        self.make_directory()?;
        let content = match &self.name {
            Some(name) => Content::Shared(self.open_shared(name)?),
            None => Content::Own(Nameless::make(&self.directory).map_err(self.failed("cannot make a file"))?),
        };
        let room = Room::new(&self.directory, self.max_bytes).map_err(self.failed("cannot look at the directory"))?;
        let copy = Arc::new(Copy { content, room: Mutex::new(room), process: std::process::id() });
        let table_bytes = if copy.lock_path().is_some() { self.segments.n_pieces() * CHECKSUM_BYTES } else { 0 };
        let n_bytes = self.table_start().saturating_add(table_bytes);
        copy.with(|content| {
            let length = content.metadata().map_err(self.failed("cannot look at its file"))?.len();
            if length < n_bytes {
                content.set_len(n_bytes).map_err(self.failed("cannot make its file as large as the remote one"))?;
            }
            Ok(())
        })?;
        self.lock().copy = Some(Arc::clone(&copy));
        Ok(copy)
    }

    fn make_directory(&self) -> Result<()> {
        std::fs::create_dir_all(&self.directory).map_err(self.failed("cannot make the directory"))
    }

    fn open_shared(&self, name: &str) -> Result<Arc<LentFile<Shared>>> {
        let path = self.directory.join(name);
        let lock_path = self.directory.join(format!("{name}{LOCK}"));
        sweep(&self.directory, name);
        for _ in 0..MAX_TRIES {
            let content: HeldDescriptor<File> = held(|| own_file().create(true).open(&path))
                .map_err(self.failed("cannot open the file that processes share"))?;
            content.lock_shared().map_err(self.failed("cannot lock the file that processes share"))?;
            let identity = identity_of(&content.metadata().map_err(self.failed("cannot look at its file"))?);
            let shared = Shared { path: path.clone(), lock_path: lock_path.clone(), identity };
            // Its last user may have removed it before it was locked.
            if shared.is_there() {
                return Ok(LentFile::new(shared, content));
            }
        }
        let error = std::io::Error::other("it is removed again and again");
        Err(self.failed("cannot keep the file that processes share")(error))
    }

    /// Forgets a copy that somebody removed.
    fn lose(&self) {
        let mut progress = self.lock();
        progress.copy = None;
        progress.present.clear();
    }

    /// Forgets the segments that a range touches, as their bytes are wrong: they are copied again.
    pub fn forget(&self, range: &Range<u64>) {
        let mut progress = self.lock();
        let touched: Vec<u64> = self.segments.touched(range).filter(|one| progress.present.remove(one)).collect();
        let Some(copy) = progress.copy.clone().filter(|copy| copy.lock_path().is_some()) else { return };
        drop(progress);
        // Of a copy that was removed meanwhile there is nothing to forget; one that takes no bytes is found wrong again.
        let _ = copy.with(|content| {
            let mut entries = touched.iter().map(|segment| self.table_start() + segment * CHECKSUM_BYTES);
            let written = entries.try_for_each(|entry| content.write_all_at(&[0; 8], entry));
            written.map_err(self.failed("cannot write its table"))
        });
    }

    fn removed(&self) -> Error {
        let what = "the copy of lazy-download was removed".to_owned();
        Error::Changed { url: self.directory.display().to_string(), what }
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
        copy.with(|content| {
            let Some(lock_path) = copy.lock_path() else {
                let mut buffer = self.buffer(segment)?;
                self.fetch(copy, content, segment, &mut buffer, source, ledger)?;
                return Ok(false);
            };
            let lock = opened(|| own_file().create(true).open(lock_path));
            let lock = lock.map_err(self.failed("cannot open the lock that processes share"))?;
            self.lock_in_time(&lock)?;
            let _locked = Unlock(&lock);
            let mut buffer = self.buffer(segment)?;
            let start = self.segments.range_of(segment).start;
            let entry = self.table_start() + segment * CHECKSUM_BYTES;
            let mut checksum = [0; 8];
            content.read_exact_at(&mut checksum, entry).map_err(self.failed("cannot read its table"))?;
            if checksum != [0; 8] {
                content.read_exact_at(&mut buffer, start).map_err(self.failed("cannot read its file"))?;
                if checksum == self.checksum_of(segment, &buffer) {
                    return Ok(true);
                }
            }
            self.fetch(copy, content, segment, &mut buffer, source, ledger)?;
            let checksum = self.checksum_of(segment, &buffer);
            content.write_all_at(&checksum, entry).map_err(self.failed("cannot write its table"))?;
            Ok(false)
        })
    }

    /// Memory for a segment.
    fn buffer(&self, segment: u64) -> Result<Vec<u8>> {
        let range = self.segments.range_of(segment);
        let mut buffer = Vec::new();
        let size = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        buffer.try_reserve_exact(size).map_err(|_| {
            self.failed("has no memory for a segment")(std::io::Error::from(std::io::ErrorKind::OutOfMemory))
        })?;
        buffer.resize(size, 0);
        Ok(buffer)
    }

    /// Fetches a segment into `buffer` and writes it to the copy.
    fn fetch(
        &self,
        copy: &Copy,
        content: &File,
        segment: u64,
        buffer: &mut [u8],
        source: &dyn Source,
        ledger: &Ledger,
    ) -> Result<()> {
        let offset = self.segments.range_of(segment).start;
        let n_bytes = buffer.len() as u64;
        ledger.enter(Operation::StageIn, std::iter::once((offset, n_bytes)), || {
            let room = || copy.room.lock().unwrap_or_else(PoisonError::into_inner);
            room().take(n_bytes).map_err(self.failed("cannot keep a segment"))?;
            let written = source
                .read_at(offset, buffer)
                .and_then(|()| content.write_all_at(buffer, offset).map_err(self.failed("cannot write a segment")));
            if written.is_err() {
                room().give_back(n_bytes);
                return written;
            }
            room().write(n_bytes).map_err(self.failed("cannot keep a segment"))
        })
    }

    /// Never 0, which says that there is no segment.
    fn checksum_of(&self, segment: u64, content: &[u8]) -> [u8; 8] {
        let of_file = self.name.as_deref().unwrap_or_default();
        XxHash64::oneshot(XxHash64::oneshot(segment, of_file.as_bytes()), content).max(1).to_le_bytes()
    }

    fn read(&self, copy: &Copy, parts: &mut [Part<'_>]) -> Result<()> {
        copy.with(|content| {
            parts.iter_mut().try_for_each(|part| {
                content.read_exact_at(part.buffer, part.offset).map_err(self.failed("cannot read its file"))
            })
        })
    }
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
            && let Ok(content) = own_file().open(entry.path())
        {
            remove_unused(&content, &entry.path(), &directory.join(format!("{name}{LOCK}")));
        }
    }
}

/// Removes a copy if nobody else uses it, and if it is the one of that name. What cannot be removed is used again.
fn remove_unused(content: &File, path: &Path, lock_path: &Path) {
    let is_it = || content.metadata().is_ok_and(|metadata| is_named(path, identity_of(&metadata)));
    if content.try_lock().is_ok() && is_it() {
        let _ = std::fs::remove_file(lock_path);
        let _ = std::fs::remove_file(path);
    }
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
        if let Content::Shared(file) = &self.content
            && self.process == std::process::id()
        {
            let Shared { path, lock_path, .. } = file.whereabouts();
            // One that cannot be found again is another's, or is swept later.
            let _ = file.with(|content| {
                remove_unused(content, path, lock_path);
                Ok(())
            });
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

    fn read_copied(&self, parts: &mut [Part<'_>]) -> Result<()> {
        let ranges: Vec<(u64, u64)> = parts.iter().map(|part| (part.offset, part.buffer.len() as u64)).collect();
        let (mut is_hit, mut last) = (true, None);
        for &(offset, n_bytes) in &ranges {
            for segment in self.download.segments.touched(&(offset..offset + n_bytes)) {
                let (copy, was_there) = self.download.ensure(segment, self.inner.as_ref(), &self.ledger)?;
                is_hit &= was_there;
                if last.replace(Arc::clone(&copy)).is_some_and(|last| !Arc::ptr_eq(&last, &copy)) {
                    return Err(self.download.removed());
                }
            }
        }
        let Some(copy) = last else { return Ok(()) };
        if is_hit {
            self.ledger.enter(Operation::CacheHit, ranges.into_iter(), || self.download.read(&copy, parts))
        } else {
            self.download.read(&copy, parts)
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl Source for LazyDownload {
    pass_on!(inner);

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
        match self.read_copied(parts) {
            // Another process may have removed the copy while it was closed.
            Err(Error::Changed { .. }) => {
                self.download.lose();
                self.read_copied(parts)
            }
            result => result,
        }
    }
}

#[cfg(test)]
mod tests;
