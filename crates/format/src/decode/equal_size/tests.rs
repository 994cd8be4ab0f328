//! Objects that take equal bytes come out as those that are read one by one.

use std::sync::Arc;

use proptest::prelude::*;

use crate::column::{Base, Class, DataType, EntryForm, Framing, Header, Name, Node, Number, Pointer, Step, Variant};
use crate::decode::Reader;
use crate::decode::Values;
use crate::decode::entries::decode_streamed;
use crate::streamer::{PackingRange, Primitive};

fn array(item: Node, dims: &[u32]) -> Node {
    dims.iter().rev().fold(item, |inner, &n_items| Node::Fixed(Box::new(inner), n_items))
}

fn numbers_of() -> impl Strategy<Value = Number> {
    use Primitive::{Bool, Double32, Float16, Float64, Int8, Int16, UInt32, UInt64};
    let primitives = vec![Bool, Int8, Int16, UInt32, UInt64, Float64, Float16, Double32];
    let ranges = prop::sample::select(vec!["", "[0,100,12]", "[0,0,9]"]).prop_map(PackingRange::parse);
    (prop::sample::select(primitives), ranges).prop_map(|(primitive, range)| Number::packed(primitive, range))
}

fn numbers() -> impl Strategy<Value = Node> {
    let dims = prop::collection::vec(1_u32..4, 0..3);
    (numbers_of(), dims).prop_map(|(number, dims)| array(Node::Number(number), &dims))
}

fn framed(version: u16, content: &[u8]) -> Vec<u8> {
    let byte_count = 0x4000_0000 | u32::try_from(content.len() + 2).unwrap();
    [&byte_count.to_be_bytes()[..], &version.to_be_bytes(), content].concat()
}

const OBJECT: [u8; 10] = [0, 1, 0, 0, 0, 9, 3, 0, 0, 8];

/// A class with a `TObject`, members behind it, and a member that is an object with a base; and one object of it, whose
/// numbers have these bytes.
fn class_and_object(leaves: &[Node], bytes: &mut impl Iterator<Item = u8>) -> (Node, Vec<u8>) {
    let members = |first: usize| leaves.iter().enumerate().map(move |(index, node)| (first + index, node.clone()));
    let types = |first: usize| {
        let names = members(first).map(|(index, node)| (format!("m{index}").into(), node.data_type()));
        names.collect::<Vec<(Name, DataType)>>()
    };
    let steps = |first: usize| members(first).map(|(index, node)| Step::Member(index, node)).collect::<Vec<_>>();
    let values = || leaves.iter().flat_map(|leaf| vec![0; leaf.min_bytes()]).collect::<Vec<u8>>();
    let fill = |mut zeros: Vec<u8>, bytes: &mut dyn Iterator<Item = u8>| {
        zeros.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        zeros
    };
    let base = Base {
        name: "Base".to_owned(),
        variants: vec![Variant::new(4, 0, steps(0), Vec::new())],
        by_member: Some(0),
        is_whole: false,
    };
    let inner = Class::new("Inner", true, types(0), vec![Variant::new(2, 0, vec![Step::Base(base)], Vec::new())]);
    let inner_bytes = framed(2, &framed(4, &fill(values(), bytes)));
    let inner = Node::Object(Arc::new(inner));
    let t_object = Step::TObject { unique_id: 0, bits: 1, may_lack: true };
    let word = DataType::Primitive(Primitive::UInt32);
    let mut outer_types = vec![("fUniqueID".into(), word.clone()), ("fBits".into(), word)];
    outer_types.extend(types(2));
    outer_types.push(("inner".into(), inner.data_type()));
    let mut outer_steps = vec![t_object];
    outer_steps.extend(steps(2));
    outer_steps.push(Step::Member(outer_types.len() - 1, inner));
    let outer = Class::new("Outer", true, outer_types, vec![Variant::new(3, 0, outer_steps, Vec::new())]);
    let content = [&OBJECT[..], &fill(values(), bytes), &inner_bytes].concat();
    (Node::Object(Arc::new(outer)), framed(3, &content))
}

