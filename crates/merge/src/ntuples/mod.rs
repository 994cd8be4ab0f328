//! RNTuples: their pages are copied as they are, whatever their codec and encoding, and nothing of them is decompressed.
//!
//! The fields of the inputs are matched by name and type, at any depth. A field that an input encodes in another way gets a
//! further representation of its columns; each cluster has one of them, and the others are suppressed. Columns that an input
//! lacks are zeros there: pages that are stored once.
//!
//! Header, page lists and footer are written in the end, when all fields are known.

use arrowroot::{File, FileKey};
use arrowroot_file::format_error;
use arrowroot_format as format;
use arrowroot_writer::ntuple::CopiedNtuple;
use format::rntuple::{ANCHOR_CLASS, Anchor, AttributeSet};

use crate::error::{Error, Result};
use crate::merging::{Columns, Merged, Merging, Names, Origin, Output, Worker};
use crate::provenance;

mod clusters;
mod input;
mod joined;
mod numbers;
mod output;
mod packed;
mod pages;
mod recorded;
mod union;
mod zeros;

use joined::{Joined, mismatch};
pub(crate) use packed::{PackedNtuple, Pages};
use recorded::Recorded;

/// The major version of the schema of attribute sets that is known. Source: `kSchemaVersionMajor` of `RNTupleAttrUtils.hxx`
/// (ROOT 6.40).
const ATTRIBUTES_MAJOR: u16 = 1;

/// Begins an RNTuple of the output, of which an input has the first.
///
/// `is_traced`: the output says which of its entries come from which input.
pub(crate) fn begin(key: &FileKey, columns: Columns, is_traced: bool) -> Box<dyn Merging> {
    let (names, joined) = (Names::of(key), Joined::new(columns, false));
    Box::new(Ntuples { names, joined, sets: Vec::new(), recorded: Recorded::new(columns), is_traced })
}

/// An RNTuple of the output.
struct Ntuples {
    names: Names,
    joined: Joined,
    /// Its attribute sets, but for the one that records the Arrow schema.
    sets: Vec<Set>,
    recorded: Recorded,
    /// The output says which of its entries come from which input.
    is_traced: bool,
}

struct Set {
    name: String,
    version: [u16; 2],
    joined: Joined,
}

impl Merging for Ntuples {
    fn read(&mut self, input: &File, key: &FileKey, _stored: &[u8], _worker: &mut Worker) -> Result<()> {
        self.joined.keep();
        self.recorded.keep();
        self.sets.iter_mut().for_each(|set| set.joined.keep());
        let anchor = input::anchor(input, key)?;
        let path = self.names.path.clone();
        let table = self.joined.read(input, &path, anchor)?;
        let linked = table.footer.attributes.clone();
        if self.is_traced && linked.iter().any(|set| set.name == provenance::SET) {
            return Err(Error::InvalidRequest {
                what: format!(
                    "{}: {path} says already where its entries come from, in the attribute set {:?}, which is kept: ask for \
                     no provenance",
                    input.url(),
                    provenance::SET
                ),
            });
        }
        self.recorded.read(input, &path, &table.described, &linked)?;
        for linked in linked.iter().filter(|linked| linked.name != recorded::SET) {
            self.read_set(input, linked)?;
        }
        Ok(())
    }

    fn copy(&mut self, input: &File, output: &Output) -> Result<()> {
        let first_entry = self.joined.counts.n_entries;
        self.joined.copy(input, &output.file, 0)?;
        for set in &mut self.sets {
            set.joined.copy(input, &output.file, first_entry)?;
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.joined.forget();
        self.recorded.forget();
        self.sets.iter_mut().for_each(|set| set.joined.forget());
    }

    fn n_entries(&self) -> Option<u64> {
        Some(self.joined.counts.n_entries)
    }

    fn finish(self: Box<Self>, output: &Output, origins: &[Origin]) -> Result<Merged> {
        let Ntuples { names, joined, sets, recorded, .. } = *self;
        let (file, counts) = (&output.file, joined.counts);
        let mut linked = Vec::new();
        for Set { name, version, joined } in sets.into_iter().filter(|set| set.joined.counts.n_inputs > 0) {
            let anchor = output::write(joined, file, &name, Vec::new())?;
            linked.push(CopiedNtuple::new(file).link(file, &name, version, &anchor)?);
        }
        if let Some(schema) = recorded.text()? {
            linked.push(CopiedNtuple::new(file).write_arrow_schema(file, &schema, counts.n_entries)?);
        }
        linked.extend(provenance::write_set(file, origins)?);
        let anchor = output::write(joined, file, &names.name, linked)?;
        CopiedNtuple::list(file, names.directory_in(output)?, &names.name, &anchor)?;
        Ok(Merged {
            path: names.path,
            class_name: names.class_name,
            rule: "concatenate",
            n_inputs: counts.n_inputs,
            n_entries: Some(counts.n_entries),
            n_pieces: counts.n_pages,
            n_small_pieces: counts.n_small_pages,
            n_if_rebasketed: counts.n_pages,
            notes: Vec::new(),
        })
    }
}

impl Ntuples {
    fn read_set(&mut self, input: &File, linked: &AttributeSet) -> Result<()> {
        let path = format!("{}:{}", self.names.path, linked.name);
        if linked.version[0] != ATTRIBUTES_MAJOR {
            let [major, minor] = linked.version;
            return Err(mismatch(input, &path, format!("an attribute set of schema {major}.{minor}")));
        }
        let in_set = |error| format_error(input.source().as_ref(), &path, error);
        let blob = linked.anchor.blob(0).map_err(in_set)?;
        let objects = arrowroot_file::Envelopes::read(input, &path, &[blob])?;
        let anchor = Anchor::parse(objects.at(0), ANCHOR_CLASS);
        let anchor = anchor.map_err(|error| in_set(error.placed(blob.envelope_place())))?;
        let index = match self.sets.iter().position(|set| set.name == linked.name) {
            Some(index) => index,
            None => {
                let joined = Joined::new(Columns::Union, true);
                self.sets.push(Set { name: linked.name.clone(), version: linked.version, joined });
                self.sets.len() - 1
            }
        };
        self.sets[index].joined.read(input, &path, anchor)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
