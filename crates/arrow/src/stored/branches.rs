//! Which branches of a tree hold which columns: one list that the writer makes branches of, and the reader columns.
//!
//! | column `x` | branches |
//! |---|---|
//! | number or bool | `x` |
//! | text | `x`, a `/C` |
//! | fixed lists of numbers | `x[2][3]` |
//! | list of those, bytes | a counter `nx`, and `x[nx][2][3]` |
//! | struct | for each member `m`: those of a column `x_m` |
//! | list of structs, fixed lists of structs | those of their members, with the list around each: `x_m[nx]`, `x_m[3]` |
//! | map | as the list of structs with members `key` and `value` |
//! | lists in lists, texts in lists, lists in fixed lists | `vector<...>`; fixed lists are vectors there too |
//! | optional | those of the value, and a bool `x_isvalid` with the same lists around it |
//! | nothing | `x_isvalid` alone |
//!
//! Names are those of [`stored_name`]. A name that another branch has gets a `_` behind it: a column's own name goes before
//! names with endings, and those go before counters.

use std::collections::{HashMap, HashSet};

use arrowroot_format::column::DataType;
use arrowroot_format::streamer::Primitive;

use super::error::{Result, StoreError};
use super::names::stored_name;

/// A column, for the plan of branches.
#[derive(Debug, Clone)]
pub struct BranchColumn<'a> {
    /// Its name in Arrow.
    pub name: &'a str,
    /// Its stored type.
    pub data_type: &'a DataType,
    /// The name of the counter that its lists share with those of other columns. A column of that name and of numbers of 32
    /// bits is the counter itself. `None`: a counter of its own.
    pub counter: Option<&'a str>,
}

/// A branch of a tree that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedBranch {
    /// Name of the branch and of its leaf.
    pub name: String,
    /// Number of the column; of a shared counter, the first that shares it.
    pub column: usize,
    /// The way from the column to the values: to the list that a counter counts, to the optional whose validity it is.
    pub path: Vec<Step>,
    /// Its content.
    pub content: Content,
    /// How its values stand in an entry.
    pub form: BranchForm,
}

/// A step into a type, and into its [`Stored`](super::Stored) values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// From an optional to its value.
    Present,
    /// From a list or fixed list to its items; from bytes to each.
    Items,
    /// To a member of a struct: to key (0) and value (1) after the items of a map.
    Member(usize),
}

/// The content of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// How many items lists have, as `Int32`.
    Counter,
    /// True if optional values are there, as bools.
    Validity,
    /// Numbers or bools.
    Values(Primitive),
    /// Texts.
    Text,
}

/// How the values of a branch stand in an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchForm {
    /// One value, or a fixed list of fixed lists of such sizes, the outermost first: `x[2][3]`. A text has no sizes.
    Fixed(Vec<u32>),
    /// As many of those as a counter says: `x[nx][2][3]`.
    Counted {
        /// Place of the counter in the list of branches, before this one: [`Content::Counter`], or a column of numbers.
        counter: usize,
        /// Sizes of the fixed lists inside.
        dims: Vec<u32>,
    },
    /// So many vectors around each value: `vector<vector<float>>` has 2. A text is a `string` inside.
    Vectors(usize),
}

