//! What windows, batches and kept pieces hold of memory, and its peak.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use arrowroot_file::Result;

use super::Block;

/// Kept bytes of this size and more have a mapping of their own.
const OWN_BLOCK_BYTES: usize = 128 << 10;

/// Memory that windows and batches hold, and the windows that are in use.
#[derive(Default)]
pub(crate) struct HeldMemory {
    bytes: AtomicI64,
    peak: AtomicI64,
    pub(crate) windows: AtomicUsize,
}

impl HeldMemory {
    pub(crate) fn add(&self, n_bytes: usize) {
        let n_bytes = i64::try_from(n_bytes).unwrap_or(i64::MAX);
        let now = self.bytes.fetch_add(n_bytes, Ordering::Relaxed).saturating_add(n_bytes);
        self.peak.fetch_max(now, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, n_bytes: usize) {
        self.bytes.fetch_sub(i64::try_from(n_bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn peak_bytes(&self) -> u64 {
        u64::try_from(self.peak.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

/// The bytes of a window, until the last basket of it is done.
pub(crate) struct WindowBytes {
    pub(crate) bytes: Block,
    held: Arc<HeldMemory>,
}

impl WindowBytes {
    pub(crate) fn new(n_bytes: usize, held: &Arc<HeldMemory>) -> Result<WindowBytes> {
        let bytes = Block::new(n_bytes)?;
        held.windows.fetch_add(1, Ordering::Relaxed);
        held.add(bytes.held_bytes());
        Ok(WindowBytes { bytes, held: Arc::clone(held) })
    }
}

impl Drop for WindowBytes {
    fn drop(&mut self) {
        self.held.release(self.bytes.held_bytes());
        self.held.windows.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes outside of windows, which count as held for as long as they live.
pub(crate) struct HeldBytes {
    bytes: Bytes,
    n_held: usize,
    held: Arc<HeldMemory>,
}

/// Large pieces have mappings: among allocations of other sizes they would leave holes that are as large.
enum Bytes {
    Small(Box<[u8]>),
    Large(Block),
}

impl HeldBytes {
    /// Bytes that are to be written; what is in them is not said.
    pub(crate) fn new(n_bytes: usize, held: &Arc<HeldMemory>) -> Result<HeldBytes> {
        let (bytes, n_held) = if n_bytes < OWN_BLOCK_BYTES {
            (Bytes::Small(vec![0; n_bytes].into()), n_bytes)
        } else {
            let block = Block::new(n_bytes)?;
            let n_held = block.held_bytes();
            (Bytes::Large(block), n_held)
        };
        held.add(n_held);
        Ok(HeldBytes { bytes, n_held, held: Arc::clone(held) })
    }

    pub(crate) fn copied(bytes: &[u8], held: &Arc<HeldMemory>) -> Result<Arc<HeldBytes>> {
        let mut copy = HeldBytes::new(bytes.len(), held)?;
        copy.copy_from_slice(bytes);
        Ok(Arc::new(copy))
    }
}

impl DerefMut for HeldBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.bytes {
            Bytes::Small(bytes) => bytes,
            Bytes::Large(block) => block,
        }
    }
}

impl Deref for HeldBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Small(bytes) => bytes,
            Bytes::Large(block) => block,
        }
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.held.release(self.n_held);
    }
}
