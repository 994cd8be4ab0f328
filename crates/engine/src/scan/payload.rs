//! The bytes of a piece, as they are in the file or uncompressed.

use std::ops::Range;
use std::sync::Arc;

use arrowroot_file::Result;

use super::keep::Keeping;
use crate::memory::{HeldBytes, HeldMemory, WindowBytes};

/// Where the payload of a piece is.
#[derive(Clone)]
pub(crate) enum Payload {
    /// In a window, as it is in the file.
    Stored(Arc<WindowBytes>, Range<usize>),
    /// The same, kept from the batch before.
    Kept(Arc<HeldBytes>),
    /// Uncompressed.
    Ready(Arc<HeldBytes>),
}

/// The bytes of a payload.
pub(crate) enum PayloadBytes<'p> {
    /// As they are in the file.
    Stored(&'p [u8]),
    /// Uncompressed.
    Ready(&'p [u8]),
}

impl Payload {
    pub(crate) fn bytes(&self) -> PayloadBytes<'_> {
        match self {
            Payload::Stored(window, range) => PayloadBytes::Stored(window.bytes.get(range.clone()).unwrap_or_default()),
            Payload::Kept(bytes) => PayloadBytes::Stored(bytes),
            Payload::Ready(bytes) => PayloadBytes::Ready(bytes),
        }
    }

    /// Bytes that it takes uncompressed; 0 as long as it is not.
    pub(crate) fn unpacked_bytes(&self) -> u64 {
        if let Payload::Ready(bytes) = self { bytes.len() as u64 } else { 0 }
    }

    /// What the next batch gets of it; `None`: nothing.
    pub(crate) fn kept(&self, keeping: Keeping, held: &Arc<HeldMemory>) -> Result<Option<Payload>> {
        Ok(match (keeping, self, self.bytes()) {
            (Keeping::Unpacked, Payload::Ready(_), _) | (Keeping::Stored, Payload::Kept(_), _) => Some(self.clone()),
            (Keeping::Stored, Payload::Stored(..), PayloadBytes::Stored(stored)) => {
                Some(Payload::Kept(HeldBytes::copied(stored, held)?))
            }
            _ => None,
        })
    }
}
