//! One page: from its bytes to its places in the batch. Any thread may do it.

use std::collections::BTreeMap;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use arrowroot_file::{Elsewhere, PooledScratch, Scratch, unpack};
use arrowroot_format as format;
use format::codec::Decompressor;
use format::rntuple::{Encoding, PAGE_CHECKSUM_BYTES, Page, check_page, convert_numbers, kernels};
use format::streamer::Primitive;

use super::plan::{PlannedPage, SlotKind};
use super::shared::PagePayload;
use crate::memory::{Edges, HeldBytes, Lease, write_bits};
use crate::scan::{Counters, PayloadBytes, ScanView, add_ns};

/// Bytes of an element of a switch column: a place, and a tag.
const SWITCH_BYTES: usize = 12;

/// Where the elements of a page go.
pub(crate) enum PageTarget {
    /// Numbers.
    Numbers(Lease),
    /// Bools as bits: those of whole bytes, and the edges.
    Bits { start_bit: usize, whole: Lease, edges: Arc<Edges> },
    /// Offsets of an Arrow list array.
    Ends(Lease),
    /// Types and offsets of an Arrow union.
    Switches { types: Lease, offsets: Lease },
}

/// Some elements of a page that follow each other.
#[derive(Debug, Clone)]
pub(crate) struct Stretch {
    /// Counted in the page.
    pub(crate) elements: Range<usize>,
    /// The items that the elements point to.
    pub(crate) items: Items,
}

/// The stretches of a page. Most have one, which takes no memory of its own.
#[derive(Debug)]
pub(crate) enum Stretches {
    One(Stretch),
    More(Vec<Stretch>),
}

impl Stretches {
    pub(crate) fn push(&mut self, stretch: Stretch) {
        match self {
            Stretches::One(first) => *self = Stretches::More(vec![first.clone(), stretch]),
            Stretches::More(all) => all.push(stretch),
        }
    }
}

impl Deref for Stretches {
    type Target = [Stretch];

    fn deref(&self) -> &[Stretch] {
        match self {
            Stretches::One(stretch) => std::slice::from_ref(stretch),
            Stretches::More(all) => all,
        }
    }
}

/// What elements that point to items of other slots point to.
#[derive(Debug, Clone)]
pub(crate) enum Items {
    /// They hold values.
    None,
    /// Items of lists.
    List(ItemRun),
    /// Items of alternatives, by tag from 1 on.
    Alternatives(Vec<ItemRun>),
}

/// Items of a cluster that are in the batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemRun {
    /// The first, counted in the cluster.
    pub(crate) start: u64,
    /// Number of them.
    pub(crate) len: u64,
    /// The first, counted in the batch.
    pub(crate) dest: u64,
}

/// One page to decode.
pub(crate) struct PageWork {
    pub(crate) page: PlannedPage,
    pub(super) payload: PagePayload,
    pub(crate) stretches: Stretches,
    pub(crate) target: PageTarget,
}

/// What is done with the checksum behind a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// There is none.
    Absent,
    /// It is compared with that of the page.
    Compared,
    /// It is not looked at.
    PassedOver,
}

impl Checksum {
    pub(super) fn of(page: &Page, is_verified: bool) -> Checksum {
        match (page.has_checksum, is_verified) {
            (false, _) => Checksum::Absent,
            (true, true) => Checksum::Compared,
            (true, false) => Checksum::PassedOver,
        }
    }
}

/// Bytes that are read for a page.
pub(super) fn bytes_to_read(page: &Page) -> u64 {
    page.stored_bytes.saturating_add(if page.has_checksum { PAGE_CHECKSUM_BYTES as u64 } else { 0 })
}

/// Checks and decompresses a page. `stored`: its bytes and the checksum; `n_bytes`: uncompressed.
pub(super) fn open_page<'p>(
    stored: &'p [u8],
    checksum: Checksum,
    n_bytes: usize,
    decompressor: &mut Decompressor,
    unpacked: &'p mut Vec<u8>,
) -> format::Result<&'p [u8]> {
    let page = without_checksum(stored, checksum)?;
    if page.len() == n_bytes {
        return Ok(page);
    }
    if page.len() > n_bytes {
        return Err(too_long(page, n_bytes));
    }
    unpack(decompressor, page, n_bytes, unpacked)
}

