//! Objects: the classes that structs are written as, and where their members are among the values of a column.
//!
//! | member | C++ |
//! |---|---|
//! | number, bool, fixed lists of them | `float pt`, `float x[2][3]` |
//! | text | `std::string` |
//! | struct | a class |
//! | any list, bytes, any other fixed list, items that are fixed lists | `std::vector` |
//! | map | a vector of a class with the members `key` and `value` |
//! | optional | the value, and beside it a bool `pt_isvalid` with the same lists around it |

use std::hash::Hasher;
use std::sync::Arc;

use arrowroot_format::column::DataType;
use arrowroot_format::streamer::{Element, Primitive, StreamerInfo, VectorItem};
use twox_hash::XxHash64;

use super::branches::{Around, Content, Draft, Step};

/// Class version of classes whose names say their members: 0 and 1 have meanings of their own. Source: `TClass::IsForeign` (ROOT
/// 6.40).
const VERSION: u16 = 2;
/// Class version of the pairs of maps in their description, and of no other class here. Source: what ROOT 6.40 writes.
const PAIR_VERSION: u16 = 1;
/// Class versions of classes that somebody has named follow from their members, as readers keep classes by name and version for
/// the process, over all files: these are above those that people count to, and below the bit for "member by member".
const VERSIONS_OF_NAMED: std::ops::Range<u16> = 1000..16_000;
/// Dimensions of a member. Source: `TStreamerElement::fMaxIndex` (ROOT 6.40).
pub(super) const MAX_DIMS: usize = 5;

/// A value as C++ has it, and where it is among those of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The way from the values around: to a member of theirs, and to what is there.
    pub steps: Vec<Step>,
    /// Its type.
    pub held: CppType,
}

/// A type of C++.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CppType {
    /// A number or bool, or fixed arrays of them.
    Numbers {
        /// [`Content::Values`] or [`Content::Validity`].
        content: Content,
        /// Sizes of the arrays, the outermost first.
        dims: Vec<u32>,
        /// The way from the outermost array to the numbers.
        inner: Vec<Step>,
        /// Range and bits of packed numbers, as they stand behind the member; else empty.
        annotation: String,
    },
    /// A `std::string`.
    Text,
    /// A `std::vector`.
    Vector {
        /// Its items.
        item: Box<Value>,
        /// True if all have the same number of them, as fixed lists do.
        is_fixed: bool,
    },
    /// A `std::map`, by the class of its pairs.
    Map(Arc<ObjectClass>),
    /// An object.
    Object(Arc<ObjectClass>),
}

/// A class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectClass {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u16,
    /// Its members.
    pub members: Vec<Member>,
    /// The checksum of its description.
    pub checksum: u32,
}

/// How classes are called.
#[derive(Debug, Clone, Default)]
pub(super) struct Naming {
    pub(super) name: String,
    /// True if this is the name, and nothing is to be added.
    pub(super) is_given: bool,
}

/// A member of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type, and where it is among the objects.
    pub value: Value,
}

impl Value {
    /// An object of a class.
    pub fn object(class: &Arc<ObjectClass>) -> Value {
        Value { steps: Vec::new(), held: CppType::Object(Arc::clone(class)) }
    }

    /// The value of a draft.
    pub(super) fn of(draft: &Draft) -> Value {
        let held = match &draft.held {
            Some(held) => held.clone(),
            None if draft.content == Content::Text => CppType::Text,
            None => {
                let numbers = |dims, inner: &[Step]| CppType::Numbers {
                    content: draft.content,
                    dims,
                    inner: inner.to_vec(),
                    annotation: draft.annotation.clone(),
                };
                if draft.is_array() {
                    let (steps, inner) = draft.path.split_at(to_items(&draft.path));
                    let held = numbers(draft.around.iter().filter_map(Around::size).collect(), inner);
                    return Value { steps: steps.to_vec(), held };
                }
                numbers(Vec::new(), &[])
            }
        };
        Value::inside(&draft.path, &draft.around, held)
    }

    /// A value with vectors around it.
    fn inside(path: &[Step], around: &[Around], held: CppType) -> Value {
        let (steps, rest) = path.split_at(to_items(path));
        let held = match (around.split_first(), rest.split_first()) {
            (Some((around, inner)), Some((_, rest))) => CppType::Vector {
                item: Box::new(Value::inside(rest, inner, held)),
                is_fixed: matches!(around, Around::Fixed(_)),
            },
            _ => held,
        };
        Value { steps: steps.to_vec(), held }
    }

    /// ROOT's name for its type.
    pub fn type_name(&self) -> String {
        self.spelled(item_type_name)
    }

