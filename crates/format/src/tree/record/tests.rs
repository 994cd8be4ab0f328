//! Trees that the writer makes, and one of ROOT 2, which it does not: made after one of ROOT 2.23/12.

use super::*;
use crate::codec::CompressionSetting;
use crate::output::{ON_HEAP_BITS, Output};
use crate::streamer::{Element, Primitive, StreamerInfo};
use crate::tree::{BasketHead, BasketLocation, ClonesPart, ElementPart, LeafKind, PlacedBasket};

mod drawn;

const KEY_BYTES: usize = 50;

fn parse(data: &[u8]) -> Result<TreeRecord> {
    TreeRecord::parse(data, "TTree", KEY_BYTES, &|| panic!("these need no streamer information"))
}

fn written(record: &TreeRecord) -> Vec<u8> {
    let mut output = Output::new(KEY_BYTES);
    record.write(&[], &mut output).unwrap();
    output.into_bytes()
}

/// The record as it is where its baskets were placed and not read.
fn placed(mut record: TreeRecord, object_data: &[u8]) -> TreeRecord {
    for branch in &mut record.branches {
        branch.baskets = branch.baskets.placed(object_data);
    }
    record
}

/// The record of a tree in the bases of a class, each with what is written before the base that is one.
fn within(bases: &[&[u8]], record: &[u8]) -> Vec<u8> {
    bases.iter().fold(record.to_vec(), |inner, before| {
        let n_bytes = 0x4000_0000 | u32::try_from(2 + before.len() + inner.len()).unwrap();
        [&n_bytes.to_be_bytes()[..], &[0, 1], before, &inner].concat()
    })
}

fn class(name: &str, bases: &[&str]) -> StreamerInfo {
    let elements = bases.iter().map(|base| Element::member(base, "BASE", 0)).collect();
    StreamerInfo { name: name.to_owned(), version: 1, checksum: 5, elements, ..StreamerInfo::default() }
}

#[test]
fn a_tree_is_found_in_the_bases_of_its_class() {
    const OBJECT: &[u8] = &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    const FRAME: &[u8] = &[0x40, 0, 0, 4, 0, 1, 7, 7];
    let infos = StreamerInfos::of(vec![
        class("Spill", &["TTree"]),
        class("Beside", &["TObject", "TAttLine", "TQObject", "Spill"]),
        class("Pair", &["TNtuple"]),
        class("Bare", &["TArrayD", "Spill"]),
        class("Circle", &["Circle", "TTree"]),
        class("None", &["TNamed"]),
    ]);
    let plain = written(&TreeRecord::new("name", "title"));
    let before = [OBJECT, FRAME].concat();
    let parse = |class: &str, data: &[u8]| TreeRecord::parse(data, class, KEY_BYTES, &|| Ok(&infos));
    for (class, bases) in [("Spill", &[&[][..]][..]), ("Beside", &[&[], &before]), ("Pair", &[&[], &[]])] {
        let data = within(bases, &plain);
        let read = parse(class, &data).unwrap();
        assert_eq!((&*read.name, &*read.title, read.version), ("name", "title", VERSION), "{class}");
        // Inside of another object it begins later.
        let data = [&[9; 3], data.as_slice()].concat();
        assert_eq!(TreeRecord::name_from(3, &data, class, &|| Ok(&infos)).unwrap(), "name");
        assert_eq!(TreeRecord::parse_from(3, &data, class, KEY_BYTES, &|| Ok(&infos)).unwrap().name, "name");
    }
    // A class without a version is found by its checksum.
    let mut unversioned = within(&[&[0, 0, 0, 5]], &plain);
    unversioned[5] = 0;
    assert_eq!(parse("Spill", &unversioned).unwrap().name, "name");
    for (class, data, what) in [
        ("Unknown", within(&[&[]], &plain), "a Unknown of version 1, which the file does not describe"),
        ("None", within(&[&[]], FRAME), "which is no TTree"),
        ("Bare", within(&[&[], OBJECT], &plain), "without a byte count"),
        ("Circle", within(&[&[][..]; 80], &plain), "more than 64 bases"),
    ] {
        let error = parse(class, &data).unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)) && error.to_string().contains(what), "{class}: {error}");
    }
}

