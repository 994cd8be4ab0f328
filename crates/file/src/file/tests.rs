use super::*;
use arrowroot_format::codec::Decompressor;
use arrowroot_format::streamer::{Element, ElementClass, StreamerInfo, StreamerInfos};
use arrowroot_storage::{Fitness, MemorySource};

#[test]
fn a_size_that_the_blocks_do_not_bear_out_takes_no_memory() {
    let block = b"ZS\x01\x04\x00\x00\x10\x00\x00abcd"; // 16 bytes once uncompressed
    let mut out = Vec::new();
    unpack(&mut Decompressor::new(), block, 1 << 30, &mut out).unwrap_err();
    assert_eq!(out.capacity(), 0);
}

#[test]
fn metadata_that_compress_too_well_are_not_unpacked() {
    for (stored_bytes, most) in [(0, 8 << 20), (1 << 20, 24 << 20)] {
        let stored = vec![0; stored_bytes];
        let error = |n_bytes: usize| check_metadata(&stored, n_bytes).unwrap_err().to_string();
        assert!(!error(most).contains("are not unpacked"));
        assert!(error(most + 1).contains("are not unpacked"));
    }
}

#[test]
fn a_range_after_the_end_takes_no_memory() {
    let source = MemorySource::new("f", vec![0; 10]);
    for (offset, n_bytes) in [(0, u64::MAX), (u64::MAX, 2), (5, 1 << 50)] {
        let error = read_range(&source, offset, n_bytes).unwrap_err();
        assert!(matches!(error, Error::Storage(arrowroot_storage::Error::PastEnd { .. })), "{error}");
    }
}

#[test]
fn a_file_that_is_cut_short_says_by_how_much() {
    let word = |value: u32| value.to_be_bytes();
    let mut bytes = [b"root".as_slice(), &word(62_804), &word(100), &word(1_000_000)].concat();
    bytes.resize(95, 0);
    bytes[32] = 4; // fUnits
    let file = File::from_source(Arc::new(MemorySource::new("f", bytes))).unwrap();
    assert!(file.was_recovered());
    assert_eq!(file.missing_bytes(), 1_000_000 - 95);
    let message = file.keys().unwrap_err().to_string();
    assert!(message.contains("cut short: 95 of 1000000 bytes"), "{message}");
}

#[test]
fn a_replica_is_whole_if_it_is_as_long_as_its_header_says() {
    let word = |value: u32| value.to_be_bytes();
    let mut head = [b"root".as_slice(), &word(62_804), &word(100), &word(1000)].concat();
    head.resize(512, 0);
    head[32] = 4; // fUnits
    // The root directory, whose list was not written yet.
    head[28..32].copy_from_slice(&word(60));
    head[100..129].copy_from_slice(&[&word(60), [0, 4, 0, 0].as_slice(), &[0; 6], &[0, 29, 0, 1], &[0; 11]].concat());
    head[161] = 5;
    for (head, size_bytes, expected) in [
        (head.as_slice(), 1000, Fitness::Whole),
        (&head, 1001, Fitness::Whole),
        (&head, 999, Fitness::Partial),
        (&head[..50], 50, Fitness::Useless),
        (b"<html><body>Who are you?</body></html>", 38, Fitness::Useless),
        (b"", 0, Fitness::Useless),
    ] {
        let mut content = head.to_vec();
        content.resize(size_bytes, 0);
        let source = Arc::new(MemorySource::new("f", content));
        let opened = Opened { source, preloaded: Vec::new(), ledgers: Ledgers::default() };
        assert_eq!(fitness(&opened, head), expected, "{} of {size_bytes} bytes", head.len());
    }
}

#[test]
fn a_class_is_a_tree_if_it_derives_from_one_whatever_its_name_begins_with() {
    let info = |name: &str, base: &str| {
        let base = Element { class: ElementClass::Base, ..Element::of_object(base, "BASE", 0) };
        StreamerInfo::of_class(name, 1, vec![base])
    };
    let mut bytes =
        [b"root".as_slice(), &62_804_u32.to_be_bytes(), &100_u32.to_be_bytes(), &1000_u32.to_be_bytes()].concat();
    bytes.resize(95, 0);
    bytes[32] = 4; // fUnits
    let file = File::from_source(Arc::new(MemorySource::new("f", bytes))).unwrap();
    let infos = StreamerInfos::of(vec![info("THitTree", "TTree"), info("THitTreePlot", "TH1F")]);
    file.inner.infos.set(infos.into()).unwrap();
    for (class, is_tree) in [("THitTree", true), ("THitTreePlot", false), ("TH1F", false), ("", false)] {
        assert_eq!(file.is_tree_class(class).unwrap(), is_tree, "{class}");
    }
}
