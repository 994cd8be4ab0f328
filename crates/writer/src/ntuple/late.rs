//! Columns that come up later: deferred columns in the extension of the schema, of which nothing is stored up to there.
//!
//! Columns inside of collections that have items already are filled up, and lists that must have items in the entries before:
//! see `back_fill.rs`.

use arrowroot_arrow::stored::stored_name;
use arrowroot_format as format;
use format::column::DataType;
use format::rntuple::{ColumnId, Deferred, FieldId, Role, Schema};

use super::fields::{Around, ITEM, Node};
use crate::column::Column;
use crate::error::{Error, Result};

/// The place of a member that comes up later, of a column of structs.
pub(super) struct LatePlace<'t> {
    /// The field of the struct.
    record: FieldId,
    pub(super) name: &'t str,
    pub(super) data_type: &'t DataType,
    /// The levels down to it: the column of the ends of lists, `None` for a struct.
    levels: Vec<Option<ColumnId>>,
}

/// Finds the place of a member, by a type that has the levels of that of the column down to it.
///
/// # Errors
/// Unsupported if the struct has a class, or is in something of a type that C++ says: these have their members. One that had
/// none so far is stored as a bool, which has no place for them.
///
/// # Source
/// `RNTupleModel::RUpdater::AddField` (ROOT 6.40), which adds to untyped records alone.
pub(super) fn place<'t>(schema: &Schema, record: &str, mut data_type: &'t DataType) -> format::Result<LatePlace<'t>> {
    let child = |parent: Option<FieldId>, name: &str| {
        let mut fields = schema.fields().filter(|field| field.parent() == parent && field.source().is_none());
        fields.find(|field| field.name() == name)
    };
    let none = || format::Error::unsupported(0, format!("column {record:?} has no records"));
    let mut field = child(None, &stored_name(record)).ok_or_else(none)?;
    let mut levels = Vec::new();
    loop {
        let is_open = field.type_name().is_empty();
        let (level, next, inner) = match (data_type, field.role()) {
            (DataType::Struct(members), Role::Record) if is_open && members.len() == 1 => {
                let (name, member) = &members[0];
                let known = child(Some(field.id()), &stored_name(name));
                let Some(known) = known else {
                    levels.push(None);
                    return Ok(LatePlace { record: field.id(), name, data_type: member, levels });
                };
                (None, known, member)
            }
            (DataType::List(item) | DataType::FixedList(item, _) | DataType::Optional(item), Role::Collection)
                if is_open =>
            {
                let ends = schema.columns.iter().position(|column| column.field == field.id());
                let ends = ends.and_then(|place| u32::try_from(place).ok()).ok_or_else(none)?;
                (Some(ColumnId(ends)), child(Some(field.id()), ITEM).ok_or_else(none)?, &**item)
            }
            _ => return Err(closed(field.type_name())),
        };
        levels.push(level);
        (field, data_type) = (next, inner);
    }
}

/// Why a field gets no members.
fn closed(type_name: &str) -> format::Error {
    let mut inner = type_name;
    while let Some(rest) =
        ["std::vector<", "std::array<", "std::optional<"].iter().find_map(|of| inner.strip_prefix(of))
    {
        inner = rest;
    }
    let what = if inner.split(['>', ',']).next() == Some("bool") {
        "records without members are stored as a bool and get none later".to_owned()
    } else {
        format!("the members of {type_name:?} are those of its C++ type, none comes up later")
    };
    format::Error::unsupported(0, format!("{what}: give schema= with all members"))
}

impl LatePlace<'_> {
    /// The levels around the member.
    pub(super) fn around(&self) -> Around {
        Around { parent: Some(self.record), is_untyped: self.is_inside(), is_optional: false }
    }

    /// True if the struct is in lists, or may be missing.
    fn is_inside(&self) -> bool {
        self.levels.iter().any(Option::is_some)
    }

    /// The node of values that have all levels.
    pub(super) fn node(&self, member: Node) -> Node {
        self.levels.iter().rev().fold(member, |node, level| match level {
            Some(ends) => Node::Beside { ends: *ends, item: Box::new(node) },
            None => Node::Struct { members: vec![node] },
        })
    }
}

