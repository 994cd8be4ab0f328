//! From the payload of a basket to values.
//!
//! [`kernels`] turn numbers straight into their final place; [`Values`] collects everything else.

mod alike;
#[cfg(test)]
mod alike_tests;
mod clones;
mod containers;
#[cfg(test)]
mod containers_tests;
mod convert;
#[cfg(test)]
mod convert_tests;
mod counts;
mod entries;
mod frame;
mod graph;
#[cfg(test)]
mod graph_tests;
mod holders;
#[cfg(test)]
mod holders_tests;
pub mod kernels;
mod misfit;
#[cfg(test)]
mod misfit_tests;
mod objects;
#[cfg(test)]
mod objects_tests;
mod pointers;
mod refill;
mod streamed;
#[cfg(test)]
mod streamed_tests;
mod t_object;
mod values;
mod writes;

pub use entries::trace;
pub use graph::{OUTERMOST, Object, ObjectGraph, read_graph};
pub use holders::meet;
pub use misfit::{Misfit, Trace};
pub use objects::Reader;
pub use values::Values;
pub use writes::Writes;
