//! Writing past the caches.

/// Where bytes go when they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Into the processor's caches: best for fresh pages, and for what is read or written again soon.
    Cached,
    /// Past them: memory that is in no cache need not be read before it is overwritten.
    Streamed,
}

/// Bytes of a cache line, which a streamed write fills as a whole.
pub(super) const LINE: usize = 64;

/// Writes lines past the caches. The first of `places` is aligned to a line; as much is written as both have.
///
/// A call ends with a fence: who sees what the thread does next sees the lines, too.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "streamed stores are there as intrinsics only")]
#[inline(always)]
pub(super) fn stream_lines(lines: impl Iterator<Item = [u8; LINE]>, places: &mut [[u8; LINE]]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    const PART: usize = size_of::<__m128i>();
    assert!(places.is_empty() || places.as_ptr().cast::<__m128i>().is_aligned());
    for (line, place) in lines.zip(places) {
        for (from, to) in line.as_chunks::<PART>().0.iter().zip(place.as_chunks_mut::<PART>().0) {
            // SAFETY: 16 bytes are read from `from`; 16 are written to `to`, which is aligned as the first place is, a
            // multiple of 16 bytes before it. SSE2 is part of x86-64.
            unsafe { _mm_stream_si128(to.as_mut_ptr().cast(), _mm_loadu_si128(from.as_ptr().cast())) }
        }
    }
    // SAFETY: a fence touches nothing. Streamed stores are not ordered without it.
    unsafe { _mm_sfence() }
}

/// As above, where there are no streamed stores.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn stream_lines(lines: impl Iterator<Item = [u8; LINE]>, places: &mut [[u8; LINE]]) {
    for (line, place) in lines.zip(places) {
        *place = line;
    }
}
