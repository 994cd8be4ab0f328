//! Objects from bytes made by hand: what is right is read, what is made to harm is refused.

use std::sync::Arc;

use crate::column::{Base, Class, CountedHead, DataType, Framing, MapNode, Node, Number, Pointer, Step, Variant};
use crate::decode::entries::decode_streamed;
use crate::decode::{Reader, Values};
use crate::error::{Error, Result};
use crate::streamer::Primitive;

const U8: DataType = DataType::Primitive(Primitive::UInt8);

fn byte() -> Node {
    Node::Number(Number::plain(Primitive::UInt8))
}

fn variant(version: u16, checksum: u32, steps: Vec<Step>, absent: Vec<usize>) -> Variant {
    Variant::new(version, checksum, steps, absent)
}

fn class(members: &[(&str, DataType)], variants: Vec<Variant>) -> Arc<Class> {
    let members = members.iter().map(|(name, data_type)| ((*name).into(), data_type.clone())).collect();
    Arc::new(Class::new("A", true, members, variants))
}

/// A class with one member in version 1 and two in version 2.
fn evolving() -> Arc<Class> {
    let old = variant(1, 0x11, vec![Step::Member(0, byte())], vec![1]);
    let new = variant(2, 0x22, vec![Step::Member(0, byte()), Step::Member(1, byte())], Vec::new());
    class(&[("a", U8), ("b", DataType::Optional(Box::new(U8)))], vec![new, old])
}

fn decode(node: &Node, entries: &[&[u8]]) -> Result<Values> {
    let mut values = Values::empty(&node.data_type());
    for entry in entries {
        decode_streamed(&mut Reader::default(), Framing::Bare, node, entry, 0, &mut values)?;
    }
    Ok(values)
}

/// A byte count and what it counts.
fn counted(inside: &[u8]) -> Vec<u8> {
    let n_bytes = 0x4000_0000 | u32::try_from(inside.len()).unwrap();
    [&n_bytes.to_be_bytes(), inside].concat()
}

fn member(values: &Values, index: usize) -> &Values {
    let Values::Struct(_, members) = values else { panic!("no struct") };
    &members[index].1
}

#[test]
fn versions_of_a_class_share_a_struct_and_leave_nulls() {
    let node = Node::Object(evolving());
    let by_version = [counted(&[0, 1, 7]), counted(&[0, 2, 8, 9])];
    let by_checksum = counted(&[0, 0, 0, 0, 0, 0x22, 5, 6]);
    let values = decode(&node, &[&by_version[0], &by_version[1], &by_checksum]).unwrap();
    assert_eq!(member(&values, 0), &Values::Primitive(Primitive::UInt8, vec![7, 8, 5]));
    let there = Values::Primitive(Primitive::UInt8, vec![9, 6]);
    assert_eq!(member(&values, 1), &Values::Optional(vec![0, 1, 1], Box::new(there)));
    assert!(matches!(decode(&node, &[&counted(&[0, 3, 1])]), Err(Error::Unsupported(_))));
    assert!(matches!(decode(&node, &[&counted(&[0, 0, 0, 0, 0, 0x33, 5])]), Err(Error::Unsupported(_))));
}

#[test]
fn a_byte_count_that_the_members_do_not_fill_is_corrupt() {
    let node = Node::Object(evolving());
    assert!(matches!(decode(&node, &[&counted(&[0, 1, 7, 7])]), Err(Error::Corrupt(_))));
    assert!(decode(&node, &[&[counted(&[0, 2, 7]), vec![1]].concat()]).is_err());
}

#[test]
fn members_are_read_one_by_one_where_the_version_says_so() {
    let node = Node::Framed(Box::new(Node::List(Box::new(Node::Object(evolving())))));
    let entry = counted(&[0x40, 9, 0, 2, 0, 0, 0, 3, 1, 2, 3, 11, 12, 13]);
    let empty = counted(&[0x40, 9, 0, 0, 0, 0, 0, 0x11, 0, 0, 0, 0]);
    let values = decode(&node, &[&entry, &empty]).unwrap();
    let Values::List(ends, items) = &values else { panic!("no list") };
    assert_eq!(ends, &[3, 3]);
    assert_eq!(member(items, 0), &Values::Primitive(Primitive::UInt8, vec![1, 2, 3]));
    let too_many = counted(&[0x40, 9, 0, 2, 0x7f, 0xff, 0xff, 0xff, 1, 2]);
    assert!(matches!(decode(&node, &[&too_many]), Err(Error::Corrupt(_))));
}

