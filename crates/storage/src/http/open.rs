//! Opening: head and tail of a file in one round trip, and with them its size and version.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::address::Address;
use super::answer::{Answer, Kind, Version};
use super::client::{Client, Question};
use super::multipart::{Receiver, Wrong};
use super::origin::{Fault, Origin};
use super::range::ContentRange;
use super::store::{HttpStore, may_be_of_several};
use super::whole::{Pace, WholeFile};
use crate::account::{Ledger, Operation};
use crate::error::{Error, Result};
use crate::options::Network;
use crate::retry::{Attempt as _, Policy, Retry};
use crate::source::{Opened, Part, Source, Speculation};

/// Servers may merge head and tail and send what lies between, if it is not more than this.
const MAX_GAP_BYTES: u64 = 64 << 10;
/// A copy of a whole file is bounded by its [`Pace`], not by how long it takes.
const LONGEST_DOWNLOAD: Duration = Duration::from_secs(7 * 24 * 3600);

/// Bytes that came with the opening.
#[derive(Default)]
struct OpeningBytes {
    pieces: Vec<(u64, Vec<u8>)>,
    total_bytes: Option<u64>,
    n_left: u64,
}

impl Receiver for OpeningBytes {
    fn part(&mut self, content: &ContentRange) -> Result<(), Wrong> {
        let Some(total) = content.total_bytes else { return Err(Wrong("it does not tell the file's size".to_owned())) };
        if self.total_bytes.is_some_and(|known| known != total) {
            return Err(Wrong("its parts are of files of different sizes".to_owned()));
        }
        self.total_bytes = Some(total);
        let n_bytes = content.range.end - content.range.start;
        self.n_left = self.n_left.checked_sub(n_bytes).ok_or_else(|| Wrong("more than was asked for".to_owned()))?;
        self.pieces.push((content.range.start, Vec::new()));
        Ok(())
    }

