//! Trees of objects that were written: their values come back at each split level, and their classes are described.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use arrowroot::storage::{MemoryFile, MemorySink, MemorySource};
use arrowroot::{File, Table, open_table};
use arrowroot_format::codec::CompressionSetting;
use arrowroot_writer::settings::{Baskets, ColumnLayout, Lists};
use arrowroot_writer::{Error, FileSettings, FileWriter, Flush, Format, TableSettings, TableWriter};
use proptest::prelude::*;

use crate::any_array::{any_type, batch_of, item};
use crate::reading::batches;

/// A file with trees of these batches, by their names.
fn written(trees: &[(&str, &[RecordBatch], TableSettings)]) -> Result<Vec<u8>, Error> {
    let place = MemoryFile::default();
    let file_settings = FileSettings {
        name: "out.root".to_owned(),
        compression: CompressionSetting(101),
        is_reproducible: true,
        n_threads: 1,
        buffer_bytes: 1 << 22,
    };
    let file = FileWriter::create(Arc::new(MemorySink::create("out.root", &place)), file_settings)?;
    let directory = file.directory("")?;
    for (name, batches, settings) in trees {
        let schema = batches[0].schema();
        let mut table = TableWriter::create(&file, directory, name, "", &schema, Format::Tree, settings.clone())?;
        batches.iter().try_for_each(|batch| table.append(batch))?;
        table.close()?;
    }
    file.close()?;
    Ok(place.bytes().unwrap().to_vec())
}

fn opened(bytes: &[u8]) -> File {
    File::from_source(Arc::new(MemorySource::new("out.root", bytes.to_vec()))).unwrap()
}

