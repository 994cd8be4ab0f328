//! Which bytes are read, in which reads: pinned for the scenarios that matter, with names instead of offsets.
//!
//! The file is written by `tests/fixtures/make_events.py`: 350 entries in clusters of 100.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_select::concat::concat_batches;
use arrowroot::storage::MemorySource;
use arrowroot::{Entries, File, Order, Request, Table, Tree};

static EVENTS: &[u8] = include_bytes!("../../../../tests/fixtures/events.root");

fn events() -> Tree {
    Tree::open(&File::from_source(Arc::new(MemorySource::new("events.root", EVENTS))).unwrap(), "events").unwrap()
}

fn request(tree: &Tree, columns: &[&str], entries: Entries) -> Request {
    Request {
        columns: columns.iter().map(|name| (tree.find(name).unwrap().into(), (*name).to_owned())).collect(),
        entries,
        order: Order::Cluster,
        batch_bytes: None,
        batch_entries: None,
        memory_budget_bytes: 256_000_000,
        n_threads: 1,
        trace: true,
        text: arrowroot::TextForm::Utf8,
        verify_checksums: true,
        raw: false,
    }
}

/// The batches of a scan, and its reads: each as the baskets in it, a basket as column and first entry.
fn run(tree: &Tree, request: &Request) -> (Vec<RecordBatch>, Vec<String>) {
    let mut scan = tree.scan(request).unwrap();
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch(&mut || false).unwrap() {
        batches.push(batch);
    }
    let mut baskets: Vec<(u64, u64, String)> = Vec::new();
    for (id, _) in tree.walk() {
        for basket in tree.baskets(id).unwrap() {
            let end = basket.offset + u64::from(basket.stored_bytes);
            baskets.push((basket.offset, end, format!("{}@{}", tree.branch_path(id), basket.first_entry)));
        }
    }
    baskets.sort();
    let reads = scan.handle().physical_reads().into_iter().map(|read| {
        let end = read.offset + read.n_bytes;
        let inside: Vec<&str> = baskets
            .iter()
            .filter(|(start, stop, _)| read.offset <= *start && *stop <= end)
            .map(|(_, _, name)| name.as_str())
            .collect();
        inside.join(" ")
    });
    (batches, reads.collect())
}

fn numbers(batch: &RecordBatch) -> Vec<i32> {
    let column = batch.column_by_name("number").unwrap();
    column.as_any().downcast_ref::<arrow_array::Int32Array>().unwrap().values().to_vec()
}

#[test]
fn opening_takes_one_read_and_a_tree_one_more() {
    let file = File::from_source(Arc::new(MemorySource::new("events.root", EVENTS))).unwrap();
    assert_eq!(file.read_totals().n_reads, 1);
    let tree = Tree::open(&file, "events").unwrap();
    tree.find("values").unwrap();
    // The key list and the record of the tree.
    assert_eq!(tree.file().read_totals().n_reads, 3);
}

#[test]
fn one_column_of_a_small_file_is_read_at_once() {
    let tree = events();
    let (batches, reads) = run(&tree, &request(&tree, &["number"], Entries::Range(0..350)));
    assert_eq!(numbers(&batches[0]), (0..350).collect::<Vec<i32>>());
    // Gaps of a few hundred bytes cost less than another read: neighbours come along.
    assert_eq!(reads.len(), 1);
    assert!(reads[0].starts_with("number@0 even@0 n@0") && reads[0].ends_with("number@300"));
}

#[test]
fn an_entry_range_reads_only_the_clusters_it_touches() {
    let tree = events();
    let (batches, reads) = run(&tree, &request(&tree, &["number", "even"], Entries::Range(120..180)));
    assert_eq!(numbers(&batches[0]), (120..180).collect::<Vec<i32>>());
    assert_eq!(reads, ["number@100 even@100"]);
}

#[test]
fn an_entry_list_reads_only_the_baskets_it_touches() {
    let tree = events();
    let list = Entries::List(vec![310, 20, 310, 5]);
    let (batches, reads) = run(&tree, &request(&tree, &["number", "text"], list));
    assert_eq!(numbers(&batches[0]), [310, 20, 310, 5]);
    let baskets = |cluster: &str| {
        let columns = ["number", "even", "n", "values", "squares", "price", "list", "text"];
        columns.map(|column| format!("{column}@{cluster}")).join(" ")
    };
    // The clusters at 100 and 200 lie within the gap that is read rather than skipped.
    assert_eq!(reads, [[baskets("0"), baskets("100"), baskets("200"), baskets("300")].join(" ")]);
    let plan = tree.scan(&request(&tree, &["number", "text"], Entries::List(vec![5, 310]))).unwrap();
    assert_eq!(plan.plan().n_pieces(), 4);
}

#[test]
fn batches_end_at_clusters_and_no_basket_is_read_twice() {
    let tree = events();
    let columns = ["number", "even", "values", "squares", "list", "text"];
    let whole = run(&tree, &request(&tree, &columns, Entries::Range(0..350))).0.remove(0);
    let mut streamed = request(&tree, &columns, Entries::Range(0..350));
    streamed.batch_bytes = Some(6_000);
    let (batches, reads) = run(&tree, &streamed);
    let rows: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(rows, [100, 100, 100, 50]);
    assert_eq!(reads.len(), 4);
    assert_eq!(concat_batches(&whole.schema(), &batches).unwrap(), whole);
}

