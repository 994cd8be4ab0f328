//! Copies of remote files on a local disk: how much they may take of it, and files for them that have no name.

#![expect(clippy::disallowed_types, reason = "copies are local files")]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, OFlags};
use rustix::process::{Pid, test_kill_process};

use crate::descriptors::held;
use crate::error::{Error, Result};
use crate::lent_file::{LentFile, Whereabouts};

/// What nobody wrote to for so long was left by a process that was killed.
pub(crate) const ABANDONED: Duration = Duration::from_secs(3600);
/// Begin and end of the names of copies that are left for a while.
const NAME: (&str, &str) = ("arrowroot-", ".copy");
/// The room for a copy whose size is not known is taken in steps of so many bytes.
const STEP_BYTES: u64 = 4 << 20;

/// What the copies of this process have of a disk, in bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    /// Room for copies, whether something was written there or not.
    reserved: u64,
    /// What was written.
    written: u64,
}

/// Of all disks, by device.
static TAKEN: Mutex<BTreeMap<u64, Taken>> = Mutex::new(BTreeMap::new());

fn taken() -> MutexGuard<'static, BTreeMap<u64, Taken>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The room that one copy has on a disk. It is given back when this is let go.
pub(crate) struct Room {
    directory: PathBuf,
    device: u64,
    /// Most bytes of all copies of the process on the disk; `None`: half of what is free there without them.
    max_bytes: Option<u64>,
    own: Taken,
}

impl Room {
    /// No room yet, on the disk of a directory that exists.
    ///
    /// # Errors
    /// If the directory cannot be looked at.
    pub(crate) fn new(directory: &Path, max_bytes: Option<u64>) -> io::Result<Room> {
        let device = std::fs::metadata(directory)?.dev();
        Ok(Room { directory: directory.to_owned(), device, max_bytes, own: Taken::default() })
    }

    /// Takes room for so many bytes more.
    ///
    /// # Errors
    /// If there is not so much: the error says what there is, and which option allows more.
    pub(crate) fn take(&mut self, n_bytes: u64) -> io::Result<()> {
        self.take_up_to(n_bytes, n_bytes)
    }

    /// Notes that so many bytes were written, and takes room for them unless that was done.
    ///
    /// # Errors
    /// As [`Room::take`].
    pub(crate) fn write(&mut self, n_bytes: u64) -> io::Result<()> {
        let end = self.own.written.saturating_add(n_bytes);
        if let Some(lacking) = end.checked_sub(self.own.reserved).filter(|&lacking| lacking > 0) {
            self.take_up_to(lacking, lacking.max(STEP_BYTES))?;
        }
        self.own.written = end;
        taken().entry(self.device).or_default().written += n_bytes;
        Ok(())
    }

    /// Gives room back that was taken and not written to.
    pub(crate) fn give_back(&mut self, n_bytes: u64) {
        let n_bytes = n_bytes.min(self.own.reserved - self.own.written.min(self.own.reserved));
        self.own.reserved -= n_bytes;
        let mut disks = taken();
        let disk = disks.entry(self.device).or_default();
        disk.reserved = disk.reserved.saturating_sub(n_bytes);
    }

    /// Takes room for as many bytes as there is room for, from the first number to the second.
    fn take_up_to(&mut self, at_least: u64, at_most: u64) -> io::Result<()> {
        let mut disks = taken();
        let disk = disks.entry(self.device).or_default();
        let bound = match self.max_bytes {
            Some(bound) => bound,
            None => free_bytes(&self.directory)?.saturating_add(disk.written) / 2,
        };
        let left = bound.saturating_sub(disk.reserved);
        if left < at_least {
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, self.full(at_least, bound, disk.reserved)));
        }
        let n_bytes = at_most.min(left);
        disk.reserved += n_bytes;
        self.own.reserved += n_bytes;
        Ok(())
    }

    fn full(&self, n_bytes: u64, bound: u64, reserved: u64) -> String {
        let whose = if self.max_bytes.is_some() { "as download_size says" } else { "half of what is free there" };
        let others = if reserved > 0 { format!(", of which they have {reserved}") } else { String::new() };
        format!(
            "no room for {n_bytes} bytes more: copies of this process may have {bound} bytes of that disk ({whose}){others}; \
             allow more with the option download_size"
        )
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut disks = taken();
        let disk = disks.entry(self.device).or_default();
        disk.reserved = disk.reserved.saturating_sub(self.own.reserved);
        disk.written = disk.written.saturating_sub(self.own.written);
    }
}

