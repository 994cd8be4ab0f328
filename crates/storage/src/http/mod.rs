//! Files on HTTP servers: WebDAV doors of dCache, EOS and XRootD, object stores, plain web servers.
//!
//! # Opening
//!
//! Head and tail are asked for together, in one request (`bytes=0-4095,-262144`), or in two at the same time where the
//! server does not answer several ranges at once. That is one round trip after the connection, two the first time
//! that such a server is met. A file that is not larger than both comes whole. A server that takes no range that ends after a
//! small file (416, 400) is asked for what there is, or for the file without a range. The answer tells size and version (ETag,
//! Last-Modified).
//!
//! # Reading
//!
//! A vector read becomes as few requests as the server allows: several ranges in each (`multipart/byteranges`, at most
//! 200 ranges, 4000 characters of header, 1 GiB), bodies read straight into the caller's buffers; what is more than 4 MiB is
//! shared among up to eight connections. A server that refuses so many ranges, answers with the whole file or with one
//! range is asked for 50, 20, 5, then 1; this is remembered for the server (scheme, host, port) as long as the process
//! lives (and a certificate is not renewed). One that never answered several ranges is asked for some twice, one request at a
//! time; so is one whose answer is wrong. Merged parts, parts in another order, and what lies between merged parts are taken as
//! they come. The read that met a wrong answer is completed with single ranges.
//!
//! # Connections
//!
//! A server without several ranges gets single ranges, over four connections at first and over more (up to 128, the longer an
//! answer takes) while answers come as soon as with few; S3 gets as many as are usual. No more than four connections (32 to S3) are
//! new at a time. One that does not come about, or on which nothing comes while others work, is given up, what it was for is asked
//! for on another, and the server has fewer from then on: see `connections` and `trial`.
//!
//! A server that knows no ranges at all: the file is copied once to a nameless file in the directory for temporary files
//! (`TMPDIR`), and read from there. The deadline of such a copy counts anew whenever 64 KiB came for each second of it; where the
//! server does not say how long the file is, the whole copy has one deadline.
//!
//! # Checks
//!
//! Every answer must be about the bytes that were asked for, exactly as long as it says, of a file of the same size and
//! version (ETag, else `Last-Modified`); requests carry `If-Match`. Otherwise the read fails: [`Error::Changed`] if it is
//! another file, [`Error::WrongAnswer`] if it is no answer. What cannot be seen here are wrong bytes of the right number in
//! an answer that claims to be right; TLS rules that out on the way, and ROOT's compressed blocks have checksums where
//! zlib, LZ4 or LZMA was used.
//!
//! # Faults
//!
//! A request fails when nothing comes for the timeout, and is tried again as [`crate::Retry`] says. What came before a
//! connection broke is kept. `Retry-After` is honoured: no request goes to that server before. An idle connection that the
//! server closes just when it is used again is replaced at once.
//!
//! # Redirects and credentials
//!
//! Redirects are followed, up to ten; where they led to is remembered for later reads of the file, and forgotten when
//! that place answers with any error. Where each is good for one request, none is remembered. See `credentials` for tokens and certificates. User and password in a URL are sent as basic
//! authentication and never shown. Proxies are those of the environment: see `proxy`.
//!
//! Connections are kept open for 60 s and shared by all files of the process with the same credentials.
//!
//! [`Error::Changed`]: crate::Error::Changed
//! [`Error::WrongAnswer`]: crate::Error::WrongAnswer

mod address;
mod answer;
mod client;
mod connections;
mod credential_scope;
pub(crate) mod credentials;
mod handshake_deadline;
mod lookup;
mod multipart;
mod names;
mod open;
mod origin;
mod proxy;
mod range;
pub(crate) mod slots;
mod store;
mod tcp;
mod thread_pool;
mod transport;
mod trial;
mod whole;

pub use crate::requests::http::Limits;
pub(crate) use address::Address;
pub use multipart::{Multipart, Receiver, Wrong};
pub(crate) use open::open_address;
pub use range::ContentRange;
pub use slots::Slots;

use crate::error::Result;
use crate::options::Network;
use crate::source::{Opened, Speculation};

/// Opens an `http://` or `https://` URL.
///
/// # Errors
/// As the module says; [`crate::Error::Option`] if the URL or a credential that was given is none.
pub fn open_http(url: &str, network: &Network, speculation: Speculation) -> Result<Opened> {
    open_address(Address::parse(url)?, network, speculation, true)
}
