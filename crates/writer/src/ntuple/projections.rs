//! Projected fields, by the names of columns and members.

use std::collections::{HashMap, HashSet};

use arrowroot_arrow::stored::stored_name;
use arrowroot_format::column::DataType;
use arrowroot_format::rntuple::{FieldId, Projection, Role, Schema};

use super::NtupleColumn;
use super::fields::ITEM;
use super::projected_types;
use crate::error::{Error, Result};
use crate::settings::ProjectedField;

/// Fields by the field around them and by their name, and by that of Arrow if it is another one, as in a pair.
type Names = HashMap<(Option<FieldId>, String), FieldId>;

/// The lists in fields that may be missing, or the fault of these: the length of an `optional` is whether it is there.
type Lists = HashMap<FieldId, std::result::Result<FieldId, &'static str>>;

/// Adds projected fields to the fields of all columns.
///
/// # Errors
/// [`Error::InvalidRequest`] for a name that is taken, a field that is not there, what ROOT does not project, and a type that
/// what is shown is not of.
pub(super) fn add(schema: &mut Schema, columns: &[NtupleColumn], wanted: &[ProjectedField]) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    schema.index();
    let mut names: Names =
        schema.fields().map(|field| ((field.parent(), field.name().to_owned()), field.id())).collect();
    let mut lists = Lists::new();
    for column in columns {
        if let Some(&id) = names.get(&(None, stored_name(&column.name))) {
            name_members(schema, &mut names, &column.data_type, id);
            find_lists(schema, &mut lists, &column.data_type, id);
        }
    }
    let stored: Vec<String> = wanted.iter().map(|one| stored_name(&one.name)).collect();
    let (mut projections, mut given) = (Vec::with_capacity(wanted.len()), Vec::with_capacity(wanted.len()));
    let mut taken = HashSet::with_capacity(wanted.len());
    for (one, name) in wanted.iter().zip(&stored) {
        if names.contains_key(&(None, name.clone())) || !taken.insert(name) {
            return Err(invalid(format!("{:?}: there is another field of that name", one.name)));
        }
        let path = one.source.strip_prefix('#');
        let source = find(schema, &names, None, path.unwrap_or(&one.source));
        let source = source.ok_or_else(|| invalid(format!("{:?}: there is no field {:?}", one.name, one.source)))?;
        let source = match lists.get(&source).filter(|_| path.is_some()) {
            None => source,
            Some(Ok(list)) => *list,
            Some(Err(_)) if one.is_optional => continue,
            Some(Err(why)) => return Err(invalid(format!("{:?} of {:?}: {why}", one.name, one.source))),
        };
        projections.push(Projection { name, description: &one.title, source, is_cardinality: path.is_some() });
        given.push(one);
    }
    let projected = schema.project(&projections).map_err(|error| invalid(error.fault().what.clone()))?;
    for (id, one) in projected.into_iter().zip(given).filter(|(_, one)| !one.type_name.is_empty()) {
        match projected_types::set(schema, id, &one.type_name, one.is_type_kept) {
            Err(why) if !one.is_type_kept => return Err(invalid(format!("{:?}: types: {why}", one.name))),
            _ => {}
        }
    }
    Ok(())
}

fn invalid(what: String) -> Error {
    Error::InvalidRequest { what: format!("projections: {what}") }
}

/// Adds Arrow's names of the members in a field, at any depth.
fn name_members(schema: &Schema, names: &mut Names, data_type: &DataType, mut id: FieldId) {
    let mut inside = schema.at(id).children();
    match data_type {
        DataType::Struct(members) => {
            // Values that are all there may be optional.
            while let ([item], Role::Collection) = (inside, schema.at(id).role()) {
                (id, inside) = (*item, schema.at(*item).children());
            }
            for ((name, member), &field) in members.iter().zip(inside) {
                names.entry((Some(id), stored_name(name))).or_insert(field);
                name_members(schema, names, member, field);
            }
        }
        DataType::List(item) | DataType::FixedList(item, _) | DataType::Optional(item) => {
            inside.iter().for_each(|&field| name_members(schema, names, item, field));
        }
        _ => {}
    }
}

/// Finds the lists in the fields of columns and members that may be missing, at any depth.
fn find_lists(schema: &Schema, lists: &mut Lists, data_type: &DataType, mut id: FieldId) {
    let of_field = id;
    let (mut data_type, mut fault) = (data_type, None);
    loop {
        let field = schema.at(id);
        let is_optional = field.type_name().starts_with("std::optional<");
        let inner = match data_type {
            DataType::Optional(inner) => inner,
            // Values that are all there may be optional.
            _ if is_optional || field.type_name().starts_with("std::unique_ptr<") => data_type,
            _ => break,
        };
        let [item] = field.children() else { return };
        if !is_optional {
            fault = Some("lists that may be missing have projected lengths in a std::optional alone");
        }
        (id, data_type) = (*item, inner);
    }
    if id != of_field {
        lists.insert(of_field, fault.map_or(Ok(id), Err));
    }
    match data_type {
        DataType::Struct(members) => {
            for ((_, member), &field) in members.iter().zip(schema.at(id).children()) {
                find_lists(schema, lists, member, field);
            }
        }
        DataType::List(item) | DataType::FixedList(item, _) => {
            for &field in schema.at(id).children() {
                find_lists(schema, lists, item, field);
            }
        }
        _ => {}
    }
}

/// Finds a field by the names of columns and members, with dots between. A name may have dots itself: the longest counts.
fn find(schema: &Schema, names: &Names, around: Option<FieldId>, path: &str) -> Option<FieldId> {
    let ends = std::iter::once(path.len()).chain(path.rmatch_indices('.').map(|(place, _)| place));
    for end in ends {
        let Some(&id) = names.get(&(around, stored_name(&path[..end]))) else { continue };
        match path.get(end + 1..) {
            None => return Some(id),
            Some(rest) => {
                let found = find(schema, names, Some(items_of(schema, names, id)), rest);
                if found.is_some() {
                    return found;
                }
            }
        }
    }
    None
}

/// The items of a field, of these the items, and so on: members are looked for in them.
fn items_of(schema: &Schema, names: &Names, mut id: FieldId) -> FieldId {
    while schema.at(id).role() != Role::Record
        && let Some(&item) = names.get(&(Some(id), ITEM.to_owned()))
    {
        id = item;
    }
    id
}
