//! Which form a branch has.
//!
//! Source: `TBranch::GetEntry`, `TBranchElement::SetReadLeavesPtr`, `TLeaf*::ReadBasket` (ROOT 6.40).

use std::sync::Arc;

use super::class::CountedHead;
use super::code;
use super::compile::{Compiler, MAX_DIMS, MAX_LEVELS, clipped, too_deep};
use super::data_type::{DataType, Name};
use super::entry_form::{EntryForm, Framing, Header};
use super::members::counted;
use super::node::{Node, Number, node_with_dims};
use super::seen_classes::SeenClasses;
use crate::error::{Error, Result};
use crate::streamer::{Element, ElementClass, PackingRange, Primitive, StreamerInfos, TypeName};
use crate::tree::{BranchDescription, BranchId, ElementPart, Leaf, LeafId, LeafKind, TreeSchema};

/// Type codes of elements. Source: `TVirtualStreamerInfo::EReadWrite`.
/// Node type of a branch whose objects were written by a function of their class, with a version before them.
const CUSTOM_STREAMER: i32 = -1;

/// Where the number of items of each entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Counter {
    /// The branch.
    pub branch: BranchId,
    /// Which of its leaves: several may count arrays, each others.
    pub leaf: usize,
}

impl Counter {
    /// A branch that holds nothing else.
    fn sole(branch: BranchId) -> Self {
        Counter { branch, leaf: 0 }
    }

    fn of_leaf(tree: &TreeSchema, id: LeafId) -> Option<Self> {
        let branch = tree.branch_of_leaf(id)?;
        let leaf = tree.branch(branch).leaves.iter().position(|&leaf| leaf == id)?;
        Some(Counter { branch, leaf })
    }
}

/// What a branch holds and how it is read.
#[derive(Debug, Clone)]
pub struct Column {
    /// The C++ type of an entry. One of more than 1 KiB lacks its middle: each of many branches has its own.
    pub type_name: String,
    /// `None` for a branch that only groups others.
    pub form: Option<EntryForm>,
    /// What tells the number of items of each entry, if anything does; needed where entry offsets are not stored.
    pub counter: Option<Counter>,
    /// Items for each count.
    pub count_factor: u32,
    /// The branch with the number of items of each array, where every object of a split collection has one.
    pub item_counter: Option<BranchId>,
    /// Whether it is a base class, whose members are among those of the class that derives from it.
    pub is_base: bool,
}

impl Column {
    fn new(type_name: impl Into<String>, form: EntryForm) -> Self {
        Column { form: Some(form), ..Column::group(type_name.into()) }
    }

    fn group(type_name: String) -> Self {
        Column {
            type_name: clipped(type_name),
            form: None,
            counter: None,
            count_factor: 1,
            item_counter: None,
            is_base: false,
        }
    }

    /// The number of objects in each entry of a split collection, which is what its own branch holds.
    ///
    /// Source: `TBranchElement::ReadLeavesCollection` and `ReadLeavesClones` (ROOT 6.40).
    pub fn of_counts(branch: &BranchDescription) -> Option<Self> {
        let is_collection = branch.element.as_ref().is_some_and(|part| matches!(part.node_type, 3 | 4));
        let form = EntryForm::Fixed { number: Number::plain(Primitive::Int32), dims: Vec::new() };
        is_collection.then(|| Column::new("int", form))
    }

    /// A branch without entries, of whatever type that is not read.
    pub fn of_nothing(branch: &BranchDescription) -> Self {
        let node = Node::Unreadable(clipped(branch.name.clone()).into());
        Column::new("", EntryForm::Streamed { framed: Framing::Bare, node })
    }

    /// The bytes of each entry as they are stored, of a branch of any type.
    pub fn of_bytes(type_name: &str) -> Self {
        Column::new(type_name, EntryForm::Streamed { framed: Framing::Bare, node: Node::Raw })
    }

    /// How many values and lists it is made of.
    pub fn size(&self) -> usize {
        match &self.form {
            Some(EntryForm::Streamed { node, .. }) => node.size(),
            _ => 1,
        }
    }

