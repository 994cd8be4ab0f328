//! TLS for the HTTP client, and how long connecting takes.
//!
//! ureq brings its own TLS, but that gives grid proxies no chance (see `credentials`), and nobody would know how much of
//! the time of a request went into connecting.

use std::cell::Cell;
use std::fmt;
use std::io::{Read, Write};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use ureq::unversioned::transport::time::Instant as Moment;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};

use super::handshake_deadline::HandshakeDeadline;

thread_local! {
    /// What this thread spent on connecting since it last asked.
    static CONNECTING: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Time that this thread spent on connecting since the last call; `None` if it did not.
pub(super) fn take_connecting() -> Option<Duration> {
    CONNECTING.take()
}

/// The last link of the chain of connectors: TLS where the URL wants it.
#[derive(Clone)]
pub(super) struct Tls(pub(super) Arc<OnceLock<Arc<ClientConfig>>>);

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Tls")
    }
}

impl<In: Transport> Connector<In> for Tls {
    type Out = Either<In, TlsTransport>;

    fn connect(&self, details: &ConnectionDetails, chained: Option<In>) -> Result<Option<Self::Out>, ureq::Error> {
        let Some(transport) = chained else { return Ok(None) };
        let connected = if details.needs_tls() && !transport.is_tls() {
            Either::B(self.shake_hands(details, transport)?)
        } else {
            Either::A(transport)
        };
        if let Moment::Exact(start) = details.now {
            CONNECTING.set(Some(Instant::now().saturating_duration_since(start)));
        }
        Ok(Some(connected))
    }
}

impl Tls {
    fn shake_hands<In: Transport>(
        &self,
        details: &ConnectionDetails,
        transport: In,
    ) -> Result<TlsTransport, ureq::Error> {
        let config = self.0.get().ok_or(ureq::Error::TlsRequired)?;
        let host = details.uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(|_| ureq::Error::Tls("no name that TLS knows"))?;
        let connection = ClientConnection::new(Arc::clone(config), name).map_err(std::io::Error::other)?;
        let deadline = HandshakeDeadline::of(details);
        let mut adapter = TransportAdapter::new(deadline.on(transport.boxed()), Arc::clone(&details.current_time));
        adapter.set_timeout(details.timeout);
        let mut stream = StreamOwned::new(connection, adapter);
        stream.conn.complete_io(&mut stream.sock)?;
        deadline.end();
        let buffers = LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(TlsTransport { buffers, stream })
    }
}

/// A connection with TLS.
pub(super) struct TlsTransport {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl fmt::Debug for TlsTransport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TlsTransport")
    }
}

impl Transport for TlsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.stream.sock.set_timeout(timeout);
        let output = &self.buffers.output()[..amount];
        self.stream.write_all(output)?;
        self.stream.flush()?;
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.stream.sock.set_timeout(timeout);
        let input = self.buffers.input_append_buf();
        let amount = self.stream.read(input)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.sock.get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}
