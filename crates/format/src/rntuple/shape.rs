//! What the values of a field look like, and which columns they are made of.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::column::{EntryForm, MAX_LEVELS};
use crate::error::{Error, Result};
use crate::streamer::Primitive;

use super::encoding::Encoding;
use super::members::{is_base, member_name};
use super::schema::{FieldId, NtupleField, Role, Schema};
use super::slots::{SlotId, Slots};

/// How the values of a field are made.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Numbers or bools.
    Number {
        /// Where they are.
        slot: SlotId,
        /// What comes out.
        primitive: Primitive,
    },
    /// Texts.
    Text {
        /// Their ends.
        ends: SlotId,
        /// Their bytes.
        bytes: SlotId,
    },
    /// Lists.
    List {
        /// Their ends.
        ends: SlotId,
        /// Their items.
        item: Box<Shape>,
    },
    /// Keys and values.
    Map {
        /// The ends of the maps.
        ends: SlotId,
        /// Keys.
        key: Box<Shape>,
        /// Values.
        value: Box<Shape>,
    },
    /// A value or none: lists of at most one item.
    Optional {
        /// The ends of the lists.
        ends: SlotId,
        /// The values that are there.
        item: Box<Shape>,
    },
    /// Lists of the same length everywhere.
    FixedList {
        /// Their items.
        item: Box<Shape>,
        /// Length of a list.
        n_items: u32,
    },
    /// Named members.
    Struct {
        /// The members.
        members: Vec<(String, Shape)>,
    },
    /// One of several alternatives, or none.
    Variant {
        /// Says which.
        switch: SlotId,
        /// Tag 1 is the first.
        alternatives: Vec<Shape>,
    },
    /// Objects that ROOT's streamers wrote.
    Streamed {
        /// The ends of their bytes.
        ends: SlotId,
        /// Their bytes.
        bytes: SlotId,
        /// How they are read.
        form: Arc<EntryForm>,
    },
    /// Lengths of lists.
    Cardinality {
        /// The ends of the lists.
        ends: SlotId,
        /// What comes out.
        primitive: Primitive,
    },
}

impl Shape {
    /// How many lists, records and variants are nested in it, with the number or text in them.
    fn levels(&self) -> usize {
        let deepest = |inner: &mut dyn Iterator<Item = &Shape>| inner.map(Shape::levels).max().unwrap_or(0);
        let inner: usize = match self {
            Shape::Number { .. } | Shape::Text { .. } | Shape::Cardinality { .. } => 0,
            Shape::List { item, .. } | Shape::FixedList { item, .. } => item.levels(),
            Shape::Optional { item, .. } => return item.levels(),
            Shape::Map { key, value, .. } => key.levels().max(value.levels()).saturating_add(1),
            Shape::Struct { members } => deepest(&mut members.iter().map(|(_, member)| member)),
            Shape::Variant { alternatives, .. } => deepest(&mut alternatives.iter()),
            Shape::Streamed { form, .. } => return form.levels(),
        };
        inner.saturating_add(1)
    }
}

impl Shape {
    /// Makes lists with these ends, which have at most one item, optional values.
    pub fn make_optional(&mut self, all_ends: &HashSet<SlotId>) {
        match self {
            Shape::List { ends, item } => {
                item.make_optional(all_ends);
                if all_ends.contains(ends) {
                    let item = std::mem::replace(item, Box::new(Shape::Struct { members: Vec::new() }));
                    *self = Shape::Optional { ends: *ends, item };
                }
            }
            Shape::Optional { item, .. } | Shape::FixedList { item, .. } => item.make_optional(all_ends),
            Shape::Map { key, value, .. } => [key, value].into_iter().for_each(|part| part.make_optional(all_ends)),
            Shape::Struct { members } => members.iter_mut().for_each(|(_, member)| member.make_optional(all_ends)),
            Shape::Variant { alternatives, .. } => {
                alternatives.iter_mut().for_each(|part| part.make_optional(all_ends))
            }
            Shape::Number { .. } | Shape::Text { .. } | Shape::Streamed { .. } | Shape::Cardinality { .. } => {}
        }
    }
}

/// A field that ROOT's streamers wrote.
#[derive(Debug, Clone, Copy)]
pub struct StreamedField<'s> {
    /// Its number.
    pub id: FieldId,
    /// The class of its objects.
    pub type_name: &'s str,
    /// The checksum of that class, if the field has it.
    pub checksum: Option<u32>,
    /// The ends of their bytes.
    pub ends: SlotId,
    /// Their bytes.
    pub bytes: SlotId,
}

