//! Small baskets that are put together to larger ones.

use arrowroot::format::codec::{CompressionSetting, Decompressor};
use arrowroot::format::tree::{BasketHead, Branch, LeafKind, TreeRecord, append_entry_offsets};
use arrowroot::format::{Error, Result};
use arrowroot_file::unpack;

use super::copy::MadeBasket;
use super::defaults::Default as Filled;

/// Baskets are filled up to the size that the branch has for them, but at least to ROOT's own.
const MIN_TARGET_BYTES: usize = 32_000;
const MAX_TARGET_BYTES: usize = 16 << 20;
/// Bytes around the offsets of entries: their number, and what stands for the end.
const OFFSETS_BYTES: u64 = 8;

/// The bytes up to which small baskets of a branch are put together; `None` if their bytes may refer to others in the basket.
pub(crate) fn target_bytes(record: &TreeRecord, branch: &Branch) -> Option<usize> {
    let is_plain = |kind: &LeafKind| matches!(kind, LeafKind::Number(_) | LeafKind::Text | LeafKind::Element { .. });
    let is_plain = branch.leaves.iter().all(|leaf| is_plain(&record.leaf(*leaf).kind));
    let has_values = matches!(Filled::of(record, branch), Ok(Filled::Fixed(_) | Filled::Offset(_)));
    // Members of split collections are numbers, or anything.
    let is_known = branch.element.as_ref().is_none_or(|element| matches!(element.node_type, 0 | 3 | 4));
    let size = usize::try_from(branch.basket_bytes).unwrap_or(0);
    (is_plain && has_values && is_known).then(|| size.clamp(MIN_TARGET_BYTES, MAX_TARGET_BYTES))
}

/// A small basket, unpacked.
#[derive(Debug, Clone)]
pub(crate) struct HeldBasket {
    /// Its number in the branch.
    pub(crate) number: usize,
    pub(crate) n_entries: u32,
    /// Its bytes as they were stored, without its key.
    pub(crate) stored_bytes: u32,
    pub(crate) data: Vec<u8>,
    /// Bytes of each entry, or where each begins.
    entries: EntryPlaces,
}

#[derive(Debug, Clone)]
enum EntryPlaces {
    Equal(u32),
    Starts(Vec<u32>),
}

impl HeldBasket {
    /// A basket of a record; `None` if its entries are stored in another way than one behind the other.
    ///
    /// # Errors
    /// If it is damaged.
    pub(crate) fn of(
        number: usize,
        head: &BasketHead,
        record: &[u8],
        decompressor: &mut Decompressor,
    ) -> Result<Option<HeldBasket>> {
        if head.offsets_are_sizes || head.offsets_generated || head.pid_offset != 0 {
            return Ok(None);
        }
        let stored = record.get(head.key_bytes as usize..).unwrap_or_default();
        let mut data = Vec::new();
        unpack(decompressor, stored, head.payload_bytes as usize, &mut data)?;
        let (n_entries, data_bytes) = (head.n_entries, head.data_bytes);
        let entries = match head.stored_offsets(&data)? {
            Some(offsets) => {
                let offsets = offsets.as_chunks::<4>().0.iter();
                let starts = offsets.map(|offset| u32::from_be_bytes(*offset).checked_sub(head.key_bytes));
                let Some(starts) = starts.collect::<Option<Vec<u32>>>() else { return Ok(None) };
                let is_plain = u64::from(head.payload_bytes)
                    == u64::from(data_bytes) + OFFSETS_BYTES + 4 * u64::from(n_entries)
                    && starts.first() == Some(&0)
                    && starts.is_sorted()
                    && starts.last().is_some_and(|last| *last <= data_bytes);
                if !is_plain {
                    return Ok(None);
                }
                EntryPlaces::Starts(starts)
            }
            None => {
                let n_bytes = u64::from(head.entry_bytes) * u64::from(n_entries);
                if n_bytes != u64::from(data_bytes) || head.payload_bytes != data_bytes {
                    return Ok(None);
                }
                EntryPlaces::Equal(head.entry_bytes)
            }
        };
        data.truncate(data_bytes as usize);
        let stored_bytes = head.stored_bytes.saturating_sub(head.key_bytes);
        Ok(Some(HeldBasket { number, n_entries, stored_bytes, data, entries }))
    }

    /// True if entries of both are stored in the same way, one basket behind the other.
    pub(crate) fn goes_before(&self, next: &HeldBasket) -> bool {
        let is_alike = match (&self.entries, &next.entries) {
            (EntryPlaces::Equal(one), EntryPlaces::Equal(other)) => one == other,
            (EntryPlaces::Starts(_), EntryPlaces::Starts(_)) => true,
            _ => false,
        };
        is_alike && self.number + 1 == next.number
    }
}

/// One basket of several.
///
/// # Errors
/// Unsupported if it has more than 4 GiB.
pub(crate) fn joined(
    group: &[HeldBasket],
    (branch, tree): (&str, &str),
    compression: CompressionSetting,
) -> Result<MadeBasket> {
    let new = BasketHead::new(branch, tree)?;
    let size = |n_bytes: usize| u32::try_from(n_bytes).map_err(|_| Error::unsupported(0, "a basket of 4 GiB"));
    let (mut payload, mut starts, mut entry_bytes) = (Vec::new(), Vec::new(), 0);
    for HeldBasket { data, entries, .. } in group {
        let first = new.key_bytes.saturating_add(size(payload.len())?);
        match entries {
            EntryPlaces::Equal(n_bytes) => entry_bytes = *n_bytes,
            EntryPlaces::Starts(of_basket) => starts.extend(of_basket.iter().map(|start| first.saturating_add(*start))),
        }
        payload.extend_from_slice(data);
    }
    let data_bytes = size(payload.len())?;
    if !starts.is_empty() {
        // ROOT's room for the offsets.
        entry_bytes = size(starts.len())?;
        append_entry_offsets(&mut payload, &starts)?;
    }
    let n_entries = group.iter().fold(0, |sum: u32, held| sum.saturating_add(held.n_entries));
    let buffer_bytes = i32::try_from(payload.len()).unwrap_or(i32::MAX);
    let head = BasketHead { buffer_bytes, data_bytes, n_entries, entry_bytes, ..new };
    Ok(MadeBasket { head, branch: branch.to_owned(), tree: tree.to_owned(), compression, payload })
}