/// Members of objects of ROOT 2: no byte counts.
mod root_2 {
    use super::*;

    /// A `TNamed` of version 1.
    fn named(output: &mut Output, name: &str, title: &str) {
        output.u16(1);
        output.object_base(ON_HEAP_BITS);
        output.string(name.as_bytes()).unwrap();
        output.string(title.as_bytes()).unwrap();
    }

    /// The head of a `TObjArray` of version 2, which has no `TObject`.
    fn array(output: &mut Output, n_objects: i32) {
        output.u16(2);
        output.u8(0);
        ints(output, &[n_objects, 0]);
    }

    fn ints(output: &mut Output, values: &[i32]) {
        values.iter().for_each(|&value| output.i32(value));
    }

    fn doubles(output: &mut Output, values: &[f64]) {
        values.iter().for_each(|&value| output.f64(value));
    }

    /// An item of `fBaskets`.
    #[derive(Debug, Clone, Copy)]
    pub(super) enum Basket {
        Null,
        /// One of 500 entries without its data, or one into which nothing was filled.
        WithoutData {
            is_filled: bool,
        },
    }

    fn basket(output: &mut Output, is_filled: bool) {
        let mut head = BasketHead::new("run", "ntp").unwrap();
        let (small_keys, old_keys) = (8, 2);
        head.key_bytes -= small_keys;
        (head.key_version, head.version, head.buffer_bytes, head.entry_bytes) = (old_keys, 2, 8000, 4);
        (head.seek_key, head.seek_dir, head.payload_bytes, head.cycle) = (4200, 64, 2000, 1);
        if is_filled {
            (head.stored_bytes, head.n_entries, head.data_bytes) = (1300, 500, 2000);
        }
        head.write("run", "ntp", output).unwrap();
    }

    pub(super) struct Branch<'a> {
        pub(super) version: u16,
        pub(super) n_written: i32,
        pub(super) basket_bytes: &'a [i32],
        pub(super) baskets: [Basket; 3],
    }

    impl Branch<'_> {
        fn write(&self, output: &mut Output) {
            output.u16(self.version);
            named(output, "run", "run/I");
            // fCompress, fBasketSize, fEntryOffsetLen, fMaxBaskets, fWriteBasket, fEntryNumber
            ints(output, &[1, 8000, 0, 3, self.n_written, 1500]);
            doubles(output, &[1500.0, 6200.0, 4100.0]);
            ints(output, &[0]);
            array(output, 0);
            array(output, 1);
            let (leaf, _) = output.begin_object("TLeafI").unwrap();
            let outer = output.begin(1);
            let base = output.begin(1);
            named(output, "run", "run");
            ints(output, &[1, 4, 0]);
            output.u16(0);
            output.null();
            output.end(base).unwrap();
            ints(output, &[0, 0]);
            output.end(outer).unwrap();
            output.end(leaf).unwrap();
            array(output, 3);
            for place in self.baskets {
                match place {
                    Basket::Null => output.null(),
                    Basket::WithoutData { is_filled } => {
                        let (pointer, _) = output.begin_object("TBasket").unwrap();
                        basket(output, is_filled);
                        output.end(pointer).unwrap();
                    }
                }
            }
            for values in [&[0, 1000, 1500], self.basket_bytes, &[100, 4200, 0]] {
                output.count(values.len()).unwrap();
                ints(output, values);
            }
            output.u8(0); // fFileName
        }

        /// The only branch of a tree.
        pub(super) fn tree(&self) -> Vec<u8> {
            let mut output = Output::new(KEY_BYTES);
            let frame = output.begin(4);
            named(&mut output, "ntp", "Reco");
            output.raw(&[0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 3, 0xe9, 0, 1, 0, 1, 0, 1, 0x3f, 0x80, 0, 0]);
            ints(&mut output, &[25, 1_000_000_000, 0]);
            doubles(&mut output, &[1500.0, 6200.0, 4100.0]);
            ints(&mut output, &[100_000_000, 1_000_000]);
            array(&mut output, 1);
            let (pointer, _) = output.begin_object("TBranch").unwrap();
            let branch = output.begin_counted();
            self.write(&mut output);
            output.end(branch).unwrap();
            output.end(pointer).unwrap();
            output.end(frame).unwrap();
            output.into_bytes()
        }
    }

    pub(super) fn tree(version: u16, basket_bytes: &[i32]) -> Vec<u8> {
        Branch { version, n_written: 2, basket_bytes, baskets: [Basket::Null; 3] }.tree()
    }
}

