//! Servers that send on to another place, as the doors of dCache and EOS do.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use arrowroot_storage::{Error, Operation};

use super::checks::{check_vector, content, counts, ledger, open};
use super::scripted::{Reply, Request, Scripted, Then, right, status};

const N_BYTES: usize = 300_000;
const RANGES: [(usize, usize); 2] = [(10_000, 10_100), (20_000, 20_100)];

/// A server that sends to one place after the other.
fn door(places: Vec<String>) -> Scripted {
    Scripted::start(move |request| {
        let index = &places[request.number.min(places.len() - 1)];
        status("307 Temporary Redirect", &format!("Location: {index}\r\n"))
    })
}

/// A server that is right until it answers with an error.
fn pool(is_good: impl Fn(&Request) -> bool + Send + Sync + 'static, error: &'static str) -> Scripted {
    let content = content(N_BYTES);
    Scripted::start(move |request| if is_good(request) { right(&content, request) } else { status(error, "") })
}

#[test]
fn a_place_that_is_good_no_more_is_asked_for_again_at_the_door_whatever_it_says() {
    for error in ["400 Bad Request", "401 Unauthorized", "404 Not Found", "405 Not Allowed", "500 Sorry"] {
        let (first, second) = (pool(|request| request.number == 0, error), pool(|_| true, error));
        let door = door(vec![first.url(), second.url()]);
        let opened = open(&door.url(), &[("retries", "0")]).unwrap();
        check_vector(&opened.source, &content(N_BYTES), &RANGES).unwrap();
        assert_eq!((door.heads().len(), first.heads().len(), second.heads().len()), (2, 2, 1), "{error}");
        assert!(opened.source.access_profile().max_ranges > 1, "{error}: not for the number of ranges");
        let redirects = counts(&ledger(&opened, "http"), Operation::Redirect);
        assert_eq!(redirects, (3, 2), "{error}: two by the door, and the place that was good no more");
    }
}

#[test]
fn places_that_are_good_for_one_request_are_soon_asked_for_each_time() {
    let content_bytes = content(N_BYTES);
    let served = content_bytes.clone();
    let used = Mutex::new(HashSet::new());
    let pool = Scripted::start(move |request| {
        let target = request.head.lines().next().unwrap().to_owned();
        if used.lock().unwrap().insert(target) { right(&served, request) } else { status("404 Not Found", "") }
    });
    let to = pool.url();
    let door = Scripted::start(move |request| {
        status("307 Temporary Redirect", &format!("Location: {to}?uuid={}\r\n", request.number))
    });
    let opened = open(&door.url(), &[]).unwrap();
    for index in 0..10 {
        let start = 10_000 + index * 1000;
        check_vector(&opened.source, &content_bytes, &[(start, start + 100)]).unwrap();
    }
    // The opening and ten reads, and three that found out.
    assert_eq!((door.heads().len(), pool.heads().len()), (11, 14));
}

#[test]
fn a_pause_is_granted_to_the_place_that_a_redirect_led_to() {
    let content_bytes = content(N_BYTES);
    let served = content_bytes.clone();
    let pool = Scripted::start(move |request| {
        if request.number == 1 { status("503 Slow", "Retry-After: 2\r\n") } else { right(&served, request) }
    });
    let door = door(vec![pool.url()]);
    let opened = open(&door.url(), &[]).unwrap();
    let start = Instant::now();
    check_vector(&opened.source, &content_bytes, &RANGES).unwrap();
    assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(pool.heads().len(), 3);
}

#[test]
fn a_token_goes_to_no_other_port() {
    let pool = pool(|_| true, "");
    let door = door(vec![pool.url()]);
    open(&door.url(), &[("token", "Bearer t0k3n")]).unwrap();
    assert!(
        door.heads()[0].contains("Authorization: Bearer t0k3n")
            || door.heads()[0].contains("authorization: Bearer t0k3n")
    );
    assert!(pool.heads().iter().all(|head| !head.contains("t0k3n")), "{:?}", pool.heads());
}

