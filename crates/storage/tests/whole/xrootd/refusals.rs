//! Servers that refuse vector reads, get them wrong, or answer reads with less than was asked for.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use arrowroot_storage::{Operation, open_xrootd};

use super::answers::{FILE_BYTES, RANGES};
use super::fake::{Client, ERROR, OK, READ, READ_VECTOR, Request, right_body, start};
use super::server::content;
use super::{NONE, check_ranges, network, some_ranges, url};

/// What a server was asked for: how many ranges in each request.
type Asked = Arc<Mutex<Vec<usize>>>;

/// A server that answers reads as the script says. The script returns whether it did; otherwise they are answered rightly.
fn with_reads(
    script: impl Fn(&mut Client, &Request, &[u8]) -> bool + Send + Sync + 'static,
) -> (String, Asked, Vec<u8>) {
    let file = content(FILE_BYTES, 1);
    let (for_server, asked) = (file.clone(), Asked::default());
    let log = Arc::clone(&asked);
    let (port, _) = start(move |mut client, _| {
        client.greet("")?;
        loop {
            let request = client.serve(&for_server, &[READ_VECTOR, READ])?;
            log.lock().unwrap().push(request.ranges().len());
            if !script(&mut client, &request, &for_server) {
                client.answer_rightly(&request, &for_server);
            }
        }
    });
    (url(port), asked, file)
}

fn refused(client: &mut Client, request: &Request, number: u32) -> bool {
    client.answer(request, ERROR, &[&number.to_be_bytes(), b"not like this\0".as_slice()].concat());
    true
}

fn taken(asked: &Asked) -> Vec<usize> {
    std::mem::take(&mut *asked.lock().unwrap())
}

#[test]
fn a_server_without_vector_reads_is_asked_for_one_once() {
    let (url, asked, file) =
        with_reads(|client, request, _| request.code == READ_VECTOR && refused(client, request, 3013));
    let opened = open_xrootd(&url, &network(), NONE).unwrap();
    check_ranges(&*opened.source, &RANGES, &file);
    assert_eq!(taken(&asked), [3, 1, 1, 1]);
    assert_eq!(opened.source.access_profile().max_ranges, 1);
    check_ranges(&*opened.source, &RANGES, &file);
    // Other files of the server, too, and nothing was a failed try.
    check_ranges(&*open_xrootd(&url, &network(), NONE).unwrap().source, &RANGES, &file);
    assert_eq!(taken(&asked), [1; 6]);
    let attempts = opened.ledgers.all()[0].totals(Operation::ReadVector);
    assert_eq!((attempts.n_attempted, attempts.n_successful), (2, 2));
}

#[test]
fn a_vector_read_that_is_too_large_is_made_smaller() {
    for number in [3000, 3002, 3006, 3008] {
        let (url, asked, file) =
            with_reads(move |client, request, _| request.ranges().len() > 16 && refused(client, request, number));
        let source = open_xrootd(&url, &network(), NONE).unwrap().source;
        check_ranges(&*source, &some_ranges(80, 500, FILE_BYTES, 3), &file);
        let first = taken(&asked);
        assert_eq!(first[0], 80);
        assert!(first[1..].iter().all(|&n_ranges| n_ranges <= 10) && first[1..].contains(&10), "{first:?}");
        check_ranges(&*source, &some_ranges(80, 500, FILE_BYTES, 4), &file);
        assert!(taken(&asked).iter().all(|&n_ranges| n_ranges <= 10));
    }
}

#[test]
fn a_server_whose_limits_cannot_be_met_is_asked_for_single_ranges() {
    let (url, asked, file) =
        with_reads(|client, request, _| request.code == READ_VECTOR && refused(client, request, 3008));
    let source = open_xrootd(&url, &network(), NONE).unwrap().source;
    check_ranges(&*source, &some_ranges(80, 500, FILE_BYTES, 3), &file);
    // All of the smaller ones are on their way when the first is refused.
    let n_vectors = taken(&asked).iter().filter(|&&n_ranges| n_ranges > 1).count();
    assert!((2..=10).contains(&n_vectors), "{n_vectors}");
    check_ranges(&*source, &RANGES, &file);
    assert_eq!(taken(&asked), [1, 1, 1]);
}

