//! Trees.

use arrowroot::{File, FileKey};

use crate::error::Result;
use crate::merging::{Columns, Merging, Names};

/// Begins a tree of the output, of which an input has the first.
pub(crate) fn begin(input: &File, key: &FileKey, columns: Columns) -> Result<Box<dyn Merging>> {
    let _ = columns;
    Err(Names::of(key).unsupported(input, "trees are not merged yet"))
}
