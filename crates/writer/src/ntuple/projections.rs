//! Projected fields, by the names of columns and members.

use std::collections::{HashMap, HashSet};

use arrowroot_arrow::stored::stored_name;
use arrowroot_format::rntuple::{FieldId, Projection, Role, Schema};

use super::fields::ITEM;
use crate::error::{Error, Result};
use crate::settings::ProjectedField;

/// Fields by the field around them and by their name.
type Names<'s> = HashMap<(Option<FieldId>, &'s str), FieldId>;

/// Adds projected fields to the fields of all columns.
///
/// # Errors
/// [`Error::InvalidRequest`] for a name that is taken, a field that is not there, and what ROOT does not project.
pub(super) fn add(schema: &mut Schema, wanted: &[ProjectedField]) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let names: Names<'_> = schema.fields().map(|field| ((field.parent(), field.name()), field.id())).collect();
    let stored: Vec<String> = wanted.iter().map(|one| stored_name(&one.name)).collect();
    let mut projections = Vec::with_capacity(wanted.len());
    let mut taken = HashSet::with_capacity(wanted.len());
    for (one, name) in wanted.iter().zip(&stored) {
        if names.contains_key(&(None, name)) || !taken.insert(name) {
            return Err(invalid(format!("{:?}: there is another field of that name", one.name)));
        }
        let path = one.source.strip_prefix('#');
        let source = find(schema, &names, None, path.unwrap_or(&one.source));
        let source = source.ok_or_else(|| invalid(format!("{:?}: there is no field {:?}", one.name, one.source)))?;
        projections.push(Projection { name, description: &one.title, source, is_cardinality: path.is_some() });
    }
    schema.project(&projections).map_err(|error| invalid(error.fault().what.clone()))
}

fn invalid(what: String) -> Error {
    Error::InvalidRequest { what: format!("projections: {what}") }
}

/// Finds a field by the names of columns and members, with dots between. A name may have dots itself: the longest counts.
fn find(schema: &Schema, names: &Names<'_>, around: Option<FieldId>, path: &str) -> Option<FieldId> {
    let ends = std::iter::once(path.len()).chain(path.rmatch_indices('.').map(|(place, _)| place));
    for end in ends {
        let name = stored_name(&path[..end]);
        // Arrow's names of the members of a pair are their numbers.
        let of_pair = format!("_{}", &path[..end]);
        let found = names.get(&(around, name.as_str())).copied();
        let found = found.or_else(|| around.and(names.get(&(around, of_pair.as_str())).copied()));
        let Some(id) = found else { continue };
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
fn items_of(schema: &Schema, names: &Names<'_>, mut id: FieldId) -> FieldId {
    while schema.at(id).role() != Role::Record
        && let Some(&item) = names.get(&(Some(id), ITEM))
    {
        id = item;
    }
    id
}
