//! A scripted server: what is allowed but rare, and what is not allowed at all.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use arrowroot_storage::{Error, Network, Opened, Result, Source, open_xrootd, open_xrootd_once};

use super::fake::{
    ATTENTION, AUTH, Client, ERROR, OK, OK_SO_FAR, OPEN, QUERY, READ, READ_VECTOR, REDIRECT, Request, STAT, WAIT,
    WAIT_RESPONSE, framed, right_body, start,
};
use super::server::content;
use super::{NONE, check_ranges, hasty, network, read_ranges, refusal, some_ranges, url};

pub(crate) const FILE_BYTES: usize = 300_000;

pub(crate) fn open_hastily(port: u16) -> Result<Opened> {
    open_xrootd_once(&url(port), &hasty(), NONE)
}

/// A file on a server that answers its first vector read as the script says, and everything else rightly.
fn with_first_vector(
    answer: impl Fn(&mut Client, &Request, &[u8]) + Send + Sync + 'static,
) -> (Arc<dyn Source>, Vec<u8>) {
    let file = content(FILE_BYTES, 1);
    let for_server = file.clone();
    let (port, _) = start(move |mut client, number| {
        client.greet("")?;
        if number == 0 {
            let request = client.serve(&for_server, &[READ_VECTOR])?;
            answer(&mut client, &request, &for_server);
        }
        client.serve(&for_server, &[]).map(drop)
    });
    (open_hastily(port).unwrap().source, file)
}

pub(crate) const RANGES: [(usize, usize); 3] = [(10, 100), (5000, 70_000), (200_000, 1)];

#[test]
fn answers_may_come_in_parts_cut_anywhere() {
    for part_bytes in [1000, 7777, 17] {
        let (source, file) = with_first_vector(move |client, request, file| {
            let body = right_body(request, file);
            let parts: Vec<_> = body.chunks(part_bytes).collect();
            for part in &parts[..parts.len() - 1] {
                client.answer(request, OK_SO_FAR, part);
            }
            client.answer(request, OK, parts[parts.len() - 1]);
        });
        check_ranges(&*source, &RANGES, &file);
    }
    // The last part may be empty.
    let (source, file) = with_first_vector(|client, request, file| {
        client.answer(request, OK_SO_FAR, &right_body(request, file));
        client.answer(request, OK, b"");
    });
    check_ranges(&*source, &RANGES, &file);
}

#[test]
fn a_request_is_made_again_after_the_time_that_the_server_asks_for() {
    let (source, file) = with_first_vector(|client, request, file| {
        // Part of the answer, then a change of mind.
        client.answer(request, OK_SO_FAR, &right_body(request, file)[..500]);
        client.answer(request, WAIT, b"\0\0\0\x01busy\0");
    });
    let begin = Instant::now();
    check_ranges(&*source, &RANGES, &file);
    assert!(begin.elapsed() >= Duration::from_secs(1), "{:?}", begin.elapsed());
}

#[test]
fn a_server_that_asks_to_wait_again_and_again_is_left_at_the_deadline() {
    let file = content(FILE_BYTES, 1);
    let (port, _) = start(move |mut client, _| {
        client.greet("")?;
        loop {
            let request = client.serve(&file, &[READ_VECTOR])?;
            client.answer(&request, WAIT, &u32::to_be_bytes(1));
        }
    });
    let source = open_hastily(port).unwrap().source;
    let begin = Instant::now();
    let error = read_ranges(&*source, &RANGES).unwrap_err();
    assert!(error.to_string().contains("after the deadline"), "{error:?}");
    assert!((2..30).contains(&begin.elapsed().as_secs()), "{:?}", begin.elapsed());
}

#[test]
fn an_answer_may_come_later_by_itself() {
    let (source, file) = with_first_vector(|client, request, file| {
        client.answer(request, WAIT_RESPONSE, &u32::to_be_bytes(3));
        // Longer than a silence may last if it was not announced, with a message of no importance in it.
        std::thread::sleep(Duration::from_millis(1000));
        client.send(&framed([0, 0], ATTENTION, b"\0\0\x13\x8a\0\0\0\0hello to all"));
        std::thread::sleep(Duration::from_millis(600));
        let inner = framed(request.stream, OK, &right_body(request, file));
        client.send(&framed([0, 0], ATTENTION, &[b"\0\0\x13\x90\0\0\0\0", inner.as_slice()].concat()));
    });
    check_ranges(&*source, &RANGES, &file);
}

