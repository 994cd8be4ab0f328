//! Objects: frames, versions of classes, and members stored one by one.
//!
//! Source: `TStreamerInfo::ReadBuffer`, `TBufferFile::ReadVersion` and `ReadVersionForMemberWise` (ROOT 6.40).

use super::counts::{check_fixed, counted_items};
use super::frame::MEMBER_WISE;
use super::graph::Links;
use super::misfit::Trace;
use super::t_object::Doubts;
use super::values::{Values, last_integers, list_end, misfit};
use crate::column::{Base, Class, CountedHead, Name, Node, SeenClasses, Step, T_OBJECT_BYTES, Variant};
use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};
use crate::streamer::ObjectSlots;
use crate::tree::is_gap;

/// Bit of a reference whose object is known by a UUID. Source: `TObject::kHasUUID`.
const HAS_UUID: i64 = 1 << 5;
/// The version of a frame from which on that of the items' class follows.
const HAS_ITEM_VERSION: u16 = 8;
/// The version of a frame from which on nothing follows a count of 0.
const EMPTY_HAS_NO_MEMBERS: u16 = 7;
/// A list may have so many items that take no bytes: nothing else bounds them.
pub(super) const MAX_ITEMS_OF_NO_BYTES: usize = 1 << 16;
/// References may lead to so many times the bytes of their entry.
pub(super) const MAX_REPEATS: usize = 64;

/// Reads the values of entries, one after the other.
#[derive(Default)]
pub struct Reader<'a> {
    pub(super) slots: ObjectSlots<'a>,
    /// Bytes from the start of the key to the entry.
    pub(super) origin: usize,
    /// Classes met in places that hold any, where that is looked at.
    pub(super) seen: Option<SeenClasses>,
    /// Objects behind links, where a graph is read.
    pub(super) links: Option<Box<Links<'a>>>,
    /// Bytes of objects that may still be read again for references.
    pub(super) n_repeats_left: usize,
    pub(super) doubts: Doubts,
    /// What is noted of classes, where that is asked for.
    pub(super) trace: Option<Box<Trace>>,
}

/// What stands before the counts of collections that are stored member by member.
struct MemberWise {
    /// Version of the frame.
    frame: u16,
    /// Version of the class of the items, and where its checksum may follow.
    item: u16,
}

impl<'a> Reader<'a> {
    pub(super) fn new(entry_bytes: usize, origin: usize) -> Self {
        let mut reader = Reader::default();
        reader.begin(entry_bytes, origin);
        reader
    }

    /// Makes it read an entry of so many bytes, that begins so many behind the start of the key.
    #[inline]
    pub(super) fn begin(&mut self, entry_bytes: usize, origin: usize) {
        self.slots.begin(origin);
        self.origin = origin;
        self.n_repeats_left = entry_bytes.saturating_mul(MAX_REPEATS);
        self.doubts.begin(entry_bytes);
    }

    /// Reads a frame and so many values in it.
    pub(super) fn framed(
        &mut self,
        cursor: &mut Cursor<'a>,
        node: &Node,
        n_values: usize,
        out: &mut Values,
    ) -> Result<()> {
        let start = cursor.position();
        let frame = cursor.version()?;
        if frame.version & MEMBER_WISE == 0 {
            self.read_items(cursor, node, n_values, out)?;
        } else {
            let version = frame.version & !MEMBER_WISE;
            let mut head = MemberWise { frame: version, item: 0 };
            let mut variant = None;
            if version >= HAS_ITEM_VERSION {
                head.item = cursor.u16()?;
                variant = item_variant(cursor, node, head.item)?;
            }
            for _ in 0..n_values {
                self.member_wise(cursor, node, &head, variant, out)?;
            }
        }
        leave(cursor, start, frame.end)
    }

