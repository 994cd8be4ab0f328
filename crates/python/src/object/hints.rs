//! Members of objects: their names, and how they were stored.

use std::collections::HashMap;

use arrowroot::format::column::{Class, Name, Node, Step, is_of_root};
use arrowroot::format::decode::Values;

/// The way values were stored, as far as it is known, for the names of classes.
#[derive(Clone, Copy)]
pub(super) enum Hint<'g> {
    Unknown,
    Of(&'g Node),
    /// A list of such items.
    ListOf(&'g Node),
    /// A base that writes itself.
    Base(&'g Node),
}

/// A member of structs, or one of a base that writes itself.
pub(super) struct Part<'g> {
    pub(super) name: &'g Name,
    /// The base that it is in, where another member is called so, too.
    pub(super) base: Option<&'g Name>,
    /// Place of the column that it is or is in.
    pub(super) index: usize,
    pub(super) hint: Hint<'g>,
    pub(super) values: &'g Values,
    /// For each struct, where versions without the base are among them.
    pub(super) is_there: Option<&'g [u8]>,
}

pub(super) fn item_hint(hint: Hint<'_>) -> Hint<'_> {
    match hint {
        Hint::ListOf(item) => Hint::Of(item),
        Hint::Of(Node::List(item) | Node::ToEnd(item) | Node::ToFit(item) | Node::Fixed(item, _)) => Hint::Of(item),
        Hint::Of(Node::CountedBy { item, .. }) => Hint::Of(item),
        Hint::Of(Node::Sole(class)) => class.sole().map_or(Hint::Unknown, |node| item_hint(Hint::Of(node))),
        _ => Hint::Unknown,
    }
}

/// Members by name: a base that writes itself is one column, whose members are as good as those of other bases. Where
/// another member is called so, too, the name has the base before it.
pub(super) fn parts_of<'g>(columns: &'g [(Name, Values)], hints: &[Hint<'g>]) -> Vec<Part<'g>> {
    let mut parts = Vec::with_capacity(columns.len());
    let mut places_by_name: HashMap<&str, usize> = HashMap::new();
    for (index, ((name, values), &hint)) in columns.iter().zip(hints).enumerate() {
        let (is_there, inner) = match values {
            Values::Optional(is_there, inner) => (Some(is_there.as_slice()), &**inner),
            values => (None, values),
        };
        let (Hint::Base(node), Values::Struct(_, members)) = (hint, inner) else {
            places_by_name.insert(name, usize::MAX);
            parts.push(Part { name, base: None, index, hint, values, is_there: None });
            continue;
        };
        let mut hints = vec![Hint::Unknown; members.len()];
        if let Node::Object(class) = node {
            class.variants.iter().for_each(|variant| collect_hints(&variant.steps, &mut hints));
        }
        for ((name, values), hint) in members.iter().zip(hints) {
            let known = places_by_name.entry(name).or_insert(index);
            if *known != usize::MAX {
                *known = index;
            }
            parts.push(Part { name, base: None, index, hint, values, is_there });
        }
    }
    for part in &mut parts {
        let is_base = matches!(hints.get(part.index), Some(Hint::Base(_)));
        if is_base && places_by_name.get(&**part.name).is_some_and(|&index| index != part.index) {
            part.base = columns.get(part.index).map(|(name, _)| name);
        }
    }
    parts
}

/// For each place whether its member is of a class of ROOT; nothing if the class itself is one or derives from none.
pub(super) fn of_root(class: &Class, n_places: usize) -> Vec<bool> {
    if is_of_root(&class.name) {
        return Vec::new();
    }
    let mut is_of_root = vec![false; n_places];
    let mut derives = false;
    for variant in &class.variants {
        derives |= note_of_root(&variant.steps, false, &mut is_of_root);
    }
    if derives { is_of_root } else { Vec::new() }
}

/// Notes the members of bases that are of ROOT. Returns whether one of these is more than a `TObject`.
fn note_of_root(steps: &[Step], is_inside: bool, noted: &mut [bool]) -> bool {
    let mut derives = false;
    for step in steps {
        let places = match step {
            Step::Base(base) => {
                let is_inside = is_inside || is_of_root(&base.name);
                derives |= is_inside;
                for variant in &base.variants {
                    derives |= note_of_root(&variant.steps, is_inside, noted);
                }
                continue;
            }
            Step::OwnBase(index, _) => {
                derives = true;
                [*index, *index]
            }
            Step::TObject { unique_id, bits, .. } => [*unique_id, *bits],
            Step::Member(index, _) | Step::Counted { index, .. } if is_inside => [*index, *index],
            _ => continue,
        };
        for index in places {
            if let Some(is_of_root) = noted.get_mut(index) {
                *is_of_root = true;
            }
        }
    }
    derives
}

/// How the members of a class are stored, by place.
pub(super) fn collect_hints<'g>(steps: &'g [Step], hints: &mut [Hint<'g>]) {
    for step in steps {
        let (index, hint) = match step {
            Step::Member(index, node) => (*index, Hint::Of(node)),
            Step::OwnBase(index, node @ (Node::Object(_) | Node::Clones)) => (*index, Hint::Base(node)),
            Step::OwnBase(index, node) => (*index, Hint::Of(node)),
            Step::Counted { index, item, .. } => (*index, Hint::ListOf(item)),
            Step::Base(base) => {
                for variant in &base.variants {
                    collect_hints(&variant.steps, hints);
                }
                continue;
            }
            Step::TObject { .. } | Step::Process { .. } | Step::PassedOver(..) | Step::Unreadable(_) => continue,
        };
        if let Some(known @ Hint::Unknown) = hints.get_mut(index) {
            *known = hint;
        }
    }
}
