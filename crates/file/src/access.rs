//! Bytes of a file: ranges read and payloads decompressed, both checked before memory is taken, and errors with their place.

use std::ops::Range;

use arrowroot_format as format;
use arrowroot_storage::{Part, Source};
use format::codec::Decompressor;
use format::container::{FileHeader, RootRecord};

use crate::error::{Error, Result};

/// Names file and object in a format error.
pub fn format_error(source: &dyn Source, object: &str, error: format::Error) -> Error {
    Error::Format { url: source.url().to_owned(), object: object.to_owned(), source: error }
}

/// Reads a range; its size is checked against the file before memory is taken.
///
/// # Errors
/// [`Error::Storage`] if it fails, or is not in the file.
pub fn read_range(source: &dyn Source, offset: u64, n_bytes: u64) -> Result<Vec<u8>> {
    if offset.checked_add(n_bytes).is_none_or(|end| end > source.size_bytes()) {
        return Err(arrowroot_storage::Error::PastEnd {
            url: source.url().to_owned(),
            offset,
            n_bytes,
            size_bytes: source.size_bytes(),
        }
        .into());
    }
    let mut bytes = vec![0; usize::try_from(n_bytes).unwrap_or(usize::MAX)];
    source.read_at(offset, &mut bytes)?;
    Ok(bytes)
}

/// Metadata that become so many bytes are read however well they compress, and beyond these so many for each byte that is
/// stored. Those of large files are compressed to a third or a tenth.
const MAX_METADATA_BYTES: u64 = 8 << 20;
const MAX_METADATA_RATIO: u64 = 16;

/// Reads the root directory, from the `head` of the file if it is in it.
pub(crate) fn root_record(source: &dyn Source, head: &[u8], header: &FileHeader) -> Result<RootRecord> {
    let n_bytes = RootRecord::max_bytes(header) as u64;
    let begin = usize::try_from(header.begin).unwrap_or(usize::MAX);
    let record = match head.get(begin..) {
        Some(rest) if rest.len() as u64 >= n_bytes => rest.to_vec(),
        _ => {
            let left = source.size_bytes().saturating_sub(header.begin);
            read_range(source, header.begin, n_bytes.min(left))?
        }
    };
    RootRecord::parse(header, &record).map_err(|error| format_error(source, "root directory", error))
}

/// As [`check_size`] for what is read as a whole before anybody asks for a part of it: descriptions of classes, the record of a
/// tree, the envelopes of an RNTuple. A few bytes of these would take any memory.
///
/// # Errors
/// For metadata that compress too well.
pub fn check_metadata(stored: &[u8], n_bytes: usize) -> format::Result<()> {
    check_metadata_bytes(stored.len() as u64, n_bytes as u64)?;
    check_size(stored, n_bytes)
}

/// The same for metadata in several records together, by their sizes alone.
///
/// # Errors
/// For metadata that compress too well.
pub fn check_metadata_bytes(stored_bytes: u64, n_bytes: u64) -> format::Result<()> {
    let most = stored_bytes.saturating_mul(MAX_METADATA_RATIO).saturating_add(MAX_METADATA_BYTES);
    if n_bytes > most {
        let what = format!(
            "metadata of {n_bytes} bytes that compress too well for what is stored: more than {most} bytes are not unpacked"
        );
        return Err(format::Error::unsupported(0, what));
    }
    Ok(())
}

/// Whether the blocks of a payload hold so many bytes, before memory is taken: a wrong size in a key costs nothing.
pub(crate) fn check_size(stored: &[u8], object_bytes: usize) -> format::Result<()> {
    if object_bytes > stored.len() {
        format::codec::check_blocks(stored, object_bytes)?;
    }
    Ok(())
}

/// Decompresses a payload to `object_bytes` bytes at the start of `out`, which grows if it must.
///
/// # Errors
/// If the payload is not so many bytes, or damaged.
pub fn unpack<'o>(
    decompressor: &mut Decompressor,
    stored: &[u8],
    object_bytes: usize,
    out: &'o mut Vec<u8>,
) -> format::Result<&'o [u8]> {
    let index = unpack_at(0, decompressor, stored, object_bytes, out)?;
    Ok(&out[index])
}

/// Decompresses a payload to `object_bytes` bytes from `start` on in `out`, which grows if it must. Returns their place.
///
/// # Errors
/// As [`unpack`].
pub fn unpack_at(
    start: usize,
    decompressor: &mut Decompressor,
    stored: &[u8],
    object_bytes: usize,
    out: &mut Vec<u8>,
) -> format::Result<Range<usize>> {
    check_size(stored, object_bytes)?;
    let end = start.saturating_add(object_bytes);
    if out.len() < end {
        let more = end - out.len();
        out.try_reserve_exact(more)
            .map_err(|_| format::Error::unsupported(0, format!("no memory for an object of {object_bytes} bytes")))?;
        out.resize(end, 0);
    }
    decompressor.decompress(stored, &mut out[start..end])?;
    Ok(start..end)
}

/// Fills all parts in one vector read; near by, where there is no such thing, in a read for each.
///
/// # Errors
/// Those of the reads.
pub fn read_parts(source: &dyn Source, parts: &mut [Part<'_>]) -> Result<()> {
    read_together(source, parts, &mut || false)
}

/// The same. `is_stopped` is asked before each read that is made alone.
///
/// # Errors
/// Those of the reads; [`Error::Cancelled`] if it was stopped between two of them.
pub fn read_together(source: &dyn Source, parts: &mut [Part<'_>], is_stopped: &mut dyn FnMut() -> bool) -> Result<()> {
    if parts.len() < 2 || !source.access_profile().is_remote {
        return read_each(source, parts, is_stopped);
    }
    Ok(source.read_vector(parts)?)
}

/// Fills each part by a read of its own. `is_stopped` is asked before each.
///
/// # Errors
/// As [`read_together`].
pub fn read_each(source: &dyn Source, parts: &mut [Part<'_>], is_stopped: &mut dyn FnMut() -> bool) -> Result<()> {
    for part in parts {
        if is_stopped() {
            return Err(Error::Cancelled);
        }
        source.read_at(part.offset, part.buffer)?;
    }
    Ok(())
}

/// Reads some ranges in one vector read; their sizes are checked against the file before memory is taken.
/// Reads ranges, all in one vector read.
///
/// # Errors
/// As [`read_range`].
pub fn read_ranges(source: &dyn Source, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
    let size_bytes = source.size_bytes();
    if let Some(range) = ranges.iter().find(|range| range.end > size_bytes) {
        let (offset, n_bytes) = (range.start, range.end - range.start);
        let url = source.url().to_owned();
        return Err(arrowroot_storage::Error::PastEnd { url, offset, n_bytes, size_bytes }.into());
    }
    let size = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let mut buffers: Vec<Vec<u8>> = ranges.iter().map(|range| vec![0; size(range)]).collect();
    let parts = ranges.iter().zip(&mut buffers).map(|(range, buffer)| Part { offset: range.start, buffer });
    let mut parts: Vec<Part<'_>> = parts.collect();
    read_parts(source, &mut parts)?;
    drop(parts);
    Ok(buffers)
}
