//! C++ types that are asked for: their names as people write them, and as an RNTuple has them.

use arrowroot_arrow::stored::is_cpp_word;
use arrowroot_format::rntuple::{Encoding, number_type_name};
use arrowroot_format::streamer::Primitive;

use crate::unique::Unique;

/// Names of types are no longer.
const MAX_NAME_BYTES: usize = 1 << 16;
/// Types inside each other.
const MAX_DEPTH: usize = 32;

/// A C++ type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldType {
    /// Its template, or kind.
    pub(crate) kind: Kind,
    /// The types in it.
    pub(crate) arguments: Vec<FieldType>,
    /// The size of an array or a bitset.
    pub(crate) size: u32,
}

/// A template of the standard library, or a type without arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A number, by the name that fields have.
    Number(Primitive, &'static str),
    /// The same of reduced precision, as the columns of an RNTuple have it: `float[Real32Trunc:16]`.
    Precise(Primitive, &'static str, Encoding),
    /// `Double32_t`: a double that is stored as a float.
    Double32,
    /// A packed type that branches alone have, as it stands: `Float16_t`, `Double32_t[0,10,12]`.
    Packed(String),
    Text,
    /// Lists: `std::vector`, `ROOT::RVec`.
    List(&'static str),
    /// Lists whose items differ if `is_unique`.
    Set {
        name: &'static str,
        is_unique: bool,
    },
    /// Keys and values; keys differ if `is_unique`.
    Map {
        name: &'static str,
        is_unique: bool,
    },
    Array,
    Bitset,
    Pair,
    Tuple,
    Variant,
    /// `std::optional`, `std::unique_ptr`.
    Nullable(&'static str),
    Atomic,
    /// Lengths of lists, which projected fields show.
    Cardinality,
    /// An enumeration or a class that the data describe.
    Named(Named),
}

/// A class or an enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    /// Its version, as `Muon@3` has it; `None` for a class without one.
    pub(crate) version: Option<u32>,
    /// Its checksum, as `Muon@3#1f0c9b2e` has it.
    pub(crate) checksum: Option<u32>,
    /// Its base classes, as `Muon{Particle{pt, eta}}` has them.
    pub(crate) bases: Vec<Base>,
}

/// A base class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) class: Named,
    /// The names of its own members, without those of its bases.
    pub(crate) members: Vec<String>,
}

/// The templates: as people write them, without `std::`, and how many arguments they have (0: any number).
const TEMPLATES: [(&str, Kind, usize); 19] = [
    ("vector", Kind::List("std::vector"), 1),
    ("ROOT::RVec", Kind::List("ROOT::VecOps::RVec"), 1),
    ("ROOT::VecOps::RVec", Kind::List("ROOT::VecOps::RVec"), 1),
    ("RVec", Kind::List("ROOT::VecOps::RVec"), 1),
    ("set", Kind::Set { name: "std::set", is_unique: true }, 1),
    ("unordered_set", Kind::Set { name: "std::unordered_set", is_unique: true }, 1),
    ("multiset", Kind::Set { name: "std::multiset", is_unique: false }, 1),
    ("unordered_multiset", Kind::Set { name: "std::unordered_multiset", is_unique: false }, 1),
    ("map", Kind::Map { name: "std::map", is_unique: true }, 2),
    ("unordered_map", Kind::Map { name: "std::unordered_map", is_unique: true }, 2),
    ("multimap", Kind::Map { name: "std::multimap", is_unique: false }, 2),
    ("unordered_multimap", Kind::Map { name: "std::unordered_multimap", is_unique: false }, 2),
    ("pair", Kind::Pair, 2),
    ("tuple", Kind::Tuple, 0),
    ("variant", Kind::Variant, 0),
    ("optional", Kind::Nullable("std::optional"), 1),
    ("unique_ptr", Kind::Nullable("std::unique_ptr"), 1),
    ("atomic", Kind::Atomic, 1),
    (CARDINALITY, Kind::Cardinality, 1),
];

/// Names of numbers beside those that fields have. Source: `GetNormalizedTypeName` (ROOT 6.40); `char` and `std::byte` are
/// types of their own.
const NUMBERS: [(Primitive, &str); 40] = [
    (Primitive::Bool, "Bool_t"),
    (Primitive::Int8, "signed char"),
    (Primitive::Int8, "int8_t"),
    (Primitive::UInt8, "unsigned char"),
    (Primitive::UInt8, "uint8_t"),
    (Primitive::UInt8, "UChar_t"),
    (Primitive::Int16, "short"),
    (Primitive::Int16, "short int"),
    (Primitive::Int16, "int16_t"),
    (Primitive::Int16, "Short_t"),
    (Primitive::UInt16, "unsigned short"),
    (Primitive::UInt16, "unsigned short int"),
    (Primitive::UInt16, "uint16_t"),
    (Primitive::UInt16, "UShort_t"),
    (Primitive::Int32, "int"),
    (Primitive::Int32, "int32_t"),
    (Primitive::Int32, "Int_t"),
    (Primitive::UInt32, "unsigned"),
    (Primitive::UInt32, "unsigned int"),
    (Primitive::UInt32, "uint32_t"),
    (Primitive::UInt32, "UInt_t"),
    (Primitive::Int64, "long"),
    (Primitive::Int64, "long int"),
    (Primitive::Int64, "long long"),
    (Primitive::Int64, "long long int"),
    (Primitive::Int64, "int64_t"),
    (Primitive::Int64, "Long_t"),
    (Primitive::Int64, "Long64_t"),
    (Primitive::UInt64, "unsigned long"),
    (Primitive::UInt64, "unsigned long int"),
    (Primitive::UInt64, "unsigned long long"),
    (Primitive::UInt64, "unsigned long long int"),
    (Primitive::UInt64, "uint64_t"),
    (Primitive::UInt64, "size_t"),
    (Primitive::UInt64, "std::size_t"),
    (Primitive::UInt64, "ULong_t"),
    (Primitive::UInt64, "ULong64_t"),
    (Primitive::Float32, "Float_t"),
    (Primitive::Float64, "Double_t"),
    (Primitive::UInt64, "ROOT::NTupleSize_t"),
];
const PRIMITIVES: [Primitive; 11] = [
    Primitive::Bool,
    Primitive::Int8,
    Primitive::UInt8,
    Primitive::Int16,
    Primitive::UInt16,
    Primitive::Int32,
    Primitive::UInt32,
    Primitive::Int64,
    Primitive::UInt64,
    Primitive::Float32,
    Primitive::Float64,
];
/// The types of lists of any length, and of maps.
pub(crate) const LISTS: &str = "std::vector<T>, ROOT::RVec<T>, std::set<T>, std::unordered_set<T>, std::multiset<T>, \
                                std::unordered_multiset<T>";
pub(crate) const MAPS: &str =
    "std::map<K,V>, std::unordered_map<K,V>, std::multimap<K,V>, std::unordered_multimap<K,V>";
const CARDINALITY: &str = "ROOT::RNTupleCardinality";
pub(crate) const CHAR: &str = "char";
pub(crate) const BYTE: &str = "std::byte";

impl FieldType {
    /// Reads the name of a type.
    ///
    /// # Errors
    /// The fault, and what there is.
    pub(crate) fn parse(text: &str) -> Result<FieldType, String> {
        if text.len() > MAX_NAME_BYTES {
            return Err(format!("a name of {} bytes: {MAX_NAME_BYTES} at most", text.len()));
        }
        let mut parser = Parser { rest: text, depth: 0 };
        let found = parser.field_type()?;
        let rest = parser.rest.trim();
        if rest.is_empty() { Ok(found) } else { Err(format!("{rest:?} behind a type")) }
    }

    /// The name that an RNTuple has of it.
    pub(crate) fn name(&self) -> String {
        let template = match &self.kind {
            Kind::Number(_, name) | Kind::Precise(_, name, _) => return (*name).to_owned(),
            Kind::Double32 => return "double".to_owned(),
            Kind::Packed(text) => return text.clone(),
            Kind::Text => return "std::string".to_owned(),
            Kind::Named(named) => return named.name.clone(),
            Kind::Bitset => return format!("std::bitset<{}>", self.size),
            Kind::Array => return format!("std::array<{},{}>", self.arguments[0].name(), self.size),
            Kind::List(name) | Kind::Nullable(name) | Kind::Set { name, .. } | Kind::Map { name, .. } => name,
            Kind::Pair => "std::pair",
            Kind::Tuple => "std::tuple",
            Kind::Variant => "std::variant",
            Kind::Atomic => "std::atomic",
            Kind::Cardinality => CARDINALITY,
        };
        let arguments: Vec<String> = self.arguments.iter().map(FieldType::name).collect();
        format!("{template}<{}>", arguments.join(","))
    }

    /// The parts that must differ; `None` for what has an order.
    pub(crate) fn unique(&self) -> Option<Unique> {
        match self.kind {
            Kind::Set { is_unique: true, .. } => Some(Unique::Items),
            Kind::Map { is_unique: true, .. } => Some(Unique::Keys),
            Kind::Set { .. } | Kind::Map { .. } => Some(Unique::Nothing),
            _ => None,
        }
    }

    /// True if it says how long lists are, at any depth.
    pub(crate) fn has_lengths(&self) -> bool {
        matches!(self.kind, Kind::Array | Kind::Bitset) || self.arguments.iter().any(FieldType::has_lengths)
    }

    /// True if numbers that differ may be stored as equal ones, at any depth.
    pub(crate) fn is_rounded(&self) -> bool {
        matches!(self.kind, Kind::Precise(..)) || self.arguments.iter().any(FieldType::is_rounded)
    }

    /// The ranges that its numbers have, at any depth.
    pub(crate) fn ranges(&self) -> Vec<(f64, f64)> {
        let own = match self.kind {
            Kind::Precise(_, _, Encoding::Quantized { min, max, .. }) => Some((min, max)),
            _ => None,
        };
        own.into_iter().chain(self.arguments.iter().flat_map(FieldType::ranges)).collect()
    }

    /// The type of the items of a map.
    pub(crate) fn pair(&self) -> FieldType {
        FieldType { kind: Kind::Pair, arguments: self.arguments.clone(), size: 0 }
    }
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
}

impl Parser<'_> {
    fn field_type(&mut self) -> Result<FieldType, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("types more than {MAX_DEPTH} deep"));
        }
        let mut found = match self.class_of_template() {
            Some(name) => FieldType { kind: Kind::Named(Named::parse(&name)?), arguments: Vec::new(), size: 0 },
            None => {
                let name = self.word();
                if self.takes('<') {
                    self.template(&name)?
                } else if self.takes('[') {
                    self.precise(&name)?
                } else {
                    plain(&name)?
                }
            }
        };
        if let Kind::Named(named) = &mut found.kind
            && self.takes('{')
        {
            let members = self.bases(named)?;
            if let Some(member) = members.first() {
                return Err(format!(
                    "{member:?} in {}: its own members are not listed, as in Muon{{Particle{{pt}}}}",
                    named.name
                ));
            }
        }
        self.depth -= 1;
        Ok(found)
    }

    /// The base classes of a class, up to the closing brace; returns the members beside them.
    fn bases(&mut self, named: &mut Named) -> Result<Vec<String>, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("classes more than {MAX_DEPTH} deep"));
        }
        let mut members = Vec::new();
        while !self.takes('}') {
            let word = self.class_name();
            if self.takes('{') {
                let mut class = Named::parse(&word)?;
                let members = self.bases(&mut class)?;
                named.bases.push(Base { class, members });
            } else if word.is_empty() {
                return Err(format!("no }} behind the bases of {}", named.name));
            } else {
                members.push(word);
            }
            self.takes(',');
        }
        self.depth -= 1;
        Ok(members)
    }

    /// A class of a template that is not of the standard library. What only a class has must follow, as in `Point<float>#1f0c9b2e`,
    /// `Point<float>{...}` and `Point<float>::Kind`: else it may be a slip.
    fn class_of_template(&mut self) -> Option<String> {
        let before = self.rest;
        let template = self.word();
        let short = template.strip_prefix("std::").unwrap_or(&template);
        let is_known = TEMPLATES.iter().any(|(known, ..)| *known == short) || matches!(short, "array" | "bitset");
        let is_library = is_known || template.starts_with("std::");
        self.rest = before;
        let name = Some(self.class_name()).filter(|name| {
            let behind = name.rsplit_once('>').map_or("", |(_, behind)| behind);
            !is_library && name.contains('<') && (!behind.is_empty() || self.rest.trim_start().starts_with('{'))
        });
        if name.is_none() {
            self.rest = before;
        }
        name
    }

    /// A word, and the arguments of templates in it as they stand.
    fn class_name(&mut self) -> String {
        let mut name = self.word();
        while let Some(n_bytes) = arguments_bytes(self.rest) {
            let (arguments, rest) = self.rest.split_at(n_bytes);
            self.rest = rest;
            name = format!("{name}{arguments}{}", self.word());
        }
        name
    }

    /// Letters, digits and colons, with single spaces between words.
    fn word(&mut self) -> String {
        let end = self.rest.find(['<', '>', ',', '{', '}', '[']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn takes(&mut self, character: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(character);
        rest.inspect(|rest| self.rest = rest).is_some()
    }

    /// A number of reduced precision, behind the bracket.
    fn precise(&mut self, name: &str) -> Result<FieldType, String> {
        let mut depth = 1;
        let ends = |character| {
            depth += i32::from(character == '[') - i32::from(character == ']');
            depth == 0
        };
        let end = self.rest.find(ends).ok_or_else(|| format!("no ] behind {name}["))?;
        let inside = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        let text = format!("{name}[{inside}]");
        let kind = match plain(name)?.kind {
            Kind::Double32 | Kind::Packed(_) => Kind::Packed(text),
            Kind::Number(primitive @ (Primitive::Float32 | Primitive::Float64), name) => match encoding_of(inside) {
                Some(encoding) => Kind::Precise(primitive, name, encoding),
                None => return Err(format!("{text}: what is possible is {}", precise_types(name))),
            },
            _ => return Err(format!("{text}: only float and double have a precision in brackets")),
        };
        Ok(FieldType { kind, arguments: Vec::new(), size: 0 })
    }

    fn template(&mut self, name: &str) -> Result<FieldType, String> {
        let short = name.strip_prefix("std::").unwrap_or(name);
        let mut arguments = Vec::new();
        if short == "bitset" {
            let size = self.size(name)?;
            return self.closed(FieldType { kind: Kind::Bitset, arguments, size });
        }
        let is_array = short == "array";
        let known = TEMPLATES.iter().find(|(template, ..)| *template == short);
        let known = known.map(|(_, kind, n)| (kind.clone(), *n)).or(is_array.then_some((Kind::Array, 1)));
        let Some((kind, n_arguments)) = known else { return Err(no_template(name)) };
        let mut size = 0;
        loop {
            arguments.push(self.field_type()?);
            if !self.takes(',') {
                break;
            }
            if is_array {
                size = self.size(name)?;
                break;
            }
        }
        if n_arguments != 0 && arguments.len() != n_arguments {
            return Err(format!("{name} of {} types: it has {n_arguments}", arguments.len()));
        }
        if is_array && size == 0 {
            return Err(format!("{name} without a size: as std::array<float, 3>"));
        }
        self.closed(FieldType { kind, arguments, size })
    }

    fn size(&mut self, name: &str) -> Result<u32, String> {
        let word = self.word();
        let size = word.parse().ok().filter(|size| (1..=u32::from(u16::MAX) << 8).contains(size));
        size.ok_or_else(|| format!("{name} of size {word:?}: a number from 1 on"))
    }

    fn closed(&mut self, found: FieldType) -> Result<FieldType, String> {
        if self.takes('>') { Ok(found) } else { Err(format!("no > behind {}", found.name())) }
    }
}

/// The length of the arguments of a template at the beginning of a text.
fn arguments_bytes(text: &str) -> Option<usize> {
    let mut depth = 0;
    let ends = |character| {
        depth += i32::from(character == '<') - i32::from(character == '>');
        depth == 0
    };
    text.starts_with('<').then(|| text.find(ends)).flatten().map(|at| at + 1)
}

/// A name without the arguments of templates in it; `None` if these have what no type has.
fn without_arguments(name: &str) -> Option<String> {
    let (mut without, mut rest) = (String::new(), name);
    while let Some(at) = rest.find('<') {
        let n_bytes = arguments_bytes(&rest[at..])?;
        let is_of_type = |character: char| character.is_ascii_alphanumeric() || "_:<>,*&()- ".contains(character);
        if !rest[at..at + n_bytes].chars().all(is_of_type) {
            return None;
        }
        without.push_str(&rest[..at]);
        rest = &rest[at + n_bytes..];
    }
    Some(without + rest)
}

/// The types of numbers of reduced precision, of `float` or `double`, for messages.
pub(crate) fn precise_types(name: &str) -> String {
    format!("{name}[Real32Trunc:16] (10 to 31 bits), {name}[Real32Quant:12[0,1]] (1 to 32 bits in a range)")
}

/// The column of numbers that a precision names; `None` if it names none.
fn encoding_of(text: &str) -> Option<Encoding> {
    let (kind, rest) = text.split_once(':')?;
    match kind.trim() {
        "Real32Trunc" => {
            let bits = rest.trim().parse().ok().filter(|bits| (10..=31).contains(bits))?;
            Some(Encoding::Truncated { bits })
        }
        "Real32Quant" => {
            let (bits, range) = rest.trim().strip_suffix(']')?.split_once('[')?;
            let bits = bits.trim().parse().ok().filter(|bits| (1..=32).contains(bits))?;
            let (min, max) = range.split_once(',')?;
            let (min, max): (f64, f64) = (min.trim().parse().ok()?, max.trim().parse().ok()?);
            (min < max && (max - min).is_finite()).then_some(Encoding::Quantized { bits, min, max })
        }
        _ => None,
    }
}

fn no_template(name: &str) -> String {
    let is_shown = |template: &&str| !["RVec", CARDINALITY].contains(template);
    let known: Vec<&str> = TEMPLATES.iter().map(|(template, ..)| *template).filter(is_shown).collect();
    format!("no field has the template {name:?}; there are {}, array, bitset", known.join(", "))
}

/// A type without arguments.
fn plain(name: &str) -> Result<FieldType, String> {
    let of = |kind| Ok(FieldType { kind, arguments: Vec::new(), size: 0 });
    if let Some(primitive) = PRIMITIVES.into_iter().find(|one| number_type_name(*one) == Some(name)) {
        return of(Kind::Number(primitive, number_type_name(primitive).unwrap_or_default()));
    }
    if let Some((primitive, _)) = NUMBERS.iter().find(|(_, alias)| *alias == name) {
        return of(Kind::Number(*primitive, number_type_name(*primitive).unwrap_or_default()));
    }
    match name {
        "char" | "Char_t" => of(Kind::Number(Primitive::Int8, CHAR)),
        "std::byte" | "byte" => of(Kind::Number(Primitive::UInt8, BYTE)),
        "Double32_t" => of(Kind::Double32),
        "Float16_t" => of(Kind::Packed(name.to_owned())),
        "std::string" | "string" => of(Kind::Text),
        _ => of(Kind::Named(Named::parse(name)?)),
    }
}

impl Named {
    fn parse(text: &str) -> Result<Named, String> {
        let (rest, checksum) = match text.split_once('#') {
            None => (text, None),
            Some((rest, digits)) => {
                let checksum = u32::from_str_radix(digits, 16);
                (rest, Some(checksum.map_err(|_| format!("{digits:?} is no checksum in hexadecimal, as 1f0c9b2e"))?))
            }
        };
        let (name, version) = match rest.split_once('@') {
            None => (rest, None),
            Some((name, version)) => {
                let parsed = version.parse().map_err(|_| format!("{version:?} is no version of a class, as Muon@3"));
                (name, Some(parsed?))
            }
        };
        let is_start = |character: char| character.is_ascii_alphabetic() || character == '_';
        let is_identifier = |part: &str| {
            part.starts_with(is_start)
                && !is_cpp_word(part)
                && part.chars().all(|character| is_start(character) || character.is_ascii_digit())
        };
        let has_identifiers = |name: &String| name.split("::").all(is_identifier);
        if name.starts_with("std::") || !without_arguments(name).as_ref().is_some_and(has_identifiers) {
            return Err(format!(
                "{text:?} is no type of a field: bool, char, int, std::int64_t, float, double, Double32_t, std::byte, \
                 std::string, the templates of the standard library, or the name of a class or an enumeration"
            ));
        }
        Ok(Named { name: name.to_owned(), version, checksum, bases: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_those_of_fields() {
        for (asked, expected) in [
            ("int", "std::int32_t"),
            ("unsigned  long long", "std::uint64_t"),
            ("vector<vector<bool> >", "std::vector<std::vector<bool>>"),
            ("std::vector<std::pair<int, float>>", "std::vector<std::pair<std::int32_t,float>>"),
            ("RVec<Double32_t>", "ROOT::VecOps::RVec<double>"),
            ("vector<Float_t[ Real32Trunc: 16]>", "std::vector<float>"),
            ("std::pair<double[Real32Quant:12[-1, 2e3]],int>", "std::pair<double,std::int32_t>"),
            ("vector<Double32_t[0,10,12]>", "std::vector<Double32_t[0,10,12]>"),
            ("ROOT::RNTupleCardinality<unsigned long>", "ROOT::RNTupleCardinality<std::uint64_t>"),
            ("std::map< std::string , std::array<short, 3>>", "std::map<std::string,std::array<std::int16_t,3>>"),
            ("bitset<40>", "std::bitset<40>"),
            ("std::variant<std::monostate_like, char>", "std::variant<std::monostate_like,char>"),
            ("std::tuple<std::byte,std::unique_ptr<ns::Muon@3#1f>>", "std::tuple<std::byte,std::unique_ptr<ns::Muon>>"),
            ("std::pair<D{B@1{A{x}, y}}, int>", "std::pair<D,std::int32_t>"),
            ("vector<ns::P<int,Q<float> >#1f>", "std::vector<ns::P<int,Q<float> >>"),
            ("std::pair<P<int>{B<std::set<int>>@2{x}}, P<-1>::Kind>", "std::pair<P<int>,P<-1>::Kind>"),
        ] {
            let found = FieldType::parse(asked).map(|found| found.name());
            match expected.contains("monostate_like") {
                true => assert!(found.unwrap_err().contains("is no type of a field")),
                false => assert_eq!(found.as_deref(), Ok(expected)),
            }
        }
    }

    #[test]
    fn what_is_no_type_says_what_there_is() {
        for (asked, told) in [
            ("", "is no type of a field"),
            ("class", "is no type of a field"),
            ("ns::new@3", "is no type of a field"),
            ("std::list<int>", "no field has the template \"std::list\"; there are vector, "),
            ("vectr<int>", "no field has the template \"vectr\"; there are vector, "),
            ("P<int#1f>#1f", "is no checksum in hexadecimal"),
            ("P<int#1f", "no field has the template \"P\""),
            ("std::pair<int>", "std::pair of 1 types: it has 2"),
            ("std::array<int>", "without a size"),
            ("std::bitset<x>", "std::bitset of size \"x\""),
            ("std::vector<int", "no > behind"),
            ("int>", "\">\" behind a type"),
            ("float*", "is no type of a field"),
            ("float[Real32Trunc:9]", "possible is float[Real32Trunc:16] (10 to 31 bits), float[Real32Quant:12[0,1]]"),
            ("double[Real32Quant:12[1,1]]", "possible is double[Real32Trunc:16]"),
            ("double[Real32Quant:33[0,1]]", "possible is double[Real32Trunc:16]"),
            ("float[mantissa:10]", "possible is float[Real32Trunc:16]"),
            ("float[Real32Trunc:16", "no ] behind float["),
            ("int[3]", "only float and double have a precision"),
            ("D{x}", "its own members are not listed"),
            ("D{B{x", "no } behind the bases of B"),
            ("float{B{x}}", "behind a type"),
        ] {
            let error = FieldType::parse(asked).unwrap_err();
            assert!(error.contains(told), "{asked}: {error}");
        }
        assert!(FieldType::parse(&"vector<".repeat(1000)).unwrap_err().contains("deep"));
        assert!(FieldType::parse(&"A{".repeat(1000)).unwrap_err().contains("deep"));
    }
}
