//! Answers that are wrong, late, short or none: a read brings the right bytes or a clear error in time.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use arrowroot_storage::{Error, Fitness, Operation, open_replicas};

use super::checks::{SPECULATION, check_preloaded, check_vector, content, counts, ledger, open, options};
use super::scripted::{Reply, Request, Scripted, Then, multi, right, single, status};

const N_BYTES: usize = 300_000;

/// An answer to a request for several ranges.
type Several = fn(&[u8], Vec<std::ops::Range<usize>>) -> Vec<u8>;
/// An answer that is not right; `None` for one that is.
type Fault = fn(&[u8], &Request) -> Option<Reply>;

/// Answers the opening rightly, and the `n`th request after it as `fault` says.
fn server(fault: impl Fn(&[u8], &Request, usize) -> Reply + Send + Sync + 'static) -> Scripted {
    let content = content(N_BYTES);
    Scripted::start(move |request| {
        if request.number == 0 { right(&content, request) } else { fault(&content, request, request.number - 1) }
    })
}

#[test]
fn an_answer_that_breaks_off_is_continued_where_it_did() {
    let server = server(|content, request, place| {
        let mut reply = right(content, request);
        if place == 0 {
            reply.bytes.truncate(reply.bytes.len() - 400);
            reply.then = Then::Close;
        }
        reply
    });
    let opened = open(&server.url(), &[]).unwrap();
    check_vector(&opened.source, &content(N_BYTES), &[(10_000, 11_000)]).unwrap();
    assert_eq!(server.ranges(), ["0-4095,-65536", "10000-10999", "10600-10999"]);
    assert_eq!(counts(&ledger(&opened, "attempt"), Operation::Read), (2, 1));
    assert_eq!(counts(&ledger(&opened, "http"), Operation::Read), (2, 1));
    // What the first brought was kept.
    assert_eq!(["attempt", "http"].map(|layer| ledger(&opened, layer).totals(Operation::Read).bytes), [1000, 1000]);
}

#[test]
fn a_request_that_a_closing_connection_swallows_is_entered_as_one_that_failed() {
    let server = server(|content, request, place| match place {
        0 => Reply::new(Vec::new(), Then::Close),
        _ => right(content, request),
    });
    let opened = open(&server.url(), &[("retries", "0")]).unwrap();
    check_vector(&opened.source, &content(N_BYTES), &[(10_000, 11_000)]).unwrap();
    assert_eq!(server.ranges()[1..], ["10000-10999", "10000-10999"]);
    assert_eq!(counts(&ledger(&opened, "attempt"), Operation::Read), (1, 1));
    assert_eq!(counts(&ledger(&opened, "http"), Operation::Read), (2, 1));
}

