//! Fetching windows: by the thread that places them, by threads of their own before they are asked for, or by whichever
//! decoding thread comes by.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use arrowroot_file::{Result, read_each, read_range, read_together};
use arrowroot_storage::Part;

use super::plan::{Plan, PlannedWindow};
use super::stats::add_ns;
use super::view::ScanView;
use crate::clock::thread_cpu_time;
use crate::memory::WindowBytes;

/// A range is put where its address and its offset in the file agree modulo this: the kernel copies from pages that are
/// aligned, and into memory that is not does so three times slower (docs/decisions/2026-11-21-local-reads.md).
const ALIGNMENT: usize = 64;
/// More windows at a time are not fetched, whatever is asked for: each takes a thread.
const MAX_FETCHERS: usize = 64;

/// A window that is in memory.
pub(crate) struct Fetched {
    pub(crate) bytes: Arc<WindowBytes>,
    /// For each of its pieces the place in the bytes; empty for one that is not among them.
    pub(crate) ranges: Vec<Range<usize>>,
}

/// Reads the spans of a window into one buffer. `is_stopped` is asked before each read.
///
/// # Errors
/// Those of the reads; [`Error::Cancelled`](arrowroot_file::Error::Cancelled) if it was stopped between two of them.
pub(crate) fn fetch(view: &ScanView, window: &PlannedWindow, is_stopped: &mut dyn FnMut() -> bool) -> Result<Fetched> {
    let size_bytes = view.source().size_bytes();
    if let Some(span) = window.spans.iter().find(|span| span.range.end > size_bytes) {
        // The error of the read says more than a failed allocation.
        read_range(view.source(), span.range.start, span.range.end - span.range.start)?;
    }
    let size = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let n_bytes =
        window.spans.iter().fold(0_usize, |sum, span| sum.saturating_add(size(&span.range)).saturating_add(ALIGNMENT));
    let mut bytes = WindowBytes::new(n_bytes, &view.held)?;
    let mut ranges = vec![0..0; window.pieces.len()];
    let mut parts = Vec::with_capacity(window.spans.len());
    let mut rest = &mut bytes.bytes[..];
    let mut start = 0;
    for span in &window.spans {
        let padding = padding(rest.as_ptr(), span.range.start);
        start += padding;
        let (buffer, after) = rest[padding..].split_at_mut(size(&span.range));
        rest = after;
        for &member in &span.members {
            let location = view.plan.location(&window.pieces[member]);
            let offset = start + usize::try_from(location.offset - span.range.start).unwrap_or(usize::MAX);
            ranges[member] = offset..offset + location.stored_bytes as usize;
        }
        start += buffer.len();
        parts.push(Part { offset: span.range.start, buffer });
    }
    match view.plan.style.limits {
        Some(_) => read_together(view.source(), &mut parts, is_stopped)?,
        None => read_each(view.source(), &mut parts, is_stopped)?,
    }
    Ok(Fetched { bytes: Arc::new(bytes), ranges })
}

/// How far behind `place` a range that begins at `offset` in the file is to begin.
fn padding(place: *const u8, offset: u64) -> usize {
    let wanted = usize::try_from(offset % ALIGNMENT as u64).unwrap_or(0);
    (wanted + ALIGNMENT - place.addr() % ALIGNMENT) % ALIGNMENT
}

/// Which threads fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FetchedBy {
    /// Threads that do nothing else: a network is waited for.
    Own,
    /// The decoding ones: a local read takes a processor. As long as none waits, so many windows are fetched before they are
    /// asked for.
    Decoding { n_near: usize },
}

/// Fetches windows in the order of the plan and not too far ahead.
pub(crate) struct Fetcher {
    by: FetchedBy,
    n_ahead: usize,
    /// All windows of the plan: number of the batch, and of the window in it.
    windows: Vec<(usize, usize)>,
    state: Mutex<Fetching>,
    changed: Condvar,
}

