//! The one trait of this crate.

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong while bytes are fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{url}: {doing}: {}", reason(source))]
    Io {
        /// What was read.
        url: String,
        /// What was being done to it.
        doing: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A range ends after the file.
    #[error("{url}: bytes {offset} to {} asked for, but the file ends at byte {size_bytes}; it may be cut short", offset.saturating_add(*n_bytes))]
    PastEnd {
        /// What was read.
        url: String,
        /// Start of the range in bytes.
        offset: u64,
        /// Its length in bytes.
        n_bytes: u64,
        /// Size of the file in bytes.
        size_bytes: u64,
    },
    /// No store for such URLs.
    #[error("{url}: {scheme}:// is not supported yet; copy the file to a local disk")]
    Unsupported {
        /// What was to be read.
        url: String,
        /// The scheme of the URL.
        scheme: String,
    },
}

/// What the system says, without the number that it says it with.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.as_str(), |(reason, _)| reason).to_lowercase()
}

/// A file somewhere: a store of bytes, or a layer around one.
pub trait Source: Send + Sync {
    /// What was opened, for messages.
    fn url(&self) -> &str;

    /// Size in bytes, as of the opening.
    fn size_bytes(&self) -> u64;

    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// # Errors
    /// [`Error::PastEnd`] if the file ends before; [`Error::Io`] if reading fails. What is in `buffer` is then unspecified.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()>;
}

/// Checks that a range lies in the file.
pub(crate) fn check_range(source: &dyn Source, offset: u64, n_bytes: usize) -> Result<()> {
    let n_bytes = n_bytes as u64;
    match offset.checked_add(n_bytes) {
        Some(end) if end <= source.size_bytes() => Ok(()),
        _ => Err(Error::PastEnd { url: source.url().to_owned(), offset, n_bytes, size_bytes: source.size_bytes() }),
    }
}
