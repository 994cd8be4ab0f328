//! Directories and their key lists.

use crate::container::{Datime, FileHeader, Key, Uuid};
use crate::cursor::{BYTE_COUNT_MASK, Cursor};
use crate::error::{Error, Result, Within};

/// Smallest size of a key: the fixed fields with 32-bit offsets, and three empty texts.
const SMALLEST_KEY_BYTES: usize = 29;

/// The directory object, without the key and texts before it.
///
/// Source: `TDirectoryFile::FillBuffer`, `TDirectoryFile::Streamer` (ROOT 6.40).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// Class version, without the 1000 of records with 64-bit offsets.
    pub version: u16,
    /// Whether offsets have 64 bits.
    pub is_large: bool,
    /// When it was made.
    pub created: Datime,
    /// When it was last written.
    pub modified: Datime,
    /// Size in bytes of the record of the key list, with its key; 0 if there is none.
    pub n_bytes_keys: u32,
    /// Bytes from the start of the directory's record to these fields.
    pub n_bytes_name: u32,
    /// Offset of the directory's own record.
    pub seek_dir: u64,
    /// Offset of the parent's record; before ROOT 6.38, of the root directory's.
    pub seek_parent: u64,
    /// Offset of the record of the key list; 0 if there is none.
    pub seek_keys: u64,
    /// Identifier; `None` before ROOT 3.03/07.
    pub uuid: Option<Uuid>,
}

impl Directory {
    /// Most bytes a directory object takes.
    pub const MAX_BYTES: usize = 60;
    /// Fewest bytes a directory object takes.
    pub const MIN_BYTES: usize = 30;

    /// Reads the fields of a directory.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a version no directory has, [`Error::Truncated`] at the end of the data.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        parse(cursor).within(|| "directory")
    }

    /// Whether it has a key list: one that was never saved has none.
    pub fn has_keys(&self) -> bool {
        self.seek_keys != 0 && self.n_bytes_keys != 0
    }
}

fn parse(cursor: &mut Cursor<'_>) -> Result<Directory> {
    let start = cursor.position();
    let word = cursor.u16()?;
    let (version, is_large) = (word % 1000, word > 1000);
    if !(1..=20).contains(&version) || word > 2000 {
        return Err(Error::corrupt(start, format!("{word} is no version of a directory")));
    }
    let created = Datime(cursor.u32()?);
    let modified = Datime(cursor.u32()?);
    let n_bytes_keys = cursor.u32()?;
    let n_bytes_name = cursor.u32()?;
    let mut offset = || if is_large { cursor.u64() } else { cursor.u32().map(u64::from) };
    let (seek_dir, seek_parent, seek_keys) = (offset()?, offset()?, offset()?);
    let uuid = if version == 1 {
        None
    } else {
        if version > 2 {
            cursor.skip(2)?;
        }
        let mut uuid = Uuid::default();
        uuid.0.copy_from_slice(cursor.take(16)?);
        Some(uuid)
    };
    Ok(Directory {
        version,
        is_large,
        created,
        modified,
        n_bytes_keys,
        n_bytes_name,
        seek_dir,
        seek_parent,
        seek_keys,
        uuid,
    })
}

/// The first record of a file: its key, and the root directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootRecord {
    /// Key of the record. Its name is the path of the file when it was made.
    pub key: Key,
    /// Title of the file.
    pub title: String,
    /// The root directory.
    pub directory: Directory,
}

impl RootRecord {
    /// Most bytes that have to be read from the start of the file's first record, if the header is right.
    pub fn max_bytes(header: &FileHeader) -> usize {
        header.n_bytes_name as usize + Directory::MAX_BYTES
    }

    /// Reads the record; `data` starts at [`FileHeader::begin`] and may be longer.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is none, [`Error::Truncated`] at the end of the data.
    pub fn parse(header: &FileHeader, data: &[u8]) -> Result<Self> {
        let parse = || {
            let mut cursor = Cursor::new(data);
            let key = Key::parse(&mut cursor)?;
            // The name and title come again at the start of the payload. ROOT takes the title from there.
            cursor.seek(usize::from(key.key_bytes));
            let title = cursor.string_bytes().and_then(|_name| cursor.string()).unwrap_or_else(|_| key.title.clone());
            // ROOT's own limits.
            if !(10..=10_000).contains(&header.n_bytes_name) {
                return Err(Error::corrupt(0, format!("the name cannot take {} bytes", header.n_bytes_name)));
            }
            let directory = Directory::parse(&mut Cursor::at(data, header.n_bytes_name as usize))?;
            Ok(RootRecord { key, title, directory })
        };
        parse().map_err(|error| error.within("root directory record").at(header.begin))
    }
}

/// Reads the record of a key list: its own key, the number of keys, the keys. `record` starts at
/// [`Directory::seek_keys`].
///
/// # Errors
/// [`Error::Corrupt`] or [`Error::Truncated`] if a key cannot be read; offsets are in `record`.
pub fn parse_key_list(record: &[u8]) -> Result<Vec<Key>> {
    let parse = || {
        let mut cursor = Cursor::new(record);
        let own = Key::parse(&mut cursor)?;
        cursor.seek(usize::from(own.key_bytes));
        let n_keys = cursor.count(SMALLEST_KEY_BYTES)?;
        // Each key is as long as it is: in lists of before ROOT 5.34 its stated length may be 4 bytes less.
        (0..n_keys).map(|_| Key::parse(&mut cursor)).collect::<Result<Vec<_>>>()
    };
    parse().within(|| "key list")
}

/// Whether objects of this class are directories, by name: ROOT's, and those of frameworks that inherit from them.
pub fn is_directory_class(class_name: &str) -> bool {
    matches!(class_name, "TDirectory" | "TDirectoryFile" | "TFile" | "TStorageFactoryFile" | "TMemFile")
}

/// Whether the payload of a record is an object of a directory's class, and no directory: `TDirectory` itself is streamed as
/// any other class, with a byte count, where ROOT would read a version (`TBufferFile::WriteObjectAny`).
pub fn is_object(key: &Key, payload: &[u8]) -> bool {
    let count = payload.first_chunk().map(|chunk| u32::from_be_bytes(*chunk));
    count.is_some_and(|count| count & BYTE_COUNT_MASK != 0 && (count & !BYTE_COUNT_MASK) + 4 == key.object_bytes)
}

/// Whether the record may be a directory of a class that is not known as one: then read its payload and ask
/// [`looks_like_directory`].
pub fn may_be_directory(key: &Key) -> bool {
    let object_bytes = key.object_bytes as usize;
    (Directory::MIN_BYTES..=Directory::MAX_BYTES).contains(&object_bytes) && !key.is_compressed()
}

/// Whether the payload of a record is a directory whatever its class is called: its fields must point back at it.
pub fn looks_like_directory(key: &Key, payload: &[u8]) -> bool {
    may_be_directory(key)
        && Directory::parse(&mut Cursor::new(payload)).is_ok_and(|directory| {
            directory.seek_dir == key.seek_key && directory.n_bytes_name == u32::from(key.key_bytes)
        })
}