fn read(file: &File, tree: &str) -> RecordBatch {
    let table: Arc<dyn Table> = open_table(file, tree).unwrap().table;
    let names: Vec<String> = table.column_names().into_iter().map(str::to_owned).collect();
    let columns = names.into_iter().map(|name| (table.find(&name).unwrap(), name)).collect();
    let mut found = batches(table.as_ref(), columns);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn settings(layouts: Vec<ColumnLayout>, flush: Flush, basket_bytes: Option<u32>) -> TableSettings {
    let baskets = basket_bytes.map_or(Baskets::Fitted, Baskets::Fixed);
    TableSettings { layouts, flush, baskets, ..TableSettings::default() }
}

fn any_layout() -> impl Strategy<Value = ColumnLayout> {
    let split = prop_oneof![Just(None), Just(Some(0)), Just(Some(1)), Just(Some(2)), Just(Some(3)), Just(Some(99)),];
    (split, any::<bool>(), any::<bool>()).prop_map(|(split, is_member_wise, has_vectors)| ColumnLayout {
        split,
        is_member_wise,
        lists: if has_vectors { Lists::Vectors } else { Lists::Counted },
        ..ColumnLayout::default()
    })
}

fn struct_of(members: &[(&str, DataType, bool)]) -> DataType {
    let field = |(name, of, is_nullable): &(&str, DataType, bool)| Field::new(*name, of.clone(), *is_nullable);
    DataType::Struct(members.iter().map(field).collect::<Vec<_>>().into())
}

proptest! {
    #[test]
    fn all_values_come_back(
        columns in prop::collection::vec((any_type(), any_layout()), 1..4),
        seed in any::<u64>(),
        (n_entries, n_batches) in (0_usize..120, 1_usize..4),
        flush in prop_oneof![(1_u64..60).prop_map(Flush::Entries), Just(Flush::Never), Just(Flush::Bytes(1000))],
        basket_bytes in prop_oneof![Just(None), (200_u32..3000).prop_map(Some)],
    ) {
        let (types, layouts): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        // Objects half of the time, and collections of them.
        let types: Vec<(DataType, bool)> = types
            .into_iter()
            .enumerate()
            .map(|(index, (of, is_nullable))| match (index % 3, seed >> index & 1) {
                (0, 0) => (struct_of(&[("m", of, is_nullable), ("n", DataType::Int16, false)]), false),
                (1, 0) => {
                    (DataType::List(item(&struct_of(&[("m", of, is_nullable), ("n", DataType::Int16, false)]), false)), false)
                }
                _ => (of, is_nullable),
            })
            .collect();
        let whole = batch_of(&types, n_entries, seed);
        let each = n_entries.div_ceil(n_batches).max(1);
        let mut batches: Vec<RecordBatch> =
            (0..n_entries).step_by(each).map(|start| whole.slice(start, each.min(n_entries - start))).collect();
        if batches.is_empty() {
            batches.push(whole.clone());
        }
        let bytes = written(&[("T", &batches, settings(layouts.clone(), flush, basket_bytes))]).unwrap();
        let found = read(&opened(&bytes), "T");
        let (found_schema, schema) = (found.schema(), whole.schema());
        prop_assert_eq!(found_schema.fields(), schema.fields());
        for (index, (found, expected)) in found.columns().iter().zip(whole.columns()).enumerate() {
            prop_assert_eq!(found, expected, "column {}, {:?}", index, &layouts[index]);
        }
    }
}

fn layout(split: u8, class: Option<&str>) -> ColumnLayout {
    ColumnLayout { split: Some(split), class: class.map(str::to_owned), ..ColumnLayout::default() }
}

#[test]
fn classes_are_described_and_named_as_somebody_wants_them() {
    let inner = struct_of(&[("a", DataType::Float32, false)]);
    let of = struct_of(&[("s", inner, false), ("t", DataType::Utf8, true)]);
    let batch = batch_of(&[(of.clone(), false), (of, false)], 3, 1);
    let batches = [batch];
    let layouts = |class: Option<&str>| vec![layout(0, class), layout(99, class)];
    let of_file = |class: Option<&str>| {
        let bytes = written(&[("a.b", &batches, settings(layouts(class), Flush::Entries(2), None))]).unwrap();
        let infos: Vec<String> =
            opened(&bytes).streamer_infos().unwrap().iter().map(|info| info.name.clone()).collect();
        infos.into_iter().filter(|name| !name.starts_with('T') && !name.starts_with("ROOT::")).collect::<Vec<_>>()
    };
    let made = of_file(None);
    let names: Vec<(&str, &str)> = made.iter().filter_map(|name| name.rsplit_once('_')).collect();
    let (s, whole) = (names[1].1, names[0].1);
    let expected = [("a_x2e_b_c0", whole), ("a_x2e_b_c0_s", s), ("a_x2e_b_c1", names[2].1), ("a_x2e_b_c1_s", s)];
    assert_eq!(names, expected, "the same members have the same hash");
    assert_eq!(of_file(Some("ns::Muon")), ["ns::Muon", "ns::Muon_s"], "one for two columns");
}

#[test]
fn names_that_are_no_classes_or_have_another_meaning_are_refused_by_column() {
    let of = |name: &str| batch_of(&[(struct_of(&[(name, DataType::Float32, false)]), false)], 3, 1);
    for (class, what) in
        [("TTree", "ROOT has a type"), ("Int_t", "ROOT has a type"), ("class", "name"), ("a b", "name"), ("", "name")]
    {
        let settings = settings(vec![layout(1, Some(class))], Flush::Never, None);
        let error = written(&[("T", &[of("m")], settings)]).unwrap_err().to_string();
        assert!(error.contains("column c0") && error.contains(what), "{error}");
    }
    let same = || settings(vec![layout(1, Some("S"))], Flush::Never, None);
    let error = written(&[("T", &[of("m")], same()), ("U", &[of("n")], same())]).unwrap_err().to_string();
    assert!(error.contains("\"S\"") && error.contains("another name"), "{error}");
    assert!(written(&[("T", &[of("m")], same()), ("U", &[of("m")], same())]).is_ok());
    let too_high = settings(vec![layout(100, None)], Flush::Never, None);
    assert!(written(&[("T", &[of("m")], too_high)]).unwrap_err().to_string().contains("99"));
}

#[test]
fn a_tree_that_names_no_layout_is_what_it_was() {
    let of = struct_of(&[("a", DataType::Float32, false), ("v", DataType::List(item(&DataType::Int16, false)), true)]);
    let batch = batch_of(&[(of, true), (DataType::Utf8, false)], 50, 3);
    let schema: &Schema = &batch.schema();
    let usual = vec![ColumnLayout::default(); schema.fields().len()];
    let batches = [batch];
    let of = |layouts| written(&[("T", &batches, settings(layouts, Flush::Entries(20), None))]).unwrap();
    assert!(of(Vec::new()) == of(usual));
}
