//! Files of servers that know no ranges: copied once, then read from the copy.

#![expect(clippy::disallowed_types, reason = "the copy is a file of this crate's own")]

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::address::Address;
use super::answer::{Answer, Kind, Version};
use crate::error::{Error, Result};
use crate::source::{Nature, Part, Source, check_range, read_each};

/// A copy that has no name any more: it is gone with the process, however that ends.
pub(super) struct WholeFile {
    address: Arc<Address>,
    size_bytes: u64,
    version: Version,
    file: File,
}

impl WholeFile {
    /// Copies the body of `answer` to a nameless file in the directory for temporary files.
    ///
    /// # Errors
    /// If the answer is none, the connection breaks, or the disk is full.
    pub(super) fn download(address: &Arc<Address>, mut answer: Answer) -> Result<WholeFile> {
        let expected = match answer.kind()? {
            Kind::Whole(length) => length,
            Kind::Single(content) if content.range.start == 0 && content.total_bytes == Some(content.range.end) => {
                content.total_bytes
            }
            Kind::Single(_) | Kind::Multi(_) => return Err(answer.wrong("it is not the whole file")),
            Kind::Unsatisfiable(Some(0)) => Some(0),
            Kind::Unsatisfiable(_) | Kind::Status(_) => return Err(answer.into_error()),
        };
        let version = answer.version();
        let directory = std::env::temp_dir();
        let failed = |source| Error::LocalDisk {
            path: directory.display().to_string(),
            doing: format!("copying {} to it, as the server answers no ranges", address.name()),
            source: Arc::new(source),
        };
        let mut file = tempfile::tempfile_in(&directory).map_err(failed)?;
        if answer.status == 416 {
            return Ok(WholeFile { address: Arc::clone(address), size_bytes: 0, version, file });
        }
        let at_most = expected.unwrap_or(u64::MAX);
        let size_bytes = answer.receive_whole(at_most, |bytes| file.write_all(bytes).map_err(failed))?;
        if expected.is_some_and(|expected| expected != size_bytes) {
            return Err(answer.wrong("it is shorter than it says"));
        }
        Ok(WholeFile { address: Arc::clone(address), size_bytes, version, file })
    }
}

impl Source for WholeFile {
    fn url(&self) -> &str {
        self.address.name()
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        self.file.read_exact_at(buffer, offset).map_err(|source| Error::LocalDisk {
            path: self.address.name().to_owned(),
            doing: format!("reading {} bytes at {offset} from its copy", buffer.len()),
            source: Arc::new(source),
        })
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        read_each(self, parts)
    }

    fn nature(&self) -> Nature {
        Nature::LOCAL
    }

    fn version(&self) -> Option<String> {
        self.version.text().map(|version| self.address.own_version(version))
    }
}
