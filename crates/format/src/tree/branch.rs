//! Branches: where the baskets of a column are, and what their entries belong to.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use super::attributes::FillAttributes;
use super::basket::EmbeddedBasket;
use super::baskets::{BasketTable, read_basket_table, read_embedded_baskets};
use super::description::{BranchDescription, ClonesPart, ElementPart, ReadDescription};
use super::ids::{BranchId, LeafId};
use super::leaf::read_leaf_pointer;
use super::objects::{Gap, Object, Slot, read_array_head};
use super::reading::Reading;
use crate::codec::CompressionSetting;
use crate::cursor::{Cursor, VersionFrame};
use crate::error::{Error, Result, Within};
use crate::output::Output;
use crate::streamer::{name_text, named_base};

/// Branches nest at most so deep; ROOT splits to level 99.
pub(super) const MAX_DEPTH: usize = 128;
/// The only class version of `TBranchObject`.
pub(super) const OBJECT_VERSION: u16 = 1;
/// `fBits` of branches that ROOT 6.40 makes. Source: `TBranch::kDoNotUseBufferMap`.
const NEW_BITS: u32 = 1 << 22;
/// `TBranchElement::kAddressSet`: what those have that hold the objects of a user.
const ADDRESS_SET: u32 = 1 << 20;
/// This stands for the version of `ROOT::TIOFeatures`, which has none.
const IO_FEATURES_CHECKSUM: u32 = 0x1aa1_2f10;

/// Numbers by which branches of one description differ.
pub(super) const N_NUMBERS: usize = 14;

/// A branch takes more in a record.
const MIN_BRANCH_BYTES: usize = 200;

/// One branch of a tree: its description, by which the members of it can be asked for, and the numbers of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// What it is. Branches of files with one schema share it.
    pub description: Arc<BranchDescription>,
    /// `fCompress`: for new baskets.
    pub compression: CompressionSetting,
    /// `fBasketSize`: bytes of the buffer of a new basket.
    pub basket_bytes: i32,
    /// `fEntryOffsetLen`: room for entry offsets of a new basket; 0 if entries are of equal size and none are stored.
    pub n_entry_offsets: i32,
    /// `fEntryNumber`: one past the last entry.
    pub entry_end: i64,
    /// `fFirstEntry`: entry number of the first entry.
    pub first_entry: i64,
    /// `fEntries`: number of entries.
    pub n_entries: i64,
    /// `fTotBytes`: uncompressed baskets and their keys, in bytes.
    pub memory_bytes: i64,
    /// `fZipBytes`: baskets in the file with their keys, in bytes.
    pub stored_bytes: i64,
    /// `fMaximum` of a `TBranchElement`: the largest count of a collection.
    pub maximum: i32,
    /// Baskets that are in the record of the tree.
    pub embedded: Vec<EmbeddedBasket>,
    pub(super) baskets: BasketTable,
}

impl Deref for Branch {
    type Target = BranchDescription;

    fn deref(&self) -> &BranchDescription {
        &self.description
    }
}

impl DerefMut for Branch {
    fn deref_mut(&mut self) -> &mut BranchDescription {
        Arc::make_mut(&mut self.description)
    }
}

impl Branch {
    /// A `TBranch` without leaves and baskets, as ROOT 6.40 makes it.
    pub fn new(name: &str, title: &str) -> Branch {
        let (name, title) = (name.to_owned(), title.to_owned());
        Branch::of(BranchDescription { bits: NEW_BITS, name, title, ..BranchDescription::default() }.into())
    }

    /// A `TBranchElement` without leaves and baskets. Its title is its name where ROOT gives it no other.
    pub fn of_class(name: &str, title: &str, element: ElementPart) -> Branch {
        let (name, title) = (name.to_owned(), title.to_owned());
        let (class, bits, element) = (Cow::Borrowed("TBranchElement"), NEW_BITS | ADDRESS_SET, Some(element));
        Branch::of(BranchDescription { class, bits, name, title, element, ..BranchDescription::default() }.into())
    }

