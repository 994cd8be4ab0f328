use proptest::prelude::*;

use crate::Error;
use crate::streamer::{Primitive, TypeName};

fn shown(text: &str) -> String {
    TypeName::parse(text).unwrap().to_string()
}

#[test]
fn names_are_shown_in_one_spelling() {
    for (text, expected) in [
        ("int", "int"),
        ("  unsigned   long  long ", "unsigned long long"),
        ("vector<vector<float> >", "vector<vector<float>>"),
        ("std::vector<std::string>", "vector<string>"),
        ("const std::vector< const int* > &", "vector<int*>"),
        ("vector<float,allocator<float> >", "vector<float>"),
        ("std::vector<float, std::allocator<float>>*", "vector<float>*"),
        ("map<int,string,less<int>,allocator<pair<const int,string> > >", "map<int,string>"),
        ("map<int,string,greater<int> >", "map<int,string,greater<int>>"),
        ("map<int,string,greater<int>,allocator<int> >", "map<int,string,greater<int>>"),
        ("std::__cxx11::basic_string<char,std::char_traits<char>,std::allocator<char> >", "string"),
        ("set<string,less<string>,allocator<string> >", "set<string>"),
        ("My<allocator<int>,less<int> >", "My<allocator<int>,less<int>>"),
        ("bitset<16>", "bitset<16>"),
        ("array<int, 3>", "array<int,3>"),
        ("ROOT::Math::Cartesian3D<Double32_t>", "ROOT::Math::Cartesian3D<Double32_t>"),
        ("A<int>::B", "A<int>::B"),
        ("A<int>::B<float>::C*", "A<int>::B<float>::C*"),
        ("char const * const *", "char**"),
        ("function<void(int, A<b>)>", "function<void(int, A<b>)>"),
        ("A<(Kind)2>", "A<(Kind)2>"),
        ("A<-1,'x'>", "A<-1,'x'>"),
        ("vector<>", "vector"),
        ("::Global", "Global"),
        ("struct My::Class", "My::Class"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
        assert_eq!(shown(expected), expected, "{text}");
    }
}

#[test]
fn names_are_taken_apart() {
    let name = TypeName::parse("map<const string,vector<unsigned int>*>").unwrap();
    assert_eq!(name.name, "map");
    assert_eq!(name.argument(0), Some(&TypeName::plain("string")));
    let vector = name.argument(1).unwrap();
    assert!(vector.is_pointer() && !name.is_pointer());
    assert_eq!(vector.argument(0).unwrap().primitive(), Some(Primitive::UInt32));
    assert_eq!(vector.primitive(), None);
    assert_eq!(name.argument(2), None);
}

#[test]
fn spellings_of_numbers_become_one() {
    let usual = |text| TypeName::parse(text).unwrap().with_usual_numbers().to_string();
    assert_eq!(usual("A<Int_t>"), usual("A<int>"));
    assert_eq!(usual("Quick<unsigned long long>"), usual("Quick<ULong64_t>"));
    assert_ne!(usual("A<Double32_t>"), usual("A<double>"));
}

#[test]
fn a_name_that_is_too_long_is_none_and_its_error_is_short() {
    assert!(TypeName::parse(&"T".repeat(8 << 10)).is_ok());
    let error = TypeName::parse(&"T".repeat((8 << 10) + 1)).unwrap_err().to_string();
    assert!(error.len() < 400 && error.contains("8193 bytes"), "{error}");
}

#[test]
fn what_is_no_type_name_is_an_error() {
    for text in ["", "  ", "<", ">", "vector<", "vector<int", "vector<int>>", "a,b", "f(", "f)", "<int>", "A<,>", "*"] {
        assert!(matches!(TypeName::parse(text), Err(Error::Unsupported(_))), "{text}");
    }
    let nested = |depth| "vector<".repeat(depth) + "int" + &">".repeat(depth);
    assert!(TypeName::parse(&nested(64)).is_ok());
    assert!(TypeName::parse(&nested(65)).is_err());
    assert!(TypeName::parse(&nested(100_000)).is_err());
}

#[test]
fn number_types_are_known_in_all_spellings() {
    use Primitive::{
        Bool, Double32, Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64,
    };
    for (names, expected) in [
        ("bool Bool_t", Bool),
        ("char Char_t signed_char int8_t std::int8_t const_char", Int8),
        ("unsigned_char UChar_t uint8_t Byte_t byte std::byte", UInt8),
        ("short Short_t short_int signed_short int16_t Version_t", Int16),
        ("unsigned_short UShort_t unsigned_short_int uint16_t", UInt16),
        ("int Int_t signed signed_int int32_t", Int32),
        ("unsigned UInt_t unsigned_int uint32_t", UInt32),
        ("long Long_t Long64_t long_long long_int long_long_int int64_t long_signed_int", Int64),
        ("unsigned_long ULong_t ULong64_t size_t std::size_t unsigned_long_long long_unsigned_int uint64_t", UInt64),
        ("float Float_t", Float32),
        ("double Double_t", Float64),
        ("Float16_t", Float16),
        ("Double32_t", Double32),
    ] {
        for name in names.split(' ').map(|name| name.replace('_', " ").replace(" t", "_t")) {
            let name = if name.ends_with("_t") { name.replace(' ', "_") } else { name };
            assert_eq!(Primitive::from_type_name(&name), Some(expected), "{name}");
        }
        assert_eq!(Primitive::from_type_name(expected.name()), Some(expected));
    }
    for name in
        ["", "string", "int*", "vector<int>", "long double", "short long", "int int", "unsigned float", "TObject"]
    {
        assert_eq!(Primitive::from_type_name(name), None, "{name}");
    }
}

#[test]
fn number_types_are_known_by_their_code() {
    let widths = (1..20).map(|code| Primitive::from_type_code(code).map_or(0, Primitive::stored_bytes));
    assert_eq!(widths.collect::<Vec<_>>(), [1, 2, 4, 8, 4, 4, 0, 8, 4, 1, 1, 2, 4, 8, 4, 8, 8, 1, 3]);
    assert_eq!(Primitive::from_type_code(61), None);
}

proptest! {
    #[test]
    fn any_text_gives_a_name_or_an_error(text in "[a-z<>,*&() :]{0,60}|\\PC{0,60}") {
        if let Ok(name) = TypeName::parse(&text) {
            prop_assert!(!name.name.is_empty());
            let _ = name.clone().with_usual_numbers();
            let _ = (name.primitive(), name.to_string());
        }
        let _ = Primitive::from_type_name(&text);
    }

    #[test]
    fn what_is_shown_means_the_same(text in "(std::)?(map|vector|A)<(int|unsigned long|set<B>),[a-z]{1,3}[*]?>(::c)?") {
        let name = TypeName::parse(&text).unwrap();
        prop_assert_eq!(TypeName::parse(&name.to_string()).unwrap().to_string(), name.to_string());
    }
}
