//! Members whose type has changed, from bytes made by hand.

use crate::column::Framing::Bare;
use crate::column::{Class, Conversion, CountedHead, DataType, MapNode, Node, Number, Pointer, Step, Variant};
use crate::decode::Reader;
use crate::decode::Values;
use crate::decode::entries::decode_streamed;
use crate::error::{Error, Result};
use crate::streamer::Primitive;

const U8: DataType = DataType::Primitive(Primitive::UInt8);
const I16: DataType = DataType::Primitive(Primitive::Int16);

fn number(primitive: Primitive) -> Node {
    Node::Number(Number::plain(primitive))
}

fn byte() -> Node {
    number(Primitive::UInt8)
}

fn list(item: DataType) -> DataType {
    DataType::List(Box::new(item))
}

fn fixed(item: DataType, n_items: u32) -> DataType {
    DataType::FixedList(Box::new(item), n_items)
}

fn decode(stored: Node, to: &DataType, entry: &[u8]) -> Result<Values> {
    let mut values = Values::empty(to);
    let node = Node::Converted(Box::new(Conversion { stored, to: to.clone() }));
    decode_streamed(&mut Reader::default(), Bare, &node, entry, 0, &mut values)?;
    Ok(values)
}

fn shorts(numbers: &[i16]) -> Values {
    Values::Primitive(Primitive::Int16, numbers.iter().flat_map(|number| number.to_ne_bytes()).collect())
}

/// A number as an integer of a type.
fn as_integer(value: f64, to: Primitive) -> i128 {
    let values = decode(number(Primitive::Float64), &DataType::Primitive(to), &value.to_be_bytes()).unwrap();
    match (&values, values.integers()) {
        (_, Some(integers)) => integers[0].into(),
        (Values::Primitive(_, bytes), None) => u64::from_ne_bytes(*bytes.first_chunk().unwrap()).into(),
        _ => panic!("no number"),
    }
}

