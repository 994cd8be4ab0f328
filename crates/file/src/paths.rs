//! The keys of a file by their paths.

use ahash::RandomState;
use hashbrown::HashTable;

use crate::key::FileKey;

/// Keys by their paths. The entries are kept elsewhere; here are their places, which count up from 0.
#[derive(Default)]
pub(crate) struct Paths {
    hasher: RandomState,
    /// The last place that has a path.
    last: HashTable<usize>,
    /// For each place the one before that has the same path.
    before: Vec<Option<usize>>,
}

impl Paths {
    /// The paths of some entries.
    pub(crate) fn of(entries: &[FileKey]) -> Paths {
        let mut paths = Paths::default();
        (0..entries.len()).for_each(|index| paths.add(index, |index| &entries[index]));
        paths
    }

    /// Adds the entry at the next place.
    pub(crate) fn add<'e>(&mut self, index: usize, entry_at: impl Fn(usize) -> &'e FileKey) {
        let hash = |index: &usize| self.hasher.hash_one(entry_at(*index).path());
        let path = entry_at(index).path();
        let same = |other: &usize| is_at(entry_at(*other), &path);
        match self.last.entry(self.hasher.hash_one(&path), same, hash) {
            hashbrown::hash_table::Entry::Occupied(mut last) => {
                self.before.push(Some(std::mem::replace(last.get_mut(), index)));
            }
            hashbrown::hash_table::Entry::Vacant(vacant) => {
                vacant.insert(index);
                self.before.push(None);
            }
        }
    }

    /// The places of a path, the last first.
    pub(crate) fn places<'e>(
        &self,
        path: &str,
        entry_at: impl Fn(usize) -> &'e FileKey,
    ) -> impl Iterator<Item = usize> {
        let last = self.last.find(self.hasher.hash_one(path), |index| is_at(entry_at(*index), path));
        std::iter::successors(last.copied(), |index| self.before[*index])
    }

    /// The place of a path with that cycle, or with the highest. Where a slash is part of a name, several may have it: what
    /// is in more directories goes first, as in ROOT (`TDirectoryFile::Get`).
    pub(crate) fn find<'e>(
        &self,
        path: &str,
        cycle: Option<u16>,
        entry_at: impl Fn(usize) -> &'e FileKey + Copy,
    ) -> Option<usize> {
        let rank = |index: &usize| (entry_at(*index).depth, entry_at(*index).key.cycle, *index);
        let places = self.places(path, entry_at);
        places.filter(|&index| cycle.is_none_or(|cycle| entry_at(index).key.cycle == cycle)).max_by_key(rank)
    }
}

fn is_at(entry: &FileKey, path: &str) -> bool {
    path.strip_prefix(entry.directory.as_str()) == Some(entry.key.name.as_str())
}

/// What may be the directories of a path, outer ones first: all that ends before a slash.
pub(crate) fn around(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(slash, _)| &path[..slash])
}

/// What a path may mean as (path, cycle): a number behind its last semicolon is a cycle, or else part of a name; and a slash
/// that it begins with is of a name, or else of none.
pub(crate) fn meanings(path: &str) -> impl Iterator<Item = (&str, Option<u16>)> {
    let bare = path.trim_start_matches('/');
    let as_it_is = (bare.len() < path.len()).then_some(path);
    as_it_is.into_iter().chain([bare]).flat_map(|path| {
        let with_cycle = path.rsplit_once(';').and_then(|(name, cycle)| Some((name, Some(cycle.parse().ok()?))));
        with_cycle.into_iter().chain([(path, None)])
    })
}

#[cfg(test)]
mod tests {
    use arrowroot_format::Cursor;
    use arrowroot_format::container::Key;

    use super::*;

    fn entry(directory: &str, name: &str, cycle: u8) -> FileKey {
        let mut bytes = vec![0; 26];
        (bytes[3], bytes[5], bytes[17]) = (60, 4, cycle);
        for text in ["TNamed", name, ""] {
            bytes.push(u8::try_from(text.len()).unwrap());
            bytes.extend(text.as_bytes());
        }
        let key = Key::parse(&mut Cursor::new(&bytes)).unwrap();
        FileKey { directory: directory.to_owned(), depth: directory.matches('/').count(), key, is_directory: false }
    }

    #[test]
    fn what_is_in_more_directories_goes_before_a_higher_cycle() {
        let entries = [entry("", "a/b", 2), entry("a/", "b", 1), entry("", "a/c", 1), entry("", "a/c", 3)];
        let paths = Paths::of(&entries);
        let find = |path: &str, cycle| paths.find(path, cycle, |index| &entries[index]);
        assert_eq!((find("a/b", None), find("a/b", Some(2)), find("a/c", None)), (Some(1), Some(0), Some(3)));
    }
}
