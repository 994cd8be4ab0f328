//! Writing ROOT files.
//!
//!     batches -> clusters -> pieces (baskets, pages), encoded and compressed in parallel -> ordered queue -> appender -> sink
//!
//! A [`cluster`] is cut where its values say, never where a thread finished first, so the same data are the same bytes from
//! any number of threads. A [`TableFormat`] knows what the pieces of a cluster are; nothing else here knows baskets from
//! pages.

pub mod appender;
pub mod cluster;
pub mod error;
pub mod file;
pub mod table_format;

pub use appender::Appender;
pub use cluster::Cluster;
pub use error::{Error, Result};
pub use file::{DirectoryId, FileSettings, FileWriter, ROOT_DIRECTORY};
pub use table_format::{EncodeTask, Encoded, TableFormat};