/// Tells how the objects of a field are read.
type FormOf<'a> = &'a dyn Fn(StreamedField<'_>) -> Result<Arc<EntryForm>>;

const MAP_TYPES: [&str; 4] = ["std::map<", "std::unordered_map<", "std::multimap<", "std::unordered_multimap<"];
const OPTIONAL_TYPES: [&str; 2] = ["std::optional<", "std::unique_ptr<"];
const CARDINALITY: &str = "ROOT::RNTupleCardinality<";
/// The longest name of a class that is put before the names of its members.
const MAX_CLASS_BYTES: usize = 1 << 12;
/// Variants have no more alternatives.
pub const MAX_ALTERNATIVES: usize = 125;

fn begins(type_name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| type_name.starts_with(prefix))
}

impl Slots {
    /// How the values of the field at the end of a chain are made, inside the lists that are passed on the way.
    ///
    /// `form_of`: asked for the parts that ROOT's streamers wrote.
    ///
    /// # Errors
    /// Unsupported, with the type, if the field or a part of it is of a kind that is not read.
    pub fn shape(&self, schema: &Schema, chain: &[FieldId], form_of: FormOf<'_>) -> Result<Shape> {
        match chain.split_first() {
            Some((&top, rest)) => {
                let build = Build { schema, slots: self, form_of };
                let shape = build.field(top, rest)?;
                match schema.field_of(top).filter(|_| shape.levels() > MAX_LEVELS) {
                    Some(field) => Err(build.unsupported(field, &format!("of more than {MAX_LEVELS} levels"))),
                    None => Ok(shape),
                }
            }
            None => Err(Error::corrupt(0, "no field")),
        }
    }
}

struct Build<'a> {
    schema: &'a Schema,
    slots: &'a Slots,
    form_of: FormOf<'a>,
}

