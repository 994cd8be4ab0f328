//! Classes: the members of each version, compiled from streamer information into steps.

use std::sync::Arc;

use super::data_type::{DataType, Name};
use super::node::Node;

/// What the name of a member adds to the size of an object: long names count as members do, as each place where a class
/// occurs has them once they become those of Arrow.
pub(super) fn name_size(name: &str) -> usize {
    name.len() / 32
}

/// The fewest bytes of a `TObject`.
pub(crate) const T_OBJECT_BYTES: usize = 10;

/// A class as its objects are stored and as they come out: one struct for all its versions in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Whether a byte count and version come before the members.
    pub is_framed: bool,
    /// What comes out: the members of base classes before those of the class. A member that some version does not have
    /// is optional.
    pub members: Arc<[(Name, DataType)]>,
    /// Its versions.
    pub variants: Vec<Variant>,
    /// How many values and lists an object is made of, with all that is in it, and the length of their names: see
    /// [`name_size`].
    pub(super) size: usize,
    /// How deep an object is nested, see [`Node::levels`].
    pub(super) levels: usize,
}

/// One version of a class. Cheap to clone: a class is a part of others, and of branches, in many places.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Version of the class.
    pub version: u16,
    /// Checksum of its members.
    pub checksum: u32,
    /// How its members are read, in order.
    pub steps: Arc<[Step]>,
    /// Places of the members that it does not have.
    pub absent: Arc<[usize]>,
    /// The fewest bytes of its members.
    min_bytes: usize,
    /// Why its objects cannot be read, if so.
    fault: Option<Arc<str>>,
    /// Whether it holds objects of classes that only the data tell.
    holds_objects: bool,
}

/// How a part of an object is read, and the places in the struct where its values go.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A member.
    Member(usize, Node),
    /// An array that another member counts.
    Counted {
        /// Where it goes.
        index: usize,
        /// One item.
        item: Node,
        /// Place of the counter.
        counter: usize,
        /// Items for each count.
        factor: u32,
        /// What stands before the items.
        head: CountedHead,
    },
    /// A base class.
    Base(Base),
    /// A base class that writes itself: as this node where the object is stored in one piece, but as its streamer
    /// information says where members are stored one by one.
    OwnBase(usize, Node),
    /// A `TObject`: version, unique number, status bits, and two bytes more if it is referenced.
    TObject {
        /// Place of `fUniqueID`.
        unique_id: usize,
        /// Place of `fBits`.
        bits: usize,
        /// Whether it is missing in objects whose class ignores it, which no streamer information tells.
        may_lack: bool,
    },
    /// The number of the process that a reference is of; of an object that has a UUID, that as text, which is passed over.
    Process {
        /// Where the number goes, or that there is none.
        index: usize,
        /// Place of the `fBits` that tell.
        bits: usize,
    },
    /// A member of this name that is read as the step says, but is of another kind than what comes out: there it is absent.
    PassedOver(Name, Box<Step>),
    /// What cannot be read.
    Unreadable(Arc<str>),
}

/// What stands before the items of a counted array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedHead {
    /// Nothing.
    Nothing,
    /// A byte that says whether items follow.
    Flag,
    /// A byte count and version.
    Frame,
    /// Nothing, and the counter says how many rows a triangle has.
    Triangle,
}

/// A base class, whose members go into the struct of the class that derives from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    /// Its name.
    pub name: String,
    /// Its versions. They have one before them where the object is stored in one piece.
    pub variants: Vec<Variant>,
    /// Which of them is meant where members are stored one by one.
    pub by_member: Option<usize>,
    /// Whether it is stored in one piece there, too, once for each object, as a `TNamed` is.
    pub is_whole: bool,
}

impl Class {
    /// A class whose members are stored as its versions say.
    pub fn new(name: &str, is_framed: bool, members: Vec<(Name, DataType)>, variants: Vec<Variant>) -> Self {
        let steps = variants.iter().flat_map(|variant| variant.steps.iter());
        let size = steps.fold(members.len(), |sum, step| match step {
            Step::Member(_, node) | Step::OwnBase(_, node) | Step::Counted { item: node, .. } => {
                sum.saturating_add(node.size())
            }
            _ => sum,
        });
        Class::of_size(size, name.to_owned(), is_framed, members.into(), variants)
    }

