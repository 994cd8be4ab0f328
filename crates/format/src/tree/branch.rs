//! Branches: where the baskets of a column are, and what their entries belong to.

use std::borrow::Cow;
use std::ops::Range;

use super::basket::EmbeddedBasket;
use super::leaf::{LeafId, read_leaf_pointer};
use super::objects::{Object, Slot, read_array_head, read_named};
use super::record::Reading;
use crate::codec::CompressionSetting;
use crate::cursor::{Cursor, VersionFrame};
use crate::error::{Error, Result, Within};

/// Branches nest at most so deep; ROOT splits to level 99.
const MAX_DEPTH: usize = 128;
/// `TBasket::fNevBuf` has 32 bits and a sign.
const MAX_BASKET_ENTRIES: u64 = i32::MAX as u64;

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

/// Where the arrays of a branch lie in the object data of its tree: they are decoded when asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct BasketTable {
    /// `fWriteBasket`: number of baskets in the file.
    n_baskets: usize,
    bytes: Range<usize>,
    entries: (Range<usize>, bool),
    seeks: (Range<usize>, bool),
}

/// Where one basket is and which entries it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BasketLocation {
    /// Offset of the record in the file, in bytes; unused if embedded.
    pub offset: u64,
    /// Size of the record in bytes, key included; 0 if embedded.
    pub stored_bytes: u32,
    /// First entry.
    pub first_entry: u64,
    /// One past the last entry.
    pub entry_end: u64,
    /// The place in [`Branch::embedded`] if the basket is not a record of its own.
    pub embedded: Option<usize>,
}

impl Branch {
    /// Number of baskets, embedded ones included.
    pub fn n_baskets(&self) -> usize {
        self.baskets.n_baskets + usize::from(self.embedded.iter().any(|basket| basket.index == self.baskets.n_baskets))
    }

    /// All baskets in the order of their entries; empty ones are left out.
    ///
    /// `object_data`: of the tree, as it was parsed.
    ///
    /// # Errors
    /// Corrupt if entry numbers run backwards or a place in the file is impossible.
    pub fn baskets(&self, object_data: &[u8]) -> Result<Vec<BasketLocation>> {
        let table = &self.baskets;
        let bytes = object_data.get(table.bytes.clone()).unwrap_or_default();
        let mut baskets: Vec<BasketLocation> = Vec::with_capacity(table.n_baskets + 1);
        for index in 0..=table.n_baskets {
            // They were read in this order.
            let embedded = self.embedded.binary_search_by_key(&index, |basket| basket.index).ok();
            let is_last = index == table.n_baskets;
            if is_last && embedded.is_none() {
                break;
            }
            let first_entry = wide_item(object_data, &table.entries, index).unwrap_or(0);
            let mut entry_end = match embedded {
                Some(place) => first_entry.saturating_add(i64::from(self.embedded[place].head.n_entries)),
                None => wide_item(object_data, &table.entries, index + 1).unwrap_or(0),
            };
            if embedded.is_none() && index + 1 == table.n_baskets && entry_end <= first_entry {
                // Old writers did not always write the terminator.
                entry_end = self.entry_end;
            }
            let (Ok(first_entry), Ok(entry_end)) = (u64::try_from(first_entry), u64::try_from(entry_end)) else {
                return Err(self.wrong_table(index, format!("entries {first_entry} to {entry_end}")));
            };
            if entry_end < first_entry || baskets.last().is_some_and(|last| last.entry_end > first_entry) {
                return Err(self.wrong_table(index, format!("entries {first_entry} to {entry_end} run backwards")));
            }
            if entry_end == first_entry {
                continue;
            }
            if entry_end - first_entry > MAX_BASKET_ENTRIES {
                return Err(self.wrong_table(index, format!("entries {first_entry} to {entry_end} are too many")));
            }
            let (offset, stored_bytes) = match embedded {
                Some(_) => (0, 0),
                None => {
                    let offset = wide_item(object_data, &table.seeks, index).unwrap_or(-1);
                    let stored = bytes.get(index * 4..).and_then(|rest| rest.first_chunk::<4>());
                    let stored = stored.map_or(-1, |chunk| i32::from_be_bytes(*chunk));
                    match (u64::try_from(offset), u32::try_from(stored)) {
                        (Ok(offset), Ok(stored)) if offset > 0 && stored > 0 => (offset, stored),
                        _ => return Err(self.wrong_table(index, format!("{stored} bytes at {offset}"))),
                    }
                }
            };
            baskets.push(BasketLocation { offset, stored_bytes, first_entry, entry_end, embedded });
        }
        Ok(baskets)
    }

    fn wrong_table(&self, index: usize, what: String) -> Error {
        Error::corrupt(self.baskets.entries.0.start, format!("branch {}, basket {index}: {what}", self.name))
    }
}

