//! What has entries and columns: a TTree or an RNTuple.

use std::any::Any;
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Schema};
use arrowroot_file::{File, Result};
use arrowroot_format::rntuple::{Footer, PageList, Schema as NtupleSchema, Slots};
use arrowroot_format::tree::{BasketRule, Friend, RecordedIndex, TreeRecord, UserInfo};

use crate::pieces::ColumnPieces;
use crate::scan::{ColumnId, Request, Scan};

/// Bytes of the text of an Arrow type at most: what is longer ends there.
pub const MAX_TYPE_BYTES: usize = 4096;

/// Arrow types of columns, by path.
pub type ColumnTypes = Vec<(Arc<str>, ArrowType)>;

/// A table of which little is in memory until it is wanted.
pub trait Compact: Send + Sync {
    /// The table, from what is in memory.
    fn table(&self) -> Arc<dyn Table>;

    /// About the bytes that it takes, but for [`Table::shared_parts`].
    fn n_bytes(&self) -> usize;
}

/// A part that tables of one schema have in memory once: its address, which no other has while it lives, and about its bytes.
pub type SharedPart = (usize, usize);

/// A TTree or an RNTuple: metadata that was read when it was opened, and scans.
pub trait Table: Send + Sync {
    /// The file.
    fn file(&self) -> &File;

    /// The metadata of the tree or RNTuple that it is, or that it puts columns together of.
    ///
    /// # Errors
    /// As [`Table::sizes`].
    fn physical(&self) -> Result<Physical<'_>>;

    /// The same in little memory, where that can be had: for one of many that wait for their turn.
    fn compact(&self) -> Option<Box<dyn Compact>> {
        None
    }

    /// The parts that a compact one keeps, and perhaps others with it.
    fn shared_parts(&self) -> Vec<SharedPart> {
        Vec::new()
    }

    /// Its path in the file.
    fn path(&self) -> &str;

    /// Its name.
    fn name(&self) -> &str;

    /// Its title.
    fn title(&self) -> &str;

    /// Its class, as its key says.
    fn class_name(&self) -> &str;

    /// Cycle of the key that it was opened by.
    fn cycle(&self) -> u16;

    /// Number of entries.
    fn n_entries(&self) -> u64;

    /// Number of leaves, or of the columns of an RNTuple.
    fn n_leaves(&self) -> usize;

    /// What all its pieces take.
    ///
    /// # Errors
    /// [`Error::Format`] or [`Error::Storage`] if what tells that cannot be read: page lists of an RNTuple.
    fn sizes(&self) -> Result<Sizes>;

