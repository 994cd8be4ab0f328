//! Reading again what was damaged on the way, past all that is kept of it.

use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;

use crate::block_cache::Blocks;
use crate::lazy_download::Download;
use crate::replicas::{Replicas, Reread};
use crate::source::Source;

/// A file's store, with what is kept of its bytes on local disks: bytes that came damaged would stay so there.
pub struct Afresh {
    pub(crate) store: Arc<dyn Source>,
    pub(crate) blocks: Option<Arc<Blocks>>,
    pub(crate) download: Option<Arc<Download>>,
    /// `None` if the file has one URL.
    pub(crate) replicas: Option<Arc<Replicas>>,
}

impl Afresh {
    /// Where else the file is; `None` if it has one URL.
    pub fn replicas(&self) -> Option<&Arc<Replicas>> {
        self.replicas.as_ref()
    }

    /// True if the bytes came through a network or a local copy, so that others may come the next time.
    pub(crate) fn may_differ(&self) -> bool {
        self.store.access_profile().is_remote
    }

    /// Reads a range anew because what was read of it is wrong, from the store and then from other replicas, until `take`
    /// makes something of the bytes. What is kept of the range is forgotten.
    ///
    /// # Errors
    /// Of each replica its URL, and why it was of no use; of a file with one URL why it could not be read, if that is so.
    pub fn reread<T, E: Display>(
        &self,
        range: Range<u64>,
        mut take: impl FnMut(&[u8]) -> Result<T, E>,
    ) -> Result<Reread<'_, T>, Vec<(String, String)>> {
        if let Some(blocks) = &self.blocks {
            blocks.forget(&range);
        }
        if let Some(download) = &self.download {
            download.forget(&range);
        }
        if let Some(replicas) = &self.replicas {
            return replicas.reread(range, take);
        }
        if !self.may_differ() || range.end > self.store.size_bytes() {
            return Err(Vec::new());
        }
        let n_bytes = range.end.saturating_sub(range.start);
        let mut bytes = vec![0; usize::try_from(n_bytes).unwrap_or(usize::MAX)];
        let url = self.store.url();
        self.store.read_at(range.start, &mut bytes).map_err(|error| vec![(url.to_owned(), error.to_string())])?;
        // The same again is told by the error of the first time.
        take(&bytes).map(|value| Reread { value, damaged: "", from: url }).map_err(|_| Vec::new())
    }
}
