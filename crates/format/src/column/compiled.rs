//! Classes that were compiled, for all branches and objects of a file.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ahash::HashMap;

use super::class::Class;

/// Elements that may be compiled for each one that the file describes, and besides: a file whose branches make more of its
/// classes than this is made to harm.
const MAX_FOR_EACH: usize = 20;
const MAX_BESIDES: usize = 150_000;
/// Elements of a form that are not counted: files have thousands of branches.
const FREE: usize = 200;

/// A class, or why there is none that can be read.
pub(crate) type FoundClass = Result<Arc<Class>, Arc<str>>;

/// Classes of a file by their names: those that are the same wherever they occur. Refusals are kept, too.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    /// Those of branches, and those of object graphs.
    classes: [Mutex<HashMap<String, FoundClass>>; 2],
    n_spent: AtomicUsize,
    /// Elements that the file describes.
    n_described: usize,
}

impl Compiled {
    pub(crate) fn new(n_described: usize) -> Self {
        Compiled { n_described, ..Compiled::default() }
    }

    pub(super) fn get(&self, class: &str, is_linked: bool) -> Option<FoundClass> {
        let classes = self.classes[usize::from(is_linked)].lock().unwrap_or_else(PoisonError::into_inner);
        classes.get(class).cloned()
    }

    pub(super) fn insert(&self, class: String, is_linked: bool, found: FoundClass) {
        let mut classes = self.classes[usize::from(is_linked)].lock().unwrap_or_else(PoisonError::into_inner);
        classes.insert(class, found);
    }

    /// Elements that may still be compiled for a form.
    pub(super) fn room(&self) -> usize {
        let most = self.n_described.saturating_mul(MAX_FOR_EACH).saturating_add(MAX_BESIDES);
        most.saturating_sub(self.n_spent.load(Ordering::Relaxed)).max(FREE)
    }

    /// Begins to count what is compiled for a form.
    pub(super) fn begin(self: &Arc<Self>) -> Spent {
        Spent { of: Arc::clone(self), n_elements: 0 }
    }
}

/// Elements that were compiled for a form; taken from those of the file when it is done.
pub(super) struct Spent {
    of: Arc<Compiled>,
    n_elements: usize,
}

impl Spent {
    pub(super) fn add(&mut self, n_elements: usize) {
        self.n_elements = self.n_elements.saturating_add(n_elements);
    }
}

impl Drop for Spent {
    fn drop(&mut self) {
        self.of.n_spent.fetch_add(self.n_elements.saturating_sub(FREE), Ordering::Relaxed);
    }
}
