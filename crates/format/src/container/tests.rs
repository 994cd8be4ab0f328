use proptest::prelude::*;

use super::*;
use crate::Error;
use crate::cursor::Cursor;

/// A file in the making: a header of which the version and `begin` are right, and records.
struct File(Vec<u8>);

fn written(write: impl FnOnce(&mut Output) -> crate::Result<()>) -> Vec<u8> {
    let mut output = Output::new(0);
    write(&mut output).unwrap();
    output.into_bytes()
}

fn titled(
    title: &str,
    at: usize,
    (class, name): (&str, &str),
    cycle: i16,
    seek_dir: usize,
    payload: usize,
    large: bool,
) -> Vec<u8> {
    let mut key = Key::new(large, class, name, title).unwrap();
    key.set_payload(payload, payload).unwrap();
    key.head = KeyHead {
        datime: Datime(0x5d35_1234),
        cycle: cycle.unsigned_abs(),
        is_kept: cycle < 0,
        seek_key: at as u64,
        seek_dir: seek_dir as u64,
        ..key.head
    };
    written(|output| key.write(output))
}

fn key(at: usize, class: &str, name: &str, cycle: i16, seek_dir: usize, payload: usize, large: bool) -> Vec<u8> {
    titled("title", at, (class, name), cycle, seek_dir, payload, large)
}

fn directory(at: usize, key_bytes: usize) -> Vec<u8> {
    let directory = Directory {
        version: 5,
        is_large: false,
        created: Datime(1),
        modified: Datime(2),
        n_bytes_keys: 0,
        n_bytes_name: u32::try_from(key_bytes).unwrap(),
        seek_dir: at as u64,
        seek_parent: 100,
        seek_keys: 0,
        uuid: Some(Uuid([7; 16])),
    };
    written(|output| directory.write_record(output))
}

impl File {
    fn new() -> Self {
        let mut header = b"root".to_vec();
        header.extend(62_804_u32.to_be_bytes());
        header.extend(100_u32.to_be_bytes());
        header.extend(5_000_u32.to_be_bytes());
        header.resize(100, 0);
        header[32] = 4; // fUnits
        let mut file = File(header);
        file.add("TFile", "name.root", 1, 0, &[0; 80]);
        file
    }

    fn add(&mut self, class: &str, name: &str, cycle: i16, seek_dir: usize, payload: &[u8]) -> usize {
        let at = self.0.len();
        self.0.extend(key(at, class, name, cycle, seek_dir, payload.len(), at.is_multiple_of(2)));
        self.0.extend(payload);
        at
    }

    fn add_directory(&mut self, name: &str, seek_dir: usize) -> usize {
        let at = self.0.len();
        let key = key(at, "TDirectory", name, 1, seek_dir, 60, false);
        let n_bytes = key.len();
        self.0.extend(key);
        self.0.extend(directory(at, n_bytes));
        at
    }

    fn add_free(&mut self, n_bytes: usize) {
        let at = self.0.len();
        self.0.extend((-i32::try_from(n_bytes).unwrap()).to_be_bytes());
        self.0.resize(at + n_bytes, 0x55);
    }

    fn header(&self) -> FileHeader {
        FileHeader::parse(&self.0).unwrap()
    }

    /// Walks as asked for; returns the records, the walk and the number of bytes read.
    fn walk(&self) -> (Vec<FoundRecord>, RecordWalk, usize) {
        let mut walk = RecordWalk::new(&self.header(), self.0.len() as u64);
        let (mut records, mut n_read) = (Vec::new(), 0);
        while let Some(range) = walk.request() {
            let range = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
            n_read += range.len();
            walk.feed(&self.0[range], |record| records.push(record));
        }
        (records, walk, n_read)
    }

    fn recovered(&self) -> Vec<(String, u16)> {
        let recovered = recovered_directory(&self.header(), [], self.walk().0);
        recovered.keys.iter().map(|key| (format!("{}{}", key.directory_path, key.key.name), key.key.cycle)).collect()
    }
}

