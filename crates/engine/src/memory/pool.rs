//! Memory that was used and let go, kept for the next batch or the next scan of the process.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::pages::{Mapping, SMALLEST_MAPPED_BYTES};
use arrowroot_file::Result;

/// Memory that a process may have from here in any case: scans of a small budget have no more.
const ALWAYS_ALLOWED_BYTES: usize = 96 << 20;
/// One part in so many may be kept beyond what was in use at one time: windows of many sizes come and go while a table is
/// read, and few fit what the one before let go.
const SPARE_SHARE: usize = 16;
const MOST_SPARE_BYTES: usize = 64 << 20;
/// Memory that it keeps at most.
const MOST_KEPT_BYTES: usize = 1 << 30;
/// Mappings that it keeps, at most: each is looked at, and the system has no endless number of them.
const MAX_KEPT: usize = 128;
/// What is not used again within this time, or twice this time at most, goes back to the system.
const PATIENCE: Duration = Duration::from_secs(5);
/// The lock is held for microseconds. Who does not get it for so long is in a child that was forked just then.
const LONGEST_LOCKED: Duration = Duration::from_secs(1);

/// A mapping that nobody uses.
struct KeptMapping {
    mapping: Mapping,
    since: Instant,
}

/// Memory that was used and let go: the next batch takes it, page faults and all are spared.
///
/// Kept and in use together are no more than once was in use at one time and a sixteenth (64 MiB at most), or
/// [`ALWAYS_ALLOWED_BYTES`].
pub(super) struct Pool {
    /// Oldest first. Whole mappings are put in and taken out; what takes time is done to those that are out.
    free: Mutex<Vec<KeptMapping>>,
    /// The lock was held by a thread that a fork left behind.
    is_lost: AtomicBool,
    /// The process whose memory it is.
    process: AtomicU32,
    /// The process one of whose threads waits until what is kept gets old; 0 if none does.
    waiting_process: AtomicU32,
    patience: Duration,
    /// Bytes of mappings that are given out.
    used_bytes: AtomicUsize,
    /// The most that they ever were.
    most_used_bytes: AtomicUsize,
}

/// The pool of the process.
pub(super) static POOL: Pool = Pool::new(PATIENCE);

impl Pool {
    pub(super) const fn new(patience: Duration) -> Pool {
        Pool {
            free: Mutex::new(Vec::new()),
            is_lost: AtomicBool::new(false),
            process: AtomicU32::new(0),
            waiting_process: AtomicU32::new(0),
            patience,
            used_bytes: AtomicUsize::new(0),
            most_used_bytes: AtomicUsize::new(0),
        }
    }

