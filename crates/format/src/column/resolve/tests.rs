use super::*;
use crate::streamer::StreamerInfo;

#[test]
fn a_number_that_counts_members_of_rules_gives_way_to_the_name() {
    let members = [("Base", 0), ("x", 5), ("n", 3), ("list", 300)];
    let elements = members.map(|(name, code)| Element::member(name, "T", code)).to_vec();
    let info = StreamerInfo {
        name: "C".to_owned(),
        checksum: 9,
        version: 2,
        info_version: 9,
        elements,
        ..StreamerInfo::default()
    };
    let infos = StreamerInfos::of(vec![info]);
    let name_of = |branch: &str, id| {
        let part = ElementPart { class_name: "C".to_owned(), checksum: 9, id, ..ElementPart::default() };
        find_element(&infos, branch, &part).map(|element| &*element.name)
    };
    // As counted by the file: what has another name, such as a TClonesArray, goes by its number.
    for (branch, id) in [("obj.Base", 0), ("x", 1), ("obj.n[3]", 2), ("obj.list.", 3)] {
        assert_eq!(name_of(branch, id), Some(members[usize::try_from(id).unwrap()].0), "{branch}");
        assert_eq!(name_of("tracks", id), name_of(branch, id));
    }
    // Two of a rule before them.
    for (branch, id, name) in [("x", 3, "x"), ("obj.n[3]", 4, "n"), ("obj.list.", 5, "list")] {
        assert_eq!(name_of(branch, id), Some(name));
    }
    assert_eq!(name_of("obj.other", 4), None);
}

#[test]
fn dimensions_are_the_numbers_in_brackets() {
    assert_eq!(dims_in_title("a[n][3]/F"), [3]);
    assert_eq!(dims_in_title("a[2][3]"), [2, 3]);
    assert_eq!(dims_in_title("d/D[0,10,8]"), Vec::<u32>::new());
    assert_eq!(dims_in_title("plain"), Vec::<u32>::new());
}

#[test]
fn lists_in_more_lists_than_arrow_takes_are_refused() {
    let column = |depth: usize| {
        let type_name = format!("{}int{}", "vector<".repeat(depth), ">".repeat(depth));
        column_of_type(&type_name, false, &StreamerInfos::default(), &Arc::default())
    };
    assert!(column(MAX_LEVELS - 1).is_ok());
    let error = column(MAX_LEVELS).unwrap_err().to_string();
    assert!(error.contains("more than 63 lists and objects in each other"), "{error}");
}

#[test]
fn nested_containers_become_nested_lists() {
    let parsed = TypeName::parse("std::map<std::string, std::vector<Double32_t> >").unwrap();
    let Node::Map(map) = Compiler::new(&StreamerInfos::default()).value(&parsed, 0) else { panic!("not a map") };
    assert_eq!(map.key, Node::Text);
    assert_eq!(map.key_column, Node::Framed(Box::new(Node::Text)));
    let Node::List(item) = map.value else { panic!("not a list") };
    assert!(matches!(*item, Node::Number(Number { primitive: Primitive::Double32, .. })));
}
