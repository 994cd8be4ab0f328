//! Several URLs of one file.
//!
//! Reads go to one of them. When a read fails there for good, after all tries, the next URL is opened and the whole read is
//! made there; later reads stay with it. After the last URL comes the first again, but one read goes round only once: if
//! every replica fails, its error names them all ([`Error::Replicas`]). A replica that has not the size and the first bytes of
//! the one that was opened first is another file, and passed over; versions (ETags) say nothing, as they differ between
//! servers. A file that changed while it was open ([`Error::Changed`]) or ends too early is not looked for elsewhere.
//!
//! That bytes are wrong is seen by whoever knows what they should be: [`Replicas::reread`] asks the other replicas for a range,
//! and [`Stack::of_replica`](crate::Stack::of_replica) opens one of them beside.

use std::fmt::Display;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::account::{Accounted, Ledger, Ledgers, Operation};
use crate::error::{Error, Result};
use crate::logged::LOG;
use crate::options::Options;
use crate::requests::Protocol;
use crate::secret::redacted;
use crate::shared::Shared;
use crate::source::{AccessProfile, HEAD_BYTES, Opened, Part, Source, Speculation};

/// Names of ledgers; more replicas than these share the last.
const LAYERS: [&str; 4] = ["replica 1", "replica 2", "replica 3", "replica 4"];

type Open = dyn Fn(&str) -> Result<Opened> + Send + Sync;

/// What a replica is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fitness {
    /// It is not what is looked for: a login page, an error.
    Useless,
    /// Some of it is missing.
    Partial,
    /// Nothing speaks against it.
    Whole,
}

/// Tells what a replica is good for from its first 512 bytes (or all, if it has less), its size, and what came with its opening.
pub type Judge = dyn Fn(&Opened, &[u8]) -> Fitness;

struct Replica {
    /// With its credentials.
    address: String,
    /// For messages.
    url: String,
    ledger: Arc<Ledger>,
    source: Shared<Arc<dyn Source>, Error>,
}

/// The replicas of a file that is open.
pub struct Replicas {
    replicas: Vec<Replica>,
    current: AtomicUsize,
    /// The replica that was left last because it is damaged; none at first.
    left: AtomicUsize,
    /// That of the one that was opened first.
    identity: Arc<Identity>,
    version: Option<String>,
    /// Those of the replica in use, or while it is being opened of the one before.
    told: Mutex<(AccessProfile, Protocol)>,
    /// Who wants a replica that another read opens waits for so long.
    deadline: Duration,
    /// Those of the replicas, and of the stores of all that were opened.
    ledgers: Ledgers,
    open: Arc<Open>,
    /// What was damaged in one and read from another.
    mended: Arc<Mended>,
}

/// What was read anew.
#[derive(Debug)]
pub struct Reread<'r, T> {
    /// What was made of it.
    pub value: T,
    /// URL of the replica where it is wrong; empty if it was wrong on the way.
    pub damaged: &'r str,
    /// URL of the replica that it was read from.
    pub from: &'r str,
}

/// So many texts are kept until somebody takes them.
const MAX_NOTES: usize = 16;

/// What was damaged in one replica and read from another: texts, and how many more there were.
#[derive(Default)]
struct Mended {
    n_waiting: AtomicUsize,
    texts: Mutex<Vec<String>>,
}

impl Mended {
    fn note(&self, text: String) {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if texts.len() < MAX_NOTES {
            texts.push(text);
        }
        self.n_waiting.fetch_add(1, Relaxed);
    }

    fn take(&self) -> Vec<String> {
        if self.n_waiting.load(Relaxed) == 0 {
            return Vec::new();
        }
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let n_more = self.n_waiting.swap(0, Relaxed).saturating_sub(texts.len());
        let mut taken = std::mem::take(&mut *texts);
        if let (Some(last), true) = (taken.last_mut(), n_more > 0) {
            last.push_str(&format!("; and so were {n_more} more pieces of it"));
        }
        taken
    }
}

/// What two replicas of one file have in common.
struct Identity {
    url: String,
    size_bytes: u64,
    head: Vec<u8>,
}

