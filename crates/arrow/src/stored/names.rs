//! Names that every format, ROOT's interpreter and uproot take, made of any names and turned back.
//!
//! A name is stored as a C++ identifier of ASCII letters, digits and `_`, which branches, leaves, fields of RNTuples and
//! members of classes may all be called. Any other character stands there as its number in hexadecimal: `jet.pt` is stored
//! as `jet_x2e_pt`, `é` and control characters as `_u00e9_` and `_u000a_`. So does a digit at the beginning (`2nd` is
//! `_x32_nd`), and a `_` with which something begins that looks like such a number; triggers as `EF_xe40_noMu` do not.
//! The empty name is `_x_`. A branch keeps the dots between such names, as many trees have them (`jet.pt`): [`branch_name`].

/// The name of nothing.
const EMPTY: &str = "_x_";

/// The name that is stored for a name.
///
/// No two names have the same: [`original_name`] gives the name back.
pub fn stored_name(name: &str) -> String {
    if name.is_empty() {
        return EMPTY.to_owned();
    }
    // From the end on: whether a `_` looks like the begin of a number depends on what follows as it is stored.
    let mut reversed: Vec<String> = Vec::with_capacity(name.len());
    let mut after = String::new(); // so much of what follows as a number takes
    for (place, character) in name.char_indices().rev() {
        let is_kept = match character {
            '_' => number_at(&after, place == 0).is_none() && !(place == 0 && name == EMPTY),
            '0'..='9' => place > 0,
            other => other.is_ascii_alphabetic(),
        };
        let part = if is_kept { character.to_string() } else { format!("_{}_", number(character)) };
        after.insert_str(0, &part);
        after.truncate(NUMBER_BYTES);
        reversed.push(part);
    }
    reversed.into_iter().rev().collect()
}

/// The name that is stored for a branch of a tree: as [`stored_name`], but `jet.pt` stays. A dot at an end stands for something
/// else in ROOT (`TTree::Bronch`), and so may two in a row.
pub fn branch_name(name: &str) -> String {
    if name.split('.').any(str::is_empty) {
        return stored_name(name);
    }
    name.split('.').map(stored_name).collect::<Vec<_>>().join(".")
}

/// The name of which [`stored_name`] made this one. Names that it would not have made are their own.
pub fn original_name(stored: &str) -> String {
    if stored == EMPTY {
        return String::new();
    }
    let mut name = String::with_capacity(stored.len());
    let mut rest = stored;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match number_at(rest, name.is_empty()).filter(|_| character == '_') {
            Some((number, n_bytes)) => {
                name.push(number);
                rest = &rest[n_bytes..];
            }
            None => name.push(character),
        }
    }
    if stored_name(&name) == stored { name } else { stored.to_owned() }
}

/// The name of a member of a class, or of a class, for a name: as [`stored_name`], and never a word of C++.
pub fn member_name(name: &str) -> String {
    let mut stored = stored_name(name);
    if is_cpp_word(&stored) {
        stored.push('_');
    }
    stored
}

/// True for what C++ (up to C++23) keeps for itself.
pub fn is_cpp_word(name: &str) -> bool {
    const WORDS: &str = " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t \
        char32_t class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield \
        decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if \
        inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public \
        register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch \
        template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile \
        wchar_t while xor xor_eq ";
    WORDS.split_ascii_whitespace().any(|word| word == name)
}

/// A `u`, up to 6 digits and a `_`.
const NUMBER_BYTES: usize = 8;

/// The number of a character between two `_`: of two digits what people type, and of four to six all else, so that few
/// names look like numbers by chance.
fn number(character: char) -> String {
    if matches!(character, ' '..='~') {
        format!("x{:02x}", u32::from(character))
    } else {
        format!("u{:04x}", u32::from(character))
    }
}

