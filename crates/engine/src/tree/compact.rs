//! A tree of which little is in memory until it is read.

use std::sync::{Arc, OnceLock};

use arrowroot_file::{File, FileKey};
use arrowroot_format::tree::CompactRecord;

use super::schemas::{SharedColumns, SharedTree};
use super::{Inner, ObjectData, Tree};
use crate::table::{Compact, Table};

/// A tree as one of many files in a row keeps it: its numbers, and what trees of its schema share.
pub(super) struct CompactTree {
    file: File,
    key: FileKey,
    path: String,
    class_name: String,
    record: CompactRecord,
    n_object_bytes: usize,
    shared: Arc<SharedTree>,
    described: OnceLock<Arc<SharedColumns>>,
    clusters: OnceLock<Vec<u64>>,
}

impl CompactTree {
    /// That of a tree; `None` if its record is wanted whole ([`CompactRecord::of`]).
    pub(super) fn of(tree: &Tree) -> Option<CompactTree> {
        let Inner { file, key, path, class_name, record, object_data, shared, described, clusters, .. } =
            tree.inner.as_ref();
        Some(CompactTree {
            record: CompactRecord::of(record, shared.known(), object_data)?,
            n_object_bytes: object_data.n_bytes(),
            file: file.clone(),
            key: key.clone(),
            path: path.clone(),
            class_name: class_name.clone(),
            shared: Arc::clone(shared),
            described: described.clone(),
            clusters: clusters.clone(),
        })
    }
}

impl Compact for CompactTree {
    fn table(&self) -> Arc<dyn Table> {
        let inner = Inner {
            file: self.file.clone(),
            key: self.key.clone(),
            path: self.path.clone(),
            class_name: self.class_name.clone(),
            record: self.record.record(self.shared.known()),
            object_data: ObjectData::Released(self.n_object_bytes),
            shared: Arc::clone(&self.shared),
            described: self.described.clone(),
            own: OnceLock::new(),
            clusters: self.clusters.clone(),
        };
        Arc::new(Tree { inner: Arc::new(inner) })
    }

    fn n_bytes(&self) -> usize {
        let texts = 2 * self.path.len() + self.class_name.len();
        size_of::<CompactTree>() + texts + self.record.n_bytes() + 8 * self.clusters.get().map_or(0, Vec::len)
    }
}
