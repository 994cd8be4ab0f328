//! The merging of whole files: which objects there are, and what becomes of each.

use std::ops::Range;
use std::sync::Arc;

use ahash::{HashMap, HashMapExt, HashSet, HashSetExt};
use arrowroot::format::container::Key;
use arrowroot::format::rntuple::ANCHOR_CLASS;
use arrowroot::storage::{coalesce, limits_for};
use arrowroot::{File, FileKey};
use arrowroot_file::{format_error, read_ranges};
use arrowroot_writer::{FileWriter, ROOT_DIRECTORY};

use crate::error::{Error, Result};
use crate::first::FirstTable;
use crate::frames::{Frames, Rows, RowsByTree};
use crate::merging::{Columns, Merged, Merging, Output};
use crate::objects::worker::{Worker, in_parallel};
use crate::provenance::{self, Origin};
use crate::roster::{Roster, Taken};
use crate::rules::{Rule, Rules};
use crate::trees::{Picked, PickedTree};
use crate::{ntuples, objects, trees};

mod picking;

/// Class and name of the keys of process identifiers, which are numbered anew.
const PROCESS_CLASS: &str = "TProcessID";
const PROCESS_NAME: &str = "ProcessID";
/// Objects are read by so many bytes at a time, as they are stored.
const BYTES_AT_A_TIME: u64 = 16 << 20;

/// The request.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Which columns tables have.
    pub columns: Columns,
    /// Rules for objects of which not the usual thing becomes.
    pub rules: Rules,
    /// True if small baskets of trees are put together to larger ones.
    pub rebaskets: bool,
    /// Directories of this pattern in inputs, at the top, become one; columns of rows of trees in them number those on.
    pub join: Option<String>,
    /// True if a table beside each tree, and an attribute set of each RNTuple, say which of its entries come from which input.
    pub provenance: bool,
    /// True if objects that are copied get the codec of the output, as those do that are added; else they are as they were.
    pub repacks: bool,
    /// True if there is one input, and the output takes its place: then trees stay that cannot be merged with others.
    pub stays: bool,
}

/// The outcome of all inputs.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Inputs that were merged.
    pub n_inputs: u64,
    /// The objects, in the order in which they came.
    pub objects: Vec<Merged>,
    /// Trees of which entries were taken, in the order in which they came.
    pub picked: Vec<Picked>,
    /// Patterns of rules that no object had, and that of directories if none had it.
    pub unused_rules: Vec<String>,
}

/// Merges files that come one after another into one.
///
/// [`finish`](Merger::finish) writes what depends on all of them; closing the file is left to the caller. So are tables of the rule
/// [`Rule::Unique`], as their rows are compared, and not the pieces that are copied here.
pub struct Merger {
    output: Output,
    settings: Settings,
    objects: Vec<Object>,
    /// Their indices by path.
    by_path: HashMap<String, usize>,
    roster: Roster,
    workers: Vec<Worker>,
    n_inputs: u64,
    frames: Option<Frames>,
    /// Trees of which entries are taken, by their paths.
    picked: Vec<(String, PickedTree)>,
}

struct Object {
    kind: Kind,
    merging: Box<dyn Merging>,
    /// How many inputs had been merged when one had it last.
    seen_behind: Option<u64>,
    /// The origins of its entries, if that is asked for.
    origins: Vec<Origin>,
}

/// Objects that are merged in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Tree,
    Ntuple,
    /// An object of this class.
    Other(String),
}

impl Kind {
    fn is_table(&self) -> bool {
        matches!(self, Kind::Tree | Kind::Ntuple)
    }

    fn class_name(&self) -> &str {
        match self {
            Kind::Tree => "TTree",
            Kind::Ntuple => ANCHOR_CLASS,
            Kind::Other(class) => class,
        }
    }
}

impl Merger {
    /// Merges into a file that was begun.
    pub fn new(file: Arc<FileWriter>, settings: Settings) -> Merger {
        let workers = (0..file.n_threads()).map(|_| Worker::default()).collect();
        let (output, by_path) = (Output { file, n_processes: 0 }, HashMap::new());
        let frames = settings.join.clone().map(Frames::new);
        let (objects, roster) = (Vec::new(), Roster::default());
        Merger { output, settings, objects, by_path, roster, workers, n_inputs: 0, frames, picked: Vec::new() }
    }

