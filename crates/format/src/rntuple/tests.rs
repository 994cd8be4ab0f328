//! Metadata that are right, that come from a later version, and that are hostile.

use proptest::prelude::*;

use super::envelope::Kind;
use super::writer::Writer;
use super::*;
use crate::error::Error;
use crate::streamer::Primitive;

/// The payload of an envelope of a kind.
fn envelope(kind: Kind, fill: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new();
    fill(&mut writer);
    writer.envelope(kind).unwrap().0
}

/// An envelope in which some bytes are others, with the checksum that it then should have.
fn changed(envelope: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut payload = envelope[8..envelope.len() - 8].to_vec();
    change(&mut payload);
    let kind = [Kind::Header, Kind::Footer, Kind::PageList][usize::from(envelope[0]) - 1];
    self::envelope(kind, |writer| writer.raw(&payload))
}

fn record(writer: &mut Writer, fill: impl FnOnce(&mut Writer)) {
    let frame = writer.begin_record();
    fill(writer);
    writer.end(frame);
}

/// A list of one item.
fn list_of_one(writer: &mut Writer, fill: impl FnOnce(&mut Writer)) {
    let frame = writer.begin_list(1).unwrap();
    fill(writer);
    writer.end(frame);
}

/// A locator of type 2: an object of a store.
fn object_locator(writer: &mut Writer) {
    writer.i32(-(16 | 2 << 24));
    writer.u32(16);
    writer.u64(77);
}

fn field<'t>(parent: Option<u32>, role: Role, name: &'t str, type_name: &'t str) -> FieldDescription<'t> {
    FieldDescription::new(name, type_name, role, parent.map(FieldId))
}

fn column(code: u16, bits: u16, field: u32) -> NtupleColumn {
    NtupleColumn::new(ColumnType::new(code, bits, None), FieldId(field))
}

