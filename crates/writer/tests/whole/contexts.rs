//! Tables that are filled by several threads, read back.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use arrowroot::{File, open_table};
use arrowroot_format::codec::CompressionSetting;
use arrowroot_storage::testing::FullDisk;
use arrowroot_storage::{MemoryFile, MemorySink, MemorySource, Sink};
use arrowroot_writer::{
    Appender, Cluster, ContextSettings, Contexts, Doing, EncodeTask, Encoded, Error, FileSettings, FileWriter, Flush,
    Format, Order, Policy, ROOT_DIRECTORY, Step, TableFormat, TableSettings, TableWriter,
};

use crate::numbered::{batch, numbers, schema};

fn file_in(sink: Arc<dyn Sink>, n_threads: usize, buffer_bytes: usize) -> Arc<FileWriter> {
    let settings = FileSettings {
        name: "file.root".to_owned(),
        compression: CompressionSetting(101),
        is_reproducible: true,
        n_threads,
        buffer_bytes,
    };
    FileWriter::create(sink, settings).unwrap()
}

fn file(n_threads: usize, buffer_bytes: usize) -> (MemoryFile, Arc<FileWriter>) {
    let place = MemoryFile::default();
    let file = file_in(Arc::new(MemorySink::create("file.root", &place)), n_threads, buffer_bytes);
    (place, file)
}

fn table(file: &Arc<FileWriter>, layout: Format, flush: Flush) -> TableWriter {
    let settings = TableSettings { flush, ..TableSettings::default() };
    TableWriter::create(file, ROOT_DIRECTORY, "T", "", &schema(), layout, settings).unwrap()
}

/// The numbers of the entries of the table, as reading gives them; their lists are what they should be.
fn read(place: &MemoryFile) -> Vec<i64> {
    let bytes = place.bytes().unwrap().to_vec();
    let file = File::from_source(Arc::new(MemorySource::new("file.root", bytes))).unwrap();
    numbers(open_table(&file, "T").unwrap().table.as_ref())
}

fn settings(policy: Policy, n_buffers: usize, order: Order, helps: bool) -> ContextSettings {
    ContextSettings { policy, n_buffers, order, helps }
}

const N_PRODUCERS: i64 = 6;
const N_FILLS: i64 = 40;
const N_ENTRIES: i64 = 13;

/// Fills a table from several threads: in turns each has the next entries.
fn fill_from_threads(contexts: &Contexts) {
    std::thread::scope(|scope| {
        for producer in 0..N_PRODUCERS {
            let context = contexts.context(None);
            let is_numbered = contexts.settings().order == Order::Numbered;
            scope.spawn(move || {
                for fill in 0..N_FILLS {
                    let first = (fill * N_PRODUCERS + producer) * N_ENTRIES;
                    let batch = batch(first..first + N_ENTRIES);
                    if is_numbered {
                        context.fill_at(first.unsigned_abs(), &batch).unwrap();
                    } else {
                        context.fill(&batch).unwrap();
                    }
                }
            });
        }
    });
}

#[test]
fn each_entry_is_there_once_whatever_policy_buffers_and_threads() {
    for layout in [Format::Tree, Format::Ntuple] {
        for (policy, n_buffers) in [(Policy::Fullest, 4), (Policy::Fifo, 3), (Policy::Single, 1), (Policy::Fullest, 1)]
        {
            for (n_threads, buffer_bytes, helps) in [(1, 1 << 20, true), (2, 5_000, false), (3, 1 << 20, true)] {
                for flush in [Flush::Entries(100), Flush::Bytes(3_000)] {
                    let (place, file) = file(n_threads, buffer_bytes);
                    let mut table = table(&file, layout, flush);
                    let contexts = table.contexts(settings(policy, n_buffers, Order::Free, helps)).unwrap();
                    fill_from_threads(&contexts);
                    assert_eq!(contexts.n_fills().len(), n_buffers);
                    let written = table.close().unwrap();
                    file.close().unwrap();
                    let mut numbers = read(&place);
                    assert!(numbers.chunk_by(|a, b| a + 1 == *b).count() > 1 || policy == Policy::Single);
                    numbers.sort_unstable();
                    assert!(numbers.iter().copied().eq(0..N_PRODUCERS * N_FILLS * N_ENTRIES));
                    assert_eq!(written.n_entries, numbers.len() as u64);
                    let reports = file.stalls().reports();
                    assert_eq!(reports.iter().map(|report| report.n_entries).sum::<u64>(), written.n_entries);
                    assert_eq!(file.queue().report().bytes, 0);
                }
            }
        }
    }
}

