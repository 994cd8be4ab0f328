//! Fixed arrays as those of another length.

use std::ops::Range;

use super::values::{Values, list_end};
use crate::column::Name;
use crate::error::Result;

/// Of each `n_from` values the first `n_to`. What is missing is 0, empty or null.
pub(super) fn refill(values: &Values, n_from: usize, n_to: usize) -> Result<Values> {
    let n_arrays = values.len() / n_from.max(1);
    let kept: Vec<_> = (0..n_arrays).map(|array| array * n_from..array * n_from + n_from.min(n_to)).collect();
    gathered(values, &kept, n_to.saturating_sub(n_from))
}

/// How many values one that is missing is made of.
pub(super) fn n_in_missing(values: &Values) -> usize {
    match values {
        Values::FixedList(items, n_items) => n_in_missing(items).saturating_mul(*n_items as usize),
        Values::Struct(_, members) => {
            members.iter().fold(1, |sum: usize, (_, member)| sum.saturating_add(n_in_missing(member)))
        }
        _ => 1,
    }
}

/// The values of each range, and so many missing ones behind them.
fn gathered(values: &Values, ranges: &[Range<usize>], n_missing: usize) -> Result<Values> {
    Ok(match values {
        Values::Primitive(primitive, bytes) => {
            let width = primitive.stored_bytes();
            Values::Primitive(*primitive, copied(bytes, &scaled(ranges, width), n_missing * width))
        }
        Values::Links(links) => Values::Links(copied(links, ranges, n_missing)),
        Values::Text(ends, bytes) => {
            let (ends, inner) = lists(ends, ranges, n_missing)?;
            Values::Text(ends, copied(bytes, &inner, 0))
        }
        Values::Bytes(ends, bytes) => {
            let (ends, inner) = lists(ends, ranges, n_missing)?;
            Values::Bytes(ends, copied(bytes, &inner, 0))
        }
        Values::List(ends, items) => {
            let (ends, inner) = lists(ends, ranges, n_missing)?;
            Values::List(ends, Box::new(gathered(items, &inner, 0)?))
        }
        Values::Map(ends, keys, values) => {
            let (ends, inner) = lists(ends, ranges, n_missing)?;
            Values::Map(ends, Box::new(gathered(keys, &inner, 0)?), Box::new(gathered(values, &inner, 0)?))
        }
        Values::FixedList(items, n_items) => {
            let n = *n_items as usize;
            Values::FixedList(Box::new(gathered(items, &scaled(ranges, n), n_missing * n)?), *n_items)
        }
        Values::Struct(_, members) => {
            let gather = |(name, member): &(Name, Values)| Ok((name.clone(), gathered(member, ranges, n_missing)?));
            Values::Struct(n_gathered(ranges, n_missing), members.iter().map(gather).collect::<Result<_>>()?)
        }
        Values::Optional(is_there, values) => {
            let mut n_before = vec![0];
            n_before.extend(is_there.iter().scan(0, |n, &flag| {
                *n += usize::from(flag != 0);
                Some(*n)
            }));
            let inner: Vec<_> = ranges.iter().map(|range| n_before[range.start]..n_before[range.end]).collect();
            Values::Optional(copied(is_there, ranges, n_missing), Box::new(gathered(values, &inner, 0)?))
        }
        Values::Nothing(_) => Values::Nothing(n_gathered(ranges, n_missing)),
    })
}

fn n_gathered(ranges: &[Range<usize>], n_missing: usize) -> usize {
    ranges.iter().map(|range| range.len() + n_missing).sum()
}

fn scaled(ranges: &[Range<usize>], n: usize) -> Vec<Range<usize>> {
    ranges.iter().map(|range| range.start * n..range.end * n).collect()
}

/// The items of each range, and so many zeros behind them.
fn copied<T: Copy + Default>(items: &[T], ranges: &[Range<usize>], n_zeros: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(n_gathered(ranges, n_zeros));
    for range in ranges {
        out.extend_from_slice(&items[range.clone()]);
        out.resize(out.len() + n_zeros, T::default());
    }
    out
}