fn nested() -> File {
    let mut file = File::new();
    file.add("TH1F", "histogram", 1, 100, &[1; 50]);
    let outer = file.add_directory("outer", 100);
    file.add_free(33);
    let inner = file.add_directory("inner", outer);
    file.add("TBasket", "branch", 1, inner, &[2; 1000]);
    file.add("TTree", "tree", 1, inner, &[3; 700]);
    file.add("TTree", "tree", 2, inner, &[4; 701]);
    file.add("TDirectory", "inner", 1, inner, &[0; 90]);
    file.add("TList", "StreamerInfo", 1, 100, &[5; 300]);
    file.add("TFile", "name.root", 1, 100, &[0; 200]);
    file
}

const NESTED: [(&str, u16); 5] =
    [("histogram", 1), ("outer", 1), ("outer/inner", 1), ("outer/inner/tree", 2), ("outer/inner/tree", 1)];

fn owned(keys: &[(&str, u16)]) -> Vec<(String, u16)> {
    keys.iter().map(|(name, cycle)| ((*name).to_owned(), *cycle)).collect()
}

#[test]
fn a_negative_version_is_that_of_a_small_file() {
    let mut file = File::new();
    file.0[4..8].copy_from_slice(&(62_804_i32 - 1_000_000).to_be_bytes());
    assert_eq!((file.header().root_version().as_str(), file.header().is_large), ("6.28/04", false));
}

#[test]
fn a_header_is_read_in_both_layouts() {
    let mut small = b"root".to_vec();
    small.extend(62_804_u32.to_be_bytes());
    for word in [100_u32, 5_000, 4_900, 60, 1, 54] {
        small.extend(word.to_be_bytes());
    }
    let mut large = b"root".to_vec();
    large.extend(1_062_804_u32.to_be_bytes());
    large.extend(100_u32.to_be_bytes());
    large.extend(5_000_000_000_u64.to_be_bytes());
    large.extend(4_900_000_000_u64.to_be_bytes());
    for word in [60_u32, 1, 54] {
        large.extend(word.to_be_bytes());
    }
    small.extend([4, 0, 0, 1, 249, 0, 0, 18, 192]);
    large.extend([8, 0, 0, 1, 249, 0, 0, 0, 0, 0, 0, 18, 192]);
    for data in [&mut small, &mut large] {
        data.extend(700_u32.to_be_bytes());
        data.extend([0, 1]);
        data.extend([0xab; 16]);
    }
    let small = FileHeader::parse(&small).unwrap();
    let large = FileHeader::parse(&large).unwrap();
    assert_eq!((small.is_large, large.is_large), (false, true));
    assert_eq!((small.end, large.end), (5_000, 5_000_000_000));
    for header in [small, large] {
        assert_eq!(header.root_version(), "6.28/04");
        assert_eq!((header.begin, header.n_bytes_name, header.n_free), (100, 54, 1));
        assert_eq!((header.seek_info, header.n_bytes_info), (4_800, 700));
        assert_eq!(header.compression.to_string(), "zstd 5");
        assert_eq!(header.uuid.to_string(), "abababab-abab-abab-abab-abababababab");
        assert!(header.has_streamer_info());
    }
}

#[test]
fn what_is_no_root_file_is_said_to_look_like_what_it_is() {
    for (data, looks) in [
        (&b"\n<!DOCTYPE html><html>"[..], "HTML"),
        (b"\x1f\x8b\x08\0\0\0\0", "gzip"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"PAR1\x15\x04", "Parquet"),
        (b"PK\x03\x04abc", "zip"),
        (b"<?xml version=\"1.0\"?><Error>", "XML"),
        (b"something else", "\"somethin\""),
    ] {
        let error = FileHeader::parse(data).unwrap_err();
        assert!(matches!(error, Error::Corrupt(_)));
        assert!(error.to_string().contains(looks) && error.to_string().contains("starts with"), "{error}");
    }
    assert!(matches!(FileHeader::parse(b"ro"), Err(Error::Truncated(_))));
}

