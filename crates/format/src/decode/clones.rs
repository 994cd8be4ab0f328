//! `TClonesArray`: objects of one class, which is named in the data. Source: `TClonesArray::Streamer` (ROOT 6.40).

use std::sync::Arc;

use super::graph::{Content, Object, number_of};
use super::objects::{Reader, check_objects};
use super::pointers::is_class;
use super::t_object::IS_REFERENCED;
use super::values::{Values, list_end, misfit};
use crate::column::{ClonesNode, DataType, Name, Node};
use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};

/// Bit of the array that says that members are stored one by one. Source: `TClonesArray::kBypassStreamer`.
const BYPASS_STREAMER: u32 = 1 << 12;

/// What a `TClonesArray` begins with.
struct Head<'a> {
    start: usize,
    end: Option<usize>,
    unique_id: u32,
    bits: u32,
    name: &'a [u8],
    class_and_version: &'a [u8],
    n_objects: usize,
    lower_bound: i32,
}

impl<'a> Head<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self> {
        let start = cursor.position();
        let frame = cursor.version()?;
        if !matches!(frame.version, 3 | 4) {
            let what = format!("TClonesArray of version {}", frame.version);
            return Err(Error::unsupported(start, what));
        }
        cursor.version()?;
        let (unique_id, bits) = (cursor.u32()?, cursor.u32()?);
        if bits & IS_REFERENCED != 0 {
            cursor.skip(2)?;
        }
        let name = cursor.string_bytes()?;
        let class_and_version = cursor.string_bytes()?;
        let n_objects = cursor.i32()?.unsigned_abs() as usize;
        let lower_bound = cursor.i32()?;
        Ok(Head { start, end: frame.end, unique_id, bits, name, class_and_version, n_objects, lower_bound })
    }

    /// Class and version of the objects as text.
    fn class(&self) -> String {
        String::from_utf8_lossy(self.class_and_version).into_owned()
    }

    fn is_by_member(&self) -> bool {
        self.bits & BYPASS_STREAMER != 0
    }

    fn leave(&self, cursor: &Cursor<'_>) -> Result<()> {
        match self.end {
            Some(end) if end != cursor.position() => {
                let what = format!("a TClonesArray that ends at {}, not {end}", cursor.position());
                Err(Error::corrupt(self.start, what))
            }
            _ => Ok(()),
        }
    }
}

impl<'a> Reader<'a> {
    /// Reads an array: its own members, and its objects as a list in the graph.
    pub(super) fn clones(&mut self, cursor: &mut Cursor<'a>, columns: &mut [(Name, Values)]) -> Result<()> {
        let head = Head::read(cursor)?;
        let text = head.class();
        // Its objects may have such arrays themselves, and which ones only the data tell.
        self.links(cursor)?.enter(head.start)?;
        let link = self.objects_of(cursor, &text, head.is_by_member(), head.n_objects).within(|| text.clone())?;
        self.links(cursor)?.leave();
        head.leave(cursor)?;
        let [
            (_, Values::Primitive(_, unique_ids)),
            (_, Values::Primitive(_, all_bits)),
            (_, names),
            (_, classes),
            (_, Values::Primitive(_, bounds)),
            (_, Values::Links(links)),
        ] = columns
        else {
            return Err(misfit(cursor));
        };
        unique_ids.extend_from_slice(&head.unique_id.to_ne_bytes());
        all_bits.extend_from_slice(&head.bits.to_ne_bytes());
        push_text(names, head.name, cursor)?;
        push_text(classes, head.class_and_version, cursor)?;
        bounds.extend_from_slice(&head.lower_bound.to_ne_bytes());
        links.push(link);
        Ok(())
    }

