//! The fields and columns of all inputs together.

use ahash::{HashMap, HashMapExt};
use arrowroot_format as format;
use arrowroot_writer::ntuple::CopiedNtuple;
use format::Output;
use format::rntuple::{
    ColumnId, ColumnType, Encoding, ExtraInfo, FieldDescription, FieldId, NtupleColumn, NtupleField, Role, Schema,
    Slots,
};
use format::streamer::{StreamerInfo, StreamerInfos};

use super::numbers;
use crate::merging::Columns;

/// Number of a field of the output, by when it came.
pub(super) type NodeId = u32;

/// The fields of the inputs so far; those of one name inside of the same field are one.
#[derive(Debug, Clone, Default)]
pub(super) struct Union {
    nodes: Vec<Node>,
    by_name: HashMap<(Option<NodeId>, String), NodeId>,
    /// Further information about types, without what is said twice.
    extra_infos: Vec<ExtraInfo>,
    description: String,
}

#[derive(Debug, Clone)]
struct Node {
    parent: Option<NodeId>,
    name: String,
    type_name: String,
    type_alias: String,
    description: String,
    field_version: u32,
    type_version: u32,
    type_checksum: Option<u32>,
    role: Role,
    other_flags: u16,
    array_size: Option<u64>,
    /// The field of which it shows the data, if it has none of its own.
    source: Option<NodeId>,
    /// The columns that it shows: field, and number of the column.
    shown: Vec<(NodeId, u16)>,
    /// Its columns in each representation.
    representations: Vec<Vec<NtupleColumn>>,
}

/// A column of a field of the output, in all its representations.
#[derive(Debug, Clone)]
struct TargetSlot {
    node: NodeId,
    index: u16,
    representations: Vec<Representation>,
}

/// A representation of an input in the output.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Representation {
    /// Its number.
    pub(super) number: u16,
    /// The type with which the pages are written anew; `None`: they are copied.
    pub(super) anew: Option<ColumnType>,
}

/// The slots of an input in the output; `None`: they are left out.
#[derive(Debug, Clone, Default)]
pub(super) struct Mapping {
    slots: Vec<Option<TargetSlot>>,
}

impl Mapping {
    /// The field and the column that a slot is.
    pub(super) fn target(&self, slot: usize) -> Option<(NodeId, u16)> {
        self.slots.get(slot)?.as_ref().map(|target| (target.node, target.index))
    }

    /// The same for all slots that are not left out, in their order.
    pub(super) fn targets(&self) -> impl Iterator<Item = (NodeId, u16)> {
        self.slots.iter().flatten().map(|target| (target.node, target.index))
    }

    /// A representation of a slot in the output.
    pub(super) fn representation(&self, slot: usize, representation: u16) -> Representation {
        let target = self.slots.get(slot).and_then(Option::as_ref);
        target.and_then(|target| target.representations.get(usize::from(representation))).copied().unwrap_or_default()
    }
}

#[cfg(test)]
impl Mapping {
    /// That of slots of one representation each.
    pub(super) fn of_targets(targets: &[(NodeId, u16)]) -> Mapping {
        let target =
            |&(node, index)| Some(TargetSlot { node, index, representations: vec![Representation::default()] });
        Mapping { slots: targets.iter().map(target).collect() }
    }
}

/// The schema of the output, and where the columns of its fields are in it.
#[derive(Debug)]
pub(super) struct United {
    pub(super) schema: Schema,
    pub(super) slots: Slots,
    /// For each field the first of its columns, and the number of those of a representation.
    columns: Vec<(u32, u32)>,
    /// For each field the first of its slots.
    first_slots: Vec<u32>,
}

impl United {
    /// The slot of a column of a field.
    pub(super) fn slot(&self, node: NodeId, index: u16) -> usize {
        self.first_slots[node as usize] as usize + usize::from(index)
    }
}

