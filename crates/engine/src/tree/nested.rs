//! Split objects put together again: a group of branches as one column.
//!
//! Each member is read as the column that it is; this says how the columns of a batch nest in what is delivered.

use std::rc::Rc;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType as ArrowType, Field, Fields, Schema, SchemaRef};
use arrowroot_arrow::ArrowTypes;
use arrowroot_arrow::types::map_type;
use arrowroot_file::{Error, Result, format_error, permanent};
use arrowroot_format as format;
use arrowroot_format::column::{DataType, MAX_LEVELS};
use arrowroot_format::tree::{BranchId, ElementPart};

use super::Tree;
use super::hidden::{Content, Member, named, way};
use crate::scan::Request;
use crate::table::Table;

/// Node types of branches. Source: `TBranchElement::fType` (ROOT 6.40).
mod node {
    pub(super) const CLONES: i32 = 3;
    pub(super) const STL: i32 = 4;
}

/// How the columns that are read become the columns that are delivered.
#[derive(Debug)]
pub(crate) struct Nesting {
    schema: SchemaRef,
    shapes: Vec<Shape>,
}

/// A delivered column, or a part of one.
#[derive(Debug)]
pub(super) enum Shape {
    /// A column that is read, by its index.
    Column(usize),
    /// A member of such a column, by its index there.
    Part(usize, usize),
    /// Members, side by side.
    Struct(Vec<(String, Shape)>),
    /// Objects of a split collection, each of whose members is a list.
    Items(Box<Shape>),
    /// The same of a map, whose members are keys and values.
    Pairs(Box<Shape>),
}

/// Columns to read, with names that tell them apart.
type Columns = Vec<(BranchId, String)>;

/// The columns that have to be read for those that are asked for, and how they nest; `None` if they are the same.
///
/// Members that cannot be read are left out.
///
/// # Errors
/// [`Error::Format`] for a column that cannot be read, or a group without a member that can.
pub(crate) fn unnested(
    tree: &Tree,
    columns: &[(BranchId, String)],
    request: &Request,
) -> Result<Option<(Columns, Nesting)>> {
    let is_group = |id: BranchId| !tree.branch(id).branches.is_empty();
    if request.raw || !columns.iter().any(|&(id, _)| is_group(id)) {
        return Ok(None);
    }
    let mut read = Vec::new();
    let mut shapes = Vec::with_capacity(columns.len());
    for (id, name) in columns {
        if is_group(*id) {
            match group_shape(tree, *id, &mut read)? {
                Some(shape) => shapes.push(shape),
                None => return Err(unreadable(tree, *id)),
            }
        } else {
            read.push((*id, name.clone()));
            shapes.push(Shape::Column(read.len() - 1));
        }
    }
    let mut fields = Vec::with_capacity(shapes.len());
    let mut types = ArrowTypes::new(request.text);
    for ((id, name), shape) in columns.iter().zip(&shapes) {
        let field = field_of(tree, &mut types, &read, shape, name)?;
        if !matches!(shape, Shape::Column(_)) && levels(field.data_type()) > MAX_LEVELS {
            let what = format!("of more than {MAX_LEVELS} lists and objects in each other: read branches in it");
            let error = format::Error::unsupported(0, what);
            return Err(format_error(tree.file().source().as_ref(), tree.branch_path(*id), error));
        }
        fields.push(field);
    }
    let nesting = Nesting { schema: Schema::new(fields).into(), shapes };
    Ok(Some((read, nesting)))
}

/// The shape of a group, if any of its members can be read; the columns inside are added to `read`.
fn group_shape(tree: &Tree, group: BranchId, read: &mut Columns) -> Result<Option<Shape>> {
    let branch = tree.branch(group);
    let mut members = Vec::new();
    add_members(tree, group, &Around { groups: vec![&branch.name], bases: "".into() }, &mut members, read)?;
    if members.is_empty() {
        return Ok(None);
    }
    let has_both = members.len() == 2;
    let inner = Shape::Struct(named(tree, members)?);
    let part = branch.element.as_ref();
    Ok(Some(match part.map(|part| part.node_type) {
        // Of keys or values that cannot be read the others remain.
        Some(node::CLONES | node::STL) if has_both && is_map(tree.type_name(group)?) => Shape::Pairs(Box::new(inner)),
        Some(node::CLONES | node::STL) => Shape::Items(Box::new(inner)),
        _ => inner,
    }))
}

/// Why nothing in a group can be read: what hinders its first column.
fn unreadable(tree: &Tree, group: BranchId) -> Error {
    let mut id = group;
    while let Some(&inside) = tree.branch(id).branches.first() {
        id = inside;
    }
    let nameless = || Error::Internal { what: format!("{}: {} has no name", tree.file().url(), tree.branch_path(id)) };
    tree.readable_column(id).err().unwrap_or_else(nameless)
}

