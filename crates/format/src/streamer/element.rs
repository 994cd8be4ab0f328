//! Elements: the bases and members of a class.

use std::sync::Arc;

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::streamer::packing::PackingRange;
use crate::streamer::typename::Primitive;
use crate::streamer::{ObjectSlots, name_text, named_base};

/// Bit of an element whose title tells a range to pack into. Source: `TStreamerElement::kHasRange`.
const HAS_RANGE: u32 = 1 << 6;
/// Added to the code of a type for a fixed array of it.
const ARRAY_CODE: i32 = 20;
/// Code of a standard library container, and of a pointer to one.
const STL_CODE: i32 = 300;
const STL_POINTER_CODE: i32 = 71;

/// Which subclass of `TStreamerElement` describes the member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementClass {
    /// `TStreamerBase`: a base class.
    Base,
    /// `TStreamerBasicType`: a number, or a fixed array of them.
    BasicType,
    /// `TStreamerBasicPointer`: a pointer to numbers, counted by another member.
    BasicPointer,
    /// `TStreamerLoop`: a pointer to objects, counted by another member.
    Loop,
    /// `TStreamerObject`: an object that derives from `TObject`.
    Object,
    /// `TStreamerObjectAny`: an object that does not.
    ObjectAny,
    /// `TStreamerObjectPointer`: a pointer to an object that derives from `TObject`.
    ObjectPointer,
    /// `TStreamerObjectAnyPointer`: a pointer to an object that does not.
    ObjectAnyPointer,
    /// `TStreamerString`: a `TString`.
    String,
    /// `TStreamerSTL`: a container of the standard library.
    Stl,
    /// `TStreamerSTLstring`: a `std::string`.
    StlString,
    /// `TStreamerArtificial`: a member made by a schema evolution rule.
    Artificial,
    /// `TStreamerElement` itself.
    Plain,
}

impl ElementClass {
    fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"TStreamerBase" => ElementClass::Base,
            b"TStreamerBasicType" => ElementClass::BasicType,
            b"TStreamerBasicPointer" => ElementClass::BasicPointer,
            b"TStreamerLoop" => ElementClass::Loop,
            b"TStreamerObject" => ElementClass::Object,
            b"TStreamerObjectAny" => ElementClass::ObjectAny,
            b"TStreamerObjectPointer" => ElementClass::ObjectPointer,
            b"TStreamerObjectAnyPointer" => ElementClass::ObjectAnyPointer,
            b"TStreamerString" => ElementClass::String,
            b"TStreamerSTL" => ElementClass::Stl,
            b"TStreamerSTLstring" => ElementClass::StlString,
            b"TStreamerArtificial" => ElementClass::Artificial,
            b"TStreamerElement" => ElementClass::Plain,
            _ => return None,
        })
    }
}

/// Kinds of containers of the standard library. Source: `ROOT::ESTLType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the containers")]
pub enum StlKind {
    Vector,
    List,
    Deque,
    Map,
    MultiMap,
    Set,
    MultiSet,
    Bitset,
    ForwardList,
    UnorderedSet,
    UnorderedMultiSet,
    UnorderedMap,
    UnorderedMultiMap,
    RVec,
}

/// A base or member of a class, as it was when the file was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    /// Which kind of element it is.
    pub class: ElementClass,
    /// Name of the member, or of the base class.
    pub name: Arc<str>,
    /// Title: the comment behind the member.
    pub title: String,
    /// Type code (`TVirtualStreamerInfo::EReadWrite`): 20 more for a fixed array, 40 more for a counted pointer. For
    /// containers it is 300, or 71 for pointers to them, whatever was stored.
    pub type_code: i32,
    /// Size in bytes in the memory of the writer, which says nothing of the file.
    pub size: u32,
    /// Number of values of a fixed array; 0 if it is none.
    pub array_length: u32,
    /// Extents of a fixed array, outermost first; empty if it is none.
    pub max_index: Vec<u32>,
    /// Type as declared; `BASE` for bases.
    pub type_name: String,
    /// Range and bits of a `Double32_t` or `Float16_t`; all zero without.
    pub range: PackingRange,
    /// Version of the base class; 0 if unknown, or if it is no base.
    pub base_version: i32,
    /// Checksum of the base class; 0 if unknown, or if it is no base.
    pub base_checksum: u32,
    /// Member that counts the values of a pointer; empty if none does.
    pub count_name: String,
    /// Class that has that member.
    pub count_class: String,
    /// Kind of container as a number; 0 if it is none.
    pub stl_type: i32,
    /// Type code of what a container holds; 0 if it is none.
    pub contained_type: i32,
}

