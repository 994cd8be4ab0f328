//! The ROOT file format as types: containers, codecs, streamer information, trees and RNTuples.
//!
//! Nothing here reads a file: functions take bytes, or say which ranges of the file they need. Every length and count
//! found in the bytes is checked against what is left before it is used, so no input makes this crate panic, loop
//! without end or allocate more than a small multiple of the input. A codec is a [`codec::Algorithm`]: trees and RNTuples
//! know none by name.
//!
//! Parsed records can be written, and are the same bytes:
//!
//! ```
//! use arrowroot_format::Output;
//! use arrowroot_format::container::FileHeader;
//!
//! let file = std::fs::read("../../tests/fixtures/events.root").unwrap();
//! let header = FileHeader::parse(&file)?;
//! assert_eq!(header.end, file.len() as u64);
//! let mut output = Output::new(0);
//! header.write(&mut output)?;
//! assert!(file.starts_with(output.bytes()));
//! # Ok::<(), arrowroot_format::Error>(())
//! ```

mod cursor;
mod error;
mod near_names;
mod output;

pub mod codec;
pub mod column;
pub mod container;
pub mod decode;
pub mod encode;
pub mod rntuple;
pub mod streamer;
pub mod tree;

/// Bytes of the paths of all columns of a tree or an RNTuple together. Each repeats the names around it: a long name is not to
/// be written down thousands of times.
pub(crate) const MAX_PATH_BYTES: usize = 64 << 20;

pub use cursor::{BYTE_COUNT_MASK, Cursor, VersionFrame};
pub use error::{Error, Fault, Place, Result, Within};
pub use near_names::nearest;
pub use output::{Frame, ON_HEAP_BITS, Output, Reference};
