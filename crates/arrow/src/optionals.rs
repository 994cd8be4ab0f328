//! Optional values: lists of at most one item, made values with nulls.

mod expand;

use arrow_array::UInt32Array;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType as ArrowType};

use crate::gaps::{check_nulls, with_gaps};
use expand::{expand, expand_bits};

/// Takes memory of so many bytes, has all of it written, and makes a buffer of it.
pub type MakeBuffer<'m> = dyn Fn(usize, &mut dyn FnMut(&mut [u8])) -> Buffer + 'm;

/// A buffer of memory that nobody has kept for it.
pub fn new_buffer(n_bytes: usize, fill: &mut dyn FnMut(&mut [u8])) -> Buffer {
    let mut bytes = vec![0; n_bytes];
    fill(&mut bytes);
    Buffer::from_vec(bytes)
}

/// Values that are there for each list of one item, and nulls for those of none.
///
/// `ends`: offsets of the lists, from 0 to the number of values, in order. `make_buffer`: for numbers at their places, which
/// may be as many bytes as all that is read.
///
/// # Errors
/// If a list has more items, if offsets lead outside of the values, or if the nulls would take too much memory.
pub fn optionals(values: ArrayData, ends: &[i32], make_buffer: &MakeBuffer<'_>) -> Result<ArrayData, ArrowError> {
    let [first, .., last] = ends else { return Ok(values) };
    if *first != 0 || usize::try_from(*last) != Ok(values.len()) {
        let what = format!("optional values from {first} to {last}, of {}", values.len());
        return Err(ArrowError::InvalidArgumentError(what));
    }
    if values.len() == ends.len() - 1 && all_there(ends) {
        return Ok(values);
    }
    let there = there(ends)?;
    check_nulls(there.len() - there.count_set_bits(), values.data_type())?;
    if is_spread(values.data_type()) {
        return Spread { ends, there, make_buffer }.array(values, true);
    }
    let places = ends.windows(2).map(|pair| pair[0].unsigned_abs()).collect::<Vec<u32>>();
    with_gaps(values, &UInt32Array::try_new(places.into(), Some(there.into()))?)
}

/// True if each list has one item.
fn all_there(ends: &[i32]) -> bool {
    let n = ends.len().saturating_sub(1);
    let differs =
        ends[..n].iter().zip(&ends[1..]).fold(0, |differs, (from, to)| differs | (to.wrapping_sub(*from) ^ 1));
    differs == 0
}

/// Which lists have an item.
fn there(ends: &[i32]) -> Result<BooleanBuffer, ArrowError> {
    let n = ends.len().saturating_sub(1);
    let mut bits = Vec::with_capacity(n.div_ceil(8));
    let mut wrong = 0;
    let mut steps = |from: &[i32], to: &[i32], steps: &mut [u8]| {
        for ((step, from), to) in steps.iter_mut().zip(from).zip(to) {
            let n_items = to.wrapping_sub(*from);
            wrong |= n_items & !1;
            *step = u8::from(n_items == 1);
        }
    };
    let (from, rest_from) = ends[..n].as_chunks::<64>();
    let (to, rest_to) = ends[1..].as_chunks::<64>();
    for (from, to) in from.iter().zip(to) {
        let mut block = [0; 64];
        steps(from, to, &mut block);
        bits.extend(block.as_chunks::<8>().0.iter().map(|word| packed(*word)));
    }
    for (from, to) in rest_from.chunks(8).zip(rest_to.chunks(8)) {
        let mut word = [0; 8];
        steps(from, to, &mut word);
        bits.push(packed(word));
    }
    if wrong != 0 {
        let n_items = ends.windows(2).map(|pair| i64::from(pair[1]) - i64::from(pair[0])).find(|n| !matches!(n, 0 | 1));
        let what = format!("an optional value of {} items", n_items.unwrap_or_default());
        return Err(ArrowError::InvalidArgumentError(what));
    }
    Ok(BooleanBuffer::new(bits.into(), 0, n))
}

/// The lowest bits of eight bytes in one.
fn packed(word: [u8; 8]) -> u8 {
    let [.., byte] = u64::from_le_bytes(word).wrapping_mul(0x0102_0408_1020_4080).to_le_bytes();
    byte
}

/// True if `spread` does a type; all others are taken one by one.
fn is_spread(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Boolean
        | ArrowType::Utf8
        | ArrowType::Binary
        | ArrowType::LargeUtf8
        | ArrowType::LargeBinary
        | ArrowType::Utf8View
        | ArrowType::BinaryView
        | ArrowType::List(_)
        | ArrowType::LargeList(_)
        | ArrowType::Map(..) => true,
        ArrowType::Struct(members) => members.iter().all(|member| is_spread(member.data_type())),
        other => other.primitive_width().is_some(),
    }
}

