//! What can go wrong, by what the caller can do about it.

use std::cell::RefCell;

use arrowroot_format as format;
pub use arrowroot_format::nearest;
use arrowroot_storage as storage;

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between a file and its columns.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes could not be fetched.
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// Bytes are not as the format says, or of a kind that is not read.
    #[error("{url}: {object}: {source}")]
    Format {
        /// The file.
        url: String,
        /// The key, tree or branch.
        object: String,
        /// The fault.
        source: format::Error,
    },
    /// There is no such key, tree or column.
    #[error("{url}: no {kind} {name:?}{}", near_names(near))]
    NotFound {
        /// The file.
        url: String,
        /// What was looked for.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Names that are there and look alike.
        near: Vec<String>,
    },
    /// The request makes no sense.
    #[error("{what}")]
    InvalidRequest {
        /// Why.
        what: String,
    },
    /// A batch with more items in a list column, or bytes in a text, than Arrow numbers by 32 bits.
    #[error("more than {} items of a list column in one batch: set a smaller batch size", i32::MAX)]
    BatchTooLong,
    /// Text that is not UTF-8 in a column of text.
    #[error(
        "{url}: column {object:?}, entry {entry}: the text b\"{text}\" is not UTF-8; read with strings=\"replace\" to get \
         U+FFFD for what is not, or with strings=\"binary\" to get bytes"
    )]
    InvalidText {
        /// The file.
        url: String,
        /// The column.
        object: String,
        /// The entry, by its number in the tree.
        entry: u64,
        /// The text, escaped, or the start of it.
        text: String,
    },
    /// The system gives no more memory.
    #[error("no memory for {n_bytes} bytes: {source}; set a smaller batch size or memory budget")]
    OutOfMemory {
        /// What was asked for.
        n_bytes: u64,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system starts no more threads.
    #[error("a thread could not be started: {source}; set fewer threads, or raise the limit on processes")]
    NoThread {
        /// What the system said.
        source: std::io::Error,
    },
    /// A mistake of arrowroot's own.
    #[error("internal error: {what}; please report it with the file if you can")]
    Internal {
        /// What went wrong.
        what: String,
    },
    /// The scan was stopped.
    #[error("the scan was cancelled")]
    Cancelled,
}

impl Error {
    /// Whether the bytes contradict the format, so that those of another replica may be better.
    pub fn is_damage(&self) -> bool {
        match self {
            Error::Format { source, .. } => source.is_doubtful(),
            Error::Storage(error) => matches!(error, storage::Error::PastEnd { .. }),
            _ => false,
        }
    }

    /// Whether the bytes are wrong, or not in the file where it says that they are.
    pub fn is_of_format(&self) -> bool {
        matches!(self, Error::Format { .. } | Error::Storage(storage::Error::PastEnd { .. }))
    }
}

/// What came of some bytes, be it that they are wrong: for good, apart from all that may go better another time.
///
/// # Errors
/// All but those of the format. That a range is not in the file is one of these: what the file says of itself is wrong.
pub fn permanent<T>(result: Result<T>) -> Result<format::Result<T>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Error::Format { source, .. }) => Ok(Err(source)),
        Err(Error::Storage(storage::Error::PastEnd { offset, n_bytes, size_bytes, .. })) => {
            let what = format!("{n_bytes} bytes wanted of a file of {size_bytes}");
            Ok(Err(format::Error::truncated(0, what).at(offset)))
        }
        Err(error) => Err(error),
    }
}

/// Answers what `format` asks for in the middle of its work, and keeps an error that is none of the format: `format` knows only
/// its own, and may do without the answer.
#[derive(Default)]
pub struct Answers {
    failed: RefCell<Option<Error>>,
}

impl Answers {
    /// An answer as `format` takes it.
    ///
    /// # Errors
    /// That of the answer; a stand-in for one that is none of the format.
    pub fn give<T>(&self, answer: Result<T>) -> format::Result<T> {
        permanent(answer).unwrap_or_else(|error| {
            let stand_in = format::Error::unsupported(0, error.to_string());
            self.failed.borrow_mut().get_or_insert(error);
            Err(stand_in)
        })
    }

    /// What came of the work, if it had all its answers.
    ///
    /// # Errors
    /// What kept the work from an answer.
    pub fn settle<T>(self, made: format::Result<T>) -> Result<format::Result<T>> {
        self.failed.into_inner().map_or(Ok(made), Err)
    }
}

fn near_names(near: &[String]) -> String {
    match near {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}
