//! Packing: the opposite of [`Decompressor`](super::Decompressor).

use std::fmt;

use super::{Algorithm, BLOCK_HEADER_BYTES, CompressionSetting, LZ4_CHECKSUM_BYTES};
use crate::error::{Error, Result};

/// A block holds at most so many bytes: its sizes have three. Source: `kMAXZIPBUF` (ROOT 6.40).
const MAX_BLOCK_BYTES: usize = 0xff_ffff;
/// LZ4 of this level and above is its HC variant. Source: `R__zipLZ4`.
const LZ4_HC_LEVEL: u8 = 4;
/// libdeflate's first level makes files of lists 2 to 7 % larger than ROOT's zlib does at its first; the second makes them about
/// as large, and takes hardly longer.
const MIN_DEFLATE_LEVEL: u8 = 2;
/// A block is compressed into memory that is kept for the next one, up to so much.
const MAX_KEPT_BYTES: usize = 1 << 20;
/// The smallest dictionary of LZMA. Source: `LZMA_DICT_SIZE_MIN`.
const MIN_DICTIONARY_BYTES: u32 = 4096;

/// Packs payloads. It keeps the state of its libraries, so have one for each thread. What it makes depends on the data and the
/// setting alone.
#[derive(Default)]
pub struct Compressor {
    deflate: Option<(u8, libdeflater::Compressor)>,
    zstd: Option<zstd_safe::CCtx<'static>>,
    /// Where a block is compressed to: `out` gets no more than it becomes, and nothing is cleared before.
    scratch: Vec<u8>,
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}

impl Compressor {
    /// A compressor; the state of each library is made when it is first needed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the payload of a record to `out`: blocks, or `object` as it is if they would not be smaller. Returns whether it
    /// was compressed.
    ///
    /// # Errors
    /// Unsupported for a setting that is not written; then `out` is as it was.
    ///
    /// # Source
    /// `R__zipMultipleAlgorithm`, `TBasket::WriteBuffer` (ROOT 6.40): one block that does not shrink leaves all as it is.
    pub fn compress(&mut self, setting: CompressionSetting, object: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let start = out.len();
        if let Some((algorithm, level)) = setting.algorithm()? {
            // Blocks of about equal size: a last one of a few bytes would not shrink, and spoil the others.
            let n_blocks = object.len().div_ceil(MAX_BLOCK_BYTES).max(1);
            let block_bytes = object.len().div_ceil(n_blocks).max(1);
            let is_smaller = object.chunks(block_bytes).try_fold(true, |is_smaller, block| {
                if is_smaller { self.block(algorithm, level, block, out) } else { Ok(false) }
            });
            match is_smaller {
                Ok(true) if out.len() - start < object.len() => return Ok(true),
                Ok(_) => out.truncate(start),
                Err(what) => {
                    out.truncate(start);
                    return Err(Error::unsupported(0, format!("{algorithm} {level}: {what}")));
                }
            }
        }
        out.extend_from_slice(object);
        Ok(false)
    }

