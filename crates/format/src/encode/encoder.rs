//! The members of an object, one after the other.

use std::collections::HashMap;

use super::{Numbers, Object, Used, Value};
use crate::column::{LinkedTypes, Number, is_bare_object};
use crate::error::{Error, Result, Within};
use crate::output::{Output, Reference};
use crate::streamer::{Element, ElementClass, Primitive, StreamerInfo, StreamerInfos};

/// Objects may be in each other so deep.
const MAX_DEPTH: usize = 200;
/// Status bits of a `TObject` that are of the memory that it was in, or say that more follows: they are not written.
/// Source: `TObject::kIsOnHeap`, `kNotDeleted`, `kIsReferenced`.
const BITS_OF_MEMORY: u32 = 0x0300_0010;
/// Added to the code of a type for a fixed array, and for a counted pointer.
const ARRAY: i32 = 20;
const POINTER: i32 = 40;
/// Type codes of pointers that never point to nothing: the object is written in their place.
const EMBEDDED_POINTERS: [i32; 2] = [63, 68];
/// Bit of a `TClonesArray` that says that members are stored one by one. Source: `TClonesArray::kBypassStreamer`.
const BYPASS_STREAMER: u32 = 1 << 12;
/// The base of ROOT's arrays of numbers.
const ANY_ARRAY: &str = "TArray";
/// Class versions. Source: `TClonesArray`, `TList`, `TObjArray` (ROOT 6.40).
const CLONES_VERSION: u16 = 4;
const LIST_VERSION: u16 = 5;
const ARRAY_VERSION: u16 = 3;

/// Writes the first of `objects` as the object of a record. The others are in its members, or behind pointers; two pointers
/// to one object are read as two pointers to one object. Returns the classes that it used, in the order in which ROOT would
/// note them.
///
/// # Errors
/// [`Error::Unsupported`] if a class is not described or its members are not those that it has, with class and member.
///
/// # Source
/// `TStreamerInfo::WriteBuffer`, `TBufferFile::WriteObjectAny` and the `Streamer` functions of ROOT's collections (ROOT 6.40).
pub fn encode(infos: &StreamerInfos, objects: &[Object], output: &mut Output) -> Result<Vec<Used>> {
    let written = HashMap::from([(0, Reference::OUTERMOST)]);
    let types = LinkedTypes::new(infos);
    let mut encoder = Encoder { infos, types, objects, written, used: Vec::new(), depth: 0 };
    let first = encoder.object(0)?;
    encoder.class(&first.class, first, output)?;
    Ok(encoder.used)
}

pub(super) struct Encoder<'o> {
    infos: &'o StreamerInfos,
    /// How members are stored that are more than a number, a text or a pointer.
    pub(super) types: LinkedTypes<'o>,
    objects: &'o [Object],
    /// What references to the objects say that were written behind pointers.
    written: HashMap<usize, Reference>,
    used: Vec<Used>,
    depth: usize,
}

