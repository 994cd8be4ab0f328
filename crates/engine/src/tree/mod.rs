//! A tree in a file, and what is known of its branches before anything is read of them.

mod basket;
mod builder;
mod compact;
mod counts;
mod cycles;
mod head;
mod hidden;
mod nested;
mod parts;
mod pass;
mod place;
mod plan;
mod sample;
mod schemas;
mod table;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use ahash::{HashMap, HashMapExt};
use arrow_schema::Field;
use arrowroot_arrow::{ArrowTypes, TextForm, arrow_type_for_text};
use arrowroot_file::{Answers, Error, File, FileKey, KeyedObject, Result, format_error, nearest, permanent};
use arrowroot_format as format;
use format::column::Column;
use format::tree::{BasketHead, Branch, BranchId, TreeRecord, TreeSchema};
use format::{Place, Within};

use crate::memory::Block;
use crate::scan::Piece;
use crate::table::{ColumnTypes, MAX_TYPE_BYTES, Table};
use sample::{Compiled, Needs, compile_branch};
pub use schemas::{SchemaCounts, schema_counts};
use schemas::{SharedColumns, SharedTree, SharedTypes};

/// Members of all columns that are read together, each time that they occur: as many as memory is taken for where a schema
/// leaves the process, which is about 1 kB for each. A tree of many branches has a long record, and may have more.
const MAX_FIELDS: usize = 50_000;
const BYTES_OF_FIELD: usize = 16;
/// Bytes of the record for a field as they are stored: what compresses too well is made to harm.
const STORED_BYTES_OF_FIELD: usize = 50;
/// Fields of a column that its own branch stands for, and the bytes of the record for each of them as they are stored: a table of
/// any number of columns has so many.
const FIELDS_OF_BRANCH: usize = 4;
const STORED_BYTES_OF_OWN_FIELD: usize = 8;
/// Bytes of the record for each cluster: of the baskets that it begins.
const BYTES_OF_CLUSTER: usize = 8;
/// Clusters that any tree may have, and more that none may have: beyond, what its record says of them is not true.
const MIN_CLUSTERS: usize = 10_000;
/// Clusters that a tree may have before listing them is left to its baskets.
const MAX_CLUSTERS: usize = 4_000_000;

/// A tree. Cheap to clone.
#[derive(Clone)]
pub struct Tree {
    inner: Arc<Inner>,
}

struct Inner {
    file: File,
    key: FileKey,
    path: String,
    class_name: String,
    record: TreeRecord,
    object_data: ObjectData,
    /// Findings about the branches of all trees of this schema: a read that failed tells nothing, and is tried again.
    shared: Arc<SharedTree>,
    /// The same of branches for which the class descriptions of the file were needed.
    described: OnceLock<Arc<SharedColumns>>,
    /// The same of branches of which entries or baskets of this tree have told something.
    own: OnceLock<Vec<OnceLock<format::Result<Column>>>>,
    /// Where baskets tell them, and not the record.
    clusters: OnceLock<Vec<u64>>,
}

/// The bytes that a key holds: those of the tree, or of the object that it is inside of.
enum ObjectData {
    Own(Block),
    Shared(Arc<Vec<u8>>),
    /// Nothing, as the record knows its baskets without them. There were so many.
    Released(usize),
}

impl ObjectData {
    /// Their number.
    fn n_bytes(&self) -> usize {
        match self {
            ObjectData::Released(n_bytes) => *n_bytes,
            held => held.len(),
        }
    }
}

impl std::ops::Deref for ObjectData {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            ObjectData::Own(block) => block,
            ObjectData::Shared(bytes) => bytes,
            ObjectData::Released(_) => &[],
        }
    }
}

/// Names by which branches are found.
pub(crate) struct Paths {
    by_branch: Vec<Arc<str>>,
    by_path: HashMap<Arc<str>, BranchId>,
}

/// Branches by their name alone; `None` if several have it.
pub(crate) type ByName = HashMap<String, Option<BranchId>>;

/// The first of `path;2`, `path;3`, ... that no branch has. `n_before`: where to go on counting.
fn numbered(path: &str, taken: &HashMap<Arc<str>, BranchId>, n_before: &mut u32) -> Arc<str> {
    loop {
        *n_before = n_before.saturating_add(1);
        let numbered = format!("{path};{n_before}");
        if !taken.contains_key(numbered.as_str()) {
            return numbered.into();
        }
    }
}

