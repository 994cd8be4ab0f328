//! Drawing attributes of trees and branches.

use crate::cursor::Cursor;
use crate::error::Result;
use crate::output::Output;

/// Drawing attributes as they are stored, `N` bytes: nothing that has to do with values needs their meaning.
///
/// Source: `TAttLine`, `TAttFill`, `TAttMarker` (ROOT 6.40).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes<const N: usize> {
    version: u16,
    bytes: [u8; N],
}

/// `TAttLine`: colour, style and width.
pub type LineAttributes = Attributes<6>;
/// `TAttFill`: colour and style.
pub type FillAttributes = Attributes<4>;
/// `TAttMarker`: colour, style and size.
pub type MarkerAttributes = Attributes<8>;

impl LineAttributes {
    /// Colour 602, style 1, width 1, as `TStyle::Reset("Modern")` has them for histograms.
    pub const DEFAULT: Self = Attributes { version: 2, bytes: [0x02, 0x5a, 0, 1, 0, 1] };
}

impl FillAttributes {
    /// Colour 0, style 1001.
    pub const DEFAULT: Self = Attributes { version: 2, bytes: [0, 0, 0x03, 0xe9] };
}

impl MarkerAttributes {
    /// Colour 1, style 1, size 1.
    pub const DEFAULT: Self = Attributes { version: 3, bytes: [0, 1, 0, 1, 0x3f, 0x80, 0, 0] };
}

impl<const N: usize> Attributes<N> {
    /// Reads them; ROOT 2 wrote no byte count.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let frame = cursor.version()?;
        let mut bytes = [0; N];
        bytes.copy_from_slice(cursor.take(N)?);
        if let Some(end) = frame.end {
            cursor.leave(end)?;
        }
        Ok(Attributes { version: frame.version, bytes })
    }

    pub(super) fn write(&self, output: &mut Output) -> Result<()> {
        let frame = output.begin(self.version);
        output.raw(&self.bytes);
        output.end(frame)
    }
}
