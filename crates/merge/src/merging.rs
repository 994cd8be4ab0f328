//! One object of the output while inputs come.

use std::sync::Arc;

use arrowroot::{File, FileKey};
use arrowroot_writer::{DirectoryId, FileWriter};

use crate::error::{Error, Result};
pub use crate::frames::RowsByTree;
pub use crate::objects::worker::Worker;
pub use crate::provenance::Origin;

/// Which columns a tree or an RNTuple of the output has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Columns {
    /// All inputs have the same, in any order.
    #[default]
    Strict,
    /// The columns of all inputs; where one has no such column, its entries have a default.
    Union,
    /// The columns of the first input: others are left out; where one has no such column, its entries have a default.
    First,
}

/// Where an object is written to.
#[derive(Debug)]
pub struct Output {
    /// The file.
    pub file: Arc<FileWriter>,
    /// Process identifiers (`TProcessID`) that the file has of inputs before this one: added to the indices of those in it.
    pub n_processes: u16,
}

/// The outcome of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Merged {
    /// Path in the output.
    pub path: String,
    /// Class.
    pub class_name: String,
    /// Name of the rule.
    pub rule: &'static str,
    /// Inputs that had it.
    pub n_inputs: u64,
    /// Its entries, if it is a tree or an RNTuple.
    pub n_entries: Option<u64>,
    /// Its baskets or pages, and how many of them are smaller than 4 kB as they are stored.
    pub n_pieces: u64,
    /// See `n_pieces`.
    pub n_small_pieces: u64,
    /// How many pieces there would be, about, if small ones were put together.
    pub n_if_rebasketed: u64,
    /// Remarks: parts that were left out, or are not as in the inputs.
    pub notes: Vec<String>,
}

/// An object of the output, to which those of the inputs are joined one after another.
///
/// For each input that has it, [`read`](Merging::read) is called, then either [`copy`](Merging::copy) or, if anything of that
/// input is at fault, [`forget`](Merging::forget). Of a tree or an RNTuple that may come after `copy`, too; of others it does
/// not, as their `copy` reads nothing.
pub trait Merging: Send {
    /// True if [`read`](Merging::read) needs what is stored behind the key; tables read for themselves.
    fn needs_object(&self) -> bool {
        false
    }

    /// Reads what an input has of it, and checks that it can be joined. Nothing is written.
    ///
    /// `stored`: what is behind the key, if it needs that. Those that do are read by several threads.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::Unsupported`], and errors of reading.
    fn read(&mut self, input: &File, key: &FileKey, stored: &[u8], worker: &mut Worker) -> Result<()>;

    /// The entries of what was read last, if it is a tree.
    fn n_read(&self) -> Option<u64> {
        None
    }

    /// Has what was read last number rows of other trees, and of its own, as they are in the output.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if it has rows of a tree that is not there.
    fn number(&mut self, _input: &File, _tables: &RowsByTree) -> Result<()> {
        Ok(())
    }

    /// Joins what was read last.
    ///
    /// # Errors
    /// Errors of reading and writing.
    fn copy(&mut self, input: &File, output: &Output) -> Result<()>;

    /// Forgets what was read last, and what was joined of it.
    fn forget(&mut self);

    /// Its entries so far, if it is a tree or an RNTuple.
    fn n_entries(&self) -> Option<u64> {
        None
    }

    /// Bytes that it holds back to write them with those of inputs to come, about as many as they will be in the file.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// Makes of what is joined the bytes that [`finish`](Merging::finish) writes, in one of several threads.
    ///
    /// # Errors
    /// Errors of writing.
    fn pack(&mut self, _output: &Output, _worker: &mut Worker) -> Result<()> {
        Ok(())
    }

    /// Writes what the output lacks of it. `origins`: of the entries of a tree or an RNTuple, if they are wanted.
    ///
    /// # Errors
    /// Errors of writing.
    fn finish(self: Box<Self>, output: &Output, origins: &[Origin]) -> Result<Merged>;
}

/// The names of an object that all inputs have: path, directory and name.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) path: String,
    /// Path of its directory, empty or with a slash behind each name.
    pub(crate) directory: String,
    pub(crate) name: String,
    pub(crate) class_name: String,
}

impl Names {
    pub(crate) fn of(key: &FileKey) -> Names {
        Names {
            path: key.path(),
            directory: key.directory.clone(),
            name: key.key.name.clone(),
            class_name: key.key.class_name.clone(),
        }
    }

    /// The names of an object of a class that gets a path.
    pub(crate) fn at(path: &str, class_name: &str) -> Names {
        let (directory, name) =
            path.rsplit_once('/').map_or(("", path), |(_, name)| path.split_at(path.len() - name.len()));
        Names {
            path: path.to_owned(),
            directory: directory.to_owned(),
            name: name.to_owned(),
            class_name: class_name.to_owned(),
        }
    }

    /// Its directory in the output, made if it is not there.
    pub(crate) fn directory_in(&self, output: &Output) -> Result<DirectoryId> {
        Ok(output.file.directory(&self.directory)?)
    }

    pub(crate) fn mismatch(&self, input: &File, what: impl Into<String>) -> Error {
        Error::Mismatch { url: input.url().to_owned(), path: self.path.clone(), what: what.into() }
    }

    pub(crate) fn unsupported(&self, input: &File, what: impl Into<String>) -> Error {
        Error::Unsupported { url: input.url().to_owned(), path: self.path.clone(), what: what.into() }
    }
}
