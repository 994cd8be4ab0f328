//! What is kept on local disks: under many processes, kill -9, wrong blocks, changed files and full disks.

use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arrowroot_storage::testing::{Disguised, content};
use arrowroot_storage::{
    Ledger, Ledgers, MemorySource, Opened, Operation, Options, ScanSource, Source, Stack, Strategy,
};

use crate::children::{check_child, child, child_after, role};
use crate::scratch::{Scratch, far_away, far_away_version};

const SIZE: usize = 3_000_000;
const BLOCK: usize = 128 << 10;
/// A block's file is a little larger than the block.
const BLOCK_FILE: u64 = (BLOCK + 200) as u64;

fn cached(directory: &Path, max_bytes: u64) -> Options {
    let block_cache = Some(directory.to_owned());
    Options { strategy: Strategy::Direct, block_cache, block_cache_bytes: max_bytes, ..Options::default() }
}

fn downloaded(directory: Option<&Path>) -> Options {
    let download_directory = directory.map(Path::to_owned);
    Options { strategy: Strategy::LazyDownload, cache_bytes: Some(500_000), download_directory, ..Options::default() }
}

fn scan(source: Arc<dyn Source>, options: &Options) -> ScanSource {
    Stack::new(Opened { source, preloaded: Vec::new(), ledgers: Ledgers::default() }, options).unwrap().scan(true)
}

fn ledger<'s>(scan: &'s ScanSource, layer: &str) -> &'s Ledger {
    scan.ledgers.iter().find(|ledger| ledger.layer() == layer).unwrap()
}

/// Reads and compares.
fn check(scan: &ScanSource, content: &[u8], offset: usize, n_bytes: usize) {
    let mut buffer = vec![0; n_bytes];
    scan.source.read_at(offset as u64, &mut buffer).unwrap();
    assert!(buffer == content[offset..offset + n_bytes], "{n_bytes} bytes at {offset}");
}

fn n_store_reads(scan: &ScanSource) -> u64 {
    scan.physical.read_totals().n_reads
}

#[test]
fn a_second_run_asks_nothing_of_the_store() {
    let scratch = Scratch::new("again");
    let content = content(SIZE);
    let first = scan(far_away(&content), &cached(scratch.path(), 1 << 30));
    check(&first, &content, 0, SIZE);
    assert_eq!(n_store_reads(&first), 1);
    assert_eq!(ledger(&first, "block-cache").totals(Operation::StageIn).bytes, SIZE as u64);
    let second = scan(far_away(&content), &cached(scratch.path(), 1 << 30));
    check(&second, &content, 12_345, 1_000_000);
    assert_eq!(n_store_reads(&second), 0);
}

#[test]
fn missing_blocks_are_one_vector_read() {
    let scratch = Scratch::new("missing");
    let content = content(SIZE);
    let first = scan(far_away(&content), &cached(scratch.path(), 1 << 30));
    check(&first, &content, 2 * BLOCK, 2 * BLOCK);
    let second = scan(far_away(&content), &cached(scratch.path(), 1 << 30));
    check(&second, &content, BLOCK + 1, 5 * BLOCK);
    let asked: Vec<_> =
        second.physical.events().iter().map(|event| (event.request, event.offset, event.n_bytes)).collect();
    let block = BLOCK as u64;
    assert_eq!(asked, [(0, block, block), (0, 4 * block, 3 * block)]);
}

#[test]
fn a_block_cache_of_size_0_is_none() {
    let scratch = Scratch::new("none");
    let content = content(SIZE);
    let scan = scan(far_away(&content), &cached(scratch.path(), 0));
    check(&scan, &content, 0, SIZE);
    assert!(scan.ledgers.iter().all(|ledger| ledger.layer() != "block-cache"));
    assert!(scratch.files().is_empty());
}

