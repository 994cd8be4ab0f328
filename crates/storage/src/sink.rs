//! Where a file is written to.

use crate::error::Result;

mod account;
mod local;
mod memory;

pub use account::AccountedSink;
pub use local::LocalSink;
pub use memory::{MemoryFile, MemorySink};

/// A file being written: a store that takes bytes, or a layer around one. Any number of threads may write at the same time.
///
/// Nobody sees it under its name before [`publish`](Sink::publish): until then an older file of that name is as it was. A sink
/// that is dropped before is aborted. Once it is published or aborted, all but `url` and `abort` is an error
/// ([`Error::Ended`](crate::Error::Ended)).
pub trait Sink: Send + Sync {
    /// What is written, for messages: the name that it will have. It holds no credentials.
    fn url(&self) -> &str;

    /// Writes bytes at an offset, over those that are there, or behind a gap. A gap that is never written is zeros.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if there is no room, or if writing fails. What is in the range is then unspecified.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Writes parts one after the other from an offset on, in as few operations as the store allows.
    ///
    /// # Errors
    /// As [`Sink::write_at`].
    fn write_vector(&self, offset: u64, parts: &[&[u8]]) -> Result<()>;

    /// Waits until all that was written would survive a loss of power, though not yet under its name.
    ///
    /// # Errors
    /// If the store cannot promise that: nothing should be built on it.
    fn sync(&self) -> Result<()>;

    /// Ends the file: it has so many bytes, is as safe as after [`Sink::sync`], and is there, whole, under its name. An older
    /// file of that name is replaced at once. If it is longer it is cut, if it is shorter zeros follow.
    ///
    /// # Errors
    /// If any of it fails. The sink is then still as it was before, and can be published again or aborted; but if only the
    /// last step failed, the file is there, and may not survive a loss of power.
    fn publish(&self, size_bytes: u64) -> Result<()>;

    /// Gives it up: nothing is left of what was written, and an older file of its name stays. Does nothing if it was published
    /// or aborted before.
    fn abort(&self);
}
