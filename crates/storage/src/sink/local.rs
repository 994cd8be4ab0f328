//! Files that are written to a local or mounted disk.

#![expect(clippy::disallowed_types, reason = "files are opened here for the others of this crate")]

use std::ffi::OsString;
use std::fs::{File, OpenOptions, Permissions};
use std::io::IoSlice;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustix::fs::{Access, FlockOperation, OFlags, access, fdatasync, flock, fsync};
use rustix::io::{Errno, pwritev};

use crate::descriptors::opened;
use crate::error::{Ending, Error, Result};
use crate::secret::redacted;
use crate::sink::Sink;
use writeback::Writeback;

mod writeback;

/// The suffix of a file's name until it is published.
const PART: &str = ".part";
/// Parts that the system takes in one write. Source: `IOV_MAX` of Linux and macOS.
const MAX_PARTS: usize = 1024;
/// Links that are followed before they are taken for a circle. Source: `MAXSYMLINKS` of Linux.
const MAX_LINKS: usize = 40;
/// The bits of a file's mode that say who may do what.
const PERMISSIONS: u32 = 0o7777;
/// How often another process may take the name of the part away before this one gives up.
const MAX_TRIES: usize = 100;

/// A file that is written as `NAME.part` beside `NAME`, and renamed when it is published.
///
/// If `NAME` is a symbolic link, the link stays: `NAME.part` is beside the file that it leads to, and replaces that one.
/// The file has the permissions of an older `NAME` from the first byte on, else those of any new file (the process's umask); an
/// older `NAME` that may not be written is an error.
///
/// `NAME.part` is locked (`flock`) while it is written. If there is one already and nobody holds its lock, a process was
/// killed that wrote it: it is replaced. Where the file system has no locks nobody can know, and it is an error.
///
/// Space is not reserved ahead: file systems allocate what is written in order well by themselves.
#[derive(Debug)]
pub struct LocalSink {
    url: String,
    /// Absolute, as the working directory of the process may become another one.
    target: PathBuf,
    part: PathBuf,
    state: RwLock<LocalState>,
    writeback: Writeback,
    /// A child of this process has the file as well, and must not remove it.
    process: u32,
}

#[derive(Debug)]
enum LocalState {
    Open(Arc<File>),
    Ended(Ending),
}

impl LocalSink {
    /// Begins to write a file.
    ///
    /// # Errors
    /// [`Error::Io`] if `NAME.part` cannot be made, or is being written by another process, or if `NAME` is there and is no
    /// regular file or may not be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        // A mistyped URL is taken for a path, and comes here.
        let url = redacted(&path.to_string_lossy());
        let target = target_of(path).map_err(failed(&url, "cannot be created"))?;
        let older = std::fs::metadata(&target).ok();
        if let Some(older) = &older {
            if older.is_dir() {
                return Err(failed(&url, "cannot be written")(std::io::ErrorKind::IsADirectory.into()));
            }
            if !older.is_file() {
                return Err(failed(&url, "cannot be written")(std::io::Error::other("not a regular file")));
            }
            access(&target, Access::WRITE_OK).map_err(|error| failed(&url, "cannot be replaced")(error.into()))?;
        }
        let mut name = target.file_name().map(OsString::from).unwrap_or_default();
        name.push(PART);
        let part = target.with_file_name(name);
        let mode = older.map(|older| older.mode() & PERMISSIONS);
        let creating = format!("cannot create {}", redacted(&part.to_string_lossy()));
        let file = Arc::new(create_part(&part, mode.unwrap_or(0o666)).map_err(failed(&url, &creating))?);
        let state = RwLock::new(LocalState::Open(Arc::clone(&file)));
        let sink = LocalSink { url, target, part, state, writeback: Writeback::default(), process: std::process::id() };
        if let Some(mode) = mode {
            let taken_over = take_over(mode, &file);
            taken_over.map_err(failed(&sink.url, "cannot be replaced by a file of the same permissions"))?;
        }
        Ok(sink)
    }

    /// Where the file is until it is published.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Gives the part its length, and has it survive a loss of power. That may take long, and it can be aborted meanwhile.
    fn secure(&self, size_bytes: u64) -> Result<()> {
        let file = self.with(|file| Ok(Arc::clone(file)))?;
        file.set_len(size_bytes).map_err(failed(&self.url, "cannot be given its length"))?;
        fsync(&*file).map_err(|error| failed(&self.url, "cannot be synced")(error.into()))
    }

    /// Gives the part its name.
    fn rename(&self) -> Result<()> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let LocalState::Ended(ending) = &*state {
            return Err(Error::Ended { url: self.url.clone(), ending: *ending });
        }
        let renaming = format!("cannot rename {}", self.part.display());
        std::fs::rename(&self.part, &self.target).map_err(failed(&self.url, &renaming))?;
        // From here on it has its name, and is not to be removed.
        *state = LocalState::Ended(Ending::Published);
        Ok(())
    }

    fn with<T>(&self, work: impl FnOnce(&Arc<File>) -> Result<T>) -> Result<T> {
        match &*self.state.read().unwrap_or_else(PoisonError::into_inner) {
            LocalState::Open(file) => work(file),
            LocalState::Ended(ending) => Err(Error::Ended { url: self.url.clone(), ending: *ending }),
        }
    }
}