fn is_map(type_name: &str) -> bool {
    let container = type_name.split('<').next().unwrap_or_default();
    let container = container.trim_start_matches("std::");
    matches!(container, "map" | "multimap" | "unordered_map" | "unordered_multimap")
}

/// The surroundings of the branches of a group.
struct Around<'n> {
    /// Names of groups, the innermost first; more than one where it is a base class.
    groups: Vec<&'n str>,
    /// The bases on the way, with colons behind each.
    bases: Rc<str>,
}

/// Adds the members of a group by their names in the class: names of branches repeat those of the groups around.
fn add_members(
    tree: &Tree,
    group: BranchId,
    around: &Around<'_>,
    members: &mut Vec<Member>,
    read: &mut Columns,
) -> Result<()> {
    for &id in &tree.branch(group).branches {
        let branch = tree.branch(id);
        if branch.branches.is_empty() && permanent(tree.readable_column(id))?.is_err() {
            continue;
        }
        let base = permanent(tree.column(id))?.ok().filter(|column| column.is_base).map(|base| &*base.type_name);
        if let Some(base) = base.filter(|_| !branch.branches.is_empty()) {
            // The members of a base are among those of the class.
            let groups = std::iter::once(branch.name.as_str()).chain(around.groups.iter().copied()).collect();
            add_members(tree, id, &Around { groups, bases: way(&around.bases, base) }, members, read)?;
            continue;
        }
        let mut path = member_path(&branch.name, &around.groups);
        if path.len() > 1 && branch.element.as_ref().is_some_and(ElementPart::is_in_array) {
            path.pop(); // C++ knows no such member
        }
        let shape = if branch.branches.is_empty() {
            let column = read.len();
            read.push((id, tree.branch_path(id).to_owned()));
            let parts = parts_of_base(tree, id)?;
            if !parts.is_empty() {
                path.pop(); // the base; its members are those of the class, which may be that of a member
                let bases = way(&around.bases, base.unwrap_or_default());
                for (part, name) in parts.iter().enumerate() {
                    let path: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
                    put(members, &path, id, &bases, Shape::Part(column, part));
                }
                continue;
            }
            Shape::Column(column)
        } else {
            match group_shape(tree, id, read)? {
                Some(shape) => shape,
                None => continue,
            }
        };
        put(members, &path, id, &around.bases, shape);
    }
    Ok(())
}

/// Names of the members of a base that was not split.
fn parts_of_base(tree: &Tree, id: BranchId) -> Result<Vec<String>> {
    let Some(column) = permanent(tree.column(id))?.ok().filter(|column| column.is_base) else { return Ok(Vec::new()) };
    Ok(match column.data_type() {
        Some(DataType::Struct(members)) => members.iter().map(|(name, _)| name.to_string()).collect(),
        Some(DataType::List(item)) => match *item {
            DataType::Struct(members) => members.iter().map(|(name, _)| name.to_string()).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    })
}

/// Names of the members on the way to a branch: without those of its groups, and without dimensions.
fn member_path<'n>(name: &'n str, groups: &[&str]) -> Vec<&'n str> {
    let without = |group: &&str| name.strip_prefix(group.trim_end_matches('.')).and_then(|rest| rest.strip_prefix('.'));
    let own = groups.iter().find_map(without).unwrap_or(name);
    let own = own.split('[').next().unwrap_or(own);
    // The dots in the arguments of a template do not part members.
    let mut depth = 0_usize;
    let parts = own.split(move |letter| {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == '.' && depth == 0
    });
    parts.filter(|part| !part.is_empty()).collect()
}

fn put(members: &mut Vec<Member>, path: &[&str], branch: BranchId, bases: &Rc<str>, shape: Shape) {
    let Some((&name, rest)) = path.split_first() else { return };
    let member = |content| Member { name: name.to_owned(), bases: Rc::clone(bases), branch, content };
    if rest.is_empty() {
        members.push(member(Content::Whole(shape)));
        return;
    }
    // Members stand beside those of their class in split collections alone; the bases may be those of the last of the path.
    let is_it = |known: &Member| known.name == name && known.is_apart();
    let index = members.iter().position(is_it).unwrap_or_else(|| {
        members.push(member(Content::Apart(Vec::new())));
        members.len() - 1
    });
    if let Some(Member { content: Content::Apart(inner), .. }) = members.get_mut(index) {
        put(inner, rest, branch, bases, shape);
    }
}

/// How deep the types of a group are nested.
fn levels(data_type: &ArrowType) -> usize {
    let inner = match data_type {
        ArrowType::List(item) | ArrowType::FixedSizeList(item, _) | ArrowType::Map(item, _) => levels(item.data_type()),
        ArrowType::Struct(members) => members.iter().map(|member| levels(member.data_type())).max().unwrap_or(0),
        _ => 0,
    };
    inner + 1
}

