//! Real servers.

use std::time::{Duration, Instant};

use arrowroot_storage::testing::check_source;
use arrowroot_storage::{Error, Speculation, open_xrootd_once};

use super::relay::Relay;
use super::server::{Server, is_installed};
use super::{SPECULATION, check_ranges, hasty, network, open, read_ranges, refusal, some_ranges};

#[test]
fn content_is_that_of_the_file_and_head_and_tail_come_with_the_opening() {
    if !is_installed() {
        return;
    }
    let server = Server::start("");
    let content = server.with_file("f", 10_000_000, 1);
    let opened = open(&server.url("f")).unwrap();
    assert_eq!(opened.source.size_bytes(), 10_000_000);
    assert_eq!(opened.source.url(), server.url("f"));
    let known: Vec<_> = opened.preloaded.iter().map(|(offset, bytes)| (*offset as usize, bytes.len())).collect();
    assert_eq!(known, [(0, 4096), (10_000_000 - 65_536, 65_536)]);
    assert!(opened.preloaded.iter().all(|(offset, bytes)| content[*offset as usize..].starts_with(bytes)));
    let mut all = vec![0; 10_000_000];
    opened.source.read_at(0, &mut all).unwrap();
    assert!(all == content);
    check_ranges(&*opened.source, &[(9_999_999, 1), (0, 0), (0, 1), (5, 100)], &content);
    let error = read_ranges(&*opened.source, &[(0, 5), (9_999_999, 2)]).unwrap_err();
    assert!(matches!(error, Error::PastEnd { offset: 9_999_999, .. }), "{error}");
    let profile = opened.source.access_profile();
    assert_eq!(profile.max_ranges, 1024);
    assert!(profile.latency < Duration::from_secs(1) && profile.bytes_per_second > 1e6, "{profile:?}");
}

#[test]
fn a_small_file_and_an_empty_one_come_whole() {
    if !is_installed() {
        return;
    }
    let server = Server::start("");
    let content = server.with_file("small", 5000, 1);
    assert_eq!(open(&server.url("small")).unwrap().preloaded, [(0, content.clone())]);
    server.with_file("empty", 0, 1);
    let empty = open(&server.url("empty")).unwrap();
    assert!(empty.preloaded.is_empty() && empty.source.size_bytes() == 0);
    let none = Speculation { head_bytes: 0, tail_bytes: 0 };
    let opened = open_xrootd_once(&server.url("small"), &network(), none).unwrap();
    assert!(opened.preloaded.is_empty());
    check_ranges(&*opened.source, &[(1, 2)], &content);
}

#[test]
fn vector_reads_may_exceed_every_limit_of_the_server() {
    if !is_installed() {
        return;
    }
    let server = Server::start("");
    let content = server.with_file("f", 100_000_000, 2);
    let source = open(&server.url("f")).unwrap().source;
    // More ranges than one request takes, in any order and overlapping.
    check_ranges(&*source, &some_ranges(5000, 3000, content.len(), 3), &content);
    // Larger ranges than one element takes, and more bytes than one request.
    let mut large = some_ranges(20, 6_000_000, content.len(), 4);
    large.extend([(0, 2_097_136), (1, 2_097_137), (50, 20_000_000)]);
    large.extend(some_ranges(50, 2_000_000, content.len(), 5));
    check_ranges(&*source, &large, &content);
}

#[test]
fn many_threads_share_one_connection() {
    if !is_installed() {
        return;
    }
    let server = Server::start("");
    let content = server.with_file("f", 30_000_000, 6);
    let other = server.with_file("g", 1_000_000, 7);
    let relay = Relay::start(server.port, Duration::from_millis(2));
    let url = |name: &str| format!("root://127.0.0.1:{}//data/{name}", relay.port);
    let (source, second) = (open(&url("f")).unwrap().source, open(&url("g")).unwrap().source);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (source, content, second, other) = (&source, &content, &second, &other);
            scope.spawn(move || {
                for turn in 0..10 {
                    let seed = 100 * thread + turn + 1;
                    match seed % 4 {
                        0 => check_ranges(&**source, &some_ranges(1, 3_000_000, content.len(), seed), content),
                        1 => check_ranges(&**source, &some_ranges(1500, 300, content.len(), seed), content),
                        2 => check_ranges(&**second, &some_ranges(20, 10_000, other.len(), seed), other),
                        _ => check_ranges(&**source, &some_ranges(40, 100_000, content.len(), seed), content),
                    }
                }
            });
        }
    });
    assert_eq!(relay.counts().0, 1);
}

