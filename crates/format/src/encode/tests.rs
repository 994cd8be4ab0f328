use super::*;
use crate::Error;
use crate::output::Output;
use crate::streamer::StreamerInfos;

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
    let item = |place, option| Value::Parts(vec![("object".to_owned(), place), ("option".to_owned(), text(option))]);
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
        let inner = Value::Parts(vec![("object".to_owned(), Value::Object(place))]);
        objects.push(object("TList", &[("fName", text("")), ("fItems", Value::Items(vec![inner]))]));
    }
    objects.push(object("TList", &[("fName", text("")), ("fItems", Value::Items(Vec::new()))]));
    assert!(written(&objects).unwrap_err().to_string().contains("deeper"));
    assert!(written(&objects[300..]).is_err(), "places that are not there");
}
