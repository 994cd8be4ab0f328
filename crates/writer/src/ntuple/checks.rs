//! Values that C++ would not give back: items of sets that are equal, keys of maps, lists of another length.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use arrowroot_arrow::Stored;
use arrowroot_format::streamer::Primitive;

use super::fields::{Node, Unique};
use crate::check::{Check, CheckValues, Fault};

/// Refuses values that a field does not hold.
#[derive(Debug)]
struct OfField(Node);

impl CheckValues for OfField {
    fn look_at(&self, values: &Stored) -> Result<(), Fault> {
        check(&self.0, values, 0..values.len())
    }
}

/// The check of a field; `None` if it holds all values of its type.
pub(super) fn check_of(node: &Node) -> Option<Check> {
    needs_check(node).then(|| Arc::new(OfField(node.clone())) as Check)
}

fn needs_check(node: &Node) -> bool {
    match node {
        Node::Numbers { .. } | Node::Bits { .. } | Node::Validity { .. } | Node::Text { .. } => false,
        Node::Narrow { .. } | Node::ListAsFixed { .. } => true,
        Node::List { item, unique, .. } | Node::FixedAsList { item, unique, .. } => {
            unique.is_some() || needs_check(item)
        }
        Node::Fixed { item } | Node::Optional { item, .. } | Node::Present { item, .. } => needs_check(item),
        Node::Struct { members: parts } | Node::Variant { alternatives: parts, .. } => parts.iter().any(needs_check),
    }
}

fn check(node: &Node, values: &Stored, range: Range<usize>) -> Result<(), Fault> {
    if !needs_check(node) {
        return Ok(());
    }
    match (node, values) {
        (Node::Narrow { .. }, Stored::Numbers { values, .. }) => narrow(values, range),
        (Node::List { item, unique, .. }, Stored::List { offsets, items }) => {
            let bounds = |index: usize| bounds(offsets, index);
            let inner = bounds(range.start).start..range.clone().next_back().map_or(0, |last| bounds(last).end);
            if let Some(unique) = unique {
                for index in range.clone() {
                    distinct(items, bounds(index), *unique).map_err(|what| (index, what))?;
                }
            }
            let inner = inner.start.min(inner.end)..inner.end;
            check(item, items, inner).map_err(|(place, what)| (list_of(offsets, &range, place), what))
        }
        (Node::ListAsFixed { n_items, item }, Stored::List { offsets, items }) => {
            for index in range.clone() {
                let n = bounds(offsets, index).len();
                if n != *n_items {
                    return Err((index, format!("a list of {n} items, where the field has {n_items}")));
                }
            }
            let first = bounds(offsets, range.start).start;
            check(item, items, first..first + range.len() * n_items)
                .map_err(|(place, what)| (list_of(offsets, &range, place), what))
        }
        (Node::FixedAsList { item, unique, .. }, Stored::Fixed { n_items, items, .. }) => {
            if let Some(unique) = unique {
                for index in range.clone() {
                    let inside = index * n_items..(index + 1) * n_items;
                    distinct(items, inside, *unique).map_err(|what| (index, what))?;
                }
            }
            check(item, items, range.start * n_items..range.end * n_items)
                .map_err(|(place, what)| (place / (*n_items).max(1), what))
        }
        (Node::Fixed { item }, Stored::Fixed { n_items, items, .. }) => {
            let inside = range.start * n_items..range.end * n_items;
            check(item, items, inside).map_err(|(place, what)| (place / (*n_items).max(1), what))
        }
        (Node::Struct { members: nodes }, Stored::Struct { members, .. }) => {
            nodes.iter().zip(members).try_for_each(|(node, member)| check(node, member, range.clone()))
        }
        (Node::Variant { alternatives: nodes, .. }, Stored::Variant { alternatives, .. }) => {
            nodes.iter().zip(alternatives).try_for_each(|(node, of)| {
                let Stored::List { offsets, items } = of else { return Ok(()) };
                let last = range.clone().next_back().map_or(0, |last| bounds(offsets, last).end);
                let inner = bounds(offsets, range.start).start.min(last)..last;
                check(node, items, inner).map_err(|(place, what)| (list_of(offsets, &range, place), what))
            })
        }
        // Missing lists are empty, and lists of a length are looked at where they are.
        (Node::Optional { item, .. }, Stored::Optional { valid, values }) => valid
            .slice(range.start, range.len())
            .set_slices()
            .try_for_each(|(start, end)| check(item, values, range.start + start..range.start + end)),
        (Node::Present { item, .. }, values) => check(item, values, range),
        _ => Ok(()),
    }
}

fn bounds(offsets: &ScalarBuffer<i64>, index: usize) -> Range<usize> {
    match (offsets.get(index), offsets.get(index + 1)) {
        (Some(start), Some(end)) => start.as_usize()..end.as_usize(),
        _ => 0..0,
    }
}

/// The list of a range that an item is in.
fn list_of(offsets: &ScalarBuffer<i64>, range: &Range<usize>, item: usize) -> usize {
    let ends = offsets.get(range.start + 1..=range.end).unwrap_or_default();
    range.start + ends.partition_point(|end| end.as_usize() <= item)
}

fn narrow(values: &[u8], range: Range<usize>) -> Result<(), Fault> {
    let numbers = values.as_chunks::<8>().0.get(range.clone()).unwrap_or_default();
    let is_too_large = |bytes: &[u8; 8]| {
        let value = f64::from_ne_bytes(*bytes);
        value.is_finite() && value.abs() > f64::from(f32::MAX)
    };
    match numbers.iter().position(is_too_large) {
        None => Ok(()),
        Some(index) => {
            let value = f64::from_ne_bytes(numbers[index]);
            Err((range.start + index, format!("{value:?}, which no Double32_t of single precision holds")))
        }
    }
}

/// That no two items, or keys, of a list are equal.
fn distinct(items: &Stored, range: Range<usize>, unique: Unique) -> Result<(), String> {
    if range.len() < 2 {
        return Ok(());
    }
    let (keys, what, instead) = match (unique, items) {
        (Unique::Items, items) => (items, "two equal items", "std::multiset or std::vector"),
        (Unique::Keys, Stored::Struct { members, .. }) => match members.first() {
            Some(keys) => (keys, "two equal keys", "std::multimap or std::vector<std::pair<K,V>>"),
            None => return Ok(()),
        },
        (Unique::Keys, _) => return Ok(()),
    };
    let (mut bytes, mut ends) = (Vec::new(), vec![0]);
    for index in range {
        if !write_key(keys, index, &mut bytes) {
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
fn write_key(values: &Stored, index: usize, out: &mut Vec<u8>) -> bool {
    let all = |of: &Stored, range: Range<usize>, out: &mut Vec<u8>| {
        out.extend_from_slice(&range.len().to_ne_bytes());
        range.into_iter().all(|item| write_key(of, item, out))
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
        Stored::Struct { members, .. } => members.iter().all(|member| write_key(member, index, out)),
        Stored::Variant { tags, alternatives } => {
            out.extend(tags.get(index));
            alternatives.iter().all(|of| write_key(of, index, out))
        }
        Stored::Optional { valid, values } => {
            out.push(valid.value(index).into());
            !valid.value(index) || write_key(values, index, out)
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
