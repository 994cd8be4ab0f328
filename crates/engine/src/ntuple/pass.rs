//! A scan of an RNTuple, as the threads run it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrowroot_file::{Error, PooledScratch, Result};
use arrowroot_format as format;

use super::Ntuple;
use super::builder::{Builder, Filled, FilledBatch, is_slow};
use super::look_up::PageId;
use super::page::{PageWork, count};
use super::plan::{NtuplePlan, plan};
use super::shared::{PagePayload, SharedPage};
use crate::scan::{Keeping, Pass, Payload, Placing, Request, Scan, ScanView, Window};
use crate::table::Table;

/// Plans a scan of an RNTuple.
pub(super) fn scan(ntuple: &Ntuple, request: &Request) -> Result<Scan> {
    let reading = ntuple.file().stack().scan(request.trace);
    let (plan, pass) = plan(ntuple, request, &reading.style, reading.source.as_ref())?;
    Ok(Scan::new(pass, plan, reading, request))
}

/// Pages that the next batch needs too.
type KeptPages = HashMap<(u32, u32), PagePayload>;

impl Pass for NtuplePlan {
    type Work = PageWork;
    type Fill = Builder;
    type Kept = KeptPages;
    type Sealed = Vec<Filled>;

    fn begin_scan(&self, view: &ScanView) {
        for PageId { slot, page } in &self.looked_into {
            let location = &view.plan.columns[*slot].pieces[*page];
            count(&self.slots[*slot].pages[*page], &view.counters);
            view.count_payload(location.offset, u64::from(location.stored_bytes));
            view.begin_logical(*slot, location);
        }
    }

    fn begin(&self, view: &ScanView, number: usize, _kept: &mut KeptPages) -> Result<(Builder, usize)> {
        Builder::new(number, &view.plan, self)
    }

    fn place(&self, placing: &mut Placing<'_, Self>, kept: &mut KeptPages, window: Window<'_>) -> Result<()> {
        let view = placing.view;
        for (piece, range) in window.planned.pieces.iter().zip(&window.fetched.ranges) {
            let (slot, number) = (piece.column as usize, piece.piece as usize);
            let page = self.slots.get(slot).and_then(|slot| slot.pages.get(number));
            let (Some(&page), Some((target, stretches))) = (page, placing.batch.fill.place(slot, number)) else {
                return Err(Error::Internal { what: "a page that its batch does not know".to_owned() });
            };
            let location = view.plan.location(piece);
            let mut logical = None;
            let mut payload = match kept.remove(&piece.key()).filter(|_| !piece.is_fetched()) {
                Some(kept) => kept,
                None => {
                    view.count_payload(location.offset, u64::from(location.stored_bytes));
                    logical = view.begin_logical(slot, location);
                    PagePayload::Own(Payload::Stored(Arc::clone(&window.fetched.bytes), range.clone()))
                }
            };
            if let (PagePayload::Own(stored), Keeping::Unpacked) = (&payload, piece.kept) {
                payload = PagePayload::Shared(SharedPage::new(stored.clone(), page.n_bytes, &view.held)?);
            }
            if let Some(payload) = payload.kept(piece.kept, &view.held)? {
                kept.insert(piece.key(), payload);
            }
            placing.push(slot, logical, PageWork { page, payload, stretches, target })?;
        }
        Ok(())
    }

    fn decode(
        &self,
        view: &ScanView,
        column: usize,
        work: PageWork,
        scratch: &mut PooledScratch,
    ) -> format::Result<()> {
        work.run(self.slots[column].kind.primitive(), &view.plan.columns[column].path, view, scratch)
    }

    fn seal(&self, _view: &ScanView, number: usize, fill: Builder) -> Result<Vec<Filled>> {
        fill.seal(number, self)
    }

    fn slow_columns(&self, _filled: &Vec<Filled>) -> Vec<usize> {
        let slow = self.shapes.iter().enumerate().filter(|(_, shape)| is_slow(shape, self));
        slow.map(|(column, _)| column).collect()
    }

    fn column(&self, view: &ScanView, number: usize, filled: &Vec<Filled>, column: usize) -> Result<ArrayRef> {
        FilledBatch { number, plan: &view.plan, pages: self, filled, text: view.text }.column(column)
    }

    fn join(
        &self,
        view: &ScanView,
        number: usize,
        filled: &Vec<Filled>,
        made: HashMap<usize, ArrayRef>,
    ) -> Result<(RecordBatch, u64)> {
        FilledBatch { number, plan: &view.plan, pages: self, filled, text: view.text }.join(made)
    }
}
