//! Metadata that are right, that come from a later version, and that are hostile.

use proptest::prelude::*;

use super::*;
use crate::error::Error;
use crate::streamer::Primitive;

/// Frames and envelopes, as a writer makes them.
#[derive(Default, Clone)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u16(mut self, value: u16) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn u32(mut self, value: u32) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn i32(self, value: i32) -> Self {
        self.u32(value.cast_unsigned())
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn string(self, text: &str) -> Self {
        self.u32(u32::try_from(text.len()).unwrap()).bytes(text.as_bytes())
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn record(self, payload: &Bytes) -> Self {
        self.u64(payload.0.len() as u64 + 8).bytes(&payload.0)
    }

    fn list(self, items: &[Bytes], tail: &Bytes) -> Self {
        let n_bytes = items.iter().map(|item| item.0.len()).sum::<usize>() + tail.0.len() + 12;
        let head = self.u64((n_bytes as u64).wrapping_neg()).u32(u32::try_from(items.len()).unwrap());
        items.iter().fold(head, |all, item| all.bytes(&item.0)).bytes(&tail.0)
    }

    fn records(self, items: &[Bytes]) -> Self {
        let framed: Vec<Bytes> = items.iter().map(|item| Bytes::default().record(item)).collect();
        self.list(&framed, &Bytes::default())
    }

    fn envelope(&self, kind: u64) -> Vec<u8> {
        let mut bytes = (kind | (self.0.len() as u64 + 16) << 16).to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.0);
        bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
        bytes
    }
}

fn field(parent: u32, role: u16, name: &str, type_name: &str) -> Bytes {
    let head = Bytes::default().u32(0).u32(0).u32(parent).u16(role).u16(0);
    head.string(name).string(type_name).string("").string("")
}

fn column(code: u16, bits: u16, field: u32) -> Bytes {
    Bytes::default().u16(code).u16(bits).u32(field).u16(0).u16(0)
}

/// A number, a list of texts, and a field of a column type from the future.
fn header() -> Bytes {
    let fields = [
        field(0, 0, "x", "float").bytes(b"from a later version"),
        field(1, 1, "list", "std::vector<std::string>"),
        field(1, 0, "_0", "std::string"),
        field(3, 0, "new", "future"),
    ];
    let columns =
        [column(0x18, 32, 0), column(0x1B, 64, 1), column(0x0E, 32, 2), column(0x02, 8, 2), column(0x55, 7, 3)];
    let head = Bytes::default().u64(0).string("Events").string("").string("test");
    head.records(&fields).records(&columns).records(&[]).records(&[]).bytes(b"more from a later version")
}

fn schema() -> Schema {
    Schema::parse(&header().envelope(1)).unwrap()
}

fn shape(slots: &Slots, schema: &Schema, chain: &[FieldId]) -> crate::Result<Shape> {
    slots.shape(schema, chain, &|_| Err(Error::unsupported(0, "objects of streamers")))
}

fn footer(schema: &Schema) -> Bytes {
    let group = Bytes::default().u64(0).u64(4).u32(1).u64(1000).i32(500).u64(7000);
    Bytes::default().u64(0).u64(schema.header_checksum).record(&Bytes::default()).records(&[group])
}

fn page_list(schema: &Schema) -> Bytes {
    let summary = Bytes::default().u64(0).u64(4);
    let page = Bytes::default().i32(-4).i32(16).u64(4000);
    // Locator of type 1: its own size, type and sign, then a size and an offset of 64 bits.
    let large = Bytes::default().i32(3).i32(-(20 | 1 << 24)).u64(1 << 33).u64(1 << 40);
    let end = Bytes::default().u64(0).u32(505);
    let suppressed = Bytes::default().u64(1 << 63);
    let none = Bytes::default().list(&[], &suppressed);
    let columns =
        [Bytes::default().list(&[page], &end), Bytes::default().list(&[large], &end), none.clone(), none.clone(), none];
    let cluster = Bytes::default().list(&columns, &Bytes::default());
    Bytes::default().u64(schema.header_checksum).records(&[summary]).list(&[cluster], &Bytes::default())
}

