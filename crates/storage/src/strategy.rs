//! What a strategy means for a store: how the engine asks, and which layer is between. Decisions only, no I/O.

use crate::coalesce::CoalesceLimits;
use crate::options::{Options, Strategy};
use crate::source::AccessProfile;
use crate::windows::{Grouping, Merging, ReadStyle};

/// Compressed bytes of a window of a local file: small enough to stay in the cache between reading and decoding, and to
/// cost few page faults the first time.
const LOCAL_WINDOW_BYTES: u64 = 2 << 20;
/// Bounds of the window of a remote file: with a smaller one its requests are many, a larger one delays the first entry.
const REMOTE_WINDOW_BYTES: std::ops::RangeInclusive<u64> = (2 << 20)..=(16 << 20);
/// What is on the way, as a multiple of latency times bandwidth. Twice would do if requests came in turn; they share the
/// line and end together, so that it is idle until the next ones are on their way.
const IN_FLIGHT: f64 = 4.0;
/// Windows on the way, unless their bounds say otherwise: with two the line is idle whenever both have come.
const N_AHEAD: u64 = 6;
/// And where two MiB are more than the line holds.
const LEAST_AHEAD: u64 = 4;
/// Windows on the way, at most: each takes a thread.
const MAX_AHEAD: u64 = 8;
/// Most bytes of a window where a server takes one range in each of few requests: with what lies between its ranges, which is then
/// often read too, it is many times as large.
const SINGLE_WINDOW_BYTES: u64 = 4 << 20;
/// Requests at a time that are few.
const FEW_REQUESTS: usize = 8;
/// RFIO's buffer, unless it was set.
const READAHEAD_BYTES: u64 = 128 << 10;
/// TTreeCache's size for trees that are flushed every 30 MB, which is the default.
pub const TREE_CACHE_BYTES: u64 = 30_000_000;
/// CMS's size of what is copied at once.
const SEGMENT_BYTES: u64 = 128 << 20;
/// Smaller segments are not made, whatever is asked for: each has an entry in a table.
const LEAST_SEGMENT_BYTES: u64 = 4 << 10;

/// The layer between the engine and the store that a strategy brings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StrategyLayer {
    /// None.
    Nothing,
    /// One window of so many bytes.
    ReadAhead(u64),
    /// Segments of so many bytes are copied to a local disk.
    LazyDownload(u64),
    /// What was announced is fetched in the background in this way.
    Background(ReadStyle),
}

/// How a scan reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// How the engine asks.
    pub style: ReadStyle,
    /// What stands between the engine and the store.
    pub layer: StrategyLayer,
}

impl Reading {
    /// What the options mean for a store.
    pub fn new(options: &Options, profile: AccessProfile) -> Reading {
        // Basket after basket; that threads hand each other some at a time changes no request.
        let each =
            ReadStyle { grouping: Grouping::Windows, window_bytes: LOCAL_WINDOW_BYTES, limits: None, n_ahead: 0 };
        let style = |style| Reading { style, layer: StrategyLayer::Nothing };
        let behind = |layer| Reading { style: each, layer };
        // What ROOT means by a cache of size 0: none. Any layer of that size would hold nothing either.
        if options.cache_bytes == Some(0) {
            return style(each);
        }
        match options.strategy {
            Strategy::Auto => style(windows(options, profile, profile.is_remote)),
            Strategy::ApplicationOnly => style(windows(options, profile, false)),
            Strategy::Direct => style(each),
            Strategy::StorageOnly => {
                let ahead = windows(options, profile, profile.is_remote);
                behind(StrategyLayer::Background(ReadStyle { n_ahead: ahead.n_ahead.max(1), ..ahead }))
            }
            Strategy::LazyDownload => behind(StrategyLayer::LazyDownload(
                options.cache_bytes.unwrap_or(SEGMENT_BYTES).max(LEAST_SEGMENT_BYTES),
            )),
            Strategy::ReadAhead => behind(StrategyLayer::ReadAhead(options.cache_bytes.unwrap_or(READAHEAD_BYTES))),
            Strategy::TreeCache => style(ReadStyle {
                grouping: Grouping::TreeCache { learn_entries: options.learn_entries, prefill: true },
                window_bytes: options.cache_bytes.unwrap_or(TREE_CACHE_BYTES),
                limits: Some(fixed_limits(options).unwrap_or(Merging::Touching)),
                n_ahead: options.prefetch.unwrap_or(0),
            }),
        }
    }

