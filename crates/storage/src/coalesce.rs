//! From the ranges that are asked for to the spans that are read.

use std::ops::Range;

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

/// Merges ranges whose gap is small into spans to read.
///
/// `ranges`: half-open offsets in bytes, in any order; they may overlap. Returns spans by offset; each range is in
/// exactly one span, whole. The overhead of a span is what no range asked for.
pub fn coalesce(ranges: &[Range<u64>], limits: CoalesceLimits) -> Vec<Span> {
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_unstable_by_key(|&place| (ranges[place].start, ranges[place].end));
    let mut spans: Vec<Span> = Vec::new();
    for place in order {
        let range = &ranges[place];
        if let Some(span) = spans.last_mut() {
            let end = span.range.end.max(range.end);
            let is_near = range.start <= span.range.end.saturating_add(limits.max_gap_bytes);
            let is_inside = range.end <= span.range.end;
            if is_inside || (is_near && end - span.range.start <= limits.max_span_bytes) {
                span.range.end = end;
                span.members.push(place);
                continue;
            }
        }
        spans.push(Span { range: range.clone(), members: vec![place] });
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

    proptest! {
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