    pub(super) fn of(description: Arc<BranchDescription>) -> Branch {
        Branch {
            description,
            compression: CompressionSetting(0),
            basket_bytes: 32000,
            n_entry_offsets: 0,
            entry_end: 0,
            first_entry: 0,
            n_entries: 0,
            memory_bytes: 0,
            stored_bytes: 0,
            maximum: 0,
            embedded: Vec::new(),
            baskets: BasketTable::default(),
        }
    }

    /// The numbers that records of one schema may differ by, without its baskets. It has no embedded ones.
    pub(super) fn numbers(&self) -> [i64; N_NUMBERS] {
        let Branch {
            description: _,
            compression: CompressionSetting(compression),
            basket_bytes,
            n_entry_offsets,
            entry_end,
            first_entry,
            n_entries,
            memory_bytes,
            stored_bytes,
            maximum,
            embedded: _,
            baskets,
        } = self;
        let [n_baskets, n_written, n_pointers, n_items, bits] = baskets.numbers();
        [
            i64::from(*compression),
            i64::from(*basket_bytes),
            i64::from(*n_entry_offsets),
            i64::from(*maximum),
            *entry_end,
            *first_entry,
            *n_entries,
            *memory_bytes,
            *stored_bytes,
            n_baskets,
            n_written,
            n_pointers,
            n_items,
            bits,
        ]
    }

    /// The branch that has these.
    pub(super) fn of_numbers(description: Arc<BranchDescription>, numbers: &[i64; N_NUMBERS]) -> Branch {
        let word = |number: i64| i32::try_from(number).unwrap_or_default();
        let [
            compression,
            basket_bytes,
            n_entry_offsets,
            maximum,
            entry_end,
            first_entry,
            n_entries,
            memory_bytes,
            stored_bytes,
            n_baskets,
            n_written,
            n_pointers,
            n_items,
            bits,
        ] = *numbers;
        Branch {
            description,
            compression: CompressionSetting(word(compression)),
            basket_bytes: word(basket_bytes),
            n_entry_offsets: word(n_entry_offsets),
            entry_end,
            first_entry,
            n_entries,
            memory_bytes,
            stored_bytes,
            maximum: word(maximum),
            embedded: Vec::new(),
            baskets: BasketTable::of_numbers([n_baskets, n_written, n_pointers, n_items, bits]),
        }
    }

    /// True if it has no entries.
    pub fn is_empty(&self) -> bool {
        self.entry_end == 0 && self.n_entries == 0
    }
}

impl Branch {
    /// Writes what stands before the branches inside.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is of a version before 10 (ROOT 5.0), or has too many baskets.
    pub(super) fn write_numbers(&self, output: &mut Output) -> Result<()> {
        let counts = self.baskets.counts().filter(|_| (10..=13).contains(&self.version));
        let Some((n_written, n_items)) = counts else {
            let what = format!("TBranch of version {} is not written", self.version);
            return Err(Error::unsupported(output.position(), what));
        };
        output.named_base(self.bits, self.name.as_bytes(), self.title.as_bytes())?;
        self.fill.write(output)?;
        output.i32(self.compression.0);
        output.i32(self.basket_bytes);
        output.i32(self.n_entry_offsets);
        output.i32(n_written);
        output.i64(self.entry_end);
        if self.version >= 13 {
            write_io_features(self.io_features, output)?;
        }
        output.i32(self.offset);
        output.i32(n_items);
        output.i32(self.split_level);
        output.i64(self.n_entries);
        if self.version >= 11 {
            output.i64(self.first_entry);
        }
        output.i64(self.memory_bytes);
        output.i64(self.stored_bytes);
        Ok(())
    }
}

