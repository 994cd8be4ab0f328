//! Entries of a branch that are taken out of baskets and put into others, byte by byte.
//!
//! Pointers among the bytes of an entry name places in the record of its basket: where an object or the name of a class stands.
//! Entries with such pointers stay at their places in the record. What stood between them is filled with bytes that a reader knows,
//! as offsets tell where entries begin, and not where they end. (ROOT knows entries that moved by `fDisplacement`, but adds that to
//! what stands for no object, too.) Source: `TBasket::WriteBuffer`, `TBufferFile::ReadObjectAny` (ROOT 6.40).

use std::ops::Range;

use arrowroot::format::tree::{BasketHead, Branch, EmbeddedBasket, append_entry_offsets, append_gap};
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
    /// Bytes of the key before the data, if entries stay at their places in the record, as pointers in them may name some.
    stay_behind: Option<u32>,
}

#[derive(Debug, Clone)]
enum EntryPlaces {
    /// All entries have so many bytes.
    Equal(usize),
    /// Where each begins among the bytes.
    Starts(Vec<u32>),
}

impl Entries {
    /// None, of a branch.
    pub(crate) fn none() -> Entries {
        Entries { data: Vec::new(), n_entries: 0, places: EntryPlaces::Equal(0), pid_offset: 0, stay_behind: None }
    }

    /// The entries of a basket. `payload`: unpacked; `has_pointers`: entries may have some.
    ///
    /// # Errors
    /// If it is damaged, or stored in a way that is not known.
    pub(crate) fn of(head: &BasketHead, mut payload: Vec<u8>, has_pointers: bool) -> Result<Entries> {
        if head.offsets_are_sizes || head.offsets_generated {
            return Err(Error::unsupported(0, "a basket whose offsets follow from others"));
        }
        let places = match head.stored_offsets(&payload)? {
            Some(offsets) => {
                let start = |bytes: &[u8; POINTER_BYTES]| u32::from_be_bytes(*bytes).checked_sub(head.key_bytes);
                let starts = offsets.as_chunks().0.iter().map(start).collect::<Option<_>>();
                let before = || Error::corrupt(head.data_bytes as usize, "an entry that begins before the data");
                EntryPlaces::Starts(starts.ok_or_else(before)?)
            }
            None => equal(head)?,
        };
        payload.truncate(head.data_bytes as usize);
        Entries::checked(head, payload, places, has_pointers)
    }

