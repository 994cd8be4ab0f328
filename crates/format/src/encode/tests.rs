use super::*;
use crate::Error;
use crate::column::Number;
use crate::output::Output;
use crate::streamer::{Element, ElementClass, PackingRange, Primitive, StreamerInfo, StreamerInfos};

fn object(class: &str, members: &[(&str, Value)]) -> Object {
    let base = [("fUniqueID", Value::Integer(0)), ("fBits", Value::Integer(0x0300_0000))];
    let members = base.iter().chain(members).map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Object { class: class.to_owned(), members }
}

fn text(text: &str) -> Value {
    Value::Text(text.as_bytes().to_vec())
}

fn written(objects: &[Object]) -> crate::Result<(Vec<u8>, Vec<Used>)> {
    let mut output = Output::new(50);
    let used = encode(StreamerInfos::of_root(), objects, &mut output)?;
    Ok((output.into_bytes(), used))
}

fn described(classes: &[&str]) -> Vec<Used> {
    classes.iter().map(|class| Used::Described((*class).to_owned())).collect()
}

#[test]
fn a_text_is_written_as_root_writes_it() {
    let (bytes, used) = written(&[object("TObjString", &[("fString", text("hello"))])]).unwrap();
    let mut expected = vec![0x40, 0, 0, 18, 0, 1, 0, 1];
    expected.extend([0; 8]);
    expected.extend(b"\x05hello");
    assert_eq!(bytes, expected);
    assert_eq!(used, described(&["TObjString"]));
}

#[test]
fn a_parameter_is_written_in_its_type() {
    let parameter = |value| object("TParameter<int>", &[("fName", text("p")), ("fVal", value)]);
    let (bytes, _) = written(&[parameter(Value::Integer(-7))]).unwrap();
    assert_eq!(bytes[..6], [0x40, 0, 0, 18, 0, 2]);
    assert_eq!(bytes[16..], [1, b'p', 255, 255, 255, 249]);
    assert_eq!(written(&[parameter(Value::Float(-7.0))]).unwrap().0, bytes);
    for value in [Value::Float(0.5), Value::Integer(1 << 31), Value::Float(f64::NAN), text("7"), Value::Null] {
        let error = written(&[parameter(value)]).unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)) && error.to_string().contains("fVal"), "{error}");
    }
}

#[test]
fn objects_of_a_list_are_written_once_and_referred_to() {
    let item = |place, option| Value::Pairs(vec![(text("object"), place), (text("option"), text(option))]);
    let items = [
        item(Value::Object(1), ""),
        item(Value::Object(1), "same"),
        item(Value::Object(0), "itself"),
        item(Value::Null, ""),
    ];
    let list = object("TList", &[("fName", text("")), ("fItems", Value::Items(items.to_vec()))]);
    let (bytes, used) = written(&[list, object("TObjString", &[("fString", text("x"))])]).unwrap();
    assert_eq!(used, described(&["TObjString"]));
    let start = 4 + 2 + 10 + 1 + 4;
    let mut expected = vec![0x40, 0, 0, 33, 255, 255, 255, 255];
    expected.extend(b"TObjString\0");
    expected.extend([0x40, 0, 0, 14, 0, 1, 0, 1]);
    expected.extend([0; 8]);
    expected.extend(b"\x01x\0");
    // What references say counts from the start of the key, and two.
    let reference = u8::try_from(start + 50 + 2).unwrap();
    expected.extend([0, 0, 0, reference]);
    expected.extend(b"\x04same\0\0\0\x01\x06itself\0\0\0\0\0");
    assert_eq!(bytes[start..], expected);
}