impl Union {
    /// Adds the fields of an input. What is new is added if it is the first of all, or if `columns` says so.
    ///
    /// # Errors
    /// How the fields differ from those before.
    pub(super) fn add(
        &mut self,
        schema: &Schema,
        slots: &Slots,
        columns: Columns,
        is_first: bool,
    ) -> Result<Mapping, String> {
        if is_first {
            self.description.clone_from(&schema.description);
        }
        let n_before = self.nodes.len();
        let nodes = self.add_fields(schema, columns, is_first)?;
        let mapping = self.add_columns(schema, slots, &nodes)?;
        self.add_projections(schema, slots, &nodes, &mapping, n_before)?;
        if columns == Columns::Strict {
            self.check_complete(&nodes)?;
        }
        for info in newest(schema.extra_infos()) {
            if !self.extra_infos.contains(info) {
                self.extra_infos.push(info.clone());
            }
        }
        Ok(mapping)
    }

    /// For each field of the input that of the output.
    fn add_fields(&mut self, schema: &Schema, columns: Columns, is_first: bool) -> Result<Vec<Option<NodeId>>, String> {
        let mut nodes: Vec<Option<NodeId>> = Vec::new();
        for field in schema.fields() {
            check_known(schema, field)?;
            let parent = match field.parent() {
                None => None,
                Some(parent) => match nodes.get(parent.0 as usize).copied().flatten() {
                    None => {
                        nodes.push(None); // inside of what is left out
                        continue;
                    }
                    found => found,
                },
            };
            let key = (parent, field.name().to_owned());
            let node = match self.by_name.get(&key) {
                Some(&node) => {
                    self.nodes[node as usize].check_same(field).map_err(|what| self.named(node, &what))?;
                    Some(node)
                }
                None if is_first || columns == Columns::Union => {
                    let node = NodeId::try_from(self.nodes.len()).map_err(|_| "more than 2^32 fields".to_owned())?;
                    self.nodes.push(Node::of(field, parent));
                    self.by_name.insert(key, node);
                    Some(node)
                }
                None if columns == Columns::First => None,
                None => {
                    let path = path_of(schema, field);
                    return Err(format!(
                        "field {path} is in no input before: ask for the columns \"union\" or \"first\""
                    ));
                }
            };
            nodes.push(node);
        }
        Ok(nodes)
    }

    fn add_columns(&mut self, schema: &Schema, slots: &Slots, nodes: &[Option<NodeId>]) -> Result<Mapping, String> {
        let mut mapping = Mapping { slots: Vec::with_capacity(slots.slots.len()) };
        let mut start = 0;
        while start < slots.slots.len() {
            let field = slots.slots[start].field;
            let of_field = slots.slots[start..].iter().take_while(|slot| slot.field == field);
            let columns: Vec<&[ColumnId]> = of_field.map(|slot| slots.columns_of(slot)).collect();
            let targets = match nodes.get(field.0 as usize).copied().flatten() {
                None => vec![None; columns.len()],
                Some(node) => {
                    let found = self.representations(schema, node, &columns);
                    let representations = found.map_err(|what| self.named(node, &what))?;
                    let target = |index: u16| {
                        // Where ends are written anew, it is those of the first column.
                        let of_column = |&(number, anew): &(u16, Option<ColumnType>)| Representation {
                            number,
                            anew: anew.filter(|_| index == 0),
                        };
                        Some(TargetSlot {
                            node,
                            index,
                            representations: representations.iter().map(of_column).collect(),
                        })
                    };
                    (0..).take(columns.len()).map(target).collect()
                }
            };
            start += targets.len();
            mapping.slots.extend(targets);
        }
        Ok(mapping)
    }

    /// For each representation of a field its number in the output, where it is added if it is not there; and the type with which
    /// the pages of its first column are written anew.
    ///
    /// `columns`: of each of the field's slots, by representation.
    fn representations(
        &mut self,
        schema: &Schema,
        node: NodeId,
        columns: &[&[ColumnId]],
    ) -> Result<Vec<(u16, Option<ColumnType>)>, String> {
        let known = &mut self.nodes[node as usize].representations;
        let n_representations = columns.first().map_or(0, |columns| columns.len());
        let mut found = Vec::with_capacity(n_representations);
        for number in 0..n_representations {
            let types: Vec<NtupleColumn> =
                columns.iter().filter_map(|of_slot| schema.column_of(*of_slot.get(number)?)).map(bare).collect();
            if known.first().is_some_and(|first| first.len() != types.len()) {
                return Err(format!("it has {} columns, and not the same number before", types.len()));
            }
            let anew = known.first().and_then(|first| ends_anew(&types, first));
            let place = match anew {
                Some(_) => 0,
                None => match known.iter().position(|known| *known == types) {
                    Some(place) => place,
                    None if !known.is_empty() && has_fewer_bits(&types) => {
                        let what = "its numbers have fewer bits, or are of another range, than in the first input, by which ROOT would \
                                    read them: give that input first, or the command skim, which writes numbers anew";
                        return Err(what.to_owned());
                    }
                    None => {
                        known.push(types);
                        known.len() - 1
                    }
                },
            };
            let place = u16::try_from(place).map_err(|_| "more than 65,536 ways in which it is stored".to_owned())?;
            found.push((place, anew));
        }
        Ok(found)
    }