    /// Appends one block; false if it would not be smaller than what it holds.
    fn block(&mut self, algorithm: Algorithm, level: u8, block: &[u8], out: &mut Vec<u8>) -> Result<bool, String> {
        let checksum_bytes = if algorithm == Algorithm::Lz4 { LZ4_CHECKSUM_BYTES } else { 0 };
        let overhead = BLOCK_HEADER_BYTES + checksum_bytes;
        // Room for what is smaller; libraries say so if that is not enough.
        let mut scratch = std::mem::take(&mut self.scratch);
        if scratch.len() < block.len() {
            scratch.resize(block.len(), 0);
        }
        let room = &mut scratch[..block.len().saturating_sub(overhead)];
        let n_bytes = match algorithm {
            Algorithm::Zlib => self.deflate(level.max(MIN_DEFLATE_LEVEL))?.zlib_compress(block, room).ok(),
            Algorithm::Zstd => self.zstd()?.compress(room, block, i32::from(level) * 2).ok(),
            Algorithm::Lz4 => lz4(level, block, room),
            Algorithm::Lzma => lzma(level, block, room)?,
            Algorithm::OldDeflate => return Err("is read, but not written".to_owned()),
        };
        let n_bytes = n_bytes.filter(|n_bytes| n_bytes + overhead < block.len());
        if let Some(n_bytes) = n_bytes {
            let data = &room[..n_bytes];
            out.reserve(overhead + n_bytes);
            out.extend_from_slice(&algorithm.magic());
            out.extend_from_slice(&three_bytes(n_bytes + checksum_bytes));
            out.extend_from_slice(&three_bytes(block.len()));
            if algorithm == Algorithm::Lz4 {
                out.extend_from_slice(&twox_hash::XxHash64::oneshot(0, data).to_be_bytes());
            }
            out.extend_from_slice(data);
        }
        if scratch.len() <= MAX_KEPT_BYTES {
            self.scratch = scratch;
        }
        Ok(n_bytes.is_some())
    }

    fn deflate(&mut self, level: u8) -> Result<&mut libdeflater::Compressor, String> {
        if self.deflate.as_ref().is_none_or(|(of_level, _)| *of_level != level) {
            let library_level = libdeflater::CompressionLvl::new(i32::from(level)).map_err(|_| "no such level")?;
            self.deflate = Some((level, libdeflater::Compressor::new(library_level)));
        }
        self.deflate.as_mut().map(|(_, compressor)| compressor).ok_or_else(|| "no deflate state".to_owned())
    }

    fn zstd(&mut self) -> Result<&mut zstd_safe::CCtx<'static>, String> {
        if self.zstd.is_none() {
            self.zstd = Some(zstd_safe::CCtx::try_create().ok_or("no memory for a zstd context")?);
        }
        self.zstd.as_mut().ok_or_else(|| "no zstd context".to_owned())
    }
}

/// A size of a block, at most [`MAX_BLOCK_BYTES`], as its header has it.
fn three_bytes(n_bytes: usize) -> [u8; 3] {
    let [first, second, third, ..] = n_bytes.to_le_bytes();
    [first, second, third]
}

fn lz4(level: u8, block: &[u8], room: &mut [u8]) -> Option<usize> {
    use lz4::block::CompressionMode;
    let mode = match level {
        LZ4_HC_LEVEL.. => CompressionMode::HIGHCOMPRESSION(i32::from(level)),
        _ => CompressionMode::DEFAULT,
    };
    lz4::block::compress_to_buffer(block, Some(mode), false, room).ok()
}

/// Source: `R__zipLZMA`: the preset of the level, a dictionary of a quarter of the input at most, CRC32.
fn lzma(level: u8, block: &[u8], room: &mut [u8]) -> Result<Option<usize>, String> {
    use liblzma::stream::{Action, Check, Filters, LzmaOptions, Status, Stream};
    let mut options = LzmaOptions::new_preset(u32::from(level)).map_err(|error| error.to_string())?;
    let quarter = u32::try_from(block.len() / 4).unwrap_or(u32::MAX).max(MIN_DICTIONARY_BYTES);
    options.dict_size(quarter.min(preset_dictionary_bytes(level)));
    let mut filters = Filters::new();
    filters.lzma2(&options);
    let mut stream = Stream::new_stream_encoder(&filters, Check::Crc32).map_err(|error| error.to_string())?;
    match stream.process(block, room, Action::Finish) {
        Ok(Status::StreamEnd) => Ok(usize::try_from(stream.total_out()).ok()),
        Ok(_) => Ok(None), // it does not fit
        Err(error) => Err(error.to_string()),
    }
}

/// Dictionary of a preset. Source: `lzma_lzma_preset` (xz 5.4).
fn preset_dictionary_bytes(level: u8) -> u32 {
    const POWERS: [u32; 10] = [18, 20, 21, 22, 22, 23, 23, 24, 25, 26];
    1 << POWERS[usize::from(level.min(9))]
}
