//! What the values of a field look like, and which columns they are made of.

use std::collections::HashSet;
use std::sync::Arc;

use crate::column::{Layout, column_of_type};
use crate::error::{Error, Result};
use crate::streamer::{Primitive, StreamerInfos};

use super::encoding::Encoding;
use super::schema::{ColumnId, FieldId, NtupleField, Role, Schema};

/// Number of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(pub u32);

/// One column of a field in all its representations: of these, each cluster has one.
#[derive(Debug, Clone)]
pub struct Slot {
    /// The field that has it.
    pub field: FieldId,
    /// The physical columns, by representation.
    pub columns: Vec<ColumnId>,
    /// What an element of it belongs to.
    pub domain: usize,
    /// Elements for each item of the domain: the product of the fixed arrays around.
    pub factor: u64,
}

/// Items that are counted together: the entries, or the items of all lists of one collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Domain {
    /// The slot that says where items begin and end; `None` for the entries.
    pub by: Option<SlotId>,
    /// The alternative, if the slot is that of a variant.
    pub tag: Option<u32>,
    /// The domain of that slot; smaller than the number of this one.
    pub parent: usize,
}

/// All slots and domains of a schema.
#[derive(Debug, Clone, Default)]
pub struct Slots {
    /// The slots.
    pub slots: Vec<Slot>,
    /// The domains; the first is that of the entries.
    pub domains: Vec<Domain>,
    /// For each physical column its slot.
    by_column: Vec<Option<SlotId>>,
    /// For each domain a slot whose elements tell how many items it has.
    witnesses: Vec<Option<SlotId>>,
    /// The fields in whose field at the top there is something that a later version of the format has brought.
    strange: HashSet<FieldId>,
}

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
        layout: Arc<Layout>,
    },
    /// Lengths of lists.
    Cardinality {
        /// The ends of the lists.
        ends: SlotId,
        /// What comes out.
        primitive: Primitive,
    },
}

/// A field that can be read, by its path.
#[derive(Debug, Clone)]
pub struct Member {
    /// Names with dots between. The items of lists and arrays have no name of their own; members of pairs and tuples are
    /// called by their numbers, members of base classes as if they were the class's own.
    pub path: String,
    /// The path with the names of all fields, as ROOT writes it.
    pub full_path: String,
    /// The last name.
    pub name: String,
    /// The field.
    pub field: FieldId,
    /// The fields from the top to this one whose records are passed.
    pub chain: Vec<FieldId>,
}

const MAP_TYPES: [&str; 4] = ["std::map<", "std::unordered_map<", "std::multimap<", "std::unordered_multimap<"];
const OPTIONAL_TYPES: [&str; 2] = ["std::optional<", "std::unique_ptr<"];
const NUMBERED_TYPES: [&str; 2] = ["std::pair<", "std::tuple<"];
const CARDINALITY: &str = "ROOT::RNTupleCardinality<";
/// Variants have no more alternatives.
const MAX_ALTERNATIVES: usize = 125;

fn begins(type_name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| type_name.starts_with(prefix))
}

impl Slots {
    /// The slots of a schema.
    ///
    /// # Errors
    /// Corrupt if the representations of a field have different numbers of columns.
    pub fn new(schema: &Schema) -> Result<Slots> {
        let mut slots = Slots {
            strange: strange_fields(schema),
            domains: vec![Domain { by: None, tag: None, parent: 0 }],
            by_column: vec![None; schema.columns.len()],
            ..Slots::default()
        };
        for &top in &schema.top_fields {
            slots.add_field(schema, top, 0, 1)?;
        }
        slots.witnesses = vec![None; slots.domains.len()];
        for (id, slot) in (0..).map(SlotId).zip(&slots.slots).filter(|(_, slot)| slot.factor > 0) {
            slots.witnesses[slot.domain].get_or_insert(id);
        }
        Ok(slots)
    }

