//! Directories and their key lists.

use std::ops::RangeInclusive;

use crate::container::{Datime, FileHeader, Key, KeyHead, START_OF_LARGE, Uuid};
use crate::cursor::{BYTE_COUNT_MASK, Cursor};
use crate::error::{Error, Result, Within};
use crate::output::Output;

/// Smallest size of a key: the fixed fields with 32-bit offsets, and three empty texts.
const SMALLEST_KEY_BYTES: usize = 29;
/// The version of a directory is raised by this if its offsets have 64 bits.
const LARGE: u16 = 1000;

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

    /// Writes the fields of a directory, without the zeros that fill its record up to [`Directory::MAX_BYTES`]. Offsets have
    /// 64 bits if it says so.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if an offset does not fit into 32 bits where it should.
    pub fn write(&self, output: &mut Output) -> Result<()> {
        output.u16(self.version + if self.is_large { LARGE } else { 0 });
        output.u32(self.created.0);
        output.u32(self.modified.0);
        output.u32(self.n_bytes_keys);
        output.u32(self.n_bytes_name);
        for offset in [self.seek_dir, self.seek_parent, self.seek_keys] {
            match u32::try_from(offset) {
                _ if self.is_large => output.u64(offset),
                Ok(offset) => output.u32(offset),
                Err(_) => return Err(Error::unsupported(0, format!("no room for offset {offset} in a directory"))),
            }
        }
        match self.uuid {
            Some(uuid) if self.version > 2 => uuid.write(Uuid::VERSION, output),
            Some(uuid) => output.raw(&uuid.0),
            None => {}
        }
        Ok(())
    }

    /// Writes all [`Directory::MAX_BYTES`] of a directory: zeros keep the room that offsets of 64 bits need, so that the record
    /// never moves. They have 64 bits if any needs them.
    ///
    /// # Errors
    /// None: they have room.
    ///
    /// # Source
    /// `TDirectoryFile::FillBuffer` (ROOT 6.40).
    pub fn write_record(&self, output: &mut Output) -> Result<()> {
        let start = output.position();
        let offsets = [self.seek_dir, self.seek_parent, self.seek_keys];
        let is_large = offsets.into_iter().any(|offset| offset > START_OF_LARGE);
        Directory { is_large, ..self.clone() }.write(output)?;
        output.zeros((start + Self::MAX_BYTES).saturating_sub(output.position()));
        Ok(())
    }

    /// Whether it has a key list: one that was never saved has none.
    pub fn has_keys(&self) -> bool {
        self.seek_keys != 0 && self.n_bytes_keys != 0
    }
}

fn parse(cursor: &mut Cursor<'_>) -> Result<Directory> {
    let start = cursor.position();
    let word = cursor.u16()?;
    let (version, is_large) = (word % LARGE, word > LARGE);
    if !(1..=20).contains(&version) || word > 2 * LARGE {
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
            Some(Uuid::parse(cursor)?.1)
        } else {
            let mut uuid = Uuid::default();
            uuid.0.copy_from_slice(cursor.take(16)?);
            Some(uuid)
        }
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
    /// Name of the file as the payload repeats it.
    pub name: String,
    /// Title of the file.
    pub title: String,
    /// The root directory.
    pub directory: Directory,
}

impl RootRecord {
    /// The bytes before its directory: its key, and name and title again. Source: `TFile::Init` (ROOT 6.40).
    pub const NAME_BYTES: RangeInclusive<u32> = 10..=10_000;

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
            let (name, title) = match (cursor.string(), cursor.string()) {
                (Ok(name), Ok(title)) => (name, title),
                _ => (key.name.clone(), key.title.clone()),
            };
            if !Self::NAME_BYTES.contains(&header.n_bytes_name) {
                return Err(Error::corrupt(0, format!("the name cannot take {} bytes", header.n_bytes_name)));
            }
            let directory = Directory::parse(&mut Cursor::at(data, header.n_bytes_name as usize))?;
            Ok(RootRecord { key, name, title, directory })
        };
        parse().map_err(|error| error.within("root directory record").at(header.begin))
    }

    /// Writes the whole record.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if an offset or a text does not fit.
    pub fn write(&self, output: &mut Output) -> Result<()> {
        self.key.write(output)?;
        output.string(self.name.as_bytes())?;
        output.string(self.title.as_bytes())?;
        self.directory.write_record(output)
    }
}