/// A `std::array` of one byte as an object, and as no more than what is in it.
fn arrays() -> (Node, Node) {
    let plain = Node::Fixed(Box::new(byte()), 1);
    let steps = vec![Step::Member(0, plain.clone())];
    (Node::Sole(class(&[("_M_elems", plain.data_type())], vec![variant(9, 0x11, steps, Vec::new())])), plain)
}

#[test]
fn arrays_of_nothing_up_to_the_end_end_member_by_member_too() {
    let nothing = Node::Fixed(Box::new(Node::Text), 0);
    let node = Node::Framed(Box::new(Node::ToEnd(Box::new(nothing))));
    assert!(matches!(decode(&node, &[&counted(&[0x40, 1, 0, 0])]), Err(Error::Corrupt(_))));
    assert!(decode(&node, &[&counted(&[0x40, 1])]).is_ok());
}

#[test]
fn the_only_member_of_an_object_is_shown_in_its_place() {
    let (object, _) = arrays();
    let node = Node::Framed(Box::new(Node::List(Box::new(object))));
    let array = counted(&[0, 0, 0, 0, 0, 0x11, 7]);
    let by_object = counted(&[&[0, 9, 0, 0, 0, 2], array.as_slice(), array.as_slice()].concat());
    let by_member = counted(&[0x40, 9, 0, 0, 0, 0, 0, 0x11, 0, 0, 0, 3, 1, 2, 3]);
    let Values::List(ends, items) = decode(&node, &[&by_object, &by_member]).unwrap() else { panic!("no list") };
    assert_eq!(ends, [2, 5]);
    assert_eq!(*items, Values::FixedList(Box::new(Values::Primitive(Primitive::UInt8, vec![7, 7, 1, 2, 3])), 1));
    let cut = counted(&[0x40, 9, 0, 0, 0, 0, 0, 0x11, 0, 0, 0, 3, 1, 2]);
    assert!(matches!(decode(&node, &[&cut]), Err(Error::Corrupt(_) | Error::Truncated(_))));
}

#[test]
fn arrays_in_maps_are_objects_only_where_pairs_follow_each_other() {
    let (object, plain) = arrays();
    let map = MapNode { key: byte(), value: object, key_column: byte(), value_column: plain };
    let node = Node::Framed(Box::new(Node::Map(Box::new(map))));
    let by_pair = counted(&[&[0, 9, 0, 0, 0, 1, 5], counted(&[0, 9, 6]).as_slice()].concat());
    let by_column = counted(&[0x40, 9, 0, 0, 0, 0, 0, 0x33, 0, 0, 0, 3, 1, 2, 3, 7, 8, 9]);
    let Values::Map(ends, keys, values) = decode(&node, &[&by_pair, &by_column]).unwrap() else { panic!("no map") };
    assert_eq!(ends, [1, 4]);
    assert_eq!(*keys, Values::Primitive(Primitive::UInt8, vec![5, 1, 2, 3]));
    assert_eq!(values.into_number_bytes().unwrap(), [6, 7, 8, 9]);
}

#[test]
fn items_without_bytes_are_bounded() {
    let nothing = class(&[], vec![variant(1, 0x11, Vec::new(), Vec::new())]);
    let node = Node::Framed(Box::new(Node::List(Box::new(Node::Object(nothing)))));
    let few = counted(&[0x40, 9, 0, 1, 0, 0, 0, 4]);
    assert_eq!(decode(&node, &[&few]).unwrap().len(), 1);
    let many = counted(&[0x40, 9, 0, 1, 0x7f, 0xff, 0xff, 0xff]);
    assert!(matches!(decode(&node, &[&many]), Err(Error::Unsupported(_))));
}

#[test]
fn a_base_has_a_version_of_its_own_but_not_member_by_member() {
    let base = Base {
        name: "B".to_owned(),
        variants: vec![variant(4, 0x44, vec![Step::Member(0, byte())], Vec::new())],
        by_member: Some(0),
        is_whole: false,
    };
    let derived = variant(1, 0x11, vec![Step::Base(base), Step::Member(1, byte())], Vec::new());
    let node = Node::Object(class(&[("b", U8), ("a", U8)], vec![derived]));
    let entry = counted(&[&[0, 1], counted(&[0, 4, 7]).as_slice(), &[8]].concat());
    let values = decode(&node, &[&entry]).unwrap();
    assert_eq!(member(&values, 0), &Values::Primitive(Primitive::UInt8, vec![7]));
    let list = Node::Framed(Box::new(Node::List(Box::new(node))));
    let values = decode(&list, &[&counted(&[0x40, 9, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4])]).unwrap();
    let Values::List(_, items) = &values else { panic!("no list") };
    assert_eq!(member(items, 1), &Values::Primitive(Primitive::UInt8, vec![3, 4]));
}

