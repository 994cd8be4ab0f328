//! What is entered of the requests that are no reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use arrowroot_storage::{Network, Opened, Operation, open_xrootd};

use crate::fake::{CLOSE, READ, start};
use crate::server::content;
use crate::{NONE, network, url};

/// Attempted and successful operations of one kind.
fn entered(opened: &Opened, operation: Operation) -> (u64, u64) {
    let ledgers = opened.ledgers.all();
    let totals = ledgers.iter().find(|ledger| ledger.layer() == "xrootd").unwrap().totals(operation);
    (totals.n_attempted, totals.n_successful)
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
