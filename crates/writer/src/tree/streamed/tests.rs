#![expect(clippy::cast_possible_truncation, reason = "the numbers of these tests are small")]

use std::sync::Arc;

use arrow_buffer::{Buffer, ScalarBuffer};
use arrowroot_arrow::stored::{BranchColumn, BranchForm, Maps, Objects as PlannedObjects, plan_branches};
use arrowroot_format::column::DataType;
use arrowroot_format::streamer::Primitive;
use proptest::prelude::*;

use super::*;

const SHORT: DataType = DataType::Primitive(Primitive::Int16);

fn shorts(values: &[i16]) -> Stored {
    Stored::Numbers { primitive: Primitive::Int16, values: Buffer::from_slice_ref(values) }
}

fn list(lengths: &[usize], items: Stored) -> Stored {
    let mut offsets = vec![0_i64];
    for length in lengths {
        offsets.push(offsets.last().unwrap() + *length as i64);
    }
    Stored::List { offsets: ScalarBuffer::from(offsets), items: Box::new(items) }
}

fn members<const N: usize>(of: [(&str, DataType); N]) -> DataType {
    DataType::Struct(of.into_iter().map(|(name, of)| (name.into(), of)).collect())
}

/// The bytes of an entry of a column of whole objects.
fn written(of: &DataType, stored: &Stored, entry: usize, is_member_wise: bool) -> Vec<u8> {
    let value = planned(of);
    let streamed = Streamed::of_value(&value, stored, Streaming { is_member_wise, packed: None });
    let mut out = Vec::new();
    streamed.append(entry..entry + 1, &mut out, |at| assert_eq!(at, 0)).unwrap();
    assert_eq!(streamed.n_bytes(entry..entry + 1), out.len());
    out
}

/// The bytes that a column of whole objects is written as.
fn planned(of: &DataType) -> Arc<Value> {
    let objects = Some(PlannedObjects { split: 0, class: "S", is_named: false });
    let branches = plan_branches(&[BranchColumn { objects, ..BranchColumn::new("x", of) }]).unwrap();
    let BranchForm::Streamed { value, .. } = &branches[0].form else { panic!("{branches:?}") };
    Arc::clone(value)
}

/// A byte count and a version before bytes.
fn frame(version: u16, bytes: &[u8]) -> Vec<u8> {
    let n_bytes = (bytes.len() + 2) as u32 | 0x4000_0000;
    [&n_bytes.to_be_bytes()[..], &version.to_be_bytes(), bytes].concat()
}

#[test]
fn an_object_that_is_an_entry_has_no_frame_but_those_in_it_have() {
    let of = members([("a", SHORT), ("t", DataType::Text), ("v", DataType::List(Box::new(SHORT)))]);
    let text = Stored::Text { offsets: ScalarBuffer::from(vec![0, 1, 3]), bytes: Buffer::from_slice_ref(b"abc") };
    let stored = Stored::Struct { len: 2, members: vec![shorts(&[1, 2]), text, list(&[0, 1], shorts(&[7]))] };
    let expected = [vec![0, 2], frame(10, b"\x02bc"), frame(10, &[0, 0, 0, 1, 0, 7])].concat();
    assert_eq!(written(&of, &stored, 1, false), expected);
    let (outer, stored) = (members([("o", of)]), Stored::Struct { len: 2, members: vec![stored] });
    assert_eq!(written(&outer, &stored, 1, false), frame(2, &expected));
}

#[test]
fn a_collection_is_written_object_by_object_or_member_by_member() {
    let of = DataType::List(Box::new(members([("a", SHORT), ("b", SHORT)])));
    let objects = Stored::Struct { len: 3, members: vec![shorts(&[1, 2, 3]), shorts(&[4, 5, 6])] };
    let stored = list(&[1, 2, 0], objects);
    let by_object = [vec![0, 0, 0, 2], frame(2, &[0, 2, 0, 5]), frame(2, &[0, 3, 0, 6])].concat();
    assert_eq!(written(&of, &stored, 1, false), frame(10, &by_object));
    let by_member = [0, 2, 0, 0, 0, 2, 0, 2, 0, 3, 0, 5, 0, 6];
    assert_eq!(written(&of, &stored, 1, true), frame(0x400a, &by_member));
    assert_eq!(written(&of, &stored, 2, true), frame(0x400a, &[0, 2, 0, 0, 0, 0]), "no members of nothing");
    assert_eq!(written(&of, &stored, 2, false), frame(10, &[0; 4]));
}

