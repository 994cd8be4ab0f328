//! What an S3 server is asked.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use arrowroot_storage::Error;

use super::checks::{check_preloaded, check_vector, content, open};
use super::scripted::{Reply, Scripted, Then, right, status};
use crate::ports::free_port;

#[test]
fn a_file_on_s3_is_read_with_single_ranges_at_the_same_time() {
    let content_bytes = content(300_000);
    let served = content_bytes.clone();
    let server = Scripted::start(move |request| right(&served, request));
    let endpoint = format!("http://{}", server.host());
    let opened = open("s3://bucket/data/f 1.root", &[("s3_endpoint", &endpoint)]).unwrap();
    assert_eq!(opened.source.url(), "s3://bucket/data/f 1.root");
    check_preloaded(&opened, &content_bytes);
    check_vector(&opened.source, &content_bytes, &[(10_000, 10_010), (20_000, 20_010), (30_000, 30_010)]).unwrap();
    let mut ranges = server.ranges();
    ranges[..2].sort_unstable();
    ranges[2..].sort_unstable();
    assert_eq!(ranges, ["-65536", "0-4095", "10000-10009", "20000-20009", "30000-30009"]);
    assert!(server.heads().iter().all(|head| head.starts_with("GET /bucket/data/f%201.root")), "{:?}", server.heads());
    let profile = opened.source.access_profile();
    assert!(profile.max_parallel >= 16 && profile.max_ranges == 1, "{profile:?}");
}

#[test]
fn what_s3_says_is_shown_without_what_was_signed() {
    let body = "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>Access Denied.</Message>\
                <AWSAccessKeyId>AKIDEXAMPLE</AWSAccessKeyId></Error>";
    let answer = format!(
        "HTTP/1.1 403 Forbidden\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let server = Scripted::start(move |_| Reply::new(answer.clone().into_bytes(), Then::Keep));
    let error = open(&format!("s3+http://{}/bucket/f", server.host()), &[]).unwrap_err();
    assert!(
        matches!(&error, Error::Denied { answer, .. } if answer.contains("AccessDenied: Access Denied.")),
        "{error}"
    );
    assert!(!error.to_string().contains("AKID"), "{error}");
    let moved = Scripted::start(|_| status("301 Moved Permanently", "x-amz-bucket-region: eu-west-3\r\n"));
    let error = open(&format!("s3+http://{}/bucket/f", moved.host()), &[]).unwrap_err();
    assert!(error.to_string().contains("the bucket's region is eu-west-3"), "{error}");
}

#[test]
fn an_endpoint_that_does_not_answer_is_named_but_not_its_password() {
    let port = free_port();
    let endpoint = format!("http://me:hushhush@127.0.0.1:{port}");
    let error = open("s3://bucket/f.root", &[("s3_endpoint", &endpoint), ("retries", "0")]).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("s3://bucket/f.root: ") && text.contains("refused"), "{text}");
    assert!(text.contains(&format!("(http://127.0.0.1:{port})")) && !text.contains("hushhush"), "{text}");
}

#[test]
fn a_key_does_not_leave_its_bucket() {
    let server = Scripted::start(|_| status("404 Not Found", ""));
    for key in ["a/../../theirs/f", "./f", "a/.."] {
        let error = open(&format!("s3+http://{}/mine/{key}", server.host()), &[]).unwrap_err();
        assert!(matches!(error, Error::Option { .. }), "{key}: {error}");
    }
    assert!(server.heads().is_empty());
    // Dots that look encoded are none.
    assert!(open(&format!("s3+http://{}/mine/%2e%2e/f", server.host()), &[("retries", "0")]).is_err());
    let heads = server.heads();
    assert!(!heads.is_empty() && heads.iter().all(|head| head.starts_with("GET /mine/%252e%252e/f ")), "{heads:?}");
}

#[test]
fn many_reads_share_threads_as_they_share_connections() {
    let content_bytes = content(2_000_000);
    let served = content_bytes.clone();
    let server = Scripted::start(move |request| {
        std::thread::sleep(Duration::from_millis(100));
        right(&served, request)
    });
    let opened = open(&format!("s3+http://{}/bucket/f", server.host()), &[("deadline", "100")]).unwrap();
    let n_threads = || {
        let tasks =
            std::fs::read_dir("/proc/self/task").unwrap().filter_map(|task| Some(task.ok()?.path().join("comm")));
        tasks.filter(|path| std::fs::read_to_string(path).is_ok_and(|name| name.starts_with("arrowroot-http"))).count()
    };
    let is_done = AtomicBool::new(false);
    let n_most = std::thread::scope(|scope| {
        let readers = (0..8).map(|reader| {
            let (source, content_bytes) = (&opened.source, &content_bytes);
            let starts = (0..150).map(|index| 70_000 + index * 12_000 + reader * 1000);
            let ranges: Vec<_> = starts.map(|start| (start, start + 100)).collect();
            scope.spawn(move || check_vector(source, content_bytes, &ranges).unwrap())
        });
        let readers: Vec<_> = readers.collect();
        let watch = scope.spawn(|| {
            let mut n_most = 0;
            while !is_done.load(SeqCst) {
                n_most = n_most.max(n_threads());
                std::thread::sleep(Duration::from_millis(5));
            }
            n_most
        });
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        is_done.store(true, SeqCst);
        watch.join().unwrap()
    });
    let n_connections = opened.source.access_profile().max_parallel;
    // Other tests have some, too; as many for each read would be eight times as many.
    assert!((n_connections / 2..4 * n_connections).contains(&n_most), "{n_most} for {n_connections}");
}
