//! Columns that come up later: their branches are filled with default values up to there.
//!
//! Source: `TBranch::BackFill` (ROOT 6.40): baskets end where the clusters of the tree do, too.

use std::sync::PoisonError;

use arrowroot_arrow::stored::{default_bytes, defaults};
use arrowroot_format::codec::Compressor;

use super::cut::{Cutting, Parts};
use super::encode::{Carried, Encoding};
use super::layout::{self, Branch, TreeColumn};
use super::placed::PlacedBranch;
use super::{TreeFormat, containers, elements};
use crate::cluster::Cluster;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::file::FileWriter;
use crate::table_format::Extension;

/// Default values are made for so many bytes of entries at once, or for one entry.
const FILLED_BYTES: u64 = 4 << 20;

impl TreeFormat {
    /// Adds the branches of new columns, without entries, behind those that there are.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for columns that have no branches beside those that there are: nothing has changed then.
    pub(super) fn add_branches(&mut self, file: &FileWriter, extension: &Extension<'_>) -> Result<()> {
        let columns: Vec<TreeColumn> = extension.columns.iter().cloned().map(TreeColumn::from).collect();
        let settings = &self.settings;
        let all = layout::branches_of(&columns, &settings.name, file.datime(), settings.generates_offsets)?;
        let checks = columns.iter().map(containers::check_of).collect::<Result<_>>()?;
        let n_known = self.branches.len();
        let known = self.branches.iter().map(|branch| &branch.planned);
        if let Some((branch, _)) = known.zip(&all).find(|(known, same)| **known != same.planned) {
            let what = format!(
                "tree {}: a branch {:?} is there, which is none of a column of that name: name the new column otherwise",
                settings.name, branch.name
            );
            return Err(Error::InvalidRequest { what });
        }
        let new: Vec<Branch> = all.into_iter().skip(n_known).collect();
        elements::describe(file, &new)?;
        let buffer_bytes = if self.cutting == Cutting::Fitted { 0 } else { self.basket_bytes(n_known, false) };
        self.placed.extend(new.iter().map(|branch| PlacedBranch::new(branch.has_offsets, buffer_bytes)));
        self.branches = self.branches.iter().cloned().chain(new).collect();
        let carried = self.carried.get_mut().unwrap_or_else(PoisonError::into_inner);
        carried.resize(self.branches.len(), Carried::default());
        self.checks = checks;
        self.settings.arrow_schema.clone_from(&extension.arrow_schema);
        Ok(())
    }

    /// Fills the branches of new columns with default values for all entries before. Returns the bytes of their baskets.
    pub(super) fn back_fill(&mut self, file: &FileWriter, extension: &Extension<'_>) -> Result<u64> {
        let &Extension { columns, n_known, .. } = extension;
        let is_new = |branch: &&Branch| branch.planned.column >= n_known;
        let first_branch = self.branches.len() - self.branches.iter().filter(is_new).count();
        let entry_bytes = columns[n_known..].iter().map(|column| default_bytes(column.data_type())).sum::<u64>();
        let n_most = (FILLED_BYTES / entry_bytes.max(1)).max(1);
        let (stored_bytes, mut compressor) = (self.stored_bytes, Compressor::new());
        let clusters: Vec<_> = self.clusters.clusters().collect();
        for entries in clusters {
            let mut start = entries.start;
            while start < entries.end {
                let n_entries = usize::try_from(n_most.min(entries.end - start)).unwrap_or(usize::MAX);
                let of_column = |(number, column): (usize, &Column)| {
                    if number < n_known { Vec::new() } else { vec![defaults(column.data_type(), n_entries)] }
                };
                let columns = columns.iter().enumerate().map(of_column).collect();
                let cluster = Cluster { first_entry: start, n_entries, columns };
                self.fill_cluster(file, &cluster, first_branch, &mut compressor)?;
                start += n_entries as u64;
            }
        }
        Ok(self.stored_bytes - stored_bytes)
    }

    /// Writes the baskets of the entries of a cluster, or of some of it, of the branches from a number on.
    fn fill_cluster(
        &mut self,
        file: &FileWriter,
        cluster: &Cluster,
        first_branch: usize,
        compressor: &mut Compressor,
    ) -> Result<()> {
        let parts = Parts::one(cluster.n_entries);
        let encoding = Encoding { branches: &self.branches, cluster, parts: &parts };
        let jobs = self.jobs(&encoding, first_branch)?;
        self.count(jobs.len())?;
        let mut bytes = Vec::new();
        let baskets = encoding.encode(jobs, compressor, &mut bytes)?;
        file.with_appender(|appender| {
            let start = appender.position();
            for basket in &baskets {
                let offset = start + basket.bytes.start as u64;
                self.place_basket(basket, &mut bytes[basket.bytes.clone()], offset)?;
            }
            appender.append(&[&bytes]).map(drop)
        })
    }
}