#[test]
fn a_block_that_is_wrong_is_fetched_again() {
    let content = content(SIZE);
    let spoilers: [fn(&mut Vec<u8>); 6] = [
        |bytes| bytes[9] ^= 1,
        |bytes| *bytes.last_mut().unwrap() ^= 0x80,
        |bytes| bytes.truncate(1000),
        |bytes| bytes.clear(),
        |bytes| bytes.push(0),
        |bytes| bytes[20] ^= 1,
    ];
    for spoil in spoilers {
        let scratch = Scratch::new("wrong");
        let options = cached(scratch.path(), 1 << 30);
        check(&scan(far_away(&content), &options), &content, 0, BLOCK);
        let blocks: Vec<_> =
            scratch.files().into_iter().filter(|path| path.extension().is_some_and(|e| e == "block")).collect();
        assert_eq!(blocks.len(), 1);
        let mut bytes = std::fs::read(&blocks[0]).unwrap();
        spoil(&mut bytes);
        std::fs::write(&blocks[0], bytes).unwrap();
        let again = scan(far_away(&content), &options);
        check(&again, &content, 0, BLOCK);
        let hits = ledger(&again, "block-cache").totals(Operation::CacheHit);
        assert_eq!((hits.n_attempted, hits.n_successful), (1, 0));
        assert_eq!(n_store_reads(&again), 1);
        // And mended.
        let after = scan(far_away(&content), &options);
        check(&after, &content, 0, BLOCK);
        assert_eq!(n_store_reads(&after), 0);
    }
}

#[test]
fn a_block_in_the_place_of_another_is_not_taken() {
    let scratch = Scratch::new("swapped");
    let content = content(SIZE);
    let options = cached(scratch.path(), 1 << 30);
    check(&scan(far_away(&content), &options), &content, 0, 2 * BLOCK);
    let blocks: Vec<_> =
        scratch.files().into_iter().filter(|path| path.extension().is_some_and(|e| e == "block")).collect();
    std::fs::copy(&blocks[0], &blocks[1]).unwrap();
    let again = scan(far_away(&content), &options);
    check(&again, &content, 0, 2 * BLOCK);
    assert_eq!(n_store_reads(&again), 1);
}

#[test]
fn a_file_that_changed_is_another_one() {
    let scratch = Scratch::new("changed");
    let old = content(SIZE);
    let mut new = old.clone();
    new.reverse();
    for options in [cached(scratch.path(), 1 << 30), downloaded(Some(scratch.path()))] {
        let before = scan(far_away_version(&old, "monday"), &options);
        check(&before, &old, 0, SIZE);
        let after = scan(far_away_version(&new, "tuesday"), &options);
        check(&after, &new, 0, SIZE);
        assert!(n_store_reads(&after) > 0);
    }
}

#[test]
fn the_cache_keeps_within_its_bound_and_what_was_used_last() {
    let scratch = Scratch::new("bound");
    let content = content(SIZE);
    let max_bytes = 10 * BLOCK_FILE;
    let options = cached(scratch.path(), max_bytes);
    // Somebody else's file is neither counted nor removed.
    let other = scratch.path().join("precious.txt");
    std::fs::write(&other, vec![0; 2_000_000]).unwrap();
    let first = scan(far_away(&content), &options);
    for block in 0..8 {
        check(&first, &content, block * BLOCK, 100);
    }
    // Used a while ago; the first three are used again.
    let is_block = |path: &Path| path.extension().is_some_and(|extension| extension == "block");
    for path in scratch.files().into_iter().filter(|path| is_block(path)) {
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    }
    for block in 0..3 {
        check(&first, &content, block * BLOCK, 100);
    }
    for block in 8..12 {
        check(&first, &content, block * BLOCK, 100);
        let sizes =
            scratch.files().into_iter().filter(|path| is_block(path)).map(|path| path.metadata().unwrap().len());
        assert!(sizes.sum::<u64>() <= max_bytes);
    }
    let again = scan(far_away(&content), &options);
    for block in [0, 1, 2, 10, 11] {
        check(&again, &content, block * BLOCK, 100);
    }
    assert_eq!(n_store_reads(&again), 0);
    assert_eq!(std::fs::metadata(&other).unwrap().len(), 2_000_000);
}