#[test]
fn keys_are_read_in_both_layouts() {
    for large in [false, true] {
        let data = key(1234, "TH1F", "name", -3, 100, 70, large);
        let parsed = Key::parse(&mut Cursor::new(&data)).unwrap();
        assert_eq!(parsed.header_bytes_parsed, data.len());
        assert_eq!((parsed.cycle, parsed.seek_key, parsed.seek_dir), (3, 1234, 100));
        assert_eq!([&parsed.class_name, &parsed.name, &parsed.title], ["TH1F", "name", "title"]);
        assert_eq!(parsed.payload_bytes().unwrap(), 70);
        let start = 1234 + data.len() as u64;
        assert_eq!(parsed.payload_range().unwrap(), start..start + 70);
        assert!(!parsed.is_compressed());
        let head = KeyHead::parse(&mut Cursor::new(&data[..KEY_HEAD_BYTES])).unwrap();
        assert_eq!((head.n_bytes, head.key_bytes, head.seek_key), (parsed.n_bytes, parsed.key_bytes, 1234));
    }
}

#[test]
fn the_process_identifier_in_a_large_key_is_no_part_of_an_offset() {
    let mut data = key(1234, "TH1F", "name", 1, 100, 70, true);
    data[26..28].copy_from_slice(&[0, 9]);
    assert_eq!(Key::parse(&mut Cursor::new(&data)).unwrap().seek_dir, 100);
}

#[test]
fn remains_of_older_records_behind_the_last_one_do_not_count() {
    let mut file = File::new();
    file.add("TTree", "T", 2, 100, &[1; 40]);
    file.0.extend([0x55; 100]);
    file.add("TTree", "T", 3, 100, &[1; 40]);
    file.add("TH1F", "h", 1, 100, &[1; 40]);
    let (records, ..) = file.walk();
    let broken: Vec<_> = records.iter().map(|record| record.is_behind_break).collect();
    assert_eq!(broken, [false, false, true, true]);
    let kept = |records: Vec<FoundRecord>| -> Vec<_> {
        let kept = without_remains(records).into_iter();
        kept.map(|record| (record.key.name.clone(), record.key.cycle)).skip(1).collect()
    };
    let (tree, histogram) = (|cycle| ("T".to_owned(), cycle), ("h".to_owned(), 1));
    assert_eq!(kept(records.clone()), [tree(2), histogram.clone()]);
    let mut later = records;
    later[2].key.head.datime.0 += 1;
    assert_eq!(kept(later), [tree(2), tree(3), histogram], "what is later is none");
}

#[test]
fn a_free_segment_is_no_key() {
    let error = Key::parse(&mut Cursor::new(&(-187_i32).to_be_bytes())).unwrap_err();
    assert!(error.to_string().contains("free segment of 187 bytes"), "{error}");
}

#[test]
fn key_lists_go_by_what_keys_are_not_by_what_they_say() {
    let mut first = key(300, "TDirectoryFile", "old", 1, 100, 60, false);
    // ROOT 5.32 and earlier kept the length of the shorter class name.
    let stated = u16::from_be_bytes([first[14], first[15]]) - 4;
    first[14..16].copy_from_slice(&stated.to_be_bytes());
    let keys = [2_u32.to_be_bytes().to_vec(), first, key(900, "TH1F", "h", 1, 100, 60, true), vec![0xff; 8]].concat();
    let record = [key(50, "TFile", "f", 1, 100, keys.len(), false), keys].concat();
    let list = KeyList::parse(&record, 50).unwrap();
    assert!(!list.is_freed && !list.may_lack_keys);
    let names: Vec<_> = list.keys.into_iter().map(|key| key.name).collect();
    assert_eq!(names, ["old", "h"]);
}

#[test]
fn a_key_list_that_counts_more_than_fits_is_corrupt() {
    let record = [key(50, "TFile", "f", 1, 100, 8, false), vec![0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]].concat();
    assert!(matches!(KeyList::parse(&record, 50), Err(Error::Corrupt(_))));
}

