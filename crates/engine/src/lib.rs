//! Reads ROOT files into Apache Arrow.
//!
//! [`File`] and [`Tree`] hold metadata; a [`Scan`] plans which baskets to read, fetches them in windows, decodes them on
//! several threads straight into Arrow buffers, and delivers record batches in order. Its [`Plan`] is plain data, its
//! [`Stats`] say what it cost.

mod assemble;
mod batch;
mod counts;
mod cut;
mod error;
mod fetch;
mod file;
mod gaps;
mod keep;
mod keys;
mod listing;
mod logical;
mod memory;
mod misfit;
mod nested;
mod ntuple;
mod object;
mod parts;
mod paths;
mod place;
mod plan;
mod recover;
mod sample;
mod scan;
mod scratch;
mod stats;
mod task;
mod text;
mod threads;
mod tree;
mod work;

pub use arrowroot_format as format;
pub use arrowroot_storage as storage;
pub use assemble::arrow_type;
pub use error::{Error, Result, lasting};
pub use file::{Entry, File};
pub use keep::Keeping;
pub use logical::LogicalRead;
pub use ntuple::{MemberId, Ntuple, Sizes};
pub use object::KeyedObject;
pub use plan::{
    BatchEntries, Content, Entries, Plan, PlannedBasket, PlannedBatch, PlannedColumn, PlannedWindow, Request,
};
pub use scan::{Scan, ScanHandle};
pub use stats::Stats;
pub use text::TextForm;
pub use tree::Tree;