    /// Notes what projected fields show. `n_before`: fields before this input.
    fn add_projections(
        &mut self,
        schema: &Schema,
        slots: &Slots,
        nodes: &[Option<NodeId>],
        mapping: &Mapping,
        n_before: usize,
    ) -> Result<(), String> {
        let mut by_column: HashMap<ColumnId, usize> = HashMap::new();
        if schema.fields().any(|field| field.source().is_some()) {
            for (number, slot) in slots.slots.iter().enumerate() {
                by_column.extend(slots.columns_of(slot).iter().map(|&column| (column, number)));
            }
        }
        for field in schema.fields() {
            let (Some(source), Some(node)) = (field.source(), nodes[field.id().0 as usize]) else { continue };
            let source = nodes.get(source.0 as usize).copied().flatten();
            let source = source.ok_or_else(|| self.named(node, "it shows a field that is not there"))?;
            let mut shown: Vec<(NodeId, u16)> = Vec::new();
            for column in field.columns() {
                let target = by_column.get(column).and_then(|&slot| mapping.target(slot));
                shown.extend(target.filter(|target| !shown.contains(target)));
            }
            let known = &mut self.nodes[node as usize];
            if node as usize >= n_before {
                (known.source, known.shown) = (Some(source), shown);
            } else if (known.source, &known.shown) != (Some(source), &shown) {
                return Err(self.named(node, "it shows another field than before"));
            }
        }
        Ok(())
    }

    fn check_complete(&self, nodes: &[Option<NodeId>]) -> Result<(), String> {
        let mut is_there = vec![false; self.nodes.len()];
        nodes.iter().flatten().for_each(|&node| is_there[node as usize] = true);
        match is_there.iter().position(|is_there| !is_there) {
            None => Ok(()),
            Some(missing) => {
                let path = self.path(NodeId::try_from(missing).unwrap_or_default());
                Err(format!(
                    "there is no field {path}, as in the inputs before: ask for the columns \"union\" or \"first\""
                ))
            }
        }
    }

    /// The names of a field and of those around it.
    pub(super) fn path(&self, node: NodeId) -> String {
        let mut names = Vec::new();
        let mut next = self.nodes.get(node as usize);
        while let Some(node) = next {
            names.push(node.name.as_str());
            next = node.parent.and_then(|parent| self.nodes.get(parent as usize));
        }
        names.reverse();
        names.join(".")
    }

    fn named(&self, node: NodeId, what: &str) -> String {
        format!("field {}: {what}", self.path(node))
    }

    /// The schema: fields at the top first, then those inside of them, level by level, as ROOT has them.
    ///
    /// # Errors
    /// If the format has no room for it.
    pub(super) fn unite(&self, name: &str) -> format::Result<United> {
        let mut schema = CopiedNtuple::schema(name, &self.description);
        let order = self.by_level();
        let mut fields = vec![FieldId(0); self.nodes.len()];
        for (number, &node) in (0..).zip(&order) {
            fields[node as usize] = FieldId(number);
        }
        for &node in &order {
            schema.add_field(&self.nodes[node as usize].describe(&fields))?;
        }
        let mut columns = vec![(0, 0); self.nodes.len()];
        for &number in &order {
            let node = &self.nodes[number as usize];
            let (first, width) = (schema.columns.len(), node.representations.first().map_or(0, Vec::len));
            columns[number as usize] = (narrow(first), narrow(width));
            for (representation, of_one) in (0..).zip(&node.representations) {
                for column in of_one {
                    schema.add_column(NtupleColumn {
                        field: fields[number as usize],
                        representation,
                        ..column.clone()
                    })?;
                }
            }
        }
        let mut united = United { schema, slots: Slots::default(), columns, first_slots: vec![0; self.nodes.len()] };
        for &node in &order {
            self.add_aliases(&mut united, node, fields[node as usize])?;
        }
        self.united_infos()?.into_iter().for_each(|info| united.schema.add_extra_info(info));
        united.schema.index();
        united.slots = Slots::new(&united.schema)?;
        for (number, slot) in united.slots.slots.iter().enumerate().rev() {
            united.first_slots[order[slot.field.0 as usize] as usize] = narrow(number);
        }
        Ok(united)
    }