    pub(super) fn of_size(
        size: usize,
        name: String,
        is_framed: bool,
        members: Arc<[(Name, DataType)]>,
        variants: Vec<Variant>,
    ) -> Self {
        let levels = levels_of(&variants);
        Class { name, is_framed, members, variants, size, levels }
    }

    /// What comes out.
    pub fn data_type(&self) -> DataType {
        DataType::Struct(Arc::clone(&self.members))
    }

    /// How the member of a class that has no other is read.
    pub fn sole(&self) -> Option<&Node> {
        match &*self.variants.first()?.steps {
            [Step::Member(_, node)] => Some(node),
            _ => None,
        }
    }

    /// The fewest bytes of an object.
    pub fn min_bytes(&self) -> usize {
        let members = self.variants.iter().map(|variant| variant.min_bytes).min().unwrap_or(0);
        members.saturating_add(if self.is_framed { 2 } else { 0 })
    }
}

impl Variant {
    /// A version with these members.
    pub fn new(version: u16, checksum: u32, steps: Vec<Step>, absent: Vec<usize>) -> Self {
        Variant {
            version,
            checksum,
            min_bytes: steps.iter().fold(0_usize, |sum, step| sum.saturating_add(step.min_bytes())),
            fault: steps.iter().find_map(Step::fault).map(Arc::from),
            holds_objects: steps.iter().any(Step::holds_objects),
            steps: steps.into(),
            absent: absent.into(),
        }
    }

    /// The fewest bytes of the members of an object.
    pub fn min_bytes(&self) -> usize {
        self.min_bytes
    }

    /// Why objects of this version cannot be read, if so.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}

impl Step {
    fn holds_objects(&self) -> bool {
        match self {
            Step::Member(_, node) | Step::OwnBase(_, node) | Step::Counted { item: node, .. } => node.holds_objects(),
            Step::Base(base) => base.variants.iter().any(|variant| variant.holds_objects),
            Step::PassedOver(_, step) => step.holds_objects(),
            Step::TObject { .. } | Step::Process { .. } | Step::Unreadable(_) => false,
        }
    }

    fn fault(&self) -> Option<&str> {
        match self {
            Step::Member(_, node) | Step::OwnBase(_, node) => node.fault(),
            Step::Counted { .. } | Step::TObject { .. } | Step::Process { .. } => None,
            Step::Base(base) => base.fault(),
            Step::PassedOver(_, step) => step.fault(),
            Step::Unreadable(why) => Some(why),
        }
    }

    /// How deep what it reads is nested, see [`Node::levels`].
    fn levels(&self) -> usize {
        match self {
            Step::Member(_, node) | Step::OwnBase(_, node) => node.levels(),
            Step::Counted { item, .. } => item.levels().saturating_add(1),
            Step::Base(base) => levels_of(&base.variants),
            Step::PassedOver(_, step) => step.levels(),
            Step::TObject { .. } | Step::Process { .. } | Step::Unreadable(_) => 1,
        }
    }

    /// The fewest bytes that it takes.
    fn min_bytes(&self) -> usize {
        match self {
            Step::Member(_, node) | Step::OwnBase(_, node @ Node::List(_)) => node.min_bytes(),
            // Member by member, nothing of a text is stored, and of a reference not all.
            Step::OwnBase(..) => 0,
            Step::Counted { head: CountedHead::Nothing | CountedHead::Triangle, .. } | Step::Unreadable(_) => 0,
            // Of a UUID the length, of the number two bytes.
            Step::Counted { .. } | Step::Process { .. } => 1,
            Step::Base(base) => base.variants.iter().map(|variant| variant.min_bytes).min().unwrap_or(0),
            Step::PassedOver(_, step) => step.min_bytes(),
            Step::TObject { may_lack: true, .. } => 0,
            Step::TObject { may_lack: false, .. } => T_OBJECT_BYTES,
        }
    }
}

impl Base {
    fn fault(&self) -> Option<&str> {
        all_faulty(&self.variants)
    }
}

/// How deep the members of a class are nested, with the class.
fn levels_of(variants: &[Variant]) -> usize {
    let steps = variants.iter().flat_map(|variant| variant.steps.iter());
    steps.map(Step::levels).max().unwrap_or(0).saturating_add(1)
}

/// Why no version of a class can be read, if so.
fn all_faulty(variants: &[Variant]) -> Option<&str> {
    let mut last = None;
    for variant in variants {
        last = Some(variant.fault()?);
    }
    last
}

impl Node {
    /// Why a value can never be read, if so. Lists may be empty and pointers null: what is behind them does not count.
    pub fn fault(&self) -> Option<&str> {
        match self {
            Node::Unreadable(why) => Some(why),
            Node::Framed(node) | Node::Fixed(node, 1..) => node.fault(),
            Node::Object(class) | Node::Sole(class) | Node::MembersOfEach(class) => all_faulty(&class.variants),
            Node::Named(named) => named.node.fault(),
            Node::Converted(conversion) => conversion.stored.fault(),
            Node::Struct(members) => members.iter().find_map(|(_, node)| node.fault()),
            _ => None,
        }
    }

