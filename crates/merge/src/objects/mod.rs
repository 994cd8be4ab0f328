//! Objects that are no tables.

mod add;
mod categories;
mod classes;
mod graph;
mod held;
mod layout;
mod means;
mod numbers;
mod references;
mod room;
mod sparse;
mod walk;
pub(crate) mod worker;

use arrowroot::format::codec::{Compressor, Decompressor};
use arrowroot::format::container::Key;
use arrowroot::{File, FileKey};

use crate::error::Result;
use crate::merging::{Merged, Merging, Names, Origin, Output};
use crate::rules::Rule;
use classes::{is_added, is_graph, is_list, is_merged_by_root, is_sparse};
use layout::Layouts;
use worker::Worker;

/// Begins an object of the output, of which an input has the first. `repacks`: it gets the codec of the output where it is copied.
pub(crate) fn begin(input: &File, key: &FileKey, rule: Option<Rule>, repacks: bool) -> Result<Box<dyn Merging>> {
    let class = key.key.class_name.as_str();
    let names = Names::of(key);
    match rule {
        None | Some(Rule::Add) if is_added(class) || is_list(class) => Ok(add::begin(key)),
        None | Some(Rule::Add) if is_sparse(class) => Ok(sparse::begin(key)),
        None | Some(Rule::Concatenate) if is_graph(class) => Ok(graph::begin(key)),
        Some(rule @ (Rule::Add | Rule::Concatenate)) => Err(names.unsupported(
            input,
            format!("a {class}: {} is not known of it; rules are first, unique, all, drop", rule.name()),
        )),
        None if is_merged_by_root(class, input.streamer_infos()?) => {
            Err(names.unsupported(input, format!("a {class} is not merged yet: the rules first, all or drop take it")))
        }
        _ => {
            let rule = rule.unwrap_or(Rule::First);
            Ok(Box::new(Stored { names, rule, repacks, n_inputs: 0, staged: None, object: None }))
        }
    }
}

/// See [`room::enlarged`]; `None` if it is not known what is in the object.
fn with_longer_key(key: &Key, object: &mut [u8], input: &File) -> Option<Key> {
    let class = key.class_name.as_str();
    if room::has_no_pointers(class) {
        return room::enlarged(key, object, &[]);
    }
    if !(is_added(class) || is_list(class) || is_graph(class)) {
        return None;
    }
    let layout = Layouts::default().of(class, object, key.key_bytes.into(), input.streamer_infos().ok()?).ok()?;
    room::enlarged(key, object, &layout.pointers)
}

/// The object of the first input that has it, or those of all, copied as they are stored, or compressed anew.
struct Stored {
    names: Names,
    /// First, unique or all.
    rule: Rule,
    repacks: bool,
    n_inputs: u64,
    /// The key of what was read last, until it is copied, and its bytes: as they are stored, or unpacked if it is packed again.
    staged: Option<(Key, Vec<u8>)>,
    /// The first object, uncompressed, if others are compared with it.
    object: Option<Vec<u8>>,
}

impl Merging for Stored {
    fn needs_object(&self) -> bool {
        self.n_inputs == 0 || self.rule != Rule::First
    }

    fn read(&mut self, input: &File, file_key: &FileKey, stored: &[u8], worker: &mut Worker) -> Result<()> {
        let key = &file_key.key;
        if self.n_inputs > 0 && self.rule == Rule::First {
            return Ok(());
        }
        // That it can be unpacked says that it is whole.
        let object = input.unpack_by(&mut worker.decompressor, key, stored)?;
        held::check_trees(input, file_key, &self.names, &object)?;
        if self.rule == Rule::Unique {
            match &self.object {
                Some(first) if self.n_inputs > 0 && *first != object => {
                    return Err(self
                        .names
                        .mismatch(input, "it is not that of the inputs before, and the rule is unique"));
                }
                Some(_) if self.n_inputs > 0 => {}
                _ => self.object = Some(object.clone()),
            }
        }
        if self.n_inputs == 0 || self.rule == Rule::All {
            let object = if self.repacks { object } else { stored.to_vec() };
            self.staged = Some((key.clone(), object));
        }
        Ok(())
    }

    fn copy(&mut self, input: &File, output: &Output) -> Result<()> {
        if let Some((mut key, mut stored)) = self.staged.take() {
            let directory = self.names.directory_in(output)?;
            let mut is_unpacked = self.repacks;
            // Identifiers of processes have their numbers in longer keys alone, too.
            if !key.is_large() && (output.file.is_large() || output.n_processes > 0) {
                let mut object = if is_unpacked {
                    stored.clone()
                } else {
                    input.unpack_by(&mut Decompressor::default(), &key, &stored)?
                };
                if let Some(large) = with_longer_key(&key, &mut object, input) {
                    (key, stored, is_unpacked) = (large, object, true);
                }
            }
            if is_unpacked {
                stored = output.file.pack_again(stored, &mut Compressor::default())?;
            }
            output.file.write_stored(directory, &key, &stored, output.n_processes)?;
        }
        self.n_inputs += 1;
        Ok(())
    }

    fn forget(&mut self) {
        self.staged = None;
    }

    fn finish(self: Box<Self>, _output: &Output, _origins: &[Origin]) -> Result<Merged> {
        let Stored { names: Names { path, class_name, .. }, rule, n_inputs, .. } = *self;
        Ok(Merged { path, class_name, rule: rule.name(), n_inputs, ..Merged::default() })
    }
}