    /// The layer, the windows and the reason for them, in words.
    pub(crate) fn reason(&self, profile: AccessProfile) -> String {
        let ReadStyle { grouping, window_bytes, limits, n_ahead } = self.style;
        let what = match self.layer {
            StrategyLayer::ReadAhead(n_bytes) => format!("one window of {} is read ahead", size_text(n_bytes as f64)),
            StrategyLayer::LazyDownload(n_bytes) => {
                format!("segments of {} are copied to this machine", size_text(n_bytes as f64))
            }
            StrategyLayer::Background(style) => {
                format!(
                    "the storage fetches windows of {}, {} ahead",
                    size_text(style.window_bytes as f64),
                    style.n_ahead
                )
            }
            StrategyLayer::Nothing if limits.is_none() => "each basket is a read of its own".to_owned(),
            StrategyLayer::Nothing if matches!(grouping, Grouping::TreeCache { .. }) => {
                format!("a vector read for each {} of clusters, {n_ahead} ahead", size_text(window_bytes as f64))
            }
            StrategyLayer::Nothing => format!("windows of {}, {n_ahead} fetched ahead", size_text(window_bytes as f64)),
        };
        if !profile.is_remote {
            return format!("{what}; the store is near");
        }
        let AccessProfile { latency, bytes_per_second, max_parallel, max_ranges, .. } = profile;
        let rate = size_text(bytes_per_second);
        format!(
            "{what}; the store answers in {latency:.1?} with {rate}/s, takes {max_parallel} requests at a time \
             and {max_ranges} ranges in one"
        )
    }
}

/// Three digits and one unit, as the package's other texts have it.
fn size_text(n_bytes: f64) -> String {
    let mut scaled = n_bytes;
    let mut unit = "B";
    for larger in ["kB", "MB", "GB"] {
        if scaled < 1000.0 {
            break;
        }
        (scaled, unit) = (scaled / 1000.0, larger);
    }
    let n_decimals = if scaled >= 100.0 || unit == "B" { 0 } else { 2 - usize::from(scaled >= 10.0) };
    format!("{scaled:.n_decimals$} {unit}")
}

/// Windows in the order of need.
fn windows(options: &Options, profile: AccessProfile, is_ahead: bool) -> ReadStyle {
    let (window_bytes, n_ahead) = ahead_for(profile);
    ReadStyle {
        grouping: Grouping::Windows,
        window_bytes: options.cache_bytes.unwrap_or(window_bytes),
        limits: Some(fixed_limits(options).unwrap_or(Merging::For(profile))),
        n_ahead: options.prefetch.unwrap_or(if is_ahead { n_ahead } else { 0 }),
    }
}

fn fixed_limits(options: &Options) -> Option<Merging> {
    let is_set = options.max_gap_bytes.is_some() || options.max_span_bytes.is_some();
    is_set.then(|| {
        let limits = CoalesceLimits {
            max_gap_bytes: options.max_gap_bytes.unwrap_or(0),
            max_span_bytes: options.max_span_bytes.unwrap_or(u64::MAX),
        };
        Merging::Fixed { limits, gap_sum_bytes: u64::MAX }
    })
}