/// The same, to a place as long as the page is.
fn open_page_at(
    stored: &[u8],
    checksum: Checksum,
    decompressor: &mut Decompressor,
    place: &mut [u8],
) -> format::Result<()> {
    let page = without_checksum(stored, checksum)?;
    if page.len() > place.len() {
        return Err(too_long(page, place.len()));
    }
    decompressor.decompress(page, place)
}

/// A page without the checksum behind it, which is compared.
fn without_checksum(stored: &[u8], checksum: Checksum) -> format::Result<&[u8]> {
    match checksum {
        Checksum::Absent => Ok(stored),
        Checksum::Compared => {
            check_page(stored)?;
            Ok(&stored[..stored.len() - PAGE_CHECKSUM_BYTES])
        }
        Checksum::PassedOver => Ok(&stored[..stored.len().saturating_sub(PAGE_CHECKSUM_BYTES)]),
    }
}

fn too_long(page: &[u8], n_bytes: usize) -> format::Error {
    format::Error::corrupt(0, format!("{} bytes for a page of {n_bytes}", page.len()))
}

/// Opens a page as another replica has it. `error`: what is wrong with it here.
pub(super) fn open_elsewhere(
    page: &PlannedPage,
    elsewhere: &Elsewhere<'_>,
    error: format::Error,
    decompressor: &mut Decompressor,
    unpacked: &mut Vec<u8>,
) -> format::Result<Vec<u8>> {
    let PlannedPage { page: Page { offset, .. }, .. } = *page;
    let range = offset..offset.saturating_add(bytes_to_read(&page.page));
    elsewhere.reread(range, error.at(offset), |stored| {
        let plain = open_page(stored, page.checksum, page.n_bytes, decompressor, unpacked);
        plain.map(<[u8]>::to_vec).map_err(|error| error.at(offset))
    })
}

/// All ends in a page of an index column. `words` is scratch.
pub(super) fn index_values(
    page: &[u8],
    n_elements: usize,
    width: usize,
    is_delta: bool,
    words: &mut Vec<u8>,
    values: &mut Vec<u64>,
) {
    let n_bytes = n_elements.saturating_mul(width).min(page.len());
    words.resize(n_bytes, 0);
    if is_delta {
        kernels::unsplit(page, n_elements, &(0..n_elements), width, words);
    } else {
        kernels::copy_plain(page, &(0..n_elements), width, words);
    }
    kernels::index_values(words, width, is_delta, values);
}

/// First item and number of items of each alternative in a stretch of a switch column.
#[derive(Debug, Clone, Default)]
pub(super) struct Switches {
    by_tag: BTreeMap<u32, Range<u64>>,
}

impl Switches {
    /// The items of an alternative; `None` if it does not come.
    pub(super) fn items(&self, tag: u32) -> Option<Range<u64>> {
        self.by_tag.get(&tag).cloned()
    }

    pub(super) fn add(&mut self, other: &Switches) {
        for (tag, items) in &other.by_tag {
            let all = self.by_tag.entry(*tag).or_insert_with(|| items.clone());
            *all = all.start.min(items.start)..all.end.max(items.end);
        }
    }
}

fn switch_elements(page: &[u8], elements: &Range<usize>) -> format::Result<impl Iterator<Item = (u64, u32)>> {
    let bytes = page.get(elements.start.saturating_mul(SWITCH_BYTES)..elements.end.saturating_mul(SWITCH_BYTES));
    let bytes = bytes.ok_or_else(|| format::Error::truncated(0, "a page without some of its elements"))?;
    Ok(bytes.as_chunks::<SWITCH_BYTES>().0.iter().map(|element| {
        let [place @ .., _, _, _, _] = element;
        let [_, _, _, _, _, _, _, _, tag @ ..] = element;
        (u64::from_le_bytes(*place), u32::from_le_bytes(*tag))
    }))
}

/// What some elements of a switch column point to.
pub(super) fn switches(page: &[u8], elements: &Range<usize>) -> format::Result<Switches> {
    let mut found = Switches::default();
    for (index, tag) in switch_elements(page, elements)?.filter(|(_, tag)| *tag > 0) {
        let end = index.checked_add(1).ok_or_else(|| format::Error::corrupt(0, "an alternative at 2^64"))?;
        let all = found.by_tag.entry(tag).or_insert(index..end);
        *all = all.start.min(index)..all.end.max(end);
    }
    Ok(found)
}

