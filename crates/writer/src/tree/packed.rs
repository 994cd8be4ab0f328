//! Numbers of `Double32_t` and `Float16_t`: what a leaf says of them, and their bytes.

use std::ops::Range;

use arrowroot_arrow::Stored;
use arrowroot_arrow::stored::PackedMembers;
use arrowroot_format::streamer::{PackedType, Packing, PackingRange, Primitive};

use crate::settings::{Annotation, Precision};

/// Numbers of a packed type of ROOT's.
#[derive(Debug, Clone)]
pub(super) struct Packed {
    /// The numbers that are packed: `Float64` or `Float32`.
    pub(super) of: Primitive,
    /// `Double32` or `Float16`.
    pub(super) primitive: Primitive,
    pub(super) packing: Packing,
    /// The smallest and the largest value that it has room for.
    limits: (f64, f64),
    /// Range and bits, `[0,10,12]`; empty if there are none.
    pub(super) annotation: String,
    /// The request, for errors.
    pub(super) name: String,
}

impl Packed {
    /// The packing of a precision; `None` for others.
    pub(super) fn of(precision: Precision) -> Option<Packed> {
        let (packed, of, primitive, name, Annotation { range, bits }) = match precision {
            Precision::Double32(annotation) => {
                (PackedType::Double32, Primitive::Float64, Primitive::Double32, "Double32", annotation)
            }
            Precision::Float16(annotation) => {
                (PackedType::Float16, Primitive::Float32, Primitive::Float16, "Float16", annotation)
            }
            _ => return None,
        };
        let annotation = match (range, bits) {
            (None, None) => String::new(),
            (None, Some(bits)) => format!("[0,0,{bits}]"),
            (Some((min, max)), None) => format!("[{},{}]", limit(min), limit(max)),
            (Some((min, max)), Some(bits)) => format!("[{},{},{bits}]", limit(min), limit(max)),
        };
        // As readers take it: a number may be less exact there.
        let packing = Packing::new(packed, PackingRange::parse(&annotation));
        let limits = range.unwrap_or((f64::from(f32::MIN), f64::from(f32::MAX)));
        Some(Packed { of, primitive, packing, limits, name: format!("{name}{annotation}"), annotation })
    }

    /// As members of objects have it.
    pub(super) fn members(&self) -> PackedMembers<'_> {
        PackedMembers { of: self.of, primitive: self.primitive, annotation: &self.annotation }
    }

    /// The text behind the name of a leaf: `/d[0,10,12]`; empty if nothing does.
    pub(super) fn in_leaf_title(&self) -> String {
        match (&*self.annotation, self.primitive) {
            ("", _) => String::new(),
            (annotation, Primitive::Float16) => format!("/f{annotation}"),
            (annotation, _) => format!("/d{annotation}"),
        }
    }
}

/// A number as `scanf` and people read it.
fn limit(value: f64) -> String {
    // Readers look at so many letters only, and a number may have 300 digits.
    let is_short = value == 0.0 || (1e-9..1e15).contains(&value.abs());
    if is_short { value.to_string() } else { format!("{value:e}") }
}

/// Appends floating-point numbers of either size as they are packed. Returns the place and the value of the first that has no room
/// in it, if one has none: behind it nothing is right.
pub(super) fn append_packed(
    values: &Stored,
    range: Range<usize>,
    packed: &Packed,
    out: &mut Vec<u8>,
) -> Option<(usize, f64)> {
    let Stored::Numbers { primitive, values } = values else { return None };
    let (start, width) = (range.start, primitive.stored_bytes());
    let values = &values[range.start * width..range.end * width];
    out.reserve(values.len() / width * packed.packing.stored_bytes());
    let outside = if width == 4 {
        let values = values.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes).into());
        append_each_packed(values, packed, out)
    } else {
        let values = values.as_chunks::<8>().0.iter().map(|bytes| f64::from_ne_bytes(*bytes));
        append_each_packed(values, packed, out)
    };
    outside.map(|(place, value)| (start + place, value))
}

#[inline]
fn append_each_packed(values: impl Iterator<Item = f64>, packed: &Packed, out: &mut Vec<u8>) -> Option<(usize, f64)> {
    for (index, value) in values.enumerate() {
        // The lower bits of a NaN would be lost, and with them what it is.
        let value = if value.is_nan() { f64::NAN } else { value };
        // An infinite one stays so where there is no range.
        let has_room = !value.is_finite() || (packed.limits.0..=packed.limits.1).contains(&value);
        match packed.packing.stored(value).filter(|_| has_room) {
            Some(stored) => out.extend_from_slice(stored.as_ref()),
            None => return Some((index, value)),
        }
    }
    None
}
