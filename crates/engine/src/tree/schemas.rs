//! Findings about trees of one schema, which all files that record the very same share.
//!
//! A record is compared with a known schema while it is read, description by description (`TreeSchema::is_of`). What a branch
//! holds is kept apart for each set of class descriptions that it was compiled by. What entries and baskets tell is kept by none.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrowroot_format as format;
use format::column::Column;
use format::streamer::StreamerInfos;
use format::tree::{BranchId, Known, TreeRecord, TreeSchema, UserInfo};

use super::{ByName, Paths};
use crate::composed::Written;
use crate::recent::{Recent, Shareable};
use crate::table::ColumnTypes;

/// Sets of class descriptions that columns of one schema are kept for.
const MAX_DESCRIBED: usize = 4;
/// Members of all columns that are kept for one set, 1 kB each at most.
const MAX_MEMBERS: usize = 10_000;
/// About the bytes of a member, and those of a branch in a schema, its paths and the types, but for its texts.
const MEMBER_BYTES: usize = 1000;
const BRANCH_BYTES: usize = 1000;

/// Texts of recorded Arrow schemas that are kept for one schema of trees, and the most bytes of one.
const MAX_RECORDS: usize = 2;
const MAX_RECORD_BYTES: usize = 1 << 20;

/// The common part of trees of one schema.
pub(crate) struct SharedTree {
    pub(crate) schema: TreeSchema,
    pub(crate) paths: OnceLock<Paths>,
    pub(crate) by_name: OnceLock<ByName>,
    /// Additions of users to the first of them: others often have the same.
    user_info: Vec<UserInfo>,
    /// Columns that no class description was needed for.
    pub(crate) plain: SharedColumns,
    /// Columns by the class descriptions that they were compiled by.
    described: Mutex<VecDeque<(Arc<StreamerInfos>, Arc<SharedColumns>)>>,
    /// The columns of these trees by recorded Arrow schemas, by the texts of these.
    written: Mutex<VecDeque<(Box<str>, Arc<Written>)>>,
    /// That of the first such tree in its file.
    path: String,
    record_bytes: usize,
}

/// Columns that were compiled, and the types of all.
pub(crate) struct SharedColumns {
    columns: Vec<OnceLock<format::Result<Column>>>,
    n_members: AtomicUsize,
    pub(crate) types: OnceLock<SharedTypes>,
}

/// The types of all columns that can be read.
#[derive(Default)]
pub(crate) struct SharedTypes {
    pub(crate) types: Arc<ColumnTypes>,
    /// The other branches: those of a file that have no entries are read there, as nothing.
    pub(crate) unreadable: Vec<BranchId>,
}

impl SharedColumns {
    fn of(n_branches: usize) -> SharedColumns {
        SharedColumns {
            columns: std::iter::repeat_with(OnceLock::new).take(n_branches).collect(),
            n_members: AtomicUsize::new(0),
            types: OnceLock::new(),
        }
    }

    pub(crate) fn get(&self, id: BranchId) -> Option<&format::Result<Column>> {
        self.columns[id.0 as usize].get()
    }

    /// Takes room for a column; `false` if all together would have too many members.
    pub(crate) fn has_room(&self, column: &format::Result<Column>) -> bool {
        let n_members = column.as_ref().map_or(1, Column::size);
        let has_room = self.n_members.fetch_add(n_members, Ordering::Relaxed).saturating_add(n_members) <= MAX_MEMBERS;
        if !has_room {
            self.n_members.fetch_sub(n_members, Ordering::Relaxed);
        }
        has_room
    }

    /// About the bytes that they take.
    pub(super) fn n_bytes(&self) -> usize {
        size_of_val(self.columns.as_slice()) + MEMBER_BYTES * self.n_members.load(Ordering::Relaxed)
    }

    /// Keeps a column that has room.
    pub(crate) fn keep(&self, id: BranchId, column: format::Result<Column>) -> &format::Result<Column> {
        self.columns[id.0 as usize].get_or_init(|| column) // another thread may have found the same
    }
}

impl SharedTree {
    fn of(record: &TreeRecord, schema: TreeSchema, path: &str, record_bytes: usize) -> SharedTree {
        N_MET.fetch_add(1, Ordering::Relaxed);
        SharedTree {
            plain: SharedColumns::of(schema.n_branches()),
            schema,
            paths: OnceLock::new(),
            by_name: OnceLock::new(),
            user_info: record.user_info.clone(),
            described: Mutex::default(),
            written: Mutex::default(),
            path: path.to_owned(),
            record_bytes,
        }
    }