    /// What else its record says; an RNTuple records nothing of that.
    fn recorded(&self) -> Recorded<'_> {
        Recorded::default()
    }

    /// The columns that are further names, and what they show: another one, a member of it (`Muon.pt`), or lengths (`#Muon`).
    /// A tree has none.
    fn projections(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Number of its columns and groups.
    fn n_columns(&self) -> usize;

    /// All columns and groups, depth first, each before what is in it.
    fn columns(&self) -> Vec<ColumnId>;

    /// The C++ types of columns and groups by path, as writing would be asked for them: also of what is inside of columns whose
    /// values have another form than theirs.
    ///
    /// # Errors
    /// As [`describe`](Table::describe).
    fn asked_types(&self) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        for id in self.columns() {
            let of_column = self.asked_in(id)?;
            found.extend(of_column.into_iter().map(|(path, text)| (joined(self.place(id).path, &path), text)));
        }
        Ok(found)
    }

    /// The same of one column, whose path is empty, and of what in it is no column: the alternatives of variants.
    ///
    /// # Errors
    /// As [`describe`](Table::describe).
    fn asked_in(&self, id: ColumnId) -> Result<Vec<(String, String)>> {
        Ok(vec![(String::new(), self.describe(id)?.asked_type)])
    }

    /// Paths of the columns that a scan delivers if none is named, readable or not.
    fn column_names(&self) -> Vec<&str>;

    /// Finds a column by its path, or by its name alone if only one has it.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the nearest names; [`Error::InvalidRequest`] if several have the name.
    fn find(&self, name: &str) -> Result<ColumnId>;

    /// The same; `None` if none or several have the name.
    fn found(&self, name: &str) -> Option<ColumnId>;

    /// The path of the column that a name stands for which is no path itself, where tables have several spellings of one.
    fn canonical(&self, _name: &str) -> Option<&str> {
        None
    }

    /// Whether a column or group has that path.
    fn has_path(&self, path: &str) -> bool;

    /// Where a column is in the table.
    fn place(&self, id: ColumnId) -> ColumnPlace<'_>;

    /// Whether a column can be read, and is no group that is told by its branches alone.
    ///
    /// # Errors
    /// [`Error::Storage`] if what tells that cannot be read now.
    fn is_readable(&self, id: ColumnId) -> Result<bool>;

    /// What a column is.
    ///
    /// # Errors
    /// [`Error::Storage`] if what tells that cannot be read now.
    fn describe(&self, id: ColumnId) -> Result<Description>;

    /// The Arrow type of a column, as far as a text of so many bytes tells it; `None` of what cannot be read, and of a group.
    ///
    /// # Errors
    /// [`Error::Storage`] if what tells that cannot be read now.
    fn arrow_type(&self, id: ColumnId, n_bytes: usize) -> Result<Option<ArrowType>>;

    /// The Arrow types of all columns that can be read, by path, as far as texts of [`MAX_TYPE_BYTES`] tell them. Tables of one
    /// schema share them.
    ///
    /// # Errors
    /// [`Error::Storage`] if what tells them cannot be read now.
    fn types(&self) -> Result<Arc<ColumnTypes>> {
        found_types(self)
    }

    /// What the pieces of a column take.
    ///
    /// # Errors
    /// As [`Table::sizes`].
    fn column_sizes(&self, id: ColumnId) -> Result<Sizes>;

    /// Whether sizes are known without a read.
    fn knows_sizes(&self) -> bool {
        true
    }

    /// The columns that a scan delivers if none is named: all that can be read.
    ///
    /// # Errors
    /// [`Error::Storage`] if what tells of one cannot be read now.
    fn readable(&self) -> Result<Vec<ColumnId>>;

    /// The Arrow schema of these.
    ///
    /// # Errors
    /// As [`Table::readable`].
    fn arrow_schema(&self) -> Result<Schema>;

    /// The same, nullable where validity is stored: a schema that was recorded says more where no value was missing.
    ///
    /// # Errors
    /// As [`Table::readable`].
    fn stored_schema(&self) -> Result<Schema> {
        self.arrow_schema()
    }

    /// First entries of the clusters, and the number of entries.
    ///
    /// # Errors
    /// As [`Table::sizes`].
    fn clusters(&self) -> Result<Vec<u64>>;

    /// All pieces of all branches or fields, in the order of these.
    ///
    /// # Errors
    /// As [`Table::sizes`], and [`Error::Format`] if the metadata contradict themselves.
    fn pieces(&self) -> Result<Vec<ColumnPieces>>;

    /// The basket sizes of all branches, and those that ROOT's rule gives them; `None` of an RNTuple, which has pages.
    fn optimized_baskets(&self, _rule: BasketRule) -> Option<BasketSizes<'_>> {
        None
    }

    /// Columns that do not have all entries: with their first entry and the one after the last.
    fn short_columns(&self) -> Vec<(ColumnId, i64, i64)> {
        Vec::new()
    }

    /// Plans a scan. Of a tree nothing is read before the first batch is asked for; of an RNTuple the pages with the ends of
    /// lists are, where batches begin or end inside of clusters.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] for entries that are not there; [`Error::Format`] for columns that cannot be read.
    fn scan(&self, request: &Request) -> Result<Scan>;

    /// The version of its format, and what wrote it, where it says so.
    fn written_by(&self) -> Option<String> {
        None
    }

    /// Names of its attribute sets.
    fn attribute_sets(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The [`Ntuple`](crate::Ntuple) that it is, or puts columns together of; `None` of a tree.
    fn ntuple(&self) -> Option<&dyn Any> {
        None
    }
}