/// The bytes of a page, decompressed.
enum Plain<'p> {
    Borrowed(&'p [u8]),
    Owned(Vec<u8>),
    Shared(Arc<HeldBytes>),
}

impl Deref for Plain<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Plain::Borrowed(bytes) => bytes,
            Plain::Owned(bytes) => bytes,
            Plain::Shared(bytes) => bytes,
        }
    }
}

impl PageWork {
    /// Decodes the page to its place. `primitive`: the number that comes out of it; `path`: of its column, for messages.
    pub(super) fn run(
        self,
        primitive: Primitive,
        path: &str,
        view: &ScanView,
        scratch: &mut PooledScratch,
    ) -> format::Result<()> {
        let counters = &view.counters;
        let start = Instant::now();
        let PageWork { page, payload, stretches, target } = self;
        let scratch = scratch.get();
        let mut unpacked = std::mem::take(&mut scratch.unpacked);
        let plain = open(&page, &payload, path, view, &mut scratch.decompressor, &mut unpacked);
        let decompressed = Instant::now();
        add_ns(&counters.decompress_ns, decompressed.duration_since(start));
        let result = plain.and_then(|plain| place(scratch, &plain, primitive, &page, &stretches, target));
        scratch.unpacked = unpacked;
        add_ns(&counters.decode_ns, decompressed.elapsed());
        result.map_err(|error| error.placed(page.elements_place()))
    }
}

/// The page, checked and decompressed. `path`: of its column, for messages.
fn open<'p>(
    page: &PlannedPage,
    payload: &'p PagePayload,
    path: &str,
    view: &ScanView,
    decompressor: &mut Decompressor,
    unpacked: &'p mut Vec<u8>,
) -> format::Result<Plain<'p>> {
    let elsewhere = |error, decompressor: &mut Decompressor| {
        open_elsewhere(page, &view.elsewhere(path), error, decompressor, &mut Vec::new())
    };
    let own = match payload {
        PagePayload::Own(own) => own,
        PagePayload::Shared(shared) => {
            let plain = shared.plain(|stored, place| {
                count(page, &view.counters);
                open_page_at(stored, page.checksum, decompressor, place).or_else(|error| {
                    place.copy_from_slice(&elsewhere(error, decompressor)?);
                    Ok(())
                })
            });
            return plain.map(Plain::Shared);
        }
    };
    let stored = match own.bytes() {
        PayloadBytes::Ready(bytes) => return Ok(Plain::Borrowed(bytes)),
        PayloadBytes::Stored(stored) => stored,
    };
    count(page, &view.counters);
    match open_page(stored, page.checksum, page.n_bytes, decompressor, unpacked) {
        Ok(plain) if page.is_unverified() => {
            let again = view.unverified(page.page.offset, plain);
            again.map(|again| again.map_or(Plain::Borrowed(plain), Plain::Owned))
        }
        Ok(plain) => Ok(Plain::Borrowed(plain)),
        Err(error) => elsewhere(error, decompressor).map(Plain::Owned),
    }
}

