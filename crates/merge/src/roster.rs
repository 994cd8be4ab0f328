//! Which keys of an input are merged into which objects.

use arrowroot::FileKey;

/// The keys of the last input, and what they are merged into: most inputs have the same.
#[derive(Default)]
pub(crate) struct Roster {
    pub(crate) keys: Vec<FileKey>,
    pub(crate) taken: Vec<Taken>,
    /// Indices of the keys of process identifiers.
    pub(crate) processes: Vec<usize>,
}

/// A key that is merged into an object: their indices.
pub(crate) struct Taken {
    pub(crate) key: usize,
    pub(crate) object: usize,
}

impl Roster {
    /// True if an input has the same keys, of the same classes and cycles, in the same order.
    pub(crate) fn is_of(&self, keys: &[FileKey]) -> bool {
        let is_same = |one: &FileKey, other: &FileKey| {
            one.key.name == other.key.name
                && one.directory == other.directory
                && one.key.class_name == other.key.class_name
                && one.key.cycle == other.key.cycle
                && one.is_directory == other.is_directory
        };
        !keys.is_empty()
            && self.keys.len() == keys.len()
            && self.keys.iter().zip(keys).all(|(one, other)| is_same(one, other))
    }
}