impl Identity {
    /// That of a file that was just opened; one small read if its beginning did not come with that.
    fn of(opened: &Opened) -> Result<Identity> {
        let source = &opened.source;
        let (url, size_bytes) = (source.url().to_owned(), source.size_bytes());
        let n_bytes = usize::try_from(size_bytes).unwrap_or(HEAD_BYTES).min(HEAD_BYTES);
        let mut head = vec![0; n_bytes];
        match opened.preloaded.iter().find(|(offset, bytes)| *offset == 0 && bytes.len() >= n_bytes) {
            Some((_, bytes)) => head.copy_from_slice(&bytes[..n_bytes]),
            None => source.read_at(0, &mut head)?,
        }
        Ok(Identity { url, size_bytes, head })
    }

    /// Fails if another file is not the same.
    fn check(&self, other: &Identity) -> Result<()> {
        let what = if other.size_bytes != self.size_bytes {
            format!("it has {} bytes here, {} elsewhere", other.size_bytes, self.size_bytes)
        } else if other.head != self.head {
            format!("it does not begin as its replica {}", self.url)
        } else {
            return Ok(());
        };
        Err(Error::Changed { url: other.url.clone(), what })
    }
}

/// Opens the first of several URLs of one file that can be opened and is whole, in the eyes of `judge`; the others stand in
/// when it fails. If none is whole, the first of the fittest is opened. A single URL is not judged, and has no replicas.
///
/// # Errors
/// [`Error::Replicas`] if none of several can be opened, that of the store if there is one; [`Error::Option`] if there is no URL.
pub fn open_replicas(
    urls: &[String],
    options: &Options,
    speculation: Speculation,
    judge: &Judge,
) -> Result<(Opened, Option<Arc<Replicas>>)> {
    if let [url] = urls {
        return Ok((crate::open(url, options, speculation)?, None));
    }
    let (options, deadline) = (options.clone(), options.network.deadline);
    let open = Arc::new(move |url: &str| crate::open(url, &options, speculation));
    open_with(urls, judge, deadline, open).map(|(opened, replicas)| (opened, Some(replicas)))
}

fn open_with(urls: &[String], judge: &Judge, deadline: Duration, open: Arc<Open>) -> Result<(Opened, Arc<Replicas>)> {
    if urls.is_empty() {
        return Err(Error::Option { option: "URL".to_owned(), what: "there is none".to_owned() });
    }
    let mut failures = Vec::new();
    let replicas = urls.iter().enumerate().map(|(index, url)| Replica {
        address: url.clone(),
        url: redacted(url),
        ledger: Arc::new(Ledger::new(LAYERS[index.min(LAYERS.len() - 1)], false)),
        source: Shared::default(),
    });
    let mut replicas: Vec<_> = replicas.collect();
    let ledgers: Ledgers = replicas.iter().map(|replica| Arc::clone(&replica.ledger)).collect();
    let mut fittest: Option<(Fitness, usize, Opened, Identity)> = None;
    for (index, replica) in replicas.iter().enumerate() {
        match replica.open(open.as_ref(), &ledgers) {
            Ok((opened, identity)) => {
                let fitness = judge(&opened, &identity.head);
                if fittest.as_ref().is_none_or(|(before, ..)| fitness > *before) {
                    fittest = Some((fitness, index, opened, identity));
                }
                if fitness == Fitness::Whole {
                    break;
                }
            }
            Err(error) => {
                log::warn!(target: LOG, "{error}; another replica is opened if there is one");
                failures.push((replica.url.clone(), error));
            }
        }
    }
    let Some((_, index, opened, identity)) = fittest else {
        return Err(Error::Replicas { n_replicas: urls.len(), done: "opened", failures });
    };
    replicas[index].source = Shared::of(Arc::clone(&opened.source));
    let replicas = Replicas {
        replicas,
        current: AtomicUsize::new(index),
        left: AtomicUsize::new(usize::MAX),
        identity: Arc::new(identity),
        version: opened.source.version(),
        told: Mutex::new((opened.source.access_profile(), opened.source.protocol())),
        deadline,
        ledgers: ledgers.clone(),
        open,
        mended: Arc::default(),
    };
    let replicas = Arc::new(replicas);
    Ok((Opened { source: Arc::clone(&replicas) as _, preloaded: opened.preloaded, ledgers }, replicas))
}

