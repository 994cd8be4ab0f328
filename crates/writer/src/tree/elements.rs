//! Branches of objects, of their members and of collections of them: `TBranchElement`s.

use arrowroot_arrow::stored::{
    BranchForm, Content, ElementBranch, ElementClassName, ObjectClass, PlannedBranch, Value,
};
use arrowroot_format::streamer::{Primitive, StreamerInfo, StreamerInfos};
use arrowroot_format::tree::{BranchId, ElementPart, Leaf};

use super::layout::{Branch, EntrySize, container_checksum};
use crate::error::{Error, Result};
use crate::file::FileWriter;

/// Version of the class of vectors in memory. Source: `TBranchElement::fClassVersion` (ROOT 6.40).
const VECTOR_CLASS_VERSION: i32 = 6;
/// `fType` of the branch of a member that is split: it has no leaf.
const CLASS_MEMBER: i32 = 2;
/// Added to the code of a type for a fixed array. Source: `TVirtualStreamerInfo::EReadWrite`.
const ARRAY: i32 = 20;
/// `TBranchElement::kBranchAny`: it has objects that do not derive from `TObject`.
const BRANCH_ANY: u32 = 1 << 17;
/// `TBranch::kDoNotUseBufferMap`: nothing in it refers to another object.
const NO_BUFFER_MAP: u32 = 1 << 22;
/// Types of numbers without arrays have codes up to this. Source: `TVirtualStreamerInfo::kFloat16`.
const LAST_NUMBER: i32 = 19;

/// The leaf of a branch, if it has one. `dims`: of its numbers.
pub(super) fn leaf_of(name: &str, element: &ElementBranch, dims: &[u32]) -> Option<Leaf> {
    if element.node_type == CLASS_MEMBER {
        return None;
    }
    // That of a branch of counts is named as it is titled.
    let own = if element.item_class.is_none() { name.split('[').next().unwrap_or(name) } else { &element.title };
    let mut leaf = Leaf::element(own, &element.title, element.id, element.streamer_type);
    let n_values = dims.iter().try_fold(1_i32, |n, &dim| n.checked_mul(i32::try_from(dim).ok()?));
    let code = element.streamer_type;
    let primitive = Primitive::from_type_code(if code > ARRAY { code - ARRAY } else { code });
    leaf.n_values = n_values.unwrap_or(i32::MAX);
    leaf.value_bytes = primitive.map_or(0, value_bytes);
    leaf.is_unsigned = primitive.is_some_and(is_unsigned);
    Some(leaf)
}

/// `fLenType` of members. Source: what `TLeafElement` of ROOT 6.40 has for them.
fn value_bytes(primitive: Primitive) -> i32 {
    match primitive {
        Primitive::Double32 => 4,
        Primitive::Float16 => 2,
        other => i32::try_from(other.memory_bytes()).unwrap_or_default(),
    }
}

fn is_unsigned(primitive: Primitive) -> bool {
    matches!(primitive, Primitive::UInt8 | Primitive::UInt16 | Primitive::UInt32 | Primitive::UInt64)
}

/// `fBits` of a branch: others than usual where it holds objects.
///
/// Source: `TBranchElement::Init`, `TBranchElement::SetAddressImpl` (ROOT 6.40), and what it writes.
pub(super) fn bits_of(branch: &PlannedBranch, element: &ElementBranch, usual: u32) -> u32 {
    let value = if let BranchForm::Streamed { value, .. } = &branch.form { Some(value) } else { None };
    let has_objects = value.is_some_and(|value| value.has_objects());
    if !has_objects && element.id >= 0 {
        return usual;
    }
    let may_refer = has_objects && element.node_type == 0;
    (usual | BRANCH_ANY) & !(if may_refer { NO_BUFFER_MAP } else { 0 })
}

/// True if baskets store where each entry begins: not of numbers that are members of one object.
///
/// Source: `TBranchElement::Init` (ROOT 6.40).
pub(super) fn has_offsets(element: &ElementBranch, entry_size: EntrySize) -> bool {
    let is_plain = element.node_type == 0 && (1..=LAST_NUMBER).contains(&element.streamer_type);
    entry_size != EntrySize::Nothing && !is_plain
}

/// The record of a branch.
pub(super) fn part_of(element: &ElementBranch, counter: Option<BranchId>) -> ElementPart {
    let (class_name, checksum, class_version) = match &element.class {
        ElementClassName::Described(class) => (class.name.clone(), class.checksum, i32::from(class.version)),
        ElementClassName::Container(name) => (name.clone(), container_checksum(name), VECTOR_CLASS_VERSION),
    };
    ElementPart {
        class_name,
        checksum,
        class_version,
        parent_name: element.parent_class.clone(),
        clones_name: element.item_class.as_ref().map_or_else(String::new, |class| class.name.clone()),
        id: element.id,
        node_type: element.node_type,
        streamer_type: element.streamer_type,
        counter,
        ..ElementPart::default()
    }
}

/// Has the file describe all classes of the branches.
///
/// # Errors
/// [`Error::InvalidRequest`] for a class that has the name of one of ROOT's, or of another one of the file.
pub(super) fn describe(file: &FileWriter, branches: &[Branch]) -> Result<()> {
    // The first branch of a column has its class, or its items.
    for branch in branches.iter().filter(|branch| branch.planned.parent.is_none()) {
        let Some(element) = &branch.planned.element else { continue };
        let mut classes: Vec<StreamerInfo> = Vec::new();
        let mut note = |class: &ObjectClass| classes.push(class.info());
        if let ElementClassName::Described(class) = &element.class {
            Value::object(class).for_each_class(&mut note);
        }
        if let Some(class) = &element.item_class {
            Value::object(class).for_each_class(&mut note);
        }
        if let BranchForm::Streamed { value, .. } = &branch.planned.form {
            value.for_each_class(&mut note);
        }
        for info in classes {
            if is_taken(&info.name) {
                let (column, class) = (&branch.column_name, &info.name);
                let what =
                    format!("column {column}: ROOT has a type {class:?} of its own: give the class another name");
                return Err(Error::InvalidRequest { what });
            }
            file.add_class(info)?;
        }
    }
    Ok(())
}

/// True for names of types that ROOT has, as far as they are known. It takes `std::` for nothing: `std::Muon` is `Muon` there.
fn is_taken(class: &str) -> bool {
    let is_library = matches!(class.split("::").next(), Some("std" | "ROOT")) && class.contains("::");
    is_library || class == "string" || StreamerInfos::is_of_root(class) || Primitive::from_type_name(class).is_some()
}

/// True if a branch says how many items a split collection has.
pub(super) fn is_count(branch: &Branch) -> bool {
    branch.planned.content == Content::Counter && branch.planned.element.is_some()
}
