//! From the payload of a basket to values.
//!
//! [`kernels`] turn numbers straight into their final place; [`Values`] collects everything else.

mod clones;
mod containers;
mod convert;
mod counts;
mod entries;
mod equal_size;
mod frame;
mod graph;
mod holders;
pub mod kernels;
mod misfit;
mod objects;
mod pointers;
mod refill;
mod streamed;
mod t_object;
mod values;
mod writes;

pub use entries::trace;
pub use graph::{Content, OUTERMOST, Object, ObjectGraph, read_graph};
pub use holders::meet;
pub use misfit::{Misfit, Trace};
pub use objects::Reader;
pub use values::Values;
pub use writes::Writes;