#[test]
fn wrong_single_answers_are_not_taken() {
    type Single = fn(&[u8], std::ops::Range<usize>) -> Vec<u8>;
    let faults: [(&str, Single); 8] = [
        ("it is bytes", |content, range| single(content, range.start + 1..range.end + 1)),
        ("it is bytes", |content, range| single(content, range.start..range.end - 1)),
        ("bytes long, its Content-Range", |content, range| {
            let answer = String::from_utf8_lossy(&single(content, range.start..range.start)).into_owned();
            let (head, _) = answer.split_once("Content-Range").unwrap();
            let mut bytes = format!(
                "{head}Content-Range: bytes {}-{}/{N_BYTES}\r\nContent-Length: 99\r\n\r\n",
                range.start,
                range.end - 1
            )
            .into_bytes();
            bytes.extend_from_slice(&content[range.start..range.start + 99]);
            bytes
        }),
        ("longer than its Content-Range", |content, range| {
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: chunked\r\nContent-Range: bytes {}-{}/{N_BYTES}\r\n\r\n",
                range.start,
                range.end - 1
            );
            let mut bytes = head.into_bytes();
            bytes.extend_from_slice(format!("{:x}\r\n", range.len() + 1).as_bytes());
            bytes.extend_from_slice(&content[range.start..range.end + 1]);
            bytes.extend_from_slice(b"\r\n0\r\n\r\n");
            bytes
        }),
        ("it has no Content-Range", |_, _| b"HTTP/1.1 206 Partial Content\r\nContent-Length: 1\r\n\r\nx".to_vec()),
        ("compressed (gzip)", |content, range| {
            let answer = single(content, range);
            let text = "HTTP/1.1 206 Partial Content\r\n";
            [text.as_bytes(), b"Content-Encoding: gzip\r\n", &answer[text.len()..]].concat()
        }),
        ("whole file", |content, _| [b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n", content].concat()),
        ("another range", |_, _| {
            b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 7-3/9\r\nContent-Length: 0\r\n\r\n".to_vec()
        }),
    ];
    for (what, fault) in faults {
        let server = server(move |content, request, _| {
            Reply::new(fault(content, request.ranges(content.len())[0].clone()), Then::Keep)
        });
        let opened = open(&server.url(), &[("retries", "1")]).unwrap();
        let error = check_vector(&opened.source, &content(N_BYTES), &[(10_000, 10_100)]).unwrap_err();
        let Error::WrongAnswer { what: found, .. } = &error else { panic!("{what}: {error}") };
        assert!(found.contains(what) || what == "another range", "{what}: {error}");
        assert_eq!(counts(&ledger(&opened, "attempt"), Operation::Read), (2, 0), "{what}");
    }
}

#[test]
fn another_size_or_version_is_a_change() {
    let faults: [fn(String) -> String; 2] =
        [|head| head.replace("/300000", "/300001"), |head| head.replace("ETag: \"1\"", "ETag: \"2\"")];
    for fault in faults {
        let server = server(move |content, request, _| {
            let bytes = right(content, request).bytes;
            let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
            let head = fault(String::from_utf8(bytes[..end].to_vec()).unwrap());
            Reply::new([head.as_bytes(), &bytes[end..]].concat(), Then::Keep)
        });
        let opened = open(&server.url(), &[]).unwrap();
        let error = check_vector(&opened.source, &content(N_BYTES), &[(10_000, 10_100)]).unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{error}");
        assert!(server.heads()[1].contains("If-Match: \"1\""), "{}", server.heads()[1]);
    }
}

#[test]
fn a_version_is_of_one_query_be_it_a_tag_or_a_time() {
    let content = content(N_BYTES);
    let tagged = Scripted::start({
        let content = content.clone();
        move |request| right(&content, request)
    });
    let dated = Scripted::start(move |request| {
        let reply = right(&content, request);
        let end = reply.bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(reply.bytes[..end].to_vec()).unwrap();
        let head = head.replace("ETag: \"1\"", "Last-Modified: Mon, 23 Nov 2026 05:00:00 GMT");
        Reply::new([head.as_bytes(), &reply.bytes[end..]].concat(), Then::Keep)
    });
    let of = |server: &Scripted, query: &str| {
        open(&format!("{}{query}", server.url()), &[]).unwrap().source.version().unwrap()
    };
    for server in [&tagged, &dated] {
        let version = of(server, "");
        assert!(!version.contains("\"1\"") && !version.contains("2026"), "{version}");
        assert_eq!(of(server, "?authz=secret"), version);
        assert!(of(server, "?file=1").starts_with(&version) && !of(server, "?file=1").contains("file"));
        assert!(of(server, "?file=1") != version && of(server, "?file=1") != of(server, "?file=2"));
    }
    assert_ne!(of(&tagged, ""), of(&dated, ""));
}

#[test]
fn several_ranges_are_taken_in_any_order_and_merged() {
    let answers: [Several; 3] = [
        |content, mut ranges| {
            ranges.reverse();
            multi(content, &ranges)
        },
        |content, ranges| multi(content, &[ranges[0].start..ranges[1].end, ranges[2].clone()]),
        |content, ranges| single(content, ranges[0].start..ranges[2].end),
    ];
    for answer in answers {
        let server =
            server(move |content, request, _| Reply::new(answer(content, request.ranges(content.len())), Then::Keep));
        let opened = open(&server.url(), &[]).unwrap();
        let ranges = [(10_000, 10_100), (10_110, 10_200), (10_250, 10_300)];
        check_vector(&opened.source, &content(N_BYTES), &ranges).unwrap();
        assert_eq!(server.heads().len(), 2);
        assert_eq!(opened.source.access_profile().max_ranges, 200);
    }
}

#[test]
fn wrong_answers_to_several_ranges_are_made_good_with_single_ones() {
    let answers: [Several; 5] = [
        // Twice, one missing, another one, the first only, all of it.
        |content, ranges| multi(content, &[ranges[0].clone(), ranges[0].clone(), ranges[1].clone()]),
        |content, ranges| multi(content, &ranges[..1]),
        |content, ranges| multi(content, &[ranges[0].clone(), 20..30]),
        |content, ranges| single(content, ranges[0].clone()),
        |content, _| [b"HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 300000\r\n\r\n", content].concat(),
    ];
    for (index, answer) in answers.into_iter().enumerate() {
        let server = server(move |content, request, _| {
            let ranges = request.ranges(content.len());
            let bytes = if ranges.len() > 1 { answer(content, ranges) } else { right(content, request).bytes };
            Reply::new(bytes, Then::Keep)
        });
        let opened = open(&server.url(), &[("retries", "0")]).unwrap();
        for start in [10_000, 20_000, 30_000, 40_000] {
            check_vector(&opened.source, &content(N_BYTES), &[(start, start + 10), (start + 500, start + 600)])
                .unwrap();
        }
        assert_eq!(opened.source.access_profile().max_ranges, 1, "answer {index}: remembered");
        assert!(!server.ranges().last().unwrap().contains(','), "answer {index}: {:?}", server.ranges());
    }
}

#[test]
fn a_server_that_leaves_several_ranges_without_an_answer_is_asked_for_single_ones() {
    type Nothing = fn() -> Reply;
    let answers: [Nothing; 4] = [
        || status("502 Bad Gateway", ""),
        || status("503 Service Unavailable", ""),
        || Reply::new(Vec::new(), Then::Close),
        || Reply::new(Vec::new(), Then::Stall),
    ];
    for (index, answer) in answers.into_iter().enumerate() {
        // From the opening on, and after it.
        for n_right in [0, 1] {
            let content_bytes = content(N_BYTES);
            let server = Scripted::start(move |request| {
                let is_several = request.ranges(N_BYTES).len() > 1;
                if is_several && request.number >= n_right { answer() } else { right(&content_bytes, request) }
            });
            let case = format!("answer {index}, {n_right}");
            let opened = open(&server.url(), &[("timeout", "0.2")]).unwrap_or_else(|error| panic!("{case}: {error}"));
            for start in [10_000, 20_000, 30_000, 40_000] {
                check_vector(&opened.source, &content(N_BYTES), &[(start, start + 10), (start + 500, start + 600)])
                    .unwrap_or_else(|error| panic!("{case}: {error}"));
            }
            assert_eq!(opened.source.access_profile().max_ranges, 1, "{case}: remembered");
            let n_in_vain = server.ranges()[n_right..].iter().filter(|ranges| ranges.contains(',')).count();
            // A request that a closing connection swallowed is sent again by itself, up to twice.
            assert!(n_in_vain <= if index == 2 { 12 } else { 4 }, "{case}: {:?}", server.ranges());
        }
    }
}

#[test]
fn a_read_of_several_requests_waits_once_for_a_server_that_leaves_several_ranges_without_an_answer() {
    let content_bytes = content(N_BYTES);
    let server = Scripted::start(move |request| match request.ranges(N_BYTES).len() {
        1 => right(&content_bytes, request),
        _ => Reply::new(Vec::new(), Then::Stall),
    });
    let opened = open(&server.url(), &[("timeout", "0.2"), ("deadline", "60")]).unwrap();
    let n_before = server.ranges().iter().filter(|ranges| ranges.contains(',')).count();
    // More ranges than ten requests have.
    let ranges: Vec<_> = (0..2500).map(|index| (10_000 + 100 * index, 10_010 + 100 * index)).collect();
    check_vector(&opened.source, &content(N_BYTES), &ranges).unwrap();
    let n_in_vain = server.ranges().iter().filter(|ranges| ranges.contains(',')).count() - n_before;
    assert!(n_in_vain <= 3, "{n_in_vain}");
}

#[test]
fn who_forbids_several_ranges_is_asked_for_single_ones_and_who_forbids_all_is_believed() {
    let content_bytes = content(N_BYTES);
    let server = Scripted::start(move |request| match request.ranges(N_BYTES).len() {
        1 => right(&content_bytes, request),
        _ => status("403 Forbidden", ""),
    });
    let opened = open(&server.url(), &[]).unwrap();
    check_preloaded(&opened, &content(N_BYTES));
    check_vector(&opened.source, &content(N_BYTES), &[(10_000, 10_010), (20_000, 20_010)]).unwrap();
    assert_eq!(server.ranges().iter().filter(|ranges| ranges.contains(',')).count(), 1, "{:?}", server.ranges());
    let server = Scripted::start(|_| status("403 Forbidden", ""));
    let error = open(&server.url(), &[]).unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error}");
    assert_eq!(server.ranges().len(), 3, "no retries: {:?}", server.ranges());
}