#[test]
fn a_named_base_is_whole_member_by_member_too() {
    let base = Base {
        name: "TNamed".to_owned(),
        variants: vec![variant(1, 0, vec![Step::Member(0, Node::Text)], Vec::new())],
        by_member: Some(0),
        is_whole: true,
    };
    let derived = variant(1, 0x11, vec![Step::Base(base), Step::Member(1, byte())], Vec::new());
    let node = Node::Object(class(&[("name", DataType::Text), ("a", U8)], vec![derived]));
    let list = Node::Framed(Box::new(Node::List(Box::new(node))));
    let named = |name: &[u8; 1]| counted(&[&[0, 1, 1], name.as_slice()].concat());
    let head = [0x40, 9, 0, 1, 0, 0, 0, 2];
    let entry = counted(&[head.as_slice(), &named(b"x"), &named(b"y"), &[3, 4]].concat());
    let Values::List(_, items) = decode(&list, &[&entry]).unwrap() else { panic!("no list") };
    assert_eq!(member(&items, 0), &Values::Text(vec![1, 2], b"xy".to_vec()));
    assert_eq!(member(&items, 1), &Values::Primitive(Primitive::UInt8, vec![3, 4]));
}

#[test]
fn a_base_that_writes_itself_is_stored_as_described_member_by_member() {
    let bytes = || Node::List(Box::new(byte()));
    let derived = variant(1, 0x11, vec![Step::OwnBase(0, bytes()), Step::Member(1, byte())], Vec::new());
    let members = [("TArrayC", DataType::List(Box::new(U8))), ("a", U8)];
    let node = Node::Object(class(&members, vec![derived]));
    let whole = decode(&node, &[&counted(&[0, 1, 0, 0, 0, 2, 7, 8, 9])]).unwrap();
    let Values::List(ends, found) = member(&whole, 0) else { panic!("no list") };
    assert_eq!((ends.as_slice(), found.len()), ([2].as_slice(), 2));
    // The counts of all, then a flag and the numbers of each.
    let list = Node::Framed(Box::new(Node::List(Box::new(node))));
    let entry = counted(&[0x40, 9, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 1, 7, 8, 0, 9, 6]);
    let Values::List(_, items) = decode(&list, &[&entry]).unwrap() else { panic!("no list") };
    let Values::List(ends, found) = member(&items, 0) else { panic!("no list") };
    assert_eq!((ends.as_slice(), found.len()), ([2, 2].as_slice(), 2));
    assert_eq!(member(&items, 1), &Values::Primitive(Primitive::UInt8, vec![9, 6]));
}

#[test]
fn what_objects_inherit_from_t_object_may_be_missing() {
    let u32 = || DataType::Primitive(Primitive::UInt32);
    let of = |rest: Node, data_type: DataType| {
        let steps = vec![Step::TObject { unique_id: 0, bits: 1, may_lack: true }, Step::Member(2, rest)];
        let members = [("fUniqueID", u32()), ("fBits", u32()), ("x", data_type)];
        Node::Object(class(&members, vec![variant(1, 0x11, steps, Vec::new())]))
    };
    let t_object = [0, 1, 0, 0, 0, 9, 0, 0, 0, 3];
    let ids = |values: &Values| member(values, 0).clone().into_number_bytes().unwrap();
    let text = of(Node::Text, DataType::Text);
    // An empty text and one of a byte look like the version of a TObject: the byte count tells.
    for (missing, name) in [([1, b'x'].as_slice(), b"x".as_slice()), (&[0], b""), (&[3, b'a', b'b', b'c'], b"abc")] {
        let with = [t_object.as_slice(), missing].concat();
        let values =
            decode(&text, &[&counted(&[&[0, 1], missing].concat()), &counted(&[&[0, 1], with.as_slice()].concat())]);
        let values = values.unwrap();
        assert_eq!(ids(&values), [0_u32.to_ne_bytes(), 9_u32.to_ne_bytes()].concat());
        let ends = [name.len(), 2 * name.len()].map(|end| i32::try_from(end).unwrap()).to_vec();
        assert_eq!(member(&values, 2), &Values::Text(ends, [name, name].concat()));
    }
    // A number that begins as a TObject does.
    let number = of(Node::Number(Number::plain(Primitive::UInt16)), DataType::Primitive(Primitive::UInt16));
    let values = decode(&number, &[&counted(&[0, 1, 0, 1])]).unwrap();
    assert_eq!(ids(&values), 0_u32.to_ne_bytes());
    assert_eq!(member(&values, 2).clone().into_number_bytes().unwrap(), 1_u16.to_ne_bytes());
}

