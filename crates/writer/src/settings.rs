//! The settings of a table.

use std::sync::Arc;

use arrow_schema::Schema;
use arrowroot_format::codec::CompressionSetting;

/// Compressed bytes of a cluster of a tree. Source: `TTree::fAutoFlush` (ROOT 6.40).
pub const TREE_CLUSTER_BYTES: u64 = 30_000_000;
/// Most bytes of a page before compression. Source: `RNTupleWriteOptions::fMaxUnzippedPageSize` (ROOT 6.40).
pub const PAGE_BYTES: u32 = 1 << 20;
/// A cluster takes at most so much before it is compressed, unless more is asked for.
pub const MAX_CLUSTER_BYTES: u64 = 64_000_000;
/// It also takes at most this share of the buffers of its file: what is collected, its offsets, and what becomes of it are there
/// at once.
const SHARE_OF_BUFFERS: u64 = 4;
/// Buffers that are smaller make no clusters smaller.
const MIN_CLUSTER_BYTES: u64 = 1_000_000;

/// Where clusters end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// When they take about so many bytes, compressed.
    Bytes(u64),
    /// After so many entries.
    Entries(u64),
    /// Nowhere: pieces go to the file when they are full. Trees alone can be so.
    Never,
}

/// How a table is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A `TTree`.
    Tree,
    /// An RNTuple.
    Ntuple,
}

/// The settings of a table.
#[derive(Debug, Clone)]
pub struct TableSettings {
    /// For each column, how it is compressed; empty: as the file is.
    pub compression: Vec<CompressionSetting>,
    /// For each column, its title; empty: none has one.
    pub titles: Vec<String>,
    /// For each column of a tree, the counter that its lists share with those of other columns, `None` for one of its own; empty:
    /// all have their own. The lists of columns that share one have the same lengths, which is checked.
    pub counters: Vec<Option<String>>,
    /// The schema to give back when the table is read; `None`: the one that says what is stored.
    pub schema: Option<Arc<Schema>>,
    /// Where clusters end.
    pub flush: Flush,
    /// Most bytes of a cluster before it is compressed, where [`Flush::Bytes`] would make it larger; `None`: what fits the
    /// buffers, and [`MAX_CLUSTER_BYTES`]. One entry may exceed it.
    pub max_cluster_bytes: Option<u64>,
    /// Size of the baskets of a tree; `None`: fitted to the cluster.
    pub basket_bytes: Option<u32>,
    /// Most bytes of the pages of an RNTuple before compression; `None`: ROOT's default.
    pub page_bytes: Option<u32>,
}

impl Default for TableSettings {
    /// ROOT's defaults for a tree.
    fn default() -> Self {
        TableSettings {
            compression: Vec::new(),
            titles: Vec::new(),
            counters: Vec::new(),
            schema: None,
            flush: Flush::Bytes(TREE_CLUSTER_BYTES),
            max_cluster_bytes: None,
            basket_bytes: None,
            page_bytes: None,
        }
    }
}

impl TableSettings {
    /// Most bytes of a cluster before it is compressed, in a file with buffers of so many bytes.
    pub(crate) fn most_of_cluster(&self, buffer_bytes: usize) -> u64 {
        let share = (buffer_bytes as u64 / SHARE_OF_BUFFERS).clamp(MIN_CLUSTER_BYTES, MAX_CLUSTER_BYTES);
        self.max_cluster_bytes.unwrap_or(share)
    }
}
