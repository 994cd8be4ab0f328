use super::*;
use crate::column::data_type::DataType;

/// An item of `TNamed **fTable; //[fN]` in a file of this ROOT version.
fn item_of_table(root_version: u32) -> Node {
    let infos = StreamerInfos::default().with_builtin().written_by(root_version);
    Compiler::new(&infos).counted_item(&Element::member("fTable", "TNamed**", code::LOOP))
}

#[test]
fn enumerations_are_ints_in_lists_and_of_their_own_type_in_maps() {
    const UNSIGNED_CHAR: i32 = 11;
    let list = Element { contained_type: UNSIGNED_CHAR, ..Element::member("x", "vector<E>", 300) };
    let list = Element { class: ElementClass::Stl, ..list };
    let elements = vec![Element::member("first", "E", UNSIGNED_CHAR), Element::member("second", "E", code::INT)];
    let pair = StreamerInfo {
        name: "pair<E,E>".to_owned(),
        checksum: 1,
        version: 1,
        info_version: 9,
        elements,
        ..StreamerInfo::default()
    };
    let infos = StreamerInfos::of(vec![pair]);
    let mut compiler = Compiler::new(&infos);
    let number = |primitive| Node::Number(Number::plain(primitive));
    assert_eq!(compiler.member(&list), Node::Framed(Box::new(Node::List(Box::new(number(Primitive::Int32))))));
    let Node::Map(map) = compiler.value(&TypeName::parse("map<E,E>").unwrap(), 0) else { panic!("no map") };
    assert_eq!((map.key, map.value), (number(Primitive::UInt8), number(Primitive::Int32)));
}

#[test]
fn arrays_in_maps_are_what_the_pairs_say_and_objects_where_nothing_does() {
    let items =
        Element { array_length: 2, max_index: vec![2], ..Element::member("_M_elems", "int", code::ARRAY + code::INT) };
    let array = StreamerInfo {
        name: "array<int,2>".to_owned(),
        checksum: 1,
        version: 0,
        info_version: 9,
        elements: vec![items.clone()],
        ..StreamerInfo::default()
    };
    let first = Element::member("first", "int", code::INT);
    let pair = StreamerInfo {
        name: "pair<int,array<int,2> >".to_owned(),
        elements: vec![first, Element { name: "second".into(), ..items }],
        ..array.clone()
    };
    let value_columns = |infos: Vec<StreamerInfo>| {
        let infos = StreamerInfos::of(infos);
        let node = Compiler::new(&infos).value(&TypeName::parse("map<int,array<int,2>>").unwrap(), 0);
        let Node::Map(map) = node else { panic!("no map") };
        (map.value, map.value_column)
    };
    assert!(matches!(value_columns(vec![array.clone(), pair]), (Node::Sole(_), Node::Fixed(..))));
    assert!(matches!(value_columns(vec![array]), (Node::Sole(_), Node::Sole(_))));
    assert!(matches!(value_columns(Vec::new()), (Node::Fixed(..), Node::Fixed(..))));
}

#[test]
fn a_name_without_its_scope_is_sought_in_those_of_the_class_around_it() {
    let info = |name: &str, elements| StreamerInfo {
        name: name.to_owned(),
        checksum: 1,
        version: 1,
        info_version: 9,
        elements,
        ..StreamerInfo::default()
    };
    let list = Element { class: ElementClass::Stl, ..Element::member("items", "vector<Item>", 300) };
    let items_of = |class: &str, at: &str, contained_type: i32| {
        let infos = StreamerInfos::of(vec![
            info(class, vec![Element { contained_type, ..list.clone() }]),
            info(at, vec![Element::member("x", "int", code::INT)]),
        ]);
        let node = Compiler::new(&infos).value(&TypeName::parse(class).unwrap(), 0);
        let Node::Object(class) = node else { panic!("no object") };
        class.members[0].1.clone()
    };
    let list_of = |item| DataType::List(Box::new(item));
    let item = DataType::Struct(vec![("x".into(), DataType::Primitive(Primitive::Int32))].into());
    for (class, at) in [("a::b::C", "a::b::C::Item"), ("a::b::C", "a::Item"), ("a::b::C<x::y>", "a::b::Item")] {
        assert_eq!(items_of(class, at, 0), list_of(item.clone()), "{class} {at}");
    }
    assert_eq!(items_of("a::b::C<x::y>", "x::Item", 0), list_of(DataType::Nothing));
    // An enumeration is none of them.
    let number = DataType::Primitive(Primitive::Int32);
    assert_eq!(items_of("a::b::C", "a::Item", code::INT), list_of(number));
}

