//! Objects of classes that only the data tell.

use super::entries::{decode_members, decode_with};
use super::objects::Reader;
use super::pointers::{Followed, class_name, is_class};
use super::values::{Values, list_end, misfit};
use crate::column::{AnyNode, Class, EntryForm, Name, Node, SeenClasses};
use crate::cursor::Cursor;
use crate::error::{Error, Result};

/// Entries of more objects, whose members are stored one by one, are not looked at for their classes.
const MAX_OBJECTS_MET: i64 = 64;

impl<'a> Reader<'a> {
    /// Reads a pointer to an object of any class.
    pub(super) fn any(
        &mut self,
        cursor: &mut Cursor<'a>,
        any: &AnyNode,
        is_there: &mut Vec<u8>,
        out: &mut Values,
    ) -> Result<()> {
        let Values::Struct(n_values, columns) = out else { return Err(misfit(cursor)) };
        let leads = self.follow(cursor, |reader, cursor, slot| reader.one_of(cursor, any, slot, columns))?;
        is_there.push(u8::from(leads));
        *n_values += usize::from(leads);
        Ok(())
    }

    /// Reads an object of any class behind the name of its class.
    pub(super) fn named_any(&mut self, cursor: &mut Cursor<'a>, any: &AnyNode, out: &mut Values) -> Result<()> {
        let Values::Struct(n_values, columns) = out else { return Err(misfit(cursor)) };
        let start = cursor.position();
        let class = class_name(cursor)?;
        let end = Some(cursor.data().len());
        self.one_of(cursor, any, &Followed { class, start, end }, columns)?;
        *n_values += 1;
        Ok(())
    }

    /// Reads an object as what its class says, or its bytes.
    fn one_of(
        &mut self,
        cursor: &mut Cursor<'a>,
        any: &AnyNode,
        slot: &Followed<'a>,
        columns: &mut [(Name, Values)],
    ) -> Result<()> {
        let [(_, Values::Text(ends, names)), alternatives @ .., (_, Values::Optional(are_bytes, bytes))] = columns
        else {
            return Err(misfit(cursor));
        };
        if let Some(seen) = &mut self.seen {
            seen.note(&any.place, &String::from_utf8_lossy(slot.class));
        }
        names.extend_from_slice(slot.class);
        ends.push(list_end(names.len())?);
        let mut is_known = false;
        for (alternative, (_, values)) in any.alternatives.iter().zip(alternatives) {
            let Values::Optional(is_there, values) = values else { return Err(misfit(cursor)) };
            let is_this = !is_known && is_class(slot.class, &alternative.class);
            if is_this {
                self.read(cursor, &alternative.node, values)?;
                is_known = true;
            }
            is_there.push(u8::from(is_this));
        }
        are_bytes.push(u8::from(!is_known));
        if !is_known {
            let Values::Bytes(ends, bytes) = &mut **bytes else { return Err(misfit(cursor)) };
            let end = slot.end.ok_or_else(|| {
                let class = String::from_utf8_lossy(slot.class);
                Error::unsupported(slot.start, format!("a {class} without a byte count, among those of known classes"))
            })?;
            let n_bytes = end.checked_sub(cursor.position()).ok_or_else(|| misfit(cursor))?;
            bytes.extend_from_slice(cursor.take(n_bytes)?);
            ends.push(list_end(bytes.len())?);
        }
        Ok(())
    }
}

/// The same of members that are stored one by one. How many objects there are is not at hand: the first number is taken
/// with which the entry can be read, or would be if it was known what an array in it holds.
fn meet_members(class: &Class, node: &Node, entry: &[u8], origin: usize, seen: &mut SeenClasses) {
    for n_objects in 1..=MAX_OBJECTS_MET.min(i64::try_from(entry.len()).unwrap_or(i64::MAX)) {
        let mut reader = Reader::new(entry.len(), origin);
        reader.seen = Some(seen.clone());
        let mut values = Values::empty(&node.data_type());
        if let Ok(()) | Err(Error::Unsupported(_)) =
            decode_members(&mut reader, class, Some(n_objects), entry, &mut values)
        {
            *seen = reader.seen.unwrap_or_default();
            return;
        }
    }
}

/// Notes which classes the objects of an entry have, as far as it can be read.
///
/// `entry`: exactly its bytes; `origin`: how far they are from the start of the key of their basket.
pub fn meet(form: &EntryForm, entry: &[u8], origin: usize, seen: &mut SeenClasses) {
    let EntryForm::Streamed { framed, node } = form else { return };
    if let Node::MembersOfEach(class) = node {
        return meet_members(class, node, entry, origin, seen);
    }
    let mut reader = Reader::new(entry.len(), origin);
    reader.seen = Some(std::mem::take(seen));
    let mut values = Values::empty(&node.data_type());
    // What went wrong is said where the entry is read for its values.
    let _ = decode_with(&mut reader, *framed, node, entry, &mut values);
    *seen = reader.seen.unwrap_or_default();
}

#[cfg(test)]
mod tests;
