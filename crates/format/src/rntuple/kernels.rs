//! Elements of pages into numbers of the machine, at memory speed.
//!
//! `page`: an uncompressed page, `n` its number of elements, `range` those that are wanted. The properties in `tests`
//! compare each kernel with a loop over single values.

use std::ops::Range;

use crate::decode::kernels::dispatched;

/// Elements that one step of a vector loop takes.
const STEP: usize = 32;

/// The planes of a split page: all first bytes, all second bytes, and so on; empty if the page is too short.
#[inline(always)]
fn planes<'p, const N: usize>(page: &'p [u8], n: usize, range: &Range<usize>) -> [&'p [u8]; N] {
    std::array::from_fn(|plane| {
        let start = plane.wrapping_mul(n);
        page.get(start.wrapping_add(range.start)..start.wrapping_add(range.end)).unwrap_or_default()
    })
}

/// Joins planes; `turn` changes the little-endian bytes of an element into those of a number of the machine.
#[inline(always)]
fn join<const N: usize>(planes: [&[u8]; N], out: &mut [u8], turn: impl Fn([u8; N]) -> [u8; N]) {
    let n = planes.iter().map(|plane| plane.len()).min().unwrap_or(0).min(out.len() / N);
    let out = &mut out[..n * N];
    let mut done = 0;
    let mut steps = out.chunks_exact_mut(STEP * N);
    for step in steps.by_ref() {
        // Arrays of known size: the compiler makes them registers.
        let parts: [[u8; STEP]; N] = std::array::from_fn(|plane| {
            let mut part = [0; STEP];
            part.copy_from_slice(&planes[plane][done..done + STEP]);
            part
        });
        for (index, element) in step.as_chunks_mut::<N>().0.iter_mut().enumerate() {
            *element = turn(std::array::from_fn(|plane| parts[plane][index]));
        }
        done += STEP;
    }
    for (index, element) in steps.into_remainder().as_chunks_mut::<N>().0.iter_mut().enumerate() {
        *element = turn(std::array::from_fn(|plane| planes[plane][done + index]));
    }
}

/// Elements of 8 bytes that are joined by halves at a time.
const BLOCK: usize = 256;

/// The same for elements of 8 bytes, by halves: rustc 1.95 makes twice as many instructions of eight planes at a time.
#[inline(always)]
fn join_halves(planes: [&[u8]; 8], out: &mut [u8], turn: impl Fn(u64) -> u64) {
    let n = planes.iter().map(|plane| plane.len()).min().unwrap_or(0).min(out.len() / 8);
    let out = &mut out[..n * 8];
    let [a, b, c, d, e, f, g, h] = planes;
    let (mut low, mut high) = ([0_u8; 4 * BLOCK], [0_u8; 4 * BLOCK]);
    let mut done = 0;
    let mut blocks = out.chunks_exact_mut(8 * BLOCK);
    for block in blocks.by_ref() {
        let now = done..done + BLOCK;
        join::<4>([a, b, c, d].map(|plane| &plane[now.clone()]), &mut low, |bytes| bytes);
        join::<4>([e, f, g, h].map(|plane| &plane[now.clone()]), &mut high, |bytes| bytes);
        let halves = low.as_chunks::<4>().0.iter().zip(high.as_chunks::<4>().0);
        for (element, (low, high)) in block.as_chunks_mut::<8>().0.iter_mut().zip(halves) {
            let word = u64::from(u32::from_le_bytes(*low)) | u64::from(u32::from_le_bytes(*high)) << 32;
            *element = turn(word).to_ne_bytes();
        }
        done += BLOCK;
    }
    let rest = planes.map(|plane| &plane[done..]);
    join::<8>(rest, blocks.into_remainder(), |bytes| turn(u64::from_le_bytes(bytes)).to_ne_bytes());
}

