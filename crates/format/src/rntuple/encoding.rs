//! Column types: what an element is, and how a page stores it.

use crate::streamer::Primitive;

/// What the elements of a column are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Encoding {
    /// Bits, lowest first.
    Bit,
    /// Little-endian numbers, one after the other.
    Plain(Primitive),
    /// All first bytes of the numbers, then all second bytes, and so on.
    Split(Primitive),
    /// The same of signed integers whose sign moved to the lowest bit.
    ZigZag(Primitive),
    /// IEEE half precision.
    Half {
        /// Stored as [`Encoding::Split`].
        is_split: bool,
    },
    /// The highest bits of single precision, packed.
    Truncated {
        /// Bits of an element.
        bits: u8,
    },
    /// Steps between `min` and `max`, packed.
    Quantized {
        /// Bits of an element.
        bits: u8,
        /// Value of the step 0.
        min: f64,
        /// Value of the highest step.
        max: f64,
    },
    /// Ends of lists in the cluster, in words of 4 or 8 bytes.
    Index {
        /// Bytes of an element.
        width: usize,
        /// Differences are stored, split.
        is_delta: bool,
    },
    /// Alternatives of variants: a place in the cluster (8 bytes), and a tag (4 bytes).
    Switch,
}

/// A column type as the schema names it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnType {
    /// The number of the type.
    pub code: u16,
    /// Bits of an element.
    pub bits: u16,
    /// `None` if the type, or this number of bits of it, is not known.
    pub encoding: Option<Encoding>,
}

/// How many bits elements of a column type have, and what they are.
enum Kind {
    /// Always so many.
    Fixed(u16, Encoding),
    /// As many as the column says: [`Encoding::Truncated`].
    Truncated,
    /// As many as the column says: [`Encoding::Quantized`].
    Quantized,
}

