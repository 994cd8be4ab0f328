//! The record of a tree: everything about it but the values.

use std::sync::Arc;

use super::attributes::{FillAttributes, LineAttributes, MarkerAttributes};
use super::branch::{Branch, read_branches, read_counter, read_io_features};
use super::ids::{BranchId, LeafId};
use super::leaf::Leaf;
use super::objects::read_named;
use super::reading::Reading;
use super::schema::TreeSchema;
use crate::MAX_PATH_BYTES;
use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};
use crate::streamer::StreamerInfos;

mod compact;
mod derived;
mod kept;
mod known;
mod references;
mod tail;
mod write;

pub use compact::{CompactRecord, Known};
use derived::enter_tree;
pub use references::{BranchReferences, ReferenceTable};
use tail::Tail;
pub use tail::{Friend, RecordedIndex, UserInfo};

/// Class version of `TTree` that ROOT 6.40 writes.
const VERSION: u16 = 20;
/// `TTree::kEntriesReshuffled` in `fBits`. Source: `TTree.h` (ROOT 6.22 to 6.40).
const ENTRIES_RESHUFFLED: u32 = 1 << 19;
/// `TObject::kMustCleanup`: what `fBits` of a tree has that ROOT makes.
const MUST_CLEANUP: u32 = 1 << 3;
/// `TCollection::kIsOwner`: what `fBits` of its list of branches has.
const IS_OWNER: u32 = 1 << 14;

/// A tree as its record describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeRecord {
    /// Version of `TTree`.
    pub version: u16,
    /// `fBits` of the tree as a `TObject`.
    pub bits: u32,
    /// `fName`.
    pub name: String,
    /// `fTitle`.
    pub title: String,
    /// `TAttLine`.
    pub line: LineAttributes,
    /// `TAttFill`.
    pub fill: FillAttributes,
    /// `TAttMarker`.
    pub marker: MarkerAttributes,
    /// `fEntries`.
    pub n_entries: u64,
    /// `fTotBytes`: all uncompressed baskets with their keys, in bytes.
    pub memory_bytes: i64,
    /// `fZipBytes`: all baskets in the file with their keys, in bytes.
    pub stored_bytes: i64,
    /// `fSavedBytes`: stored bytes when the tree was last saved on the way.
    pub saved_bytes: i64,
    /// `fFlushedBytes`: stored bytes when all baskets were last flushed; 0: they never were, and no clusters are known.
    pub flushed_bytes: i64,
    /// `fWeight`: what histograms of this tree are filled with.
    pub weight: f64,
    /// `fTimerInterval`, in milliseconds.
    pub timer_interval: i32,
    /// `fScanField`: lines that `TTree::Scan` shows at a time.
    pub scan_field: i32,
    /// `fUpdate`: entries after which a drawing is shown again.
    pub update: i32,
    /// `fDefaultEntryOffsetLen`: [`Branch::n_entry_offsets`] of new branches.
    pub n_entry_offsets: i32,
    /// `fMaxEntries`: of a circular tree.
    pub max_entries: i64,
    /// `fMaxEntryLoop`: entries that are read at most in a loop.
    pub max_entry_loop: i64,
    /// `fMaxVirtualSize`: bytes of baskets in memory. ROOT reads whole clusters if it is negative.
    pub max_virtual_bytes: i64,
    /// `fAutoSave`: entries after which the tree is saved on the way if positive, bytes if negative.
    pub auto_save: i64,
    /// `fAutoFlush`: entries in a cluster if positive, bytes if negative.
    pub auto_flush: i64,
    /// `fEstimate`: entries that are looked at to find the limits of a histogram.
    pub estimate: i64,
    /// Last entry and cluster size of each range of clusters but the last.
    pub cluster_ranges: Vec<(i64, i64)>,
    /// Feature bits of new baskets, as those of a branch.
    pub io_features: u8,
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
    /// `fBranchRef`: what `TRef`s of its objects refer to.
    pub references: Option<Box<BranchReferences>>,
    /// `fUserInfo`: names, texts and numbers that somebody added.
    pub user_info: Vec<UserInfo>,
    /// The first branch that holds each leaf.
    pub(super) branches_of_leaves: Arc<Vec<Option<BranchId>>>,
    /// `fLeaves`: all of them in the order in which they were made.
    pub(super) listed_leaves: Vec<LeafId>,
    /// `fBits` of `fBranches` and `fLeaves`.
    array_bits: [u32; 2],
    tail: Tail,
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

