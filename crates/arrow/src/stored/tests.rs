//! Values of every Arrow type, stored and read back.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int32Array, LargeBinaryArray, LargeListArray, ListArray, RunArray,
    StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as ArrowType, Field, Fields, Schema};
use arrowroot_format::column::DataType;
use proptest::prelude::*;
use std::sync::Arc;

use super::record::{natural_ntuple_schema, natural_tree_schema};
use super::*;
use crate::TextForm;
use crate::types::arrow_type;

mod any_array;
mod as_read;

use any_array::Random;
use as_read::{as_branch, as_field, as_read, holds};

/// The arrays that come back: of the values themselves, from a tree with few and with many maps, and from an RNTuple.
fn round_trips(field: &Field, array: &ArrayRef) -> [ArrayRef; 4] {
    let data_type = data_type(field).unwrap();
    let stored = store(field.name(), array, &data_type).unwrap();
    assert_eq!(stored.len(), array.len());
    let read = as_read(&stored, &data_type);
    let [known, all] = [Maps::Known, Maps::All].map(|maps| from_branches(field, &stored, &data_type, maps));
    let whole = as_field(&stored, &data_type, false);
    let natural = natural_ntuple_schema(&Schema::new(vec![field.clone()])).unwrap();
    assert_eq!(whole.data_type(), natural.field(0).data_type());
    let of_field = of_field(field.name(), &data_type, &whole, natural.field(0).is_nullable()).unwrap();
    [read, known, all, of_field].map(|read| restore(field.name(), &read, field).unwrap())
}

fn from_branches(field: &Field, stored: &Stored, data_type: &DataType, maps: Maps) -> ArrayRef {
    let columns = [BranchColumn { maps, ..BranchColumn::new(field.name(), data_type) }];
    let branches = plan_branches(&columns).unwrap();
    let natural = natural_tree_schema(&branches);
    let mut parts = Vec::new();
    for (branch, of) in branches.iter().zip(natural.fields()).filter(|(branch, _)| branch.content != Content::Counter) {
        let part = as_branch(stored, branch);
        if branch.content != Content::Objects {
            assert_eq!(part.data_type(), of.data_type(), "{}", of.name());
        }
        parts.push(part);
    }
    let n_maps = branches.iter().filter(|branch| branch.content == Content::Objects).count();
    assert_eq!(parts.len() + n_maps, n_branches(data_type));
    compose(field.name(), data_type, &parts).unwrap()
}

/// Values without dictionaries, runs and views: two arrays of equal values are equal there.
fn plain(field: &Field, array: &ArrayRef) -> ArrayRef {
    let data_type = data_type(field).unwrap();
    as_read(&store(field.name(), array, &data_type).unwrap(), &data_type)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_comes_back(seed: u64, n_values in 0_usize..12, before in 0_usize..4, after in 0_usize..4) {
        let mut random = Random::new(seed);
        let field = random.field("x", 3);
        let array = random.array(&field, before + n_values + after).slice(before, n_values);
        for found in round_trips(&field, &array) {
            prop_assert_eq!(found.data_type(), field.data_type());
            prop_assert_eq!(found.len(), n_values);
            found.to_data().validate_full().unwrap();
            prop_assert_eq!(&plain(&field, &found), &plain(&field, &array));
            let encodes = |of: &ArrowType| matches!(of, ArrowType::Dictionary(..) | ArrowType::RunEndEncoded(..));
            if !holds(field.data_type(), &encodes) {
                prop_assert_eq!(&found, &array);
            }
        }
    }

    #[test]
    fn a_slice_is_stored_as_its_entries_alone(seed: u64, cut in 0_usize..9) {
        let mut random = Random::new(seed);
        let field = random.field("x", 2);
        let array = random.array(&field, 8);
        let data_type = data_type(&field).unwrap();
        let whole = store("x", &array, &data_type).unwrap();
        for range in [0..cut.min(8), cut.min(8)..8] {
            let slice = store("x", &array.slice(range.start, range.len()), &data_type).unwrap();
            prop_assert_eq!(slice.stored_bytes(0..range.len()), whole.stored_bytes(range.clone()));
            prop_assert_eq!(&as_read(&slice, &data_type), &as_read(&whole.slice(range), &data_type));
        }
    }
}

