//! From ranges to requests within the limits of a server.

use super::flight::Request;
use super::frame::{Answer, Piece, VectorAnswer};
use super::message::{self, Handle, VectorLimits};
use crate::source::Part;

/// Bytes of one plain read, at most.
const MAX_READ_BYTES: usize = 8 << 20;

/// The fewest requests that fetch all parts: what is too large for a vector read is read by itself, in pieces.
pub(crate) fn requests<'b>(handle: Handle, limits: VectorLimits, parts: Vec<Part<'b>>) -> Vec<Request<'b>> {
    let max_range_bytes = limits.max_range_bytes.min(limits.max_bytes);
    let mut requests = Vec::new();
    let mut vector = Vector { handle, pieces: Vec::new(), n_bytes: 0 };
    for part in parts.into_iter().filter(|part| !part.buffer.is_empty()) {
        let n_bytes = part.buffer.len();
        if n_bytes > max_range_bytes {
            let mut offset = part.offset;
            for buffer in part.buffer.chunks_mut(MAX_READ_BYTES) {
                let next = offset + buffer.len() as u64;
                requests.push(read(handle, Piece { offset, buffer }));
                offset = next;
            }
            continue;
        }
        if vector.pieces.len() >= limits.max_ranges || vector.n_bytes + n_bytes > limits.max_bytes {
            requests.extend(vector.finish());
        }
        vector.n_bytes += n_bytes;
        vector.pieces.push(Piece { offset: part.offset, buffer: part.buffer });
    }
    requests.extend(vector.finish());
    requests
}

struct Vector<'b> {
    handle: Handle,
    pieces: Vec<Piece<'b>>,
    n_bytes: usize,
}

impl<'b> Vector<'b> {
    fn finish(&mut self) -> Option<Request<'b>> {
        self.n_bytes = 0;
        let mut pieces = std::mem::take(&mut self.pieces);
        if pieces.len() < 2 {
            return pieces.pop().map(|piece| read(self.handle, piece));
        }
        let ranges = pieces.iter().map(|piece| (piece.offset, length(piece)));
        let bytes = message::read_vector(self.handle, ranges);
        Some(Request::new(bytes, Answer::Vector(VectorAnswer::new(self.handle, pieces))))
    }
}

fn read(handle: Handle, piece: Piece<'_>) -> Request<'_> {
    Request::new(message::read(handle, piece.offset, length(&piece)), Answer::Read(piece, 0))
}

/// No piece is larger than the limits above.
fn length(piece: &Piece<'_>) -> u32 {
    u32::try_from(piece.buffer.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: VectorLimits = VectorLimits { max_range_bytes: 1000, max_ranges: 10, max_bytes: 6000 };

    /// Offsets and lengths that each request asks for.
    fn asked(lengths: &[usize], limits: VectorLimits) -> Vec<Vec<(u64, usize)>> {
        let mut buffers: Vec<_> = lengths.iter().map(|&n_bytes| vec![0; n_bytes]).collect();
        let parts: Vec<_> =
            buffers.iter_mut().enumerate().map(|(n, buffer)| Part { offset: n as u64 * 100_000_000, buffer }).collect();
        let range = |piece: &Piece<'_>| (piece.offset, piece.buffer.len());
        let ranges = |request: &Request<'_>| match &request.answer {
            Answer::Read(piece, _) => vec![range(piece)],
            Answer::Vector(vector) => vector.pieces().iter().map(range).collect(),
            Answer::Control(_) => Vec::new(),
        };
        requests([0; 4], limits, parts).iter().map(ranges).collect()
    }

    #[test]
    fn large_ranges_are_read_in_pieces_and_small_ones_together() {
        let large = MAX_READ_BYTES + 5;
        let offset = 100_000_000;
        assert_eq!(
            asked(&[10, large, 0, 20], LIMITS),
            [
                vec![(offset, MAX_READ_BYTES)],
                vec![(offset + MAX_READ_BYTES as u64, 5)],
                vec![(0, 10), (3 * offset, 20)],
            ]
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
            prop_assert!(asked.iter().flatten().all(|&(_, n)| n > 0 && n <= MAX_READ_BYTES));
            prop_assert!(asked.iter().all(|ranges| ranges.len() == 1 || ranges.iter().all(|&(_, n)| n <= LIMITS.max_range_bytes)));
            prop_assert!(asked.iter().all(|ranges| ranges.len() == 1 || ranges.iter().map(|&(_, n)| n).sum::<usize>() <= LIMITS.max_bytes));
            let mut all: Vec<_> = asked.into_iter().flatten().collect();
            all.sort_unstable();
            let expected: Vec<_> = lengths.iter().enumerate().filter(|&(_, &n)| n > 0).map(|(place, &n)| (place as u64 * 100_000_000, n)).collect();
            prop_assert_eq!(all, expected);
        }
    }
}
