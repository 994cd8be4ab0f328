//! A scripted server that sends on: what is read there must be the same file.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use arrowroot_storage::{Error, Operation, open_xrootd_once};

use super::answers::{FILE_BYTES, RANGES, open_hastily};
use super::fake::{OK, OPEN, READ, READ_VECTOR, REDIRECT, STAT, start};
use super::server::content;
use super::{NONE, SPECULATION, check_ranges, hasty, read_ranges, refusal, url};

/// The port of a server of a file.
fn serving(file: Vec<u8>) -> u16 {
    let (port, _) = start(move |mut client, _| {
        client.greet("")?;
        client.serve(&file, &[]).map(drop)
    });
    port
}

/// Where to go, as an answer has it.
fn place(port: u16, host: &str) -> Vec<u8> {
    [&u32::from(port).to_be_bytes(), host.as_bytes()].concat()
}

#[test]
fn a_read_may_be_redirected() {
    let file = content(FILE_BYTES, 1);
    let second_port = serving(file.clone());
    let first = file.clone();
    let (port, _) = start(move |mut client, _| {
        client.greet("")?;
        loop {
            let request = client.serve(&first, &[READ, READ_VECTOR])?;
            client.answer(&request, REDIRECT, &place(second_port, "127.0.0.1?a=b"));
        }
    });
    let opened = open_hastily(port).unwrap();
    check_ranges(&*opened.source, &RANGES, &file);
    check_ranges(&*opened.source, &[(3, 4)], &file);
    let ledger = &opened.ledgers.all()[0];
    let n = |operation| (ledger.totals(operation).n_attempted, ledger.totals(operation).n_successful);
    assert_eq!((n(Operation::Open), n(Operation::Redirect)), ((2, 2), (1, 1)), "what is asked there is asked at once");
}

#[test]
fn another_file_of_the_same_size_on_the_server_that_a_read_is_sent_to_is_a_change() {
    let file = content(FILE_BYTES, 1);
    for (seed, is_same) in [(1, true), (2, false)] {
        let second_port = serving(content(FILE_BYTES, seed));
        let first = file.clone();
        let (port, _) = start(move |mut client, _| {
            client.greet("")?;
            let opening = client.serve(&first, &[READ, READ_VECTOR])?;
            client.answer_rightly(&opening, &first);
            let request = client.serve(&first, &[READ, READ_VECTOR])?;
            client.answer(&request, REDIRECT, &place(second_port, "127.0.0.1"));
            client.serve(&first, &[]).map(drop)
        });
        let source = open_xrootd_once(&url(port), &hasty(), SPECULATION).unwrap().source;
        match read_ranges(&*source, &[(3, 4)]) {
            Ok(_) => assert!(is_same),
            Err(error) => assert!(!is_same && matches!(error, Error::Changed { .. }), "{error}"),
        }
    }
}

#[test]
fn a_file_that_went_on_to_another_server_has_the_time_that_it_has_there() {
    let file = content(FILE_BYTES, 1);
    let second = file.clone();
    // The same content, which was written there at another time.
    let (second_port, _) = start(move |mut client, number| {
        client.greet("")?;
        let stat = format!("1 {FILE_BYTES} 16 1600000000\0");
        for index in 0.. {
            let request = loop {
                let request = client.serve(&second, &[OPEN, STAT, READ, READ_VECTOR])?;
                match request.code {
                    OPEN => {
                        client.answer(&request, OK, &[&[7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], stat.as_bytes()].concat())
                    }
                    STAT => client.answer(&request, OK, stat.as_bytes()),
                    _ => break request,
                }
            };
            // The first connection breaks after the first bytes and a read.
            if number == 0 && index == 2 {
                return None;
            }
            client.answer_rightly(&request, &second);
        }
        Some(())
    });
    let first = file.clone();
    let (port, _) = start(move |mut client, _| {
        client.greet("")?;
        let opening = client.serve(&first, &[READ, READ_VECTOR])?;
        client.answer_rightly(&opening, &first);
        loop {
            let request = client.serve(&first, &[READ, READ_VECTOR])?;
            client.answer(&request, REDIRECT, &place(second_port, "127.0.0.1"));
        }
    });
    let source = open_xrootd_once(&url(port), &hasty(), SPECULATION).unwrap().source;
    check_ranges(&*source, &[(3, 4)], &file);
    let broken = read_ranges(&*source, &[(3, 4)]).unwrap_err();
    assert!(matches!(broken, Error::Connection { .. }), "{broken}");
    check_ranges(&*source, &[(3, 4)], &file);
}

#[test]
fn a_server_whose_name_is_what_another_was_told_is_not_named() {
    let (port, _) = start(move |mut client, _| {
        client.greet("")?;
        loop {
            let request = client.serve(&[], &[OPEN])?;
            client.answer(&request, REDIRECT, &place(1, "S3kr3tWord.invalid"));
        }
    });
    let error = refusal(open_xrootd_once(&format!("{}?authz=S3kr3tWord", url(port)), &hasty(), NONE)).to_string();
    assert!(error.contains("another server") && !error.contains("S3kr3t"), "{error}");
}

#[test]
fn redirections_in_a_circle_end() {
    let file = content(FILE_BYTES, 1);
    let for_server = file.clone();
    let own = Arc::new(AtomicUsize::new(0));
    let of_server = Arc::clone(&own);
    let (port, _) = start(move |mut client, _| {
        client.greet("")?;
        loop {
            let request = client.serve(&for_server, &[READ, OPEN])?;
            if request.code == OPEN && !request.payload.starts_with(b"/circle") {
                client.answer_rightly(&request, &for_server);
                continue;
            }
            let port = u16::try_from(of_server.load(SeqCst)).unwrap();
            client.answer(&request, REDIRECT, &place(port, "127.0.0.1"));
        }
    });
    own.store(usize::from(port), SeqCst);
    let error = refusal(open_xrootd_once(&format!("root://127.0.0.1:{port}//circle"), &hasty(), NONE));
    assert!(error.to_string().contains("redirections"), "{error}");
    let source = open_hastily(port).unwrap().source;
    let error = read_ranges(&*source, &[(3, 4)]).unwrap_err();
    assert!(error.to_string().contains("redirections"), "{error}");
}

#[test]
fn a_redirector_is_told_which_server_failed() {
    let file = content(FILE_BYTES, 1);
    let good = serving(file.clone());
    let bad = crate::ports::free_port();
    let (port, _) = start(move |mut client, _| {
        client.greet("")?;
        loop {
            let request = client.serve(&[], &[OPEN])?;
            let has_tried = request.payload == b"/f?authz=x&tried=127.0.0.1";
            client.answer(&request, REDIRECT, &place(if has_tried { good } else { bad }, "127.0.0.1"));
        }
    });
    let opened = open_xrootd_once(&format!("{}?authz=x", url(port)), &hasty(), NONE).unwrap();
    check_ranges(&*opened.source, &RANGES, &file);
    let redirects = opened.ledgers.all()[0].totals(Operation::Redirect);
    assert_eq!((redirects.n_attempted, redirects.n_successful), (2, 2));
}