    /// Reads a collection whose items' members are stored one by one, behind its frame.
    fn member_wise(
        &mut self,
        cursor: &mut Cursor<'a>,
        node: &Node,
        head: &MemberWise,
        variant: Option<&Variant>,
        out: &mut Values,
    ) -> Result<()> {
        match (node, out) {
            (Node::Fixed(item, n_items), Values::FixedList(items, _)) => {
                check_fixed(cursor, item, *n_items)?;
                for _ in 0..*n_items {
                    self.member_wise(cursor, item, head, variant, items)?;
                }
            }
            (Node::ToEnd(item), Values::List(ends, items)) => {
                while cursor.remaining() > 0 {
                    let before = cursor.position();
                    self.member_wise(cursor, item, head, variant, items)?;
                    // Of a fixed array of nothing.
                    if cursor.position() == before {
                        return Err(Error::corrupt(before, "an item of no bytes"));
                    }
                }
                ends.push(list_end(items.len())?);
            }
            (Node::List(item), Values::List(ends, items)) => {
                match (&**item, &mut **items) {
                    (Node::Object(class), Values::Struct(n_values, columns)) => {
                        *n_values += self.items_by_member(cursor, class, head, variant, columns)?;
                    }
                    (Node::Sole(class), items) => {
                        items
                            .as_member(class, |columns| self.items_by_member(cursor, class, head, variant, columns))?;
                    }
                    _ if cursor.count(1)? == 0 => {}
                    (Node::Unreadable(why), _) => return Err(unreadable(cursor, why)),
                    _ => {
                        let what = "objects, member by member, of a class which the file does not describe";
                        return Err(Error::unsupported(cursor.position(), what));
                    }
                }
                ends.push(list_end(items.len())?);
            }
            (Node::Map(map), Values::Map(ends, keys, values)) => {
                let n_pairs = cursor.count(map.pair_column_bytes())?;
                if n_pairs > 0 || head.frame < EMPTY_HAS_NO_MEMBERS {
                    self.column(cursor, &map.key_column, n_pairs, keys)?;
                    self.column(cursor, &map.value_column, n_pairs, values)?;
                }
                ends.push(list_end(keys.len())?);
            }
            (node, Values::Optional(is_there, values)) => {
                self.member_wise(cursor, node, head, variant, values)?;
                is_there.push(1);
            }
            (Node::Unreadable(why), _) => return Err(unreadable(cursor, why)),
            _ => return Err(misfit(cursor)),
        }
        Ok(())
    }

    /// Reads a count, and so many objects whose members are stored one by one. Returns how many.
    fn items_by_member(
        &mut self,
        cursor: &mut Cursor<'a>,
        class: &Class,
        head: &MemberWise,
        variant: Option<&Variant>,
        columns: &mut [(Name, Values)],
    ) -> Result<usize> {
        let variant = variant
            .or(class.variants.first())
            .ok_or_else(|| Error::unsupported(cursor.position(), format!("{} without members", class.name)))?;
        let n_items = cursor.count(variant.min_bytes())?;
        check_objects(cursor, class, variant, n_items)?;
        if n_items > 0 || head.frame < EMPTY_HAS_NO_MEMBERS {
            let around = self.begin_class(class);
            self.columns(cursor, variant, n_items, columns).within(|| class.name.clone())?;
            self.end_class(around);
        }
        Ok(n_items)
    }

    /// Reads one member of so many objects. Collections and `std::string` share one frame.
    pub(super) fn column(
        &mut self,
        cursor: &mut Cursor<'a>,
        node: &Node,
        n_values: usize,
        out: &mut Values,
    ) -> Result<()> {
        match (node, out) {
            (Node::Framed(node), Values::Optional(is_there, values)) => {
                self.framed(cursor, node, n_values, values)?;
                is_there.resize(is_there.len() + n_values, 1);
                Ok(())
            }
            (Node::Framed(node), out) => self.framed(cursor, node, n_values, out),
            (Node::Converted(conversion), out) => self.converted(cursor, conversion, n_values, out),
            (node, out) => self.read_items(cursor, node, n_values, out),
        }
    }