impl<'o> Encoder<'o> {
    pub(super) fn object(&self, index: usize) -> Result<&'o Object> {
        self.objects.get(index).ok_or_else(|| Error::unsupported(0, format!("there is no object {index}")))
    }

    /// Writes what a class has of an object: its frame and its members, or what its own streamer makes.
    pub(super) fn class(&mut self, class: &str, object: &'o Object, output: &mut Output) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::unsupported(0, format!("objects in each other deeper than {MAX_DEPTH}")));
        }
        self.class_at_depth(class, object, output).within(|| class.to_owned())?;
        self.depth -= 1;
        Ok(())
    }

    fn class_at_depth(&mut self, class: &str, object: &'o Object, output: &mut Output) -> Result<()> {
        if let Some(primitive) = numbers_of_array(class) {
            let numbers = numbers(member(object, class, "fArray")?)?;
            // The base of a histogram: ROOT would read what is behind its bins.
            if let Some(n_cells) = object.members.get("fNcells") {
                check_length(numbers, integer(n_cells)?.try_into().unwrap_or(u64::MAX))?;
            }
            output.count(numbers.len())?;
            return numbers.write(Number::plain(primitive), output);
        }
        match class {
            _ if is_bare_object(class) => self.t_object(class, object, output),
            "TList" | "THashList" => {
                let frame = output.begin(LIST_VERSION);
                self.t_collection(class, object, output)?;
                let items = items(member(object, class, "fItems")?)?;
                output.count(items.len())?;
                for item in items {
                    let Value::Pairs(_) = item else { return Err(unexpected(item, "an object and its option")) };
                    self.pointer(item.part("object").unwrap_or(&Value::Null), "TObject", output)?;
                    output.string(item.part("option").map_or(Ok(&[][..]), text)?)?;
                }
                output.end(frame)
            }
            "TObjArray" => {
                let frame = output.begin(ARRAY_VERSION);
                self.t_collection(class, object, output)?;
                let items = items(member(object, class, "fObjects")?)?;
                output.count(items.len())?;
                member(object, class, "fLowerBound")?.write_number(Number::plain(Primitive::Int32), output)?;
                items.iter().try_for_each(|item| self.pointer(item, "TObject", output))?;
                output.end(frame)
            }
            "TClonesArray" => self.clones(class, object, output),
            _ => match self.types.own_way_of(class) {
                Some(node) => {
                    let node = node?;
                    self.own_way(&node, object, output)
                }
                None => self.described(class, object, output),
            },
        }
    }

    /// A `TObject`: it has no byte count.
    pub(super) fn t_object(&self, class: &str, object: &Object, output: &mut Output) -> Result<()> {
        output.u16(1);
        member(object, class, "fUniqueID")?.write_number(Number::plain(Primitive::UInt32), output)?;
        output.u32(status_bits(member(object, class, "fBits")?)?);
        Ok(())
    }

    /// Objects of one class, each in one piece: readers look at the bit that says so.
    ///
    /// Source: `TClonesArray::Streamer` (ROOT 6.40).
    fn clones(&mut self, class: &str, object: &'o Object, output: &mut Output) -> Result<()> {
        let frame = output.begin(CLONES_VERSION);
        output.u16(1);
        member(object, class, "fUniqueID")?.write_number(Number::plain(Primitive::UInt32), output)?;
        output.u32(status_bits(member(object, class, "fBits")?)? & !BYPASS_STREAMER);
        output.string(text(member(object, class, "fName")?)?)?;
        let class_and_version = text(member(object, class, "fClass")?)?;
        output.string(class_and_version)?;
        let of_items = String::from_utf8_lossy(class_and_version);
        let of_items = of_items.split(';').next().unwrap_or_default();
        let items = items(member(object, class, "fArray")?)?;
        output.count(items.len())?;
        member(object, class, "fLowerBound")?.write_number(Number::plain(Primitive::Int32), output)?;
        for item in items {
            match item {
                Value::Null => output.u8(0),
                Value::Object(place) => {
                    let item = self.object(*place)?;
                    if item.class != of_items {
                        let what = format!("a {} in an array of {of_items}", item.class);
                        return Err(Error::unsupported(0, what));
                    }
                    output.u8(1);
                    self.class(of_items, item, output)?;
                }
                other => return Err(unexpected(other, of_items)),
            }
        }
        output.end(frame)
    }

    fn t_collection(&self, class: &str, object: &Object, output: &mut Output) -> Result<()> {
        self.t_object(class, object, output)?;
        output.string(text(member(object, class, "fName")?)?)
    }

    /// A class that is written by its description.
    fn described(&mut self, class: &str, object: &'o Object, output: &mut Output) -> Result<()> {
        let infos = self.infos;
        let info = infos.latest(class).ok_or_else(|| {
            Error::unsupported(0, format!("class {class} is not described here, so its objects cannot be written"))
        })?;
        self.used.push(Used::Described(info.name.clone()));
        let is_foreign = info.version <= 1 && class.starts_with("pair<");
        let frame = output.begin(if is_foreign { 0 } else { info.version });
        if is_foreign {
            output.u32(info.checksum);
        }
        for element in &info.elements {
            self.element(info, element, object, output).within(|| element.name.to_string())?;
        }
        output.end(frame)
    }

    fn element(
        &mut self,
        info: &StreamerInfo,
        element: &Element,
        object: &'o Object,
        output: &mut Output,
    ) -> Result<()> {
        let value = || member(object, &info.name, &element.name);
        match element.class {
            ElementClass::Base => self.class(&element.name, object, output),
            ElementClass::BasicType if element.array_length > 0 => {
                let numbers = numbers(value()?)?;
                check_length(numbers, u64::from(element.array_length))?;
                numbers.write(number_of(element, ARRAY)?, output)
            }
            ElementClass::BasicType => value()?.write_number(number_of(element, 0)?, output),
            ElementClass::BasicPointer => {
                let numbers = numbers(value()?)?;
                let count = integer(member(object, &info.name, &element.count_name)?)?;
                let n_values =
                    u64::try_from(count).ok().and_then(|n| n.checked_mul(element.array_length.max(1).into()));
                check_length(numbers, n_values.unwrap_or(u64::MAX))?;
                // Whether an array follows.
                output.u8(u8::from(!numbers.is_empty()));
                numbers.write(number_of(element, POINTER)?, output)
            }
            ElementClass::String if element.array_length == 0 => output.string(text(value()?)?),
            ElementClass::Object | ElementClass::ObjectAny if element.array_length == 0 => {
                let class = element.type_name.as_str();
                match (value()?, numbers_of_array(class)) {
                    (Value::Numbers(numbers), Some(primitive)) => {
                        output.count(numbers.len())?;
                        numbers.write(Number::plain(primitive), output)
                    }
                    (Value::Object(place), _) => {
                        let inner = self.object(*place)?;
                        if inner.class != class {
                            return Err(Error::unsupported(0, format!("a {} where a {class} is", inner.class)));
                        }
                        self.class(class, inner, output)
                    }
                    (other, _) => Err(unexpected(other, class)),
                }
            }
            ElementClass::ObjectPointer | ElementClass::ObjectAnyPointer if element.array_length == 0 => {
                let class = element.type_name.trim_end_matches('*');
                let value = value()?;
                match value {
                    Value::Object(place) if EMBEDDED_POINTERS.contains(&element.type_code) => {
                        let inner = self.object(*place)?;
                        self.class(&inner.class, inner, output)
                    }
                    Value::Null => {
                        self.used.push(Used::Null(class.to_owned()));
                        output.null();
                        Ok(())
                    }
                    _ => self.pointer(value, class, output),
                }
            }
            ElementClass::Loop => {
                let count = integer(member(object, &info.name, &element.count_name)?)?;
                self.loop_of_objects(info, element, count, value()?, output)
            }
            ElementClass::Artificial | ElementClass::Plain => Err(unsupported(element)),
            _ => self.member_by_node(info, element, value()?, output),
        }
    }

    /// What a pointer to an object of a class, or of one that derives from it, points to.
    pub(super) fn pointer(&mut self, value: &Value, declared: &str, output: &mut Output) -> Result<()> {
        let place = match value {
            Value::Null => {
                output.null();
                return Ok(());
            }
            Value::Object(place) => *place,
            Value::Numbers(numbers) => return array_behind_pointer(numbers, declared, output),
            other => return Err(unexpected(other, declared)),
        };
        if let Some(&reference) = self.written.get(&place) {
            output.reference(reference);
            return Ok(());
        }
        let object = self.object(place)?;
        if object.class != declared && !self.infos.is_derived_from(&object.class, declared) {
            let what = format!("a {}, which is no {declared} as far as is known here", object.class);
            return Err(Error::unsupported(0, what));
        }
        let (frame, reference) = output.begin_object(&object.class)?;
        self.written.insert(place, reference);
        self.class(&object.class, object, output)?;
        output.end(frame)
    }
}

