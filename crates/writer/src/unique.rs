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
    items: (&Stored, &Compared),
    mut range: Range<usize>,
    unique: Unique,
    of_equal_keys: &str,
) -> Result<(), Fault> {
    range.try_for_each(|index| {
        distinct(items, bounds(offsets, index), unique, of_equal_keys).map_err(|what| (index, what))
    })
}

/// That no two items, or keys, of a list are equal. `of_equal_keys`: the types of maps that take these.
pub(crate) fn distinct(
    (items, compared): (&Stored, &Compared),
    range: Range<usize>,
    unique: Unique,
    of_equal_keys: &str,
) -> Result<(), String> {
    if range.len() < 2 {
        return Ok(());
    }
    let (keys, compared, what, instead) = match (unique, items) {
        (Unique::Items, items) => (items, compared, "two equal items", "std::multiset or std::vector"),
        (Unique::Keys, Stored::Struct { members, .. }) => match members.first() {
            Some(keys) => (keys, compared.part(0), "two equal keys", of_equal_keys),
            None => return Ok(()),
        },
        (Unique::Keys | Unique::Nothing, _) => return Ok(()),
    };
    let (mut bytes, mut ends) = (Vec::new(), vec![0]);
    for index in range {
        if !write_key(keys, compared, index, &mut bytes) {
            return Err(format!(
                "a NaN among those that are compared, which C++ cannot order: types= may say {instead}"
            ));
        }
        ends.push(bytes.len());
    }
    let mut found: Vec<&[u8]> = ends.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
    found.sort_unstable();
    if found.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(format!("{what}, of which C++ keeps one: types= may say {instead}"));
    }
    Ok(())
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
