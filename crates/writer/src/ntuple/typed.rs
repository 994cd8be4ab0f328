//! Fields of types that were asked for.

use arrowroot_format::column::{DataType, Name};
use arrowroot_format::rntuple::{ColumnType, FieldDescription, NO_CLASS_VERSION, NtupleColumn, Role, number_type_name};
use arrowroot_format::streamer::Primitive;
use arrowroot_format::{Error, Result};

use super::fields::{Adding, Around, ITEM, Member, Node, alternative, joined};
use crate::field_type::{BYTE, CHAR, FieldType, Kind, LISTS, MAPS, Named, precise_types};
use crate::unique::Unique;

impl Adding<'_> {
    /// Adds a field of a type.
    ///
    /// # Errors
    /// Unsupported if values of that kind are never of that type, with the types that they may have.
    pub(super) fn typed(
        &mut self,
        at: Member<'_>,
        data_type: &DataType,
        wanted: &FieldType,
        around: Around,
    ) -> Result<Node> {
        let (type_name, alias) = (wanted.name(), wanted.alias());
        let mut field = FieldDescription::new(at.name, &type_name, Role::Leaf, around.parent);
        field.description = at.title;
        field.type_alias = if alias == type_name { "" } else { &alias };
        let argument = |number: usize| wanted.arguments.get(number).ok_or_else(|| refusal(data_type, wanted));
        if wanted.unique().is_some_and(Unique::needs_check) && argument(0)?.is_rounded() {
            let what = format!("{}: what differs in it may be equal with less precision", wanted.name());
            return Err(Error::unsupported(0, what));
        }
        let of_item = Member { name: ITEM, title: "", path: at.path };
        Ok(match (data_type, &wanted.kind) {
            (DataType::Optional(value), Kind::Nullable(_) | Kind::List(_)) if **value != DataType::Nothing => {
                let (inside, ends) = self.collection(field, around)?;
                let inside = Around { is_optional: true, ..inside };
                Node::Optional { ends, item: Box::new(self.typed(of_item, value, argument(0)?, inside)?) }
            }
            (DataType::Optional(_), _) => return Err(refusal(data_type, wanted)),
            (_, Kind::Nullable(_)) => {
                let (inside, ends) = self.collection(field, around)?;
                Node::Present { ends, item: Box::new(self.typed(of_item, data_type, argument(0)?, inside)?) }
            }
            (DataType::Primitive(_), Kind::Atomic) if argument(0)?.is_single() => {
                let inside = Around { parent: Some(self.schema.add_field(&field)?), ..around };
                self.typed(of_item, data_type, argument(0)?, inside)?
            }
            (DataType::Primitive(primitive), Kind::Number(of, name)) if primitive == of => {
                let id = self.schema.add_field(&field)?;
                match *name {
                    CHAR => Node::Numbers { column: self.schema.add_column(NtupleColumn::new(ColumnType::CHAR, id))? },
                    BYTE => Node::Numbers { column: self.schema.add_column(NtupleColumn::new(ColumnType::BYTE, id))? },
                    _ => self.number(id, *primitive)?,
                }
            }
            (DataType::Primitive(primitive), Kind::Precise(of, _, encoding)) if primitive == of => {
                let id = self.schema.add_field(&field)?;
                Node::Numbers { column: self.column(id, *encoding)? }
            }
            (DataType::Primitive(Primitive::Float64), Kind::Double32) => {
                let id = self.schema.add_field(&field)?;
                Node::Narrow { column: self.column(id, self.encoding(Primitive::Float32))? }
            }
            (DataType::Primitive(primitive), Kind::Named(named))
                if is_integer(*primitive) && named.is_enumeration() =>
            {
                let inside = Around { parent: Some(self.schema.add_field(&field)?), ..around };
                self.natural(of_item, data_type, inside)?
            }
            (DataType::Text, Kind::Text) => self.natural(at, data_type, around)?,
            (DataType::Bytes, Kind::List(_)) => {
                let (inside, ends) = self.collection(field, around)?;
                let byte = DataType::Primitive(Primitive::UInt8);
                let item = self.typed(of_item, &byte, argument(0)?, inside)?;
                Node::List { ends, item: Box::new(item), unique: None }
            }
            (DataType::List(item), Kind::List(_) | Kind::Set { .. }) => {
                let (inside, ends) = self.collection(field, around)?;
                let item = Box::new(self.typed(of_item, item, argument(0)?, inside)?);
                Node::List { ends, item, unique: wanted.unique() }
            }
            (DataType::List(item) | DataType::FixedList(item, _), Kind::Array | Kind::Bitset) => {
                let n_items = match data_type {
                    DataType::FixedList(_, n_items) if *n_items != wanted.size => {
                        return Err(refusal(data_type, wanted));
                    }
                    _ => wanted.size,
                };
                field.array_size = Some(u64::from(n_items));
                let id = self.schema.add_field(&field)?;
                let inside = Around { parent: Some(id), ..around };
                let item = match (&wanted.kind, &**item) {
                    (Kind::Array, item) => self.typed(of_item, item, argument(0)?, inside)?,
                    (_, DataType::Primitive(Primitive::Bool)) => self.number(id, Primitive::Bool)?,
                    _ => return Err(refusal(data_type, wanted)),
                };
                let (n_items, item) = (n_items as usize, Box::new(item));
                if matches!(data_type, DataType::List(_)) {
                    Node::ListAsFixed { n_items, item }
                } else {
                    Node::Fixed { item }
                }
            }
            // No item says of missing ones that they have a length.
            (DataType::FixedList(item, _), Kind::List(_) | Kind::Set { .. }) if !around.is_optional => {
                let (inside, ends) = self.collection(field, around)?;
                let item = Box::new(self.typed(of_item, item, argument(0)?, inside)?);
                Node::FixedAsList { ends, item, unique: wanted.unique() }
            }
            (DataType::Map(key, value), Kind::Map { .. }) => {
                let (inside, ends) = self.collection(field, around)?;
                let item = self.numbered(of_item, &[("key", key), ("value", value)], &wanted.pair(), inside)?;
                Node::List { ends, item: Box::new(item), unique: wanted.unique() }
            }
            (DataType::Map(key, value), Kind::List(_) | Kind::Set { .. }) => {
                let (inside, ends) = self.collection(field, around)?;
                let pair = [("key".into(), (**key).clone()), ("value".into(), (**value).clone())];
                let item = self.typed(of_item, &DataType::Struct(pair.into()), argument(0)?, inside)?;
                Node::List { ends, item: Box::new(item), unique: wanted.unique() }
            }
            (DataType::List(item), Kind::Map { .. }) => {
                let DataType::Struct(members) = &**item else { return Err(refusal(data_type, wanted)) };
                let [(key_name, key), (value_name, value)] = &**members else { return Err(refusal(data_type, wanted)) };
                let (inside, ends) = self.collection(field, around)?;
                let members = [(&**key_name, key), (&**value_name, value)];
                let item = self.numbered(of_item, &members, &wanted.pair(), inside)?;
                Node::List { ends, item: Box::new(item), unique: wanted.unique() }
            }
            (DataType::Struct(members), Kind::Pair | Kind::Tuple) if members.len() == wanted.arguments.len() => {
                let members: Vec<(&str, &DataType)> = members.iter().map(|(name, member)| (&**name, member)).collect();
                self.numbered(at, &members, wanted, around)?
            }
            (DataType::Struct(members), Kind::Named(named)) => {
                let mut class = Class { members, n_taken: 0, path: at.path };
                let nodes = self.class(field, named, None, &mut class, around)?;
                Node::Struct { members: nodes }
            }
            (DataType::Variant(of), Kind::Variant) if of.len() == wanted.arguments.len() => {
                let field = FieldDescription { role: Role::Variant, ..field };
                let (inside, switch) = self.switch(&field, around)?;
                let alternatives = of.iter().zip(&wanted.arguments).enumerate().map(|(number, (of, wanted))| {
                    let (name, path) = alternative(at.path, number);
                    self.typed(Member { name: &name, title: "", path: &path }, of, wanted, inside)
                });
                Node::Variant { switch, alternatives: alternatives.collect::<Result<_>>()? }
            }
            _ => return Err(refusal(data_type, wanted)),
        })
    }

    /// Adds a class, behind its bases. `own`: the names of the members that it must have; `None`: it has all that are left.
    fn class(
        &mut self,
        field: FieldDescription<'_>,
        named: &Named,
        own: Option<&[String]>,
        class: &mut Class<'_>,
        around: Around,
    ) -> Result<Vec<Node>> {
        let (type_version, type_checksum) = (named.version.unwrap_or(NO_CLASS_VERSION), named.checksum);
        let field = FieldDescription { role: Role::Record, type_version, type_checksum, ..field };
        let inside = Around { parent: Some(self.schema.add_field(&field)?), ..around };
        let mut nodes = Vec::new();
        for (number, base) in named.bases.iter().enumerate() {
            let name = format!(":_{number}");
            let field = FieldDescription::new(&name, &base.class.name, Role::Record, inside.parent);
            nodes.extend(self.class(field, &base.class, Some(&base.members), class, inside)?);
        }
        let n_own = own.map_or(class.members.len() - class.n_taken, <[String]>::len);
        for number in 0..n_own {
            let next = class.members.get(class.n_taken);
            let expected = own.and_then(|own| own.get(number));
            let Some((name, member)) = next.filter(|(name, _)| expected.is_none_or(|expected| **name == **expected))
            else {
                let what = format!(
                    "member {:?} of the class {}: the members of bases come first, in the order of the bases",
                    expected.map_or("", String::as_str),
                    named.name
                );
                return Err(Error::unsupported(0, what));
            };
            class.n_taken += 1;
            // Members of bases that others hide have these before them in Arrow: `Left::Common::x`.
            let own_name = if own.is_some() { name.rsplit("::").next().unwrap_or(name) } else { name };
            nodes.push(self.member_called(own_name, class.path, name, member, inside)?);
        }
        Ok(nodes)
    }

    /// Adds a pair or a tuple, whose members are called by their numbers; `members`: with the names that paths have for them.
    fn numbered(
        &mut self,
        at: Member<'_>,
        members: &[(&str, &DataType)],
        wanted: &FieldType,
        around: Around,
    ) -> Result<Node> {
        let (type_name, alias) = (wanted.name(), wanted.alias());
        let mut field = FieldDescription::new(at.name, &type_name, Role::Record, around.parent);
        field.description = at.title;
        field.type_alias = if alias == type_name { "" } else { &alias };
        let inside = Around { parent: Some(self.schema.add_field(&field)?), ..around };
        let members = members.iter().zip(&wanted.arguments).enumerate().map(|(number, ((own, member), wanted))| {
            let (name, path) = (format!("_{number}"), joined(at.path, own));
            self.typed(Member { name: &name, title: "", path: &path }, member, wanted, inside)
        });
        Ok(Node::Struct { members: members.collect::<Result<_>>()? })
    }
}

