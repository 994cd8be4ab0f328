//! What is entered of the requests to a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use arrowroot_storage::{Network, Opened, Operation, open_xrootd};

use super::fake::{CLOSE, OK, READ, READ_VECTOR, framed, right_body, start};
use super::server::content;
use super::{NONE, check_ranges, network, url};

/// Attempted and successful operations of one kind.
fn entered(opened: &Opened, operation: Operation) -> (u64, u64) {
    let ledgers = opened.ledgers.all();
    let totals = ledgers.iter().find(|ledger| ledger.layer() == "xrootd").unwrap().totals(operation);
    (totals.n_attempted, totals.n_successful)
}

#[test]
fn files_of_one_path_that_hidden_words_tell_apart_have_versions_of_their_own() {
    let file = content(1000, 1);
    let (port, _) = start(move |mut client, _| {
        client.greet("")?;
        client.serve(&file, &[]).map(drop)
    });
    let open = |words: &str| open_xrootd(&format!("{}{words}", url(port)), &network(), NONE).unwrap().source;
    let [plain, first, second, token] = ["", "?member=a", "?member=b", "?authz=Bearer%20x"].map(open);
    assert_eq!(first.url(), second.url());
    assert!(first.version().is_some() && first.version() != second.version());
    assert_eq!(plain.version(), token.version());
}

#[test]
fn closes_are_those_that_were_sent() {
    let (file, n_closes) = (content(1000, 1), Arc::new(AtomicUsize::new(0)));
    let of_server = Arc::clone(&n_closes);
    let (port, n_connections) = start(move |mut client, number| {
        client.greet("")?;
        loop {
            let request = client.serve(&file, &[CLOSE, READ])?;
            match request.code {
                CLOSE => drop(of_server.fetch_add(1, SeqCst)),
                // Breaks off: what was open here is closed by that.
                _ if number < 2 => return None,
                _ => {}
            }
            client.answer_rightly(&request, &file);
        }
    });
    let opened = open_xrootd(&url(port), &network(), NONE).unwrap();
    opened.source.read_at(0, &mut [0; 10]).unwrap();
    assert_eq!((n_connections.load(SeqCst), entered(&opened, Operation::Open)), (3, (3, 3)));
    assert_eq!((n_closes.load(SeqCst), entered(&opened, Operation::Close)), (0, (0, 0)));
}

#[test]
fn each_read_that_the_server_gets_is_entered() {
    let file = content(40_000_000, 1);
    let n_reads = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let of_server = Arc::clone(&n_reads);
    let served = file.clone();
    let (port, _) = start(move |mut client, _| {
        client.greet("")?;
        loop {
            let request = client.serve(&served, &[READ, READ_VECTOR])?;
            of_server[usize::from(request.code == READ_VECTOR)].fetch_add(1, SeqCst);
            client.answer_rightly(&request, &served);
        }
    });
    let opened = open_xrootd(&url(port), &network(), NONE).unwrap();
    // More ranges than one request may have, and one that is too large for a vector read and for a plain one.
    let many = (0..1500).map(|index| (index * 1000, 10));
    let large = (2_000_000, 30_000_000);
    let ranges: Vec<_> = many.chain([large]).map(|(start, n_bytes)| (start, start + n_bytes)).collect();
    check_ranges(&*opened.source, &ranges, &file);
    let seen: Vec<_> = n_reads.iter().map(|n| n.load(SeqCst) as u64).collect();
    assert!(seen[0] > 1 && seen[1] > 1, "{seen:?}");
    for (operation, n) in [Operation::Read, Operation::ReadVector].into_iter().zip(seen) {
        assert_eq!(entered(&opened, operation), (n, n), "{operation:?}");
    }
}

#[test]
fn openings_that_fail_before_the_file_is_asked_for_are_entered() {
    let file = content(1000, 1);
    let (port, _) = start(move |mut client, number| {
        // The first connection ends when it is read from, the next ones before anything is said.
        if matches!(number, 1 | 2) {
            return None;
        }
        client.greet("")?;
        let request = client.serve(&file, &[READ])?;
        if number == 0 {
            return None;
        }
        client.answer_rightly(&request, &file);
        client.serve(&file, &[]).map(drop)
    });
    let patient = Network { retries: 5, deadline: Duration::from_secs(60), ..network() };
    let opened = open_xrootd(&url(port), &patient, NONE).unwrap();
    opened.source.read_at(0, &mut [0; 10]).unwrap();
    let (n_attempted, n_successful) = entered(&opened, Operation::Open);
    assert_eq!(n_successful, 2);
    assert!(n_attempted > n_successful, "{n_attempted} attempted");
}

#[test]
fn openings_that_were_tried_in_vain_before_the_first_that_succeeded_are_entered() {
    let file = content(1000, 1);
    let (port, _) = start(move |mut client, number| {
        // One is not enough: without what goes out with the login a connection is tried again at once.
        if number < 2 {
            return None;
        }
        client.greet("")?;
        client.serve(&file, &[]).map(drop)
    });
    let opened = open_xrootd(&url(port), &Network { retries: 5, ..network() }, NONE).unwrap();
    let (n_attempted, n_successful) = entered(&opened, Operation::Open);
    assert_eq!(n_successful, 1);
    assert!(n_attempted > 1, "{n_attempted} attempted");
}

#[test]
fn what_an_answer_brought_that_broke_off_is_entered() {
    let file = content(40_000, 1);
    let ranges = [(0, 10_000), (20_000, 10_000)];
    for (ranges, operation) in [(&ranges[..1], Operation::Read), (&ranges[..], Operation::ReadVector)] {
        let served = file.clone();
        let (port, _) = start(move |mut client, number| {
            client.greet("")?;
            let request = client.serve(&served, &[READ, READ_VECTOR])?;
            if number == 0 {
                let answer = framed(request.stream, OK, &right_body(&request, &served));
                client.send(&answer[..answer.len() / 2]);
                return None;
            }
            client.answer_rightly(&request, &served);
            client.serve(&served, &[]).map(drop)
        });
        let opened = open_xrootd(&url(port), &network(), NONE).unwrap();
        check_ranges(&*opened.source, ranges, &file);
        let ledgers = opened.ledgers.all();
        let ledger = ledgers.iter().find(|ledger| ledger.layer() == "xrootd").unwrap();
        let n_bytes: u64 = [Operation::Read, Operation::ReadVector].iter().map(|&one| ledger.totals(one).bytes).sum();
        assert_eq!(n_bytes, ranges.iter().map(|&(_, n_bytes)| n_bytes as u64).sum::<u64>(), "{operation:?}");
    }
}