    /// Whether it holds objects of classes that only the data tell.
    pub fn holds_objects(&self) -> bool {
        matches!(&self.form, Some(EntryForm::Streamed { node, .. }) if node.holds_objects())
    }

    /// What comes out; `None` for a group.
    pub fn data_type(&self) -> Option<DataType> {
        self.form.as_ref().map(EntryForm::data_type)
    }
}

/// Compiles the form of a branch.
///
/// `infos` are asked for only if the branch is one of a class, and numbers do without where they are not there; `seen`: classes that the data of the branch have told,
/// where it [holds objects](Column::holds_objects) of any.
///
/// # Errors
/// [`Error::Unsupported`], with the type in its text, for what is not read yet.
pub fn resolve<'i>(
    tree: &TreeSchema,
    id: BranchId,
    infos: &dyn Fn() -> Result<&'i StreamerInfos>,
    seen: &Arc<SeenClasses>,
) -> Result<Column> {
    let branch = tree.branch(id);
    if !branch.branches.is_empty() {
        return Ok(branch
            .element
            .as_ref()
            .map_or_else(|| Column::group(String::new()), |part| of_group(branch, part, infos)));
    }
    let column = match &branch.element {
        Some(part) => of_element(tree, branch, part, infos, seen),
        None => match branch.leaves.as_slice() {
            [leaf] if matches!(tree.leaf(*leaf).kind, LeafKind::Object { .. }) => {
                of_leaf_object(branch, tree.leaf(*leaf), infos, seen)
            }
            _ if branch.class == "TBranch" => of_leaves(tree, branch),
            _ => Err(unsupported(branch, &branch.class)),
        },
    };
    column.and_then(|column| not_too_deep(&branch.name, column))
}

/// Refuses a column that is nested deeper than Arrow takes it.
fn not_too_deep(branch: &str, column: Column) -> Result<Column> {
    match column.form.as_ref().map_or(0, EntryForm::levels) {
        0..=MAX_LEVELS => Ok(column),
        _ => Err(not_readable(branch, &too_deep(&column.type_name))),
    }
}

/// Node type of a `TClonesArray` that was split.
const CLONES: i32 = 3;

/// A split object: a branch of a member names the class that has the member.
fn of_group<'i>(
    branch: &BranchDescription,
    part: &ElementPart,
    infos: &dyn Fn() -> Result<&'i StreamerInfos>,
) -> Column {
    // One that is a branch of the tree has the number of a member, 0, and is none.
    let is_member = part.id >= 0 && !(part.node_type == CLONES && part.class_name == "TClonesArray");
    let member = is_member.then(|| infos().ok().and_then(|infos| find_element(infos, &branch.name, part))).flatten();
    match member {
        Some(element) if element.class == ElementClass::Base => {
            Column { is_base: true, ..Column::group(element.name.to_string()) }
        }
        Some(element) => Column::group(element.type_name.clone()),
        None => Column::group(part.class_name.clone()),
    }
}

fn unsupported(branch: &BranchDescription, type_name: &str) -> Error {
    not_readable(&branch.name, type_name)
}

fn not_readable(branch: &str, type_name: &str) -> Error {
    let type_name = clipped(type_name.to_owned());
    Error::unsupported(0, format!("branch {branch:?} of type {type_name} is not readable yet"))
}

/// The dimensions in a title such as `"a[n][3]"`, without those that are names.
fn dims_in_title(title: &str) -> Vec<u32> {
    let title = title.split('/').next().unwrap_or_default();
    let dims = title.split('[').skip(1).filter_map(|part| part.split(']').next()?.trim().parse().ok());
    dims.take(MAX_DIMS + 1).collect()
}

/// Dimensions, if they are not too many: each is a list in a list.
fn checked(name: &str, dims: Vec<u32>) -> Result<Vec<u32>> {
    match dims.len() {
        0..=MAX_DIMS => Ok(dims),
        _ => Err(Error::unsupported(0, format!("{name:?} is an array of more than {MAX_DIMS} dimensions"))),
    }
}

