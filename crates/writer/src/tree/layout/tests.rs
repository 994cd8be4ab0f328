use arrowroot_format::column::Name;

use super::*;

fn column(name: &str, data_type: DataType) -> TreeColumn {
    TreeColumn { name: name.to_owned(), data_type, counter: None, compression: CompressionSetting::NONE }
}

fn primitive(of: Primitive) -> DataType {
    DataType::Primitive(of)
}

fn list(of: DataType) -> DataType {
    DataType::List(Box::new(of))
}

fn titles(columns: &[TreeColumn]) -> Vec<String> {
    let branches = branches_of(columns, "T", 1).unwrap();
    branches.iter().map(|branch| format!("{} {} {:?}", branch.title, branch.leaf_title, branch.entry_size)).collect()
}

#[test]
fn titles_are_leaf_lists() {
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
    assert_eq!(
        titles(&columns),
        [
            "x/F x Fixed(4)",
            "b/O b Fixed(1)",
            "m[2][3]/b m[2][3] Fixed(6)",
            "nl/I nl Fixed(4)",
            "l[nl][3]/S l[nl][3] PerItem(6)",
            "s/C s Text",
            "o_isvalid/O o_isvalid Fixed(1)",
            "o/l o Fixed(8)",
            "v v Vectors",
            "nS/I nS Fixed(4)",
            "S_pt[nS]/D S_pt[nS] PerItem(8)",
            "S_name S_name Vectors",
        ]
    );
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
    let classes: Vec<Class> = branches_of(&columns, "T", 1).unwrap().iter().map(Branch::class).collect();
    let names = [
        ("vector<vector<float> >", 0x8165_d920),
        ("vector<string>", 0x100e_72bc),
        ("vector<vector<vector<bool> > >", 0x5e9a_e30f),
        ("vector<vector<ULong64_t> >", 0xf0ef_de20),
        ("vector<vector<signed char> >", 0x7c21_96f2),
    ];
    for (class, (name, checksum)) in classes.iter().zip(names) {
        assert_eq!(*class, Class::Vector(name.to_owned()));
        assert_eq!(vector_checksum(name), checksum, "{name}");
    }
}

#[test]
fn what_has_no_layout_is_refused_by_name() {
    let too_large = DataType::FixedList(Box::new(primitive(Primitive::Float64)), 1 << 28);
    let error = branches_of(&[column("huge", too_large)], "T", 1).unwrap_err().to_string();
    assert!(error.contains("column huge") && error.contains("1 GiB"), "{error}");
    let error = branches_of(&[column("none", DataType::Nothing)], "T", 1).unwrap_err().to_string();
    assert!(error.contains("none"), "{error}");
    let name = "n".repeat(40_000);
    let error = branches_of(&[column(&name, primitive(Primitive::Bool))], "T", 1).unwrap_err().to_string();
    assert!(error.contains("32767"), "{error}");
}
