//! Damaged data of one replica of a file are read from another; those that were damaged on the way are read again.
//!
//! Metadata are read by the whole [`File`] of another replica ([`File::or_elsewhere`]), which trusts nothing that this one has
//! read; the data of a scan a basket or a page at a time ([`Elsewhere::reread`]), so that the scan goes on with what it has.
//! Before that the store of this one is asked once more, past all that is kept of the file.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Display;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use arrowroot_format as format;
use arrowroot_storage::{Afresh, Replicas, Reread, Stack, failures_text};

use crate::access::format_error;
use crate::error::{Error, Result, permanent};
use crate::file::File;

/// The same file in other replicas, by their indices, or past what is kept of this one (`None`), as far as it was asked for; or
/// why it cannot be had there.
pub(crate) type Twins = Mutex<HashMap<Option<usize>, Result<File, String>>>;

thread_local! {
    /// Whether this thread is asking another replica: what fails there is told by whoever asks.
    static IS_ELSEWHERE: Cell<bool> = const { Cell::new(false) };
}

/// Ends the asking when it is dropped.
struct Asking;

impl Asking {
    /// `None` if it has begun already.
    fn begin() -> Option<Asking> {
        (!IS_ELSEWHERE.replace(true)).then_some(Asking)
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        IS_ELSEWHERE.set(false);
    }
}

impl File {
    /// What `work` makes of the file, or of another replica of it if the bytes of this one are wrong.
    ///
    /// # Errors
    /// That of `work` here, which says why the other replicas are of no use if they were asked.
    pub fn or_elsewhere<T>(&self, what: &str, work: impl Fn(&File) -> Result<T>) -> Result<T> {
        match work(self) {
            Err(error) if error.is_damage() => self.elsewhere(what, error, work),
            done => done,
        }
    }

    /// The result of `work` on the bytes read once more, or on another replica, where an error says that those of this one are
    /// wrong.
    ///
    /// # Errors
    /// The same error, which says why the other replicas are of no use if there are some.
    pub fn elsewhere<T>(&self, what: &str, error: Error, work: impl Fn(&File) -> Result<T>) -> Result<T> {
        let Some(_asking) = Asking::begin() else { return Err(error) };
        let work = |twin: File| work(&twin).map_err(|error| error.to_string());
        if let Some(stack) = self.stack().renewed()
            && let Ok(value) = self.twin(None, || Ok(stack)).and_then(work)
        {
            // It was wrong on the way, or where it was kept.
            return Ok(value);
        }
        let Some(replicas) = self.stack().replicas() else { return Err(error) };
        let mut failures = Vec::new();
        for place in replicas.others() {
            let open = || self.stack().of_replica(replicas, place).map_err(Error::from);
            let done = self.twin(Some(place), open).and_then(work);
            match done {
                Ok(value) => {
                    replicas.note_mended(mended(&error, replicas.url_at(place)));
                    return Ok(value);
                }
                Err(why) => failures.push((replicas.url_at(place).to_owned(), why)),
            }
        }
        match permanent(Err::<T, Error>(error))? {
            Err(error) => Err(format_error(self.source().as_ref(), what, in_vain(error, &failures))),
            Ok(value) => Ok(value),
        }
    }

    /// The file read in another way. What cannot be had is not asked for again.
    fn twin(&self, index: Option<usize>, stack: impl FnOnce() -> Result<Stack>) -> Result<File, String> {
        let mut twins = self.inner.twins.lock().unwrap_or_else(PoisonError::into_inner);
        let open = || stack().and_then(File::from_stack).map_err(|error| error.to_string());
        twins.entry(index).or_insert_with(open).clone()
    }
}

/// Data of a scan that nothing vouches for, as they are neither compressed nor have a checksum: damage of the replica that they
/// were read from shows elsewhere, or not at all.
#[derive(Default)]
pub struct Unverified {
    hashes: ahash::RandomState,
    state: Mutex<Suspicion>,
}

