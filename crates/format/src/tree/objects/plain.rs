//! ROOT's own classes whose objects name no baskets: where a tree was is all the same to them.

/// Before the name of a class that an object is the first of in a record. Source: `TBufferFile::WriteClass`, `kNewClassTag`.
const NEW_CLASS: [u8; 4] = [0xFF; 4];
/// Such classes, beside histograms, and those of numbers.
const PLAIN: [&str; 41] = [
    "TNamed",
    "TObjString",
    "TList",
    "THashList",
    "TObjArray",
    "TMap",
    "TPair",
    "TH2Poly",
    "TH2PolyBin",
    "TProfile2Poly",
    "TProfile2PolyBin",
    "TF1",
    "TF2",
    "TF3",
    "TF1Parameters",
    "TFormula",
    "TGraph",
    "TGraphErrors",
    "TGraphAsymmErrors",
    "TGraphBentErrors",
    "TGraph2D",
    "TMultiGraph",
    "TCutG",
    "TEfficiency",
    "THStack",
    "TPave",
    "TPaveText",
    "TPaveStats",
    "TPaveLabel",
    "TPaletteAxis",
    "TText",
    "TLatex",
    "TLine",
    "TBox",
    "TMarker",
    "TPolyMarker",
    "TArrow",
    "TBits",
    "TVector3",
    "TLorentzVector",
    "TEventList",
];

/// True if an object of a class, `object`, names no baskets, and none that it points to does.
pub(super) fn is_plain(class: &str, object: &[u8]) -> bool {
    let tags = object.windows(NEW_CLASS.len()).enumerate().filter(|(_, tag)| *tag == NEW_CLASS);
    let mut named = tags.filter_map(|(begin, _)| class_name(&object[begin + NEW_CLASS.len()..]));
    is_plain_class(class.as_bytes()) && named.all(is_plain_class)
}

/// The name of a class that bytes begin with, if they may be one.
fn class_name(bytes: &[u8]) -> Option<&[u8]> {
    let is_first = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let n_bytes = bytes.iter().take_while(|byte| (b' '..=b'~').contains(byte)).count();
    (bytes.first().is_some_and(is_first) && bytes.get(n_bytes) == Some(&0)).then(|| &bytes[..n_bytes])
}

fn is_plain_class(class: &[u8]) -> bool {
    let Ok(class) = std::str::from_utf8(class) else { return false };
    let is_of = |before: &str, kinds: &[&str]| class.strip_prefix(before).is_some_and(|kind| kinds.contains(&kind));
    let is_of_numbers = |before: &str| {
        let kind = class.strip_prefix(before).and_then(|rest| rest.strip_suffix('>'));
        kind.is_some_and(|kind| matches!(kind, "bool" | "int" | "long" | "Long64_t" | "float" | "double"))
    };
    PLAIN.contains(&class)
        || ["TH1", "TH2", "TH3"].iter().any(|before| is_of(before, &["C", "S", "I", "L", "F", "D"]))
        || is_of("TProfile", &["", "2D", "3D"])
        || ["TParameter<", "TVectorT<", "TMatrixT<", "TMatrixTSym<"].into_iter().any(is_of_numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_looked_at_behind_their_tags_too() {
        assert!(is_plain("TH1D", b"..\xff\xff\xff\xffTList\0.."));
        assert!(is_plain("TParameter<double>", &[0xFF; 9]));
        for named in [&b"TTree\0"[..], b"\xffTTree\0", b"Mine\0", b"_mine<a,b >::T\0"] {
            assert!(!is_plain("TH1D", &[&NEW_CLASS, named].concat()), "{named:?}");
        }
        assert!(
            ["TTree", "TNtuple", "TH1Mine", "TProfileMine", "TParameter<Mine>", "Mine", ""]
                .iter()
                .all(|class| !is_plain(class, b""))
        );
    }

    #[test]
    fn what_is_no_name_behind_such_bytes_is_none() {
        for bytes in [&b"\0\0\0\x01"[..], b"TTree", b"1\0", b"T\x80\0"] {
            assert!(is_plain("TH1I", &[&NEW_CLASS, bytes].concat()), "{bytes:?}");
        }
    }
}
