//! The branches of a tree: which values each holds, and what is fixed of its leaf and its baskets.

use arrowroot_arrow::stored::{
    BranchColumn, BranchForm, Content, ElementClassName, Maps, Objects, PlannedBranch, item_type_name, member_name,
    plan_branches, stored_name, template_name,
};
use arrowroot_format::column::DataType;
use arrowroot_format::container::Datime;
use arrowroot_format::streamer::Primitive;
use arrowroot_format::tree::{BasketHead, Leaf};

use super::containers::Container;
use super::elements;
use super::packed::Packed;

use crate::codec::Codec;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::settings::{ColumnCodec, ColumnLayout, Lists, NumberEncoding, Precision};

/// Baskets have less than this: byte counts have 30 bits.
pub(super) const MAX_OBJECT_BYTES: usize = 1 << 30;
/// `fID` and `fStreamerType` of an object that is not split. Source: `TBranchElement::Init` (ROOT 6.40).
const WHOLE: i32 = -1;
/// The highest split level. Source: `TTree::Branch`.
const MAX_SPLIT: u8 = 99;
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
    /// Its layout.
    pub layout: ColumnLayout,
    /// How its baskets are compressed.
    pub compression: ColumnCodec,
}

impl From<Column> for TreeColumn {
    fn from(column: Column) -> Self {
        let Column { name, title, data_type, counter, layout, compression } = column;
        TreeColumn { name, title, data_type, counter, layout, compression }
    }
}

/// A branch with one leaf at most.
#[derive(Debug, Clone)]
pub(super) struct Branch {
    /// Which values it holds.
    pub(super) planned: PlannedBranch,
    /// Its leaf, without counter and maximum; the branch of a member that is split has none.
    pub(super) leaf: Option<Leaf>,
    /// The class of its vectors, or of another container, if they are no part of an object.
    pub(super) vector_class: Option<String>,
    /// Its title, if it is not the leaf list.
    pub(super) title: Option<String>,
    /// Bytes of an entry.
    pub(super) entry_size: EntrySize,
    /// How its numbers are packed, if they are.
    pub(super) packed: Option<Packed>,
    /// True if entries begin where offsets say.
    pub(super) has_offsets: bool,
    /// True if baskets store them: they may follow from the counter.
    pub(super) stores_offsets: bool,
    /// True if collections of objects are stored member by member, not object by object.
    pub(super) is_member_wise: bool,
    /// How its baskets are compressed.
    pub(super) compression: Codec,
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
    /// The bytes that a streamer makes.
    Streamed,
    /// None: it has no baskets, but branches inside.
    Nothing,
}

impl Branch {
    /// True for a `TBranchElement`.
    pub(super) fn is_element(&self) -> bool {
        self.planned.element.is_some() || self.vector_class.is_some()
    }

    /// The same with offsets that readers make of the counter where there is one, and stored as sizes elsewhere. Branches of
    /// classes have no features.
    ///
    /// Source: `TBasket::WriteBuffer`, `TLeaf::CanGenerateOffsetArray`, and what `TBranchElement` of ROOT 6.40 writes.
    fn with_generated_offsets(self) -> Branch {
        if self.is_element() {
            return self;
        }
        let is_counted = matches!(self.planned.form, BranchForm::Counted { .. });
        Branch {
            stores_offsets: self.has_offsets && !is_counted,
            basket_head: self.basket_head.with_generated_offsets(is_counted),
            ..self
        }
    }
}

impl EntrySize {
    /// True if all entries have the same.
    pub(super) fn is_fixed(self) -> bool {
        matches!(self, EntrySize::Fixed(_))
    }
}

/// The branches of columns, counters before what they count.
///
/// `tree_name` is in the keys of the baskets, and so is `datime`. `generates_offsets`: see
/// [`TableSettings`](crate::settings::TableSettings::generates_offsets).
///
/// # Errors
/// If a column has no layout, or two columns have one name: names the column.
pub(super) fn branches_of(
    columns: &[TreeColumn],
    tree_name: &str,
    datime: Datime,
    generates_offsets: bool,
) -> Result<Vec<Branch>> {
    for column in columns {
        check_layout(&column.name, &column.layout)?;
    }
    let planned = planned_branches(columns, tree_name)?;
    let containers = columns.iter().map(Container::of).collect::<Result<Vec<_>>>()?;
    let mut is_counter = vec![false; planned.len()];
    for branch in &planned {
        if let Some(counter) = branch.counter() {
            is_counter[counter] = true;
        }
    }
    let with_rest = |(planned, is_counter): (PlannedBranch, bool)| {
        let column = &columns[planned.column];
        let container = containers[planned.column].as_ref();
        let branch = branch(planned, is_counter, column, container, tree_name, datime).map_err(|error| {
            Error::InvalidRequest { what: format!("column {}: {}", clipped(&column.name), error.fault().what) }
        })?;
        Ok(if generates_offsets { branch.with_generated_offsets() } else { branch })
    };
    planned.into_iter().zip(is_counter).map(with_rest).collect()
}