#[test]
fn numbers_bools_bytes_and_large_offsets_share_the_memory_and_texts_are_copied() {
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100));
    let of = DataType::Primitive(arrowroot_format::streamer::Primitive::Int32);
    let Stored::Numbers { values, .. } = store("x", &numbers.slice(10, 50), &of).unwrap() else { panic!("no numbers") };
    assert_eq!(values.as_ptr(), numbers.as_primitive::<Int32Type>().values()[10..].as_ptr().cast());
    let large = LargeBinaryArray::from(vec![&b"a"[..], b"bc", b""]);
    let Stored::List { offsets, items } = store("x", &large, &DataType::Bytes).unwrap() else { panic!("no bytes") };
    let Stored::Numbers { values, .. } = *items else { panic!("no bytes") };
    assert_eq!((offsets.as_ptr(), values.as_ptr()), (large.offsets().as_ptr(), large.values().as_ptr()));
    let small = StringArray::from(vec!["a", "bc", ""]).slice(1, 2);
    let Stored::Text { offsets, bytes } = store("x", &small, &DataType::Text).unwrap() else { panic!("no text") };
    assert_eq!((&offsets[..], bytes.as_slice()), (&[0, 2, 2][..], &b"bc"[..]));
    assert_ne!(bytes.as_ptr(), small.values()[1..].as_ptr());
    let item = Arc::new(Field::new("item", ArrowType::Int32, false));
    let lists =
        LargeListArray::try_new(item, OffsetBuffer::from_lengths([40, 0, 60]), Arc::clone(&numbers), None).unwrap();
    let stored = store("x", &lists, &DataType::List(Box::new(of))).unwrap();
    let Stored::List { offsets, items } = stored else { panic!("no list") };
    let Stored::Numbers { values, .. } = *items else { panic!("no numbers") };
    assert_eq!(offsets.as_ptr(), lists.offsets().as_ptr());
    assert_eq!(values.as_ptr(), numbers.as_primitive::<Int32Type>().values().as_ptr().cast());
}

#[test]
fn nulls_hide_what_is_under_them() {
    let items = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])) as ArrayRef;
    let item = Arc::new(Field::new("item", ArrowType::Int32, true));
    let nulls = Some(NullBuffer::from(vec![true, false, true]));
    let lists = ListArray::try_new(item, OffsetBuffer::from_lengths([1, 1, 1]), items, nulls).unwrap();
    let number = || Box::new(DataType::Primitive(arrowroot_format::streamer::Primitive::Int32));
    let of = DataType::Optional(Box::new(DataType::List(number())));
    let Stored::Optional { values, .. } = store("x", &lists, &of).unwrap() else { panic!("not optional") };
    let Stored::List { offsets, items } = *values else { panic!("no list") };
    let Stored::Numbers { values, .. } = *items else { panic!("no numbers") };
    assert_eq!((&offsets[..], values.typed_data::<i32>()), (&[0, 1, 1, 2][..], &[1, 3][..]));

    let members = vec![Arc::new(Int32Array::from(vec![7, 8])) as ArrayRef, Arc::new(StringArray::from(vec!["a", "b"]))];
    let fields = Fields::from(vec![Field::new("n", ArrowType::Int32, false), Field::new("t", ArrowType::Utf8, false)]);
    let structs = StructArray::try_new(fields, members, Some(NullBuffer::from(vec![false, true]))).unwrap();
    let of = DataType::Struct(Arc::new([("n".into(), *number()), ("t".into(), DataType::Text)]));
    let of = DataType::Optional(Box::new(of));
    let Stored::Optional { values, .. } = store("x", &structs, &of).unwrap() else { panic!("not optional") };
    let Stored::Struct { members, .. } = *values else { panic!("no struct") };
    let Stored::Numbers { values, .. } = &members[0] else { panic!("no numbers") };
    assert_eq!(values.typed_data::<i32>(), [0, 8]);
    assert_eq!(members[1].stored_bytes(0..2), 9);
}

#[test]
fn a_null_that_is_not_stored_is_told_with_column_and_entry() {
    let number = DataType::Primitive(arrowroot_format::streamer::Primitive::Int32);
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(4)]));
    let error = store("x", &numbers.slice(1, 3), &number).unwrap_err();
    assert_eq!(error.clone().with_entry(|entry| entry + 100), StoreError::Null { column: "x".into(), entry: 101 });
    assert!(error.to_string().starts_with("column \"x\": entry 1 is null"), "{error}");
    let item = Arc::new(Field::new("item", ArrowType::Int32, true));
    let lists = ListArray::try_new(item, OffsetBuffer::from_lengths([0, 1, 0, 2]), numbers.slice(0, 3), None).unwrap();
    let fields = Fields::from(vec![Field::new("m", lists.data_type().clone(), false)]);
    let structs = StructArray::try_new(fields, vec![Arc::new(lists)], None).unwrap();
    let of = DataType::Struct(Arc::new([("m".into(), DataType::List(Box::new(number.clone())))]));
    assert_eq!(store("x", &structs, &of).unwrap_err(), StoreError::Null { column: "x.m".into(), entry: 3 });

    // Nulls of dictionaries may be keys or values.
    let keys = Int8Array::from(vec![Some(0), Some(1), Some(0)]);
    let values = Arc::new(Int32Array::from(vec![Some(5), None]));
    let dictionary = DictionaryArray::<Int8Type>::try_new(keys, values).unwrap();
    assert_eq!(store("x", &dictionary, &number).unwrap_err(), StoreError::Null { column: "x".into(), entry: 1 });
    let ends = Int32Array::from(vec![2, 5, 6]);
    let runs = RunArray::<Int32Type>::try_new(&ends, &Int32Array::from(vec![Some(1), None, Some(3)])).unwrap();
    assert_eq!(store("x", &runs.slice(1, 4), &number).unwrap_err(), StoreError::Null { column: "x".into(), entry: 1 });
    let of = DataType::Optional(Box::new(number));
    let stored = store("x", &runs.slice(1, 4), &of).unwrap();
    let expected: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, None, None]));
    assert_eq!(&as_read(&stored, &of), &expected);
}

