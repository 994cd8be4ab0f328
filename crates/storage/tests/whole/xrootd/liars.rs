//! Servers that lie at one stage of a session, in one way: whatever they say is an error in time, or the right bytes.

use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arrowroot_storage::{Result, open_xrootd_once};

use super::answers::{FILE_BYTES, RANGES};
use super::fake::{
    ATTENTION, AUTH, Client, ERROR, OK, OK_SO_FAR, OPEN, QUERY, READ, READ_VECTOR, REDIRECT, Request, STAT, WAIT,
    WAIT_RESPONSE, framed, right_body, start,
};
use super::server::content;
use super::{NONE, hasty, read_ranges, url};

const AUTH_MORE: u16 = 4002;

/// Where in a session the server lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Handshake,
    Protocol,
    Login,
    Authentication,
    Of(u16),
}

const STAGES: [Stage; 9] = [
    Stage::Handshake,
    Stage::Protocol,
    Stage::Login,
    Stage::Authentication,
    Stage::Of(OPEN),
    Stage::Of(STAT),
    Stage::Of(QUERY),
    Stage::Of(READ),
    Stage::Of(READ_VECTOR),
];

/// Lies, of a client, a request, the right body and a port of this server; random bytes come last.
type Lie = fn(&mut Client, Request, &[u8], u16, &[u8]) -> Option<()>;

/// Sends a frame again and again, until the client hangs up.
fn for_ever(client: &mut Client, frame: &[u8]) {
    for _ in 0..20_000 {
        client.send(frame);
        std::thread::sleep(Duration::from_millis(1));
        if client.has_hung_up() {
            return;
        }
    }
}

fn silence() {
    std::thread::sleep(Duration::from_secs(6));
}

const LIES: [(&str, Lie); 28] = [
    ("another stream", |client, _, body, _, random| {
        client.send(&framed([random[0] | 0x80, random[1]], OK, body));
        Some(())
    }),
    ("another status", |client, request, body, _, random| {
        client.send(&framed(request.stream, u16::from_be_bytes([random[0], random[1]]) | 0x2000, body));
        Some(())
    }),
    ("four gigabytes", |client, request, body, _, _| {
        client.send(&[&request.stream[..], &[0, 0, 0xff, 0xff, 0xff, 0xf0], body].concat());
        silence();
        Some(())
    }),
    ("a text of 100 MB", |client, request, _, _, _| {
        client.send(&[&request.stream[..], &ERROR.to_be_bytes(), &100_000_000_u32.to_be_bytes()].concat());
        for_ever(client, &[b'x'; 10_000]);
        Some(())
    }),
    ("a text of 60 kB", |client, request, _, _, _| {
        client.answer(&request, ERROR, &[&[0, 0, 0x0b, 0xc3][..], &[0x1b; 60_000]].concat());
        Some(())
    }),
    ("an error without a number", |client, request, _, _, random| {
        client.answer(&request, ERROR, &random[..usize::from(random[0] % 4)]);
        Some(())
    }),
    ("parts without end, empty", |client, request, _, _, _| {
        for_ever(client, &framed(request.stream, OK_SO_FAR, b""));
        Some(())
    }),
    ("parts without end, of a byte", |client, request, _, _, _| {
        for_ever(client, &framed(request.stream, OK_SO_FAR, b"x"));
        Some(())
    }),
    ("more parts than was asked for", |client, request, body, _, _| {
        client.answer(&request, OK_SO_FAR, body);
        client.answer(&request, OK, body);
        Some(())
    }),
    ("waits for ever", |client, mut request, _, _, _| {
        loop {
            client.answer(&request, WAIT, &0_u32.to_be_bytes());
            request = client.request()?;
        }
    }),
    ("a wait of a hundred years", |client, request, _, _, _| {
        client.answer(&request, WAIT, &u32::MAX.to_be_bytes());
        Some(())
    }),
    ("a wait of no time", |client, request, _, _, random| {
        client.answer(&request, WAIT, &random[..usize::from(random[0] % 4)]);
        Some(())
    }),
    ("sent to itself", |client, request, _, port, _| {
        client.answer(&request, REDIRECT, &[&u32::from(port).to_be_bytes()[..], b"127.0.0.1"].concat());
        Some(())
    }),
    ("sent to itself by a URL", |client, request, _, port, _| {
        let place = format!("root://127.0.0.1:{port}//f");
        client.answer(&request, REDIRECT, &[&(-1_i32).to_be_bytes()[..], place.as_bytes()].concat());
        Some(())
    }),
    ("sent to another kind of place", |client, request, _, _, random| {
        let places = ["file:///etc/passwd", "http://127.0.0.1/f", "/etc/passwd", "", "root://", "\0", "a b", "[::1"];
        let place = places[usize::from(random[0]) % places.len()];
        client.answer(&request, REDIRECT, &[&(-1_i32).to_be_bytes()[..], place.as_bytes()].concat());
        Some(())
    }),
    ("sent to nowhere", |client, request, _, _, random| {
        client.answer(&request, REDIRECT, &random[..usize::from(random[0] % 40)]);
        Some(())
    }),
    ("news without end", |client, _, _, _, random| {
        for_ever(client, &framed([0, 0], ATTENTION, &random[..usize::from(random[0] % 40)]));
        Some(())
    }),
    ("news of 2 GB", |client, _, _, _, _| {
        client.send(&[&[0, 0][..], &ATTENTION.to_be_bytes(), &0x7fff_ffff_u32.to_be_bytes()].concat());
        for_ever(client, &[0; 10_000]);
        Some(())
    }),
    ("another's answer in news", |client, request, body, _, random| {
        let inner = framed([random[0] | 0x80, random[1]], OK, body);
        client.send(&framed([0, 0], ATTENTION, &[b"\0\0\x13\x90\0\0\0\0", inner.as_slice()].concat()));
        client.send(&framed([0, 0], ATTENTION, b"\0\0\x13\x90\0\0\0\0"));
        client.send(&framed(request.stream, WAIT_RESPONSE, &1_u32.to_be_bytes()));
        Some(())
    }),
    ("an answer in a hundred years", |client, request, _, _, _| {
        client.answer(&request, WAIT_RESPONSE, &u32::MAX.to_be_bytes());
        silence();
        Some(())
    }),
    ("noise", |client, _, _, _, random| {
        client.send(random);
        silence();
        Some(())
    }),
    ("nothing", |_, _, _, _, _| None),
    ("a byte at a time", |client, request, body, _, _| {
        for byte in framed(request.stream, OK, body) {
            client.send(&[byte]);
            std::thread::sleep(Duration::from_millis(50));
            if client.has_hung_up() {
                break;
            }
        }
        Some(())
    }),
    ("less", |client, request, body, _, random| {
        client.answer(&request, OK, &body[..usize::from(random[0]) % body.len().max(1)]);
        Some(())
    }),
    ("more", |client, request, body, _, random| {
        client.answer(&request, OK, &[body, random].concat());
        Some(())
    }),
    ("another head", |client, request, body, _, random| {
        let n_bytes = body.len().min(if request.code == READ { 0 } else { 16 });
        let head: Vec<u8> = body.iter().zip(random).take(n_bytes).map(|(byte, other)| byte ^ other).collect();
        client.answer(&request, OK, &[&head, &body[n_bytes..]].concat());
        Some(())
    }),
    ("the same twice", |client, request, body, _, _| {
        client.answer(&request, OK, body);
        client.answer(&request, OK, body);
        Some(())
    }),
    ("authentication that goes on", |client, mut request, _, _, random| {
        loop {
            client.answer(&request, AUTH_MORE, &random[..100]);
            request = client.request()?;
        }
    }),
];

