//! What is needed to decompress and decode one piece after the other, lent by the process.
//!
//! A decompressor's tables and buffers of a page or a basket are some megabytes whose memory the system gives back and
//! takes again, page by page, if each scan has its own: where scans are short, that is a tenth of their time.

use std::sync::Mutex;

use arrowroot_format::codec::Decompressor;

/// Bytes in buffers that the process keeps while nobody uses them, at most.
const KEPT_BYTES: usize = 32 << 20;
/// The most of them that are kept, whatever their size: as many as threads that decode at a time on a large machine.
const MAX_KEPT: usize = 64;

/// A decompressor, and buffers of any content.
#[derive(Default)]
pub struct Scratch {
    /// Of any codec.
    pub decompressor: Decompressor,
    /// What came out of it.
    pub unpacked: Vec<u8>,
    /// Elements with their bytes in order.
    pub words: Vec<u8>,
    /// Numbers that they are.
    pub values: Vec<u64>,
    /// Numbers of the type that is stored, where another is wanted.
    pub natural: Vec<u8>,
}

/// Those that nobody uses. The lock is never waited for: a process that is forked while a thread holds it would wait
/// forever.
static KEPT: Mutex<Vec<Scratch>> = Mutex::new(Vec::new());

/// A scratch that goes back when this is dropped; taken when it is first used.
#[derive(Default)]
pub struct PooledScratch(Option<Scratch>);

impl Scratch {
    fn buffer_bytes(&self) -> usize {
        let words = self.unpacked.capacity() + self.words.capacity() + self.natural.capacity();
        words + self.values.capacity() * size_of::<u64>()
    }
}

impl PooledScratch {
    /// The scratch.
    pub fn get(&mut self) -> &mut Scratch {
        self.0.get_or_insert_with(|| KEPT.try_lock().ok().and_then(|mut kept| kept.pop()).unwrap_or_default())
    }
}

impl PooledScratch {
    /// What came out of its decompressor; nothing if it was not used.
    pub fn unpacked(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |scratch| &scratch.unpacked)
    }
}

impl Drop for PooledScratch {
    fn drop(&mut self) {
        if let (Some(scratch), Ok(mut kept)) = (self.0.take(), KEPT.try_lock()) {
            keep(&mut kept, scratch);
        }
    }
}

/// Adds a scratch to those that are kept, if there is room.
fn keep(kept: &mut Vec<Scratch>, scratch: Scratch) {
    let kept_bytes: usize = kept.iter().map(Scratch::buffer_bytes).sum();
    if kept.len() < MAX_KEPT && kept_bytes.saturating_add(scratch.buffer_bytes()) <= KEPT_BYTES {
        kept.push(scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_bytes(n_bytes: usize) -> Scratch {
        Scratch { unpacked: Vec::with_capacity(n_bytes), ..Scratch::default() }
    }

    #[test]
    fn what_is_kept_is_bounded_in_bytes_and_in_number() {
        let mut kept = Vec::new();
        keep(&mut kept, with_bytes(KEPT_BYTES + 1));
        assert!(kept.is_empty());
        keep(&mut kept, with_bytes(KEPT_BYTES / 2));
        keep(&mut kept, with_bytes(KEPT_BYTES / 2 + 1));
        assert_eq!(kept.len(), 1);
        for _ in 0..2 * MAX_KEPT {
            keep(&mut kept, with_bytes(0));
        }
        assert_eq!(kept.len(), MAX_KEPT);
    }
}
