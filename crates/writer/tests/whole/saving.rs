//! Trees that are saved on the way while others fill the same file: what stands there if the process is killed at any write.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arrowroot::{File, open_table};
use arrowroot_format::codec::CompressionSetting;
use arrowroot_storage::testing::FullDisk;
use arrowroot_storage::{MemoryFile, MemorySink, MemorySource, Result, Sink};
use arrowroot_writer::{
    ContextSettings, Error, FileSettings, FileWriter, Flush, Format, Order, Policy, ROOT_DIRECTORY, TableSettings,
    TableWriter, TreeNotes, Written,
};

use crate::numbered::{batch, numbers, schema};

const N_PRODUCERS: i64 = 4;
const N_FILLS: i64 = 60;
const N_ENTRIES: i64 = 97;
const N_ALL: i64 = N_PRODUCERS * N_FILLS * N_ENTRIES;

/// Keeps what a killed process would leave after each write, from the first header on.
struct Watched {
    inner: MemorySink,
    bytes: Mutex<Vec<u8>>,
    left: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Watched {
    fn note(&self, offset: u64, part: &[u8]) {
        let mut bytes = self.bytes.lock().unwrap();
        let start = usize::try_from(offset).unwrap();
        let end = start + part.len();
        let n_bytes = bytes.len().max(end);
        bytes.resize(n_bytes, 0);
        bytes[start..end].copy_from_slice(part);
        if bytes.starts_with(b"root") {
            self.left.lock().unwrap().push(bytes.clone());
        }
    }
}

impl Sink for Watched {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.note(offset, bytes);
        self.inner.write_at(offset, bytes)
    }

    fn write_vector(&self, offset: u64, parts: &[&[u8]]) -> Result<()> {
        self.note(offset, &parts.concat());
        self.inner.write_vector(offset, parts)
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }

    fn publish(&self, size_bytes: u64) -> Result<()> {
        self.inner.publish(size_bytes)
    }

    fn abort(&self) {
        self.inner.abort();
    }
}

fn file_in(sink: Arc<dyn Sink>, n_threads: usize, buffer_bytes: usize) -> Arc<FileWriter> {
    let settings = FileSettings {
        name: "file.root".to_owned(),
        compression: CompressionSetting(0),
        is_reproducible: true,
        n_threads,
        buffer_bytes,
    };
    FileWriter::create(sink, settings).unwrap()
}

fn table(file: &Arc<FileWriter>, name: &str, format: Format) -> TableWriter {
    let index = (format == Format::Tree).then(|| ("x".to_owned(), None));
    let settings = TableSettings {
        flush: Flush::Entries(300),
        autosave_bytes: 1,
        notes: TreeNotes { index, ..TreeNotes::default() },
        ..TableSettings::default()
    };
    TableWriter::create(file, ROOT_DIRECTORY, name, "", &schema(), format, settings).unwrap()
}

fn context_settings(order: Order) -> ContextSettings {
    ContextSettings { policy: Policy::Fullest, n_buffers: 3, order, helps: true }
}

/// Fills a table from several threads. What the others do is another thread's.
fn fill(table: &mut TableWriter, order: Order, others: impl FnOnce() + Send) {
    let contexts = table.contexts(context_settings(order)).unwrap();
    // All of them first: with one alone the order is not by chance.
    let each: Vec<_> = (0..N_PRODUCERS).map(|producer| (producer, contexts.context(None))).collect();
    std::thread::scope(|scope| {
        for (producer, context) in each {
            scope.spawn(move || {
                for fill in 0..N_FILLS {
                    let first = (fill * N_PRODUCERS + producer) * N_ENTRIES;
                    let batch = batch(first..first + N_ENTRIES);
                    match order {
                        Order::Numbered => context.fill_at(first.unsigned_abs(), &batch).unwrap(),
                        _ => context.fill(&batch).unwrap(),
                    }
                }
            });
        }
        scope.spawn(others);
    });
}

fn append_all(mut table: TableWriter) -> std::result::Result<Written, Error> {
    for first in (0..N_ALL).step_by(500) {
        table.append(&batch(first..N_ALL.min(first + 500)))?;
    }
    table.close()
}

/// The numbers of the entries of a table, whose lists are what they should be; if its order is by chance, and if it has an
/// index. `None` if the file has no such table.
fn read(bytes: &[u8], name: &str) -> Option<(Vec<i64>, bool, bool)> {
    let file = File::from_source(Arc::new(MemorySource::new("left.root", bytes))).unwrap();
    let table = open_table(&file, name).ok()?.table;
    let recorded = table.recorded();
    Some((numbers(table.as_ref()), recorded.entries_reshuffled, recorded.index.is_some()))
}

