//! Connections of the HTTP client, which acknowledge what they get at once.
//!
//! A server that sends an answer in pieces, as nginx does the parts of several ranges, keeps a small one back until what
//! went before is acknowledged (Nagle's algorithm, RFC 896), and a receiver may put that off (RFC 1122, 4.2.3.2: on Linux
//! for 40 ms, to send it along with an answer of its own). So the parts of one answer took 45 ms from the next
//! room, of which 40 were nothing. ureq's own connections do not let one ask for it.

#![expect(clippy::disallowed_types, reason = "this is where connections to HTTP servers are made")]

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ureq::unversioned::transport::time::{Duration as Limit, Instant as Moment};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport,
};

use super::lookup::addresses;
use super::trial::{self, Entered, Trial};
use crate::connect::connect_to_any;
use crate::descriptors::{Cost, HeldDescriptor, Holder, Registration, held};

/// Without one of its own a request waits no longer than this.
const NO_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// The link of the chain of connectors that connects, unless one before it did.
#[derive(Debug)]
pub(super) struct Tcp;

impl<In: Transport> Connector<In> for Tcp {
    type Out = Either<In, TcpTransport>;

    fn connect(&self, details: &ConnectionDetails, chained: Option<In>) -> Result<Option<Self::Out>, ureq::Error> {
        if let Some(connected) = chained {
            return Ok(Some(Either::A(connected)));
        }
        let rest = || {
            let elapsed = if let Moment::Exact(start) = details.now { start.elapsed() } else { Duration::ZERO };
            patience(&details.timeout).saturating_sub(elapsed)
        };
        let addresses = addresses(details.uri, rest())?;
        let connect = |patience| held(|| connect_to_any(&addresses, patience));
        let trial = Trial::current();
        let stream = match &trial {
            Some(trial) => trial.connect(rest, connect),
            None => connect(rest()),
        };
        let stream = stream.map_err(|error| timely(error, ureq::Timeout::Connect))?;
        stream.set_nodelay(true)?;
        let buffers = LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Either::B(TcpTransport::new(stream, buffers, Entered::new(trial)))))
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct TcpTransport {
    line: Arc<Line>,
    buffers: LazyBuffers,
    /// What the socket is set to.
    read_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    entered: Entered,
    _entry: Registration,
}

/// The socket of a connection. It is closed while the connection is idle, if descriptors are scarce: the connection is then
/// like one that the server has closed.
#[derive(Debug)]
struct Line {
    stream: Mutex<Option<HeldDescriptor<TcpStream>>>,
    /// No request is under way.
    is_idle: AtomicBool,
    was_used: AtomicBool,
}

impl Line {
    fn locked(&self) -> MutexGuard<'_, Option<HeldDescriptor<TcpStream>>> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Holder for Line {
    fn was_used(&self) -> bool {
        self.was_used.swap(false, Ordering::Relaxed)
    }

    fn give_back(&self) {
        if let Ok(mut stream) = self.stream.try_lock()
            && self.is_idle.load(Ordering::Relaxed)
        {
            *stream = None;
        }
    }
}

/// What a connection says that was closed while it was idle.
fn closed() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionAborted)
}

impl TcpTransport {
    fn new(stream: HeldDescriptor<TcpStream>, buffers: LazyBuffers, entered: Entered) -> TcpTransport {
        let line = Arc::new(Line {
            stream: Mutex::new(Some(stream)),
            is_idle: AtomicBool::new(false),
            was_used: AtomicBool::new(true),
        });
        let holder = Arc::downgrade(&line);
        TcpTransport {
            line,
            buffers,
            read_timeout: None,
            write_timeout: None,
            entered,
            _entry: Registration::of(Cost::Connection, holder),
        }
    }
}

impl Transport for TcpTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        let timeout = timeout.for_write();
        let rest = patience(&timeout);
        if rest.is_zero() {
            return Err(ureq::Error::Timeout(timeout.reason));
        }
        let line = self.line.locked();
        let stream = line.as_deref().ok_or_else(closed)?;
        self.line.is_idle.store(false, Ordering::Relaxed);
        self.line.was_used.store(true, Ordering::Relaxed);
        if self.write_timeout.replace(rest) != Some(rest) {
            stream.set_write_timeout(Some(rest))?;
        }
        (&*stream).write_all(&self.buffers.output()[..amount]).map_err(|error| timely(error, timeout.reason))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        let timeout = timeout.for_read();
        let (started, patience) = (Instant::now(), patience(&timeout));
        let mut rest = patience;
        let line = self.line.locked();
        let stream = line.as_deref().ok_or_else(closed)?;
        loop {
            if rest.is_zero() {
                return Err(ureq::Error::Timeout(timeout.reason));
            }
            let look = if self.entered.trial().is_some() { rest.min(trial::BETWEEN_LOOKS) } else { rest };
            if self.read_timeout.replace(look) != Some(look) {
                stream.set_read_timeout(Some(look))?;
            }
            acknowledge(stream);
            match (&*stream).read(self.buffers.input_append_buf()) {
                Ok(amount) => {
                    self.buffers.input_appended(amount);
                    if amount > 0 {
                        self.entered.came();
                    }
                    return Ok(amount > 0);
                }
                // Linux goes on by itself only where there is no timeout.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    rest = patience.saturating_sub(started.elapsed());
                }
                Err(error) => match self.entered.trial() {
                    Some(trial) if is_late(&error) && started.elapsed() < patience => {
                        trial.check()?;
                        rest = patience.saturating_sub(started.elapsed());
                    }
                    _ => return Err(timely(error, timeout.reason)),
                },
            }
        }
    }

    /// Asked when an answer is complete, and before the next request: the connection is idle in between.
    fn is_open(&mut self) -> bool {
        let line = self.line.locked();
        let Some(stream) = line.as_deref() else { return false };
        // Bytes that nobody asked for are no good sign, either.
        let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
        let is_open = matches!(rustix::net::recv(stream, &mut [0; 1], flags), Err(rustix::io::Errno::AGAIN));
        self.line.is_idle.store(is_open, Ordering::Relaxed);
        is_open
    }
}

