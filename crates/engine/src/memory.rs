//! Memory for columns: taken in large pieces, written by many threads, handed to Arrow without a copy.
//!
//! A [`Column`] of memory leases disjoint [`Slot`]s, front to back; each may be filled by another thread. It becomes an
//! Arrow buffer once all slots are gone. Fresh pages cost as much as decoding if each is asked for by a fault of its own:
//! pieces of 2 MiB and more are advised as huge pages, and slots ask for their pages in steps of many before they are
//! written. What was let go is kept, within a bound, for the next batch or the next scan of the process.

#![expect(unsafe_code, reason = "disjoint parts of one allocation are written by several threads")]

use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_buffer::Buffer;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::error::{Error, Result};
use crate::stats::thread_cpu_time;

/// Columns smaller than this share a region.
const OWN_REGION_BYTES: usize = 8 << 20;
/// Size of a shared region.
const SHARED_REGION_BYTES: usize = 16 << 20;
/// Regions from this size on are asked for as huge pages.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// A huge page that takes more of a thread's time is not worth it. Clearing 2 MiB takes some 100 us; where a virtual machine
/// must get them back from its host it takes many ms, and small pages that were used a moment ago do not.
const SLOW_HUGE_PAGE: Duration = Duration::from_millis(1);
/// After a slow huge page so much memory is taken in small ones; after the next that is slow twice as much, and so on. Fast
/// ones in between shorten what comes next.
const FIRST_PAUSE_BYTES: usize = 16 << 20;
const LONGEST_PAUSE_BYTES: usize = 256 << 20;
/// What the huge pages of this process taught.
static HUGE_PAGES: HugePages =
    HugePages { left_bytes: AtomicUsize::new(0), next_bytes: AtomicUsize::new(FIRST_PAUSE_BYTES) };
/// Size of the small pages of every system that we know; where they are larger, populating is refused and faults do it.
const PAGE_BYTES: usize = 4 << 10;
/// Pages are asked for in steps of so many bytes: still in the cache when they are written.
const POPULATE_BYTES: usize = 128 << 10;
/// To ask for less costs as much as the faults.
const SMALLEST_POPULATED_BYTES: usize = 4 * PAGE_BYTES;
/// Arrow recommends this alignment.
const ALIGNMENT: usize = 64;
/// Memory that the process keeps for later batches, at most: room for the 256 MB that a scan may have by default.
const KEPT_BYTES: usize = 256 << 20;
/// Mappings that the process keeps, at most: each is looked at, and the system has no endless number of them.
const MAX_KEPT: usize = 128;
/// Smaller mappings are not kept: they would take the places of those that are worth more.
const SMALLEST_KEPT_BYTES: usize = 64 << 10;

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

/// Anonymous memory from the system.
///
/// Invariant: `start` and `n_bytes` are those of one mapping, which lives until the drop.
struct Mapping {
    start: NonNull<u8>,
    n_bytes: usize,
    /// A batch before had it: most of its pages are there.
    is_used: bool,
    /// Its next pages shall be huge.
    is_huge: AtomicBool,
    /// The system may have its pages.
    is_offered: bool,
}

