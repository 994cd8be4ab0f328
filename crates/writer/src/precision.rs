//! Reduced precision that every reader takes: mantissas whose last bits are 0.

use std::ops::Range;

use arrow_buffer::Buffer;
use arrowroot_arrow::Stored;
use arrowroot_format::streamer::Primitive;

/// Bits of mantissa of a float.
const MANTISSA_BITS: u32 = 23;

/// The values with `n_bits` (1 to 22) bits of mantissa, where they are numbers of single precision, at any depth. What is
/// outside of `range` becomes 0: others never look at it.
pub(crate) fn with_mantissas(values: Stored, range: Range<usize>, n_bits: u8) -> Stored {
    match values {
        Stored::Numbers { primitive: Primitive::Float32, values } => {
            let rounding = Rounding::to(n_bits);
            let (from, _) = values.as_chunks::<4>();
            // Fresh memory that is not touched costs nothing.
            let mut rounded = vec![0_u32; from.len()];
            let range = range.start.min(from.len())..range.end.min(from.len());
            for (to, from) in rounded[range.clone()].iter_mut().zip(&from[range]) {
                *to = rounding.of(u32::from_ne_bytes(*from));
            }
            Stored::Numbers { primitive: Primitive::Float32, values: Buffer::from_vec(rounded) }
        }
        Stored::List { offsets, items } => {
            let at = |index: usize| offsets.get(index).map_or(0, |offset| usize::try_from(*offset).unwrap_or_default());
            let inside = at(range.start)..at(range.end);
            let items = Box::new(with_mantissas(*items, inside, n_bits));
            Stored::List { offsets, items }
        }
        Stored::Fixed { len, n_items, items } => {
            let inside = range.start * n_items..range.end * n_items;
            Stored::Fixed { len, n_items, items: Box::new(with_mantissas(*items, inside, n_bits)) }
        }
        Stored::Struct { len, members } => {
            let members = members.into_iter().map(|member| with_mantissas(member, range.clone(), n_bits)).collect();
            Stored::Struct { len, members }
        }
        Stored::Variant { tags, alternatives } => {
            let of = |of| with_mantissas(of, range.clone(), n_bits);
            Stored::Variant { tags, alternatives: alternatives.into_iter().map(of).collect() }
        }
        Stored::Optional { valid, values } => {
            Stored::Optional { valid, values: Box::new(with_mantissas(*values, range, n_bits)) }
        }
        other => other,
    }
}

/// How NanoAOD rounds: to the nearest, but never up into the next exponent, and never to the largest mantissa.
///
/// Source: `MiniFloatConverter::ReduceMantissaToNbitsRounding` (CMSSW, `DataFormats/Math/interface/libminifloat.h`).
#[derive(Debug, Clone, Copy)]
struct Rounding {
    shift: u32,
    most: u32,
}

impl Rounding {
    fn to(n_bits: u8) -> Self {
        let n_bits = u32::from(n_bits).clamp(1, MANTISSA_BITS - 1);
        Rounding { shift: MANTISSA_BITS - n_bits, most: (1 << n_bits) - 2 }
    }

    #[inline]
    fn of(self, word: u32) -> u32 {
        const MANTISSA: u32 = (1 << MANTISSA_BITS) - 1;
        let mantissa = (word & MANTISSA) >> self.shift;
        let is_next = (word >> (self.shift - 1) & 1 == 1) & (mantissa < self.most);
        let rounded = word & !MANTISSA | (mantissa + u32::from(is_next)) << self.shift;
        // A NaN whose lower bits alone say that it is one stays one.
        let is_nan = word & !(1 << 31) > 0xFF << MANTISSA_BITS;
        if is_nan { word | 1 << (MANTISSA_BITS - 1) } else { rounded }
    }
}

#[cfg(test)]
mod tests {
    use arrow_buffer::{BooleanBuffer, ScalarBuffer};
    use proptest::prelude::*;

    use super::*;

    fn reduced(value: f32, n_bits: u8) -> f32 {
        f32::from_bits(Rounding::to(n_bits).of(value.to_bits()))
    }

    #[test]
    fn mantissas_are_those_of_nanoaod() {
        // As ReduceMantissaToNbitsRounding makes them.
        for (value, n_bits, expected) in [
            (1.0, 10, 1.0),
            (1.000_488_3, 10, 1.000_976_6),
            (-1.000_488_3, 10, -1.000_976_6),
            (1.000_488_2, 10, 1.0),
            (1.999_999, 10, 1.999_023_4),
            (1.998_535_2, 10, 1.998_046_9),
            (std::f32::consts::PI, 12, 3.141_601_6),
            (f32::INFINITY, 10, f32::INFINITY),
            (0.0, 3, 0.0),
        ] {
            assert_eq!(reduced(value, n_bits).to_bits(), f32::to_bits(expected), "{value} to {n_bits} bits");
        }
        assert!(reduced(f32::from_bits(0x7F80_0001), 10).is_nan());
    }

    #[test]
    fn numbers_are_found_at_any_depth_and_others_stay() {
        let floats =
            |values: &[f32]| Stored::Numbers { primitive: Primitive::Float32, values: Buffer::from_slice_ref(values) };
        let others =
            Stored::Numbers { primitive: Primitive::Float64, values: Buffer::from_slice_ref([1.000_488_3; 4]) };
        let members = vec![floats(&[1.000_488_3; 4]), others];
        let items = Stored::Struct { len: 4, members };
        let list = Stored::List { offsets: ScalarBuffer::from(vec![1, 1, 3]), items: Box::new(items) };
        let stored = Stored::Optional { valid: BooleanBuffer::new_set(2), values: Box::new(list) };
        let Stored::Optional { values, .. } = with_mantissas(stored, 0..2, 10) else { panic!("an optional") };
        let Stored::List { items, .. } = *values else { panic!("a list") };
        let Stored::Struct { members, .. } = *items else { panic!("a struct") };
        let Stored::Numbers { values, .. } = &members[0] else { panic!("numbers") };
        assert_eq!(values.typed_data::<f32>(), [0.0, 1.000_976_6, 1.000_976_6, 0.0]);
        let Stored::Numbers { values, .. } = &members[1] else { panic!("numbers") };
        assert_eq!(values.typed_data::<f64>(), [1.000_488_3; 4]);
    }

    proptest! {
        #[test]
        fn errors_are_at_most_half_a_step(value in prop::num::f32::NORMAL, n_bits in 1_u8..23) {
            let half = 0.5_f64.powi(i32::from(n_bits) + 1);
            let most = f64::from(value).abs() * half / (1.0 - half);
            prop_assert!((f64::from(reduced(value, n_bits)) - f64::from(value)).abs() <= most);
            prop_assert_eq!(reduced(value, n_bits).to_bits() << (9 + n_bits), 0);
        }
    }
}
