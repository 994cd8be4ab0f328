//! From C++ types and streamer information to nodes.
//!
//! Source: `TStreamerInfo::ReadBuffer`, `TGenCollectionStreamer` (ROOT 6.40).

use std::collections::BTreeSet;
use std::sync::Arc;

use ahash::{HashMap, HashMapExt, HashSet};

use super::class::{Class, Step, Variant};
use super::code;
use super::collections;
use super::compiled::Spent;
use super::data_type::{DataType, Name};
use super::described;
use super::members::{Members, Path};
use super::node::{MapNode, Node, Number, node_with_dims};
use super::seen_classes::SeenClasses;
use super::special::{self, OwnStreamer};
use crate::streamer::{Element, ElementClass, Primitive, StreamerInfo, StreamerInfos, TypeName, scopes};

/// Namespaces and classes around a class that are searched for a name.
const MAX_SCOPES: usize = 16;
/// Types may be nested this deep.
pub(super) const MAX_DEPTH: usize = 64;
/// Lists, structs and bases may be nested this deep in a column. Arrow C++ takes types of 64 levels through the C interface, of
/// which the batch is one.
///
/// Source: `kMaxImportRecursionLevel` in `cpp/src/arrow/c/bridge.cc` (Arrow 22).
pub const MAX_LEVELS: usize = 63;
/// An object may be made of so many values and lists.
pub(super) const MAX_SIZE: usize = 50_000;
/// So many elements are compiled for a branch.
const MAX_ELEMENTS: usize = 100_000;
/// The containers in objects of this class have whole branches for keys, without their tree. Source: `TTreePerfStats.h` (ROOT
/// 6.40).
const PERF_STATS: &str = "TTreePerfStats";
/// Dimensions of an array. ROOT writes 5 at most into streamer information.
pub(super) const MAX_DIMS: usize = 32;

/// Compiles types against the streamer information of one file.
pub(super) struct Compiler<'i> {
    pub(super) infos: &'i StreamerInfos,
    /// Those that were compiled, and whether they are the same wherever they occur.
    classes: HashMap<String, (Arc<Class>, bool)>,
    /// Classes that are too large, and why: they are wherever they occur.
    refused: HashMap<String, Arc<str>>,
    /// What is being compiled contains more than a class may.
    is_too_large: bool,
    /// What was compiled depends on what is around it: on how deep that is, on what was met, or how much is left.
    pub(super) is_bounded: bool,
    /// The outermost of the open classes that what was compiled depends on.
    outermost: usize,
    /// The classes being compiled: one that is met again contains itself.
    pub(super) open: Vec<String>,
    pub(super) depth: usize,
    /// Elements that may still be compiled: versions of bases of versions multiply.
    pub(super) n_left: usize,
    spent: Spent,
    /// Whether the types are those of an object graph, where pointers lead to objects of any class.
    pub(super) is_linked: bool,
    /// What was met in the data before.
    pub(super) seen: Arc<SeenClasses>,
    /// What is compiled, as [`SeenClasses`] calls it: a member of a class.
    pub(super) place: String,
    /// Classes whose objects are not as the file describes them. Only in graphs.
    pub(super) misdescribed: BTreeSet<String>,
    /// All bases of classes of the file, once they were asked for.
    pub(super) bases: Option<HashSet<String>>,
}

pub(super) fn unreadable(why: impl Into<String>) -> Node {
    Node::Unreadable(clipped(why.into()).into())
}

/// The longest name of a type, and the longest reason, that is kept with each of many branches, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 10;

/// A text without its middle, if it is longer than 1 KiB.
pub(super) fn clipped(text: String) -> String {
    if text.len() <= MAX_TEXT_BYTES {
        return text;
    }
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let start = (0..=MAX_TEXT_BYTES / 2).rev().find(is_boundary).unwrap_or(0);
    let end = (text.len() - MAX_TEXT_BYTES / 4..text.len()).find(is_boundary).unwrap_or(text.len());
    format!("{}…{}", &text[..start], &text[end..])
}

/// Why what is nested beyond [`MAX_LEVELS`] cannot be read.
pub(super) fn too_deep(class: &str) -> String {
    format!("{class} has more than {MAX_LEVELS} lists and objects in each other")
}

/// Why objects cannot be read that are not as the file describes their class.
pub(super) fn misdescribed(class: &str) -> String {
    format!("{class}, whose objects are not stored as the file describes them but may be written by code of its own")
}

