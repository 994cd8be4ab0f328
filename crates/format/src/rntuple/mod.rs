//! RNTuple: anchor, envelopes, schema, page lists, and the kernels that decode and encode pages.
//!
//! Source: `tree/ntuple/doc/BinaryFormatSpecification.md` (ROOT 6.40), versions 1.0.0.0 and later. A name in parentheses in
//! the comments of this module is that of the specification.

mod anchor;
mod cpp_types;
mod description;
pub mod encode;
mod encoding;
mod envelope;
mod footer;
pub mod kernels;
mod members;
pub mod pack;
mod page;
mod page_list;
mod projection;
mod reader;
mod schema;
mod shape;
mod slot_pages;
mod slots;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

pub use anchor::{ANCHOR_BYTES, ANCHOR_CLASS, Anchor, FIRST_VERSION, OLD_ANCHOR_CLASS, WRITTEN_VERSION};
pub use cpp_types::NO_CLASS_VERSION;
pub use description::{ExtraInfo, FieldDescription};
pub use encoding::{ColumnType, Encoding};
pub use envelope::{Blob, ENVELOPE_MIN_BYTES, EnvelopeLink, Locator, checksum};
pub use footer::{AttributeSet, ClusterGroup, Footer};
pub use members::{Member, Members};
pub use page::{PAGE_CHECKSUM_BYTES, check_page, convert_numbers};
pub use page_list::{ClusterSummary, ColumnPages, Page, PageList};
pub use projection::Projection;
pub use schema::{ColumnId, Deferred, FieldId, NtupleColumn, NtupleField, Role, Schema};
pub use shape::{MAX_ALTERNATIVES, Shape, StreamedField, number_type_name};
pub use slot_pages::{MAX_UNWITNESSED, SlotPages, Witness, unwitnessed};
pub use slots::{Domain, Slot, SlotId, Slots};