    /// What is kept, for a moment. `None` in a process that was forked while a thread of its parent had it.
    fn free(&self) -> Option<MutexGuard<'_, Vec<KeptMapping>>> {
        if self.is_lost.load(Ordering::Relaxed) {
            return None;
        }
        let start = Instant::now();
        let mut free = loop {
            match self.free.try_lock() {
                Ok(free) => break free,
                Err(_) if start.elapsed() < LONGEST_LOCKED => std::thread::yield_now(),
                Err(_) => {
                    self.is_lost.store(true, Ordering::Relaxed);
                    return None;
                }
            }
        };
        let process = std::process::id();
        if self.process.load(Ordering::Relaxed) != process {
            // After a fork: to write to pages of the parent costs more than fresh ones.
            self.process.store(process, Ordering::Relaxed);
            free.clear();
        }
        Some(free)
    }

    /// Bytes that may be kept beside those in use.
    fn room_beside(&self, used_bytes: usize) -> usize {
        let most_used = self.most_used_bytes.load(Ordering::Relaxed);
        let allowed =
            most_used.saturating_add((most_used / SPARE_SHARE).min(MOST_SPARE_BYTES)).max(ALWAYS_ALLOWED_BYTES);
        allowed.saturating_sub(used_bytes).min(MOST_KEPT_BYTES)
    }

    /// A free mapping that fits, or a new one, which what is kept makes room for.
    pub(super) fn mapping(&self, n_bytes: usize) -> Result<Mapping> {
        let mut given_up = Vec::new();
        let mut fitting = None;
        if let Some(mut free) = self.free() {
            // The newest of a size: those that are not needed get old, and its bytes may still be in the cache.
            let index = free
                .iter()
                .enumerate()
                .rev()
                .filter(|(_, kept)| kept.mapping.n_bytes() >= n_bytes && kept.mapping.n_bytes() / 2 <= n_bytes)
                .min_by_key(|(_, kept)| kept.mapping.n_bytes())
                .map(|(index, _)| index);
            fitting = index.map(|index| free.remove(index).mapping);
            if fitting.is_none() {
                let used = self.used_bytes.load(Ordering::Relaxed).saturating_add(n_bytes);
                given_up = oldest_above(&mut free, self.room_beside(used));
            }
        }
        drop(given_up); // outside of the lock: it takes a while
        let mapping = fitting.map_or_else(|| Mapping::new(n_bytes), Ok)?;
        let used = self.used_bytes.fetch_add(mapping.n_bytes(), Ordering::Relaxed) + mapping.n_bytes();
        self.most_used_bytes.fetch_max(used, Ordering::Relaxed);
        Ok(mapping)
    }

    pub(super) fn give_back(&'static self, mut mapping: Mapping) {
        let used = self.used_bytes.fetch_sub(mapping.n_bytes(), Ordering::Relaxed) - mapping.n_bytes();
        if mapping.n_bytes() < SMALLEST_MAPPED_BYTES {
            // The allocator keeps it.
            return;
        }
        mapping.is_used = true;
        let Some(mut free) = self.free() else { return };
        free.push(KeptMapping { mapping, since: Instant::now() });
        let mut given_up = oldest_above(&mut free, self.room_beside(used));
        if free.len() > MAX_KEPT {
            given_up.push(free.remove(0));
        }
        drop(free);
        drop(given_up);
        self.begin_waiting();
    }

    /// Has a thread give to the system what gets old, if none does so already.
    fn begin_waiting(&'static self) {
        let process = std::process::id();
        if self.waiting_process.swap(process, Ordering::SeqCst) == process {
            return;
        }
        let thread = std::thread::Builder::new().name("arrowroot-pool".to_owned()).spawn(move || self.wait());
        if thread.is_err() {
            self.waiting_process.store(0, Ordering::SeqCst);
            drop(self.free().map(|mut free| std::mem::take(&mut *free)));
        }
    }

    fn wait(&self) {
        loop {
            std::thread::sleep(self.patience);
            self.give_up_old();
            if self.is_empty() {
                // In this order: who gives something back now begins to wait for it, or it is seen here.
                self.waiting_process.store(0, Ordering::SeqCst);
                let process = std::process::id();
                if self.is_empty() || self.waiting_process.swap(process, Ordering::SeqCst) == process {
                    return;
                }
            }
        }
    }

    fn give_up_old(&self) {
        let old: Vec<KeptMapping> = self.free().map_or_else(Vec::new, |mut free| {
            let n_old = free.iter().take_while(|kept| kept.since.elapsed() >= self.patience).count();
            free.drain(..n_old).collect()
        });
        drop(old); // outside of the lock
    }

    fn is_empty(&self) -> bool {
        self.free().is_none_or(|free| free.is_empty())
    }
}

