use proptest::prelude::*;

use crate::Error;
use crate::codec::Decompressor;
use crate::output::Output;
use crate::streamer::{
    Element, ElementClass, PackedType, Packing, Primitive, Rule, StlKind, StreamerInfo, StreamerInfos,
};

const KEY_BYTES: usize = 64;

/// The object of a record in the making, of any versions.
struct Record(Output);

/// A member to be written.
struct Member<'a> {
    class: &'a str,
    name: &'a str,
    title: &'a str,
    type_code: i32,
    type_name: &'a str,
    extents: &'a [u32],
    bits: u32,
    /// Version of the `TStreamerElement`.
    version: u16,
    tail: Vec<u8>,
}

const MEMBER: Member<'static> = Member {
    class: "TStreamerBasicType",
    name: "",
    title: "",
    type_code: 3,
    type_name: "int",
    extents: &[],
    bits: 0,
    version: 4,
    tail: Vec::new(),
};

fn length(n: usize) -> u32 {
    u32::try_from(n).unwrap()
}

impl Record {
    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.raw(bytes);
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.u32(value);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.0.string(text.as_bytes()).unwrap();
        self
    }

    fn framed(&mut self, version: u16, write: impl FnOnce(&mut Self)) {
        let frame = self.0.begin(version);
        write(self);
        self.0.end(frame).unwrap();
    }

    fn object(&mut self, class: &str, write: impl FnOnce(&mut Self)) {
        let (frame, _) = self.0.begin_object(class).unwrap();
        write(self);
        self.0.end(frame).unwrap();
    }

    fn base(&mut self, bits: u32) -> &mut Self {
        self.0.object_base(bits);
        if bits & 0x10 != 0 { self.put(&[0, 0]) } else { self }
    }

    fn named(&mut self, bits: u32, name: &str, title: &str) {
        self.framed(1, |record| {
            record.base(bits).text(name).text(title);
        });
    }

    fn element(&mut self, member: &Member<'_>) {
        self.object(member.class, |record| {
            if member.class == "TStreamerSTLstring" {
                record.framed(2, |record| record.element_body(member));
            } else {
                record.element_body(member);
            }
        });
    }

    fn element_body(&mut self, member: &Member<'_>) {
        self.framed(3, |record| {
            record.framed(member.version, |record| {
                record.named(member.bits, member.name, member.title);
                let n_values = if member.extents.is_empty() { 0 } else { member.extents.iter().product() };
                record.u32(u32::from_be_bytes(member.type_code.to_be_bytes()));
                record.u32(4).u32(n_values).u32(length(member.extents.len()));
                if member.version == 1 {
                    record.u32(length(member.extents.len()));
                    member.extents.iter().for_each(|&extent| _ = record.u32(extent));
                } else {
                    (0..5).for_each(|i| _ = record.u32(member.extents.get(i).copied().unwrap_or(0)));
                }
                record.text(member.type_name);
            });
            record.put(&member.tail);
        });
    }

    fn info(&mut self, name: &str, version: u32, checksum: u32, members: &[Member<'_>]) {
        self.object("TStreamerInfo", |record| {
            record.framed(9, |record| {
                record.named(0x10000, name, "");
                record.u32(checksum).u32(version);
                record.object("TObjArray", |record| {
                    record.framed(3, |record| {
                        record.base(0).text("").u32(length(members.len())).u32(0);
                        members.iter().for_each(|member| record.element(member));
                    });
                });
            });
        });
        self.put(&[0]);
    }

    fn list(n_entries: usize, write: impl FnOnce(&mut Self)) -> Self {
        let mut record = Record(Output::new(KEY_BYTES));
        record.framed(5, |record| {
            record.base(0).text("").u32(length(n_entries));
            write(record);
        });
        record
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.clone().into_bytes()
    }

    fn parse(&self) -> StreamerInfos {
        StreamerInfos::parse(&self.bytes(), KEY_BYTES).unwrap()
    }
}