#[test]
fn too_many_ranges_become_fewer() {
    let server = server(|content, request, _| {
        if request.ranges(content.len()).len() > 30 { status("400 Bad Request", "") } else { right(content, request) }
    });
    let opened = open(&server.url(), &[]).unwrap();
    let ranges: Vec<_> = (0..100).map(|index| (10_000 + index * 100, 10_010 + index * 100)).collect();
    check_vector(&opened.source, &content(N_BYTES), &ranges).unwrap();
    assert_eq!(opened.source.access_profile().max_ranges, 20);
    let n_ranges: Vec<_> = server.ranges()[1..].iter().map(|range| range.split(',').count()).collect();
    // 100 fail, so does one half, and five of 20 do.
    assert_eq!(n_ranges, [100, 50, 20, 20, 20, 20, 20]);
}

#[test]
fn a_status_that_may_be_of_the_number_of_ranges_is_looked_into_with_one() {
    for told in ["403 Forbidden", "404 Not Found", "406 Not Acceptable", "418 I'm a teapot", "505 No", "302 Found"] {
        let server =
            server(
                move |content, request, _| {
                    if request.ranges(content.len()).len() > 30 { status(told, "") } else { right(content, request) }
                },
            );
        let opened = open(&server.url(), &[]).unwrap();
        let ranges: Vec<_> = (0..100).map(|index| (10_000 + index * 100, 10_010 + index * 100)).collect();
        check_vector(&opened.source, &content(N_BYTES), &ranges).unwrap_or_else(|error| panic!("{told}: {error}"));
        assert_eq!(opened.source.access_profile().max_ranges, 20, "{told}");
    }
    let server = server(|_, _, _| status("403 Forbidden", ""));
    let opened = open(&server.url(), &[]).unwrap();
    let error = check_vector(&opened.source, &content(N_BYTES), &[(10_000, 10_010), (20_000, 20_010)]).unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error}");
    assert_eq!(server.ranges()[1..], ["10000-10009,20000-20009", "10000-10009"], "no retries");
}

