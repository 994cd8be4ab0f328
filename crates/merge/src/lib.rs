//! Merging ROOT files.
//!
//! ```text
//! inputs, one after another -> read (what they say is checked) -> copy (baskets, as they are) or add (objects) -> FileWriter
//! ```
//!
//! A [`Merger`] takes open files one after another and keeps nothing of them but what the records of the output need. Each
//! object of the output is a [`Merging`]: it first reads what an input has of it, and only if all objects of that input can be
//! joined does any of them write something. So an input that is at fault can be left out as a whole.

pub mod error;
mod first;
mod frames;
mod merger;
pub mod merging;
mod ntuples;
mod objects;
mod packed;
mod provenance;
mod roster;
pub mod rules;
mod span;
mod trees;
mod window;

pub use error::{Error, Result};
pub use merger::{Merger, Report, Settings};
pub use merging::{Columns, Merged, Merging, Output, Worker};
pub use packed::Packed;
pub use rules::{Rule, Rules};
pub use span::PackedSpan;
pub use trees::{Pick, Picked};