/// The begin of a name, for messages.
fn clipped(name: &str) -> String {
    name.chars().take(100).collect()
}

/// The plan of the branches of a tree.
///
/// # Errors
/// If a column has no layout, or two columns have one name: names the column.
pub(crate) fn planned_branches(columns: &[TreeColumn], tree_name: &str) -> Result<Vec<PlannedBranch>> {
    let facts: Vec<(String, Option<Packed>)> =
        columns.iter().map(|column| (class_name(column, tree_name), Packed::of(column.layout.precision))).collect();
    let mut as_planned = Vec::with_capacity(columns.len());
    for (column, (class, packed)) in columns.iter().zip(&facts) {
        let is_named = column.layout.class.is_some();
        let is_container = Container::of(column)?.is_some();
        as_planned.push(BranchColumn {
            counter: column.counter.as_deref(),
            objects: column.layout.split.map(|split| Objects { split, class, is_named }),
            has_vectors: column.layout.lists == Lists::Vectors || is_container,
            maps: if is_container { Maps::All } else { Maps::default() },
            packed: packed.as_ref().map(Packed::members),
            ..BranchColumn::new(&column.name, &column.data_type)
        });
    }
    Ok(plan_branches(&as_planned)?)
}

/// The class of the structs of a column: one that is named, or after tree and column, as there may be columns of that name in
/// other trees of the file. A hash of the members comes behind the latter.
fn class_name(column: &TreeColumn, tree_name: &str) -> String {
    let of_column = || format!("{}_{}", stored_name(tree_name), stored_name(&column.name));
    column.layout.class.clone().unwrap_or_else(of_column)
}

/// That a layout is one of a column of a tree.
pub(crate) fn check_layout(name: &str, layout: &ColumnLayout) -> Result<()> {
    let ColumnLayout { split, is_member_wise: _, lists: _, class, precision, encoding, types: _, record } = layout;
    if split.is_some_and(|split| split > MAX_SPLIT) {
        return Err(Error::InvalidRequest { what: format!("column {name}: a split level is {MAX_SPLIT} at most") });
    }
    match precision {
        Precision::Truncated(_) | Precision::Quantized { .. } => {
            let what = format!("column {name}: Real32Trunc and Real32Quant: an RNTuple has them, and a tree not");
            return Err(Error::InvalidRequest { what });
        }
        _ => {}
    }
    if let Some(class) = class {
        let is_name = class.split("::").all(|part| !part.is_empty() && member_name(part) == part);
        if !is_name {
            let what =
                format!("column {name}: {class:?} is no name of a class: letters, digits and _, and no word of C++");
            return Err(Error::InvalidRequest { what });
        }
    }
    if *encoding != NumberEncoding::Automatic {
        let what = format!("column {name}: encoding: a tree stores numbers in one way, RNTuples have several");
        return Err(Error::InvalidRequest { what });
    }
    if record.is_some() {
        return Err(Error::InvalidRequest {
            what: format!("column {name}: a tree's records have the members they began with"),
        });
    }
    Ok(())
}

