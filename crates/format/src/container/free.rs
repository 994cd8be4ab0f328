//! Free segments: parts of the file that hold no record.

use crate::cursor::Cursor;
use crate::error::{Result, Within};

/// Bytes of a free segment with 32-bit offsets.
const SMALLEST_BYTES: usize = 10;

/// A free part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeSegment {
    /// Offset of its first byte.
    pub first: u64,
    /// Offset of its last byte, included.
    pub last: u64,
}

/// Reads the payload of the record of free segments. The last one starts at the end of the file.
///
/// `end`: [`end`](crate::container::FileHeader::end) of the file. The list stops at the first segment that ends
/// after it: there may be zeros behind.
///
/// # Errors
/// [`Error::Truncated`](crate::Error::Truncated) if a segment is cut.
///
/// # Source
/// `TFile::ReadFree`, `TFree::ReadBuffer` (ROOT 6.40).
pub fn parse_free_segments(payload: &[u8], end: u64) -> Result<Vec<FreeSegment>> {
    let mut cursor = Cursor::new(payload);
    let mut segments = Vec::new();
    while cursor.remaining() >= SMALLEST_BYTES {
        let is_large = cursor.u16()? > 1000;
        let mut offset = || if is_large { cursor.u64() } else { cursor.u32().map(u64::from) };
        let segment =
            offset().and_then(|first| Ok(FreeSegment { first, last: offset()? })).within(|| "free segments")?;
        segments.push(segment);
        if segment.last > end {
            break;
        }
    }
    Ok(segments)
}
