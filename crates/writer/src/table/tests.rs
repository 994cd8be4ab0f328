use arrow_array::builder::{Float32Builder, Int32Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType as ArrowType, Field};
use arrowroot_storage::{MemoryFile, MemorySink};

use super::*;
use crate::file::{FileSettings, ROOT_DIRECTORY};
use crate::settings::{ColumnCodec, Flush};

fn schema() -> Schema {
    let list = |of| ArrowType::List(Arc::new(Field::new("item", of, false)));
    Schema::new(vec![
        Field::new("number", ArrowType::Int64, false),
        Field::new("flag", ArrowType::Boolean, false),
        Field::new("text", ArrowType::Utf8, false),
        Field::new("maybe", ArrowType::Int32, true),
        Field::new("values", list(ArrowType::Float32), false),
        Field::new("lists", list(list(ArrowType::Int32)), false),
    ])
}

/// Entries of all kinds; `null_at`: where the number is null.
fn batch(range: std::ops::Range<i64>, null_at: Option<i64>) -> RecordBatch {
    let item = |of| Field::new("item", of, false);
    let mut texts = StringBuilder::new();
    let mut maybe = Int32Builder::new();
    let mut values = ListBuilder::new(Float32Builder::new()).with_field(item(ArrowType::Float32));
    let inner = ListBuilder::new(Int32Builder::new()).with_field(item(ArrowType::Int32));
    let inner_type = ArrowType::List(Arc::new(item(ArrowType::Int32)));
    let mut lists = ListBuilder::new(inner).with_field(item(inner_type));
    for entry in range.clone() {
        texts.append_value("text".repeat(usize::try_from(entry % 7).unwrap()));
        maybe.append_option((entry % 3 > 0).then(|| i32::try_from(entry % 1000).unwrap()));
        for value in 0..entry % 4 {
            values.values().append_value(f32::from(u16::try_from(value * entry % 5000).unwrap()));
            lists.values().values().append_value(i32::try_from(value).unwrap());
            lists.values().append(true);
        }
        values.append(true);
        lists.append(true);
    }
    let numbers: Int64Array = range.clone().map(|entry| (null_at != Some(entry)).then_some(entry * entry)).collect();
    let flags: BooleanArray = range.map(|entry| Some(entry % 5 == 0)).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(numbers),
        Arc::new(flags),
        Arc::new(texts.finish()),
        Arc::new(maybe.finish()),
        Arc::new(values.finish()),
        Arc::new(lists.finish()),
    ];
    let fields = schema().fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect::<Vec<_>>();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn file(n_threads: usize) -> (MemoryFile, Arc<FileWriter>) {
    let place = MemoryFile::default();
    let settings = FileSettings {
        name: "file.root".to_owned(),
        compression: CompressionSetting(505),
        is_reproducible: true,
        n_threads,
        buffer_bytes: 1 << 20,
    };
    let sink = MemorySink::create("file.root", &place);
    (place, FileWriter::create(Arc::new(sink), settings).unwrap())
}

fn table(file: &Arc<FileWriter>, layout: Format, settings: TableSettings) -> Result<TableWriter> {
    TableWriter::create(file, ROOT_DIRECTORY, "T", "", &schema(), layout, settings)
}

fn written(n_threads: usize, layout: Format, flush: Flush, batches: &[RecordBatch]) -> Vec<u8> {
    let (place, file) = file(n_threads);
    let mut table = table(&file, layout, TableSettings { flush, ..TableSettings::default() }).unwrap();
    batches.iter().for_each(|batch| table.append(batch).unwrap());
    let n_entries: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(table.close().unwrap().n_entries, n_entries as u64);
    file.close().unwrap();
    place.bytes().unwrap().to_vec()
}

