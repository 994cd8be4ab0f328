//! The simulated line: when a byte that is sent now arrives.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How far ahead of the line's end a connection may read from its server: what the buffers of a router hold. It covers
/// late wake-ups of this process, and bounds its memory.
const AHEAD: Duration = Duration::from_millis(5);

/// Round trip and rate, shared by all connections.
#[derive(Default)]
pub(crate) struct Link {
    state: Mutex<LinkState>,
}

#[derive(Default, Clone, Copy)]
struct LinkState {
    round_trip: Duration,
    /// 0: no limit.
    bytes_per_second: f64,
    handshake: bool,
    /// When all that was sent has left.
    free_at: Option<Instant>,
}

impl Link {
    /// Changes the line: `LATENCY_MS MB_PER_S HANDSHAKE`.
    pub(crate) fn set(&self, text: &str) -> Result<(), String> {
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let &[latency_ms, mb_per_s, handshake] = numbers.as_slice() else {
            return Err(format!("link wants three numbers: {text}"));
        };
        let round_trip = Duration::try_from_secs_f64(latency_ms / 1e3).map_err(|error| error.to_string())?;
        *self.state() = LinkState {
            round_trip,
            bytes_per_second: mb_per_s.max(0.0) * 1e6,
            handshake: handshake != 0.0,
            free_at: None,
        };
        Ok(())
    }

    /// What a connection waits for before its first byte comes through.
    pub(crate) fn handshake(&self) -> Duration {
        let state = self.state();
        if state.handshake { state.round_trip } else { Duration::ZERO }
    }

    /// Most bytes to take at once: those of a millisecond, so that connections share the line finely.
    pub(crate) fn piece_bytes(&self) -> usize {
        let rate = self.state().bytes_per_second;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between the two bounds")]
        if rate > 0.0 { (rate / 1e3).clamp(4096.0, 65536.0) as usize } else { 1 << 18 }
    }

    /// Puts `n_bytes` on the line. Returns when they arrive, and how long to wait before the next ones are taken.
    pub(crate) fn send(&self, n_bytes: usize) -> (Instant, Duration) {
        let mut state = self.state();
        let now = Instant::now();
        let mut leaves = now;
        if state.bytes_per_second > 0.0 {
            #[expect(clippy::cast_precision_loss, reason = "a piece is small")]
            let takes = Duration::from_secs_f64(n_bytes as f64 / state.bytes_per_second);
            leaves = state.free_at.map_or(now, |free_at| free_at.max(now)) + takes;
            state.free_at = Some(leaves);
        }
        (leaves + state.round_trip, leaves.saturating_duration_since(now).saturating_sub(AHEAD))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