/// The character whose number begins here, after its `_`, and the bytes of it: only numbers that [`stored_name`] writes,
/// at the beginning of a name (`is_first`) or within it.
fn number_at(text: &str, is_first: bool) -> Option<(char, usize)> {
    let written = text.split_once('_')?.0;
    let digits = written.strip_prefix(['x', 'u'])?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) || digits.len() > 6 {
        return None;
    }
    let character = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    let may_be_kept = character.is_ascii_alphabetic() || (character.is_ascii_digit() && !is_first);
    (!may_be_kept && number(character) == written).then_some((character, written.len() + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn identifiers_stay_and_all_else_is_numbered() {
        let names = "x nMuon Muon_pt _ __ a_x41_b a_x1_b a_x_b a_x2E_b x2e_ EF_xe40_noMu EF_xe60_ a_xe9_b a_x10_b a_x31_b \
            a_u2e_b a_u00E9_b a_u0041_b a_u000e9_b";
        for name in names.split_whitespace() {
            assert_eq!((stored_name(name), original_name(name)), (name.to_owned(), name.to_owned()));
        }
        for (name, stored) in [
            ("", "_x_"),
            ("_x_", "_x5f_x_"),
            ("jet.pt", "jet_x2e_pt"),
            ("a b", "a_x20_b"),
            ("x[3]", "x_x5b_3_x5d_"),
            ("a/b", "a_x2f_b"),
            ("2nd", "_x32_nd"),
            ("é", "_u00e9_"),
            ("\0", "_u0000_"),
            ("🦀", "_u1f980_"),
            ("a_x2e_b", "a_x5f_x2e_b"),
            ("a_u00e9_b", "a_x5f_u00e9_b"),
            ("_x31_", "_x5f_x31_"),
            ("é_x31_b", "_u00e9__x31_b"),
            ("_x4.", "_x4_x2e_"),
            ("_x40.", "_x5f_x40_x2e_"),
        ] {
            assert_eq!(stored_name(name), stored, "{name:?}");
            assert_eq!(original_name(stored), name, "{stored:?}");
        }
    }

    #[test]
    fn branches_keep_dots_between_names() {
        for (name, stored) in [
            ("jet.pt", "jet.pt"),
            ("a.b.c d", "a.b.c_x20_d"),
            ("a.2nd", "a._x32_nd"),
            ("a_x2e_b", "a_x5f_x2e_b"),
            ("a_x2e_b.c", "a_x5f_x2e_b.c"),
            ("jet.", "jet_x2e_"),
            (".jet", "_x2e_jet"),
            ("a..b", "a_x2e__x2e_b"),
            ("", "_x_"),
        ] {
            assert_eq!(branch_name(name), stored, "{name:?}");
        }
    }

    #[test]
    fn names_of_others_are_their_own() {
        for name in ["a_x02e_b", "jet.pt", "a_x31_", "é", "_xe9_", "_ud800_", "_u110000_", "_x5f_"] {
            assert_eq!(original_name(name), name);
        }
    }

    const PARTS: &[&str] = &[
        "_", "x", "_x", "2e", "_x2e_", "_x5f_", "_x_", "_x31_", "_u00e9_", "u", ".", "5f", "a", "0", "é", " ", "🦀",
        "", "_x40",
    ];

    fn any_name() -> impl Strategy<Value = String> {
        prop_oneof![
            proptest::collection::vec(proptest::sample::select(PARTS), 0..8).prop_map(|parts| parts.concat()),
            proptest::collection::vec(any::<char>(), 0..12).prop_map(|characters| characters.into_iter().collect()),
        ]
    }

    proptest! {
        #[test]
        fn every_name_comes_back(name in any_name()) {
            let stored = stored_name(&name);
            prop_assert!(stored.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()), "{}", stored);
            prop_assert!(!stored.is_empty() && !stored.as_bytes()[0].is_ascii_digit());
            prop_assert_eq!(original_name(&stored), name);
        }

        #[test]
        fn no_two_branches_have_one_name(one in any_name(), other in any_name()) {
            prop_assert!(one == other || branch_name(&one) != branch_name(&other));
        }

        #[test]
        fn what_is_no_stored_name_is_its_own(stored in any_name()) {
            let name = original_name(&stored);
            prop_assert!(name == stored || stored_name(&name) == stored);
        }
    }
}
