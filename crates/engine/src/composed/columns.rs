//! Which branches or fields hold the columns of a record.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrowroot_arrow::stored::{
    BranchColumn, BranchForm, Content, IsUntyped, Maps, Objects, PlannedBranch, RecordedSchema, StoreError, data_type,
    has_type_name, original_name, plan_branches, stored_name,
};
use arrowroot_format::column::DataType;
use arrowroot_format::rntuple::{Shape, SlotId};
use arrowroot_format::tree::BranchId;

use super::record::has_other_name;
use super::{Composed, ComposedColumn, Written};
use crate::ntuple::Ntuple;
use crate::scan::{ColumnId, Holds};
use crate::table::Table;
use crate::tree::Tree;

/// Why a record does not fit its table, as a text.
type Result<T> = std::result::Result<T, String>;

fn types(recorded: &RecordedSchema) -> Result<Vec<DataType>> {
    let types = recorded.stored.fields().iter().map(|field| data_type(field));
    types.collect::<std::result::Result<_, StoreError>>().map_err(|error| error.to_string())
}

fn composed_columns(recorded: &RecordedSchema, types: Vec<DataType>, parts: Vec<Vec<ColumnId>>) -> Vec<ComposedColumn> {
    let fields = recorded.schema.fields().iter().zip(recorded.stored.fields()).zip(types).zip(parts);
    let columns = fields.map(|(((field, stored), data_type), parts)| {
        let (field, stored) = (Arc::clone(field), Arc::clone(stored));
        ComposedColumn { field, stored, data_type, parts, members: vec![] }
    });
    columns.collect()
}

/// The path of a branch: its name behind those around it.
fn path_of(branches: &[PlannedBranch], branch: &PlannedBranch) -> String {
    let around = branch.parent.and_then(|parent| branches.get(parent));
    around.map_or_else(|| branch.name.clone(), |around| format!("{}/{}", path_of(branches, around), branch.name))
}

/// How the maps of a column are stored in a tree: as the writer was asked to, or as former versions did it.
fn maps_of(tree: &Tree, column: &BranchColumn<'_>) -> Maps {
    let is_there = |branch: &PlannedBranch| branch.content == Content::Counter || tree.has_path(&branch.name);
    let fits = |maps: &Maps| {
        let branches = plan_branches(&[BranchColumn { maps: *maps, ..column.clone() }]);
        branches.is_ok_and(|branches| branches.iter().all(is_there))
    };
    [Maps::Known, Maps::All, Maps::Listed].into_iter().find(fits).unwrap_or_default()
}

fn has_maps(data_type: &DataType) -> bool {
    match data_type {
        DataType::Map(..) => true,
        DataType::List(of) | DataType::FixedList(of, _) | DataType::Optional(of) => has_maps(of),
        DataType::Struct(members) => members.iter().any(|(_, member)| has_maps(member)),
        _ => false,
    }
}

/// Finds the ends of collections that stand for optional values, in a field of a recorded type.
fn find_optionals(data_type: &DataType, shape: &Shape, around: IsUntyped, found: &mut HashSet<SlotId>) {
    let inside = around.inside(data_type);
    match (data_type, shape) {
        (DataType::Optional(value), Shape::List { ends, item }) => {
            if around.can_be_read_as_optional(value) {
                found.insert(*ends);
            }
            find_optionals(value, item, inside, found);
        }
        (DataType::Optional(value), Shape::Optional { item, .. }) => find_optionals(value, item, inside, found),
        (DataType::List(of) | DataType::FixedList(of, _), Shape::List { item, .. } | Shape::FixedList { item, .. }) => {
            find_optionals(of, item, inside, found);
        }
        (DataType::Map(key, value), Shape::Map { key: of_key, value: of_value, .. }) => {
            find_optionals(key, of_key, inside, found);
            find_optionals(value, of_value, inside, found);
        }
        (DataType::Variant(of), Shape::Variant { alternatives, .. }) => {
            of.iter().zip(alternatives).for_each(|(of, alternative)| find_optionals(of, alternative, inside, found));
        }
        (DataType::Map(key, value), Shape::List { item, .. }) => {
            if let Shape::Struct { members } = &**item {
                let pair = [key, value].into_iter().zip(members);
                pair.for_each(|(of, (_, member))| find_optionals(of, member, inside, found));
            }
        }
        (DataType::Struct(of), Shape::Struct { members }) => {
            let members = of.iter().zip(members);
            members.for_each(|((_, of), (_, member))| find_optionals(of, member, around, found));
        }
        _ => {}
    }
}

/// Fields that hold no column of a record, under the names that they were written with: a record has no projected fields.
///
/// # Errors
/// The errors of reading what tells their types, and what is wrong with these.
fn named_otherwise(ntuple: &Ntuple, columns: &[ComposedColumn]) -> Result<Vec<ComposedColumn>> {
    let held: HashSet<ColumnId> = columns.iter().flat_map(|column| column.parts.iter().copied()).collect();
    let is_other = |name: &str| ntuple.found(name).is_some_and(|id| !held.contains(&id));
    let is_taken = |name: &str| columns.iter().any(|column| column.field.name() == name);
    let names = ntuple.column_names().into_iter().filter(|name| is_other(name));
    let names: HashSet<&str> = names.filter(|name| has_other_name(name) && !is_taken(&original_name(name))).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut read = ntuple.arrow_schema().map_err(|error| error.to_string())?;
    read.fields = read.fields.iter().filter(|field| names.contains(field.name().as_str())).cloned().collect();
    let Some(recorded) = RecordedSchema::of_stored_names(&read) else { return Ok(Vec::new()) };
    let parts = read.fields.iter().map(|field| ntuple.found(field.name()).into_iter().collect()).collect();
    Ok(composed_columns(&recorded, types(&recorded)?, parts))
}