/// Takes the oldest mappings until the others have no more than `n_bytes`.
fn oldest_above(free: &mut Vec<KeptMapping>, n_bytes: usize) -> Vec<KeptMapping> {
    let mut kept_bytes: usize = free.iter().map(|kept| kept.mapping.n_bytes()).sum();
    let mut n_taken = 0;
    while let Some(kept) = free.get(n_taken).filter(|_| kept_bytes > n_bytes) {
        kept_bytes -= kept.mapping.n_bytes();
        n_taken += 1;
    }
    free.drain(..n_taken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    /// What it keeps does not get old.
    fn patient_pool() -> &'static Pool {
        Box::leak(Box::new(Pool::new(Duration::from_secs(3600))))
    }

    /// Takes so many mappings at the same time and gives them back in order.
    fn use_at_once(pool: &'static Pool, sizes: impl IntoIterator<Item = usize>) {
        let mappings: Vec<Mapping> = sizes.into_iter().map(|n_bytes| pool.mapping(n_bytes).unwrap()).collect();
        for mapping in mappings {
            pool.give_back(mapping);
        }
    }

    fn kept_bytes(pool: &Pool) -> usize {
        pool.free.lock().unwrap().iter().map(|kept| kept.mapping.n_bytes()).sum()
    }

    #[test]
    fn what_was_in_use_one_after_the_other_is_kept_within_what_a_scan_may_have() {
        let pool = patient_pool();
        // Each is too large for what is kept to take its place.
        for n_bytes in [6, 16, 36, 80].map(|size| size * MIB) {
            use_at_once(pool, [n_bytes]);
            assert!(kept_bytes(pool) <= ALWAYS_ALLOWED_BYTES);
        }
        assert_eq!(kept_bytes(pool), 80 * MIB);
    }

    #[test]
    fn what_was_in_use_at_one_time_is_kept_within_a_bound() {
        let pool = patient_pool();
        use_at_once(pool, [100 * MIB; 5]);
        assert_eq!(kept_bytes(pool), 500 * MIB);
        use_at_once(pool, [200 * MIB; 2]);
        assert!((400 * MIB..=500 * MIB).contains(&kept_bytes(pool)), "{}", kept_bytes(pool));
        use_at_once(pool, [60 * MIB; 20]);
        assert!((900 * MIB..=MOST_KEPT_BYTES).contains(&kept_bytes(pool)), "{}", kept_bytes(pool));
        use_at_once(pool, [MOST_KEPT_BYTES + 1]);
        assert_eq!(kept_bytes(pool), 0);
    }

    #[test]
    fn kept_and_in_use_are_little_more_than_was_once_in_use() {
        let pool = patient_pool();
        let mut in_use: Vec<Mapping> = (0..3).map(|_| pool.mapping(200 * MIB).unwrap()).collect();
        pool.give_back(in_use.pop().unwrap());
        assert_eq!(kept_bytes(pool), 200 * MIB);
        // It does not fit, and what is kept leaves room for it.
        in_use.push(pool.mapping(50 * MIB).unwrap());
        assert_eq!(kept_bytes(pool), 0);
        pool.give_back(in_use.pop().unwrap());
        assert_eq!(kept_bytes(pool), 50 * MIB);
        // 400 MiB are in use, 600 were, 37.5 more are allowed.
        for n_bytes in (11..40).map(|size| size * MIB) {
            use_at_once(pool, [n_bytes; 5]);
            assert!(kept_bytes(pool) <= 600 * MIB / 16 * 17 - 400 * MIB);
        }
    }

    #[test]
    fn windows_of_any_size_are_used_again_beside_what_takes_all_that_was_ever_used() {
        let pool = patient_pool();
        let tables: Vec<Mapping> = (0..8).map(|_| pool.mapping(64 * MIB).unwrap()).collect();
        let sizes = || (0..100).map(|number| (MIB * (80 + number * 37 % 120)) / 100);
        sizes().for_each(|n_bytes| pool.give_back(pool.mapping(n_bytes).unwrap()));
        let n_fresh = sizes().filter(|&n_bytes| {
            let mapping = pool.mapping(n_bytes).unwrap();
            let is_fresh = !mapping.is_used;
            pool.give_back(mapping);
            is_fresh
        });
        assert_eq!(n_fresh.count(), 0);
        drop(tables);
    }

    #[test]
    fn few_mappings_are_kept() {
        let pool = patient_pool();
        use_at_once(pool, [SMALLEST_MAPPED_BYTES; 2 * MAX_KEPT]);
        assert_eq!(pool.free.lock().unwrap().len(), MAX_KEPT);
    }

    #[test]
    fn small_mappings_are_not_kept() {
        let pool = patient_pool();
        use_at_once(pool, [SMALLEST_MAPPED_BYTES / 2]);
        assert_eq!(kept_bytes(pool), 0);
    }

    #[test]
    fn what_is_not_used_again_goes_back_to_the_system() {
        let pool: &'static Pool = Box::leak(Box::new(Pool::new(Duration::from_millis(200))));
        let becomes = |n_bytes: usize, meanwhile: &dyn Fn()| {
            let end = Instant::now() + Duration::from_secs(60);
            while kept_bytes(pool) != n_bytes {
                assert!(Instant::now() < end, "{} bytes are kept", kept_bytes(pool));
                meanwhile();
            }
        };
        let pause = || std::thread::sleep(pool.patience / 20);
        use_at_once(pool, [8 * MIB; 3]);
        becomes(8 * MIB, &|| use_at_once(pool, [8 * MIB]));
        becomes(0, &pause);
        // The thread has ended, or sees this.
        use_at_once(pool, [8 * MIB]);
        becomes(0, &pause);
    }

    #[test]
    fn a_child_does_not_write_to_what_its_parent_kept() {
        let pool = patient_pool();
        use_at_once(pool, [8 * MIB]);
        pool.process.store(u32::MAX, Ordering::Relaxed);
        assert!(pool.is_empty());
        use_at_once(pool, [8 * MIB]);
        assert!(!pool.is_empty());
    }

    #[test]
    fn where_a_fork_left_the_lock_with_nobody_memory_comes_from_the_system() {
        let pool = patient_pool();
        use_at_once(pool, [8 * MIB]);
        let held = pool.free.lock().unwrap();
        let mapping = pool.mapping(8 * MIB).unwrap();
        assert!(!mapping.is_used);
        pool.give_back(mapping);
        assert!(pool.is_lost.load(Ordering::Relaxed));
        drop(held);
    }
}
