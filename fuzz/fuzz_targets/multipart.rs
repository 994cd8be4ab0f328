//! Answers of HTTP servers: several ranges in one body, whatever the server claims and however its bytes arrive.
//!
//! Input: the size of chunks, the number of ranges that were asked for, gap and length of each, the body. The boundary is
//! `b`, the file has 64 KiB.
#![no_main]

use arrowroot_storage::Part;
use arrowroot_storage::http::{ContentRange, Multipart, Receiver, Slots, Wrong};
use libfuzzer_sys::fuzz_target;

const FILE_BYTES: u64 = 64 << 10;

fuzz_target!(|data: &[u8]| {
    let Some((&[chunk_bytes, n_ranges], rest)) = data.split_first_chunk::<2>() else { return };
    let n_ranges = usize::from(n_ranges % 16) + 1;
    let Some((shape, body)) = rest.split_at_checked(2 * n_ranges) else { return };
    let mut ranges = Vec::new();
    let mut end = 0;
    for &[gap, n_bytes] in shape.as_chunks::<2>().0 {
        let start = end + u64::from(gap);
        end = start + u64::from(n_bytes) + 1;
        ranges.push((start, end));
    }
    let whole = take(body, body.len().max(1), &ranges);
    let pieces = take(body, usize::from(chunk_bytes) + 1, &ranges);
    assert_eq!(whole.is_ok(), pieces.is_ok(), "{whole:?} {pieces:?}");
    if let (Ok(whole), Ok(pieces)) = (whole, pieces) {
        assert_eq!(whole, pieces);
    }
    if let Some(content) = std::str::from_utf8(body).ok().and_then(ContentRange::parse) {
        assert!(content.range.start < content.range.end);
        assert!(content.total_bytes.is_none_or(|total| content.range.end <= total));
    }
});

/// The bytes of the ranges, if the answer has them all.
fn take(body: &[u8], chunk_bytes: usize, ranges: &[(u64, u64)]) -> Result<Vec<Vec<u8>>, Wrong> {
    let mut buffers: Vec<_> = ranges.iter().map(|(start, end)| vec![0; (end - start) as usize]).collect();
    let parts = ranges.iter().zip(&mut buffers);
    let mut slots =
        Slots::new(parts.map(|((offset, _), buffer)| Part { offset: *offset, buffer }).collect(), FILE_BYTES);
    let mut parser = Multipart::new("multipart/byteranges; boundary=b").unwrap();
    for chunk in body.chunks(chunk_bytes) {
        let straight = parser.body().filter(|(_, n_left)| *n_left >= chunk.len() as u64);
        // Every other way, bytes go to their place without the parser.
        let space = straight.and_then(|(offset, _)| Some((offset, slots.space(offset)?)));
        match space {
            Some((offset, space)) if space.len() >= chunk.len() => {
                space[..chunk.len()].copy_from_slice(chunk);
                slots.filled(offset, chunk.len());
                parser.advance(chunk.len());
            }
            _ => parser.push(chunk, &mut slots)?,
        }
    }
    parser.finish()?;
    match slots.into_missing().len() {
        0 => Ok(buffers),
        n_missing => Err(Wrong(format!("{n_missing} parts are missing"))),
    }
}