/// A plain branch: what its leaves say.
fn of_leaves(tree: &TreeSchema, branch: &BranchDescription) -> Result<Column> {
    let leaves: Vec<&Leaf> = branch.leaves.iter().map(|&leaf| tree.leaf(leaf)).collect();
    match leaves.as_slice() {
        [] => Err(unsupported(branch, "(no leaves)")),
        [leaf] => of_single_leaf(tree, branch, leaf),
        _ => of_leaf_list(tree, branch, &leaves),
    }
}

/// A whole object in each entry of an old branch (`TBranchObject`): the title of its leaf is its class.
fn of_leaf_object<'i>(
    branch: &BranchDescription,
    leaf: &Leaf,
    infos: &dyn Fn() -> Result<&'i StreamerInfos>,
    seen: &Arc<SeenClasses>,
) -> Result<Column> {
    let class = leaf.title.trim();
    let type_name = TypeName::parse(class).map_err(|_| unsupported(branch, class))?;
    let node = readable(&branch.name, Compiler::with_seen(infos()?, seen).named(&type_name))?;
    Ok(Column::new(class, EntryForm::Streamed { framed: Framing::Bare, node }))
}

fn leaf_number(leaf: &Leaf, primitive: Primitive) -> Number {
    Number::packed(primitive, PackingRange::parse_leaf_title(&leaf.title))
}

/// Fixed dimensions of a leaf; their product is the number of items in an entry, or for each count.
fn leaf_dims(leaf: &Leaf) -> Result<Vec<u32>> {
    let n_items = u32::try_from(leaf.n_items())
        .map_err(|_| Error::unsupported(0, format!("leaf {:?} has {} items in an entry", leaf.name, leaf.n_items())))?;
    let dims = checked(&leaf.name, dims_in_title(&leaf.title))?;
    let product = dims.iter().try_fold(1_u32, |product, &dim| product.checked_mul(dim));
    if product == Some(n_items) {
        return Ok(dims);
    }
    Ok(if n_items == 1 { Vec::new() } else { vec![n_items] })
}

fn of_single_leaf(tree: &TreeSchema, branch: &BranchDescription, leaf: &Leaf) -> Result<Column> {
    let primitive = match &leaf.kind {
        LeafKind::Number(primitive) => *primitive,
        LeafKind::Text => {
            let form = EntryForm::Streamed { framed: Framing::Bare, node: Node::TextOrNothing };
            return Ok(Column::new("char*", form));
        }
        LeafKind::Object { .. } => return Err(unsupported(branch, "leaf list with objects")),
        LeafKind::Element { .. } => return Err(unsupported(branch, "TLeafElement without TBranchElement")),
        LeafKind::Other => return Err(unsupported(branch, &leaf.class)),
    };
    let number = leaf_number(leaf, primitive);
    let dims = leaf_dims(leaf)?;
    let mut type_name = primitive.name().to_owned();
    let form = match leaf.counter {
        None => EntryForm::Fixed { number, dims: dims.clone() },
        Some(_) => {
            type_name.push_str("[]");
            EntryForm::Jagged { header: Header::Nothing, number, dims: dims.clone() }
        }
    };
    type_name.push_str(&bracketed(&dims));
    let mut column = Column::new(type_name, form);
    column.counter = leaf.counter.and_then(|counter| Counter::of_leaf(tree, counter));
    column.count_factor = dims.iter().product();
    Ok(column)
}

