//! Where the bytes of a vector read go, and which of them are still missing.

use std::ops::Range;

use super::multipart::{Receiver, Wrong};
use super::range::ContentRange;
use crate::extent::joined;
use crate::source::Part;

/// Servers may merge ranges that are near each other, and then send what lies between. More than this besides what was
/// asked for is no merging.
const MAX_EXTRA_BYTES: u64 = 1 << 20;

#[derive(Debug)]
struct Slot<'b> {
    offset: u64,
    buffer: &'b mut [u8],
    n_filled: usize,
}

impl Slot<'_> {
    fn end(&self) -> u64 {
        self.offset + self.buffer.len() as u64
    }

    /// Offset of the first byte that is missing.
    fn next(&self) -> u64 {
        self.offset + self.n_filled as u64
    }
}

/// The buffers of one request: sorted, without overlap, each filled from its start on.
#[derive(Debug)]
pub struct Slots<'b> {
    slots: Vec<Slot<'b>>,
    size_bytes: u64,
    /// Bytes that were sent and not asked for.
    n_extra: u64,
    max_extra: u64,
}

impl<'b> Slots<'b> {
    /// Places to be filled of a file of `size_bytes`. `parts` are sorted by offset, not empty and do not overlap.
    pub fn new(parts: Vec<Part<'b>>, size_bytes: u64) -> Self {
        let n_asked: u64 = parts.iter().map(|part| part.buffer.len() as u64).sum();
        let slots = parts.into_iter().map(|Part { offset, buffer }| Slot { offset, buffer, n_filled: 0 }).collect();
        Slots { slots, size_bytes, n_extra: 0, max_extra: n_asked.saturating_add(MAX_EXTRA_BYTES) }
    }

    /// What is to be asked for: half-open offsets, those that touch as one.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        let missing = self.slots.iter().filter(|slot| slot.n_filled < slot.buffer.len());
        joined(missing.map(|slot| slot.next()..slot.end()))
    }

    /// Forgets what was filled: none of it can be trusted.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.n_filled = 0);
    }

    /// What is not filled.
    pub fn into_missing(self) -> Vec<Part<'b>> {
        let missing = self.slots.into_iter().filter(|slot| slot.n_filled < slot.buffer.len());
        missing.map(|slot| Part { offset: slot.next(), buffer: &mut slot.buffer[slot.n_filled..] }).collect()
    }

    fn first_ending_after(&self, offset: u64) -> usize {
        self.slots.partition_point(|slot| slot.end() <= offset)
    }

    fn extra(&mut self, n_bytes: usize) -> Result<(), Wrong> {
        self.n_extra = self.n_extra.saturating_add(n_bytes as u64);
        if self.n_extra > self.max_extra {
            return Err(Wrong(format!("{} bytes that were not asked for", self.n_extra)));
        }
        Ok(())
    }
}

impl Receiver for Slots<'_> {
    fn part(&mut self, content: &ContentRange) -> Result<(), Wrong> {
        if let Some(total) = content.total_bytes.filter(|total| *total != self.size_bytes) {
            return Err(Wrong(format!("a part of a file of {total} bytes, not of {}", self.size_bytes)));
        }
        let ContentRange { range, .. } = content;
        let is_wanted =
            self.slots.get(self.first_ending_after(range.start)).is_some_and(|slot| slot.offset < range.end);
        if !is_wanted {
            return Err(Wrong(format!("bytes {} to {} were not asked for", range.start, range.end)));
        }
        Ok(())
    }

    fn bytes(&mut self, mut offset: u64, mut bytes: &[u8]) -> Result<(), Wrong> {
        let mut index = self.first_ending_after(offset);
        while !bytes.is_empty() {
            let start = self.slots.get(index).map_or(u64::MAX, |slot| slot.offset);
            if offset < start {
                let n_bytes = usize::try_from(start - offset).unwrap_or(usize::MAX).min(bytes.len());
                self.extra(n_bytes)?;
                offset += n_bytes as u64;
                bytes = &bytes[n_bytes..];
                continue;
            }
            let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
            if offset != slot.next() {
                let what = if offset < slot.next() { "twice" } else { "before those in front of them" };
                return Err(Wrong(format!("bytes from {offset} on come {what}")));
            }
            let n_bytes = bytes.len().min(slot.buffer.len() - slot.n_filled);
            slot.buffer[slot.n_filled..slot.n_filled + n_bytes].copy_from_slice(&bytes[..n_bytes]);
            slot.n_filled += n_bytes;
            offset += n_bytes as u64;
            bytes = &bytes[n_bytes..];
            index += 1;
        }
        Ok(())
    }

    fn space(&mut self, offset: u64) -> Option<&mut [u8]> {
        let index = self.first_ending_after(offset);
        let slot = self.slots.get_mut(index).filter(|slot| slot.next() == offset)?;
        Some(&mut slot.buffer[slot.n_filled..])
    }

    fn filled(&mut self, offset: u64, n_bytes: usize) {
        let index = self.first_ending_after(offset);
        if let Some(slot) = self.slots.get_mut(index) {
            slot.n_filled = (slot.n_filled + n_bytes).min(slot.buffer.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_filled_is_not_asked_for_again() {
        let (mut a, mut b, mut c) = ([0; 10], [0; 10], [0; 5]);
        let parts = vec![
            Part { offset: 0, buffer: &mut a },
            Part { offset: 10, buffer: &mut b },
            Part { offset: 30, buffer: &mut c },
        ];
        let mut slots = Slots::new(parts, 100);
        assert_eq!(slots.ranges(), [0..20, 30..35]);
        slots.bytes(0, &[1; 13]).unwrap();
        assert_eq!(slots.ranges(), [13..20, 30..35]);
        slots.space(13).unwrap()[..2].copy_from_slice(&[2, 2]);
        slots.filled(13, 2);
        assert!(slots.space(20).is_none() && slots.space(16).is_none());
        let missing: Vec<_> = slots.into_missing().iter().map(|part| (part.offset, part.buffer.len())).collect();
        assert_eq!(missing, [(15, 5), (30, 5)]);
        assert_eq!((a, b), ([1; 10], [1, 1, 1, 2, 2, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn a_flood_of_what_was_not_asked_for_is_refused() {
        let mut a = [0; 10];
        let mut slots = Slots::new(vec![Part { offset: 1 << 30, buffer: &mut a }], 1 << 31);
        let zeros = vec![0; 1 << 20];
        slots.bytes(0, &zeros).unwrap();
        assert!(slots.bytes(1 << 20, &zeros).unwrap_err().0.contains("not asked for"));
    }
}