#[test]
fn what_a_class_does_not_have_is_told_with_class_and_member() {
    for (object, what) in [
        (object("TNoSuchClass", &[]), "TNoSuchClass"),
        (object("TNamed", &[("fName", text("n"))]), "fTitle"),
        (object("TNamed", &[("fName", Value::Integer(1)), ("fTitle", text(""))]), "fName"),
        (object("TList", &[("fName", text("")), ("fItems", Value::Items(vec![Value::Null]))]), "option"),
        (Object { class: "TNamed".to_owned(), ..Object::default() }, "fUniqueID"),
    ] {
        let error = written(&[object]).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn a_list_in_itself_ends() {
    let mut objects = Vec::new();
    for place in 1..400 {
        let inner = Value::Pairs(vec![(text("object"), Value::Object(place))]);
        objects.push(object("TList", &[("fName", text("")), ("fItems", Value::Items(vec![inner]))]));
    }
    objects.push(object("TList", &[("fName", text("")), ("fItems", Value::Items(Vec::new()))]));
    assert!(written(&objects).unwrap_err().to_string().contains("deeper"));
    assert!(written(&objects[300..]).is_err(), "places that are not there");
}

/// A class of one member, of this version, and what is written of a value of it behind byte count and version.
fn member(element: Element, value: Value) -> crate::Result<Vec<u8>> {
    let info = StreamerInfo {
        name: "C".to_owned(),
        version: 3,
        info_version: 9,
        elements: vec![element],
        ..StreamerInfo::default()
    };
    let infos = StreamerInfos::of(vec![info]).with_builtin();
    let mut output = Output::new(0);
    let object = Object { class: "C".to_owned(), members: [("m".to_owned(), value)].into() };
    let inner = Object { class: "TAttFill".to_owned(), members: HashMap::new() };
    encode(&infos, &[object, inner], &mut output)?;
    Ok(output.into_bytes().split_off(6))
}

fn container(type_name: &str, contained_type: i32) -> Element {
    let element = Element::member("m", type_name, 300);
    Element { class: ElementClass::Stl, contained_type, ..element }
}

#[test]
fn containers_have_a_frame_and_a_count() {
    let numbers = Value::Numbers(Numbers::integers(vec![1, -1], 4));
    let head = |n_bytes: u8| vec![0x40, 0, 0, n_bytes, 0, 10];
    let ints = [head(14), vec![0, 0, 0, 2, 0, 0, 0, 1, 255, 255, 255, 255]].concat();
    assert_eq!(member(container("vector<int>", 3), numbers).unwrap(), ints);
    let texts = Value::Items(vec![text("ab"), text("")]);
    let expected = [head(10), vec![0, 0, 0, 2, 2, b'a', b'b', 0]].concat();
    assert_eq!(member(container("vector<string>", 365), texts).unwrap(), expected);
    let nested = Value::Items(vec![Value::Numbers(Numbers::floats(vec![1.0], 8)), Value::Items(Vec::new())]);
    let expected = [head(18), vec![0, 0, 0, 2, 0, 0, 0, 1, 0x3f, 0x80, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(member(container("vector<vector<float> >", 300), nested).unwrap(), expected);
    let map = Value::Pairs(vec![(text("k"), Value::Integer(7))]);
    let expected = [head(12), vec![0, 0, 0, 1, 1, b'k', 0, 0, 0, 7]].concat();
    assert_eq!(member(container("map<TString,int>", 61), map).unwrap(), expected);
    // The same holds for what is not known.
    for (type_name, value) in
        [("unordered_map<TBranch*,int>", Value::Pairs(vec![])), ("vector<Unknown>", Value::Items(vec![]))]
    {
        assert_eq!(member(container(type_name, 0), value).unwrap(), [head(6), vec![0; 4]].concat());
    }
    for (type_name, value, what) in [
        ("vector<int>", Value::Items(vec![text("7")]), "text"),
        ("vector<int>", Value::Integer(7), "an integer"),
        ("vector<Unknown>", Value::Items(vec![Value::Object(1)]), "Unknown"),
        ("vector<TAttLine>", Value::Items(vec![Value::Object(1)]), "TAttFill where a TAttLine is"),
        ("vector<TAttFill>", Value::Items(vec![Value::Object(1)]), "fFillColor"),
        ("map<TString,int>", Value::Items(vec![Value::Null]), "a list where a map"),
    ] {
        let error = member(container(type_name, 0), value).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn packed_numbers_are_read_as_they_were_rounded() {
    let packed = |title: &str, value: f64| {
        let range = PackingRange::parse(title);
        let element = Element { range, ..Element::member("m", "Double32_t", 9) };
        let stored = member(element, Value::Float(value))?;
        let mut read = Vec::new();
        Number::packed(Primitive::Double32, range).append(&stored, &mut read);
        Ok::<_, Error>(f64::from_ne_bytes(read.try_into().unwrap()))
    };
    assert_eq!(packed("", 0.1).unwrap(), f64::from(0.1_f32));
    for (title, tolerance) in [("[-10,10,16]", 20.0 / 65536.0), ("[0,0,8]", 1.0 / 256.0), ("[0,0,14]", 1.0 / 16384.0)] {
        for value in [0.0, 1.0, 2.5, 9.99] {
            let read = packed(title, value).unwrap();
            assert!((read - value).abs() <= value.abs().max(1.0) * tolerance, "{title} {value} {read}");
        }
    }
    assert!(packed("[0,0,8]", f64::INFINITY).unwrap().is_infinite() && packed("[0,0,8]", f64::NAN).unwrap().is_nan());
    assert_eq!(packed("[0,0,8]", -2.5).unwrap(), -2.5);
    for (title, value) in [("[-10,10]", 10.1), ("[-10,10,16]", -10.1), ("[-10,10]", f64::NAN), ("", 1e300)] {
        let error = packed(title, value).unwrap_err().to_string();
        assert!(error.contains(&value.to_string()), "{error}");
    }
}

#[test]
fn arrays_behind_pointers_have_the_class_of_their_numbers() {
    let chunk = |content: Numbers| {
        let members = [
            ("fSingleCoordinateSize", Value::Integer(1)),
            ("fCoordinatesSize", Value::Integer(2)),
            ("fCoordinates", Value::Numbers(Numbers::integers(vec![5, 6], 1))),
            ("fContent", Value::Numbers(content)),
            ("fSumw2", Value::Null),
        ];
        written(&[object("THnSparseArrayChunk", &members)])
    };
    let singles = chunk(Numbers::floats(vec![1.0, 2.0], 4)).unwrap().0;
    let class = singles.windows(8).position(|bytes| bytes == b"TArrayF\0").unwrap();
    assert_eq!(singles[class + 8..][..12], [0, 0, 0, 2, 0x3f, 0x80, 0, 0, 0x40, 0, 0, 0]);
    for (numbers, name) in [
        (Numbers::floats(vec![1.0], 8), "TArrayD"),
        (Numbers::integers(vec![1], 1), "TArrayC"),
        (Numbers::integers(vec![1], 2), "TArrayS"),
        (Numbers::integers(vec![1], 4), "TArrayI"),
        (Numbers::integers(vec![1], 8), "TArrayL64"),
    ] {
        let bytes = chunk(numbers).unwrap().0;
        let name = [name.as_bytes(), b"\0"].concat();
        assert!(bytes.windows(name.len()).any(|found| found == name), "{name:?}");
    }
    let error = chunk(Numbers::unsigned(vec![1], 4)).unwrap_err().to_string();
    assert!(error.contains("fContent") && error.contains("TArray should be"), "{error}");
}

#[test]
fn arrays_of_texts_share_a_frame() {
    let element = Element { array_length: 2, max_index: vec![2], ..Element::member("m", "TString", 85) };
    let element = Element { class: ElementClass::String, ..element };
    let written = member(element.clone(), Value::Items(vec![text("a"), text("")])).unwrap();
    assert_eq!(written, [0x40, 0, 0, 5, 0, 10, 1, b'a', 0]);
    assert!(member(element, Value::Items(vec![text("a")])).unwrap_err().to_string().contains("1 items"));
}