#[test]
fn a_t_object_has_any_of_the_four_bits_of_its_state() {
    let u32 = || DataType::Primitive(Primitive::UInt32);
    let steps = vec![Step::TObject { unique_id: 0, bits: 1, may_lack: true }, Step::Member(2, byte())];
    let node = Node::Object(class(
        &[("fUniqueID", u32()), ("fBits", u32()), ("x", U8)],
        vec![variant(1, 0x11, steps, Vec::new())],
    ));
    // kIsOnHeap, kNotDeleted, kZombie, kInconsistent.
    for bit in [1_u8, 2, 4, 8] {
        let values = decode(&node, &[&counted(&[0, 1, 0, 1, 0, 0, 0, 9, bit, 0, 0, 0, 7])]).unwrap();
        let bits = (u32::from(bit) << 24).to_ne_bytes().to_vec();
        assert_eq!(member(&values, 1), &Values::Primitive(Primitive::UInt32, bits));
        assert_eq!(member(&values, 2), &Values::Primitive(Primitive::UInt8, vec![7]));
    }
}

#[test]
fn what_looks_like_a_t_object_and_is_none_is_found_by_trying() {
    let u32 = || DataType::Primitive(Primitive::UInt32);
    let number = Node::Number(Number::plain(Primitive::UInt32));
    let steps = vec![
        Step::TObject { unique_id: 0, bits: 1, may_lack: true },
        Step::Member(2, number),
        Step::Member(3, Node::Text),
    ];
    let members = [("fUniqueID", u32()), ("fBits", u32()), ("n", u32()), ("x", DataType::Text)];
    let node = Node::Object(class(&members, vec![variant(1, 0x11, steps, Vec::new())]));
    let text = b"of more bytes than a TObject has";
    let stored = |n: u32| [&[0, 1], n.to_be_bytes().as_slice(), &[u8::try_from(text.len()).unwrap()], text].concat();
    let values = decode(&node, &[&counted(&stored(100_000)), &counted(&stored(7))]).unwrap();
    let numbers = [100_000_u32.to_ne_bytes(), 7_u32.to_ne_bytes()].concat();
    assert_eq!(member(&values, 2), &Values::Primitive(Primitive::UInt32, numbers));
    assert_eq!(member(&values, 3).len(), 2);
    // What is wrong in another way stays wrong, and is told as it was first.
    let cut = stored(100_000);
    assert!(decode(&node, &[&counted(&cut[..cut.len() - 1])]).is_err());
}

#[test]
fn values_that_are_let_go_leave_those_before_as_they_were() {
    let map = MapNode { key: byte(), value: Node::Text, key_column: byte(), value_column: Node::Text };
    let inner = vec![
        ("list".into(), Node::List(Box::new(Node::Text))),
        ("fixed".into(), Node::Fixed(Box::new(byte()), 2)),
        ("map".into(), Node::Map(Box::new(map))),
    ];
    let node = Node::List(Box::new(Node::Struct(inner)));
    let item = |k: u8| [0, 0, 0, 1, 1, k, k, k, 0, 0, 0, 1, k, 2, k, k];
    let entry = |k: u8| [[0, 0, 0, 2].as_slice(), &item(k), &item(k + 1)].concat();
    let before = decode(&node, &[&entry(1), &entry(3)]).unwrap();
    let mut values = before.clone();
    decode_streamed(&mut Reader::default(), Framing::Bare, &node, &entry(5), 0, &mut values).unwrap();
    // An entry that ends in the middle leaves a part of it behind.
    assert!(decode_streamed(&mut Reader::default(), Framing::Bare, &node, &entry(7)[..30], 0, &mut values).is_err());
    values.truncate(2);
    assert_eq!(values, before);
    values.truncate(0);
    assert_eq!(values, Values::empty(&node.data_type()));
}

