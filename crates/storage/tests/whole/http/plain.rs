//! nginx without TLS: read patterns, credentials, changes, errors.

use std::time::{Duration, SystemTime};

use arrowroot_storage::testing::check_source;
use arrowroot_storage::{Error, Fitness, Operation, open_replicas};

use super::checks::{SPECULATION, check_preloaded, check_vector, content, counts, ledger, open, options};
use super::nginx::Nginx;

const N_BYTES: usize = 1_000_000;

fn serve(servers: &str) -> Option<Nginx> {
    Nginx::start(servers, |directory| {
        std::fs::write(directory.join("www/f"), content(N_BYTES)).unwrap();
        std::fs::write(directory.join("www/small"), content(5000)).unwrap();
        std::fs::write(directory.join("www/empty"), "").unwrap();
        std::fs::write(directory.join("www/large"), content(20_000_000)).unwrap();
    })
}

const PLAIN: &str = "server { listen 127.0.0.1:PORT; }";

#[test]
fn opening_is_one_request_and_a_vector_read_another_on_the_same_connection() {
    let Some(nginx) = serve(PLAIN) else { return };
    let opened = open(&nginx.url("f"), &[]).unwrap();
    check_preloaded(&opened, &content(N_BYTES));
    let lengths: Vec<_> = opened.preloaded.iter().map(|(offset, bytes)| (*offset, bytes.len())).collect();
    assert_eq!(lengths, [(0, 4096), (934_464, 65_536)]);
    let ranges = [(500_000, 500_100), (10_000, 10_010), (10_010, 10_020), (700_000, 700_001)];
    check_vector(&opened.source, &content(N_BYTES), &ranges).unwrap();
    check_vector(&opened.source, &content(N_BYTES), &[(5000, 6000)]).unwrap();
    assert_eq!(
        nginx.pattern(3),
        "c0 1 206 [bytes=0-4095,-65536] /f\n\
         c0 2 206 [bytes=10000-10019,500000-500099,700000-700000] /f\n\
         c0 3 206 [bytes=5000-5999] /f"
    );
    let requests = ledger(&opened, "http");
    assert_eq!(counts(&requests, Operation::Open), (1, 1));
    assert_eq!(counts(&requests, Operation::ReadVector), (1, 1));
    assert_eq!(requests.totals(Operation::ReadVector).bytes, 121);
    let profile = opened.source.access_profile();
    assert_eq!((profile.max_parallel, profile.max_ranges), (8, 200));
    assert_ne!(profile.latency, Duration::from_millis(20), "measured, not guessed");
}

#[test]
fn a_small_file_comes_whole_with_its_opening() {
    let Some(nginx) = serve(PLAIN) else { return };
    for (name, n_bytes) in [("small", 5000), ("empty", 0)] {
        let opened = open(&nginx.url(name), &[]).unwrap();
        check_preloaded(&opened, &content(n_bytes));
        assert_eq!(opened.preloaded.iter().map(|(_, bytes)| bytes.len()).sum::<usize>(), n_bytes);
    }
    assert_eq!(nginx.pattern(2), "c0 1 200 [bytes=0-4095,-65536] /small\nc0 2 200 [bytes=0-4095,-65536] /empty");
}

#[test]
fn a_server_without_several_ranges_is_asked_for_single_ones_and_that_is_remembered() {
    let Some(nginx) = serve("server { listen 127.0.0.1:PORT; max_ranges 1; }") else { return };
    let opened = open(&nginx.url("f"), &[]).unwrap();
    check_preloaded(&opened, &content(N_BYTES));
    assert_eq!(opened.source.access_profile().max_ranges, 1);
    assert_eq!(opened.source.access_profile().max_parallel, 4, "few, until more have shown to pay");
    let ranges: Vec<_> = (0..40).map(|index| (5000 + index * 1000, 5100 + index * 1000)).collect();
    check_vector(&opened.source, &content(N_BYTES), &ranges).unwrap();
    let opened = open(&nginx.url("large"), &[]).unwrap();
    check_preloaded(&opened, &content(20_000_000));
    let pattern = nginx.pattern(45);
    let ranges: Vec<_> = pattern.lines().map(|line| &line[line.find('[').unwrap()..]).collect();
    assert_eq!(ranges[0], "[bytes=0-4095,-65536] /f");
    let mut opening = [ranges[1], ranges[2]];
    opening.sort_unstable();
    assert_eq!(opening, ["[bytes=-65536] /f", "[bytes=0-4095] /f"]);
    assert_eq!(ranges.len(), 45);
    assert!(ranges[3..43].iter().all(|range| !range.contains(',')), "{pattern}");
    let mut second = [ranges[43], ranges[44]];
    second.sort_unstable();
    assert_eq!(second, ["[bytes=-65536] /large", "[bytes=0-4095] /large"], "no second attempt at several ranges");
}

