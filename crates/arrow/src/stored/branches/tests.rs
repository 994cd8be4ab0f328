use super::*;

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

fn members<const N: usize>(of: [(&str, DataType); N]) -> DataType {
    DataType::Struct(of.into_iter().map(|(name, of)| (name.into(), of)).collect())
}

/// The branches as texts: `x[nx][3]`, `x: 2 vectors`, `x /C`.
fn shown(columns: &[(&str, DataType, Option<&str>)]) -> Vec<String> {
    let columns: Vec<_> =
        columns.iter().map(|(name, data_type, counter)| BranchColumn { name, data_type, counter: *counter }).collect();
    let branches = plan_branches(&columns).unwrap();
    let dims = |dims: &[u32]| dims.iter().map(|n_items| format!("[{n_items}]")).collect::<String>();
    let show = |branch: &PlannedBranch| {
        let name = &branch.name;
        match (&branch.form, branch.content) {
            (BranchForm::Fixed(of), Content::Text) => format!("{name}{} /C", dims(of)),
            (BranchForm::Fixed(of), _) => format!("{name}{}", dims(of)),
            (BranchForm::Counted { counter, dims: of }, _) => {
                format!("{name}[{}]{}", branches[*counter].name, dims(of))
            }
            (BranchForm::Vectors(n), _) => format!("{name}: {n} vectors"),
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
        (DataType::Map(Box::new(DataType::Text), Box::new(number())), vec!["x_key: 1 vectors", "nx", "x_value[nx]"]),
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
    assert_eq!(shown(&[("a.b", number(), None), ("a_x2e_b", number(), None)]), ["a_x2e_b", "a_x5f_x2e_b"]);
    let columns = [
        BranchColumn { name: "x", data_type: &number(), counter: None },
        BranchColumn { name: "x", data_type: &DataType::Text, counter: None },
    ];
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
    let branches = plan_branches(&[BranchColumn { name: "x", data_type: &of, counter: None }]).unwrap();
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
    let wide = DataType::Struct((0..100).map(|place| (format!("m{place}").into(), number())).collect());
    let error = plan_branches(&[BranchColumn { name: &long, data_type: &wide, counter: None }]).unwrap_err();
    assert!(error.to_string().contains("branches whose names take more than 64 MiB"));
}

#[test]
fn no_columns_have_no_branches() {
    assert_eq!(plan_branches(&[]), Ok(Vec::new()));
}
