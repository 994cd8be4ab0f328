//! Classes that the data alone tell: those of objects in ROOT's collections, and behind pointers to a base.

use std::collections::{BTreeMap, BTreeSet};

/// So many classes are told apart in one place: each becomes a member of what comes out.
const MAX_CLASSES: usize = 32;
/// So many places are looked at in a branch.
const MAX_PLACES: usize = 1024;

/// Which classes were met, by the place that holds their objects: a member of a class, or what is inside of one.
///
/// Compiling a form with what the form before has met gives those objects their members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenClasses {
    by_place: BTreeMap<String, BTreeSet<String>>,
    n_met: usize,
    is_settled: bool,
}

impl SeenClasses {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that no more data will be looked at: pointers that led to the class that they were declared with, or to
    /// none, are taken to do so always.
    pub fn settle(&mut self) {
        self.is_settled = true;
    }

    /// Whether a pointer may lead to a class that derives from the one it was declared with.
    pub(super) fn may_differ(&self, place: &str, declared: &str) -> bool {
        !self.is_settled || self.classes(place).any(|class| class != declared)
    }

    /// How many classes were met, over all places.
    pub fn len(&self) -> usize {
        self.n_met
    }

    /// Whether none were.
    pub fn is_empty(&self) -> bool {
        self.n_met == 0
    }

    /// Notes a class.
    pub(crate) fn note(&mut self, index: &str, class: &str) {
        if !self.by_place.contains_key(index) {
            if self.by_place.len() >= MAX_PLACES {
                return;
            }
            self.by_place.insert(index.to_owned(), BTreeSet::new());
        }
        if let Some(classes) = self.by_place.get_mut(index)
            && classes.len() < MAX_CLASSES
            && !classes.contains(class)
        {
            classes.insert(class.to_owned());
            self.n_met += 1;
        }
    }

    /// The classes of a place, in the order of their names.
    pub(super) fn classes(&self, index: &str) -> impl Iterator<Item = &str> + use<'_> {
        self.by_place.get(index).into_iter().flatten().map(String::as_str)
    }
}
