//! Placing: of one window after the other its pieces get their places in a batch, and become tasks of all threads.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use arrowroot_file::{PooledScratch, Result};

use super::super::fetch::{Fetched, fetch};
use super::super::pass::{Building, Pass, Placing, Task, Threads, Window};
use super::super::serial::WorkTime;
use super::super::stats::add_ns;
use super::super::view::ScanView;
use super::Run;

/// The state of placing, which one thread has at a time.
pub(super) struct Placer<P: Pass> {
    pub(super) batch: usize,
    window: usize,
    /// Windows placed so far, of all batches.
    n_windows: usize,
    building: Option<Building<P::Fill>>,
    kept: P::Kept,
    scratch: PooledScratch,
}

/// The outcome of placing a window.
pub(super) enum Placed<F> {
    /// More of the batch is to come.
    Window,
    /// All pieces of the batch are placed.
    Batch(Building<F>),
    /// There is nothing left.
    End,
}

impl<P: Pass> Placer<P> {
    /// At the first window of the first batch.
    pub(super) fn new() -> Self {
        Placer {
            batch: 0,
            window: 0,
            n_windows: 0,
            building: None,
            kept: P::Kept::default(),
            scratch: PooledScratch::default(),
        }
    }

    /// Number of the window that is placed next, among those of all batches; `None` if the batch has no more.
    pub(super) fn next_window(&self, view: &ScanView) -> Option<usize> {
        let batch = view.plan.batches.get(self.batch)?;
        (self.window < batch.windows.len()).then_some(self.n_windows)
    }

    /// True if the next step begins a batch.
    pub(super) fn begins_batch(&self) -> bool {
        self.building.is_none()
    }

    /// Places the next window, which is fetched here unless it has been.
    pub(super) fn advance(
        &mut self,
        shared: &Run<P>,
        fetched: Option<Fetched>,
        is_stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Placed<P::Fill>> {
        let view = &shared.common.view;
        let Some(batch) = view.plan.batches.get(self.batch) else { return Ok(Placed::End) };
        let mut place_time = WorkTime::begin();
        let mut building = match self.building.take() {
            Some(building) => building,
            None => {
                let (fill, held_bytes) = shared.pass.begin(view, self.batch, &mut self.kept)?;
                view.held.add(held_bytes);
                Building { number: self.batch, open: Arc::default(), held_bytes, fill }
            }
        };
        if let Some(planned) = batch.windows.get(self.window) {
            let fetched = match fetched {
                Some(fetched) => fetched,
                None => place_time.without(|| shared.common.reading(|| fetch(view, planned, is_stopped)))?,
            };
            let mut workers = Workers { run: shared, is_stopped, place_time: &mut place_time };
            let tasks = Vec::new();
            let (batch, scratch, threads) = (&mut building, &mut self.scratch, &mut workers);
            let mut placing = Placing { view, batch, scratch, threads, tasks };
            shared.pass.place(&mut placing, &mut self.kept, Window { planned, fetched })?;
            placing.emit();
            self.window += 1;
            self.n_windows += 1;
        }
        add_ns(&view.counters.place_ns, place_time.end());
        if self.window < batch.windows.len() {
            self.building = Some(building);
            return Ok(Placed::Window);
        }
        self.batch += 1;
        self.window = 0;
        Ok(Placed::Batch(building))
    }
}

/// The threads of a scan, as the one uses them that places a window.
struct Workers<'r, P: Pass> {
    run: &'r Run<P>,
    is_stopped: &'r mut dyn FnMut() -> bool,
    place_time: &'r mut WorkTime,
}

impl<P: Pass> Threads<P::Work> for Workers<'_, P> {
    fn emit(&mut self, tasks: Vec<Task<P::Work>>) {
        let mut state = self.run.lock();
        state.tasks.extend(tasks);
        state.tell();
    }

    fn drain(&mut self, open: &AtomicUsize, scratch: &mut PooledScratch) -> Result<()> {
        let Workers { run, is_stopped, place_time } = self;
        place_time.without(|| run.drain(open, scratch, is_stopped))
    }
}