    /// Reads all members of so many objects, one member of all of them after the other.
    pub(super) fn columns(
        &mut self,
        cursor: &mut Cursor<'a>,
        variant: &Variant,
        n_values: usize,
        columns: &mut [(Name, Values)],
    ) -> Result<()> {
        for step in variant.steps.iter() {
            match step {
                Step::Member(index, node) => {
                    let (name, column) = columns.get_mut(*index).ok_or_else(|| misfit(cursor))?;
                    if let (Node::Number(number), Values::Primitive(_, bytes)) = (node, &mut *column) {
                        let stored = cursor.take(n_values.saturating_mul(number.stored_bytes()));
                        number.append(stored.within(|| name.to_string())?, bytes);
                        continue;
                    }
                    self.column(cursor, node, n_values, column).within(|| name.to_string())?;
                }
                Step::Counted { .. } => self.counted(cursor, step, n_values, columns)?,
                Step::OwnBase(index, node) => self.own_bases(cursor, *index, node, n_values, columns)?,
                Step::Process { index, bits } => processes(cursor, *index, *bits, n_values, columns)?,
                Step::PassedOver(name, step) => {
                    self.pass_over(cursor, step, n_values, columns).within(|| name.to_string())?;
                }
                Step::Base(base) if !base.is_whole => {
                    // What is stored does not say which version it is: the class that derives from it does.
                    let variant = base.by_member.and_then(|index| base.variants.get(index)).ok_or_else(|| {
                        let what = format!("base {}, of a version that is not known", base.name);
                        Error::unsupported(cursor.position(), what)
                    })?;
                    self.columns(cursor, variant, n_values, columns).within(|| base.name.clone())?;
                }
                Step::Base(_) | Step::TObject { .. } | Step::Unreadable(_) => {
                    for _ in 0..n_values {
                        self.step(cursor, step, columns)?;
                    }
                }
            }
        }
        push_absent(&variant.absent, n_values, columns);
        Ok(())
    }

    /// Reads an object.
    pub(super) fn object(
        &mut self,
        cursor: &mut Cursor<'a>,
        class: &Class,
        columns: &mut [(Name, Values)],
    ) -> Result<()> {
        let around = self.begin_class(class);
        match (class.is_framed, class.variants.first()) {
            (true, _) => self.traced(cursor, &class.name, |reader, cursor| {
                reader.versioned(cursor, &class.name, &class.variants, columns)
            })?,
            (false, Some(variant)) => self.steps(cursor, &variant.steps, &variant.absent, columns)?,
            (false, None) => return Err(misfit(cursor)),
        }
        self.end_class(around);
        Ok(())
    }

    /// Reads a version and what it has.
    fn versioned(
        &mut self,
        cursor: &mut Cursor<'a>,
        name: &str,
        variants: &[Variant],
        columns: &mut [(Name, Values)],
    ) -> Result<()> {
        let start = cursor.position();
        let frame = cursor.version()?;
        if frame.end.is_none() && frame.version == 0 && Cursor::at(cursor.data(), cursor.position()).u32() == Ok(0) {
            // Of a version 0 the checksum follows, and all that has one has a byte count.
            return Err(Error::corrupt(start, format!("zeros where an object of {name} should be")));
        }
        let variant = pick(cursor, name, variants, frame.version).map_err(|error| match frame.end {
            Some(_) => error,
            // No version at all, it seems: all but very old ROOT writes a byte count before it.
            None => Error::corrupt(start, format!("no byte count, and {}", error.fault().what)),
        })?;
        let fewest_bytes = variant.min_bytes().saturating_add(T_OBJECT_BYTES);
        let is_too_short = |end: usize| end.saturating_sub(cursor.position()) < fewest_bytes;
        let steps = match variant.steps.split_first() {
            Some((object @ Step::TObject { may_lack: true, .. }, rest)) if frame.end.is_some_and(is_too_short) => {
                self.no_object(cursor, object, columns)?;
                rest
            }
            _ => &*variant.steps,
        };
        self.steps(cursor, steps, &variant.absent, columns).within(|| name.to_owned())?;
        leave(cursor, start, frame.end).within(|| name.to_owned())
    }

    fn steps(
        &mut self,
        cursor: &mut Cursor<'a>,
        steps: &[Step],
        absent: &[usize],
        columns: &mut [(Name, Values)],
    ) -> Result<()> {
        for step in steps {
            self.step(cursor, step, columns)?;
        }
        push_absent(absent, 1, columns);
        Ok(())
    }

