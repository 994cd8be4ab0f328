//! What was announced is fetched before it is asked for: the storage-only strategy.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::account::{Ledger, Operation};
use crate::error::{Error, Result};
use crate::requests::Protocol;
use crate::source::{AccessProfile, Part, Source, check_range};
use crate::windows::{Planner, ReadStyle, Wanted};

/// A layer that is told what will be read and fetches it in threads of its own, window by window and not too far ahead.
///
/// What was not announced, or is read again, passes through.
pub struct Background {
    shared: Arc<Shared>,
    /// Threads do not survive a fork.
    process: u32,
}

struct Shared {
    inner: Arc<dyn Source>,
    ledger: Arc<Ledger>,
    style: ReadStyle,
    state: Mutex<FetchState>,
    changed: Condvar,
}

#[derive(Default)]
struct FetchState {
    /// The ranges of each window, by offset.
    windows: Vec<Vec<Range<u64>>>,
    n_ahead: usize,
    n_threads: usize,
    /// Window that is fetched next.
    next: usize,
    /// Window that is being read.
    current: usize,
    /// Windows that are fetched, or could not be.
    ready: BTreeMap<usize, Fetched>,
    is_stopped: bool,
}

enum Fetched {
    Window(Arc<Vec<(u64, Vec<u8>)>>),
    /// The error is for who asks first.
    Failed(Option<Error>),
}

impl Background {
    /// Fetches from `inner` in the windows of `style`. They are entered in `ledger` as prefetches, reads of them as cache
    /// hits. No thread is started before the first read of what was announced.
    pub fn new(inner: Arc<dyn Source>, style: ReadStyle, ledger: Arc<Ledger>) -> Self {
        let shared = Shared { inner, ledger, style, state: Mutex::default(), changed: Condvar::new() };
        Background { shared: Arc::new(shared), process: std::process::id() }
    }

    /// Announces what will be read, in this order. Only the first announcement counts.
    pub fn announce(&self, wanted: &[Wanted], memory_budget_bytes: u64) {
        let style = self.shared.style.within(memory_budget_bytes);
        let planned = Planner::new(style, &[]).plan(wanted);
        let windows = planned.into_iter().filter(|window| !window.spans.is_empty()).map(|window| {
            let mut ranges: Vec<_> = window.spans.into_iter().map(|span| span.range).collect();
            ranges.sort_unstable_by_key(|range| range.start);
            ranges
        });
        let mut state = self.shared.lock();
        if state.windows.is_empty() {
            state.windows = windows.collect();
            state.n_ahead = style.n_ahead.max(1);
        }
    }

