//! The record of a tree: everything about it but the values.

use super::branch::{Branch, BranchId, read_branches, read_counter, read_io_features};
use super::leaf::{Leaf, LeafId, read_leaf_pointer};
use super::objects::{Objects, Slot, read_array_head, read_list_head, read_named, read_named_with_bits};
use crate::MAX_PATH_BYTES;
use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};
use crate::streamer::StreamerInfos;

/// `TTree::kEntriesReshuffled` in `fBits`. Source: `TTree.h` (ROOT 6.22 to 6.40).
const ENTRIES_RESHUFFLED: u32 = 1 << 19;

/// A tree as its record describes it.
#[derive(Debug, Clone)]
pub struct TreeRecord {
    /// `fName`.
    pub name: String,
    /// `fTitle`.
    pub title: String,
    /// `fEntries`.
    pub n_entries: u64,
    /// Whether the order of the entries is by chance, as several threads wrote them: their numbers say nothing then.
    pub entries_reshuffled: bool,
    /// `fTotBytes`: all uncompressed baskets with their keys, in bytes.
    pub memory_bytes: i64,
    /// `fZipBytes`: all baskets in the file with their keys, in bytes.
    pub stored_bytes: i64,
    /// `fAutoFlush`: entries in a cluster if positive, bytes if negative.
    pub auto_flush: i64,
    /// Last entry and cluster size of each range of clusters but the last.
    pub cluster_ranges: Vec<(i64, i64)>,
    /// All branches; ids are places here.
    pub branches: Vec<Branch>,
    /// All leaves; ids are places here.
    pub leaves: Vec<Leaf>,
    /// The branches of the tree itself.
    pub top_branches: Vec<BranchId>,
    /// `fAliases`: names of expressions, and these (`TTree::SetAlias`).
    pub aliases: Vec<(String, String)>,
    /// `fFriends`.
    pub friends: Vec<Friend>,
    /// `fTreeIndex`: where it is a friend, its entries are found by this, not by their number.
    pub index: Option<RecordedIndex>,
    /// The first branch that holds each leaf.
    branches_of_leaves: Vec<Option<BranchId>>,
}

/// The index that `TTree::BuildIndex` made, or may have made: the default says that this could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedIndex {
    /// Class, `TTreeIndex`; empty if it could not be read whether there is an index.
    pub class_name: String,
    /// The expressions of its major and minor values (`fMajorName`, `fMinorName`) if the class is `TTreeIndex`.
    pub names: Option<(String, String)>,
}

/// What follows the branches in the record.
#[derive(Default)]
struct Tail {
    aliases: Vec<(String, String)>,
    friends: Vec<Friend>,
    index: Option<RecordedIndex>,
}

/// A friend of a tree, as `TFriendElement` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Friend {
    /// Alias in expressions.
    pub alias: String,
    /// Name of the tree.
    pub tree_name: String,
    /// File, if it is another one.
    pub file_name: String,
}

/// What is collected while a record is read.
pub(super) struct Reading<'a> {
    pub(super) objects: Objects<'a>,
    /// `None` while a branch is being read.
    pub(super) branches: Vec<Option<Branch>>,
    /// Whether a branch is in a list already: a second place would make walks over the tree endless.
    pub(super) is_listed: Vec<bool>,
    pub(super) leaves: Vec<Leaf>,
}

impl Reading<'_> {
    pub(super) fn new(key_bytes: usize) -> Self {
        Reading { objects: Objects::new(key_bytes), branches: Vec::new(), is_listed: Vec::new(), leaves: Vec::new() }
    }
}

/// That the paths of all branches can be written down.
pub(super) fn check_paths(branches: &[Branch], top_branches: &[BranchId]) -> Result<()> {
    let mut n_bytes = 0_usize;
    let mut waiting: Vec<(BranchId, usize)> = top_branches.iter().map(|&id| (id, 0)).collect();
    while let Some((id, around)) = waiting.pop() {
        let branch = &branches[id.0 as usize];
        let path_bytes = around + branch.name.len();
        n_bytes += path_bytes;
        if n_bytes > MAX_PATH_BYTES {
            let what = format!("branches whose paths take more than {} MiB", MAX_PATH_BYTES >> 20);
            return Err(Error::unsupported(0, what));
        }
        waiting.extend(branch.branches.iter().map(|&inner| (inner, path_bytes + 1)));
    }
    Ok(())
}

/// The numbers of `TTree` whose place depends on its version.
#[derive(Default)]
struct Numbers {
    n_entries: u64,
    memory_bytes: i64,
    stored_bytes: i64,
    auto_flush: i64,
    cluster_ranges: Vec<(i64, i64)>,
}

