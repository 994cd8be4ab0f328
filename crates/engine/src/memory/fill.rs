//! Filling columns of memory piece by piece: zeros, bits, and what is wrong if a column is not full in the end.

use std::sync::{Mutex, PoisonError};

use arrow_buffer::Buffer;
use arrowroot_arrow::optionals::new_buffer;
use arrowroot_file::{Error, Result};
use arrowroot_format::decode::kernels::pack_bools;

use super::{Arena, Column, Lease};

/// Bits at the edges of a piece whose bytes another piece shares: bit offset and the bools, set when all are done.
pub(crate) type Edges = Mutex<Vec<(usize, Vec<u8>)>>;

/// Takes bytes that no piece writes as a whole.
pub(crate) fn lease_zeros(column: &mut Column, n_bytes: usize) {
    if let Some(mut lease) = column.lease(n_bytes) {
        lease.fill(0);
    }
}

/// The bytes that hold only bits of `[start_bit, end_bit)`. A byte that two pieces share belongs to neither: its bits
/// are edges, set in the end.
pub(crate) fn lease_whole_bytes(values: &mut Column, start_bit: usize, end_bit: usize) -> Result<Lease> {
    let first_whole = start_bit.div_ceil(8);
    let n_whole = (end_bit / 8).saturating_sub(first_whole);
    lease_zeros(values, first_whole.saturating_sub(values.used()));
    values.lease(n_whole).ok_or_else(too_many_entries)
}

/// Writes bools as bits from bit `start_bit` of the column on: whole bytes to their lease, the rest to the edges.
pub(crate) fn write_bits(start_bit: usize, whole: &mut Lease, edges: &Edges, bools: &[u8]) {
    let lead = (start_bit.next_multiple_of(8) - start_bit).min(bools.len());
    let (before, rest) = bools.split_at(lead);
    let (inside, after) = rest.split_at((whole.len() * 8).min(rest.len()));
    pack_bools(inside, whole);
    let mut edges = edges.lock().unwrap_or_else(PoisonError::into_inner);
    if !before.is_empty() {
        edges.push((start_bit, before.to_vec()));
    }
    if !after.is_empty() {
        edges.push((start_bit + lead + inside.len(), after.to_vec()));
    }
}

pub(crate) fn incomplete() -> Error {
    Error::Internal { what: "a column was asked for before it was complete".to_owned() }
}

pub(crate) fn complete(column: Column) -> Result<Buffer> {
    column.into_buffer().ok_or_else(incomplete)
}

/// A buffer that is written at once, of memory that is kept.
pub(crate) fn filled_buffer(n_bytes: usize, fill: &mut dyn FnMut(&mut [u8])) -> Buffer {
    let kept = Arena::new(std::iter::once(n_bytes)).column(n_bytes).ok().and_then(|mut column| {
        fill(&mut column.lease(n_bytes)?);
        column.into_buffer()
    });
    kept.unwrap_or_else(|| new_buffer(n_bytes, fill))
}

/// Sets the bits that no piece could write alone.
pub(crate) fn set_edges(bytes: &mut [u8], edges: &Edges) {
    for (start_bit, bools) in edges.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        for (index, &value) in bools.iter().enumerate() {
            let bit = start_bit + index;
            if value != 0
                && let Some(byte) = bytes.get_mut(bit / 8)
            {
                *byte |= 1 << (bit % 8);
            }
        }
    }
}

pub(crate) fn too_large() -> Error {
    Error::InvalidRequest { what: "a batch larger than the address space: set a smaller batch size".to_owned() }
}

pub(crate) fn too_many_entries() -> Error {
    Error::InvalidRequest { what: "baskets hold more entries than the branch says".to_owned() }
}

/// The start of a text, with what is no ASCII as `\x` and two digits.
pub(crate) fn shown(text: &[u8]) -> String {
    const MOST_BYTES: usize = 40;
    let start = text.get(..MOST_BYTES).unwrap_or(text).escape_ascii();
    if text.len() > MOST_BYTES { format!("{start}...") } else { start.to_string() }
}
