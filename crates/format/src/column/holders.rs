//! What holds objects of classes that only the data tell: pointers to a base, ROOT's collections, `TClonesArray`.

use std::sync::Arc;

use super::collections;
use super::compile::{Compiler, MAX_SIZE, unreadable};
use super::node::{AnyNode, ClonesNode, Node, Pointer};
use super::special::{self, OwnStreamer};
use crate::streamer::{StreamerInfo, TypeName};

impl Compiler<'_> {
    /// The streamer of a class, if it is known to have one of its own.
    pub(super) fn own_streamer(&mut self, class: &str) -> Option<OwnStreamer> {
        if !collections::has_streamer(class) {
            return special::streamer_of(class);
        }
        if class == "TClonesArray" {
            return Some(OwnStreamer::Node(if self.is_linked { Node::Clones } else { self.clones() }));
        }
        let place = self.place.clone();
        let found = collections::streamer_of(class, &mut |part| {
            if self.is_linked {
                return Node::Link;
            }
            self.place = format!("{place}/{part}");
            Node::Any(Box::new(self.any("TObject")))
        });
        self.place = place;
        found
    }

    /// A pointer to a class.
    pub(super) fn pointer(&mut self, class: &TypeName) -> Node {
        if self.is_linked {
            return Node::Link;
        }
        let name = class.to_string();
        let is_circular = !self.is_known(&name) && self.is_open(&name);
        if is_circular || self.is_any(&name) {
            return Node::Any(Box::new(self.any(&name)));
        }
        let node = self.value(class, 0);
        Node::Pointer(Box::new(Pointer { class: name, node }))
    }

    /// An object behind the name of its class, which may derive from the one that was declared.
    pub(super) fn named(&mut self, class: &TypeName) -> Node {
        let name = class.to_string();
        if self.is_any(&name) {
            return Node::NamedAny(Box::new(self.any(&name)));
        }
        let node = self.value(class, 0);
        Node::Named(Box::new(Pointer { class: name, node }))
    }

    /// Whether a pointer to a class leads to others, too.
    fn is_any(&mut self, class: &str) -> bool {
        if class == "TObject" {
            return true;
        }
        let has_derived = self.has_derived(class);
        self.is_bounded |= has_derived;
        has_derived && self.seen.may_differ(&self.place, class)
    }

    /// Whether the file describes a class that derives from this one. ROOT's collections are taken for what they are
    /// declared as: `TClonesArray` and `THashList` derive from others, but hardly ever take their place.
    fn has_derived(&mut self, class: &str) -> bool {
        if collections::has_streamer(class) {
            return false;
        }
        let infos = self.infos;
        let bases = self.bases.get_or_insert_with(|| {
            infos.iter().flat_map(StreamerInfo::bases).map(|base| base.name.to_string()).collect()
        });
        bases.contains(class)
    }

    /// A pointer to an object of a class, or of one that derives from it: those that were met in this place, and the
    /// declared one, have their members; of all others the bytes come out.
    fn any(&mut self, declared: &str) -> AnyNode {
        self.is_bounded = true;
        let place = self.place.clone();
        let seen = Arc::clone(&self.seen);
        let is_seen = seen.classes(&place).any(|class| class == declared);
        let first = (!is_seen && declared != "TObject").then_some(declared);
        let (mut alternatives, mut size) = (Vec::new(), 0_usize);
        for class in first.into_iter().chain(seen.classes(&place)) {
            let Ok(name) = TypeName::parse(class) else { continue };
            if self.open.iter().any(|open| open == class) && !self.is_known(class) {
                continue;
            }
            self.place = format!("{place}/{class}");
            let node = self.value(&name, 0);
            self.n_left = self.n_left.saturating_sub(1);
            size = size.saturating_add(node.size());
            if size > MAX_SIZE {
                break;
            }
            if matches!(node, Node::Object(_)) && node.fault().is_none() {
                alternatives.push(Pointer { class: name.to_string(), node });
            }
        }
        self.place.clone_from(&place);
        AnyNode { place: Arc::from(place), alternatives }
    }

    /// An array of objects of one class: that which was met in this place.
    fn clones(&mut self) -> Node {
        self.is_bounded = true;
        let place = self.place.clone();
        let seen = Arc::clone(&self.seen);
        let mut classes = seen.classes(&place);
        let (first, second) = (classes.next(), classes.next());
        let class = first.unwrap_or_default();
        let item = match (TypeName::parse(class), second) {
            (_, Some(second)) => unreadable(format!("a TClonesArray of {class} and of {second}")),
            (Ok(name), None) if !class.is_empty() => {
                self.place = format!("{place}/{class}");
                self.value(&name, 0)
            }
            _ => unreadable("a TClonesArray of a class that the first entries of the branch do not tell"),
        };
        self.place.clone_from(&place);
        Node::ClonesOf(Box::new(ClonesNode { place: Arc::from(place), class: class.to_owned(), item }))
    }
}