#[test]
fn it_does_what_every_source_must() {
    if !is_installed() {
        return;
    }
    let server = Server::start("");
    let content = server.with_file("f", 300_000, 20);
    let opened = arrowroot_storage::open_xrootd(&server.url("f"), &network(), SPECULATION).unwrap();
    check_source(&opened.source, &content).unwrap();
    let version = opened.source.version();
    assert!(version.is_some() && version == open(&server.url("f")).unwrap().source.version());
}

#[test]
fn more_connections_are_used_if_they_are_allowed_and_needed() {
    if !is_installed() {
        return;
    }
    let server = Server::start("");
    let content = server.with_file("f", 30_000_000, 21);
    let relay = Relay::start(server.port, Duration::from_millis(20));
    let network = arrowroot_storage::Network { max_connections: 3, ..network() };
    let url = format!("root://127.0.0.1:{}//data/f", relay.port);
    let source = open_xrootd_once(&url, &network, SPECULATION).unwrap().source;
    for seed in 1..5 {
        check_ranges(&*source, &some_ranges(10, 1000, content.len(), seed), &content);
    }
    assert_eq!(relay.counts().0, 1);
    std::thread::scope(|scope| {
        for thread in 1..13 {
            let (source, content) = (&source, &content);
            scope.spawn(move || check_ranges(&**source, &some_ranges(30, 100_000, content.len(), thread), content));
        }
    });
    assert_eq!(relay.counts().0, 2, "besides the first");
}

#[test]
fn connecting_takes_one_round_trip_and_opening_two() {
    if !is_installed() {
        return;
    }
    let server = Server::start("");
    let content = server.with_file("f", 3_000_000, 8);
    server.with_file("g", 3_000_000, 9);
    let relay = Relay::start(server.port, Duration::from_millis(60));
    let url = |name: &str| format!("root://127.0.0.1:{}//data/{name}", relay.port);
    let source = open(&url("f")).unwrap().source;
    assert_eq!(relay.counts(), (1, 2), "connections, round trips: login with opening, vector read");
    let second = open(&url("g")).unwrap().source;
    assert_eq!(relay.counts(), (0, 2), "the connection is there");
    check_ranges(&*source, &some_ranges(1000, 500, content.len(), 10), &content);
    assert_eq!(relay.counts(), (0, 1), "a vector read");
    check_ranges(&*source, &some_ranges(3000, 500, content.len(), 11), &content);
    assert_eq!(relay.counts(), (0, 1), "three vector reads in one flight");
    let latency = source.access_profile().latency;
    assert!((60..500).contains(&latency.as_millis()), "{latency:?}");
    drop(second);
}

#[test]
fn what_is_not_there_or_no_file_is_named_so() {
    if !is_installed() {
        return;
    }
    let server = Server::start("");
    let error = refusal(open(&server.url("missing?authz=Bearer%20secretsecret")));
    assert!(matches!(error, Error::NotFound { .. }) && !error.is_transient(), "{error:?}");
    assert!(!error.to_string().contains("secretsecret"), "{error}");
    std::fs::create_dir(server.path_of("directory")).unwrap();
    let error = refusal(open(&server.url("directory")));
    assert!(matches!(error, Error::Server { is_transient: false, .. }), "{error:?}");
    let error = refusal(open(&format!("root://127.0.0.1:{}//elsewhere/f", server.port)));
    assert!(matches!(error, Error::Denied { .. }), "{error:?}");
    let error = refusal(open(&format!("root://127.0.0.1:{}//data/f", crate::ports::free_port())));
    assert!(matches!(error, Error::Connection { .. }), "{error:?}");
}

#[test]
fn a_server_that_comes_back_is_found_again() {
    if !is_installed() {
        return;
    }
    let mut server = Server::start("");
    let content = server.with_file("f", 2_000_000, 12);
    let source = open_xrootd_once(&server.url("f"), &network(), SPECULATION).unwrap().source;
    server.kill();
    let error = read_ranges(&*source, &[(0, 10)]).unwrap_err();
    assert!(matches!(error, Error::Connection { .. }) && error.is_transient(), "{error:?}");
    server.restart();
    check_ranges(&*source, &[(0, 10), (1_000_000, 1000)], &content);
    server.restart();
    check_ranges(&*source, &[(5, 10)], &content);
}

