//! From a branch to the way its entries are read.
//!
//! An [`EntryForm`] is compiled once for each branch, from its class, its leaves and the streamer information of the file,
//! and says what every basket of it looks like. [`crate::decode`] follows it.

mod class;
mod code;
mod collections;
mod compile;
mod compiled;
mod data_type;
mod described;
mod entry_form;
mod evolve;
mod holders;
mod linked;
mod members;
mod node;
mod resolve;
mod seen_classes;
mod special;

pub(crate) use class::T_OBJECT_BYTES;
pub use class::{Base, Class, CountedHead, Step, Variant};
pub use collections::is_of_root;
pub use compile::MAX_LEVELS;
pub(crate) use compiled::Compiled;
pub use data_type::{DataType, Name};
pub use entry_form::{EntryForm, Framing, Header};
pub use linked::LinkedTypes;
pub(crate) use node::node_with_dims;
pub use node::{AnyNode, ClonesNode, Conversion, MapNode, Node, Number, Pointer};
pub use resolve::{Column, Counter, column_of_streamed_field, column_of_type, resolve};
pub use seen_classes::SeenClasses;
pub(crate) use special::is_bare_object;