/// Several leaves: a struct of one member for each.
fn of_leaf_list(tree: &TreeSchema, branch: &BranchDescription, leaves: &[&Leaf]) -> Result<Column> {
    let mut members: Vec<(Name, Node)> = Vec::with_capacity(leaves.len());
    let mut declarations = Vec::with_capacity(leaves.len());
    let mut outer_counter = None;
    for leaf in leaves {
        let (node, type_name, dims) = match &leaf.kind {
            LeafKind::Number(primitive) => {
                let dims = leaf_dims(leaf)?;
                let item = node_with_dims(Node::Number(leaf_number(leaf, *primitive)), &dims);
                let node = match leaf.counter {
                    None => item,
                    Some(counter) => {
                        let member = branch.leaves.iter().position(|&id| id == counter);
                        match member.filter(|&member| member < members.len()) {
                            Some(member) => Node::CountedBy { item: Box::new(item), member, factor: 1 },
                            None if *outer_counter.get_or_insert(counter) == counter => Node::ToFit(Box::new(item)),
                            None => return Err(unsupported(branch, "leaf list with arrays of different counters")),
                        }
                    }
                };
                (node, primitive.name(), dims)
            }
            LeafKind::Text => (Node::TextOrNothing, "char*", Vec::new()),
            _ => return Err(unsupported(branch, "leaf list with objects")),
        };
        let counter = leaf.counter.map(|counter| format!("[{}]", tree.leaf(counter).name)).unwrap_or_default();
        declarations.push(format!("{type_name} {}{counter}{}", leaf.name, bracketed(&dims)));
        members.push((Name::from(leaf.name.as_str()), node));
    }
    let first = members.iter().position(|(_, node)| matches!(node, Node::ToFit(_)));
    let behind = members.get(first.unwrap_or(members.len())..).unwrap_or_default();
    if behind.iter().any(|(_, node)| matches!(node, Node::CountedBy { .. } | Node::TextOrNothing)) {
        // The size of the entry does not tell how its end divides.
        return Err(unsupported(branch, "leaf list with an array that another branch counts before text or arrays"));
    }
    let form = EntryForm::Streamed { framed: Framing::Bare, node: Node::Struct(members) };
    Ok(Column::new(format!("struct {{{};}}", declarations.join("; ")), form))
}

/// Dimensions as C++ writes them.
fn bracketed(dims: &[u32]) -> String {
    dims.iter().map(|dim| format!("[{dim}]")).collect()
}

/// A branch of a class or of a member of one.
fn of_element<'i>(
    tree: &TreeSchema,
    branch: &BranchDescription,
    part: &ElementPart,
    infos: &dyn Fn() -> Result<&'i StreamerInfos>,
    seen: &Arc<SeenClasses>,
) -> Result<Column> {
    let in_collection = matches!(part.node_type, 31 | 41);
    if part.is_split() {
        return of_split(branch, part, infos);
    }
    let around = branch.parent.and_then(|around| tree.branch(around).element.as_ref());
    let is_array_around = |around: &ElementPart| {
        around.clones_name == part.class_name || (around.id < 0 && around.class_name == part.class_name)
    };
    if part.is_in_array() && around.is_some_and(is_array_around) {
        // ROOT 6.40 makes the branch, says that it does not find the member, and writes nothing into it.
        let what = format!("branch {:?}: ROOT stores nothing of {} that was split", branch.name, part.class_name);
        return Err(Error::unsupported(0, what));
    }
    let mut column = if part.id >= 0 {
        let infos = infos().ok();
        match infos.and_then(|infos| find_element(infos, &branch.name, part).map(|element| (infos, element))) {
            Some((infos, element)) => of_member(tree, branch, element, in_collection, (infos, seen))?,
            None => of_streamer_type(tree, branch, part, in_collection)?,
        }
    } else {
        match infos() {
            Ok(infos) => of_object(&branch.name, part, infos, seen)?,
            // Types without classes need none.
            Err(error) => {
                let column = of_object(&branch.name, part, &StreamerInfos::default(), seen);
                column.map_err(|of_type| if matches!(error, Error::Unsupported(_)) { error } else { of_type })?
            }
        }
    };
    if column.counter.is_none() {
        column.counter = part.counter.filter(|_| column.count_factor != 0).map(Counter::sole);
    }
    Ok(column)
}

/// What was split and has no branches: of a class without members, such as the base `edm::EDProduct`.
fn of_split<'i>(
    branch: &BranchDescription,
    part: &ElementPart,
    infos: &dyn Fn() -> Result<&'i StreamerInfos>,
) -> Result<Column> {
    let group = of_group(branch, part, infos);
    let class = if part.clones_name.is_empty() { &group.type_name } else { &part.clones_name };
    match part.is_base() || infos().is_ok_and(|infos| infos.is_without_members(class)) {
        true => Ok(group),
        false => Err(unsupported(branch, class)),
    }
}

