//! The next step of a thread of a scan.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::fetch::Fetcher;
use super::super::pass::{Pass, Task};
use super::placer::Placer;
use super::{Making, Run, ScanState};

/// A step of a thread.
pub(super) enum Step<P: Pass> {
    Decode(Task<P::Work>),
    Column(Arc<Making<P>>, usize),
    Fetch(usize),
    Place(Box<Placer<P>>),
    /// There is work, and no processor for it.
    Rest,
    Wait,
    Stop,
}

impl<P: Pass> Run<P> {
    /// True if a step takes a processor all the time. Who places reads, too, if nobody else does.
    fn is_work(&self, step: &Step<P>, reads_wait: bool) -> bool {
        match step {
            Step::Decode(_) | Step::Column(..) => true,
            Step::Place(_) => !reads_wait || self.common.fetcher.is_some(),
            Step::Fetch(_) => !reads_wait,
            Step::Rest | Step::Wait | Step::Stop => false,
        }
    }

    /// Begins a step, and whether it is work: the thread takes itself off the number that work when it has the state again.
    pub(super) fn next_step(&self, state: &mut ScanState<P>) -> (Step<P>, bool) {
        let reads_wait = self.common.reads_wait();
        let step = self.choose_step(state, reads_wait);
        let is_work = self.is_work(&step, reads_wait);
        if is_work {
            state.n_working += 1;
            self.common.peak_working.fetch_max(state.n_working, Ordering::Relaxed);
        }
        (step, is_work)
    }

    fn choose_step(&self, state: &mut ScanState<P>, reads_wait: bool) -> Step<P> {
        if state.is_stopped {
            return Step::Stop;
        }
        let has_processor = state.n_working < self.common.max_working;
        if !has_processor && !reads_wait {
            return Step::Rest;
        }
        // Windows first: the next one is to be there when this one is done.
        let n_held = self.common.fetcher.as_ref().map_or(0, Fetcher::n_held);
        let n_open = self.common.view.held.windows.load(Ordering::Relaxed).saturating_sub(n_held);
        let max_windows = self.common.max_windows();
        let has_room = n_open < max_windows;
        let may_begin = self.may_begin(state);
        let is_due = has_room || state.tasks.is_empty();
        if is_due
            && (has_processor || self.common.fetcher.is_none())
            && !state.is_all_placed
            && state.failed.is_none()
            && state.placer.as_ref().is_some_and(|placer| may_begin || !placer.begins_batch())
            && (max_windows > 1 || state.tasks.is_empty())
            && state.placer.as_ref().is_some_and(|placer| self.is_fetched(placer))
            && let Some(placer) = state.placer.take()
        {
            if placer.begins_batch() {
                state.n_begun += 1;
            }
            return Step::Place(placer);
        }
        if let Some(number) = self.common.fetcher.as_ref().and_then(|fetcher| fetcher.try_begin(reads_wait)) {
            return Step::Fetch(number);
        }
        if !has_processor {
            return Step::Rest;
        }
        if let Some((making, column)) = state.columns.pop_front() {
            return Step::Column(making, column);
        }
        match state.tasks.pop_front() {
            Some(task) => Step::Decode(task),
            None => Step::Wait,
        }
    }

    /// True if there is room for another batch.
    fn may_begin(&self, state: &ScanState<P>) -> bool {
        state.n_begun - state.n_delivered < self.common.max_batches
    }

    /// True if more threads than one find something to do.
    pub(super) fn has_work_for_others(&self, state: &ScanState<P>) -> bool {
        let may_begin = self.may_begin(state);
        let has_windows = state.placer.as_ref().is_none_or(|placer| {
            placer.next_window(&self.common.view).is_some() && (may_begin || !placer.begins_batch())
        });
        let is_going_on = !state.is_stopped && state.failed.is_none();
        is_going_on && (has_windows || state.tasks.len() + state.columns.len() > 1)
    }

    /// True if the next window can be placed without waiting for it.
    fn is_fetched(&self, placer: &Placer<P>) -> bool {
        match (&self.common.fetcher, placer.next_window(&self.common.view)) {
            (Some(fetcher), Some(number)) => fetcher.want(number),
            _ => true,
        }
    }
}
