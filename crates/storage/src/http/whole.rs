//! Files of servers that know no ranges: copied once, then read from the copy.

use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::address::Address;
use super::answer::{Answer, Kind, Version};
use crate::copies::{Nameless, Room};
use crate::error::{Error, Result};
use crate::lent_file::LentFile;
use crate::source::{AccessProfile, Part, Source, check_range, read_each};

/// Slower than this is nothing that somebody waits for: a GB would take four hours.
const LEAST_BYTES_PER_SECOND: f64 = 65_536.0;

/// A body that does not tell its length may have no end: so much of it is copied, unless `download_size` says how much may be.
const MOST_WITHOUT_LENGTH: u64 = 64 << 20;

fn without_end() -> String {
    format!(
        "it tells no length, and is larger than {MOST_WITHOUT_LENGTH} bytes; allow more with the option download_size"
    )
}

/// Whether a copy goes on fast enough: a large file may take longer than one deadline, but not for ever.
pub(super) struct Pace {
    deadline: Duration,
    since: Instant,
    n_bytes: u64,
    /// A body that does not say where it ends may have none.
    is_endless: bool,
}

/// Bytes that came within a deadline, and were too few.
#[derive(Debug, PartialEq, Eq)]
struct TooSlow(u64);

impl Pace {
    /// From now on.
    pub(super) fn new(deadline: Duration) -> Pace {
        Pace { deadline, since: Instant::now(), n_bytes: 0, is_endless: false }
    }

    /// Enters bytes that came at a moment.
    fn came(&mut self, n_bytes: usize, now: Instant) -> Result<(), TooSlow> {
        self.n_bytes += n_bytes as u64;
        if now.saturating_duration_since(self.since) < self.deadline {
            return Ok(());
        }
        #[expect(clippy::cast_precision_loss, reason = "a measure")]
        let is_enough = self.n_bytes as f64 >= LEAST_BYTES_PER_SECOND * self.deadline.as_secs_f64();
        if self.is_endless || !is_enough {
            return Err(TooSlow(self.n_bytes));
        }
        (self.since, self.n_bytes) = (now, 0);
        Ok(())
    }
}

/// A copy that has no name any more: it is gone with the process, however that ends.
pub(super) struct WholeFile {
    address: Arc<Address>,
    size_bytes: u64,
    version: Version,
    file: Arc<LentFile<Nameless>>,
    /// What it has of the disk.
    _room: Room,
}

impl WholeFile {
    /// Copies the body of `answer` to a nameless file in the directory for temporary files.
    ///
    /// # Errors
    /// If the answer is none, the connection breaks, too little comes, or the disk has no room: where the length is known that
    /// is so before anything is copied. `max_bytes`: of all copies; `None` for half of what is free.
    pub(super) fn download(
        address: &Arc<Address>,
        mut answer: Answer,
        mut pace: Pace,
        max_bytes: Option<u64>,
    ) -> Result<WholeFile> {
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
        let file = Nameless::make(&directory).map_err(failed)?;
        let mut room = Room::new(&directory, max_bytes).map_err(failed)?;
        if answer.status == 416 {
            return Ok(WholeFile { address: Arc::clone(address), size_bytes: 0, version, file, _room: room });
        }
        room.take(expected.unwrap_or(0)).map_err(failed)?;
        let is_bounded = expected.is_some() || max_bytes.is_some();
        pace.is_endless = expected.is_none();
        let too_slow = |TooSlow(n_bytes), pace: &Pace| Error::Connection {
            url: address.name().to_owned(),
            doing: "copying the file, as the server answers no ranges".to_owned(),
            what: format!(
                "only {n_bytes} bytes{} came within the deadline of {} s",
                if pace.is_endless { " of a body without a length" } else { "" },
                pace.deadline.as_secs_f64()
            ),
        };
        let mut n_written = 0;
        let size_bytes = answer.receive_whole(expected.unwrap_or(u64::MAX), |bytes| {
            pace.came(bytes.len(), Instant::now()).map_err(|slow| too_slow(slow, &pace))?;
            room.write(bytes.len() as u64).map_err(failed)?;
            if !is_bounded && n_written + bytes.len() as u64 > MOST_WITHOUT_LENGTH {
                return Err(failed(std::io::Error::new(ErrorKind::QuotaExceeded, without_end())));
            }
            file.with(|file| file.write_all_at(bytes, n_written).map_err(failed))?;
            n_written += bytes.len() as u64;
            Ok(())
        })?;
        if expected.is_some_and(|expected| expected != size_bytes) {
            return Err(answer.wrong("it is shorter than it says"));
        }
        Ok(WholeFile { address: Arc::clone(address), size_bytes, version, file, _room: room })
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
        let n_bytes = buffer.len();
        let failed = |source| Error::LocalDisk {
            path: self.address.name().to_owned(),
            doing: format!("reading {n_bytes} bytes at {offset} from its copy"),
            source: Arc::new(source),
        };
        self.file.with(|file| file.read_exact_at(buffer, offset).map_err(failed))
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        read_each(self, parts)
    }

    fn access_profile(&self) -> AccessProfile {
        AccessProfile::LOCAL
    }

    fn version(&self) -> Option<String> {
        self.version.text().map(|version| self.address.own_version(version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deadline_of_a_copy_counts_anew_while_enough_comes_of_a_length_that_is_known() {
        let deadline = Duration::from_secs(2);
        for is_endless in [false, true] {
            let mut pace = Pace { is_endless, ..Pace::new(deadline) };
            let start = pace.since;
            pace.came(131_071, start + deadline / 2).unwrap();
            let second = start + deadline;
            assert_eq!(pace.came(1, second), if is_endless { Err(TooSlow(131_072)) } else { Ok(()) });
            if !is_endless {
                pace.came(131_071, second + deadline / 2).unwrap();
                assert_eq!(pace.came(0, second + deadline), Err(TooSlow(131_071)));
            }
        }
    }
}
