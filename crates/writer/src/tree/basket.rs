//! The record of a basket: its key, which ends with the basket's own fields.
//!
//! Source: `TBasket::Streamer`, `TBasket::WriteBuffer`, `TKey::FillBuffer` (ROOT 6.40).

use arrowroot_format::Output;

use crate::error::Result;

/// Baskets are less than this: sizes have 31 bits, and readers' buffers 30.
pub(super) const MAX_OBJECT_BYTES: usize = 1 << 30;

/// Version of `TKey` and what says that offsets have 64 bits, as they have in the keys of all baskets.
const KEY_VERSION: u16 = 1004;
/// Version of `TBasket`.
const BASKET_VERSION: u16 = 3;
/// Offset of the root directory, which the keys of baskets name wherever the tree is. Source: `TBasket::WriteBuffer`.
const ROOT_DIRECTORY: u64 = 100;
/// Bytes of the key before its texts.
const KEY_HEAD_BYTES: usize = 34;
/// Bytes of the basket's own fields.
const BASKET_HEAD_BYTES: usize = 19;
/// A text whose length takes one byte is shorter than this.
const LONG_TEXT_BYTES: usize = 255;

/// Where fields of the key are, from its begin.
const N_BYTES_AT: usize = 0;
const OBJECT_BYTES_AT: usize = 6;
const CYCLE_AT: usize = 16;
const SEEK_KEY_AT: usize = 18;
/// The same of the basket's fields, from the end of the key backwards.
const BUFFER_BYTES_FROM_END: usize = 17;
const CAPACITY_FROM_END: usize = 13;
const N_ENTRIES_FROM_END: usize = 9;
const LAST_FROM_END: usize = 5;

/// The key of baskets of a branch; what is known of a single basket alone is 0.
pub(super) fn key_template(branch: &str, tree: &str, datime: u32) -> Result<Vec<u8>> {
    let texts = ["TBasket", branch, tree];
    let text_bytes = |text: &str| text.len() + if text.len() < LONG_TEXT_BYTES { 1 } else { 5 };
    let key_bytes = KEY_HEAD_BYTES + texts.map(text_bytes).iter().sum::<usize>() + BASKET_HEAD_BYTES;
    let key_bytes = i16::try_from(key_bytes).map_err(|_| crate::Error::InvalidRequest {
        what: format!("the names of tree and branch take {key_bytes} bytes of a key: it has {} at most", i16::MAX),
    })?;
    let mut key = Output::new(0);
    key.u32(0); // fNbytes
    key.u16(KEY_VERSION);
    key.u32(0); // fObjlen
    key.u32(datime);
    key.i16(key_bytes);
    key.u16(0); // fCycle
    key.u64(0); // fSeekKey
    key.u64(ROOT_DIRECTORY);
    for text in texts {
        key.string(text.as_bytes())?;
    }
    key.u16(BASKET_VERSION);
    key.u32(0); // fBufferSize
    key.u32(0); // fNevBufSize
    key.u32(0); // fNevBuf
    key.u32(0); // fLast
    key.u8(0); // flag: it is a record of its own
    Ok(key.into_bytes())
}

/// What is known of a basket when it is encoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Bytes of its key.
    pub(super) key_bytes: usize,
    /// Bytes of its entries, and of their offsets, before they are compressed.
    pub(super) object_bytes: u32,
    /// Bytes of its record.
    pub(super) n_bytes: u32,
    /// Bytes of its key and its entries.
    pub(super) last: u32,
    /// Number of its entries.
    pub(super) n_entries: u32,
}

/// What follows from where a basket is in the file, and from the baskets before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    /// Its offset in the file.
    pub(super) offset: u64,
    /// Its number in the branch.
    pub(super) number: u32,
    /// `fBufferSize`.
    pub(super) buffer_bytes: u32,
    /// `fNevBufSize`: bytes of an entry, or room for offsets.
    pub(super) capacity: u32,
}

impl Sizes {
    /// Fills them into the key of a record.
    pub(super) fn fill(&self, record: &mut [u8]) {
        put(record, N_BYTES_AT, self.n_bytes.to_be_bytes());
        put(record, OBJECT_BYTES_AT, self.object_bytes.to_be_bytes());
        put(record, self.key_bytes - N_ENTRIES_FROM_END, self.n_entries.to_be_bytes());
        put(record, self.key_bytes - LAST_FROM_END, self.last.to_be_bytes());
    }
}

impl Placed {
    /// Fills them into the key of a record.
    pub(super) fn fill(&self, key_bytes: usize, record: &mut [u8]) {
        let [_, _, cycle @ ..] = self.number.to_be_bytes();
        put(record, CYCLE_AT, cycle);
        put(record, SEEK_KEY_AT, self.offset.to_be_bytes());
        put(record, key_bytes - BUFFER_BYTES_FROM_END, self.buffer_bytes.to_be_bytes());
        put(record, key_bytes - CAPACITY_FROM_END, self.capacity.to_be_bytes());
    }
}

fn put<const N: usize>(record: &mut [u8], at: usize, bytes: [u8; N]) {
    record[at..at + N].copy_from_slice(&bytes);
}