impl<'i> Compiler<'i> {
    pub(super) fn new(infos: &'i StreamerInfos) -> Self {
        Compiler {
            infos,
            classes: HashMap::new(),
            refused: HashMap::new(),
            is_too_large: false,
            is_bounded: false,
            outermost: usize::MAX,
            spent: infos.compiled().begin(),
            open: Vec::new(),
            depth: 0,
            n_left: MAX_ELEMENTS.min(infos.compiled().room()),
            is_linked: false,
            seen: Arc::default(),
            place: String::new(),
            misdescribed: BTreeSet::new(),
            bases: None,
        }
    }

    /// With what was met in the data of a branch.
    pub(super) fn with_seen(infos: &'i StreamerInfos, seen: &Arc<SeenClasses>) -> Self {
        Compiler { seen: Arc::clone(seen), ..Compiler::new(infos) }
    }

    /// For object graphs: pointers become links, and so nothing is compiled for what they lead to.
    pub(super) fn linked(infos: &'i StreamerInfos) -> Self {
        Compiler { is_linked: true, ..Compiler::new(infos) }
    }

    /// A class that cannot be read: in a graph it is passed over where that is possible.
    pub(super) fn unknown(&self, why: String) -> Node {
        if self.is_linked { Node::Opaque(clipped(why).into()) } else { unreadable(why) }
    }

    /// A value of a type where nothing but the type is known: an item of a collection, or the object of a branch
    /// without the frame that collections have there.
    ///
    /// `item_code`: the type code that the file gives for the items of the collection this is in; 0 if unknown.
    pub(super) fn value(&mut self, name: &TypeName, item_code: i32) -> Node {
        if self.depth >= MAX_DEPTH || self.n_left == 0 {
            self.is_bounded = true;
            return unreadable(format!("{name} is nested too deep"));
        }
        self.depth += 1;
        let node = self.value_within(name, item_code);
        self.depth -= 1;
        node
    }

    fn value_within(&mut self, name: &TypeName, item_code: i32) -> Node {
        if name.is_pointer() {
            if name.n_pointers > 1 {
                return unreadable(format!("{name}, a pointer to pointers"));
            }
            let class = TypeName { n_pointers: 0, ..name.clone() };
            return self.pointer(&class);
        }
        if let Some(primitive) = name.primitive() {
            return Node::Number(Number::plain(primitive));
        }
        if let Some(node) = self.collection(name, item_code) {
            return node;
        }
        match name.name.as_str() {
            "string" => Node::Text,
            "unique_ptr" | "shared_ptr" if name.arguments.len() == 1 => self.pointer(&name.arguments[0].clone()),
            "array" if item_code == code::ANY => self.item(name, 0),
            "array" if name.arguments.len() == 2 => match name.arguments[1].name.parse() {
                Ok(n_items) => node_with_dims(self.value(&name.arguments[0], item_code), &[n_items]),
                Err(_) => unreadable(format!("{name}, whose length is not known")),
            },
            _ => self.object(name, item_code),
        }
    }

    /// A container of the standard library, without a frame.
    fn collection(&mut self, name: &TypeName, item_code: i32) -> Option<Node> {
        // Enumerations are ints there, whatever their own type is.
        let item_code = if (1..code::OBJECT).contains(&item_code) { code::INT } else { item_code };
        let item = |compiler: &mut Self| name.argument(0).map(|item| compiler.item(item, item_code));
        Some(match name.name.as_str() {
            "vector" | "list" | "deque" | "set" | "multiset" | "unordered_set" | "unordered_multiset"
            | "forward_list" | "ROOT::VecOps::RVec" | "ROOT::RVec" | "RVec" => Node::List(Box::new(item(self)?)),
            "map" | "multimap" | "unordered_map" | "unordered_multimap" => {
                let (key, value) = (name.argument(0)?, name.argument(1)?);
                let [key_code, value_code] = self.pair_codes(key, value);
                Node::Map(Box::new(MapNode {
                    key: self.item(key, key_code),
                    value: self.item(value, value_code),
                    key_column: self.member_of_type(key, key_code),
                    value_column: self.member_of_type(value, value_code),
                }))
            }
            "bitset" => Node::List(Box::new(Node::Number(Number::plain(Primitive::Bool)))),
            _ => return None,
        })
    }

