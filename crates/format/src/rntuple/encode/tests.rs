use proptest::prelude::*;

use super::super::kernels::{copy_bits, copy_plain, index_values, unsplit, unsplit_zigzag};
use super::*;

/// Fills a page from two arrays, the second beginning at `cut`.
fn in_two(n: usize, width: usize, cut: usize, encode: impl Fn(std::ops::Range<usize>, &mut [u8], usize)) -> Vec<u8> {
    let mut page = vec![0xAA; n * width];
    encode(0..cut, &mut page, 0);
    encode(cut..n, &mut page, cut);
    page
}

proptest! {
    #[test]
    fn split_and_zigzag_numbers_come_back(values in prop::collection::vec(any::<u64>(), 0..700), power in 1_u32..4, cut in any::<prop::sample::Index>()) {
        let width = 1_usize << power;
        let n = values.len();
        let numbers: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()[..width].to_vec()).collect();
        let cut = cut.index(n + 1);
        let mut out = vec![0; numbers.len()];
        let page = in_two(n, width, cut, |range, page, at| {
            split(&numbers[range.start * width..range.end * width], width, page, n, at);
        });
        unsplit(&page, n, &(0..n), width, &mut out);
        prop_assert_eq!(&out, &numbers);
        let page = in_two(n, width, cut, |range, page, at| {
            split_zigzag(&numbers[range.start * width..range.end * width], width, page, n, at);
        });
        unsplit_zigzag(&page, n, &(0..n), width, &mut out);
        prop_assert_eq!(&out, &numbers);
    }

    #[test]
    fn ends_of_lists_come_back(lengths in prop::collection::vec(0_i64..1000, 0..700), first in 0_i64..100, before in 0_i64..100, cut in any::<prop::sample::Index>()) {
        let mut offsets = vec![first];
        offsets.extend(lengths.iter().scan(first, |end, length| { *end += length; Some(*end) }));
        let n = lengths.len();
        let shift = before - first;
        let expected: Vec<u64> = offsets[1..].iter().map(|end| (end + shift).cast_unsigned()).collect();
        let cut = cut.index(n + 1);
        let mut found = Vec::new();
        let page = in_two(n, 8, cut, |range, page, at| ends(&offsets[range.start..=range.end], shift, page, at));
        let mut words = vec![0; n * 8];
        copy_plain(&page, &(0..n), 8, &mut words);
        index_values(&words, 8, false, &mut found);
        prop_assert_eq!(&found, &expected);
        let page = in_two(n, 8, cut, |range, page, at| split_ends(&offsets[range.start..=range.end], shift, page, n, at));
        unsplit(&page, n, &(0..n), 8, &mut words);
        index_values(&words, 8, true, &mut found);
        prop_assert_eq!(&found, &expected);
    }

    #[test]
    fn plain_numbers_and_bits_are_copied_both_ways(values in prop::collection::vec(any::<u8>(), 0..200), power in 0_u32..4, skip in 0_usize..9) {
        let width = 1_usize << power;
        let n = values.len() / width;
        let (mut page, mut out) = (vec![0; n * width], vec![0; n * width]);
        copy_plain(&values, &(0..n), width, &mut page);
        copy_plain(&page, &(0..n), width, &mut out);
        prop_assert_eq!(&out, &values[..n * width]);
        let n_bits = (values.len() * 8).saturating_sub(skip);
        let (mut page, mut out) = (vec![0; n_bits.div_ceil(8)], vec![0; values.len()]);
        copy_bits(&values, &(skip..skip + n_bits), &mut page, 0);
        copy_bits(&page, &(0..n_bits), &mut out, skip.min(values.len() * 8));
        let mut expected = values.clone();
        (0..skip.min(values.len() * 8)).for_each(|bit| expected[bit / 8] &= !(1 << (bit % 8)));
        prop_assert_eq!(out, expected);
    }
}

#[test]
fn what_does_not_fit_is_left_away() {
    for (n, n_bytes) in [(0, 0), (3, 5), (usize::MAX, 8), (2, 16)] {
        let mut page = vec![0; n_bytes];
        split(&[7; 400], 4, &mut page, n, 1);
        split_ends(&[1, 2, 3], 5, &mut page, n, usize::MAX - 1);
        ends(&[1, 2, 3], 5, &mut page, usize::MAX);
    }
}
