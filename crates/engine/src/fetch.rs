//! Fetching windows: by the thread that places them, or by threads of their own before they are asked for.

use std::collections::BTreeMap;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use arrowroot_storage::{Part, Source};

use crate::error::{Error, Result};
use crate::file::read_range;
use crate::memory::Block;
use crate::place::Context;
use crate::plan::{Plan, PlannedWindow};
use crate::stats::{add_ns, thread_cpu_time};

/// A range is put where its address and its offset in the file agree modulo this: the kernel copies from pages that are
/// aligned, and into memory that is not does so three times slower (docs/decisions/2026-11-21-local-reads.md).
const ALIGNMENT: usize = 64;
/// Kept bytes of this size and more have a mapping of their own.
const OWN_BLOCK_BYTES: usize = 128 << 10;
/// More windows at a time are not fetched, whatever is asked for: each takes a thread.
const MAX_FETCHERS: usize = 64;

/// Memory that windows and batches hold, and the windows that are in use.
#[derive(Default)]
pub(crate) struct Held {
    bytes: AtomicI64,
    peak: AtomicI64,
    pub(crate) windows: AtomicUsize,
}

impl Held {
    pub(crate) fn add(&self, n_bytes: usize) {
        let n_bytes = i64::try_from(n_bytes).unwrap_or(i64::MAX);
        let now = self.bytes.fetch_add(n_bytes, Ordering::Relaxed).saturating_add(n_bytes);
        self.peak.fetch_max(now, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, n_bytes: usize) {
        self.bytes.fetch_sub(i64::try_from(n_bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn peak_bytes(&self) -> u64 {
        u64::try_from(self.peak.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

/// The bytes of a window, until the last basket of it is done.
pub(crate) struct WindowBytes {
    pub(crate) bytes: Block,
    held: Arc<Held>,
}

impl WindowBytes {
    fn new(n_bytes: usize, held: &Arc<Held>) -> Result<WindowBytes> {
        let bytes = Block::new(n_bytes)?;
        held.windows.fetch_add(1, Ordering::Relaxed);
        held.add(bytes.held_bytes());
        Ok(WindowBytes { bytes, held: Arc::clone(held) })
    }
}

impl Drop for WindowBytes {
    fn drop(&mut self) {
        self.held.release(self.bytes.held_bytes());
        self.held.windows.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes outside of windows, which count as held for as long as they live.
pub(crate) struct HeldBytes {
    bytes: Bytes,
    n_held: usize,
    held: Arc<Held>,
}

/// Large pieces have mappings: among allocations of other sizes they would leave holes that are as large.
enum Bytes {
    Small(Box<[u8]>),
    Large(Block),
}

impl HeldBytes {
    pub(crate) fn copied(bytes: &[u8], held: &Arc<Held>) -> Result<Arc<HeldBytes>> {
        let (bytes, n_held) = if bytes.len() < OWN_BLOCK_BYTES {
            (Bytes::Small(bytes.into()), bytes.len())
        } else {
            let mut block = Block::new(bytes.len())?;
            block.copy_from_slice(bytes);
            let n_held = block.held_bytes();
            (Bytes::Large(block), n_held)
        };
        held.add(n_held);
        Ok(Arc::new(HeldBytes { bytes, n_held, held: Arc::clone(held) }))
    }
}

impl Deref for HeldBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Small(bytes) => bytes,
            Bytes::Large(block) => block,
        }
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.held.release(self.n_held);
    }
}

/// A window that is in memory.
pub(crate) struct Fetched {
    pub(crate) bytes: Arc<WindowBytes>,
    /// For each of its baskets the place in the bytes; empty for one that is not among them.
    pub(crate) ranges: Vec<Range<usize>>,
}

/// Reads the spans of a window into one buffer. `is_stopped` is asked before each read.
///
/// # Errors
/// Those of the reads; [`Error::Cancelled`] if it was stopped between two of them.
pub(crate) fn fetch(
    context: &Context,
    window: &PlannedWindow,
    is_stopped: &mut dyn FnMut() -> bool,
) -> Result<Fetched> {
    let size_bytes = context.source.size_bytes();
    if let Some(span) = window.spans.iter().find(|span| span.range.end > size_bytes) {
        // The error of the read says more than a failed allocation.
        read_range(context.source.as_ref(), span.range.start, span.range.end - span.range.start)?;
    }
    let size = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let n_bytes =
        window.spans.iter().fold(0_usize, |sum, span| sum.saturating_add(size(&span.range)).saturating_add(ALIGNMENT));
    let mut bytes = WindowBytes::new(n_bytes, &context.held)?;
    let mut ranges = vec![0..0; window.baskets.len()];
    let mut parts = Vec::with_capacity(window.spans.len());
    let mut rest = &mut bytes.bytes[..];
    let mut start = 0;
    for span in &window.spans {
        let padding = padding(rest.as_ptr(), span.range.start);
        start += padding;
        let (buffer, after) = rest[padding..].split_at_mut(size(&span.range));
        rest = after;
        for &member in &span.members {
            let location = context.plan.location(&window.baskets[member]);
            let offset = start + usize::try_from(location.offset - span.range.start).unwrap_or(usize::MAX);
            ranges[member] = offset..offset + location.stored_bytes as usize;
        }
        start += buffer.len();
        parts.push(Part { offset: span.range.start, buffer });
    }
    match context.plan.style.limits {
        Some(_) => read_together(context.source.as_ref(), &mut parts, is_stopped)?,
        None => read_each(context.source.as_ref(), &mut parts, is_stopped)?,
    }
    Ok(Fetched { bytes: Arc::new(bytes), ranges })
}

/// How far behind `place` a range that begins at `offset` in the file is to begin.
fn padding(place: *const u8, offset: u64) -> usize {
    let wanted = usize::try_from(offset % ALIGNMENT as u64).unwrap_or(0);
    (wanted + ALIGNMENT - place.addr() % ALIGNMENT) % ALIGNMENT
}

/// Fills all parts in one vector read; near by, where there is no such thing, in a read for each.
pub(crate) fn read_parts(source: &dyn Source, parts: &mut [Part<'_>]) -> Result<()> {
    read_together(source, parts, &mut || false)
}

fn read_together(source: &dyn Source, parts: &mut [Part<'_>], is_stopped: &mut dyn FnMut() -> bool) -> Result<()> {
    if parts.len() < 2 || !source.access_profile().is_remote {
        return read_each(source, parts, is_stopped);
    }
    Ok(source.read_vector(parts)?)
}

fn read_each(source: &dyn Source, parts: &mut [Part<'_>], is_stopped: &mut dyn FnMut() -> bool) -> Result<()> {
    for part in parts {
        if is_stopped() {
            return Err(Error::Cancelled);
        }
        source.read_at(part.offset, part.buffer)?;
    }
    Ok(())
}

/// Fetches windows in threads of its own, in the order of the plan and not too far ahead.
pub(crate) struct Fetcher {
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
    pub(crate) fn new(plan: &Plan, n_ahead: usize) -> Self {
        let windows = plan.batches.iter().enumerate();
        let windows =
            windows.flat_map(|(batch, planned)| (0..planned.windows.len()).map(move |window| (batch, window)));
        Fetcher { n_ahead, windows: windows.collect(), state: Mutex::default(), changed: Condvar::new() }
    }

    /// How many threads should run [`Fetcher::run`].
    pub(crate) fn n_threads(&self) -> usize {
        self.n_ahead.clamp(1, MAX_FETCHERS).min(self.windows.len())
    }

    fn lock(&self) -> MutexGuard<'_, Fetching> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop of a fetching thread; `tell` says that a window has come.
    pub(crate) fn run(&self, context: &Context, tell: &dyn Fn()) {
        let mut cpu_before = thread_cpu_time();
        while let Some(number) = self.begin_next() {
            let (batch, window) = self.windows[number];
            let mut is_stopped = || self.lock().is_stopped;
            let fetched = fetch(context, &context.plan.batches[batch].windows[window], &mut is_stopped);
            let cpu_now = thread_cpu_time();
            add_ns(&context.counters.cpu_ns, cpu_now.saturating_sub(cpu_before));
            cpu_before = cpu_now;
            let mut state = self.lock();
            state.n_in_flight -= 1;
            state.ready.insert(number, fetched);
            drop(state);
            tell();
        }
    }

    /// Waits until a window may be fetched; `None` at the end.
    fn begin_next(&self) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.is_stopped || state.next >= self.windows.len() {
                return None;
            }
            if state.next < state.n_wanted.saturating_add(self.n_ahead) {
                state.next += 1;
                state.n_in_flight += 1;
                return Some(state.next - 1);
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
