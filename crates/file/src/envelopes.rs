//! The envelopes of RNTuples: payloads in one key or in several, read together and unpacked within bounds.

use std::collections::HashSet;
use std::ops::Range;

use arrowroot_format as format;
use arrowroot_storage::Part;
use format::rntuple::{Blob, Footer};

use crate::access::{check_metadata, check_metadata_bytes, format_error, read_parts, read_range, unpack_at};
use crate::error::Result;
use crate::file::File;
use crate::scratch::{PooledScratch, Scratch};

/// Fields and columns that become so many bytes are read however well they compress: some 50,000 of them. Beyond, so many
/// bytes for each of the file: each field takes ten times as much in memory. Fields that are all alike compress to nearly
/// nothing, but those of real data have pages.
const MAX_SCHEMA_BYTES: u64 = 4 << 20;
const MAX_SCHEMA_RATIO: u64 = 4;

/// Refuses a header or footer of very many fields in a small file.
///
/// # Errors
/// Unsupported, if it is one.
pub fn check_schema(blob: Blob, file_bytes: u64) -> format::Result<()> {
    let most = file_bytes.saturating_mul(MAX_SCHEMA_RATIO).saturating_add(MAX_SCHEMA_BYTES);
    let n_bytes = blob.uncompressed_bytes;
    if n_bytes > most {
        let what =
            format!("metadata of {n_bytes} bytes in a file of {file_bytes}: more than {most} bytes are not unpacked");
        return Err(format::Error::unsupported(0, what));
    }
    Ok(())
}

/// Refuses page lists that are few bytes in the file and very many together: groups may name one and the same.
///
/// # Errors
/// Unsupported, if they are.
pub fn check_page_lists(footer: &Footer) -> format::Result<()> {
    let mut places = HashSet::new();
    let (mut stored_bytes, mut n_bytes) = (0_u64, 0_u64);
    for list in footer.groups.iter().map(|group| &group.page_list) {
        n_bytes = n_bytes.saturating_add(list.uncompressed_bytes);
        if let Some(locator) = list.locator.filter(|locator| places.insert(locator.offset)) {
            stored_bytes = stored_bytes.saturating_add(locator.n_bytes);
        }
    }
    check_metadata_bytes(stored_bytes, n_bytes)
}

/// The content of some blobs, uncompressed, in memory that the process lends: a wide schema takes hundreds of KB of it.
pub struct Envelopes {
    scratch: PooledScratch,
    ranges: Vec<Range<usize>>,
}

impl Envelopes {
    /// Reads the envelopes in some blobs, all in one vector read.
    ///
    /// # Errors
    /// As [`read_blobs`] and [`Envelopes::unpack`].
    pub fn read(file: &File, object: &str, blobs: &[Blob]) -> Result<Envelopes> {
        Self::unpack(file, object, blobs, &read_blobs(file, object, blobs)?)
    }

    /// Unpacks what was read of some blobs, in their order.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for metadata that compress too well, or are damaged.
    pub fn unpack(file: &File, object: &str, blobs: &[Blob], stored: &[Vec<u8>]) -> Result<Envelopes> {
        let mut scratch = PooledScratch::default();
        let mut ranges: Vec<Range<usize>> = Vec::with_capacity(blobs.len());
        for (blob, stored) in blobs.iter().zip(stored) {
            let in_blob = |error: format::Error| format_error(file.source().as_ref(), object, error.at(blob.offset));
            let n_bytes = usize::try_from(blob.uncompressed_bytes).unwrap_or(usize::MAX);
            if stored.len() > n_bytes {
                let what = format!("{} bytes for an envelope of {n_bytes}", stored.len());
                return Err(in_blob(format::Error::corrupt(0, what)));
            }
            let start = ranges.last().map_or(0, |before| before.end);
            let Scratch { decompressor, unpacked, .. } = scratch.get();
            check_metadata(stored, n_bytes).map_err(in_blob)?;
            ranges.push(unpack_at(start, decompressor, stored, n_bytes, unpacked).map_err(in_blob)?);
        }
        Ok(Envelopes { scratch, ranges })
    }

    /// That of a blob, by its number among those that were read.
    pub fn at(&self, number: usize) -> &[u8] {
        &self.scratch.unpacked()[self.ranges[number].clone()]
    }
}

/// Reads some blobs as they are stored, all in one vector read; those in several keys have further ones.
///
/// # Errors
/// [`Error::Storage`](crate::Error::Storage) if they cannot be read, or are not in the file.
pub fn read_blobs(file: &File, object: &str, blobs: &[Blob]) -> Result<Vec<Vec<u8>>> {
    let source = file.source().as_ref();
    let mut buffers: Vec<Vec<u8>> = Vec::with_capacity(blobs.len());
    for blob in blobs {
        let (first, _) = blob.first_part().map_err(|error| format_error(source, object, error))?;
        let n_bytes = first.end - first.start;
        if first.end > source.size_bytes() || blob.stored_bytes > source.size_bytes() {
            // The error of the read says what is wrong.
            read_range(source, first.start, n_bytes.max(blob.stored_bytes))?;
        }
        buffers.push(vec![0; usize::try_from(n_bytes).unwrap_or(usize::MAX)]);
    }
    let mut parts: Vec<Part<'_>> =
        blobs.iter().zip(&mut buffers).map(|(blob, buffer)| Part { offset: blob.offset, buffer }).collect();
    read_parts(source, &mut parts)?;
    for (blob, stored) in blobs.iter().zip(&mut buffers) {
        let in_blob = |error: format::Error| format_error(source, object, error.at(blob.offset));
        let (_, offsets) = blob.first_part().map_err(in_blob)?;
        if offsets.start < offsets.end {
            let offsets = read_range(source, offsets.start, offsets.end - offsets.start)?;
            for part in blob.further_parts(&offsets) {
                stored.extend_from_slice(&read_range(source, part.start, part.end - part.start)?);
            }
        }
    }
    Ok(buffers)
}
