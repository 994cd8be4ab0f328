//! Values that have bounds: times, days, decimals, indices of dictionaries, ends of runs.

use std::fmt::Display;
use std::ops::Range;

use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, ScalarBuffer, i256};
use arrow_data::ArrayData;
use arrow_data::decimal::{
    MAX_DECIMAL32_FOR_EACH_PRECISION, MAX_DECIMAL64_FOR_EACH_PRECISION, MAX_DECIMAL128_FOR_EACH_PRECISION,
    MAX_DECIMAL256_FOR_EACH_PRECISION,
};
use arrow_schema::{DataType as ArrowType, Field, TimeUnit};

use super::{Foreign, Result, built, fault};

const DAY_SECONDS: i64 = 86_400;

/// Values of a fixed width: a checked copy of those that have bounds, and others as they are.
pub(super) fn check_values(of: &ArrowType, values: Buffer, present: Option<&NullBuffer>) -> Result<Buffer> {
    let per_second = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    match of {
        ArrowType::Date64 => {
            let is_day = |value: &i64| value % (DAY_SECONDS * 1000) == 0;
            checked(&values, present, is_day, "is no whole day in milliseconds")
        }
        ArrowType::Time32(unit) => {
            let day = DAY_SECONDS * per_second(unit);
            checked(&values, present, |value: &i32| (0..day).contains(&i64::from(*value)), "is no time of a day")
        }
        ArrowType::Time64(unit) => {
            let day = DAY_SECONDS * per_second(unit);
            checked(&values, present, |value: &i64| (0..day).contains(value), "is no time of a day")
        }
        ArrowType::Decimal32(digits, _) => {
            decimals(&values, present, MAX_DECIMAL32_FOR_EACH_PRECISION.get(usize::from(*digits)), |value| -value)
        }
        ArrowType::Decimal64(digits, _) => {
            decimals(&values, present, MAX_DECIMAL64_FOR_EACH_PRECISION.get(usize::from(*digits)), |value| -value)
        }
        ArrowType::Decimal128(digits, _) => {
            decimals(&values, present, MAX_DECIMAL128_FOR_EACH_PRECISION.get(usize::from(*digits)), |value| -value)
        }
        ArrowType::Decimal256(digits, _) => {
            decimals(&values, present, MAX_DECIMAL256_FOR_EACH_PRECISION.get(usize::from(*digits)), i256::wrapping_neg)
        }
        _ => Ok(values),
    }
}

fn decimals<T: ArrowNativeType + Display>(
    values: &Buffer,
    present: Option<&NullBuffer>,
    most: Option<&T>,
    negative: impl Fn(T) -> T,
) -> Result<Buffer> {
    let Some(&most) = most else { return fault(0, "decimals of more digits than there is room for") };
    let least = negative(most);
    checked(values, present, |value: &T| (least..=most).contains(value), "has more digits than its type")
}

fn checked<T: ArrowNativeType + Display>(
    values: &Buffer,
    present: Option<&NullBuffer>,
    is_fine: impl Fn(&T) -> bool,
    what: &str,
) -> Result<Buffer> {
    let copy = ScalarBuffer::<T>::from(Buffer::from_slice_ref(values.as_slice()));
    let is_there = |index: usize| present.is_none_or(|present| present.is_valid(index));
    match copy.iter().enumerate().find(|(index, value)| !is_fine(value) && is_there(*index)) {
        Some((index, value)) => fault(index, format!("{value} {what}")),
        None => Ok(copy.into_inner()),
    }
}