    /// Adds an input: all of it, or nothing. After an error of one whose directories are joined the output can only be given up.
    ///
    /// # Errors
    /// If it is not whole, cannot be read, or has objects that cannot be joined to those before; then the others can be merged
    /// without it ([`Error::is_of_input`]). Errors of writing, after which the output can only be given up.
    pub fn add(&mut self, input: &File) -> Result<()> {
        check_whole(input)?;
        self.add_keys(input, input.keys()?)
    }

    /// Adds objects and directories of an input by their paths: all of them, or nothing. Process identifiers come along, as nobody
    /// knows which objects name them.
    ///
    /// # Errors
    /// As [`Merger::add`].
    pub fn add_some(&mut self, input: &File, paths: &HashSet<String>) -> Result<()> {
        check_whole(input)?;
        let keys: Vec<FileKey> =
            input.keys()?.iter().filter(|key| is_process(key) || paths.contains(&key.path())).cloned().collect();
        self.add_keys(input, &keys)
    }

    fn add_keys(&mut self, input: &File, keys: &[FileKey]) -> Result<()> {
        check_infos(input, &self.output)?;
        let n_before = self.objects.len();
        let mut begun: Vec<usize> = Vec::new();
        let added = match self.frames.as_mut().map(|frames| frames.split(keys)) {
            None => self.add_objects(input, keys, false, &mut begun),
            Some((others, frames)) => self.add_frames(input, &others, &frames, &mut begun),
        };
        if added.is_err() {
            for &index in &begun {
                self.objects[index].merging.forget();
            }
            self.objects.truncate(n_before);
            self.by_path.retain(|_, index| *index < n_before);
            return added.map(|_| ());
        }
        self.n_inputs += 1;
        self.copy_processes(added?)
    }

    /// Adds the objects of an input, then those of directories that become one, one directory after another.
    fn add_frames(
        &mut self,
        input: &File,
        others: &[FileKey],
        frames: &[(String, Vec<FileKey>)],
        begun: &mut Vec<usize>,
    ) -> Result<Vec<Process>> {
        let processes = self.add_objects(input, others, false, begun)?;
        for (name, keys) in frames {
            self.add_objects(input, keys, true, begun).map_err(|error| match error {
                Error::Mismatch { url, path, what } => Error::Mismatch { url, path, what: format!("{name}: {what}") },
                other => other,
            })?;
        }
        Ok(processes)
    }

    /// Adds objects of an input, and returns its process identifiers. `is_frame`: they are those of a directory that becomes one
    /// with others; `begun`: the indices of those that were begun to read.
    fn add_objects(
        &mut self,
        input: &File,
        keys: &[FileKey],
        is_frame: bool,
        begun: &mut Vec<usize>,
    ) -> Result<Vec<Process>> {
        let roster = match std::mem::take(&mut self.roster) {
            roster if roster.is_of(keys) => roster,
            _ => self.take(input, keys)?,
        };
        // All that may be damaged is read before the first object is copied, but for the pieces of tables.
        let processes = read_processes(input, keys, &roster.processes)?;
        self.read_all(input, keys, &roster.taken, begun)?;
        if is_frame {
            self.number_rows(input, keys, &roster.taken)?;
        }
        self.copy_all(input, keys, &roster.taken)?;
        if self.settings.provenance {
            self.note_origins(input, &roster.taken);
        }
        self.roster = roster;
        Ok(processes)
    }

