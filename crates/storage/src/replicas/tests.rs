//! Tests of replicas: files in memory, some of which fail or are other files.

use super::*;
use crate::MemorySource;
use std::collections::HashSet;

/// Opens files in memory whose names are their sizes, and where they go on, what they hold; some fail.
fn opener(broken: Arc<Mutex<HashSet<String>>>) -> Arc<Open> {
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
    Arc::new(move |url: &str| {
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
    .map(|(opened, _)| opened)
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
    let source = open_with(&urls, &|_, _| Fitness::Whole, Duration::from_secs(60), Arc::new(open)).unwrap().0.source;
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
    assert!(text.contains("x://b/9=2: the file changed") && text.contains("begin as its replica x://a/9;"), "{text}");
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

#[test]
fn what_is_wrong_is_asked_of_the_others_and_later_reads_stay_there() {
    let broken = Arc::default();
    let urls = ["x://a/9=1", "x://b/9=1", "x://c/9=1"].map(str::to_owned);
    let (opened, replicas) =
        open_with(&urls, &|_, _| Fitness::Whole, Duration::from_secs(60), opener(Arc::clone(&broken))).unwrap();
    let mut n_asked = 0;
    let mut take = |from: usize| {
        n_asked = 0;
        let found = replicas.reread(2..5, |bytes| {
            n_asked += 1;
            if n_asked > from { Ok(bytes.to_vec()) } else { Err(format!("wrong {n_asked}")) }
        });
        found.map(|found| (found.value, found.damaged.to_owned(), found.from.to_owned()))
    };
    let of = |damaged: &str, from: &str| Ok((vec![1; 3], damaged.to_owned(), from.to_owned()));
    assert_eq!(take(0), of("", &urls[0]), "it was wrong on the way");
    broken.lock().unwrap().insert(urls[1].clone());
    assert_eq!(take(1), of(&urls[0], &urls[2]), "one that cannot be read is passed over");
    assert_eq!(opened.source.url(), urls[2]);
    assert_eq!(take(0), of(&urls[0], &urls[2]), "another read has gone on meanwhile");
    assert_eq!(replicas.others().collect::<Vec<_>>(), [0, 1, 2], "what is wrong may be of the one before");
    let failures = take(9).unwrap_err();
    assert_eq!(failures.iter().map(|(url, _)| url).collect::<Vec<_>>(), [&urls[2], &urls[0], &urls[1]]);
    assert_eq!(failures[0].1, "wrong 1");
    assert!(failures[2].1.contains("reset"), "{failures:?}");
    assert_eq!(replicas.reread(5..10, |_| Ok::<_, String>(())).unwrap_err(), [], "not in the file");
}

#[test]
fn another_replica_is_opened_beside_with_the_same_account() {
    let broken = Arc::default();
    let urls = ["x://a/9", "x://b/9", "x://c/8"].map(str::to_owned);
    let (opened, replicas) = open_with(&urls, &|_, _| Fitness::Whole, Duration::from_secs(60), opener(broken)).unwrap();
    let (other, turned) = replicas.turned_to(1).unwrap();
    assert_eq!((opened.source.url(), other.source.url()), (urls[0].as_str(), urls[1].as_str()));
    assert_eq!(turned.others().collect::<Vec<_>>(), [2, 0]);
    assert_eq!(opened.ledgers.all()[1].totals(Operation::Open).n_successful, 1);
    assert!(matches!(replicas.turned_to(2), Err(Error::Changed { .. })), "it is another file");
    for number in 0..MAX_NOTES + 3 {
        turned.note_mended(number.to_string());
    }
    let notes = replicas.take_mended();
    assert_eq!(notes.len(), MAX_NOTES);
    assert!(notes.last().unwrap().ends_with("and so were 3 more pieces of it"), "{notes:?}");
    assert!(replicas.take_mended().is_empty());
}

#[test]
fn each_replica_is_asked_once_whichever_other_reads_have_gone_on_to() {
    let urls = ["x://a/9", "x://b/9", "x://c/9"].map(str::to_owned);
    let opener = opener(Arc::default());
    let (_, replicas) = open_with(&urls, &|_, _| Fitness::Whole, Duration::from_secs(60), opener).unwrap();
    let mut asked = Vec::new();
    let read = |source: &dyn Source| {
        if asked.is_empty() {
            // Meanwhile another read has gone on to the last.
            replicas.current.store(2, Relaxed);
        }
        asked.push(source.url().to_owned());
        Err(Error::Connection { url: source.url().to_owned(), doing: "reading".to_owned(), what: "reset".to_owned() })
    };
    replicas.read_somewhere(read).unwrap_err();
    asked.sort();
    assert_eq!(asked, urls);
}