/// Classes of which each has the next one as its only member; the last one has a number.
fn chain(n_classes: usize) -> StreamerInfos {
    let class = |index: usize| {
        let member = match index + 1 == n_classes {
            true => Element::member("x", "int", code::INT),
            false => Element::member("m", &format!("C{}", index + 1), code::ANY),
        };
        StreamerInfo {
            name: format!("C{index}"),
            checksum: 1,
            version: 1,
            info_version: 9,
            elements: vec![member],
            ..StreamerInfo::default()
        }
    };
    StreamerInfos::of((0..n_classes).map(class).collect())
}

#[test]
fn a_class_that_is_nested_too_deep_is_refused_whatever_was_compiled_before() {
    let levels = |infos: &StreamerInfos, class: &str| {
        let node = Compiler::new(infos).value(&TypeName::plain(class), 0);
        node.fault().map_or(Ok(node.levels()), |why| Err(why.to_owned()))
    };
    let infos = chain(200);
    // The innermost is a number in an object.
    for (class, expected) in [("C199", 2), ("C160", 41), ("C138", MAX_LEVELS)] {
        assert_eq!(levels(&infos, class), Ok(expected), "{class}");
    }
    for class in ["C137", "C100", "C0"] {
        let why = levels(&infos, class).unwrap_err();
        assert!(why.contains("lists and objects in each other"), "{why}");
        levels(&chain(200), class).unwrap_err();
    }
}

#[test]
fn all_branches_of_a_class_share_its_members() {
    let infos = chain(3);
    let steps = || match Compiler::new(&infos).bare_object(&TypeName::plain("C0"), 1, 1) {
        Node::Object(class) => Arc::clone(&class.variants[0].steps),
        other => panic!("{other:?}"),
    };
    assert!(Arc::ptr_eq(&steps(), &steps()));
}

#[test]
fn long_reasons_lack_their_middle() {
    let why = format!("{}ü, which the file does not describe", "T".repeat(60_000));
    let Node::Unreadable(shown) = unreadable(why.as_str()) else { panic!("readable") };
    assert!(shown.len() < 1024 && shown.starts_with("TTT") && shown.ends_with("does not describe"), "{shown}");
    let umlauts = "ü".repeat(2000);
    assert_eq!(clipped(umlauts).chars().filter(|&letter| letter != 'ü').collect::<String>(), "…");
}

#[test]
fn counted_pointers_were_objects_until_root_5_15_8() {
    for version in [51_508, 30_205] {
        assert!(matches!(item_of_table(version), Node::Object(_)), "{version}");
    }
    for version in [51_509, 64_000, 0] {
        assert!(matches!(item_of_table(version), Node::Pointer(_) | Node::Any(_)), "{version}");
    }
}

#[test]
fn arrays_of_pointers_are_read_with_and_without_the_code_of_an_array() {
    let plain = StreamerInfo {
        name: "Plain".to_owned(),
        checksum: 1,
        version: 1,
        info_version: 9,
        elements: vec![Element::member("number", "int", code::INT)],
        ..StreamerInfo::default()
    };
    let infos = StreamerInfos::of(vec![plain]);
    let node = |code: i32| {
        let member = Element { array_length: 2, max_index: vec![2], ..Element::member("m", "Plain*", code) };
        Compiler::new(&infos).member(&member)
    };
    for code in [code::OBJECT_POINTER, code::ANY_POINTER] {
        assert!(matches!(node(code), Node::Fixed(_, 2)), "{code}");
        assert_eq!(node(code + code::ARRAY), node(code));
    }
    for code in [code::OBJECT_NEVER_NULL, code::ANY_NEVER_NULL] {
        assert!(matches!(node(code + code::ARRAY), Node::Fixed(_, 2)), "{code}");
    }
}
