//! Branches: where the baskets of a column are, and what their entries belong to.

use std::borrow::Cow;

use super::basket::EmbeddedBasket;
use super::baskets::{BasketTable, read_basket_table, read_embedded_baskets};
use super::leaf::{LeafId, read_leaf_pointer};
use super::objects::{Object, Slot, read_array_head, read_named};
use super::record::Reading;
use crate::codec::CompressionSetting;
use crate::cursor::{Cursor, VersionFrame};
use crate::error::{Error, Result, Within};

/// Branches nest at most so deep; ROOT splits to level 99.
const MAX_DEPTH: usize = 128;

/// A branch, by its place in [`super::TreeRecord::branches`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchId(pub u32);

/// One branch of a tree.
#[derive(Debug, Clone)]
pub struct Branch {
    /// Class: `TBranch`, `TBranchElement`, ...
    pub class: Cow<'static, str>,
    /// `fName`.
    pub name: String,
    /// `fTitle`: the leaf list, or the name again.
    pub title: String,
    /// `fCompress`: for new baskets.
    pub compression: CompressionSetting,
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
    pub(super) baskets: BasketTable,
}

/// The members that `TBranchElement` adds: which part of which class a branch holds.
#[derive(Debug, Clone, Default)]
pub struct ElementPart {
    /// `fClassName`: the class whose elements `id` counts.
    pub class_name: String,
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
    /// `fBranchCount`: the branch with the counts.
    pub counter: Option<BranchId>,
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

    /// Whether it is the member of a `std::array` that holds the items.
    pub fn is_in_array(&self) -> bool {
        self.id >= 0 && self.class_name.starts_with("array<")
    }
}

/// Reads a list of branches, nested ones included.
pub(super) fn read_branches<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    parent: Option<BranchId>,
    depth: usize,
) -> Result<Vec<BranchId>> {
    let (n_branches, end) = read_array_head(cursor)?;
    let mut branches = Vec::with_capacity(n_branches);
    for _ in 0..n_branches {
        let Some(id) = read_branch_pointer(cursor, reading, parent, depth)? else { continue };
        // A branch that is still being read here would contain itself.
        let place = id.0 as usize;
        if let (Some(branch), false) = (&mut reading.branches[place], reading.is_listed[place]) {
            branch.parent = parent;
            reading.is_listed[place] = true;
            branches.push(id);
        }
    }
    if let Some(end) = end {
        cursor.leave(end)?;
    }
    Ok(branches)
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
        "TBranchClones" => read_branch_clones(cursor, reading, id, depth),
        "TBranch" => read_base(cursor, reading, outer.version, outer.end, id, depth),
        _ => {
            let base = cursor.version()?;
            read_base(cursor, reading, base.version, base.end, id, depth)
        }
    }?;
    if class == "TBranchElement" {
        branch.element =
            Some(read_element(cursor, reading, &outer, depth).within(|| format!("branch {}", branch.name))?);
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

/// The numbers of `TBranch` before its sub-branches.
#[derive(Default)]
struct Numbers {
    compression: i32,
    n_baskets: i32,
    max_baskets: i32,
    entry_end: i64,
    first_entry: i64,
    n_entries: i64,
    memory_bytes: i64,
    stored_bytes: i64,
    split_level: i32,
    io_features: u8,
}

/// Reads the `TBranch` part. Versions 10 and above are as their streamer information says; below, by hand.
/// Source: `TBranch::Streamer` (ROOT 6.40). Version 5 is that of ROOT 2.23.
fn read_base<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    version: u16,
    end: Option<usize>,
    id: BranchId,
    depth: usize,
) -> Result<Branch> {
    if !(5..=13).contains(&version) {
        return Err(Error::unsupported(cursor.position(), format!("TBranch of version {version}")));
    }
    let (name, title) = read_named(cursor)?;
    let mut read = || -> Result<Branch> {
        let numbers = if version == 5 { read_early_numbers(cursor) } else { read_numbers(cursor, version) }?;
        let branches = read_branches(cursor, reading, Some(id), depth + 1)?;
        let leaves = read_leaves(cursor, reading)?;
        let (embedded, last_is_elsewhere) = read_embedded_baskets(cursor, reading, numbers.n_baskets)?;
        let baskets = read_basket_table(cursor, numbers.n_baskets, numbers.max_baskets, version, last_is_elsewhere)?;
        Ok(Branch {
            class: Cow::Borrowed(""),
            name: String::new(),
            title: String::new(),
            compression: CompressionSetting(numbers.compression),
            entry_end: numbers.entry_end,
            first_entry: numbers.first_entry,
            n_entries: numbers.n_entries,
            memory_bytes: numbers.memory_bytes,
            stored_bytes: numbers.stored_bytes,
            split_level: numbers.split_level,
            io_features: numbers.io_features,
            branches,
            leaves,
            parent: None,
            embedded,
            file_name: cursor.string()?,
            element: None,
            baskets,
        })
    };
    let branch = read().within(|| format!("branch {name}"))?;
    if let Some(end) = end {
        cursor.leave(end)?;
    }
    Ok(Branch { name, title, ..branch })
}

