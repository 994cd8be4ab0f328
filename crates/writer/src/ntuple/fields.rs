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
//! | map | untyped collection of untyped records of `key` and `value` |
//! | list, fixed list or optional of what has no type name | untyped collection, of at most one item for an optional |
//! | optional anywhere inside an untyped collection | `std::vector<T>` of at most one item |
//! | what takes no bytes | `bool`: whether it is there |
//!
//! ROOT 6.40 reads all of these without dictionaries. It refuses the arrays and optionals of untyped records that it writes
//! itself (`std::array<,3>`), and needs a dictionary for `std::map`. With a `std::optional` inside an untyped collection
//! RDataFrame opens no column of the file (`RNTupleDS::AddField` makes the collection by its empty type name).

use arrowroot_arrow::stored::stored_name;
use arrowroot_format::column::DataType;
use arrowroot_format::rntuple::{
    ColumnId, ColumnType, Encoding, FieldDescription, FieldId, NtupleColumn, Role, Schema, number_type_name,
};
use arrowroot_format::streamer::Primitive;
use arrowroot_format::{Error, Result};

use crate::settings::{ColumnLayout, NumberEncoding, Precision};

/// How the values of a field become elements of columns.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Numbers.
    Numbers { column: ColumnId },
    /// Bools.
    Bits { column: ColumnId },
    /// True if values that take no bytes are there, as bools.
    Validity { column: ColumnId },
    /// Texts: their ends and their bytes.
    Text { ends: ColumnId, bytes: ColumnId },
    /// Lists.
    List { ends: ColumnId, item: Box<Node> },
    /// Lists of the same length everywhere, which the field says.
    Fixed { item: Box<Node> },
    /// Lists of the same length everywhere that are stored as any.
    FixedAsList { ends: ColumnId, item: Box<Node> },
    /// Members.
    Struct { members: Vec<Node> },
    /// Lists of one value or none.
    Optional { ends: ColumnId, item: Box<Node> },
}

/// Adds the fields and columns of a column of the table. `is_compressed`: the bytes of numbers are split then, as ROOT does, if the
/// layout says nothing else.
///
/// # Errors
/// Unsupported for types that no field has, and more fields than a schema has.
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
    Adding { schema, is_split, is_delta, precision: layout.precision }.field(
        &stored_name(name),
        title,
        data_type,
        Around::default(),
    )
}

/// The levels around a field.
#[derive(Debug, Clone, Copy, Default)]
struct Around {
    parent: Option<FieldId>,
    /// It is in an untyped collection, be it with others between.
    is_untyped: bool,
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
        DataType::Struct(_) | DataType::Map(..) | DataType::Nothing | DataType::Link => return None,
    })
}

struct Adding<'s> {
    schema: &'s mut Schema,
    /// The bytes of numbers are split.
    is_split: bool,
    /// The ends of lists are stored as differences.
    is_delta: bool,
    precision: Precision,
}

/// Name of the items of collections and arrays.
pub(super) const ITEM: &str = "_0";

impl Adding<'_> {
    fn field(&mut self, name: &str, title: &str, data_type: &DataType, around: Around) -> Result<Node> {
        let typed = type_name(data_type, around.is_untyped);
        let is_typed = typed.is_some();
        let typed = typed.unwrap_or_default();
        let mut field = FieldDescription::new(name, &typed, Role::Leaf, around.parent);
        field.description = title;
        match data_type {
            DataType::Primitive(Primitive::Bool) => {
                let id = self.schema.add_field(&field)?;
                Ok(Node::Bits { column: self.column(id, Encoding::Bit)? })
            }
            DataType::Primitive(primitive) => {
                let id = self.schema.add_field(&field)?;
                Ok(Node::Numbers { column: self.column(id, self.encoding(*primitive))? })
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
                Ok(Node::List { ends, item: Box::new(Node::Numbers { column }) })
            }
            DataType::List(item) => {
                let (inside, ends) = self.collection(field, around)?;
                Ok(Node::List { ends, item: Box::new(self.field(ITEM, "", item, inside)?) })
            }
            DataType::FixedList(item, n_items) if is_typed && *n_items > 0 => {
                field.array_size = Some(u64::from(*n_items));
                let inside = Around { parent: Some(self.schema.add_field(&field)?), ..around };
                Ok(Node::Fixed { item: Box::new(self.field(ITEM, "", item, inside)?) })
            }
            DataType::FixedList(item, _) => {
                field.type_name = "";
                let (inside, ends) = self.collection(field, around)?;
                Ok(Node::FixedAsList { ends, item: Box::new(self.field(ITEM, "", item, inside)?) })
            }
            DataType::Map(key, value) => {
                let (inside, ends) = self.collection(field, around)?;
                let members = [("key", &**key), ("value", &**value)];
                Ok(Node::List { ends, item: Box::new(self.record(ITEM, "", members, inside)?) })
            }
            DataType::Struct(members) => {
                let members = members.iter().map(|(name, member)| (&**name, member));
                self.record(name, title, members, around)
            }
            DataType::Optional(value) if **value == DataType::Nothing => {
                let id = self.schema.add_field(&field)?;
                Ok(Node::Validity { column: self.column(id, Encoding::Bit)? })
            }
            DataType::Optional(value) => {
                let (inside, ends) = self.collection(field, around)?;
                Ok(Node::Optional { ends, item: Box::new(self.field(ITEM, "", value, inside)?) })
            }
            DataType::Nothing | DataType::Link => {
                Err(Error::unsupported(0, format!("field {name:?}: an RNTuple holds no values of type {data_type:?}")))
            }
        }
    }

    fn record<'t>(
        &mut self,
        name: &str,
        title: &str,
        members: impl IntoIterator<Item = (&'t str, &'t DataType)>,
        around: Around,
    ) -> Result<Node> {
        let mut field = FieldDescription::new(name, "", Role::Record, around.parent);
        field.description = title;
        let inside = Around { parent: Some(self.schema.add_field(&field)?), ..around };
        let add = |(name, member)| self.field(&stored_name(name), "", member, inside);
        Ok(Node::Struct { members: members.into_iter().map(add).collect::<Result<_>>()? })
    }

    /// Adds a collection; returns what is around its items, and the column of its ends.
    fn collection(&mut self, field: FieldDescription<'_>, around: Around) -> Result<(Around, ColumnId)> {
        let is_untyped = around.is_untyped || field.type_name.is_empty();
        let id = self.schema.add_field(&FieldDescription { role: Role::Collection, ..field })?;
        Ok((Around { parent: Some(id), is_untyped }, self.ends(id)?))
    }

    fn ends(&mut self, field: FieldId) -> Result<ColumnId> {
        self.column(field, Encoding::Index { width: 8, is_delta: self.is_delta })
    }

    fn column(&mut self, field: FieldId, encoding: Encoding) -> Result<ColumnId> {
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
    fn encoding(&self, primitive: Primitive) -> Encoding {
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
