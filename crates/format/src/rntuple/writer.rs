//! Little-endian values and frames: the opposite of [`Reader`](super::reader::Reader).

use crate::error::{Error, Result};

use super::envelope::{Kind, checksum};

/// Bytes of the type and length of an envelope.
const HEAD_BYTES: usize = 8;
/// Bytes of the checksum at its end.
const CHECKSUM_BYTES: usize = 8;
/// Bytes of the size of a frame.
const SIZE_BYTES: usize = 8;

/// An envelope while it is written.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

/// A frame that was begun: its size is not known yet.
#[derive(Debug)]
#[must_use = "the size is written at the end"]
pub(super) struct Frame {
    position: usize,
    is_list: bool,
}

macro_rules! little_endian {
    ($($name:ident: $type:ty),* $(,)?) => {$(
        #[inline]
        pub(super) fn $name(&mut self, value: $type) {
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
    )*};
}

impl Writer {
    /// Nothing but room for the head.
    pub(super) fn new() -> Self {
        Writer { bytes: vec![0; HEAD_BYTES] }
    }

    little_endian! { u16: u16, u32: u32, i32: i32, u64: u64, i64: i64, f64: f64 }

    /// Writes bytes as they are.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes bytes behind their number.
    pub(super) fn counted(&mut self, bytes: &[u8]) -> Result<()> {
        let n_bytes = u32::try_from(bytes.len());
        self.u32(n_bytes.map_err(|_| self.too_large("a string of 4 GiB or more"))?);
        self.raw(bytes);
        Ok(())
    }

    /// Begins a record frame.
    pub(super) fn begin_record(&mut self) -> Frame {
        let frame = Frame { position: self.bytes.len(), is_list: false };
        self.i64(0);
        frame
    }

    /// Begins a list frame of so many items.
    pub(super) fn begin_list(&mut self, n_items: usize) -> Result<Frame> {
        let frame = Frame { position: self.bytes.len(), is_list: true };
        self.i64(0);
        let n_items = u32::try_from(n_items);
        self.u32(n_items.map_err(|_| self.too_large("a list of 2^32 items or more"))?);
        Ok(frame)
    }

    /// Ends a frame: its size counts itself and what was written since. The size of a list is negative.
    pub(super) fn end(&mut self, frame: Frame) {
        let n_bytes = (self.bytes.len() - frame.position) as u64;
        let size = if frame.is_list { n_bytes.wrapping_neg() } else { n_bytes };
        self.bytes[frame.position..frame.position + SIZE_BYTES].copy_from_slice(&size.to_le_bytes());
    }

    /// The envelope: type and length, what was written, and the checksum, which is returned, too.
    pub(super) fn envelope(mut self, kind: Kind) -> Result<(Vec<u8>, u64)> {
        let n_bytes = (self.bytes.len() + CHECKSUM_BYTES) as u64;
        if n_bytes >> 48 != 0 {
            return Err(self.too_large("an envelope of 2^48 bytes or more"));
        }
        self.bytes[..HEAD_BYTES].copy_from_slice(&(n_bytes << 16 | kind as u64).to_le_bytes());
        let sum = checksum(&self.bytes);
        self.u64(sum);
        Ok((self.bytes, sum))
    }

    fn too_large(&self, what: &str) -> Error {
        Error::unsupported(self.bytes.len(), what)
    }
}