dispatched! {
    /// Copies plain numbers of `width` bytes.
    pub fn copy_plain(page: &[u8], range: &Range<usize>, width: usize, out: &mut [u8]) {
        let stored = page.get(range.start.wrapping_mul(width)..range.end.wrapping_mul(width)).unwrap_or_default();
        let n_bytes = stored.len().min(out.len());
        let (stored, out) = (&stored[..n_bytes], &mut out[..n_bytes]);
        out.copy_from_slice(stored);
        if cfg!(target_endian = "big") && width > 1 {
            out.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
    }
}

dispatched! {
    /// Joins the bytes of split numbers of `width` bytes (2, 4 or 8).
    pub fn unsplit(page: &[u8], n: usize, range: &Range<usize>, width: usize, out: &mut [u8]) {
        match width {
            2 => join::<2>(planes(page, n, range), out, |bytes| u16::from_le_bytes(bytes).to_ne_bytes()),
            4 => join::<4>(planes(page, n, range), out, |bytes| u32::from_le_bytes(bytes).to_ne_bytes()),
            _ => join_halves(planes(page, n, range), out, |word| word),
        }
    }
}

dispatched! {
    /// Joins the bytes of split signed integers of `width` bytes (2, 4 or 8) and moves their sign back.
    pub fn unsplit_zigzag(page: &[u8], n: usize, range: &Range<usize>, width: usize, out: &mut [u8]) {
        match width {
            2 => join::<2>(planes(page, n, range), out, |bytes| {
                let word = u16::from_le_bytes(bytes);
                ((word >> 1) ^ (word & 1).wrapping_neg()).to_ne_bytes()
            }),
            4 => join::<4>(planes(page, n, range), out, |bytes| {
                let word = u32::from_le_bytes(bytes);
                ((word >> 1) ^ (word & 1).wrapping_neg()).to_ne_bytes()
            }),
            _ => join_halves(planes(page, n, range), out, |word| (word >> 1) ^ (word & 1).wrapping_neg()),
        }
    }
}

dispatched! {
    /// The ends of lists in a page: all of them, as counted in the cluster.
    ///
    /// `words`: joined elements of `width` bytes. With `is_delta` each but the first is a difference.
    pub fn index_values(words: &[u8], width: usize, is_delta: bool, out: &mut Vec<u64>) {
        out.clear();
        if width == 4 {
            out.extend(words.as_chunks::<4>().0.iter().map(|word| u64::from(u32::from_ne_bytes(*word))));
        } else {
            out.extend(words.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)));
        }
        if is_delta {
            let mut sum = 0_u64;
            for value in out.iter_mut() {
                sum = sum.wrapping_add(*value);
                *value = sum;
            }
        }
    }
}

dispatched! {
    /// Turns ends of lists into the offsets of an Arrow array: `shift` is added to each.
    ///
    /// Returns whether they never run backwards and lie between `low` and `high`, and in an `i32` when shifted.
    pub fn shifted_ends(values: &[u64], low: u64, high: u64, shift: i64, out: &mut [u8]) -> bool {
        let mut before = low;
        let mut right = values.len() == out.len() / 4;
        for (value, place) in values.iter().zip(out.as_chunks_mut::<4>().0) {
            right &= *value >= before;
            before = *value;
            let bytes = value.wrapping_add_signed(shift).to_le_bytes();
            *place = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).to_ne_bytes();
        }
        // The largest is the last, if they are in order.
        let fits = |value: u64| i32::try_from(i128::from(value) + i128::from(shift)).is_ok_and(|end| end >= 0);
        right && before <= high && (values.is_empty() || (fits(low) && fits(before)))
    }
}

dispatched! {
    /// The first end in a page of split differences, and the plane of all others if each of them fits into a byte.
    pub fn narrow_ends(page: &[u8], n: usize, width: usize) -> Option<(u64, &[u8])> {
        let mut planes = page.chunks_exact(n.max(1)).take(width);
        let low = planes.next()?;
        let (first, differences) = low.split_first()?;
        let mut end = u64::from(*first);
        for shift in (8..).step_by(8).take(width - 1) {
            let (first, rest) = planes.next()?.split_first()?;
            end |= u64::from(*first) << shift;
            // In parts, each without a branch for a byte.
            if rest.chunks(1024).any(|part| part.iter().fold(0, |all, byte| all | byte) != 0) {
                return None;
            }
        }
        Some((end, differences))
    }
}

