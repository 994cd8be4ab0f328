//! RNTuples that were merged are read entry by entry as the inputs one after another.

use std::sync::Arc;

use arrow_array::types::{Float32Type, Int32Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use arrowroot::storage::{MemoryFile, MemorySink, MemorySource};
use arrowroot::{ColumnId, Entries, File, Order, Request, TextForm, open_table};
use arrowroot_writer::{
    ColumnLayout, FileSettings, FileWriter, Flush, Format, NumberEncoding, ROOT_DIRECTORY, TableSettings, TableWriter,
};
use format::codec::CompressionSetting;

use super::*;
use crate::{Merger, Settings};

fn file_settings(compression: i32) -> FileSettings {
    FileSettings {
        name: "out.root".to_owned(),
        compression: CompressionSetting(compression),
        is_reproducible: true,
        n_threads: 1,
        buffer_bytes: 1 << 22,
    }
}

/// A file with an RNTuple of clusters of 40 entries, in pages of at most 100 bytes.
fn written(batch: &RecordBatch, compression: i32, encoding: NumberEncoding) -> Vec<u8> {
    let place = MemoryFile::default();
    let sink = Arc::new(MemorySink::create("in.root", &place));
    let file = FileWriter::create(sink, file_settings(compression)).unwrap();
    let settings = TableSettings {
        flush: Flush::Entries(40),
        page_bytes: Some(100),
        layouts: vec![ColumnLayout { encoding, ..ColumnLayout::default() }; batch.num_columns()],
        ..TableSettings::default()
    };
    let schema = batch.schema();
    let mut table =
        TableWriter::create(&file, ROOT_DIRECTORY, "T", "a title", &schema, Format::Ntuple, settings).unwrap();
    table.append(batch).unwrap();
    table.close().unwrap();
    file.close().unwrap();
    place.bytes().unwrap().to_vec()
}

fn opened(bytes: &[u8]) -> File {
    File::from_source(Arc::new(MemorySource::new("in.root", bytes.to_vec()))).unwrap()
}

/// Merges inputs, of which those that are at fault are left out, with the reasons.
fn merged_but(inputs: &[&[u8]], columns: Columns) -> (Vec<u8>, Vec<String>) {
    let place = MemoryFile::default();
    let file = FileWriter::create(Arc::new(MemorySink::create("out.root", &place)), file_settings(505)).unwrap();
    let mut merger = Merger::new(Arc::clone(&file), Settings { columns, ..Settings::default() });
    let errors = inputs.iter().filter_map(|bytes| merger.add(&opened(bytes)).err());
    let errors = errors.map(|error| error.to_string()).collect();
    merger.finish().unwrap();
    file.close().unwrap();
    (place.bytes().unwrap().to_vec(), errors)
}

fn merged(inputs: &[&[u8]], columns: Columns) -> Vec<u8> {
    let (bytes, errors) = merged_but(inputs, columns);
    assert!(errors.is_empty(), "{errors:?}");
    bytes
}

/// All entries of all columns that a file's `T` has.
fn read(bytes: &[u8]) -> RecordBatch {
    let opened = open_table(&opened(bytes), "T").unwrap();
    assert_eq!(opened.unread_record, None);
    let table = opened.table;
    let schema = table.arrow_schema().unwrap();
    let column = |field: &Arc<Field>| (table.find(field.name()).unwrap(), field.name().clone());
    let columns: Vec<(ColumnId, String)> = schema.fields().iter().map(column).collect();
    let request = Request {
        columns,
        entries: Entries::Range(0..table.n_entries()),
        batch_bytes: None,
        batch_entries: Some(1 << 20),
        memory_budget_bytes: 1 << 24,
        n_threads: 1,
        trace: false,
        text: TextForm::Utf8,
        verify_checksums: true,
        raw: false,
        order: Order::Cluster,
    };
    let mut scan = table.scan(&request).unwrap();
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch(&mut || false).unwrap() {
        batches.push(batch);
    }
    assert!(batches.len() < 2);
    batches.pop().unwrap_or_else(|| RecordBatch::new_empty(scan.schema().clone()))
}

/// The entries `first..first + n`: numbers, lists of numbers, texts, optional numbers.
fn numbered(first: i32, n: i32) -> Vec<(&'static str, ArrayRef)> {
    let all = || first..first + n;
    let items = |i: i32| Some((0..i % 4).map(|j| Some((i * 10 + j) as f32)).collect::<Vec<_>>());
    let lists = ListArray::from_iter_primitive::<Float32Type, _, _>(all().map(items));
    let texts: StringArray =
        all().map(|i| Some("x".repeat((i % 5).unsigned_abs() as usize) + &i.to_string())).collect();
    let optionals: Int64Array = all().map(|i| (i % 3 > 0).then_some(i64::from(i))).collect();
    vec![
        ("number", Arc::new(Int32Array::from_iter_values(all()))),
        ("list", Arc::new(lists)),
        ("text", Arc::new(texts)),
        ("optional", Arc::new(optionals)),
    ]
}

fn batch(columns: Vec<(&'static str, ArrayRef)>) -> RecordBatch {
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), *name == "optional");
    let fields: Vec<Field> = columns.iter().map(field).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

fn picked(columns: Vec<(&'static str, ArrayRef)>, names: &[&str]) -> RecordBatch {
    batch(columns.into_iter().filter(|(name, _)| names.contains(name)).collect())
}

/// A column as texts, one for each entry.
fn values(batch: &RecordBatch, name: &str) -> Vec<String> {
    let array = batch.column_by_name(name).unwrap_or_else(|| panic!("no {name} in {}", batch.schema()));
    (0..array.len())
        .map(|index| format!("{:?}", array.slice(index, 1)))
        .map(|text| text.replace("LargeList", "List"))
        .collect()
}

#[test]
fn codecs_and_encodings_stay_as_they_are() {
    let parts: Vec<RecordBatch> =
        [(0, 100), (100, 90), (190, 0), (190, 70)].map(|(first, n)| batch(numbered(first, n))).into();
    let inputs = [
        written(&parts[0], 505, NumberEncoding::Split),
        written(&parts[1], 0, NumberEncoding::Plain),
        written(&parts[2], 101, NumberEncoding::Split),
        written(&parts[3], 404, NumberEncoding::Plain),
    ];
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let bytes = merged(&inputs, Columns::Strict);
    let (found, expected) = (read(&bytes), batch(numbered(0, 260)));
    assert_eq!(found.num_rows(), 260);
    for name in ["number", "list", "text", "optional"] {
        assert_eq!(values(&found, name), values(&expected, name));
    }
    let ntuple = arrowroot::Ntuple::open(&opened(&bytes), "T").unwrap();
    let number = ntuple.schema().fields().find(|field| field.name() == "number").unwrap();
    assert_eq!(number.columns().len(), 2);
    // The ends of texts are encoded as in the first input.
    let text = ntuple.schema().fields().find(|field| field.name() == "text").unwrap();
    assert_eq!(text.columns().len(), 2);
    assert_eq!(ntuple.footer().groups.len(), 1);
    // Merged with itself: a further representation is known then.
    let twice = read(&merged(&[&bytes, &bytes], Columns::Strict));
    assert_eq!(values(&twice, "list"), [values(&expected, "list"), values(&expected, "list")].concat());
}

#[test]
fn columns_that_an_input_lacks_are_empty_there() {
    let names = ["number", "list", "text", "optional"];
    let full = |first, n| written(&batch(numbered(first, n)), 505, NumberEncoding::Split);
    let less = |first, n| written(&picked(numbered(first, n), &["number"]), 505, NumberEncoding::Split);
    let inputs = [less(0, 50), full(50, 60), less(110, 40), full(150, 10)];
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let found = read(&merged(&inputs, Columns::Union));
    let expected = batch(numbered(0, 160));
    assert_eq!(values(&found, "number"), values(&expected, "number"));
    for name in &names[1..] {
        let (found, expected) = (values(&found, name), values(&expected, name));
        assert_eq!(found[50..110], expected[50..110]);
        assert_eq!(found[150..], expected[150..]);
        assert!(found[..50].iter().chain(&found[110..150]).all(|value| *value == found[0]), "{name}");
    }
    let lists = found["list"].as_any().downcast_ref::<ListArray>().unwrap();
    assert_eq!(lists.value_length(0), 0);

    let first = read(&merged(&inputs, Columns::First));
    assert_eq!(first.num_columns(), 1);
    assert_eq!(values(&first, "number"), values(&expected, "number"));
    let (_, errors) = merged_but(&inputs[..2], Columns::Strict);
    assert!(errors[0].contains("field list is in no input before"), "{errors:?}");
    let (_, errors) = merged_but(&inputs[1..3], Columns::Strict);
    assert!(errors[0].contains("there is no field list"), "{errors:?}");
    let swapped = read(&merged(&[inputs[1], inputs[0]], Columns::First));
    assert_eq!(swapped.num_columns(), 4);
    assert_eq!(values(&swapped, "text")[..60], values(&expected, "text")[50..110]);
}

#[test]
fn members_that_come_up_in_lists_of_records_are_zeros_before() {
    let record = |names: &[&str], first: i32| {
        let lengths = [2, 0, 3];
        let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Int32, false)).collect();
        let array: ArrayRef = Arc::new(Int32Array::from_iter_values(first..first + 5));
        let items = StructArray::new(fields.clone().into(), vec![array; names.len()], None);
        let item = Arc::new(Field::new("item", DataType::Struct(fields.into()), false));
        let lists = ListArray::new(item, OffsetBuffer::from_lengths(lengths), Arc::new(items), None);
        written(&batch(vec![("record", Arc::new(lists))]), 505, NumberEncoding::Split)
    };
    let inputs = [record(&["a"], 0), record(&["a", "b"], 10), record(&["b"], 20)];
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let found = read(&merged(&inputs, Columns::Union));
    let lists = found["record"].as_any().downcast_ref::<ListArray>().unwrap();
    let items = lists.values().as_any().downcast_ref::<StructArray>().unwrap();
    let member = |name: &str| -> Vec<i32> {
        let numbers = items.column_by_name(name).unwrap().as_any().downcast_ref::<Int32Array>().unwrap();
        numbers.values().to_vec()
    };
    assert_eq!(lists.offsets().lengths().collect::<Vec<_>>(), [2, 0, 3, 2, 0, 3, 2, 0, 3]);
    assert_eq!(member("a"), [0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 0, 0, 0, 0, 0]);
    assert_eq!(member("b"), [0, 0, 0, 0, 0, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24]);
}

