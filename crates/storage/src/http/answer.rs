//! The answer to a request: what kind it is, whether it is about the same file, and its bytes.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::http::{HeaderMap, Response};
use ureq::{BodyReader, ResponseExt as _};

use super::client::{Question, what_failed};
use super::credential_scope::CredentialScope;
use super::multipart::{Multipart, Receiver, Wrong};
use super::origin::{Origin, Permit};
use super::range::{ContentRange, unsatisfied_total};
use crate::error::{Error, Result};
use crate::secret::{Secret, scrubbed_of_sent};

const CHUNK_BYTES: usize = 128 << 10;
/// So much of the text of an error is read, and shown.
const MAX_ERROR_BYTES: u64 = 4 << 10;
const MAX_ERROR_CHARS: usize = 200;
/// A body of an answer that is not wanted is read up to this, so that the connection can be used again.
const MAX_DISCARDED_BYTES: u64 = 64 << 10;
/// Servers may ask to be left alone for longer; the deadline decides whether that is waited for.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3600);

/// Codings of a body that messages name (RFC 9110, section 8.4.1, and those registered since).
const KNOWN_CODINGS: [&str; 6] = ["gzip", "x-gzip", "deflate", "compress", "br", "zstd"];

/// Whether a text is a date as servers tell it, `Sun, 06 Nov 1994 08:49:37 GMT`.
fn is_date(text: &str) -> bool {
    let is_like = |(byte, model): (u8, u8)| match model {
        b'0' => byte.is_ascii_digit(),
        b'a' => byte.is_ascii_alphabetic(),
        _ => byte == model,
    };
    let model = b"aaa, 00 aaa 0000 00:00:00 GMT";
    text.len() == model.len() && text.bytes().zip(*model).all(is_like)
}

/// Which content of a file: what a server says changes with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Version {
    etag: Option<String>,
    last_modified: Option<String>,
}

impl Version {
    /// As one text, if the server says what tells this content from any other at the same place.
    pub(super) fn text(&self) -> Option<&str> {
        self.etag.as_deref().or(self.last_modified.as_deref())
    }

    /// The header that asks a server to answer only for this version.
    pub(super) fn condition(&self) -> Option<(&'static str, &str)> {
        // A weak tag never matches (RFC 9110, section 13.1.1). Dates are compared in the answers: there are servers that
        // find a file younger than the date they say, as that has no fractions of a second.
        let etag = self.etag.as_deref().filter(|etag| etag.starts_with('"'))?;
        Some(("if-match", etag))
    }

    /// What differs in another answer. What one of them does not say is not compared. Tags are not shown: there are
    /// servers that make them of what they were asked with.
    pub(super) fn difference(&self, other: &Version) -> Option<String> {
        let differs = |name: &str, a: &Option<String>, b: &Option<String>| match (a, b) {
            (Some(a), Some(b)) if a != b && is_date(a) && is_date(b) => Some(format!("its {name} was {a} and is {b}")),
            (Some(a), Some(b)) if a != b => Some(format!("its {name} is another one")),
            _ => None,
        };
        // The same tag, weak or not, is of the same content: what is between makes it weak.
        let opaque = |tag: &String| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
        match (&self.etag, &other.etag) {
            (Some(one), Some(another)) if opaque(one) == opaque(another) => None,
            (Some(_), Some(_)) => differs("ETag", &self.etag, &other.etag),
            _ => differs("Last-Modified", &self.last_modified, &other.last_modified),
        }
    }
}

/// What an answer is.
#[derive(Debug)]
pub(super) enum Kind {
    /// One range.
    Single(ContentRange),
    /// Several.
    Multi(Multipart),
    /// The whole file, of so many bytes if the server says that.
    Whole(Option<u64>),
    /// There are no such bytes; the file is that large.
    Unsatisfiable(Option<u64>),
    /// An error of this status.
    Status(u16),
}

/// An answer whose head is there.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Whose answer it is.
    pub(super) origin: Arc<Origin>,
    /// When the request was made.
    pub(super) asked_at: Instant,
    headers: HeaderMap,
    body: BodyReader<'static>,
    /// Until the body is there.
    _permit: Permit,
    url: String,
    /// What an error may repeat of the URLs, the given one and where it led, is hidden in it.
    asked: Vec<Secret>,
    doing: String,
    until: Instant,
    timeout: Duration,
    scope: CredentialScope,
}