/// The metadata of a table, as its format has them.
#[derive(Debug, Clone)]
pub enum Physical<'t> {
    /// The metadata of a tree.
    Tree {
        /// Its record.
        record: &'t TreeRecord,
        /// The bytes that this is in, which know the baskets of a branch; none where the record itself knows them.
        object_data: &'t [u8],
    },
    /// The metadata of an RNTuple.
    Ntuple {
        /// Fields and columns.
        schema: &'t NtupleSchema,
        /// The columns of its fields, whatever their representations.
        slots: &'t Slots,
        /// The footer.
        footer: &'t Footer,
        /// The page lists of all cluster groups.
        lists: Vec<&'t PageList>,
    },
}

/// What a table records besides its columns.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recorded<'t> {
    /// Several threads wrote the entries, in an order by chance.
    pub entries_reshuffled: bool,
    /// Names of expressions, and these.
    pub aliases: &'t [(String, String)],
    /// Friends.
    pub friends: &'t [Friend],
    /// An index.
    pub index: Option<&'t RecordedIndex>,
    /// Objects that users added.
    pub user_info: &'t [UserInfo],
    /// Entries in a cluster if positive, its bytes if negative, 0 if there are no clusters; `None` of an RNTuple.
    pub auto_flush: Option<i64>,
}

/// The sizes that ROOT's rule gives the baskets of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasketSizes<'t> {
    /// For each branch its path, and what the rule says of it.
    pub branches: Vec<BranchSizes<'t>>,
    /// Bytes of one basket of each branch: with the sizes that are recorded, and with those of the rule.
    pub memory_bytes: [i64; 2],
    /// Baskets that the tree has or would have, as the rule counts them: roughly.
    pub n_baskets: [i64; 2],
}

/// The size that ROOT's rule gives the baskets of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchSizes<'t> {
    /// Path of the branch.
    pub path: &'t str,
    /// The recorded size of a basket in bytes.
    pub recorded_bytes: i32,
    /// That of the rule.
    pub optimized_bytes: i32,
    /// True if the rule finds that compression gains too little.
    pub ends_compression: bool,
}

/// Where a column is in its table.
#[derive(Debug, Clone, Copy)]
pub struct ColumnPlace<'t> {
    /// Its path.
    pub path: &'t str,
    /// Its name.
    pub name: &'t str,
    /// Its title.
    pub title: &'t str,
    /// How many columns are around it.
    pub depth: usize,
    /// Whether it is a group of others; `None` if only its [`Description`] tells.
    pub is_group: Option<bool>,
    /// Whether its values are inside those of a column around it.
    pub is_part: bool,
    /// Number of its entries.
    pub n_entries: i64,
    /// The path of the branch that counts the items of its arrays.
    pub counter: Option<&'t str>,
}

/// What a column is.
#[derive(Debug, Clone, Default)]
pub struct Description {
    /// Whether it is no column of its own, but others are inside of it.
    pub is_group: bool,
    /// Its C++ type.
    pub type_name: String,
    /// The same as writing would be asked for it: of a field with versions, checksums and bases of classes; of a plain branch of
    /// packed numbers as `Double32_t[0,10,12]`, and empty of any other.
    pub asked_type: String,
    /// Why it cannot be read.
    pub unsupported: Option<String>,
    /// The column types of a field; empty for a branch.
    pub encoding: String,
}

/// What pieces take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Number of pieces.
    pub n_pieces: u64,
    /// Bytes in the file.
    pub stored_bytes: i64,
    /// Bytes when uncompressed.
    pub memory_bytes: i64,
    /// How they are compressed, as text; empty if nothing says so.
    pub compression: String,
}

/// A path within another one.
pub(crate) fn joined(path: &str, inner: &str) -> String {
    if inner.is_empty() { path.to_owned() } else { format!("{path}.{inner}") }
}

/// The types of a table's columns, found one by one.
pub(crate) fn found_types<T: Table + ?Sized>(table: &T) -> Result<Arc<ColumnTypes>> {
    let mut types = ColumnTypes::new();
    for id in table.columns() {
        if table.describe(id)?.unsupported.is_none()
            && let Some(arrow_type) = table.arrow_type(id, MAX_TYPE_BYTES)?
        {
            types.push((table.place(id).path.into(), arrow_type));
        }
    }
    Ok(Arc::new(types))
}
