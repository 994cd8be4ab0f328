//! Scans under every strategy: the same table, and the requests that the strategy is known for, with names instead of offsets.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use arrowroot::storage::testing::Disguised;
use arrowroot::storage::{AccessProfile, Ledgers, MemorySource, Opened, Options, ReadEvent, Source, Strategy};
use arrowroot::{Entries, File, Order, Request, Scan, Table, Tree};

static EVENTS: &[u8] = include_bytes!("../../../../tests/fixtures/events.root");
const FAR: AccessProfile = AccessProfile {
    is_remote: true,
    latency: Duration::from_millis(50),
    bytes_per_second: 1e8,
    max_parallel: 8,
    max_ranges: 1024,
};

fn tree(profile: AccessProfile, options: &[(&str, &str)]) -> Tree {
    let mut set = Options::default();
    for (name, text) in options {
        set.set(name, text, "test").unwrap();
    }
    let inner = MemorySource::new("far://events.root", EVENTS);
    let source: Arc<dyn Source> = Arc::new(Disguised { inner, profile, version: Some("1".to_owned()) });
    Tree::open(
        &File::from_opened(Opened { source, preloaded: Vec::new(), ledgers: Ledgers::default() }, &set).unwrap(),
        "events",
    )
    .unwrap()
}

fn scan(tree: &Tree, columns: Option<&[&str]>, batch_bytes: Option<u64>, n_threads: usize) -> Scan {
    let ids = match columns {
        Some(names) => names.iter().map(|name| tree.find(name).unwrap()).collect(),
        None => tree.readable().unwrap(),
    };
    let request = Request {
        columns: ids.into_iter().map(|id| (id.into(), tree.branch_path(id).to_owned())).collect(),
        entries: Entries::Range(0..tree.n_entries()),
        order: Order::Cluster,
        batch_bytes,
        batch_entries: None,
        memory_budget_bytes: 256_000_000,
        n_threads,
        trace: true,
        text: arrowroot::TextForm::Utf8,
        verify_checksums: true,
        raw: false,
    };
    tree.scan(&request).unwrap()
}

fn table(scan: &mut Scan) -> RecordBatch {
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch(&mut || false).unwrap() {
        batches.push(batch);
    }
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// The requests of the store: in each the ranges, in each the baskets, as column and first entry.
fn requests(tree: &Tree, scan: &Scan) -> Vec<String> {
    let mut baskets: Vec<(u64, u64, String)> = Vec::new();
    for (id, _) in tree.walk() {
        for basket in tree.baskets(id).unwrap() {
            let end = basket.offset + u64::from(basket.stored_bytes);
            baskets.push((basket.offset, end, format!("{}@{}", tree.branch_path(id), basket.first_entry)));
        }
    }
    baskets.sort();
    let range = |event: &ReadEvent| {
        let end = event.offset + event.n_bytes;
        let inside = baskets.iter().filter(|(start, stop, _)| event.offset <= *start && *stop <= end);
        inside.map(|(_, _, name)| name.as_str()).collect::<Vec<_>>().join("+")
    };
    let reads = scan.handle().physical_reads();
    let same = |a: &ReadEvent, b: &ReadEvent| (a.operation, a.request) == (b.operation, b.request);
    reads.chunk_by(same).map(|request| request.iter().map(range).collect::<Vec<_>>().join(" | ")).collect()
}

#[test]
fn the_table_is_the_same_under_every_strategy() {
    let local = tree(AccessProfile::LOCAL, &[]);
    let expected = table(&mut scan(&local, None, None, 1));
    for profile in [AccessProfile::LOCAL, FAR, AccessProfile { max_ranges: 1, ..FAR }] {
        for (_, name) in Strategy::ALL {
            for cache_size in ["1k", "20k", "100M"] {
                for (batch_bytes, n_threads) in [(None, 1), (Some(2000), 3)] {
                    let tree = tree(profile, &[("strategy", name), ("cache_size", cache_size)]);
                    let found = table(&mut scan(&tree, None, batch_bytes, n_threads));
                    assert_eq!(found, expected, "{name}, {cache_size}, {n_threads} threads, {profile:?}");
                }
            }
        }
    }
}

#[test]
fn each_strategy_asks_as_it_is_known_to() {
    let asked = |options: &[(&str, &str)]| {
        let tree = tree(FAR, options);
        let mut scan = scan(&tree, Some(&["number"]), None, 1);
        table(&mut scan);
        requests(&tree, &scan)
    };
    assert_eq!(asked(&[("strategy", "direct")]), ["number@0", "number@100", "number@200", "number@300"]);
    // Skipping costs nothing where one request takes many ranges.
    let together = ["number@0 | number@100 | number@200 | number@300"];
    assert_eq!(asked(&[]), together);
    assert_eq!(asked(&[("strategy", "application-only")]), together);
    assert_eq!(asked(&[("strategy", "storage-only")]), together);
    // One basket while it learns, then the clusters, all of which fit.
    assert_eq!(
        asked(&[("strategy", "treecache"), ("learn_entries", "50")]),
        ["number@0", "number@100 | number@200 | number@300"]
    );
    assert_eq!(asked(&[("strategy", "treecache"), ("learn_entries", "0")]), together);
    // Everything there is comes along.
    for options in
        [[("strategy", "readahead"), ("cache_size", "1M")], [("strategy", "lazy-download"), ("cache_size", "1M")]]
    {
        let asked = asked(&options);
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert!(asked[0].contains("number@300") && asked[0].contains("values@0"), "{asked:?}");
    }
}
