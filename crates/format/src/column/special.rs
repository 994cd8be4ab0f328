//! Classes of ROOT that write themselves: their streamer information does not tell how.
//!
//! Source: the `Streamer` functions of these classes (ROOT 6.40).

use super::class::{Class, CountedHead, Step, Variant};
use super::data_type::{DataType, Name};
use super::node::{Node, Number};
use crate::streamer::Primitive;

/// How a class that writes itself does it.
pub(super) enum OwnStreamer {
    /// As this node.
    Node(Node),
    /// With these members.
    Class(Class),
    /// In a way that is not read yet.
    Unreadable(&'static str),
}

/// The streamer of a class, if it is known to have one of its own.
pub(super) fn streamer_of(class: &str) -> Option<OwnStreamer> {
    let numbers = |primitive| Some(OwnStreamer::Node(Node::List(Box::new(number(primitive)))));
    match class {
        "TString" => Some(OwnStreamer::Node(Node::Text)),
        "TObject" => Some(OwnStreamer::Class(t_object())),
        "TDatime" => Some(OwnStreamer::Class(t_datime())),
        "TRef" => Some(OwnStreamer::Class(t_ref())),
        "TRefArray" => Some(OwnStreamer::Class(t_ref_array())),
        "TArrayC" => numbers(Primitive::Int8),
        "TArrayS" => numbers(Primitive::Int16),
        "TArrayI" => numbers(Primitive::Int32),
        "TArrayL" | "TArrayL64" => numbers(Primitive::Int64),
        "TArrayF" => numbers(Primitive::Float32),
        "TArrayD" => numbers(Primitive::Float64),
        "TQObject" => Some(OwnStreamer::Node(Node::Struct(Vec::new()))),
        "TClonesArray" | "TObjArray" | "TList" | "THashList" | "TSortedList" | "TOrdCollection" | "THashTable"
        | "TCollection" | "TSeqCollection" | "TMap" | "TExMap" | "TBtree" | "TBasket" | "TBranchClones"
        | "TDirectory" | "TDirectoryFile" | "TFile" | "TKey" | "TClassTree" | "TASImage" | "TMaterial" | "TMixture"
        | "TPointSet3D" | "TGraphEdge" | "TGraphNode" | "TGraphStruct" | "TEveTrans" | "TStringLong"
        | "ROOT::RNTuple" => Some(OwnStreamer::Unreadable("which has a streamer of its own")),
        _ if class.starts_with("TMatrixTSym<") => Some(OwnStreamer::Unreadable("which has a streamer of its own")),
        _ => None,
    }
}

/// True for `TObject`, and for classes that write themselves as this base of theirs, without a frame: those of version 0 in ROOT.
pub(crate) fn is_bare_object(class: &str) -> bool {
    matches!(class, "TObject" | "TVirtualPerfStats")
}

fn number(primitive: Primitive) -> Node {
    Node::Number(Number::plain(primitive))
}

fn class(name: &str, is_framed: bool, members: &[(&str, DataType)], steps: Vec<Step>) -> Class {
    let members = members.iter().map(|(name, data_type)| (Name::from(*name), data_type.clone())).collect();
    Class::new(name, is_framed, members, vec![Variant::new(1, 0, steps, Vec::new())])
}

const U32: DataType = DataType::Primitive(Primitive::UInt32);
const U16: DataType = DataType::Primitive(Primitive::UInt16);
const I32: DataType = DataType::Primitive(Primitive::Int32);

fn t_object() -> Class {
    let steps = vec![Step::TObject { unique_id: 0, bits: 1, may_lack: false }];
    class("TObject", false, &[("fUniqueID", U32), ("fBits", U32)], steps)
}

fn t_datime() -> Class {
    class("TDatime", false, &[("fDatime", U32)], vec![Step::Member(0, number(Primitive::UInt32))])
}

/// `ref` is the unique number of the object that it refers to, `@pidf` the place of its process in the file: null if the
/// object has a UUID, as directories do.
fn t_ref() -> Class {
    let steps = vec![Step::TObject { unique_id: 0, bits: 1, may_lack: false }, Step::Process { index: 2, bits: 1 }];
    class("TRef", false, &[("ref", U32), ("fBits", U32), ("@pidf", DataType::Optional(Box::new(U16)))], steps)
}

fn t_ref_array() -> Class {
    let members = [
        ("fUniqueID", U32),
        ("fBits", U32),
        ("fName", DataType::Text),
        ("fSize", I32),
        ("@fLowerBound", I32),
        ("@pidf", U16),
        ("refs", DataType::List(Box::new(U32))),
    ];
    let steps = vec![
        Step::TObject { unique_id: 0, bits: 1, may_lack: false },
        Step::Member(2, Node::Text),
        Step::Member(3, number(Primitive::Int32)),
        Step::Member(4, number(Primitive::Int32)),
        Step::Member(5, number(Primitive::UInt16)),
        Step::Counted { index: 6, item: number(Primitive::UInt32), counter: 3, factor: 1, head: CountedHead::Nothing },
    ];
    class("TRefArray", true, &members, steps)
}
