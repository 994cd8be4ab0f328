//! Memory that was used and let go, kept for the next batch or the next scan of the process.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use super::pages::Mapping;
use crate::error::Result;

/// Memory that a process may keep in any case: room for the 256 MB that a scan may have by default.
const ALWAYS_KEPT_BYTES: usize = 256 << 20;
/// Memory that it keeps at most, if so much was in use at one time: a table that is read again needs as much again.
const MOST_KEPT_BYTES: usize = 1 << 30;
/// Mappings that the process keeps, at most: each is looked at, and the system has no endless number of them.
const MAX_KEPT: usize = 128;
/// Smaller mappings are not kept: they would take the places of those that are worth more.
const SMALLEST_KEPT_BYTES: usize = 64 << 10;
/// Memory is offered to the system when no scan began for so long. Small pages that were offered cost 50 us for each MB when
/// they are written again, which a program that reads in a loop would pay each time.
const PATIENCE: Duration = Duration::from_secs(1);

/// Memory that was used and let go: the next batch takes it, page faults and all are spared.
///
/// Its lock is never waited for: a process that is forked while a thread holds it would wait forever.
#[derive(Default)]
pub(super) struct Pool {
    /// Oldest first.
    free: Mutex<Vec<Mapping>>,
    /// Scans under way.
    n_scans: AtomicUsize,
    /// Scans that ever began.
    n_begun: AtomicUsize,
    /// The process one of whose threads waits to offer what is kept; 0 if none does. A forked child has no such thread.
    patient_process: AtomicU32,
    /// Bytes of mappings that are given out.
    used_bytes: AtomicUsize,
    /// The most that they ever were.
    most_used_bytes: AtomicUsize,
}

/// The pool of the process.
pub(super) static POOL: Pool = Pool {
    free: Mutex::new(Vec::new()),
    n_scans: AtomicUsize::new(0),
    n_begun: AtomicUsize::new(0),
    patient_process: AtomicU32::new(0),
    used_bytes: AtomicUsize::new(0),
    most_used_bytes: AtomicUsize::new(0),
};

impl Pool {
    /// Bytes that are kept and in use together, at most, but for those in use: what the process once needed at one time.
    fn bound(&self) -> usize {
        self.most_used_bytes.load(Ordering::Relaxed).clamp(ALWAYS_KEPT_BYTES, MOST_KEPT_BYTES)
    }

    /// A free mapping that fits, or a new one. What is kept does not come on top of what is used: it makes room.
    pub(super) fn mapping(&self, n_bytes: usize) -> Result<Mapping> {
        let mut given_up = Vec::new();
        let mut fitting = None;
        if let Ok(mut free) = self.free.try_lock() {
            let place = free
                .iter()
                .enumerate()
                .filter(|(_, mapping)| mapping.n_bytes() >= n_bytes && mapping.n_bytes() / 2 <= n_bytes)
                .min_by_key(|(_, mapping)| mapping.n_bytes())
                .map(|(place, _)| place);
            fitting = place.map(|place| free.remove(place));
            if fitting.is_none() {
                let used = self.used_bytes.load(Ordering::Relaxed).saturating_add(n_bytes);
                given_up = oldest_above(&mut free, self.bound().saturating_sub(used));
            }
        }
        drop(given_up);
        let mut mapping = fitting.map_or_else(|| Mapping::new(n_bytes), Ok)?;
        mapping.is_offered = false;
        let used = self.used_bytes.fetch_add(mapping.n_bytes(), Ordering::Relaxed) + mapping.n_bytes();
        self.most_used_bytes.fetch_max(used, Ordering::Relaxed);
        Ok(mapping)
    }

    pub(super) fn give_back(&'static self, mut mapping: Mapping) {
        self.used_bytes.fetch_sub(mapping.n_bytes(), Ordering::Relaxed);
        if mapping.n_bytes() < SMALLEST_KEPT_BYTES {
            return;
        }
        mapping.is_used = true;
        let mut given_up = Vec::new();
        if let Ok(mut free) = self.free.try_lock() {
            free.push(mapping);
            given_up = oldest_above(&mut free, self.bound());
            if free.len() > MAX_KEPT {
                given_up.push(free.remove(0));
            }
        }
        drop(given_up); // outside of the lock: it takes a while
        self.offer_when_idle();
    }

    /// Has a thread offer what is kept to the system once no scan began for a while, if none is under way.
    fn offer_when_idle(&'static self) {
        let process = std::process::id();
        if self.n_scans.load(Ordering::SeqCst) > 0 || self.patient_process.swap(process, Ordering::SeqCst) == process {
            return; // the end of the last scan comes here too
        }
        let thread = std::thread::Builder::new().name("arrowroot-memory".to_owned()).spawn(|| {
            let mut n_begun = self.n_begun.load(Ordering::Relaxed);
            loop {
                std::thread::sleep(PATIENCE);
                let before = std::mem::replace(&mut n_begun, self.n_begun.load(Ordering::Relaxed));
                if before == n_begun {
                    break;
                }
            }
            // In this order: a scan that ends now finds no thread that waits, or this one finds that it has ended.
            self.patient_process.store(0, Ordering::SeqCst);
            if self.n_scans.load(Ordering::SeqCst) == 0 {
                self.offer_all();
            }
        });
        if thread.is_err() {
            self.patient_process.store(0, Ordering::SeqCst);
            self.offer_all();
        }
    }

