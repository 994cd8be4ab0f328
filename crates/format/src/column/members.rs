//! The members of a class: its versions, its bases, and what counts what.
//!
//! Source: `TStreamerInfo::ReadBuffer` (ROOT 6.40).

use std::collections::HashMap;
use std::sync::Arc;

use super::class::{Base, Class, CountedHead, Step, Variant};
use super::compile::{ARRAY, Compiler, MAX_DEPTH, MAX_SIZE, code, misdescribed};
use super::evolve::{self, Conversion};
use super::layout::{DataType, Node};
use super::linked;
use super::special::OwnStreamer;
use crate::streamer::{Element, ElementClass, Primitive, StlKind, StreamerInfo, TypeName};

/// Members of a class and of its bases while they are collected over its versions.
#[derive(Default)]
pub(super) struct Members {
    /// Path through the bases, name, type.
    found: Vec<(String, String, DataType)>,
    by_path: HashMap<String, usize>,
    pub(super) size: usize,
}

impl Members {
    /// The place of a member, new or known from another version; an error, with its place and type there, if that is
    /// another type.
    pub(super) fn place(&mut self, path: &str, name: &str, data_type: DataType) -> Result<usize, (usize, DataType)> {
        let key = format!("{path}{name}");
        match self.by_path.get(&key) {
            Some(&place) => {
                let known = &self.found[place].2;
                let inner = if let DataType::Optional(inner) = known { inner } else { known };
                if *known == data_type || *inner == data_type { Ok(place) } else { Err((place, inner.clone())) }
            }
            None => {
                self.found.push((path.to_owned(), name.to_owned(), data_type));
                self.by_path.insert(key, self.found.len() - 1);
                Ok(self.found.len() - 1)
            }
        }
    }

    /// Names as they come out: where a class hides a member of its base, that one has the base's name before it.
    pub(super) fn into_members(self) -> Vec<(String, DataType)> {
        let mut last = HashMap::new();
        for (place, (_, name, _)) in self.found.iter().enumerate() {
            last.insert(name.clone(), place);
        }
        let name_of = |place: usize, path: String, name: String| {
            if last.get(&name) == Some(&place) { name } else { format!("{path}{name}") }
        };
        let found = self.found.into_iter().enumerate();
        found.map(|(place, (path, name, data_type))| (name_of(place, path, name), data_type)).collect()
    }
}