impl Tree {
    /// Opens the tree of a key, and no other cycle of it.
    pub(crate) fn at(file: &File, file_key: &FileKey) -> Result<Tree> {
        let key = &file_key.key;
        let path = file_key.path();
        if !file.is_tree_class(&key.class_name)? {
            let error = format::Error::unsupported(0, format!("a {} is not a tree", key.class_name));
            return Err(format_error(file.source().as_ref(), &path, error.at(key.seek_key)));
        }
        let object_data = file.read_metadata_into(key, Block::new)?;
        let class_name = key.class_name.clone();
        Self::parse(file, file_key, path, class_name, 0..object_data.len(), ObjectData::Own(object_data))
    }

    /// The tree of that number inside of the object of a key.
    ///
    /// # Errors
    /// [`Error::Format`] if it cannot be read.
    pub fn inside(object: &KeyedObject, number: u32) -> Result<Tree> {
        let key = object.key();
        let unreachable = || {
            let error = format::Error::unsupported(0, "a tree too deep in other objects, or none");
            format_error(object.file().source().as_ref(), &key.path(), error.placed(key.key.object_place()))
        };
        let found = object.graph().objects.get(&number).ok_or_else(unreachable)?;
        let path = object.path_of_tree(number).ok_or_else(unreachable)?;
        let object_data = ObjectData::Shared(Arc::clone(object.data()));
        Self::parse(object.file(), key, path, found.class.clone(), found.range.clone(), object_data)
    }

    /// Parses the tree that takes a range of the object data of a key.
    fn parse(
        file: &File,
        key: &FileKey,
        path: String,
        class_name: String,
        range: Range<usize>,
        object_data: ObjectData,
    ) -> Result<Tree> {
        let answers = Answers::default();
        let infos = || answers.give(file.streamer_infos()).within(|| "streamer info");
        let bytes = object_data.get(..range.end).unwrap_or_default();
        let expected = schemas::expected(&path);
        let known = expected.as_ref().map(|shared| &shared.schema);
        let key_bytes = usize::from(key.key.key_bytes);
        let parsed = TreeRecord::parse_learning(known, range.start, bytes, &class_name, key_bytes, &infos)
            .map_err(|error| error.placed(key.key.object_place()));
        let parsed = answers.settle(parsed)?.map_err(|error| format_error(file.source().as_ref(), &path, error))?;
        let (record, learned) = parsed;
        let shared = schemas::shared(&record, learned, &path, bytes.len(), expected);
        let inner = Inner {
            file: file.clone(),
            key: key.clone(),
            path,
            class_name,
            record,
            object_data,
            shared,
            described: OnceLock::new(),
            own: OnceLock::new(),
            clusters: OnceLock::new(),
        };
        Ok(Tree { inner: Arc::new(inner) })
    }

    /// The key that it was opened by: its own, or that of the object around it.
    pub fn key(&self) -> &FileKey {
        &self.inner.key
    }

    /// What the record of the tree says.
    pub fn record(&self) -> &TreeRecord {
        &self.inner.record
    }

    /// The part that it has in common with other trees of its kind.
    pub(crate) fn schema(&self) -> &TreeSchema {
        &self.inner.shared.schema
    }

    /// The part that trees of its schema share.
    pub(crate) fn shared(&self) -> &SharedTree {
        &self.inner.shared
    }

    pub(crate) fn object_data(&self) -> &[u8] {
        &self.inner.object_data
    }

    /// All branches, depth first, with their depth; groups before what is in them.
    pub fn walk(&self) -> Vec<(BranchId, usize)> {
        let record = &self.inner.record;
        let mut order = Vec::with_capacity(record.branches.len());
        let mut stack: Vec<(BranchId, usize)> = record.top_branches.iter().rev().map(|&id| (id, 0)).collect();
        while let Some((id, depth)) = stack.pop() {
            order.push((id, depth));
            stack.extend(record.branch(id).branches.iter().rev().map(|&inner| (inner, depth + 1)));
        }
        order
    }

    /// A branch.
    pub fn branch(&self, id: BranchId) -> &Branch {
        self.inner.record.branch(id)
    }

    /// Path of a branch: its name after those of the branches around it, with slashes between. Where several have the
    /// same, the second and later ones have `;2` and so on behind it, so that each can be told from the others.
    pub fn branch_path(&self, id: BranchId) -> &str {
        &self.paths().by_branch[id.0 as usize]
    }

