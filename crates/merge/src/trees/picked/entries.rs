//! Entries of a branch that are taken out of baskets and put into others, byte by byte.
//!
//! Pointers among the bytes of an entry name places in the record of its basket. Where an entry stands in another place than it was
//! written for, its basket says for each entry what that place was: `fDisplacement`. Source: `TBasket::Update`,
//! `TBufferFile::SetBufferDisplacement` (ROOT 6.40).

use std::ops::Range;

use arrowroot::format::tree::{BasketHead, Branch, EmbeddedBasket, TreeRecord, append_entry_offsets};
use arrowroot::format::{Error, Result};

use super::super::copy::MadeBasket;

/// The bit that tells a class from an object in what a pointer says, and that of the bytes of an object.
const CLASS: u32 = 1 << 31;
const BYTE_COUNT: u32 = 1 << 30;
/// This stands before the name of a class.
const NEW_CLASS: [u8; POINTER_BYTES] = [0xff; POINTER_BYTES];
/// Pointers name places by so much more.
const MAP_OFFSET: u32 = 2;
/// Bytes in which a pointer names a place.
const POINTER_BYTES: usize = 4;

/// Entries of a branch.
#[derive(Debug, Clone)]
pub(crate) struct Entries {
    data: Vec<u8>,
    n_entries: usize,
    places: EntryPlaces,
    /// Added to the indices of process identifiers in them.
    pid_offset: u16,
    /// True if bytes of them may name places in the record.
    names_places: bool,
}

#[derive(Debug, Clone)]
enum EntryPlaces {
    /// All entries have so many bytes.
    Equal(usize),
    /// Where each begins among the bytes, and where it was in the record that it was written for.
    Starts(Vec<u32>, Vec<u32>),
}

impl Entries {
    /// None, of a branch.
    pub(crate) fn none() -> Entries {
        Entries { data: Vec::new(), n_entries: 0, places: EntryPlaces::Equal(0), pid_offset: 0, names_places: false }
    }

    /// Those of a basket. `payload`: unpacked; `has_pointers`: entries may have some.
    ///
    /// # Errors
    /// If it is damaged, or stored in a way that is not known.
    pub(crate) fn of(head: &BasketHead, mut payload: Vec<u8>, has_pointers: bool) -> Result<Entries> {
        if head.offsets_are_sizes || head.offsets_generated {
            return Err(Error::unsupported(0, "a basket whose offsets follow from others"));
        }
        let places = match head.stored_offsets(&payload)? {
            Some(offsets) => {
                let offsets = words(offsets);
                let written_at = head.stored_displacements(&payload)?.map_or_else(|| offsets.clone(), words);
                let starts = offsets.iter().map(|offset| offset.wrapping_sub(head.key_bytes)).collect();
                EntryPlaces::Starts(starts, written_at)
            }
            None => equal(head)?,
        };
        payload.truncate(head.data_bytes as usize);
        Entries::checked(head, payload, places, has_pointers)
    }

    /// Those of a basket in the record of its tree. `has_pointers`: as of [`Entries::of`].
    ///
    /// # Errors
    /// As of [`Entries::of`].
    pub(crate) fn of_embedded(basket: &EmbeddedBasket, object_data: &[u8], has_pointers: bool) -> Result<Entries> {
        if has_pointers && !basket.is_usual() {
            return Err(Error::unsupported(
                basket.data.start,
                "a basket in the record of its tree, of an unknown form",
            ));
        }
        let data = object_data.get(basket.data.clone()).unwrap_or_default().to_vec();
        let places = match &basket.entry_offsets {
            Some(starts) => {
                EntryPlaces::Starts(starts.clone(), starts.iter().map(|start| start + basket.head.key_bytes).collect())
            }
            None => equal(&basket.head)?,
        };
        Entries::checked(&basket.head, data, places, has_pointers)
    }

    fn checked(head: &BasketHead, data: Vec<u8>, places: EntryPlaces, has_pointers: bool) -> Result<Entries> {
        let n_entries = head.n_entries as usize;
        let is_whole = data.len() == head.data_bytes as usize
            && match &places {
                EntryPlaces::Equal(n_bytes) => n_bytes.checked_mul(n_entries) == Some(data.len()),
                EntryPlaces::Starts(starts, written_at) => {
                    (starts.len(), written_at.len()) == (n_entries, n_entries)
                        && starts.is_sorted()
                        && starts.first().is_none_or(|first| *first == 0)
                        && starts.last().is_none_or(|last| *last as usize <= data.len())
                }
            };
        if !is_whole {
            return Err(Error::corrupt(0, format!("{} bytes that are not those of {n_entries} entries", data.len())));
        }
        let mut entries = Entries { data, n_entries, places, pid_offset: head.pid_offset, names_places: false };
        entries.names_places = has_pointers && entries.may_name_places();
        Ok(entries)
    }

