//! Limits of the formats that are met before the file is spoilt.

use std::sync::Arc;

use arrowroot::{File, open_table};
use arrowroot_arrow::stored::data_type;
use arrowroot_format::codec::CompressionSetting;
use arrowroot_storage::{MemoryFile, MemorySink, MemorySource};
use arrowroot_writer::tree::{TreeColumn, TreeFormat, TreeSettings};
use arrowroot_writer::{
    Baskets, ColumnCodec, ColumnLayout, Error, FileSettings, FileWriter, Flush, ROOT_DIRECTORY, TableSettings,
    TableWriter, TreeNotes,
};

use crate::numbered::{batch, numbers, schema};

const N_ENTRIES: i64 = 10;

/// A tree whose clusters have a batch of entries each, and whose record has less than so many bytes.
fn table(file: &Arc<FileWriter>, max_record_bytes: u64) -> TableWriter {
    let schema = schema();
    let columns = schema.fields().iter().map(|field| TreeColumn {
        name: field.name().clone(),
        title: String::new(),
        data_type: data_type(field).unwrap(),
        counter: None,
        layout: ColumnLayout::default(),
        compression: ColumnCodec::Set(CompressionSetting::NONE),
    });
    let flush = Flush::Entries(N_ENTRIES.unsigned_abs());
    let settings = TreeSettings {
        directory: ROOT_DIRECTORY,
        name: "T".to_owned(),
        title: String::new(),
        compression: CompressionSetting::NONE,
        flush,
        baskets: Baskets::Fitted,
        autosave_bytes: 0,
        generates_offsets: false,
        arrow_schema: None,
        notes: TreeNotes::default(),
        index: None,
        max_record_bytes,
    };
    let format = TreeFormat::new(file, &columns.collect::<Vec<_>>(), settings).unwrap();
    let settings = TableSettings { flush, ..TableSettings::default() };
    TableWriter::with_format(file, "T", &schema, format, &settings).unwrap()
}

#[test]
fn a_tree_that_can_list_no_more_baskets_takes_no_more_entries_and_is_whole() {
    let place = MemoryFile::default();
    let settings = FileSettings {
        name: "f".to_owned(),
        compression: CompressionSetting::NONE,
        is_reproducible: true,
        n_threads: 2,
        buffer_bytes: 1 << 20,
    };
    let file = FileWriter::create(Arc::new(MemorySink::create("m", &place)), settings).unwrap();
    let mut table = table(&file, 4000);
    let mut n_taken = 0;
    let refused = loop {
        match table.append(&batch(n_taken..n_taken + N_ENTRIES)) {
            Ok(()) => n_taken += N_ENTRIES,
            Err(error) => break error,
        }
        assert!(n_taken < 1000, "the limit is never met");
    };
    assert!(matches!(&refused, Error::InvalidRequest { what } if what.contains("more than its record can list")));
    // x, its counter and the lists: 3 branches and 3 baskets a cluster. What two clusters take is kept free.
    let n_clusters = n_taken / N_ENTRIES;
    assert_eq!(n_clusters, (4000 - 3 * 250) / (3 * 24) - 2 + 1);
    table.close().unwrap();
    file.close().unwrap();
    let source = MemorySource::new("m", place.bytes().unwrap().to_vec());
    let file = File::from_source(Arc::new(source)).unwrap();
    let found = open_table(&file, "T").unwrap();
    assert_eq!(numbers(found.table.as_ref()), (0..n_taken).collect::<Vec<_>>());
}