    fn paths(&self) -> &Paths {
        self.inner.shared.paths.get_or_init(|| {
            let n_branches = self.inner.record.branches.len();
            let mut by_branch: Vec<Arc<str>> = vec![Arc::from(""); n_branches];
            let mut by_path = HashMap::with_capacity(n_branches);
            let mut repeats = HashMap::new();
            for (id, _) in self.walk() {
                let branch = self.branch(id);
                let mut path: Arc<str> = match branch.parent.map(|parent| &by_branch[parent.0 as usize]) {
                    Some(group) if !group.is_empty() => format!("{group}/{}", branch.name).into(),
                    _ => branch.name.as_str().into(),
                };
                if let Some(first) = by_path.insert(Arc::clone(&path), id) {
                    by_path.insert(Arc::clone(&path), first);
                    path = numbered(&path, &by_path, repeats.entry(path.clone()).or_insert(1));
                    by_path.insert(Arc::clone(&path), id);
                }
                by_branch[id.0 as usize] = path;
            }
            Paths { by_branch, by_path }
        })
    }

    fn by_name(&self) -> &ByName {
        self.inner.shared.by_name.get_or_init(|| {
            let mut by_name = ByName::new();
            for (id, _) in self.walk() {
                by_name.entry(self.branch(id).name.clone()).and_modify(|found| *found = None).or_insert(Some(id));
            }
            by_name
        })
    }

    /// Finds a branch by its path, or by its name alone if only one branch has it.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the nearest names; [`Error::InvalidRequest`] if several branches have the name.
    pub fn find(&self, name: &str) -> Result<BranchId> {
        if let Some(id) = self.found(name) {
            return Ok(id);
        }
        if self.by_name().contains_key(name) {
            return Err(Error::InvalidRequest {
                what: format!("several branches of {:?} are called {name:?}: give the path", self.inner.record.name),
            });
        }
        Err(Error::NotFound {
            url: self.file().url().to_owned(),
            kind: "branch",
            name: name.to_owned(),
            near: nearest(name, self.paths().by_branch.iter().map(|path| path.as_ref())),
        })
    }

    /// As [`Tree::find`]; `None` if no branch or several have the name.
    pub fn found(&self, name: &str) -> Option<BranchId> {
        self.paths().by_path.get(name).copied().or_else(|| *self.by_name().get(name)?)
    }

    /// What a branch holds; compiled when first asked for.
    ///
    /// # Errors
    /// [`Error::Format`] if it is not readable, with its type; [`Error::Storage`] if what tells cannot be read now.
    pub fn column(&self, id: BranchId) -> Result<&Column> {
        let known = match self.known(id) {
            Some(known) => known,
            None => self.compiled(id)?,
        };
        known.as_ref().map_err(|error| self.in_branch(id, error.clone()))
    }

    /// The findings about a branch so far, without work.
    fn known(&self, id: BranchId) -> Option<&format::Result<Column>> {
        let own = self.inner.own.get().and_then(|own| own[id.0 as usize].get());
        let branch = self.branch(id);
        own.or_else(|| {
            let shared = self.inner.shared.plain.get(id).or_else(|| self.inner.described.get()?.get(id))?;
            // What cannot be read may be nothing here, and baskets may be in another file.
            (branch.file_name.is_empty() && (shared.is_ok() || !branch.is_empty())).then_some(shared)
        })
    }

    /// Compiles what a branch holds, and keeps it for this tree or all of its schema.
    fn compiled(&self, id: BranchId) -> Result<&format::Result<Column>> {
        if self.inner.shared.column_needs_infos(id) && self.inner.described.get().is_none() {
            // Other files of the same class descriptions have compiled it perhaps.
            self.described()?;
            if let Some(known) = self.known(id) {
                return Ok(known);
            }
        }
        let Compiled { column, needs } = self.compiled_here(id)?;
        let shared = match needs {
            Needs::Schema => Some(&self.inner.shared.plain),
            Needs::Infos => self.described()?,
            Needs::Data => None,
        };
        match (column, shared) {
            (Err(error), _) if error.is_doubtful() => Ok(self.keep(id, self.compiled_elsewhere(id, error)?)),
            (column, Some(shared)) if shared.has_room(&column) => Ok(shared.keep(id, column)),
            (column, _) => Ok(self.keep(id, column)),
        }
    }

    /// Keeps a column for this tree alone.
    fn keep(&self, id: BranchId, column: format::Result<Column>) -> &format::Result<Column> {
        let own = || self.inner.record.branches.iter().map(|_| OnceLock::new()).collect();
        self.inner.own.get_or_init(own)[id.0 as usize].get_or_init(|| column) // another thread may have found the same
    }

    /// The columns of this schema by the class descriptions of this file; `None` if these cannot be read.
    fn described(&self) -> Result<Option<&SharedColumns>> {
        if self.inner.described.get().is_none()
            && let Ok(infos) = permanent(self.file().shared_infos())?
        {
            self.inner.described.get_or_init(|| self.inner.shared.described(infos));
        }
        Ok(self.inner.described.get().map(|columns| &**columns))
    }