#[test]
fn a_cache_that_cannot_be_written_fails_no_read_but_is_accounted_for() {
    let scratch = Scratch::new("small");
    let content = content(SIZE);
    let scan = scan(far_away(&content), &cached(scratch.path(), 1000));
    check(&scan, &content, 0, 2 * BLOCK);
    let stored = ledger(&scan, "block-cache").totals(Operation::StageIn);
    assert_eq!((stored.n_attempted, stored.n_successful), (2, 0));
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error_with_its_name() {
    let scratch = Scratch::new("nodir");
    let file = scratch.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let opened = || Opened { source: far_away(&content(SIZE)), preloaded: Vec::new(), ledgers: Ledgers::default() };
    let error = Stack::new(opened(), &cached(&file.join("cache"), 1)).err().unwrap().to_string();
    assert!(error.contains("file/cache"), "{error}");
    let scan = Stack::new(opened(), &downloaded(Some(&file.join("d")))).unwrap().scan(false);
    let error = scan.source.read_at(0, &mut [0; 10]).unwrap_err().to_string();
    assert!(error.contains("file/d") && error.contains("download_dir"), "{error}");
}

#[test]
fn threads_stage_each_segment_once() {
    let content = content(SIZE);
    let scan = scan(far_away(&content), &downloaded(None));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (scan, content) = (&scan, &content);
            scope.spawn(move || (0..6).for_each(|part| check(scan, content, (part + thread) % 6 * 500_000, 500_000)));
        }
    });
    assert_eq!(ledger(&scan, "lazy-download").totals(Operation::StageIn).n_successful, 6);
    assert_eq!(scan.physical.read_totals().bytes, SIZE as u64);
}

#[test]
fn a_shared_download_is_gone_with_its_last_user() {
    let scratch = Scratch::new("shared");
    let content = content(SIZE);
    let options = downloaded(Some(scratch.path()));
    let first = scan(far_away(&content), &options);
    check(&first, &content, 0, 1000);
    let second = scan(far_away(&content), &options);
    check(&second, &content, 0, 1_000_000);
    // The first segment was there.
    assert_eq!(n_store_reads(&second), 1);
    assert_eq!(scratch.files().len(), 2);
    drop(first);
    check(&second, &content, 0, 1_000_000);
    assert_eq!(scratch.files().len(), 2);
    drop(second);
    assert!(scratch.files().is_empty());
}

#[test]
fn who_waits_for_a_process_that_is_stopped_waits_for_the_deadline() {
    let scratch = Scratch::new("stopped");
    let content = content(SIZE);
    let mut options = downloaded(Some(scratch.path()));
    options.network.deadline = Duration::from_millis(300);
    let scan = scan(far_away(&content), &options);
    check(&scan, &content, 0, 1000);
    let lock = scratch.files().into_iter().find(|path| path.to_str().unwrap().ends_with(".lock")).unwrap();
    let held = std::fs::OpenOptions::new().read(true).open(lock).unwrap();
    held.lock().unwrap();
    let start = Instant::now();
    let error = scan.source.read_at(2_000_000, &mut [0; 10]).unwrap_err().to_string();
    assert!(error.contains("another process"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    held.unlock().unwrap();
    check(&scan, &content, 2_000_000, 10);
}

#[test]
fn copies_that_killed_processes_left_are_removed_by_others_after_a_while() {
    let scratch = Scratch::new("left");
    let content = content(SIZE);
    let hours = |n: u64| SystemTime::now() - Duration::from_secs(n * 3600);
    let left = |name: &str, age: SystemTime| {
        let mut options = std::fs::OpenOptions::new();
        let file = options.write(true).create_new(true).open(scratch.path().join(name)).unwrap();
        file.set_modified(age).unwrap();
        file
    };
    left("arrowroot-0123.download", hours(2));
    left("arrowroot-0123.download.lock", hours(2));
    left("arrowroot-4567.download", hours(0));
    left("somebody-else.download", hours(2));
    let in_use = left("arrowroot-89ab.download", hours(2));
    in_use.lock_shared().unwrap();
    let precious = scratch.path().join("precious");
    std::fs::write(&precious, "not to be touched").unwrap();
    std::os::unix::fs::symlink(&precious, scratch.path().join("arrowroot-cdef.download")).unwrap();
    let scan = scan(far_away(&content), &downloaded(Some(scratch.path())));
    check(&scan, &content, 0, 10);
    drop(scan);
    let names = scratch.files().into_iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(
        names,
        [
            "arrowroot-4567.download",
            "arrowroot-89ab.download",
            "arrowroot-cdef.download",
            "precious",
            "somebody-else.download"
        ]
    );
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "not to be touched");
}

#[test]
fn a_copy_without_a_name_has_its_directory_made() {
    let scratch = Scratch::new("unnamed");
    let directory = scratch.path().join("new/one");
    let content = content(SIZE);
    // A store that tells no version: the copy is of this process alone.
    let inner = MemorySource::new("m", content.clone());
    let source = Disguised { inner, profile: far_away(&content).access_profile(), version: None };
    let scan = scan(Arc::new(source), &downloaded(Some(&directory)));
    check(&scan, &content, 0, 10);
    assert!(directory.is_dir());
}

#[test]
fn a_segment_with_a_wrong_checksum_is_copied_again() {
    let scratch = Scratch::new("torn");
    let content = content(SIZE);
    let options = downloaded(Some(scratch.path()));
    let first = scan(far_away(&content), &options);
    check(&first, &content, 0, 10);
    let copy = scratch.files().into_iter().find(|path| path.extension().is_some_and(|e| e == "download")).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(copy).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"torn", 1000).unwrap();
    let second = scan(far_away(&content), &options);
    check(&second, &content, 0, 5000);
    assert_eq!(n_store_reads(&second), 1);
}

