//! Numbers from their stored form to their place in memory, at memory speed.
//!
//! Each kernel has one safe body that the compiler turns into vector code; on x86-64 that body is compiled once more for
//! AVX2 and chosen at run time. The properties below compare them with a loop over single values.

use std::mem::MaybeUninit;

use crate::decode::writes::{LINE, Writes, stream_lines};
use crate::error::{Error, Result};
use crate::streamer::Primitive;

/// Bytes that a wide copy moves at once: two AVX2 registers. Most lists are shorter, and moving too much costs less than
/// a branch that is taken now and then.
const BLOCK: usize = 64;
/// Bytes before the items of a vector: byte count, version, number of items.
const VECTOR_HEADER_BYTES: usize = 10;

/// Defines a function that runs its body compiled for AVX2 where the machine has it.
macro_rules! dispatched {
    ($(#[$doc:meta])* pub fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$doc])*
        pub fn $name($($arg: $type),*) $(-> $ret)? {
            #[inline(always)]
            fn body($($arg: $type),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2")]
            fn for_avx2($($arg: $type),*) $(-> $ret)? {
                body($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
                #[expect(unsafe_code, reason = "a function with target features is unsafe to call")]
                // SAFETY: the features were detected on this machine.
                return unsafe { for_avx2($($arg),*) };
            }
            body($($arg),*)
        }
    };
}
pub(crate) use dispatched;

/// The bytes of a number of 1, 2, 4 or 8 bytes in the order of the machine.
///
/// Swapping words becomes one shuffle for a whole register; reversing arrays of bytes does not with every compiler.
#[inline(always)]
fn to_native<const N: usize>(mut bytes: [u8; N]) -> [u8; N] {
    match &mut bytes[..] {
        [_] => {}
        [a, b] => [*a, *b] = u16::from_be_bytes([*a, *b]).to_ne_bytes(),
        [a, b, c, d] => [*a, *b, *c, *d] = u32::from_be_bytes([*a, *b, *c, *d]).to_ne_bytes(),
        [a, b, c, d, e, f, g, h] => {
            [*a, *b, *c, *d, *e, *f, *g, *h] = u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]).to_ne_bytes();
        }
        _ => unreachable!(),
    }
    bytes
}

#[inline(always)]
fn swap_each<const N: usize>(stored: &[u8], out: &mut [u8]) {
    for (from, to) in stored.as_chunks::<N>().0.iter().zip(out.as_chunks_mut::<N>().0) {
        *to = to_native(*from);
    }
}

/// The same past the caches, but for the bytes before the first whole line of `out` and after the last.
#[inline(always)]
fn swap_streamed<const N: usize>(stored: &[u8], out: &mut [u8]) {
    let before = out.as_ptr().align_offset(LINE).min(out.len());
    if !before.is_multiple_of(N) {
        return swap_each::<N>(stored, out);
    }
    let ((first, stored), (lead, out)) = (stored.split_at(before), out.split_at_mut(before));
    let ((lines, rest), (places, last)) = (stored.as_chunks::<LINE>(), out.as_chunks_mut::<LINE>());
    swap_each::<N>(first, lead);
    stream_lines(lines.iter().map(swap_block::<N>), places);
    swap_each::<N>(rest, last);
}

dispatched! {
    /// Copies big-endian numbers of `width` bytes (1, 2, 4 or 8) into native-endian ones.
    ///
    /// Copies as much as both slices hold.
    pub fn copy_swapped(stored: &[u8], out: &mut [u8], width: usize, writes: Writes) {
        let n_bytes = stored.len().min(out.len());
        let (stored, out) = (&stored[..n_bytes], &mut out[..n_bytes]);
        match (width, writes) {
            _ if cfg!(target_endian = "big") => out.copy_from_slice(stored),
            (1, Writes::Cached) => out.copy_from_slice(stored),
            (2, Writes::Cached) => swap_each::<2>(stored, out),
            (4, Writes::Cached) => swap_each::<4>(stored, out),
            (_, Writes::Cached) => swap_each::<8>(stored, out),
            (1, Writes::Streamed) => swap_streamed::<1>(stored, out),
            (2, Writes::Streamed) => swap_streamed::<2>(stored, out),
            (4, Writes::Streamed) => swap_streamed::<4>(stored, out),
            (_, Writes::Streamed) => swap_streamed::<8>(stored, out),
        }
    }
}

#[inline(always)]
fn append_each<const N: usize>(stored: &[u8], out: &mut Vec<u8>) {
    let numbers = stored.as_chunks::<N>().0;
    let n_bytes = numbers.len() * N;
    out.reserve(n_bytes);
    for (from, to) in numbers.iter().zip(out.spare_capacity_mut().as_chunks_mut::<N>().0) {
        *to = to_native(*from).map(MaybeUninit::new);
    }
    #[expect(unsafe_code, reason = "setting the bytes to zero first takes as long as swapping them")]
    // SAFETY: `n_bytes` were reserved, a whole number of chunks, and the loop has written each of them.
    unsafe {
        out.set_len(out.len() + n_bytes);
    }
}

dispatched! {
    /// Appends big-endian numbers of `width` bytes (1, 2, 4 or 8) in the byte order of the machine.
    ///
    /// What is left of `stored` after whole numbers is left out.
    pub fn append_swapped(stored: &[u8], out: &mut Vec<u8>, width: usize) {
        if cfg!(target_endian = "big") || width == 1 {
            out.extend_from_slice(&stored[..stored.len() / width * width]);
            return;
        }
        match width {
            2 => append_each::<2>(stored, out),
            4 => append_each::<4>(stored, out),
            _ => append_each::<8>(stored, out),
        }
    }
}

/// Appends a number from each of some slices; 0 from one that is too short.
#[inline(always)]
fn append_firsts<'a, const N: usize>(slices: impl ExactSizeIterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let n_before = out.len();
    out.resize(n_before + slices.len() * N, 0);
    for (slice, to) in slices.zip(out[n_before..].as_chunks_mut::<N>().0) {
        if let Some(from) = slice.first_chunk() {
            *to = to_native(*from);
        }
    }
}