#[test]
fn entries_in_the_order_of_their_numbers_are_the_bytes_that_one_thread_writes() {
    for layout in [Format::Tree, Format::Ntuple] {
        for flush in [Flush::Entries(100), Flush::Bytes(3_000)] {
            let (alone, one) = file(1, 1 << 20);
            let mut by_one = table(&one, layout, flush);
            (0..N_PRODUCERS * N_FILLS).for_each(|n| by_one.append(&batch(n * N_ENTRIES..(n + 1) * N_ENTRIES)).unwrap());
            by_one.close().unwrap();
            one.close().unwrap();
            for (n_threads, buffer_bytes, helps) in [(1, 1 << 20, true), (2, 3_000, false), (3, 100, true)] {
                let (place, file) = file(n_threads, buffer_bytes);
                let mut table = table(&file, layout, flush);
                let contexts = table.contexts(settings(Policy::Fullest, 4, Order::Numbered, helps)).unwrap();
                fill_from_threads(&contexts);
                table.close().unwrap();
                file.close().unwrap();
                assert!(place.bytes() == alone.bytes(), "{layout:?}, {flush:?}, {n_threads} threads");
                assert_eq!(file.queue().report().bytes, 0);
            }
        }
    }
}

#[test]
fn entries_as_filled_keep_the_order_of_each_producer() {
    let (place, file) = file(3, 20_000);
    let mut table = table(&file, Format::Tree, Flush::Entries(100));
    let contexts = table.contexts(settings(Policy::Fullest, 4, Order::Filled, true)).unwrap();
    fill_from_threads(&contexts);
    table.close().unwrap();
    file.close().unwrap();
    let numbers = read(&place);
    let mut lasts = vec![-1; usize::try_from(N_PRODUCERS).unwrap()];
    for chunk in numbers.chunks(usize::try_from(N_ENTRIES).unwrap()) {
        assert!(chunk.windows(2).all(|pair| pair[0] + 1 == pair[1]), "a fill is in one piece");
        let last = &mut lasts[usize::try_from(chunk[0] / N_ENTRIES % N_PRODUCERS).unwrap()];
        assert!(*last < chunk[0]);
        *last = chunk[0];
    }
    assert_eq!(numbers.len(), usize::try_from(N_PRODUCERS * N_FILLS * N_ENTRIES).unwrap());
}

#[test]
fn without_a_free_buffer_a_fill_is_full_and_takes_nothing() {
    let (place, file) = file(1, 1 << 20);
    let mut table = table(&file, Format::Tree, Flush::Entries(10));
    let contexts = table.contexts(settings(Policy::Single, 1, Order::Free, false)).unwrap();
    let (first, second) = (contexts.context(Some("first".to_owned())), contexts.context(None));
    let mut fill = first.begin(&batch(0..10), None).unwrap();
    let Step::Work(work) = fill.advance().unwrap() else { panic!("ten entries are a cluster") };
    let mut refused = second.begin(&batch(10..15), None).unwrap();
    assert!(matches!(refused.advance().unwrap(), Step::Full) && !refused.has_begun());
    // A producer that gives up does not keep others waiting.
    let is_cancelled = AtomicBool::new(true);
    assert!(!refused.wait(&is_cancelled).unwrap());
    drop(refused);
    let mut waiting = second.begin(&batch(20..25), None).unwrap();
    assert!(matches!(waiting.advance().unwrap(), Step::Full));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || waiting.wait(&AtomicBool::new(false)).map(|found| (found, waiting)).unwrap());
        work.complete().unwrap();
        // It has the buffer then, and lets others have it.
        let (found, waiting) = waiter.join().unwrap();
        assert!(found);
        drop(waiting);
    });
    second.fill(&batch(10..15)).unwrap();
    assert!(matches!(fill.advance().unwrap(), Step::Done));
    drop((fill, first, second));
    table.close().unwrap();
    file.close().unwrap();
    assert_eq!(read(&place), (0..15).collect::<Vec<_>>());
    let reports = file.stalls().reports();
    assert_eq!((reports[0].name.as_str(), reports[1].name.as_str()), ("first", "T#1"));
    assert_eq!((reports[0].n_waits, reports[1].n_waits), (0, 2));
}

