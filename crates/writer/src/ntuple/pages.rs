//! Pages: cutting the elements of a column, encoding and compressing them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::BooleanBuffer;
use arrowroot_format::codec::{CompressionSetting, Compressor};
use arrowroot_format::rntuple::{ColumnType, Encoding, checksum, encode, kernels, pack};
use arrowroot_format::{Error, Result};

use super::elements::{Elements, Part};

/// A page before it is written.
#[derive(Debug, Clone)]
pub(super) struct PageCut {
    /// Places of its column, and of others with the same elements.
    pub(super) columns: Arc<[usize]>,
    /// Its elements of those of the column in the cluster.
    pub(super) elements: Range<usize>,
    /// Bytes when uncompressed.
    pub(super) n_bytes: usize,
}

/// A page that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenPage {
    /// Places of its column, and of others with the same elements.
    pub(super) columns: Arc<[usize]>,
    /// Number of elements.
    pub(super) n_elements: u32,
    /// Bytes as stored, without the checksum behind them.
    pub(super) stored_bytes: usize,
    /// Bytes when uncompressed.
    pub(super) n_bytes: usize,
    /// The checksum behind it.
    pub(super) checksum: u64,
    /// How it was compressed.
    pub(super) setting: CompressionSetting,
}

/// Cuts the elements of a column into pages of `page_bytes`, and one of the rest, as ROOT does: there are as many as if all
/// were equally long, and columns that begin alike have equal pages, which are stored once.
pub(super) fn cut(
    columns: &Arc<[usize]>,
    column_type: ColumnType,
    n_elements: usize,
    page_bytes: usize,
) -> Vec<PageCut> {
    let bits = usize::from(column_type.bits).max(1);
    let most = (page_bytes.saturating_mul(8) / bits).clamp(1, i32::MAX.unsigned_abs() as usize);
    let page = |start: usize| {
        let elements = start..n_elements.min(start.saturating_add(most));
        let n_bytes = (elements.len() * bits).div_ceil(8);
        PageCut { columns: Arc::clone(columns), elements, n_bytes }
    };
    (0..n_elements).step_by(most).map(page).collect()
}

