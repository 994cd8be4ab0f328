//! Numbers of reduced precision into the elements of pages: the opposite of `truncated` and `quantized` in
//! [`kernels`](super::kernels).
//!
//! `values` are numbers of the machine, of 4 bytes or of 8. `out` is an uncompressed page whose bits from element `at` on are 0.

/// The highest `bits` bits of each number as single precision; what follows is cut off. A NaN stays one, and so does what is
/// infinite. `Err`: the first that is not, and is larger than any of single precision; then the page is of no use.
///
/// Source: `Real32Trunc` in `RColumnElement.hxx` (ROOT 6.40), which makes that infinite.
///
/// # Errors
/// The value, as above.
#[expect(clippy::cast_possible_truncation, reason = "the column is of single precision")]
pub fn truncated(values: &[u8], width: usize, bits: u8, out: &mut [u8], at: usize) -> Result<(), f64> {
    let cut = |value: f32| {
        let word = if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() };
        word >> (32 - u32::from(bits.clamp(1, 32)))
    };
    let mut outside = None;
    let mut single = |value: f64| {
        let single = value as f32;
        if single.is_infinite() && value.is_finite() {
            outside.get_or_insert(value);
        }
        single
    };
    match width {
        4 => pack(values.as_chunks::<4>().0.iter().map(|bytes| cut(f32::from_ne_bytes(*bytes))), bits, out, at),
        _ => pack(values.as_chunks::<8>().0.iter().map(|bytes| cut(single(f64::from_ne_bytes(*bytes)))), bits, out, at),
    }
    outside.map_or(Ok(()), Err)
}

/// Each number as the nearest step between `min` and `max`. `Err`: the first that is outside, or no number; then the page is of no
/// use. The ends themselves are inside as reading gives them, too, which rounds them.
///
/// Source: `Internal::Quantize::QuantizeReals` (ROOT 6.40).
///
/// # Errors
/// The value, as above.
pub fn quantized(
    values: &[u8],
    width: usize,
    bits: u8,
    (min, max): (f64, f64),
    out: &mut [u8],
    at: usize,
) -> Result<(), f64> {
    let highest = ((1_u64 << bits.min(32)) - 1) as f64;
    let scale = highest / (max - min);
    let last = highest * ((max - min) / highest) + min;
    // Beyond the largest single number they are infinite, and nothing that was read.
    let ends = [last, single(min), single(max), single(last)].map(|end| if end.is_finite() { end } else { max });
    let mut outside = None;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 2^32 - 1 for what is in the range"
    )]
    let mut step = |value: f64| {
        if !((min <= value && value <= max) || ends.contains(&value)) {
            outside.get_or_insert(value);
        }
        (0.5 + (value - min) * scale).min(highest) as u32
    };
    match width {
        4 => pack(values.as_chunks::<4>().0.iter().map(|bytes| step(f32::from_ne_bytes(*bytes).into())), bits, out, at),
        _ => pack(values.as_chunks::<8>().0.iter().map(|bytes| step(f64::from_ne_bytes(*bytes))), bits, out, at),
    }
    outside.map_or(Ok(()), Err)
}

#[expect(clippy::cast_possible_truncation, reason = "the nearest number of single precision")]
fn single(value: f64) -> f64 {
    f64::from(value as f32)
}

/// Packs the lowest `bits` bits of words, lowest first. Those that do not fit are left away.
#[inline(always)]
fn pack(words: impl Iterator<Item = u32>, bits: u8, out: &mut [u8], at: usize) {
    let n_bits = usize::from(bits);
    let mask = if n_bits >= 32 { u32::MAX } else { (1 << n_bits) - 1 };
    let (mut index, mut n_held) = (at * n_bits / 8, at * n_bits % 8);
    let mut held = if n_held > 0 { out.get(index).copied().unwrap_or_default().into() } else { 0_u64 };
    for word in words {
        held |= u64::from(word & mask) << n_held;
        n_held += n_bits;
        if n_held >= 32 {
            let [a, b, c, d, ..] = held.to_le_bytes();
            for (to, byte) in out.iter_mut().skip(index).zip([a, b, c, d]) {
                *to = byte;
            }
            (index, held, n_held) = (index + 4, held >> 32, n_held - 32);
        }
    }
    for (to, byte) in out.iter_mut().skip(index).zip(held.to_le_bytes()).take(n_held.div_ceil(8)) {
        *to = byte;
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "the nearest float is meant")]
mod tests {
    use proptest::prelude::*;

    use super::super::kernels;
    use super::*;

