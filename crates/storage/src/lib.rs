//! Bytes: where they live, how they are fetched, and what that cost.
//!
//! A [`Source`] answers "these ranges, please". Layers wrap sources and are sources themselves; [`Accounted`] counts and
//! times what passes. [`coalesce`] turns the ranges that a format asks for into the spans that are read. [`open`] finds
//! the store of a URL.

mod account;
mod coalesce;
mod error;
mod known;
mod local;
mod memory;
mod options;
mod secret;
mod source;
mod stack;
#[cfg(not(fuzzing))]
mod xrootd;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod xrootd;

pub use account::{Accounted, Ledger, Operation, ReadEvent, ReadTotals, Totals};
pub use coalesce::{CoalesceLimits, Span, coalesce};
pub use error::{Error, Result};
pub use known::Known;
pub use local::LocalFile;
pub use memory::MemorySource;
pub use options::{Network, OPTIONS, OptionInfo, Options, Strategy, parse_size};
pub use secret::{Secret, redacted};
pub use source::{Nature, Opened, Part, Source, Speculation};
pub use stack::{ReadStyle, ScanSource, Stack};
pub use xrootd::open_xrootd;

use std::sync::Arc;

/// Opens what a URL names: a path, `file://` and a path, or `root://` or `roots://` with a server and a path.
///
/// # Errors
/// [`Error::Unsupported`] for other schemes; [`Error::Io`] if the file cannot be opened; those of [`open_xrootd`].
pub fn open(url: &str, options: &Options, speculation: Speculation) -> Result<Opened> {
    let path = match url.split_once("://") {
        None => url,
        Some(("file", path)) => path,
        Some(("root" | "roots" | "xroot" | "xroots", _)) => return open_xrootd(url, &options.network, speculation),
        Some((scheme, _)) => {
            return Err(Error::Unsupported {
                url: redacted(url),
                scheme: scheme.to_owned(),
                hint: "copy the file to a local disk".to_owned(),
            });
        }
    };
    Ok(Opened { source: Arc::new(LocalFile::open(path)?), known: Vec::new() })
}
