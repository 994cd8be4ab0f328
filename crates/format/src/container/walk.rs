//! Walking the records of a file one after the other, for those that have no key list.

use std::ops::Range;

use crate::container::{Directory, FileHeader, KEY_HEAD_BYTES, Key, KeyHead, looks_like_directory};
use crate::cursor::Cursor;

/// Asked for at a record: most keys and the fields of a directory fit.
const RECORD_BYTES: u64 = 512;
/// Asked for while looking for the next record in a part that makes no sense.
const SEARCH_BYTES: u64 = 1 << 20;
/// What [`Directory::parse`] and the longest key may need: a key cannot be longer than a signed 16-bit number says.
const LONGEST_KEY_BYTES: u64 = 32_768 + Directory::MAX_BYTES as u64;
/// ROOT stops at a longer class name; 1000 leaves room for templates.
const LONGEST_CLASS_NAME_BYTES: usize = 1000;

/// A record found by a [`RecordWalk`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRecord {
    /// Its key.
    pub key: Key,
    /// Its payload, if that is a directory below the root.
    pub directory: Option<Directory>,
    /// Whether the chain of records was broken before it.
    pub is_behind_break: bool,
}

/// A walk from record to record, which does no reading: ask it with [`RecordWalk::request`] which bytes it needs next
/// and feed them, until it needs no more. It passes over free segments. Where the chain of records is broken it looks
/// for the next key byte by byte, so that it reads each part of the file once at most, whatever is in it.
///
/// Source: `TFile::Recover` (ROOT 6.40), which stops at the first break.
#[derive(Debug, Clone)]
pub struct RecordWalk {
    offset: u64,
    file_bytes: u64,
    /// The chain is broken before `offset`.
    searching: bool,
    /// The key at `offset` did not fit into what was asked for.
    long_key: bool,
    free_bytes: u64,
    skipped_bytes: u64,
}

/// What is at an offset.
enum At {
    Record(Box<FoundRecord>),
    Free(u64),
    /// It may be a record, but more bytes are needed to know.
    Short,
    Nonsense,
}

impl RecordWalk {
    /// A walk over the records of a file of `file_bytes` bytes. The end the header states is not used: it is old in a
    /// file that was not closed.
    pub fn new(header: &FileHeader, file_bytes: u64) -> Self {
        Self::behind(header.begin, file_bytes)
    }

    /// A walk over the records from an offset on.
    pub fn behind(offset: u64, file_bytes: u64) -> Self {
        RecordWalk { offset, file_bytes, searching: false, long_key: false, free_bytes: 0, skipped_bytes: 0 }
    }

    /// The range of the file that is needed next; `None` at its end.
    pub fn request(&self) -> Option<Range<u64>> {
        let n_bytes = match (self.long_key, self.searching) {
            (_, true) => SEARCH_BYTES,
            (true, false) => LONGEST_KEY_BYTES,
            (false, false) => RECORD_BYTES,
        };
        let left = self.file_bytes.checked_sub(self.offset)?;
        (left >= KEY_HEAD_BYTES as u64).then(|| self.offset..self.offset + n_bytes.min(left))
    }

    /// Takes the bytes from the start of the range that was requested, as many as there are (more may save requests,
    /// fewer end the walk), and calls `found` for each record that starts in them.
    pub fn feed(&mut self, bytes: &[u8], mut found: impl FnMut(FoundRecord)) {
        let start = self.offset;
        let reaches_end = start.saturating_add(bytes.len() as u64) >= self.file_bytes;
        if self.request().is_some_and(|range| range.end - range.start > bytes.len() as u64) {
            self.offset = self.file_bytes;
            return;
        }
        while let Some(rest) = usize::try_from(self.offset - start).ok().and_then(|position| bytes.get(position..)) {
            if rest.is_empty() {
                return;
            }
            // A key that needs more than the longest key has is none.
            let all = reaches_end || rest.len() as u64 >= LONGEST_KEY_BYTES;
            match self.at(rest) {
                At::Record(record) => {
                    self.advance(u64::from(record.key.n_bytes));
                    found(*record);
                }
                At::Free(n_bytes) if !self.searching => {
                    self.free_bytes += n_bytes;
                    self.advance(n_bytes);
                }
                At::Short if !all => {
                    // Ask again from here: each request so starts later, or is for the longest key.
                    self.long_key |= self.offset == start;
                    return;
                }
                At::Free(_) | At::Short | At::Nonsense => {
                    self.offset += 1;
                    self.skipped_bytes += 1;
                    self.searching = true;
                    self.long_key = false;
                }
            }
        }
    }

    /// Bytes that belonged to no record and no free segment so far. Not 0: the file is damaged.
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped_bytes
    }

    /// Bytes of free segments so far.
    pub fn free_bytes(&self) -> u64 {
        self.free_bytes
    }

    fn advance(&mut self, n_bytes: u64) {
        self.offset = self.offset.saturating_add(n_bytes.max(1));
        self.searching = false;
        self.long_key = false;
    }

    fn at(&self, rest: &[u8]) -> At {
        let left = self.file_bytes - self.offset;
        let Some(word) = rest.first_chunk::<4>().map(|word| i32::from_be_bytes(*word)) else { return At::Short };
        if word < 0 {
            let n_bytes = u64::from(word.unsigned_abs());
            return if n_bytes <= left { At::Free(n_bytes) } else { At::Nonsense };
        }
        let n_bytes = u64::from(word.unsigned_abs());
        if n_bytes <= KEY_HEAD_BYTES as u64 - 8 || n_bytes > left {
            return At::Nonsense;
        }
        if rest.len() < KEY_HEAD_BYTES {
            return At::Short;
        }
        let mut cursor = Cursor::new(rest);
        let Ok(head) = KeyHead::parse(&mut cursor) else { return At::Nonsense };
        // That a key knows its place makes it all but certain that it is one.
        if head.seek_key != self.offset
            || u64::from(head.key_bytes) > n_bytes
            || usize::from(head.key_bytes) < cursor.position() + 3
            || head.version % 1000 == 0
            || head.version > 2000
        {
            return At::Nonsense;
        }
        // The texts must end in the key; passing over them costs the same however long they are.
        for longest in [LONGEST_CLASS_NAME_BYTES, usize::MAX, usize::MAX] {
            let Ok(text) = cursor.string_bytes() else { return At::Short };
            if cursor.position() > usize::from(head.key_bytes) || text.len() > longest {
                return At::Nonsense;
            }
        }
        let payload_start = usize::from(head.key_bytes);
        let needed = usize::try_from(n_bytes).unwrap_or(usize::MAX).min(payload_start + Directory::MAX_BYTES);
        let Some(record) = rest.get(..needed) else { return At::Short };
        let Ok(key) = Key::parse(&mut Cursor::new(record)) else { return At::Nonsense };
        let payload = &record[payload_start..];
        let directory =
            if looks_like_directory(&key, payload) { Directory::parse(&mut Cursor::new(payload)).ok() } else { None };
        let is_behind_break = self.skipped_bytes > 0;
        At::Record(Box::new(FoundRecord { key, directory, is_behind_break }))
    }
}