    /// An item of a collection, a key or value that follows the other, or a member that is said to be an object. There a
    /// `std::array` is one, too; as a member of another kind or in another array it is no more than what is in it.
    fn item(&mut self, name: &TypeName, item_code: i32) -> Node {
        let is_array = name.name == "array" && name.arguments.len() == 2 && !name.is_pointer();
        if !is_array || self.infos_of(&name.to_string()).is_empty() {
            return self.value(name, item_code);
        }
        match self.object(name, 0) {
            Node::Object(class) if class.sole().is_some() => match (class.sole().and_then(n_fixed), array_length(name))
            {
                (found, declared) if found == declared => Node::Sole(class),
                (found, declared) => {
                    let text = |n: Option<u64>| n.map_or_else(|| "no".to_owned(), |n| n.to_string());
                    unreadable(format!("{name}, of whose {} items {} are stored", text(declared), text(found)))
                }
            },
            other => other,
        }
    }

    /// The type codes of keys and values of a map, as the file describes their pairs. Of pairs that it does not describe
    /// they are objects.
    fn pair_codes(&self, key: &TypeName, value: &TypeName) -> [i32; 2] {
        let pair = TypeName { arguments: vec![key.clone(), value.clone()], ..TypeName::plain("pair") };
        let info = self.infos.latest(&pair.to_string());
        let code = |name| info.map_or(code::ANY, |info| info.element(name).map_or(0, |part| part.type_code));
        ["first", "second"].map(code)
    }

    /// A value of a type as a member: collections and `std::string` have a frame.
    fn member_of_type(&mut self, name: &TypeName, item_code: i32) -> Node {
        let node = self.value(name, item_code);
        let has_frame = !name.is_pointer() && (name.name == "string" || is_collection(name));
        if has_frame { Node::Framed(Box::new(node)) } else { node }
    }

    /// An object of a class that is no collection.
    fn object(&mut self, name: &TypeName, item_code: i32) -> Node {
        let class_name = name.to_string();
        if self.misdescribed.contains(&class_name) {
            return self.unknown(misdescribed(&class_name));
        }
        if self.is_linked && self.infos.is_tree(&class_name) {
            return self.unknown(format!("{class_name}, a tree"));
        }
        let is_matrix = name.name == "TMatrixTSym";
        match self.own_streamer(&class_name).filter(|_| !is_matrix) {
            Some(OwnStreamer::Node(node)) => return node,
            Some(OwnStreamer::Class(class)) => return Node::Object(Arc::new(class)),
            Some(OwnStreamer::Unreadable(why)) => return self.unknown(format!("{class_name}, {why}")),
            None => {}
        }
        if let ("TMatrixTSym", Some(item)) = (name.name.as_str(), name.argument(0)) {
            return self.symmetric_matrix(&class_name, item);
        }
        if let Some((class, is_own)) = self.classes.get(&class_name) {
            self.is_bounded |= !is_own;
            return Node::Object(Arc::clone(class));
        }
        if let Some(why) = self.refused.get(&class_name) {
            return Node::Unreadable(Arc::clone(why));
        }
        if self.is_open(&class_name) {
            return self.unknown(format!("{class_name} inside {class_name}"));
        }
        // What is misdescribed may be a part of any class.
        let is_shared = self.misdescribed.is_empty();
        match self.infos.compiled().get(&class_name, self.is_linked).filter(|_| is_shared) {
            Some(Ok(class)) => {
                self.classes.insert(class_name, (Arc::clone(&class), true));
                return Node::Object(class);
            }
            Some(Err(why)) => return Node::Unreadable(why),
            None => {}
        }
        let infos = self.infos_of(&class_name);
        if let Some(node) = infos.last().and_then(|info| self.collection_class(info)) {
            return node;
        }
        let infos = match (infos.is_empty(), name.name.as_str()) {
            (false, _) => infos,
            (true, "pair") if name.arguments.len() == 2 => {
                // Files do not always describe their pairs.
                return self.pair(name);
            }
            (true, _) => {
                // Enumerations look like classes; the type of their items tells, or another member.
                let by_code = (1..=19).contains(&item_code).then(|| Primitive::from_type_code(item_code)).flatten();
                if let (None, Some(qualified)) = (by_code, self.qualified(&class_name)) {
                    return self.object(&qualified, item_code);
                }
                return match by_code.or_else(|| self.infos.enumeration(&class_name)) {
                    Some(primitive) => Node::Number(Number::plain(primitive)),
                    None => self.unknown(format!("{class_name}, which the file does not describe")),
                };
            }
        };
        let before = (std::mem::replace(&mut self.outermost, usize::MAX), std::mem::take(&mut self.is_bounded));
        let index = self.open.len();
        self.open.push(class_name.clone());
        let class = self.compile_class(&class_name, &infos);
        self.open.pop();
        let is_own = self.outermost >= index && !self.is_bounded;
        (self.outermost, self.is_bounded) = (self.outermost.min(before.0), self.is_bounded || before.1);
        let compiled = match class {
            Ok(class) => {
                let class = Arc::new(class);
                self.classes.insert(class_name.clone(), (Arc::clone(&class), is_own));
                Ok(class)
            }
            Err(why) => {
                let why = Arc::from(clipped(why));
                if std::mem::take(&mut self.is_too_large) {
                    self.refused.insert(class_name.clone(), Arc::clone(&why));
                }
                Err(why)
            }
        };
        if is_own && is_shared {
            self.infos.compiled().insert(class_name, self.is_linked, compiled.clone());
        } else if is_shared && compiled.is_err() && self.open.is_empty() && self.seen.is_empty() {
            // What is refused with nothing around it is so everywhere.
            self.infos.compiled().insert(class_name, self.is_linked, compiled.clone());
        }
        match compiled {
            Ok(class) => Node::Object(class),
            Err(why) => Node::Unreadable(why),
        }
    }

