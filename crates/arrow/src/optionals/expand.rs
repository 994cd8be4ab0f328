//! Values that stand one after the other, put at places that are bits, with zeros between them.

#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "the processor has instructions for it"))]

/// Puts values at the places whose bits are set, lowest first, and zeros at the others.
pub(super) fn expand<const N: usize>(values: &[[u8; N]], there: &[u8], out: &mut [[u8; N]]) {
    let (n_places, n_values) = expand_blocks(values, there, out);
    let (values, there) = (values.get(n_values..).unwrap_or_default(), there.get(n_places / 8..).unwrap_or_default());
    let mut next = 0;
    for (places, bits) in out[n_places..].chunks_mut(8).zip(there) {
        for (index, place) in places.iter_mut().enumerate() {
            let is_there = bits >> index & 1;
            // No branch: nobody can foretell it.
            let mask = is_there.wrapping_neg();
            *place = values.get(next).copied().unwrap_or([0; N]).map(|byte| byte & mask);
            next += usize::from(is_there);
        }
    }
}

/// Puts bits, from bit `offset` on, at the places whose bits are set. The bits behind the last place are 0.
pub(super) fn expand_bits(values: &[u8], offset: usize, there: &[u8], out: &mut [u8]) {
    let mut next = offset;
    for (place, there) in out.chunks_mut(8).zip(there.chunks(8)) {
        let mut mask = [0; 8];
        mask[..there.len()].copy_from_slice(there);
        let mask = u64::from_le_bytes(mask);
        let bits = deposited(word_at(values, next), mask).to_le_bytes();
        place.copy_from_slice(&bits[..place.len()]);
        next += mask.count_ones() as usize;
    }
}

/// 64 bits from a bit on; those that are not there are 0.
fn word_at(values: &[u8], bit: usize) -> u64 {
    let (rest, shift) = (values.get(bit / 8..).unwrap_or_default(), bit % 8);
    let mut word = [0; 16];
    let n_bytes = rest.len().min(9);
    word[..n_bytes].copy_from_slice(&rest[..n_bytes]);
    let [low @ .., _, _, _, _, _, _, _, _] = (u128::from_le_bytes(word) >> shift).to_le_bytes();
    u64::from_le_bytes(low)
}

/// The lowest bits at the places of a mask.
fn deposited(bits: u64, mask: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("bmi2") {
        // SAFETY: the feature was detected on this machine.
        return unsafe { std::arch::x86_64::_pdep_u64(bits, mask) };
    }
    deposited_one_by_one(bits, mask)
}

fn deposited_one_by_one(mut bits: u64, mut mask: u64) -> u64 {
    let mut found = 0;
    while mask != 0 {
        let lowest = mask & mask.wrapping_neg();
        found |= lowest & (bits & 1).wrapping_neg();
        bits >>= 1;
        mask ^= lowest;
    }
    found
}

