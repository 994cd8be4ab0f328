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
//! | map that ROOT has a dictionary of, in no list | `x`, a `map<K,V>` |
//! | other map | as the list of structs with members `key` and `value` |
//! | lists in lists, texts in lists, lists in fixed lists | `vector<...>`; fixed lists are vectors there too |
//! | optional | those of the value, and a bool `x_isvalid` with the same lists around it |
//! | nothing | `x_isvalid` alone |
//!
//! A column that is written with a split level has objects of a class in place of structs (`objects.rs`), which `split.rs` makes
//! branches of. Lists of numbers may be vectors, too, where they would have a counter.
//!
//! Names are those of [`branch_name`]. A name that another branch has gets a `_` behind it: a column's own name goes before
//! names with endings, and those go before counters.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrowroot_format::column::DataType;
use arrowroot_format::streamer::{MAX_TYPE_NAME_BYTES, Primitive};

use super::error::{Result, StoreError};
use super::names::{branch_name, member_name, stored_name};
use super::objects::{CppType, MAX_DIMS, Maps, Member, Naming, ObjectClass, Value};
use super::split::{ElementBranch, Splitting};

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
    /// How its structs are objects of a class; `None`: each of their members is a column of its own.
    pub objects: Option<Objects<'a>>,
    /// True if its lists of numbers are vectors, not arrays that are counted.
    pub has_vectors: bool,
    /// How its maps are stored.
    pub maps: Maps,
    /// How floating-point numbers that are members of objects, or items of their vectors, are packed; `None`: not at all.
    pub packed: Option<PackedMembers<'a>>,
}

/// Members of objects in a packed type of ROOT's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedMembers<'a> {
    /// The numbers that are packed: `Float32` or `Float64`.
    pub of: Primitive,
    /// Their packed type: `Float16` or `Double32`.
    pub primitive: Primitive,
    /// Range and bits, as they stand behind a member: `[0,10,12]`; empty if nothing does.
    pub annotation: &'a str,
}

impl PackedMembers<'_> {
    /// The message where items of vectors are to have a range, or bits.
    ///
    /// Source: `TGenCollectionStreamer::WritePrimitives` (ROOT 6.40), which knows of none.
    pub fn in_vector(&self) -> String {
        format!(
            "{} with a range or bits in std::vector: ROOT packs items of vectors without any. \
             Name the type alone, or take mantissa, which is everywhere",
            self.primitive
        )
    }
}

/// How structs are stored as objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Objects<'a> {
    /// ROOT's split level, 0 to 99.
    pub split: u8,
    /// Name of the class; those of members that are structs follow from it.
    pub class: &'a str,
    /// True if somebody wants the classes to be called so, and nothing else. False: a hash of the members stands behind each name.
    pub is_named: bool,
}

impl<'a> BranchColumn<'a> {
    /// A column of the usual layout.
    pub fn new(name: &'a str, data_type: &'a DataType) -> Self {
        BranchColumn {
            name,
            data_type,
            counter: None,
            objects: None,
            has_vectors: false,
            maps: Maps::default(),
            packed: None,
        }
    }
}

/// A branch of a tree that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedBranch {
    /// Its name, which its leaf has, too, but for dimensions.
    pub name: String,
    /// Number of the column; of a shared counter, the first that shares it.
    pub column: usize,
    /// The way from the column to the values: to the list that a counter counts, to the optional whose validity it is.
    pub path: Vec<Step>,
    /// Its content.
    pub content: Content,
    /// How its values stand in an entry.
    pub form: BranchForm,
    /// Place of the branch that it is inside of, before this one.
    pub parent: Option<usize>,
    /// The record of a `TBranchElement`: for objects, their members, and collections of them.
    pub element: Option<Box<ElementBranch>>,
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
    /// Objects, and members that are more than numbers.
    Objects,
}

impl Content {
    /// The numbers that it consists of.
    pub fn primitive(self) -> Option<Primitive> {
        match self {
            Content::Counter => Some(Primitive::Int32),
            Content::Validity => Some(Primitive::Bool),
            Content::Values(primitive) => Some(primitive),
            Content::Text | Content::Objects => None,
        }
    }
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
    /// There are none: others are inside.
    Group,
    /// As the streamer of a class writes them.
    Streamed {
        /// The member, or the whole object or collection, of what the path leads to.
        value: Arc<Value>,
        /// Place of the branch that counts the items, where an entry has several.
        counter: Option<usize>,
    },
}

