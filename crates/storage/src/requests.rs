//! How a store makes requests of the ranges that it is asked for: by the planning of the store itself.

use std::ops::Range;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::extent::joined;

pub(crate) mod http;
pub(crate) mod xrootd;

/// Ranges in one request of a store of which nothing is known.
const PLAIN_RANGES: usize = 1024;
/// More ranges in a request, or requests at a time, no store has.
const MOST: u64 = 1 << 16;
/// Bytes of one range, or of one request, are not more.
const MOST_BYTES: u64 = 1 << 40;

/// What a store makes of a vector read, and within which limits, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Up to 1,024 ranges of any length are one request: a local file, or a store of which nothing is known.
    Plain {
        /// Requests at the same time.
        max_parallel: usize,
    },
    /// HTTP, and S3, which is HTTP with one range a request.
    Http(http::Limits),
    /// XRootD.
    Xrootd(xrootd::VectorLimits),
}

impl Protocol {
    /// That of a store of a kind, http, s3, xrootd or disk, of which nothing is known but how long an answer takes.
    ///
    /// # Errors
    /// [`Error::Option`] for another kind.
    pub fn of_any(kind: &str, latency: Duration) -> Result<Protocol> {
        match kind {
            "http" => Ok(Protocol::Http(http::limits_of_any(true, latency))),
            "s3" => Ok(Protocol::Http(http::limits_of_any(false, latency))),
            "xrootd" => Ok(Protocol::Xrootd(xrootd::VectorLimits::DEFAULT)),
            "disk" => Ok(Protocol::Plain { max_parallel: 1 }),
            _ => {
                let what = format!("there is no kind of store {kind:?}; there are http, s3, xrootd and disk");
                Err(Error::Option { option: "store".to_owned(), what })
            }
        }
    }

    /// The requests that are made for ranges which are asked for together, with the ranges of each.
    ///
    /// `ranges`: half-open offsets in bytes, in any order; they may overlap. No bytes are asked for that are not in them.
    pub fn requests(&self, ranges: Vec<Range<u64>>) -> Vec<Vec<Range<u64>>> {
        match *self {
            Protocol::Plain { .. } => ranges.chunks(PLAIN_RANGES).map(<[_]>::to_vec).collect(),
            Protocol::Http(limits) => http::requests(ranges, limits).into_iter().map(joined).collect(),
            Protocol::Xrootd(limits) => xrootd::grouped(limits, ranges),
        }
    }

    /// Ranges of one request, at most.
    pub fn max_ranges(&self) -> usize {
        match self {
            Protocol::Plain { .. } => PLAIN_RANGES,
            Protocol::Http(limits) => limits.n_ranges,
            Protocol::Xrootd(limits) => limits.max_ranges,
        }
    }

    /// Requests that are made at the same time, at most.
    pub fn max_parallel(&self) -> usize {
        match self {
            Protocol::Plain { max_parallel } => *max_parallel,
            Protocol::Http(limits) => limits.n_parallel,
            Protocol::Xrootd(_) => xrootd::MAX_PARALLEL,
        }
    }