/// Sizes of a file that there cannot be, and states that are none.
const STATES: [&str; 9] = [
    "1 -1 16 1700000000",
    "1 9223372036854775807 16 1700000000",
    "1 18446744073709551615 16 1700000000",
    "1 99999999999999999999999999 16 1700000000",
    "1 300000 16 99999999999999999999999999",
    "1",
    "",
    "1 0x10 16 17",
    "1 3e5 16 17",
];

/// Serves a session that is right but for one stage.
fn session(client: &mut Client, stage: Stage, lie: Lie, file: &[u8], port: u16, random: &[u8]) -> Option<()> {
    let hello = Request { stream: [0, 0], code: 0, body: [0; 16], payload: Vec::new() };
    let version = [0, 0, 5, 0x11, 0, 0, 0, 1];
    client.hello()?;
    if stage == Stage::Handshake {
        return lie(client, hello, &version, port, random);
    }
    client.answer(&hello, OK, &version);
    let protocol = client.request()?;
    if stage == Stage::Protocol {
        return lie(client, protocol, &version, port, random);
    }
    client.answer(&protocol, OK, &version);
    let login = client.request()?;
    let security = if stage == Stage::Authentication { "&P=unix" } else { "" };
    let right = format!("0123456789abcdef{security}");
    if stage == Stage::Login {
        return lie(client, login, right.as_bytes(), port, random);
    }
    client.answer(&login, OK, right.as_bytes());
    loop {
        let request = client.serve(file, &[AUTH, OPEN, STAT, QUERY, READ, READ_VECTOR])?;
        let is_here = match stage {
            Stage::Authentication => request.code == AUTH,
            Stage::Of(code) => request.code == code,
            _ => false,
        };
        let state = format!("1 {FILE_BYTES} 16 1700000000\0");
        let handle = [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let body = match request.code {
            OPEN => [&handle, state.as_bytes()].concat(),
            STAT => state.into_bytes(),
            QUERY => b"2097136\n1024\n".to_vec(),
            AUTH => Vec::new(),
            _ => right_body(&request, file),
        };
        if is_here {
            lie(client, request, &body, port, random)?;
        } else if stage == Stage::Of(STAT) && request.code == OPEN {
            // Without the state, so that it is asked for.
            client.answer(&request, OK, &handle[..4]);
        } else {
            client.answer_rightly(&request, file);
        }
    }
}

/// Opens and reads from a server that lies; says what was wrong with what came of it. `n_refused` counts errors.
fn fault(stage: Stage, name: &str, lie: Lie, seed: u64, n_refused: &AtomicUsize) -> Option<String> {
    let file = content(FILE_BYTES, 1);
    let for_server = file.clone();
    let random = content(600, seed);
    let own = Arc::new(AtomicU16::new(0));
    let of_server = Arc::clone(&own);
    let (port, n_connections) =
        start(move |mut client, _| session(&mut client, stage, lie, &for_server, of_server.load(SeqCst), &random));
    own.store(port, SeqCst);
    let begin = Instant::now();
    let read = || -> Result<Vec<Vec<u8>>> {
        let source = open_xrootd_once(&url(port), &hasty(), NONE)?.source;
        let mut found = read_ranges(&*source, &RANGES)?;
        let mut one = vec![0; 100];
        source.read_at(1000, &mut one)?;
        found.push(one);
        Ok(found)
    };
    let result = read();
    let what = format!("{stage:?}, {name}, seed {seed}");
    let elapsed = begin.elapsed();
    if elapsed > Duration::from_secs(40) {
        return Some(format!("{what}: {elapsed:?}"));
    }
    if n_connections.load(SeqCst) > 40 {
        return Some(format!("{what}: {} connections", n_connections.load(SeqCst)));
    }
    match result {
        Ok(found) => {
            let ranges = RANGES.into_iter().chain([(1000, 100)]);
            let is_right =
                ranges.zip(&found).all(|((offset, n_bytes), found)| found == &file[offset..offset + n_bytes]);
            (!is_right).then(|| format!("{what}: other bytes"))
        }
        Err(error) => {
            n_refused.fetch_add(1, SeqCst);
            let text = error.to_string();
            (text.len() > 2000).then(|| format!("{what}: an error of {} bytes", text.len()))
        }
    }
}

/// Each lie at each stage, of so many seeds: what went wrong, and how many were errors.
fn faults(seeds: std::ops::Range<u64>) -> (Vec<String>, usize) {
    let all: Vec<_> = seeds
        .flat_map(|seed| STAGES.iter().flat_map(move |&stage| LIES.iter().map(move |lie| (seed, stage, lie))))
        .collect();
    let next = AtomicUsize::new(0);
    let (found, n_refused) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        // They wait for each other most of the time.
        for _ in 0..64 {
            scope.spawn(|| {
                while let Some((seed, stage, (name, lie))) = all.get(next.fetch_add(1, SeqCst)) {
                    if let Some(fault) = fault(*stage, name, *lie, *seed, &n_refused) {
                        found.lock().unwrap().push(fault);
                    }
                }
            });
        }
    });
    (found.into_inner().unwrap(), n_refused.into_inner())
}

