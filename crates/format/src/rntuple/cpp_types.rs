//! The C++ types of fields: as somebody would ask for them, and as streamer information describes their classes.

use std::collections::{HashMap, HashSet};
use std::iter;

use crate::streamer::{Element, LONG, Primitive, StreamerInfo, UNSIGNED_LONG};

use super::encoding::Encoding;
use super::members::{NUMBERED_TYPES, is_base};
use super::schema::{FieldId, NtupleField, Role, Schema};
use super::shape::primitive_of;

/// The version of a class that has none, in a field. Source: `TClass::GetClassVersion` (ROOT 6.40), which says -1.
pub const NO_CLASS_VERSION: u32 = u32::MAX;
/// The same in streamer information.
const FIRST_INFO_VERSION: u16 = 1;
const DOUBLE32: &str = "Double32_t";
const BYTE: &str = "std::byte";
/// `int`, which enumerations are described as, and `std::byte` is one. Source: `TStreamerInfo::Build` (ROOT 6.40).
const ENUMERATION: (i32, u32) = (3, 4);

/// The containers that streamer information has: field type, `ROOT::ESTLType`, and bytes in memory (libstdc++).
const CONTAINERS: [(&str, i32, u32); 10] = [
    ("std::vector", 1, 24),
    ("std::map", 4, 48),
    ("std::multimap", 5, 48),
    ("std::set", 6, 48),
    ("std::multiset", 7, 48),
    ("std::unordered_set", 10, 56),
    ("std::unordered_multiset", 11, 56),
    ("std::unordered_map", 12, 56),
    ("std::unordered_multimap", 13, 56),
    ("ROOT::VecOps::RVec", 14, 64),
];
const BITSET: i32 = 8;

/// How the names of types are written.
trait Spelling {
    /// A type without arguments, or a class.
    fn plain(&self, field: NtupleField<'_>) -> Option<String>;

    /// A template of these arguments.
    fn template(&self, name: &str, arguments: &[String]) -> String;
}

/// As they are asked for.
struct Asked<'s> {
    schema: &'s Schema,
    /// The names of members in Arrow.
    name_of: &'s dyn Fn(FieldId) -> Option<&'s str>,
}

/// As ROOT's streamer information has them.
struct Streamer;

impl Spelling for Asked<'_> {
    fn plain(&self, field: NtupleField<'_>) -> Option<String> {
        let name = field.type_name();
        if is_class(field) {
            return Some(self.class(field));
        }
        let is_narrow = field.type_alias() == DOUBLE32 && self.schema.is_of_floats(field);
        Some(match (primitive_of(name), self.schema.encoding_of(field)) {
            _ if is_narrow => DOUBLE32.to_owned(),
            (Some(Primitive::Float32 | Primitive::Float64), Some(Encoding::Truncated { bits })) => {
                format!("{name}[Real32Trunc:{bits}]")
            }
            (Some(Primitive::Float32 | Primitive::Float64), Some(Encoding::Quantized { bits, min, max })) => {
                let [min, max] = [min, max].map(|end| format!("{end:?}"));
                let short = |end: &str| end.strip_suffix(".0").unwrap_or(end).to_owned();
                format!("{name}[Real32Quant:{bits}[{},{}]]", short(&min), short(&max))
            }
            _ => name.to_owned(),
        })
    }

    fn template(&self, name: &str, arguments: &[String]) -> String {
        format!("{name}<{}>", arguments.join(","))
    }
}

impl Asked<'_> {
    /// `Muon@3#1f0c9b2e{Particle{pt,eta}}`.
    fn class(&self, field: NtupleField<'_>) -> String {
        let mut text = field.type_name().to_owned();
        if field.type_version() != NO_CLASS_VERSION {
            text.push_str(&format!("@{}", field.type_version()));
        }
        if let Some(checksum) = field.type_checksum() {
            text.push_str(&format!("#{checksum:08x}"));
        }
        let parts = || self.schema.parts(field);
        let bases: Vec<String> = parts().filter(|part| is_base(part.name())).map(|base| self.base(base)).collect();
        if bases.is_empty() { text } else { format!("{text}{{{}}}", bases.join(",")) }
    }

    /// The same with its own members in the braces.
    fn base(&self, field: NtupleField<'_>) -> String {
        let class = self.class(field);
        let own = self.schema.parts(field).filter(|part| !is_base(part.name()));
        let own: Vec<&str> = own.map(|part| (self.name_of)(part.id()).unwrap_or(part.name())).collect();
        match class.strip_suffix('}') {
            Some(with_bases) if own.is_empty() => format!("{with_bases}}}"),
            Some(with_bases) => format!("{with_bases},{}}}", own.join(",")),
            None => format!("{class}{{{}}}", own.join(",")),
        }
    }
}