fn base(name: &'static str, checksum: u32) -> Member<'static> {
    Member {
        class: "TStreamerBase",
        name,
        type_code: 0,
        type_name: "BASE",
        extents: Box::leak(Box::new([0, checksum])),
        tail: vec![0, 0, 0, 1],
        ..MEMBER
    }
}

fn sample() -> Record {
    Record::list(4, |record| {
        let number = Member { name: "n", type_code: 6, ..MEMBER };
        let tail = b"\0\0\0\x01\x01n\x01A".to_vec();
        let counted = Member {
            class: "TStreamerBasicPointer",
            name: "x",
            title: "[n]",
            type_code: 45,
            type_name: "float*",
            tail,
            ..MEMBER
        };
        let grid = Member { name: "grid", type_code: 28, type_name: "double", extents: &[2, 3], ..MEMBER };
        let packed = Member {
            name: "packed",
            title: "[0,1,8] packed",
            type_code: 9,
            type_name: "Double32_t",
            bits: 0x40,
            ..MEMBER
        };
        let container = Member {
            class: "TStreamerSTL",
            name: "v",
            type_code: 500,
            type_name: "vector<int>",
            tail: vec![0, 0, 0, 1, 0, 0, 0, 3],
            ..MEMBER
        };
        record.info("A", 2, 17, &[base("TObject", 0), number, counted, grid, packed, container]);
        record.object("TList", |record| record.framed(5, |record| _ = record.put(b"rules, passed over")));
        record.put(&[0]);
        let text = Member {
            class: "TStreamerSTLstring",
            name: "s",
            type_code: 500,
            type_name: "string",
            tail: vec![0, 0, 1, 109, 0, 0, 1, 109],
            ..MEMBER
        };
        record.info("B<int>", 1, 18, &[base("A", 17), text]);
        record.info("A", 3, 19, &[base("TObject", 0)]);
    })
}

#[test]
fn classes_are_found_by_version_checksum_and_other_spellings() {
    let infos = sample().parse();
    assert_eq!(infos.failed(), []);
    assert_eq!(infos.iter().map(|info| info.name.as_str()).collect::<Vec<_>>(), ["A", "B<int>", "A"]);
    assert_eq!(infos.get("A", 2).unwrap().checksum, 17);
    assert_eq!(infos.get("A", 4), None);
    assert_eq!(infos.by_checksum("A", 19).unwrap().version, 3);
    assert_eq!(infos.latest("A").unwrap().version, 3);
    assert_eq!(infos.get("std::B< Int_t >", 1).unwrap().name, "B<int>");
    assert_eq!(infos.of_base(&infos.get("B<int>", 1).unwrap().elements[0]).unwrap().version, 2);
    assert!(infos.is_derived_from("B<int>", "TObject") && infos.is_derived_from("B<int>", "A"));
    assert!(!infos.is_derived_from("A", "B<int>") && !infos.is_derived_from("A", "A"));
}

#[test]
fn elements_say_what_their_members_are() {
    let infos = sample().parse();
    let info = infos.get("A", 2).unwrap();
    assert_eq!(info.info_version, 9);
    assert_eq!(info.bases().map(|base| &*base.name).collect::<Vec<_>>(), ["TObject"]);
    assert_eq!(info.elements[0].base_version, 1);
    let counted = info.element("x").unwrap();
    assert_eq!((counted.count_name.as_str(), counted.count_class.as_str()), ("n", "A"));
    assert_eq!(counted.primitive(), Some(Primitive::Float32));
    let grid = info.element("grid").unwrap();
    assert_eq!((grid.array_length, grid.max_index.as_slice()), (6, &[2, 3][..]));
    assert_eq!(grid.primitive(), Some(Primitive::Float64));
    let packed = info.element("packed").unwrap();
    let packing = Packing::new(PackedType::Double32, packed.range);
    assert_eq!(packing, Packing::Scaled { min: 0.0, factor: 256.0 });
    let container = info.element("v").unwrap();
    assert_eq!((container.type_code, container.stl_kind()), (300, Some(StlKind::Vector)));
    assert_eq!((container.contained_type, container.primitive()), (3, None));
    let text = infos.get("B<int>", 1).unwrap().element("s").unwrap();
    assert_eq!((text.class, text.stl_type), (ElementClass::StlString, 365));
}

#[test]
fn old_elements_are_put_right() {
    let record = Record::list(1, |record| {
        let flag = Member { name: "flag", type_code: 11, type_name: "Bool_t", ..MEMBER };
        let first = Member { name: "first", version: 1, type_code: 23, extents: &[2, 2], ..MEMBER };
        let second = Member { name: "second", version: 2, type_code: 23, extents: &[3], ..MEMBER };
        // The two kinds were the other way round.
        let set = Member {
            class: "TStreamerSTL",
            name: "set",
            type_code: 500,
            type_name: "set<int>*",
            tail: vec![0, 0, 0, 5, 0, 0, 0, 3],
            ..MEMBER
        };
        let object = Member { name: "object", type_code: 62, type_name: "Other", ..MEMBER };
        // Without the bit the brackets are a comment.
        let comment = Member { name: "comment", title: "[0,1,8]", type_name: "Double32_t", type_code: 9, ..MEMBER };
        record.info("Old", 1, 1, &[flag, first, second, set, object, comment]);
    });
    let infos = record.parse();
    assert_eq!(infos.failed(), []);
    let info = infos.latest("Old").unwrap();
    assert_eq!(info.element("flag").unwrap().primitive(), Some(Primitive::Bool));
    assert_eq!(info.element("first").unwrap().max_index, [2, 2]);
    assert_eq!(info.element("second").unwrap().size, 12);
    let set = info.element("set").unwrap();
    assert_eq!((set.stl_kind(), set.type_code), (Some(StlKind::Set), 71));
    assert_eq!(info.element("object").unwrap().class, ElementClass::ObjectAny);
    assert_eq!(Packing::new(PackedType::Double32, info.element("comment").unwrap().range), Packing::Plain);
}

#[test]
fn a_class_that_cannot_be_read_does_not_hinder_the_others() {
    let record = Record::list(3, |record| {
        record.info("Good", 1, 1, &[Member { name: "n", ..MEMBER }]);
        record.info("Bad", 1, 2, &[Member { class: "TStreamerUnheardOf", name: "m", ..MEMBER }]);
        record.info("Late", 1, 3, &[Member { class: "TStreamerString", name: "s", ..MEMBER }]);
    });
    let infos = record.parse();
    assert_eq!(infos.len(), 2);
    assert!(infos.latest("Good").is_some() && infos.latest("Late").is_some());
    let [failed] = infos.failed() else { panic!("{:?}", infos.failed()) };
    assert_eq!(failed.name, "Bad");
    assert!(failed.error.to_string().contains("TStreamerUnheardOf"), "{}", failed.error);
}

#[test]
fn an_empty_list_is_no_damage() {
    let infos = Record::list(0, |_| {}).parse();
    assert!(infos.is_empty() && infos.failed().is_empty());
}

#[test]
fn a_member_gives_an_enumeration_away() {
    let record = Record::list(1, |record| {
        record.info(
            "Event",
            1,
            7,
            &[
                Member { name: "kind", type_name: "ar::Kind", ..MEMBER },
                Member { name: "kinds", type_name: "ar::Other", type_code: 23, extents: &[2], ..MEMBER },
                Member { name: "n", ..MEMBER },
            ],
        );
    });
    let infos = record.parse();
    assert_eq!(infos.enumeration("ar::Kind"), Some(Primitive::Int32));
    assert_eq!(infos.enumeration("ar::Other"), Some(Primitive::Int32));
    assert_eq!(infos.enumeration("int"), None);
    assert_eq!(infos.enumeration("Event"), None);
}

#[test]
fn classes_that_derive_from_each_other_end() {
    let record = Record::list(2, |record| {
        record.info("A", 1, 1, &[base("B", 0)]);
        record.info("B", 1, 2, &[base("A", 0)]);
    });
    let infos = record.parse();
    assert!(infos.is_derived_from("A", "B") && !infos.is_derived_from("A", "TObject"));
}

#[test]
fn classes_that_derive_from_ttree_are_trees_and_those_that_name_files_are_none() {
    let record = Record::list(7, |record| {
        record.info("Spill", 1, 1, &[base("TTree", 0)]);
        record.info("Of<double>", 1, 2, &[base("TNamed", 0), base("Spill", 0)]);
        record.info("Pair", 1, 3, &[base("Other", 0), base("TNtupleD", 0)]);
        record.info("TChain", 5, 4, &[base("TTree", 0)]);
        record.info("Chained", 1, 5, &[base("TChain", 0)]);
        record.info("A", 1, 6, &[base("B", 0)]);
        record.info("B", 1, 7, &[base("A", 0)]);
    });
    let infos = record.parse();
    for class in ["TTree", "TNtuple", "Spill", "Of<double>", "Of<Double_t>", "Pair"] {
        assert!(infos.is_tree(class), "{class}");
    }
    for class in ["TNamed", "Other", "TChain", "Chained", "A", "Tree", ""] {
        assert!(!infos.is_tree(class), "{class}");
    }
}

#[test]
fn classes_that_are_the_same_but_for_packed_numbers_are_found_by_the_plain_ones() {
    let record = Record::list(3, |record| {
        record.info("Box<Double32_t>", 1, 1, &[]);
        record.info("Two<vector<Box<Float16_t> >,double>", 1, 2, &[]);
        record.info("Box<int>", 1, 3, &[]);
    });
    let infos = record.parse();
    let twin = |name| infos.packed_twins(name).next().map(|info| info.checksum);
    assert_eq!((twin("Box<double>"), twin("std::Box<Double_t>")), (Some(1), Some(1)));
    assert_eq!(twin("Two<std::vector<Box<float>>,double>"), Some(2));
    assert_eq!((twin("Box<int>"), twin("Box<float>"), twin("double")), (None, None, None));
    assert_eq!(infos.described_name("Box<double>", Some(3)), "Box<double>");
    assert_eq!(infos.described_name("Alias", Some(3)), "Box<int>");
    assert_eq!((infos.described_name("Alias", Some(9)), infos.described_name("Alias", None)), ("Alias", "Alias"));
}

#[test]
fn no_list_is_an_error() {
    assert!(matches!(StreamerInfos::parse(&[], 64), Err(Error::Truncated(_))));
    assert!(StreamerInfos::parse(&[0xff; 40], 64).is_err());
}

proptest! {
    #[test]
    fn damaged_records_give_what_can_be_read_or_an_error(
        damages in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..10),
        cut in 0..2000_usize,
        key_bytes in 0..100_usize,
    ) {
        let mut bytes = sample().bytes();
        for (at, value) in damages {
            let n_bytes = bytes.len();
            bytes[at % n_bytes] = value;
        }
        bytes.truncate(bytes.len().saturating_sub(cut / 2));
        if let Ok(infos) = StreamerInfos::parse(&bytes, key_bytes) {
            prop_assert!(infos.len() + infos.failed().len() <= 8);
            for info in infos.iter() {
                let _ = infos.is_derived_from(&info.name, "TObject");
                info.elements.iter().for_each(|element| _ = element.primitive());
            }
        }
    }
}

