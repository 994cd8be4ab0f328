//! The packed number types: `Double32_t` and `Float16_t`.

use std::f64::consts::PI;

/// Bits of mantissa of a `Float16_t` without annotation.
const FLOAT16_BITS: u32 = 12;
/// Bits of mantissa of a `float`.
const FLOAT_MANTISSA_BITS: u32 = 23;

/// The annotation of a packed number: `[min,max]` or `[min,max,nbits]`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PackingRange {
    /// Smallest value; if there is no range, the number of bits of mantissa, or 0.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Steps in a unit; 0 if there is no range.
    pub factor: f64,
}

impl PackingRange {
    /// Reads the annotation in the title of a member; all zero if it has none.
    ///
    /// Source: `GetRange` in `TStreamerElement.cxx` (ROOT 6.40), with what it makes of odd ones.
    pub fn parse(title: &str) -> Self {
        Self::parse_annotation(title).unwrap_or_default()
    }

    fn parse_annotation(title: &str) -> Option<Self> {
        let bracket = |text: &'_ str| -> Option<(usize, usize)> {
            let left = text.find('[')?;
            Some((left, left + text[left..].find(']')?))
        };
        let comma_in = |text: &str, left: usize, right: usize| text[left..right].find(',').map(|i| left + i);
        let (left, right) = bracket(title)?;
        let (text, left, right, comma) = match comma_in(title, left, right) {
            Some(comma) => (title, left, right, comma),
            None => {
                // The first bracket may be a dimension.
                let text = &title[right..];
                let (left, right) = bracket(text)?;
                (text, left, right, comma_in(text, left, right)?)
            }
        };
        let second = comma_in(text, comma + 1, right);
        let n_bits = second
            .and_then(|second| leading_integer(&text[second + 1..right]))
            .and_then(|n_bits| u32::try_from(n_bits).ok())
            .filter(|n_bits| (2..=32).contains(n_bits))
            .unwrap_or(32);
        let min = limit(&text[left + 1..comma]);
        let max = limit(&text[comma + 1..second.unwrap_or(right)]);
        let steps = if n_bits < 32 { f64::from(1_u32 << n_bits) } else { f64::from(u32::MAX) };
        Some(if min < max {
            PackingRange { min, max, factor: steps / (max - min) }
        } else if n_bits < 15 {
            PackingRange { min: f64::from(n_bits) + 0.1, max, factor: 0.0 }
        } else {
            PackingRange { min, max, factor: 0.0 }
        })
    }

    /// The annotation that means the same, in numbers; empty if there is none.
    pub fn annotation(self) -> String {
        let PackingRange { min, max, factor } = self;
        if factor == 0.0 {
            return if min >= 1.0 { format!("[0,0,{}]", min.floor()) } else { String::new() };
        }
        let n_bits = (factor * (max - min)).log2().round();
        if n_bits < 32.0 { format!("[{min},{max},{n_bits}]") } else { format!("[{min},{max}]") }
    }

    /// Reads the annotation in the title of a leaf, which is behind the type: `x[3]/d[0,1,16]`, or in files of before
    /// ROOT 6.38 `d[0,1,16]`.
    ///
    /// Source: `TLeafD32::Streamer`, `TLeafF16::Streamer` (ROOT 6.40).
    pub fn parse_leaf_title(title: &str) -> Self {
        let start = ["/d[", "/f["].iter().find_map(|start| title.find(start));
        Self::parse(&title[start.unwrap_or(0)..])
    }
}

/// One end of a range: a number, or some part of pi.
fn limit(text: &str) -> f64 {
    let text: String = text.chars().filter(|&c| c != ' ').collect::<String>().to_ascii_lowercase();
    if !text.contains("pi") {
        return leading_number(&text);
    }
    let value = if ["2pi", "2*pi", "twopi"].iter().any(|twice| text.contains(twice)) {
        2.0 * PI
    } else if text.contains("pi/2") {
        PI / 2.0
    } else if text.contains("pi/4") {
        PI / 4.0
    } else {
        PI
    };
    if text.contains('-') { -value } else { value }
}

/// The number at the start of a text, as `scanf` reads it; 0 if there is none.
fn leading_number(text: &str) -> f64 {
    let text = text.trim_start();
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e');
    let longest = text.find(|c| !is_part(c)).unwrap_or(text.len()).min(64);
    (1..=longest).rev().find_map(|n_bytes| text[..n_bytes].parse().ok()).unwrap_or(0.0)
}

/// The integer at the start of a text, as `scanf` reads it.
fn leading_integer(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let n_digits = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    text[..text.len() - digits.len() + n_digits].parse().ok()
}

/// Which of the two packed types it is: they differ where there is no annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PackedType {
    /// `Double32_t`: a `double` in memory.
    Double32,
    /// `Float16_t`: a `float` in memory.
    Float16,
}

/// How the values of a packed type are stored.
///
/// Source: `TBufferFile::ReadWithFactor`, `TBufferFile::ReadWithNbits`, `TBufferFile::ReadDouble32` (ROOT 6.40).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Packing {
    /// As a `float`, in 4 bytes.
    Plain,
    /// As the exponent and the first bits of the mantissa of a `float`, in 3 bytes.
    Truncated {
        /// Bits of mantissa that are kept.
        n_bits: u32,
    },
    /// As the number of steps above the smallest value, in 4 bytes.
    Scaled {
        /// Smallest value.
        min: f64,
        /// Steps in a unit.
        factor: f64,
    },
}

