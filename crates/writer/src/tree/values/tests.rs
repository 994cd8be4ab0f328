#![expect(clippy::cast_possible_truncation, reason = "the numbers of these tests are small")]

use std::sync::Arc;

use arrow_buffer::{Buffer, ScalarBuffer};
use arrowroot_format::streamer::Primitive;
use proptest::prelude::*;

use super::*;

fn numbers(values: &[i16]) -> Stored {
    Stored::Numbers { primitive: Primitive::Int16, values: Buffer::from_slice_ref(values) }
}

fn list(lengths: &[usize], skipped: usize, items: Stored) -> Stored {
    let mut offsets = vec![skipped as i64];
    for length in lengths {
        offsets.push(offsets.last().unwrap() + *length as i64);
    }
    Stored::List { offsets: ScalarBuffer::from(offsets), items: Box::new(items) }
}

#[test]
fn texts_have_one_byte_of_their_length_or_five() {
    for (length, head) in [(0, vec![0]), (1, vec![1]), (254, vec![254]), (255, vec![255, 0, 0, 0, 255])] {
        let text = vec![b'a'; length];
        let mut out = Vec::new();
        append_text(&text, &mut out);
        assert_eq!(out, [head, text].concat());
        assert_eq!(out.len(), text_bytes(length));
    }
}

#[test]
fn a_path_leads_through_members_lists_and_what_is_there() {
    let inner = Stored::Fixed { len: 3, n_items: 2, items: Box::new(numbers(&[1, 2, 3, 4, 5, 6])) };
    let members = vec![Stored::Bits(BooleanBuffer::new_set(3)), inner];
    let structs = list(&[1, 2], 0, Stored::Struct { len: 3, members });
    let optional = Stored::Optional { valid: BooleanBuffer::new_set(2), values: Box::new(structs) };
    let path = [Step::Present, Step::Items, Step::Member(1), Step::Items];
    let located = locate(&optional, 1..2, &path);
    assert_eq!((located.range.clone(), located.offsets), (2..6, Some(&[1, 3][..])));
    let mut out = Vec::new();
    append_numbers(located.values, located.range, &mut out);
    assert_eq!(out, [0, 3, 0, 4, 0, 5, 0, 6]);
}

proptest! {
    #[test]
    fn bits_become_bytes(bits in proptest::collection::vec(any::<bool>(), 0..200), skipped in 0_usize..80) {
        let buffer: BooleanBuffer = bits.iter().copied().collect();
        let skipped = skipped.min(bits.len());
        let mut out = vec![7];
        append_bits(&buffer.slice(skipped, bits.len() - skipped), &mut out);
        let expected: Vec<u8> = std::iter::once(7).chain(bits[skipped..].iter().map(|bit| u8::from(*bit))).collect();
        prop_assert_eq!(out, expected);
    }

    #[test]
    fn counts_are_the_lengths_of_lists(lengths in proptest::collection::vec(0_usize..5, 0..3000), skipped in 0_usize..9) {
        let n_items = skipped + lengths.iter().sum::<usize>();
        let lists = list(&lengths, skipped, numbers(&vec![0; n_items]));
        let mut out = Vec::new();
        append_counts(offsets_of(&lists, &(0..lengths.len())), &mut out);
        let expected: Vec<u8> = lengths.iter().flat_map(|length| (*length as i32).to_be_bytes()).collect();
        prop_assert_eq!(out, expected);
    }

    #[test]
    fn numbers_are_swapped(values in proptest::collection::vec(any::<f64>(), 0..100), from in any::<prop::sample::Index>()) {
        let start = from.index(values.len() + 1);
        let stored = Stored::Numbers { primitive: Primitive::Float64, values: Buffer::from_slice_ref(&values) };
        let stored = Arc::new(stored);
        let mut out = Vec::new();
        append_numbers(&stored, start..values.len(), &mut out);
        let expected: Vec<u8> = values[start..].iter().flat_map(|value| value.to_be_bytes()).collect();
        prop_assert_eq!(out, expected);
    }
}