/// The record of a key list at byte 50 that has one key, and room for `n_spare` bytes more.
fn list_of_one(n_spare: usize) -> Vec<u8> {
    let keys = [1_u32.to_be_bytes().to_vec(), key(300, "TH1F", "h", 1, 100, 60, false), vec![0; n_spare]].concat();
    [key(50, "TFile", "f", 1, 100, keys.len(), false), keys].concat()
}

#[test]
fn a_key_list_that_is_marked_as_free_still_has_its_keys() {
    let mut record = list_of_one(0);
    let n_bytes = i32::try_from(record.len()).unwrap();
    for marked in [-n_bytes, -n_bytes - 700] {
        record[..4].copy_from_slice(&marked.to_be_bytes());
        let list = KeyList::parse(&record, 50).unwrap();
        assert!(list.is_freed);
        assert_eq!(list.keys[0].name, "h");
    }
}

#[test]
fn zeros_in_a_key_list_are_no_keys_and_not_none() {
    let whole = list_of_one(0);
    assert!(KeyList::parse(&whole, 50).is_ok());
    for start in 0..whole.len() {
        let mut record = whole.clone();
        record[start..].fill(0);
        match KeyList::parse(&record, 50) {
            Ok(list) => assert!(list.keys.is_empty() && list.may_lack_keys, "{start}: {list:?}"),
            Err(error) => assert!(error.is_doubtful(), "{start}: {error}"),
        }
    }
    let none = [key(50, "TFile", "f", 1, 100, 12, false), vec![0; 12]].concat();
    assert!(!KeyList::parse(&none, 50).unwrap().may_lack_keys, "large files have 8 bytes to spare");
}

#[test]
fn another_record_in_the_place_of_a_key_list_is_none() {
    for record in [
        key(50, "TBasket", "x", 1, 100, 0, false),
        key(51, "TFile", "f", 1, 100, 4, false),
        list_of_one(0)[5..].to_vec(),
    ] {
        let record = [record, vec![0; 40]].concat();
        assert!(KeyList::parse(&record, 50).is_err());
    }
    // One writer knows neither the place of the list nor its size.
    let record = [key(0, "TFile", "f", 1, 100, 4, false), vec![0; 4], vec![0; 40]].concat();
    assert!(KeyList::parse(&record, 50).unwrap().keys.is_empty());
}

#[test]
fn directories_of_all_versions_are_read() {
    let data = directory(400, 49);
    let parsed = Directory::parse(&mut Cursor::new(&data)).unwrap();
    assert_eq!((parsed.version, parsed.seek_dir, parsed.n_bytes_name, parsed.seek_keys), (5, 400, 49, 0));
    assert!(!parsed.has_keys());
    assert_eq!(parsed.uuid, Some(Uuid([7; 16])));
    // Version 1 with 64-bit offsets, as Geant4 writes it: no identifier.
    let mut wide = vec![3, 233, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 77, 0, 0, 0, 49];
    for offset in [400_u64, 0, 5_000_000_000] {
        wide.extend(offset.to_be_bytes());
    }
    let parsed = Directory::parse(&mut Cursor::new(&wide)).unwrap();
    assert_eq!((parsed.version, parsed.is_large, parsed.seek_keys), (1, true, 5_000_000_000));
    assert_eq!(parsed.uuid, None);
    assert!(parsed.has_keys());
}

#[test]
fn a_directory_is_known_by_its_fields_whatever_its_class() {
    let bytes = key(400, "My::Directory", "name", 1, 100, 60, false);
    let key = Key::parse(&mut Cursor::new(&bytes)).unwrap();
    assert!(!is_directory_class(&key.class_name) && may_be_directory(&key));
    assert!(looks_like_directory(&key, &directory(400, bytes.len())));
    assert!(!looks_like_directory(&key, &directory(401, bytes.len())));
    assert!(!looks_like_directory(&key, &[0; 60]));
}

#[test]
fn free_segments_stop_at_the_end_of_the_file() {
    let mut data = vec![0, 1, 0, 0, 2, 206, 0, 0, 3, 136];
    data.extend([3, 233]);
    data.extend(2_500_000_000_u64.to_be_bytes());
    data.extend(3_000_000_000_u64.to_be_bytes());
    data.extend([0; 10]);
    let segments = parse_free_segments(&data, 2_500_000_000).unwrap();
    let expected = [FreeSegment { first: 718, last: 904 }, FreeSegment { first: 2_500_000_000, last: 3_000_000_000 }];
    assert_eq!(segments, expected);
}