    /// Whether it holds objects of classes that only the data tell.
    pub fn holds_objects(&self) -> bool {
        match self {
            Node::Any(_) | Node::NamedAny(_) | Node::ClonesOf(_) => true,
            Node::List(node) | Node::Fixed(node, _) | Node::Framed(node) | Node::ToEnd(node) | Node::ToFit(node) => {
                node.holds_objects()
            }
            Node::CountedBy { item, .. } | Node::ArrayOfEach { item, .. } => item.holds_objects(),
            Node::Map(map) => map.key.holds_objects() || map.value.holds_objects(),
            Node::Converted(conversion) => conversion.stored.holds_objects(),
            Node::Pointer(pointer) | Node::Named(pointer) => pointer.node.holds_objects(),
            Node::Object(class) | Node::Sole(class) | Node::MembersOfEach(class) => {
                class.variants.iter().any(|variant| variant.holds_objects)
            }
            Node::Struct(members) => members.iter().any(|(_, node)| node.holds_objects()),
            _ => false,
        }
    }

    /// How many lists, structs and bases are nested in it, with the number or text in them: 1 for a number. Arrow's types
    /// are no deeper.
    pub fn levels(&self) -> usize {
        let inner: usize = match self {
            Node::Framed(node) => return node.levels(),
            Node::Object(class) => return class.levels,
            Node::Sole(class) => return class.levels.saturating_sub(1).max(1),
            Node::Pointer(pointer) | Node::Named(pointer) => return pointer.node.levels(),
            Node::Converted(conversion) => return conversion.stored.levels(),
            Node::List(node) | Node::Fixed(node, _) | Node::ToEnd(node) | Node::ToFit(node) => node.levels(),
            Node::CountedBy { item, .. } => item.levels(),
            Node::ArrayOfEach { item, .. } => item.levels().saturating_add(1),
            Node::Map(map) => map.key.levels().max(map.value.levels()).saturating_add(1),
            Node::Any(any) | Node::NamedAny(any) => {
                any.alternatives.iter().map(|pointer| pointer.node.levels()).max().unwrap_or(0)
            }
            Node::ClonesOf(clones) => clones.item.levels(),
            Node::MembersOfEach(class) => class.levels,
            Node::Struct(members) => members.iter().map(|(_, node)| node.levels()).max().unwrap_or(0),
            _ => 0,
        };
        inner.saturating_add(1)
    }

    /// How many values and lists it is made of.
    pub fn size(&self) -> usize {
        let inner: usize = match self {
            Node::List(node) | Node::Fixed(node, _) | Node::Framed(node) | Node::ToEnd(node) | Node::ToFit(node) => {
                node.size()
            }
            Node::CountedBy { item, .. } | Node::ArrayOfEach { item, .. } => item.size(),
            Node::Map(map) => map.key.size().saturating_add(map.value.size()),
            Node::Pointer(pointer) | Node::Named(pointer) => pointer.node.size(),
            Node::Any(any) | Node::NamedAny(any) => {
                any.alternatives.iter().fold(2, |sum, p| sum.saturating_add(p.node.size()))
            }
            Node::ClonesOf(clones) => clones.item.size(),
            Node::Converted(conversion) => conversion.stored.size(),
            Node::Object(class) | Node::Sole(class) | Node::MembersOfEach(class) => class.size,
            Node::Struct(members) => members.iter().fold(0, |sum, (_, node)| sum.saturating_add(node.size())),
            _ => 0,
        };
        inner.saturating_add(1)
    }
}