#[test]
fn the_recorded_arrow_schema_has_the_members_of_all_inputs_at_any_depth() {
    let record = |names: &[&str]| {
        let days: ArrayRef = Arc::new(arrow_array::Date32Array::from(vec![7]));
        let field = |name: &&str| (Arc::new(Field::new(*name, DataType::Date32, false)), Arc::clone(&days));
        let inner: ArrayRef = Arc::new(StructArray::from(names.iter().map(field).collect::<Vec<_>>()));
        let item = Arc::new(Field::new("item", inner.data_type().clone(), false));
        let lists: ArrayRef = Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([1]), inner, None));
        let lists = (Arc::new(Field::new("lists", lists.data_type().clone(), false)), lists);
        written(&batch(vec![("record", Arc::new(StructArray::from(vec![lists])))]), 505, NumberEncoding::Split)
    };
    let (first, second) = (record(&["a"]), record(&["b", "a"]));
    let members = |inputs: &[&[u8]], columns: Columns| -> Vec<(String, DataType)> {
        let found = read(&merged(inputs, columns));
        let record = found["record"].as_any().downcast_ref::<StructArray>().unwrap();
        let lists = record.column(0).as_any().downcast_ref::<ListArray>().unwrap();
        let DataType::Struct(members) = lists.value_type() else { panic!("{}", found.schema()) };
        members.iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
    };
    let named = |names: [&str; 2]| names.map(|name| (name.to_owned(), DataType::Date32)).to_vec();
    assert_eq!(members(&[&first, &second], Columns::Union), named(["a", "b"]));
    assert_eq!(members(&[&second, &first], Columns::Union), named(["b", "a"]));
}