/// The element that a branch holds.
///
/// Where rules made further members when the tree was written, the stored number counts these too, and is that of another
/// one or of none in the file's streamer information. ROOT looks for the name as well (`TBranchElement::InitInfo`, 6.40).
fn find_element<'i>(infos: &'i StreamerInfos, branch: &str, part: &ElementPart) -> Option<&'i Element> {
    let by_checksum = || (part.checksum != 0).then(|| infos.by_checksum(&part.class_name, part.checksum)).flatten();
    let by_version = || infos.get(&part.class_name, u16::try_from(part.class_version).ok()?);
    let info = by_checksum().or_else(by_version).or_else(|| infos.latest(&part.class_name))?;
    let numbered = info.elements.get(usize::try_from(part.id).ok()?);
    let name = member_name(branch);
    if numbered.is_some_and(|element| *element.name == *name) {
        return numbered;
    }
    info.elements.iter().find(|element| *element.name == *name).or(numbered)
}

/// The last part of the name of a branch, without dimensions.
fn member_name(branch: &str) -> &str {
    let name = branch.trim_end_matches('.');
    let name = name.rsplit_once('.').map_or(name, |(_, name)| name);
    name.split_once('[').map_or(name, |(name, _)| name)
}

/// One member of a class, or of each item of a collection.
fn of_member(
    tree: &TreeSchema,
    branch: &BranchDescription,
    element: &Element,
    in_collection: bool,
    (infos, seen): (&StreamerInfos, &Arc<SeenClasses>),
) -> Result<Column> {
    let dims = checked(&branch.name, element.max_index.clone())?;
    let type_name = if in_collection { format!("{}[]", element.type_name) } else { element.type_name.clone() };
    let type_name = type_name + &bracketed(&dims);
    let mut compiler = Compiler::with_seen(infos, seen);
    if element.class == ElementClass::Base {
        return of_base(branch, element, in_collection, &mut compiler);
    }
    if let Some(head) = counted(element) {
        if in_collection {
            let item = readable(&branch.name, compiler.counted_item(element))?;
            return of_arrays(tree, branch, element, item, head);
        }
        let type_name = format!("{}[]", element.type_name.trim_end_matches('*'));
        let item = readable(&branch.name, compiler.counted_item(element))?;
        return Ok(match (head, item) {
            (CountedHead::Flag, Node::Number(number)) => {
                Column::new(type_name, EntryForm::Jagged { header: Header::Flag, number, dims: Vec::new() })
            }
            (_, item) => {
                let node = Node::ToEnd(Box::new(item));
                Column::new(type_name, EntryForm::Streamed { framed: Framing::Framed, node })
            }
        });
    }
    let node = readable(&branch.name, compiler.member(element))?;
    let form = match node_without_dims(&node, &dims) {
        Some(&Node::Number(number)) if in_collection => EntryForm::Jagged { header: Header::Nothing, number, dims },
        Some(&Node::Number(number)) => EntryForm::Fixed { number, dims },
        _ => match (node, in_collection) {
            (Node::Framed(node), true) => {
                let framed = if matches!(*node, Node::Text) { Framing::IfItFits } else { Framing::Framed };
                EntryForm::Streamed { framed, node: Node::ToEnd(node) }
            }
            (Node::Framed(node), false) => framed_form(*node, is_bitset(&element.type_name)),
            (node, true) => EntryForm::Streamed { framed: Framing::Bare, node: Node::ToEnd(Box::new(node)) },
            (node, false) => EntryForm::Streamed { framed: Framing::Bare, node },
        },
    };
    Ok(Column::new(type_name, form))
}

