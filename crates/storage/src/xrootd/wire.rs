//! The two directions of a connection: bytes in, through a small buffer and past it, and requests out.

#![expect(clippy::disallowed_types, reason = "the connections to XRootD servers")]

use std::io::{self, IoSliceMut, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustls::ClientConnection;

use crate::descriptors::HeldDescriptor;
use crate::tls_failure;

use super::failure::Failure;
use super::frame::Incoming;
use super::message::{HEADER_BYTES, Header};

/// What is read with the head of an answer, and copied once more from here; larger parts go where they belong at once.
const BUFFER_BYTES: usize = 16 << 10;
/// Encrypted bytes taken from the socket at once.
const RECORDS_BYTES: usize = 64 << 10;
/// A read of the socket returns after so long to see whether it is still worth waiting.
pub(super) const TICK: Duration = Duration::from_millis(250);

type Tls = Arc<Mutex<ClientConnection>>;

/// The socket of a connection, which both directions have.
pub(super) type Socket = Arc<HeldDescriptor<TcpStream>>;

fn locked(tls: &Tls) -> MutexGuard<'_, ClientConnection> {
    tls.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For anything to come.
    pub(crate) timeout: Duration,
    /// For all of it.
    pub(crate) until: Instant,
}

impl Patience {
    /// For how long anything may stay away from now on.
    pub(super) fn rest(self) -> Result<Duration, Failure> {
        let rest = self.until.saturating_duration_since(Instant::now());
        if rest.is_zero() { Err(Failure::Late) } else { Ok(rest.min(self.timeout)) }
    }

    /// Fails if nothing came since then for too long, or it is too late in any case.
    pub(crate) fn check(self, since: Instant) -> Result<(), Failure> {
        check_silence(since, self.timeout)?;
        if Instant::now() >= self.until { Err(Failure::Late) } else { Ok(()) }
    }
}

/// What the system says, without the number that it says it with.
pub(super) fn reason(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::WouldBlock {
        return "timed out while sending".to_owned();
    }
    crate::error::reason(error)
}

/// What came: `None` if nothing did within a tick.
type Received = Result<Option<usize>, Failure>;

/// The incoming direction.
pub(crate) struct Inbound {
    stream: Socket,
    tls: Option<(Tls, Vec<u8>, std::ops::Range<usize>)>,
    buffer: Vec<u8>,
    /// What of the buffer is still to be used.
    unused: std::ops::Range<usize>,
    /// What is still to come, or to be used, of the answer whose head came last.
    n_left: usize,
    /// For how long it was passed over so far.
    passing_over: Duration,
    last_byte: Instant,
    timeout: Duration,
    /// When whoever reads now gives up, however much comes.
    deadline: Instant,
    n_received: u64,
}

impl Inbound {
    fn new(stream: Socket, tls: Option<Tls>, timeout: Duration) -> Inbound {
        Inbound {
            stream,
            tls: tls.map(|tls| (tls, vec![0; RECORDS_BYTES], 0..0)),
            buffer: vec![0; BUFFER_BYTES],
            unused: 0..0,
            n_left: 0,
            passing_over: Duration::ZERO,
            last_byte: Instant::now(),
            timeout,
            deadline: Instant::now() + timeout,
            n_received: 0,
        }
    }

    /// When the last byte came.
    pub(crate) fn last_byte(&self) -> Instant {
        self.last_byte
    }

    /// Bytes that came so far, as the server sent them before encryption.
    pub(crate) fn n_received(&self) -> u64 {
        self.n_received
    }

    /// Whoever reads next gives up at `deadline`.
    pub(crate) fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    /// The head of the next answer, or `None` if it is not there after a tick. What was not used of the answer before is
    /// passed over.
    pub(crate) fn header(&mut self) -> Result<Option<Header>, Failure> {
        let until = Instant::now() + TICK;
        if !self.pass_over(until)? {
            return Ok(None);
        }
        while self.unused.len() < HEADER_BYTES {
            self.buffer.copy_within(self.unused.clone(), 0);
            self.unused = 0..self.unused.len();
            if Instant::now() >= until || self.receive(&mut [])?.is_none() {
                return Ok(None);
            }
        }
        let mut head = [0; HEADER_BYTES];
        self.take_buffered(&mut head);
        let header = Header::parse(head).map_err(Failure::Wrong)?;
        (self.n_left, self.passing_over) = (header.n_bytes, Duration::ZERO);
        Ok(Some(header))
    }

