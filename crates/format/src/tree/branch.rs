//! Branches: where the baskets of a column are, and what their entries belong to.

use std::borrow::Cow;

use super::attributes::FillAttributes;
use super::basket::EmbeddedBasket;
use super::baskets::{BasketTable, read_basket_table, read_embedded_baskets};
use super::ids::{BranchId, LeafId};
use super::leaf::read_leaf_pointer;
use super::objects::{Object, Slot, read_array_head, read_named};
use super::reading::Reading;
use crate::codec::CompressionSetting;
use crate::cursor::{Cursor, VersionFrame};
use crate::error::{Error, Result, Within};
use crate::output::Output;

/// Branches nest at most so deep; ROOT splits to level 99.
pub(super) const MAX_DEPTH: usize = 128;
/// Class versions of `TBranch` and `TBranchElement` that ROOT 6.40 writes.
const BRANCH_VERSION: u16 = 13;
const ELEMENT_VERSION: u16 = 10;
/// The only class version of `TBranchObject`.
pub(super) const OBJECT_VERSION: u16 = 1;
/// `fBits` of branches that ROOT 6.40 makes. Source: `TBranch::kDoNotUseBufferMap`.
const NEW_BITS: u32 = 1 << 22;
/// `TBranchElement::kAddressSet`: what those have that hold the objects of a user.
const ADDRESS_SET: u32 = 1 << 20;
/// This stands for the version of `ROOT::TIOFeatures`, which has none.
const IO_FEATURES_CHECKSUM: u32 = 0x1aa1_2f10;

/// A branch takes more in a record.
const MIN_BRANCH_BYTES: usize = 200;

/// One branch of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Class: `TBranch`, `TBranchElement`, ...
    pub class: Cow<'static, str>,
    /// Version of `TBranch`.
    pub version: u16,
    /// `fBits` of the branch as a `TObject`.
    pub bits: u32,
    /// `fName`.
    pub name: String,
    /// `fTitle`: the leaf list, or the name again.
    pub title: String,
    /// `TAttFill`.
    pub fill: FillAttributes,
    /// `fCompress`: for new baskets.
    pub compression: CompressionSetting,
    /// `fBasketSize`: bytes of the buffer of a new basket.
    pub basket_bytes: i32,
    /// `fEntryOffsetLen`: room for entry offsets of a new basket; 0 if entries are of equal size and none are stored.
    pub n_entry_offsets: i32,
    /// `fEntryNumber`: one past the last entry.
    pub entry_end: i64,
    /// `fOffset`: place of the member in the object in memory.
    pub offset: i32,
    /// `fFirstEntry`: entry number of the first entry.
    pub first_entry: i64,
    /// `fEntries`: number of entries.
    pub n_entries: i64,
    /// `fTotBytes`: uncompressed baskets and their keys, in bytes.
    pub memory_bytes: i64,
    /// `fZipBytes`: baskets in the file with their keys, in bytes.
    pub stored_bytes: i64,
    /// `fSplitLevel`.
    pub split_level: i32,
    /// Feature bits of new baskets; bit 0: entry offsets may have to be generated.
    pub io_features: u8,
    /// The branches inside this one.
    pub branches: Vec<BranchId>,
    /// The leaves, in the order of their values in an entry.
    pub leaves: Vec<LeafId>,
    /// The branch that this one is inside of.
    pub parent: Option<BranchId>,
    /// Baskets that are in the record of the tree.
    pub embedded: Vec<EmbeddedBasket>,
    /// `fFileName`: the file with the baskets, if it is another one.
    pub file_name: String,
    /// What a `TBranchElement` knows more.
    pub element: Option<ElementPart>,
    /// The additional members of a `TBranchClones`.
    pub clones: Option<Box<ClonesPart>>,
    /// `fClassName` of a `TBranchObject`: the class of its objects, unless their pointers say another one.
    pub object_class: Option<Box<str>>,
    pub(super) baskets: BasketTable,
    /// `fBits` of `fBranches` and `fLeaves`.
    pub(super) array_bits: [u32; 2],
}