// SAFETY: a mapping is plain memory; who may write which part is up to the slots.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(n_bytes: usize) -> Result<Mapping> {
        let out_of_memory = |error: rustix::io::Errno| Error::OutOfMemory {
            n_bytes: n_bytes as u64,
            source: std::io::Error::from(error),
        };
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
                Ok(Mapping { start, n_bytes, is_used: false, is_huge: AtomicBool::new(is_huge), is_offered: false })
            }
            None => Err(out_of_memory(rustix::io::Errno::NOMEM)),
        }
    }

    /// Asks for the pages of a range at once, which is half the price of a fault for each. Their content stays.
    fn populate(&self, range: Range<usize>) {
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

    /// The system may have the pages if it needs them; until then they are as good as before.
    fn offer(&mut self) {
        if !std::mem::replace(&mut self.is_offered, true) {
            // SAFETY: the whole mapping, whose content nobody needs any more. Advice that is not taken changes nothing.
            let _ = unsafe { madvise(self.start.as_ptr().cast(), self.n_bytes, Advice::LinuxFree) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's own, and nobody holds it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.n_bytes) };
    }
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

/// Memory that was used and let go: the next batch takes it, page faults and all are spared.
///
/// Its lock is never waited for: a process that is forked while a thread holds it would wait forever.
#[derive(Default)]
pub(crate) struct Pool {
    /// Oldest first.
    free: Mutex<Vec<Mapping>>,
    n_scans: AtomicUsize,
    /// Bytes of mappings that are given out.
    used_bytes: AtomicUsize,
}

/// The pool of the process.
static POOL: Pool =
    Pool { free: Mutex::new(Vec::new()), n_scans: AtomicUsize::new(0), used_bytes: AtomicUsize::new(0) };

impl Pool {
    /// A free mapping that fits, or a new one. What is kept does not come on top of what is used: it makes room.
    fn mapping(&self, n_bytes: usize) -> Result<Mapping> {
        let mut given_up = Vec::new();
        let mut fitting = None;
        if let Ok(mut free) = self.free.try_lock() {
            let place = free
                .iter()
                .enumerate()
                .filter(|(_, mapping)| mapping.n_bytes >= n_bytes && mapping.n_bytes / 2 <= n_bytes)
                .min_by_key(|(_, mapping)| mapping.n_bytes)
                .map(|(place, _)| place);
            fitting = place.map(|place| free.remove(place));
            if fitting.is_none() {
                let used = self.used_bytes.load(Ordering::Relaxed).saturating_add(n_bytes);
                given_up = oldest_above(&mut free, KEPT_BYTES.saturating_sub(used));
            }
        }
        drop(given_up);
        let mut mapping = fitting.map_or_else(|| Mapping::new(n_bytes), Ok)?;
        mapping.is_offered = false;
        self.used_bytes.fetch_add(mapping.n_bytes, Ordering::Relaxed);
        Ok(mapping)
    }

    fn give_back(&self, mut mapping: Mapping) {
        self.used_bytes.fetch_sub(mapping.n_bytes, Ordering::Relaxed);
        if mapping.n_bytes < SMALLEST_KEPT_BYTES {
            return;
        }
        mapping.is_used = true;
        if self.n_scans.load(Ordering::Relaxed) == 0 {
            mapping.offer();
        }
        let mut given_up = Vec::new();
        if let Ok(mut free) = self.free.try_lock() {
            free.push(mapping);
            given_up = oldest_above(&mut free, KEPT_BYTES);
            if free.len() > MAX_KEPT {
                given_up.push(free.remove(0));
            }
        }
        drop(given_up); // outside of the lock: it takes a while
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
    let mut kept: usize = free.iter().map(|mapping| mapping.n_bytes).sum();
    let mut n_taken = 0;
    while let Some(mapping) = free.get(n_taken).filter(|_| kept > n_bytes) {
        kept -= mapping.n_bytes;
        n_taken += 1;
    }
    free.drain(..n_taken).collect()
}

/// Tells the pool that a scan is under way: what it lets go, it takes again at once. After the last one all is offered
/// to the system.
pub(crate) struct Scanning(&'static Pool);

impl Scanning {
    pub(crate) fn new() -> Scanning {
        Self::of_pool(&POOL)
    }

    fn of_pool(pool: &'static Pool) -> Scanning {
        pool.n_scans.fetch_add(1, Ordering::Relaxed);
        Scanning(pool)
    }
}

impl Drop for Scanning {
    fn drop(&mut self) {
        if self.0.n_scans.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.offer_all();
        }
    }
}

/// A mapping that goes back to its pool when the last column and slot of it are gone.
struct Region {
    mapping: Option<Mapping>,
    pool: &'static Pool,
}

impl Region {
    fn new(n_bytes: usize, pool: &'static Pool) -> Result<Arc<Region>> {
        Ok(Arc::new(Region { mapping: Some(pool.mapping(n_bytes)?), pool }))
    }

    fn populate(&self, range: Range<usize>) {
        if let Some(mapping) = self.mapping.as_ref().filter(|mapping| !mapping.is_used) {
            mapping.populate(range);
        }
    }

    fn n_bytes(&self) -> usize {
        self.mapping.as_ref().map_or(0, |mapping| mapping.n_bytes)
    }

    /// Start of the memory; dangling, but never null, if there is none.
    fn start(&self) -> NonNull<u8> {
        self.mapping.as_ref().map_or(NonNull::dangling(), |mapping| mapping.start)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(mapping) = self.mapping.take() {
            self.pool.give_back(mapping);
        }
    }
}

/// Memory for the bytes of a window, of any content at first.
pub(crate) struct Block {
    region: Region,
    n_bytes: usize,
}

impl Block {
    pub(crate) fn new(n_bytes: usize) -> Result<Block> {
        let region = Region { mapping: Some(POOL.mapping(n_bytes.max(ALIGNMENT))?), pool: &POOL };
        region.populate(0..n_bytes);
        Ok(Block { region, n_bytes })
    }

    /// Memory that it takes, which may be more than was asked for.
    pub(crate) fn held_bytes(&self) -> usize {
        self.region.n_bytes()
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping has at least `n_bytes`, which the system set to zero or a scan has written.
        unsafe { std::slice::from_raw_parts(self.region.start().as_ptr(), self.n_bytes) }
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self`, which owns the mapping, is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.region.start().as_ptr(), self.n_bytes) }
    }
}

/// Gives out memory; small columns are neighbours in one region.
pub(crate) struct Arena {
    pool: &'static Pool,
    shared: Option<(Arc<Region>, usize)>,
    /// Bytes that small columns will still ask for, roughly.
    expected: usize,
}

impl Arena {
    /// An arena for columns of these sizes.
    pub(crate) fn new(sizes: impl Iterator<Item = usize>) -> Self {
        Self::of_pool(&POOL, sizes)
    }

    fn of_pool(pool: &'static Pool, sizes: impl Iterator<Item = usize>) -> Self {
        let expected = sizes
            .filter(|&n_bytes| n_bytes < OWN_REGION_BYTES)
            .fold(0_usize, |sum, n_bytes| sum.saturating_add(n_bytes.next_multiple_of(ALIGNMENT)));
        Arena { pool, shared: None, expected }
    }

    /// Takes `n_bytes`, of any content.
    pub(crate) fn column(&mut self, n_bytes: usize) -> Result<Column> {
        if n_bytes >= OWN_REGION_BYTES {
            let region = Region::new(n_bytes, self.pool)?;
            return Ok(Column::new(region, 0, n_bytes));
        }
        if let Some((region, used)) = &mut self.shared {
            let start = used.next_multiple_of(ALIGNMENT);
            if start + n_bytes <= region.n_bytes() {
                *used = start + n_bytes;
                return Ok(Column::new(Arc::clone(region), start, n_bytes));
            }
        }
        let region_bytes = self.expected.min(SHARED_REGION_BYTES).max(n_bytes).max(ALIGNMENT);
        self.expected = self.expected.saturating_sub(region_bytes);
        let region = Region::new(region_bytes, self.pool)?;
        self.shared = Some((Arc::clone(&region), n_bytes));
        Ok(Column::new(region, 0, n_bytes))
    }
}

/// A contiguous part of a region, which is filled front to back through slots.
///
/// Invariant: no other column has a byte of `[start, start + capacity)`, and the slots that were leased cover
/// `[start, start + used)` without overlap.
pub(crate) struct Column {
    region: Arc<Region>,
    start: usize,
    capacity: usize,
    used: usize,
    /// End in the region of the pages that slots have been told to ask for.
    populated: usize,
    /// Each slot holds a clone: the column is complete when this is the only one.
    leases: Arc<()>,
}

impl Column {
    fn new(region: Arc<Region>, start: usize, capacity: usize) -> Self {
        Column { region, start, capacity, used: 0, populated: start, leases: Arc::new(()) }
    }

    /// Bytes that were leased so far.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Bytes that can still be leased.
    pub(crate) fn left(&self) -> usize {
        self.capacity - self.used
    }

    /// Leases the next `n_bytes`; `None` if they do not fit.
    pub(crate) fn lease(&mut self, n_bytes: usize) -> Option<Slot> {
        if n_bytes > self.left() {
            return None;
        }
        let start = self.start + self.used;
        self.used += n_bytes;
        let mut fresh = 0..0;
        if start + n_bytes > self.populated {
            // Small steps for small columns, which may be larger than they need to be.
            let step = (self.capacity / 8).clamp(PAGE_BYTES, POPULATE_BYTES);
            fresh = self.populated..(start + n_bytes).next_multiple_of(step).min(self.start + self.capacity);
            self.populated = fresh.end;
        }
        Some(Slot { region: Arc::clone(&self.region), start, n_bytes, fresh, _lease: Arc::clone(&self.leases) })
    }

    /// What was written, if no slot is left.
    pub(crate) fn written(&mut self) -> Option<&mut [u8]> {
        // The count is read with acquire ordering, so that all writes through slots are seen.
        Arc::get_mut(&mut self.leases)?;
        // SAFETY: the invariant gives this column the range, no slot is left, and `self` is borrowed mutably.
        Some(unsafe { std::slice::from_raw_parts_mut(self.region.start().as_ptr().add(self.start), self.used) })
    }

    /// An Arrow buffer of what was written, without a copy; `None` if a slot is left.
    pub(crate) fn into_buffer(mut self) -> Option<Buffer> {
        let n_bytes = self.written()?.len();
        if n_bytes == 0 {
            return Some(Buffer::from_vec(Vec::<u8>::new()));
        }
        // SAFETY: start is inside the mapping, so the sum is not null.
        let start = unsafe { NonNull::new_unchecked(self.region.start().as_ptr().add(self.start)) };
        // SAFETY: the region is kept alive by the buffer, and nobody writes to this range any more.
        Some(unsafe { Buffer::from_custom_allocation(start, n_bytes, self.region) })
    }
}

/// The right to write one part of a column.
pub(crate) struct Slot {
    region: Arc<Region>,
    start: usize,
    n_bytes: usize,
    /// Part of the region whose pages are to be asked for before the first write.
    fresh: Range<usize>,
    _lease: Arc<()>,
}

impl Deref for Slot {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the range is inside the mapping, and no other slot or column has it (invariant of `Column`).
        unsafe { std::slice::from_raw_parts(self.region.start().as_ptr().add(self.start), self.n_bytes) }
    }
}

impl DerefMut for Slot {
    fn deref_mut(&mut self) -> &mut [u8] {
        if !self.fresh.is_empty() {
            self.region.populate(std::mem::take(&mut self.fresh));
        }
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.region.start().as_ptr().add(self.start), self.n_bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An arena of a pool of its own: other tests do not take its memory.
    fn arena() -> Arena {
        Arena::of_pool(Box::leak(Box::default()), std::iter::empty())
    }

    fn buffer_of(arena: &mut Arena, n_bytes: usize) -> Buffer {
        let mut column = arena.column(n_bytes).unwrap();
        column.lease(4).unwrap().copy_from_slice(b"used");
        column.into_buffer().unwrap()
    }

    fn kept_bytes(pool: &Pool) -> usize {
        pool.free.lock().unwrap().iter().map(|mapping| mapping.n_bytes).sum()
    }

    #[test]
    fn memory_that_was_let_go_is_used_again() {
        let mut arena = arena();
        let buffer = buffer_of(&mut arena, OWN_REGION_BYTES);
        let address = buffer.as_ptr();
        drop(buffer);
        let mut later = Arena::of_pool(arena.pool, std::iter::empty());
        assert_eq!(later.column(OWN_REGION_BYTES).unwrap().lease(4).unwrap().as_ptr(), address);
    }

    #[test]
    fn no_more_memory_is_kept_than_a_scan_may_have() {
        let mut arena = arena();
        let buffers: Vec<Buffer> = (1..=9).map(|number| buffer_of(&mut arena, number * OWN_REGION_BYTES)).collect();
        drop(buffers);
        let kept = kept_bytes(arena.pool);
        assert!((KEPT_BYTES - 9 * OWN_REGION_BYTES..=KEPT_BYTES).contains(&kept), "{kept}");
        drop(buffer_of(&mut arena, KEPT_BYTES + 1));
        assert!(kept_bytes(arena.pool) <= KEPT_BYTES);
    }

    #[test]
    fn few_mappings_are_kept() {
        let mut arena = arena();
        let buffers: Vec<Buffer> = (0..2 * MAX_KEPT).map(|_| buffer_of(&mut arena, SMALLEST_KEPT_BYTES)).collect();
        drop(buffers);
        assert_eq!(arena.pool.free.lock().unwrap().len(), MAX_KEPT);
    }

    #[test]
    fn small_mappings_are_not_kept() {
        let mut arena = arena();
        drop(buffer_of(&mut arena, SMALLEST_KEPT_BYTES / 2));
        drop(arena.shared.take());
        assert_eq!(kept_bytes(arena.pool), 0);
    }

    #[test]
    fn memory_that_does_not_fit_makes_room() {
        let mut arena = arena();
        let buffers: Vec<Buffer> = (0..4).map(|_| buffer_of(&mut arena, OWN_REGION_BYTES)).collect();
        drop(buffers);
        let _fits_beside = arena.column(KEPT_BYTES - 4 * OWN_REGION_BYTES).unwrap();
        assert_eq!(kept_bytes(arena.pool), 4 * OWN_REGION_BYTES);
        let _does_not = arena.column(3 * OWN_REGION_BYTES).unwrap();
        assert_eq!(kept_bytes(arena.pool), OWN_REGION_BYTES);
    }

    #[test]
    fn what_is_kept_is_offered_to_the_system_when_no_scan_is_under_way() {
        let mut arena = arena();
        let n_offered = |pool: &Pool| pool.free.lock().unwrap().iter().filter(|mapping| mapping.is_offered).count();
        let (one, other) = (Scanning::of_pool(arena.pool), Scanning::of_pool(arena.pool));
        let buffers: Vec<Buffer> = (0..3).map(|_| buffer_of(&mut arena, OWN_REGION_BYTES)).collect();
        drop(buffers);
        drop(one);
        assert_eq!(n_offered(arena.pool), 0);
        drop(other);
        assert_eq!(n_offered(arena.pool), 3);
        let column = arena.column(OWN_REGION_BYTES).unwrap();
        drop(column);
        assert_eq!(n_offered(arena.pool), 3);
    }

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

    #[test]
    fn slots_of_neighbouring_columns_do_not_touch() {
        let mut arena = arena();
        let mut columns: Vec<Column> = (0..5).map(|_| arena.column(1000).unwrap()).collect();
        let slots: Vec<Vec<Slot>> =
            columns.iter_mut().map(|column| (0..10).map(|_| column.lease(100).unwrap()).collect()).collect();
        std::thread::scope(|scope| {
            for (number, slots) in slots.into_iter().enumerate() {
                scope.spawn(move || {
                    for (place, mut slot) in slots.into_iter().enumerate() {
                        slot.fill(u8::try_from(number * 10 + place).unwrap());
                    }
                });
            }
        });
        for (number, column) in columns.into_iter().enumerate() {
            let buffer = column.into_buffer().unwrap();
            let expected: Vec<u8> =
                (0..10).flat_map(|place| vec![u8::try_from(number * 10 + place).unwrap(); 100]).collect();
            assert_eq!(buffer.as_slice(), expected);
            assert_eq!(buffer.as_ptr().align_offset(ALIGNMENT), 0);
        }
    }

    #[test]
    fn a_column_is_not_given_away_while_a_slot_is_left() {
        let mut column = arena().column(64).unwrap();
        let slot = column.lease(10).unwrap();
        assert!(column.written().is_none());
        assert!(column.lease(60).is_none());
        drop(slot);
        assert_eq!(column.written().unwrap(), [0; 10]);
    }

    #[test]
    fn a_buffer_outlives_its_arena_and_its_pool() {
        let mut arena = arena();
        let mut column = arena.column(OWN_REGION_BYTES).unwrap();
        column.lease(8).unwrap().copy_from_slice(b"arrowoot");
        let buffer = column.into_buffer().unwrap();
        drop(arena);
        assert_eq!(buffer.as_slice(), b"arrowoot");
    }
}