/// Eight differences of which no sum passes a byte have no bit of these.
const LARGE_DIFFERENCES: u64 = 0xE0E0_E0E0_E0E0_E0E0;

dispatched! {
    /// The offsets of an Arrow array from the first end and the differences to those that follow it: as [`shifted_ends`].
    pub fn shifted_narrow_ends(first: u64, differences: &[u8], low: u64, high: u64, shift: i64, out: &mut [u8]) -> bool {
        let fits = |value: u64| {
            let shifted = i128::from(value) + i128::from(shift);
            i32::try_from(shifted).ok().filter(|end| *end >= 0)
        };
        let (Some(start), Some(_)) = (fits(first), fits(low)) else { return false };
        let Some((place, places)) = out.as_chunks_mut::<4>().0.split_first_mut() else { return false };
        if first < low || places.len() != differences.len() {
            return false;
        }
        *place = start.to_ne_bytes();
        let (blocks, rest) = differences.as_chunks::<8>();
        let (block_places, rest_places) = places.split_at_mut(blocks.len() * 8);
        let (mut end, mut sum) = (start, 0);
        for (block, places) in blocks.iter().zip(block_places.as_chunks_mut::<8>().0) {
            let word = u64::from_le_bytes(*block);
            if word & LARGE_DIFFERENCES == 0 {
                // Each byte of the product is the sum of those up to it.
                let sums = word.wrapping_mul(0x0101_0101_0101_0101).to_le_bytes();
                *places = sums.map(|sum| end.wrapping_add(i32::from(sum)).to_ne_bytes());
                end = end.wrapping_add(i32::from(sums[7]));
                sum += u64::from(sums[7]);
            } else {
                for (place, difference) in places.iter_mut().zip(block) {
                    end = end.wrapping_add(i32::from(*difference));
                    *place = end.to_ne_bytes();
                    sum += u64::from(*difference);
                }
            }
        }
        for (place, difference) in rest_places.iter_mut().zip(rest) {
            end = end.wrapping_add(i32::from(*difference));
            *place = end.to_ne_bytes();
            sum += u64::from(*difference);
        }
        // They only grow: if the last fits, so did all.
        first.checked_add(sum).is_some_and(|last| last <= high && fits(last).is_some())
    }
}

/// Copies bits `range` of a page to the bits from `to` on, lowest first. The other bits of `out` stay as they are.
pub fn copy_bits(page: &[u8], range: &Range<usize>, out: &mut [u8], to: usize) {
    let mut from = range.start;
    let mut to = to;
    let end = range.end.min(page.len().saturating_mul(8)).min(from.saturating_add((out.len() * 8).saturating_sub(to)));
    // Up to a whole byte of the target, then byte by byte, then the rest.
    while from < end && !to.is_multiple_of(8) {
        copy_bit(page, from, out, to);
        (from, to) = (from + 1, to + 1);
    }
    if from < end {
        let shift = from % 8;
        let n_whole = (end - from) / 8;
        let stored = &page[from / 8..];
        let target = &mut out[to / 8..to / 8 + n_whole];
        if shift == 0 {
            target.copy_from_slice(&stored[..n_whole]);
        } else {
            for (byte, pair) in target.iter_mut().zip(stored.windows(2)) {
                *byte = (pair[0] >> shift) | (pair[1] << (8 - shift));
            }
        }
        (from, to) = (from + n_whole * 8, to + n_whole * 8);
    }
    while from < end {
        copy_bit(page, from, out, to);
        (from, to) = (from + 1, to + 1);
    }
}

fn copy_bit(page: &[u8], from: usize, out: &mut [u8], to: usize) {
    let bit = page[from / 8] >> (from % 8) & 1;
    let place = &mut out[to / 8];
    *place = *place & !(1 << (to % 8)) | bit << (to % 8);
}

