//! The first bytes of a file.

use crate::codec::CompressionSetting;
use crate::container::{START_OF_LARGE, Uuid};
use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};
use crate::output::Output;

/// Bytes that hold any file header; shorter ones end earlier, and files may be shorter too.
pub const HEADER_BYTES: usize = 100;

/// The file header: which layout the file has, and where to find the rest.
///
/// Source: `TFile::WriteHeader` and `TFile::Init` (ROOT 6.40).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHeader {
    /// ROOT version that wrote the file: 10000 major + 100 minor + patch. The flag of large files is taken away.
    pub version: u32,
    /// Whether the header has 64-bit offsets (files that grew over 2 GB). Keys and directories say it for themselves.
    pub is_large: bool,
    /// Offset of the first record, that of the root directory (fBEGIN).
    pub begin: u64,
    /// Offset after the last record when the header was written (fEND): less than the size of a file that was not
    /// closed, more than that of one that is cut short.
    pub end: u64,
    /// Offset of the record of free segments; 0 if none was written.
    pub seek_free: u64,
    /// Size in bytes of that record, with its key.
    pub n_bytes_free: u32,
    /// Number of free segments, which some writers leave at 0.
    pub n_free: u32,
    /// Bytes from `begin` to the fields of the root directory.
    pub n_bytes_name: u32,
    /// Bytes of an offset; nothing depends on it.
    pub units: u8,
    /// How the file's new records are compressed by default.
    pub compression: CompressionSetting,
    /// Offset of the streamer information record; not above `begin` if there is none.
    pub seek_info: u64,
    /// Size in bytes of that record, with its key.
    pub n_bytes_info: u32,
    /// Identifier of the file; all zero before ROOT 3.03/07 and in reproducible files.
    pub uuid: Uuid,
    /// Class version of that; 0 where no identifier was written.
    pub uuid_version: u16,
}

impl FileHeader {
    /// Reads the header from the start of a file; `data` may be longer.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if this is no ROOT file, or one with impossible offsets; [`Error::Truncated`] if `data`
    /// ends before the header does.
    pub fn parse(data: &[u8]) -> Result<Self> {
        parse(data).within(|| "file header")
    }

    /// Writes the header. Offsets have 64 bits if it says so, whatever they are. What is left up to the first record is not
    /// written.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if an offset does not fit into 32 bits where it should.
    pub fn write(&self, output: &mut Output) -> Result<()> {
        output.raw(MAGIC);
        output.u32(self.version + if self.is_large { LARGE.unsigned_abs() } else { 0 });
        let offset = |output: &mut Output, offset: u64| match u32::try_from(offset) {
            _ if self.is_large => {
                output.u64(offset);
                Ok(())
            }
            Ok(offset) => {
                output.u32(offset);
                Ok(())
            }
            Err(_) => Err(Error::unsupported(0, format!("no room for offset {offset} in the header of a small file"))),
        };
        output.u32(
            u32::try_from(self.begin)
                .map_err(|_| Error::unsupported(8, format!("a first record at {}", self.begin)))?,
        );
        offset(output, self.end)?;
        offset(output, self.seek_free)?;
        output.u32(self.n_bytes_free);
        output.u32(self.n_free);
        output.u32(self.n_bytes_name);
        output.u8(self.units);
        output.i32(self.compression.0);
        offset(output, self.seek_info)?;
        output.u32(self.n_bytes_info);
        if has_uuid(output.position(), self.begin) {
            self.uuid.write(self.uuid_version, output);
        }
        Ok(())
    }

    /// True if the header of a file with this end has offsets of 64 bits. Source: `TFile::WriteHeader`.
    pub fn is_large_at(end: u64) -> bool {
        end > START_OF_LARGE
    }

    /// The ROOT version as ROOT writes it: `6.28/04`.
    pub fn root_version(&self) -> String {
        format!("{}.{:02}/{:02}", self.version / 10_000, self.version / 100 % 100, self.version % 100)
    }

    /// Whether the file has a record of streamer information.
    pub fn has_streamer_info(&self) -> bool {
        self.seek_info > self.begin && self.n_bytes_info > 0
    }
}

const MAGIC: &[u8; 4] = b"root";
/// What the version of a large file is raised by.
const LARGE: i32 = 1_000_000;

