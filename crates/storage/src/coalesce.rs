//! From the ranges that are asked for to the spans that are read.

use std::ops::Range;

use crate::requests::http::REQUEST_SECONDS;
use crate::source::AccessProfile;

/// What lies between two ranges of a local file is read with them if it is not more than this; CMS found the same size
/// useful.
const LOCAL_GAP_BYTES: u64 = 32 << 10;
/// Merged reads of a local file are not larger: they would leave the cache before they are decoded.
const LOCAL_SPAN_BYTES: u64 = 4 << 20;
/// What one more range costs in bytes on the line: the head of a part in an HTTP answer is up to 200, that of XRootD 16,
/// and the request names the range too.
const RANGE_BYTES: f64 = 256.0;
/// Bytes that gaps may cost, beyond what ranges of their own would, for each byte that is needed, where the line is busy.
/// Opening the file and the heads of answers come on top: with 2 % some reads of many small baskets from S3 had 5.3 % more on
/// the line than they needed.
const SCARCE_SHARE: f64 = 0.01;

/// Most bytes of one list of ranges with its gaps, where these are more than the payload: some lists are in memory at a time.
const MOST_WITH_GAPS_BYTES: u64 = 48 << 20;

/// What may be merged into one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoalesceLimits {
    /// Ranges further apart than this are not merged, in bytes.
    pub max_gap_bytes: u64,
    /// No span is made larger than this, in bytes, unless a single range is.
    pub max_span_bytes: u64,
}

/// One read for one or more ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Half-open offsets in the file in bytes.
    pub range: Range<u64>,
    /// Places of its ranges in the list that was coalesced.
    pub members: Vec<usize>,
}

/// The limits that make reading some ranges from a store of this profile fastest without wasting its line.
///
/// `ranges`: half-open offsets in bytes, in any order; they may overlap. A gap is worth reading if its bytes take less
/// time than asking for one more range: a few hundred bytes where many ranges are one request, otherwise the share of a
/// round trip that is not hidden by other requests, or the work that a request is. All gaps together, less the ranges that they
/// save, are at most 1 % of the payload. Where the requests take longer than all bytes, so that the line would be idle, they
/// may be more, until it is not: at most as large a part of the payload as they save of the requests, and that as many times as
/// they make the reading faster. A server that takes few requests at a time and one range in each is so read with a few large
/// requests where its line is fast. Costs a sort of the ranges.
///
/// # Source
/// That the sum of the gaps is bounded, and not only each: `RPageStorageFile` of ROOT 6.
pub fn limits_for(profile: AccessProfile, ranges: &[Range<u64>]) -> CoalesceLimits {
    if !profile.is_remote {
        return CoalesceLimits { max_gap_bytes: LOCAL_GAP_BYTES, max_span_bytes: LOCAL_SPAN_BYTES };
    }
    let (payload_bytes, gaps) = gaps_of(ranges);
    let request_bytes = request_bytes(profile);
    let worth_bytes = RANGE_BYTES + request_bytes;
    let latency_bytes = profile.latency.as_secs_f64() * profile.bytes_per_second.max(1.0);
    let payload = as_f64(payload_bytes);
    let n_ranges = as_f64(gaps.len() as u64 + 1);
    let max_gap_bytes = largest_cut(&gaps, worth_bytes, |before, after| {
        let extra = after.extra_bytes();
        // Bytes that the line could carry while the requests are made that are left without this cut.
        let idle = (n_ranges - as_f64(before.n_gaps)) * request_bytes;
        let cost = |cut: Cut, bytes: f64| ((n_ranges - as_f64(cut.n_gaps)) * request_bytes).max(bytes) + latency_bytes;
        let gain = cost(Cut::default(), payload) / cost(after, payload + extra);
        let share = as_f64(after.n_gaps) / n_ranges;
        let is_small = payload + extra <= as_f64(MOST_WITH_GAPS_BYTES);
        extra <= SCARCE_SHARE * payload
            || (payload + extra <= idle && extra <= payload * share * if is_small { gain.max(1.0) } else { 1.0 })
    });
    CoalesceLimits { max_gap_bytes, max_span_bytes: u64::MAX }
}

/// Bytes that the line could carry in the time that so many ranges of so many bytes together take: these, or more if their
/// requests take longer.
pub fn line_bytes(profile: AccessProfile, n_ranges: u64, n_bytes: u64) -> u64 {
    let of_requests = if profile.is_remote { as_f64(n_ranges) * request_bytes(profile) } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; casts of floats saturate")]
    let of_requests = of_requests as u64;
    n_bytes.max(of_requests)
}