#[test]
fn batches_inside_clusters_fetch_each_basket_once() {
    let tree = events();
    let columns = ["number", "even", "values", "squares", "list", "text"];
    let whole = run(&tree, &request(&tree, &columns, Entries::Range(0..350))).0.remove(0);
    let mut streamed = request(&tree, &columns, Entries::Range(0..350));
    streamed.batch_bytes = Some(600);
    let (batches, reads) = run(&tree, &streamed);
    assert!(batches.len() > 20);
    assert_eq!(reads.len(), 4);
    assert_eq!(concat_batches(&whole.schema(), &batches).unwrap(), whole);
}

#[test]
fn what_does_not_fit_into_the_budget_is_fetched_again() {
    let tree = events();
    let columns = ["number", "even", "values", "squares", "list", "text"];
    let whole = run(&tree, &request(&tree, &columns, Entries::Range(0..350))).0.remove(0);
    let mut streamed = request(&tree, &columns, Entries::Range(0..350));
    streamed.batch_bytes = Some(1_200);
    let counts = |memory_budget_bytes: u64| {
        let mut request = streamed.clone();
        request.memory_budget_bytes = memory_budget_bytes;
        let mut scan = tree.scan(&request).unwrap();
        let n_baskets = scan.plan().n_pieces();
        let n_reads = scan.plan().n_reads();
        let mut batches = Vec::new();
        while let Some(batch) = scan.next_batch(&mut || false).unwrap() {
            batches.push(batch);
        }
        assert_eq!(concat_batches(&whole.schema(), &batches).unwrap(), whole);
        let stats = scan.handle().stats();
        assert_eq!((stats.n_pieces, stats.read_calls), (n_baskets, n_reads));
        (n_baskets, n_reads)
    };
    assert_eq!(counts(1 << 20), (24, 4));
    let (some, none) = (counts(4_000), counts(0));
    assert!(some > (24, 4) && none > some, "{some:?} {none:?}");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let tree = events();
    let columns = ["text", "squares", "number", "values", "even", "price", "n", "list"];
    let one = run(&tree, &request(&tree, &columns, Entries::Range(3..341))).0;
    for n_threads in [2, 3, 8] {
        for batch_bytes in [None, Some(900)] {
            let mut request = request(&tree, &columns, Entries::Range(3..341));
            request.n_threads = n_threads;
            request.batch_bytes = batch_bytes;
            let many = run(&tree, &request).0;
            assert_eq!(concat_batches(&one[0].schema(), &many).unwrap(), one[0]);
        }
    }
}

#[test]
fn columns_with_one_counter_share_their_list_ends() {
    let tree = events();
    let (batches, _) = run(&tree, &request(&tree, &["values", "squares"], Entries::Range(0..350)));
    let ends = |column: usize| batches[0].column(column).to_data().buffers()[0].as_ptr();
    assert_eq!(ends(0), ends(1));
}

#[test]
fn a_stopped_scan_says_so() {
    let tree = events();
    let mut scan = tree.scan(&request(&tree, &["number"], Entries::Range(0..350))).unwrap();
    scan.handle().cancel();
    assert!(matches!(scan.next_batch(&mut || false), Err(arrowroot::Error::Cancelled)));
}

#[test]
fn what_is_not_there_is_named_with_its_neighbours() {
    let tree = events();
    let error = tree.find("numbr").unwrap_err().to_string();
    assert!(error.contains("events.root") && error.contains("did you mean number"), "{error}");
    let wrong = tree.scan(&request(&tree, &["number"], Entries::Range(0..351)));
    assert!(wrong.is_err());
}

#[test]
fn entry_by_entry_a_basket_is_needed_when_its_first_entry_comes() {
    let tree = events();
    let needed = |order: Order, entries: Entries| {
        let request = Request { order, ..request(&tree, &["values", "number", "even"], entries) };
        let scan = tree.scan(&request).unwrap();
        let plan = scan.plan();
        let names = plan.windows().flat_map(|window| &window.pieces).map(|piece| {
            let column = &plan.columns[piece.column as usize];
            format!("{}@{}", column.path, column.pieces[piece.piece as usize].first_entry)
        });
        names.collect::<Vec<String>>()
    };
    let range = Entries::Range(120..260);
    let by_entry = ["values@100", "number@100", "even@100", "values@200", "number@200", "even@200"];
    assert_eq!(needed(Order::Entry, range.clone()), by_entry);
    // In the file the numbers are before the lists.
    let by_place = ["number@100", "even@100", "values@100", "number@200", "even@200", "values@200"];
    assert_eq!(needed(Order::Cluster, range), by_place);
    let list = Entries::List(vec![310, 20]);
    assert_eq!(needed(Order::Entry, list), ["values@0", "number@0", "even@0", "values@300", "number@300", "even@300"]);
}
