use arrowroot_format::column::Name;

use super::*;

fn column(name: &str, data_type: DataType) -> TreeColumn {
    TreeColumn {
        name: name.to_owned(),
        title: String::new(),
        data_type,
        counter: None,
        layout: ColumnLayout::default(),
        compression: ColumnCodec::Set(arrowroot_format::codec::CompressionSetting::NONE),
    }
}

fn primitive(of: Primitive) -> DataType {
    DataType::Primitive(of)
}

fn list(of: DataType) -> DataType {
    DataType::List(Box::new(of))
}

fn branches(columns: &[TreeColumn]) -> Result<Vec<Branch>> {
    branches_of(columns, "T", Datime(1), false)
}

#[test]
fn leaves_have_the_types_and_sizes_of_the_columns() {
    let fixed = |of, n_items| DataType::FixedList(Box::new(of), n_items);
    let members: Vec<(Name, DataType)> =
        vec![("pt".into(), primitive(Primitive::Float64)), ("name".into(), DataType::Text)];
    let columns = [
        column("x", primitive(Primitive::Float32)),
        column("b", primitive(Primitive::Bool)),
        column("m", fixed(fixed(primitive(Primitive::UInt8), 3), 2)),
        column("l", list(fixed(primitive(Primitive::Int16), 3))),
        column("s", DataType::Text),
        column("o", DataType::Optional(Box::new(primitive(Primitive::UInt64)))),
        column("v", list(list(primitive(Primitive::Int64)))),
        column("S", list(DataType::Struct(members.into()))),
    ];
    let branches = branches(&columns).unwrap();
    let leaves = branches.iter().map(|of| of.leaf.as_ref().unwrap());
    let sizes = branches.iter().map(|of| of.entry_size);
    let said: Vec<_> = leaves.zip(sizes).map(|(leaf, size)| (leaf.title.as_str(), &*leaf.class, size)).collect();
    assert_eq!(
        said,
        [
            ("x", "TLeafF", EntrySize::Fixed(4)),
            ("b", "TLeafO", EntrySize::Fixed(1)),
            ("m[2][3]", "TLeafB", EntrySize::Fixed(6)),
            ("nl", "TLeafI", EntrySize::Fixed(4)),
            ("l[3]", "TLeafS", EntrySize::PerItem(6)),
            ("s", "TLeafC", EntrySize::Text),
            ("o_isvalid", "TLeafO", EntrySize::Fixed(1)),
            ("o", "TLeafL", EntrySize::Fixed(8)),
            ("v", "TLeafElement", EntrySize::Vectors),
            ("nS", "TLeafI", EntrySize::Fixed(4)),
            ("S_pt", "TLeafD", EntrySize::PerItem(8)),
            ("S_name", "TLeafElement", EntrySize::Vectors),
        ]
    );
    let counters: Vec<_> = branches.iter().map(|branch| branch.is_counter).collect();
    assert_eq!(counters.iter().filter(|is_counter| **is_counter).count(), 2);
    assert!(counters[3] && counters[9]);
}

#[test]
fn classes_of_vectors_have_the_names_and_checksums_of_root() {
    let columns = [
        column("a", list(list(primitive(Primitive::Float32)))),
        column("b", list(DataType::Text)),
        column("c", list(list(list(primitive(Primitive::Bool))))),
        column("d", list(list(primitive(Primitive::UInt64)))),
        column("e", list(list(primitive(Primitive::Int8)))),
    ];
    let branches = branches(&columns).unwrap();
    let names = [
        ("vector<vector<float> >", 0x8165_d920),
        ("vector<string>", 0x100e_72bc),
        ("vector<vector<vector<bool> > >", 0x5e9a_e30f),
        ("vector<vector<ULong64_t> >", 0xf0ef_de20),
        ("vector<vector<signed char> >", 0x7c21_96f2),
    ];
    for (branch, (name, checksum)) in branches.iter().zip(names) {
        assert_eq!(branch.vector_class.as_deref(), Some(name));
        assert_eq!(container_checksum(name), checksum, "{name}");
    }
}

#[test]
fn containers_that_are_asked_for_have_the_names_and_checksums_of_root() {
    let map = |key, value| DataType::Map(Box::new(key), Box::new(value));
    let of_type = |data_type, text: &str| {
        let layout = ColumnLayout { types: vec![(String::new(), text.to_owned())], ..ColumnLayout::default() };
        TreeColumn { layout, ..column("x", data_type) }
    };
    let int = || primitive(Primitive::Int32);
    for (of, text, name, checksum) in [
        (list(int()), "std::set<int>", "set<int>", 3_736_389_290),
        (list(DataType::Text), "set<string>", "set<string>", 123_532_470),
        (map(DataType::Text, int()), "map<string, int>", "map<string,int>", 1_105_518_413),
        (
            map(int(), primitive(Primitive::Float32)),
            "std::unordered_map<int,float>",
            "unordered_map<int,float>",
            1_210_879_126,
        ),
        (map(int(), primitive(Primitive::Int16)), "multimap<int,short>", "multimap<int,short>", 4_041_879_952),
        (
            list(map(int(), primitive(Primitive::Float32))),
            "vector<map<int,float>>",
            "vector<map<int,float> >",
            2_059_943_806,
        ),
        (list(primitive(Primitive::Int64)), "std::set<std::int64_t>", "set<long>", 4_057_492_314),
        (
            map(DataType::Text, list(primitive(Primitive::Float32))),
            "map<string,vector<float>>",
            "map<string,vector<float> >",
            964_962_059,
        ),
    ] {
        let [branch] = &branches(&[of_type(of, text)]).unwrap()[..] else { panic!("{text}") };
        let of_map = branch.planned.element.as_ref().map(|element| elements::part_of(element, None));
        let found = of_map.map_or_else(|| branch.vector_class.clone(), |part| Some(part.class_name));
        assert_eq!(found.as_deref(), Some(name));
        assert_eq!(container_checksum(name), checksum, "{name}");
    }
    for (of, text, told) in [
        (
            list(int()),
            "std::bitset<3>",
            "column x: types: std::bitset<3> where lists are: possible are std::vector<T>, ",
        ),
        (list(int()), "std::set<float>", "where lists are"),
        (list(DataType::Optional(Box::new(int()))), "std::set<int>", "where lists are"),
        (int(), "float", "float where std::int32_t is: possible is std::int32_t"),
        (DataType::Text, "std::string", "they are characters of a leaf"),
        (
            map(int(), DataType::Optional(Box::new(int()))),
            "map<int,int>",
            "maps of other keys or values are: they are lists",
        ),
    ] {
        let error = branches(&[of_type(of, text)]).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn what_has_no_layout_is_refused_by_name() {
    let too_large = DataType::FixedList(Box::new(primitive(Primitive::Float64)), 1 << 28);
    let error = branches(&[column("huge", too_large)]).unwrap_err().to_string();
    assert!(error.contains("column huge") && error.contains("1 GiB"), "{error}");
    let error = branches(&[column("none", DataType::Nothing)]).unwrap_err().to_string();
    assert!(error.contains("none"), "{error}");
    let name = "n".repeat(40_000);
    let error = branches(&[column(&name, primitive(Primitive::Bool))]).unwrap_err().to_string();
    assert!(error.contains("32767"), "{error}");
}