#[inline(always)]
fn append_first_of<'a>(slices: impl ExactSizeIterator<Item = &'a [u8]>, width: usize, out: &mut Vec<u8>) {
    match width {
        1 => append_firsts::<1>(slices, out),
        2 => append_firsts::<2>(slices, out),
        4 => append_firsts::<4>(slices, out),
        _ => append_firsts::<8>(slices, out),
    }
}

/// Appends a big-endian number of each record of `stride` bytes, that from byte `at` on, in the byte order of the machine.
///
/// What is left of `data` after whole records is left out.
pub(super) fn append_strided(data: &[u8], at: usize, stride: usize, width: usize, out: &mut Vec<u8>) {
    let records = data.chunks_exact(stride.max(1));
    append_first_of(records.map(|record| record.get(at..).unwrap_or_default()), width, out);
}

/// The same of records that begin at `starts`.
pub(super) fn append_at(data: &[u8], starts: &[usize], at: usize, width: usize, out: &mut Vec<u8>) {
    append_first_of(starts.iter().map(|start| data.get(start + at..).unwrap_or_default()), width, out);
}

#[inline(always)]
fn append_lists_of<const N: usize>(data: &[u8], n_lists: usize, ends: &mut Vec<i32>, items: &mut Vec<u8>) -> usize {
    const COUNT_BYTES: usize = 4;
    let mut from = 0;
    let mut end = items.len() / N;
    for _ in 0..n_lists {
        let Some(list) = data.get(from..).and_then(|data| data.first_chunk::<{ COUNT_BYTES + BLOCK }>()) else { break };
        let (Some(count), Some(stored)) = (list.first_chunk(), list.last_chunk()) else { break };
        let n_items = u32::from_be_bytes(*count) as usize;
        let Some(list_end) = i32::try_from(end + n_items).ok().filter(|_| n_items <= BLOCK / N) else { break };
        items.reserve(BLOCK);
        if let Some(place) = items.spare_capacity_mut().first_chunk_mut::<BLOCK>() {
            *place = swap_block::<N>(stored).map(MaybeUninit::new);
        }
        #[expect(unsafe_code, reason = "setting the bytes to zero first takes as long as swapping them")]
        // SAFETY: a block was reserved and written, and the items are a block at most.
        unsafe {
            items.set_len(items.len() + n_items * N);
        }
        ends.push(list_end);
        end += n_items;
        from += COUNT_BYTES + n_items * N;
    }
    from
}

