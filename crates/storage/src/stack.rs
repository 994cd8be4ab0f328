//! From a URL and options to the layers that a file and its scans read through.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::account::{Accounted, Ledger, Ledgers, Operation};
use crate::afresh::Afresh;
use crate::background::Background;
use crate::block_cache::{BlockCache, Blocks};
use crate::error::Result;
use crate::lazy_download::{Download, LazyDownload};
use crate::logged::LOG;
use crate::options::Options;
use crate::preloaded::Preloaded;
use crate::readahead::ReadAhead;
use crate::replicas::{Judge, Replicas};
use crate::source::{Opened, Source, Speculation};
use crate::strategy::{Reading, StrategyLayer};
use crate::windows::{ReadStyle, Wanted};

/// Asked for while a remote file is opened, so that metadata costs no round trip of its own. ROOT writes tree records, key
/// list and class descriptions last (a NanoAOD file of 947 branches: 267 kB); uproot writes them first (550 bytes a branch).
const SPECULATION: Speculation = Speculation { head_bytes: 44 << 10, tail_bytes: 288 << 10 };

/// An open file's store, and what the layers of all its scans share.
///
/// From the bottom up: the store, the block cache (where one is set and the store is remote), what came with the opening,
/// and for a scan the layer of its strategy. Metadata is read below that one.
pub struct Stack {
    store: Arc<dyn Source>,
    base: Arc<dyn Source>,
    ledger: Arc<Ledger>,
    preloaded: Option<Preloaded>,
    blocks: Option<Arc<Blocks>>,
    download: Option<Arc<Download>>,
    /// Those of the layers inside the store.
    store_ledgers: Ledgers,
    options: Options,
    afresh: Arc<Afresh>,
    /// The last decision of a scan that was logged: passes that decide alike say it once.
    logged_decision: Mutex<String>,
}

/// What one scan reads through.
pub struct ScanSource {
    /// The topmost layer.
    pub source: Arc<dyn Source>,
    /// What the engine asked for.
    pub logical: Arc<Ledger>,
    /// What the store was asked for; it weighs that against what is needed if others may answer.
    pub physical: Arc<Ledger>,
    /// One for each layer boundary, from the store's to the engine's. That of a layer between holds what it was asked for,
    /// and what it did besides: cache hits, stage-ins, prefetches. That of the opening holds its hits only.
    pub ledgers: Vec<Arc<Ledger>>,
    /// How to ask.
    pub style: ReadStyle,
    /// Where to read again what is wrong.
    pub afresh: Arc<Afresh>,
    background: Option<Arc<Background>>,
}

impl ScanSource {
    /// Announces what will be read, in this order; a strategy that reads ahead below the engine needs it.
    pub fn announce(&self, wanted: &[Wanted], memory_budget_bytes: u64) {
        if let Some(background) = &self.background {
            background.announce(wanted, memory_budget_bytes);
        }
    }

    /// Whether [`ScanSource::announce`] makes a difference.
    pub fn wants_announcement(&self) -> bool {
        self.background.is_some()
    }
}

impl Stack {
    /// Opens a file, of which the URLs are replicas, and `judge` tells what each is good for.
    ///
    /// # Errors
    /// As [`crate::open_replicas`] and [`Stack::new`].
    pub fn open(urls: &[String], options: &Options, judge: &Judge) -> Result<Stack> {
        let start = Instant::now();
        let (opened, replicas) = crate::open_replicas(urls, options, SPECULATION, judge)?;
        let ledger = Arc::new(logging(Ledger::new("store", false), &opened.ledgers, opened.source.as_ref()));
        Self::entered(start, opened, replicas, options, ledger)
    }

    /// Opens another replica of the file by itself, with layers of its own; what it costs is accounted here, too.
    ///
    /// # Errors
    /// As [`Stack::open`]; [`crate::Error::Changed`] if it is another file.
    pub fn of_replica(&self, replicas: &Replicas, index: usize) -> Result<Stack> {
        let start = Instant::now();
        let (opened, replicas) = replicas.turned_to(index)?;
        Self::entered(start, opened, Some(replicas), &self.options, Arc::clone(&self.ledger))
    }