#[test]
fn silence_and_slowness_end_in_time() {
    let pause = Duration::from_millis(40);
    let silent = |content: &[u8], request: &Request, n_sent: usize| {
        let mut reply = right(content, request);
        reply.bytes.truncate(n_sent);
        reply.then = Then::Stall;
        reply
    };
    let settings = [("timeout", "0.3"), ("deadline", "1.5"), ("retries", "1")];
    for n_sent in [0, 30, 200] {
        let server = server(move |content, request, _| silent(content, request, n_sent));
        let opened = open(&server.url(), &settings).unwrap();
        let start = Instant::now();
        let error = check_vector(&opened.source, &content(N_BYTES), &[(10_000, 110_000)]).unwrap_err();
        let text = error.to_string();
        // Each try of the last kind brings something: those are tried again until the deadline.
        let is_expected = if n_sent < 200 { text.contains("nothing came for 0.3 s") } else { text.contains("gave up") };
        assert!(is_expected, "{n_sent}: {error}");
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }
    let server = server(move |content, request, _| Reply { pause: Some(pause), ..right(content, request) });
    let opened = open(&server.url(), &settings).unwrap();
    let start = Instant::now();
    let error = check_vector(&opened.source, &content(N_BYTES), &[(10_000, 10_300)]).unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }), "{error}");
    // All of it would take much longer.
    assert!((1.0..10.0).contains(&start.elapsed().as_secs_f64()), "{:?}", start.elapsed());
}

