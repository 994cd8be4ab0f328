//! Descriptions of classes that are made here, and not read.

use super::{Element, ElementClass, PackingRange, Primitive, StreamerInfo};

/// `ROOT::kSTLstring`, `ROOT::kSTLvector`, and the code of what is no number (`TVirtualStreamerInfo::kObject`).
const STL_STRING: i32 = 365;
const STL_VECTOR: i32 = 1;
const STL_MAP: i32 = 4;
/// Codes of containers and of objects that do not derive from `TObject`, as ROOT has them in memory.
const STL: i32 = 300;
const ANY: i32 = 62;
/// Codes of `long` and `unsigned long`.
pub(crate) const LONG: i32 = 4;
pub(crate) const UNSIGNED_LONG: i32 = 14;
/// Added to the code of a type for a fixed array of it.
const ARRAY: i32 = 20;
/// Bytes of containers in memory: of libstdc++, with 8 bytes a pointer.
const STRING_BYTES: u32 = 32;
const VECTOR_BYTES: u32 = 24;
const MAP_BYTES: u32 = 48;
const VECTOR_OF_BOOL_BYTES: u32 = 40;

/// The items of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorItem<'n> {
    /// Numbers or bools.
    Number(Primitive),
    /// Anything else, by the name of its type.
    Other(&'n str),
}

impl Element {
    /// The code of what is no number, as containers say it of their items.
    pub(crate) const OBJECT: i32 = 61;

    /// A member that is a number or a bool, or fixed arrays of them: `dims` are their sizes, the outermost first. ROOT has at
    /// most five.
    pub fn of_numbers(name: &str, primitive: Primitive, dims: &[u32]) -> Element {
        let code = primitive.type_code();
        let value_bytes = u32::try_from(primitive.memory_bytes()).unwrap_or_default();
        Element { size: value_bytes, ..Element::member(name, primitive.name(), code) }.arrayed(dims)
    }

    /// A fixed array of such, or the same if there are no dimensions.
    pub(crate) fn arrayed(self, dims: &[u32]) -> Element {
        if dims.is_empty() {
            return self;
        }
        let n_values = dims.iter().fold(1_u32, |n, &dim| n.saturating_mul(dim));
        Element {
            array_length: n_values,
            max_index: dims.to_vec(),
            size: self.size.saturating_mul(n_values),
            type_code: self.type_code + ARRAY,
            ..self
        }
    }

    /// The same, with range and bits of packed numbers behind it: `[0,10,12]`, or nothing.
    #[must_use]
    pub fn packed(self, annotation: &str) -> Element {
        Element { title: annotation.to_owned(), range: PackingRange::parse(annotation), ..self }
    }

    /// The same with integers of 64 bits as the standard library has them where `long` has so many: `std::int64_t` is `long`.
    #[must_use]
    pub fn with_longs(self) -> Element {
        let code = |code| match code {
            _ if code == Primitive::Int64.type_code() => LONG,
            _ if code == Primitive::UInt64.type_code() => UNSIGNED_LONG,
            other => other,
        };
        Element {
            type_name: self.type_name.replace("ULong64_t", "unsigned long").replace("Long64_t", "long"),
            type_code: code(self.type_code),
            contained_type: code(self.contained_type),
            ..self
        }
    }

    /// A `std::string`.
    pub fn of_text(name: &str) -> Element {
        Element {
            class: ElementClass::StlString,
            stl_type: STL_STRING,
            contained_type: STL_STRING,
            size: STRING_BYTES,
            ..Element::member(name, "string", STL)
        }
    }

    /// A `std::vector` of that name.
    pub fn of_vector(name: &str, type_name: &str, item: VectorItem<'_>) -> Element {
        let contained_type = match item {
            VectorItem::Number(primitive) => primitive.type_code(),
            VectorItem::Other(_) => Element::OBJECT,
        };
        Element {
            size: if item == VectorItem::Number(Primitive::Bool) { VECTOR_OF_BOOL_BYTES } else { VECTOR_BYTES },
            ..Element::of_container(name, type_name, STL_VECTOR, contained_type)
        }
    }

    /// A `std::map` of that name.
    pub fn of_map(name: &str, type_name: &str) -> Element {
        Element { size: MAP_BYTES, ..Element::of_container(name, type_name, STL_MAP, Element::OBJECT) }
    }

    /// A container of the standard library, by its number and that of its items.
    pub(crate) fn of_container(name: &str, type_name: &str, stl_type: i32, contained_type: i32) -> Element {
        Element { class: ElementClass::Stl, stl_type, contained_type, ..Element::member(name, type_name, STL) }
    }

    /// An object of a class that takes so many bytes in memory.
    pub fn of_object(name: &str, class: &str, n_bytes: u32) -> Element {
        Element { size: n_bytes, ..Element::member(name, class, ANY) }
    }

    /// Bytes that it is aligned to in memory.
    pub fn alignment(&self) -> u32 {
        match self.class {
            ElementClass::BasicType => (self.size / self.array_length.max(1)).max(1),
            _ => 8,
        }
    }
}

impl StreamerInfo {
    /// A class of these members as ROOT 6.40 would describe it.
    pub fn of_class(name: &str, version: u16, elements: Vec<Element>) -> StreamerInfo {
        let info = StreamerInfo {
            name: name.to_owned(),
            version,
            info_version: StreamerInfo::INFO_VERSION,
            bits: StreamerInfo::COMPILED_BITS,
            elements,
            ..StreamerInfo::default()
        };
        StreamerInfo { checksum: info.computed_checksum(), ..info }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;
    use crate::streamer::StreamerInfos;

    #[test]
    fn a_class_that_is_made_is_read_as_it_was_made() {
        let elements = vec![
            Element::of_numbers("n", Primitive::Int32, &[]),
            Element::of_numbers("m", Primitive::Bool, &[2, 3]),
            Element::of_text("s"),
            Element::of_vector("v", "vector<float>", VectorItem::Number(Primitive::Float32)),
            Element::of_vector("w", "vector<string>", VectorItem::Other("string")),
            Element::of_object("o", "Inner", 16),
        ];
        let info = StreamerInfo::of_class("Outer", 2, elements);
        let mut output = Output::new(64);
        StreamerInfos::of(vec![info.clone()]).write(&mut output).unwrap();
        let read = StreamerInfos::parse(&output.into_bytes(), 64).unwrap();
        let mut found = read.get("Outer", 2).unwrap().clone();
        found.elements.iter_mut().for_each(|element| element.stored = None);
        assert_eq!(found, info);
        assert_eq!(found.elements.iter().map(Element::alignment).collect::<Vec<_>>(), [4, 1, 8, 8, 8, 8]);
    }

    #[test]
    fn every_number_has_its_code() {
        for code in 1..20 {
            if let Some(primitive) = Primitive::from_type_code(code) {
                assert_eq!(Primitive::from_type_code(primitive.type_code()), Some(primitive));
            }
        }
    }
}
