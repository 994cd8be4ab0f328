//! The steps that trees and RNTuples do each in their way.

use std::sync::Arc;

use arrowroot_format::codec::Compressor;

use crate::appender::Appender;
use crate::check::Check;
use crate::cluster::Cluster;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::file::FileWriter;
use crate::packed::{PackedCluster, StoredAs, of_other_format};

/// Encodes and compresses a piece, or several small ones, on any thread.
pub type EncodeTask<P> = Box<dyn FnOnce(&mut Compressor) -> Result<Encoded<P>> + Send>;

/// Saves a table on its way, as it was when this was made.
pub type Save = Box<dyn FnOnce(&FileWriter) -> Result<()>>;

/// The result of a task.
#[derive(Debug)]
pub struct Encoded<P> {
    /// Bytes for the file.
    pub bytes: Vec<u8>,
    /// What they are: where each basket or page is in them, and what the metadata will say of it.
    pub pieces: P,
}

/// Columns that come up when a table has entries already.
#[derive(Debug)]
pub struct Extension<'a> {
    /// All columns of the table, the new ones at the end.
    pub columns: &'a [Column],
    /// How many of them it has.
    pub n_known: usize,
    /// The entries before this one are in clusters that are placed, and have default values of the new columns.
    pub first_entry: u64,
    /// The Arrow schema of all columns, as `ARROW:schema` has it, if reading would give another one without.
    pub arrow_schema: Option<String>,
}

/// A table being written, as its format has it.
pub trait TableFormat: Send + Sync + 'static {
    /// What is known of the pieces that one task made.
    type Pieces: Send + 'static;

    /// True if clusters of one number of entries are said in a shorter way than others.
    const HAS_REGULAR_CLUSTERS: bool = false;

    /// Cuts a cluster into tasks of at least 64 KiB where it can, so that each is worth a thread's while. What they make does
    /// not depend on when or where they run.
    ///
    /// # Errors
    /// If a value cannot be stored: the error names the column and the entry.
    fn tasks(&self, cluster: Arc<Cluster>) -> Result<Vec<EncodeTask<Self::Pieces>>>;

    /// That the metadata have room for what the entries so far are still to become, and for more: asked before more are taken.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if they have not. The table can be closed, with the entries that it has.
    fn check_room(&self) -> Result<()> {
        Ok(())
    }

    /// What [`tasks`](TableFormat::tasks) kept back of the clusters so far, as nothing was full with it: asked for once, behind
    /// the last cluster. What the tasks make is placed with a cluster of no entries.
    ///
    /// # Errors
    /// As for `tasks`.
    fn rest(&self) -> Result<Vec<EncodeTask<Self::Pieces>>> {
        Ok(Vec::new())
    }

    /// Takes what the next tasks of a cluster made, in the order of the tasks. Fills in what depends on where in the file it is,
    /// notes it for the metadata, and appends it, or keeps it until the cluster is complete. Clusters come here in their order,
    /// one at a time, and without their columns, whose memory may be free again. The last call for each has `is_last`.
    ///
    /// # Errors
    /// If the format has no room for it, or it cannot be written.
    fn place(
        &mut self,
        cluster: &Cluster,
        encoded: Vec<Encoded<Self::Pieces>>,
        is_last: bool,
        appender: &mut Appender,
    ) -> Result<()>;

    /// How its metadata will describe it, if it takes packed clusters; `None` if it takes none.
    ///
    /// # Errors
    /// If the format has no room for it.
    fn stored_as(&self) -> Result<Option<StoredAs>> {
        Ok(None)
    }

    /// Makes what [`place`](TableFormat::place) takes of a packed cluster, which has the branches or columns that
    /// [`stored_as`](TableFormat::stored_as) says.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for pieces of another format, and if the metadata have no room for them.
    fn packed(&self, _cluster: PackedCluster) -> Result<Encoded<Self::Pieces>> {
        Err(of_other_format())
    }

    /// The checks of values that its fields do not hold, by column; `None` where one holds all of its type.
    fn checks(&self) -> Vec<Option<Check>> {
        Vec::new()
    }

    /// True if the cluster that is being collected ends before columns that come up: its entries have not one default value each of
    /// one of them.
    ///
    /// # Errors
    /// As [`extend`](TableFormat::extend).
    fn ends_cluster(&self, _new: &[Column]) -> Result<bool> {
        Ok(false)
    }

    /// Takes columns that come up later. Returns how many bytes of pieces that has put into the file.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] and [`Error::Store`] for columns that the table cannot have: it is as it was then. Any other
    /// error stops the file.
    fn extend(&mut self, file: &FileWriter, extension: Extension<'_>) -> Result<u64> {
        let (_, Extension { columns, n_known, .. }) = (file, extension);
        let names: Vec<&str> = columns[n_known..].iter().map(Column::name).collect();
        let what = format!("columns {names:?}: tables of this format have the columns that they begin with");
        Err(Error::InvalidRequest { what })
    }

    /// Notes that the order of the entries is by chance, as several filled the table at the same time. Formats without a place
    /// for that do nothing.
    fn be_reshuffled(&mut self) {}

    /// Saves the table as its metadata has it now, if it is time for that: asked for behind each cluster.
    ///
    /// # Errors
    /// If the metadata have no room for it.
    fn saving(&mut self) -> Result<Option<Save>> {
        Ok(None)
    }

    /// Writes the metadata of the table, now that all is placed, and lists it in its directory.
    ///
    /// # Errors
    /// If the format has no room for it, or it cannot be written.
    fn finish(&mut self, file: &FileWriter) -> Result<()>;
}
