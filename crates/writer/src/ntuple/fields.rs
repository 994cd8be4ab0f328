//! Fields and columns of the types of columns.
//!
//! | stored type | field |
//! |---|---|
//! | number, bool | `std::int32_t`, `float`, `bool`, ... |
//! | text | `std::string` |
//! | list, fixed list | `std::vector<T>`, `std::array<T,n>` |
//! | bytes | `std::vector<std::byte>` |
//! | optional | `std::optional<T>` |
//! | struct | untyped record |
//! | map | `std::map<K,V>` |
//! | variant | `std::variant<T,...>`; untyped if an alternative has no type name, which ROOT does not read |
//! | list, fixed list or optional of what has no type name | untyped collection, of at most one item for an optional |
//! | map of what has none | untyped collection of untyped records of `key` and `value` |
//! | optional anywhere inside an untyped collection | `std::vector<T>` of at most one item |
//! | what takes no bytes | `bool`: whether it is there |
//!
//! Fields that were asked for by their C++ types are in `typed.rs`.
//!
//! ROOT 6.40 reads these without dictionaries, but for `std::map`, of which it has some. It refuses the arrays and optionals of
//! untyped records that it writes itself (`std::array<,3>`). With a `std::optional` inside an untyped collection
//! RDataFrame opens no column of the file (`RNTupleDS::AddField` makes the collection by its empty type name).

use std::collections::{BTreeMap, BTreeSet};

use arrowroot_arrow::stored::stored_name;
use arrowroot_format::column::DataType;
use arrowroot_format::rntuple::{
    ColumnId, ColumnType, Encoding, FieldDescription, FieldId, NtupleColumn, Role, Schema, number_type_name,
};
use arrowroot_format::streamer::Primitive;
use arrowroot_format::{Error, Result};

use super::late;
use crate::field_type::FieldType;
use crate::settings::{ColumnLayout, NumberEncoding, Precision};
use crate::unique::Unique;

/// How the values of a field become elements of columns.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Numbers.
    Numbers { column: ColumnId },
    /// Numbers of double precision that are stored in single precision.
    Narrow { column: ColumnId },
    /// Bools.
    Bits { column: ColumnId },
    /// True if values that take no bytes are there, as bools.
    Validity { column: ColumnId },
    /// Texts: their ends and their bytes.
    Text { ends: ColumnId, bytes: ColumnId },
    /// Lists.
    List { ends: ColumnId, item: Box<Node>, unique: Option<Unique> },
    /// Lists of the same length everywhere, which the field says.
    Fixed { item: Box<Node> },
    /// Lists of any length, all of which have this one.
    ListAsFixed { n_items: usize, item: Box<Node> },
    /// Lists of the same length everywhere that are stored as any.
    FixedAsList { ends: ColumnId, item: Box<Node>, unique: Option<Unique> },
    /// Members.
    Struct { members: Vec<Node> },
    /// One of several alternatives, each by its number and place among those of its kind.
    Variant { switch: ColumnId, alternatives: Vec<Node> },
    /// Lists of one value or none.
    Optional { ends: ColumnId, item: Box<Node> },
    /// Lists of one value each, or of none where a variant is none of its alternatives.
    Present { ends: ColumnId, item: Box<Node> },
    /// Items of lists, or values of optionals, that another column of the table has: it stores these ends.
    Beside { ends: ColumnId, item: Box<Node> },
}

