//! Tables of which only that of the first input is wanted.

use arrowroot::{File, FileKey};

use crate::error::Result;
use crate::merging::{Merged, Merging, Origin, Output, Worker};
use crate::rules::Rule;

/// The table of the first input that has it; those of others are passed over, whatever they are.
pub(crate) struct FirstTable {
    table: Box<dyn Merging>,
    n_inputs: u64,
    /// True if the last input was joined.
    is_joined: bool,
}

impl FirstTable {
    /// `table`: as if all were joined.
    pub(crate) fn new(table: Box<dyn Merging>) -> FirstTable {
        FirstTable { table, n_inputs: 0, is_joined: false }
    }
}

impl Merging for FirstTable {
    fn read(&mut self, input: &File, key: &FileKey, stored: &[u8], worker: &mut Worker) -> Result<()> {
        self.is_joined = false;
        if self.n_inputs == 0 { self.table.read(input, key, stored, worker) } else { Ok(()) }
    }

    fn copy(&mut self, input: &File, output: &Output) -> Result<()> {
        if self.n_inputs == 0 {
            self.table.copy(input, output)?;
        }
        self.n_inputs += 1;
        self.is_joined = true;
        Ok(())
    }

    fn forget(&mut self) {
        self.n_inputs -= u64::from(std::mem::take(&mut self.is_joined));
        if self.n_inputs == 0 {
            self.table.forget();
        }
    }

    fn n_entries(&self) -> Option<u64> {
        self.table.n_entries()
    }

    fn held_bytes(&self) -> u64 {
        self.table.held_bytes()
    }

    fn finish(self: Box<Self>, output: &Output, origins: &[Origin]) -> Result<Merged> {
        let merged = self.table.finish(output, origins)?;
        Ok(Merged { rule: Rule::First.name(), n_inputs: self.n_inputs, ..merged })
    }
}
