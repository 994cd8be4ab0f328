//! Branches of one tree found in another.

use ahash::{HashMap, HashMapExt};
use arrowroot::format::tree::{Branch, BranchId, Leaf, LeafKind, TreeRecord};

use crate::merging::Columns;

/// Names in a message.
const MAX_NAMES: usize = 3;

/// Where the branches of an input go.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mapping {
    /// By the ids of the input's branches: the index of that of the output; `None` if it is left out.
    pub(crate) branches: Vec<Option<usize>>,
    /// The same of leaves.
    pub(crate) leaves: Vec<Option<usize>>,
    /// The input's branches, parents first, that the output gets: their indices are behind those of its own.
    pub(crate) added: Vec<BranchId>,
    /// Branches of the output that the input lacks.
    pub(crate) missing: Vec<usize>,
}

impl Mapping {
    /// That of the first input.
    pub(crate) fn identity(record: &TreeRecord) -> Mapping {
        Mapping {
            branches: (0..record.branches.len()).map(Some).collect(),
            leaves: (0..record.leaves.len()).map(Some).collect(),
            ..Mapping::default()
        }
    }

    /// That of an input to a tree of the output, or why they do not fit together.
    pub(crate) fn between(input: &TreeRecord, output: &TreeRecord, columns: Columns) -> Result<Mapping, String> {
        let output_paths = paths(output);
        let by_path: HashMap<&str, usize> =
            output_paths.iter().enumerate().map(|(index, path)| (path.as_str(), index)).collect();
        let mut mapping = Mapping {
            branches: vec![None; input.branches.len()],
            leaves: vec![None; input.leaves.len()],
            ..Mapping::default()
        };
        let mut is_there = vec![false; output.branches.len()];
        let (mut unknown, input_paths) = (Vec::new(), paths(input));
        let mut n_leaves = output.leaves.len();
        for id in walk(input) {
            let (branch, path) = (input.branch(id), &input_paths[id.0 as usize]);
            if let Some(&index) = by_path.get(path.as_str()) {
                check_same(input, branch, output, &output.branches[index])
                    .map_err(|what| format!("branch {path:?}: {what}"))?;
                is_there[index] = true;
                mapping.branches[id.0 as usize] = Some(index);
                for (leaf, of_output) in branch.leaves.iter().zip(&output.branches[index].leaves) {
                    mapping.leaves[leaf.0 as usize] = Some(of_output.0 as usize);
                }
                continue;
            }
            match columns {
                Columns::Strict => unknown.push(path.as_str()),
                Columns::First => {}
                Columns::Union => {
                    let is_in_known = branch.parent.is_some_and(|parent| {
                        mapping.branches[parent.0 as usize].is_some_and(|index| index < output.branches.len())
                    });
                    if is_in_known {
                        return Err(format!("branch {path:?} is in a split object that inputs before have without it"));
                    }
                    mapping.branches[id.0 as usize] = Some(output.branches.len() + mapping.added.len());
                    mapping.added.push(id);
                    for leaf in &branch.leaves {
                        mapping.leaves[leaf.0 as usize] = Some(n_leaves);
                        n_leaves += 1;
                    }
                }
            }
        }
        mapping.missing = (0..is_there.len()).filter(|&index| !is_there[index]).collect();
        let missing: Vec<&str> = mapping.missing.iter().map(|&index| output_paths[index].as_str()).collect();
        if columns == Columns::Strict && !(unknown.is_empty() && missing.is_empty()) {
            let told = |what: &str, names: &[&str]| (!names.is_empty()).then(|| format!("{what} {}", listed(names)));
            let told: Vec<String> =
                [told("it lacks", &missing), told("inputs before lack", &unknown)].into_iter().flatten().collect();
            return Err(format!(
                "other branches than in the inputs before: {}; columns union or first take it",
                told.join(", ")
            ));
        }
        Ok(mapping)
    }
}

fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(MAX_NAMES);
    let shown = names.iter().take(MAX_NAMES).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// All branches, parents before what is in them.