/// What could come over the line in the time that one more range costs, if all requests and ranges at a time are in use.
fn request_bytes(profile: AccessProfile) -> f64 {
    let AccessProfile { latency, bytes_per_second, max_parallel, max_ranges, .. } = profile;
    let seconds = (latency.as_secs_f64() / as_f64(max_parallel.max(1) as u64)).max(REQUEST_SECONDS);
    seconds * bytes_per_second.max(1.0) / as_f64(max_ranges.max(1) as u64)
}

/// Limits that somebody set, with a smaller gap if all that it allows would be more than `gap_sum_bytes` together.
pub(crate) fn with_gaps_within(limits: CoalesceLimits, gap_sum_bytes: u64, ranges: &[Range<u64>]) -> CoalesceLimits {
    let (_, gaps) = gaps_of(ranges);
    let allowed = gaps.iter().filter(|&&gap| gap <= limits.max_gap_bytes);
    if allowed.fold(0, |sum: u64, gap| sum.saturating_add(*gap)) <= gap_sum_bytes {
        return limits;
    }
    let max_gap_bytes = largest_cut(&gaps, as_f64(limits.max_gap_bytes), |_, after| after.sum_bytes <= gap_sum_bytes);
    CoalesceLimits { max_gap_bytes, ..limits }
}

/// Bytes of the union of the ranges, and the gaps in it, smallest first. What touches has no gap.
fn gaps_of(ranges: &[Range<u64>]) -> (u64, Vec<u64>) {
    let mut sorted: Vec<(u64, u64)> = ranges.iter().map(|range| (range.start, range.end)).collect();
    sorted.sort_unstable();
    let mut gaps = Vec::new();
    let mut payload_bytes = 0;
    let mut end = sorted.first().map_or(0, |&(start, _)| start);
    for (start, stop) in sorted {
        if start > end {
            gaps.push(start - end);
        }
        payload_bytes += stop.saturating_sub(start.max(end));
        end = end.max(stop);
    }
    gaps.sort_unstable();
    (payload_bytes, gaps)
}

/// Gaps that are read over: so many, of so many bytes together.
#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    n_gaps: u64,
    sum_bytes: u64,
}

impl Cut {
    /// What they cost on the line, beyond what as many ranges more would.
    fn extra_bytes(self) -> f64 {
        (as_f64(self.sum_bytes) - as_f64(self.n_gaps) * RANGE_BYTES).max(0.0)
    }
}

/// The largest gap that may be read over. Gaps of equal size are all read over, or none is.
/// `is_allowed`: whether a cut, of which the first lacks the largest gaps, is worth it. That of all gaps may be where none of
/// a few is.
fn largest_cut(gaps: &[u64], worth_bytes: f64, is_allowed: impl Fn(Cut, Cut) -> bool) -> u64 {
    let mut largest = 0;
    let mut cut = Cut::default();
    for equal in gaps.chunk_by(|a, b| a == b).take_while(|equal| as_f64(equal[0]) <= worth_bytes) {
        let next = Cut {
            n_gaps: cut.n_gaps + equal.len() as u64,
            sum_bytes: equal.iter().fold(cut.sum_bytes, |sum, gap| sum.saturating_add(*gap)),
        };
        if is_allowed(cut, next) {
            largest = equal[0];
        }
        cut = next;
    }
    largest
}

#[expect(clippy::cast_precision_loss, reason = "sizes of files are below 2^53")]
fn as_f64(number: u64) -> f64 {
    number as f64
}

