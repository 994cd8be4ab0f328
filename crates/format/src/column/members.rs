//! The members of a class: its versions, its bases, and what counts what.
//!
//! Source: `TStreamerInfo::ReadBuffer` (ROOT 6.40).

use std::sync::Arc;

use ahash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::class::{Base, Class, CountedHead, Step, Variant, name_size};
use super::code;
use super::collections;
use super::compile::{Compiler, MAX_DEPTH, MAX_LEVELS, MAX_SIZE, clipped, misdescribed, too_deep};
use super::data_type::{DataType, Name};
use super::evolve;
use super::node::{Conversion, Node};
use super::special::{OwnStreamer, is_bare_object};
use crate::streamer::{Element, ElementClass, Primitive, StlKind, StreamerInfo, TypeName};

/// Members that are looked at in the time that compiling one takes.
const SCANNED_FOR_ONE: usize = 32;
/// Bytes of names that take the time that compiling a member takes: names are parsed and looked up.
const NAME_BYTES_FOR_ONE: usize = 2_000;
/// Bytes of the names of bases around a member.
const MAX_PATH_BYTES: usize = 16 << 10;

/// A way through the bases of a class, by its index in [`Members::paths`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Path(usize);

impl Path {
    /// The members of the class itself.
    pub(super) const OWN: Path = Path(0);
}

/// The members of one base.
struct OfBase {
    around: Path,
    /// The names of the bases, with colons behind each.
    text: String,
    by_name: HashMap<Name, usize>,
    bases: HashMap<Name, Path>,
}

impl OfBase {
    fn new(around: Path, text: String) -> Self {
        OfBase { around, text, by_name: HashMap::new(), bases: HashMap::new() }
    }
}

/// Members of a class and of its bases while they are collected over its versions.
pub(super) struct Members {
    /// Path through the bases, name, type.
    found: Vec<(Path, Name, DataType)>,
    paths: Vec<OfBase>,
    pub(super) size: usize,
}

impl Default for Members {
    fn default() -> Self {
        Members { found: Vec::new(), paths: vec![OfBase::new(Path::OWN, String::new())], size: 0 }
    }
}

impl Members {
    /// The path to the members of a base; `None` if its names are too long to be written down.
    fn inner(&mut self, around: Path, name: &Name) -> Option<Path> {
        if let Some(&path) = self.paths[around.0].bases.get(name) {
            return Some(path);
        }
        let text = format!("{}{name}::", self.paths[around.0].text);
        if text.len() > MAX_PATH_BYTES {
            return None;
        }
        let path = Path(self.paths.len());
        self.paths.push(OfBase::new(around, text));
        self.paths[around.0].bases.insert(Arc::clone(name), path);
        Some(path)
    }

    /// Whether a path goes through another, or is the same.
    fn is_inside(&self, mut path: Path, of: Path) -> bool {
        // Those inside come later.
        while path > of {
            path = self.paths[path.0].around;
        }
        path == of
    }

    /// The index of a member, new or known from another version; an error, with its index and type there, if that is
    /// another type.
    pub(super) fn place(&mut self, path: Path, name: &Name, data_type: DataType) -> Result<usize, (usize, DataType)> {
        match self.paths[path.0].by_name.get(name) {
            Some(&index) => {
                let known = &self.found[index].2;
                let inner = if let DataType::Optional(inner) = known { inner } else { known };
                if *known == data_type || *inner == data_type { Ok(index) } else { Err((index, inner.clone())) }
            }
            None => {
                self.found.push((path, Arc::clone(name), data_type));
                self.paths[path.0].by_name.insert(Arc::clone(name), self.found.len() - 1);
                self.size = self.size.saturating_add(name_size(name));
                Ok(self.found.len() - 1)
            }
        }
    }

    /// Names as they come out: where a class hides a member of its base, that one has the base's name before it.
    pub(super) fn into_members(self) -> Arc<[(Name, DataType)]> {
        let mut last = HashMap::new();
        for (index, (_, name, _)) in self.found.iter().enumerate() {
            last.insert(Arc::clone(name), index);
        }
        let name_of = |index: usize, path: Path, name: Name| match last.get(&name) == Some(&index) {
            true => name,
            false => format!("{}{name}", self.paths[path.0].text).into(),
        };
        let found = self.found.into_iter().enumerate();
        found.map(|(index, (path, name, data_type))| (name_of(index, path, name), data_type)).collect()
    }