impl TreeRecord {
    /// A tree without branches and entries, as ROOT 6.40 makes it.
    pub fn new(name: &str, title: &str) -> TreeRecord {
        TreeRecord::of(MUST_CLEANUP, name.to_owned(), title.to_owned())
    }

    fn of(bits: u32, name: String, title: String) -> TreeRecord {
        TreeRecord {
            version: VERSION,
            bits,
            name,
            title,
            line: LineAttributes::DEFAULT,
            fill: FillAttributes::DEFAULT,
            marker: MarkerAttributes::DEFAULT,
            n_entries: 0,
            memory_bytes: 0,
            stored_bytes: 0,
            saved_bytes: 0,
            flushed_bytes: 0,
            weight: 1.0,
            timer_interval: 0,
            scan_field: 25,
            update: 0,
            n_entry_offsets: 1000,
            max_entries: 1_000_000_000_000,
            max_entry_loop: 1_000_000_000_000,
            max_virtual_bytes: 0,
            auto_save: -300_000_000,
            auto_flush: -30_000_000,
            estimate: 1_000_000,
            cluster_ranges: Vec::new(),
            io_features: 0,
            branches: Vec::new(),
            leaves: Vec::new(),
            top_branches: Vec::new(),
            aliases: Vec::new(),
            friends: Vec::new(),
            index: None,
            references: None,
            user_info: Vec::new(),
            branches_of_leaves: Arc::default(),
            listed_leaves: Vec::new(),
            array_bits: [IS_OWNER, 0],
            tail: Tail::default(),
        }
    }

