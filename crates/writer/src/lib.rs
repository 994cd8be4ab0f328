//! Writing ROOT files.
//!
//! ```text
//! batches -> clusters -> pieces (baskets, pages), encoded and compressed in parallel -> ordered queue -> appender -> sink
//! ```
//!
//! A [`cluster`] is cut where its values say, never where a thread finished first, so the same data are the same bytes from
//! any number of threads. A [`TableFormat`] knows what the pieces of a cluster are; nothing else here knows baskets from
//! pages.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{Int32Array, RecordBatch};
//! use arrowroot_format::codec::CompressionSetting;
//! use arrowroot_storage::{MemoryFile, MemorySink};
//! use arrowroot_writer::{FileSettings, FileWriter, Format, ROOT_DIRECTORY, TableSettings, TableWriter};
//!
//! let batch = RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![1, 2, 3])) as _)]).unwrap();
//! let memory = MemoryFile::default();
//! let settings = FileSettings {
//!     name: "out.root".to_owned(),
//!     compression: CompressionSetting(505),
//!     is_reproducible: true,
//!     n_threads: 1,
//!     buffer_bytes: 1 << 22,
//! };
//! let file = FileWriter::create(Arc::new(MemorySink::create("out.root", &memory)), settings)?;
//! let (schema, options) = (batch.schema(), TableSettings::default());
//! let mut table = TableWriter::create(&file, ROOT_DIRECTORY, "Events", "", &schema, Format::Tree, options)?;
//! table.append(&batch)?;
//! assert_eq!(table.close()?.n_entries, 3);
//! file.close()?;
//! assert!(memory.bytes().is_some_and(|bytes| bytes.starts_with(b"root")));
//! # Ok::<(), arrowroot_writer::Error>(())
//! ```

pub mod appender;
mod buffers;
pub mod check;
mod cluster;
mod codec;
mod column;
pub mod contexts;
mod cutter;
pub mod error;
mod field_type;
pub mod file;
#[cfg(test)]
mod interleavings;
pub mod ntuple;
pub mod objects;
pub mod packed;
mod pipeline;
mod pool;
mod precision;
pub mod queue;
pub mod settings;
pub mod table;
pub mod table_format;
pub mod tree;
mod unique;

pub use appender::Appender;
pub use arrowroot_arrow::stored::{SCHEMA_RECORD, StoreError};
pub use cluster::Cluster;
pub use column::Column;
pub use contexts::policy::Policy;
pub use contexts::stalls::{ContextReport, Doing, Interval, Stalls};
pub use contexts::{Checked, ContextSettings, Contexts, Fill, FillContext, Order, Step, Work};
pub use error::{Error, Result};
pub use file::{DirectoryId, FileSettings, FileWriter, ROOT_DIRECTORY};
pub use packed::{PackedBasket, PackedCluster, PackedPage, PackedPieces, StoredAs};
pub use pipeline::Written;
pub use queue::{Queue, QueueReport, QueueSettings};
pub use settings::{
    Annotation, Baskets, ColumnCodec, ColumnLayout, Flush, Format, Lists, NumberEncoding, Precision, ProjectedField,
    TableSettings, TreeNotes,
};
pub use table::TableWriter;
pub use table_format::{EncodeTask, Encoded, Extension, Save, TableFormat};
