//! Values as the streamers of their classes write them: vectors, maps, objects, and collections of objects.
//!
//! [`Streamed`] follows the steps of a plan once for many entries. A member of consecutive objects is written at once, wherever
//! they stand one behind the other: in a collection that is stored member by member, and in the branch of a member of a split
//! collection. Its numbers are then copied and swapped in one go. Where all members of a class have fixed sizes, so do its objects:
//! the places of all objects of many entries are known in advance, and each member is written to all of them in a loop of its own.
//!
//! Source: `TStreamerInfo::WriteBufferAux`, `TGenCollectionStreamer::Streamer`, `TGenCollectionStreamer::WriteMap`, `TBufferFile::WriteVersionMemberWise` (ROOT
//! 6.40).

use std::ops::Range;

use arrow_buffer::BooleanBuffer;
use arrowroot_arrow::Stored;
use arrowroot_arrow::stored::{BranchForm, Content, CppType, Step, Value};
use arrowroot_format::decode::kernels;
use arrowroot_format::encode::CONTAINER_VERSION;
use arrowroot_format::streamer::Primitive;

use super::layout::Branch;
use super::packed::{Packed, append_packed};
use super::values::{self, BYTE_COUNT_MASK, COUNT_BYTES, VECTOR_HEAD_BYTES, index, locate};

mod sized;

use sized::{SizedLists, put_each, scatter_members};

/// Set in the version of a collection that is stored member by member. Source: `TBufferFile::kStreamedMemberWise`.
const MEMBER_WISE: u16 = 1 << 14;
/// Bytes of a class version without a byte count.
const VERSION_BYTES: usize = 2;
const CHECKSUM_BYTES: usize = 4;
/// Bytes of byte count and version of an object.
const OBJECT_HEAD_BYTES: usize = VECTOR_HEAD_BYTES;
/// So few numbers are swapped one by one.
const FEW: usize = 4;

/// A value that the packed type of its branch does not hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outside(f64);

type Appended = Result<(), Outside>;

/// How values are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Streaming<'p> {
    /// True if collections of objects are stored member by member, not object by object.
    pub(super) is_member_wise: bool,
    /// How floating-point numbers are packed, those of which the plan says so.
    pub(super) packed: Option<&'p Packed>,
}

/// The entries of a branch in a part of a column.
#[derive(Debug)]
pub(super) struct Streamed<'p> {
    node: Node<'p>,
    /// Where the values of each entry begin, if an entry has several.
    offsets: Option<&'p [i64]>,
    /// True for objects without anything around them: the branch says the version of their class.
    is_whole: bool,
}

impl<'p> Streamed<'p> {
    /// The entries of a branch of vectors, or of what a streamer writes.
    pub(super) fn of(branch: &'p Branch, part: &'p Stored) -> Self {
        let how = Streaming { is_member_wise: branch.is_member_wise, packed: branch.packed.as_ref() };
        let planned = &branch.planned;
        match &planned.form {
            BranchForm::Streamed { value, .. } => {
                let located = locate(part, 0..part.len(), &planned.path);
                let streamed = Streamed { offsets: located.offsets, ..Streamed::of_value(value, located.values, how) };
                Streamed { is_whole: streamed.is_whole && planned.parent.is_none(), ..streamed }
            }
            _ => {
                let content = match (&branch.packed, planned.content) {
                    (Some(packed), Content::Values(_)) => Content::Values(packed.primitive),
                    (_, content) => content,
                };
                let node = Node::of_path(part, &planned.path, content, how);
                Streamed { node, offsets: None, is_whole: false }
            }
        }
    }

    /// Entries that are a value each.
    fn of_value(value: &Value, values: &'p Stored, how: Streaming<'p>) -> Self {
        let node = Node::of(value, values, how);
        let is_whole = matches!(node, Node::Objects(_));
        Streamed { node, offsets: None, is_whole }
    }

    /// Bytes of entries.
    pub(super) fn n_bytes(&self, entries: Range<usize>) -> usize {
        let n_entries = entries.len();
        let values = self.values_of(entries);
        match &self.node {
            Node::Objects(objects) if self.is_whole => objects.member_bytes(&values, n_entries),
            node => node.n_bytes(values, n_entries),
        }
    }