/// Entries in one piece, and their bounds.
fn joined(entries: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
    let mut bounds = vec![2];
    bounds.extend(entries.iter().scan(2, |end, entry| {
        *end += entry.len();
        Some(*end)
    }));
    ([&[0xAA; 2][..], &entries.concat(), &[0xBB; 3]].concat(), bounds)
}

fn check(form: &EntryForm, entries: &[Vec<u8>]) -> bool {
    let (data, bounds) = joined(entries);
    let mut expected = Values::empty(&form.data_type());
    let all = entries.iter().try_for_each(|entry| form.decode_entry(&mut Reader::default(), entry, 0, &mut expected));
    let mut found = Values::empty(&form.data_type());
    let is_done = form.decode_entries(&data, &bounds, &mut found).unwrap();
    if is_done {
        all.unwrap();
        assert_eq!(found, expected);
        // What is there stays.
        form.decode_entries(&data, &bounds, &mut found).unwrap();
        entries
            .iter()
            .try_for_each(|entry| form.decode_entry(&mut Reader::default(), entry, 0, &mut expected))
            .unwrap();
        assert_eq!(found, expected);
    } else {
        assert!(found.is_empty());
    }
    is_done
}

/// Entries of so many objects each, in the three ways in which they stand.
fn forms(item: &Node, objects: &[Vec<u8>], lengths: &[usize]) -> [(EntryForm, Vec<Vec<u8>>); 3] {
    let mut objects_left = objects.iter().cycle();
    let mut entry = |n_objects: usize| objects_left.by_ref().take(n_objects).flatten().copied().collect::<Vec<u8>>();
    let plain = lengths.iter().map(|&n_objects| entry(n_objects)).collect::<Vec<_>>();
    let counted = plain
        .iter()
        .zip(lengths)
        .map(|(entry, &n_objects)| framed(9, &[&u32::try_from(n_objects).unwrap().to_be_bytes()[..], entry].concat()));
    let of = |framed, node| EntryForm::Streamed { framed, node };
    [
        (of(Framing::Framed, Node::List(Box::new(item.clone()))), counted.collect()),
        (of(Framing::Bare, Node::ToEnd(Box::new(item.clone()))), plain),
        (of(Framing::Bare, item.clone()), objects.to_vec()),
    ]
}

