//! Pointers between branches and leaves in the record of a tree.

use std::ops::Range;

use super::ids::{BranchId, LeafId};
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::output::{Frame, Output};
use crate::streamer::{ObjectSlot, ObjectSlots, name_text, named_base, object_base};

mod plain;

/// Class versions that are written. Source: `TObjArray`, `TList` (ROOT 6.40).
const ARRAY_VERSION: u16 = 3;
const LIST_VERSION: u16 = 5;
/// Some 12 are of each branch. No branch is told by those of a record that has more.
const MAX_NOTES: usize = 1 << 17;

/// What a pointer in the record leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot<'a> {
    /// A null pointer.
    Null,
    /// An object seen before; `None` if it is neither a branch nor a leaf.
    Seen(Option<Object>),
    /// An object that starts here: read it, then call [`Objects::remember`] with the position.
    New { class: &'a str, position: usize, end: Option<usize> },
}

/// An object that others may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Object {
    Branch(BranchId),
    Leaf(LeafId),
    /// The `TBranchRef` of the tree.
    References,
}

/// Bytes of a branch's record that differ from file to file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Gap {
    /// A byte count, and where its object ends.
    Frame { end: usize },
    /// Where the class of the object was named.
    Class,
    /// Where another object is.
    Reference(Object),
    /// Something by which a branch is not told: a class that is named here, or an object that is no branch and no leaf.
    Other,
    /// Numbers of so many bytes.
    Numbers(usize),
    /// `fMaximum` of a `TBranchElement`.
    Maximum,
    /// Both limits of a leaf, of so many bytes each.
    Limits(LeafId, usize),
    /// The pointers to the baskets, and the arrays.
    Baskets { end: usize },
}

/// A gap in the record of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Note {
    pub(super) at: usize,
    pub(super) gap: Gap,
}

/// The classes, branches and leaves of a record so far.
pub(super) struct Objects<'a> {
    slots: ObjectSlots<'a>,
    /// Where they are, in the order of these places.
    objects: Vec<(usize, Object)>,
    /// How many leaves are being read: a counter may be written inside the leaf that it counts for.
    pub(super) leaf_depth: usize,
    /// What differs from record to record though the schema is the same, in the order of places.
    pub(super) notes: Vec<Note>,
}

impl<'a> Objects<'a> {
    pub(super) fn new(key_bytes: usize) -> Self {
        Objects { slots: ObjectSlots::new(key_bytes), objects: Vec::new(), leaf_depth: 0, notes: Vec::new() }
    }

    /// Reads one pointer.
    pub(super) fn slot(&mut self, cursor: &mut Cursor<'a>) -> Result<Slot<'a>> {
        let start = cursor.position();
        let data = cursor.data();
        Ok(match self.slots.read(cursor)? {
            ObjectSlot::Null => Slot::Null,
            ObjectSlot::Reference(position) => {
                let object = self.object(position);
                // One with a byte count, which nobody writes, has its place elsewhere.
                let object_here = object.filter(|_| cursor.position() == start + 4);
                self.note(start, object_here.map_or(Gap::Other, Gap::Reference));
                Slot::Seen(object)
            }
            ObjectSlot::Object { class, end, position } => {
                if let Some(end) = end {
                    self.note(start, Gap::Frame { end });
                }
                let tag_at = if end.is_some() { start + 4 } else { start };
                let is_named_before = ObjectSlots::is_class_named_before(data, tag_at);
                self.note(tag_at, if is_named_before { Gap::Class } else { Gap::Other });
                let class =
                    std::str::from_utf8(class).map_err(|_| Error::corrupt(start, "a class name that is not UTF-8"))?;
                Slot::New { class, position, end }
            }
        })
    }

    /// Notes what differs in other records of the schema.
    pub(super) fn note(&mut self, at: usize, gap: Gap) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(Note { at, gap });
        }
    }

    /// True if none had to be left out.
    pub(super) fn has_all_notes(&self) -> bool {
        self.notes.len() < MAX_NOTES
    }

    /// The class that a tag at this byte refers to; `None` if it refers to none.
    pub(super) fn class_at(&self, at: usize, cursor: Cursor<'a>) -> Option<&'a [u8]> {
        self.slots.class_at(at, cursor)
    }

    /// The objects that begin in a range of bytes, and where.
    pub(super) fn within(&self, range: &Range<usize>) -> impl Iterator<Item = (usize, Object)> {
        let first = self.slots.mapped(0);
        let begin = self.objects.partition_point(|&(position, _)| position < range.start + first);
        let end = self.objects.partition_point(|&(position, _)| position < range.end + first);
        self.objects[begin..end].iter().map(move |&(position, object)| (position - first, object))
    }

    /// As [`Objects::remember`], by the byte of the pointer.
    pub(super) fn remember_at(&mut self, at: usize, object: Object) {
        self.remember(self.slots.mapped(at), object);
    }

    /// The object that a reference says.
    pub(super) fn object(&self, position: usize) -> Option<Object> {
        let index = self.objects.binary_search_by_key(&position, |&(position, _)| position).ok()?;
        Some(self.objects[index].1)
    }

    /// Notes which object was at a position, for references to it.
    pub(super) fn remember(&mut self, position: usize, object: Object) {
        // Almost always the last; a leaf comes after the counter that is written inside it.
        let index = self.objects.iter().rposition(|&(before, _)| before < position).map_or(0, |index| index + 1);
        match self.objects.get_mut(index) {
            Some((same, noted)) if *same == position => *noted = object,
            _ => self.objects.insert(index, (position, object)),
        }
    }
}

