//! The branches of a tree: which values each holds, and what is fixed of its leaf and its baskets.

use arrowroot_arrow::stored::{BranchColumn, BranchForm, Content, PlannedBranch, plan_branches};
use arrowroot_format::codec::CompressionSetting;
use arrowroot_format::column::DataType;
use arrowroot_format::streamer::Primitive;

use super::basket;
use crate::error::{Error, Result};

/// A column of the table, as it is stored.
#[derive(Debug, Clone)]
pub struct TreeColumn {
    /// Its name in Arrow.
    pub name: String,
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
    /// Title of the branch: `x[nx][3]/F`, as ROOT's leaf lists are.
    pub(super) title: String,
    /// Title of its leaf: the same without the type.
    pub(super) leaf_title: String,
    /// Bytes of an entry.
    pub(super) entry_size: EntrySize,
    /// How its baskets are compressed.
    pub(super) compression: CompressionSetting,
    /// The column, for errors.
    pub(super) column_name: String,
    /// Whether others are counted by it.
    pub(super) is_counter: bool,
    /// The keys of its baskets, but for what is known of a basket alone.
    pub(super) basket_key: Vec<u8>,
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
    /// What the vectors take.
    Vectors,
}

impl EntrySize {
    /// Whether baskets store where each entry begins.
    pub(super) fn has_offsets(self) -> bool {
        !matches!(self, EntrySize::Fixed(_))
    }
}

/// What a branch is in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Class {
    /// A `TBranch` with a `TLeafF`, `TLeafI`, ...
    Numbers(Primitive),
    /// A `TBranch` with a `TLeafC`.
    Text,
    /// A `TBranchElement` of this class.
    Vector(String),
}

impl Branch {
    /// What it is.
    pub(super) fn class(&self) -> Class {
        let primitive = match self.planned.content {
            Content::Counter => Some(Primitive::Int32),
            Content::Validity => Some(Primitive::Bool),
            Content::Values(primitive) => Some(primitive),
            Content::Text => None,
        };
        match (&self.planned.form, primitive) {
            (BranchForm::Vectors(depth), _) => Class::Vector(vector_name(*depth, item_name(primitive))),
            (_, Some(primitive)) => Class::Numbers(primitive),
            (_, None) => Class::Text,
        }
    }

    /// Values of an entry, or for each count of the counter. Source: `TLeaf::fLen`.
    pub(super) fn n_values(&self) -> u64 {
        match &self.planned.form {
            BranchForm::Fixed(dims) | BranchForm::Counted { dims, .. } => dims.iter().map(|n| u64::from(*n)).product(),
            BranchForm::Vectors(_) => 1,
        }
    }
}

/// The branches of columns, counters before what they count.
///
/// `tree_name` is in the keys of the baskets, and so is `datime`.
///
/// # Errors
/// If a column has no layout, or two columns have one name: names the column.
pub(super) fn branches_of<'c>(columns: &'c [TreeColumn], tree_name: &str, datime: u32) -> Result<Vec<Branch>> {
    let planned = {
        let as_planned = |column: &'c TreeColumn| BranchColumn {
            name: &column.name,
            data_type: &column.data_type,
            counter: column.counter.as_deref(),
        };
        plan_branches(&columns.iter().map(as_planned).collect::<Vec<_>>())
            .map_err(|error| Error::InvalidRequest { what: error.to_string() })?
    };
    let mut is_counter = vec![false; planned.len()];
    for branch in &planned {
        if let BranchForm::Counted { counter, .. } = branch.form {
            is_counter[counter] = true;
        }
    }
    let names: Vec<String> = planned.iter().map(|branch| branch.name.clone()).collect();
    let with_rest = |(planned, is_counter): (PlannedBranch, bool)| {
        let column = &columns[planned.column];
        let (leaf_title, letter) = (leaf_title(&planned, &names), letter(&planned));
        let title = letter.map_or_else(|| planned.name.clone(), |letter| format!("{leaf_title}/{letter}"));
        let mut branch = Branch {
            basket_key: basket::key_template(&planned.name, tree_name, datime)?,
            entry_size: EntrySize::Vectors,
            compression: column.compression,
            column_name: column.name.clone(),
            title,
            leaf_title,
            is_counter,
            planned,
        };
        branch.entry_size = entry_size(&branch)?;
        Ok(branch)
    };
    planned.into_iter().zip(is_counter).map(with_rest).collect()
}

fn entry_size(branch: &Branch) -> Result<EntrySize> {
    let width = match branch.class() {
        Class::Numbers(primitive) => primitive.stored_bytes(),
        Class::Text => return Ok(EntrySize::Text),
        Class::Vector(_) => return Ok(EntrySize::Vectors),
    };
    // The number is `fLen`, of 32 bits, and the bytes are those of one entry.
    let n_bytes = usize::try_from(branch.n_values()).ok().and_then(|n| n.checked_mul(width));
    match n_bytes.filter(|n_bytes| *n_bytes < basket::MAX_OBJECT_BYTES) {
        Some(n_bytes) if matches!(branch.planned.form, BranchForm::Counted { .. }) => Ok(EntrySize::PerItem(n_bytes)),
        Some(n_bytes) => Ok(EntrySize::Fixed(n_bytes)),
        None => Err(Error::InvalidRequest {
            what: format!(
                "column {}: lists of {} values each: a basket holds less than 1 GiB",
                branch.column_name,
                branch.n_values()
            ),
        }),
    }
}

/// `x[nx][3]`. `Draw`, `Scan` and `TTreeReader` parse it.
fn leaf_title(planned: &PlannedBranch, names: &[String]) -> String {
    let (counter, dims) = match &planned.form {
        BranchForm::Fixed(dims) => (None, dims.as_slice()),
        BranchForm::Counted { counter, dims } => (Some(&names[*counter]), dims.as_slice()),
        BranchForm::Vectors(_) => (None, &[][..]),
    };
    let counter = counter.map(|counter| format!("[{counter}]"));
    let dims = dims.iter().map(|n_items| format!("[{n_items}]"));
    std::iter::once(planned.name.clone()).chain(counter).chain(dims).collect()
}

/// The letter of the type in a leaf list. Source: `TTree::Branch`.
fn letter(planned: &PlannedBranch) -> Option<char> {
    Some(match (planned.content, &planned.form) {
        (_, BranchForm::Vectors(_)) => return None,
        (Content::Counter, _) => 'I',
        (Content::Validity, _) => 'O',
        (Content::Text, _) => 'C',
        (Content::Values(primitive), _) => match primitive {
            Primitive::Bool => 'O',
            Primitive::Int8 => 'B',
            Primitive::UInt8 => 'b',
            Primitive::Int16 => 'S',
            Primitive::UInt16 => 's',
            Primitive::Int32 => 'I',
            Primitive::UInt32 => 'i',
            Primitive::Int64 => 'L',
            Primitive::UInt64 => 'l',
            Primitive::Float32 => 'F',
            Primitive::Float64 => 'D',
            Primitive::Float16 => 'f',
            Primitive::Double32 => 'd',
        },
    })
}

/// What ROOT calls the items of a vector; a text if it is no number.
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