    fn add_field(&mut self, schema: &Schema, id: FieldId, domain: usize, factor: u64) -> Result<()> {
        let Some(field) = schema.field_of(id) else { return Ok(()) };
        // Those of projected fields are columns of other fields.
        if field.source.is_some() {
            return Ok(());
        }
        let factor = factor.saturating_mul(field.array_size.unwrap_or(1));
        let own = self.add_slots(schema, id, field, domain, factor)?;
        let below = |slots: &mut Slots, by: SlotId, tag| {
            slots.domains.push(Domain { by: Some(by), tag, parent: domain });
            slots.domains.len() - 1
        };
        match (field.role, own.first()) {
            (Role::Collection | Role::Streamer, Some(&ends)) => {
                let items = below(self, ends, None);
                own.iter().skip(1).for_each(|slot| self.slots[slot.0 as usize].domain = items);
                own.iter().skip(1).for_each(|slot| self.slots[slot.0 as usize].factor = 1);
                field.children.iter().try_for_each(|&child| self.add_field(schema, child, items, 1))
            }
            (Role::Leaf, Some(&ends)) if own.len() > 1 => {
                let items = below(self, ends, None);
                own.iter().skip(1).for_each(|slot| self.slots[slot.0 as usize].domain = items);
                own.iter().skip(1).for_each(|slot| self.slots[slot.0 as usize].factor = 1);
                Ok(())
            }
            (Role::Variant, Some(&switch)) => (1..).zip(&field.children).try_for_each(|(tag, &child)| {
                let items = below(self, switch, Some(tag));
                self.add_field(schema, child, items, 1)
            }),
            _ => field.children.iter().try_for_each(|&child| self.add_field(schema, child, domain, factor)),
        }
    }

    fn add_slots(
        &mut self,
        schema: &Schema,
        id: FieldId,
        field: &NtupleField,
        domain: usize,
        factor: u64,
    ) -> Result<Vec<SlotId>> {
        let mut by_representation: Vec<Vec<ColumnId>> = Vec::new();
        for &column in &field.columns {
            let Some(description) = schema.column_of(column) else { continue };
            match usize::from(description.representation) {
                number if number < by_representation.len() => by_representation[number].push(column),
                number if number == by_representation.len() => by_representation.push(vec![column]),
                number => {
                    let what = format!("field {:?} has a representation {number} and not all before", field.name);
                    return Err(Error::corrupt(0, what));
                }
            }
        }
        let n_slots = by_representation.first().map_or(0, Vec::len);
        if by_representation.iter().any(|columns| columns.len() != n_slots) {
            let what = format!("representations of field {:?} have different numbers of columns", field.name);
            return Err(Error::corrupt(0, what));
        }
        let mut own = Vec::with_capacity(n_slots);
        for place in 0..n_slots {
            let slot = SlotId(u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
            let columns: Vec<ColumnId> = by_representation.iter().map(|columns| columns[place]).collect();
            for column in &columns {
                self.by_column[column.0 as usize] = Some(slot);
            }
            self.slots.push(Slot { field: id, columns, domain, factor });
            own.push(slot);
        }
        Ok(own)
    }

    /// A slot whose elements tell how many items a domain has.
    pub fn witness_of(&self, domain: usize) -> Option<SlotId> {
        self.witnesses.get(domain).copied().flatten()
    }

    /// A slot.
    pub fn slot(&self, id: SlotId) -> &Slot {
        &self.slots[id.0 as usize]
    }

    /// The slots of a field, its own or those of the field that it shows.
    fn of_field(&self, field: &NtupleField) -> Vec<SlotId> {
        let mut found: Vec<SlotId> = Vec::new();
        for column in &field.columns {
            if let Some(slot) = self.by_column.get(column.0 as usize).copied().flatten()
                && !found.contains(&slot)
            {
                found.push(slot);
            }
        }
        found
    }

    /// How the values of the field at the end of a chain are made, inside the lists that are passed on the way.
    ///
    /// `infos` are asked for only if ROOT's streamers wrote a part of it.
    ///
    /// # Errors
    /// Unsupported, with the type, if the field or a part of it is of a kind that is not read.
    pub fn shape<'i>(
        &self,
        schema: &Schema,
        chain: &[FieldId],
        infos: &dyn Fn() -> Result<&'i StreamerInfos>,
    ) -> Result<Shape> {
        match chain.split_first() {
            Some((&top, rest)) => Build { schema, slots: self, infos }.field(top, rest),
            None => Err(Error::corrupt(0, "no field")),
        }
    }
}