#[test]
fn an_array_of_another_type_is_told() {
    let texts = StringArray::from(vec!["a"]);
    let of = DataType::List(Box::new(DataType::Text));
    let error = store("x", &texts, &of).unwrap_err();
    assert_eq!(error.to_string(), "column \"x\": values of type Utf8, where List(Text) is stored");
}

#[test]
fn what_no_layout_holds_is_told_with_its_path() {
    let fields = [(0, Arc::new(Field::new("a", ArrowType::Null, true)))].into_iter().collect();
    let of = ArrowType::Union(fields, arrow_schema::UnionMode::Sparse);
    let inner = ArrowType::Struct(Fields::from(vec![Field::new("y", of, true)]));
    let error = data_type(&Field::new("x", ArrowType::List(Arc::new(Field::new("item", inner, true))), false));
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("column \"x.y\": no layout holds unions of 0 members with values"), "{text}");
    let twice = Fields::from(vec![Field::new("y", ArrowType::Int8, true), Field::new("y", ArrowType::Utf8, true)]);
    let error = data_type(&Field::new("x", ArrowType::Struct(twice), false)).unwrap_err();
    assert_eq!(error, StoreError::SameName { name: "x.y".to_owned() });
}

#[test]
fn what_takes_no_bytes_is_stored_as_one_bool() {
    let empty_list = ArrowType::FixedSizeList(Arc::new(Field::new("item", ArrowType::Utf8, true)), 0);
    for of in [ArrowType::Null, ArrowType::Struct(Fields::empty()), empty_list, ArrowType::FixedSizeBinary(0)] {
        for is_nullable in [true, false] {
            let of = data_type(&Field::new("x", of.clone(), is_nullable)).unwrap();
            assert_eq!(of, DataType::Optional(Box::new(DataType::Nothing)));
        }
    }
}

#[test]
fn branches_that_contradict_each_other_are_told() {
    let lists = |lengths: [usize; 2]| -> ArrayRef {
        let items = Arc::new(Int32Array::from_iter_values(0..i32::try_from(lengths.iter().sum::<usize>()).unwrap()));
        let item = Arc::new(Field::new("item", ArrowType::Int32, false));
        Arc::new(ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), items, None).unwrap())
    };
    let number = || DataType::Primitive(arrowroot_format::streamer::Primitive::Int32);
    let of = DataType::List(Box::new(DataType::Struct(Arc::new([("a".into(), number()), ("b".into(), number())]))));
    let read = compose("x", &of, &[lists([1, 2]), lists([1, 2])]).unwrap();
    assert_eq!(read.data_type(), &arrow_type(&of, TextForm::Utf8));
    let error = compose("x", &of, &[lists([1, 2]), lists([2, 1])]).unwrap_err().to_string();
    assert!(error.contains("have other lengths"), "{error}");
    assert!(compose("x", &of, &[lists([1, 2])]).is_err());
    let pairs = DataType::FixedList(Box::new(number()), 2);
    assert!(compose("x", &pairs, &[lists([2, 2])]).is_ok());
    assert!(compose("x", &pairs, &[lists([1, 3])]).is_err());
}

#[test]
fn lists_with_the_same_offsets_in_memory_share_them_when_stored() {
    let item = Arc::new(Field::new("item", ArrowType::Int32, false));
    let lists = |offsets: &OffsetBuffer<i32>, first: i32| -> ArrayRef {
        let values = Arc::new(Int32Array::from_iter_values(first..first + 6));
        Arc::new(ListArray::new(Arc::clone(&item), offsets.clone(), values, None))
    };
    let (one, equal) = (OffsetBuffer::from_lengths([1, 2, 0, 3]), OffsetBuffer::from_lengths([1, 2, 0, 3]));
    let type_of_list = DataType::List(Box::new(DataType::Primitive(Primitive::Int32)));
    for start in [0, 1] {
        let mut shared = SharedOffsets::default();
        let arrays = [lists(&one, 0), lists(&one, 10), lists(&equal, 20)].map(|array| array.slice(start, 4 - start));
        let stored = arrays.map(|array| {
            let stored = store_beside(&mut shared, "x", &array, &type_of_list).unwrap();
            let Stored::List { offsets, items } = stored else { panic!("{stored:?}") };
            (offsets, items.len())
        });
        assert!(stored[0].0.ptr_eq(&stored[1].0));
        assert!(!stored[0].0.ptr_eq(&stored[2].0));
        let expected = if start == 0 { (vec![0, 1, 3, 3, 6], 6) } else { (vec![0, 2, 2, 5], 5) };
        assert!(stored.iter().all(|(offsets, n_items)| (offsets.to_vec(), *n_items) == expected));
    }
}