    /// Whether a class was compiled for this form.
    pub(super) fn is_known(&self, class: &str) -> bool {
        self.classes.contains_key(class)
    }

    /// Whether a class is being compiled. What is compiled now depends on that, if it is.
    pub(super) fn is_open(&mut self, class: &str) -> bool {
        let index = self.open.iter().position(|open| open == class);
        self.outermost = self.outermost.min(index.unwrap_or(usize::MAX));
        index.is_some()
    }

    /// That a class has more members than it may: said of whatever it is a part of by value.
    pub(super) fn too_large(&mut self, class: &str) -> String {
        self.is_too_large = true;
        format!("{class} has more than {MAX_SIZE} members in its members, or names as long as those of so many")
    }

    /// Takes work from what may still be done. The elements of one class are the unit.
    pub(super) fn spend(&mut self, n_elements: usize) -> Result<(), String> {
        self.spent.add(n_elements);
        match self.n_left.checked_sub(n_elements) {
            Some(n_left) => {
                self.n_left = n_left;
                Ok(())
            }
            None => {
                (self.n_left, self.is_bounded) = (0, true);
                Err(format!(
                    "more than {MAX_ELEMENTS} members in the members of a class, or those of a file are too many"
                ))
            }
        }
    }

    /// The same for comparing a type with others.
    pub(super) fn spend_on(&mut self, data_type: &DataType) -> Result<(), String> {
        match data_type {
            DataType::List(item) | DataType::FixedList(item, _) | DataType::Optional(item) => self.spend_on(item),
            DataType::Struct(members) => self.spend(members.len() / 32),
            _ => Ok(()),
        }
    }

    /// What [`SeenClasses`] calls a member. Graphs have no such places.
    pub(super) fn place_of(&self, class: &str, member: &str) -> String {
        if self.is_linked { String::new() } else { format!("{class}::{member}") }
    }

    /// The class that a name means inside the class which is being compiled: ROOT 5 wrote the types of members as
    /// their header had them, without the scope they share with it.
    fn qualified(&mut self, class_name: &str) -> Option<TypeName> {
        self.outermost = self.outermost.min(self.open.len().saturating_sub(1));
        let mut names = scopes(self.open.last()?).take(MAX_SCOPES).map(|scope| format!("{scope}::{class_name}"));
        TypeName::parse(&names.find(|name| self.infos.is_named(name))?).ok()
    }

