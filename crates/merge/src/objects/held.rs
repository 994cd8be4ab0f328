//! Trees inside of objects: their baskets are elsewhere in the file, where a copy of the object does not find them.

use arrowroot::format::streamer::StreamerInfos;
use arrowroot::{File, FileKey, Tree};

use crate::error::Result;
use crate::merging::Names;

/// Before the name of a class that an object is the first of in a record. Source: `TBufferFile::WriteClass`, `kNewClassTag`.
const NEW_CLASS: [u8; 4] = [0xFF; 4];
/// ROOT's own classes of trees, as they end there.
const TREES: [&[u8]; 3] = [b"TTree\0", b"TNtuple\0", b"TNtupleD\0"];

/// Refuses an object with trees that have baskets elsewhere. `object`: its bytes, uncompressed.
///
/// # Errors
/// `Unsupported`, which names the tree; those of reading it.
pub(super) fn check_trees(input: &File, key: &FileKey, names: &Names, object: &[u8]) -> Result<()> {
    let infos = input.streamer_infos()?;
    if !infos.is_empty() && infos.named("TTree").next().is_none() {
        return Ok(());
    }
    let path = key.path();
    let refused = |tree: &str| {
        Err(names.unsupported(
            input,
            format!("{tree} in it is a tree whose baskets are elsewhere in the file, and would be lost: leave it out by the \
                     rule drop; arrowroot skim {path}/... OUT takes one such tree"),
        ))
    };
    if !StreamerInfos::may_hold_objects(&key.key.class_name) {
        // Of ROOT's own classes, as in the functions of a histogram.
        return if has_trees(object) { refused("something") } else { Ok(()) };
    }
    for tree in input.trees_inside(std::slice::from_ref(&path))? {
        let Some((held, number)) = input.tree_inside(&tree)? else { return refused(&tree) };
        let found = Tree::inside(&held, number)?;
        for (branch, _) in found.walk() {
            if found.baskets(branch)?.iter().any(|basket| basket.embedded.is_none()) {
                return refused(&tree);
            }
        }
    }
    Ok(())
}

/// True if an object is, or holds, one of a class of trees.
fn has_trees(object: &[u8]) -> bool {
    let is_new = |(_, tag): &(usize, &[u8])| tag[..4] == NEW_CLASS && tag[4] == b'T';
    let mut tags = object.windows(5).enumerate().filter(is_new);
    tags.any(|(begin, _)| TREES.iter().any(|name| object[begin + 4..].starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_trees_are_found_behind_their_tags() {
        assert!(has_trees(b"..\xff\xff\xff\xffTTree\0.."));
        assert!(has_trees(b"\xff\xff\xff\xff\xffTNtupleD\0"));
        assert!(!has_trees(b"\xff\xff\xff\xffTTreeIndex\0"));
        assert!(!has_trees(b"\xff\xff\xffTTree\0"));
        assert!(!has_trees(b"\xff\xff\xff\xffTT"));
    }
}
