//! Arithmetic of numbers as they are stored, which is big-endian.

use super::layout::{Manner, Number};

/// The numbers of some bytes.
pub(super) fn numbers(number: Number, bytes: &[u8]) -> impl Iterator<Item = f64> {
    bytes.chunks_exact(number.n_bytes()).map(move |bytes| as_f64(number, bytes))
}

/// True for a number below 0, as it is stored.
pub(super) fn is_negative(number: &[u8]) -> bool {
    number.first().is_some_and(|byte| byte >> 7 == 1)
}

/// Adds the inverses of two weights. Source: `TEfficiency::operator+=` (ROOT 6.40).
pub(super) fn add_weights(own: &mut [u8], other: &[u8]) {
    if let (Some(own), Some(other)) = (own.first_chunk_mut::<8>(), other.first_chunk::<8>()) {
        let (one, two) = (f64::from_be_bytes(*own), f64::from_be_bytes(*other));
        *own = (one * two / (one + two)).to_be_bytes();
    }
}

/// Adds numbers, which are big-endian in a file; integers stop at their limits, as ROOT's bins do.
pub(super) fn add_numbers(number: Number, own: &mut [u8], other: &[u8]) {
    macro_rules! add {
        ($type:ty, $n_bytes:literal, $add:expr) => {
            for (own, other) in own.as_chunks_mut::<$n_bytes>().0.iter_mut().zip(other.as_chunks::<$n_bytes>().0) {
                *own = $add(<$type>::from_be_bytes(*own), <$type>::from_be_bytes(*other)).to_be_bytes();
            }
        };
    }
    // The lowest number of a bin is the highest one with a minus (`TH1C::AddBinContent`).
    macro_rules! add_integers {
        ($type:ident, $n_bytes:literal) => {
            add!($type, $n_bytes, |a: $type, b: $type| { a.saturating_add(b).max(-$type::MAX) })
        };
    }
    match number {
        Number::Bool => add!(u8, 1, |a: u8, b: u8| u8::from(a | b != 0)),
        Number::Int8 => add_integers!(i8, 1),
        Number::Int16 => add_integers!(i16, 2),
        Number::Int32 => add_integers!(i32, 4),
        Number::Int64 => add_integers!(i64, 8),
        Number::Float32 => add!(f32, 4, |a: f32, b: f32| a + b),
        Number::Float64 => add!(f64, 8, |a: f64, b: f64| a + b),
    }
}

/// Makes the values of two parameters one. Integers stop at their limits.
pub(super) fn join_numbers(number: Number, manner: Manner, own: &mut [u8], other: &[u8]) {
    macro_rules! join {
        ($type:ty, $n_bytes:literal, $multiply:expr) => {
            if let (Some(own), Some(other)) = (own.first_chunk_mut::<$n_bytes>(), other.first_chunk::<$n_bytes>()) {
                let (one, two) = (<$type>::from_be_bytes(*own), <$type>::from_be_bytes(*other));
                let joined = match manner {
                    Manner::Multiply => $multiply(one, two),
                    Manner::Largest if two > one => two,
                    Manner::Smallest if two < one => two,
                    Manner::Last => two,
                    Manner::Largest | Manner::Smallest | Manner::First => one,
                };
                *own = joined.to_be_bytes();
            }
        };
    }
    match number {
        Number::Bool => join!(u8, 1, |a: u8, b: u8| u8::from(a & b != 0)),
        Number::Int8 => join!(i8, 1, i8::saturating_mul),
        Number::Int16 => join!(i16, 2, i16::saturating_mul),
        Number::Int32 => join!(i32, 4, i32::saturating_mul),
        Number::Int64 => join!(i64, 8, i64::saturating_mul),
        Number::Float32 => join!(f32, 4, |a: f32, b: f32| a * b),
        Number::Float64 => join!(f64, 8, |a: f64, b: f64| a * b),
    }
}

/// A number of a bin.
#[expect(clippy::cast_precision_loss, reason = "as ROOT does: GetBinContent is a double")]
pub(super) fn as_f64(number: Number, bin: &[u8]) -> f64 {
    let read = || {
        Some(match number {
            Number::Bool => f64::from(u8::from(*bin.first()? != 0)),
            Number::Int8 => f64::from(i8::from_be_bytes(*bin.first_chunk()?)),
            Number::Int16 => f64::from(i16::from_be_bytes(*bin.first_chunk()?)),
            Number::Int32 => f64::from(i32::from_be_bytes(*bin.first_chunk()?)),
            Number::Int64 => i64::from_be_bytes(*bin.first_chunk()?) as f64,
            Number::Float32 => f64::from(f32::from_be_bytes(*bin.first_chunk()?)),
            Number::Float64 => f64::from_be_bytes(*bin.first_chunk()?),
        })
    };
    read().unwrap_or_default()
}