    fn entered(
        start: Instant,
        opened: Opened,
        replicas: Option<Arc<Replicas>>,
        options: &Options,
        ledger: Arc<Ledger>,
    ) -> Result<Stack> {
        let known: Vec<_> = opened.preloaded.iter().map(|(offset, bytes)| (*offset, bytes.len() as u64)).collect();
        ledger.enter_since(start, Operation::Open, known.into_iter(), Ok(()))?;
        Self::around(opened, replicas, options, ledger)
    }

    /// Builds the layers around a file that is open.
    ///
    /// # Errors
    /// [`crate::Error::LocalDisk`] if the directory of the block cache cannot be made.
    pub fn new(opened: Opened, options: &Options) -> Result<Stack> {
        let ledger = Arc::new(logging(Ledger::new("store", false), &opened.ledgers, opened.source.as_ref()));
        Self::around(opened, None, options, ledger)
    }

    fn around(
        opened: Opened,
        replicas: Option<Arc<Replicas>>,
        options: &Options,
        ledger: Arc<Ledger>,
    ) -> Result<Stack> {
        let profile = opened.source.access_profile();
        let reading = Reading::new(options, profile);
        let blocks = match options.block_cache_of(profile) {
            Some(directory) => Blocks::new(opened.source.as_ref(), directory, options.block_cache_bytes)?.map(Arc::new),
            None => None,
        };
        let download = match reading.layer {
            StrategyLayer::LazyDownload(segment_bytes) => {
                let directory = options.download_directory.as_deref();
                let patience = options.network.deadline;
                let max_bytes = options.network.max_copy_bytes;
                let source = opened.source.as_ref();
                Some(Arc::new(Download::new(source, directory, segment_bytes, max_bytes, patience)))
            }
            _ => None,
        };
        let store: Arc<dyn Source> = Arc::new(Accounted::new(Arc::clone(&opened.source), Arc::clone(&ledger)));
        let mut base = Arc::clone(&store);
        if let Some(blocks) = &blocks {
            base = Arc::new(BlockCache::new(base, Arc::clone(blocks), Arc::new(Ledger::new("block-cache", false))));
        }
        let opening = Arc::new(Ledger::new("opening", false));
        let preloaded = (!opened.preloaded.is_empty())
            .then(|| Preloaded::new(Arc::clone(&base), opened.preloaded, Arc::clone(&opening)));
        if let Some(preloaded) = &preloaded {
            base = Arc::new(preloaded.around(base, opening));
        }
        let store_ledgers = opened.ledgers;
        let options = options.clone();
        let afresh = Arc::new(Afresh {
            store: Arc::clone(&store),
            blocks: blocks.clone(),
            download: download.clone(),
            replicas,
        });
        Ok(Stack {
            store,
            base,
            ledger,
            preloaded,
            blocks,
            download,
            store_ledgers,
            options,
            afresh,
            logged_decision: Mutex::default(),
        })
    }

    /// The same file past all that is kept of it: what is read comes from the store, and is kept in the place of what was.
    /// `None` if it is on this machine, where the same would come again.
    pub fn renewed(&self) -> Option<Stack> {
        if !self.afresh.may_differ() {
            return None;
        }
        let store = Arc::clone(&self.store);
        let renewing = |blocks: &Arc<Blocks>| -> Arc<dyn Source> {
            let ledger = Arc::new(Ledger::new("block-cache", false));
            Arc::new(BlockCache::renewing(Arc::clone(&store), Arc::clone(blocks), ledger))
        };
        Some(Stack {
            base: self.blocks.as_ref().map_or_else(|| Arc::clone(&store), renewing),
            ledger: Arc::clone(&self.ledger),
            preloaded: None,
            blocks: self.blocks.clone(),
            download: self.download.clone(),
            store_ledgers: self.store_ledgers.clone(),
            options: self.options.clone(),
            afresh: Arc::clone(&self.afresh),
            logged_decision: Mutex::default(),
            store,
        })
    }

    /// What metadata is read through.
    pub fn base(&self) -> &Arc<dyn Source> {
        &self.base
    }

    /// Where the bytes live, below all that is kept of them.
    pub fn store(&self) -> &Arc<dyn Source> {
        &self.store
    }

    /// What came with the opening: half-open offsets in bytes, sorted. No read asks the store for them.
    pub fn kept(&self) -> Vec<Range<u64>> {
        self.preloaded.iter().flat_map(Preloaded::ranges).collect()
    }

