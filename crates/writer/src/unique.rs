//! Items of sets and keys of maps, of which C++ keeps one where several are equal.

use std::ops::Range;

use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use arrowroot_arrow::Stored;
use arrowroot_format::streamer::Primitive;

use crate::check::Fault;

/// The parts of the items of a list without an order that must differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unique {
    /// The items, of a set.
    Items,
    /// The first members, of a map.
    Keys,
    /// None, of a multiset or a multimap.
    Nothing,
}

impl Unique {
    /// True if some lists are refused.
    pub(crate) fn needs_check(self) -> bool {
        self != Unique::Nothing
    }
}

/// How values are compared: lists without an order are equal if their items are, in any order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Compared {
    /// They are sets or maps.
    pub(crate) is_unordered: bool,
    /// The same of the items or members; lists in those that are not there have an order.
    pub(crate) parts: Vec<Compared>,
}

impl Compared {
    /// That of the items, of lists.
    pub(crate) fn of_items(&self) -> &Compared {
        self.part(0)
    }

    fn part(&self, number: usize) -> &Compared {
        const ORDERED: &Compared = &Compared { is_unordered: false, parts: Vec::new() };
        self.parts.get(number).unwrap_or(ORDERED)
    }
}

/// The items of a list.
pub(crate) fn bounds(offsets: &ScalarBuffer<i64>, index: usize) -> Range<usize> {
    match (offsets.get(index), offsets.get(index + 1)) {
        (Some(start), Some(end)) => start.as_usize()..end.as_usize(),
        _ => 0..0,
    }
}

/// The list of a range that an item is in.
pub(crate) fn list_of(offsets: &ScalarBuffer<i64>, range: &Range<usize>, item: usize) -> usize {
    let ends = offsets.get(range.start + 1..=range.end).unwrap_or_default();
    range.start + ends.partition_point(|end| end.as_usize() <= item)
}

/// Looks at the items of the lists in a range. The place of a fault is that of its list.
pub(crate) fn in_lists(
    offsets: &ScalarBuffer<i64>,
    range: Range<usize>,
    look_at: impl FnOnce(Range<usize>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let end = range.clone().next_back().map_or(0, |last| bounds(offsets, last).end);
    let inner = bounds(offsets, range.start).start.min(end)..end;
    look_at(inner).map_err(|(place, what)| (list_of(offsets, &range, place), what))
}

/// That the items, or keys, of each list in a range [differ](distinct).
pub(crate) fn distinct_in(
    offsets: &ScalarBuffer<i64>,
    (items, compared): (&Stored, &Compared),
    mut range: Range<usize>,
    unique: Unique,
    of_equal_keys: &str,
) -> Result<(), Fault> {
    let Some(keys) = Keys::of(items, compared, unique, of_equal_keys) else { return Ok(()) };
    let mut scratch = Scratch::default();
    range.try_for_each(|index| keys.check(bounds(offsets, index), &mut scratch).map_err(|what| (index, what)))
}

/// That no two items, or keys, of a list are equal. `of_equal_keys`: the types of maps that take these.
pub(crate) fn distinct(
    (items, compared): (&Stored, &Compared),
    range: Range<usize>,
    unique: Unique,
    of_equal_keys: &str,
) -> Result<(), String> {
    let keys = Keys::of(items, compared, unique, of_equal_keys);
    keys.map_or(Ok(()), |keys| keys.check(range, &mut Scratch::default()))
}

/// The values that must differ in each list.
struct Keys<'v> {
    values: &'v Stored,
    compared: &'v Compared,
    what: &'static str,
    instead: &'v str,
}

/// Memory that the lists of a column share.
#[derive(Default)]
struct Scratch<'v> {
    words: Vec<u64>,
    texts: Vec<&'v [u8]>,
    written: Vec<u8>,
    ends: Vec<usize>,
}

/// So few values are compared each with each: that is quicker than to sort them.
const FEW: usize = 16;

impl<'v> Keys<'v> {
    /// `None` if none must differ.
    fn of(items: &'v Stored, compared: &'v Compared, unique: Unique, of_equal_keys: &'v str) -> Option<Self> {
        let (values, compared, what, instead) = match (unique, items) {
            (Unique::Items, items) => (items, compared, "two equal items", "std::multiset or std::vector"),
            (Unique::Keys, Stored::Struct { members, .. }) => {
                (members.first()?, compared.part(0), "two equal keys", of_equal_keys)
            }
            (Unique::Keys | Unique::Nothing, _) => return None,
        };
        Some(Keys { values, compared, what, instead })
    }

