use super::*;
use crate::tree::BasketHead;
use crate::tree::record::check_paths;

fn words(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

/// A branch of `n_baskets` baskets, and the object data with its arrays: of each basket 10 bytes at offset 100.
fn branch(n_baskets: usize, first_entries: &[i64]) -> (Branch, Vec<u8>) {
    let bytes: Vec<u8> = [10_i32.to_be_bytes()].repeat(n_baskets).concat();
    let parts = [bytes, words(first_entries), words(&[100].repeat(n_baskets))];
    let ends = parts.each_ref().map(Vec::len);
    let baskets = BasketTable {
        n_baskets,
        bytes: 0..ends[0],
        entries: (ends[0]..ends[0] + ends[1], true),
        seeks: (ends[0] + ends[1]..ends.iter().sum(), true),
    };
    let branch = Branch {
        class: Cow::Borrowed("TBranch"),
        name: "x".to_owned(),
        title: "x/I".to_owned(),
        compression: CompressionSetting(0),
        entry_end: 0,
        first_entry: 0,
        n_entries: 0,
        memory_bytes: 0,
        stored_bytes: 0,
        split_level: 0,
        io_features: 0,
        branches: Vec::new(),
        leaves: Vec::new(),
        parent: None,
        embedded: Vec::new(),
        file_name: String::new(),
        element: None,
        baskets,
    };
    (branch, parts.concat())
}

fn embedded(index: usize, n_entries: u32) -> EmbeddedBasket {
    let head = BasketHead {
        stored_bytes: 0,
        key_bytes: 70,
        payload_bytes: 4 * n_entries,
        data_bytes: 4 * n_entries,
        n_entries,
        entry_bytes: 4,
        offsets_are_sizes: false,
        offsets_generated: false,
    };
    EmbeddedBasket { index, head, data: 0..0, entry_offsets: None }
}

#[test]
fn baskets_follow_each_other_and_the_embedded_one_comes_last() {
    let (mut branch, object_data) = branch(2, &[0, 10, 30]);
    branch.embedded = vec![embedded(2, 5)];
    let baskets = branch.baskets(&object_data).unwrap();
    let entries: Vec<_> = baskets.iter().map(|basket| basket.first_entry..basket.entry_end).collect();
    assert_eq!(entries, [0..10, 10..30, 30..35]);
    assert_eq!(baskets[2].embedded, Some(0));
}

#[test]
fn entries_after_the_last_number_do_not_come_round() {
    let (mut branch, object_data) = branch(0, &[i64::MAX - 2]);
    branch.embedded = vec![embedded(0, 5)];
    let baskets = branch.baskets(&object_data).unwrap();
    assert_eq!(baskets.iter().map(|basket| basket.entry_end).collect::<Vec<_>>(), [i64::MAX.unsigned_abs()]);
}

#[test]
fn more_entries_than_a_basket_can_hold_are_corrupt() {
    let most = i64::from(i32::MAX);
    for (n_entries, is_possible) in [(most, true), (most + 1, false), (i64::MAX, false)] {
        let (branch, object_data) = branch(1, &[0, n_entries]);
        assert_eq!(branch.baskets(&object_data).is_ok(), is_possible, "{n_entries}");
    }
}

#[test]
fn entries_that_run_backwards_or_below_0_are_corrupt() {
    for first_entries in [[0, 10, 5].as_slice(), &[-5, 10, 20], &[0, i64::MIN, 20]] {
        let (branch, object_data) = branch(2, first_entries);
        branch.baskets(&object_data).unwrap_err();
    }
}

/// The members that `TBranchElement` adds, with so many pointers to counting branches, all null.
fn element(version: u16, n_pointers: usize) -> Result<ElementPart> {
    let mut bytes = Vec::new();
    for text in ["Track", "Event", ""] {
        bytes.push(u8::try_from(text.len()).unwrap());
        bytes.extend(text.as_bytes());
    }
    if version >= 8 {
        bytes.extend(0xC0FF_EE00_u32.to_be_bytes());
    }
    for number in [3_i32, 7, 31, 5, 600] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend([0; 4].repeat(n_pointers));
    let frame = VersionFrame { version, end: Some(bytes.len()) };
    let mut cursor = Cursor::new(&bytes);
    let part = read_element(&mut cursor, &mut Reading::new(0), &frame, 0)?;
    assert_eq!(cursor.remaining(), 0);
    Ok(part)
}

#[test]
fn elements_of_root_3_have_no_checksum_and_at_first_one_counter() {
    for (version, n_pointers, checksum) in [(5, 1, 0), (6, 2, 0), (7, 2, 0), (8, 2, 0xC0FF_EE00)] {
        let part = element(version, n_pointers).unwrap();
        let found = (part.class_name.as_str(), part.class_version, part.id, part.node_type, part.streamer_type);
        assert_eq!(found, ("Track", 3, 7, 31, 5), "version {version}");
        assert_eq!(part.checksum, checksum, "version {version}");
    }
    assert!(element(8, 1).is_err(), "version 8 has two counters");
    assert!(element(4, 1).is_err(), "what version 4 holds is not known");
}

#[test]
fn a_long_name_around_many_branches_is_not_repeated_without_bound() {
    let with = |n_inside: u32| {
        let (inside, _) = branch(0, &[]);
        let branches = (1..=n_inside).map(BranchId).collect();
        let mut all = vec![Branch { name: "x".repeat(1 << 20), branches, ..inside.clone() }];
        all.extend((0..n_inside).map(|_| inside.clone()));
        check_paths(&all, &[BranchId(0)])
    };
    with(60).unwrap();
    assert!(matches!(with(64), Err(Error::Unsupported(_))));
}
