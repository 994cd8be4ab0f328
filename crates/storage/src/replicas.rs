//! Several URLs of one file.
//!
//! Reads go to one of them. When a read fails there for good, after all tries, the next URL is opened and the whole read is
//! made there; later reads stay with it. After the last URL comes the first again, but one read goes round only once: if
//! every replica fails, its error names them all ([`Error::Replicas`]). A replica that has not the size and the first bytes of
//! the one that was opened first is another file, and passed over; versions (ETags) say nothing, as they differ between
//! servers. A file that changed while it was open ([`Error::Changed`]) or ends too early is not looked for elsewhere.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::account::{Accounted, Ledger, Ledgers, Operation};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::secret::redacted;
use crate::shared::Shared;
use crate::source::{AccessProfile, Opened, Part, Source, Speculation};

/// So many first bytes are compared: what identifies a file is in its header (the UUID of a ROOT file).
pub(crate) const HEAD_BYTES: usize = 512;
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

struct Replicas {
    replicas: Vec<Replica>,
    current: AtomicUsize,
    /// Those of the one that was opened first.
    identity: Identity,
    version: Option<String>,
    /// That of the replica in use, or while it is being opened of the one before.
    profile: Mutex<AccessProfile>,
    /// Who wants a replica that another read opens waits for so long.
    deadline: Duration,
    /// Those of the replicas, and of the stores of all that were opened.
    ledgers: Ledgers,
    open: Box<Open>,
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
/// when it fails. If none is whole, the first of the fittest is opened. A single URL is not judged.
///
/// # Errors
/// [`Error::Replicas`] if none of several can be opened, that of the store if there is one; [`Error::Option`] if there is no URL.
pub fn open_replicas(urls: &[String], options: &Options, speculation: Speculation, judge: &Judge) -> Result<Opened> {
    if let [url] = urls {
        return crate::open(url, options, speculation);
    }
    let options = options.clone();
    open_with(urls, judge, options.network.deadline, Box::new(move |url| crate::open(url, &options, speculation)))
}

fn open_with(urls: &[String], judge: &Judge, deadline: Duration, open: Box<Open>) -> Result<Opened> {
    if urls.is_empty() {
        return Err(Error::Option { option: "URL".to_owned(), what: "there is none".to_owned() });
    }
    let mut failures = Vec::new();
    let replicas = urls.iter().enumerate().map(|(place, url)| Replica {
        address: url.clone(),
        url: redacted(url),
        ledger: Arc::new(Ledger::new(LAYERS[place.min(LAYERS.len() - 1)], false)),
        source: Shared::default(),
    });
    let mut replicas: Vec<_> = replicas.collect();
    let ledgers: Ledgers = replicas.iter().map(|replica| Arc::clone(&replica.ledger)).collect();
    let mut fittest: Option<(Fitness, usize, Opened, Identity)> = None;
    for (place, replica) in replicas.iter().enumerate() {
        match replica.open(&open, &ledgers) {
            Ok((opened, identity)) => {
                let fitness = judge(&opened, &identity.head);
                if fittest.as_ref().is_none_or(|(before, ..)| fitness > *before) {
                    fittest = Some((fitness, place, opened, identity));
                }
                if fitness == Fitness::Whole {
                    break;
                }
            }
            Err(error) => failures.push((replica.url.clone(), error)),
        }
    }
    let Some((_, place, opened, identity)) = fittest else {
        return Err(Error::Replicas { n_replicas: urls.len(), done: "opened", failures });
    };
    replicas[place].source = Shared::of(Arc::clone(&opened.source));
    let (current, version) = (AtomicUsize::new(place), opened.source.version());
    let profile = Mutex::new(opened.source.access_profile());
    let source = Replicas { replicas, current, identity, version, profile, deadline, ledgers: ledgers.clone(), open };
    Ok(Opened { source: Arc::new(source), preloaded: opened.preloaded, ledgers })
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
                let (opened, identity) = replica.open(&self.open, &self.ledgers)?;
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

    fn read_somewhere(&self, mut read: impl FnMut(&dyn Source) -> Result<()>) -> Result<()> {
        let mut place = self.current();
        let mut failures = Vec::new();
        loop {
            let replica = &self.replicas[place];
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
            if is_final || failures.len() == self.replicas.len() {
                return Err(Error::Replicas { n_replicas: self.replicas.len(), done: "read", failures });
            }
            let next = (place + 1) % self.replicas.len();
            // Another read may have gone on already.
            let gone_on = self.current.compare_exchange(place, next, Relaxed, Relaxed);
            place = gone_on.map_or_else(|current| if current == place { next } else { current }, |_| next);
        }
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
        let mut last = self.profile.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = self.replicas[self.current()].source.current() {
            *last = source.access_profile();
        }
        *last
    }

    fn version(&self) -> Option<String> {
        self.version.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySource;
    use std::collections::HashSet;

    /// Opens files in memory whose names are their sizes, and where they go on, what they hold; some fail.
    fn opener(broken: Arc<Mutex<HashSet<String>>>) -> Box<Open> {
        struct Breakable(MemorySource, Arc<Mutex<HashSet<String>>>);
        impl Breakable {
            fn check(&self) -> Result<()> {
                let is_broken = self.1.lock().unwrap().contains(self.0.url());
                let (doing, what) = ("reading".to_owned(), "reset".to_owned());
                if is_broken { Err(Error::Connection { url: self.0.url().to_owned(), doing, what }) } else { Ok(()) }
            }
        }
        impl Source for Breakable {
            fn url(&self) -> &str {
                self.0.url()
            }
            fn size_bytes(&self) -> u64 {
                self.0.size_bytes()
            }
            fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
                self.check()?;
                self.0.read_at(offset, buffer)
            }
            fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
                self.check()?;
                self.0.read_vector(parts)
            }
            fn access_profile(&self) -> AccessProfile {
                AccessProfile { is_remote: true, ..AccessProfile::LOCAL }
            }
        }
        Box::new(move |url| {
            let name = url.rsplit('/').next().unwrap();
            let (size, value) = name.split_once('=').unwrap_or((name, "1"));
            let content = vec![value.parse().unwrap(); size.parse().unwrap()];
            let source = Breakable(MemorySource::new(url, content), Arc::clone(&broken));
            source.check()?;
            let ledgers = std::iter::once(Arc::new(Ledger::new("http", false))).collect();
            Ok(Opened { source: Arc::new(source), preloaded: Vec::new(), ledgers })
        })
    }