    fn check(&self, range: Range<usize>, scratch: &mut Scratch<'v>) -> Result<(), String> {
        if range.len() < 2 {
            return Ok(());
        }
        let Keys { values, compared, what, instead } = self;
        let Scratch { words, texts, written, ends } = scratch;
        let differ = match *values {
            Stored::Numbers { primitive, values } => {
                words.clear();
                write_words(*primitive, values, range, words).then(|| differ(words))
            }
            Stored::Text { offsets, bytes } => {
                texts.clear();
                texts.extend(range.map(|index| bytes.get(bounds(offsets, index)).unwrap_or_default()));
                Some(differ(texts))
            }
            _ => {
                written.clear();
                ends.clear();
                ends.push(0);
                let is_ordered = range.into_iter().all(|index| {
                    let is_ordered = write_key(values, compared, index, written);
                    ends.push(written.len());
                    is_ordered
                });
                is_ordered
                    .then(|| differ(&mut ends.windows(2).map(|pair| &written[pair[0]..pair[1]]).collect::<Vec<_>>()))
            }
        };
        match differ {
            Some(true) => Ok(()),
            Some(false) => Err(format!("{what}, of which C++ keeps one: types= may say {instead}")),
            None => {
                Err(format!("a NaN among those that are compared, which C++ cannot order: types= may say {instead}"))
            }
        }
    }
}

/// True if no two are equal. The order of many is lost.
fn differ<T: Ord>(values: &mut [T]) -> bool {
    if values.len() <= FEW {
        return (1..values.len()).all(|index| !values[..index].contains(&values[index]));
    }
    values.sort_unstable();
    values.windows(2).all(|pair| pair[0] != pair[1])
}

/// Adds numbers as words that are equal where they are; false for a NaN.
fn write_words(primitive: Primitive, values: &[u8], range: Range<usize>, words: &mut Vec<u64>) -> bool {
    let width = primitive.stored_bytes();
    let bytes = values.get(range.start * width..range.end * width).unwrap_or_default();
    match (primitive, width) {
        (Primitive::Float32, _) => floats(bytes, words, |bytes| {
            let value = f32::from_ne_bytes(bytes);
            (!value.is_nan()).then(|| (value + 0.0).to_bits().into())
        }),
        (Primitive::Float64, _) => floats(bytes, words, |bytes| {
            let value = f64::from_ne_bytes(bytes);
            (!value.is_nan()).then(|| (value + 0.0).to_bits())
        }),
        (_, 8) => integers(bytes, words, u64::from_ne_bytes),
        (_, 4) => integers(bytes, words, |bytes| u32::from_ne_bytes(bytes).into()),
        (_, 2) => integers(bytes, words, |bytes| u16::from_ne_bytes(bytes).into()),
        _ => integers(bytes, words, |[byte]: [u8; 1]| byte.into()),
    }
}

fn integers<const N: usize>(bytes: &[u8], words: &mut Vec<u64>, word: impl Fn([u8; N]) -> u64) -> bool {
    words.extend(bytes.as_chunks::<N>().0.iter().map(|bytes| word(*bytes)));
    true
}

fn floats<const N: usize>(bytes: &[u8], words: &mut Vec<u64>, word: impl Fn([u8; N]) -> Option<u64>) -> bool {
    bytes.as_chunks::<N>().0.iter().all(|bytes| word(*bytes).map(|word| words.push(word)).is_some())
}