#[test]
fn values_of_which_nothing_is_stored_are_bounded() {
    let u32 = || DataType::Primitive(Primitive::UInt32);
    let steps = vec![Step::TObject { unique_id: 0, bits: 1, may_lack: true }];
    let node =
        Node::Object(class(&[("fUniqueID", u32()), ("fBits", u32())], vec![variant(1, 0x11, steps, Vec::new())]));
    let list = Node::Framed(Box::new(Node::List(Box::new(node))));
    let of = |n: u32| counted(&[&[0x40, 9, 0, 1], n.to_be_bytes().as_slice()].concat());
    let Values::List(_, items) = decode(&list, &[&of(400)]).unwrap() else { panic!("no list") };
    assert_eq!(items.len(), 400);
    let error = decode(&list, &[&of(500)]).unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
}

#[test]
fn members_of_more_bytes_than_there_are_addresses_are_refused() {
    let huge = (0..3).fold(byte(), |item, _| Node::Fixed(Box::new(item), u32::MAX));
    let huge_type = huge.data_type();
    let steps = vec![Step::TObject { unique_id: 0, bits: 1, may_lack: true }, Step::Member(2, huge)];
    let u32 = || DataType::Primitive(Primitive::UInt32);
    let members = [("fUniqueID", u32()), ("fBits", u32()), ("x", huge_type)];
    let node = Node::Object(class(&members, vec![variant(1, 0x11, steps, Vec::new())]));
    assert!(decode(&node, &[&counted(&[0, 1, 0, 1, 0, 0, 0, 9, 0, 0, 0, 3])]).is_err());
}

#[test]
fn counted_arrays_follow_the_counter_of_their_own_object() {
    let counter = Step::Member(0, byte());
    let array = Step::Counted { index: 1, item: byte(), counter: 0, factor: 1, head: CountedHead::Flag };
    let members = [("n", U8), ("x", DataType::List(Box::new(U8)))];
    let node = Node::Object(class(&members, vec![variant(1, 0x11, vec![counter, array], Vec::new())]));
    let list = Node::Framed(Box::new(Node::List(Box::new(node))));
    let values = decode(&list, &[&counted(&[0x40, 9, 0, 1, 0, 0, 0, 3, 2, 0, 1, 1, 8, 9, 0, 1, 7])]).unwrap();
    let Values::List(_, items) = &values else { panic!("no list") };
    let Values::List(ends, found) = member(items, 1) else { panic!("no list") };
    assert_eq!((ends.as_slice(), found.len()), ([2, 2, 3].as_slice(), 3));
    assert!(decode(&list, &[&counted(&[0x40, 9, 0, 1, 0, 0, 0, 1, 200, 1, 8])]).is_err());
}

#[test]
fn of_a_reference_to_an_object_with_a_uuid_no_process_is_known() {
    const HAS_UUID: u8 = 1 << 5;
    let steps = vec![Step::TObject { unique_id: 0, bits: 1, may_lack: false }, Step::Process { index: 2, bits: 1 }];
    let u32 = DataType::Primitive(Primitive::UInt32);
    let process = DataType::Optional(Box::new(DataType::Primitive(Primitive::UInt16)));
    let members = [("ref", u32.clone()), ("fBits", u32), ("@pidf", process)];
    let node = Node::Object(class(&members, vec![variant(1, 0x11, steps, Vec::new())]));
    let t_object = |bits: u8| [0, 1, 0, 0, 0, 9, 0, 0, 0, bits];
    let plain = [t_object(0).as_slice(), &[0, 7]].concat();
    let of_uuid = [t_object(HAS_UUID).as_slice(), &[3], b"abc"].concat();
    let versioned = |object: &[u8]| counted(&[&[0, 1], object].concat());
    let values = decode(&node, &[&versioned(&plain), &versioned(&of_uuid), &versioned(&plain)]).unwrap();
    let numbers = Values::Primitive(Primitive::UInt16, [7_u16.to_ne_bytes(); 2].concat());
    assert_eq!(member(&values, 2), &Values::Optional(vec![1, 0, 1], Box::new(numbers)));
    // Member by member: the bits of all of them come first.
    let both = [t_object(HAS_UUID), t_object(0)].concat();
    let list = Node::Framed(Box::new(Node::List(Box::new(node.clone()))));
    let entry = counted(&[&[0x40, 9, 0, 1, 0, 0, 0, 2], both.as_slice(), &[1, b'x', 0, 8]].concat());
    let Values::List(_, items) = decode(&list, &[&entry]).unwrap() else { panic!("no list") };
    let numbers = Values::Primitive(Primitive::UInt16, 8_u16.to_ne_bytes().to_vec());
    assert_eq!(member(&items, 2), &Values::Optional(vec![0, 1], Box::new(numbers)));
    let cut = [t_object(HAS_UUID).as_slice(), &[4], b"abc"].concat();
    assert!(matches!(decode(&node, &[&versioned(&cut)]), Err(Error::Corrupt(_) | Error::Truncated(_))));
}

