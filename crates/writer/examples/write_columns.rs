//! Writes a table into memory that was touched before, so that no disk, no page cache and no fresh page is in the figure.
//!
//! `write_columns DIRECTORY FORMAT OBJECTS SETTING N_THREADS REPETITIONS OUT` prints the least of its times as one JSON object. A
//! line of standard input is a column: its name, its type, and the counter of its lists or `-`. DIRECTORY has its values in
//! `NAME.values`, and where lists end in `COUNTER.ends`. OBJECTS is `-` for these columns, or says what becomes of them. Those of a
//! counter are lists of objects: `split`, or in one branch `object-wise` or `member-wise`, and in an RNTuple `records` with the
//! names of the columns as projected fields. Each list is a map of texts, or of numbers, to its items: `maps`, `number-maps`. Of four
//! columns of numbers, the first and the last are a `variants`. SETTING is ROOT's number, as 505. The file that was made last is
//! kept as OUT, after the clock has stopped.

use std::collections::HashMap;
use std::error::Error;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, Int32Array, ListArray, MapArray, PrimitiveArray, RecordBatch, StringArray, StructArray, UnionArray,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, UnionFields};
use arrowroot_format::codec::CompressionSetting;
use arrowroot_storage::{LocalFile, LocalSink, Sink, Source};
use arrowroot_writer::{
    ColumnCodec, ColumnLayout, FileSettings, FileWriter, Flush, Format, ProjectedField, ROOT_DIRECTORY, TableSettings,
    TableWriter,
};
use rustix::time::{ClockId, clock_gettime};

mod memory_sink;

use memory_sink::Memory;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Compressed bytes of a cluster, as `arrowroot.write` has them.
const TREE_FLUSH: Flush = Flush::Bytes(30_000_000);
const NTUPLE_FLUSH: Flush = Flush::Bytes(128 << 20);
/// As `arrowroot.write` has it.
const BUFFER_BYTES: usize = 256_000_000;
/// Memory beyond the payload that is touched: offsets of lists and metadata.
const SPARE_BYTES: usize = 64 << 20;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, layout, objects, setting, n_threads, repetitions, out] = arguments.as_slice() else {
        return Err("write_columns DIRECTORY FORMAT OBJECTS SETTING N_THREADS REPETITIONS OUT".into());
    };
    let layout = if layout == "rntuple" { Format::Ntuple } else { Format::Tree };
    let (setting, n_threads) = (CompressionSetting(setting.parse()?), n_threads.parse::<usize>()?.max(1));
    let (mut batch, mut counters) = columns_of(directory)?;
    let (mut layouts, mut projections) = (Vec::new(), Vec::new());
    if objects != "-" {
        batch = match objects.as_str() {
            "maps" | "number-maps" => with_maps(&batch, objects == "maps")?,
            "variants" => with_variants(&batch)?,
            _ => with_objects(&batch, &counters)?,
        };
        counters = vec![None; batch.num_columns()];
        let split = match objects.as_str() {
            "split" => Some(99),
            "object-wise" | "member-wise" => Some(0),
            _ => None,
        };
        let of_all = ColumnLayout { split, is_member_wise: objects == "member-wise", ..ColumnLayout::default() };
        layouts = vec![of_all; batch.num_columns()];
        if objects == "records" {
            projections = flat_names(&batch);
        }
    }
    let settings = TableSettings {
        layouts,
        compression: vec![ColumnCodec::Set(setting); counters.len()],
        counters: if layout == Format::Tree { counters } else { Vec::new() },
        flush: if layout == Format::Tree { TREE_FLUSH } else { NTUPLE_FLUSH },
        projections,
        ..TableSettings::default()
    };
    let sink = Arc::new(Memory::touched(batch.get_array_memory_size() + SPARE_BYTES));
    let (mut least_wall, mut least_cpu, mut n_bytes) = (u128::MAX, u128::MAX, 0);
    for _ in 0..repetitions.parse::<usize>()?.max(1) {
        let (wall, cpu) = (Instant::now(), cpu_ns());
        n_bytes = write(&batch, &sink, layout, setting, settings.clone(), n_threads)?;
        least_wall = least_wall.min(wall.elapsed().as_nanos());
        least_cpu = least_cpu.min(cpu_ns() - cpu);
    }
    let kept = LocalSink::create(out)?;
    kept.write_at(0, &sink.bytes().ok_or("there is memory")?[..usize::try_from(n_bytes)?])?;
    kept.publish(n_bytes)?;
    let n_entries = batch.num_rows();
    println!("{{\"wall_ns\": {least_wall}, \"cpu_ns\": {least_cpu}, \"n_entries\": {n_entries}}}");
    Ok(())
}

