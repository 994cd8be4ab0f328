//! Codecs that are found by trial: what does best with the first values of a column.
//!
//! No clock is read, so the same data give the same file. What a codec costs stands in a table, and what it gains is seen.

use std::sync::OnceLock;

use arrowroot_format::codec::{CompressionSetting, Compressor};

use crate::error::Result;
use crate::settings::ColumnCodec;

/// So many bytes of the first piece of a column are tried.
pub(crate) const SAMPLE_BYTES: usize = 64 << 10;
/// The cost of a stored byte, in tenths of ns: that of a disk or line of 50 MB/s.
const STORED_BYTE: u64 = 200;
/// The candidates, and what a byte before compression costs in tenths of ns: to unpack it, and a tenth of packing it, as a file is
/// read more often than it is written. zlib packs and unpacks slower than zstd for the same size; levels above 5, and lzma, cost
/// more than they save there.
///
/// Source: measured on the columns of `arrowroot sample nanoaod`, 64 KiB of each, on one core of an AMD EPYC: lz4 packs 1.1 and
/// unpacks 0.3 ns a byte, zstd 2 (501) 2.7 and 0.9, zstd 10 (505) 20 and 0.9.
const CANDIDATES: [(CompressionSetting, u64); 4] = [
    (CompressionSetting::NONE, 0),
    (CompressionSetting(401), 4),
    (CompressionSetting(501), 12),
    (CompressionSetting(505), 29),
];

/// How the pieces of a column are compressed.
#[derive(Debug, Clone)]
pub(crate) struct Codec {
    asked: ColumnCodec,
    found: OnceLock<CompressionSetting>,
}

impl Codec {
    pub(crate) fn new(asked: ColumnCodec) -> Self {
        Codec { asked, found: OnceLock::new() }
    }

    /// The setting to compress with. It changes when something is tried, which may be while clusters before are compressed: they
    /// have that of when their tasks were made.
    pub(crate) fn setting(&self) -> CompressionSetting {
        self.found.get().copied().unwrap_or_else(|| self.before_trial())
    }

    /// The setting until anything was tried: that which ROOT recommends in general.
    pub(crate) fn before_trial(&self) -> CompressionSetting {
        match self.asked {
            ColumnCodec::Set(setting) => setting,
            ColumnCodec::Tried => CompressionSetting(505),
        }
    }

    /// True if it is to be found, and was not.
    pub(crate) fn is_open(&self) -> bool {
        self.asked == ColumnCodec::Tried && self.found.get().is_none()
    }

    /// Finds it by the first bytes of the column, as they are before they are compressed. Nothing is found of none.
    ///
    /// # Errors
    /// Errors of compressing.
    pub(crate) fn find(&self, sample: &[u8], compressor: &mut Compressor) -> Result<()> {
        let sample = &sample[..sample.len().min(SAMPLE_BYTES)];
        if sample.is_empty() || !self.is_open() {
            return Ok(());
        }
        let mut out = Vec::with_capacity(sample.len());
        let mut best = (u64::MAX, CompressionSetting::NONE);
        for (setting, cost) in CANDIDATES {
            out.clear();
            let is_smaller = compressor.compress(setting, sample, &mut out)?;
            if setting != CompressionSetting::NONE && !is_smaller {
                continue;
            }
            let cost = out.len() as u64 * STORED_BYTE + sample.len() as u64 * cost;
            if cost < best.0 {
                best = (cost, setting);
            }
        }
        self.found.get_or_init(|| best.1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrowroot_storage::testing::content;

    use super::*;

    fn found(sample: &[u8]) -> i32 {
        let codec = Codec::new(ColumnCodec::Tried);
        assert!(codec.is_open());
        codec.find(sample, &mut Compressor::new()).unwrap();
        codec.setting().0
    }

    #[test]
    fn noise_stays_as_it_is_and_what_repeats_is_packed_cheaply() {
        assert_eq!(found(&content(40_000)), 0);
        assert_eq!(found(&[0; 40_000]), 401);
        // Half of the bytes say nothing: an entropy coder is needed.
        let digits: Vec<u8> = content(40_000).into_iter().map(|byte| byte % 10).collect();
        assert_eq!(found(&digits) / 100, 5);
    }

    #[test]
    fn what_was_found_stays_and_what_was_asked_for_is_not_tried() {
        let codec = Codec::new(ColumnCodec::Tried);
        codec.find(&[], &mut Compressor::new()).unwrap();
        assert!(codec.is_open());
        codec.find(&content(1000), &mut Compressor::new()).unwrap();
        codec.find(&[0; 1000], &mut Compressor::new()).unwrap();
        assert_eq!(codec.setting().0, 0);
        let asked = Codec::new(ColumnCodec::Set(CompressionSetting(207)));
        assert!(!asked.is_open());
        assert_eq!(asked.setting().0, 207);
    }
}
