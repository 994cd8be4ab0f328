//! Numbers of the machine into the elements of pages, at memory speed: the opposite of [`kernels`](super::kernels).
//!
//! `out`: an uncompressed page of `n` elements. The elements that are given go to those from `at` on, so a page may be
//! filled from several arrays. Those that do not fit are left away. Plain numbers and bits are copied by
//! [`copy_plain`](super::kernels::copy_plain) and [`copy_bits`](super::kernels::copy_bits), which work both ways. The
//! properties in `tests` compare each kernel with its opposite.

use crate::decode::kernels::dispatched;

/// Elements that one step of a vector loop takes.
const STEP: usize = 32;
/// Ends of lists that are prepared at a time.
const BLOCK: usize = 256;

/// The places of elements in the planes of a split page: all first bytes, all second bytes, and so on.
#[inline(always)]
fn planes<const N: usize>(out: &mut [u8], n: usize, at: usize) -> [&mut [u8]; N] {
    let mut planes = out.chunks_exact_mut(n.max(1));
    std::array::from_fn(|_| planes.next().and_then(|plane| plane.get_mut(at..)).unwrap_or_default())
}

/// Splits elements of `N` bytes; `turn` makes of a number of the machine the words of an element, the lowest first.
///
/// Bytes are cut out of words: of bytes that are picked from memory rustc 1.95 makes no vector code.
#[inline(always)]
fn split_into<const N: usize, const WORDS: usize>(
    values: &[[u8; N]],
    planes: &mut [&mut [u8]; N],
    turn: impl Fn([u8; N]) -> [u32; WORDS],
) {
    let byte_of = |word: u32, plane: usize| (word >> (plane % 4 * 8)).to_le_bytes()[0];
    let room = planes.iter().map(|plane| plane.len()).min().unwrap_or(0);
    let values = &values[..values.len().min(room)];
    let (steps, rest) = values.as_chunks::<STEP>();
    for (number, step) in steps.iter().enumerate() {
        // Arrays of known size: the compiler makes them registers.
        let mut words = [[0; STEP]; WORDS];
        for (index, value) in step.iter().enumerate() {
            for (column, word) in words.iter_mut().zip(turn(*value)) {
                column[index] = word;
            }
        }
        for (plane, places) in planes.iter_mut().enumerate() {
            let mut part = [0; STEP];
            for (byte, word) in part.iter_mut().zip(&words[plane / 4]) {
                *byte = byte_of(*word, plane);
            }
            places[number * STEP..][..STEP].copy_from_slice(&part);
        }
    }
    let done = steps.len() * STEP;
    for (index, value) in (done..).zip(rest) {
        let words = turn(*value);
        for (plane, places) in planes.iter_mut().enumerate() {
            places[index] = byte_of(words[plane / 4], plane);
        }
    }
}

/// The halves of an element of 8 bytes, the lower one first.
#[inline(always)]
fn halves(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
    [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]
}

dispatched! {
    /// Splits the bytes of numbers of `width` bytes (2, 4 or 8).
    pub fn split(values: &[u8], width: usize, out: &mut [u8], n: usize, at: usize) {
        match width {
            2 => split_into(values.as_chunks::<2>().0, &mut planes(out, n, at), |bytes| [u16::from_ne_bytes(bytes).into()]),
            4 => split_into(values.as_chunks::<4>().0, &mut planes(out, n, at), |bytes| [u32::from_ne_bytes(bytes)]),
            _ => split_into(values.as_chunks::<8>().0, &mut planes(out, n, at), |bytes| halves(u64::from_ne_bytes(bytes))),
        }
    }
}

dispatched! {
    /// Moves the sign of signed integers of `width` bytes (2, 4 or 8) to the lowest bit, and splits them.
    pub fn split_zigzag(values: &[u8], width: usize, out: &mut [u8], n: usize, at: usize) {
        match width {
            2 => split_into(values.as_chunks::<2>().0, &mut planes(out, n, at), |bytes| {
                let value = i16::from_ne_bytes(bytes);
                [((value << 1) ^ (value >> 15)).cast_unsigned().into()]
            }),
            4 => split_into(values.as_chunks::<4>().0, &mut planes(out, n, at), |bytes| {
                let value = i32::from_ne_bytes(bytes);
                [((value << 1) ^ (value >> 31)).cast_unsigned()]
            }),
            _ => split_into(values.as_chunks::<8>().0, &mut planes(out, n, at), |bytes| {
                let value = i64::from_ne_bytes(bytes);
                halves(((value << 1) ^ (value >> 63)).cast_unsigned())
            }),
        }
    }
}

dispatched! {
    /// The ends of lists, in words of 8 bytes.
    ///
    /// `offsets`: one more than there are lists. `shift`: what makes them places in the cluster.
    pub fn ends(offsets: &[i64], shift: i64, out: &mut [u8], at: usize) {
        let places = out.as_chunks_mut::<8>().0.get_mut(at..).unwrap_or_default();
        for (place, end) in places.iter_mut().zip(offsets.iter().skip(1)) {
            *place = end.wrapping_add(shift).to_le_bytes();
        }
    }
}

dispatched! {
    /// The differences of the ends of lists, split, in words of 8 bytes; the first element of a page is the end itself.
    pub fn split_ends(offsets: &[i64], shift: i64, out: &mut [u8], n: usize, at: usize) {
        let mut block = [[0; 8]; BLOCK];
        let mut done = 0;
        while done + 1 < offsets.len() {
            let n_now = (offsets.len() - 1 - done).min(BLOCK);
            let starts_and_ends = &offsets[done..=done + n_now];
            for (word, (start, end)) in block.iter_mut().zip(starts_and_ends.iter().zip(&starts_and_ends[1..])) {
                *word = end.wrapping_sub(*start).to_ne_bytes();
            }
            if at + done == 0 {
                block[0] = starts_and_ends[1].wrapping_add(shift).to_ne_bytes();
            }
            split_into(&block[..n_now], &mut planes(out, n, at + done), |bytes| halves(u64::from_ne_bytes(bytes)));
            done += n_now;
        }
    }
}

#[cfg(test)]
mod tests;