/// The branches of columns, in the order in which they are written: a counter before what it counts.
///
/// The names of all that are no counters depend on names and types of the columns alone.
///
/// # Errors
/// [`StoreError::SameName`] if two columns have the same name.
pub fn plan_branches(columns: &[BranchColumn<'_>]) -> Result<Vec<PlannedBranch>> {
    let mut seen = HashSet::with_capacity(columns.len());
    let mut drafts = Vec::new();
    let mut name_bytes = 0;
    for (place, column) in columns.iter().enumerate() {
        if !seen.insert(column.name) {
            return Err(StoreError::SameName { name: column.name.to_owned() });
        }
        let mut walk = Walk {
            column: place,
            path: Vec::new(),
            around: Vec::new(),
            drafts: &mut drafts,
            name_bytes: &mut name_bytes,
        };
        walk.visit(&stored_name(column.name), column.data_type)?;
    }
    let names = names_of(columns, &drafts);
    Ok(with_counters(columns, drafts, names))
}

/// Names repeat those of the structs around: a few bytes in a record of a schema could stand for any number of them.
const MAX_NAME_BYTES: usize = 64 << 20;

/// A list around values.
#[derive(Debug, Clone, Copy)]
enum Around {
    List,
    Fixed(u32),
}

/// A branch before it has its name, and its counter.
struct Draft {
    name: String,
    column: usize,
    path: Vec<Step>,
    content: Content,
    around: Vec<Around>,
    /// The way to its only list, and the name of the values there, if it is to be counted.
    counted: Option<(Vec<Step>, String)>,
}

struct Walk<'w> {
    column: usize,
    path: Vec<Step>,
    /// The lists around, with the way to each and the name of the values there.
    around: Vec<(Around, Vec<Step>, String)>,
    drafts: &'w mut Vec<Draft>,
    /// Bytes of the names so far.
    name_bytes: &'w mut usize,
}

impl Walk<'_> {
    fn visit(&mut self, name: &str, data_type: &DataType) -> Result<()> {
        *self.name_bytes += name.len();
        if *self.name_bytes > MAX_NAME_BYTES {
            let what = format!("branches whose names take more than {} MiB", MAX_NAME_BYTES >> 20);
            return Err(StoreError::NoLayout { column: name.chars().take(100).collect(), what });
        }
        match data_type {
            DataType::Primitive(primitive) => self.draft(name.to_owned(), Content::Values(*primitive)),
            DataType::Text => self.draft(name.to_owned(), Content::Text),
            DataType::Bytes => self.within(Around::List, name, |walk| {
                walk.draft(name.to_owned(), Content::Values(Primitive::UInt8));
                Ok(())
            })?,
            DataType::List(item) => self.within(Around::List, name, |walk| walk.visit(name, item))?,
            DataType::FixedList(item, n_items) => {
                self.within(Around::Fixed(*n_items), name, |walk| walk.visit(name, item))?;
            }
            DataType::Map(key, value) => self.within(Around::List, name, |walk| {
                walk.member(0, &format!("{name}_key"), key)?;
                walk.member(1, &format!("{name}_value"), value)
            })?,
            DataType::Struct(members) => {
                for (place, (member, of)) in members.iter().enumerate() {
                    self.member(place, &format!("{name}_{}", stored_name(member)), of)?;
                }
            }
            DataType::Optional(value) => {
                self.draft(format!("{name}_isvalid"), Content::Validity);
                if !matches!(**value, DataType::Nothing) {
                    self.path.push(Step::Present);
                    self.visit(name, value)?;
                    self.path.pop();
                }
            }
            DataType::Nothing | DataType::Link => {
                let what = "values of a type that is only read".to_owned();
                return Err(StoreError::NoLayout { column: name.to_owned(), what });
            }
        }
        Ok(())
    }

    fn member(&mut self, place: usize, name: &str, data_type: &DataType) -> Result<()> {
        self.path.push(Step::Member(place));
        self.visit(name, data_type)?;
        self.path.pop();
        Ok(())
    }

    fn within(&mut self, around: Around, name: &str, visit: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.around.push((around, self.path.clone(), name.to_owned()));
        self.path.push(Step::Items);
        visit(self)?;
        self.path.pop();
        self.around.pop();
        Ok(())
    }

    fn draft(&mut self, name: String, content: Content) {
        let is_list = |(around, ..): &&(Around, Vec<Step>, String)| matches!(around, Around::List);
        let is_counted = content != Content::Text
            && matches!(self.around.first(), Some((Around::List, ..)))
            && self.around.iter().filter(is_list).count() == 1;
        let counted = self.around.first().filter(|_| is_counted);
        self.drafts.push(Draft {
            name,
            column: self.column,
            path: self.path.clone(),
            content,
            around: self.around.iter().map(|(around, ..)| *around).collect(),
            counted: counted.map(|(_, path, name)| (path.clone(), name.clone())),
        });
    }
}

/// The first of `name`, `name_`, `name__`, ... that is not taken.
fn free_name(mut name: String, taken: &mut HashSet<String>) -> String {
    while taken.contains(&name) {
        name.push('_');
    }
    taken.insert(name.clone());
    name
}

