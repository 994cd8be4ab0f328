//! Values that a column of a table does not hold, though their type is stored there.

use std::fmt::Debug;
use std::sync::Arc;

use arrowroot_arrow::Stored;

/// The place of a value, and what is wrong with it.
pub type Fault = (usize, String);

/// Refuses values that a column does not hold.
pub trait CheckValues: Debug + Send + Sync {
    /// Looks at the values of a column.
    ///
    /// # Errors
    /// The first value that the column does not hold.
    fn look_at(&self, values: &Stored) -> Result<(), Fault>;
}

/// The check of one column.
pub type Check = Arc<dyn CheckValues>;