impl Replica {
    /// Opens it, and looks what it is. The ledgers of its store are added to `ledgers`.
    fn open(&self, open: &Open, ledgers: &Ledgers) -> Result<(Opened, Identity)> {
        let opened = self.ledger.enter(Operation::Open, std::iter::empty(), || open(&self.address))?;
        ledgers.add(&opened.ledgers);
        let source = Arc::new(Accounted::new(opened.source, Arc::clone(&self.ledger)));
        let opened = Opened { source, ..opened };
        let identity = Identity::of(&opened)?;
        Ok((opened, identity))
    }
}

impl Replicas {
    fn current(&self) -> usize {
        self.current.load(Relaxed)
    }

    /// The source of a replica; if it has to be opened, by one read for all that want it, it must be the same file.
    fn source(&self, replica: &Replica) -> Result<Arc<dyn Source>> {
        let opened = replica.source.get(
            Instant::now() + self.deadline,
            |_| true,
            Error::is_for_want_of_time,
            |_| {
                let (opened, identity) = replica.open(self.open.as_ref(), &self.ledgers)?;
                self.identity.check(&identity)?;
                Ok(opened.source)
            },
        );
        opened.unwrap_or_else(|| {
            let (url, doing, what) =
                (replica.url.clone(), "opening".to_owned(), "another read still tries to".to_owned());
            let last = Box::new(Error::Connection { url: url.clone(), doing, what });
            Err(Error::Deadline { url, elapsed: self.deadline, n_tries: 1, last })
        })
    }