    /// Has trees of a directory number rows as they are in the output.
    fn number_rows(&mut self, input: &File, keys: &[FileKey], taken: &[Taken]) -> Result<()> {
        let tables: Vec<&Taken> = taken.iter().filter(|one| self.objects[one.object].kind.is_table()).collect();
        let mut rows = Vec::new();
        for one in &tables {
            let (key, merging) = (&keys[one.key], &self.objects[one.object].merging);
            let (Some(here), Some(before)) = (merging.n_read(), merging.n_entries()) else {
                let what = "in directories that are joined only trees are taken, and all of their entries".to_owned();
                return Err(Error::Unsupported { url: input.url().to_owned(), path: key.path(), what });
            };
            rows.push((key.key.name.clone(), Rows { before, here }));
        }
        let indices: Vec<usize> = tables.iter().map(|one| one.object).collect();
        let known = self.frames.as_mut().map(|frames| frames.tables.get_or_insert_with(|| indices.clone()));
        if known.is_some_and(|known| *known != indices) {
            let what =
                "it has other trees than the directories before: rows of one would be those of others".to_owned();
            return Err(Error::Mismatch { url: input.url().to_owned(), path: "joined directories".to_owned(), what });
        }
        let rows = RowsByTree::new(rows);
        for one in tables {
            self.objects[one.object].merging.number(input, &rows)?;
        }
        Ok(())
    }

    /// Notes which entries of tables came from an input.
    fn note_origins(&mut self, input: &File, taken: &[Taken]) {
        for one in taken {
            let Object { merging, origins, .. } = &mut self.objects[one.object];
            if let Some(n_entries) = merging.n_entries() {
                let first_entry = origins.last().map_or(0, Origin::end);
                origins.push(Origin::of(input, first_entry, n_entries - first_entry));
            }
        }
    }

