//! Compression blocks: how the payload of a record is packed, and the unpacking of it.

use std::fmt;

use crate::error::{Error, Result, Within};

mod compress;
#[cfg(test)]
mod tests;

pub use compress::Compressor;

/// Bytes before each compressed block: two of magic, one of method, three of each size (little-endian).
/// Source: `R__unzip_header` (ROOT 6.40).
pub const BLOCK_HEADER_BYTES: usize = 9;

/// Bytes of the XXH64 checksum between the header and the data of an LZ4 block.
const LZ4_CHECKSUM_BYTES: usize = 8;

/// liblzma needs the dictionary and some 100 kB; no ROOT preset has a dictionary larger than 64 MiB.
const LZMA_MEMORY_BYTES: u64 = (128 << 20) + (1 << 20);

/// A compression algorithm, as the first bytes of a block name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// `ZL`: deflate with the header and checksum of zlib.
    Zlib,
    /// `CS`: deflate without them, as ROOT wrote it before it used zlib.
    OldDeflate,
    /// `XZ`: LZMA2 in an xz container.
    Lzma,
    /// `L4`: an LZ4 block after a checksum of it.
    Lz4,
    /// `ZS`: a Zstandard frame.
    Zstd,
}

impl Algorithm {
    /// The algorithm of a block that starts with these three bytes; the method byte is checked as ROOT does.
    fn of_magic(magic: [u8; 3]) -> Option<Self> {
        match magic {
            [b'Z', b'L', 8] => Some(Algorithm::Zlib),
            [b'C', b'S', 8] => Some(Algorithm::OldDeflate),
            [b'X', b'Z', 0] => Some(Algorithm::Lzma),
            [b'L', b'4', _] => Some(Algorithm::Lz4),
            [b'Z', b'S', 1] => Some(Algorithm::Zstd),
            _ => None,
        }
    }

    /// No block holds more than so many times its size, whatever is in it.
    fn max_ratio(self) -> usize {
        match self {
            // A match of 258 bytes takes two bits at least.
            Algorithm::Zlib | Algorithm::OldDeflate => 1032,
            // At best 14 decisions of 1/45 bit each make a match of 273 bytes.
            Algorithm::Lzma => 1 << 13,
            // Each byte adds at most 255 to the length of a match.
            Algorithm::Lz4 => 255,
            // A block of 4 bytes repeats one byte 128 Ki times.
            Algorithm::Zstd => 1 << 15,
        }
    }

    /// The first bytes of its blocks. The third of LZ4 is the major version of its library, which ROOT does not compare.
    fn magic(self) -> [u8; 3] {
        match self {
            Algorithm::Zlib => [b'Z', b'L', 8],
            Algorithm::OldDeflate => [b'C', b'S', 8],
            Algorithm::Lzma => [b'X', b'Z', 0],
            Algorithm::Lz4 => [b'L', b'4', 1],
            Algorithm::Zstd => [b'Z', b'S', 1],
        }
    }

    /// Name in lower case, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Zlib => "zlib",
            Algorithm::OldDeflate => "deflate",
            Algorithm::Lzma => "lzma",
            Algorithm::Lz4 => "lz4",
            Algorithm::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The algorithm of the first block of a compressed payload; `None` if it starts with no block.
///
/// Whether a payload is compressed at all is decided by its sizes alone: see [`Decompressor::decompress`].
pub fn first_block(stored: &[u8]) -> Option<Algorithm> {
    stored.first_chunk::<3>().and_then(|magic| Algorithm::of_magic(*magic))
}

/// Checks that the heads of the blocks of a compressed payload promise `object_bytes`, no more and no less: worth it
/// before so much memory is taken.
///
/// # Errors
/// As [`Decompressor::decompress`].
pub fn check_blocks(stored: &[u8], object_bytes: usize) -> Result<()> {
    let (mut position, mut promised) = (0, 0_usize);
    while promised < object_bytes {
        let block = Block::parse(&stored[position..], position)?;
        if block.uncompressed_bytes == 0 {
            return Err(Error::corrupt(position, "a block of no bytes"));
        }
        if block.uncompressed_bytes > block.data.len().saturating_mul(block.algorithm.max_ratio()) {
            let (n_bytes, stored_bytes) = (block.uncompressed_bytes, block.data.len());
            return Err(Error::corrupt(
                position,
                format!("a {} block of {stored_bytes} bytes cannot hold {n_bytes}", block.algorithm),
            ));
        }
        promised = promised.saturating_add(block.uncompressed_bytes);
        position += BLOCK_HEADER_BYTES + block.data.len();
    }
    if promised == object_bytes {
        Ok(())
    } else {
        Err(Error::corrupt(0, format!("blocks of {promised} bytes for an object of {object_bytes}")))
    }
}

/// A compression setting: 100 times the algorithm, plus the level. It says how new data would be written, not how
/// what is there was written.
///
/// Source: `ROOT::RCompressionSetting` (ROOT 6.40).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CompressionSetting(pub i32);

impl CompressionSetting {
    /// No compression.
    pub const NONE: CompressionSetting = CompressionSetting(0);

