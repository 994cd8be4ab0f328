//! Values of one entry from bytes made by hand.

use std::sync::Arc;

use crate::column::{Class, CountedHead, DataType, Framing, MapNode, Node, Number, Step, Variant};
use crate::decode::Reader;
use crate::decode::entries::decode_streamed;
use crate::decode::values::Values;
use crate::streamer::Primitive;

#[test]
fn the_size_of_an_entry_tells_how_many_items_another_branch_counted() {
    let number = |primitive| Node::Number(Number::plain(primitive));
    let node = Node::Struct(vec![
        ("x".into(), Node::ToFit(Box::new(number(Primitive::UInt16)))),
        ("y".into(), Node::ToFit(Box::new(Node::Fixed(Box::new(number(Primitive::UInt8)), 2)))),
        ("z".into(), number(Primitive::UInt8)),
    ]);
    let mut values = Values::empty(&node.data_type());
    for entry in [[0, 1, 0, 2, 10, 11, 20, 21, 99].as_slice(), &[98]] {
        decode_streamed(&mut Reader::default(), Framing::Bare, &node, entry, 0, &mut values).unwrap();
    }
    let Values::Struct(2, members) = &values else { panic!("not two structs") };
    let Values::List(ends, items) = &members[1].1 else { panic!("not lists") };
    assert_eq!(ends, &[2, 2]);
    assert_eq!((**items).clone().into_number_bytes().unwrap(), [10, 11, 20, 21]);
    assert_eq!(members[2].1.clone().into_number_bytes().unwrap(), [99, 98]);
    for entry in [[].as_slice(), &[0, 1, 10, 99], &[0; 10]] {
        assert!(
            decode_streamed(
                &mut Reader::default(),
                Framing::Bare,
                &node,
                entry,
                0,
                &mut Values::empty(&node.data_type())
            )
            .is_err()
        );
    }
}

#[test]
fn members_one_by_one_are_of_as_many_objects_as_are_counted() {
    let number = |primitive| Node::Number(Number::plain(primitive));
    let steps = vec![Step::Member(1, number(Primitive::UInt8)), Step::Member(0, number(Primitive::UInt16))];
    let members = [("a", Primitive::UInt16), ("b", Primitive::UInt8)];
    let members = members.map(|(name, primitive)| (name.into(), DataType::Primitive(primitive))).to_vec();
    let variants = vec![Variant::new(1, 0, steps, Vec::new())];
    let node = Node::MembersOfEach(Arc::new(Class::new("Base", false, members, variants)));
    let form = crate::column::EntryForm::Streamed { framed: Framing::Bare, node };
    let mut values = Values::empty(&form.data_type());
    for (entry, n_objects) in [([10, 11, 0, 1, 0, 2].as_slice(), 2), (&[], 0), (&[12, 0, 3], 1)] {
        form.decode_counted(&mut Reader::default(), entry, &[n_objects], 0, &mut values).unwrap();
    }
    let Values::List(ends, objects) = &values else { panic!("not lists") };
    assert_eq!(ends, &[2, 2, 3]);
    let Values::Struct(3, columns) = &**objects else { panic!("not three structs") };
    let numbers: Vec<u16> = (1..=3).collect();
    let bytes: Vec<u8> = numbers.into_iter().flat_map(u16::to_ne_bytes).collect();
    assert_eq!(columns[0].1.clone().into_number_bytes().unwrap(), bytes);
    assert_eq!(columns[1].1.clone().into_number_bytes().unwrap(), [10, 11, 12]);
    for (n_objects, why) in [(1, "3 bytes more"), (3, "3 objects of Base, of 3 bytes at least"), (-1, "nothing tells")]
    {
        let error = form.decode_counted(&mut Reader::default(), &[0; 6], &[n_objects], 0, &mut values).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    assert!(form.decode_entry(&mut Reader::default(), &[0; 6], 0, &mut values).is_err());
}

#[test]
fn arrays_of_each_object_have_as_many_items_as_the_branch_beside_says() {
    let item = Box::new(Node::Number(Number::plain(Primitive::UInt8)));
    let node = Node::ArrayOfEach { item, factor: 2, head: CountedHead::Flag };
    let form = crate::column::EntryForm::Streamed { framed: Framing::Bare, node };
    let mut values = Values::empty(&form.data_type());
    form.decode_counted(&mut Reader::default(), &[1, 10, 11, 0, 1, 12, 13, 14, 15], &[1, 0, 2], 0, &mut values)
        .unwrap();
    form.decode_counted(&mut Reader::default(), &[], &[], 0, &mut values).unwrap();
    let Values::List(ends, arrays) = &values else { panic!("not lists") };
    assert_eq!(ends, &[3, 3]);
    let Values::List(ends, items) = &**arrays else { panic!("not arrays") };
    assert_eq!(ends, &[2, 2, 6]);
    assert_eq!((**items).clone().into_number_bytes().unwrap(), [10, 11, 12, 13, 14, 15]);
    for (entry, counts) in [([1, 10, 11].as_slice(), [2].as_slice()), (&[1, 10, 11], &[-1]), (&[1, 10, 11, 0], &[1])] {
        let mut values = Values::empty(&form.data_type());
        assert!(form.decode_counted(&mut Reader::default(), entry, counts, 0, &mut values).is_err());
    }
    // Nothing tells their numbers of items.
    assert!(form.decode_entry(&mut Reader::default(), &[0], 0, &mut values).is_err());
}

#[test]
fn arrays_and_counts_of_items_without_bytes_are_refused() {
    let byte = || Box::new(Node::Number(Number::plain(Primitive::Int8)));
    let nothing = || Box::new(Node::Fixed(byte(), 0));
    let entry = [0x7f, 0xff, 0xff, 0xff];
    for node in [
        Node::Fixed(nothing(), u32::MAX),
        Node::Fixed(byte(), u32::MAX),
        Node::List(nothing()),
        Node::Map(Box::new(MapNode {
            key: *nothing(),
            value: *nothing(),
            key_column: *nothing(),
            value_column: *nothing(),
        })),
    ] {
        let mut values = Values::empty(&node.data_type());
        assert!(
            decode_streamed(&mut Reader::default(), Framing::Bare, &node, &entry, 0, &mut values).is_err(),
            "{node:?}"
        );
    }
}