fn anchor() -> Vec<u8> {
    let mut members = Vec::new();
    for part in [1_u16, 0, 2, 0] {
        members.extend_from_slice(&part.to_be_bytes());
    }
    for word in [100_u64, 20, 30, 400, 50, 60, 1 << 30] {
        members.extend_from_slice(&word.to_be_bytes());
    }
    let mut object = (0x4000_0000_u32 | 66).to_be_bytes().to_vec();
    object.extend_from_slice(&2_u16.to_be_bytes());
    object.extend_from_slice(&members);
    object.extend_from_slice(&checksum(&members).to_be_bytes());
    object
}

#[test]
fn an_anchor_tells_where_header_and_footer_are() {
    let found = Anchor::parse(&anchor(), ANCHOR_CLASS).unwrap();
    assert_eq!(found.version, [1, 0, 2, 0]);
    assert_eq!((found.header.offset, found.header.stored_bytes, found.header.uncompressed_bytes), (100, 20, 30));
    assert_eq!((found.footer.offset, found.footer.stored_bytes, found.footer.uncompressed_bytes), (400, 50, 60));
}

#[test]
fn a_changed_anchor_is_corrupt_and_an_old_one_unsupported() {
    let mut changed = anchor();
    changed[20] ^= 1;
    assert!(matches!(Anchor::parse(&changed, ANCHOR_CLASS), Err(Error::Corrupt(_))));
    let old = Anchor::parse(&[], OLD_ANCHOR_CLASS).unwrap_err();
    assert!(matches!(&old, Error::Unsupported(_)) && old.to_string().contains("before the format was released"));
}

#[test]
fn fields_and_columns_are_read_and_what_is_appended_is_passed_over() {
    let schema = schema();
    let names: Vec<&str> = schema.fields().map(NtupleField::name).collect();
    assert_eq!(names, ["x", "list", "_0", "new"]);
    assert_eq!(schema.top_fields, [FieldId(0), FieldId(1), FieldId(3)]);
    let slots = Slots::new(&schema).unwrap();
    let x = shape(&slots, &schema, &[FieldId(0)]).unwrap();
    assert_eq!(x, Shape::Number { slot: SlotId(0), primitive: Primitive::Float32 });
    let text = Box::new(Shape::Text { ends: SlotId(2), bytes: SlotId(3) });
    let list = shape(&slots, &schema, &[FieldId(1)]).unwrap();
    assert_eq!(list, Shape::List { ends: SlotId(1), item: text });
    assert_eq!(slots.slot(SlotId(3)).domain, 2);
}

#[test]
fn a_name_with_a_zero_byte_is_corrupt() {
    let head = Bytes::default().u64(0).string("Events").string("a \0 is no name").string("test");
    let head = head.records(&[field(0, 0, "x", "f\0")]).records(&[]).records(&[]).records(&[]);
    assert_eq!(Schema::parse(&head.envelope(1)).unwrap().fields().count(), 1);
    let head = Bytes::default().u64(0).string("Events").string("").string("test");
    let head = head.records(&[field(0, 0, "x\0y", "float")]).records(&[]).records(&[]).records(&[]);
    let error = Schema::parse(&head.envelope(1)).unwrap_err();
    assert!(matches!(&error, Error::Corrupt(_)) && error.to_string().contains("zero byte"), "{error}");
}

#[test]
fn a_long_name_around_many_fields_is_not_repeated_without_bound() {
    let with = |n_inside: usize| {
        let mut fields = vec![field(0, 2, &"x".repeat(1 << 20), "Event")];
        fields.extend((0..n_inside).map(|number| field(0, 0, &format!("y{number}"), "float")));
        let head = Bytes::default().u64(0).string("Events").string("").string("test");
        Schema::parse(&head.records(&fields).records(&[]).records(&[]).records(&[]).envelope(1))
    };
    assert_eq!(with(60).unwrap().members().len(), 61);
    let error = with(64).unwrap_err();
    assert!(matches!(&error, Error::Unsupported(_)) && error.to_string().contains("paths"), "{error}");
}

