//! The notes of a tree: what its record has beside branches and entries.

use std::ops::Range;

use ahash::{HashMap, HashMapExt, HashSet};
use arrowroot::format::tree::{Friend, RecordedIndex, TreeRecord, UserInfo};

/// The `TNamed` in `fUserInfo` in which arrowroot records the types of the columns.
const SCHEMA_RECORD: &str = arrowroot_writer::SCHEMA_RECORD;

/// The notes of trees in a row.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    joined: Joined,
    /// The values of the index of each entry so far, as far as all inputs had it.
    values: Vec<(i64, i64)>,
}

/// The notes as they were before an input.
pub(crate) struct Mark {
    joined: Joined,
    n_values: usize,
}

/// The notes of the trees so far.
#[derive(Debug, Clone, Default)]
struct Joined {
    aliases: Vec<(String, String)>,
    friends: Vec<Friend>,
    user_info: Vec<UserInfo>,
    index: Index,
    is_reshuffled: bool,
    has_references: bool,
    flushed_bytes: i64,
    /// Remarks on what was left out.
    left_out: Vec<String>,
}

/// The index of trees in a row.
#[derive(Debug, Clone, Default)]
enum Index {
    /// No tree yet.
    #[default]
    Unknown,
    /// The inputs so far have it, by these expressions.
    All([String; 2]),
    /// Not all have one that can be joined.
    Dropped,
    /// None has any.
    None,
}

impl Notes {
    pub(crate) fn mark(&self) -> Mark {
        Mark { joined: self.joined.clone(), n_values: self.values.len() }
    }

    pub(crate) fn go_back(&mut self, mark: Mark) {
        self.joined = mark.joined;
        self.values.truncate(mark.n_values);
    }

    /// Joins the notes of a tree of which some entries stand behind `n_before` others. `taken`: these, if they are not all.
    pub(crate) fn join(
        &mut self,
        record: &TreeRecord,
        object_data: &[u8],
        n_before: u64,
        taken: Option<&[Range<u64>]>,
    ) {
        let of_tree = record.index.as_ref().map(|index| values_of(index, record, object_data, taken));
        let joined = &mut self.joined;
        joined.join(record);
        joined.index = match (std::mem::take(&mut joined.index), of_tree) {
            (Index::Unknown | Index::None, None) => Index::None,
            // A tree without entries needs none.
            (Index::All(names), None) if record.n_entries == 0 => Index::All(names),
            (index, Some(Some((names, values)))) if self.values.len() + values.len() <= RecordedIndex::MAX_ENTRIES => {
                let goes_on = match &index {
                    Index::Unknown => true,
                    Index::None => n_before == 0,
                    Index::All(before) => *before == names,
                    Index::Dropped => false,
                };
                if goes_on {
                    self.values.extend(values);
                    Index::All(names)
                } else {
                    Index::Dropped
                }
            }
            _ => Index::Dropped,
        };
    }

    /// Writes them into a record. Returns what was left out.
    pub(crate) fn record(self, record: &mut TreeRecord) -> arrowroot::format::Result<Vec<String>> {
        let Notes { mut joined, values } = self;
        record.remove_index();
        match std::mem::take(&mut joined.index) {
            Index::All([major, minor]) => record.index = Some(RecordedIndex::made(&major, &minor, &values)?),
            Index::Dropped => {
                joined.leave_out("its index (TTreeIndex) was left out, as not all inputs have the same".to_owned());
            }
            Index::Unknown | Index::None => {}
        }
        if joined.has_references {
            record.references = None;
            joined.leave_out("its table of references (fBranchRef) was left out: no TRef loads its branch".to_owned());
        }
        if joined.is_reshuffled {
            record.be_reshuffled();
        }
        (record.aliases, record.friends, record.user_info) = (joined.aliases, joined.friends, joined.user_info);
        record.flushed_bytes = joined.flushed_bytes;
        Ok(joined.left_out)
    }

