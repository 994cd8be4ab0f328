//! How a value inside an entry is stored.

use std::sync::Arc;

use super::class::{Class, CountedHead};
use super::data_type::{DataType, Name};
use crate::streamer::{PackedType, Packing, PackingRange, Primitive};

/// A number as it is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    /// Its C++ type.
    pub primitive: Primitive,
    /// How `Float16` and `Double32` are packed; `Plain` for all others.
    pub packing: Packing,
}

/// A value inside an entry, as it is streamed.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// A number.
    Number(Number),
    /// A counted string.
    Text,
    /// A string behind a 4-byte length (`char*`).
    LongText,
    /// A counted string of which nothing is written if it is empty (`TLeafC`).
    TextOrNothing,
    /// `TObject::fBits`: 4 bytes, and 2 more if the object is referenced.
    Bits,
    /// A 4-byte count and the items.
    List(Box<Node>),
    /// As many items as another member of the same struct says, times a factor.
    CountedBy {
        /// One item.
        item: Box<Node>,
        /// Place of the counter among the members.
        member: usize,
        /// Items for each count.
        factor: u32,
    },
    /// As many items as fill the entry: the leaf that counts them is in another branch, and the same one counts for all
    /// such members. What follows them has a fixed size.
    ToFit(Box<Node>),
    /// Always the same number of items.
    Fixed(Box<Node>, u32),
    /// A 4-byte count and pairs, or all keys and then all values.
    Map(Box<MapNode>),
    /// Members one after the other.
    Struct(Vec<(Name, Node)>),
    /// Items up to the end of the entry.
    ToEnd(Box<Node>),
    /// As many objects as another branch says for each entry, one member of all of them after the other.
    MembersOfEach(Arc<Class>),
    /// A byte count and version, and then a value. One such frame stands before all values of a column.
    Framed(Box<Node>),
    /// An object: byte count, version of its class, members.
    Object(Arc<Class>),
    /// An object of a class with one member, which is shown in its place: a `std::array` in a collection.
    Sole(Arc<Class>),
    /// Null, an object behind the name of its class, or a reference to one.
    Pointer(Box<Pointer>),
    /// An object behind the name of its class (`TLeafObject`): a byte of length, the name and a zero.
    Named(Box<Pointer>),
    /// An object of one of several classes behind the name of its class, up to the end of the entry.
    NamedAny(Box<AnyNode>),
    /// What the latest version of the class holds as another type.
    Converted(Box<Conversion>),
    /// What cannot be read, and why. Lists of them may be empty and pointers to them null.
    Unreadable(Arc<str>),
    /// A pointer to an object of any class, which becomes a part of the graph that is read.
    Link,
    /// What cannot be read, and why, but is passed over where a byte count tells its end. Only in graphs.
    Opaque(Arc<str>),
    /// A `TClonesArray`: the class of its objects is in the data. Only in graphs.
    Clones,
    /// A pointer to an object of one of several classes.
    Any(Box<AnyNode>),
    /// A `TClonesArray` of objects of a class that is known.
    ClonesOf(Box<ClonesNode>),
    /// All bytes of the entry, whatever they mean.
    Raw,
    /// For each object of a split collection an array that another member counts, which is in another branch.
    ArrayOfEach {
        /// One item.
        item: Box<Node>,
        /// Items for each count.
        factor: u32,
        /// What stands before the items.
        head: CountedHead,
    },
}

/// Keys and values of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct MapNode {
    /// A key, where a pair is stored after the other.
    pub key: Node,
    /// A value there.
    pub value: Node,
    /// Keys, where all of them are stored one after the other: collections share a frame.
    pub key_column: Node,
    /// Values there.
    pub value_column: Node,
}

impl MapNode {
    /// The fewest bytes of a pair, for counts: never 0.
    pub fn pair_bytes(&self) -> usize {
        self.key.min_bytes().saturating_add(self.value.min_bytes()).max(1)
    }

    /// The same where keys and values are stored one after the other: frames are shared.
    pub fn pair_column_bytes(&self) -> usize {
        let bytes_of = |node: &Node| match node {
            Node::Framed(node) => node.min_bytes(),
            node => node.min_bytes(),
        };
        bytes_of(&self.key_column).saturating_add(bytes_of(&self.value_column)).max(1)
    }
}