#[test]
fn trees_of_root_2_have_their_members_in_another_order() {
    let data = root_2::tree(5, &[4000, 2000, 0]);
    let record = parse(&data).unwrap();
    assert_eq!((record.name.as_str(), record.title.as_str(), record.n_entries), ("ntp", "Reco", 1500));
    assert_eq!((record.memory_bytes, record.stored_bytes), (6200, 4100));
    let [branch] = &record.branches[..] else { panic!("one branch") };
    assert_eq!((branch.title.as_str(), branch.compression.0, branch.entry_end), ("run/I", 1, 1500));
    assert_eq!((branch.n_entries, branch.memory_bytes, branch.stored_bytes), (1500, 6200, 4100));
    assert_eq!(record.leaves[0].kind, LeafKind::Number(Primitive::Int32));
    let baskets = branch.baskets(&data).unwrap();
    let found = baskets.iter().map(|at| (at.offset, at.stored_bytes, at.first_entry, at.entry_end));
    assert_eq!(found.collect::<Vec<_>>(), [(100, 4000, 0, 1000), (4200, 2000, 1000, 1500)]);
    let error = record.write(&data, &mut Output::new(KEY_BYTES)).unwrap_err();
    assert!(error.to_string().contains("TTree of version 4"), "{error}");
}

#[test]
fn one_bit_says_that_the_entries_are_in_no_order() {
    for bit in 0..24 {
        // kIsReferenced brings two bytes more.
        if bit == 4 {
            continue;
        }
        let record = TreeRecord { bits: ON_HEAP_BITS | 1 << bit, ..TreeRecord::new("t", "") };
        assert_eq!(parse(&written(&record)).unwrap().entries_reshuffled(), bit == 19, "bit {bit}");
    }
}

#[test]
fn what_older_ones_hold_is_not_guessed_and_short_arrays_are_corrupt() {
    assert!(matches!(parse(&root_2::tree(4, &[4000, 2000, 0])), Err(Error::Unsupported(_))));
    assert!(matches!(parse(&root_2::tree(5, &[4000])), Err(Error::Corrupt(_))));
    let whole = root_2::tree(5, &[4000, 2000, 0]);
    for n_bytes in 0..whole.len() {
        parse(&whole[..n_bytes]).unwrap_err();
    }
}

#[test]
fn baskets_without_their_data_are_where_the_tables_say() {
    use root_2::Basket::{Null, WithoutData};
    let (filled, empty) = (WithoutData { is_filled: true }, WithoutData { is_filled: false });
    let places = |n_written: i32, basket_bytes: &[i32], baskets: [root_2::Basket; 3]| {
        let data = root_2::Branch { version: 5, n_written, basket_bytes, baskets }.tree();
        let baskets = parse(&data).unwrap().branches[0].baskets(&data).unwrap();
        assert!(baskets.iter().all(|basket| basket.embedded.is_none()));
        baskets.iter().map(|b| (b.offset, b.stored_bytes, b.entry_end)).collect::<Vec<_>>()
    };
    let two = [(100, 2000, 1000), (4200, 1300, 1500)];
    // Of the last, which is not counted as written, nothing says where its data are.
    for baskets in [[Null, filled, Null], [filled, filled, empty], [Null, Null, filled]] {
        assert_eq!(places(2, &[2000, 1300, 0], baskets), two);
    }
    // One that is not counted as written, and has a place all the same.
    assert_eq!(places(1, &[2000, 1300, 0], [Null, filled, Null]), two);
    assert_eq!(places(1, &[2000, 1300, 0], [Null, Null, Null]), two[..1]);
}