/// Half precision as single precision; every value has one.
pub fn half_to_single(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let exponent = u32::from(half >> 10 & 0x1F);
    let fraction = u32::from(half & 0x3FF);
    let bits = match (exponent, fraction) {
        (0, 0) => 0,
        // Subnormal: the fraction moves up until its leading bit is the one that is not stored.
        (0, _) => {
            let shift = fraction.leading_zeros() - 21;
            ((113 - shift) << 23) | ((fraction << shift & 0x3FF) << 13)
        }
        (0x1F, _) => 0x7F80_0000 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | bits)
}

/// Elements of half precision, split or not.
pub fn halves(page: &[u8], n: usize, range: &Range<usize>, is_split: bool, out: &mut [u8]) {
    let places = out.as_chunks_mut::<4>().0.iter_mut();
    for (place, element) in places.zip(range.clone()) {
        let at = |index: usize| page.get(index).copied().unwrap_or(0);
        let bytes = if is_split { [at(element), at(n + element)] } else { [at(element * 2), at(element * 2 + 1)] };
        *place = half_to_single(u16::from_le_bytes(bytes)).to_ne_bytes();
    }
}

/// Elements of `bits` bits, packed lowest first, each given to `turn`.
#[inline(always)]
fn unpack<const N: usize>(page: &[u8], range: &Range<usize>, bits: u8, out: &mut [u8], turn: impl Fn(u32) -> [u8; N]) {
    let bits = usize::from(bits);
    let mask = if bits >= 32 { u64::from(u32::MAX) } else { (1 << bits) - 1 };
    for (place, element) in out.as_chunks_mut::<N>().0.iter_mut().zip(range.clone()) {
        let from = element.wrapping_mul(bits);
        // An element of at most 32 bits lies in five bytes.
        let rest = page.get(from / 8..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => rest.iter().take(8).rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        #[expect(clippy::cast_possible_truncation, reason = "masked to 32 bits")]
        let element = (word >> (from % 8) & mask) as u32;
        *place = turn(element);
    }
}

/// Elements of single precision of which the highest `bits` bits are stored.
pub fn truncated(page: &[u8], range: &Range<usize>, bits: u8, out: &mut [u8]) {
    let shift = 32 - u32::from(bits.clamp(1, 32));
    unpack(page, range, bits, out, |word| f32::from_bits(word << shift).to_ne_bytes());
}

/// Elements that are steps between `min` and `max`, as single precision.
///
/// Source: `Internal::Quantize::UnquantizeReals` (ROOT 6.40): in double precision, then rounded to the type of the field.
pub fn quantized(page: &[u8], range: &Range<usize>, bits: u8, (min, max): (f64, f64), out: &mut [u8]) {
    let (scale, min) = quantum(bits, min, max);
    #[expect(clippy::cast_possible_truncation, reason = "the field is of single precision")]
    unpack(page, range, bits, out, |word| ((f64::from(word) * scale + min) as f32).to_ne_bytes());
}

/// The same for a field of double precision.
pub fn quantized_doubles(page: &[u8], range: &Range<usize>, bits: u8, (min, max): (f64, f64), out: &mut [u8]) {
    let (scale, min) = quantum(bits, min, max);
    unpack(page, range, bits, out, |word| (f64::from(word) * scale + min).to_ne_bytes());
}

fn quantum(bits: u8, min: f64, max: f64) -> (f64, f64) {
    let highest = (1_u64 << bits.min(32)) - 1;
    #[expect(clippy::cast_precision_loss, reason = "at most 32 bits")]
    let scale = (max - min) / highest as f64;
    (scale, min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Splits numbers as the specification says.
    fn split(numbers: &[Vec<u8>], width: usize) -> Vec<u8> {
        (0..width).flat_map(|plane| numbers.iter().map(move |number| number[plane])).collect()
    }

    proptest! {
        #[test]
        fn split_numbers_are_joined(values in prop::collection::vec(any::<u64>(), 0..700), power in 1_u32..4, cut in any::<(prop::sample::Index, prop::sample::Index)>()) {
            let width = 1_usize << power;
            let numbers: Vec<Vec<u8>> = values.iter().map(|value| value.to_le_bytes()[..width].to_vec()).collect();
            let (a, b) = (cut.0.index(values.len() + 1), cut.1.index(values.len() + 1));
            let range = a.min(b)..a.max(b);
            let mut out = vec![0; range.len() * width];
            unsplit(&split(&numbers, width), numbers.len(), &range, width, &mut out);
            prop_assert_eq!(&out, &numbers[range.clone()].concat());
            copy_plain(&numbers.concat(), &range, width, &mut out);
            prop_assert_eq!(&out, &numbers[range].concat());
        }

        #[test]
        fn zigzag_gives_signed_numbers_back(values in prop::collection::vec(any::<i64>(), 0..700), power in 1_u32..4) {
            let width = 1_usize << power;
            let bits = u32::try_from(width * 8).unwrap();
            let cut: Vec<i64> = values.iter().map(|value| value << (64 - bits) >> (64 - bits)).collect();
            let stored: Vec<Vec<u8>> =
                cut.iter().map(|value| ((value << 1) ^ (value >> 63)).to_le_bytes()[..width].to_vec()).collect();
            let mut out = vec![0; cut.len() * width];
            unsplit_zigzag(&split(&stored, width), cut.len(), &(0..cut.len()), width, &mut out);
            let expected: Vec<u8> = cut.iter().flat_map(|value| value.to_le_bytes()[..width].to_vec()).collect();
            prop_assert_eq!(out, expected);
        }

        #[test]
        fn bits_are_copied_one_by_one_or_by_bytes(page in prop::collection::vec(any::<u8>(), 1..40), before in any::<u8>(), to in 0_usize..20, cut in any::<(prop::sample::Index, prop::sample::Index)>()) {
            let (a, b) = (cut.0.index(page.len() * 8 + 1), cut.1.index(page.len() * 8 + 1));
            let range = a.min(b)..a.max(b);
            let mut out = vec![before; (to + range.len()).div_ceil(8) + 1];
            let mut naive = out.clone();
            for (index, bit) in range.clone().enumerate() {
                copy_bit(&page, bit, &mut naive, to + index);
            }
            copy_bits(&page, &range, &mut out, to);
            prop_assert_eq!(out, naive);
        }

        #[test]
        fn ends_are_shifted_or_refused(steps in prop::collection::vec(0_u64..50, 1..80), wrong in any::<prop::sample::Index>()) {
            let values: Vec<u64> = steps.iter().scan(100, |sum, step| { *sum += step; Some(*sum) }).collect();
            let last = *values.last().unwrap();
            let mut out = vec![0; values.len() * 4];
            prop_assert!(shifted_ends(&values, 100, last, -100, &mut out));
            let expected: Vec<u8> =
                values.iter().flat_map(|value| i32::try_from(value - 100).unwrap().to_ne_bytes()).collect();
            prop_assert_eq!(&out, &expected);
            prop_assert!(!shifted_ends(&values, 100, last - 1, -100, &mut out));
            prop_assert!(!shifted_ends(&values, values[0] + 1, last, -100, &mut out));
            prop_assert!(!shifted_ends(&values, 100, last, i64::MAX - 1000, &mut out));
            let mut backwards = values;
            let index = wrong.index(backwards.len());
            backwards[index] = 99;
            prop_assert!(!shifted_ends(&backwards, 100, last, -100, &mut out));
        }

        #[test]
        fn ends_with_narrow_steps_are_those_of_all(
            first in 0_u64..1 << 33, steps in prop::collection::vec(prop_oneof![0_u8..2, any::<u8>()], 0..200), width in prop_oneof![Just(4_usize), Just(8)],
            low in 0_u64..300, high in 0_u64..300, shift in -300_i64..300, wide in any::<prop::sample::Index>()
        ) {
            let first = if width == 4 { first & 0xFFFF_FFFF } else { first };
            let mut words: Vec<u64> = std::iter::once(first).chain(steps.iter().map(|&step| u64::from(step))).collect();
            let page = |words: &[u64]| split(&words.iter().map(|word| word.to_le_bytes()[..width].to_vec()).collect::<Vec<_>>(), width);
            let plain = page(&words);
            let (found, differences) = narrow_ends(&plain, words.len(), width).unwrap();
            prop_assert_eq!((found, differences), (first, &steps[..]));
            let values: Vec<u64> = words.iter().scan(0, |sum, word| { *sum += word; Some(*sum) }).collect();
            let (low, high) = ((first + 30).saturating_sub(low), values.last().unwrap() + high - 30);
            let shift = shift - i64::try_from(first).unwrap();
            let (mut all, mut narrow) = (vec![0; values.len() * 4], vec![0; values.len() * 4]);
            let is_right = shifted_ends(&values, low, high, shift, &mut all);
            prop_assert_eq!(shifted_narrow_ends(first, differences, low, high, shift, &mut narrow), is_right);
            if is_right {
                prop_assert_eq!(all, narrow);
            }
            if words.len() > 1 {
                words[1 + wide.index(steps.len())] = 256;
                prop_assert!(narrow_ends(&page(&words), words.len(), width).is_none());
            }
        }

        #[test]
        fn packed_elements_are_where_their_bits_are(words in prop::collection::vec(any::<u32>(), 0..60), bits in 1_u8..33) {
            let mut packed = vec![0_u8; (words.len() * usize::from(bits)).div_ceil(8)];
            let cut: Vec<u32> = words.iter().map(|word| if bits == 32 { *word } else { word & ((1 << bits) - 1) }).collect();
            for (element, word) in cut.iter().enumerate() {
                for bit in 0..usize::from(bits) {
                    let place = element * usize::from(bits) + bit;
                    packed[place / 8] |= u8::try_from(word >> bit & 1).unwrap() << (place % 8);
                }
            }
            let mut out = vec![0; cut.len() * 4];
            truncated(&packed, &(0..cut.len()), bits, &mut out);
            let found: Vec<u32> = out.as_chunks::<4>().0.iter().map(|bytes| u32::from_ne_bytes(*bytes)).collect();
            let expected: Vec<u32> = cut.iter().map(|word| word << (32 - bits)).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn wild_ranges_do_no_harm(page in prop::collection::vec(any::<u8>(), 0..60), n in 0_usize..100, a in 0_usize..100, b in 0_usize..100, bits in any::<u8>()) {
            let range = a.min(b)..a.max(b);
            let mut out = vec![0; 64];
            for width in [1, 2, 4, 8] {
                narrow_ends(&page, n, width);
                copy_plain(&page, &range, width, &mut out);
                unsplit(&page, n, &range, width, &mut out);
                unsplit_zigzag(&page, n, &range, width, &mut out);
            }
            halves(&page, n, &range, true, &mut out);
            truncated(&page, &range, bits, &mut out);
            quantized(&page, &range, bits, (0.0, 1.0), &mut out);
            quantized_doubles(&page, &range, bits, (0.0, 1.0), &mut out);
        }
    }

    #[test]
    fn halves_become_singles() {
        let cases = [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x03FF, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x7C00, f32::INFINITY),
            (0xFC00, f32::NEG_INFINITY),
        ];
        for (half, single) in cases {
            assert_eq!(half_to_single(half).to_bits(), f32::to_bits(single), "{half:#06x}");
        }
        assert!(half_to_single(0x7E00).is_nan());
    }

    #[test]
    fn steps_lie_between_the_ends_of_their_range() {
        let mut out = vec![0; 8];
        quantized(&[0xF0], &(0..2), 4, (-1.0, 2.0), &mut out);
        assert_eq!(out, [(-1.0_f32).to_ne_bytes(), 2.0_f32.to_ne_bytes()].concat());
        let mut out = vec![0; 8];
        quantized_doubles(&[0x01], &(0..1), 4, (0.0, 1.0), &mut out);
        assert_eq!(out, (1.0_f64 / 15.0).to_ne_bytes(), "not rounded to single precision");
    }
}
