//! Fields whose C++ types say that values may be missing.

use std::collections::BTreeMap;
use std::iter::repeat;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};
use arrowroot_arrow::stored;
use arrowroot_format::column::DataType as StoredType;

use super::fields::joined;
use crate::field_type::{FieldType, Kind};

/// A field that is nullable, with the fields in it, where its C++ types let values be missing, if an RNTuple has it so. `types`: as
/// those of [`ColumnLayout::types`](crate::settings::ColumnLayout::types).
pub fn nullable_as_typed(field: &Field, types: &[(String, String)]) -> Field {
    // What is no type is refused where the field is added.
    let parsed = types.iter().filter_map(|(path, text)| Some((path.as_str(), FieldType::parse(text).ok()?)));
    let parsed: BTreeMap<&str, FieldType> = parsed.collect();
    if parsed.is_empty() {
        return field.clone();
    }
    Typed(&parsed).field(field, parsed.get(""), "")
}

/// The types that were asked for, by path.
struct Typed<'t>(&'t BTreeMap<&'t str, FieldType>);

impl Typed<'_> {
    fn field(&self, field: &Field, wanted: Option<&FieldType>, path: &str) -> Field {
        let is_nullable = field.is_nullable();
        let (may_be_missing, wanted) = match wanted.map(|wanted| &wanted.kind) {
            Some(Kind::Nullable(_)) => (true, argument(wanted, 0)),
            // A vector of one value or none.
            Some(Kind::List(_)) if is_nullable && !matches!(field.data_type(), DataType::Null) => {
                (true, argument(wanted, 0))
            }
            _ => (is_nullable, wanted),
        };
        let may_be_missing = is_nullable || (may_be_missing && !self.has_length_of_type(field, wanted, path));
        // A union that is none of its members is a missing value already.
        let is_union = matches!(field.data_type(), DataType::Union(..));
        let data_type = self.data_type(field.data_type(), wanted, path);
        field.clone().with_data_type(data_type).with_nullable(if is_union { is_nullable } else { may_be_missing })
    }

    /// True for a field with lists of one length that are stored as any: they have it of their type alone, so that none may be missing.
    fn has_length_of_type(&self, field: &Field, wanted: Option<&FieldType>, path: &str) -> bool {
        // What is not stored is refused where the field is added.
        stored::data_type(field).is_ok_and(|data_type| self.has_fixed_as_list(&data_type, wanted, path))
    }

    /// The same of a stored type. Lists of any length have no items where they are missing.
    fn has_fixed_as_list(&self, data_type: &StoredType, wanted: Option<&FieldType>, path: &str) -> bool {
        let inside = |of: &StoredType, number| self.has_fixed_as_list(of, argument(wanted, number), path);
        match (data_type, wanted.map(|wanted| &wanted.kind)) {
            (StoredType::Optional(value), Some(Kind::Nullable(_) | Kind::List(_))) => inside(value, 0),
            (StoredType::Optional(value), _) => self.has_fixed_as_list(value, wanted, path),
            (_, Some(Kind::Nullable(_))) => inside(data_type, 0),
            (StoredType::FixedList(..), Some(Kind::List(_) | Kind::Set { .. })) => true,
            (StoredType::FixedList(item, _), Some(Kind::Array)) => inside(item, 0),
            (StoredType::FixedList(item, _), None) => !stored::has_type_name(item),
            (StoredType::Variant(of), _) => of.iter().enumerate().any(|(number, of)| {
                self.has_fixed_as_list(of, argument(wanted, number), &joined(path, &number.to_string()))
            }),
            (StoredType::Struct(members), Some(Kind::Pair | Kind::Tuple)) => members
                .iter()
                .enumerate()
                .any(|(number, (name, of))| self.has_fixed_as_list(of, argument(wanted, number), &joined(path, name))),
            (StoredType::Struct(members), _) => members.iter().any(|(name, of)| {
                let path = joined(path, name);
                self.has_fixed_as_list(of, self.0.get(path.as_str()), &path)
            }),
            _ => false,
        }
    }

    fn data_type(&self, data_type: &DataType, wanted: Option<&FieldType>, path: &str) -> DataType {
        match data_type {
            DataType::Struct(members) => {
                let named = members.iter().map(|member| (member, member.name().as_str()));
                DataType::Struct(self.members(named, wanted, path))
            }
            DataType::List(item) => DataType::List(self.item(item, wanted, path)),
            DataType::LargeList(item) => DataType::LargeList(self.item(item, wanted, path)),
            DataType::ListView(item) => DataType::ListView(self.item(item, wanted, path)),
            DataType::LargeListView(item) => DataType::LargeListView(self.item(item, wanted, path)),
            DataType::FixedSizeList(item, n_items) => DataType::FixedSizeList(self.item(item, wanted, path), *n_items),
            DataType::Map(entries, is_sorted) => {
                let DataType::Struct(pair) = entries.data_type() else { return data_type.clone() };
                let wanted = item_of(wanted);
                let names = ["key", "value"].into_iter();
                let found = self.members(pair.iter().zip(names), wanted.as_ref(), path);
                // Keys are never missing in Arrow.
                let members = pair.iter().zip(&found).enumerate().map(|(number, (own, found))| {
                    let is_nullable = found.is_nullable() && (number > 0 || own.is_nullable());
                    Arc::new(found.as_ref().clone().with_nullable(is_nullable))
                });
                let pair = DataType::Struct(members.collect());
                DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(pair)), *is_sorted)
            }
            DataType::Union(fields, mode) => {
                let arguments = wanted.into_iter().flat_map(|wanted| &wanted.arguments);
                let mut arguments = (0..).zip(arguments.map(Some).chain(repeat(None)));
                let fields = fields.iter().map(|(id, field)| {
                    let is_none = *field.data_type() == DataType::Null;
                    let (number, wanted) = if is_none { (0, None) } else { arguments.next().unwrap_or((0, None)) };
                    let is_optional = wanted.is_some_and(|wanted| matches!(wanted.kind, Kind::Nullable(_)));
                    let wanted = if is_optional { argument(wanted, 0) } else { wanted };
                    let path = joined(path, &i32::to_string(&number));
                    let data_type = self.data_type(field.data_type(), wanted, &path);
                    (id, Arc::new(field.as_ref().clone().with_data_type(data_type)))
                });
                DataType::Union(fields.collect(), *mode)
            }
            _ => data_type.clone(),
        }
    }

    /// `named`: members with the names that paths have for them.
    fn members<'f>(
        &self,
        named: impl Iterator<Item = (&'f FieldRef, &'f str)>,
        wanted: Option<&FieldType>,
        path: &str,
    ) -> Fields {
        let numbered = wanted.filter(|wanted| matches!(wanted.kind, Kind::Pair | Kind::Tuple));
        let named = named.enumerate().map(|(number, (member, name))| {
            let path = joined(path, name);
            let own = numbered.map_or_else(|| self.0.get(path.as_str()), |of| of.arguments.get(number));
            Arc::new(self.field(member, own, &path))
        });
        named.collect()
    }

    fn item(&self, item: &FieldRef, wanted: Option<&FieldType>, path: &str) -> FieldRef {
        Arc::new(self.field(item, item_of(wanted).as_ref(), path))
    }
}

