//! Bins of profiles whose means and errors are stored beside the sums that they follow from.

use std::ops::Range;

/// Where the numbers of a bin of a `TProfile2Poly` are, 8 bytes each.
#[derive(Debug, Clone)]
pub(crate) struct Mean {
    /// Of weights, and of weights times values and their squares.
    sums: [Range<usize>; 3],
    /// The mean, which is the content of the bin, too, and the spread.
    average: Range<usize>,
    content: Range<usize>,
    error: Range<usize>,
}

impl Mean {
    /// That of a bin; `None` if it lacks a number. `at`: where a member is.
    pub(super) fn of(at: impl Fn(&str) -> Option<Range<usize>>) -> Option<Mean> {
        let at = |name: &str| at(name).filter(|range| range.len() == 8);
        Some(Mean {
            sums: [at("fSumw")?, at("fSumvw")?, at("fSumwv2")?],
            average: at("fAverage")?,
            content: at("fContent")?,
            error: at("fError")?,
        })
    }

    /// Makes mean and spread those of the sums. Without weights they stay, and the spread is 0.
    ///
    /// Source: `TProfile2PolyBin::Update`, `TProfile2Poly::SetContentToAverage` (ROOT 6.40).
    pub(super) fn update(&self, object: &mut [u8]) {
        let number = |object: &[u8], range: &Range<usize>| {
            object
                .get(range.clone())
                .and_then(|bytes| bytes.first_chunk())
                .map_or(0.0, |bytes| f64::from_be_bytes(*bytes))
        };
        let [weights, values, squares] = [0, 1, 2].map(|which| number(object, &self.sums[which]));
        let has_weights = weights != 0.0;
        let average = if has_weights { values / weights } else { number(object, &self.average) };
        let error = if has_weights { (squares / weights - average * average).sqrt() } else { 0.0 };
        for (range, number) in [(&self.average, average), (&self.content, average), (&self.error, error)] {
            if let Some(bytes) = object.get_mut(range.clone()) {
                bytes.copy_from_slice(&number.to_be_bytes());
            }
        }
    }
}
