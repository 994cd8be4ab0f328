//! The headers that say which bytes: `Range` and `Content-Range` (RFC 9110, sections 14.2 and 14.4).

use std::fmt::Write as _;
use std::ops::Range;

/// What a `Content-Range` says: which bytes follow, of how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentRange {
    /// Half-open offsets in bytes; never empty.
    pub range: Range<u64>,
    /// Size of the file in bytes; `None` if the server does not say.
    pub total_bytes: Option<u64>,
}

impl ContentRange {
    /// Reads the value of the header; `None` if it is not one or contradicts itself.
    pub fn parse(value: &str) -> Option<ContentRange> {
        let (range, total) = bytes_unit(value)?.split_once('/')?;
        let (first, last) = range.trim().split_once('-')?;
        let (first, last) = (number(first)?, number(last)?);
        let end = last.checked_add(1)?;
        let total_bytes = match total.trim() {
            "*" => None,
            total => Some(number(total)?),
        };
        let is_possible = first < end && total_bytes.is_none_or(|total| end <= total);
        is_possible.then_some(ContentRange { range: first..end, total_bytes })
    }
}

/// Size of the file in the `Content-Range` of an answer that could not satisfy any range (status 416).
pub(super) fn unsatisfied_total(value: &str) -> Option<u64> {
    let (range, total) = bytes_unit(value)?.split_once('/')?;
    (range.trim() == "*").then(|| number(total))?
}

fn bytes_unit(value: &str) -> Option<&str> {
    let value = value.trim();
    let unit = value.get(..5)?;
    let rest = value.get(5..)?;
    (unit.eq_ignore_ascii_case("bytes") && rest.starts_with([' ', '\t', '='])).then(|| rest.get(1..))?
}

/// Digits and nothing else: `parse` would take a sign.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The value of a `Range` header. `ranges` are not empty.
pub(super) fn range_header(ranges: &[Range<u64>]) -> String {
    let mut header = "bytes=".to_owned();
    for (index, range) in ranges.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(header, "{comma}{}-{}", range.start, range.end.saturating_sub(1));
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::http::header_chars;
    use proptest::prelude::*;

    #[test]
    fn content_ranges_are_read_and_impossible_ones_refused() {
        let whole = ContentRange { range: 0..10, total_bytes: Some(10) };
        assert_eq!(ContentRange::parse("bytes 0-9/10"), Some(whole.clone()));
        assert_eq!(ContentRange::parse(" Bytes 0-9/10 "), Some(whole));
        assert_eq!(ContentRange::parse("bytes 3-3/*"), Some(ContentRange { range: 3..4, total_bytes: None }));
        for wrong in [
            "",
            "bytes",
            "bytes */10",
            "bytes 9-3/10",
            "bytes 0-10/10",
            "bytes +0-9/10",
            "bytes 0-9",
            "bytes 0-18446744073709551615/*",
            "items 0-9/10",
            "bytes0-9/10",
            "bÿtes 0-9/10",
        ] {
            assert_eq!(ContentRange::parse(wrong), None, "{wrong}");
        }
        assert_eq!(unsatisfied_total("bytes */10"), Some(10));
        assert_eq!(unsatisfied_total("bytes 0-9/10"), None);
    }

    proptest! {
        #[test]
        fn the_length_of_a_header_is_known_before_it_is_made(
            ranges in prop::collection::vec((any::<u32>(), 1_u64..1 << 40), 1..20)
        ) {
            let ranges: Vec<_> = ranges.into_iter().map(|(start, n)| u64::from(start)..u64::from(start) + n).collect();
            let n_chars: usize = ranges.iter().map(header_chars).sum();
            prop_assert_eq!(range_header(&ranges).len(), "bytes=".len() + n_chars - 1);
        }
    }
}