#[test]
fn a_server_that_asks_for_a_pause_gets_one() {
    let server = server(|content, request, place| match place {
        0 => status("429 Too Many Requests", "Retry-After: 1\r\n"),
        _ => right(content, request),
    });
    let opened = open(&server.url(), &[]).unwrap();
    let start = Instant::now();
    check_vector(&opened.source, &content(N_BYTES), &[(10_000, 10_300)]).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(950), "{:?}", start.elapsed());
    assert_eq!(counts(&ledger(&opened, "attempt"), Operation::Read), (2, 1));
}

#[test]
fn a_pause_beyond_the_deadline_is_not_waited_for() {
    let server = server(|_, _, _| status("503 Service Unavailable", "Retry-After: 3600\r\n"));
    let opened = open(&server.url(), &[]).unwrap();
    let start = Instant::now();
    let error = check_vector(&opened.source, &content(N_BYTES), &[(10_000, 10_300)]).unwrap_err();
    assert!(error.to_string().contains("the server says to come back in 3600 s"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

#[test]
fn a_body_that_goes_on_and_on_is_cut_off() {
    // Chunks say nothing of their sum; the head says that it is little.
    let endless = |head: &str| {
        let mut bytes = format!("HTTP/1.1 200 OK\r\n{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
        (0..300).for_each(|_| bytes.extend([b"10000\r\n".as_slice(), &[7; 0x10000], b"\r\n"].concat()));
        Reply::new(bytes, Then::Close)
    };
    for length in ["100", "200000"] {
        let head = format!("Content-Length: {length}\r\n");
        let server = Scripted::start(move |_| endless(&head));
        let error = open(&server.url(), &[("retries", "0")]).unwrap_err();
        assert!(matches!(error, Error::WrongAnswer { .. } | Error::Connection { .. }), "{error}");
    }
}

#[test]
fn a_copy_that_dribbles_or_never_ends_is_given_up_at_the_deadline_and_its_replica_stands_in() {
    let good = Scripted::start(|request| right(&content(N_BYTES), request));
    for length in [format!("Content-Length: {N_BYTES}\r\n"), String::new()] {
        let slow = Scripted::start(move |_| {
            let mut bytes = format!("HTTP/1.1 200 OK\r\n{length}\r\n").into_bytes();
            bytes.resize(N_BYTES, 0);
            Reply { bytes, then: Then::Stall, pause: Some(Duration::from_millis(2)) }
        });
        let limits = [("timeout", "5"), ("deadline", "4"), ("retries", "0")];
        let start = Instant::now();
        let error = open(&slow.url(), &limits).err().unwrap();
        assert!(matches!(error, Error::Deadline { .. }), "{error}");
        assert!(error.to_string().contains("came within the deadline of 4 s"), "{error}");
        let urls = [slow.url(), good.url()];
        let opened = open_replicas(&urls, &options(&limits), SPECULATION, &|_, _| Fitness::Whole).unwrap().0;
        assert_eq!(opened.source.url(), good.url());
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }
}

#[test]
fn opening_survives_what_reading_does() {
    let content_bytes = Arc::new(content(N_BYTES));
    let answers: [Fault; 6] = [
        |_, request| (request.number == 0).then(|| status("503 Service Unavailable", "")),
        |_, request| (request.number == 0).then(|| Reply::new(b"HTTP/1.1 206 Partial".to_vec(), Then::Close)),
        // The first of the ranges only; no tails; neither.
        |content, request| {
            let ranges = request.ranges(content.len());
            (ranges.len() > 1).then(|| Reply::new(single(content, ranges[0].clone()), Then::Keep))
        },
        |_, request| {
            let is_tail = request.header("range").unwrap().contains("=-");
            is_tail.then(|| status("416 Range Not Satisfiable", ""))
        },
        |_, request| {
            let has_tail = request.header("range").unwrap().contains(['=', ',']) && request.head.contains("-65536");
            has_tail.then(|| status("400 Bad Request", ""))
        },
        |_, request| (request.number == 0).then(|| Reply::new(b"\0\0\0 nonsense\r\n\r\n".to_vec(), Then::Close)),
    ];
    for (index, answer) in answers.into_iter().enumerate() {
        let content = Arc::clone(&content_bytes);
        let server =
            Scripted::start(move |request| answer(&content, request).unwrap_or_else(|| right(&content, request)));
        let opened = open(&server.url(), &[]).unwrap_or_else(|error| panic!("answer {index}: {error}"));
        check_preloaded(&opened, &content_bytes);
        let n_known: usize = opened.preloaded.iter().map(|(_, bytes)| bytes.len()).sum();
        assert_eq!(n_known, 4096 + 65_536, "answer {index}: {:?}", server.ranges());
        check_vector(&opened.source, &content_bytes, &[(10_000, 10_300), (50_000, 50_001)]).unwrap();
    }
}

#[test]
fn whatever_goes_wrong_a_read_is_right_or_an_error_in_time() {
    let n_runs = std::env::var("ARROWROOT_FAULT_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(100_u64);
    let (next, n_right) = (AtomicU64::new(0), AtomicU64::new(0));
    // Most of a run is waiting.
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= n_runs {
                        return;
                    }
                    n_right.fetch_add(u64::from(read_from_a_bad_server(seed)), Relaxed);
                }
            });
        }
    });
    let n_right = n_right.into_inner();
    assert!(n_right * 2 > n_runs, "only {n_right} of {n_runs} runs came to their end");
}