#[test]
fn an_answer_that_is_not_one_to_the_question_is_refused() {
    type Spoil = fn(&Request, Vec<u8>) -> Vec<u8>;
    let spoils: [(&str, Spoil); 9] = [
        ("another handle", |_, mut body| {
            body[0] ^= 1;
            body
        }),
        ("another length", |_, mut body| {
            body[7] ^= 1;
            body
        }),
        ("a negative length", |_, mut body| {
            body[4] = 0xff;
            body
        }),
        ("another offset", |_, mut body| {
            body[15] ^= 1;
            body
        }),
        ("too short by one", |_, mut body| {
            body.pop();
            body
        }),
        ("too short by a range", |_, mut body| {
            body.truncate(body.len() - 17);
            body
        }),
        ("too long", |_, mut body| {
            body.push(0);
            body
        }),
        ("one range twice", |_, body| [&body[..116], &body[..116], &body[116..]].concat()),
        ("nothing", |_, _| Vec::new()),
    ];
    for (name, spoil) in spoils {
        let (source, file) = with_first_vector(move |client, request, file| {
            client.answer(request, OK, &spoil(request, right_body(request, file)));
        });
        let error = read_ranges(&*source, &RANGES).unwrap_err();
        assert!(matches!(error, Error::WrongAnswer { .. }) && error.is_transient(), "{name}: {error:?}");
        check_ranges(&*source, &RANGES, &file);
    }
}

#[test]
fn what_nobody_asked_for_ends_the_connection() {
    let frames: [fn(&Request) -> Vec<u8>; 5] = [
        |request| framed([request.stream[0] ^ 0x55, 1], OK, b"hello"),
        |request| framed(request.stream, 1234, b""),
        |request| [&request.stream[..], &[0, 0, 0xff, 0xff, 0xff, 0xff]].concat(),
        |request| framed(request.stream, REDIRECT, b"\0\0"),
        |request| {
            [framed([0, 0], ATTENTION, b"\0\0\x13\x90\0\0\0\0"), framed(request.stream, OK, &[0; 100_000])].concat()
        },
    ];
    for frame in frames {
        let (source, file) = with_first_vector(move |client, request, _| client.send(&frame(request)));
        let error = read_ranges(&*source, &RANGES).unwrap_err();
        assert!(matches!(error, Error::WrongAnswer { .. }), "{error:?}");
        check_ranges(&*source, &RANGES, &file);
    }
}

#[test]
fn silence_and_slowness_end_in_an_error() {
    let cases: [fn(&mut Client, &Request, &[u8]); 3] = [
        |_, _, _| std::thread::sleep(Duration::from_secs(30)),
        |client, request, file| {
            let frame = framed(request.stream, OK, &right_body(request, file));
            client.send(&frame[..300]);
            std::thread::sleep(Duration::from_secs(30));
        },
        |client, request, file| {
            // Never silent for long, and never done.
            for byte in framed(request.stream, OK, &right_body(request, file)) {
                client.send(&[byte]);
                std::thread::sleep(Duration::from_millis(100));
            }
        },
    ];
    for case in cases {
        let (source, file) = with_first_vector(case);
        let begin = Instant::now();
        let error = read_ranges(&*source, &RANGES).unwrap_err();
        assert!(matches!(error, Error::Connection { .. }), "{error:?}");
        assert!(begin.elapsed() < Duration::from_secs(25), "{:?}", begin.elapsed());
        check_ranges(&*source, &RANGES, &file);
    }
}

/// Threads that wait for one connection.
const N_WAITING: usize = 8;

