//! The merging of whole files: which objects there are, and what becomes of each.

use std::sync::Arc;

use ahash::{HashMap, HashMapExt};
use arrowroot::{File, FileKey};
use arrowroot_writer::{FileWriter, ROOT_DIRECTORY};

use crate::error::{Error, Result};
use crate::merging::{Columns, Merged, Merging, Output};
use crate::rules::{Rule, Rules};
use crate::{ntuples, objects, trees};

/// Class and name of the keys of process identifiers, which are numbered anew.
const PROCESS_CLASS: &str = "TProcessID";
const PROCESS_NAME: &str = "ProcessID";

/// The request.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Which columns tables have.
    pub columns: Columns,
    /// Rules for objects of which not the usual thing becomes.
    pub rules: Rules,
}

/// The outcome of all inputs.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Inputs that were merged.
    pub n_inputs: u64,
    /// The objects, in the order in which they came.
    pub objects: Vec<Merged>,
}

/// Merges files that come one after another into one.
///
/// [`finish`](Merger::finish) writes what depends on all of them; closing the file is left to the caller.
pub struct Merger {
    output: Output,
    settings: Settings,
    objects: Vec<Object>,
    /// Their indices by path.
    by_path: HashMap<String, usize>,
    n_inputs: u64,
}

struct Object {
    kind: Kind,
    merging: Box<dyn Merging>,
}

/// Objects that are merged in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Tree,
    Ntuple,
    /// An object of this class.
    Other(String),
}

impl Merger {
    /// Merges into a file that was begun.
    pub fn new(file: Arc<FileWriter>, settings: Settings) -> Merger {
        let (output, by_path) = (Output { file, n_processes: 0 }, HashMap::new());
        Merger { output, settings, objects: Vec::new(), by_path, n_inputs: 0 }
    }

    /// Adds an input: all of it, or nothing.
    ///
    /// # Errors
    /// If it is not whole, cannot be read, or has objects that cannot be joined to those before; then the others can be merged
    /// without it ([`Error::is_of_input`]). Errors of writing, after which the output can only be given up.
    pub fn add(&mut self, input: &File) -> Result<()> {
        check_whole(input)?;
        let keys = newest(input.keys()?);
        check_infos(input, &self.output)?;
        let n_before = self.objects.len();
        // All that may be damaged is read before the first object is copied, but for the pieces of tables.
        let processes = read_processes(input, &keys)?;
        let mut taken: Vec<usize> = Vec::new();
        let added = self.read_all(input, &keys, &mut taken).and_then(|()| self.copy_all(input, &keys, &taken));
        if added.is_err() {
            for &index in &taken {
                self.objects[index].merging.forget();
            }
            self.objects.truncate(n_before);
            self.by_path.retain(|_, index| *index < n_before);
            return added;
        }
        self.n_inputs += 1;
        self.copy_processes(processes)
    }

    /// Writes what the output lacks of its objects.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn finish(self) -> Result<Report> {
        let Merger { output, objects, n_inputs, .. } = self;
        let objects = objects.into_iter().map(|object| object.merging.finish(&output)).collect::<Result<_>>()?;
        Ok(Report { n_inputs, objects })
    }

    /// Inputs that were added.
    pub fn n_inputs(&self) -> u64 {
        self.n_inputs
    }

    /// Bytes of the output so far, without what it gets in the end.
    ///
    /// # Errors
    /// If the output is closed.
    pub fn written_bytes(&self) -> Result<u64> {
        Ok(self.output.file.with_appender(|appender| Ok(appender.position()))?)
    }

    /// Has every object read what the input has of it. `taken`: the indices of those.
    fn read_all(&mut self, input: &File, keys: &[&FileKey], taken: &mut Vec<usize>) -> Result<()> {
        for &key in keys {
            let path = key.path();
            if key.is_directory || is_process(key) {
                continue;
            }
            let rule = self.settings.rules.of(&path);
            match rule {
                Some(Rule::Drop) => continue,
                Some(Rule::Fail) => {
                    let what = "there is one, and a rule says that there must be none".to_owned();
                    return Err(Error::Mismatch { url: input.url().to_owned(), path, what });
                }
                _ => {}
            }
            let kind = kind_of(input, key)?;
            let index = match self.by_path.get(&path) {
                Some(&index) => index,
                None => {
                    let merging = self.begin(&kind, rule, input, key)?;
                    self.objects.push(Object { kind: kind.clone(), merging });
                    self.by_path.insert(path, self.objects.len() - 1);
                    self.objects.len() - 1
                }
            };
            let object = &mut self.objects[index];
            if object.kind != kind {
                let (url, path, class) = (input.url().to_owned(), key.path(), &key.key.class_name);
                let what = format!("a {class}, which it is in no input before: leave it out by the rule drop");
                return Err(Error::Mismatch { url, path, what });
            }
            taken.push(index);
            object.merging.read(input, key)?;
        }
        Ok(())
    }

    fn begin(&self, kind: &Kind, rule: Option<Rule>, input: &File, key: &FileKey) -> Result<Box<dyn Merging>> {
        match (kind, rule) {
            (Kind::Tree, None | Some(Rule::Concatenate)) => Ok(trees::begin(key, self.settings.columns)),
            (Kind::Ntuple, None | Some(Rule::Concatenate)) => ntuples::begin(input, key, self.settings.columns),
            _ => objects::begin(input, key, rule),
        }
    }

    /// Copies the process identifiers that `TRef`s of an input name by their numbers: they are numbered behind those before.
    ///
    /// Source: `TTreeCloner::CopyProcessIds` (ROOT 6.40).
    fn copy_processes(&mut self, processes: Vec<Process>) -> Result<()> {
        let before = self.output.n_processes;
        let compression = self.output.file.settings().compression;
        for Process { number, title, object } in processes {
            let Some(moved) = number.checked_add(before) else { continue };
            let name = format!("{PROCESS_NAME}{moved}");
            let write = |bytes: &mut arrowroot::format::Output| {
                bytes.raw(&object);
                Ok(())
            };
            self.output.file.write_object(ROOT_DIRECTORY, PROCESS_CLASS, &name, &title, compression, write)?;
            self.output.n_processes = self.output.n_processes.max(moved.saturating_add(1));
        }
        Ok(())
    }

    fn copy_all(&mut self, input: &File, keys: &[&FileKey], taken: &[usize]) -> Result<()> {
        copy_infos(input, &self.output)?;
        for key in keys.iter().filter(|key| key.is_directory) {
            self.output.file.directory(&key.path())?;
        }
        // Tables read what they copy, which may fail; what was read of other objects is whole already.
        for is_table in [true, false] {
            for &index in taken {
                let object = &mut self.objects[index];
                if matches!(object.kind, Kind::Tree | Kind::Ntuple) == is_table {
                    object.merging.copy(input, &self.output)?;
                }
            }
        }
        Ok(())
    }
}

