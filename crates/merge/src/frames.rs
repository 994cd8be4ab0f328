//! Directories that become one, as those of ALICE's data frames (`DF_1`, `DF_2`, ...), and the columns of their trees that hold
//! numbers of rows of other trees.
//!
//! Source: AliceO2, `Framework/AODMerger`, which says which tree a column is about, and what becomes of rows of none.

use ahash::{HashMap, HashMapExt};
use arrowroot::FileKey;
use arrowroot::format::streamer::Primitive;
use arrowroot::format::tree::{Branch, LeafKind, TreeRecord};

use crate::rules::matches;

const COLUMN: &str = "fIndex";
/// Columns of several rows for each entry: any number of them, or the first and the last one.
const OF_SEVERAL: [&str; 2] = ["Array", "Slice"];
/// The end of names of counters.
const COUNTER: &str = "_size";
/// Trees of names that columns have begin with this.
const TREE: &str = "O2";

/// The directories of the inputs that become one.
pub(crate) struct Frames {
    /// The names of those are of this pattern.
    pattern: String,
    /// The name of the first one, which is that of the output, with a slash.
    directory: Option<String>,
    /// The indices of the trees in it.
    pub(crate) tables: Option<Vec<usize>>,
}

impl Frames {
    pub(crate) fn new(pattern: String) -> Frames {
        Frames { pattern, directory: None, tables: None }
    }

    /// The pattern, if no directory has been of it.
    pub(crate) fn unused(self) -> Option<String> {
        self.directory.is_none().then_some(self.pattern)
    }

    /// The keys of an input that are in no such directory, and those of each: they are called as in the output.
    pub(crate) fn split(&mut self, keys: &[FileKey]) -> (Vec<FileKey>, Vec<(String, Vec<FileKey>)>) {
        let (mut others, mut frames): (Vec<FileKey>, Vec<(String, Vec<FileKey>)>) = (Vec::new(), Vec::new());
        for key in keys {
            let is_meant = |name: &str| matches(&self.pattern, name);
            if key.is_directory && key.directory.is_empty() && is_meant(&key.key.name) {
                continue;
            }
            let Some((name, inside)) = key.directory.split_once('/').filter(|(name, _)| is_meant(name)) else {
                others.push(key.clone());
                continue;
            };
            let output = self.directory.get_or_insert_with(|| name.to_owned());
            let moved = FileKey { directory: format!("{output}/{inside}"), ..key.clone() };
            match frames.iter_mut().find(|(known, _)| known == name) {
                Some((_, keys)) => keys.push(moved),
                None => frames.push((name.to_owned(), vec![moved])),
            }
        }
        (others, frames)
    }
}

/// The rows of a tree: in the directories before, and in this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) before: u64,
    pub(crate) here: u64,
}

/// The rows of trees by their names without a version.
#[derive(Debug)]
pub struct RowsByTree(HashMap<String, Option<Rows>>);

impl RowsByTree {
    /// `tables`: names of trees, and their rows.
    pub(crate) fn new(tables: impl IntoIterator<Item = (String, Rows)>) -> RowsByTree {
        let mut by_name = HashMap::new();
        for (name, rows) in tables {
            let known = by_name.entry(without_version(&name).to_owned()).or_insert(Some(rows));
            if *known != Some(rows) {
                *known = None;
            }
        }
        RowsByTree(by_name)
    }

    /// True if a branch of a tree numbers rows.
    pub(crate) fn numbers_rows(branch: &Branch, tree: &str) -> bool {
        table_of(&branch.name, tree).is_some()
    }

    /// The rows that a branch of a tree numbers; `None` if it numbers none.
    ///
    /// # Errors
    /// If there is no such tree, or if values are no numbers of rows.
    pub(crate) fn rows_of(&self, tree: &str, record: &TreeRecord, branch: &Branch) -> Result<Option<Rows>, String> {
        let Some(table) = table_of(&branch.name, tree) else { return Ok(None) };
        let of_column = |what: String| format!("branch {:?} has numbers of rows, {what}", branch.name);
        let is_number = |leaf| record.leaf(leaf).kind == LeafKind::Number(Primitive::Int32);
        if !matches!(&*branch.leaves, [leaf] if is_number(*leaf)) {
            return Err(of_column("but not of 32 bits".to_owned()));
        }
        match self.0.get(&table) {
            Some(Some(rows)) => Ok(Some(*rows)),
            Some(None) => Err(of_column(format!("and there are two trees {table} of other numbers of rows"))),
            None => Err(of_column(format!("and there is no tree {table} beside: the directories cannot be joined"))),
        }
    }
}

