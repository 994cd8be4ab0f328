use arrowroot_format::streamer::StreamerInfo;

use super::*;
use crate::stored::ElementClassName;

fn number() -> DataType {
    DataType::Primitive(Primitive::Float32)
}

fn list(item: DataType) -> DataType {
    DataType::List(Box::new(item))
}

fn fixed(item: DataType, n_items: u32) -> DataType {
    DataType::FixedList(Box::new(item), n_items)
}

fn optional(value: DataType) -> DataType {
    DataType::Optional(Box::new(value))
}

fn map(key: DataType, value: DataType) -> DataType {
    DataType::Map(Box::new(key), Box::new(value))
}

fn members<const N: usize>(of: [(&str, DataType); N]) -> DataType {
    DataType::Struct(of.into_iter().map(|(name, of)| (name.into(), of)).collect())
}

/// The branches as texts: `x[nx][3]`, `x: 2 vectors`, `x /C`.
fn shown(columns: &[(&str, DataType, Option<&str>)]) -> Vec<String> {
    let mut all = Vec::new();
    for (name, data_type, counter) in columns {
        all.push(BranchColumn { counter: *counter, ..BranchColumn::new(name, data_type) });
    }
    shown_branches(&plan_branches(&all).unwrap())
}

/// Branches of objects are shown with their class and member, their type and split level: `x.pt: S 0, type 0, 98`.
fn shown_branches(branches: &[PlannedBranch]) -> Vec<String> {
    let dims = |dims: &[u32]| dims.iter().map(|n_items| format!("[{n_items}]")).collect::<String>();
    let show = |branch: &PlannedBranch| {
        let name = &branch.name;
        if let Some(element) = &branch.element {
            let class = match &element.class {
                ElementClassName::Described(class) => &class.name,
                ElementClassName::Container(name) => name,
            };
            let (id, of_node, level) = (element.id, element.node_type, element.split_level);
            return format!("{name}: {class} {id}, type {of_node}, {level}");
        }
        match (&branch.form, branch.content) {
            (BranchForm::Fixed(of), Content::Text) => format!("{name}{} /C", dims(of)),
            (BranchForm::Fixed(of), _) => format!("{name}{}", dims(of)),
            (BranchForm::Counted { counter, dims: of }, _) => {
                format!("{name}[{}]{}", branches[*counter].name, dims(of))
            }
            (BranchForm::Vectors(n), _) => format!("{name}: {n} vectors"),
            (form, _) => panic!("{form:?}"),
        }
    };
    branches.iter().map(show).collect()
}

#[test]
fn columns_become_branches_as_the_table_says() {
    for (of, expected) in [
        (number(), vec!["x"]),
        (DataType::Text, vec!["x /C"]),
        (DataType::Bytes, vec!["nx", "x[nx]"]),
        (fixed(fixed(number(), 3), 2), vec!["x[2][3]"]),
        (list(fixed(fixed(number(), 3), 2)), vec!["nx", "x[nx][2][3]"]),
        (fixed(list(number()), 2), vec!["x: 2 vectors"]),
        (list(list(number())), vec!["x: 2 vectors"]),
        (list(DataType::Text), vec!["x: 1 vectors"]),
        (fixed(DataType::Text, 3), vec!["x: 1 vectors"]),
        (list(DataType::Bytes), vec!["x: 2 vectors"]),
        (optional(number()), vec!["x_isvalid", "x"]),
        (optional(list(optional(number()))), vec!["x_isvalid", "nx", "x_isvalid_[nx]", "x[nx]"]),
        (list(list(optional(number()))), vec!["x_isvalid: 2 vectors", "x: 2 vectors"]),
        (optional(DataType::Nothing), vec!["x_isvalid"]),
        (list(optional(DataType::Nothing)), vec!["nx", "x_isvalid[nx]"]),
        (map(DataType::Text, number()), vec!["x: map<string,float> -1, type 0, 0"]),
        (map(number(), number()), vec!["nx", "x_key[nx]", "x_value[nx]"]),
        (optional(map(DataType::Text, DataType::Text)), vec!["x_isvalid", "x: map<string,string> -1, type 0, 0"]),
        (list(map(number(), number())), vec!["x_key: 2 vectors", "x_value: 2 vectors"]),
        (
            members([("m", map(DataType::Text, number())), ("n", number())]),
            vec!["x_m: map<string,float> -1, type 0, 0", "x_n"],
        ),
        (map(DataType::Text, optional(number())), vec!["x_key: 1 vectors", "nx", "x_value_isvalid[nx]", "x_value[nx]"]),
        (map(number(), fixed(number(), 3)), vec!["nx", "x_key[nx]", "x_value[nx][3]"]),
        (map(number(), members([("a", number())])), vec!["nx", "x_key[nx]", "x_value_a[nx]"]),
        (
            members([("a", number()), ("b.c", list(number())), ("d", members([("e", DataType::Text)]))]),
            vec!["x_a", "nx_b_x2e_c", "x_b_x2e_c[nx_b_x2e_c]", "x_d_e /C"],
        ),
        (
            list(members([("a", number()), ("b", list(number())), ("c", fixed(number(), 2)), ("d", DataType::Text)])),
            vec!["nx", "x_a[nx]", "x_b: 2 vectors", "x_c[nx][2]", "x_d: 1 vectors"],
        ),
        (fixed(members([("a", number()), ("b", DataType::Text)]), 3), vec!["x_a[3]", "x_b: 1 vectors"]),
    ] {
        assert_eq!(shown(&[("x", of.clone(), None)]), expected, "{of:?}");
    }
}

