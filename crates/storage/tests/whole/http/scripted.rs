//! A server that answers as a test says, rightly or not.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as it came.
pub(crate) struct Request {
    /// How many came before it.
    pub number: usize,
    /// Its lines.
    pub head: String,
}

/// What happens after an answer was sent.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Then {
    Keep,
    Close,
    /// Nothing comes any more, but the connection stays.
    Stall,
}

/// An answer.
pub(crate) struct Reply {
    pub bytes: Vec<u8>,
    pub then: Then,
    /// Before each byte, if the answer comes slowly.
    pub pause: Option<Duration>,
}

impl Reply {
    pub(crate) fn new(bytes: Vec<u8>, then: Then) -> Reply {
        Reply { bytes, then, pause: None }
    }
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.clone().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// The ranges that it asks for.
    pub(crate) fn ranges(&self, size: usize) -> Vec<Range<usize>> {
        let list = self.header("range").unwrap().strip_prefix("bytes=").unwrap();
        let range = |text: &str| match text.split_once('-').unwrap() {
            ("", n) => size.saturating_sub(n.parse().unwrap())..size,
            (first, "") => first.parse().unwrap()..size,
            (first, last) => first.parse().unwrap()..size.min(last.parse::<usize>().unwrap() + 1),
        };
        list.split(',').map(range).collect()
    }
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// An answer without a file.
pub(crate) fn status(status: &str, headers: &str) -> Reply {
    Reply::new(answer(status, headers, b"sorry"), Then::Keep)
}

/// One range.
pub(crate) fn single(content: &[u8], range: Range<usize>) -> Vec<u8> {
    let headers =
        format!("ETag: \"1\"\r\nContent-Range: bytes {}-{}/{}\r\n", range.start, range.end - 1, content.len());
    answer("206 Partial Content", &headers, &content[range])
}

/// Several ranges.
pub(crate) fn multi(content: &[u8], ranges: &[Range<usize>]) -> Vec<u8> {
    let mut body = Vec::new();
    for range in ranges {
        let head =
            format!("\r\n--xx\r\nContent-Range: bytes {}-{}/{}\r\n\r\n", range.start, range.end - 1, content.len());
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(&content[range.clone()]);
    }
    body.extend_from_slice(b"\r\n--xx--\r\n");
    answer("206 Partial Content", "ETag: \"1\"\r\nContent-Type: multipart/byteranges; boundary=xx\r\n", &body)
}

/// As a good server answers.
pub(crate) fn right(content: &[u8], request: &Request) -> Reply {
    let bytes = match request.ranges(content.len()).as_slice() {
        [range] => single(content, range.clone()),
        ranges => multi(content, ranges),
    };
    Reply::new(bytes, Then::Keep)
}

/// A running server.
pub(crate) struct Scripted {
    port: u16,
    stopped: Arc<AtomicBool>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    pub(crate) fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Scripted {
        Self::with_threads(script, true)
    }

    /// One that serves a connection until it ends, and then the next.
    pub(crate) fn one_at_a_time(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Scripted {
        Self::with_threads(script, false)
    }

    fn with_threads(script: impl Fn(&Request) -> Reply + Send + Sync + 'static, has_threads: bool) -> Scripted {
        let listener = crate::ports::listen();
        let port = listener.local_addr().unwrap().port();
        let (stopped, heads) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (is_stopped, log, script) = (Arc::clone(&stopped), Arc::clone(&heads), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if is_stopped.load(Relaxed) {
                    return;
                }
                let (is_stopped, log, script) = (Arc::clone(&is_stopped), Arc::clone(&log), Arc::clone(&script));
                let stream = stream.unwrap();
                let serving = std::thread::spawn(move || serve(stream, &is_stopped, &log, script.as_ref()));
                if !has_threads {
                    serving.join().unwrap();
                }
            }
        });
        Scripted { port, stopped, heads }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/f", self.port)
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What came so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// Ranges that were asked for so far.
    pub(crate) fn ranges(&self) -> Vec<String> {
        let place = std::cell::Cell::new(0);
        let range = |head: String| {
            place.set(place.get() + 1);
            Request { number: place.get(), head }.header("range").unwrap().replace("bytes=", "")
        };
        self.heads().into_iter().map(range).collect()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stopped.store(true, Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(mut stream: TcpStream, stopped: &AtomicBool, log: &Mutex<Vec<String>>, script: &dyn Fn(&Request) -> Reply) {
    stream.set_nodelay(true).unwrap();
    let mut head = Vec::new();
    loop {
        let mut byte = [0];
        if !matches!(stream.read(&mut byte), Ok(1)) {
            return;
        }
        head.push(byte[0]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
        let number = {
            let mut log = log.lock().unwrap();
            log.push(text.clone());
            log.len() - 1
        };
        let reply = script(&Request { number, head: text });
        let is_sent = match reply.pause {
            None => stream.write_all(&reply.bytes).is_ok(),
            Some(pause) => reply.bytes.iter().all(|byte| {
                std::thread::sleep(pause);
                !stopped.load(Relaxed) && stream.write_all(&[*byte]).is_ok()
            }),
        };
        if !is_sent || reply.then == Then::Close {
            return;
        }
        while reply.then == Then::Stall && !stopped.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
