//! What those who share a connection notice of each other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

use arrowroot_storage::{Error, Network, Result, Source, open_xrootd, open_xrootd_once};

use super::fake::{CLOSE, Client, OK, READ, READ_VECTOR, Request, framed, right_body, start};
use super::server::content;
use super::{NONE, network, read_ranges, url};

const FILE_BYTES: usize = 10_000;
/// A read of this offset is one that the server does not answer, or not soon.
const UNANSWERED: u64 = 500;

fn limited(timeout: Duration, deadline: Duration) -> Network {
    Network { timeout, deadline, ..network() }
}

fn is_unanswered(request: &Request) -> bool {
    request.ranges()[0].0 == UNANSWERED as usize
}

fn read(source: &dyn Source, offset: u64) -> Result<()> {
    let mut bytes = [0; 10];
    source.read_at(offset, &mut bytes)?;
    assert_eq!(bytes, content(FILE_BYTES, 1)[offset as usize..][..10]);
    Ok(())
}

fn silence(result: Result<()>) {
    let error = result.unwrap_err();
    assert!(matches!(&error, Error::Connection { what, .. } if what.starts_with("nothing came for")), "{error:?}");
}

/// A server that never answers the read of [`UNANSWERED`], and others as the script says, in their order.
fn deaf_server(answer: impl Fn(&mut Client, &Request, &[u8]) + Send + Sync + 'static) -> (u16, Arc<AtomicUsize>) {
    let file = content(FILE_BYTES, 1);
    start(move |mut client, _| {
        client.greet("")?;
        loop {
            let request = client.serve(&file, &[READ])?;
            if !is_unanswered(&request) {
                answer(&mut client, &request, &file);
            }
        }
    })
}

#[test]
fn the_deadline_of_one_read_leaves_the_reads_of_others_alone() {
    let (port, n_connections) = deaf_server(|client, request, file| {
        std::thread::sleep(Duration::from_secs(2));
        client.answer_rightly(request, file);
    });
    let timeout = Duration::from_secs(30);
    let short = open_xrootd_once(&url(port), &limited(timeout, Duration::from_secs(1)), NONE).unwrap().source;
    let long = open_xrootd_once(&url(port), &limited(timeout, Duration::from_secs(60)), NONE).unwrap().source;
    std::thread::scope(|scope| {
        let late = scope.spawn(|| read(&*short, UNANSWERED).unwrap_err());
        std::thread::sleep(Duration::from_millis(200));
        read(&*long, 0).unwrap();
        let error = late.join().unwrap();
        assert!(error.to_string().contains("deadline"), "{error}");
    });
    read(&*long, 20).unwrap();
    assert_eq!(n_connections.load(SeqCst), 1);
}

#[test]
fn an_answer_that_nobody_waits_for_any_more_is_passed_over_by_whoever_waits() {
    let file = content(FILE_BYTES, 1);
    let (asked, is_asked) = mpsc::channel();
    let (port, n_connections) = start(move |mut client, _| {
        client.greet("")?;
        let unwanted = client.serve(&file, &[READ])?;
        asked.send(()).ok()?;
        let wanted = client.serve(&file, &[READ])?;
        asked.send(()).ok()?;
        let wanted_later = client.serve(&file, &[READ])?;
        // Until the first is late; then so slowly that the second is late before the answer to the first is through.
        std::thread::sleep(Duration::from_millis(1500));
        for byte in framed(unwanted.stream, OK, &right_body(&unwanted, &file)) {
            client.send(&[byte]);
            std::thread::sleep(Duration::from_millis(150));
        }
        client.answer_rightly(&wanted, &file);
        client.answer_rightly(&wanted_later, &file);
        client.serve(&file, &[]).map(drop)
    });
    let source = |deadline_s| {
        let limits = limited(Duration::from_secs(30), Duration::from_secs(deadline_s));
        open_xrootd_once(&url(port), &limits, NONE).unwrap().source
    };
    let (first, second, third) = (source(1), source(3), source(60));
    std::thread::scope(|scope| {
        scope.spawn(|| read(&*first, UNANSWERED).unwrap_err());
        is_asked.recv().unwrap();
        scope.spawn(|| read(&*second, 0).unwrap_err());
        is_asked.recv().unwrap();
        read(&*third, 20).unwrap();
    });
    read(&*third, 40).unwrap();
    assert_eq!(n_connections.load(SeqCst), 1);
}