#[test]
fn a_batch_that_fills_several_buffers_is_taken_as_a_whole() {
    let (place, file) = file(2, 3_000);
    let mut table = table(&file, Format::Ntuple, Flush::Entries(10));
    let contexts = table.contexts(settings(Policy::Fullest, 2, Order::Free, false)).unwrap();
    std::thread::scope(|scope| {
        for producer in 0..4 {
            let context = contexts.context(None);
            scope.spawn(move || context.fill(&batch(producer * 1005..(producer + 1) * 1005)).unwrap());
        }
    });
    table.close().unwrap();
    file.close().unwrap();
    let mut numbers = read(&place);
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..4 * 1005));
}

#[test]
fn what_was_not_filled_or_twice_is_said_and_no_file_is_left() {
    let message = |work: &dyn Fn(&mut TableWriter, &Contexts) -> Option<Error>, order| {
        let (place, file) = file(2, 1 << 20);
        let mut table = table(&file, Format::Tree, Flush::Entries(10));
        let contexts = table.contexts(settings(Policy::Fullest, 4, order, true)).unwrap();
        let error = work(&mut table, &contexts).or_else(|| table.close().err()).unwrap().to_string();
        drop(contexts);
        file.abort();
        assert!(place.bytes().is_none());
        error
    };
    let missing = message(
        &|_, contexts| {
            let context = contexts.context(None);
            context.fill_at(0, &batch(0..3)).unwrap();
            context.fill_at(5, &batch(5..6)).unwrap();
            None
        },
        Order::Numbered,
    );
    assert!(missing.contains("entries 3 to 4 were never filled, those from 5 on were"), "{missing}");
    let twice = message(
        &|_, contexts| {
            let context = contexts.context(None);
            context.fill_at(4, &batch(4..6)).unwrap();
            context.fill_at(3, &batch(3..5)).err()
        },
        Order::Numbered,
    );
    assert!(twice.contains("entry 4 was filled before"), "{twice}");
    let unnumbered = message(&|_, contexts| contexts.context(None).fill(&batch(0..1)).err(), Order::Numbered);
    assert!(unnumbered.contains("say the number of the first one"), "{unnumbered}");
    let numbered = message(&|_, contexts| contexts.context(None).fill_at(0, &batch(0..1)).err(), Order::Free);
    assert!(numbered.contains("only where entries are ordered"), "{numbered}");
    let beside = message(&|table, _| table.append(&batch(0..1)).err(), Order::Free);
    assert!(beside.contains("through contexts, and through nothing else"), "{beside}");
    let other = settings(Policy::Fifo, 4, Order::Free, true);
    let changed = message(&|table, _| table.contexts(other).err(), Order::Free);
    assert!(changed.contains("other settings"), "{changed}");
    let mut many = table(&file(1, 1 << 20).1, Format::Tree, Flush::Entries(10));
    let many = many.contexts(settings(Policy::Fullest, usize::MAX, Order::Free, true)).err().unwrap().to_string();
    assert!(many.contains("it has at most 4096"), "{many}");
    let half = message(
        &|table, contexts| {
            let context = contexts.context(None);
            let mut fill = context.begin(&batch(0..25), None).unwrap();
            let Step::Work(work) = fill.advance().unwrap() else { return None };
            work.complete().unwrap();
            drop(fill);
            drop(context);
            let _ = table;
            contexts.context(None).fill(&batch(0..1)).err()
        },
        Order::Free,
    );
    assert!(half.contains("a fill was given up half way"), "{half}");
    let undone = message(
        &|_, contexts| {
            let context = contexts.context(None);
            let mut fill = context.begin(&batch(0..10), None).unwrap();
            drop(fill.advance().unwrap());
            contexts.context(None).fill(&batch(0..1)).err()
        },
        Order::Free,
    );
    assert!(undone.contains("a fill was given up half way"), "{undone}");
}