/// Puts the elements of a page in their places.
fn place(
    scratch: &mut Scratch,
    plain: &[u8],
    primitive: Primitive,
    page: &PlannedPage,
    stretches: &[Stretch],
    target: PageTarget,
) -> format::Result<()> {
    let n = page.page.n_elements as usize;
    match target {
        PageTarget::Numbers(mut slot) => {
            let width = primitive.stored_bytes();
            let mut rest: &mut [u8] = &mut slot;
            for stretch in stretches {
                let (place, after) = take_part(rest, stretch.elements.len().saturating_mul(width))?;
                numbers(&mut scratch.natural, plain, n, page.encoding, primitive, &stretch.elements, place)?;
                rest = after;
            }
            Ok(())
        }
        PageTarget::Bits { start_bit, mut whole, edges } => {
            if let ([stretch], Encoding::Bit) = (stretches, page.encoding) {
                copy_bits(plain, &stretch.elements, start_bit, &mut whole, &edges);
                return Ok(());
            }
            let mut bools = Vec::new();
            for stretch in stretches {
                let before = bools.len();
                bools.resize(before + stretch.elements.len(), 0);
                numbers(
                    &mut scratch.natural,
                    plain,
                    n,
                    page.encoding,
                    Primitive::Bool,
                    &stretch.elements,
                    &mut bools[before..],
                )?;
            }
            write_bits(start_bit, &mut whole, &edges, &bools);
            Ok(())
        }
        PageTarget::Ends(mut slot) => {
            let Encoding::Index { width, is_delta } = page.encoding else {
                return Err(format::Error::corrupt(0, "lists without ends"));
            };
            let narrow = if is_delta { kernels::narrow_ends(plain, n, width) } else { None };
            if narrow.is_none() {
                index_values(plain, n, width, is_delta, &mut scratch.words, &mut scratch.values);
            }
            let mut rest: &mut [u8] = &mut slot;
            for stretch in stretches.iter().filter(|stretch| !stretch.elements.is_empty()) {
                let (place, after) = take_part(rest, stretch.elements.len().saturating_mul(4))?;
                rest = after;
                let Items::List(items) = &stretch.items else {
                    return Err(format::Error::corrupt(0, "lists of no items"));
                };
                let shift = items.dest.cast_signed().wrapping_sub(items.start.cast_signed());
                let (low, high) = (items.start, items.start + items.len);
                let is_right = match narrow {
                    Some((first, differences)) => {
                        let (before, within) = differences.split_at(stretch.elements.start.min(differences.len()));
                        let first = before.iter().fold(first, |sum, step| sum.wrapping_add(u64::from(*step)));
                        let within = within.get(..stretch.elements.len() - 1).unwrap_or_default();
                        kernels::shifted_narrow_ends(first, within, low, high, shift, place)
                    }
                    None => {
                        let values = scratch.values.get(stretch.elements.clone()).unwrap_or_default();
                        kernels::shifted_ends(values, low, high, shift, place)
                    }
                };
                if !is_right {
                    let what = format!(
                        "ends of lists that run backwards, or not from {} to {}, or over 2147483647 items in a batch",
                        items.start,
                        items.start + items.len
                    );
                    return Err(format::Error::corrupt(0, what));
                }
            }
            Ok(())
        }
        PageTarget::Switches { mut types, mut offsets } => {
            let (mut types, mut offsets): (&mut [u8], &mut [u8]) = (&mut types, &mut offsets);
            for stretch in stretches {
                let (type_places, after) = take_part(types, stretch.elements.len())?;
                types = after;
                let (offset_places, after) = take_part(offsets, stretch.elements.len().saturating_mul(4))?;
                offsets = after;
                place_switches(plain, stretch, type_places, offset_places)?;
            }
            Ok(())
        }
    }
}

/// Numbers as the field has them; bools as bytes.
fn numbers(
    natural: &mut Vec<u8>,
    plain: &[u8],
    n: usize,
    encoding: Encoding,
    primitive: Primitive,
    elements: &Range<usize>,
    out: &mut [u8],
) -> format::Result<()> {
    let stored = encoding.primitive().ok_or_else(|| format::Error::corrupt(0, "a number stored as an end"))?;
    if stored == primitive || is_bytes(stored) && is_bytes(primitive) {
        natural_numbers(plain, n, encoding, elements, out);
        return Ok(());
    }
    if let (Encoding::Quantized { bits, min, max }, Primitive::Float64) = (encoding, primitive) {
        kernels::quantized_doubles(plain, elements, bits, (min, max), out);
        return Ok(());
    }
    natural.clear();
    natural.resize(elements.len().saturating_mul(stored.stored_bytes()), 0);
    natural_numbers(plain, n, encoding, elements, natural);
    convert_numbers(natural, stored, primitive, out)
}

/// Characters are signed or not; the byte is the same. What is converted otherwise is checked.
fn is_bytes(primitive: Primitive) -> bool {
    matches!(primitive, Primitive::UInt8 | Primitive::Int8)
}

