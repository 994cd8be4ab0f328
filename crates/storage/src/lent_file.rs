//! A local file whose descriptor is lent: it may be closed when descriptors are scarce, and is opened again for the next read.

#![expect(clippy::disallowed_types, reason = "files are opened here for the others of this crate")]

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use crate::descriptors::{Cost, HeldDescriptor, Holder, Registration, held};
use crate::error::Result;

/// How a file is left and found again.
pub(crate) trait Whereabouts: Send + Sync {
    /// Makes sure that the file can be opened again. False if it cannot be: it then stays open.
    fn leave(&self, file: &File) -> bool;

    /// Opens it again.
    ///
    /// # Errors
    /// If that fails, or if another file is there now.
    fn find(&self) -> Result<File>;
}

/// An open file, or one that is open again when it is needed.
pub(crate) struct LentFile<W: Whereabouts + 'static> {
    whereabouts: W,
    open: RwLock<Option<Open>>,
    was_used: AtomicBool,
    own: Weak<LentFile<W>>,
}

/// What there is of a file that is open.
struct Open {
    file: HeldDescriptor<File>,
    _entry: Registration,
}

impl<W: Whereabouts> LentFile<W> {
    /// Lends a file that is open.
    pub(crate) fn new(whereabouts: W, file: HeldDescriptor<File>) -> Arc<LentFile<W>> {
        Arc::new_cyclic(|own: &Weak<LentFile<W>>| LentFile {
            whereabouts,
            open: RwLock::new(Some(Open {
                file,
                _entry: Registration::of(Cost::File, Weak::clone(own) as Weak<dyn Holder>),
            })),
            was_used: AtomicBool::new(true),
            own: Weak::clone(own),
        })
    }

    /// Uses the file, which stays open meanwhile. Any number of threads may at the same time.
    ///
    /// # Errors
    /// Those of `work`, and those of opening it again.
    pub(crate) fn with<T>(&self, mut work: impl FnMut(&File) -> Result<T>) -> Result<T> {
        loop {
            {
                let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
                if let Some(open) = &*open {
                    // Looked at first: writing would take the line from the caches of others.
                    if !self.was_used.load(Ordering::Relaxed) {
                        self.was_used.store(true, Ordering::Relaxed);
                    }
                    return work(&open.file);
                }
            }
            // Not while the lock is held: others may have to give back for it.
            let file = held(|| self.whereabouts.find())?;
            let entry = Registration::of(Cost::File, Weak::clone(&self.own) as Weak<dyn Holder>);
            let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
            if open.is_none() {
                *open = Some(Open { file, _entry: entry });
                self.was_used.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl<W: Whereabouts> LentFile<W> {
    /// How it is found again.
    pub(crate) fn whereabouts(&self) -> &W {
        &self.whereabouts
    }
}

impl<W: Whereabouts> Holder for LentFile<W> {
    fn was_used(&self) -> bool {
        self.was_used.swap(false, Ordering::Relaxed)
    }

    fn give_back(&self) {
        // What is being opened or read is in use. To leave may take time, in which others may read.
        let may_leave =
            self.open.try_read().is_ok_and(|open| open.as_ref().is_some_and(|open| self.whereabouts.leave(&open.file)));
        let left = if may_leave { self.open.try_write().ok().and_then(|mut open| open.take()) } else { None };
        drop(left);
    }
}
