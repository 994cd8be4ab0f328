//! Entries of objects that all take the same bytes: one member of all of them after the other.
//!
//! Objects without lists and texts, such as a `TLorentzVector`, differ in their numbers only. The first one of a basket
//! tells where these are; the others must have the same bytes around them, and if one has not, all are read one by one.

use std::borrow::Cow;

use super::frame::is_object_wise;
use super::kernels;
use super::objects::pick;
use super::pointers::{class_name, is_class};
use super::t_object::{IS_REFERENCED, NO_BITS, looks_like_object};
use super::values::{Values, list_end, misfit};
use crate::column::{EntryForm, Framing, Header, Node, Number, Step, Variant, node_with_dims};
use crate::cursor::Cursor;
use crate::error::Result;
use crate::streamer::Primitive;

/// Bytes before the objects of a vector: byte count, version, number of objects.
const LIST_HEAD_BYTES: usize = 10;

/// How objects stand in entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrangement {
    /// One in each.
    Alone,
    /// As many as fill it.
    ToEnd,
    /// Behind a byte count, a version and their number.
    List,
}

/// Appends the values of entries, if their objects take equal bytes; else nothing, and returns `false`.
///
/// `bounds`: where each begins in `data`, and where the last one ends.
///
/// # Errors
/// Unsupported if a list grows over 2^31 items: a smaller batch holds them.
pub(crate) fn decode_equal_size(form: &EntryForm, data: &[u8], bounds: &[usize], out: &mut Values) -> Result<bool> {
    let Some((place, item)) = arrangement_and_item(form) else { return Ok(false) };
    let Some(objects) = Objects::find(place, &item, data, bounds) else { return Ok(false) };
    let n_before = out.len();
    let appended = objects.append_entries(place, out);
    if appended.is_err() {
        out.truncate(n_before);
    }
    appended.map(|()| true)
}

/// Whether objects may be shape: it is of no use to look for the bounds of entries otherwise.
pub(crate) fn may_be_equal_size(form: &EntryForm) -> bool {
    arrangement_and_item(form).is_some()
}

fn arrangement_and_item(form: &EntryForm) -> Option<(Arrangement, Cow<'_, Node>)> {
    let (place, item) = match form {
        EntryForm::Streamed { framed: Framing::Bare, node: Node::ToEnd(item) } => {
            (Arrangement::ToEnd, Cow::Borrowed(&**item))
        }
        EntryForm::Streamed { framed: Framing::Framed, node: Node::List(item) } => {
            (Arrangement::List, Cow::Borrowed(&**item))
        }
        EntryForm::Streamed { framed: Framing::Bare, node } => (Arrangement::Alone, Cow::Borrowed(node)),
        EntryForm::Jagged { header, number, dims } => {
            let place = match header {
                Header::Nothing => Arrangement::ToEnd,
                Header::Vector => Arrangement::List,
                Header::Flag => return None,
            };
            (place, Cow::Owned(node_with_dims(Node::Number(*number), dims)))
        }
        _ => return None,
    };
    is_of_numbers(&item).then_some((place, item))
}

/// Whether nothing but numbers comes out, and always as many.
fn is_of_numbers(node: &Node) -> bool {
    match node {
        Node::Number(_) | Node::Bits => true,
        Node::Fixed(item, _) => matches!(**item, Node::Number(_) | Node::Fixed(..)) && is_of_numbers(item),
        Node::Struct(members) => members.iter().all(|(_, node)| is_of_numbers(node)),
        Node::Object(class) => class.variants.iter().any(variant_is_of_numbers),
        Node::Named(named) => is_of_numbers(&named.node),
        _ => false,
    }
}

fn variant_is_of_numbers(variant: &Variant) -> bool {
    let is_of_numbers = |step: &Step| match step {
        Step::Member(_, node) => is_of_numbers(node),
        Step::Base(base) => base.variants.iter().any(variant_is_of_numbers),
        Step::TObject { .. } => true,
        _ => false,
    };
    variant.absent.is_empty() && variant.steps.iter().all(is_of_numbers)
}