impl TreeRecord {
    /// Parses the object data of a tree's record.
    ///
    /// `class`: from its key, `TTree` or a class derived from it. `key_bytes`: `fKeylen` of that key. `infos` are asked
    /// for only if the version of `TTree` is an old one.
    ///
    /// # Errors
    /// As the bytes are corrupt, cut short or of an unknown version.
    pub fn parse(
        object_data: &[u8],
        class: &str,
        key_bytes: usize,
        infos: &dyn Fn() -> Result<StreamerInfos>,
    ) -> Result<TreeRecord> {
        let mut cursor = Cursor::new(object_data);
        let mut reading = Reading::new(key_bytes);
        let mut frame = cursor.version()?;
        if class != "TTree" {
            // TNtuple, TChain: the TTree part comes first, in a frame of its own.
            frame = cursor.version()?;
        }
        let (bits, name, title) = read_named_with_bits(&mut cursor)?;
        let parsed = Self::parse_members(&mut cursor, &mut reading, frame.version, infos);
        let (numbers, top_branches, tail) = parsed.within(|| format!("tree {name}"))?;
        let branches: Option<Vec<Branch>> = reading.branches.into_iter().collect();
        let branches = branches.ok_or_else(|| Error::corrupt(0, "a branch that contains itself"))?;
        check_paths(&branches, &top_branches).within(|| format!("tree {name}"))?;
        Ok(TreeRecord {
            name,
            title,
            n_entries: numbers.n_entries,
            entries_reshuffled: bits & ENTRIES_RESHUFFLED != 0,
            memory_bytes: numbers.memory_bytes,
            stored_bytes: numbers.stored_bytes,
            auto_flush: numbers.auto_flush,
            cluster_ranges: numbers.cluster_ranges,
            branches_of_leaves: branches_of_leaves(&branches, reading.leaves.len()),
            branches,
            leaves: reading.leaves,
            top_branches,
            aliases: tail.aliases,
            friends: tail.friends,
            index: tail.index,
        })
    }

    fn parse_members<'a>(
        cursor: &mut Cursor<'a>,
        reading: &mut Reading<'a>,
        version: u16,
        infos: &dyn Fn() -> Result<StreamerInfos>,
    ) -> Result<(Numbers, Vec<BranchId>, Tail)> {
        let numbers = match version {
            16..=20 => read_numbers(cursor, version)?,
            1..=4 => read_early_numbers(cursor)?,
            _ => read_numbers_by_info(cursor, version, &infos()?)?,
        };
        let top_branches = read_branches(cursor, reading, None, 0)?;
        // What follows the branches is not worth failing for: leaves again, aliases, indices, friends. But nobody may
        // take the tree for one without an index then.
        let tail = read_tail(cursor, reading, version)
            .unwrap_or_else(|_| Tail { index: Some(RecordedIndex::default()), ..Tail::default() });
        Ok((numbers, top_branches, tail))
    }

    /// A branch.
    pub fn branch(&self, id: BranchId) -> &Branch {
        &self.branches[id.0 as usize]
    }

    /// A leaf.
    pub fn leaf(&self, id: LeafId) -> &Leaf {
        &self.leaves[id.0 as usize]
    }

    /// The branch that holds a leaf.
    pub fn branch_of_leaf(&self, id: LeafId) -> Option<BranchId> {
        *self.branches_of_leaves.get(id.0 as usize)?
    }

    /// First entries of the clusters that the tree records, and the number of entries; at most `limit` clusters.
    ///
    /// Empty if the tree was not flushed by entries: the baskets then tell more. Source: `TTree::TClusterIterator`.
    pub fn clusters(&self, limit: usize) -> Vec<u64> {
        let n_entries = i64::try_from(self.n_entries).unwrap_or(i64::MAX);
        let mut boundaries = Vec::new();
        let mut start = 0_i64;
        let last = (n_entries - 1, self.auto_flush);
        for &(range_end, size) in self.cluster_ranges.iter().chain(std::iter::once(&last)) {
            let stop = range_end.saturating_add(1).min(n_entries);
            if size <= 0 {
                return Vec::new();
            }
            while start < stop {
                if boundaries.len() >= limit {
                    return Vec::new();
                }
                boundaries.push(start.unsigned_abs());
                start = start.saturating_add(size).min(stop);
            }
        }
        boundaries.push(self.n_entries);
        boundaries
    }
}

fn branches_of_leaves(branches: &[Branch], n_leaves: usize) -> Vec<Option<BranchId>> {
    let mut found = vec![None; n_leaves];
    for (id, branch) in (0..).map(BranchId).zip(branches) {
        for leaf in &branch.leaves {
            if let Some(slot) = found.get_mut(leaf.0 as usize) {
                slot.get_or_insert(id);
            }
        }
    }
    found
}

/// `fEntries`, which stands at `position`.
fn number_of_entries(value: i64, position: usize) -> Result<u64> {
    u64::try_from(value).map_err(|_| Error::corrupt(position, format!("a tree of {value} entries")))
}

