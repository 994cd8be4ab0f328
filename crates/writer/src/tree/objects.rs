//! Objects, and collections of them, as the streamers of their classes write them.
//!
//! A member of consecutive objects is written at once, wherever they stand one behind the other: in a collection that is stored
//! member by member, and in the branch of a member of a split collection. Its numbers are then copied and swapped in one go.
//!
//! Source: `TStreamerInfo::WriteBufferAux`, `TGenCollectionStreamer::Streamer`, `TBufferFile::WriteVersionMemberWise` (ROOT
//! 6.40).

use std::ops::Range;

use arrowroot_arrow::Stored;
use arrowroot_arrow::stored::{CLASS_VERSION, Content, Held, Value};
use arrowroot_format::encode::CONTAINER_VERSION;

use super::values::{self, COUNT_BYTES, Located, VECTOR_HEAD_BYTES, index, locate};

/// Set in the version of a collection that is stored member by member. Source: `TBufferFile::kStreamedMemberWise`.
const MEMBER_WISE: u16 = 1 << 14;
/// Bytes of a class version without a byte count.
const VERSION_BYTES: usize = 2;

/// How collections of objects are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Streaming {
    /// True if they are stored member by member, not object by object.
    pub(super) is_member_wise: bool,
}

impl Streaming {
    /// Appends an entry of a branch of whole objects: its members alone, as the branch says the version of the class.
    pub(super) fn append_whole(self, value: &Value, objects: &Stored, range: Range<usize>, out: &mut Vec<u8>) {
        let Held::Object(class) = &value.held else { return self.append(value, objects, range, out) };
        let Located { values, range, .. } = locate(objects, range, &value.steps);
        for place in range {
            for member in &class.members {
                self.append(&member.value, values, place..place + 1, out);
            }
        }
    }

    /// Bytes of entries that [`append_whole`](Streaming::append_whole) appends, each by a call of its own.
    pub(super) fn whole_bytes(self, value: &Value, objects: &Stored, range: Range<usize>) -> usize {
        let n_entries = range.len();
        let Held::Object(class) = &value.held else { return self.n_bytes(value, objects, range, n_entries) };
        let Located { values, range, .. } = locate(objects, range, &value.steps);
        class.members.iter().map(|member| self.n_bytes(&member.value, values, range.clone(), n_entries)).sum()
    }

    /// Appends a value of each of consecutive objects, as a member of all of them.
    pub(super) fn append(self, value: &Value, objects: &Stored, range: Range<usize>, out: &mut Vec<u8>) {
        let Located { values, range, .. } = locate(objects, range, &value.steps);
        match &value.held {
            Held::Numbers { content, inner, .. } => append_numbers(*content, values, range, inner, out),
            Held::Text => {
                framed(CONTAINER_VERSION, out, |out| values::append_plain(values, range, Content::Text, out));
            }
            Held::Vector { item, .. } => {
                let is_member_wise = self.is_member_wise && matches!(item.held, Held::Object(_));
                let version = if is_member_wise { CONTAINER_VERSION | MEMBER_WISE } else { CONTAINER_VERSION };
                framed(version, out, |out| {
                    if is_member_wise {
                        out.extend_from_slice(&CLASS_VERSION.to_be_bytes());
                    }
                    self.append_lists(item, values, range, is_member_wise, out);
                });
            }
            Held::Object(_) => self.append_items(value, values, range, false, out),
        }
    }

    /// Appends lists: the number of items of each, and these.
    fn append_lists(self, item: &Value, lists: &Stored, range: Range<usize>, is_member_wise: bool, out: &mut Vec<u8>) {
        for_each_list(lists, range, |items, range| {
            values::append_count(range.len(), out);
            if !range.is_empty() {
                let Located { values, range, .. } = locate(items, range, &item.steps);
                self.append_items(item, values, range, is_member_wise, out);
            }
        });
    }

    /// Appends values that stand one behind the other, with nothing around them.
    fn append_items(self, item: &Value, values: &Stored, range: Range<usize>, is_member_wise: bool, out: &mut Vec<u8>) {
        match &item.held {
            Held::Numbers { content, inner, .. } => append_numbers(*content, values, range, inner, out),
            Held::Text => values::append_plain(values, range, Content::Text, out),
            Held::Vector { item, .. } => self.append_lists(item, values, range, false, out),
            Held::Object(class) if is_member_wise => {
                for member in &class.members {
                    self.append(&member.value, values, range.clone(), out);
                }
            }
            Held::Object(class) => {
                for place in range {
                    framed(CLASS_VERSION, out, |out| {
                        for member in &class.members {
                            self.append(&member.value, values, place..place + 1, out);
                        }
                    });
                }
            }
        }
    }

