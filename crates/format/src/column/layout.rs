//! How the entries of a branch are laid out, and what values they hold.

use std::sync::Arc;

use super::class::{Class, CountedHead};
use super::evolve::Conversion;
use crate::decode::{
    Reader, Values, decode_alike, decode_arrays, decode_containers, decode_members, decode_streamed, kernels,
    may_be_alike, may_be_containers,
};
use crate::error::Result;
use crate::streamer::{PackedType, Packing, PackingRange, Primitive};

/// A name of a member. Classes are parts of others in many places: none has a copy of the names.
pub type Name = Arc<str>;

/// The logical type of a column: what comes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    /// A number or a bool; never `Float16` or `Double32`, which come out as `Float32` and `Float64`.
    Primitive(Primitive),
    /// Text, usually UTF-8.
    Text,
    /// A list of any length.
    List(Box<DataType>),
    /// A list of the same length in every entry.
    FixedList(Box<DataType>, u32),
    /// Keys and values.
    Map(Box<DataType>, Box<DataType>),
    /// Named members. All places where a class occurs share them.
    Struct(Arc<[(Name, DataType)]>),
    /// A value or none.
    Optional(Box<DataType>),
    /// What is never there: the type of what cannot be read.
    Nothing,
    /// The number of an object of the same graph; 0 for none. Columns of trees have none.
    Link,
    /// Bytes as they are stored.
    Bytes,
}

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
    /// What [`Met`](super::Met) calls it.
    pub place: Arc<str>,
    /// The classes whose members are read. Of objects of others there are the bytes.
    pub alternatives: Vec<Pointer>,
}

/// A `TClonesArray`.
#[derive(Debug, Clone, PartialEq)]
pub struct ClonesNode {
    /// What [`Met`](super::Met) calls it.
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

/// What stands before the numbers of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// Nothing: the numbers fill the entry.
    Nothing,
    /// One byte that says whether the array is there (`T *x; //[n]`).
    Flag,
    /// Byte count, version and number of items (`std::vector` of numbers).
    Vector,
}

/// How all entries of a branch are laid out.
#[derive(Debug, Clone, PartialEq)]
pub enum Layout {
    /// `n_items` numbers in each entry.
    Fixed {
        /// What is stored.
        number: Number,
        /// Dimensions of the array in an entry; empty for a single number.
        dims: Vec<u32>,
    },
    /// Numbers up to the end of the entry.
    Jagged {
        /// What stands before them.
        header: Header,
        /// What is stored.
        number: Number,
        /// Dimensions of one item; empty for a single number.
        dims: Vec<u32>,
    },
    /// Anything else.
    Streamed {
        /// Whether the entry begins with a byte count and a version.
        framed: Framing,
        /// What follows.
        node: Node,
    },
}

/// Whether entries begin with a byte count and a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// They do not.
    Bare,
    /// They do.
    Framed,
    /// They do if the first bytes are the byte count of exactly this entry (`std::string`, which has both forms).
    IfItFits,
}

impl Header {
    /// Size in bytes.
    pub fn n_bytes(self) -> usize {
        match self {
            Header::Nothing => 0,
            Header::Flag => 1,
            Header::Vector => 10,
        }
    }
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