#[test]
fn a_request_is_given_up_after_the_timeout_though_later_ones_are_answered() {
    let (port, _) = deaf_server(|client, request, file| {
        std::thread::sleep(Duration::from_millis(20));
        client.answer_rightly(request, file);
    });
    let timeout = Duration::from_secs(1);
    let source = open_xrootd_once(&url(port), &limited(timeout, Duration::from_secs(60)), NONE).unwrap().source;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(SeqCst) {
                read(&*source, 0).unwrap();
            }
        });
        std::thread::sleep(Duration::from_millis(100));
        let begin = Instant::now();
        let result = read(&*source, UNANSWERED);
        is_over.store(true, SeqCst);
        silence(result);
        assert!((timeout..10 * timeout).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    });
}

#[test]
fn who_asks_while_a_connection_is_silent_has_all_of_its_timeout() {
    let (port, _) = deaf_server(|client, request, file| {
        std::thread::sleep(Duration::from_millis(2000));
        client.answer_rightly(request, file);
    });
    let limits = limited(Duration::from_secs(3), Duration::from_secs(60));
    let source = open_xrootd_once(&url(port), &limits, NONE).unwrap().source;
    std::thread::scope(|scope| {
        scope.spawn(|| silence(read(&*source, UNANSWERED)));
        // The answer comes when the other has given up, and before this one may.
        std::thread::sleep(Duration::from_millis(2000));
        read(&*source, 0).unwrap();
    });
}

#[test]
fn a_connection_that_owes_an_answer_for_too_long_is_not_asked_again() {
    let (port, n_connections) = deaf_server(|client, request, file| client.answer_rightly(request, file));
    let limits = limited(Duration::from_millis(500), Duration::from_secs(60));
    let source = open_xrootd_once(&url(port), &limits, NONE).unwrap().source;
    for n_before in 1..4 {
        assert_eq!(n_connections.load(SeqCst), n_before);
        silence(read(&*source, UNANSWERED));
        read(&*source, 0).unwrap();
    }
}

#[test]
fn requests_wait_for_as_long_as_those_before_them_are_answered() {
    // Each answer, and each part of a slow one, comes sooner than the timeout; the last one long after it.
    type Answering = fn(&mut Client, &Request, &[u8]);
    let slow: [Answering; 2] = [
        |client, request, file| {
            std::thread::sleep(Duration::from_millis(600));
            client.answer_rightly(request, file);
        },
        |client, request, file| {
            for part in framed(request.stream, OK, &right_body(request, file)).chunks(3) {
                std::thread::sleep(Duration::from_millis(100));
                client.send(part);
            }
        },
    ];
    for answer in slow {
        let (port, n_connections) = deaf_server(answer);
        let timeout = Duration::from_millis(1500);
        let source = open_xrootd_once(&url(port), &limited(timeout, Duration::from_secs(60)), NONE).unwrap().source;
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for index in 0..8 {
                let source = &source;
                scope.spawn(move || read(&**source, index * 10).unwrap());
            }
        });
        assert!(begin.elapsed() > 2 * timeout, "{:?}", begin.elapsed());
        assert_eq!(n_connections.load(SeqCst), 1);
    }
}