struct Build<'a, 'i> {
    schema: &'a Schema,
    slots: &'a Slots,
    infos: &'a dyn Fn() -> Result<&'i StreamerInfos>,
}

impl Build<'_, '_> {
    /// `chain`: what is chosen of the records further down.
    fn field(&self, id: FieldId, chain: &[FieldId]) -> Result<Shape> {
        let field = self.schema.field_of(id).ok_or_else(|| Error::corrupt(0, "a field that is not there"))?;
        if field.field_version > 0 {
            return Err(self.unsupported(field, &format!("stored in version {} of its kind", field.field_version)));
        }
        // What is not understood is not shown under another name either.
        if let Some(source) = field.source.filter(|source| self.slots.strange.contains(source)) {
            let source = self.schema.field_of(source).map_or("", |source| source.name.as_str());
            return Err(self.unsupported(field, &format!("a view of {source:?}, which is of a later version")));
        }
        let slots = self.slots.of_field(field);
        let shape = match field.role {
            Role::Leaf => self.leaf(field, &slots, chain)?,
            Role::Collection => self.collection(field, &slots, chain)?,
            Role::Record => return self.fixed(field, self.record(field, chain)?),
            Role::Variant => self.variant(field, &slots)?,
            Role::Streamer => self.streamed(field, &slots)?,
            Role::Unknown(role) => return Err(self.unsupported(field, &format!("of structural role {role}"))),
        };
        self.fixed(field, shape)
    }

    fn unsupported(&self, field: &NtupleField, why: &str) -> Error {
        let type_name = if field.type_name.is_empty() { "an untyped value" } else { &field.type_name };
        Error::unsupported(0, format!("field {:?} ({type_name}) is {why}", field.name))
    }

    /// Fixed arrays of what is in a field, if it has a size.
    fn fixed(&self, field: &NtupleField, item: Shape) -> Result<Shape> {
        match field.array_size {
            None => Ok(item),
            Some(n_items) => match i32::try_from(n_items) {
                Ok(n_items) => Ok(Shape::FixedList { item: Box::new(item), n_items: n_items.unsigned_abs() }),
                Err(_) => Err(self.unsupported(field, &format!("an array of {n_items} items"))),
            },
        }
    }

    fn only_child(&self, field: &NtupleField, chain: &[FieldId]) -> Result<Shape> {
        match field.children.as_slice() {
            [child] => self.field(*child, chain),
            [] => Err(self.unsupported(field, "without columns or parts")),
            children => Err(self.unsupported(field, &format!("with {} parts, where one is expected", children.len()))),
        }
    }