/// The branches of columns, in the order in which they are written: a counter before what it counts, a branch before those
/// inside of it.
///
/// The names of all that are no counters depend on names, types and split levels of the columns alone.
///
/// # Errors
/// [`StoreError::SameName`] if two columns have the same name.
pub fn plan_branches(columns: &[BranchColumn<'_>]) -> Result<Vec<PlannedBranch>> {
    let mut seen = HashSet::with_capacity(columns.len());
    let mut drafts = Vec::new();
    let mut own_names = Vec::with_capacity(columns.len());
    let mut name_bytes = 0;
    for (index, column) in columns.iter().enumerate() {
        if !seen.insert(column.name) {
            return Err(StoreError::SameName { name: column.name.to_owned() });
        }
        let mut walk = Walk {
            owner: index,
            path: Vec::new(),
            around: Vec::new(),
            drafts: &mut drafts,
            name_bytes: &mut name_bytes,
            class: column.objects.map(|objects| Naming { name: objects.class.to_owned(), is_given: objects.is_named }),
            packed: column.packed,
            is_member: false,
            maps: if column.objects.is_none() { column.maps } else { Maps::Listed },
        };
        let own = own_name(column);
        walk.visit(&own, column.data_type)?;
        own_names.push(own);
    }
    let names = names_of(&own_names, &drafts);
    with_counters(columns, drafts, names, &mut name_bytes)
}

/// The name of a column's own branch. That of objects has no dots, with which ROOT names the branches of their members.
fn own_name(column: &BranchColumn<'_>) -> String {
    if column.objects.is_some() { stored_name(column.name) } else { branch_name(column.name) }
}

/// Names repeat those of the structs around: a few bytes in a record of a schema could stand for any number of them.
const MAX_NAME_BYTES: usize = 64 << 20;

/// The longest name of a class: a hash of its members may come behind it, and vectors around it, and the whole is read as the
/// name of a type.
const MAX_CLASS_BYTES: usize = MAX_TYPE_NAME_BYTES - (1 << 10);

/// Counts the bytes of a name.
pub(super) fn spend_name(name_bytes: &mut usize, name: &str) -> Result<()> {
    *name_bytes += name.len();
    if *name_bytes > MAX_NAME_BYTES {
        let what = format!("branches whose names take more than {} MiB", MAX_NAME_BYTES >> 20);
        return Err(StoreError::NoLayout { column: name.chars().take(100).collect(), what });
    }
    Ok(())
}

/// A list around values.
#[derive(Debug, Clone, Copy)]
pub(super) enum Around {
    List,
    Fixed(u32),
}

impl Around {
    pub(super) fn size(&self) -> Option<u32> {
        if let Around::Fixed(n_items) = self { Some(*n_items) } else { None }
    }
}

/// A branch before it has its name, and its counter; or a member of a class before it has its name.
pub(super) struct Draft {
    name: String,
    /// Number of the column, or of the member, that it is of.
    owner: usize,
    pub(super) path: Vec<Step>,
    pub(super) content: Content,
    pub(super) around: Vec<Around>,
    /// The way to its only list, and the name of the values there, if it is to be counted.
    counted: Option<(Vec<Step>, String)>,
    /// The type of its objects, or of its maps.
    pub(super) held: Option<CppType>,
    /// Range and bits of packed numbers.
    pub(super) annotation: String,
}

impl Draft {
    /// True for a number, and fixed arrays of numbers that a member can be.
    pub(super) fn is_array(&self) -> bool {
        self.around.iter().all(|around| matches!(around, Around::Fixed(_))) && self.around.len() <= MAX_DIMS
    }
}

struct Walk<'w> {
    owner: usize,
    path: Vec<Step>,
    /// The lists around, with the way to each and the name of the values there.
    around: Vec<(Around, Vec<Step>, String)>,
    drafts: &'w mut Vec<Draft>,
    /// Bytes of the names so far.
    name_bytes: &'w mut usize,
    /// Name of the class of structs that are objects.
    class: Option<Naming>,
    /// How members of objects are packed.
    packed: Option<PackedMembers<'w>>,
    /// True inside of an object, or of a map.
    is_member: bool,
    /// How maps are stored.
    maps: Maps,
}

