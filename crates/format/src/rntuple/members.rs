//! Fields that can be asked for, by their paths.

use std::sync::Arc;

use super::schema::{FieldId, NtupleField, Role, Schema};

const NUMBERED_TYPES: [&str; 2] = ["std::pair<", "std::tuple<"];

/// A field that can be read, by its path.
#[derive(Debug, Clone)]
pub struct Member {
    /// Names with dots between. The items of lists and arrays have no name of their own; members of pairs and tuples are
    /// called by their numbers, members of base classes as if they were the class's own.
    pub path: Arc<str>,
    /// The path with the names of all fields, as ROOT writes it, where that is another.
    pub full_path: Option<Box<str>>,
    /// Bytes of its last name.
    name_bytes: usize,
    /// The field.
    pub field: FieldId,
    /// How many records it is in.
    pub depth: usize,
}

impl Member {
    /// The last name.
    pub fn name(&self) -> &str {
        &self.path[self.path.len() - self.name_bytes..]
    }
}

impl Schema {
    /// All fields that can be asked for, depth first: those at the top, and the members of records in them.
    pub fn members(&self) -> Vec<Member> {
        let mut members = Vec::with_capacity(self.top_fields.len());
        for &top in &self.top_fields {
            if let Some(field) = self.field_of(top) {
                let (path, name_bytes) = (Arc::from(field.name.as_str()), field.name.len());
                members.push(Member { path, full_path: None, name_bytes, field: top, depth: 0 });
                self.add_members(top, [&field.name, &field.name], 0, &mut members);
            }
        }
        members
    }

    /// `paths`: of the field `id`, the short one and the full one.
    fn add_members(&self, id: FieldId, paths: [&str; 2], depth: usize, members: &mut Vec<Member>) {
        let Some(field) = self.field_of(id) else { return };
        if field.role == Role::Variant {
            return;
        }
        let [path, full_path] = paths;
        for &child in &field.children {
            let Some(part) = self.field_of(child) else { continue };
            let full_path = format!("{full_path}.{}", part.name);
            if field.role != Role::Record {
                // The item of a list or an array, or the value of a wrapper.
                self.add_members(child, [path, &full_path], depth, members);
                continue;
            }
            let depth = depth + 1;
            if is_base(&part.name) {
                self.add_members(child, [path, &full_path], depth, members);
                continue;
            }
            let name = member_name(field, &part.name);
            let path = Arc::from(format!("{path}.{name}"));
            let other = (*path != *full_path).then(|| full_path.as_str().into());
            members.push(Member {
                path: Arc::clone(&path),
                full_path: other,
                name_bytes: name.len(),
                field: child,
                depth,
            });
            self.add_members(child, [&path, &full_path], depth, members);
        }
    }

    /// The fields from the top to this one whose records are passed: the top, and the members of records.
    pub fn chain(&self, id: FieldId) -> Vec<FieldId> {
        let parent = |id: &FieldId| self.field_of(*id).and_then(|field| field.parent);
        let is_member = |id: &FieldId| {
            parent(id).is_none_or(|around| self.field_of(around).is_some_and(|field| field.role == Role::Record))
        };
        let mut chain: Vec<FieldId> = std::iter::successors(Some(id), parent).filter(is_member).collect();
        chain.reverse();
        chain
    }
}

/// Whether a field is a base class of the record that it is part of.
pub(super) fn is_base(name: &str) -> bool {
    name.starts_with(":_")
}

/// What a part of a record is called.
pub(super) fn member_name(record: &NtupleField, name: &str) -> String {
    match name.strip_prefix('_') {
        Some(number) if NUMBERED_TYPES.iter().any(|prefix| record.type_name.starts_with(prefix)) => number.to_owned(),
        _ => name.to_owned(),
    }
}