/// The members between the attributes and the branches, versions 16 to 20 (ROOT 5.14 to 6.40).
fn read_numbers(cursor: &mut Cursor<'_>, version: u16) -> Result<Numbers> {
    for _ in 0..3 {
        cursor.skip_object()?; // TAttLine, TAttFill, TAttMarker
    }
    let position = cursor.position();
    let mut numbers = Numbers {
        n_entries: number_of_entries(cursor.i64()?, position)?,
        memory_bytes: cursor.i64()?,
        stored_bytes: cursor.i64()?,
        ..Numbers::default()
    };
    cursor.i64()?; // fSavedBytes
    if version >= 18 {
        cursor.i64()?; // fFlushedBytes
    }
    cursor.f64()?; // fWeight
    cursor.skip(12)?; // fTimerInterval, fScanField, fUpdate
    if version >= 17 {
        cursor.i32()?; // fDefaultEntryOffsetLen
    }
    let n_ranges = if version >= 19 { cursor.i32()? } else { 0 };
    cursor.skip(24)?; // fMaxEntries, fMaxEntryLoop, fMaxVirtualSize
    cursor.i64()?; // fAutoSave
    if version >= 18 {
        numbers.auto_flush = cursor.i64()?;
    }
    cursor.i64()?; // fEstimate
    if version >= 19 {
        let ends = read_counted(cursor, n_ranges)?;
        let sizes = read_counted(cursor, n_ranges)?;
        numbers.cluster_ranges = ends.into_iter().zip(sizes).collect();
    }
    if version >= 20 {
        read_io_features(cursor)?;
    }
    Ok(numbers)
}

/// The same as ROOT 2 wrote them, which had no streamer information. Source: `TTree::Streamer` (ROOT 6.40).
fn read_early_numbers(cursor: &mut Cursor<'_>) -> Result<Numbers> {
    for n_bytes in [6, 4, 8] {
        // TAttLine, TAttFill, TAttMarker: without a byte count in these files
        match cursor.version()?.end {
            Some(end) => cursor.leave(end)?,
            None => cursor.skip(n_bytes)?,
        }
    }
    cursor.skip(12)?; // fScanField, fMaxEntryLoop, fMaxVirtualSize
    let position = cursor.position();
    let mut counter = || read_counter(cursor, false);
    let numbers = Numbers {
        n_entries: number_of_entries(counter()?, position)?,
        memory_bytes: counter()?,
        stored_bytes: counter()?,
        ..Numbers::default()
    };
    cursor.skip(8)?; // fAutoSave, fEstimate
    Ok(numbers)
}

/// A counted array of 8-byte integers: a flag, and the values if it is not 0.
fn read_counted(cursor: &mut Cursor<'_>, n_items: i32) -> Result<Vec<i64>> {
    if cursor.u8()? == 0 {
        return Ok(Vec::new());
    }
    let position = cursor.position();
    let n_items = usize::try_from(n_items).unwrap_or(usize::MAX);
    if n_items > cursor.remaining() / 8 {
        return Err(Error::corrupt(position, format!("{n_items} cluster ranges")));
    }
    (0..n_items).map(|_| cursor.i64()).collect()
}

/// The same members in the order that the file's own streamer information gives, for other versions of `TTree`.
fn read_numbers_by_info(cursor: &mut Cursor<'_>, version: u16, infos: &StreamerInfos) -> Result<Numbers> {
    if version == 0 {
        return Err(Error::corrupt(cursor.position(), "zeros where a TTree should be: it has no version 0"));
    }
    let info = infos.get("TTree", version).ok_or_else(|| {
        Error::unsupported(cursor.position(), format!("TTree of version {version} without streamer information"))
    })?;
    let mut numbers = Numbers::default();
    for element in &info.elements {
        if &*element.name == "fBranches" {
            return Ok(numbers);
        }
        let position = cursor.position();
        #[expect(clippy::cast_possible_truncation, reason = "counts that were written as doubles")]
        let value = match (&*element.name, element.type_code) {
            ("TNamed", _) => continue, // read already
            (_, 0 | 61 | 62 | 67) => {
                cursor.skip_object()?;
                continue;
            }
            (_, 1 | 11 | 18) => i64::from(cursor.u8()?),
            (_, 2 | 12) => i64::from(cursor.i16()?),
            (_, 3 | 6 | 13) => i64::from(cursor.i32()?),
            (_, 4 | 14 | 16 | 17) => cursor.i64()?,
            (_, 5) => cursor.f32()? as i64,
            (_, 8) => cursor.f64()? as i64,
            (name, code) => {
                return Err(Error::unsupported(
                    position,
                    format!("member {name} (type {code}) of TTree version {version}"),
                ));
            }
        };
        match &*element.name {
            "fEntries" => numbers.n_entries = number_of_entries(value, position)?,
            "fTotBytes" => numbers.memory_bytes = value,
            "fZipBytes" => numbers.stored_bytes = value,
            "fAutoFlush" => numbers.auto_flush = value,
            _ => {}
        }
    }
    Err(Error::corrupt(cursor.position(), "the streamer information of TTree has no fBranches"))
}

