//! Objects and collections of them as ROOT splits them into branches.
//!
//! A column `x` of structs becomes a branch `x.` with a branch `x.pt` for each member; a list of structs a branch `x` of counts
//! with branches `x.pt` inside. A level is used up by each class around. What is left at level 0, and what ROOT never splits,
//! is one branch of whole objects: vectors of vectors, of texts and of numbers.
//!
//! Source: `TTree::BronchExec`, `TBranchElement::Init`, `TBranchElement::Unroll`, `TBranchElement::BuildTitle`,
//! `TStreamerElement::CannotSplit` (ROOT 6.40).

use std::sync::Arc;

use super::branches::{BranchForm, Content, PlannedBranch, Step, spend_name};
use super::error::Result;
use super::objects::{CppType, ObjectClass, Value};

/// `fID` of a whole object, and of one that is split.
const WHOLE: i32 = -1;
const SPLIT: i32 = -2;
/// `fType` of a member of an object, of a member that is split, of the counts of a collection, and of a member of its items.
const MEMBER: i32 = 0;
const CLASS_MEMBER: i32 = 2;
const COUNTS: i32 = 4;
const ITEM_MEMBER: i32 = 41;
/// `fStreamerType` of a whole object.
const NO_TYPE: i32 = -1;

/// The members that `TBranchElement` adds to a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementBranch {
    /// `fClassName`: the class whose members `id` counts, or that of the whole.
    pub class: ElementClassName,
    /// `fParentName`: the class that the branch was split out of; empty if none was.
    pub parent_class: String,
    /// `fClonesName`: the class of the items of a split collection.
    pub item_class: Option<Arc<ObjectClass>>,
    /// `fID`: the member of the class, or -1 for the whole, -2 for one that is split.
    pub id: i32,
    /// `fType`.
    pub node_type: i32,
    /// `fStreamerType`.
    pub streamer_type: i32,
    /// `fSplitLevel`.
    pub split_level: i32,
    /// `fOffset`: where in an item of a split collection the object is whose member it holds.
    pub offset: u32,
    /// Title of the branch and of its leaf.
    pub title: String,
}

/// A class that a branch names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElementClassName {
    /// One that is described in the file.
    Described(Arc<ObjectClass>),
    /// A container of the standard library.
    Container(String),
}

impl PlannedBranch {
    /// The branch of counts that its values are counted by, if there is one.
    pub fn counter(&self) -> Option<usize> {
        match self.form {
            BranchForm::Counted { counter, .. } => Some(counter),
            BranchForm::Streamed { counter, .. } => counter,
            BranchForm::Fixed(_) | BranchForm::Vectors(_) | BranchForm::Group => None,
        }
    }
}

/// Objects whose members become branches.
#[derive(Clone, Copy)]
struct Within<'c> {
    /// The branch that gets them.
    branch: usize,
    class: &'c Arc<ObjectClass>,
    /// `fParentName` of the branches.
    parent_class: &'c str,
    /// The way from the column to the objects.
    path: &'c [Step],
    /// The branch of counts, of a split collection.
    counter: Option<usize>,
    /// Where the objects are in the items of that.
    offset: u32,
}

/// Makes the branches of objects.
pub(super) struct Splitting<'p> {
    pub(super) branches: &'p mut Vec<PlannedBranch>,
    /// Number of the column.
    pub(super) column: usize,
    /// Bytes of the names so far.
    pub(super) name_bytes: &'p mut usize,
}