/// The members of a class that are still to be added.
struct Class<'m> {
    members: &'m [(Name, DataType)],
    n_taken: usize,
    path: &'m str,
}

impl FieldType {
    /// True for what an atomic value may be.
    fn is_single(&self) -> bool {
        matches!(self.kind, Kind::Number(..) | Kind::Precise(..) | Kind::Double32 | Kind::Named(_))
    }

    /// The name that it was used by, where another stands for its type.
    pub(crate) fn alias(&self) -> String {
        let arguments = |of: &FieldType| of.arguments.iter().map(FieldType::alias).collect::<Vec<_>>().join(",");
        match &self.kind {
            Kind::Double32 => "Double32_t".to_owned(),
            Kind::Array => format!("std::array<{},{}>", arguments(self), self.size),
            _ if self.arguments.is_empty() => self.name(),
            _ => {
                let name = self.name();
                let template = name.split('<').next().unwrap_or_default();
                format!("{template}<{}>", arguments(self))
            }
        }
    }
}

impl Named {
    /// True if nothing is said that a class alone has.
    fn is_enumeration(&self) -> bool {
        self.version.is_none() && self.checksum.is_none() && self.bases.is_empty()
    }
}

fn is_integer(primitive: Primitive) -> bool {
    !matches!(
        primitive,
        Primitive::Bool | Primitive::Float16 | Primitive::Float32 | Primitive::Float64 | Primitive::Double32
    )
}