#[test]
fn what_is_left_at_any_write_has_whole_clusters_whoever_fills_and_says_if_their_order_is_by_chance() {
    for (order, n_threads) in [(Order::Free, 3), (Order::Filled, 2), (Order::Numbered, 3), (Order::Free, 1)] {
        let left = Arc::default();
        let inner = MemorySink::create("file.root", &MemoryFile::default());
        let sink = Watched { inner, bytes: Mutex::default(), left: Arc::clone(&left) };
        let file = file_in(Arc::new(sink), n_threads, 50_000);
        let mut events = table(&file, "T", Format::Tree);
        fill(&mut events, order, || {
            append_all(table(&file, "N", Format::Ntuple)).unwrap();
            append_all(table(&file, "U", Format::Tree)).unwrap();
        });
        events.close().unwrap();
        file.close().unwrap();
        let left = left.lock().unwrap();
        let mut lengths: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, bytes) in left.iter().enumerate() {
            for name in ["T", "U", "N"] {
                let lengths = lengths.entry(name).or_default();
                let Some((mut numbers, is_by_chance, has_index)) = read(bytes, name) else {
                    assert!(lengths.is_empty(), "{order:?}, write {number}: {name} is there no more");
                    continue;
                };
                let is_whole = numbers.len() == usize::try_from(N_ALL).unwrap();
                assert!(is_whole || (numbers.len().is_multiple_of(300) && !has_index && name != "N"));
                assert_eq!(is_by_chance, name == "T" && order == Order::Free, "{order:?}, write {number}: {name}");
                if is_by_chance {
                    numbers.sort_unstable();
                    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "an entry is there twice");
                } else if name != "T" || order == Order::Numbered {
                    assert!(numbers.iter().copied().eq(0..numbers.len().try_into().unwrap()));
                }
                assert!(lengths.last().is_none_or(|before| *before <= numbers.len()), "{name} is shorter than before");
                lengths.push(numbers.len());
            }
        }
        for name in ["T", "U"] {
            lengths.get_mut(name).unwrap().dedup();
            assert!(lengths[name].len() > 3, "{order:?}, {name}: {lengths:?}");
        }
        let last = left.last().unwrap();
        for name in ["T", "U", "N"] {
            let (numbers, _, has_index) = read(last, name).unwrap();
            assert_eq!((numbers.len(), has_index), (N_ALL.try_into().unwrap(), name != "N"), "{name}");
        }
    }
}

#[test]
fn what_was_saved_is_there_at_any_write_of_the_end_of_a_file() {
    let left = Arc::default();
    let inner = MemorySink::create("file.root", &MemoryFile::default());
    let sink = Watched { inner, bytes: Mutex::default(), left: Arc::clone(&left) };
    let file = file_in(Arc::new(sink), 1, 1 << 20);
    let deep = file.directory("deep/er").unwrap();
    let settings = TableSettings { flush: Flush::Entries(300), autosave_bytes: 1, ..TableSettings::default() };
    let mut tables = [(ROOT_DIRECTORY, "T"), (deep, "U")].map(|(directory, name)| {
        TableWriter::create(&file, directory, name, "", &schema(), Format::Tree, settings.clone()).unwrap()
    });
    for first in (0..3_000).step_by(500) {
        tables.iter_mut().for_each(|table| table.append(&batch(first..first + 500)).unwrap());
    }
    tables.into_iter().for_each(|table| assert_eq!(table.close().unwrap().n_entries, 3_000));
    file.close().unwrap();
    let mut lengths = [0, 0];
    for (number, bytes) in left.lock().unwrap().iter().enumerate() {
        let file = File::from_source(Arc::new(MemorySource::new("left.root", bytes.as_slice()))).unwrap();
        let length = |name| open_table(&file, name).map_or(0, |table| numbers(table.table.as_ref()).len());
        let found = ["T", "deep/er/U"].map(length);
        assert!(found[0] >= lengths[0] && found[1] >= lengths[1], "write {number}: {found:?} after {lengths:?}");
        lengths = found;
    }
    assert_eq!(lengths, [3_000, 3_000]);
}

#[test]
fn saved_on_the_way_numbered_entries_are_the_same_bytes_from_any_threads() {
    let written = |n_threads, buffer_bytes, is_alone| {
        let place = MemoryFile::default();
        let file = file_in(Arc::new(MemorySink::create("file.root", &place)), n_threads, buffer_bytes);
        append_all(table(&file, "N", Format::Ntuple)).unwrap();
        let mut events = table(&file, "T", Format::Tree);
        if is_alone {
            append_all(events).unwrap();
        } else {
            fill(&mut events, Order::Numbered, || ());
            events.close().unwrap();
        }
        append_all(table(&file, "U", Format::Tree)).unwrap();
        file.close().unwrap();
        place.bytes().unwrap().to_vec()
    };
    let expected = written(1, 1 << 20, true);
    for (n_threads, buffer_bytes, is_alone) in [(3, 20_000, true), (1, 1 << 20, false), (3, 20_000, false)] {
        let found = written(n_threads, buffer_bytes, is_alone);
        assert!(found == expected, "{n_threads} threads, {} and {} bytes", found.len(), expected.len());
    }
}

#[test]
fn a_disk_that_is_full_at_any_byte_of_a_save_stops_the_file_and_nothing_is_left() {
    let write = |n_bytes| {
        let place = MemoryFile::default();
        let sink = FullDisk::new(Arc::new(MemorySink::create("file.root", &place)), n_bytes);
        let file = file_in(Arc::new(sink), 2, 20_000);
        let written = append_all(table(&file, "T", Format::Tree)).and_then(|_| file.close());
        (written, place.bytes())
    };
    let size = write(u64::MAX).0.unwrap();
    let mut n_failed = 0;
    for n_bytes in (200..size + 20_000).step_by(9_973) {
        match write(n_bytes) {
            (Ok(_), bytes) => assert_eq!(bytes.unwrap().len() as u64, size),
            (Err(error), bytes) => {
                assert!(error.to_string().contains("the disk is full") && bytes.is_none(), "{error}");
                n_failed += 1;
            }
        }
    }
    assert!(n_failed > 20, "{n_failed}");
}