    /// The entries of a basket in the record of its tree. `has_pointers`: as of [`Entries::of`].
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
            Some(starts) => EntryPlaces::Starts(starts.clone()),
            None => equal(&basket.head)?,
        };
        Entries::checked(&basket.head, data, places, has_pointers)
    }

    fn checked(head: &BasketHead, data: Vec<u8>, places: EntryPlaces, has_pointers: bool) -> Result<Entries> {
        let n_entries = head.n_entries as usize;
        let is_whole = data.len() == head.data_bytes as usize
            && match &places {
                EntryPlaces::Equal(n_bytes) => n_bytes.checked_mul(n_entries) == Some(data.len()),
                EntryPlaces::Starts(starts) => {
                    starts.len() == n_entries
                        && starts.is_sorted()
                        && starts.last().is_none_or(|last| *last as usize <= data.len())
                }
            };
        if !is_whole {
            return Err(Error::corrupt(0, format!("{} bytes that are not those of {n_entries} entries", data.len())));
        }
        let mut entries = Entries { data, n_entries, places, pid_offset: head.pid_offset, stay_behind: None };
        entries.stay_behind = (has_pointers
            && entries.may_name_places(std::slice::from_ref(&(0..n_entries)), head.key_bytes))
        .then_some(head.key_bytes);
        Ok(entries)
    }

    /// True if some bytes of entries may name a place in them, behind a key of so many bytes: pointers of an entry name none in
    /// others.
    fn may_name_places(&self, wanted: &[Range<usize>], key_bytes: u32) -> bool {
        let EntryPlaces::Starts(starts) = &self.places else { return false };
        wanted.iter().cloned().flatten().any(|entry| {
            let bytes = self.data.get(self.bytes_of(starts, &(entry..entry + 1))).unwrap_or_default();
            names_places(bytes, starts[entry].saturating_add(key_bytes))
        })
    }

    /// The bytes of some entries in a row.
    fn bytes_of(&self, starts: &[u32], entries: &Range<usize>) -> Range<usize> {
        let begin = |entry: usize| starts.get(entry).map_or(self.data.len(), |start| *start as usize);
        begin(entries.start)..begin(entries.end)
    }

    /// Their number.
    pub(crate) fn n_entries(&self) -> usize {
        self.n_entries
    }

    /// Number of bytes, without what says where entries begin.
    pub(crate) fn n_bytes(&self) -> usize {
        self.data.len()
    }

    /// True if they are to have a basket of their own, as they stay at their places in it.
    pub(crate) fn stand_alone(&self) -> bool {
        self.stay_behind.is_some()
    }

    /// Some of them, by their numbers: ranges in order.
    pub(crate) fn taken(&self, wanted: &[Range<usize>]) -> Entries {
        let mut taken = Entries { pid_offset: self.pid_offset, ..Entries::none() };
        match (&self.places, self.stay_behind) {
            (EntryPlaces::Starts(starts), Some(key_bytes)) if self.may_name_places(wanted, key_bytes) => {
                let mut own = Vec::new();
                for range in wanted {
                    let bytes = self.bytes_of(starts, range);
                    let n_between = bytes.start - taken.data.len();
                    append_gap(&mut taken.data, n_between);
                    taken.data.extend_from_slice(&self.data[bytes]);
                    own.extend_from_slice(&starts[range.clone()]);
                }
                (taken.n_entries, taken.stay_behind) = (own.len(), Some(key_bytes));
                taken.places = EntryPlaces::Starts(own);
            }
            _ => wanted.iter().for_each(|range| taken.append_range(self, range.clone())),
        }
        taken
    }

    /// True if others can stand behind them in one basket.
    pub(crate) fn go_before(&self, next: &Entries) -> bool {
        let is_alike = match (&self.places, &next.places) {
            (EntryPlaces::Equal(one), EntryPlaces::Equal(other)) => one == other,
            (EntryPlaces::Starts(_), EntryPlaces::Starts(_)) => true,
            _ => false,
        };
        self.n_entries == 0
            || is_alike && self.pid_offset == next.pid_offset && !self.stand_alone() && !next.stand_alone()
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
            EntryPlaces::Starts(starts) => {
                if !matches!(self.places, EntryPlaces::Starts(_)) {
                    self.places = EntryPlaces::Starts(Vec::new());
                }
                if let EntryPlaces::Starts(own) = &mut self.places {
                    let first = starts.get(range.start).copied().unwrap_or_default();
                    own.extend(starts[range.clone()].iter().map(|start| (start - first).saturating_add(n_before)));
                }
                others.bytes_of(starts, &range)
            }
        };
        self.data.extend_from_slice(&others.data[bytes]);
        self.n_entries += range.len();
    }

    /// A basket of them.
    ///
    /// # Errors
    /// Unsupported if they have more than 4 GiB, or have to stay where the key of the basket is too long for them.
    pub(crate) fn basket(self, branch: &Branch, tree: &str) -> Result<MadeBasket> {
        let Entries { data, n_entries, places, pid_offset, stay_behind } = self;
        let size = |n_bytes: usize| u32::try_from(n_bytes).map_err(|_| Error::unsupported(0, "a basket of 4 GiB"));
        let (first, mut title) = (first_of(&places), tree);
        let mut new = BasketHead::new(&branch.name, title)?;
        let mut payload = data;
        if let Some(key_bytes) = stay_behind {
            title = short_title(&branch.name, tree, key_bytes.saturating_add(first))?;
            new = BasketHead::new(&branch.name, title)?;
            match new.key_bytes.checked_sub(key_bytes) {
                // Nothing is there: the first entry begins behind the key.
                Some(n_more) => drop(payload.drain(..n_more as usize)),
                None => {
                    let mut behind = Vec::with_capacity(payload.len() + (key_bytes - new.key_bytes) as usize);
                    append_gap(&mut behind, (key_bytes - new.key_bytes) as usize);
                    behind.append(&mut payload);
                    payload = behind;
                }
            }
        }
        let data_bytes = size(payload.len())?;
        let entry_bytes = match places {
            EntryPlaces::Equal(n_bytes) => size(n_bytes)?,
            EntryPlaces::Starts(mut starts) => {
                let key_bytes = stay_behind.unwrap_or(new.key_bytes);
                starts.iter_mut().for_each(|start| *start = start.saturating_add(key_bytes));
                append_entry_offsets(&mut payload, &starts)?;
                // ROOT's room for the offsets.
                size(starts.len())?
            }
        };
        let buffer_bytes = i32::try_from(payload.len()).unwrap_or(i32::MAX);
        let head = BasketHead { buffer_bytes, data_bytes, n_entries: size(n_entries)?, entry_bytes, pid_offset, ..new };
        let (compression, branch) = (branch.compression, branch.name.clone());
        Ok(MadeBasket { head, branch, tree: title.to_owned(), compression, payload })
    }

    /// Has process identifiers be those of the output, where inputs before have so many.
    pub(crate) fn move_processes(&mut self, n_before: u16) {
        self.pid_offset = self.pid_offset.saturating_add(n_before);
    }
}