/// Whether all reads were right. Wrong bytes and lateness panic.
fn read_from_a_bad_server(seed: u64) -> bool {
    let content_bytes = Arc::new(content(N_BYTES));
    let served = Arc::clone(&content_bytes);
    let server = Scripted::start(move |request| badly(&served, request, seed));
    let settings = [("timeout", "0.5"), ("deadline", "4"), ("retries", "8")];
    let start = Instant::now();
    let result = open(&server.url(), &settings).and_then(|opened| {
        check_preloaded(&opened, &content_bytes);
        let mut chance = Chance(seed + 1);
        for _ in 0..4 {
            let mut ranges: Vec<_> = (0..1 + chance.below(6))
                .map(|_| {
                    let start = usize::try_from(chance.below(N_BYTES as u64 - 3000)).unwrap();
                    (start, start + usize::try_from(1 + chance.below(3000)).unwrap())
                })
                .collect();
            ranges.sort_unstable();
            check_vector(&opened.source, &content_bytes, &ranges)?;
        }
        Ok(())
    });
    // Five reads, each with its own deadline.
    assert!(start.elapsed() < Duration::from_secs(100), "seed {seed}: {:?}", start.elapsed());
    result.is_ok()
}

/// Some answers are cut, cut and silent, changed in their head, or refused.
fn badly(content: &[u8], request: &Request, seed: u64) -> Reply {
    let mut chance = Chance(seed * 1000 + request.number as u64 + 1);
    let mut reply = right(content, request);
    let n_bytes = reply.bytes.len() as u64;
    match chance.below(8) {
        0 => {
            reply.bytes.truncate(usize::try_from(chance.below(n_bytes)).unwrap());
            reply.then = Then::Close;
        }
        1 if chance.below(3) == 0 => {
            reply.bytes.truncate(usize::try_from(chance.below(n_bytes)).unwrap());
            reply.then = Then::Stall;
        }
        2 => {
            let at = reply.bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() as u64;
            reply.bytes[usize::try_from(chance.below(at)).unwrap()] = b'7';
        }
        3 => reply = status("500 Internal Server Error", ""),
        _ => {}
    }
    reply
}

