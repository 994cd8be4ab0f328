//! Values that C++ would not give back: items of sets that are equal, keys of maps, lists of another length.

use std::ops::Range;
use std::sync::Arc;

use arrowroot_arrow::Stored;

use super::fields::Node;
use crate::check::{Check, CheckValues, Fault};
use crate::unique::{Compared, Unique, bounds, distinct, distinct_in, in_lists, list_of};

/// The types of maps whose keys may be equal.
const KEYS: &str = "std::multimap or std::vector<std::pair<K,V>>";

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
            unique.is_some_and(Unique::needs_check) || needs_check(item)
        }
        Node::Fixed { item } | Node::Optional { item, .. } | Node::Present { item, .. } | Node::Beside { item, .. } => {
            needs_check(item)
        }
        Node::Struct { members: parts } | Node::Variant { alternatives: parts, .. } => parts.iter().any(needs_check),
    }
}

/// How values of a field are compared.
fn compared(node: &Node) -> Compared {
    let (is_unordered, parts) = match node {
        Node::Numbers { .. } | Node::Narrow { .. } | Node::Bits { .. } | Node::Validity { .. } | Node::Text { .. } => {
            (false, Vec::new())
        }
        Node::List { item, unique, .. } | Node::FixedAsList { item, unique, .. } => {
            (unique.is_some(), vec![compared(item)])
        }
        Node::Fixed { item } | Node::ListAsFixed { item, .. } | Node::Optional { item, .. } => {
            (false, vec![compared(item)])
        }
        Node::Struct { members: parts } | Node::Variant { alternatives: parts, .. } => {
            (false, parts.iter().map(compared).collect())
        }
        // Its values are those of its item, and no set has a member that came up later.
        Node::Present { item, .. } | Node::Beside { item, .. } => return compared(item),
    };
    Compared { is_unordered, parts }
}

fn check(node: &Node, values: &Stored, range: Range<usize>) -> Result<(), Fault> {
    if !needs_check(node) {
        return Ok(());
    }
    match (node, values) {
        (Node::Narrow { .. }, Stored::Numbers { values, .. }) => narrow(values, range),
        (Node::List { item, unique, .. }, Stored::List { offsets, items }) => {
            if let Some(unique) = unique {
                distinct_in(offsets, (items, &compared(item)), range.clone(), *unique, KEYS)?;
            }
            in_lists(offsets, range, |inner| check(item, items, inner))
        }
        (Node::Beside { item, .. }, Stored::List { offsets, items }) => {
            in_lists(offsets, range, |inner| check(item, items, inner))
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
                let compared = compared(item);
                for index in range.clone() {
                    let inside = index * n_items..(index + 1) * n_items;
                    distinct((items, &compared), inside, *unique, KEYS).map_err(|what| (index, what))?;
                }
            }
            check(item, items, range.start * n_items..range.end * n_items)
                .map_err(|(place, what)| (place / (*n_items).max(1), what))
        }
        (Node::Fixed { item } | Node::Beside { item, .. }, Stored::Fixed { n_items, items, .. }) => {
            let inside = range.start * n_items..range.end * n_items;
            check(item, items, inside).map_err(|(place, what)| (place / (*n_items).max(1), what))
        }
        (Node::Struct { members: nodes }, Stored::Struct { members, .. }) => {
            nodes.iter().zip(members).try_for_each(|(node, member)| check(node, member, range.clone()))
        }
        (Node::Variant { alternatives: nodes, .. }, Stored::Variant { alternatives, .. }) => {
            nodes.iter().zip(alternatives).try_for_each(|(node, of)| {
                let Stored::List { offsets, items } = of else { return Ok(()) };
                in_lists(offsets, range.clone(), |inner| check(node, items, inner))
            })
        }
        // Missing lists are empty, and lists of a length are looked at where they are.
        (Node::Optional { item, .. } | Node::Beside { item, .. }, Stored::Optional { valid, values }) => valid
            .slice(range.start, range.len())
            .set_slices()
            .try_for_each(|(start, end)| check(item, values, range.start + start..range.start + end)),
        (Node::Present { item, .. }, values) => check(item, values, range),
        _ => Ok(()),
    }
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