dispatched! {
    /// Appends lists of big-endian numbers of `width` bytes (1, 2, 4 or 8), each behind the number of its items.
    ///
    /// `n_lists` at most: stops before a list of over 64 bytes, and before the last 64 bytes of `data`. `ends`: of the lists
    /// in `items`, which hold nothing else. Returns the bytes that were taken.
    pub fn append_lists(data: &[u8], n_lists: usize, ends: &mut Vec<i32>, items: &mut Vec<u8>, width: usize) -> usize {
        match width {
            1 => append_lists_of::<1>(data, n_lists, ends, items),
            2 => append_lists_of::<2>(data, n_lists, ends, items),
            4 => append_lists_of::<4>(data, n_lists, ends, items),
            _ => append_lists_of::<8>(data, n_lists, ends, items),
        }
    }
}

dispatched! {
    /// Packs bools stored as bytes into bits, lowest first; any byte but 0 is true.
    ///
    /// `out` holds at least `stored.len() / 8` bytes, rounded up; unused bits of the last byte are 0.
    pub fn pack_bools(stored: &[u8], out: &mut [u8]) {
        let (groups, rest) = stored.as_chunks::<8>();
        for (group, byte) in groups.iter().zip(out.iter_mut()) {
            let word = u64::from_le_bytes(*group);
            // The top bit of each byte becomes 1 where the byte is not 0; a multiplication gathers them.
            let set = (((word & 0x7f7f_7f7f_7f7f_7f7f) + 0x7f7f_7f7f_7f7f_7f7f) | word) & 0x8080_8080_8080_8080;
            *byte = (((set >> 7).wrapping_mul(0x0102_0408_1020_4080)) >> 56) as u8;
        }
        if !rest.is_empty() && let Some(last) = out.get_mut(groups.len()) {
            *last = rest.iter().enumerate().fold(0, |bits, (place, &byte)| bits | (u8::from(byte != 0) << place));
        }
    }
}

dispatched! {
    /// Turns stored entry offsets into the ends of lists.
    ///
    /// `stored`: one big-endian word for each entry, counted from the start of the record. Entry `i` spans
    /// `[offset[i], offset[i + 1])`, the last one ends at `record_end`. Each list holds what is left of the entry after
    /// `header_bytes`, in items of `item_bytes`; the first list begins at item `base`. `ends`: 4 bytes for each entry.
    /// Returns whether every entry is as long as its header or longer and holds whole items.
    pub fn list_ends(stored: &[u8], record_end: u32, header_bytes: u32, item_bytes: u32, base: u32, ends: &mut [u8]) -> bool {
        if item_bytes.is_power_of_two() {
            let shift = item_bytes.trailing_zeros();
            ends_of(stored, record_end, header_bytes, base, ends, |n_bytes| (n_bytes >> shift, (n_bytes >> shift) << shift))
        } else {
            let whole = |n_bytes: u32| (n_bytes / item_bytes, n_bytes / item_bytes * item_bytes);
            ends_of(stored, record_end, header_bytes, base, ends, whole)
        }
    }
}

