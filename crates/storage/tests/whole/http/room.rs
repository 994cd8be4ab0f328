//! Servers that know no ranges, and say that a file is larger than the disk or send it without end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::checks::open;

/// A server that sends this head and then zeros for as long as somebody takes them. Returns its URL, and what was sent.
fn endless(head: &'static str) -> (String, Arc<AtomicU64>) {
    let listener = crate::ports::listen();
    let url = format!("http://{}/f", listener.local_addr().unwrap());
    let n_sent = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&n_sent);
    let send = move |mut client: TcpStream| {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte)?;
            request.push(byte[0]);
        }
        client.write_all(head.as_bytes())?;
        loop {
            client.write_all(&[0; 1 << 16])?;
            counter.fetch_add(1 << 16, SeqCst);
        }
    };
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let send = send.clone();
            std::thread::spawn(move || -> std::io::Result<()> { send(client) });
        }
    });
    (url, n_sent)
}

/// What is on its way in the buffers of the system when the client gives up.
const UNDER_WAY: u64 = 50_000_000;

#[test]
fn a_file_without_end_is_copied_up_to_the_limit_and_no_further() {
    let (url, n_sent) = endless("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    for (settings, limit) in [(&[("retries", "3"), ("download_size", "20 MB")][..], 20_000_000), (&[], 64 << 20)] {
        let n_before = n_sent.load(SeqCst);
        let error = open(&url, settings).unwrap_err().to_string();
        assert!(error.contains("download_size") && error.contains(&format!("{limit} bytes")), "{error}");
        assert!(error.contains("copying") && error.contains("the server answers no ranges"), "{error}");
        assert!(n_sent.load(SeqCst) < n_before + limit + 3 * UNDER_WAY, "{n_sent:?}");
    }
}

#[test]
fn what_goes_on_behind_the_last_delimiter_is_not_read() {
    let part = |range: &str, bytes: &str| format!("\r\n--b\r\nContent-Range: bytes {range}/1000\r\n\r\n{bytes}");
    let (first, last) = (part("0-499", &"a".repeat(500)), part("500-999", &"b".repeat(500)));
    let head = "HTTP/1.1 206 Partial Content\r\nContent-Type: multipart/byteranges; boundary=b\r\n\r\n";
    let (url, n_sent) = endless(format!("{head}{first}{last}\r\n--b--\r\n").leak());
    let opened = open(&url, &[("retries", "0")]).unwrap();
    let mut buffer = [0; 1000];
    opened.source.read_at(0, &mut buffer).unwrap();
    assert!(buffer[..500] == [b'a'; 500] && buffer[500..] == [b'b'; 500]);
    assert!(n_sent.load(SeqCst) < 3 * UNDER_WAY, "{n_sent:?}");
}

#[test]
fn a_file_that_says_that_it_is_too_large_is_not_copied_at_all() {
    // A petabyte is more than half of what is free anywhere.
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000\r\nConnection: close\r\n\r\n";
    let (url, n_sent) = endless(head);
    for settings in [&[("retries", "3")][..], &[("retries", "3"), ("download_size", "20 MB")]] {
        let error = open(&url, settings).unwrap_err().to_string();
        assert!(error.contains("download_size") && error.contains("1000000000000000 bytes more"), "{error}");
    }
    assert!(n_sent.load(SeqCst) < 6 * UNDER_WAY, "{n_sent:?}");
}