    pub(super) fn step(&mut self, cursor: &mut Cursor<'a>, step: &Step, columns: &mut [(Name, Values)]) -> Result<()> {
        match step {
            Step::Member(index, node) | Step::OwnBase(index, node) => {
                let (name, column) = columns.get_mut(*index).ok_or_else(|| misfit(cursor))?;
                self.read(cursor, node, column).within(|| name.to_string())
            }
            Step::Counted { .. } => self.counted(cursor, step, 1, columns),
            Step::Base(Base { name, variants, .. }) => {
                self.traced(cursor, name, |reader, cursor| reader.versioned(cursor, name, variants, columns))
            }
            Step::TObject { .. } => self.t_object(cursor, step, columns),
            Step::Process { index, bits } => processes(cursor, *index, *bits, 1, columns),
            Step::PassedOver(name, step) => self.pass_over(cursor, step, 1, columns).within(|| name.to_string()),
            Step::Unreadable(why) => Err(unreadable(cursor, why)),
        }
    }

    /// Reads the arrays of so many objects whose counters were read before.
    fn counted(
        &mut self,
        cursor: &mut Cursor<'a>,
        step: &Step,
        n_values: usize,
        columns: &mut [(Name, Values)],
    ) -> Result<()> {
        let Step::Counted { index, item, counter, factor, head } = step else { return Err(misfit(cursor)) };
        let counts = self.counts(cursor, *counter, n_values, columns)?;
        let (name, column) = columns.get_mut(*index).ok_or_else(|| misfit(cursor))?;
        let Values::List(ends, items) = present(column, n_values) else { return Err(misfit(cursor)) };
        self.arrays(cursor, item, *factor, *head, &counts, ends, items).within(|| name.to_string())
    }

    /// How many items the arrays of so many objects have.
    pub(super) fn counts(
        &self,
        cursor: &Cursor<'_>,
        counter: usize,
        n_values: usize,
        columns: &[(Name, Values)],
    ) -> Result<Vec<i64>> {
        let counts = columns.get(counter).and_then(|(_, counters)| last_integers(counters, n_values));
        counts.ok_or_else(|| Error::corrupt(cursor.position(), "an array whose counter is missing"))
    }

    /// Reads a base that writes itself of so many objects, where members are stored one by one: as its streamer
    /// information has it. Of arrays of numbers that is how many there are, and then these; of texts nothing.
    ///
    /// Source: streamer information of `TArray`, `TDatime`, `TRef` and `TString` (ROOT 6.40).
    pub(super) fn own_bases(
        &mut self,
        cursor: &mut Cursor<'a>,
        index: usize,
        node: &Node,
        n_values: usize,
        columns: &mut [(Name, Values)],
    ) -> Result<()> {
        let (name, column) = columns.get_mut(index).ok_or_else(|| misfit(cursor))?;
        if let Node::Converted(conversion) = node {
            return self.converted_bases(cursor, conversion, n_values, column).within(|| name.to_string());
        }
        match (node, present(column, n_values)) {
            (Node::List(item), Values::List(ends, items)) => {
                let counts = (0..n_values).map(|_| cursor.i32().map(i64::from)).collect::<Result<Vec<i64>>>()?;
                self.arrays(cursor, item, 1, CountedHead::Flag, &counts, ends, items).within(|| name.to_string())
            }
            (Node::Text, Values::Text(ends, bytes)) => {
                self.take_free(cursor, n_values)?;
                let end = list_end(bytes.len())?;
                ends.resize(ends.len() + n_values, end);
                Ok(())
            }
            (Node::Object(class), Values::Struct(n_objects, members)) if is_by_member(class) => {
                for step in class.variants.iter().flat_map(|variant| variant.steps.iter()) {
                    match step {
                        Step::Process { index, .. } => self.absent(cursor, *index, n_values, members)?,
                        step => (0..n_values).try_for_each(|_| self.step(cursor, step, members))?,
                    }
                }
                *n_objects += n_values;
                Ok(())
            }
            _ => {
                let what = format!("base {name}, which writes itself, where members are stored one by one");
                Err(Error::unsupported(cursor.position(), what))
            }
        }
    }

