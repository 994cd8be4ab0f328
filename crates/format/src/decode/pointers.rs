//! Pointers: null, an object behind the name of its class, or a reference to one that was read before.
//!
//! Source: `TBufferFile::ReadObjectAny` and `ReadClass` (ROOT 6.40).

use super::objects::{MAX_REPEATS, Reader, leave};
use super::values::Values;
use crate::column::Pointer;
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::streamer::{ObjectSlot, TypeName};

/// What references say that lead to the object of the entry.
const OUTERMOST: usize = 1;

/// An object that a pointer leads to.
pub(super) struct Followed<'a> {
    /// Its class.
    pub(super) class: &'a [u8],
    /// Where its slot begins.
    pub(super) start: usize,
    /// Where it ends, if a byte count says so.
    pub(super) end: Option<usize>,
}

impl<'a> Reader<'a> {
    /// Reads a pointer; returns whether it led to an object.
    pub(super) fn pointer(&mut self, cursor: &mut Cursor<'a>, pointer: &Pointer, out: &mut Values) -> Result<bool> {
        self.follow(cursor, |reader, cursor, slot| {
            expect_class(pointer, slot.class, slot.start)?;
            reader.read(cursor, &pointer.node, out)
        })
    }

    /// Reads a slot and, by a function, the object that it leads to; returns whether there is one.
    pub(super) fn follow(
        &mut self,
        cursor: &mut Cursor<'a>,
        mut read: impl FnMut(&mut Self, &mut Cursor<'a>, &Followed<'a>) -> Result<()>,
    ) -> Result<bool> {
        let start = cursor.position();
        match self.slots.read(cursor)? {
            ObjectSlot::Null => Ok(false),
            ObjectSlot::Object { class, end, .. } => {
                read(self, cursor, &Followed { class, start, end })?;
                leave(cursor, start, end)?;
                Ok(true)
            }
            ObjectSlot::Reference(OUTERMOST) => {
                Err(Error::unsupported(start, "a pointer to the object of the entry, which is around it"))
            }
            ObjectSlot::Reference(mapped) => {
                // The object was read before; it is read again.
                let position = mapped
                    .checked_sub(self.origin + 2)
                    .filter(|&position| position < start)
                    .ok_or_else(|| Error::corrupt(start, format!("a reference to an object at {mapped}")))?;
                let mut earlier = Cursor::at(cursor.data(), position);
                let ObjectSlot::Object { class, end, .. } = self.slots.read(&mut earlier)? else {
                    return Err(Error::corrupt(start, format!("a reference to {mapped}, where no object is")));
                };
                read(self, &mut earlier, &Followed { class, start: position, end })?;
                leave(&earlier, position, end)?;
                let n_bytes = earlier.position() - position;
                self.n_repeats_left = self.n_repeats_left.checked_sub(n_bytes).ok_or_else(|| {
                    Error::unsupported(
                        start,
                        format!("references to more than {MAX_REPEATS} times what an entry holds"),
                    )
                })?;
                Ok(true)
            }
        }
    }

    /// Reads an object behind the name of its class.
    pub(super) fn named(&mut self, cursor: &mut Cursor<'a>, named: &Pointer, out: &mut Values) -> Result<()> {
        let start = cursor.position();
        let class = class_name(cursor)?;
        expect_class(named, class, start)?;
        self.read(cursor, &named.node, out)
    }
}

/// Reads the name of a class that stands before its object.
pub(super) fn class_name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let n_bytes = usize::from(cursor.u8()?);
    let class = cursor.take(n_bytes)?;
    cursor.skip(1)?; // the zero that ends the name
    Ok(class)
}

/// Checks that an object is of the class that was declared: no other is read in its place.
fn expect_class(pointer: &Pointer, class: &[u8], start: usize) -> Result<()> {
    if is_class(class, &pointer.class) {
        return Ok(());
    }
    let what = format!("a pointer to {} that leads to a {}", pointer.class, String::from_utf8_lossy(class));
    Err(Error::unsupported(start, what))
}

/// Whether the name of a class in the data is that of this class.
pub(super) fn is_class(stored: &[u8], class: &str) -> bool {
    let is_same = |stored: TypeName| stored.with_usual_numbers().to_string() == class;
    stored == class.as_bytes() || TypeName::parse(&String::from_utf8_lossy(stored)).is_ok_and(is_same)
}