fn natural_numbers(plain: &[u8], n: usize, encoding: Encoding, elements: &Range<usize>, out: &mut [u8]) {
    match encoding {
        Encoding::Bit => {
            for (place, bit) in out.iter_mut().zip(elements.clone()) {
                *place = plain.get(bit / 8).map_or(0, |byte| byte >> (bit % 8) & 1);
            }
        }
        Encoding::Plain(primitive) => kernels::copy_plain(plain, elements, primitive.stored_bytes(), out),
        Encoding::Split(primitive) => kernels::unsplit(plain, n, elements, primitive.stored_bytes(), out),
        Encoding::ZigZag(primitive) => kernels::unsplit_zigzag(plain, n, elements, primitive.stored_bytes(), out),
        Encoding::Half { is_split } => kernels::halves(plain, n, elements, is_split, out),
        Encoding::Truncated { bits } => kernels::truncated(plain, elements, bits, out),
        Encoding::Quantized { bits, min, max } => kernels::quantized(plain, elements, bits, (min, max), out),
        Encoding::Index { .. } | Encoding::Switch => {}
    }
}

pub(super) fn count(page: &PlannedPage, counters: &Counters) {
    counters.n_pieces.fetch_add(1, Ordering::Relaxed);
    counters.stored_bytes.fetch_add(bytes_to_read(&page.page), Ordering::Relaxed);
    counters.memory_bytes.fetch_add(page.n_bytes as u64, Ordering::Relaxed);
    counters.unzip_bytes.fetch_add(page.n_bytes as u64, Ordering::Relaxed);
}

fn take_part(rest: &mut [u8], n_bytes: usize) -> format::Result<(&mut [u8], &mut [u8])> {
    rest.split_at_mut_checked(n_bytes).ok_or_else(|| format::Error::corrupt(0, "more elements than places"))
}

/// Writes bits of a page from the target's first bit on.
fn copy_bits(plain: &[u8], elements: &Range<usize>, start_bit: usize, whole: &mut Lease, edges: &Edges) {
    let lead = (start_bit.next_multiple_of(8) - start_bit).min(elements.len());
    let inside = elements.start + lead..elements.start + lead + (whole.len() * 8).min(elements.len() - lead);
    kernels::copy_bits(plain, &inside, whole, 0);
    let bools = |range: Range<usize>| -> Vec<u8> {
        range.map(|bit| plain.get(bit / 8).map_or(0, |byte| byte >> (bit % 8) & 1)).collect()
    };
    let (before, after) = (elements.start..inside.start, inside.end..elements.end);
    if before.is_empty() && after.is_empty() {
        return;
    }
    let mut edges = edges.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !before.is_empty() {
        edges.push((start_bit, bools(before)));
    }
    if !after.is_empty() {
        edges.push((start_bit + lead + inside.len(), bools(after)));
    }
}

fn place_switches(plain: &[u8], stretch: &Stretch, types: &mut [u8], offsets: &mut [u8]) -> format::Result<()> {
    let Items::Alternatives(alternatives) = &stretch.items else {
        return Err(format::Error::corrupt(0, "variants without alternatives"));
    };
    let places = types.iter_mut().zip(offsets.as_chunks_mut::<4>().0);
    for ((place, tag), (type_place, offset_place)) in switch_elements(plain, &stretch.elements)?.zip(places) {
        let offset = match (tag as usize).checked_sub(1).map(|tag| alternatives.get(tag)) {
            // Holds none of its alternatives.
            None => Some(0),
            Some(None) => None,
            Some(Some(items)) => place
                .checked_sub(items.start)
                .filter(|place| *place < items.len)
                .and_then(|place| i32::try_from(place.checked_add(items.dest)?).ok()),
        };
        match (offset, u8::try_from(tag)) {
            (Some(offset), Ok(tag)) => {
                *type_place = tag;
                *offset_place = offset.to_ne_bytes();
            }
            _ => {
                let what = format!("a variant of {} that holds number {place} of {tag}", alternatives.len());
                return Err(format::Error::corrupt(0, what));
            }
        }
    }
    Ok(())
}

impl SlotKind {
    /// The number of slots of numbers.
    pub(crate) fn primitive(&self) -> Primitive {
        match self {
            SlotKind::Numbers(primitive) => *primitive,
            SlotKind::Bits => Primitive::Bool,
            SlotKind::Ends { .. } | SlotKind::Switches { .. } => Primitive::UInt8,
        }
    }
}
