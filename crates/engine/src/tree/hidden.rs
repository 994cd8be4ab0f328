//! Names of the members of a split class: where it hides a member of a base, that one has the bases before its name.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use arrowroot_file::{Result, permanent};
use arrowroot_format::streamer::{StreamerInfo, StreamerInfos};
use arrowroot_format::tree::BranchId;

use super::Tree;
use super::nested::Shape;
use crate::table::Table;

/// So many bases are looked through for the ways to one.
const MAX_BASES: usize = 256;
/// Bytes of the names of bases before a member.
const MAX_WAY_BYTES: usize = 1 << 10;

/// A member of a class, as its branches tell.
pub(super) struct Member {
    pub(super) name: String,
    /// The bases on the way to it, with colons behind each, as far as they have branches.
    pub(super) bases: Rc<str>,
    /// Its branch, or the first of its branches.
    pub(super) branch: BranchId,
    pub(super) content: Content,
}

/// The content of a member.
pub(super) enum Content {
    Whole(Shape),
    /// Its members have branches beside those of its class.
    Apart(Vec<Member>),
}

impl Member {
    pub(super) fn is_apart(&self) -> bool {
        matches!(self.content, Content::Apart(_))
    }
}

/// The bases on a way and one more; those around are left out where all together are long.
pub(super) fn way(around: &str, base: &str) -> Rc<str> {
    match around.len() + base.len() {
        0..MAX_WAY_BYTES => format!("{around}{base}::").into(),
        _ if base.len() < MAX_WAY_BYTES => format!("{base}::").into(),
        _ => "".into(),
    }
}

/// The members by names that are different.
///
/// # Errors
/// Reading the descriptions of classes, which may have to tell the bases, can fail.
pub(super) fn named(tree: &Tree, members: Vec<Member>) -> Result<Vec<(String, Shape)>> {
    let last: HashMap<String, usize> =
        (0..).zip(&members).map(|(index, member)| (member.name.clone(), index)).collect();
    let mut ways = Ways { tree, known: HashMap::new() };
    let mut named = Vec::with_capacity(members.len());
    for (index, member) in members.into_iter().enumerate() {
        let name = match last.get(&member.name) == Some(&index) {
            true => member.name,
            false => format!("{}{}", ways.to(&member)?, member.name),
        };
        let shape = match member.content {
            Content::Whole(shape) => shape,
            Content::Apart(members) => Shape::Struct(self::named(tree, members)?),
        };
        named.push((name, shape));
    }
    Ok(named)
}

/// The ways to hidden members of a class.
struct Ways<'t> {
    tree: &'t Tree,
    /// Of objects in split collections, by class and base.
    known: HashMap<(&'t str, &'t str), ToBase>,
}

/// The ways to a base.
struct ToBase {
    ways: Vec<Rc<str>>,
    /// How many members of each name were met there.
    n_met: HashMap<String, usize>,
}

impl Ways<'_> {
    /// The bases before the name of a member. The objects of a split collection have no branches of their bases: the branch of a
    /// member says which base it is of, and of one that comes several times the first is first.
    fn to(&mut self, member: &Member) -> Result<String> {
        let part = self.tree.branch(member.branch).element.as_ref();
        let Some(part) = part.filter(|part| part.is_in_collection() && part.class_name != part.parent_name) else {
            return Ok(member.bases.to_string());
        };
        let (class, base) = (part.parent_name.as_str(), part.class_name.as_str());
        let known = match self.known.entry((class, base)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let infos = permanent(self.tree.file().streamer_infos())?;
                let ways = infos.map_or_else(|_| Vec::new(), |infos| ways_to(infos, class, base));
                new.insert(ToBase { ways, n_met: HashMap::new() })
            }
        };
        let number = known.n_met.entry(member.name.clone()).or_insert(0);
        let found = known.ways.get(*number).map_or_else(|| way("", base), Rc::clone);
        *number += 1;
        Ok(format!("{found}{}", member.bases))
    }
}

/// The ways from a class to a base of it, in the order of its members.
fn ways_to(infos: &StreamerInfos, class: &str, base: &str) -> Vec<Rc<str>> {
    let mut waiting = vec![(class, Rc::from(""))];
    let mut found = Vec::new();
    for _ in 0..MAX_BASES {
        let Some((class, here)) = waiting.pop() else { break };
        if class == base {
            found.push(here);
            continue;
        }
        let bases = infos.latest(class).into_iter().flat_map(StreamerInfo::bases);
        let inside: Vec<_> = bases.map(|base| (&*base.name, way(&here, &base.name))).collect();
        waiting.extend(inside.into_iter().rev());
    }
    found
}