    /// The columns that a projected field shows, in all representations.
    fn add_aliases(&self, united: &mut United, node: NodeId, field: FieldId) -> format::Result<()> {
        let shown = &self.nodes[node as usize].shown;
        for of_source in shown.chunk_by(|a, b| a.0 == b.0) {
            let source = of_source[0].0 as usize;
            let (first, width) = united.columns[source];
            for representation in 0..narrow(self.nodes[source].representations.len()) {
                for &(_, index) in of_source {
                    let column = ColumnId(first + representation * width + u32::from(index));
                    united.schema.add_alias(field, column)?;
                }
            }
        }
        Ok(())
    }

    /// The fields in the order of the schema. Projected ones come behind those that they show, as ROOT expects.
    fn by_level(&self) -> Vec<NodeId> {
        let mut children: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes.len()];
        let (mut order, mut projected) = (Vec::with_capacity(self.nodes.len()), Vec::new());
        for (number, node) in (0..).zip(&self.nodes) {
            match (node.parent, node.source) {
                (None, None) => order.push(number),
                (None, Some(_)) => projected.push(number),
                (Some(parent), _) => children[parent as usize].push(number),
            }
        }
        let mut next = 0;
        for mut tops in [Vec::new(), projected] {
            order.append(&mut tops);
            while let Some(&node) = order.get(next) {
                order.append(&mut children[node as usize]);
                next += 1;
            }
        }
        order
    }

    /// Further information about types: one list of streamer information with the classes of all.
    fn united_infos(&self) -> format::Result<Vec<ExtraInfo>> {
        let is_list = |info: &&ExtraInfo| info.content == ExtraInfo::STREAMER_INFO;
        let lists: Vec<&ExtraInfo> = self.extra_infos.iter().filter(is_list).collect();
        if lists.len() < 2 {
            return Ok(self.extra_infos.clone());
        }
        let mut classes: Vec<StreamerInfo> = Vec::new();
        for list in lists {
            let mut alone = Schema::default();
            alone.add_extra_info(list.clone());
            for info in alone.streamer_infos()?.iter() {
                let is_same = |known: &StreamerInfo| {
                    (&known.name, known.version, known.checksum) == (&info.name, info.version, info.checksum)
                };
                if !classes.iter().any(is_same) {
                    classes.push(info.clone());
                }
            }
        }
        let mut output = Output::new(0);
        let (frame, _) = output.begin_object("TList")?;
        StreamerInfos::of(classes).write(&mut output)?;
        output.end(frame)?;
        let others = self.extra_infos.iter().filter(|info| !is_list(info)).cloned();
        let united =
            ExtraInfo { content: ExtraInfo::STREAMER_INFO, bytes: output.into_bytes(), ..ExtraInfo::default() };
        Ok(others.chain([united]).collect())
    }
}

impl Node {
    fn of(field: NtupleField<'_>, parent: Option<NodeId>) -> Node {
        Node {
            parent,
            name: field.name().to_owned(),
            type_name: field.type_name().to_owned(),
            type_alias: field.type_alias().to_owned(),
            description: field.description().to_owned(),
            field_version: field.field_version(),
            type_version: field.type_version(),
            type_checksum: field.type_checksum(),
            role: field.role(),
            other_flags: field.describe().other_flags,
            array_size: field.array_size(),
            source: None,
            shown: Vec::new(),
            representations: Vec::new(),
        }
    }

