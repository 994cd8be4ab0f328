//! The deadline of a handshake: connecting ends in time, however slowly the other side answers.
//!
//! ureq gives every wait of a handshake the time of the whole: a server or a proxy that sends a byte now and then would be
//! waited for for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use ureq::unversioned::transport::time::{Duration as Limit, Instant as Moment};
use ureq::unversioned::transport::{Buffers, ConnectionDetails, NextTimeout, Transport};

/// Until when a handshake may take.
#[derive(Debug, Clone)]
pub(super) struct HandshakeDeadline {
    /// `None`: as long as they like.
    until: Option<Instant>,
    is_over: Arc<AtomicBool>,
}

impl HandshakeDeadline {
    /// What the details give from when they were made.
    pub(super) fn of(details: &ConnectionDetails) -> HandshakeDeadline {
        let until = match (details.now, details.timeout.after) {
            (Moment::Exact(start), Limit::Exact(limit)) => start.checked_add(limit),
            _ => None,
        };
        HandshakeDeadline { until, is_over: Arc::new(AtomicBool::new(false)) }
    }

    /// A connection on which all waits end together, until the handshake is done.
    pub(super) fn on(&self, inner: Box<dyn Transport>) -> Box<dyn Transport> {
        Box::new(BoundedTransport { inner, deadline: self.clone() })
    }

    /// The handshake is done.
    pub(super) fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// What is left of a timeout.
    fn shorten(&self, mut timeout: NextTimeout) -> NextTimeout {
        if let Some(until) = self.until
            && !self.is_over.load(Relaxed)
        {
            let rest = until.saturating_duration_since(Instant::now());
            timeout.after = timeout.after.min(rest.into());
        }
        timeout
    }
}

/// A connection that is being made.
#[derive(Debug)]
struct BoundedTransport {
    inner: Box<dyn Transport>,
    deadline: HandshakeDeadline,
}

impl Transport for BoundedTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.inner.transmit_output(amount, self.deadline.shorten(timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.inner.await_input(self.deadline.shorten(timeout))
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