#[test]
fn collections_of_collections_are_never_member_wise_but_those_in_objects_are() {
    let class = members([("a", SHORT), ("b", SHORT)]);
    let objects = || Stored::Struct { len: 2, members: vec![shorts(&[1, 2]), shorts(&[3, 4])] };
    let nested = DataType::List(Box::new(DataType::List(Box::new(class.clone()))));
    let stored = list(&[1], list(&[2], objects()));
    let expected = [vec![0, 0, 0, 1, 0, 0, 0, 2], frame(2, &[0, 1, 0, 3]), frame(2, &[0, 2, 0, 4])].concat();
    assert_eq!(written(&nested, &stored, 0, true), frame(10, &expected));
    let outer = DataType::List(Box::new(members([("n", SHORT), ("v", DataType::List(Box::new(class)))])));
    let outers = Stored::Struct { len: 2, members: vec![shorts(&[8, 9]), list(&[2, 0], objects())] };
    let stored = list(&[2], outers);
    // One frame for the vectors of both, and then each with its number of items.
    let vectors = frame(0x400a, &[0, 2, 0, 0, 0, 2, 0, 1, 0, 2, 0, 3, 0, 4, 0, 0, 0, 0]);
    let expected = [vec![0, 2, 0, 0, 0, 2, 0, 8, 0, 9], vectors].concat();
    assert_eq!(written(&outer, &stored, 0, true), frame(0x400a, &expected));
}

#[test]
fn maps_are_member_wise_but_in_vectors() {
    // {"k0": 0, "k1": 1}, {} and [{0: 0, 100: 2}] as ROOT 6.40 writes a map<string,int> and a vector<map<int,float> >.
    let map = |key, value| DataType::Map(Box::new(DataType::clone(key)), Box::new(value));
    let numbers =
        |values: &[i32]| Stored::Numbers { primitive: Primitive::Int32, values: Buffer::from_slice_ref(values) };
    let int = DataType::Primitive(Primitive::Int32);
    let lists = DataType::List(Box::new(int.clone()));
    let written = |of: &DataType, stored: &Stored, entry: usize| {
        let branches = plan_branches(&[BranchColumn { maps: Maps::All, ..BranchColumn::new("x", of) }]).unwrap();
        let BranchForm::Streamed { value, .. } = &branches[0].form else { panic!("{branches:?}") };
        let streamed = Streamed::of_value(value, stored, Streaming { is_member_wise: false, packed: None });
        let mut out = Vec::new();
        streamed.append(entry..entry + 1, &mut out, |_| {}).unwrap();
        assert_eq!(streamed.n_bytes(entry..entry + 1), out.len());
        out
    };
    let text = Stored::Text { offsets: ScalarBuffer::from(vec![0, 2, 4]), bytes: Buffer::from_slice_ref(b"k0k1") };
    let stored = list(&[2, 0], Stored::Struct { len: 2, members: vec![text, numbers(&[0, 1])] });
    let head = [0, 0, 0x3a, 0x5a, 0x65, 0x72];
    let keys = frame(10, b"\x02k0\x02k1");
    let pairs = [&head[..], &[0, 0, 0, 2], &keys, &[0, 0, 0, 0, 0, 0, 0, 1]].concat();
    assert_eq!(written(&map(&DataType::Text, int.clone()), &stored, 0), frame(0x400a, &pairs));
    let none = [&head[..], &[0, 0, 0, 0]].concat();
    assert_eq!(written(&map(&DataType::Text, int.clone()), &stored, 1), frame(0x400a, &none));
    let of = DataType::List(Box::new(map(&int, DataType::Primitive(Primitive::Float32))));
    let floats = Stored::Numbers { primitive: Primitive::Float32, values: Buffer::from_slice_ref([0.0_f32, 2.0]) };
    let stored = list(&[1], list(&[2], Stored::Struct { len: 2, members: vec![numbers(&[0, 100]), floats] }));
    let pairs = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 0x40, 0, 0, 0];
    assert_eq!(written(&of, &stored, 0), frame(10, &pairs));
    // {"k0": [1, 2], "k1": []} of a map<string,vector<int> >, and the same in a vector.
    let of = map(&DataType::Text, lists);
    let text = Stored::Text { offsets: ScalarBuffer::from(vec![0, 2, 4]), bytes: Buffer::from_slice_ref(b"k0k1") };
    let stored = list(&[2], Stored::Struct { len: 2, members: vec![text, list(&[2, 0], numbers(&[1, 2]))] });
    let numbers = [0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2];
    let found = written(&of, &stored, 0);
    let lists = frame(10, &[&numbers[..], &[0; 4]].concat());
    assert_eq!(found[..8], frame(0x400a, &found[6..])[..8]);
    assert_eq!(found[12..], [&[0, 0, 0, 2][..], &keys, &lists].concat());
    let pairs = [&[0, 0, 0, 1, 0, 0, 0, 2][..], b"\x02k0", &numbers, b"\x02k1", &[0; 4]].concat();
    assert_eq!(written(&DataType::List(Box::new(of)), &list(&[1], stored), 0), frame(10, &pairs));
}

