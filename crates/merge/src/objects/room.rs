//! Keys of objects that are written behind 2 GB of a file: those have offsets of 64 bits, and are longer.

use arrowroot::format::container::{Key, START_OF_LARGE};

use super::references::{Pointer, references};
use crate::error::Result;
use crate::merging::Output;

/// True if the file may grow over 2 GB before objects are written that are held back now.
pub(super) fn may_grow_large(output: &Output) -> Result<bool> {
    Ok(output.file.with_appender(|appender| Ok(appender.position()))? > START_OF_LARGE / 2)
}

/// The key of an object with offsets of 64 bits. References in the object, which count from the start of the key, are moved.
///
/// `pointers`: those in the object. `None`, and the object as it is, if the key has such offsets already, or there may be
/// other pointers in the object.
pub(super) fn enlarged(key: &Key, object: &mut [u8], pointers: &[Pointer]) -> Option<Key> {
    if key.is_large() || usize::from(key.key_bytes) != key.header_bytes_parsed {
        return None;
    }
    let mut large = Key::new(true, &key.class_name, &key.name, &key.title).ok()?;
    let by = u32::from(large.key_bytes.checked_sub(key.key_bytes)?);
    let references = references(pointers, object, key.key_bytes.into(), 0)?;
    // All of them, or none.
    let moved: Vec<(usize, u32)> = references
        .into_iter()
        .map(|(at, _)| Some((at, u32::from_be_bytes(*object.get(at..)?.first_chunk::<4>()?).checked_add(by)?)))
        .collect::<Option<_>>()?;
    for (at, reference) in moved {
        *object.get_mut(at..)?.first_chunk_mut::<4>()? = reference.to_be_bytes();
    }
    (large.head.object_bytes, large.head.pid_offset) = (key.object_bytes, key.pid_offset);
    Some(large)
}

/// True if objects of a class hold no pointers: texts, and what the standard library makes of numbers and texts.
pub(super) fn has_no_pointers(class: &str) -> bool {
    const WORDS: [&str; 28] = [
        "std",
        "vector",
        "list",
        "deque",
        "set",
        "multiset",
        "unordered_set",
        "map",
        "multimap",
        "unordered_map",
        "pair",
        "array",
        "string",
        "TString",
        "bool",
        "char",
        "short",
        "int",
        "long",
        "unsigned",
        "signed",
        "float",
        "double",
        "Long64_t",
        "ULong64_t",
        "TObjString",
        "TNamed",
        "",
    ];
    let is_known = |word: &str| WORDS.contains(&word) || word.bytes().all(|byte| byte.is_ascii_digit());
    !class.contains('*') && class.split(|c: char| !c.is_alphanumeric() && c != '_').all(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_without_pointers_are_those_of_numbers_and_texts() {
        for class in ["TNamed", "vector<float>", "map<string,vector<unsigned int> >", "array<int,3>", "set<ULong64_t>"]
        {
            assert!(has_no_pointers(class), "{class}");
        }
        for class in ["TH1F", "vector<TH1F>", "vector<TObject*>", "map<int,TNamed*>", "TList"] {
            assert!(!has_no_pointers(class), "{class}");
        }
    }

    #[test]
    fn a_longer_key_moves_references_and_no_others() {
        let key = Key::new(false, "TList", "l", "").unwrap();
        let at = u32::from(key.key_bytes) + 2;
        // A pointer to nothing, a class by its name, and an object of the class that was named.
        let mut object = [vec![0; 4], vec![0x40, 0, 0, 11, 255, 255, 255, 255], b"TNamed\0".to_vec()].concat();
        let second = object.len();
        object.extend([0x40, 0, 0, 4]);
        object.extend((0x8000_0000 | (at + 8)).to_be_bytes());
        let pointers = [0, 4, second].map(|at| Pointer { at, target: super::super::references::Pointee::Walked });
        let before = object.clone();
        let large = enlarged(&key, &mut object, &pointers).unwrap();
        assert_eq!((large.is_large(), large.key_bytes), (true, key.key_bytes + 8));
        assert_eq!(object[..second + 4], before[..second + 4]);
        assert_eq!(object[second + 4..], (0x8000_0000 | (at + 16)).to_be_bytes());
        assert_eq!(enlarged(&large, &mut object, &pointers), None);
        // One that cannot be moved leaves all as they are.
        let mut odd = before.clone();
        odd.extend([0x40, 0, 0, 4]);
        odd.extend((u32::MAX - 2).to_be_bytes());
        let pointers: Vec<_> = [0, 4, second, before.len()]
            .map(|at| Pointer { at, target: super::super::references::Pointee::Walked })
            .into();
        let as_it_was = odd.clone();
        assert_eq!(enlarged(&key, &mut odd, &pointers), None);
        assert_eq!(odd, as_it_was);
    }
}