fn location(offset: u64, stored_bytes: u32, first_entry: u64, entry_end: u64) -> BasketLocation {
    BasketLocation { offset, stored_bytes, first_entry, entry_end, embedded: None }
}

fn basket(offset: u64, stored_bytes: u32, n_entries: u32) -> PlacedBasket {
    PlacedBasket { offset, stored_bytes, n_entries }
}

#[test]
fn baskets_that_were_set_are_read_again() {
    let mut record = TreeRecord::new("t", "");
    let id = record.add_branch(None, Branch::new("x", "x/I")).unwrap();
    record.add_leaf(id, Leaf::number("x", Primitive::Int32, &[]).unwrap(), None).unwrap();
    for n_baskets in [0, 1, 9, 10, 300_u32] {
        let offset = |i: u32| 1 << 40 | u64::from(i);
        let baskets: Vec<_> =
            (0..n_baskets).map(|i| location(offset(i), 80, (i * 7).into(), (i * 7 + 7).into())).collect();
        record.branches[0].set_baskets(0, (0..n_baskets).map(|i| basket(offset(i), 80, 7)).collect()).unwrap();
        assert_eq!(record.branches[0].baskets(&[]).unwrap(), baskets);
        let data = written(&record);
        let read = parse(&data).unwrap();
        assert_eq!(read.branches[0].baskets(&data).unwrap(), baskets);
        assert_eq!(
            (read.branches[0].n_entries, read.branches[0].stored_bytes),
            (7 * i64::from(n_baskets), 80 * i64::from(n_baskets))
        );
    }
    for wrong in [basket(2, u32::MAX, 7), basket(2, 1, 1 << 31), basket(1 << 63, 1, 7)] {
        record.branches[0].set_baskets(0, vec![basket(1, 1, 5), wrong]).unwrap_err();
    }
    record.branches[0].set_baskets(i64::MAX.unsigned_abs(), vec![basket(1, 1, 5)]).unwrap_err();
}

#[test]
fn a_counter_is_written_where_it_is_first_pointed_at() {
    let mut record = TreeRecord::new("t", "");
    let element =
        |node_type| ElementPart { class_name: "vector<S>".to_owned(), node_type, id: 0, ..ElementPart::default() };
    let outer = record.add_branch(None, Branch::of_class("v", "v_", element(4))).unwrap();
    let counter = record.add_leaf(outer, Leaf::element("v_", "v_", -1, 6), None).unwrap();
    let part = ElementPart { counter: Some(outer), ..element(41) };
    let inner = record.add_branch(Some(outer), Branch::of_class("v.x", "x[v_]", part)).unwrap();
    record.add_leaf(inner, Leaf::element("x", "x[v_]", 0, 5), Some(counter)).unwrap();
    let data = written(&record);
    let read = parse(&data).unwrap();
    // The leaves inside come first; the list of the tree is in the order in which they were made.
    assert_eq!(read.listed_leaves.iter().map(|&id| read.leaf(id).name.as_str()).collect::<Vec<_>>(), ["v_", "x"]);
    assert!(read.leaves.iter().any(|leaf| leaf.name == "v_" && leaf.is_counter && leaf.counter.is_none()));
    assert_eq!(read.branch_of_leaf(read.branch(BranchId(1)).leaves[0]), Some(BranchId(1)));
    assert_eq!(read.branch(BranchId(1)).element.as_ref().unwrap().counter, Some(BranchId(0)));
    assert_eq!(written(&placed(read, &data)), data);
}

