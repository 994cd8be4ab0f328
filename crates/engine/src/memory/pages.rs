//! Pages of the system: mapped, and asked for before they are written.

#![expect(unsafe_code, reason = "calls of the system on mappings")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::ALIGNMENT;
use crate::clock::thread_cpu_time;
use arrowroot_file::{Error, Result};

/// Regions from this size on are asked for as huge pages.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// A huge page that takes more of a thread's time is not worth it. Clearing 2 MiB takes some 100 us; where a virtual machine
/// must get them back from its host it takes many ms, and small pages that were used a moment ago do not.
const SLOW_HUGE_PAGE: Duration = Duration::from_millis(1);
/// After a slow huge page so much memory is taken in small ones; after the next that is slow twice as much, and so on. Fast
/// ones in between shorten what comes next.
const FIRST_PAUSE_BYTES: usize = 16 << 20;
const LONGEST_PAUSE_BYTES: usize = 256 << 20;
/// To map, populate and unmap less takes longer than to fill it.
pub(super) const SMALLEST_MAPPED_BYTES: usize = 64 << 10;
/// What the huge pages of this process taught.
static HUGE_PAGES: HugePages =
    HugePages { left_bytes: AtomicUsize::new(0), next_bytes: AtomicUsize::new(FIRST_PAUSE_BYTES) };
/// Size of the small pages of every system that we know; where they are larger, populating is refused and faults do it.
pub(super) const PAGE_BYTES: usize = 4 << 10;
/// Pages are asked for in steps of so many bytes: still in the cache when they are written.
pub(super) const POPULATE_BYTES: usize = 128 << 10;
/// To ask for less costs as much as the faults.
const SMALLEST_POPULATED_BYTES: usize = 4 * PAGE_BYTES;

/// When to ask for huge pages: not for a while after one that was slow. Memory that a process let go a moment ago is fast
/// and lies beside memory that is slow, so one slow page says little of those that come much later.
struct HugePages {
    /// Memory to be taken in small pages before a huge one is tried again.
    left_bytes: AtomicUsize,
    /// What the next slow one will cost.
    next_bytes: AtomicUsize,
}

impl HugePages {
    fn are_wanted(&self) -> bool {
        self.left_bytes.load(Ordering::Relaxed) == 0
    }

    /// Takes note of what a piece of memory cost. Threads that do so at the same time may lose some of it.
    fn note(&self, is_huge: bool, n_bytes: usize, taken: Duration) {
        if !is_huge {
            let left = self.left_bytes.load(Ordering::Relaxed);
            self.left_bytes.store(left.saturating_sub(n_bytes), Ordering::Relaxed);
        } else if taken > SLOW_HUGE_PAGE {
            let pause = self.next_bytes.load(Ordering::Relaxed);
            self.left_bytes.store(pause, Ordering::Relaxed);
            self.next_bytes.store((2 * pause).min(LONGEST_PAUSE_BYTES), Ordering::Relaxed);
        } else {
            let next = self.next_bytes.load(Ordering::Relaxed).saturating_sub(2 * n_bytes);
            self.next_bytes.store(next.max(FIRST_PAUSE_BYTES), Ordering::Relaxed);
        }
    }
}

/// Anonymous memory from the system; little of it from the allocator, which asks the system for none each time.
///
/// Invariant: `start` and `n_bytes` are those of one mapping or allocation, which lives until the drop.
pub(super) struct Mapping {
    start: NonNull<u8>,
    n_bytes: usize,
    /// `None`: it is mapped.
    allocated: Option<Layout>,
    /// A batch before had it, or it is allocated: most of its pages are there.
    pub(super) is_used: bool,
    /// Its next pages shall be huge.
    is_huge: AtomicBool,
}