impl Build<'_> {
    /// `chain`: what is chosen of the records further down.
    fn field(&self, id: FieldId, chain: &[FieldId]) -> Result<Shape> {
        let field = self.schema.field_of(id).ok_or_else(|| Error::corrupt(0, "a field that is not there"))?;
        self.check(field)?;
        let slots = self.slots.of_field(field);
        let shape = match field.role() {
            Role::Leaf => self.leaf(field, &slots, chain)?,
            Role::Collection => self.collection(field, &slots, chain)?,
            Role::Record => return self.fixed(field, self.record(field, chain)?),
            Role::Variant => self.variant(field, &slots)?,
            Role::Streamer => self.streamed(id, field, &slots)?,
            Role::Unknown(role) => return Err(self.unsupported(field, &format!("of structural role {role}"))),
        };
        self.fixed(field, shape)
    }

    /// That a field is not of a later version.
    fn check(&self, field: NtupleField<'_>) -> Result<()> {
        if field.field_version() > 0 {
            return Err(self.unsupported(field, &format!("stored in version {} of its kind", field.field_version())));
        }
        // What is not understood is not shown under another name either.
        if let Some(source) = field.source().filter(|source| self.slots.strange.contains(source)) {
            let source = self.schema.field_of(source).map_or("", |source| source.name());
            return Err(self.unsupported(field, &format!("a view of {source:?}, which is of a later version")));
        }
        Ok(())
    }

    fn unsupported(&self, field: NtupleField<'_>, why: &str) -> Error {
        let type_name = if field.type_name().is_empty() { "an untyped value" } else { field.type_name() };
        Error::unsupported(0, format!("field {:?} ({type_name}) is {why}", field.name()))
    }

    /// Fixed arrays of what is in a field, if it has a size.
    fn fixed(&self, field: NtupleField<'_>, item: Shape) -> Result<Shape> {
        match field.array_size() {
            None => Ok(item),
            Some(n_items) => match i32::try_from(n_items) {
                Ok(n_items) => Ok(Shape::FixedList { item: Box::new(item), n_items: n_items.unsigned_abs() }),
                Err(_) => Err(self.unsupported(field, &format!("an array of {n_items} items"))),
            },
        }
    }

    fn only_child(&self, field: NtupleField<'_>, chain: &[FieldId]) -> Result<Shape> {
        match field.children() {
            [child] => self.field(*child, chain),
            [] => Err(self.unsupported(field, "without columns or parts")),
            children => Err(self.unsupported(field, &format!("with {} parts, where one is expected", children.len()))),
        }
    }

    /// The encoding of the first representation, and that all representations are of its kind.
    fn encoding(&self, field: NtupleField<'_>, slot: SlotId) -> Result<Encoding> {
        let mut first = None;
        for &column in self.slots.columns_of(self.slots.slot(slot)) {
            let column_type = self.schema.column_of(column).map(|column| column.column_type);
            let column_type = column_type.ok_or_else(|| Error::corrupt(0, "a column that is not there"))?;
            let Some(encoding) = column_type.encoding else {
                return Err(self.unsupported(field, &format!("stored as {}, which is not known", column_type.name())));
            };
            let first = *first.get_or_insert(encoding);
            let kind = |encoding: Encoding| match encoding {
                Encoding::Index { .. } => 0,
                Encoding::Switch => 1,
                _ => 2,
            };
            if kind(first) != kind(encoding) {
                return Err(self.unsupported(field, "represented by columns of different kinds"));
            }
        }
        first.ok_or_else(|| self.unsupported(field, "without columns"))
    }

    fn ends(&self, field: NtupleField<'_>, slots: &[SlotId]) -> Result<SlotId> {
        match slots.first() {
            Some(&slot) if matches!(self.encoding(field, slot)?, Encoding::Index { .. }) => Ok(slot),
            _ => Err(self.unsupported(field, "without a column of ends")),
        }
    }

    fn leaf(&self, field: NtupleField<'_>, slots: &[SlotId], chain: &[FieldId]) -> Result<Shape> {
        match slots {
            [] => self.only_child(field, chain),
            [slot] => match self.encoding(field, *slot)? {
                Encoding::Index { .. } if field.type_name().starts_with(CARDINALITY) => {
                    let is_wide = field.type_name().contains("64");
                    let primitive = if is_wide { Primitive::UInt64 } else { Primitive::UInt32 };
                    Ok(Shape::Cardinality { ends: *slot, primitive })
                }
                encoding => match encoding.primitive() {
                    Some(stored) => {
                        Ok(Shape::Number { slot: *slot, primitive: primitive_of(field.type_name()).unwrap_or(stored) })
                    }
                    None => Err(self.unsupported(field, "a leaf stored as ends of lists")),
                },
            },
            [ends, bytes] => {
                let ends = self.ends(field, &[*ends])?;
                match self.encoding(field, *bytes)? {
                    Encoding::Plain(Primitive::Int8 | Primitive::UInt8) => Ok(Shape::Text { ends, bytes: *bytes }),
                    _ => Err(self.unsupported(field, "a text that is not stored as characters")),
                }
            }
            slots => Err(self.unsupported(field, &format!("a leaf with {} columns", slots.len()))),
        }
    }

    fn streamed(&self, id: FieldId, field: NtupleField<'_>, slots: &[SlotId]) -> Result<Shape> {
        let &[ends, bytes] = slots else {
            return Err(self.unsupported(field, &format!("written by a streamer into {} columns", slots.len())));
        };
        let ends = self.ends(field, &[ends])?;
        if !matches!(self.encoding(field, bytes)?, Encoding::Plain(Primitive::Int8 | Primitive::UInt8)) {
            return Err(self.unsupported(field, "written by a streamer, and not as bytes"));
        }
        let form = (self.form_of)(StreamedField {
            id,
            type_name: field.type_name(),
            checksum: field.type_checksum(),
            ends,
            bytes,
        });
        let form = form.map_err(|error| match error {
            Error::Unsupported(_) => error.as_unsupported(&format!("field {:?}", field.name())),
            error => error,
        })?;
        Ok(Shape::Streamed { ends, bytes, form })
    }

    fn collection(&self, field: NtupleField<'_>, slots: &[SlotId], chain: &[FieldId]) -> Result<Shape> {
        let ends = self.ends(field, slots)?;
        let is_map = begins(field.type_name(), &MAP_TYPES) && chain.is_empty();
        let item = self.only_child(field, chain)?;
        Ok(match item {
            Shape::Struct { members } if is_map && members.len() == 2 => {
                let mut parts = members.into_iter().map(|(_, shape)| Box::new(shape));
                match (parts.next(), parts.next()) {
                    (Some(key), Some(value)) => Shape::Map { ends, key, value },
                    _ => return Err(self.unsupported(field, "a map without pairs")),
                }
            }
            item if begins(field.type_name(), &OPTIONAL_TYPES) => Shape::Optional { ends, item: Box::new(item) },
            item => Shape::List { ends, item: Box::new(item) },
        })
    }

    fn record(&self, field: NtupleField<'_>, chain: &[FieldId]) -> Result<Shape> {
        if let Some((chosen, rest)) = chain.split_first() {
            return self.field(*chosen, rest);
        }
        let mut flat = Flat::default();
        self.flatten(field, None, &mut flat)?;
        let mut last = HashMap::with_capacity(flat.members.len());
        for (index, member) in flat.members.iter().enumerate() {
            last.insert(member.name.clone(), index);
        }
        let mut seen = HashSet::with_capacity(flat.members.len());
        let mut members = Vec::with_capacity(flat.members.len());
        for (index, FlatMember { base, name, shape }) in flat.members.into_iter().enumerate() {
            let name = match base.filter(|_| last.get(&name) != Some(&index)) {
                None => name,
                Some(base) => Flat::qualified(&flat.bases, base, &name).ok_or_else(|| {
                    self.unsupported(field, "derived from a class whose name is too long to go before its members")
                })?,
            };
            if !seen.insert(name.clone()) {
                return Err(self.unsupported(field, &format!("a class with two members called {name:?}")));
            }
            members.push((name, shape));
        }
        Ok(Shape::Struct { members })
    }

    /// Adds the members of a record to `flat`. Those of base classes come first, as C++ lays them out.
    fn flatten(&self, field: NtupleField<'_>, base: Option<usize>, flat: &mut Flat) -> Result<()> {
        let mut own = Vec::with_capacity(field.children().len());
        for &child in field.children() {
            let Some(part) = self.schema.field_of(child) else { continue };
            if is_base(part.name()) && part.role() == Role::Record && part.array_size().is_none() {
                self.check(part)?;
                flat.bases.push((base, part.type_name().to_owned()));
                self.flatten(part, Some(flat.bases.len() - 1), flat)?;
            } else {
                let name = member_name(field, part.name()).to_owned();
                own.push(FlatMember { base, name, shape: self.field(child, &[])? });
            }
        }
        flat.members.extend(own);
        Ok(())
    }

    fn variant(&self, field: NtupleField<'_>, slots: &[SlotId]) -> Result<Shape> {
        let switch = match slots {
            [slot] if matches!(self.encoding(field, *slot)?, Encoding::Switch) => *slot,
            _ => return Err(self.unsupported(field, "a variant without a column of tags")),
        };
        if field.children().len() > MAX_ALTERNATIVES {
            return Err(self.unsupported(field, &format!("a variant of {} alternatives", field.children().len())));
        }
        let alternatives = field.children().iter().map(|&child| self.field(child, &[])).collect::<Result<_>>()?;
        Ok(Shape::Variant { switch, alternatives })
    }
}