    /// Copies from a window that was announced; `None` if none holds the range or it cannot be fetched in the background.
    fn read_announced(&self, range: &Range<u64>, buffer: &mut [u8]) -> Option<Result<()>> {
        let mut state = self.shared.lock();
        let last = state.current.saturating_add(state.n_ahead).min(state.windows.len());
        let window =
            (state.current..=last).find(|&window| state.windows.get(window).is_some_and(|w| holds(w, range)))?;
        state.current = window;
        state.ready = state.ready.split_off(&window);
        Shared::start(&self.shared, &mut state);
        if state.n_threads == 0 {
            return None;
        }
        self.shared.changed.notify_all();
        loop {
            let is_passed = state.current > window;
            match state.ready.get_mut(&window) {
                Some(Fetched::Failed(error)) => return error.take().map(Err),
                Some(Fetched::Window(pieces)) => {
                    let pieces = Arc::clone(pieces);
                    drop(state);
                    return copy(&pieces, range, buffer).then_some(Ok(()));
                }
                // Another thread has gone on, and the window is given up.
                None if is_passed => return None,
                None => state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// The one of sorted ranges that holds all of a range.
fn holds(ranges: &[Range<u64>], range: &Range<u64>) -> bool {
    let after = ranges.partition_point(|held| held.start <= range.start);
    after > 0 && range.end <= ranges[after - 1].end
}

fn copy(pieces: &[(u64, Vec<u8>)], range: &Range<u64>, buffer: &mut [u8]) -> bool {
    let after = pieces.partition_point(|(start, _)| *start <= range.start);
    let Some((start, bytes)) = after.checked_sub(1).map(|index| &pieces[index]) else { return false };
    let from = usize::try_from(range.start - start).unwrap_or(usize::MAX);
    let found = from.checked_add(buffer.len()).and_then(|end| bytes.get(from..end));
    found.map(|found| buffer.copy_from_slice(found)).is_some()
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, FetchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the threads at the first read. With fewer than wanted it is slower, with none it is not done.
    fn start(shared: &Arc<Shared>, state: &mut FetchState) {
        if state.n_threads > 0 {
            return;
        }
        for number in 0..state.n_ahead.min(state.windows.len()) {
            let of_thread = Arc::clone(shared);
            let name = format!("arrowroot-ahead-{number}");
            if std::thread::Builder::new().name(name).spawn(move || of_thread.run()).is_ok() {
                state.n_threads += 1;
            }
        }
    }

    /// The loop of a thread.
    fn run(&self) {
        let mut state = self.lock();
        while !state.is_stopped && state.next < state.windows.len() {
            // What the reader has passed is not needed any more.
            state.next = state.next.max(state.current);
            if state.next > state.current.saturating_add(state.n_ahead) {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let window = state.next;
            state.next += 1;
            let ranges = state.windows[window].clone();
            drop(state);
            let mut fetching = Fetching { shared: self, window, fetched: None };
            fetching.fetched = Some(match self.fetch(&ranges) {
                Ok(pieces) => Fetched::Window(Arc::new(pieces)),
                Err(error) => Fetched::Failed(Some(error)),
            });
            drop(fetching);
            state = self.lock();
        }
    }

    fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<(u64, Vec<u8>)>> {
        let mut pieces = Vec::with_capacity(ranges.len());
        for range in ranges {
            // Before memory is taken: what was announced may be wrong.
            let size_bytes = self.inner.size_bytes();
            if range.end > size_bytes {
                let (url, n_bytes) = (self.inner.url().to_owned(), range.end - range.start);
                return Err(Error::PastEnd { url, offset: range.start, n_bytes, size_bytes });
            }
            pieces.push((range.start, vec![0; usize::try_from(range.end - range.start).unwrap_or(usize::MAX)]));
        }
        let asked = ranges.iter().map(|range| (range.start, range.end - range.start));
        let mut parts: Vec<Part<'_>> =
            pieces.iter_mut().map(|(offset, buffer)| Part { offset: *offset, buffer: buffer.as_mut_slice() }).collect();
        self.ledger.enter(Operation::Prefetch, asked, || self.inner.read_vector(&mut parts))?;
        Ok(pieces)
    }
}

/// Hands over what was fetched, and that nothing was if the thread panics.
struct Fetching<'s> {
    shared: &'s Shared,
    window: usize,
    fetched: Option<Fetched>,
}

impl Drop for Fetching<'_> {
    fn drop(&mut self) {
        let fetched = self.fetched.take().unwrap_or(Fetched::Failed(None));
        let mut state = self.shared.lock();
        if self.window >= state.current && !state.is_stopped {
            state.ready.insert(self.window, fetched);
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        let mut state = self.shared.lock();
        state.is_stopped = true;
        state.ready.clear();
        drop(state);
        // Threads end when they come back from their reads, which have a deadline.
        self.shared.changed.notify_all();
    }
}

#[deny(clippy::missing_trait_methods)]
impl Source for Background {
    fn url(&self) -> &str {
        self.shared.inner.url()
    }

    fn size_bytes(&self) -> u64 {
        self.shared.inner.size_bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        let n_bytes = buffer.len() as u64;
        let range = offset..offset + n_bytes;
        if !range.is_empty() && self.process == std::process::id() {
            let start = Instant::now();
            if let Some(result) = self.read_announced(&range, buffer) {
                let asked = std::iter::once((offset, n_bytes));
                return self.shared.ledger.enter_since(start, Operation::CacheHit, asked, result);
            }
        }
        self.shared.inner.read_at(offset, buffer)
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        parts.iter_mut().try_for_each(|part| self.read_at(part.offset, part.buffer))
    }

    fn access_profile(&self) -> AccessProfile {
        self.shared.inner.access_profile()
    }

    fn protocol(&self) -> Protocol {
        self.shared.inner.protocol()
    }

    fn version(&self) -> Option<String> {
        self.shared.inner.version()
    }
}