/// Item `index` of an array of 4-byte or 8-byte integers.
fn wide_item(object_data: &[u8], array: &(Range<usize>, bool), index: usize) -> Option<i64> {
    let data = object_data.get(array.0.clone())?;
    if array.1 {
        data.get(index.checked_mul(8)?..)?.first_chunk::<8>().map(|chunk| i64::from_be_bytes(*chunk))
    } else {
        data.get(index.checked_mul(4)?..)?.first_chunk::<4>().map(|chunk| i64::from(i32::from_be_bytes(*chunk)))
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

/// Reads the `TBranch` part. Versions 10 and above are as their streamer information says; below, by hand.
fn read_base<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    version: u16,
    end: Option<usize>,
    id: BranchId,
    depth: usize,
) -> Result<Branch> {
    if !(6..=13).contains(&version) {
        return Err(Error::unsupported(cursor.position(), format!("TBranch of version {version}")));
    }
    let is_wide = version >= 10;
    let (name, title) = read_named(cursor)?;
    let mut read = || -> Result<Branch> {
        if version >= 8 {
            cursor.skip_object()?; // TAttFill
        }
        let compression = CompressionSetting(cursor.i32()?);
        cursor.i32()?; // fBasketSize
        cursor.i32()?; // fEntryOffsetLen
        let n_baskets = cursor.i32()?;
        let entry_end = if is_wide { cursor.i64()? } else { i64::from(cursor.i32()?) };
        let io_features = if version >= 13 { read_io_features(cursor)? } else { 0 };
        cursor.i32()?; // fOffset
        let max_baskets = cursor.i32()?;
        let split_level = if version >= 7 { cursor.i32()? } else { 0 };
        let n_entries = counter(cursor, is_wide)?;
        let first_entry = if version >= 11 { cursor.i64()? } else { 0 };
        let memory_bytes = counter(cursor, is_wide)?;
        let stored_bytes = counter(cursor, is_wide)?;
        let branches = read_branches(cursor, reading, Some(id), depth + 1)?;
        let leaves = read_leaves(cursor, reading)?;
        let embedded = read_embedded_baskets(cursor, reading, n_baskets)?;
        let position = cursor.position();
        let max_baskets = usize::try_from(max_baskets)
            .map_err(|_| Error::corrupt(position, format!("fMaxBaskets is {max_baskets}")))?;
        let n_baskets =
            usize::try_from(n_baskets).map_err(|_| Error::corrupt(position, format!("fWriteBasket is {n_baskets}")))?;
        let (bytes, _) = basket_array(cursor, max_baskets, Some(false), version)?;
        let entries = basket_array(cursor, max_baskets, Some(is_wide), version)?;
        let seeks = basket_array(cursor, max_baskets, is_wide.then_some(true), version)?;
        let file_name = cursor.string()?;
        let in_arrays = n_baskets.min(bytes.len() / 4);
        if in_arrays < n_baskets {
            return Err(Error::corrupt(position, format!("{n_baskets} baskets in arrays of {max_baskets}")));
        }
        Ok(Branch {
            class: Cow::Borrowed(""),
            name: String::new(),
            title: String::new(),
            compression,
            entry_end,
            first_entry,
            n_entries,
            memory_bytes,
            stored_bytes,
            split_level,
            io_features,
            branches,
            leaves,
            parent: None,
            embedded,
            file_name,
            element: None,
            baskets: BasketTable { n_baskets, bytes, entries, seeks },
        })
    };
    let branch = read().within(|| format!("branch {name}"))?;
    if let Some(end) = end {
        cursor.leave(end)?;
    }
    Ok(Branch { name, title, ..branch })
}

/// A count of entries or bytes: a double before version 10.
fn counter(cursor: &mut Cursor<'_>, is_wide: bool) -> Result<i64> {
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

fn read_embedded_baskets<'a>(
    cursor: &mut Cursor<'a>,
    reading: &mut Reading<'a>,
    n_baskets: i32,
) -> Result<Vec<EmbeddedBasket>> {
    let (n_slots, array_end) = read_array_head(cursor)?;
    let mut embedded = Vec::new();
    let mut index = 0;
    while index < n_slots {
        // Almost all are null, and a tree has one for each of its baskets.
        let rest = cursor.data().get(cursor.position()..).unwrap_or_default();
        let n_nulls = rest.as_chunks::<4>().0.iter();
        let n_nulls = n_nulls.take(n_slots - index).take_while(|slot| **slot == [0; 4]).count();
        cursor.skip(n_nulls * 4)?;
        index += n_nulls;
        if index == n_slots {
            break;
        }
        match reading.objects.slot(cursor)? {
            Slot::Null | Slot::Seen(_) => {}
            Slot::New { class: "TBasket", end, .. } => {
                let basket = EmbeddedBasket::read(cursor, index).within(|| format!("embedded basket {index}"))?;
                // A basket above fWriteBasket is a relic that ROOT does not look at either.
                if basket.head.n_entries > 0 && i64::try_from(index).is_ok_and(|i| i <= i64::from(n_baskets)) {
                    embedded.push(basket);
                }
                if let Some(end) = end {
                    cursor.leave(end)?;
                }
            }
            Slot::New { class, position, .. } => {
                return Err(Error::corrupt(position, format!("a basket was expected, this is a {class}")));
            }
        }
        index += 1;
    }
    if let Some(end) = array_end {
        cursor.leave(end)?;
    }
    Ok(embedded)
}

/// Passes over one of the three basket arrays; says where it is and whether its items have 8 bytes.
///
/// `wide`: `None` if the flag byte decides (fBasketSeek below version 10).
fn basket_array(
    cursor: &mut Cursor<'_>,
    n_items: usize,
    wide: Option<bool>,
    version: u16,
) -> Result<(Range<usize>, bool)> {
    let flag = cursor.u8()?;
    let wide = wide.unwrap_or(flag == 2);
    let start = cursor.position();
    if flag == 0 && version >= 10 {
        return Ok((start..start, wide));
    }
    let n_bytes = n_items.saturating_mul(if wide { 8 } else { 4 });
    cursor.skip(n_bytes)?;
    Ok((start..start + n_bytes, wide))
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
