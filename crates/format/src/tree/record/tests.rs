//! A tree of ROOT 2, made by hand after one of ROOT 2.23/12.

use super::*;

/// A byte count and what it counts.
fn counted(inside: &[u8]) -> Vec<u8> {
    let n_bytes = 0x4000_0000 | u32::try_from(inside.len()).unwrap();
    [&n_bytes.to_be_bytes(), inside].concat()
}

fn ints(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

/// A `TNamed` of version 1 without a byte count.
fn named(name: &str, title: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    [[0, 1, 0, 1, 0, 0, 0, 0, 3, 0, 0, 0].as_slice(), &text(name), &text(title)].concat()
}

/// A `TObjArray` of version 2: no byte count, no `TObject`.
fn array(items: &[Vec<u8>]) -> Vec<u8> {
    let n_items = i32::try_from(items.len()).unwrap();
    [&[0, 2, 0], ints(&[n_items, 0]).as_slice(), &items.concat()].concat()
}

/// A pointer to an object of a class that is named here.
fn pointer(class: &str, object: &[u8]) -> Vec<u8> {
    counted(&[&[0xff; 4], class.as_bytes(), &[0], object].concat())
}

const NULL: [u8; 4] = [0; 4];

/// A basket of 500 entries, as it is streamed in its branch without its data, or one into which nothing was filled.
fn basket_without_data(is_filled: bool) -> Vec<u8> {
    let texts = [b"\x07TBasket".as_slice(), b"\x03run", b"\x03ntp"].concat();
    let key_bytes = 26 + i16::try_from(texts.len()).unwrap() + 19;
    let [stored, n_entries, last] = if is_filled { [1300, 500, i32::from(key_bytes) + 2000] } else { [0; 3] };
    let parts = [
        ints(&[stored]),
        vec![0, 2],
        ints(&[2000, 0]),
        key_bytes.to_be_bytes().to_vec(),
        vec![0, 1],
        ints(&[4200, 64]),
        texts,
        vec![0, 2],
        ints(&[8000, 4, n_entries, last]),
        vec![0],
    ];
    pointer("TBasket", &parts.concat())
}

fn branch(version: u8, basket_bytes: &[i32]) -> Vec<u8> {
    branch_of(version, 2, basket_bytes, &[NULL.to_vec(), NULL.to_vec(), NULL.to_vec()])
}

/// A branch of which some baskets were written; `baskets` is what stands in `fBaskets`.
fn branch_of(version: u8, n_written: i32, basket_bytes: &[i32], baskets: &[Vec<u8>]) -> Vec<u8> {
    let leaf = counted(&[&[0, 1], named("run", "run").as_slice(), &ints(&[1, 4, 0]), &[0, 0], &NULL].concat());
    let leaf = counted(&[&[0, 1], leaf.as_slice(), &ints(&[0, 0])].concat());
    let with_count = |items: &[i32]| [ints(&[3]), ints(items)].concat();
    let parts = [
        vec![0, version],
        named("run", "run/I"),
        ints(&[1, 8000, 0, 3, n_written, 1500]), // fCompress, fBasketSize, fEntryOffsetLen, fMaxBaskets, fWriteBasket, fEntryNumber
        doubles(&[1500.0, 6200.0, 4100.0]),
        ints(&[0]),
        array(&[]),
        array(&[pointer("TLeafI", &leaf)]),
        array(baskets),
        with_count(&[0, 1000, 1500]),
        [ints(&[i32::try_from(basket_bytes.len()).unwrap()]), ints(basket_bytes)].concat(),
        with_count(&[100, 4200, 0]),
        vec![0], // fFileName
    ];
    counted(&parts.concat())
}

fn tree(branch: &[u8]) -> Vec<u8> {
    let parts = [
        vec![0, 4],
        named("ntp", "Reco"),
        vec![0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 3, 0xe9, 0, 1, 0, 1, 0, 1, 0x3f, 0x80, 0, 0],
        ints(&[25, 1_000_000_000, 0]),
        doubles(&[1500.0, 6200.0, 4100.0]),
        ints(&[100_000_000, 1_000_000]),
        array(&[pointer("TBranch", branch)]),
    ];
    counted(&parts.concat())
}

fn parse(data: &[u8]) -> Result<TreeRecord> {
    TreeRecord::parse(data, "TTree", 50, &|| panic!("ROOT 2 wrote no streamer information"))
}

#[test]
fn trees_of_root_2_have_their_members_in_another_order() {
    let data = tree(&branch(5, &[4000, 2000, 0]));
    let record = parse(&data).unwrap();
    assert_eq!((record.name.as_str(), record.title.as_str(), record.n_entries), ("ntp", "Reco", 1500));
    assert_eq!((record.memory_bytes, record.stored_bytes), (6200, 4100));
    let [branch] = &record.branches[..] else { panic!("one branch") };
    assert_eq!((branch.title.as_str(), branch.compression.0, branch.entry_end), ("run/I", 1, 1500));
    assert_eq!((branch.n_entries, branch.memory_bytes, branch.stored_bytes), (1500, 6200, 4100));
    assert_eq!(record.leaves[0].kind, crate::tree::LeafKind::Number(crate::streamer::Primitive::Int32));
    let baskets = branch.baskets(&data).unwrap();
    let found = baskets.iter().map(|at| (at.offset, at.stored_bytes, at.first_entry, at.entry_end));
    assert_eq!(found.collect::<Vec<_>>(), [(100, 4000, 0, 1000), (4200, 2000, 1000, 1500)]);
}

#[test]
fn one_bit_says_that_the_entries_are_in_no_order() {
    let data = tree(&branch(5, &[4000, 2000, 0]));
    let bits = data.windows(4).position(|word| word == [3, 0, 0, 0]).unwrap();
    for bit in 0..24 {
        // kIsReferenced brings two bytes more.
        if bit == 4 {
            continue;
        }
        let mut other = data.clone();
        let word = 0x0300_0000_u32 | 1 << bit;
        other[bits..bits + 4].copy_from_slice(&word.to_be_bytes());
        assert_eq!(parse(&other).unwrap().entries_reshuffled, bit == 19, "bit {bit}");
    }
}

#[test]
fn what_older_ones_hold_is_not_guessed_and_short_arrays_are_corrupt() {
    assert!(matches!(parse(&tree(&branch(4, &[4000, 2000, 0]))), Err(Error::Unsupported(_))));
    assert!(matches!(parse(&tree(&branch(5, &[4000]))), Err(Error::Corrupt(_))));
    let whole = tree(&branch(5, &[4000, 2000, 0]));
    for n_bytes in 0..whole.len() {
        parse(&whole[..n_bytes]).unwrap_err();
    }
}

#[test]
fn baskets_without_their_data_are_where_the_tables_say() {
    let (filled, empty, null) = (basket_without_data(true), basket_without_data(false), NULL.to_vec());
    let places = |n_written: i32, bytes: &[i32], baskets: &[Vec<u8>]| {
        let data = tree(&branch_of(5, n_written, bytes, baskets));
        let baskets = parse(&data).unwrap().branches[0].baskets(&data).unwrap();
        assert!(baskets.iter().all(|basket| basket.embedded.is_none()));
        baskets.iter().map(|b| (b.offset, b.stored_bytes, b.entry_end)).collect::<Vec<_>>()
    };
    let two = [(100, 2000, 1000), (4200, 1300, 1500)];
    for baskets in [
        [null.clone(), filled.clone(), null.clone()],
        [filled.clone(), filled.clone(), empty.clone()],
        // Of the last, which is not counted as written, nothing says where its data are.
        [null.clone(), null.clone(), filled.clone()],
    ] {
        assert_eq!(places(2, &[2000, 1300, 0], &baskets), two);
    }
    // One that is not counted as written, and has a place all the same.
    assert_eq!(places(1, &[2000, 1300, 0], &[null.clone(), filled, null.clone()]), two);
    assert_eq!(places(1, &[2000, 1300, 0], &[null.clone(), null.clone(), null]), two[..1]);
}
