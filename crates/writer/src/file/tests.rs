#![expect(clippy::cast_possible_truncation, reason = "the numbers of these tests are small")]

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use arrowroot_file::File;
use arrowroot_storage::testing::FullDisk;
use arrowroot_storage::{AccessProfile, MemoryFile, MemorySink, MemorySource, Part, Result as StorageResult, Source};
use format::container::{RootRecord, parse_free_segments};

use super::*;

const SETTINGS: FileSettings = FileSettings {
    name: String::new(),
    compression: CompressionSetting(101),
    is_reproducible: true,
    n_threads: 1,
    buffer_bytes: 1 << 20,
};

fn settings() -> FileSettings {
    FileSettings { name: "file.root".to_owned(), ..SETTINGS }
}

/// The same without compression.
fn plain() -> FileSettings {
    FileSettings { compression: CompressionSetting::NONE, ..settings() }
}

fn create(settings: FileSettings) -> (MemoryFile, Arc<FileWriter>) {
    let place = MemoryFile::default();
    let file = FileWriter::create(Arc::new(MemorySink::create("m", &place)), settings).unwrap();
    (place, file)
}

/// Writes a `TObjString`.
fn write_text(file: &FileWriter, directory: DirectoryId, name: &str, text: &str) -> Result<Key> {
    file.need_class("TObjString")?;
    let title = "Collectable string class";
    file.write_object(directory, "TObjString", name, title, file.settings().compression, |output| {
        let frame = output.begin(1);
        output.object_base(0);
        output.string(text.as_bytes())?;
        output.end(frame)
    })
}

fn read(bytes: &[u8]) -> File {
    File::from_source(Arc::new(MemorySource::new("m", bytes.to_vec()))).unwrap()
}

fn paths(bytes: &[u8]) -> Vec<String> {
    let file = read(bytes);
    file.keys().unwrap().iter().map(|entry| format!("{};{}", entry.path(), entry.key.cycle)).collect()
}

#[test]
fn directories_and_cycles_are_written_as_root_writes_them() {
    let (place, file) = create(FileSettings { name: "directories.root".to_owned(), ..plain() });
    write_text(&file, ROOT_DIRECTORY, "first", "hello").unwrap();
    let outer = file.directory("outer").unwrap();
    let inner = file.directory("outer/inner").unwrap();
    for text in ["one", "two", "three"] {
        write_text(&file, inner, "cycles", text).unwrap();
    }
    file.directory("/outer/empty/").unwrap();
    write_text(&file, outer, &"x".repeat(300), "hello").unwrap();
    file.directory("last").unwrap();
    let size = file.close().unwrap();
    let bytes = place.bytes().unwrap();
    assert_eq!(size, bytes.len() as u64);
    let of_root: &[u8] = include_bytes!("../../../../tests/fixtures/directories.root");
    let first = bytes.iter().zip(of_root).position(|(ours, theirs)| ours != theirs);
    assert_eq!((first, bytes.len()), (None, of_root.len()), "the first byte that differs, and the length");
}

#[test]
fn what_is_written_is_read_again() {
    let (place, file) = create(settings());
    let long = "text ".repeat(1000);
    write_text(&file, ROOT_DIRECTORY, "long", &long).unwrap();
    let cuts = file.titled_directory("cuts/more", Some("of muons")).unwrap();
    write_text(&file, cuts, "short", "s").unwrap();
    write_text(&file, cuts, "short", "t").unwrap();
    assert_eq!(file.titled_directory("/cuts/more/", Some("made already")).unwrap(), cuts);
    file.close().unwrap();
    let bytes = place.bytes().unwrap();
    assert_eq!(paths(&bytes), ["long;1", "cuts;1", "cuts/more;1", "cuts/more/short;2", "cuts/more/short;1"]);
    let file = read(&bytes);
    let key = file.find("long").unwrap().key;
    assert!(key.is_compressed() && key.n_bytes < 200);
    let titles = ["cuts", "cuts/more"].map(|path| file.find(path).unwrap().key.title);
    assert_eq!(titles, ["cuts", "of muons"]);
    assert!(file.raw_object("long").unwrap().ends_with(long.as_bytes()));
    assert!(file.raw_object("cuts/more/short").unwrap().ends_with(b"\x01t"));
    assert!(file.streamer_infos().unwrap().is_named("TObjString"));
}