#[test]
fn all_who_wait_hear_of_a_reset_and_the_next_read_connects_again() {
    let file = content(FILE_BYTES, 1);
    let for_server = file.clone();
    let (port, n_connections) = start(move |mut client, number| {
        client.greet("")?;
        if number == 0 {
            let request = client.serve(&for_server, &[READ_VECTOR])?;
            for _ in 1..N_WAITING {
                client.serve(&for_server, &[READ_VECTOR])?;
            }
            client.send(&framed(request.stream, OK, &right_body(&request, &for_server))[..100]);
            return None;
        }
        client.serve(&for_server, &[]).map(drop)
    });
    let network = Network { max_connections: 1, ..network() };
    let source = open_xrootd_once(&url(port), &network, NONE).unwrap().source;
    std::thread::scope(|scope| {
        for _ in 0..N_WAITING {
            scope.spawn(|| {
                let error = read_ranges(&*source, &RANGES).unwrap_err();
                assert!(matches!(error, Error::Connection { .. }), "{error:?}");
            });
        }
    });
    check_ranges(&*source, &RANGES, &file);
    assert_eq!(n_connections.load(SeqCst), 2);
}

#[test]
fn one_failed_request_leaves_the_others_of_the_connection_alone() {
    let file = content(FILE_BYTES, 1);
    let for_server = file.clone();
    let (port, n_connections) = start(move |mut client, _| {
        client.greet("")?;
        loop {
            let request = client.serve(&for_server, &[READ_VECTOR])?;
            let is_refused = request.ranges().first() == Some(&(1, 1));
            if is_refused {
                // 3024: no matter of vector reads.
                client.answer(&request, ERROR, b"\0\0\x0b\xd0disk on fire\0");
            } else {
                client.answer_rightly(&request, &for_server);
            }
        }
    });
    let source = open_hastily(port).unwrap().source;
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (source, file) = (&source, &file);
            scope.spawn(move || {
                for turn in 0..20 {
                    if thread % 2 == 0 {
                        check_ranges(&**source, &some_ranges(50, 2000, FILE_BYTES, 100 * thread + turn + 1), file);
                    } else {
                        // The first of three requests is refused; the answers to the others come all the same.
                        let ranges = [vec![(1, 1); 1024], some_ranges(2000, 100, FILE_BYTES, turn + 1)].concat();
                        let error = read_ranges(&**source, &ranges).unwrap_err();
                        let is_right = matches!(&error, Error::Server { answer, is_transient: true, .. } if answer.contains("disk on fire"));
                        assert!(is_right, "{error:?}");
                    }
                }
            });
        }
    });
    assert_eq!(n_connections.load(SeqCst), 1);
}

#[test]
fn a_server_that_says_little_is_enough() {
    // No state with the opening, and no answer but an error to the question for limits.
    let file = content(FILE_BYTES, 1);
    let for_server = file.clone();
    let (port, _) = start(move |mut client, _| {
        client.greet("")?;
        loop {
            let request = client.serve(&for_server, &[OPEN, QUERY])?;
            match request.code {
                OPEN => client.answer(&request, OK, &[7, 0, 0, 0]),
                _ => client.answer(&request, ERROR, b"\0\0\x0b\xc5not here\0"),
            }
        }
    });
    let source = open_hastily(port).unwrap().source;
    assert_eq!(source.size_bytes(), FILE_BYTES as u64);
    check_ranges(&*source, &RANGES, &file);
}

#[test]
fn a_read_goes_on_where_broken_connections_left_it() {
    let file = content(FILE_BYTES, 1);
    let for_server = file.clone();
    let seen: Arc<std::sync::Mutex<Vec<usize>>> = Arc::default();
    let of_server = Arc::clone(&seen);
    let (port, _) = start(move |mut client, number| {
        client.greet("")?;
        loop {
            let request = client.serve(&for_server, &[READ, READ_VECTOR])?;
            of_server.lock().unwrap().push(request.ranges().iter().map(|(_, n_bytes)| n_bytes).sum());
            if number >= 20 {
                client.answer_rightly(&request, &for_server);
                continue;
            }
            // 10,000 bytes of data come, cut somewhere, and then nothing does.
            let frame = framed(request.stream, OK, &right_body(&request, &for_server));
            client.send(&frame[..10_000]);
            return None;
        }
    });
    // Many more failures than tries in vain are allowed.
    let patient = Network { retries: 2, ..network() };
    let source = open_xrootd(&url(port), &patient, NONE).unwrap().source;
    check_ranges(&*source, &[(0, 90_000), (100_000, 60_000), (200_000, 1), (250_000, 50_000)], &file);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 21);
    assert!(seen.windows(2).all(|pair| pair[1] < pair[0] - 9800), "{seen:?}");
}

