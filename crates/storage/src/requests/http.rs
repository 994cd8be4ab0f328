//! From a vector read to the requests that are made for it.

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use crate::extent::Extent;

/// Ranges in one request that are tried, most first. Apache answers up to 200; jsroot takes the same steps.
pub(crate) const STEPS: [usize; 5] = [200, 50, 20, 5, 1];
/// Connections to a server that answers several ranges at once.
pub(crate) const PARALLEL_WITH_RANGES: usize = 8;
/// Connections to one that does not, at most, as S3 is used by everybody: so many that waiting for answers takes no longer than the
/// work of the requests. More cost more on both sides than they bring; that they are at least 16 helps lines whose connections are slow.
const PARALLEL_WITHOUT: RangeInclusive<usize> = 16..=128;
/// Up to so many, twice as many: answers come unevenly, and then some connections wait while others are at work. Some 660 ranges
/// of S3 took 0.19 s with 50 instead of 0.22 s with 24 at 5 ms and 100 MB/s; 80 are no better.
const DOUBLED_UP_TO: usize = 50;
/// Work that a request is, however many are under way: an S3 server on the machine of the benchmarks has 0.15 to 0.3 ms of it, the
/// reader 0.1.
pub(crate) const REQUEST_SECONDS: f64 = 200e-6;
/// Most characters of ranges in a header: servers read heads of 8 KiB (nginx, Apache, Jetty), other headers included.
const MAX_HEADER_CHARS: usize = 4000;
/// Where a server takes several connections, nothing smaller is cut to use them.
const LEAST_PIECE_BYTES: u64 = 4 << 20;
/// Most bytes of a request. XRootD cuts ranges into elements of 2 MiB and refuses more than 1024 of them: this leaves room
/// for ranges that begin and end inside of elements.
const MAX_PIECE_BYTES: u64 = 1 << 30;

/// What one request may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Ranges in its header.
    pub n_ranges: usize,
    /// Requests at the same time.
    pub n_parallel: usize,
}

/// What is asked of a server of which nothing is known but how long an answer takes, and whether it may answer several ranges:
/// not S3.
pub(crate) fn limits_of_any(is_multi_range: bool, latency: Duration) -> Limits {
    if is_multi_range {
        return Limits { n_ranges: STEPS[0], n_parallel: PARALLEL_WITH_RANGES };
    }
    Limits { n_ranges: 1, n_parallel: connections_for(latency) }
}

/// Connections to a server that answers one range at a time, which takes so long for an answer.
pub(crate) fn connections_for(latency: Duration) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; casts of floats saturate")]
    let n_connections = (latency.as_secs_f64() / REQUEST_SECONDS) as usize;
    let n_connections = n_connections.max((2 * n_connections).min(DOUBLED_UP_TO));
    n_connections.clamp(*PARALLEL_WITHOUT.start(), *PARALLEL_WITHOUT.end())
}

/// Deals parts out to requests, each sorted, not empty and without overlap.
///
/// What is large is cut so that several connections carry it. Parts that overlap others go to requests of their own.
pub(crate) fn requests<P: Extent>(mut parts: Vec<P>, limits: Limits) -> Vec<Vec<P>> {
    parts.retain(|part| part.n_bytes() > 0);
    parts.sort_by_key(Extent::offset);
    let n_bytes = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(part.n_bytes()));
    let piece_bytes = n_bytes.div_ceil(limits.n_parallel.max(1) as u64);
    let piece_bytes = piece_bytes.clamp(LEAST_PIECE_BYTES, MAX_PIECE_BYTES);
    let mut requests = Vec::new();
    while !parts.is_empty() {
        let mut builder = Builder { limits, piece_bytes, requests: &mut requests, current: Request::default() };
        let mut overlapping = Vec::new();
        let mut end = 0;
        for part in parts {
            if part.offset() < end {
                overlapping.push(part);
            } else {
                end = part.range().end;
                builder.add(part);
            }
        }
        builder.close();
        parts = overlapping;
    }
    requests
}

struct Request<P> {
    parts: Vec<P>,
    n_ranges: usize,
    n_chars: usize,
    n_bytes: u64,
    end: u64,
}

impl<P> Default for Request<P> {
    fn default() -> Self {
        Request { parts: Vec::new(), n_ranges: 0, n_chars: 0, n_bytes: 0, end: 0 }
    }
}

struct Builder<'r, P> {
    limits: Limits,
    piece_bytes: u64,
    requests: &'r mut Vec<Vec<P>>,
    current: Request<P>,
}

