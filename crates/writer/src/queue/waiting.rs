//! How somebody waits for a queue, and is woken.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Weak};

use super::Shared;

/// The work of a producer up to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Its own: it begins to wait.
    Begun,
    /// Nothing.
    Slept,
    /// Tasks of others.
    Helped,
}

/// Wakes one who stands in a line. It comes with the lock of the queue's state.
#[derive(Debug, Clone)]
pub(crate) struct Alarm {
    pub(super) condition: Arc<Condvar>,
    /// True if it also wakes for tasks.
    pub(super) helps: bool,
}

impl Alarm {
    /// The alarm of one who does tasks meanwhile, or not.
    pub(crate) fn new(helps: bool) -> Self {
        Alarm { condition: Arc::default(), helps }
    }
}

/// A place in a line of those who wait.
pub(crate) struct InLine<'a> {
    /// Rung when it becomes the first.
    pub(crate) alarm: Alarm,
    /// True if it is the first now. Only then it looks whenever something has changed.
    pub(crate) is_first: &'a dyn Fn() -> bool,
}

/// How somebody waits for what others must make happen first.
pub(crate) struct Patience<'a> {
    /// True if tasks are done meanwhile, but by no more than there are processors: each takes memory to compress with.
    pub(crate) helps: bool,
    /// Set by whoever has the waiting end without what was waited for; [`Waker::wake_everyone`] must follow.
    pub(crate) is_cancelled: &'a AtomicBool,
    /// Told when the waiting begins, and at the end of each part of it.
    pub(crate) note: Option<&'a mut dyn FnMut(Pause)>,
    /// Where others are served before.
    pub(crate) line: Option<InLine<'a>>,
}

/// Never set.
static NEVER: AtomicBool = AtomicBool::new(false);

/// How a producer waits wherever it must on its way: for room, and for what was before.
pub(crate) struct Manner<'a> {
    /// As [`Patience`] has it.
    pub(crate) helps: bool,
    /// As [`Patience`] has it.
    pub(crate) note: Option<&'a mut dyn FnMut(Pause)>,
}

impl Manner<'_> {
    /// Tasks are done meanwhile, and nobody is told.
    pub(crate) fn helping() -> Self {
        Manner { helps: true, note: None }
    }

    pub(super) fn patience(&mut self) -> Patience<'_> {
        let note: Option<&mut dyn FnMut(Pause)> = match &mut self.note {
            Some(note) => Some(&mut **note),
            None => None,
        };
        Patience { helps: self.helps, is_cancelled: &NEVER, note, line: None }
    }
}

/// Has those look again who wait for a queue.
pub(crate) struct Waker(pub(super) Weak<Shared>);

impl Waker {
    /// Wakes all of them, wherever they stand in a line.
    pub(crate) fn wake_everyone(&self) {
        if let Some(shared) = self.0.upgrade().filter(|shared| shared.pool.is_own_process()) {
            drop(shared.lock());
            shared.wake_everyone();
        }
    }

    /// Does `work`, and if that returns true wakes those that wait, of a line only the first. In another process than that of the
    /// queue, and without the queue, nothing is done.
    pub(crate) fn wake_after(&self, work: impl FnOnce() -> bool) {
        if let Some(shared) = self.0.upgrade()
            && shared.pool.is_own_process()
            && work()
        {
            shared.wake();
        }
    }
}