    /// True if some bytes of an entry may name a place in it: pointers of an entry name none in others.
    fn may_name_places(&self) -> bool {
        let EntryPlaces::Starts(starts, written_at) = &self.places else { return false };
        let ends = starts.iter().skip(1).map(|end| *end as usize).chain([self.data.len()]);
        let mut entries = starts.iter().zip(ends).zip(written_at);
        entries
            .any(|((start, end), place)| names_places(self.data.get(*start as usize..end).unwrap_or_default(), *place))
    }

    /// Their number.
    pub(crate) fn n_entries(&self) -> usize {
        self.n_entries
    }

    /// Number of bytes, without what says where entries begin.
    pub(crate) fn n_bytes(&self) -> usize {
        self.data.len()
    }

    /// True if they are to have a basket of their own, as they may name places in it.
    pub(crate) fn stand_alone(&self) -> bool {
        self.names_places
    }

    /// Some of them, by their numbers: ranges in order.
    pub(crate) fn taken(&self, wanted: &[Range<usize>], has_pointers: bool) -> Entries {
        let mut taken = Entries { pid_offset: self.pid_offset, ..Entries::none() };
        for range in wanted {
            taken.append_range(self, range.clone());
        }
        taken.names_places = has_pointers && self.names_places && taken.may_name_places();
        taken
    }

    /// True if others can stand behind them in one basket.
    pub(crate) fn go_before(&self, next: &Entries) -> bool {
        let is_alike = match (&self.places, &next.places) {
            (EntryPlaces::Equal(one), EntryPlaces::Equal(other)) => one == other,
            (EntryPlaces::Starts(..), EntryPlaces::Starts(..)) => true,
            _ => false,
        };
        self.n_entries == 0
            || is_alike && self.pid_offset == next.pid_offset && !self.names_places && !next.names_places
    }

    /// Puts others behind them.
    pub(crate) fn append(&mut self, next: Entries) {
        if self.n_entries == 0 {
            *self = next;
        } else {
            self.append_range(&next, 0..next.n_entries);
        }
    }

    fn append_range(&mut self, others: &Entries, range: Range<usize>) {
        let n_before = u32::try_from(self.data.len()).unwrap_or(u32::MAX);
        let bytes = match &others.places {
            EntryPlaces::Equal(n_bytes) => {
                self.places = EntryPlaces::Equal(*n_bytes);
                range.start * n_bytes..range.end * n_bytes
            }
            EntryPlaces::Starts(starts, written_at) => {
                if !matches!(self.places, EntryPlaces::Starts(..)) {
                    self.places = EntryPlaces::Starts(Vec::new(), Vec::new());
                }
                let begin = starts.get(range.start).map_or(others.data.len(), |start| *start as usize);
                let end = starts.get(range.end).map_or(others.data.len(), |start| *start as usize);
                if let EntryPlaces::Starts(own, own_written_at) = &mut self.places {
                    let first = starts.get(range.start).copied().unwrap_or_default();
                    own.extend(starts[range.clone()].iter().map(|start| (start - first).saturating_add(n_before)));
                    own_written_at.extend_from_slice(&written_at[range.clone()]);
                }
                begin..end
            }
        };
        self.data.extend_from_slice(&others.data[bytes]);
        self.n_entries += range.len();
    }

    /// A basket of them.
    ///
    /// # Errors
    /// Unsupported if they have more than 4 GiB.
    pub(crate) fn basket(self, branch: &Branch, tree: &str) -> Result<MadeBasket> {
        let Entries { data: mut payload, n_entries, places, pid_offset, names_places } = self;
        let new = BasketHead::new(&branch.name, tree)?;
        let size = |n_bytes: usize| u32::try_from(n_bytes).map_err(|_| Error::unsupported(0, "a basket of 4 GiB"));
        let data_bytes = size(payload.len())?;
        let entry_bytes = match places {
            EntryPlaces::Equal(n_bytes) => size(n_bytes)?,
            EntryPlaces::Starts(mut starts, written_at) => {
                starts.iter_mut().for_each(|start| *start = start.saturating_add(new.key_bytes));
                append_entry_offsets(&mut payload, &starts)?;
                if names_places && starts != written_at {
                    append_entry_offsets(&mut payload, &written_at)?;
                }
                // ROOT's room for the offsets.
                size(starts.len())?
            }
        };
        let buffer_bytes = i32::try_from(payload.len()).unwrap_or(i32::MAX);
        let head = BasketHead { buffer_bytes, data_bytes, n_entries: size(n_entries)?, entry_bytes, pid_offset, ..new };
        Ok(MadeBasket { head, branch: branch.name.clone(), compression: branch.compression, payload })
    }