/// Adds the fields and columns of a column of the table. `is_compressed`: the bytes of numbers are split then, as ROOT does, if the
/// layout says nothing else.
///
/// # Errors
/// Unsupported for types that no field has, or no such values, and more fields than a schema has.
///
/// # Source
/// Order of fields and columns: depth first, as `RNTupleSerializer::RContext::MapSchema` (ROOT 6.40).
pub(super) fn add_column(
    schema: &mut Schema,
    name: &str,
    title: &str,
    data_type: &DataType,
    layout: &ColumnLayout,
    is_compressed: bool,
) -> Result<Node> {
    let is_split = match layout.encoding {
        NumberEncoding::Automatic => is_compressed,
        NumberEncoding::Split => true,
        NumberEncoding::Plain => false,
    };
    let is_delta = is_compressed && layout.encoding != NumberEncoding::Plain;
    let types = layout.types.iter().map(|(path, text)| {
        let found = FieldType::parse(text);
        found.map(|found| (path.clone(), found)).map_err(|what| Error::unsupported(0, format!("types: {what}")))
    });
    let types: BTreeMap<String, FieldType> = types.collect::<Result<_>>()?;
    let (precision, used) = (layout.precision, BTreeSet::new());
    let place = layout.record.as_ref().map(|record| late::place(schema, record, data_type)).transpose()?;
    let mut adding = Adding { schema, is_split, is_delta, precision, types: &types, used };
    let node = match &place {
        None => adding.member(Member { name: &stored_name(name), title, path: "" }, data_type, Around::default())?,
        Some(place) => {
            let at = Member { name: &stored_name(place.name), title, path: "" };
            place.node(adding.member(at, place.data_type, place.around())?)
        }
    };
    match types.keys().find(|path| !adding.used.contains(*path)) {
        None => Ok(node),
        Some(path) => Err(Error::unsupported(0, format!("types: it has no part {path:?} whose type may be said"))),
    }
}

/// The levels around a field.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Around {
    pub(super) parent: Option<FieldId>,
    /// It is in an untyped collection, be it with others between.
    pub(super) is_untyped: bool,
    /// It may be missing, and with it what it holds.
    pub(super) is_optional: bool,
}

/// The names of a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member<'n> {
    pub(super) name: &'n str,
    pub(super) title: &'n str,
    /// The members of structs from the column on that it is in, or is, with dots between.
    pub(super) path: &'n str,
}

/// The path of a member of the struct at another one.
pub(super) fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The name of an alternative of the variant at a path, and its own path.
pub(super) fn alternative(path: &str, number: usize) -> (String, String) {
    (format!("_{number}"), joined(path, &number.to_string()))
}

/// The C++ type of values; `None` if they are untyped. `is_untyped`: whether an untyped collection is around.
fn type_name(data_type: &DataType, is_untyped: bool) -> Option<String> {
    let name = |item: &DataType| type_name(item, is_untyped);
    Some(match data_type {
        DataType::Primitive(primitive) => number_type_name(*primitive)?.to_owned(),
        DataType::Text => "std::string".to_owned(),
        DataType::Bytes => "std::vector<std::byte>".to_owned(),
        DataType::List(item) => format!("std::vector<{}>", name(item)?),
        DataType::FixedList(item, n_items) => format!("std::array<{},{n_items}>", name(item)?),
        DataType::Optional(value) if **value == DataType::Nothing => "bool".to_owned(),
        DataType::Optional(value) if is_untyped => format!("std::vector<{}>", name(value)?),
        DataType::Optional(value) => format!("std::optional<{}>", name(value)?),
        DataType::Map(key, value) => format!("std::map<{},{}>", name(key)?, name(value)?),
        DataType::Variant(of) => {
            let names = of.iter().map(name).collect::<Option<Vec<_>>>()?;
            format!("std::variant<{}>", names.join(","))
        }
        DataType::Struct(_) | DataType::Nothing | DataType::Link => return None,
    })
}

pub(super) struct Adding<'s> {
    pub(super) schema: &'s mut Schema,
    /// The bytes of numbers are split.
    is_split: bool,
    /// The ends of lists are stored as differences.
    is_delta: bool,
    precision: Precision,
    /// The types that were asked for, by path.
    types: &'s BTreeMap<String, FieldType>,
    /// The paths of those that were found.
    used: BTreeSet<String>,
}

/// Name of the items of collections and arrays.
pub(super) const ITEM: &str = "_0";
/// Names of the members of pairs.
const PAIR: [&str; 2] = ["_0", "_1"];

/// The type of the items of a map.
fn pair_name(map: &str) -> String {
    map.strip_prefix("std::map").map_or_else(String::new, |arguments| format!("std::pair{arguments}"))
}

