//! Object graphs from bytes made by hand: what is right is read, what is made to harm is refused.

use crate::decode::graph::{Content, OUTERMOST, Object, ObjectGraph, read_graph};
use crate::decode::values::Values;
use crate::error::{Error, Result};
use crate::streamer::StreamerInfos;

const KEY_BYTES: usize = 50;

fn builtin() -> StreamerInfos {
    StreamerInfos::default().with_builtin()
}

fn read(class: &str, data: &[u8]) -> Result<ObjectGraph> {
    read_graph(class, data, KEY_BYTES, &builtin())
}

/// A byte count and what it counts.
fn counted(inside: &[u8]) -> Vec<u8> {
    let n_bytes = 0x4000_0000 | u32::try_from(inside.len()).unwrap();
    [&n_bytes.to_be_bytes(), inside].concat()
}

const OBJECT: [u8; 10] = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0];

fn object_string(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap();
    counted(&[&[0, 1], OBJECT.as_slice(), &[length], text.as_bytes()].concat())
}

/// A pointer to an object of a class that is named here.
fn pointer(class: &str, object: &[u8]) -> Vec<u8> {
    counted(&[&[0xff; 4], class.as_bytes(), &[0], object].concat())
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let n_items = u32::try_from(items.len()).unwrap().to_be_bytes();
    let items: Vec<u8> = items.iter().flat_map(|item| [item.as_slice(), &[0]].concat()).collect();
    counted(&[&[0, 5], OBJECT.as_slice(), &[0], &n_items, &items].concat())
}

fn links(object: &Object) -> Vec<u32> {
    let Ok(Content::Value(_, Values::Struct(1, members))) = &object.content else {
        panic!("no list: {:?}", object.content)
    };
    let Some((_, Values::List(_, items))) = members.last() else { panic!("no items") };
    let Values::Struct(_, items) = &**items else { panic!("no structs") };
    let Values::Links(links) = &items[0].1 else { panic!("no links") };
    links.clone()
}

fn error_of(object: &Object) -> String {
    object.content.as_ref().map_or_else(ToString::to_string, |values| panic!("it was read: {values:?}"))
}

#[test]
fn what_is_built_in_describes_the_classes_of_root() {
    let infos = builtin();
    assert!(infos.failed().is_empty());
    for class in ["TH1F", "TH3D", "TProfile2D", "TGraphAsymmErrors", "TParameter<double>", "TAxis", "TObjString"] {
        assert!(infos.latest(class).is_some(), "{class}");
    }
    assert_eq!(infos.bases_of("TH1F").first(), Some(&"TH1"));
    assert!(infos.bases_of("TProfile").contains(&"TAttLine"));
}

#[test]
fn lists_hold_objects_nulls_and_references_to_objects_and_themselves() {
    // The list begins with 21 bytes; the first pointer's number is its place behind the key, and 2 more.
    let number = u32::try_from(21 + KEY_BYTES + 2).unwrap();
    let items = [
        pointer("TObjString", &object_string("one")),
        vec![0; 4],
        number.to_be_bytes().to_vec(),
        OUTERMOST.to_be_bytes().to_vec(),
    ];
    let graph = read("TList", &list(&items)).unwrap();
    assert_eq!(links(&graph.objects[&OUTERMOST]), [number, 0, number, OUTERMOST]);
    assert_eq!(graph.objects.len(), 2);
    let Ok(Content::Value(_, Values::Struct(1, members))) = &graph.objects[&number].content else { panic!("not read") };
    assert_eq!(members.last().unwrap().1, Values::Text(vec![3], b"one".to_vec()));
}

#[test]
fn an_object_that_cannot_be_read_does_not_hinder_the_others() {
    let strange = counted(&[0, 1, 9, 9, 9]);
    let cut = counted(&[&[0, 1], OBJECT.as_slice(), &[200, b'x']].concat());
    let items = [pointer("Strange", &strange), pointer("TObjString", &cut), pointer("TObjString", &object_string("z"))];
    let graph = read("TList", &list(&items)).unwrap();
    let found = links(&graph.objects[&OUTERMOST]).into_iter().map(|link| &graph.objects[&link]);
    let found: Vec<&Object> = found.collect();
    assert!(error_of(found[0]).contains("Strange, which the file does not describe"), "{}", error_of(found[0]));
    assert_eq!(found[0].class, "Strange");
    assert!(matches!(&found[1].content, Err(Error::Truncated(_))), "{:?}", found[1].content);
    assert!(found[2].content.is_ok());
}

#[test]
fn a_class_that_nothing_describes_is_named() {
    let Err(Error::Unsupported(fault)) = read("Strange", &counted(&[0, 1, 2])) else { panic!("not unsupported") };
    assert!(fault.what.contains("Strange, which the file does not describe"), "{}", fault.what);
}

#[test]
fn references_to_nowhere_are_the_fault_of_what_they_lead_to() {
    let data = list(&[vec![0, 0, 0, 60], vec![0, 0, 0xff, 0xff]]);
    let graph = read("TList", &data).unwrap();
    for link in links(&graph.objects[&OUTERMOST]) {
        assert!(error_of(&graph.objects[&link]).contains("where none is"));
        assert!(graph.objects[&link].range.is_empty());
        assert!(graph.objects[&link].range.end <= data.len());
    }
}

