//! Leaves: what the values of a branch are.

use super::objects::{Object, Objects, Slot, read_named};
use crate::cursor::Cursor;
use crate::error::{Error, Result, Within};
use crate::streamer::Primitive;

/// A counter that is counted itself is not known to exist; a chain of them is made to harm.
const MAX_DEPTH: usize = 8;

/// A leaf, by its place in [`super::TreeRecord::leaves`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeafId(pub u32);

/// A leaf: one member of each entry of a branch.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// `fName`.
    pub name: String,
    /// `fTitle`: the name with its dimensions, `"a[n][3]"`, and the range of packed floats.
    pub title: String,
    /// What is stored.
    pub kind: LeafKind,
    /// `fLen`: number of values in an entry, or for each count of the counter; never 0.
    pub n_items: i32,
    /// `fIsUnsigned`.
    pub is_unsigned: bool,
    /// `fLeafCount`: the leaf that says how many there are in each entry.
    pub counter: Option<LeafId>,
}

/// The class of a leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeafKind {
    /// `TLeafB` to `TLeafD32`: numbers.
    Number(Primitive),
    /// `TLeafC`: a counted string.
    Text,
    /// `TLeafElement`: the branch is a `TBranchElement`, which knows more; the code is its `fStreamerType`.
    Element {
        /// `fType`, an element type code.
        type_code: i32,
    },
    /// `TLeafObject`: a whole object of the class in the title.
    Object,
    /// Another class.
    Other(String),
}

impl LeafKind {
    fn from_class(class: &str, is_unsigned: bool) -> LeafKind {
        let (signed, unsigned) = match class {
            "TLeafO" => (Primitive::Bool, Primitive::Bool),
            "TLeafB" => (Primitive::Int8, Primitive::UInt8),
            "TLeafS" => (Primitive::Int16, Primitive::UInt16),
            "TLeafI" => (Primitive::Int32, Primitive::UInt32),
            "TLeafL" | "TLeafG" => (Primitive::Int64, Primitive::UInt64),
            "TLeafF" => (Primitive::Float32, Primitive::Float32),
            "TLeafD" => (Primitive::Float64, Primitive::Float64),
            "TLeafF16" => (Primitive::Float16, Primitive::Float16),
            "TLeafD32" => (Primitive::Double32, Primitive::Double32),
            "TLeafC" => return LeafKind::Text,
            "TLeafObject" => return LeafKind::Object,
            other => return LeafKind::Other(other.to_owned()),
        };
        LeafKind::Number(if is_unsigned { unsigned } else { signed })
    }
}

/// Reads a leaf whose class tag was read, up to `end`.
pub(super) fn read_leaf<'a>(
    cursor: &mut Cursor<'a>,
    objects: &mut Objects<'a>,
    leaves: &mut Vec<Leaf>,
    class: &'a str,
    position: usize,
    end: Option<usize>,
) -> Result<LeafId> {
    if objects.leaf_depth > MAX_DEPTH {
        return Err(Error::corrupt(position, "leaves that count each other without end"));
    }
    let outer = cursor.version()?;
    let base = if class == "TLeaf" { outer } else { cursor.version()? };
    let (name, title) = read_named(cursor).within(|| "leaf")?;
    let n_items = cursor.i32()?;
    cursor.i32()?; // fLenType
    cursor.i32()?; // fOffset
    cursor.u8()?; // fIsRange
    let is_unsigned = cursor.u8()? != 0;
    // The counter may be written in full here, when its own branch comes later.
    objects.leaf_depth += 1;
    let counter = read_leaf_pointer(cursor, objects, leaves).within(|| format!("leaf {name}"));
    objects.leaf_depth -= 1;
    let counter = counter?;
    if let Some(base_end) = base.end {
        cursor.leave(base_end)?;
    }
    let kind = if class == "TLeafElement" {
        cursor.i32()?; // fID
        LeafKind::Element { type_code: cursor.i32()? }
    } else {
        LeafKind::from_class(class, is_unsigned)
    };
    match end.or(outer.end) {
        Some(end) => cursor.leave(end)?,
        None => return Err(Error::unsupported(position, format!("leaf {name} without a byte count"))),
    }
    let id = LeafId(u32::try_from(leaves.len()).map_err(|_| Error::corrupt(position, "too many leaves"))?);
    leaves.push(Leaf { name, title, kind, n_items: if n_items == 0 { 1 } else { n_items }, is_unsigned, counter });
    objects.remember(position, Object::Leaf(id));
    Ok(id)
}

/// Reads a pointer to a leaf: null, a leaf seen before, or a leaf written here.
pub(super) fn read_leaf_pointer<'a>(
    cursor: &mut Cursor<'a>,
    objects: &mut Objects<'a>,
    leaves: &mut Vec<Leaf>,
) -> Result<Option<LeafId>> {
    match objects.slot(cursor)? {
        Slot::Null => Ok(None),
        Slot::Seen(Some(Object::Leaf(id))) => Ok(Some(id)),
        Slot::Seen(_) => Ok(None),
        Slot::New { class, position, end } if class.starts_with("TLeaf") => {
            read_leaf(cursor, objects, leaves, class, position, end).map(Some)
        }
        Slot::New { class, position, .. } => {
            Err(Error::corrupt(position, format!("a leaf was expected, this is a {class}")))
        }
    }
}