impl Element {
    /// A member, or a base if the code is 0, as streamer information would describe it.
    pub(crate) fn member(name: &str, type_name: &str, type_code: i32) -> Self {
        let class = match type_code {
            0 => ElementClass::Base,
            62 => ElementClass::ObjectAny,
            65 => ElementClass::String,
            _ => ElementClass::BasicType,
        };
        Element {
            class,
            name: Arc::from(name),
            title: String::new(),
            type_code,
            size: 0,
            array_length: 0,
            max_index: Vec::new(),
            type_name: type_name.to_owned(),
            range: PackingRange::default(),
            base_version: 0,
            base_checksum: 0,
            count_name: String::new(),
            count_class: String::new(),
            stl_type: 0,
            contained_type: 0,
        }
    }

    /// Reads an object of class `class`.
    pub(super) fn parse(class: &[u8], cursor: &mut Cursor<'_>) -> Result<Self> {
        let Some(class) = ElementClass::from_name(class) else {
            return Err(Error::unsupported(
                cursor.position(),
                format!("elements of class {} are not known", String::from_utf8_lossy(class)),
            ));
        };
        let frame = match class {
            // It has the frame of TStreamerElement alone.
            ElementClass::Plain => None,
            ElementClass::StlString => {
                cursor.version()?;
                Some(cursor.version()?)
            }
            _ => Some(cursor.version()?),
        };
        let mut element = Self::parse_common(class, cursor)?;
        let version = frame.map_or(0, |frame| frame.version);
        element.fix_basic_type();
        match class {
            ElementClass::Base if version > 2 => element.base_version = cursor.i32()?,
            ElementClass::BasicPointer | ElementClass::Loop => {
                cursor.skip(4)?;
                element.count_name = cursor.string()?;
                element.count_class = cursor.string()?;
            }
            ElementClass::Stl | ElementClass::StlString => {
                element.stl_type = cursor.i32()?;
                element.contained_type = cursor.i32()?;
                element.fix_container();
            }
            _ => {}
        }
        Ok(element)
    }

    /// The part that all elements have: `TStreamerElement::Streamer`.
    fn parse_common(class: ElementClass, cursor: &mut Cursor<'_>) -> Result<Self> {
        let frame = cursor.version()?;
        let version = frame.version;
        let (bits, name, title) = named_base(cursor)?;
        let (name, title) = (Arc::from(name_text(name)), name_text(title));
        let type_code = cursor.i32()?;
        let size = cursor.i32()?.unsigned_abs();
        let array_length = cursor.u32()?;
        let n_dimensions = cursor.u32()? as usize;
        let n_extents = if version == 1 { cursor.count(4)? } else { 5 };
        let extents = (0..n_extents).map(|_| cursor.u32()).collect::<Result<Vec<_>>>()?;
        let type_name = cursor.string()?;
        let range = if version == 3 {
            PackingRange { min: cursor.f64()?, max: cursor.f64()?, factor: cursor.f64()? }
        } else if version > 3 && bits & HAS_RANGE != 0 {
            PackingRange::parse(&title)
        } else {
            PackingRange::default()
        };
        if let Some(end) = frame.end {
            cursor.leave(end)?;
        }
        let mut element = Element {
            class,
            name,
            title,
            type_code,
            size,
            array_length,
            max_index: Vec::new(),
            type_name,
            range,
            base_version: 0,
            base_checksum: 0,
            count_name: String::new(),
            count_class: String::new(),
            stl_type: 0,
            contained_type: 0,
        };
        if class == ElementClass::Base {
            // The checksum of a base is in the place of an extent.
            element.base_checksum = extents.get(1).copied().unwrap_or_default();
        } else if array_length > 0 {
            // Before ROOT 6.24/02 containers had no number of dimensions.
            let n_dimensions =
                if n_dimensions == 0 { extents.iter().take_while(|&&n| n > 0).count() } else { n_dimensions };
            element.max_index = extents.into_iter().take(n_dimensions).collect();
        }
        if element.type_code == 11 && matches!(element.type_name.as_str(), "Bool_t" | "bool") {
            element.type_code = 18;
        }
        if version <= 2 && class == ElementClass::BasicType && array_length > 0 {
            // It was the size of one value then.
            element.size = element.size.saturating_mul(array_length);
        }
        Ok(element)
    }