    /// What names of bases before those of hidden members add to the size.
    fn hidden_size(&self) -> usize {
        let mut names = HashSet::new();
        let hidden = self.found.iter().rev().filter(|(_, name, _)| !names.insert(name));
        hidden.fold(0, |sum, (path, ..)| sum.saturating_add(name_size(&self.paths[path.0].text)))
    }
}

impl Compiler<'_> {
    pub(super) fn compile_class(&mut self, name: &str, infos: &[&StreamerInfo]) -> Result<Class, String> {
        let mut members = Members::default();
        let mut variants = self.variants(infos, Path::OWN, &mut members)?;
        members.size = members.size.saturating_add(members.hidden_size());
        if members.size > MAX_SIZE {
            return Err(self.too_large(name));
        }
        let n_members = members.found.len();
        for (index, is_absent) in absent_somewhere(&mut variants, 0..n_members).into_iter().enumerate() {
            let data_type = &mut members.found[index].2;
            if is_absent && !matches!(data_type, DataType::Optional(_)) {
                *data_type = DataType::Optional(Box::new(data_type.clone()));
            }
        }
        let class = Class::of_size(members.size, name.to_owned(), true, members.into_members(), variants);
        if class.levels > MAX_LEVELS { Err(too_deep(name)) } else { Ok(class) }
    }

    /// The versions of a class. The last one comes first: where types differ, all others are converted to its.
    pub(super) fn variants(
        &mut self,
        infos: &[&StreamerInfo],
        path: Path,
        members: &mut Members,
    ) -> Result<Vec<Variant>, String> {
        let mut latest_first = infos.to_vec();
        latest_first.sort_by_key(|info| std::cmp::Reverse(info.version));
        latest_first.into_iter().map(|info| self.variant(info, path, members)).collect()
    }

    pub(super) fn variant(
        &mut self,
        info: &StreamerInfo,
        path: Path,
        members: &mut Members,
    ) -> Result<Variant, String> {
        let mut steps = Vec::with_capacity(info.elements.len());
        for element in &info.elements {
            self.spend(1 + (element.name.len() + element.type_name.len()) / NAME_BYTES_FOR_ONE)?;
            let step = self.step(info, element, path, members, &steps)?;
            steps.extend(step);
        }
        Ok(Variant::new(info.version, info.checksum, steps, Vec::new()))
    }

    /// One element of a class; `None` for those that leave nothing in the file.
    pub(super) fn step(
        &mut self,
        info: &StreamerInfo,
        element: &Element,
        path: Path,
        members: &mut Members,
        before: &[Step],
    ) -> Result<Option<Step>, String> {
        if element.type_code == code::NOTHING || element.class == ElementClass::Artificial {
            return Ok(None);
        }
        if element.class == ElementClass::Base {
            return self.base(element, path, members, before);
        }
        let name = member_name(element);
        let place = self.place_of(&info.name, &element.name);
        let around = std::mem::replace(&mut self.place, place);
        let (node, counted) = match counted(element) {
            Some(head) => (self.counted_item(element), Some(head)),
            None => (self.member(element), None),
        };
        self.place = around;
        members.size = members.size.saturating_add(node.size());
        if members.size > MAX_SIZE {
            return Err(self.too_large(&info.name));
        }
        let data_type = match counted {
            Some(_) => DataType::List(Box::new(node.data_type())),
            None => node.data_type(),
        };
        self.spend_on(&data_type)?;
        let (index, node) = match members.place(path, &name, data_type.clone()) {
            Ok(index) => (Some(index), node),
            Err((index, known)) if evolve::is_convertible(&data_type, &known) => {
                // Of an array that is counted the node is an item.
                let to = match known {
                    DataType::List(item) if counted.is_some() => *item,
                    known => known,
                };
                (Some(index), Node::Converted(Box::new(Conversion { stored: node, to })))
            }
            Err(_) => (None, node),
        };
        let counter = match counted {
            Some(_) => self.counter(element, path, members, before)?,
            None => None,
        };
        let step_at = |index| match counted {
            None => Step::Member(index, node),
            Some(head) => match counter {
                Some(counter) => {
                    Step::Counted { index, item: node, counter, factor: element.array_length.max(1), head }
                }
                None => {
                    let why = format!("{}::{}, which {} counts", info.name, element.name, element.count_name);
                    Step::Unreadable(clipped(why).into())
                }
            },
        };
        Ok(Some(match index {
            Some(index) => step_at(index),
            None => Step::PassedOver(name, Box::new(step_at(0))),
        }))
    }

    /// The index of the member that counts an array: of the same class, or of one of its bases.
    fn counter(
        &mut self,
        element: &Element,
        path: Path,
        members: &Members,
        before: &[Step],
    ) -> Result<Option<usize>, String> {
        let own = members.paths[path.0].by_name.get(element.count_name.as_str()).copied();
        let index = own.or_else(|| {
            let in_base =
                |(p, name, _): &(Path, Name, DataType)| **name == *element.count_name && members.is_inside(*p, path);
            members.found.iter().rposition(in_base)
        });
        self.spend(members.found.len() / SCANNED_FOR_ONE)?;
        let Some(index) = index else { return Ok(None) };
        let found = &members.found[index].2;
        let is_integer = match if let DataType::Optional(found) = found { found } else { found } {
            DataType::Primitive(primitive) => !matches!(primitive, Primitive::Float32 | Primitive::Float64),
            _ => false,
        };
        Ok((is_integer && self.fills(before, index)?).then_some(index))
    }

    /// A base of the objects of a split collection that is not split itself: their members are stored one by one.
    pub(super) fn base_of_each(&mut self, element: &Element) -> Result<Class, String> {
        let mut members = Members::default();
        let step = self.base(element, Path::OWN, &mut members, &[])?;
        let variants = vec![Variant::new(0, 0, step.into_iter().collect(), Vec::new())];
        Ok(Class::of_size(members.size, element.name.to_string(), false, members.into_members(), variants))
    }

    fn base(
        &mut self,
        element: &Element,
        path: Path,
        members: &mut Members,
        before: &[Step],
    ) -> Result<Option<Step>, String> {
        let name = &element.name;
        let Some(inner) = members.inner(path, name) else {
            return Err(format!("{name} is a base in bases with names of more than {MAX_PATH_BYTES} bytes"));
        };
        if is_bare_object(name) {
            let number = || DataType::Primitive(Primitive::UInt32);
            members.size += 2;
            let indices = ["fUniqueID", "fBits"].map(|name| members.place(inner, &Name::from(name), number()));
            return Ok(match indices {
                [Ok(unique_id), Ok(bits)] => Some(Step::TObject { unique_id, bits, may_lack: true }),
                _ => None,
            });
        }
        if self.misdescribed.contains(&**name) {
            return Ok(self.unknown_base(misdescribed(name), path, name, members));
        }
        let own = if self.is_linked { self.symmetric_base(name) } else { None };
        match own.or_else(|| self.own_streamer(name)) {
            Some(OwnStreamer::Node(Node::Struct(none))) if none.is_empty() => return Ok(None),
            Some(OwnStreamer::Node(node)) => {
                let name = if self.is_linked { Name::from(collections::array_name(name)) } else { Arc::clone(name) };
                return Ok(Some(self.own_base(&name, node, path, members, before)?));
            }
            Some(OwnStreamer::Class(class)) => {
                return Ok(Some(self.own_base(name, Node::Object(Arc::new(class)), path, members, before)?));
            }
            Some(OwnStreamer::Unreadable(why)) => {
                return Ok(self.unknown_base(format!("{name}, {why}"), path, name, members));
            }
            None => {}
        }
        if self.depth >= MAX_DEPTH || self.is_open(name) {
            self.is_bounded |= self.depth >= MAX_DEPTH;
            // A class made to harm: its members would never end.
            return Err(format!("{name} is a base of itself"));
        }
        let infos = self.infos_of(name);
        if infos.is_empty() {
            let why = format!("{name}, a base that the file does not describe");
            return Ok(self.unknown_base(why, path, name, members));
        }
        self.open.push(name.to_string());
        self.depth += 1;
        let first = members.found.len();
        let variants = self.variants(&infos, inner, members);
        self.depth -= 1;
        self.open.pop();
        let mut variants = variants?;
        if members.size > MAX_SIZE {
            return Err(self.too_large(name));
        }
        let indices = (0..members.found.len())
            .filter(|&index| index >= first || members.is_inside(members.found[index].0, inner));
        let indices: Vec<usize> = indices.collect();
        self.spend((members.found.len() + indices.len() * variants.len()) / SCANNED_FOR_ONE)?;
        let absent = absent_of(&mut variants, &indices);
        for index in absent {
            let data_type = &mut members.found[index].2;
            if !matches!(data_type, DataType::Optional(_)) {
                *data_type = DataType::Optional(Box::new(data_type.clone()));
            }
        }
        let meant = self.infos.of_base(element);
        let by_member = meant
            .and_then(|meant| variants.iter().position(|v| v.version == meant.version && v.checksum == meant.checksum));
        let is_whole = element.type_code == code::T_NAMED;
        Ok(Some(Step::Base(Base { name: name.to_string(), variants, by_member, is_whole })))
    }

    /// A base of which half is stored.
    fn symmetric_base(&mut self, name: &str) -> Option<OwnStreamer> {
        let parsed = TypeName::parse(name).ok().filter(|parsed| parsed.name == "TMatrixTSym")?;
        Some(OwnStreamer::Node(self.symmetric_matrix(name, parsed.argument(0)?)))
    }

    /// A base that cannot be read; in a graph it is passed over if a byte count tells where it ends.
    fn unknown_base(&self, why: String, path: Path, name: &Name, members: &mut Members) -> Option<Step> {
        if !self.is_linked {
            return Some(Step::Unreadable(clipped(why).into()));
        }
        members.size += 1;
        let index = members.place(path, name, DataType::Link).ok()?;
        Some(Step::Member(index, self.unknown(why)))
    }

    /// A base that writes itself. Arrays of numbers of all types have one name in a graph.
    fn own_base(
        &mut self,
        name: &Name,
        node: Node,
        path: Path,
        members: &mut Members,
        before: &[Step],
    ) -> Result<Step, String> {
        members.size = members.size.saturating_add(node.size());
        let data_type = node.data_type();
        Ok(match members.place(path, name, data_type.clone()) {
            Ok(index) => Step::OwnBase(index, node),
            Err((index, to)) if evolve::is_convertible(&data_type, &to) && !self.fills(before, index)? => {
                Step::OwnBase(index, Node::Converted(Box::new(Conversion { stored: node, to })))
            }
            Err(_) => Step::Unreadable(clipped(format!("{name}, a base beside another member of this name")).into()),
        })
    }

    /// True if a step puts something at an index.
    fn fills(&mut self, steps: &[Step], wanted: usize) -> Result<bool, String> {
        let (mut n_steps, mut is_filled) = (0, false);
        each_filled(steps, &mut |index| {
            n_steps += 1;
            is_filled |= index == wanted;
        });
        self.spend(n_steps / SCANNED_FOR_ONE)?;
        Ok(is_filled)
    }
}