    /// An algorithm and a level from 0 (none) to 9. Old deflate is not written.
    ///
    /// # Errors
    /// Unsupported for other levels, and for old deflate.
    pub fn new(algorithm: Algorithm, level: u8) -> Result<Self> {
        let number = match algorithm {
            Algorithm::Zlib => 100,
            Algorithm::Lzma => 200,
            Algorithm::Lz4 => 400,
            Algorithm::Zstd => 500,
            Algorithm::OldDeflate => return Err(Error::unsupported(0, "old deflate is read, but not written")),
        };
        match level {
            0..=9 => Ok(CompressionSetting(number + i32::from(level))),
            _ => Err(Error::unsupported(0, format!("{algorithm} of level {level}: levels are 0 (none) to 9"))),
        }
    }

    /// Itself, or another one where nothing can be written with it: it is inherited, or of old deflate.
    #[must_use]
    pub fn or(self, other: CompressionSetting) -> CompressionSetting {
        if self.algorithm().is_ok() { self } else { other }
    }

    /// Algorithm and level of data that is written with this setting; `None` if it is not compressed.
    ///
    /// # Errors
    /// Unsupported for algorithms that are not written, and for an inherited setting.
    pub fn algorithm(self) -> Result<Option<(Algorithm, u8)>> {
        let level = u8::try_from(self.0 % 100).unwrap_or_default();
        let algorithm = match self.0 / 100 {
            _ if self.0 < 0 => return Err(Error::unsupported(0, "a compression setting that is inherited")),
            _ if level == 0 => return Ok(None),
            0 | 1 => Algorithm::Zlib,
            2 => Algorithm::Lzma,
            4 => Algorithm::Lz4,
            5 => Algorithm::Zstd,
            _ => return Err(Error::unsupported(0, format!("compression setting {} ({self})", self.0))),
        };
        match level {
            1..=9 => Ok(Some((algorithm, level))),
            _ => Err(Error::unsupported(0, format!("{algorithm} of level {level}: levels are 0 (none) to 9"))),
        }
    }
}

impl fmt::Display for CompressionSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (algorithm, level) = (self.0 / 100, self.0 % 100);
        if self.0 < 0 {
            return f.write_str("inherited");
        }
        if level == 0 {
            return f.write_str("none");
        }
        match algorithm {
            // Below 100 the setting is a bare zlib level (before ROOT 5.30).
            0 | 1 => write!(f, "zlib {level}"),
            2 => write!(f, "lzma {level}"),
            3 => write!(f, "deflate {level}"),
            4 => write!(f, "lz4 {level}"),
            5 => write!(f, "zstd {level}"),
            _ => write!(f, "algorithm {algorithm} level {level}"),
        }
    }
}

/// One compression block: where it is, and what it says of itself.
#[derive(Debug, Clone, Copy)]
struct Block<'a> {
    algorithm: Algorithm,
    /// What follows the header, the checksum of LZ4 included.
    data: &'a [u8],
    uncompressed_bytes: usize,
}

