//! From ranges to requests within the limits of a server.

use super::flight::Request;
use super::frame::{Answer, VectorAnswer};
use super::message::{self, Handle};
use crate::requests::xrootd::{VectorLimits, grouped};
use crate::source::Part;

/// The requests for parts of an open file.
pub(crate) fn requests<'b>(handle: Handle, limits: VectorLimits, parts: Vec<Part<'b>>) -> Vec<Request<'b>> {
    let request = |mut parts: Vec<Part<'b>>| {
        if parts.len() < 2 {
            return parts.pop().map(|part| read(handle, part));
        }
        let bytes = message::read_vector(handle, parts.iter().map(|part| (part.offset, length(part))));
        Some(Request::new(bytes, Answer::Vector(VectorAnswer::new(handle, parts))))
    };
    grouped(limits, parts).into_iter().filter_map(request).collect()
}

fn read(handle: Handle, part: Part<'_>) -> Request<'_> {
    Request::new(message::read(handle, part.offset, length(&part)), Answer::Read(part, 0))
}

/// No part is larger than the limits above.
fn length(part: &Part<'_>) -> u32 {
    u32::try_from(part.buffer.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::xrootd::MAX_READ_BYTES;
    use proptest::prelude::*;
    use std::ops::Range;

    const LIMITS: VectorLimits = VectorLimits { max_range_bytes: 1000, max_ranges: 10, max_bytes: 6000 };

    /// Offsets and lengths that each request asks for.
    fn asked(lengths: &[usize], limits: VectorLimits) -> Vec<Vec<(u64, usize)>> {
        let mut buffers: Vec<_> = lengths.iter().map(|&n_bytes| vec![0; n_bytes]).collect();
        let parts: Vec<_> =
            buffers.iter_mut().enumerate().map(|(n, buffer)| Part { offset: n as u64 * 100_000_000, buffer }).collect();
        let range = |part: &Part<'_>| (part.offset, part.buffer.len());
        let ranges = |request: &Request<'_>| match &request.answer {
            Answer::Read(part, _) => vec![range(part)],
            Answer::Vector(vector) => vector.parts().iter().map(range).collect(),
            Answer::Control(_) => Vec::new(),
        };
        let asked: Vec<_> = requests([0; 4], limits, parts).iter().map(ranges).collect();
        // What a simulation plans with is the same.
        let bare = lengths.iter().enumerate().map(|(n, &n_bytes)| {
            let offset = n as u64 * 100_000_000;
            offset..offset + n_bytes as u64
        });
        let range = |range: Range<u64>| (range.start, usize::try_from(range.end - range.start).unwrap());
        let bare = grouped::<Range<u64>>(limits, bare.collect());
        let bare: Vec<Vec<_>> = bare.into_iter().map(|ranges| ranges.into_iter().map(range).collect()).collect();
        assert_eq!(bare, asked);
        asked
    }

    #[test]
    fn large_ranges_are_read_in_pieces_and_small_ones_together() {
        let max_read_bytes = usize::try_from(MAX_READ_BYTES).unwrap();
        let large = max_read_bytes + 5;
        let offset = 100_000_000;
        assert_eq!(
            asked(&[10, large, 0, 20], LIMITS),
            [vec![(offset, max_read_bytes)], vec![(offset + MAX_READ_BYTES, 5)], vec![(0, 10), (3 * offset, 20)],]
        );
        assert_eq!(asked(&[10; 21], LIMITS).iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 1]);
        let usual = asked(&[2_000_000; 40], VectorLimits::DEFAULT);
        assert_eq!(usual.iter().map(Vec::len).collect::<Vec<_>>(), [16, 16, 8]);
    }

    proptest! {
        #[test]
        fn every_byte_is_asked_for_once_and_no_limit_is_broken(lengths in prop::collection::vec(0_usize..3000, 0..60)) {
            let asked = asked(&lengths, LIMITS);
            prop_assert!(asked.iter().all(|ranges| (1..=LIMITS.max_ranges).contains(&ranges.len())));
            prop_assert!(asked.iter().flatten().all(|&(_, n)| n > 0 && n as u64 <= MAX_READ_BYTES));
            prop_assert!(asked.iter().all(|ranges| ranges.len() == 1 || ranges.iter().all(|&(_, n)| n <= LIMITS.max_range_bytes)));
            prop_assert!(asked.iter().all(|ranges| ranges.len() == 1 || ranges.iter().map(|&(_, n)| n).sum::<usize>() <= LIMITS.max_bytes));
            let mut all: Vec<_> = asked.into_iter().flatten().collect();
            all.sort_unstable();
            let expected: Vec<_> = lengths.iter().enumerate().filter(|&(_, &n)| n > 0).map(|(index, &n)| (index as u64 * 100_000_000, n)).collect();
            prop_assert_eq!(all, expected);
        }
    }
}
