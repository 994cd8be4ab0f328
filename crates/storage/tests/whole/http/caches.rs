//! What is kept on a local disk of one file is never given for another.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrowroot_storage::{BlockCache, Blocks, Download, LazyDownload, Ledger, Source};

use super::checks::open;
use super::scripted::{Scripted, right};

const N_BYTES: usize = 1_000_000;

/// A server of as many bytes of `value`, or of that in the query. All have the same ETag.
fn server(value: u8) -> Scripted {
    Scripted::start(move |request| {
        let target = request.head.lines().next().unwrap();
        let asked = target.split_once("file=").map(|(_, rest)| rest.as_bytes()[0] - b'0');
        right(&vec![asked.unwrap_or(value); N_BYTES], request)
    })
}

/// A byte of a file, through the block cache and through a copy that processes share, both in one directory.
fn read_kept(url: &str, settings: &[(&str, &str)], directory: &Path) -> [u8; 2] {
    let source = open(url, settings).unwrap().source;
    let ledger = || Arc::new(Ledger::new("test", false));
    let blocks = Arc::new(Blocks::new(source.as_ref(), directory, 1 << 30).unwrap().unwrap());
    let download = Arc::new(Download::new(source.as_ref(), Some(directory), 64 << 10, None, Duration::from_secs(60)));
    let sources: [Box<dyn Source>; 2] = [
        Box::new(BlockCache::new(Arc::clone(&source), blocks, ledger())),
        Box::new(LazyDownload::new(source, Arc::clone(&download), ledger())),
    ];
    sources.map(|source| {
        let mut byte = [0];
        source.read_at(500_000, &mut byte).unwrap();
        std::mem::forget(Arc::clone(&download)); // the copy stays, as if another process used it
        byte[0]
    })
}

#[test]
fn files_of_one_path_that_a_query_tells_apart_are_kept_apart() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(0);
    let read = |query: &str| read_kept(&format!("{}?{query}", server.url()), &[], directory.path());
    assert_eq!(read("file=1"), [1, 1]);
    assert_eq!(read("file=2"), [2, 2]);
    // A new token does not make another file of it.
    assert_eq!(read("file=1&authz=secret"), [1, 1]);
    let n_before = server.heads().len();
    assert_eq!(read("file=1&authz=renewed"), [1, 1]);
    assert_eq!(server.heads().len() - n_before, 1, "nothing but the opening: {:?}", server.heads());
}

#[test]
fn objects_of_one_name_at_two_endpoints_are_kept_apart() {
    let directory = tempfile::tempdir().unwrap();
    let servers = [server(1), server(2)];
    for (server, value) in servers.iter().zip([1, 2]) {
        let endpoint = format!("http://{}", server.host());
        let read = read_kept("s3://bucket/key", &[("s3_endpoint", &endpoint)], directory.path());
        assert_eq!(read, [value; 2]);
    }
}