impl<'a> Block<'a> {
    /// The block at the start of `stored`, which is at `offset` of the payload.
    fn parse(stored: &'a [u8], offset: usize) -> Result<Self> {
        let Some(&[m0, m1, method, c0, c1, c2, u0, u1, u2]) = stored.first_chunk::<BLOCK_HEADER_BYTES>() else {
            return Err(Error::truncated(
                offset,
                format!("a block header of {BLOCK_HEADER_BYTES} bytes expected, {} left", stored.len()),
            ));
        };
        let algorithm = Algorithm::of_magic([m0, m1, method]).ok_or_else(|| {
            Error::corrupt(
                offset,
                format!("no compression algorithm starts with the bytes {m0:02x} {m1:02x} {method:02x}"),
            )
        })?;
        let compressed_bytes = u32::from_le_bytes([c0, c1, c2, 0]) as usize;
        let uncompressed_bytes = u32::from_le_bytes([u0, u1, u2, 0]) as usize;
        let rest = &stored[BLOCK_HEADER_BYTES..];
        let Some(data) = rest.get(..compressed_bytes) else {
            return Err(Error::truncated(
                offset,
                format!("a {algorithm} block of {compressed_bytes} bytes, {} left", rest.len()),
            ));
        };
        Ok(Block { algorithm, data, uncompressed_bytes })
    }
}

/// Checks what the payload of a record says of itself without unpacking it: the sizes of its blocks, and the checksums that LZ4's
/// have. `object_bytes`: of the object, as the key says.
///
/// # Errors
/// As [`Decompressor::decompress`].
pub fn check_packed(stored: &[u8], object_bytes: usize) -> Result<()> {
    if stored.len() >= object_bytes {
        return Ok(());
    }
    let (mut position, mut filled) = (0, 0);
    while filled < object_bytes {
        let block = Block::parse(&stored[position..], position)?;
        if block.uncompressed_bytes == 0 || block.uncompressed_bytes > object_bytes - filled {
            let what = format!(
                "a {} block of {} uncompressed bytes, where {} are to come",
                block.algorithm,
                block.uncompressed_bytes,
                object_bytes - filled
            );
            return Err(Error::corrupt(position, what));
        }
        if block.algorithm == Algorithm::Lz4 {
            checked_lz4(block.data).map_err(|what| Error::corrupt(position, format!("lz4 block: {what}")))?;
        }
        filled += block.uncompressed_bytes;
        position += BLOCK_HEADER_BYTES + block.data.len();
    }
    Ok(())
}

/// Unpacks payloads. It keeps the state of its libraries, so have one for each thread.
#[derive(Default)]
pub struct Decompressor {
    deflate: Option<libdeflater::Decompressor>,
    zstd: Option<zstd_safe::DCtx<'static>>,
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}

impl Decompressor {
    /// A decompressor; the state of each library is made when it is first needed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Unpacks the payload of a record into `out`, which it fills.
    ///
    /// `stored`: what follows the key of the record. `out`: as long as the key says the object is (fObjlen). If
    /// `stored` is not shorter than `out`, it is not compressed. Allocates nothing in proportion to either, but
    /// for LZMA up to 129 MiB of dictionary.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the blocks end before `out` is full, [`Error::Corrupt`] for an unknown algorithm, a
    /// wrong size or checksum, or what the library rejects; then `out` holds nothing of use.
    pub fn decompress(&mut self, stored: &[u8], out: &mut [u8]) -> Result<()> {
        if let Some(plain) = stored.get(..out.len()) {
            out.copy_from_slice(plain);
            return Ok(());
        }
        let object_bytes = out.len();
        let (mut position, mut filled, mut n_blocks) = (0, 0, 0_usize);
        while filled < object_bytes {
            n_blocks += 1;
            let within = || format!("block {n_blocks} of a compressed object of {object_bytes} bytes");
            let block = Block::parse(&stored[position..], position).within(within)?;
            // A block of no bytes would be no progress: no writer makes one.
            if block.uncompressed_bytes == 0 || block.uncompressed_bytes > object_bytes - filled {
                return Err(Error::corrupt(
                    position,
                    format!(
                        "a {} block of {} uncompressed bytes, where {} are to come",
                        block.algorithm,
                        block.uncompressed_bytes,
                        object_bytes - filled
                    ),
                )
                .within(within()));
            }
            let end = filled + block.uncompressed_bytes;
            self.block(&block, &mut out[filled..end]).map_err(|what| {
                Error::corrupt(
                    position,
                    format!(
                        "{} block of {} bytes for {} uncompressed ones: {what}",
                        block.algorithm,
                        block.data.len(),
                        block.uncompressed_bytes
                    ),
                )
                .within(within())
            })?;
            filled = end;
            position += BLOCK_HEADER_BYTES + block.data.len();
        }
        Ok(())
    }