impl Walk<'_> {
    fn visit(&mut self, name: &str, data_type: &DataType) -> Result<()> {
        spend_name(self.name_bytes, name)?;
        match data_type {
            DataType::Primitive(primitive) => self.number(name, *primitive)?,
            DataType::Text => self.draft(name.to_owned(), Content::Text),
            DataType::Bytes => self.within(Around::List, name, |walk| walk.number(name, Primitive::UInt8))?,
            DataType::List(item) => self.within(Around::List, name, |walk| walk.visit(name, item))?,
            DataType::FixedList(item, n_items) => {
                self.within(Around::Fixed(*n_items), name, |walk| walk.visit(name, item))?;
            }
            DataType::Map(key, value) if self.class.is_some() => {
                self.within(Around::List, name, |walk| {
                    walk.object(name, &[("key", key.as_ref()), ("value", value.as_ref())])
                })?;
            }
            DataType::Struct(members) if self.class.is_some() => {
                let members: Vec<(&str, &DataType)> = members.iter().map(|(name, of)| (&**name, of)).collect();
                self.object(name, &members)?;
            }
            DataType::Map(key, value) if self.maps.holds(key, value, !self.around.is_empty()) => {
                self.map(name, key, value)?;
            }
            DataType::Map(key, value) => self.within(Around::List, name, |walk| {
                walk.member(0, &format!("{name}_key"), key)?;
                walk.member(1, &format!("{name}_value"), value)
            })?,
            DataType::Struct(members) => {
                for (index, (member, of)) in members.iter().enumerate() {
                    self.member(index, &format!("{name}_{}", stored_name(member)), of)?;
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
            DataType::Variant(_) => {
                let what = "values of several types in one place in a tree: make a column of each of them, or write an \
                            RNTuple (layout=\"rntuple\"), where they are a std::variant";
                return Err(StoreError::NoLayout { column: name.to_owned(), what: what.to_owned() });
            }
            DataType::Nothing | DataType::Link => {
                let what = "values of a type that is only read".to_owned();
                return Err(StoreError::NoLayout { column: name.to_owned(), what });
            }
        }
        Ok(())
    }

    fn member(&mut self, index: usize, name: &str, data_type: &DataType) -> Result<()> {
        self.path.push(Step::Member(index));
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

    /// An object of a class with these members.
    fn object(&mut self, name: &str, members: &[(&str, &DataType)]) -> Result<()> {
        let class = self.class.clone().unwrap_or_default();
        if class.name.len() > MAX_CLASS_BYTES {
            let what = format!(
                "objects of a class whose name takes {} bytes: {MAX_CLASS_BYTES} at most. Name it, as by classes={{\"x\": \"Muon\"}}",
                class.name.len()
            );
            return Err(StoreError::NoLayout { column: name.chars().take(100).collect(), what });
        }
        let own: Vec<String> = members.iter().map(|(member, _)| member_name(member)).collect();
        let mut drafts = Vec::new();
        for (index, (name, (_, of))) in own.iter().zip(members).enumerate() {
            let mut walk = Walk {
                owner: index,
                path: Vec::new(),
                around: Vec::new(),
                drafts: &mut drafts,
                name_bytes: self.name_bytes,
                class: Some(Naming { name: format!("{}_{name}", class.name), ..class }),
                packed: self.packed,
                is_member: true,
                maps: Maps::Listed,
            };
            walk.member(index, name, of)?;
        }
        let names = names_of(&own, &drafts);
        let member = |(name, draft): (String, &Draft)| Member { name, value: Value::of(draft) };
        let members = names.into_iter().zip(&drafts).map(member).collect();
        self.held(name, CppType::Object(Arc::new(ObjectClass::new(class, members))));
        Ok(())
    }

    /// A map of numbers or texts. Keys are what they are: packed ones could be equal.
    fn map(&mut self, name: &str, key: &DataType, value: &DataType) -> Result<()> {
        let mut drafts = Vec::new();
        for (index, (of, packed)) in [(key, None), (value, self.packed)].into_iter().enumerate() {
            let mut walk = Walk {
                owner: index,
                path: Vec::new(),
                around: Vec::new(),
                drafts: &mut drafts,
                name_bytes: self.name_bytes,
                class: None,
                packed,
                is_member: true,
                maps: Maps::Listed,
            };
            walk.member(index, name, of)?;
        }
        if let Some(packed) = self.packed
            && !packed.annotation.is_empty()
            && drafts.iter().any(|draft| draft.content == Content::Values(packed.primitive))
        {
            return Err(StoreError::NoLayout { column: name.to_owned(), what: packed.in_vector() });
        }
        if let [key, value] = &*drafts {
            self.held(name, CppType::Map(Arc::new(ObjectClass::of_pairs([key, value].map(Value::of)))));
        }
        Ok(())
    }

    /// A draft of objects or maps of a type.
    fn held(&mut self, name: &str, held: CppType) {
        self.draft(name.to_owned(), Content::Objects);
        if let Some(draft) = self.drafts.last_mut() {
            draft.held = Some(held);
        }
    }

    fn draft(&mut self, name: String, content: Content) {
        let is_list = |(around, ..): &&(Around, Vec<Step>, String)| matches!(around, Around::List);
        let is_counted = content.primitive().is_some()
            && matches!(self.around.first(), Some((Around::List, ..)))
            && self.around.iter().filter(is_list).count() == 1;
        let counted = self.around.first().filter(|_| is_counted);
        self.drafts.push(Draft {
            name,
            owner: self.owner,
            path: self.path.clone(),
            content,
            around: self.around.iter().map(|(around, ..)| *around).collect(),
            counted: counted.map(|(_, path, name)| (path.clone(), name.clone())),
            held: None,
            annotation: String::new(),
        });
    }

    /// A number, packed if it is a member of an object and its column says so.
    fn number(&mut self, name: &str, primitive: Primitive) -> Result<()> {
        let Some(packed) = self.packed.filter(|packed| self.is_member && packed.of == primitive) else {
            self.draft(name.to_owned(), Content::Values(primitive));
            return Ok(());
        };
        self.draft(name.to_owned(), Content::Values(packed.primitive));
        if let Some(draft) = self.drafts.last_mut() {
            draft.annotation = packed.annotation.to_owned();
            if !packed.annotation.is_empty() && !draft.is_array() {
                return Err(StoreError::NoLayout { column: name.to_owned(), what: packed.in_vector() });
            }
        }
        Ok(())
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

/// The name of each draft; `own`: those of the columns, or members, that they are of.
fn names_of(own: &[String], drafts: &[Draft]) -> Vec<String> {
    let mut taken = HashSet::with_capacity(drafts.len());
    let mut names: Vec<Option<String>> = vec![None; drafts.len()];
    for is_own in [true, false] {
        for (name, draft) in names.iter_mut().zip(drafts) {
            if (draft.name == own[draft.owner]) == is_own {
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
fn with_counters(
    columns: &[BranchColumn<'_>],
    drafts: Vec<Draft>,
    names: Vec<String>,
    name_bytes: &mut usize,
) -> Result<Vec<PlannedBranch>> {
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let explicit: HashMap<&str, usize> = drafts
        .iter()
        .enumerate()
        .filter(|(_, draft)| draft.path.is_empty() && draft.around.is_empty())
        .filter(|(_, draft)| matches!(draft.content, Content::Values(Primitive::Int32 | Primitive::UInt32)))
        .map(|(index, draft)| (columns[draft.owner].name, index))
        .collect();
    let mut counters: HashMap<Counting, usize> = HashMap::new();
    // Places of drafts in the list of branches, of those that are there.
    let mut placed: Vec<Option<usize>> = vec![None; drafts.len()];
    let mut branches: Vec<PlannedBranch> = Vec::with_capacity(drafts.len());
    for (index, draft) in drafts.iter().enumerate() {
        if placed[index].is_some() {
            continue;
        }
        let column = &columns[draft.owner];
        if draft.held.is_some() {
            let mut splitting = Splitting { branches: &mut branches, column: draft.owner, name_bytes };
            let split = column.objects.map_or(0, |objects| objects.split);
            splitting.column(&names[index], Value::of(draft), split)?;
            continue;
        }
        let form = match draft.counted.as_ref().filter(|_| !column.has_vectors) {
            Some((path, name)) => {
                // Those of the column itself, and not of its members.
                let is_outermost = path.iter().all(|step| *step == Step::Present);
                let shared = column.counter.filter(|_| is_outermost);
                let counting = shared.map_or_else(
                    || Counting::Alone(draft.owner, path.clone()),
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
                        let name = shared.map_or_else(|| format!("n{name}"), branch_name);
                        branches.push(PlannedBranch {
                            name: free_name(name, &mut taken),
                            column: draft.owner,
                            path: path.clone(),
                            content: Content::Counter,
                            form: BranchForm::Fixed(Vec::new()),
                            parent: None,
                            element: None,
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
        if let (BranchForm::Vectors(_), Some(packed)) = (&form, column.packed)
            && draft.content == Content::Values(packed.of)
            && !packed.annotation.is_empty()
        {
            return Err(StoreError::NoLayout { column: names[index].clone(), what: packed.in_vector() });
        }
        placed[index] = Some(branches.len());
        branches.push(planned(draft, &names[index], form));
    }
    Ok(branches)
}

fn planned(draft: &Draft, name: &str, form: BranchForm) -> PlannedBranch {
    PlannedBranch {
        name: name.to_owned(),
        column: draft.owner,
        path: draft.path.clone(),
        content: draft.content,
        form,
        parent: None,
        element: None,
    }
}

fn sizes(around: &[Around]) -> Vec<u32> {
    around.iter().filter_map(Around::size).collect()
}

#[cfg(test)]
mod tests;
