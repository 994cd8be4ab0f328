//! Trees: their baskets are copied as they are, and their records joined to one.

mod baskets;
mod clusters;
mod copy;
mod defaults;
mod joined;
mod kept;
mod notes;
mod packed;
mod picked;
mod place;
mod rebasket;
mod schema;

use std::sync::Arc;

use arrowroot::format::Output as Bytes;
use arrowroot::format::tree::TreeRecord;
use arrowroot::{File, FileKey};
use arrowroot_file::format_error;

use crate::error::Result;
use crate::frames::RowsByTree;
use crate::merging::{Columns, Merged, Merging, Names, Origin, Output, Worker};
use crate::provenance;
use crate::rules::Rule;
use copy::Copying;
use joined::{Before, Joined, Staged};
use kept::KeptTree;
pub(crate) use packed::PackedTree;
pub(crate) use picked::{InputTree, PickedTree, Taking};
pub use picked::{Pick, Picked};
use place::TreePlace;
pub(crate) use schema::Mapping;

/// Begins a tree of the output, of which an input has the first. `stays`: there is one input, and the output takes its place.
pub(crate) fn begin(key: &FileKey, columns: Columns, rebaskets: bool, stays: bool) -> Box<dyn Merging> {
    let (names, title) = (Names::of(key), key.key.title.clone());
    Box::new(Tree { names, title, columns, rebaskets, stays, kept: None, joined: None, staged: None, before: None })
}

/// A tree of the output.
struct Tree {
    names: Names,
    title: String,
    columns: Columns,
    rebaskets: bool,
    /// True if there is one input, and the output takes its place.
    stays: bool,
    /// The tree of that input, if its record stays.
    kept: Option<KeptTree>,
    /// The tree so far; `None` before the first input.
    joined: Option<Joined>,
    /// The last input as it was read.
    staged: Option<Staged>,
    /// The joined tree before the last input, if that was copied; the inner one is `None` if there was none.
    before: Option<Option<Before>>,
}

impl Tree {
    /// Parses the record of an input's tree. Returns, too, whether it has the schema of the last one.
    fn parse(&self, input: &File, key: &FileKey) -> Result<(TreeRecord, Vec<u8>, bool)> {
        let object_data = input.read_metadata(&key.key)?;
        let known = self.joined.as_ref().map(|joined| joined.last_schema().0);
        let (class, key_bytes) = (key.key.class_name.as_str(), usize::from(key.key.key_bytes));
        let infos = input.streamer_infos()?;
        let parsed = TreeRecord::parse_known(known, 0, &object_data, class, key_bytes, &|| Ok(infos));
        let (record, is_known) = parsed.map_err(|error| {
            format_error(input.source().as_ref(), &self.names.path, error.placed(key.key.object_place()))
        })?;
        Ok((record, object_data, is_known))
    }

    /// Refuses a tree whose record cannot be written again.
    fn check_writable(&self, input: &File, key: &FileKey, record: &TreeRecord, object_data: &[u8]) -> Result<()> {
        let mut record = record.clone();
        record.remove_index();
        let written = record.write(object_data, &mut Bytes::new(key.key.key_bytes.into()));
        written.map_err(|error| {
            let what = format!("its record cannot be written again: {}", error.fault().what);
            self.names.unsupported(input, what)
        })
    }
}

impl Merging for Tree {
    fn read(&mut self, input: &File, key: &FileKey, _stored: &[u8], _worker: &mut Worker) -> Result<()> {
        (self.before, self.kept) = (None, None);
        let (record, object_data, is_known) = self.parse(input, key)?;
        if self.stays && self.joined.is_none() {
            let written = self.check_writable(input, key, &record, &object_data);
            if written.is_err() || record.branches.iter().any(|branch| !branch.file_name.is_empty()) {
                let kept = KeptTree::plan(&key.key, record, object_data);
                self.kept =
                    Some(kept.map_err(|what| written.err().unwrap_or_else(|| self.names.mismatch(input, what)))?);
                return Ok(());
            }
        }
        let mismatch = |what: String| self.names.mismatch(input, what);
        let mapping = match &self.joined {
            None => {
                self.check_writable(input, key, &record, &object_data)?;
                Arc::new(Mapping::identity(&record))
            }
            Some(joined) if is_known => Arc::clone(joined.last_schema().1),
            Some(joined) => Arc::new(Mapping::between(&record, joined.record(), self.columns).map_err(mismatch)?),
        };
        let copying = match Copying::plan(&record, &object_data, &mapping) {
            Ok(copying) => copying,
            // Its branches may differ in their entries.
            Err(what) if self.stays && self.joined.is_none() => {
                let kept = KeptTree::plan(&key.key, record, object_data);
                self.kept = Some(kept.map_err(|_| mismatch(what))?);
                return Ok(());
            }
            Err(what) => return Err(mismatch(what)),
        };
        if let Some(joined) = &self.joined {
            joined.check(&record, &mapping, &copying).map_err(mismatch)?;
        }
        self.staged = Some(Staged { record, object_data, mapping, copying });
        Ok(())
    }

