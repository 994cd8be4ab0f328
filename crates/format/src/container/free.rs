//! Free segments: parts of the file that hold no record.

use crate::container::START_OF_LARGE;
use crate::cursor::Cursor;
use crate::error::{Result, Within};
use crate::output::Output;

/// Bytes of a free segment with 32-bit offsets.
const SMALLEST_BYTES: usize = 10;
/// Class versions of a free segment with 32-bit and 64-bit offsets. Source: `TFree::FillBuffer` (ROOT 6.40).
const SMALL_VERSION: u16 = 1;
const LARGE_VERSION: u16 = 1001;
/// The last segment ends at the next multiple of this after the end of the file. Source: `TKey::Create`.
const GROWTH_BYTES: u64 = 1_000_000_000;

/// A free part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeSegment {
    /// Offset of its first byte.
    pub first: u64,
    /// Offset of its last byte, included.
    pub last: u64,
}

impl FreeSegment {
    /// What is free behind the end of a file: it ends far behind it, as ROOT takes the first segment that does for the last.
    pub fn behind(end: u64) -> Self {
        let last = if end <= START_OF_LARGE { START_OF_LARGE } else { end.div_ceil(GROWTH_BYTES) * GROWTH_BYTES };
        FreeSegment { first: end, last: if last > end { last } else { last + GROWTH_BYTES } }
    }

    /// Bytes of the segment in the record of free segments.
    pub fn stored_bytes(&self) -> usize {
        if self.last > START_OF_LARGE { 18 } else { SMALLEST_BYTES }
    }

    /// Writes it; its offsets have 64 bits if its last one needs them.
    pub fn write(&self, output: &mut Output) {
        match (u32::try_from(self.first), u32::try_from(self.last)) {
            (Ok(first), Ok(last)) if self.last <= START_OF_LARGE => {
                output.u16(SMALL_VERSION);
                output.u32(first);
                output.u32(last);
            }
            _ => {
                output.u16(LARGE_VERSION);
                output.u64(self.first);
                output.u64(self.last);
            }
        }
    }
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