/// A pointer to objects of several classes.
#[derive(Debug, Clone, PartialEq)]
pub struct AnyNode {
    /// What [`SeenClasses`](super::SeenClasses) calls it.
    pub place: Arc<str>,
    /// The classes whose members are read. Of objects of others there are the bytes.
    pub alternatives: Vec<Pointer>,
}

/// A `TClonesArray`.
#[derive(Debug, Clone, PartialEq)]
pub struct ClonesNode {
    /// What [`SeenClasses`](super::SeenClasses) calls it.
    pub place: Arc<str>,
    /// Class of the objects; empty if it is not known.
    pub class: String,
    /// An object.
    pub item: Node,
}

/// A pointer to objects of one class.
#[derive(Debug, Clone, PartialEq)]
pub struct Pointer {
    /// The class that it was declared with.
    pub class: String,
    /// What follows the name of the class.
    pub node: Node,
}

/// A value that is stored as another version of its class has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversion {
    /// How it is stored.
    pub stored: Node,
    /// What comes out.
    pub to: DataType,
}

impl Number {
    /// A number without packing.
    pub fn plain(primitive: Primitive) -> Self {
        Self::packed(primitive, PackingRange::default())
    }

    /// A number, packed as its annotation says if it is of a packed type.
    pub fn packed(primitive: Primitive, range: PackingRange) -> Self {
        let packing = match primitive {
            Primitive::Float16 => Packing::new(PackedType::Float16, range),
            Primitive::Double32 => Packing::new(PackedType::Double32, range),
            _ => Packing::Plain,
        };
        Number { primitive, packing }
    }

    /// Bytes in the file.
    pub fn stored_bytes(&self) -> usize {
        match self.primitive {
            Primitive::Float16 | Primitive::Double32 => self.packing.stored_bytes(),
            other => other.stored_bytes(),
        }
    }

    /// What it is in memory.
    pub fn in_memory(&self) -> Primitive {
        match self.primitive {
            Primitive::Float16 => Primitive::Float32,
            Primitive::Double32 => Primitive::Float64,
            other => other,
        }
    }

    /// Whether it is of a packed type.
    pub fn is_packed(&self) -> bool {
        matches!(self.primitive, Primitive::Float16 | Primitive::Double32)
    }

    /// Whether the stored form differs from the one in memory by no more than the byte order.
    pub fn is_plain(&self) -> bool {
        !self.is_packed() && self.primitive != Primitive::Bool
    }
}

impl Node {
    /// Bytes of a value of numbers, which are always as many; `None` of anything else.
    pub fn fixed_bytes(&self) -> Option<usize> {
        match self {
            Node::Number(number) => Some(number.stored_bytes()),
            Node::Fixed(item, n_items) => item.fixed_bytes()?.checked_mul(*n_items as usize),
            _ => None,
        }
    }

    /// The fewest bytes that one value takes: bounds the number of items that an entry can hold.
    pub fn min_bytes(&self) -> usize {
        match self {
            Node::Number(number) => number.stored_bytes(),
            Node::Converted(conversion) => conversion.stored.min_bytes(),
            Node::Text => 1,
            Node::LongText | Node::Bits | Node::List(_) | Node::Map(_) | Node::Pointer(_) => 4,
            Node::Link | Node::Opaque(_) | Node::Clones | Node::Any(_) | Node::ClonesOf(_) => 4,
            Node::TextOrNothing
            | Node::CountedBy { .. }
            | Node::ArrayOfEach { .. }
            | Node::ToFit(_)
            | Node::ToEnd(_)
            | Node::MembersOfEach(_) => 0,
            Node::Framed(node) => fewest_of_frame(node.min_bytes()),
            Node::Named(_) | Node::NamedAny(_) => 2,
            Node::Unreadable(_) | Node::Raw => 0,
            Node::Object(class) | Node::Sole(class) => class.min_bytes(),
            Node::Fixed(item, n_items) => item.min_bytes().saturating_mul(*n_items as usize),
            Node::Struct(members) => members.iter().fold(0, |sum, (_, node)| sum.saturating_add(node.min_bytes())),
        }
    }