    /// Appends entries; `begin` is told where each begins in `out`. Returns the entry and the first value in it that has no room in
    /// its packed type, if one has none: behind it nothing is right.
    pub(super) fn append(
        &self,
        entries: Range<usize>,
        out: &mut Vec<u8>,
        mut begin: impl FnMut(usize),
    ) -> Result<(), (usize, f64)> {
        match &self.node {
            Node::Objects(Objects { members, n_bytes: Some(n_bytes), .. })
                if self.is_whole && self.offsets.is_none() =>
            {
                let start = out.len();
                out.resize(start + n_bytes * entries.len(), 0);
                let starts = (0..entries.len()).map(|index| start + index * n_bytes);
                starts.clone().for_each(begin);
                scatter_members(members, entries.start, starts, 0, out);
                return Ok(());
            }
            Node::Lists(lists) if self.offsets.is_none() => {
                if let Node::Objects(Objects { version, members, n_bytes: Some(n_bytes) }) = &*lists.item {
                    let sized = SizedLists { lists, version: *version, members, n_bytes: *n_bytes };
                    sized.append(entries, out, begin);
                    return Ok(());
                }
            }
            _ => {}
        }
        for entry in entries {
            begin(out.len());
            let mut values = self.values_of(entry..entry + 1);
            let appended = match &self.node {
                Node::Objects(objects) if self.is_whole => {
                    values.try_for_each(|index| objects.append_members(index, out))
                }
                node => node.append(values, out),
            };
            appended.map_err(|Outside(value)| (entry, value))?;
        }
        Ok(())
    }

    fn values_of(&self, entries: Range<usize>) -> Range<usize> {
        match self.offsets {
            None => entries,
            Some(offsets) => index(offsets[entries.start])..index(offsets[entries.end]),
        }
    }
}

/// A value of a plan, and where it is among the values of a column.
#[derive(Debug)]
enum Node<'p> {
    Numbers(Numbers<'p>),
    Texts(Texts<'p>),
    Lists(Lists<'p>),
    /// The items of maps: keys and values, with nothing around them.
    Pairs(Vec<Node<'p>>),
    Objects(Objects<'p>),
    /// The plan was made for another type.
    Nothing,
}

/// Numbers or bools, `each` for a value.
#[derive(Debug)]
struct Numbers<'p> {
    held: HeldNumbers<'p>,
    each: usize,
}

#[derive(Debug)]
enum HeldNumbers<'p> {
    /// In the byte order of the machine.
    Plain {
        bytes: &'p [u8],
        width: usize,
    },
    Bits(&'p BooleanBuffer),
    Packed {
        values: &'p Stored,
        packed: &'p Packed,
    },
}

#[derive(Debug)]
struct Texts<'p> {
    offsets: &'p [i64],
    bytes: &'p [u8],
}

#[derive(Debug)]
struct Lists<'p> {
    bounds: Bounds<'p>,
    item: Box<Node<'p>>,
    /// The version of the class of the items, if they are objects that are stored member by member, as those of maps are.
    member_wise: Option<ItemVersion>,
}

/// Where lists begin and end among their items.
#[derive(Debug)]
enum Bounds<'p> {
    Offsets(&'p [i64]),
    Each(usize),
}

/// The version of the class of items that are stored member by member. One without a version has 0, and a checksum behind it.
#[derive(Debug, Clone, Copy)]
struct ItemVersion {
    version: u16,
    checksum: Option<u32>,
}

#[derive(Debug)]
struct Objects<'p> {
    version: u16,
    members: Vec<Node<'p>>,
    /// Bytes of the members of an object, if they are the same in all.
    n_bytes: Option<usize>,
}

impl<'p> Node<'p> {
    fn of(value: &Value, values: &'p Stored, how: Streaming<'p>) -> Self {
        let values = through(values, &value.steps);
        match &value.held {
            CppType::Numbers { content, inner, .. } => Node::numbers(values, *content, inner, how),
            CppType::Text => Node::of_content(values, Content::Text, 1, how),
            CppType::Vector { item, .. } => {
                let member_wise = match &item.held {
                    CppType::Object(class) if how.is_member_wise => {
                        Some(ItemVersion { version: class.version, checksum: None })
                    }
                    _ => None,
                };
                Node::lists(values, member_wise, |items| Node::of(item, items, how))
            }
            CppType::Map(pair) => {
                let version = ItemVersion { version: 0, checksum: Some(pair.checksum) };
                Node::lists(values, Some(version), |pairs| {
                    Node::Pairs(pair.members.iter().map(|member| Node::of(&member.value, pairs, how)).collect())
                })
            }
            CppType::Object(class) => {
                let members = class.members.iter().map(|member| Node::of(&member.value, values, how));
                let members: Vec<Node<'p>> = members.collect();
                let n_bytes = members.iter().map(Node::fixed_bytes).sum();
                Node::Objects(Objects { version: class.version, members, n_bytes })
            }
        }
    }

