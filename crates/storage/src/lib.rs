//! Bytes: where they live, how they are fetched and written, and what that cost.
//!
//! A [`Source`] answers "these ranges, please". Layers wrap sources and are sources themselves; [`Accounted`] counts and
//! times what passes. [`coalesce`] turns the ranges that a format asks for into the spans that are read. [`open`] finds
//! the store of a URL. A store reads one file whose name is known; none lists a directory. A [`Sink`] takes the bytes of a
//! file that is there once it is whole.
//!
//! A layer goes around a source, and its ledger says what passed:
//!
//! ```
//! use std::sync::Arc;
//! use arrowroot_storage::{Accounted, Ledger, MemorySource, Operation, Source};
//!
//! let ledger = Arc::new(Ledger::new("memory", false));
//! let store = Arc::new(MemorySource::new("a text", *b"some bytes"));
//! let source = Accounted::new(store, Arc::clone(&ledger));
//! let mut buffer = [0; 5];
//! source.read_at(5, &mut buffer)?;
//! assert_eq!(&buffer, b"bytes");
//! assert_eq!(ledger.totals(Operation::Read).bytes, 5);
//! # Ok::<(), arrowroot_storage::Error>(())
//! ```

mod account;
mod afresh;
mod background;
mod block_cache;
mod coalesce;
mod connect;
mod copies;
mod descriptors;
mod error;
mod evict;
mod excess;
mod extent;
pub mod http;
mod lazy_download;
mod lent_file;
mod local;
mod logged;
mod memory;
mod options;
mod percent;
mod preloaded;
mod processors;
mod readahead;
mod replicas;
mod requests;
mod retry;
pub mod s3;
mod secret;
mod segments;
mod shared;
pub mod simulate;
mod sink;
mod sizes;
mod source;
mod stack;
mod strategy;
pub mod testing;
mod tls_failure;
mod trusted;
mod windows;
#[cfg(not(fuzzing))]
mod xrootd;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod xrootd;

pub use account::{Accounted, Ledger, Ledgers, Operation, ReadEvent, ReadTotals, Totals};
pub use afresh::Afresh;
pub use background::Background;
pub use block_cache::{BLOCK_BYTES, BlockCache, Blocks};
pub use coalesce::{CoalesceLimits, Span, coalesce, limits_for, line_bytes};
pub use error::{Ending, Error, Result, failures_text};
pub use http::open_http;
pub use lazy_download::{Download, LazyDownload};
pub use local::LocalFile;
pub use logged::LOG;
pub use memory::MemorySource;
pub use options::{Network, OPTIONS, OptionInfo, Options, Strategy};
pub use preloaded::Preloaded;
pub use processors::n_cores;
pub use readahead::{ReadAhead, ReadAheadWindow, Step};
pub use replicas::{Fitness, Judge, Replicas, Reread, open_replicas};
pub use requests::Protocol;
pub use requests::xrootd::VectorLimits;
pub use retry::{AllOrNothing, Attempt, Policy, Retry, open_again};
pub use s3::open_s3;
pub use secret::{Secret, redacted, scrubbed};
pub use segments::Segmented;
pub use sink::{AccountedSink, LocalSink, MemoryFile, MemorySink, Sink};
pub use sizes::parse_size;
pub use source::{AccessProfile, Opened, Part, Source, Speculation};
pub use stack::{ScanSource, Stack};
pub use strategy::{Reading, StrategyLayer, TREE_CACHE_BYTES, ahead_for};
pub use trusted::{Origin, Trusted, check_named};
pub use windows::{Grouping, Merging, Planner, ReadStyle, Wanted, Window, clusters_of};
pub use xrootd::{open_xrootd, open_xrootd_once};

use std::sync::Arc;

/// Opens what a URL names: a path, or `file://` and a path; `http://` and `https://` ([`http`]); `s3://` ([`s3`]); `root://` and
/// `roots://` with a server and a path. Credentials go to origins that may see them only ([`Network::toward`]).
///
/// # Errors
/// [`Error::Unsupported`] for other schemes; those of the store if the file cannot be opened.
pub fn open(url: &str, options: &Options, speculation: Speculation) -> Result<Opened> {
    let path = match url.split_once("://") {
        None => url,
        Some((scheme, path)) if scheme.eq_ignore_ascii_case("file") => &path_of(path)?,
        Some((scheme, _)) => {
            let network = &*options.network.toward(url);
            return match scheme.to_ascii_lowercase().as_str() {
                "http" | "https" => open_http(url, network, speculation),
                "s3" | "s3+http" | "s3+https" => open_s3(url, network, speculation),
                "root" | "roots" | "xroot" | "xroots" => open_xrootd(url, network, speculation),
                _ => Err(Error::Unsupported {
                    url: redacted(url),
                    scheme: redacted(url).split("://").next().unwrap_or_default().to_owned(),
                    hint: "copy the file to a local disk".to_owned(),
                }),
            };
        }
    };
    Ok(Opened { source: Arc::new(LocalFile::open(path)?), preloaded: Vec::new(), ledgers: Ledgers::default() })
}

/// The path that a `file://` URL names.
///
/// # Errors
/// [`Error::Option`] if it is on another machine.
fn path_of(rest: &str) -> Result<String> {
    // What is on this host may be said to be (RFC 8089).
    let path = rest.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(rest);
    if !path.starts_with('/') {
        let host = path.split('/').next().unwrap_or_default();
        let what =
            format!("{host:?} stands where the host does; a file of this machine is file:///directory/file.root");
        return Err(Error::Option { option: redacted(&format!("file://{rest}")), what });
    }
    // Many write the path as it is.
    Ok(if std::path::Path::new(path).exists() { path.to_owned() } else { percent::decoded(path) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_file_on_another_machine_is_refused() {
        for (rest, path) in [("/etc/x%20y", "/etc/x y"), ("localhost/etc/x", "/etc/x")] {
            assert_eq!(path_of(rest).unwrap(), path);
        }
        for elsewhere in ["otherhost/etc/x.root", "x.root", "localhost"] {
            let error = path_of(elsewhere).unwrap_err().to_string();
            assert!(error.contains("file:///"), "{error}");
        }
    }
}