/// What comes out of an object.
#[derive(Debug)]
enum Part {
    /// So many numbers from a byte on.
    Numbers { at: usize, number: Number, n_numbers: usize },
    /// Members, and their places among the columns.
    Record(Vec<(usize, Part)>),
}

/// How objects are stored that take equal bytes.
#[derive(Debug)]
struct EqualSize {
    part: Part,
    /// The bits that all have in common, and what they are; of as many bytes as an object takes.
    mask: Vec<u8>,
    common: Vec<u8>,
    /// Whether there are any.
    has_mask: bool,
}

impl EqualSize {
    /// Objects like the one at the beginning of `data`.
    fn example(node: &Node, data: &[u8]) -> Option<Self> {
        let mut example = Example { cursor: Cursor::new(data), mask: Vec::new() };
        let part = example.part(node)?;
        let object = data.get(..example.cursor.position()).filter(|object| !object.is_empty())?;
        let mut mask = example.mask;
        mask.resize(object.len(), 0);
        let common = object.iter().zip(&mask).map(|(byte, mask)| byte & mask).collect();
        let has_mask = mask.iter().any(|&mask| mask != 0);
        Some(EqualSize { part, mask, common, has_mask })
    }

    fn n_bytes(&self) -> usize {
        self.mask.len()
    }

    /// Whether objects that stand one after the other are such.
    fn fits_all(&self, mut objects: &[u8]) -> bool {
        let fits = |object: &[u8]| {
            let bytes = object.iter().zip(&self.mask).zip(&self.common);
            bytes.fold(0, |wrong, ((byte, mask), common)| wrong | ((byte & mask) ^ common)) == 0
        };
        while self.has_mask
            && let Some((object, rest)) = objects.split_at_checked(self.n_bytes())
        {
            if !fits(object) {
                return false;
            }
            objects = rest;
        }
        true
    }
}

/// Finds out of an object where its numbers are.
struct Example<'a> {
    cursor: Cursor<'a>,
    mask: Vec<u8>,
}