/// A process identifier of an input.
struct Process {
    number: u16,
    title: String,
    object: Vec<u8>,
}

fn read_processes(input: &File, keys: &[&FileKey]) -> Result<Vec<Process>> {
    let number = |key: &FileKey| key.key.name.strip_prefix(PROCESS_NAME)?.parse::<u16>().ok();
    let of_top = keys.iter().filter(|key| key.directory.is_empty() && is_process(key));
    of_top
        .filter_map(|key| number(key).map(|number| (number, &key.key)))
        .map(|(number, key)| Ok(Process { number, title: key.title.clone(), object: input.read_object(key)? }))
        .collect()
}

/// Refuses a file that was not closed, was cut short, or has damaged directories: what it lacks would be missed by nobody.
fn check_whole(input: &File) -> Result<()> {
    let what = match input.missing_bytes() {
        0 if input.was_not_closed() => Some("it was not closed, and what it lacks is not known".to_owned()),
        0 => input.damage(),
        n_bytes => Some(format!("it was cut short: {n_bytes} bytes are missing")),
    };
    let not_whole = |what: String| Err(Error::NotWhole { url: input.url().to_owned(), what });
    match what {
        Some(what) => not_whole(what),
        None => {
            // Damaged directories show when all are listed.
            input.keys()?;
            match input.damage() {
                Some(what) => not_whole(what),
                None if input.was_recovered() => not_whole("its keys were lost, and some were found".to_owned()),
                None => Ok(()),
            }
        }
    }
}

/// The newest cycle of each name, in the order of the file.
fn newest(keys: &[FileKey]) -> Vec<&FileKey> {
    let mut highest: HashMap<(&str, &str), u16> = HashMap::with_capacity(keys.len());
    for key in keys {
        let cycle = highest.entry((&key.directory, &key.key.name)).or_default();
        *cycle = key.key.cycle.max(*cycle);
    }
    let mut kept = Vec::with_capacity(highest.len());
    for key in keys {
        // Taken out by the first key that has the highest cycle: a name comes once.
        let name = (key.directory.as_str(), key.key.name.as_str());
        if highest.get(&name) == Some(&key.key.cycle) {
            highest.remove(&name);
            kept.push(key);
        }
    }
    kept
}

fn kind_of(input: &File, key: &FileKey) -> Result<Kind> {
    let class = &key.key.class_name;
    Ok(if File::is_ntuple_class(class) {
        Kind::Ntuple
    } else if input.is_tree_class(class)? {
        Kind::Tree
    } else {
        Kind::Other(class.clone())
    })
}

fn is_process(key: &FileKey) -> bool {
    key.key.class_name == PROCESS_CLASS && key.key.name.starts_with(PROCESS_NAME)
}

/// Refuses an input that describes a class in another way than those before, in the same version.
fn check_infos(input: &File, output: &Output) -> Result<()> {
    let infos = input.streamer_infos()?;
    output.file.check_infos(infos).map_err(|error| Error::Mismatch {
        url: input.url().to_owned(),
        path: "classes".to_owned(),
        what: error.to_string(),
    })
}

/// Has the output describe the classes as an input does.
fn copy_infos(input: &File, output: &Output) -> Result<()> {
    output.file.add_infos(input.streamer_infos()?);
    Ok(())
}