/// Reads a list of branches, nested ones included, and `fBits` of the list.
pub(super) fn read_branches<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    parent: Option<BranchId>,
    depth: usize,
) -> Result<(Vec<BranchId>, u32)> {
    let head = read_array_head(cursor)?;
    let mut branches = Vec::with_capacity(head.n_objects);
    reading.reserve(head.n_objects.min(cursor.remaining() / MIN_BRANCH_BYTES));
    for _ in 0..head.n_objects {
        let Some(id) = read_branch_pointer(cursor, reading, parent, depth)? else { continue };
        // A branch that is still being read here would contain itself.
        let index = id.0 as usize;
        if let (Some(branch), false) = (&mut reading.branches[index], reading.is_listed[index]) {
            if branch.parent != parent {
                branch.parent = parent;
            }
            reading.is_listed[index] = true;
            branches.push(id);
        }
    }
    if let Some(end) = head.end {
        cursor.leave(end)?;
    }
    Ok((branches, head.bits))
}

fn read_branch_pointer<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    parent: Option<BranchId>,
    depth: usize,
) -> Result<Option<BranchId>> {
    if let Some(id) = reading.read_known(cursor, parent, depth) {
        return Ok(Some(id));
    }
    let start = cursor.position();
    match reading.objects.slot(cursor)? {
        Slot::Null => Ok(None),
        Slot::Seen(Some(Object::Branch(id))) => Ok(Some(id)),
        Slot::Seen(_) => Ok(None),
        Slot::New { class, position, end } if class.starts_with("TBranch") => {
            let id = read_branch(cursor, reading, class, position, end, parent, depth)?;
            reading.read_anew.push((id, start..cursor.position()));
            Ok(Some(id))
        }
        Slot::New { class, position, .. } => {
            Err(Error::corrupt(position, format!("a branch was expected, this is a {class}")))
        }
    }
}

/// Reads a branch whose class tag was read.
fn read_branch<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    class: &'a str,
    position: usize,
    end: Option<usize>,
    parent: Option<BranchId>,
    depth: usize,
) -> Result<BranchId> {
    if depth > MAX_DEPTH {
        return Err(Error::corrupt(position, "branches nested too deep"));
    }
    // Its number is taken before it is read: branches inside come after it.
    let id =
        BranchId(u32::try_from(reading.branches.len()).map_err(|_| Error::corrupt(position, "too many branches"))?);
    reading.branches.push(None);
    reading.is_listed.push(false);
    reading.objects.remember(position, Object::Branch(id));
    let outer = read_frame(cursor, reading)?;
    let mut read = match class {
        "TBranchClones" => read_branch_clones(cursor, reading, outer.version, id, depth),
        "TBranch" => read_base(cursor, reading, outer.version, outer.end, Some(id), depth),
        _ => {
            let base = read_frame(cursor, reading)?;
            read_base(cursor, reading, base.version, base.end, Some(id), depth)
        }
    }?;
    let name = read.description.name;
    if class == "TBranchElement" {
        read_element(cursor, reading, &outer, &mut read, depth).within(|| in_branch(name))?;
    }
    let rest = &mut read.description.rest;
    if class == "TBranchObject" {
        rest.object_class = Some(cursor.string().within(|| in_branch(name))?.into());
    }
    rest.class = match class {
        "TBranch" => Cow::Borrowed("TBranch"),
        "TBranchElement" => Cow::Borrowed("TBranchElement"),
        other => Cow::Owned(other.to_owned()),
    };
    rest.parent = parent;
    match end.or(outer.end) {
        Some(end) => cursor.leave(end)?,
        None => return Err(Error::unsupported(position, format!("{} without a byte count", in_branch(name)))),
    }
    let known = reading.known_branches.get(id.0 as usize);
    reading.branches[id.0 as usize] = Some(read.described(known));
    Ok(id)
}

/// Reads the version of what the baskets are inside of: its byte count differs from file to file.
fn read_frame(cursor: &mut Cursor<'_>, reading: &mut Reading<'_>) -> Result<VersionFrame> {
    let start = cursor.position();
    let frame = cursor.version()?;
    if let Some(end) = frame.end {
        reading.objects.note(start, Gap::Frame { end });
    }
    Ok(frame)
}

