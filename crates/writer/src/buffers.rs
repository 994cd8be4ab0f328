//! Memory of the pieces that are made, lent by the process.
//!
//! A piece lives until it is written, which is soon. If each had memory of its own, the system would give it page by page, which
//! takes longer than to fill it with what is not compressed.

use std::collections::VecDeque;
use std::sync::Mutex;

/// Bytes in buffers that the process keeps while nobody uses them, at most.
const KEPT_BYTES: usize = 8 << 20;
/// The most of them that are kept, whatever their size.
const MAX_KEPT: usize = 256;
/// A buffer of so many bytes is lent to whoever asks for less.
const SMALL_BYTES: usize = 4096;

/// Buffers that nobody uses, the latest at the end. The lock is never waited for: a process that is forked while a thread holds it
/// would wait forever.
static KEPT: Mutex<VecDeque<Vec<u8>>> = Mutex::new(VecDeque::new());

/// An empty buffer with room for so many bytes, and hardly more: the capacity is what a piece counts for among the bytes in flight.
pub(crate) fn take(n_bytes: usize) -> Vec<u8> {
    let kept = KEPT.try_lock().ok().and_then(|mut kept| lend(&mut kept, n_bytes));
    kept.unwrap_or_else(|| Vec::with_capacity(n_bytes))
}

/// Gives a buffer back, which may be of any origin.
pub(crate) fn give_back(buffer: Vec<u8>) {
    if let Ok(mut kept) = KEPT.try_lock() {
        keep(&mut kept, buffer);
    }
}

/// The latest of those that are kept and fit.
fn lend(kept: &mut VecDeque<Vec<u8>>, n_bytes: usize) -> Option<Vec<u8>> {
    let fitting = n_bytes..=n_bytes.saturating_add(n_bytes / 2).max(SMALL_BYTES);
    let index = kept.iter().rposition(|buffer| fitting.contains(&buffer.capacity()))?;
    kept.swap_remove_back(index)
}

/// Adds a buffer to those that are kept; the oldest ones make room.
fn keep(kept: &mut VecDeque<Vec<u8>>, mut buffer: Vec<u8>) {
    if buffer.capacity() > KEPT_BYTES {
        return;
    }
    buffer.clear();
    kept.push_back(buffer);
    let mut kept_bytes: usize = kept.iter().map(Vec::capacity).sum();
    while kept.len() > MAX_KEPT || kept_bytes > KEPT_BYTES {
        kept_bytes -= kept.pop_front().map_or(kept_bytes, |oldest| oldest.capacity());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_are_lent_are_empty_large_enough_and_not_much_larger() {
        let mut kept = VecDeque::new();
        for n_bytes in [0, 50, 1000, 10_000, 1_000_000, 10_000] {
            let buffer = take(n_bytes);
            assert!(buffer.is_empty() && buffer.capacity() >= n_bytes);
            give_back(buffer);

            let lent = lend(&mut kept, n_bytes).unwrap_or_else(|| Vec::with_capacity(n_bytes));
            assert!(lent.is_empty() && (n_bytes..=(2 * n_bytes).max(SMALL_BYTES)).contains(&lent.capacity()));
            keep(&mut kept, lent);
        }
        // One of each size: the second one of 10,000 is the first.
        assert_eq!(kept.len(), 5);
    }

    #[test]
    fn what_is_kept_is_bounded_in_bytes_and_in_number() {
        let mut kept = VecDeque::new();
        keep(&mut kept, Vec::with_capacity(KEPT_BYTES + 1));
        assert!(kept.is_empty());
        keep(&mut kept, Vec::with_capacity(KEPT_BYTES / 2));
        keep(&mut kept, Vec::with_capacity(KEPT_BYTES / 2 + 1));
        assert_eq!(kept.iter().map(Vec::capacity).collect::<Vec<_>>(), [KEPT_BYTES / 2 + 1]);
        for _ in 0..2 * MAX_KEPT {
            keep(&mut kept, Vec::new());
        }
        assert_eq!(kept.len(), MAX_KEPT);
    }
}
