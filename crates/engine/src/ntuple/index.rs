//! The fields of an RNTuple by the names that find them.

use std::collections::HashMap;
use std::sync::OnceLock;

use ahash::RandomState;
use arrowroot_format::rntuple::{FieldId, Member, Members};
use hashbrown::HashTable;

/// Members by their names. The tables, made when first needed, hold numbers: the names are in [`Members`], once.
pub(super) struct Index {
    pub(super) members: Members,
    hasher: RandomState,
    tables: [OnceLock<HashTable<Named>>; N_KINDS],
    /// The numbers of members by their fields.
    by_field: OnceLock<HashMap<FieldId, usize, RandomState>>,
}

/// The first member of a name.
struct Named {
    number: u32,
    /// Others have the name, too.
    is_shared: bool,
}

/// Where a member has its name of a kind; the place is that of its table.
type NameOf = for<'m> fn(Member<'m>) -> Option<&'m str>;
const N_KINDS: usize = 3;
const NAMES: [NameOf; N_KINDS] =
    [|member| Some(member.path()), |member| member.full_path(), |member| Some(member.name())];
const PATH: usize = 0;
const FULL_PATH: usize = 1;
const NAME: usize = 2;

impl Index {
    pub(super) fn new(members: Members) -> Index {
        Index { members, hasher: RandomState::new(), tables: Default::default(), by_field: OnceLock::new() }
    }

    /// The number of the member of that path, the path that ROOT writes, or the name if only one has it.
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        let by_path = [PATH, FULL_PATH].into_iter().find_map(|kind| self.first(kind, name));
        let by_name = || self.first(NAME, name).filter(|found| !found.is_shared);
        by_path.or_else(by_name).map(|found| found.number)
    }

    /// Whether a member has the path, as this library spells it.
    pub(super) fn has_path(&self, path: &str) -> bool {
        self.first(PATH, path).is_some()
    }

    /// Whether any member has the name.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.first(NAME, name).is_some()
    }

    /// The name of the member that a field is.
    pub(super) fn name_of_field(&self, field: FieldId) -> Option<&str> {
        let numbered = || self.members.iter().enumerate().map(|(number, member)| (member.field(), number));
        let number = self.by_field.get_or_init(|| numbered().collect()).get(&field)?;
        Some(self.members.get(*number)?.name())
    }

    fn first(&self, kind: usize, name: &str) -> Option<&Named> {
        let table = self.tables[kind].get_or_init(|| self.table(NAMES[kind]));
        let is_it = |named: &Named| self.name(NAMES[kind], named.number) == Some(name);
        table.find(self.hasher.hash_one(name), is_it)
    }

    fn name(&self, name_of: NameOf, number: u32) -> Option<&str> {
        name_of(self.members.get(number as usize)?)
    }

    fn table(&self, name_of: NameOf) -> HashTable<Named> {
        let named = || (0..).zip(self.members.iter()).filter_map(|(number, member)| Some((number, name_of(member)?)));
        let mut table = HashTable::with_capacity(named().count());
        for (number, name) in named() {
            let hash = |named: &Named| self.hasher.hash_one(self.name(name_of, named.number).unwrap_or_default());
            let is_it = |named: &Named| self.name(name_of, named.number) == Some(name);
            let entry = table.entry(self.hasher.hash_one(name), is_it, hash);
            entry.and_modify(|named| named.is_shared = true).or_insert(Named { number, is_shared: false });
        }
        table
    }
}
