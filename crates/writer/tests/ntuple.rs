//! RNTuples that were written: their values come back, and their metadata are what ROOT writes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Int16Array, Int64Array, ListArray, MapArray,
    RecordBatch, StringArray, StructArray, UInt8Array, cast::AsArray, types,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use arrowroot::storage::{MemoryFile, MemorySink, MemorySource};
use arrowroot::{Entries, File, Ntuple, Order, Request, Table, TextForm};
use arrowroot_format::codec::{CompressionSetting, Decompressor};
use arrowroot_format::rntuple::{Anchor, Blob, Footer, PageList};
use arrowroot_writer::{FileSettings, FileWriter, Flush, Layout, TableSettings, TableWriter};
use proptest::prelude::*;

#[path = "ntuple/envelopes.rs"]
mod envelopes;

/// Numbers that look random and are the same in each run of a seed.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ mixed >> 32
    }

    fn below(&mut self, bound: u64) -> usize {
        usize::try_from(self.next() % bound).unwrap()
    }

    fn nulls(&mut self, n: usize, is_nullable: bool) -> Option<NullBuffer> {
        is_nullable.then(|| (0..n).map(|_| self.below(3) > 0).collect())
    }
}

fn item(data_type: &DataType, is_nullable: bool) -> FieldRef {
    Arc::new(Field::new("item", data_type.clone(), is_nullable))
}

/// `n` values of a type.
fn array(data_type: &DataType, is_nullable: bool, n: usize, seeded: &mut Seeded) -> ArrayRef {
    let nulls = seeded.nulls(n, is_nullable);
    let mut bits = || seeded.next();
    match data_type {
        DataType::Boolean => Arc::new(BooleanArray::new((0..n).map(|_| bits() & 1 == 1).collect(), nulls)),
        DataType::UInt8 => Arc::new(UInt8Array::new((0..n).map(|_| bits().to_ne_bytes()[0]).collect(), nulls)),
        DataType::Int16 => {
            let value = |bytes: [u8; 8]| i16::from_ne_bytes([bytes[0], bytes[1]]);
            Arc::new(Int16Array::new((0..n).map(|_| value(bits().to_ne_bytes())).collect(), nulls))
        }
        DataType::Int64 => {
            Arc::new(Int64Array::new((0..n).map(|_| bits().cast_signed() >> (bits() % 64)).collect(), nulls))
        }
        DataType::Float32 => {
            let value = |bytes: [u8; 8]| f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            Arc::new(Float32Array::new((0..n).map(|_| value(bits().to_ne_bytes())).collect(), nulls))
        }
        DataType::Utf8 => {
            let texts: Vec<String> = (0..n).map(|_| "äx".repeat(usize::try_from(bits() % 4).unwrap())).collect();
            let (offsets, values, _) = StringArray::from_iter_values(texts).into_parts();
            Arc::new(StringArray::new(offsets, values, nulls))
        }
        DataType::List(field) => {
            let offsets = OffsetBuffer::<i32>::from_lengths((0..n).map(|_| seeded.below(4)));
            let n_items = usize::try_from(offsets.last().to_owned()).unwrap();
            let items = array(field.data_type(), field.is_nullable(), n_items, seeded);
            Arc::new(ListArray::new(Arc::clone(field), offsets, items, nulls))
        }
        DataType::FixedSizeList(field, size) => {
            let n_items = n * usize::try_from(*size).unwrap();
            let items = array(field.data_type(), field.is_nullable(), n_items, seeded);
            Arc::new(FixedSizeListArray::new(Arc::clone(field), *size, items, nulls))
        }
        DataType::Struct(fields) => {
            let member = |field: &FieldRef| array(field.data_type(), field.is_nullable(), n, seeded);
            let members = fields.iter().map(member).collect();
            Arc::new(StructArray::new(fields.clone(), members, nulls))
        }
        DataType::Map(entries, _) => {
            let offsets = OffsetBuffer::<i32>::from_lengths((0..n).map(|_| seeded.below(3)));
            let n_items = usize::try_from(offsets.last().to_owned()).unwrap();
            let items = array(entries.data_type(), false, n_items, seeded);
            Arc::new(MapArray::new(Arc::clone(entries), offsets, items.as_struct().clone(), nulls, false))
        }
        other => panic!("{other}"),
    }
}

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
            lists(array.as_fixed_size_list().values(), field, (0..=array.len()).map(|place| place * size).collect())
        }
        DataType::Struct(fields) => {
            let members = array.as_struct().columns().iter().zip(fields);
            let members: Vec<_> = members.map(|(member, field)| values(member, field.is_nullable())).collect();
            (0..array.len())
                .map(|place| Value::Several(members.iter().map(|member| member[place].clone()).collect()))
                .collect()
        }
        other => panic!("{other}"),
    };
    let optional = |(place, value)| match array.is_null(place) {
        true => Value::Several(Vec::new()),
        false => Value::Several(vec![value]),
    };
    if is_nullable { all.into_iter().enumerate().map(optional).collect() } else { all }
}

