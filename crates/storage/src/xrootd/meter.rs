//! How fast a server answers, from what it answered.

use std::time::{Duration, Instant};

use crate::requests::xrootd::{MAX_PARALLEL, VectorLimits};
use crate::source::AccessProfile;

/// Answers of no more bytes than this tell the latency.
const SMALL_BYTES: u64 = 32 << 10;
/// Answers of no fewer bytes than this tell the bandwidth.
const LARGE_BYTES: u64 = 1 << 20;
/// Until it is measured.
const GUESSED_BYTES_PER_SECOND: f64 = 100e6;
/// A busy connection is measured so often.
const SAMPLE: Duration = Duration::from_millis(500);

/// Latency and bandwidth of a connection, measured while something is outstanding.
#[derive(Debug)]
pub(crate) struct Meter {
    latency: Duration,
    bytes_per_second: Option<f64>,
    /// When the current measurement began.
    since: Option<Instant>,
    /// Whether nothing was on its way when it began: then it holds one latency.
    is_from_idle: bool,
    n_received: u64,
    n_received_before: u64,
    last_byte: Option<Instant>,
}

impl Meter {
    /// `round_trip`: time of the first words.
    pub(crate) fn new(round_trip: Duration) -> Meter {
        Meter {
            latency: round_trip,
            bytes_per_second: None,
            since: None,
            is_from_idle: true,
            n_received: 0,
            n_received_before: 0,
            last_byte: None,
        }
    }

    /// Something is outstanding where nothing was.
    pub(crate) fn begin(&mut self, now: Instant) {
        (self.since, self.is_from_idle, self.n_received_before) = (Some(now), true, self.n_received);
    }

    /// Bytes came: the sum since the beginning, and when the last one did.
    pub(crate) fn received(&mut self, n_received: u64, last_byte: Instant) {
        (self.n_received, self.last_byte) = (n_received, Some(last_byte));
        let is_long = self.since.is_some_and(|since| last_byte.saturating_duration_since(since) >= SAMPLE);
        if is_long && n_received - self.n_received_before >= LARGE_BYTES {
            self.sample();
            (self.since, self.is_from_idle, self.n_received_before) = (Some(last_byte), false, n_received);
        }
    }

    /// Nothing is outstanding any more.
    pub(crate) fn end(&mut self) {
        self.sample();
        self.since = None;
    }

    fn sample(&mut self) {
        let (Some(since), Some(last_byte)) = (self.since, self.last_byte) else { return };
        let (elapsed, n_bytes) = (last_byte.saturating_duration_since(since), self.n_received - self.n_received_before);
        if n_bytes == 0 {
            return;
        }
        if n_bytes <= SMALL_BYTES && self.is_from_idle {
            // The shortest counts; what is longer moves it slowly, as lines do change.
            self.latency = if elapsed < self.latency { elapsed } else { (self.latency * 15 + elapsed) / 16 };
        } else if n_bytes >= LARGE_BYTES {
            let waited = if self.is_from_idle { self.latency } else { Duration::ZERO };
            // A time that is all latency says nothing but that the rest was short.
            let transfer = elapsed.saturating_sub(waited).max(elapsed / 10);
            #[expect(clippy::cast_precision_loss, reason = "a measurement")]
            let rate = n_bytes as f64 / transfer.as_secs_f64().max(1e-6);
            self.bytes_per_second = Some(self.bytes_per_second.map_or(rate, |before| 0.7 * before + 0.3 * rate));
        }
    }

    /// What it comes to.
    pub(crate) fn access_profile(&self, limits: Option<VectorLimits>) -> AccessProfile {
        AccessProfile {
            is_remote: true,
            latency: self.latency,
            bytes_per_second: self.bytes_per_second.unwrap_or(GUESSED_BYTES_PER_SECOND),
            max_parallel: MAX_PARALLEL,
            max_ranges: limits.unwrap_or(VectorLimits::DEFAULT).max_ranges,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_answers_tell_the_latency_and_large_ones_the_bandwidth() {
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut meter = Meter::new(Duration::from_millis(80));
        meter.begin(after(0));
        meter.received(100, after(50));
        meter.end();
        assert_eq!(meter.access_profile(None).latency, Duration::from_millis(50));
        meter.begin(after(1000));
        meter.received(100 + 5_000_000, after(1000 + 50 + 50));
        meter.end();
        let rate = meter.access_profile(None).bytes_per_second;
        assert!((rate - 100e6).abs() < 1e3, "{rate}");
        // While it stays busy, no latency is in it.
        meter.begin(after(2000));
        meter.received(100 + 5_000_000 + 45_000_000, after(2000 + 50 + 450));
        meter.received(100 + 5_000_000 + 95_000_000, after(2000 + 50 + 950));
        let rate = meter.access_profile(None).bytes_per_second;
        assert!((rate - 100e6).abs() < 1e3, "{rate}");
    }

    #[test]
    fn a_server_that_answers_at_once_is_remote_too() {
        let profile = Meter::new(Duration::from_micros(3)).access_profile(None);
        assert!(profile.is_remote && profile.latency == Duration::from_micros(3));
    }
}