fn field_of(
    tree: &Tree,
    types: &mut ArrowTypes,
    read: &[(BranchId, String)],
    shape: &Shape,
    name: &str,
) -> Result<Field> {
    Ok(match shape {
        Shape::Column(index) => tree.field_among(read[*index].0, name, types)?,
        Shape::Part(index, part) => {
            let part_of = |whole: DataType| match whole {
                DataType::Struct(members) => members.get(*part).map(|(_, member)| member.clone()),
                _ => None,
            };
            let member = match tree.readable_column(read[*index].0)?.data_type() {
                Some(DataType::List(item)) => part_of(*item).map(|member| DataType::List(Box::new(member))),
                whole => whole.and_then(part_of),
            };
            types.arrow_field(name, &member.ok_or_else(|| not_of_members(tree.file().url(), name))?)
        }
        Shape::Struct(members) => {
            let fields = members.iter().map(|(name, member)| field_of(tree, types, read, member, name));
            Field::new(name, ArrowType::Struct(fields.collect::<Result<Fields>>()?), false)
        }
        Shape::Items(inner) => {
            let item = item_field(tree, &field_of(tree, types, read, inner, "item")?, name)?;
            Field::new(name, ArrowType::List(Arc::new(item)), false)
        }
        Shape::Pairs(inner) => {
            let pair = item_field(tree, &field_of(tree, types, read, inner, "entries")?, name)?;
            let ArrowType::Struct(members) = pair.data_type() else {
                return Err(not_of_members(tree.file().url(), name));
            };
            let members =
                members.iter().zip(["key", "value"]).map(|(field, name)| field.as_ref().clone().with_name(name));
            let [key, value] = <[Arc<Field>; 2]>::try_from(members.map(Arc::new).collect::<Vec<_>>())
                .map_err(|_| not_of_members(tree.file().url(), name))?;
            Field::new(name, map_type(key, value), false)
        }
    })
}

fn not_of_members(url: &str, group: &str) -> Error {
    Error::Internal { what: format!("{url}: {group} has a member that is none of its column's") }
}

/// The field of one object, of those of the lists of its members.
fn item_field(tree: &Tree, field: &Field, group: &str) -> Result<Field> {
    let inner = match field.data_type() {
        ArrowType::List(item) => return Ok(item.as_ref().clone().with_name(field.name())),
        ArrowType::Struct(members) => members,
        _ => {
            let what = format!("{group} has a member {} that is no list", field.name());
            return Err(format_error(tree.file().source().as_ref(), group, format::Error::unsupported(0, what)));
        }
    };
    let members = inner.iter().map(|member| item_field(tree, member, group)).collect::<Result<Fields>>()?;
    Ok(Field::new(field.name(), ArrowType::Struct(members), false))
}

