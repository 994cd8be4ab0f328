//! Entries of containers come out as those that are read one by one.

use proptest::prelude::*;

use crate::column::{EntryForm, Framing, MapNode, Node, Number};
use crate::decode::{Reader, Values};
use crate::streamer::{PackingRange, Primitive};

/// A node, for which bytes are made by [`stored`].
fn node() -> impl Strategy<Value = Node> {
    use Primitive::{Bool, Double32, Float16, Float64, Int8, UInt16, UInt32};
    let primitives = prop::sample::select(vec![Bool, Int8, UInt16, UInt32, Float64, Float16, Double32]);
    let number = primitives.prop_map(|primitive| Node::Number(Number::packed(primitive, PackingRange::default())));
    prop_oneof![number, Just(Node::Text)].prop_recursive(3, 8, 1, |inner| {
        let map = (inner.clone(), inner.clone()).prop_map(|(key, value)| {
            let (key_column, value_column) = (key.clone(), value.clone());
            Node::Map(Box::new(MapNode { key, value, key_column, value_column }))
        });
        prop_oneof![3 => inner.prop_map(|item| Node::List(Box::new(item))), 1 => map]
    })
}

/// A value of a node, with lengths and numbers from `bytes`.
fn stored(node: &Node, bytes: &mut dyn Iterator<Item = u8>) -> Vec<u8> {
    let mut length = |most: usize| bytes.next().map_or(0, |byte| usize::from(byte) % (most + 1));
    match node {
        Node::Text => {
            let n_bytes = if length(20) == 20 { 300 } else { length(9) };
            let mut text = if n_bytes < 255 { vec![u8::try_from(n_bytes).unwrap()] } else { vec![255, 0, 0, 1, 44] };
            text.extend(bytes.take(n_bytes));
            text
        }
        Node::List(item) => {
            let n_items = if length(20) == 20 { 70 } else { length(4) };
            let mut list = u32::try_from(n_items).unwrap().to_be_bytes().to_vec();
            (0..n_items).for_each(|_| list.extend(stored(item, bytes)));
            list
        }
        Node::Map(map) => {
            let n_pairs = length(3);
            let mut pairs = u32::try_from(n_pairs).unwrap().to_be_bytes().to_vec();
            for _ in 0..n_pairs {
                pairs.extend(stored(&map.key, bytes));
                pairs.extend(stored(&map.value, bytes));
            }
            pairs
        }
        number => bytes.take(number.min_bytes()).collect(),
    }
}

fn framed(content: &[u8]) -> Vec<u8> {
    let byte_count = 0x4000_0000 | u32::try_from(content.len() + 2).unwrap();
    [&byte_count.to_be_bytes()[..], &[0, 9], content].concat()
}

/// Compares with one by one; returns whether they were read together.
fn check(form: &EntryForm, entries: &[Vec<u8>]) -> bool {
    let mut bounds = vec![3];
    entries.iter().for_each(|entry| bounds.push(bounds.last().unwrap() + entry.len()));
    let data = [&[0xAA; 3][..], &entries.concat(), &[0; 200]].concat();
    let mut expected = Values::empty(&form.data_type());
    let mut reader = Reader::default();
    let all = entries.iter().try_for_each(|entry| form.decode_entry(&mut reader, entry, 0, &mut expected));
    let before = Values::empty(&form.data_type());
    let mut found = before.clone();
    let is_read = form.decode_entries(&data, &bounds, &mut found).unwrap();
    if is_read {
        all.unwrap();
        assert_eq!(found, expected);
    } else {
        assert_eq!(found, before);
        // Again behind what is there: nothing of it is lost.
        if all.is_ok() {
            assert!(!form.decode_entries(&data, &bounds, &mut expected).unwrap());
        }
    }
    is_read
}

proptest! {
    #[test]
    fn containers_come_out_as_one_by_one(
        node in node(),
        bytes in prop::collection::vec(any::<u8>(), 1..100),
        n_entries in 0_usize..6,
        (wrong_at, wrong) in (any::<prop::sample::Index>(), 1_u8..),
    ) {
        let mut bytes = bytes.into_iter().cycle();
        let (framing, node) = match node {
            node @ (Node::List(_) | Node::Map(_)) => (Framing::Framed, node),
            _ => (Framing::Bare, Node::Text),
        };
        let entry = |bytes: &mut dyn Iterator<Item = u8>| match framing {
            Framing::Framed => framed(&stored(&node, bytes)),
            _ => stored(&node, bytes),
        };
        let mut entries: Vec<_> = (0..n_entries).map(|_| entry(&mut bytes)).collect();
        // Lists of numbers alone have kernels of their own.
        let form = EntryForm::Streamed { framed: framing, node: node.clone() };
        prop_assert!(check(&form, &entries));
        if !entries.is_empty() {
            let index = wrong_at.index(entries.len());
            if !entries[index].is_empty() {
                let byte = wrong_at.index(entries[index].len());
                entries[index][byte] ^= wrong;
                check(&form, &entries);
                entries[index].pop();
                check(&form, &entries);
            }
        }
    }

    #[test]
    fn wild_entries_are_read_as_one_by_one_or_not_at_all(
        node in node(),
        entries in prop::collection::vec(prop::collection::vec(0_u8..6, 0..40), 0..4),
        framing in prop::sample::select(vec![Framing::Bare, Framing::Framed, Framing::IfItFits]),
    ) {
        check(&EntryForm::Streamed { framed: framing, node: node.clone() }, &entries);
        let entries: Vec<_> = entries.iter().map(|entry| framed(entry)).collect();
        check(&EntryForm::Streamed { framed: framing, node }, &entries);
    }
}

#[test]
fn texts_may_be_nothing_or_framed() {
    let texts = |framed, node| EntryForm::Streamed { framed, node };
    let (short, none) = (vec![2, b'a', b'b'], Vec::new());
    assert!(check(&texts(Framing::Bare, Node::TextOrNothing), &[short.clone(), none.clone(), short.clone()]));
    assert!(!check(&texts(Framing::Bare, Node::Text), &[short.clone(), none]));
    assert!(check(&texts(Framing::IfItFits, Node::Text), &[short.clone(), short.clone()]));
    assert!(!check(&texts(Framing::IfItFits, Node::Text), &[short.clone(), framed(&short)]));
}

#[test]
fn members_one_by_one_are_not_taken_for_pairs() {
    let number = Node::Number(Number::plain(Primitive::Int8));
    let map = MapNode { key: number.clone(), value: number.clone(), key_column: number.clone(), value_column: number };
    let form = EntryForm::Streamed { framed: Framing::Framed, node: Node::Map(Box::new(map)) };
    let pairs = framed(&[0, 0, 0, 2, 1, 11, 2, 22]);
    assert!(check(&form, std::slice::from_ref(&pairs)));
    let mut by_member = framed(&[0, 0, 0, 0, 0, 2, 1, 2, 11, 22]);
    by_member[4] |= 0x40;
    assert!(!check(&form, &[pairs, by_member]));
}
