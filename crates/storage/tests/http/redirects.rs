//! Servers that send on to another place, as the doors of dCache and EOS do.

use std::time::{Duration, Instant};

use arrowroot_storage::Operation;

use crate::checks::{check_vector, content, counts, ledger, open};
use crate::scripted::{Request, Scripted, right, status};

const N_BYTES: usize = 300_000;
const RANGES: [(usize, usize); 2] = [(10_000, 10_100), (20_000, 20_100)];

/// A server that sends to one place after the other.
fn door(places: Vec<String>) -> Scripted {
    Scripted::start(move |request| {
        let place = &places[request.place.min(places.len() - 1)];
        status("307 Temporary Redirect", &format!("Location: {place}\r\n"))
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
        let (first, second) = (pool(|request| request.place == 0, error), pool(|_| true, error));
        let door = door(vec![first.url(), second.url()]);
        let opened = open(&door.url(), &[("retries", "0")]).unwrap();
        check_vector(&opened.source, &content(N_BYTES), &RANGES).unwrap();
        assert_eq!((door.heads().len(), first.heads().len(), second.heads().len()), (2, 2, 1), "{error}");
        assert!(opened.source.nature().max_ranges > 1, "{error}: not for the number of ranges");
        let redirects = counts(&ledger(&opened, "http"), Operation::Redirect);
        assert_eq!(redirects, (3, 2), "{error}: two by the door, and the place that was good no more");
    }
}

#[test]
fn a_pause_is_granted_to_the_place_that_a_redirect_led_to() {
    let content_bytes = content(N_BYTES);
    let served = content_bytes.clone();
    let pool = Scripted::start(move |request| {
        if request.place == 1 { status("503 Slow", "Retry-After: 2\r\n") } else { right(&served, request) }
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
    open(&door.url(), &[("token", "t0k3n")]).unwrap();
    assert!(door.heads()[0].contains("t0k3n"));
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
