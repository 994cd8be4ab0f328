//! Object graphs: the object of a key, and all that its pointers lead to.
//!
//! An object behind a pointer is put off where a byte count tells its end: reading is as deep as objects are nested
//! by value, and one that cannot be read does not hinder the others. Every byte is read once. Source:
//! `TBufferFile::ReadObjectAny`, `TKey::ReadObjectAny` (ROOT 6.40).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::frame::has_frame;
use super::misfit::{Misfit, Trace};
use super::objects::{Reader, check_end};
use super::values::Values;
use crate::column::{LinkedTypes, Node};
use crate::cursor::{BYTE_COUNT_MASK, Cursor};
use crate::error::{Error, Result, Within};
use crate::streamer::{ObjectSlot, StreamerInfos};

/// The number of the object that the key names. Others have the number that references to them say.
pub const OUTERMOST: u32 = 1;
/// Objects without a byte count, as of very old writers, may be nested so deep.
const MAX_DEPTH: usize = 32;
/// All objects together may have so many members for each byte, and so many besides.
const MAX_MEMBERS_PER_BYTE: usize = 8;
const MAX_MEMBERS: usize = 200_000;
/// An object is read again so many times, each time without one class more.
const MAX_PASSED_OVER: usize = 8;

/// An object of a graph.
#[derive(Debug)]
pub struct Object {
    /// Its class; empty for the list of objects of a `TClonesArray`.
    pub class: String,
    /// What was read, or why it cannot be.
    pub content: Result<Content>,
    /// Its bytes in the object of the key.
    pub range: Range<usize>,
}

/// What was read of an object.
#[derive(Debug)]
pub enum Content {
    /// One value, and how it was read.
    Value(Arc<Node>, Values),
    /// A tree, which is read as one: [`TreeRecord::parse_from`](crate::tree::TreeRecord::parse_from).
    Tree,
}

/// The object of a key and what it leads to. Objects may lead to each other.
#[derive(Debug)]
pub struct ObjectGraph {
    /// By number; what a link says and is not here is 0, for none.
    pub objects: BTreeMap<u32, Object>,
}

/// The part of a [`Reader`] that follows links.
pub(super) struct Links<'a> {
    types: LinkedTypes<'a>,
    objects: BTreeMap<u32, Object>,
    pending: Vec<Pending<'a>>,
    /// Numbers of objects that are read or pending.
    known: BTreeSet<u32>,
    /// Numbers that references said.
    referred: BTreeSet<u32>,
    depth: usize,
    n_members_left: usize,
    n_repeats_left: usize,
}

/// An object behind a pointer.
struct Pending<'a> {
    number: u32,
    class: &'a [u8],
    range: Range<usize>,
}

/// Reads an object and what its pointers lead to.
///
/// `class`: as the key names it; `data`: the uncompressed object; `key_bytes`: length of the key, from which references
/// count.
///
/// # Errors
/// As the object itself has them. Those of objects behind pointers are [theirs](Object::content).
pub fn read_graph(class: &str, data: &[u8], key_bytes: usize, infos: &StreamerInfos) -> Result<ObjectGraph> {
    let mut passed_over = BTreeSet::new();
    let mut first_error = None;
    let mut is_traced = false;
    loop {
        let mut reader = Reader::new(data.len(), key_bytes);
        reader.links = Some(Box::new(Links::new(data.len(), LinkedTypes::without(infos, &passed_over))));
        reader.trace = is_traced.then(Box::default);
        let read = reader.outermost(class, data).and_then(|outermost| reader.put_off(data).map(|()| outermost));
        // Few objects do not fit, and only of those it matters which classes did.
        if !std::mem::replace(&mut is_traced, true) && (read.is_err() || reader.has_misfits()) {
            continue;
        }
        if passed_over.len() < MAX_PASSED_OVER
            && let Some(misfit) = reader.trace.as_deref().and_then(to_pass_over)
            && passed_over.insert(misfit.to_owned())
        {
            first_error = first_error.or(read.err());
            continue;
        }
        let outermost = read.map_err(|error| {
            let error = first_error.unwrap_or(error);
            let is_own = error.is_doubtful() && !StreamerInfos::is_of_root(class);
            if is_own {
                error.or(&format!("{class} is written by code of its own (File.raw gives the bytes)"))
            } else {
                error
            }
        })?;
        let mut objects = reader.links.map(|links| links.objects).unwrap_or_default();
        objects.insert(OUTERMOST, outermost);
        return Ok(ObjectGraph { objects });
    }
}