#[derive(Default)]
struct Suspicion {
    /// Whether damage has shown in this scan.
    is_suspicious: bool,
    /// What was decoded before: range in the file, and a hash of the bytes.
    decoded: Vec<(Range<u64>, u64)>,
}

impl Unverified {
    /// Notes such data, which are to be decoded; once damage has shown, returns them as the replica in use has them.
    ///
    /// # Errors
    /// If no other replica gives them.
    pub fn checked(&self, replicas: &Replicas, range: Range<u64>, bytes: &[u8]) -> format::Result<Option<Vec<u8>>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_suspicious {
            state.decoded.push((range, self.hashes.hash_one(bytes)));
            return Ok(None);
        }
        drop(state);
        let start = range.start;
        let again = replicas.reread(range, |bytes| Ok::<_, format::Error>(bytes.to_vec()));
        again.map(|again| Some(again.value)).map_err(|failures| {
            let what = "data without a checksum in a replica that is damaged, and which no other gives";
            in_vain(format::Error::corrupt(0, what).at(start), &failures)
        })
    }

    /// Damage has shown: what was decoded before must be the same in the replica that is read from now on.
    /// `mended`: what is read again anyhow. `from`: URL of that replica.
    fn suspect(&self, replicas: &Replicas, mended: &Range<u64>, from: &str) -> format::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_suspicious = true;
        let decoded = std::mem::take(&mut state.decoded);
        drop(state);
        for (range, hash) in decoded.into_iter().filter(|(range, _)| !mended.contains(&range.start)) {
            let start = range.start;
            let again = replicas.reread(range, |bytes| Ok::<_, format::Error>(self.hashes.hash_one(bytes)));
            if again.is_err() || again.is_ok_and(|again| again.value != hash) {
                let what = format!(
                    "data that are not compressed and have no checksum were read before damage showed elsewhere, and are \
                     others in the replica {from}: begin the scan anew, it will read that one"
                );
                return Err(format::Error::corrupt(0, what).at(start));
            }
        }
        Ok(())
    }
}

/// Where a scan may read again what turns out to be wrong.
pub struct Elsewhere<'c> {
    /// What else of the scan is to be doubted then.
    pub unverified: Option<&'c Unverified>,
    /// The way to the file's bytes past all that is kept of them.
    pub afresh: &'c Afresh,
    /// The column, for messages.
    pub path: &'c str,
}

impl Elsewhere<'_> {
    /// Reads a range of the file again, from its store and then from other replicas, until `open` makes something of it.
    /// `error`: what is wrong with what was read of it.
    ///
    /// # Errors
    /// The same error, which says why the other replicas are of no use if there are some.
    pub fn reread<T>(
        &self,
        range: Range<u64>,
        error: format::Error,
        open: impl FnMut(&[u8]) -> format::Result<T>,
    ) -> format::Result<T> {
        match self.afresh.reread(range.clone(), open) {
            Ok(Reread { value, damaged, from }) => {
                // Of one URL it was wrong on the way, or where it was kept.
                let Some(replicas) = self.afresh.replicas() else { return Ok(value) };
                if let (Some(unverified), false) = (self.unverified, damaged.is_empty()) {
                    unverified.suspect(replicas, &range, from)?;
                }
                let url = if damaged.is_empty() { from } else { damaged };
                let (url, object) = (url.to_owned(), self.path.to_owned());
                replicas.note_mended(mended(&Error::Format { url, object, source: error }, from));
                Ok(value)
            }
            Err(failures) if self.afresh.replicas().is_none() && !failures.is_empty() => {
                Err(error.besides(format!("it could not be read again: {}", failures_text(&failures))))
            }
            Err(failures) => Err(in_vain(error, &failures)),
        }
    }
}

fn mended(error: &dyn Display, url: &str) -> String {
    format!("{error}; it was read from its replica {url} instead")
}

/// The error with why no other replica is of use.
fn in_vain(error: format::Error, failures: &[(String, String)]) -> format::Error {
    if failures.is_empty() {
        error
    } else {
        error.besides(format!("its replicas are no better: {}", failures_text(failures)))
    }
}