    /// Its name, and its limits by theirs: what [`Protocol::from_fields`] takes.
    pub fn fields(&self) -> (&'static str, Vec<(&'static str, u64)>) {
        match self {
            Protocol::Plain { max_parallel } => ("plain", vec![("max_parallel", *max_parallel as u64)]),
            Protocol::Http(limits) => {
                ("http", vec![("max_ranges", limits.n_ranges as u64), ("max_parallel", limits.n_parallel as u64)])
            }
            Protocol::Xrootd(limits) => (
                "xrootd",
                vec![
                    ("max_range_bytes", limits.max_range_bytes as u64),
                    ("max_ranges", limits.max_ranges as u64),
                    ("max_bytes", limits.max_bytes as u64),
                ],
            ),
        }
    }

    /// The protocol of a name with these limits.
    ///
    /// # Errors
    /// [`Error::Option`] for a name that is none, and for limits that are missing, unknown, 0, or larger than any.
    pub fn from_fields(name: &str, fields: &[(String, u64)]) -> Result<Protocol> {
        let wrong = |what: String| Error::Option { option: "protocol".to_owned(), what };
        let field = |wanted: &str, most: u64| {
            let found = fields.iter().find(|(name, _)| name == wanted);
            let number = found.ok_or_else(|| wrong(format!("{name} without {wanted}")))?.1;
            let is_possible = (1..=most).contains(&number);
            let number = usize::try_from(number).ok().filter(|_| is_possible);
            number.ok_or_else(|| wrong(format!("{name} with an impossible {wanted}")))
        };
        let protocol = match name {
            "plain" => Protocol::Plain { max_parallel: field("max_parallel", MOST)? },
            "http" => Protocol::Http(http::Limits {
                n_ranges: field("max_ranges", MOST)?,
                n_parallel: field("max_parallel", MOST)?,
            }),
            "xrootd" => Protocol::Xrootd(xrootd::VectorLimits {
                max_range_bytes: field("max_range_bytes", MOST_BYTES)?,
                max_ranges: field("max_ranges", MOST)?,
                max_bytes: field("max_bytes", MOST_BYTES)?,
            }),
            _ => return Err(wrong(format!("there is no {name:?}; there are plain, http and xrootd"))),
        };
        let (_, known) = protocol.fields();
        match fields.iter().find(|(field, _)| known.iter().all(|(name, _)| name != field)) {
            Some((field, _)) => Err(wrong(format!("{name} has no {field:?}"))),
            None => Ok(protocol),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: Protocol = Protocol::Plain { max_parallel: 4 };
    const HTTP: Protocol = Protocol::Http(http::Limits { n_ranges: 200, n_parallel: 8 });
    const XROOTD: Protocol = Protocol::Xrootd(xrootd::VectorLimits::DEFAULT);

    fn named(fields: &[(&str, u64)]) -> Vec<(String, u64)> {
        fields.iter().map(|&(name, number)| (name.to_owned(), number)).collect()
    }

    #[test]
    fn what_is_written_is_read_back_and_what_makes_no_sense_is_an_error() {
        for protocol in [PLAIN, HTTP, XROOTD] {
            let (name, fields) = protocol.fields();
            assert_eq!(Protocol::from_fields(name, &named(&fields)).unwrap(), protocol);
            for index in 0..fields.len() {
                let mut lacking = fields.clone();
                lacking.remove(index);
                Protocol::from_fields(name, &named(&lacking)).unwrap_err();
                for impossible in [0, u64::MAX] {
                    let mut changed = fields.clone();
                    changed[index].1 = impossible;
                    Protocol::from_fields(name, &named(&changed)).unwrap_err();
                }
            }
            let unknown = [named(&fields), named(&[("more", 1)])].concat();
            Protocol::from_fields(name, &unknown).unwrap_err();
        }
        Protocol::from_fields("ftp", &[]).unwrap_err();
    }

    #[test]
    fn a_store_of_which_nothing_is_known_is_asked_as_it_would_be_at_first() {
        let of_any = |kind, latency_ms| Protocol::of_any(kind, Duration::from_millis(latency_ms)).unwrap();
        assert_eq!((of_any("http", 20), of_any("xrootd", 20)), (HTTP, XROOTD));
        let n_parallel = [1, 10, 50].map(|latency_ms| of_any("s3", latency_ms).max_parallel());
        assert!(n_parallel.is_sorted() && n_parallel[0] >= 16 && n_parallel[2] > n_parallel[0], "{n_parallel:?}");
        assert_eq!(of_any("s3", 20).max_ranges(), 1);
        Protocol::of_any("ftp", Duration::ZERO).unwrap_err();
    }

    #[test]
    fn each_store_cuts_by_its_own_rules() {
        let small: Vec<_> = (0..300).map(|index| index * 1000..index * 1000 + 10).collect();
        let n_requests = |protocol: Protocol, ranges: &[Range<u64>]| protocol.requests(ranges.to_vec()).len();
        let single = Protocol::Http(http::Limits { n_ranges: 1, n_parallel: 16 });
        assert_eq!([PLAIN, HTTP, single, XROOTD].map(|store| n_requests(store, &small)), [1, 2, 300, 1]);
        let mib = 1 << 20;
        let large = 0..64 * mib;
        // Connections of HTTP, pieces of XRootD.
        let asked = |store| n_requests(store, std::slice::from_ref(&large));
        assert_eq!([PLAIN, HTTP, single, XROOTD].map(asked), [1, 8, 16, 8]);
    }

    proptest! {
        #[test]
        fn whatever_the_limits_every_byte_is_asked_for_once(
            ranges in prop::collection::vec((0_u64..1 << 40, 0_u64..1 << 31), 0..20),
            protocol in prop_oneof![
                Just(PLAIN),
                (1_usize..300, 1_usize..1 << 16).prop_map(|(n_ranges, n_parallel)| Protocol::Http(http::Limits { n_ranges, n_parallel })),
                (1_usize..1 << 40, 1_usize..2000, 1_usize..1 << 40).prop_map(|(max_range_bytes, max_ranges, max_bytes)| {
                    Protocol::Xrootd(xrootd::VectorLimits { max_range_bytes, max_ranges, max_bytes })
                }),
            ],
        ) {
            let ranges: Vec<_> = ranges.into_iter().map(|(start, n_bytes)| start..start + n_bytes).collect();
            let requests = protocol.requests(ranges.clone());
            prop_assert!(requests.iter().all(|request| (1..=protocol.max_ranges()).contains(&request.len())));
            // How often each byte is asked for, as the steps at which that changes.
            let steps = |ranges: Vec<Range<u64>>| {
                let mut steps = std::collections::BTreeMap::<u64, i64>::new();
                for range in ranges.into_iter().filter(|range| !range.is_empty()) {
                    *steps.entry(range.start).or_default() += 1;
                    *steps.entry(range.end).or_default() -= 1;
                }
                steps.retain(|_, step| *step != 0);
                steps
            };
            prop_assert_eq!(steps(requests.into_iter().flatten().collect()), steps(ranges));
        }
    }
}