/// An array for each object of a split collection: the member that counts its items is in the branch beside.
fn of_arrays(
    tree: &TreeSchema,
    branch: &BranchDescription,
    element: &Element,
    item: Node,
    head: CountedHead,
) -> Result<Column> {
    let prefix = branch.name.rfind('.').map_or("", |dot| &branch.name[..=dot]);
    let wanted = format!("{prefix}{}", element.count_name);
    let siblings = branch.parent.map(|parent| tree.branch(parent).branches.as_slice()).unwrap_or_default();
    let counter = siblings.iter().copied().find(|&id| tree.branch(id).name == wanted);
    let type_name = format!("{}[{}][]", element.type_name, element.count_name);
    let counter = counter.ok_or_else(|| unsupported(branch, &format!("{type_name}, without branch {wanted}")))?;
    let node = Node::ArrayOfEach { item: Box::new(item), factor: element.array_length.max(1), head };
    let column = Column::new(type_name, EntryForm::Streamed { framed: Framing::Bare, node });
    Ok(Column { item_counter: Some(counter), ..column })
}

/// A base class that was not split.
fn of_base(
    branch: &BranchDescription,
    element: &Element,
    in_collection: bool,
    compiler: &mut Compiler<'_>,
) -> Result<Column> {
    let type_name = TypeName::parse(&element.name).map_err(|_| unsupported(branch, &element.name))?;
    let node = match in_collection {
        false => readable(&branch.name, compiler.value(&type_name, 0))?,
        true if &*element.name == "TObject" => {
            Node::ToEnd(Box::new(readable(&branch.name, compiler.value(&type_name, 0))?))
        }
        true => {
            let class = compiler.base_of_each(element).map_err(|why| unsupported(branch, &why))?;
            readable(&branch.name, Node::MembersOfEach(Arc::new(class)))?
        }
    };
    let column = Column::new(element.name.to_string(), EntryForm::Streamed { framed: Framing::Bare, node });
    Ok(Column { is_base: true, ..column })
}

/// A node, or why there is no value of it that can be read.
fn readable(branch: &str, node: Node) -> Result<Node> {
    match node.fault() {
        Some(why) => Err(not_readable(branch, why)),
        None => Ok(node),
    }
}

/// The item of a fixed array.
fn node_without_dims<'n>(node: &'n Node, dims: &[u32]) -> Option<&'n Node> {
    dims.iter().try_fold(node, |node, _| if let Node::Fixed(item, _) = node { Some(&**item) } else { None })
}

/// What stands behind a frame: lists of numbers have kernels.
fn framed_form(node: Node, is_bitset: bool) -> EntryForm {
    match node {
        Node::List(item) => match *item {
            Node::Number(number) if !is_bitset => {
                EntryForm::Jagged { header: Header::Vector, number, dims: Vec::new() }
            }
            item => EntryForm::Streamed { framed: Framing::Framed, node: Node::List(Box::new(item)) },
        },
        Node::Text => EntryForm::Streamed { framed: Framing::IfItFits, node: Node::Text },
        node => EntryForm::Streamed { framed: Framing::Framed, node },
    }
}

/// Bitsets look like vectors of bools, but writers before ROOT 6.08/06 left nothing of them, not even a header.
fn is_bitset(type_name: &str) -> bool {
    TypeName::parse(type_name).is_ok_and(|type_name| type_name.name == "bitset")
}

/// A member whose class is not described in the file: the type code in the branch is enough for numbers.
fn of_streamer_type(
    tree: &TreeSchema,
    branch: &BranchDescription,
    part: &ElementPart,
    in_collection: bool,
) -> Result<Column> {
    let streamer_type = part.streamer_type;
    let wanted = || unsupported(branch, &format!("member {} of {} (no streamer info)", part.id, part.class_name));
    let (base_code, is_pointer) = match streamer_type {
        1..=19 => (streamer_type, false),
        21..=39 => (streamer_type - code::ARRAY, false),
        41..=59 => (streamer_type - code::POINTER, true),
        _ => return Err(wanted()),
    };
    let primitive = Primitive::from_type_code(base_code).ok_or_else(wanted)?;
    if base_code == code::CHAR_STAR || base_code == code::BITS || (is_pointer && in_collection) {
        return Err(wanted());
    }
    if matches!(primitive, Primitive::Float16 | Primitive::Double32) {
        return Err(wanted()); // the packing is in the streamer info
    }
    let dims = branch.leaves.first().map(|&leaf| dims_in_title(&tree.leaf(leaf).title)).unwrap_or_default();
    let dims = checked(&branch.name, dims)?;
    let number = Number::plain(primitive);
    let form = match (is_pointer, in_collection) {
        (true, _) => EntryForm::Jagged { header: Header::Flag, number, dims: Vec::new() },
        (false, true) => EntryForm::Jagged { header: Header::Nothing, number, dims },
        (false, false) => EntryForm::Fixed { number, dims },
    };
    Ok(Column::new(primitive.name(), form))
}

