//! What a branch is, apart from the numbers that differ from file to file.

use std::borrow::Cow;
use std::sync::Arc;

use super::attributes::FillAttributes;
use super::ids::{BranchId, LeafId};
use crate::error::{Error, Result};
use crate::output::Output;
use crate::streamer::name_text;

/// Class versions of `TBranch` and `TBranchElement` that ROOT 6.40 writes.
const BRANCH_VERSION: u16 = 13;
const ELEMENT_VERSION: u16 = 10;

/// What the record says of a branch that files of one schema have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchDescription {
    /// Class: `TBranch`, `TBranchElement`, ...
    pub class: Cow<'static, str>,
    /// Version of `TBranch`.
    pub version: u16,
    /// `fBits` of the branch as a `TObject`.
    pub bits: u32,
    /// `fName`.
    pub name: String,
    /// `fTitle`: the leaf list, or the name again.
    pub title: String,
    /// `TAttFill`.
    pub fill: FillAttributes,
    /// `fOffset`: place of the member in the object in memory.
    pub offset: i32,
    /// `fSplitLevel`.
    pub split_level: i32,
    /// Feature bits of new baskets; bit 0: entry offsets may have to be generated.
    pub io_features: u8,
    /// The branch that this one is inside of.
    pub parent: Option<BranchId>,
    /// The branches inside this one.
    pub branches: Vec<BranchId>,
    /// The leaves, in the order of their values in an entry.
    pub leaves: Vec<LeafId>,
    /// `fFileName`: the file with the baskets, if it is another one.
    pub file_name: String,
    /// What a `TBranchElement` knows more.
    pub element: Option<ElementPart>,
    /// The additional members of a `TBranchClones`.
    pub clones: Option<Box<ClonesPart>>,
    /// `fClassName` of a `TBranchObject`: the class of its objects, unless their pointers say another one.
    pub object_class: Option<Box<str>>,
    /// `fBits` of `fBranches` and `fLeaves`.
    pub(super) array_bits: [u32; 2],
}

/// The members that `TBranchElement` adds: which part of which class a branch holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementPart {
    /// Version of `TBranchElement`.
    pub version: u16,
    /// `fClassName`: the class whose elements `id` counts.
    pub class_name: String,
    /// `fParentName`: class of the branch around.
    pub parent_name: String,
    /// `fClonesName`: class of the items of a split collection.
    pub clones_name: String,
    /// `fCheckSum` of that class.
    pub checksum: u32,
    /// `fClassVersion`.
    pub class_version: i32,
    /// `fID`: element of the class; -1 the whole object, -2 a split node.
    pub id: i32,
    /// `fType`: the kind of node; -1, 0, 1, 2, 3, 4, 31, 41.
    pub node_type: i32,
    /// `fStreamerType`: type code of the element in the writer's memory.
    pub streamer_type: i32,
    /// `fBranchCount`: the branch with the counts.
    pub counter: Option<BranchId>,
    /// `fBranchCount2`: the branch with the counts of arrays inside.
    pub second_counter: Option<BranchId>,
}

/// The members that `TBranchClones` adds: it has the branches of the objects of a `TClonesArray`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClonesPart {
    /// Version of `TBranchClones`.
    pub version: u16,
    /// `fMaxBaskets` and `fWriteBasket`; it has no baskets itself.
    pub n_baskets: [i32; 2],
    /// `fBranchCount`: the branch with the number of objects of each entry.
    pub counter: Option<BranchId>,
    /// `fClassName`: the class of the objects.
    pub class_name: String,
    /// True if the counter stands last among the branches inside, and in no list.
    pub is_counter_beside: bool,
}

impl Default for BranchDescription {
    /// As ROOT 6.40 writes that of a `TBranch`, without a name.
    fn default() -> Self {
        BranchDescription {
            class: Cow::Borrowed("TBranch"),
            version: BRANCH_VERSION,
            bits: 0,
            name: String::new(),
            title: String::new(),
            fill: FillAttributes::DEFAULT,
            offset: 0,
            split_level: 0,
            io_features: 0,
            parent: None,
            branches: Vec::new(),
            leaves: Vec::new(),
            file_name: String::new(),
            element: None,
            clones: None,
            object_class: None,
            array_bits: [0; 2],
        }
    }
}

impl Default for ElementPart {
    /// As ROOT 6.40 writes it: an object as a whole.
    fn default() -> Self {
        ElementPart {
            version: ELEMENT_VERSION,
            class_name: String::new(),
            parent_name: String::new(),
            clones_name: String::new(),
            checksum: 0,
            class_version: 0,
            id: -1,
            node_type: 0,
            streamer_type: -1,
            counter: None,
            second_counter: None,
        }
    }
}