/// The keys of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyList {
    /// The key of its own record.
    pub own_key: Key,
    /// In the order of the list.
    pub keys: Vec<Key>,
    /// Whether its record is marked as free. A writer does so before it writes the next list, and may have ended between.
    pub is_freed: bool,
    /// Whether it says that there are no keys, and its record has room for some: they may be lost.
    pub may_lack_keys: bool,
}

impl KeyList {
    /// Reads the record of a key list: its own key, the number of keys, the keys. `record` is all of
    /// [`Directory::n_bytes_keys`] bytes from `seek_keys` on.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Truncated`] if it is another record or none, or if a key cannot be read; offsets are
    /// in `record`.
    ///
    /// # Source
    /// `TDirectoryFile::WriteKeys`, `TFile::MakeFree`, `TDirectoryFile::ReadKeys` (ROOT 6.40), which passes over the mark.
    pub fn parse(record: &[u8], seek_keys: u64) -> Result<Self> {
        parse_key_list(record, seek_keys).within(|| "key list")
    }

    /// Writes the record of a key list: its own key, the number of keys, the keys.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if an offset or a text does not fit.
    pub fn write<'k>(own_key: &Key, keys: impl ExactSizeIterator<Item = &'k Key>, output: &mut Output) -> Result<()> {
        own_key.write(output)?;
        output.count(keys.len())?;
        keys.into_iter().try_for_each(|key| key.write(output))
    }
}

/// What a list of a large file may be longer than its keys.
const SPARE_BYTES: usize = 8;

fn parse_key_list(record: &[u8], seek_keys: u64) -> Result<KeyList> {
    let is_freed = record.first().is_some_and(|byte| byte & 0x80 != 0);
    let unmarked = is_freed.then(|| {
        let n_bytes = u32::try_from(record.len()).unwrap_or(u32::MAX).to_be_bytes();
        [n_bytes.as_slice(), record.get(n_bytes.len()..).unwrap_or_default()].concat()
    });
    let record = unmarked.as_deref().unwrap_or(record);
    let mut cursor = Cursor::new(record);
    let own_key = list_key(&mut cursor)?;
    // One writer knows neither place nor size in this key.
    let is_this = own_key.seek_key == seek_keys && own_key.n_bytes as usize == record.len();
    if own_key.seek_key != 0 && !is_this {
        let Key { head: KeyHead { n_bytes, seek_key, .. }, class_name, .. } = own_key;
        let what = format!(
            "a key list of {} bytes expected, found a record of {n_bytes} bytes of class {class_name:?} that \
             belongs at byte {seek_key}",
            record.len()
        );
        return Err(Error::corrupt(0, what));
    }
    cursor.seek(usize::from(own_key.key_bytes));
    let n_keys = cursor.count(SMALLEST_KEY_BYTES)?;
    let may_lack_keys = n_keys == 0 && cursor.remaining() > SPARE_BYTES;
    // Each key is as long as it is: in lists of before ROOT 5.34 its stated length may be 4 bytes less.
    let mut keys = Vec::with_capacity(n_keys.min(record.len() / SMALLEST_KEY_BYTES));
    for _ in 0..n_keys {
        let start = cursor.position();
        let key = list_key(&mut cursor)?;
        if key.seek_key == 0 || key.header_bytes_parsed < usize::from(key.key_bytes) {
            return Err(Error::corrupt(start, "zeros in the place of a key, or of a part of it"));
        }
        keys.push(key);
    }
    Ok(KeyList { own_key, keys, is_freed, may_lack_keys })
}

/// A key of a list, or of the list itself. A block of the file that was never written has zeros.
fn list_key(cursor: &mut Cursor<'_>) -> Result<Key> {
    let start = cursor.position();
    let key = Key::parse(cursor)?;
    let texts = [&key.class_name, &key.name, &key.title];
    // No class has a zero in its name; what is written as a title may be any bytes.
    let has_zeros = key.class_name.contains('\0') || texts.iter().any(|text| text.ends_with('\0'));
    if key.n_bytes == 0 || key.key_bytes == 0 || has_zeros {
        return Err(Error::corrupt(start, "zeros where a key should be"));
    }
    Ok(key)
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
