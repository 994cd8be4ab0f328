//! Servers that can do little: few connections, no ranges that end after the file, several ranges only in name.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use super::checks::{check_preloaded, check_vector, content, open};
use super::scripted::{Reply, Request, Scripted, Then, right, single, status};

const N_BYTES: usize = 300_000;
/// A range whose answer comes slowly.
const SLOW: (usize, usize) = (100_000, 100_500);

fn many_ranges() -> Vec<(usize, usize)> {
    (0..100).map(|index| (10_000 + index * 1000, 10_100 + index * 1000)).collect()
}

/// Answers one range; several with `several`.
fn single_ranges(content: &[u8], request: &Request, several: impl Fn() -> Reply) -> Reply {
    if request.ranges(content.len()).len() > 1 { several() } else { right(content, request) }
}

#[test]
fn a_server_that_serves_one_connection_until_it_ends_is_asked_over_that_one() {
    let served = content(N_BYTES);
    let server =
        Scripted::one_at_a_time(move |request| single_ranges(&served, request, || status("400 Bad Request", "")));
    // A connection that was waited for would fail after the timeout, and with it the read.
    let opened = open(&server.url(), &[("retries", "0"), ("timeout", "20")]).unwrap();
    check_vector(&opened.source, &content(N_BYTES), &many_ranges()).unwrap();
    assert_eq!(opened.source.access_profile().max_parallel, 1, "remembered");
    let again = open(&server.url(), &[("retries", "0"), ("timeout", "20")]).unwrap();
    check_vector(&again.source, &content(N_BYTES), &many_ranges()).unwrap();
}

#[test]
fn a_connection_that_waits_behind_an_answer_is_given_up_when_that_has_ended() {
    let served = content(N_BYTES);
    let (asked, is_asked) = std::sync::mpsc::channel();
    let server = Scripted::one_at_a_time(move |request| {
        let mut reply = right(&served, request);
        if request.ranges(N_BYTES).contains(&(SLOW.0..SLOW.1)) {
            asked.send(()).unwrap();
            reply.pause = Some(Duration::from_millis(2));
        }
        reply
    });
    let opened = open(&server.url(), &[("retries", "0"), ("timeout", "60"), ("deadline", "60")]).unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| check_vector(&opened.source, &content(N_BYTES), &[SLOW]).unwrap());
        is_asked.recv().unwrap();
        // The head of the slow answer has come, half a second of its body is still to come: no other answer begins after this.
        std::thread::sleep(Duration::from_millis(700));
        check_vector(&opened.source, &content(N_BYTES), &[(20_000, 20_100)]).unwrap();
    });
    assert!(start.elapsed() < Duration::from_secs(50), "it was waited for until the deadline");
}

#[test]
fn an_end_that_does_not_come_in_time_is_what_the_error_tells() {
    let served = content(N_BYTES);
    let server = Scripted::start(move |request| match request.header("range").unwrap() {
        range if range.contains(',') => status("400 Bad Request", ""),
        range if range.starts_with("bytes=-") => Reply::new(Vec::new(), Then::Stall),
        _ => right(&served, request),
    });
    let error = open(&server.url(), &[("retries", "0"), ("timeout", "60"), ("deadline", "2")]).err().unwrap();
    assert!(error.to_string().contains("opening: the deadline is over"), "{error}");
}