impl Answer {
    pub(super) fn new(
        response: Response<ureq::Body>,
        origin: Arc<Origin>,
        asked_at: Instant,
        permit: Permit,
        question: Question<'_>,
        timeout: Duration,
        scope: CredentialScope,
    ) -> Answer {
        let is_error = response.status().as_u16() >= 400;
        let asked = || [question.address.original().into(), response.get_uri().to_string()].map(Secret::new).into();
        let asked = if is_error { asked() } else { Vec::new() };
        let (head, body) = response.into_parts();
        Answer {
            status: head.status.as_u16(),
            origin,
            asked_at,
            headers: head.headers,
            body: body.into_reader(),
            _permit: permit.answered(),
            url: question.address.name().to_owned(),
            asked,
            doing: question.doing.to_owned(),
            until: question.until,
            timeout,
            scope,
        }
    }

    /// Value of a header, if it is text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Where to go instead; there are servers that do not encode it.
    pub(super) fn location(&self) -> Option<String> {
        String::from_utf8(self.headers.get("location")?.as_bytes().to_vec()).ok()
    }

    fn length(&self) -> Option<u64> {
        self.header("content-length")?.trim().parse().ok()
    }

    /// Which version of the file it is about.
    pub(super) fn version(&self) -> Version {
        let text = |name| self.header(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        Version { etag: text("etag"), last_modified: text("last-modified") }
    }

    /// Whether the server says that it knows no ranges.
    pub(super) fn refuses_ranges(&self) -> bool {
        self.header("accept-ranges").is_some_and(|value| value.trim().eq_ignore_ascii_case("none"))
    }

    /// What it is.
    ///
    /// # Errors
    /// [`Error::WrongAnswer`] if its head contradicts itself.
    pub(super) fn kind(&self) -> Result<Kind> {
        let coding = self.header("content-encoding").unwrap_or("identity").trim();
        if matches!(self.status, 200 | 206) && !coding.is_empty() && !coding.eq_ignore_ascii_case("identity") {
            // Of what the server says, words that are known are shown.
            let known = KNOWN_CODINGS.iter().find(|known| coding.eq_ignore_ascii_case(known));
            let coding = known.map_or_else(String::new, |known| format!(" ({known})"));
            return Err(self.wrong(format!("it is compressed{coding}, which was not asked for")));
        }
        Ok(match self.status {
            200 => Kind::Whole(self.length()),
            206 => {
                if let Some(parts) = self.header("content-type").and_then(Multipart::new) {
                    return Ok(Kind::Multi(parts));
                }
                let value = self.header("content-range").unwrap_or_default();
                let content = ContentRange::parse(value);
                let content = content.ok_or_else(|| {
                    self.wrong(if value.is_empty() { "it has no Content-Range" } else { "its Content-Range is none" })
                })?;
                let n_bytes = content.range.end - content.range.start;
                if self.length().is_some_and(|length| length != n_bytes) {
                    let length = self.length().unwrap_or_default();
                    return Err(self.wrong(format!("it is {length} bytes long, its Content-Range {n_bytes}")));
                }
                Kind::Single(content)
            }
            416 => Kind::Unsatisfiable(self.header("content-range").and_then(unsatisfied_total)),
            status => Kind::Status(status),
        })
    }

    /// The answer is not one to the question.
    pub(super) fn wrong(&self, what: impl Into<String>) -> Error {
        Error::WrongAnswer { url: self.url.clone(), doing: self.doing.clone(), what: what.into() }
    }

    /// Reads one range to its end.
    ///
    /// # Errors
    /// If it is not welcome, or shorter or longer than it should be, or the connection breaks.
    pub(super) fn receive_single(&mut self, content: &ContentRange, receiver: &mut impl Receiver) -> Result<()> {
        receiver.part(content).map_err(|Wrong(what)| self.wrong(what))?;
        let mut offset = content.range.start;
        let mut chunk = Vec::new();
        let transfer = self.origin.transfer();
        while offset < content.range.end {
            let n_left = usize::try_from(content.range.end - offset).unwrap_or(usize::MAX);
            let n_bytes = if let Some(space) = receiver.space(offset) {
                let n_bytes = space.len().min(n_left);
                let n_bytes = self.read(&mut space[..n_bytes])?;
                receiver.filled(offset, n_bytes);
                n_bytes
            } else {
                chunk.resize(CHUNK_BYTES, 0);
                let n_bytes = self.read(&mut chunk[..CHUNK_BYTES.min(n_left)])?;
                receiver.bytes(offset, &chunk[..n_bytes]).map_err(|Wrong(what)| self.wrong(what))?;
                n_bytes
            };
            if n_bytes == 0 {
                return Err(self.broken(format!("the answer ends at byte {offset}")));
            }
            transfer.came(n_bytes);
            offset += n_bytes as u64;
        }
        drop(transfer);
        if self.read(&mut [0])? > 0 {
            return Err(self.wrong("it is longer than its Content-Range"));
        }
        Ok(())
    }

    /// Reads several ranges to their end.
    ///
    /// # Errors
    /// As [`Answer::receive_single`].
    pub(super) fn receive_multi(&mut self, mut parts: Multipart, receiver: &mut impl Receiver) -> Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let transfer = self.origin.transfer();
        // What comes behind the last delimiter belongs to nothing, and may go on and on.
        let mut n_behind = 0;
        while n_behind <= MAX_DISCARDED_BYTES {
            // The rest of a part goes straight to its place; what is around parts comes through the chunk.
            let straight = parts.body().filter(|(_, n_left)| *n_left >= CHUNK_BYTES as u64);
            let n_bytes = match straight.and_then(|(offset, n_left)| Some((offset, n_left, receiver.space(offset)?))) {
                Some((offset, n_left, space)) => {
                    let n_bytes = space.len().min(usize::try_from(n_left).unwrap_or(usize::MAX));
                    let n_bytes = self.read(&mut space[..n_bytes])?;
                    receiver.filled(offset, n_bytes);
                    parts.advance(n_bytes);
                    n_bytes
                }
                None => {
                    let n_bytes = self.read(&mut chunk)?;
                    n_behind += if parts.is_closed() { n_bytes as u64 } else { 0 };
                    parts.push(&chunk[..n_bytes], receiver).map_err(|Wrong(what)| self.wrong(what))?;
                    n_bytes
                }
            };
            if n_bytes == 0 {
                break;
            }
            transfer.came(n_bytes);
        }
        parts.finish().map_err(|Wrong(what)| self.wrong(what))
    }