#[test]
fn a_field_with_more_levels_than_arrow_takes_is_refused_and_the_one_beside_it_is_read() {
    // Arrays in arrays, each with one more level than its field.
    let levels_of = |n_arrays: u32| {
        let array = |place: u32| {
            let head = Bytes::default().u32(0).u32(0).u32(place.saturating_sub(1)).u16(0).u16(1);
            head.string("a").string("std::array<T,2>").string("").string("").u64(2)
        };
        let mut fields: Vec<Bytes> = (0..n_arrays).map(array).collect();
        fields.push(field(n_arrays - 1, 0, "x", "float"));
        fields.push(field(n_arrays + 1, 0, "beside", "float"));
        let columns = [column(0x18, 32, n_arrays), column(0x18, 32, n_arrays + 1)];
        let head = Bytes::default().u64(0).string("Events").string("").string("test");
        let header = head.records(&fields).records(&columns).records(&[]).records(&[]);
        let schema = Schema::parse(&header.envelope(1)).unwrap();
        let slots = Slots::new(&schema).unwrap();
        shape(&slots, &schema, &[FieldId(n_arrays + 1)]).unwrap();
        shape(&slots, &schema, &[FieldId(0)]).map(|_| ())
    };
    levels_of(62).unwrap();
    let error = levels_of(63).unwrap_err().to_string();
    assert!(error.contains("of more than 63 levels"), "{error}");
}

#[test]
fn a_column_type_of_a_later_version_spoils_its_field_alone() {
    let schema = schema();
    let slots = Slots::new(&schema).unwrap();
    let error = shape(&slots, &schema, &[FieldId(3)]).unwrap_err();
    assert!(matches!(&error, Error::Unsupported(_)) && error.to_string().contains("0x55"), "{error}");
}

/// The header of one field with a list of numbers, and a view of it; `field_version` and `item_code` may be of a later version.
fn header_with_view(field_version: u32, item_code: u16) -> Bytes {
    let projected = |parent: u32, role: u16, name: &str, type_name: &str, source: u32| {
        let head = Bytes::default().u32(0).u32(0).u32(parent).u16(role).u16(2);
        head.string(name).string(type_name).string("").string("").u32(source)
    };
    let mut list = field(0, 1, "list", "std::vector<float>");
    list.0[..4].copy_from_slice(&field_version.to_le_bytes());
    let fields = [
        list,
        field(0, 0, "_0", "float"),
        projected(2, 1, "view", "std::vector<float>", 0),
        projected(2, 0, "_0", "float", 1),
        projected(4, 0, "n", "ROOT::RNTupleCardinality<std::uint32_t>", 0),
    ];
    let columns = [column(0x0E, 32, 0), column(item_code, 32, 1)];
    let aliases = [Bytes::default().u32(0).u32(2), Bytes::default().u32(1).u32(3), Bytes::default().u32(0).u32(4)];
    let head = Bytes::default().u64(0).string("Events").string("").string("test");
    head.records(&fields).records(&columns).records(&aliases).records(&[])
}

#[test]
fn a_view_of_what_a_later_version_has_brought_is_not_shown() {
    for (field_version, item_code, is_readable) in [(0, 0x0C, true), (1, 0x0C, false), (0, 0x55, false)] {
        let schema = Schema::parse(&header_with_view(field_version, item_code).envelope(1)).unwrap();
        let slots = Slots::new(&schema).unwrap();
        for top in [0, 2, 4] {
            let found = shape(&slots, &schema, &[FieldId(top)]);
            assert_eq!(found.is_ok(), is_readable, "field {top}, version {field_version}, column {item_code:#x}");
            assert!(matches!(found, Ok(_) | Err(Error::Unsupported(_))));
        }
    }
}