/// The name of a member; of a base that is a container, as ROOT writes it in JSON.
///
/// Source: `TBufferJSON` (ROOT 6.40).
fn member_name(element: &Element) -> Name {
    if element.class != ElementClass::Stl || *element.name != *element.type_name {
        return Arc::clone(&element.name);
    }
    Name::from(match element.stl_kind() {
        Some(StlKind::Vector) => "fVector",
        Some(StlKind::List) => "fList",
        Some(StlKind::ForwardList) => "fForwardlist",
        Some(StlKind::Deque) => "fDeque",
        Some(StlKind::Map) => "fMap",
        Some(StlKind::MultiMap) => "fMultiMap",
        Some(StlKind::Set) => "fSet",
        Some(StlKind::MultiSet) => "fMultiSet",
        Some(StlKind::UnorderedSet) => "fUnorderedSet",
        Some(StlKind::UnorderedMultiSet) => "fUnorderedMultiSet",
        Some(StlKind::UnorderedMap) => "fUnorderedMap",
        Some(StlKind::UnorderedMultiMap) => "fUnorderedMultiMap",
        Some(StlKind::Bitset) => "fBitSet",
        Some(StlKind::RVec) | None => return Arc::clone(&element.name),
    })
}

/// What stands before the items of a member, if another member counts them.
pub(super) fn counted(element: &Element) -> Option<CountedHead> {
    match element.type_code {
        41..=59 => Some(CountedHead::Flag),
        code::UNFLAGGED.. => Some(CountedHead::Nothing),
        code::LOOP => Some(CountedHead::Frame),
        loop_array if loop_array == code::LOOP + code::ARRAY => Some(CountedHead::Frame),
        _ => None,
    }
}

