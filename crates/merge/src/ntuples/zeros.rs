//! Pages of zeros, for columns that an input lacked. Those of one size are stored once.

use ahash::{HashMap, HashMapExt};
use arrowroot_format as format;
use arrowroot_writer::FileWriter;
use arrowroot_writer::ntuple::CopiedNtuple;
use format::codec::{CompressionSetting, Compressor};
use format::rntuple::{Encoding, NtupleColumn, Page, checksum, pack};

use crate::error::Result;

/// Bytes of a page before it is compressed, at most. ROOT's default is the same.
const PAGE_BYTES: u64 = 1 << 20;
/// Pages of zeros of one column in one cluster: more is what a wrong number looks like.
const MAX_PAGES: u64 = 1 << 12;
/// Sizes of pages that are remembered.
const MAX_KNOWN: usize = 1 << 12;

/// The pages that were written.
pub(super) struct Zeros {
    compression: CompressionSetting,
    compressor: Compressor,
    /// Where those are that have so many bytes, and bytes as they are stored. What zero is depends on the type of a column.
    known: HashMap<(usize, Vec<u8>), (u64, u64)>,
}

impl Zeros {
    pub(super) fn new(compression: CompressionSetting) -> Zeros {
        Zeros { compression, compressor: Compressor::new(), known: HashMap::new() }
    }

    /// How they are compressed.
    pub(super) fn compression(&self) -> u32 {
        self.compression.0.unsigned_abs()
    }

    /// Adds pages of so many zeros to `pages`.
    ///
    /// # Errors
    /// If zero is no value of the column, or there are too many; errors of writing.
    pub(super) fn add(
        &mut self,
        column: &NtupleColumn,
        n_elements: u64,
        pages: &mut Vec<Page>,
        out: &mut CopiedNtuple,
        file: &FileWriter,
    ) -> Result<()> {
        let bits = u64::from(column.column_type.bits).max(1);
        let most = (PAGE_BYTES * 8 / bits).max(1);
        if n_elements.div_ceil(most) > MAX_PAGES {
            let what = format!("{n_elements} zeros in one cluster, for a column that an input lacks");
            return Err(arrowroot_writer::Error::InvalidRequest { what }.into());
        }
        let pattern = pattern(column)?;
        let mut left = n_elements;
        while left > 0 {
            let n = left.min(most);
            left -= n;
            let n_bytes = column.column_type.page_bytes(n).unwrap_or(usize::MAX);
            let (offset, stored_bytes) = self.page(n_bytes, &pattern, out, file)?;
            let n_elements = u32::try_from(n).unwrap_or(u32::MAX);
            pages.push(Page { offset, stored_bytes, n_elements, has_checksum: true, is_elsewhere: false });
        }
        Ok(())
    }

    fn page(
        &mut self,
        n_bytes: usize,
        pattern: &[u8],
        out: &mut CopiedNtuple,
        file: &FileWriter,
    ) -> Result<(u64, u64)> {
        let key = (n_bytes, pattern.to_vec());
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        let plain: Vec<u8> =
            if pattern.is_empty() { vec![0; n_bytes] } else { pattern.iter().copied().cycle().take(n_bytes).collect() };
        let mut bytes = Vec::new();
        self.compressor.compress(self.compression, &plain, &mut bytes).map_err(arrowroot_writer::Error::from)?;
        let (stored_bytes, sum) = (bytes.len() as u64, checksum(&bytes));
        bytes.extend_from_slice(&sum.to_le_bytes());
        let offset = out.append(file, &[&bytes], n_bytes)?;
        self.known.insert(key, (offset, stored_bytes));
        Ok((offset, stored_bytes))
    }
}

/// The bytes of eight elements that are zero; none if all of them are 0, as in all but one encoding.
fn pattern(column: &NtupleColumn) -> Result<Vec<u8>> {
    let Some(Encoding::Quantized { bits, min, max }) = column.column_type.encoding else { return Ok(Vec::new()) };
    let mut bytes = vec![0; usize::from(bits)];
    let packed = pack::quantized(&[0; 64], 8, bits, (min, max), &mut bytes, 0);
    packed.map_err(|_| {
        let what = format!("a column of values from {min} to {max} that an input lacks: zero is none of them");
        arrowroot_writer::Error::InvalidRequest { what }
    })?;
    Ok(bytes)
}
