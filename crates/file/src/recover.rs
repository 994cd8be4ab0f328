//! Keys of files that were not closed: found by walking the records.

use std::collections::HashSet;
use std::sync::Arc;

use arrowroot_format as format;
use arrowroot_storage::{Ledger, ReadAhead, Source};
use format::container::{Directory, FoundRecord, RecordWalk, Recovered, recovered_directory, without_remains};

use crate::access::{format_error, read_range};
use crate::error::{Result, permanent};
use crate::file::File;
use crate::key::FileKey;
use crate::listing::{Fault, Listed, depth_first};

/// Bounds of the window in which a far-away file's records are walked.
const WALKED_AHEAD_BYTES: std::ops::RangeInclusive<u64> = 64 << 10..=8 << 20;
/// Of a far-away file no more is walked behind what its key lists know: one that is being written may have grown by much.
const MAX_FAR_BYTES: u64 = 64 << 20;

/// Bytes of a key up to its version, that included.
const BYTES_TO_VERSION: u64 = 6;
/// Versions of keys, and of those with places of 8 bytes, which have so much more. Source: `TKey` (ROOT 6.40).
const MAX_KEY_VERSION: u16 = 5;
const START_OF_LARGE_VERSIONS: u16 = 1000;

/// Keys that the key lists of a file do not have.
pub(crate) enum Unlisted {
    Nothing,
    /// Those of objects that were written later.
    Later(Vec<FileKey>),
    /// All keys: directories have no list, or one that cannot be read.
    Everything(Vec<FileKey>),
}

impl File {
    /// True if it goes on behind the end that its header states, as it was not closed after it was last written.
    pub(crate) fn is_longer(&self) -> bool {
        self.size_bytes() > self.header().end && *self.inner.has_more.get_or_init(|| self.has_record_behind_end())
    }

    /// True if a record begins at the end that the header states. A closed file may have other bytes there: the remains of a
    /// longer list of free segments, or a free record that goes on to the end of the file, or farther, which
    /// `TFile::MakeFree` (ROOT 6.40) leaves of what was removed from the end.
    fn has_record_behind_end(&self) -> bool {
        let end = self.header().end;
        let Ok(bytes) = read_range(self.source().as_ref(), end, BYTES_TO_VERSION.min(self.size_bytes() - end)) else {
            return true;
        };
        let [a, b, c, d, version @ ..] = &bytes[..] else { return false };
        let length = i32::from_be_bytes([*a, *b, *c, *d]);
        if length <= 0 {
            return length < 0 && end.saturating_add(length.unsigned_abs().into()) < self.size_bytes();
        }
        let version = <[u8; 2]>::try_from(version).map(u16::from_be_bytes);
        version.is_ok_and(|version| (1..=MAX_KEY_VERSION).contains(&(version % START_OF_LARGE_VERSIONS)))
    }

    /// What is not in the key lists of a file that was written to and not closed.
    pub(crate) fn unlisted(&self, root: &Directory, listed: &Listed) -> Result<Unlisted> {
        // Header and key list of the root directory may have been written before the other was.
        let list_end = root.seek_keys.saturating_add(u64::from(root.n_bytes_keys));
        let start = match listed.n_without_list {
            0 if self.is_longer() => self.header().end.max(list_end),
            0 => return Ok(Unlisted::Nothing),
            _ => self.header().begin,
        };
        if self.source().access_profile().is_remote && self.size_bytes().saturating_sub(start) > MAX_FAR_BYTES {
            return match &listed.fault {
                Some((name, error)) => Err(format_error(self.source().as_ref(), name, error.clone())),
                None => Ok(Unlisted::Nothing),
            };
        }
        if listed.n_without_list > 0 {
            let mut all = self.recover(&listed.entries, listed.fault.as_ref())?;
            let listed_places = listed.places();
            let is_listed = all.iter().all(|entry| listed_places.contains(&entry.key.seek_key));
            if listed.is_old {
                return Ok(Unlisted::Everything(all));
            }
            if is_listed && listed.fault.is_none() {
                return Ok(Unlisted::Nothing);
            }
            // A record may have lost its own key, and be in a list.
            let walked_places: HashSet<u64> = all.iter().map(|entry| entry.key.seek_key).collect();
            let is_new = |entry: &&FileKey| !walked_places.contains(&entry.key.seek_key);
            all.extend(listed.entries.iter().filter(is_new).cloned());
            return Ok(Unlisted::Everything(depth_first(all)));
        }
        let mut walk = RecordWalk::behind(start, self.size_bytes());
        // What lies behind the end of a closed file are remains of older records.
        let records = self.walked(&mut walk, true)?.into_iter().filter(|record| record.key.datime >= root.modified);
        let directories = listed.entries.iter().filter(|entry| entry.is_directory).map(|entry| &entry.key);
        let mut later = entries(recovered_directory(self.header(), directories, records));
        let places = listed.places();
        later.retain(|entry| !places.contains(&entry.key.seek_key));
        Ok(if later.is_empty() { Unlisted::Nothing } else { Unlisted::Later(later) })
    }