    /// Reads arrays one after the other, each of as many items as its count says.
    #[expect(clippy::too_many_arguments, reason = "what the arrays are, how many, and where they go")]
    pub(super) fn arrays(
        &mut self,
        cursor: &mut Cursor<'a>,
        item: &Node,
        factor: u32,
        head: CountedHead,
        counts: &[i64],
        ends: &mut Vec<i32>,
        items: &mut Values,
    ) -> Result<()> {
        let start = cursor.position();
        let frame_end = if head == CountedHead::Frame { cursor.version()?.end } else { None };
        for &count in counts {
            let is_there = head != CountedHead::Flag || cursor.u8()? != 0;
            let count = if head == CountedHead::Triangle { triangle(count) } else { count };
            if is_there {
                let n_items = counted_items(cursor, item, Some(count), factor)?;
                if n_items > MAX_ITEMS_OF_NO_BYTES && item.min_bytes() == 0 {
                    return Err(Error::unsupported(cursor.position(), "an array of items that take no bytes"));
                }
                self.read_items(cursor, item, n_items, items)?;
            }
            ends.push(list_end(items.len())?);
        }
        leave(cursor, start, frame_end)
    }
}

/// Whether what a class that writes itself stores is known where members are stored one by one.
fn is_by_member(class: &Class) -> bool {
    let mut steps = class.variants.iter().flat_map(|variant| variant.steps.iter());
    !class.is_framed && steps.all(|step| !matches!(step, Step::Base(_) | Step::Counted { .. }))
}

/// Checks that an object or collection has ended where its byte count says.
pub(super) fn leave(cursor: &Cursor<'_>, start: usize, end: Option<usize>) -> Result<()> {
    match end {
        Some(end) if end != cursor.position() => Err(Error::corrupt(
            start,
            format!(
                "a byte count that says {} bytes, where the members take {}",
                end - start,
                cursor.position() - start
            ),
        )),
        _ => Ok(()),
    }
}

/// Checks that no bytes are left but gaps, behind what `what` says: such as "the value takes".
#[inline]
pub(super) fn check_end(cursor: &Cursor<'_>, what: &str) -> Result<()> {
    match cursor.remaining() {
        0 => Ok(()),
        _ if cursor.data().get(cursor.position()..).is_some_and(is_gap) => Ok(()),
        n_bytes => Err(Error::corrupt(cursor.position(), format!("{n_bytes} bytes more than {what}"))),
    }
}

/// That there is room for so many objects whose members are stored one by one.
pub(super) fn check_objects(cursor: &Cursor<'_>, class: &Class, variant: &Variant, n_objects: usize) -> Result<()> {
    let object_bytes = variant.min_bytes();
    if object_bytes == 0 && n_objects > MAX_ITEMS_OF_NO_BYTES {
        let what = format!("{n_objects} objects of {}, which take no bytes", class.name);
        return Err(Error::unsupported(cursor.position(), what));
    }
    if n_objects.saturating_mul(object_bytes) > cursor.remaining() {
        let left = cursor.remaining();
        let what =
            format!("{n_objects} objects of {}, of {object_bytes} bytes at least, in the {left} left", class.name);
        return Err(Error::corrupt(cursor.position(), what));
    }
    Ok(())
}

/// The version of the items' class in a member-wise collection, whose checksum may follow.
fn item_variant<'n>(cursor: &mut Cursor<'_>, node: &'n Node, version: u16) -> Result<Option<&'n Variant>> {
    match node {
        Node::Fixed(node, _) | Node::ToEnd(node) => item_variant(cursor, node, version),
        Node::List(item) => match &**item {
            Node::Object(class) | Node::Sole(class) => pick(cursor, &class.name, &class.variants, version).map(Some),
            Node::Unreadable(why) => {
                // The collection may be empty all the same.
                if version == 0 {
                    cursor.u32()?;
                }
                let is_empty = cursor.remaining() >= 4 && Cursor::at(cursor.data(), cursor.position()).u32()? == 0;
                if is_empty {
                    return Ok(None);
                }
                Err(unreadable(cursor, why))
            }
            // A class that no item of the file is of is described nowhere, and may be taken for an enumeration.
            _ => no_variant(cursor, version),
        },
        _ => no_variant(cursor, version),
    }
}