    /// Reads an array as the list of its objects.
    pub(super) fn clones_of(
        &mut self,
        cursor: &mut Cursor<'a>,
        clones: &ClonesNode,
        ends: &mut Vec<i32>,
        items: &mut Values,
    ) -> Result<()> {
        let head = Head::read(cursor)?;
        let text = head.class();
        let (class, version) = text.split_once(';').unwrap_or((&text, ""));
        if let Some(seen) = &mut self.seen {
            seen.note(&clones.place, class);
        }
        let fault = match clones.item.fault() {
            Some(why) => Some(format!("{why}, in a TClonesArray of {} {class}", head.n_objects)),
            None if is_class(class.as_bytes(), &clones.class) => None,
            None => Some(format!("a TClonesArray of {class}, where the first entries have {}", clones.class)),
        };
        match (fault, head.end) {
            (None, _) => self
                .objects(cursor, &clones.item, head.is_by_member(), version, head.n_objects, items)
                .within(|| text.clone())?,
            (Some(_), Some(end)) if head.n_objects == 0 => cursor.leave(end)?,
            (Some(why), _) => return Err(Error::unsupported(head.start, why)),
        }
        head.leave(cursor)?;
        ends.push(list_end(items.len())?);
        Ok(())
    }

    /// Reads the objects; returns the number of their list.
    fn objects_of(&mut self, cursor: &mut Cursor<'a>, class: &str, by_member: bool, n_objects: usize) -> Result<u32> {
        let start = cursor.position();
        let (name, version) = class.split_once(';').unwrap_or((class, ""));
        let links = self.links(cursor)?;
        let item = links.node_of(name, start)?;
        let node = Arc::new(Node::List(Box::new((*item).clone())));
        let mut items = Values::empty(&DataType::Optional(Box::new(item.data_type())));
        self.objects(cursor, &item, by_member, version, n_objects, &mut items)?;
        let content = Ok(Content::Value(node, Values::List(vec![list_end(n_objects)?], Box::new(items))));
        // The number of the place where the objects begin: no slot is there.
        let number = number_of(start + self.origin + 2)?;
        let range = start..cursor.position();
        self.links(cursor)?.insert(number, Object { class: String::new(), content, range });
        Ok(number)
    }

    /// Reads so many objects, of which some may be missing.
    fn objects(
        &mut self,
        cursor: &mut Cursor<'a>,
        item: &Node,
        by_member: bool,
        version: &str,
        n_objects: usize,
        items: &mut Values,
    ) -> Result<()> {
        let Values::Optional(is_there, objects) = items else { return Err(misfit(cursor)) };
        if by_member {
            self.by_member(cursor, item, version, n_objects, objects)?;
            is_there.resize(is_there.len() + n_objects, 1);
            return Ok(());
        }
        if n_objects > cursor.remaining() {
            let what = format!("{n_objects} objects in {} bytes", cursor.remaining());
            return Err(Error::corrupt(cursor.position(), what));
        }
        for _ in 0..n_objects {
            let object_is_there = cursor.u8()? != 0;
            if object_is_there {
                self.read(cursor, item, objects)?;
            }
            is_there.push(u8::from(object_is_there));
        }
        Ok(())
    }

    /// Reads objects whose members are stored one after the other.
    fn by_member(
        &mut self,
        cursor: &mut Cursor<'a>,
        item: &Node,
        version: &str,
        n_objects: usize,
        objects: &mut Values,
    ) -> Result<()> {
        let (Node::Object(class), Values::Struct(n_values, columns)) = (item, objects) else {
            return Err(Error::unsupported(cursor.position(), "objects without members, member by member"));
        };
        let by_version = class.variants.iter().find(|variant| variant.version.to_string() == version);
        let only = || class.variants.first().filter(|_| class.variants.len() == 1);
        let Some(variant) = by_version.or_else(only) else {
            let what = format!("{} of version {version:?}, which the file does not describe", class.name);
            return Err(Error::unsupported(cursor.position(), what));
        };
        check_objects(cursor, class, variant, n_objects)?;
        // Containers have a frame even where there are no objects.
        let around = self.begin_class(class);
        self.columns(cursor, variant, n_objects, columns)?;
        self.end_class(around);
        *n_values += n_objects;
        Ok(())
    }
}

fn push_text(column: &mut Values, text: &[u8], cursor: &Cursor<'_>) -> Result<()> {
    let Values::Text(ends, bytes) = column else { return Err(misfit(cursor)) };
    bytes.extend_from_slice(text);
    ends.push(list_end(bytes.len())?);
    Ok(())
}