/// The name of each draft.
fn names_of(columns: &[BranchColumn<'_>], drafts: &[Draft]) -> Vec<String> {
    let own: Vec<String> = columns.iter().map(|column| stored_name(column.name)).collect();
    let mut taken = HashSet::with_capacity(drafts.len());
    let mut names: Vec<Option<String>> = vec![None; drafts.len()];
    for is_own in [true, false] {
        for (name, draft) in names.iter_mut().zip(drafts) {
            if (draft.name == own[draft.column]) == is_own {
                *name = Some(free_name(draft.name.clone(), &mut taken));
            }
        }
    }
    names.into_iter().flatten().collect()
}

/// A counter of lists: of those at one place of a column, or of those of several columns.
#[derive(PartialEq, Eq, Hash)]
enum Counting {
    Alone(usize, Vec<Step>),
    Shared(String),
}

/// Gives the drafts their names and counters.
fn with_counters(columns: &[BranchColumn<'_>], drafts: Vec<Draft>, names: Vec<String>) -> Vec<PlannedBranch> {
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let explicit: HashMap<&str, usize> = drafts
        .iter()
        .enumerate()
        .filter(|(_, draft)| draft.path.is_empty() && draft.around.is_empty())
        .filter(|(_, draft)| matches!(draft.content, Content::Values(Primitive::Int32 | Primitive::UInt32)))
        .map(|(place, draft)| (columns[draft.column].name, place))
        .collect();
    let mut counters: HashMap<Counting, usize> = HashMap::new();
    // Places of drafts in the list of branches, of those that are there.
    let mut placed: Vec<Option<usize>> = vec![None; drafts.len()];
    let mut branches: Vec<PlannedBranch> = Vec::with_capacity(drafts.len());
    for (place, draft) in drafts.iter().enumerate() {
        if placed[place].is_some() {
            continue;
        }
        let form = match &draft.counted {
            Some((path, name)) => {
                // Those of the column itself, and not of its members.
                let is_outermost = path.iter().all(|step| *step == Step::Present);
                let shared = columns[draft.column].counter.filter(|_| is_outermost);
                let counting = shared.map_or_else(
                    || Counting::Alone(draft.column, path.clone()),
                    |name| Counting::Shared(name.to_owned()),
                );
                let counter = *counters.entry(counting).or_insert_with(|| {
                    let column = shared.and_then(|name| explicit.get(name));
                    if let Some(&column) = column {
                        *placed[column].get_or_insert_with(|| {
                            branches.push(planned(&drafts[column], &names[column], BranchForm::Fixed(Vec::new())));
                            branches.len() - 1
                        })
                    } else {
                        let name = shared.map_or_else(|| format!("n{name}"), stored_name);
                        branches.push(PlannedBranch {
                            name: free_name(name, &mut taken),
                            column: draft.column,
                            path: path.clone(),
                            content: Content::Counter,
                            form: BranchForm::Fixed(Vec::new()),
                        });
                        branches.len() - 1
                    }
                });
                BranchForm::Counted { counter, dims: sizes(&draft.around[1..]) }
            }
            None if draft.around.iter().any(|around| matches!(around, Around::List)) => {
                BranchForm::Vectors(draft.around.len())
            }
            None if draft.content == Content::Text && !draft.around.is_empty() => {
                BranchForm::Vectors(draft.around.len())
            }
            None => BranchForm::Fixed(sizes(&draft.around)),
        };
        placed[place] = Some(branches.len());
        branches.push(planned(draft, &names[place], form));
    }
    branches
}

fn planned(draft: &Draft, name: &str, form: BranchForm) -> PlannedBranch {
    PlannedBranch {
        name: name.to_owned(),
        column: draft.column,
        path: draft.path.clone(),
        content: draft.content,
        form,
    }
}

fn sizes(around: &[Around]) -> Vec<u32> {
    let size = |around: &Around| if let Around::Fixed(n_items) = around { Some(*n_items) } else { None };
    around.iter().filter_map(size).collect()
}

#[cfg(test)]
mod tests;