#[test]
fn names_that_clash_get_a_line_behind_and_counters_come_last() {
    let integer = || DataType::Primitive(Primitive::Int32);
    assert_eq!(
        shown(&[("x", list(number()), None), ("nx", number(), None), ("nx_", number(), None)]),
        ["nx__", "x[nx__]", "nx", "nx_"]
    );
    assert_eq!(
        shown(&[("S", members([("m", number())]), None), ("S_m", number(), None)]),
        ["S_m_", "S_m"],
        "a column has its own name"
    );
    assert_eq!(
        shown(&[("x", optional(number()), None), ("x_isvalid", optional(integer()), None)]),
        ["x_isvalid_", "x", "x_isvalid_isvalid", "x_isvalid"]
    );
    assert_eq!(shown(&[("a.b", number(), None), ("a_x2e_b", number(), None)]), ["a.b", "a_x5f_x2e_b"]);
    let number = number();
    let columns = [BranchColumn::new("x", &number), BranchColumn::new("x", &DataType::Text)];
    assert_eq!(plan_branches(&columns), Err(StoreError::SameName { name: "x".to_owned() }));
}

#[test]
fn columns_share_a_counter_where_the_caller_says_so() {
    let integer = || DataType::Primitive(Primitive::Int32);
    let muon = Some("nMuon");
    assert_eq!(
        shown(&[("Muon_pt", list(number()), muon), ("Muon", list(members([("q", integer())])), muon)]),
        ["nMuon", "Muon_pt[nMuon]", "Muon_q[nMuon]"]
    );
    assert_eq!(
        shown(&[("Muon_pt", list(number()), muon), ("x", number(), None), ("nMuon", integer(), None)]),
        ["nMuon", "Muon_pt[nMuon]", "x"],
        "a column of the name is the counter"
    );
    assert_eq!(
        shown(&[("Muon_pt", list(number()), muon), ("nMuon", number(), None)]),
        ["nMuon_", "Muon_pt[nMuon_]", "nMuon"],
        "unless it has no integers"
    );
    let inner = members([("a", list(number()))]);
    assert_eq!(shown(&[("S", inner, Some("nT"))]), ["nS_a", "S_a[nS_a]"], "lists in members have their own");
}

#[test]
fn paths_lead_to_the_values() {
    let of = optional(list(members([("a", optional(number()))])));
    let branches = plan_branches(&[BranchColumn::new("x", &of)]).unwrap();
    let paths: Vec<_> = branches.iter().map(|branch| (branch.name.as_str(), branch.path.as_slice())).collect();
    let to_member = [Step::Present, Step::Items, Step::Member(0)];
    let to_value = [Step::Present, Step::Items, Step::Member(0), Step::Present];
    let expected: [(&str, &[Step]); 4] =
        [("x_isvalid", &[]), ("nx", &[Step::Present]), ("x_a_isvalid", &to_member), ("x_a", &to_value)];
    assert_eq!(paths, expected);
}

