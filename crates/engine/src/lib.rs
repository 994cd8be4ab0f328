//! Reads ROOT files into Apache Arrow.
//!
//! A [`Table`] is a [`Tree`] or an [`Ntuple`] of a [`File`]: metadata. A [`Scan`] of one plans which pieces of its columns to
//! read (baskets, pages), fetches them in windows, decodes them on several threads straight into Arrow buffers, and
//! delivers record batches in order. Its [`Plan`] is plain data, its [`Stats`] say what it cost.
//!
//! ```
//! use arrowroot::storage::Options;
//! use arrowroot::{Entries, File, Order, Request, TextForm, open_table};
//!
//! let file = File::open(&["../../tests/fixtures/events.root"], &Options::default())?;
//! let table = open_table(&file, "events")?.table;
//! let request = Request {
//!     columns: vec![(table.readable()?[0], "first".to_owned())],
//!     entries: Entries::Range(0..table.n_entries()),
//!     order: Order::Cluster,
//!     batch_bytes: None,
//!     batch_entries: None,
//!     memory_budget_bytes: 256_000_000,
//!     n_threads: 1,
//!     trace: false,
//!     text: TextForm::Utf8,
//!     verify_checksums: true,
//!     raw: false,
//! };
//! let mut scan = table.scan(&request)?;
//! let batch = scan.next_batch(&mut || false)?.expect("the tree has entries");
//! assert_eq!(batch.schema().field(0).name(), "first");
//! # Ok::<(), arrowroot::Error>(())
//! ```

mod clock;
mod composed;
mod memory;
mod misfit;
mod ntuple;
mod open;
mod pieces;
mod recent;
mod sample;
mod scan;
mod table;
mod tree;

pub use arrowroot_arrow::{TextForm, arrow_type};
pub use arrowroot_file::{Error, File, FileKey, KeyedObject, Result, permanent};
pub use arrowroot_format as format;
pub use arrowroot_storage as storage;
pub use ntuple::Ntuple;
pub use open::{Opened, find_inside, open_attribute_set, open_inside, open_table, recorded_schema};
pub use pieces::{ColumnPieces, EntrySpan, entry_spans};
pub use scan::{
    BatchEntries, ColumnId, Entries, Keeping, LogicalRead, Order, Piece, Plan, PlannedBatch, PlannedColumn,
    PlannedPiece, PlannedWindow, Request, Scan, ScanHandle, Stats,
};
pub use table::{
    BasketSizes, BranchSizes, ColumnPlace, ColumnTypes, Compact, Description, MAX_TYPE_BYTES, Physical, Recorded,
    SharedPart, Sizes, Table,
};
pub use tree::{SchemaCounts, Tree, schema_counts};