fn any_type() -> impl Strategy<Value = (DataType, bool)> {
    let number =
        [DataType::Boolean, DataType::UInt8, DataType::Int16, DataType::Int64, DataType::Float32, DataType::Utf8];
    let leaf = (prop::sample::select(number.to_vec()), any::<bool>());
    leaf.prop_recursive(3, 10, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(of, is_nullable)| DataType::List(item(&of, is_nullable))),
            (inner.clone(), 1..4)
                .prop_map(|((of, is_nullable), size)| DataType::FixedSizeList(item(&of, is_nullable), size)),
            inner.clone().prop_map(|(of, is_nullable)| {
                let key = Field::new("key", DataType::Utf8, false);
                let pair = DataType::Struct(vec![key, Field::new("value", of, is_nullable)].into());
                DataType::Map(Arc::new(Field::new("entries", pair, false)), false)
            }),
            prop::collection::vec(inner, 1..4)
                .prop_map(|members| {
                    let members = members.into_iter().enumerate();
                    members
                        .map(|(place, (of, is_nullable))| Field::new(format!("m{place}"), of, is_nullable))
                        .collect::<Vec<_>>()
                })
                .prop_map(|members| DataType::Struct(members.into())),
        ]
        .prop_flat_map(|of| any::<bool>().prop_map(move |is_nullable| (of.clone(), is_nullable)))
    })
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
        TableWriter::create(&file, directory, "Events", "a title", schema, Layout::Ntuple, settings).unwrap();
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
    let request = Request {
        columns,
        entries: Entries::Range(0..ntuple.n_entries()),
        batch_bytes: None,
        memory_budget_bytes: 1 << 20,
        n_threads: 1,
        trace: false,
        text: TextForm::Utf8,
        verify_checksums: true,
        raw: false,
        order: Order::Cluster,
    };
    let mut scan = ntuple.scan(&request).unwrap();
    let schema = Arc::clone(scan.schema());
    scan.next_batch(&mut || false).unwrap().unwrap_or_else(|| RecordBatch::new_empty(schema))
}

/// A batch of so many entries.
fn batch_of(types: &[(DataType, bool)], n_entries: usize, seed: u64) -> RecordBatch {
    let fields: Vec<Field> = types
        .iter()
        .enumerate()
        .map(|(place, (of, is_nullable))| Field::new(format!("c{place}"), of.clone(), *is_nullable))
        .collect();
    let mut seeded = Seeded(seed);
    let arrays = types.iter().map(|(of, is_nullable)| array(of, *is_nullable, n_entries, &mut seeded)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
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
        for (place, (array, field)) in whole.columns().iter().zip(whole.schema().fields()).enumerate() {
            let expected = values(array, field.is_nullable());
            let read = values(found.column(place), found.schema().field(place).is_nullable());
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
    let parts: Vec<RecordBatch> = (0..100).map(|place| whole.slice(place * 10, 10)).collect();
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