#[test]
fn a_vector_read_that_fails_is_made_range_by_range_and_left_after_two_in_a_row() {
    for number in [3005, 3007, 3012] {
        let (url, asked, file) =
            with_reads(move |client, request, _| request.code == READ_VECTOR && refused(client, request, number));
        let source = open_xrootd(&url, &network(), NONE).unwrap().source;
        for expected in [&[3, 1, 1, 1][..], &[3, 1, 1, 1], &[1, 1, 1]] {
            check_ranges(&*source, &RANGES, &file);
            assert_eq!(taken(&asked), expected);
        }
    }
}

#[test]
fn failures_of_vector_reads_now_and_then_are_not_held_against_them() {
    let n_vectors = AtomicUsize::new(0);
    let (url, asked, file) = with_reads(move |client, request, _| {
        request.code == READ_VECTOR
            && n_vectors.fetch_add(1, SeqCst).is_multiple_of(2)
            && refused(client, request, 3005)
    });
    let source = open_xrootd(&url, &network(), NONE).unwrap().source;
    for _ in 0..5 {
        check_ranges(&*source, &RANGES, &file);
        check_ranges(&*source, &RANGES, &file);
        assert_eq!(taken(&asked), [3, 1, 1, 1, 3]);
    }
}

#[test]
fn a_server_that_gets_vector_reads_wrong_is_asked_for_single_ranges_in_the_end() {
    let (url, asked, file) = with_reads(|client, request, file| {
        if request.code == READ {
            return false;
        }
        // The last range is that of another place.
        let mut body = right_body(request, file);
        let index = body.len() - request.ranges()[2].1 - 1;
        body[index] ^= 8;
        client.answer(request, OK, &body);
        true
    });
    let source = open_xrootd(&url, &network(), NONE).unwrap().source;
    check_ranges(&*source, &RANGES, &file);
    let first = taken(&asked);
    assert_eq!(first, [3, 3, 1, 1, 1]);
    check_ranges(&*source, &RANGES, &file);
    assert_eq!(taken(&asked), [1, 1, 1]);
}

/// What [`Client`] sends of an answer to a read that is shorter than asked.
const SHORT: usize = 700;

#[test]
fn short_reads_go_on_at_once_beside_others_and_each_is_counted() {
    let (url, asked, file) = with_reads(|client, request, file| {
        if request.code == READ_VECTOR {
            return refused(client, request, 3013);
        }
        let body = right_body(request, file);
        client.answer(request, OK, &body[..body.len().min(SHORT)]);
        true
    });
    let opened = open_xrootd(&url, &network(), NONE).unwrap();
    check_ranges(&*opened.source, &RANGES, &file);
    taken(&asked);
    let ranges = [(1000, 70_000), (100_000, 70_000), (200_000, 100)];
    check_ranges(&*opened.source, &ranges, &file);
    assert_eq!(taken(&asked).len(), 2 * 70_000 / SHORT + 1);
    let attempts = opened.ledgers.all()[0].totals(Operation::ReadVector);
    assert_eq!((attempts.n_attempted, attempts.n_successful), (2, 2));
    let requests = opened.ledgers.all()[1].totals(Operation::Read);
    let n_bytes: usize = RANGES.iter().chain(&ranges).map(|(_, n_bytes)| n_bytes).sum();
    assert_eq!(requests.bytes, n_bytes as u64);
    assert_eq!(requests.n_attempted, requests.n_successful);
}

#[test]
fn a_read_that_brings_nothing_is_an_error_and_what_came_before_is_kept() {
    let n_reads = AtomicUsize::new(0);
    let (url, _, file) = with_reads(move |client, request, file| {
        let body = right_body(request, file);
        // Something, then once nothing, and so on.
        let n_bytes = if n_reads.fetch_add(1, SeqCst).is_multiple_of(2) { SHORT.min(body.len()) } else { 0 };
        client.answer(request, OK, &body[..n_bytes]);
        true
    });
    let opened = open_xrootd(&url, &network(), NONE).unwrap();
    check_ranges(&*opened.source, &[(5, 3 * SHORT)], &file);
    let requests = opened.ledgers.all()[1].totals(Operation::Read);
    assert_eq!((requests.n_attempted, requests.n_successful), (5, 3));
}
