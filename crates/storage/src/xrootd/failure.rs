//! What goes wrong between a request and its answer, and what the caller is told of it.

use std::time::Duration;

use super::url::FileAddress;
use crate::error::Error;
use crate::secret::redacted;

/// What goes wrong with a request.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// The connection is not usable any more.
    Broken(String),
    /// Nothing came for so long.
    Silent(Duration),
    /// Nothing came for so long for this request: others of the connection may fare better.
    Unanswered(Duration),
    /// The answer is not one to the question.
    Wrong(String),
    /// The answer ended too early: it may be that the file did.
    Short(String),
    /// The server refused: its number and words.
    Refused(u32, String),
    /// The server sends elsewhere: port and place.
    Redirected(i32, String),
    /// No security protocol was agreed on: what the server says, and what the user can do.
    Denied(String, String),
    /// Nothing keeps others from reading along: what is wrong, and what the user can do.
    Insecure(String, String),
    /// Not within the time that all tries have.
    Late,
    /// The server wants to be asked again after so long, which is later than that.
    Paused(Duration),
    /// It cannot even be begun: the credentials are of no use.
    Unable(Box<Error>),
}

/// Numbers of errors that mean something here.
pub(crate) mod code {
    pub(crate) const ARGUMENT_INVALID: u32 = 3000;
    pub(crate) const ARGUMENT_MISSING: u32 = 3001;
    pub(crate) const ARGUMENT_TOO_LONG: u32 = 3002;
    pub(crate) const FILE_LOCKED: u32 = 3003;
    pub(crate) const FILE_NOT_OPEN: u32 = 3004;
    pub(crate) const FS_ERROR: u32 = 3005;
    pub(crate) const INVALID_REQUEST: u32 = 3006;
    pub(crate) const IO_ERROR: u32 = 3007;
    pub(crate) const NO_MEMORY: u32 = 3008;
    pub(crate) const NOT_AUTHORIZED: u32 = 3010;
    pub(crate) const NOT_FOUND: u32 = 3011;
    pub(crate) const SERVER_ERROR: u32 = 3012;
    pub(crate) const UNSUPPORTED: u32 = 3013;
    pub(crate) const NO_SERVER: u32 = 3014;
    pub(crate) const CANCELLED: u32 = 3017;
    pub(crate) const IN_PROGRESS: u32 = 3020;
    pub(crate) const SIGNATURE: u32 = 3022;
    pub(crate) const OVERLOADED: u32 = 3024;
    pub(crate) const TLS_REQUIRED: u32 = 3028;
    pub(crate) const AUTH_FAILED: u32 = 3030;
    pub(crate) const REQUEST_TIMED_OUT: u32 = 3034;
    pub(crate) const TIMER_EXPIRED: u32 = 3035;
}

/// Whether the same request may succeed later or elsewhere.
fn is_transient(number: u32) -> bool {
    matches!(
        number,
        code::FILE_LOCKED
            | code::FILE_NOT_OPEN
            | code::FS_ERROR
            | code::IO_ERROR
            | code::NO_MEMORY
            | code::SERVER_ERROR
            | code::NO_SERVER
            | code::CANCELLED
            | code::IN_PROGRESS
            | code::OVERLOADED
            | code::REQUEST_TIMED_OUT
            | code::TIMER_EXPIRED
    )
}

const SIGNING_HINT: &str = "the server wants signed requests, which only the official client makes: install the extra \
                            `xrootd`";
const ACCESS_HINT: &str = "see that the token or the account may read it; the official client (the extra `xrootd`) \
                           has more ways to say who you are";

impl Failure {
    /// Whether the connection is of no more use. Who has no more time leaves it to the others, and the answers are passed over,
    /// unless one of them was just being taken: that ends as if broken.
    pub(crate) fn is_fatal(&self) -> bool {
        matches!(self, Failure::Broken(_) | Failure::Silent(_) | Failure::Wrong(_))
    }

    /// Whether who has more time may succeed.
    pub(crate) fn is_for_want_of_time(&self) -> bool {
        matches!(self, Failure::Late | Failure::Paused(_))
    }

    /// Whether another server may do better.
    pub(crate) fn is_of_server(&self) -> bool {
        match self {
            Failure::Broken(_)
            | Failure::Silent(_)
            | Failure::Unanswered(_)
            | Failure::Wrong(_)
            | Failure::Short(_)
            | Failure::Insecure(..)
            | Failure::Paused(_)
            | Failure::Late => true,
            Failure::Refused(number, _) => is_transient(*number) || *number == code::NOT_FOUND,
            Failure::Redirected(..) | Failure::Denied(..) | Failure::Unable(_) => false,
        }
    }

    /// The server's words without what was said to it alone, if it repeats that.
    pub(crate) fn without_secrets(self, target: &FileAddress) -> Failure {
        match self {
            Failure::Refused(number, answer) => Failure::Refused(number, target.without_secrets(&answer)),
            Failure::Denied(answer, hint) => Failure::Denied(target.without_secrets(&answer), hint),
            other => other,
        }
    }

    /// As the caller is told: of which URL, from which server, and what was being done.
    pub(crate) fn into_error(self, url: &str, target: &FileAddress, doing: &str) -> Error {
        let url = url.to_owned();
        let doing = format!("{doing} from {}", target.shown_server());
        match self.without_secrets(target) {
            Failure::Broken(what) => Error::Connection { url, doing, what },
            Failure::Silent(time) | Failure::Unanswered(time) => {
                Error::Connection { url, doing, what: format!("nothing came for {:.1} s", time.as_secs_f64()) }
            }
            Failure::Unable(error) => *error,
            Failure::Late => {
                Error::Connection { url, doing, what: "no complete answer before the deadline".to_owned() }
            }
            Failure::Paused(pause) => Error::Paused { url, doing, pause },
            Failure::Wrong(what) => Error::WrongAnswer { url, doing, what },
            Failure::Short(what) => Error::WrongAnswer { url, doing, what: format!("it ends early: {what}") },
            Failure::Redirected(_, place) => Error::WrongAnswer {
                url,
                doing,
                what: format!("one more redirection, to {:?}", redacted(place.split('?').next().unwrap_or_default())),
            },
            Failure::Denied(answer, hint) => Error::Denied { url, answer, hint },
            Failure::Insecure(what, hint) => Error::Insecure { url, what, hint },
            Failure::Refused(number, answer) => match number {
                code::NOT_FOUND => Error::NotFound { url, answer },
                code::SIGNATURE => Error::Denied { url, answer, hint: SIGNING_HINT.to_owned() },
                code::NOT_AUTHORIZED | code::AUTH_FAILED | code::TLS_REQUIRED => {
                    Error::Denied { url, answer, hint: ACCESS_HINT.to_owned() }
                }
                _ => Error::Server {
                    url,
                    doing,
                    answer: format!("{answer} ({number})"),
                    is_transient: is_transient(number),
                },
            },
        }
    }
}