    /// What comes out.
    pub fn data_type(&self) -> DataType {
        match self {
            Node::Number(number) => DataType::Primitive(number.in_memory()),
            Node::Text | Node::LongText | Node::TextOrNothing => DataType::Text,
            Node::Bits => DataType::Primitive(Primitive::UInt32),
            Node::List(item) | Node::CountedBy { item, .. } | Node::ToFit(item) | Node::ToEnd(item) => {
                DataType::List(Box::new(item.data_type()))
            }
            Node::Fixed(item, n_items) => DataType::FixedList(Box::new(item.data_type()), *n_items),
            Node::MembersOfEach(class) => DataType::List(Box::new(class.data_type())),
            Node::Map(map) => DataType::Map(Box::new(map.key.data_type()), Box::new(map.value.data_type())),
            Node::Framed(node) => node.data_type(),
            Node::Object(class) => class.data_type(),
            Node::Sole(class) => class.members.first().map_or(DataType::Nothing, |(_, member)| member.clone()),
            Node::Pointer(pointer) => DataType::Optional(Box::new(pointer.node.data_type())),
            Node::Named(named) => named.node.data_type(),
            Node::Converted(conversion) => conversion.to.clone(),
            Node::Unreadable(_) => DataType::Nothing,
            Node::Link | Node::Opaque(_) => DataType::Link,
            Node::Clones => clones_type(),
            Node::Any(any) | Node::NamedAny(any) => any.data_type(),
            Node::ClonesOf(clones) => DataType::List(Box::new(DataType::Optional(Box::new(clones.item.data_type())))),
            Node::Raw => DataType::Bytes,
            Node::ArrayOfEach { item, .. } => DataType::List(Box::new(DataType::List(Box::new(item.data_type())))),
            Node::Struct(members) => {
                DataType::Struct(members.iter().map(|(name, node)| (name.clone(), node.data_type())).collect())
            }
        }
    }
}

impl AnyNode {
    /// The class of the object, its members by class, and its bytes if it is of none of the classes.
    fn data_type(&self) -> DataType {
        let optional = |data_type| DataType::Optional(Box::new(data_type));
        let mut members = vec![(Name::from("@class"), DataType::Text)];
        members.extend(self.alternatives.iter().map(|p| (Name::from(p.class.as_str()), optional(p.node.data_type()))));
        members.push((Name::from("@bytes"), optional(DataType::Bytes)));
        optional(DataType::Struct(members.into()))
    }
}

/// What a `TClonesArray` gives; `fArray` is the number of a list in the graph.
fn clones_type() -> DataType {
    let members = [
        ("fUniqueID", DataType::Primitive(Primitive::UInt32)),
        ("fBits", DataType::Primitive(Primitive::UInt32)),
        ("fName", DataType::Text),
        ("fClass", DataType::Text),
        ("fLowerBound", DataType::Primitive(Primitive::Int32)),
        ("fArray", DataType::Link),
    ];
    DataType::Struct(Arc::new(members.map(|(name, data_type)| (Name::from(name), data_type))))
}

/// Fewest bytes of a frame around a value of so few. Byte counts are missing in very old streams, and a frame may be shared.
///
/// A call of its own, because rustc 1.95 (LLVM 22) turns a recursion that ends in `.min(2)` into a loop, and then takes all
/// that the function returns to be at most 2: products of it wrap.
#[inline(never)]
fn fewest_of_frame(value_bytes: usize) -> usize {
    value_bytes.min(2)
}

/// Wraps a node into fixed arrays, the first dimension outermost.
pub(crate) fn node_with_dims(item: Node, dims: &[u32]) -> Node {
    dims.iter().rev().fold(item, |inner, &n_items| Node::Fixed(Box::new(inner), n_items))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewest_bytes_beyond_the_address_space_stay_at_its_end() {
        let array = node_with_dims(Node::Number(Number::plain(Primitive::Float64)), &[u32::MAX, u32::MAX, u32::MAX]);
        assert_eq!(array.min_bytes(), usize::MAX);
        let members = vec![(Name::from("a"), array.clone()), (Name::from("b"), array)];
        assert_eq!(Node::Struct(members).min_bytes(), usize::MAX);
    }
}