impl Spelling for Streamer {
    fn plain(&self, field: NtupleField<'_>) -> Option<String> {
        let name = field.type_name();
        Some(match (name, primitive_of(name)) {
            _ if field.type_alias() == DOUBLE32 => DOUBLE32.to_owned(),
            ("std::string", _) => "string".to_owned(),
            (BYTE, _) => "byte".to_owned(),
            ("char", _) => "char".to_owned(),
            (_, Some(Primitive::Int8)) => "signed char".to_owned(),
            (_, Some(Primitive::Int64)) => "long".to_owned(),
            (_, Some(Primitive::UInt64)) => "unsigned long".to_owned(),
            (_, Some(primitive)) => primitive.name().to_owned(),
            (name, None) => name.to_owned(),
        })
    }

    fn template(&self, name: &str, arguments: &[String]) -> String {
        let arguments = arguments.join(",");
        let space = if arguments.ends_with('>') { " " } else { "" };
        format!("{}<{arguments}{space}>", name.strip_prefix("std::").unwrap_or(name))
    }
}

/// The code of a number in streamer information: `long` and not `long long` is of 64 bits where `std::int64_t` is one.
fn code_of(primitive: Primitive) -> i32 {
    match primitive {
        Primitive::Int64 => LONG,
        Primitive::UInt64 => UNSIGNED_LONG,
        other => other.type_code(),
    }
}

/// True for a record of a class.
fn is_class(field: NtupleField<'_>) -> bool {
    let name = field.type_name();
    field.role() == Role::Record && !name.is_empty() && !NUMBERED_TYPES.iter().any(|prefix| name.starts_with(prefix))
}

/// True for integers of an enumeration, which may be one of a class template: `Point<float>::Kind`.
fn is_enumeration(field: NtupleField<'_>) -> bool {
    field.role() == Role::Leaf && field.children().len() == 1 && !field.type_name().starts_with("std::")
}

