//! Pointers between branches and leaves in the record of a tree.

use std::collections::BTreeMap;

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::streamer::{ObjectSlot, ObjectSlots, name_text, named_base, object_base};

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
    Branch(super::BranchId),
    Leaf(super::LeafId),
}

/// The classes, branches and leaves of a record so far.
pub(super) struct Objects<'a> {
    slots: ObjectSlots<'a>,
    objects: BTreeMap<usize, Object>,
    /// How many leaves are being read: a counter may be written inside the leaf that it counts for.
    pub(super) leaf_depth: usize,
}

impl<'a> Objects<'a> {
    pub(super) fn new(key_bytes: usize) -> Self {
        Objects { slots: ObjectSlots::new(key_bytes), objects: BTreeMap::new(), leaf_depth: 0 }
    }

    /// Reads one pointer.
    pub(super) fn slot(&mut self, cursor: &mut Cursor<'a>) -> Result<Slot<'a>> {
        let start = cursor.position();
        Ok(match self.slots.read(cursor)? {
            ObjectSlot::Null => Slot::Null,
            ObjectSlot::Reference(position) => Slot::Seen(self.objects.get(&position).copied()),
            ObjectSlot::Object { class, end, position } => {
                let class =
                    std::str::from_utf8(class).map_err(|_| Error::corrupt(start, "a class name that is not UTF-8"))?;
                Slot::New { class, position, end }
            }
        })
    }

    /// Notes which object was at a position, for references to it.
    pub(super) fn remember(&mut self, position: usize, object: Object) {
        self.objects.insert(position, object);
    }
}

/// Reads name and title of a `TNamed` part.
pub(super) fn read_named(cursor: &mut Cursor<'_>) -> Result<(String, String)> {
    let (_, name, title) = read_named_with_bits(cursor)?;
    Ok((name, title))
}

/// Reads `fBits`, name and title of a `TNamed` part.
pub(super) fn read_named_with_bits(cursor: &mut Cursor<'_>) -> Result<(u32, String, String)> {
    let (bits, name, title) = named_base(cursor)?;
    Ok((bits, name_text(name), name_text(title)))
}

/// Reads the head of a `TObjArray`: the number of its pointers, and where it ends.
pub(super) fn read_array_head(cursor: &mut Cursor<'_>) -> Result<(usize, Option<usize>)> {
    let frame = cursor.version()?;
    if frame.version > 2 {
        object_base(cursor)?;
    }
    if frame.version > 1 {
        cursor.string_bytes()?;
    }
    let n_objects = cursor.count(4)?;
    cursor.i32()?; // fLowerBound
    Ok((n_objects, frame.end))
}

/// Reads the head of a `TList`: the number of its items. Each is a pointer and an option string.
pub(super) fn read_list_head(cursor: &mut Cursor<'_>) -> Result<(usize, Option<usize>)> {
    let frame = cursor.version()?;
    if frame.version <= 3 {
        return Err(Error::unsupported(cursor.position(), format!("TList of version {}", frame.version)));
    }
    object_base(cursor)?;
    cursor.string_bytes()?;
    Ok((cursor.count(4)?, frame.end))
}