#[derive(Default)]
struct Fetching {
    /// Window that is fetched next.
    next: usize,
    /// Windows before this one have been asked for.
    n_wanted: usize,
    n_in_flight: usize,
    ready: BTreeMap<usize, Result<Fetched>>,
    is_stopped: bool,
}

impl Fetcher {
    /// `n_ahead`: windows that are fetched before they are asked for; with 0 each is fetched when it is.
    pub(crate) fn new(plan: &Plan, by: FetchedBy, n_ahead: usize) -> Self {
        let windows = plan.batches.iter().enumerate();
        let windows =
            windows.flat_map(|(batch, planned)| (0..planned.windows.len()).map(move |window| (batch, window)));
        Fetcher { by, n_ahead, windows: windows.collect(), state: Mutex::default(), changed: Condvar::new() }
    }

    /// How many threads of their own should run [`Fetcher::run`].
    pub(crate) fn n_threads(&self) -> usize {
        match self.by {
            FetchedBy::Decoding { .. } => 0,
            FetchedBy::Own => self.n_ahead.clamp(1, MAX_FETCHERS).min(self.windows.len()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Fetching> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop of a fetching thread; `tell` says that a window has come.
    pub(crate) fn run(&self, view: &ScanView, tell: &dyn Fn()) {
        let mut cpu_before = thread_cpu_time();
        while let Some(number) = self.begin_next() {
            self.fetch(number, view, &mut || false);
            let cpu_now = thread_cpu_time();
            add_ns(&view.counters.cpu_ns, cpu_now.saturating_sub(cpu_before));
            cpu_before = cpu_now;
            tell();
        }
    }

    /// Fetches a window that was begun. `is_stopped` is asked before each read.
    pub(crate) fn fetch(&self, number: usize, view: &ScanView, is_stopped: &mut dyn FnMut() -> bool) {
        let (batch, window) = self.windows[number];
        let mut is_stopped = || self.lock().is_stopped || is_stopped();
        let fetched = fetch(view, &view.plan.batches[batch].windows[window], &mut is_stopped);
        let mut state = self.lock();
        state.n_in_flight -= 1;
        state.ready.insert(number, fetched);
    }

    /// Begins a window that a decoding thread may fetch now, if there is one.
    pub(crate) fn try_begin(&self, reads_wait: bool) -> Option<usize> {
        let FetchedBy::Decoding { n_near } = self.by else { return None };
        self.begin(&mut self.lock(), if reads_wait { self.n_ahead } else { n_near })
    }

    fn begin(&self, state: &mut Fetching, n_ahead: usize) -> Option<usize> {
        let is_due = state.next < self.windows.len() && state.next < state.n_wanted.saturating_add(n_ahead);
        if !is_due || state.is_stopped {
            return None;
        }
        state.next += 1;
        state.n_in_flight += 1;
        Some(state.next - 1)
    }

    /// Waits until a window may be fetched; `None` at the end.
    fn begin_next(&self) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.is_stopped || state.next >= self.windows.len() {
                return None;
            }
            if let Some(number) = self.begin(&mut state, self.n_ahead) {
                return Some(number);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Asks for a window. Returns whether it is there.
    pub(crate) fn want(&self, number: usize) -> bool {
        let mut state = self.lock();
        if state.n_wanted <= number {
            state.n_wanted = number + 1;
            self.changed.notify_all();
        }
        state.ready.contains_key(&number)
    }

    /// Takes a window that is there.
    pub(crate) fn take(&self, number: usize) -> Result<Option<Fetched>> {
        self.lock().ready.remove(&number).transpose()
    }

    /// Windows that are fetched and not taken, or being fetched.
    pub(crate) fn n_held(&self) -> usize {
        let state = self.lock();
        state.n_in_flight + state.ready.len()
    }

    /// Lets the threads end when they come back from their reads.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        state.ready.clear();
        drop(state);
        self.changed.notify_all();
    }
}
