//! The settings of a table.

use std::sync::Arc;

use arrow_schema::Schema;
use arrowroot_format::codec::CompressionSetting;
use arrowroot_format::tree::{Friend, UserInfo};

/// Compressed bytes of a cluster of a tree. Source: `TTree::fAutoFlush` (ROOT 6.40).
pub const TREE_CLUSTER_BYTES: u64 = 30_000_000;
/// Source: `TTree::fAutoSave` (ROOT 6.40).
pub const TREE_AUTOSAVE_BYTES: u64 = 300_000_000;
/// Most bytes of a page before compression. Source: `RNTupleWriteOptions::fMaxUnzippedPageSize` (ROOT 6.40).
pub const PAGE_BYTES: u32 = 1 << 20;
/// A cluster takes at most so much before it is compressed, unless more is asked for.
pub const MAX_CLUSTER_BYTES: u64 = 64_000_000;
/// It also takes at most this share of the buffers of its file: what is collected, its offsets, and what becomes of it are there
/// at once.
const SHARE_OF_BUFFERS: u64 = 4;
/// Buffers that are smaller make no clusters smaller.
const MIN_CLUSTER_BYTES: u64 = 1_000_000;

/// Where clusters end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// When they take about so many bytes, compressed.
    Bytes(u64),
    /// After so many entries.
    Entries(u64),
    /// Nowhere: pieces go to the file when they are full. Trees alone can be so.
    Never,
}

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A `TTree`.
    Tree,
    /// An RNTuple.
    Ntuple,
}

/// The notes that a tree records besides its columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeNotes {
    /// Names of expressions, and these.
    pub aliases: Vec<(String, String)>,
    /// Trees whose columns are read beside its own.
    pub friends: Vec<Friend>,
    /// Objects that somebody wants to be found in it.
    pub user_info: Vec<UserInfo>,
    /// The columns of integers by which its entries are found: one, or two. Their values are kept until the tree is closed, 16
    /// bytes for each entry.
    pub index: Option<(String, Option<String>)>,
    /// True if its entries come in an order by chance, however many contexts fill it.
    pub is_reshuffled: bool,
}

/// Sizes of the baskets of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Baskets {
    /// As few as have a good size, with about equal numbers of entries.
    #[default]
    Fitted,
    /// Baskets end when they have so many bytes, as ROOT's do.
    Fixed(u32),
    /// The sizes that ROOT gives at the first flush (`TTree::OptimizeBaskets`).
    Optimized {
        /// Their size until then.
        first_bytes: u32,
    },
}

/// How a column is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnCodec {
    /// So.
    Set(CompressionSetting),
    /// By the codec and level that does best with its part of the first cluster.
    Tried,
}

/// The layout of a column. Its default is that of a column of which nobody says anything.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnLayout {
    /// ROOT's split level, of a column of structs: 0 makes one branch of an object or collection of objects, 99 one of each
    /// member. `None`: the members are branches of their own, and no class is named (`arrowroot_arrow::stored::branches`).
    pub split: Option<u8>,
    /// True if a collection of objects that is one branch is stored member by member, not object by object.
    pub is_member_wise: bool,
    /// How lists of numbers are stored.
    pub lists: Lists,
    /// The class of its structs, if it has a [`split`](ColumnLayout::split) level; `None`: named after the column.
    pub class: Option<String>,
    /// How exactly its floating-point numbers are stored.
    pub precision: Precision,
    /// How an RNTuple stores its numbers.
    pub encoding: NumberEncoding,
    /// C++ types of its field, and of members of structs in it, by their paths, with dots between; the column itself is "".
    pub types: Vec<(String, String)>,
    /// The column of structs of which it is a member, in an RNTuple, if it comes up later. It has the levels of the type of that
    /// column down to the struct, be they lists or optionals, and of each struct on the way one member: the next level.
    pub record: Option<String>,
}

/// How lists of numbers are stored in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lists {
    /// As arrays whose lengths another branch counts, where that is possible.
    #[default]
    Counted,
    /// As `std::vector`.
    Vectors,
}

/// How exactly floating-point numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Precision {
    /// As they are.
    #[default]
    Exact,
    /// As ROOT's `Double32_t`: numbers of double precision, in a tree.
    Double32(Annotation),
    /// As ROOT's `Float16_t`: numbers of single precision, in a tree.
    Float16(Annotation),
    /// Numbers of single precision with so many bits of mantissa, rounded; the others are 0. In any format.
    Mantissa(u8),
    /// As `Real32Trunc` of so many bits, in an RNTuple.
    Truncated(u8),
    /// As `Real32Quant`, in an RNTuple.
    Quantized {
        /// Bits of a value.
        bits: u8,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
}