    /// What is known of the versions of a class: what its own streamer writes, or what the file says.
    pub(super) fn infos_of(&self, class: &str) -> Vec<&'i StreamerInfo> {
        match described::infos_of(class) {
            [] => self.infos.named(class).chain(self.infos.packed_twins(class)).collect(),
            infos => infos.iter().collect(),
        }
    }

    /// A matrix of which half is stored.
    pub(super) fn symmetric_matrix(&mut self, class_name: &str, item: &TypeName) -> Node {
        let base = self.value(&TypeName { arguments: vec![item.clone()], ..TypeName::plain("TMatrixTBase") }, 0);
        let class = match (&base, item.primitive()) {
            (Node::Object(base), Some(item)) => collections::symmetric_matrix(class_name, item, base),
            _ => None,
        };
        // Without the length of the rest nothing can be passed over.
        class.map_or_else(|| unreadable(class_name), |class| Node::Object(Arc::new(class)))
    }

    fn pair(&mut self, name: &TypeName) -> Node {
        let mut members = Members::default();
        let mut steps = Vec::new();
        for (member, argument) in ["first", "second"].iter().zip(&name.arguments) {
            let node = self.member_of_type(argument, 0);
            if members.size.saturating_add(node.size()) > MAX_SIZE {
                let why = self.too_large(&name.to_string());
                return unreadable(why);
            }
            members.size += node.size();
            if let Ok(place) = members.place(Path::OWN, &Name::from(*member), node.data_type()) {
                steps.push(Step::Member(place, node));
            }
        }
        let variants = vec![Variant::new(0, 0, steps, Vec::new())];
        let class = Class::of_size(members.size, name.to_string(), true, members.into_members(), variants);
        match class.levels {
            0..=MAX_LEVELS => Node::Object(Arc::new(class)),
            _ => unreadable(too_deep(&class.name)),
        }
    }

    /// The object of a branch that was not split: its members alone, of the version that the branch tells.
    pub(super) fn bare_object(&mut self, name: &TypeName, version: i32, checksum: u32) -> Node {
        let node = self.value(name, 0);
        let Node::Object(class) = &node else { return node };
        if special::streamer_of(&class.name).is_some() {
            return node;
        }
        let variants = &class.variants;
        let by_checksum = variants.iter().find(|variant| checksum != 0 && variant.checksum == checksum);
        let by_version = || variants.iter().find(|variant| i32::from(variant.version) == version);
        let only = || variants.first().filter(|_| variants.len() == 1);
        let Some(variant) = by_checksum.or_else(by_version).or_else(only) else {
            return unreadable(format!("{name} of version {version}, which the file does not describe"));
        };
        let variants = vec![variant.clone()];
        Node::Object(Arc::new(Class { is_framed: false, variants, ..(**class).clone() }))
    }

    /// A class that is a collection itself: its only element is called `This`, and its title tells the items.
    fn collection_class(&mut self, info: &StreamerInfo) -> Option<Node> {
        let [element] = info.elements.as_slice() else { return None };
        if &*element.name != "This" || element.class != ElementClass::Stl {
            return None;
        }
        let end = element.title.rfind('>')?;
        let item = TypeName::parse(element.title.get(..end)?.strip_prefix('<')?).ok()?;
        self.open.push(info.name.clone());
        let item = self.item(&item, element.contained_type);
        self.open.pop();
        Some(Node::List(Box::new(item)))
    }

    /// Whether objects of this type are stored as collections are, with a frame where they are no items.
    pub(super) fn is_framed_collection(&self, name: &TypeName) -> bool {
        !name.is_pointer()
            && (is_collection(name)
                || self.infos.named(&name.to_string()).last().is_some_and(|info| {
                    matches!(info.elements.as_slice(), [element] if &*element.name == "This" && element.class == ElementClass::Stl)
                }))
    }

    /// A member that is no base and that nothing counts.
    pub(super) fn member(&mut self, element: &Element) -> Node {
        let dims = &element.max_index;
        if dims.len() > MAX_DIMS {
            return unreadable(format!("{}, an array of more than {MAX_DIMS} dimensions", element.name));
        }
        let type_name = TypeName::parse(element.type_name.trim_end_matches('*'));
        let type_code = element.type_code;
        if matches!(element.class, ElementClass::Stl | ElementClass::StlString) {
            let Ok(name) = type_name else { return unreadable(element.type_name.clone()) };
            if self.is_linked && self.open.last().is_some_and(|class| class == PERF_STATS) {
                return self.unknown(format!("{name}, by the branches in the memory of who read them"));
            }
            let item = match element.class {
                ElementClass::StlString => Node::Text,
                _ => self.value(&name, element.contained_type),
            };
            return Node::Framed(Box::new(node_with_dims(item, dims)));
        }
        let base_code = match type_code {
            21..=39 | 81..=89 => type_code - code::ARRAY,
            other => other,
        };
        match base_code {
            code::CHAR_STAR => node_with_dims(Node::LongText, dims),
            code::BITS => Node::Bits,
            1..=19 => match Primitive::from_type_code(base_code) {
                Some(primitive) => node_with_dims(Node::Number(Number::packed(primitive, element.range)), dims),
                None => unreadable(format!("{} (type {type_code})", element.name)),
            },
            code::T_STRING | code::T_OBJECT | code::T_NAMED => {
                let node = match base_code {
                    code::T_STRING => Node::Text,
                    code::T_OBJECT => self.value(&TypeName::plain("TObject"), 0),
                    _ => self.value(&TypeName::plain("TNamed"), 0),
                };
                // Arrays of these three have one frame around all.
                let is_array = base_code != type_code;
                let node = node_with_dims(node, dims);
                if is_array { Node::Framed(Box::new(node)) } else { node }
            }
            code::OBJECT | code::ANY | code::OBJECT_NEVER_NULL | code::ANY_NEVER_NULL => match type_name {
                Ok(name) => {
                    let is_array = base_code != type_code;
                    let node = if is_array { self.value(&name, 0) } else { self.item(&name, 0) };
                    // Those of a std::array have no frame, neither each nor all.
                    let is_framed = !is_array && self.is_framed_collection(&name);
                    let node = if is_framed { Node::Framed(Box::new(node)) } else { node };
                    node_with_dims(node, dims)
                }
                Err(_) => unreadable(element.type_name.clone()),
            },
            code::OBJECT_POINTER | code::ANY_POINTER => match type_name {
                Ok(name) => {
                    let pointer = match name.name.as_str() {
                        "unique_ptr" | "shared_ptr" => self.value(&name, 0),
                        _ => self.pointer(&name),
                    };
                    node_with_dims(pointer, dims)
                }
                Err(_) => unreadable(element.type_name.clone()),
            },
            _ => self.unknown(format!("{} {}, which has a streamer of its own", element.type_name, element.name)),
        }
    }

    /// One item of an array that another member counts.
    pub(super) fn counted_item(&mut self, element: &Element) -> Node {
        let base_code = match element.type_code {
            unflagged @ code::UNFLAGGED.. => unflagged - code::UNFLAGGED,
            flagged => flagged - code::POINTER,
        };
        if let (1..=19, Some(primitive)) = (base_code, Primitive::from_type_code(base_code)) {
            return match base_code {
                code::BITS => unreadable(element.type_name.clone()),
                _ => Node::Number(Number::packed(primitive, element.range)),
            };
        }
        let name = element.type_name.trim_end();
        let is_pointer_to_pointers = name.ends_with("**") && !self.infos.has_loops_of_objects();
        match TypeName::parse(name.trim_end_matches('*')) {
            Ok(name) if is_pointer_to_pointers => self.pointer(&name),
            Ok(name) => self.value(&name, 0),
            Err(_) => unreadable(element.type_name.clone()),
        }
    }
}

/// Items of a `std::array` and of the arrays in it.
fn array_length(name: &TypeName) -> Option<u64> {
    let n_items = name.argument(1)?.name.parse::<u64>().ok()?;
    let item = name.argument(0)?;
    match item.name.as_str() {
        "array" if !item.is_pointer() => n_items.checked_mul(array_length(item)?),
        _ => Some(n_items),
    }
}

/// Items of fixed arrays in each other.
fn n_fixed(node: &Node) -> Option<u64> {
    match node {
        Node::Framed(node) => n_fixed(node),
        Node::Fixed(item, n_items) => u64::from(*n_items).checked_mul(n_fixed(item).unwrap_or(1)),
        _ => None,
    }
}

/// Whether a type is a container of the standard library.
pub(super) fn is_collection(name: &TypeName) -> bool {
    matches!(
        name.name.as_str(),
        "vector"
            | "list"
            | "deque"
            | "set"
            | "multiset"
            | "unordered_set"
            | "unordered_multiset"
            | "forward_list"
            | "map"
            | "multimap"
            | "unordered_map"
            | "unordered_multimap"
            | "bitset"
            | "ROOT::VecOps::RVec"
            | "ROOT::RVec"
            | "RVec"
    )
}

#[cfg(test)]
mod tests;