impl Splitting<'_> {
    /// The branches of a column of objects, or of lists of them.
    pub(super) fn column(&mut self, name: &str, value: Value, split_level: u8) -> Result<()> {
        let level = i32::from(split_level);
        if let Some((item, class)) = value.split_items().filter(|_| level > 0) {
            let element = ElementBranch {
                item_class: Some(Arc::clone(class)),
                node_type: COUNTS,
                split_level: level,
                title: format!("{name}_"),
                ..whole(&value, name)
            };
            let fixed = BranchForm::Fixed(Vec::new());
            let counter = self.push(name.to_owned(), None, value.steps.clone(), (Content::Counter, fixed), element)?;
            let path = [&value.steps, &[Step::Items][..], &item.steps].concat();
            let counter_place = Some(counter);
            let within = Within {
                branch: counter,
                class,
                parent_class: &class.name,
                path: &path,
                counter: counter_place,
                offset: 0,
            };
            return self.unroll(within, name, level);
        }
        let CppType::Object(class) = &value.held else {
            return self.whole(name, value);
        };
        if level == 0 {
            return self.whole(name, value);
        }
        let group = format!("{name}.");
        let element = ElementBranch { id: SPLIT, split_level: level, title: group.clone(), ..whole(&value, name) };
        let branch = self.push(group, None, value.steps.clone(), (Content::Objects, BranchForm::Group), element)?;
        let within = Within { branch, class, parent_class: &class.name, path: &value.steps, counter: None, offset: 0 };
        for (id, member) in class.members.iter().enumerate() {
            self.member(within, id, format!("{name}.{}", member.name), level - 1)?;
        }
        Ok(())
    }

    /// One branch of all.
    fn whole(&mut self, name: &str, value: Value) -> Result<()> {
        let element = whole(&value, name);
        let form = BranchForm::Streamed { value: Arc::new(value), counter: None };
        self.push(name.to_owned(), None, Vec::new(), (Content::Objects, form), element)?;
        Ok(())
    }

    /// The branch of a member, with others inside if it can be split.
    fn member(&mut self, within: Within<'_>, id: usize, name: String, level: i32) -> Result<()> {
        let value = &within.class.members[id].value;
        let path = [within.path, &value.steps].concat();
        if let Some((item, class)) = value.split_items().filter(|_| level > 0) {
            let element = ElementBranch {
                item_class: Some(Arc::clone(class)),
                node_type: COUNTS,
                title: format!("{name}_"),
                ..of_member(within, id, level)
            };
            let form = BranchForm::Fixed(Vec::new());
            let counter =
                self.push(name.clone(), Some(within.branch), path.clone(), (Content::Counter, form), element)?;
            let path = [&path, &[Step::Items][..], &item.steps].concat();
            let inside = Within {
                branch: counter,
                class,
                parent_class: &class.name,
                path: &path,
                counter: Some(counter),
                offset: 0,
            };
            return self.unroll(inside, &name, level);
        }
        match &value.held {
            CppType::Object(class) if level > 0 => {
                let element =
                    ElementBranch { node_type: CLASS_MEMBER, title: name.clone(), ..of_member(within, id, level) };
                let form = (Content::Objects, BranchForm::Group);
                let branch = self.push(name.clone(), Some(within.branch), path.clone(), form, element)?;
                let inside = Within { branch, class, parent_class: &class.name, path: &path, counter: None, offset: 0 };
                self.unroll(inside, &name, level)
            }
            CppType::Text | CppType::Vector { .. } => self.values(within, id, name, 0),
            _ => self.values(within, id, name, level),
        }
    }

    /// The branches of the members of a class. A class that is a member has no branch of its own here, but its members have.
    fn unroll(&mut self, within: Within<'_>, name: &str, level: i32) -> Result<()> {
        for (id, member) in within.class.members.iter().enumerate() {
            let name = format!("{name}.{}", member.name);
            match &member.value.held {
                CppType::Object(class) if level > 1 => {
                    let path = [within.path, &member.value.steps].concat();
                    let offset = match within.counter {
                        Some(_) => within.offset.saturating_add(within.class.offset_of(id)),
                        None => 0,
                    };
                    self.unroll(Within { class, path: &path, offset, ..within }, &name, level - 1)?;
                }
                CppType::Vector { .. } if within.counter.is_none() => self.member(within, id, name, level - 1)?,
                _ => self.values(within, id, name, 0)?,
            }
        }
        Ok(())
    }

    /// The branch of the values of a member.
    fn values(&mut self, within: Within<'_>, id: usize, mut name: String, split_level: i32) -> Result<()> {
        let member = &within.class.members[id];
        let mut path = within.path.to_vec();
        let values = match &member.value.held {
            CppType::Numbers { content, dims, inner, .. } => {
                path.extend(member.value.steps.iter().chain(inner));
                name.extend(dims.iter().map(|dim| format!("[{dim}]")));
                let form = match within.counter {
                    Some(counter) => BranchForm::Counted { counter, dims: dims.clone() },
                    None => BranchForm::Fixed(dims.clone()),
                };
                (*content, form)
            }
            _ => {
                let value = Arc::new(member.value.clone());
                (Content::Objects, BranchForm::Streamed { value, counter: within.counter })
            }
        };
        let title = match within.counter {
            Some(counter) => format!("{}[{}_]", member.name, self.branches[counter].name),
            None => name.clone(),
        };
        let element = ElementBranch { title, ..of_member(within, id, split_level) };
        self.push(name, Some(within.branch), path, values, element)?;
        Ok(())
    }

    fn push(
        &mut self,
        name: String,
        parent: Option<usize>,
        path: Vec<Step>,
        (content, form): (Content, BranchForm),
        element: ElementBranch,
    ) -> Result<usize> {
        spend_name(self.name_bytes, &name)?;
        let element = Some(Box::new(element));
        self.branches.push(PlannedBranch { name, column: self.column, path, content, form, parent, element });
        Ok(self.branches.len() - 1)
    }
}

/// A whole object, or collection.
fn whole(value: &Value, name: &str) -> ElementBranch {
    ElementBranch {
        class: match &value.held {
            CppType::Object(class) => ElementClassName::Described(Arc::clone(class)),
            _ => ElementClassName::Container(value.type_name()),
        },
        parent_class: String::new(),
        item_class: None,
        id: WHOLE,
        node_type: MEMBER,
        streamer_type: NO_TYPE,
        split_level: 0,
        offset: 0,
        title: name.to_owned(),
    }
}

/// A member of a class.
fn of_member(within: Within<'_>, id: usize, split_level: i32) -> ElementBranch {
    let member = &within.class.members[id];
    ElementBranch {
        class: ElementClassName::Described(Arc::clone(within.class)),
        parent_class: within.parent_class.to_owned(),
        item_class: None,
        id: i32::try_from(id).unwrap_or(i32::MAX),
        node_type: if within.counter.is_some() { ITEM_MEMBER } else { MEMBER },
        streamer_type: member.value.streamer_type(&member.name),
        split_level,
        offset: within.offset,
        title: String::new(),
    }
}