    /// Parses the object data of a tree's record.
    ///
    /// `class`: from its key, `TTree` or a class derived from it. `key_bytes`: `fKeylen` of that key. `infos` are asked
    /// for only if the version of `TTree` is an old one, or the class one of a user.
    ///
    /// # Errors
    /// As the bytes are corrupt, cut short or of an unknown version.
    pub fn parse<'i>(
        object_data: &[u8],
        class: &str,
        key_bytes: usize,
        infos: &dyn Fn() -> Result<&'i StreamerInfos>,
    ) -> Result<TreeRecord> {
        Self::parse_from(0, object_data, class, key_bytes, infos)
    }

    /// The same of a tree that begins at a byte of the object data of a key, inside of another object, and ends with them.
    ///
    /// # Errors
    /// As [`TreeRecord::parse`].
    pub fn parse_from<'i>(
        start: usize,
        object_data: &[u8],
        class: &str,
        key_bytes: usize,
        infos: &dyn Fn() -> Result<&'i StreamerInfos>,
    ) -> Result<TreeRecord> {
        Ok(Self::parse_known(None, start, object_data, class, key_bytes, infos)?.0)
    }

    /// The same of a tree that is perhaps like a known one, which costs less if it is: what they have in common is shared.
    /// Returns, too, whether the record has the known schema.
    ///
    /// # Errors
    /// As [`TreeRecord::parse`].
    pub fn parse_known<'i>(
        known: Option<&TreeSchema>,
        start: usize,
        object_data: &[u8],
        class: &str,
        key_bytes: usize,
        infos: &dyn Fn() -> Result<&'i StreamerInfos>,
    ) -> Result<(TreeRecord, bool)> {
        let mut reading = Reading::new(key_bytes, known);
        Self::parse_by(&mut reading, known, start, object_data, class, infos)
    }

    /// The same. Returns the schema of the record if it is another one than the known, made so that other records that have it
    /// cost less.
    ///
    /// # Errors
    /// As [`TreeRecord::parse`].
    pub fn parse_learning<'i>(
        known: Option<&TreeSchema>,
        start: usize,
        object_data: &[u8],
        class: &str,
        key_bytes: usize,
        infos: &dyn Fn() -> Result<&'i StreamerInfos>,
    ) -> Result<(TreeRecord, Option<TreeSchema>)> {
        let mut reading = Reading::new(key_bytes, known);
        let (record, is_known) = Self::parse_by(&mut reading, known, start, object_data, class, infos)?;
        let learned = (!is_known)
            .then(|| TreeSchema::with_patterns(&record, reading.patterns(&record.branches, Cursor::new(object_data))));
        Ok((record, learned))
    }

    pub(super) fn parse_by<'a, 'i>(
        reading: &mut Reading<'a>,
        known: Option<&TreeSchema>,
        start: usize,
        object_data: &'a [u8],
        class: &str,
        infos: &dyn Fn() -> Result<&'i StreamerInfos>,
    ) -> Result<(TreeRecord, bool)> {
        let mut cursor = Cursor::at(object_data, start);
        let outermost = cursor.clone().version()?.version;
        let frame = enter_tree(&mut cursor, class, infos)?;
        let (bits, name, title) = read_named(&mut cursor)?;
        // What is not in old records is unknown, and not what ROOT has now.
        let mut record = TreeRecord { version: frame.version, auto_flush: 0, ..TreeRecord::of(bits, name, title) };
        record.parse_members(&mut cursor, reading, infos).within(|| format!("tree {}", record.name))?;
        if class != "TTree" {
            let n_variables = frame.end.and_then(|end| Cursor::at(object_data, end).i32().ok());
            match n_variables.filter(|_| matches!(class, "TNtuple" | "TNtupleD")) {
                Some(n_variables) => record.tail.variables = Some((outermost, n_variables)),
                None => record.tail.leave_out_unknown(format!("what a {class} has beyond a TTree")),
            }
        }
        let branches: Option<Vec<Branch>> = std::mem::take(&mut reading.branches).into_iter().collect();
        record.branches = branches.ok_or_else(|| Error::corrupt(0, "a branch that contains itself"))?;
        record.leaves = std::mem::take(&mut reading.leaves.read);
        if let Some(known) = known.filter(|known| known.is_of(&record)) {
            record.branches_of_leaves = Arc::clone(&known.branches_of_leaves);
            return Ok((record, true));
        }
        check_paths(&record.branches, &record.top_branches).within(|| format!("tree {}", record.name))?;
        record.branches_of_leaves = branches_of_leaves(&record.branches, record.leaves.len()).into();
        Ok((record, false))
    }

    /// The name alone of such a tree.
    ///
    /// # Errors
    /// As [`TreeRecord::parse`].
    pub fn name_from<'i>(
        start: usize,
        object_data: &[u8],
        class: &str,
        infos: &dyn Fn() -> Result<&'i StreamerInfos>,
    ) -> Result<String> {
        let mut cursor = Cursor::at(object_data, start);
        enter_tree(&mut cursor, class, infos)?;
        Ok(read_named(&mut cursor)?.1)
    }

    fn parse_members<'a, 'i>(
        &mut self,
        cursor: &mut Cursor<'a>,
        reading: &mut Reading<'a>,
        infos: &dyn Fn() -> Result<&'i StreamerInfos>,
    ) -> Result<()> {
        match self.version {
            16..=20 => self.read_numbers(cursor)?,
            1..=4 => self.read_early_numbers(cursor)?,
            _ => self.read_numbers_by_info(cursor, infos()?)?,
        }
        (self.top_branches, self.array_bits[0]) = read_branches(cursor, reading, None, 0)?;
        // What follows the branches is not worth failing for: leaves again, aliases, indices, friends.
        self.read_tail(cursor, reading);
        Ok(())
    }

    /// True if the order of the entries is by chance, as several threads wrote them: their numbers say nothing then.
    pub fn entries_reshuffled(&self) -> bool {
        self.bits & ENTRIES_RESHUFFLED != 0
    }

    /// Notes that the order of the entries is by chance, so that nobody joins them with others by their numbers.
    pub fn be_reshuffled(&mut self) {
        self.bits |= ENTRIES_RESHUFFLED;
    }

    /// The same without its branches and leaves, and the lists of them.
    fn without_branches(&self) -> TreeRecord {
        TreeRecord {
            name: self.name.clone(),
            title: self.title.clone(),
            cluster_ranges: self.cluster_ranges.clone(),
            branches: Vec::new(),
            leaves: Vec::new(),
            top_branches: Vec::new(),
            aliases: self.aliases.clone(),
            friends: self.friends.clone(),
            index: self.index.clone(),
            references: self.references.clone(),
            user_info: self.user_info.clone(),
            branches_of_leaves: Arc::default(),
            listed_leaves: Vec::new(),
            tail: self.tail.clone(),
            ..*self
        }
    }

    /// About the bytes behind its members, but for branches, leaves, an index and references.
    fn rest_bytes(&self) -> usize {
        let info = |one: &UserInfo| size_of::<UserInfo>() + one.class_name.len() + one.name.len() + one.title.len();
        let friend = |one: &Friend| size_of::<Friend>() + one.alias.len() + one.tree_name.len() + one.file_name.len();
        let alias = |(name, text): &(String, String)| size_of::<(String, String)>() + name.len() + text.len();
        let lists = self.aliases.iter().map(alias).chain(self.friends.iter().map(friend));
        let lists: usize = lists.chain(self.user_info.iter().map(info)).sum();
        let numbers = size_of_val(self.cluster_ranges.as_slice()) + size_of_val(self.listed_leaves.as_slice());
        self.name.len() + self.title.len() + lists + numbers + self.tail.n_bytes()
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

impl TreeRecord {
    /// The members between the name and the branches, versions 16 to 20 (ROOT 5.14 to 6.40).
    fn read_numbers(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        self.read_attributes(cursor)?;
        let position = cursor.position();
        self.n_entries = number_of_entries(cursor.i64()?, position)?;
        self.memory_bytes = cursor.i64()?;
        self.stored_bytes = cursor.i64()?;
        self.saved_bytes = cursor.i64()?;
        if self.version >= 18 {
            self.flushed_bytes = cursor.i64()?;
        }
        self.weight = cursor.f64()?;
        self.timer_interval = cursor.i32()?;
        self.scan_field = cursor.i32()?;
        self.update = cursor.i32()?;
        if self.version >= 17 {
            self.n_entry_offsets = cursor.i32()?;
        }
        let n_ranges = if self.version >= 19 { cursor.i32()? } else { 0 };
        self.max_entries = cursor.i64()?;
        self.max_entry_loop = cursor.i64()?;
        self.max_virtual_bytes = cursor.i64()?;
        self.auto_save = cursor.i64()?;
        if self.version >= 18 {
            self.auto_flush = cursor.i64()?;
        }
        self.estimate = cursor.i64()?;
        if self.version >= 19 {
            let ends = read_counted(cursor, n_ranges)?;
            let sizes = read_counted(cursor, n_ranges)?;
            self.cluster_ranges = ends.into_iter().zip(sizes).collect();
        }
        if self.version >= 20 {
            self.io_features = read_io_features(cursor)?;
        }
        Ok(())
    }

    fn read_attributes(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        self.line = LineAttributes::read(cursor)?;
        self.fill = FillAttributes::read(cursor)?;
        self.marker = MarkerAttributes::read(cursor)?;
        Ok(())
    }

    /// The same as ROOT 2 wrote them, which had no streamer information. Source: `TTree::Streamer` (ROOT 6.40).
    fn read_early_numbers(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        self.read_attributes(cursor)?;
        self.scan_field = cursor.i32()?;
        self.max_entry_loop = i64::from(cursor.i32()?);
        self.max_virtual_bytes = i64::from(cursor.i32()?);
        let position = cursor.position();
        self.n_entries = number_of_entries(read_counter(cursor, false)?, position)?;
        self.memory_bytes = read_counter(cursor, false)?;
        self.stored_bytes = read_counter(cursor, false)?;
        self.auto_save = i64::from(cursor.i32()?);
        self.estimate = i64::from(cursor.i32()?);
        Ok(())
    }

    /// The same members in the order that the file's own streamer information gives, for other versions of `TTree`.
    fn read_numbers_by_info(&mut self, cursor: &mut Cursor<'_>, infos: &StreamerInfos) -> Result<()> {
        let version = self.version;
        if version == 0 {
            return Err(Error::corrupt(cursor.position(), "zeros where a TTree should be: it has no version 0"));
        }
        let info = infos.get("TTree", version).ok_or_else(|| {
            Error::unsupported(cursor.position(), format!("TTree of version {version} without streamer information"))
        })?;
        for element in &info.elements {
            if &*element.name == "fBranches" {
                return Ok(());
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
                "fEntries" => self.n_entries = number_of_entries(value, position)?,
                "fTotBytes" => self.memory_bytes = value,
                "fZipBytes" => self.stored_bytes = value,
                "fAutoFlush" => self.auto_flush = value,
                _ => {}
            }
        }
        Err(Error::corrupt(cursor.position(), "the streamer information of TTree has no fBranches"))
    }
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

#[cfg(test)]
mod tests;