#[test]
fn producers_that_wait_for_each_other_in_two_tables_go_on() {
    let (place, file) = file(2, 100);
    let mut tables: Vec<_> = ["T", "U"]
        .map(|name| {
            let settings = TableSettings { flush: Flush::Entries(10), ..TableSettings::default() };
            TableWriter::create(&file, ROOT_DIRECTORY, name, "", &schema(), Format::Tree, settings).unwrap()
        })
        .into();
    let contexts: Vec<_> = tables
        .iter_mut()
        .map(|table| table.contexts(settings(Policy::Fullest, 4, Order::Numbered, false)).unwrap())
        .collect();
    std::thread::scope(|scope| {
        for first in 0..2 {
            let (ahead, behind) = (contexts[first].context(None), contexts[1 - first].context(None));
            scope.spawn(move || {
                // What is next in this table comes from the other thread, once that has gone on in the other one.
                (20..40_i64).for_each(|entry| ahead.fill_at(entry.unsigned_abs(), &batch(entry..entry + 1)).unwrap());
                behind.fill_at(0, &batch(0..20)).unwrap();
            });
        }
    });
    drop(contexts);
    for table in tables {
        table.close().unwrap();
    }
    file.close().unwrap();
    assert!(read(&place).into_iter().eq(0..40));
}

#[test]
fn a_thread_does_not_wait_for_what_only_it_could_bring() {
    let (place, file) = file(2, 100);
    let mut table = table(&file, Format::Tree, Flush::Entries(10));
    let contexts = table.contexts(settings(Policy::Fullest, 4, Order::Numbered, false)).unwrap();
    let (low, high, other) = (contexts.context(None), contexts.context(None), contexts.shared_context(None));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            other.fill_at(40, &batch(40..41)).unwrap();
            other.fill_at(20, &batch(20..21)).unwrap();
        });
        (21..40_i64).for_each(|entry| high.fill_at(entry.unsigned_abs(), &batch(entry..entry + 1)).unwrap());
        low.fill_at(0, &batch(0..20)).unwrap();
        // Whoever else waits need not wait for these.
        drop((low, high));
    });
    drop(contexts);
    table.close().unwrap();
    file.close().unwrap();
    assert!(read(&place).into_iter().eq(0..41));
}

#[test]
fn a_producer_that_waits_goes_on_once_all_others_have_ended_or_wait() {
    for is_filled in [false, true] {
        let (place, file) = file(2, 100);
        let mut table = table(&file, Format::Tree, Flush::Entries(10));
        let contexts = table.contexts(settings(Policy::Fullest, 4, Order::Numbered, false)).unwrap();
        let (ahead, other) = (contexts.context(None), contexts.context(None));
        let (done, is_done) = channel();
        std::thread::spawn(move || {
            (20..40_i64).for_each(|entry| ahead.fill_at(entry.unsigned_abs(), &batch(entry..entry + 1)).unwrap());
            ahead.fill_at(0, &batch(0..20)).unwrap();
            drop(ahead);
            done.send(()).unwrap();
        });
        // There is no room for its second entry while the other one may bring what is before.
        std::thread::sleep(Duration::from_millis(20));
        let others = std::thread::spawn(move || is_filled.then(|| other.fill_at(40, &batch(40..41)).unwrap()));
        is_done.recv_timeout(Duration::from_secs(60)).expect("it waits for ever");
        others.join().unwrap();
        table.close().unwrap();
        file.close().unwrap();
        assert!(read(&place).into_iter().eq(0..40 + i64::from(is_filled)));
    }
}