proptest! {
    #[test]
    fn records_come_out_as_one_by_one(
        leaves in prop::collection::vec(numbers(), 1..5),
        data in prop::collection::vec(any::<u8>(), 0..300),
        lengths in prop::collection::vec(0_usize..4, 1..5),
    ) {
        let node = Node::Struct(leaves.into_iter().map(|leaf| ("".into(), leaf)).collect());
        let n_bytes = node.min_bytes();
        let objects: Vec<Vec<u8>> = data.chunks_exact(n_bytes).map(<[u8]>::to_vec).collect();
        prop_assume!(!objects.is_empty());
        let has_objects = lengths.iter().any(|&n_objects| n_objects > 0);
        for ((form, entries), expected) in forms(&node, &objects, &lengths).iter().zip([has_objects, has_objects, true]) {
            prop_assert_eq!(check(form, entries), expected);
        }
    }

    #[test]
    fn objects_come_out_as_one_by_one_and_whatever_is_wrong_with_one_is_left(
        leaves in prop::collection::vec(numbers(), 0..3),
        bytes in prop::collection::vec(any::<u8>(), 1..200),
        n_objects in 1_usize..4,
        lengths in prop::collection::vec(0_usize..4, 1..5),
        (wrong_at, wrong) in (any::<prop::sample::Index>(), 1_u8..),
    ) {
        let mut bytes = bytes.into_iter().cycle();
        let made: Vec<_> = (0..n_objects).map(|_| class_and_object(&leaves, &mut bytes)).collect();
        let objects: Vec<Vec<u8>> = made.iter().map(|(_, object)| object.clone()).collect();
        let has_objects = lengths.iter().any(|&n_objects| n_objects > 0);
        let expected = [has_objects, has_objects, true];
        for ((form, mut entries), expected) in forms(&made[0].0, &objects, &lengths).into_iter().zip(expected) {
            prop_assert_eq!(check(&form, &entries), expected);
            // One byte is another: it is a number, or the entries are not taken.
            let index = wrong_at.index(entries.len());
            if let Some(byte) = (!entries[index].is_empty()).then(|| wrong_at.index(entries[index].len())) {
                entries[index][byte] ^= wrong;
                check(&form, &entries);
            }
            // One entry is shorter or longer.
            entries[index].pop();
            check(&form, &entries);
            entries[index].extend([0, 0]);
            check(&form, &entries);
        }
    }

    #[test]
    fn lists_of_packed_numbers_come_out_as_one_by_one(
        (number, dims) in (numbers_of(), prop::collection::vec(1_u32..3, 0..2)),
        lengths in prop::collection::vec(0_usize..4, 1..5),
        bytes in prop::collection::vec(any::<u8>(), 1..50),
    ) {
        let item = array(Node::Number(number), &dims);
        let mut bytes = bytes.into_iter().cycle();
        let objects: Vec<Vec<u8>> = (0..3).map(|_| bytes.by_ref().take(item.min_bytes()).collect()).collect();
        let [vectors, plain, _] = forms(&item, &objects, &lengths);
        for (header, (_, entries)) in [(Header::Vector, vectors), (Header::Nothing, plain)] {
            let form = EntryForm::Jagged { header, number, dims: dims.clone() };
            prop_assert_eq!(check(&form, &entries), lengths.iter().any(|&n_objects| n_objects > 0));
        }
    }

    #[test]
    fn wild_entries_are_read_as_one_by_one_or_not_at_all(
        entries in prop::collection::vec(prop::collection::vec(0_u8..80, 0..30), 0..4),
        leaves in prop::collection::vec(numbers(), 0..2),
    ) {
        let (node, _) = class_and_object(&leaves, &mut std::iter::repeat(0));
        for (form, _) in forms(&node, &[vec![0]], &[1]) {
            check(&form, &entries);
        }
    }
}

#[test]
fn what_is_referenced_or_differs_in_size_is_read_one_by_one() {
    let (node, object) = class_and_object(&[], &mut std::iter::empty());
    let form = EntryForm::Streamed { framed: Framing::Bare, node: node.clone() };
    let named =
        |class: &str, object: &[u8]| [&[u8::try_from(class.len()).unwrap()], class.as_bytes(), &[0], object].concat();
    let pointer = Pointer { class: "Outer".to_owned(), node: node.clone() };
    let of_names = EntryForm::Streamed { framed: Framing::Bare, node: Node::Named(Box::new(pointer)) };
    assert!(check(&of_names, &[named("Outer", &object), named("Outer", &object)]));
    assert!(!check(&of_names, &[named("Outer", &object), named("Older", &object)]));
    assert!(!check(&of_names, &[named("Other", &object), named("Other", &object)]));
    let mut referenced = object.clone();
    referenced[6 + 9] |= 0x10; // kIsReferenced
    referenced.splice(6 + 10..6 + 10, [0, 7]);
    referenced[3] += 2;
    assert!(check(&form, &[object.clone(), object.clone()]));
    for entries in [[referenced.clone(), object.clone()], [object.clone(), referenced]] {
        assert!(!check(&form, &entries));
    }
    let mut inconsistent = object.clone();
    inconsistent[6 + 6] |= 0xC; // kInconsistent and kZombie
    assert!(check(&form, &[inconsistent.clone(), object.clone()]));
    assert!(check(&form, &[object.clone(), inconsistent]));
    for node in [Node::LongText, Node::List(Box::new(node.clone())), Node::Struct(vec![("".into(), Node::Text)])] {
        assert!(!EntryForm::Streamed { framed: Framing::Bare, node }.has_fast_way());
    }
    let mut values = Values::empty(&node.data_type());
    assert!(decode_streamed(&mut Reader::default(), Framing::Bare, &node, &[], 0, &mut values).is_err());
}