impl Example<'_> {
    fn part(&mut self, node: &Node) -> Option<Part> {
        match node {
            Node::Number(number) => self.numbers(*number, 1),
            Node::Fixed(..) => {
                let (number, n_numbers) = numbers_of(node)?;
                self.numbers(number, n_numbers)
            }
            Node::Bits => self.bits(),
            Node::Struct(members) => {
                let parts = members.iter().enumerate().map(|(index, (_, node))| Some((index, self.part(node)?)));
                parts.collect::<Option<_>>().map(Part::Record)
            }
            Node::Named(named) => {
                let start = self.cursor.position();
                let class = class_name(&mut self.cursor).ok().filter(|class| is_class(class, &named.class));
                self.has_in_common(start);
                class.and_then(|_| self.part(&named.node))
            }
            Node::Object(class) => {
                let mut parts = Vec::new();
                match class.is_framed {
                    true => self.framed(&class.name, &class.variants, &mut parts)?,
                    false => self.steps(class.variants.first()?, &mut parts)?,
                }
                // Each member is there once.
                parts.sort_unstable_by_key(|(index, _)| *index);
                let is_whole = parts.iter().map(|(index, _)| *index).eq(0..class.members.len());
                is_whole.then_some(Part::Record(parts))
            }
            _ => None,
        }
    }

    fn framed(&mut self, name: &str, variants: &[Variant], parts: &mut Vec<(usize, Part)>) -> Option<()> {
        let start = self.cursor.position();
        let frame = self.cursor.version().ok()?;
        let variant = pick(&mut self.cursor, name, variants, frame.version).ok()?;
        self.has_in_common(start);
        self.steps(variant, parts)?;
        (frame.end == Some(self.cursor.position())).then_some(())
    }

    fn steps(&mut self, variant: &Variant, parts: &mut Vec<(usize, Part)>) -> Option<()> {
        if !variant.absent.is_empty() {
            return None;
        }
        for step in variant.steps.iter() {
            match step {
                Step::Member(place, node) => parts.push((*place, self.part(node)?)),
                Step::Base(base) => self.framed(&base.name, &base.variants, parts)?,
                Step::TObject { unique_id, bits, .. } => {
                    let start = self.cursor.position();
                    if !looks_like_object(&self.cursor) {
                        return None;
                    }
                    self.cursor.version().ok()?;
                    self.has_in_common(start);
                    parts.push((*unique_id, self.numbers(Number::plain(Primitive::UInt32), 1)?));
                    parts.push((*bits, self.bits()?));
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn numbers(&mut self, number: Number, n_numbers: usize) -> Option<Part> {
        let at = self.cursor.position();
        self.cursor.skip(n_numbers.checked_mul(number.stored_bytes())?).ok()?;
        Some(Part::Numbers { at, number, n_numbers })
    }

    /// The bits of an object that is not referenced: nothing follows them.
    fn bits(&mut self) -> Option<Part> {
        let start = self.cursor.position();
        let part = self.numbers(Number::plain(Primitive::UInt32), 1)?;
        let checked = (u32::from(NO_BITS) << 24 | IS_REFERENCED).to_be_bytes();
        let object = self.cursor.data().get(start..)?.first_chunk::<4>()?;
        if object.iter().zip(checked).any(|(byte, checked)| byte & checked != 0) {
            return None;
        }
        self.mask.resize(start, 0);
        self.mask.extend(checked);
        Some(part)
    }

    /// What was read since `start` is the same in all objects.
    fn has_in_common(&mut self, start: usize) {
        self.mask.resize(start, 0);
        self.mask.resize(self.cursor.position(), u8::MAX);
    }
}

/// The objects of all entries.
struct Objects<'a> {
    shape: EqualSize,
    data: &'a [u8],
    /// Of each entry.
    lengths: Vec<usize>,
    n_objects: usize,
    starts: Starts,
}

/// Where objects begin.
enum Starts {
    /// Each where the one before ends.
    Everywhere,
    /// Those of each entry, which are plain numbers, one after the other.
    OfEntries(Vec<usize>),
    /// Each by itself.
    OfObjects(Vec<usize>),
}

impl<'a> Objects<'a> {
    fn find(place: Arrangement, item: &Node, data: &'a [u8], bounds: &[usize]) -> Option<Self> {
        if place == Arrangement::List {
            return Self::behind_heads(item, data, bounds);
        }
        let data = data.get(*bounds.first()?..*bounds.last()?)?;
        let shape = EqualSize::example(item, data)?;
        let object_bytes = shape.n_bytes();
        let length = |entry: &[usize]| {
            let n_bytes = entry[1].checked_sub(entry[0])?;
            let n_objects = if n_bytes == object_bytes { 1 } else { n_bytes / object_bytes };
            (n_objects * object_bytes == n_bytes && (n_objects == 1 || place == Arrangement::ToEnd))
                .then_some(n_objects)
        };
        let lengths = bounds.windows(2).map(length).collect::<Option<_>>()?;
        let n_objects = data.len() / object_bytes;
        let fits = shape.fits_all(data);
        fits.then_some(Objects { shape, data, lengths, n_objects, starts: Starts::Everywhere })
    }

    fn behind_heads(item: &Node, data: &'a [u8], bounds: &[usize]) -> Option<Self> {
        let entries = || bounds.windows(2).map(|bounds| bounds[0]..bounds[1]);
        let first = entries().find(|entry| entry.len() > LIST_HEAD_BYTES)?;
        let shape = EqualSize::example(item, data.get(first.start + LIST_HEAD_BYTES..)?)?;
        let object_bytes = shape.n_bytes();
        let are_numbers = matches!(shape.part, Part::Numbers { .. });
        let mut lengths = Vec::with_capacity(bounds.len());
        let mut starts = Vec::with_capacity(bounds.len());
        for entry in entries() {
            let bytes = data.get(entry.clone())?;
            let (head, objects) = bytes.split_first_chunk::<LIST_HEAD_BYTES>()?;
            let n_objects = u32::from_be_bytes(*head.last_chunk()?) as usize;
            let is_whole = is_object_wise(bytes) && n_objects.checked_mul(object_bytes) == Some(objects.len());
            if !is_whole || !shape.fits_all(objects) {
                return None;
            }
            lengths.push(n_objects);
            let first = entry.start + LIST_HEAD_BYTES;
            if are_numbers {
                starts.push(first);
            } else {
                starts.extend((0..n_objects).map(|index| first + index * object_bytes));
            }
        }
        let n_objects = lengths.iter().sum();
        let starts = if are_numbers { Starts::OfEntries(starts) } else { Starts::OfObjects(starts) };
        Some(Objects { shape, data, lengths, n_objects, starts })
    }

    fn append_entries(&self, place: Arrangement, out: &mut Values) -> Result<()> {
        match (place, out) {
            (Arrangement::Alone, out) => self.append(&self.shape.part, out),
            (_, Values::List(ends, items)) => {
                let mut end = items.len();
                for n_objects in &self.lengths {
                    end += n_objects;
                    ends.push(list_end(end)?);
                }
                self.append(&self.shape.part, items)
            }
            _ => Err(misfit(&Cursor::new(self.data))),
        }
    }

    fn append(&self, part: &Part, out: &mut Values) -> Result<()> {
        let misfit = || misfit(&Cursor::new(self.data));
        match (part, out) {
            (part, Values::Optional(is_there, values)) => {
                is_there.resize(is_there.len() + self.n_objects, 1);
                self.append(part, values)
            }
            (Part::Record(parts), Values::Struct(n_values, columns)) => {
                *n_values += self.n_objects;
                parts.iter().try_for_each(|(index, part)| {
                    self.append(part, columns.get_mut(*index).map(|(_, column)| column).ok_or_else(misfit)?)
                })
            }
            (Part::Numbers { at, number, n_numbers }, out) => {
                let out = bytes_of_numbers(out).ok_or_else(misfit)?;
                self.append_numbers(*at, number, n_numbers * number.stored_bytes(), out);
                Ok(())
            }
            _ => Err(misfit()),
        }
    }

    /// Appends the numbers in so many bytes of each object.
    fn append_numbers(&self, at: usize, number: &Number, n_bytes: usize, out: &mut Vec<u8>) {
        let object_bytes = self.shape.n_bytes();
        let is_single = n_bytes == number.stored_bytes() && number.is_plain();
        let mut append = |at: usize, n_bytes: usize| {
            number.append(self.data.get(at..at + n_bytes).unwrap_or_default(), out);
        };
        match &self.starts {
            Starts::Everywhere if n_bytes == object_bytes => append(0, self.data.len()),
            Starts::Everywhere if is_single => kernels::append_strided(self.data, at, object_bytes, n_bytes, out),
            Starts::Everywhere => (0..self.n_objects).for_each(|index| append(index * object_bytes + at, n_bytes)),
            Starts::OfEntries(starts) => {
                let runs = starts.iter().zip(&self.lengths);
                runs.for_each(|(&start, &n_objects)| append(start, n_objects * object_bytes));
            }
            Starts::OfObjects(starts) if is_single => kernels::append_at(self.data, starts, at, n_bytes, out),
            Starts::OfObjects(starts) => starts.iter().for_each(|start| append(start + at, n_bytes)),
        }
    }
}

/// The numbers of an array, whose dimensions stand in each other, and how many there are.
fn numbers_of(node: &Node) -> Option<(Number, usize)> {
    match node {
        Node::Number(number) => Some((*number, 1)),
        Node::Fixed(item, n_items) => {
            let (number, n_numbers) = numbers_of(item)?;
            Some((number, n_numbers.checked_mul(*n_items as usize)?))
        }
        _ => None,
    }
}

/// Where the numbers of a column go.
fn bytes_of_numbers(out: &mut Values) -> Option<&mut Vec<u8>> {
    match out {
        Values::Primitive(_, bytes) => Some(bytes),
        Values::FixedList(items, _) => bytes_of_numbers(items),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