fn write(
    batch: &RecordBatch,
    sink: &Arc<Memory>,
    layout: Format,
    setting: CompressionSetting,
    settings: TableSettings,
    n_threads: usize,
) -> Result<u64> {
    let file_settings = FileSettings {
        name: sink.url().to_owned(),
        compression: setting,
        is_reproducible: false,
        n_threads,
        buffer_bytes: BUFFER_BYTES,
    };
    let file = FileWriter::create(Arc::clone(sink) as Arc<dyn Sink>, file_settings)?;
    let mut table = TableWriter::create(&file, ROOT_DIRECTORY, "T", "", &batch.schema(), layout, settings)?;
    table.append(batch)?;
    table.close()?;
    Ok(file.close()?)
}

/// The columns that standard input names, and the counters of their lists.
fn columns_of(directory: &str) -> Result<(RecordBatch, Vec<Option<String>>)> {
    let mut ends: HashMap<String, OffsetBuffer<i32>> = HashMap::new();
    let (mut fields, mut arrays, mut counters) = (Vec::new(), Vec::new(), Vec::new());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let [name, type_name, counter] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("{line:?} is no NAME TYPE COUNTER").into());
        };
        let values = bytes_of(&format!("{directory}/{name}.values"))?;
        let values: ArrayRef = match type_name {
            "float32" => numbers::<Float32Type>(values),
            "float64" => numbers::<Float64Type>(values),
            "int32" => numbers::<Int32Type>(values),
            other => return Err(format!("no column of {other}").into()),
        };
        let array: ArrayRef = if counter == "-" {
            values
        } else {
            if !ends.contains_key(counter) {
                let words = ScalarBuffer::<i64>::from(bytes_of(&format!("{directory}/{counter}.ends"))?);
                let offsets =
                    words.iter().map(|end| i32::try_from(*end)).collect::<std::result::Result<Vec<_>, _>>()?;
                ends.insert(counter.to_owned(), OffsetBuffer::new(offsets.into()));
            }
            let item = Arc::new(Field::new("item", values.data_type().clone(), false));
            Arc::new(ListArray::try_new(item, ends[counter].clone(), values, None)?)
        };
        fields.push(Field::new(name, array.data_type().clone(), false));
        arrays.push(array);
        counters.push((counter != "-").then(|| counter.to_owned()));
    }
    Ok((RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?, counters))
}