fn parse(data: &[u8]) -> Result<FileHeader> {
    let mut cursor = Cursor::new(data);
    let Some(magic) = data.first_chunk::<4>() else {
        let size = if data.is_empty() { "it is empty".to_owned() } else { format!("it has {} bytes", data.len()) };
        return Err(Error::truncated(0, format!("not a ROOT file: {size}")));
    };
    // The version that follows has bytes that no text has.
    if magic != MAGIC || (data.len() >= 8 && is_text(data)) {
        return Err(Error::corrupt(0, not_root(data)));
    }
    cursor.skip(4)?;
    // With a sign, as ROOT has it: one writer took 1000000 from the version of its small files.
    let version = cursor.i32()?;
    let is_large = version >= LARGE;
    let offset = |cursor: &mut Cursor<'_>| if is_large { cursor.u64() } else { cursor.u32().map(u64::from) };
    let begin = u64::from(cursor.u32()?);
    let header = FileHeader {
        version: version.rem_euclid(LARGE).unsigned_abs(),
        is_large,
        begin,
        end: offset(&mut cursor)?,
        seek_free: offset(&mut cursor)?,
        n_bytes_free: cursor.u32()?,
        n_free: cursor.u32()?,
        n_bytes_name: cursor.u32()?,
        units: cursor.u8()?,
        compression: CompressionSetting(cursor.i32()?),
        seek_info: offset(&mut cursor)?,
        n_bytes_info: cursor.u32()?,
        uuid: Uuid::default(),
        uuid_version: 0,
    };
    let (uuid_version, uuid) = uuid(&mut cursor, begin)?;
    let header = FileHeader { uuid, uuid_version, ..header };
    // Bytes of a file offset: text that happens to begin with "root" has something else there.
    if !matches!(header.units, 4 | 8) {
        return Err(Error::corrupt(
            0,
            format!("not a ROOT file: file offsets of {} bytes, 4 or 8 expected", header.units),
        ));
    }
    if begin > header.end {
        return Err(Error::corrupt(8, format!("the first record is at {begin}, after the end at {}", header.end)));
    }
    Ok(header)
}

/// The identifier after its class version, where there is room for it before the first record.
fn uuid(cursor: &mut Cursor<'_>, begin: u64) -> Result<(u16, Uuid)> {
    if has_uuid(cursor.position(), begin) { Uuid::parse(cursor) } else { Ok((0, Uuid::default())) }
}

fn has_uuid(position: usize, begin: u64) -> bool {
    (position + Uuid::STORED_BYTES) as u64 <= begin
}

/// Kinds of files by their first bytes.
const KINDS: [(&[u8], &str); 21] = [
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x04\x22\x4d\x18", "LZ4 data"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x89HDF", "an HDF5 file"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"FEA1", "a Feather file"),
    (b"ORC", "an ORC file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"SIMPLE  =", "a FITS file"),
    (b"CDF\x01", "a netCDF file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"%PDF", "a PDF document"),
    (b"%!PS", "a PostScript document"),
    (b"\x89PNG", "a PNG image"),
    (b"\x7fELF", "a program or library"),
    (b"version https://git-lfs", "a Git LFS pointer"),
    (b"\0\0\0\0", "an empty or preallocated file"),
];

/// Where a tar archive says that it is one, behind the name and the sizes of its first file.
const TAR_MAGIC_AT: usize = 257;

/// True if all that is there is text; the last letter may be cut in two.
fn is_text(data: &[u8]) -> bool {
    const NO_LETTER: char = char::REPLACEMENT_CHARACTER;
    let text = String::from_utf8_lossy(&data[..data.len().min(HEADER_BYTES)]);
    let text = text.strip_suffix(NO_LETTER).unwrap_or(&text);
    text.chars().all(|letter| letter != NO_LETTER && (!letter.is_control() || letter.is_ascii_whitespace()))
}

/// Says what a file that is none of ROOT starts with, and what that looks like.
fn not_root(data: &[u8]) -> String {
    let start: String = data[..data.len().min(8)].escape_ascii().to_string();
    let text = String::from_utf8_lossy(&data[..data.len().min(HEADER_BYTES)]).trim_start().to_ascii_lowercase();
    let kind = if text.starts_with("<!doctype") || text.starts_with("<html") {
        Some("an HTML page, perhaps of a login or an error")
    } else if text.starts_with("<?xml") {
        Some("an XML document, perhaps an error of the storage")
    } else if let Some((_, kind)) = KINDS.iter().find(|(magic, _)| data.starts_with(magic)) {
        Some(*kind)
    } else if data.get(TAR_MAGIC_AT..).is_some_and(|rest| rest.starts_with(b"ustar")) {
        Some("a tar archive")
    } else if is_text(data) {
        Some(if text.starts_with(['{', '[']) { "JSON" } else { "a text" })
    } else {
        None
    };
    let kind = kind.map(|kind| format!("; it looks like {kind}")).unwrap_or_default();
    let instead = if data.starts_with(MAGIC) { "" } else { " instead of \"root\"" };
    format!("not a ROOT file: it starts with \"{start}\"{instead}{kind}")
}