#[test]
fn an_input_with_damaged_pages_can_be_left_out_as_if_it_had_not_been_there() {
    let whole = |first| written(&batch(numbered(first, 50)), 0, NumberEncoding::Plain);
    let more = picked(numbered(50, 50), &["text"]);
    let mut damaged = written(&more, 0, NumberEncoding::Plain);
    let at = damaged.windows(4).rposition(|bytes| bytes == b"xx97").unwrap();
    damaged[at] = b'y';
    let (first, last) = (whole(0), whole(50));
    let (bytes, errors) = merged_but(&[&first, &damaged, &last], Columns::Union);
    assert!(errors[0].contains("checksum"), "{errors:?}");
    let (found, expected) = (read(&bytes), batch(numbered(0, 100)));
    for name in ["number", "list", "text", "optional"] {
        assert_eq!(values(&found, name), values(&expected, name));
    }
    let (bytes, errors) = merged_but(&[&damaged, &first], Columns::Strict);
    assert_eq!(errors.len(), 1);
    assert_eq!(values(&read(&bytes), "list"), values(&batch(numbered(0, 50)), "list"));
}

#[test]
fn fields_of_one_name_and_two_types_are_refused() {
    let number: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["1"]));
    let [first, second] = [number, text].map(|array| written(&batch(vec![("x", array)]), 505, NumberEncoding::Split));
    for columns in [Columns::Strict, Columns::Union, Columns::First] {
        let (bytes, errors) = merged_but(&[&first, &second], columns);
        assert!(errors[0].contains("field x: its type is \"std::string\", and \"std::int32_t\" before"), "{errors:?}");
        assert_eq!(read(&bytes).num_rows(), 1);
    }
}