#[test]
fn what_follows_the_branches_is_read_and_written() {
    let mut record = TreeRecord::new("t", "");
    record.aliases = vec![("sum".to_owned(), "x + y".to_owned()), ("y2".to_owned(), "y^2".to_owned())];
    let friend = |alias: &str, file: &str, is_file_own| Friend {
        version: 2,
        bits: 1 << 14,
        alias: alias.to_owned(),
        tree_name: "other".to_owned(),
        file_name: file.to_owned(),
        is_file_own,
    };
    record.friends = vec![friend("a", "", false), friend("b", "b.root", true)];
    let other = |class: &str, name: &str, title: &str| UserInfo {
        class_name: class.to_owned(),
        bits: 1 << 14,
        name: name.to_owned(),
        title: title.to_owned(),
    };
    record.user_info = vec![
        UserInfo::named("ARROW:schema", &"x".repeat(1000)),
        other("TObjString", "text", ""),
        other("TParameter<double>", "weight", "0.1"),
        other("TParameter<float>", "small", "0.1"),
        other("TParameter<int>", "run", "-7"),
        other("TParameter<Long64_t>", "event", "9223372036854775807"),
        other("TParameter<bool>", "flag", "1"),
    ];
    let data = written(&record);
    let read = parse(&data).unwrap();
    assert_eq!((&read.aliases, &read.friends, &read.user_info), (&record.aliases, &record.friends, &record.user_info));
    assert_eq!(written(&read), data);

    record.user_info = vec![other("TParameter<int>", "run", "many")];
    record.write(&[], &mut Output::new(0)).unwrap_err();
    record.user_info = vec![other("TH1F", "h", "")];
    record.write(&[], &mut Output::new(0)).unwrap_err();
}

/// The record of a tree with something in the place of the last word but so many: `fTreeIndex`, `fFriends`, `fUserInfo` and
/// `fBranchRef` are the last ones.
fn with_pointer(record: &TreeRecord, words_behind: usize, make: impl Fn(&mut Output)) -> Vec<u8> {
    let mut data = written(record);
    let at = data.len() - 4 * (words_behind + 1);
    let mut output = Output::new(KEY_BYTES + at);
    make(&mut output);
    data.splice(at..at + 4, output.into_bytes());
    let n_bytes = u32::try_from(data.len() - 4).unwrap() | crate::BYTE_COUNT_MASK;
    data[..4].copy_from_slice(&n_bytes.to_be_bytes());
    data
}

fn index(version: u16, words: &[i64]) -> Vec<u8> {
    with_pointer(&TreeRecord::new("t", ""), 3, |index| {
        let (pointer, _) = index.begin_object("TTreeIndex").unwrap();
        let frame = index.begin(version);
        let base = index.begin(1);
        index.named_base(ON_HEAP_BITS, b"i", b"").unwrap();
        index.end(base).unwrap();
        index.string(b"run").unwrap();
        index.string(b"event").unwrap();
        words.iter().for_each(|&word| index.i64(word));
        index.end(frame).unwrap();
        index.end(pointer).unwrap();
    })
}

#[test]
fn an_index_keeps_its_values_and_what_is_not_kept_is_said() {
    for (version, words) in [(2, &[2, 1, 1, 5, 6, 1, 0][..]), (1, &[2, 5, 6, 1, 0])] {
        let data = index(version, words);
        let read = parse(&data).unwrap();
        let found = read.index.as_ref().unwrap();
        assert_eq!(found.names, Some(("run".to_owned(), "event".to_owned())));
        let mut output = Output::new(KEY_BYTES);
        read.write(&data, &mut output).unwrap();
        assert_eq!(output.into_bytes(), data);
        read.write(&[], &mut Output::new(KEY_BYTES)).unwrap_err();
    }
    let data = index(3, &[2, 1]);
    let error = parse(&data).unwrap().write(&data, &mut Output::new(KEY_BYTES)).unwrap_err();
    assert!(error.to_string().contains("TTreeIndex of version 3"), "{error}");
}

#[test]
fn an_index_that_is_made_is_sorted_and_read_again() {
    let mut record = TreeRecord::new("t", "");
    let values = [(2, 5), (1, 7), (2, 3), (1, 7), (-1, 0)];
    record.index = Some(RecordedIndex::made("run", "event", &values).unwrap());
    let data = written(&record);
    let read = parse(&data).unwrap();
    assert_eq!(read.index.as_ref().unwrap().names, Some(("run".to_owned(), "event".to_owned())));
    let sorted: Vec<u8> =
        [5, -1, 1, 1, 2, 2, 0, 7, 7, 3, 5, 4, 1, 3, 2, 0].into_iter().flat_map(i64::to_be_bytes).collect();
    assert!(data.windows(sorted.len()).any(|bytes| bytes == sorted), "number, major, minor values, entries");
    let mut output = Output::new(KEY_BYTES);
    read.write(&data, &mut output).unwrap();
    assert_eq!(output.into_bytes(), data);
}

