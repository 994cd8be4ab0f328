//! The disk is written to while the file grows.

#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "rustix has no sync_file_range"))]

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

/// The system is asked after so many bytes: a request for each write would be many, and a late one leaves much for the end.
const STEP_BYTES: u64 = 8 << 20;

/// Has the system write what was appended while more comes. Syncing at the end then waits for the last of it alone: a file of
/// 220 MB that took 350 ms to write and sync takes 240.
#[derive(Debug, Default)]
pub(super) struct Writeback {
    /// Bytes before this one were asked for.
    asked_bytes: AtomicU64,
}

impl Writeback {
    /// Takes note that the file was written up to a byte.
    pub(super) fn written(&self, file: &File, end: u64) {
        let begin = self.asked_bytes.load(Ordering::Relaxed);
        if end.saturating_sub(begin) < STEP_BYTES {
            return;
        }
        let is_ours = self.asked_bytes.compare_exchange(begin, end, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_ours {
            begin_writing(file, begin, end - begin);
        }
    }
}

/// Asks, and does not wait. A file system that cannot has all to write at the end; errors of the disk are told by that sync.
#[cfg(target_os = "linux")]
fn begin_writing(file: &File, offset: u64, n_bytes: u64) {
    use std::os::fd::AsRawFd;

    let (Ok(offset), Ok(n_bytes)) = (i64::try_from(offset), i64::try_from(n_bytes)) else { return };
    // SAFETY: takes numbers alone, and the descriptor is open as long as the file is borrowed.
    unsafe { libc::sync_file_range(file.as_raw_fd(), offset, n_bytes, libc::SYNC_FILE_RANGE_WRITE) };
}

#[cfg(not(target_os = "linux"))]
fn begin_writing(_file: &File, _offset: u64, _n_bytes: u64) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_file_is_asked_for_once_and_small_ones_together() {
        let file = tempfile::tempfile().unwrap();
        let writeback = Writeback::default();
        let asked = |end| {
            writeback.written(&file, end);
            writeback.asked_bytes.load(Ordering::Relaxed)
        };
        assert_eq!(asked(STEP_BYTES - 1), 0);
        assert_eq!(asked(STEP_BYTES + 5), STEP_BYTES + 5);
        // What is written over at the begin of the file is synced at the end.
        assert_eq!(asked(100), STEP_BYTES + 5);
        assert_eq!(asked(2 * STEP_BYTES), STEP_BYTES + 5);
        assert_eq!(asked(2 * STEP_BYTES + 5), 2 * STEP_BYTES + 5);
    }
}
