//! Entry points for the fuzzer: what a server sends, without a server.

use super::failure::Failure;
use super::frame::{Answer, Incoming, VectorAnswer};
use super::message::{self, HEADER_BYTES, Header};
use super::url::FileAddress;
use crate::requests::xrootd::VectorLimits;
use crate::source::Part;

struct Wire<'a>(&'a [u8]);

impl Incoming for Wire<'_> {
    fn some(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        let n_bytes = buffer.len().min(self.0.len());
        let (now, later) = self.0.split_at(n_bytes);
        buffer[..n_bytes].copy_from_slice(now);
        self.0 = later;
        if n_bytes == 0 { Err(Failure::Broken(String::new())) } else { Ok(n_bytes) }
    }
}

/// Every parser of words, and a stream of answers to a vector read, a read and a question.
///
/// # Panics
/// If an answer that is not one to the question is taken for one.
pub fn answers(data: &[u8]) {
    let _ = (message::parse_error(data), message::parse_redirect(data), message::parse_seconds(data));
    let _ = (message::parse_protocol(data), message::parse_login(data), message::parse_stat(data));
    let _ = message::parse_open(data);
    let limits = VectorLimits::parse(data);
    assert!((1..=1024).contains(&limits.max_ranges) && limits.max_range_bytes > 0);
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = FileAddress::parse(text).map(|target| target.redirected(-1, text));
        let target = FileAddress::parse("roots://host//file?authz=1");
        if let Ok(Ok(next)) = target.map(|target| target.redirected(1094, text)) {
            assert!(next.is_secure && !next.host.is_empty());
        }
    }
    stream(data);
}

fn stream(data: &[u8]) {
    let handle = [1, 2, 3, 4];
    let ranges = [(5_u64, 7_usize), (100, 1), (0, 30)];
    let mut buffers = ranges.map(|(_, n_bytes)| vec![0; n_bytes]);
    let parts = ranges.iter().zip(&mut buffers).map(|(&(offset, _), buffer)| Part { offset, buffer }).collect();
    let mut single = [0; 20];
    let mut waiting = [
        Answer::Vector(VectorAnswer::new(handle, parts)),
        Answer::Read(Part { offset: 3, buffer: &mut single }, 0),
        Answer::Control(Vec::new()),
    ];
    let mut wire = Wire(data);
    let mut n_taken = 0;
    loop {
        let mut head = [0; HEADER_BYTES];
        if wire.fill(&mut head).is_err() {
            return;
        }
        let Ok(header) = Header::parse(head) else { return };
        let _ = message::parse_attention([0; 16], header.n_bytes.max(16));
        let Some(answer) = waiting.get_mut(usize::from(header.stream)) else { return };
        if answer.take(header.n_bytes, &mut wire).is_err() {
            return;
        }
        n_taken += header.n_bytes;
        assert!(n_taken <= data.len());
        if answer.check_complete().is_ok() && header.stream < 2 {
            let n_bytes = if header.stream == 0 { 38 + 3 * 16 } else { 20 };
            assert!(n_taken >= n_bytes, "complete after {n_taken} bytes");
        }
    }
}