/// `divide`: number of whole items in so many bytes, and the bytes of these.
#[inline(always)]
fn ends_of(
    stored: &[u8],
    record_end: u32,
    header_bytes: u32,
    base: u32,
    ends: &mut [u8],
    divide: impl Fn(u32) -> (u32, u32),
) -> bool {
    let (words, ends) = (stored.as_chunks::<4>().0, ends.as_chunks_mut::<4>().0);
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return true };
    let first = u32::from_be_bytes(*first);
    let mut skipped = 0_u32;
    let mut one = |offset: u32, next: u32| {
        skipped = skipped.wrapping_add(header_bytes);
        let entry_bytes = next.wrapping_sub(offset);
        let n_bytes = next.wrapping_sub(first).wrapping_sub(skipped);
        let (n_items, whole_bytes) = divide(n_bytes);
        // An offset that runs backwards makes an entry of more than 2^31 bytes; as all are below 2^31, several steps
        // forward cannot come round to where they began.
        let wrong = u32::from(entry_bytes < header_bytes) | ((entry_bytes | next) >> 31) | (whole_bytes ^ n_bytes);
        (base.wrapping_add(n_items), wrong)
    };
    // Without a branch and with each word loaded twice, this becomes vector code.
    let mut wrong = 0;
    for ((word, next), end) in words.iter().zip(&words[1..]).zip(ends.iter_mut()) {
        let (value, is_wrong) = one(u32::from_be_bytes(*word), u32::from_be_bytes(*next));
        *end = value.to_ne_bytes();
        wrong |= is_wrong;
    }
    let (value, is_wrong) = one(u32::from_be_bytes(*last), record_end);
    if let Some(end) = ends.get_mut(words.len() - 1) {
        *end = value.to_ne_bytes();
    }
    wrong | is_wrong == 0
}

dispatched! {
    /// Copies the numbers of `std::vector`s out of their entries, without the headers.
    ///
    /// `data`: the entry data. `ends`: native-endian ends of the lists, of which the first begins at item `base`.
    /// `out`: the items of all entries. Before each list stand 10 bytes: byte count, version, number of items. Returns
    /// whether all of these are as they must be.
    pub fn copy_vectors(data: &[u8], ends: &[u8], base: u32, out: &mut [u8], width: usize) -> bool {
        match width {
            1 => vectors_of::<1>(data, ends, base, out),
            2 => vectors_of::<2>(data, ends, base, out),
            4 => vectors_of::<4>(data, ends, base, out),
            _ => vectors_of::<8>(data, ends, base, out),
        }
    }
}

/// Swaps a block of numbers: a constant length, so that it stays in registers.
#[inline(always)]
fn swap_block<const N: usize>(from: &[u8; BLOCK]) -> [u8; BLOCK] {
    let mut to = [0; BLOCK];
    swap_each::<N>(from, &mut to);
    to
}

#[inline(always)]
fn vectors_of<const N: usize>(data: &[u8], ends: &[u8], base: u32, out: &mut [u8]) -> bool {
    const WIDE: usize = VECTOR_HEADER_BYTES + BLOCK;
    let mut rest = ends.as_chunks::<4>().0;
    let (mut from, mut to, mut previous, mut wrong) = (0_usize, 0_usize, base, 0);
    while let Some(next) = rest.first() {
        // So many lists surely have a block behind their header and at their place, if none of them is longer.
        let room = (data.len().saturating_sub(from) / WIDE).min(out.len().saturating_sub(to) / BLOCK);
        let mut n_short = 0;
        for end in &rest[..room.min(rest.len())] {
            let end = u32::from_ne_bytes(*end);
            let n_items = end.wrapping_sub(previous);
            let entry = data.get(from..).and_then(|data| data.first_chunk::<WIDE>());
            let place = out.get_mut(to..).and_then(|out| out.first_chunk_mut::<BLOCK>());
            let (Some(entry), Some(place), true) = (entry, place, n_items as usize <= BLOCK / N) else { break };
            let (Some(header), Some(stored)) = (entry.first_chunk(), entry.last_chunk()) else { break };
            let n_bytes = n_items as usize * N;
            wrong |= header_error(header, n_items, n_bytes);
            // What is too much is overwritten by the next.
            *place = swap_block::<N>(stored);
            from += VECTOR_HEADER_BYTES + n_bytes;
            to += n_bytes;
            previous = end;
            n_short += 1;
        }
        if n_short > 0 {
            rest = &rest[n_short..];
            continue;
        }
        let end = u32::from_ne_bytes(*next);
        let n_items = end.wrapping_sub(previous);
        let n_bytes = (n_items as usize).wrapping_mul(N);
        let body = from.wrapping_add(VECTOR_HEADER_BYTES);
        let header = data.get(from..).and_then(|data| data.first_chunk());
        let stored = data.get(body..body.wrapping_add(n_bytes));
        let place = out.get_mut(to..to.wrapping_add(n_bytes));
        let (Some(header), Some(stored), Some(place)) = (header, stored, place) else { return false };
        wrong |= header_error(header, n_items, n_bytes);
        swap_each::<N>(stored, place);
        from = body.wrapping_add(n_bytes);
        to = to.wrapping_add(n_bytes);
        previous = end;
        rest = &rest[1..];
    }
    wrong == 0 && from == data.len() && to == out.len()
}

