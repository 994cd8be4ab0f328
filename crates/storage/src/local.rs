//! Files on a local or mounted disk.

#![expect(clippy::disallowed_types, reason = "this is the one place where files are opened")]

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use crate::error::{Error, Result};
use crate::source::{Nature, Part, Source, check_range, read_each};

/// A file read with positioned reads.
///
/// It is not mapped into memory: a mapped file that another process cuts short kills the reader, a read says so.
#[derive(Debug)]
pub struct LocalFile {
    url: String,
    size_bytes: u64,
    version: String,
    file: File,
}

impl LocalFile {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// [`Error::Io`] if that fails, or if it is a directory.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let url = path.to_string_lossy().into_owned();
        let failed = |source| Error::Io { url: url.clone(), doing: "cannot be opened".to_owned(), source };
        // Asked before opening: that of a pipe would wait for a writer.
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(std::io::Error::from(std::io::ErrorKind::IsADirectory)));
        }
        if !metadata.is_file() {
            return Err(failed(std::io::Error::other("not a regular file")));
        }
        let file = File::open(path).map_err(failed)?;
        let version =
            format!("{}.{:09}-{}-{}", metadata.mtime(), metadata.mtime_nsec(), metadata.len(), metadata.ino());
        Ok(LocalFile { size_bytes: metadata.len(), version, file, url })
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
        check_range(self, offset, buffer.len())?;
        self.file.read_exact_at(buffer, offset).map_err(|source| {
            let doing = if source.kind() == std::io::ErrorKind::UnexpectedEof {
                format!("became shorter than {} bytes while it was read, at byte {offset}", self.size_bytes)
            } else {
                format!("cannot read {} bytes at {offset}", buffer.len())
            };
            Error::Io { url: self.url.clone(), doing, source }
        })
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        read_each(self, parts)
    }

    fn nature(&self) -> Nature {
        Nature::LOCAL
    }

    fn version(&self) -> Option<String> {
        Some(self.version.clone())
    }
}
