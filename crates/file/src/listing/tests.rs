use std::sync::Arc;

use arrowroot_storage::MemorySource;

use crate::error::Result;
use crate::file::File;
use crate::key::FileKey;

const BEGIN: usize = 100;
/// Room for the root record.
const NAME_BYTES: usize = 60;
/// A list without keys.
const EMPTY_LIST_AT: usize = 900_000;
const EMPTY_LIST_BYTES: usize = 34;
/// Room for the lists of [`nested`].
const LIST_BYTES: usize = 16_000;

fn word(value: usize) -> [u8; 4] {
    u32::try_from(value).unwrap().to_be_bytes()
}

/// A key whose payload begins `key_bytes` after `at`, where it need not end itself.
fn key(at: usize, key_bytes: usize, payload_bytes: usize, class: &str, name: &str, title: &[u8]) -> Vec<u8> {
    let mut bytes = [word(key_bytes + payload_bytes).as_slice(), &[0, 4], &word(payload_bytes), &[0; 4]].concat();
    bytes.extend(u16::try_from(key_bytes).unwrap().to_be_bytes());
    bytes.extend([0, 1]);
    bytes.extend([word(at), word(BEGIN)].concat());
    for text in [class.as_bytes(), name.as_bytes(), title] {
        bytes.push(u8::try_from(text.len()).unwrap());
        bytes.extend(text);
    }
    bytes
}

fn directory(seek_keys: usize, n_bytes_keys: usize) -> Vec<u8> {
    let words = [0, 0, n_bytes_keys, NAME_BYTES, BEGIN, 0, seek_keys].map(word).concat();
    [[0, 5].as_slice(), &words, &[0, 1], &[7; 16], &[0; 12]].concat()
}

/// The header of a file of 1 MB, and its root directory.
fn beginning(seek_keys: usize, n_bytes_keys: usize) -> Vec<u8> {
    let mut file = [b"root".as_slice(), &word(62_804), &word(BEGIN), &word(1_000_000)].concat();
    file.resize(28, 0);
    file.extend(word(NAME_BYTES));
    file.push(4);
    file.resize(BEGIN, 0);
    file.extend(key(BEGIN, 40, 0, "TFile", "f", b""));
    file.resize(BEGIN + NAME_BYTES, 0);
    file.extend(directory(seek_keys, n_bytes_keys));
    file
}

/// A file of 1 MB of directories named `name`, each in the one before.
fn chain(n_directories: usize, name: &str) -> Vec<u8> {
    let own_key = key(0, 0, 0, "", "", b"").len();
    let payload_bytes = directory(0, 0).len();
    let list_bytes = own_key + 4 + key(0, 0, 0, "TDirectory", name, b"").len();
    let lists_at = BEGIN + 200;
    let mut file = beginning(lists_at, list_bytes);
    file.resize(lists_at, 0);
    for index in 0..=n_directories {
        let at = file.len();
        if index == n_directories {
            file.extend(key(at, own_key, 4, "", "", b""));
            break; // what follows are zeros: no keys
        }
        file.extend(key(at, own_key, list_bytes - own_key, "", "", b""));
        file.extend(word(1));
        let payload_at = at + list_bytes;
        file.extend(key(payload_at - 30, 30, payload_bytes, "TDirectory", name, b""));
        let inner_bytes = if index + 1 == n_directories { own_key + 4 } else { list_bytes };
        file.extend(directory(payload_at + payload_bytes, inner_bytes));
    }
    file.resize(1_000_000, 0);
    file
}

/// A file of 1 MB with the keys of `n_directories` named `name` one behind the other. The list of the root directory begins
/// at the first key, that of the first directory at the second key, and so on, in the same bytes; that of the last is empty. `n_keys`: how many keys the list that begins at a key has.
fn nested(n_directories: usize, name: &str, n_keys: impl Fn(usize) -> usize) -> Vec<u8> {
    let heads_at = BEGIN + 200;
    let head_bytes = key(0, 0, 0, "", "", b"").len();
    let payloads_at = heads_at + n_directories * head_bytes;
    let payload_bytes = directory(0, LIST_BYTES).len();
    let keys_at = payloads_at + n_directories * payload_bytes + 4;
    let key_bytes = key(0, 0, 0, "TDirectory", name, &[0; 4]).len();
    let list_at = |index: usize| keys_at + index * key_bytes;
    let mut file = beginning(heads_at, LIST_BYTES);
    file.resize(heads_at, 0);
    for index in 0..n_directories {
        // The list's own key says that its payload, the number of keys and these, is far behind it.
        let at = heads_at + index * head_bytes;
        let key_bytes = list_at(index) - 4 - at;
        file.extend(key(at, key_bytes, LIST_BYTES - key_bytes, "", "", b""));
    }
    for index in 0..n_directories {
        file.extend(if index + 1 == n_directories {
            directory(EMPTY_LIST_AT, EMPTY_LIST_BYTES)
        } else {
            directory(heads_at + (index + 1) * head_bytes, LIST_BYTES)
        });
    }
    file.extend(word(n_keys(0)));
    for index in 0..n_directories {
        let at = payloads_at + index * payload_bytes;
        // The last bytes of its title are the number of keys behind it.
        file.extend(key(at - 30, 30, payload_bytes, "TDirectory", name, &word(n_keys(index + 1))));
    }
    file.resize(EMPTY_LIST_AT, 0);
    file.extend(key(EMPTY_LIST_AT, EMPTY_LIST_BYTES - 4, 4, "", "", b""));
    file.resize(1_000_000, 0);
    file
}