#[test]
fn a_server_without_ranges_is_copied_from_once() {
    let Some(nginx) = serve("server { listen 127.0.0.1:PORT; max_ranges 0; }") else { return };
    let opened = open(&nginx.url("f"), &[]).unwrap();
    assert_eq!(opened.source.size_bytes(), N_BYTES as u64);
    let n_requests = nginx.pattern(4).lines().count();
    check_vector(&opened.source, &content(N_BYTES), &[(0, 10), (999_990, N_BYTES), (5, 500_000)]).unwrap();
    assert_eq!(nginx.pattern(n_requests).lines().count(), n_requests, "{}", nginx.pattern(4));
    assert_eq!(counts(&ledger(&opened, "http"), Operation::StageIn), (1, 1));
    assert!(!opened.source.access_profile().is_remote);
}

#[test]
fn many_ranges_become_few_requests_and_much_is_shared_among_connections() {
    let Some(nginx) = serve(PLAIN) else { return };
    let opened = open(&nginx.url("large"), &[]).unwrap();
    let content = content(20_000_000);
    let ranges: Vec<_> = (0..300).map(|index| (1_000_000 + index * 100, 1_000_010 + index * 100)).collect();
    check_vector(&opened.source, &content, &ranges).unwrap();
    let pattern = nginx.pattern(3);
    let n_ranges: Vec<_> = pattern.lines().map(|line| line.matches('-').count()).collect();
    assert_eq!(n_ranges.iter().sum::<usize>(), 302, "head and tail, and the ranges: {pattern}");
    assert!(n_ranges.len() <= 4 && n_ranges.iter().all(|&n_ranges| n_ranges <= 200), "{pattern}");
    check_vector(&opened.source, &content, &[(0, 20_000_000)]).unwrap();
    let pattern = nginx.pattern(8);
    // Into how many pieces depends on how fast the server was so far.
    assert!((2..=5).contains(&pattern.lines().skip(3).count()), "{pattern}");
}

#[test]
fn reads_one_after_the_other_share_a_connection_and_so_do_files() {
    let Some(nginx) = serve(PLAIN) else { return };
    for _ in 0..3 {
        let opened = open(&nginx.url("f"), &[]).unwrap();
        for index in 0..10 {
            check_vector(&opened.source, &content(N_BYTES), &[(10_000 * index, 10_000 * index + 100)]).unwrap();
        }
    }
    let pattern = nginx.pattern(33);
    assert_eq!(pattern.lines().count(), 33);
    assert!(pattern.lines().all(|line| line.starts_with("c0 ")), "{pattern}");
}

#[test]
fn a_file_that_is_replaced_while_it_is_open_is_an_error() {
    let Some(nginx) = serve(PLAIN) else { return };
    let opened = open(&nginx.url("f"), &[]).unwrap();
    check_vector(&opened.source, &content(N_BYTES), &[(10, 20)]).unwrap();
    let other: Vec<u8> = content(N_BYTES).iter().map(|byte| !byte).collect();
    std::fs::write(nginx.path("www/new"), other).unwrap();
    let times = std::fs::FileTimes::new().set_modified(SystemTime::now() - Duration::from_secs(100));
    std::fs::OpenOptions::new().write(true).open(nginx.path("www/new")).unwrap().set_times(times).unwrap();
    std::fs::rename(nginx.path("www/new"), nginx.path("www/f")).unwrap();
    for ranges in [vec![(10, 20)], vec![(10, 20), (100, 200)]] {
        let error = check_vector(&opened.source, &content(N_BYTES), &ranges).unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{error}");
    }
    assert_eq!(nginx.pattern(4).lines().count(), 4, "a change is not tried again");
}