/// The type of the items of a collection.
fn item_of(wanted: Option<&FieldType>) -> Option<FieldType> {
    let wanted = wanted?;
    if matches!(wanted.kind, Kind::Map { .. }) { Some(wanted.pair()) } else { wanted.arguments.first().cloned() }
}

fn argument(wanted: Option<&FieldType>, number: usize) -> Option<&FieldType> {
    wanted?.arguments.get(number)
}

#[cfg(test)]
mod tests {
    use arrow_schema::{UnionFields, UnionMode};

    use super::super::check_types;
    use super::*;

    fn field(name: &str, data_type: DataType) -> Field {
        Field::new(name, data_type, false)
    }

    fn record(members: Vec<Field>) -> DataType {
        DataType::Struct(Fields::from(members))
    }

    #[test]
    fn what_a_type_lets_be_missing_is_nullable_at_every_depth() {
        let number = || field("item", DataType::Int32);
        let pair = || record(vec![field("a", DataType::Int32), field("b", DataType::Utf8)]);
        let lists = |item: Field| DataType::List(Arc::new(item));
        let map = || {
            let pair = record(vec![field("a", DataType::Int32), field("b", DataType::Utf8)]);
            DataType::Map(Arc::new(field("entries", pair)), false)
        };
        let union = |fields: Vec<Field>| DataType::Union(UnionFields::from_fields(fields), UnionMode::Dense);
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
            (lists(number()), "", "std::vector<std::optional<int>>", "item"),
            (lists(number()), "", "std::optional<std::set<std::unique_ptr<int>>>", "xitem"),
            (lists(field("item", pair())), "a", "std::optional<int>", "a"),
            (lists(field("item", pair())), "", "std::map<int,std::optional<std::string>>", "b"),
            (map(), "", "std::map<int,std::optional<std::string>>", "b"),
            (map(), "", "std::vector<std::pair<std::optional<int>,std::string>>", ""),
            (
                union(vec![number(), field("l", lists(number()))]),
                "",
                "std::variant<int,std::vector<std::optional<int>>>",
                "item",
            ),
            (
                union(vec![field("l", lists(number()))]),
                "",
                "std::optional<std::variant<std::vector<std::optional<int>>>>",
                "item",
            ),
        ];
        for (data_type, path, text, expected) in cases {
            assert_eq!(nullable(data_type, &[(path, text)]), expected, "{text}");
        }
    }

    /// The types that are asked for, by path.
    type Types<'a> = &'a [(&'a str, &'a str)];

    #[test]
    fn lists_that_have_their_length_of_their_type_alone_are_there_and_others_may_be_missing() {
        let number = |name| field(name, DataType::Int32);
        let fixed = |item: Field| DataType::FixedSizeList(Arc::new(item), 2);
        let lists = |item: Field| DataType::List(Arc::new(item));
        let pair = |item: Field| record(vec![field("l", fixed(item)), number("a")]);
        let (vector, optional) = (("l", "std::vector<int>"), ("a", "std::optional<int>"));
        let records = |n| DataType::FixedSizeList(Arc::new(field("s", record(vec![number("q")]))), n);
        let cases: [(DataType, Types, &str); 14] = [
            (fixed(number("i")), &[("", "std::optional<std::vector<int>>")], ""),
            (fixed(number("i")), &[("", "std::optional<std::vector<std::optional<int>>>")], "i"),
            (fixed(number("i")), &[("", "std::optional<std::array<std::optional<int>,2>>")], "xi"),
            (fixed(field("i", fixed(number("j")))), &[("", "std::optional<std::array<std::set<int>,2>>")], ""),
            (DataType::FixedSizeBinary(2), &[("", "std::optional<std::vector<std::uint8_t>>")], ""),
            (pair(number("i")), &[("l", "std::optional<std::vector<int>>"), optional], "a"),
            (pair(number("i")), &[vector, optional], "a"),
            (pair(number("i")), &[("", "std::optional<Pair>"), vector, optional], "a"),
            (pair(number("i")), &[("", "std::optional<Pair>"), ("l", "std::array<int,2>"), optional], "xa"),
            (pair(number("i")), &[("", "std::optional<std::pair<std::vector<int>,std::optional<int>>>")], "a"),
            (
                record(vec![field("r", pair(number("i"))), number("b")]),
                &[("r", "std::optional<R>"), ("r.l", "std::vector<int>"), ("b", "std::optional<int>")],
                "b",
            ),
            (lists(field("r", pair(number("i")))), &[("", "std::optional<std::vector<R>>"), vector, optional], "xa"),
            (record(vec![field("l", records(2)), number("a")]), &[("", "std::optional<R>"), optional], "a"),
            (record(vec![field("l", records(0)), number("a")]), &[("", "std::optional<R>"), optional], "xa"),
        ];
        for (data_type, types, expected) in cases {
            assert_eq!(nullable(data_type, types), expected, "{types:?}");
        }
    }

    /// The names of what may be missing in a column of types, all of which it may have.
    fn nullable(data_type: DataType, types: &[(&str, &str)]) -> String {
        let types: Vec<_> = types.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect();
        let found = nullable_as_typed(&field("x", data_type), &types);
        check_types(&found, types).unwrap();
        let mut names = Vec::new();
        nullable_in(&found, &mut names);
        names.concat()
    }

    fn nullable_in(field: &Field, names: &mut Vec<String>) {
        names.extend(field.is_nullable().then(|| field.name().clone()));
        match field.data_type() {
            DataType::Struct(members) => members.iter().for_each(|member| nullable_in(member, names)),
            DataType::List(item) | DataType::FixedSizeList(item, _) | DataType::Map(item, _) => {
                nullable_in(item, names)
            }
            DataType::Union(fields, _) => fields.iter().for_each(|(_, field)| nullable_in(field, names)),
            _ => {}
        }
    }
}