#[test]
fn an_order_by_chance_is_noted_in_the_tree() {
    for (policy, order, n_contexts, is_noted) in [
        (Policy::Fullest, Order::Free, 1, false),
        (Policy::Fullest, Order::Free, 2, true),
        (Policy::Single, Order::Free, 1, false),
        (Policy::Fifo, Order::Free, 1, true),
        (Policy::Fullest, Order::Filled, 2, false),
        (Policy::Fullest, Order::Numbered, 2, false),
    ] {
        for layout in [Format::Tree, Format::Ntuple] {
            let (place, file) = file(1, 1 << 20);
            let mut table = table(&file, layout, Flush::Entries(10));
            let contexts = table.contexts(settings(policy, 3, order, true)).unwrap();
            for context in 0..n_contexts {
                let first = u64::from(context == 1) * 7;
                let entries = i64::try_from(first).unwrap();
                let batch = batch(entries..entries + 7);
                let context = contexts.context(None);
                match order {
                    Order::Numbered => context.fill_at(first, &batch).unwrap(),
                    _ => context.fill(&batch).unwrap(),
                }
            }
            table.close().unwrap();
            file.close().unwrap();
            let bytes = place.bytes().unwrap().to_vec();
            let file = File::from_source(Arc::new(MemorySource::new("file.root", bytes))).unwrap();
            let found = open_table(&file, "T").unwrap().table.recorded().entries_reshuffled;
            // RNTuples have no place for it.
            assert_eq!(found, is_noted && layout == Format::Tree, "{policy:?} {order:?} {n_contexts}");
        }
    }
}

#[test]
fn a_table_is_not_closed_under_its_producers() {
    let (place, file) = file(2, 1 << 20);
    let mut table = table(&file, Format::Tree, Flush::Entries(10));
    let context = table.contexts(ContextSettings::default()).unwrap().context(None);
    context.fill(&batch(0..5)).unwrap();
    let error = table.close().unwrap_err().to_string();
    assert!(error.contains("1 of its contexts are still open"), "{error}");
    assert_eq!(context.fill(&batch(5..6)).unwrap_err().to_string(), error);
    file.close().unwrap_err();
    assert!(place.bytes().is_none());
}

#[test]
fn the_error_that_stopped_a_file_is_told_before_contexts_that_are_open_because_of_it() {
    let (_, file) = file(2, 1 << 20);
    let mut table = table(&file, Format::Tree, Flush::Entries(10));
    let context = table.contexts(ContextSettings::default()).unwrap().context(None);
    file.abort();
    assert_eq!(table.close().unwrap_err().to_string(), "file.root is closed");
    drop(context);
}

#[test]
fn a_full_disk_reaches_every_producer_and_nothing_is_left() {
    for order in [Order::Free, Order::Filled, Order::Numbered] {
        for helps in [true, false] {
            let place = MemoryFile::default();
            let sink = FullDisk::new(Arc::new(MemorySink::create("file.root", &place)), 50_000);
            let file = file_in(Arc::new(sink), 2, 20_000);
            let mut table = table(&file, Format::Ntuple, Flush::Entries(500));
            let contexts = table.contexts(settings(Policy::Fullest, 3, order, helps)).unwrap();
            std::thread::scope(|scope| {
                for producer in 0..4_u64 {
                    let context = contexts.context(None);
                    scope.spawn(move || {
                        let error = (0..).find_map(|fill: u64| {
                            let first = (fill * 4 + producer) * 100;
                            let start = i64::try_from(first).unwrap();
                            let batch = batch(start..start + 100);
                            match order {
                                Order::Numbered => context.fill_at(first, &batch).err(),
                                _ => context.fill(&batch).err(),
                            }
                        });
                        let error = error.unwrap().to_string();
                        assert!(error.contains("the disk is full"), "{error}");
                    });
                }
            });
            assert!(table.close().unwrap_err().to_string().contains("the disk is full"));
            file.close().unwrap_err();
            assert!(place.bytes().is_none());
        }
    }
}

