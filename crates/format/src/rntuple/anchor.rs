//! The anchor: the object of the key that names an RNTuple.

use crate::cursor::Cursor;
use crate::error::{Error, Result};

use crate::output::Output;

use super::envelope::{Blob, checksum};

/// Class of the anchor.
pub const ANCHOR_CLASS: &str = "ROOT::RNTuple";
/// Its class before the format was released.
pub const OLD_ANCHOR_CLASS: &str = "ROOT::Experimental::RNTuple";

/// Bytes of the members that all versions have: those the checksum covers at least.
const MEMBER_BYTES: usize = 64;
const CHECKSUM_BYTES: usize = 8;
/// Version of the class: the one since the format was released.
const CLASS_VERSION: u16 = 2;
/// Bytes of the object of a key: byte count and class version, the members, the checksum.
pub const ANCHOR_BYTES: u64 = 78;
/// The version of the format that is written: epoch, major, minor, patch. Source: `ROOT::RNTuple::kVersion*` (ROOT 6.40).
pub const WRITTEN_VERSION: [u16; 4] = [1, 0, 2, 0];
/// The same of an RNTuple without attribute sets, which has nothing that came with a later version.
///
/// uproot 5.7 extends an RNTuple and keeps its version, but writes a footer of this one.
pub const FIRST_VERSION: [u16; 4] = [1, 0, 0, 0];

/// Where header and footer are, and which version of the format they are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// Epoch, major, minor, patch.
    pub version: [u16; 4],
    /// The header envelope.
    pub header: Blob,
    /// The footer envelope.
    pub footer: Blob,
}

impl Anchor {
    /// Reads the uncompressed object of a key. `class_name` is that of the key.
    ///
    /// # Errors
    /// Unsupported for what was written before the format was released; corrupt if the checksum differs.
    ///
    /// # Source
    /// `ROOT::RNTuple` streamer (ROOT 6.40): byte count, class version, members, checksum of the members; all big-endian.
    /// The checksum lies outside of what the byte count counts, so members that a later version appends are inside.
    pub fn parse(object: &[u8], class_name: &str) -> Result<Anchor> {
        if class_name == OLD_ANCHOR_CLASS {
            return Err(too_old(format!("an RNTuple of class {class_name}")));
        }
        let mut cursor = Cursor::new(object);
        let frame = cursor.version()?;
        let members = cursor.position();
        let mut version = [0; 4];
        for part in &mut version {
            *part = cursor.u16()?;
        }
        if object.iter().all(|&byte| byte == 0) || (frame.end.is_none() && frame.version == 0) {
            return Err(Error::corrupt(0, "zeros where the anchor of an RNTuple should be"));
        }
        if frame.version < CLASS_VERSION || version[0] == 0 {
            let [epoch, major, minor, patch] = version;
            return Err(too_old(format!("an RNTuple in version {epoch}.{major}.{minor}.{patch}")));
        }
        if version[0] > 1 {
            return Err(Error::unsupported(members, format!("an RNTuple of epoch {}", version[0])));
        }
        let mut words = [0; 7];
        for word in &mut words {
            *word = cursor.u64()?;
        }
        let end = frame.end.unwrap_or(members + MEMBER_BYTES);
        let covered = object.get(members..end).filter(|covered| covered.len() >= MEMBER_BYTES);
        let covered = covered.ok_or_else(|| Error::truncated(members, "an anchor shorter than its members"))?;
        let mut cursor = Cursor::at(object, end);
        if cursor.remaining() < CHECKSUM_BYTES {
            return Err(Error::truncated(end, "an anchor without a checksum"));
        }
        let (stored, computed) = (cursor.u64()?, checksum(covered));
        if stored != computed {
            let what = format!("the checksum of the anchor should be {stored:016x} and is {computed:016x}");
            return Err(Error::corrupt(end, what));
        }
        let [seek_header, n_header, len_header, seek_footer, n_footer, len_footer, max_key_bytes] = words;
        let blob =
            |offset, stored_bytes, uncompressed_bytes| Blob { offset, stored_bytes, uncompressed_bytes, max_key_bytes };
        Ok(Anchor {
            version,
            header: blob(seek_header, n_header, len_header),
            footer: blob(seek_footer, n_footer, len_footer),
        })
    }

    /// Writes the object of a key: [`ANCHOR_BYTES`], without members of versions to come.
    ///
    /// # Errors
    /// None for so few bytes.
    ///
    /// # Source
    /// As [`Anchor::parse`].
    pub fn write(&self) -> Result<Vec<u8>> {
        let mut output = Output::new(0);
        let frame = output.begin(CLASS_VERSION);
        let members = output.position();
        self.version.iter().for_each(|&part| output.u16(part));
        for blob in [self.header, self.footer] {
            output.u64(blob.offset);
            output.u64(blob.stored_bytes);
            output.u64(blob.uncompressed_bytes);
        }
        output.u64(self.max_key_bytes());
        output.end(frame)?;
        let mut object = output.into_bytes();
        let checksum = checksum(&object[members..]);
        object.extend_from_slice(&checksum.to_be_bytes());
        Ok(object)
    }

    /// Payloads longer than this are written in several keys.
    pub fn max_key_bytes(&self) -> u64 {
        self.header.max_key_bytes
    }
}

fn too_old(what: String) -> Error {
    Error::unsupported(
        0,
        format!("{what}, written before the format was released (ROOT 6.34): no later version reads it"),
    )
}