impl Schema {
    /// The C++ types of a field, whose path is empty, and of what [`members_in_variants`](Schema::members_in_variants) has of it,
    /// as somebody would ask for them, with versions, checksums and bases of classes, and with reduced precision of numbers: as
    /// `std::vector<Muon@3#1f0c9b2e{Particle{pt,eta}}>`, `float[Real32Trunc:16]`. Empty for a field without a type. `name_of`:
    /// names of members in Arrow.
    pub fn asked_types<'s>(
        &'s self,
        id: FieldId,
        name_of: &'s dyn Fn(FieldId) -> Option<&'s str>,
    ) -> Vec<(String, String)> {
        let inside = self.members_in_variants(id);
        let names: HashMap<FieldId, &str> = inside.iter().map(|member| (member.field(), member.name())).collect();
        let spelling = Asked { schema: self, name_of: &|id| names.get(&id).copied().or_else(|| name_of(id)) };
        let spelled = |id| self.field_of(id).and_then(|field| self.spelled(field, &spelling)).unwrap_or_default();
        let inside = inside.iter().map(|member| (member.path().to_owned(), spelled(member.field())));
        iter::once((String::new(), spelled(id))).chain(inside).collect()
    }

    /// Describes the classes of all records, in their order, each as often as it has other members. A class of members that
    /// have no C++ type is not described. The fields of those that are get the checksum of the description, if they have none.
    pub fn describe_classes(&mut self) -> Vec<StreamerInfo> {
        self.index();
        let mut infos = Vec::new();
        // The bases of a class, and the classes of its members, come behind it.
        for id in (0..self.counts().fields).rev().filter_map(|id| u32::try_from(id).ok()).map(FieldId) {
            let field = self.at(id);
            if !is_class(field) || field.source().is_some() {
                continue;
            }
            if let Some(info) = self.class_info(field) {
                self.set_type_checksum(id, info.checksum);
                infos.push(info);
            }
        }
        infos.reverse();
        let mut seen = HashSet::new();
        infos.retain(|info| seen.insert((info.name.clone(), info.version, info.checksum)));
        infos
    }

    fn parts<'s>(&'s self, field: NtupleField<'s>) -> impl Iterator<Item = NtupleField<'s>> {
        field.children().iter().filter_map(|&child| self.field_of(child))
    }

    /// How the first column of a field stores its elements; `None` without one, and for what is not known.
    pub fn encoding_of(&self, field: NtupleField<'_>) -> Option<Encoding> {
        field.columns().first().and_then(|&column| self.column_of(column)?.column_type.encoding)
    }

    /// True for a field whose numbers are stored as `float`.
    fn is_of_floats(&self, field: NtupleField<'_>) -> bool {
        let encoding = self.encoding_of(field);
        matches!(encoding, Some(Encoding::Plain(Primitive::Float32) | Encoding::Split(Primitive::Float32)))
    }

    fn spelled(&self, field: NtupleField<'_>, how: &dyn Spelling) -> Option<String> {
        let name = field.type_name();
        let template = match name.split_once('<') {
            _ if name.is_empty() => return None,
            _ if is_enumeration(field) => return how.plain(field),
            Some((template, _)) if !is_class(field) && !field.children().is_empty() => template,
            Some((template, rest)) if template == "std::bitset" => {
                return Some(how.template(template, &[rest.trim_end_matches('>').to_owned()]));
            }
            _ => return how.plain(field),
        };
        let is_map = template.ends_with("map") && field.role() == Role::Collection;
        let around = if is_map { self.parts(field).next()? } else { field };
        let mut arguments: Vec<String> =
            self.parts(around).map(|part| self.spelled(part, how)).collect::<Option<_>>()?;
        if template == "std::array" {
            arguments.push(field.array_size()?.to_string());
        }
        Some(how.template(template, &arguments))
    }

    /// The description of a class, whose parts have their checksums.
    fn class_info(&self, field: NtupleField<'_>) -> Option<StreamerInfo> {
        let elements = self.parts(field).map(|part| self.element(part)).collect::<Option<Vec<_>>>()?;
        let version = match field.type_version() {
            NO_CLASS_VERSION => FIRST_INFO_VERSION,
            version => u16::try_from(version).ok()?,
        };
        let info = StreamerInfo::of_class(field.type_name(), version, elements);
        Some(StreamerInfo { checksum: field.type_checksum().unwrap_or(info.checksum), ..info })
    }

    fn element(&self, part: NtupleField<'_>) -> Option<Element> {
        if is_base(part.name()) {
            let base = Element::member(part.type_name(), "BASE", 0);
            let base_version = part.type_version().cast_signed();
            return Some(Element { base_version, base_checksum: part.type_checksum()?, ..base });
        }
        let (mut field, mut dims) = (part, Vec::new());
        while field.type_name().starts_with("std::array<") {
            dims.push(u32::try_from(field.array_size()?).ok()?);
            field = self.parts(field).next()?;
        }
        let name = part.name();
        let type_name = self.spelled(field, &Streamer)?;
        let type_in_file = field.type_name();
        let template = type_in_file.split_once('<').map(|(template, _)| template);
        let container = CONTAINERS.iter().find(|(container, ..)| template == Some(container));
        Some(if let Some(&(_, stl_type, n_bytes)) = container {
            let item = self.parts(field).next()?;
            let n_bytes = if type_name == "vector<bool>" { 40 } else { n_bytes };
            Element::of_container(name, &type_name, stl_type, self.contained(item)).sized(n_bytes, &dims)
        } else if template == Some("std::bitset") {
            let n_bytes = u32::try_from(field.array_size()?.div_ceil(64)).ok()?.checked_mul(8)?;
            Element::of_container(name, &type_name, BITSET, 0).sized(n_bytes, &dims)
        } else if type_in_file == "std::string" {
            Element::of_text(name).arrayed(&dims)
        } else if type_in_file == BYTE || is_enumeration(field) {
            let (code, n_bytes) = ENUMERATION;
            let type_name = if type_in_file == BYTE { BYTE } else { &type_name };
            Element::member(name, type_name, code).sized(n_bytes, &dims)
        } else if template.is_none() && field.role() == Role::Leaf {
            let narrow = (field.type_alias() == DOUBLE32).then_some(Primitive::Double32);
            let primitive = narrow.or_else(|| primitive_of(type_in_file))?;
            let n_bytes = u32::try_from(primitive.memory_bytes()).ok()?;
            Element::member(name, &type_name, code_of(primitive)).sized(n_bytes, &dims)
        } else {
            Element::of_object(name, &type_name, self.object_bytes(field)?).arrayed(&dims)
        })
    }

    /// `TStreamerSTL::fCtype`.
    fn contained(&self, item: NtupleField<'_>) -> i32 {
        match primitive_of(item.type_name()) {
            _ if item.type_name() == BYTE => ENUMERATION.0,
            _ if item.type_alias() == DOUBLE32 => Primitive::Double32.type_code(),
            Some(primitive) => code_of(primitive),
            None if is_enumeration(item) => ENUMERATION.0,
            None => Element::OBJECT,
        }
    }

    /// `sizeof`, about: of an object of these parts.
    fn object_bytes(&self, field: NtupleField<'_>) -> Option<u32> {
        let (mut n_bytes, mut alignment) = (0_u32, 1);
        for part in self.parts(field) {
            let (size, aligned) = match is_base(part.name()) {
                true => (self.object_bytes(part)?, 8),
                false => self.element(part).map(|element| (element.size, element.alignment()))?,
            };
            n_bytes = n_bytes.checked_next_multiple_of(aligned)?.checked_add(size)?;
            alignment = alignment.max(aligned);
        }
        n_bytes.checked_next_multiple_of(alignment)
    }
}

