//! A recorded scan read again from a store in virtual time, in whatever way: deterministic, and in milliseconds.
//!
//! The decisions (which window, what is merged, when the buffer is filled again, which segments and blocks are missing) are
//! those of the layers themselves, taken by the same code. What is simulated is the line and the clock.

mod disk;
mod link;
mod replay;
mod way;

pub use disk::Disk;
pub use link::Line;
pub use replay::{LogicalRead, Outcome, Trace, replay};
