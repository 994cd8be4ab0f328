//! Objects from their members: the opposite of the [graphs](crate::decode) that are read.
//!
//! A member is found by the name that its class gives it, those of base classes among those of the object; where one of a base
//! is hidden by another of its name it goes by `CLASS::NAME`, as it does when it is read.

mod encoder;
mod nodes;
mod values;

use std::collections::HashMap;

pub use encoder::encode;
pub use nodes::CONTAINER_VERSION;
pub use values::{Numbers, Value};

/// An object to write, of any class that is described.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object {
    /// Its class.
    pub class: String,
    /// Its members, and those of its bases.
    pub members: HashMap<String, Value>,
}

/// A class that the streamer information must describe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Used {
    /// An object of it was written by its description.
    Described(String),
    /// A pointer to nothing could have pointed to an object of it.
    Null(String),
}

#[cfg(test)]
mod tests;