/// Numbers below a bound, the same in each run.
fn numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 1_u64;
    move |bound| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    }
}

/// Flips a bit of a file, or cuts it, now and then.
fn damage(path: &Path, number: &mut impl FnMut(u64) -> u64) {
    let mut bytes = std::fs::read(path).unwrap();
    let index = usize::try_from(number(bytes.len() as u64)).unwrap();
    if number(10) == 0 {
        bytes.truncate(index);
    } else {
        bytes[index] ^= 1 << number(8);
    }
    // In place: it stays the file that others have open.
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
}

#[test]
fn five_hundred_wrong_bits_and_cuts_of_blocks_give_no_wrong_byte() {
    let (scratch, content) = (Scratch::new("flips"), content(2 * BLOCK + 1000));
    let options = cached(scratch.path(), 1 << 30);
    let mut number = numbers();
    check(&scan(far_away(&content), &options), &content, 0, content.len());
    for turn in 0..500 {
        let mut blocks = scratch.files();
        blocks.retain(|path| path.extension().is_some_and(|extension| extension == "block"));
        assert_eq!(blocks.len(), 3);
        damage(&blocks[turn % 3], &mut number);
        let again = scan(far_away(&content), &options);
        check(&again, &content, 0, content.len());
        assert_eq!(n_store_reads(&again), 1, "turn {turn}");
    }
}

#[test]
fn five_hundred_wrong_bits_and_cuts_of_a_download_give_no_wrong_byte() {
    let (scratch, content) = (Scratch::new("flips"), content(300_003));
    let options = Options { cache_bytes: Some(100_000), ..downloaded(Some(scratch.path())) };
    let mut number = numbers();
    // It keeps the file there.
    let first = scan(far_away(&content), &options);
    check(&first, &content, 0, content.len());
    let copy = scratch.files().into_iter().find(|path| path.extension().is_some_and(|e| e == "download")).unwrap();
    for turn in 0..500 {
        damage(&copy, &mut number);
        let again = scan(far_away(&content), &options);
        check(&again, &content, 0, content.len());
        // Between the content and the table there may be bytes that mean nothing.
        assert!((0..=4).contains(&n_store_reads(&again)), "turn {turn}");
    }
    let after = scan(far_away(&content), &options);
    check(&after, &content, 0, content.len());
    assert_eq!(n_store_reads(&after), 0);
}

