//! What is asked of a scan.

use std::ops::Range;

use arrowroot_arrow::TextForm;
use arrowroot_file::{Error, Result};
use arrowroot_format::tree::BranchId;

/// Number of a column of a table: of a branch of a tree, group or not, or of a field of an RNTuple that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnId(pub u32);

/// What to read.
#[derive(Debug, Clone)]
pub struct Request {
    /// The columns, with the names that they are delivered by; in this order in the result.
    pub columns: Vec<(ColumnId, String)>,
    /// Which entries.
    pub entries: Entries,
    /// In which order pieces are needed.
    pub order: Order,
    /// Size of a batch in memory in bytes, about; `None`: all in one.
    pub batch_bytes: Option<u64>,
    /// Entries of each batch but the last, which may have fewer; `batch_bytes` then cuts nothing, and is what such a batch may
    /// take, for the budget.
    pub batch_entries: Option<u64>,
    /// Bound for what a streamed scan holds, in bytes: windows, batches, and pieces that several batches need.
    pub memory_budget_bytes: u64,
    /// Threads that decode, the caller's among them; 0: as many as there are cores.
    pub n_threads: usize,
    /// Whether to keep each read.
    pub trace: bool,
    /// The form of text.
    pub text: TextForm,
    /// Whether the checksums of an RNTuple's pages are compared with the pages.
    pub verify_checksums: bool,
    /// Each column as the bytes of its entries, not interpreted: for what cannot be read otherwise.
    pub raw: bool,
}

impl From<BranchId> for ColumnId {
    fn from(branch: BranchId) -> Self {
        ColumnId(branch.0)
    }
}

/// In which order the pieces of a batch are needed. The values that come out are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By the first entry of each and, of those that begin together, as they lie in the file; of RNTuples cluster by cluster,
    /// as they lie in the file. This is the least for the store.
    #[default]
    Cluster,
    /// One entry after the other, and in each the columns in the order of the request, as `TTree::GetEntry` reads: a piece is
    /// needed when the first of the entries that are read in it comes, and stays in hand until its last.
    Entry,
}

/// Which entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entries {
    /// Half-open range.
    Range(Range<u64>),
    /// In this order; any order, repeats allowed.
    List(Vec<u64>),
}

impl Entries {
    /// From the first entry that is named to behind the last.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for entries that are not among the `n_entries` of the table.
    pub(crate) fn span(&self, n_entries: u64, kind: &str) -> Result<Range<u64>> {
        let wrong = |what: String| Err(Error::InvalidRequest { what: format!("{what} of {kind} with {n_entries}") });
        match self {
            Entries::Range(range) if range.start > range.end || range.end > n_entries => {
                wrong(format!("entries {} to {}", range.start, range.end))
            }
            Entries::Range(range) => Ok(range.clone()),
            Entries::List(list) => match list.iter().find(|&&entry| entry >= n_entries) {
                Some(entry) => wrong(format!("entry {entry}")),
                None => Ok(list.iter().min().copied().unwrap_or(0)..list.iter().max().map_or(0, |last| last + 1)),
            },
        }
    }
}

impl Request {
    /// The part of the budget for pieces that several batches need: half of it, or less if two batches, the consumer's
    /// and the next, leave less.
    pub(crate) fn kept_budget_bytes(&self) -> u64 {
        let batch_bytes = self.batch_bytes.unwrap_or(0);
        let left = self.memory_budget_bytes.saturating_sub(batch_bytes.saturating_mul(5) / 2);
        left.clamp(self.memory_budget_bytes / 8, self.memory_budget_bytes / 2)
    }

    /// The least budget of which so much is for pieces that several batches need.
    pub(crate) fn budget_to_keep(&self, n_bytes: u64) -> u64 {
        let batch_bytes = self.batch_bytes.unwrap_or(0);
        let beside_batches = n_bytes.saturating_add(batch_bytes.saturating_mul(5) / 2);
        beside_batches.min(n_bytes.saturating_mul(8)).max(n_bytes.saturating_mul(2))
    }

    /// The part of the budget for windows and undelivered batches.
    pub(crate) fn moving_budget_bytes(&self) -> u64 {
        self.memory_budget_bytes - self.kept_budget_bytes()
    }
}
