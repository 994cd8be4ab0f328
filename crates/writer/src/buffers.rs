//! Memory of the pieces that are made, lent by the process.
//!
//! A piece lives until it is written, which is soon. If each had memory of its own, the system would give it page by page, which
//! takes longer than to fill it with what is not compressed.

use std::sync::Mutex;

/// Bytes in buffers that the process keeps while nobody uses them, at most.
const KEPT_BYTES: usize = 32 << 20;
/// The most of them that are kept, whatever their size.
const MAX_KEPT: usize = 256;

/// Buffers that nobody uses. The lock is never waited for: a process that is forked while a thread holds it would wait forever.
static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// An empty buffer with room for so many bytes.
pub(crate) fn take(n_bytes: usize) -> Vec<u8> {
    let kept = KEPT.try_lock().ok().and_then(|mut kept| kept.pop());
    kept.filter(|buffer| buffer.capacity() >= n_bytes).unwrap_or_else(|| Vec::with_capacity(n_bytes))
}

/// Gives a buffer back, which may be of any origin.
pub(crate) fn give_back(buffer: Vec<u8>) {
    if let Ok(mut kept) = KEPT.try_lock() {
        keep(&mut kept, buffer);
    }
}

/// Adds a buffer to those that are kept, if there is room.
fn keep(kept: &mut Vec<Vec<u8>>, mut buffer: Vec<u8>) {
    let kept_bytes: usize = kept.iter().map(Vec::capacity).sum();
    if kept.len() < MAX_KEPT && kept_bytes.saturating_add(buffer.capacity()) <= KEPT_BYTES {
        buffer.clear();
        kept.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_are_lent_are_empty_and_large_enough() {
        give_back(vec![7; 100]);
        for n_bytes in [0, 50, 1000] {
            let buffer = take(n_bytes);
            assert!(buffer.is_empty() && buffer.capacity() >= n_bytes);
            give_back(buffer);
        }
    }

    #[test]
    fn what_is_kept_is_bounded_in_bytes_and_in_number() {
        let mut kept = Vec::new();
        keep(&mut kept, Vec::with_capacity(KEPT_BYTES + 1));
        assert!(kept.is_empty());
        keep(&mut kept, Vec::with_capacity(KEPT_BYTES / 2));
        keep(&mut kept, Vec::with_capacity(KEPT_BYTES / 2 + 1));
        assert_eq!(kept.len(), 1);
        for _ in 0..2 * MAX_KEPT {
            keep(&mut kept, Vec::new());
        }
        assert_eq!(kept.len(), MAX_KEPT);
    }
}