fn first_of(places: &EntryPlaces) -> u32 {
    match places {
        EntryPlaces::Equal(_) => 0,
        EntryPlaces::Starts(starts) => starts.first().copied().unwrap_or_default(),
    }
}

/// The name of a tree, or as much of it as a key of so many bytes has room for: nobody asks a basket for the name of its tree.
fn short_title<'t>(branch: &str, tree: &'t str, key_bytes: u32) -> Result<&'t str> {
    let mut title = tree;
    loop {
        let n_more = BasketHead::new(branch, title)?.key_bytes.saturating_sub(key_bytes) as usize;
        if n_more == 0 {
            return Ok(title);
        }
        let end = title.len().checked_sub(n_more).ok_or_else(|| {
            let what = format!(
                "entries of branch {branch:?} have pointers, which name places of their record, and its key is too long for \
                 them: give the tree a short name, or write columns by --layout ttree"
            );
            Error::unsupported(0, what)
        })?;
        let end = (0..=end).rev().find(|&end| title.is_char_boundary(end));
        title = &title[..end.unwrap_or_default()];
    }
}

/// True if bytes of an entry may be pointers to places in it, which was written at a place of its record.
///
/// A pointer names a class that stands before, or an object, which begins with the number of its bytes. The first of them
/// has its class with it. Source: `TBufferFile::WriteObjectClass` (ROOT 6.40).
fn names_places(entry: &[u8], written_at: u32) -> bool {
    let is_class = |bytes: &[u8]| bytes.starts_with(&NEW_CLASS) && bytes[POINTER_BYTES] > b' ';
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

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrowroot_format::tree::Branch;

    const KEY_BYTES: u32 = 70;

    /// A basket of entries behind a key of so many bytes, and its payload.
    fn basket(entries: &[&[u8]], has_offsets: bool, key_bytes: u32) -> (BasketHead, Vec<u8>) {
        let mut payload = entries.concat();
        let new = BasketHead::new("b", "t").unwrap();
        let data_bytes = u32::try_from(payload.len()).unwrap();
        let n_entries = u32::try_from(entries.len()).unwrap();
        if has_offsets {
            let mut start = key_bytes;
            let begin = |entry: &&[u8]| {
                start += u32::try_from(entry.len()).unwrap();
                start - u32::try_from(entry.len()).unwrap()
            };
            append_entry_offsets(&mut payload, &entries.iter().map(begin).collect::<Vec<_>>()).unwrap();
        }
        let payload_bytes = u32::try_from(payload.len()).unwrap();
        (BasketHead { key_bytes, data_bytes, n_entries, payload_bytes, ..new }, payload)
    }

    fn entries(of: &[&[u8]], has_offsets: bool) -> Entries {
        let (head, payload) = basket(of, has_offsets, KEY_BYTES);
        Entries::of(&head, payload, has_offsets).unwrap()
    }

    fn again(made: MadeBasket) -> Entries {
        let payload_bytes = u32::try_from(made.payload.len()).unwrap();
        Entries::of(&BasketHead { payload_bytes, ..made.head }, made.payload, true).unwrap()
    }

    /// The bytes of each entry of a basket with gaps behind them, and where each begins in the record.
    fn told(made: MadeBasket) -> Vec<(Vec<u8>, u32)> {
        let key_bytes = made.head.key_bytes;
        let found = again(made);
        let EntryPlaces::Starts(starts) = &found.places else { panic!("offsets expected") };
        let tell =
            |entry| (found.data[found.bytes_of(starts, &(entry..entry + 1))].to_vec(), starts[entry] + key_bytes);
        (0..found.n_entries).map(tell).collect()
    }

    /// A class that is named, an object of it, and one that names the class, written at a place of the record.
    fn with_pointers(written_at: u32) -> Vec<u8> {
        let class = (written_at + 4 + MAP_OFFSET) | CLASS;
        [&(BYTE_COUNT | 9).to_be_bytes(), &NEW_CLASS[..], b"TNamed\0", &class.to_be_bytes()].concat()
    }

    #[test]
    fn entries_of_several_baskets_are_put_together_as_they_are() {
        for has_offsets in [false, true] {
            let mut all = entries(&[b"ab", b"cd", b"ef"], has_offsets).taken(&[0..1, 2..3]);
            let more = entries(&[b"gh", b"ij"], has_offsets);
            assert!(all.go_before(&more) && !all.stand_alone());
            all.append(more);
            assert_eq!((all.n_entries(), all.n_bytes()), (4, 8));
            let found = again(all.basket(&Branch::new("b", "b"), "t").unwrap());
            assert_eq!((found.n_entries(), found.data.as_slice()), (4, &b"abefghij"[..]));
        }
        let other_size = entries(&[b"abc"], false);
        assert!(!entries(&[b"ab"], false).go_before(&other_size) && Entries::none().go_before(&other_size));
        assert!(!entries(&[b"ab"], true).go_before(&entries(&[b"ab"], false)));
        let mut of_other_process = entries(&[b"ab"], true);
        of_other_process.move_processes(1);
        assert!(!entries(&[b"ab"], true).go_before(&of_other_process));
        assert_eq!(of_other_process.basket(&Branch::new("b", "b"), "t").unwrap().head.pid_offset, 1);
    }

    #[test]
    fn entries_with_pointers_stay_at_their_places_whatever_the_length_of_the_key() {
        let key_bytes = BasketHead::new("b", "tree").unwrap().key_bytes;
        let written_at: Vec<u32> = (0..4).map(|entry| key_bytes + 19 * entry).collect();
        let all: Vec<Vec<u8>> = written_at.iter().map(|&at| with_pointers(at)).collect();
        let (head, payload) = basket(&all.iter().map(Vec::as_slice).collect::<Vec<_>>(), true, key_bytes);
        let entries = Entries::of(&head, payload, true).unwrap();
        assert!(entries.stand_alone() && !entries.go_before(&Entries::none()));
        let branch = Branch::new("b", "b");
        for (wanted, kept) in [([1..2, 3..4], &[1, 3][..]), ([0..1, 2..4], &[0, 2, 3])] {
            let taken = entries.taken(&wanted);
            for tree in ["tree", "t", "a tree of a longer name"] {
                let made = taken.clone().basket(&branch, tree).unwrap();
                assert!(tree.starts_with(&made.tree));
                let found = told(made);
                assert_eq!(
                    found.iter().map(|(_, at)| *at).collect::<Vec<_>>(),
                    kept.iter().map(|&one| written_at[one]).collect::<Vec<_>>()
                );
                for ((bytes, _), &one) in found.iter().zip(kept) {
                    assert!(bytes.starts_with(&all[one]));
                }
            }
            // Taken out of that again, they still do.
            let more = again(taken.basket(&branch, "t").unwrap()).taken(std::slice::from_ref(&(1..kept.len())));
            let found = told(more.basket(&branch, "tree").unwrap());
            assert_eq!(
                found.iter().map(|(_, at)| *at).collect::<Vec<_>>(),
                kept[1..].iter().map(|&one| written_at[one]).collect::<Vec<_>>()
            );
        }
        // The name of the branch leaves no room.
        let error = entries.basket(&Branch::new("a branch of a long name", ""), "t").err().unwrap();
        assert!(error.to_string().contains("its key is too long"), "{error}");
    }

    #[test]
    fn bytes_that_name_no_place_are_no_pointers() {
        let at = KEY_BYTES;
        assert!(names_places(&with_pointers(at), at) && !names_places(&with_pointers(at), at + 1));
        let object = [&with_pointers(at)[..15], &(at + MAP_OFFSET).to_be_bytes()].concat();
        assert!(names_places(&object, at));
        let underscored = [&object[..8], b"_", &object[9..]].concat();
        assert!(names_places(&underscored, at));
        // No class was named before, or there is nothing at that place that a pointer names.
        assert!(!names_places(&object[8..], at));
        let no_object = [&with_pointers(at)[..15], &(at + 99 + MAP_OFFSET).to_be_bytes()].concat();
        assert!(!names_places(&no_object, at));
        assert!(!names_places(&[], at) && !names_places(&NEW_CLASS, at));
    }

    #[test]
    fn damaged_baskets_are_errors() {
        let (head, payload) = basket(&[b"abc", b"de"], true, KEY_BYTES);
        for wrong in [
            BasketHead { n_entries: 3, ..head },
            BasketHead { data_bytes: 4, ..head },
            BasketHead { key_bytes: KEY_BYTES + 1, ..head },
            BasketHead { offsets_are_sizes: true, ..head },
        ] {
            Entries::of(&wrong, payload.clone(), true).unwrap_err();
        }
        let (head, payload) = basket(&[b"ab", b"cd"], false, KEY_BYTES);
        Entries::of(&BasketHead { n_entries: 3, ..head }, payload.clone(), false).unwrap_err();
        Entries::of(&head, payload[..3].to_vec(), false).unwrap_err();
    }
}
