//! From a branch to the way its entries are read.
//!
//! A [`Layout`] is compiled once for each branch, from its class, its leaves and the streamer information of the file,
//! and says what every basket of it looks like. [`crate::decode`] follows it.

mod class;
mod compile;
mod compiled;
mod described;
mod evolve;
mod holders;
mod layout;
mod linked;
mod members;
mod met;
mod resolve;
mod special;

pub(crate) use class::T_OBJECT_BYTES;
pub use class::{Base, Class, CountedHead, Step, Variant};
pub(crate) use compiled::Compiled;
pub use evolve::Conversion;
pub(crate) use layout::node_with_dims;
pub use layout::{AnyNode, ClonesNode, DataType, Framing, Header, Layout, MapNode, Name, Node, Number, Pointer};
pub use linked::{LinkedTypes, is_of_root};
pub use met::Met;
pub use resolve::{Column, Counter, column_of_streamed_field, column_of_type, resolve};