/// Calls `take` with each index that steps put something at.
fn each_filled(steps: &[Step], take: &mut impl FnMut(usize)) {
    for step in steps {
        match step {
            Step::Member(index, _)
            | Step::OwnBase(index, _)
            | Step::Counted { index, .. }
            | Step::Process { index, .. } => take(*index),
            Step::Base(base) => base.variants.iter().for_each(|variant| each_filled(&variant.steps, take)),
            Step::TObject { unique_id, bits, .. } => [unique_id, bits].into_iter().for_each(|index| take(*index)),
            Step::PassedOver(..) | Step::Unreadable(_) => {}
        }
    }
}

/// Notes in each version which places it leaves empty; returns all that any version leaves empty.
fn absent_of(variants: &mut [Variant], indices: &[usize]) -> Vec<usize> {
    let n_places = indices.iter().max().map_or(0, |last| last + 1);
    let mut absent = Vec::new();
    for variant in variants {
        let mut is_filled = vec![false; n_places];
        each_filled(&variant.steps, &mut |index| {
            if let Some(is_filled) = is_filled.get_mut(index) {
                *is_filled = true;
            }
        });
        let left_out = indices.iter().copied().filter(|&index| !is_filled[index]);
        if left_out.clone().next().is_some() {
            variant.absent = left_out.collect();
            absent.extend_from_slice(&variant.absent);
        }
    }
    absent
}