/// Passes over the checksum of what has no members of its own: a pair, or a class that the file does not describe.
fn no_variant<'n>(cursor: &mut Cursor<'_>, version: u16) -> Result<Option<&'n Variant>> {
    if version == 0 {
        cursor.u32()?;
    }
    Ok(None)
}

fn unreadable(cursor: &Cursor<'_>, why: &str) -> Error {
    Error::unsupported(cursor.position(), format!("{why} cannot be read yet"))
}

/// The version of a class that is meant by the version in the data, whose checksum may follow.
///
/// Source: `TBufferFile::ReadVersion` (ROOT 6.40): classes without a version have 0 there, and then their checksum.
pub(super) fn pick<'n>(
    cursor: &mut Cursor<'_>,
    name: &str,
    variants: &'n [Variant],
    version: u16,
) -> Result<&'n Variant> {
    let unknown = |what: String| {
        Error::unsupported(cursor.position(), format!("{name} of {what}, which the file does not describe"))
    };
    if version != 0 {
        let known = variants.iter().find(|variant| variant.version == version);
        let made_up = || variants.first().filter(|variant| variant.version == 0 && variants.len() == 1);
        return known.or_else(made_up).ok_or_else(|| unknown(format!("version {version}")));
    }
    let mut behind = *cursor;
    let checksum = behind.u32();
    if let Ok(checksum) = checksum
        && let Some(variant) = variants.iter().find(|variant| variant.checksum == checksum)
    {
        *cursor = behind;
        return Ok(variant);
    }
    let has_none = |variant: &&Variant| variant.version == 0 && variant.checksum != 0;
    if let Some(variant) = variants.iter().find(has_none) {
        return Ok(variant);
    }
    match (checksum, variants) {
        (Ok(_), [only]) => {
            *cursor = behind;
            Ok(only)
        }
        (Ok(checksum), _) => Err(unknown(format!("checksum {checksum:#010x}"))),
        (Err(error), _) => Err(error),
    }
}

/// Numbers in a triangle of so many rows; what is too many for any data stays so.
fn triangle(n_rows: i64) -> i64 {
    n_rows.saturating_mul(n_rows.saturating_add(1)) / 2
}

/// Where so many values go that are there, in a column in which others may not be.
fn present(column: &mut Values, n_values: usize) -> &mut Values {
    match column {
        Values::Optional(is_there, column) => {
            is_there.resize(is_there.len() + n_values, 1);
            column
        }
        column => column,
    }
}

pub(super) fn push_absent(indices: &[usize], n_values: usize, columns: &mut [(Name, Values)]) {
    for &index in indices {
        if let Some((_, Values::Optional(is_there, _))) = columns.get_mut(index) {
            is_there.resize(is_there.len() + n_values, 0);
        }
    }
}

/// Reads what follows the bits of so many references. Source: `TRef::Streamer` (ROOT 6.40).
fn processes(
    cursor: &mut Cursor<'_>,
    index: usize,
    bits: usize,
    n_values: usize,
    columns: &mut [(Name, Values)],
) -> Result<()> {
    let all_bits = columns.get(bits).and_then(|(_, values)| last_integers(values, n_values));
    let Some((_, Values::Optional(is_there, numbers))) = columns.get_mut(index) else { return Err(misfit(cursor)) };
    let Values::Primitive(_, bytes) = &mut **numbers else { return Err(misfit(cursor)) };
    for bits in all_bits.ok_or_else(|| misfit(cursor))? {
        let has_uuid = bits & HAS_UUID != 0;
        is_there.push(u8::from(!has_uuid));
        if has_uuid {
            cursor.string_bytes()?;
        } else {
            bytes.extend_from_slice(&cursor.u16()?.to_ne_bytes());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