#[test]
fn dates_are_unpacked() {
    let packed = (2024 - 1995) << 26 | 2 << 22 | 29 << 17 | 23 << 12 | 59 << 6 | 58;
    assert_eq!(Datime(packed).to_string(), "2024-02-29 23:59:58");
}

#[test]
fn a_walk_finds_all_records_and_their_directories() {
    let file = nested();
    let (records, walk, n_read) = file.walk();
    assert_eq!(records.len(), 10);
    assert_eq!((walk.skipped_bytes(), walk.free_bytes()), (0, 33));
    assert!(n_read < 4 * file.0.len());
    let recovered = recovered_directory(&file.header(), [], records);
    assert!(recovered.streamer_info.is_some());
    assert_eq!(recovered.keys.iter().filter(|key| key.is_directory).count(), 2);
    assert_eq!(file.recovered(), owned(&NESTED));
}

#[test]
fn a_walk_goes_on_behind_what_makes_no_sense() {
    let mut file = nested();
    let tree = file.0.windows(4).position(|bytes| bytes == b"tree").unwrap();
    let at = file.0[..tree].windows(4).rposition(|bytes| bytes == [2; 4]).unwrap() + 4;
    // The first key of the tree is lost, and the length of its record with it.
    file.0[at..at + 30].fill(0);
    let (_, walk, _) = file.walk();
    assert!(walk.skipped_bytes() > 700, "{walk:?}");
    assert_eq!(file.recovered(), owned(&NESTED[..4]));
}

#[test]
fn a_walk_over_a_file_that_is_cut_short_finds_what_is_whole() {
    let file = nested();
    for n_bytes in (100..file.0.len()).step_by(7) {
        let cut = File(file.0[..n_bytes].to_vec());
        let (records, _, _) = cut.walk();
        assert!(records.iter().all(|record| record.key.payload_range().unwrap().end <= n_bytes as u64));
    }
}

#[test]
fn a_key_longer_than_a_request_is_found() {
    let mut file = File::new();
    let at = file.0.len();
    file.0.extend(titled(&"t".repeat(20_000), at, ("TNamed", "long"), 1, 100, 10, false));
    file.0.extend([0; 10]);
    file.add("TNamed", "next", 1, 100, &[0; 10]);
    assert_eq!(file.recovered(), owned(&[("long", 1), ("next", 1)]));
}

#[test]
fn directories_that_hold_each_other_end() {
    let mut file = File::new();
    let first = file.0.len();
    let one_record = key(first, "TDirectory", "a", 1, 0, 60, false).len() + 60;
    file.add_directory("a", first + one_record);
    file.add_directory("b", first);
    assert_eq!(file.recovered().len(), 2);
}

proptest! {
    #[test]
    fn any_bytes_give_a_value_or_an_error(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = FileHeader::parse(&data);
        let _ = FileHeader::parse(&[b"root".to_vec(), data.clone()].concat());
        let _ = Key::parse(&mut Cursor::new(&data));
        let _ = Directory::parse(&mut Cursor::new(&data));
        let _ = KeyList::parse(&data, 50);
        let _ = parse_free_segments(&data, 1000);
    }

    #[test]
    fn a_walk_over_a_damaged_file_ends_and_reads_it_a_few_times_at_most(
        damages in proptest::collection::vec((100..3000_usize, any::<u8>()), 1..40),
        cut in 0..3000_usize,
    ) {
        let mut file = nested();
        for (at, value) in damages {
            let n_bytes = file.0.len();
            file.0[100 + at % (n_bytes - 100)] = value;
        }
        file.0.truncate(file.0.len().saturating_sub(cut).max(100));
        let (records, _, n_read) = file.walk();
        prop_assert!(records.len() <= 12);
        // At most one request for each record and one for each break, of 512 bytes, and twice the file in between.
        prop_assert!(n_read <= 2 * file.0.len() + 60 * 512, "{n_read}");
        let _ = recovered_directory(&file.header(), [], records);
    }
}

