//! What can go wrong while bytes are fetched.

use std::time::Duration;

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong while bytes are fetched. URLs in it hold no credentials.
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
    #[error("{url}: no store for {scheme}://; {hint}")]
    Unsupported {
        /// What was to be read.
        url: String,
        /// The scheme of the URL.
        scheme: String,
        /// What the user can do.
        hint: String,
    },
    /// There is no such file on the server.
    #[error("{url}: no such file: {answer}")]
    NotFound {
        /// What was to be read.
        url: String,
        /// The server's words.
        answer: String,
    },
    /// The server wants to know who is asking, or does not let them.
    #[error("{url}: access denied: {answer}; {hint}")]
    Denied {
        /// What was to be read.
        url: String,
        /// The server's words.
        answer: String,
        /// Which credentials were used, never themselves, and how to give others.
        hint: String,
    },
    /// The connection failed, broke, or carried nothing for too long. Trying again may help.
    #[error("{url}: {doing}: {what}")]
    Connection {
        /// What was read.
        url: String,
        /// What was being done, with the range.
        doing: String,
        /// What happened.
        what: String,
    },
    /// The server refused or answered with an error of its own.
    #[error("{url}: {doing}: the server says {answer}")]
    Server {
        /// What was read.
        url: String,
        /// What was being done, with the range.
        doing: String,
        /// The server's words.
        answer: String,
        /// Whether trying again may help.
        is_transient: bool,
    },
    /// The answer is not one to the question: short, long, of another range, out of order.
    #[error("{url}: {doing}: wrong answer: {what}")]
    WrongAnswer {
        /// What was read.
        url: String,
        /// What was being done, with the range.
        doing: String,
        /// What is wrong with it.
        what: String,
    },
    /// The file is another one than when it was opened.
    #[error("{url}: the file changed while it was read: {what}; open it again")]
    Changed {
        /// What was read.
        url: String,
        /// What differs.
        what: String,
    },
    /// All tries together took too long.
    #[error("{url}: gave up after {:.1} s and {n_tries} tries: {last}", elapsed.as_secs_f64())]
    Deadline {
        /// What was read.
        url: String,
        /// Since the first try.
        elapsed: Duration,
        /// How many there were.
        n_tries: u32,
        /// Why the last one failed.
        last: Box<Error>,
    },
    /// An option or a setting has no meaning.
    #[error("{option}: {what}")]
    Option {
        /// Its name and where it came from.
        option: String,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A disk cache or a download directory failed.
    #[error("{path}: {doing}: {}", reason(source))]
    LocalDisk {
        /// The file or directory.
        path: String,
        /// What was being done to it.
        doing: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Error {
    /// Whether the same request may succeed when it is made again, or made elsewhere.
    pub fn is_transient(&self) -> bool {
        match self {
            Error::Connection { .. } | Error::WrongAnswer { .. } => true,
            Error::Server { is_transient, .. } => *is_transient,
            _ => false,
        }
    }
}

/// What the system says, without the number that it says it with.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.as_str(), |(reason, _)| reason).to_lowercase()
}
