//! Memory for columns: taken in large pieces, written by many threads, handed to Arrow without a copy.
//!
//! A [`Column`] of memory leases disjoint [`Lease`]s, front to back; each may be filled by another thread. It becomes an
//! Arrow buffer once all leases are gone. Fresh pages cost as much as decoding if each is asked for by a fault of its own:
//! pieces of 2 MiB and more are advised as huge pages, and leases ask for their pages in steps of many before they are
//! written. What was let go is kept for the next batch or the next scan of the process (`pool`).

#![expect(unsafe_code, reason = "disjoint parts of one allocation are written by several threads")]

mod fill;
mod held;
mod pages;
mod pool;

use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrowroot_format::decode::Writes;

use arrowroot_file::Result;

pub(crate) use fill::{
    Edges, complete, filled_buffer, incomplete, lease_whole_bytes, lease_zeros, set_edges, shown, too_large,
    too_many_entries, write_bits,
};
pub(crate) use held::{HeldBytes, HeldMemory, WindowBytes};
pub(crate) use pages::populate;
use pages::{Mapping, PAGE_BYTES, POPULATE_BYTES};
use pool::{POOL, Pool};

/// Columns smaller than this share a region.
const OWN_REGION_BYTES: usize = 8 << 20;
/// Size of a shared region.
const SHARED_REGION_BYTES: usize = 16 << 20;
/// Arrow recommends this alignment.
const ALIGNMENT: usize = 64;
/// A mapping that goes back to its pool when the last column and lease of it are gone.
struct Region {
    mapping: Option<Mapping>,
    /// What was asked for; a mapping that was used before may be larger.
    wanted_bytes: usize,
    pool: &'static Pool,
}

impl Region {
    fn new(n_bytes: usize, pool: &'static Pool) -> Result<Arc<Region>> {
        Ok(Arc::new(Region { mapping: Some(pool.mapping(n_bytes)?), wanted_bytes: n_bytes, pool }))
    }

    fn populate(&self, range: Range<usize>) {
        if let Some(mapping) = self.mapping.as_ref().filter(|mapping| !mapping.is_used) {
            mapping.populate(range);
        }
    }

    fn n_bytes(&self) -> usize {
        self.mapping.as_ref().map_or(0, Mapping::n_bytes)
    }

    /// Start of the memory; dangling, but never null, if there is none.
    fn start(&self) -> NonNull<u8> {
        self.mapping.as_ref().map_or(NonNull::dangling(), Mapping::start)
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
        let region =
            Region { mapping: Some(POOL.mapping(n_bytes.max(ALIGNMENT))?), wanted_bytes: n_bytes, pool: &POOL };
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
    /// Bytes that small columns will still ask for, as far as is known beforehand.
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
        let expected = self.expected;
        self.expected = expected.saturating_sub(n_bytes.next_multiple_of(ALIGNMENT));
        if let Some((region, used)) = &mut self.shared {
            let start = used.next_multiple_of(ALIGNMENT);
            if start + n_bytes <= region.n_bytes() {
                *used = start + n_bytes;
                return Ok(Column::new(Arc::clone(region), start, n_bytes));
            }
        }
        let region_bytes = expected.min(SHARED_REGION_BYTES).max(n_bytes).max(ALIGNMENT);
        let region = Region::new(region_bytes, self.pool)?;
        self.shared = Some((Arc::clone(&region), n_bytes));
        Ok(Column::new(region, 0, n_bytes))
    }
}

/// A contiguous part of a region, which is filled front to back through leases.
///
/// Invariant: no other column has a byte of `[start, start + capacity)`, and the leases that were leased cover
/// `[start, start + used)` without overlap.
pub(crate) struct Column {
    region: Arc<Region>,
    start: usize,
    capacity: usize,
    used: usize,
    /// End in the region of the pages that leases have been told to ask for.
    populated: usize,
    /// Each lease holds a clone: the column is complete when this is the only one.
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
    pub(crate) fn lease(&mut self, n_bytes: usize) -> Option<Lease> {
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
        Some(Lease { region: Arc::clone(&self.region), start, n_bytes, fresh, _lease: Arc::clone(&self.leases) })
    }