fn in_branch(name: &[u8]) -> String {
    format!("branch {}", name_text(name))
}

/// A branch while it is read: its own description is another's still.
pub(super) struct ReadBranch<'a> {
    description: ReadDescription<'a>,
    branch: Branch,
}

impl ReadBranch<'_> {
    /// The branch, with the known description if that is its own.
    pub(super) fn described(self, known: Option<&Arc<BranchDescription>>) -> Branch {
        Branch { description: self.description.shared(known), ..self.branch }
    }
}

/// Numbers of baskets: how many were written, and the items of each array.
pub(super) struct NBaskets {
    pub(super) written: i32,
    pub(super) items: i32,
    /// The places of these and the other numbers that are no part of the description.
    places: Option<[Range<usize>; 3]>,
}

/// Reads the `TBranch` part. Versions 10 and above are as their streamer information says; below, by hand.
/// Source: `TBranch::Streamer` (ROOT 6.40). Version 5 is that of ROOT 2.23.
pub(super) fn read_base<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    version: u16,
    end: Option<usize>,
    id: Option<BranchId>,
    depth: usize,
) -> Result<ReadBranch<'a>> {
    if !(5..=13).contains(&version) {
        return Err(Error::unsupported(cursor.position(), format!("TBranch of version {version}")));
    }
    let mut read = read_named_branch(cursor, reading, version)?;
    let name = read.description.name;
    read_members(cursor, reading, &mut read, id, depth).within(|| in_branch(name))?;
    if let Some(end) = end {
        cursor.leave(end)?;
    }
    Ok(read)
}

fn read_named_branch<'a>(cursor: &mut Cursor<'a>, reading: &Reading<'a>, version: u16) -> Result<ReadBranch<'a>> {
    let (bits, name, title) = named_base(cursor)?;
    let rest = BranchDescription { version, bits, ..BranchDescription::default() };
    let description = ReadDescription { name, title, rest, ..ReadDescription::default() };
    Ok(ReadBranch { description, branch: Branch::of(Arc::clone(&reading.undescribed)) })
}

fn read_members<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    read: &mut ReadBranch<'a>,
    id: Option<BranchId>,
    depth: usize,
) -> Result<()> {
    let ReadBranch { description: ReadDescription { rest, .. }, branch } = read;
    if rest.version >= 8 {
        rest.fill = FillAttributes::read(cursor)?;
    }
    let n_baskets =
        if rest.version == 5 { read_early_numbers(cursor, rest, branch) } else { read_numbers(cursor, rest, branch) }?;
    for place in n_baskets.places.into_iter().flatten() {
        reading.objects.note(place.start, Gap::Numbers(place.len()));
    }
    (rest.branches, rest.array_bits[0]) = read_branches(cursor, reading, id, depth + 1)?;
    (rest.leaves, rest.array_bits[1]) = read_leaves(cursor, reading)?;
    let (start, n_notes) = (cursor.position(), reading.objects.notes.len());
    let pointers = read_embedded_baskets(cursor, &mut reading.objects, n_baskets.written)?;
    branch.baskets = read_basket_table(cursor, n_baskets.written, n_baskets.items, rest.version, &pointers)?;
    reading.objects.notes.truncate(n_notes);
    reading.objects.note(start, Gap::Baskets { end: cursor.position() });
    branch.embedded = pointers.embedded;
    rest.file_name = cursor.string()?;
    Ok(())
}