#[test]
fn checksums_of_roots_classes_follow_from_their_members() {
    let of_root = StreamerInfos::of_root();
    let different: Vec<_> =
        of_root.iter().filter(|info| info.computed_checksum() != info.checksum).map(|info| &*info.name).collect();
    assert!(of_root.len() > 130 && of_root.failed().is_empty());
    // For these ROOT counts what is not persistent, an enumeration of another class, and the names of types as they were declared.
    let expected = [
        "THashList",
        "TSeqCollection",
        "TF1",
        "pair<TString,int>",
        "TF1NormSum",
        "TF1Convolution",
        "THashTable",
        "pair<TBranch*,unsigned long>",
    ];
    assert_eq!(different, expected);
    for (class, checksum) in
        [("TObject", 0x901b_c02d), ("TNamed", 0xdfb7_4a3c), ("TString", 0x0001_7419), ("TObjArray", 0xa99e_6552)]
    {
        assert_eq!(of_root.latest(class).unwrap().computed_checksum(), checksum, "{class}");
    }
}

#[test]
fn what_is_known_of_roots_classes_is_written_as_root_wrote_it() {
    let of_root = StreamerInfos::of_root();
    let mut output = Output::new(KEY_BYTES);
    of_root.write(&mut output).unwrap();
    let bytes = output.into_bytes();
    let (n_bytes, stored) = include_bytes!("../builtin.bin").split_first_chunk::<4>().unwrap();
    let mut record = vec![0; u32::from_be_bytes(*n_bytes) as usize];
    Decompressor::new().decompress(stored, &mut record).unwrap();
    assert!(bytes == record);
    // What is made here has no numbers as they are stored: they follow.
    let mut made: Vec<StreamerInfo> = of_root.iter().map(made_here).collect();
    for (made, of_root) in made.iter_mut().zip(of_root.iter()) {
        for (element, of_root) in made.elements.iter_mut().zip(&of_root.elements) {
            // But for the version of another class, which has the counter.
            if of_root.count_class != made.name && !of_root.count_class.is_empty() {
                element.stored = of_root.stored;
            }
        }
    }
    let mut output = Output::new(KEY_BYTES);
    StreamerInfos::of(made).with_rules(of_root.rules().to_vec()).write(&mut output).unwrap();
    let bytes = output.into_bytes();
    let different = bytes.iter().zip(&record).position(|(ours, theirs)| ours != theirs);
    assert_eq!((bytes.len(), different), (record.len(), None));
}