impl Adding<'_> {
    /// Adds the field of a column, or of a member of a struct, of the type that was asked for.
    fn member(&mut self, at: Member<'_>, data_type: &DataType, around: Around) -> Result<Node> {
        let types = self.types;
        match types.get(at.path) {
            None => self.natural(at, data_type, around),
            Some(wanted) => {
                self.used.insert(at.path.to_owned());
                self.typed(at, data_type, wanted, around)
            }
        }
    }

    /// Adds a field of the type that values of its kind have if nothing is said.
    pub(super) fn natural(&mut self, at: Member<'_>, data_type: &DataType, around: Around) -> Result<Node> {
        let typed = type_name(data_type, around.is_untyped);
        let is_typed = typed.is_some();
        let typed = typed.unwrap_or_default();
        let mut field = FieldDescription::new(at.name, &typed, Role::Leaf, around.parent);
        field.description = at.title;
        let of_item = Member { name: ITEM, title: "", path: at.path };
        match data_type {
            DataType::Primitive(primitive) => {
                let id = self.schema.add_field(&field)?;
                self.number(id, *primitive)
            }
            DataType::Text => {
                let id = self.schema.add_field(&field)?;
                let ends = self.ends(id)?;
                Ok(Node::Text { ends, bytes: self.schema.add_column(NtupleColumn::new(ColumnType::CHAR, id))? })
            }
            DataType::Bytes => {
                let (inside, ends) = self.collection(field, around)?;
                let byte = FieldDescription::new(ITEM, "std::byte", Role::Leaf, inside.parent);
                let byte = self.schema.add_field(&byte)?;
                let column = self.schema.add_column(NtupleColumn::new(ColumnType::BYTE, byte))?;
                Ok(Node::List { ends, item: Box::new(Node::Numbers { column }), unique: None })
            }
            DataType::List(item) => {
                let (inside, ends) = self.collection(field, around)?;
                Ok(Node::List { ends, item: Box::new(self.natural(of_item, item, inside)?), unique: None })
            }
            DataType::FixedList(item, n_items) if is_typed && *n_items > 0 => {
                field.array_size = Some(u64::from(*n_items));
                let inside = Around { parent: Some(self.schema.add_field(&field)?), ..around };
                Ok(Node::Fixed { item: Box::new(self.natural(of_item, item, inside)?) })
            }
            DataType::FixedList(item, _) => {
                field.type_name = "";
                let (inside, ends) = self.collection(field, around)?;
                Ok(Node::FixedAsList { ends, item: Box::new(self.natural(of_item, item, inside)?), unique: None })
            }
            DataType::Map(key, value) => {
                let (inside, ends) = self.collection(field, around)?;
                let pair = pair_name(&typed);
                let pair = FieldDescription::new(ITEM, &pair, Role::Record, inside.parent);
                let item = if is_typed {
                    self.pair(&pair, [key, value], inside)?
                } else {
                    self.members(&pair, [("key", &**key), ("value", &**value)], inside, at.path)?
                };
                Ok(Node::List { ends, item: Box::new(item), unique: is_typed.then_some(Unique::Keys) })
            }
            DataType::Struct(members) => {
                let members = members.iter().map(|(name, member)| (&**name, member));
                let field = FieldDescription { role: Role::Record, ..field };
                self.members(&field, members, around, at.path)
            }
            DataType::Variant(of) => {
                let (inside, switch) = self.switch(&FieldDescription { role: Role::Variant, ..field }, around)?;
                let alternatives = of.iter().enumerate().map(|(number, of)| {
                    let (name, path) = alternative(at.path, number);
                    self.natural(Member { name: &name, title: "", path: &path }, of, inside)
                });
                Ok(Node::Variant { switch, alternatives: alternatives.collect::<Result<_>>()? })
            }
            DataType::Optional(value) if **value == DataType::Nothing => {
                let id = self.schema.add_field(&field)?;
                Ok(Node::Validity { column: self.column(id, Encoding::Bit)? })
            }
            DataType::Optional(value) => {
                let (inside, ends) = self.collection(field, around)?;
                Ok(Node::Optional { ends, item: Box::new(self.natural(of_item, value, inside)?) })
            }
            DataType::Nothing | DataType::Link => {
                let what = format!("field {:?}: an RNTuple holds no values of type {data_type:?}", at.name);
                Err(Error::unsupported(0, what))
            }
        }
    }

    /// Adds a record, and its members: of the types that were asked for.
    fn members<'t>(
        &mut self,
        record: &FieldDescription<'_>,
        members: impl IntoIterator<Item = (&'t str, &'t DataType)>,
        around: Around,
        path: &str,
    ) -> Result<Node> {
        let inside = Around { parent: Some(self.schema.add_field(record)?), ..around };
        let add = |(name, member): (&str, &DataType)| self.member_of(path, name, member, inside);
        Ok(Node::Struct { members: members.into_iter().map(add).collect::<Result<_>>()? })
    }

    /// Adds a pair of the types that its own type says.
    fn pair(&mut self, pair: &FieldDescription<'_>, members: [&DataType; 2], around: Around) -> Result<Node> {
        let inside = Around { parent: Some(self.schema.add_field(pair)?), ..around };
        let members = PAIR.into_iter().zip(members);
        let members = members.map(|(name, of)| self.natural(Member { name, title: "", path: "" }, of, inside));
        Ok(Node::Struct { members: members.collect::<Result<_>>()? })
    }

    /// Adds a member of the struct at a path.
    fn member_of(&mut self, path: &str, name: &str, data_type: &DataType, inside: Around) -> Result<Node> {
        self.member_called(name, path, name, data_type, inside)
    }

    /// The same with another name for its field.
    pub(super) fn member_called(
        &mut self,
        field: &str,
        path: &str,
        name: &str,
        data_type: &DataType,
        inside: Around,
    ) -> Result<Node> {
        let path = joined(path, name);
        self.member(Member { name: &stored_name(field), title: "", path: &path }, data_type, inside)
    }

    /// Adds a collection; returns what is around its items, and the column of its ends.
    pub(super) fn collection(&mut self, field: FieldDescription<'_>, around: Around) -> Result<(Around, ColumnId)> {
        let is_untyped = around.is_untyped || field.type_name.is_empty();
        let id = self.schema.add_field(&FieldDescription { role: Role::Collection, ..field })?;
        Ok((Around { parent: Some(id), is_untyped, is_optional: false }, self.ends(id)?))
    }

    /// Adds a variant; returns what is around its alternatives, and the column that says which one it is.
    pub(super) fn switch(&mut self, field: &FieldDescription<'_>, around: Around) -> Result<(Around, ColumnId)> {
        let id = self.schema.add_field(field)?;
        Ok((Around { parent: Some(id), ..around }, self.column(id, Encoding::Switch)?))
    }

    fn ends(&mut self, field: FieldId) -> Result<ColumnId> {
        self.column(field, Encoding::Index { width: 8, is_delta: self.is_delta })
    }

    /// Adds the column of numbers or bools of a field.
    pub(super) fn number(&mut self, field: FieldId, primitive: Primitive) -> Result<Node> {
        Ok(match primitive {
            Primitive::Bool => Node::Bits { column: self.column(field, Encoding::Bit)? },
            primitive => Node::Numbers { column: self.column(field, self.encoding(primitive))? },
        })
    }

    pub(super) fn column(&mut self, field: FieldId, encoding: Encoding) -> Result<ColumnId> {
        let column_type = ColumnType::of(encoding);
        let column_type =
            column_type.ok_or_else(|| Error::unsupported(0, format!("columns stored as {encoding:?}")))?;
        let range = match encoding {
            Encoding::Quantized { min, max, .. } => Some((min, max)),
            _ => None,
        };
        self.schema.add_column(NtupleColumn { range, ..NtupleColumn::new(column_type, field) })
    }

    /// Source: the default column representations of `RField` (ROOT 6.40).
    pub(super) fn encoding(&self, primitive: Primitive) -> Encoding {
        match (primitive, self.precision) {
            (Primitive::Float32 | Primitive::Float64, Precision::Truncated(bits)) => {
                return Encoding::Truncated { bits };
            }
            (Primitive::Float32 | Primitive::Float64, Precision::Quantized { bits, min, max }) => {
                return Encoding::Quantized { bits, min, max };
            }
            _ => {}
        }
        match primitive {
            _ if !self.is_split || primitive.stored_bytes() == 1 => Encoding::Plain(primitive),
            Primitive::Int16 | Primitive::Int32 | Primitive::Int64 => Encoding::ZigZag(primitive),
            _ => Encoding::Split(primitive),
        }
    }
}
