//! Fields that can be asked for, by their paths.

use std::collections::HashMap;
use std::ops::Range;

use super::schema::{FieldId, NtupleField, Role, Schema};

/// Types whose members are called by their numbers.
pub(super) const NUMBERED_TYPES: [&str; 2] = ["std::pair<", "std::tuple<"];

/// Bytes of names of base classes in the paths of members that others hide.
const MAX_QUALIFIED_BYTES: usize = 1 << 20;

/// A field that can be read, by its path.
#[derive(Debug, Clone, Copy)]
pub struct Member<'m> {
    all: &'m Members,
    record: &'m MemberRecord,
}

/// The fields of an RNTuple that can be asked for, depth first: those at the top, and the members of records in them.
#[derive(Debug, Clone, Default)]
pub struct Members {
    records: Vec<MemberRecord>,
    /// The paths of all, one behind the other.
    paths: String,
}

#[derive(Debug, Clone)]
struct MemberRecord {
    /// Where its path is among all.
    path: Range<u32>,
    full_path: Option<Range<u32>>,
    /// Bytes of its last name.
    name_bytes: u32,
    field: FieldId,
    /// Records that it is in.
    depth: u32,
}

impl<'m> Member<'m> {
    /// Names with dots between. The items of lists and arrays have no name of their own; members of pairs and tuples are
    /// called by their numbers, members of base classes as if they were the class's own. Those that another member hides have
    /// their base classes before them: `both.Left::Common::x`.
    pub fn path(&self) -> &'m str {
        self.all.path(&self.record.path)
    }

    /// The path with the names of all fields, as ROOT writes it, where that is another.
    pub fn full_path(&self) -> Option<&'m str> {
        self.record.full_path.as_ref().map(|path| self.all.path(path))
    }

    /// The last name.
    pub fn name(&self) -> &'m str {
        let path = self.path();
        &path[path.len() - self.record.name_bytes as usize..]
    }

    /// The field.
    pub fn field(&self) -> FieldId {
        self.record.field
    }

    /// How many records it is in.
    pub fn depth(&self) -> usize {
        self.record.depth as usize
    }
}

impl Members {
    fn path(&self, range: &Range<u32>) -> &str {
        &self.paths[range.start as usize..range.end as usize]
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// A member by its number.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn at(&self, number: usize) -> Member<'_> {
        Member { all: self, record: &self.records[number] }
    }

    /// A member by its number, if there is one.
    pub fn get(&self, number: usize) -> Option<Member<'_>> {
        Some(Member { all: self, record: self.records.get(number)? })
    }

    /// All, by their numbers.
    pub fn iter(&self) -> impl Iterator<Item = Member<'_>> {
        self.records.iter().map(|record| Member { all: self, record })
    }
}

/// Collects members. Both paths are those of the field that is looked at.
struct Collecting<'s> {
    schema: &'s Schema,
    /// So many bytes of names of base classes may go into paths: each member has a copy.
    n_qualified_left: usize,
    path: String,
    full_path: String,
    found: Members,
}

impl Schema {
    /// All fields that can be asked for, depth first: those at the top, and the members of records in them.
    pub fn members(&self) -> Members {
        let (path, full_path, mut found) = (String::new(), String::new(), Members::default());
        found.records.reserve(self.top_fields.len());
        found.paths.reserve(self.path_bytes());
        let mut collecting = Collecting { schema: self, n_qualified_left: MAX_QUALIFIED_BYTES, path, full_path, found };
        for field in self.top_fields.iter().filter_map(|&top| self.field_of(top)) {
            collecting.path.clear();
            collecting.path.push_str(field.name());
            collecting.full_path.clone_from(&collecting.path);
            collecting.member(field, field.name().len(), 0);
        }
        collecting.found
    }

    /// The alternatives of the variants in a field, and the members of records in them, which are no members of anything
    /// outside: `1.hits` is a member of the second alternative.
    pub fn members_in_variants(&self, id: FieldId) -> Members {
        let (path, full_path, found) = (String::new(), String::new(), Members::default());
        let mut collecting = Collecting { schema: self, n_qualified_left: MAX_QUALIFIED_BYTES, path, full_path, found };
        if let Some(field) = self.field_of(id) {
            collecting.alternatives(field, "");
        }
        let mut number = 0;
        while let Some(member) = collecting.found.get(number) {
            let (field, path) = (member.field(), member.path().to_owned());
            if let Some(field) = self.field_of(field) {
                collecting.alternatives(field, &path);
            }
            number += 1;
        }
        collecting.found
    }

    /// The fields from the top to this one whose records are passed: the top, and the members of records.
    pub fn chain(&self, id: FieldId) -> Vec<FieldId> {
        let parent = |id: &FieldId| self.field_of(*id).and_then(|field| field.parent());
        let is_member = |id: &FieldId| {
            parent(id).is_none_or(|around| self.field_of(around).is_some_and(|field| field.role() == Role::Record))
        };
        let mut chain: Vec<FieldId> = std::iter::successors(Some(id), parent).filter(is_member).collect();
        chain.reverse();
        chain
    }
}