pub(super) fn read_numbers(
    cursor: &mut Cursor<'_>,
    rest: &mut BranchDescription,
    branch: &mut Branch,
) -> Result<NBaskets> {
    let version = rest.version;
    let is_wide = version >= 10;
    let start = cursor.position();
    branch.compression = CompressionSetting(cursor.i32()?);
    branch.basket_bytes = cursor.i32()?;
    branch.n_entry_offsets = cursor.i32()?;
    let written = cursor.i32()?;
    branch.entry_end = if is_wide { cursor.i64()? } else { i64::from(cursor.i32()?) };
    let before_items = start..cursor.position();
    if version >= 13 {
        rest.io_features = read_io_features(cursor)?;
    }
    rest.offset = cursor.i32()?;
    let start = cursor.position();
    let items = cursor.i32()?;
    let of_items = start..cursor.position();
    if version >= 7 {
        rest.split_level = cursor.i32()?;
    }
    let start = cursor.position();
    branch.n_entries = read_counter(cursor, is_wide)?;
    if version >= 11 {
        branch.first_entry = cursor.i64()?;
    }
    branch.memory_bytes = read_counter(cursor, is_wide)?;
    branch.stored_bytes = read_counter(cursor, is_wide)?;
    Ok(NBaskets { written, items, places: Some([before_items, of_items, start..cursor.position()]) })
}

/// The same in the order that ROOT 2 had.
fn read_early_numbers(cursor: &mut Cursor<'_>, rest: &mut BranchDescription, branch: &mut Branch) -> Result<NBaskets> {
    branch.compression = CompressionSetting(cursor.i32()?);
    branch.basket_bytes = cursor.i32()?;
    branch.n_entry_offsets = cursor.i32()?;
    let (items, written) = (cursor.i32()?, cursor.i32()?);
    branch.entry_end = i64::from(cursor.i32()?);
    branch.n_entries = read_counter(cursor, false)?;
    branch.memory_bytes = read_counter(cursor, false)?;
    branch.stored_bytes = read_counter(cursor, false)?;
    rest.offset = cursor.i32()?;
    Ok(NBaskets { written, items, places: None })
}

/// A count of entries or bytes: a double before version 10.
pub(super) fn read_counter(cursor: &mut Cursor<'_>, is_wide: bool) -> Result<i64> {
    if is_wide {
        return cursor.i64();
    }
    #[expect(clippy::cast_possible_truncation, reason = "a float to int cast saturates, which is what is wanted")]
    cursor.f64().map(|value| value as i64)
}

/// `ROOT::TIOFeatures` is a class without a version: a byte count, a zero, a checksum and one byte.
pub(super) fn read_io_features(cursor: &mut Cursor<'_>) -> Result<u8> {
    let frame = cursor.version()?;
    let features = match frame.end {
        Some(end) if end > cursor.position() => cursor.data()[end - 1],
        _ => 0,
    };
    if let Some(end) = frame.end {
        cursor.leave(end)?;
    }
    Ok(features)
}

/// Writes `ROOT::TIOFeatures`.
pub(super) fn write_io_features(features: u8, output: &mut Output) -> Result<()> {
    let frame = output.begin(0);
    output.u32(IO_FEATURES_CHECKSUM);
    output.u8(features);
    output.end(frame)
}

fn read_leaves<'a>(cursor: &mut Cursor<'a>, reading: &mut Reading<'a>) -> Result<(Vec<LeafId>, u32)> {
    let head = read_array_head(cursor)?;
    let mut leaves = Vec::with_capacity(head.n_objects);
    for _ in 0..head.n_objects {
        leaves.extend(read_leaf_pointer(cursor, &mut reading.objects, &mut reading.leaves)?);
    }
    if let Some(end) = head.end {
        cursor.leave(end)?;
    }
    Ok((leaves, head.bits))
}