/// Writes one of ROOT's arrays where a pointer to it stands: of the class that is declared, or of that of its numbers where any
/// may be.
fn array_behind_pointer(numbers: &Numbers, declared: &str, output: &mut Output) -> Result<()> {
    let class = if declared == ANY_ARRAY { numbers.array_class() } else { Some(declared) };
    let found = class.and_then(|class| Some((class, numbers_of_array(class)?)));
    let (class, primitive) =
        found.ok_or_else(|| Error::unsupported(0, format!("an array of numbers where {declared} should be")))?;
    let (frame, _) = output.begin_object(class)?;
    output.count(numbers.len())?;
    numbers.write(Number::plain(primitive), output)?;
    output.end(frame)
}

/// The status bits of an object, as they are written.
fn status_bits(value: &Value) -> Result<u32> {
    let bits = integer(value)?;
    let bits = u32::try_from(bits).map_err(|_| Error::unsupported(0, format!("{bits} are no status bits")))?;
    Ok(bits & !BITS_OF_MEMORY)
}

/// The member of an object that a class of it has.
pub(super) fn member<'m>(object: &'m Object, class: &str, name: &str) -> Result<&'m Value> {
    let found = object.members.get(&format!("{class}::{name}")).or_else(|| object.members.get(name));
    found.ok_or_else(|| {
        Error::unsupported(0, format!("a {} without the member {name}, which {class} has", object.class))
    })
}