#[test]
fn the_recorded_arrow_schema_has_the_columns_of_all_inputs() {
    let times: ArrayRef = Arc::new(arrow_array::TimestampMillisecondArray::from(vec![1, 2]));
    let days: ArrayRef = Arc::new(arrow_array::Date32Array::from(vec![3, 4]));
    let plain: ArrayRef = Arc::new(Int32Array::from(vec![5, 6]));
    let inputs = [
        vec![("n", Arc::clone(&plain))],
        vec![("n", Arc::clone(&plain)), ("time", Arc::clone(&times))],
        vec![("day", Arc::clone(&days)), ("n", Arc::clone(&plain))],
    ];
    let inputs = inputs.map(|columns| written(&batch(columns), 505, NumberEncoding::Split));
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let found = read(&merged(&inputs, Columns::Union));
    assert_eq!(found["time"].data_type(), times.data_type());
    assert_eq!(found["day"].data_type(), days.data_type());
    assert_eq!(values(&found, "time")[2..4], values(&batch(vec![("time", times)]), "time"));
    assert_eq!(values(&found, "day")[4..], values(&batch(vec![("day", days)]), "day"));
    assert_eq!(found["n"].as_any().downcast_ref::<Int32Array>().unwrap().values(), &[5, 6, 5, 6, 5, 6]);

    let other: ArrayRef = Arc::new(arrow_array::Date32Array::from(vec![3, 4]));
    let other = written(&batch(vec![("n", other)]), 505, NumberEncoding::Split);
    let (_, errors) = merged_but(&[inputs[0], &other], Columns::Strict);
    assert!(errors[0].contains("column \"n\" is Date32, and Int32 in an input before"), "{errors:?}");
}

#[test]
fn pages_that_are_shared_stay_shared_and_zeros_are_stored_once() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>((0..400).map(|i| Some(vec![Some(i); 3])));
    let same: Vec<(&'static str, ArrayRef)> = vec![("a", Arc::new(lists.clone())), ("b", Arc::new(lists))];
    let input = written(&batch(same), 0, NumberEncoding::Plain);
    let bytes = merged(&[&input], Columns::Strict);
    assert!(bytes.len() < input.len() + 1000, "{} of {}", bytes.len(), input.len());

    let number: ArrayRef = Arc::new(Int32Array::from_iter_values(0..400));
    let other = written(&batch(vec![("c", number)]), 0, NumberEncoding::Plain);
    let united = merged(&[&input, &other, &other, &other], Columns::Union);
    assert!(united.len() < input.len() + 3 * other.len() + 6000, "{} bytes", united.len());
    assert_eq!(read(&united).num_rows(), 1600);
}
