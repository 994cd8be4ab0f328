//! Columns that come up later: deferred columns in the extension of the schema, of which nothing is stored up to there.

use arrowroot_format as format;
use format::rntuple::{Deferred, FieldId, Role, Schema};

use crate::error::Result;

/// Defers the columns of a schema from a number on to the element that an entry begins with. Returns the first element of each.
///
/// # Errors
/// If there are more elements than 64 bits count.
pub(super) fn defer(schema: &mut Schema, n_known: usize, first_entry: u64) -> Result<Vec<u64>> {
    let of_column = |column: usize| {
        let field = schema.columns[column].field;
        // Behind the ends of texts stand their bytes, of which there are none in the entries before.
        let is_second = column > 0 && schema.columns[column - 1].field == field;
        if is_second { Ok(0) } else { first_element(schema, field, first_entry) }
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
        let found = defer(&mut schema, 0, first_entry)?;
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