impl<'s> Collecting<'s> {
    /// Adds the field that the paths are of, and the members in it.
    fn member(&mut self, field: NtupleField<'s>, name_bytes: usize, depth: u32) {
        let paths = &mut self.found.paths;
        // The schema bounds the bytes of all paths.
        let narrow = |n_bytes: usize| u32::try_from(n_bytes).unwrap_or(u32::MAX);
        let mut add = |path: &str| {
            paths.push_str(path);
            narrow(paths.len() - path.len())..narrow(paths.len())
        };
        let path = add(&self.path);
        let full_path = (self.path != self.full_path).then(|| add(&self.full_path));
        let name_bytes = narrow(name_bytes);
        self.found.records.push(MemberRecord { path, full_path, name_bytes, field: field.id(), depth });
        self.members_in(field, depth);
    }

    /// Adds the alternatives of the variants in a field at a path, be it in lists, but for those in its members.
    fn alternatives(&mut self, field: NtupleField<'s>, path: &str) {
        for (number, part) in self.parts(field).enumerate() {
            match field.role() {
                Role::Record => return,
                Role::Variant => {
                    let name = number.to_string();
                    self.path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    self.full_path.clone_from(&self.path);
                    self.member(part, name.len(), 0);
                }
                _ => self.alternatives(part, path),
            }
        }
    }

    /// Adds the members in the field that the paths are of.
    fn members_in(&mut self, field: NtupleField<'s>, depth: u32) {
        if field.role() == Role::Variant {
            return;
        }
        let mut last = HashMap::new();
        if self.parts(field).any(|part| is_base(part.name())) {
            self.note_last(field, &mut last);
        }
        self.parts_of(field, depth, &last, &mut Bases { names: String::new(), root: self.full_path.len() });
    }

    fn parts(&self, field: NtupleField<'s>) -> impl Iterator<Item = NtupleField<'s>> + use<'s> {
        let schema = self.schema;
        field.children().iter().filter_map(move |&child| schema.field_of(child))
    }

    /// Notes for each name of a member of a record or its bases which is the last: its own come last.
    fn note_last(&self, field: NtupleField<'s>, last: &mut HashMap<&'s str, FieldId>) {
        for base in self.parts(field).filter(|part| is_base(part.name())) {
            self.note_last(base, last);
        }
        for part in self.parts(field).filter(|part| !is_base(part.name())) {
            last.insert(member_name(field, part.name()), part.id());
        }
    }

    /// Adds what is in a field, or in a base class of it. `last`: the members that have the plain names.
    fn parts_of(&mut self, field: NtupleField<'s>, depth: u32, last: &HashMap<&'s str, FieldId>, bases: &mut Bases) {
        for part in self.parts(field) {
            let (path_bytes, full_path_bytes) = (self.path.len(), self.full_path.len());
            self.full_path.push('.');
            self.full_path.push_str(part.name());
            if field.role() != Role::Record {
                // The item of a list or an array, or the value of a wrapper.
                self.members_in(part, depth);
            } else if is_base(part.name()) && part.role() == Role::Record {
                let n_bytes = bases.names.len();
                bases.names.push_str(part.type_name());
                bases.names.push_str("::");
                self.parts_of(part, depth + 1, last, bases);
                bases.names.truncate(n_bytes);
            } else if is_base(part.name()) {
                self.members_in(part, depth + 1);
            } else {
                let name = member_name(field, part.name());
                self.path.push('.');
                let start = self.path.len();
                match last.get(name).filter(|&&last| last != part.id()) {
                    None => self.path.push_str(name),
                    // As the record has it that it is a member of.
                    Some(_) if bases.names.len() <= self.n_qualified_left => {
                        self.n_qualified_left -= bases.names.len();
                        self.path.push_str(&bases.names);
                        self.path.push_str(name);
                    }
                    // As ROOT has it.
                    Some(_) => self.path.push_str(&self.full_path[bases.root + 1..]),
                }
                self.member(part, self.path.len() - start, depth + 1);
            }
            self.path.truncate(path_bytes);
            self.full_path.truncate(full_path_bytes);
        }
    }
}

/// The base classes between a record and a member of one of them.
struct Bases {
    /// Each with colons behind it.
    names: String,
    /// Where the path of the record ends.
    root: usize,
}

/// Whether a field is a base class of the record that it is part of.
pub(super) fn is_base(name: &str) -> bool {
    name.starts_with(":_")
}

/// What a part of a record is called.
pub(super) fn member_name<'n>(record: NtupleField<'_>, name: &'n str) -> &'n str {
    match name.strip_prefix('_') {
        Some(number) if NUMBERED_TYPES.iter().any(|prefix| record.type_name().starts_with(prefix)) => number,
        _ => name,
    }
}
