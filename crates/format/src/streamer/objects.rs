//! Objects behind pointers: their class tags and the references to what was read before.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::cursor::{BYTE_COUNT_MASK, Cursor};
use crate::error::{Error, Result};

const NEW_CLASS_TAG: u32 = 0xffff_ffff;
const CLASS_MASK: u32 = 0x8000_0000;
/// Positions 0 and 1 mean no object, and the outermost one.
const MAP_OFFSET: usize = 2;
/// Bit of a `TObject` that says that two bytes of process identifier follow.
const IS_REFERENCED: u32 = 1 << 4;
/// A class that was passed over may be named in at most so many bytes.
const LONGEST_CLASS_NAME_BYTES: usize = 4096;

/// What a pointer points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectSlot<'a> {
    /// To nothing.
    Null,
    /// To the object whose slot was at this [position](ObjectSlot::Object::position); 1 is the outermost object.
    Reference(usize),
    /// To an object that follows: the cursor is at its first byte.
    Object {
        /// Class as it is named.
        class: &'a [u8],
        /// Position after it; `None` if there is no byte count.
        end: Option<usize>,
        /// What references to it say.
        position: usize,
    },
}

/// Reads the slots of pointers in one record, and remembers the classes named in it.
///
/// Source: `TBufferFile::ReadClass`, `TBufferFile::ReadObjectAny` (ROOT 6.40).
#[derive(Debug, Clone, Default)]
pub struct ObjectSlots<'a> {
    /// A few, each looked up for many objects; a hash of the position would cost more than the search.
    classes: BTreeMap<usize, &'a [u8]>,
    key_bytes: usize,
}

impl<'a> ObjectSlots<'a> {
    /// For the object of a record whose key is `key_bytes` long: positions are counted from the start of the key.
    pub fn new(key_bytes: usize) -> Self {
        ObjectSlots { classes: BTreeMap::new(), key_bytes }
    }

    /// The same for another object.
    pub fn begin(&mut self, key_bytes: usize) {
        self.key_bytes = key_bytes;
        // There are none in most.
        if !self.classes.is_empty() {
            self.classes.clear();
        }
    }

    /// Reads a slot. The cursor must be over the whole object of the record.
    ///
    /// # Errors
    /// [`Error::Truncated`] if it ends after the data, [`Error::Corrupt`] if it refers to no class.
    pub fn read(&mut self, cursor: &mut Cursor<'a>) -> Result<ObjectSlot<'a>> {
        let start = cursor.position();
        let mut tag = cursor.u32()?;
        let mut end = None;
        if tag & BYTE_COUNT_MASK != 0 && tag != NEW_CLASS_TAG && tag & CLASS_MASK == 0 {
            let n_bytes = (tag & !BYTE_COUNT_MASK) as usize;
            if n_bytes > cursor.remaining() {
                return Err(Error::truncated(
                    start,
                    format!("an object of {n_bytes} bytes, {} left", cursor.remaining()),
                ));
            }
            end = Some(cursor.position() + n_bytes);
            tag = cursor.u32()?;
        }
        let tag_at = cursor.position() - 4;
        let class = if tag == NEW_CLASS_TAG {
            let class = cursor.c_string()?;
            self.classes.insert(self.mapped(tag_at), class);
            class
        } else if tag & CLASS_MASK != 0 {
            self.class((tag & !CLASS_MASK) as usize, cursor)?
        } else {
            if let Some(end) = end {
                cursor.seek(end);
            }
            return Ok(if tag == 0 { ObjectSlot::Null } else { ObjectSlot::Reference(tag as usize) });
        };
        Ok(ObjectSlot::Object { class, end, position: self.mapped(start) })
    }

    /// True if a tag at this byte refers to a class that was named before.
    pub(crate) fn is_class_named_before(data: &[u8], at: usize) -> bool {
        let tag = data.get(at..).and_then(|rest| rest.first_chunk::<4>()).map_or(0, |tag| u32::from_be_bytes(*tag));
        tag & CLASS_MASK != 0 && tag != NEW_CLASS_TAG
    }

    /// The class that a tag at this byte refers to; `None` if it refers to none.
    pub(crate) fn class_at(&self, at: usize, cursor: Cursor<'a>) -> Option<&'a [u8]> {
        let mut cursor = Cursor::at(cursor.data(), at);
        let tag = cursor.u32().ok().filter(|&tag| tag & CLASS_MASK != 0 && tag != NEW_CLASS_TAG)?;
        self.class((tag & !CLASS_MASK) as usize, &cursor).ok()
    }

    /// What a reference to something at `position` of the object says.
    pub(crate) fn mapped(&self, position: usize) -> usize {
        position + self.key_bytes + MAP_OFFSET
    }

    /// The class that was named at a mapped position, perhaps in a part that was passed over.
    fn class(&self, mapped: usize, cursor: &Cursor<'a>) -> Result<&'a [u8]> {
        if let Some(class) = self.classes.get(&mapped) {
            return Ok(class);
        }
        mapped
            .checked_sub(self.key_bytes + MAP_OFFSET)
            .and_then(|position| cursor.data().get(position..))
            .and_then(|rest| rest.split_first_chunk::<4>())
            .filter(|(tag, _)| **tag == NEW_CLASS_TAG.to_be_bytes())
            .and_then(|(_, rest)| {
                let rest = &rest[..rest.len().min(LONGEST_CLASS_NAME_BYTES)];
                rest.iter().position(|&byte| byte == 0).map(|n_bytes| &rest[..n_bytes])
            })
            .ok_or_else(|| {
                Error::corrupt(cursor.position() - 4, format!("a reference to a class at {mapped}, where none is"))
            })
    }
}

impl ObjectSlot<'_> {
    /// Name of the class of an object that follows.
    pub fn class_name(&self) -> Option<Cow<'_, str>> {
        match self {
            ObjectSlot::Object { class, .. } => Some(String::from_utf8_lossy(class)),
            _ => None,
        }
    }
}

/// Reads a `TObject` base: its status bits.
///
/// # Errors
/// [`Error::Truncated`] at the end of the data.
#[inline]
pub fn object_base(cursor: &mut Cursor<'_>) -> Result<u32> {
    cursor.version()?;
    cursor.skip(4)?;
    let bits = cursor.u32()?;
    if bits & IS_REFERENCED != 0 {
        cursor.skip(2)?;
    }
    Ok(bits)
}

/// Reads a `TNamed` base: its status bits, name and title.
///
/// # Errors
/// [`Error::Truncated`] at the end of the data.
#[inline]
pub fn named_base<'a>(cursor: &mut Cursor<'a>) -> Result<(u32, &'a [u8], &'a [u8])> {
    let frame = cursor.version()?;
    let bits = object_base(cursor)?;
    let (name, title) = (cursor.string_bytes()?, cursor.string_bytes()?);
    if let Some(end) = frame.end {
        cursor.leave(end)?;
    }
    Ok((bits, name, title))
}

/// A name as text; what no name can hold, bytes that are not UTF-8 and zeros, is replaced.
pub(crate) fn name_text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => text.to_owned(),
        _ => String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}"),
    }
}