#[test]
fn what_a_server_repeats_of_credentials_is_not_shown() {
    let (port, _) = start(|mut client, _| {
        client.greet("")?;
        loop {
            let request = client.serve(&[], &[OPEN])?;
            let words = [b"\0\0\x0b\xc2may not: ", request.payload.as_slice()].concat();
            client.answer(&request, ERROR, &words);
        }
    });
    for (query, shown) in [("authz=Bearer%20abcdefgh&x=1", "authz=..."), ("abcdefgh", "...")] {
        let error = refusal(open_xrootd_once(&format!("{}?{query}", url(port)), &hasty(), NONE));
        let text = error.to_string();
        assert!(text.contains(&format!("may not: /f?{shown}")) && !text.contains("abcdefgh"), "{text}");
    }
}

#[test]
fn errors_are_told_apart() {
    type Check = fn(&Error) -> bool;
    let cases: [(u32, Check); 8] = [
        (3011, |error| matches!(error, Error::NotFound { .. })),
        (3010, |error| matches!(error, Error::Denied { .. })),
        (3030, |error| matches!(error, Error::Denied { .. })),
        (3022, |error| matches!(error, Error::Denied { hint, .. } if hint.contains("xrootd"))),
        (3024, |error| matches!(error, Error::Server { is_transient: true, .. })),
        (3005, |error| matches!(error, Error::Server { is_transient: true, .. })),
        (3016, |error| matches!(error, Error::Server { is_transient: false, .. })),
        (3013, |error| matches!(error, Error::Server { is_transient: false, .. })),
    ];
    for (number, check) in cases {
        let (port, _) = start(move |mut client, _| {
            client.greet("")?;
            loop {
                let request = client.serve(&[], &[OPEN])?;
                client.answer(&request, ERROR, &[&number.to_be_bytes(), b"so it is\x1b[31m\0".as_slice()].concat());
            }
        });
        let error = refusal(open_hastily(port));
        assert!(check(&error) && error.to_string().contains("so it is"), "{number}: {error:?}");
        assert!(!error.to_string().contains('\x1b'), "{error:?}");
    }
}

#[test]
fn a_server_that_wants_more_than_is_known_here_is_named_with_what_it_wants() {
    let (port, _) = start(|mut client, _| client.greet("&P=gsi,v:10400,c:ssl,ca:1234&P=krb5,host@REALM"));
    let error = refusal(open_hastily(port));
    let Error::Denied { answer, hint, .. } = &error else { panic!("{error:?}") };
    assert!(answer.contains("gsi, krb5") && hint.contains("extra `xrootd`"), "{error}");
}

