//! ROOT files as containers, over any source of bytes: header, directories, keys, streamer information, and what is
//! recovered of a file that was damaged or not closed.
//!
//! It knows storage and format, and nothing of the columns of trees: whoever reads columns and whoever writes files stands on it.
//!
//! A file lists its keys, and gives what a key holds:
//!
//! ```
//! use arrowroot_file::File;
//! use arrowroot_storage::Options;
//!
//! let file = File::open(&["../../tests/fixtures/events.root"], &Options::default())?;
//! let key = file.find("events")?;
//! assert_eq!(key.key.class_name, "TTree");
//! let record = file.read_object(&key.key)?;
//! assert_eq!(record.len(), key.key.object_bytes as usize);
//! # Ok::<(), arrowroot_file::Error>(())
//! ```

mod access;
mod classes;
mod described;
mod elsewhere;
mod envelopes;
mod error;
mod file;
mod fitness;
mod inside;
mod key;
mod keys;
mod listing;
mod object;
mod paths;
mod recover;
mod scratch;

pub use access::{
    check_metadata, check_metadata_bytes, format_error, read_each, read_parts, read_range, read_ranges, read_together,
    unpack, unpack_at,
};
pub use elsewhere::{Elsewhere, Unverified};
pub use envelopes::{Envelopes, check_page_lists, check_schema, read_blobs};
pub use error::{Answers, Error, Result, nearest, permanent};
pub use file::File;
pub use key::FileKey;
pub use object::KeyedObject;
pub use scratch::{PooledScratch, Scratch};
