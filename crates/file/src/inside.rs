//! Where trees are inside of other objects: in lists and maps, behind members.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use arrowroot_format as format;
use format::decode::{Content, OUTERMOST, Object, ObjectGraph, Values};
use format::streamer::StreamerInfos;
use format::tree::TreeRecord;

/// Bytes of the longest path. Objects may lie as deep as there are bytes.
const MAX_PATH_BYTES: usize = 4096;
/// Bytes of all paths together.
const MAX_ALL_BYTES: usize = 16 << 20;

/// How an object is reached from the one around it.
struct Step<'g> {
    around: u32,
    name: Cow<'g, str>,
}

/// A pointer in an object: the member that it is or is in, and whether it is one of several there.
struct Link<'v> {
    member: &'v str,
    is_item: bool,
    number: u32,
}

/// The paths of the trees in a graph by their numbers, each from the slash on that follows the key's: the shortest way, by the
/// name of an item in a collection, else of the member. What has the path of another has a number behind it.
pub(crate) fn paths_of_trees(graph: &ObjectGraph, data: &[u8], infos: &StreamerInfos) -> BTreeMap<u32, String> {
    let is_tree = |object: &&Object| matches!(object.content, Ok(Content::Tree));
    if !graph.objects.values().any(|object| is_tree(&object)) {
        return BTreeMap::new();
    }
    let mut steps: HashMap<u32, Step<'_>> = HashMap::new();
    let mut waiting = vec![OUTERMOST];
    let mut links = Vec::new();
    while !waiting.is_empty() {
        for around in std::mem::take(&mut waiting) {
            let Some(Ok(Content::Value(_, values))) = graph.objects.get(&around).map(|object| &object.content) else {
                continue;
            };
            collect_links("", false, values, &mut links);
            for Link { member, is_item, number } in links.drain(..) {
                if number == OUTERMOST || steps.contains_key(&number) {
                    continue;
                }
                let Some(object) = graph.objects.get(&number) else { continue };
                let name = name_of(object, data, infos).filter(|name| is_item && !name.is_empty());
                steps.insert(number, Step { around, name: name.unwrap_or(Cow::Borrowed(member)) });
                waiting.push(number);
            }
        }
    }
    let trees = graph.objects.iter().filter(|(_, object)| is_tree(object)).map(|(&number, _)| number);
    let (mut paths, mut taken, mut n_bytes) = (BTreeMap::new(), HashSet::new(), 0);
    let mut repeats = HashMap::new();
    for number in trees {
        let Some(plain) = path_of(number, &steps) else { continue };
        let n_before = repeats.entry(plain.clone()).or_insert(0_u32);
        let path = loop {
            *n_before += 1;
            let path = if *n_before == 1 { plain.clone() } else { format!("{plain};{n_before}") };
            if taken.insert(path.clone()) {
                break path;
            }
        };
        n_bytes += path.len();
        if n_bytes > MAX_ALL_BYTES {
            break;
        }
        paths.insert(number, path);
    }
    paths
}

/// The names on the way to an object, a slash before each; `None` if there is no way, or it is too long.
fn path_of(number: u32, steps: &HashMap<u32, Step<'_>>) -> Option<String> {
    let (mut names, mut n_bytes, mut at) = (Vec::new(), 0, number);
    while at != OUTERMOST {
        let step = steps.get(&at)?;
        n_bytes += 1 + step.name.len();
        if n_bytes > MAX_PATH_BYTES {
            return None;
        }
        names.push(&*step.name);
        at = step.around;
    }
    Some(names.iter().rev().flat_map(|name| ["/", name]).collect())
}

fn collect_links<'v>(member: &'v str, is_item: bool, values: &'v Values, links: &mut Vec<Link<'v>>) {
    match values {
        Values::Links(numbers) => links.extend(numbers.iter().map(|&number| Link { member, is_item, number })),
        Values::List(_, items) | Values::FixedList(items, _) => collect_links(member, true, items, links),
        Values::Optional(_, value) => collect_links(member, is_item, value, links),
        Values::Map(_, keys, items) => {
            collect_links(member, true, keys, links);
            collect_links(member, true, items, links);
        }
        Values::Struct(_, columns) => {
            for (name, column) in columns {
                // The structs of a list are the pairs of a map, or stand around the items of a collection.
                collect_links(if is_item { member } else { name }, is_item, column, links);
            }
        }
        Values::Primitive(..) | Values::Text(..) | Values::Bytes(..) | Values::Nothing(_) => {}
    }
}

/// The name of an object, if it has one.
fn name_of<'g>(object: &'g Object, data: &[u8], infos: &StreamerInfos) -> Option<Cow<'g, str>> {
    match object.content.as_ref().ok()? {
        Content::Tree => {
            let data = data.get(..object.range.end)?;
            TreeRecord::name_from(object.range.start, data, &object.class, &|| Ok(infos)).ok().map(Cow::Owned)
        }
        Content::Value(_, Values::Struct(1, columns)) => {
            let name = columns.iter().find(|(name, _)| &**name == "fName")?;
            match &name.1 {
                Values::Text(_, bytes) => Some(String::from_utf8_lossy(bytes)),
                _ => None,
            }
        }
        Content::Value(..) => None,
    }
}