/// The ends of the lists in each range, and of so many empty ones behind them; and where the items of each range are.
fn lists(ends: &[i32], ranges: &[Range<usize>], n_missing: usize) -> Result<(Vec<i32>, Vec<Range<usize>>)> {
    let start_of = |list: usize| {
        let end_before = list.checked_sub(1).map_or(0, |before| ends[before]);
        usize::try_from(end_before).unwrap_or(0)
    };
    let (mut out, mut inner) = (Vec::with_capacity(n_gathered(ranges, n_missing)), Vec::with_capacity(ranges.len()));
    let mut n_items = 0;
    for range in ranges {
        let items = start_of(range.start)..start_of(range.end);
        for list in range.clone() {
            out.push(list_end(n_items + start_of(list + 1) - items.start)?);
        }
        n_items += items.len();
        out.resize(out.len() + n_missing, list_end(n_items)?);
        inner.push(items);
    }
    Ok((out, inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streamer::Primitive;

    fn bytes(bytes: &[u8]) -> Values {
        Values::Primitive(Primitive::UInt8, bytes.to_vec())
    }

    fn texts(texts: &[&str]) -> Values {
        let ends = texts.iter().scan(0, |n, text| {
            *n += text.len();
            Some(i32::try_from(*n).unwrap())
        });
        Values::Text(ends.collect(), texts.concat().into_bytes())
    }

    /// Four values of each kind, as arrays of two, become arrays of one and of three.
    #[test]
    fn values_of_any_kind_are_cut_and_filled_up() {
        let list = |ends: &[i32], items| Values::List(ends.to_vec(), Box::new(items));
        let map = |ends: &[i32], keys, values| Values::Map(ends.to_vec(), Box::new(keys), Box::new(values));
        let pairs = |items| Values::FixedList(Box::new(items), 2);
        let optional = |flags: &[u8], values| Values::Optional(flags.to_vec(), Box::new(values));
        let structs = |n, member| Values::Struct(n, vec![("x".into(), member)]);
        for (four, cut, filled) in [
            (bytes(&[1, 2, 3, 4]), bytes(&[1, 3]), bytes(&[1, 2, 0, 3, 4, 0])),
            (Values::Links(vec![1, 2, 3, 4]), Values::Links(vec![1, 3]), Values::Links(vec![1, 2, 0, 3, 4, 0])),
            (texts(&["a", "bc", "", "d"]), texts(&["a", ""]), texts(&["a", "bc", "", "", "d", ""])),
            (
                Values::Bytes(vec![1, 1, 2, 4], vec![7, 8, 9, 9]),
                Values::Bytes(vec![1, 2], vec![7, 8]),
                Values::Bytes(vec![1, 1, 1, 2, 4, 4], vec![7, 8, 9, 9]),
            ),
            (
                list(&[2, 3, 3, 4], texts(&["a", "b", "c", "d"])),
                list(&[2, 2], texts(&["a", "b"])),
                list(&[2, 3, 3, 3, 4, 4], texts(&["a", "b", "c", "d"])),
            ),
            (
                map(&[1, 2, 3, 4], bytes(&[1, 2, 3, 4]), bytes(&[5, 6, 7, 8])),
                map(&[1, 2], bytes(&[1, 3]), bytes(&[5, 7])),
                map(&[1, 2, 2, 3, 4, 4], bytes(&[1, 2, 3, 4]), bytes(&[5, 6, 7, 8])),
            ),
            (
                pairs(bytes(&[1, 2, 3, 4, 5, 6, 7, 8])),
                pairs(bytes(&[1, 2, 5, 6])),
                pairs(bytes(&[1, 2, 3, 4, 0, 0, 5, 6, 7, 8, 0, 0])),
            ),
            (
                structs(4, texts(&["a", "b", "c", "d"])),
                structs(2, texts(&["a", "c"])),
                structs(6, texts(&["a", "b", "", "c", "d", ""])),
            ),
            (
                optional(&[1, 0, 0, 1], bytes(&[8, 9])),
                optional(&[1, 0], bytes(&[8])),
                optional(&[1, 0, 0, 0, 1, 0], bytes(&[8, 9])),
            ),
            (Values::Nothing(4), Values::Nothing(2), Values::Nothing(6)),
        ] {
            assert_eq!(refill(&four, 2, 1).unwrap(), cut);
            assert_eq!(refill(&four, 2, 3).unwrap(), filled);
        }
    }

    #[test]
    fn what_one_missing_value_takes_is_counted_with_all_that_is_in_it() {
        let square = Values::FixedList(Box::new(Values::FixedList(Box::new(bytes(&[])), 1000)), 1000);
        let object = Values::Struct(0, vec![("a".into(), square), ("b".into(), texts(&[]))]);
        assert_eq!(n_in_missing(&object), 1_000_002);
    }
}
