//! RNTuples.

use arrowroot::{File, FileKey};

use crate::error::Result;
use crate::merging::{Columns, Merging, Names};

/// Begins an RNTuple of the output, of which an input has the first.
///
/// # Errors
/// [`Error::Unsupported`](crate::Error::Unsupported): RNTuples are not merged yet.
pub(crate) fn begin(input: &File, key: &FileKey, columns: Columns) -> Result<Box<dyn Merging>> {
    let _ = columns;
    let what = "RNTuples are not merged yet: leave it out with the rule drop, or keep one with first";
    Err(Names::of(key).unsupported(input, what))
}