/// Chance that a seed repeats.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

#[test]
fn one_outage_of_many_answers_takes_no_ranges_from_a_server() {
    let content_bytes = content(N_BYTES);
    let served = content_bytes.clone();
    let (n_broken, together) = (AtomicUsize::new(0), Barrier::new(3));
    let server = Scripted::start(move |request| {
        let mut reply = right(&served, request);
        if request.number > 0 && request.head.contains(',') && n_broken.fetch_add(1, SeqCst) < 3 {
            together.wait();
            reply.bytes.truncate(reply.bytes.len() - 50);
            reply.then = Then::Close;
        }
        reply
    });
    let opened = open(&server.url(), &[]).unwrap();
    let n_ranges = opened.source.access_profile().max_ranges;
    std::thread::scope(|scope| {
        for thread in 1..=3 {
            let (source, content_bytes) = (&opened.source, &content_bytes);
            let start = thread * 10_000;
            let ranges = [0, 1000, 2000].map(|offset| (start + offset, start + offset + 100));
            scope.spawn(move || check_vector(source, content_bytes, &ranges).unwrap());
        }
    });
    assert_eq!(opened.source.access_profile().max_ranges, n_ranges);
}

#[test]
fn one_wrong_answer_at_the_opening_takes_no_ranges_from_a_server() {
    let content_bytes = content(N_BYTES);
    let served = content_bytes.clone();
    let server = Scripted::start(move |request| match request.number {
        0 => Reply::new(b"HTTP/1.1 206 Partial Content\r\nContent-Length: 1\r\n\r\nx".to_vec(), Then::Keep),
        _ => right(&served, request),
    });
    let opened = open(&server.url(), &[]).unwrap();
    check_vector(&opened.source, &content_bytes, &[(10_000, 10_100), (20_000, 20_100)]).unwrap();
    assert_eq!(server.ranges().last().unwrap(), "10000-10099,20000-20099");
}

#[test]
fn nothing_is_kept_of_a_merged_range_that_is_longer_than_it_says() {
    let content_bytes = content(N_BYTES);
    let served = content_bytes.clone();
    let server = Scripted::start(move |request| {
        if request.number != 1 {
            return right(&served, request);
        }
        let head = "HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: chunked\r\nETag: \"1\"\r\n\
                    Content-Range: bytes 10000-10299/300000\r\n\r\n12d\r\n";
        Reply::new([head.as_bytes(), &[0xEE; 301], b"\r\n0\r\n\r\n"].concat(), Then::Keep)
    });
    let opened = open(&server.url(), &[]).unwrap();
    check_vector(&opened.source, &content_bytes, &[(10_000, 10_100), (10_150, 10_300)]).unwrap();
}

#[test]
fn a_file_of_unknown_size_is_an_error_at_once() {
    let content = content(N_BYTES);
    let server = Scripted::start(move |request| {
        let ranges = request.ranges(content.len());
        let [range] = ranges.as_slice() else { return status("400 Bad Request", "") };
        let answer = String::from_utf8_lossy(&single(&content, range.clone())[..200]).replace("/300000", "/*");
        let head = answer.split_inclusive("\r\n\r\n").next().unwrap();
        Reply::new([head.as_bytes(), &content[range.clone()]].concat(), Then::Keep)
    });
    let error = open(&server.url(), &[]).unwrap_err();
    assert!(matches!(&error, Error::Server { answer, .. } if answer.contains("not the size")), "{error}");
    assert!(server.ranges().len() <= 3, "{:?}", server.ranges());
}
