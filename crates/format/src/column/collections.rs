//! ROOT's collections, and other classes of it that hold objects and write themselves.
//!
//! Source: their `Streamer` functions (ROOT 6.40).

use super::class::{Base, Class, CountedHead, Step, Variant};
use super::data_type::{DataType, Name};
use super::node::{Node, Number};
use super::special::{self, OwnStreamer};
use crate::streamer::{Primitive, StreamerInfos};

/// Whether a class of ROOT stores itself in a way that [`streamer_of`] knows, or is a `TClonesArray`.
pub(super) fn has_streamer(class: &str) -> bool {
    class == "TClonesArray" || streamer_of(class, &mut |_| Node::Link).is_some()
}

/// Whether a class is one of ROOT's own: it is known without a file, or stores itself in a way that is known.
pub fn is_of_root(class: &str) -> bool {
    // Of a template one is known for all.
    let of_doubles = class.split_once('<').map(|(template, _)| format!("{template}<double>"));
    has_streamer(class)
        || special::streamer_of(class).is_some()
        || StreamerInfos::is_of_root(of_doubles.as_deref().unwrap_or(class))
}

/// How a collection of ROOT stores itself.
///
/// `object`: a pointer to an object in it, by the name of the member.
pub(super) fn streamer_of(class: &str, object: &mut dyn FnMut(&str) -> Node) -> Option<OwnStreamer> {
    Some(OwnStreamer::Class(match class {
        // The hash list and the sorted list write themselves as the list that they derive from.
        "TList" | "THashList" | "TSortedList" => {
            // Each with the option it was added with.
            let item = structure(&[("object", object("object")), ("option", Node::Text)]);
            collection(class, "fItems", item, &[5, 4])
        }
        "TMap" => {
            let pair = structure(&[("key", object("key")), ("value", object("value"))]);
            collection(class, "fPairs", pair, &[3])
        }
        // These write themselves as TCollection does.
        "TCollection" | "TSeqCollection" | "TOrdCollection" | "THashTable" => {
            collection(class, "fObjects", object("fObjects"), &[3])
        }
        "TObjArray" => object_array(object("fObjects")),
        "RooLinkedList" => linked_list(object("fObjects")),
        "TExMap" => {
            let (hash, key) = (("hash", number(Primitive::UInt64)), ("key", number(Primitive::Int64)));
            let slot = ("slot", number(Primitive::Int32));
            let pair = structure(&[slot, hash, key, ("value", number(Primitive::Int64))]);
            let head = Head::object().member("fSize", number(Primitive::Int32));
            head.member("fPairs", Node::List(Box::new(pair))).class(class, &[3])
        }
        "RooWorkspace::CodeRepo" => code_repository(),
        "TStringLong" => return Some(OwnStreamer::Node(Node::LongText)),
        _ => return None,
    }))
}

/// How a symmetric matrix stores itself: as its base, and then the upper right triangle, row by row.
///
/// `base`: its `TMatrixTBase`. Source: `TMatrixTSym::Streamer`.
pub(super) fn symmetric_matrix(name: &str, item: Primitive, base: &Class) -> Option<Class> {
    let rows = base.members.iter().position(|(name, _)| &**name == "fNrows")?;
    let mut members = base.members.to_vec();
    let item = number(item);
    members.push((Name::from("fElements"), DataType::List(Box::new(item.data_type()))));
    let first = Base { name: base.name.clone(), variants: base.variants.clone(), by_member: None, is_whole: false };
    let head = CountedHead::Triangle;
    let triangle = Step::Counted { index: members.len() - 1, item, counter: rows, factor: 1, head };
    let variant = Variant::new(0, 0, vec![Step::Base(first), triangle], Vec::new());
    Some(Class::new(name, false, members, vec![variant]))
}

/// The name of a base that is an array of numbers, as in ROOT's JSON. Source: `TArray` and its classes.
pub(super) fn array_name(base: &str) -> &str {
    if base.starts_with("TArray") { "fArray" } else { base }
}

const U32: DataType = DataType::Primitive(Primitive::UInt32);

fn number(primitive: Primitive) -> Node {
    Node::Number(Number::plain(primitive))
}

fn structure(members: &[(&str, Node)]) -> Node {
    Node::Struct(members.iter().map(|(name, node)| (Name::from(*name), node.clone())).collect())
}

/// Members and steps of a class of ROOT, from the first on.
struct Head {
    members: Vec<(Name, DataType)>,
    steps: Vec<Step>,
}

impl Head {
    /// A `TObject`.
    fn object() -> Self {
        let members = ["fUniqueID", "fBits"].map(|name| (Name::from(name), U32)).to_vec();
        Head { members, steps: vec![Step::TObject { unique_id: 0, bits: 1, may_lack: false }] }
    }

    /// A `TObject` and the name that collections have.
    fn collection() -> Self {
        Head::object().member("fName", Node::Text)
    }

    fn member(mut self, name: &str, node: Node) -> Self {
        self.members.push((Name::from(name), node.data_type()));
        self.steps.push(Step::Member(self.members.len() - 1, node));
        self
    }

    /// The class, whose `versions` do not differ in the file.
    fn class(self, name: &str, versions: &[u16]) -> Class {
        let variant = |&version| Variant::new(version, 0, self.steps.clone(), Vec::new());
        let variants = versions.iter().map(variant).collect();
        Class::new(name, true, self.members, variants)
    }
}

/// A collection whose items stand behind their number.
fn collection(class: &str, items: &str, item: Node, versions: &[u16]) -> Class {
    Head::collection().member(items, Node::List(Box::new(item))).class(class, versions)
}

/// The lower bound stands between the number of objects and the objects.
fn object_array(item: Node) -> Class {
    let head = Head::collection();
    let mut head = head.member("fSize", number(Primitive::Int32)).member("fLowerBound", number(Primitive::Int32));
    head.members.push((Name::from("fObjects"), DataType::List(Box::new(item.data_type()))));
    let nothing = CountedHead::Nothing;
    head.steps.push(Step::Counted { index: 5, item, counter: 3, factor: 1, head: nothing });
    head.class("TObjArray", &[3])
}

/// RooFit's list: its name stands behind the objects.
fn linked_list(item: Node) -> Class {
    let objects = Head::object().member("fObjects", Node::List(Box::new(item)));
    objects.member("fName", Node::Text).class("RooLinkedList", &[3, 2])
}

/// The code of classes that a workspace brings along, by name.
fn code_repository() -> Class {
    let texts = |names: &[&str]| {
        let members: Vec<(&str, Node)> = names.iter().map(|&name| (name, Node::Text)).collect();
        Node::List(Box::new(structure(&members)))
    };
    Head { members: Vec::new(), steps: Vec::new() }
        .member("_fmap", texts(&["name", "_hext", "_hfile", "_cxxfile"]))
        .member("_c2fmap", texts(&["name", "_baseName", "_fileBase"]))
        .member("_ehmap", texts(&["name", "_hname", "_hfile"]))
        .class("RooWorkspace::CodeRepo", &[2])
}
