//! From a URL and options to the layers that a file and its scans read through.

use std::sync::Arc;

use crate::account::{Accounted, Ledger};
use crate::coalesce::CoalesceLimits;
use crate::error::Result;
use crate::known::Known;
use crate::options::Options;
use crate::source::{Nature, Opened, Source, Speculation};

/// Asked for while a remote file is opened. Tree records, key list and class descriptions are written last, so most
/// files have them in the tail; a larger one would be over-read where few columns are wanted.
const SPECULATION: Speculation = Speculation { head_bytes: 4 << 10, tail_bytes: 256 << 10 };
/// Compressed bytes of a window of a local file: small enough to stay in the cache between reading and decoding, and to
/// cost few page faults the first time.
const LOCAL_WINDOW_BYTES: u64 = 2 << 20;
/// What lies between two baskets is read with them if it is not more than this; CMS found the same size useful.
const LOCAL_GAP_BYTES: u64 = 32 << 10;

/// An open file's store and the layers that all its scans share.
pub struct Stack {
    base: Arc<dyn Source>,
    ledger: Arc<Ledger>,
    options: Options,
}

/// How the engine is to ask a scan's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadStyle {
    /// Payload of one vector read in bytes, at most, unless a single range is larger.
    pub window_bytes: u64,
    /// What of a window is merged into one range; `None`: each range by itself, in the order of need.
    pub limits: Option<CoalesceLimits>,
    /// Windows that are fetched in the background; 0: who decodes, reads.
    pub n_ahead: usize,
}

/// What one scan reads through.
pub struct ScanSource {
    /// The topmost layer.
    pub source: Arc<dyn Source>,
    /// What the engine asked for.
    pub logical: Arc<Ledger>,
    /// What the store, or the layer that all scans share, was asked for.
    pub physical: Arc<Ledger>,
    /// How to ask.
    pub style: ReadStyle,
}

impl Stack {
    /// Opens a file.
    ///
    /// # Errors
    /// As [`crate::open`].
    pub fn open(url: &str, options: &Options) -> Result<Stack> {
        Ok(Self::new(crate::open(url, options, SPECULATION)?, options))
    }

    /// Builds the shared layers around a file that is open.
    pub fn new(opened: Opened, options: &Options) -> Stack {
        let ledger = Arc::new(Ledger::new("store", false));
        let store: Arc<dyn Source> = Arc::new(Accounted::new(opened.source, Arc::clone(&ledger)));
        let base = if opened.known.is_empty() { store } else { Arc::new(Known::new(store, opened.known)) };
        Stack { base, ledger, options: options.clone() }
    }

    /// What metadata is read through.
    pub fn base(&self) -> &Arc<dyn Source> {
        &self.base
    }

    /// Everything that the store was asked for since the opening.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// The options in force.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The layers of a scan. With `trace`, its ledgers keep each read.
    pub fn scan(&self, trace: bool) -> ScanSource {
        let physical = Arc::new(Ledger::new("store", trace));
        let logical = Arc::new(Ledger::new("engine", trace));
        let below = Arc::new(Accounted::new(Arc::clone(&self.base), Arc::clone(&physical)));
        let source = Arc::new(Accounted::new(below, Arc::clone(&logical)));
        ScanSource { source, logical, physical, style: style(&self.options, self.base.nature()) }
    }
}

fn style(options: &Options, _nature: Nature) -> ReadStyle {
    ReadStyle {
        window_bytes: options.cache_bytes.unwrap_or(LOCAL_WINDOW_BYTES),
        limits: Some(CoalesceLimits {
            max_gap_bytes: options.max_gap_bytes.unwrap_or(LOCAL_GAP_BYTES),
            max_span_bytes: options.max_span_bytes.unwrap_or(2 * LOCAL_WINDOW_BYTES),
        }),
        n_ahead: options.prefetch.unwrap_or(0),
    }
}
