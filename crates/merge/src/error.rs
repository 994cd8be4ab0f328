//! Errors of merging.

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of merging; a variant is what the caller can do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input cannot be read.
    #[error(transparent)]
    Read(#[from] arrowroot::Error),
    /// The output cannot be written.
    #[error(transparent)]
    Write(#[from] arrowroot_writer::Error),
    /// An input is not whole, so that nobody knows what it lacks.
    #[error("{url}: {what}")]
    NotWhole {
        /// The input.
        url: String,
        /// The fault.
        what: String,
    },
    /// An object of an input cannot be joined to those before it.
    #[error("{url}: {path}: {what}")]
    Mismatch {
        /// The input.
        url: String,
        /// The object.
        path: String,
        /// How it differs, and what can be done.
        what: String,
    },
    /// An object that is not merged yet.
    #[error("{url}: {path}: {what}")]
    Unsupported {
        /// The input.
        url: String,
        /// The object.
        path: String,
        /// Why not, and what can be done.
        what: String,
    },
    /// An input could not be read once some of it was written: the output can only be given up.
    #[error(transparent)]
    Spoilt(Box<Error>),
    /// Rules or settings that make no sense.
    #[error("{what}")]
    InvalidRequest {
        /// The fault, and what would be right.
        what: String,
    },
}

impl Error {
    /// True if an input is at fault, so that the others can be merged without it.
    pub fn is_of_input(&self) -> bool {
        let is_cancelled = matches!(self, Error::Read(arrowroot::Error::Cancelled));
        !is_cancelled && !matches!(self, Error::Write(_) | Error::Spoilt(_) | Error::InvalidRequest { .. })
    }
}
