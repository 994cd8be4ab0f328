//! A tree whose record stays as it is, but for where its baskets are: one that has what cannot be written again.

use ahash::HashMap;
use arrowroot::File;
use arrowroot::format::codec::Compressor;
use arrowroot::format::container::Key;
use arrowroot::format::tree::TreeRecord;
use arrowroot_writer::DirectoryId;

use super::baskets::JoinedBranch;
use super::copy::Copying;
use super::place::TreePlace;
use crate::error::Result;
use crate::frames::Lowest;
use crate::merging::{Merged, Output};

/// A tree whose record stays. Baskets in the record stay there, and those in other files where they are.
pub(crate) struct KeptTree {
    key: Key,
    record: TreeRecord,
    object_data: Vec<u8>,
    copying: Copying,
    /// By branch: where its baskets were.
    offsets: Vec<Vec<u64>>,
    /// The same branches in the output.
    branches: Vec<JoinedBranch>,
    add_to_pid: u16,
}

impl KeptTree {
    /// Lists the baskets of a tree, or says why it cannot stay.
    pub(crate) fn plan(key: &Key, record: TreeRecord, object_data: Vec<u8>) -> Result<KeptTree, String> {
        let has_baskets_of_references =
            record.references.as_ref().is_some_and(|references| references.branch.n_baskets() > 0);
        if !record.has_known_parts() || has_baskets_of_references {
            return Err("it is not known where all its baskets are".to_owned());
        }
        let (mut copying, mut offsets) = (Copying::default(), Vec::with_capacity(record.branches.len()));
        for (index, branch) in record.branches.iter().enumerate() {
            let mut baskets = Vec::new();
            if branch.file_name.is_empty() {
                baskets = branch.baskets(&object_data).map_err(|error| error.to_string())?;
                if baskets.len() != branch.n_baskets() {
                    return Err(format!("branch {:?} has baskets without entries", branch.name));
                }
                baskets.retain(|basket| basket.embedded.is_none());
            }
            copying.add(&baskets, index);
            offsets.push(baskets.iter().map(|basket| basket.offset).collect());
        }
        let (copying, branches) = (copying.in_order()?, Vec::new());
        Ok(KeptTree { key: key.clone(), record, object_data, copying, offsets, branches, add_to_pid: 0 })
    }

    /// Copies the baskets.
    pub(crate) fn copy(&mut self, input: &File, place: &TreePlace<'_>) -> Result<()> {
        let KeptTree { record, object_data, copying, branches, .. } = self;
        *branches = record.branches.iter().map(|_| JoinedBranch::new(None)).collect();
        self.add_to_pid = place.add_to_pid;
        let memory = (&mut Vec::new(), &mut Lowest::default());
        copying.copy(input, place, branches, (record, object_data), record, memory)
    }

    /// Writes the record.
    pub(crate) fn finish(self, output: &Output, directory: DirectoryId) -> Result<Merged> {
        let KeptTree { key, record, mut object_data, offsets, branches, add_to_pid, .. } = self;
        for ((branch, offsets), joined) in record.branches.iter().zip(offsets).zip(&branches) {
            let moved: HashMap<u64, u64> = offsets.into_iter().zip(joined.offsets()).collect();
            branch.move_baskets(&moved, &mut object_data).map_err(arrowroot_writer::Error::from)?;
        }
        let stored = output.file.pack_again(object_data, &mut Compressor::new())?;
        output.file.write_stored(directory, &key, &stored, add_to_pid)?;
        Ok(Merged { n_inputs: 1, n_entries: Some(record.n_entries), ..Merged::default() })
    }
}