#[test]
fn a_lie_of_a_server_is_an_error_in_time_or_does_no_harm() {
    let n_seeds = if std::env::var_os("ARROWROOT_SOAK").is_some() { 8 } else { 1 };
    let (found, n_refused) = faults(1..1 + n_seeds);
    assert!(n_refused > STAGES.len() * LIES.len() / 2, "{n_refused} were refused");
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_file_of_a_size_that_no_file_has_is_refused_or_read_as_far_as_it_goes() {
    for state in STATES {
        let file = content(FILE_BYTES, 1);
        let (port, _) = start(move |mut client, _| {
            client.greet("")?;
            loop {
                let request = client.serve(&file, &[OPEN, STAT, READ, READ_VECTOR])?;
                match request.code {
                    OPEN => client.answer(&request, OK, &[&[7; 12], state.as_bytes(), b"\0"].concat()),
                    STAT => client.answer(&request, OK, state.as_bytes()),
                    _ => {
                        let fits =
                            |&(offset, n_bytes): &(usize, usize)| offset.checked_add(n_bytes) <= Some(FILE_BYTES);
                        if request.ranges().iter().all(fits) {
                            client.answer_rightly(&request, &file);
                        } else {
                            client.answer(&request, OK, b"");
                        }
                    }
                }
            }
        });
        let opened = open_xrootd_once(&url(port), &hasty(), super::SPECULATION);
        if let Ok(opened) = opened {
            assert!(i64::try_from(opened.source.size_bytes()).is_ok(), "{state}");
        }
    }
}
