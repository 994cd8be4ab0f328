//! Pointers in the bytes of an object refer to places before: the class, or the object itself, was there.
//!
//! Source: `TBufferFile::WriteClass`, `TBufferFile::WriteObjectClass`, `TList::Streamer` (ROOT 6.40).

use arrowroot::format::streamer::{ObjectSlot, ObjectSlots, object_base};
use arrowroot::format::{Cursor, Result};

use super::classes::is_list;

const BYTE_COUNT: u32 = 1 << 30;
const CLASS: u32 = 1 << 31;
const NEW_CLASS: u32 = u32::MAX;
/// Positions 0 and 1 mean no object, and the outermost one.
const MAP_OFFSET: usize = 2;

/// A pointer in the bytes of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pointer {
    pub(crate) at: usize,
    pub(crate) target: Pointee,
}

/// The object that a pointer points to, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pointee {
    /// Pointers in it are listed, too.
    Walked,
    /// It was passed over, with its class.
    Passed,
    /// It was passed over: a list without its class, which is that of the member.
    PassedList,
    /// An object of another class, without it.
    Unknown,
}

/// Where pointers from a place on refer to one before, and that place. `None` if there may be more.
pub(crate) fn references(
    pointers: &[Pointer],
    object: &[u8],
    key_bytes: usize,
    from: usize,
) -> Option<Vec<(usize, usize)>> {
    let mut found = Finder { object, key_bytes, references: Vec::new() };
    for pointer in pointers.iter().filter(|pointer| pointer.at >= from) {
        let is_known = match pointer.target {
            Pointee::Walked => found.slot(&mut Cursor::at(object, pointer.at)).map(|_| true),
            Pointee::Passed => found.passed(pointer.at),
            Pointee::PassedList => found.list(&mut Cursor::at(object, pointer.at), "TList"),
            Pointee::Unknown => Ok(word(object, pointer.at) == 0),
        };
        is_known.ok().filter(|is_known| *is_known)?;
    }
    Some(found.references)
}

struct Finder<'a> {
    object: &'a [u8],
    key_bytes: usize,
    references: Vec<(usize, usize)>,
}

impl<'a> Finder<'a> {
    fn slot(&mut self, cursor: &mut Cursor<'a>) -> Result<ObjectSlot<'a>> {
        let mut at = cursor.position();
        let slot = ObjectSlots::new(self.key_bytes).read(cursor)?;
        let mut tag = word(self.object, at);
        if tag & (BYTE_COUNT | CLASS) == BYTE_COUNT {
            at += 4;
            tag = word(self.object, at);
        }
        let target = (tag & !CLASS) as usize;
        if tag != NEW_CLASS
            && let Some(target) = target.checked_sub(self.key_bytes + MAP_OFFSET)
        {
            self.references.push((at, target));
        }
        Ok(slot)
    }

    /// True if all references in an object behind a pointer are found.
    fn passed(&mut self, at: usize) -> Result<bool> {
        let mut cursor = Cursor::at(self.object, at);
        let slot = self.slot(&mut cursor)?;
        match slot.class_name() {
            Some(class) if is_list(&class) => self.list(&mut cursor, &class),
            class => Ok(class.is_none_or(|class| has_no_pointers(&class))),
        }
    }

    fn list(&mut self, cursor: &mut Cursor<'a>, class: &str) -> Result<bool> {
        if word(self.object, cursor.position()) == 0 {
            return Ok(true);
        }
        cursor.version()?;
        object_base(cursor)?;
        cursor.string_bytes()?;
        let n_objects = cursor.count(4)?;
        let is_array = class == "TObjArray";
        if is_array {
            cursor.skip(4)?;
        }
        for _ in 0..n_objects {
            let slot = self.slot(cursor)?;
            if let ObjectSlot::Object { end, .. } = slot {
                let is_known = slot.class_name().is_some_and(|class| has_no_pointers(&class));
                let Some(end) = end.filter(|_| is_known) else { return Ok(false) };
                cursor.leave(end)?;
            }
            if !is_array {
                cursor.string_bytes()?;
            }
        }
        Ok(true)
    }
}

fn has_no_pointers(class: &str) -> bool {
    matches!(class, "TObjString" | "TNamed")
}

fn word(object: &[u8], at: usize) -> u32 {
    object.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