fn keys_of(bytes: Vec<u8>) -> Result<usize> {
    let file = File::from_source(Arc::new(MemorySource::new("f", bytes)))?;
    assert!(!file.was_recovered());
    file.keys().map(<[FileKey]>::len)
}

#[test]
fn directories_in_directories_are_listed() {
    assert_eq!(keys_of(nested(40, "d", |_| 1)).unwrap(), 40);
}

#[test]
fn key_lists_that_share_their_bytes_are_refused() {
    let mut bytes = nested(90, "d", |place| (90 - place).max(1));
    bytes.truncate(40_000);
    bytes[12..16].copy_from_slice(&word(40_000));
    let message = keys_of(bytes).unwrap_err().to_string();
    assert!(message.contains("key lists of 48000 bytes in a file of 40000"), "{message}");
}

#[test]
fn directories_may_be_deep() {
    let file = File::from_source(Arc::new(MemorySource::new("f", chain(3000, "d")))).unwrap();
    assert_eq!(file.find(&["d"; 2000].join("/")).unwrap().depth, 1999);
    assert_eq!(file.keys().unwrap().len(), 3000);
    assert_eq!(file.keys().unwrap()[2999].path(), ["d"; 3000].join("/"));
}

#[test]
fn paths_of_directories_in_directories_are_bounded() {
    let message = keys_of(chain(900, &"d".repeat(250))).unwrap_err().to_string();
    assert!(message.contains("bytes in a file of 1000000") && message.contains("paths of"), "{message}");
}

#[test]
fn a_key_is_found_without_the_directories_that_its_path_does_not_name() {
    let file = File::from_source(Arc::new(MemorySource::new("f", chain(1000, "d")))).unwrap();
    let n_reads = || file.read_totals().n_reads;
    assert!(file.found("nothing").unwrap().is_none());
    assert_eq!(n_reads(), 2, "the beginning and one list");
    assert!(file.find("d;1").unwrap().is_directory);
    assert_eq!(n_reads(), 3, "and what the key is of");
    assert_eq!(file.find("d/d").unwrap().depth, 1);
    assert_eq!(n_reads(), 5, "one list more, and what that key is of");
    assert!(file.found("d/d").unwrap().is_some() && file.found("d;2").unwrap().is_none());
    assert_eq!(n_reads(), 5);
    file.find("nothing").unwrap_err();
    assert_eq!(n_reads(), 200, "suggestions are those of 100 directories");
    file.find("nothing").unwrap_err();
    assert_eq!(n_reads(), 200);
    assert_eq!(file.keys().unwrap().len(), 1000);
    assert_eq!(n_reads(), 2002, "nothing is read twice");
}

#[test]
fn names_may_have_slashes_and_semicolons() {
    let mut bytes = chain(2, "a;12");
    let inner = bytes.windows(5).rposition(|window| window == b"\x04a;12").unwrap();
    bytes[inner + 1..inner + 5].copy_from_slice(b"b/;x");
    let file = File::from_source(Arc::new(MemorySource::new("f", bytes))).unwrap();
    for path in ["a;12", "a;12;1", "/a;12", "a;12/b/;x", "a;12/b/;x;1"] {
        assert!(file.found(path).unwrap().is_some(), "{path}");
    }
    for path in ["a", "a;1", "a/b", "a;12;2", "a;12/b", "", "a;12/"] {
        assert!(file.found(path).unwrap().is_none(), "{path}");
    }
    file.keys().unwrap();
    assert!(file.found("a;12/b/;x;1").unwrap().is_some() && file.found("a;12;2").unwrap().is_none());
}

#[test]
fn a_directory_inside_itself_is_refused() {
    let mut bytes = nested(3, "d", |_| 1);
    let inner = directory(BEGIN + 200 + 2 * 29, LIST_BYTES);
    let at = bytes.windows(inner.len()).position(|window| window == inner).unwrap();
    bytes[at..at + inner.len()].copy_from_slice(&directory(BEGIN + 200, LIST_BYTES));
    let message = keys_of(bytes).unwrap_err().to_string();
    assert!(message.contains("a directory inside itself"), "{message}");
}

#[test]
fn an_object_of_the_class_of_a_directory_hides_no_key() {
    let mut bytes = nested(1, "d", |_| 1);
    let payload = directory(EMPTY_LIST_AT, EMPTY_LIST_BYTES);
    let at = bytes.windows(payload.len()).rposition(|window| window == payload).unwrap();
    bytes[at..at + 4].copy_from_slice(&word(0x4000_0000 | (payload.len() - 4)));
    let file = File::from_source(Arc::new(MemorySource::new("f", bytes))).unwrap();
    assert_eq!(file.keys().unwrap().iter().map(|entry| entry.is_directory).collect::<Vec<_>>(), [false]);
}
