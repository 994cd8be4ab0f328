//! Trees of files that were not closed: of several cycles, the one whose baskets are there.

use arrowroot_file::{File, FileKey, Result, permanent, read_ranges};
use arrowroot_format as format;
use format::container::{KEY_HEAD_BYTES, KeyHead};

use super::Tree;
use crate::table::Table;

/// So many baskets of a tree are looked at, in a file that was not closed.
const MAX_CHECKED_BASKETS: usize = 100_000;

impl Tree {
    /// Opens a tree by its path in the file, or inside of the object of a key; where the bytes of it are wrong, that of another replica.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if there is no such key; [`Error::Format`](crate::Error::Format) if it is no
    /// tree or cannot be read.
    pub fn open(file: &File, path: &str) -> Result<Tree> {
        file.or_elsewhere(path, |file| Tree::of_replica(file, path))
    }

    /// As [`Tree::open`], of this replica alone.
    pub(super) fn of_replica(file: &File, path: &str) -> Result<Tree> {
        let key = match file.found(path)? {
            Some(key) => key,
            None => match file.tree_inside(path)? {
                Some((object, number)) => return Tree::inside(&object, number),
                None => file.find(path)?,
            },
        };
        let opened = Tree::at(file, &key);
        let has_cycle = key.path() != path;
        if has_cycle || !file.was_not_closed() {
            return opened;
        }
        match opened {
            Err(error) if !error.is_of_format() => Err(error),
            Ok(tree) if tree.has_baskets()? => Ok(tree),
            opened => other_cycle(file, &key, opened),
        }
    }

    /// Whether its baskets are where it says. Of a far-away file it is taken for granted.
    fn has_baskets(&self) -> Result<bool> {
        let source = self.file().source().as_ref();
        if source.access_profile().is_remote {
            return Ok(true);
        }
        let branches: Vec<_> = self.walk().into_iter().map(|(id, _)| id).collect();
        let n_checked = MAX_CHECKED_BASKETS / branches.len().max(1);
        let mut places = Vec::new();
        for branch in branches {
            let Ok(baskets) = permanent(self.baskets(branch))? else { return Ok(false) };
            // What was written last is what may be missing.
            let written = baskets.iter().rev().filter(|basket| basket.embedded.is_none());
            places.extend(written.take(n_checked.max(1)).map(|basket| (basket.offset, basket.stored_bytes)));
        }
        let head = |&(offset, _): &(u64, u32)| offset..offset.saturating_add(KEY_HEAD_BYTES as u64);
        let Ok(heads) = permanent(read_ranges(source, &places.iter().map(head).collect::<Vec<_>>()))? else {
            return Ok(false);
        };
        Ok(places.iter().zip(heads).all(|(&(offset, n_bytes), head)| {
            KeyHead::parse(&mut format::Cursor::new(&head))
                .is_ok_and(|head| head.n_bytes == n_bytes && head.seek_key == offset)
        }))
    }
}

/// Opens another cycle of a tree, if there is one with all its baskets: a file that is being written to may have lists that
/// are older than what is in their places, and a copy of it trees that are newer.
///
/// `opened`: what came of the tree itself, which is returned if no other is better.
///
/// # Errors
/// That of `opened`; [`Error::Storage`](crate::Error::Storage) if the others cannot be read now.
fn other_cycle(file: &File, key: &FileKey, opened: Result<Tree>) -> Result<Tree> {
    let walked = file.walked_keys()?;
    let mut others: Vec<&FileKey> = file.keys()?.iter().chain(&walked).collect();
    others.retain(|other| {
        other.key.seek_key != key.key.seek_key
            && other.key.class_name == key.key.class_name
            && other.path() == key.path()
    });
    others.sort_by_key(|other| std::cmp::Reverse(other.key.cycle));
    for other in others {
        if let Ok(tree) = permanent(Tree::at(file, other))?
            && tree.has_baskets()?
        {
            return Ok(tree);
        }
    }
    opened
}
