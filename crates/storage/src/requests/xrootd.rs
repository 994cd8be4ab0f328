//! What a server takes at a time, and how ranges are dealt out to requests within that.

use crate::extent::Extent;

/// Requests worth having outstanding: one that is on its way back, one that the server works on, and some that wait there.
pub(crate) const MAX_PARALLEL: usize = 8;
/// Bytes of one plain read, at most.
pub(crate) const MAX_READ_BYTES: u64 = 8 << 20;

/// What one vector read may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VectorLimits {
    /// Bytes of one range (`readv_ior_max`).
    pub max_range_bytes: usize,
    /// Ranges (`readv_iov_max`).
    pub max_ranges: usize,
    /// Bytes of all ranges together.
    pub max_bytes: usize,
}

impl VectorLimits {
    /// Those of a server that does not say. Servers refuse 2 GiB; this is less so that a broken connection loses less.
    pub(crate) const DEFAULT: VectorLimits =
        VectorLimits { max_range_bytes: 2_097_136, max_ranges: 1024, max_bytes: 32 << 20 };

    /// Those of a server without vector reads.
    pub(crate) const NONE: VectorLimits = VectorLimits { max_ranges: 1, ..VectorLimits::DEFAULT };

    /// What both allow.
    pub(crate) fn and(self, other: VectorLimits) -> VectorLimits {
        VectorLimits {
            max_range_bytes: self.max_range_bytes.min(other.max_range_bytes),
            max_ranges: self.max_ranges.min(other.max_ranges),
            max_bytes: self.max_bytes.min(other.max_bytes),
        }
    }

    /// From one line each; what is no number above 0 is not known there. No server takes longer requests than the
    /// default's, whatever it says.
    pub(crate) fn parse(body: &[u8]) -> VectorLimits {
        let answer = String::from_utf8_lossy(body);
        let mut lines =
            answer.split(['\n', '\0']).map(|line| line.trim().parse::<usize>().ok().filter(|&number| number > 0));
        let mut next = |default: usize| lines.next().flatten().unwrap_or(default);
        let (bytes, ranges) = (next(Self::DEFAULT.max_range_bytes), next(Self::DEFAULT.max_ranges));
        VectorLimits {
            max_range_bytes: bytes.min(1 << 30),
            max_ranges: ranges.min(Self::DEFAULT.max_ranges),
            ..Self::DEFAULT
        }
    }
}

/// Deals parts out to the fewest requests that fetch all of them: what is too large for a vector read is read by itself, in
/// pieces. One part is a plain read, several are a vector read.
pub(crate) fn grouped<P: Extent>(limits: VectorLimits, parts: Vec<P>) -> Vec<Vec<P>> {
    let max_range_bytes = limits.max_range_bytes.min(limits.max_bytes) as u64;
    let mut requests = Vec::new();
    let (mut vector, mut vector_bytes) = (Vec::new(), 0);
    for mut part in parts.into_iter().filter(|part| part.n_bytes() > 0) {
        if part.n_bytes() > max_range_bytes {
            while part.n_bytes() > 0 {
                let n_here = part.n_bytes().min(MAX_READ_BYTES);
                let (here, rest) = part.split(n_here);
                requests.push(vec![here]);
                part = rest;
            }
            continue;
        }
        let is_full = vector.len() >= limits.max_ranges || vector_bytes + part.n_bytes() > limits.max_bytes as u64;
        if is_full && !vector.is_empty() {
            requests.push(std::mem::take(&mut vector));
            vector_bytes = 0;
        }
        vector_bytes += part.n_bytes();
        vector.push(part);
    }
    if !vector.is_empty() {
        requests.push(vector);
    }
    requests
}