#[test]
fn floats_that_an_integer_cannot_hold_become_what_root_makes_of_them() {
    use Primitive::{Bool, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let (low, high) = (i128::from(i64::MIN), 1_i128 << 63);
    for (value, wanted) in [
        // As ROOT 6.40 reads them on x86-64.
        (1e30, [0, 0, 0, 0, i32::MIN.into(), 0, low, 0, 1]),
        (-1e30, [0, 0, 0, 0, i32::MIN.into(), 0, low, high, 1]),
        (f64::NAN, [0, 0, 0, 0, i32::MIN.into(), 0, low, high, 1]),
        (-1.5, [-1, 255, -1, 65535, -1, (1 << 32) - 1, -1, (1 << 64) - 1, 1]),
        (3e9, [0, 0, 0, 0, i32::MIN.into(), 3_000_000_000, 3_000_000_000, 3_000_000_000, 1]),
        (1.2e19, [0, 0, 0, 0, i32::MIN.into(), 0, low, 12_000_000_000_000_000_000, 1]),
        (300.7, [44, 44, 300, 300, 300, 300, 300, 300, 1]),
        (0.25, [0, 0, 0, 0, 0, 0, 0, 0, 1]),
    ] {
        let types = [Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Bool];
        assert_eq!(types.map(|to| as_integer(value, to)), wanted, "{value}");
    }
    // Ends that a type just holds.
    assert_eq!(as_integer(-2_147_483_648.9, Int32), i32::MIN.into());
    assert_eq!(as_integer(2_147_483_647.9, Int32), i32::MAX.into());
}

#[test]
fn containers_are_converted_item_by_item() {
    let lists = Node::List(Box::new(Node::List(Box::new(byte()))));
    let entry = [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 1, 2, 255];
    let found = decode(lists, &list(list(I16)), &entry).unwrap();
    let inner = Values::List(vec![0, 3], Box::new(shorts(&[1, 2, 255])));
    assert_eq!(found, Values::List(vec![2], Box::new(inner)));
}

#[test]
fn maps_become_pairs_and_pairs_maps() {
    let pair = DataType::Struct(vec![("first".into(), I16), ("second".into(), U8)].into());
    let map = MapNode { key: byte(), value: byte(), key_column: byte(), value_column: byte() };
    let found = decode(Node::Map(Box::new(map)), &list(pair), &[0, 0, 0, 2, 1, 2, 3, 4]).unwrap();
    let bytes = |bytes: &[u8]| Values::Primitive(Primitive::UInt8, bytes.to_vec());
    let members = vec![("first".into(), shorts(&[1, 3])), ("second".into(), bytes(&[2, 4]))];
    assert_eq!(found, Values::List(vec![2], Box::new(Values::Struct(2, members))));

    let stored = Node::Struct(vec![("first".into(), byte()), ("second".into(), byte())]);
    let to = DataType::Map(Box::new(I16), Box::new(U8));
    let found = decode(Node::List(Box::new(stored)), &to, &[0, 0, 0, 2, 1, 2, 3, 4]).unwrap();
    assert_eq!(found, Values::Map(vec![2], Box::new(shorts(&[1, 3])), Box::new(bytes(&[2, 4]))));
}

#[test]
fn arrays_are_filled_in_the_order_of_memory() {
    let three = || Node::Fixed(Box::new(byte()), 3);
    let entry = [1, 2, 3];
    let numbers = |to: &DataType| decode(three(), to, &entry).unwrap().into_number_bytes().unwrap();
    assert_eq!(numbers(&fixed(U8, 2)), [1, 2]);
    assert_eq!(numbers(&fixed(U8, 4)), [1, 2, 3, 0]);
    assert_eq!(numbers(&fixed(fixed(U8, 2), 2)), [1, 2, 3, 0]);
    assert_eq!(numbers(&U8), [1]);
    assert_eq!(decode(byte(), &fixed(I16, 2), &[7]).unwrap(), Values::FixedList(Box::new(shorts(&[7, 0])), 2));
    let squares = Node::Fixed(Box::new(Node::Fixed(Box::new(byte()), 2)), 2);
    let found = decode(squares, &fixed(I16, 4), &[1, 2, 3, 4]).unwrap();
    assert_eq!(found, Values::FixedList(Box::new(shorts(&[1, 2, 3, 4])), 4));
}

#[test]
fn arrays_of_anything_are_cut_and_filled_up() {
    let texts = || Node::Fixed(Box::new(Node::Text), 2);
    let text = |ends: &[i32], bytes: &[u8]| Values::Text(ends.to_vec(), bytes.to_vec());
    let found = decode(texts(), &fixed(fixed(DataType::Text, 2), 2), &[1, b'a', 2, b'b', b'c']).unwrap();
    let inner = Values::FixedList(Box::new(text(&[1, 3, 3, 3], b"abc")), 2);
    assert_eq!(found, Values::FixedList(Box::new(inner), 2));
    assert_eq!(decode(texts(), &DataType::Text, &[1, b'a', 2, b'b', b'c']).unwrap(), text(&[1], b"a"));

    let lists = Node::Fixed(Box::new(Node::List(Box::new(byte()))), 2);
    let found = decode(lists, &fixed(list(I16), 3), &[0, 0, 0, 1, 5, 0, 0, 0, 2, 6, 7]).unwrap();
    let inner = Values::List(vec![1, 3, 3], Box::new(shorts(&[5, 6, 7])));
    assert_eq!(found, Values::FixedList(Box::new(inner), 3));
}

#[test]
fn a_pointer_is_the_first_of_an_array_of_them() {
    let pointer = Node::Pointer(Box::new(Pointer { class: "A".to_owned(), node: byte() }));
    let optional = |data_type| DataType::Optional(Box::new(data_type));
    let filled = Values::FixedList(Box::new(Values::Optional(vec![0, 0], Box::new(Values::empty(&U8)))), 2);
    let array = fixed(optional(U8), 2);
    assert_eq!(decode(pointer.clone(), &array, &[0; 4]).unwrap(), filled);
    // Where a third version has no such member.
    let found = decode(pointer, &optional(array), &[0; 4]).unwrap();
    assert_eq!(found, Values::Optional(vec![1], Box::new(filled)));
}

#[test]
fn arrays_do_not_grow_without_end() {
    let huge = fixed(fixed(U8, u32::MAX), u32::MAX);
    assert!(matches!(decode(byte(), &huge, &[7]), Err(Error::Unsupported(_))));
    let arrays = Node::List(Box::new(Node::Fixed(Box::new(number(Primitive::Int16)), 2)));
    let none = decode(arrays, &list(fixed(huge, u32::MAX)), &[0; 4]).unwrap();
    assert!(matches!(none, Values::List(ends, _) if ends == [0]));
    let pairs = Node::Struct(vec![("a".into(), byte()), ("b".into(), Node::Fixed(Box::new(byte()), 3))]);
    let data_type = pairs.data_type();
    let found = decode(Node::Fixed(Box::new(pairs), 1), &fixed(data_type, 100), &[7; 4]);
    assert!(matches!(found, Err(Error::Unsupported(_))), "{found:?}");
}

/// A class of which version 1 has an array that `n` counts, with a place in what comes out or without.
fn counted_before(index: Option<usize>, item: Node) -> Class {
    let step = Step::Counted { index: index.unwrap_or(0), item, counter: 0, factor: 1, head: CountedHead::Flag };
    let (step, absent) = match index {
        Some(_) => (step, Vec::new()),
        None => (Step::PassedOver("x".into(), Box::new(step)), vec![1]),
    };
    let old = Variant::new(1, 1, vec![Step::Member(0, byte()), step, Step::Member(2, byte())], absent);
    let x = if index.is_some() { list(I16) } else { DataType::Optional(Box::new(U8)) };
    let members = [("n", U8), ("x", x), ("last", U8)].map(|(name, data_type)| (name.into(), data_type));
    Class::new("A", true, members.to_vec(), vec![old])
}

/// Two objects of a class, of two items and of none: one after the other, and member by member.
fn both_ways(class: Class) -> [Values; 2] {
    let node = Node::Framed(Box::new(Node::List(Box::new(Node::Object(class.into())))));
    let by_object: &[u8] =
        &[0x40, 0, 0, 26, 0, 9, 0, 0, 0, 2, 0x40, 0, 0, 7, 0, 1, 2, 1, 8, 9, 5, 0x40, 0, 0, 5, 0, 1, 0, 0, 6];
    let by_member: &[u8] = &[0x40, 0, 0, 16, 0x40, 9, 0, 1, 0, 0, 0, 2, 2, 0, 1, 8, 9, 0, 5, 6];
    [by_object, by_member].map(|entry| {
        let mut values = Values::empty(&node.data_type());
        decode_streamed(&mut Reader::default(), Bare, &node, entry, 0, &mut values).unwrap();
        let Values::List(_, objects) = values else { panic!("no list") };
        *objects
    })
}

fn members(values: &Values) -> [&Values; 3] {
    let Values::Struct(2, members) = values else { panic!("not two objects") };
    let [(_, n), (_, x), (_, last)] = members.as_slice() else { panic!("not three members") };
    [n, x, last]
}

#[test]
fn items_of_counted_arrays_are_converted() {
    let item = Node::Converted(Box::new(Conversion { stored: byte(), to: I16 }));
    for values in both_ways(counted_before(Some(1), item)) {
        let [_, x, last] = members(&values);
        assert_eq!(*x, Values::List(vec![2, 2], Box::new(shorts(&[8, 9]))));
        assert_eq!(last.integers().unwrap(), [5, 6]);
    }
}

#[test]
fn what_became_something_unrelated_is_passed_over_and_null() {
    for values in both_ways(counted_before(None, byte())) {
        let [n, x, last] = members(&values);
        assert_eq!(*x, Values::Optional(vec![0, 0], Box::new(Values::Primitive(Primitive::UInt8, Vec::new()))));
        assert_eq!((n.integers().unwrap(), last.integers().unwrap()), (vec![2, 0], vec![5, 6]));
    }
}