/// The places of values.
struct Spread<'s> {
    ends: &'s [i32],
    /// The same as bits, from the first bit of its buffer on.
    there: BooleanBuffer,
    make_buffer: &'s MakeBuffer<'s>,
}

impl Spread<'_> {
    /// Puts values at their places. What is missing is 0, an empty text or list; a null where the type has nulls.
    fn array(&self, values: ArrayData, is_nullable: bool) -> Result<ArrayData, ArrowError> {
        let Spread { ends, there, .. } = self;
        let offset = values.offset();
        let own = values.nulls().filter(|nulls| nulls.null_count() > 0);
        let nulls = match (is_nullable, own) {
            (false, _) => None,
            (true, None) => Some(NullBuffer::new(there.clone())),
            (true, Some(own)) => Some(NullBuffer::new(self.bits(own.validity(), own.offset()))),
        };
        let data_type = values.data_type().clone();
        let builder = ArrayData::builder(data_type.clone()).len(there.len()).nulls(nulls);
        let buffers = values.buffers();
        let data = match &data_type {
            ArrowType::Boolean => builder.add_buffer(self.bits(buffers[0].as_slice(), offset).into_inner()),
            ArrowType::Utf8View | ArrowType::BinaryView => {
                builder.add_buffer(self.fixed::<16>(&buffers[0], offset)).add_buffers(buffers[1..].to_vec())
            }
            ArrowType::LargeUtf8 | ArrowType::LargeBinary | ArrowType::LargeList(_) => {
                let offsets = spread_offsets::<i64>(buffers[0].typed_data(), offset, ends);
                builder.add_buffer(offsets).add_buffers(buffers[1..].to_vec()).child_data(values.child_data().to_vec())
            }
            ArrowType::Utf8 | ArrowType::Binary | ArrowType::List(_) | ArrowType::Map(..) => {
                let offsets = spread_offsets::<i32>(buffers[0].typed_data(), offset, ends);
                builder.add_buffer(offsets).add_buffers(buffers[1..].to_vec()).child_data(values.child_data().to_vec())
            }
            ArrowType::Struct(members) => {
                let children = values.child_data().iter().zip(members);
                let children =
                    children.map(|(child, member)| self.array(child.slice(offset, values.len()), member.is_nullable()));
                builder.child_data(children.collect::<Result<_, _>>()?)
            }
            other => builder.add_buffer(match other.primitive_width() {
                Some(1) => self.fixed::<1>(&buffers[0], offset),
                Some(2) => self.fixed::<2>(&buffers[0], offset),
                Some(4) => self.fixed::<4>(&buffers[0], offset),
                Some(8) => self.fixed::<8>(&buffers[0], offset),
                Some(16) => self.fixed::<16>(&buffers[0], offset),
                Some(32) => self.fixed::<32>(&buffers[0], offset),
                _ => return Err(ArrowError::InvalidArgumentError(format!("optional values of {other}"))),
            }),
        };
        #[expect(unsafe_code, reason = "to find valid values valid again costs more than all else")]
        // SAFETY: `there` was made of `ends`, which are in order and inside of the values (`optionals` has looked): a place
        // has a value of a valid array, or 0, or an empty list between two others; buffers and nulls have a place for each.
        Ok(unsafe { data.build_unchecked() })
    }

    /// Values of `N` bytes.
    fn fixed<const N: usize>(&self, values: &Buffer, offset: usize) -> Buffer {
        let values = values.as_slice().get(offset * N..).unwrap_or_default().as_chunks::<N>().0;
        let n_bytes = self.there.len().saturating_mul(N);
        (self.make_buffer)(n_bytes, &mut |out| expand(values, self.there.values(), out.as_chunks_mut::<N>().0))
    }

    fn bits(&self, values: &[u8], offset: usize) -> BooleanBuffer {
        let n = self.there.len();
        let mut out = vec![0; n.div_ceil(8)];
        expand_bits(values, offset, self.there.values(), &mut out);
        BooleanBuffer::new(out.into(), 0, n)
    }
}

