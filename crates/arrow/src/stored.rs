//! Values as a writer takes them: whatever Arrow calls them, numbers, texts, lists and members in one form each.

mod branches;
mod compose;
mod concat;
mod data_type;
mod defaults;
mod encode;
mod error;
mod fields;
mod names;
mod objects;
mod ranges;
mod record;
mod restore;
mod sizes;
mod split;
mod store;
mod validity;

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, Buffer, ScalarBuffer};
use arrowroot_format::streamer::Primitive;

pub use branches::{BranchColumn, BranchForm, Content, Objects, PackedMembers, PlannedBranch, Step, plan_branches};
pub use compose::{compose, n_branches};
pub use concat::concat;
pub use data_type::data_type;
pub use defaults::{default_bytes, defaults};
pub use error::{Result, StoreError};
pub use fields::{IsUntyped, has_type_name, of_field};
pub use names::{branch_name, is_cpp_word, member_name, original_name, stored_name};
pub use objects::{
    CppType, Maps, Member, ObjectClass, Value, container_type_name, is_known_map, is_plain_map, item_type_name,
    template_name,
};
pub use record::{RecordedSchema, SCHEMA_RECORD};
pub use restore::{delivered_type, restore};
pub use sizes::{Sizes, is_folded};
pub use split::{ElementBranch, ElementClassName};
pub use store::{SharedOffsets, store, store_beside};

/// The values of a column for consecutive entries, in the form of its
/// [`DataType`](arrowroot_format::column::DataType). It shares the memory of the Arrow array that it was made of,
/// but for texts.
///
/// `DataType::Map` is stored as a list of structs of two members, `DataType::Bytes` as a list of `UInt8`.
#[derive(Debug, Clone)]
pub enum Stored {
    /// Numbers in the byte order of the machine, exactly `values.len() / size` of them; never `Primitive::Bool`.
    Numbers {
        /// `Int8` to `UInt64`, `Float32` or `Float64`.
        primitive: Primitive,
        /// The values.
        values: Buffer,
    },
    /// Bools.
    Bits(BooleanBuffer),
    /// Texts, UTF-8.
    Text {
        /// Where they begin in `bytes`, and where the last one ends: one more than there are. The first need not be 0.
        offsets: ScalarBuffer<i64>,
        /// Their bytes.
        bytes: Buffer,
    },
    /// Lists.
    List {
        /// As those of texts, counting items.
        offsets: ScalarBuffer<i64>,
        /// The items of all lists; there may be others before and after.
        items: Box<Stored>,
    },
    /// Lists of `n_items` each: `items` has exactly `n_items * len`.
    Fixed {
        /// Number of lists.
        len: usize,
        /// Items of each.
        n_items: usize,
        /// The items.
        items: Box<Stored>,
    },
    /// Members, each as many as `len`.
    Struct {
        /// Number of values.
        len: usize,
        /// In the order of the type.
        members: Vec<Stored>,
    },
    /// One of several alternatives each.
    Variant {
        /// The number of the alternative, from 1 on; 0: none.
        tags: Buffer,
        /// As many lists for each alternative, of one item where the value is of it and of none elsewhere.
        alternatives: Vec<Stored>,
    },
    /// Values that may be missing. What is missing is 0, an empty text or an empty list in `values`.
    Optional {
        /// Which are there.
        valid: BooleanBuffer,
        /// As many.
        values: Box<Stored>,
    },
}

impl Stored {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Stored::Numbers { primitive, values } => values.len() / primitive.stored_bytes(),
            Stored::Bits(bits) => bits.len(),
            Stored::Text { offsets, .. } | Stored::List { offsets, .. } => offsets.len().saturating_sub(1),
            Stored::Fixed { len, .. } | Stored::Struct { len, .. } => *len,
            Stored::Variant { tags, .. } => tags.len(),
            Stored::Optional { valid, .. } => valid.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// These values; none are left here.
    #[must_use]
    pub fn take(&mut self) -> Stored {
        std::mem::replace(self, Stored::Struct { len: 0, members: Vec::new() })
    }

    /// The values in `range`, without a copy.
    ///
    /// # Panics
    /// Never for a range inside `0..len()`; as slices do for others.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Stored {
        let n = range.len();
        match self {
            Stored::Numbers { primitive, values } => {
                let width = primitive.stored_bytes();
                Stored::Numbers {
                    primitive: *primitive,
                    values: values.slice_with_length(range.start * width, n * width),
                }
            }
            Stored::Bits(bits) => Stored::Bits(bits.slice(range.start, n)),
            Stored::Text { offsets, bytes } => {
                Stored::Text { offsets: offsets.slice(range.start, n + 1), bytes: bytes.clone() }
            }
            Stored::List { offsets, items } => {
                Stored::List { offsets: offsets.slice(range.start, n + 1), items: items.clone() }
            }
            Stored::Fixed { n_items, items, .. } => {
                let inner = range.start * n_items..range.end * n_items;
                Stored::Fixed { len: n, n_items: *n_items, items: Box::new(items.slice(inner)) }
            }
            Stored::Struct { members, .. } => {
                Stored::Struct { len: n, members: members.iter().map(|member| member.slice(range.clone())).collect() }
            }
            Stored::Variant { tags, alternatives } => Stored::Variant {
                tags: tags.slice_with_length(range.start, n),
                alternatives: alternatives.iter().map(|of| of.slice(range.clone())).collect(),
            },
            Stored::Optional { valid, values } => {
                Stored::Optional { valid: valid.slice(range.start, n), values: Box::new(values.slice(range)) }
            }
        }
    }

    /// What the values in `range` take when they are stored: the bytes of numbers, bools and texts, and 4 bytes for each text
    /// and list. It depends on the values alone, not on how they came in arrays, so borders of clusters may follow from it.
    pub fn stored_bytes(&self, range: Range<usize>) -> u64 {
        self.bytes_with(range, 4)
    }

    /// The bytes of memory that the values in a range take here, where each list and text has an offset of 8 bytes.
    pub fn held_bytes(&self, range: Range<usize>) -> u64 {
        self.bytes_with(range, 8)
    }

    fn bytes_with(&self, range: Range<usize>, offset_bytes: u64) -> u64 {
        let n = range.len() as u64;
        match self {
            Stored::Numbers { primitive, .. } => n * primitive.stored_bytes() as u64,
            Stored::Bits(_) => n,
            Stored::Text { offsets, .. } => n * offset_bytes + inner(offsets, &range).len() as u64,
            Stored::List { offsets, items } => {
                n * offset_bytes + items.bytes_with(inner(offsets, &range), offset_bytes)
            }
            Stored::Fixed { n_items, items, .. } => {
                items.bytes_with(range.start * n_items..range.end * n_items, offset_bytes)
            }
            Stored::Struct { members, .. } => {
                members.iter().map(|member| member.bytes_with(range.clone(), offset_bytes)).sum()
            }
            Stored::Variant { alternatives, .. } => {
                n + alternatives.iter().map(|of| of.bytes_with(range.clone(), offset_bytes)).sum::<u64>()
            }
            Stored::Optional { values, .. } => n + values.bytes_with(range, offset_bytes),
        }
    }
}

/// The items, or bytes, of the lists in `range`.
fn inner(offsets: &ScalarBuffer<i64>, range: &Range<usize>) -> Range<usize> {
    let at = |index: usize| usize::try_from(offsets[index]).unwrap_or_default();
    if offsets.is_empty() { 0..0 } else { at(range.start)..at(range.end) }
}

#[cfg(test)]
mod tests;
