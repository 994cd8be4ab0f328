//! Baskets and pages are copied window by window.

use arrowroot::File;

/// A window of a file of this machine stays in the processor's cache between the read and the write.
const LOCAL_BYTES: u64 = 1 << 20;
/// A window of a file far away is worth its round trip.
const REMOTE_BYTES: u64 = 8 << 20;

/// Baskets or pages of so many bytes are read and written together, or a single one.
pub(crate) fn window_bytes(input: &File) -> u64 {
    if input.source().access_profile().is_remote { REMOTE_BYTES } else { LOCAL_BYTES }
}