#[test]
fn threads_that_read_while_the_server_dies_fail_soon_or_read_rightly() {
    if !is_installed() {
        return;
    }
    let mut server = Server::start("");
    let content = server.with_file("f", 20_000_000, 13);
    let source = open_xrootd_once(&server.url("f"), &hasty(), SPECULATION).unwrap().source;
    let until = Instant::now() + Duration::from_secs(4);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (source, content) = (&source, &content);
            scope.spawn(move || {
                let mut n_right = 0;
                for turn in 0.. {
                    let ranges = some_ranges(100, 100_000, content.len(), 1000 * thread + turn + 1);
                    let start = Instant::now();
                    match read_ranges(&**source, &ranges) {
                        Ok(found) => {
                            n_right += 1;
                            let expected = ranges.iter().map(|&(offset, n_bytes)| &content[offset..offset + n_bytes]);
                            assert!(found.iter().map(Vec::as_slice).eq(expected));
                            if Instant::now() > until {
                                break;
                            }
                        }
                        Err(error) => {
                            assert!(Instant::now() < until + Duration::from_secs(60), "{error:?}");
                            assert!(error.is_transient() && start.elapsed() < Duration::from_secs(20), "{error:?}");
                            std::thread::sleep(Duration::from_millis(20));
                        }
                    }
                }
                assert!(n_right > 0);
            });
        }
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(300));
            server.restart();
        }
    });
}

#[test]
fn a_file_that_was_replaced_is_an_error_and_not_other_bytes() {
    if !is_installed() {
        return;
    }
    let mut server = Server::start("");
    server.with_file("f", 2_000_000, 14);
    server.with_file("g", 2_000_000, 14);
    let (first, second) = (open(&server.url("f")).unwrap().source, open(&server.url("g")).unwrap().source);
    server.kill();
    // One of another size, and one of the same size but another time.
    server.with_file("f", 2_000_001, 15);
    server.with_file("g", 2_000_000, 15);
    let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    std::fs::File::options().write(true).open(server.path_of("g")).unwrap().set_modified(long_ago).unwrap();
    server.restart();
    let mut errors = Vec::new();
    for source in [&first, &second] {
        // The first request may still find the old connection broken.
        let error = read_ranges(&**source, &[(0, 10)]).unwrap_err();
        errors.push(if error.is_transient() { read_ranges(&**source, &[(0, 10)]).unwrap_err() } else { error });
    }
    for error in errors {
        assert!(matches!(error, Error::Changed { .. }) && !error.is_transient(), "{error:?}");
    }
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_open_is_an_error() {
    if !is_installed() {
        return;
    }
    let server = Server::start("");
    server.with_file("f", 2_000_000, 16);
    let source = open(&server.url("f")).unwrap().source;
    std::fs::File::options().write(true).open(server.path_of("f")).unwrap().set_len(1000).unwrap();
    for ranges in [vec![(500_000, 10), (600_000, 10)], vec![(500_000, 10)]] {
        let error = read_ranges(&*source, &ranges).unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{error:?}");
    }
}

#[test]
fn a_redirector_leads_to_the_file_and_back_to_it_after_a_restart() {
    if !is_installed() {
        return;
    }
    let mut server = Server::start("");
    let content = server.with_file("f", 2_000_000, 17);
    let redirector = Server::start(&format!("xrootd.redirect 127.0.0.1:{} /data", server.port));
    let source = open_xrootd_once(&redirector.url("f"), &hasty(), SPECULATION).unwrap().source;
    assert_eq!(source.url(), redirector.url("f"));
    check_ranges(&*source, &some_ranges(100, 1000, content.len(), 18), &content);
    server.restart();
    for _ in 0..2 {
        if let Err(error) = read_ranges(&*source, &[(0, 10)]) {
            assert!(error.is_transient(), "{error:?}");
        }
    }
    check_ranges(&*source, &[(0, 10)], &content);
    let error = refusal(open(&redirector.url("missing")));
    assert!(matches!(error, Error::NotFound { .. }), "{error:?}");
}

#[test]
fn redirectors_that_send_in_a_circle_are_not_followed_for_ever() {
    if !is_installed() {
        return;
    }
    let first = crate::ports::free_port();
    let second = Server::start(&format!("xrootd.redirect 127.0.0.1:{first} /data"));
    let third = super::relay::Relay::start(second.port, Duration::ZERO);
    // The relay stands for the first port.
    let circle = Server::start(&format!("xrootd.redirect 127.0.0.1:{} /data", third.port));
    drop(second);
    let error = refusal(open(&circle.url("f")));
    assert!(matches!(error, Error::Connection { .. } | Error::WrongAnswer { .. }), "{error:?}");
}

#[test]
fn the_account_is_enough_where_the_server_asks_for_no_more() {
    if !is_installed() {
        return;
    }
    for protocol in ["unix", "host"] {
        let server = Server::start(&format!(
            "xrootd.seclib libXrdSec.so\nsec.protocol {protocol}\nsec.protbind * only {protocol}"
        ));
        let content = server.with_file("f", 100_000, 19);
        let source = open(&server.url("f")).unwrap().source;
        check_ranges(&*source, &[(77, 1000)], &content);
    }
}
