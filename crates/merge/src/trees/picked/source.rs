//! A tree of an input of which entries are taken.

use std::ops::Range;

use ahash::HashSet;
use arrow_schema::DataType as ArrowType;
use arrowroot::format::Output as Bytes;
use arrowroot::format::tree::{BasketLocation, Branch, BranchId, LeafKind, TreeRecord};
use arrowroot::{ColumnId, MAX_TYPE_BYTES, Physical, Table};

use super::super::copy::{self, Copying, Job};
use super::super::rebasket::target_bytes;
use super::super::schema::Mapping;
use crate::merging::Columns;
use crate::span::PackedSpan;

/// A tree of an input, of chosen branches.
pub(crate) struct InputTree {
    pub(crate) record: TreeRecord,
    /// The baskets of each branch, in the order of its entries.
    pub(crate) baskets: Vec<Vec<BasketLocation>>,
    /// First entries of clusters, and the end.
    pub(crate) clusters: Vec<u64>,
    /// The index of each branch in the output.
    pub(crate) to: Vec<usize>,
    /// True of branches whose entries may have pointers in them.
    pub(crate) have_pointers: Vec<bool>,
    /// Names of branches that it does not have here.
    pub(crate) dropped: HashSet<String>,
}

impl InputTree {
    /// A tree with some of its branches, or why its entries cannot be copied as their bytes are: empty if columns as they are read
    /// would become the same branches.
    ///
    /// # Errors
    /// If metadata cannot be read, or there are no such branches.
    pub(crate) fn of(table: &dyn Table, paths: &[String]) -> arrowroot::Result<Result<InputTree, String>> {
        let Physical::Tree { record, object_data } = table.physical()? else {
            return Ok(Err(String::new()));
        };
        if record.user_info.iter().any(|info| info.name == arrowroot_writer::SCHEMA_RECORD) {
            return Ok(Err(String::new()));
        }
        let is_of_columns = |record: &TreeRecord| record.branches.iter().all(|branch| is_column(record, branch));
        // Most trees have nothing else.
        if is_of_columns(record) {
            return Ok(Err(String::new()));
        }
        let wanted = paths.iter().map(|path| table.find(path).map(|id| BranchId(id.0)));
        let wanted = wanted.collect::<arrowroot::Result<Vec<_>>>()?;
        let (whole, mut record) = (record, record.clone());
        let ids = record.keep(&wanted);
        if is_of_columns(&record) {
            return Ok(Err(String::new()));
        }
        let kept = (0..).zip(&ids).filter(|(_, kept)| kept.is_some()).map(|(id, _)| ColumnId(id));
        let have_pointers = kept.zip(&record.branches).map(|(id, branch)| {
            // Numbers, texts and lists of these have none, and are read by where entries begin alone.
            Ok(target_bytes(&record, branch).is_none()
                && !table.arrow_type(id, MAX_TYPE_BYTES)?.is_some_and(|t| is_plain(&t)))
        });
        let have_pointers = have_pointers.collect::<arrowroot::Result<Vec<_>>>()?;
        let clusters = table.clusters()?;
        // Members of objects have the names of others, but those of the kept ones are there.
        let names = |record: &TreeRecord| -> HashSet<String> {
            record.branches.iter().map(|branch| branch.name.trim_end_matches('.').to_owned()).collect()
        };
        let dropped = names(whole).difference(&names(&record)).cloned().collect();
        Ok(baskets_of(&record, object_data).map(|baskets| {
            let to = (0..record.branches.len()).collect();
            InputTree { record, baskets, clusters, to, have_pointers, dropped }
        }))
    }

    /// Writes the record, to see that this can be done, or says why not.
    pub(crate) fn check_writable(&self, object_data: &[u8]) -> Result<(), String> {
        let mut record = self.record.clone();
        record.remove_index();
        record.references = None;
        let written = record.write(object_data, &mut Bytes::new(0));
        written.map_err(|error| format!("its record cannot be written again: {}", error.fault().what))
    }

    /// Finds the branches of the output, or says how they differ.
    pub(crate) fn map(&mut self, output: &TreeRecord) -> Result<Mapping, String> {
        let mapping = Mapping::between(&self.record, output, Columns::First)?;
        if let Some(&missing) = mapping.missing.first() {
            return Err(format!("it lacks branch {:?}, which inputs before have", output.branches[missing].name));
        }
        // What the output lacks goes nowhere: an index behind those that it has.
        self.to = mapping.branches.iter().map(|to| to.unwrap_or(usize::MAX)).collect();
        Ok(mapping)
    }

