//! Objects of classes that only the data tell, from bytes made by hand.

use std::sync::Arc;

use crate::column::{
    AnyNode, Class, ClonesNode, DataType, EntryForm, Framing, Node, Number, Pointer, SeenClasses, Step, Variant,
};
use crate::decode::entries::decode_streamed;
use crate::decode::{Reader, Values, meet};
use crate::error::{Error, Result};
use crate::streamer::Primitive;

const ORIGIN: usize = 60;

fn class(name: &str) -> Node {
    let byte = Node::Number(Number::plain(Primitive::UInt8));
    let members = vec![("a".into(), byte.data_type())];
    let variant = Variant::new(1, 0, vec![Step::Member(0, byte)], Vec::new());
    Node::Object(Arc::new(Class::new(name, true, members, vec![variant])))
}

/// A list of pointers to objects of these classes.
fn list_of(classes: &[&str]) -> Node {
    let alternatives = classes.iter().map(|name| Pointer { class: (*name).to_owned(), node: class(name) }).collect();
    Node::List(Box::new(Node::Any(Box::new(AnyNode { place: "here".into(), alternatives }))))
}

fn clones_of(class_name: &str) -> Node {
    Node::ClonesOf(Box::new(ClonesNode { place: "here".into(), class: class_name.to_owned(), item: class(class_name) }))
}

fn decode(node: &Node, entry: &[u8]) -> Result<Values> {
    let mut values = Values::empty(&node.data_type());
    decode_streamed(&mut Reader::default(), Framing::Bare, node, entry, ORIGIN, &mut values)?;
    Ok(values)
}

fn counted(inside: &[u8]) -> Vec<u8> {
    let n_bytes = 0x4000_0000 | u32::try_from(inside.len()).unwrap();
    [&n_bytes.to_be_bytes(), inside].concat()
}

fn pointer(class: &str, object: &[u8]) -> Vec<u8> {
    counted(&[&[0xff; 4], class.as_bytes(), &[0], object].concat())
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    [u32::try_from(items.len()).unwrap().to_be_bytes().to_vec(), items.concat()].concat()
}

fn clones(class_and_version: &str, n_objects: u32, objects: &[u8]) -> Vec<u8> {
    let name = [&[u8::try_from(class_and_version.len()).unwrap()], class_and_version.as_bytes()].concat();
    let head = [&[0, 4], [0, 1, 0, 0, 0, 0, 0, 0, 0, 0].as_slice(), &[0], &name, &n_objects.to_be_bytes(), &[0; 4]];
    counted(&[head.concat().as_slice(), objects].concat())
}

fn reference(position: usize) -> Vec<u8> {
    u32::try_from(position + ORIGIN + 2).unwrap().to_be_bytes().to_vec()
}

#[test]
fn each_class_has_a_member_and_others_their_bytes() {
    let (one, two) = (counted(&[0, 1, 7]), counted(&[0, 1, 8]));
    let items = [pointer("A", &one), vec![0; 4], pointer("Z", &two), pointer("B", &two), reference(4)];
    let Values::List(ends, items) = decode(&list_of(&["A", "B"]), &list(&items)).unwrap() else { panic!("no list") };
    assert_eq!(ends, [5]);
    let Values::Optional(is_there, objects) = *items else { panic!("no pointers") };
    assert_eq!(is_there, [1, 0, 1, 1, 1]);
    let Values::Struct(4, members) = *objects else { panic!("not four objects") };
    let byte = |values: &[u8]| vec![("a".into(), Values::Primitive(Primitive::UInt8, values.to_vec()))];
    assert_eq!(members[0], ("@class".into(), Values::Text(vec![1, 2, 3, 4], b"AZBA".to_vec())));
    let first = Values::Optional(vec![1, 0, 0, 1], Box::new(Values::Struct(2, byte(&[7, 7]))));
    let second = Values::Optional(vec![0, 0, 1, 0], Box::new(Values::Struct(1, byte(&[8]))));
    assert_eq!(members[1], ("A".into(), first));
    assert_eq!(members[2], ("B".into(), second));
    let bytes = Values::Bytes(vec![i32::try_from(two.len()).unwrap()], two);
    assert_eq!(members[3], ("@bytes".into(), Values::Optional(vec![0, 1, 0, 0], Box::new(bytes))));
}