    /// About the bytes that it takes, but for the columns that class descriptions were needed for.
    pub(super) fn about_bytes(&self) -> usize {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let texts: usize = written.iter().map(|(text, _)| text.len()).sum();
        self.record_bytes + texts + BRANCH_BYTES * self.schema.n_branches() + self.plain.n_bytes()
    }

    /// The part that is kept once of all these trees.
    pub(crate) fn known(&self) -> Known<'_> {
        Known { schema: &self.schema, user_info: &self.user_info }
    }

    /// The columns that were compiled by some class descriptions.
    pub(crate) fn described(&self, infos: &Arc<StreamerInfos>) -> Arc<SharedColumns> {
        let mut described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        let index = described.iter().position(|(known, _)| Arc::ptr_eq(known, infos));
        let found = index.and_then(|index| described.remove(index));
        let found = found.unwrap_or_else(|| (Arc::clone(infos), Arc::new(SharedColumns::of(self.schema.n_branches()))));
        let columns = Arc::clone(&found.1);
        described.push_front(found);
        described.truncate(MAX_DESCRIBED);
        columns
    }

    /// The columns of these trees by a recorded Arrow schema, if they are known.
    pub(crate) fn written_of(&self, record: &str) -> Option<Arc<Written>> {
        let known = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(text, _)| **text == *record).map(|(_, written)| Arc::clone(written))
    }

    /// Notes that for later trees, and returns what another thread noted of it before.
    pub(crate) fn keep_written(&self, record: &str, written: Arc<Written>) -> Arc<Written> {
        if record.len() > MAX_RECORD_BYTES {
            return written;
        }
        let mut known = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, noted)) = known.iter().find(|(text, _)| **text == *record) {
            return Arc::clone(noted);
        }
        known.push_front((record.into(), Arc::clone(&written)));
        known.truncate(MAX_RECORDS);
        written
    }

    /// True if columns were compiled that needed class descriptions.
    pub(crate) fn needs_infos(&self) -> bool {
        !self.described.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// True if this one did.
    pub(crate) fn column_needs_infos(&self, id: BranchId) -> bool {
        let described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        described.iter().any(|(_, columns)| columns.get(id).is_some())
    }
}

/// What was found out so far in the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaCounts {
    /// Schemas that no tree or RNTuple before had.
    pub n_met: u64,
    /// Columns that were compiled.
    pub n_compiled: u64,
    /// Schemas that are kept, and the bytes of the records, headers and extensions in which they were met.
    pub n_kept: usize,
    /// See there.
    pub kept_bytes: usize,
}

static N_MET: AtomicU64 = AtomicU64::new(0);
pub(crate) static N_COMPILED: AtomicU64 = AtomicU64::new(0);

/// How much was found out, and how much of that is kept.
pub fn schema_counts() -> SchemaCounts {
    let (n_trees, tree_bytes) = KNOWN.counts();
    let (n_met, n_kept, kept_bytes) = crate::ntuple::schema_counts();
    SchemaCounts {
        n_met: N_MET.load(Ordering::Relaxed) + n_met,
        n_compiled: N_COMPILED.load(Ordering::Relaxed),
        n_kept: n_trees + n_kept,
        kept_bytes: tree_bytes + kept_bytes,
    }
}

static KNOWN: Recent<SharedTree> = Recent::new();

impl Shareable for SharedTree {
    fn n_bytes(&self) -> usize {
        self.record_bytes
    }
}

/// The schema of the last tree that had this path: that of the next file is perhaps the same.
pub(crate) fn expected(path: &str) -> Option<Arc<SharedTree>> {
    KNOWN.find(|shared| shared.path == path)
}

/// What is shared by the trees of a record's schema. `learned`: that schema; `None`: it is the `expected` one. `path`: of the
/// tree, whose record has so many bytes.
pub(crate) fn shared(
    record: &TreeRecord,
    learned: Option<TreeSchema>,
    path: &str,
    record_bytes: usize,
    expected: Option<Arc<SharedTree>>,
) -> Arc<SharedTree> {
    let expected = expected.filter(|_| learned.is_none());
    let found = expected.or_else(|| KNOWN.find(|shared| shared.schema.is_of(record)));
    let new = || SharedTree::of(record, learned.unwrap_or_else(|| TreeSchema::of(record)), path, record_bytes);
    let shared = found.unwrap_or_else(|| Arc::new(new()));
    KNOWN.keep(&shared);
    shared
}