impl<P: Extent> Builder<'_, P> {
    fn add(&mut self, mut part: P) {
        while part.n_bytes() > 0 {
            let n_bytes = part.n_bytes();
            let chars = header_chars(&part.range());
            let touches = !self.current.parts.is_empty() && self.current.end == part.offset();
            let is_full = self.current.n_bytes >= self.piece_bytes
                || (!touches
                    && (self.current.n_ranges >= self.limits.n_ranges.max(1)
                        || self.current.n_chars + chars > MAX_HEADER_CHARS));
            if is_full && !self.current.parts.is_empty() {
                self.close();
                continue;
            }
            // Not for the sake of a remainder that is small.
            let room = self.piece_bytes - self.current.n_bytes;
            let n_here = if n_bytes > room + LEAST_PIECE_BYTES / 2 { room } else { n_bytes };
            let (here, rest) = part.split(n_here);
            self.current.end = here.range().end;
            self.current.n_bytes += n_here;
            self.current.n_ranges += usize::from(!touches);
            self.current.n_chars += if touches { 0 } else { chars };
            self.current.parts.push(here);
            part = rest;
        }
    }

    fn close(&mut self) {
        let request = std::mem::take(&mut self.current);
        if !request.parts.is_empty() {
            self.requests.push(request.parts);
        }
    }
}

/// Characters that a range takes in a header.
pub(crate) fn header_chars(range: &Range<u64>) -> usize {
    let digits = |number: u64| number.checked_ilog10().map_or(1, |digits| digits as usize + 1);
    digits(range.start) + digits(range.end.saturating_sub(1)) + 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extent::joined;
    use crate::http::slots::Slots;
    use crate::source::Part;
    use proptest::prelude::*;

    const MIB: usize = 1 << 20;

    fn plan(ranges: &[(usize, usize)], limits: Limits) -> Vec<Vec<Range<u64>>> {
        let mut buffers: Vec<_> = ranges.iter().map(|(start, end)| vec![0; end - start]).collect();
        let parts = ranges.iter().zip(&mut buffers);
        let parts = parts.map(|((start, _), buffer)| Part { offset: *start as u64, buffer }).collect();
        let planned = requests(parts, limits).into_iter().map(|parts| Slots::new(parts, u64::MAX).ranges());
        let planned: Vec<_> = planned.collect();
        // What a simulation plans with is the same.
        let bare = ranges.iter().map(|(start, end)| *start as u64..*end as u64).collect();
        let bare: Vec<_> = requests::<Range<u64>>(bare, limits).into_iter().map(joined).collect();
        assert_eq!(bare, planned);
        planned
    }

    #[test]
    fn little_is_one_request() {
        let limits = Limits { n_ranges: 200, n_parallel: 8 };
        assert_eq!(plan(&[(50, 60), (0, 10), (10, 20)], limits), [[0..20, 50..60]]);
        assert_eq!(plan(&[(5, 5)], limits), Vec::<Vec<_>>::new());
    }

    #[test]
    fn without_several_ranges_each_is_a_request() {
        let limits = Limits { n_ranges: 1, n_parallel: 64 };
        assert_eq!(plan(&[(50, 60), (0, 10), (10, 20)], limits), [vec![0..20; 1], vec![50..60; 1]]);
    }

    #[test]
    fn much_is_shared_among_connections() {
        let limits = Limits { n_ranges: 200, n_parallel: 3 };
        let mib = |start: usize, end: usize| (start * MIB) as u64..(end * MIB) as u64;
        assert_eq!(plan(&[(0, 15 * MIB)], limits), [[mib(0, 5)], [mib(5, 10)], [mib(10, 15)]]);
        assert_eq!(plan(&[(0, 5 * MIB)], limits), [[mib(0, 5)]], "not for a small remainder");
        let ranges: Vec<_> = (0..6).map(|index| (index * 4 * MIB, (index * 4 + 2) * MIB)).collect();
        assert_eq!(
            plan(&ranges, limits),
            [[mib(0, 2), mib(4, 6)], [mib(8, 10), mib(12, 14)], [mib(16, 18), mib(20, 22)]]
        );
    }

    #[test]
    fn what_overlaps_is_asked_for_apart() {
        let limits = Limits { n_ranges: 200, n_parallel: 8 };
        assert_eq!(
            plan(&[(0, 10), (5, 15), (5, 15), (20, 30)], limits),
            [vec![0..10, 20..30], vec![5..15; 1], vec![5..15; 1]]
        );
    }

    proptest! {
        #[test]
        fn every_byte_is_asked_for_once_within_the_limits(
            ranges in prop::collection::vec((0_usize..1 << 30, 1_usize..3000), 1..300),
            n_ranges in 1_usize..250, n_parallel in 1_usize..20,
        ) {
            let ranges: Vec<_> = ranges.into_iter().map(|(start, n)| (start, start + n)).collect();
            let planned = plan(&ranges, Limits { n_ranges, n_parallel });
            let n_bytes: u64 = planned.iter().flatten().map(|range| range.end - range.start).sum();
            prop_assert_eq!(n_bytes, ranges.iter().map(|(start, end)| (end - start) as u64).sum::<u64>());
            for request in planned {
                prop_assert!((1..=n_ranges).contains(&request.len()));
                prop_assert!(request.iter().map(header_chars).sum::<usize>() <= MAX_HEADER_CHARS + 40);
                prop_assert!(request.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