impl Composed {
    /// A tree with the columns of its record, a text: they are found once for all trees of one schema that record the same.
    ///
    /// # Errors
    /// The part that does not fit.
    pub(crate) fn of_tree(tree: Tree, record: &str) -> Result<Composed> {
        let shared = tree.shared();
        let written = match shared.written_of(record) {
            Some(written) => written,
            None => shared.keep_written(record, Written::of_tree(&tree, &RecordedSchema::decode(record)?)?),
        };
        Ok(Composed::new(Arc::new(tree), written))
    }

    /// An RNTuple with the columns of its record.
    ///
    /// # Errors
    /// The part that does not fit.
    pub(crate) fn of_ntuple(ntuple: Ntuple, recorded: RecordedSchema) -> Result<Composed> {
        let types = types(&recorded)?;
        let mut parts = Vec::with_capacity(types.len());
        for field in recorded.schema.fields() {
            let name = stored_name(field.name());
            let id = Some(&name).filter(|name| ntuple.has_path(name)).and_then(|name| ntuple.found(name));
            parts.push(vec![id.ok_or_else(|| format!("there is no field {name:?}"))?]);
        }
        let mut optionals = HashSet::new();
        for (data_type, id) in
            types.iter().zip(parts.iter().flatten()).filter(|(data_type, _)| !has_type_name(data_type))
        {
            // A field that is not readable says why when it is read.
            if let Ok(shape) = ntuple.shape(*id) {
                find_optionals(data_type, &shape, IsUntyped::default(), &mut optionals);
            }
        }
        let ntuple = ntuple.with_optionals(optionals);
        let mut columns = composed_columns(&recorded, types, parts);
        columns.extend(named_otherwise(&ntuple, &columns)?);
        let parts = columns.iter().flat_map(|column| &column.parts);
        let numbers: HashMap<ColumnId, usize> = parts.enumerate().map(|(number, &id)| (id, number)).collect();
        let mut around = None;
        let mut others = ntuple.columns();
        others.retain(|id| {
            // Members follow the field that they are in.
            match ntuple.place(*id).depth {
                0 => around = numbers.get(id).copied(),
                _ => {
                    if let Some(column) = around.and_then(|number| columns.get_mut(number)) {
                        column.members.push(*id);
                    }
                }
            }
            around.is_none()
        });
        let written = Written::new(recorded.schema, columns, others, Holds::Fields);
        Ok(Composed::new(Arc::new(ntuple), written))
    }
}

impl Written {
    /// The columns of a tree by its record. All that this looks at is part of the tree's schema.
    fn of_tree(tree: &Tree, recorded: &RecordedSchema) -> Result<Arc<Written>> {
        let types = types(recorded)?;
        let fields = recorded.schema.fields().iter().zip(&types);
        let split_of = |index: usize| recorded.splits.get(index).copied().flatten();
        let columns: Vec<BranchColumn<'_>> = fields
            .enumerate()
            .map(|(index, (field, data_type))| BranchColumn {
                // No name of a branch depends on that of the class.
                objects: split_of(index).map(|split| Objects { split, class: "", is_named: false }),
                ..BranchColumn::new(field.name(), data_type)
            })
            .map(|column| {
                let are_looked_up = column.objects.is_none() && has_maps(column.data_type);
                BranchColumn { maps: if are_looked_up { maps_of(tree, &column) } else { column.maps }, ..column }
            })
            .collect();
        let mut parts = vec![Vec::new(); types.len()];
        let mut taken: HashSet<BranchId> = HashSet::new();
        // The names of counters of arrays are not looked at: those that share one depend on the values.
        let branches = plan_branches(&columns).map_err(|error| error.to_string())?;
        let is_looked_up = |branch: &&PlannedBranch| branch.content != Content::Counter || branch.element.is_some();
        for branch in branches.iter().filter(is_looked_up) {
            let path = path_of(&branches, branch);
            let id = Some(&path).filter(|path| tree.has_path(path)).and_then(|path| tree.found(path));
            let id = id.ok_or_else(|| format!("there is no branch {path:?}"))?;
            if branch.content == Content::Counter || branch.form == BranchForm::Group {
                taken.insert(id);
                continue;
            }
            let counters = tree.branch(id).leaves.iter().filter_map(|&leaf| tree.record().leaf(leaf).counter);
            taken.extend(counters.filter_map(|leaf| tree.record().branch_of_leaf(leaf)));
            taken.insert(id);
            parts[branch.column].push(ColumnId::from(id));
        }
        let others = tree.walk().into_iter().map(|(id, _)| id).filter(|id| !taken.contains(id));
        let others = others.map(ColumnId::from).collect();
        let columns = composed_columns(recorded, types, parts);
        Ok(Written::new(recorded.schema.clone(), columns, others, Holds::Branches))
    }
}