/// A class whose objects, which are parts of others, are not as the file describes them and so may be written by code of
/// its own. What ROOT's own classes write is known: where that does not fit, the file is damaged.
fn to_pass_over(trace: &Trace) -> Option<&str> {
    let may_be_own = |misfit: &&Misfit| {
        let Misfit { class, has_byte_count, is_inside } = misfit;
        *is_inside && *has_byte_count && !trace.has_read(class) && !StreamerInfos::is_of_root(class)
    };
    trace.misfits().iter().find(may_be_own).map(|misfit| misfit.class.as_str())
}

impl<'a> Links<'a> {
    fn new(n_bytes: usize, types: LinkedTypes<'a>) -> Self {
        Links {
            types,
            objects: BTreeMap::new(),
            pending: Vec::new(),
            known: BTreeSet::from([OUTERMOST]),
            referred: BTreeSet::new(),
            depth: 0,
            n_members_left: n_bytes.saturating_mul(MAX_MEMBERS_PER_BYTE).saturating_add(MAX_MEMBERS),
            n_repeats_left: n_bytes.saturating_mul(MAX_MEMBERS_PER_BYTE),
        }
    }

    /// How an object of a class is stored. Each time its members are taken from what all objects may have.
    pub(super) fn node_of(&mut self, class: &str, position: usize) -> Result<Arc<Node>> {
        let node = self.types.node_of(class)?;
        self.n_members_left = self.n_members_left.checked_sub(node.size()).ok_or_else(|| {
            let what = format!("objects of more than {MAX_MEMBERS_PER_BYTE} members for each byte");
            Error::unsupported(position, what)
        })?;
        Ok(node)
    }