impl Compiler<'_> {
    pub(super) fn compile_class(&mut self, name: &str, infos: &[&StreamerInfo]) -> Result<Class, String> {
        let mut members = Members::default();
        let mut variants = self.variants(infos, "", &mut members)?;
        let n_members = members.found.len();
        for (place, is_absent) in absent_somewhere(&mut variants, 0..n_members).into_iter().enumerate() {
            let data_type = &mut members.found[place].2;
            if is_absent && !matches!(data_type, DataType::Optional(_)) {
                *data_type = DataType::Optional(Box::new(data_type.clone()));
            }
        }
        let size = members.size;
        Ok(Class { name: name.to_owned(), is_framed: true, members: members.into_members(), variants, size })
    }

    /// The versions of a class. The last one comes first: where types differ, all others are converted to its.
    pub(super) fn variants(
        &mut self,
        infos: &[&StreamerInfo],
        path: &str,
        members: &mut Members,
    ) -> Result<Vec<Variant>, String> {
        let mut latest_first = infos.to_vec();
        latest_first.sort_by_key(|info| std::cmp::Reverse(info.version));
        latest_first.into_iter().map(|info| self.variant(info, path, members)).collect()
    }

    pub(super) fn variant(
        &mut self,
        info: &StreamerInfo,
        path: &str,
        members: &mut Members,
    ) -> Result<Variant, String> {
        let mut variant = Variant::of(info);
        for element in &info.elements {
            self.n_left = self.n_left.checked_sub(1).ok_or_else(|| format!("{} has too many members", info.name))?;
            let step = self.step(info, element, path, members, &variant)?;
            let Some(step) = step else { continue };
            variant.push(step);
        }
        Ok(variant)
    }

    /// One element of a class; `None` for those that leave nothing in the file.
    pub(super) fn step(
        &mut self,
        info: &StreamerInfo,
        element: &Element,
        path: &str,
        members: &mut Members,
        before: &Variant,
    ) -> Result<Option<Step>, String> {
        if element.type_code == code::NOTHING || element.class == ElementClass::Artificial {
            return Ok(None);
        }
        if element.class == ElementClass::Base {
            return self.base(element, path, members, before);
        }
        let name = member_name(element);
        let around = std::mem::replace(&mut self.place, format!("{}::{}", info.name, element.name));
        let (node, counted) = match counted(element) {
            Some(head) => (self.counted_item(element), Some(head)),
            None => (self.member(element), None),
        };
        self.place = around;
        members.size = members.size.saturating_add(node.size());
        if members.size > MAX_SIZE {
            return Err(format!("{} has more than {MAX_SIZE} members in its members", info.name));
        }
        let data_type = match counted {
            Some(_) => DataType::List(Box::new(node.data_type())),
            None => node.data_type(),
        };
        let (place, node) = match members.place(path, name, data_type.clone()) {
            Ok(place) => (Some(place), node),
            Err((place, known)) if evolve::is_convertible(&data_type, &known) => {
                // Of an array that is counted the node is an item.
                let to = match known {
                    DataType::List(item) if counted.is_some() => *item,
                    known => known,
                };
                (Some(place), Node::Converted(Box::new(Conversion { stored: node, to })))
            }
            Err(_) => (None, node),
        };
        let step_at = |place| match counted {
            None => Step::Member(place, node),
            Some(head) => match self.counter(element, path, members, before) {
                Some(counter) => {
                    Step::Counted { place, item: node, counter, factor: element.array_length.max(1), head }
                }
                None => {
                    let why = format!("{}::{}, which {} counts", info.name, element.name, element.count_name);
                    Step::Unreadable(Arc::from(why))
                }
            },
        };
        Ok(Some(match place {
            Some(place) => step_at(place),
            None => Step::PassedOver(name.to_owned(), Box::new(step_at(0))),
        }))
    }

    /// The place of the member that counts an array: of the same class, or of one of its bases.
    fn counter(&self, element: &Element, path: &str, members: &Members, before: &Variant) -> Option<usize> {
        let own = members.by_path.get(&format!("{path}{}", element.count_name)).copied();
        let place = own.or_else(|| {
            let in_base =
                |(p, name, _): &(String, String, DataType)| *name == element.count_name && p.starts_with(path);
            members.found.iter().rposition(in_base)
        })?;
        let found = &members.found[place].2;
        let is_integer = match if let DataType::Optional(found) = found { found } else { found } {
            DataType::Primitive(primitive) => !matches!(primitive, Primitive::Float32 | Primitive::Float64),
            _ => false,
        };
        (is_integer && fills(&before.steps, place)).then_some(place)
    }

    /// A base of the objects of a split collection that is not split itself: their members are stored one by one.
    pub(super) fn base_of_each(&mut self, element: &Element) -> Result<Class, String> {
        let mut members = Members::default();
        let none = Variant::new(0, 0, Vec::new(), Vec::new());
        let step = self.base(element, "", &mut members, &none)?;
        let variants = vec![Variant::new(0, 0, step.into_iter().collect(), Vec::new())];
        let size = members.size;
        Ok(Class { name: element.name.clone(), is_framed: false, members: members.into_members(), variants, size })
    }

    fn base(
        &mut self,
        element: &Element,
        path: &str,
        members: &mut Members,
        before: &Variant,
    ) -> Result<Option<Step>, String> {
        let name = &element.name;
        let inner = format!("{path}{name}::");
        if name == "TObject" {
            let number = || DataType::Primitive(Primitive::UInt32);
            members.size += 2;
            let places = (members.place(&inner, "fUniqueID", number()), members.place(&inner, "fBits", number()));
            return Ok(match places {
                (Ok(unique_id), Ok(bits)) => Some(Step::TObject { unique_id, bits, may_lack: true }),
                _ => None,
            });
        }
        if self.misdescribed.contains(name) {
            return Ok(self.unknown_base(misdescribed(name), path, name, members));
        }
        let own = if self.is_linked { self.symmetric_base(name) } else { None };
        match own.or_else(|| self.own_streamer(name)) {
            Some(OwnStreamer::Node(Node::Struct(none))) if none.is_empty() => return Ok(None),
            Some(OwnStreamer::Node(node)) => {
                let name = if self.is_linked { linked::array_name(name) } else { name };
                return Ok(Some(own_base(name, node, path, members, before)));
            }
            Some(OwnStreamer::Class(class)) => {
                return Ok(Some(own_base(name, Node::Object(Arc::new(class)), path, members, before)));
            }
            Some(OwnStreamer::Unreadable(why)) => {
                return Ok(self.unknown_base(format!("{name}, {why}"), path, name, members));
            }
            None => {}
        }
        if self.depth >= MAX_DEPTH || self.open.contains(name) {
            // A class made to harm: its members would never end.
            return Err(format!("{name} is a base of itself"));
        }
        let infos = self.infos_of(name);
        if infos.is_empty() {
            let why = format!("{name}, a base that the file does not describe");
            return Ok(self.unknown_base(why, path, name, members));
        }
        self.open.push(name.clone());
        self.depth += 1;
        let first = members.found.len();
        let variants = self.variants(&infos, &inner, members);
        self.depth -= 1;
        self.open.pop();
        let mut variants = variants?;
        if members.size > MAX_SIZE {
            return Err(format!("{name} has too many members"));
        }
        let places =
            (0..members.found.len()).filter(|&place| place >= first || members.found[place].0.starts_with(&inner));
        let places: Vec<usize> = places.collect();
        let absent = absent_of(&mut variants, &places);
        for place in absent {
            let data_type = &mut members.found[place].2;
            if !matches!(data_type, DataType::Optional(_)) {
                *data_type = DataType::Optional(Box::new(data_type.clone()));
            }
        }
        let meant = self.infos.of_base(element);
        let by_member = meant
            .and_then(|meant| variants.iter().position(|v| v.version == meant.version && v.checksum == meant.checksum));
        let is_whole = element.type_code == code::T_NAMED;
        Ok(Some(Step::Base(Base { name: name.clone(), variants, by_member, is_whole })))
    }

    /// A base of which half is stored.
    fn symmetric_base(&mut self, name: &str) -> Option<OwnStreamer> {
        let parsed = TypeName::parse(name).ok().filter(|parsed| parsed.name == "TMatrixTSym")?;
        Some(OwnStreamer::Node(self.symmetric_matrix(name, parsed.argument(0)?)))
    }

    /// A base that cannot be read; in a graph it is passed over if a byte count tells where it ends.
    fn unknown_base(&self, why: String, path: &str, name: &str, members: &mut Members) -> Option<Step> {
        if !self.is_linked {
            return Some(Step::Unreadable(Arc::from(why)));
        }
        members.size += 1;
        let place = members.place(path, name, DataType::Link).ok()?;
        Some(Step::Member(place, self.unknown(why)))
    }
}

