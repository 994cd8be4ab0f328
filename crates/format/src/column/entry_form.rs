//! The form in which the entries of a branch are stored.

use super::data_type::DataType;
use super::node::{Node, Number};

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

/// The form in which all entries of a branch are stored.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryForm {
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

impl EntryForm {
    /// How deep values are nested, see [`Node::levels`].
    pub fn levels(&self) -> usize {
        match self {
            EntryForm::Fixed { dims, .. } => dims.len().saturating_add(1),
            EntryForm::Jagged { dims, .. } => dims.len().saturating_add(2),
            EntryForm::Streamed { node, .. } => node.levels(),
        }
    }

    /// What comes out.
    pub fn data_type(&self) -> DataType {
        match self {
            EntryForm::Fixed { number, dims } => with_dims(DataType::Primitive(number.in_memory()), dims),
            EntryForm::Jagged { number, dims, .. } => {
                DataType::List(Box::new(with_dims(DataType::Primitive(number.in_memory()), dims)))
            }
            EntryForm::Streamed { node, .. } => node.data_type(),
        }
    }

    /// Whether only the number of objects in an entry tells how it is read.
    pub fn needs_counts(&self) -> bool {
        matches!(self, EntryForm::Streamed { node: Node::MembersOfEach(_) | Node::ArrayOfEach { .. }, .. })
    }
}

fn with_dims(item: DataType, dims: &[u32]) -> DataType {
    dims.iter().rev().fold(item, |inner, &n_items| DataType::FixedList(Box::new(inner), n_items))
}