type Gate = (Mutex<bool>, Condvar);

/// A format that notes the entries of clusters, whose tasks wait until they are let go on.
struct Gated {
    n_entries: Arc<Mutex<Vec<usize>>>,
    gate: Arc<Gate>,
}

impl TableFormat for Gated {
    type Pieces = ();

    fn tasks(&self, cluster: Arc<Cluster>) -> arrowroot_writer::Result<Vec<EncodeTask<()>>> {
        self.n_entries.lock().unwrap().push(cluster.n_entries);
        let gate = Arc::clone(&self.gate);
        Ok(vec![Box::new(move |_| {
            let closed = gate.0.lock().unwrap();
            drop(gate.1.wait_while(closed, |is_closed| *is_closed).unwrap());
            Ok(Encoded { bytes: vec![0; 10], pieces: () })
        })])
    }

    fn place(&mut self, _: &Cluster, _: Vec<Encoded<()>>, _: bool, _: &mut Appender) -> arrowroot_writer::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _: &FileWriter) -> arrowroot_writer::Result<()> {
        Ok(())
    }
}

/// A file of two threads whose compression waits for a gate, and its table.
fn gated(flush: Flush, buffer_bytes: usize) -> (Arc<FileWriter>, TableWriter, Arc<Gate>) {
    let (_, file) = file(2, buffer_bytes);
    let gate = Arc::new((Mutex::new(true), Condvar::new()));
    let format = Gated { n_entries: Arc::default(), gate: Arc::clone(&gate) };
    let settings = TableSettings { flush, ..TableSettings::default() };
    let table = TableWriter::with_format(&file, "T", &schema(), format, &settings).unwrap();
    (file, table, gate)
}

fn open(gate: &Gate) {
    *gate.0.lock().unwrap() = false;
    gate.1.notify_all();
}

#[test]
fn a_fill_in_a_promised_order_is_full_without_room_in_memory_and_takes_nothing() {
    for order in [Order::Filled, Order::Numbered] {
        let (file, mut table, gate) = gated(Flush::Entries(10), 1000);
        let contexts = table.contexts(settings(Policy::Fullest, 4, order, false)).unwrap();
        let context = contexts.context(None);
        let first = |number: u64| (order == Order::Numbered).then_some(number);
        context.begin(&batch(0..10), first(0)).unwrap().complete().unwrap();
        let mut fill = context.begin(&batch(10..20), first(10)).unwrap();
        assert!(matches!(fill.advance().unwrap(), Step::Full) && !fill.has_begun(), "{order:?}");
        assert!(!fill.wait(&AtomicBool::new(true)).unwrap());
        open(&gate);
        fill.complete().unwrap();
        drop(context);
        let report = file.stalls().reports().swap_remove(0);
        assert!(report.n_waits >= 1, "{order:?}: {report:?}");
        assert_eq!(table.close().unwrap().n_entries, 20);
    }
}