/// The numbers that one of ROOT's arrays has. Source: `TArrayC` and its like.
fn numbers_of_array(class: &str) -> Option<Primitive> {
    Some(match class {
        "TArrayC" => Primitive::Int8,
        "TArrayS" => Primitive::Int16,
        "TArrayI" => Primitive::Int32,
        "TArrayL" | "TArrayL64" => Primitive::Int64,
        "TArrayF" => Primitive::Float32,
        "TArrayD" => Primitive::Float64,
        _ => return None,
    })
}

/// How numbers are stored; `added`: to the code of their type for arrays.
fn number_of(element: &Element, added: i32) -> Result<Number> {
    let primitive = Primitive::from_type_code(element.type_code - added).ok_or_else(|| unsupported(element))?;
    Ok(Number::packed(primitive, element.range))
}

pub(super) fn integer(value: &Value) -> Result<i128> {
    match value {
        Value::Integer(value) => Ok(*value),
        other => Err(unexpected(other, "an integer")),
    }
}

pub(super) fn text(value: &Value) -> Result<&[u8]> {
    match value {
        Value::Text(text) => Ok(text),
        other => Err(unexpected(other, "text")),
    }
}

fn numbers(value: &Value) -> Result<&Numbers> {
    match value {
        Value::Numbers(numbers) => Ok(numbers),
        other => Err(unexpected(other, "an array of numbers")),
    }
}

pub(super) fn items(value: &Value) -> Result<&[Value]> {
    match value {
        Value::Items(items) => Ok(items),
        other => Err(unexpected(other, "a list")),
    }
}

pub(super) fn check_length(numbers: &Numbers, n_values: u64) -> Result<()> {
    if numbers.len() as u64 == n_values {
        Ok(())
    } else {
        Err(Error::unsupported(0, format!("{} numbers where there should be {n_values}", numbers.len())))
    }
}

pub(super) fn unexpected(value: &Value, what: &str) -> Error {
    Error::unsupported(0, format!("{} where {what} should be", value.kind()))
}

pub(super) fn unsupported(element: &Element) -> Error {
    Error::unsupported(0, format!("members of type {} are not written", element.type_name))
}