/// True if some of these columns are members of structs that are in lists, or may be missing.
///
/// # Errors
/// [`Error::InvalidRequest`] for a member that has no place.
pub(super) fn are_inside(schema: &Schema, columns: &[Column]) -> Result<bool> {
    let mut found = false;
    for column in columns {
        if let Some(record) = &column.layout.record {
            let place = place(schema, record, &column.data_type);
            let place = place.map_err(|error| invalid(&column.name, &error.fault().what))?;
            found |= place.is_inside();
        }
    }
    Ok(found)
}

pub(super) fn invalid(column: &str, what: &str) -> Error {
    Error::InvalidRequest { what: format!("column {column:?}: {what}") }
}

/// Defers the columns of a schema from a number on to the element that an entry begins with, but those that are filled up.
/// Returns the first element of each.
///
/// # Errors
/// If there are more elements than 64 bits count.
pub(super) fn defer(
    schema: &mut Schema,
    n_known: usize,
    first_entry: u64,
    is_filled: impl Fn(usize) -> bool,
) -> Result<Vec<u64>> {
    let of_column = |column: usize| {
        let field = schema.columns[column].field;
        // Behind the ends of texts stand their bytes, of which there are none in the entries before.
        let is_second = column > 0 && schema.columns[column - 1].field == field;
        if is_second || is_filled(column) { Ok(0) } else { first_element(schema, field, first_entry) }
    };
    let firsts: Vec<u64> = (n_known..schema.columns.len()).map(of_column).collect::<Result<_>>()?;
    for (column, &first_element) in schema.columns[n_known..].iter_mut().zip(&firsts) {
        column.deferred = (first_element > 0).then_some(Deferred { first_element, is_suppressed: false });
    }
    Ok(firsts)
}

/// The first element of a field that an entry has: those before are zero. The items of collections are counted from 0 on, as
/// there are none in the entries before.
///
/// Source: `RFieldBase::EntryToColumnElementIndex`, and `ConnectPageSink`, which calls it (ROOT 6.40).
fn first_element(schema: &Schema, field: FieldId, first_entry: u64) -> Result<u64> {
    let (mut element, mut field) = (first_entry, schema.at(field));
    loop {
        element = element
            .checked_mul(field.array_size().unwrap_or(1).max(1))
            .filter(|&first| first < 1 << 63)
            .ok_or_else(|| format::Error::unsupported(0, format!("field {:?}: 2^63 elements or more", field.name())))?;
        let Some(parent) = field.parent() else { return Ok(element) };
        field = schema.at(parent);
        if matches!(field.role(), Role::Collection | Role::Variant) {
            return Ok(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use arrowroot_format::column::DataType;
    use arrowroot_format::streamer::Primitive;

    use super::*;
    use crate::ntuple::fields;
    use crate::settings::ColumnLayout;

    fn firsts(data_type: &DataType, first_entry: u64) -> Result<Vec<u64>> {
        let mut schema = Schema::new("T", "", "test");
        fields::add_column(&mut schema, "x", "", data_type, &ColumnLayout::default(), true).unwrap();
        let found = defer(&mut schema, 0, first_entry, |_| false)?;
        let said = schema.columns.iter().map(|column| column.deferred.map_or(0, |deferred| deferred.first_element));
        assert_eq!(said.collect::<Vec<_>>(), found);
        Ok(found)
    }

    #[test]
    fn elements_are_counted_by_arrays_and_not_inside_of_collections() {
        let number = || DataType::Primitive(Primitive::Int32);
        let fixed = |item, n_items| DataType::FixedList(Box::new(item), n_items);
        let members = [("a".into(), fixed(number(), 2)), ("b".into(), DataType::Text)];
        let cases = [
            (number(), vec![7]),
            (DataType::Text, vec![7, 0]),
            (fixed(fixed(number(), 2), 3), vec![42]),
            (DataType::List(Box::new(fixed(number(), 2))), vec![7, 0]),
            (DataType::Optional(Box::new(number())), vec![7, 0]),
            (DataType::Struct(members.into_iter().collect()), vec![14, 7, 0]),
        ];
        for (data_type, expected) in cases {
            assert_eq!(firsts(&data_type, 7).unwrap(), expected, "{data_type:?}");
        }
        assert!(firsts(&fixed(number(), 8), 1 << 60).unwrap_err().to_string().contains("2^63"));
    }
}
