//! Objects whose bytes are not what the file says of their class.
//!
//! The class may be written by code of its own, of which no file tells; or the file is damaged. What was noted of other
//! objects of the class, and of how this one begins, tells which is more likely.

use std::collections::BTreeSet;

use super::objects::Reader;
use crate::column::{Class, Node};
use crate::cursor::{BYTE_COUNT_MASK, Cursor};
use crate::error::{Error, Result};

/// What was noted of the classes of objects while these were read.
#[derive(Debug, Default)]
pub struct Trace {
    /// Those of which an object was read to its end.
    fitted: BTreeSet<String>,
    /// Objects that could not be read, those inside of others first.
    misfits: Vec<Misfit>,
    /// How many objects there are around what is read.
    depth: usize,
}

/// An object that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Its class.
    pub class: String,
    /// Whether it begins with a byte count, as all objects do that ROOT writes as it describes them.
    pub has_byte_count: bool,
    /// Whether it is a part of another object.
    pub is_inside: bool,
}

impl Trace {
    /// The innermost object that could not be read.
    pub fn misfit(&self) -> Option<&Misfit> {
        self.misfits.first()
    }

    /// Objects that could not be read, those inside of others first.
    pub(super) fn misfits(&self) -> &[Misfit] {
        &self.misfits
    }

    /// Whether an object of a class was read to its end.
    pub fn has_read(&self, class: &str) -> bool {
        self.fitted.contains(class)
    }
}

impl<'a> Reader<'a> {
    /// Reads an object by a function, and notes how that went where it is asked for.
    #[inline]
    pub(super) fn traced(
        &mut self,
        cursor: &mut Cursor<'a>,
        class: &str,
        read: impl FnOnce(&mut Self, &mut Cursor<'a>) -> Result<()>,
    ) -> Result<()> {
        let start = cursor.position();
        if let Some(trace) = &mut self.trace {
            trace.depth += 1;
        }
        let result = read(self, cursor);
        if let Some(trace) = &mut self.trace {
            trace.depth -= 1;
            match &result {
                Ok(()) if !trace.fitted.contains(class) => {
                    trace.fitted.insert(class.to_owned());
                }
                Err(Error::Corrupt(_) | Error::Truncated(_)) => note(trace, cursor, class, start),
                _ => {}
            }
        }
        result
    }

    /// Reads how many items follow. Notes objects that are too small for what they should be.
    pub(super) fn count(&mut self, cursor: &mut Cursor<'a>, item: &Node) -> Result<usize> {
        let counted = cursor.count(item.min_bytes().max(1));
        if let (Err(_), Some(trace), Some(class)) = (&counted, &mut self.trace, framed_class(item)) {
            note(trace, cursor, &class.name, cursor.position());
        }
        counted
    }
}

fn framed_class(node: &Node) -> Option<&Class> {
    match node {
        Node::Object(class) if class.is_framed => Some(class),
        _ => None,
    }
}

/// Notes an object that begins at `start`.
fn note(trace: &mut Trace, cursor: &Cursor<'_>, class: &str, start: usize) {
    let left = cursor.data().len().saturating_sub(start.saturating_add(4));
    let is_count = |word: u32| word & BYTE_COUNT_MASK != 0 && (word & !BYTE_COUNT_MASK) as usize <= left;
    let has_byte_count = Cursor::at(cursor.data(), start).u32().is_ok_and(is_count);
    trace.misfits.push(Misfit { class: class.to_owned(), has_byte_count, is_inside: trace.depth > 0 });
}

#[cfg(test)]
mod tests;
