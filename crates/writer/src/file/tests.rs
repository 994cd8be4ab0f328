use std::sync::Mutex;

use arrowroot_file::File;
use arrowroot_storage::testing::FullDisk;
use arrowroot_storage::{Error as StorageError, MemoryFile, MemorySink, MemorySource, Result as StorageResult, Source};
use format::codec::Algorithm;
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
    let paths = file.keys().unwrap().iter().map(|entry| format!("{};{}", entry.path(), entry.key.cycle)).collect();
    paths
}