// SAFETY: a mapping is plain memory; who may write which part is up to the leases.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(super) fn new(n_bytes: usize) -> Result<Mapping> {
        let out_of_memory = |error: rustix::io::Errno| Error::OutOfMemory {
            n_bytes: n_bytes as u64,
            source: std::io::Error::from(error),
        };
        if let Some(layout) = small_layout(n_bytes) {
            // SAFETY: the layout has a size.
            let start = NonNull::new(unsafe { alloc_zeroed(layout) });
            let start = start.ok_or_else(|| out_of_memory(rustix::io::Errno::NOMEM))?;
            let is_huge = AtomicBool::new(false);
            return Ok(Mapping { start, n_bytes, allocated: Some(layout), is_used: true, is_huge });
        }
        // SAFETY: a new anonymous mapping at no given address touches no memory of anybody.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                n_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(out_of_memory)?;
        let is_huge = n_bytes >= HUGE_PAGE_BYTES && HUGE_PAGES.are_wanted();
        if is_huge {
            // SAFETY: the range is the mapping just made. Advice that is not taken changes nothing.
            let _ = unsafe { madvise(start, n_bytes, Advice::LinuxHugepage) };
        }
        match NonNull::new(start.cast::<u8>()) {
            Some(start) => {
                let is_huge = AtomicBool::new(is_huge);
                Ok(Mapping { start, n_bytes, allocated: None, is_used: false, is_huge })
            }
            None => Err(out_of_memory(rustix::io::Errno::NOMEM)),
        }
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Asks for the pages of a range at once, which is half the price of a fault for each. Their content stays.
    pub(super) fn populate(&self, range: Range<usize>) {
        let start = range.start - range.start % PAGE_BYTES;
        let end = range.end.min(self.n_bytes);
        if start >= end {
            return;
        }
        let is_huge = self.n_bytes >= HUGE_PAGE_BYTES && HUGE_PAGES.are_wanted();
        if self.is_huge.swap(is_huge, Ordering::Relaxed) != is_huge {
            self.advise(if is_huge { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage });
        }
        // The clock of this thread: another process that has the processor for a while says nothing of the pages.
        let before = if is_huge { thread_cpu_time() } else { Duration::ZERO };
        // SAFETY: the range is inside the mapping. Populating changes no content, and where it fails faults do the same.
        let _ = unsafe { madvise(self.start.as_ptr().add(start).cast(), end - start, Advice::LinuxPopulateWrite) };
        let taken = if is_huge { thread_cpu_time().saturating_sub(before) } else { Duration::ZERO };
        HUGE_PAGES.note(is_huge, end - start, taken);
    }

    /// Of what size the pages shall be that are not there yet.
    fn advise(&self, advice: Advice) {
        // SAFETY: the whole mapping. Advice that is not taken changes nothing.
        let _ = unsafe { madvise(self.start.as_ptr().cast(), self.n_bytes, advice) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        match self.allocated {
            Some(layout) => {
                // SAFETY: the allocation of this layout is this one's own, and nobody holds it any more.
                unsafe { dealloc(self.start.as_ptr(), layout) };
            }
            None => {
                // SAFETY: the mapping is this one's own, and nobody holds it any more.
                let _ = unsafe { munmap(self.start.as_ptr().cast(), self.n_bytes) };
            }
        }
    }
}

/// How so little memory is allocated; `None`: it is mapped.
fn small_layout(n_bytes: usize) -> Option<Layout> {
    let layout = Layout::from_size_align(n_bytes, ALIGNMENT).ok()?;
    (1..SMALLEST_MAPPED_BYTES).contains(&n_bytes).then_some(layout)
}

/// Asks for the pages of memory that will be written, at once, which is half the price of a fault for each.
///
/// No content changes. Small ranges are left to faults.
pub(crate) fn populate(range: &Range<*const u8>) {
    let start = range.start.addr().next_multiple_of(PAGE_BYTES);
    let end = range.end.addr() / PAGE_BYTES * PAGE_BYTES;
    if end.saturating_sub(start) < SMALLEST_POPULATED_BYTES {
        return;
    }
    let start = range.start.with_addr(start).cast_mut().cast();
    // SAFETY: populating changes no content, whosever pages these are. Where it fails faults do the same.
    let _ = unsafe { madvise(start, end - start.addr(), Advice::LinuxPopulateWrite) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_slow_huge_page_comes_a_pause_and_after_the_next_a_longer_one() {
        let pages = HugePages { left_bytes: AtomicUsize::new(0), next_bytes: AtomicUsize::new(FIRST_PAUSE_BYTES) };
        // How much memory is taken in small pages until a huge one is tried again.
        let pause = || {
            let mut n_bytes = 0;
            while !pages.are_wanted() {
                pages.note(false, PAGE_BYTES, Duration::ZERO);
                n_bytes += PAGE_BYTES;
            }
            n_bytes
        };
        let slow = 2 * SLOW_HUGE_PAGE;
        pages.note(true, HUGE_PAGE_BYTES, SLOW_HUGE_PAGE / 10);
        assert_eq!(pause(), 0);
        for times in [1, 2, 4] {
            pages.note(true, HUGE_PAGE_BYTES, slow);
            assert_eq!(pause(), times * FIRST_PAUSE_BYTES);
        }
        for _ in 0..64 {
            pages.note(true, HUGE_PAGE_BYTES, slow);
        }
        assert_eq!(pause(), LONGEST_PAUSE_BYTES);
        for _ in 0..LONGEST_PAUSE_BYTES / HUGE_PAGE_BYTES / 2 {
            pages.note(true, HUGE_PAGE_BYTES, SLOW_HUGE_PAGE / 10);
        }
        pages.note(true, HUGE_PAGE_BYTES, slow);
        assert_eq!(pause(), FIRST_PAUSE_BYTES);
    }
}