impl ElementPart {
    /// Whether it is a base class that was split.
    pub fn is_base(&self) -> bool {
        self.node_type == 1
    }

    /// Whether it was split: its members, if it has any, are the branches inside.
    pub fn is_split(&self) -> bool {
        matches!(self.node_type, 1..=4) || self.id == -2
    }

    /// True if it is a member of the objects of a split collection.
    pub fn is_in_collection(&self) -> bool {
        matches!(self.node_type, 31 | 41)
    }

    /// Whether it is the member of a `std::array` that holds the items.
    pub fn is_in_array(&self) -> bool {
        self.id >= 0 && self.class_name.starts_with("array<")
    }

    /// Writes what stands before the pointers to the counting branches; `maximum` is `fMaximum`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if it is of a version before 8 (ROOT 3.5), or the version of its class does not fit.
    pub(super) fn write_numbers(&self, maximum: i32, output: &mut Output) -> Result<()> {
        if !(8..=10).contains(&self.version) {
            let what = format!("TBranchElement of version {} is not written", self.version);
            return Err(Error::unsupported(output.position(), what));
        }
        for name in [&self.class_name, &self.parent_name, &self.clones_name] {
            output.string(name.as_bytes())?;
        }
        output.u32(self.checksum);
        if self.version >= 10 {
            let class_version = i16::try_from(self.class_version).map_err(|_| {
                Error::unsupported(
                    output.position(),
                    format!("class {} of version {}", self.class_name, self.class_version),
                )
            })?;
            output.i16(class_version);
        } else {
            output.i32(self.class_version);
        }
        for number in [self.id, self.node_type, self.streamer_type, maximum] {
            output.i32(number);
        }
        Ok(())
    }
}

/// A description while it is read. Its longest texts are those of the record still: most descriptions are known already.
#[derive(Default)]
pub(super) struct ReadDescription<'a> {
    pub(super) name: &'a [u8],
    pub(super) title: &'a [u8],
    /// `fClassName`, `fParentName` and `fClonesName` of an element.
    pub(super) element_names: [&'a [u8]; 3],
    /// All else; the texts above are empty in it.
    pub(super) rest: BranchDescription,
}

impl ReadDescription<'_> {
    /// The description: the known one if it is the same.
    pub(super) fn shared(self, known: Option<&Arc<BranchDescription>>) -> Arc<BranchDescription> {
        if let Some(known) = known.filter(|known| self.is(known)) {
            return Arc::clone(known);
        }
        let ReadDescription { name, title, element_names, rest } = self;
        let [class_name, parent_name, clones_name] = element_names.map(text);
        let element = rest.element.map(|element| ElementPart { class_name, parent_name, clones_name, ..element });
        Arc::new(BranchDescription { name: name_text(name), title: name_text(title), element, ..rest })
    }

    /// True if all members are equal. None may be left out: they decide what a branch holds.
    fn is(&self, known: &BranchDescription) -> bool {
        let BranchDescription {
            class,
            version,
            bits,
            name,
            title,
            fill,
            offset,
            split_level,
            io_features,
            parent,
            branches,
            leaves,
            file_name,
            element,
            clones,
            object_class,
            array_bits,
        } = known;
        let read = &self.rest;
        // No known text has what takes the place of other bytes where these are the same.
        (name.as_bytes(), title.as_bytes()) == (self.name, self.title)
            && (&read.class, &read.file_name) == (class, file_name)
            && (read.version, read.bits, read.offset) == (*version, *bits, *offset)
            && (read.split_level, read.io_features, read.parent) == (*split_level, *io_features, *parent)
            && (&read.fill, &read.array_bits) == (fill, array_bits)
            && (&read.branches, &read.leaves) == (branches, leaves)
            && (&read.clones, &read.object_class) == (clones, object_class)
            && match (&read.element, element) {
                (None, None) => true,
                (Some(read), Some(element)) => self.is_element(read, element),
                _ => false,
            }
    }

    fn is_element(&self, read: &ElementPart, known: &ElementPart) -> bool {
        let ElementPart {
            version,
            class_name,
            parent_name,
            clones_name,
            checksum,
            class_version,
            id,
            node_type,
            streamer_type,
            counter,
            second_counter,
        } = known;
        self.element_names == [class_name, parent_name, clones_name].map(|name| name.as_bytes())
            && (read.version, read.checksum, read.class_version) == (*version, *checksum, *class_version)
            && (read.id, read.node_type, read.streamer_type) == (*id, *node_type, *streamer_type)
            && (read.counter, read.second_counter) == (*counter, *second_counter)
    }
}

/// A text as [`Cursor::string`](crate::cursor::Cursor::string) reads it.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