fn pointer_to_a() -> Node {
    Node::Pointer(Box::new(Pointer { class: "A".to_owned(), node: Node::Object(evolving()) }))
}

#[test]
fn pointers_are_null_an_object_or_one_that_was_read_before() {
    let node = Node::Fixed(Box::new(pointer_to_a()), 3);
    let object = counted(&[&[0xff, 0xff, 0xff, 0xff, b'A', 0], counted(&[0, 1, 7]).as_slice()].concat());
    // The object's slot is at the start of the entry: position 0, and 2 more.
    let entry = [object.as_slice(), &[0, 0, 0, 0], &[0, 0, 0, 2]].concat();
    let values = decode(&node, &[&entry]).unwrap();
    let Values::FixedList(pointers, 3) = &values else { panic!("no array") };
    let Values::Optional(is_there, objects) = &**pointers else { panic!("no pointers") };
    assert_eq!(is_there, &[1, 0, 1]);
    assert_eq!(member(objects, 0), &Values::Primitive(Primitive::UInt8, vec![7, 7]));
}

#[test]
fn references_to_nowhere_or_to_themselves_are_corrupt() {
    for reference in [2_u32, 3, 1, 6, 0x4000_0000, 77] {
        let found = decode(&pointer_to_a(), &[&reference.to_be_bytes()]);
        assert!(found.is_err(), "{reference}");
    }
    let other = counted(&[&[0xff, 0xff, 0xff, 0xff, b'B', 0], counted(&[0, 1, 7]).as_slice()].concat());
    let Err(Error::Unsupported(fault)) = decode(&pointer_to_a(), &[&other]) else { panic!("not unsupported") };
    assert!(fault.what.contains("pointer to A that leads to a B"), "{}", fault.what);
}

#[test]
fn references_do_not_multiply_an_entry_without_end() {
    let text = Node::Pointer(Box::new(Pointer { class: "A".to_owned(), node: Node::Text }));
    let object = [vec![0xff, 0xff, 0xff, 0xff, b'A', 0, 250], vec![b'x'; 250]].concat();
    let n_references = 400;
    let entry = [counted(&object), [0, 0, 0, 2].repeat(n_references)].concat();
    let node = Node::Fixed(Box::new(text.clone()), u32::try_from(n_references + 1).unwrap());
    assert!(matches!(decode(&node, &[&entry]), Err(Error::Unsupported(_)) | Ok(_)));
    let big = [
        counted(&[vec![0xff; 4], vec![b'A', 0, 255, 0, 0, 0x10, 0], vec![b'x'; 4096]].concat()),
        [0, 0, 0, 2].repeat(4096),
    ];
    let node = Node::Fixed(Box::new(text), 4097);
    assert!(matches!(decode(&node, &[&big.concat()]), Err(Error::Unsupported(_))));
}

#[test]
fn what_cannot_be_read_says_so_only_where_it_is() {
    let node = Node::List(Box::new(Node::Unreadable(Arc::from("Z"))));
    assert_eq!(decode(&node, &[&[0, 0, 0, 0]]).unwrap().len(), 1);
    let Err(Error::Unsupported(fault)) = decode(&node, &[&[0, 0, 0, 1, 5]]) else { panic!("not unsupported") };
    assert!(fault.what.contains("Z cannot be read"));
    // What looks like a number by its name is a class if its items are stored member by member.
    let numbers = Node::Framed(Box::new(Node::List(Box::new(byte()))));
    let objects = counted(&[0x40, 9, 0, 2, 0, 0, 0, 1, 5]);
    assert!(matches!(decode(&numbers, &[&objects]), Err(Error::Unsupported(_))));
}
