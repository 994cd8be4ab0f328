//! Many parts as one.

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, MutableBuffer, ScalarBuffer};

use super::Stored;

/// Picks what a form has of each part; what is of another form is left out.
macro_rules! of_form {
    ($parts:expr, $form:pat => $picked:expr) => {
        $parts.iter().filter_map(|part| if let $form = *part { Some($picked) } else { None })
    };
}

/// The values of all parts in a row, in one copy: it holds no memory of theirs. The parts are all of one form; `None` if there
/// are none.
#[must_use]
pub fn concat(parts: &[&Stored]) -> Option<Stored> {
    let all = |parts: Vec<&Stored>| concat(&parts).map(Box::new);
    let len = parts.iter().map(|part| part.len()).sum();
    Some(match *parts.first()? {
        Stored::Numbers { primitive, .. } => {
            let values = concat_bytes(of_form!(parts, Stored::Numbers { values, .. } => values.as_slice()));
            Stored::Numbers { primitive: *primitive, values }
        }
        Stored::Bits(_) => Stored::Bits(concat_bits(of_form!(parts, Stored::Bits(bits) => bits))),
        Stored::Text { .. } => {
            let bytes = of_form!(parts, Stored::Text { offsets, bytes } => &bytes.as_slice()[span(offsets)]);
            let offsets = of_form!(parts, Stored::Text { offsets, .. } => offsets);
            Stored::Text { offsets: concat_offsets(offsets), bytes: concat_bytes(bytes) }
        }
        Stored::List { .. } => {
            let items: Vec<_> =
                of_form!(parts, Stored::List { offsets, items } => items.slice(span(offsets))).collect();
            let offsets = of_form!(parts, Stored::List { offsets, .. } => offsets);
            Stored::List { offsets: concat_offsets(offsets), items: all(items.iter().collect())? }
        }
        Stored::Fixed { n_items, .. } => {
            let items = of_form!(parts, Stored::Fixed { items, .. } => items.as_ref());
            Stored::Fixed { len, n_items: *n_items, items: all(items.collect())? }
        }
        Stored::Struct { members, .. } => {
            let member = |number: usize| {
                concat(&of_form!(parts, Stored::Struct { members, .. } => &members[number]).collect::<Vec<_>>())
            };
            Stored::Struct { len, members: (0..members.len()).map(member).collect::<Option<_>>()? }
        }
        Stored::Variant { alternatives, .. } => {
            let tags = concat_bytes(of_form!(parts, Stored::Variant { tags, .. } => tags.as_slice()));
            let of = |number: usize| {
                concat(
                    &of_form!(parts, Stored::Variant { alternatives, .. } => &alternatives[number]).collect::<Vec<_>>(),
                )
            };
            Stored::Variant { tags, alternatives: (0..alternatives.len()).map(of).collect::<Option<_>>()? }
        }
        Stored::Optional { .. } => {
            let values = of_form!(parts, Stored::Optional { values, .. } => values.as_ref());
            let valid = concat_bits(of_form!(parts, Stored::Optional { valid, .. } => valid));
            Stored::Optional { valid, values: all(values.collect())? }
        }
    })
}

/// The part of the items or bytes that lists or texts have.
fn span(offsets: &ScalarBuffer<i64>) -> Range<usize> {
    let at = |offset: Option<&i64>| offset.and_then(|&offset| usize::try_from(offset).ok()).unwrap_or_default();
    at(offsets.first())..at(offsets.last())
}

fn concat_bytes<'a>(parts: impl Iterator<Item = &'a [u8]> + Clone) -> Buffer {
    let mut bytes = MutableBuffer::with_capacity(parts.clone().map(<[u8]>::len).sum());
    parts.for_each(|part| bytes.extend_from_slice(part));
    bytes.into()
}

fn concat_bits<'a>(parts: impl Iterator<Item = &'a BooleanBuffer> + Clone) -> BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new(parts.clone().map(BooleanBuffer::len).sum());
    parts.for_each(|part| bits.append_buffer(part));
    bits.finish()
}

