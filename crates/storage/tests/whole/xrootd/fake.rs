//! A server that answers as a script says: rightly, wrongly, late or never.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

pub const OPEN: u16 = 3010;
pub const READ: u16 = 3013;
pub const STAT: u16 = 3017;
pub const QUERY: u16 = 3001;
pub const CLOSE: u16 = 3003;
pub const AUTH: u16 = 3000;
pub const READ_VECTOR: u16 = 3025;

pub const OK: u16 = 0;
pub const OK_SO_FAR: u16 = 4000;
pub const ATTENTION: u16 = 4001;
pub const ERROR: u16 = 4003;
pub const REDIRECT: u16 = 4004;
pub const WAIT: u16 = 4005;
pub const WAIT_RESPONSE: u16 = 4006;

pub struct Request {
    pub stream: [u8; 2],
    pub code: u16,
    pub body: [u8; 16],
    pub payload: Vec<u8>,
}

impl Request {
    /// What was asked for: offsets and lengths.
    pub fn ranges(&self) -> Vec<(usize, usize)> {
        let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        if self.code == READ {
            return vec![(number(&self.body[4..12]), number(&self.body[12..]))];
        }
        self.payload.chunks(16).map(|item| (number(&item[8..]), number(&item[4..8]))).collect()
    }
}

pub trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

pub struct Client {
    stream: Box<dyn Stream>,
    tcp: Option<TcpStream>,
}

impl Client {
    pub fn new(stream: impl Stream + 'static) -> Client {
        Client { stream: Box::new(stream), tcp: None }
    }

    /// The connection itself.
    pub fn into_tcp(self) -> Option<TcpStream> {
        self.tcp
    }

    pub fn request(&mut self) -> Option<Request> {
        let mut head = [0; 24];
        self.stream.read_exact(&mut head).ok()?;
        let mut payload = vec![0; u32::from_be_bytes(*head.last_chunk().unwrap()) as usize];
        self.stream.read_exact(&mut payload).ok()?;
        let code = u16::from_be_bytes([head[2], head[3]]);
        Some(Request { stream: [head[0], head[1]], code, body: head[4..20].try_into().unwrap(), payload })
    }

    pub fn answer(&mut self, request: &Request, status: u16, body: &[u8]) {
        self.send(&framed(request.stream, status, body));
    }

    pub fn send(&mut self, bytes: &[u8]) {
        // A client that has gone away is part of many scripts.
        let _ = self.stream.write_all(bytes);
    }

    /// The first words of a client.
    pub fn hello(&mut self) -> Option<()> {
        self.stream.read_exact(&mut [0; 20]).ok()
    }

    /// True if the client has gone away.
    pub fn has_hung_up(&self) -> bool {
        let Some(tcp) = &self.tcp else { return true };
        let is_over = tcp.set_nonblocking(true).and_then(|()| tcp.peek(&mut [0]));
        let _ = tcp.set_nonblocking(false);
        match is_over {
            Ok(n_bytes) => n_bytes == 0,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }

    /// Handshake, protocol, login; `security` is what the login answer says of it.
    pub fn greet(&mut self, security: &str) -> Option<()> {
        self.hello()?;
        self.send(&framed([0, 0], OK, &[0, 0, 5, 0x11, 0, 0, 0, 1]));
        let protocol = self.request()?;
        self.answer(&protocol, OK, &[0, 0, 5, 0x11, 0, 0, 0, 1]);
        let login = self.request()?;
        self.answer(&login, OK, format!("0123456789abcdef{security}").as_bytes());
        Some(())
    }

    /// Answers as a server should that has one file; returns a request that is left to the script.
    pub fn serve(&mut self, file: &[u8], left: &[u16]) -> Option<Request> {
        loop {
            let request = self.request()?;
            if left.contains(&request.code) {
                return Some(request);
            }
            self.answer_rightly(&request, file);
        }
    }

    pub fn answer_rightly(&mut self, request: &Request, file: &[u8]) {
        match request.code {
            OPEN => {
                let stat = format!("1 {} 16 1700000000\0", file.len());
                self.answer(request, OK, &[&[7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], stat.as_bytes()].concat());
            }
            STAT => self.answer(request, OK, format!("1 {} 16 1700000000\0", file.len()).as_bytes()),
            QUERY => self.answer(request, OK, b"2097136\n1024\n"),
            READ | READ_VECTOR => {
                let body = right_body(request, file);
                self.answer(request, OK, &body);
            }
            CLOSE | AUTH => self.answer(request, OK, b""),
            _ => self.answer(request, ERROR, b"\0\0\x0b\xbeno such request\0"),
        }
    }
}

pub fn framed(stream: [u8; 2], status: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [stream.as_slice(), &status.to_be_bytes(), &length, body].concat()
}

/// Body of the right answer to a read.
pub fn right_body(request: &Request, file: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for (index, (offset, n_bytes)) in request.ranges().into_iter().enumerate() {
        if request.code == READ_VECTOR {
            body.extend(&request.payload[index * 16..index * 16 + 16]);
        }
        body.extend(&file[offset..offset + n_bytes]);
    }
    body
}

/// Starts a server; the script gets each connection with its number, in a thread. Returns the port.
pub fn start(script: impl Fn(Client, usize) -> Option<()> + Send + Sync + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = crate::ports::listen();
    let port = listener.local_addr().unwrap().port();
    let (script, n_connections) = (Arc::new(script), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&n_connections);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (script, number) = (Arc::clone(&script), counter.fetch_add(1, SeqCst));
            let tcp = client.try_clone().ok();
            std::thread::spawn(move || script(Client { tcp, ..Client::new(client) }, number));
        }
    });
    (port, n_connections)
}
