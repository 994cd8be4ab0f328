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
//! | what takes no bytes | `bool`: whether it is there |
//!
//! ROOT reads all of these without dictionaries. It has no name for an array or an optional of an untyped record, and
//! refuses the ones that it writes itself (`std::array<,3>`, 6.40); `std::map` needs a dictionary.

use arrowroot_arrow::stored::stored_name;
use arrowroot_format::column::DataType;
use arrowroot_format::rntuple::{
    ColumnId, ColumnType, Encoding, FieldDescription, FieldId, NtupleColumn, Role, Schema, number_type_name,
};
use arrowroot_format::streamer::Primitive;
use arrowroot_format::{Error, Result};

/// How the values of a field become elements of columns.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Numbers.
    Numbers { column: ColumnId },
    /// Bools.
    Bits { column: ColumnId },
    /// Whether values that take no bytes are there, as bools.
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

/// Adds the fields and columns of a column of the table. `is_split`: whether the bytes of numbers are split, as ROOT does
/// where they are compressed.
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
    is_split: bool,
) -> Result<Node> {
    Adding { schema, is_split }.field(&stored_name(name), title, data_type, None)
}

/// The C++ type of a column's values; `None` if it is untyped.
pub(super) fn type_name(data_type: &DataType) -> Option<String> {
    Some(match data_type {
        DataType::Primitive(primitive) => number_type_name(*primitive)?.to_owned(),
        DataType::Text => "std::string".to_owned(),
        DataType::Bytes => "std::vector<std::byte>".to_owned(),
        DataType::List(item) => format!("std::vector<{}>", type_name(item)?),
        DataType::FixedList(item, n_items) => format!("std::array<{},{n_items}>", type_name(item)?),
        DataType::Optional(value) if **value == DataType::Nothing => "bool".to_owned(),
        DataType::Optional(value) => format!("std::optional<{}>", type_name(value)?),
        DataType::Struct(_) | DataType::Map(..) | DataType::Nothing | DataType::Link => return None,
    })
}

struct Adding<'s> {
    schema: &'s mut Schema,
    is_split: bool,
}

/// Name of the items of collections and arrays.
const ITEM: &str = "_0";

impl Adding<'_> {
    fn field(&mut self, name: &str, title: &str, data_type: &DataType, parent: Option<FieldId>) -> Result<Node> {
        let typed = type_name(data_type);
        let is_typed = typed.is_some();
        let typed = typed.unwrap_or_default();
        let mut field = FieldDescription::new(name, &typed, Role::Leaf, parent);
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
                let (id, ends) = self.collection(field)?;
                let byte = FieldDescription::new(ITEM, "std::byte", Role::Leaf, Some(id));
                let byte = self.schema.add_field(&byte)?;
                let column = self.schema.add_column(NtupleColumn::new(ColumnType::BYTE, byte))?;
                Ok(Node::List { ends, item: Box::new(Node::Numbers { column }) })
            }
            DataType::List(item) => {
                let (id, ends) = self.collection(field)?;
                Ok(Node::List { ends, item: Box::new(self.field(ITEM, "", item, Some(id))?) })
            }
            DataType::FixedList(item, n_items) if is_typed && *n_items > 0 => {
                field.array_size = Some(u64::from(*n_items));
                let id = self.schema.add_field(&field)?;
                Ok(Node::Fixed { item: Box::new(self.field(ITEM, "", item, Some(id))?) })
            }
            DataType::FixedList(item, _) => {
                field.type_name = "";
                let (id, ends) = self.collection(field)?;
                Ok(Node::FixedAsList { ends, item: Box::new(self.field(ITEM, "", item, Some(id))?) })
            }
            DataType::Map(key, value) => {
                let (id, ends) = self.collection(field)?;
                let members = [("key", &**key), ("value", &**value)];
                Ok(Node::List { ends, item: Box::new(self.record(ITEM, "", members, Some(id))?) })
            }
            DataType::Struct(members) => {
                let members = members.iter().map(|(name, member)| (&**name, member));
                self.record(name, title, members, parent)
            }
            DataType::Optional(value) if **value == DataType::Nothing => {
                let id = self.schema.add_field(&field)?;
                Ok(Node::Validity { column: self.column(id, Encoding::Bit)? })
            }
            DataType::Optional(value) => {
                let (id, ends) = self.collection(field)?;
                Ok(Node::Optional { ends, item: Box::new(self.field(ITEM, "", value, Some(id))?) })
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
        parent: Option<FieldId>,
    ) -> Result<Node> {
        let mut field = FieldDescription::new(name, "", Role::Record, parent);
        field.description = title;
        let id = self.schema.add_field(&field)?;
        let add = |(name, member)| self.field(&stored_name(name), "", member, Some(id));
        Ok(Node::Struct { members: members.into_iter().map(add).collect::<Result<_>>()? })
    }

    fn collection(&mut self, field: FieldDescription<'_>) -> Result<(FieldId, ColumnId)> {
        let id = self.schema.add_field(&FieldDescription { role: Role::Collection, ..field })?;
        Ok((id, self.ends(id)?))
    }

    fn ends(&mut self, field: FieldId) -> Result<ColumnId> {
        self.column(field, Encoding::Index { width: 8, is_delta: self.is_split })
    }

    fn column(&mut self, field: FieldId, encoding: Encoding) -> Result<ColumnId> {
        let column_type = ColumnType::of(encoding);
        let column_type =
            column_type.ok_or_else(|| Error::unsupported(0, format!("columns stored as {encoding:?}")))?;
        self.schema.add_column(NtupleColumn::new(column_type, field))
    }

    /// Source: the default column representations of `RField` (ROOT 6.40).
    fn encoding(&self, primitive: Primitive) -> Encoding {
        match primitive {
            _ if !self.is_split || primitive.stored_bytes() == 1 => Encoding::Plain(primitive),
            Primitive::Int16 | Primitive::Int32 | Primitive::Int64 => Encoding::ZigZag(primitive),
            _ => Encoding::Split(primitive),
        }
    }
}