    fn bytes(&mut self, _offset: u64, bytes: &[u8]) -> Result<(), Wrong> {
        // Within a part, bytes come in their order.
        if let Some((_, piece)) = self.pieces.last_mut() {
            piece.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn space(&mut self, _offset: u64) -> Option<&mut [u8]> {
        None
    }

    fn filled(&mut self, _offset: u64, _n_bytes: usize) {}
}

impl OpeningBytes {
    fn of_at_most(n_bytes: u64) -> OpeningBytes {
        OpeningBytes { n_left: n_bytes.saturating_add(MAX_GAP_BYTES), ..OpeningBytes::default() }
    }

    fn covers(&self, start: u64, end: u64) -> bool {
        let mut pieces: Vec<_> =
            self.pieces.iter().map(|(offset, bytes)| (*offset, offset + bytes.len() as u64)).collect();
        pieces.sort_unstable();
        let reached =
            pieces.iter().fold(start, |reached, piece| if piece.0 <= reached { reached.max(piece.1) } else { reached });
        reached >= end
    }
}

/// What asking brought.
enum Brought {
    /// A part of the file, its size and version.
    Part(OpeningBytes, Version),
    /// All of it.
    All(Vec<u8>, Version),
    /// The server answers with the whole file, which is large.
    NoRanges,
    /// Nothing that helps; the other way of asking may.
    AskAgain,
    /// The server takes no range that ends after the file, which has so many bytes.
    Small(u64),
    /// The server says that there are no such bytes, or takes no such range: the file may be small, or empty.
    NoSuchRange,
    /// The server, or what is before it, forbids; it may be that it forbids several ranges only.
    Forbidden,
}

impl Brought {
    /// Offsets and lengths in bytes of what came.
    fn ranges(&self) -> Vec<(u64, u64)> {
        match self {
            Brought::Part(pieces, _) => {
                pieces.pieces.iter().map(|(offset, bytes)| (*offset, bytes.len() as u64)).collect()
            }
            Brought::All(bytes, _) => vec![(0, bytes.len() as u64)],
            Brought::NoRanges | Brought::AskAgain | Brought::Small(_) | Brought::NoSuchRange | Brought::Forbidden => {
                Vec::new()
            }
        }
    }
}

/// Everything that opening needs.
struct Opening<'o> {
    address: &'o Arc<Address>,
    client: &'o Arc<Client>,
    network: &'o Network,
    is_multi_range: bool,
    /// An earlier try failed in a way that may be of the moment.
    is_again: bool,
    ledger: &'o Arc<Ledger>,
    head_bytes: u64,
    tail_bytes: u64,
    until: Instant,
}

/// Opens a file; tries again as the options say.
pub(crate) fn open_address(
    address: Address,
    network: &Network,
    speculation: Speculation,
    is_multi_range: bool,
) -> Result<Opened> {
    let address = Arc::new(address);
    let client = Client::shared(network);
    let ledger = Arc::new(Ledger::new("http", false).logging(address.name()));
    let attempts = Arc::new(Ledger::new("attempt", false));
    let policy = Policy::of(network);
    let mut is_again = false;
    let (store, preloaded) = policy.open(address.name(), &attempts, |until| {
        let (head_bytes, tail_bytes) = (speculation.head_bytes.max(1), speculation.tail_bytes);
        let (address, client, ledger) = (&address, &client, &ledger);
        let is_again = std::mem::replace(&mut is_again, true);
        Opening { address, client, network, is_multi_range, is_again, ledger, head_bytes, tail_bytes, until }.open()
    })?;
    let source: Arc<dyn Source> = match store {
        OpenedFile::Ranges(store) => Arc::new(Retry::new(*store, policy, Arc::clone(&attempts))),
        OpenedFile::Whole(file) => Arc::new(file),
    };
    Ok(Opened { source, preloaded, ledgers: [attempts, ledger].into_iter().collect() })
}

/// What a file is read through once it is open.
enum OpenedFile {
    Ranges(Box<HttpStore>),
    Whole(WholeFile),
}

/// Offset in the file and content of bytes that came with the opening.
type PreloadedBytes = Vec<(u64, Vec<u8>)>;

impl Opening<'_> {
    fn open(&self) -> Result<(OpenedFile, PreloadedBytes)> {
        let mut found = Brought::AskAgain;
        let (origin, start) = (self.origin(), Instant::now());
        let may_have_both =
            self.is_multi_range && self.tail_bytes > 0 && origin.takes_suffix() && origin.range_limit() > 1;
        if may_have_both && !self.is_again {
            found = self.ask_for_both().inspect_err(|error| {
                if error.is_transient() {
                    origin.leave_unanswered(start);
                }
            })?;
        }
        match found {
            Brought::AskAgain => {
                found = self.ask_for_each()?;
                if may_have_both && self.is_again {
                    origin.try_single(true, start);
                }
            }
            Brought::Forbidden => {
                found = self.ask_for_each()?;
                origin.refuse(2);
            }
            _ => {}
        }
        // What a server says of ranges that end after a file is not what the file is like.
        if let Brought::Small(n_bytes) = found {
            found = self.ask_for_one(&format!("bytes=0-{}", n_bytes.saturating_sub(1)), n_bytes)?;
        }
        if matches!(found, Brought::Small(_) | Brought::NoSuchRange) {
            found = self.ask_for_all()?;
        }
        match found {
            Brought::Part(pieces, version) => self.complete(pieces, version),
            Brought::All(bytes, version) => {
                Ok((OpenedFile::Ranges(Box::new(self.store(bytes.len() as u64, version))), vec![(0, bytes)]))
            }
            Brought::NoRanges | Brought::AskAgain | Brought::Small(_) | Brought::NoSuchRange | Brought::Forbidden => {
                let start = Instant::now();
                let file = self.copied();
                let n_bytes = file.as_ref().map_or(0, |file| file.size_bytes());
                let copied = std::iter::once((0, n_bytes));
                let file = self.ledger.enter_since(start, Operation::StageIn, copied, file)?;
                Ok((OpenedFile::Whole(file), Vec::new()))
            }
        }
    }

    /// All of the file, copied.
    fn copied(&self) -> Result<WholeFile> {
        let until = Instant::now() + LONGEST_DOWNLOAD;
        let answer = self.client.ask(Question { until, ..self.question("bytes=0-", "copying the file") })?;
        let pace = Pace::new(self.network.deadline);
        WholeFile::download(self.address, answer, pace, self.network.max_copy_bytes)
    }

    /// Makes a request of the opening, and enters what came with it.
    fn entered(&self, request: impl FnOnce() -> Result<Brought>) -> Result<Brought> {
        let start = Instant::now();
        let found = request();
        let came = found.as_ref().map_or_else(|_| Vec::new(), Brought::ranges);
        self.ledger.enter_since(start, Operation::Open, came.into_iter(), found)
    }

    fn origin(&self) -> Arc<Origin> {
        let url = self.address.redirected().unwrap_or_else(|| self.address.original());
        self.client.origin(&url, self.is_multi_range)
    }