    /// Has process identifiers be those of the output, where inputs before have so many.
    pub(crate) fn move_processes(&mut self, n_before: u16) {
        self.pid_offset = self.pid_offset.saturating_add(n_before);
    }
}

/// True if bytes of an entry may be pointers to places in it, which was written at a place of its record.
///
/// A pointer names a class that stands before, or an object, which begins with the number of its bytes. The first of them
/// has its class with it. Source: `TBufferFile::WriteObjectClass` (ROOT 6.40).
fn names_places(entry: &[u8], written_at: u32) -> bool {
    let is_class = |bytes: &[u8]| bytes.starts_with(&NEW_CLASS) && bytes[POINTER_BYTES].is_ascii_alphabetic();
    let Some(first) = entry.windows(POINTER_BYTES + 1).position(is_class) else { return false };
    entry[first..].windows(POINTER_BYTES).any(|bytes| {
        let pointer = word(bytes);
        let at = (pointer & !CLASS).checked_sub(written_at.saturating_add(MAP_OFFSET));
        let named = at.and_then(|at| entry.get(at as usize..)).map_or(0, word);
        if pointer & CLASS != 0 { named == u32::MAX } else { named & (CLASS | BYTE_COUNT) != 0 }
    })
}

/// Entries of equal size that no offsets are stored of.
fn equal(head: &BasketHead) -> Result<EntryPlaces> {
    let (n_bytes, n_entries) = (head.data_bytes as usize, head.n_entries as usize);
    match n_bytes.checked_rem(n_entries) {
        Some(0) | None => Ok(EntryPlaces::Equal(n_bytes.checked_div(n_entries).unwrap_or_default())),
        Some(_) => Err(Error::corrupt(0, format!("{n_bytes} bytes for {n_entries} entries of equal size"))),
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<POINTER_BYTES>().0.iter().map(|bytes| u32::from_be_bytes(*bytes)).collect()
}

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// True if entries of a branch may have pointers in them: of numbers, texts and lists of these none has.
pub(crate) fn has_pointers(record: &TreeRecord, branch: &Branch) -> bool {
    super::super::rebasket::target_bytes(record, branch).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrowroot_format::tree::Branch;

    const KEY_BYTES: u32 = 70;

    /// A basket of entries.
    fn basket(entries: &[&[u8]], has_offsets: bool) -> (BasketHead, Vec<u8>) {
        let mut payload = entries.concat();
        let new = BasketHead::new("b", "t").unwrap();
        let data_bytes = u32::try_from(payload.len()).unwrap();
        let n_entries = u32::try_from(entries.len()).unwrap();
        if has_offsets {
            let mut start = KEY_BYTES;
            let begin = |entry: &&[u8]| {
                start += u32::try_from(entry.len()).unwrap();
                start - u32::try_from(entry.len()).unwrap()
            };
            append_entry_offsets(&mut payload, &entries.iter().map(begin).collect::<Vec<_>>()).unwrap();
        }
        let payload_bytes = u32::try_from(payload.len()).unwrap();
        (BasketHead { key_bytes: KEY_BYTES, data_bytes, n_entries, payload_bytes, ..new }, payload)
    }

    fn entries(of: &[&[u8]], has_offsets: bool) -> Entries {
        let (head, payload) = basket(of, has_offsets);
        Entries::of(&head, payload, has_offsets).unwrap()
    }

    /// The bytes of each entry of a basket that was made, and where they were in the record that they were written for.
    fn told(made: MadeBasket) -> Vec<(Vec<u8>, Option<u32>)> {
        let payload_bytes = u32::try_from(made.payload.len()).unwrap();
        let head = BasketHead { payload_bytes, ..made.head };
        let again = Entries::of(&head, made.payload, true).unwrap();
        let tell = |entry: usize| {
            let one = again.taken(std::slice::from_ref(&(entry..entry + 1)), true);
            let written_at = match one.places {
                EntryPlaces::Equal(_) => None,
                EntryPlaces::Starts(_, written_at) => Some(written_at[0]),
            };
            (one.data, written_at)
        };
        (0..again.n_entries).map(tell).collect()
    }

    /// A class that is named, an object of it, and one that names the class, at a place of the record.
    fn with_pointers(written_at: u32) -> Vec<u8> {
        let class = (written_at + 4 + MAP_OFFSET) | CLASS;
        [&(BYTE_COUNT | 9).to_be_bytes(), &NEW_CLASS[..], b"TNamed\0", &class.to_be_bytes()].concat()
    }

    #[test]
    fn entries_of_several_baskets_are_put_together_as_they_are() {
        for has_offsets in [false, true] {
            let mut all = entries(&[b"ab", b"cd", b"ef"], has_offsets).taken(&[0..1, 2..3], has_offsets);
            let more = entries(&[b"gh", b"ij"], has_offsets);
            assert!(all.go_before(&more) && !all.stand_alone());
            all.append(more);
            assert_eq!((all.n_entries(), all.n_bytes()), (4, 8));
            let found: Vec<_> = told(all.basket(&Branch::new("b", "b"), "t").unwrap());
            assert_eq!(
                found.iter().map(|(bytes, _)| bytes.as_slice()).collect::<Vec<_>>(),
                [b"ab", b"ef", b"gh", b"ij"]
            );
        }
        let other_size = entries(&[b"abc"], false);
        assert!(!entries(&[b"ab"], false).go_before(&other_size) && Entries::none().go_before(&other_size));
        assert!(!entries(&[b"ab"], true).go_before(&entries(&[b"ab"], false)));
        let mut of_other_process = entries(&[b"ab"], true);
        of_other_process.move_processes(1);
        assert!(!entries(&[b"ab"], true).go_before(&of_other_process));
    }

    #[test]
    fn entries_with_pointers_say_where_they_were() {
        let (first, second) = (with_pointers(KEY_BYTES), with_pointers(KEY_BYTES + 19));
        let all = entries(&[&first, &second], true);
        assert!(all.stand_alone() && !all.go_before(&entries(&[b""], true)));
        let moved = all.taken(std::slice::from_ref(&(1..2)), true);
        assert!(moved.stand_alone());
        let branch = Branch::new("b", "b");
        assert_eq!(told(moved.clone().basket(&branch, "t").unwrap()), [(second.clone(), Some(KEY_BYTES + 19))]);
        // Moved again, that still is what it was written for.
        let made = moved.basket(&branch, "t").unwrap();
        let head = BasketHead { payload_bytes: u32::try_from(made.payload.len()).unwrap(), ..made.head };
        let again = Entries::of(&head, made.payload, true).unwrap();
        assert_eq!(told(again.basket(&branch, "t").unwrap()), [(second, Some(KEY_BYTES + 19))]);
    }

    #[test]
    fn bytes_that_name_no_place_are_no_pointers() {
        let at = KEY_BYTES;
        assert!(names_places(&with_pointers(at), at) && !names_places(&with_pointers(at), at + 1));
        let object = [&with_pointers(at)[..15], &(at + MAP_OFFSET).to_be_bytes()].concat();
        assert!(names_places(&object, at));
        // No class was named before, or there is nothing at that place that a pointer names.
        assert!(!names_places(&object[8..], at));
        let no_object = [&with_pointers(at)[..15], &(at + 99 + MAP_OFFSET).to_be_bytes()].concat();
        assert!(!names_places(&no_object, at));
        assert!(!names_places(&[], at) && !names_places(&NEW_CLASS, at));
    }

    #[test]
    fn damaged_baskets_are_errors() {
        let (head, payload) = basket(&[b"abc", b"de"], true);
        for wrong in [
            BasketHead { n_entries: 3, ..head },
            BasketHead { data_bytes: 4, ..head },
            BasketHead { key_bytes: KEY_BYTES + 1, ..head },
            BasketHead { offsets_are_sizes: true, ..head },
        ] {
            Entries::of(&wrong, payload.clone(), true).unwrap_err();
        }
        let (head, payload) = basket(&[b"ab", b"cd"], false);
        Entries::of(&BasketHead { n_entries: 3, ..head }, payload.clone(), false).unwrap_err();
        Entries::of(&head, payload[..3].to_vec(), false).unwrap_err();
    }
}