fn read_numbers(cursor: &mut Cursor<'_>, version: u16) -> Result<Numbers> {
    let is_wide = version >= 10;
    if version >= 8 {
        cursor.skip_object()?; // TAttFill
    }
    let mut numbers = Numbers { compression: cursor.i32()?, ..Numbers::default() };
    cursor.skip(8)?; // fBasketSize, fEntryOffsetLen
    numbers.n_baskets = cursor.i32()?;
    numbers.entry_end = if is_wide { cursor.i64()? } else { i64::from(cursor.i32()?) };
    if version >= 13 {
        numbers.io_features = read_io_features(cursor)?;
    }
    cursor.i32()?; // fOffset
    numbers.max_baskets = cursor.i32()?;
    if version >= 7 {
        numbers.split_level = cursor.i32()?;
    }
    numbers.n_entries = read_counter(cursor, is_wide)?;
    if version >= 11 {
        numbers.first_entry = cursor.i64()?;
    }
    numbers.memory_bytes = read_counter(cursor, is_wide)?;
    numbers.stored_bytes = read_counter(cursor, is_wide)?;
    Ok(numbers)
}

/// The same in the order that ROOT 2 had.
fn read_early_numbers(cursor: &mut Cursor<'_>) -> Result<Numbers> {
    let compression = cursor.i32()?;
    cursor.skip(8)?; // fBasketSize, fEntryOffsetLen
    let (max_baskets, n_baskets) = (cursor.i32()?, cursor.i32()?);
    let entry_end = i64::from(cursor.i32()?);
    let n_entries = read_counter(cursor, false)?;
    let memory_bytes = read_counter(cursor, false)?;
    let stored_bytes = read_counter(cursor, false)?;
    cursor.i32()?; // fOffset
    Ok(Numbers {
        compression,
        n_baskets,
        max_baskets,
        entry_end,
        n_entries,
        memory_bytes,
        stored_bytes,
        ..Numbers::default()
    })
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

fn read_leaves<'a>(cursor: &mut Cursor<'a>, reading: &mut Reading<'a>) -> Result<Vec<LeafId>> {
    let (n_leaves, end) = read_array_head(cursor)?;
    let mut leaves = Vec::with_capacity(n_leaves);
    for _ in 0..n_leaves {
        leaves.extend(read_leaf_pointer(cursor, &mut reading.objects, &mut reading.leaves)?);
    }
    if let Some(end) = end {
        cursor.leave(end)?;
    }
    Ok(leaves)
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
    let mut part = ElementPart { class_name: cursor.string()?, ..ElementPart::default() };
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
    cursor.string_bytes()?; // fParentName
    part.clones_name = cursor.string()?;
    part.checksum = if version >= 8 { cursor.u32()? } else { 0 };
    part.class_version = if version >= 10 { i32::from(cursor.i16()?) } else { cursor.i32()? };
    part.id = cursor.i32()?;
    part.node_type = cursor.i32()?;
    part.streamer_type = cursor.i32()?;
    cursor.i32()?; // fMaximum
    part.counter = read_branch_pointer(cursor, reading, None, depth + 1)?;
    if version >= 8 || frame.end.is_none_or(|end| cursor.position() < end) {
        read_branch_pointer(cursor, reading, None, depth + 1)?; // fBranchCount2, which came after version 5
    }
    Ok(part)
}

/// `TBranchClones` writes the members of `TBranch` one by one, and not the base.
/// Source: `TBranchClones::Streamer`.
fn read_branch_clones<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    id: BranchId,
    depth: usize,
) -> Result<Branch> {
    let (name, title) = read_named(cursor)?;
    let compression = CompressionSetting(cursor.i32()?);
    cursor.skip(16)?; // fBasketSize, fEntryOffsetLen, fMaxBaskets, fWriteBasket
    let entry_end = cursor.i64()?;
    let n_entries = cursor.i64()?;
    let memory_bytes = cursor.i64()?;
    let stored_bytes = cursor.i64()?;
    cursor.i32()?; // fOffset
    let counter = read_branch_pointer(cursor, reading, Some(id), depth + 1)?;
    cursor.string_bytes()?; // fClassName
    let mut branches = read_branches(cursor, reading, Some(id), depth + 1)?;
    if let Some(counter) = counter
        && !std::mem::replace(&mut reading.is_listed[counter.0 as usize], true)
    {
        branches.push(counter);
    }
    Ok(Branch {
        class: Cow::Borrowed(""),
        name,
        title,
        compression,
        entry_end,
        first_entry: 0,
        n_entries,
        memory_bytes,
        stored_bytes,
        split_level: 0,
        io_features: 0,
        branches,
        leaves: Vec::new(),
        parent: None,
        embedded: Vec::new(),
        file_name: String::new(),
        element: None,
        baskets: BasketTable::default(),
    })
}

#[cfg(test)]
mod tests;
