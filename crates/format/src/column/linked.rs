//! Types of object graphs: what is stored under a key, with pointers to objects of any class.
//!
//! Pointers are links there: what they lead to is read when it is met, by the class named in the data.

use std::collections::BTreeSet;
use std::sync::Arc;

use ahash::{HashMap, HashMapExt};

use super::compile::Compiler;
use super::node::Node;
use super::{described, members};
use crate::error::{Error, Result};
use crate::streamer::{Element, StreamerInfos, TypeName};

/// Types of the objects in a graph, compiled when they are first met.
pub struct LinkedTypes<'i> {
    compiler: Compiler<'i>,
    nodes: HashMap<String, Arc<Node>>,
}

impl<'i> LinkedTypes<'i> {
    /// From the streamer information of a file.
    pub fn new(infos: &'i StreamerInfos) -> Self {
        Self::without(infos, &BTreeSet::new())
    }

    /// The same without what is said of some classes, whose objects turned out not to be so.
    pub fn without(infos: &'i StreamerInfos, classes: &BTreeSet<String>) -> Self {
        let mut compiler = Compiler::linked(infos);
        compiler.misdescribed.clone_from(classes);
        LinkedTypes { compiler, nodes: HashMap::new() }
    }

    /// True if the objects of a class are trees.
    pub fn is_tree(&self, class: &str) -> bool {
        self.compiler.infos.is_tree(class)
    }

    /// How an object of a class that writes itself is stored; `None` if it is stored as it is described.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if its way is not known.
    pub fn own_way_of(&mut self, class: &str) -> Option<Result<Arc<Node>>> {
        let is_own = !described::infos_of(class).is_empty() || self.compiler.own_streamer(class).is_some();
        is_own.then(|| self.node_of(class))
    }

    /// How a member of a class is stored, or an item of one that is counted.
    pub fn node_of_member(&mut self, class: &str, element: &Element) -> Node {
        self.compiler.open.push(class.to_owned());
        let node = match members::counted(element) {
            Some(_) => self.compiler.counted_item(element),
            None => self.compiler.member(element),
        };
        self.compiler.open.pop();
        node
    }

    /// How an object of a class is stored under a key or behind a pointer.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it cannot be read, with the class in its text.
    pub fn node_of(&mut self, class: &str) -> Result<Arc<Node>> {
        if let Some(node) = self.nodes.get(class) {
            return Ok(Arc::clone(node));
        }
        let name = TypeName::parse(class)?;
        let node = match self.compiler.value(&name, 0) {
            Node::Opaque(why) | Node::Unreadable(why) => {
                return Err(Error::unsupported(0, format!("{why}, cannot be read")));
            }
            Node::Text if name.name == "TString" => Node::Text,
            Node::Text => Node::Framed(Box::new(Node::Text)),
            node if self.compiler.is_framed_collection(&name) => Node::Framed(Box::new(node)),
            node => node,
        };
        let node = Arc::new(node);
        self.nodes.insert(class.to_owned(), Arc::clone(&node));
        Ok(node)
    }
}
