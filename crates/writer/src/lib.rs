//! Writing ROOT files.
//!
//! ```text
//! batches -> clusters -> pieces (baskets, pages), encoded and compressed in parallel -> ordered queue -> appender -> sink
//! ```
//!
//! A [`cluster`] is cut where its values say, never where a thread finished first, so the same data are the same bytes from
//! any number of threads. A [`TableFormat`] knows what the pieces of a cluster are; nothing else here knows baskets from
//! pages.

pub mod appender;
mod buffers;
pub mod cluster;
mod codec;
pub mod contexts;
mod cutter;
pub mod error;
pub mod file;
#[cfg(test)]
mod interleavings;
pub mod ntuple;
pub mod objects;
mod pipeline;
mod pool;
mod precision;
pub mod queue;
pub mod settings;
pub mod table;
pub mod table_format;
pub mod tree;

pub use appender::Appender;
pub use arrowroot_arrow::stored::StoreError;
pub use cluster::Cluster;
pub use contexts::policy::Policy;
pub use contexts::stalls::{ContextReport, Doing, Interval, Stalls};
pub use contexts::{Checked, ContextSettings, Contexts, Fill, FillContext, Order, Step, Work};
pub use error::{Error, Result};
pub use file::{DirectoryId, FileSettings, FileWriter, ROOT_DIRECTORY};
pub use pipeline::Written;
pub use queue::{Queue, QueueReport, QueueSettings};
pub use settings::{
    Annotation, Baskets, ColumnCodec, ColumnLayout, Flush, Format, Lists, NumberEncoding, Precision, TableSettings,
    TreeNotes,
};
pub use table::TableWriter;
pub use table_format::{EncodeTask, Encoded, Save, TableFormat};