#[test]
fn names_take_bounded_memory() {
    let long = "x".repeat(1 << 20);
    let wide = DataType::Struct((0..100).map(|index| (format!("m{index}").into(), number())).collect());
    let error = plan_branches(&[BranchColumn::new(&long, &wide)]).unwrap_err();
    assert!(error.to_string().contains("branches whose names take more than 64 MiB"));
}

#[test]
fn no_columns_have_no_branches() {
    assert_eq!(plan_branches(&[]), Ok(Vec::new()));
}

/// The branches of a column of objects of class `S`.
fn split(of: &DataType, level: u8) -> Vec<String> {
    let objects = Some(Objects { split: level, class: "S", is_named: true });
    shown_branches(&plan_branches(&[BranchColumn { objects, ..BranchColumn::new("x", of) }]).unwrap())
}

#[test]
fn objects_are_split_as_far_as_root_splits_them() {
    let inner = members([("a", number()), ("v", list(members([("b", number())])))]);
    let of = members([("n", fixed(number(), 3)), ("t", DataType::Text), ("s", inner)]);
    assert_eq!(split(&of, 0), ["x: S -1, type 0, 0"]);
    assert_eq!(
        split(&of, 1),
        ["x.: S -2, type 0, 1", "x.n[3]: S 0, type 0, 0", "x.t: S 1, type 0, 0", "x.s: S 2, type 0, 0"]
    );
    assert_eq!(
        split(&of, 2),
        [
            "x.: S -2, type 0, 2",
            "x.n[3]: S 0, type 0, 1",
            "x.t: S 1, type 0, 0",
            "x.s: S 2, type 2, 1",
            "x.s.a: S_s 0, type 0, 0",
            "x.s.v: S_s 1, type 0, 0"
        ]
    );
    let last = ["x.s.v: S_s 1, type 4, 97", "x.s.v.b: S_s_v 0, type 41, 0"];
    assert_eq!(split(&of, 99)[5..], last);
}

#[test]
fn collections_of_objects_are_split_and_those_of_collections_are_not() {
    let inner = members([("b", number()), ("c", members([("d", number())]))]);
    let of = list(members([("a", number()), ("s", inner), ("v", list(members([("e", number())])))]));
    assert_eq!(split(&of, 0), ["x: vector<S> -1, type 0, 0"]);
    assert_eq!(
        split(&of, 1),
        ["x: vector<S> -1, type 4, 1", "x.a: S 0, type 41, 0", "x.s: S 1, type 41, 0", "x.v: S 2, type 41, 0"]
    );
    let all = [
        "x: vector<S> -1, type 4, 99",
        "x.a: S 0, type 41, 0",
        "x.s.b: S_s 0, type 41, 0",
        "x.s.c.d: S_s_c 0, type 41, 0",
        "x.v: S 2, type 41, 0",
    ];
    assert_eq!(split(&of, 99), all);
    assert_eq!(split(&list(of), 99), ["x: vector<vector<S> > -1, type 0, 0"]);
    let number = members([("a", number())]);
    assert_eq!(split(&fixed(number.clone(), 3), 99), ["x: vector<S> -1, type 0, 0"]);
    assert_eq!(
        split(&optional(list(optional(number))), 99),
        ["x_isvalid", "nx", "x_isvalid_[nx]", "x: vector<S> -1, type 4, 99", "x.a: S 0, type 41, 0"]
    );
}