    /// Appends numbers in the byte order of the machine. What is left of `stored` after whole numbers is left out.
    pub fn append(&self, stored: &[u8], out: &mut Vec<u8>) {
        match self.primitive {
            // What was never assigned may have any bits set.
            Primitive::Bool => out.extend(stored.iter().map(|&byte| u8::from(byte != 0))),
            Primitive::Float16 => self.packing.append_f32(stored, out),
            Primitive::Double32 => self.packing.append_f64(stored, out),
            plain => kernels::append_swapped(stored, out, plain.stored_bytes()),
        }
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
            Node::Clones => super::linked::clones_type(),
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

impl Layout {
    /// What comes out.
    pub fn data_type(&self) -> DataType {
        match self {
            Layout::Fixed { number, dims } => with_dims(DataType::Primitive(number.in_memory()), dims),
            Layout::Jagged { number, dims, .. } => {
                DataType::List(Box::new(with_dims(DataType::Primitive(number.in_memory()), dims)))
            }
            Layout::Streamed { node, .. } => node.data_type(),
        }
    }
}

impl Layout {
    /// Appends the value of one entry of arrays that `counts` has the numbers of items of, one for each object; or of
    /// members stored one by one, of so many objects as its only item says.
    ///
    /// # Errors
    /// As [`Layout::decode_entry`], which reads any other layout.
    pub fn decode_counted<'a>(
        &self,
        reader: &mut Reader<'a>,
        entry: &'a [u8],
        counts: &[i64],
        origin: usize,
        out: &mut Values,
    ) -> Result<()> {
        match self {
            Layout::Streamed { node: Node::ArrayOfEach { item, factor, head }, .. } => {
                decode_arrays(reader, item, *factor, *head, counts, entry, origin, out)
            }
            Layout::Streamed { node: Node::MembersOfEach(class), .. } => {
                decode_members(reader, class, counts.first().copied(), entry, origin, out)
            }
            _ => self.decode_entry(reader, entry, origin, out),
        }
    }

    /// Whether there is a fast way for all entries of a basket, see [`Layout::decode_entries`].
    pub fn has_fast_way(&self) -> bool {
        may_be_containers(self) || may_be_alike(self)
    }

    /// Appends the values of entries at once: of texts and containers of them and of numbers, and of objects that all take the
    /// same bytes. If anything about them is unusual nothing is appended, and the answer is `false`.
    ///
    /// `bounds`: where each begins in `data`, and where the last one ends.
    ///
    /// # Errors
    /// Unsupported if a list grows over 2^31 items: a smaller batch holds them.
    pub fn decode_entries(&self, data: &[u8], bounds: &[usize], out: &mut Values) -> Result<bool> {
        match may_be_containers(self) {
            true => Ok(decode_containers(self, data, bounds, out)),
            false => decode_alike(self, data, bounds, out),
        }
    }

    /// Whether only the number of objects in an entry tells how it is read.
    pub fn needs_counts(&self) -> bool {
        matches!(self, Layout::Streamed { node: Node::MembersOfEach(_) | Node::ArrayOfEach { .. }, .. })
    }

    /// Appends the value of one entry: the plain way, right for every layout.
    ///
    /// `reader`: that of the entry before, or a new one; `entry`: exactly its bytes; `origin`: how far they are from the start
    /// of the key of their basket, which is what references between objects count from.
    ///
    /// # Errors
    /// Corrupt if the bytes are fewer or more than the value takes.
    pub fn decode_entry<'a>(
        &self,
        reader: &mut Reader<'a>,
        entry: &'a [u8],
        origin: usize,
        out: &mut Values,
    ) -> Result<()> {
        let item = |number: &Number, dims: &[u32]| node_with_dims(Node::Number(*number), dims);
        match self {
            Layout::Fixed { number, dims } => {
                decode_streamed(reader, Framing::Bare, &item(number, dims), entry, origin, out)
            }
            Layout::Jagged { header: Header::Vector, number, dims } => {
                decode_streamed(reader, Framing::Framed, &Node::List(Box::new(item(number, dims))), entry, origin, out)
            }
            Layout::Jagged { header, number, dims } => {
                // Old writers leave the flag out where there are no items.
                let numbers = entry.get(header.n_bytes()..).unwrap_or_default();
                let node = Node::ToEnd(Box::new(item(number, dims)));
                decode_streamed(reader, Framing::Bare, &node, numbers, origin, out)
                    .map_err(|error| error.inside(header.n_bytes()))
            }
            Layout::Streamed { framed, node } => decode_streamed(reader, *framed, node, entry, origin, out),
        }
    }
}

fn with_dims(item: DataType, dims: &[u32]) -> DataType {
    dims.iter().rev().fold(item, |inner, &n_items| DataType::FixedList(Box::new(inner), n_items))
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