/// The first places, as many as fill whole registers. Returns how many, a multiple of 8, and how many values they took.
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "other processors do all one by one"))]
fn expand_blocks<const N: usize>(values: &[[u8; N]], there: &[u8], out: &mut [[u8; N]]) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    if matches!(N, 4 | 8) && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the features were detected on this machine.
        return unsafe { x86::expand_blocks(values, there, out) };
    }
    (0, 0)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadl_epi64, _mm256_andnot_si256, _mm256_cvtepi8_epi32, _mm256_loadu_si256,
        _mm256_permutevar8x32_epi32, _mm256_srai_epi32, _mm256_storeu_si256,
    };

    /// For each eight bits the numbers of the values that go to their places, -1 for none.
    const ORDERS: [[i8; 8]; 256] = orders();

    const fn orders() -> [[i8; 8]; 256] {
        let mut orders = [[-1; 8]; 256];
        let mut bits = 0;
        while bits < 256 {
            let (mut index, mut next) = (0, 0);
            while index < 8 {
                if bits >> index & 1 == 1 {
                    orders[bits][index] = next;
                    next += 1;
                }
                index += 1;
            }
            bits += 1;
        }
        orders
    }

    /// As the one outside, of values of 4 bytes, or of 8, which are two of 4.
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn expand_blocks<const N: usize>(
        values: &[[u8; N]],
        there: &[u8],
        out: &mut [[u8; N]],
    ) -> (usize, usize) {
        let (mut n_places, mut n_values) = (0, 0);
        for (places, bits) in out.as_chunks_mut::<8>().0.iter_mut().zip(there) {
            let Some(block) = values.get(n_values..).and_then(|rest| rest.first_chunk::<8>()) else { break };
            if N == 4 {
                // SAFETY: both are 32 bytes long.
                unsafe { moved(block.as_ptr().cast(), &ORDERS[usize::from(*bits)], places.as_mut_ptr().cast()) };
            } else {
                let (low, high) = (bits & 15, bits >> 4);
                // SAFETY: both are 64 bytes long, and the values of the second half begin behind four at most.
                unsafe {
                    let from = block.as_ptr().cast::<u8>();
                    let behind = from.add(N * low.count_ones() as usize);
                    let to = places.as_mut_ptr().cast::<u8>();
                    moved(from.cast(), &doubled(low), to.cast());
                    moved(behind.cast(), &doubled(high), to.add(32).cast());
                }
            }
            n_places += 8;
            n_values += bits.count_ones() as usize;
        }
        (n_places, n_values)
    }

    /// The order of four pairs.
    fn doubled(bits: u8) -> [i8; 8] {
        ORDERS[usize::from(PAIRS[usize::from(bits & 15)])]
    }

    /// For each four bits those of pairs.
    const PAIRS: [u8; 16] = pairs();

    const fn pairs() -> [u8; 16] {
        let mut pairs = [0; 16];
        let mut bits = 0;
        while bits < 16 {
            let mut index = 0;
            while index < 4 {
                if bits >> index & 1 == 1 {
                    pairs[bits] |= 3 << (2 * index);
                }
                index += 1;
            }
            bits += 1;
        }
        pairs
    }

    /// Moves eight values of 4 bytes.
    ///
    /// # Safety
    /// 32 bytes can be read from `from`, and written to `to`.
    #[target_feature(enable = "avx2")]
    unsafe fn moved(from: *const __m256i, order: &[i8; 8], to: *mut __m256i) {
        // SAFETY: the caller says so, and the order has 8 bytes.
        unsafe {
            let order = _mm256_cvtepi8_epi32(_mm_loadl_epi64(order.as_ptr().cast::<__m128i>()));
            let moved = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(from), order);
            _mm256_storeu_si256(to, _mm256_andnot_si256(_mm256_srai_epi32::<31>(order), moved));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn naive<T: Copy>(values: &[T], there: &[bool], zero: T) -> Vec<T> {
        let mut values = values.iter();
        there.iter().map(|is_there| if *is_there { values.next().copied().unwrap_or(zero) } else { zero }).collect()
    }

    fn packed(bits: &[bool]) -> Vec<u8> {
        bits.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect()
    }

    fn check<const N: usize>(numbers: &[u64], there: &[bool]) {
        let values: Vec<[u8; N]> =
            numbers.iter().map(|number| std::array::from_fn(|index| number.to_le_bytes()[index % 8])).collect();
        let mut out = vec![[1; N]; there.len()];
        expand(&values, &packed(there), &mut out);
        assert_eq!(out, naive(&values, there, [0; N]));
    }

    proptest! {
        /// Fewer values than places is what nobody asks for; it reads nothing outside of them.
        #[test]
        fn values_of_any_width_are_put_at_their_places(numbers in vec(any::<u64>(), 0..300), there in vec(prop::bool::weighted(0.8), 0..300)) {
            check::<1>(&numbers, &there);
            check::<2>(&numbers, &there);
            check::<4>(&numbers, &there);
            check::<8>(&numbers, &there);
            check::<16>(&numbers, &there);
        }

        #[test]
        fn bits_are_put_at_their_places(bits in vec(any::<bool>(), 0..300), there in vec(prop::bool::weighted(0.8), 0..300), offset in 0_usize..20) {
            let mut out = vec![0xFF; there.len().div_ceil(8)];
            expand_bits(&packed(&bits), offset, &packed(&there), &mut out);
            prop_assert_eq!(out, packed(&naive(bits.get(offset..).unwrap_or_default(), &there, false)));
        }

        #[test]
        fn bits_are_deposited_one_by_one_as_the_processor_does(bits in any::<u64>(), mask in any::<u64>()) {
            prop_assert_eq!(deposited(bits, mask), deposited_one_by_one(bits, mask));
        }
    }
}