    /// The Arrow types of the columns that can be read, in the order of [`Tree::walk`].
    fn types(&self) -> Result<Arc<ColumnTypes>> {
        let shared = &self.inner.shared;
        let known = match shared.plain.types.get() {
            None if shared.needs_infos() => self.described()?.and_then(|described| described.types.get()),
            known => known,
        };
        if let Some(known) = known.filter(|known| !known.unreadable.iter().any(|&id| self.branch(id).is_empty())) {
            return Ok(Arc::clone(&known.types));
        }
        let mut found = SharedTypes::default();
        let mut types = ColumnTypes::new();
        for (id, _) in self.walk() {
            match permanent(self.column(id))? {
                Ok(column) => types.extend(column.data_type().map(|data_type| {
                    (self.branch_path(id).into(), arrow_type_for_text(&data_type, TextForm::Utf8, MAX_TYPE_BYTES))
                })),
                Err(_) => found.unreadable.push(id),
            }
        }
        found.types = Arc::new(types);
        let types = Arc::clone(&found.types);
        if self.inner.own.get().is_none() {
            let columns = self.inner.described.get().map_or(&shared.plain, |described| described);
            columns.types.get_or_init(|| found);
        }
        Ok(types)
    }

    fn compiled_here(&self, id: BranchId) -> Result<Compiled> {
        let branch = self.branch(id);
        let compiled = compile_branch(self, id)?;
        schemas::N_COMPILED.fetch_add(1, Ordering::Relaxed);
        let column = match compiled.column {
            // Whatever it is, there is none of it.
            Err(format::Error::Unsupported(_)) if branch.is_empty() => Ok(Column::of_nothing(branch)),
            column if branch.file_name.is_empty() => return Ok(Compiled { column, ..compiled }),
            // Baskets that are in the tree's record are here whatever file the branch names (TBranch::SetFile).
            column if self.baskets(id)?.iter().all(|basket| basket.embedded.is_some()) => column,
            column => column.and_then(|column| {
                let (name, type_name, file) = (&branch.name, &column.type_name, &branch.file_name);
                let what = format!("branch {name:?} of type {type_name} has its baskets in another file, {file:?}");
                Err(format::Error::unsupported(0, what))
            }),
        };
        Ok(Compiled { column, needs: Needs::Data })
    }

    /// What another replica says that a branch holds, as this one's bytes are wrong.
    fn compiled_elsewhere(&self, id: BranchId, error: format::Error) -> Result<format::Result<Column>> {
        let around = self.key().path();
        let inner = self.path().get(around.len()..).unwrap_or_default();
        let path = format!("{around};{}{inner}", self.key().key.cycle);
        permanent(self.file().elsewhere(self.branch_path(id), self.in_branch(id, error), |twin| {
            let tree = Tree::of_replica(twin, &path)?;
            if tree.inner.record.branches.len() != self.inner.record.branches.len() {
                let what = format!("{} branches, where another replica has others", tree.inner.record.branches.len());
                return Err(self.in_branch(id, format::Error::corrupt(0, what)));
            }
            tree.compiled_here(id)?.column.map_err(|error| tree.in_branch(id, error))
        }))
    }

    /// Names file and branch in a format error.
    fn in_branch(&self, id: BranchId, error: format::Error) -> Error {
        format_error(self.file().source().as_ref(), self.branch_path(id), error)
    }

    /// The C++ type of a branch or group; empty if it cannot be read.
    pub(crate) fn type_name(&self, id: BranchId) -> Result<&str> {
        Ok(permanent(self.column(id))?.map_or("", |column| column.type_name.as_str()))
    }

    /// As [`Tree::column`]; a group is an error too.
    pub(crate) fn readable_column(&self, id: BranchId) -> Result<&Column> {
        let column = self.column(id)?;
        if column.form.is_some() {
            return Ok(column);
        }
        let kind = if column.type_name.is_empty() { "a group" } else { column.type_name.as_str() };
        let what = format!("branch {:?} is {kind} of other branches: read those", self.branch(id).name);
        Err(self.in_branch(id, format::Error::unsupported(0, what)))
    }

    /// The columns that can be read, in the order of the file.
    ///
    /// # Errors
    /// [`Error::Storage`] if what tells of one cannot be read now.
    pub fn readable(&self) -> Result<Vec<BranchId>> {
        let mut readable = Vec::new();
        for (id, _) in self.walk() {
            if permanent(self.column(id))?.is_ok_and(|column| column.form.is_some()) {
                readable.push(id);
            }
        }
        Ok(readable)
    }