/// Offsets of lists, those of missing ones empty.
fn spread_offsets<O: arrow_buffer::ArrowNativeType + Default>(offsets: &[O], offset: usize, ends: &[i32]) -> Buffer {
    let offsets = offsets.get(offset..).unwrap_or_default();
    let at = |end: &i32| usize::try_from(*end).ok().and_then(|end| offsets.get(end)).copied().unwrap_or_default();
    Buffer::from_vec(ends.iter().map(at).collect::<Vec<O>>())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        Array, ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Int64Array, ListArray, StringArray,
        StringViewArray, StructArray, make_array,
    };
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Arrays of every kind of that length, with values made from numbers.
    fn arrays(numbers: &[u8]) -> Vec<ArrayRef> {
        let texts = || numbers.iter().map(|number| "abc\u{e9}".repeat(usize::from(*number % 3)));
        let floats: ArrayRef = Arc::new(numbers.iter().map(|&number| f32::from(number)).collect::<Float32Array>());
        let perhaps: ArrayRef = Arc::new(
            numbers.iter().map(|&number| (number % 4 > 0).then_some(i64::from(number))).collect::<Int64Array>(),
        );
        let bools: ArrayRef = Arc::new(numbers.iter().map(|&number| Some(number % 2 > 0)).collect::<BooleanArray>());
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts()));
        let views: ArrayRef = Arc::new(StringViewArray::from_iter_values(
            numbers.iter().map(|number| "a long text that is not in the view".repeat(usize::from(*number % 3))),
        ));
        let lengths: OffsetBuffer<i32> =
            OffsetBuffer::from_lengths(numbers.iter().map(|number| usize::from(number % 4)));
        let items = Int64Array::from_iter_values(0..i64::from(lengths.last()));
        let field =
            |array: &ArrayRef, is_nullable| Arc::new(Field::new("item", array.data_type().clone(), is_nullable));
        let items: ArrayRef = Arc::new(items);
        let lists: ArrayRef = Arc::new(ListArray::new(field(&items, false), lengths, items, None));
        let pairs: ArrayRef =
            Arc::new(Int64Array::from_iter_values((0..2 * numbers.len()).map(|n| i64::try_from(n).unwrap())));
        let pairs: ArrayRef = Arc::new(FixedSizeListArray::new(field(&pairs, false), 2, pairs, None));
        let members = [(&floats, false), (&perhaps, true), (&texts, false), (&lists, false)];
        let of_all = |members: &[(&ArrayRef, bool)]| -> ArrayRef {
            let members = members.iter().enumerate().map(|(index, (array, is_nullable))| {
                let field = Field::new(index.to_string(), array.data_type().clone(), *is_nullable);
                (Arc::new(field), Arc::clone(array))
            });
            Arc::new(StructArray::from(members.collect::<Vec<_>>()))
        };
        let all = (!numbers.is_empty()).then(|| [of_all(&members), of_all(&[(&floats, false), (&pairs, false)])]);
        let mut arrays = vec![floats, perhaps, bools, texts, views, lists, pairs];
        arrays.extend(all.into_iter().flatten());
        arrays
    }

    proptest! {
        #[test]
        fn values_are_where_taking_them_one_by_one_puts_them(
            numbers in vec(any::<u8>(), 0..200), gaps in vec(0_usize..3, 0..200), skipped in 0_usize..9
        ) {
            let skipped = skipped.min(numbers.len());
            let n = numbers.len() - skipped;
            let mut ends = vec![0_i32];
            let mut n_items = 0;
            for n_gaps in gaps.iter().copied().chain([0, 1]).cycle().take(n.max(1)) {
                ends.extend(std::iter::repeat_n(n_items, n_gaps));
                if usize::try_from(n_items).unwrap() < n {
                    n_items += 1;
                    ends.push(n_items);
                }
            }
            let places: UInt32Array = ends.windows(2).map(|pair| (pair[1] > pair[0]).then(|| pair[0].unsigned_abs())).collect();
            for array in arrays(&numbers) {
                let array = array.slice(skipped, n);
                let found = optionals(array.to_data(), &ends, &new_buffer).unwrap();
                found.validate_full().unwrap();
                let naive = make_array(with_gaps(array.to_data(), &places).unwrap());
                prop_assert_eq!(&make_array(found), &naive);
            }
        }

        #[test]
        fn wrong_ends_are_errors(ends in vec(-2_i32..9, 0..9), n in 0_u8..9) {
            let is_right = ends.len() < 2 || ends[0] == 0
                && ends.last().copied() == Some(i32::from(n))
                && ends.windows(2).all(|pair| matches!(pair[1] - pair[0], 0 | 1));
            for array in arrays(&(0..n).collect::<Vec<_>>()) {
                prop_assert_eq!(optionals(array.to_data(), &ends, &new_buffer).is_ok(), is_right);
            }
        }
    }
}
