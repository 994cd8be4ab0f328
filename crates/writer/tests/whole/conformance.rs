//! Records of real files: what is written of what was read is what was there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use arrowroot_format as format;
use arrowroot_storage::{LocalFile, Source};
use format::codec::Decompressor;
use format::container::{
    Directory, FileHeader, FreeSegment, Key, KeyList, RootRecord, looks_like_directory, parse_free_segments,
};
use format::streamer::StreamerInfos;
use format::{Cursor, Output};

/// Records that are not written as they were, by file and kind, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "g4-like.root",
        "root directory",
        "it ends with its fields, without room for offsets of 64 bits, and has no identifier",
    ),
    ("g4-like.root", "streamer information", "its lists are of versions before ROOT 5.34"),
    ("uproot-issue-1070.root", "key list", "zeros follow the last key"),
    (
        "uproot-issue-1070.root",
        "streamer information",
        "it names the classes of all objects anew, as uproot writes them",
    ),
];

/// The conformance files, or nothing where they are not; in CI they must be.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/data");
    let Ok(sources) = root.read_dir() else {
        assert!(std::env::var_os("CI").is_none(), "CI needs {}", root.display());
        eprintln!("SKIPPED: no conformance files in {}", root.display());
        return Vec::new();
    };
    let directories = sources.map(|source| source.unwrap().path());
    let mut files: Vec<_> =
        directories.flat_map(|path| path.read_dir().unwrap()).map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

fn read(path: &Path) -> Vec<u8> {
    let file = LocalFile::open(path).unwrap();
    let mut bytes = vec![0; usize::try_from(file.size_bytes()).unwrap()];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

/// What a file has that is not written as it was, and how many records were compared.
#[derive(Default)]
struct Compared {
    n_records: usize,
    different: BTreeSet<&'static str>,
}

impl Compared {
    fn compare(&mut self, kind: &'static str, stored: &[u8], write: impl FnOnce(&mut Output) -> format::Result<()>) {
        self.compare_from(kind, stored, Output::new(0), write);
    }

    fn compare_from(
        &mut self,
        kind: &'static str,
        stored: &[u8],
        mut output: Output,
        write: impl FnOnce(&mut Output) -> format::Result<()>,
    ) {
        self.n_records += 1;
        let is_written = write(&mut output).is_ok();
        let written = output.into_bytes();
        if !is_written || written != stored {
            let at = written.iter().zip(stored).position(|(written, stored)| written != stored);
            eprintln!("  {kind}: {} bytes written, {} stored, byte {at:?} differs", written.len(), stored.len());
            self.different.insert(kind);
        }
    }
}

fn compare(file: &[u8]) -> Compared {
    let mut compared = Compared::default();
    let Ok(header) = FileHeader::parse(&file[..file.len().min(100)]) else { return compared };
    let mut written = Output::new(0);
    header.write(&mut written).unwrap();
    let n_bytes = written.position();
    compared.compare("header", &file[..n_bytes], |output| header.write(output));

    let begin = usize::try_from(header.begin).unwrap();
    let mut position = begin;
    while let Some(n_bytes) = file.get(position..position + 4) {
        let n_bytes = i32::from_be_bytes(n_bytes.try_into().unwrap());
        let next = position + n_bytes.unsigned_abs() as usize;
        if n_bytes == 0 || next > file.len() {
            break;
        }
        if n_bytes > 0 {
            record(&header, file, &file[position..next], position == begin, &mut compared);
        }
        position = next;
    }
    let slice = |start: u64, n_bytes: u32| {
        let start = usize::try_from(start).ok()?;
        file.get(start..start + n_bytes as usize).filter(|slice| !slice.is_empty())
    };
    if let Some(record) = slice(header.seek_free, header.n_bytes_free) {
        let key = Key::parse(&mut Cursor::new(record)).unwrap();
        let payload = &record[usize::from(key.key_bytes)..];
        let segments = parse_free_segments(payload, header.end).unwrap();
        let n_bytes = segments.iter().map(FreeSegment::stored_bytes).sum::<usize>().min(payload.len());
        compared.compare("free segments", &payload[..n_bytes], |output| {
            segments.iter().for_each(|segment| segment.write(output));
            Ok(())
        });
    }
    if let Some(record) = slice(header.seek_info, header.n_bytes_info).filter(|_| header.has_streamer_info()) {
        let key = Key::parse(&mut Cursor::new(record)).unwrap();
        let mut object = vec![0; key.object_bytes as usize];
        let stored = &record[usize::from(key.key_bytes)..];
        if key.is_compressed() {
            Decompressor::new().decompress(stored, &mut object).unwrap();
        } else {
            object.copy_from_slice(stored);
        }
        let infos = StreamerInfos::parse(&object, key.key_bytes.into()).unwrap();
        compared.compare_from("streamer information", &object, Output::new(key.key_bytes.into()), |output| {
            infos.write(output)
        });
    }
    compared
}

fn record(header: &FileHeader, file: &[u8], record: &[u8], is_first: bool, compared: &mut Compared) {
    let Ok(key) = Key::parse(&mut Cursor::new(record)) else { return };
    if is_first {
        let Ok(root) = RootRecord::parse(header, record) else { return };
        compared.compare("root directory", record, |output| root.write(output));
        key_list(file, &root.directory, compared);
        return;
    }
    compared.compare("key", &record[..key.header_bytes_parsed], |output| key.write(output));
    let payload = &record[usize::from(key.key_bytes).min(record.len())..];
    if looks_like_directory(&key, payload) {
        let directory = Directory::parse(&mut Cursor::new(payload)).unwrap();
        compared.compare("directory", payload, |output| directory.write_record(output));
        key_list(file, &directory, compared);
    }
}

fn key_list(file: &[u8], directory: &Directory, compared: &mut Compared) {
    let start = usize::try_from(directory.seek_keys).unwrap();
    let Some(record) = file.get(start..start + directory.n_bytes_keys as usize) else { return };
    let Ok(list) = KeyList::parse(record, directory.seek_keys) else { return };
    compared.compare("key list", record, |output| KeyList::write(&list.own_key, list.keys.iter(), output));
}

#[test]
fn records_of_real_files_are_written_as_they_were() {
    let files = files();
    let (mut n_records, mut found) = (0, BTreeSet::new());
    for path in &files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        eprintln!("{name}");
        let compared = compare(&read(path));
        n_records += compared.n_records;
        found.extend(compared.different.into_iter().map(|kind| (name.clone(), kind)));
    }
    eprintln!("{n_records} records");
    let expected: BTreeSet<_> = EXCEPTIONS.iter().map(|(file, kind, _)| ((*file).to_owned(), *kind)).collect();
    assert!(files.is_empty() || found == expected, "{found:#?}");
}
