//! Clusters of a table that go to another as they are packed, between entries that are written anew.

use std::sync::Arc;

use arrowroot::{File, Physical, Table};
use arrowroot_writer::{PackedCluster, StoredAs, TableWriter};

use crate::error::{Error, Result};
use crate::ntuples::{PackedNtuple, Pages};
use crate::span::PackedSpan;
use crate::trees::PackedTree;

/// A table of which clusters can be copied to one that is being written.
pub struct Packed {
    table: Arc<dyn Table>,
    columns: Columns,
    spans: Vec<PackedSpan>,
}

/// The branches or columns that are copied.
enum Columns {
    Tree(PackedTree),
    Ntuple(PackedNtuple),
}

impl Packed {
    /// Finds the clusters of a table that can be copied, in the order of their entries. There are none if one of the branches or
    /// fields being written is stored in another way, or if the table being written takes none.
    ///
    /// # Errors
    /// If page lists of an RNTuple cannot be read.
    pub fn of(table: Arc<dyn Table>, writer: &TableWriter) -> Result<Option<Packed>> {
        let Some(stored_as) = writer.stored_as()? else { return Ok(None) };
        let found = match (stored_as, table.physical()?) {
            (StoredAs::Tree(output), Physical::Tree { record, object_data }) => {
                let starts = table.clusters()?;
                let columns = PackedTree::of(record, object_data, &output);
                columns.map(|columns| (columns.spans(&starts), Columns::Tree(columns)))
            }
            (StoredAs::Ntuple(output), Physical::Ntuple { schema, slots, footer, lists }) => {
                let pages = Pages { table: table.as_ref(), schema, slots, lists: &lists };
                let columns = PackedNtuple::of(schema, slots, &output);
                columns.map(|columns| (columns.spans(&pages, footer), Columns::Ntuple(columns)))
            }
            _ => None,
        };
        // Clusters that share bytes would make a large file of a small one.
        let is_bounded = |spans: &[PackedSpan]| {
            spans.iter().fold(0, |sum: u64, span| sum.saturating_add(span.stored_bytes)) <= table.file().size_bytes()
        };
        let found = found.filter(|(spans, _)| is_bounded(spans));
        Ok(found.map(|(spans, columns)| Packed { table, columns, spans }))
    }

    /// The clusters that can be copied.
    pub fn spans(&self) -> &[PackedSpan] {
        &self.spans
    }

    /// Copies the cluster that begins with an entry. False if it has to be written anew: too few entries wait before it for
    /// pieces of their own, or the keys of its baskets have no room for places beyond 2 GB.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for a cluster that is none of [`spans`](Packed::spans); if its pieces are damaged as far as
    /// heads and checksums tell; errors of reading and writing.
    pub fn copy(&self, first_entry: u64, writer: &mut TableWriter) -> Result<bool> {
        let found = self.spans.binary_search_by_key(&first_entry, |span| span.entries.start);
        let span = found.map(|number| &self.spans[number]).map_err(|_| Error::InvalidRequest {
            what: format!("no cluster that can be copied begins with entry {first_entry}"),
        })?;
        if !writer.is_at_end() {
            return Ok(false);
        }
        let Some(cluster) = self.read(span)? else { return Ok(false) };
        writer.append_packed(cluster)?;
        Ok(true)
    }

    /// Reads a cluster; where the bytes of it are wrong, from another replica.
    fn read(&self, span: &PackedSpan) -> Result<Option<PackedCluster>> {
        let table = self.table.as_ref();
        let physical = table.physical()?;
        let read = |file: &File| match (&self.columns, &physical) {
            (Columns::Tree(columns), _) => columns.read(file, table.path(), span),
            (Columns::Ntuple(columns), Physical::Ntuple { schema, slots, lists, .. }) => {
                columns.read(file, &Pages { table, schema, slots, lists }, span)
            }
            _ => Ok(None),
        };
        table.file().or_elsewhere(table.path(), |file| match read(file) {
            Err(Error::Read(error)) => Err(error),
            done => Ok(done),
        })?
    }
}
