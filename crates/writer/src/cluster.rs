//! Clusters: entries that are written together.

use arrowroot_arrow::Stored;

/// The entries of one cluster, in the parts that they came in.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Number of its first entry in the table.
    pub first_entry: u64,
    /// Number of its entries.
    pub n_entries: usize,
    /// For each column of the table: its values, in one or several parts. All columns have the same parts.
    pub columns: Vec<Vec<Stored>>,
}