    fn question<'q>(&'q self, range: &'q str, doing: &'q str) -> Question<'q> {
        let (is_multi_range, until) = (self.is_multi_range, self.until);
        Question {
            address: self.address,
            range,
            operation: Operation::Open,
            doing,
            version: None,
            is_multi_range,
            ledger: self.ledger,
            head_until: until,
            until,
        }
    }

    fn store(&self, size_bytes: u64, version: Version) -> HttpStore {
        HttpStore {
            address: Arc::clone(self.address),
            client: Mutex::new(Arc::clone(self.client)),
            network: self.network.clone(),
            version,
            size_bytes,
            is_multi_range: self.is_multi_range,
            ledger: Arc::clone(self.ledger),
        }
    }

    /// A range of a file of unknown size (RFC 9110, section 14.4) will be so the next time, too.
    fn sizeless(&self) -> Error {
        Error::Server {
            url: self.address.name().to_owned(),
            doing: "opening".to_owned(),
            answer: "a range, but not the size of the file, without which it cannot be read".to_owned(),
            is_transient: false,
        }
    }

    /// Asks for head and tail in one request.
    fn ask_for_both(&self) -> Result<Brought> {
        let range = format!("bytes=0-{},-{}", self.head_bytes - 1, self.tail_bytes);
        let n_bytes = self.head_bytes.saturating_add(self.tail_bytes);
        self.entered(|| {
            let mut found = Brought::AskAgain;
            let mut answer = self.client.ask(self.question(&range, "opening"))?;
            let origin = Arc::clone(&answer.origin);
            let version = answer.version();
            let mut pieces = OpeningBytes::of_at_most(n_bytes);
            let kind = match answer.kind() {
                Ok(kind) => kind,
                Err(Error::WrongAnswer { .. }) => {
                    origin.note_fault(answer.asked_at, Fault::Wrong);
                    return Ok(found);
                }
                Err(error) => return Err(error),
            };
            match kind {
                Kind::Multi(parts) => match answer.receive_multi(parts, &mut pieces) {
                    Ok(()) => {
                        origin.approve();
                        found = Brought::Part(pieces, version);
                    }
                    Err(Error::WrongAnswer { .. }) => origin.note_fault(answer.asked_at, Fault::Wrong),
                    Err(error) => return Err(error),
                },
                Kind::Single(content) if content.total_bytes.is_none() => return Err(self.sizeless()),
                Kind::Single(content) if content.range.end - content.range.start <= n_bytes + MAX_GAP_BYTES => {
                    answer.receive_single(&content, &mut pieces)?;
                    let total = content.total_bytes.unwrap_or_default();
                    if !pieces.covers(total.saturating_sub(self.tail_bytes), total) {
                        // It took the first range for the only one: whether it is several that it does not answer is
                        // seen when it is asked for several.
                        origin.refuse_suffix();
                    }
                    found = Brought::Part(pieces, version);
                }
                Kind::Whole(Some(length)) if length <= n_bytes + MAX_GAP_BYTES => {
                    found = self.all(&mut answer, length, version)?;
                }
                Kind::Whole(_) if answer.refuses_ranges() => found = Brought::NoRanges,
                Kind::Unsatisfiable(Some(0)) => found = Brought::All(Vec::new(), version),
                // Without a length it may dribble on for all the time that there is: it is not worth the connection.
                Kind::Whole(None) => origin.refuse(2),
                Kind::Single(_) | Kind::Whole(_) | Kind::Status(400 | 405 | 413 | 414 | 431 | 501) => {
                    origin.refuse(2);
                    answer.discard();
                }
                // It takes no range that ends after a small file.
                Kind::Unsatisfiable(Some(total)) if total <= n_bytes => {
                    answer.discard();
                    found = Brought::Small(total);
                }
                // No tail in this server's language, or a fault.
                Kind::Unsatisfiable(_) | Kind::Status(500) => {
                    origin.note_fault(answer.asked_at, Fault::TooMany(2));
                    answer.discard();
                }
                // Most that are not found are not there: to ask again would cost them a round trip.
                Kind::Status(status) if may_be_of_several(status) && !matches!(status, 404 | 410) => {
                    answer.discard();
                    found = Brought::Forbidden;
                }
                Kind::Status(_) => return Err(answer.into_error()),
            }
            Ok(found)
        })
    }

    /// Asks for head and tail in two requests at the same time.
    fn ask_for_each(&self) -> Result<Brought> {
        let tail_range = format!("bytes=-{}", self.tail_bytes);
        let (head, tail) = std::thread::scope(|scope| {
            let ask_tail = || self.ask_for_one(&tail_range, self.tail_bytes);
            let tail = (self.tail_bytes > 0 && self.origin().takes_suffix()).then(|| {
                std::thread::Builder::new().name("arrowroot-http".to_owned()).spawn_scoped(scope, ask_tail).ok()
            });
            let head = self.ask_for_one(&format!("bytes=0-{}", self.head_bytes - 1), self.head_bytes);
            (head, tail.flatten().and_then(|tail| tail.join().ok()))
        });
        match (head?, tail) {
            (Brought::Part(mut head, version), Some(Ok(Brought::Part(tail, tail_version)))) => {
                if let Some(what) = version.difference(&tail_version) {
                    return Err(Error::Changed { url: self.address.name().to_owned(), what });
                }
                if head.total_bytes != tail.total_bytes {
                    let what = format!("it has {:?} and {:?} bytes", head.total_bytes, tail.total_bytes);
                    return Err(Error::Changed { url: self.address.name().to_owned(), what });
                }
                head.pieces.extend(tail.pieces);
                Ok(Brought::Part(head, version))
            }
            (Brought::Part(..), Some(Err(error))) if Instant::now() >= self.until => Err(error),
            // A tail that failed is asked for again, by its offsets.
            (found, _) => Ok(found),
        }
    }

    fn ask_for_one(&self, range: &str, n_bytes: u64) -> Result<Brought> {
        self.entered(|| {
            let mut answer = self.client.ask(self.question(range, "opening"))?;
            let version = answer.version();
            let mut pieces = OpeningBytes::of_at_most(n_bytes);
            Ok(match answer.kind()? {
                Kind::Single(content) if content.total_bytes.is_none() => return Err(self.sizeless()),
                Kind::Single(content) => {
                    answer.receive_single(&content, &mut pieces)?;
                    Brought::Part(pieces, version)
                }
                Kind::Multi(parts) => {
                    answer.receive_multi(parts, &mut pieces)?;
                    Brought::Part(pieces, version)
                }
                Kind::Whole(Some(length)) if length <= n_bytes + MAX_GAP_BYTES => {
                    self.all(&mut answer, length, version)?
                }
                Kind::Whole(_) => {
                    if range.starts_with("bytes=-") {
                        answer.origin.refuse_suffix();
                    }
                    Brought::NoRanges
                }
                Kind::Unsatisfiable(Some(0)) => Brought::All(Vec::new(), version),
                Kind::Unsatisfiable(Some(total)) if total < n_bytes => {
                    answer.discard();
                    Brought::Small(total)
                }
                // Only an empty file has no head, but not all servers mean that.
                Kind::Unsatisfiable(_) | Kind::Status(400 | 405 | 413 | 501) => {
                    answer.discard();
                    Brought::NoSuchRange
                }
                Kind::Status(_) => return Err(answer.into_error()),
            })
        })
    }

    /// Asks for the file without a range, and takes it if it is small.
    fn ask_for_all(&self) -> Result<Brought> {
        self.entered(|| {
            let mut answer = self.client.ask(self.question("", "opening"))?;
            let version = answer.version();
            let n_bytes = self.head_bytes.saturating_add(self.tail_bytes).saturating_add(MAX_GAP_BYTES);
            match answer.kind()? {
                Kind::Whole(Some(length)) if length <= n_bytes => self.all(&mut answer, length, version),
                Kind::Whole(_) => Ok(Brought::NoRanges),
                _ => Err(answer.into_error()),
            }
        })
    }

    fn all(&self, answer: &mut Answer, length: u64, version: Version) -> Result<Brought> {
        let mut bytes = Vec::new();
        answer.receive_whole(length, |chunk| {
            bytes.extend_from_slice(chunk);
            Ok(())
        })?;
        Ok(Brought::All(bytes, version))
    }

    /// Asks for what is missing of head and tail, now that the size is known.
    fn complete(&self, pieces: OpeningBytes, version: Version) -> Result<(OpenedFile, PreloadedBytes)> {
        let size_bytes = pieces.total_bytes.ok_or_else(|| self.sizeless())?;
        let store = self.store(size_bytes, version);
        let head = 0..self.head_bytes.min(size_bytes);
        let tail = size_bytes.saturating_sub(self.tail_bytes).max(head.end)..size_bytes;
        let missing = [head, tail].into_iter().filter(|range| !pieces.covers(range.start, range.end));
        let mut missing: Vec<_> = missing
            .map(|range| (range.start, vec![0; usize::try_from(range.end - range.start).unwrap_or(usize::MAX)]))
            .collect();
        let mut parts: Vec<_> = missing.iter_mut().map(|(offset, buffer)| Part { offset: *offset, buffer }).collect();
        // It took the first of two ranges for the only one, or just takes none that counts from the end: the first byte, asked for
        // with the tail, tells which, before a scan is planned for what the server does not do.
        let (origin, mut first_byte) = (self.origin(), [0]);
        if origin.range_limit() > 1 && !origin.answers_several() && parts.iter().any(|part| part.offset > 1) {
            parts.push(Part { offset: 0, buffer: &mut first_byte });
        }
        store.attempt(parts, self.until).1?;
        let mut preloaded = pieces.pieces;
        preloaded.extend(missing);
        Ok((OpenedFile::Ranges(Box::new(store)), preloaded))
    }
}
