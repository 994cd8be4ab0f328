//! Values of one type as another: members whose type has changed between versions of their class.
//!
//! Source: `TStreamerInfo::ReadBufferConv`, `TGenCollectionStreamer` (ROOT 6.40).

use super::objects::Reader;
use super::refill::{n_in_missing, refill};
use super::values::{Values, append_ends, integer_at};
use crate::column::{Conversion, Name, Step};
use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};
use crate::streamer::Primitive;

impl<'a> Reader<'a> {
    /// Reads so many values of a member as they are stored, and appends them as what comes out.
    pub(super) fn converted(
        &mut self,
        cursor: &mut Cursor<'a>,
        conversion: &Conversion,
        n_values: usize,
        out: &mut Values,
    ) -> Result<()> {
        let mut stored = Values::empty(&conversion.stored.data_type());
        self.column(cursor, &conversion.stored, n_values, &mut stored)?;
        append(stored, out, &mut |n_more| self.take_free(cursor, n_more))
    }

    /// The same of a base that writes itself, where members are stored one by one.
    pub(super) fn converted_bases(
        &mut self,
        cursor: &mut Cursor<'a>,
        conversion: &Conversion,
        n_values: usize,
        out: &mut Values,
    ) -> Result<()> {
        let mut base = [(Name::from(""), Values::empty(&conversion.stored.data_type()))];
        self.own_bases(cursor, 0, &conversion.stored, n_values, &mut base)?;
        let [(_, stored)] = base;
        append(stored, out, &mut |n_more| self.take_free(cursor, n_more))
    }

    /// Reads a member of so many objects that has no place in what comes out.
    pub(super) fn pass_over(
        &mut self,
        cursor: &mut Cursor<'a>,
        step: &Step,
        n_values: usize,
        columns: &[(Name, Values)],
    ) -> Result<()> {
        match step {
            Step::Member(_, node) => self.column(cursor, node, n_values, &mut Values::empty(&node.data_type())),
            Step::Counted { item, counter, factor, head, .. } => {
                let counts = self.counts(cursor, *counter, n_values, columns)?;
                let mut items = Values::empty(&item.data_type());
                self.arrays(cursor, item, *factor, *head, &counts, &mut Vec::new(), &mut items)
            }
            step => self.step(cursor, step, &mut []),
        }
    }
}

/// Appends values as those of another type. `take_free` is asked for items of which nothing is stored.
fn append(values: Values, out: &mut Values, take_free: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
    match (values, out) {
        (values @ Values::Optional(..), out) if !holds_arrays(out) => out.append(values),
        (values, Values::Optional(is_there, out)) => {
            is_there.resize(is_there.len() + values.len(), 1);
            append(values, out, take_free)
        }
        (Values::Primitive(from, stored), Values::Primitive(to, bytes)) => {
            numbers(&stored, from, *to, bytes);
            Ok(())
        }
        (values @ Values::FixedList(..), out) | (values, out @ Values::FixedList(..)) => arrays(values, out, take_free),
        (Values::List(ends, items), Values::List(out_ends, out)) => {
            append_ends(out_ends, &ends, out.len())?;
            append(*items, out, take_free)
        }
        (Values::Map(ends, keys, values), Values::Map(out_ends, out_keys, out_values)) => {
            append_ends(out_ends, &ends, out_keys.len())?;
            append(*keys, out_keys, take_free)?;
            append(*values, out_values, take_free)
        }
        (Values::Map(ends, keys, values), Values::List(out_ends, pairs)) => {
            append_ends(out_ends, &ends, pairs.len())?;
            let members = [*keys, *values].map(|member| (Name::from(""), member));
            append(Values::Struct(members[0].1.len(), members.into()), pairs, take_free)
        }
        (Values::List(ends, pairs), Values::Map(out_ends, keys, values)) => {
            append_ends(out_ends, &ends, keys.len())?;
            let Values::Struct(_, members) = *pairs else { return Err(misfit()) };
            for ((_, member), out) in members.into_iter().zip([keys, values]) {
                append(member, out, take_free)?;
            }
            Ok(())
        }
        (Values::Struct(n_values, members), Values::Struct(n_out, out)) => {
            *n_out += n_values;
            for ((_, member), (name, out)) in members.into_iter().zip(out) {
                append(member, out, take_free).within(|| name.to_string())?;
            }
            Ok(())
        }
        (values, out) => out.append(values),
    }
}