    /// The encoding of the first representation, and that all representations are of its kind.
    fn encoding(&self, field: &NtupleField, slot: SlotId) -> Result<Encoding> {
        let mut first = None;
        for &column in &self.slots.slot(slot).columns {
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

    fn ends(&self, field: &NtupleField, slots: &[SlotId]) -> Result<SlotId> {
        match slots.first() {
            Some(&slot) if matches!(self.encoding(field, slot)?, Encoding::Index { .. }) => Ok(slot),
            _ => Err(self.unsupported(field, "without a column of ends")),
        }
    }

    fn leaf(&self, field: &NtupleField, slots: &[SlotId], chain: &[FieldId]) -> Result<Shape> {
        match slots {
            [] => self.only_child(field, chain),
            [slot] => match self.encoding(field, *slot)? {
                Encoding::Index { .. } if field.type_name.starts_with(CARDINALITY) => {
                    let is_wide = field.type_name.contains("64");
                    let primitive = if is_wide { Primitive::UInt64 } else { Primitive::UInt32 };
                    Ok(Shape::Cardinality { ends: *slot, primitive })
                }
                encoding => match encoding.primitive() {
                    Some(stored) => {
                        Ok(Shape::Number { slot: *slot, primitive: primitive_of(&field.type_name).unwrap_or(stored) })
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

    fn streamed(&self, field: &NtupleField, slots: &[SlotId]) -> Result<Shape> {
        let [ends, bytes] = slots else {
            return Err(self.unsupported(field, &format!("written by a streamer into {} columns", slots.len())));
        };
        let ends = self.ends(field, &[*ends])?;
        if !matches!(self.encoding(field, *bytes)?, Encoding::Plain(Primitive::Int8 | Primitive::UInt8)) {
            return Err(self.unsupported(field, "written by a streamer, and not as bytes"));
        }
        let column = column_of_type(&field.type_name, true, (self.infos)()?)?;
        let layout = column.layout.ok_or_else(|| self.unsupported(field, "written by a streamer"))?;
        Ok(Shape::Streamed { ends, bytes: *bytes, layout: Arc::new(layout) })
    }

    fn collection(&self, field: &NtupleField, slots: &[SlotId], chain: &[FieldId]) -> Result<Shape> {
        let ends = self.ends(field, slots)?;
        let is_map = begins(&field.type_name, &MAP_TYPES) && chain.is_empty();
        let item = self.only_child(field, chain)?;
        Ok(match item {
            Shape::Struct { members } if is_map && members.len() == 2 => {
                let mut parts = members.into_iter().map(|(_, shape)| Box::new(shape));
                match (parts.next(), parts.next()) {
                    (Some(key), Some(value)) => Shape::Map { ends, key, value },
                    _ => return Err(self.unsupported(field, "a map without pairs")),
                }
            }
            item if begins(&field.type_name, &OPTIONAL_TYPES) => Shape::Optional { ends, item: Box::new(item) },
            item => Shape::List { ends, item: Box::new(item) },
        })
    }

    fn record(&self, field: &NtupleField, chain: &[FieldId]) -> Result<Shape> {
        if let Some((chosen, rest)) = chain.split_first() {
            return self.field(*chosen, rest);
        }
        // Members of base classes first, as C++ lays them out. A member that hides one of them leaves it its full name.
        let names: HashSet<&str> =
            field.children.iter().filter_map(|&child| Some(self.schema.field_of(child)?.name.as_str())).collect();
        let (mut bases, mut members) = (Vec::new(), Vec::with_capacity(field.children.len()));
        for &child in &field.children {
            let Some(part) = self.schema.field_of(child) else { continue };
            match self.field(child, &[])? {
                Shape::Struct { members: inherited } if is_base(&part.name) => {
                    bases.extend(inherited.into_iter().map(|(name, shape)| {
                        let is_hidden = names.contains(name.as_str());
                        (if is_hidden { format!("{}::{name}", part.type_name) } else { name }, shape)
                    }));
                }
                shape => members.push((member_name(field, &part.name), shape)),
            }
        }
        bases.extend(members);
        let mut seen = HashSet::with_capacity(bases.len());
        if let Some((name, _)) = bases.iter().find(|(name, _)| !seen.insert(name.as_str())) {
            return Err(self.unsupported(field, &format!("a class with two members called {name:?}")));
        }
        Ok(Shape::Struct { members: bases })
    }

    fn variant(&self, field: &NtupleField, slots: &[SlotId]) -> Result<Shape> {
        let switch = match slots {
            [slot] if matches!(self.encoding(field, *slot)?, Encoding::Switch) => *slot,
            _ => return Err(self.unsupported(field, "a variant without a column of tags")),
        };
        if field.children.len() > MAX_ALTERNATIVES {
            return Err(self.unsupported(field, &format!("a variant of {} alternatives", field.children.len())));
        }
        let alternatives = field.children.iter().map(|&child| self.field(child, &[])).collect::<Result<_>>()?;
        Ok(Shape::Variant { switch, alternatives })
    }
}

/// All fields inside the fields at the top of which any part is of a later version.
///
/// Source: "Notes on Backward and Forward Compatibility" of the specification.
fn strange_fields(schema: &Schema) -> HashSet<FieldId> {
    let numbered = || (0..).map(FieldId).zip(&schema.fields);
    let mut tops: Vec<FieldId> = Vec::with_capacity(schema.fields.len());
    for (id, field) in numbered() {
        // The field around comes first.
        tops.push(field.parent.map_or(id, |parent| tops[parent.0 as usize]));
    }
    let unknown =
        |column: &ColumnId| schema.column_of(*column).is_some_and(|column| column.column_type.encoding.is_none());
    let is_strange = |field: &NtupleField| {
        matches!(field.role, Role::Unknown(_)) || field.field_version > 0 || field.columns.iter().any(unknown)
    };
    let strange_tops: HashSet<FieldId> =
        numbered().filter(|(_, field)| is_strange(field)).map(|(id, _)| tops[id.0 as usize]).collect();
    if strange_tops.is_empty() {
        return HashSet::new();
    }
    numbered().map(|(id, _)| id).filter(|id| strange_tops.contains(&tops[id.0 as usize])).collect()
}

/// Whether a field is a base class of the record that it is part of.
fn is_base(name: &str) -> bool {
    name.starts_with(":_")
}

/// What a part of a record is called.
fn member_name(record: &NtupleField, name: &str) -> String {
    match name.strip_prefix('_') {
        Some(number) if begins(&record.type_name, &NUMBERED_TYPES) => number.to_owned(),
        _ => name.to_owned(),
    }
}

/// The number that a C++ type is; `None` for all others.
fn primitive_of(type_name: &str) -> Option<Primitive> {
    Some(match type_name {
        "bool" => Primitive::Bool,
        "char" | "std::int8_t" => Primitive::Int8,
        "std::byte" | "std::uint8_t" => Primitive::UInt8,
        "std::int16_t" => Primitive::Int16,
        "std::uint16_t" => Primitive::UInt16,
        "std::int32_t" => Primitive::Int32,
        "std::uint32_t" => Primitive::UInt32,
        "std::int64_t" => Primitive::Int64,
        "std::uint64_t" => Primitive::UInt64,
        "float" => Primitive::Float32,
        "double" => Primitive::Float64,
        _ => return None,
    })
}

impl Schema {
    /// All fields that can be asked for, depth first: those at the top, and the members of records in them.
    pub fn members(&self) -> Vec<Member> {
        let mut members = Vec::with_capacity(self.top_fields.len());
        for &top in &self.top_fields {
            if let Some(field) = self.field_of(top) {
                members.push(Member {
                    path: field.name.clone(),
                    full_path: field.name.clone(),
                    name: field.name.clone(),
                    field: top,
                    chain: vec![top],
                });
                self.add_members(top, &field.name, &field.name, &[top], &mut members);
            }
        }
        members
    }

    /// `path`, `full_path` and `chain` of the field `id`.
    fn add_members(&self, id: FieldId, path: &str, full_path: &str, chain: &[FieldId], members: &mut Vec<Member>) {
        let Some(field) = self.field_of(id) else { return };
        if field.role == Role::Variant {
            return;
        }
        for &child in &field.children {
            let Some(part) = self.field_of(child) else { continue };
            let full_path = format!("{full_path}.{}", part.name);
            if field.role != Role::Record {
                // The item of a list or an array, or the value of a wrapper.
                self.add_members(child, path, &full_path, chain, members);
                continue;
            }
            let chain: Vec<FieldId> = chain.iter().copied().chain([child]).collect();
            if is_base(&part.name) {
                self.add_members(child, path, &full_path, &chain, members);
                continue;
            }
            let name = member_name(field, &part.name);
            let path = format!("{path}.{name}");
            members.push(Member {
                path: path.clone(),
                full_path: full_path.clone(),
                name,
                field: child,
                chain: chain.clone(),
            });
            self.add_members(child, &path, &full_path, &chain, members);
        }
    }
}
