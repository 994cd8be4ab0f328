//! What lies between the ROOT format's types and values and those of Apache Arrow.
//!
//! It knows of no file and no scan, so that whoever reads and whoever writes has the same table of types.

pub mod arrays;
pub mod gaps;
pub mod incoming;
pub mod stored;
pub mod text;
pub mod types;

pub use stored::Stored;
pub use text::{Fault, TextForm};
pub use types::{ArrowTypes, arrow_type, arrow_type_for_text};