/// Writes what makes a value equal to others; false for a NaN.
fn write_key(values: &Stored, compared: &Compared, index: usize, out: &mut Vec<u8>) -> bool {
    let all = |of: &Stored, range: Range<usize>, out: &mut Vec<u8>| {
        out.extend_from_slice(&range.len().to_ne_bytes());
        let item = compared.part(0);
        if !compared.is_unordered {
            return range.into_iter().all(|place| write_key(of, item, place, out));
        }
        let keys = range.map(|place| {
            let mut key = Vec::new();
            write_key(of, item, place, &mut key).then_some(key)
        });
        let Some(mut keys) = keys.collect::<Option<Vec<_>>>() else { return false };
        keys.sort_unstable();
        keys.iter().for_each(|key| out.extend_from_slice(key));
        true
    };
    match values {
        Stored::Numbers { primitive, values } => {
            let width = primitive.stored_bytes();
            let bytes = values.get(index * width..(index + 1) * width).unwrap_or_default();
            let start = out.len();
            out.extend_from_slice(bytes);
            match primitive {
                Primitive::Float32 => {
                    float_key((-0.0_f32).to_ne_bytes(), &mut out[start..], |bytes| f32::from_ne_bytes(bytes).is_nan())
                }
                Primitive::Float64 => {
                    float_key((-0.0_f64).to_ne_bytes(), &mut out[start..], |bytes| f64::from_ne_bytes(bytes).is_nan())
                }
                _ => true,
            }
        }
        Stored::Bits(bits) => {
            out.push(bits.value(index).into());
            true
        }
        Stored::Text { offsets, bytes } => {
            let bytes = bytes.get(bounds(offsets, index)).unwrap_or_default();
            out.extend_from_slice(&bytes.len().to_ne_bytes());
            out.extend_from_slice(bytes);
            true
        }
        Stored::List { offsets, items } => all(items, bounds(offsets, index), out),
        Stored::Fixed { n_items, items, .. } => all(items, index * n_items..(index + 1) * n_items, out),
        Stored::Struct { members, .. } => {
            members.iter().enumerate().all(|(number, member)| write_key(member, compared.part(number), index, out))
        }
        Stored::Variant { tags, alternatives } => {
            out.extend(tags.get(index));
            alternatives.iter().enumerate().all(|(number, of)| match of {
                Stored::List { offsets, items } => {
                    bounds(offsets, index).all(|place| write_key(items, compared.part(number), place, out))
                }
                _ => true,
            })
        }
        Stored::Optional { valid, values } => {
            out.push(valid.value(index).into());
            !valid.value(index) || write_key(values, compared.part(0), index, out)
        }
    }
}

/// Makes -0 what 0 is; false for a NaN.
fn float_key<const N: usize>(negative_zero: [u8; N], bytes: &mut [u8], is_nan: impl Fn([u8; N]) -> bool) -> bool {
    if *bytes == negative_zero {
        bytes.fill(0);
    }
    <[u8; N]>::try_from(&*bytes).is_ok_and(|bytes| !is_nan(bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// That a list of values is refused if two are equal, as a naive twin finds it.
    fn assert_found<T>(values: &[T], stored: &Stored, is_equal: impl Fn(&T, &T) -> bool) {
        let offsets = ScalarBuffer::from(vec![0, values.len() as i64]);
        let compared = Compared::default();
        let found = distinct_in(&offsets, (stored, &compared), 0..1, Unique::Items, "");
        let pairs = (0..values.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let expected = pairs.into_iter().all(|(a, b)| !is_equal(&values[a], &values[b]));
        assert_eq!(found.is_ok(), expected || values.len() < 2);
        // The twin writes all values as bytes.
        let mut bytes = Vec::new();
        let keys: Option<Vec<Vec<u8>>> = (0..values.len())
            .map(|index| {
                bytes.clear();
                write_key(stored, &compared, index, &mut bytes).then(|| bytes.clone())
            })
            .collect();
        let differ = keys.is_some_and(|keys| keys.iter().collect::<HashSet<_>>().len() == keys.len());
        assert_eq!(found.is_ok(), differ || values.len() < 2);
    }

    fn numbers<T: Copy + ArrowNativeType>(primitive: Primitive, values: &[T]) -> Stored {
        Stored::Numbers { primitive, values: arrow_buffer::Buffer::from_slice_ref(values) }
    }

    proptest! {
        #[test]
        fn equal_numbers_and_texts_are_found_in_short_and_long_lists(
            items in prop::collection::vec(-200_i16..200, 0..40),
            odd in prop::option::of(prop::sample::select(vec![-0.0, 0.0, f64::NAN, f64::INFINITY])),
        ) {
            assert_found(&items, &numbers(Primitive::Int16, &items), |a, b| a == b);
            let doubles: Vec<f64> = items.iter().map(|item| f64::from(*item)).chain(odd).collect();
            let is_equal = |a: &f64, b: &f64| a == b || a.is_nan() || b.is_nan();
            assert_found(&doubles, &numbers(Primitive::Float64, &doubles), is_equal);
            let texts: Vec<String> = items.iter().map(|item| "x".repeat(item.unsigned_abs().into())).collect();
            let ends = texts.iter().scan(0, |end, text| {
                *end += text.len() as i64;
                Some(*end)
            });
            let offsets = std::iter::once(0).chain(ends).collect::<Vec<i64>>().into();
            let stored = Stored::Text { offsets, bytes: texts.concat().into_bytes().into() };
            assert_found(&texts, &stored, |a, b| a == b);
        }
    }
}