#[test]
fn user_and_password_go_to_other_places_on_the_same_server_only() {
    let content = content(N_BYTES);
    let elsewhere = Scripted::start(move |request| {
        assert!(request.header("authorization").is_none(), "{}", request.head);
        right(&content, request)
    });
    let to = elsewhere.url();
    let server = Scripted::start(move |request| {
        assert_eq!(request.header("authorization"), Some("Basic bWU6cHc="), "{}", request.head);
        let here = request.header("host").unwrap();
        let next = if request.head.starts_with("GET /f ") { format!("http://{here}/g") } else { to.clone() };
        status("302 Found", &format!("Location: {next}\r\n"))
    });
    open(&server.url().replace("http://", "http://me:pw@"), &[]).unwrap();
    assert_eq!((server.heads().len(), elsewhere.heads().len()), (2, 1));
}

#[test]
fn a_place_may_have_letters_that_it_should_have_encoded() {
    let pool = pool(|request| request.head.starts_with("GET /%C3%BC "), "404 Not Found");
    let door = door(vec![pool.url().replace("/f", "/ü")]);
    open(&door.url(), &[]).unwrap();
}

#[test]
fn an_error_names_the_place_that_it_is_of() {
    let pool = pool(|_| false, "403 Forbidden");
    for (index, says) in [(pool.url(), "403 Forbidden"), ("http://127.0.0.1:9/f".to_owned(), "connection refused")] {
        let origin = index.trim_end_matches("/f").to_owned();
        let door = door(vec![index]);
        let error = open(&door.url(), &[("retries", "0")]).unwrap_err().to_string();
        assert!(error.starts_with(&door.url()) && error.contains(says), "{error}");
        assert!(error.contains(&format!("by {origin}, where it was redirected to")), "{error}");
    }
}

#[test]
fn a_page_in_the_place_of_a_range_is_called_one() {
    let content = content(N_BYTES);
    let server = Scripted::start(move |request| match request.number {
        0 => right(&content, request),
        _ => status("200 OK", "Content-Type: text/html\r\n"),
    });
    let opened = open(&server.url(), &[("retries", "0")]).unwrap();
    let error = check_vector(&opened.source, &[], &[(10_000, 10_100)]).unwrap_err();
    assert!(matches!(&error, Error::WrongAnswer { what, .. } if what.contains("web page")), "{error}");
}

#[test]
fn a_page_to_log_in_is_no_place_to_remember() {
    let content_bytes = content(N_BYTES);
    let (a, b) = (content_bytes.clone(), content_bytes.clone());
    let pages = Scripted::start(|_| status("200 OK", "Content-Type: text/html\r\n"));
    let login = pages.url();
    let first = Scripted::start(move |request| match request.number {
        0 => right(&a, request),
        _ => status("302 Found", &format!("Location: {login}\r\n")),
    });
    let second = Scripted::start(move |request| right(&b, request));
    let door = door(vec![first.url(), second.url()]);
    let opened = open(&door.url(), &[("retries", "0")]).unwrap();
    for place in 1..4 {
        check_vector(&opened.source, &content_bytes, &[(place * 10_000, place * 10_000 + 100)]).unwrap();
    }
    assert_eq!((door.heads().len(), pages.heads().len(), second.heads().len()), (2, 1, 3));
}

#[test]
fn a_place_that_is_silent_until_the_deadline_is_what_the_error_is_of() {
    let content_bytes = content(N_BYTES);
    let served = content_bytes.clone();
    let pool = Scripted::start(move |request| match request.number {
        0 => right(&served, request),
        _ => Reply::new(Vec::new(), Then::Stall),
    });
    let door = door(vec![pool.url()]);
    let opened = open(&door.url(), &[("retries", "0"), ("deadline", "1"), ("timeout", "30")]).unwrap();
    let error = check_vector(&opened.source, &content_bytes, &[(10_000, 10_100)]).unwrap_err().to_string();
    let of = format!("by {}, where it was redirected to", pool.url().trim_end_matches("/f"));
    assert!(error.contains(&of), "{error}");
}