/// Bytes that are free on the disk of a directory.
pub(crate) fn free_bytes(directory: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(directory)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// A file without a name: it is gone when the process ends, however that ends. It gets one when it is closed because
/// descriptors are scarce, and keeps it: what a process that is killed leaves so is removed an hour later by another one.
pub(crate) struct Nameless {
    directory: PathBuf,
    /// With the process that gave it, which removes it: one that was forked has the same file.
    name: OnceLock<(u32, PathBuf)>,
}

impl Nameless {
    /// Makes an empty one in a directory, which exists.
    ///
    /// # Errors
    /// If that fails.
    pub(crate) fn make(directory: &Path) -> io::Result<Arc<LentFile<Nameless>>> {
        let file = held(|| open_nameless(directory))?;
        Ok(LentFile::new(Nameless { directory: directory.to_owned(), name: OnceLock::new() }, file))
    }
}

impl Whereabouts for Nameless {
    /// Gives it a name, which only Linux can, only on some file systems, and once.
    fn leave(&self, file: &File) -> bool {
        if self.name.get().is_some() {
            return true;
        }
        sweep(&self.directory);
        let path = new_path(&self.directory);
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        rustix::fs::linkat(CWD, open, CWD, &path, AtFlags::SYMLINK_FOLLOW).is_ok()
            && self.name.set((std::process::id(), path)).is_ok()
    }

    fn find(&self) -> Result<File> {
        let path = self.name.get().map(|(_, path)| path.clone()).unwrap_or_default();
        own_file().open(&path).map_err(|source| Error::LocalDisk {
            path: path.display().to_string(),
            doing: "a copy cannot be opened again, after it was closed as descriptors were scarce".to_owned(),
            source: Arc::new(source),
        })
    }
}

impl Drop for Nameless {
    fn drop(&mut self) {
        if let Some((process, path)) = self.name.get()
            && *process == std::process::id()
        {
            // Swept later otherwise.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// For files of our own, whose names others may know: a link may have been put in their place.
pub(crate) fn own_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

fn open_nameless(directory: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        use rustix::io::Errno;
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600).custom_flags(OFlags::TMPFILE.bits().cast_signed());
        let unable = [Errno::OPNOTSUPP, Errno::ISDIR, Errno::NOENT].map(|errno| Some(errno.raw_os_error()));
        match options.open(directory) {
            Err(error) if unable.contains(&error.raw_os_error()) => {}
            opened => return opened,
        }
    }
    loop {
        let path = new_path(directory);
        match own_file().create_new(true).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            // Left by a process of the same number that was killed in between.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// The name of no other file of this process.
fn new_path(directory: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    directory.join(format!("{}{}-{number}{}", NAME.0, std::process::id(), NAME.1))
}

/// Removes copies that processes left which are gone, once for each directory and process.
fn sweep(directory: &Path) {
    static SWEPT: Mutex<Vec<(u32, PathBuf)>> = Mutex::new(Vec::new());
    let swept = (std::process::id(), directory.to_owned());
    {
        let mut all = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if all.contains(&swept) {
            return;
        }
        all.push(swept);
    }
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.filter_map(io::Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number =
            name.strip_prefix(NAME.0).and_then(|rest| rest.strip_suffix(NAME.1)?.split('-').next()?.parse().ok());
        let is_old = |time: SystemTime| time.elapsed().is_ok_and(|age| age > ABANDONED);
        if let Some(process) = number.and_then(Pid::from_raw)
            && test_kill_process(process) == Err(rustix::io::Errno::SRCH)
            && entry.metadata().and_then(|metadata| metadata.modified()).is_ok_and(is_old)
        {
            // What cannot be removed is no concern of who wants to read a file.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    use crate::descriptors::Holder as _;

    #[test]
    fn copies_of_a_process_have_their_bound_together_and_give_room_back() {
        let directory = tempfile::tempdir().unwrap();
        let room = |bound| Room::new(directory.path(), bound).unwrap();
        let (mut first, mut second) = (room(Some(1_000_000_000)), room(Some(1_000_000_000)));
        first.take(700_000_000).unwrap();
        let error = second.take(300_000_001).unwrap_err().to_string();
        assert!(error.contains("download_size") && error.contains("300000001"), "{error}");
        second.write(100).unwrap();
        second.write(200_000_000).unwrap();
        drop(first);
        second.take(700_000_000).unwrap();
        drop(second);
        // Without a bound of its own it is half of what is free.
        let free = free_bytes(directory.path()).unwrap();
        let mut room = room(None);
        let error = room.take(free / 4 * 3).unwrap_err().to_string();
        assert!(error.contains("half of what is free"), "{error}");
        room.take(free / 4).unwrap();
        room.give_back(free / 4);
        room.take(free / 4).unwrap();
    }

    #[test]
    fn a_nameless_file_is_closed_and_found_again() {
        let directory = tempfile::tempdir().unwrap();
        let n_files = || std::fs::read_dir(directory.path()).unwrap().count();
        let file = Nameless::make(directory.path()).unwrap();
        file.with(|file| {
            file.write_all_at(b"content", 0).unwrap();
            Ok(())
        })
        .unwrap();
        assert_eq!(n_files(), 0);
        for _ in 0..2 {
            file.give_back();
            if n_files() == 0 {
                return; // a file system that knows no files without names
            }
            let mut buffer = [0; 7];
            file.with(|file| {
                file.read_exact_at(&mut buffer, 0).unwrap();
                Ok(())
            })
            .unwrap();
            assert_eq!(&buffer, b"content");
        }
        drop(file);
        assert_eq!(n_files(), 0);
    }

    #[test]
    fn a_forked_process_leaves_the_name_that_another_gave() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("of the parent");
        for (process, is_left) in [(std::process::id() + 1, true), (std::process::id(), false)] {
            std::fs::write(&path, "content").unwrap();
            let name = OnceLock::from((process, path.clone()));
            drop(Nameless { directory: directory.path().to_owned(), name });
            assert_eq!(path.exists(), is_left);
        }
    }
}
