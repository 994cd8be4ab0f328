//! Fields whose C++ types say that values may be missing.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};

use crate::field_type::{FieldType, Kind};

/// A field that is nullable, with the members in it, where its C++ types make the default value a missing one: readers find it
/// missing in entries that have none. `types`: as those of [`ColumnLayout::types`](crate::settings::ColumnLayout::types).
pub fn nullable_as_typed(field: &Field, types: &[(String, String)]) -> Field {
    // What is no type is refused where the field is added.
    let types = types.iter().filter_map(|(path, text)| Some((path.as_str(), FieldType::parse(text).ok()?)));
    let types: BTreeMap<&str, FieldType> = types.collect();
    if types.is_empty() { field.clone() } else { Typed(&types).field(field, types.get(""), "") }
}

/// The types that were asked for, by path.
struct Typed<'t>(&'t BTreeMap<&'t str, FieldType>);

impl Typed<'_> {
    fn field(&self, field: &Field, wanted: Option<&FieldType>, path: &str) -> Field {
        // A union that is none of its members is a missing value already.
        if field.is_nullable() || matches!(field.data_type(), DataType::Union(..)) {
            return field.clone();
        }
        let argument = wanted.and_then(|wanted| wanted.arguments.first());
        let data_type = match (field.data_type(), wanted.map(|wanted| &wanted.kind)) {
            (_, Some(Kind::Nullable(_))) => return field.clone().with_nullable(true),
            (DataType::Struct(members), Some(Kind::Pair | Kind::Tuple)) => {
                let arguments = wanted.into_iter().flat_map(|wanted| wanted.arguments.iter().map(Some));
                let members = members.iter().zip(arguments.chain(std::iter::repeat(None)));
                let members = members.map(|(member, wanted)| Arc::new(self.field(member, wanted, path)));
                DataType::Struct(members.collect())
            }
            (DataType::Struct(members), _) => {
                let members = members.iter().map(|member| {
                    let name = member.name();
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    Arc::new(self.field(member, self.0.get(path.as_str()), &path))
                });
                DataType::Struct(members.collect())
            }
            (DataType::FixedSizeList(item, n_items), _) => {
                DataType::FixedSizeList(self.item(item, argument, path), *n_items)
            }
            (DataType::List(item), Some(Kind::Array)) => DataType::List(self.item(item, argument, path)),
            (DataType::LargeList(item), Some(Kind::Array)) => DataType::LargeList(self.item(item, argument, path)),
            _ => return field.clone(),
        };
        field.clone().with_data_type(data_type)
    }

    fn item(&self, item: &FieldRef, wanted: Option<&FieldType>, path: &str) -> FieldRef {
        Arc::new(self.field(item, wanted, path))
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::Fields;

    use super::*;

    fn field(name: &str, data_type: DataType) -> Field {
        Field::new(name, data_type, false)
    }

    fn record(members: Vec<Field>) -> DataType {
        DataType::Struct(Fields::from(members))
    }

    #[test]
    fn what_a_type_lets_be_missing_is_nullable_where_a_default_value_has_it() {
        let number = || field("item", DataType::Int32);
        let pair = || record(vec![field("a", DataType::Int32), field("b", DataType::Utf8)]);
        let lists = |item: Field| DataType::List(Arc::new(item));
        let fixed = |item: Field| DataType::FixedSizeList(Arc::new(item), 3);
        let cases = [
            (DataType::Int32, "", "std::optional<int>", "x"),
            (DataType::Int32, "", "int", ""),
            (pair(), "", "std::pair<int,std::unique_ptr<std::string>>", "b"),
            (pair(), "b", "std::optional<std::string>", "b"),
            (pair(), "", "std::optional<Pair>", "x"),
            (fixed(number()), "", "std::array<std::optional<int>,3>", "item"),
            (fixed(field("item", pair())), "a", "std::optional<int>", "a"),
            (lists(number()), "", "std::array<std::optional<int>,3>", "item"),
            // Lists are empty by default.
            (lists(number()), "", "std::vector<std::optional<int>>", ""),
            (lists(field("item", pair())), "a", "std::optional<int>", ""),
        ];
        for (data_type, path, text, expected) in cases {
            let found = nullable_as_typed(&field("x", data_type), &[(path.to_owned(), text.to_owned())]);
            let mut names = Vec::new();
            nullable_in(&found, &mut names);
            assert_eq!(names.concat(), expected, "{text}");
        }
    }

    fn nullable_in(field: &Field, names: &mut Vec<String>) {
        names.extend(field.is_nullable().then(|| field.name().clone()));
        match field.data_type() {
            DataType::Struct(members) => members.iter().for_each(|member| nullable_in(member, names)),
            DataType::List(item) | DataType::FixedSizeList(item, _) => nullable_in(item, names),
            _ => {}
        }
    }
}