    fn n_read(&self) -> Option<u64> {
        self.staged.as_ref().map(|staged| staged.record.n_entries)
    }

    fn number(&mut self, input: &File, tables: &RowsByTree) -> Result<()> {
        let Some(Staged { record, mapping, copying, .. }) = &mut self.staged else { return Ok(()) };
        for (branch, to) in record.branches.iter().zip(&mapping.branches) {
            let rows = tables.rows_of(&self.names.name, record, branch);
            let rows = rows.map_err(|what| self.names.mismatch(input, what))?;
            if let (Some(rows), Some(to)) = (rows, *to) {
                copying.shift(to, rows);
            }
        }
        let Some(joined) = &self.joined else { return Ok(()) };
        let missing = mapping.missing.iter().map(|&index| &joined.record().branches[index]);
        let added = mapping.added.iter().map(|id| record.branch(*id));
        match missing.chain(added).find(|branch| RowsByTree::numbers_rows(branch, &self.names.name)) {
            // Its default, 0, is a row.
            Some(branch) => {
                let what = format!("branch {:?} has numbers of rows, and is in some directories only", branch.name);
                Err(self.names.mismatch(input, what))
            }
            None => Ok(()),
        }
    }

    fn copy(&mut self, input: &File, output: &Output) -> Result<()> {
        if let Some(kept) = &mut self.kept {
            let directory = self.names.directory_in(output)?;
            let add_to_pid = output.n_processes;
            return kept.copy(input, &TreePlace { file: &output.file, directory, add_to_pid, tree: &self.names.name });
        }
        let Some(staged) = self.staged.take() else { return Ok(()) };
        let directory = self.names.directory_in(output)?;
        let place = TreePlace { file: &output.file, directory, add_to_pid: output.n_processes, tree: &self.names.name };
        if let Some(joined) = &mut self.joined {
            joined.put_together(&place, false)?;
        }
        self.before = Some(self.joined.as_ref().map(|joined| joined.before(&staged.mapping)));
        let joined = self.joined.get_or_insert_with(|| Joined::begin(&staged, self.rebaskets));
        joined.grow(&staged, &place)?;
        joined.copy(input, &staged, &place)?;
        joined.fill(&staged.mapping.missing, staged.record.n_entries, &place)?;
        joined.join(staged);
        Ok(())
    }

    fn forget(&mut self) {
        (self.staged, self.kept) = (None, None);
        match (self.before.take(), &mut self.joined) {
            (Some(Some(before)), Some(joined)) => joined.go_back(before),
            (Some(_), _) => self.joined = None,
            (None, _) => {}
        }
    }

    fn n_entries(&self) -> Option<u64> {
        Some(self.joined.as_ref().map_or(0, Joined::n_entries))
    }

    fn held_bytes(&self) -> u64 {
        self.joined.as_ref().map_or(0, Joined::held_bytes)
    }

    fn finish(self: Box<Self>, output: &Output, origins: &[Origin]) -> Result<Merged> {
        let Tree { names, title, joined, kept, .. } = *self;
        let mut merged = Merged::default();
        if let Some(kept) = kept {
            merged = kept.finish(output, names.directory_in(output)?)?;
        }
        if let Some(mut joined) = joined {
            let directory = names.directory_in(output)?;
            let place = TreePlace { file: &output.file, directory, add_to_pid: 0, tree: &names.name };
            joined.put_together(&place, true)?;
            merged = joined.finish(&output.file, directory, [&names.class_name, &names.name, &title])?;
        }
        provenance::write_table(output, &names, origins)?;
        Ok(Merged { path: names.path, class_name: names.class_name, rule: Rule::Concatenate.name(), ..merged })
    }
}