    /// A path with nothing but lists around the values at its end.
    fn of_path(values: &'p Stored, path: &[Step], content: Content, how: Streaming<'p>) -> Self {
        let (steps, rest) = path.split_at(path.iter().position(|step| *step == Step::Items).unwrap_or(path.len()));
        let values = through(values, steps);
        match rest.split_first() {
            None => Node::of_content(values, content, 1, how),
            Some((_, rest)) => Node::lists(values, None, |items| Node::of_path(items, rest, content, how)),
        }
    }

    fn lists(values: &'p Stored, member_wise: Option<ItemVersion>, item: impl FnOnce(&'p Stored) -> Node<'p>) -> Self {
        let (bounds, items) = match values {
            Stored::List { offsets, items } => (Bounds::Offsets(offsets), items),
            Stored::Fixed { n_items, items, .. } => (Bounds::Each(*n_items), items),
            _ => return Node::Nothing,
        };
        Node::Lists(Lists { bounds, item: Box::new(item(items)), member_wise })
    }

    /// Numbers, or fixed arrays of them, which `inner` leads into.
    fn numbers(mut values: &'p Stored, content: Content, inner: &[Step], how: Streaming<'p>) -> Self {
        let mut each = 1;
        for step in inner {
            match (values, step) {
                (Stored::Fixed { n_items, items, .. }, Step::Items) => (values, each) = (items, each * n_items),
                (_, Step::Items) => return Node::Nothing,
                _ => values = through(values, std::slice::from_ref(step)),
            }
        }
        Node::of_content(values, content, each, how)
    }

    fn of_content(values: &'p Stored, content: Content, each: usize, how: Streaming<'p>) -> Self {
        let is_packed = matches!(content, Content::Values(Primitive::Double32 | Primitive::Float16));
        let held = match (values, content) {
            (Stored::Text { offsets, bytes }, Content::Text) => return Node::Texts(Texts { offsets, bytes }),
            (Stored::Optional { valid, .. }, Content::Validity) => HeldNumbers::Bits(valid),
            (Stored::Bits(bits), Content::Values(_)) => HeldNumbers::Bits(bits),
            (Stored::Numbers { primitive, values: bytes }, Content::Values(_)) => match how.packed {
                Some(packed) if is_packed => HeldNumbers::Packed { values, packed },
                _ => HeldNumbers::Plain { bytes, width: primitive.stored_bytes() },
            },
            _ => return Node::Nothing,
        };
        Node::Numbers(Numbers { held, each })
    }

    /// Bytes of a value, if they are the same for all and nothing can be wrong with one; of objects with their head.
    fn fixed_bytes(&self) -> Option<usize> {
        match self {
            Node::Numbers(Numbers { held: HeldNumbers::Packed { .. }, .. })
            | Node::Texts(_)
            | Node::Lists(_)
            | Node::Pairs(_) => None,
            Node::Numbers(numbers) => Some(numbers.n_bytes(1)),
            Node::Objects(objects) => Some(OBJECT_HEAD_BYTES + objects.n_bytes?),
            Node::Nothing => Some(0),
        }
    }

    /// Appends a value of each of consecutive objects, as a member of all of them.
    fn append(&self, range: Range<usize>, out: &mut Vec<u8>) -> Appended {
        match self {
            Node::Texts(_) => framed(CONTAINER_VERSION, out, |out| self.append_items(range, false, out)),
            Node::Lists(lists) => framed(lists.version(), out, |out| {
                if let Some(version) = lists.member_wise {
                    version.append(out);
                }
                lists.append(range, lists.member_wise.is_some(), out)
            }),
            Node::Numbers(_) | Node::Pairs(_) | Node::Objects(_) | Node::Nothing => {
                self.append_items(range, false, out)
            }
        }
    }

    /// Appends values that stand one behind the other, with nothing around them.
    fn append_items(&self, range: Range<usize>, is_member_wise: bool, out: &mut Vec<u8>) -> Appended {
        match self {
            Node::Numbers(numbers) => return numbers.append(range, out),
            Node::Texts(texts) => range.for_each(|index| values::append_text(texts.text(index), out)),
            Node::Lists(lists) => return lists.append(range, false, out),
            Node::Pairs(parts) if is_member_wise => {
                return parts.iter().try_for_each(|part| part.append(range.clone(), out));
            }
            Node::Pairs(parts) => {
                for index in range {
                    parts.iter().try_for_each(|part| part.append_items(index..index + 1, false, out))?;
                }
            }
            Node::Objects(Objects { members, .. }) if is_member_wise => {
                return members.iter().try_for_each(|member| member.append(range.clone(), out));
            }
            Node::Objects(objects) => return objects.append(range, out),
            Node::Nothing => {}
        }
        Ok(())
    }

    /// Bytes that [`append`](Node::append) makes in `n_calls` calls, which share the values among each other.
    fn n_bytes(&self, range: Range<usize>, n_calls: usize) -> usize {
        match self {
            Node::Texts(_) => n_calls * VECTOR_HEAD_BYTES + self.item_bytes(range, 0, false),
            Node::Lists(lists) => {
                let version_bytes = lists.member_wise.map_or(0, ItemVersion::n_bytes);
                n_calls * (VECTOR_HEAD_BYTES + version_bytes) + lists.n_bytes(range, lists.member_wise.is_some())
            }
            Node::Numbers(_) | Node::Pairs(_) | Node::Objects(_) | Node::Nothing => self.item_bytes(range, 0, false),
        }
    }

    /// Bytes of values in `n_lists` lists that are not empty.
    fn item_bytes(&self, range: Range<usize>, n_lists: usize, is_member_wise: bool) -> usize {
        match self {
            Node::Numbers(numbers) => numbers.n_bytes(range.len()),
            Node::Texts(texts) => range.map(|index| values::text_bytes(texts.text(index).len())).sum(),
            Node::Lists(lists) => lists.n_bytes(range, false),
            Node::Pairs(parts) if is_member_wise => parts.iter().map(|part| part.n_bytes(range.clone(), n_lists)).sum(),
            Node::Pairs(parts) => parts.iter().map(|part| part.item_bytes(range.clone(), 0, false)).sum(),
            Node::Objects(objects) if is_member_wise => objects.member_bytes(&range, n_lists),
            Node::Objects(objects) => range.len() * OBJECT_HEAD_BYTES + objects.member_bytes(&range, range.len()),
            Node::Nothing => 0,
        }
    }
}