#[test]
fn names_that_readers_take_for_others_cannot_be_given_and_the_file_goes_on() {
    let (place, file) = create(settings());
    write_text(&file, ROOT_DIRECTORY, "text", "").unwrap();
    file.directory("directory").unwrap();
    for (name, why) in [
        ("", "empty"),
        ("a/b", "slash"),
        ("a;1", "semicolon"),
        ("a\0", "zero"),
        ("directory", "directory"),
        (&"n".repeat(40_000), "32767"),
    ] {
        let error = file.check_key(ROOT_DIRECTORY, ["TObjString", name, ""]).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert!(write_text(&file, ROOT_DIRECTORY, "directory", "").unwrap_err().to_string().contains("directory"));
    assert!(file.directory("text").unwrap_err().to_string().contains("object"));
    assert!(file.directory("a;1/b").is_err());
    file.close().unwrap();
    assert_eq!(paths(&place.bytes().unwrap()), ["text;1", "directory;1"]);
}

#[test]
fn directories_have_the_title_that_they_were_made_with() {
    let (place, file) = create(settings());
    file.titled_directory("outer/inner", Some("of mine")).unwrap();
    file.titled_directory("outer", Some("too late")).unwrap();
    file.close().unwrap();
    let file = read(&place.bytes().unwrap());
    let titles: Vec<String> = file.keys().unwrap().iter().map(|entry| entry.key.title.clone()).collect();
    assert_eq!(titles, ["outer", "of mine"]);
}

#[test]
fn a_title_has_the_room_that_readers_allow() {
    let (place, file) = create(settings());
    let error = file.set_title(&"t".repeat(5000)).unwrap_err().to_string();
    assert!(error.contains("room for 10000"), "{error}");
    let most = (4900..5000).rev().map(|n_bytes| "t".repeat(n_bytes)).find(|title| file.set_title(title).is_ok());
    let most = most.unwrap();
    file.close().unwrap();
    let bytes = place.bytes().unwrap();
    assert_eq!(read(&bytes).title(), most);
    let header = FileHeader::parse(&bytes).unwrap();
    assert!((9_999..=10_000).contains(&header.n_bytes_name), "{}", header.n_bytes_name);
    assert_eq!(RootRecord::parse(&header, &bytes[100..]).unwrap().title, most);
}

#[test]
fn a_class_that_is_not_known_is_told_and_one_may_be_described_once_only() {
    let (_, file) = create(settings());
    assert!(file.need_class("TNoSuchClass").unwrap_err().to_string().contains("TNoSuchClass"));
    let info = |version| StreamerInfo { name: "Mine".to_owned(), version, ..StreamerInfo::default() };
    file.add_class(info(2)).unwrap();
    file.add_class(info(2)).unwrap();
    assert!(file.add_class(info(3)).unwrap_err().to_string().contains("another way"));
}

#[test]
fn reproducible_files_are_equal_and_others_have_random_identifiers() {
    let written = |is_reproducible| {
        let (place, file) = create(FileSettings { is_reproducible, ..settings() });
        let directory = file.directory("d").unwrap();
        write_text(&file, directory, "t", "text").unwrap();
        file.close().unwrap();
        place.bytes().unwrap()
    };
    assert_eq!(written(true), written(true));
    let (first, second) = (written(false), written(false));
    let uuid = |bytes: &[u8]| read(bytes).header().uuid;
    assert_ne!(uuid(&first), uuid(&second));
    for bytes in [&first, &second] {
        let text = uuid(bytes).to_string();
        assert!(text[14..15] == *"4" && "89ab".contains(&text[19..20]), "{text}");
        let header = read(bytes).header().clone();
        let root = RootRecord::parse(&header, &bytes[BEGIN as usize..]).unwrap();
        assert_eq!(root.directory.uuid, Some(header.uuid));
        let [year, ..] = root.directory.created.fields();
        assert!((2025..2058).contains(&year));
    }
}

#[test]
fn nothing_is_left_of_a_file_that_is_given_up_or_dropped() {
    let (place, file) = create(settings());
    file.abort();
    assert!(matches!(write_text(&file, ROOT_DIRECTORY, "t", ""), Err(Error::Closed { .. })));
    assert!(matches!(file.close(), Err(Error::Closed { .. })));
    drop(file);
    assert!(place.bytes().is_none());
    let (place, file) = create(settings());
    drop(file);
    assert!(place.bytes().is_none());
    let (place, file) = create(settings());
    file.close().unwrap();
    assert!(matches!(file.close(), Err(Error::Closed { .. })));
    assert!(place.bytes().is_some());
}

#[test]
fn a_complete_file_takes_nothing_more_and_has_its_name_when_it_is_closed() {
    for is_kept in [false, true] {
        let (place, file) = create(settings());
        write_text(&file, ROOT_DIRECTORY, "t", "text").unwrap();
        file.complete().unwrap();
        assert!(place.bytes().is_none());
        assert!(matches!(write_text(&file, ROOT_DIRECTORY, "t", ""), Err(Error::Closed { .. })));
        assert!(matches!(file.complete(), Err(Error::Closed { .. })));
        if is_kept {
            let size = file.close().unwrap();
            let bytes = place.bytes().unwrap();
            assert_eq!((size, paths(&bytes)), (bytes.len() as u64, vec!["t;1".to_owned()]));
        } else {
            file.abort();
            assert!(place.bytes().is_none());
        }
        assert!(matches!(file.close(), Err(Error::Closed { .. })));
    }
}

#[test]
fn a_file_in_which_something_could_not_be_written_is_given_up() {
    for room in [0, 1 << 20, 3 << 20] {
        let place = MemoryFile::default();
        let sink = FullDisk::new(Arc::new(MemorySink::create("m", &place)), room);
        let Ok(file) = FileWriter::create(Arc::new(sink), plain()) else { continue };
        let text = "t".repeat(2 << 20);
        let full = (0..3).map(|_| write_text(&file, ROOT_DIRECTORY, "t", &text)).find_map(Result::err);
        assert!(matches!(full, Some(Error::Storage(_))), "{full:?}");
        assert!(matches!(file.close(), Err(Error::Closed { .. })));
        assert!(place.bytes().is_none());
    }
    let place = MemoryFile::default();
    let sink = FullDisk::new(Arc::new(MemorySink::create("m", &place)), 100);
    let file = FileWriter::create(Arc::new(sink), plain()).unwrap();
    assert!(matches!(file.close(), Err(Error::Storage(_))));
    assert!(place.bytes().is_none());
}

/// A sink that is not published before it was tried to abort it.
struct Slow {
    inner: MemorySink,
    begun: Sender<()>,
    aborted: (Sender<()>, Mutex<Receiver<()>>),
}

impl Sink for Slow {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> StorageResult<()> {
        self.inner.write_at(offset, bytes)
    }

    fn write_vector(&self, offset: u64, parts: &[&[u8]]) -> StorageResult<()> {
        self.inner.write_vector(offset, parts)
    }

    fn sync(&self) -> StorageResult<()> {
        self.inner.sync()
    }

    fn publish(&self, size_bytes: u64) -> StorageResult<()> {
        self.begun.send(()).unwrap();
        let is_aborted = self.aborted.1.lock().unwrap().recv_timeout(Duration::from_secs(60));
        is_aborted.expect("nobody aborts it");
        self.inner.publish(size_bytes)
    }

    fn abort(&self) {
        self.inner.abort();
        self.aborted.0.send(()).unwrap();
    }
}

#[test]
fn a_file_that_is_given_up_while_it_is_published_is_not_there() {
    let place = MemoryFile::default();
    let ((begun, has_begun), (sender, receiver)) = (channel(), channel());
    let inner = MemorySink::create("m", &place);
    let sink = Slow { inner, begun, aborted: (sender, Mutex::new(receiver)) };
    let file = FileWriter::create(Arc::new(sink), settings()).unwrap();
    std::thread::scope(|scope| {
        let closing = scope.spawn(|| file.close());
        has_begun.recv().unwrap();
        file.abort();
        assert!(matches!(closing.join().unwrap(), Err(Error::Storage(_))));
    });
    assert!(place.bytes().is_none());
}

/// A sink, and a source of what was written, that keeps no long run of zeros.
#[derive(Default)]
struct Sparse {
    parts: Mutex<Vec<(u64, Vec<u8>)>>,
    size: Mutex<u64>,
}

/// The least length of a long run.
const LONG_BYTES: usize = 1 << 20;

impl Sink for Sparse {
    fn url(&self) -> &str {
        "sparse"
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> StorageResult<()> {
        if bytes.len() < LONG_BYTES {
            self.parts.lock().unwrap().push((offset, bytes.to_vec()));
        }
        Ok(())
    }

    fn write_vector(&self, mut offset: u64, parts: &[&[u8]]) -> StorageResult<()> {
        for part in parts {
            self.write_at(offset, part)?;
            offset += part.len() as u64;
        }
        Ok(())
    }

    fn sync(&self) -> StorageResult<()> {
        Ok(())
    }

    fn publish(&self, size_bytes: u64) -> StorageResult<()> {
        *self.size.lock().unwrap() = size_bytes;
        Ok(())
    }

    fn abort(&self) {}
}

/// The bytes that were written to it, as a file.
struct Written(Arc<Sparse>);

impl Source for Written {
    fn url(&self) -> &str {
        "sparse"
    }

    fn size_bytes(&self) -> u64 {
        *self.0.size.lock().unwrap()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> StorageResult<()> {
        buffer.fill(0);
        for (start, bytes) in self.0.parts.lock().unwrap().iter() {
            let (from, to) = (offset.max(*start), (offset + buffer.len() as u64).min(start + bytes.len() as u64));
            if from < to {
                let part = |start: u64| usize::try_from(from - start).unwrap()..usize::try_from(to - start).unwrap();
                buffer[part(offset)].copy_from_slice(&bytes[part(*start)]);
            }
        }
        Ok(())
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> StorageResult<()> {
        parts.iter_mut().try_for_each(|part| self.read_at(part.offset, part.buffer))
    }

    fn access_profile(&self) -> AccessProfile {
        AccessProfile::LOCAL
    }
}

/// A file with something before and behind so many bytes that stand in no record, in directories before and behind them.
fn over(n_bytes: u64) -> (Arc<Sparse>, [Key; 2]) {
    let sparse = Arc::new(Sparse::default());
    let file = FileWriter::create(Arc::clone(&sparse) as Arc<dyn Sink>, settings()).unwrap();
    let early = file.directory("early").unwrap();
    let before = write_text(&file, early, "before", "1").unwrap();
    file.with_appender(|appender| {
        let zeros = vec![0; 32 << 20];
        while appender.position() < n_bytes {
            let left = usize::try_from(n_bytes - appender.position()).unwrap();
            appender.append(&[&zeros[..left.min(zeros.len())]])?;
        }
        Ok(())
    })
    .unwrap();
    let behind = write_text(&file, early, "behind", "2").unwrap();
    let late = file.directory("early/late").unwrap();
    write_text(&file, late, "last", "3").unwrap();
    file.close().unwrap();
    (sparse, [before, behind])
}

#[test]
fn a_file_over_2_gb_has_wide_offsets_where_root_has_them() {
    let (sparse, [before, behind]) = over(2_100_000_000);
    assert!(!before.is_large() && behind.is_large() && behind.version == 1004);
    let file = File::from_source(Arc::new(Written(Arc::clone(&sparse)))).unwrap();
    let header = file.header().clone();
    assert_eq!((header.is_large, header.units, header.end), (true, 8, *sparse.size.lock().unwrap()));
    let paths: Vec<_> = file.keys().unwrap().iter().map(|entry| entry.path()).collect();
    assert_eq!(paths, ["early", "early/before", "early/behind", "early/late", "early/late/last"]);
    for (path, text) in [("early/before", b'1'), ("early/behind", b'2'), ("early/late/last", b'3')] {
        assert_eq!(file.raw_object(path).unwrap().last(), Some(&text), "{path}");
    }
    let mut record = vec![0; header.n_bytes_free as usize];
    file.source().read_at(header.seek_free, &mut record).unwrap();
    let key = Key::parse(&mut format::Cursor::new(&record)).unwrap();
    let free = parse_free_segments(&record[usize::from(key.key_bytes)..], header.end).unwrap();
    assert_eq!(free, [FreeSegment { first: header.end, last: 3_000_000_000 }]);
    assert_eq!(record.len(), usize::from(key.key_bytes) + 18);
}

#[test]
fn a_file_that_ends_near_2_gb_is_read_again() {
    // From before the last record that makes it large to behind it.
    for n_bytes in (1_999_998_900..2_000_000_010).step_by(37) {
        let (sparse, _) = over(n_bytes);
        let file = File::from_source(Arc::new(Written(sparse))).unwrap();
        assert_eq!(file.header().is_large, file.header().end > START_OF_LARGE);
        assert_eq!(file.raw_object("early/late/last").unwrap().last(), Some(&b'3'));
        assert!(!file.was_not_closed());
    }
}

#[test]
fn threads_write_objects_and_directories_at_once() {
    let (place, file) = create(settings());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let file = &file;
            scope.spawn(move || {
                for i in 0..50 {
                    let directory = file.directory(&format!("d{}", i % 3)).unwrap();
                    write_text(file, directory, &format!("t{thread}"), &"text".repeat(i * 10)).unwrap();
                }
            });
        }
    });
    file.close().unwrap();
    let bytes = place.bytes().unwrap();
    assert_eq!(paths(&bytes).len(), 203);
    let file = read(&bytes);
    for entry in file.keys().unwrap() {
        assert!(entry.key.class_name == "TDirectory" || file.read_object(&entry.key).is_ok());
    }
}
