//! Projected fields: further names for fields and for parts of them. They have no columns of their own.
//!
//! Source: `RProjectedFields` of `RNTupleModel.cxx` (ROOT 6.40).

use crate::error::{Error, Result};

use super::description::FieldDescription;
use super::schema::{FieldId, NtupleField, Role, Schema};

/// A projected field at the top.
#[derive(Debug, Clone, Copy)]
pub struct Projection<'t> {
    /// Its name.
    pub name: &'t str,
    /// Its description.
    pub description: &'t str,
    /// The field that it shows; inside of collections it shows a list of as many values for each of these.
    pub source: FieldId,
    /// It shows the lengths of that field, a collection, and not its items.
    pub is_cardinality: bool,
}

/// The type of lengths. They have 64 bits in the other one, which ROOT has, too.
const CARDINALITY: &str = "ROOT::RNTupleCardinality<std::uint32_t>";
const ANY_CARDINALITY: &str = "ROOT::RNTupleCardinality<";
/// Name of the items of collections.
const ITEM: &str = "_0";

impl Schema {
    /// Adds projected fields behind the fields that are there. Returns them, of the types of what they show.
    ///
    /// # Errors
    /// Unsupported for what ROOT does not project: the lengths of what is no collection, alternatives of variants, and fixed
    /// arrays. It says which projection it is.
    pub fn project(&mut self, projections: &[Projection<'_>]) -> Result<Vec<FieldId>> {
        self.index();
        let n_before = self.top_fields.len();
        projections.iter().try_for_each(|projection| {
            let named = |error: Error| Error::unsupported(0, format!("{:?}: {}", projection.name, error.fault().what));
            self.add_projection(projection).map_err(named)
        })?;
        self.index();
        Ok(self.top_fields.get(n_before..).unwrap_or_default().to_vec())
    }

    fn add_projection(&mut self, projection: &Projection<'_>) -> Result<()> {
        let collections = self.collections_around(projection.source)?;
        let shown = self.shown(projection.source)?.describe();
        let type_name = match projection.is_cardinality {
            true if shown.role == Role::Collection => CARDINALITY,
            true => return Err(Error::unsupported(0, format!("field {:?} is no list: it has no lengths", shown.name))),
            false => shown.type_name,
        };
        let mut types = vec![type_name.to_owned()];
        for &collection in collections.iter().rev() {
            let inner = types.last().map_or("", String::as_str);
            types.push(list_of(self.shown(collection)?.type_name(), inner));
        }
        let (mut parent, mut name, mut description) = (None, projection.name, projection.description);
        for (&collection, type_name) in collections.iter().zip(types.iter().rev()) {
            let field =
                FieldDescription { description, ..FieldDescription::new(name, type_name, Role::Collection, parent) };
            parent = Some(self.add_alias_of(collection, &field)?);
            (name, description) = (ITEM, "");
        }
        if projection.is_cardinality {
            let field =
                FieldDescription { description, ..FieldDescription::new(name, CARDINALITY, Role::Leaf, parent) };
            return self.add_alias_of(projection.source, &field).map(|_| ());
        }
        self.copy_field(projection.source, name, description, parent)
    }

    /// The collections that a field is in, those around others first.
    fn collections_around(&self, id: FieldId) -> Result<Vec<FieldId>> {
        let mut found = Vec::new();
        let mut next = self.shown(id)?.parent();
        while let Some(around) = next {
            let field = self.shown(around)?;
            if field.role() == Role::Collection {
                found.push(around);
            }
            check_inside(field)?;
            next = field.parent();
        }
        found.reverse();
        Ok(found)
    }

    /// Adds a field as another is, with all that is in it.
    fn copy_field(&mut self, source: FieldId, name: &str, description: &str, parent: Option<FieldId>) -> Result<()> {
        let field = self.shown(source)?;
        let children: Vec<(FieldId, String, String)> = field
            .children()
            .iter()
            .map(|&child| {
                self.shown(child).map(|field| (child, field.name().to_owned(), field.description().to_owned()))
            })
            .collect::<Result<_>>()?;
        if !children.is_empty() {
            check_inside(field)?;
        }
        let FieldDescription { type_name, type_alias, .. } = field.describe();
        let (type_name, type_alias) = (type_name.to_owned(), type_alias.to_owned());
        let copy = FieldDescription {
            name,
            description,
            type_name: &type_name,
            type_alias: &type_alias,
            type_version: field.type_version(),
            type_checksum: field.type_checksum(),
            array_size: field.array_size(),
            ..FieldDescription::new(name, "", field.role(), parent)
        };
        let id = self.add_alias_of(source, &copy)?;
        children.iter().try_for_each(|(child, name, description)| self.copy_field(*child, name, description, Some(id)))
    }

    /// Adds a field that shows the columns of another.
    fn add_alias_of(&mut self, source: FieldId, field: &FieldDescription<'_>) -> Result<FieldId> {
        let columns = self.shown(source)?.columns().to_vec();
        let id = self.add_field(&FieldDescription { source: Some(source), ..*field })?;
        columns.into_iter().try_for_each(|column| self.add_alias(id, column))?;
        Ok(id)
    }

    /// The field that a projected field at the top shows, and whether its lengths alone; `None` if it is none, or shows parts of
    /// several fields in one.
    pub fn projection_of(&self, id: FieldId) -> Option<(FieldId, bool)> {
        let mut collections = Vec::new();
        let mut field = self.field_of(id)?;
        loop {
            let source = field.source()?;
            let is_cardinality = field.is_cardinality();
            if is_cardinality || self.is_whole(field, source) {
                let is_alike = self.collections_around(source).is_ok_and(|around| around == collections);
                return is_alike.then_some((source, is_cardinality));
            }
            collections.push(source);
            field = match field.children() {
                [item] if field.role() == Role::Collection => self.field_of(*item)?,
                _ => return None,
            };
        }
    }

    /// True if a projected field and all that is in it show a field and what is in that.
    fn is_whole(&self, field: NtupleField<'_>, source: FieldId) -> bool {
        let Some(shown) = self.field_of(source).filter(|_| field.source() == Some(source)) else { return false };
        let (inner, parts) = (field.children(), shown.children());
        let mut pairs = inner.iter().zip(parts);
        inner.len() == parts.len()
            && pairs.all(|(&inner, &part)| self.field_of(inner).is_some_and(|inner| self.is_whole(inner, part)))
    }

    fn shown(&self, id: FieldId) -> Result<NtupleField<'_>> {
        self.field_of(id)
            .ok_or_else(|| Error::corrupt(0, format!("a projection of field {}, which is not there", id.0)))
    }
}

impl NtupleField<'_> {
    /// True for lengths of a collection.
    pub fn is_cardinality(self) -> bool {
        self.type_name().starts_with(ANY_CARDINALITY)
    }
}

/// That what is in a field can be projected.
fn check_inside(field: NtupleField<'_>) -> Result<()> {
    let what = match field.role() {
        Role::Variant => "alternatives of a variant",
        _ if field.array_size().is_some() => "a fixed array",
        _ => return Ok(()),
    };
    Err(Error::unsupported(0, format!("field {:?} is {what}: ROOT projects none", field.name())))
}

/// The type of a collection of items, as another one is; empty for items without a type.
fn list_of(collection: &str, item: &str) -> String {
    match (item, collection.starts_with("std::optional<")) {
        ("", _) => String::new(),
        (item, true) => format!("std::optional<{item}>"),
        (item, false) => format!("std::vector<{item}>"),
    }
}