/// The columns of a counter as one of lists of objects, which is named after it.
fn with_objects(batch: &RecordBatch, counters: &[Option<String>]) -> Result<RecordBatch> {
    let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    let columns: Vec<_> = batch.schema().fields().iter().cloned().zip(batch.columns()).zip(counters).collect();
    for of_counter in columns.chunk_by(|(_, one), (_, other)| one == other) {
        let Some(((_, first), Some(counter))) = of_counter.first() else {
            return Err("a column without a counter".into());
        };
        let lists = first.as_list::<i32>();
        let name = counter.trim_start_matches('n');
        let members = of_counter.iter().map(|((field, array), _)| {
            let values = Arc::clone(array.as_list::<i32>().values());
            let member = field.name().trim_start_matches(name).trim_start_matches('_');
            (Arc::new(Field::new(member, values.data_type().clone(), false)), values)
        });
        let objects = StructArray::from(members.collect::<Vec<_>>());
        let item = Arc::new(Field::new("item", objects.data_type().clone(), false));
        let list = ListArray::try_new(item, lists.offsets().clone(), Arc::new(objects), None)?;
        fields.push(Field::new(name, list.data_type().clone(), false));
        arrays.push(Arc::new(list));
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}

/// The members and lengths of lists of objects, by the names that columns and counters had.
fn flat_names(batch: &RecordBatch) -> Vec<ProjectedField> {
    let named = |name: String, source: String| ProjectedField {
        name,
        source,
        title: String::new(),
        is_optional: false,
        type_name: String::new(),
        is_type_kept: false,
    };
    let of_column = |field: &Arc<Field>| {
        let name = field.name();
        let DataType::List(item) = field.data_type() else { return Vec::new() };
        let DataType::Struct(members) = item.data_type() else { return Vec::new() };
        let of_members = members
            .iter()
            .map(|member| named(format!("{name}_{}", member.name()), format!("{name}.{}", member.name())));
        of_members.chain([named(format!("n{name}"), format!("#{name}"))]).collect()
    };
    batch.schema().fields().iter().flat_map(of_column).collect()
}

/// Lists as maps of their places, as texts or numbers, to their items.
fn with_maps(batch: &RecordBatch, is_of_texts: bool) -> Result<RecordBatch> {
    let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let lists = array.as_list::<i32>();
        let places = lists.offsets().lengths().flat_map(|length| 0..length);
        let keys: ArrayRef = if is_of_texts {
            Arc::new(StringArray::from_iter_values(places.map(|place| format!("key {place}"))))
        } else {
            Arc::new(
                places.map(|place| i32::try_from(place).ok()).collect::<Option<Int32Array>>().ok_or("a long list")?,
            )
        };
        let values = Arc::clone(lists.values());
        let of_pair = |name: &str, of: &ArrayRef| Arc::new(Field::new(name, of.data_type().clone(), false));
        let pairs = StructArray::from(vec![(of_pair("key", &keys), keys), (of_pair("value", &values), values)]);
        let entries = Arc::new(Field::new("entries", pairs.data_type().clone(), false));
        let map = MapArray::try_new(entries, lists.offsets().clone(), pairs, None, false)?;
        fields.push(Field::new(field.name(), map.data_type().clone(), false));
        arrays.push(Arc::new(map));
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}

/// Of four columns the first in even entries, and the last in odd ones.
fn with_variants(batch: &RecordBatch) -> Result<RecordBatch> {
    let n_entries = i32::try_from(batch.num_rows())?;
    let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    let schema = batch.schema();
    for (four, fields_of_four) in batch.columns().chunks_exact(4).zip(schema.fields().chunks_exact(4)) {
        let alternative = |name: &str, of: &ArrayRef| Field::new(name, of.data_type().clone(), false);
        let of = UnionFields::try_new([0, 1], [alternative("0", &four[0]), alternative("1", &four[3])])?;
        let tags = (0..n_entries).map(|entry| i8::from(entry % 2 == 1)).collect();
        let places = (0..n_entries).collect();
        let union = UnionArray::try_new(of, tags, Some(places), vec![Arc::clone(&four[0]), Arc::clone(&four[3])])?;
        fields.push(Field::new(fields_of_four[0].name(), union.data_type().clone(), false));
        arrays.push(Arc::new(union));
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}

fn numbers<T: ArrowPrimitiveType>(values: Buffer) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values.into(), None))
}

fn bytes_of(path: &str) -> Result<Buffer> {
    let source = LocalFile::open(path)?;
    let mut bytes = vec![0; usize::try_from(source.size_bytes())?];
    source.read_at(0, &mut bytes)?;
    Ok(Buffer::from(bytes))
}

/// CPU time of the process, all threads.
fn cpu_ns() -> u128 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    u128::from(time.tv_sec.unsigned_abs()) * 1_000_000_000 + u128::from(time.tv_nsec.unsigned_abs())
}