#[test]
fn what_is_met_is_noted_even_before_what_is_broken() {
    let node = list_of(&[]);
    let items = [pointer("A", &counted(&[0, 1, 7])), pointer("B", &[1]), vec![0x40, 0, 0xff, 0xff]];
    let form = EntryForm::Streamed { framed: Framing::Bare, node: node.clone() };
    let mut seen = SeenClasses::new();
    meet(&form, &list(&items), ORIGIN, &mut seen);
    assert_eq!(seen.len(), 2);
    assert!(decode(&node, &list(&items)).is_err());
    let form = EntryForm::Streamed { framed: Framing::Bare, node: clones_of("") };
    meet(&form, &clones("C;1", 0, &[]), ORIGIN, &mut seen);
    assert_eq!(seen.len(), 3);
}

#[test]
fn references_are_to_objects_before_them_and_end() {
    let node = list_of(&["A"]);
    let good = pointer("A", &counted(&[0, 1, 7]));
    for strange in [reference(4 + good.len()), reference(5), vec![0, 0, 0, 1], vec![0, 0, 0, 2], reference(9999)] {
        assert!(decode(&node, &list(&[good.clone(), strange])).is_err());
    }
    // Each repeats what is large.
    let large = pointer("Z", &[0; 1000]);
    let items: Vec<Vec<u8>> = std::iter::once(large).chain((0..1000).map(|_| reference(4))).collect();
    assert!(matches!(decode(&node, &list(&items)), Err(Error::Unsupported(_))));
}

#[test]
fn clones_are_of_the_class_that_is_known_or_none() {
    let objects = [[1].as_slice(), &counted(&[0, 1, 7]), &[0], &[1], &counted(&[0, 1, 8])].concat();
    let Values::List(ends, items) = decode(&clones_of("A"), &clones("A;1", 3, &objects)).unwrap() else { panic!() };
    assert_eq!(ends, [3]);
    assert!(matches!(*items, Values::Optional(ref is_there, _) if is_there == &[1, 0, 1]));
    assert!(matches!(decode(&clones_of("A"), &clones("B;1", 3, &objects)), Err(Error::Unsupported(_))));
    assert_eq!(decode(&clones_of("A"), &clones("B;1", 0, &[9, 9])).unwrap().len(), 1);
    assert!(decode(&clones_of("A"), &clones("A;1", 0, &[9, 9])).is_err());
    assert!(decode(&clones_of("A"), &clones("A;1", u32::MAX / 2, &objects)).is_err());
}

#[test]
fn the_type_of_an_unknown_object_is_its_class_and_bytes() {
    let DataType::List(item) = list_of(&[]).data_type() else { panic!("no list") };
    let members =
        vec![("@class".into(), DataType::Text), ("@bytes".into(), DataType::Optional(Box::new(DataType::Bytes)))];
    assert_eq!(*item, DataType::Optional(Box::new(DataType::Struct(members.into()))));
}

#[test]
fn classes_are_met_where_members_are_stored_one_by_one_and_nothing_says_of_how_many_objects() {
    let Node::List(any) = list_of(&[]) else { panic!("no list") };
    let byte = Node::Number(Number::plain(Primitive::UInt8));
    let members = vec![("any".into(), any.data_type()), ("b".into(), byte.data_type())];
    let steps = vec![Step::Member(0, *any), Step::Member(1, byte)];
    let class = Class::new("Base", false, members, vec![Variant::new(1, 0, steps, Vec::new())]);
    let form = EntryForm::Streamed { framed: Framing::Bare, node: Node::MembersOfEach(Arc::new(class)) };
    let (one, two) = (pointer("A", &counted(&[0, 1, 7])), pointer("B", &counted(&[0, 1, 8])));
    let entry = [one.as_slice(), &two, &[0; 4], &[1, 2, 3]].concat();
    let mut seen = SeenClasses::new();
    meet(&form, &entry, ORIGIN, &mut seen);
    assert_eq!(seen.len(), 2);
    let mut values = Values::empty(&form.data_type());
    form.decode_counted(&mut Reader::default(), &entry, &[3], ORIGIN, &mut values).unwrap();
}
