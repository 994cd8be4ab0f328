//! Every store and every layer answers alike.

use std::sync::Arc;

use crate::scratch::{Scratch, far_away};
use arrowroot_storage::testing::{check_source, content};
use arrowroot_storage::{
    Accounted, Ledger, Ledgers, LocalFile, MemorySource, Opened, Options, Preloaded, Source, Stack, Strategy,
};

const SIZE: usize = 400_000;

#[test]
fn memory() {
    let content = content(SIZE);
    check_source(&(Arc::new(MemorySource::new("m", content.clone())) as Arc<dyn Source>), &content).unwrap();
}

#[test]
fn local_files() {
    let scratch = Scratch::new("local");
    let content = content(SIZE);
    let path = scratch.path().join("f");
    std::fs::write(&path, &content).unwrap();
    let source = LocalFile::open(&path).unwrap();
    let version = source.version().unwrap();
    check_source(&(Arc::new(source) as Arc<dyn Source>), &content).unwrap();
    std::fs::write(&path, &content[1..]).unwrap();
    assert_ne!(LocalFile::open(&path).unwrap().version().unwrap(), version);
}

#[test]
fn what_came_with_the_opening() {
    let content = content(SIZE);
    let store = Arc::new(MemorySource::new("m", content.clone()));
    let pieces = vec![(0, content[..100].to_vec()), (5000, content[5000..90_000].to_vec())];
    let ledger = Arc::new(Ledger::new("opening", false));
    check_source(&(Arc::new(Preloaded::new(store, pieces, ledger)) as Arc<dyn Source>), &content).unwrap();
}

#[test]
fn accounting() {
    let content = content(SIZE);
    let store = Arc::new(MemorySource::new("m", content.clone()));
    let source = Accounted::new(store, Arc::new(Ledger::new("memory", true)));
    check_source(&(Arc::new(source) as Arc<dyn Source>), &content).unwrap();
}

/// All strategies, with windows smaller and larger than the file, with a block cache and without.
#[test]
fn every_stack() {
    let content = content(SIZE);
    for (strategy, name) in Strategy::ALL {
        for cache_bytes in [None, Some(0), Some(100), Some(5000), Some(10_000_000)] {
            // With many small windows, a block cache too small for the file does nothing but make room.
            for has_blocks in [false, cache_bytes != Some(100)] {
                let scratch = Scratch::new(name);
                let options = Options {
                    strategy,
                    cache_bytes,
                    block_cache: has_blocks.then(|| scratch.path().join("blocks")),
                    // Some blocks have to leave.
                    block_cache_bytes: if cache_bytes.is_none() { 400_000 } else { 1 << 30 },
                    download_directory: has_blocks.then(|| scratch.path().join("download")),
                    ..Options::default()
                };
                let preloaded = vec![(10, content[10..5000].to_vec())];
                let stack =
                    Stack::new(Opened { source: far_away(&content), preloaded, ledgers: Ledgers::default() }, &options)
                        .unwrap();
                let scan = stack.scan(true);
                for source in [&scan.source, &scan.source, stack.base()] {
                    check_source(source, &content).unwrap_or_else(|what| panic!("{name} {cache_bytes:?}: {what}"));
                }
            }
        }
    }
}