#[test]
fn downloads_stop_at_the_bound_of_their_disk() {
    let scratch = Scratch::new("bound");
    // All copies of a process have one bound together: in a process of its own.
    check_child(&child("local_copies::child_with_a_bound", "bound", scratch.path()).output().unwrap());
}

fn options_of(role: &str, directory: &Path) -> Options {
    match role {
        "blocks" => cached(directory, 15 * BLOCK_FILE),
        _ => downloaded(Some(directory)),
    }
}

#[test]
fn child_with_a_bound() {
    let Some((_, directory)) = role() else { return };
    let content = content(SIZE);
    let mut options = downloaded(Some(&directory));
    options.network.max_copy_bytes = Some(1_200_000);
    let other = scan(far_away_version(&content, "2"), &options);
    check(&other, &content, 0, 10);
    let scan = scan(far_away(&content), &options);
    check(&scan, &content, 0, 10);
    let error = scan.source.read_at(2_000_000, &mut [0; 10]).unwrap_err().to_string();
    assert!(error.contains("download_size") && error.contains("1200000 bytes"), "{error}");
    assert_eq!(n_store_reads(&scan), 1, "the store is not asked for what has no room");
    check(&scan, &content, 0, 500_000);
    // Its room is free again when a copy is gone.
    drop(other);
    check(&scan, &content, 2_000_000, 10);
}

/// Reads here and there for half a second, and looks whether it is right.
#[test]
fn child_that_reads() {
    let Some((role, directory)) = role() else { return };
    let content = content(SIZE);
    let options = options_of(&role, &directory);
    let mut place = std::process::id() as usize;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(500) {
        let scan = scan(far_away(&content), &options);
        for _ in 0..10 {
            place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            check(&scan, &content, (place >> 20) % (SIZE - 300_000), 300_000);
        }
        // Nobody ever leaves a block that is not whole.
        if role == "blocks" {
            let hits = ledger(&scan, "block-cache").totals(Operation::CacheHit);
            assert_eq!(hits.n_attempted, hits.n_successful);
        }
    }
}

fn processes_share(role: &str) {
    let scratch = Scratch::new(role);
    for round in 0..3 {
        let start = |_| child("local_copies::child_that_reads", role, scratch.path()).spawn().unwrap();
        let mut children: Vec<Child> = (0..5).map(start).collect();
        // Some are killed, at moments that differ.
        for (number, child) in children.iter_mut().take(2).enumerate() {
            std::thread::sleep(Duration::from_millis(50 + 37 * round + 91 * number as u64));
            child.kill().unwrap();
        }
        for (number, child) in children.into_iter().enumerate() {
            let output = child.wait_with_output().unwrap();
            if number >= 2 {
                check_child(&output);
            }
        }
    }
    // Whatever is left is right, or not believed.
    let content = content(SIZE);
    let scan = scan(far_away(&content), &options_of(role, scratch.path()));
    check(&scan, &content, 0, SIZE);
}

#[test]
fn processes_share_blocks_and_some_are_killed() {
    processes_share("blocks");
}

#[test]
fn processes_share_a_download_and_some_are_killed() {
    processes_share("download");
}

/// A limit on the size of files, as a full disk: writes fail after 1 MB.
#[test]
fn child_without_room() {
    let Some((role, directory)) = role() else { return };
    assert_eq!(role, "full");
    let content = content(SIZE);
    let scan = scan(far_away(&content), &downloaded(Some(&directory)));
    let error = scan.source.read_at(2_000_000, &mut [0; 10]).unwrap_err().to_string();
    assert!(error.contains(directory.to_str().unwrap()), "{error}");
    let staged = ledger(&scan, "lazy-download").totals(Operation::StageIn);
    assert_eq!(staged.n_successful, 0);
}

#[test]
fn a_full_disk_is_an_error_that_names_the_directory() {
    let scratch = Scratch::new("full");
    // The signal of the limit is ignored, so that the write is an error.
    let script = "trap '' XFSZ; ulimit -f 2000";
    check_child(&child_after(script, "local_copies::child_without_room", "full", scratch.path()).output().unwrap());
}