impl Element {
    /// The same of so many bytes, or a fixed array of such.
    fn sized(self, n_bytes: u32, dims: &[u32]) -> Element {
        Element { size: n_bytes, ..self }.arrayed(dims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rntuple::FieldDescription;
    use crate::streamer::ElementClass;

    /// Fields of these names, types and depths, with the checksums and versions of classes.
    fn schema(fields: &[(usize, &str, &str, Role)]) -> Schema {
        let mut schema = Schema::new("t", "", "test");
        let mut around: Vec<FieldId> = Vec::new();
        for &(depth, name, type_name, role) in fields {
            around.truncate(depth);
            let (type_name, alias) = type_name.split_once('=').unwrap_or((type_name, ""));
            let (type_name, version) = type_name.split_once('@').unwrap_or((type_name, ""));
            let field = FieldDescription::new(name, type_name, role, around.last().copied());
            let is_array = type_name.starts_with("std::array") || type_name.starts_with("std::bitset");
            let size = is_array.then(|| type_name.trim_end_matches('>').rsplit([',', '<']).next().unwrap());
            let field = FieldDescription {
                type_alias: alias,
                type_version: version.parse().unwrap_or(if role == Role::Record { NO_CLASS_VERSION } else { 0 }),
                array_size: size.map(|size| size.parse().unwrap()),
                ..field
            };
            around.push(schema.add_field(&field).unwrap());
        }
        schema
    }

    /// Checksums and elements are those of a file that ROOT 6.40 wrote of these classes.
    #[test]
    fn classes_are_described_as_root_describes_them() {
        use Role::{Collection, Leaf, Record};
        let mut schema = schema(&[
            (0, "m", "Muon", Record),
            (1, ":_0", "Particle", Record),
            (2, "pt", "float", Leaf),
            (2, "eta", "float", Leaf),
            (1, "charge", "std::int32_t", Leaf),
            (1, "tracks", "std::vector<Track>", Collection),
            (2, "_0", "Track", Record),
            (3, "hits", "std::vector<float>", Collection),
            (4, "_0", "float", Leaf),
            (3, "chi", "double=Double32_t", Leaf),
            (3, "n", "std::array<std::int32_t,3>", Leaf),
            (4, "_0", "std::int32_t", Leaf),
            (1, "map", "std::map<std::int32_t,float>", Collection),
            (2, "_0", "std::pair<std::int32_t,float>", Record),
            (3, "_0", "std::int32_t", Leaf),
            (3, "_1", "float", Leaf),
            (1, "vv", "std::vector<std::vector<std::byte>>", Collection),
            (2, "_0", "std::vector<std::byte>", Collection),
            (3, "_0", "std::byte", Leaf),
            (1, "color", "Color", Leaf),
            (2, "_0", "std::int32_t", Leaf),
            (1, "bits", "std::bitset<8>", Leaf),
            (1, "long", "std::uint64_t", Leaf),
            (1, "longs", "std::array<std::int64_t,2>", Leaf),
            (2, "_0", "std::int64_t", Leaf),
            (0, "k", "P<int>::Kind", Leaf),
            (1, "_0", "std::int32_t", Leaf),
            (0, "kinds", "std::vector<P<int>::Kind>", Collection),
            (1, "_0", "P<int>::Kind", Leaf),
            (2, "_0", "std::int32_t", Leaf),
            (0, "v", "Vers@3", Record),
            (1, "x", "float", Leaf),
            (0, "u", "Untyped", Record),
            (1, "r", "", Record),
        ]);
        let infos = schema.describe_classes();
        let found: Vec<_> = infos.iter().map(|info| (&*info.name, info.version)).collect();
        assert_eq!(found, [("Muon", 1), ("Particle", 1), ("Track", 1), ("Vers", 3)]);
        let checksums: Vec<_> = infos[1..].iter().map(|info| info.checksum).collect();
        assert_eq!(checksums, [0xc13c_7188, 0x94cb_ac2d, 0x0029_a938]);
        let of_fields: Vec<_> = schema.fields().filter_map(NtupleField::type_checksum).collect();
        assert_eq!(of_fields, [&[infos[0].checksum][..], &checksums].concat());
        let elements: Vec<_> = infos[0].elements.iter().map(|one| (&*one.name, &*one.type_name)).collect();
        let expected = [
            ("Particle", "BASE"),
            ("charge", "int"),
            ("tracks", "vector<Track>"),
            ("map", "map<int,float>"),
            ("vv", "vector<vector<byte> >"),
            ("color", "Color"),
            ("bits", "bitset<8>"),
            ("long", "unsigned long"),
            ("longs", "long"),
        ];
        assert_eq!(elements, expected);
        let base = &infos[0].elements[0];
        assert_eq!((base.class, base.base_version, base.base_checksum), (ElementClass::Base, -1, 0xc13c_7188));
        let codes: Vec<_> = infos[0].elements.iter().map(|one| (one.stl_type, one.contained_type, one.size)).collect();
        assert_eq!(
            codes,
            [(0, 0, 0), (0, 0, 4), (1, 61, 24), (4, 61, 48), (1, 61, 24), (0, 0, 4), (8, 0, 8), (0, 0, 8), (0, 0, 16)]
        );
        let codes: Vec<_> = infos[0].elements[1..].iter().map(|one| one.type_code).collect();
        assert_eq!(codes, [3, 300, 300, 300, 3, 300, 14, 24]);
        let name_of = |_: FieldId| None;
        let asked = |id| schema.asked_types(FieldId(id), &name_of).swap_remove(0).1;
        assert_eq!(asked(0), format!("Muon#{:08x}{{Particle#c13c7188{{pt,eta}}}}", infos[0].checksum));
        assert_eq!(asked(5), "std::vector<Track#94cbac2d>");
        assert_eq!(asked(12), "std::map<std::int32_t,float>");
        assert_eq!(asked(21), "std::bitset<8>");
        assert_eq!((asked(25), asked(27)), ("P<int>::Kind".to_owned(), "std::vector<P<int>::Kind>".to_owned()));
        assert_eq!(asked(30), "Vers@3#0029a938");
    }
}
