//! The C++ types of projected fields: those of the representation of what they show.
//!
//! Source: `RProjectedFields::EnsureValidMapping` (ROOT 6.40): a projected field has the structure of what it shows, and a leaf
//! its type.

use arrowroot_format::rntuple::{FieldId, NtupleField, Role, Schema};
use arrowroot_format::streamer::Primitive;

use crate::field_type::{FieldType, Kind};
use crate::unique::Unique;

/// The types of sets and maps whose items or keys differ.
const OF_UNIQUE: [&str; 4] = ["std::set<", "std::unordered_set<", "std::map<", "std::unordered_map<"];
const NULLABLE: [&str; 2] = ["std::optional<", "std::unique_ptr<"];
const NUMBERED: [&str; 2] = ["std::pair<", "std::tuple<"];

/// Says the type of a projected field, and of what is in it, by its name.
///
/// `takes_all`: it may be one that only some values of its representation are of: a set, or a value or none.
///
/// # Errors
/// A sentence on the fault, with the types that the field may have. The field keeps its type then.
pub(super) fn set(schema: &mut Schema, id: FieldId, text: &str, takes_all: bool) -> Result<(), String> {
    let wanted = FieldType::parse(text)?;
    let mut found = FieldTypes { schema, takes_all, types: Vec::new() };
    found.find(schema.at(id), &wanted)?;
    let types = found.types;
    types.into_iter().try_for_each(|(id, name, alias)| {
        let alias = if alias == name { "" } else { &alias };
        schema.set_type(id, &name, alias).map_err(|error| error.fault().what.clone())
    })
}

/// The types of fields that were found to have the right representation.
struct FieldTypes<'s> {
    schema: &'s Schema,
    takes_all: bool,
    /// Fields, the names of their types, and the names under which these are used.
    types: Vec<(FieldId, String, String)>,
}

impl FieldTypes<'_> {
    fn find(&mut self, field: NtupleField<'_>, wanted: &FieldType) -> Result<(), String> {
        let inside = match (field.role(), &wanted.kind) {
            (Role::Leaf, Kind::Cardinality) if field.is_cardinality() && wanted.is_of_lengths() => Vec::new(),
            (Role::Leaf, _) if !field.is_cardinality() && self.is_leaf(field, wanted) => Vec::new(),
            (Role::Collection, Kind::List(_)) => wanted.arguments.clone(),
            (Role::Collection, Kind::Set { .. }) if self.may_be_unique(field, wanted) => wanted.arguments.clone(),
            (Role::Collection, Kind::Nullable(_)) if self.takes_all || begins(self.shown(field), &NULLABLE) => {
                wanted.arguments.clone()
            }
            (Role::Collection, Kind::Map { .. }) if self.may_be_unique(field, wanted) => vec![wanted.pair()],
            (Role::Record, Kind::Pair | Kind::Tuple) if begins(field, &NUMBERED) => wanted.arguments.clone(),
            // What is in a class is as it says.
            (Role::Record, Kind::Named(named)) if named.name == field.type_name() => return Ok(()),
            _ => return Err(self.refusal(field, wanted)),
        };
        let children = field.children();
        if !inside.is_empty() && inside.len() != children.len() {
            return Err(self.refusal(field, wanted));
        }
        self.types.push((field.id(), wanted.name(), wanted.alias()));
        inside.iter().zip(children).try_for_each(|(wanted, &child)| self.find(self.schema.at(child), wanted))
    }

    fn shown<'f>(&'f self, field: NtupleField<'f>) -> NtupleField<'f> {
        field.source().and_then(|id| self.schema.field_of(id)).unwrap_or(field)
    }

    /// True if the numbers, texts or bits of a field are of a type.
    fn is_leaf(&self, field: NtupleField<'_>, wanted: &FieldType) -> bool {
        let (name, alias) = (wanted.name(), wanted.alias());
        let is_stored_so = match wanted.kind {
            Kind::Precise(_, _, encoding) => self.schema.encoding_of(field) == Some(encoding),
            _ => true,
        };
        is_stored_so && name == field.type_name() && (alias == name || alias == field.type_alias())
    }

    /// True if the items of a list differ as much as a type wants it.
    fn may_be_unique(&self, field: NtupleField<'_>, wanted: &FieldType) -> bool {
        self.takes_all || !wanted.unique().is_some_and(Unique::needs_check) || self.is_unique(field)
    }

    /// True if a field shows a set or a map whose items or keys differ, and all of these.
    fn is_unique(&self, field: NtupleField<'_>) -> bool {
        let shown = self.shown(field);
        let items = field.children().iter().map(|&item| self.schema.at(item).source());
        begins(shown, &OF_UNIQUE) && items.eq(shown.children().iter().copied().map(Some))
    }

    fn refusal(&self, field: NtupleField<'_>, wanted: &FieldType) -> String {
        let name = field.type_name();
        let (what, possible) = match field.role() {
            Role::Leaf if field.is_cardinality() => {
                ("lengths are", "ROOT::RNTupleCardinality<std::uint32_t> or of std::uint64_t".to_owned())
            }
            Role::Leaf if field.type_alias().is_empty() => (name, name.to_owned()),
            Role::Leaf => (name, format!("{name}, {}", field.type_alias())),
            Role::Collection => {
                let mut possible =
                    "std::vector<T>, ROOT::RVec<T>, std::multiset<T>, std::unordered_multiset<T>".to_owned();
                let is_unique = self.is_unique(field);
                let item = field.children().first().map(|&item| self.schema.at(item));
                if is_unique {
                    possible.push_str(", std::set<T>, std::unordered_set<T>");
                }
                if item.is_some_and(|item| begins(item, &NUMBERED) && item.children().len() == 2) {
                    let unique = if is_unique { ", std::map<K,V>, std::unordered_map<K,V>" } else { "" };
                    possible.push_str(&format!("{unique}, std::multimap<K,V>, std::unordered_multimap<K,V>"));
                }
                if begins(self.shown(field), &NULLABLE) {
                    possible.push_str(", std::optional<T>, std::unique_ptr<T>");
                }
                ("lists are", possible)
            }
            Role::Record if begins(field, &NUMBERED) => {
                let pair = if field.children().len() == 2 { "std::pair<T,U>, " } else { "" };
                ("a pair or tuple is", format!("{pair}std::tuple<T,...> of as many types"))
            }
            Role::Record if name.is_empty() => ("a record without a name is", "none".to_owned()),
            _ => (name, name.to_owned()),
        };
        let is = if what == name { " is" } else { "" };
        format!("{} where {what}{is} shown: possible are {possible}", wanted.alias())
    }
}

impl FieldType {
    /// True for lengths of one of the sizes that ROOT has.
    fn is_of_lengths(&self) -> bool {
        let of = self.arguments.first().map(|of| &of.kind);
        matches!(of, Some(Kind::Number(Primitive::UInt32 | Primitive::UInt64, _)))
    }
}

fn begins(field: NtupleField<'_>, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| field.type_name().starts_with(prefix))
}