    /// That a field of an input means the same values. The alias of a type and a description say nothing of these.
    fn check_same(&self, field: NtupleField<'_>) -> Result<(), String> {
        if self.type_name != field.type_name() {
            return Err(format!("its type is {:?}, and {:?} before", field.type_name(), self.type_name));
        }
        if self.array_size != field.array_size() {
            return Err("it is an array of another length than before".to_owned());
        }
        let kind = (self.role, self.other_flags, self.field_version, self.source.is_some());
        if kind != (field.role(), field.describe().other_flags, field.field_version(), field.source().is_some()) {
            return Err("it is stored in another way than before".to_owned());
        }
        // The bytes that a streamer wrote say of which version they are.
        let is_other = |checksum| self.type_checksum.is_some_and(|known| known != checksum);
        let differs = self.type_version != field.type_version() || field.type_checksum().is_some_and(is_other);
        if differs && self.role != Role::Streamer {
            let (now, before) = (field.type_version(), self.type_version);
            return Err(format!(
                "its class {} has version {now}, and {before} before, or other members",
                self.type_name
            ));
        }
        Ok(())
    }

    fn describe(&self, fields: &[FieldId]) -> FieldDescription<'_> {
        FieldDescription {
            name: &self.name,
            type_name: &self.type_name,
            type_alias: &self.type_alias,
            description: &self.description,
            field_version: self.field_version,
            type_version: self.type_version,
            type_checksum: self.type_checksum,
            role: self.role,
            other_flags: self.other_flags,
            parent: self.parent.map(|parent| fields[parent as usize]),
            array_size: self.array_size,
            source: self.source.map(|source| fields[source as usize]),
        }
    }
}

/// The type with which ends are written anew, so that a field of several columns has them as it had before.
fn ends_anew(types: &[NtupleColumn], first: &[NtupleColumn]) -> Option<ColumnType> {
    let ([ends, others @ ..], [first, same @ ..]) = (types, first) else { return None };
    let is_other = ends != first && !others.is_empty() && others == same;
    let to = first.column_type;
    (is_other && numbers::can_encode(ends.column_type, to)).then_some(to)
}

/// True if columns have numbers of fewer bits. ROOT 6.40 takes bits and range of all of a field from its first representation.
fn has_fewer_bits(columns: &[NtupleColumn]) -> bool {
    let is_packed = |one: &NtupleColumn| {
        matches!(one.column_type.encoding, Some(Encoding::Truncated { .. } | Encoding::Quantized { .. }))
    };
    columns.iter().any(is_packed)
}

/// A column without what depends on where it is.
fn bare(column: &NtupleColumn) -> NtupleColumn {
    NtupleColumn { field: FieldId(0), representation: 0, deferred: None, ..column.clone() }
}

/// The newest list of streamer information, which holds all that came before it, and what else is said.
fn newest(infos: &[ExtraInfo]) -> impl Iterator<Item = &ExtraInfo> {
    let is_list = |info: &&ExtraInfo| info.content == ExtraInfo::STREAMER_INFO;
    infos.iter().filter(move |info| !is_list(info)).chain(infos.iter().rfind(is_list))
}

/// Refuses what a later version of the format has brought: nobody knows what copying it would need.
fn check_known(schema: &Schema, field: NtupleField<'_>) -> Result<(), String> {
    let is_unknown = |column: &ColumnId| {
        schema.column_of(*column).is_none_or(|column| column.column_type.encoding.is_none() || column.other_flags != 0)
    };
    let is_later = matches!(field.role(), Role::Unknown(_)) || field.field_version() > 0;
    if is_later || field.columns().iter().any(is_unknown) {
        let path = path_of(schema, field);
        return Err(format!("field {path} is stored in a way that this version of arrowroot does not know"));
    }
    Ok(())
}

fn path_of(schema: &Schema, field: NtupleField<'_>) -> String {
    let mut names = vec![field.name()];
    let mut next = field.parent();
    while let Some(around) = next.and_then(|id| schema.field_of(id)) {
        names.push(around.name());
        next = around.parent();
    }
    names.reverse();
    names.join(".")
}

/// A number of fields or columns, of which a schema has fewer than 2^32.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