/// Reads `fBits`, name and title of a `TNamed` part.
pub(super) fn read_named(cursor: &mut Cursor<'_>) -> Result<(u32, String, String)> {
    let (bits, name, title) = named_base(cursor)?;
    Ok((bits, name_text(name), name_text(title)))
}

/// The head of a `TObjArray` that was read.
pub(super) struct ArrayHead {
    /// Number of pointers that follow.
    pub(super) n_objects: usize,
    /// `fBits`.
    pub(super) bits: u32,
    /// Where the array ends.
    pub(super) end: Option<usize>,
}

/// Reads the head of a `TObjArray`.
pub(super) fn read_array_head(cursor: &mut Cursor<'_>) -> Result<ArrayHead> {
    let frame = cursor.version()?;
    let bits = if frame.version > 2 { object_base(cursor)? } else { 0 };
    if frame.version > 1 {
        cursor.string_bytes()?;
    }
    let n_objects = cursor.count(4)?;
    cursor.i32()?; // fLowerBound
    Ok(ArrayHead { n_objects, bits, end: frame.end })
}

/// Begins a `TObjArray` of so many pointers, which follow.
pub(super) fn begin_array(output: &mut Output, bits: u32, n_objects: usize) -> Result<Frame> {
    let frame = output.begin(ARRAY_VERSION);
    output.object_base(bits);
    output.string(b"")?;
    output.count(n_objects)?;
    output.i32(0); // fLowerBound
    Ok(frame)
}

/// The items of a list that were passed over, as far as baskets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Passed {
    Nothing,
    /// Something that names no baskets.
    WithoutBaskets,
    Unknown,
}

/// A `TList` that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct List<T> {
    /// Those of its items that are known.
    pub(super) items: Vec<T>,
    /// `fBits`.
    pub(super) bits: u32,
    /// `fName`.
    pub(super) name: String,
    /// The others.
    pub(super) passed: Passed,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { items: Vec::new(), bits: 0, name: String::new(), passed: Passed::Nothing }
    }
}

impl<T> List<T> {
    /// Reads a pointer to a list. `item` reads one of a class: `None` if it does not know that.
    ///
    /// # Errors
    /// If what follows the list cannot be found. A list that cannot be read is passed over.
    pub(super) fn read<'a>(
        cursor: &mut Cursor<'a>,
        objects: &mut Objects<'a>,
        item: impl FnMut(&mut Cursor<'a>, &str) -> Result<Option<T>>,
    ) -> Result<Self> {
        match objects.slot(cursor)? {
            Slot::Null => Ok(List::default()),
            Slot::Seen(_) => Ok(List { passed: Passed::Unknown, ..List::default() }),
            Slot::New { class, end: Some(end), .. } => {
                let mut inside = *cursor;
                cursor.leave(end)?;
                let list = if class == "TList" { Self::read_items(&mut inside, objects, item).ok() } else { None };
                Ok(list.unwrap_or(List { passed: Passed::Unknown, ..List::default() }))
            }
            Slot::New { class, position, .. } => {
                Err(Error::unsupported(position, format!("a {class} without a byte count")))
            }
        }
    }

    fn read_items<'a>(
        cursor: &mut Cursor<'a>,
        objects: &mut Objects<'a>,
        mut item: impl FnMut(&mut Cursor<'a>, &str) -> Result<Option<T>>,
    ) -> Result<Self> {
        let frame = cursor.version()?;
        if frame.version <= 3 {
            return Err(Error::unsupported(cursor.position(), format!("TList of version {}", frame.version)));
        }
        let bits = object_base(cursor)?;
        let mut list = List { bits, name: name_text(cursor.string_bytes()?), ..List::default() };
        let n_items = cursor.count(4)?;
        for _ in 0..n_items {
            let passed = match objects.slot(cursor)? {
                Slot::New { class, end: Some(end), .. } => {
                    let object = cursor.data().get(cursor.position()..end).unwrap_or_default();
                    let read = item(cursor, class)?;
                    cursor.leave(end)?;
                    let passed = if read.is_some() {
                        Passed::Nothing
                    } else if plain::is_plain(class, object) {
                        Passed::WithoutBaskets
                    } else {
                        Passed::Unknown
                    };
                    list.items.extend(read);
                    passed
                }
                Slot::New { .. } => Passed::Unknown,
                // What was before is known, or was passed over there.
                Slot::Null | Slot::Seen(_) => Passed::WithoutBaskets,
            };
            let option = if cursor.string_bytes()?.is_empty() { Passed::Nothing } else { Passed::WithoutBaskets };
            list.passed = list.passed.max(passed).max(option);
        }
        Ok(list)
    }

    /// Writes a pointer to the list, or to nothing if it has no items. `item` writes one, its class tag first.
    pub(super) fn write(&self, output: &mut Output, mut item: impl FnMut(&mut Output, &T) -> Result<()>) -> Result<()> {
        if self.items.is_empty() {
            output.null();
            return Ok(());
        }
        let (pointer, _) = output.begin_object("TList")?;
        let frame = output.begin(LIST_VERSION);
        output.object_base(self.bits);
        output.string(self.name.as_bytes())?;
        output.count(self.items.len())?;
        for one in &self.items {
            item(output, one)?;
            output.string(b"")?;
        }
        output.end(frame)?;
        output.end(pointer)
    }
}