/// Compiles the form of a branch with an object of some type in each entry, as if it had not been split.
///
/// `is_framed`: whether the version of its class comes before it, as where a function of the class writes it; `seen`:
/// classes that the data have told, where it [holds objects](Column::holds_objects) of any.
///
/// # Errors
/// [`Error::Unsupported`], with the type in its text, for what is not read yet.
pub fn column_of_type(
    type_name: &str,
    is_framed: bool,
    infos: &StreamerInfos,
    seen: &Arc<SeenClasses>,
) -> Result<Column> {
    let latest = infos.latest(type_name);
    let part = ElementPart {
        class_name: type_name.to_owned(),
        checksum: latest.map_or(0, |info| info.checksum),
        class_version: latest.map_or(0, |info| i32::from(info.version)),
        id: -1,
        node_type: if is_framed { CUSTOM_STREAMER } else { 0 },
        ..ElementPart::default()
    };
    of_object("", &part, infos, seen).and_then(|column| not_too_deep("", column))
}

/// Compiles the form of what the streamer of a class wrote into a field of an RNTuple: what it writes where it is called for
/// an object, and of a collection no frame. `checksum`: of the class, as the field has it; it tells where the name does not.
///
/// # Errors
/// [`Error::Unsupported`], with the type in its text, for what cannot be read.
///
/// # Source
/// `RStreamerField::AppendImpl`, `TCollectionClassStreamer::Stream` (ROOT 6.40).
pub fn column_of_streamed_field(
    type_name: &str,
    checksum: Option<u32>,
    infos: &StreamerInfos,
    seen: &Arc<SeenClasses>,
) -> Result<Column> {
    let parsed = TypeName::parse(infos.described_name(type_name, checksum))?;
    let node = Compiler::with_seen(infos, seen).value(&parsed, 0);
    if let Some(why) = node.fault() {
        let reason = match infos.is_named(type_name) {
            true => "",
            false => ": of a class that is written by code of its own nothing is said in an RNTuple",
        };
        return Err(Error::unsupported(0, format!("objects of {why}, cannot be read{reason}")));
    }
    let framed = if matches!(node, Node::Text) { Framing::IfItFits } else { Framing::Bare };
    not_too_deep("", Column::new(parsed.to_string(), EntryForm::Streamed { framed, node }))
}

/// A whole object in each entry.
fn of_object(branch: &str, part: &ElementPart, infos: &StreamerInfos, seen: &Arc<SeenClasses>) -> Result<Column> {
    let class_name = &part.class_name;
    let parsed = TypeName::parse(class_name).map_err(|_| not_readable(branch, class_name))?;
    let mut compiler = Compiler::with_seen(infos, seen);
    let node = if part.node_type == CUSTOM_STREAMER {
        compiler.value(&parsed, 0)
    } else {
        compiler.bare_object(&parsed, part.class_version, part.checksum)
    };
    let node = readable(branch, node)?;
    let form = if compiler.is_framed_collection(&parsed) || matches!(node, Node::Text) {
        framed_form(node, is_bitset(class_name))
    } else {
        EntryForm::Streamed { framed: Framing::Bare, node }
    };
    Ok(Column::new(parsed.to_string(), form))
}

#[cfg(test)]
mod tests;
