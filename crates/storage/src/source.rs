//! The one trait of this crate.

use std::sync::Arc;
use std::time::Duration;

use crate::account::Ledgers;
use crate::error::{Error, Result};
use crate::extent::Extent;
use crate::requests::Protocol;

/// So many first bytes identify a file: the UUID of a ROOT file is in its header.
pub(crate) const HEAD_BYTES: usize = 512;

/// One range of a vector read, and where its bytes go.
#[derive(Debug)]
pub struct Part<'b> {
    /// Offset in the file in bytes.
    pub offset: u64,
    /// To be filled.
    pub buffer: &'b mut [u8],
}

/// How a store wants to be asked. What is not known yet is a careful guess; stores that measure themselves improve it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AccessProfile {
    /// Whether it is asked through a network. However soon it answers, it may stall: it is asked early and rarely, and waited
    /// for in a way that can be interrupted.
    pub is_remote: bool,
    /// Time from asking for little to having it.
    pub latency: Duration,
    /// Bytes for each second, all requests together.
    pub bytes_per_second: f64,
    /// Requests that it answers at the same time without loss.
    pub max_parallel: usize,
    /// Ranges of one vector read that cost one round trip together; 1: each range is a request of its own.
    pub max_ranges: usize,
}

impl AccessProfile {
    /// A disk of this machine: reading is copying from the page cache.
    pub const LOCAL: AccessProfile = AccessProfile {
        is_remote: false,
        latency: Duration::from_micros(5),
        bytes_per_second: 5e9,
        max_parallel: 1,
        max_ranges: 1,
    };
}

/// A file somewhere: a store of bytes, or a layer around one. Any number of threads may read at the same time.
pub trait Source: Send + Sync {
    /// What was opened, for messages. It holds no credentials.
    fn url(&self) -> &str;

    /// Size in bytes, as of the opening.
    fn size_bytes(&self) -> u64;

    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// # Errors
    /// [`Error::PastEnd`] if the file ends before; others if reading fails. What is in `buffer` is then unspecified.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;

    /// Fills all parts, with as few round trips as the store allows.
    ///
    /// # Errors
    /// As [`Source::read_at`], for any of them.
    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()>;

    /// How it wants to be asked, as known now.
    fn access_profile(&self) -> AccessProfile;

    /// What it makes of a vector read, as known now.
    fn protocol(&self) -> Protocol {
        Protocol::Plain { max_parallel: self.access_profile().max_parallel }
    }

    /// What tells this content from any other under the same [`Source::url`] and size: an entity tag or a time of
    /// modification, with what the URL does not show of where the file is.
    /// `None` if the store does not say.
    fn version(&self) -> Option<String> {
        None
    }
}

/// The methods of [`Source`] but for reads, as a layer passes them on to the source in this field.
macro_rules! pass_on {
    ($inner:ident) => {
        fn url(&self) -> &str {
            self.$inner.url()
        }

        fn size_bytes(&self) -> u64 {
            self.$inner.size_bytes()
        }

        fn access_profile(&self) -> $crate::source::AccessProfile {
            self.$inner.access_profile()
        }

        fn protocol(&self) -> $crate::requests::Protocol {
            self.$inner.protocol()
        }

        fn version(&self) -> Option<String> {
            self.$inner.version()
        }
    };
}
pub(crate) use pass_on;

/// What opening a file brought.
pub struct Opened {
    /// The file.
    pub source: Arc<dyn Source>,
    /// Bytes that came with the opening: offset in the file, content.
    pub preloaded: Vec<(u64, Vec<u8>)>,
    /// What layers inside the store account for: tries, requests.
    pub ledgers: Ledgers,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let preloaded: Vec<_> = self.preloaded.iter().map(|(offset, bytes)| (offset, bytes.len())).collect();
        formatter
            .debug_struct("Opened")
            .field("url", &self.source.url())
            .field("preloaded", &preloaded)
            .finish_non_exhaustive()
    }
}

/// What to ask for while a remote file is opened, so that its metadata costs no round trips of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speculation {
    /// Bytes from the start.
    pub head_bytes: u64,
    /// Bytes before the end.
    pub tail_bytes: u64,
}

/// Checks that a range lies in the file.
pub(crate) fn check_range(source: &dyn Source, offset: u64, n_bytes: usize) -> Result<()> {
    let n_bytes = n_bytes as u64;
    match offset.checked_add(n_bytes) {
        Some(end) if end <= source.size_bytes() => Ok(()),
        _ => Err(Error::PastEnd { url: source.url().to_owned(), offset, n_bytes, size_bytes: source.size_bytes() }),
    }
}

/// A vector read of a store that has none: one part after the other.
pub(crate) fn read_each(source: &dyn Source, parts: &mut [Part<'_>]) -> Result<()> {
    parts.iter_mut().try_for_each(|part| source.read_at(part.offset, part.buffer))
}

impl Extent for Part<'_> {
    fn offset(&self) -> u64 {
        self.offset
    }

    fn n_bytes(&self) -> u64 {
        self.buffer.len() as u64
    }

    fn split(self, n_bytes: u64) -> (Self, Self) {
        let (first, rest) = self.buffer.split_at_mut(usize::try_from(n_bytes).unwrap_or(usize::MAX));
        (Part { offset: self.offset, buffer: first }, Part { offset: self.offset + n_bytes, buffer: rest })
    }
}