/// The members after the `TBranch` part. ROOT 3.0 to 3.2 wrote versions 5 to 7, which have no checksum.
/// Source: `TBranchElement.h` from January 2001 on.
fn read_element<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    frame: &VersionFrame,
    read: &mut ReadBranch<'a>,
    depth: usize,
) -> Result<()> {
    let ReadBranch { description, branch } = read;
    let version = frame.version;
    let part = description.rest.element.insert(ElementPart { version, ..ElementPart::default() });
    let [class_name, parent_name, clones_name] = &mut description.element_names;
    *class_name = cursor.string_bytes()?;
    if version == 1 {
        part.class_version = cursor.i32()?;
        part.id = cursor.i32()?;
        part.node_type = cursor.i32()?;
        part.streamer_type = cursor.i32()?;
        return Ok(());
    }
    if version < 5 {
        return Err(Error::unsupported(cursor.position(), format!("TBranchElement of version {version}")));
    }
    *parent_name = cursor.string_bytes()?;
    *clones_name = cursor.string_bytes()?;
    part.checksum = if version >= 8 { cursor.u32()? } else { 0 };
    part.class_version = if version >= 10 { i32::from(cursor.i16()?) } else { cursor.i32()? };
    part.id = cursor.i32()?;
    part.node_type = cursor.i32()?;
    part.streamer_type = cursor.i32()?;
    reading.objects.note(cursor.position(), Gap::Maximum);
    branch.maximum = cursor.i32()?;
    part.counter = read_branch_pointer(cursor, reading, None, depth + 1)?;
    if version >= 8 || frame.end.is_none_or(|end| cursor.position() < end) {
        // It came after version 5.
        part.second_counter = read_branch_pointer(cursor, reading, None, depth + 1)?;
    }
    Ok(())
}

/// `TBranchClones` writes the members of `TBranch` one by one, and not the base.
/// Source: `TBranchClones::Streamer`.
fn read_branch_clones<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    version: u16,
    id: BranchId,
    depth: usize,
) -> Result<ReadBranch<'a>> {
    let mut read = read_named_branch(cursor, reading, 0)?;
    let ReadBranch { description: ReadDescription { rest, .. }, branch } = &mut read;
    branch.compression = CompressionSetting(cursor.i32()?);
    branch.basket_bytes = cursor.i32()?;
    branch.n_entry_offsets = cursor.i32()?;
    let n_baskets = [cursor.i32()?, cursor.i32()?];
    branch.entry_end = cursor.i64()?;
    branch.n_entries = cursor.i64()?;
    branch.memory_bytes = cursor.i64()?;
    branch.stored_bytes = cursor.i64()?;
    rest.offset = cursor.i32()?;
    let counter = read_branch_pointer(cursor, reading, Some(id), depth + 1)?;
    let class_name = cursor.string()?;
    (rest.branches, rest.array_bits[0]) = read_branches(cursor, reading, Some(id), depth + 1)?;
    let mut clones = ClonesPart { version, n_baskets, counter, class_name, is_counter_beside: false };
    if let Some(counter) = counter
        && !std::mem::replace(&mut reading.is_listed[counter.0 as usize], true)
    {
        rest.branches.push(counter);
        clones.is_counter_beside = true;
    }
    rest.clones = Some(Box::new(clones));
    Ok(read)
}

impl Branch {
    /// Writes what stands before the counter of a `TBranchClones`. Its own frame was begun.
    pub(super) fn write_clones_numbers(&self, clones: &ClonesPart, output: &mut Output) -> Result<()> {
        output.named_base(self.bits, self.name.as_bytes(), self.title.as_bytes())?;
        let [n_items, n_written] = clones.n_baskets;
        for number in [self.compression.0, self.basket_bytes, self.n_entry_offsets, n_items, n_written] {
            output.i32(number);
        }
        for number in [self.entry_end, self.n_entries, self.memory_bytes, self.stored_bytes] {
            output.i64(number);
        }
        output.i32(self.offset);
        Ok(())
    }

    /// The branches in its list: without the counter that is beside it.
    pub(super) fn listed_branches(&self, clones: &ClonesPart) -> &[BranchId] {
        match self.branches.split_last() {
            Some((last, others)) if clones.is_counter_beside && Some(*last) == clones.counter => others,
            _ => &self.branches,
        }
    }
}

#[cfg(test)]
mod tests;
