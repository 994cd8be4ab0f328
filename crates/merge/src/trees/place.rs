//! The place where the baskets of a tree go.

use arrowroot_writer::{DirectoryId, FileWriter};

/// Where baskets go.
pub(crate) struct TreePlace<'a> {
    pub(crate) file: &'a FileWriter,
    pub(crate) directory: DirectoryId,
    /// Process identifiers of inputs before.
    pub(crate) add_to_pid: u16,
    /// Name of the tree.
    pub(crate) tree: &'a str,
}
