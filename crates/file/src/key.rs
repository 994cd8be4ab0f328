//! A key with the directory that it is in.

use arrowroot_format::container::Key;

/// A key and where it is.
#[derive(Debug, Clone)]
pub struct FileKey {
    /// Path of its directory: empty, or with a slash after each name.
    pub directory: String,
    /// Number of directories that it is in, below the root directory.
    pub depth: usize,
    /// The key.
    pub key: Key,
    /// Whether it is a directory itself.
    pub is_directory: bool,
}

impl FileKey {
    /// Path from the root of the file.
    pub fn path(&self) -> String {
        format!("{}{}", self.directory, self.key.name)
    }
}