/// Size of a window in bytes, and how many are to be on the way, so that the line is never idle: together some times what
/// it holds. A local file is read when it is needed.
pub fn ahead_for(profile: AccessProfile) -> (u64, usize) {
    if !profile.is_remote {
        return (LOCAL_WINDOW_BYTES, 0);
    }
    let line_bytes = profile.latency.as_secs_f64() * profile.bytes_per_second.max(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; casts of floats saturate")]
    let line_bytes = (line_bytes * IN_FLIGHT) as u64;
    let window_bytes = (line_bytes / N_AHEAD).clamp(*REMOTE_WINDOW_BYTES.start(), *REMOTE_WINDOW_BYTES.end());
    if profile.max_ranges == 1 && profile.max_parallel < FEW_REQUESTS {
        let n_ahead = profile.max_parallel.clamp(1, usize::try_from(LEAST_AHEAD).unwrap_or(usize::MAX));
        return (window_bytes.min(SINGLE_WINDOW_BYTES), n_ahead);
    }
    let n_ahead = line_bytes.div_ceil(window_bytes).clamp(LEAST_AHEAD, MAX_AHEAD);
    (window_bytes, usize::try_from(n_ahead).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn line(latency_ms: u64, bytes_per_second: f64) -> AccessProfile {
        AccessProfile {
            is_remote: true,
            latency: Duration::from_millis(latency_ms),
            bytes_per_second,
            max_parallel: 8,
            max_ranges: 1024,
        }
    }

    #[test]
    fn what_is_on_the_way_fills_the_line() {
        assert_eq!(ahead_for(AccessProfile::LOCAL), (2 << 20, 0));
        for (latency_ms, bytes_per_second) in [(5, 1.2e7), (50, 1.2e7), (5, 1e8), (50, 1e8), (150, 1e8), (20, 1.25e9)] {
            let (window_bytes, n_ahead) = ahead_for(line(latency_ms, bytes_per_second));
            let in_flight = window_bytes * n_ahead as u64;
            let line_bytes = bytes_per_second * latency_ms as f64 / 1000.0;
            assert!(in_flight as f64 >= 2.0 * line_bytes, "{in_flight} for {line_bytes}");
            assert!(in_flight <= 128 << 20);
        }
    }

    #[test]
    fn a_site_may_set_what_it_wants() {
        let mut options = Options::default();
        for (name, text) in [("cache_size", "1k"), ("prefetch", "7"), ("max_gap", "3")] {
            options.set(name, text, "test").unwrap();
        }
        let style = Reading::new(&options, line(50, 1e8)).style;
        assert_eq!((style.window_bytes, style.n_ahead), (1024, 7));
        let limits = CoalesceLimits { max_gap_bytes: 3, max_span_bytes: u64::MAX };
        assert_eq!(style.limits, Some(Merging::Fixed { limits, gap_sum_bytes: u64::MAX }));
        options.set("strategy", "readahead", "test").unwrap();
        assert_eq!(Reading::new(&options, line(50, 1e8)).layer, StrategyLayer::ReadAhead(1024));
    }

    #[test]
    fn a_cache_of_size_0_is_none_whatever_the_strategy() {
        let direct = Reading::new(&Options { strategy: Strategy::Direct, ..Options::default() }, line(50, 1e8));
        for (strategy, name) in Strategy::ALL {
            let options = Options { strategy, cache_bytes: Some(0), prefetch: Some(3), ..Options::default() };
            assert_eq!(Reading::new(&options, line(50, 1e8)), direct, "{name}");
        }
    }

    #[test]
    fn every_strategy_has_its_layer() {
        let layer = |strategy| Reading::new(&Options { strategy, ..Options::default() }, line(50, 1e8)).layer;
        assert_eq!(layer(Strategy::Direct), StrategyLayer::Nothing);
        assert_eq!(layer(Strategy::ReadAhead), StrategyLayer::ReadAhead(128 << 10));
        assert_eq!(layer(Strategy::LazyDownload), StrategyLayer::LazyDownload(128 << 20));
        assert!(matches!(layer(Strategy::StorageOnly), StrategyLayer::Background(style) if style.n_ahead >= 2));
        let style = |strategy| Reading::new(&Options { strategy, ..Options::default() }, AccessProfile::LOCAL).style;
        assert_eq!((style(Strategy::Auto).n_ahead, style(Strategy::Auto).window_bytes), (0, 2 << 20));
    }
}
