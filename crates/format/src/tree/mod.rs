//! TTree: the record with all branches, leaves and baskets of a tree.
//!
//! Source: `TTree`, `TBranch`, `TBranchElement`, `TLeaf`, `TBasket` (ROOT 6.40, and the versions back to ROOT 2.23).

mod attributes;
mod basket;
mod baskets;
mod branch;
mod description;
mod ids;
mod leaf;
mod objects;
mod optimize;
mod reading;
mod record;
mod schema;

pub use attributes::{Attributes, FillAttributes, LineAttributes, MarkerAttributes};
pub(crate) use basket::is_gap;
pub use basket::{
    BasketHead, EmbeddedBasket, GENERATE_OFFSET_MAP, append_entry_offsets, append_entry_sizes, append_gap,
    append_list_starts,
};
pub use baskets::{BasketLocation, PlacedBasket};
pub use branch::Branch;
pub use description::{BranchDescription, ClonesPart, ElementPart};
pub use ids::{BranchId, LeafId};
pub use leaf::{Leaf, LeafDescription, LeafKind};
pub use optimize::{BasketRule, BranchBuffers, OptimizedBaskets, OptimizedBranch, optimize_baskets};
pub use record::{BranchReferences, CompactRecord, Friend, Known, RecordedIndex, ReferenceTable, TreeRecord, UserInfo};
pub use schema::TreeSchema;