/// A copy of the indices of a dictionary of so many values.
pub(super) fn checked_keys(
    buffers: &[Option<Buffer>],
    key: &ArrowType,
    rows: Range<usize>,
    n_values: usize,
    present: Option<&NullBuffer>,
) -> Result<Buffer> {
    fn of<T: ArrowNativeType + Display>(
        bytes: &Buffer,
        n_values: usize,
        present: Option<&NullBuffer>,
    ) -> Result<Buffer> {
        let is_there = |value: &T| value.to_usize().is_some_and(|value| value < n_values);
        checked(bytes, present, is_there, &format!("is none of the {n_values} values of its dictionary"))
    }
    let Some(width) = key.primitive_width() else { return fault(0, format!("indices of {key}")) };
    let range = rows.start * width..rows.end * width;
    let bytes = match buffers.get(1) {
        Some(Some(buffer)) if range.end <= buffer.len() => buffer.slice_with_length(range.start, range.len()),
        _ if range.is_empty() => Buffer::from_vec(Vec::<u8>::new()),
        _ => return fault(0, "there are fewer indices than values"),
    };
    match key {
        ArrowType::Int8 => of::<i8>(&bytes, n_values, present),
        ArrowType::Int16 => of::<i16>(&bytes, n_values, present),
        ArrowType::Int32 => of::<i32>(&bytes, n_values, present),
        ArrowType::Int64 => of::<i64>(&bytes, n_values, present),
        ArrowType::UInt8 => of::<u8>(&bytes, n_values, present),
        ArrowType::UInt16 => of::<u16>(&bytes, n_values, present),
        ArrowType::UInt32 => of::<u32>(&bytes, n_values, present),
        ArrowType::UInt64 => of::<u64>(&bytes, n_values, present),
        _ => fault(0, format!("indices of {key}")),
    }
}

/// The first place that has an index of a dictionary.
pub(super) fn first_with(keys: &Buffer, key: &ArrowType, value: usize) -> Option<usize> {
    let width = key.primitive_width()?;
    let value = value.to_le_bytes();
    // Wider than what they hold by zeros alone.
    keys.chunks_exact(width).position(|key| key == &value[..width])
}

/// The ends of the runs of a range of values, counted from its first one on, and which runs these are.
pub(super) fn checked_runs(runs: &Foreign, ends: &Field, rows: Range<usize>) -> Result<(ArrayData, Range<usize>)> {
    match ends.data_type() {
        ArrowType::Int16 => ends_of::<Int16Type>(runs, rows),
        ArrowType::Int32 => ends_of::<Int32Type>(runs, rows),
        ArrowType::Int64 => ends_of::<Int64Type>(runs, rows),
        other => fault(0, format!("ends of runs of {other}")),
    }
}

fn ends_of<E: RunEndIndexType>(runs: &Foreign, rows: Range<usize>) -> Result<(ArrayData, Range<usize>)> {
    if runs.validity(&(0..runs.len))?.is_some() {
        return fault(0, "the end of a run is missing");
    }
    let ends = runs.copied::<E::Native>(1, runs.offset..runs.offset + runs.len)?;
    let mut before = 0;
    for end in ends.iter() {
        match end.to_usize() {
            Some(end) if end > before => before = end,
            _ => return fault(0, format!("a run ends at {end:?}, after one at {before}")),
        }
    }
    if before < rows.end {
        return fault(
            before.saturating_sub(rows.start),
            format!("the last run ends at {before}, before value {}", rows.end),
        );
    }
    let first = ends.partition_point(|end| end.as_usize() <= rows.start);
    let last = ends.partition_point(|end| end.as_usize() < rows.end);
    let inside = if rows.is_empty() { 0..0 } else { first..last + 1 };
    let end_of = |end: &E::Native| E::Native::usize_as(end.as_usize().min(rows.end) - rows.start);
    let ends: Vec<E::Native> = ends[inside.clone()].iter().map(end_of).collect();
    let data = ArrayData::builder(E::DATA_TYPE).len(ends.len()).add_buffer(Buffer::from_vec(ends));
    Ok((built(data), inside))
}

/// The first value of a run.
pub(super) fn start_of_run(ends: &ArrayData, run: usize) -> usize {
    let Some(before) = run.checked_sub(1) else { return 0 };
    let end = match ends.data_type() {
        ArrowType::Int16 => ends.buffers()[0].typed_data::<i16>().get(before).map(|end| end.as_usize()),
        ArrowType::Int32 => ends.buffers()[0].typed_data::<i32>().get(before).map(|end| end.as_usize()),
        _ => ends.buffers()[0].typed_data::<i64>().get(before).map(|end| end.as_usize()),
    };
    end.unwrap_or_default()
}