    /// Passes over what is left of an answer, no longer than `until`: whoever does it waits for something else. Returns
    /// whether it is through. One that takes too long costs those who wait more than another connection would.
    fn pass_over(&mut self, until: Instant) -> Result<bool, Failure> {
        let started = Instant::now();
        while self.n_left > 0 {
            if self.unused.is_empty() {
                self.unused = 0..0;
                if Instant::now() >= until || self.receive(&mut [])?.is_none() {
                    self.passing_over += started.elapsed();
                    if self.passing_over < self.timeout {
                        return Ok(false);
                    }
                    return Err(Failure::Broken("an answer that nobody waits for came too slowly".to_owned()));
                }
            }
            let n_bytes = self.n_left.min(self.unused.len());
            self.unused.start += n_bytes;
            self.n_left -= n_bytes;
        }
        Ok(true)
    }

    fn take_buffered(&mut self, wanted: &mut [u8]) -> usize {
        let n_bytes = wanted.len().min(self.unused.len());
        wanted[..n_bytes].copy_from_slice(&self.buffer[self.unused.start..self.unused.start + n_bytes]);
        self.unused.start += n_bytes;
        n_bytes
    }

    /// Bytes into `wanted`, and what came beyond them into the buffer. Returns how many of the wanted came.
    fn receive(&mut self, wanted: &mut [u8]) -> Received {
        let n_wanted = wanted.len();
        let free = &mut self.buffer[self.unused.end..];
        let received = match &mut self.tls {
            None => receive_plain(&self.stream, wanted, free),
            Some((tls, records, unread)) => {
                let until = self.deadline.min(Instant::now() + TICK);
                let last_byte = &mut self.last_byte;
                receive_tls(&self.stream, tls, (records, unread), (wanted, free), (until, last_byte))
            }
        };
        let Some(n_bytes) = received? else { return Ok(None) };
        self.last_byte = Instant::now();
        self.n_received += n_bytes as u64;
        self.unused.end += n_bytes.saturating_sub(n_wanted);
        Ok(Some(n_bytes.min(n_wanted)))
    }
}

impl Incoming for Inbound {
    fn some(&mut self, wanted: &mut [u8]) -> Result<usize, Failure> {
        let n_buffered = self.take_buffered(wanted);
        if n_buffered > 0 {
            self.n_left = self.n_left.saturating_sub(n_buffered);
            return Ok(n_buffered);
        }
        let started = Instant::now();
        loop {
            if Instant::now() >= self.deadline {
                return Err(Failure::Broken("the answer came too slowly".to_owned()));
            }
            self.unused = 0..0;
            match self.receive(wanted)? {
                Some(n_bytes) => {
                    self.n_left = self.n_left.saturating_sub(n_bytes);
                    return Ok(n_bytes);
                }
                None => check_silence(self.last_byte.max(started), self.timeout)?,
            }
        }
    }
}

/// Whether a connection that is silent since then is still worth waiting for.
pub(crate) fn check_silence(since: Instant, timeout: Duration) -> Result<(), Failure> {
    if since.elapsed() >= timeout {
        return Err(Failure::Silent(timeout));
    }
    Ok(())
}