    fn replicas(urls: &[&str], broken: &Arc<Mutex<HashSet<String>>>) -> Result<Opened> {
        // What holds fives is cut short, what holds fours is something else.
        let judge = |_: &Opened, head: &[u8]| match head.first() {
            Some(5) => Fitness::Partial,
            Some(4) => Fitness::Useless,
            _ => Fitness::Whole,
        };
        open_with(
            &urls.iter().map(|&url| url.to_owned()).collect::<Vec<_>>(),
            &judge,
            Duration::from_secs(60),
            opener(Arc::clone(broken)),
        )
    }

    #[test]
    fn a_read_that_fails_for_good_goes_on_with_the_next() {
        let broken = Arc::default();
        let opened = replicas(&["x://a/9", "x://b/9", "x://c/9"], &broken).unwrap();
        let source = opened.source;
        source.read_at(0, &mut [0; 3]).unwrap();
        assert_eq!(source.url(), "x://a/9");
        broken.lock().unwrap().extend(["x://a/9".to_owned(), "x://b/9".to_owned()]);
        source.read_at(0, &mut [0; 3]).unwrap();
        assert_eq!(source.url(), "x://c/9");
        let totals: Vec<_> = opened.ledgers.all().iter().map(|ledger| ledger.totals(Operation::Read)).collect();
        assert_eq!(
            totals[..3].iter().map(|t| (t.n_attempted, t.n_successful)).collect::<Vec<_>>(),
            [(3, 2), (0, 0), (2, 2)],
            "one of each that was opened is of its beginning"
        );
        assert_eq!(opened.ledgers.all()[1].totals(Operation::Open).n_attempted, 1);
        let layers: Vec<_> = opened.ledgers.all().iter().map(|ledger| ledger.layer()).collect();
        assert_eq!(layers, ["replica 1", "replica 2", "replica 3", "http", "http"], "of each store that was opened");
        broken.lock().unwrap().remove("x://a/9");
        broken.lock().unwrap().insert("x://c/9".to_owned());
        source.read_at(0, &mut [0; 3]).unwrap();
        assert_eq!(source.url(), "x://a/9", "after the last comes the first");
    }

