//! Names of headers as people write them: `Range`, not `range`.
//!
//! Names do not depend on case (RFC 9110, section 5.1), and the HTTP library sends them in lower case. XRootD 5.5 knows
//! `Range` only, and answers with the whole file to anything else.

use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

/// The link of the chain of connectors that rewrites what is sent.
#[derive(Debug)]
pub(super) struct NamesAsWritten;

impl<In: Transport> Connector<In> for NamesAsWritten {
    type Out = Renaming<In>;

    fn connect(&self, _details: &ConnectionDetails, chained: Option<In>) -> Result<Option<Self::Out>, ureq::Error> {
        Ok(chained.map(|inner| Renaming { inner, is_at_name: false, is_at_start: false }))
    }
}

/// A connection whose requests, which have no bodies, are rewritten in place.
#[derive(Debug)]
pub(super) struct Renaming<In> {
    inner: In,
    /// Inside the name of a header, or the method of a request.
    is_at_name: bool,
    /// At a letter that begins a word.
    is_at_start: bool,
}

impl<In> Renaming<In> {
    fn rename(&mut self, head: &mut [u8]) {
        for byte in head {
            if self.is_at_name && self.is_at_start {
                byte.make_ascii_uppercase();
            }
            self.is_at_start = matches!(byte, b'\n' | b'-');
            self.is_at_name = *byte == b'\n' || (self.is_at_name && !matches!(*byte, b':' | b' '));
        }
    }
}

impl<In: Transport> Transport for Renaming<In> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        let mut head = self.inner.buffers().output()[..amount].to_vec();
        self.rename(&mut head);
        self.inner.buffers().output()[..amount].copy_from_slice(&head);
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.inner.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_large_and_values_stay() {
        let text =
            "GET /a-b HTTP/1.1\r\nhost: a-b\r\nif-match: \"x-y\"\r\nrange: bytes=-5\r\n\r\nGET /c-d HTTP/1.1\r\n";
        // However it is cut.
        for cut in 0..text.len() {
            let mut head = text.as_bytes().to_vec();
            let mut renaming = Renaming { inner: (), is_at_name: false, is_at_start: false };
            let (first, second) = head.split_at_mut(cut);
            renaming.rename(first);
            renaming.rename(second);
            let expected = text.replace("host:", "Host:").replace("if-match", "If-Match").replace("range:", "Range:");
            assert_eq!(String::from_utf8(head).unwrap(), expected);
        }
    }
}