    /// The Arrow field of a readable branch, by a name of the caller's choice.
    ///
    /// # Errors
    /// [`Error::Format`] if it cannot be read.
    pub fn field(&self, id: BranchId, name: &str, text: TextForm) -> Result<Field> {
        self.field_among(id, name, &mut ArrowTypes::new(text))
    }

    /// The same of one of several columns, which share what they have in common.
    ///
    /// # Errors
    /// As [`Tree::field`], and [`Error::InvalidRequest`] if they have too many members together.
    pub(crate) fn field_among(&self, id: BranchId, name: &str, types: &mut ArrowTypes) -> Result<Field> {
        let column = self.readable_column(id)?;
        let field = match column.data_type() {
            Some(data_type) => types.arrow_field(name, &data_type),
            None => Field::new(name, arrow_schema::DataType::Null, true),
        };
        // What is kept to read a column takes as much as its field.
        types.n_fields = types.n_fields.saturating_add(1);
        if types.n_fields > self.max_fields() {
            let what = format!(
                "columns up to {name:?} with {} members in all their members: read fewer columns at once",
                types.n_fields
            );
            return Err(Error::InvalidRequest { what });
        }
        Ok(field)
    }

    fn max_fields(&self) -> usize {
        let key = &self.key().key;
        let stored_bytes = (key.n_bytes as usize).saturating_sub(key.key_bytes.into());
        let members = (self.inner.object_data.n_bytes() / BYTES_OF_FIELD).min(stored_bytes / STORED_BYTES_OF_FIELD);
        let own = (self.inner.record.branches.len() * FIELDS_OF_BRANCH).min(stored_bytes / STORED_BYTES_OF_OWN_FIELD);
        MAX_FIELDS + members + own
    }

    /// The baskets of a branch.
    ///
    /// # Errors
    /// [`Error::Format`] if the metadata contradict themselves.
    pub fn baskets(&self, id: BranchId) -> Result<Vec<Piece>> {
        let branch = self.branch(id);
        let place = self.key().key.object_place();
        let baskets = branch.baskets(&self.inner.object_data);
        let baskets = baskets.map_err(|error| self.in_branch(id, error.placed(place)))?;
        Ok(baskets.into_iter().map(Piece::from).collect())
    }

    /// Where a basket begins, for errors: its record, or its data if that is the tree's.
    pub(crate) fn basket_place(&self, branch: BranchId, location: &Piece) -> Place {
        match location.embedded.and_then(|index| self.branch(branch).embedded.get(index)) {
            Some(embedded) => self.key().key.object_place().plus(embedded.data.start as u64),
            None => Place::File(location.offset),
        }
    }

    /// Where the uncompressed payload of a basket begins, for errors.
    pub(crate) fn payload_place(&self, branch: BranchId, location: &Piece, head: &BasketHead) -> Place {
        match location.embedded {
            Some(_) => self.basket_place(branch, location),
            None => head.payload_place(location.offset),
        }
    }

    /// First entries of the clusters, and the number of entries.
    ///
    /// Where the tree does not record them, they are the entries at which all of the branches begin a basket.
    pub fn cluster_starts(&self) -> Cow<'_, [u64]> {
        let recorded = self.inner.record.clusters(self.max_clusters());
        if !recorded.is_empty() {
            return recorded.into();
        }
        self.inner.clusters.get_or_init(|| self.common_starts()).into()
    }

    fn max_clusters(&self) -> usize {
        (MIN_CLUSTERS + self.inner.object_data.n_bytes() / BYTES_OF_CLUSTER).min(MAX_CLUSTERS)
    }

    /// Entries at which all branches begin a basket, and the number of entries.
    fn common_starts(&self) -> Vec<u64> {
        let mut common: Option<Vec<u64>> = None;
        for (id, _) in self.walk() {
            if common.as_ref().is_some_and(|common| common.iter().all(|&start| start == 0)) {
                break; // the others have none in common with these
            }
            let Ok(baskets) = self.baskets(id) else { continue };
            if baskets.is_empty() {
                continue;
            }
            let starts = baskets.iter().map(|basket| basket.first_entry);
            common = Some(match common {
                None => starts.collect(),
                Some(before) => {
                    let starts: Vec<u64> = starts.collect();
                    before.into_iter().filter(|start| starts.binary_search(start).is_ok()).collect()
                }
            });
        }
        let mut boundaries = common.unwrap_or_default();
        boundaries.retain(|&start| start < self.n_entries());
        if boundaries.first() != Some(&0) {
            boundaries.insert(0, 0);
        }
        boundaries.push(self.n_entries());
        boundaries.dedup();
        boundaries
    }
}
