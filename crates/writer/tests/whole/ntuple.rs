//! RNTuples that were written: their values come back, and their metadata are what ROOT writes.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, cast::AsArray, types};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use arrowroot::storage::{MemoryFile, MemorySink, MemorySource};
use arrowroot::{File, Ntuple, Table};
use arrowroot_format::codec::{CompressionSetting, Decompressor};
use arrowroot_format::rntuple::{Anchor, Blob, Footer, PageList};
use arrowroot_writer::{FileSettings, FileWriter, Flush, Format, TableSettings, TableWriter};
use proptest::prelude::*;

mod envelopes;

use crate::any_array::{any_type, batch_of, item};
use crate::reading::batches;

/// A value, whatever its type calls it.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Bits(u64),
    Text(String),
    Several(Vec<Value>),
}

/// The values of an array. What may be missing is a list of one value or none: some optionals are stored so.
fn values(array: &dyn Array, is_nullable: bool) -> Vec<Value> {
    macro_rules! numbers {
        ($type:ty) => {
            array
                .as_primitive::<$type>()
                .values()
                .iter()
                .map(|value| Value::Bits(i64::from(*value).cast_unsigned()))
                .collect()
        };
    }
    let lists = |items: &dyn Array, field: &Field, ends: Vec<usize>| -> Vec<Value> {
        let items = values(items, field.is_nullable());
        ends.windows(2).map(|pair| Value::Several(items[pair[0]..pair[1]].to_vec())).collect()
    };
    let ends = |offsets: &OffsetBuffer<i32>| offsets.iter().map(|end| usize::try_from(*end).unwrap()).collect();
    let all: Vec<Value> = match array.data_type() {
        DataType::Boolean => array.as_boolean().values().iter().map(|bit| Value::Bits(bit.into())).collect(),
        DataType::UInt8 => numbers!(types::UInt8Type),
        DataType::Int16 => numbers!(types::Int16Type),
        DataType::Int64 => numbers!(types::Int64Type),
        DataType::Float32 => {
            let floats = array.as_primitive::<types::Float32Type>().values();
            floats.iter().map(|value| Value::Bits(value.to_bits().into())).collect()
        }
        DataType::Utf8 => {
            array.as_string::<i32>().iter().map(|text| Value::Text(text.unwrap_or("").to_owned())).collect()
        }
        DataType::List(field) => lists(array.as_list::<i32>().values(), field, ends(array.as_list::<i32>().offsets())),
        DataType::Map(entries, _) => lists(array.as_map().entries(), entries, ends(array.as_map().offsets())),
        DataType::FixedSizeList(field, size) => {
            let size = usize::try_from(*size).unwrap();
            lists(array.as_fixed_size_list().values(), field, (0..=array.len()).map(|index| index * size).collect())
        }
        DataType::Struct(fields) => {
            let members = array.as_struct().columns().iter().zip(fields);
            let members: Vec<_> = members.map(|(member, field)| values(member, field.is_nullable())).collect();
            (0..array.len())
                .map(|index| Value::Several(members.iter().map(|member| member[index].clone()).collect()))
                .collect()
        }
        other => panic!("{other}"),
    };
    let optional = |(index, value)| match array.is_null(index) {
        true => Value::Several(Vec::new()),
        false => Value::Several(vec![value]),
    };
    if is_nullable { all.into_iter().enumerate().map(optional).collect() } else { all }
}

/// A file with an RNTuple of these columns.
fn written(schema: &Schema, batches: &[RecordBatch], compression: i32, settings: TableSettings) -> Vec<u8> {
    let place = MemoryFile::default();
    let file_settings = FileSettings {
        name: "out.root".to_owned(),
        compression: CompressionSetting(compression),
        is_reproducible: true,
        n_threads: 1,
        buffer_bytes: 1 << 22,
    };
    let file = FileWriter::create(Arc::new(MemorySink::create("out.root", &place)), file_settings).unwrap();
    let directory = file.directory("a/b").unwrap();
    let mut table =
        TableWriter::create(&file, directory, "Events", "a title", schema, Format::Ntuple, settings).unwrap();
    batches.iter().for_each(|batch| table.append(batch).unwrap());
    table.close().unwrap();
    file.close().unwrap();
    place.bytes().unwrap().to_vec()
}

