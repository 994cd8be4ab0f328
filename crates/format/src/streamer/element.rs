//! Elements: the bases and members of a class.

use std::sync::Arc;

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::output::Output;
use crate::streamer::packing::PackingRange;
use crate::streamer::typename::Primitive;
use crate::streamer::{ObjectSlots, StreamerInfo, name_text, named_base};

/// Bit of an element whose title tells a range to pack into. Source: `TStreamerElement::kHasRange`.
const HAS_RANGE: u32 = 1 << 6;
/// Added to the code of a type for a fixed array of it.
const ARRAY_CODE: i32 = 20;
/// Code of a standard library container, and of a pointer to one.
const STL_CODE: i32 = 300;
const STL_POINTER_CODE: i32 = 71;
/// This is stored for both. Source: `TStreamerSTL::Streamer`.
const STORED_STL_CODE: i32 = 500;
/// Class versions of `TStreamerElement` and `TObjArray`, as ROOT 6.40 writes them.
const ELEMENT_VERSION: u16 = 4;
const ARRAY_VERSION: u16 = 3;

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
    /// All of them by name, with the class version that ROOT 6.40 writes.
    const NAMES: [(ElementClass, &'static str, u16); 13] = [
        (ElementClass::Base, "TStreamerBase", 3),
        (ElementClass::BasicType, "TStreamerBasicType", 2),
        (ElementClass::BasicPointer, "TStreamerBasicPointer", 2),
        (ElementClass::Loop, "TStreamerLoop", 2),
        (ElementClass::Object, "TStreamerObject", 2),
        (ElementClass::ObjectAny, "TStreamerObjectAny", 2),
        (ElementClass::ObjectPointer, "TStreamerObjectPointer", 2),
        (ElementClass::ObjectAnyPointer, "TStreamerObjectAnyPointer", 1),
        (ElementClass::String, "TStreamerString", 2),
        (ElementClass::Stl, "TStreamerSTL", 3),
        (ElementClass::StlString, "TStreamerSTLstring", 2),
        (ElementClass::Artificial, "TStreamerArtificial", 0),
        (ElementClass::Plain, "TStreamerElement", 4),
    ];

    fn from_name(name: &[u8]) -> Option<Self> {
        Self::NAMES.iter().find(|(_, of_class, _)| of_class.as_bytes() == name).map(|(class, ..)| *class)
    }

    fn name_and_version(self) -> (&'static str, u16) {
        let found = Self::NAMES.iter().find(|(class, ..)| *class == self);
        found.map(|(_, name, version)| (*name, *version)).unwrap_or_default()
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
    /// Its numbers as they were stored, where it was read from a file; `None` where it was made here.
    pub stored: Option<StoredElement>,
}

/// Numbers of an element as they are stored. An [`Element`] has what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredElement {
    /// Which subclass of `TStreamerElement` it was stored as.
    pub class: ElementClass,
    /// Class version of that, of `TStreamerSTL` in a `TStreamerSTLstring`, and of `TStreamerElement`.
    pub versions: [u16; 3],
    /// Status bits.
    pub bits: u32,
    /// Type code.
    pub type_code: i32,
    /// Size in bytes in the memory of the writer.
    pub size: i32,
    /// Number of dimensions (fArrayDim).
    pub n_dimensions: u32,
    /// Extents, or the checksum of a base class in the second (fMaxIndex).
    pub extents: [u32; 5],
    /// Kind of container.
    pub stl_type: i32,
    /// Version of the class that has the counter.
    pub count_version: i32,
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
            stored: None,
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
        let frames = match class {
            // It has the frame of TStreamerElement alone.
            ElementClass::Plain => [None, None],
            ElementClass::StlString => [Some(cursor.version()?), Some(cursor.version()?)],
            _ => [None, Some(cursor.version()?)],
        };
        let (mut element, mut stored) = Self::parse_common(class, cursor)?;
        let version = frames[1].map_or(0, |frame| frame.version);
        stored.versions[..2].copy_from_slice(&frames.map(|frame| frame.map_or(0, |frame| frame.version)));
        element.fix_basic_type();
        match class {
            ElementClass::Base if version > 2 => element.base_version = cursor.i32()?,
            ElementClass::BasicPointer | ElementClass::Loop => {
                stored.count_version = cursor.i32()?;
                element.count_name = cursor.string()?;
                element.count_class = cursor.string()?;
            }
            ElementClass::Stl | ElementClass::StlString => {
                stored.stl_type = cursor.i32()?;
                element.stl_type = stored.stl_type;
                element.contained_type = cursor.i32()?;
                element.fix_container();
            }
            _ => {}
        }
        element.stored = Some(stored);
        Ok(element)
    }

    /// The part that all elements have: `TStreamerElement::Streamer`.
    fn parse_common(class: ElementClass, cursor: &mut Cursor<'_>) -> Result<(Self, StoredElement)> {
        let frame = cursor.version()?;
        let version = frame.version;
        let (bits, name, title) = named_base(cursor)?;
        let (name, title) = (Arc::from(name_text(name)), name_text(title));
        let type_code = cursor.i32()?;
        let size = cursor.i32()?;
        let array_length = cursor.u32()?;
        let n_dimensions = cursor.u32()?;
        let n_extents = if version == 1 { cursor.count(4)? } else { 5 };
        let extents = (0..n_extents).map(|_| cursor.u32()).collect::<Result<Vec<_>>>()?;
        let mut stored = StoredElement {
            class,
            versions: [0, 0, version],
            bits,
            type_code,
            size,
            n_dimensions,
            extents: [0; 5],
            stl_type: 0,
            count_version: 0,
        };
        stored.extents.iter_mut().zip(&extents).for_each(|(kept, extent)| *kept = *extent);
        let n_dimensions = n_dimensions as usize;
        let size = size.unsigned_abs();
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
            stored: None,
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
        Ok((element, stored))
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

impl Element {
    /// Writes it as an object behind a pointer; it is of this class.
    ///
    /// # Source
    /// `TStreamerElement::Streamer` and those of its subclasses (ROOT 6.40).
    fn write(&self, of: &StreamerInfo, output: &mut Output) -> Result<()> {
        let stored = self.stored.unwrap_or_else(|| self.as_root_stores(of));
        let (name, _) = stored.class.name_and_version();
        let (slot, _) = output.begin_object(name)?;
        let [outer, version, _] = stored.versions;
        let outer = (stored.class == ElementClass::StlString).then(|| output.begin(outer));
        let inner = (stored.class != ElementClass::Plain).then(|| output.begin(version));
        self.write_common(&stored, output)?;
        match stored.class {
            ElementClass::Base if version > 2 => output.i32(self.base_version),
            ElementClass::BasicPointer | ElementClass::Loop => {
                output.i32(stored.count_version);
                output.string(self.count_name.as_bytes())?;
                output.string(self.count_class.as_bytes())?;
            }
            ElementClass::Stl | ElementClass::StlString => {
                output.i32(stored.stl_type);
                output.i32(self.contained_type);
            }
            _ => {}
        }
        [inner, outer, Some(slot)].into_iter().flatten().try_for_each(|frame| output.end(frame))
    }

    fn write_common(&self, stored: &StoredElement, output: &mut Output) -> Result<()> {
        let [.., version] = stored.versions;
        let frame = output.begin(version);
        output.named_base(stored.bits, self.name.as_bytes(), self.title.as_bytes())?;
        output.i32(stored.type_code);
        output.i32(stored.size);
        output.u32(self.array_length);
        output.u32(stored.n_dimensions);
        let mut extents = stored.extents.as_slice();
        if version == 1 {
            extents = &extents[..extents.len().min(stored.n_dimensions as usize)];
            output.count(extents.len())?;
        }
        extents.iter().for_each(|&extent| output.u32(extent));
        output.string(self.type_name.as_bytes())?;
        if version == 3 {
            [self.range.min, self.range.max, self.range.factor].into_iter().for_each(|limit| output.f64(limit));
        }
        output.end(frame)
    }

    /// What ROOT 6.40 would store of an element that was made here.
    fn as_root_stores(&self, of: &StreamerInfo) -> StoredElement {
        let (_, version) = self.class.name_and_version();
        let mut extents = [0; 5];
        extents.iter_mut().zip(&self.max_index).for_each(|(kept, extent)| *kept = *extent);
        if self.class == ElementClass::Base {
            extents[1] = self.base_checksum;
        }
        let is_container = matches!(self.class, ElementClass::Stl | ElementClass::StlString);
        let (_, of_stl) = ElementClass::Stl.name_and_version();
        StoredElement {
            class: self.class,
            versions: match self.class {
                ElementClass::StlString => [version, of_stl, ELEMENT_VERSION],
                _ => [0, version, ELEMENT_VERSION],
            },
            bits: if self.range == PackingRange::default() { 0 } else { HAS_RANGE },
            type_code: if is_container { STORED_STL_CODE } else { self.type_code },
            size: i32::try_from(self.size).unwrap_or(i32::MAX),
            n_dimensions: u32::try_from(self.max_index.len()).unwrap_or_default(),
            extents,
            stl_type: self.stl_type,
            count_version: if self.count_class == of.name { of.version.into() } else { 0 },
        }
    }
}

/// Writes a `TObjArray` of the elements of a class.
pub(super) fn write_elements(info: &StreamerInfo, bits: u32, output: &mut Output) -> Result<()> {
    let (slot, _) = output.begin_object("TObjArray")?;
    let frame = output.begin(ARRAY_VERSION);
    output.object_base(bits);
    output.string(b"")?;
    output.count(info.elements.len())?;
    output.u32(0); // the lower bound
    info.elements.iter().try_for_each(|element| element.write(info, output))?;
    output.end(frame)?;
    output.end(slot)
}

/// Reads a `TObjArray` of elements, and its status bits; those that cannot be read are an error.
pub(super) fn parse_elements<'a>(cursor: &mut Cursor<'a>, slots: &mut ObjectSlots<'a>) -> Result<(u32, Vec<Element>)> {
    use crate::error::Within;
    use crate::streamer::{ObjectSlot, object_base};

    let frame = cursor.version()?;
    let bits = if frame.version > 2 { object_base(cursor)? } else { 0 };
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
    Ok((bits, elements))
}