#[test]
fn members_that_may_be_missing_have_a_bool_beside_and_names_are_those_of_cpp() {
    let of = members([
        ("int", optional(number())),
        ("int_", number()),
        ("a b", list(optional(DataType::Text))),
        ("m", map(DataType::Text, number())),
    ]);
    let names: Vec<String> =
        split(&of, 1).iter().map(|shown| shown.split(':').next().unwrap_or_default().to_owned()).collect();
    assert_eq!(names, ["x.", "x.int__isvalid", "x.int_", "x.int__", "x.a_x20_b_isvalid", "x.a_x20_b", "x.m"]);
    let objects = Some(Objects { split: 0, class: "S", is_named: true });
    let branches = plan_branches(&[BranchColumn { objects, ..BranchColumn::new("x", &of) }]).unwrap();
    let ElementClassName::Described(class) = &branches[0].element.as_ref().unwrap().class else { panic!() };
    let info = class.info();
    let types: Vec<&str> = info.elements.iter().map(|element| element.type_name.as_str()).collect();
    assert_eq!(types, ["bool", "float", "float", "vector<bool>", "vector<string>", "vector<S_m>"]);
    assert_eq!(info.checksum, class.checksum);
}

#[test]
fn lists_of_numbers_are_vectors_where_they_are_wanted_so() {
    let of = [list(number()), list(members([("a", number()), ("b", DataType::Text)])), DataType::Bytes];
    for (of, expected) in
        of.iter().zip([vec!["x: 1 vectors"], vec!["x_a: 1 vectors", "x_b: 1 vectors"], vec!["x: 1 vectors"]])
    {
        let column = BranchColumn { has_vectors: true, ..BranchColumn::new("x", of) };
        assert_eq!(shown_branches(&plan_branches(&[column]).unwrap()), expected);
    }
}

#[test]
fn maps_are_lists_of_keys_and_values_or_maps_as_it_is_wanted() {
    let planned = |of: &DataType, maps| {
        shown_branches(&plan_branches(&[BranchColumn { maps, ..BranchColumn::new("x", of) }]).unwrap())
    };
    let listed = ["x_key: 1 vectors", "nx", "x_value[nx]"];
    assert_eq!(planned(&map(DataType::Text, number()), Maps::Listed), listed);
    let of = list(map(number(), DataType::Primitive(Primitive::UInt64)));
    assert_eq!(planned(&of, Maps::All), ["x: vector<map<float,unsigned long> > -1, type 0, 0"]);
    let of = map(DataType::Text, list(DataType::Primitive(Primitive::Int64)));
    assert_eq!(planned(&of, Maps::All), ["x: map<string,vector<long> > -1, type 0, 0"]);
    let of = map(DataType::Text, optional(number()));
    let listed = ["x_key: 1 vectors", "nx", "x_value_isvalid[nx]", "x_value[nx]"];
    assert_eq!(planned(&of, Maps::All), listed);
}

#[test]
fn pairs_of_maps_have_the_checksums_of_root() {
    let pair = |key, value| {
        let of = map(key, value);
        let column = BranchColumn { maps: Maps::All, ..BranchColumn::new("x", &of) };
        let mut found = Vec::new();
        let branches = plan_branches(&[column]).unwrap();
        let BranchForm::Streamed { value, .. } = &branches[0].form else { panic!("{branches:?}") };
        value.for_each_class(&mut |class| found.push((class.name.clone(), class.version, class.checksum)));
        found
    };
    let int = || DataType::Primitive(Primitive::Int32);
    let double = DataType::Primitive(Primitive::Float64);
    for (key, value, name, checksum) in [
        (DataType::Text, int(), "pair<string,int>", 979_002_738),
        (DataType::Text, DataType::Text, "pair<string,string>", 1_339_676_482),
        (DataType::Text, double, "pair<string,double>", 4_204_013_746),
        (int(), number(), "pair<int,float>", 0x6903_2978),
    ] {
        assert_eq!(pair(key, value), [(name.to_owned(), 1, checksum)]);
    }
}

#[test]
fn values_of_maps_are_packed_and_keys_are_not() {
    let double = || DataType::Primitive(Primitive::Float64);
    let of = map(double(), double());
    let planned = |annotation| {
        let packed = PackedMembers { of: Primitive::Float64, primitive: Primitive::Double32, annotation };
        plan_branches(&[BranchColumn { packed: Some(packed), maps: Maps::All, ..BranchColumn::new("x", &of) }])
    };
    let shown = shown_branches(&planned("").unwrap());
    assert_eq!(shown, ["x: map<double,Double32_t> -1, type 0, 0"]);
    let refused = planned("[0,10,12]").unwrap_err().to_string();
    assert!(refused.contains("packs items of vectors without any"), "{refused}");
}