/// A packed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// Exponent and mantissa.
    Three([u8; 3]),
    /// A float, or a number of steps.
    Four([u8; 4]),
}

impl AsRef<[u8]> for Stored {
    fn as_ref(&self) -> &[u8] {
        match self {
            Stored::Three(bytes) => bytes,
            Stored::Four(bytes) => bytes,
        }
    }
}

impl Packing {
    /// How values with that annotation are stored.
    pub fn new(packed: PackedType, range: PackingRange) -> Self {
        if range.factor != 0.0 {
            return Packing::Scaled { min: range.min, factor: range.factor };
        }
        // More bits than a mantissa has come from no annotation that ROOT can write.
        match (1..=FLOAT_MANTISSA_BITS).rev().find(|&n_bits| (0.0..1.0).contains(&(range.min - f64::from(n_bits)))) {
            Some(n_bits) => Packing::Truncated { n_bits },
            None if packed == PackedType::Float16 => Packing::Truncated { n_bits: FLOAT16_BITS },
            None => Packing::Plain,
        }
    }

    /// A value as it is stored: rounded to what the bits can say. `None` if it is not in the range, or no number where there is
    /// one.
    ///
    /// Source: `TBufferFile::WriteFloat16`, `TBufferFile::WriteDouble32` (ROOT 6.40), which take the nearest end of the range.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "steps are looked at; floats are nearest"
    )]
    pub fn stored(self, value: f64) -> Option<Stored> {
        match self {
            Packing::Plain => Some(Stored::Four((value as f32).to_be_bytes())),
            // There is room for so many bits and a sign.
            Packing::Truncated { n_bits: 15.. } => None,
            Packing::Truncated { n_bits } => {
                let bits = (value as f32).to_bits();
                let [_, exponent, ..] = (bits << 1 >> 8).to_be_bytes();
                let longer = bits >> (FLOAT_MANTISSA_BITS - n_bits - 1) & ((1 << (n_bits + 1)) - 1);
                // Rounded, but never up into the next exponent.
                let mantissa = (longer.div_ceil(2)).min((1 << n_bits) - 1);
                let sign = u32::from(value.is_sign_negative()) << (n_bits + 1);
                let [.., high, low] = (mantissa | sign).to_be_bytes();
                Some(Stored::Three([exponent, high, low]))
            }
            Packing::Scaled { min, factor } => {
                let steps = (0.5 + factor * (value - min)).floor();
                let is_in_range = value >= min && (0.0..=f64::from(u32::MAX)).contains(&steps);
                is_in_range.then(|| Stored::Four((steps as u32).to_be_bytes()))
            }
        }
    }

    /// Bytes of a value.
    pub fn stored_bytes(self) -> usize {
        if matches!(self, Packing::Truncated { .. }) { 3 } else { 4 }
    }

    /// Appends values of a `Float16_t` in the byte order of the machine. What is left of `stored` after whole values is left
    /// out.
    pub fn append_f32(self, stored: &[u8], out: &mut Vec<u8>) {
        match self {
            Packing::Plain => append_each(stored, out, |stored| f32::from_be_bytes(stored).to_ne_bytes()),
            Packing::Truncated { n_bits } => append_each(stored, out, |stored| truncated(stored, n_bits).to_ne_bytes()),
            #[expect(clippy::cast_possible_truncation, reason = "it is a float in memory, as in ROOT")]
            Packing::Scaled { min, factor } => {
                append_each(stored, out, |stored| (scaled(stored, min, factor) as f32).to_ne_bytes());
            }
        }
    }

    /// The same of a `Double32_t`.
    pub fn append_f64(self, stored: &[u8], out: &mut Vec<u8>) {
        match self {
            Packing::Plain => append_each(stored, out, |stored| f64::from(f32::from_be_bytes(stored)).to_ne_bytes()),
            Packing::Truncated { n_bits } => {
                append_each(stored, out, |stored| f64::from(truncated(stored, n_bits)).to_ne_bytes());
            }
            Packing::Scaled { min, factor } => {
                append_each(stored, out, |stored| scaled(stored, min, factor).to_ne_bytes())
            }
        }
    }
}

/// Appends what a function makes of each group of `N` bytes.
#[inline]
fn append_each<const N: usize, const M: usize>(stored: &[u8], out: &mut Vec<u8>, value: impl Fn([u8; N]) -> [u8; M]) {
    let (stored, n_before) = (stored.as_chunks::<N>().0, out.len());
    out.resize(n_before + stored.len() * M, 0);
    for (from, to) in stored.iter().zip(out[n_before..].as_chunks_mut::<M>().0) {
        *to = value(*from);
    }
}

/// A value from its exponent and mantissa, whose highest bit is the sign.
#[inline]
fn truncated([exponent, high, low]: [u8; 3], n_bits: u32) -> f32 {
    let mantissa = u32::from(u16::from_be_bytes([high, low]));
    let magnitude = u32::from(exponent) << FLOAT_MANTISSA_BITS
        | (mantissa & ((1 << (n_bits + 1)) - 1)) << (FLOAT_MANTISSA_BITS - n_bits);
    let value = f32::from_bits(magnitude);
    if mantissa & (1 << (n_bits + 1)) == 0 { value } else { -value }
}

/// A value from its number of steps.
#[inline]
fn scaled(stored: [u8; 4], min: f64, factor: f64) -> f64 {
    f64::from(u32::from_be_bytes(stored)) / factor + min
}

#[cfg(test)]
mod tests;
