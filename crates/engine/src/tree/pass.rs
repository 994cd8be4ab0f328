//! A scan of a tree, as the threads run it.

use std::collections::HashMap;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use arrowroot_file::{PooledScratch, Result};
use arrowroot_format as format;
use arrowroot_format::tree::BranchId;

use super::Tree;
use super::basket::BasketWork;
use super::builder::{Builder, DecodedBatch};
use super::nested::{self, Nesting};
use super::place::{KeptBaskets, Placer};
use super::plan::{ReadBranch, plan};
use crate::scan::{Pass, Placing, Request, Scan, ScanView, Window};
use crate::table::Table;

/// One pass over branches of a tree.
pub(crate) struct TreePass {
    pub(crate) tree: Tree,
    /// In the order of the plan's columns.
    pub(crate) branches: Vec<ReadBranch>,
    /// Of these.
    schema: SchemaRef,
    /// How they are delivered; `None`: as they are.
    nesting: Option<Nesting>,
}

/// Plans a scan of a tree.
pub(super) fn scan(tree: &Tree, request: &Request) -> Result<Scan> {
    let reading = tree.file().stack().scan(request.trace);
    let mut columns: Vec<(BranchId, String)> =
        request.columns.iter().map(|(id, name)| (BranchId(id.0), name.clone())).collect();
    let nesting = match nested::unnested(tree, &columns, request)? {
        Some((read, nesting)) => {
            columns = read;
            Some(nesting)
        }
        None => None,
    };
    let is_remote = reading.source.access_profile().is_remote;
    let nested = nesting.as_ref().map(|nesting| nesting.schema().clone());
    let (plan, branches, schema) = plan(tree, &columns, nested, request, &reading.style, is_remote)?;
    let pass = TreePass { tree: tree.clone(), branches, schema, nesting };
    Ok(Scan::new(pass, plan, reading, request))
}

impl Pass for TreePass {
    type Work = BasketWork;
    type Fill = Builder;
    type Kept = KeptBaskets;
    type Sealed = DecodedBatch;

    fn begin(&self, view: &ScanView, number: usize, kept: &mut KeptBaskets) -> Result<(Builder, usize)> {
        kept.begin_batch();
        let entries = &view.plan.batches[number].entries;
        Ok((Builder::new(&self.branches, entries, &self.schema, view.text)?, 0))
    }

    fn place(&self, placing: &mut Placing<'_, Self>, kept: &mut KeptBaskets, window: Window<'_>) -> Result<()> {
        Placer { pass: self, kept, placing, waiting_bytes: 0 }.place(window)
    }

    fn decode(
        &self,
        view: &ScanView,
        column: usize,
        work: BasketWork,
        scratch: &mut PooledScratch,
    ) -> format::Result<()> {
        work.run(&self.tree, &self.branches[column], view, scratch)
    }

    fn seal(&self, view: &ScanView, _number: usize, fill: Builder) -> Result<DecodedBatch> {
        fill.seal(&self.branches, view.source().url())
    }

    fn slow_columns(&self, batch: &DecodedBatch) -> Vec<usize> {
        batch.slow_columns()
    }

    fn column(&self, view: &ScanView, _number: usize, batch: &DecodedBatch, column: usize) -> Result<ArrayRef> {
        batch.column(&self.branches, view.source().url(), column)
    }

    fn join(
        &self,
        view: &ScanView,
        _number: usize,
        batch: &DecodedBatch,
        made: HashMap<usize, ArrayRef>,
    ) -> Result<(RecordBatch, u64)> {
        let url = view.source().url();
        let (batch, n_bytes) = batch.join(&self.branches, url, made)?;
        match &self.nesting {
            Some(nesting) => Ok((nesting.apply(&batch, url)?, n_bytes)),
            None => Ok((batch, n_bytes)),
        }
    }
}
