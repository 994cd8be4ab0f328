//! What is noted of objects that are not as their class is described, and what a graph makes of it.

use std::sync::Arc;

use crate::column::{Class, CountedHead, EntryForm, Framing, Node, Number, Step, Variant};
use crate::decode::graph::{Content, OUTERMOST, ObjectGraph, read_graph};
use crate::decode::{Misfit, Values, trace};
use crate::error::{Error, Result};
use crate::streamer::{Element, Primitive, StreamerInfo, StreamerInfos};

const INT: i32 = 3;
const ANY: i32 = 62;
const ANY_POINTER: i32 = 69;

fn misfit(class: &str, has_byte_count: bool, is_inside: bool) -> Misfit {
    Misfit { class: class.to_owned(), has_byte_count, is_inside }
}

/// A byte count and what it counts.
fn counted(inside: &[u8]) -> Vec<u8> {
    let n_bytes = 0x4000_0000 | u32::try_from(inside.len()).unwrap();
    [&n_bytes.to_be_bytes(), inside].concat()
}

/// A list of objects of a class with two bytes.
fn lists() -> EntryForm {
    let byte = || Node::Number(Number::plain(Primitive::UInt8));
    let members = ["a", "b"].map(|name| (name.into(), byte().data_type())).to_vec();
    let steps = vec![Step::Member(0, byte()), Step::Member(1, byte())];
    let class = Class::new("A", true, members, vec![Variant::new(1, 1, steps, Vec::new())]);
    let node = Node::List(Box::new(Node::Object(Arc::new(class))));
    EntryForm::Streamed { framed: Framing::Bare, node }
}

#[test]
fn what_begins_without_a_byte_count_and_is_not_as_described_is_noted_so() {
    let noted = |items: &[u8]| trace(&lists(), &[&[0, 0, 0, 2], items].concat(), None, 0).misfit().cloned();
    let good = counted(&[0, 1, 7, 8]);
    assert_eq!(noted(&[good.clone(), good.clone()].concat()), None);
    // Too few bytes for two objects, too many, and a byte count that something else than the members fills.
    assert_eq!(noted(&[5, 1, 2]), Some(misfit("A", false, false)));
    assert_eq!(noted(&counted(&[9])), Some(misfit("A", true, false)));
    assert_eq!(noted(&[0, 1, 7, 8, 0, 1, 7]), Some(misfit("A", false, false)));
    // No version that the file describes, either.
    assert_eq!(noted(&[5; 8]), Some(misfit("A", false, false)));
    let long = trace(&lists(), &[&[0, 0, 0, 2], good.as_slice(), &counted(&[0, 1, 7, 8, 9])].concat(), None, 0);
    assert_eq!(long.misfit(), Some(&misfit("A", true, false)));
    assert!(long.has_read("A") && !long.has_read("B"));
}

#[test]
fn objects_that_another_branch_counts_are_noted_as_well() {
    let EntryForm::Streamed { node: Node::List(item), .. } = lists() else { panic!("no lists") };
    let node = Node::ArrayOfEach { item, factor: 1, head: CountedHead::Flag };
    let form = EntryForm::Streamed { framed: Framing::Bare, node };
    let good = [&[1], counted(&[0, 1, 7, 8]).as_slice()].concat();
    let of = |entry: &[u8], counts: &[i64]| trace(&form, entry, Some(counts), 0);
    assert!(of(&[good.clone(), good].concat(), &[1, 1]).has_read("A"));
    assert_eq!(of(&[1, 5, 5, 5, 5, 5, 5, 5, 5], &[1]).misfit(), Some(&misfit("A", false, false)));
}

/// `Outer` has two objects of class `Inner` by value, and a pointer to one, between numbers.
fn read(objects: &[Vec<u8>; 2], behind: &[u8]) -> Result<ObjectGraph> {
    let info = |name: &str, elements| StreamerInfo {
        name: name.to_owned(),
        checksum: 1,
        version: 2,
        info_version: 9,
        elements,
        ..StreamerInfo::default()
    };
    let int = |name: &str| Element::member(name, "int", INT);
    let inner = |name: &str| Element::member(name, "Inner", ANY);
    let pointer = Element::member("p", "Inner*", ANY_POINTER);
    let outer = vec![int("i"), inner("x"), inner("y"), int("j"), pointer, int("k")];
    let infos = StreamerInfos::of(vec![info("Inner", vec![int("a"), int("b")]), info("Outer", outer)]);
    let pointer = counted(&[[0xff; 4].as_slice(), b"Inner\0", behind].concat());
    let [x, y] = objects;
    let data = counted(&[&[0, 2, 0, 0, 0, 1], x.as_slice(), y, &[0, 0, 0, 2], &pointer, &[0, 0, 0, 3]].concat());
    read_graph("Outer", &data, 50, &infos)
}

#[test]
fn a_described_class_that_is_written_otherwise_does_not_take_the_object_around_it_along() {
    let own = counted(&[0, 2, 9, 9, 9]);
    let graph = read(&[own.clone(), own.clone()], &own).unwrap();
    let Ok(Content::Value(_, Values::Struct(1, members))) = &graph.objects[&OUTERMOST].content else {
        panic!("no object")
    };
    for (index, number) in [(0, 1), (3, 2), (5, 3)] {
        assert_eq!(members[index].1.integers().unwrap(), [number]);
    }
    for index in [1, 2, 4] {
        let Values::Links(links) = &members[index].1 else { panic!("{:?}", members[index]) };
        let object = &graph.objects[&links[0]];
        assert_eq!(object.class, "Inner");
        let error = object.content.as_ref().unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)) && error.to_string().contains("code of its own"), "{error}");
    }
}

#[test]
fn what_is_not_as_the_others_of_its_class_is_damaged() {
    let (good, bad) = (counted(&[0, 2, 0, 0, 0, 1, 0, 0, 0, 2]), counted(&[0, 2, 9, 9, 9]));
    assert!(read(&[good.clone(), good.clone()], &good).is_ok());
    assert!(matches!(read(&[good.clone(), bad.clone()], &good), Err(Error::Corrupt(_) | Error::Truncated(_))));
    // Without a byte count nothing tells where it ends.
    assert!(read(&[vec![0, 2, 9, 9, 9], bad.clone()], &bad).is_err());
}