    /// Reads a body from its start on, whatever it is, into `take`; returns its length.
    ///
    /// # Errors
    /// If the connection breaks, or it is longer than `at_most` (chunked bodies may go on and on); those of `take`.
    pub(super) fn receive_whole(&mut self, at_most: u64, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let transfer = self.origin.transfer();
        let mut n_bytes = 0;
        loop {
            let n_here = self.read(&mut chunk)?;
            if n_here == 0 {
                break;
            }
            transfer.came(n_here);
            n_bytes += n_here as u64;
            if n_bytes > at_most {
                return Err(self.wrong("it is longer than it says"));
            }
            take(&chunk[..n_here])?;
        }
        match self.length() {
            Some(length) if length != n_bytes => Err(self.broken(format!("it ends after {n_bytes} of {length} bytes"))),
            _ => Ok(n_bytes),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if Instant::now() >= self.until {
            return Err(self.broken("the deadline is over".to_owned()));
        }
        self.body.read(buffer).map_err(|error| {
            let error = match error.downcast::<ureq::Error>() {
                Ok(error) => error,
                Err(error) => ureq::Error::Io(error),
            };
            self.broken(what_failed(&error, self.timeout))
        })
    }

    fn broken(&self, what: String) -> Error {
        Error::Connection { url: self.url.clone(), doing: self.doing.clone(), what }
    }

    /// Lets the connection be used again if little is left of the body.
    pub(super) fn discard(mut self) {
        if self.length().is_none_or(|length| length <= MAX_DISCARDED_BYTES) {
            // What fails here concerns nobody: the connection is then not used again.
            let _ = std::io::copy(&mut (&mut self.body).take(MAX_DISCARDED_BYTES), &mut std::io::sink());
        }
    }

    /// The error of an answer that brings no bytes.
    pub(super) fn into_error(mut self) -> Error {
        let answer = self.words();
        let (url, doing) = (self.url.clone(), self.doing.clone());
        let is_transient = matches!(self.status, 408 | 425 | 429 | 500 | 502 | 503 | 504 | 507..);
        if let Some(pause) = self.header("retry-after").filter(|_| is_transient).and_then(retry_after) {
            self.origin.pause(pause.min(LONGEST_PAUSE));
        }
        match self.status {
            401 | 403 | 407 => Error::Denied { url, answer, hint: self.scope.hint() },
            404 | 410 => Error::NotFound { url, answer },
            412 => Error::Changed { url, what: format!("the server says {answer}") },
            416 => Error::Changed { url, what: format!("the server has no such bytes any more ({answer})") },
            200 if self.is_page() => self.wrong("it is a web page: of a login or an error, perhaps"),
            200 => self.wrong("it is the whole file, not the range"),
            206 => self.wrong("it is another range"),
            _ => Error::Server { url, doing, answer, is_transient },
        }
    }

    /// Status and, where the server says more in plain text, HTML or XML, its words.
    fn words(&mut self) -> String {
        let reason = ureq::http::StatusCode::from_u16(self.status).ok().and_then(|status| status.canonical_reason());
        let mut words = format!("{} {}", self.status, reason.unwrap_or_default()).trim_end().to_owned();
        if let Some(region) = self.header("x-amz-bucket-region") {
            words.push_str(&format!(" (the bucket's region is {})", plain(&self.without_what_was_sent(region))));
        }
        let is_text = self.header("content-type").is_some_and(|kind| kind.contains("text/") || kind.contains("xml"));
        let is_error = self.status >= 400;
        let mut body = Vec::new();
        if is_error && is_text && (&mut self.body).take(MAX_ERROR_BYTES).read_to_end(&mut body).is_ok() {
            let said = message(&String::from_utf8_lossy(&body));
            let said = plain(&self.without_what_was_sent(&said));
            if !said.is_empty() && !words.contains(&said) {
                words.push_str(": ");
                words.push_str(&said);
            }
        }
        words.push_str(&self.scope.led_to());
        words
    }

    fn without_what_was_sent(&self, said: &str) -> String {
        let urls: Vec<&str> = self.asked.iter().map(Secret::expose).collect();
        scrubbed_of_sent(said, &urls, self.scope.token.as_ref())
    }

    /// Whether the file is at this place, whatever was asked of it.
    pub(super) fn is_of_file(&self) -> bool {
        matches!(self.status, 206 | 412 | 416) || (self.status == 200 && !self.is_page())
    }

    fn is_page(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.contains("text/html"))
    }
}