    /// Notes that what is read now is inside of what was read before.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if that is too deep.
    pub(super) fn enter(&mut self, position: usize) -> Result<()> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::unsupported(position, format!("objects nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Adds an object that no pointer leads to.
    pub(super) fn insert(&mut self, number: u32, object: Object) {
        self.known.insert(number);
        self.objects.insert(number, object);
    }

    /// How an object of a class is stored, and room for one.
    fn room(&mut self, class: &str, position: usize) -> Result<(Arc<Node>, Values)> {
        let node = self.node_of(class, position)?;
        let values = Values::empty(&node.data_type());
        Ok((node, values))
    }
}

pub(super) fn number_of(position: usize) -> Result<u32> {
    u32::try_from(position).map_err(|_| Error::unsupported(position, "an object of 4 GiB"))
}

fn no_links(cursor: &Cursor<'_>) -> Error {
    Error::corrupt(cursor.position(), "a link outside of a graph")
}

impl<'a> Reader<'a> {
    /// Reads the object of the key.
    fn outermost(&mut self, class: &str, data: &'a [u8]) -> Result<Object> {
        let mut cursor = Cursor::new(data);
        if self.links(&cursor)?.types.is_tree(class) {
            return Ok(Object { class: class.to_owned(), content: Ok(Content::Tree), range: 0..data.len() });
        }
        let (node, mut values) = self.links(&cursor)?.room(class, 0)?;
        self.read_whole(&mut cursor, &node, &mut values)?;
        check_end(&cursor, &format!("a {class} takes"))?;
        Ok(Object { class: class.to_owned(), content: Ok(Content::Value(node, values)), range: 0..data.len() })
    }

    /// Reads what was put off, and what that leads to.
    fn put_off(&mut self, data: &'a [u8]) -> Result<()> {
        loop {
            while let Some(Pending { number, class, range }) = self.next_pending(data)? {
                // Nothing behind its end is its own: so no byte is read for two objects.
                let mut cursor = Cursor::at(data.get(..range.end).unwrap_or(data), range.start);
                let class = String::from_utf8_lossy(class).into_owned();
                let content = self.behind_link(&mut cursor, &class).map_err(|error| error.within(class.clone()));
                let object = Object { class, content, range };
                self.links(&cursor)?.objects.insert(number, object);
            }
            if !self.passed_over(data)? {
                return Ok(());
            }
        }
    }

    fn next_pending(&mut self, data: &'a [u8]) -> Result<Option<Pending<'a>>> {
        let links = self.links(&Cursor::new(data))?;
        // What failed was left in the middle.
        links.depth = 0;
        Ok(links.pending.pop())
    }

    /// Looks at references to what no pointer led to: it may be in what could not be read. Returns whether there are any.
    fn passed_over(&mut self, data: &'a [u8]) -> Result<bool> {
        let origin = self.origin;
        let links = self.links(&Cursor::new(data))?;
        let wanted: Vec<u32> = links.referred.difference(&links.known).copied().collect();
        for &number in &wanted {
            let start = (number as usize).checked_sub(origin + 2);
            let mut cursor = Cursor::at(data, start.unwrap_or(data.len()));
            let found = self.slots.read(&mut cursor);
            let links = self.links(&cursor)?;
            links.known.insert(number);
            if let Ok(ObjectSlot::Object { class, end: Some(end), .. }) = found {
                let range = cursor.position()..end;
                links.n_repeats_left = links
                    .n_repeats_left
                    .checked_sub(range.len())
                    .ok_or_else(|| Error::unsupported(range.start, "too many references into unreadable objects"))?;
                links.pending.push(Pending { number, class, range });
            } else {
                let start = start.unwrap_or(0).min(data.len());
                let error = Error::corrupt(start, format!("a reference to an object at {number}, where none is"));
                let object = Object { class: String::new(), content: Err(error), range: start..start };
                links.objects.insert(number, object);
            }
        }
        Ok(!wanted.is_empty())
    }

    /// True if an object that a pointer led to is not as its class is described.
    fn has_misfits(&self) -> bool {
        let is_misfit = |object: &Object| matches!(object.content, Err(Error::Corrupt(_) | Error::Truncated(_)));
        self.links.as_ref().is_some_and(|links| links.objects.values().any(is_misfit))
    }

    fn behind_link(&mut self, cursor: &mut Cursor<'a>, class: &str) -> Result<Content> {
        if self.links(cursor)?.types.is_tree(class) {
            return Ok(Content::Tree);
        }
        let (node, mut values) = self.links(cursor)?.room(class, cursor.position())?;
        self.read_whole(cursor, &node, &mut values)?;
        check_end(cursor, "the object takes")?;
        Ok(Content::Value(node, values))
    }

    /// Reads what is the rest of the data: containers of the standard library may have a frame there or not.
    fn read_whole(&mut self, cursor: &mut Cursor<'a>, node: &Node, values: &mut Values) -> Result<()> {
        let rest = cursor.data().get(cursor.position()..).unwrap_or_default();
        match node {
            Node::Framed(inner) if !has_frame(rest) => self.read(cursor, inner, values),
            node => self.read(cursor, node, values),
        }
    }

    pub(super) fn links(&mut self, cursor: &Cursor<'_>) -> Result<&mut Links<'a>> {
        self.links.as_deref_mut().ok_or_else(|| no_links(cursor))
    }

    /// Reads a pointer; returns the number of its object.
    pub(super) fn link(&mut self, cursor: &mut Cursor<'a>) -> Result<u32> {
        let slot = self.slots.read(cursor)?;
        let start = cursor.position();
        match slot {
            ObjectSlot::Null => Ok(0),
            ObjectSlot::Reference(position) => {
                let number = number_of(position)?;
                self.links(cursor)?.referred.insert(number);
                Ok(number)
            }
            ObjectSlot::Object { class, end: Some(end), position } => {
                let number = number_of(position)?;
                let links = self.links(cursor)?;
                if links.known.insert(number) {
                    links.pending.push(Pending { number, class, range: start..end });
                }
                cursor.leave(end)?;
                Ok(number)
            }
            ObjectSlot::Object { class, end: None, position } => {
                let number = number_of(position)?;
                let class = String::from_utf8_lossy(class).into_owned();
                let links = self.links(cursor)?;
                links.enter(start)?;
                let (node, mut values) = links.room(&class, start)?;
                self.read(cursor, &node, &mut values).within(|| class.clone())?;
                let range = start..cursor.position();
                let links = self.links(cursor)?;
                links.leave();
                links.insert(number, Object { class, content: Ok(Content::Value(node, values)), range });
                Ok(number)
            }
        }
    }

    /// Passes over what cannot be read, or is a tree, if its first word is a byte count; returns the number of what takes its place.
    pub(super) fn opaque(&mut self, cursor: &mut Cursor<'a>, why: &str) -> Result<u32> {
        let start = cursor.position();
        let error = Error::unsupported(start, format!("{why}, cannot be read"));
        let n_bytes = match Cursor::at(cursor.data(), start).u32() {
            Ok(word) if word & BYTE_COUNT_MASK != 0 => (word & !BYTE_COUNT_MASK) as usize,
            _ => return Err(error),
        };
        cursor.skip(4)?;
        if n_bytes < 2 || cursor.skip(n_bytes).is_err() {
            return Err(error);
        }
        // Slots are elsewhere: no pointer begins inside of what was passed over, or at its first byte.
        let number = number_of(start + self.origin + 2)?;
        let class = why.split(", ").next().unwrap_or_default().to_owned();
        let range = start..cursor.position();
        let links = self.links(cursor)?;
        let content = if links.types.is_tree(&class) { Ok(Content::Tree) } else { Err(error) };
        links.insert(number, Object { class, content, range });
        Ok(number)
    }
}

#[cfg(test)]
mod tests;