#[test]
fn pages_and_page_lists_outside_of_files_are_refused_when_they_are_needed() {
    let mut schema = schema();
    // Locator of type 2: an object of a store.
    let object = |bytes: Bytes| bytes.i32(-(16 | 2 << 24)).u32(16).u64(77);
    let page = object(Bytes::default().i32(3));
    let columns = [Bytes::default().list(&[page], &Bytes::default().u64(0).u32(505))];
    let cluster = Bytes::default().list(&columns, &Bytes::default());
    let summary = Bytes::default().u64(0).u64(3);
    let list = Bytes::default().u64(schema.header_checksum).records(&[summary]).list(&[cluster], &Bytes::default());
    let found = PageList::parse(&list.envelope(3), &schema).unwrap();
    let page = found.pages(&found.columns[0][0])[0];
    assert_eq!(page.n_elements, 3);
    assert!(matches!(page.check_place(), Err(Error::Unsupported(_))));

    let group = object(Bytes::default().u64(0).u64(4).u32(1).u64(1000));
    let set = object(Bytes::default().u16(1).u16(0).u32(78)).string("notes");
    let head = Bytes::default().u64(0).u64(schema.header_checksum).record(&Bytes::default());
    let footer = Footer::parse(&head.records(&[group]).records(&[set]).envelope(2), &mut schema).unwrap();
    assert!(matches!(footer.groups[0].page_list.blob(0), Err(Error::Unsupported(_))));
    assert_eq!(footer.attributes[0].name, "notes");
    assert!(matches!(footer.attributes[0].anchor.blob(0), Err(Error::Unsupported(_))));
}

