//! From the payload of a basket to values.
//!
//! [`kernels`] turn numbers straight into their final place; [`Values`] collects everything else.

pub mod kernels;
mod objects;
#[cfg(test)]
mod objects_tests;
mod streamed;
mod values;

pub use streamed::decode_streamed;
pub use values::Values;