    /// Bytes that [`append`](Streaming::append) makes of objects in `n_calls` calls, which share them among each other.
    pub(super) fn n_bytes(self, value: &Value, objects: &Stored, range: Range<usize>, n_calls: usize) -> usize {
        let Located { values, range, .. } = locate(objects, range, &value.steps);
        match &value.held {
            Held::Numbers { content, inner, .. } => number_bytes(*content, values, range, inner),
            Held::Text => n_calls * VECTOR_HEAD_BYTES + values::plain_bytes(values, &range, Content::Text),
            Held::Vector { item, .. } => {
                let is_member_wise = self.is_member_wise && matches!(item.held, Held::Object(_));
                let head_bytes = VECTOR_HEAD_BYTES + if is_member_wise { VERSION_BYTES } else { 0 };
                n_calls * head_bytes + self.list_bytes(item, values, range, is_member_wise)
            }
            Held::Object(_) => self.item_bytes(value, values, range, 0, false),
        }
    }

    fn list_bytes(self, item: &Value, lists: &Stored, range: Range<usize>, is_member_wise: bool) -> usize {
        let n_lists = range.len();
        let (items, inside, n_filled) = match lists {
            Stored::Fixed { n_items, items, .. } => {
                (items, range.start * n_items..range.end * n_items, if *n_items > 0 { n_lists } else { 0 })
            }
            Stored::List { items, .. } => {
                let offsets = values::offsets_of(lists, &range);
                let n_filled = values::lengths(offsets).filter(|length| *length > 0).count();
                (items, values::items_of(offsets), n_filled)
            }
            _ => return 0,
        };
        let Located { values, range, .. } = locate(items, inside, &item.steps);
        n_lists * COUNT_BYTES + self.item_bytes(item, values, range, n_filled, is_member_wise)
    }

    /// Bytes of values in `n_lists` lists that are not empty.
    fn item_bytes(
        self,
        item: &Value,
        values: &Stored,
        range: Range<usize>,
        n_lists: usize,
        is_member_wise: bool,
    ) -> usize {
        match &item.held {
            Held::Numbers { content, inner, .. } => number_bytes(*content, values, range, inner),
            Held::Text => values::plain_bytes(values, &range, Content::Text),
            Held::Vector { item, .. } => self.list_bytes(item, values, range, false),
            Held::Object(class) => {
                let n_objects = range.len();
                let (head_bytes, n_calls) = if is_member_wise { (0, n_lists) } else { (VECTOR_HEAD_BYTES, n_objects) };
                let members = class.members.iter();
                let of_members = members.map(|member| self.n_bytes(&member.value, values, range.clone(), n_calls));
                n_objects * head_bytes + of_members.sum::<usize>()
            }
        }
    }
}

/// Appends byte count and version, and what `append` does.
fn framed(version: u16, out: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; COUNT_BYTES]);
    out.extend_from_slice(&version.to_be_bytes());
    append(out);
    values::set_byte_count(out, start);
}

fn append_numbers(
    content: Content,
    values: &Stored,
    range: Range<usize>,
    inner: &[arrowroot_arrow::stored::Step],
    out: &mut Vec<u8>,
) {
    let Located { values, range, .. } = locate(values, range, inner);
    values::append_plain(values, range, content, out);
}

fn number_bytes(
    content: Content,
    values: &Stored,
    range: Range<usize>,
    inner: &[arrowroot_arrow::stored::Step],
) -> usize {
    let Located { values, range, .. } = locate(values, range, inner);
    values::plain_bytes(values, &range, content)
}

/// Calls `with` for the items of each list.
fn for_each_list<'s>(lists: &'s Stored, range: Range<usize>, mut with: impl FnMut(&'s Stored, Range<usize>)) {
    match lists {
        Stored::Fixed { n_items, items, .. } => {
            range.for_each(|place| with(items, place * n_items..(place + 1) * n_items));
        }
        Stored::List { items, .. } => {
            for pair in values::offsets_of(lists, &range).windows(2) {
                with(items, index(pair[0])..index(pair[1]));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