/// A base that writes itself. Arrays of numbers of all types have one name in a graph.
fn own_base(name: &str, node: Node, path: &str, members: &mut Members, before: &Variant) -> Step {
    members.size += node.size();
    let data_type = node.data_type();
    match members.place(path, name, data_type.clone()) {
        Ok(place) => Step::OwnBase(place, node),
        Err((place, to)) if evolve::is_convertible(&data_type, &to) && !fills(&before.steps, place) => {
            Step::OwnBase(place, Node::Converted(Box::new(Conversion { stored: node, to })))
        }
        Err(_) => Step::Unreadable(Arc::from(format!("{name}, a base beside another member of this name"))),
    }
}

/// The name of a member; of a base that is a container, as ROOT writes it in JSON.
///
/// Source: `TBufferJSON` (ROOT 6.40).
fn member_name(element: &Element) -> &str {
    if element.class != ElementClass::Stl || element.name != element.type_name {
        return &element.name;
    }
    match element.stl_kind() {
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
        Some(StlKind::RVec) | None => &element.name,
    }
}

/// What stands before the items of a member, if another member counts them.
pub(super) fn counted(element: &Element) -> Option<CountedHead> {
    match element.type_code {
        41..=59 => Some(CountedHead::Flag),
        code::UNFLAGGED.. => Some(CountedHead::Nothing),
        code::LOOP => Some(CountedHead::Frame),
        loop_array if loop_array == code::LOOP + ARRAY => Some(CountedHead::Frame),
        _ => None,
    }
}

/// Whether a step puts something in a place.
fn fills(steps: &[Step], wanted: usize) -> bool {
    steps.iter().any(|step| match step {
        Step::Member(place, _) | Step::OwnBase(place, _) | Step::Counted { place, .. } => *place == wanted,
        Step::Base(base) => base.variants.iter().any(|variant| fills(&variant.steps, wanted)),
        Step::TObject { unique_id, bits, .. } => *unique_id == wanted || *bits == wanted,
        Step::Process { place, .. } => *place == wanted,
        Step::PassedOver(..) | Step::Unreadable(_) => false,
    })
}

/// Notes in each version which places it leaves empty; returns all that any version leaves empty.
fn absent_of(variants: &mut [Variant], places: &[usize]) -> Vec<usize> {
    let mut absent = Vec::new();
    for variant in variants {
        variant.absent = places.iter().copied().filter(|&place| !fills(&variant.steps, place)).collect();
        absent.extend_from_slice(&variant.absent);
    }
    absent
}

/// The same for all places of a class.
pub(super) fn absent_somewhere(variants: &mut [Variant], places: std::ops::Range<usize>) -> Vec<bool> {
    let mut is_absent = vec![false; places.end];
    let places: Vec<usize> = places.collect();
    for place in absent_of(variants, &places) {
        is_absent[place] = true;
    }
    is_absent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::layout::Number;
    use crate::streamer::StreamerInfos;

    const COUNTER: i32 = 6;
    const INT: i32 = 3;

    fn info(version: u16, x: Element) -> StreamerInfo {
        let elements = vec![Element::member("n", "Int_t", COUNTER), x];
        StreamerInfo { name: "A".to_owned(), checksum: u32::from(version), version, info_version: 9, elements }
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
        assert_eq!((name.as_str(), variant.absent.as_slice(), variant.min_bytes()), ("x", [1].as_slice(), 5));
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