    /// Leaves out aliases and an index by branches of these names, which the output has not.
    pub(crate) fn leave_out_of(&mut self, dropped: &HashSet<String>) {
        let Joined { aliases, index, .. } = &mut self.joined;
        let mut told: Vec<(usize, String)> = Vec::new();
        let mut users: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, (_, text)) in aliases.iter().enumerate() {
            for name in names_in(text) {
                users.entry(name).or_default().push(at);
            }
        }
        // Aliases may be of others.
        let (mut gone, mut is_gone) = (dropped.clone(), vec![false; aliases.len()]);
        let mut waiting: Vec<&str> =
            dropped.iter().map(String::as_str).filter(|name| users.contains_key(name)).collect();
        waiting.sort_unstable();
        while let Some(name) = waiting.pop() {
            for &at in users.get(name).into_iter().flatten() {
                if !std::mem::replace(&mut is_gone[at], true) {
                    let alias = &aliases[at].0;
                    told.push((at, format!("alias {alias:?} was left out: it is of {name:?}, which is left out")));
                    if gone.insert(alias.clone()) {
                        waiting.push(alias);
                    }
                }
            }
        }
        let mut stays = is_gone.iter().map(|is_gone| !is_gone);
        aliases.retain(|_| stays.next().unwrap_or(true));
        let uses = |text: &str| names_in(text).find(|name| gone.contains(*name)).map(str::to_owned);
        if let Index::All(names) = index
            && let Some(name) = names.iter().find_map(|text| uses(text))
        {
            told.push((
                usize::MAX,
                format!("its index (TTreeIndex) was left out: it is of {name:?}, which is left out"),
            ));
            *index = Index::None;
            self.values.clear();
        }
        told.sort();
        told.into_iter().for_each(|(_, what)| self.joined.leave_out(what));
    }

    /// Leaves friends out, whose entries would be those of others.
    pub(crate) fn leave_friends_out(&mut self) {
        for Friend { alias, .. } in std::mem::take(&mut self.joined.friends) {
            self.joined.leave_out(format!("friend {alias:?} was left out: its entries are not those of the output"));
        }
    }
}

/// The names in an expression of ROOT, each also as far as each of its points.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let of_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.');
    let words = text.split(move |character| !of_name(character));
    let words = words.filter(|word| !word.starts_with(|first: char| first.is_ascii_digit()));
    words.flat_map(|word| word.match_indices('.').map(|(at, _)| &word[..at]).chain([word]))
}

impl Joined {
    fn join(&mut self, record: &TreeRecord) {
        let is_first = matches!(self.index, Index::Unknown);
        for alias in &record.aliases {
            match self.aliases.iter().find(|known| known.0 == alias.0) {
                None => self.aliases.push(alias.clone()),
                Some(known) if known.1 != alias.1 => {
                    self.leave_out(format!(
                        "alias {:?} has several meanings: that of the first input is kept",
                        alias.0
                    ));
                }
                Some(_) => {}
            }
        }
        if is_first {
            self.friends.clone_from(&record.friends);
        } else if self.friends != record.friends {
            self.leave_out("the inputs have different friends: those of the first are kept".to_owned());
        }
        for info in &record.user_info {
            let is_it = |known: &&UserInfo| (&known.class_name, &known.name) == (&info.class_name, &info.name);
            match self.user_info.iter().find(is_it) {
                Some(known) if known == info => {}
                Some(_) if info.name == SCHEMA_RECORD => {
                    self.leave_out("the inputs record different Arrow types: those of the first are kept".to_owned());
                }
                None if info.name == SCHEMA_RECORD && !is_first => {
                    self.leave_out(
                        "the first input records no Arrow types: columns have those that are stored".to_owned(),
                    );
                }
                _ if self.user_info.contains(info) => {}
                known => {
                    if known.is_some() {
                        self.leave_out(format!(
                            "the inputs have several objects {:?} in GetUserInfo: all are kept, and FindObject finds the first",
                            info.name
                        ));
                    }
                    self.user_info.push(info.clone());
                }
            }
        }
        self.is_reshuffled |= record.entries_reshuffled();
        self.has_references |= record.references.is_some();
        self.flushed_bytes = self.flushed_bytes.saturating_add(record.flushed_bytes);
    }

    fn leave_out(&mut self, what: String) {
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }
}

/// The expressions of an index, and the values of each entry in the order of the tree.
type IndexedValues = ([String; 2], Vec<(i64, i64)>);

/// The values of an index; of some entries, if they are not all taken. `None` if it is not one of all entries.
fn values_of(
    index: &RecordedIndex,
    record: &TreeRecord,
    object_data: &[u8],
    taken: Option<&[Range<u64>]>,
) -> Option<IndexedValues> {
    let (major, minor) = index.names.clone()?;
    let sorted = index.sorted_values(object_data)?;
    if sorted.len() as u64 != record.n_entries {
        return None;
    }
    let mut values = vec![None; sorted.len()];
    for [major, minor, entry] in sorted {
        *values.get_mut(usize::try_from(entry).ok()?)? = Some((major, minor));
    }
    let values: Vec<(i64, i64)> = values.into_iter().collect::<Option<_>>()?;
    let values = match taken {
        None => values,
        Some(taken) => {
            let index = |entry: u64| usize::try_from(entry).ok();
            let of_range = |range: &Range<u64>| values.get(index(range.start)?..index(range.end)?);
            taken.iter().map(of_range).collect::<Option<Vec<_>>>()?.concat()
        }
    };
    Some(([major, minor], values))
}
