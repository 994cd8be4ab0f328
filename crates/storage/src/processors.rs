//! The cores that a process may use.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::available_parallelism;

/// Cores that the process may use, at least 1: those of its affinity, and no more than the quota of its control group.
///
/// The quota is in files of the system, which take a tenth of the time that a small file takes. It is looked up once, and again
/// where the affinity has another size.
pub fn n_cores() -> usize {
    /// The size of the affinity, 32 bits, and what was found with it; 0: nothing was.
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    let look_up = || available_parallelism().map_or(1, NonZero::get);
    let Some(affinity) = affinity() else { return look_up() };
    let known = KNOWN.load(Relaxed);
    if known >> 32 == u64::from(affinity) {
        return usize::try_from(known & u64::from(u32::MAX)).unwrap_or(usize::MAX);
    }
    let found = look_up();
    if let Ok(number) = u32::try_from(found) {
        KNOWN.store(u64::from(affinity) << 32 | u64::from(number), Relaxed);
    }
    found
}

/// Cores that the thread may run on; `None` where that is not known.
#[cfg(target_os = "linux")]
fn affinity() -> Option<u32> {
    rustix::thread::sched_getaffinity(None).ok().map(|cores| cores.count())
}

#[cfg(not(target_os = "linux"))]
fn affinity() -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_affinity() {
        assert_eq!(n_cores(), available_parallelism().unwrap().get());
        // That of this thread alone.
        let all = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|&core| all.is_set(core)).unwrap();
        let mut one = rustix::thread::CpuSet::new();
        one.set(first);
        rustix::thread::sched_setaffinity(None, &one).unwrap();
        assert_eq!(n_cores(), 1);
        rustix::thread::sched_setaffinity(None, &all).unwrap();
        assert_eq!(n_cores(), available_parallelism().unwrap().get());
    }
}