pub(crate) fn walk(record: &TreeRecord) -> Vec<BranchId> {
    let mut order = Vec::with_capacity(record.branches.len());
    let mut waiting: Vec<BranchId> = record.top_branches.iter().rev().copied().collect();
    while let Some(id) = waiting.pop() {
        order.push(id);
        waiting.extend(record.branch(id).branches.iter().rev());
    }
    order
}

/// The path of each branch by its id; the second one of a path has `;2` behind it.
fn paths(record: &TreeRecord) -> Vec<String> {
    let mut paths = vec![String::new(); record.branches.len()];
    let mut n_alike: HashMap<String, u32> = HashMap::with_capacity(paths.len());
    for id in walk(record) {
        let branch = record.branch(id);
        let mut path = match branch.parent {
            Some(parent) => format!("{}/{}", paths[parent.0 as usize], branch.name),
            None => branch.name.clone(),
        };
        let n = n_alike.entry(path.clone()).or_default();
        *n += 1;
        if *n > 1 {
            path = format!("{path};{n}");
        }
        paths[id.0 as usize] = path;
    }
    paths
}

/// Checks that the baskets of one branch can stand behind those of another.
fn check_same(input: &TreeRecord, branch: &Branch, output: &TreeRecord, known: &Branch) -> Result<(), String> {
    if branch.class != known.class {
        return Err(format!("a {}, in the inputs before a {}", branch.class, known.class));
    }
    if branch.leaves.len() != known.leaves.len() {
        return Err(format!("{} leaves, in the inputs before {}", branch.leaves.len(), known.leaves.len()));
    }
    for (leaf, of_known) in branch.leaves.iter().zip(&known.leaves) {
        check_same_leaf((input, input.leaf(*leaf)), (output, output.leaf(*of_known)))?;
    }
    let class_of = |branch: &Branch| {
        branch.object_class.clone().map(String::from).or(branch.clones.as_ref().map(|clones| clones.class_name.clone()))
    };
    if class_of(branch) != class_of(known) {
        return Err("objects of another class than in the inputs before".to_owned());
    }
    match (&branch.element, &known.element) {
        (None, None) => Ok(()),
        (Some(one), Some(other)) => {
            let type_of = |part: &arrowroot::format::tree::ElementPart| {
                (part.class_name.clone(), part.clones_name.clone(), part.id, part.node_type, part.streamer_type)
            };
            if type_of(one) != type_of(other) {
                return Err(format!(
                    "{} split otherwise than the {} of the inputs before",
                    one.class_name, other.class_name
                ));
            }
            // The baskets of a member do not say of which version of its class they are.
            if (one.class_version, one.checksum) != (other.class_version, other.checksum) {
                return Err(format!(
                    "class {} of version {} (checksum {:#010x}), in the inputs before of version {} ({:#010x})",
                    one.class_name, one.class_version, one.checksum, other.class_version, other.checksum
                ));
            }
            Ok(())
        }
        _ => Err("split, and not in the inputs before, or the other way round".to_owned()),
    }
}

fn check_same_leaf((input, leaf): (&TreeRecord, &Leaf), (output, known): (&TreeRecord, &Leaf)) -> Result<(), String> {
    let type_of = |leaf: &Leaf| {
        // The title has the dimensions, and the range of packed numbers.
        let n_values = if leaf.kind == LeafKind::Text { 0 } else { leaf.n_values };
        (leaf.class.clone(), leaf.title.clone(), leaf.kind.clone(), leaf.is_unsigned, n_values)
    };
    if type_of(leaf) != type_of(known) {
        let told = |leaf: &Leaf| {
            let unsigned = if leaf.is_unsigned { "an unsigned " } else { "" };
            format!("{unsigned}{} {:?}", leaf.class, leaf.title)
        };
        return Err(format!("{}, in the inputs before {}", told(leaf), told(known)));
    }
    let counter = |record: &TreeRecord, leaf: &Leaf| leaf.counter.map(|counter| record.leaf(counter).name.clone());
    if counter(input, leaf) != counter(output, known) {
        return Err("counted by another branch than in the inputs before".to_owned());
    }
    Ok(())
}