#[test]
fn streamer_information_is_a_list_and_other_extra_information_is_passed_over() {
    let with = |content: u32, bytes: &[u8]| {
        let info = Bytes::default().u32(content).u32(0).string("").u32(u32::try_from(bytes.len()).unwrap());
        let head = Bytes::default().u64(0).string("Events").string("").string("test");
        let header = head.records(&[]).records(&[]).records(&[]).records(&[info.bytes(bytes)]);
        Schema::parse(&header.envelope(1)).unwrap()
    };
    assert!(with(9, b"of a later version").streamer_infos().unwrap().is_empty());
    assert!(with(0, b"no list").streamer_infos().is_err());
    let mut list = vec![0xFF; 4];
    list.extend_from_slice(b"TList\0");
    // Byte count, version 5, TObject, name, no entries.
    list.extend_from_slice(&[0x40, 0, 0, 17, 0, 5, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert!(with(0, &list).streamer_infos().unwrap().is_empty());
}

#[test]
fn unknown_features_are_refused_by_their_numbers() {
    let mut bytes = header().0[8..].to_vec();
    for word in [1_u64 << 5 | 1 << 63, 1 << 37 | 1].iter().rev() {
        bytes.splice(0..0, word.to_le_bytes());
    }
    let error = Schema::parse(&Bytes(bytes).envelope(1)).unwrap_err().to_string();
    assert!(error.contains("feature flag 5, 64, 101,"), "{error}");
}

#[test]
fn unknown_features_are_refused() {
    for flags in [1_u64, 1 << 62, 1 << 63 | 2] {
        let mut bytes = header();
        bytes.0[..8].copy_from_slice(&flags.to_le_bytes());
        assert!(matches!(Schema::parse(&bytes.envelope(1)), Err(Error::Unsupported(_))), "{flags:#x}");
    }
}

#[test]
fn envelopes_of_another_kind_length_or_checksum_are_corrupt() {
    let whole = header().envelope(1);
    let mut changed = whole.clone();
    changed[30] ^= 4;
    for wrong in [header().envelope(2), whole[..whole.len() - 1].to_vec(), changed] {
        assert!(matches!(Schema::parse(&wrong), Err(Error::Corrupt(_))));
    }
}

#[test]
fn a_footer_belongs_to_its_header() {
    let mut schema = schema();
    let right = footer(&schema);
    let found = Footer::parse(&right.envelope(2), &mut schema).unwrap();
    assert_eq!(found.n_entries(), 4);
    assert_eq!(found.groups[0].page_list.locator, Some(Locator { offset: 7000, n_bytes: 500 }));
    schema.header_checksum ^= 1;
    assert!(matches!(Footer::parse(&right.envelope(2), &mut schema), Err(Error::Corrupt(_))));
}

#[test]
fn pages_are_read_with_large_locators_and_suppressed_columns() {
    let schema = schema();
    let list = PageList::parse(&page_list(&schema).envelope(3), &schema).unwrap();
    assert_eq!(list.clusters, [ClusterSummary { first_entry: 0, n_entries: 4 }]);
    let columns = &list.columns[0];
    let page = Page { offset: 4000, stored_bytes: 16, n_elements: 4, has_checksum: true, is_elsewhere: false };
    assert_eq!((list.pages(&columns[0]), columns[0].compression), (&[page][..], 505));
    let second = list.pages(&columns[1])[0];
    assert_eq!((second.offset, second.stored_bytes), (1 << 40, 1 << 33));
    assert!(columns[2].is_suppressed && !columns[0].is_suppressed);
}

#[test]
fn a_payload_longer_than_a_key_is_in_several() {
    let blob = Blob { offset: 1000, stored_bytes: 250, uncompressed_bytes: 250, max_key_bytes: 100 };
    let (first, offsets) = blob.first_part().unwrap();
    assert_eq!((first, offsets), (1000..1084, 1084..1100));
    let parts = blob.further_parts(&[5000_u64.to_le_bytes(), 9000_u64.to_le_bytes()].concat());
    assert_eq!(parts, [5000..5100, 9000..9066]);
    let short = Blob { max_key_bytes: 0, ..blob };
    assert_eq!(short.first_part().unwrap(), (1000..1250, 1250..1250));
    assert!(Blob { max_key_bytes: 1, ..blob }.first_part().is_err());
}

#[test]
fn a_page_is_compared_with_its_checksum() {
    let mut stored = b"some page".to_vec();
    stored.extend_from_slice(&checksum(b"some page").to_le_bytes());
    assert!(check_page(&stored).is_ok());
    stored[3] ^= 1;
    assert!(matches!(check_page(&stored), Err(Error::Corrupt(_))));
    assert!(matches!(check_page(b"short"), Err(Error::Truncated(_))));
}

#[test]
fn numbers_are_converted_or_refused() {
    let mut out = [0; 2];
    convert_numbers(&300_i32.to_ne_bytes(), Primitive::Int32, Primitive::UInt16, &mut out).unwrap();
    assert_eq!(u16::from_ne_bytes(out), 300);
    let minus_one = (-1_i32).to_ne_bytes();
    assert!(matches!(
        convert_numbers(&minus_one, Primitive::Int32, Primitive::UInt16, &mut out),
        Err(Error::Corrupt(_))
    ));
    let mut out = [0; 8];
    convert_numbers(&1.5_f32.to_ne_bytes(), Primitive::Float32, Primitive::Float64, &mut out).unwrap();
    assert_eq!(f64::from_ne_bytes(out).to_bits(), 1.5_f64.to_bits());
    assert!(matches!(
        convert_numbers(&minus_one, Primitive::Int32, Primitive::Float64, &mut out),
        Err(Error::Unsupported(_))
    ));
}

/// Reads metadata in which some bytes are wrong, and whose checksums are right all the same.
fn read_changed(mut header: Bytes, changes: &[(prop::sample::Index, u8)], which: u8) {
    let change = |bytes: &mut Bytes| {
        for (place, value) in changes {
            let place = place.index(bytes.0.len());
            bytes.0[place] = *value;
        }
    };
    if which == 0 {
        change(&mut header);
    }
    let Ok(mut schema) = Schema::parse(&header.envelope(1)) else { return };
    let (mut footer, mut pages) = (footer(&schema), page_list(&schema));
    match which {
        1 => change(&mut footer),
        2 => change(&mut pages),
        _ => {}
    }
    let _ = Footer::parse(&footer.envelope(2), &mut schema);
    let _ = PageList::parse(&pages.envelope(3), &schema);
    if let Ok(slots) = Slots::new(&schema) {
        for member in schema.members().iter() {
            let _ = shape(&slots, &schema, &schema.chain(member.field()));
        }
    }
}

proptest! {
    #[test]
    fn changed_metadata_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), which in 0_u8..3) {
        read_changed(header(), &changes, which);
    }

    #[test]
    fn changed_anchors_do_no_harm(place in any::<prop::sample::Index>(), value in any::<u8>(), end in 0_usize..80) {
        let mut object = anchor();
        let place = place.index(object.len());
        object[place] = value;
        object.truncate(end);
        let _ = Anchor::parse(&object, ANCHOR_CLASS);
    }
}
