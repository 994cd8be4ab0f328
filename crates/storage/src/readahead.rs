//! One window of fixed size, filled again when a read misses it: RFIO's READBUF.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::account::{Ledger, Operation};
use crate::error::{Error, Result};
use crate::source::{Part, Source, check_range, pass_on, read_each};

/// Which bytes the window holds, and what a read does to it. No bytes and no I/O.
#[derive(Debug, Clone)]
pub struct ReadAheadWindow {
    window_bytes: u64,
    file_bytes: u64,
    held: Range<u64>,
}

/// What becomes of a piece of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It is in the window.
    Copy(Range<u64>),
    /// The window is filled with this.
    Refill(Range<u64>),
    /// It is read past the window, which stays as it is.
    Direct(Range<u64>),
}

impl ReadAheadWindow {
    /// An empty one.
    pub fn new(window_bytes: u64, file_bytes: u64) -> Self {
        ReadAheadWindow { window_bytes: window_bytes.max(1), file_bytes, held: 0..0 }
    }

    /// The steps that answer a read, in order. A read that is larger than the window passes it; another copies what is
    /// there, and the first byte that is not there becomes the start of the window.
    pub fn read(&mut self, range: &Range<u64>) -> Vec<Step> {
        let mut steps = Vec::with_capacity(3);
        if range.end - range.start > self.window_bytes {
            return vec![Step::Direct(range.clone())];
        }
        let mut missed = range.start;
        if self.held.contains(&range.start) {
            missed = range.end.min(self.held.end);
            steps.push(Step::Copy(range.start..missed));
        }
        if missed < range.end {
            self.held = missed..missed.saturating_add(self.window_bytes).min(self.file_bytes);
            steps.push(Step::Refill(self.held.clone()));
            steps.push(Step::Copy(missed..range.end));
        }
        steps
    }

    /// The window could not be filled.
    pub fn forget(&mut self) {
        self.held = 0..0;
    }

    /// What is in the window.
    pub fn held(&self) -> &Range<u64> {
        &self.held
    }
}

/// A layer with one window. Threads that read at the same time wait for each other, as they share it.
pub struct ReadAhead {
    inner: Arc<dyn Source>,
    ledger: Arc<Ledger>,
    state: Mutex<ReadAheadState>,
}

struct ReadAheadState {
    window: ReadAheadWindow,
    /// Offset in the file of `bytes`, which are what the window held before the steps that it decided on.
    start: u64,
    bytes: Vec<u8>,
}

impl ReadAhead {
    /// A window of `window_bytes` before `inner`. Reads that need nothing from below are entered in `ledger` as cache hits.
    pub fn new(inner: Arc<dyn Source>, window_bytes: u64, ledger: Arc<Ledger>) -> Self {
        let window = ReadAheadWindow::new(window_bytes, inner.size_bytes());
        ReadAhead { inner, ledger, state: Mutex::new(ReadAheadState { window, start: 0, bytes: Vec::new() }) }
    }

    fn refill(&self, state: &mut ReadAheadState, range: &Range<u64>) -> Result<()> {
        let n_bytes = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        state.start = range.start;
        state.bytes.clear();
        state.bytes.try_reserve_exact(n_bytes).map_err(|_| Error::Option {
            option: "cache_size".to_owned(),
            what: format!("there is no memory for a window of {n_bytes} bytes"),
        })?;
        state.bytes.resize(n_bytes, 0);
        self.inner.read_at(range.start, &mut state.bytes)
    }
}

#[deny(clippy::missing_trait_methods)]
impl Source for ReadAhead {
    pass_on!(inner);

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range(self, offset, buffer.len())?;
        if buffer.is_empty() {
            return Ok(());
        }
        let index = |at: u64| usize::try_from(at - offset).unwrap_or(usize::MAX);
        let range = offset..offset + buffer.len() as u64;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let steps = state.window.read(&range);
        let mut answer = || {
            for step in &steps {
                match step {
                    Step::Copy(piece) => {
                        let from = usize::try_from(piece.start - state.start).unwrap_or(usize::MAX);
                        let into = &mut buffer[index(piece.start)..index(piece.end)];
                        into.copy_from_slice(&state.bytes[from..from + into.len()]);
                    }
                    Step::Refill(window) => {
                        if let Err(error) = self.refill(&mut state, window) {
                            state.window.forget();
                            return Err(error);
                        }
                    }
                    Step::Direct(piece) => {
                        self.inner.read_at(piece.start, &mut buffer[index(piece.start)..index(piece.end)])?;
                    }
                }
            }
            Ok(())
        };
        if matches!(steps.as_slice(), [Step::Copy(_)]) {
            self.ledger.enter(Operation::CacheHit, std::iter::once((offset, range.end - offset)), answer)
        } else {
            answer()
        }
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        read_each(self, parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySource;

    fn steps(window: &mut ReadAheadWindow, range: Range<u64>) -> String {
        let names = window.read(&range).into_iter().map(|step| match step {
            Step::Copy(range) => format!("copy {range:?}"),
            Step::Refill(range) => format!("refill {range:?}"),
            Step::Direct(range) => format!("direct {range:?}"),
        });
        names.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_miss_moves_the_window_to_the_first_missing_byte() {
        let mut window = ReadAheadWindow::new(100, 1000);
        assert_eq!(steps(&mut window, 50..60), "refill 50..150, copy 50..60");
        assert_eq!(steps(&mut window, 60..150), "copy 60..150");
        assert_eq!(steps(&mut window, 140..170), "copy 140..150, refill 150..250, copy 150..170");
        // Backwards is a miss, whatever was there before.
        assert_eq!(steps(&mut window, 60..70), "refill 60..160, copy 60..70");
        assert_eq!(steps(&mut window, 0..101), "direct 0..101");
        assert_eq!(window.held(), &(60..160));
        assert_eq!(steps(&mut window, 990..1000), "refill 990..1000, copy 990..1000");
    }

    #[test]
    fn reads_inside_the_window_are_hits_and_ask_nothing_below() {
        let content: Vec<u8> = (0..200).collect();
        let below = Arc::new(Ledger::new("store", true));
        let own = Arc::new(Ledger::new("readahead", true));
        let store = crate::Accounted::new(Arc::new(MemorySource::new("m", content.clone())), Arc::clone(&below));
        let source = ReadAhead::new(Arc::new(store), 50, Arc::clone(&own));
        for start in [0_u64, 10, 20, 45, 100] {
            let mut buffer = [0; 10];
            source.read_at(start, &mut buffer).unwrap();
            assert_eq!(u64::from(buffer[0]), start);
            assert_eq!(u64::from(buffer[9]), start + 9);
        }
        let asked: Vec<_> = below.events().iter().map(|event| (event.offset, event.n_bytes)).collect();
        assert_eq!(asked, [(0, 50), (50, 50), (100, 50)]);
        assert_eq!(own.totals(Operation::CacheHit).n_successful, 2);
    }
}
