//! Types that do not take all the values that their bytes have room for.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use super::error::{Result, StoreError};

const SECONDS_OF_A_DAY: i32 = 86_400;
const MILLISECONDS_OF_A_DAY: i32 = SECONDS_OF_A_DAY * 1000;
const MICROSECONDS_OF_A_DAY: i64 = MILLISECONDS_OF_A_DAY as i64 * 1000;

/// Refuses decimals beyond their precision, times that are in no day, and dates in milliseconds that are no days.
///
/// # Errors
/// [`StoreError::Malformed`] with the first such value.
pub(super) fn check_ranges(column: &str, array: &ArrayRef) -> Result<()> {
    let check = Checking { column, array };
    match array.data_type() {
        ArrowType::Decimal32(precision, _) => check.decimals::<Decimal32Type>(*precision),
        ArrowType::Decimal64(precision, _) => check.decimals::<Decimal64Type>(*precision),
        ArrowType::Decimal128(precision, _) => check.decimals::<Decimal128Type>(*precision),
        ArrowType::Decimal256(precision, _) => check.decimals::<Decimal256Type>(*precision),
        ArrowType::Time32(TimeUnit::Second) => {
            check.values::<Time32SecondType>(|time| (0..SECONDS_OF_A_DAY).contains(&time))
        }
        ArrowType::Time32(_) => {
            check.values::<Time32MillisecondType>(|time| (0..MILLISECONDS_OF_A_DAY).contains(&time))
        }
        ArrowType::Time64(TimeUnit::Microsecond) => {
            check.values::<Time64MicrosecondType>(|time| (0..MICROSECONDS_OF_A_DAY).contains(&time))
        }
        ArrowType::Time64(_) => {
            check.values::<Time64NanosecondType>(|time| (0..MICROSECONDS_OF_A_DAY * 1000).contains(&time))
        }
        ArrowType::Date64 => check.values::<Date64Type>(|time| time % i64::from(MILLISECONDS_OF_A_DAY) == 0),
        _ => Ok(()),
    }
}

struct Checking<'c> {
    column: &'c str,
    array: &'c ArrayRef,
}

impl Checking<'_> {
    fn decimals<T: DecimalType + ArrowPrimitiveType>(&self, precision: u8) -> Result<()> {
        self.values::<T>(|value| T::is_valid_decimal_precision(value, precision))
    }

    /// A missing one may have any value.
    fn values<T: ArrowPrimitiveType>(&self, is_right: impl Fn(T::Native) -> bool) -> Result<()> {
        let Some(values) = self.array.as_primitive_opt::<T>() else { return Ok(()) };
        match values.iter().flatten().find(|&value| !is_right(value)) {
            None => Ok(()),
            Some(value) => {
                let what = format!("{value:?} is out of the range of {}", self.array.data_type());
                Err(StoreError::malformed(self.column, what))
            }
        }
    }
}