/// The text in brackets behind `Double32_t` and `Float16_t`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Annotation {
    /// Smallest and largest value; `None`: no range.
    pub range: Option<(f64, f64)>,
    /// Bits of a value, without a range of its mantissa; `None`: ROOT's default.
    pub bits: Option<u8>,
}

/// How an RNTuple stores numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NumberEncoding {
    /// Split if they are compressed, as ROOT does.
    #[default]
    Automatic,
    /// Byte by byte: all first bytes, then all second ones.
    Split,
    /// Number by number.
    Plain,
}

/// A further name for a field of an RNTuple, or for a part of it: it takes no bytes of pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectedField {
    /// The name.
    pub name: String,
    /// The column, or the member behind it and a dot, that it shows: `Muon.pt`; the lengths of lists: `#Muon`.
    pub source: String,
    /// Its title.
    pub title: String,
    /// It is left out where the format has no such field, as the length of a list that may be missing.
    pub is_optional: bool,
    /// Its C++ type, of the representation of what it shows; empty for that type itself.
    pub type_name: String,
    /// The type is that of a table that was read: one that the field cannot have is left out, and one that is only for some
    /// values is taken, as a `std::set` of what may be equal.
    pub is_type_kept: bool,
}

/// The settings of a table.
#[derive(Debug, Clone)]
pub struct TableSettings {
    /// For each column, its layout; empty: the default of all.
    pub layouts: Vec<ColumnLayout>,
    /// For each column, how it is compressed; empty: as the file is.
    pub compression: Vec<ColumnCodec>,
    /// For each column, its title; empty: none has one.
    pub titles: Vec<String>,
    /// For each column of a tree, the counter that its lists share with those of other columns, `None` for one of its own; empty:
    /// all have their own. The lists of columns that share one have the same lengths, which is checked.
    pub counters: Vec<Option<String>>,
    /// The schema to give back when the table is read; `None`: the one that says what is stored.
    pub schema: Option<Arc<Schema>>,
    /// False if no schema is recorded: then reading gives what is stored, branch by branch.
    pub records_schema: bool,
    /// Where clusters end.
    pub flush: Flush,
    /// Most bytes of a cluster before it is compressed, where [`Flush::Bytes`] would make it larger; `None`: what fits the
    /// buffers, and [`MAX_CLUSTER_BYTES`]. One entry may exceed it.
    pub max_cluster_bytes: Option<u64>,
    /// Sizes of the baskets of a tree.
    pub baskets: Baskets,
    /// Bytes after which a tree is saved on its way, so that what is there of its file can be read if its writer is killed, and ROOT
    /// is to save it if it goes on with it (`fAutoSave`); 0: never. At least 50 times the bytes of its record lie between.
    pub autosave_bytes: u64,
    /// True if the baskets of a tree store no offsets that readers can make of a counter, and sizes instead of the others
    /// (`ROOT::TIOFeatures`, `kGenerateOffsetMap`). ROOT reads them from 6.12 on.
    pub generates_offsets: bool,
    /// Most bytes of the pages of an RNTuple before compression; `None`: ROOT's default.
    pub page_bytes: Option<u32>,
    /// The projected fields of an RNTuple; a tree has none.
    pub projections: Vec<ProjectedField>,
    /// The notes of a tree; an RNTuple records none.
    pub notes: TreeNotes,
}

impl Default for TableSettings {
    /// ROOT's defaults for a tree.
    fn default() -> Self {
        TableSettings {
            layouts: Vec::new(),
            compression: Vec::new(),
            titles: Vec::new(),
            counters: Vec::new(),
            schema: None,
            records_schema: true,
            flush: Flush::Bytes(TREE_CLUSTER_BYTES),
            max_cluster_bytes: None,
            baskets: Baskets::Fitted,
            autosave_bytes: TREE_AUTOSAVE_BYTES,
            generates_offsets: false,
            page_bytes: None,
            projections: Vec::new(),
            notes: TreeNotes::default(),
        }
    }
}

impl TableSettings {
    /// Most bytes of a cluster before it is compressed, in a file with buffers of so many bytes.
    pub(crate) fn most_of_cluster(&self, buffer_bytes: usize) -> u64 {
        let share = (buffer_bytes as u64 / SHARE_OF_BUFFERS).clamp(MIN_CLUSTER_BYTES, MAX_CLUSTER_BYTES);
        self.max_cluster_bytes.unwrap_or(share)
    }
}