/// Encodes and compresses a page, and appends it to `out` with its checksum. `scratch`: memory for the page.
///
/// # Errors
/// Unsupported for a compression setting that is not written.
pub(super) fn write_page(
    cut: &PageCut,
    column_type: ColumnType,
    elements: &Elements,
    setting: CompressionSetting,
    compressor: &mut Compressor,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<WrittenPage> {
    let start = out.len();
    if setting.algorithm()?.is_none() {
        if !append_plain(cut, column_type, elements, out) {
            out.resize(start + cut.n_bytes, 0);
            encode_page(cut, column_type, elements, &mut out[start..])?;
        }
    } else {
        // The whole page is written over, but for the bits behind the last bool.
        scratch.resize(cut.n_bytes, 0);
        encode_page(cut, column_type, elements, scratch)?;
        compressor.compress(setting, scratch, out)?;
    }
    let stored_bytes = out.len() - start;
    let sum = checksum(&out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
    let n_elements = u32::try_from(cut.elements.len());
    let n_elements = n_elements.map_err(|_| Error::unsupported(0, "a page of 2^32 elements or more"))?;
    let columns = Arc::clone(&cut.columns);
    Ok(WrittenPage { columns, n_elements, stored_bytes, n_bytes: cut.n_bytes, checksum: sum, setting })
}

/// Appends the elements of a page if their bytes are those that they have in memory; false if not.
fn append_plain(cut: &PageCut, column_type: ColumnType, elements: &Elements, out: &mut Vec<u8>) -> bool {
    let is_plain = matches!(column_type.encoding, Some(Encoding::Plain(_))) && cfg!(target_endian = "little");
    let parts = || elements.parts_in(cut.elements.clone());
    if !is_plain || !parts().all(|(part, ..)| matches!(part, Part::Numbers { .. })) {
        return false;
    }
    for (part, range, _) in parts() {
        if let Part::Numbers { values, width } = part {
            out.extend_from_slice(&values[range.start * width..range.end * width]);
        }
    }
    true
}

/// Makes a page, uncompressed.
pub(super) fn encode_page(cut: &PageCut, column_type: ColumnType, elements: &Elements, page: &mut [u8]) -> Result<()> {
    let n = cut.elements.len();
    let unexpected = || Error::unsupported(0, format!("such values in a column of type {}", column_type.name()));
    let encoding = column_type.encoding.ok_or_else(unexpected)?;
    match (encoding, page.last_mut()) {
        (Encoding::Bit, Some(last)) => *last = 0,
        (Encoding::Truncated { .. } | Encoding::Quantized { .. }, _) => page.fill(0),
        _ => {}
    }
    for (part, range, at) in elements.parts_in(cut.elements.clone()) {
        match (part, encoding) {
            (Part::Numbers { values, width }, _) => {
                numbers(&values[range.start * width..range.end * width], *width, encoding, page, n, at)?;
            }
            (Part::Picked { values, width, valid }, _) => {
                let values = picked(values, *width, valid, range);
                numbers(&values, *width, encoding, page, n, at)?;
            }
            (Part::Bits(bits), Encoding::Bit) => {
                let range = bits.offset() + range.start..bits.offset() + range.end;
                kernels::copy_bits(bits.values(), &range, page, at);
            }
            (Part::Ends { offsets, shift }, Encoding::Index { is_delta, .. }) => {
                ends(&offsets[range.start..=range.end], *shift, is_delta, page, n, at);
            }
            (Part::Valid { valid, before }, Encoding::Index { is_delta, .. }) => {
                let skipped = valid.slice(0, range.start).count_set_bits();
                let skipped = i64::try_from(skipped).map_err(|_| unexpected())?;
                let mut end = before + skipped;
                let mut offsets = Vec::with_capacity(range.len() + 1);
                offsets.push(end);
                offsets.extend(valid.slice(range.start, range.len()).iter().map(|is_there| {
                    end += i64::from(is_there);
                    end
                }));
                ends(&offsets, 0, is_delta, page, n, at);
            }
            _ => return Err(unexpected()),
        }
    }
    Ok(())
}

fn numbers(values: &[u8], width: usize, encoding: Encoding, page: &mut [u8], n: usize, at: usize) -> Result<()> {
    match encoding {
        Encoding::Truncated { bits } => pack::truncated(values, width, bits, page, at).map_err(|value| {
            outside(
                value,
                format_args!("Real32Trunc:{bits}"),
                "its range is that of single precision, store it as it is",
            )
        })?,
        Encoding::Quantized { bits, min, max } => {
            pack::quantized(values, width, bits, (min, max), page, at).map_err(|value| {
                outside(value, format_args!("Real32Quant:{bits}[{min:?},{max:?}]"), "make its range larger")
            })?;
        }
        Encoding::Split(_) => encode::split(values, width, page, n, at),
        Encoding::ZigZag(_) => encode::split_zigzag(values, width, page, n, at),
        // They are as they are stored, whatever the machine's byte order.
        Encoding::Switch => page[at * width..at * width + values.len()].copy_from_slice(values),
        _ => kernels::copy_plain(values, &(0..values.len() / width), width, &mut page[at * width..]),
    }
    Ok(())
}

/// A value that a reduced precision has no room for.
fn outside(value: f64, precision: fmt::Arguments<'_>, remedy: &str) -> Error {
    Error::unsupported(0, format!("a value of {value:?}, where {precision} was asked for: {remedy}"))
}

fn ends(offsets: &[i64], shift: i64, is_delta: bool, page: &mut [u8], n: usize, at: usize) {
    if is_delta {
        encode::split_ends(offsets, shift, page, n, at);
    } else {
        encode::ends(offsets, shift, page, at);
    }
}

/// The numbers that are there, of which `range` are wanted.
fn picked(values: &[u8], width: usize, valid: &BooleanBuffer, range: Range<usize>) -> Vec<u8> {
    match width {
        1 => picked_chunks(values.as_chunks::<1>().0, valid, range),
        2 => picked_chunks(values.as_chunks::<2>().0, valid, range),
        4 => picked_chunks(values.as_chunks::<4>().0, valid, range),
        _ => picked_chunks(values.as_chunks::<8>().0, valid, range),
    }
}

fn picked_chunks<const N: usize>(values: &[[u8; N]], valid: &BooleanBuffer, range: Range<usize>) -> Vec<u8> {
    const WORD: usize = 64;
    let mut numbers: Vec<[u8; N]> = Vec::with_capacity(range.len() + WORD);
    // Numbers that are there before a word, and those of the first word of the range that are not in it.
    let (mut before, mut skipped) = (0, 0);
    for (word, values) in valid.bit_chunks().iter_padded().zip(values.chunks(WORD)) {
        let n_there = word.count_ones() as usize;
        if before + n_there > range.start {
            if numbers.is_empty() {
                skipped = range.start - before;
            }
            if n_there == values.len() {
                numbers.extend_from_slice(values);
            } else {
                let mut left = word;
                while left != 0 {
                    numbers.extend(values.get(left.trailing_zeros() as usize));
                    left &= left - 1;
                }
            }
        }
        before += n_there;
        if before >= range.end {
            break;
        }
    }
    numbers.truncate(skipped + range.len());
    numbers.drain(..skipped.min(numbers.len()));
    numbers.into_flattened()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_that_are_there_are_picked(bits in prop::collection::vec(any::<bool>(), 0..400), dense in 0_usize..400, cut in any::<(prop::sample::Index, prop::sample::Index)>(), skip in 0_usize..9) {
            let mut bits = bits;
            let n_dense = dense.min(bits.len());
            bits[..n_dense].fill(true);
            let skip = skip.min(bits.len());
            let valid: BooleanBuffer = bits.iter().copied().collect();
            let valid = valid.slice(skip, bits.len() - skip);
            let there: Vec<u32> = (0..).zip(&bits[skip..]).filter_map(|(index, is_there)| is_there.then_some(index)).collect();
            let (a, b) = (cut.0.index(there.len() + 1), cut.1.index(there.len() + 1));
            let range = a.min(b)..a.max(b);
            let values: Vec<u8> = (0_u32..).take(bits.len() - skip).flat_map(u32::to_ne_bytes).collect();
            let found = picked(&values, 4, &valid, range.clone());
            let expected: Vec<u8> = there[range].iter().flat_map(|value| value.to_ne_bytes()).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn pages_are_full_but_for_the_last_and_hold_all(n_elements in 0_usize..100_000, page_bytes in 1_usize..5_000, wide in any::<bool>()) {
            let column_type = ColumnType::of(if wide { Encoding::Switch } else { Encoding::Bit }).unwrap();
            let pages = cut(&[3, 5].into(), column_type, n_elements, page_bytes);
            let mut end = 0;
            for page in &pages {
                prop_assert_eq!((&page.columns[..], page.elements.start), (&[3, 5][..], end));
                prop_assert!(page.n_bytes <= page_bytes || page.elements.len() == 1);
                end = page.elements.end;
            }
            prop_assert_eq!(end, n_elements);
            let lengths: Vec<usize> = pages.iter().map(|page| page.elements.len()).collect();
            let most = page_bytes * 8 / usize::from(column_type.bits);
            prop_assert!(lengths.iter().rev().skip(1).all(|length| *length == most.max(1)));
        }
    }
}
