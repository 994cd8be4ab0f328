//! Bytes: where they live, how they are fetched, and what that cost.
//!
//! A [`Source`] answers "these ranges, please". Layers wrap sources and are sources themselves; [`Accounted`] counts and
//! times what passes. [`coalesce`] turns the ranges that a format asks for into the spans that are read.

mod account;
mod coalesce;
mod local;
mod memory;
mod source;

pub use account::{Accounted, ReadEvent, ReadTotals};
pub use coalesce::{CoalesceLimits, Span, coalesce};
pub use local::LocalFile;
pub use memory::MemorySource;
pub use source::{Error, Result, Source};

use std::sync::Arc;

/// Opens what a URL names: a path, or `file://` and a path.
///
/// # Errors
/// [`Error::Unsupported`] for other schemes; [`Error::Io`] if the file cannot be opened.
pub fn open_url(url: &str) -> Result<Arc<dyn Source>> {
    let path = match url.split_once("://") {
        None => url,
        Some(("file", path)) => path,
        Some((scheme, _)) => {
            return Err(Error::Unsupported { url: url.to_owned(), scheme: scheme.to_owned() });
        }
    };
    Ok(Arc::new(LocalFile::open(path)?))
}