    /// Places of all but the one in use, in the order in which they are asked; that one is the last where reads have moved on
    /// to it, as what is wrong may have been read before.
    pub fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let n_replicas = self.replicas.len();
        let has_moved = self.left.load(Relaxed) < n_replicas;
        self.places_from(self.current()).skip(1).chain(has_moved.then(|| self.current()))
    }

    /// All places, beginning with one: other threads may change which one is in use meanwhile.
    fn places_from(&self, begin: usize) -> impl Iterator<Item = usize> + use<> {
        let n_replicas = self.replicas.len();
        (0..n_replicas).map(move |step| (begin + step) % n_replicas)
    }

    /// The URL of the replica at a place, without credentials.
    pub fn url_at(&self, index: usize) -> &str {
        self.replicas.get(index).map_or("", |replica| replica.url.as_str())
    }

    /// Reads a range anew because what was read of it is wrong: from each replica in turn, first from the one in use, until
    /// `take` makes something of the bytes. Later reads stay with that replica.
    ///
    /// # Errors
    /// Of each replica its URL, and why it was of no use.
    pub fn reread<T, E: Display>(
        &self,
        range: Range<u64>,
        mut take: impl FnMut(&[u8]) -> Result<T, E>,
    ) -> Result<Reread<'_, T>, Vec<(String, String)>> {
        let begin = self.current();
        let mut failures = Vec::new();
        let n_bytes = range.end.saturating_sub(range.start);
        if range.end > self.identity.size_bytes {
            return Err(failures);
        }
        let mut bytes = vec![0; usize::try_from(n_bytes).unwrap_or(usize::MAX)];
        for index in self.places_from(begin) {
            let replica = &self.replicas[index];
            let read = self.source(replica).and_then(|source| source.read_at(range.start, &mut bytes));
            let taken = read.map_err(|error| error.to_string()).and_then(|()| take(&bytes).map_err(|e| e.to_string()));
            match taken {
                Ok(value) if failures.is_empty() => {
                    // It was wrong on the way, or another read has just gone on from a replica that is damaged.
                    let left = self.left.load(Relaxed);
                    return Ok(Reread { value, damaged: self.url_at(left), from: &replica.url });
                }
                Ok(value) => {
                    self.left.store(begin, Relaxed);
                    self.current.store(index, Relaxed);
                    return Ok(Reread { value, damaged: self.url_at(begin), from: &replica.url });
                }
                Err(why) => failures.push((replica.url.clone(), why)),
            }
        }
        Err(failures)
    }

    /// Notes that something was damaged in one replica and read from another.
    pub fn note_mended(&self, text: String) {
        self.mended.note(text);
    }

    /// What was noted since this was asked for the last time.
    pub fn take_mended(&self) -> Vec<String> {
        self.mended.take()
    }

    /// The same replicas with another one in use, opened anew. It must be the same file. Ledgers and notes are shared.
    pub(crate) fn turned_to(&self, index: usize) -> Result<(Opened, Arc<Replicas>)> {
        let replicas = self.replicas.iter().map(|replica| Replica {
            address: replica.address.clone(),
            url: replica.url.clone(),
            ledger: Arc::clone(&replica.ledger),
            source: Shared::default(),
        });
        let mut replicas: Vec<_> = replicas.collect();
        let (opened, identity) = replicas[index].open(self.open.as_ref(), &self.ledgers)?;
        self.identity.check(&identity)?;
        replicas[index].source = Shared::of(Arc::clone(&opened.source));
        let turned = Arc::new(Replicas {
            replicas,
            current: AtomicUsize::new(index),
            left: AtomicUsize::new(usize::MAX),
            identity: Arc::clone(&self.identity),
            version: opened.source.version(),
            told: Mutex::new((opened.source.access_profile(), opened.source.protocol())),
            deadline: self.deadline,
            ledgers: self.ledgers.clone(),
            open: Arc::clone(&self.open),
            mended: Arc::clone(&self.mended),
        });
        let source = Arc::clone(&turned);
        Ok((Opened { source, preloaded: opened.preloaded, ledgers: self.ledgers.clone() }, turned))
    }

    fn read_somewhere(&self, mut read: impl FnMut(&dyn Source) -> Result<()>) -> Result<()> {
        let mut index = self.current();
        let mut tried = Vec::new();
        let mut failures = Vec::new();
        loop {
            tried.push(index);
            let replica = &self.replicas[index];
            let (error, is_final) = match self.source(replica) {
                Ok(source) => match read(source.as_ref()) {
                    Ok(()) => return Ok(()),
                    Err(error) => {
                        let is_final = matches!(error, Error::PastEnd { .. } | Error::Changed { .. });
                        (error, is_final)
                    }
                },
                Err(error) => (error, false),
            };
            if is_final && failures.is_empty() {
                return Err(error);
            }
            failures.push((replica.url.clone(), error));
            let is_untried = |index: &usize| !tried.contains(index);
            let Some(next) = self.places_from(index).find(is_untried).filter(|_| !is_final) else {
                return Err(Error::Replicas { n_replicas: self.replicas.len(), done: "read", failures });
            };
            // Another read may have gone on already.
            let gone_on = self.current.compare_exchange(index, next, Relaxed, Relaxed);
            index = gone_on.err().filter(is_untried).unwrap_or(next);
            if let Some((_, error)) = failures.last() {
                log::warn!(target: LOG, "{error}; {} is read instead", self.url_at(index));
            }
        }
    }

    /// What the replica in use says of itself.
    fn told(&self) -> (AccessProfile, Protocol) {
        let mut last = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = self.replicas[self.current()].source.current() {
            *last = (source.access_profile(), source.protocol());
        }
        *last
    }
}

#[deny(clippy::missing_trait_methods)]
impl Source for Replicas {
    /// The URL of the replica in use.
    fn url(&self) -> &str {
        &self.replicas[self.current()].url
    }

    fn size_bytes(&self) -> u64 {
        self.identity.size_bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read_somewhere(|source| source.read_at(offset, buffer))
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        self.read_somewhere(|source| source.read_vector(parts))
    }

    fn access_profile(&self) -> AccessProfile {
        self.told().0
    }

    fn protocol(&self) -> Protocol {
        self.told().1
    }

    fn version(&self) -> Option<String> {
        self.version.clone()
    }
}

#[cfg(test)]
mod tests;