    /// The branches that have values, with their indices.
    pub(crate) fn with_baskets(&self) -> impl Iterator<Item = (usize, &[BasketLocation])> {
        let baskets = self.baskets.iter().enumerate().zip(&self.to);
        baskets
            .filter(|((_, baskets), to)| !baskets.is_empty() && **to != usize::MAX)
            .map(|((index, baskets), _)| (index, baskets.as_slice()))
    }

    /// The indices in the output of branches that hold nothing but others inside, or objects without members.
    pub(crate) fn without_baskets(&self) -> impl Iterator<Item = usize> {
        let empty = self.baskets.iter().zip(&self.to).filter(|(baskets, to)| baskets.is_empty() && **to != usize::MAX);
        empty.map(|(_, to)| *to)
    }

    /// The baskets of a cluster, if all of them have entries of this one alone, are records, and are not too small to be copied.
    pub(crate) fn whole(&self, entries: &Range<u64>) -> Option<Copying> {
        let mut copying = Copying::default();
        for (index, baskets) in self.with_baskets() {
            let first = baskets.partition_point(|basket| basket.first_entry < entries.start);
            let n_baskets = baskets[first..].partition_point(|basket| basket.first_entry < entries.end);
            let own = &baskets[first..first + n_baskets];
            let fits = own.first().is_some_and(|basket| basket.first_entry == entries.start)
                && own.last().is_some_and(|basket| basket.entry_end == entries.end)
                && own.iter().all(|basket| basket.embedded.is_none());
            if !fits {
                return None;
            }
            copying.add(own, self.to[index]);
        }
        let [n_pieces, stored_bytes] = copying.sizes();
        let is_worth_it = PackedSpan::of(entries.clone(), n_pieces, [stored_bytes, 0, 0]).is_some();
        copying.sort();
        is_worth_it.then_some(copying)
    }
}

/// True of numbers, texts, and lists of these.
fn is_plain(arrow_type: &ArrowType) -> bool {
    match arrow_type {
        ArrowType::List(item) | ArrowType::LargeList(item) | ArrowType::FixedSizeList(item, _) => {
            is_plain(item.data_type())
        }
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Boolean => true,
        other => other.is_numeric(),
    }
}

/// The baskets of all branches, or why their entries cannot be copied.
fn baskets_of(record: &TreeRecord, object_data: &[u8]) -> Result<Vec<Vec<BasketLocation>>, String> {
    let (mut found, mut jobs) = (Vec::with_capacity(record.branches.len()), Vec::new());
    for branch in &record.branches {
        let of_branch = |what: &str| format!("branch {:?}: {what}", branch.name);
        if !branch.file_name.is_empty() {
            return Err(of_branch("its baskets are in another file"));
        }
        if branch.io_features != 0 {
            return Err(of_branch("where its entries begin may follow from other branches"));
        }
        let baskets = branch.baskets(object_data).map_err(|error| error.to_string())?;
        let mut end = 0;
        for basket in &baskets {
            if basket.first_entry != end {
                return Err(of_branch(&format!("no basket has its entries {end} to {}", basket.first_entry)));
            }
            end = basket.entry_end;
            if basket.embedded.is_none() {
                jobs.push(Job::new(basket, 0, 0));
            }
        }
        if !baskets.is_empty() && end != record.n_entries {
            return Err(of_branch(&format!("{end} entries in a tree of {}", record.n_entries)));
        }
        found.push(baskets);
    }
    jobs.sort_unstable_by_key(|job| job.offset);
    match copy::overlap(&jobs) {
        Some(_) => Err("two baskets are in the same place".to_owned()),
        None => Ok(found),
    }
}

/// True if a branch is what a column of numbers, texts or lists becomes in a tree.
fn is_column(record: &TreeRecord, branch: &Branch) -> bool {
    match (&branch.element, branch.leaves.as_slice()) {
        (None, [leaf]) => matches!(record.leaf(*leaf).kind, LeafKind::Number(_) | LeafKind::Text),
        (Some(element), [_]) => {
            element.id < 0 && branch.branches.is_empty() && branch.parent.is_none() && is_list(&element.class_name)
        }
        _ => false,
    }
}

/// True of vectors of numbers, texts, or such vectors.
fn is_list(class: &str) -> bool {
    let class = class.strip_prefix("std::").unwrap_or(class);
    match class.strip_prefix("vector<").and_then(|inner| inner.strip_suffix('>')) {
        Some(inner) => is_list(inner.trim()) || !inner.contains(['<', ':', 'T']) || inner.trim() == "std::string",
        None => class == "string",
    }
}
