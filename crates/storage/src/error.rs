//! What can go wrong while bytes are fetched or written.

use std::sync::Arc;
use std::time::Duration;

use crate::descriptors::{self, Scarcity as _};

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Of so many replicas the failures are told, of each so much.
const N_LISTED: usize = 8;
const MAX_FAILURE_CHARS: usize = 400;

/// What can go wrong while bytes are fetched or written. URLs in it hold no credentials.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{url}: {doing}: {}", reason(source))]
    Io {
        /// What was read or written.
        url: String,
        /// What was being done to it.
        doing: String,
        /// The system's error.
        source: Arc<std::io::Error>,
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
    /// There is no encryption that keeps others out: the server has none, or is not who it should be.
    #[error("{url}: no secure connection: {what}; {hint}")]
    Insecure {
        /// What was to be read.
        url: String,
        /// What is wrong.
        what: String,
        /// What the user can do.
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
    /// The server wants to be asked later than there is time for.
    #[error("{url}: {doing}: the server says to come back in {:.0} s, which is after the deadline", pause.as_secs_f64())]
    Paused {
        /// What was read.
        url: String,
        /// What was being done.
        doing: String,
        /// For how long it wants to be left alone.
        pause: Duration,
    },
    /// The answer is not one to the question: short, long, of another range, out of order.
    #[error("{url}: {doing}: wrong answer: {what}")]
    WrongAnswer {
        /// What was read.
        url: String,
        /// What was being done, with the range.
        doing: String,
        /// The fault.
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
    #[error("{url}: gave up after {:.1} s and {n_tries} tries: {}", elapsed.as_secs_f64(), last.without_url(url))]
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
        /// The fault, and what would be right.
        what: String,
    },
    /// No replica of a file can be opened or read.
    #[error("none of {n_replicas} replicas can be {done}: {}", failures_text(failures))]
    Replicas {
        /// How many there are. Some may not have been tried, if what is wrong with one is wrong with all.
        n_replicas: usize,
        /// What was to be done: "opened", "read".
        done: &'static str,
        /// Of each that was tried, its URL and why it failed.
        failures: Vec<(String, Error)>,
    },
    /// Somebody goes on writing to a file that is no longer written.
    #[error("{url}: cannot be written any more: it was {ending} before")]
    Ended {
        /// What was written.
        url: String,
        /// How it ended.
        ending: Ending,
    },
    /// A disk cache or a download directory failed.
    #[error("{path}: {doing}: {}", reason(source))]
    LocalDisk {
        /// The file or directory.
        path: String,
        /// What was being done to it.
        doing: String,
        /// The system's error.
        source: Arc<std::io::Error>,
    },
}

/// How the writing of a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It is there under its name.
    Published,
    /// It was given up.
    Aborted,
}

impl std::fmt::Display for Ending {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Ending::Published => "published",
            Ending::Aborted => "given up",
        })
    }
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

    /// Whether who has more time may succeed.
    pub(crate) fn is_for_want_of_time(&self) -> bool {
        matches!(self, Error::Paused { .. } | Error::Deadline { .. })
    }

    /// Of several replicas' errors the one that says most of what can be done, of any other error itself.
    ///
    /// That is a file which is not what it was; else a refusal, which other credentials may mend; else a failure, which time
    /// may; else a URL or a setting that makes no sense. "No such file" comes last: it is only true if all say so.
    pub fn most_telling(&self) -> &Error {
        match self {
            Error::Replicas { failures, .. } => {
                failures.iter().map(|(_, error)| error.most_telling()).min_by_key(|error| error.rank()).unwrap_or(self)
            }
            _ => self,
        }
    }

    /// The text of an error that is told behind its URL.
    fn without_url(&self, url: &str) -> String {
        let text = self.to_string();
        text.strip_prefix(url).and_then(|rest| rest.strip_prefix(": ")).map_or(text.clone(), str::to_owned)
    }

    fn rank(&self) -> u8 {
        use std::io::ErrorKind::{NotFound, PermissionDenied};
        match self {
            Error::Changed { .. } | Error::PastEnd { .. } => 0,
            Error::Denied { .. } => 1,
            Error::Io { source, .. } if source.kind() == PermissionDenied => 1,
            Error::Option { .. } => 3,
            Error::Unsupported { .. } => 4,
            Error::NotFound { .. } => 5,
            Error::Io { source, .. } if source.kind() == NotFound => 5,
            _ => 2,
        }
    }
}

/// The failures of replicas in one text, each behind its URL; long ones are cut, and many are counted.
pub fn failures_text<E: std::fmt::Display>(failures: &[(String, E)]) -> String {
    let one = |(place, (url, error)): (usize, &(String, E))| {
        let text = error.to_string();
        let text = if text.starts_with(url.as_str()) { text } else { format!("{url}: {text}") };
        format!("({}) {}", place + 1, cut(&text))
    };
    let mut told: Vec<_> = failures.iter().enumerate().take(N_LISTED).map(one).collect();
    if failures.len() > N_LISTED {
        told.push(format!("and {} more", failures.len() - N_LISTED));
    }
    told.join("; ")
}

/// Begin and end of a text that is too long: the place, and what happened.
fn cut(text: &str) -> String {
    let n_chars = text.chars().count();
    if n_chars <= MAX_FAILURE_CHARS {
        return text.to_owned();
    }
    let head: String = text.chars().take(MAX_FAILURE_CHARS / 2).collect();
    let tail: String = text.chars().skip(n_chars - MAX_FAILURE_CHARS / 2).collect();
    format!("{head}…{tail}")
}

/// What the system says, without the number that it says it with; where something is scarce, what can be done.
pub(crate) fn reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let text = error.to_string();
    let reason = text.split_once(" (os error").map_or(text.clone(), |(reason, _)| reason.to_lowercase());
    match error.kind() {
        _ if error.is_scarcity() => format!("{reason}: {}", descriptors::remedy()),
        StorageFull => format!("{reason}: the disk is full; make room, or write to another one"),
        QuotaExceeded => format!("{reason}: what you may store there is used up; make room, or write elsewhere"),
        FileTooLarge => format!("{reason}: write several files, or allow larger ones with `ulimit -f`"),
        _ => reason,
    }
}