/// The members that `TBranchElement` adds: which part of which class a branch holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementPart {
    /// Version of `TBranchElement`.
    pub version: u16,
    /// `fClassName`: the class whose elements `id` counts.
    pub class_name: String,
    /// `fParentName`: class of the branch around.
    pub parent_name: String,
    /// `fClonesName`: class of the items of a split collection.
    pub clones_name: String,
    /// `fCheckSum` of that class.
    pub checksum: u32,
    /// `fClassVersion`.
    pub class_version: i32,
    /// `fID`: element of the class; -1 the whole object, -2 a split node.
    pub id: i32,
    /// `fType`: the kind of node; -1, 0, 1, 2, 3, 4, 31, 41.
    pub node_type: i32,
    /// `fStreamerType`: type code of the element in the writer's memory.
    pub streamer_type: i32,
    /// `fMaximum`: the largest count of a collection.
    pub maximum: i32,
    /// `fBranchCount`: the branch with the counts.
    pub counter: Option<BranchId>,
    /// `fBranchCount2`: the branch with the counts of arrays inside.
    pub second_counter: Option<BranchId>,
}

/// The members that `TBranchClones` adds: it has the branches of the objects of a `TClonesArray`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClonesPart {
    /// Version of `TBranchClones`.
    pub version: u16,
    /// `fMaxBaskets` and `fWriteBasket`; it has no baskets itself.
    pub n_baskets: [i32; 2],
    /// `fBranchCount`: the branch with the number of objects of each entry.
    pub counter: Option<BranchId>,
    /// `fClassName`: the class of the objects.
    pub class_name: String,
    /// True if the counter stands last among the branches inside, and in no list.
    pub is_counter_beside: bool,
}

impl Default for ElementPart {
    /// As ROOT 6.40 writes it: an object as a whole.
    fn default() -> Self {
        ElementPart {
            version: ELEMENT_VERSION,
            class_name: String::new(),
            parent_name: String::new(),
            clones_name: String::new(),
            checksum: 0,
            class_version: 0,
            id: -1,
            node_type: 0,
            streamer_type: -1,
            maximum: 0,
            counter: None,
            second_counter: None,
        }
    }
}

impl Branch {
    /// A `TBranch` without leaves and baskets, as ROOT 6.40 makes it.
    pub fn new(name: &str, title: &str) -> Branch {
        Branch::of(NEW_BITS, name.to_owned(), title.to_owned())
    }

    /// A `TBranchElement` without leaves and baskets. Its title is its name where ROOT gives it no other.
    pub fn of_class(name: &str, title: &str, element: ElementPart) -> Branch {
        Branch {
            class: Cow::Borrowed("TBranchElement"),
            bits: NEW_BITS | ADDRESS_SET,
            element: Some(element),
            ..Branch::new(name, title)
        }
    }

    fn of(bits: u32, name: String, title: String) -> Branch {
        Branch {
            class: Cow::Borrowed("TBranch"),
            version: BRANCH_VERSION,
            bits,
            name,
            title,
            fill: FillAttributes::DEFAULT,
            compression: CompressionSetting(0),
            basket_bytes: 32000,
            n_entry_offsets: 0,
            entry_end: 0,
            offset: 0,
            first_entry: 0,
            n_entries: 0,
            memory_bytes: 0,
            stored_bytes: 0,
            split_level: 0,
            io_features: 0,
            branches: Vec::new(),
            leaves: Vec::new(),
            parent: None,
            embedded: Vec::new(),
            file_name: String::new(),
            element: None,
            clones: None,
            object_class: None,
            baskets: BasketTable::default(),
            array_bits: [0; 2],
        }
    }
}

impl ElementPart {
    /// Whether it is a base class that was split.
    pub fn is_base(&self) -> bool {
        self.node_type == 1
    }

    /// Whether it was split: its members, if it has any, are the branches inside.
    pub fn is_split(&self) -> bool {
        matches!(self.node_type, 1..=4) || self.id == -2
    }

    /// True if it is a member of the objects of a split collection.
    pub fn is_in_collection(&self) -> bool {
        matches!(self.node_type, 31 | 41)
    }

