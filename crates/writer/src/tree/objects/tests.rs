#![expect(clippy::cast_possible_truncation, reason = "the numbers of these tests are small")]

use arrow_buffer::{Buffer, ScalarBuffer};
use arrowroot_arrow::stored::{BranchColumn, BranchForm, Objects, plan_branches};
use arrowroot_format::column::DataType;
use arrowroot_format::streamer::Primitive;

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
    let objects = Some(Objects { split: 0, class: "S" });
    let branches = plan_branches(&[BranchColumn { objects, ..BranchColumn::new("x", of) }]).unwrap();
    let BranchForm::Streamed { value, .. } = &branches[0].form else { panic!("{branches:?}") };
    let streaming = Streaming { is_member_wise };
    let mut out = Vec::new();
    streaming.append_whole(value, stored, entry..entry + 1, &mut out);
    assert_eq!(streaming.whole_bytes(value, stored, entry..entry + 1), out.len());
    out
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