impl Sink for LocalSink {
    fn url(&self) -> &str {
        &self.url
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.write_vector(offset, &[bytes])
    }

    fn write_vector(&self, offset: u64, parts: &[&[u8]]) -> Result<()> {
        let n_bytes: usize = parts.iter().map(|part| part.len()).sum();
        self.with(|file| {
            write_gathered(file, offset, parts).map_err(|source| {
                failed(&self.url, &format!("cannot write {n_bytes} bytes at {offset} of {}", self.part.display()))(
                    source,
                )
            })?;
            self.writeback.written(file, offset.saturating_add(n_bytes as u64));
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        self.with(|file| fdatasync(file).map_err(|error| failed(&self.url, "cannot be synced")(error.into())))
    }

    fn publish(&self, size_bytes: u64) -> Result<()> {
        self.secure(size_bytes)?;
        self.rename()?;
        sync_directory(&self.target).map_err(failed(&self.url, "is there, but its directory cannot be synced"))
    }

    fn abort(&self) {
        if std::process::id() != self.process {
            // Not waited for: a thread that is not here may have the lock.
            if let Ok(mut state) = self.state.try_write() {
                *state = LocalState::Ended(Ending::Aborted);
            }
            return;
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let LocalState::Open(_) = &*state {
            // While it is still locked. If it cannot be removed, there is nobody to tell; the next one replaces it.
            let _ = std::fs::remove_file(&self.part);
            *state = LocalState::Ended(Ending::Aborted);
        }
    }
}

impl Drop for LocalSink {
    fn drop(&mut self) {
        self.abort();
    }
}

fn failed(url: &str, doing: &str) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Io { url: url.to_owned(), doing: doing.to_owned(), source: Arc::new(source) }
}

/// The file that a path leads to, whether it is there or not.
fn target_of(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = std::path::absolute(path)?;
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            // Relative to where the link is.
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) if path.file_name().is_some() => return Ok(path),
            Err(_) => return Err(std::io::ErrorKind::IsADirectory.into()),
        }
    }
    Err(Errno::LOOP.into())
}

/// Gives a file these permissions, of which the umask may have taken some.
fn take_over(mode: u32, file: &File) -> std::io::Result<()> {
    if file.metadata()?.mode() & PERMISSIONS == mode {
        // Not every file system can change them.
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(mode))
}

/// Makes a new file of that name with no more than these permissions, and locks it. A leftover that nobody holds is removed first.
fn create_part(part: &Path, mode: u32) -> std::io::Result<File> {
    for _ in 0..MAX_TRIES {
        let new = opened(|| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true).mode(mode).open(part)
        });
        match new {
            Ok(file) => match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if has_name(&file, part) => return Ok(file),
                // Another process took it for a leftover before it was locked.
                Ok(()) | Err(Errno::WOULDBLOCK) => {}
                Err(error) if is_without_locks(error) => return Ok(file),
                Err(error) => {
                    let _ = std::fs::remove_file(part);
                    return Err(error.into());
                }
            },
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => remove_leftover(part)?,
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("other processes write it, too: give each a name of its own"))
}

/// Removes a file of a process that is no more.
fn remove_leftover(part: &Path) -> std::io::Result<()> {
    let no_follow = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let leftover = match opened(|| OpenOptions::new().read(true).custom_flags(no_follow).open(part)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        result => result?,
    };
    match flock(&leftover, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) if has_name(&leftover, part) => match std::fs::remove_file(part) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
        Ok(()) => Ok(()),
        Err(Errno::WOULDBLOCK) => Err(std::io::Error::other(
            "a process is writing it: close the file if this one is, else wait, or write to another name",
        )),
        Err(error) if is_without_locks(error) => {
            Err(std::io::Error::other("it is there already: remove it if no process is writing it"))
        }
        Err(error) => Err(error.into()),
    }
}

fn is_without_locks(error: Errno) -> bool {
    [Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOLCK, Errno::INVAL].contains(&error)
}

/// True if a path leads to this very file.
fn has_name(file: &File, path: &Path) -> bool {
    let same = |found: std::fs::Metadata, own: std::fs::Metadata| (found.dev(), found.ino()) == (own.dev(), own.ino());
    file.metadata().is_ok_and(|own| std::fs::symlink_metadata(path).is_ok_and(|found| same(found, own)))
}

fn write_gathered(file: &File, mut offset: u64, parts: &[&[u8]]) -> std::io::Result<()> {
    let mut slices: Vec<_> = parts.iter().filter(|part| !part.is_empty()).map(|part| IoSlice::new(part)).collect();
    let mut rest = slices.as_mut_slice();
    while !rest.is_empty() {
        match pwritev(file, &rest[..rest.len().min(MAX_PARTS)], offset) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(n_bytes) => {
                offset += n_bytes as u64;
                IoSlice::advance_slices(&mut rest, n_bytes);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Makes a new name survive a loss of power.
fn sync_directory(path: &Path) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    match fsync(opened(|| File::open(directory))?) {
        // Some network file systems know no such thing, and are not less safe for it.
        Ok(()) | Err(Errno::INVAL | Errno::NOTSUP | Errno::BADF) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