    /// Whether it is the member of a `std::array` that holds the items.
    pub fn is_in_array(&self) -> bool {
        self.id >= 0 && self.class_name.starts_with("array<")
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

impl ElementPart {
    /// Writes what stands before the pointers to the counting branches.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is of a version before 8 (ROOT 3.5), or the version of its class does not fit.
    pub(super) fn write_numbers(&self, output: &mut Output) -> Result<()> {
        if !(8..=10).contains(&self.version) {
            let what = format!("TBranchElement of version {} is not written", self.version);
            return Err(Error::unsupported(output.position(), what));
        }
        for name in [&self.class_name, &self.parent_name, &self.clones_name] {
            output.string(name.as_bytes())?;
        }
        output.u32(self.checksum);
        if self.version >= 10 {
            let class_version = i16::try_from(self.class_version).map_err(|_| {
                Error::unsupported(
                    output.position(),
                    format!("class {} of version {}", self.class_name, self.class_version),
                )
            })?;
            output.i16(class_version);
        } else {
            output.i32(self.class_version);
        }
        for number in [self.id, self.node_type, self.streamer_type, self.maximum] {
            output.i32(number);
        }
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
            branch.parent = parent;
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
    match reading.objects.slot(cursor)? {
        Slot::Null => Ok(None),
        Slot::Seen(Some(Object::Branch(id))) => Ok(Some(id)),
        Slot::Seen(_) => Ok(None),
        Slot::New { class, position, end } if class.starts_with("TBranch") => {
            read_branch(cursor, reading, class, position, end, parent, depth).map(Some)
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
    let outer = cursor.version()?;
    let mut branch = match class {
        "TBranchClones" => read_branch_clones(cursor, reading, outer.version, id, depth),
        "TBranch" => read_base(cursor, reading, outer.version, outer.end, Some(id), depth),
        _ => {
            let base = cursor.version()?;
            read_base(cursor, reading, base.version, base.end, Some(id), depth)
        }
    }?;
    if class == "TBranchElement" {
        branch.element =
            Some(read_element(cursor, reading, &outer, depth).within(|| format!("branch {}", branch.name))?);
    }
    if class == "TBranchObject" {
        branch.object_class = Some(cursor.string().within(|| format!("branch {}", branch.name))?.into());
    }
    branch.class = match class {
        "TBranch" => Cow::Borrowed("TBranch"),
        "TBranchElement" => Cow::Borrowed("TBranchElement"),
        other => Cow::Owned(other.to_owned()),
    };
    branch.parent = parent;
    match end.or(outer.end) {
        Some(end) => cursor.leave(end)?,
        None => return Err(Error::unsupported(position, format!("branch {} without a byte count", branch.name))),
    }
    reading.branches[id.0 as usize] = Some(branch);
    Ok(id)
}

/// Numbers of baskets: how many were written, and the items of each array.
struct NBaskets {
    written: i32,
    items: i32,
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
) -> Result<Branch> {
    if !(5..=13).contains(&version) {
        return Err(Error::unsupported(cursor.position(), format!("TBranch of version {version}")));
    }
    let (bits, name, title) = read_named(cursor)?;
    let mut branch = Branch { version, ..Branch::of(bits, name, title) };
    read_members(cursor, reading, &mut branch, id, depth).within(|| format!("branch {}", branch.name))?;
    if let Some(end) = end {
        cursor.leave(end)?;
    }
    Ok(branch)
}

fn read_members<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    branch: &mut Branch,
    id: Option<BranchId>,
    depth: usize,
) -> Result<()> {
    let n_baskets =
        if branch.version == 5 { read_early_numbers(cursor, branch) } else { read_numbers(cursor, branch) }?;
    (branch.branches, branch.array_bits[0]) = read_branches(cursor, reading, id, depth + 1)?;
    (branch.leaves, branch.array_bits[1]) = read_leaves(cursor, reading)?;
    let pointers = read_embedded_baskets(cursor, reading, n_baskets.written)?;
    branch.baskets = read_basket_table(cursor, n_baskets.written, n_baskets.items, branch.version, &pointers)?;
    branch.embedded = pointers.embedded;
    branch.file_name = cursor.string()?;
    Ok(())
}

fn read_numbers(cursor: &mut Cursor<'_>, branch: &mut Branch) -> Result<NBaskets> {
    let version = branch.version;
    let is_wide = version >= 10;
    if version >= 8 {
        branch.fill = FillAttributes::read(cursor)?;
    }
    branch.compression = CompressionSetting(cursor.i32()?);
    branch.basket_bytes = cursor.i32()?;
    branch.n_entry_offsets = cursor.i32()?;
    let written = cursor.i32()?;
    branch.entry_end = if is_wide { cursor.i64()? } else { i64::from(cursor.i32()?) };
    if version >= 13 {
        branch.io_features = read_io_features(cursor)?;
    }
    branch.offset = cursor.i32()?;
    let items = cursor.i32()?;
    if version >= 7 {
        branch.split_level = cursor.i32()?;
    }
    branch.n_entries = read_counter(cursor, is_wide)?;
    if version >= 11 {
        branch.first_entry = cursor.i64()?;
    }
    branch.memory_bytes = read_counter(cursor, is_wide)?;
    branch.stored_bytes = read_counter(cursor, is_wide)?;
    Ok(NBaskets { written, items })
}

/// The same in the order that ROOT 2 had.
fn read_early_numbers(cursor: &mut Cursor<'_>, branch: &mut Branch) -> Result<NBaskets> {
    branch.compression = CompressionSetting(cursor.i32()?);
    branch.basket_bytes = cursor.i32()?;
    branch.n_entry_offsets = cursor.i32()?;
    let (items, written) = (cursor.i32()?, cursor.i32()?);
    branch.entry_end = i64::from(cursor.i32()?);
    branch.n_entries = read_counter(cursor, false)?;
    branch.memory_bytes = read_counter(cursor, false)?;
    branch.stored_bytes = read_counter(cursor, false)?;
    branch.offset = cursor.i32()?;
    Ok(NBaskets { written, items })
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
    depth: usize,
) -> Result<ElementPart> {
    let version = frame.version;
    let mut part = ElementPart { version, class_name: cursor.string()?, ..ElementPart::default() };
    if version == 1 {
        part.class_version = cursor.i32()?;
        part.id = cursor.i32()?;
        part.node_type = cursor.i32()?;
        part.streamer_type = cursor.i32()?;
        return Ok(part);
    }
    if version < 5 {
        return Err(Error::unsupported(cursor.position(), format!("TBranchElement of version {version}")));
    }
    part.parent_name = cursor.string()?;
    part.clones_name = cursor.string()?;
    part.checksum = if version >= 8 { cursor.u32()? } else { 0 };
    part.class_version = if version >= 10 { i32::from(cursor.i16()?) } else { cursor.i32()? };
    part.id = cursor.i32()?;
    part.node_type = cursor.i32()?;
    part.streamer_type = cursor.i32()?;
    part.maximum = cursor.i32()?;
    part.counter = read_branch_pointer(cursor, reading, None, depth + 1)?;
    if version >= 8 || frame.end.is_none_or(|end| cursor.position() < end) {
        // It came after version 5.
        part.second_counter = read_branch_pointer(cursor, reading, None, depth + 1)?;
    }
    Ok(part)
}

/// `TBranchClones` writes the members of `TBranch` one by one, and not the base.
/// Source: `TBranchClones::Streamer`.
fn read_branch_clones<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    version: u16,
    id: BranchId,
    depth: usize,
) -> Result<Branch> {
    let (bits, name, title) = read_named(cursor)?;
    let mut branch = Branch { version: 0, ..Branch::of(bits, name, title) };
    branch.compression = CompressionSetting(cursor.i32()?);
    branch.basket_bytes = cursor.i32()?;
    branch.n_entry_offsets = cursor.i32()?;
    let n_baskets = [cursor.i32()?, cursor.i32()?];
    branch.entry_end = cursor.i64()?;
    branch.n_entries = cursor.i64()?;
    branch.memory_bytes = cursor.i64()?;
    branch.stored_bytes = cursor.i64()?;
    branch.offset = cursor.i32()?;
    let counter = read_branch_pointer(cursor, reading, Some(id), depth + 1)?;
    let class_name = cursor.string()?;
    (branch.branches, branch.array_bits[0]) = read_branches(cursor, reading, Some(id), depth + 1)?;
    let mut clones = ClonesPart { version, n_baskets, counter, class_name, is_counter_beside: false };
    if let Some(counter) = counter
        && !std::mem::replace(&mut reading.is_listed[counter.0 as usize], true)
    {
        branch.branches.push(counter);
        clones.is_counter_beside = true;
    }
    branch.clones = Some(Box::new(clones));
    Ok(branch)
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
