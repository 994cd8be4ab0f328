//! What can go wrong while a file is written.

use arrowroot_arrow::stored::StoreError;
use arrowroot_format as format;
use arrowroot_storage as storage;

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong while a file is written; a variant is what the caller can do about it.
///
/// An error of a thread that compresses is told at the next call and again at the end, so it can be cloned.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes cannot be written.
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// The format has no room for it, or arrowroot does not write it.
    #[error("cannot be written: {0}")]
    Format(#[from] format::Error),
    /// A column that no layout holds, or values that are not those of the table.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A value that the table cannot store, or that readers would silently read differently.
    #[error("column {column}, entry {entry}: {what}")]
    Value {
        /// The column.
        column: String,
        /// Number of the entry in the table.
        entry: u64,
        /// What is wrong with it, and what can be done.
        what: String,
    },
    /// Columns or settings that no table can have, or that are not those of the table.
    #[error("{what}")]
    InvalidRequest {
        /// The fault, and what would be right.
        what: String,
    },
    /// The system gives no random bytes for an identifier.
    #[error("no random bytes for an identifier: {what}; reproducible files need none")]
    NoRandomness {
        /// What the system said.
        what: String,
    },
    /// A thread that compressed panicked.
    #[error("a compressing thread failed: {what}")]
    Panicked {
        /// What it said.
        what: String,
    },
    /// Somebody goes on writing to what was closed or given up.
    #[error("{what} is closed")]
    Closed {
        /// The table or file.
        what: String,
    },
}

impl Error {
    /// A name in the file that cannot be one, or is taken.
    pub(crate) fn name(name: &str, what: &str) -> Self {
        Error::InvalidRequest { what: format!("name {name:?} {what}") }
    }
}
