//! The container: file header, records and their keys, directories, free segments, and what is left of a file whose
//! key list was never written.

use std::fmt;

use crate::cursor::Cursor;
use crate::error::Result;
use crate::output::Output;

mod directory;
mod free;
mod header;
mod key;
mod recovery;
mod walk;

pub use directory::{
    Directory, KeyList, RootRecord, is_directory_class, is_object, looks_like_directory, may_be_directory,
};
pub use free::{FreeSegment, parse_free_segments};
pub use header::{FileHeader, HEADER_BYTES};
pub use key::{KEY_HEAD_BYTES, Key, KeyHead, START_OF_LARGE};
pub use recovery::{Recovered, RecoveredKey, recovered_directory, without_remains};
pub use walk::{FoundRecord, RecordWalk};

/// A date and time of the writer's clock and time zone, packed in 32 bits.
///
/// Source: `TDatime::Set` (ROOT 6.40).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Datime(pub u32);

impl Datime {
    /// What stands for every date in a reproducible file: the first second of 1970, before the first year that there is room
    /// for. Source: `TDatime(1)` in `TKey::FillBuffer` (ROOT 6.40), at UTC.
    pub const REPRODUCIBLE: Datime = Datime(0x9c42_0001);

    /// Packs year, month, day, hour, minute and second.
    pub fn from_fields([year, month, day, hour, minute, second]: [u32; 6]) -> Self {
        let year = year.clamp(1995, 2058) - 1995;
        Datime(year << 26 | month << 22 | day << 17 | hour << 12 | minute << 6 | second)
    }

    /// Year (1995 to 2058), month, day, hour, minute and second; not checked to be a date.
    pub fn fields(self) -> [u32; 6] {
        let word = self.0;
        [(word >> 26) + 1995, word >> 22 & 0xf, word >> 17 & 0x1f, word >> 12 & 0x1f, word >> 6 & 0x3f, word & 0x3f]
    }
}

impl fmt::Display for Datime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [year, month, day, hour, minute, second] = self.fields();
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

/// The universally unique identifier of a file or directory; all zero where none was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// Class version of an identifier. Source: `TUUID` (ROOT 6.40).
    pub const VERSION: u16 = 1;
    /// Bytes it takes where it is stored: a class version and the identifier.
    const STORED_BYTES: usize = 18;

    /// An identifier of version 4 (RFC 9562) of random bytes.
    pub fn of_random(mut bytes: [u8; 16]) -> Self {
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Uuid(bytes)
    }

    /// Reads its class version and it.
    fn parse(cursor: &mut Cursor<'_>) -> Result<(u16, Self)> {
        let version = cursor.u16()?;
        let mut uuid = Uuid::default();
        uuid.0.copy_from_slice(cursor.take(16)?);
        Ok((version, uuid))
    }

    fn write(&self, version: u16, output: &mut Output) {
        output.u16(version);
        output.raw(&self.0);
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
