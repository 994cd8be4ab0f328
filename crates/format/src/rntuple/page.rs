//! What is done with a page besides the kernels: its checksum, and numbers that come out as another type than they are
//! stored in.

use crate::error::{Error, Result};
use crate::streamer::Primitive;

use super::envelope::checksum;

/// Bytes of the checksum behind a page.
pub const PAGE_CHECKSUM_BYTES: usize = 8;

/// Compares the checksum behind a page with that of the page.
///
/// `stored`: the page as it is in the file, and the checksum.
///
/// # Errors
/// Corrupt if they differ.
pub fn check_page(stored: &[u8]) -> Result<()> {
    let Some((page, expected)) = stored.split_last_chunk::<PAGE_CHECKSUM_BYTES>() else {
        return Err(Error::truncated(0, "a page shorter than its checksum"));
    };
    let (expected, computed) = (u64::from_le_bytes(*expected), checksum(page));
    if expected == computed {
        return Ok(());
    }
    Err(Error::corrupt(0, format!("the checksum of the page should be {expected:016x} and is {computed:016x}")))
}

#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    Real(f64),
}

/// Converts numbers that are stored as another type than the field has.
///
/// Both in the byte order of the machine; bools as bytes.
///
/// # Errors
/// Corrupt for an integer that does not fit, unsupported between integers and floating-point numbers, as in ROOT.
pub fn convert_numbers(stored: &[u8], from: Primitive, to: Primitive, out: &mut [u8]) -> Result<()> {
    let (from_bytes, to_bytes) = (from.stored_bytes(), to.stored_bytes());
    let places = out.chunks_exact_mut(to_bytes);
    for (number, place) in stored.chunks_exact(from_bytes).zip(places) {
        write(read(number, from), to, place)?;
    }
    Ok(())
}

fn read(bytes: &[u8], primitive: Primitive) -> Number {
    fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.first_chunk::<N>().copied().unwrap_or([0; N])
    }
    match primitive {
        Primitive::Bool | Primitive::UInt8 => Number::Integer(u8::from_ne_bytes(array(bytes)).into()),
        Primitive::Int8 => Number::Integer(i8::from_ne_bytes(array(bytes)).into()),
        Primitive::Int16 => Number::Integer(i16::from_ne_bytes(array(bytes)).into()),
        Primitive::UInt16 => Number::Integer(u16::from_ne_bytes(array(bytes)).into()),
        Primitive::Int32 => Number::Integer(i32::from_ne_bytes(array(bytes)).into()),
        Primitive::UInt32 => Number::Integer(u32::from_ne_bytes(array(bytes)).into()),
        Primitive::Int64 => Number::Integer(i64::from_ne_bytes(array(bytes)).into()),
        Primitive::UInt64 => Number::Integer(u64::from_ne_bytes(array(bytes)).into()),
        Primitive::Float32 | Primitive::Float16 => Number::Real(f32::from_ne_bytes(array(bytes)).into()),
        Primitive::Float64 | Primitive::Double32 => Number::Real(f64::from_ne_bytes(array(bytes))),
    }
}

fn write(number: Number, to: Primitive, place: &mut [u8]) -> Result<()> {
    macro_rules! integer {
        ($type:ty, $value:expr) => {
            match <$type>::try_from($value) {
                Ok(value) => place.copy_from_slice(&value.to_ne_bytes()),
                Err(_) => return Err(Error::corrupt(0, format!("{} does not fit in a {}", $value, to.name()))),
            }
        };
    }
    match (number, to) {
        (Number::Integer(value), Primitive::Bool) => place.copy_from_slice(&[u8::from(value != 0)]),
        (Number::Integer(value), Primitive::UInt8) => integer!(u8, value),
        (Number::Integer(value), Primitive::Int8) => integer!(i8, value),
        (Number::Integer(value), Primitive::Int16) => integer!(i16, value),
        (Number::Integer(value), Primitive::UInt16) => integer!(u16, value),
        (Number::Integer(value), Primitive::Int32) => integer!(i32, value),
        (Number::Integer(value), Primitive::UInt32) => integer!(u32, value),
        (Number::Integer(value), Primitive::Int64) => integer!(i64, value),
        (Number::Integer(value), Primitive::UInt64) => integer!(u64, value),
        #[expect(clippy::cast_possible_truncation, reason = "as in C++")]
        (Number::Real(value), Primitive::Float32 | Primitive::Float16) => {
            place.copy_from_slice(&(value as f32).to_ne_bytes());
        }
        (Number::Real(value), Primitive::Float64 | Primitive::Double32) => place.copy_from_slice(&value.to_ne_bytes()),
        (Number::Integer(_), _) | (Number::Real(_), _) => {
            return Err(Error::unsupported(0, format!("a {} stored as another kind of number", to.name())));
        }
    }
    Ok(())
}