#[test]
fn a_wait_between_the_clusters_of_one_fill_is_a_stall_and_no_writing() {
    let (file, mut table, gate) = gated(Flush::Entries(10), 1000);
    file.stalls().set_threshold(Duration::from_nanos(1));
    let contexts = table.contexts(settings(Policy::Fullest, 4, Order::Filled, false)).unwrap();
    let context = contexts.context(None);
    let report = || file.stalls().reports().swap_remove(0);
    let mut fill = context.begin(&batch(0..30), None).unwrap();
    let Step::Work(work) = fill.advance().unwrap() else { panic!("they are next") };
    let before = report();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| work.complete().unwrap());
        let started = std::time::Instant::now();
        // It says so before it sleeps, as long as nobody can let it go on.
        while report().end_ns == before.end_ns {
            assert!(started.elapsed() < Duration::from_secs(600), "nobody knows that it waits");
            std::thread::yield_now();
        }
        open(&gate);
        worker.join().unwrap();
    });
    let report = report();
    assert!(report.n_stalls == 1 && report.stalls_ns == report.times_ns[Doing::Stalled as usize], "{report:?}");
    assert_eq!((before.n_waits, report.n_waits, report.times_ns[Doing::Helping as usize]), (0, 1, 0));
    assert!(matches!(fill.advance().unwrap(), Step::Done));
    drop((fill, context));
    assert_eq!(table.close().unwrap().n_entries, 30);
}

#[test]
fn a_table_is_closed_once_the_fills_of_ended_contexts_are_done() {
    for order in [Order::Free, Order::Filled] {
        let (file, mut table, gate) = gated(Flush::Entries(10), 1000);
        let contexts = table.contexts(settings(Policy::Single, 1, order, false)).unwrap();
        let context = contexts.context(None);
        let fill = context.begin(&batch(0..25), None).unwrap();
        context.end();
        let written = std::thread::scope(|scope| {
            // The first cluster is compressed once the gate is open, and the others want its buffer, or its room.
            scope.spawn(|| fill.complete().unwrap());
            let closing = scope.spawn(|| table.close());
            while !closing.is_finished() && file.queue().n_waiting().1 == 0 {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(20));
            open(&gate);
            closing.join().unwrap()
        });
        assert_eq!(written.unwrap().n_entries, 25, "{order:?}");
        assert!(context.fill(&batch(0..1)).unwrap_err().to_string().contains("the context is closed"));
    }
}

#[test]
fn clusters_are_wider_once_the_queue_has_grown_where_nobody_said_how_wide() {
    let n_entries = |is_reproducible: bool, max_cluster_bytes: Option<u64>| {
        let sink = MemorySink::create("file.root", &MemoryFile::default());
        let settings = FileSettings {
            name: "file.root".to_owned(),
            compression: CompressionSetting(101),
            is_reproducible,
            n_threads: 2,
            buffer_bytes: 1 << 20,
        };
        let file = FileWriter::create(Arc::new(sink), settings).unwrap();
        file.queue().tell_of_growth_after(Duration::ZERO);
        let (n_entries, gate) = (Arc::default(), Arc::new((Mutex::new(true), Condvar::new())));
        let format = Gated { n_entries: Arc::clone(&n_entries), gate: Arc::clone(&gate) };
        let settings = TableSettings { flush: Flush::Bytes(2_000), max_cluster_bytes, ..TableSettings::default() };
        let mut table = TableWriter::with_format(&file, "T", &schema(), format, &settings).unwrap();
        let contexts = table.contexts(settings_of(64)).unwrap();
        let context = contexts.context(None);
        (0..3000).for_each(|entry| context.fill(&batch(entry..entry + 1)).unwrap());
        assert_eq!(file.queue().n_growths(), 1);
        // The clusters at the end may be of any size.
        let (first, last) = n_entries.lock().map(|found| (found[0], found[found.len() - 1])).unwrap();
        *gate.0.lock().unwrap() = false;
        gate.1.notify_all();
        drop(context);
        table.close().unwrap();
        (first, last)
    };
    let (first, last) = n_entries(false, None);
    assert!(last > first + first / 2, "{first} entries became {last}");
    for (is_reproducible, max_cluster_bytes) in [(true, None), (false, Some(1 << 20))] {
        let (first, last) = n_entries(is_reproducible, max_cluster_bytes);
        assert!(last.abs_diff(first) <= first / 8, "{first} entries became {last}");
    }
}

fn settings_of(n_buffers: usize) -> ContextSettings {
    settings(Policy::Fullest, n_buffers, Order::Free, false)
}
