//! Nothing takes longer than it may, however the server makes it last.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrowroot_storage::{Error, Network, Speculation, open_xrootd_once};

use super::fake::{OPEN, READ, WAIT, framed, start};
use super::secure::{certificate, server_configuration, trusting};
use super::server::{Directory, content};
use super::{NONE, network, refusal, url};

/// Long after any deadline of these tests.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_wait_beyond_the_deadline_fails_at_once() {
    let file = content(1000, 1);
    for code in [OPEN, READ] {
        let for_server = file.clone();
        let (port, _) = start(move |mut client, _| {
            client.greet("")?;
            let request = client.serve(&for_server, &[code])?;
            client.answer(&request, WAIT, &[&3600_u32.to_be_bytes(), b"from tape\0".as_slice()].concat());
            client.serve(&for_server, &[]).map(drop)
        });
        let begin = Instant::now();
        let all = Speculation { head_bytes: 1000, tail_bytes: 0 };
        let error = refusal(open_xrootd_once(&url(port), &Network { deadline: LONG, ..network() }, all));
        assert!(begin.elapsed() < LONG / 2, "{:?}", begin.elapsed());
        assert!(matches!(error, Error::Paused { .. }) && !error.is_transient(), "{error:?}");
        assert!(error.to_string().contains("come back in 3600 s, which is after the deadline"), "{error}");
    }
}

/// Starts a server that has each connection from its first words on, which are read.
fn start_raw(script: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = crate::ports::listen();
    let port = listener.local_addr().unwrap().port();
    let script = Arc::new(script);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let script = Arc::clone(&script);
            std::thread::spawn(move || {
                // Handshake and question for the protocol.
                if stream.read_exact(&mut [0; 44]).is_ok() {
                    script(stream);
                }
            });
        }
    });
    port
}

/// Says that encryption is to begin now.
fn go_to_tls(stream: &mut TcpStream) {
    const FLAGS: u32 = 0xc000_0001;
    let mut answers = framed([0, 0], 0, &[0, 0, 5, 0x11, 0, 0, 0, 1]);
    answers.extend(framed([0, 0], 0, &[5_u32.to_be_bytes(), FLAGS.to_be_bytes()].concat()));
    let _ = stream.write_all(&answers); // who gave up is gone
}

/// Sends byte by byte, never silent for long.
fn drip(stream: &mut TcpStream, bytes: &[u8]) {
    for byte in bytes {
        std::thread::sleep(Duration::from_millis(50));
        if stream.write_all(&[*byte]).is_err() {
            return;
        }
    }
}

/// How long an encrypted opening takes that may take 2 s.
fn time_to_fail(port: u16, network: Network) -> Duration {
    let network = Network { timeout: Duration::from_secs(1), deadline: Duration::from_secs(2), ..network };
    let begin = Instant::now();
    let error = refusal(open_xrootd_once(&format!("roots://127.0.0.1:{port}//f"), &network, NONE));
    assert!(matches!(&error, Error::Connection { what, .. } if what.contains("deadline")), "{error:?}");
    begin.elapsed()
}

#[test]
fn a_tls_handshake_that_drips_ends_at_the_deadline() {
    let port = start_raw(|mut stream| {
        go_to_tls(&mut stream);
        // The head of a long record, and what may be its content.
        drip(&mut stream, &[&[0x16, 3, 3, 0x20, 0, 2, 0, 0x1f, 0xf0, 3, 3], [1; 1000].as_slice()].concat());
    });
    let elapsed = time_to_fail(port, network());
    assert!(elapsed < LONG / 2, "{elapsed:?}");
}

#[test]
fn a_tls_record_that_drips_ends_at_the_deadline() {
    let directory = Directory::new();
    let (key, certificate) = certificate(&directory.0);
    let configuration = server_configuration(&key, &certificate);
    let port = start_raw(move |mut stream| {
        go_to_tls(&mut stream);
        let mut session = rustls::ServerConnection::new(Arc::clone(&configuration)).unwrap();
        while session.is_handshaking() || session.wants_write() {
            if session.complete_io(&mut stream).is_err() {
                return;
            }
        }
        let answer = framed([0, 0], 0, &[b'x'; 1000]);
        session.writer().write_all(&answer).unwrap();
        let mut record = Vec::new();
        session.write_tls(&mut record).unwrap();
        drip(&mut stream, &record);
    });
    let elapsed = time_to_fail(port, trusting(&certificate));
    assert!(elapsed < LONG / 2, "{elapsed:?}");
}
