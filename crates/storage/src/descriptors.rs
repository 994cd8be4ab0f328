//! Descriptors are one pool for the process.
//!
//! Open files and connections take descriptors of one limit (`RLIMIT_NOFILE`), whichever file of whichever chain they
//! belong to. Everything of this crate that holds one and could do without it for a while is entered here as a [`Holder`].
//! Together they keep to half of the limit, as long as there is something to give back: the rest is for others in the
//! process. Where opening fails for want of descriptors all the same, holders give back and the opening is tried again.
//!
//! What is in use is never given back. What is cheap to open again goes first, and of that what was not used for longest.

use std::collections::BTreeMap;
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};

use crate::error::Error;

/// For how long to wait for descriptors of ours that are in use.
const PATIENCE: Duration = Duration::from_secs(5);
/// Who waits looks again after so long.
const PAUSE: Duration = Duration::from_millis(5);
/// A thread holds the registry for microseconds; one that was there when the process was forked holds it for ever.
const LOCK_PATIENCE: Duration = Duration::from_millis(200);
/// Of what could be given back, this share goes at once: who needs one more descriptor will need others.
const SHARE: usize = 8;

/// What holds descriptors that it can do without for a while.
pub(crate) trait Holder: Send + Sync {
    /// True if it was used since it was asked last.
    fn was_used(&self) -> bool;

    /// Closes what nobody uses at this moment. It is opened again when it is needed.
    fn give_back(&self);
}

/// A failure that may be for want of descriptors.
pub(crate) trait Scarcity {
    /// True if there are no descriptors left, in the process or on the machine.
    fn is_scarcity(&self) -> bool;
}

impl Scarcity for io::Error {
    fn is_scarcity(&self) -> bool {
        use rustix::io::Errno;
        let number = self.raw_os_error();
        [Errno::MFILE, Errno::NFILE].iter().any(|scarce| number == Some(scarce.raw_os_error()))
    }
}

impl Scarcity for Error {
    fn is_scarcity(&self) -> bool {
        matches!(self, Error::Io { source, .. } | Error::LocalDisk { source, .. } if source.is_scarcity())
    }
}

/// What opening again costs. The cheap ones are given back first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cost {
    /// A local file: microseconds.
    File,
    /// A connection: some round trips.
    Connection,
}

#[derive(Default)]
struct Registry {
    next: u64,
    holders: BTreeMap<(Cost, u64), Weak<dyn Holder>>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { next: 0, holders: BTreeMap::new() });
/// Descriptors that are held now by what can be given back, in use or not.
static N_HELD: AtomicUsize = AtomicUsize::new(0);

/// The registry; `None` in a process that was forked while a thread of its parent had it.
fn registry() -> Option<MutexGuard<'static, Registry>> {
    let start = Instant::now();
    loop {
        match REGISTRY.try_lock() {
            Ok(registry) => return Some(registry),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_PATIENCE => std::thread::yield_now(),
            Err(TryLockError::WouldBlock) => return None,
        }
    }
}

/// A place in the registry, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Registration(Option<(Cost, u64)>);

impl Registration {
    /// Enters a holder.
    pub(crate) fn of(cost: Cost, holder: Weak<dyn Holder>) -> Registration {
        Registration(registry().map(|mut registry| {
            let key = (cost, registry.next);
            registry.next += 1;
            registry.holders.insert(key, holder);
            key
        }))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(key) = self.0
            && let Some(mut registry) = registry()
        {
            registry.holders.remove(&key);
        }
    }
}

/// A file or connection that counts among the descriptors that can be given back.
#[derive(Debug)]
pub(crate) struct HeldDescriptor<T>(T);

impl<T> HeldDescriptor<T> {
    fn new(value: T) -> HeldDescriptor<T> {
        N_HELD.fetch_add(1, Ordering::Relaxed);
        HeldDescriptor(value)
    }
}

impl<T> Deref for HeldDescriptor<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for HeldDescriptor<T> {
    fn drop(&mut self) {
        N_HELD.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Opens what can be given back later.
///
/// # Errors
/// Those of `open`. For want of descriptors it fails only if none come back within some seconds.
pub(crate) fn held<T, E: Scarcity>(open: impl FnMut() -> Result<T, E>) -> Result<HeldDescriptor<T>, E> {
    let share = limit() / 2;
    if N_HELD.load(Ordering::Relaxed) >= share {
        give_back(share);
    }
    opened(open).map(HeldDescriptor::new)
}

/// Opens what is needed for a moment, or cannot be given back.
///
/// # Errors
/// As [`held`].
pub(crate) fn opened<T, E: Scarcity>(mut open: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let mut start = None;
    loop {
        match open() {
            Err(error) if error.is_scarcity() => {
                let n_held = N_HELD.load(Ordering::Relaxed);
                give_back(n_held);
                let came_back = N_HELD.load(Ordering::Relaxed) < n_held;
                let start = *start.get_or_insert_with(Instant::now);
                if n_held == 0 || start.elapsed() >= PATIENCE {
                    return Err(error);
                }
                if !came_back {
                    std::thread::sleep(PAUSE);
                }
            }
            result => return result,
        }
    }
}

/// Sees to it that a few descriptors can be had, for what opens files without telling why it could not: the system's
/// resolver, readers of certificates.
pub(crate) fn spare() {
    const N_SPARE: usize = 4;
    let open =
        || rustix::fs::open("/", rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC, rustix::fs::Mode::empty());
    // Where even that fails, what comes next says so.
    let _: Vec<_> = (0..N_SPARE).map_while(|_| opened(|| open().map_err(io::Error::from)).ok()).collect();
}

/// What a user can do where descriptors are scarce.
pub(crate) fn remedy() -> String {
    format!(
        "this process may have {} files and connections open; allow more with `ulimit -n`, or read fewer files at once",
        limit()
    )
}

/// Descriptors that the process may have now.
fn limit() -> usize {
    let current = getrlimit(Resource::Nofile).current;
    current.map_or(usize::MAX, |current| usize::try_from(current).unwrap_or(usize::MAX))
}

/// Has holders give back until less than `n_bound` descriptors are held, and a share of them besides. What is in use stays.
fn give_back(n_bound: usize) {
    let goal = n_bound - (n_bound / SHARE).max(1).min(n_bound);
    let is_enough = || N_HELD.load(Ordering::Relaxed) <= goal;
    for needs_to_be_unused in [true, false] {
        // A holder that is let go leaves the registry: not while that is locked.
        let holders: Vec<Arc<dyn Holder>> = match registry() {
            Some(registry) => registry.holders.values().filter_map(Weak::upgrade).collect(),
            None => return,
        };
        for holder in holders {
            if is_enough() {
                return;
            }
            if !(needs_to_be_unused && holder.was_used()) {
                holder.give_back();
            }
        }
    }
}