fn opened(bytes: &[u8]) -> (File, Ntuple) {
    let file = File::from_source(Arc::new(MemorySource::new("out.root", bytes.to_vec()))).unwrap();
    let ntuple = Ntuple::open(&file, "a/b/Events").unwrap();
    (file, ntuple)
}

fn read(ntuple: &Ntuple) -> RecordBatch {
    let columns = ntuple.top_members().into_iter().map(|id| (id, ntuple.member(id).name().to_owned())).collect();
    batches(ntuple, columns).remove(0)
}

proptest! {
    #[test]
    fn all_values_come_back(
        types in prop::collection::vec(any_type(), 1..5),
        seed in any::<u64>(),
        (n_entries, n_batches) in (0_usize..120, 1_usize..4),
        (cluster_entries, page_bytes) in (1_u64..60, 1_u32..400),
        compression in prop::sample::select(vec![0, 101, 404, 505]),
    ) {
        let whole = batch_of(&types, n_entries, seed);
        let each = n_entries.div_ceil(n_batches).max(1);
        // Slices: their offsets do not begin at 0.
        let batches: Vec<RecordBatch> =
            (0..n_entries).step_by(each).map(|start| whole.slice(start, each.min(n_entries - start))).collect();
        let settings = TableSettings {
            flush: Flush::Entries(cluster_entries),
            page_bytes: Some(page_bytes),
            ..TableSettings::default()
        };
        let bytes = written(&whole.schema(), &batches, compression, settings);
        let (file, ntuple) = opened(&bytes);
        prop_assert_eq!(ntuple.n_entries(), n_entries as u64);
        let found = read(&ntuple);
        for (index, (array, field)) in whole.columns().iter().zip(whole.schema().fields()).enumerate() {
            let expected = values(array, field.is_nullable());
            let read = values(found.column(index), found.schema().field(index).is_nullable());
            prop_assert_eq!(read, expected, "{}", field);
        }
        let (source, anchor) = envelopes::check(&file, "a/b/Events");
        envelopes::check_pages(&source, &anchor, page_bytes);
    }
}

#[test]
fn the_same_data_are_the_same_bytes_however_they_come_in_batches() {
    let types =
        [(DataType::Int64, true), (DataType::List(item(&DataType::Float32, false)), false), (DataType::Utf8, false)];
    let whole = batch_of(&types, 1000, 7);
    let settings = || TableSettings { flush: Flush::Entries(300), page_bytes: Some(500), ..TableSettings::default() };
    let one = written(&whole.schema(), std::slice::from_ref(&whole), 505, settings());
    let parts: Vec<RecordBatch> = (0..100).map(|index| whole.slice(index * 10, 10)).collect();
    assert!(written(&whole.schema(), &parts, 505, settings()) == one);
}

#[test]
fn a_page_list_is_cut_where_it_is_long() {
    let types = [(DataType::UInt8, false)];
    let whole = batch_of(&types, 80_000, 7);
    let settings = TableSettings { flush: Flush::Entries(1), ..TableSettings::default() };
    let bytes = written(&whole.schema(), std::slice::from_ref(&whole), 0, settings);
    let (file, ntuple) = opened(&bytes);
    let groups = &ntuple.footer().groups;
    assert!(groups.len() > 2, "{}", groups.len());
    assert_eq!(groups.iter().map(|group| u64::from(group.n_clusters)).sum::<u64>(), 80_000);
    assert_eq!(values(read(&ntuple).column(0), false), values(whole.column(0), false));
    envelopes::check(&file, "a/b/Events");
}