/// The members of a record and of its base classes.
#[derive(Default)]
struct Flat {
    members: Vec<FlatMember>,
    /// Base classes: the one that each is a base of, as index in this list, and its name.
    bases: Vec<(Option<usize>, String)>,
}

struct FlatMember {
    /// Place of the base class that it is of.
    base: Option<usize>,
    name: String,
    shape: Shape,
}

impl Flat {
    /// The name of a member with the bases before it that it is reached by, as members of trees have it: `B::A::x`. `None` if
    /// that is too long.
    fn qualified(bases: &[(Option<usize>, String)], base: usize, name: &str) -> Option<String> {
        let mut classes = Vec::new();
        let mut n_bytes = 0;
        let mut next = Some(base);
        while let Some((outer, class)) = next.and_then(|index| bases.get(index)) {
            n_bytes += class.len();
            classes.push(class.as_str());
            next = *outer;
        }
        classes.reverse();
        classes.push(name);
        (n_bytes <= MAX_CLASS_BYTES).then(|| classes.join("::"))
    }
}

/// Numbers and the C++ types that they are, normalized; what a number is called when it is written comes first.
const NUMBER_TYPES: [(Primitive, &str); 13] = [
    (Primitive::Bool, "bool"),
    (Primitive::Int8, "std::int8_t"),
    (Primitive::UInt8, "std::uint8_t"),
    (Primitive::Int16, "std::int16_t"),
    (Primitive::UInt16, "std::uint16_t"),
    (Primitive::Int32, "std::int32_t"),
    (Primitive::UInt32, "std::uint32_t"),
    (Primitive::Int64, "std::int64_t"),
    (Primitive::UInt64, "std::uint64_t"),
    (Primitive::Float32, "float"),
    (Primitive::Float64, "double"),
    (Primitive::Int8, "char"),
    (Primitive::UInt8, "std::byte"),
];

/// The number that a C++ type is; `None` for all others.
pub(super) fn primitive_of(type_name: &str) -> Option<Primitive> {
    NUMBER_TYPES.iter().find_map(|(primitive, name)| (*name == type_name).then_some(*primitive))
}

/// The C++ type of a number, as fields name it; `None` for what is stored as another.
pub fn number_type_name(primitive: Primitive) -> Option<&'static str> {
    NUMBER_TYPES.iter().find_map(|(number, name)| (*number == primitive).then_some(*name))
}