    /// The keys that a walk over the records finds; none of a far-away file that is large.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage) if it cannot be read now.
    pub fn walked_keys(&self) -> Result<Vec<FileKey>> {
        let is_near = !self.source().access_profile().is_remote || self.size_bytes() <= MAX_FAR_BYTES;
        Ok(if is_near { permanent(self.recover(&[], None))?.unwrap_or_default() } else { Vec::new() })
    }

    /// The records that a walk finds; up to the first break in their chain if `is_strict`.
    fn walked(&self, walk: &mut RecordWalk, is_strict: bool) -> Result<Vec<FoundRecord>> {
        let source = self.walked_source();
        let mut found = Vec::new();
        while let Some(range) = walk.request() {
            let bytes = read_range(source.as_ref(), range.start, range.end - range.start)?;
            walk.feed(&bytes, |record| found.push(record));
            if is_strict && walk.skipped_bytes() > 0 {
                break;
            }
        }
        Ok(found)
    }

    /// Where the walk reads: far away a window at a time, of what comes in about a round trip. A read for each record would
    /// cost a round trip for each.
    fn walked_source(&self) -> Arc<dyn Source> {
        let source = Arc::clone(self.source());
        let profile = source.access_profile();
        if !profile.is_remote {
            return source;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive; casts of floats saturate"
        )]
        let in_a_round_trip = (profile.latency.as_secs_f64() * profile.bytes_per_second) as u64;
        let window_bytes = in_a_round_trip.clamp(*WALKED_AHEAD_BYTES.start(), *WALKED_AHEAD_BYTES.end());
        Arc::new(ReadAhead::new(source, window_bytes, Arc::new(Ledger::new("readahead", false))))
    }

    /// All keys, found without the key lists.
    ///
    /// `listed`: what some lists have; `fault`: what is wrong with others.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format), with the fault if there is one, if there is none and bytes of the file belong
    /// to no record.
    pub(crate) fn recover(&self, listed: &[FileKey], fault: Option<&Fault>) -> Result<Vec<FileKey>> {
        let mut walk = RecordWalk::new(self.header(), self.size_bytes());
        let mut found = self.walked(&mut walk, false)?;
        if fault.is_none() && self.missing_bytes() == 0 {
            found = without_remains(found);
        }
        if found.is_empty() {
            let n_bytes = self.size_bytes();
            let what = match self.missing_bytes() {
                0 => format!("no key list and no record in {n_bytes} bytes: nothing to recover"),
                _ => format!(
                    "cut short: {n_bytes} of {} bytes are there, and no record whole: nothing to recover",
                    self.header().end
                ),
            };
            return Err(format_error(self.source().as_ref(), "file", format::Error::corrupt(0, what)));
        }
        let directories = listed.iter().filter(|entry| entry.is_directory).map(|entry| &entry.key);
        let recovered = recovered_directory(self.header(), directories, found);
        if recovered.keys.is_empty() && listed.is_empty() && self.missing_bytes() == 0 {
            let in_file = |name: &str, error| Err(format_error(self.source().as_ref(), name, error));
            match (fault, walk.skipped_bytes()) {
                (Some((name, error)), _) => return in_file(name, error.clone()),
                (None, 0) => {}
                (None, n_bytes) => {
                    let what = format!("no key list, and {n_bytes} bytes that belong to no record: nothing to recover");
                    return in_file("file", format::Error::corrupt(0, what).at(self.header().begin));
                }
            }
        }
        if let Some(key) = &recovered.streamer_info {
            let _ = permanent(self.take_infos(key))?; // without them it is read as if there were none
        }
        Ok(depth_first(entries(recovered)))
    }
}

fn entries(recovered: Recovered) -> Vec<FileKey> {
    let keys = recovered.keys.into_iter();
    keys.map(|found| FileKey {
        directory: found.directory_path,
        depth: found.depth,
        key: found.key,
        is_directory: found.is_directory,
    })
    .collect()
}