#[test]
fn a_server_that_lets_wait_while_it_is_told_who_asks_is_left_at_the_deadline_or_after_some_times() {
    let always = |protocols: &'static str, seconds: u32| {
        start(move |mut client, _| {
            client.greet(protocols)?;
            loop {
                let request = client.serve(&[], &[AUTH])?;
                client.answer(&request, WAIT, &seconds.to_be_bytes());
            }
        })
    };
    let (port, _) = always("&P=unix&P=host", 1);
    let network = Network { deadline: Duration::from_millis(1500), timeout: Duration::from_secs(20), ..network() };
    let started = Instant::now();
    let error = refusal(open_xrootd_once(&url(port), &network, NONE));
    assert!(error.to_string().contains("deadline"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    let (port, _) = always("&P=unix&P=host", 0);
    let error = refusal(open_hastily(port));
    assert!(error.to_string().contains("status 4005"), "{error}");
}

#[test]
fn what_is_no_xrootd_server_is_said_to_be_none() {
    let (port, _) = start(|mut client, _| {
        client.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        Some(())
    });
    let error = refusal(open_hastily(port));
    assert!(matches!(&error, Error::WrongAnswer { what, .. } if what.contains("no XRootD server")), "{error:?}");
    let (port, _) = start(|_, _| {
        std::thread::sleep(Duration::from_secs(30));
        None
    });
    let begin = Instant::now();
    let error = refusal(open_hastily(port));
    assert!(matches!(error, Error::Connection { .. }) && begin.elapsed() < Duration::from_secs(25), "{error:?}");
}

#[test]
fn a_handle_that_the_server_forgot_is_replaced() {
    let (source, file) =
        with_first_vector(|client, request, _| client.answer(request, ERROR, b"\0\0\x0b\xbcnot open\0"));
    let error = read_ranges(&*source, &RANGES).unwrap_err();
    assert!(matches!(error, Error::Server { is_transient: true, .. }), "{error:?}");
    check_ranges(&*source, &RANGES, &file);
}

#[test]
fn the_end_of_a_session_between_two_files_goes_unnoticed() {
    let file = content(FILE_BYTES, 1);
    let for_server = file.clone();
    let (port, n_connections) = start(move |mut client, number| {
        client.greet("")?;
        if number == 0 {
            // Ends when the first file is closed.
            client.serve(&for_server, &[super::fake::CLOSE])?;
            return None;
        }
        client.serve(&for_server, &[STAT]).map(drop)
    });
    drop(open_xrootd_once(&url(port), &network(), NONE).unwrap());
    std::thread::sleep(Duration::from_millis(100));
    let source = open_xrootd_once(&url(port), &network(), NONE).unwrap().source;
    check_ranges(&*source, &RANGES, &file);
    assert_eq!(n_connections.load(SeqCst), 2);
}

#[test]
fn a_server_that_hangs_up_on_what_comes_with_the_login_is_asked_after_it() {
    let file = content(FILE_BYTES, 1);
    let for_server = file.clone();
    let (port, n_connections) = start(move |mut client, number| {
        client.greet("&P=unix")?;
        if number == 0 {
            // As XRootD does: a refusal, and the end of the connection.
            let early = client.request()?;
            assert_eq!(early.code, OPEN);
            client.answer(&early, ERROR, b"\0\0\x0b\xbenot authenticated\0");
            return client.into_tcp()?.shutdown(std::net::Shutdown::Both).ok();
        }
        let first = client.request()?;
        assert_eq!(first.code, AUTH);
        client.answer(&first, OK, b"");
        client.serve(&for_server, &[]).map(drop)
    });
    let source = open_hastily(port).unwrap().source;
    check_ranges(&*source, &RANGES, &file);
    assert_eq!(n_connections.load(SeqCst), 2);
}

#[test]
fn an_opening_that_comes_too_early_is_asked_for_again() {
    const NOT_AUTHORIZED: &[u8] = b"\0\0\x0b\xc2not yet\0";
    let file = content(FILE_BYTES, 1);
    let for_server = file.clone();
    let (port, n_connections) = start(move |mut client, _| {
        client.greet("")?;
        let early = client.request()?;
        client.answer(&early, ERROR, NOT_AUTHORIZED);
        client.serve(&for_server, &[]).map(drop)
    });
    let source = open_hastily(port).unwrap().source;
    check_ranges(&*source, &RANGES, &file);
    assert_eq!(n_connections.load(SeqCst), 1);
    // What is refused also then stays refused.
    let (port, _) = start(move |mut client, _| {
        client.greet("")?;
        loop {
            let request = client.request()?;
            client.answer(&request, ERROR, NOT_AUTHORIZED);
        }
    });
    assert!(matches!(refusal(open_hastily(port)), Error::Denied { .. }));
}

#[test]
fn the_state_that_comes_with_a_read_tells_whether_the_file_was_written_to() {
    for (told, is_changed) in [("1700000000", false), ("1700000001", true), ("0", false)] {
        let file = content(FILE_BYTES, 1);
        let for_server = file.clone();
        let (port, _) = start(move |mut client, _| {
            client.greet("")?;
            loop {
                let request = client.serve(&for_server, &[STAT])?;
                client.answer(&request, OK, format!("1 {FILE_BYTES} 16 {told}\0").as_bytes());
            }
        });
        let source = open_hastily(port).unwrap().source;
        check_ranges(&*source, &RANGES, &file);
        std::thread::sleep(Duration::from_millis(1100));
        let result = source.read_at(0, &mut [0; 10]);
        assert_eq!(matches!(result, Err(Error::Changed { .. })), is_changed, "{told}: {result:?}");
    }
}

#[test]
fn a_server_that_tells_no_time_tells_no_version() {
    for (told, version) in [("1700000000", Some("1700000000 s".to_owned())), ("0", None)] {
        let file = content(FILE_BYTES, 1);
        let (port, _) = start(move |mut client, _| {
            client.greet("")?;
            let request = client.serve(&file, &[OPEN])?;
            let stat = format!("1 {FILE_BYTES} 16 {told}\0");
            client.answer(&request, OK, &[&[7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], stat.as_bytes()].concat());
            client.serve(&file, &[]).map(drop)
        });
        assert_eq!(open_hastily(port).unwrap().source.version(), version);
    }
}

#[test]
fn an_outage_is_not_held_against_what_comes_with_the_login() {
    let listener = crate::ports::listen();
    let url = format!("root://{}//after/an/outage", listener.local_addr().unwrap());
    let opening = move || open_xrootd_once(&url, &hasty(), NONE);
    let is_over = Arc::new(AtomicBool::new(false));
    let server_is_over = Arc::clone(&is_over);
    let server = std::thread::spawn(move || {
        loop {
            let (mut client, _) = listener.accept().unwrap();
            if server_is_over.load(SeqCst) {
                // All that comes before an answer.
                client.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
                let mut words = Vec::new();
                let _ = client.read_to_end(&mut words); // ends with the timeout
                return words;
            }
        }
    });
    for _ in 0..4 {
        assert!(matches!(refusal(opening()), Error::Connection { .. }));
    }
    is_over.store(true, SeqCst);
    refusal(opening());
    let words = server.join().unwrap();
    assert!(words.windows(16).any(|part| part == b"/after/an/outage"), "{words:?}");
}

/// A file on a server that answers what came with the opening, and then nothing any more, on no connection.
fn on_a_server_that_falls_silent(network: &Network) -> Arc<dyn Source> {
    let file = content(FILE_BYTES, 1);
    let (port, _) = start(move |mut client, number| {
        if number == 0 {
            client.greet("")?;
            client.serve(&file, &[READ])?;
        }
        while client.request().is_some() {}
        Some(())
    });
    open_xrootd(&url(port), network, NONE).unwrap().source
}

/// Reads by several threads at once: their errors, and how long it took until the last of them was back.
fn failures_of_many(source: &Arc<dyn Source>) -> (Vec<Error>, Duration) {
    let begin = Instant::now();
    let failures = std::thread::scope(|scope| {
        let read = |index: u64| move || source.read_at(index * 1000, &mut [0; 1000]).unwrap_err();
        let threads: Vec<_> = (0..8).map(|index| scope.spawn(read(index))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    (failures, begin.elapsed())
}

#[test]
fn reads_that_wait_together_for_a_silent_server_wait_as_long_as_one() {
    let timeout = Duration::from_millis(500);
    for (connections, retries) in [(1, 0), (1, 2), (3, 1)] {
        let network = Network { timeout, retries, max_connections: connections, ..network() };
        let (failures, elapsed) = failures_of_many(&on_a_server_that_falls_silent(&network));
        let is_silence = |error: &Error| matches!(error, Error::Connection { what, .. } if what.starts_with("nothing"));
        assert!(failures.iter().all(is_silence), "{failures:?}");
        // A tick is up to 0.25 s late, and a pause may be so long that some wait for the next connection, too.
        let (least, most) = (timeout * (retries + 1), timeout * (2 * retries + 2) + Duration::from_secs(2));
        assert!((least..most).contains(&elapsed), "{connections} connections, {retries} retries: {elapsed:?}");
    }
}

#[test]
fn the_deadline_bounds_the_waiting_for_connections() {
    let deadline = Duration::from_millis(1500);
    for timeout in [Duration::from_millis(500), Duration::from_secs(20)] {
        let network = Network { timeout, deadline, retries: 100, max_connections: 2, ..network() };
        let (failures, elapsed) = failures_of_many(&on_a_server_that_falls_silent(&network));
        assert!(failures.iter().all(|error| matches!(error, Error::Deadline { .. })), "{failures:?}");
        assert!(elapsed < deadline + Duration::from_secs(10), "timeout {timeout:?}: {elapsed:?}");
        let (port, _) = start(|mut client, _| client.request().map(drop));
        let begin = Instant::now();
        let error = refusal(open_xrootd(&url(port), &network, NONE));
        assert!(matches!(error, Error::Deadline { .. }), "{error}");
        assert!(begin.elapsed() < deadline + Duration::from_secs(10), "timeout {timeout:?}: {:?}", begin.elapsed());
    }
}