/// The classes of a column of objects, the outermost first.
fn classes_of(of: &DataType, is_named: bool, packed: Option<PackedMembers<'_>>) -> Vec<(String, u16, u32)> {
    let objects = Some(Objects { split: 0, class: "T_x", is_named });
    let branches = plan_branches(&[BranchColumn { objects, packed, ..BranchColumn::new("x", of) }]).unwrap();
    let ElementClassName::Described(class) = &branches[0].element.as_ref().unwrap().class else { panic!() };
    let mut found = Vec::new();
    Value::object(class).for_each_class(&mut |class| found.push((class.name.clone(), class.version, class.checksum)));
    found
}

#[test]
fn classes_with_the_same_name_and_version_have_the_same_members() {
    let inner = |name: &str| members([(name, number())]);
    let of = |name: &str| members([("n", number()), ("s", list(inner(name)))]);
    for is_named in [false, true] {
        let [outer, nested] = &classes_of(&of("pt"), is_named, None)[..] else { panic!() };
        assert_eq!(classes_of(&of("pt"), is_named, None), [outer.clone(), nested.clone()], "again");
        let others = [
            // ROOT's checksum of the members is the same.
            of("qq"),
            members([("s", list(inner("pt"))), ("n", number())]),
            members([("n", number()), ("s", list(members([("pt", fixed(number(), 3))])))]),
            members([("n", number()), ("s", list(members([("pt", DataType::Primitive(Primitive::Int32))])))]),
        ];
        for other in others {
            let [other, _] = &classes_of(&other, is_named, None)[..] else { panic!() };
            assert_ne!((&other.0, other.1), (&outer.0, outer.1), "other members, {is_named}");
        }
        let range =
            |annotation| Some(PackedMembers { of: Primitive::Float32, primitive: Primitive::Float16, annotation });
        let [plain, ten] =
            ["", "[0,10]"].map(|annotation| classes_of(&inner("pt"), is_named, range(annotation))[0].clone());
        assert_ne!((plain.0, plain.1), (ten.0, ten.1), "{is_named}");
        if is_named {
            assert_eq!([&*outer.0, &*nested.0], ["T_x", "T_x_s"]);
            assert!((1000..16_000).contains(&outer.1) && outer.1 != nested.1, "{outer:?}, {nested:?}");
        } else {
            // It is part of the format: files that were written before have it.
            assert_eq!([(&*outer.0, outer.1), (&*nested.0, nested.1)], [("T_x_603a1fb3", 2), ("T_x_s_1049a654", 2)]);
        }
    }
}

#[test]
fn members_are_packed_where_root_packs_them() {
    let packed =
        |annotation| Some(PackedMembers { of: Primitive::Float64, primitive: Primitive::Double32, annotation });
    let double = || DataType::Primitive(Primitive::Float64);
    let of = members([("a", double()), ("b", fixed(double(), 3)), ("c", number()), ("d", list(double()))]);
    let info = |of: &DataType, annotation| {
        let objects = Some(Objects { split: 99, class: "S", is_named: true });
        let column = BranchColumn { objects, packed: packed(annotation), ..BranchColumn::new("x", of) };
        let branches = plan_branches(&[column])?;
        let ElementClassName::Described(class) = &branches[0].element.as_ref().unwrap().class else { panic!() };
        Ok::<_, StoreError>(class.info())
    };
    let types = |info: StreamerInfo| {
        let shown = |element: &arrowroot_format::streamer::Element| format!("{} {}", element.type_name, element.title);
        info.elements.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(types(info(&of, "").unwrap()), ["Double32_t ", "Double32_t ", "float ", "vector<Double32_t> "]);
    let refused = info(&of, "[0,10,12]").unwrap_err().to_string();
    assert!(refused.contains("packs items of vectors without any"), "{refused}");
    let of = members([("a", double()), ("b", fixed(double(), 3))]);
    assert_eq!(types(info(&of, "[0,10,12]").unwrap()), ["Double32_t [0,10,12]", "Double32_t [0,10,12]"]);
}