#[test]
fn nested_vectors_have_one_head_and_a_count_each() {
    // [[1], [2, 3]] as ROOT 6.40 writes a vector<vector<short>>, and a vector<string>.
    let how = Streaming { is_member_wise: true, packed: None };
    let lists = list(&[2], list(&[1, 2], shorts(&[1, 2, 3])));
    let text = Stored::Text { offsets: ScalarBuffer::from(vec![0, 0, 1]), bytes: Buffer::from_slice_ref(b"a") };
    let texts = list(&[2], text);
    for (stored, path, content, expected) in [
        (
            &lists,
            &[Step::Items, Step::Items][..],
            Content::Values(Primitive::Int16),
            &[0x40, 0, 0, 20, 0, 10, 0, 0, 0, 2, 0, 0, 0, 1, 0, 1, 0, 0, 0, 2, 0, 2, 0, 3][..],
        ),
        (&texts, &[Step::Items][..], Content::Text, &[0x40, 0, 0, 9, 0, 10, 0, 0, 0, 2, 0, 1, b'a'][..]),
    ] {
        let node = Node::of_path(stored, path, content, how);
        let streamed = Streamed { node, offsets: None, is_whole: false };
        let mut out = Vec::new();
        streamed.append(0..1, &mut out, |_| {}).unwrap();
        assert_eq!(out, expected);
        assert_eq!(streamed.n_bytes(0..1), out.len());
    }
}

/// The same without what is known of sizes: everything is written value by value.
fn unsized_of(node: Node<'_>) -> Node<'_> {
    match node {
        Node::Lists(lists) => Node::Lists(Lists { item: Box::new(unsized_of(*lists.item)), ..lists }),
        Node::Objects(Objects { version, members, .. }) => {
            Node::Objects(Objects { version, members: members.into_iter().map(unsized_of).collect(), n_bytes: None })
        }
        other => other,
    }
}

proptest! {
    #[test]
    fn objects_of_fixed_size_are_those_that_are_written_value_by_value(
        lengths in prop::collection::vec(0_usize..5, 1..20), is_member_wise in any::<bool>(), n_each in 1_usize..4,
        start in 0_usize..20, is_list in any::<bool>(),
    ) {
        let n_items: usize = if is_list { lengths.iter().sum() } else { lengths.len() };
        let numbers = |n_values: usize| shorts(&(0..n_values as i16).collect::<Vec<_>>());
        let bits = Stored::Bits((0..n_items * n_each).map(|index| index % 3 == 0).collect());
        let fixed = |items| Stored::Fixed { len: n_items, n_items: n_each, items: Box::new(items) };
        let inner = Stored::Struct { len: n_items, members: vec![numbers(n_items), fixed(bits)] };
        let doubles: Vec<f64> = (0..n_items).map(|index| index as f64 / 7.0).collect();
        let doubles = Stored::Numbers { primitive: Primitive::Float64, values: Buffer::from_vec(doubles) };
        let members_of = vec![fixed(numbers(n_items * n_each)), inner, doubles];
        let objects = Stored::Struct { len: n_items, members: members_of };
        let array = |of| DataType::FixedList(Box::new(of), n_each as u32);
        let inner = members([("a", SHORT), ("b", array(DataType::Primitive(Primitive::Bool)))]);
        let class = members([("v", array(SHORT)), ("s", inner), ("d", DataType::Primitive(Primitive::Float64))]);
        let (of, stored) = if is_list { (DataType::List(Box::new(class)), list(&lengths, objects)) } else { (class, objects) };
        let value = planned(&of);
        let how = Streaming { is_member_wise, packed: None };
        let entries = start.min(lengths.len())..lengths.len();
        let written = |streamed: Streamed<'_>| {
            let (mut out, mut starts) = (vec![7], Vec::new());
            streamed.append(entries.clone(), &mut out, |at| starts.push(at)).unwrap();
            assert_eq!(streamed.n_bytes(entries.clone()), out.len() - 1);
            (out, starts)
        };
        let streamed = Streamed::of_value(&value, &stored, how);
        let slowly = Streamed::of_value(&value, &stored, how);
        let slowly = Streamed { node: unsized_of(slowly.node), ..slowly };
        prop_assert_eq!(written(streamed), written(slowly));
    }
}
