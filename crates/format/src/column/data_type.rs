//! What comes out of a column.

use std::sync::Arc;

use crate::streamer::Primitive;

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
    /// One of several alternatives, or none of them. Columns of trees have none.
    Variant(Arc<[DataType]>),
    /// A value or none.
    Optional(Box<DataType>),
    /// What is never there: the type of what cannot be read.
    Nothing,
    /// The number of an object of the same graph; 0 for none. Columns of trees have none.
    Link,
    /// Bytes as they are stored.
    Bytes,
}