/// An info without the numbers that it was stored with.
fn made_here(info: &StreamerInfo) -> StreamerInfo {
    let elements = info.elements.iter().map(|element| Element { stored: None, ..element.clone() }).collect();
    StreamerInfo { elements, ..info.clone() }
}

fn any_element() -> impl Strategy<Value = Element> {
    let kind = prop_oneof![
        (1..20_i32).prop_map(|code| (ElementClass::BasicType, code, "int")),
        (41..59_i32).prop_map(|code| (ElementClass::BasicPointer, code, "int*")),
        Just((ElementClass::Base, 66, "BASE")),
        Just((ElementClass::Object, 61, "TList")),
        Just((ElementClass::ObjectAny, 62, "Other")),
        Just((ElementClass::ObjectPointer, 64, "TList*")),
        Just((ElementClass::ObjectAnyPointer, 69, "Other*")),
        Just((ElementClass::String, 65, "TString")),
        Just((ElementClass::Stl, 300, "vector<int>")),
        Just((ElementClass::StlString, 300, "string")),
        Just((ElementClass::Plain, 1, "char")),
    ];
    (kind, "[a-z]{1,9}", "[a-z\\[\\] ]{0,300}", any::<[u16; 3]>()).prop_map(
        |((class, code, type_name), name, title, numbers)| {
            let [first, second, third] = numbers.map(u32::from);
            let is_counted = class == ElementClass::BasicPointer;
            let is_array = class == ElementClass::BasicType && first.is_multiple_of(2);
            let is_container = matches!(class, ElementClass::Stl | ElementClass::StlString);
            Element {
                class,
                title,
                type_code: if is_array { code + 20 } else { code },
                size: third,
                array_length: if is_array { (second + 1) * 2 } else { 0 },
                max_index: if is_array { vec![second + 1, 2] } else { Vec::new() },
                base_version: if class == ElementClass::Base { 3 } else { 0 },
                base_checksum: if class == ElementClass::Base { first << 16 | second } else { 0 },
                count_name: if is_counted { "n".to_owned() } else { String::new() },
                count_class: if is_counted { "C".to_owned() } else { String::new() },
                stl_type: if is_container { 1 } else { 0 },
                contained_type: if is_container { 3 } else { 0 },
                ..Element::member(&name, type_name, code)
            }
        },
    )
}