/// Offsets that go on from part to part, and begin at 0.
fn concat_offsets<'a>(parts: impl Iterator<Item = &'a ScalarBuffer<i64>> + Clone) -> ScalarBuffer<i64> {
    let mut all = Vec::with_capacity(parts.clone().map(|offsets| offsets.len()).sum::<usize>() + 1);
    all.push(0);
    for offsets in parts {
        let shift = all.last().copied().unwrap_or_default() - offsets.first().copied().unwrap_or_default();
        all.extend(offsets.iter().skip(1).map(|offset| offset + shift));
    }
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrowroot_format::streamer::Primitive;
    use proptest::prelude::*;

    /// The values of entries, as numbers in lists: a form that says all of them.
    fn written(stored: &Stored, entry: usize) -> String {
        let at = |offset: i64| usize::try_from(offset).unwrap();
        match stored {
            Stored::Numbers { primitive, values } => {
                let width = primitive.stored_bytes();
                format!("{:?}", &values.as_slice()[entry * width..][..width])
            }
            Stored::Bits(bits) => bits.value(entry).to_string(),
            Stored::Text { offsets, bytes } => {
                format!("{:?}", &bytes.as_slice()[at(offsets[entry])..at(offsets[entry + 1])])
            }
            Stored::List { offsets, items } => {
                let range = at(offsets[entry])..at(offsets[entry + 1]);
                format!("{:?}", range.map(|item| written(items, item)).collect::<Vec<_>>())
            }
            Stored::Fixed { n_items, items, .. } => {
                let range = entry * n_items..(entry + 1) * n_items;
                format!("{:?}", range.map(|item| written(items, item)).collect::<Vec<_>>())
            }
            Stored::Struct { members, .. } => {
                format!("{:?}", members.iter().map(|member| written(member, entry)).collect::<Vec<_>>())
            }
            Stored::Variant { tags, alternatives } => {
                let of: Vec<_> = alternatives.iter().map(|of| written(of, entry)).collect();
                format!("{} {of:?}", tags.as_slice()[entry])
            }
            Stored::Optional { valid, values } => {
                if valid.value(entry) {
                    written(values, entry)
                } else {
                    "null".to_owned()
                }
            }
        }
    }

    /// Some values of a form that nests all of them.
    fn example(n_entries: usize, seed: usize) -> Stored {
        let numbers = |n: usize| Stored::Numbers {
            primitive: Primitive::Int32,
            values: Buffer::from_vec((0..n).map(|index| u32::try_from(index * 31 + seed).unwrap()).collect::<Vec<_>>()),
        };
        let offsets = |n: usize, start: usize| -> ScalarBuffer<i64> {
            let mut next = start;
            let offsets: Vec<_> = (0..=n)
                .map(|index| {
                    next += if index == 0 { 0 } else { (index * 7 + seed) % 4 };
                    i64::try_from(next).unwrap()
                })
                .collect();
            offsets.into()
        };
        let texts = |n: usize| {
            let offsets = offsets(n, seed % 3);
            let n_bytes = usize::try_from(*offsets.last().unwrap()).unwrap() + 2;
            let bytes: Vec<u8> = (0..n_bytes).map(|index| b'a' + u8::try_from((index + seed) % 26).unwrap()).collect();
            Stored::Text { offsets, bytes: bytes.into() }
        };
        let list = |n: usize, items: &dyn Fn(usize) -> Stored| {
            let offsets = offsets(n, seed % 5);
            let n_items = usize::try_from(*offsets.last().unwrap()).unwrap() + 1;
            Stored::List { offsets, items: Box::new(items(n_items)) }
        };
        let bits = |n: usize| BooleanBuffer::collect_bool(n, |index| (index + seed).is_multiple_of(3));
        let optional = |n: usize| Stored::Optional { valid: bits(n), values: Box::new(texts(n)) };
        let fixed = |n: usize| Stored::Fixed { len: n, n_items: 2, items: Box::new(numbers(n * 2)) };
        let variant = |n: usize| Stored::Variant {
            tags: (0..n).map(|index| u8::try_from((index + seed) % 3).unwrap()).collect::<Vec<_>>().into(),
            alternatives: vec![list(n, &numbers), list(n, &texts)],
        };
        let members = |n: usize| vec![optional(n), fixed(n), Stored::Bits(bits(n)), variant(n)];
        let inner = |n: usize| Stored::Struct { len: n, members: members(n) };
        let lists = |n: usize| list(n, &inner);
        Stored::Struct { len: n_entries, members: vec![list(n_entries, &lists), numbers(n_entries)] }
    }

    proptest! {
        #[test]
        fn one_copy_has_the_values_of_all_parts(
            parts in prop::collection::vec((0_usize..20, any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_usize..100), 1..6),
        ) {
            let parts: Vec<Stored> = parts.into_iter().map(|(n, a, b, seed)| {
                let (a, b) = (a.index(n + 1), b.index(n + 1));
                example(n, seed).slice(a.min(b)..a.max(b))
            }).collect();
            let together = concat(&parts.iter().collect::<Vec<_>>()).unwrap();
            let expected: Vec<_> = parts.iter().flat_map(|part| (0..part.len()).map(move |entry| written(part, entry))).collect();
            prop_assert_eq!(together.len(), expected.len());
            prop_assert_eq!((0..together.len()).map(|entry| written(&together, entry)).collect::<Vec<_>>(), expected);
            let bytes: u64 = parts.iter().map(|part| part.stored_bytes(0..part.len())).sum();
            prop_assert_eq!(together.stored_bytes(0..together.len()), bytes);
        }
    }
}
