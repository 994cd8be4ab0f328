//! Findings about files that later files share: those used last, of a bounded number and size.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Findings that are kept, and the bytes of files that they were found in.
const MAX_FOUND: usize = 16;
const MAX_BYTES: usize = 16 << 20;

/// A finding that several files may share.
pub(crate) trait Shareable {
    /// The bytes of a file that it was found in.
    fn n_bytes(&self) -> usize;
}

/// The findings that were used last, the latest first.
pub(crate) struct Recent<T>(Mutex<VecDeque<Arc<T>>>);

impl<T: Shareable> Recent<T> {
    pub(crate) const fn new() -> Recent<T> {
        Recent(Mutex::new(VecDeque::new()))
    }

    fn locked(&self) -> MutexGuard<'_, VecDeque<Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The latest one that is meant. Nobody waits for the comparison.
    pub(crate) fn find(&self, is_meant: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let all = self.locked().clone();
        all.into_iter().find(|found| is_meant(found))
    }

    /// Notes that a finding was used; others are forgotten for it.
    pub(crate) fn keep(&self, found: &Arc<T>) {
        let mut all = self.locked();
        all.retain(|other| !Arc::ptr_eq(other, found));
        all.push_front(Arc::clone(found));
        all.truncate(MAX_FOUND);
        let mut left_bytes = MAX_BYTES;
        all.retain(|found| {
            let left = left_bytes.checked_sub(found.n_bytes());
            left_bytes = left.unwrap_or(left_bytes);
            left.is_some()
        });
    }

    /// How many are kept, and the bytes that they were found in.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let all = self.locked();
        (all.len(), all.iter().map(|found| found.n_bytes()).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(usize);

    impl Shareable for Bytes {
        fn n_bytes(&self) -> usize {
            self.0
        }
    }

    #[test]
    fn those_used_last_are_kept_within_bounds() {
        let recent = Recent::new();
        let of_one: Vec<Arc<Bytes>> = (0..20).map(|_| Arc::new(Bytes(1))).collect();
        of_one.iter().for_each(|found| recent.keep(found));
        recent.keep(&of_one[10]);
        assert_eq!(recent.counts(), (MAX_FOUND, MAX_FOUND));
        assert!(recent.find(|found| std::ptr::eq(found, &*of_one[4])).is_some());
        assert!(recent.find(|found| std::ptr::eq(found, &*of_one[3])).is_none());
        let large = Arc::new(Bytes(MAX_BYTES - 1));
        recent.keep(&large);
        assert_eq!(recent.counts(), (2, MAX_BYTES), "the large one, and the one used before it");
        assert!(recent.find(|found| std::ptr::eq(found, &*of_one[10])).is_some());
        recent.keep(&Arc::new(Bytes(MAX_BYTES + 1)));
        assert_eq!(recent.counts(), (2, MAX_BYTES), "what is too large is not kept");
    }
}