    fn block(&mut self, block: &Block<'_>, out: &mut [u8]) -> Result<(), String> {
        let expected = out.len();
        let n_bytes = match block.algorithm {
            Algorithm::Zlib => self.deflate().zlib_decompress(block.data, out).map_err(deflate_message)?,
            Algorithm::OldDeflate => self.deflate().deflate_decompress(block.data, out).map_err(deflate_message)?,
            Algorithm::Lzma => lzma(block.data, out)?,
            Algorithm::Lz4 => lz4(block.data, out)?,
            Algorithm::Zstd => {
                self.zstd()?.decompress(out, block.data).map_err(|code| zstd_safe::get_error_name(code).to_owned())?
            }
        };
        if n_bytes == expected { Ok(()) } else { Err(format!("it holds only {n_bytes}")) }
    }

    fn deflate(&mut self) -> &mut libdeflater::Decompressor {
        self.deflate.get_or_insert_with(libdeflater::Decompressor::new)
    }

    fn zstd(&mut self) -> Result<&mut zstd_safe::DCtx<'static>, String> {
        if self.zstd.is_none() {
            self.zstd = Some(zstd_safe::DCtx::try_create().ok_or("no memory for a zstd context")?);
        }
        self.zstd.as_mut().ok_or_else(|| "no zstd context".to_owned())
    }
}

fn deflate_message(error: libdeflater::DecompressionError) -> String {
    match error {
        libdeflater::DecompressionError::BadData => "the data is not valid deflate, or its checksum differs",
        libdeflater::DecompressionError::InsufficientSpace => "it holds more",
    }
    .to_owned()
}

/// The data of a block behind its checksum, which is right.
fn checked_lz4(data: &[u8]) -> Result<&[u8], String> {
    let Some((stored, data)) = data.split_first_chunk::<LZ4_CHECKSUM_BYTES>() else {
        return Err("too short for its checksum".to_owned());
    };
    let (stored, computed) = (u64::from_be_bytes(*stored), twox_hash::XxHash64::oneshot(0, data));
    if stored != computed {
        return Err(format!("its checksum should be {stored:016x} and is {computed:016x}"));
    }
    Ok(data)
}

fn lz4(data: &[u8], out: &mut [u8]) -> Result<usize, String> {
    let data = checked_lz4(data)?;
    let expected = i32::try_from(out.len()).map_err(|_| "larger than 2 GiB".to_owned())?;
    lz4::block::decompress_to_buffer(data, Some(expected), out)
        .map_err(|_| "the data is not valid LZ4, or holds more".to_owned())
}

fn lzma(data: &[u8], out: &mut [u8]) -> Result<usize, String> {
    use liblzma::stream::{Action, Error as LzmaError, Status, Stream};
    let message = |error| match error {
        LzmaError::MemLimit => format!("its dictionary needs more than {LZMA_MEMORY_BYTES} bytes of memory"),
        error => error.to_string(),
    };
    let mut stream = Stream::new_stream_decoder(LZMA_MEMORY_BYTES, 0).map_err(message)?;
    // All input and all room for the output are there: one call does it.
    match stream.process(data, out, Action::Finish).map_err(message)? {
        Status::StreamEnd => usize::try_from(stream.total_out()).map_err(|error| error.to_string()),
        _ => Err("the stream does not end in its block, or holds more".to_owned()),
    }
}