    /// Offers what is kept to the system. The lock is let go between mappings, for those who begin a scan.
    fn offer_all(&self) {
        while let Ok(mut free) = self.free.try_lock() {
            match free.iter_mut().find(|mapping| !mapping.is_offered) {
                Some(mapping) => mapping.offer(),
                None => break,
            }
        }
    }
}

/// Takes the oldest mappings until the others have no more than `n_bytes`.
fn oldest_above(free: &mut Vec<Mapping>, n_bytes: usize) -> Vec<Mapping> {
    let mut kept: usize = free.iter().map(|mapping| mapping.n_bytes()).sum();
    let mut n_taken = 0;
    while let Some(mapping) = free.get(n_taken).filter(|_| kept > n_bytes) {
        kept -= mapping.n_bytes();
        n_taken += 1;
    }
    free.drain(..n_taken).collect()
}

/// Tells the pool that a scan is under way: what it lets go, it takes again at once.
pub(crate) struct Scanning(&'static Pool);

impl Scanning {
    pub(crate) fn new() -> Scanning {
        Self::of_pool(&POOL)
    }

    pub(super) fn of_pool(pool: &'static Pool) -> Scanning {
        pool.n_begun.fetch_add(1, Ordering::Relaxed);
        pool.n_scans.fetch_add(1, Ordering::SeqCst);
        Scanning(pool)
    }
}

impl Drop for Scanning {
    fn drop(&mut self) {
        if self.0.n_scans.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.offer_when_idle();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const MIB: usize = 1 << 20;

    fn empty_pool() -> &'static Pool {
        Box::leak(Box::default())
    }

    /// Takes so many mappings at the same time and gives them back in order.
    fn use_at_once(pool: &'static Pool, sizes: impl Iterator<Item = usize>) {
        let mappings: Vec<Mapping> = sizes.map(|n_bytes| pool.mapping(n_bytes).unwrap()).collect();
        for mapping in mappings {
            pool.give_back(mapping);
        }
    }

    fn kept_bytes(pool: &Pool) -> usize {
        pool.free.lock().unwrap().iter().map(Mapping::n_bytes).sum()
    }

    #[test]
    fn what_was_in_use_one_after_the_other_is_kept_within_what_a_scan_may_have() {
        let pool = empty_pool();
        // Each is too large for what is kept to take its place, and too small to fill it.
        for n_bytes in [16, 40, 90, 200].map(|size| size * MIB) {
            use_at_once(pool, std::iter::once(n_bytes));
            assert!(kept_bytes(pool) <= ALWAYS_KEPT_BYTES);
        }
        assert_eq!(kept_bytes(pool), 200 * MIB);
    }

    #[test]
    fn what_was_in_use_at_one_time_is_kept_within_a_bound() {
        let pool = empty_pool();
        use_at_once(pool, [100 * MIB; 5].into_iter());
        assert_eq!(kept_bytes(pool), 500 * MIB);
        use_at_once(pool, [200 * MIB; 2].into_iter());
        assert!((400 * MIB..=500 * MIB).contains(&kept_bytes(pool)), "{}", kept_bytes(pool));
        use_at_once(pool, [60 * MIB; 20].into_iter());
        assert!((900 * MIB..=MOST_KEPT_BYTES).contains(&kept_bytes(pool)), "{}", kept_bytes(pool));
        use_at_once(pool, std::iter::once(MOST_KEPT_BYTES + 1));
        assert!(kept_bytes(pool) <= MOST_KEPT_BYTES);
    }

    #[test]
    fn few_mappings_are_kept() {
        let pool = empty_pool();
        use_at_once(pool, [SMALLEST_KEPT_BYTES; 2 * MAX_KEPT].into_iter());
        assert_eq!(pool.free.lock().unwrap().len(), MAX_KEPT);
    }

    #[test]
    fn small_mappings_are_not_kept() {
        let pool = empty_pool();
        use_at_once(pool, std::iter::once(SMALLEST_KEPT_BYTES / 2));
        assert_eq!(kept_bytes(pool), 0);
    }

    #[test]
    fn memory_that_does_not_fit_makes_room() {
        let pool = empty_pool();
        use_at_once(pool, [8 * MIB; 4].into_iter());
        let _fits_beside = pool.mapping(ALWAYS_KEPT_BYTES - 32 * MIB).unwrap();
        assert_eq!(kept_bytes(pool), 32 * MIB);
        let _does_not = pool.mapping(24 * MIB).unwrap();
        assert_eq!(kept_bytes(pool), 8 * MIB);
    }

    #[test]
    fn what_is_kept_is_offered_to_the_system_when_no_scan_began_for_a_while() {
        let pool = empty_pool();
        let n_offered = || pool.free.lock().unwrap().iter().filter(|mapping| mapping.is_offered).count();
        let becomes = |expected: usize| {
            let end = Instant::now() + 30 * PATIENCE;
            while n_offered() != expected && Instant::now() < end {
                std::thread::sleep(PATIENCE / 20);
            }
            assert_eq!(n_offered(), expected);
        };
        let (one, other) = (Scanning::of_pool(pool), Scanning::of_pool(pool));
        use_at_once(pool, [8 * MIB; 3].into_iter());
        drop(one);
        assert_eq!(pool.patient_process.load(Ordering::SeqCst), 0, "a scan is under way");
        drop(other);
        assert_eq!(n_offered(), 0, "the next scan may begin at once");
        becomes(3);
        // A table of a scan that has ended is let go.
        use_at_once(pool, std::iter::once(8 * MIB));
        assert_eq!(n_offered(), 2);
        becomes(3);
    }
}
