//! What all threads of a scan see.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_schema::SchemaRef;
use arrowroot_arrow::TextForm;
use arrowroot_file::{Elsewhere, Unverified};
use arrowroot_format as format;
use arrowroot_storage::{ScanSource, Source};

use super::composition::Composition;
use super::logical::{LogicalId, LogicalReads};
use super::plan::{Piece, Plan};
use super::stats::Counters;
use crate::memory::HeldMemory;

/// What all threads of a scan see, whatever it reads.
pub(crate) struct ScanView {
    pub(crate) plan: Plan,
    /// What the scan reads through.
    pub(crate) reading: ScanSource,
    pub(crate) counters: Counters,
    pub(crate) held: Arc<HeldMemory>,
    pub(crate) text: TextForm,
    /// `None` if no trace was asked for.
    pub(crate) logical: Option<LogicalReads>,
    pub(crate) unverified: Unverified,
    /// How batches are put together from what is read; `None`: they are as they are read.
    pub(crate) composition: Option<Composition>,
}

impl ScanView {
    /// Schema of the batches that are delivered.
    pub(crate) fn schema(&self) -> &SchemaRef {
        self.composition.as_ref().map_or_else(|| self.plan.schema(), Composition::schema)
    }

    pub(crate) fn source(&self) -> &dyn Source {
        self.reading.source.as_ref()
    }

    /// Where a column's data may be read again.
    pub(crate) fn elsewhere<'c>(&'c self, path: &'c str) -> Elsewhere<'c> {
        Elsewhere { unverified: Some(&self.unverified), afresh: &self.reading.afresh, path }
    }

    /// Other bytes to take for data in the file that nothing vouches for, where other replicas make them doubtful.
    pub(crate) fn unverified(&self, offset: u64, bytes: &[u8]) -> format::Result<Option<Vec<u8>>> {
        let Some(replicas) = self.reading.afresh.replicas() else { return Ok(None) };
        self.unverified.checked(replicas, offset..offset.saturating_add(bytes.len() as u64), bytes)
    }

    /// Counts bytes of the file that are needed.
    pub(crate) fn count_payload(&self, offset: u64, n_bytes: u64) {
        self.counters.payload_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        self.reading.physical.need(offset, n_bytes);
    }

    /// Notes that a piece of a column is needed; `None` if no trace was asked for.
    pub(crate) fn begin_logical(&self, column: usize, piece: &Piece) -> Option<LogicalId> {
        let reads = self.logical.as_ref()?;
        Some(reads.begin(piece.offset, u64::from(piece.stored_bytes), piece.first_entry, column))
    }
}