fn is_tick(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn closed() -> Failure {
    Failure::Broken("the server closed the connection".to_owned())
}

fn receive_plain(mut stream: &TcpStream, wanted: &mut [u8], free: &mut [u8]) -> Received {
    loop {
        return match stream.read_vectored(&mut [IoSliceMut::new(wanted), IoSliceMut::new(free)]) {
            Ok(0) => Err(closed()),
            Ok(n_bytes) => Ok(Some(n_bytes)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if is_tick(&error) => Ok(None),
            Err(error) => Err(Failure::Broken(reason(&error))),
        };
    }
}

/// What comes in `records`, some of it still `unread`, becomes what is wanted and what goes beyond it. `None` also if no
/// record is complete at the moment `until`; `last_byte` is then when the last byte of one came.
fn receive_tls(
    stream: &TcpStream,
    tls: &Tls,
    (records, unread): (&mut [u8], &mut std::ops::Range<usize>),
    (wanted, free): (&mut [u8], &mut [u8]),
    (until, last_byte): (Instant, &mut Instant),
) -> Received {
    let broken = |error: &dyn std::fmt::Display| Failure::Broken(format!("TLS: {error}"));
    loop {
        {
            let mut tls = locked(tls);
            let place = if wanted.is_empty() { &mut *free } else { &mut *wanted };
            match tls.reader().read(place) {
                Ok(0) => return Err(closed()),
                Ok(n_bytes) => return Ok(Some(n_bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(broken(&error)),
            }
            if unread.start < unread.end {
                let n_read = tls.read_tls(&mut &records[unread.clone()]).map_err(|error| broken(&error))?;
                unread.start += n_read;
                tls.process_new_packets().map_err(|error| broken(&error))?;
                continue;
            }
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        match receive_plain(stream, records, &mut [])? {
            Some(n_bytes) => (*unread, *last_byte) = (0..n_bytes, Instant::now()),
            None => return Ok(None),
        }
    }
}

/// A connection during the handshake of TLS, which goes on for as long as bytes come: none do after `until`.
struct Limited<'s> {
    stream: &'s TcpStream,
    until: Instant,
    last_byte: Instant,
}

impl Limited<'_> {
    fn check(&self) -> io::Result<()> {
        if Instant::now() >= self.until { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

impl Read for Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        self.stream.read(buffer).inspect(|_| self.last_byte = Instant::now())
    }
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The outgoing direction.
pub(crate) struct Outbound {
    /// `None`: it was closed.
    stream: Option<Socket>,
    tls: Option<Tls>,
    records: Vec<u8>,
}

impl Outbound {
    /// Sends requests.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::Broken(reason(&error));
        let mut stream: &TcpStream = self.stream.as_ref().ok_or_else(given_back)?;
        let Some(tls) = &self.tls else {
            return stream.write_all(bytes).map_err(failed);
        };
        self.records.clear();
        {
            let mut tls = locked(tls);
            tls.writer().write_all(bytes).map_err(failed)?;
            while tls.wants_write() {
                tls.write_tls(&mut self.records).map_err(failed)?;
            }
        }
        stream.write_all(&self.records).map_err(failed)
    }

    /// Lets the socket go.
    pub(crate) fn close(&mut self) {
        self.stream = None;
    }
}

/// What becomes of a connection that was closed for its descriptor.
pub(crate) fn given_back() -> Failure {
    Failure::Broken("the connection was closed, as descriptors were scarce".to_owned())
}

/// Ends a connection, whoever is waiting for it. It does not keep the socket open.
pub(crate) struct Plug(Weak<HeldDescriptor<TcpStream>>);

impl Plug {
    /// Ends it.
    pub(crate) fn pull(&self) {
        if let Some(stream) = self.0.upgrade() {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Whether the server ended it while nobody looked.
    pub(crate) fn is_closed(&self) -> bool {
        let Some(stream) = self.0.upgrade() else { return true };
        let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
        match rustix::net::recv(&**stream, &mut [0; 1], flags) {
            Ok((_, n_bytes)) => n_bytes == 0,
            Err(error) => error != rustix::io::Errno::AGAIN && error != rustix::io::Errno::INTR,
        }
    }
}

/// Both directions while one thread has them: during the login.
pub(crate) struct Line {
    pub(crate) inbound: Inbound,
    pub(crate) outbound: Outbound,
    plug: Plug,
}

impl Line {
    /// Takes a connection that is not encrypted yet.
    pub(crate) fn new(stream: HeldDescriptor<TcpStream>, timeout: Duration) -> Line {
        let stream = Arc::new(stream);
        let outbound = Outbound { stream: Some(Arc::clone(&stream)), tls: None, records: Vec::new() };
        let plug = Plug(Arc::downgrade(&stream));
        Line { inbound: Inbound::new(stream, None, timeout), outbound, plug }
    }

    /// Encrypts from now on. Nothing may be under way.
    pub(crate) fn encrypt(self, mut session: ClientConnection, patience: Patience) -> Result<Line, Failure> {
        let Line { inbound, outbound, plug } = self;
        if !inbound.unused.is_empty() {
            return Err(Failure::Wrong("unencrypted bytes after encryption was agreed on".to_owned()));
        }
        let stream = inbound.stream;
        let mut limited = Limited { stream: &stream, until: patience.until, last_byte: Instant::now() };
        while session.is_handshaking() {
            match session.complete_io(&mut limited) {
                Ok(_) => {}
                Err(error) if is_tick(&error) => {}
                Err(error) => {
                    return Err(
                        match tls_failure::of_io(&error).and_then(|failed| Some((failed, tls_failure::hint(failed)?))) {
                            Some((failed, hint)) => Failure::Insecure(failed.to_string(), hint.to_owned()),
                            None => Failure::Broken(format!("TLS: {}", reason(&error))),
                        },
                    );
                }
            }
            patience.check(limited.last_byte)?;
        }
        let tls = Arc::new(Mutex::new(session));
        Ok(Line {
            inbound: Inbound::new(stream, Some(Arc::clone(&tls)), inbound.timeout),
            outbound: Outbound { tls: Some(tls), ..outbound },
            plug,
        })
    }

    /// Its parts, for different threads.
    pub(crate) fn into_parts(self) -> (Inbound, Outbound, Plug) {
        (self.inbound, self.outbound, self.plug)
    }
}