    /// Writes what the output lacks of its objects.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn finish(self) -> Result<Report> {
        let Merger { output, mut objects, n_inputs, mut workers, settings, frames, picked, .. } = self;
        let items: Vec<&mut Object> = objects.iter_mut().collect();
        // How large they are is not known here, only that there are many of the small ones.
        in_parallel(&mut workers, items, u64::MAX, |worker, object| object.merging.pack(&output, worker))?;
        let objects = objects.into_iter().map(|object| object.merging.finish(&output, &object.origins));
        let objects = objects.collect::<Result<_>>()?;
        let picked = picked.into_iter().map(|(_, tree)| tree.finish(&output, &mut workers)).collect::<Result<_>>()?;
        let unused_rules = settings.rules.unused().into_iter().chain(frames.and_then(Frames::unused)).collect();
        Ok(Report { n_inputs, objects, picked, unused_rules })
    }

    /// The rule for objects of a path, if one was given.
    pub fn rule_of(&mut self, path: &str) -> Option<Rule> {
        self.settings.rules.of(path)
    }

    /// Inputs that were added.
    pub fn n_inputs(&self) -> u64 {
        self.n_inputs
    }

    /// Bytes of the output so far, with what is held back, and without what it gets in the end.
    ///
    /// # Errors
    /// If the output is closed.
    pub fn written_bytes(&self) -> Result<u64> {
        let held_bytes: u64 = self.objects.iter().map(|object| object.merging.held_bytes()).sum();
        Ok(self.output.file.with_appender(|appender| Ok(appender.position()))?.saturating_add(held_bytes))
    }

    /// Finds the object that each key of an input is merged into, and begins those that are new.
    fn take(&mut self, input: &File, keys: &[FileKey]) -> Result<Roster> {
        let (mut taken, mut processes) = (Vec::new(), Vec::new());
        for index in newest(keys) {
            let key = &keys[index];
            if is_process(key) {
                processes.extend(key.directory.is_empty().then_some(index));
            }
            if key.is_directory || is_process(key) {
                continue;
            }
            let path = key.path();
            let mismatch =
                |path: String, what: String| Err(Error::Mismatch { url: input.url().to_owned(), path, what });
            let rule = self.settings.rules.of(&path);
            match rule {
                Some(Rule::Drop) => continue,
                Some(Rule::Fail) => {
                    return mismatch(path, "there is one, and a rule says that there must be none".to_owned());
                }
                _ => {}
            }
            let kind = kind_of(input, key)?;
            if kind.is_table() && rule == Some(Rule::Unique) {
                continue;
            }
            let object = match self.by_path.get(&path) {
                Some(&object) => object,
                None => {
                    let merging = self.begin(&kind, rule, input, key)?;
                    self.objects.push(Object { kind: kind.clone(), merging, seen_behind: None, origins: Vec::new() });
                    self.by_path.insert(path.clone(), self.objects.len() - 1);
                    self.objects.len() - 1
                }
            };
            let known = &mut self.objects[object];
            if known.kind != kind {
                let (class, before) = (&key.key.class_name, known.kind.class_name());
                return mismatch(
                    path,
                    format!("a {class}, and a {before} in the inputs before: leave it out by the rule drop"),
                );
            }
            if known.seen_behind.replace(self.n_inputs) == Some(self.n_inputs)
                && taken.iter().any(|one: &Taken| one.object == object)
            {
                return mismatch(path, "two objects have this path: one has a slash in its name".to_owned());
            }
            taken.push(Taken { key: index, object });
        }
        self.check_origins(keys, &taken)?;
        self.check_directories(input)?;
        // In the order of the objects, as they are read by several threads.
        taken.sort_by_key(|one| one.object);
        Ok(Roster { keys: keys.to_vec(), taken, processes })
    }

    /// Refuses an object whose path a directory of another input has.
    fn check_directories(&self, input: &File) -> Result<()> {
        let mut directories = HashSet::new();
        for mut path in self.by_path.keys().map(String::as_str) {
            while let Some((directory, _)) = path.rsplit_once('/')
                && directories.insert(directory)
            {
                path = directory;
            }
        }
        match self.by_path.keys().filter(|path| directories.contains(path.as_str())).min() {
            Some(path) => Err(Error::Mismatch {
                url: input.url().to_owned(),
                path: path.clone(),
                what: "an object here or in the inputs before, and a directory in others: leave the object out by the rule \
                       drop"
                    .to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// Refuses a tree whose name those of origins have.
    fn check_origins(&self, keys: &[FileKey], taken: &[Taken]) -> Result<()> {
        let tables = taken.iter().filter(|one| self.settings.provenance && self.objects[one.object].kind == Kind::Tree);
        match tables.map(|one| provenance::path(&keys[one.key].path())).find(|path| self.by_path.contains_key(path)) {
            Some(path) => {
                let what =
                    format!("{path} is the name of a table of inputs, and in an input: leave it out by the rule drop");
                Err(Error::InvalidRequest { what })
            }
            None => Ok(()),
        }
    }

    /// Has every object read what the input has of it.
    fn read_all(&mut self, input: &File, keys: &[FileKey], taken: &[Taken], begun: &mut Vec<usize>) -> Result<()> {
        let mut wanted = Vec::new();
        let [worker, ..] = &mut *self.workers else { return Ok(()) };
        for one in taken {
            let merging = &mut self.objects[one.object].merging;
            begun.push(one.object);
            if merging.needs_object() {
                wanted.push((stored_range(input, &keys[one.key].key)?, one));
            } else {
                merging.read(input, &keys[one.key], &[], worker)?;
            }
        }
        wanted.sort_by_key(|(range, _)| range.start);
        let mut rest = &mut *wanted;
        while !rest.is_empty() {
            let mut n_bytes = 0;
            let fits = |(range, _): &&(Range<u64>, &Taken)| {
                n_bytes += range.end - range.start;
                n_bytes <= BYTES_AT_A_TIME
            };
            let n_objects = rest.iter().take_while(fits).count().max(1);
            let (now, later) = rest.split_at_mut(n_objects);
            self.read_some(input, keys, now)?;
            rest = later;
        }
        Ok(())
    }

    /// Has objects read what is stored in these ranges.
    fn read_some(&mut self, input: &File, keys: &[FileKey], wanted: &mut [(Range<u64>, &Taken)]) -> Result<()> {
        wanted.sort_by_key(|(_, taken)| taken.object);
        let ranges: Vec<Range<u64>> = wanted.iter().map(|(range, _)| range.clone()).collect();
        let spans = coalesce(&ranges, limits_for(input.source().access_profile(), &ranges));
        let bytes =
            read_ranges(input.source().as_ref(), &spans.iter().map(|span| span.range.clone()).collect::<Vec<_>>())?;
        let mut stored: Vec<&[u8]> = vec![&[]; ranges.len()];
        for (span, bytes) in spans.iter().zip(&bytes) {
            let index = |at: u64| usize::try_from(at - span.range.start).unwrap_or(usize::MAX);
            for &member in &span.members {
                stored[member] = bytes.get(index(ranges[member].start)..index(ranges[member].end)).unwrap_or_default();
            }
        }
        let mut indices = wanted.iter().map(|(_, taken)| taken.object).peekable();
        let objects = self.objects.iter_mut().enumerate();
        let objects = objects.filter_map(|(index, object)| indices.next_if_eq(&index).map(|_| object));
        let items = objects
            .zip(wanted.iter())
            .zip(&stored)
            .map(|((object, (_, taken)), stored)| (object, &keys[taken.key], *stored));
        let items: Vec<_> = items.collect();
        let n_bytes = stored.iter().map(|stored| stored.len() as u64).sum();
        in_parallel(&mut self.workers, items, n_bytes, |worker, (object, key, stored)| {
            object.merging.read(input, key, stored, worker)
        })
    }

    fn begin(&self, kind: &Kind, rule: Option<Rule>, input: &File, key: &FileKey) -> Result<Box<dyn Merging>> {
        let table = match kind {
            Kind::Tree => trees::begin(key, self.settings.columns, self.settings.rebaskets, self.settings.stays),
            Kind::Ntuple => ntuples::begin(key, self.settings.columns, self.settings.provenance),
            Kind::Other(_) => return objects::begin(input, key, rule, self.settings.repacks),
        };
        match rule {
            None | Some(Rule::Concatenate) => Ok(table),
            Some(Rule::First) => Ok(Box::new(FirstTable::new(table))),
            // A copy of its key would name the pieces of another file.
            Some(rule) => Err(Error::Unsupported {
                url: input.url().to_owned(),
                path: key.path(),
                what: format!(
                    "a {}: {} is not known of it; rules are concatenate, first, unique, drop, fail",
                    key.key.class_name,
                    rule.name()
                ),
            }),
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

    fn copy_all(&mut self, input: &File, keys: &[FileKey], taken: &[Taken]) -> Result<()> {
        copy_infos(input, &self.output)?;
        for key in keys.iter().filter(|key| key.is_directory) {
            self.output.file.titled_directory(&key.path(), Some(&key.key.title))?;
        }
        // Tables read what they copy, which may fail; what was read of other objects is whole already.
        for is_table in [true, false] {
            for one in taken {
                let object = &mut self.objects[one.object];
                if object.kind.is_table() == is_table {
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

/// `indices`: of their keys.
fn read_processes(input: &File, keys: &[FileKey], indices: &[usize]) -> Result<Vec<Process>> {
    let number = |key: &FileKey| key.key.name.strip_prefix(PROCESS_NAME)?.parse::<u16>().ok();
    let of_top = indices.iter().filter_map(|&index| number(&keys[index]).map(|number| (number, &keys[index].key)));
    of_top
        .map(|(number, key)| Ok(Process { number, title: key.title.clone(), object: input.read_object(key)? }))
        .collect()
}

/// Where what is stored behind a key is. What is behind an uncompressed object is not part of it.
fn stored_range(input: &File, key: &Key) -> Result<Range<u64>> {
    let in_key =
        |error: arrowroot::format::Error| format_error(input.source().as_ref(), &key.name, error.at(key.seek_key));
    let range = key.payload_range().map_err(in_key)?;
    Ok(range.start..range.end.min(range.start.saturating_add(key.object_bytes.into())))
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

/// The newest cycle of each name: their indices, in the order of the file.
fn newest(keys: &[FileKey]) -> Vec<usize> {
    let mut highest: HashMap<(&str, &str), u16> = HashMap::with_capacity(keys.len());
    for key in keys {
        let cycle = highest.entry((&key.directory, &key.key.name)).or_default();
        *cycle = key.key.cycle.max(*cycle);
    }
    let mut kept = Vec::with_capacity(highest.len());
    for (index, key) in keys.iter().enumerate() {
        // Taken out by the first key that has the highest cycle: a name comes once.
        let name = (key.directory.as_str(), key.key.name.as_str());
        if highest.get(&name) == Some(&key.key.cycle) {
            highest.remove(&name);
            kept.push(index);
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
