//! Opening a table of either kind.

use std::sync::Arc;

use arrowroot_file::{File, Result};

use crate::ntuple::Ntuple;
use crate::table::Table;
use crate::tree::Tree;

/// Opens the tree or RNTuple of a path in a file.
///
/// # Errors
/// [`Error::NotFound`](crate::Error::NotFound) if there is no such key; [`Error::Format`](crate::Error::Format) if it is neither, or cannot be read.
pub fn open_table(file: &File, path: &str) -> Result<Arc<dyn Table>> {
    Ok(match File::is_ntuple_class(&file.find(path)?.key.class_name) {
        true => Arc::new(Ntuple::open(file, path)?),
        false => Arc::new(Tree::open(file, path)?),
    })
}