/// Merges ranges whose gap is small into spans to read.
///
/// `ranges`: half-open offsets in bytes, in any order; they may overlap. Returns spans by offset; each range is in
/// exactly one span, whole. The overhead of a span is what no range asked for.
pub fn coalesce(ranges: &[Range<u64>], limits: CoalesceLimits) -> Vec<Span> {
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_unstable_by_key(|&index| (ranges[index].start, ranges[index].end));
    let mut spans: Vec<Span> = Vec::new();
    for index in order {
        let range = &ranges[index];
        if let Some(span) = spans.last_mut() {
            let end = span.range.end.max(range.end);
            let is_near = range.start <= span.range.end.saturating_add(limits.max_gap_bytes);
            let is_inside = range.end <= span.range.end;
            if is_inside || (is_near && end - span.range.start <= limits.max_span_bytes) {
                span.range.end = end;
                span.members.push(index);
                continue;
            }
        }
        spans.push(Span { range: range.clone(), members: vec![index] });
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: CoalesceLimits = CoalesceLimits { max_gap_bytes: 10, max_span_bytes: 100 };

    #[test]
    fn near_ranges_become_one_span_and_far_ones_do_not() {
        let spans = coalesce(&[50..60, 0..20, 25..30, 71..80], LIMITS);
        assert_eq!(
            spans,
            [
                Span { range: 0..30, members: vec![1, 2] },
                Span { range: 50..60, members: vec![0] },
                Span { range: 71..80, members: vec![3] },
            ]
        );
    }

    fn remote(latency_ms: u64, bytes_per_second: f64, max_parallel: usize, max_ranges: usize) -> AccessProfile {
        AccessProfile {
            is_remote: true,
            latency: std::time::Duration::from_millis(latency_ms),
            bytes_per_second,
            max_parallel,
            max_ranges,
        }
    }

    /// `n` ranges of `n_bytes`, with gaps of `gap_bytes`.
    fn comb(n: u64, n_bytes: u64, gap_bytes: u64) -> Vec<Range<u64>> {
        (0..n).map(|i| i * (n_bytes + gap_bytes)).map(|start| start..start + n_bytes).collect()
    }

    #[test]
    fn local_files_keep_the_rule_of_32_kib() {
        let limits = limits_for(AccessProfile::LOCAL, &comb(10, 100, 5000));
        assert_eq!(limits, CoalesceLimits { max_gap_bytes: 32 << 10, max_span_bytes: 4 << 20 });
    }

    #[test]
    fn a_vector_read_skips_what_a_single_request_reads() {
        let ranges = comb(50, 500_000, 4000);
        assert_eq!(limits_for(remote(50, 1e8, 8, 1024), &ranges).max_gap_bytes, 0);
        assert_eq!(limits_for(remote(50, 1e8, 8, 1), &ranges).max_gap_bytes, 4000);
    }

    #[test]
    fn many_small_ranges_take_as_long_as_the_bytes_that_the_line_could_carry_meanwhile() {
        let one_range = remote(40, 1e8, 8, 1);
        assert_eq!(line_bytes(one_range, 1, 4_000_000), 4_000_000);
        assert_eq!(line_bytes(one_range, 10, 4_000_000), 5_000_000, "10 requests of 5 ms");
        assert_eq!(line_bytes(remote(40, 1e8, 8, 100), 10, 40_000), 50_000, "one request");
        assert_eq!(line_bytes(AccessProfile::LOCAL, 10, 7), 7);
    }

    #[test]
    fn the_gaps_together_are_bounded_and_more_are_read_where_the_line_is_idle() {
        // 10 % of the payload: too much on a slow line, right where each of many small ranges is a round trip.
        let ranges = comb(1000, 10_000, 1000);
        assert_eq!(limits_for(remote(5, 1.2e7, 8, 1), &ranges).max_gap_bytes, 0);
        assert_eq!(limits_for(remote(50, 1e8, 8, 1), &ranges).max_gap_bytes, 1000);
        // Half as much again saves nearly all of the requests.
        assert_eq!(limits_for(remote(50, 1e8, 8, 1), &comb(1000, 10_000, 5000)).max_gap_bytes, 5000);
        // More than is needed is too much where requests cost little, and right where the reading is many times as fast with it.
        assert_eq!(limits_for(remote(50, 1e7, 64, 1), &comb(1000, 10_000, 15_000)).max_gap_bytes, 0);
        assert_eq!(limits_for(remote(50, 1e8, 8, 1), &comb(1000, 10_000, 15_000)).max_gap_bytes, 15_000);
    }

    #[test]
    fn gaps_are_read_until_the_line_is_no_longer_idle() {
        // 100 ranges of 100 kB are 10 MB; each request is worth 625 kB, so that the line is idle until 82 gaps are read.
        let gaps = |index: u64| if index.is_multiple_of(2) { 20_000 } else { 20_000 + index };
        let starts = (0..100).scan(0, |next, index| {
            let start = *next;
            *next += 100_000 + gaps(index);
            Some(start..start + 100_000)
        });
        let ranges: Vec<_> = starts.collect();
        let n_requests = |profile| coalesce(&ranges, limits_for(profile, &ranges)).len();
        assert_eq!(n_requests(remote(50, 1e8, 8, 1)), 18);
        // With more requests at a time the line is idle no longer.
        assert_eq!(n_requests(remote(50, 1e8, 64, 1)), 100);
        assert_eq!(n_requests(remote(50, 1e9, 64, 1)), 14);
    }

    #[test]
    fn a_server_of_few_requests_is_asked_for_much_at_once_where_its_line_is_fast() {
        // One column of ten in many clusters: with the gaps ten times as much, in one request instead of 200.
        let of_ten = |index: u64| index * 160_000 + index % 7;
        let ranges: Vec<_> = (0..200).map(|index| of_ten(index)..of_ten(index) + 16_000).collect();
        assert_eq!(coalesce(&ranges, limits_for(remote(20, 1e9, 4, 1), &ranges)).len(), 1);
        assert_eq!(limits_for(remote(20, 1e7, 4, 1), &ranges).max_gap_bytes, 0, "bytes cost more than requests");
        assert_eq!(limits_for(remote(20, 1e8, 100, 1), &ranges).max_gap_bytes, 0);
        let much = comb(2000, 16_000, 144_000);
        assert_eq!(limits_for(remote(20, 1e9, 4, 1), &much).max_gap_bytes, 0, "that much memory is not taken for gaps");
    }

    #[test]
    fn requests_are_work_however_many_are_under_way() {
        let ranges = comb(1000, 10_000, 8000);
        assert_eq!(limits_for(remote(1, 1e8, 64, 1), &ranges).max_gap_bytes, 8000);
        assert_eq!(limits_for(remote(1, 1e7, 64, 1), &ranges).max_gap_bytes, 0);
    }

    #[test]
    fn what_is_less_than_a_range_costs_is_always_read() {
        let ranges = comb(10_000, 2000, 95);
        assert_eq!(limits_for(remote(5, 1e8, 8, 200), &ranges).max_gap_bytes, 95);
    }

    proptest! {
        #[test]
        fn over_read_is_bounded_on_every_line(
            starts in prop::collection::vec((0_u64..1_000_000, 1_u64..5000), 1..80),
            latency_ms in 1_u64..200,
            bytes_per_second in 1e6_f64..1e9,
            max_ranges in prop::sample::select(vec![1_usize, 16, 1024]),
        ) {
            let ranges: Vec<_> = starts.iter().map(|&(start, n_bytes)| start..start + n_bytes).collect();
            let limits = limits_for(remote(latency_ms, bytes_per_second, 4, max_ranges), &ranges);
            let read: u64 = coalesce(&ranges, limits).iter().map(|span| span.range.end - span.range.start).sum();
            let (payload_bytes, _) = gaps_of(&ranges);
            prop_assert!(read >= payload_bytes);
            let saved_bytes = RANGE_BYTES * as_f64(ranges.len() as u64);
            let is_small = read <= MOST_WITH_GAPS_BYTES;
            prop_assert!(is_small || as_f64(read - payload_bytes) <= as_f64(payload_bytes) + saved_bytes);
            // Where all requests are worth less than the payload, the line is not idle.
            let profile = remote(latency_ms, bytes_per_second, 4, max_ranges);
            if request_bytes(profile) * ranges.len() as f64 <= as_f64(payload_bytes) {
                prop_assert!(as_f64(read - payload_bytes) <= SCARCE_SHARE * as_f64(payload_bytes) + saved_bytes);
            }
        }

        #[test]
        fn every_range_is_in_exactly_one_span(starts in prop::collection::vec((0_u64..2000, 1_u64..150), 0..60)) {
            let ranges: Vec<_> = starts.iter().map(|&(start, n_bytes)| start..start + n_bytes).collect();
            let spans = coalesce(&ranges, LIMITS);
            let mut seen = vec![0; ranges.len()];
            for span in &spans {
                let largest = span.members.iter().map(|&m| ranges[m].end - ranges[m].start).max().unwrap();
                prop_assert!(span.range.end - span.range.start <= LIMITS.max_span_bytes.max(largest));
                for &member in &span.members {
                    seen[member] += 1;
                    prop_assert!(span.range.start <= ranges[member].start && ranges[member].end <= span.range.end);
                }
            }
            prop_assert!(seen.iter().all(|&n| n == 1));
            prop_assert!(spans.windows(2).all(|pair| pair[0].range.start <= pair[1].range.start));
        }
    }
}