/// Not 0 if the header of a vector is not that of `n_items` items streamed object-wise.
#[inline(always)]
fn header_error(header: &[u8; VECTOR_HEADER_BYTES], n_items: u32, n_bytes: usize) -> u64 {
    let [head @ .., high, low] = header;
    // Byte count, version and the first half of the number. 6 bytes of version and number follow the byte count.
    let byte_count = (u64::from(crate::BYTE_COUNT_MASK) | (n_bytes as u64).wrapping_add(6)) << 32;
    let version_mask = 0xFFFF_FFFF_4000_FFFF;
    let head_error = (u64::from_be_bytes(*head) ^ (byte_count | u64::from(n_items >> 16))) & version_mask;
    head_error | u64::from(u16::from_be_bytes([*high, *low]) ^ (n_items & 0xFFFF) as u16)
}

/// Copies numbers, swapped; bools become 0 or 1.
///
/// # Errors
/// Corrupt if `out` has not the size of `stored`.
pub fn copy_numbers(stored: &[u8], primitive: Primitive, out: &mut [u8], writes: Writes) -> Result<()> {
    if stored.len() != out.len() {
        return Err(Error::corrupt(0, format!("{} bytes of numbers, {} expected", stored.len(), out.len())));
    }
    if primitive == Primitive::Bool {
        for (from, to) in stored.iter().zip(out) {
            *to = u8::from(*from != 0);
        }
    } else {
        copy_swapped(stored, out, primitive.stored_bytes(), writes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn swapping_reverses_each_number(
            stored in prop::collection::vec(any::<u8>(), 0..300),
            power in 0_u32..4,
            before in 0_usize..LINE,
        ) {
            let width = 1_usize << power;
            let stored = &stored[..stored.len() / width * width];
            let naive: Vec<u8> = stored.chunks(width).flat_map(|number| number.iter().rev().copied()).collect();
            for writes in [Writes::Cached, Writes::Streamed] {
                // Wherever the numbers begin in a line, and nothing around them changes.
                let mut out = vec![7; before + stored.len() + 1];
                copy_swapped(stored, &mut out[before..before + stored.len()], width, writes);
                prop_assert_eq!(&out[before..before + stored.len()], &naive);
                prop_assert!(out[..before].iter().chain(out.last()).all(|byte| *byte == 7));
            }
            let mut appended = vec![7; 3];
            append_swapped(stored, &mut appended, width);
            prop_assert_eq!(&appended[..3], &[7; 3]);
            prop_assert_eq!(&appended[3..], &naive);
        }

        #[test]
        fn bools_become_bits(stored in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..200)) {
            let mut out = vec![0; stored.len().div_ceil(8)];
            pack_bools(&stored, &mut out);
            for (index, byte) in stored.iter().enumerate() {
                prop_assert_eq!(out[index / 8] >> (index % 8) & 1 == 1, *byte != 0);
            }
        }

        #[test]
        fn vectors_lose_their_headers(
            lists in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..20), 0..50),
            power in 0_u32..4,
            base in 0_u32..1000,
        ) {
            let width = 1_usize << power;
            let (mut data, mut offsets, mut naive, mut naive_ends) = (vec![], vec![], vec![], vec![]);
            let key_bytes = 70_u32;
            let mut end = base;
            for list in &lists {
                offsets.extend_from_slice(&(key_bytes + u32::try_from(data.len()).unwrap()).to_be_bytes());
                let n_bytes = u32::try_from(list.len() * width).unwrap();
                data.extend_from_slice(&(0x4000_0000 | (n_bytes + 6)).to_be_bytes());
                data.extend_from_slice(&[0, 10]);
                data.extend_from_slice(&u32::try_from(list.len()).unwrap().to_be_bytes());
                for value in list {
                    data.extend_from_slice(&value.to_be_bytes()[8 - width..]);
                    naive.extend_from_slice(&value.to_le_bytes()[..width]);
                }
                end += u32::try_from(list.len()).unwrap();
                naive_ends.extend_from_slice(&end.to_ne_bytes());
            }
            let record_end = key_bytes + u32::try_from(data.len()).unwrap();
            let mut ends = vec![0; lists.len() * 4];
            let item_bytes = u32::try_from(width).unwrap();
            prop_assert!(list_ends(&offsets, record_end, 10, item_bytes, base, &mut ends));
            prop_assert_eq!(&ends, &naive_ends);
            let mut out = vec![0; naive.len()];
            prop_assert!(copy_vectors(&data, &ends, base, &mut out, width));
            prop_assert_eq!(&out, &naive);
            if let Some(byte) = data.get_mut(9) {
                *byte ^= 1;
                prop_assert!(!copy_vectors(&data, &ends, base, &mut out, width));
            }
        }

        #[test]
        fn counted_lists_are_taken_until_one_is_long_or_last(
            lists in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..20), 0..50),
            width in prop::sample::select(vec![1_usize, 2, 4, 8]),
            n_wanted in 0_usize..60,
            n_before in 0_usize..5,
        ) {
            let mut data = Vec::new();
            for list in &lists {
                data.extend_from_slice(&u32::try_from(list.len()).unwrap().to_be_bytes());
                list.iter().for_each(|number| data.extend_from_slice(&number.to_be_bytes()[8 - width..]));
            }
            let (mut from, mut ends, mut items) = (0, Vec::new(), vec![7; n_before * width]);
            let mut naive = items.clone();
            let mut naive_ends = Vec::new();
            for list in lists.iter().take(n_wanted) {
                let n_bytes = 4 + list.len() * width;
                if data.len() - from < 4 + BLOCK || list.len() * width > BLOCK {
                    break;
                }
                let numbers = data[from + 4..from + n_bytes].chunks(width);
                numbers.for_each(|number| naive.extend(number.iter().rev()));
                naive_ends.push(i32::try_from(naive.len() / width).unwrap());
                from += n_bytes;
            }
            prop_assert_eq!(append_lists(&data, n_wanted, &mut ends, &mut items, width), from);
            prop_assert_eq!(ends, naive_ends);
            prop_assert_eq!(items, naive);
        }

        #[test]
        fn wild_counts_of_lists_stay_in_bounds(data in prop::collection::vec(0_u8..40, 0..300)) {
            let (mut ends, mut items) = (Vec::new(), Vec::new());
            prop_assert!(append_lists(&data, usize::MAX, &mut ends, &mut items, 4) <= data.len());
            prop_assert_eq!(ends.last().map_or(0, |end| usize::try_from(*end).unwrap() * 4), items.len());
        }

        #[test]
        fn large_steps_do_not_come_round(steps in prop::collection::vec(0_u32..1 << 31, 1..8), n_bytes in 0_u32..100) {
            let mut offset = 71_u32;
            let mut offsets = offset.to_be_bytes().to_vec();
            for step in steps {
                offset = offset.wrapping_add(step);
                offsets.extend_from_slice(&offset.to_be_bytes());
            }
            let mut ends = vec![0; offsets.len()];
            if list_ends(&offsets, 71 + n_bytes, 0, 1, 0, &mut ends) {
                prop_assert!(ends.as_chunks::<4>().0.iter().all(|end| u32::from_ne_bytes(*end) <= n_bytes));
            }
        }

        #[test]
        fn wild_offsets_are_refused_or_stay_in_bounds(
            offsets in prop::collection::vec(any::<u8>(), 0..80),
            data in prop::collection::vec(any::<u8>(), 0..100),
            record_end in any::<u32>(),
        ) {
            let offsets = &offsets[..offsets.len() / 4 * 4];
            let mut ends = vec![0; offsets.len()];
            if list_ends(offsets, record_end, 10, 4, 0, &mut ends) {
                prop_assert!(ends.as_chunks::<4>().0.is_sorted_by_key(|end| u32::from_ne_bytes(*end)));
            }
            let mut out = vec![0; data.len()];
            copy_vectors(&data, &ends, 0, &mut out, 4);
        }
    }
}