/// Fills arrays item by item, in the order of memory: what is too much is left out, and what is missing is 0 or empty.
fn arrays(values: Values, out: &mut Values, take_free: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
    let (values, n_from) = items_of(values);
    let (out, n_to) = places_of(out);
    if n_from == n_to {
        return append(values, out, take_free);
    }
    let n_arrays = values.len() / n_from.max(1);
    if n_arrays == 0 {
        return Ok(()); // whatever length a file gives them
    }
    let n_missing = n_arrays.saturating_mul(n_to.saturating_sub(n_from));
    take_free(n_missing.saturating_mul(n_in_missing(&values)))?;
    append(refill(&values, n_from, n_to)?, out, take_free)
}

/// The innermost items of fixed arrays in each other, and how many each has.
fn items_of(values: Values) -> (Values, usize) {
    match values {
        Values::FixedList(items, n_items) => {
            let (items, n) = items_of(*items);
            (items, n.saturating_mul(n_items as usize))
        }
        values => (values, 1),
    }
}

fn places_of(values: &mut Values) -> (&mut Values, usize) {
    match values {
        Values::FixedList(items, n_items) => {
            let (items, n) = places_of(items);
            (items, n.saturating_mul(*n_items as usize))
        }
        values => (values, 1),
    }
}

fn holds_arrays(out: &Values) -> bool {
    match out {
        Values::Optional(_, out) => holds_arrays(out),
        out => matches!(out, Values::FixedList(..)),
    }
}

fn misfit() -> Error {
    Error::corrupt(0, "a member that was to be converted to another type")
}

/// Appends numbers of the machine as another type.
fn numbers(stored: &[u8], from: Primitive, to: Primitive, out: &mut Vec<u8>) {
    for number in stored.chunks_exact(from.stored_bytes()) {
        match from {
            Primitive::Float32 => {
                push_float(number.first_chunk().map_or(0.0, |b| f32::from_ne_bytes(*b).into()), to, out)
            }
            Primitive::Float64 => push_float(number.first_chunk().map_or(0.0, |b| f64::from_ne_bytes(*b)), to, out),
            Primitive::UInt64 => {
                push_integer(number.first_chunk().map_or(0, |b| u64::from_ne_bytes(*b).into()), to, out)
            }
            from => push_integer(integer_at(from, number, 0).map_or(0, i128::from), to, out),
        }
    }
}

/// An integer as an assignment in C++ leaves it: its lowest bits.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "as in C++")]
fn push_integer(value: i128, to: Primitive, out: &mut Vec<u8>) {
    match to {
        Primitive::Float32 | Primitive::Float16 => out.extend_from_slice(&(value as f32).to_ne_bytes()),
        Primitive::Float64 | Primitive::Double32 => out.extend_from_slice(&(value as f64).to_ne_bytes()),
        Primitive::Bool => out.push(u8::from(value != 0)),
        to => push_lowest(value as u64, to, out),
    }
}

/// A floating-point number as ROOT leaves it where it is compiled for x86-64. C++ says nothing of what an integer cannot
/// hold; the instructions of the processor give the smallest of 32 or 64 bits, of which the lowest are kept.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as in C++")]
fn push_float(value: f64, to: Primitive, out: &mut Vec<u8>) {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    // `as` would saturate.
    let to_i32 = |value: f64| if value.trunc().abs() < 2_147_483_648.0 { value as i32 } else { i32::MIN };
    let to_i64 = |value: f64| if value.trunc().abs() < TWO_63 { value as i64 } else { i64::MIN };
    match to {
        Primitive::Float32 | Primitive::Float16 => out.extend_from_slice(&(value as f32).to_ne_bytes()),
        Primitive::Float64 | Primitive::Double32 => out.extend_from_slice(&value.to_ne_bytes()),
        Primitive::Bool => out.push(u8::from(value != 0.0)),
        // What is over 2^63 is read as the rest, and then has the highest bit turned.
        Primitive::UInt64 if value >= TWO_63 => {
            out.extend_from_slice(&(to_i64(value - TWO_63) as u64 ^ 1 << 63).to_ne_bytes());
        }
        to if to == Primitive::UInt32 || to.stored_bytes() == 8 => push_lowest(to_i64(value) as u64, to, out),
        to => push_lowest(i64::from(to_i32(value)) as u64, to, out),
    }
}

/// The lowest bits of a number, as many as the type has.
#[expect(clippy::cast_possible_truncation, reason = "the lowest bits are wanted")]
fn push_lowest(bits: u64, to: Primitive, out: &mut Vec<u8>) {
    match to.stored_bytes() {
        1 => out.push(bits as u8),
        2 => out.extend_from_slice(&(bits as u16).to_ne_bytes()),
        4 => out.extend_from_slice(&(bits as u32).to_ne_bytes()),
        _ => out.extend_from_slice(&bits.to_ne_bytes()),
    }
}

#[cfg(test)]
mod tests;