#[test]
fn the_file_does_not_depend_on_threads_and_batches() {
    let whole = batch(0..20_000, None);
    let parts: Vec<RecordBatch> =
        (0..20_000).step_by(700).map(|start| whole.slice(start, 700.min(20_000 - start))).collect();
    let cases = [
        (Format::Tree, Flush::Bytes(60_000)),
        (Format::Tree, Flush::Entries(3000)),
        (Format::Tree, Flush::Never),
        (Format::Ntuple, Flush::Bytes(60_000)),
        (Format::Ntuple, Flush::Entries(3000)),
    ];
    for (layout, flush) in cases {
        let alone = written(1, layout, flush, std::slice::from_ref(&whole));
        for n_threads in [1, 2, 8] {
            let is_same = written(n_threads, layout, flush, &parts) == alone;
            assert!(is_same, "{layout:?}, {flush:?}, {n_threads} threads");
        }
    }
}

#[test]
fn a_batch_that_is_refused_leaves_the_table_as_it_was() {
    for layout in [Format::Tree, Format::Ntuple] {
        let (place, file) = file(2);
        let mut table = table(&file, layout, TableSettings::default()).unwrap();
        table.append(&batch(0..100, None)).unwrap();
        let error = table.append(&batch(100..200, Some(107))).unwrap_err().to_string();
        assert!(error.contains("\"number\": entry 107 is null") && error.contains("schema="), "{error}");
        let others = batch(100..200, None).project(&[0, 2, 1, 3, 4, 5]).unwrap();
        let error = table.append(&others).unwrap_err().to_string();
        assert!(error.contains(r#"table "T" has columns ["number", "flag""#), "{error}");
        assert_eq!(table.n_entries(), 100);
        table.append(&batch(100..200, None)).unwrap();
        table.close().unwrap();
        file.close().unwrap();
        let whole = written(1, layout, Flush::Bytes(30_000_000), &[batch(0..200, None)]);
        assert!(*place.bytes().unwrap() == whole[..], "{layout:?}");
    }
}

#[test]
fn a_null_in_a_batch_that_was_begun_stops_the_file() {
    let (place, file) = file(2);
    let fields = vec![Field::new("x", ArrowType::Int64, false)];
    let settings = TableSettings::default();
    let mut table =
        TableWriter::create(&file, ROOT_DIRECTORY, "T", "", &Schema::new(fields), Format::Tree, settings).unwrap();
    let numbers: Int64Array = (0..5_000_000).map(|entry| (entry != 4_999_000).then_some(entry)).collect();
    let numbers: ArrayRef = Arc::new(numbers);
    let error = table.append(&RecordBatch::try_from_iter([("x", numbers)]).unwrap()).unwrap_err().to_string();
    assert!(error.contains("\"x\": entry 4999000 is null"), "{error}");
    assert_eq!(table.close().unwrap_err().to_string(), error);
    assert_eq!(file.close().unwrap_err().to_string(), error);
    assert_eq!(place.bytes(), None);
}

#[test]
fn a_table_that_is_not_closed_is_missed() {
    let (place, file) = file(1);
    drop(table(&file, Format::Tree, TableSettings::default()).unwrap());
    let error = file.close().unwrap_err().to_string();
    assert_eq!(error, "table \"T\" was not closed, and would be missing");
    assert_eq!(place.bytes(), None);
}

#[test]
fn a_name_or_title_that_cannot_be_listed_is_refused_at_once() {
    let long = "x".repeat(40_000);
    for format in [Format::Tree, Format::Ntuple] {
        let (place, file) = file(1);
        file.directory("directory").unwrap();
        let create = |name: &str, title: &str| {
            TableWriter::create(&file, ROOT_DIRECTORY, name, title, &schema(), format, TableSettings::default())
        };
        for (name, why) in
            [("directory", "is the name of a directory"), ("", "empty"), ("a/b", "slash"), (&long, "32767")]
        {
            let error = create(name, "").unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        // An RNTuple has its title elsewhere. A table that was refused keeps no name.
        let written = create("T", &long).and_then(TableWriter::close);
        assert_eq!(written.is_ok(), format == Format::Ntuple);
        assert_eq!(file.directory("T").is_ok(), format == Format::Tree);
        let table = create("open", "").unwrap();
        let error = file.directory("open").unwrap_err().to_string();
        assert!(error.contains("is the name of an object"), "{error}");
        table.close().unwrap();
        file.close().unwrap();
        assert!(place.bytes().is_some());
    }
}

#[test]
fn settings_are_for_each_column_or_for_none() {
    let (_, file) = file(1);
    let settings = TableSettings { titles: vec!["one".to_owned()], ..TableSettings::default() };
    let error = table(&file, Format::Tree, settings).unwrap_err().to_string();
    assert_eq!(error, "1 titles for 6 columns");
}

/// Two columns of lists, the second with offsets of its own or those of the first.
fn two_lists(is_shared: bool) -> RecordBatch {
    let lengths: Vec<usize> = (0..5000).map(|entry| entry * entry % 7).collect();
    let first: OffsetBuffer<i32> = OffsetBuffer::from_lengths(lengths.iter().copied());
    let second = if is_shared { first.clone() } else { OffsetBuffer::from_lengths(lengths) };
    let n_items = first.last();
    let list = |offsets: OffsetBuffer<i32>, factor: i32| -> ArrayRef {
        let item = Arc::new(Field::new("item", ArrowType::Int32, false));
        let values = Int32Array::from_iter_values((0..n_items).map(|item| item * factor % 1000));
        Arc::new(ListArray::new(item, offsets, Arc::new(values), None))
    };
    RecordBatch::try_from_iter([("a", list(first, 3)), ("b", list(second, 5))]).unwrap()
}

#[test]
fn the_file_does_not_depend_on_whether_offsets_are_shared() {
    for (layout, setting, flush) in [
        (Format::Tree, 505, Flush::Entries(3000)),
        (Format::Ntuple, 505, Flush::Entries(3000)),
        (Format::Ntuple, 0, Flush::Bytes(1_000_000)),
    ] {
        let [shared, own] = [true, false].map(|is_shared| {
            let (place, file) = file(2);
            let batch = two_lists(is_shared);
            let compression = vec![ColumnCodec::Set(CompressionSetting(setting)); 2];
            let settings = TableSettings { flush, compression, page_bytes: Some(4096), ..TableSettings::default() };
            let mut table =
                TableWriter::create(&file, ROOT_DIRECTORY, "T", "", &batch.schema(), layout, settings).unwrap();
            for start in [0, 2000, 4000] {
                table.append(&batch.slice(start, 2000.min(5000 - start))).unwrap();
            }
            assert_eq!(table.close().unwrap().n_entries, 5000);
            file.close().unwrap();
            place.bytes().unwrap()
        });
        assert!(shared == own, "{layout:?}, {setting}");
    }
}

#[test]
fn columns_are_added_once_and_not_beside_contexts() {
    let late = |names: &[&str]| {
        Schema::new(names.iter().map(|name| Field::new(*name, ArrowType::Int64, false)).collect::<Vec<_>>())
    };
    for layout in [Format::Tree, Format::Ntuple] {
        let (_, file) = file(2);
        let mut table = table(&file, layout, TableSettings::default()).unwrap();
        table.append(&batch(0..100, None)).unwrap();
        let settings = TableSettings::default();
        table.extend(&late(&["late", "later"]), &settings).unwrap();
        for known in ["text", "late"] {
            let error = table.extend(&late(&[known]), &settings).unwrap_err().to_string();
            assert!(error.contains(known), "{error}");
        }
        let error = table.append(&batch(100..200, None)).unwrap_err().to_string();
        assert!(error.contains("later"), "{error}");
        assert_eq!(table.close().unwrap().n_entries, 100);
        file.close().unwrap();

        let (_, file) = self::file(2);
        let mut table = self::table(&file, layout, TableSettings::default()).unwrap();
        let contexts = table.contexts(ContextSettings::default()).unwrap();
        let error = table.extend(&late(&["late"]), &settings).unwrap_err().to_string();
        assert!(error.contains("filled through contexts"), "{error}");
        drop(contexts);
        table.close().unwrap();
    }
}