#[test]
fn references_to_branches_are_read_and_written() {
    let mut record = TreeRecord::new("t", "");
    let ids = ["a", "b"].map(|name| record.add_branch(None, Branch::new(name, name)).unwrap());
    let mut branch = Branch::new("TRefTable", "List of branch numbers with referenced objects");
    branch.set_baskets(0, vec![basket(200, 90, 7)]).unwrap();
    let table = ReferenceTable {
        version: 3,
        bits: 0,
        size: 0,
        parents: Some(vec![None, Some(ids[1]), Some(ids[0])]),
        parents_bits: 1 << 3,
        is_owned: true,
        processes: vec!["8ec6ee64-2c22-11e7".to_owned()],
    };
    for table in [
        Some(table.clone()),
        Some(ReferenceTable {
            version: 2,
            parents: None,
            parents_bits: 0,
            is_owned: false,
            processes: vec![],
            ..table
        }),
        None,
    ] {
        let references = BranchReferences { version: 1, branch: branch.clone(), table };
        record.references = Some(Box::new(references.clone()));
        let data = written(&record);
        let mut read = parse(&data).unwrap();
        assert_eq!(read.branches.len(), 2);
        let mut output = Output::new(KEY_BYTES);
        read.write(&data, &mut output).unwrap();
        assert_eq!(output.into_bytes(), data);
        let found = read.references.as_deref_mut().unwrap();
        found.branch.baskets = found.branch.baskets.placed(&data);
        assert_eq!(*found, references);
    }
    // It points to something else than a branch.
    let data = with_pointer(&TreeRecord::new("t", ""), 0, |output| {
        let (pointer, _) = output.begin_object("TNamed").unwrap();
        output.named_base(0, b"", b"").unwrap();
        output.end(pointer).unwrap();
    });
    let error = parse(&data).unwrap().write(&data, &mut Output::new(KEY_BYTES)).unwrap_err();
    assert!(error.to_string().contains("fBranchRef"), "{error}");
}

#[test]
fn branches_of_clones_are_read_and_written() {
    let mut record = TreeRecord::new("t", "");
    let mut clones = Branch { entry_end: 9, ..Branch::new("hits", "hits") };
    (clones.class, clones.version) = ("TBranchClones".into(), 0);
    let outer = record.add_branch(None, clones).unwrap();
    let inner = record.add_branch(Some(outer), Branch::new("hits.x", "x[hits_]/F")).unwrap();
    let counter = record.add_branch(Some(outer), Branch::new("hits_", "hits_/I")).unwrap();
    let size = record.add_leaf(counter, Leaf::number("hits_", Primitive::Int32, &[]).unwrap(), None).unwrap();
    record.add_leaf(inner, Leaf::number("x", Primitive::Float32, &[]).unwrap(), Some(size)).unwrap();
    record.branches[0].clones = Some(Box::new(ClonesPart {
        version: 2,
        n_baskets: [10, 0],
        counter: Some(counter),
        class_name: "Hit".to_owned(),
        is_counter_beside: true,
    }));
    let data = written(&record);
    let read = parse(&data).unwrap();
    let names = |ids: &[BranchId]| ids.iter().map(|&id| read.branch(id).name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&read.top_branches), ["hits"]);
    assert_eq!(names(&read.branches[0].branches), ["hits.x", "hits_"]);
    assert_eq!(read.branches[0].clones.as_ref().unwrap().class_name, "Hit");
    let mut output = Output::new(KEY_BYTES);
    read.write(&data, &mut output).unwrap();
    assert_eq!(output.into_bytes(), data);
    record.branches[0].clones = None;
    record.write(&[], &mut Output::new(KEY_BYTES)).unwrap_err();
}
