//! Streamer information: what the file says about its classes, and how their members are stored.

mod checksum;
mod element;
mod info;
mod made;
mod objects;
mod packing;
mod typename;

pub use element::{Element, ElementClass, StlKind, StoredElement};
pub use info::{FailedInfo, Rule, StreamerInfo, StreamerInfos};
pub use made::VectorItem;
pub(crate) use made::{LONG, UNSIGNED_LONG};
pub(crate) use objects::name_text;
pub use objects::{ObjectSlot, ObjectSlots, named_base, object_base};
pub use packing::{PackedType, Packing, PackingRange};
pub(crate) use typename::scopes;
pub use typename::{MAX_TYPE_NAME_BYTES, Primitive, TypeName};