impl ItemVersion {
    fn n_bytes(self) -> usize {
        VERSION_BYTES + if self.checksum.is_some() { CHECKSUM_BYTES } else { 0 }
    }

    fn append(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.version.to_be_bytes());
        if let Some(checksum) = self.checksum {
            out.extend_from_slice(&checksum.to_be_bytes());
        }
    }
}

impl Numbers<'_> {
    fn width(&self) -> usize {
        match self.held {
            HeldNumbers::Plain { width, .. } => width,
            HeldNumbers::Bits(_) => 1,
            HeldNumbers::Packed { packed, .. } => packed.packing.stored_bytes(),
        }
    }

    fn n_bytes(&self, n_values: usize) -> usize {
        n_values * self.each * self.width()
    }

    fn append(&self, range: Range<usize>, out: &mut Vec<u8>) -> Appended {
        let range = range.start * self.each..range.end * self.each;
        match self.held {
            HeldNumbers::Plain { bytes, width } => {
                let bytes = &bytes[range.start * width..range.end * width];
                match (range.len(), width) {
                    (..=FEW, 2) => append_few::<2>(bytes, out),
                    (..=FEW, 4) => append_few::<4>(bytes, out),
                    (..=FEW, 8) => append_few::<8>(bytes, out),
                    // Swapping is its own opposite.
                    _ => kernels::append_swapped(bytes, out, width),
                }
            }
            HeldNumbers::Bits(bits) => values::append_bits(&bits.slice(range.start, range.len()), out),
            HeldNumbers::Packed { values, packed } => {
                if let Some((_, value)) = append_packed(values, range, packed, out) {
                    return Err(Outside(value));
                }
            }
        }
        Ok(())
    }
}

impl Texts<'_> {
    fn text(&self, number: usize) -> &[u8] {
        &self.bytes[index(self.offsets[number])..index(self.offsets[number + 1])]
    }
}

impl Bounds<'_> {
    /// The items of consecutive lists.
    fn of(&self, range: &Range<usize>) -> Range<usize> {
        match self {
            Bounds::Offsets(offsets) => index(offsets[range.start])..index(offsets[range.end]),
            Bounds::Each(n_items) => range.start * n_items..range.end * n_items,
        }
    }
}