/// The column types by their codes. Source: `ENTupleColumnType` and the specification.
const TYPES: [(&str, Kind); 30] = {
    use Encoding::{Bit, Half, Index, Plain, Split, Switch, ZigZag};
    use Kind::Fixed;
    use Primitive::{Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    [
        ("Bit", Fixed(1, Bit)),
        ("Byte", Fixed(8, Plain(UInt8))),
        ("Char", Fixed(8, Plain(Int8))),
        ("Int8", Fixed(8, Plain(Int8))),
        ("UInt8", Fixed(8, Plain(UInt8))),
        ("Int16", Fixed(16, Plain(Int16))),
        ("UInt16", Fixed(16, Plain(UInt16))),
        ("Int32", Fixed(32, Plain(Int32))),
        ("UInt32", Fixed(32, Plain(UInt32))),
        ("Int64", Fixed(64, Plain(Int64))),
        ("UInt64", Fixed(64, Plain(UInt64))),
        ("Real16", Fixed(16, Half { is_split: false })),
        ("Real32", Fixed(32, Plain(Float32))),
        ("Real64", Fixed(64, Plain(Float64))),
        ("Index32", Fixed(32, Index { width: 4, is_delta: false })),
        ("Index64", Fixed(64, Index { width: 8, is_delta: false })),
        ("Switch", Fixed(96, Switch)),
        ("SplitInt16", Fixed(16, ZigZag(Int16))),
        ("SplitUInt16", Fixed(16, Split(UInt16))),
        ("SplitInt32", Fixed(32, ZigZag(Int32))),
        ("SplitUInt32", Fixed(32, Split(UInt32))),
        ("SplitInt64", Fixed(64, ZigZag(Int64))),
        ("SplitUInt64", Fixed(64, Split(UInt64))),
        ("SplitReal16", Fixed(16, Half { is_split: true })),
        ("SplitReal32", Fixed(32, Split(Float32))),
        ("SplitReal64", Fixed(64, Split(Float64))),
        ("SplitIndex32", Fixed(32, Index { width: 4, is_delta: true })),
        ("SplitIndex64", Fixed(64, Index { width: 8, is_delta: true })),
        ("Real32Trunc", Kind::Truncated),
        ("Real32Quant", Kind::Quantized),
    ]
};

impl ColumnType {
    /// Bytes that are no numbers.
    pub const BYTE: ColumnType = ColumnType { code: 1, bits: 8, encoding: Some(Encoding::Plain(Primitive::UInt8)) };
    /// Characters.
    pub const CHAR: ColumnType = ColumnType { code: 2, bits: 8, encoding: Some(Encoding::Plain(Primitive::Int8)) };

    /// `range`: smallest and largest value, of columns that have one.
    pub(super) fn new(code: u16, bits: u16, range: Option<(f64, f64)>) -> Self {
        let narrow = u8::try_from(bits).unwrap_or(u8::MAX);
        let encoding = match TYPES.get(usize::from(code)) {
            Some((_, Kind::Fixed(expected, encoding))) => (bits == *expected).then_some(*encoding),
            Some((_, Kind::Truncated)) => (10..=31).contains(&bits).then_some(Encoding::Truncated { bits: narrow }),
            Some((_, Kind::Quantized)) => range
                .filter(|_| (1..=32).contains(&bits))
                .map(|(min, max)| Encoding::Quantized { bits: narrow, min, max }),
            None => None,
        };
        ColumnType { code, bits, encoding }
    }

    /// The type of columns of numbers, bools or ends of lists that are stored in this way; `None` if there is none. Bytes
    /// are taken for integers: see [`ColumnType::BYTE`], [`ColumnType::CHAR`].
    pub fn of(encoding: Encoding) -> Option<Self> {
        let range = match encoding {
            Encoding::Quantized { min, max, .. } => Some((min, max)),
            _ => None,
        };
        // From the last on: bytes and characters come before the integers that they look like.
        let numbered = (0_u16..).zip(&TYPES).collect::<Vec<_>>();
        numbered.into_iter().rev().find_map(|(code, (_, kind))| {
            let bits = match (kind, encoding) {
                (Kind::Fixed(bits, _), _) => *bits,
                (Kind::Truncated, Encoding::Truncated { bits }) => bits.into(),
                (Kind::Quantized, Encoding::Quantized { bits, .. }) => bits.into(),
                _ => return None,
            };
            Some(ColumnType::new(code, bits, range)).filter(|found| found.encoding == Some(encoding))
        })
    }

    /// As the specification names it.
    pub fn name(self) -> String {
        match TYPES.get(usize::from(self.code)) {
            Some((name, Kind::Fixed(..))) => (*name).to_owned(),
            Some((name, _)) => format!("{name} of {} bits", self.bits),
            None => format!("column type {:#x}", self.code),
        }
    }

    /// Bytes of an uncompressed page; `None` if that is more than can be addressed.
    pub fn page_bytes(self, n_elements: u64) -> Option<usize> {
        let n_bits = n_elements.checked_mul(u64::from(self.bits))?;
        usize::try_from(n_bits.div_ceil(8)).ok()
    }
}

impl Encoding {
    /// The number that comes out; `None` for ends of lists and switches.
    pub fn primitive(self) -> Option<Primitive> {
        match self {
            Encoding::Bit => Some(Primitive::Bool),
            Encoding::Plain(primitive) | Encoding::Split(primitive) | Encoding::ZigZag(primitive) => Some(primitive),
            Encoding::Half { .. } | Encoding::Truncated { .. } | Encoding::Quantized { .. } => Some(Primitive::Float32),
            Encoding::Index { .. } | Encoding::Switch => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_encoding_has_a_column_type_of_that_encoding() {
        for code in 0..u16::try_from(TYPES.len()).unwrap() {
            for bits in 0..=100 {
                let column_type = ColumnType::new(code, bits, Some((-1.0, 2.0)));
                let Some(encoding) = column_type.encoding else { continue };
                let found = ColumnType::of(encoding).unwrap();
                let is_byte = [ColumnType::BYTE, ColumnType::CHAR].contains(&column_type);
                assert_eq!((found.encoding, found.bits), (Some(encoding), bits));
                assert_eq!(found == column_type, !is_byte, "{}", column_type.name());
            }
        }
        assert_eq!(ColumnType::new(9, 32, None).encoding, None);
        assert_eq!(ColumnType::of(Encoding::Truncated { bits: 9 }), None);
    }
}
