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

impl ColumnType {
    /// `range`: smallest and largest value, of columns that have one.
    pub(super) fn new(code: u16, bits: u16, range: Option<(f64, f64)>) -> Self {
        use Primitive::{Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
        let narrow = u8::try_from(bits).unwrap_or(u8::MAX);
        let (expected, encoding) = match code {
            0x00 => (1, Encoding::Bit),
            0x01 | 0x04 => (8, Encoding::Plain(UInt8)),
            0x02 | 0x03 => (8, Encoding::Plain(Int8)),
            0x05 => (16, Encoding::Plain(Int16)),
            0x06 => (16, Encoding::Plain(UInt16)),
            0x07 => (32, Encoding::Plain(Int32)),
            0x08 => (32, Encoding::Plain(UInt32)),
            0x09 => (64, Encoding::Plain(Int64)),
            0x0A => (64, Encoding::Plain(UInt64)),
            0x0B => (16, Encoding::Half { is_split: false }),
            0x0C => (32, Encoding::Plain(Float32)),
            0x0D => (64, Encoding::Plain(Float64)),
            0x0E => (32, Encoding::Index { width: 4, is_delta: false }),
            0x0F => (64, Encoding::Index { width: 8, is_delta: false }),
            0x10 => (96, Encoding::Switch),
            0x11 => (16, Encoding::ZigZag(Int16)),
            0x12 => (16, Encoding::Split(UInt16)),
            0x13 => (32, Encoding::ZigZag(Int32)),
            0x14 => (32, Encoding::Split(UInt32)),
            0x15 => (64, Encoding::ZigZag(Int64)),
            0x16 => (64, Encoding::Split(UInt64)),
            0x17 => (16, Encoding::Half { is_split: true }),
            0x18 => (32, Encoding::Split(Float32)),
            0x19 => (64, Encoding::Split(Float64)),
            0x1A => (32, Encoding::Index { width: 4, is_delta: true }),
            0x1B => (64, Encoding::Index { width: 8, is_delta: true }),
            0x1C if (10..=31).contains(&bits) => (bits, Encoding::Truncated { bits: narrow }),
            0x1D if (1..=32).contains(&bits) => match range {
                Some((min, max)) => (bits, Encoding::Quantized { bits: narrow, min, max }),
                None => return ColumnType { code, bits, encoding: None },
            },
            _ => return ColumnType { code, bits, encoding: None },
        };
        ColumnType { code, bits, encoding: (bits == expected).then_some(encoding) }
    }

    /// As the specification names it.
    pub fn name(self) -> String {
        const NAMES: [&str; 30] = [
            "Bit",
            "Byte",
            "Char",
            "Int8",
            "UInt8",
            "Int16",
            "UInt16",
            "Int32",
            "UInt32",
            "Int64",
            "UInt64",
            "Real16",
            "Real32",
            "Real64",
            "Index32",
            "Index64",
            "Switch",
            "SplitInt16",
            "SplitUInt16",
            "SplitInt32",
            "SplitUInt32",
            "SplitInt64",
            "SplitUInt64",
            "SplitReal16",
            "SplitReal32",
            "SplitReal64",
            "SplitIndex32",
            "SplitIndex64",
            "Real32Trunc",
            "Real32Quant",
        ];
        match NAMES.get(usize::from(self.code)) {
            Some(name) if self.code >= 0x1C => format!("{name} of {} bits", self.bits),
            Some(name) => (*name).to_owned(),
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