#[test]
fn a_server_that_closes_each_connection_has_few_at_a_time() {
    let (n_now, n_most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (served, now, most) = (content(N_BYTES), Arc::clone(&n_now), Arc::clone(&n_most));
    let server = Scripted::start(move |request| {
        most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
        std::thread::sleep(Duration::from_millis(5));
        let reply = single_ranges(&served, request, || status("400 Bad Request", ""));
        now.fetch_sub(1, SeqCst);
        Reply { then: Then::Close, ..reply }
    });
    let opened = open(&server.url(), &[]).unwrap();
    check_vector(&opened.source, &content(N_BYTES), &many_ranges()).unwrap();
    assert!(n_most.load(SeqCst) <= 5, "{}", n_most.load(SeqCst));
}

#[test]
fn a_server_that_breaks_several_ranges_is_asked_for_some_twice() {
    let broken: [fn(&[u8]) -> Reply; 6] = [
        |_| status("400 Bad Request", ""),
        |_| status("416 Range Not Satisfiable", "Content-Range: bytes */300000\r\n"),
        |_| status("500 Internal Server Error", ""),
        |content| {
            let head = format!("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: {}\r\n\r\n", content.len());
            Reply::new([head.as_bytes(), content].concat(), Then::Keep)
        },
        |_| status("206 Partial Content", "Content-Type: multipart/byteranges; boundary=other\r\n"),
        |_| status("206 Partial Content", ""),
    ];
    for (index, broken) in broken.into_iter().enumerate() {
        // From the opening on, and after it.
        for n_right in [0, 1] {
            // An error of the moment, where several ranges were answered before: that takes more to be believed.
            if (index, n_right) == (2, 1) {
                continue;
            }
            let served = content(N_BYTES);
            let server = Scripted::start(move |request| {
                let is_right = request.number < n_right;
                single_ranges(&served, request, || if is_right { right(&served, request) } else { broken(&served) })
            });
            let opened = open(&server.url(), &[("retries", "0")]).unwrap();
            let n_threads = 4;
            for _ in 0..3 {
                std::thread::scope(|scope| {
                    for _ in 0..n_threads {
                        scope.spawn(|| check_vector(&opened.source, &content(N_BYTES), &many_ranges()).unwrap());
                    }
                });
            }
            assert_eq!(opened.source.access_profile().max_ranges, 1, "{index}, {n_right}");
            let n_several = server.ranges()[n_right..].iter().filter(|ranges| ranges.contains(',')).count();
            // Where it answered once, each thread may ask before the first has its answer, and fewer are tried, step by step.
            let n_allowed = if n_right == 0 { 2 } else { n_threads + 3 };
            assert!(n_several <= n_allowed, "{index}, {n_right}: {n_several}");
        }
    }
}

#[test]
fn the_opening_tells_whether_to_plan_with_several_ranges() {
    type Answer = fn(&[u8], &Request) -> Reply;
    fn first_only(content: &[u8], request: &Request) -> Reply {
        Reply::new(single(content, request.ranges(content.len()).swap_remove(0)), Then::Keep)
    }
    fn without_parts(content: &[u8], request: &Request) -> Reply {
        let head = "Content-Type: multipart/byteranges; boundary=other\r\n";
        single_ranges(content, request, || status("206 Partial Content", head))
    }
    // As XRootD's HTTP, which answers several ranges, but none that counts from the end.
    fn without_suffix(content: &[u8], request: &Request) -> Reply {
        let has_suffix = request.header("range").is_some_and(|asked| asked.contains(",-"));
        if has_suffix { first_only(content, request) } else { right(content, request) }
    }
    let servers: [(Answer, usize); 4] = [(first_only, 1), (without_parts, 1), (without_suffix, 200), (right, 200)];
    for (index, (answer, n_planned)) in servers.into_iter().enumerate() {
        let served = content(N_BYTES);
        let server = Scripted::start(move |request| answer(&served, request));
        let opened = open(&server.url(), &[]).unwrap();
        assert_eq!(opened.source.access_profile().max_ranges, n_planned, "{index}: {:?}", server.ranges());
        check_preloaded(&opened, &content(N_BYTES));
        check_vector(&opened.source, &content(N_BYTES), &many_ranges()).unwrap();
    }
}

#[test]
fn a_file_smaller_than_what_its_opening_asks_for_is_asked_for_again() {
    let refusals: [fn() -> Reply; 4] = [
        || status("416 Range Not Satisfiable", "Content-Range: bytes */3000\r\n"),
        || status("416 Range Not Satisfiable", ""),
        || status("400 Bad Request", ""),
        || status("501 Not Implemented", ""),
    ];
    for (index, refusal) in refusals.into_iter().enumerate() {
        for n_bytes in [3000, 0] {
            if n_bytes == 0 && index == 0 {
                continue;
            }
            let served = content(n_bytes);
            let server = Scripted::start(move |request| {
                let Some(asked) = request.header("range") else {
                    let head = format!("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: {n_bytes}\r\n\r\n");
                    return Reply::new([head.as_bytes(), &served].concat(), Then::Keep);
                };
                let last = asked.split([',', '-']).nth(1).and_then(|last| last.parse::<usize>().ok());
                match last {
                    Some(last) if !asked.contains(',') && last < n_bytes => right(&served, request),
                    _ => refusal(),
                }
            });
            let opened = open(&server.url(), &[("retries", "0")]).unwrap_or_else(|error| panic!("{index}: {error}"));
            assert_eq!(opened.source.size_bytes(), n_bytes as u64, "{index}");
            check_preloaded(&opened, &content(n_bytes));
            let n_requests = server.heads().len();
            assert!(n_requests <= 4, "{index}: {n_requests}");
        }
    }
}
