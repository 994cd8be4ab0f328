//! Branches and leaves by number.

/// A branch, by its index in [`super::TreeRecord::branches`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchId(pub u32);

/// A leaf, by its index in [`super::TreeRecord::leaves`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeafId(pub u32);
