//! Files on a local or mounted disk.

#![expect(clippy::disallowed_types, reason = "this is the one place where files are opened")]

use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::descriptors::held;
use crate::error::{Error, Result};
use crate::lent_file::{LentFile, Whereabouts};
use crate::secret::redacted;
use crate::source::{AccessProfile, Part, Source, check_range};

const IS_A_PIPE: &str = "it is a pipe, and files are read here and there: save it first (curl -O URL; cat > copy.root or \
                         copy.parquet), or open the URL itself";

/// A file read with positioned reads.
///
/// It is not mapped into memory: a mapped file that another process cuts short kills the reader, a read says so. After each
/// read it is looked at whether the file was written to since it was opened; what was read before that is what was there.
///
/// Where descriptors are scarce it is closed between reads, and opened again for the next one if it is still the same file.
pub struct LocalFile {
    url: String,
    size_bytes: u64,
    version: Version,
    file: Arc<LentFile<Named>>,
}

/// A file that is found by its name.
struct Named {
    url: String,
    /// Absolute, as the working directory of the process may become another one.
    path: PathBuf,
    version: Version,
}

impl Whereabouts for Named {
    /// A file that was removed, or replaced by another one, is read to its end: it cannot be found again.
    fn leave(&self, _file: &File) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|found| Version::of(&found).is_same_file(&self.version))
    }

    fn find(&self) -> Result<File> {
        let failed = |source| Error::Io {
            url: redacted(&self.url),
            doing: "cannot be opened again, after it was closed as descriptors were scarce".to_owned(),
            source: Arc::new(source),
        };
        let file = File::open(&self.path).map_err(failed)?;
        let found = Version::of(&file.metadata().map_err(failed)?);
        self.version.check(&found, &self.url)?;
        Ok(file)
    }
}

/// What is another one when somebody has written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    modified: (i64, i64),
    size_bytes: u64,
    device: u64,
    inode: u64,
}

impl Version {
    fn of(metadata: &Metadata) -> Version {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Version { modified, size_bytes: metadata.len(), device: metadata.dev(), inode: metadata.ino() }
    }

    fn is_same_file(&self, other: &Version) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// An error if the file is another one now, or was written to.
    fn check(&self, now: &Version, url: &str) -> Result<()> {
        if self == now {
            return Ok(());
        }
        let what = if !self.is_same_file(now) {
            "another file has its name".to_owned()
        } else if now.size_bytes == self.size_bytes {
            "it was written to".to_owned()
        } else {
            format!("it had {} bytes and has {}", self.size_bytes, now.size_bytes)
        };
        Err(Error::Changed { url: url.to_owned(), what })
    }
}

impl LocalFile {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// [`Error::Io`] if that fails, or if it is a directory.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let url = path.to_string_lossy().into_owned();
        let failed =
            // A mistyped URL is taken for a path, and comes here.
            |source| Error::Io { url: redacted(&url), doing: "cannot be opened".to_owned(), source: Arc::new(source) };
        // Asked before opening: that of a pipe would wait for a writer.
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(std::io::Error::from(std::io::ErrorKind::IsADirectory)));
        }
        if metadata.file_type().is_fifo() {
            return Err(failed(std::io::Error::other(IS_A_PIPE)));
        }
        if !metadata.is_file() {
            return Err(failed(std::io::Error::other("not a regular file")));
        }
        let file = held(|| File::open(path)).map_err(failed)?;
        // Another file may have got the name meanwhile.
        let version = Version::of(&file.metadata().map_err(failed)?);
        let absolute = std::path::absolute(path).map_err(failed)?;
        let file = LentFile::new(Named { url: url.clone(), path: absolute, version }, file);
        Ok(LocalFile { size_bytes: version.size_bytes, version, file, url })
    }

    fn read_exact(&self, file: &File, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        file.read_exact_at(buffer, offset).map_err(|source| {
            if source.kind() == std::io::ErrorKind::UnexpectedEof
                && let Err(changed) = self.check_unchanged(file)
            {
                return changed;
            }
            let doing = format!("cannot read {} bytes at {offset}", buffer.len());
            Error::Io { url: self.url.clone(), doing, source: Arc::new(source) }
        })
    }

    fn check_unchanged(&self, file: &File) -> Result<()> {
        let metadata = file.metadata().map_err(|source| Error::Io {
            url: self.url.clone(),
            doing: "cannot be looked at".to_owned(),
            source: Arc::new(source),
        })?;
        self.version.check(&Version::of(&metadata), &self.url)
    }
}

impl Source for LocalFile {
    fn url(&self) -> &str {
        &self.url
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.with(|file| {
            self.read_exact(file, offset, buffer)?;
            self.check_unchanged(file)
        })
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        self.file.with(|file| {
            for part in &mut *parts {
                self.read_exact(file, part.offset, part.buffer)?;
            }
            self.check_unchanged(file)
        })
    }

    fn access_profile(&self) -> AccessProfile {
        AccessProfile::LOCAL
    }

    fn version(&self) -> Option<String> {
        let Version { modified: (seconds, nanoseconds), size_bytes, inode, .. } = self.version;
        Some(format!("{seconds}.{nanoseconds:09}-{size_bytes}-{inode}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_file_that_is_written_to_is_an_error_from_then_on() {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&path, [1; 100]).unwrap();
        // Written long ago, so that writing now is another time by any clock.
        path.as_file().set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
        let file = LocalFile::open(&path).unwrap();
        let mut buffer = [0; 10];
        file.read_at(90, &mut buffer).unwrap();
        assert_eq!(buffer, [1; 10]);
        // In place, and as long as before: no read fails by itself.
        std::fs::write(&path, [2; 100]).unwrap();
        assert!(matches!(file.read_at(0, &mut buffer), Err(Error::Changed { .. })));
        let mut parts = [Part { offset: 0, buffer: &mut buffer }];
        assert!(matches!(file.read_vector(&mut parts), Err(Error::Changed { .. })));
        std::fs::write(&path, [2; 101]).unwrap();
        let error = file.read_at(0, &mut buffer).unwrap_err().to_string();
        assert!(error.contains("it had 100 bytes and has 101"), "{error}");
        LocalFile::open(&path).unwrap().read_at(0, &mut buffer).unwrap();
    }

    #[test]
    fn a_file_that_another_one_replaces_is_read_to_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("a"), directory.path().join("b"));
        std::fs::write(&path, [1; 10]).unwrap();
        std::fs::write(&other, [2; 10]).unwrap();
        let file = LocalFile::open(&path).unwrap();
        std::fs::rename(&other, &path).unwrap();
        let mut buffer = [0; 10];
        file.read_at(0, &mut buffer).unwrap();
        assert_eq!(buffer, [1; 10]);
    }
}