    /// What was written, if no lease is left.
    pub(crate) fn written(&mut self) -> Option<&mut [u8]> {
        // The count is read with acquire ordering, so that all writes through leases are seen.
        Arc::get_mut(&mut self.leases)?;
        // SAFETY: the invariant gives this column the range, no lease is left, and `self` is borrowed mutably.
        Some(unsafe { std::slice::from_raw_parts_mut(self.region.start().as_ptr().add(self.start), self.used) })
    }

    /// An Arrow buffer of what was written, without a copy; `None` if a lease is left.
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
pub(crate) struct Lease {
    region: Arc<Region>,
    start: usize,
    n_bytes: usize,
    /// Part of the region whose pages are to be asked for before the first write.
    fresh: Range<usize>,
    _lease: Arc<()>,
}

impl Lease {
    /// How to write numbers: what a batch before had is in no cache if it is much.
    pub(crate) fn writes(&self) -> Writes {
        let is_used = self.region.mapping.as_ref().is_some_and(|mapping| mapping.is_used);
        if is_used && self.region.wanted_bytes >= SHARED_REGION_BYTES { Writes::Streamed } else { Writes::Cached }
    }
}

impl Deref for Lease {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the range is inside the mapping, and no other lease or column has it (invariant of `Column`).
        unsafe { std::slice::from_raw_parts(self.region.start().as_ptr().add(self.start), self.n_bytes) }
    }
}

impl DerefMut for Lease {
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
    use std::time::Duration;

    use super::*;

    /// An arena of a pool of its own: other tests do not take its memory.
    fn arena() -> Arena {
        Arena::of_pool(Box::leak(Box::new(Pool::new(Duration::from_secs(3600)))), std::iter::empty())
    }

    fn buffer_of(arena: &mut Arena, n_bytes: usize) -> Buffer {
        let mut column = arena.column(n_bytes).unwrap();
        column.lease(4).unwrap().copy_from_slice(b"used");
        column.into_buffer().unwrap()
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
    fn only_much_memory_that_a_batch_had_is_written_past_the_caches() {
        let mut arena = arena();
        let mut writes = |n_bytes| arena.column(n_bytes).unwrap().lease(4).unwrap().writes();
        assert_eq!(writes(SHARED_REGION_BYTES), Writes::Cached);
        assert_eq!(writes(SHARED_REGION_BYTES), Writes::Streamed);
        // The same memory, of which less is asked for.
        assert_eq!(writes(OWN_REGION_BYTES), Writes::Cached);
    }

    #[test]
    fn small_columns_share_regions_to_the_last() {
        // Columns that do not fit leave some of each region unused.
        let sizes = || std::iter::repeat_n(6 << 20, 9).chain(std::iter::repeat_n(1000, 200));
        let mut arena = Arena::of_pool(arena().pool, sizes());
        let columns: Vec<Column> = sizes().map(|n_bytes| arena.column(n_bytes).unwrap()).collect();
        let mut regions: Vec<_> = columns.iter().map(|column| Arc::as_ptr(&column.region)).collect();
        regions.dedup();
        assert_eq!(regions.len(), 5);
    }

    #[test]
    fn leases_of_neighbouring_columns_do_not_touch() {
        let mut arena = arena();
        let mut columns: Vec<Column> = (0..5).map(|_| arena.column(1000).unwrap()).collect();
        let leases: Vec<Vec<Lease>> =
            columns.iter_mut().map(|column| (0..10).map(|_| column.lease(100).unwrap()).collect()).collect();
        std::thread::scope(|scope| {
            for (number, leases) in leases.into_iter().enumerate() {
                scope.spawn(move || {
                    for (index, mut lease) in leases.into_iter().enumerate() {
                        lease.fill(u8::try_from(number * 10 + index).unwrap());
                    }
                });
            }
        });
        for (number, column) in columns.into_iter().enumerate() {
            let buffer = column.into_buffer().unwrap();
            let expected: Vec<u8> =
                (0..10).flat_map(|index| vec![u8::try_from(number * 10 + index).unwrap(); 100]).collect();
            assert_eq!(buffer.as_slice(), expected);
            assert_eq!(buffer.as_ptr().align_offset(ALIGNMENT), 0);
        }
    }

    #[test]
    fn a_column_is_not_given_away_while_a_lease_is_left() {
        let mut column = arena().column(64).unwrap();
        let lease = column.lease(10).unwrap();
        assert!(column.written().is_none());
        assert!(column.lease(60).is_none());
        drop(lease);
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