impl Lists<'_> {
    fn version(&self) -> u16 {
        if self.member_wise.is_some() { CONTAINER_VERSION | MEMBER_WISE } else { CONTAINER_VERSION }
    }

    /// Appends lists: the number of items of each, and these.
    fn append(&self, range: Range<usize>, is_member_wise: bool, out: &mut Vec<u8>) -> Appended {
        for index in range {
            let items = self.bounds.of(&(index..index + 1));
            values::append_count(items.len(), out);
            if !items.is_empty() {
                self.item.append_items(items, is_member_wise, out)?;
            }
        }
        Ok(())
    }

    fn n_bytes(&self, range: Range<usize>, is_member_wise: bool) -> usize {
        let n_lists = range.len();
        // Lists count alone where their items have parts of their own.
        let n_filled = match &*self.item {
            Node::Objects(Objects { n_bytes: None, .. }) | Node::Pairs(_) if is_member_wise => {
                range.clone().filter(|index| !self.bounds.of(&(*index..index + 1)).is_empty()).count()
            }
            _ => 0,
        };
        n_lists * COUNT_BYTES + self.item.item_bytes(self.bounds.of(&range), n_filled, is_member_wise)
    }
}

impl Objects<'_> {
    /// Bytes of the members of objects, which are appended in `n_calls` calls for each member.
    fn member_bytes(&self, range: &Range<usize>, n_calls: usize) -> usize {
        match self.n_bytes {
            Some(n_bytes) => n_bytes * range.len(),
            None => self.members.iter().map(|member| member.n_bytes(range.clone(), n_calls)).sum(),
        }
    }

    fn append(&self, mut range: Range<usize>, out: &mut Vec<u8>) -> Appended {
        let Some(n_bytes) = self.n_bytes else {
            return range.try_for_each(|index| framed(self.version, out, |out| self.append_members(index, out)));
        };
        let (start, stride) = (out.len(), OBJECT_HEAD_BYTES + n_bytes);
        out.resize(start + stride * range.len(), 0);
        let starts = (0..range.len()).map(|index| start + index * stride);
        put_each(std::iter::repeat(object_head(self.version, n_bytes)), starts.clone(), 0, out);
        scatter_members(&self.members, range.start, starts, OBJECT_HEAD_BYTES, out);
        Ok(())
    }

    /// Appends the members of an object.
    fn append_members(&self, index: usize, out: &mut Vec<u8>) -> Appended {
        self.members.iter().try_for_each(|member| member.append(index..index + 1, out))
    }
}

#[inline]
fn append_few<const N: usize>(bytes: &[u8], out: &mut Vec<u8>) {
    bytes.as_chunks::<N>().0.iter().for_each(|number| out.extend_from_slice(&swapped(*number)));
}

/// A number of the machine as big-endian.
#[inline]
fn swapped<const N: usize>(mut number: [u8; N]) -> [u8; N] {
    if cfg!(target_endian = "little") {
        number.reverse();
    }
    number
}

/// A byte count, with its mark.
fn byte_count(n_bytes: usize) -> [u8; COUNT_BYTES] {
    (u32::try_from(n_bytes).unwrap_or(u32::MAX) | BYTE_COUNT_MASK).to_be_bytes()
}

/// Byte count and version of an object whose members take so many bytes.
fn object_head(version: u16, n_bytes: usize) -> [u8; OBJECT_HEAD_BYTES] {
    let [a, b, c, d] = byte_count(n_bytes + VERSION_BYTES);
    let [e, f] = version.to_be_bytes();
    [a, b, c, d, e, f]
}

/// Appends byte count and version, and what `append` does.
fn framed(version: u16, out: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>) -> Appended) -> Appended {
    let start = out.len();
    out.extend_from_slice(&[0; COUNT_BYTES]);
    out.extend_from_slice(&version.to_be_bytes());
    append(out)?;
    let n_bytes = out.len() - start - COUNT_BYTES;
    out[start..start + COUNT_BYTES].copy_from_slice(&byte_count(n_bytes));
    Ok(())
}

/// The values that steps without lists lead to, which are as many.
fn through<'p>(mut values: &'p Stored, steps: &[Step]) -> &'p Stored {
    for step in steps {
        values = match (values, step) {
            (Stored::Optional { values, .. }, Step::Present) => values,
            (Stored::Struct { members, .. }, Step::Member(index)) => &members[*index],
            _ => return values,
        };
    }
    values
}

#[cfg(test)]
mod tests;