fn refusal(data_type: &DataType, wanted: &FieldType) -> Error {
    let (what, possible) = possible(data_type);
    Error::unsupported(0, format!("{} where {what}: possible are {possible}", wanted.alias()))
}

/// The kind of values, and the types that they may have.
fn possible(data_type: &DataType) -> (String, String) {
    let (what, possible) = match data_type {
        DataType::Primitive(primitive) => {
            let name = number_type_name(*primitive).unwrap_or_default();
            let more = match primitive {
                Primitive::Int8 => ", char, an enumeration".to_owned(),
                Primitive::UInt8 => ", std::byte, an enumeration".to_owned(),
                Primitive::Float32 => format!(", {}", precise_types(name)),
                Primitive::Float64 => format!(", Double32_t, {}", precise_types(name)),
                other if is_integer(*other) => ", an enumeration".to_owned(),
                _ => String::new(),
            };
            return (format!("{name} is"), format!("{name}, std::atomic<{name}>{more}; schema= makes another number"));
        }
        DataType::Text => ("texts are", "std::string".to_owned()),
        DataType::Bytes => ("bytes are", "std::vector<std::byte>, ROOT::RVec<std::byte>".to_owned()),
        DataType::List(item) => {
            let more = match &**item {
                DataType::Primitive(Primitive::Bool) => ", std::bitset<n>".to_owned(),
                DataType::Struct(members) if members.len() == 2 => format!(", {MAPS}"),
                _ => String::new(),
            };
            ("lists are", format!("{LISTS}, std::array<T,n>{more}"))
        }
        DataType::FixedList(item, n_items) => {
            let is_bool = **item == DataType::Primitive(Primitive::Bool);
            let more = if is_bool { format!(", std::bitset<{n_items}>") } else { String::new() };
            ("lists of one length are", format!("std::array<T,{n_items}>, {LISTS}{more}"))
        }
        DataType::Map(..) => ("maps are", format!("{MAPS}, std::vector<std::pair<K,V>>")),
        DataType::Struct(members) => {
            let pair = if members.len() == 2 { "std::pair<T,U>, " } else { "" };
            let what = format!("structs of {} members are", members.len());
            return (what, format!("{pair}std::tuple<T,...> of as many types, a class"));
        }
        DataType::Variant(of) => {
            let what = format!("unions of {} alternatives are", of.len());
            return (what, "std::variant<T,...> of as many types".to_owned());
        }
        DataType::Optional(value) if **value != DataType::Nothing => {
            ("values may be missing", "std::optional<T>, std::unique_ptr<T>, std::vector<T>".to_owned())
        }
        DataType::Optional(_) | DataType::Nothing | DataType::Link => {
            ("structs without members or nulls are, whose fields say if they are there", "bool alone".to_owned())
        }
    };
    (what.to_owned(), possible)
}