impl Nesting {
    /// Schema of what is delivered.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Nests the columns of a batch.
    ///
    /// # Errors
    /// [`Error::Format`] if the members of a collection are not equally many.
    pub(crate) fn apply(&self, batch: &RecordBatch, url: &str) -> Result<RecordBatch> {
        let failed = |error: ArrowError| Error::Internal { what: format!("{url}: a batch: {error}") };
        let mut columns = Vec::with_capacity(self.shapes.len());
        for (shape, field) in self.shapes.iter().zip(self.schema.fields()) {
            columns.push(nested(shape, field, batch).map_err(|fault| match fault {
                Fault::Arrow(error) => failed(error),
                Fault::Uneven(what) => uneven(url, field.name(), what),
            })?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(failed)
    }
}

/// What keeps columns from being nested.
enum Fault {
    Arrow(ArrowError),
    /// The members of a collection are not equally many.
    Uneven(String),
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

fn uneven(url: &str, group: &str, what: String) -> Error {
    let what = format!("the object cannot be put together: {what}; its members can be read one by one");
    Error::Format { url: url.to_owned(), object: group.to_owned(), source: format::Error::unsupported(0, what) }
}

fn misfit(field: &Field) -> Fault {
    Fault::Uneven(format!("{} is not what its column holds", field.name()))
}

fn nested(shape: &Shape, field: &Field, batch: &RecordBatch) -> Result<ArrayRef, Fault> {
    Ok(match (shape, field.data_type()) {
        (Shape::Column(index), _) => Arc::clone(batch.column(*index)),
        (Shape::Part(index, part), _) => part_of(batch.column(*index), *part).ok_or_else(|| misfit(field))?,
        (Shape::Struct(members), ArrowType::Struct(fields)) => {
            let arrays = members.iter().zip(fields).map(|((_, member), field)| nested(member, field, batch));
            Arc::new(structs(fields, arrays.collect::<Result<_, Fault>>()?, batch.num_rows())?)
        }
        // A map whose keys may be null is a list, too.
        (Shape::Items(inner) | Shape::Pairs(inner), ArrowType::List(item)) => {
            let (ends, values) = items(inner, item, batch)?;
            Arc::new(ListArray::try_new(Arc::clone(item), ends, values, None)?)
        }
        (Shape::Pairs(inner), ArrowType::Map(pair, _)) => {
            let (ends, values) = items(inner, pair, batch)?;
            let pairs = StructArray::from(values.to_data());
            Arc::new(MapArray::try_new(Arc::clone(pair), ends, pairs, None, false)?)
        }
        _ => return Err(misfit(field)),
    })
}

/// A member of structs of which none is null.
fn part_of(structs: &ArrayRef, part: usize) -> Option<ArrayRef> {
    structs.as_any().downcast_ref::<StructArray>().and_then(|structs| structs.columns().get(part).cloned())
}

fn structs(fields: &Fields, arrays: Vec<ArrayRef>, n_values: usize) -> Result<StructArray, ArrowError> {
    match arrays.is_empty() {
        true => Ok(StructArray::new_empty_fields(n_values, None)),
        false => StructArray::try_new(fields.clone(), arrays, None),
    }
}

/// The objects of a collection and the ends of their lists, which all members have in common.
fn items(shape: &Shape, field: &Field, batch: &RecordBatch) -> Result<(OffsetBuffer<i32>, ArrayRef), Fault> {
    let lists_of = |index: usize| batch.column(index).as_any().downcast_ref::<ListArray>().ok_or_else(|| misfit(field));
    match (shape, field.data_type()) {
        (Shape::Column(index), _) => {
            let lists = lists_of(*index)?;
            Ok((lists.offsets().clone(), Arc::clone(lists.values())))
        }
        (Shape::Part(index, part), _) => {
            let lists = lists_of(*index)?;
            Ok((lists.offsets().clone(), part_of(lists.values(), *part).ok_or_else(|| misfit(field))?))
        }
        (Shape::Struct(members), ArrowType::Struct(fields)) => {
            let mut common: Option<OffsetBuffer<i32>> = None;
            let mut arrays = Vec::with_capacity(members.len());
            for ((_, member), field) in members.iter().zip(fields) {
                let (ends, values) = items(member, field, batch)?;
                let common = common.get_or_insert_with(|| ends.clone());
                if let Some(end) = (1..common.len()).find(|&end| common[end] != ends[end]) {
                    let of_entry = |ends: &OffsetBuffer<i32>| ends[end] - ends[end - 1];
                    let (n_values, n_others, other) = (of_entry(&ends), of_entry(common), fields[0].name());
                    let what =
                        format!("{} has {n_values} values in an entry where {other} has {n_others}", field.name());
                    return Err(Fault::Uneven(what));
                }
                if values.len() != usize::try_from(common.last()).unwrap_or(0) {
                    return Err(misfit(field));
                }
                arrays.push(values);
            }
            let ends = common.ok_or_else(|| misfit(field))?;
            let n_items = usize::try_from(ends.last()).unwrap_or(0);
            let values: ArrayRef = Arc::new(structs(fields, arrays, n_items)?);
            Ok((ends, values))
        }
        _ => Err(misfit(field)),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_map, member_path};

    #[test]
    fn a_class_is_no_map_for_the_end_of_its_name() {
        for (name, expected) in [
            ("map<int,float>", true),
            ("std::unordered_multimap<int,float>", true),
            ("multimap<string,vector<map<int,int> > >", true),
            ("vector<Hitmap>", false),
            ("Bitmap", false),
            ("my::map<int,float>", false),
        ] {
            assert_eq!(is_map(name), expected, "{name}");
        }
    }

    #[test]
    fn names_of_groups_are_left_out_of_those_of_members() {
        assert_eq!(member_path("event.tracks.x", &["event.tracks"]), ["x"]);
        assert_eq!(member_path("event.n", &["event."]), ["n"]);
        assert_eq!(member_path("n[3]", &["event"]), ["n"]);
        assert_eq!(member_path("event.ar::Base.n[2]", &["event.ar::Base", "event."]), ["n"]);
        assert_eq!(member_path("event.n", &["event.ar::Base", "event."]), ["n"]);
        assert_eq!(member_path("map.second.point.x", &["map"]), ["second", "point", "x"]);
        assert_eq!(member_path("mapping.x", &["map"]), ["mapping", "x"]);
        assert_eq!(member_path("top.pair.first.ar::Base", &["top.pair"]), ["first", "ar::Base"]);
        assert_eq!(member_path("pair.first.Base<a.b,C<d> >.n", &["pair"]), ["first", "Base<a.b,C<d> >", "n"]);
    }
}
