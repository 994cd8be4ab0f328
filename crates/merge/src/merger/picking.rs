//! Entries of trees that go to the output as their bytes are.

use ahash::HashSet;
use arrowroot::{File, Physical};

use super::{Merger, check_whole};
use crate::error::{Error, Result};
use crate::merging::Names;
use crate::trees::{InputTree, Mapping, Pick, PickedTree, Taking};

impl Merger {
    /// Adds objects and directories of an input, as [`Merger::add_some`] does, and entries of its trees as their bytes are.
    /// `tried`: entries that are read before anything is added, so that a damaged input can be left out.
    ///
    /// # Errors
    /// As [`Merger::add`]; [`Error::Spoilt`] if entries cannot be read that were not tried.
    pub fn add_picked(&mut self, input: &File, paths: &HashSet<String>, picks: &[Pick], tried: &[Pick]) -> Result<()> {
        let (n_processes, n_before) = (self.output.n_processes, self.picked.len());
        let sources = self.try_entries(input, tried).and_then(|()| {
            let sources = picks.iter().map(|pick| self.source_of(input, pick)).collect::<Result<Vec<_>>>()?;
            self.add_some(input, paths)?;
            Ok(sources)
        });
        // An input that is left out says nothing of the branches of others.
        let sources = sources.inspect_err(|_| self.picked.truncate(n_before))?;
        let added_processes = std::mem::replace(&mut self.output.n_processes, n_processes);
        for (pick, (source, mapping)) in picks.iter().zip(&sources) {
            let tree = self.picked.iter_mut().find(|(path, _)| *path == pick.path);
            if let Some((_, tree)) = tree {
                let added = taking(input, pick, source)
                    .and_then(|taking| tree.add(&taking, mapping, &self.output, &mut self.workers));
                added.map_err(|error| Error::Spoilt(Box::new(error)))?;
            }
        }
        self.output.n_processes = added_processes;
        Ok(())
    }

    /// Reads entries, and drops them.
    fn try_entries(&mut self, input: &File, picks: &[Pick]) -> Result<()> {
        check_whole(input)?;
        for pick in picks {
            let source = source_alone(input, pick)?;
            let taking = taking(input, pick, &source)?;
            taking.check()?;
            taking.try_all(&mut self.workers)?;
        }
        Ok(())
    }

    /// A tree of which entries are taken, with the branches that it has in the output, which gets it if it is new.
    fn source_of(&mut self, input: &File, pick: &Pick) -> Result<(InputTree, Mapping)> {
        let table = pick.table.as_ref();
        let mut source = source_alone(input, pick)?;
        taking(input, pick, &source)?.check()?;
        let known = self.picked.iter().position(|(path, _)| *path == pick.path);
        let index = match known {
            Some(index) => index,
            None => {
                let names = Names::at(&pick.path, table.class_name());
                self.picked.push((pick.path.clone(), PickedTree::begin(names, table, &source)?));
                self.picked.len() - 1
            }
        };
        let n_taken = pick.entries.iter().map(|range| range.end - range.start).sum();
        let mapping = self.picked[index].1.map(input, &mut source, n_taken)?;
        Ok((source, mapping))
    }
}

/// A tree of which entries are taken.
fn source_alone(input: &File, pick: &Pick) -> Result<InputTree> {
    InputTree::of(pick.table.as_ref(), &pick.branches)?.map_err(|what| {
        let (url, path) = (input.url().to_owned(), pick.table.path().to_owned());
        Error::Unsupported { url, path, what: format!("its entries cannot be copied as their bytes are: {what}") }
    })
}

/// The entries of a tree that are taken.
fn taking<'a>(input: &'a File, pick: &'a Pick, source: &'a InputTree) -> Result<Taking<'a>> {
    let object_data = match pick.table.physical()? {
        Physical::Tree { object_data, .. } => object_data,
        Physical::Ntuple { .. } => &[],
    };
    Ok(Taking { input, path: pick.table.path(), source, object_data, entries: &pick.entries })
}
