//! The branches of a tree: which values each holds, and what is fixed of its leaf and its baskets.

use arrowroot_arrow::stored::{BranchColumn, BranchForm, Content, PlannedBranch, plan_branches};
use arrowroot_format::codec::CompressionSetting;
use arrowroot_format::column::DataType;
use arrowroot_format::container::Datime;
use arrowroot_format::streamer::Primitive;
use arrowroot_format::tree::{BasketHead, Leaf};

use super::MAX_OBJECT_BYTES;
use crate::error::{Error, Result};

/// `fID` and `fStreamerType` of an object that is not split. Source: `TBranchElement::Init` (ROOT 6.40).
const WHOLE: i32 = -1;
/// The root directory, which the keys of baskets name wherever the tree is. Source: `TBasket::WriteBuffer` (ROOT 6.40).
const ROOT_DIRECTORY_AT: u64 = 100;

/// A column of the table, as it is stored.
#[derive(Debug, Clone)]
pub struct TreeColumn {
    /// Its name in Arrow.
    pub name: String,
    /// Its title; empty if it has none.
    pub title: String,
    /// What is stored of it.
    pub data_type: DataType,
    /// The counter that its lists share with those of other columns; `None` for one of its own.
    pub counter: Option<String>,
    /// How its baskets are compressed.
    pub compression: CompressionSetting,
}

/// A branch with one leaf.
#[derive(Debug)]
pub(super) struct Branch {
    /// Which values it holds.
    pub(super) planned: PlannedBranch,
    /// Its leaf, without counter and maximum.
    pub(super) leaf: Leaf,
    /// The class of its objects if it is a `TBranchElement`.
    pub(super) vector_class: Option<String>,
    /// Its title, if it is not the leaf list.
    pub(super) title: Option<String>,
    /// Bytes of an entry.
    pub(super) entry_size: EntrySize,
    /// How its baskets are compressed.
    pub(super) compression: CompressionSetting,
    /// The column, for errors.
    pub(super) column_name: String,
    /// True if others are counted by it.
    pub(super) is_counter: bool,
    /// The heads of its baskets, but for what is known of a basket alone.
    pub(super) basket_head: BasketHead,
}

/// How many bytes an entry of a branch has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntrySize {
    /// The same in all.
    Fixed(usize),
    /// So many for each item of the list.
    PerItem(usize),
    /// As many as the text has, and its length.
    Text,
    /// The bytes of the vectors.
    Vectors,
}

impl EntrySize {
    /// True if baskets store where each entry begins.
    pub(super) fn has_offsets(self) -> bool {
        !matches!(self, EntrySize::Fixed(_))
    }
}

/// The branches of columns, counters before what they count.
///
/// `tree_name` is in the keys of the baskets, and so is `datime`.
///
/// # Errors
/// If a column has no layout, or two columns have one name: names the column.
pub(super) fn branches_of(columns: &[TreeColumn], tree_name: &str, datime: Datime) -> Result<Vec<Branch>> {
    let mut as_planned = Vec::with_capacity(columns.len());
    for TreeColumn { name, data_type, counter, .. } in columns {
        as_planned.push(BranchColumn { name, data_type, counter: counter.as_deref() });
    }
    let planned = plan_branches(&as_planned).map_err(|error| Error::InvalidRequest { what: error.to_string() })?;
    let mut is_counter = vec![false; planned.len()];
    for branch in &planned {
        if let BranchForm::Counted { counter, .. } = branch.form {
            is_counter[counter] = true;
        }
    }
    let with_rest = |(planned, is_counter): (PlannedBranch, bool)| {
        let column = &columns[planned.column];
        branch(planned, is_counter, column, tree_name, datime)
            .map_err(|what| Error::InvalidRequest { what: format!("column {}: {what}", column.name) })
    };
    planned.into_iter().zip(is_counter).map(with_rest).collect()
}

fn branch(
    planned: PlannedBranch,
    is_counter: bool,
    column: &TreeColumn,
    tree_name: &str,
    datime: Datime,
) -> Result<Branch, arrowroot_format::Error> {
    let primitive = match planned.content {
        Content::Counter => Some(Primitive::Int32),
        Content::Validity => Some(Primitive::Bool),
        Content::Values(primitive) => Some(primitive),
        Content::Text => None,
    };
    let name = &planned.name;
    let (leaf, vector_class, entry_size) = match (&planned.form, primitive) {
        (BranchForm::Vectors(depth), _) => {
            let class = vector_name(*depth, item_name(primitive));
            (Leaf::element(name, name, WHOLE, WHOLE), Some(class), EntrySize::Vectors)
        }
        (BranchForm::Fixed(dims), Some(primitive)) => {
            let leaf = Leaf::number(name, primitive, dims)?;
            let entry_size = EntrySize::Fixed(value_bytes(&leaf, primitive)?);
            (leaf, None, entry_size)
        }
        (BranchForm::Counted { dims, .. }, Some(primitive)) => {
            let leaf = Leaf::number(name, primitive, dims)?;
            let entry_size = EntrySize::PerItem(value_bytes(&leaf, primitive)?);
            (leaf, None, entry_size)
        }
        (_, None) => (Leaf::text(name), None, EntrySize::Text),
    };
    let is_value = matches!(planned.content, Content::Values(_) | Content::Text);
    let basket_head = BasketHead { datime, seek_dir: ROOT_DIRECTORY_AT, ..BasketHead::new(name, tree_name)? };
    Ok(Branch {
        leaf,
        vector_class,
        entry_size,
        title: Some(column.title.clone()).filter(|title| is_value && !title.is_empty()),
        compression: column.compression,
        column_name: column.name.clone(),
        is_counter,
        basket_head,
        planned,
    })
}

/// Bytes of the numbers of a leaf in an entry, or for each item of a list.
fn value_bytes(leaf: &Leaf, primitive: Primitive) -> Result<usize, arrowroot_format::Error> {
    let n_bytes = usize::try_from(leaf.n_items()).ok().and_then(|n| n.checked_mul(primitive.stored_bytes()));
    n_bytes.filter(|n_bytes| *n_bytes < MAX_OBJECT_BYTES).ok_or_else(|| {
        let what = format!("lists of {} values each: a basket holds less than 1 GiB", leaf.n_items());
        arrowroot_format::Error::unsupported(0, what)
    })
}

/// ROOT's name for the items of a vector; a text if it is no number.
fn item_name(primitive: Option<Primitive>) -> &'static str {
    match primitive {
        None => "string",
        Some(Primitive::Bool) => "bool",
        Some(Primitive::Int8) => "signed char",
        Some(Primitive::UInt8) => "unsigned char",
        Some(Primitive::Int16) => "short",
        Some(Primitive::UInt16) => "unsigned short",
        Some(Primitive::Int32) => "int",
        Some(Primitive::UInt32) => "unsigned int",
        Some(Primitive::Int64) => "Long64_t",
        Some(Primitive::UInt64) => "ULong64_t",
        Some(Primitive::Float32 | Primitive::Float16) => "float",
        Some(Primitive::Float64 | Primitive::Double32) => "double",
    }
}

/// `vector<vector<float> >`.
fn vector_name(depth: usize, item: &str) -> String {
    (1..depth).fold(format!("vector<{item}>"), |inner, _| format!("vector<{inner} >"))
}

/// The checksum of a class without members that the streamer information would describe: of its name alone.
///
/// Source: `TClass::GetCheckSum` (ROOT 6.40).
pub(super) fn vector_checksum(name: &str) -> u32 {
    name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(3).wrapping_add(byte.into()))
}

#[cfg(test)]
mod tests;
