//! The producers that wait for the entries of others, in any table of a file.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// The thread of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// The one that made it, and has filled it so far.
    Thread(ThreadId),
    /// Any: who fills it next is not known.
    Any,
}

/// A context that is not looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct But {
    pub(super) context: u64,
    /// Its thread, if that fills nothing else meanwhile.
    pub(super) thread: Option<ThreadId>,
}

/// A context that is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenContext {
    home: Home,
    /// Fills that are on their way.
    pub(super) n_fills: usize,
    /// True once its producer has ended it, which waits for its fills.
    pub(super) is_ended: bool,
}

impl OpenContext {
    pub(super) fn of(home: Home) -> Self {
        OpenContext { home, n_fills: 0, is_ended: false }
    }

    /// Begins a fill by a thread.
    pub(super) fn begin(&mut self, thread: ThreadId) {
        self.n_fills += 1;
        if self.home != Home::Thread(thread) {
            self.home = Home::Any;
        }
    }
}

/// The contexts of a table that are open, by their numbers in the file.
pub(super) type OpenContexts = HashMap<u64, OpenContext>;

/// The producers that wait for the entries of others. A thread that waits fills none of its other contexts meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Behind {
    next_context: AtomicU64,
    /// How many wait: mostly none, and then nothing else is looked at.
    n_waiting: AtomicUsize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    contexts: HashSet<u64>,
    /// How often each thread waits: once, unless others wait in its name.
    threads: HashMap<ThreadId, usize>,
}

impl Behind {
    /// A number for one more context.
    pub(super) fn number(&self) -> u64 {
        self.next_context.fetch_add(1, Relaxed)
    }

    /// Notes that a context waits, which this thread fills.
    pub(super) fn begin(&self, context: u64, thread: ThreadId) {
        let mut waiting = self.lock();
        waiting.contexts.insert(context);
        *waiting.threads.entry(thread).or_default() += 1;
        self.n_waiting.fetch_add(1, Relaxed);
    }

    /// Notes that it waits no longer.
    pub(super) fn end(&self, context: u64, thread: ThreadId) {
        let mut waiting = self.lock();
        waiting.contexts.remove(&context);
        if let Some(n_times) = waiting.threads.get_mut(&thread) {
            *n_times -= 1;
            if *n_times == 0 {
                waiting.threads.remove(&thread);
            }
        }
        self.n_waiting.fetch_sub(1, Relaxed);
    }

    /// Contexts of a table that may offer entries before they wait for any, as far as can be told: not those that wait, and not
    /// those of threads that wait, nor the context `but`, nor others of its thread. Whoever waits for another table counts as
    /// well, as it may be what others wait for there.
    pub(super) fn n_running(&self, open: &OpenContexts, but: Option<But>) -> usize {
        let n_waiting = self.n_waiting.load(Relaxed) + usize::from(but.is_some());
        let thread = but.and_then(|but| but.thread);
        if n_waiting == usize::from(but.is_some()) && thread.is_none() {
            return open.len().saturating_sub(n_waiting);
        }
        let waiting = self.lock();
        let is_held = |(context, OpenContext { home, .. }): &(&u64, &OpenContext)| {
            but.is_some_and(|but| but.context == **context)
                || waiting.contexts.contains(context)
                || matches!(home, Home::Thread(of) if thread == Some(*of) || waiting.threads.contains_key(of))
        };
        let n_held = open.iter().filter(is_held).count();
        open.len().saturating_sub(n_held.max(n_waiting))
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Each step leaves it whole.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_holds_back_its_other_contexts_and_those_of_no_thread_count_alone() {
        let (behind, own) = (Behind::default(), std::thread::current().id());
        let other = std::thread::spawn(|| std::thread::current().id()).join().unwrap();
        let contexts: Vec<u64> = (0..4).map(|_| behind.number()).collect();
        assert_eq!(contexts, [0, 1, 2, 3]);
        let homes = [Home::Thread(own), Home::Thread(own), Home::Thread(other), Home::Any];
        let open: OpenContexts = (0..).zip(homes.map(OpenContext::of)).collect();
        let but = |context, thread| Some(But { context, thread });
        assert_eq!((behind.n_running(&open, None), behind.n_running(&open, but(0, None))), (4, 3));
        assert_eq!((behind.n_running(&open, but(0, Some(own))), behind.n_running(&open, but(3, Some(own)))), (2, 1));
        behind.begin(1, own);
        assert_eq!((behind.n_running(&open, None), behind.n_running(&open, but(2, Some(other)))), (2, 1));
        behind.begin(3, other);
        assert_eq!(behind.n_running(&open, None), 0);
        // A table whose contexts nobody has filled: who waits elsewhere may be what it would wait for.
        assert_eq!(
            behind.n_running(&OpenContexts::from([7, 8, 9].map(|number| (number, OpenContext::of(Home::Any)))), None),
            1
        );
        behind.end(1, own);
        behind.end(3, other);
        assert_eq!(behind.n_running(&open, None), 4);
    }
}