#[test]
fn whatever_the_server_can_do_the_source_does_what_all_sources_do() {
    for settings in ["", "max_ranges 1;", "max_ranges 5;", "max_ranges 0;"] {
        let Some(nginx) = serve(&format!("server {{ listen 127.0.0.1:PORT; {settings} }}")) else { return };
        let opened = open(&nginx.url("f"), &[]).unwrap();
        check_source(&opened.source, &content(N_BYTES)).unwrap_or_else(|what| panic!("{settings}: {what}"));
        assert!(opened.source.version().is_some());
        let replicas = [nginx.url("none"), nginx.url("f"), nginx.url("f")];
        let opened = open_replicas(&replicas, &options(&[]), SPECULATION, &|_, _| Fitness::Whole).unwrap().0;
        check_source(&opened.source, &content(N_BYTES)).unwrap_or_else(|what| panic!("replicas: {what}"));
        assert_eq!(opened.source.url(), nginx.url("f"));
    }
}

#[test]
fn a_server_that_goes_away_is_replaced_by_its_replica() {
    let (Some(nginx), Some(other)) = (serve(PLAIN), serve(PLAIN)) else { return };
    let options = options(&[("retries", "1"), ("timeout", "2")]);
    let opened =
        open_replicas(&[nginx.url("f"), other.url("f")], &options, SPECULATION, &|_, _| Fitness::Whole).unwrap().0;
    check_vector(&opened.source, &content(N_BYTES), &[(10, 20), (500_000, 500_100)]).unwrap();
    drop(nginx);
    check_vector(&opened.source, &content(N_BYTES), &[(20, 30), (600_000, 600_100)]).unwrap();
    assert_eq!(opened.source.url(), other.url("f"));
    let first = ledger(&opened, "replica 1");
    assert_eq!(counts(&first, Operation::ReadVector), (2, 1));
    assert_eq!(counts(&ledger(&opened, "replica 2"), Operation::ReadVector), (1, 1));
}

const AUTHORISED: &str = "server { listen 127.0.0.1:PORT;
    if ($http_authorization != 'Bearer s3cr3t') { return 401; } }";

#[test]
fn a_given_token_is_sent_and_never_shown() {
    let Some(nginx) = serve(AUTHORISED) else { return };
    check_preloaded(&open(&nginx.url("f"), &[("token", "s3cr3t")]).unwrap(), &content(N_BYTES));
    let error = open(&nginx.url("f"), &[("token", "wr0ng")]).unwrap_err().to_string();
    assert!(
        error.contains("access denied: 401 Unauthorized") && error.contains("the given bearer token was sent"),
        "{error}"
    );
    assert!(!error.contains("wr0ng"), "{error}");
    let error = open(&nginx.url("f"), &[]).unwrap_err();
    assert!(matches!(&error, Error::Denied { hint, .. } if hint.contains("token")), "{error}");
}

#[test]
fn user_and_password_of_a_url_are_sent_and_never_shown() {
    let basic = AUTHORISED.replace("Bearer s3cr3t", "Basic bWU6aHVzaA==");
    let Some(nginx) = serve(&basic) else { return };
    let opened = open(&nginx.url("f").replace("http://", "http://me:hush@"), &[]).unwrap();
    assert!(!opened.source.url().contains("hush"), "{}", opened.source.url());
    check_vector(&opened.source, &content(N_BYTES), &[(10, 20)]).unwrap();
    let error = open(&nginx.url("f").replace("http://", "http://me:hushhush@"), &[]).unwrap_err().to_string();
    assert!(!error.contains("hush"), "{error}");
}

#[test]
fn user_and_password_of_a_url_stand_for_themselves_when_they_are_sent() {
    // Of "alice@cern.ch:p@ss/w#rd", and of "müller:" without a password.
    let users =
        [("alice%40cern.ch:p%40ss%2Fw%23rd", "YWxpY2VAY2Vybi5jaDpwQHNzL3cjcmQ="), ("m%C3%BCller", "bcO8bGxlcjo=")];
    for (user, sent) in users {
        let Some(nginx) = serve(&AUTHORISED.replace("Bearer s3cr3t", &format!("Basic {sent}"))) else { return };
        open(&nginx.url("f").replace("http://", &format!("http://{user}@")), &[]).unwrap();
        let error = open(&nginx.url("f").replace("http://", &format!("http://x{user}@")), &[]).unwrap_err();
        assert!(matches!(error, Error::Denied { .. }), "{error}");
    }
}