#[test]
fn what_is_no_root_file_is_told_by_its_kind() {
    let tar = [&[b'a'; 8][..], &[0; 249], b"ustar\x0000"].concat();
    let kinds: [(&[u8], &str); 12] = [
        (&tar, "a tar archive"),
        (b"root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n", "looks like a text"),
        (b"rooted in the ground", "looks like a text"),
        (
            "Größe in Metern: 17, und so weiter, und so weiter, und so weiter, noch ein Stück weiter".as_bytes(),
            "a text",
        ),
        (b"", "it is empty"),
        (b"ab", "it has 2 bytes"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "a PDF document"),
        (b"\x89HDF\r\n\x1a\n\0\0", "an HDF5 file"),
        (b"PAR1\x15\x04\x15", "a Parquet file"),
        (b"\x1f\x8b\x08\0\0\0", "gzip data"),
        (b"  <!DOCTYPE html><html>", "an HTML page"),
        (b"{\"error\": 404}", "looks like JSON"),
    ];
    for (data, kind) in kinds {
        let error = FileHeader::parse(data).unwrap_err().to_string();
        assert!(error.contains("not a ROOT file") && error.contains(kind), "{error}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z_/;é ]{0,12}", "[a-z]{253,257}"]
}

prop_compose! {
    /// A key as it may be written: with narrow offsets only where they fit.
    fn any_key()(
        texts in [any_text(), any_text(), any_text()],
        is_large in any::<bool>(),
        (object_bytes, stored_bytes) in (0..1_usize << 30, 0..1_usize << 30),
        (cycle, is_kept) in (1..32_767_u16, any::<bool>()),
        (seek_key, seek_dir, pid_offset) in (any::<u64>(), 0..1_u64 << 48, any::<u16>()),
        datime in any::<u32>(),
    ) -> Key {
        let [class_name, name, title] = texts;
        let mut key = Key::new(is_large, &class_name, &name, &title).unwrap();
        key.set_payload(object_bytes, stored_bytes).unwrap();
        let narrow = |offset: u64| offset & u64::from(u32::MAX);
        key.head = KeyHead {
            cycle,
            is_kept,
            seek_key: if is_large { seek_key } else { narrow(seek_key) },
            seek_dir: if is_large { seek_dir } else { narrow(seek_dir) },
            pid_offset: if is_large { pid_offset } else { 0 },
            datime: Datime(datime),
            ..key.head
        };
        key
    }
}

proptest! {
    #[test]
    fn a_key_that_is_written_is_read_again(key in any_key()) {
        let mut output = Output::new(0);
        key.write(&mut output).unwrap();
        let bytes = output.into_bytes();
        prop_assert_eq!(bytes.len(), usize::from(key.key_bytes));
        prop_assert_eq!(Key::parse(&mut Cursor::new(&bytes)).unwrap(), key);
    }

    #[test]
    fn a_key_list_that_is_written_is_read_again(keys in proptest::collection::vec(any_key(), 0..5), seek in 1..1_u64 << 40) {
        let keys: Vec<Key> = keys.into_iter().filter(|key| key.seek_key > 0).collect();
        let mut own_key = Key::new(true, "TFile", "f", "").unwrap();
        let n_bytes = 4 + keys.iter().map(|key| usize::from(key.key_bytes)).sum::<usize>();
        own_key.set_payload(n_bytes, n_bytes).unwrap();
        own_key.head.seek_key = seek;
        let mut output = Output::new(0);
        KeyList::write(&own_key, keys.iter(), &mut output).unwrap();
        let list = KeyList::parse(&output.into_bytes(), seek).unwrap();
        prop_assert_eq!(list, KeyList { own_key, keys, is_freed: false, may_lack_keys: false });
    }

    #[test]
    fn a_header_that_is_written_is_read_again(
        is_large in any::<bool>(),
        version in 0..1_000_000_u32,
        offsets in [100..1_u64 << 40, 0..1_u64 << 40, 0..1_u64 << 40],
        sizes in any::<[u32; 4]>(),
        (uuid, uuid_version, compression) in (any::<[u8; 16]>(), any::<u16>(), any::<i32>()),
    ) {
        let [end, seek_free, seek_info] = offsets.map(|offset| if is_large { offset } else { offset.min(u32::MAX.into()) });
        let [n_bytes_free, n_free, n_bytes_name, n_bytes_info] = sizes;
        let header = FileHeader {
            version,
            is_large,
            begin: 100,
            end,
            seek_free,
            n_bytes_free,
            n_free,
            n_bytes_name,
            units: if is_large { 8 } else { 4 },
            compression: crate::codec::CompressionSetting(compression),
            seek_info,
            n_bytes_info,
            uuid: Uuid(uuid),
            uuid_version,
        };
        let mut output = Output::new(0);
        header.write(&mut output).unwrap();
        prop_assert_eq!(output.position(), if is_large { 75 } else { 63 });
        prop_assert_eq!(FileHeader::parse(&output.into_bytes()).unwrap(), header);
    }

    #[test]
    fn a_directory_that_is_written_is_read_again(
        version in 1..20_u16,
        dates in any::<[u32; 2]>(),
        sizes in any::<[u32; 2]>(),
        offsets in proptest::array::uniform3(prop_oneof![0..START_OF_LARGE + 1, 0..1_u64 << 40]),
        uuid in any::<[u8; 16]>(),
    ) {
        let directory = Directory {
            version,
            is_large: offsets.iter().any(|offset| *offset > START_OF_LARGE),
            created: Datime(dates[0]),
            modified: Datime(dates[1]),
            n_bytes_keys: sizes[0],
            n_bytes_name: sizes[1],
            seek_dir: offsets[0],
            seek_parent: offsets[1],
            seek_keys: offsets[2],
            uuid: (version > 1).then_some(Uuid(uuid)),
        };
        let mut output = Output::new(0);
        directory.write_record(&mut output).unwrap();
        let bytes = output.into_bytes();
        prop_assert_eq!(bytes.len(), Directory::MAX_BYTES);
        prop_assert_eq!(Directory::parse(&mut Cursor::new(&bytes)).unwrap(), directory);
    }

    #[test]
    fn free_segments_that_are_written_are_read_again_and_the_last_ends_behind_the_file(
        gaps in proptest::collection::vec((1..1_u64 << 30, 4..1_u64 << 30), 0..6),
    ) {
        let (mut segments, mut end) = (Vec::new(), 100);
        for (before, n_bytes) in gaps {
            segments.push(FreeSegment { first: end + before, last: end + before + n_bytes - 1 });
            end += before + n_bytes;
        }
        segments.push(FreeSegment::behind(end));
        let mut output = Output::new(0);
        segments.iter().for_each(|segment| segment.write(&mut output));
        let bytes = output.into_bytes();
        prop_assert_eq!(bytes.len(), segments.iter().map(FreeSegment::stored_bytes).sum::<usize>());
        prop_assert_eq!(parse_free_segments(&[bytes, vec![0; 40]].concat(), end).unwrap(), segments.clone());
        let last = segments.last().unwrap().last;
        prop_assert!(last > end && last <= end.max(START_OF_LARGE) + 1_000_000_000 && last.is_multiple_of(1_000_000_000));
    }
}

#[test]
fn what_does_not_fit_into_narrow_offsets_is_refused() {
    let mut key = Key::new(false, "C", "n", "").unwrap();
    key.head.seek_key = 1 << 32;
    assert!(matches!(key.write(&mut Output::new(0)), Err(Error::Unsupported(_))));
    key.head = KeyHead { seek_key: 1, pid_offset: 1, ..key.head };
    assert!(key.write(&mut Output::new(0)).is_err());
    assert!(Key::new(false, "C", &"n".repeat(32_768), "").is_err());
    assert!(key.set_payload(1 << 31, 1).is_err());
}
