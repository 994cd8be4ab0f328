//! Objects that are no tables.

mod add;
mod graph;
mod layout;

use arrowroot::format::container::Key;
use arrowroot::{File, FileKey};
use arrowroot_file::read_range;

use crate::error::Result;
use crate::merging::{Merged, Merging, Names, Output};
use crate::rules::Rule;
use layout::{is_graph, is_histogram, is_parameter};

/// Classes that ROOT merges, and arrowroot does not yet: the first of them alone would be half of the data.
const NOT_YET: [&str; 9] = [
    "TGraphMultiErrors",
    "TGraphBentErrors",
    "TGraph2D",
    "TMultiGraph",
    "THStack",
    "TEfficiency",
    "TH2Poly",
    "TProfile2Poly",
    "TH1K",
];
/// The beginnings of others.
const NOT_YET_BEGINNINGS: [&str; 3] = ["THn<", "THnT<", "THnSparseT<"];

/// Begins an object of the output, of which an input has the first.
pub(crate) fn begin(input: &File, key: &FileKey, rule: Option<Rule>) -> Result<Box<dyn Merging>> {
    let class = key.key.class_name.as_str();
    let names = Names::of(key);
    match rule {
        None | Some(Rule::Add) if is_histogram(class) || is_parameter(class) => Ok(add::begin(key)),
        None | Some(Rule::Concatenate) if is_graph(class) => Ok(graph::begin(key)),
        Some(rule @ (Rule::Add | Rule::Concatenate)) => Err(names.unsupported(
            input,
            format!("a {class}: {} is not known of it; rules are first, unique, drop", rule.name()),
        )),
        None if NOT_YET.contains(&class) || NOT_YET_BEGINNINGS.iter().any(|begin| class.starts_with(begin)) => {
            Err(names.unsupported(input, format!("a {class} is not merged yet: the rules first or drop take it")))
        }
        _ => Ok(Box::new(First {
            names,
            is_unique: rule == Some(Rule::Unique),
            n_inputs: 0,
            staged: None,
            object: None,
        })),
    }
}

/// The object of the first input that has it, copied as it is stored.
struct First {
    names: Names,
    /// True if all must be the same.
    is_unique: bool,
    n_inputs: u64,
    /// The key and the stored bytes of what was read last, until it is copied.
    staged: Option<(Key, Vec<u8>)>,
    /// The first object, uncompressed, if others are compared with it.
    object: Option<Vec<u8>>,
}

impl Merging for First {
    fn read(&mut self, input: &File, FileKey { key, .. }: &FileKey) -> Result<()> {
        if self.is_unique {
            let object = input.read_object(key)?;
            match &self.object {
                Some(first) if self.n_inputs > 0 && *first != object => {
                    return Err(self
                        .names
                        .mismatch(input, "it is not that of the inputs before, and the rule is unique"));
                }
                Some(_) if self.n_inputs > 0 => {}
                _ => self.object = Some(object),
            }
        }
        if self.n_inputs == 0 {
            let n_bytes = key.n_bytes.saturating_sub(key.key_bytes.into());
            let start = key.seek_key.saturating_add(key.key_bytes.into());
            let stored = read_range(input.source().as_ref(), start, n_bytes.into())?;
            self.staged = Some((key.clone(), stored));
        }
        Ok(())
    }

    fn copy(&mut self, _input: &File, output: &Output) -> Result<()> {
        if let Some((key, stored)) = self.staged.take() {
            let directory = self.names.directory_in(output)?;
            output.file.write_stored(directory, &key, &stored, output.n_processes)?;
        }
        self.n_inputs += 1;
        Ok(())
    }

    fn forget(&mut self) {
        self.staged = None;
    }

    fn finish(self: Box<Self>, _output: &Output) -> Result<Merged> {
        let First { names, is_unique, n_inputs, .. } = *self;
        let rule = if is_unique { Rule::Unique } else { Rule::First };
        let Names { path, class_name, .. } = names;
        Ok(Merged { path, class_name, rule: rule.name(), n_inputs, ..Merged::default() })
    }
}