proptest! {
    #[test]
    fn streamer_information_that_is_written_is_read_again(
        classes in proptest::collection::vec(
            ("[A-Z][a-z<>:]{0,20}", any::<u32>(), 0..0x4000_u16, proptest::collection::vec(any_element(), 0..6)), 0..5),
        rules in proptest::collection::vec("[ -~]{0,300}", 0..3),
        key_bytes in 0..200_usize,
    ) {
        let info = |(name, checksum, version, elements)| StreamerInfo {
            name,
            checksum,
            version,
            info_version: StreamerInfo::INFO_VERSION,
            title: String::new(),
            bits: StreamerInfo::COMPILED_BITS,
            elements,
        };
        let infos: Vec<StreamerInfo> = classes.into_iter().map(info).collect();
        let rules: Vec<Rule> = rules.into_iter().map(|text| Rule { text, bits: 0 }).collect();
        let mut output = Output::new(key_bytes);
        StreamerInfos::of(infos.clone()).with_rules(rules.clone()).write(&mut output).unwrap();
        let bytes = output.into_bytes();
        let read = StreamerInfos::parse(&bytes, key_bytes).unwrap();
        prop_assert_eq!(read.rules(), rules);
        prop_assert_eq!(read.iter().map(made_here).collect::<Vec<_>>(), infos);
        let mut output = Output::new(key_bytes);
        read.write(&mut output).unwrap();
        prop_assert_eq!(output.into_bytes(), bytes);
    }
}
