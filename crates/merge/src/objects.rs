//! Objects that are no tables.

use arrowroot::{File, FileKey};
use arrowroot_file::read_range;

use crate::error::Result;
use crate::merging::{Merged, Merging, Names, Output};
use crate::rules::Rule;

/// Begins an object of the output, of which an input has the first.
pub(crate) fn begin(_input: &File, key: &FileKey, rule: Option<Rule>) -> Result<Box<dyn Merging>> {
    let _ = rule;
    Ok(Box::new(First { names: Names::of(key), n_inputs: 0, key: None }))
}

/// The object of the first input that has it, copied as it is stored.
struct First {
    names: Names,
    n_inputs: u64,
    /// That of the first input, until it is copied.
    key: Option<FileKey>,
}

impl Merging for First {
    fn read(&mut self, _input: &File, key: &FileKey) -> Result<()> {
        self.key = (self.n_inputs == 0).then(|| key.clone());
        self.n_inputs += 1;
        Ok(())
    }

    fn copy(&mut self, input: &File, output: &Output) -> Result<()> {
        let Some(FileKey { key, .. }) = self.key.take() else { return Ok(()) };
        let n_bytes = key.n_bytes.saturating_sub(key.key_bytes.into());
        let stored = read_range(input.source().as_ref(), key.seek_key + u64::from(key.key_bytes), n_bytes.into())?;
        let directory = self.names.directory_in(output)?;
        output.file.write_stored(directory, &key, &stored, output.n_processes)?;
        Ok(())
    }

    fn forget(&mut self) {
        self.n_inputs -= 1;
    }

    fn finish(self: Box<Self>, _output: &Output) -> Result<Merged> {
        let First { names, n_inputs, .. } = *self;
        let Names { path, class_name, .. } = names;
        Ok(Merged { path, class_name, rule: Rule::First.name(), n_inputs, ..Merged::default() })
    }
}
