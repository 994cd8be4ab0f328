//! Clusters whose pieces are packed already: they come from a file, and go to another as they are.

use arrowroot_format::codec::CompressionSetting;
use arrowroot_format::rntuple::Schema;
use arrowroot_format::tree::{BasketHead, TreeRecord};

use crate::error::Error;

/// A table as its metadata will describe it, for those who look if packed pieces fit into it.
#[derive(Debug, Clone)]
pub enum StoredAs {
    /// The record of a tree, with the branches that it has.
    Tree(Box<TreeRecord>),
    /// Fields and columns of an RNTuple.
    Ntuple(Box<Schema>),
}

/// A cluster whose pieces are packed already.
#[derive(Debug, Clone)]
pub struct PackedCluster {
    /// Number of its entries: at least one.
    pub n_entries: usize,
    /// Bytes of its pieces before they were compressed.
    pub memory_bytes: u64,
    /// The pieces, one behind the other.
    pub bytes: Vec<u8>,
    /// All that each branch or column has of these entries, in the order of its entries.
    pub pieces: PackedPieces,
}

/// The pieces of a packed cluster, in the order of their bytes.
#[derive(Debug, Clone)]
pub enum PackedPieces {
    /// Baskets, with their keys.
    Baskets(Vec<PackedBasket>),
    /// Pages, each with the checksum behind it.
    Pages(Vec<PackedPage>),
}

/// A basket that is packed already.
#[derive(Debug, Clone)]
pub struct PackedBasket {
    /// Number of its branch in the record.
    pub branch: usize,
    /// Its head. What that says of its place is written anew.
    pub head: BasketHead,
    /// At least the largest count of a counter, or length of a text.
    pub largest: u64,
    /// How it was compressed.
    pub setting: CompressionSetting,
}

/// A page that is packed already.
#[derive(Debug, Clone)]
pub struct PackedPage {
    /// Number of its column in the schema.
    pub column: usize,
    /// Number of its elements.
    pub n_elements: u32,
    /// Bytes as stored, without the checksum behind them.
    pub stored_bytes: usize,
    /// Bytes when uncompressed.
    pub n_bytes: usize,
    /// The checksum behind it.
    pub checksum: u64,
    /// How it was compressed.
    pub setting: CompressionSetting,
}

/// The error for pieces of another format than the table's.
pub(crate) fn of_other_format() -> Error {
    Error::InvalidRequest { what: "packed pieces of another format than the table's".to_owned() }
}