/// Goes on behind the branches up to the list of friends.
fn read_tail<'a>(cursor: &mut Cursor<'a>, reading: &mut Reading<'a>, version: u16) -> Result<Tail> {
    if !(16..=20).contains(&version) {
        return Err(Error::unsupported(
            cursor.position(),
            format!("what follows the branches of TTree version {version}"),
        ));
    }
    let (n_leaves, end) = read_array_head(cursor)?; // fLeaves: all seen before
    for _ in 0..n_leaves {
        read_leaf_pointer(cursor, &mut reading.objects, &mut reading.leaves)?;
    }
    if let Some(end) = end {
        cursor.leave(end)?;
    }
    let aliases = read_aliases(cursor, reading)?;
    let n_doubles = cursor.count(8)?;
    cursor.skip(n_doubles * 8)?; // fIndexValues
    let n_integers = cursor.count(4)?;
    cursor.skip(n_integers * 4)?; // fIndex
    let index = read_index(cursor, reading)?;
    let friends = read_friends(cursor, reading).unwrap_or_default();
    Ok(Tail { aliases, friends, index })
}

/// Reads the pointer `fAliases`, a list of `TNamed`.
fn read_aliases<'a>(cursor: &mut Cursor<'a>, reading: &mut Reading<'a>) -> Result<Vec<(String, String)>> {
    match reading.objects.slot(cursor)? {
        Slot::Null | Slot::Seen(_) => Ok(Vec::new()),
        Slot::New { class, end: Some(end), .. } => {
            let mut inside = *cursor;
            let aliases = if class == "TList" { read_named_list(&mut inside, reading) } else { Ok(Vec::new()) };
            cursor.leave(end)?;
            Ok(aliases.unwrap_or_default()) // what follows is not worth failing for them
        }
        Slot::New { class, position, .. } => {
            Err(Error::unsupported(position, format!("a {class} without a byte count")))
        }
    }
}

/// Reads the names and titles in a `TList`.
fn read_named_list<'a>(cursor: &mut Cursor<'a>, reading: &mut Reading<'a>) -> Result<Vec<(String, String)>> {
    let (n_items, _) = read_list_head(cursor)?;
    let mut named = Vec::new();
    for _ in 0..n_items {
        if let Slot::New { class: "TNamed", end: Some(end), .. } = reading.objects.slot(cursor)? {
            named.push(read_named(cursor)?);
            cursor.leave(end)?;
        }
        cursor.string_bytes()?; // option
    }
    Ok(named)
}

fn read_friends<'a>(cursor: &mut Cursor<'a>, reading: &mut Reading<'a>) -> Result<Vec<Friend>> {
    let Slot::New { class: "TList", .. } = reading.objects.slot(cursor)? else {
        return Ok(Vec::new());
    };
    let (n_friends, _) = read_list_head(cursor)?;
    let mut friends = Vec::new();
    for _ in 0..n_friends {
        if let Slot::New { class: "TFriendElement", end: Some(end), .. } = reading.objects.slot(cursor)? {
            cursor.version()?;
            let (alias, file_name) = read_named(cursor)?;
            friends.push(Friend { alias, tree_name: cursor.string()?, file_name });
            cursor.leave(end)?;
        }
        cursor.string_bytes()?; // option
    }
    Ok(friends)
}

/// Reads the pointer `fTreeIndex`. Source: `TTreeIndex::Streamer`, versions 1 and 2 (ROOT 6.40).
fn read_index<'a>(cursor: &mut Cursor<'a>, reading: &mut Reading<'a>) -> Result<Option<RecordedIndex>> {
    match reading.objects.slot(cursor)? {
        Slot::Null => Ok(None),
        Slot::New { class, end: Some(end), .. } => {
            let mut index = RecordedIndex { class_name: class.to_owned(), names: None };
            if class == "TTreeIndex" {
                cursor.version()?;
                let base = cursor.version()?; // TVirtualIndex: a TNamed, and no members
                read_named(cursor)?;
                if let Some(base_end) = base.end {
                    cursor.leave(base_end)?;
                }
                index.names = Some((cursor.string()?, cursor.string()?));
            }
            cursor.leave(end)?; // the values and entry numbers: the columns have them too
            Ok(Some(index))
        }
        Slot::Seen(_) => Ok(Some(RecordedIndex::default())),
        Slot::New { class, position, .. } => {
            Err(Error::unsupported(position, format!("a {class} without a byte count")))
        }
    }
}

#[cfg(test)]
mod tests;