    fn spelled(&self, name_of: fn(Primitive) -> &'static str) -> String {
        match &self.held {
            CppType::Numbers { content, .. } => content.primitive().map_or("", name_of).to_owned(),
            CppType::Text => "string".to_owned(),
            CppType::Object(class) => class.name.clone(),
            CppType::Vector { item, .. } => template_name("vector", &item.spelled(name_of)),
            CppType::Map(pair) => pair.name.replacen("pair", "map", 1),
        }
    }

    /// `TStreamerElement::fType`, as ROOT has it in memory.
    pub fn streamer_type(&self, name: &str) -> i32 {
        self.element(name).type_code
    }

    /// The class of its objects if it is a vector that ROOT splits.
    ///
    /// ROOT would split fixed lists of objects, too, which are vectors: a count that is always the same is not worth a branch.
    pub(super) fn split_items(&self) -> Option<(&Value, &Arc<ObjectClass>)> {
        match &self.held {
            CppType::Vector { item, is_fixed: false } => match &item.held {
                CppType::Object(class) => Some((item, class)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The description of a member of this type.
    fn element(&self, name: &str) -> Element {
        match &self.held {
            CppType::Numbers { content, dims, annotation, .. } => {
                Element::of_numbers(name, content.primitive().unwrap_or(Primitive::Bool), dims).packed(annotation)
            }
            CppType::Text => Element::of_text(name),
            CppType::Object(class) => Element::of_object(name, &class.name, class.memory_bytes()),
            CppType::Vector { item, .. } => {
                let of_item = item.type_name();
                let item = match &item.held {
                    CppType::Numbers { content, .. } => {
                        VectorItem::Number(content.primitive().unwrap_or(Primitive::Bool))
                    }
                    _ => VectorItem::Other(&of_item),
                };
                Element::of_vector(name, &self.type_name(), item)
            }
            CppType::Map(_) => Element::of_map(name, &self.type_name()),
        }
    }

    /// True for objects, maps, and vectors of them.
    pub fn has_objects(&self) -> bool {
        match &self.held {
            CppType::Vector { item, .. } => item.has_objects(),
            CppType::Object(_) | CppType::Map(_) => true,
            CppType::Numbers { .. } | CppType::Text => false,
        }
    }

    /// Calls `with` for each class in it, those inside of others after these.
    pub fn for_each_class(&self, with: &mut impl FnMut(&ObjectClass)) {
        match &self.held {
            CppType::Vector { item, .. } => item.for_each_class(with),
            CppType::Object(class) | CppType::Map(class) => {
                with(class);
                class.members.iter().for_each(|member| member.value.for_each_class(with));
            }
            CppType::Numbers { .. } | CppType::Text => {}
        }
    }
}

impl ObjectClass {
    pub(super) fn new(Naming { name, is_given }: Naming, members: Vec<Member>) -> Self {
        let hash = hash_of(&members);
        let (name, version) = if is_given {
            let versions = VERSIONS_OF_NAMED;
            let n_versions = u64::from(versions.end - versions.start);
            (name, versions.start + u16::try_from(hash % n_versions).unwrap_or_default())
        } else {
            // Half of it is short, and enough to tell the classes of one column of one tree apart.
            (format!("{name}_{:08x}", hash >> 32), VERSION)
        };
        let class = ObjectClass { name, version, members, checksum: 0 };
        ObjectClass { checksum: class.info().checksum, ..class }
    }

    /// The pairs of a map, as ROOT 6.40 describes them.
    pub(super) fn of_pairs([key, value]: [Value; 2]) -> Self {
        let arguments = [&key, &value].map(|of| of.spelled(container_type_name)).join(",");
        let members = [("first", key), ("second", value)].map(|(name, value)| Member { name: name.to_owned(), value });
        let name = template_name("pair", &arguments);
        let class = ObjectClass { name, version: PAIR_VERSION, members: members.into(), checksum: 0 };
        ObjectClass { checksum: class.info().checksum, ..class }
    }

    /// Its description.
    pub fn info(&self) -> StreamerInfo {
        let elements = self.members.iter().map(|member| member.value.element(&member.name));
        let is_pair = self.version == PAIR_VERSION;
        let elements = elements.map(|element| if is_pair { element.with_longs() } else { element });
        StreamerInfo::of_class(&self.name, self.version, elements.collect())
    }

    /// `sizeof`.
    fn memory_bytes(&self) -> u32 {
        let (n_bytes, alignment) = self.layout();
        n_bytes.checked_next_multiple_of(alignment).unwrap_or(u32::MAX)
    }

    /// Where a member is in an object in memory.
    pub(super) fn offset_of(&self, id: usize) -> u32 {
        let (start, _) = Self::layout_of(&self.members[..id]);
        let Member { name, value } = &self.members[id];
        let alignment = match &value.held {
            CppType::Object(class) => class.layout().1,
            _ => value.element(name).alignment(),
        };
        start.checked_next_multiple_of(alignment).unwrap_or(u32::MAX)
    }

    fn layout(&self) -> (u32, u32) {
        Self::layout_of(&self.members)
    }

    /// Bytes of members, and what a class of them is aligned to.
    fn layout_of(members: &[Member]) -> (u32, u32) {
        let mut all = (0_u32, 1_u32);
        for Member { name, value } in members {
            let element = value.element(name);
            let alignment = match &value.held {
                CppType::Object(class) => class.layout().1,
                _ => element.alignment(),
            };
            let start = all.0.checked_next_multiple_of(alignment).unwrap_or(u32::MAX);
            all = (start.saturating_add(element.size), all.1.max(alignment));
        }
        all
    }
}

/// A hash of names, types, sizes and order of members, and of the members of these. It is part of the format of what is written:
/// the same members have the same one in each version of this library.
///
/// ROOT's checksum of a class would not do: members `pt` and `qq` have the same.
fn hash_of(members: &[Member]) -> u64 {
    let mut hasher = XxHash64::with_seed(0);
    let mut text = |text: &str| {
        hasher.write(text.as_bytes());
        // Names and types have none.
        hasher.write(&[0]);
    };
    for Member { name, value } in members {
        let element = value.element(name);
        text(name);
        text(&element.type_name);
        // Range and bits of packed numbers stand there.
        text(&element.title);
        element.max_index.iter().for_each(|size| text(&size.to_string()));
        value.for_each_class(&mut |class| {
            text(&class.name);
            text(&class.version.to_string());
        });
    }
    hasher.finish()
}

/// How maps are stored that no object of a class has inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Maps {
    /// As lists of structs.
    Listed,
    /// As `map<K,V>` where ROOT has a dictionary of it, as it crashes of others, and else as lists of structs.
    #[default]
    Known,
    /// As `map<K,V>` wherever that is possible.
    All,
}

impl Maps {
    /// True if a map is a `map<K,V>`.
    pub(super) fn holds(self, key: &DataType, value: &DataType, is_in_list: bool) -> bool {
        match self {
            Maps::Listed => false,
            Maps::Known => !is_in_list && is_known_map(key, value),
            Maps::All => is_plain_map(key, value),
        }
    }
}

/// True for a map that a `map<K,V>` holds: of numbers and texts to these or lists of them, none of which may be missing.
pub fn is_plain_map(key: &DataType, value: &DataType) -> bool {
    let is_plain = |of: &DataType| matches!(of, DataType::Primitive(_) | DataType::Text);
    let mut item = value;
    while let DataType::List(inner) = item {
        item = inner;
    }
    is_plain(key) && (is_plain(item) || *item == DataType::Bytes)
}

/// True for a map that ROOT 6.40 has a dictionary of.
pub fn is_known_map(key: &DataType, value: &DataType) -> bool {
    use Primitive::{Float32, Float64, Int32, Int64};
    let is_number = |of: &DataType| matches!(of, DataType::Primitive(Int32 | Int64 | Float32 | Float64));
    match key {
        DataType::Text => is_number(value) || *value == DataType::Text,
        DataType::Primitive(Int32) => *value == DataType::Primitive(Int32),
        DataType::Primitive(Int64 | Float64) => is_number(value),
        _ => false,
    }
}

/// The name of a template with arguments, as ROOT writes it.
pub fn template_name(name: &str, arguments: &str) -> String {
    let space = if arguments.ends_with('>') { " " } else { "" };
    format!("{name}<{arguments}{space}>")
}

/// Steps before the first list.
fn to_items(path: &[Step]) -> usize {
    path.iter().position(|step| *step == Step::Items).unwrap_or(path.len())
}

/// ROOT's name for numbers in other containers: `std::int64_t` is `long` where `long` has 64 bits.
pub fn container_type_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Int64 => "long",
        Primitive::UInt64 => "unsigned long",
        other => item_type_name(other),
    }
}

/// ROOT's name for numbers in a vector.
pub fn item_type_name(primitive: Primitive) -> &'static str {
    match primitive {
        // `char` would be a letter.
        Primitive::Int8 => "signed char",
        other => other.name(),
    }
}