#[test]
fn a_token_that_fits_no_request_is_not_sent() {
    let servers = "server { listen 127.0.0.1:PORT; large_client_header_buffers 4 40k; }";
    let Some(nginx) = serve(servers) else { return };
    let token = |n_bytes: usize| "t".repeat(n_bytes);
    check_preloaded(&open(&nginx.url("f"), &[("token", &token(24 << 10))]).unwrap(), &content(N_BYTES));
    let error = open(&nginx.url("f"), &[("token", &token((24 << 10) + 1))]).unwrap_err();
    assert!(matches!(&error, Error::Denied { answer, .. } if answer.contains("24577 bytes was not sent")), "{error}");
    assert_eq!(nginx.pattern(1).lines().count(), 1, "the second was not asked for");
}

#[test]
fn redirects_are_followed_once_and_take_no_token_to_another_host() {
    let servers = "server { listen 127.0.0.1:PORT;
        if ($http_authorization != 'Bearer s3cr3t') { return 401; }
        rewrite ^/door/(.*)$ http://localhost:OTHER/$1?uuid=secret redirect; }
      server { listen 127.0.0.1:OTHER; if ($arg_uuid != secret) { return 403; } }";
    let Some(nginx) = serve(servers) else { return };
    let opened = open(&nginx.url("door/f"), &[("token", "s3cr3t")]).unwrap();
    check_preloaded(&opened, &content(N_BYTES));
    check_vector(&opened.source, &content(N_BYTES), &[(10, 20)]).unwrap();
    check_vector(&opened.source, &content(N_BYTES), &[(30, 40)]).unwrap();
    assert_eq!(opened.source.url(), nginx.url("door/f"));
    let http = ledger(&opened, "http");
    let n = |operation| http.totals(operation).n_successful;
    assert_eq!((n(Operation::Open), n(Operation::Redirect), n(Operation::Read)), (1, 1, 2), "each request is entered");
    assert_eq!(
        nginx.pattern(4),
        "c0 1 302 [bytes=0-4095,-65536] /door/f [Bearer s3cr3t]\n\
         c1 1 206 [bytes=0-4095,-65536] other /f\n\
         c1 2 206 [bytes=10-19] other /f\n\
         c1 3 206 [bytes=30-39] other /f"
    );
}

#[test]
fn who_is_refused_where_a_redirect_led_hears_that_the_token_was_not_sent_there() {
    let servers = "server { listen 127.0.0.1:PORT; rewrite ^/(.*)$ http://localhost:OTHER/$1 redirect; }
      server { listen 127.0.0.1:OTHER; return 401; }";
    let Some(nginx) = serve(servers) else { return };
    let error = open(&nginx.url("f"), &[("token", "s3cr3t")]).unwrap_err();
    let Error::Denied { hint, .. } = &error else { panic!("{error:?}") };
    assert!(hint.contains("given bearer token was not sent to where the server redirected to"), "{hint}");
}

#[test]
fn statuses_become_errors_that_say_what_to_do() {
    let servers = "server { listen 127.0.0.1:PORT;
        location /denied { return 403; }
        location /busy { return 503; }
        location /loop { return 302 /loop; } }";
    let Some(nginx) = serve(servers) else { return };
    let error = |path: &str| open(&nginx.url(path), &[("retries", "1")]).unwrap_err();
    assert!(matches!(error("none?authz=abc"), Error::NotFound { url, .. } if !url.contains("abc")));
    assert!(matches!(error("denied"), Error::Denied { .. }));
    assert!(matches!(error("busy"), Error::Server { is_transient: true, .. }));
    assert!(error("loop").to_string().contains("ten times"));
    let n_busy = nginx.pattern(15).lines().filter(|line| line.contains("/busy")).count();
    assert_eq!(n_busy, 3, "one try, and one retry with a request each for head and tail");
    let error = open("http://127.0.0.1:1/f", &[("retries", "0")]).unwrap_err();
    assert!(matches!(&error, Error::Connection { what, .. } if what.contains("refused")), "{error}");
    let error = open("http://", &[]).unwrap_err();
    assert!(matches!(error, Error::Option { .. }), "{error}");
}

#[test]
fn a_connection_that_the_server_closed_is_replaced_without_a_retry() {
    let servers = "server { listen 127.0.0.1:PORT; keepalive_requests 2; }";
    let Some(nginx) = serve(servers) else { return };
    let opened = open(&nginx.url("f"), &[("retries", "0")]).unwrap();
    for index in 0..20 {
        check_vector(&opened.source, &content(N_BYTES), &[(1000 * index, 1000 * index + 50)]).unwrap();
    }
    assert_eq!(counts(&ledger(&opened, "http"), Operation::Read), (20, 20));
}