#[test]
fn more_or_fewer_bytes_than_the_object_takes_are_corrupt() {
    let text = object_string("abc");
    assert!(matches!(read("TObjString", &[text.as_slice(), &[0]].concat()), Err(Error::Corrupt(_))));
    assert!(read("TObjString", &text[..text.len() - 1]).is_err());
    assert!(read("TObjString", &[]).is_err());
    let mut short = text.clone();
    short[3] -= 1;
    assert!(matches!(read("TObjString", &short), Err(Error::Corrupt(_))));
}

#[test]
fn counts_beyond_the_data_take_no_memory() {
    let head = [&[0, 5], OBJECT.as_slice(), &[0, 0x7f, 0xff, 0xff, 0xff]].concat();
    assert!(matches!(read("TList", &counted(&head)), Err(Error::Corrupt(_))));
    let array = [&[0, 3], OBJECT.as_slice(), &[0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]].concat();
    assert!(matches!(read("TObjArray", &counted(&array)), Err(Error::Corrupt(_))));
    let clones = [&[0, 4], OBJECT.as_slice(), &[0, 7], b"TNamed;", &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]].concat();
    assert!(matches!(read("TClonesArray", &counted(&clones)), Err(Error::Corrupt(_))));
}

#[test]
fn lists_in_lists_are_read_however_deep_they_are() {
    let mut nested = list(&[]);
    for _ in 0..2000 {
        nested = list(&[pointer("TList", &nested)]);
    }
    let graph = read("TList", &nested).unwrap();
    assert_eq!(graph.objects.len(), 2001);
    assert!(graph.objects.values().all(|object| object.content.is_ok()));
}

#[test]
fn lists_without_byte_counts_are_read_to_a_bounded_depth() {
    let bare_list = |item: &[u8]| [&[0, 5], OBJECT.as_slice(), &[0, 0, 0, 0, 1], item, &[0]].concat();
    let bare_pointer = |object: &[u8]| [&[0xff; 4], b"TList\0".as_slice(), object].concat();
    let nested = |depth| (0..depth).fold(bare_list(&[0; 4]), |inner, _| bare_list(&bare_pointer(&inner)));
    assert_eq!(read("TList", &nested(10)).unwrap().objects.len(), 11);
    let Err(Error::Unsupported(fault)) = read("TList", &nested(1000)) else { panic!("not unsupported") };
    assert!(fault.what.contains("deep"), "{}", fault.what);
}

#[test]
fn arrays_of_clones_in_clones_are_read_to_a_bounded_depth() {
    let clones = |class: &str, n_objects: u8, objects: &[u8]| {
        let length = u8::try_from(class.len()).unwrap();
        let head = [&[0, 4], OBJECT.as_slice(), &[0, length], class.as_bytes(), &[0, 0, 0, n_objects, 0, 0, 0, 0]];
        counted(&[head.concat().as_slice(), objects].concat())
    };
    let nested = |depth| {
        (0..depth).fold(clones("TClonesArray;4", 0, &[]), |inner, _| {
            clones("TClonesArray;4", 1, &[&[1], inner.as_slice()].concat())
        })
    };
    assert!(read("TClonesArray", &nested(5)).is_ok());
    assert!(matches!(read("TClonesArray", &nested(1000)), Err(Error::Unsupported(_))));
    let missing = clones("TObjString;1", 2, &[&[0, 1], object_string("x").as_slice()].concat());
    let graph = read("TClonesArray", &missing).unwrap();
    let items = graph.objects.values().find(|object| object.class.is_empty()).unwrap();
    let Ok(Content::Value(_, Values::List(ends, objects))) = &items.content else { panic!("no list") };
    let Values::Optional(is_there, _) = &**objects else { panic!("no gaps") };
    assert_eq!((ends.as_slice(), is_there.as_slice()), ([2].as_slice(), [0, 1].as_slice()));
}

#[test]
fn trees_are_left_to_who_reads_trees_and_lists_may_hold_themselves() {
    let items = |first: &[u8]| list(&[pointer("TTree", first), vec![0, 0, 0, 1], vec![0, 0, 0, 1]]);
    let graph = read("TList", &items(&[1, 2, 3])).unwrap();
    let [tree, itself, again] = links(&graph.objects[&OUTERMOST])[..] else { panic!("three items") };
    assert_eq!((itself, again), (OUTERMOST, OUTERMOST));
    let tree = &graph.objects[&tree];
    assert!(matches!(tree.content, Ok(Content::Tree)), "{:?}", tree.content);
    // Its own bytes, whatever they are, and its class.
    assert_eq!((items(&[1, 2, 3]).get(tree.range.clone()), &*tree.class), (Some(&[1, 2, 3][..]), "TTree"));
    assert!(matches!(read("TTree", &[7]).unwrap().objects[&OUTERMOST].content, Ok(Content::Tree)));
}