#[test]
fn the_time_that_a_later_answer_takes_to_come_is_not_held_against_an_earlier_request() {
    // The last request is answered first, by a body that takes longer than the timeout.
    let file = content(FILE_BYTES, 1);
    let (asked, is_asked) = mpsc::channel();
    let (port, n_connections) = start(move |mut client, _| {
        client.greet("")?;
        let first = client.serve(&file, &[READ])?;
        asked.send(()).ok()?;
        let second = client.serve(&file, &[READ])?;
        for part in framed(second.stream, OK, &right_body(&second, &file)).chunks(1) {
            std::thread::sleep(Duration::from_millis(150));
            client.send(part);
        }
        std::thread::sleep(Duration::from_millis(300));
        client.answer_rightly(&first, &file);
        client.serve(&file, &[]).map(drop)
    });
    let limits = limited(Duration::from_millis(1500), Duration::from_secs(60));
    let source = open_xrootd_once(&url(port), &limits, NONE).unwrap().source;
    std::thread::scope(|scope| {
        scope.spawn(|| read(&*source, 0).unwrap());
        is_asked.recv().unwrap();
        read(&*source, 20).unwrap();
    });
    assert_eq!(n_connections.load(SeqCst), 1);
}

#[test]
fn files_that_are_closed_while_nothing_can_be_sent_are_closed_with_the_next_request() {
    const N_CLOSED: usize = 5;
    let file = content(FILE_BYTES, 1);
    let (asked, is_asked) = mpsc::channel();
    let (closed, is_closed) = mpsc::channel();
    let gate = Arc::new(Barrier::new(2));
    let for_server = Arc::clone(&gate);
    let (port, n_connections) = start(move |mut client, _| {
        client.greet("")?;
        let mut n_held = 0;
        loop {
            let request = client.serve(&file, &[READ_VECTOR, CLOSE])?;
            if request.code == CLOSE {
                closed.send(()).ok()?;
            } else if n_held == 0 {
                // As much is outstanding as may be.
                n_held += 1;
                asked.send(()).ok()?;
                for_server.wait();
            }
            client.answer_rightly(&request, &file);
        }
    });
    let open = || open_xrootd(&url(port), &network(), NONE).unwrap().source;
    let source = open();
    let closed_soon: Vec<_> = (0..N_CLOSED).map(|_| open()).collect();
    std::thread::scope(|scope| {
        // Three vector reads of 1024 ranges and one of 1018 make 64 KiB, which is what may be outstanding.
        let reader = scope.spawn(|| drop(read_ranges(&*source, &vec![(7, 1); 3 * 1024 + 1018]).unwrap()));
        is_asked.recv().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        drop(closed_soon);
        gate.wait();
        reader.join().unwrap();
    });
    read(&*source, 0).unwrap();
    for _ in 0..N_CLOSED {
        is_closed.recv_timeout(Duration::from_secs(20)).unwrap();
    }
    assert_eq!(n_connections.load(SeqCst), 1);
}

#[test]
fn a_connection_is_left_on_which_an_answer_that_nobody_waits_for_does_not_end() {
    let file = content(FILE_BYTES, 1);
    let (port, n_connections) = start(move |mut client, number| {
        client.greet("")?;
        if number > 0 {
            return client.serve(&file, &[]).map(drop);
        }
        let unwanted = client.serve(&file, &[READ])?;
        client.serve(&file, &[READ])?;
        std::thread::sleep(Duration::from_millis(1500));
        for byte in framed(unwanted.stream, OK, &[0; FILE_BYTES]) {
            client.send(&[byte]);
            std::thread::sleep(Duration::from_millis(50));
        }
        None
    });
    let limits = |deadline_s| limited(Duration::from_secs(2), Duration::from_secs(deadline_s));
    let hasty = open_xrootd_once(&url(port), &limits(1), NONE).unwrap().source;
    let patient = open_xrootd(&url(port), &limits(60), NONE).unwrap().source;
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| hasty.read_at(0, &mut [0; FILE_BYTES]).unwrap_err());
        std::thread::sleep(Duration::from_millis(200));
        read(&*patient, 0).unwrap();
    });
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert_eq!(n_connections.load(SeqCst), 2);
}