fn schema_of(fields: &[FieldDescription<'_>], columns: &[NtupleColumn]) -> Schema {
    let mut schema = Schema::new("Events", "", "test");
    for field in fields {
        schema.add_field(field).unwrap();
    }
    for column in columns {
        schema.add_column(column.clone()).unwrap();
    }
    schema.begin().unwrap();
    schema
}

/// A number, a list of texts, and a field of a column type from the future.
fn schema() -> Schema {
    let fields = [
        field(None, Role::Leaf, "x", "float"),
        field(None, Role::Collection, "list", "std::vector<std::string>"),
        field(Some(1), Role::Leaf, "_0", "std::string"),
        field(None, Role::Leaf, "new", "future"),
    ];
    let columns =
        [column(0x18, 32, 0), column(0x1B, 64, 1), column(0x0E, 32, 2), column(0x02, 8, 2), column(0x55, 7, 3)];
    schema_of(&fields, &columns)
}

/// The same, with more from a later version behind the fields and at the end.
fn later_header() -> Vec<u8> {
    let header = schema().write().unwrap();
    changed(&header, |payload| {
        // The first field: behind flags, three strings, and the frame of the list.
        let start = 8 + (4 + 6) + 4 + (4 + 4) + 12;
        let n_bytes = u64::from_le_bytes(payload[start..start + 8].try_into().unwrap());
        let later = b"from a later version";
        let end = start + usize::try_from(n_bytes).unwrap();
        payload.splice(end..end, later.iter().copied());
        payload[start..start + 8].copy_from_slice(&(n_bytes + 20).to_le_bytes());
        let list = i64::from_le_bytes(payload[start - 12..start - 4].try_into().unwrap());
        payload[start - 12..start - 4].copy_from_slice(&(list - 20).to_le_bytes());
        payload.extend_from_slice(b"more from a later version");
    })
}

fn shape(slots: &Slots, schema: &Schema, chain: &[FieldId]) -> crate::Result<Shape> {
    slots.shape(schema, chain, &|_| Err(Error::unsupported(0, "objects of streamers")))
}

fn footer() -> Footer {
    let locator = Some(Locator { offset: 7000, n_bytes: 500 });
    let page_list = EnvelopeLink { uncompressed_bytes: 1000, locator };
    let group = ClusterGroup { first_entry: 0, n_entries: 4, n_clusters: 1, page_list };
    Footer { groups: vec![group], attributes: Vec::new(), has_attribute_list: true }
}

fn page(offset: u64, stored_bytes: u64, n_elements: u32, has_checksum: bool) -> Page {
    Page { offset, stored_bytes, n_elements, has_checksum, is_elsewhere: false }
}

/// One cluster: two columns with a page each, one of them of a large size, and three that are suppressed.
fn page_list(schema: &Schema) -> Vec<u8> {
    let mut list = PageList::default();
    list.add_cluster(ClusterSummary { first_entry: 0, n_entries: 4 });
    list.add_column(0, 505, [page(4000, 16, 4, true)]);
    list.add_column(0, 505, [page(1 << 40, 1 << 33, 3, false)]);
    (0..3).for_each(|_| list.add_suppressed_column(1 << 63));
    list.write(schema).unwrap()
}

fn anchor() -> Anchor {
    let blob = |offset, stored_bytes, uncompressed_bytes| Blob {
        offset,
        stored_bytes,
        uncompressed_bytes,
        max_key_bytes: 1 << 30,
    };
    Anchor { version: [1, 0, 2, 0], header: blob(100, 20, 30), footer: blob(400, 50, 60) }
}

#[test]
fn an_anchor_tells_where_header_and_footer_are() {
    let object = anchor().write().unwrap();
    let found = Anchor::parse(&object, ANCHOR_CLASS).unwrap();
    assert_eq!((found, object.len() as u64), (anchor(), ANCHOR_BYTES));
    assert_eq!(found.version, [1, 0, 2, 0]);
    assert_eq!((found.header.offset, found.header.stored_bytes, found.header.uncompressed_bytes), (100, 20, 30));
    assert_eq!((found.footer.offset, found.footer.stored_bytes, found.footer.uncompressed_bytes), (400, 50, 60));
}

#[test]
fn a_changed_anchor_is_corrupt_and_an_old_one_unsupported() {
    let mut changed = anchor().write().unwrap();
    changed[20] ^= 1;
    assert!(matches!(Anchor::parse(&changed, ANCHOR_CLASS), Err(Error::Corrupt(_))));
    let old = Anchor::parse(&[], OLD_ANCHOR_CLASS).unwrap_err();
    assert!(matches!(&old, Error::Unsupported(_)) && old.to_string().contains("before the format was released"));
}

#[test]
fn fields_and_columns_are_read_and_what_is_appended_is_passed_over() {
    let schema = Schema::parse(&later_header()).unwrap();
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
    let mut named = Schema::new("Events", "a \0 is no name", "test");
    named.add_field(&field(None, Role::Leaf, "x", "f\0")).unwrap();
    assert_eq!(Schema::parse(&named.begin().unwrap()).unwrap().fields().count(), 1);
    let named = schema_of(&[field(None, Role::Leaf, "x\0y", "float")], &[]);
    let error = Schema::parse(&named.write().unwrap()).unwrap_err();
    assert!(matches!(&error, Error::Corrupt(_)) && error.to_string().contains("zero byte"), "{error}");
}

#[test]
fn texts_that_name_nothing_may_have_any_bytes() {
    let like = |text: &str| text.replace('*', "\u{e9}");
    let mut schema = Schema::new("Events", &like("of the *"), &like("by *"));
    let (alias, description) = (like("alias *"), like("in *C"));
    let x = FieldDescription { type_alias: &alias, description: &description, ..field(None, Role::Leaf, "x", "float") };
    schema.add_field(&x).unwrap();
    // Two bytes of UTF-8 each become two that are none.
    let latin = changed(&schema.begin().unwrap(), |payload| {
        for pair in 1..payload.len() {
            if payload[pair - 1..=pair] == [0xC3, 0xA9] {
                payload[pair - 1..=pair].copy_from_slice(&[0xE9, 0xE9]);
            }
        }
    });
    let schema = Schema::parse(&latin).unwrap();
    let read = |text: &str| text.replace('*', "\u{fffd}\u{fffd}");
    assert_eq!((&schema.description, &schema.writer), (&read("of the *"), &read("by *")));
    let x = schema.fields().next().unwrap();
    assert_eq!((x.type_alias(), x.description()), (&*read("alias *"), &*read("in *C")));
}

#[test]
fn a_name_that_is_not_utf_8_is_corrupt() {
    let named = schema_of(&[field(None, Role::Leaf, "n\u{e9}", "float")], &[]).write().unwrap();
    let latin = changed(&named, |payload| {
        let at = payload.iter().position(|&byte| byte == 0xC3).unwrap();
        payload[at] = b'a';
    });
    let error = Schema::parse(&latin).unwrap_err();
    assert!(matches!(&error, Error::Corrupt(_)) && error.to_string().contains("utf-8"), "{error}");
}

#[test]
fn a_long_name_around_many_fields_is_not_repeated_without_bound() {
    let long = "x".repeat(1 << 20);
    let with = |n_inside: usize| {
        // Their paths are too long to be added: the names are put in afterwards.
        let names: Vec<String> = (0..n_inside).map(|number| format!("y{number}")).collect();
        let mut fields = vec![field(None, Role::Record, "x", "Event")];
        fields.extend(names.iter().map(|name| field(Some(0), Role::Leaf, name, "float")));
        let header = schema_of(&fields, &[]).write().unwrap();
        let start = 8 + (4 + 6) + 4 + (4 + 4) + 12;
        Schema::parse(&changed(&header, |payload| {
            payload.splice(start + 28..start + 29, long.bytes());
            let added = long.len() as u64 - 1;
            for (index, is_list) in [(start - 12, true), (start, false)] {
                let n_bytes = u64::from_le_bytes(payload[index..index + 8].try_into().unwrap());
                let n_bytes = if is_list { n_bytes.wrapping_sub(added) } else { n_bytes + added };
                payload[index..index + 8].copy_from_slice(&n_bytes.to_le_bytes());
            }
            payload[start + 24..start + 28].copy_from_slice(&u32::try_from(long.len()).unwrap().to_le_bytes());
        }))
    };
    assert_eq!(with(60).unwrap().members().len(), 61);
    let error = with(64).unwrap_err();
    assert!(matches!(&error, Error::Unsupported(_)) && error.to_string().contains("paths"), "{error}");
}

#[test]
fn a_field_with_more_levels_than_arrow_takes_is_refused_and_the_one_beside_it_is_read() {
    // Arrays in arrays, each with one more level than its field.
    let levels_of = |n_arrays: u32| {
        let array = |index: u32| FieldDescription {
            array_size: Some(2),
            ..field(index.checked_sub(1), Role::Leaf, "a", "std::array<T,2>")
        };
        let mut fields: Vec<FieldDescription<'_>> = (0..n_arrays).map(array).collect();
        fields.push(field(n_arrays.checked_sub(1), Role::Leaf, "x", "float"));
        fields.push(field(None, Role::Leaf, "beside", "float"));
        let schema = schema_of(&fields, &[column(0x18, 32, n_arrays), column(0x18, 32, n_arrays + 1)]);
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

/// One field with a list of numbers, and views of it; `field_version` and `item_code` may be of a later version.
fn schema_with_view(field_version: u32, item_code: u16) -> Schema {
    let view = |field: FieldDescription<'static>, source| FieldDescription { source: Some(FieldId(source)), ..field };
    let list = field(None, Role::Collection, "list", "std::vector<float>");
    let fields = [
        FieldDescription { field_version, ..list },
        field(Some(0), Role::Leaf, "_0", "float"),
        view(FieldDescription { name: "view", ..list }, 0),
        view(field(Some(2), Role::Leaf, "_0", "float"), 1),
        view(field(None, Role::Leaf, "n", "ROOT::RNTupleCardinality<std::uint32_t>"), 0),
    ];
    let mut schema = schema_of(&fields, &[column(0x0E, 32, 0), column(item_code, 32, 1)]);
    for (physical, view) in [(0, 2), (1, 3), (0, 4)] {
        schema.add_alias(FieldId(view), ColumnId(physical)).unwrap();
    }
    schema.begin().unwrap();
    schema
}

#[test]
fn a_view_of_what_a_later_version_has_brought_is_not_shown() {
    for (field_version, item_code, is_readable) in [(0, 0x0C, true), (1, 0x0C, false), (0, 0x55, false)] {
        let schema = Schema::parse(&schema_with_view(field_version, item_code).write().unwrap()).unwrap();
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
    let list = envelope(Kind::PageList, |writer| {
        writer.u64(schema.header_checksum);
        list_of_one(writer, |writer| {
            record(writer, |writer| {
                writer.u64(0);
                writer.u64(3);
            });
        });
        list_of_one(writer, |writer| {
            list_of_one(writer, |writer| {
                list_of_one(writer, |writer| {
                    writer.i32(3);
                    object_locator(writer);
                    writer.i64(0);
                    writer.u32(505);
                });
            });
        });
    });
    let found = PageList::parse(&list, &schema).unwrap();
    let page = found.pages(&found.columns[0][0])[0];
    assert_eq!(page.n_elements, 3);
    assert!(matches!(page.check_place(), Err(Error::Unsupported(_))));
    assert!(matches!(found.write(&schema), Err(Error::Unsupported(_))));

    let footer = envelope(Kind::Footer, |writer| {
        writer.u64(0);
        writer.u64(schema.header_checksum);
        record(writer, |_| ());
        list_of_one(writer, |writer| {
            record(writer, |writer| {
                writer.u64(0);
                writer.u64(4);
                writer.u32(1);
                writer.u64(1000);
                object_locator(writer);
            });
        });
        list_of_one(writer, |writer| {
            record(writer, |writer| {
                writer.u16(1);
                writer.u16(0);
                writer.u32(78);
                object_locator(writer);
                writer.counted(b"notes").unwrap();
            });
        });
    });
    let footer = Footer::parse(&footer, &mut schema).unwrap();
    assert!(matches!(footer.groups[0].page_list.blob(0), Err(Error::Unsupported(_))));
    assert_eq!(footer.attributes[0].name, "notes");
    assert!(matches!(footer.attributes[0].anchor.blob(0), Err(Error::Unsupported(_))));
    assert!(matches!(footer.write(&schema), Err(Error::Unsupported(_))));
}

#[test]
fn streamer_information_is_a_list_and_other_extra_information_is_passed_over() {
    let with = |content: u32, bytes: &[u8]| {
        let mut schema = schema_of(&[], &[]);
        schema.add_extra_info(ExtraInfo { content, bytes: bytes.to_vec(), ..ExtraInfo::default() });
        Schema::parse(&schema.begin().unwrap()).unwrap()
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
    let flags = [1_u64 << 5 | 1 << 63, 1 << 37 | 1].map(u64::to_le_bytes);
    let header = changed(&schema().write().unwrap(), |payload| _ = payload.splice(0..8, flags.concat()));
    let error = Schema::parse(&header).unwrap_err().to_string();
    assert!(error.contains("feature flag 5, 64, 101,"), "{error}");
}

#[test]
fn unknown_features_are_refused() {
    for flags in [1_u64, 1 << 62, 1 << 63 | 2] {
        let header =
            changed(&schema().write().unwrap(), |payload| payload[..8].copy_from_slice(&u64::to_le_bytes(flags)));
        assert!(matches!(Schema::parse(&header), Err(Error::Unsupported(_))), "{flags:#x}");
    }
}

#[test]
fn envelopes_of_another_kind_length_or_checksum_are_corrupt() {
    let whole = schema().write().unwrap();
    let mut changed = whole.clone();
    changed[30] ^= 4;
    for wrong in [
        envelope(Kind::Footer, |writer| writer.raw(&whole[8..whole.len() - 8])),
        whole[..whole.len() - 1].to_vec(),
        changed,
    ] {
        assert!(matches!(Schema::parse(&wrong), Err(Error::Corrupt(_))));
    }
}

#[test]
fn groups_and_sets_take_no_more_bytes_than_they_need() {
    let mut schema = schema();
    for name in ["", "a", "abc"] {
        let group = footer().groups[0];
        let set = AttributeSet { name: name.to_owned(), version: [1, 0], anchor: group.page_list };
        let written = Footer { attributes: vec![set], ..footer() };
        assert_eq!(Footer::parse(&written.write(&schema).unwrap(), &mut schema).unwrap(), written, "{name:?}");
    }
    // A locator of a type that is not known may be its head alone.
    let head = |writer: &mut Writer| writer.i32(-(4 | 2 << 24));
    let bytes = envelope(Kind::Footer, |writer| {
        writer.u64(0);
        writer.u64(schema.header_checksum);
        record(writer, |_| ());
        list_of_one(writer, |writer| {
            record(writer, |writer| {
                [0, 4].into_iter().for_each(|number| writer.u64(number));
                writer.u32(1);
                writer.u64(1000);
                head(writer);
            });
        });
        list_of_one(writer, |writer| {
            record(writer, |writer| {
                [1, 0].into_iter().for_each(|part| writer.u16(part));
                writer.u32(78);
                head(writer);
                writer.counted(b"").unwrap();
            });
        });
    });
    let found = Footer::parse(&bytes, &mut schema).unwrap();
    assert_eq!((found.groups.len(), found.attributes.len()), (1, 1));
}

#[test]
fn a_footer_belongs_to_its_header() {
    let mut schema = schema();
    let right = footer().write(&schema).unwrap();
    let found = Footer::parse(&right, &mut schema).unwrap();
    assert_eq!(found, footer());
    assert_eq!(found.n_entries(), 4);
    assert_eq!(found.groups[0].page_list.locator, Some(Locator { offset: 7000, n_bytes: 500 }));
    schema.header_checksum ^= 1;
    assert!(matches!(Footer::parse(&right, &mut schema), Err(Error::Corrupt(_))));
}

#[test]
fn pages_are_read_with_large_locators_and_suppressed_columns() {
    let schema = schema();
    let list = PageList::parse(&page_list(&schema), &schema).unwrap();
    assert_eq!(list.clusters, [ClusterSummary { first_entry: 0, n_entries: 4 }]);
    let columns = &list.columns[0];
    assert_eq!((list.pages(&columns[0]), columns[0].compression), (&[page(4000, 16, 4, true)][..], 505));
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
fn read_changed(changes: &[(prop::sample::Index, u8)], which: u8) {
    let change = |envelope: Vec<u8>, is_changed: bool| {
        changed(&envelope, |payload| {
            for (index, value) in changes.iter().filter(|_| is_changed) {
                let index = index.index(payload.len());
                payload[index] = *value;
            }
        })
    };
    let header = change(later_header(), which == 0);
    let Ok(mut schema) = Schema::parse(&header) else { return };
    let (footer, pages) = (footer().write(&schema).unwrap(), page_list(&schema));
    let _ = Footer::parse(&change(footer, which == 1), &mut schema);
    let _ = PageList::parse(&change(pages, which == 2), &schema);
    if let Ok(slots) = Slots::new(&schema) {
        for member in schema.members().iter() {
            let _ = shape(&slots, &schema, &schema.chain(member.field()));
        }
    }
}

fn any_locator() -> impl Strategy<Value = Option<Locator>> {
    (any::<u64>(), any::<u64>()).prop_map(|(offset, n_bytes)| Some(Locator { offset, n_bytes }))
}

prop_compose! {
    /// A field behind `n` others; the numbers may be any.
    fn any_field(n: u32)(
        texts in prop::array::uniform4("[a-z<>:]{0,5}"),
        numbers in any::<[u32; 2]>(),
        type_checksum in any::<Option<u32>>(),
        role in 0_u16..7,
        other_flags in any::<u16>(),
        parent in prop::option::of(0..n.max(1)),
        array_size in any::<Option<u64>>(),
        source in any::<Option<u32>>(),
    ) -> ([String; 4], FieldDescription<'static>) {
        let role = Role::of_code(role);
        let field = FieldDescription {
            field_version: numbers[0],
            type_version: numbers[1],
            type_checksum,
            other_flags: other_flags & !7,
            parent: parent.filter(|parent| *parent < n).map(FieldId),
            array_size,
            source: source.map(FieldId),
            ..FieldDescription::new("", "", role, None)
        };
        (texts, field)
    }
}

prop_compose! {
    fn any_column(n_fields: u32)(
        (code, bits, field, representation) in (0_u16..40, 0_u16..100, 0..n_fields, any::<u16>()),
        deferred in prop::option::of((1_u64..1 << 63, any::<bool>())),
        range in prop::option::of((-1e9..1e9, -1e9..1e9)),
        other_flags in any::<u16>(),
    ) -> NtupleColumn {
        let deferred = deferred.map(|(first_element, is_suppressed)| Deferred { first_element, is_suppressed });
        let column_type = ColumnType::new(code, bits, range);
        NtupleColumn { column_type, field: FieldId(field), representation, deferred, range, other_flags: other_flags & !3 }
    }
}

/// Adds a field, and columns, an alias and extra information of it.
fn extend(schema: &mut Schema, texts: &[String; 4], field: FieldDescription<'_>, columns: &[NtupleColumn]) {
    let [name, type_name, type_alias, description] = texts;
    let id = schema.add_field(&FieldDescription { name, type_name, type_alias, description, ..field }).unwrap();
    for column in columns {
        schema.add_column(NtupleColumn { field: FieldId(column.field.0.min(id.0)), ..column.clone() }).unwrap();
    }
    if field.source.is_some() && !schema.columns.is_empty() {
        schema.add_alias(id, ColumnId(0)).unwrap();
    }
    let (content, type_version) = (field.field_version, field.type_version);
    schema.add_extra_info(ExtraInfo { content, type_version, type_name: vec![0xFF], bytes: name.clone().into() });
}

proptest! {
    #[test]
    fn changed_metadata_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), which in 0_u8..3) {
        read_changed(&changes, which);
    }

    #[test]
    fn changed_anchors_do_no_harm(index in any::<prop::sample::Index>(), value in any::<u8>(), end in 0_usize..80) {
        let mut object = anchor().write().unwrap();
        let index = index.index(object.len());
        object[index] = value;
        object.truncate(end);
        let _ = Anchor::parse(&object, ANCHOR_CLASS);
    }

    #[test]
    fn a_schema_that_was_written_is_read_again(
        fields in prop::collection::vec((any_field(5), prop::collection::vec(any_column(8), 0..4)), 0..8),
        n_in_header in 0_usize..9,
        locators in prop::collection::vec((any::<[u32; 4]>(), any_locator(), "[a-z]{0,4}"), 0..4),
        has_attribute_list in any::<bool>(),
    ) {
        let mut schema = Schema::new("Events", "a description", "a test");
        let mut header = schema.begin().unwrap();
        for (number, ((texts, field), columns)) in fields.iter().enumerate() {
            let parent = field.parent.filter(|parent| (parent.0 as usize) < number);
            extend(&mut schema, texts, FieldDescription { parent, ..*field }, columns);
            if number < n_in_header {
                header = schema.begin().unwrap();
            }
        }
        let link = |bytes: u32, locator| EnvelopeLink { uncompressed_bytes: bytes.into(), locator };
        let groups = locators.iter().map(|([a, b, c, d], locator, _)| ClusterGroup {
            first_entry: (*a).into(),
            n_entries: (*b).into(),
            n_clusters: *c,
            page_list: link(*d, *locator),
        });
        let attributes = locators.iter().map(|([a, b, ..], locator, name)| AttributeSet {
            name: name.clone(),
            version: [(*a & 0xFFFF) as u16, (*b & 0xFFFF) as u16],
            anchor: link(*a, *locator),
        });
        let attributes: Vec<_> = attributes.filter(|_| has_attribute_list).collect();
        let footer = Footer { groups: groups.collect(), attributes, has_attribute_list };

        let mut found = Schema::parse(&header).unwrap();
        prop_assert_eq!(found.write().unwrap(), header);
        let written = footer.write(&schema).unwrap();
        prop_assert_eq!(Footer::parse(&written, &mut found).unwrap(), footer.clone());
        schema.index();
        prop_assert_eq!(&found, &schema);
        prop_assert_eq!(footer.write(&found).unwrap(), written);
    }

    #[test]
    fn page_lists_and_anchors_that_were_written_are_read_again(
        clusters in prop::collection::vec((0_u64..1 << 62, 0_u64..1 << 56, prop::collection::vec((any::<u64>(), any::<u32>(), prop::collection::vec((any::<u64>(), any::<u64>(), 0_u32..1 << 31, any::<bool>()), 0..4)), 0..6)), 0..4),
        words in any::<[u64; 7]>(),
        version in any::<[u16; 3]>(),
    ) {
        let schema = schema();
        let mut list = PageList::default();
        for (first_entry, n_entries, columns) in clusters {
            list.add_cluster(ClusterSummary { first_entry, n_entries });
            for (first, compression, pages) in columns.into_iter().take(5) {
                match i64::try_from(first) {
                    // A page of no elements cannot say that it has a checksum.
                    Ok(_) => list.add_column(first, compression, pages.into_iter().map(|(offset, n_bytes, n, sum)| page(offset, n_bytes, n, sum && n > 0))),
                    Err(_) => list.add_suppressed_column(first.wrapping_neg().max(1)),
                }
            }
        }
        let written = list.write(&schema).unwrap();
        let found = PageList::parse(&written, &schema).unwrap();
        prop_assert_eq!(&found, &list);
        prop_assert_eq!(found.write(&schema).unwrap(), written);

        let [a, b, c, d, e, f, max_key_bytes] = words;
        let blob = |offset, stored_bytes, uncompressed_bytes| Blob { offset, stored_bytes, uncompressed_bytes, max_key_bytes };
        let anchor = Anchor { version: [1, version[0], version[1], version[2]], header: blob(a, b, c), footer: blob(d, e, f) };
        prop_assert_eq!(Anchor::parse(&anchor.write().unwrap(), ANCHOR_CLASS).unwrap(), anchor);
    }
}