    #[test]
    fn reads_that_wait_together_for_a_replica_wait_as_long_as_one() {
        let opening = Duration::from_secs(1);
        let urls = ["x://a/9".to_owned(), "x://b/9".to_owned()];
        let broken = Arc::new(Mutex::new(HashSet::new()));
        let (slow, opener) = (urls[1].clone(), opener(Arc::clone(&broken)));
        let open = move |url: &str| {
            if url == slow {
                std::thread::sleep(opening);
            }
            opener(url)
        };
        let source = open_with(&urls, &|_, _| Fitness::Whole, Duration::from_secs(60), Box::new(open)).unwrap().source;
        broken.lock().unwrap().extend(urls);
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| source.read_at(0, &mut [0; 3]).unwrap_err());
            }
            std::thread::sleep(opening / 3);
            assert!(source.access_profile().is_remote, "what is being opened is no nearer than what was");
        });
        assert!(begin.elapsed() < 7 * opening, "{:?}", begin.elapsed());
    }

    #[test]
    fn when_all_fail_the_read_fails_once_round() {
        let broken = Arc::default();
        let opened = replicas(&["x://a/9", "x://b/9"], &broken).unwrap();
        broken.lock().unwrap().extend(["x://a/9".to_owned(), "x://b/9".to_owned()]);
        let error = opened.source.read_at(0, &mut [0; 3]).unwrap_err();
        let both = "(1) x://a/9: reading: reset; (2) x://b/9: reading: reset";
        assert_eq!(error.to_string(), format!("none of 2 replicas can be read: {both}"));
        assert!(matches!(error.most_telling(), Error::Connection { .. }));
        let error = replicas(&["x://a/9", "x://b/9"], &broken).err().unwrap();
        assert_eq!(error.to_string(), format!("none of 2 replicas can be opened: {both}"));
        let error = replicas(&[], &broken).err().unwrap();
        assert!(matches!(error, Error::Option { .. }), "{error}");
    }

    #[test]
    fn a_replica_of_another_size_is_another_file() {
        let broken = Arc::default();
        let opened = replicas(&["x://u:p@a/9", "x://b/8"], &broken).unwrap();
        assert_eq!(opened.source.url(), "x://a/9");
        broken.lock().unwrap().insert("x://u:p@a/9".to_owned());
        let error = opened.source.read_at(0, &mut [0; 3]).unwrap_err();
        assert!(matches!(error.most_telling(), Error::Changed { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("(1) x://a/9: ") && text.contains("(2) x://b/8: "), "{text}");
        assert!(text.contains("reading: reset; (2)") && text.contains("8 bytes here, 9 elsewhere"), "{text}");
    }

    #[test]
    fn a_replica_that_begins_otherwise_is_another_file_and_passed_over() {
        let broken = Arc::default();
        let urls = ["x://a/9", "x://b/9=2", "x://c/8", "x://d/9"];
        let source = replicas(&urls, &broken).unwrap().source;
        broken.lock().unwrap().insert(urls[0].to_owned());
        let mut found = [0; 3];
        source.read_at(0, &mut found).unwrap();
        assert_eq!((source.url(), found), ("x://d/9", [1; 3]));
        broken.lock().unwrap().insert(urls[3].to_owned());
        let error = source.read_at(0, &mut found).unwrap_err();
        assert!(matches!(error.most_telling(), Error::Changed { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("x://b/9=2: the file changed") && text.contains("begin as its replica x://a/9;"),
            "{text}"
        );
    }

    #[test]
    fn the_error_of_many_replicas_is_bounded_and_says_what_can_be_done() {
        let io = |kind: std::io::ErrorKind| {
            let (url, doing) = ("x://d/f".to_owned(), "cannot be opened".to_owned());
            Error::Io { url, doing, source: Arc::new(kind.into()) }
        };
        let not_found = || Error::NotFound { url: "x://a/f".to_owned(), answer: "404".to_owned() };
        let connection = || {
            let (doing, what) = ("connecting".to_owned(), "refused".to_owned());
            Error::Connection { url: "x://b/f".to_owned(), doing, what }
        };
        let denied = || {
            let (answer, hint) = ("403".to_owned(), "no token".to_owned());
            Error::Denied { url: "x://c/f".to_owned(), answer, hint }
        };
        let option = || Error::Option { option: "s3_endpoint".to_owned(), what: "none".to_owned() };
        let of = |errors: Vec<Error>| Error::Replicas {
            n_replicas: errors.len(),
            done: "opened",
            failures: errors.into_iter().map(|error| ("x://h/f".to_owned(), error)).collect(),
        };
        let kind_of = |errors| std::mem::discriminant(of(errors).most_telling());
        let is = |error: &Error| std::mem::discriminant(error);
        // A file that one server does not have may be on the one that cannot be reached.
        assert_eq!(kind_of(vec![not_found(), connection()]), is(&connection()));
        assert_eq!(kind_of(vec![io(std::io::ErrorKind::NotFound), not_found()]), is(&io(std::io::ErrorKind::NotFound)));
        assert_eq!(kind_of(vec![connection(), denied(), not_found()]), is(&denied()));
        assert_eq!(kind_of(vec![option(), connection()]), is(&connection()));
        assert_eq!(kind_of(vec![not_found(), option()]), is(&option()));
        let text = of(vec![option()]).to_string();
        assert!(text.ends_with("(1) x://h/f: s3_endpoint: none"), "{text}");
        let long = |n: usize| Error::NotFound { url: format!("x://h/f{}", "é".repeat(n)), answer: "404".to_owned() };
        let text = of((0..1000).map(|_| long(10_000)).collect()).to_string();
        assert!(text.ends_with("and 992 more") && text.contains("no such file: 404; (2) x://h/f"), "{text}");
        assert!(text.chars().count() < 4000);
    }

    #[test]
    fn one_that_is_whole_goes_before_one_that_is_not() {
        let broken = Arc::new(Mutex::new(HashSet::from(["x://broken/9".to_owned()])));
        let (useless, partial, whole) = ("x://a/7=4", "x://b/8=5", "x://c/9");
        for (urls, opened) in [
            (vec![useless, partial, whole], whole),
            (vec!["x://broken/9", partial, useless, "x://d/8=5"], partial),
            (vec![useless, "x://broken/9", "x://d/7=4"], useless),
        ] {
            let source = replicas(&urls, &broken).unwrap().source;
            assert_eq!(source.url(), opened, "{urls:?}");
        }
        // What was passed over does not stand in.
        let source = replicas(&[useless, partial, whole], &broken).unwrap().source;
        broken.lock().unwrap().insert(whole.to_owned());
        let error = source.read_at(0, &mut [0; 3]).unwrap_err().to_string();
        assert!(error.contains("7 bytes here, 9 elsewhere") && error.contains("8 bytes here"), "{error}");
    }

    #[test]
    fn the_first_that_opens_is_used() {
        let broken = Arc::new(Mutex::new(HashSet::from(["x://a/9".to_owned()])));
        assert_eq!(replicas(&["x://a/9", "x://b/9"], &broken).unwrap().source.url(), "x://b/9");
    }
}
