use proptest::prelude::*;

use crate::Error;
use crate::streamer::{ElementClass, PackedType, Packing, Primitive, StlKind, StreamerInfos};

const KEY_BYTES: usize = 64;

/// The object of a record in the making.
#[derive(Default)]
struct Record {
    bytes: Vec<u8>,
    /// Classes named so far, and what references to them say.
    classes: Vec<(String, u32)>,
}

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
        self.bytes.extend(bytes);
        self
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.put(&[u8::try_from(text.len()).unwrap()]).put(text.as_bytes())
    }

    fn counted(&mut self, write: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.u32(0);
        write(self);
        let n_bytes = length(self.bytes.len() - start - 4) | 0x4000_0000;
        self.bytes[start..start + 4].copy_from_slice(&n_bytes.to_be_bytes());
    }

    fn framed(&mut self, version: u16, write: impl FnOnce(&mut Self)) {
        self.counted(|record| {
            record.put(&version.to_be_bytes());
            write(record);
        });
    }

    fn object(&mut self, class: &str, write: impl FnOnce(&mut Self)) {
        self.counted(|record| {
            match record.classes.iter().find(|(name, _)| name == class).map(|(_, tag)| *tag) {
                Some(tag) => record.u32(tag),
                None => {
                    let tag = length(record.bytes.len() + KEY_BYTES + 2) | 0x8000_0000;
                    record.classes.push((class.to_owned(), tag));
                    record.u32(0xffff_ffff).put(class.as_bytes()).put(&[0])
                }
            };
            write(record);
        });
    }

    fn base(&mut self, bits: u32) -> &mut Self {
        self.put(&[0, 1]).u32(0).u32(bits);
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
        let mut record = Record::default();
        record.framed(5, |record| {
            record.base(0).text("").u32(length(n_entries));
            write(record);
        });
        record
    }

    fn parse(&self) -> StreamerInfos {
        StreamerInfos::parse(&self.bytes, KEY_BYTES).unwrap()
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
        let mut bytes = sample().bytes;
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