fn branch(
    mut planned: PlannedBranch,
    is_counter: bool,
    column: &TreeColumn,
    container: Option<&Container>,
    tree_name: &str,
    datime: Datime,
) -> Result<Branch, arrowroot_format::Error> {
    let primitive = planned.content.primitive();
    if let (Some(container), Some(element)) = (container, &mut planned.element) {
        element.class = ElementClassName::Container(container.name.clone());
    }
    let name = &planned.name;
    let packed = match (primitive, &planned.element) {
        (Some(primitive), None) => Packed::of(column.layout.precision).filter(|packed| packed.of == primitive),
        // The plan says it of members.
        (Some(primitive), Some(_)) => {
            Packed::of(column.layout.precision).filter(|packed| packed.primitive == primitive)
        }
        (None, _) if planned.content == Content::Objects => Packed::of(column.layout.precision),
        (None, _) => None,
    };
    let primitive = primitive.map(|primitive| packed.as_ref().map_or(primitive, |packed| packed.primitive));
    let number = |dims: &[u32]| {
        let primitive = primitive.unwrap_or(Primitive::Bool);
        let mut leaf = Leaf::number(name, primitive, dims)?;
        let value_size = packed.as_ref().map_or(primitive.stored_bytes(), |packed| packed.packing.stored_bytes());
        let n_bytes = value_bytes(&leaf, value_size)?;
        leaf.title.push_str(&packed.as_ref().map_or_else(String::new, Packed::in_leaf_title));
        Ok::<_, arrowroot_format::Error>((leaf, n_bytes))
    };
    let mut dims_of_member: &[u32] = &[];
    let (leaf, vector_class, entry_size) = match &planned.form {
        BranchForm::Vectors(depth) => {
            let of_vectors = || vector_name(*depth, primitive.map_or("string", item_type_name));
            let class = container.map_or_else(of_vectors, |container| container.name.clone());
            (Some(Leaf::element(name, name, WHOLE, WHOLE)), Some(class), EntrySize::Vectors)
        }
        BranchForm::Fixed(_) if primitive.is_none() => (Some(Leaf::text(name)), None, EntrySize::Text),
        BranchForm::Fixed(dims) => {
            let (leaf, n_bytes) = number(dims)?;
            dims_of_member = dims;
            (Some(leaf), None, EntrySize::Fixed(n_bytes))
        }
        BranchForm::Counted { dims, .. } => {
            let (leaf, n_bytes) = number(dims)?;
            dims_of_member = dims;
            (Some(leaf), None, EntrySize::PerItem(n_bytes))
        }
        BranchForm::Group => (None, None, EntrySize::Nothing),
        BranchForm::Streamed { .. } => (None, None, EntrySize::Streamed),
    };
    let (leaf, has_offsets) = match &planned.element {
        None => (leaf, !entry_size.is_fixed()),
        Some(element) => (elements::leaf_of(name, element, dims_of_member), elements::has_offsets(element, entry_size)),
    };
    let is_value = match (&planned.element, planned.content) {
        (None, content) => matches!(content, Content::Values(_) | Content::Text),
        // The titles of others say what counts them.
        (Some(_), content) => planned.parent.is_none() && content == Content::Objects,
    };
    let basket_head = BasketHead { datime, seek_dir: ROOT_DIRECTORY_AT, ..BasketHead::new(name, tree_name)? };
    Ok(Branch {
        leaf,
        vector_class,
        entry_size,
        has_offsets,
        stores_offsets: has_offsets,
        is_member_wise: column.layout.is_member_wise,
        title: Some(column.title.clone()).filter(|title| is_value && !title.is_empty()),
        packed,
        compression: Codec::new(column.compression),
        column_name: column.name.clone(),
        is_counter,
        basket_head,
        planned,
    })
}

/// Bytes of the numbers of a leaf in an entry, or for each item of a list.
fn value_bytes(leaf: &Leaf, value_size: usize) -> Result<usize, arrowroot_format::Error> {
    let n_bytes = usize::try_from(leaf.n_items()).ok().and_then(|n| n.checked_mul(value_size));
    n_bytes.filter(|n_bytes| *n_bytes < MAX_OBJECT_BYTES).ok_or_else(|| {
        let what = format!("lists of {} values each: a basket holds less than 1 GiB", leaf.n_items());
        arrowroot_format::Error::unsupported(0, what)
    })
}

/// `vector<vector<float> >`.
fn vector_name(depth: usize, item: &str) -> String {
    (0..depth).fold(item.to_owned(), |inner, _| template_name("vector", &inner))
}

/// The checksum of the class of a container: of its name, and of the member that sets and maps are in libstdc++. That of
/// unordered ones is what ROOT has of them without a dictionary.
///
/// Source: `TClass::GetCheckSum` (ROOT 6.40).
pub(super) fn container_checksum(name: &str) -> u32 {
    let add = |sum: u32, text: &str| text.bytes().fold(sum, |sum, byte| sum.wrapping_mul(3).wrapping_add(byte.into()));
    let of_name = add(0, name);
    match sorted_member(name) {
        Some(member) => add(add(of_name, "_M_t"), &member),
        None => of_name,
    }
}

/// The type of the member of a container that is sorted.
fn sorted_member(name: &str) -> Option<String> {
    let (template, arguments) = name.strip_suffix('>')?.split_once('<')?;
    let arguments = arguments.trim_end();
    let (key, item, part) = match template {
        "set" | "multiset" => (arguments, arguments.to_owned(), "_Identity"),
        "map" | "multimap" => {
            let (key, value) = arguments.split_once(',')?;
            (key, template_name("pair", &format!("const {key},{value}")), "_Select1st")
        }
        _ => return None,
    };
    let of_item = |name| template_name(name, &item);
    let parts = [key, &item, &of_item(part), &template_name("less", key), &of_item("allocator")];
    Some(template_name("_Rb_tree", &parts.join(",")))
}

#[cfg(test)]
mod tests;