    proptest! {
        #[test]
        fn truncated_numbers_come_back_without_their_last_bits(
            values in prop::collection::vec(any::<f32>(), 0..200), bits in 10_u8..32, parts in 1_usize..5,
        ) {
            let mut page = vec![0; (values.len() * usize::from(bits)).div_ceil(8)];
            let mut at = 0;
            for part in values.chunks(values.len().div_ceil(parts).max(1)) {
                let bytes: Vec<u8> = part.iter().flat_map(|value| value.to_ne_bytes()).collect();
                truncated(&bytes, 4, bits, &mut page, at).unwrap();
                at += part.len();
            }
            let mut out = vec![0; values.len() * 4];
            kernels::truncated(&page, &(0..values.len()), bits, &mut out);
            for (value, bytes) in values.iter().zip(out.as_chunks::<4>().0) {
                let found = f32::from_ne_bytes(*bytes);
                let cut = value.to_bits() >> (32 - bits) << (32 - bits);
                let is_right = if value.is_nan() { found.is_nan() } else { found.to_bits() == cut };
                prop_assert!(is_right, "{} of {} bits is {}", value, bits, found);
            }
        }

        #[test]
        fn quantized_numbers_come_back_within_half_a_step(
            values in prop::collection::vec(-1.5_f64..2.5, 0..200), bits in 1_u8..33, is_wide in any::<bool>(),
        ) {
            let narrow: Vec<f64> = values.iter().map(|&value| if is_wide { value } else { f64::from(value as f32) }).collect();
            let bytes: Vec<u8> = narrow
                .iter()
                .flat_map(|value| if is_wide { value.to_ne_bytes().to_vec() } else { (*value as f32).to_ne_bytes().to_vec() })
                .collect();
            let mut page = vec![0; (values.len() * usize::from(bits)).div_ceil(8)];
            quantized(&bytes, if is_wide { 8 } else { 4 }, bits, (-1.5, 2.5), &mut page, 0).unwrap();
            let mut out = vec![0; values.len() * 8];
            kernels::quantized_doubles(&page, &(0..values.len()), bits, (-1.5, 2.5), &mut out);
            let step = 4.0 / ((1_u64 << bits) - 1) as f64;
            for (value, bytes) in narrow.iter().zip(out.as_chunks::<8>().0) {
                prop_assert!((f64::from_ne_bytes(*bytes) - value).abs() <= step * 0.500_001);
            }
        }
    }

    proptest! {
        #[test]
        fn quantized_numbers_that_were_read_are_the_same_steps_again(
            steps in prop::collection::vec(any::<u32>(), 0..50), bits in 1_u8..=32, ends in any::<(f32, f32)>(), is_wide: bool,
        ) {
            let (min, max) = (f64::from(ends.0) / 3.0, f64::from(ends.1) / 3.0);
            prop_assume!(min < max && (max - min).is_finite() && max.abs().max(min.abs()) < 1e38);
            let steps: Vec<u32> = [0, u32::MAX].into_iter().chain(steps).collect();
            let mut page = vec![0; (steps.len() * usize::from(bits)).div_ceil(8)];
            pack(steps.iter().copied(), bits, &mut page, 0);
            let read = |page: &[u8]| {
                let (range, width) = (0..steps.len(), if is_wide { 8 } else { 4 });
                let mut out = vec![0; steps.len() * width];
                let kernel = if is_wide { kernels::quantized_doubles } else { kernels::quantized };
                kernel(page, &range, bits, (min, max), &mut out);
                out
            };
            let values = read(&page);
            let mut again = vec![0; page.len()];
            prop_assert_eq!(quantized(&values, if is_wide { 8 } else { 4 }, bits, (min, max), &mut again, 0), Ok(()));
            prop_assert_eq!(read(&again), values);
        }
    }

    #[test]
    fn a_value_outside_of_the_range_is_told() {
        let mut page = [0; 8];
        let pack = |values: &[f64], page: &mut [u8]| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
            quantized(&bytes, 8, 12, (0.0, 1.0), page, 0)
        };
        assert_eq!(pack(&[0.0, 1.0], &mut page), Ok(()));
        assert_eq!(page[..3], [0x00, 0xF0, 0xFF]);
        assert_eq!(pack(&[0.5, 1.5, -1.0], &mut page), Err(1.5));
        assert!(pack(&[f64::NAN], &mut page).unwrap_err().is_nan());
        // Doubles just beyond the ends, and ends that are infinite as single numbers.
        let pack =
            |value: f64, range: (f64, f64), page: &mut [u8]| quantized(&value.to_ne_bytes(), 8, 12, range, page, 0);
        let close = (999_999_990.0, 1_000_000_050.0);
        assert_eq!(pack(f64::from(close.1 as f32), close, &mut page), Ok(()));
        for (value, range) in [
            (1_000_000_060.0, close),
            (1e300, (0.0, 1e39)),
            (f64::INFINITY, (0.0, 1e39)),
            (f64::NEG_INFINITY, (-1e39, 1e39)),
        ] {
            assert_eq!(pack(value, range, &mut page), Err(value));
        }
        let cut = |value: f64, page: &mut [u8]| truncated(&value.to_ne_bytes(), 8, 16, page, 0);
        assert_eq!(cut(f64::NEG_INFINITY, &mut page), Ok(()));
        assert_eq!(cut(-1e39, &mut page), Err(-1e39));
    }
}
