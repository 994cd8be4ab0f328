//! Which classes are merged by their numbers.

use arrowroot::format::streamer::StreamerInfos;

use super::layout::Number;

/// True if objects of a class are graphs, whose points can be found.
pub(crate) fn is_graph(class: &str) -> bool {
    matches!(class, "TGraph" | "TGraphErrors" | "TGraphAsymmErrors" | "TGraphBentErrors")
}

/// True if objects of a class are parameters whose values are added.
pub(crate) fn is_parameter(class: &str) -> bool {
    let kind = class.strip_prefix("TParameter<").and_then(|rest| rest.strip_suffix('>'));
    kind.is_some_and(|kind| matches!(kind, "bool" | "int" | "long" | "Long64_t" | "float" | "double"))
}

/// True if objects of a class are histograms or profiles, whose numbers can be found.
pub(crate) fn is_histogram(class: &str) -> bool {
    let kind = class.strip_prefix("TH").filter(|rest| rest.starts_with(['1', '2', '3']));
    kind.is_some_and(|rest| matches!(&rest[1..], "C" | "S" | "I" | "L" | "F" | "D"))
        || matches!(class, "TProfile" | "TProfile2D" | "TProfile3D")
}

/// The number of axes of a histogram or profile.
pub(crate) fn n_axes(class: &str) -> usize {
    let digit = class.bytes().find(u8::is_ascii_digit);
    digit.map_or(1, |digit| usize::from(digit - b'0'))
}

/// True if objects of a class are lists of objects, which are added one by one.
pub(crate) fn is_list(class: &str) -> bool {
    matches!(class, "TList" | "THashList" | "TObjArray")
}

/// True if objects of a class are histograms whose bins are polygons, each an object of its own.
pub(crate) fn is_poly(class: &str) -> bool {
    matches!(class, "TH2Poly" | "TProfile2Poly")
}

/// True if objects of a class are bins of such, whose polygons are in them.
pub(crate) fn is_poly_bin(class: &str) -> bool {
    class == "TH2PolyBin" || is_mean(class)
}

/// True if objects of a class are bins of a profile, whose means follow from sums.
pub(crate) fn is_mean(class: &str) -> bool {
    class == "TProfile2PolyBin"
}

/// True if numbers of an object of a class are added.
pub(crate) fn is_added(class: &str) -> bool {
    is_histogram(class)
        || is_parameter(class)
        || is_poly(class)
        || matches!(class, "THStack" | "TEfficiency")
        || class.strip_prefix("THnT<").is_some_and(|kind| {
            matches!(kind, "double>" | "float>" | "int>" | "short>" | "char>" | "Long64_t>" | "long>")
        })
}

/// True if objects of a class are histograms that store their filled bins alone, which can be found.
pub(crate) fn is_sparse(class: &str) -> bool {
    let array = class.strip_prefix("THnSparseT<").and_then(|rest| rest.strip_suffix('>'));
    array.is_some_and(|array| array_of(array).is_some())
}

/// Classes whose objects ROOT merges, and those of classes that derive from them: part of the data is in each. Shapes to draw
/// (`TPolyLine`, `TPolyMarker`), which it merges, too, are not among them. Source: `TClass::GetMerge` (ROOT 6.40).
const MERGED_BY_ROOT: [&str; 20] = [
    "TH1",
    "TH1K",
    "THnBase",
    "THStack",
    "TEfficiency",
    "TGraph",
    "TGraph2D",
    "TMultiGraph",
    "TEventList",
    "TEntryList",
    "TStatistic",
    "TFileCollection",
    "TLinearFitter",
    "TList",
    "TObjArray",
    "TClonesArray",
    "TOrdCollection",
    "TSortedList",
    "TBtree",
    "TRefArray",
];
/// A region to select in: points of several are no region.
const REGION: &str = "TCutG";

/// True if ROOT merges objects of a class: of one that is not merged here the first alone would be part of the data. `infos`: of
/// its file.
pub(crate) fn is_merged_by_root(class: &str, infos: &StreamerInfos) -> bool {
    let is_one = |class: &str| MERGED_BY_ROOT.contains(&class) || class.starts_with("TParameter<");
    let root = StreamerInfos::of_root();
    class != REGION
        && (is_one(class)
            || infos.bases_of(class).into_iter().chain(root.bases_of(class)).any(is_one)
            || ["THn<", "THnT<", "THnSparseT<"].iter().any(|begin| class.starts_with(begin)))
}

/// The numbers of an array of ROOT.
pub(crate) fn array_of(class: &str) -> Option<Number> {
    Some(match class {
        "TArrayC" => Number::Int8,
        "TArrayS" => Number::Int16,
        "TArrayI" => Number::Int32,
        "TArrayL" | "TArrayL64" => Number::Int64,
        "TArrayF" => Number::Float32,
        "TArrayD" => Number::Float64,
        _ => return None,
    })
}

/// The numbers of a vector.
pub(crate) fn vector_of(class: &str) -> Option<Number> {
    Some(match class.strip_prefix("vector<")?.strip_suffix('>')? {
        "char" => Number::Int8,
        "short" => Number::Int16,
        "int" => Number::Int32,
        "long" | "Long64_t" => Number::Int64,
        "float" => Number::Float32,
        "double" => Number::Float64,
        _ => return None,
    })
}

/// The number of a type code, if it can be added, and its bytes in a file.
pub(crate) fn basic(code: i32) -> Option<(Option<Number>, usize)> {
    Some(match code {
        1 | 11 => (None, 1),
        18 => (Some(Number::Bool), 1),
        2 | 12 => (None, 2),
        3 | 6 => (Some(Number::Int32), 4),
        13 | 15 => (None, 4),
        4 | 16 => (Some(Number::Int64), 8),
        14 | 17 => (None, 8),
        5 => (Some(Number::Float32), 4),
        8 => (Some(Number::Float64), 8),
        _ => return None,
    })
}

/// True for members that are sums over the fills.
pub(crate) fn is_sum(class: &str, name: &str) -> bool {
    let is_of_histogram = class.starts_with("TH") || class.starts_with("TProfile");
    is_of_histogram && (name == "fEntries" || name.starts_with("fTsum"))
        || class.starts_with("TParameter<") && name == "fVal"
        || class == "TGraph" && name == "fNpoints"
        || matches!((class, name), ("TH2Poly", "fOverflow") | ("TH2PolyBin", "fContent"))
        || is_mean(class) && name.starts_with("fSum")
}

/// True for members that must be the same in all.
pub(crate) fn is_same(class: &str, name: &str) -> bool {
    let of_class: &[&str] = match class {
        "TAxis" => &["fNbins", "fXmin", "fXmax"],
        "TH2Poly" => &["fCellX", "fCellY", "fNCells"],
        "TH2PolyBin" => &["fNumber", "fXmin", "fXmax", "fYmin", "fYmax"],
        _ => &[],
    };
    matches!(name, "fNcells" | "fNdimensions") || of_class.contains(&name)
}