/// The same for all places of a class.
pub(super) fn absent_somewhere(variants: &mut [Variant], indices: std::ops::Range<usize>) -> Vec<bool> {
    let mut is_absent = vec![false; indices.end];
    let indices: Vec<usize> = indices.collect();
    for index in absent_of(variants, &indices) {
        is_absent[index] = true;
    }
    is_absent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::node::Number;
    use crate::streamer::StreamerInfos;

    const COUNTER: i32 = 6;
    const INT: i32 = 3;

    fn info(version: u16, x: Element) -> StreamerInfo {
        let elements = vec![Element::member("n", "Int_t", COUNTER), x];
        StreamerInfo {
            name: "A".to_owned(),
            checksum: u32::from(version),
            version,
            info_version: 9,
            elements,
            ..StreamerInfo::default()
        }
    }

    /// A class whose `x` was as given in version 1, and is an `int` in version 2.
    fn as_int(old: Element) -> Class {
        let infos = StreamerInfos::default();
        let (old, new) = (info(1, old), info(2, Element::member("x", "Int_t", INT)));
        Compiler::new(&infos).compile_class("A", &[&old, &new]).unwrap()
    }

    #[test]
    fn a_counted_array_that_became_a_number_is_passed_over_and_a_number_of_another_type_is_converted() {
        let array = Element { count_name: "n".to_owned(), ..Element::member("x", "Int_t*", 40 + INT) };
        let class = as_int(array);
        let variant = &class.variants[1];
        let Step::PassedOver(name, step) = &variant.steps[1] else { panic!("not passed over") };
        assert!(matches!(**step, Step::Counted { counter: 0, head: CountedHead::Flag, .. }));
        assert_eq!((&**name, &*variant.absent, variant.min_bytes()), ("x", [1].as_slice(), 5));
        let int = DataType::Primitive(Primitive::Int32);
        assert_eq!(class.members[1].1, DataType::Optional(Box::new(int.clone())));

        let class = as_int(Element::member("x", "Short_t", 2));
        let stored = Node::Number(Number::plain(Primitive::Int16));
        let converted = Node::Converted(Box::new(Conversion { stored, to: int.clone() }));
        assert_eq!(class.variants[1].steps[1], Step::Member(1, converted));
        assert_eq!(class.members[1].1, int);
    }

    #[test]
    fn a_base_that_is_another_array_is_converted_and_a_second_one_of_its_name_is_refused() {
        let base = |name: &str| Element::member(name, "BASE", 0);
        let info = |version: u16, bases: &[&str]| StreamerInfo {
            elements: bases.iter().map(|name| base(name)).collect(),
            ..info(version, base("TArrayF"))
        };
        let infos = StreamerInfos::default();
        let (old, new) = (info(1, &["TArrayF"]), info(2, &["TArrayD"]));
        let class = Compiler::linked(&infos).compile_class("A", &[&old, &new]).unwrap();
        assert!(matches!(class.variants[1].steps[..], [Step::OwnBase(0, Node::Converted(_))]));
        let both = info(1, &["TArrayF", "TArrayD"]);
        let class = Compiler::linked(&infos).compile_class("A", &[&both]).unwrap();
        assert!(class.variants[0].fault().is_some_and(|why| why.contains("fArray")));
    }

    #[test]
    fn a_member_that_cannot_be_read_is_not_passed_over() {
        let class = as_int(Element::member("x", "Strange", code::ANY));
        assert!(class.variants[1].fault().is_some_and(|why| why.contains("Strange")));
        let uncounted = Element { count_name: "m".to_owned(), ..Element::member("x", "Int_t*", 40 + INT) };
        assert!(as_int(uncounted).variants[1].fault().is_some_and(|why| why.contains("which m counts")));
    }
}
