//! Classes of ROOT whose own streamers write members one after the other, but not those that the file describes.
//!
//! Source: the `Streamer` functions of these classes (ROOT 6.40).

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use super::code;
use crate::streamer::{Element, StreamerInfo};

const BASE: i32 = 0;
const SHORT: i32 = 2;
const INT: i32 = 3;
const FLOAT: i32 = 5;
const COUNTER: i32 = 6;
const DOUBLE: i32 = 8;
const UNSIGNED: i32 = 13;
const LONG64: i32 = 16;
const BOOL: i32 = 18;
/// Versions that later ROOT may give to classes whose way did not change for long.
const LATER: u16 = 20;

/// What such a class writes, by version; nothing for all others.
pub(super) fn infos_of(class: &str) -> &'static [StreamerInfo] {
    static INFOS: LazyLock<HashMap<&str, Vec<StreamerInfo>>> = LazyLock::new(|| {
        let classes = [
            ("TCanvas", canvas()),
            ("TPolyLine3D", versions(1..=1, |_| points_3d("TAttLine"))),
            ("TPolyMarker3D", versions(1..=3, poly_marker_3d)),
            ("TTreeIndex", versions(1..=2, tree_index)),
            ("RooAbsBinning", versions(2..=2, |_| vec![base("TNamed"), base("RooPrintable")])),
            ("RooRealVar", [versions(2..=2, roo_real_var), versions(4..=LATER, roo_real_var)].concat()),
            ("RooRefArray", versions(1..=1, |_| vec![base("TRefArray")])),
        ];
        let named = |(class, mut infos): (&'static str, Vec<StreamerInfo>)| {
            infos.iter_mut().for_each(|info| class.clone_into(&mut info.name));
            (class, infos)
        };
        classes.into_iter().map(named).collect()
    });
    INFOS.get(class).map_or(&[], Vec::as_slice)
}

fn versions(versions: RangeInclusive<u16>, elements: impl Fn(u16) -> Vec<Element>) -> Vec<StreamerInfo> {
    let info = |version| StreamerInfo {
        name: String::new(),
        checksum: 0,
        version,
        info_version: 9,
        elements: elements(version),
        ..StreamerInfo::default()
    };
    versions.map(info).collect()
}

fn base(name: &str) -> Element {
    Element::member(name, "BASE", BASE)
}

fn text(name: &str) -> Element {
    Element::member(name, "TString", code::T_STRING)
}

/// A pointer to an object.
fn pointer(name: &str, class: &str) -> Element {
    Element::member(name, &format!("{class}*"), code::OBJECT_POINTER)
}

/// So many numbers for each count, and no flag before them.
fn numbers(name: &str, type_name: &str, item_code: i32, counter: &str, factor: u32) -> Element {
    let array = Element::member(name, &format!("{type_name}*"), code::UNFLAGGED + item_code);
    Element { count_name: counter.to_owned(), array_length: factor, ..array }
}

/// Not in the order of its streamer information, and some of its bits as bools.
fn canvas() -> Vec<StreamerInfo> {
    let float = |name| Element::member(name, "float", FLOAT);
    let int = |name| Element::member(name, "int", INT);
    let unsigned = |name| Element::member(name, "unsigned int", UNSIGNED);
    let bool = |name| Element::member(name, "bool", BOOL);
    versions(4..=8, |_| {
        vec![
            base("TPad"),
            text("fDISPLAY"),
            int("fDoubleBuffer"),
            bool("fRetained"),
            float("fXsizeUser"),
            float("fYsizeUser"),
            float("fXsizeReal"),
            float("fYsizeReal"),
            int("fWindowTopX"),
            int("fWindowTopY"),
            unsigned("fWindowWidth"),
            unsigned("fWindowHeight"),
            unsigned("fCw"),
            unsigned("fCh"),
            Element::member("fCatt", "TAttCanvas", code::ANY),
            bool("kMoveOpaque"),
            bool("kResizeOpaque"),
            Element::member("fHighLightColor", "short", SHORT),
            bool("fBatch"),
            bool("kShowEventStatus"),
            bool("kAutoExec"),
            bool("kMenuBar"),
        ]
    })
}

fn points_3d(attributes: &str) -> Vec<Element> {
    let counter = Element::member("fN", "int", COUNTER);
    vec![base("TObject"), base(attributes), counter, numbers("fP", "float", FLOAT, "fN", 3), text("fOption")]
}

fn poly_marker_3d(version: u16) -> Vec<Element> {
    let mut elements = points_3d("TAttMarker");
    if version > 1 {
        elements.push(text("fName"));
    }
    elements
}

fn tree_index(version: u16) -> Vec<Element> {
    let values = |name| numbers(name, "Long64_t", LONG64, "fN", 1);
    let counter = Element::member("fN", "Long64_t", LONG64);
    let mut elements = vec![base("TVirtualIndex"), text("fMajorName"), text("fMinorName"), counter];
    elements.push(values("fIndexValues"));
    if version > 1 {
        elements.push(values("fIndexValuesMinor"));
    }
    elements.push(values("fIndex"));
    elements
}

fn roo_real_var(version: u16) -> Vec<Element> {
    let double = |name| Element::member(name, "double", DOUBLE);
    let mut elements = vec![base("RooAbsRealLValue"), double("_error"), double("_asymErrLo"), double("_asymErrHi")];
    elements.push(pointer("_binning", "RooAbsBinning"));
    if version > 3 {
        elements.push(Element::member("_sharedProp", "RooRealVarSharedProperties", code::ANY));
    }
    elements
}