    /// Whether all of these bytes came with the opening: reading them costs nothing.
    pub fn holds(&self, offset: u64, n_bytes: u64) -> bool {
        self.preloaded.as_ref().is_some_and(|preloaded| preloaded.holds(offset, n_bytes))
    }

    /// Everything that the store was asked for, the opening and the bytes that came with it included.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// What layers inside the store account for since the opening: tries (`attempt`), requests (`http`), replicas.
    pub fn store_ledgers(&self) -> Vec<Arc<Ledger>> {
        self.store_ledgers.all()
    }

    /// Where else the file is; `None` if it has one URL.
    pub fn replicas(&self) -> Option<&Arc<Replicas>> {
        self.afresh.replicas()
    }

    /// Where to read again what is wrong.
    pub fn afresh(&self) -> &Afresh {
        &self.afresh
    }

    /// The options in force.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The layers of a scan. With `trace`, its ledgers keep each read.
    pub fn scan(&self, trace: bool) -> ScanSource {
        let mut ledgers = Vec::with_capacity(4);
        // The store may have measured itself since the opening.
        let profile = self.store.access_profile();
        let reading = Reading::new(&self.options, profile);
        let strategy = self.options.strategy.name();
        if log::log_enabled!(target: LOG, log::Level::Info) {
            let decision = format!("{}: strategy {strategy}: {}", self.store.url(), reading.reason(profile));
            let mut logged = self.logged_decision.lock().unwrap_or_else(PoisonError::into_inner);
            if *logged != decision {
                log::info!(target: LOG, "{decision}");
                *logged = decision;
            }
        }
        // Where all that is needed comes from the store, what came besides is a difference, which costs nothing.
        let may_others_answer = self.blocks.is_some()
            || self.preloaded.is_some()
            || matches!(reading.layer, StrategyLayer::ReadAhead(_) | StrategyLayer::LazyDownload(_));
        let new_physical = if may_others_answer { Ledger::weighing } else { Ledger::new };
        let physical = Arc::new(new_physical("store", trace));
        ledgers.push(Arc::clone(&physical));
        let mut new_ledger = |name| {
            let ledger = Arc::new(Ledger::new(name, trace));
            ledgers.push(Arc::clone(&ledger));
            ledger
        };
        let accounted = |source: Arc<dyn Source>, ledger: &Arc<Ledger>| -> Arc<dyn Source> {
            Arc::new(Accounted::new(source, Arc::clone(ledger)))
        };
        let mut source = accounted(Arc::clone(&self.store), &physical);
        if let Some(blocks) = &self.blocks {
            let ledger = new_ledger("block-cache");
            source = Arc::new(BlockCache::new(source, Arc::clone(blocks), Arc::clone(&ledger)));
            source = accounted(source, &ledger);
        }
        if let Some(preloaded) = &self.preloaded {
            source = Arc::new(preloaded.around(source, new_ledger("opening")));
        }
        let mut background = None;
        match (reading.layer, &self.download) {
            (StrategyLayer::ReadAhead(window_bytes), _) => {
                let ledger = new_ledger("readahead");
                source = Arc::new(ReadAhead::new(source, window_bytes, Arc::clone(&ledger)));
                source = accounted(source, &ledger);
            }
            (StrategyLayer::LazyDownload(_), Some(download)) => {
                let ledger = new_ledger("lazy-download");
                source = Arc::new(LazyDownload::new(source, Arc::clone(download), Arc::clone(&ledger)));
                source = accounted(source, &ledger);
            }
            (StrategyLayer::Background(style), _) => {
                let ledger = new_ledger("prefetch");
                let layer = Arc::new(Background::new(source, style, Arc::clone(&ledger)));
                background = Some(Arc::clone(&layer));
                source = accounted(layer, &ledger);
            }
            (StrategyLayer::Nothing | StrategyLayer::LazyDownload(_), _) => {}
        }
        let logical = new_ledger("engine");
        let source = accounted(source, &logical);
        let afresh = Arc::clone(&self.afresh);
        ScanSource { source, logical, physical, ledgers, style: reading.style, afresh, background }
    }
}

/// A store's ledger, which logs the requests unless one inside the store does.
fn logging(ledger: Ledger, inner: &Ledgers, store: &dyn Source) -> Ledger {
    if inner.are_logging() { ledger } else { ledger.logging(store.url()) }
}