/// Sends the acknowledgements that are due. Linux forgets the wish with the next bytes.
fn acknowledge(stream: &TcpStream) {
    #[cfg(target_os = "linux")]
    // A system that will not acknowledges later.
    let _ = rustix::net::sockopt::set_tcp_quickack(stream, true);
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}

fn patience(timeout: &NextTimeout) -> Duration {
    match timeout.after {
        Limit::Exact(rest) => rest,
        Limit::NotHappening => NO_TIMEOUT,
    }
}

/// What a socket that waited too long says, as the HTTP library has it.
fn timely(error: io::Error, reason: ureq::Timeout) -> ureq::Error {
    if is_late(&error) { ureq::Error::Timeout(reason) } else { error.into() }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> (TcpTransport, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let buffers = LazyBuffers::new(1 << 10, 1 << 10);
        let stream = held(|| Ok::<_, io::Error>(stream.try_clone().unwrap())).unwrap();
        (TcpTransport::new(stream, buffers, Entered::new(None)), listener.accept().unwrap().0)
    }

    fn within(limit: Duration) -> NextTimeout {
        NextTimeout { after: Limit::Exact(limit), reason: ureq::Timeout::PerRead, ..NextTimeout::default() }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_comes_is_acknowledged_at_once_however_much_was_asked_before() {
        let (mut transport, mut server) = pair();
        let mut own = transport.line.locked().as_ref().unwrap().try_clone().unwrap();
        let mut byte = [0];
        // Who answers soon what it gets is taken for one that has an acknowledgement sent along.
        for _ in 0..8 {
            own.write_all(&byte).unwrap();
            server.read_exact(&mut byte).unwrap();
            server.write_all(&byte).unwrap();
            own.read_exact(&mut byte).unwrap();
        }
        assert!(!rustix::net::sockopt::tcp_quickack(&own).unwrap());
        server.write_all(b"answer").unwrap();
        assert!(transport.await_input(within(Duration::from_secs(60))).unwrap());
        assert!(rustix::net::sockopt::tcp_quickack(&own).unwrap());
        assert_eq!(transport.buffers.input(), b"answer");
    }

    #[test]
    fn a_connection_is_given_back_while_it_is_idle_and_not_while_a_request_is_under_way() {
        let (mut transport, _server) = pair();
        transport.line.give_back();
        assert!(transport.line.locked().is_some(), "nothing was asked yet, but it was made for that");
        assert!(transport.is_open());
        transport.buffers.output()[..3].copy_from_slice(b"GET");
        transport.transmit_output(3, NextTimeout::default()).unwrap();
        transport.line.give_back();
        assert!(transport.line.locked().is_some(), "the answer is due");
        assert!(transport.is_open());
        transport.line.give_back();
        assert!(transport.line.locked().is_none());
        assert!(!transport.is_open());
        assert!(transport.transmit_output(3, NextTimeout::default()).is_err());
        assert!(transport.await_input(NextTimeout::default()).is_err());
    }

    #[test]
    fn silence_is_a_timeout_and_an_end_is_no_input() {
        let (mut transport, mut server) = pair();
        for limit in [Duration::ZERO, Duration::from_millis(20)] {
            let late = transport.await_input(within(limit));
            assert!(matches!(late, Err(ureq::Error::Timeout(ureq::Timeout::PerRead))), "{late:?}");
        }
        assert!(transport.is_open());
        transport.buffers.output()[..3].copy_from_slice(b"GET");
        transport.transmit_output(3, NextTimeout::default()).unwrap();
        let mut request = [0; 3];
        server.read_exact(&mut request).unwrap();
        assert_eq!(&request, b"GET");
        server.write_all(b"unasked").unwrap();
        assert!(transport.await_input(within(Duration::from_secs(60))).unwrap());
        drop(server);
        assert!(!transport.await_input(within(Duration::from_secs(60))).unwrap());
        assert!(!transport.is_open());
    }
}