    /// Before ROOT 5 some objects and pointers were described as basic types: `TStreamerInfo::Streamer`.
    fn fix_basic_type(&mut self) {
        if self.class == ElementClass::BasicType {
            self.class = match self.type_code {
                61 => ElementClass::Object,
                62 => ElementClass::ObjectAny,
                63 | 64 => ElementClass::ObjectPointer,
                65 => ElementClass::String,
                _ => ElementClass::BasicType,
            };
        }
    }

    /// What `TStreamerSTL::Streamer` sets right after reading.
    fn fix_container(&mut self) {
        self.type_code = if self.is_pointer() { STL_POINTER_CODE } else { STL_CODE };
        if self.array_length > 0 {
            self.type_code += ARRAY_CODE;
        }
        if matches!(self.stl_type, 5 | 6) {
            // These two were the other way round for a long time.
            let name = self.type_name.trim_start_matches("const ").trim_start_matches("std::");
            if name.starts_with("set") {
                self.stl_type = 6;
            } else if name.starts_with("multimap") {
                self.stl_type = 5;
            }
        }
    }

    /// Whether it is a base class.
    pub fn is_base(&self) -> bool {
        self.class == ElementClass::Base || (self.class == ElementClass::Stl && *self.name == *self.type_name)
    }

    /// Whether the declared type is a pointer.
    pub fn is_pointer(&self) -> bool {
        self.type_name.ends_with('*')
    }

    /// The kind of container it is.
    pub fn stl_kind(&self) -> Option<StlKind> {
        if self.class != ElementClass::Stl {
            return None;
        }
        Some(match self.stl_type {
            1 => StlKind::Vector,
            2 => StlKind::List,
            3 => StlKind::Deque,
            4 => StlKind::Map,
            5 => StlKind::MultiMap,
            6 => StlKind::Set,
            7 => StlKind::MultiSet,
            8 => StlKind::Bitset,
            9 => StlKind::ForwardList,
            10 => StlKind::UnorderedSet,
            11 => StlKind::UnorderedMultiSet,
            12 => StlKind::UnorderedMap,
            13 => StlKind::UnorderedMultiMap,
            14 => StlKind::RVec,
            _ => return None,
        })
    }

    /// The number type of a number, or of what a fixed array or counted pointer of numbers holds.
    pub fn primitive(&self) -> Option<Primitive> {
        let code = match (self.class, self.type_code) {
            (ElementClass::BasicType, code @ 21..=39) => code - ARRAY_CODE,
            (ElementClass::BasicPointer, code @ 41..=59) => code - 2 * ARRAY_CODE,
            (ElementClass::BasicType, code) => code,
            _ => return None,
        };
        Primitive::from_type_code(code)
    }
}

/// Reads a `TObjArray` of elements; those that cannot be read are an error.
pub(super) fn parse_elements<'a>(cursor: &mut Cursor<'a>, slots: &mut ObjectSlots<'a>) -> Result<Vec<Element>> {
    use crate::error::Within;
    use crate::streamer::{ObjectSlot, object_base};

    let frame = cursor.version()?;
    if frame.version > 2 {
        object_base(cursor)?;
    }
    if frame.version > 1 {
        cursor.string_bytes()?;
    }
    let n_elements = cursor.count(4)?;
    cursor.skip(4)?;
    let mut elements = Vec::new();
    for i in 0..n_elements {
        let ObjectSlot::Object { class, end, .. } = slots.read(cursor)? else { continue };
        elements.push(Element::parse(class, cursor).within(|| format!("element {i}"))?);
        if let Some(end) = end {
            cursor.leave(end)?;
        }
    }
    Ok(elements)
}