/// Seconds of a `Retry-After`; a date in it is not waited for.
fn retry_after(value: &str) -> Option<Duration> {
    value.trim().parse().ok().map(Duration::from_secs)
}

/// What is for people in the body of an error. S3 says there also what was signed and by whom, which is not shown.
fn message(body: &str) -> String {
    let element = |name: &str| {
        let (_, rest) = body.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0)
    };
    if body.contains("<Error>") {
        return [element("Code"), element("Message")].into_iter().flatten().collect::<Vec<_>>().join(": ");
    }
    element("title").map_or_else(|| body.to_owned(), str::to_owned)
}

/// Text without tags, on one line, not long; without anything that looks like a URL's query or a token.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut is_tag = false;
    for c in text.chars() {
        match c {
            '<' => is_tag = true,
            '>' => is_tag = false,
            _ if is_tag => {}
            _ => plain.push(if c.is_control() { ' ' } else { c }),
        }
    }
    let words = plain.split_whitespace().map(|word| {
        let is_secret = word.len() > 40 || word.contains('?') || word.contains('=');
        if is_secret { "..." } else { word }
    });
    words.collect::<Vec<_>>().join(" ").chars().take(MAX_ERROR_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shown_without_what_was_signed() {
        let body = "<?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code><Message>The signature is wrong</Message>\
                    <AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
        assert_eq!(plain(&message(body)), "SignatureDoesNotMatch: The signature is wrong");
        let body = "<html><head><title>400 No required SSL certificate was sent</title></head><body>x</body></html>";
        assert_eq!(plain(&message(body)), "400 No required SSL certificate was sent");
        assert_eq!(
            plain("no\naccess to /f?authz=abc with eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiIsImtpZCI6"),
            "no access to ... with ..."
        );
    }

    #[test]
    fn a_version_differs_only_in_what_both_say() {
        let version = |etag: &str, date: &str| {
            let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Version { etag: text(etag), last_modified: text(date) }
        };
        assert_eq!(version("\"a\"", "x").difference(&version("", "x")), None);
        assert!(version("\"a\"", "x").difference(&version("\"b\"", "x")).unwrap().contains("its ETag is another"));
        let dates = ["Sun, 06 Nov 1994 08:49:37 GMT", "Mon, 07 Nov 1994 08:49:37 GMT"];
        let told = version("", dates[0]).difference(&version("", dates[1])).unwrap();
        assert!(dates.iter().all(|date| told.contains(date)), "{told}");
        assert!(!version("", dates[0]).difference(&version("", "SECRET")).unwrap().contains("SECRET"));
        assert_eq!(version("\"a\"", "x").difference(&version("W/\"a\"", "x")), None);
        assert!(version("\"a\"", "x").difference(&version("W/\"b\"", "x")).is_some());
        assert_eq!(version("\"a\"", "x").condition(), Some(("if-match", "\"a\"")));
        assert_eq!(version("W/\"a\"", "x").condition(), None);
        assert_eq!(version("W/\"a\"", "").condition(), None);
    }
}