/// The tree, without its version, whose rows a column numbers: `fIndex`, `Array` or `Slice`, its name in the plural, and `_` with
/// what the rows are; without a name its own.
fn table_of(column: &str, tree: &str) -> Option<String> {
    let rest = column.strip_prefix(COLUMN)?;
    if column.ends_with(COUNTER) {
        return None;
    }
    let rest = OF_SEVERAL.iter().find_map(|of_several| rest.strip_prefix(of_several)).unwrap_or(rest);
    let plural = without_version(rest);
    Some(match plural.char_indices().next_back() {
        None => without_version(tree).to_owned(),
        Some((end, _)) => format!("{TREE}{}", plural[..end].to_lowercase()),
    })
}

fn without_version(name: &str) -> &str {
    name.split_once('_').map_or(name, |(name, _)| name)
}

/// Rows of a column that get other numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shift(pub(crate) Rows);

/// The lowest numbers of a tree, which are below zero: those stand for no row, and each for one group.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lowest {
    /// In the directories before.
    pub(crate) before: i32,
    /// In all.
    pub(crate) now: i32,
}

impl Shift {
    /// Gives rows the numbers that they have in the output. `data`: the values of a basket, as they are stored.
    ///
    /// # Errors
    /// A row that is not there, or too many of them.
    pub(crate) fn apply(self, data: &mut [u8], lowest: &mut Lowest) -> Result<(), String> {
        let Shift(Rows { before, here }) = self;
        let too_many = || "more rows than 32 bits number".to_owned();
        let before = i32::try_from(before).map_err(|_| too_many())?;
        let (values, rest) = data.as_chunks_mut::<4>();
        if !rest.is_empty() {
            return Err("values of other than 32 bits".to_owned());
        }
        for value in values {
            let row = i32::from_be_bytes(*value);
            let moved = match u64::try_from(row) {
                Ok(number) if number >= here => return Err(format!("row {row} of {here}")),
                Ok(_) => row.checked_add(before),
                Err(_) => row.checked_add(lowest.before),
            };
            let moved = moved.ok_or_else(too_many)?;
            lowest.now = lowest.now.min(moved);
            *value = moved.to_be_bytes();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_say_whose_rows_they_number() {
        for (column, tree, table) in [
            ("fIndexCollisions", "O2track_iu", Some("O2collision")),
            ("fIndexBCs", "O2collision_001", Some("O2bc")),
            ("fIndexTracks_Pos", "O2v0_002", Some("O2track")),
            ("fIndexArray_Mothers", "O2mcparticle_001", Some("O2mcparticle")),
            ("fIndexArrayMcParticles", "O2mccalolabel_001", Some("O2mcparticle")),
            ("fIndexSlice_Daughters", "O2mcparticle_001", Some("O2mcparticle")),
            ("fIndexSliceTracks", "O2mfttrack", Some("O2track")),
            ("fIndexArray_Mothers_size", "O2mcparticle_001", None),
            ("fPosX", "O2collision_001", None),
        ] {
            assert_eq!(table_of(column, tree).as_deref(), table, "{column}");
        }
    }

    #[test]
    fn rows_of_none_keep_a_number_of_their_own_for_each_directory() {
        let stored = |rows: &[i32]| rows.iter().flat_map(|row| row.to_be_bytes()).collect::<Vec<u8>>();
        let mut data = stored(&[0, 2, -1, -2]);
        let mut lowest = Lowest { before: -3, now: -3 };
        Shift(Rows { before: 10, here: 3 }).apply(&mut data, &mut lowest).unwrap();
        assert_eq!((data, lowest.now), (stored(&[10, 12, -4, -5]), -5));
    }

    #[test]
    fn rows_that_are_not_there_are_an_error() {
        let mut lowest = Lowest::default();
        let mut apply = |row: i32, before, data: &[u8]| {
            Shift(Rows { before, here: 3 }).apply(&mut [&row.to_be_bytes(), data].concat(), &mut lowest)
        };
        assert_eq!(apply(3, 0, b""), Err("row 3 of 3".to_owned()));
        assert!(apply(2, 1 << 31, b"").is_err());
        assert!(apply(2, (1 << 31) - 2, b"").is_err());
        assert!(apply(2, 0, b"x").is_err());
        assert_eq!(apply(2, (1 << 31) - 3, b""), Ok(()));
    }

    #[test]
    fn trees_of_one_name_must_have_as_many_rows() {
        let rows = |here| Rows { before: 0, here };
        let tables = RowsByTree::new([
            ("O2track".to_owned(), rows(3)),
            ("O2track_iu".to_owned(), rows(3)),
            ("O2v0_001".to_owned(), rows(1)),
            ("O2v0_002".to_owned(), rows(2)),
        ]);
        assert_eq!((tables.0["O2track"], tables.0["O2v0"]), (Some(rows(3)), None));
    }
}
